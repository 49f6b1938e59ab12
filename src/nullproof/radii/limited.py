"""The fewest cells that let one rival catch up where only some cells can be blanked (T14).

Raising the rival is greedy as ever. Lowering the winner is a knapsack: its gains grow, so at most one
feature is lowered in part, the others wholly or not at all. Straight lines above the gains say how many
cells are needed at least, tables in logarithms find the number, and integers confirm it.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.radii.frontier import first_from
from nullproof.radii.splits import Climb, Counts, Item, Products, Side, Split


class LimitedFrontier:
    """All attacks on one point that let a rival catch up with the winner, or, strictly, win."""

    def __init__(self, model: Model, winner: Side, rival: Side, *, strict: bool = False) -> None:
        self._model, self._winner, self._rival, self._strict = model, winner, rival, strict
        self._climb = Climb(model, rival)
        moves = zip(winner.counts, winner.room, strict=True)
        # Without smoothing the last cell of a count is a way to fall of its own.
        rooms = [min(room, count - (model.alpha == 0)) for count, room in moves]
        self._items = [Item(j, winner.counts[j], n) for j, n in enumerate(rooms) if n > 0]
        self._most = sum(winner.room) + sum(rival.room)
        self._logs = self._products(0)

    def fewest(self, at_least: int, at_most: int | None = None) -> tuple[int, int] | None:
        """The rival's and the winner's cells in a cheapest attack between two bounds, or None."""
        most = self._most if at_most is None else min(at_most, self._most)
        emptied = self._emptied[0]
        n_cells = self._first(max(at_least, 1), int(min(most, emptied - 1)))
        if n_cells is None:
            if emptied > most:
                return None
            n_cells = int(emptied)
        low, high = self.after(n_cells) or ([], [])
        return sum(high) - sum(self._rival.counts), sum(self._winner.counts) - sum(low)

    def after(self, n_cells: int) -> tuple[Counts, Counts] | None:
        """The winner's and the rival's counts after an attack of at most so many cells, or None."""
        cells, feature = self._emptied
        if cells <= n_cells:
            lowered = [c if j != feature else 0 for j, c in enumerate(self._winner.counts)]
            if self._falls(lowered, self._rival.counts):
                return lowered, self._rival.counts
        n_cells = min(n_cells, self._most)
        if self._climb.is_hopeless or n_cells < self._climb.first:
            return None
        if self._model.floats_hold:
            self._grow(n_cells)
            lead, split = self._logs.best(n_cells)
            found = self._spent(split, self._logs)
            if self._falls(*found):
                return found
            if lead < -self._slack:
                return None
        # Floats cannot tell the splits apart.
        exact = self._products(n_cells, exact=True)
        found = self._spent(exact.best(n_cells)[1], exact)
        return found if self._falls(*found) else None

    def _first(self, low: int, high: int) -> int | None:
        """The first number of cells between two that is enough, where no count is blanked away."""
        low = max(low, self._climb.first)
        if self._climb.is_hopeless:
            return None
        if not self._model.floats_hold:
            return first_from(low, high, lambda n: self.after(n) is not None)
        start = first_from(low, high, lambda n: self._lead_at_most(n) >= -self._slack)
        while start is not None and start <= high:
            # Straight lines are seldom far off, so tables for twice as many cells nearly always do.
            size = min(high, 2 * start)
            self._grow(size)
            found = first_from(start, size, self._may_do)
            while found is not None and found <= size:
                if self.after(found) is not None:
                    return found
                found += 1
            start = size + 1
        return None

    def _may_do(self, n_cells: int) -> bool:
        return bool(self._logs.best(n_cells)[0] >= -self._slack)

    def _falls(self, low: Counts, high: Counts) -> bool:
        winner, rival = self._winner.label, self._rival.label
        if self._strict:
            return self._model.exceeds(rival, high, winner, low)
        return not self._model.exceeds(winner, low, rival, high)

    @cached_property
    def _emptied(self) -> tuple[float, int]:
        """The cells and the feature of the cheapest count to blank away; only without smoothing."""
        pairs = zip(self._winner.counts, self._winner.room, strict=True)
        emptied = [(float(c), j) for j, (c, n) in enumerate(pairs) if 0 < c == n]
        return min(emptied) if emptied and self._model.alpha == 0 else (math.inf, -1)

    def _lead_at_most(self, n_cells: int) -> float:
        """An upper bound of the rival's lead, by straight lines above the winner's losses."""
        sizes, losses = self._lines
        logs = self._climb.logs(n_cells)
        n_lower = n_cells - self._climb.first - np.arange(len(logs))
        lost = np.interp(n_lower, sizes, losses)
        return float((logs + lost).max()) - self._log_support

    @cached_property
    def _log_support(self) -> float:
        return self._model.log_support(self._winner.label, self._winner.counts)

    @cached_property
    def _lines(self) -> tuple[Floats, Floats]:
        """The cells and the losses of whole features, those that lose most per cell first."""
        alpha = float(self._model.alpha)
        pairs = [
            (item.room, math.log((item.held + alpha) / (item.held - item.room + alpha)))
            for item in self._items
        ]
        pairs.sort(key=lambda pair: -pair[1] / pair[0])
        ends = np.cumsum([(0.0, 0.0), *pairs], axis=0)
        return ends[:, 0], ends[:, 1]

    @cached_property
    def _slack(self) -> float:
        """A bound of the error of all sums of logarithms here."""
        alpha = float(self._model.alpha)
        ends = [item.held - item.room for item in self._items]
        ends += [item.held for item in self._items] + self._climb.ends
        logs = sum(abs(math.log(end + alpha)) for end in ends)
        start = abs(float(self._climb.logs(self._climb.first)[0]))
        return 8 * float(self._model.slack(abs(self._log_support) + start + logs))

    def _grow(self, size: int) -> None:
        """Have tables for so many cells."""
        if size > self._logs.size:
            self._logs = self._products(size)

    def _products(self, size: int, *, exact: bool = False) -> Products:
        return Products(self._model, self._winner, self._items, self._climb, size=size, exact=exact)

    def _spent(self, split: Split, tables: Products) -> tuple[Counts, Counts]:
        low = list(self._winner.counts)
        for item in tables.chosen(split):
            low[item.feature] -= item.room
        if split.part is not None:
            low[split.part.feature] -= split.n_part
        return low, self._climb.counts(split.n_raise)
