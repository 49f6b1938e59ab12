"""Bounds that become closer, way by way: what is tried in which order, with ways that are given."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.spreads import Given, spread_of

from nullproof.model import Floats
from nullproof.odds.narrowing import _Work, narrowed
from nullproof.odds.spread import Spread

GAP = 0.125
EPS = 2.0**-52


class Script:
    """Ways to bound odds that say what is written down for each point, and what they were asked.

    Parameters
    ----------
    levels
        Per point: for each level that may be asked for, the level that is reached and how wide the bounds
        of two labels are then. Where there is none, the level is too fine.
    exact
        Per point: the bounds that exact products give, if they are not too many.
    """

    def __init__(self, spread: Given, levels: Any = (), exact: Any = ()) -> None:
        self.spread, self.levels, self.exact = spread, dict(enumerate(levels)), dict(exact)
        self.first, self.wanted, self.asked, self.settled = 1.0, [], [], []  # type: ignore[var-annotated]
        self.model, self.spreads = SimpleNamespace(m=spread.possible.shape[1]), self
        self.chance = math.nan

    def of(self, _: Any, __: Any, chance: float) -> Given:
        self.chance = chance
        return self.spread

    def first_levels(self, spread: Spread, near: Any, wanted: Floats) -> Floats:
        assert len(spread.possible) == len(near) == len(wanted)
        self.wanted = wanted.tolist()
        return np.full(len(near), self.first)

    def odds(self, codes: Any, spread: Spread, near: Any, levels: Floats) -> Any:
        assert codes.shape == (1, len(levels))
        assert len(spread.possible) == len(near) == len(levels)
        places = codes[0].tolist()
        self.asked.append(dict(zip(places, levels.tolist(), strict=True)))
        found = [
            next((own for at, own in self.levels[place].items() if abs(at - level) < 1e-9), None)
            for place, level in zip(places, levels.tolist(), strict=True)
        ]
        told = np.array([own or (math.nan, 0.0) for own in found]).reshape(-1, 2)
        half = np.repeat(told[:, 1:] / 2, 2, axis=1)
        return 0.5 - half, 0.5 + half, told[:, 0]

    def exactly(self, codes: list[int], one: Spread) -> Any:
        assert one.possible.shape[0] == 1
        self.settled.append(codes[0])
        bounds = self.exact.get(codes[0])
        return None if bounds is None else tuple(np.array(side) for side in bounds)

    def narrowed(self, **options: Any) -> Any:
        """The bounds of all points, enough if they are as close as the gap."""
        return narrowed(self, self.points, GAP, self.enough, **options)  # type: ignore[arg-type]

    @property
    def points(self) -> Any:
        codes = np.arange(len(self.spread.possible), dtype=np.int32)[None]
        return codes, self.spread.possible

    @staticmethod
    def enough(lower: Floats, upper: Floats, _: Floats) -> Any:
        return (upper - lower).max(axis=1, initial=0.0) <= GAP

    def work(self, gap: float = GAP) -> _Work:
        return _Work(self, self.points, gap, self.enough)  # type: ignore[arg-type]


def widths(bounds: Any) -> Any:
    return (bounds[1] - bounds[0]).max(axis=1)


# Finer and finer ------------------------------------------------------------------------------------


def test_levels_follow_the_width() -> None:
    """The next level should reach four fifths of the gap; it is between half and three halvings finer."""
    levels = {1.0: (1.25, 1.0), 4.25: (4.25, 0.2), 5.25: (5.25, 0.13), 5.75: (5.75, 0.12)}
    script = Script(spread_of(1, 2), [levels])
    assert widths(script.narrowed()) == pytest.approx([0.12])
    assert [own[0] for own in script.asked] == pytest.approx([1.0, 4.25, 5.25, 5.75])
    assert not script.settled


def test_the_first_level() -> None:
    """It is chosen for the gap, or for a tenth where wide bounds may be enough."""
    levels = [{1.0: (1.0, 0.12)}]
    script = Script(spread_of(1, 2), levels)
    script.narrowed()
    assert script.wanted == [GAP]
    script.narrowed(coarse=True)
    assert script.wanted == [GAP]
    for options, wanted in (({}, 0.0625), ({"coarse": True}, 0.1)):
        narrow = narrowed(script, script.points, 0.0625, script.enough, **options)  # type: ignore[arg-type]
        assert script.wanted == [wanted]
    assert widths(narrow) == pytest.approx([0.12])


def test_a_level_that_is_too_fine_to_begin_with() -> None:
    """The next coarser one is tried until one fits; when a finer one does not fit, that is the end."""
    script = Script(spread_of(1, 2), [{-1.0: (-1.0, 0.2)}])
    assert widths(script.narrowed()) == pytest.approx([0.2])
    assert [own[0] for own in script.asked] == pytest.approx([1.0, 0.0, -1.0, 0.0])
    assert script.settled == [0]


def test_exact_products_come_last() -> None:
    """Where no finer level fits, products are listed; if they are too many the bounds stay."""
    exact = {0: ([0.4375, 0.53125], [0.46875, 0.5625])}
    script = Script(spread_of(2, 2), [{1.0: (1.0, 0.2)}, {1.0: (1.0, 0.25)}], exact)
    lower, upper = script.narrowed()
    assert lower == pytest.approx(np.array([[0.4375, 0.53125], [0.375, 0.375]]))
    assert upper == pytest.approx(np.array([[0.46875, 0.5625], [0.625, 0.625]]))
    assert sorted(script.settled) == [0, 1]


def test_ties_are_settled_once() -> None:
    """Where a finer level hardly helps, ties are looked at exactly, once, and finer levels go on."""
    levels = {1.0: (1.0, 0.5), 1 + math.log2(5): (3.25, 0.4), 5.25: (5.25, 0.3)}
    script = Script(spread_of(1, 2), [levels])
    assert widths(script.narrowed()) == pytest.approx([0.3])
    assert [own[0] for own in script.asked] == pytest.approx([1, 3.3219, 5.25, 6.83496], abs=1e-4)
    assert script.settled == [0]


def test_ties_that_are_settled() -> None:
    """Exact odds of a tie end the work on it; other points go on."""
    tied = {1.0: (1.0, 0.5), 1 + math.log2(5): (3.25, 0.4)}
    other = {1.0: (1.0, 0.5), 1 + math.log2(5): (3.25, 0.12)}
    script = Script(spread_of(3, 2), [tied, other, tied], {2: ([0.5, 0.5], [0.5, 0.5])})
    lower, upper = script.narrowed()
    assert upper[2] == pytest.approx([0.5, 0.5])
    assert widths((lower, upper)) == pytest.approx([0.4, 0.12, 0.0])
    assert script.settled == [0, 2]
    assert [sorted(own) for own in script.asked] == [[0, 1, 2], [0, 1, 2], [0]]


def test_each_point_goes_its_own_way() -> None:
    """Points that fit, that do not and that are done keep apart."""
    levels: list[Any] = [
        {0.0: (0.0, 0.12)},  # too fine at first
        {1.0: (1.0, 0.2), 2.0: (2.0, 0.1)},
        {},  # close from the first
        {1.0: (1.0, 0.4)},  # too fine after the first
    ]
    lower = np.zeros((4, 2))
    lower[2] = 0.9375, 0.0
    spread = spread_of(4, 2, lower=lower)
    script = Script(spread, levels)
    assert widths(script.narrowed()) == pytest.approx([0.12, 0.1, 0.0625, 0.4])
    assert script.asked[0] == {0: 1.0, 1: 1.0, 3: 1.0}
    assert script.asked[1] == pytest.approx({0: 0.0, 1: 2.0, 3: 3.0})
    assert len(script.asked) == 2
    assert script.settled == [3]


def test_few_products_are_listed_first() -> None:
    """Points with few products need no levels; those of which they are too many after all do."""
    n_products = np.array([[2.0, 10.0], [3.0, 40.0], [1.0, 1.0], [10.0, 40.0]])
    alive = np.array([[True, True], [True, True], [True, True], [True, False]])
    spread = spread_of(4, 2, n_products=n_products, alive=alive)
    script = Script(spread, [{1.0: (1.0, 0.12)}] * 4, dict.fromkeys((0, 3), ([0.25, 0.75],) * 2))
    assert script.work().few.tolist() == [True, False, True, True]
    lower, _ = script.narrowed()
    assert script.settled == [0, 2, 3]
    assert script.asked == [{1: 1.0, 2: 1.0}]
    assert lower[[0, 3]] == pytest.approx(np.array([[0.25, 0.75]] * 2))
    assert script.work().left.tolist() == [0, 1, 2, 3]


def test_no_label_alive() -> None:
    """Where every support is zero the first bounds are all there is; one label alive is enough to go on."""
    alive = np.array([[False, False], [True, False]])
    script = Script(spread_of(2, 2, alive=alive))
    assert script.work().left.tolist() == [1]
    assert spread_of(0, 2).possible.shape == (0, 2)
    assert Script(spread_of(0, 2)).narrowed()[0].shape == (0, 2)


# Each step ------------------------------------------------------------------------------------------


def test_what_is_rare() -> None:
    """What supports do rarely takes a hundredth of the gap, for all pairs of labels together."""
    script = Script(spread_of(1, 3))
    script.work(0.25)
    assert script.chance * 9 == pytest.approx(0.0025)


def test_labels_that_stand_a_chance() -> None:
    """Labels that win at most with a quarter of the gap, all together, are left out."""
    upper = np.array([[1.0, 0.03125, 0.03125, 0.5], [0.0625, 1.0, 0.03125, 1.0], [0.5] * 4])
    alive = np.ones((3, 4), dtype=bool)
    alive[2, 1] = False
    work = Script(spread_of(3, 4, alive=alive)).work(0.25)
    work.upper[:] = upper
    near, others = work._near(np.arange(3))
    assert near.tolist() == [
        [True, False, False, True],
        [True, True, False, True],
        [True, False, True, True],
    ]
    assert others.tolist() == [0.0625, 0.03125, 0.0]
    assert work._near(np.array([1]))[0].tolist() == near[1:2].tolist()


def test_bounds_of_labels_near_and_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others may be ahead of who leads the near ones; a label without support shares what nobody wins.

    The labels: two that are near, one that wins seldom, and one whose support is surely zero.
    """
    alive, upper = [[True, True, True, False]], [[1.0, 1.0, 0.03125, 1.0]]
    zero, error = [[0.5, 0.25, 0.75, 1.0]], [[0.0625, 0.0, 0.0, 0.0]]
    spread = spread_of(1, 4, alive=alive, upper=upper, zero=zero, error=error)
    script = Script(spread, [])
    work = script.work()
    bounds: list[Any] = []
    monkeypatch.setattr(work, "_combine", lambda _, found: bounds.append(found))
    least, greatest = np.array([[0.25, 0.5, 0.0, 0.0]]), np.array([[0.375, 0.625, 1.0, 1.0]])
    monkeypatch.setattr(script, "odds", lambda *_: (least, greatest, np.array([2.0])))
    assert work._on_grid(np.array([0]), np.array([1.0])).tolist() == [2.0]
    ((lower, upper_now),) = bounds
    # All of the near ones are zero in an eighth of the worlds, of which each of four labels wins a fourth.
    doubt = 0.03125 + 1.1 * 0.0625 + 4 * EPS
    assert lower[0] == pytest.approx([0.25 - 0.03125, 0.5 - 0.03125, 0.0, 0.03125 - doubt])
    assert upper_now[0] == pytest.approx([0.375, 0.625, 1.0, 0.03125 + doubt])


def test_odds_add_up_to_one() -> None:
    """What the others have at most tells what a label has at least; roundings go outwards."""
    rng = np.random.default_rng(7)
    found = rng.dirichlet(np.ones(3), 50)
    possible = np.ones((50, 4), dtype=bool)
    possible[:, 3] = False
    work = Script(spread_of(50, 4, possible=possible)).work()
    apart = 0.1 * rng.random((50, 3))
    lower, upper = np.zeros((50, 4)), np.ones((50, 4))
    lower[:, :3], upper[:, :3] = np.maximum(found - apart, 0), np.minimum(found + apart, 1)
    work._combine(np.arange(50), (lower, upper))
    n_closer = 0
    for place in range(50):
        for i in range(3):
            others = [k for k in range(3) if k != i]
            least = 1 - sum(Fraction(upper[place, k].item()) for k in others)
            most = 1 - sum(Fraction(lower[place, k].item()) for k in others)
            low, high = (Fraction(own[place, i].item()) for own in (work.lower, work.upper))
            if low > lower[place, i]:
                n_closer += 1
                assert 3 * EPS < least - low < 30 * EPS
            if high < upper[place, i]:
                assert 3 * EPS < high - most < 30 * EPS
            assert low >= least - 30 * EPS
            assert high <= most + 30 * EPS
    assert n_closer > 20
    assert not work.lower[:, 3].any()
    assert not work.upper[:, 3].any()


def test_bounds_only_get_closer() -> None:
    """Of two bounds the closer one is taken on each side, and points that are close enough are done."""
    work = Script(spread_of(3, 2)).work()
    places = np.array([2, 0])
    work._combine(places, (np.array([[0.25, 0.25]] * 2), np.array([[0.75, 0.75]] * 2)))
    assert work.left.tolist() == [0, 1, 2]
    work._combine(places, (np.array([[0.5, 0.0], [0.0, 0.0]]), np.array([[1.0, 0.5], [1.0, 1.0]])))
    assert work.lower == pytest.approx(np.array([[0.25, 0.25], [0.0, 0.0], [0.5, 0.25]]))
    assert work.upper == pytest.approx(np.array([[0.75, 0.75], [1.0, 1.0], [0.75, 0.5]]))
    assert work._width(np.arange(3)) == pytest.approx([0.5, 1.0, 0.25])
    work._combine(np.array([2]), (np.array([[0.625, 0.25]]), np.array([[0.75, 0.375]])))
    assert work.left.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("jump", "before", "now", "tied"),
    [
        (1.0, 0.5, 0.375, True),  # a quarter stays, however fine the grid
        (1.0, 0.5, 0.3125, False),  # just the gap stays
        (2.0, 0.5, 0.25, True),  # a sixth
        (2.0, 0.5, 0.21875, False),  # exactly the gap again
        (0.0, 0.25, 0.5, False),
        (-1.0, 0.5, 0.9, False),
        (math.inf, math.inf, 0.9, False),
        (-math.inf, 0.5, 0.9, False),
    ],
)
def test_what_no_grid_resolves(jump: float, before: float, now: float, tied: bool) -> None:
    """Halving the grid halves its part of the width; what remains is by ties."""
    work = Script(spread_of(1, 2)).work()
    work._before[:] = before
    work.lower[:], work.upper[:] = 0.0, [[now, now / 2]]
    assert work._tied(np.array([0]), np.array([jump])).tolist() == [tied]
