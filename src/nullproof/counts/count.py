"""Codes in, counts per value and label out: one pass over the cells, in NumPy.

Counting bytes costs little more than reading them. Columns with few values are counted together: one
``bincount`` of their joint code, small enough for the processor's own caches, gives the counts of
each by summing the others out, in less time than they would take one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate, chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.cores import on_both_cores
from nullproof.data.schema import Schema

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
# Of so many rows two groups of columns are counted at a time: with fewer the cores wait for each other.
_MANY_ROWS = 500_000
_CELLS = 1 << 18
# The narrowest type that numbers all places is counted fastest.
_KEYS: tuple[type[np.signedinteger[Any]], ...] = (np.int16, np.int32, np.int64)
_DENSE = 4_000_000


@dataclass(frozen=True, eq=False)
class DenseCounts:
    """Counts of a column, values × labels."""

    table: Counts

    @property
    def dense(self) -> Counts:
        """The counts of all values."""
        return self.table

    def rows(self, codes: NDArray[np.integer]) -> Counts:
        """Return the counts of some values; zeros for one outside the domain."""
        inside = (codes < len(self.table))[:, None]
        return np.where(inside, self.table.take(codes, axis=0, mode="clip"), 0)

    def at(self, values: NDArray[np.integer], labels: NDArray[np.integer]) -> Counts:
        """Return the counts at some places."""
        found: Counts = self.table[values, labels]
        return found

    def cells(self) -> tuple[Counts, Counts, Counts]:
        """Return value, label and count of every place that is not zero, by value and then label."""
        values, labels = np.nonzero(self.table)
        return values, labels, self.table[values, labels]

    def label_sums(self, alpha: float) -> NDArray[np.float64]:
        """Sum the counts of each label with ``alpha`` added to each, in CategoricalNB's order."""
        summed: NDArray[np.float64] = np.ascontiguousarray(self.table.T + alpha).sum(axis=1)
        return summed

    def changed(
        self,
        values: NDArray[np.integer],
        labels: NDArray[np.integer],
        n_cells: NDArray[np.integer],
    ) -> DenseCounts:
        """Return the counts after cells were added; the same ones if none were."""
        if not len(values):
            return self
        table = self.table.copy()
        np.add.at(table, (values, labels), n_cells)
        return DenseCounts(table)

    def __add__(self, other: Any) -> DenseCounts:
        return DenseCounts(self.table + other.table)


@dataclass(frozen=True, eq=False)
class SparseCounts:
    """Counts of a column with very many values: only those above zero, at ``value * m + label``.

    It answers what `DenseCounts` does.
    """

    keys: NDArray[np.int64]
    counts: Counts
    shape: tuple[int, int]

    @property
    def dense(self) -> Counts:
        """The counts of all values."""
        return self.rows(np.arange(self.shape[0]))

    def rows(self, codes: NDArray[np.integer]) -> Counts:
        """Return the counts of some values; zeros for one outside the domain."""
        return self.at(codes[:, None], np.arange(self.shape[1]))

    def at(self, values: NDArray[np.integer], labels: NDArray[np.integer]) -> Counts:
        """Return the counts at some places."""
        wanted = values.astype(np.int64) * self.shape[1] + labels
        if not len(self.keys):
            return np.zeros(wanted.shape, dtype=np.int64)
        found = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[found] == wanted, self.counts[found], 0)

    def cells(self) -> tuple[Counts, Counts, Counts]:
        """Return value, label and count of every place that is not zero, by value and then label."""
        values, labels = np.divmod(self.keys, self.shape[1])
        return values, labels, self.counts

    @cached_property
    def _totals(self) -> NDArray[np.float64]:
        n_labels = self.shape[1]
        totals = np.bincount(self.keys % n_labels, weights=self.counts, minlength=n_labels)
        return totals.astype(np.float64)

    def label_sums(self, alpha: float) -> NDArray[np.float64]:
        """Sum the counts of each label with ``alpha`` added to each."""
        return self._totals + alpha * float(self.shape[0])

    def changed(
        self,
        values: NDArray[np.integer],
        labels: NDArray[np.integer],
        n_cells: NDArray[np.integer],
    ) -> SparseCounts:
        """Return the counts after cells were added; the same ones if none were.

        Only what changes is looked up: sorting all keys anew takes a hundred times as long.
        """
        if not len(values):
            return self
        changed, which = np.unique(
            values.astype(np.int64) * self.shape[1] + labels, return_inverse=True
        )
        added = np.zeros(len(changed), dtype=np.int64)
        np.add.at(added, which, n_cells)
        places = np.searchsorted(self.keys, changed)
        there = np.isin(changed, self.keys[places[places < len(self.keys)]])
        keys, cells = self.keys, self.counts.copy()
        cells[places[there]] += added[there]
        gone = places[there][cells[places[there]] == 0]
        new = ~there & (added != 0)
        if new.any():
            keys = np.insert(keys, places[new], changed[new])
            cells = np.insert(cells, places[new], added[new])
        if len(gone):
            left = cells != 0
            keys, cells = keys[left], cells[left]
        return SparseCounts(keys, cells, self.shape)

    def __add__(self, other: Any) -> SparseCounts:
        keys, places = np.unique(np.concatenate([self.keys, other.keys]), return_inverse=True)
        counts = np.zeros(len(keys), dtype=np.int64)
        np.add.at(counts, places, np.concatenate([self.counts, other.counts]))
        return SparseCounts(keys, counts, self.shape)


Known = DenseCounts | SparseCounts
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
    known: tuple[Known, ...]
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


def count_columns(
    columns: Iterable[_Coded],
    labels: NDArray[np.integer],
    n_labels: int,
) -> Iterator[tuple[Known, Counts]]:
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
        yield from _count_few(columns, labels, n_labels)
        return
    most = min(max(_JOINT, len(labels) // _ROWS_A_PLACE), _MOST_JOINT)
    count = partial(_count_jointly, labels=labels, n_labels=n_labels)
    groups = _grouped(columns, n_labels, most)
    if len(labels) < _MANY_ROWS:
        yield from chain.from_iterable(map(count, groups))
        return
    # NumPy leaves the other core free while it counts.
    yield from chain.from_iterable(on_both_cores(count, groups))


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


def _count_few(
    columns: Iterable[_Coded],
    labels: NDArray[np.integer],
    n_labels: int,
) -> Iterator[tuple[Known, Counts]]:
    """Count columns with few rows: many of them by one call, which takes longer to begin than to count."""
    group: list[_Coded] = []
    for codes, n_values in columns:
        if (n_values + 1) * n_labels > min(_CELLS, _DENSE):
            yield from _count_in_a_row(group, labels, n_labels)
            yield _count_alone(codes, n_values, labels, n_labels)
            group = []
            continue
        group.append((codes, n_values))
        if len(group) * len(labels) >= _CELLS:
            yield from _count_in_a_row(group, labels, n_labels)
            group = []
    yield from _count_in_a_row(group, labels, n_labels)


def _count_in_a_row(
    group: list[_Coded], labels: NDArray[np.integer], n_labels: int
) -> Iterator[tuple[Known, Counts]]:
    if group:
        codes, sizes = zip(*group, strict=True)
        yield from _count_rows(np.array(codes), sizes, labels, n_labels)


def counts_together(n_rows: int, sizes: Sequence[int], n_labels: int) -> bool:
    """Return whether all columns of a table are small enough for `count_together`."""
    return n_rows <= _FEW_ROWS and (max(sizes) + 1) * n_labels <= min(_CELLS, _DENSE)


def count_together(
    codes: NDArray[np.integer], sizes: Sequence[int], labels: NDArray[np.integer], n_labels: int
) -> Iterator[tuple[Known, Counts]]:
    """Count as `count_columns` does, codes in one array, features × rows."""
    step = max(1, _CELLS // len(labels))
    for start in range(0, len(sizes), step):
        some = slice(start, start + step)
        yield from _count_rows(codes[some], sizes[some], labels, n_labels)


def _count_rows(
    codes: NDArray[np.integer], sizes: Sequence[int], labels: NDArray[np.integer], n_labels: int
) -> Iterator[tuple[Known, Counts]]:
    """Count by one ``bincount`` over the cells of all columns, each with places of its own."""
    ends = [0, *accumulate(n_values + 1 for n_values in sizes)]
    n_places = ends[-1] * n_labels
    kind = next(kind for kind in _KEYS if n_places <= np.iinfo(kind).max)
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
) -> list[tuple[Known, Counts]]:
    if n_labels * math.prod(n_values + 1 for _, n_values in group) > _MOST_JOINT:
        return [_count_alone(*group[0], labels, n_labels)]
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


def _apart(joint: Counts) -> Iterator[tuple[Known, Counts]]:
    """Return the counts of each column from joint ones, labels × codes: one half is summed out first."""
    columns = tuple(range(1, joint.ndim))
    if len(columns) == 1:
        counts = np.array(joint.T, dtype=np.int64, order="C")
        yield DenseCounts(counts[1:]), counts[0]
        return
    half = len(columns) // 2
    yield from _apart(np.add.reduce(joint, axis=columns[half:]))
    yield from _apart(np.add.reduce(joint, axis=columns[:half]))


def _count_alone(
    codes: NDArray[np.signedinteger], n_values: int, labels: NDArray[np.integer], n_labels: int
) -> tuple[Known, Counts]:
    key = (codes.astype(np.int64) + 1) * n_labels + labels
    if (n_values + 1) * n_labels <= _DENSE:
        shape = (n_values + 1, n_labels)
        counts = np.bincount(key, minlength=math.prod(shape)).reshape(shape)
        return DenseCounts(counts[1:].astype(np.int64)), counts[0].astype(np.int64)
    keys, found = np.unique(key, return_counts=True)
    known = keys >= n_labels
    n_missing = np.zeros(n_labels, dtype=np.int64)
    n_missing[keys[~known]] = found[~known]
    return SparseCounts(keys[known] - n_labels, found[known], (n_values, n_labels)), n_missing


def from_cells(
    values: NDArray[np.integer],
    labels: NDArray[np.integer],
    counts: Counts,
    shape: tuple[int, int],
) -> Known:
    """Return counts from the places that are not zero; sparse when the table would be very large."""
    if (shape[0] + 1) * shape[1] > _DENSE:
        keys = values.astype(np.int64) * shape[1] + labels
        order = np.argsort(keys)
        return SparseCounts(keys[order], counts[order].astype(np.int64), shape)
    dense = np.zeros(shape, dtype=np.int64)
    dense[values, labels] = counts
    return DenseCounts(dense)


def tallied(
    codes: NDArray[np.integer], labels: NDArray[np.integer], counts: Counts, shape: tuple[int, int]
) -> Known:
    """Add up groups of cells by code and label; those with a negative code are missing."""
    held = codes >= 0
    keys, places = np.unique(
        codes[held].astype(np.int64) * shape[1] + labels[held], return_inverse=True
    )
    summed = np.zeros(len(keys), dtype=np.int64)
    np.add.at(summed, places, counts[held])
    return from_cells(keys // shape[1], keys % shape[1], summed, shape)
