"""What is asked of bounds of odds and what is remembered of them, with bounds that are given."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nullproof import CountIndex, NullproofWarning
from nullproof.model import Model
from nullproof.odds import bounds as bounds_module
from nullproof.odds.bounds import OddsBounds, too_many
from nullproof.odds.filling import Filling
from nullproof.verdicts import verdicts

GAP = 0.25
VALUES = "wxyz"
Pair = tuple[tuple[float, float], tuple[float, float]]
WIDE: Pair = ((0.125, 0.25), (0.5, 0.75))
CLOSE: Pair = ((0.5, 0.25), (0.75, 0.5))


def model_of(n_values: int = 4) -> Model:
    """Two labels, and one column with so many values and a hole under each label."""
    rows = [(value,) for value in VALUES[:n_values]] + [(None,)]
    return Model(CountIndex.from_rows(rows * 2, ["no"] * len(rows) + ["yes"] * len(rows)), 1)


class Script:
    """Gives the bounds of each code in turn, instead of working them out."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, bounds: dict[int, Pair]) -> None:
        self.bounds, self.asked, self.enough = bounds, [], []  # type: ignore[var-annotated]
        self.options: dict[str, Any] = {}
        monkeypatch.setattr(bounds_module, "narrowed", self)
        self.asker = OddsBounds(model_of(), Filling(model_of().index), GAP)

    def __call__(self, _: Any, points: Any, gap: float, enough: Any, **options: Any) -> Any:
        assert gap == GAP
        codes = points[0][0].tolist()
        assert len(points[1]) == len(codes)
        self.asked.append(codes)
        self.enough.append(enough)
        self.options = options
        both = np.array([self.bounds[code] for code in codes]).reshape(-1, 2, 2)
        return both[:, 0], both[:, 1]

    def ask(self, *codes: int) -> Any:
        possible = np.ones((len(codes), 2), dtype=bool)
        return self.asker.bounds(np.array([codes], dtype=np.int32), possible)


def told(asker: OddsBounds) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NullproofWarning)
        asker.notify()
    return " ".join(str(one.message) for one in caught)


def test_equal_points_are_asked_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each point gets the bounds of its own code, which are worked out once."""
    script = Script(monkeypatch, {0: CLOSE, 1: WIDE, 2: ((0.0, 0.75), (0.25, 1.0))})
    lower, upper = script.ask(1, 0, 1)
    assert (lower.tolist(), upper.tolist()) == (
        [[0.125, 0.25], [0.5, 0.25], [0.125, 0.25]],
        [[0.5, 0.75], [0.75, 0.5], [0.5, 0.75]],
    )
    assert script.ask(2, 0)[0].tolist() == [[0.0, 0.75], [0.5, 0.25]]
    assert [sorted(codes) for codes in script.asked] == [[0, 1], [2]]
    assert not script.options


def test_so_many_points_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds are kept up to a number of points, beyond which all are forgotten."""
    monkeypatch.setattr(bounds_module, "_MAX_KNOWN", 3)
    script = Script(monkeypatch, dict.fromkeys(range(6), CLOSE))
    script.ask(0, 1)
    script.ask(2)
    script.ask(0, 1)
    assert script.asked == [[0, 1], [2], []]
    script.ask(0, 3)
    assert sorted(script.asked[-1]) == [0, 3]
    assert len(script.asker._known) == 2
    script.ask(4, 5)
    assert len(script.asker._known) == 2


def test_bounds_that_are_too_wide_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many they are and how far apart the widest is; as far as the gap is not too wide."""
    widest: Pair = ((0.0, 0.25), (0.25, 0.875))
    script = Script(monkeypatch, {0: CLOSE, 1: WIDE, 2: widest, 3: WIDE})
    script.ask(0)
    assert told(script.asker) == ""
    script.ask(2)
    script.ask(1, 3)
    assert "odds of 3 points are known only to within 0.62, not 0.25" in told(script.asker)


def test_close_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds are close if those of all labels are; without labels nothing is apart."""
    asker = Script(monkeypatch, {}).asker
    lower = np.array([[0.5, 0.25], [0.5, 0.25], [0.0, 0.0]])
    upper = np.array([[0.75, 0.25], [0.5, 0.75], [0.3, 0.3]])
    assert asker._close(lower, upper).tolist() == [True, False, False]
    assert asker._close(np.zeros((1, 0)), np.zeros((1, 0))).tolist() == [True]


def incomplete(script: Script, monkeypatch: pytest.MonkeyPatch, sure: list[int | None]) -> Any:
    """The bounds of a point that may hold any value, of which some have a certain label."""

    def judged(_: Any, points: Any) -> Any:
        labels = [sure[code] for code in points.codes[0].tolist()]
        possible = np.array([[label in (i, None) for i in (0, 1)] for label in labels])
        return SimpleNamespace(possible=possible, certain=possible.sum(axis=1) == 1)

    monkeypatch.setattr(bounds_module, "verdicts", judged)
    points = script.asker.model.points([(None,)], "any")
    lower, upper = script.asker.of(points, np.ones((1, 2), dtype=bool))
    return lower[0].tolist(), upper[0].tolist()


@pytest.mark.parametrize("together", [1, 2, 64])
def test_all_completions_lie_between(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds of an incomplete point are the least and the greatest ones of its completions."""
    monkeypatch.setattr(bounds_module, "_TOGETHER", together)
    other: Pair = ((0.25, 0.5), (0.375, 0.625))
    script = Script(monkeypatch, {0: CLOSE, 1: WIDE, 2: other, 3: other})
    assert incomplete(script, monkeypatch, [None] * 4) == ([0.125, 0.25], [0.75, 0.75])
    assert [code for codes in script.asked for code in codes] == [0, 1, 2, 3]
    assert incomplete(script, monkeypatch, [None, 1, None, None]) == ([0.0, 0.25], [0.75, 1.0])
    assert incomplete(script, monkeypatch, [0, 0, None, 0]) == ([0.25, 0.0], [1.0, 0.625])


def test_completions_that_are_certain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where each completion has a certain label, nothing is asked."""
    script = Script(monkeypatch, {})
    assert incomplete(script, monkeypatch, [1, 1, 1, 1]) == ([0.0, 1.0], [0.0, 1.0])
    assert incomplete(script, monkeypatch, [1, 0, 1, 1]) == ([0.0, 0.0], [1.0, 1.0])
    assert not any(script.asked)


def test_completions_within_those_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wide bounds of a completion do no harm where those before it reach as far on both sides."""
    asker = Script(monkeypatch, {}).asker
    span = np.array([0.125, 0.25]), np.array([0.5, 0.75])
    lower, upper = np.array([WIDE[0]] * 4), np.array([WIDE[1]] * 4)
    lower[1, 0], upper[2, 1] = 0.0625, 0.875
    lower[3], upper[3] = [0.0, 0.0], [0.25, 0.25]
    assert asker._within(span, lower, upper, lower).tolist() == [True, False, False, True]


@pytest.mark.parametrize("first", [WIDE, CLOSE])
def test_wide_completions_are_told(first: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each completion counts whose bounds are too wide and reach beyond those before it."""
    monkeypatch.setattr(bounds_module, "_TOGETHER", 1)
    within, beyond = ((0.25, 0.25), (0.5, 0.625)), ((0.0, 0.25), (0.5, 0.75))
    second = beyond if first is WIDE else WIDE
    script = Script(monkeypatch, {0: first, 1: second, 2: within, 3: within})
    incomplete(script, monkeypatch, [None] * 4)
    n_wide = 2 if first is WIDE else 1
    assert f"odds of {n_wide} points are known only to within 0.5," in told(script.asker)


def test_complete_and_incomplete_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points of both sorts keep their places."""
    script = Script(monkeypatch, {0: CLOSE, 1: WIDE, 2: CLOSE, 3: CLOSE})
    points = script.asker.model.points([("x",), ({"w", "y"},), ("w",)], "any")
    assert not verdicts(script.asker.model, points.completions(1)).certain.any()
    lower, upper = script.asker.of(points, np.ones((3, 2), dtype=bool))
    assert lower.tolist() == [[*WIDE[0]], [*CLOSE[0]], [*CLOSE[0]]]
    assert upper.tolist() == [[*WIDE[1]], [*CLOSE[1]], [*CLOSE[1]]]


# Deciding -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lower", "upper", "before", "done"),
    [
        ((0.0, 0.75), (0.25, 1.0), 0.5, True),  # one label reaches the share
        ((0.0, 0.625), (0.25, 0.75), 0.5, False),  # it may still
        ((0.0, 0.25), (0.5, 0.625), 0.5, True),  # none does
        ((0.0, 0.5), (0.5, 1.0), 0.5, False),  # wide, however slowly they get closer
        ((0.0, 0.5625), (0.25, 0.8125), 0.3125, True),  # as wide as the gap, and hardly closer
        ((0.0, 0.5625), (0.25, 0.8125), 1 / 3, False),  # a quarter closer is not hardly
        ((0.0, 0.5), (0.375, 0.875), 0.375, False),  # hardly closer, but not close
        ((0.0, 0.75 - 2**-15), (0.0, 0.75 + 2**-15), 1.0, True),  # closer than 0.0001
        ((0.0, 0.75 - 2**-12), (0.0, 0.75 + 2**-12), 1.0, False),
    ],
)
def test_when_bounds_tell(
    lower: Any, upper: Any, before: float, done: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bounds are enough if they tell, if more work hardly helps, or if they are as close as can be."""
    script = Script(monkeypatch, {0: WIDE})
    script.asker.deciding(np.zeros((1, 1), dtype=np.int32), np.ones((1, 2), dtype=bool), 0.75)
    assert script.options == {"coarse": True}
    both = np.array([lower, CLOSE[0]]), np.array([upper, (0.5, 0.5)])
    assert script.enough[0](*both, np.array([before, 1.0])).tolist() == [done, True]


def test_bounds_of_a_ten_thousandth_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """What bounds that are a ten thousandth apart do not tell is not asked any further."""
    monkeypatch.setattr(bounds_module, "_CLOSEST", 2**-13)
    script = Script(monkeypatch, {0: WIDE})
    script.asker.deciding(np.zeros((1, 1), dtype=np.int32), np.ones((1, 2), dtype=bool), 0.75)
    both = np.array([[0.75 - 2**-14]]), np.array([[0.75 + 2**-14]])
    assert script.enough[0](*both, np.ones(1)).tolist() == [True]


# Completions and tables that change -----------------------------------------------------------------


def test_1024_completions_are_not_too_many() -> None:
    """Points with more completions than that are named with the reason, others not."""
    table = np.zeros((2, 13), dtype=int)
    index = CountIndex.from_codes(table, ["no", "yes"], n_values=[2] * 10 + [5, 5, 41])
    whole, some, many = np.zeros((3, 13), dtype=int)
    some[:10], many[10:] = -1, -1
    points = Model(index, 1).points(np.array([whole, some, many, many]), "any")
    assert [points.n_completions(place) for place in range(3)] == [1, 1024, 1025]
    found = too_many(points, [0, 1, 2])
    assert [*found] == [2]
    assert "1,025 completions to look at, more than 1,024" in found[2]


def test_how_far_odds_move() -> None:
    """The distances of the counts of all labels, before and after one feature changed, add up."""
    rows: list[Any] = [("x",), ("y",), (None,), (None,), ("x",), ("y",), (None,)]
    before = CountIndex.from_rows(rows, ["no"] * 4 + ["yes"] * 3)
    after = CountIndex.from_rows(
        [("x",), ("y",), ("x",), (None,), ("x",), ("y",), ("y",)], ["no"] * 4 + ["yes"] * 3
    )
    earlier, later = (OddsBounds(Model(own, 1), Filling(own), 1e-6) for own in (before, after))
    # Of "no" 1 to 3 cells hold x, with chances 1/4, 1/2, 1/4; then 2 or 3. Of "yes" 1 or 2; then 1.
    assert later.moved(earlier, 0, 0) == pytest.approx(1 / 4 + 1 / 2, abs=1e-6)
    assert later.moved(later, 0, 0) == 0
