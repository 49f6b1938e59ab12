"""How odds are asked for and shown, with bounds that are given."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nullproof import CountIndex, NullproofError, NullproofWarning
from nullproof.model import Model
from nullproof.odds import labels as labels_module
from nullproof.odds.bounds import OddsBounds
from nullproof.odds.labels import Odds, _bounds, label_odds, odds_of
from nullproof.odds.sureness import NONE, UNDECIDED, Sureness
from nullproof.verdicts import verdicts

ROWS: list[Any] = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
LABELS = ["yes", "yes", "no", "no"]


@pytest.fixture
def model() -> Model:
    return Model(CountIndex.from_rows(ROWS, LABELS), 1)


def odds_with(model: Model, lower: Any, upper: Any, reasons: Any = None) -> Odds:
    low, high = np.array(lower, dtype=float), np.array(upper, dtype=float)
    reasons = [None] * len(low) if reasons is None else reasons
    return Odds(model, low, high, np.array(reasons, dtype=object))


# What is read from bounds ---------------------------------------------------------------------------


def test_what_bounds_say(model: Model) -> None:
    """Sure from 99 % on by the lower bound, the likeliest label by the middle, the gap by the widest."""
    odds = odds_with(
        model,
        [[0.0, 0.99], [0.01, 0.98999], [0.5, 0.25], [0.2, 0.25]],
        [[0.01, 1.0], [0.01, 0.99], [0.5, 0.5], [0.75, 0.625]],
    )
    assert odds.sure.tolist() == [True, False, False, False]
    assert odds.likeliest.tolist() == ["yes", "yes", "no", "no"]
    assert odds.gap == pytest.approx(0.55)
    assert odds.columns()["upper no"] == [0.01, 0.01, 0.5, 0.75]
    assert odds.file_columns()["point"] == [0, 1, 2, 3]
    assert [one["point"] for one in odds.document()["points"]] == [0, 1, 2, 3]
    assert odds[2] == {"no": (0.5, 0.5), "yes": (0.25, 0.5)}
    assert odds[1:3].lower.tolist() == odds.lower[1:3].tolist()
    assert [one["yes"][0] for one in odds] == odds.lower[:, 1].tolist()


def test_no_points(model: Model) -> None:
    """Nothing is apart and nothing is sure where there is no point."""
    none = odds_with(model, np.zeros((0, 2)), np.zeros((0, 2)))
    assert (none.gap, none.sure.tolist(), len(none)) == (0.0, [], 0)
    assert repr(none) == "Odds: 0 of 0 points have one label in 99 % of the worlds"


def test_equal_bounds_are_not_apart(model: Model) -> None:
    assert odds_with(model, [[0.25, 0.75]], [[0.25, 0.75]]).gap == 0.0


def test_five_points_are_shown(model: Model) -> None:
    """Text has a line for each of five points, and dots for more."""
    five = odds_with(model, [[0.25, 0.75]] * 5, [[0.25, 0.75]] * 5)
    assert repr(five).splitlines()[1:] == [f"  {k}: no 25.0 %, yes 75.0 %" for k in range(5)]
    six = odds_with(model, [[0.25, 0.75]] * 6, [[0.25, 0.75]] * 6)
    assert repr(six).splitlines()[1:] == [*repr(five).splitlines()[1:], "  …"]


def shown(odds: Odds, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    """The columns of the table in a notebook."""
    kept: dict[str, list[Any]] = {}

    def shown_table(_: str, columns: dict[str, list[Any]], n_points: int) -> str:
        assert n_points == len(odds)
        kept.update(columns)
        return "<table>"

    monkeypatch.setattr(labels_module, "shown_table", shown_table)
    assert odds._repr_html_() == "<table>"
    return kept


def test_the_least_sure_points_come_first(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the greatest lower bound; equal ones in their order, and each with its two likeliest labels."""
    lower = [[0.5, 0.25], [0.125, 0.25], [0.0, 0.5], [0.25, 0.125]]
    upper = [[0.75, 0.5], [0.25, 0.75], [0.25, 1.0], [0.5, 0.375]]
    columns = shown(odds_with(model, lower, upper), monkeypatch)
    assert columns["point"] == [*"1302"]
    assert columns["likeliest"] == ["yes", "no", "no", "yes"]
    assert columns["next"] == ["no", "yes", "yes", "no"]
    assert columns["odds of the likeliest"][0] == "25.0 to 75.0\u00a0%"
    assert columns["odds of the next"][0] == "12.5 to 25.0\u00a0%"
    assert "not worked out" not in columns


def test_one_label_and_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one label there is no next one; points that are not worked out say why."""
    alone = Model(CountIndex.from_rows([("a",), (None,)], ["yes", "yes"]), 1)
    columns = shown(odds_with(alone, [[1.0], [0.0]], [[1.0], [1.0]], [None, "late"]), monkeypatch)
    assert [*columns] == ["point", "likeliest", "odds of the likeliest", "not worked out"]
    assert columns["not worked out"] == ["late", None]
    assert columns["point"] == [*"10"]


# Asking ---------------------------------------------------------------------------------------------


class Asker:
    """Says the same bounds of every point."""

    def __init__(self, lower: Any, upper: Any) -> None:
        self.lower, self.upper = lower, upper

    def of(self, points: Any, _: Any) -> Any:
        return np.array([self.lower] * len(points)), np.array([self.upper] * len(points))


@pytest.mark.parametrize(
    ("lower", "upper", "label", "raised"),
    [
        ([0.98, 0.0], [1.0, 0.01], 0, [0.99, 0.0]),
        ([0.0, 0.98], [0.01, 0.99], 1, [0.0, 0.99]),
        ([0.0, 0.98], [0.01, 1.0], UNDECIDED, [0.0, 0.98]),
        ([0.0, 0.98], [0.01, 1.0], NONE, [0.0, 0.98]),
        ([0.0, 0.99], [0.01, 1.0], None, [0.0, 0.99]),
        ([0.0, 0.98], [0.01, 0.985], None, [0.0, 0.98]),
    ],
)
def test_bounds_tell_whether_a_label_is_sure(
    lower: Any, upper: Any, label: int | None, raised: Any, model: Model
) -> None:
    """Where bounds leave it open the rule is asked, and a label that it names is sure."""
    asked: list[int] = []

    def of_open(points: Any, possible: Any) -> Any:
        assert len(points) == len(possible)
        asked.append(len(points))
        return np.full(len(points), label if label is not None else 0)

    points = model.points([("a", "y"), ("a", "y")], "skip")
    rule: Any = SimpleNamespace(of_open=of_open)
    asker: Any = Asker(lower, upper)
    found = _bounds(asker, rule, points, np.ones((2, 2), dtype=bool))
    assert found[0].tolist() == [raised] * 2
    assert found[1].tolist() == [upper] * 2
    assert asked == [0 if label is None else 2]


@pytest.mark.parametrize("gap", [0.0, 9e-7, 1.001, -0.1, float("nan"), "wide", None])
def test_gaps_that_are_none(gap: Any) -> None:
    """A gap is a number from a millionth to 1."""
    with pytest.raises(NullproofError, match=r"give a number from 0\.000001 to 1"):
        label_odds(CountIndex.from_rows(ROWS, LABELS), ("a", "y"), gap=gap)


@pytest.mark.parametrize("gap", [1e-6, 1e-3, 1, 1.0])
def test_gaps(gap: float) -> None:
    """The ends are gaps too."""
    odds = label_odds(CountIndex.from_rows(ROWS, LABELS), ("a", "y"), gap=gap)
    assert odds.gap <= gap
    assert (odds.lower <= 0.5).all()
    assert (odds.upper >= 0.5).all()


@pytest.mark.parametrize(("part", "anew"), [(4, False), (1, False), (0.5, True)])
def test_a_rule_that_is_known(
    part: float, anew: bool, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule that is given answers, from the same terms unless they are too coarse for the gap."""
    rule = Sureness(model)
    gap = part * rule.asker.gap
    askers: list[OddsBounds] = []

    def bounds(asker: OddsBounds, own: Sureness, points: Any, _: Any) -> Any:
        assert own is rule
        askers.append(asker)
        return np.zeros((len(points), 2)), np.ones((len(points), 2))

    monkeypatch.setattr(labels_module, "_bounds", bounds)
    points = model.points([("a", "y")], "skip")
    odds_of(model, points, verdicts(model, points), gap=gap, rule=rule)
    assert askers[0].gap == gap
    assert (askers[0]._ways is not rule.asker._ways) == anew


def test_what_is_asked_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """A smoothing of 1 and bounds that are a hundredth apart, by both ways to ask."""
    gaps: list[float] = []

    def bounds(asker: OddsBounds, _: Any, points: Any, __: Any) -> Any:
        gaps.append(asker.gap)
        return np.zeros((len(points), 2)), np.ones((len(points), 2))

    monkeypatch.setattr(labels_module, "_bounds", bounds)
    odds = label_odds(CountIndex.from_rows(ROWS, LABELS), ("a", "y"))
    assert odds.model.alpha == 1
    points = odds.model.points([("a", "y")], "skip")
    odds_of(odds.model, points, verdicts(odds.model, points))
    assert gaps == [0.01, 0.01]


@pytest.mark.parametrize("keep", [None, True, False])
def test_interrupting(keep: bool | None, model: Model) -> None:
    """Ctrl-C keeps the points so far, unless it is to end the work."""

    def interrupt(_: str, __: float) -> None:
        raise KeyboardInterrupt

    points = model.points([("a", "y"), ("a", "x")], "skip")
    found = verdicts(model, points)
    assert found.certain.tolist() == [False, True]
    options: Any = {} if keep is None else {"keep": keep}
    if keep is False:
        with pytest.raises(KeyboardInterrupt):
            odds_of(model, points, found, on_progress=interrupt, **options)
        return
    with pytest.warns(NullproofWarning, match="odds of 1 point not worked out"):
        odds = odds_of(model, points, found, on_progress=interrupt, **options)
    assert odds.lower.tolist() == [[0.0, 0.0], [0.0, 1.0]]
    assert odds.upper.tolist() == [[1.0, 1.0], [0.0, 1.0]]
    assert odds.not_worked_out.tolist() == ["interrupted; ask again for this point", None]
