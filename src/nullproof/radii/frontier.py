"""The fewest cells that let one rival catch up with the winner, in whole numbers (T5, T6, T7).

One point, one winner, one rival. `Frontier.raised` and `Frontier.lowered` are the two greedy orders
A1 and A2, `Frontier.fewest` finds the cheapest mix of them. No float takes part, so this settles
what logarithms cannot.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
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

    def falls(self, n_raise: int, n_lower: int) -> bool:
        """Tell whether the rival catches up after these numbers of A1 and A2 steps."""
        return self._overtaken(self.lowered(n_lower), self.raised(n_raise))

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
            if self.falls(n_raise, n_lower):
                return n_raise, n_lower
        return None

    def after(self, n_cells: int) -> tuple[Counts, Counts] | None:
        """Return the winner's and the rival's counts after an attack of so many cells, or None."""
        steps = self.within(n_cells)
        return None if steps is None else (self.lowered(steps[1]), self.raised(steps[0]))

    def fewest(self, at_least: int, at_most: int | None = None) -> tuple[int, int] | None:
        """Return the cheapest successful pair between two bounds, or None if there is none."""
        ceiling = self.max_raise + self.max_lower
        at_most = ceiling if at_most is None else min(at_most, ceiling)
        n_cells = first_from(at_least, at_most, lambda n: self.within(n) is not None)
        return None if n_cells is None else self.within(n_cells)

    def corners(
        self, guess: Callable[[int], int], limit: int | None = None
    ) -> list[tuple[int, int]]:
        """Return A1 and A2 steps at the ends of the concave pieces of all cheapest pairs (T8).

        Between two places where A2 exhausts a feature the fewest A2 steps are the ceiling of a
        concave function of the A1 steps, so the least sum of all is at one of these ends. Pairs with
        more than ``limit`` steps of a kind are left out. ``guess`` says about how many A2 steps are
        needed beside A1 steps; a wrong guess costs only time.
        """
        n_raise = self.max_raise if limit is None else min(self.max_raise, limit)
        n_lower = self.max_lower if limit is None else min(self.max_lower, limit)
        if not self.falls(n_raise, n_lower):
            return []
        return [
            (n, first_near(guess(n), n_lower, partial(self.falls, n)))
            for n in self._piece_ends(n_raise, n_lower)
        ]

    def _piece_ends(self, n_raise: int, n_lower: int) -> list[int]:
        """Return the A1 steps where a piece begins or ends, if at most so many steps are taken."""
        least = first(0, n_raise, partial(self.falls, n_lower=n_lower))
        found, start = {least, n_raise}, n_raise
        for exhausting in (*(end for end in self._ends if end < n_lower), n_lower):
            if start == least:
                break
            if self.falls(start, exhausting):
                start = first(0, start, partial(self.falls, n_lower=exhausting))
                found |= {start, max(least, start - 1)}
        return sorted(found)


def first_near(guess: int, top: int, holds: Callable[[int], bool]) -> int:
    """Return the first number from 0 where ``holds``, true at ``top``, is true; fast near it."""
    low = high = min(guess, top)
    stride = 1
    while high < top and not holds(high):
        low, high, stride = high + 1, min(top, high + stride), 2 * stride
    while low and holds(low - 1):
        low, high, stride = max(0, low - 1 - stride), low - 1, 2 * stride
    return first(low, high, holds)


def first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the first number where ``holds`` turns true, at most ``high``."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def first_from(low: int, high: int, holds: Callable[[int], bool]) -> int | None:
    """Return the first number from ``low`` to ``high`` where ``holds`` turns true, or None."""
    failing, stride = low - 1, 1
    while failing < high:
        trial = min(failing + stride, high)
        if holds(trial):
            return first(failing + 1, trial, holds)
        failing, stride = trial, 2 * stride
    return None
