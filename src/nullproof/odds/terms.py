"""The log terms of supports as random variables, one for each label, feature and value.

``log S_i`` is a constant plus the sum of the terms ``log(c_ij + α)``, all independent (theory 6). Points
share values, so each term is made once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import LEFT_OUT
from nullproof.model import Floats, Model
from nullproof.odds.filling import Count, Filling, count_of

# Chernoff bounds are taken at these powers of two; half an octave off costs 6 %.
SLOPES: Floats = 2.0 ** np.arange(-6.0, 24.0)
ERROR_SLOPES: Floats = 2.0 ** np.arange(-2.0, 7.0)


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

    @cached_property
    def mean(self) -> float:
        return float(self.logs @ self.probs / self.probs.sum()) if len(self.logs) else 0.0

    @cached_property
    def variance(self) -> float:
        if not len(self.logs):
            return 0.0
        return float((self.logs - self.mean) ** 2 @ self.probs / self.probs.sum())

    @cached_property
    def exponents(self) -> Floats:
        """Chernoff exponents of the deviation above and below the mean, at ``SLOPES``."""
        return exponents(self.logs - self.mean, self.probs, SLOPES)


class Terms:
    """The terms of one model under one rule of filling, made when they are first asked for."""

    def __init__(self, model: Model, filling: Filling, cut: float) -> None:
        self._model, self._filling, self._cut = model, filling, cut
        self._found: dict[tuple[int, int], list[Term]] = {}

    def of(self, j: int, code: int) -> list[Term]:
        """The terms of feature ``j`` for points with this code, one per label.

        Of a feature that is left out the term is what takes its denominator out of the constants.
        """
        key = (j, code)
        if key not in self._found:
            lows, groups = self._filling.low(j, code).tolist(), self._filling.open(j, code)
            self._found[key] = [
                self._left_out(i, j)
                if low == LEFT_OUT
                else self._term(count_of(low, own, self._cut))
                for i, (low, own) in enumerate(zip(lows, groups, strict=True))
            ]
        return self._found[key]

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


def exponents(deviations: Floats, probs: Floats, slopes: Floats) -> Floats:
    """``log E exp(±s·x)`` for each slope ``s``, first for ``+`` and then for ``-``; 0 for no values."""
    if not len(deviations):
        return np.zeros(2 * len(slopes))
    heights = np.multiply.outer(np.concatenate([slopes, -slopes]), deviations)
    top = heights.max(axis=1, keepdims=True)
    with np.errstate(under="ignore"):
        sums = np.exp(heights - top) @ (probs / probs.sum())
    found: Floats = top[:, 0] + np.log(np.maximum(sums, np.finfo(np.float64).tiny))
    return found


def reaches(sums: Floats, slopes: Floats, chance: float) -> tuple[Floats, Floats]:
    """How far above and below its mean a sum of terms gets but for a small chance, each.

    Chernoff: ``P(X ≥ t) ≤ exp(Σ exponents - s·t)`` for every slope ``s``.

    Parameters
    ----------
    sums
        2·slopes × labels: summed exponents.
    """
    allowed = math.log(1 / chance) * (1 + 1e-9) + 1e-9
    both: NDArray[np.float64] = (sums.reshape(2, len(slopes), -1) + allowed) / slopes[:, None]
    above, below = np.maximum(both.min(axis=1), 0.0)
    return above, below
