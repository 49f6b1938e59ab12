"""The paper's data preparation: 80/20 split, missing cells, points from the test part; all from seeds."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.blanking import draw_features
from experiments.paper.baselines import CodedTable
from experiments.paper.datasets import Dataset
from nullproof.counts.index import CountIndex
from nullproof.data.edits import draw_cells, uniforms
from nullproof.model.certify import certify

TEST_SHARE = 0.2
FEATURE_SHARE = 0.2
_SPLIT, _POINTS = 20, 21


@dataclass(frozen=True, eq=False)
class Split:
    """One run's training and test part of a dataset."""

    dataset: Dataset
    run: int
    train: CodedTable
    test: NDArray[np.int64]

    @property
    def seed(self) -> int:
        """The same for one dataset and run, whatever else is measured."""
        return zlib.crc32(self.dataset.name.encode()) + self.run

    def incomplete(self, rate: float, holes: str) -> CodedTable:
        """The training part with missing cells, over "all" features or only "a fifth" of them."""
        n_features = self.train.n_features
        known = np.ones((self.train.n_rows, n_features), dtype=bool)
        if holes != "all":
            chosen = draw_features(n_features, FEATURE_SHARE, seed=self.seed)
            known[:, [j for j in range(n_features) if j not in chosen]] = False
        blanked = draw_cells(known, rate, seed=self.seed)
        codes = np.where(blanked, self.train.codes.dtype.type(-1), self.train.codes)
        return CodedTable.of(codes, self.train.labels, n_values=self.train.n_values)

    def points(self, n_points: int, *, predicted: bool = False) -> NDArray[np.int64]:
        """Draw test points; with ``predicted`` only those that the complete table has no tie for."""
        pool = np.arange(len(self.test))
        if predicted:
            pool = np.flatnonzero(certify(index_of(self.train), self.test, alpha=0).certain)
        order = np.argsort(uniforms(len(pool), self.seed, stream=_POINTS), kind="stable")
        return self.test[pool[order[:n_points]]]


def split(dataset: Dataset, run: int) -> Split:
    """Put a fifth of the rows aside for testing."""
    n_rows = len(dataset.labels)
    seed = zlib.crc32(dataset.name.encode()) + run
    order = np.argsort(uniforms(n_rows, seed, stream=_SPLIT), kind="stable")
    n_test = round(TEST_SHARE * n_rows)
    rows = np.sort(order[n_test:])
    train = CodedTable.of(dataset.codes[rows], dataset.labels[rows], n_values=dataset.n_values)
    return Split(dataset, run, train, dataset.codes[np.sort(order[:n_test])].astype(np.int64))


def index_of(table: CodedTable) -> CountIndex:
    """Count a table of codes with nullproof."""
    labels: Any = table.labels
    return CountIndex.from_codes(table.codes, labels, n_values=table.n_values, weights="equal")
