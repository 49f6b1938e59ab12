"""The exact frontier: the two greedy orders, and the cheapest mix of them."""

from __future__ import annotations

import math
import os
import random
from fractions import Fraction

import pytest
from support.count_tables import frontier_by_steps, random_codes, random_index, walk

from nullproof.counts.index import CountIndex
from nullproof.model import Model
from nullproof.radii.cells import radii, radius
from nullproof.radii.frontier import Frontier

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

SEED = int(os.environ.get("NULLPROOF_SEED", "20240604"))
ALPHAS = (0, 0, 1, Fraction(1, 3), 0.1, 1e-10, 1000, 1e-300, 1e12)
# The paper's complete table: the point is (a, b), every c differs from both.
PAPER_ROWS = [
    ("a", "b"),
    ("a", "c1"),
    ("c2", "b"),
    ("c3", "b"),
    ("a", "b"),
    ("c1", "b"),
    ("c2", "c3"),
    ("c4", "c5"),
    ("c6", "c7"),
]
PAPER_LABELS = ["l*"] * 4 + ["l"] * 5


def test_strategies_of_the_paper() -> None:
    """The paper's examples: A1 takes (1, 2) to (2, 2) to (3, 3), A2 (2, 3) to (1, 3) to (0, 3)."""
    index = CountIndex.from_rows(PAPER_ROWS, PAPER_LABELS)
    model, winner, rival = Model(index, alpha=0), 1, 0
    assert index.labels == ("l", "l*")
    frontier = Frontier(
        [2, 3],
        [1, 2],
        5,
        movable=[0, 1],
        overtaken=lambda low, high: not model.exceeds(winner, low, rival, high),
    )
    assert [frontier.lowered(n) for n in range(3)] == [[2, 3], [1, 3], [0, 3]]
    assert [math.prod(frontier.raised(n)) for n in range(4)] == [2, 4, 6, 9]
    assert frontier.raised(1) == [2, 2]
    found = radii(index, ("a", "b"), alpha=0)
    assert (found.radius[0], found.label[0], found.rival[0]) == (2, "l*", "l")
    assert frontier.fewest(1) in ((0, 2), (1, 1))


def test_frontier_step_by_step() -> None:
    """T8 equals T7: bisection and water levels find what single steps find."""
    rng = random.Random(f"{SEED}-steps")
    n_attacked = 0
    for _ in range(150):
        index, alpha = random_index(rng, rng.choice([5, 20, 60])), rng.choice(ALPHAS)
        points = random_codes(rng, index, 4)
        expected = [frontier_by_steps(index, alpha, column) for column in points.codes.T.tolist()]
        assert radius(index, points, alpha=alpha).tolist() == expected
        n_attacked += sum(0 < value < math.inf for value in expected)
    assert n_attacked > 100


def test_greedy_orders_of_long_attacks() -> None:
    """Both orders, computed at once, equal the walk that takes one cell at a time."""
    low, high, cap, movable = [3, 0, 7, 3, 5], [4, 9, 0, 2, 4], 9, [0, 1, 2, 4]
    frontier = Frontier(low, high, cap, movable=movable, overtaken=lambda *_: False)
    for counts, step, end, order in [
        (low, -1, 0, frontier.lowered),
        (high, 1, cap, frontier.raised),
    ]:
        for n_steps, walked in enumerate(walk(counts, movable, step, end)):
            assert sorted(order(n_steps)) == sorted(walked)
            assert order(n_steps)[3] == counts[3]


def test_bounds_of_the_search() -> None:
    """The search keeps to its bounds, and finds nothing where nothing succeeds."""
    frontier = Frontier(
        [5, 9], [1, 2], 9, movable=[0, 1], overtaken=lambda low, high: sum(high) - sum(low) >= 0
    )
    steps = frontier.fewest(1)
    assert steps is not None
    assert sum(steps) == 11
    assert frontier.fewest(1, 10) is None
    assert frontier.fewest(11, 11) is not None
    stuck = Frontier([5], [1], 9, movable=[], overtaken=lambda *_: False)
    assert stuck.fewest(1) is None
