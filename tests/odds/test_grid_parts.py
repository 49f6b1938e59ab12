"""Rounded supports, step by step: what each part of a grid says, against sums over all steps."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.odds_tables import random_codes
from support.spreads import spread_of

import nullproof.odds.grid as grid_module
from nullproof import CountIndex, label_odds
from nullproof.model import Model
from nullproof.odds.filling import Filling
from nullproof.odds.grid import (
    MAX_SIZE,
    Grid,
    Group,
    Rounded,
    _fast_sizes,
    _groups,
)
from nullproof.odds.spread import Spread, Spreads, summed
from nullproof.odds.terms import ERROR_SLOPES, Terms, exponents, reaches
from nullproof.odds.worlds import count_worlds

_EPS = float(np.finfo(np.float64).eps)


def made(n_rows: int, m: int = 2, alpha: float = 1.0, missing: float = 0.2) -> tuple[Any, ...]:
    """A table with three features of three values, its terms, spreads, grid, and complete rows."""
    rng = np.random.default_rng(n_rows)
    complete, incomplete, labels = random_codes(rng, n_rows, 3, 3, m, missing)
    model = Model(CountIndex.from_codes(incomplete, labels, n_values=[3] * 3), alpha)
    terms = Terms(model, Filling(model.index), 1e-9)
    return terms, Spreads(model, terms), Grid(model, terms), complete


def of_points(spreads: Spreads, codes: Any, m: int, chance: float = 1e-9) -> Spread:
    return spreads.of(codes, np.ones((codes.shape[1], m), dtype=bool), chance)


def sums_of(grid: Grid, level: int, codes: Any, m: int) -> Any:
    return summed(
        codes, lambda j, code: grid._of_level(level, j, code), (m, 4 + 2 * len(ERROR_SLOPES))
    )


# Rounded terms ------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [-3, 0, 3, 12])
def test_rounded_terms(level: int) -> None:
    """Errors of rounding lie between the least and the greatest, and have the mean that is told."""
    terms, _, grid, _ = made(120, 3, 0.0)
    h = 2.0**-level
    for j, code in itertools.product(range(3), range(3)):
        found = grid._of_level(level, j, code)
        assert grid._of_level(level, j, code) is found
        table = terms.table(j, code)
        for i, term in enumerate(terms.of(j, code)):
            above = (term.logs - term.logs[0]).tolist()
            steps = [round(x / h) for x in above]
            errors = [x - step * h for x, step in zip(above, steps, strict=True)]
            shares = term.probs / term.probs.sum()
            mean = float(np.array(errors) @ shares)
            expected = [min(errors), max(errors), mean, max(steps)]
            assert found[i, :4] == pytest.approx(expected, abs=1e-12)
            apart = np.zeros(table.above.shape[1])
            apart[: len(errors)] = [(error - mean) for error in errors]
            curves = exponents(apart[None], table.shares[i : i + 1], ERROR_SLOPES / h)[0]
            assert found[i, 4:] == pytest.approx(curves, rel=1e-6, abs=1e-9)


def test_spectra_of_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    """A spectrum is the Fourier transform of the rounded term; a constant needs none. Few are kept."""
    terms, _, grid, _ = made(18, 3, 0.0, 0.1)
    level, size, n_constant, n_zero = 5, 64, 0, 0
    bytes_of_one = 16 * (size // 2 + 1)
    monkeypatch.setattr(grid_module, "_MAX_CACHED", 3 * bytes_of_one)
    n_made = 0
    for j, code, i in itertools.product(range(3), range(3), range(3)):
        term, found = terms.of(j, code)[i], grid._spectrum((j, code, i), level, size)
        n_zero += len(term.logs) == 1 and term.zero > 0
        if found is None:
            assert (len(term.logs), term.zero) == (1, 0)
            n_constant += 1
            continue
        assert len(term.logs) > 1 or term.zero > 0
        assert grid._spectrum((j, code, i), level, size) is found
        turns = [round(x * 2.0**level) / size for x in (term.logs - term.logs[:1]).tolist()]
        waves = np.exp(-2j * np.pi * np.outer(np.arange(size // 2 + 1), turns))
        assert found == pytest.approx(waves @ term.probs, abs=1e-12)
        assert len(grid._spectra) == n_made % 3 + 1
        n_made += 1
        assert grid._n_cached == bytes_of_one * len(grid._spectra)
    assert n_constant
    assert n_zero
    assert n_made > 6


def test_a_grid_of_a_changed_table() -> None:
    """What did not change is kept, and counted; the rest is made anew."""
    terms, _, grid, _ = made(60)
    levels = grid._of_level(3, 0, 1), grid._of_level(3, 1, 0)
    spectra = grid._spectrum((0, 1, 0), 3, 64), grid._spectrum((1, 0, 0), 3, 64)
    other = grid.after(grid._model, terms, {1})
    assert other._n_cached == spectra[0].nbytes
    assert other._of_level(3, 0, 1) is levels[0]
    assert other._of_level(3, 1, 0) is not levels[1]
    assert other._spectrum((0, 1, 0), 3, 64) is spectra[0]
    assert other._spectrum((1, 0, 0), 3, 64) is not spectra[1]


def test_products_of_spectra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frequencies from which on a product is all but nothing are dropped, after 1, 2, 4, 8 … terms."""
    grid, size = made(12)[2], 2048
    places = np.arange(size // 2 + 1)
    falling = {code: np.exp((-0.1 + 0.7j * code) * places) for code in range(1, 4)}
    flat = {4: np.full(len(places), 0.5 + 0.0j), 0: None}
    monkeypatch.setattr(grid, "_spectrum", lambda key, *_: {**falling, **flat}[key[1]])
    codes = [1, 3, 0, 2, 1, 1, 0, 3, 2, 1, 2]
    lengths = []
    for n in range(len(codes) + 1):
        found = grid._product(codes[:n], 0, 3, size)
        own = [falling[code] for code in codes[:n] if code]
        truth = np.prod([np.ones(len(places)), *own], axis=0)
        assert found == pytest.approx(truth[: len(found)], rel=1e-9, abs=1e-25)
        assert (np.abs(truth[len(found) :]) <= 1e-20).all()
        lengths.append(len(found))
    nothing = 10 * 20 * math.log(10)
    kept = [1 + math.floor(nothing / n_terms) for n_terms in (1, 2, 4, 8)]
    assert lengths == [1025, kept[0], *[kept[1]] * 3, *[kept[2]] * 5, *[kept[3]] * 2]
    assert grid._product([0, 4, 4], 0, 3, size) == pytest.approx(np.full(len(places), 0.25))
    # Where nothing is left, the mean is: how likely the sum is finite.
    assert grid._product([4] * 128, 0, 3, size).tolist() == [0.5**128]


def test_supports_that_are_almost_surely_zero() -> None:
    """A label with a support once in 10^32 worlds has odds like any other; it once was an error."""
    rows = np.repeat([[-1], [-1], [-1], [7], [8], [9]], 32, axis=1)
    index = CountIndex.from_codes(rows, list("abcabc"), n_values=[10] * 32)
    odds = label_odds(index, np.zeros((1, 32), dtype=int), alpha=0, gap=1e-4)
    assert (odds.lower <= 1 / 3).all()
    assert (odds.upper >= 1 / 3).all()
    assert odds.gap <= 1e-4


# Rounded supports ---------------------------------------------------------------------------------


def law_of(terms: Terms, codes: list[int], i: int, h: float) -> list[tuple[int, float, float]]:
    """Every sum of terms: its steps, how far it lies above its least value, and its chance."""
    found = [(0, 0.0, 1.0)]
    for j, code in enumerate(codes):
        term = terms.of(j, code)[i]
        above = (term.logs - term.logs[0]).tolist()
        values = [(round(x / h), x, p) for x, p in zip(above, term.probs.tolist(), strict=True)]
        found = [
            (s + step, x + more, p * chance) for s, x, p in found for step, more, chance in values
        ]
    return found


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("chance", [0.05, 1e-9])
@pytest.mark.parametrize("level", [2, 5])
def test_rounded_supports(level: int, chance: float, alpha: float) -> None:
    """Supports of each step lie between two ends, but for rare ones, also on short grids."""
    terms, spreads, grid, complete = made(60, 2, alpha)
    codes, h = complete[:3].T.astype(np.int32), 2.0**-level
    # Roundings that show.
    spread = of_points(spreads, codes, 2, chance)
    spread = replace(spread, slack=np.full(spread.slack.shape, 0.125 * h))
    sums = sums_of(grid, level, codes, 2)
    above, below = reaches(sums[:, :, 4:], ERROR_SLOPES / h, chance)
    n_cut = 0
    for at, i in np.argwhere(spread.alive).tolist():
        least, greatest, off, most = sums[at, i, :4].tolist()
        law = law_of(terms, codes[:, at].tolist(), i, h)
        base = float(spread.base[at, i])
        ends = (
            max(least, off - below[at, i]) - 0.125 * h,
            min(greatest, off + above[at, i]) + 0.125 * h,
        )
        n_cut += ends[0] > least
        for size in (int(most) + 1, int(most), 16):
            group = Group(np.array([at]), np.array([[i]]), level, size)
            found = grid._distributions(codes, spread, group, sums[at : at + 1, i : i + 1])
            assert found.zero.tolist() == [[spread.zero[at, i]]]
            assert found.over - found.under == pytest.approx((ends[1] - ends[0]) / h)
            first = float(found.under[0, 0]) - (base + ends[0]) / h
            assert first == pytest.approx(round(first), abs=1e-6)
            lowest = (spread.mean[at, i] - spread.below[at, i] - greatest - base) / h - 0.125
            if most + 1 <= size:
                assert round(first) == 0
            else:
                # With a step to spare.
                assert lowest - 2 < round(first) <= lowest - 1
            steps = np.zeros(size)
            for step, _, p in law:
                steps[(step - round(first)) % size] += p
            assert found.probs[0, 0] == pytest.approx(steps, abs=1e-12)
        off_by = [base + x - (step * h + base) for step, x, _ in law]
        wrong = [not ends[0] <= x <= ends[1] for x in off_by]
        assert sum(p for (_, _, p), out in zip(law, wrong, strict=True) if out) <= 2 * chance
    assert bool(n_cut) == (chance > 1e-3)


# Groups of points ---------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 2**8, 2**17])
def test_groups_of_points(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every point whose grid is not too large comes once, with a grid for all steps or all chances."""
    monkeypatch.setattr(grid_module, "_BLOCK", block)
    monkeypatch.setattr(grid_module, "MAX_SIZE", 256)
    rng = np.random.default_rng(8)
    n, level = 200, 3
    above, below, slack = (rng.choice([0.0, 1.0, 5.5, 12.75, 25.0], (n, 3)) for _ in range(3))
    slack *= 2.0**-4
    sums = np.zeros((n, 3, 4 + 2 * len(ERROR_SLOPES)))
    sums[:, :, 0], sums[:, :, 1] = -rng.integers(0, 9, (n, 3)) / 8, rng.integers(0, 9, (n, 3)) / 8
    sums[:, :, 3] = rng.choice([0, 62, 63, 64, 127, 128, 255, 256, 900], (n, 3))
    near = rng.random((2 * n, 3)) < 0.6
    near[:, 0] |= ~near.any(axis=1)
    here = np.sort(rng.permutation(2 * n)[:n])
    every = spread_of(2 * n, 3)
    for name, own in (("above", above), ("below", below), ("slack", slack)):
        getattr(every, name)[here] = own
    needed = np.full(n, 1.0)
    for place, i in np.argwhere(near[here]).tolist():
        apart = above[place, i] + below[place, i] + sums[place, i, 1] - sums[place, i, 0]
        # Ends that are off by roundings and not at a step, and a step to spare, at each side.
        width = 8 * (apart + 2 * slack[place, i]) + 4
        needed[place] = max(needed[place], min(sums[place, i, 3] + 1, width))
    seen = []
    for group, own in _groups(here, near, level, every, sums):
        assert group.level == 3
        seen += group.places.tolist()
        at = np.searchsorted(here, group.places)
        assert (group.size >= needed[at]).all()
        assert (group.size == 64) | (group.size < 2 * needed[at]).all()
        for place, labels, numbers in zip(at, group.labels, own, strict=True):
            assert labels.tolist() == np.flatnonzero(near[here[place]]).tolist()
            assert numbers.tolist() == sums[place, labels].tolist()
    assert sorted(seen) == here[needed <= 256].tolist()
    assert len(seen) == len(set(seen)) < n


def test_sizes_of_grids() -> None:
    """Powers of two from 64 on; what is too large is told to be so."""
    least = np.array([0.5, 1, 64, 65, 1000, 1024.5, MAX_SIZE - 1, MAX_SIZE])
    assert _fast_sizes(least).tolist() == [64, 64, 64, 128, 1024, 2048, MAX_SIZE, MAX_SIZE]
    assert (_fast_sizes(np.array([MAX_SIZE + 1.0, 1e30])) > MAX_SIZE).all()
    assert MAX_SIZE == 2**20


# Bounds -------------------------------------------------------------------------------------------


def test_errors_of_transforms() -> None:
    """Twice what Higham's theorem says of all transforms, and what products round; not much more."""
    for d, size in [(1, 64), (2, 64), (100, 64), (3, MAX_SIZE)]:
        index = CountIndex.from_codes(np.zeros((2, d), dtype=int), ["a", "b"], n_values=[2] * d)
        model = Model(index, 1)
        found = Grid(model, Terms(model, Filling(index), 1e-9))._transform_error(size)
        least = (d + 1) * 4 * _EPS * math.log2(size) + 4 * d * _EPS
        assert 2 * least < found < 6 * least


@pytest.mark.parametrize("m", [2, 3])
def test_what_is_taken_off_for_errors(m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four Chernoff bounds and a transform of each label, and tails; ties of zeros are shared out."""
    grid = made(60, m)[2]
    size, chance = 64, 1e-3
    zero = np.full((1, m), 0.5)
    monkeypatch.setattr(grid, "_distributions", lambda *_: Rounded(*([zero] * 4)))
    wins = {True: np.full((1, m), 0.25), False: np.full((1, m), 0.5)}
    monkeypatch.setattr(grid_module, "_wins", lambda _, *, strict: wins[strict])
    spread = replace(spread_of(1, m, error=0.01), chance=chance)
    group = Group(np.array([0]), np.arange(m)[None], 3, size)
    all_zero = 0.5**m / m
    for off, transform in [(0.0, 0.0), (chance, 0.0), (0.0, 1e-4)]:
        monkeypatch.setattr(grid, "_transform_error", lambda _, own=transform: own)
        own = replace(spread, chance=off, error=spread.error if not off + transform else zero * 0)
        lower, upper = grid._of_group(np.zeros((3, 1), np.int32), own, group, zero)
        error = m * (4 * off + math.sqrt(size) * transform)
        error += m * 0.01 if not error else 0.0
        for low, high in zip(lower[0], upper[0], strict=True):
            assert 0.25 + all_zero - 1.2 * error < low < 0.25 + all_zero - 1.05 * error
            assert 0.5 + all_zero + 1.05 * error < high < 0.5 + all_zero + 1.2 * error
    # Without any of these the roundings of sums over the grid are left.
    own = replace(spread, chance=0.0, error=zero * 0)
    monkeypatch.setattr(grid, "_transform_error", lambda _: 0.0)
    lower, upper = grid._of_group(np.zeros((3, 1), np.int32), own, group, zero)
    assert (lower <= 0.25 + all_zero - 4 * m * size * _EPS).all()
    assert (lower >= 0.25 + all_zero - 20 * m * size * _EPS).all()
    # No bound leaves 0 and 1.
    own = replace(spread, chance=0.1)
    lower, upper = grid._of_group(np.zeros((3, 1), np.int32), own, group, zero)
    assert (lower.tolist(), upper.tolist()) == ([[0.0] * m], [[1.0] * m])


@pytest.mark.parametrize(("m", "alpha"), [(2, 0.0), (2, 1.0), (3, 0.1), (5, 1.0)])
def test_bounds_of_each_level(m: int, alpha: float) -> None:
    """However wide the steps are, the share of the worlds lies between the bounds."""
    _, spreads, grid, complete = made(60, m, alpha)
    points = complete[:6]
    codes = points.T.astype(np.int32)
    spread = of_points(spreads, codes, m, 1e-6)
    near = spread.alive & spread.alive.all(axis=1, keepdims=True)
    levels = np.array([-4, 2, 7, 11, 44, 45])
    least, greatest, fits = grid.bounds(codes, spread, near, levels)
    assert fits.tolist() == [True, True, True, True, False, False]
    assert (least[~fits] == 0).all()
    assert (greatest[~fits] == 1).all()
    narrowest = 1.0
    for place in np.flatnonzero(fits & near.any(axis=1)).tolist():
        odds = count_worlds(grid._model.index, points[place : place + 1], alpha=alpha).odds
        for low, high, true in zip(least[place], greatest[place], odds.values(), strict=True):
            assert low <= true <= high
        narrowest = min(narrowest, float((greatest - least)[place].max()))
    assert narrowest < 0.1


def test_the_finest_level() -> None:
    """A hole in a million rows moves supports by little: the finest steps do, and no finer ones."""
    index = CountIndex.from_codes(np.array([[0], [0], [-1], [0], [1]]), list("aaabb"))
    model = Model(index, 1_000_000_000)
    terms = Terms(model, Filling(index), 1e-9)
    grid, spreads = Grid(model, terms), Spreads(model, terms)
    codes = np.zeros((1, 2), dtype=np.int32)
    spread = of_points(spreads, codes, 2)
    fits = grid.bounds(codes, spread, spread.alive, np.array([44, 45]))[2]
    assert fits.tolist() == [True, False]
