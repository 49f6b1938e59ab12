"""Bounds of the odds from log supports rounded to a grid, for tables of any size.

Rounding every term to a multiple of ``h`` moves a log support by an error that is known up to a
small chance; so the label whose rounded support leads by more than both errors wins surely. What
may be wrong with the rounded distributions (cut tails, Chernoff bounds, roundings of the Fourier
transform) is a sum of probabilities, taken off the lower and put onto the upper bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from nullproof.model import Floats, Model
from nullproof.odds.filling import ERROR_SLOPES, SLOPES, Term, Terms, exponents, reaches

MAX_SIZE = 2**20
_MAX_CACHED = 2**28  # bytes
_EPS = float(np.finfo(np.float64).eps)
_COARSEST, _FINEST = -6, 44


@dataclass(frozen=True)
class Spread:
    """What is known of a point's log supports before they are rounded; arrays hold one per label.

    Parameters
    ----------
    labels
        Positions of the labels that are possible and whose support is not surely zero.
    base
        The support's logarithm if every finite term had its least value.
    mean, variance, above, below
        Mean and variance of the log support where it is finite, and how far it gets from its mean.
    zero
        The probability of a support of zero.
    error
        The probability that was cut off with the tails.
    slack
        A bound of the rounding errors of its logarithm.
    n_open
        How many terms are not constant.
    curves
        Chernoff exponents of the log support around its mean, 2·slopes × labels.
    n_products
        The binary logarithm of how many products of counts there are at most.
    others_error
        The same for the possible labels that are left out.
    """

    labels: NDArray[np.intp]
    base: Floats
    mean: Floats
    variance: Floats
    above: Floats
    below: Floats
    zero: Floats
    error: Floats
    slack: Floats
    n_open: Floats
    curves: Floats
    n_products: Floats
    others_error: float

    def only(self, chosen: NDArray[np.bool_]) -> Spread:
        """The same of some of the labels."""
        arrays = {field.name: getattr(self, field.name) for field in fields(self)}
        del arrays["others_error"]
        return replace(self, **{name: array[..., chosen] for name, array in arrays.items()})

    @property
    def all_error(self) -> float:
        """The probability cut off with all tails, with room for second order terms."""
        return 1.1 * (float(self.error.sum()) + self.others_error) + 4 * _EPS

    def chances(self) -> Floats:
        """Bound the probability that each label wins, by how rarely it reaches the likeliest one.

        Chernoff again, for the difference of the two log supports; 1 for the likeliest label.
        """
        best = int(self.mean.argmax())
        up, down = self.curves[: len(SLOPES)], self.curves[len(SLOPES) :, best : best + 1]
        lead = self.mean[best] - self.mean - self.slack - self.slack[best]
        with np.errstate(under="ignore"):
            reached = np.exp((up + down - SLOPES[:, None] * lead).min(axis=0).clip(max=0.0))
        hidden = 1.1 * (self.error + self.error[best]) + 4 * _EPS
        bound: Floats = 1.01 * reached + self.zero[best] + hidden
        bound[best] = 1.0
        return bound.clip(max=1.0)


class Grid:
    """Bounds of the odds of points, one at a time.

    Parameters
    ----------
    chance
        The probability given to each Chernoff bound.
    """

    def __init__(self, model: Model, terms: Terms, chance: float) -> None:
        self._model, self._terms, self._chance = model, terms, chance
        self._sums: dict[tuple[int, int], Floats] = {}
        self._rounded: dict[tuple[int, int, int], Floats] = {}
        self._spectra: dict[tuple[tuple[int, int, int], int, int], NDArray[np.complex128]] = {}
        self._n_cached = 0

    def after(self, model: Model, terms: Terms, changed: set[int]) -> Grid:
        """The grid of a table in which only some features changed; what is known of others stays."""
        other = Grid(model, terms, self._chance)
        other._sums = {key: own for key, own in self._sums.items() if key[0] not in changed}
        other._rounded = {key: own for key, own in self._rounded.items() if key[0] not in changed}
        other._spectra = {
            key: own for key, own in self._spectra.items() if key[0][0] not in changed
        }
        other._n_cached = sum(own.nbytes for own in other._spectra.values())
        return other

    def spread(self, codes: list[int], possible: NDArray[np.intp]) -> Spread:
        """Sum up the terms of a point."""
        total = np.sum([self.of_value(j, code) for j, code in enumerate(codes)], axis=0)
        constants, magnitudes = self._terms.constants
        finite = (total[3, possible] > -np.inf) & (constants[possible] > -np.inf)
        alive, hidden = possible[finite], possible[~finite]
        least, mean, variance, log_finite, error, magnitude, n_open, n_products = total[:8, alive]
        above, below = reaches(total[8:, alive], SLOPES, self._chance)
        return Spread(
            labels=alive,
            base=constants[alive] + least,
            mean=constants[alive] + mean,
            variance=variance,
            above=above,
            below=below,
            zero=-np.expm1(log_finite),
            error=error,
            slack=4 * self._model.slack(magnitude + magnitudes[alive]),
            n_open=n_open,
            curves=total[8:, alive],
            n_products=n_products,
            others_error=float(total[4, hidden].sum()),
        )

    def first_level(self, spread: Spread, gap: float) -> int:
        """A first level (``h = 2^-level``) that should be fine enough, judged by normal distributions."""
        roundings = np.minimum(spread.n_open / 2, 1.45 * np.sqrt(spread.n_open))
        apart = np.subtract.outer(spread.mean, spread.mean) ** 2
        variance = np.add.outer(spread.variance, spread.variance)
        with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
            density = np.exp(-apart / (2 * variance)) / np.sqrt(2 * np.pi * variance)
        density[~np.isfinite(density)] = 0.0
        np.fill_diagonal(density, 0.0)
        doubt = (2 * density * np.add.outer(roundings, roundings)).sum(axis=1).max(initial=0.0)
        width = float((spread.above + spread.below).max(initial=0.0)) / 32
        h = min(0.8 * gap / doubt if doubt else 1.0, width or 1.0)
        return int(np.clip(math.ceil(-math.log2(h)), _COARSEST, _FINEST))

    def bounds(
        self, codes: list[int], spread: Spread, level: int, n_possible: int
    ) -> tuple[Floats, Floats] | None:
        """Bound the odds of the labels of ``spread``; None if the grid would be too fine."""
        if level > _FINEST:
            return None
        h, alive = 2.0**-level, spread.labels
        sums = np.sum([self._of_level(j, c, level) for j, c in enumerate(codes)], axis=0)[:, alive]
        least, greatest, mean, steps = sums[:4]
        above, below = reaches(sums[4:], ERROR_SLOPES / h, self._chance)
        under = np.maximum(least, mean - below) - spread.slack
        over = np.minimum(greatest, mean + above) + spread.slack
        width = (spread.above + spread.below + greatest - least) / h + 4
        size = _fast_size(float(np.minimum(steps + 1, width).max(initial=1.0)))
        if size > MAX_SIZE:
            return None
        start = np.floor((spread.mean - spread.below - greatest - spread.base) / h) - 1
        start = np.where(steps + 1 <= size, 0.0, start)
        probs = self._distributions(codes, alive, level, size)
        probs = np.array([np.roll(p, -int(s) % size) for p, s in zip(probs, start, strict=True)])
        places = spread.base / h + start
        sure = _wins(probs, spread.zero, (places + under / h, places + over / h), strict=True)
        maybe = _wins(probs, spread.zero, (places + over / h, places + under / h), strict=False)
        all_zero = float(np.prod(spread.zero)) / n_possible
        # The 1-norm of the transforms' errors, and the roundings of sums over the grid.
        transform = math.sqrt(size) * self._transform_error(size) + 8 * size * _EPS
        error = spread.all_error + 1.1 * len(alive) * (4 * self._chance + transform)
        return np.maximum(sure + all_zero - error, 0.0), np.minimum(maybe + all_zero + error, 1.0)

    def _transform_error(self, size: int) -> float:
        """Bound the 2-norm of the error of a distribution that came through the Fourier transform.

        A transform of length n is off by ``log2(n)·η`` in the 2-norm, relatively, with η below four
        eps (Higham, Accuracy and Stability, theorem 24.2); four times that is allowed here. No
        spectrum of a distribution exceeds 1, so the errors of d spectra and their product add up.
        """
        d = self._model.d
        return (d + 1) * 16 * _EPS * math.log2(size) + 4 * d * _EPS

    def _distributions(
        self, codes: list[int], labels: NDArray[np.intp], level: int, size: int
    ) -> Floats:
        """Circular distributions of the rounded sums, labels × size; each sums to 1 - zero."""
        found = np.zeros((len(labels), size))
        for row, i in zip(found, labels.tolist(), strict=True):
            product: NDArray[np.complex128] | None = None
            for j, code in enumerate(codes):
                term = self._terms.of(j, code)[i]
                if len(term.logs) == 1 and term.zero == 0:
                    continue
                own = self._spectrum((j, code, i), level, size)
                if product is None:
                    product = own.copy()
                else:
                    product *= own
            if product is None:
                row[0] = 1.0
            else:
                row[:] = np.maximum(np.fft.irfft(product, size), 0.0)
        return found

    def of_value(self, j: int, code: int) -> Floats:
        """What a value adds to the sums of each label: eight numbers, then Chernoff exponents."""
        key = (j, code)
        if key not in self._sums:
            columns = []
            for term in self._terms.of(j, code):
                finite = math.log1p(-term.zero) if len(term.logs) and term.zero < 1 else -math.inf
                least = float(term.logs[0]) if len(term.logs) else 0.0
                first = [least, term.mean, term.variance, finite, term.count.error]
                first += [term.magnitude, float(len(term.logs) > 1)]
                first.append(math.log2(len(term.count.probs)))
                columns.append(np.concatenate([first, term.exponents]))
            self._sums[key] = np.array(columns).T
        return self._sums[key]

    def _of_level(self, j: int, code: int, level: int) -> Floats:
        """Least, greatest and mean rounding error, greatest step, and exponents of the error."""
        key = (j, code, level)
        if key not in self._rounded:
            h = 2.0**-level
            columns = []
            for term in self._terms.of(j, code):
                steps = _steps(term, h)
                errors = term.logs - term.logs[:1] - steps * h
                total = float(term.probs.sum()) or 1.0
                mean = float(errors @ term.probs) / total
                first = [errors.min(initial=0.0), errors.max(initial=0.0), mean]
                first.append(steps.max(initial=0.0))
                curve = exponents(errors - mean, term.probs, ERROR_SLOPES / h)
                columns.append(np.concatenate([first, curve]))
            self._rounded[key] = np.array(columns).T
        return self._rounded[key]

    def _spectrum(
        self, which: tuple[int, int, int], level: int, size: int
    ) -> NDArray[np.complex128]:
        key = (which, level, size)
        if key not in self._spectra:
            j, code, i = which
            term = self._terms.of(j, code)[i]
            places = (_steps(term, 2.0**-level) % size).astype(np.intp)
            made = np.fft.rfft(np.bincount(places, term.probs, minlength=size))
            if self._n_cached + made.nbytes > _MAX_CACHED:
                self._spectra.clear()
                self._n_cached = 0
            self._spectra[key] = made
            self._n_cached += made.nbytes
        return self._spectra[key]


def _steps(term: Term, h: float) -> Floats:
    """The terms' places on the grid, from the least one on."""
    return np.rint((term.logs - term.logs[:1]) / h)


def _fast_size(least: float) -> int:
    """A power of two of at least ``least``: quick to transform, and shared by many points."""
    if least > MAX_SIZE:
        return 2 * MAX_SIZE
    return 1 << max(6, math.ceil(math.log2(least)))


def _wins(probs: Floats, zero: Floats, places: tuple[Floats, Floats], *, strict: bool) -> Floats:
    """The probability that each label is ahead of all others.

    Parameters
    ----------
    places
        Where each label's distribution starts on the common grid, as the one that is ahead and as
        the one that is behind.
    strict
        Whether a draw is not enough.
    """
    m, size = probs.shape
    below = np.concatenate([zero[:, None], zero[:, None] + np.cumsum(probs, axis=1)], axis=1)
    ahead, behind = places
    found = np.empty(m)
    every = np.arange(size)
    for i in range(m):
        product = probs[i]
        for k in range(m):
            if k != i:
                lead = float(np.clip(ahead[i] - behind[k], -2.0 * size, 2.0 * size))
                shift = math.ceil(lead) if strict else math.floor(lead) + 1
                product = product * below[k].take(every + shift, mode="clip")
        found[i] = product.sum()
    return found
