"""Random tiny tables of candidate sets, and their index."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from nullproof.counts.index import CountIndex
from support.joint_oracle import Table


def random_table(rng: np.random.Generator, n_points: int, *, dirty: bool) -> Table:
    """Return a table of at most 16 cells or so; dirty ones have missing and open cells."""
    n, d, m = int(rng.integers(4, 8)), int(rng.integers(1, 4)), int(rng.integers(2, 4))
    n = min(n, 16 // d)
    sizes = rng.integers(1 if rng.random() < 0.1 else 2, 4, d)
    domains = [frozenset(range(int(v))) for v in sizes]
    skew = rng.random() * 0.7
    labels = [int(rng.integers(m)) if rng.random() > skew else 0 for _ in range(n)]
    rows = []
    for _ in range(n):
        row = []
        for j in range(d):
            value = int(rng.integers(sizes[j])) if rng.random() > 0.5 else 0
            cell = frozenset([value])
            if dirty and rng.random() < 0.15:
                extra = rng.random(int(sizes[j])) < 0.5
                cell = frozenset([value, *np.flatnonzero(extra).tolist()])
            row.append(cell)
        rows.append(tuple(row))
    points = []
    for _ in range(n_points):
        outside = rng.random() < 0.05
        points.append(tuple(int(rng.integers(s + 1 if outside else s)) for s in sizes))
    alpha = [Fraction(0), Fraction(0), Fraction(1), Fraction(1, 2)][int(rng.integers(4))]
    return Table(rows, *_renumbered(labels), domains, points, alpha)


def index_of(table: Table) -> CountIndex:
    """Count a table of candidate sets; a cell with every candidate is a missing one."""
    rows = [
        tuple(
            None if cell == domain else set(cell)
            for cell, domain in zip(row, table.domains, strict=True)
        )
        for row in table.rows
    ]
    domains = {f"x{j}": sorted(domain) for j, domain in enumerate(table.domains)}
    return CountIndex.from_rows(rows, table.labels, domains=domains)


def _renumbered(labels: list[int]) -> tuple[list[int], int]:
    """The labels without gaps, and how many there are."""
    names, codes = np.unique(labels, return_inverse=True)
    return codes.tolist(), len(names)


def larger_table(rng: np.random.Generator, *, dirty: bool) -> Table:
    """Return a table of up to 56 cells whose values lean on the label."""
    n, d, m = int(rng.integers(6, 15)), int(rng.integers(2, 5)), int(rng.integers(2, 4))
    sizes = rng.integers(2, 4, d).tolist()
    skew, lean = rng.random() * 0.6, rng.random()
    labels = [int(rng.integers(m)) if rng.random() > skew else 0 for _ in range(n)]
    rows = []
    for label in labels:
        row = []
        for size in sizes:
            value = label % size if rng.random() < lean else int(rng.integers(size))
            others = np.flatnonzero(rng.random(size) < 0.5) if dirty and rng.random() < 0.1 else ()
            row.append(frozenset([value, *map(int, others)]))
        rows.append(tuple(row))
    n_points = int(rng.integers(2, 6))
    points = [tuple(int(rng.integers(size)) for size in sizes) for _ in range(n_points)]
    alpha = [Fraction(0), Fraction(0), Fraction(1), Fraction(1, 2)][int(rng.integers(4))]
    domains = [frozenset(range(size)) for size in sizes]
    return Table(rows, *_renumbered(labels), domains, points, alpha)
