"""All questions on the real tables at hand: types, bins, many features, files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from experiments.answers.names import question, read
from experiments.answers.on_the_line import Files, of_commands
from experiments.answers.questions import (
    Case,
    asked,
    attack,
    counts,
    document,
    estimated,
    of_case,
)
from experiments.answers.values import digest
from experiments.tables_at_hand import IGNORED, LABELS

N_ROWS, N_POINTS = 2_000, 60
MISSING = ("?",)
SPELLINGS = ["?", "NA", "N/A", "NaN", "null", "NULL"]
RATE = 0.02
# Joint attacks and commands take long, so they are tried on a few tables.
ATTACKED = (
    "adult",
    "breast_cancer",
    "employee",
    "fitness_class",
    "heart",
    "house_votes_84",
    "mushrooms",
    "penguins",
)
ON_THE_LINE = ("breast_cancer", "house_votes_84", "penguins")


@dataclass(frozen=True)
class RealTable:
    """Some rows of a dataset to train on, some others to predict."""

    name: str
    train: pl.DataFrame
    points: pl.DataFrame

    @property
    def label(self) -> str:
        return LABELS[self.name]

    @property
    def options(self) -> dict[str, Any]:
        """How the columns become features."""
        ignore = IGNORED.get(self.name, [])
        return {"bins": 5, "binning": "uniform", "missing": MISSING, "ignore": ignore}


def real_table(folder: Path, name: str) -> RealTable:
    """Rows at even distances, since the first ones of some files have one label only.

    A complete table gets holes, lest every prediction be certain.
    """
    frame = pl.read_csv(
        folder / f"{name}.csv.gz",
        null_values=SPELLINGS,
        infer_schema_length=None,
        schema_overrides={LABELS[name]: pl.String},
    )
    frame = frame[_evenly(frame.height, N_ROWS + N_POINTS)]
    chosen = _evenly(frame.height, N_POINTS)
    train = frame[np.setdiff1d(np.arange(frame.height), chosen).tolist()]
    if not sum(train.null_count().row(0)):
        train = question("inject_missing")(train, RATE, label=LABELS[name], seed=1)
    return RealTable(name, train, frame[chosen])


def of_real(table: RealTable, folder: Path) -> dict[str, Any]:
    """Both smoothings; files and commands where they are not slow."""
    found: dict[str, Any] = {
        f"alpha {alpha:g}": of_model(table, {"alpha": alpha, "prior": None}) for alpha in (0.0, 1.0)
    }
    found["holes"] = {
        how: digest(
            question("inject_missing")(
                table.train, 0.1, features=0.5, label=table.label, seed=3, mechanism=how
            )
        )
        for how in ("uniform", "value")
    }
    paths = Files.of(folder, table.train, table.points, table.label, table.options["ignore"])
    found["from a file"] = counts(
        question("CountIndex").from_table(paths.train, table.label, **table.options)
    )
    if table.name in ON_THE_LINE:
        found["command line"] = of_commands(paths, folder)
    return found


def of_model(table: RealTable, model: dict[str, Any]) -> dict[str, Any]:
    """All questions with one smoothing."""
    index = question("CountIndex").from_table(table.train, table.label, **table.options)
    case = Case(index, table.train, None, table.points, model, n_closer=3)
    found = of_case(case)
    certain = np.flatnonzero(found["certify"]["certain"])[:4].tolist()
    if table.name in ATTACKED:
        found["joint"] = asked(partial(attack, case, case.some(certain), steps=2))
    found["report"] = asked(partial(document, case, limit=3))
    found["estimator"] = asked(
        partial(
            estimated,
            table.train.select(index.features),
            table.train[table.label],
            table.points.select(index.features),
            model,
        )
    )
    found["after"] = asked(lambda: _saved(case))
    return found


def _saved(case: Case) -> dict[str, Any]:
    """Two halves of the table, counted alike and added up."""
    make, name = question("CountIndex").from_table, case.index.schema.label_name
    half = len(case.table) // 2
    parts = [make(part, name, like=case.index) for part in (case.table[:half], case.table[half:])]
    whole = parts[0] + parts[1]
    verdicts = question("certify")(whole, case.points, **case.model)
    return {"same": whole == case.index, "certain": read(verdicts, "certificates")["certain"]}


def _evenly(size: int, n_wanted: int) -> list[int]:
    return [k * size // n_wanted for k in range(n_wanted)] if size > n_wanted else [*range(size)]
