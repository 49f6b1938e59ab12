"""What each group of missing cells would do for the points that are still open.

A group is the open cells of one label and one feature: they are interchangeable until their values
are known. A point is settled once its probable winner's least support passes every rival's greatest.
Filling a group closes a part of that distance, by what its cells will probably hold. The score of a
group is the part that it closes, weighed and summed over the points, per unit of cost. Only the order
of work depends on this, never a verdict.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from nullproof.cleaning.ranges import Ranges, open_counts
from nullproof.model.bias import Floats
from nullproof.model.model import Model

_LEAST = -60.0
_TINY = 1e-9
# Points nearer than this to being done count alike.
_NEAR = 0.01


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
        total: Floats = self.shares()[0].sum(axis=0)
        return total / np.maximum(costs, _TINY)

    def ranked(self, scores: Floats) -> list[tuple[int, int]]:
        """The groups that matter, those with the greatest score first."""
        order = np.argsort(np.where(self.matters, -scores, np.inf), axis=None, kind="stable")
        places = [divmod(int(place), scores.shape[1]) for place in order]
        return [place for place in places if self.matters[place]]

    def shares(self) -> tuple[Floats, NDArray[np.intp]]:
        """What all cells of each group would do for each point, points × labels × features; its winner.

        For certainty, gains count in full also where less is needed: a part of the group will do then.
        Points with little left to close count for more, by the root of it.
        """
        certain = self.confidence == 1
        needs, gains, winners = self._certainty() if certain else self._odds()
        gains = np.where(self.is_open & self.possible[:, :, None], gains, 0.0)
        whole, rows = needs.sum(axis=1), np.arange(len(needs))
        most = np.where(needs > 0, np.inf if certain else needs, 0.0)[:, :, None]
        shares = np.minimum(gains, most)
        # What the winner gains, it gains against every rival.
        shares[rows, winners] = np.minimum(gains[rows, winners][:, None, :], most).sum(axis=1)
        weights = np.maximum(whole, _NEAR) ** -0.5 if certain else 1 / np.maximum(whole, _TINY)
        return shares * np.where(whole > 0, weights, 0.0)[:, None, None], winners

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

    def closest(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
        """Of each point the probable winner, the label closest behind it, and by how much it is ahead."""
        winners, rows = self._winners(), np.arange(len(self.low))
        sums = self._sums(self.likely)
        others = np.where(self.possible, sums, -np.inf)
        others[rows, winners] = -np.inf
        rivals = others.argmax(axis=1)
        return winners, rivals, sums[rows, winners] - sums[rows, rivals]

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
