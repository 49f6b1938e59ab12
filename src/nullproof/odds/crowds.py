"""Bounds of the odds of three and more labels: the chances of each support where the highest ones lie.

By Selberg's polynomials a few Fourier coefficients bound how likely a log support is to stay below each
of some steps. A label wins if all others stay below the step that it is on; summing up by parts needs
no more than these bounds (theory 6).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.model.bias import Floats
from nullproof.odds.products import products_of_others
from nullproof.odds.spread import Spread
from nullproof.odds.waves import (
    MAX_WAVES,
    Integers,
    Spectra,
    Sums,
    Waves,
    numbers,
    octaves,
    powers,
    weights,
)

_EPS = float(np.finfo(np.float64).eps)
# At so many places the densities of supports are looked at before a level is chosen.
_LOOKS = 32
# The gap is this part of a step times the chance of ties: two bounds of each support, and the step itself.
_PART = 0.6 / 3
# So many times what is rare the coefficients that are left out may matter, for all labels together.
_LEFT_OUT = 8
Mask = NDArray[np.bool_]
Places = NDArray[np.intp]


class Ends(NamedTuple):
    """Where the log supports of near labels lie, each but for a small chance, points × labels."""

    lowest: Floats
    highest: Floats
    octaves: Integers

    @classmethod
    def of(cls, spread: Spread, near: Mask) -> Ends:
        lowest = spread.mean - spread.below - spread.slack
        highest = spread.mean + spread.above + spread.slack
        width = np.subtract(highest, lowest, out=np.zeros(near.shape), where=near)
        return cls(lowest, highest, octaves(width.max(axis=1)))


class Crowds:
    """Bounds of the odds of complete points of which several labels stand a chance."""

    def __init__(self, spectra: Spectra) -> None:
        self._spectra = spectra

    def bounds(
        self, codes: NDArray[np.int32], spread: Spread, near: Mask, levels: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Bound the odds of the near labels, as if the others stood no chance.

        The last ones are the levels that were reached, at least those asked for; nan for points without
        bounds: they would need too many coefficients, or a label may well have no support at all.
        """
        least, greatest = np.zeros(near.shape), np.ones(near.shape)
        ends, errors = Ends.of(spread, near), spread.errors(near)
        n_waves = numbers(ends.octaves + levels)
        often_zero = np.where(near, spread.zero, 0.0).max(axis=1) > spread.chance
        reached: Floats = np.log2(n_waves) - ends.octaves
        reached[often_zero | (n_waves > MAX_WAVES)] = np.nan
        here = np.flatnonzero(~np.isnan(reached))
        made = self._waves(codes[:, here], spread, near[here], ends.octaves[here], n_waves[here])
        for place, own in zip(here.tolist(), made, strict=True):
            labels = np.flatnonzero(near[place])
            below = _below(own, (place, labels), spread, ends, int(n_waves[place]))
            found = _wins(*below, 2 * spread.chance)
            least[place, labels] = np.maximum(found[0] - errors[place], 0.0)
            greatest[place, labels] = np.minimum(found[1] + errors[place], 1.0)
        return least, greatest, reached

    def _waves(
        self, codes: NDArray[np.int32], spread: Spread, near: Mask, octaves: Integers, n: Integers
    ) -> list[tuple[Waves, Floats]]:
        """The coefficients of the near labels of each point, and how much others may matter."""
        if not len(near):
            return []
        points, labels = np.nonzero(near)
        n_near = near.sum(axis=1)
        sums = Sums(codes[:, points], labels[:, None], octaves[points], n[points])
        made = self._spectra.products(sums, _LEFT_OUT * spread.rare / n_near[points])
        stops = np.cumsum(n_near).tolist()
        blocks = [slice(stop - n, stop) for stop, n in zip(stops, n_near.tolist(), strict=True)]
        return [(made.waves[own, : made.sizes[own].max()], made.rest[own]) for own in blocks]


def _below(
    made: tuple[Waves, Floats], where: tuple[int, Places], spread: Spread, ends: Ends, n: int
) -> tuple[Floats, Floats]:
    """Bounds of how likely each support lies at or below each step, labels × steps; both ascend.

    The first step is the highest of all lower ends, the last one above everything.
    """
    (waves, rest), period = made, math.ldexp(1.0, int(ends.octaves[where[0]]))
    lowest, highest = ends.lowest[where], ends.highest[where]
    base, zero, first = spread.base[where], spread.zero[where], float(lowest.max())
    # As many steps as coefficients, and enough for those that are left.
    n_steps = max(n, 2 * waves.shape[1])
    vaaler, fejer = (own[: waves.shape[1]] for own in weights(n)[:2])
    # What wraps around does so as far from all chances as can be.
    start = (lowest + highest - period) / 2
    edge = waves * powers((base - start) / period, waves.shape[1])
    here = np.conj(waves * powers((base - first) / period, waves.shape[1])) * (n_steps / 2)
    bend, off = np.fft.irfft(np.stack([1j * vaaler * here, fejer * here]), n_steps)
    # Real parts come twice, but the mean only once.
    doubt = edge.real @ fejer + here[:, 0].real * fejer[0] / n_steps
    steps = first + np.arange(n_steps) * (period / n_steps)
    middle = bend + (1 - zero)[:, None] * (steps - start[:, None]) / period
    middle += (zero - edge.imag @ vaaler)[:, None]
    doubt += 3 * spread.chance + 1.1 * rest + 8 * n * spread.slack[where] / period
    # Twice the error of a Fourier transform, and of its sums; see the grid.
    roundings = 64 * _EPS * math.log2(n_steps) * math.sqrt(n_steps)
    off += (doubt + roundings)[:, None]
    return _ascending(middle - off, middle + off, steps >= highest[:, None], spread.chance)


def first_levels(spread: Spread, near: Mask, gap: Floats) -> Floats:
    """Levels (period over coefficients ``2^-level``) that should do, judged by normal distributions."""
    sigma = np.sqrt(spread.variance)
    highest = np.where(near, spread.mean + 4 * sigma, -np.inf).max(axis=1)
    width = np.where(near, spread.above + spread.below, 0.0).max(axis=1)
    # Where the highest supports lie, which decide: ties further below do no harm.
    step = np.where(width > 0, width, 1.0) / _LOOKS
    places = highest[:, None] - step[:, None] * np.arange(_LOOKS)
    with np.errstate(divide="ignore", invalid="ignore", under="ignore", over="ignore"):
        away = (places[:, None] - spread.mean[:, :, None]) / sigma[:, :, None]
        heights = np.exp(-(away**2) / 2) / sigma[:, :, None]
        below = 1 / (1 + np.exp(-1.702 * away))
    open_ones = near & (sigma > 0)
    density = np.where(open_ones[:, :, None], heights, 0.0) / math.sqrt(2 * math.pi)
    less = np.where(open_ones[:, :, None], below.clip(min=1e-12), 1.0)
    rates = density / less
    pairs = rates * (rates.sum(axis=1, keepdims=True) - rates)
    ties = (pairs * less.prod(axis=1, keepdims=True)).sum(axis=2).max(axis=1) * step
    with np.errstate(divide="ignore"):
        h = np.minimum(_PART * gap / ties, step)
    return np.asarray(-np.log2(h))


def _ascending(
    least: Floats, greatest: Floats, beyond: Mask, chance: float
) -> tuple[Floats, Floats]:
    """Bounds of chances that ascend, with a last step that is above everything."""
    n_steps = int(np.argmax(beyond.all(axis=0))) or beyond.shape[1]
    both = np.ones((2, len(least), n_steps + 1))
    both[0, :, :-1] = np.where(beyond, 1 - chance, least)[:, :n_steps]
    both[1, :, :-1] = np.where(beyond, 1.0, greatest)[:, :n_steps]
    np.clip(both, 0.0, 1.0, out=both)
    lower = np.maximum.accumulate(both[0], axis=1)
    return lower, np.minimum.accumulate(both[1][:, ::-1], axis=1)[:, ::-1]


def _wins(lower: Floats, upper: Floats, rarely: float) -> tuple[Floats, Floats]:
    """Bounds of how likely each label is ahead of all others.

    Between two steps a label is surely ahead of those that stay at the first of them, and of no others
    than those that stay at the second. ``rarely`` bounds how likely the winner lies below all steps.
    """
    others = products_of_others(lower)[:, :-1]
    gains = np.diff(others, axis=1)
    sure = others[:, -1] - (gains * upper[:, 1:-1]).sum(axis=1) - others[:, 0] * upper[:, 0]
    others = products_of_others(upper)[:, 1:]
    gains = np.diff(others, axis=1)
    maybe = 1.0 - (gains * lower[:, 1:-1]).sum(axis=1) - others[:, 0] * lower[:, 0]
    roundings = 8 * _EPS * lower.size
    return sure - roundings, maybe + rarely + roundings
