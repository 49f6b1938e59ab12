"""What the other cells of a row, and its label, say about each of its missing cells.

A Naive Bayes per column, learned from the rows of the same label that know the column: a value is as
likely as it is frequent there, times, for each other known cell of the row, how much more frequent
that cell is beside the value. Cells of a row say much the same twice, so the product of ``n`` such
ratios is taken to the power ``1 / sqrt(n)``. The probabilities are whole numbers of 65536ths, so that
they do not depend on the machine. They are a guess: a worksheet shows the candidates of a cell by them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.data.edits import TrainingTable
from nullproof.data.schema import Encoded
from nullproof.errors import NullproofError
from nullproof.model.bias import Floats

WHOLE = 1 << 16
# So many rows of the label stand for what is known of a cell beside a value that is seldom or never seen.
_DOUBT = 2.0
# Larger tables of two columns and the label tell next to nothing, and take long.
_MOST_PAIRS = 4_000_000
_BLOCK = 1 << 21
Integers = NDArray[np.int64]


class Chances(NamedTuple):
    """The open cells of a column by row, and how many 65536ths each value of the column gets."""

    rows: NDArray[np.intp]
    weights: Integers


@dataclass(frozen=True, eq=False)
class Learned:
    """A table that was counted, and the chances of its missing cells.

    Parameters
    ----------
    columns
        Each feature as codes and candidate sets; open cells have a negative code or a set.
    row_labels
        Per row the position of its label; -1 for a row that was left out.
    """

    index: CountIndex
    columns: tuple[Encoded, ...]
    row_labels: NDArray[np.int32]

    @classmethod
    def of(cls, index: CountIndex, table: Any, labels: Any = None) -> Learned:
        """Learn from the table that was counted; another one is refused."""
        training = table
        if not isinstance(table, TrainingTable):
            training = TrainingTable.open(index.schema, table, labels)
        columns = tuple(training.writer(j).encoded for j in range(len(index.features)))
        found = cls(index, columns, training.row_labels)
        for j, name in enumerate(index.features):
            here = np.bincount(found.row_labels[found.open_rows(j)], minlength=len(index.labels))
            if not np.array_equal(here, index.n_open[j]):
                raise NullproofError(
                    f"column {name!r} of the table has {int(here.sum()):,} missing cells, but "
                    f"{int(index.n_open[j].sum()):,} were counted; give the table that was counted"
                )
        return found

    def open_rows(self, j: int) -> NDArray[np.intp]:
        """The counted rows whose cell of a feature is open."""
        encoded = self.columns[j]
        several = np.fromiter(encoded.sets, dtype=np.intp, count=len(encoded.sets))
        rows = np.union1d(np.flatnonzero(encoded.codes < 0), several)
        return np.asarray(rows[self.row_labels[rows] >= 0], dtype=np.intp)

    def chances(self, j: int) -> Chances:
        """The chances of the open cells of a feature."""
        if j not in self._found:
            rows = self.open_rows(j)
            size = int(self.index.n_values[j])
            weights = np.zeros((len(rows), size), dtype=np.int64)
            column = _Column(self, j)
            step = max(1, _BLOCK // size)
            for start in range(0, len(rows), step):
                some = rows[start : start + step]
                weights[start : start + step] = in_parts(
                    self._within_sets(j, some, column.of(some))
                )
            self._found[j] = Chances(rows, weights)
        return self._found[j]

    @cached_property
    def _found(self) -> dict[int, Chances]:
        return {}

    def known(self, j: int) -> NDArray[np.bool_]:
        """The rows with a label that know a feature."""
        codes = self.columns[j].codes
        found = (codes >= 0) & (codes < int(self.index.n_values[j])) & (self.row_labels >= 0)
        if self.columns[j].sets:
            found[list(self.columns[j].sets)] = False
        return np.asarray(found)

    def _within_sets(self, j: int, rows: NDArray[np.intp], scores: Floats) -> Floats:
        """Scores with -inf for values that are no candidates of their cell."""
        sets = self.columns[j].sets
        for place, row in enumerate(rows.tolist() if sets else ()):
            if row in sets:
                others = np.ones(scores.shape[1], dtype=bool)
                others[list(sets[row])] = False
                scores[place, others] = -np.inf
        return scores


class _Column:
    """What is learned about one column: logarithms of chances and of ratios."""

    def __init__(self, learned: Learned, j: int) -> None:
        self._learned = learned
        self._known = learned.known(j)
        labels, values = learned.row_labels[self._known], learned.columns[j].codes[self._known]
        m, size = len(learned.index.labels), int(learned.index.n_values[j])
        self._group = labels.astype(np.int64) * size + values
        counts = _counted(self._group, (m, size))
        self._base = np.log((counts + 1 / size) / (counts.sum(axis=1, keepdims=True) + 1))
        others = [k for k in range(len(learned.index.features)) if k != j]
        sizes = {k: int(learned.index.n_values[k]) for k in others}
        self._ratios = {
            k: self._ratio(k, (m, size, sizes[k]))
            for k in others
            if m * size * sizes[k] <= _MOST_PAIRS and sizes[k] > 1
        }

    def of(self, rows: NDArray[np.intp]) -> Floats:
        """The logarithm of the chance of every value, up to a number per row."""
        labels = self._learned.row_labels[rows]
        said = np.zeros((len(rows), self._base.shape[1]))
        n_said = np.zeros(len(rows))
        for k, ratio in self._ratios.items():
            here = np.flatnonzero(self._learned.known(k)[rows])
            values = self._learned.columns[k].codes[rows[here]]
            said[here] += ratio[labels[here], values]
            n_said[here] += 1
        damped: Floats = self._base[labels] + said / np.sqrt(np.maximum(n_said, 1))[:, None]
        return damped

    def _ratio(self, k: int, shape: tuple[int, int, int]) -> Floats:
        """How much more frequent a value of another column is beside ours: labels × theirs × ours."""
        both = self._learned.known(k)[self._known]
        theirs = self._learned.columns[k].codes[self._known][both]
        counts = _counted(self._group[both] * shape[2] + theirs, shape)
        alone = counts.sum(axis=1)
        alone = (alone + 1 / shape[2]) / (alone.sum(axis=1, keepdims=True) + 1)
        beside = (counts + _DOUBT * alone[:, None]) / (counts.sum(axis=2, keepdims=True) + _DOUBT)
        found: Floats = np.log(beside / alone[:, None]).swapaxes(1, 2).copy()
        return found


def _counted(groups: Integers, shape: tuple[int, ...]) -> Floats:
    size = int(np.prod(shape))
    return np.bincount(groups, minlength=size).reshape(shape).astype(np.float64)


def in_parts(scores: Floats) -> Integers:
    """Chances in proportion to the exponentials of scores, as whole numbers that sum to `WHOLE` per row."""
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    exact = chances * (WHOLE / chances.sum(axis=1, keepdims=True))
    parts = np.floor(exact).astype(np.int64)
    # What is left goes to the largest remainders, the earlier value where they are the same.
    ranks = np.argsort(np.argsort(-(exact - parts), axis=1, kind="stable"), axis=1, kind="stable")
    rest = WHOLE - parts.sum(axis=1)
    return np.asarray(parts + (ranks < rest[:, None]))
