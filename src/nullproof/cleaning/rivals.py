"""How few cells of a rival must lack the point's value before a winner is ahead of it.

Lowering a count has growing gains, so at most one feature is filled in part. Branch and bound finds
which ones are filled wholly; straight lines above the gains bound the cells from below.
`Model.exceeds` decides (theory 7).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.model.bias import Floats
from nullproof.model.model import Model

# What is taken off a float number of cells before it is a lower bound: a few roundings, and far more.
_SURE, _PART = 1e-9, 1e-14
_MOST_BRANCHES = 20_000


class Effort:
    """How many branches may still be looked at."""

    left = _MOST_BRANCHES


class Rival:
    """A label that has to be beaten, and bounds on how many of its cells must lack the point's value."""

    def __init__(self, model: Model, label: int, low: list[int], high: list[int]) -> None:
        self.model, self.label, self.high = model, label, high
        self.start = model.log_support(label, high)
        alpha = model.alpha
        emptied = [b - a for a, b in zip(low, high, strict=True) if a + alpha == 0 < b]
        self.to_empty = min(emptied, default=math.inf)
        # With alpha 0 a count of 0 ends the support; ``to_empty`` covers that, so here one cell stays.
        # If the point leaves a feature out, both counts are the same: there is nothing to lower.
        room = {j: b - a - (a + alpha == 0) for j, (a, b) in enumerate(zip(low, high, strict=True))}
        gains = {j: self._gain(j, n) for j, n in room.items() if n > 0}
        self.order = sorted(gains, key=lambda j: -gains[j] / room[j])
        self.room, self.gains = room, gains
        self._sizes = np.cumsum([0, *(room[j] for j in self.order)])
        self._sums = np.cumsum([0.0, *(gains[j] for j in self.order)])

    def _gain(self, j: int, n_cells: int) -> float:
        alpha = float(self.model.alpha)
        return math.log((self.high[j] + alpha) / (self.high[j] - n_cells + alpha))

    def at_least(self, reached: Floats) -> Floats:
        """A lower bound of the cells, for each support that the winner may have reached."""
        needed = self._needed(reached, -1.0)
        cells = np.interp(needed, self._sums, self._sizes)
        cells[needed > self._sums[-1]] = math.inf
        return np.where(needed == math.inf, math.inf, np.minimum(cells, self.to_empty))

    def at_most(self, reached: Floats) -> Floats:
        """An upper bound: features in the order of their gain per cell, the last one in part."""
        needed = self._needed(reached, 1.0)
        n_whole = np.searchsorted(self._sums, needed, side="right") - 1
        last = np.minimum(n_whole, len(self.order) - 1)
        cells = np.where(needed > 0, math.inf, 0.0)
        if self.order:
            sizes = np.array(self.high)[self.order][last] + float(self.model.alpha)
            with np.errstate(over="ignore", invalid="ignore"):
                part = sizes * -np.expm1(self._sums[last] - needed)
            part = np.floor(part + _SURE + _PART * sizes) + 1
            within = (needed > 0) & (needed < self._sums[-1])
            cells = np.where(within, self._sizes[last] + part, cells)
        cells = np.where(needed == math.inf, math.inf, np.minimum(cells, self.to_empty))
        return np.where(needed > 0, cells, 0.0)

    def closer(self, reached: Floats, effort: Effort) -> Together:
        """One search for all the supports that the winner may have reached."""
        return Together(self, self._needed(reached, -1.0), effort)

    def _needed(self, reached: Floats, side: float) -> Floats:
        """How far this label's log support must fall; ``side`` says how to count the rounding error."""
        if self.start == -math.inf:
            return np.where(reached == -math.inf, math.inf, -math.inf)
        sure = reached > -math.inf
        slack = self.model.slack(abs(self.start) + np.abs(np.where(sure, reached, 0.0)))
        return np.where(
            sure, self.start - np.where(sure, reached, 0.0) + side * 4 * slack, math.inf
        )

    def beaten(self, filled: dict[int, int], winner: int, counts: list[int]) -> bool:
        """Decide whether the winner is ahead once so many cells of each feature are filled."""
        after = [b - filled.get(j, 0) for j, b in enumerate(self.high)]
        return self.model.exceeds(winner, counts, self.label, after)


class Together:
    """The fewest cells of a rival for many needs at once, by branch and bound.

    Floats err on the side of fewer cells, so ``best`` is a lower bound, and nearly always the number
    itself: `confirmed` says so, or searches anew in whole numbers.
    """

    def __init__(self, rival: Rival, needed: Floats, effort: Effort) -> None:
        self.rival, self.needed, self._effort = rival, needed, effort
        self.best = np.where(needed > 0, rival.to_empty, 0.0)
        self.best[needed == math.inf] = math.inf
        self._ways: list[_Way] = []
        self._way = np.full(len(needed), -1)
        self._lines: dict[tuple[int, int | None], tuple[Floats, Floats]] = {}

    def run(self) -> Floats:
        """Walk the tree: each feature is filled wholly, in part (one of them), or not."""
        finite = np.flatnonzero((self.needed > 0) & (self.needed < math.inf))
        stack = [(0, _Way(), finite)]
        while stack and self._effort.left:
            self._effort.left -= 1
            depth, way, where = stack.pop()
            least = way.n_cells + self._at_least(depth, way.part, self.needed[where] - way.gain)
            where = where[surely(least) <= self.best[where] - 1]
            if not len(where):
                continue
            self._settle(way, where)
            if depth < len(self.rival.order):
                j = self.rival.order[depth]
                stack.append((depth + 1, way, where))
                if way.part is None:
                    stack.append((depth + 1, way._replace(part=j), where))
                whole = way.with_whole(j, self.rival.room[j], self.rival.gains[j])
                stack.append((depth + 1, whole, where))
        return self.best

    def confirmed(self, place: int, winner: int, counts: list[int]) -> float:
        """The fewest cells for one need, exactly."""
        rival = self.rival
        if self.needed[place] == math.inf:
            return math.inf
        if rival.beaten({}, winner, counts):
            return 0.0
        cells, way = float(self.best[place]), self._way[place]
        if way < 0 and cells == rival.to_empty:
            return cells
        if way >= 0:
            found = self._ways[way]
            filled = {j: rival.room[j] for j in found.whole}
            if found.part is not None:
                filled[found.part] = int(cells) - found.n_cells
            if rival.beaten(filled, winner, counts):
                return cells
        search = _Search(rival, winner, counts, float(self.needed[place]), self._effort)
        search.best = rival.to_empty
        search.explore(0, {}, None)
        return search.best

    def _settle(self, way: _Way, where: NDArray[np.intp]) -> None:
        """Take what is filled so far, and just so much of one feature, where that is enough."""
        left = self.needed[where] - way.gain
        cells = np.where(left > 0, math.inf, float(way.n_cells))
        if way.part is not None:
            rival = self.rival
            size = rival.high[way.part] + float(rival.model.alpha)
            enough = (left > 0) & (left <= rival.gains[way.part])
            more = np.ceil(size * -np.expm1(-np.where(enough, left, 0.0)) - _SURE - _PART * size)
            cells = np.where(enough, way.n_cells + more, cells)
        better = cells < self.best[where]
        if better.any():
            self._way[where[better]] = len(self._ways)
            self._ways.append(way)
            self.best[where[better]] = cells[better]

    def _at_least(self, depth: int, part: int | None, left: Floats) -> Floats:
        key = (depth, part)
        if key not in self._lines:
            rival = self.rival
            order = rival.order[depth:]
            if part is not None:
                order = sorted([*order, part], key=rival.order.index)
            self._lines[key] = (
                np.cumsum([0.0, *(rival.gains[j] for j in order)]),
                np.cumsum([0.0, *(float(rival.room[j]) for j in order)]),
            )
        gains, sizes = self._lines[key]
        cells = np.interp(left, gains, sizes)
        cells[left > gains[-1]] = math.inf
        return cells


class _Way(NamedTuple):
    """Features of a rival that are filled wholly, with their cells and gain, and one in part."""

    whole: tuple[int, ...] = ()
    n_cells: int = 0
    gain: float = 0.0
    part: int | None = None

    def with_whole(self, j: int, room: int, gain: float) -> _Way:
        return _Way((*self.whole, j), self.n_cells + room, self.gain + gain, self.part)


class _Search:
    """Branch and bound over the features of one rival: filled wholly, in part (one), or not."""

    def __init__(
        self, rival: Rival, winner: int, counts: list[int], needed: float, effort: Effort
    ) -> None:
        self.rival, self.winner, self.counts, self.needed = rival, winner, counts, needed
        self._effort = effort
        self.best: float = math.inf
        self._slack = float(rival.model.slack(2 * abs(rival.start) + abs(needed)))

    def beaten(self, filled: dict[int, int]) -> bool:
        """Decide whether that many cells of each feature are enough."""
        return self.rival.beaten(filled, self.winner, self.counts)

    def explore(self, depth: int, filled: dict[int, int], part: int | None) -> None:
        """Decide about the features from ``depth`` on, in the order of their gain per cell."""
        if not self._effort.left:
            return
        self._effort.left -= 1
        rival = self.rival
        n_cells = sum(filled.values())
        left = self.needed - sum(rival.gains[j] for j in filled)
        if reaches(n_cells + self._at_least(depth, left, part), self.best):
            return
        if left <= self._slack and self.beaten(filled):
            self.best = n_cells
            return
        if depth == len(rival.order):
            if part is not None:
                self._fill_part(filled, part, left)
            return
        j = rival.order[depth]
        self.explore(depth + 1, {**filled, j: rival.room[j]}, part)
        if part is None:
            self.explore(depth + 1, filled, j)
        self.explore(depth + 1, filled, part)

    def _at_least(self, depth: int, left: float, part: int | None) -> float:
        """Cells by straight lines above the gains: from zero to all cells of a feature."""
        rival, left = self.rival, left - self._slack
        if left <= 0:
            return 0.0
        n_cells = 0.0
        order = rival.order[depth:]
        for j in order if part is None else sorted([*order, part], key=rival.order.index):
            gain, room = rival.gains[j], rival.room[j]
            if gain >= left:
                return n_cells + left / gain * room
            n_cells, left = n_cells + room, left - gain
        return math.inf

    def _fill_part(self, filled: dict[int, int], part: int, left: float) -> None:
        """Fill just so much of one feature that the winner is ahead."""
        rival, n_whole = self.rival, sum(filled.values())
        size = rival.high[part] + float(rival.model.alpha)
        guess = math.ceil(size * -math.expm1(-max(left, 0.0)))
        most = min(rival.room[part], int(min(self.best, 10**18)) - n_whole - 1)
        # The guess is off by rounding only; where it is not, a search by halves follows.
        first, last = max(guess - 2, 1), min(guess + 2, most)
        if first > most or not self.beaten({**filled, part: last}):
            first, last = last + 1, most
            if first > last or not self.beaten({**filled, part: last}):
                return
        elif first > 1 and self.beaten({**filled, part: first - 1}):
            first, last = 1, first - 1
        while first < last:
            middle = (first + last) // 2
            if self.beaten({**filled, part: middle}):
                last = middle
            else:
                first = middle + 1
        self.best = n_whole + first


def reaches(least: float, best: float) -> bool:
    """Whether no whole number from ``least`` on is better than ``best``."""
    return least == math.inf or surely(least) > best - 1


def surely(n_cells: Any) -> Any:
    """A number of cells, or an array of them, that the true one is not below."""
    return n_cells * (1 - _PART) - _SURE
