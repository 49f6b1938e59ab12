"""Codes in, counts per value and label out: one pass over the cells, in NumPy.

Counting bytes costs little more than reading them. Columns with few values are counted together: one
``bincount`` of their joint code, small enough for the processor's first cache, gives the counts of
each by summing the others out (568,630 × 30 cells: 12 ms against 24 ms one by one).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
_JOINT = 4096
_DENSE = 4_000_000


@dataclass(frozen=True)
class SparseCounts:
    """Counts of a column with very many values: only those above zero, at ``value * m + label``."""

    keys: NDArray[np.int64]
    counts: Counts
    shape: tuple[int, int]

    def rows(self, codes: NDArray[np.intp]) -> Counts:
        """The counts of some values, dense."""
        wanted = codes[:, None].astype(np.int64) * self.shape[1] + np.arange(self.shape[1])
        if not len(self.keys):
            return np.zeros(wanted.shape, dtype=np.int64)
        found = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[found] == wanted, self.counts[found], 0)

    def __add__(self, other: SparseCounts) -> SparseCounts:
        keys, places = np.unique(np.concatenate([self.keys, other.keys]), return_inverse=True)
        counts = np.zeros(len(keys), dtype=np.int64)
        np.add.at(counts, places, np.concatenate([self.counts, other.counts]))
        return SparseCounts(keys, counts, self.shape)


def count_columns(
    columns: Iterable[tuple[NDArray[np.signedinteger], int]],
    labels: NDArray[np.integer],
    n_labels: int,
) -> Iterator[tuple[Counts | SparseCounts, Counts]]:
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
    group: list[tuple[NDArray[np.signedinteger], int]] = []
    size = n_labels
    for codes, n_values in columns:
        if group and size * (n_values + 1) > _JOINT:
            yield from _count_jointly(group, labels, n_labels)
            group, size = [], n_labels
        if n_labels * (n_values + 1) > _JOINT:
            yield _count_alone(codes, n_values, labels, n_labels)
        else:
            group.append((codes, n_values))
            size *= n_values + 1
    yield from _count_jointly(group, labels, n_labels)


def _count_jointly(
    group: list[tuple[NDArray[np.signedinteger], int]], labels: NDArray[np.integer], n_labels: int
) -> Iterator[tuple[Counts, Counts]]:
    shape = (n_labels, *(n_values + 1 for _, n_values in group))
    key = labels.astype(np.uint16)
    for codes, n_values in group:
        key *= np.uint16(n_values + 1)
        key += (codes + codes.dtype.type(1)).astype(np.uint16, copy=False)
    joint = np.bincount(key, minlength=math.prod(shape)).reshape(shape)
    for axis in range(1, len(shape)):
        others = tuple(a for a in range(1, len(shape)) if a != axis)
        counts = joint.sum(axis=others).T.astype(np.int64)
        yield np.ascontiguousarray(counts[1:]), counts[0]


def _count_alone(
    codes: NDArray[np.signedinteger], n_values: int, labels: NDArray[np.integer], n_labels: int
) -> tuple[Counts | SparseCounts, Counts]:
    key = (codes.astype(np.int64) + 1) * n_labels + labels
    if (n_values + 1) * n_labels <= _DENSE:
        counts = np.bincount(key, minlength=(n_values + 1) * n_labels).reshape(-1, n_labels)
        return counts[1:].astype(np.int64), counts[0].astype(np.int64)
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
) -> Counts | SparseCounts:
    """Counts from the places that are not zero; sparse when the table would be very large."""
    if (shape[0] + 1) * shape[1] > _DENSE:
        keys = values.astype(np.int64) * shape[1] + labels
        order = np.argsort(keys)
        return SparseCounts(keys[order], counts[order].astype(np.int64), shape)
    dense = np.zeros(shape, dtype=np.int64)
    dense[values, labels] = counts
    return dense


def cells_of(counts: Counts | SparseCounts) -> tuple[Counts, Counts, Counts]:
    """Value, label and count of every place that is not zero, by value and then label."""
    if isinstance(counts, SparseCounts):
        values, labels = np.divmod(counts.keys, counts.shape[1])
        return values, labels, counts.counts
    values, labels = np.nonzero(counts)
    return values, labels, counts[values, labels]
