"""Bounds of the odds from log supports rounded to a grid, for tables of any size.

Rounding every term to a multiple of ``h`` moves a log support by an error that is known up to a
small chance; so the label whose rounded support leads by more than both errors wins surely. What
may be wrong with the rounded distributions (cut tails, Chernoff bounds, roundings of the Fourier
transform) is a sum of probabilities, taken off the lower and put onto the upper bound. Points with
grids of the same width and size, and as many labels that stand a chance, are worked out together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.odds.products import products_of_others
from nullproof.odds.spread import Spread, summed
from nullproof.odds.terms import ERROR_SLOPES, Terms, exponents, reaches

MAX_SIZE = 2**20
_MAX_CACHED = 2**28  # bytes
# So many numbers at once stay near the processor.
_BLOCK = 2**17
_EPS = float(np.finfo(np.float64).eps)
# Less than a rounding of a transform, even if all frequencies of a grid are left out.
_NOTHING = 1e-20
_FINEST = 44
_FIRST = 4
# Of so few labels each pair is compared on its own, which loses no step.
_FEW = 4
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Group(NamedTuple):
    """Points of one grid width and size, and the labels of each that stand a chance (points × some)."""

    places: NDArray[np.intp]
    labels: NDArray[np.intp]
    level: int
    size: int


class Rounded(NamedTuple):
    """Rounded log supports of points × labels, in steps of the grid.

    Parameters
    ----------
    probs
        How likely each step is, from the first step on; the last axis is the grid.
    zero
        The probability of a support of zero.
    under, over
        Where the true supports begin, at least and at most, if the rounded one is at the first step.
    """

    probs: Floats
    zero: Floats
    under: Floats
    over: Floats


class Grid:
    """Bounds of the odds of complete points on grids."""

    def __init__(self, model: Model, terms: Terms) -> None:
        self._model, self._terms = model, terms
        self._rounded: dict[tuple[int, int, int], Floats] = {}
        self._spectra: dict[tuple[int, int, int, int, int], NDArray[np.complex128]] = {}
        self._n_cached = 0

    def after(self, model: Model, terms: Terms, changed: set[int]) -> Grid:
        """The grid of a table in which only some features changed; what is known of others stays."""
        other = Grid(model, terms)
        other._rounded = {key: own for key, own in self._rounded.items() if key[0] not in changed}
        other._spectra = {key: own for key, own in self._spectra.items() if key[0] not in changed}
        other._n_cached = sum(own.nbytes for own in other._spectra.values())
        return other

    def bounds(
        self, codes: NDArray[np.int32], spread: Spread, near: Mask, levels: Integers
    ) -> tuple[Floats, Floats, Mask]:
        """Bound the odds of the near labels, as if the others stood no chance.

        The last one says for which points there are bounds; the grids of the others would be too fine.
        """
        least, greatest = np.zeros(near.shape), np.ones(near.shape)
        fits = np.zeros(len(near), dtype=bool)
        for level in np.unique(levels[levels <= _FINEST]).tolist():
            here = np.flatnonzero(levels == level)
            sums = summed(
                codes[:, here],
                partial(self._of_level, level),
                (self._model.m, _FIRST + 2 * len(ERROR_SLOPES)),
            )
            for group, own in _groups(here, near, level, spread, sums):
                found = self._of_group(codes, spread, group, own)
                least[group.places[:, None], group.labels] = found[0]
                greatest[group.places[:, None], group.labels] = found[1]
                fits[group.places] = True
        return least, greatest, fits

    def _of_group(
        self, codes: NDArray[np.int32], spread: Spread, group: Group, sums: Floats
    ) -> tuple[Floats, Floats]:
        rounded = self._distributions(codes, spread, group, sums)
        sure, maybe = _wins(rounded, strict=True), _wins(rounded, strict=False)
        places, size, n_labels = group.places, group.size, group.labels.shape[1]
        n_possible = spread.possible[places].sum(axis=1)
        all_zero = np.prod(rounded.zero, axis=1) / n_possible
        near = np.zeros((len(places), self._model.m), dtype=bool)
        np.put_along_axis(near, group.labels, True, axis=1)
        # The 1-norm of the transforms' errors, and the roundings of sums over the grid.
        transform = math.sqrt(size) * self._transform_error(size) + 8 * size * _EPS
        error = spread.take(places).errors(near) + 1.1 * n_labels * (4 * spread.chance + transform)
        return (
            np.maximum(sure + (all_zero - error)[:, None], 0.0),
            np.minimum(maybe + (all_zero + error)[:, None], 1.0),
        )

    def _distributions(
        self, codes: NDArray[np.int32], spread: Spread, group: Group, sums: Floats
    ) -> Rounded:
        places, labels, level, size = group
        h, rows = 2.0**-level, places[:, None]
        base, mean, slack, zero, far = (
            getattr(spread, name)[rows, labels]
            for name in ("base", "mean", "slack", "zero", "below")
        )
        least, greatest, off, steps = np.moveaxis(sums[:, :, :_FIRST], 2, 0)
        above, below = reaches(sums[:, :, _FIRST:], ERROR_SLOPES / h, spread.chance)
        under = np.maximum(least, off - below) - slack
        over = np.minimum(greatest, off + above) + slack
        start = np.floor((mean - far - greatest - slack - base) / h) - 1
        start = np.where(steps + 1 <= size, 0.0, start)
        probs = self._circular(codes, group)
        turned = np.concatenate([probs, probs], axis=2)
        begin = base / h + start
        turned = _at(turned, (start % size).astype(np.intp), size)
        return Rounded(turned, zero, begin + under / h, begin + over / h)

    def _circular(self, codes: NDArray[np.int32], group: Group) -> Floats:
        """Circular distributions of the rounded sums, which sum to 1 - zero."""
        places, labels, level, size = group
        products = np.zeros((*labels.shape, size // 2 + 1), dtype=np.complex128)
        columns = codes[:, places].T.tolist()
        for row, column in enumerate(columns):
            for place, i in enumerate(labels[row].tolist()):
                made = self._product(column, i, level, size)
                products[row, place, : len(made)] = made
        return np.maximum(np.fft.irfft(products, size), 0.0)

    def _product(self, codes: list[int], i: int, level: int, size: int) -> NDArray[np.complex128]:
        """The spectrum of the rounded sum of one label, without the frequencies that are all but gone."""
        product, n_terms = np.ones(size // 2 + 1, dtype=np.complex128), 0
        for j, code in enumerate(codes):
            own = self._spectrum((j, code, i), level, size)
            if own is None:
                continue
            product *= own[: len(product)]
            n_terms += 1
            if n_terms.bit_count() == 1:
                # No spectrum exceeds 1, so a frequency that is all but gone stays so.
                heights = product.real**2 + product.imag**2
                product = product[: int(np.flatnonzero(heights > _NOTHING**2).max(initial=0)) + 1]
        return product

    def _transform_error(self, size: int) -> float:
        """Bound the 2-norm of the error of a distribution that came through the Fourier transform.

        A transform of length n is off by ``log2(n)·η`` in the 2-norm, relatively, with η below four
        eps (Higham, Accuracy and Stability, theorem 24.2); four times that is allowed here, also for
        the d roundings of a product. No spectrum of a distribution exceeds 1, so the errors of d
        spectra and their product add up.
        """
        return (self._model.d + 1) * 16 * _EPS * math.log2(size)

    def _of_level(self, level: int, j: int, code: int) -> Floats:
        """Least, greatest and mean rounding error, greatest step, and exponents of the error."""
        key = (j, code, level)
        if key not in self._rounded:
            h, (above, shares) = 2.0**-level, self._terms.table(j, code)
            steps = np.rint(above / h)
            errors = above - steps * h
            mean = (errors * shares).sum(axis=1)
            curves = exponents(errors - mean[:, None] * (shares > 0), shares, ERROR_SLOPES / h)
            least = errors.min(axis=1, initial=0.0)
            greatest = errors.max(axis=1, initial=0.0)
            most = steps.max(axis=1, initial=0.0)
            self._rounded[key] = np.column_stack([least, greatest, mean, most, curves])
        return self._rounded[key]

    def _spectrum(
        self, which: tuple[int, int, int], level: int, size: int
    ) -> NDArray[np.complex128] | None:
        """The Fourier transform of a rounded term; None for a constant, which is at step 0."""
        j, code, i = which
        term = self._terms.of(j, code)[i]
        if len(term.logs) == 1 and term.zero == 0:
            return None
        key = (j, code, i, level, size)
        if key not in self._spectra:
            above, _ = self._terms.table(j, code)
            steps = np.rint(above[i, : len(term.logs)] * 2.0**level)
            places = (steps % size).astype(np.intp)
            made = np.fft.rfft(np.bincount(places, term.probs, minlength=size))
            if self._n_cached + made.nbytes > _MAX_CACHED:
                self._spectra.clear()
                self._n_cached = 0
            self._spectra[key] = made
            self._n_cached += made.nbytes
        return self._spectra[key]


def _groups(
    here: NDArray[np.intp], near: Mask, level: int, spread: Spread, sums: Floats
) -> Iterator[tuple[Group, Floats]]:
    """Points of one level by the size of their grid and the number of labels, a block at a time.

    With what their rounding errors sum up to. Points whose grid would be too large are left out.
    """
    some, own = near[here], spread.take(here)
    apart, steps = sums[:, :, 1] - sums[:, :, 0], sums[:, :, 3]
    # Both ends may be off by roundings, and there is a step to spare at each.
    width = (own.above + own.below + apart + 2 * own.slack) * 2.0**level + 4
    sizes = _fast_sizes(np.where(some, np.minimum(steps + 1, width), 1.0).max(axis=1))
    n_labels = some.sum(axis=1)
    for size in np.unique(sizes[sizes <= MAX_SIZE]).tolist():
        for n in np.unique(n_labels[sizes == size]).tolist():
            alike = np.flatnonzero((sizes == size) & (n_labels == n))
            length = max(1, _BLOCK // (n * size))
            for start in range(0, len(alike), length):
                block = alike[start : start + length]
                labels = np.nonzero(some[block])[1].reshape(len(block), n)
                yield Group(here[block], labels, level, size), sums[block[:, None], labels]


def _fast_sizes(least: Floats) -> Integers:
    """Powers of two of at least ``least``: quick to transform, and shared by many points."""
    powers = np.ceil(np.log2(least)).clip(6, math.log2(MAX_SIZE) + 1)
    return np.left_shift(1, powers.astype(np.int64))


def _wins(rounded: Rounded, *, strict: bool) -> Floats:
    """The probability that each label is ahead of all others, points × labels.

    ``strict``: it surely is, however all supports were rounded, and a draw is not enough; otherwise it
    may be.
    """
    probs, zero = rounded.probs, rounded.zero
    edge = np.zeros((*zero.shape, 1))
    less = np.concatenate([edge, np.cumsum(probs, axis=2)], axis=2) + zero[:, :, None]
    ends = (rounded.under, rounded.over) if strict else (rounded.over, rounded.under)
    # Labels whose support may be zero win far below the others, where one grid would be long.
    if probs.shape[1] <= _FEW or zero.any():
        return _pair_by_pair(probs, less, *ends, strict=strict)
    return _on_one_grid(np.concatenate([edge, probs, edge], axis=2), less, *ends, strict=strict)


def _pair_by_pair(
    probs: Floats, less: Floats, ahead: Floats, behind: Floats, *, strict: bool
) -> Floats:
    n_points, n_labels, size = probs.shape
    found = np.empty((n_points, n_labels))
    for i in range(n_labels):
        product = probs[:, i]
        for k in range(n_labels):
            if k != i:
                lead = (ahead[:, i] - behind[:, k]).clip(-2.0 * size, 2.0 * size)
                shift = np.ceil(lead) if strict else np.floor(lead) + 1
                product = product * _at(less[:, k], shift.astype(np.intp), size)
        found[:, i] = product.sum(axis=1)
    return found


def _on_one_grid(
    padded: Floats, less: Floats, ahead: Floats, behind: Floats, *, strict: bool
) -> Floats:
    """The same with both ends of each support moved to whole steps, outwards."""
    # Where a draw is enough, one step less is.
    ahead = np.floor(ahead) if strict else np.ceil(ahead)
    behind = np.ceil(behind) if strict else np.floor(behind) - 1
    # Below the highest first step nobody is ahead of that label.
    first = np.minimum(ahead, behind).max(axis=1)[:, None]
    length = padded.shape[2] - 2 - int((first - ahead).min())
    own = _at(padded, (first - ahead).astype(np.intp) + 1, length)
    others = _at(less, (first - behind).astype(np.intp), length)
    others = products_of_others(np.moveaxis(others, 1, 0))
    found: Floats = np.einsum("pls,lps->pl", own, others)
    return found


def _at(numbers: Floats, first: NDArray[np.intp], length: int) -> Floats:
    """So many numbers along the last axis from a first place on; beyond the ends the first and last one."""
    found = np.empty((*first.shape, length))
    size = numbers.shape[-1]
    for here in np.ndindex(first.shape):
        own, start = numbers[here], int(first[here])
        left, right = min(max(-start, 0), length), min(max(size - start, 0), length)
        row = found[here]
        row[:left], row[right:] = own[0], own[-1]
        row[left:right] = own[start + left : start + right]
    return found
