"""The ways to bound odds: who is asked about which points, and exact products with their roundings."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.odds_tables import random_codes
from support.spreads import spread_of

from nullproof import CountIndex
from nullproof.model import Model
from nullproof.odds import narrowing as narrowing_module
from nullproof.odds.filling import Filling
from nullproof.odds.narrowing import Ways
from nullproof.odds.worlds import count_worlds
from nullproof.verdicts import verdicts

EPS = 2.0**-52
NEAR = np.array([[1, 1, 0, 0], [1, 1, 0, 1], [0, 1, 1, 0], [1, 0, 0, 0], [1, 1, 1, 1]], dtype=bool)


def ways_of(rows: Any, labels: Any, alpha: Any, gap: float = 0.01) -> Ways:
    domains = {"x0": ("x", "y")} if len(rows[0]) == 1 else None
    model = Model(CountIndex.from_rows(rows, labels, domains=domains), alpha)
    return Ways.of(model, Filling(model.index), gap)


@pytest.fixture
def ways() -> Ways:
    rows: list[Any] = [("a", "x"), ("b", None), (None, "y"), ("a", "y")]
    return ways_of(rows, list("ABCD"), 1, 0.25)


def test_what_is_cut_off(ways: Ways) -> None:
    """The tails that are cut take a hundredth of the gap, those of all labels and features together."""
    assert ways.terms._cut * 4 * 2 == pytest.approx(0.0025)


class Way:
    """Says its own number for each point, and remembers what it was asked; one level is too fine."""

    def __init__(self, number: float, asked: list[Any]) -> None:
        self.number, self.asked = number, asked

    def bounds(self, codes: Any, spread: Any, near: Any, levels: Any) -> Any:
        assert codes.shape[1] == len(spread.possible) == len(near) == len(levels)
        self.asked.append((self.number, codes[0].tolist(), levels.tolist()))
        least, greatest = np.full(near.shape, self.number), np.full(near.shape, 1 - self.number)
        reached = levels + 0.5
        if self.number == 0.25:
            return least, greatest, levels < 9
        return least, greatest, np.where(levels > 7, np.nan, reached)

    def first_levels(self, _: Any, near: Any, gap: Any) -> Any:
        assert near.sum(axis=1).tolist() == [2] * len(near)
        return 10 * gap


def test_who_is_asked(ways: Ways, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two labels are a pair, more a crowd; what is too fine for them goes to a grid at least as fine."""
    asked: list[Any] = []
    monkeypatch.setattr(narrowing_module, "Pairs", lambda _: Way(0.0625, asked))
    monkeypatch.setattr(narrowing_module, "Crowds", lambda _: Way(0.125, asked))
    some = replace(ways, grid=Way(0.25, asked))  # type: ignore[arg-type]
    codes = np.arange(5, dtype=np.int32)[None]
    levels = np.array([2.0, 7.5, 8.5, 1.25, 3.0])
    least, greatest, reached = some.odds(codes, spread_of(5, 4), NEAR, levels)
    assert asked == [
        (0.0625, [0, 2], [2.0, 8.5]),
        (0.125, [1, 4], [7.5, 3.0]),
        (0.25, [1, 2, 3], [8, 9, 2]),
    ]
    assert least[:, 0].tolist() == [0.0625, 0.25, 0.25, 0.25, 0.125]
    assert greatest[:, 3].tolist() == [0.9375, 0.75, 0.75, 0.75, 0.875]
    assert np.isnan(reached[2])
    assert np.delete(reached, 2).tolist() == [2.5, 8.0, 2.0, 3.5]


def test_who_says_how_fine_to_begin(ways: Ways, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs know their first level themselves."""
    monkeypatch.setattr(narrowing_module, "Pairs", lambda _: Way(0.0625, []))
    monkeypatch.setattr(narrowing_module, "first_levels", lambda _, near, gap: -gap)
    gap = np.array([0.5, 0.25, 0.125, 0.5, 0.25])
    found = ways.first_levels(spread_of(5, 4), NEAR, gap)
    assert found.tolist() == [5.0, -0.25, 1.25, -0.5, -0.25]


# Exact products -------------------------------------------------------------------------------------


def exactly(ways: Ways, point: Any) -> tuple[Any, Any, Any]:
    """The spread and the exact bounds of one complete point."""
    points = ways.model.points([point], "skip")
    one = ways.spreads.of(points.codes, verdicts(ways.model, points).possible, 1e-9)
    found = ways.exactly(points.codes[:, 0].tolist(), one)
    assert found is not None
    return one, *found


def test_exact_odds_of_labels_without_support() -> None:
    """A label whose support is surely zero has its share of the worlds where all supports are zero."""
    rows: list[Any] = [(None,), ("y",), ("y",), ("y",)]
    ways = ways_of(rows, list("AABC"), 0)
    one, lower, upper = exactly(ways, ("x",))
    assert one.alive.tolist() == [[True, False, False]]
    assert (lower + upper) / 2 == pytest.approx([2 / 3, 1 / 6, 1 / 6])
    counted = count_worlds(ways.model.index, ("x",), alpha=0).odds
    assert all(lower <= [*counted.values()])
    assert all(upper >= [*counted.values()])


def test_exact_odds_and_their_roundings() -> None:
    """Exact products are off by few roundings for each term, and by what was cut off; never by less."""
    for seed in range(6):
        complete, incomplete, labels = random_codes(np.random.default_rng(seed), 40, 3, 3, 3)
        model = Model(CountIndex.from_codes(incomplete, labels, n_values=[3] * 3), seed % 2)
        ways = Ways.of(model, Filling(model.index), 0.01)
        point = complete[:1]
        points = model.points(point, "skip")
        possible = verdicts(model, points).possible
        codes = points.codes[:, 0].tolist()
        one = ways.spreads.of(points.codes, possible, 1e-9)
        found = ways.exactly(codes, one)
        assert found is not None
        n_terms = 0
        for i in np.flatnonzero(one.alive[0]).tolist():
            counts = [ways.terms.of(j, code)[i].count for j, code in enumerate(codes)]
            ranges = [range(c.first, c.first + len(c.probs)) for c in counts]
            values = {math.prod(n + seed % 2 for n in own) for own in itertools.product(*ranges)}
            n_terms += sum(map(len, ranges)) + len(values)
        truth = count_worlds(model.index, point, alpha=seed % 2).odds
        for low, high, odds in zip(*found, truth.values(), strict=True):
            assert 0 <= low <= odds <= high <= 1
            if 1e-3 < odds < 1 - 1e-3:
                off = (high - low) / 2 - float(one.errors(one.alive)[0])
                assert 8 * EPS * n_terms < off < 1e-10


def test_exact_bounds_are_chances() -> None:
    """A label that always wins is not said to win more often, nor another one less often than never."""
    rows: list[Any] = [("x",)] * 90 + [(None,)] * 60 + [("y",)] * 90 + [(None,)] * 60
    ways = ways_of(rows, ["A"] * 150 + ["B"] * 150, 1, 1e-6)
    _, lower, upper = exactly(ways, ("x",))
    assert upper[0] == 1
    assert lower[1] == 0


def test_too_many_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are too many products, exact odds are given up."""
    monkeypatch.setattr(narrowing_module, "_LIMIT", 1)
    ways = ways_of([(None,), ("x",), ("y",)], list("AAB"), 1)
    points = ways.model.points([("x",)], "skip")
    one = ways.spreads.of(points.codes, np.ones((1, 2), dtype=bool), 1e-9)
    assert ways.exactly([0], one) is None
