"""The real tables that experiments use where their folder is at hand: labels, columns to ignore.

The folder is named by ``NULLPROOF_DATA``.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl

from nullproof.errors import NullproofError

LABELS = {
    "adult": "income",
    "bodyPerformance": "class",
    "breast_cancer": "Class",
    "breast_cancer_wisconsin": "class",
    "company_bankruptcy_5807": "Bankrupt?",
    "diabetic_data": "readmitted",
    "employee": "LeaveOrNot",
    "fetal_health": "fetal_health",
    "fitness_class": "attended",
    "heart": "HeartDisease",
    "heart_2020_cleaned": "HeartDisease",
    "house_votes_84": "Class",
    "hypothyroid": "Class",
    "kddcup99_10pct": "label",
    "mushrooms": "class",
    "penguins": "species",
    "pima_diabetes": "outcome",
    "polish_bankruptcy_1year": "class",
    "star_classification_10k": "class",
    "titanic": "Survived",
    "winequalityN": "type",
}
IGNORED = {"titanic": ["PassengerId", "Name", "Ticket"], "diabetic_data": ["encounter_id"]}
MISSING = ("?", "-", "NA")
MOST_ROWS = 50_000


def at_hand() -> dict[str, Path]:
    """The files of the tables that are there, by name."""
    folder = Path(os.environ.get("NULLPROOF_DATA", ""))
    paths = {name: folder / f"{name}.csv.gz" for name in LABELS}
    found = {name: path for name, path in paths.items() if path.is_file()}
    if not found:
        raise NullproofError("no dataset at hand; name their folder: NULLPROOF_DATA=DIR")
    return found


def frame_of(name: str, path: Path, *, seed: int = 0, most_rows: int = MOST_ROWS) -> pl.DataFrame:
    """A table with nulls for its holes, its rows in random order and at most so many of them."""
    frame = pl.read_csv(path, null_values=list(MISSING), infer_schema_length=None)
    frame = frame.drop(IGNORED.get(name, [])).with_columns(pl.col(LABELS[name]).cast(pl.String))
    order = np.random.default_rng(seed).permutation(len(frame))[:most_rows]
    sample: pl.DataFrame = frame[order.tolist()]
    return sample
