"""Which points can become certain if some cells are filled, each with its best values; exact.

With a bias: which points can come to hold up to it. Cells that are filled may turn out to hold
anything; those that stay open are like the known cells, up to the bias.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import NDArray

from nullproof.cleaning.ranges import Ranges
from nullproof.data.points import Points
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.model.verdicts import Verdicts, verdicts


class Winning:
    """Points while groups of cells are filled with the values that suit each point best.

    The winner's cells turn out to hold the point's value, those of its rivals do not. For incomplete
    points this is a bound from above: each count is taken at its best completion. With a bias, a
    group that is filled in part counts as filled wholly, which is a bound from above too: what is
    known of a group changes what is assumed of the rest of it.
    """

    def __init__(self, model: Model, points: Points, ranges: Ranges) -> None:
        self.model, self.ranges = model, ranges
        self._strict = model.unbiased is model
        several = points.holes.T[:, None, :]
        # Raised as the winner, lowered as a rival: two different worlds of the same cells.
        self._raised = np.where(several, ranges.high, ranges.low)
        self._lowered = np.where(several, ranges.low, ranges.high)
        self._up, self._down = log_terms(model, self._raised), log_terms(model, self._lowered)
        self.certain = np.zeros(len(ranges.low), dtype=bool)

    def fill(self, i: int, j: int, n_cells: int) -> None:
        """Fill so many cells of a label and a feature."""
        least, most = self.ranges.least[:, i, j], self.ranges.most[:, i, j]
        up = self._raised[:, i, j] + n_cells if self._strict else most
        down = self._lowered[:, i, j] - n_cells if self._strict else least
        # If a feature is left out, both ends are the same, so nothing moves.
        self._raised[:, i, j], self._lowered[:, i, j] = (
            np.minimum(up, most),
            np.maximum(down, least),
        )
        for counts, terms in ((self._raised, self._up), (self._lowered, self._down)):
            terms[:, :, j] = self.model.log_terms(j, counts[:, :, j])

    def with_feature(self, j: int) -> Winning:
        """The same points with every cell of one feature filled; these stay as they are."""
        other = copy(self)
        other.certain = self.certain.copy()
        own = []
        for counts, terms, end in (
            (self._raised, self._up, self.ranges.most),
            (self._lowered, self._down, self.ranges.least),
        ):
            filled, logs = counts.copy(), terms.copy()
            filled[:, :, j] = end[:, :, j]
            logs[:, :, j] = self.model.log_terms(j, filled[:, :, j])
            own.append((filled, logs))
        (other._raised, other._up), (other._lowered, other._down) = own
        return other

    def fill_all(self) -> None:
        """Fill every cell."""
        self._raised, self._lowered = self.ranges.most, self.ranges.least
        self._up, self._down = (log_terms(self.model, own) for own in (self._raised, self._lowered))

    def judge(self) -> NDArray[np.bool_]:
        """Which points are certain if the cells filled so far hold the right values."""
        model = self.model
        raised = self._up.sum(axis=2) + model.log_prior
        rival = best_other(self._down.sum(axis=2) + model.log_prior)
        with np.errstate(invalid="ignore"):
            ahead = raised - rival
        slack = 4 * model.slack(np.abs(np.where(np.isfinite(raised), raised, 0.0)) + 1)
        unclear = (np.abs(ahead) <= slack).any(axis=1) | (not model.floats_hold)
        self.certain |= (ahead > slack).any(axis=1) & model.floats_hold
        for t in np.flatnonzero(unclear & ~self.certain):
            self.certain[t] = self._can_win(int(t))
        return self.certain

    def _can_win(self, position: int) -> bool:
        raised, lowered = self._raised[position].tolist(), self._lowered[position].tolist()
        labels = range(self.model.m)
        return any(
            all(self.model.exceeds(i, raised[i], k, lowered[k]) for k in labels if k != i)
            for i in labels
        )


def contenders(model: Model, points: Points, ranges: Ranges, found: Verdicts) -> NDArray[np.bool_]:
    """Points × labels: the labels whose cells can matter to a point.

    These are the possible labels with a support above zero in some world. There are none where labels
    tie whatever the cells hold, the point's own too. With a bias, they are the labels possible up to
    it; if all cells of those are known, the labels possible in any world, since a cell may turn out
    otherwise than the bias allows.
    """
    winning = Winning(model, points, ranges)
    winning.fill_all()
    matter: NDArray[np.bool_] = found.possible & (found.max_log > -np.inf)
    if model.unbiased is not model:
        is_open = ranges.n_open.any(axis=2)
        rest = np.flatnonzero(~found.certain & ~(matter & is_open).any(axis=1))
        anywhere = verdicts(model.unbiased, points.take(rest))
        matter[rest] = anywhere.possible & (anywhere.max_log > -np.inf)
    matter[~winning.judge()] = False
    return matter


def log_terms(model: Model, counts: NDArray[np.int64] | Floats) -> Floats:
    """The log terms of counts, points × labels × features."""
    return np.stack([model.log_terms(j, counts[:, :, j]) for j in range(counts.shape[2])], axis=2)


def best_other(supports: Floats) -> Floats:
    """Per label the greatest support among the others (last axis)."""
    order = np.sort(supports, axis=-1)
    top = order[..., -1:]
    second = order[..., -2:-1] if supports.shape[-1] > 1 else np.full_like(top, -np.inf)
    found: Floats = np.where(supports == top, second, top)
    return found
