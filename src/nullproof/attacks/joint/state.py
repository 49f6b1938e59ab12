"""An attack that is being changed: which points still stand, and which further cells would help.

`State` keeps counts and log gaps. Floats only filter; a gap too close to zero to call is decided
exactly, so ``standing`` is exact.

`Moves` are additions of cells that bring standing points nearer to their fall. A move is rated by the
progress it makes at all standing points together, which is where shared cells and cells that serve
both ways pay. Lowering has growing returns, so its moves go all the way to a point's fall; raising
has falling returns, so its moves are small and spread.
"""

from __future__ import annotations

import numpy as np

from nullproof.attacks.joint.problem import KEY, Bools, Ints, Problem
from nullproof.model.bias import Floats

# A rival's count of zero is worth this many nats of gap, for the rating only.
ZERO = 4.0
# Gaps beyond this are rated alike: only blanking away a count of the winner closes them.
HOPELESS = 1e4


class State:
    """Cells per group with everything derived from them kept up to date."""

    def __init__(self, problem: Problem, cells: Ints) -> None:
        self.problem = problem
        self.alpha = problem.alpha
        self.cells = cells.copy()
        self.lowered = problem.lowered(cells)
        self.raised = problem.raised(cells)
        self.lower_points = [np.flatnonzero(row) for row in problem.lowers]
        self.raise_points = [np.flatnonzero(row) for row in problem.raises]
        self.weight = problem.log_weights
        self._refresh()

    def _refresh(self) -> None:
        with np.errstate(divide="ignore"):
            added = self.problem.added
            self.log_low = np.log(self.problem.low - self.lowered + added)
            self.log_high = np.log(self.problem.high + self.raised + added[:, None])

    @property
    def n_cells(self) -> int:
        """Number of cells blanked."""
        return int(self.cells.sum())

    def add(self, group: int, count: int) -> None:
        """Blank ``count`` more cells of ``group``; a negative count gives cells back."""
        problem = self.problem
        label, feature = problem.label[group], problem.feature[group]
        self.cells[group] += count
        low, high = self.lower_points[group], self.raise_points[group]
        self.lowered[low, feature] += count
        self.raised[high, label, feature] += count
        with np.errstate(divide="ignore"):
            left = problem.low[low, feature] - self.lowered[low, feature] + self.alpha
            right = problem.high[high, label, feature] + self.raised[high, label, feature]
            self.log_low[low, feature] = np.log(left)
            self.log_high[high, label, feature] = np.log(right + self.alpha)

    def set_all(self, cells: Ints) -> None:
        """Replace the whole attack."""
        self.cells = cells.copy()
        self.lowered = self.problem.lowered(cells)
        self.raised = self.problem.raised(cells)
        self._refresh()

    def gaps(self, points: Ints | slice = slice(None)) -> Floats:
        """Return the log gap between winner and each label; the winner's own gap is infinite."""
        winner, weight = self.problem.winner[points], self.weight[points]
        left = self.log_low[points].sum(axis=1) + weight[np.arange(len(winner)), winner]
        right = self.log_high[points].sum(axis=2) + weight
        with np.errstate(invalid="ignore"):
            gap = left[:, None] - right
        gap[np.isneginf(left)] = -np.inf
        gap[np.arange(len(winner)), winner] = np.inf
        return np.asarray(gap, dtype=np.float64)

    def standing_notices(self, points: Ints | None = None) -> Bools:
        """Tell for each of ``points`` whether it is still certain."""
        if points is None:
            points = np.arange(self.problem.n_points)
        gap = self.gaps(points)
        least = gap.min(axis=1)
        stands = least > 0
        for row in np.flatnonzero(np.abs(least) <= self.problem.unsure):
            stands[row] = not self._fallen(int(points[row]), gap[row])
        return np.asarray(stands)

    def _fallen(self, point: int, gap: Floats) -> bool:
        low = self.problem.low[point] - self.lowered[point]
        high = self.problem.high[point] + self.raised[point]
        return any(
            self.problem.falls(point, k, low, high[k])
            for k in np.flatnonzero(gap <= self.problem.unsure).tolist()
        )

    def trim(self, group: int) -> int:
        """Give back the cells of ``group`` that no point needs; return how many.

        All points have fallen before. Fewer cells never help, so from a guess in floats the exact
        number is reached by single steps.
        """
        points = np.concatenate([self.lower_points[group], self.raise_points[group]])
        give = self._spare(group)
        self.add(group, -give)
        while give and self.standing_notices(points).any():
            self.add(group, 1)
            give -= 1
        return give

    def _spare(self, group: int) -> int:
        """Return, up to rounding, how many cells of ``group`` its points can do without."""
        problem = self.problem
        label, feature = problem.label[group], problem.feature[group]
        spare = [float(self.cells[group])]
        low, high = self.lower_points[group], self.raise_points[group]
        if len(low):
            right = self.log_high[low].sum(axis=2) + self.weight[low]
            right[np.arange(len(low)), problem.winner[low]] = -np.inf
            right = np.maximum(right.max(axis=1), -1e300)
            rest = self.log_low[low].sum(axis=1, where=np.arange(self.log_low.shape[1]) != feature)
            allowed = np.exp(right - rest - self.weight[low, problem.winner[low]])
            now = problem.low[low, feature] - self.lowered[low, feature] + self.alpha
            spare.append(float((allowed - now).min()))
        if len(high):
            gap = self.gaps(high)
            own = gap[:, label].copy()
            gap[:, label] = np.inf
            now = problem.high[high, label, feature] + self.raised[high, label, feature]
            needs = gap.min(axis=1) > 0
            spare.extend((-np.expm1(np.minimum(own, 1.0)) * (now + self.alpha))[needs].tolist())
        # Where rounding calls a gap open, nothing is spared.
        return int(max(0.0, min(spare)) + 1e-6)

    def trim_all(self, order: Ints) -> int:
        """Trim the groups in this order; return how many cells were given back."""
        return sum(self.trim(int(group)) for group in order if self.cells[group])


class Moves:
    """Additions of cells worth considering for the standing ``points``, and their progress."""

    def __init__(self, state: State, points: Ints, chunk: float, lower_only: bool) -> None:
        problem = state.problem
        self.problem, self.points = problem, points
        added = problem.added[points]
        low = problem.low[points] - state.lowered[points] + added
        high = problem.high[points] + state.raised[points] + added[:, None]
        # Zeros are counted apart: other features cannot make up for them.
        log_high = np.where(high > 0, state.log_high[points], 0.0).sum(axis=2)
        log_high += state.weight[points]
        left = state.log_low[points].sum(axis=1) + state.weight[points, problem.winner[points]]
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
            loss = -np.log1p(-count / self.low[:, feature].T)
            high = self.high[:, label, feature].T
            gain = np.minimum(np.where(high > 0, np.log1p(count / high), np.log(count)), excess)
            gain = gain + np.where(high > 0, 0.0, ZERO)
        least = self.gap.min(axis=1)
        closed = np.where(problem.lowers[self.group][:, points], np.minimum(1.0, loss / least), 0.0)
        share = np.where(problem.raises[self.group][:, points], gain / gap, 0.0)
        return np.asarray((closed + share * weight[:, label].T).sum(axis=1))


def _as_keys(group: Ints, count: Floats) -> Ints:
    return np.asarray(group * KEY + count.astype(np.int64), dtype=np.int64)
