"""What each group of missing cells would do for the points that are still open.

A group is the open cells of one label and one feature: they are interchangeable until their values
are known. A point is settled once its probable winner's least support passes every rival's greatest.
Filling a group closes a part of that distance, by what its cells will probably hold. The score of a
group is the part that it closes, summed over the points, per unit of cost. Only the order of work
depends on this, never a verdict.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from nullproof.boxes import Ranges, open_counts
from nullproof.model import Floats, Model

_LEAST = -60.0
_TINY = 1e-9


class Outlook:
    """The open points, and what they need.

    Parameters
    ----------
    ranges
        The counts of the points that are open.
    possible
        Points × labels: the labels that can still win, and whose cells can matter (`contenders`).
    confidence
        1 for certainty; below it, odds that are enough.
    """

    def __init__(
        self, model: Model, ranges: Ranges, possible: NDArray[np.bool_], confidence: float
    ) -> None:
        self.possible, self.confidence = possible, confidence
        shape = ranges.low.shape
        self.low, self.high, self.likely = np.empty(shape), np.empty(shape), np.empty(shape)
        for j in range(shape[2]):
            for ours, counts in (
                (self.low, ranges.low),
                (self.high, ranges.high),
                (self.likely, ranges.likely),
            ):
                ours[:, :, j] = np.maximum(model.log_terms(j, counts[:, :, j]), _LEAST)
        # The counts of an incomplete point differ even where no cell is open.
        self.is_open = (ranges.n_open > 0) & (open_counts(model.index) > 0)
        self.variance = _variances(ranges, float(model.alpha))
        self._base = np.maximum(model.log_prior, _LEAST)

    @property
    def matters(self) -> NDArray[np.bool_]:
        """Labels × features: whether a cell of this group can matter to a point."""
        return np.asarray((self.is_open & self.possible[:, :, None]).any(axis=0))

    def fill(self, label: int, feature: int) -> None:
        """Go on as if the cells of a group had turned out as they probably will."""
        here = (slice(None), label, feature)
        self.low[here] = self.high[here] = self.likely[here]
        self.variance[here], self.is_open[here] = 0.0, False

    def scores(self, costs: Floats) -> Floats:
        """Score every group, labels × features; ``costs`` is what all cells of a group cost."""
        needs, gains, winners = self._certainty() if self.confidence == 1 else self._odds()
        gains = np.where(self.is_open & self.possible[:, :, None], gains, 0.0)
        whole = needs.sum(axis=1)
        lines = np.flatnonzero(whole > 0)
        needs, gains, winners = needs[lines], gains[lines], winners[lines]
        rows = np.arange(len(lines))
        shares = np.minimum(gains, needs[:, :, None])
        # What the winner gains, it gains against every rival.
        shares[rows, winners] = np.minimum(gains[rows, winners][:, None, :], needs[:, :, None]).sum(
            axis=1
        )
        total: Floats = np.einsum("tij,t->ij", shares, 1 / whole[lines])
        return total / np.maximum(costs, _TINY)

    def _certainty(self) -> tuple[Floats, Floats, NDArray[np.intp]]:
        """Needs (points × labels), gains (points × labels × features) and the probable winners."""
        winners, rows = self._winners(), np.arange(len(self.low))
        needs = self._sums(self.high) - self._sums(self.low)[rows, winners][:, None]
        gains = self.high - self.likely
        gains[rows, winners] = (self.likely - self.low)[rows, winners]
        return self._of_rivals(needs, winners), gains, winners

    def _odds(self) -> tuple[Floats, Floats, NDArray[np.intp]]:
        """The same where odds are enough: the lead must become large compared with its spread."""
        winners, rows = self._winners(), np.arange(len(self.low))
        sums, spread = self._sums(self.likely), self.variance.sum(axis=2)
        lead = sums[rows, winners][:, None] - sums
        whole = spread + spread[rows, winners][:, None]
        enough = (lead / max(NormalDist().inv_cdf(self.confidence), _TINY)) ** 2
        return self._of_rivals(whole - enough, winners), self.variance, winners

    def _winners(self) -> NDArray[np.intp]:
        sums = np.where(self.possible, self._sums(self.likely), -np.inf)
        return np.asarray(sums.argmax(axis=1))

    def _sums(self, terms: Floats) -> Floats:
        sums: Floats = terms.sum(axis=2) + self._base
        return sums

    def _of_rivals(self, needs: Floats, winners: NDArray[np.intp]) -> Floats:
        """The needs against rivals that can still win; 0 for all other labels."""
        needs = np.where(self.possible, np.maximum(needs, _TINY), 0.0)
        needs[np.arange(len(needs)), winners] = 0.0
        return needs


def _variances(ranges: Ranges, alpha: float) -> Floats:
    """The variances of the log terms, to first order."""
    n_open = ranges.n_open
    share = (ranges.likely - ranges.least) / np.maximum(n_open, 1)
    spread: Floats = n_open * share * (1 - share) / np.maximum(ranges.likely + alpha, 0.5) ** 2
    return spread
