"""The fewest cells that let one rival catch up with the winner, in whole numbers (T5, T6, T7).

One point, one winner, one rival. `Frontier.raised` and `Frontier.lowered` are the two greedy orders
A1 and A2, `Frontier.fewest` finds the cheapest mix of them. No float takes part, so this settles
what logarithms cannot.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

Counts = list[int]


class Frontier:
    """All ways to split blanked cells between raising the rival and lowering the winner.

    Parameters
    ----------
    low
        The winner's low count for each feature.
    high
        The rival's high count for each feature.
    cap
        How many rows the rival has: no count can grow past it (T6).
    movable
        The features where blanking a cell changes a count: those whose domain holds the point's
        value and at least one more.
    overtaken
        Decides from the winner's and the rival's counts whether the winner is no longer ahead.
    """

    def __init__(
        self,
        low: Sequence[int],
        high: Sequence[int],
        cap: int,
        *,
        movable: Sequence[int],
        overtaken: Callable[[Counts, Counts], bool],
    ) -> None:
        self._low, self._high, self._overtaken = list(low), list(high), overtaken
        self._to_lower = sorted((j for j in movable if low[j] > 0), key=low.__getitem__)
        self._to_raise = sorted((j for j in movable if high[j] < cap), key=high.__getitem__)
        self._ends = [0, *accumulate(low[j] for j in self._to_lower)]
        levels = [high[j] for j in self._to_raise]
        sums = accumulate(levels, initial=0)
        # The steps that bring all lower counts up to each level.
        self._costs = [q * level - next(sums) for q, level in enumerate(levels)]
        self.max_lower = self._ends[-1]
        self.max_raise = cap * len(levels) - sum(levels)

    def lowered(self, n_steps: int) -> Counts:
        """Return the winner's counts after A2: the smallest positive count goes first, to zero."""
        counts = list(self._low)
        for j in self._to_lower:
            taken = min(n_steps, counts[j])
            counts[j] -= taken
            n_steps -= taken
        return counts

    def raised(self, n_steps: int) -> Counts:
        """Return the rival's counts after A1: the smallest count first, hence one water level."""
        counts = list(self._high)
        wet = self._to_raise[: bisect_right(self._costs, n_steps)]
        if wet:
            level, rest = divmod(sum(counts[j] for j in wet) + n_steps, len(wet))
            for place, j in enumerate(wet):
                counts[j] = level + (place < rest)
        return counts

    def within(self, n_cells: int) -> tuple[int, int] | None:
        """Find numbers of A1 and A2 steps that succeed with ``n_cells`` in all, or None.

        As steps move from A1 to A2, the rival's support is convex, and the winner's linear between
        the points where A2 exhausts a feature. So the rival does best at an end of such a piece (T8).
        """
        n_cells = min(n_cells, self.max_raise + self.max_lower)
        first, last = max(0, n_cells - self.max_raise), min(n_cells, self.max_lower)
        ends = (first, last, *(end for end in self._ends if first < end < last))
        for n_lower in dict.fromkeys(ends):
            n_raise = n_cells - n_lower
            if self._overtaken(self.lowered(n_lower), self.raised(n_raise)):
                return n_raise, n_lower
        return None

    def fewest(self, at_least: int, at_most: int | None = None) -> tuple[int, int] | None:
        """Return the cheapest successful pair between two bounds, or None if there is none."""
        ceiling = self.max_raise + self.max_lower
        at_most = ceiling if at_most is None else min(at_most, ceiling)
        failing, stride, found = at_least - 1, 1, None
        while found is None:
            if failing >= at_most:
                return None
            trial = min(failing + stride, at_most)
            found = self.within(trial)
            if found is None:
                failing, stride = trial, 2 * stride
        while sum(found) - failing > 1:
            trial = (failing + sum(found)) // 2
            better = self.within(trial)
            if better is None:
                failing = trial
            else:
                found = better
        return found
