"""Random tiny tables, and their counts as the package wants them."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np

from nullproof.attacks.joint.problem import CandidateCells, Counts
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
    return Table(rows, labels, m, domains, points, alpha)


def table_counts(table: Table) -> Counts:
    """Count a table of candidate sets."""
    rows, labels, m, domains, points, alpha = table
    d = len(domains)
    sizes = np.array([len(domain) for domain in domains], dtype=np.int64)
    exact = [np.zeros((len(domain) + 1, m), dtype=np.int64) for domain in domains]
    sets: Counter[tuple[int, int, frozenset[int]]] = Counter()
    low = np.zeros((len(points), m, d), dtype=np.int64)
    high = np.zeros_like(low)
    for row, label in zip(rows, labels, strict=True):
        for j, cell in enumerate(row):
            if len(cell) == 1:
                exact[j][next(iter(cell)), label] += 1
            elif cell != domains[j]:
                sets[label, j, cell] += 1
            for p, point in enumerate(points):
                low[p, label, j] += cell == {point[j]}
                high[p, label, j] += point[j] in cell
    return Counts(
        exact=exact,
        n_values=sizes,
        codes=np.array(points, dtype=np.int64),
        low=low,
        high=high,
        label_counts=np.bincount(labels, minlength=m).astype(np.int64),
        alpha=alpha,
        sets=[CandidateCells(i, j, cell, n) for (i, j, cell), n in sets.items()],
    )


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
    return Table(rows, labels, m, [frozenset(range(size)) for size in sizes], points, alpha)
