"""Joint problems of small random tables, for what a joint attack is made of."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from nullproof.attacks.joint.problem import Ints, Problem
from nullproof.attacks.poisoning import different
from nullproof.counts.index import CountIndex
from nullproof.radii.cells import radii
from nullproof.radii.reach import Reach
from nullproof.tables.points import Points
from support.count_tables import first_point, index_from_counts, two_labels
from support.joint_tables import index_of, larger_table, random_table


class Asked(NamedTuple):
    """A problem, the codes of its points, and which cells can be blanked."""

    problem: Problem
    codes: Any
    reach: Reach


def asked_of(
    index: CountIndex, points: list[tuple[Any, ...]] | Points, **options: Any
) -> Asked | None:
    """The joint problem of the points that are certain; None if there is none to break."""
    found = radii(index, points, **options)
    certain = np.flatnonzero((found.radius > 0) & np.isfinite(found.radius))
    places = [*different(found, certain).values()]
    if not places:
        return None
    return Asked(Problem.of(found, places), found.codes[:, places], found.reach)


@cache
def questions() -> tuple[Asked, ...]:
    """Problems of small tables, some with open cells, features left out, or rows out of reach."""
    found = list[Asked]()
    for seed in range(70):
        rng = np.random.default_rng(seed)
        dirty = seed % 3 == 0
        table = random_table(rng, 4, dirty=dirty) if seed % 2 else larger_table(rng, dirty=dirty)
        index, only = index_of(table), None
        if seed % 5 == 0 and not dirty:
            rows = [tuple(next(iter(cell)) for cell in row) for row in table.rows]
            domains = {f"x{j}": sorted(own) for j, own in enumerate(table.domains)}
            index = CountIndex.from_rows(rows, table.labels, domains=domains)
            within = rng.random(len(rows)) < 0.8
            only = {"rows": within, "table": rows, "labels": table.labels}
        points = [
            tuple(None if rng.random() < 0.1 else value for value in point)
            for point in table.points
        ]
        asked = asked_of(index, points, alpha=table.alpha, only=only)
        if asked is not None:
            assert asked.problem.limited == (only is not None)
            found.append(asked)
    assert len(found) > 25
    assert sum(asked.problem.limited for asked in found) > 3
    return tuple(found)


@cache
def counted() -> tuple[Problem, ...]:
    """Problems made of counts: some larger, some zero, gaps of every size, up to three labels."""
    found = list[Asked | None]()
    for alpha in (0, 1, Fraction(1, 3), Fraction(1, 10**400)):
        for winner, rival in [((15, 11, 20), (4, 9, 2)), ((12, 12), (11, 10)), ((16, 3), (5, 1))]:
            index = two_labels((25, 14), winner, rival)
            found.append(asked_of(index, first_point(index), alpha=alpha))
    three = index_from_counts(
        [20, 15, 9],
        [[(17, 3, 0), (1, 10, 3), (2, 2, 6)], [(11, 6, 4), (9, 9, 5)], [(6, 0, 1), (14, 15, 8)]],
    )
    points = [("0", "0", "1"), ("1", "1", "1"), ("0", "1", "0"), ("1", "0", None)]
    found += [asked_of(three, points, alpha=alpha) for alpha in (0, 2)]
    return tuple(asked.problem for asked in found if asked is not None)


def random_cells(rng: np.random.Generator, problem: Problem) -> Ints:
    """Some cells of each group, few or many."""
    share = rng.choice([0.2, 0.5, 0.9, 1.0])
    return np.asarray(rng.binomial(problem.capacity, share), dtype=np.int64)
