"""Which columns only name the rows: they are left out, since they say nothing about a new point."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.tables.bins import doubles
from nullproof.tables.columns import Column
from nullproof.tables.values import LARGEST_DOUBLE_INTEGER

# With so few known cells a column of different texts may be anything.
FEW = 20


def names_rows(column: Column, counts: NDArray[np.int64] | None = None, n_rows: int = 0) -> bool:
    """Whether a column has nearly a text of its own for every row, or numbers the rows.

    Parameters
    ----------
    counts, n_rows
        If the cells are groups of cells: how many are in each, and the rows of the table.
    """
    if column.codes is not None:
        return column.kind == "category" and not column.declared and _are_names(column, counts)
    assert column.numbers is not None
    n_rows = n_rows or len(column)
    n_cells = len(column) if counts is None else int(counts.sum())
    if column.kind != "number" or column.sets or n_cells != n_rows or len(column) != n_rows:
        return False
    return _are_serial(column.numbers)


def spans_rows(low: float, high: float, n_rows: int) -> bool:
    """Whether whole numbers between two others could be those of all rows."""
    largest = max(abs(low), abs(high))
    return n_rows > FEW and largest <= LARGEST_DOUBLE_INTEGER and high - low + 1 == n_rows


def _are_names(column: Column, counts: NDArray[np.int64] | None) -> bool:
    codes = column.codes
    assert codes is not None
    known = codes >= 0
    n_known = int(known.sum() if counts is None else counts[known].sum())
    if n_known <= FEW or 2 * len(column.values) <= n_known:
        return False
    return 2 * int(np.count_nonzero(np.bincount(codes[known]))) > n_known


def _are_serial(numbers: NDArray[Any]) -> bool:
    if len(numbers) <= FEW:
        return False
    found = doubles(numbers)
    low, high = float(found.min()), float(found.max())
    # A NaN makes both comparisons false.
    if not spans_rows(low, high, len(found)) or not bool((found == np.floor(found)).all()):
        return False
    return int(np.bincount((found - low).astype(np.int64)).max()) == 1
