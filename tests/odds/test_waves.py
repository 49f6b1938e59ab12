"""Fourier coefficients of supports: each bound that is made of them contains what is counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.odds_tables import assert_bounds, random_codes

import nullproof.odds.narrowing as narrowing_module
import nullproof.odds.waves as waves_module
from nullproof import CountIndex, label_odds
from nullproof.model import Model
from nullproof.odds.crowds import Crowds
from nullproof.odds.filling import Filling
from nullproof.odds.narrowing import Ways
from nullproof.odds.pairs import Pairs
from nullproof.odds.waves import (
    MAX_WAVES,
    STEP,
    Spectra,
    Sums,
    greatest_waves,
    padded,
    weights,
    weights_of,
)
from nullproof.odds.worlds import count_worlds
from nullproof.verdicts import verdicts


def small_ways(seed: int, m: int, alpha: float, n_rows: int = 60) -> tuple[Ways, Any, Any, Any]:
    """A table whose worlds can be counted, some complete points, and which labels they can have."""
    rng = np.random.default_rng(seed)
    complete, incomplete, labels = random_codes(rng, n_rows, 3, 3, m)
    model = Model(CountIndex.from_codes(incomplete, labels, n_values=[3] * 3), alpha)
    points = model.points(complete[:6], "skip")
    return Ways.of(model, Filling(model.index), 0.01), points, verdicts(model, points), complete[:6]


def coefficients(term: Any, octave: int, n: int) -> Any:
    turns = (term.logs - term.logs[0]) / 2.0**octave
    return np.exp(2j * np.pi * np.outer(np.arange(n), turns)) @ term.probs


@pytest.mark.parametrize("n", [STEP, 3 * STEP, 1024, MAX_WAVES])
def test_the_polynomials(n: int) -> None:
    """Vaaler's polynomial is as close to a saw tooth as Fejér's says, everywhere on a fine grid."""
    vaaler, fejer, most, of_bands = weights(n)
    x = np.concatenate([np.linspace(0, 3 / n, 1_000)[1:], np.random.default_rng(n).random(300)])
    angles = 2 * np.pi * np.outer(x, np.arange(n))
    off = np.abs(x - 0.5 - np.sin(angles) @ vaaler)
    bound = np.cos(angles) @ fejer
    assert (off <= bound + 1e-12).all()
    assert (bound[x > 1e-3] < 0.5).all()
    # The mean of the bound is half of one nth: no other polynomial of this degree is closer.
    assert fejer[0] == pytest.approx(1 / (2 * n))
    assert of_bands.sum() == pytest.approx(most[STEP:].sum())


def test_weights_side_by_side() -> None:
    """Each row has the weights of its own number of coefficients, and none beyond them."""
    vaaler, fejer = weights_of(np.array([STEP, 512, STEP]), 3 * STEP)
    for row, n in enumerate((STEP, 512, STEP)):
        size = min(n, 3 * STEP)
        assert vaaler[row, :size].tolist() == weights(n).vaaler[:size].tolist()
        assert fejer[row, :size].tolist() == weights(n).fejer[:size].tolist()
        assert not vaaler[row, size:].any()
        assert not fejer[row, size:].any()


@pytest.mark.parametrize("octave", [-2, 0, 3])
def test_bounds_of_bands(octave: int) -> None:
    """No coefficient of a term exceeds the bound of its band, and some come close."""
    ways, points, _, _ = small_ways(1, 2, 0.0, 4_000)
    bands = np.floor(16 * np.log2(np.arange(STEP, 2_048) / STEP)).astype(int)
    closest = 0.0
    terms = [
        term
        for j, code in enumerate(points.codes[:, 0].tolist())
        for term in ways.terms.of(j, code)
    ]
    bounds = greatest_waves(terms, *padded(terms), np.full(len(terms), octave))
    for term, bound in zip(terms, bounds[:, bands], strict=True):
        own = np.abs(coefficients(term, octave, 2_048))[STEP:]
        assert (own <= bound + 1e-12).all()
        closest = max(closest, float((own / bound).max()))
    assert closest > 0.3


def true_product(ways: Ways, codes: list[int], pair: list[int], octave: int, n: int) -> Any:
    """The coefficients of a sum of terms, each by its definition."""
    truth = np.ones(n, dtype=complex)
    for j, code in enumerate(codes):
        own = [coefficients(ways.terms.of(j, code)[i], octave, n) for i in pair]
        truth *= own[0] if len(own) == 1 else own[0] * own[1].conj()
    return truth


@pytest.mark.parametrize("tolerance", [1e-3, 1e-9])
@pytest.mark.parametrize("n_rows", [60, 4_000])
@pytest.mark.parametrize("pairs", [[[0, 1], [1, 0]], [[0], [1]]])
def test_products(
    n_rows: int, tolerance: float, pairs: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Coefficients of a sum of terms are products of theirs; those left out matter as little as told.

    However many sums are worked out at once, each with a period and a number of coefficients of its own.
    """
    monkeypatch.setattr(waves_module, "_MULTIPLIED", 14)
    monkeypatch.setattr(waves_module, "_MADE", 5)
    ways, points, _, _ = small_ways(2, 2, 1.0, n_rows)
    codes = np.repeat(points.codes, len(pairs), axis=1)
    labels = np.array(pairs * points.codes.shape[1])
    octaves = np.arange(len(labels)) % 3 - 1
    n_waves = np.array([[1_024, 256, STEP, 768][k % 4] for k in range(len(labels))])
    sums = Sums(codes, labels, octaves, n_waves)
    waves, kept, rest = Spectra(ways.terms).products(sums, np.full(len(labels), tolerance))
    sizes = set()
    for row, (own, pair, octave, n) in enumerate(
        zip(codes.T.tolist(), labels.tolist(), octaves.tolist(), n_waves.tolist(), strict=True)
    ):
        truth = true_product(ways, own, pair, octave, n)
        made = np.zeros(max(n, waves.shape[1]), dtype=complex)
        made[: waves.shape[1]] = waves[row]
        size = int(kept[row])
        sizes.add(size)
        assert not made[size:].any()
        assert made[:size] == pytest.approx(truth[:size], abs=1e-10)
        left_out = (np.abs(truth) * weights(n).most)[size:].sum()
        assert left_out <= rest[row] <= 1.02 * tolerance + 1e-9
    assert max(sizes) > STEP or n_rows == 4_000


def test_long_terms() -> None:
    """Coefficients of terms with thousands of values are the same, made in pieces."""
    rng = np.random.default_rng(1)
    turns, probs = rng.random((2, 5_000)) * 30, rng.dirichlet(np.ones(5_000), 2)
    found = waves_module.made_waves(turns, probs, 256)
    exact = np.exp(2j * np.pi * turns[:, None, :] * np.arange(256)[:, None]) @ probs[:, :, None]
    assert np.abs(found - exact[:, :, 0]).max() < 1e-10


@pytest.mark.parametrize("alpha", [0, 1, 0.1])
@pytest.mark.parametrize(("way", "m"), [(Pairs, 2), (Crowds, 3), (Crowds, 4)])
def test_bounds_of_each_level(way: Any, m: int, alpha: float) -> None:
    """However many coefficients are taken, the bounds contain the share of the worlds."""
    n_bounds, narrowest = 0, 1.0
    for seed in range(8):
        ways, points, found, rows = small_ways(seed, m, alpha)
        spread = ways.spreads.of(points.codes, found.possible, 1e-6)
        some = np.flatnonzero(spread.alive.all(axis=1))
        for level in (-3.0, 1.0, 4.0, 6.5, 9.0):
            least, greatest, reached = way(ways.spectra).bounds(
                points.codes[:, some],
                spread.take(some),
                spread.alive[some],
                np.full(len(some), level),
            )
            for place, at in enumerate(some.tolist()):
                if np.isnan(reached[place]):
                    continue
                assert reached[place] >= level
                odds = count_worlds(ways.model.index, rows[at : at + 1], alpha=alpha).odds
                for low, high, true in zip(
                    least[place], greatest[place], odds.values(), strict=True
                ):
                    assert low <= true <= high
                    narrowest = min(narrowest, high - low)
                n_bounds += 1
    assert n_bounds > 30
    assert narrowest < 0.05


def test_a_label_without_holes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A label whose support is the same in every world is bounded beside others; it once had no waves."""
    monkeypatch.setattr(narrowing_module, "_QUICK", -1.0)
    complete, incomplete, labels = random_codes(np.random.default_rng(5), 90, 3, 3, 3)
    incomplete[labels == 2] = complete[labels == 2]
    index = CountIndex.from_codes(incomplete, labels, n_values=[3] * 3)
    odds = label_odds(index, complete[:12])
    for position in range(12):
        counts = count_worlds(index, complete[position : position + 1])
        assert_bounds(odds, position, list(counts.odds.values()), 0.01)
