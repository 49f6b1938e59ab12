"""Ten tables that a page has to stand: complete, holed, wide, with many labels, long or odd names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import polars as pl

LONG = "a name that somebody wrote without thinking of those who read it"
RIGHT_TO_LEFT = "عمود طويل من الكلمات العربية"
LABEL = "label"
_N_POINTS = 40


def _made(
    n_rows: int, n_features: int, n_labels: int, holes: float, noise: int = 3, **names: Any
) -> dict[str, Any]:
    """A table of texts with labels that show in the values."""
    rng = np.random.default_rng(7)
    labels = rng.integers(0, n_labels, n_rows)
    codes = (labels[:, None] + rng.integers(0, noise, (n_rows, n_features))) % 9
    values, label = names.get("value", "value "), names.get("label", "label ")
    feature = names.get("feature", "feature ")
    table: dict[str, Any] = {
        f"{feature}{j}": [
            None if rng.random() < holes else f"{values}{code}" for code in codes[:, j].tolist()
        ]
        for j in range(n_features)
    }
    return {**table, LABEL: [f"{label}{i}" for i in labels.tolist()]}


_TABLES = {
    "complete": _made(200, 6, 3, 0.0),
    "a fifth missing": _made(300, 6, 3, 0.2),
    "30 labels": _made(900, 5, 30, 0.02),
    "60 columns": _made(200, 60, 2, 0.05),
    "300 columns": _made(80, 300, 2, 0.05),
    "long names": _made(200, 4, 3, 0.1, value=LONG, label=LONG, feature=LONG),
    "right to left": _made(
        200, 4, 3, 0.1, value=RIGHT_TO_LEFT, label="تسمية ", feature=RIGHT_TO_LEFT
    ),
    "one label": _made(60, 4, 1, 0.1),
    "none certain": _made(40, 4, 3, 0.8, noise=9),
    "all certain": _made(300, 6, 2, 0.001, noise=1),
}
# A point that lacks most cells itself is decided by the prior.
_POINTS = {"none certain": _made(40, 4, 3, 0.0, noise=9)}
NAMES = (*_TABLES,)
# Seconds each: those that a plain check shows on the page, and others as reports.
ON_THE_PAGE: tuple[str, ...] = ("a fifth missing", "60 columns", "none certain")
AS_REPORTS: tuple[str, ...] = (
    "30 labels",
    "300 columns",
    "long names",
    "right to left",
    "one label",
)
if "NULLPROOF_TEN_TABLES" in os.environ:
    ON_THE_PAGE = AS_REPORTS = NAMES


def tables(name: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The training table and the points to predict, with their true labels."""
    import polars as pl

    return pl.DataFrame(_TABLES[name]), pl.DataFrame(_POINTS.get(name, _TABLES[name])).head(
        _N_POINTS
    )


def check_name(name: str, certain: dict[str, Any]) -> None:
    """Check that a table is what its name says, by the part ``certain`` of a report."""
    if name in ("none certain", "all certain"):
        assert certain["n_certain"] == (0 if name == "none certain" else certain["n_points"])
