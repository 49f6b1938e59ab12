"""Brute force on tiny tables: imports nothing of the package under test.

A cell is a frozenset of candidate values. A point is certain iff one label's least support beats
every other label's greatest (T1, T2). A cell of a point that is None is left out of every support.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from fractions import Fraction
from itertools import combinations
from math import lcm, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Cell = frozenset[int]
Point = tuple[int | None, ...]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
# How many cells of each sort (label, feature, candidates) are blanked, one entry per way to blank.
Blanked = dict[tuple[int, int, Cell], Ints]


class Table(NamedTuple):
    """A tiny table of candidate sets, and the points to attack on it."""

    rows: list[tuple[Cell, ...]]
    labels: list[int]
    m: int
    domains: list[Cell]
    points: Sequence[Point]
    alpha: Fraction


def certain(table: Table, rows: Sequence[Sequence[Cell]], point: Point) -> bool:
    """Tell whether every world of ``rows`` predicts one label for ``point``."""
    bounds = []
    for label in range(table.m):
        mine = [row for row, i in zip(rows, table.labels, strict=True) if i == label]
        low = high = Fraction(len(mine), len(rows))
        for j, value in enumerate(point):
            if value is None:
                continue
            below = len(mine) + table.alpha * len(table.domains[j])
            known = sum(row[j] == {value} for row in mine)
            possible = sum(value in row[j] for row in mine)
            low *= (known + table.alpha) / below if below else 0
            high *= (possible + table.alpha) / below if below else 0
        bounds.append((low, high))
    return any(
        all(low > bounds[k][1] for k in range(table.m) if k != i)
        for i, (low, _) in enumerate(bounds)
    )


def fewest_cells(table: Table, within: Collection[tuple[int, int]] | None = None) -> int | None:
    """Return the least number of cells to blank until no point is certain; None if impossible.

    ``within`` names the cells that can be blanked, as pairs of a row and a feature.
    """
    places = [
        (i, j)
        for i, row in enumerate(table.rows)
        for j, cell in enumerate(row)
        if cell != table.domains[j] and (within is None or (i, j) in within)
    ]
    for size in range(len(places) + 1):
        for chosen in combinations(places, size):
            rows = [list(row) for row in table.rows]
            for i, j in chosen:
                rows[i][j] = table.domains[j]
            if not any(certain(table, rows, point) for point in table.points):
                return size
    return None


def fewest_by_counts(
    table: Table, limit: int = 2_000_000, within: Collection[tuple[int, int]] | None = None
) -> int | None:
    """Return the same as `fewest_cells` on larger tables, by trying all counts per sort of cell.

    Cells of one label and feature with the same candidates do the same, so how many of each sort
    are blanked is all that matters. Supports are compared as whole numbers over one denominator.
    Raises ValueError if there are more than ``limit`` ways to try, or numbers grow too large.
    """
    sorts = Counter(
        (label, j, cell)
        for i, (row, label) in enumerate(zip(table.rows, table.labels, strict=True))
        for j, cell in enumerate(row)
        if cell != table.domains[j] and (within is None or (i, j) in within)
    )
    if prod(n + 1 for n in sorts.values()) > limit:
        raise ValueError("too many ways to blank cells")
    axes = [np.arange(n + 1) for n in sorts.values()]
    grid = np.meshgrid(*axes, indexing="ij") if axes else [np.zeros(1, dtype=np.int64)]
    blanked = dict(zip(sorts, (axis.ravel() for axis in grid), strict=False))
    n_cells = sum(blanked.values(), np.zeros(grid[0].size, dtype=np.int64))
    done = np.ones(len(n_cells), dtype=bool)
    for point in table.points:
        done &= ~_certain_after(table, blanked, point)
    return int(n_cells[done].min()) if done.any() else None


def _certain_after(table: Table, blanked: Blanked, point: Point) -> Bools:
    """Tell for each way to blank whether one label still wins at ``point`` in every world."""
    bounds = [_bounds_after(table, blanked, point, label) for label in range(table.m)]
    certain = np.zeros(len(bounds[0][0]), dtype=bool)
    for i, (low, _) in enumerate(bounds):
        ahead = np.ones(len(low), dtype=bool)
        for k, (_, high) in enumerate(bounds):
            ahead &= (low > high) | (k == i)
        certain |= ahead
    return certain


def _bounds_after(table: Table, blanked: Blanked, point: Point, label: int) -> tuple[Ints, Ints]:
    """Return the least and the greatest support of ``label``, times one number for all labels."""
    top, bottom = table.alpha.numerator, table.alpha.denominator
    totals = [table.labels.count(i) for i in range(table.m)]
    known_domains = [
        dom for dom, value in zip(table.domains, point, strict=True) if value is not None
    ]
    below = [prod(bottom * n + top * len(dom) for dom in known_domains) for n in totals]
    whole = lcm(*(number for number in below if number))
    share = totals[label] * whole // below[label] if below[label] else 0
    if share * prod([bottom * max(totals) + top] * len(point)) >= 2**63:
        raise ValueError("supports too large for 64 bits")
    size = next((len(count) for count in blanked.values()), 1)
    low = high = np.full(size, share, dtype=np.int64)
    for j, value in enumerate(point):
        if value is None:
            continue
        mine = [row[j] for row, i in zip(table.rows, table.labels, strict=True) if i == label]
        known = np.full(size, sum(cell == {value} for cell in mine))
        possible = np.full(size, sum(value in cell for cell in mine))
        for (i, feature, cell), count in blanked.items():
            if (i, feature) == (label, j) and value in table.domains[j]:
                known = known - count * (cell == {value})
                possible = possible + count * (value not in cell)
        low, high = low * (bottom * known + top), high * (bottom * possible + top)
    return low, high
