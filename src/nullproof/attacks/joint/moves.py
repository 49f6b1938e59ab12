"""Additions of cells that bring standing points nearer to their fall, and what they are worth.

A move is rated by the progress it makes at all standing points together, which is where shared
cells and cells that serve both ways pay. Lowering has growing returns, so its moves go all the way
to a point's fall; raising has falling returns, so its moves are small and spread.
"""

from __future__ import annotations

import numpy as np

from nullproof.attacks.joint.problem import Floats, Ints
from nullproof.attacks.joint.state import State

# A rival's count of zero is worth this many nats of gap, for the rating only.
ZERO = 4.0
# Gaps beyond this are rated alike: only blanking away a count of the winner closes them.
HOPELESS = 1e4
# A move is one number: its group times this, plus its count.
KEY = 1 << 40


class Moves:
    """Additions of cells worth considering for the standing ``points``, and their progress."""

    def __init__(self, state: State, points: Ints, chunk: float, lower_only: bool) -> None:
        problem = state.problem
        self.problem, self.points = problem, points
        low = problem.low[points] - state.lowered[points] + state.alpha
        high = problem.high[points] + state.raised[points] + state.alpha
        # Zeros are counted apart: other features cannot make up for them.
        log_high = np.where(high > 0, state.log_high[points], 0.0).sum(axis=2) + state.weight
        left = state.log_low[points].sum(axis=1) + state.weight[problem.winner[points]]
        self.excess = np.clip(left[:, None] - log_high, 1e-9, HOPELESS)
        self.excess[np.arange(len(points)), problem.winner[points]] = HOPELESS
        self.gap = self.excess + ZERO * (high == 0).sum(axis=2)
        self.low, self.high = low, high
        room = problem.capacity - state.cells
        moves = self._lowering(room)
        if not lower_only or not len(moves):
            moves = np.concatenate([moves, self._raising(room, chunk)])
        moves = np.unique(moves)
        self.group, self.count = moves // KEY, moves % KEY

    def _lowering(self, room: Ints) -> Ints:
        """Propose to lower a winner until its point falls."""
        problem, points = self.problem, self.points
        group, row = np.nonzero(problem.lowers[:, points] & (room > 0)[:, None])
        count = self.low[row, problem.feature[group]]
        fall = np.ceil(count * -np.expm1(-self.gap.min(axis=1)[row]) - 1e-9)
        return _as_keys(group, np.clip(fall, 1, room[group]))

    def _raising(self, room: Ints, chunk: float) -> Ints:
        """Propose to raise a rival by a part of its count, or until the point falls."""
        problem, points = self.problem, self.points
        group, row = np.nonzero(problem.raises[:, points] & (room > 0)[:, None])
        label, feature = problem.label[group], problem.feature[group]
        base = np.maximum(self.high[row, label, feature], 0.5)
        full = np.ceil(base * np.expm1(np.minimum(self.gap[row, label], 50.0)) - 1e-9)
        part = np.minimum(np.ceil(base * chunk), full)
        return _as_keys(group, np.clip(part, 1, room[group]))

    def progress(self, weight: Floats) -> Floats:
        """Return per move the share of the gaps it closes, summed over the points."""
        problem, points = self.problem, self.points
        label, feature = problem.label[self.group], problem.feature[self.group]
        count = self.count[:, None]
        gap, excess = self.gap[:, label].T, self.excess[:, label].T
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = -np.log1p(-np.minimum(count / self.low[:, feature].T, 1.0))
            high = self.high[:, label, feature].T
            gain = np.minimum(np.where(high > 0, np.log1p(count / high), np.log(count)), excess)
            gain = gain + np.where(high > 0, 0.0, ZERO)
        least = self.gap.min(axis=1)
        closed = np.where(problem.lowers[self.group][:, points], np.minimum(1.0, loss / least), 0.0)
        share = np.where(problem.raises[self.group][:, points], np.minimum(1.0, gain / gap), 0.0)
        return np.asarray((closed + share * weight[:, label].T).sum(axis=1))


def _as_keys(group: Ints, count: Floats) -> Ints:
    return np.asarray(group * KEY + count.astype(np.int64), dtype=np.int64)
