"""The distribution of log supports, and first bounds on the odds: Chernoff for the clear cases.

Counts are independent, so the log support of a label is its log prior plus one independent term per
feature, ``w_j·log((c_ij + α) / (N_i + α·|dom_j|))``. Points share values, so what a value adds to each sum
is made once. Odds that these bounds leave open are bounded on a grid (theory 6).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import LEFT_OUT
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.odds.filling import EPS, Cells, Count, binomial, chances

# Chernoff bounds are taken at these powers of two; half an octave off costs 6 %.
SLOPES: Floats = 2.0 ** np.arange(-6.0, 24.0)
_TINY = float(np.finfo(np.float64).tiny)
_BLOCK = 1 << 20
# What a value adds to the sums of a label besides Chernoff exponents.
_SUMS = ("least", "mean", "variance", "log_finite", "error", "log_products")
Mask = NDArray[np.bool_]
Codes = NDArray[np.int32]


class Term(NamedTuple):
    """The terms of one value of a feature, one row per label.

    Parameters
    ----------
    counts
        The distribution of each label's count of cells that hold the value.
    least
        The least finite value of the term; 0 for a term that is never finite.
    above
        How far each value of the term lies above the least, labels × values.
    probs
        Its probability where the term is finite; 0 in columns that a label does not need.
    zero
        The probability that the term is minus infinity: a count of 0 without smoothing.
    is_open
        Whether the term has more than one finite value.
    """

    counts: list[Count]
    least: Floats
    above: Floats
    probs: Floats
    zero: Floats
    is_open: Mask


class Terms:
    """The terms of one model under one way to fill cells, made when they are first asked for."""

    def __init__(self, model: Model, cells: Cells, gap: float) -> None:
        self.model, self._cells = model, cells
        # The probability given to each Chernoff bound and to the tails of each label, small beside the gap.
        self.chance = gap / (60 * model.m)
        self._cut = gap / (100 * model.m * max(model.d, 1))
        self._terms: dict[tuple[int, int], Term] = {}
        self._sums: dict[tuple[int, int], Floats] = {}

    def of(self, j: int, code: int) -> Term:
        """Return the terms of feature ``j`` for points with this code."""
        key = (j, code)
        if key not in self._terms:
            self._terms[key] = self._made(j, code)
        return self._terms[key]

    def _made(self, j: int, code: int) -> Term:
        lows = self.model.low(j, np.array([code]))[0].tolist()
        groups = chances(self.model.index, self._cells, j, code)
        counts = [
            Count(LEFT_OUT, np.ones(1), 0.0) if low == LEFT_OUT else binomial(low, group, self._cut)
            for group, low in zip(groups, lows, strict=True)
        ]
        longest = max(len(count.probs) for count in counts)
        values = np.array([count.first for count in counts]) + np.arange(longest)[:, None]
        # What comes after -1 only fills up the columns of other labels.
        logs = self.model.log_terms(j, values).T
        probs = np.zeros(logs.shape)
        for row, count in zip(probs, counts, strict=True):
            row[: len(count.probs)] = count.probs
        is_finite = (logs > -np.inf) & (probs > 0)
        zero = np.where(logs == -np.inf, probs, 0.0).sum(axis=1)
        least = logs.min(axis=1, where=is_finite, initial=np.inf)
        least[~is_finite.any(axis=1)] = 0.0
        above = np.where(is_finite, logs - least[:, None], 0.0)
        probs = np.where(is_finite, probs, 0.0)
        return Term(counts, least, above, probs, zero, is_finite.sum(axis=1) > 1)

    def sums(self, j: int, code: int) -> Floats:
        """Return what a value adds to the sums of each label: `_SUMS`, then Chernoff exponents."""
        key = (j, code)
        if key not in self._sums:
            term = self.of(j, code)
            total = term.probs.sum(axis=1, keepdims=True)
            shares = term.probs / np.where(total > 0, total, 1.0)
            middle = (term.above * shares).sum(axis=1)
            apart = np.where(shares > 0, term.above - middle[:, None], 0.0)
            with np.errstate(divide="ignore"):
                log_finite = np.log1p(-np.minimum(term.zero, 1.0))
            log_finite[total[:, 0] == 0] = -np.inf
            self._sums[key] = np.column_stack(
                [
                    term.least,
                    term.least + middle,
                    (apart**2 * shares).sum(axis=1),
                    log_finite,
                    [count.error for count in term.counts],
                    np.log2([len(count.probs) for count in term.counts]),
                    exponents(apart, shares, SLOPES),
                ]
            )
        return self._sums[key]


@dataclass(frozen=True)
class LogSupports:
    """The log supports of some points by chance; arrays hold points × labels.

    Parameters
    ----------
    possible
        The labels that win or tie in some world; the others never matter.
    alive
        The possible labels whose support is not surely zero. The numbers of other labels are undefined.
    base
        The log support if every term had its least finite value.
    mean, variance, above, below
        Of the log support where it is finite, and how far it gets from its mean but for a small chance.
    zero
        The probability of a support of zero.
    slack
        A bound of the rounding errors of the log support.
    error
        The probability that was cut off with tails, for all labels together: one number per point.
    log_products
        The binary logarithm of how many different supports there are at most.
    curves
        Chernoff exponents of the log support around its mean, points × labels × 2·slopes.
    """

    possible: Mask
    alive: Mask
    base: Floats
    mean: Floats
    variance: Floats
    above: Floats
    below: Floats
    zero: Floats
    slack: Floats
    error: Floats
    log_products: Floats
    curves: Floats

    @classmethod
    def of(cls, terms: Terms, codes: Codes, possible: Mask) -> LogSupports:
        """Sum up the terms of points, given as codes (features × points)."""
        model = terms.model
        total = np.zeros((codes.shape[1], model.m, len(_SUMS) + 2 * len(SLOPES)))
        for j, own in enumerate(codes):
            used, places = np.unique(own, return_inverse=True)
            total += np.stack([terms.sums(j, code) for code in used.tolist()])[places]
        least, mean, variance, log_finite, error, log_products = np.moveaxis(
            total[:, :, : len(_SUMS)], 2, 0
        )
        curves = total[:, :, len(_SUMS) :]
        above, below = _reaches(curves, terms.chance)
        alive = possible & (log_finite > -np.inf) & (model.log_prior > -np.inf)
        # All terms are at most 0, so the least log support is the negative of its magnitude.
        base = np.where(alive, least + model.log_prior, 0.0)
        lost = np.where(possible, error, 0.0).sum(axis=1)
        return cls(
            possible=possible,
            alive=alive,
            base=base,
            mean=np.where(alive, mean + model.log_prior, -np.inf),
            variance=np.where(alive, variance, 0.0),
            above=above,
            below=below,
            zero=np.where(alive, -np.expm1(np.where(alive, log_finite, 0.0)), 1.0),
            slack=4 * model.slack(-base),
            error=1.1 * lost + 64 * EPS * (model.d + model.m),
            log_products=np.where(alive, log_products, 0.0),
            curves=curves,
        )

    def take(self, places: slice) -> LogSupports:
        """Return the log supports of some of the points."""
        return replace(self, **{one.name: getattr(self, one.name)[places] for one in fields(self)})

    def bounds(self) -> tuple[Floats, Floats]:
        """Bound the odds by the probability that each label reaches the one with the greatest mean.

        Chernoff for the difference of both log supports. A label whose support is surely zero wins, or
        ties, only where all supports are zero.
        """
        all_zero = np.prod(self.zero, axis=1, where=self.possible, keepdims=True)
        share, doubt = all_zero / self.possible.sum(axis=1, keepdims=True), self.error[:, None]
        upper = np.where(self.alive, self._reaching(), share + doubt)
        lower = np.where(self.alive, 0.0, np.maximum(share - doubt, 0.0))
        return together(lower, np.minimum(upper, 1.0), self.possible)

    def _reaching(self) -> Floats:
        """Bound how likely each label has at least the support of the one with the greatest mean."""
        best = self.mean.argmax(axis=1)[:, None]
        mean, slack, zero = (
            np.take_along_axis(own, best, axis=1) for own in (self.mean, self.slack, self.zero)
        )
        down = np.take_along_axis(self.curves, best[:, :, None], axis=1)[:, :, len(SLOPES) :]
        with np.errstate(invalid="ignore", under="ignore", over="ignore"):
            lead = mean - self.mean - self.slack - slack
            heights = self.curves[:, :, : len(SLOPES)] + down - SLOPES * lead[:, :, None]
            reached = np.exp(np.minimum(heights.min(axis=2), 0.0))
        bound: Floats = 1.01 * reached + zero + self.error[:, None]
        np.put_along_axis(bound, best, 1.0, axis=1)
        return bound


def together(lower: Floats, upper: Floats, possible: Mask) -> tuple[Floats, Floats]:
    """Tighten bounds of odds, which sum to 1 and are 0 for labels that are not possible."""
    lower, upper = np.where(possible, lower, 0.0), np.where(possible, upper, 0.0)
    slack = 4 * EPS * possible.shape[1]
    least = 1 - (upper.sum(axis=1, keepdims=True) - upper) - slack
    most = 1 - (lower.sum(axis=1, keepdims=True) - lower) + slack
    lower = np.where(possible, np.maximum(lower, least), 0.0)
    return lower, np.where(possible, np.minimum(upper, most), 0.0)


def exponents(deviations: Floats, shares: Floats, slopes: Floats) -> Floats:
    """Return ``log E exp(±s·x)`` per label for each slope ``s``, first for ``+`` and then for ``-``.

    Values and their probabilities come as labels × values. Each slope is twice the one before, and so
    each power the square of that before. Relative errors double with each and are added: no exponent is
    less than the true one.
    """
    n_labels, size = deviations.shape
    found = np.zeros((n_labels, 2, len(slopes)))
    length = max(1, _BLOCK // (2 * len(slopes) * size))
    for start in range(0, n_labels, length):
        own = slice(start, start + length)
        both = np.stack([deviations[own], -deviations[own]], axis=1)
        top = both.max(axis=2, keepdims=True)
        heights = slopes[0] * (both - top)
        powers = np.empty((len(slopes), *both.shape))
        with np.errstate(under="ignore"):
            np.exp(heights, out=powers[0])
            for before, after in itertools.pairwise(powers):
                np.multiply(before, before, out=after)
            sums = np.einsum("slbv,lv->lbs", powers, shares[own])
        error = EPS * (
            size + np.exp2(np.arange(len(slopes))) * (4 - 2 * heights.min(axis=2, keepdims=True))
        )
        found[own] = slopes * top + np.log(np.maximum(sums, _TINY)) + error
    found[~shares.any(axis=1)] = 0.0
    return found.reshape(n_labels, 2 * len(slopes))


def _reaches(sums: Floats, chance: float) -> tuple[Floats, Floats]:
    """Return how far sums of terms get above and below their means, each but for a small chance.

    Chernoff: ``P(X ≥ t) ≤ exp(Σ exponents - s·t)`` for every slope ``s``.
    """
    allowed = math.log(1 / chance) * (1 + 1e-9) + 1e-9
    both = (sums.reshape(*sums.shape[:-1], 2, len(SLOPES)) + allowed) / SLOPES
    far: Floats = np.maximum(both.min(axis=-1), 0.0)
    return far[..., 0], far[..., 1]
