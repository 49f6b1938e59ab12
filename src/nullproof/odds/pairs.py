"""Bounds of the odds of two labels: how likely the difference of their log supports is positive.

Whether a number lies in an interval is bounded, above and below, by Selberg's trigonometric polynomials,
whose mean needs nothing but some Fourier coefficients of the difference. Both means together differ by
the density at zero times the period over the number of coefficients (theory 6).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.model.bias import Floats
from nullproof.odds.spread import Spread
from nullproof.odds.terms import SLOPES, reaches
from nullproof.odds.waves import (
    MAX_WAVES,
    Integers,
    Spectra,
    Sums,
    numbers,
    octaves,
    powers,
    weights_of,
)

# The part of the gap that the density at zero may take.
_PART = 0.5
Mask = NDArray[np.bool_]
Places = NDArray[np.intp]


class Differences(NamedTuple):
    """The log supports of the first label of each point less those of the second.

    Parameters
    ----------
    labels
        Both labels, points × 2.
    zero
        Where the difference of the sums of terms, each above its least value, is that of equal supports.
    middle, octaves
        Within half of ``2**octaves`` of the middle these differences lie, but for a small chance.
    """

    labels: Places
    zero: Floats
    middle: Floats
    octaves: NDArray[np.int64]

    @classmethod
    def of(cls, spread: Spread, near: Mask) -> Differences:
        labels = np.nonzero(near)[1].reshape(len(near), 2)
        base, mean, slack, curves = (
            _both(getattr(spread, name), labels) for name in ("base", "mean", "slack", "curves")
        )
        up, down = curves[..., : len(SLOPES)], curves[..., len(SLOPES) :]
        sums = np.concatenate([up[:, 0] + down[:, 1], down[:, 0] + up[:, 1]], axis=1)
        above, below = reaches(sums, SLOPES, spread.rare)
        zero = base[:, 1] - base[:, 0]
        middle = mean[:, 0] - mean[:, 1] + zero + (above - below) / 2
        # The middle, and how far it is to both ends, are rounded as supports are.
        return cls(labels, zero, middle, octaves(above + below + 2 * slack.sum(axis=1)))

    def take(self, places: Places) -> Differences:
        """The same of some of the points."""
        labels, zero, middle, octaves = self
        return Differences(labels[places], zero[places], middle[places], octaves[places])


class Pairs:
    """Bounds of the odds of complete points of which two labels stand a chance."""

    def __init__(self, spectra: Spectra) -> None:
        self._spectra = spectra

    def first_levels(self, spread: Spread, near: Mask, gap: Floats) -> Floats:
        """Levels (period over coefficients ``2^-level``) that should do, judged by normal distributions."""
        labels = np.nonzero(near)[1].reshape(len(near), 2)
        mean, variance = (_both(getattr(spread, name), labels) for name in ("mean", "variance"))
        sigma = np.sqrt(variance.sum(axis=1))
        with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
            away = (mean[:, 0] - mean[:, 1]) / sigma
            density = np.exp(-(away**2) / 2) / (sigma * math.sqrt(2 * math.pi))
            levels = np.log2(density / (_PART * gap))
        return np.where(np.isfinite(levels), levels, -40.0)

    def bounds(
        self, codes: NDArray[np.int32], spread: Spread, near: Mask, levels: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Bound the odds of both labels, as if the others stood no chance.

        The last ones are the levels that were reached, at least those asked for; nan for points without
        bounds, that would need too many coefficients.
        """
        least, greatest = np.zeros(near.shape), np.ones(near.shape)
        both = Differences.of(spread, near)
        n_waves = numbers(both.octaves + levels)
        here = np.flatnonzero(n_waves <= MAX_WAVES)
        if len(here):
            ahead = self._ahead(codes[:, here], both.take(here), spread.take(here), n_waves[here])
            where = here[:, None], both.labels[here]
            least[where], greatest[where] = ahead
        reached = np.log2(n_waves) - both.octaves
        return least, greatest, np.where(n_waves <= MAX_WAVES, reached, np.nan)

    def _ahead(
        self, codes: NDArray[np.int32], both: Differences, spread: Spread, n_waves: Integers
    ) -> tuple[Floats, Floats]:
        """Bounds for each of both labels, points × 2."""
        zero, slack = _both(spread.zero, both.labels), _both(spread.slack, both.labels)
        finite = 1 - zero
        sums = Sums(codes, both.labels, both.octaves, n_waves)
        waves, _, rest = self._spectra.products(sums, np.full(len(zero), 2 * spread.rare))
        middle, off = _in_interval(waves, both, finite.prod(axis=1), n_waves)
        alone = finite * zero[:, ::-1] + (zero.prod(axis=1) / spread.possible.sum(axis=1))[:, None]
        near = np.zeros(spread.possible.shape, dtype=bool)
        np.put_along_axis(near, both.labels, True, axis=1)
        # A step of n in the period moves a mean by 4 at most, and what is left out as much (theory 6).
        shifted = 8 * n_waves * slack.sum(axis=1) / np.ldexp(1.0, both.octaves)
        error = spread.errors(near) + 1.1 * (2 * spread.rare + rest + shifted)
        share = np.column_stack([middle, finite.prod(axis=1) - middle]) + alone
        doubt = (off + error)[:, None]
        return np.maximum(share - doubt, 0.0), np.minimum(share + doubt, 1.0)


def _in_interval(
    waves: NDArray[np.complex128], both: Differences, mass: Floats, n_waves: Integers
) -> tuple[Floats, Floats]:
    """How likely the first label is ahead where no support is zero, and by how much that may be off."""
    period = np.ldexp(1.0, both.octaves)
    # The other end of the interval lies as far from all chances as can be.
    end = both.middle / period + 0.5
    start = np.clip(both.zero / period, end - 1, end)
    size = waves.shape[1]
    vaaler, fejer = weights_of(n_waves, size)
    at_start, at_end = waves * powers(-start, size), waves * powers(-end, size)
    ahead = mass * (end - start) + ((at_end.imag - at_start.imag) * vaaler).sum(axis=1)
    return ahead, ((at_start.real + at_end.real) * fejer).sum(axis=1)


def _both(numbers: Floats, labels: Places) -> Floats:
    """What is known of both labels of each point, points × 2 × …"""
    return numbers[np.arange(len(labels))[:, None], labels]
