"""Float bounds: they hold the radius, and where they leave a choice, integers make it."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from support.count_tables import exact_radius, first_point, random_codes, random_index, two_labels

from nullproof.model import Alpha, Model
from nullproof.radii.bounds import Bounds, bound_radii
from nullproof.radii.cells import radii, radius
from nullproof.tables.points import Points
from nullproof.verdicts import verdicts

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

SEED = int(os.environ.get("NULLPROOF_SEED", "20240604"))
ALPHAS: tuple[Alpha, ...] = (0, 0, 1, Fraction(1, 3), 1e-10)


def bounds_of(model: Model, points: Points) -> tuple[np.ndarray, np.ndarray, Bounds]:
    """Return the places of the certain points, their labels, and the float bounds of their radius."""
    found = verdicts(model, points)
    places = np.flatnonzero(found.possible.sum(axis=1) == 1)
    winner = found.possible[places].argmax(axis=1)
    logs = found.min_log[places], found.max_log[places]
    return (
        places,
        winner,
        bound_radii(model, points.codes[:, places], winner, logs, np.ones(model.d, dtype=bool)),
    )


def test_float_intervals_hold_the_radius() -> None:
    """With up to a million rows floats settle nearly all points, and none of them wrongly."""
    rng = random.Random(f"{SEED}-intervals")
    n_certain = n_unclear = 0
    for _ in range(150):
        index, alpha = random_index(rng, 10**6), rng.choice(ALPHAS)
        points, model = random_codes(rng, index, 10), Model(index, alpha)
        found = radii(index, points, alpha=alpha)
        places, winner, bounds = bounds_of(model, points)
        assert (bounds.at_least <= found.radius[places]).all()
        assert (found.radius[places] <= bounds.at_most).all()
        for place, label in zip(places.tolist(), winner.tolist(), strict=True):
            assert found.radius[place] == exact_radius(model, points, place, label)
        # One feature alone ties all the time: its supports are counts over the number of rows.
        if (index.n_values > 1).sum() > 2:
            n_certain += len(places)
            n_unclear += int((bounds.at_least < bounds.at_most).sum())
    assert n_certain > 300
    assert n_unclear < n_certain / 50


def float_radius(winner: Sequence[int], rival: Sequence[int], alpha: int) -> int:
    """Lower the winner's smallest count by plain double precision; same sizes, same prior."""
    gap = sum(math.log(count + alpha) for count in rival) - sum(
        math.log(count + alpha) for count in winner
    )
    return math.ceil((min(winner) + alpha) * (1 - math.exp(gap)))


@pytest.mark.parametrize("alpha", [0, 1])
def test_floats_cannot_separate_neighbours(alpha: int) -> None:
    """x(x+4)(x+5) and (x+1)(x+2)(x+6) differ by 12: invisible to logs, one cell to the attacker."""
    n_wrong = 0
    for x in range(900_000, 900_040):
        less, more = [x, x + 4, x + 5], [x + 1, x + 2, x + 6]
        smallest, behind = 700_000 + 7 * (x % 100), 5_000 + x % 1000
        for own, other, extra in [(more, less, 1), (less, more, 0)]:
            winner = [count - alpha for count in (smallest, *own)]
            rival = [count - alpha for count in (*other[::-1], smallest - behind)]
            index = two_labels((10**6, 10**6), winner, rival)
            assert radius(index, first_point(index), alpha=alpha).tolist() == [behind + extra]
            n_wrong += float_radius(winner, rival, alpha) != behind + extra
    assert n_wrong >= 30


def test_near_tie_is_settled_by_integers() -> None:
    """The same near tie leaves a float interval of two numbers, and the larger one is right."""
    x = 900_000
    index = two_labels((10**6, 10**6), (7, x + 1, x + 2, x + 6), (x, x + 4, x + 5, 3))
    _, _, bounds = bounds_of(Model(index, alpha=0), first_point(index))
    assert (bounds.at_least.tolist(), bounds.at_most.tolist()) == ([4], [5])
    assert radius(index, first_point(index), alpha=0).tolist() == [5]


def test_numbers_that_floats_cannot_hold() -> None:
    """Smoothing beyond the range of doubles leaves everything to the integers."""
    index = two_labels((9, 5), (7, 8), (2, 1))
    for alpha in (Fraction(1, 10**400), Fraction(10**400)):
        model, points = Model(index, alpha), first_point(index)
        _, _, bounds = bounds_of(model, points)
        assert (bounds.at_least.tolist(), bounds.at_most.tolist()) == ([1], [math.inf])
        expected = exact_radius(model, points, 0, 0)
        assert radius(index, points, alpha=alpha).tolist() == [expected]
