"""Float bounds of single points: they hold the radius, and leave no choice where no tie is near."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.count_tables import index_from_counts, random_codes, random_index

from nullproof.counts.index import CountIndex
from nullproof.model import Model
from nullproof.radii import bounds as bounds_module
from nullproof.radii.bounds import Bounds, bound_radii, used_codes
from nullproof.radii.reach import Reach
from nullproof.radii.solving import PointCounts
from nullproof.tables.points import Points
from nullproof.verdicts import verdicts

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

# Shares that no quotient of small counts equals, so that only zeros tie.
ODD_PRIOR = (0.5312879, 0.2718293, 0.1931847, 0.3141591)
ALPHAS: tuple[Any, ...] = (0, 0, 0, 1, Fraction(37, 101), 1e-9, 40)


class Asked:
    """The certain points of a random table, with their bounds and what integers say."""

    def __init__(self, index: CountIndex, points: Points, model: Model, columns: list[str]) -> None:
        found = verdicts(model, points)
        places = np.flatnonzero(found.certain)
        self.codes, self.winner = points.codes[:, places], found.winner[places]
        self.reach = Reach.of(index, {"columns": columns})
        self.counts = PointCounts(model, self.codes, self.reach)
        self.logs = found.min_log[places], found.max_log[places]
        self.model, self.bounds = model, self.bounded(model)

    def bounded(self, model: Model) -> Bounds:
        return bound_radii(model, self.codes, self.winner, self.logs, self.reach.columns)

    def exact(self, place: int) -> float:
        """The radius, by integers alone."""
        best = math.inf
        for rival in range(self.model.m):
            if rival != self.winner[place]:
                frontier = self.counts.frontier(place, int(self.winner[place]), rival)
                steps = frontier.fewest(1)
                best = min(best, math.inf if steps is None else sum(steps))
        return best

    def assert_bounds(self) -> tuple[int, int]:
        """The bounds hold the radius, and the attack beside them works; count points, and doubts."""
        bounds, n_doubts = self.bounds, 0
        for place in range(len(self.winner)):
            radius = self.exact(place)
            at_least, at_most = float(bounds.at_least[place]), float(bounds.at_most[place])
            assert at_least <= radius <= at_most
            n_doubts += at_least < at_most
            if at_most < math.inf:
                steps = int(bounds.n_raise[place]), int(bounds.n_lower[place])
                assert sum(steps) == at_most
                winner, rival = int(self.winner[place]), int(bounds.rival[place])
                assert self.counts.frontier(place, winner, rival).falls(*steps)
            else:
                assert bounds.rival[place] == -1
        return len(self.winner), n_doubts


def with_holes(rng: random.Random, points: Points, share: float) -> Points:
    """Let points leave out features."""
    holes = np.random.default_rng(rng.randrange(2**32)).random(points.codes.shape) < share
    skipped = (points.n_values[:, None] + 1).astype(np.int32)
    return Points.without_holes(np.where(holes, skipped, points.codes), points.n_values)


def random_question(rng: random.Random, *, ties: bool) -> Asked:
    """Draw a table, points that may leave features out, columns within reach, smoothing, prior."""
    index = random_index(rng, rng.choice([6, 40, 400]))
    points = with_holes(rng, random_codes(rng, index, 8), rng.choice([0, 0, 0.2]))
    names = [*index.features]
    columns = names if rng.random() < 0.5 else rng.sample(names, rng.randint(1, len(names)))
    prior: Any = list(ODD_PRIOR[: len(index.labels)])
    if ties:
        prior = rng.choice([None, "uniform", [1.0, 0.0, 2.0, 1.0][: len(index.labels)]])
    return Asked(index, points, Model(index, rng.choice(ALPHAS), prior), columns)


def test_bounds_without_ties_leave_no_choice() -> None:
    """T8: where only zeros can tie, floats alone find every radius that integers find."""
    rng = random.Random(20240604)
    n_certain = n_doubts = 0
    for _ in range(120):
        own, doubts = random_question(rng, ties=False).assert_bounds()
        n_certain, n_doubts = n_certain + own, n_doubts + doubts
    assert n_certain > 300
    assert n_doubts <= 0


def test_bounds_with_ties_hold_the_radius() -> None:
    """T8: where supports tie, the interval holds both numbers."""
    rng = random.Random(20240605)
    n_certain = sum(random_question(rng, ties=True).assert_bounds()[0] for _ in range(120))
    assert n_certain > 250


@pytest.mark.parametrize("settings", [{"_BLOCK": 3}, {"_MANY_VALUES": 1}, {"_MANY_VALUES": 2}])
def test_blocks_and_look_up_change_nothing(
    settings: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Points judged in small blocks, or looked up by the values they use, have the same bounds."""
    rng = random.Random(20240606)
    for _ in range(12):
        asked = random_question(rng, ties=False)
        with monkeypatch.context() as patched:
            for name, value in settings.items():
                patched.setattr(bounds_module, name, value)
            again = asked.bounded(asked.model)
        for name in ("at_least", "at_most", "rival", "n_raise", "n_lower"):
            assert getattr(again, name).tolist() == getattr(asked.bounds, name).tolist()


def test_used_codes_of_long_domains() -> None:
    """Up to so many values all of them are looked up, with two more codes; beyond, those in use."""
    codes = np.array([3, 1, 3], dtype=np.int32)
    own, rows = used_codes(codes, 4096)
    assert (own.tolist(), rows.tolist()) == ([*range(4098)], [3, 1, 3])
    own, rows = used_codes(codes, 4097)
    assert (own.tolist(), rows.tolist()) == ([1, 3], [1, 0, 1])


def test_numbers_beyond_floats_bound_nothing() -> None:
    """Where floats do not hold, a radius is at least 1 and nothing else is claimed."""
    index = index_from_counts([9, 5], [[(7, 2), (2, 3)], [(8, 1), (1, 4)]])
    points = Points(np.zeros((2, 1), dtype=np.int32), index.n_values, ((), ()))
    asked = Asked(index, points, Model(index, Fraction(1, 10**400)), ["x0", "x1"])
    assert (asked.bounds.at_least.tolist(), asked.bounds.at_most.tolist()) == ([1], [math.inf])


def test_offers_keep_the_best_attack() -> None:
    """An offer lowers what is known only where it is better, and equal ones do not replace it."""
    bounds = Bounds.none_known(3)
    three, zero = np.array([3.0, 3.0]), np.zeros(2)
    bounds.offer(np.array([0, 2]), 4, (three, three + 1), (zero, zero + 1))
    assert bounds.at_least.tolist() == [3, math.inf, 3]
    assert bounds.at_most.tolist() == [5, math.inf, 5]
    one = np.array([1.0, 4.0])
    bounds.offer(np.array([0, 2]), 1, (one, one), (one, one))
    assert bounds.at_least.tolist() == [2, math.inf, 3]
    assert bounds.at_most.tolist() == [2, math.inf, 5]
    bounds.offer(np.array([0]), 2, (zero[:1], one[:1] + 1), (zero[:1], zero[:1]))
    assert bounds.rival.tolist() == [1, -1, 4]
    assert (bounds.n_raise.tolist(), bounds.n_lower.tolist()) == ([1, 0, 4], [1, 0, 1])
    bounds.copy(np.array([2]), np.array([1]))
    assert (bounds.at_most.tolist(), bounds.rival.tolist()) == ([2, 5, 5], [1, 4, 4])
    part = bounds.at(slice(1, 3))
    part.at_most[:] = 9
    assert bounds.at_most.tolist() == [2, 9, 9]
    assert bounds.at(np.array([0])).n_raise.tolist() == [1]


@pytest.mark.parametrize(("alpha", "largest"), [(0, 901), (2, 907), (Fraction(1, 10**6), 10**6)])
def test_slack_allows_for_the_largest_terms(alpha: Any, largest: int) -> None:
    """Four terms a feature, none larger than the log of a label's rows, and the prior's (theory 2)."""
    index = index_from_counts([900, 5], [[(700, 2), (100, 3), (100, 0)], [(800, 1), (100, 4)]])
    for prior, share in [
        (None, math.log(905 / 5)),
        ([1.0, 0.0], 0.0),
        ([1.0, 99.0], math.log(100)),
    ]:
        model = Model(index, alpha, prior)
        magnitude = share + 4 * 3 * math.log(largest)
        assert bounds_module._slack(model) == pytest.approx(
            2 * model.slack(magnitude), rel=1e-9, abs=0
        )
