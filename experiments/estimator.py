"""CertifiedNB against the pipeline people use today: OrdinalEncoder and CategoricalNB, imputed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from experiments.measuring import ratio, shown, times
from nullproof.estimator import CertifiedNB

TITLE = "CertifiedNB against OrdinalEncoder and CategoricalNB"
ROWS, FEATURES, VALUES, POINTS = 500_000, 20, 8, 10_000
MISSING_SHARE = 0.1
RUNS = 3


def run(*, quick: bool) -> list[str]:
    rows = ROWS // 10 if quick else ROWS
    lines = [
        f"## {rows:,} rows × {FEATURES} columns of {VALUES} texts, {MISSING_SHARE:.0%} missing, "
        f"to the verdicts on {POINTS:,} points",
        "",
        "Both get the same frame, ours with its holes, theirs with the holes filled beforehand by the "
        "most frequent value of each column (filling is not timed). Ours: `fit` and `certify`; "
        "theirs: `fit` and `predict`.",
        "",
        "| frame | columns | CertifiedNB | OrdinalEncoder + CategoricalNB | times ours | goal |",
        "|---|---|---|---|---|---|",
    ]
    for library, dtype, goal in (
        ("pandas", "categorical", 5),
        ("polars", "categorical", 5),
        ("pandas", "text", 2),
        ("polars", "text", 2),
    ):
        lines.append(_compared(library, dtype, goal, rows))
    return [*lines, ""]


def _compared(library: str, dtype: str, goal: int, rows: int) -> str:
    holes, filled, labels = _frames(library, dtype, rows)
    points, complete = holes.head(POINTS), filled.head(POINTS)

    def theirs() -> Any:
        pipeline = make_pipeline(OrdinalEncoder(dtype=np.int64), CategoricalNB())
        return pipeline.fit(filled, labels).predict(complete)

    seconds = times(
        RUNS,
        ours=lambda: CertifiedNB(alpha=1.0, weights="equal").fit(holes, labels).certify(points),
        theirs=theirs,
    )
    return (
        f"| {library} | {dtype} | {shown(seconds['ours'])} | {shown(seconds['theirs'])} "
        f"| {ratio(seconds['theirs'], seconds['ours']):.1f} | {goal} |"
    )


def _frames(library: str, dtype: str, rows: int) -> tuple[Any, Any, Any]:
    """The table with its holes, the same imputed, and the labels."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, rows)
    texts = np.array([*(f"value {value}" for value in range(VALUES)), None], dtype=object)
    holes, filled = {}, {}
    for j in range(FEATURES):
        shift = np.where(rng.random(rows) < 0.3, labels * 3, 0)
        codes = (rng.integers(0, VALUES - 3, rows) + shift) % VALUES
        missing = rng.random(rows) < MISSING_SHARE
        usual = np.bincount(codes[~missing]).argmax()
        holes[f"column {j}"] = texts[np.where(missing, VALUES, codes)].tolist()
        filled[f"column {j}"] = texts[np.where(missing, usual, codes)].tolist()
    answers = np.where(labels, "yes", "no").tolist()
    if library == "polars":
        frames = [pl.DataFrame(columns) for columns in (holes, filled)]
        if dtype == "categorical":
            frames = [frame.cast(pl.Categorical) for frame in frames]
        return frames[0], frames[1], pl.Series("label", answers)
    tables = [pd.DataFrame(columns) for columns in (holes, filled)]
    if dtype == "categorical":
        tables = [table.astype("category") for table in tables]
    return tables[0], tables[1], pd.Series(answers, name="label")
