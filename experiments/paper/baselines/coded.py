"""What the baselines read: a table of codes, passes over it, and supports as whole numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CodedTable:
    """A training table whose cells are codes; build it with `of`.

    Parameters
    ----------
    codes
        Rows × features, column after column in memory: 0, 1, … are values, -1 is NULL.
    labels
        The label of every row: 0, 1, …
    n_values
        The size of every feature's domain.
    """

    codes: NDArray[np.signedinteger]
    labels: NDArray[np.signedinteger]
    n_values: tuple[int, ...]
    n_labels: int

    @classmethod
    def of(cls, codes: Any, labels: Any, *, n_values: Sequence[int] | None = None) -> CodedTable:
        """Arrange codes; by default a domain ends at the largest code of its column."""
        codes, labels = np.asarray(codes), np.asarray(labels)
        largest = codes.max(axis=0)
        sizes = [max(int(top) + 1, 1) for top in largest] if n_values is None else n_values
        assert (largest < np.array(sizes)).all()
        narrow = np.int8 if max(sizes) < 2**7 else np.int32
        return cls(
            np.asfortranarray(np.maximum(codes, -1).astype(narrow)),
            labels.astype(np.int64),
            tuple(map(int, sizes)),
            int(labels.max()) + 1,
        )

    @property
    def n_rows(self) -> int:
        return len(self.labels)

    @property
    def n_features(self) -> int:
        return len(self.n_values)

    @property
    def n_cells(self) -> int:
        return self.codes.size

    @cached_property
    def rows_of(self) -> list[NDArray[np.bool_]]:
        """Per label the rows that carry it."""
        return [self.labels == label for label in range(self.n_labels)]

    @cached_property
    def label_counts(self) -> list[int]:
        return [int(rows.sum()) for rows in self.rows_of]

    def matches(self, point: Sequence[int]) -> Counts:
        """One pass: the rows of each label that hold the point's value, labels × features."""
        return self._counted([self.codes[:, j] == code for j, code in enumerate(point)])

    def nulls(self) -> Counts:
        """One pass: the NULL cells, labels × features."""
        return self._counted([self.codes[:, j] < 0 for j in range(self.n_features)])

    def _counted(self, columns: list[NDArray[np.bool_]]) -> Counts:
        return np.array(
            [[np.count_nonzero(held & rows) for held in columns] for rows in self.rows_of],
            dtype=np.int64,
        )


def rows_of_points(table: CodedTable, points: Any) -> list[list[int]]:
    """The points as plain rows of codes; one row is one point."""
    array = np.atleast_2d(np.asarray(points))
    assert array.shape[1] == table.n_features
    assert (array >= 0).all(), "the paper's points are complete"
    rows: list[list[int]] = array.tolist()
    return rows


class Supports:
    """Compare supports ``N^-(d-1) · ∏ counts`` by whole numbers: `weight` is free of the division."""

    def __init__(self, table: CodedTable) -> None:
        power = table.n_features - 1
        everything = math.prod(max(n, 1) for n in table.label_counts)
        # Over the common denominator, label i has the factor (∏ N / N_i)^(d-1).
        self._factors: list[int] = [(everything // max(n, 1)) ** power for n in table.label_counts]

    def weight(self, label: int, counts: Sequence[int]) -> int:
        """The label's support times a number that is the same for every label."""
        return self._factors[label] * math.prod(counts)

    def weights(self, counts: Counts) -> list[int]:
        """The weights of all labels; counts are labels × features."""
        return [self.weight(label, own) for label, own in enumerate(counts.tolist())]

    def predicted(self, counts: Counts) -> int | None:
        """The label with the greatest support; None if several tie."""
        weights = self.weights(counts)
        best = max(weights)
        return weights.index(best) if weights.count(best) == 1 else None

    def is_certain(self, existing: Counts, missing: Counts) -> bool:
        """Lines 6 to 11 of Algorithm 1: does one label's least support exceed the others' greatest?"""
        least, greatest = self.weights(existing), self.weights(existing + missing)
        return any(
            own > max((other for k, other in enumerate(greatest) if k != i), default=-1)
            for i, own in enumerate(least)
        )
