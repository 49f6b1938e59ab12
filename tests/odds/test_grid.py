"""Points bounded together, labels on one grid and who wins: quick ways say what plain ones say."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from support.odds_tables import only_grids, random_codes

import nullproof.odds.grid as grid_module
import nullproof.odds.narrowing as narrowing_module
from nullproof import CountIndex, label_odds
from nullproof.odds.grid import Rounded, _at, _wins


def many_labels(n_rows: int = 600, m: int = 12) -> tuple[CountIndex, Any]:
    complete, incomplete, labels = random_codes(np.random.default_rng(7), n_rows, 6, 5, m)
    return CountIndex.from_codes(incomplete, labels, n_values=[5] * 6), complete


@pytest.mark.parametrize("alpha", [0, 1])
def test_points_together(alpha: int) -> None:
    """A point has the same odds, up to roundings, whether it is asked for alone or with others."""
    index, points = many_labels(400, 4)
    together = label_odds(index, points[:40], alpha=alpha)
    for place in range(0, 40, 5):
        alone = label_odds(index, points[place : place + 1], alpha=alpha)
        assert alone.lower[0] == pytest.approx(together.lower[place], abs=1e-9)
        assert alone.upper[0] == pytest.approx(together.upper[place], abs=1e-9)


def test_one_grid_for_many_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels on one grid have bounds around those of all pairs, and hardly wider."""
    index, points = many_labels()
    found = []
    only_grids(monkeypatch)
    # Bounds of one grid each: no finer one hides a wrong one.
    monkeypatch.setattr(narrowing_module.Ways, "first_levels", lambda *_: np.full(len(_[2]), 9.0))
    for few in (0, 100):
        monkeypatch.setattr(grid_module, "_FEW", few)
        found.append(label_odds(index, points[:30], gap=0.5))
    one_grid, pairs = found
    assert (one_grid.lower <= pairs.lower + 1e-9).all()
    assert (one_grid.upper >= pairs.upper - 1e-9).all()
    wider = (one_grid.upper - one_grid.lower) - (pairs.upper - pairs.lower)
    assert 0 < wider.max() < 0.02


def test_odds_of_many_labels() -> None:
    """With a dozen labels bounds are as close as asked for, and shares of drawn worlds lie between."""
    from nullproof.odds import sampled_odds

    index, points = many_labels()
    odds = label_odds(index, points[:20])
    assert odds.gap <= 0.01
    estimates = sampled_odds(index, points[:20], 4_000, seed=1)
    # Five standard deviations of a share of 4,000.
    assert (estimates >= odds.lower - 0.04).all()
    assert (estimates <= odds.upper + 0.04).all()


# Who wins -----------------------------------------------------------------------------------------


def drawn_rounded(rng: np.random.Generator, m: int, size: int, zeros: bool) -> Rounded:
    """Some points, whose labels lie near each other or far apart; some ends are whole numbers."""
    probs = rng.dirichlet(np.ones(size + 1), (6, m))
    zero = probs[:, :, -1] if zeros else np.zeros((6, m))
    probs = probs[:, :, :-1] / (1 if zeros else probs[:, :, :-1].sum(axis=2, keepdims=True))
    under = rng.choice([0.0, 0.5, 3.0, 40.0], (6, 1)) * rng.normal(size=(6, m))
    under[::2] = np.rint(under[::2])
    return Rounded(probs, zero, under, under + rng.choice([0.0, 0.25, 1.0], (6, m)))


def true_wins(rounded: Rounded, ahead: Any, *, draw: bool) -> Any:
    """How likely each label is ahead, by every step; ``ahead`` says by how much from first steps on."""
    n_points, m, size = rounded.probs.shape
    found = np.zeros((n_points, m))
    for at, i, step in itertools.product(range(n_points), range(m), range(size)):
        chance = rounded.probs[at, i, step]
        for k in set(range(m)) - {i}:
            lead = ahead[at, i, k] + step
            behind = [
                p
                for other, p in enumerate(rounded.probs[at, k])
                if other < lead or (draw and other == lead)
            ]
            chance *= rounded.zero[at, k] + sum(behind)
        found[at, i] += chance
    return found


@pytest.mark.parametrize("m", [1, 2, 4, 5])
@pytest.mark.parametrize("zeros", [False, True])
def test_wins_pair_by_pair(m: int, zeros: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Surely ahead is who begins above the ends of all others; maybe, who ends at or above their starts."""
    rng = np.random.default_rng(m)
    monkeypatch.setattr(grid_module, "_FEW", 5)
    for _ in range(3):
        rounded = drawn_rounded(rng, m, 4, zeros)
        under, over = rounded.under, rounded.over
        sure = true_wins(rounded, under[:, :, None] - over[:, None], draw=False)
        assert _wins(rounded, strict=True) == pytest.approx(sure)
        maybe = true_wins(rounded, over[:, :, None] - under[:, None], draw=True)
        assert _wins(rounded, strict=False) == pytest.approx(maybe)


@pytest.mark.parametrize("m", [1, 3, 5])
def test_wins_on_one_grid(m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with both ends of each support moved to whole steps, outwards."""
    rng = np.random.default_rng(m)
    monkeypatch.setattr(grid_module, "_FEW", 0)
    for _ in range(5):
        rounded = drawn_rounded(rng, m, 4, False)
        down, up = np.floor(rounded.under), np.ceil(rounded.over)
        sure = true_wins(rounded, down[:, :, None] - up[:, None], draw=False)
        assert _wins(rounded, strict=True) == pytest.approx(sure)
        maybe = true_wins(rounded, up[:, :, None] - down[:, None], draw=True)
        assert _wins(rounded, strict=False) == pytest.approx(maybe)


def test_which_way_wins_are_found() -> None:
    """Up to four labels, or some that may be zero, pair by pair; others on one grid, which loses steps."""
    rng = np.random.default_rng(2)
    for m, zeros, as_pairs in [(4, False, True), (5, True, True), (5, False, False)]:
        rounded = drawn_rounded(rng, m, 4, zeros)
        if zeros:
            rounded.zero[:, 1:] = 0
        rounded = rounded._replace(under=rounded.under + 0.5, over=rounded.over + 0.5)
        under, over = rounded.under, rounded.over
        sure = true_wins(rounded, under[:, :, None] - over[:, None], draw=False)
        assert np.allclose(_wins(rounded, strict=True), sure) == as_pairs


def test_numbers_from_a_place_on() -> None:
    """Beyond the ends the first and the last number go on."""
    numbers = np.arange(10.0, 16.0).reshape(2, 3)
    for first, length in itertools.product(range(-6, 7), range(1, 6)):
        places = np.array([first, first + 1])
        found = _at(numbers, places, length)
        for own, row, start in zip(numbers, found, places.tolist(), strict=True):
            expected = [own[min(max(k, 0), 2)] for k in range(start, start + length)]
            assert row.tolist() == expected
