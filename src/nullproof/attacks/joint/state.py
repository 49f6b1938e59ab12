"""An attack under change: counts, log gaps and the points that have not fallen yet.

Floats only filter; a gap too close to zero to call is done exactly, so ``standing`` is exact.
"""

from __future__ import annotations

import numpy as np

from nullproof.attacks.joint.problem import UNSURE, Bools, Floats, Ints, Problem, log_fraction


class State:
    """Cells per group with everything derived from them kept up to date."""

    def __init__(self, problem: Problem, cells: Ints) -> None:
        self.problem = problem
        self.alpha = float(problem.alpha)
        self.cells = cells.copy()
        self.lowered = problem.lowered(cells)
        self.raised = problem.raised(cells)
        self.lower_points = [np.flatnonzero(row) for row in problem.lowers]
        self.raise_points = [np.flatnonzero(row) for row in problem.raises]
        self.weight = np.array([log_fraction(weight) for weight in problem.weight])
        self._refresh()

    def _refresh(self) -> None:
        with np.errstate(divide="ignore"):
            self.log_low = np.log(self.problem.low - self.lowered + self.alpha)
            self.log_high = np.log(self.problem.high + self.raised + self.alpha)

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
        winner = self.problem.winner[points]
        left = self.log_low[points].sum(axis=1) + self.weight[winner]
        right = self.log_high[points].sum(axis=2) + self.weight
        with np.errstate(invalid="ignore"):
            gap = left[:, None] - right
        gap[np.isneginf(left)] = -np.inf
        gap[np.arange(len(winner)), winner] = np.inf
        return np.asarray(gap, dtype=np.float64)

    def standing(self, points: Ints | None = None) -> Bools:
        """Tell for each of ``points`` whether it is certain still."""
        if points is None:
            points = np.arange(self.problem.n_points)
        gap = self.gaps(points)
        least = gap.min(axis=1)
        stands = least > 0
        for row in np.flatnonzero(np.abs(least) <= UNSURE):
            stands[row] = not self._settle(int(points[row]), gap[row])
        return np.asarray(stands)

    def _settle(self, point: int, gap: Floats) -> bool:
        return any(
            self.problem.falls(point, k, self.lowered[point], self.raised[point, k])
            for k in np.flatnonzero(gap <= UNSURE).tolist()
        )

    def trim(self, group: int) -> int:
        """Give back as many cells of ``group`` as no point needs; return how many.

        All points have fallen before. Fewer cells never help, so from a guess in floats the exact
        number is reached by single steps.
        """
        before = int(self.cells[group])
        points = np.concatenate([self.lower_points[group], self.raise_points[group]])
        give = min(before, self._spare(group))
        self.add(group, -give)
        while give and self.standing(points).any():
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
            right = self.log_high[low].sum(axis=2) + self.weight
            right[np.arange(len(low)), problem.winner[low]] = -np.inf
            right = np.maximum(right.max(axis=1), -1e300)
            rest = self.log_low[low].sum(axis=1, where=np.arange(self.log_low.shape[1]) != feature)
            allowed = np.exp(right - rest - self.weight[problem.winner[low]])
            now = problem.low[low, feature] - self.lowered[low, feature] + self.alpha
            spare.append(float((allowed - now).min()))
        if len(high):
            gap = self.gaps(high)
            own = gap[:, label].copy()
            gap[:, label] = np.inf
            now = problem.high[high, label, feature] + self.raised[high, label, feature]
            needs = gap.min(axis=1) > 0
            spare.extend((-np.expm1(np.minimum(own, 1.0)) * (now + self.alpha))[needs].tolist())
        # A gap that rounding calls open gives no number; then nothing is spared.
        return int(max(0.0, min(np.nan_to_num(spare, nan=0.0).tolist())) + 1e-6)

    def trim_all(self, order: Ints) -> int:
        """Trim the groups in this order; return how many cells were given back."""
        return sum(self.trim(int(group)) for group in order if self.cells[group])
