"""Brute force over blanked cells of a tiny table: slow, obvious, and ignorant of nullproof.

`subset_radius` blanks every subset of cells and walks through all worlds each time. `brute_radius`
tries every vector of numbers of blanked cells instead: quicker, and just as ignorant of greedy orders.
`falsified_radius` writes wrong values into every subset of cells.
``within`` names the cells that can be blanked, as pairs of a row and a feature; by default all of them.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Collection, Hashable, Sequence
from fractions import Fraction
from typing import Any

from support import oracle
from support.strategies import Case

Within = Collection[tuple[int, int]] | None


def brute_radius(case: Case, point: Sequence[Any], within: Within = None) -> float:
    """Try every vector of blanked cells of the winner and of each rival; all completions."""
    filled = oracle.completions(point, case.domains)
    every = [brute_complete(case, completion, within) for completion in filled]
    labels = {label for label, _ in every}
    return min(value for _, value in every) if len(labels) == 1 else 0


def brute_complete(
    case: Case, point: Sequence[Hashable], within: Within = None
) -> tuple[Any, float]:
    """Return the certain label of a complete point (or None) and its radius."""
    alpha, names = Fraction(case.alpha), oracle.distinct(case.labels)
    share = oracle.shares(case.labels, names, case.prior)
    sizes = {name: case.labels.count(name) for name in names}
    cells = {name: cells_of(case, name, point, within) for name in names}
    constant = {
        name: oracle.support(share[name], [1] * len(point), sizes[name], case.domains, 0)
        if alpha == 0
        else share[name] / math.prod(sizes[name] + alpha * len(own) for own in case.domains)
        for name in names
    }
    falls, climbs = {}, {}
    for name in names:
        low, high, lackers, lowerable = cells[name]
        falls[name] = extreme_products(low, lowerable, -1, alpha)
        climbs[name] = extreme_products(high, lackers, +1, alpha)
    best: dict[Any, float] = {}
    for name, rival in itertools.permutations(names, 2):
        pairs = [
            n_lower + n_raise
            for n_lower, fallen in falls[name].items()
            for n_raise, climbed in climbs[rival].items()
            if constant[name] * fallen <= constant[rival] * climbed
        ]
        best[name] = min([best.get(name, math.inf), *pairs])
    if len(names) == 1:
        return names[0], math.inf
    certain = [name for name in names if best[name] > 0]
    return (certain[0], best[certain[0]]) if certain else (None, 0)


def cells_of(case: Case, label: Any, point: Sequence[Hashable], within: Within) -> Any:
    """Per feature of one label: low, high, cells that can be blanked to raise, and to lower."""
    low, high, lackers, lowerable = [], [], [], []
    for j, (value, domain) in enumerate(zip(point, case.domains, strict=True)):
        own = [
            (oracle.candidates(row[j], domain), within is None or (i, j) in within)
            for i, (row, name) in enumerate(zip(case.rows, case.labels, strict=True))
            if name == label
        ]
        low.append(sum(cell == (value,) for cell, _ in own))
        high.append(sum(value in cell for cell, _ in own))
        # A blanked cell holds the whole domain, which may be one value or lack the point's.
        is_movable = value in domain and len(domain) > 1
        lackers.append(sum(value not in cell and inside for cell, inside in own) * is_movable)
        lowerable.append(sum(cell == (value,) and inside for cell, inside in own) * is_movable)
    return low, high, lackers, lowerable


def extreme_products(
    counts: Sequence[int], rooms: Sequence[int], step: int, alpha: Fraction
) -> Any:
    """Map numbers of cells to the most extreme product of smoothed counts, from all vectors."""
    better = min if step < 0 else max
    found: dict[int, Fraction] = {}
    for moved in itertools.product(*(range(room + 1) for room in rooms)):
        product = Fraction(1)
        for count, n_cells in zip(counts, moved, strict=True):
            product *= count + step * n_cells + alpha
        total = sum(moved)
        found[total] = better(found.get(total, product), product)
    return found


def subset_radius(case: Case, point: Sequence[Any], within: Within = None) -> float:
    """Blank every subset of cells, smallest first, and walk through all worlds each time."""
    every = [(i, j) for i in range(len(case.rows)) for j in range(len(point))]
    places = [place for place in every if within is None or place in within]
    domains = case.domains

    def is_certain(blanked: Sequence[tuple[int, int]]) -> bool:
        rows = [
            tuple(None if (i, j) in blanked else cell for j, cell in enumerate(row))
            for i, row in enumerate(case.rows)
        ]
        every = oracle.outcomes(
            rows, case.labels, point, domains, alpha=case.alpha, prior=case.prior
        )
        return oracle.certain(every)

    if not is_certain(()):
        return 0
    if is_certain(places):
        return math.inf
    return next(
        n_cells
        for n_cells in range(1, len(places) + 1)
        for blanked in itertools.combinations(places, n_cells)
        if not is_certain(blanked)
    )


def falsified_radius(case: Case, point: Sequence[Any]) -> float:
    """Write other values into every subset of cells, smallest first, and walk through all worlds."""
    places = [(i, j) for i in range(len(case.rows)) for j in range(len(point))]

    def label_with(changed: dict[tuple[int, int], Hashable]) -> Any:
        rows = [
            tuple(changed.get((i, j), cell) for j, cell in enumerate(row))
            for i, row in enumerate(case.rows)
        ]
        every = oracle.outcomes(
            rows, case.labels, point, case.domains, alpha=case.alpha, prior=case.prior
        )
        return oracle.certain_label(every)

    def others(place: tuple[int, int]) -> list[Hashable]:
        domain = case.domains[place[1]]
        own = oracle.candidates(case.rows[place[0]][place[1]], domain)
        return [value for value in domain if value not in own]

    label = label_with({})
    if label is None:
        return 0
    for n_cells in range(1, len(places) + 1):
        for chosen in itertools.combinations(places, n_cells):
            for values in itertools.product(*map(others, chosen)):
                if label_with(dict(zip(chosen, values, strict=True))) != label:
                    return n_cells
    return math.inf


# Random tables ------------------------------------------------------------------------------------


def radius_case(rng: random.Random, max_rows: int = 10, max_features: int = 4) -> Case:
    """Draw a table with few holes and rare labels, and points that are near its rows."""
    n_rows, n_features = rng.randint(2, max_rows), rng.randint(1, max_features)
    names = ["A", "B", "C", "D"][: rng.choice([1, 2, 2, 2, 2, 3, 3, 4])]
    weights = [rng.choice([1, 1, 4]) for _ in names]
    labels = tuple(rng.choices(names, weights, k=n_rows))
    features = tuple(f"f{j}" for j in range(n_features))
    columns: list[list[Any]] = []
    declared: dict[str, tuple[Hashable, ...]] = {}
    hole_rate = rng.choice([0, 0, 0.1, 0.3])
    for feature in features:
        used = "abc"[: rng.choice([1, 2, 2, 2, 3])]
        if rng.random() < 0.3:
            declared[feature] = tuple("abcd"[: rng.randint(len(used), 4)])
        bias = {name: [rng.choice([1, 1, 5]) for _ in used] for name in names}
        column: list[Any] = [rng.choices(used, bias[label])[0] for label in labels]
        for i in range(1, n_rows):
            if rng.random() < hole_rate:
                size = rng.randint(1, len(used))
                column[i] = rng.choice([None, frozenset(rng.sample(used, size))])
        columns.append(column)
    rows = tuple(zip(*columns, strict=True))
    case = Case(rows, labels, features, declared or None, (), 0, None)
    points = tuple(near_point(rng, case) for _ in range(2))
    alpha = rng.choice([0, 0, 0, 1, Fraction(1, 2), 0.1, Fraction(1, 3), 1e-10, 50])
    numbers = {name: rng.choice([0.1, 1, 7, 0]) for name in names} | {labels[0]: 1}
    prior = rng.choice([None, None, None, "uniform", numbers])
    return Case(rows, labels, features, full_domains(case), points, alpha, prior)


def full_domains(case: Case) -> dict[str, tuple[Hashable, ...]]:
    """Declare what each column names or declares already."""
    seen = oracle.seen_domains(case.rows, len(case.features))
    declared = case.declared or {}
    return {
        name: tuple(sorted({*own, *declared.get(name, ())}, key=repr))
        for name, own in zip(case.features, seen, strict=True)
    }


def near_point(rng: random.Random, case: Case) -> tuple[Any, ...]:
    """Take a row and change a cell or two; some are unknown, some outside the domain."""
    domains = list(full_domains(case).values())
    cells = [
        rng.choice(oracle.candidates(cell, domain))
        for cell, domain in zip(rng.choice(case.rows), domains, strict=True)
    ]
    for j, domain in enumerate(domains):
        cells[j] = rng.choices(
            [cells[j], rng.choice(domain), "unseen", None, frozenset({domain[0], "unseen"})],
            [30, 6, 1, 1, 1],
        )[0]
    return tuple(cells)
