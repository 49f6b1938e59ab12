"""What chance makes of supports: the terms that their logarithms are sums of.

Counts are independent, so ``log S_i`` is a constant plus the sum of the terms ``log(c_ij + α)``, all
independent (theory 6). Points share values, so each term is made once.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nullproof.counts.index import LEFT_OUT
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.odds.filling import Count, Filling, Open, count_of

# Chernoff bounds are taken at these powers of two; half an octave off costs 6 %.
SLOPES: Floats = 2.0 ** np.arange(-6.0, 24.0)
ERROR_SLOPES: Floats = 2.0 ** np.arange(-2.0, 7.0)
_BLOCK = 2**20
_EPS, _TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Term:
    """One term: its values where it is finite, and the probability that it is not (count and α 0).

    Parameters
    ----------
    logs, probs
        The values, ascending, and their probabilities, which sum to ``1 - zero``.
    magnitude
        A bound of the absolute values that ``logs`` were computed from.
    """

    count: Count
    logs: Floats
    probs: Floats
    zero: float
    magnitude: float


class Table(NamedTuple):
    """The terms of a value side by side, labels × values; what is not there has no chance.

    Parameters
    ----------
    above
        How far each value lies above the least one of its label.
    shares
        Its probability where the term is finite.
    """

    above: Floats
    shares: Floats

    @classmethod
    def of(cls, terms: list[Term]) -> Table:
        longest = max((len(term.logs) for term in terms), default=0)
        both = np.zeros((2, len(terms), longest))
        for i, term in enumerate(terms):
            own = slice(0, len(term.logs))
            both[:, i, own] = term.logs - term.logs[:1], term.probs
        total = both[1].sum(axis=1, keepdims=True)
        return cls(both[0], both[1] / np.where(total > 0, total, 1.0))


class Terms:
    """The terms of one model under one rule of filling, made when they are first asked for."""

    def __init__(self, model: Model, filling: Filling, cut: float) -> None:
        self._model, self._filling, self._cut = model, filling, cut
        self._found: dict[tuple[int, int], list[Term]] = {}
        self._tables: dict[tuple[int, int], Table] = {}
        self._counts: dict[tuple[Open, ...], Count] = {}

    def after(self, model: Model, filling: Filling, changed: set[int]) -> Terms:
        """The terms of a table in which only some features changed; those of the others stay."""
        other = Terms(model, filling, self._cut)
        other._found = {key: own for key, own in self._found.items() if key[0] not in changed}
        other._tables = {key: own for key, own in self._tables.items() if key[0] not in changed}
        return other

    def table(self, j: int, code: int) -> Table:
        """The terms of feature ``j`` for points with this code, side by side."""
        key = (j, code)
        if key not in self._tables:
            self._tables[key] = Table.of(self.of(j, code))
        return self._tables[key]

    def of(self, j: int, code: int) -> list[Term]:
        """The terms of feature ``j`` for points with this code, one per label.

        If a feature is left out, its term cancels its denominator in the constants.
        """
        key = (j, code)
        if key not in self._found:
            lows, groups = self._filling.low(j, code).tolist(), self._filling.open(j, code)
            self._found[key] = [
                self._left_out(i, j) if low == LEFT_OUT else self._term(self._count(low, own))
                for i, (low, own) in enumerate(zip(lows, groups, strict=True))
            ]
        return self._found[key]

    def _count(self, low: int, groups: tuple[Open, ...]) -> Count:
        """As `count_of`; values of a feature often have the same open cells."""
        if groups not in self._counts:
            self._counts[groups] = count_of(0, groups, self._cut)
        count = self._counts[groups]
        return replace(count, first=count.first + low)

    @cached_property
    def constants(self) -> tuple[Floats, Floats]:
        """Per label: the logarithm of what its support has beside its terms (-inf for zero).

        And the sum of the absolute values that it was computed from.
        """
        model, q = self._model, self._model.alpha.denominator
        found = np.zeros((2, model.m))
        for i, share in enumerate(model.prior):
            sizes = model.sizes[i]
            if share == 0 or 0 in sizes:
                found[0, i] = -math.inf
                continue
            logs = [math.log(share.numerator), -math.log(share.denominator)]
            logs += [-math.log(size) for size in sizes]
            found[:, i] = math.fsum(logs), math.fsum(map(abs, logs))
        scale = model.d * math.log(q)
        return found[0] + scale, found[1] + scale

    def _left_out(self, i: int, j: int) -> Term:
        # The constant of a label with a size of zero is -inf, whatever its terms are.
        size, q = self._model.sizes[i][j] or 1, self._model.alpha.denominator
        log, magnitude = math.log(size) - math.log(q), math.log(size) + math.log(q)
        count = Count(LEFT_OUT, np.ones(1), 0.0)
        return Term(count, np.array([log]), np.ones(1), 0.0, magnitude)

    def _term(self, count: Count) -> Term:
        counts = count.first + np.arange(len(count.probs), dtype=np.int64)
        p, q = self._model.alpha.as_integer_ratio()
        skip = 1 if count.first == 0 and p == 0 else 0
        magnitude = 0.0
        if self._model.floats_hold:
            logs = np.log(counts[skip:] + float(self._model.alpha))
        else:
            magnitude = 2 * math.log(q)
            logs = np.array([math.log(c * q + p) - math.log(q) for c in counts[skip:].tolist()])
        magnitude += float(np.abs(logs).max(initial=0.0))
        return Term(count, logs, count.probs[skip:], float(count.probs[:skip].sum()), magnitude)


def exponents(deviations: Floats, shares: Floats, slopes: Floats) -> Floats:
    """``log E exp(±s·x)`` per label for each slope ``s``, first for ``+`` and then for ``-``.

    Values and their probabilities come as labels × values; 0 for a label without any. Each slope is twice
    the one before, and so each power the square of that before. Relative errors double with each, so they
    are added: no exponent is less than the true one.
    """
    n_labels, size = deviations.shape
    found = np.zeros((n_labels, 2, len(slopes)))
    length = max(1, _BLOCK // (2 * len(slopes) * max(size, 1)))
    for start in range(0, n_labels if size else 0, length):
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
        error = _EPS * (
            size + np.exp2(np.arange(len(slopes))) * (4 - 2 * heights.min(axis=2, keepdims=True))
        )
        found[own] = slopes * top + np.log(np.maximum(sums, _TINY)) + error
    found[~shares.any(axis=1)] = 0.0
    return found.reshape(n_labels, 2 * len(slopes))


def reaches(sums: Floats, slopes: Floats, chance: float) -> tuple[Floats, Floats]:
    """How far a sum of terms gets above and below its mean, each except with a small chance.

    Chernoff: ``P(X ≥ t) ≤ exp(Σ exponents - s·t)`` for every slope ``s``.

    Parameters
    ----------
    sums
        Summed exponents, the last axis 2·slopes.
    """
    allowed = math.log(1 / chance) * (1 + 1e-9) + 1e-9
    both = (sums.reshape(*sums.shape[:-1], 2, len(slopes)) + allowed) / slopes
    far: Floats = np.maximum(both.min(axis=-1), 0.0)
    return far[..., 0], far[..., 1]
