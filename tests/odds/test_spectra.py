"""Fourier coefficients of terms that are given: bands, roundings, what is bounded and what is kept."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from nullproof.odds import waves as waves_module
from nullproof.odds.filling import Count
from nullproof.odds.terms import Term
from nullproof.odds.waves import (
    _BANDS,
    _FIRST,
    _LAST,
    MAX_WAVES,
    STEP,
    Part,
    Spectra,
    Sums,
    _roundings,
    greatest_waves,
    made_waves,
    numbers,
    octaves,
    padded,
    powers,
    weights,
)

EPS = 2.0**-52


def term_of(logs: Any, probs: Any, magnitude: float = 0.0) -> Term:
    chances = np.array(probs, dtype=float)
    zero = max(0.0, 1 - float(chances.sum()))
    return Term(Count(0, chances, 0.0), np.array(logs, dtype=float), chances, zero, magnitude)


def binomial(n: int, first: int = 5) -> Term:
    """The logarithm of a number of heads and some more."""
    chances = [math.comb(n, k) / 2**n for k in range(n + 1)]
    return term_of(np.log(first + np.arange(n + 1)), chances, math.log(first + n))


class Some:
    """Terms that are given: per feature and label one."""

    def __init__(self, *features: list[Term]) -> None:
        self.features = features

    def of(self, j: int, _: int) -> list[Term]:
        return self.features[j]


def spectra_of(*features: list[Term]) -> Spectra:
    return Spectra(Some(*features))  # type: ignore[arg-type]


def exact_waves(term: Term, octave: int, n: int) -> Any:
    """Coefficients by their definition, with more digits where the machine has them."""
    turns = (term.logs - term.logs[0]).astype(np.longdouble) / np.longdouble(2.0) ** octave
    angles = np.multiply.outer(np.arange(n).astype(np.longdouble), turns - np.rint(turns))
    angles = 2 * np.longdouble("3.14159265358979323846264338327950288") * (angles - np.rint(angles))
    probs = term.probs.astype(np.longdouble)
    return np.cos(angles) @ probs + 1j * (np.sin(angles) @ probs)


def sums_of(labels: list[int], octave: int, n: int, d: int) -> Sums:
    codes = np.zeros((d, 1), dtype=np.int32)
    return Sums(codes, np.array([labels]), np.array([octave]), np.array([n]))


# Numbers --------------------------------------------------------------------------------------------


def test_bands() -> None:
    """Each octave has sixteen bands, which begin and end with coefficients of their own."""
    assert len(_FIRST) == len(_LAST) == 16 * math.log2(MAX_WAVES / STEP)
    for band in range(len(_FIRST)):
        own = STEP + np.flatnonzero(band == _BANDS)
        assert (_FIRST[band], _LAST[band]) == (own[0], own[-1])
        assert own[-1] < own[0] * 2 ** (1 / 16)
        assert len(own) == own[-1] - own[0] + 1
    assert (_FIRST[0], _LAST[-1]) == (STEP, MAX_WAVES - 1)
    assert weights(MAX_WAVES).of_bands.shape == _FIRST.shape


@pytest.mark.parametrize("n", [STEP, 3 * STEP, MAX_WAVES])
def test_how_much_coefficients_matter(n: int) -> None:
    """Each end of an interval takes both weights of a coefficient; a band takes those of all in it."""
    vaaler, fejer, most, of_bands = weights(n)
    assert most == pytest.approx(2 * np.abs(vaaler) + 2 * fejer)
    assert fejer[1] == pytest.approx((1 - 1 / n) / n)
    for band in (0, 1, 50, 95):
        own = [k for k in range(STEP, n) if _BANDS[k - STEP] == band]
        assert of_bands[band] == pytest.approx(most[own].sum())


def test_periods() -> None:
    """A period is longer than the width, and the next shorter one is not."""
    widths = np.array([0.0, 0.3, 0.5, 1.0, 1.5, 2.0, 3.999, 4.0, 5.0])
    assert octaves(widths).tolist() == [-39, -1, 0, 1, 1, 2, 2, 3, 3]


def test_numbers_of_coefficients() -> None:
    """Powers of two, or three quarters of one, that are multiples of a step and at least so many."""
    levels = [-40.0, 0.0, 7.0, 7.1, 8.0, 8.5, 8.6, 9.0, 13.0, 13.5, 39.9, 40.0, 55.0]
    expected = [128, 128, 128, 256, 256, 384, 512, 512, 8192, 12288, 2**40, 2**40, 2**40]
    assert numbers(np.array(levels)).tolist() == expected
    assert numbers(np.array([7.5])).tolist() == [256]


def test_powers_of_waves() -> None:
    """Each power of a wave, however often it has turned; turns are taken off before they are rounded."""
    turns = np.array([[0.0, 0.25, -0.375], [2.0**20 + 0.3, -(2.0**30) - 0.01, 7.5]])
    for n in (1, 2, 5, 8, 100):
        found = powers(turns, n)
        assert found.shape == (2, 3, n)
        parts = np.array([[math.remainder(k * math.remainder(t, 1), 1) for k in range(n)]
                          for t in turns.ravel()])  # fmt: skip
        exact = np.exp(2j * math.pi * parts).reshape(2, 3, n)
        assert np.abs(found - exact).max() < 40 * n * EPS


@pytest.mark.parametrize("n", [STEP, 256, 512, 2048])
@pytest.mark.parametrize("small", [2**16, 2**8])
def test_waves_of_terms(n: int, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The coefficients of terms side by side are those of each by itself, whatever is done at once."""
    monkeypatch.setattr(waves_module, "_SMALL", max(small, 4 * n))
    terms = [binomial(9), term_of([0.5, 2.0], [0.25, 0.5]), term_of([3.0], [1.0])]
    above, probs = padded(terms)
    assert above.shape == probs.shape == (3, 10)
    found = made_waves(np.ldexp(above, 2), probs, n)
    for term, own in zip(terms, found, strict=True):
        assert np.abs(own - exact_waves(term, -2, n)).max() < 16 * n * EPS


def test_roundings() -> None:
    """Two roundings for each value, sixteen of each coefficient for each term, and four of the sum.

    Terms without values are none. All together matter four times, and the logarithm of how many they are.
    """
    n_values, n = np.array([[3, 0, 7], [0, 0, 1]]), np.array([256, 128])
    expected = [
        (2 * 10 + (16 * 2 + 4) * 256) * EPS * (4 + math.log(256)),
        (2 * 1 + (16 * 1 + 4) * 128) * EPS * (4 + math.log(128)),
    ]
    assert _roundings(n_values, n) == pytest.approx(expected, rel=1e-9, abs=0)
    assert _roundings(np.zeros((1, 2), dtype=int), n[1:])[0] == pytest.approx(
        4 * 128 * EPS * (4 + math.log(128)), rel=1e-9, abs=0
    )


# Bounds of coefficients -----------------------------------------------------------------------------


def by_kusmin_and_landau(probs: Any, near: float) -> float:
    varied = abs(probs[0]) + np.abs(np.diff(probs)).sum() + abs(probs[-1])
    angle = math.pi * near
    return float(max(probs) / math.tan(angle) + varied / (2 * math.sin(angle)))


@pytest.mark.parametrize("octave", [-8, 0, 4])
def test_no_coefficient_exceeds_its_bound(octave: int) -> None:
    """Neither of short terms nor of long ones, alone or side by side; and bounds are no more than sure."""
    terms = [
        binomial(40),
        binomial(120, 90),
        term_of([1.0, 1.25], [0.5, 0.25]),
        term_of([2], [0.5]),
    ]
    bounds = greatest_waves(terms, *padded(terms), np.full(4, octave))
    for term, bound in zip(terms, bounds, strict=True):
        own = np.abs(exact_waves(term, octave, 1_024))[STEP:]
        assert (own <= bound[_BANDS[: 1_024 - STEP]] * (1 + 1e-9)).all()
        assert bound.max() <= min(1.0, 1.01 * float(term.probs.sum())) + 1e-12
    assert bounds[3].tolist() == [0.505] * len(_FIRST)
    alone = greatest_waves(terms[3:], *padded(terms[3:]), np.array([octave]))
    assert alone.tolist() == bounds[3:].tolist()


def test_the_bound_of_the_theory() -> None:
    """Between two whole numbers of turns the bound is that of theory 6, and a hundredth more."""
    step, octave = 0.0009765625, 0
    probs = [0.01, 0.02, 0.01]
    term = term_of([1.0, 1.0 + step, 1.0 + 2 * step - 1e-5], probs)
    (bound,) = greatest_waves([term], *padded([term]), np.array([octave]))
    for band in (5, 20, 60):
        # The last step is the slowest, the first one the fastest.
        least, most = (step - 1e-5) * _FIRST[band], step * _LAST[band]
        near = min(least - math.floor(least), math.floor(least) + 1 - most)
        expected = min(1.01 * by_kusmin_and_landau(probs, max(near, 1e-9)), 0.0404)
        assert bound[band] == pytest.approx(expected, rel=1e-6)
    assert bound.min() < 0.03
    # Of two values there is one step.
    two = term_of([1.0, 1.0 + 0.5 / STEP], [0.02, 0.01])
    (bound,) = greatest_waves([two], *padded([two]), np.array([0]))
    expected = 1.01 * by_kusmin_and_landau([0.02, 0.01], 1 - 0.5 * _LAST[0] / STEP)
    assert bound[0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("magnitude", [0.0, 1e6])
@pytest.mark.parametrize("step", [2433 / 16384, 2457 / 16384])
def test_steps_that_are_not_known_exactly(step: float, magnitude: float) -> None:
    """Steps are taken a billionth shorter and longer than they are, and by roundings of logarithms."""
    probs = [1e-3] * 200
    term = term_of(step * np.arange(200), probs, magnitude)
    (bound,) = greatest_waves([term], *padded([term]), np.array([0]))
    least, most = step * _FIRST[0], step * _LAST[0]
    near, turns = min((least - 19, least), (20 - most, most))
    # The first of both steps is near 19 turns where the band begins, the second near 20 where it ends.
    assert turns == (least if step == 2433 / 16384 else most)
    apart = turns * (1e-9 + 8 * EPS * (1 + magnitude) / step)
    tight, loose = (
        1.01 * by_kusmin_and_landau(probs, near - part * apart) for part in (0.95, 1.05)
    )
    assert tight <= bound[0] <= loose < 0.2


# Products -------------------------------------------------------------------------------------------

TERMS = [[binomial(30), binomial(12)], [binomial(25, 2), binomial(3)], [term_of([1.0], [1.0])] * 2]


@pytest.mark.parametrize("tolerance", [1e-2, 1e-6, 1e-12])
@pytest.mark.parametrize("labels", [[0], [1], [0, 1]])
@pytest.mark.parametrize(("octave", "n"), [(0, 128), (1, 512), (-2, 1024), (3, 768)])
def test_what_is_left_out(tolerance: float, labels: list[int], octave: int, n: int) -> None:
    """Roundings and what is left out matter no more than is told, and not much more than is allowed."""
    spectra = spectra_of(*TERMS)
    sums = sums_of(labels, octave, n, 3)
    (waves,), (size,), (rest,) = spectra.products(sums, np.array([tolerance]))
    truth = np.ones(n, dtype=np.clongdouble)
    for own in TERMS:
        truth *= exact_waves(own[labels[0]], octave, n)
        if len(labels) == 2:
            truth *= exact_waves(own[1], octave, n).conj()
    most = weights(n).most
    made = np.zeros(n, dtype=np.clongdouble)
    made[:size] = waves[:size]
    values = np.array([[len(own[i].logs) for own in TERMS[:2] for i in labels]])
    assert float((np.abs(made - truth) * most).sum()) <= rest
    assert _roundings(values, np.array([size]))[0] <= rest
    assert rest <= 1.02 * tolerance + 1e-9
    assert size % STEP == 0
    assert not waves[size:].any()


def test_few_coefficients_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """The widest term comes first, and of each only those that matter still by the bounds of all others."""
    n, tolerance, powers_of = 1_024, 1e-5, {2: 0.1, 0: 0.3, 1: 0.6}
    waves = {j: power ** (np.arange(n) / STEP) for j, power in powers_of.items()}
    bounds = {j: power ** (_FIRST / STEP / 2) for j, power in powers_of.items()}
    asked: list[tuple[int, int]] = []

    def first_waves(_: Any, part: Part, n_asked: int) -> Any:
        asked.append((part.key[0], n_asked))
        return waves[part.key[0]][:n_asked] * 1j

    monkeypatch.setattr(Spectra, "_first_waves", first_waves)
    widths = {0: 2.0, 1: 1.0, 2: 3.0, 3: 9.0}
    ones = np.ones(len(_FIRST))
    parts = [
        Part((j, 0, 0, 0), np.ones(1, dtype=complex), bounds.get(j, ones), widths[j], 7 * (j < 3))
        for j in widths
    ]
    spectra = spectra_of()
    found, rest = spectra._longer(parts, sums_of([0], 0, n, 1), 0, tolerance)
    assert [j for j, _ in asked] == [2, 0, 1]
    gone, size, sizes = 0.0, n, [own for _, own in asked] + [len(found)]
    for place, own in enumerate(sizes):
        order = [2, 0, 1]
        here = np.prod([waves[j] for j in order[:place]], axis=0) * np.ones(n)
        later = np.prod([bounds[j] for j in order[place:]], axis=0) * ones
        matter = here[STEP:size] * later[_BANDS[: size - STEP]] * weights(n).most[STEP:size]
        left_out = [float(matter[at - STEP :].sum()) for at in range(STEP, size + 1, STEP)]
        fewest = next(k for k, lost in enumerate(left_out) if gone + lost < tolerance)
        assert own == (fewest + 1) * STEP
        gone, size = gone + left_out[fewest], own
    assert n > sizes[0] > sizes[-1] > STEP
    assert np.abs(found) == pytest.approx(np.prod([*waves.values()], axis=0)[: len(found)])
    roundings = _roundings(np.array([[7, 7, 7]]), np.array([n]))[0]
    assert rest == pytest.approx(1.01 * gone + roundings, rel=1e-9, abs=0)
    # However little they matter, one step stays.
    assert len(spectra._longer(parts, sums_of([0], 0, n, 1), 0, 100.0)[0]) == STEP


def test_parts_of_terms() -> None:
    """What is kept of a term: its coefficients, how wide it is, and how many values it has if any."""
    half = term_of([2.0], [0.5])
    spectra = spectra_of([binomial(9), half], [term_of([1.0], [1.0]), binomial(2)])
    spectra.products(Sums(np.zeros((2, 1), dtype=np.int32), np.array([[0, 1]]),
                          np.array([1]), np.array([STEP])), np.ones(1))  # fmt: skip
    parts = {key[:3]: part for key, part in spectra._parts.items()}
    assert {key: part.n_values for key, part in parts.items()} == {
        (0, 0, 0): 10, (1, 0, 0): 0, (0, 0, 1): 1, (1, 0, 1): 3}  # fmt: skip
    own = binomial(9)
    mean = (own.logs * own.probs).sum()
    assert parts[0, 0, 0].variance == pytest.approx(((own.logs - mean) ** 2 * own.probs).sum())
    assert parts[0, 0, 0].head == pytest.approx(
        exact_waves(own, 1, STEP).astype(complex), abs=1e-12
    )
    assert parts[0, 0, 1].head.tolist() == [0.5] * STEP


def test_more_terms_than_are_multiplied_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum with more terms than that is worked out by itself."""
    monkeypatch.setattr(waves_module, "_MULTIPLIED", 1)
    spectra = spectra_of([binomial(3), binomial(2)], [binomial(4), binomial(5)])
    codes = np.zeros((2, 2), dtype=np.int32)
    sums = Sums(codes, np.array([[0], [1]]), np.array([1, 2]), np.array([STEP, STEP]))
    waves, _, _ = spectra.products(sums, np.ones(2))
    for i, own in enumerate(waves):
        first, second = ((binomial(3), binomial(4)), (binomial(2), binomial(5)))[i]
        exact = exact_waves(first, i + 1, STEP) * exact_waves(second, i + 1, STEP)
        assert own == pytest.approx(exact.astype(complex), abs=1e-12)


def test_supports_that_may_be_zero() -> None:
    """A term with one value that may be zero makes all coefficients smaller, also the later ones."""
    spectra = spectra_of([binomial(3)], [term_of([2.0], [0.5])])
    waves, _, _ = spectra.products(sums_of([0], 4, 512, 2), np.array([1e-12]))
    assert waves.shape == (1, 512)
    exact = (0.5 * exact_waves(binomial(3), 4, 512)).astype(complex)
    assert waves[0] == pytest.approx(exact, abs=1e-12)


# What is kept ---------------------------------------------------------------------------------------


def test_long_coefficients_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Further coefficients are made up to the next power of two, once, as long as there is room."""
    made: list[int] = []

    def counted(turns: Any, probs: Any, n: int) -> Any:
        made.append(n)
        return made_waves(turns, probs, n)

    spectra = spectra_of([binomial(4), binomial(5)])
    spectra.products(sums_of([0], 2, STEP, 1), np.ones(1))
    spectra.products(sums_of([1], 2, STEP, 1), np.ones(1))
    first, second = spectra._parts.values()
    monkeypatch.setattr(waves_module, "made_waves", counted)
    exact = exact_waves(binomial(4), 2, 512).astype(complex)
    for n in (1, STEP, 129, 256, 300, 512, 256):
        assert spectra._first_waves(first, n) == pytest.approx(exact[:n], abs=1e-12)
    assert made == [256, 512]
    # Room for 512 coefficients of 16 bytes beside those of the first, and then for less.
    monkeypatch.setattr(waves_module, "_MAX_CACHED", 16 * (256 + 512 + 512))
    spectra._first_waves(second, 512)
    assert len(spectra._long) == 2
    monkeypatch.setattr(waves_module, "_MAX_CACHED", 16 * (256 + 512 + 512 + 1024) - 1)
    spectra._first_waves(second, 1024)
    assert [len(own) for own in spectra._long.values()] == [1024]
    assert spectra._n_cached == 16 * 1024


def test_what_stays_when_a_table_changes() -> None:
    """Coefficients of features that did not change are kept, long ones too."""
    spectra = spectra_of([binomial(4)], [binomial(5)])
    spectra.products(sums_of([0], 2, STEP, 2), np.ones(1))
    for part in [*spectra._parts.values()]:
        spectra._first_waves(part, 256)
    other = spectra.after(Some([binomial(4)], [binomial(7)]), {1})  # type: ignore[arg-type]
    assert [key[0] for key in other._parts] == [key[0] for key in other._long] == [0]
    found, _, _ = other.products(sums_of([0], 2, STEP, 2), np.ones(1))
    exact = exact_waves(binomial(4), 2, STEP) * exact_waves(binomial(7), 2, STEP)
    assert found[0] == pytest.approx(exact.astype(complex), abs=1e-12)
