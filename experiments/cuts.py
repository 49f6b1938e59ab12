"""What it costs to try cuts between at most a few thousand cells of a column instead of all numbers.

The folder of datasets is named by ``NULLPROOF_DATA``. Tables without a column of more than 1,024 different
numbers are left out: there nothing is limited.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold

from experiments.accuracy import FOLDS, IDS
from experiments.tables_at_hand import LABELS, at_hand, frame_of
from nullproof.data import binning
from nullproof.data.binning import Cells, tally
from nullproof.estimator import CertifiedNB

TITLE = "Cuts between cells against cuts between all numbers"


def run(*, quick: bool) -> list[str]:
    lines = [
        f"{FOLDS} folds, CertifiedNB as it is made, at most 50,000 rows of a table. Limited: as it is. "
        "Unlimited: cuts are tried between all neighbours.",
        "",
        "| table | columns | accuracy / balanced, limited | unlimited | predictions that differ |",
        "|---|---|---|---|---|",
    ]
    for name, path in at_hand().items():
        frame = frame_of(name, path, most_rows=5_000 if quick else 50_000).drop(IDS.get(name, []))
        labels = frame[LABELS[name]].to_numpy().astype(str)
        cells = frame.drop(LABELS[name])
        numbers = cells.select(pl.selectors.numeric())
        many = sum(column.n_unique() > binning.SHARE for column in numbers.iter_columns())
        if many:
            lines.append(f"| {name} | {many} of {numbers.width} | {_compared(cells, labels)} |")
    return [*lines, ""]


def _compared(cells: pl.DataFrame, labels: Any) -> str:
    limited = _predicted(cells, labels)
    with _without_limit():
        unlimited = _predicted(cells, labels)
    scores = [
        f"{accuracy_score(labels, own):.4f} / {balanced_accuracy_score(labels, own):.4f}"
        for own in (limited, unlimited)
    ]
    return f"{scores[0]} | {scores[1]} | {np.mean(limited != unlimited):.2%}"


def _predicted(cells: pl.DataFrame, labels: Any) -> Any:
    predicted = labels.copy()
    with warnings.catch_warnings():
        # Labels with fewer rows than folds.
        warnings.simplefilter("ignore")
        splits = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
        for train, test in splits.split(labels, labels):
            model = CertifiedNB(weights="equal").fit(cells[train], labels[train])
            predicted[test] = model.predict(cells[test])
    return predicted


@contextmanager
def _without_limit() -> Iterator[None]:
    """Every distinct number is a cell."""

    def dealt(spots: Any, weights: Any) -> tuple[Cells, Any]:
        numbers, which = np.unique(spots, return_inverse=True)
        return Cells(numbers, numbers, tally(which, weights, len(numbers))), which

    with patch.object(binning, "SHARE", 10**9), patch.object(binning, "dealt", dealt):
        yield
