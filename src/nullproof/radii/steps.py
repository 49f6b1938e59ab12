"""How many steps an attack takes, for many points at once: float intervals that hold the answer.

`Lowering` bounds the A2 steps that bring the winner down to a given log support, `Raising` the A1
steps that bring a rival up to one; neither walks the steps (T8). An interval is a pair of arrays:
fewer steps than the first surely fail, as many as the second surely succeed (infinite: none surely
do). Every log support may be off by ``slack``, so two of them are told apart beyond twice that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Interval = tuple[Floats, Floats]
# A few roundings of a step count on its way through products, quotients and functions.
_ROUNDINGS = 8 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Lowering:
    """The winner's side, points × (pieces + 1).

    Parameters
    ----------
    ends
        The numbers of steps after which A2 has exhausted 0, 1, 2, … features.
    logs
        The winner's log support there.
    """

    ends: Floats
    logs: Floats
    alpha: float
    slack: float

    @classmethod
    def without_smoothing(cls, smallest: Floats, log_support: Floats, slack: float) -> Lowering:
        """One piece: once the smallest count is exhausted, the support is 0.

        An infinite one means that there is no count to lower.
        """
        is_fixed = np.isinf(smallest)
        ends = np.column_stack([np.zeros_like(smallest), np.where(is_fixed, 0.0, smallest)])
        logs = np.column_stack([log_support, np.where(is_fixed, log_support, -np.inf)])
        return cls(ends, logs, 0.0, slack)

    @classmethod
    def smoothed(
        cls, counts: Floats, logs: Floats, log_support: Floats, alpha: float, slack: float
    ) -> Lowering:
        """One piece for each feature; ``counts`` ascend, ``logs`` are those of ``counts + alpha``."""
        falls = _running_sums(math.log(alpha) - logs)
        return cls(_running_sums(counts), log_support[:, None] + falls, alpha, slack)

    @property
    def n_pieces(self) -> int:
        return int(self.ends.shape[1]) - 1

    def at(self, places: Places) -> Lowering:
        """The same for some of the points."""
        return Lowering(self.ends[places], self.logs[places], self.alpha, self.slack)

    def fewest(self, target: Floats) -> Interval:
        """Bound the steps that bring the winner's log support to ``target`` or below."""
        points = np.arange(len(target))
        piece = (self.logs[:, 1:] > target[:, None]).sum(axis=1)
        following = np.minimum(piece + 1, self.n_pieces)
        start, top = self.ends[points, piece], self.logs[points, piece]
        size = self.ends[points, following] - start
        # Within a piece every step takes the same share of the support that the piece starts with.
        ratio = np.exp(np.minimum(target - top, 1.0))
        steps = (size + self.alpha) * (1 - ratio)
        error = (size + self.alpha) * (4 * self.slack * ratio + _ROUNDINGS)
        at_least = start + np.maximum(np.ceil(steps - error), 0)
        # So close to where the piece starts, the answer may be in the piece before.
        at_least[(piece > 0) & (top - target < 2 * self.slack)] = 0
        needed = np.maximum(np.ceil(steps + error), 0)
        is_reached = self.logs[points, following] <= target - 2 * self.slack
        at_most = start + np.where(needed <= size, needed, np.where(is_reached, size, np.inf))
        # Where all features are exhausted, the support falls no further.
        spent = start == self.ends[:, -1]
        at_most[spent] = np.inf
        at_least[spent] = np.where(top - target > 2 * self.slack, np.inf, 0)[spent]
        return at_least, at_most


class Raising:
    """One rival's side.

    Parameters
    ----------
    counts, logs
        Points × features: the counts that can grow, ascending, and ``log(count + alpha)``; infinite
        for a count that cannot. Without smoothing, the log of a zero is that of a one.
    base
        The rival's log support from those logs.
    cap
        The number of the rival's rows.
    """

    def __init__(
        self, counts: Floats, logs: Floats, base: Floats, *, cap: float, alpha: float, slack: float
    ) -> None:
        self.counts, self.base = counts, base
        self.cap, self.alpha, self.slack = cap, alpha, slack
        self._first_level = 0.0 if alpha > 0 else 1.0
        self._sum_counts, self._sum_logs = _running_sums(counts), _running_sums(logs)
        with np.errstate(invalid="ignore"):
            # How much log support it takes to bring the lower features to the level of the next.
            self._turns = np.arange(1, counts.shape[1]) * logs[:, 1:] - self._sum_logs[:, 1:-1]

    def saturated(self) -> tuple[Floats, Floats]:
        """Return the steps until no count can grow, and the log support then."""
        everywhere = np.arange(len(self.base))
        n_steps, _, log_support = self._filled(everywhere, np.full_like(self.base, self.cap))
        return n_steps, log_support

    def fewest(self, places: Places, target: Floats) -> Interval:
        """Bound the steps that bring the log support of some points to ``target`` or above."""
        level = self._level(places, target)
        cost, n_wet, log_support = self._filled(places, level)
        room = np.where(level < self.cap, n_wet, 0)
        # From one level to the next every step multiplies the support by the same factor.
        gain = np.log1p(1 / (level + self.alpha))
        steps = (target - log_support) / gain
        error = 2 * self.slack / gain + np.abs(steps) * _ROUNDINGS
        needed = np.ceil(steps - error)
        at_least = cost + np.clip(needed, 0, room + 1)
        at_least[(needed > room) & (level >= self.cap - 1)] = np.inf
        # A level guessed too high says nothing of fewer steps; there is none below the first.
        at_least[(needed < 1) & (level > self._first_level)] = 0
        needed = np.ceil(steps + error)
        at_most = np.where(needed <= room, cost + np.maximum(needed, 0), np.inf)
        return at_least, at_most

    def _level(self, places: Places, target: Floats) -> Floats:
        """Guess the last whole water level whose log support is below ``target``."""
        need = target - self.base[places]
        n_wet = 1 + (self._turns[places] < need[:, None]).sum(axis=1)
        with np.errstate(over="ignore"):
            level = np.exp((need + self._sum_logs[places, n_wet]) / n_wet) - self.alpha
        level = np.ceil(level * (1 - 1e-12)) - 1
        level = np.maximum(np.minimum(level, self.cap - 1), self._first_level)
        return np.asarray(level, dtype=np.float64)

    def _filled(self, places: Places, level: Floats) -> tuple[Floats, Floats, Floats]:
        """Raise all counts to a level: steps, features at or below it, log support."""
        n_wet = (self.counts[places] <= level[:, None]).sum(axis=1)
        cost = n_wet * level - self._sum_counts[places, n_wet]
        gain = n_wet * np.log(level + self.alpha) - self._sum_logs[places, n_wet]
        return cost, n_wet.astype(np.float64), self.base[places] + gain


@dataclass(frozen=True)
class LeastRaising:
    """A cheap lower bound on A1 steps, so that the counts of most points need not be sorted.

    ``smallest`` is each point's smallest count plus smoothing, ``base`` its log support.
    """

    n_features: int
    smallest: Floats
    base: Floats
    slack: float

    def at(self, places: Places) -> LeastRaising:
        """The same for some of the points."""
        smallest, base = self.smallest[places], self.base[places]
        return LeastRaising(self.n_features, smallest, base, self.slack)

    def steps(self, target: Floats) -> Floats:
        """Return a number of steps below which the log support stays under ``target``."""
        # a steps multiply the support by at most (1 + a / (d * smallest)) ** d, since an arithmetic
        # mean is no smaller than a geometric one.
        need = np.maximum(target - self.base - 2 * self.slack, 0) / self.n_features
        with np.errstate(over="ignore", invalid="ignore"):
            steps = self.n_features * self.smallest * np.expm1(need) * (1 - 1e-6)
        return np.asarray(steps, dtype=np.float64)


def _running_sums(terms: Floats) -> Floats:
    sums = np.zeros((len(terms), terms.shape[1] + 1))
    np.cumsum(terms, axis=1, out=sums[:, 1:])
    return sums
