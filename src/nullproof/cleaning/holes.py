"""The open cells of a table: where they are and what they may hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.errors import NullproofError
from nullproof.tables.columns import Encoded
from nullproof.tables.training import TrainingTable


@dataclass(frozen=True, eq=False)
class OpenCells:
    """A table that was counted, and its cells with more than one candidate."""

    index: CountIndex
    training: TrainingTable

    @classmethod
    def of(cls, index: CountIndex, table: Any, labels: Sequence[Any] | None = None) -> OpenCells:
        """Open the table that an index counts; another table is refused."""
        found = cls(index, TrainingTable.open(index.schema, table, labels))
        for j, name in enumerate(index.features):
            there = index.n_open[j]
            here = np.bincount(found._labels_of(j), minlength=len(index.labels))
            if not np.array_equal(there, here):
                raise NullproofError(
                    f"column {name!r} of the table has {int(here.sum()):,} missing cells, but "
                    f"{int(there.sum()):,} were counted; give the table that was counted"
                )
            if found._sorts(j) != {
                (i, sort): int(n)
                for sort, cells in index.sets[j].items()
                for i, n in enumerate(cells)
                if n
            }:
                raise NullproofError(
                    f"column {name!r} of the table has cells with other candidates than were "
                    "counted; give the table that was counted"
                )
        return found

    @cached_property
    def _columns(self) -> dict[int, Encoded]:
        return {}

    def column(self, j: int) -> Encoded:
        """One column as codes; open cells have a negative code or are in ``sets``."""
        if j not in self._columns:
            self._columns[j] = self.training.writer(j).encoded
        return self._columns[j]

    def open_rows(self, j: int) -> NDArray[np.intp]:
        """The rows whose cell of a feature is open."""
        encoded = self.column(j)
        rows = np.flatnonzero(encoded.codes < 0)
        several = np.fromiter(encoded.sets, dtype=np.intp, count=len(encoded.sets))
        found: NDArray[np.intp] = np.union1d(rows, several)
        return found

    def rows(self, label: int, j: int) -> NDArray[np.intp]:
        """The open cells of one label and feature, by row; none where the domain leaves no choice."""
        if self.index.n_values[j] == 1:
            return np.empty(0, dtype=np.intp)
        rows = self.open_rows(j)
        found: NDArray[np.intp] = rows[self.training.row_labels[rows] == label]
        return found

    def candidates(self, row: int, j: int) -> tuple[int, ...] | None:
        """What an open cell may hold: None for every value."""
        return self.column(j).sets.get(row)

    def groups(self) -> Iterator[tuple[int, int, NDArray[np.intp]]]:
        """Each label and feature with its open rows."""
        for j in range(len(self.index.features)):
            for i in range(len(self.index.labels)):
                yield i, j, self.rows(i, j)

    def _sorts(self, j: int) -> Counter[tuple[int, tuple[int, ...]]]:
        """How many cells of each label have which candidates."""
        labels = self.training.row_labels
        return Counter((int(labels[row]), sort) for row, sort in self.column(j).sets.items())

    def _labels_of(self, j: int) -> NDArray[np.int32]:
        return self.training.row_labels[self.open_rows(j)]
