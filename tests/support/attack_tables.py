"""Random tables to attack: rare labels, few missing cells, and points near the rows."""

from __future__ import annotations

import random
from collections.abc import Hashable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from support import oracle
from support.attack_oracle import LargeTable, n_multisets, n_tables
from support.strategies import Case, random_weights

ALPHAS = (0, 0, 0, 1, 1, 2, Fraction(1, 2), 0.1, Fraction(1, 3), 1e-6, 50)


def attack_case(
    rng: random.Random, max_rows: int = 10, max_features: int = 4, *, n_points: int = 2
) -> Case:
    """Draw a table with few missing cells, and points that are near its rows.

    Points have missing cells and unseen values; every other table has weights.
    """
    n_rows, n_features = rng.randint(2, max_rows), rng.randint(1, max_features)
    names = ["A", "B", "C", "D"][: rng.choice([1, 2, 2, 2, 2, 3, 3, 4])]
    weights = [rng.choice([1, 1, 4]) for _ in names]
    labels = tuple(rng.choices(names, weights, k=n_rows))
    features = tuple(f"f{j}" for j in range(n_features))
    domains: dict[str, tuple[Hashable, ...]] = {}
    columns: list[list[Any]] = []
    missing = rng.choice([0, 0, 0.1, 0.3])
    for feature in features:
        used = "abc"[: rng.choice([1, 2, 2, 2, 3])]
        more = rng.randint(len(used), 4) if rng.random() < 0.3 else len(used)
        domains[feature] = tuple("abcd"[:more])
        leaning = {name: [rng.choice([1, 1, 5]) for _ in used] for name in names}
        column: list[Any] = [rng.choices(used, leaning[label])[0] for label in labels]
        for i in range(n_rows):
            if rng.random() < missing:
                column[i] = None
        columns.append(column)
    rows = tuple(zip(*columns, strict=True))
    points = tuple(_near_point(rng, rows, [*domains.values()]) for _ in range(n_points))
    numbers = {name: rng.choice([0.1, 1, 7, 0]) for name in names} | {labels[0]: 1}
    prior = rng.choice([None, None, None, "uniform", numbers])
    eighths = random_weights(rng, n_features) if rng.random() < 0.5 else None
    return Case(rows, labels, features, domains, points, rng.choice(ALPHAS), prior, eighths)


def _near_point(rng: random.Random, rows: Any, domains: Any) -> tuple[Any, ...]:
    """Take a row and change a cell or two; some are unknown, some outside the domain."""
    cells: list[Any] = []
    for cell, domain in zip(rng.choice(rows), domains, strict=True):
        own = rng.choice(oracle.candidates(cell, domain))
        options = [own, rng.choice(domain), "unseen", None]
        cells.append(rng.choices(options, [60, 14, 2, 4])[0])
    return tuple(cells)


def tiny_case(rng: random.Random, most_tables: int = 400) -> Case:
    """Draw a case with few complete tables of its size, and complete points."""
    while True:
        case = attack_case(rng, rng.choice([3, 4, 5, 8]), rng.choice([1, 2, 3]))
        points = tuple(p for p in case.points if all(isinstance(c, str) for c in p))
        if n_tables(case) <= most_tables and points:
            return replace(case, points=points)


def rows_case(rng: random.Random, most_ways: int) -> tuple[Case, int]:
    """Draw a table, and up to how many added rows (3 at most) so many ways allow."""
    while True:
        case = attack_case(rng, rng.choice([4, 6, 9]), rng.choice([1, 2, 2, 3]))
        fitting = [n for n in (1, 2, 3) if n_multisets(case, n) <= most_ways]
        if len(fitting) >= rng.choice([1, 2, 3]):
            return case, max(fitting)


def random_limits(rng: random.Random, case: Case) -> tuple[dict[str, Any], set[tuple[int, int]]]:
    """Draw what can be reached: as the option ``only``, and as a set of cells."""
    n_rows, d = len(case.rows), len(case.features)
    kinds = rng.choice([{"columns"}, {"rows"}, {"cells"}, {"columns", "rows"}, {"rows", "cells"}])
    within = {(i, j) for i in range(n_rows) for j in range(d)}
    only: dict[str, Any] = {}
    share = rng.choice([0.3, 0.6, 0.9])
    if "columns" in kinds:
        names = [name for name in case.features if rng.random() < 0.6]
        only["columns"] = names
        within &= {(i, j) for i, j in within if case.features[j] in names}
    if "rows" in kinds:
        rows = np.array([rng.random() < share for _ in range(n_rows)])
        only["rows"] = rows
        within &= {(i, j) for i, j in within if rows[i]}
    if "cells" in kinds:
        cells = np.array([[rng.random() < share for _ in range(d)] for _ in range(n_rows)])
        only["cells"] = cells
        within &= {(i, j) for i, j in within if cells[i, j]}
    if kinds != {"columns"}:
        only |= {"table": case.rows, "labels": case.labels}
    return only, within


def large_table(rng: random.Random, n_rows: int, times: int = 1) -> LargeTable:
    """Draw skewed codes with missing cells, rare labels and one-value domains; some tables are wide."""
    d = rng.choice([1, 2, 3, 4, 5, 6, 7, rng.randint(20, 45) if n_rows <= 40 else 2])
    draw = np.random.default_rng(rng.randrange(2**32))
    shares = draw.dirichlet([rng.choice([0.5, 2.0])] * rng.randint(2, 4))
    labels = draw.choice(len(shares), n_rows, p=shares)
    labels[: len(shares)] = np.arange(len(shares))
    if rng.random() < 0.3:
        # A rival of one to three rows.
        rare = np.flatnonzero(labels == 1)[rng.randint(1, 3) :]
        labels[rare] = 0
    n_values = tuple(rng.choice([1, 2, 2, 3]) for _ in range(d))
    codes = np.empty((n_rows, len(n_values)), dtype=np.int64)
    for j, n in enumerate(n_values):
        for label in range(len(shares)):
            own = labels == label
            codes[own, j] = draw.choice(n, own.sum(), p=draw.dirichlet([0.7] * n))
        if rng.random() < 0.3:
            codes[draw.random(n_rows) < rng.choice([0.02, 0.3]), j] = -1
    return LargeTable(codes, labels, n_values, times)


def large_points(rng: random.Random, table: LargeTable, n_points: int) -> list[tuple[Any, ...]]:
    """Draw points near the rows, now and then with an unseen value or a missing cell."""
    found, n_unseen = [], rng.choice([0, 2, 12])
    for _ in range(n_points):
        # Rows of a rare label as often as of others.
        own = np.flatnonzero(table.labels == rng.choice(table.labels[:4].tolist()))
        row = table.codes[rng.choice(own.tolist())].tolist()
        cells = [
            rng.choices([max(code, 0), rng.randrange(n), n, None], [60, 20, n_unseen, 3])[0]
            for code, n in zip(row, table.n_values, strict=True)
        ]
        found.append(tuple(cells))
    return found


def trailing_table(rng: random.Random) -> tuple[LargeTable, tuple[Any, ...]]:
    """Draw a rival that has all rows of the winner but a few, which agree with the point.

    With so many rows added it ties exactly; whether fewer do is for the counts to say.
    """
    draw = np.random.default_rng(rng.randrange(2**32))
    n_values = tuple(rng.choice([2, 2, 3]) for _ in range(rng.randint(2, 5)))
    n_rows, n_short = rng.randint(12, 150), rng.choice([1, 1, 2, 3, 5])
    codes = np.stack([draw.choice(n, n_rows, p=draw.dirichlet([2] * n)) for n in n_values], axis=1)
    codes[:n_short] = 0
    both = np.concatenate([codes, codes[n_short:]])
    labels = np.repeat([0, 1], [n_rows, n_rows - n_short])
    return LargeTable(both, labels, n_values), (0,) * len(n_values)
