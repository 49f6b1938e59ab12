"""Bounds of the odds from log supports on a grid, for tables of any size.

Every term is rounded to a multiple of ``h``, which moves a log support by a sum of rounding errors. That
sum lies in a narrow interval, but for a small chance. So the label whose rounded support leads by more than
both intervals wins, and one that lags by more loses. What may be wrong with the rounded distributions
(tails, Chernoff bounds, roundings of the Fourier transform) is a sum of probabilities, taken off the lower
and put onto the upper bound (theory 6).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.model.bias import Floats
from nullproof.odds.bounds import LogSupports, Terms
from nullproof.odds.filling import EPS

# Grids of more steps are refused, and as many bytes of Fourier transforms are remembered.
MAX_SIZE, _MAX_REMEMBERED = 1 << 18, 1 << 27
# The part of the gap that the grid of a first try aims at.
_AIM = 0.75
# Frequencies below this share of the probability given to a Chernoff bound are left out.
_NOTHING = 1e-3
_SMALLEST, _FINEST = 6, 44
# So many places are looked at before a level is chosen.
_LOOKS = 48
Spectrum = NDArray[np.complex128]
# Feature, code, label, level and size.
Key = tuple[int, int, int, int, int]


class Window(NamedTuple):
    """Where the rounded supports of a point's labels lie, in steps of the grid; one number per label.

    Parameters
    ----------
    start
        The first step of the label's rounded sum of terms.
    under, over
        Where the true log support lies if the rounded one is at its first step: at least, at most.
    """

    start: Floats
    under: Floats
    over: Floats
    size: int


class Grid:
    """Bounds of the odds of single points, on grids of width ``2**-level``."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._log_chance = math.log(1 / terms.chance) * (1 + 1e-9) + 1e-9
        self._roundings: dict[tuple[int, int, int], Floats] = {}
        self._spectra: dict[Key, Spectrum] = {}
        self._n_bytes = 0

    def first_level(self, supports: LogSupports, near: NDArray[np.intp], gap: float) -> int:
        """Return the level that should do for a point, judged by normal distributions.

        A label is undecided where another one is as close as both intervals of rounding errors, and all
        others have less: the density of such ties is summed up where the highest supports lie.
        """
        mean, sigma = supports.mean[0, near], np.sqrt(supports.variance[0, near])
        coarsest = max(float(sigma.max()), 1e-9) / 4
        sigma = np.maximum(sigma, 1e-3 * coarsest)[:, None]
        highest = float((mean[:, None] + 4 * sigma).max())
        places = np.linspace(highest, highest - 8 * float(sigma.max()), _LOOKS)
        away = (places - mean[:, None]) / sigma
        with np.errstate(under="ignore", over="ignore"):
            less = np.maximum(1 / (1 + np.exp(-1.702 * away)), 1e-12)
            rates = np.exp(-(away**2) / 2) / (sigma * math.sqrt(2 * math.pi)) / less
        ties = rates * (rates.sum(axis=0) - rates) * less.prod(axis=0)
        density = float(ties.sum(axis=1).max()) * abs(float(places[1] - places[0]))
        d = self._terms.model.d
        width = 4 * min(d / 2, math.sqrt(self._log_chance * d / 6)) + 1
        h = min(_AIM * gap / (density * width), coarsest) if density > 0 else coarsest
        return min(math.ceil(-math.log2(h)), _FINEST)

    def bounds(
        self, codes: list[int], supports: LogSupports, near: NDArray[np.intp], level: int
    ) -> tuple[Floats, Floats] | None:
        """Bound the odds of some labels of one point, as if the others stood no chance.

        None if the grid would be too large, or finer than the supports are known.
        """
        if 2.0**-level < float(supports.slack[0, near].max(initial=0.0)):
            return None
        window = self._window(codes, supports, near, level)
        if window.size > MAX_SIZE:
            return None
        products = np.zeros((len(near), window.size // 2 + 1), dtype=np.complex128)
        for row, i in zip(products, near.tolist(), strict=True):
            product = self._product(codes, i, level, window.size)
            row[: len(product)] = product
        circular = np.maximum(np.fft.irfft(products, window.size), 0.0)
        probs = np.empty_like(circular)
        for row, own, first in zip(probs, circular, window.start.tolist(), strict=True):
            turn = int(first % window.size)
            row[: window.size - turn], row[window.size - turn :] = own[turn:], own[:turn]
        zero = supports.zero[0, near]
        sure, maybe = _wins(probs, zero, window)
        share = float(zero.prod()) / int(supports.possible[0].sum())
        # The 1-norm of the errors of the transforms, and the roundings of sums over the grid.
        transform = math.sqrt(window.size) * self._transform_error(window.size)
        each = 4 * self._terms.chance + transform + 8 * window.size * EPS
        error = float(supports.error[0]) + 1.1 * len(near) * each
        return np.maximum(sure + share - error, 0.0), np.minimum(maybe + share + error, 1.0)

    def _window(
        self, codes: list[int], supports: LogSupports, near: NDArray[np.intp], level: int
    ) -> Window:
        """Find the steps that the rounded supports reach, each end but for a small chance."""
        h = 2.0**-level
        total = sum(self._rounding(j, code, level) for j, code in enumerate(codes))
        lowest, highest, falls, rises, last = np.asarray(total)[:, near]
        slope = self._slope(level)
        base, mean, above, below, slack = (
            getattr(supports, name)[0, near] for name in ("base", "mean", "above", "below", "slack")
        )
        # Whichever bound of the rounding errors is closer; a little more for their own roundings, and for
        # those of the window below.
        room = slack + 1e-9 * h + 8 * EPS * (np.abs(base) + np.abs(mean) + above + below)
        under = np.maximum(lowest, -(falls + self._log_chance) / slope) - room
        over = np.minimum(highest, (rises + self._log_chance) / slope) + room
        start = np.floor((mean - base - below - over) / h) - 1
        end = np.ceil((mean - base + above - under) / h) + 1
        size = _fast_size(float(np.minimum(end - start, last).max()) + 1)
        start = np.where(last < size, 0.0, start)
        return Window(start, (base + under) / h + start, (base + over) / h + start, size)

    def _slope(self, level: int) -> float:
        """The best slope for errors that are uniform in a step: their sum has a variance of ``d·h²/12``."""
        return math.sqrt(24 * self._log_chance / self._terms.model.d) * 2.0**level

    def _rounding(self, j: int, code: int, level: int) -> Floats:
        """Return what rounding does to the terms of one value, per label.

        The least and the greatest error, Chernoff exponents of the negative error and of the error, and the
        greatest step.
        """
        key = (j, code, level)
        if key not in self._roundings:
            term, h, slope = self._terms.of(j, code), 2.0**-level, self._slope(level)
            steps = np.rint(term.above / h)
            errors = term.above - steps * h
            total = term.probs.sum(axis=1, keepdims=True)
            shares = term.probs / np.where(total > 0, total, 1.0)
            falls, rises = (
                np.log(np.maximum((shares * np.exp(sign * slope * errors)).sum(axis=1), EPS))
                for sign in (-1, 1)
            )
            ends = errors.min(axis=1), errors.max(axis=1)
            self._roundings[key] = np.array([*ends, falls, rises, steps.max(axis=1)])
        return self._roundings[key]

    def _product(self, codes: list[int], i: int, level: int, size: int) -> Spectrum:
        """Return the spectrum of a label's rounded sum, up to where it is all but gone."""
        product = np.ones(size // 2 + 1, dtype=np.complex128)
        for j, code in enumerate(codes):
            term = self._terms.of(j, code)
            if not (term.is_open[i] or term.zero[i] > 0):
                continue  # A constant term, at step 0.
            product *= self._spectrum((j, code, i, level, size))[: len(product)]
            # No spectrum exceeds 1, so a frequency that is all but gone stays so.
            heights = product.real**2 + product.imag**2
            left = np.flatnonzero(heights > (_NOTHING * self._terms.chance) ** 2)
            product = product[: int(left[-1]) + 1 if len(left) else 1]
        return product

    def _spectrum(self, key: Key) -> Spectrum:
        """Return the Fourier transform of a rounded term."""
        if key not in self._spectra:
            if self._n_bytes > _MAX_REMEMBERED:
                self._spectra.clear()
                self._n_bytes = 0
            self._spectra[key] = made = self._transform(*key)
            self._n_bytes += made.nbytes
        return self._spectra[key]

    def _transform(self, j: int, code: int, i: int, level: int, size: int) -> Spectrum:
        term = self._terms.of(j, code)
        n_values = len(term.counts[i].probs)
        steps = np.rint(term.above[i, :n_values] * 2.0**level).astype(np.int64)
        return np.fft.rfft(np.bincount(steps % size, term.probs[i, :n_values], minlength=size))

    def _transform_error(self, size: int) -> float:
        """Bound the 2-norm of the error of a distribution that came through the Fourier transform.

        A transform of length n is off by ``log2(n)·η`` in the 2-norm, relatively, with η below four eps
        (Higham, Accuracy and Stability of Numerical Algorithms, theorem 24.2); four times that is allowed
        here, also for the d roundings of a product and for a stage of three. No spectrum of a distribution
        exceeds 1, so the errors of d spectra and their product add up. What is left out counts with its
        height (Parseval).
        """
        roundings = (self._terms.model.d + 1) * 16 * EPS * math.log2(size)
        return roundings + _NOTHING * self._terms.chance


def near_labels(supports: LogSupports, upper: Floats, gap: float) -> tuple[NDArray[np.intp], float]:
    """Return the labels of one point that stand a chance, and the probability that any other one wins.

    Those that win as seldom as a quarter of the gap, all together, are left out.
    """
    chances = np.where(supports.alive[0], upper[0], 0.0)
    order = np.argsort(chances)
    n_far = int((chances[order].cumsum() <= gap / 4).sum())
    return np.sort(order[n_far:]), float(chances[order[:n_far]].sum())


def _wins(probs: Floats, zero: Floats, window: Window) -> tuple[Floats, Floats]:
    """Return how likely each label is surely ahead of all others, and how likely it may be."""
    n_labels, size = probs.shape
    # How likely each label has less than so many steps, with room on both sides.
    less = np.zeros((n_labels, 3 * size))
    np.cumsum(probs, axis=1, out=less[:, size : 2 * size])
    less[:, 2 * size :] = less[:, 2 * size - 1 : 2 * size]
    less += zero[:, None]
    sure, maybe = np.empty((2, n_labels))
    for i in range(n_labels):
        ahead = np.ceil(window.under[i] - window.over).clip(-size, size).astype(int)
        level = (np.floor(window.over[i] - window.under) + 1).clip(-size, size).astype(int)
        # Below this step another label that has some support is always ahead.
        begin = int(-level.min(initial=0, where=zero == 0))
        surely, perhaps = probs[i, begin:].copy(), probs[i, begin:].copy()
        for k in range(n_labels):
            if k != i:
                # Less than so many steps are the steps up to one before.
                first, last = (max(size - 1 + begin + int(own[k]), 0) for own in (ahead, level))
                surely *= less[k, first : first + len(surely)]
                perhaps *= less[k, last : last + len(perhaps)]
        sure[i], maybe[i] = surely.sum(), perhaps.sum()
    return sure, maybe


def _fast_size(least: float) -> int:
    """Return the least length that is quickly transformed and shared by many points: 2ⁿ or 3·2ⁿ."""
    if not least <= MAX_SIZE:
        return 2 * MAX_SIZE
    size = 1 << max(_SMALLEST, math.ceil(math.log2(least)))
    return size // 4 * 3 if least <= size // 4 * 3 else size
