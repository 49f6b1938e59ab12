"""Points with holes of their own, under many random fillings of the table and of the points.

For each pair of labels it keeps the least lead over all completions that are left (T4), draw by draw. All
of it is floats: only the order of work and what is expected of it depend on this, never a verdict.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from nullproof.cleaning.ranges import Integers, shares_of
from nullproof.counts.index import LEFT_OUT
from nullproof.data.points import Points
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.odds.filling import Filling

Bools = NDArray[np.bool_]
# Stand for what the logarithm of zero does: a rival without support is far behind, and a label that
# may have none leads nobody, whatever its rivals have.
_FAR, _NEVER = -(2.0**12), -(2.0**20)
_MARGIN = 1e-8
_MOST = 2**21
_HIGHEST, _MORE = 1e6, 1.1


class Holed:
    """Points, and for each pair of labels how far the first leads; draws × points × labels × labels.

    Parameters
    ----------
    confidence
        1 if points must be certain; below it, the odds that are enough.
    chance
        The number of draws, and what draws the values of the points' own cells.
    """

    def __init__(
        self,
        model: Model,
        points: Points,
        filling: Filling,
        confidence: float,
        chance: tuple[int, np.random.Generator],
    ) -> None:
        self.model, self.points, self.confidence = model, points, confidence
        self.columns = [_Column(model, points, filling, j, chance) for j in range(model.d)]
        base = np.maximum(model.log_prior, _FAR)
        shape = (chance[0], len(points), model.m, model.m)
        self._kinds = 1 if confidence == 1 else 3
        start = (_leads(base, base), _leads(base, base), 0.0)
        self._sums = [np.broadcast_to(one, shape).copy() for one in start[: self._kinds]]
        every = np.arange(len(points))
        for column in self.columns:
            self._add(column, every, column.where(every), 1.0)
        self._enough: Floats | float = 0.0
        if confidence < 1:
            self._enough = beyond(self._ratios()[0], NormalDist().inv_cdf(confidence))

    @staticmethod
    def most(m: int, n_draws: int) -> int:
        """How many points fit into memory at once."""
        return max(1, _MOST // (n_draws * m * m))

    def fill(self, i: int, j: int, low: Integers, high: Integers) -> None:
        """Fill cells of a label and a feature; counts of every value and of one outside, draws × values."""
        column, every = self.columns[j], np.arange(len(self.points))
        self._add(column, every, column.where(every), -1.0)
        column.take(i, low, high, len(self._sums[0]))
        self._add(column, every, column.where(every), 1.0)

    def fill_own(self, j: int, places: NDArray[np.intp]) -> None:
        """Fill the cells that some points lack in a feature, with what was drawn for them."""
        column = self.columns[j]
        self._add(column, places, column.where(places), -1.0)
        column.filled[places] = True
        self._add(column, places, column.where(places), 1.0)

    def gains(self, j: int, places: NDArray[np.intp]) -> Floats:
        """How far filling a cell of each point moves the leads: draws × points × labels × labels."""
        column = self.columns[j]
        table = column.tables(1)[0]
        moved: Floats = _at(table, column.drawn[:, places]) - _at(table, column.where(places))
        return moved

    @property
    def leads(self) -> Floats:
        """The least lead of each label over each other one, draws × points × labels × labels."""
        return self._sums[0]

    def done(self) -> Bools:
        """Which points are done, draws × points."""
        itself = np.eye(self.model.m, dtype=bool)
        found = _beats_all((self._sums[0] > _MARGIN) | itself)
        if self.confidence < 1:
            found |= self._ratios() > self._enough
        return found

    def _ratios(self) -> Floats:
        """How far the label ahead leads its closest rival compared with the spread; draws × points."""
        lead, spread = self._sums[1:]
        ratio = (lead - _MARGIN) / np.maximum(np.sqrt(np.maximum(spread, 0.0)), _MARGIN)
        ratio[:, :, np.eye(self.model.m, dtype=bool)] = np.inf
        found: Floats = ratio.min(axis=3).max(axis=2)
        return found

    def _add(
        self, column: _Column, places: NDArray[np.intp], where: NDArray[np.intp], sign: float
    ) -> None:
        for total, table in zip(self._sums, column.tables(self._kinds), strict=True):
            total[:, places] += sign * _at(table, where)


class _Column:
    """One feature: the counts of the values that occur, and which of them each point has."""

    def __init__(
        self,
        model: Model,
        points: Points,
        filling: Filling,
        j: int,
        chance: tuple[int, np.random.Generator],
    ) -> None:
        self.model, self.j = model, j
        used, inverse = points.used(j)
        sorts = [points.candidates(j, int(code)) for code in used]
        self.codes = np.unique([code for own in sorts for code in own]).astype(np.intp)
        # Rows of the tables: every value by itself, then the holes with several candidates.
        self._holes = [np.searchsorted(self.codes, own) for own in sorts if len(own) > 1]
        rows, n_holes = [], 0
        for own in sorts:
            n_holes += len(own) > 1
            several = len(self.codes) + n_holes - 1
            rows.append(several if len(own) > 1 else int(np.searchsorted(self.codes, own[0])))
        self._place = np.array(rows, dtype=np.intp)[inverse]
        self.lacks = self._place >= len(self.codes)
        self.filled = np.zeros(len(points), dtype=bool)
        n_draws, rng = chance
        self.drawn = np.broadcast_to(self._place, (n_draws, len(points)))
        if self.lacks.any():
            self.drawn = self.drawn.copy()
        for row, own in zip(rows, sorts, strict=True):
            here = np.flatnonzero(self._place == row)
            if len(own) > 1:
                likely = chances(model, filling, j, own)
                picked = rng.choice(len(own), size=(n_draws, len(here)), p=likely)
                self.drawn[:, here] = np.searchsorted(self.codes, own)[picked]
        self.low, self.high = model.low(j, self.codes)[None], model.high(j, self.codes)[None]
        self._shares = shares_of(model.index, j, self.codes)

    def where(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """The row of the tables for some points, draws × points."""
        found: NDArray[np.intp] = np.where(
            self.filled[places], self.drawn[:, places], self._place[places]
        )
        return found

    def take(self, i: int, low: Integers, high: Integers, n_draws: int) -> None:
        """Take other counts of a label, draws × values of the domain and one outside."""
        left_out = np.full((len(low), 1), LEFT_OUT)
        if len(self.low) < n_draws:
            self.low, self.high = (np.repeat(own, n_draws, axis=0) for own in (self.low, self.high))
        self.low[:, :, i] = np.hstack([low, left_out])[:, self.codes]
        self.high[:, :, i] = np.hstack([high, left_out])[:, self.codes]

    def tables(self, n_kinds: int) -> list[Floats]:
        """Leads of label over label in this feature, draws × rows × labels × labels.

        Of the least support over the greatest; then, if odds are enough, of the likely ones, and the
        variance of that.
        """
        low, high = self._terms(self.low), self._terms(self.high)
        found = [self._rows(_leads(low, high))]
        if n_kinds > 1:
            n_open = self.high - self.low
            likely = self.low + n_open * self._shares
            size = np.maximum(likely + float(self.model.alpha), 0.5)
            spread = n_open * self._shares * (1 - self._shares) / size**2
            mean = self._terms(likely)
            found.append(self._rows(_leads(mean, mean)))
            found.append(-self._rows(-(spread[..., :, None] + spread[..., None, :])))
        return found

    def _terms(self, counts: Integers | Floats) -> Floats:
        return np.maximum(self.model.log_terms(self.j, counts), _FAR)

    def _rows(self, table: Floats) -> Floats:
        if not self._holes:
            return table
        least = [table[:, own].min(axis=1, keepdims=True) for own in self._holes]
        return np.concatenate([table, *least], axis=1)


def chances(model: Model, filling: Filling, j: int, candidates: tuple[int, ...]) -> Floats:
    """How likely a point's own cell holds each candidate, as the cells of all labels together."""
    weights = filling.weights(j, candidates).astype(float)
    # Without any row all labels count alike.
    n_rows = np.maximum(model.index.label_counts, not model.index.n_rows)
    weights = weights / weights.sum(axis=0) @ n_rows
    found: Floats = weights / weights.sum()
    return found


def beyond(now: Floats, enough: float) -> Floats:
    """What points must reach that are not done: more than they have now, where normal curves err."""
    found: Floats = np.maximum(enough, np.minimum(now, _HIGHEST) * _MORE)
    return found


def _leads(low: Floats, high: Floats) -> Floats:
    """How far each label leads each other one, from the log terms of both."""
    found: Floats = low[..., :, None] - high[..., None, :]
    return np.where(low[..., :, None] <= _FAR, _NEVER, found)


def _beats_all(ahead: Bools) -> Bools:
    """Whether some label is ahead of every label, draws × points."""
    always: Bools = np.logical_and.reduce(ahead, axis=3)
    return np.asarray(np.logical_or.reduce(always, axis=2))


def _at(table: Floats, where: NDArray[np.intp]) -> Floats:
    """Rows of a table (one or as many as draws) for each draw and point."""
    if len(table) == 1:
        found: Floats = table[0][where]
        return found
    return np.asarray(table[np.arange(len(table))[:, None], where])
