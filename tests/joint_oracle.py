"""Brute force on tiny tables: imports nothing of the package under test.

A cell is a frozenset of candidate values. A point is robust iff one label's least support beats
every other label's greatest (THEORY.md, T1 and T2).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

Cell = frozenset[int]


class Table(NamedTuple):
    """A tiny table of candidate sets, and the points to attack on it."""

    rows: list[tuple[Cell, ...]]
    labels: list[int]
    m: int
    domains: list[Cell]
    points: list[tuple[int, ...]]
    alpha: Fraction


def robust(table: Table, rows: Sequence[Sequence[Cell]], point: tuple[int, ...]) -> bool:
    """Tell whether every world of ``rows`` predicts one label for ``point``."""
    bounds = []
    for label in range(table.m):
        mine = [row for row, i in zip(rows, table.labels, strict=True) if i == label]
        low = high = Fraction(len(mine), len(rows))
        for j, value in enumerate(point):
            below = len(mine) + table.alpha * len(table.domains[j])
            certain = sum(row[j] == {value} for row in mine)
            possible = sum(value in row[j] for row in mine)
            low *= (certain + table.alpha) / below if below else 0
            high *= (possible + table.alpha) / below if below else 0
        bounds.append((low, high))
    return any(
        all(low > bounds[k][1] for k in range(table.m) if k != i)
        for i, (low, _) in enumerate(bounds)
    )


def fewest_cells(table: Table) -> int | None:
    """Return the least number of cells to blank until no point is robust; None if impossible."""
    places = [
        (i, j)
        for i, row in enumerate(table.rows)
        for j, cell in enumerate(row)
        if cell != table.domains[j]
    ]
    for size in range(len(places) + 1):
        for chosen in combinations(places, size):
            rows = [list(row) for row in table.rows]
            for i, j in chosen:
                rows[i][j] = table.domains[j]
            if not any(robust(table, rows, point) for point in table.points):
                return size
    return None
