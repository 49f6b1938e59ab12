"""What each feature of a point adds to the lead of a label over a rival, in integers.

Naive Bayes multiplies one factor per feature, so a lead is a sum of logarithms. The factors of a label
are least at its ``low`` counts and greatest at its ``high`` counts, and labels share no cells (T1). So one
world gives every feature its least term at once: low counts for the label, high counts for the rival.
Another one gives every feature its greatest term. Where a cell of the point may hold several values,
each feature has its own worst value (T4). Logarithms come last.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from nullproof.counts.index import LEFT_OUT
from nullproof.data.points import Points
from nullproof.model import Model
from nullproof.prediction import exact_shares, log_supports, winners
from nullproof.verdicts import least_ratio

# Above the line what the label has, below it what its rival has.
Ratio = tuple[int, int]


class Lead(NamedTuple):
    """How far a label is ahead of a rival, as natural logarithms; below 0 it is behind.

    Parameters
    ----------
    least
        In the world that is worst for the label: low counts for it and high counts for the rival. It
        is -inf where the label has no support there, whatever the rival has.
    reference
        By the model's own estimate from the known cells, as `predict` uses it; NaN where neither label
        has any support.
    greatest
        In the world that is best for the label: high counts for it and low counts for the rival. It is
        inf where the rival has no support there, whatever the label has.
    """

    least: float
    reference: float
    greatest: float


Ratios = tuple[Ratio, Ratio, Ratio]


@dataclass(frozen=True)
class CellTerms:
    """What one code of a feature says: per label the counts at both ends, and the share of each label.

    ``pairs`` remembers what it adds to the lead of one label over another.
    """

    low: list[list[int]]
    high: list[list[int]]
    shares: list[Fraction]
    pairs: dict[tuple[int, int], tuple[Ratios, Lead]] = field(default_factory=dict)


# What is known of codes already, by feature and code; for points of the same candidates.
Known = dict[tuple[int, int], CellTerms]


class PointTerms:
    """The counts of one point between their two ends, and its shares by the known cells.

    ``known`` remembers the cells of other points of the same table.
    """

    def __init__(self, model: Model, one: Points, known: Known | None = None) -> None:
        self.model, self.one = model, one
        self._known = {} if known is None else known
        self.cells = [self._cell(j, code) for j, code in enumerate(one.codes[:, 0].tolist())]

    def _cell(self, j: int, code: int) -> CellTerms:
        if (j, code) not in self._known:
            own = np.array(self.one.candidates(j, code))
            self._known[j, code] = CellTerms(
                self.model.low(j, own).T.tolist(),
                self.model.high(j, own).T.tolist(),
                exact_shares(self.model, self.one, j, code),
            )
        return self._known[j, code]

    @property
    def predicted(self) -> int:
        """The label that plain Naive Bayes predicts; in a tie one of those that share it."""
        return int(winners(self.model, self.one, log_supports(self.model, self.one))[0])

    def prior(self, i: int, k: int) -> float:
        """What the prior adds to the lead of ``i`` over ``k``."""
        return _log(*self._prior(i, k), nothing=math.nan)

    def terms(self, i: int, k: int) -> list[Lead]:
        """What each feature adds to the lead of ``i`` over ``k``."""
        return [self._pair(j, i, k)[1] for j in range(len(self.cells))]

    def total(self, i: int, k: int) -> Lead:
        """The lead of ``i`` over ``k``: all ratios multiplied, without any rounding."""
        mine, theirs = self._prior(i, k), self._prior(k, i)
        every = [(mine, mine, theirs), *(self._pair(j, i, k)[0] for j in range(len(self.cells)))]
        return _lead(*(_product(ratios) for ratios in zip(*every, strict=True)))

    def _prior(self, i: int, k: int) -> Ratio:
        mine, theirs = self.model.prior[i], self.model.prior[k]
        return mine.numerator * theirs.denominator, theirs.numerator * mine.denominator

    def _pair(self, j: int, i: int, k: int) -> tuple[Ratios, Lead]:
        """What feature ``j`` adds: the least ratio, that by the known cells, the rival's least one."""
        cell = self.cells[j]
        if (i, k) not in cell.pairs:
            mine, theirs = cell.shares[i], cell.shares[k]
            reference = (
                mine.numerator * theirs.denominator,
                theirs.numerator * mine.denominator,
            )
            ratios = self._least(j, i, k), reference, self._least(j, k, i)
            cell.pairs[i, k] = ratios, _lead(*ratios)
        return cell.pairs[i, k]

    def _least(self, j: int, i: int, k: int) -> Ratio:
        """Low counts of ``i`` against high counts of ``k``, at the worst candidate (T4)."""
        p, q = self.model.alpha.as_integer_ratio()
        low, high = self.cells[j].low[i], self.cells[j].high[k]
        mine, theirs = self.model.sizes[i][j], self.model.sizes[k][j]
        pairs = [(a * q + p, b * q + p) for a, b in zip(low, high, strict=True)]
        # A feature that is left out has its own size as numerator, so that its factor is 1.
        a, b = (mine, theirs) if low[0] == LEFT_OUT else pairs[least_ratio(pairs)]
        # A label without rows and without smoothing has no support.
        return a * (theirs or 1) if mine else 0, b * (mine or 1) if theirs else 0


def _lead(least: Ratio, reference: Ratio, reverse: Ratio) -> Lead:
    """The three logarithms; the greatest lead of a label is the least one of its rival, reversed."""
    return Lead(
        _log(*least, nothing=-math.inf),
        _log(*reference, nothing=math.nan),
        0.0 - _log(*reverse, nothing=-math.inf),
    )


def _product(ratios: Iterable[Ratio]) -> Ratio:
    above, below = zip(*ratios, strict=True)
    return math.prod(above), math.prod(below)


def _log(above: int, below: int, *, nothing: float) -> float:
    """The logarithm of a ratio, with the sign that the integers have; ``nothing`` where both are 0."""
    if not above or not below:
        return nothing if above == below else -math.inf if not above else math.inf
    if 2 * abs(above - below) < below:
        return math.log1p((above - below) / below)
    return math.log(above) - math.log(below)
