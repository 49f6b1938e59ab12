"""The fewest added rows that let one rival catch up with the winner, in whole numbers (T13).

One point, one winner, one rival. Rows of the rival agree with the point wherever they can, rows of the
winner nowhere they need not. No float takes part, so this settles what logarithms cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from nullproof.model.model import Model
from nullproof.radii.frontier import Counts, first

# Larger numbers no double holds, so no answer could tell them.
MOST_ROWS = 2**53


@dataclass(frozen=True)
class Additions:
    """All ways to split added rows between the rival, to raise it, and the winner, to lower it.

    Parameters
    ----------
    low, high
        The winner's low and the rival's high count for each feature; `LEFT_OUT` where the point
        leaves the feature out.
    matched
        The features whose domain has the point's value: a row can agree there.
    forced
        Those of them with no second value: every row agrees there.
    n_known
        How many features the point does not leave out.
    """

    model: Model
    winner: int
    rival: int
    low: Sequence[int]
    high: Sequence[int]
    matched: frozenset[int]
    forced: frozenset[int]
    n_known: int

    def raised(self, n_rows: int) -> Counts:
        """The rival's counts after so many rows that agree with the point."""
        return [c + n_rows if j in self.matched else c for j, c in enumerate(self.high)]

    def lowered(self, n_rows: int) -> Counts:
        """The winner's counts after so many rows that agree only where they must."""
        return [c + n_rows if j in self.forced else c for j, c in enumerate(self.low)]

    def falls(self, n_raise: int, n_lower: int) -> bool:
        """Tell whether the rival catches up after these numbers of rows."""
        return not self.model.exceeds(
            self.winner,
            self.lowered(n_lower),
            self.rival,
            self.raised(n_raise),
            added=(n_lower, n_raise),
        )

    @property
    def possible(self) -> bool:
        """Whether any number of rows is enough."""
        if self.model.prior_is_counted:
            return True
        if not self.model.prior[self.rival]:
            return False
        return self._n_loose > 0 or self.falls(1, 0)

    def fewest(self, at_least: int, at_most: int | None = None) -> tuple[int, int] | None:
        """Return the cheapest successful pair between two bounds, or None if there is none.

        Without an upper bound, pairs of more than `MOST_ROWS` are left out. The rows of the winner are
        halved into ranges. Those of the rival never grow with them, so a range costs at least its first
        number and the rival's rows at its last one.
        """
        if not self.possible or (at_most is not None and at_most < at_least):
            return None
        limit = self._enough() if at_most is None else at_most
        n_raise = self._raising(0, 0, limit)
        best = (n_raise, 0) if n_raise <= limit else None
        limit = min(limit, n_raise - 1)
        start = self._first_lower(limit)
        ranges = [(start, limit, 0)] if start <= limit else []
        while ranges and limit >= at_least:
            left, right, least = ranges.pop()
            # A range that is empty costs too much as well: its end and its least did before.
            if left + least > limit:
                continue
            middle = (left + right) // 2
            # Also where the middle costs too much, its rows of the rival may rule out all before it.
            n_raise = self._raising(middle, least, limit - left)
            if n_raise + middle <= limit:
                best, limit = (n_raise, middle), n_raise + middle - 1
            ranges += [(middle + 1, right, least), (left, middle - 1, n_raise)]
        return best

    def _enough(self) -> int:
        """Some number of rows that is surely enough, if any up to `MOST_ROWS` is."""
        n_rows = 1
        while 2 * n_rows < MOST_ROWS and not self.falls(
            self._capped(n_rows), n_rows if self._lowers else 0
        ):
            n_rows *= 2
        return 2 * n_rows

    def _raising(self, n_lower: int, least: int, limit: int) -> int:
        """The fewest rows of the rival beside so many of the winner; more than ``limit`` if those fail."""
        top = self._capped(limit)
        if top < least or not self.falls(top, n_lower):
            return max(limit + 1, least)
        return first(least, top, partial(self.falls, n_lower=n_lower))

    def _first_lower(self, limit: int) -> int:
        """The first number of the winner's rows that leaves it with less support than it has."""
        beyond = limit + 1
        if self._lowers and limit > 0:
            return first(1, beyond, self._is_lower)
        return beyond

    def _is_lower(self, n_rows: int) -> bool:
        own = self.winner
        return self.model.exceeds(own, self.low, own, self.lowered(n_rows), added=(0, n_rows))

    @property
    def _lowers(self) -> bool:
        """Whether the winner's support falls in the end as its rows become more."""
        return self._n_loose > self.model.prior_is_counted

    @property
    def _n_loose(self) -> int:
        """How many features the point knows where a row can disagree with it."""
        return self.n_known - len(self.forced)

    def _capped(self, n_rows: int) -> int:
        """So many rows of the rival, or as many as give it most support, if those are fewer."""
        if self.n_known - len(self.matched) <= self.model.prior_is_counted:
            return n_rows
        if not self._is_past(n_rows):
            return n_rows
        return first(0, n_rows, self._is_past)

    def _is_past(self, n_rows: int) -> bool:
        """Whether one row more gives the rival less support; it stays so once it is (T13)."""
        own, more = self.rival, n_rows + 1
        return self.model.exceeds(
            own, self.raised(n_rows), own, self.raised(more), added=(n_rows, more)
        )
