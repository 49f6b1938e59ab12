"""Codes in, counts per value and label out: one pass over the cells, in NumPy.

Counting bytes costs little more than reading them. Columns with few values are counted together: one
``bincount`` of their joint code, small enough for the processor's own caches, gives the counts of
each by summing the others out, in less time than they would take one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate, chain, islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.cores import on_both_cores
from nullproof.data.schema import Schema
from nullproof.errors import NullproofError

Counts = NDArray[np.int64]
# The codes of a column, and how many values it has.
_Coded = tuple[NDArray[np.signedinteger], int]
# A joint table has so many places at least and at most, and as many as there are that many rows for. The
# number of places itself must fit into 16 bits.
_JOINT = 1 << 12
_MOST_JOINT = int(np.iinfo(np.uint16).max)
_ROWS_A_PLACE = 8
# Tables of so few rows are counted many columns at a time, of so many cells in all.
_FEW_ROWS = 6_000
_CELLS = 1 << 18
# Of so many rows two groups of columns are counted at a time: with fewer the cores wait for each other.
_MANY_ROWS = 500_000
# The narrowest type that numbers all places is counted fastest.
_KEYS: tuple[type[np.signedinteger[Any]], ...] = (np.int16, np.int32, np.int64)
# Counts of a column take up to 400 MB.
_MOST_COUNTS = 50_000_000


@dataclass(frozen=True, eq=False)
class DenseCounts:
    """Counts of a column, values × labels."""

    dense: Counts

    def rows(self, codes: NDArray[np.integer]) -> Counts:
        """Return the counts of some values; zeros for one outside the domain."""
        inside = (codes < len(self.dense))[:, None]
        return np.where(inside, self.dense.take(codes, axis=0, mode="clip"), 0)

    def at(self, values: NDArray[np.integer], labels: NDArray[np.integer]) -> Counts:
        """Return the counts at some places."""
        found: Counts = self.dense[values, labels]
        return found

    def cells(self) -> tuple[Counts, Counts, Counts]:
        """Return value, label and count of every place that is not zero, by value and then label."""
        values, labels = np.nonzero(self.dense)
        return values, labels, self.dense[values, labels]

    def label_sums(self, alpha: float) -> NDArray[np.float64]:
        """Sum the counts of each label with ``alpha`` added to each, in CategoricalNB's order."""
        summed: NDArray[np.float64] = np.ascontiguousarray(self.dense.T + alpha).sum(axis=1)
        return summed

    def changed(
        self, values: NDArray[np.integer], labels: NDArray[np.integer], n_cells: Any
    ) -> DenseCounts:
        """Return the counts after cells were added, or taken away; the same ones if none were."""
        if not len(values):
            return self
        table = self.dense.copy()
        np.add.at(table, (values, labels), n_cells)
        return DenseCounts(table)


# By candidate set, the cells of each label.
CandidateSets = dict[tuple[int, ...], Counts]


@dataclass(frozen=True, eq=False, repr=False)
class IndexFields:
    """The five fields of an index, which add up over parts of a table.

    Parameters
    ----------
    schema
        Features with their domains, and labels.
    label_counts
        Rows per label.
    known
        Per feature: cells known to hold a value, values × labels.
    n_null
        Cells that may hold any value of their domain, features × labels.
    sets
        Per feature: cells with several candidates, as counts per label for each candidate set.
    """

    schema: Schema
    label_counts: Counts
    known: tuple[DenseCounts, ...]
    n_null: Counts
    sets: tuple[CandidateSets, ...]

    @cached_property
    def n_open(self) -> Counts:
        """Features × labels: cells with more than one candidate."""
        n_open = self.n_null.copy()
        for j, sets in enumerate(self.sets):
            for counts in sets.values():
                n_open[j] += counts
        return n_open


def check_size(name: str, n_values: int, n_labels: int) -> None:
    """Reject a column whose counts would fill the memory."""
    if n_values * n_labels > _MOST_COUNTS:
        raise NullproofError(
            f"column {name!r} has {n_values:,} values and there are {n_labels:,} labels, and at most "
            f"{_MOST_COUNTS:,} counts of a column can be kept; leave it out with ignore, or give it "
            "fewer values"
        )


def from_cells(
    values: NDArray[np.integer],
    labels: NDArray[np.integer],
    counts: Counts,
    shape: tuple[int, int],
) -> DenseCounts:
    """Add up groups of cells by value and label; those with a negative code are missing."""
    held = values >= 0
    dense = np.zeros(shape, dtype=np.int64)
    np.add.at(dense, (values[held], labels[held]), counts[held])
    return DenseCounts(dense)


def count_columns(
    columns: Iterable[_Coded],
    labels: NDArray[np.integer],
    n_labels: int,
) -> Iterator[tuple[DenseCounts, Counts]]:
    """Count each column by value and label.

    Parameters
    ----------
    columns
        Codes (-1 = missing) and the number of values of each column.
    labels
        The label code of every row.

    Yields
    ------
    The counts (values × labels) and the missing cells per label, in the order of the columns.
    """
    if len(labels) <= _FEW_ROWS:
        # A call of NumPy takes longer to begin than to count so few cells.
        remaining, size = iter(columns), _CELLS // max(len(labels), 1)
        while group := list(islice(remaining, size)):
            yield from _count_side_by_side(group, labels, n_labels)
        return
    most = min(max(_JOINT, len(labels) // _ROWS_A_PLACE), _MOST_JOINT)
    count = partial(_count_jointly, labels=labels, n_labels=n_labels)
    groups = _grouped(columns, n_labels, most)
    # NumPy leaves the other core free while it counts.
    mapped = map if len(labels) < _MANY_ROWS else on_both_cores
    yield from chain.from_iterable(mapped(count, groups))


def _grouped(columns: Iterable[_Coded], n_labels: int, most: int) -> Iterator[list[_Coded]]:
    """Group neighbours whose joint codes, with the label, are at most so many; one with more is alone."""
    group: list[_Coded] = []
    size = n_labels
    for codes, n_values in columns:
        if group and size * (n_values + 1) > most:
            yield group
            group, size = [], n_labels
        group.append((codes, n_values))
        size *= n_values + 1
    if group:
        yield group


def _count_side_by_side(
    group: list[_Coded], labels: NDArray[np.integer], n_labels: int
) -> Iterator[tuple[DenseCounts, Counts]]:
    """Count by one ``bincount`` over the cells of all columns, each with places of its own."""
    ends = [0, *accumulate(n_values + 1 for _, n_values in group)]
    n_places = ends[-1] * n_labels
    kind = next(kind for kind in _KEYS if n_places <= np.iinfo(kind).max)
    codes = np.array([codes for codes, _ in group])
    keys = np.multiply(codes, kind(n_labels), dtype=kind, order="C")
    keys += labels.astype(kind)
    # Missing cells come first, at the start.
    keys += np.array([(start + 1) * n_labels for start in ends[:-1]], dtype=kind)[:, None]
    counts = np.bincount(keys.ravel(), minlength=n_places).astype(np.int64, copy=False)
    table = counts.reshape(-1, n_labels)
    for start, end in pairwise(ends):
        yield DenseCounts(table[start + 1 : end]), table[start]


def _count_jointly(
    group: list[_Coded], labels: NDArray[np.integer], n_labels: int
) -> list[tuple[DenseCounts, Counts]]:
    if n_labels * math.prod(n_values + 1 for _, n_values in group) > _MOST_JOINT:
        return list(_count_side_by_side(group, labels, n_labels))
    shape, ones = [n_labels], 0
    key = labels.astype(np.uint16)
    for codes, n_values in group:
        shape.append(n_values + 1)
        ones = ones * (n_values + 1) + 1
        key *= np.uint16(n_values + 1)
        # A missing cell wraps around, until one is added to each code below.
        key += codes.astype(np.uint16, copy=False)
    key += np.uint16(ones)
    return list(_apart(np.bincount(key, minlength=math.prod(shape)).reshape(shape)))


def _apart(joint: Counts) -> Iterator[tuple[DenseCounts, Counts]]:
    """Return the counts of each column from joint ones, labels × codes: one half is summed out first."""
    columns = tuple(range(1, joint.ndim))
    if len(columns) == 1:
        counts = np.array(joint.T, dtype=np.int64, order="C")
        yield DenseCounts(counts[1:]), counts[0]
        return
    half = len(columns) // 2
    yield from _apart(np.add.reduce(joint, axis=columns[half:]))
    yield from _apart(np.add.reduce(joint, axis=columns[:half]))
