"""One rule for one label in at least a share of the worlds: what bounds cannot tell is not claimed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nullproof import CountIndex
from nullproof.counts.sparse import DenseCounts
from nullproof.model import Model
from nullproof.odds import sureness as sureness_module
from nullproof.odds.bounds import OddsBounds
from nullproof.odds.sureness import (
    NONE,
    SURE,
    UNDECIDED,
    Sureness,
    _same_counts,
    in_blocks,
)
from nullproof.verdicts import verdicts

ROWS = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
LABELS = ["yes", "yes", "no", "no"]


def scripted_rule(monkeypatch: pytest.MonkeyPatch, lower: Any, upper: Any) -> tuple[Any, Any, Any]:
    """A rule for three quarters of the worlds, with given bounds, and an open point to ask about."""

    def deciding(_: Any, codes: Any, *__: Any) -> tuple[Any, Any]:
        both = np.array([lower, upper])[:, None].repeat(codes.shape[1], axis=1)
        return both[0], both[1]

    monkeypatch.setattr(OddsBounds, "deciding", deciding)
    model = Model(CountIndex.from_rows(ROWS, LABELS), 1)
    points = model.points([("a", "y")], "skip")
    return Sureness(model, share=0.75), points, verdicts(model, points)


@pytest.mark.parametrize(
    ("lower", "upper", "told"),
    [
        ((0.0, 0.99), (0.01, 1.0), 1),
        ((0.0, 0.989999), (0.01, 0.990001), UNDECIDED),
        ((0.5, 0.4), (0.6, 0.5), NONE),
    ],
)
def test_only_a_proven_lower_bound_is_enough(
    monkeypatch: pytest.MonkeyPatch,
    lower: tuple[float, float],
    upper: tuple[float, float],
    told: int,
) -> None:
    """A label counts if its lower bound reaches the share, not if only its upper bound does."""

    def deciding(*_: Any) -> tuple[Any, Any]:
        return np.array([lower]), np.array([upper])

    monkeypatch.setattr(OddsBounds, "deciding", deciding)
    model = Model(CountIndex.from_rows(ROWS, LABELS), 1)
    points = model.points([("a", "y")], "skip")
    found = verdicts(model, points)
    assert not found.certain[0]
    assert Sureness(model).labels(points, found).tolist() == [told]


@pytest.mark.parametrize(
    ("bounds", "told"),
    [
        ({"x": (0.0, 0.99), "y": (0.0, 1.0)}, 1),
        ({"x": (0.0, 0.99), "y": (0.0, 0.98)}, UNDECIDED),
        ({"x": (0.0, 0.99), "y": (0.99, 0.0)}, NONE),
        ({"x": (0.0, 0.99), "y": (0.4, 0.4)}, NONE),
    ],
)
def test_all_completions_must_agree(
    monkeypatch: pytest.MonkeyPatch, bounds: dict[str, tuple[float, float]], told: int
) -> None:
    """A point with a hole of its own has a label if every way to fill it surely has that one."""
    rows = [("a", "x"), ("a", None), ("a", "y"), ("a", None)]
    model = Model(CountIndex.from_rows(rows, ["yes", "yes", "no", "no"]), 1)

    def deciding(_: Any, codes: Any, *__: Any) -> tuple[Any, Any]:
        lower = np.array([bounds["xy"[code]] for code in codes[1]]).reshape(-1, 2)
        return lower, np.minimum(lower + 0.015, 1)

    monkeypatch.setattr(OddsBounds, "deciding", deciding)
    for point in (("a", None), ("a", {"x", "y"})):
        points = model.points([point], "any")
        found = verdicts(model, points)
        assert not found.certain[0]
        assert Sureness(model).labels(points, found).tolist() == [told]


def test_a_bound_at_the_share_tells_nothing_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Odds whose upper bound is the share itself may reach it, so nobody says that they do not."""
    rule, points, found = scripted_rule(monkeypatch, [0.0, 0.5], [0.25, 0.75])
    assert rule.labels(points, found).tolist() == [UNDECIDED]


def test_the_first_completion_counts_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """A label that only the first completion does not have is not the label of the point."""
    rows = [("a", "x"), ("a", None), ("a", "y"), ("a", None)]
    model = Model(CountIndex.from_rows(rows, ["yes", "yes", "no", "no"]), 1)

    def deciding(_: Any, codes: Any, *__: Any) -> tuple[Any, Any]:
        lower = np.where(codes[1] == 0, 0.25, 1.0)[:, None] * [0.0, 1.0]
        return lower, lower

    monkeypatch.setattr(OddsBounds, "deciding", deciding)
    points = model.points([("a", None)], "any")
    assert Sureness(model).of_open(points, np.ones((1, 2), dtype=bool)).tolist() == [NONE]


def test_too_many_completions_are_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many completions as are allowed are looked at, and one more are not."""
    rule, _, _ = scripted_rule(monkeypatch, [0.0, 0.75], [0.25, 1.0])
    points = rule.model.points([("a", None)], "any")
    possible = np.ones((1, 2), dtype=bool)
    monkeypatch.setattr(sureness_module, "MAX_COMPLETIONS", 2)
    assert rule.of_open(points, possible).tolist() == [1]
    monkeypatch.setattr(sureness_module, "MAX_COMPLETIONS", 1)
    assert rule.of_open(points, possible).tolist() == [UNDECIDED]


def test_certain_labels_and_certain_completions() -> None:
    """A certain point has its label without being asked about, and so has a certain completion."""
    rows = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"), ("b", None)]
    model = Model(CountIndex.from_rows(rows, ["no", "no", "yes", "yes", "yes"]), 1)
    points = model.points([("b", "x"), ("a", "x"), ("b", None)], "any")
    found = verdicts(model, points)
    assert found.certain.all()
    rule = Sureness(model)
    assert rule.labels(points, found).tolist() == [1, 0, 1]
    assert rule.of_open(points.take(np.array([2])), found.possible[2:]).tolist() == [1]


def test_how_close_bounds_are_made_first() -> None:
    """A quarter of what is missing from the share to all worlds, but never closer than can be."""
    model = Model(CountIndex.from_rows(ROWS, LABELS), 1)
    assert Sureness(model, share=0.75).asker.gap == 0.0625
    assert Sureness(model, share=0.0).asker.gap == 0.25
    assert Sureness(model, share=1.0).asker.gap == 1e-6
    assert Sureness(model).share == SURE == 0.99


def test_what_labels_mean_that_are_none() -> None:
    """Whoever looks for labels tells them from two numbers below 0, which differ."""
    assert NONE < 0 > UNDECIDED != NONE


# A table that changes ------------------------------------------------------------------------------


def test_far_below_the_share_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """A point below the share is not asked about again until its bound may have moved up to it."""
    rule, points, found = scripted_rule(monkeypatch, [0.0, 0.0], [0.125, 0.25])
    moves: list[Any] = []

    def moved(_: Any, __: Any, *where: int) -> float:
        moves.append(where)
        return 0.25

    monkeypatch.setattr(OddsBounds, "moved", moved)
    assert rule.labels(points, found).tolist() == [NONE]
    once = rule.after(rule.model.on(with_new_counts(rule.model.index)))
    twice = once.after(rule.model.on(with_new_counts(once.model.index)))
    assert moves == [(1, int(points.codes[1, 0]))] * 2
    sure = np.array([[0.0, 1.0]])
    monkeypatch.setattr(OddsBounds, "deciding", lambda _, codes, *__: (sure[: codes.shape[1]],) * 2)
    assert [own.of_open(points, found.possible).tolist() for own in (once, twice)] == [[NONE], [1]]


def test_moves_that_are_lost_in_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound just below the share, moved many times by less than a double has room for, may reach it."""
    upper = float(np.nextafter(0.75, 0.0))
    rule, points, found = scripted_rule(monkeypatch, [0.0, 0.0], [0.125, upper])
    monkeypatch.setattr(OddsBounds, "moved", lambda *_: 1e-17)
    assert rule.labels(points, found).tolist() == [NONE]
    for _ in range(20):
        rule = rule.after(rule.model.on(with_new_counts(rule.model.index)))
    sure = np.array([[0.0, 1.0]])
    monkeypatch.setattr(OddsBounds, "deciding", lambda _, codes, *__: (sure[: codes.shape[1]],) * 2)
    assert rule.of_open(points, found.possible).tolist() == [1]


def with_new_counts(index: CountIndex) -> CountIndex:
    """An index whose second feature was counted again, with the same counts."""
    counts = index.known[1].at(np.arange(2)[:, None], np.arange(2))
    return replace(index, known=(index.known[0], DenseCounts(counts)))


def test_which_features_changed() -> None:
    """Counts of a feature are the same if known cells, candidates and holes all are."""
    index = CountIndex.from_rows(ROWS, LABELS)
    assert _same_counts(index, index, 1)
    assert _same_counts(index, replace(index, n_null=index.n_null.copy()), 1)
    counts = DenseCounts(np.array([[2, 1], [0, 1]]))
    others = (
        replace(index, known=(index.known[0], counts)),
        replace(index, sets=(index.sets[0], {(0, 1): np.array([1, 0])})),
        replace(index, n_null=index.n_null + np.array([[0, 0], [0, 1]])),
    )
    for other in others:
        assert _same_counts(index, other, 0)
        assert not _same_counts(index, other, 1)


def test_blocks_of_points() -> None:
    """Every place is asked about once: complete points together, each other one by itself."""
    model = Model(CountIndex.from_rows(ROWS, LABELS), 1)
    points = model.points([("a", "y"), ("b", None)] + [("a", "x")] * 600 + [(None, "x")], "any")
    places = np.array([1, 0, *range(5, 600), 602])
    blocks = in_blocks(points, places)
    assert sorted(np.concatenate(blocks).tolist()) == sorted(places.tolist())
    alone = [block.tolist() for block in blocks if not points.complete[block].all()]
    assert alone == [[1], [602]]
    assert 2 < len(blocks) < 8
    assert in_blocks(points, places[:0]) == []
