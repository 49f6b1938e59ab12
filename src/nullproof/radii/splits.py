"""How to spend cells on one pair of labels where each count has a limit of its own (T14).

`Climb` raises the rival: the smallest count that can still grow goes first. `Products` lowers the
winner: tables of the least product of its counts for every number of cells, with whole features only,
and without each feature, which may then be lowered in part.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.model.bias import Floats
from nullproof.model.model import Model

Counts = list[int]
Column = NDArray[Any]


@dataclass(frozen=True)
class Side:
    """One label at a point: its counts, and how many cells can move each of them."""

    label: int
    counts: Counts
    room: Counts


class Item(NamedTuple):
    """A feature whose count can be lowered, and how far."""

    feature: int
    held: int
    room: int


class Split(NamedTuple):
    """So many cells raise the rival and lower whole features; a part of one feature may come on top."""

    n_raise: int
    n_whole: int
    part: Item | None = None
    n_part: int = 0


class Climb:
    """The rival's support after every number of raising steps.

    With ``alpha = 0`` its zeros come first: ``first`` steps give it a support. It is hopeless if one of
    them cannot be raised, or if the label has no support whatever its counts are.
    """

    def __init__(self, model: Model, side: Side) -> None:
        self.model, self.label, self._alpha = model, side.label, _as_float(model)
        zeros = [j for j, c in enumerate(side.counts) if c == 0 == model.alpha]
        self._start = [int(j in zeros) or c for j, c in enumerate(side.counts)]
        self._top = [c + n for c, n in zip(side.counts, side.room, strict=True)]
        self._base = model.log_support(side.label, self._start)
        self.is_hopeless = self._base == -math.inf or any(not side.room[j] for j in zeros)
        self._moving = [
            j for j, (c, top) in enumerate(zip(self._start, self._top, strict=True)) if c < top
        ]
        self.first = len(zeros)
        self._logs: Floats = np.empty(0)
        self._find_stretches()

    def _find_stretches(self) -> None:
        """Between two neighbouring levels the same features are raised."""
        starts, tops = ([own[j] for j in self._moving] for own in (self._start, self._top))
        self._levels = sorted({*starts, *tops})
        steps, gains, self._wet = [self.first], [self._base], []
        for k, level in enumerate(self._levels[:-1]):
            n_wet = sum(a <= level < b for a, b in zip(starts, tops, strict=True))
            above = self._levels[k + 1]
            self._wet.append(n_wet)
            steps.append(steps[-1] + n_wet * (above - level))
            gains.append(
                gains[-1] + n_wet * math.log((above + self._alpha) / (level + self._alpha))
            )
        self._steps, self._gains = steps, gains
        self.last = steps[-1]
        capped = {self._levels.index(top) for top in tops}
        # The steps after which a count has met its limit: only there may the gains fall abruptly.
        self.turns = sorted({self.first, *(steps[k] for k in capped)})

    @property
    def ends(self) -> Counts:
        """The least and the greatest of every count that moves."""
        return [own[j] for own in (self._start, self._top) for j in self._moving]

    def logs(self, last: int) -> Floats:
        """The log supports after ``first`` to ``last`` steps; what was worked out is kept."""
        n_wanted = min(last, self.last) - self.first + 1
        if n_wanted > len(self._logs):
            most = min(self.last, self.first + 2 * n_wanted)
            self._logs = self._logs_at(np.arange(self.first, most + 1))
        return self._logs[: max(n_wanted, 0)]

    def _logs_at(self, n_steps: NDArray[np.int64]) -> Floats:
        if not self._moving:
            return np.full(len(n_steps), self._base)
        place = np.searchsorted(self._steps, n_steps, side="right") - 1
        place = np.minimum(place, len(self._wet) - 1)
        levels, wet = np.array(self._levels)[place], np.array(self._wet)[place]
        done, rest = np.divmod(n_steps - np.array(self._steps)[place], np.maximum(wet, 1))
        level = levels + done + self._alpha
        gain = wet * np.log(level / (levels + self._alpha)) + rest * np.log1p(1 / level)
        logs: Floats = np.array(self._gains)[place] + gain
        return logs

    def counts(self, n_steps: int) -> Counts:
        """The rival's counts after so many steps, from ``first`` to ``last``."""
        counts = list(self._start)
        if not self._moving:
            return counts
        place = min(bisect_right(self._steps, n_steps), len(self._wet)) - 1
        done, rest = divmod(n_steps - self._steps[place], max(self._wet[place], 1))
        level = self._levels[place] + done
        for j in self._moving:
            counts[j] = min(max(level, self._start[j]), self._top[j])
            if rest and self._start[j] <= level < self._top[j]:
                counts[j], rest = level + 1, rest - 1
        return counts


class Products:
    """The least product of the winner's counts for every number of cells up to ``size``.

    With logarithms, products are sums and the lead of a split is a difference of log supports. With
    whole numbers it is a difference of fractions, and exact.
    """

    def __init__(
        self,
        model: Model,
        winner: Side,
        items: Sequence[Item],
        climb: Climb,
        *,
        size: int,
        exact: bool,
    ) -> None:
        self.size, self._items, self._climb, self._exact = size, items, climb, exact
        self._ratio, self._alpha = model.alpha.as_integer_ratio(), _as_float(model)
        self._join: Any = np.multiply if exact else np.add
        full = [self._factor(np.array([item.held]))[0] for item in items]
        self._model = model
        self._base: Any
        if exact:
            self._base = model.support(winner.label, winner.counts) / math.prod(full)
        else:
            self._base = model.log_support(winner.label, winner.counts) - sum(full)

    def best(self, n_cells: int) -> tuple[Any, Split]:
        """The greatest lead of the rival with at most so many cells, and how to spend them.

        They are as many as give the rival a support at least.
        """
        return max(self._leads(n_cells), key=lambda found: found[0])

    def _leads(self, n_cells: int) -> Iterator[tuple[Any, Split]]:
        climb = self._climb
        limits = self._limits(n_cells)
        left = n_cells - climb.first
        lead = limits - self._all[left - len(limits) + 1 : left + 1][::-1]
        top = climb.first + int(np.argmax(lead))
        yield lead[top - climb.first], Split(top, n_cells - top)
        for turn in (turn for turn in climb.turns if turn < n_cells):
            limit, left = limits[turn - climb.first], n_cells - turn
            for item, table, parts in self._without:
                n_part = min(item.room - 1, left)
                if n_part <= 0:
                    continue
                least = self._join(table[left - n_part : left][::-1], parts[:n_part])
                part = int(least.argmin()) + 1
                yield limit - least[part - 1], Split(turn, left - part, item, part)

    def chosen(self, split: Split) -> list[Item]:
        """The features that a split lowers wholly."""
        items = [item for item in self._items if item != split.part]
        tables = [self._empty]
        for item in items:
            tables.append(self._with(tables[-1], item))
        left, chosen = split.n_whole, []
        for item, before, after in zip(items[::-1], tables[-2::-1], tables[::-1], strict=False):
            spared = self._join(before[left : left + 1], self._factor(np.array([item.held])))
            if after[left] < spared[0]:
                chosen.append(item)
                left -= item.room
        return chosen

    def _limits(self, n_cells: int) -> Column:
        """What the product may be at most beside each number of raising steps up to so many."""
        climb = self._climb
        if not self._exact:
            logs: Column = climb.logs(n_cells) - self._base
            return logs
        n_raise = range(climb.first, min(climb.last, n_cells) + 1)
        every = [self._model.support(climb.label, climb.counts(n)) for n in n_raise]
        return np.array([own / self._base for own in every], dtype=object)

    def _factor(self, counts: NDArray[np.int64]) -> Column:
        if not self._exact:
            logs: Column = np.log(counts + self._alpha)
            return logs
        p, q = self._ratio
        factors: Column = counts.astype(object) * q + p
        return factors

    @property
    def _empty(self) -> Column:
        return np.full(self.size + 1, 1, dtype=object) if self._exact else np.zeros(self.size + 1)

    @cached_property
    def _all(self) -> Column:
        table = self._empty
        for item in self._items:
            table = self._with(table, item)
        return table

    @cached_property
    def _without(self) -> list[tuple[Item, Column, Column]]:
        """Each feature, the table of all others, and its own factor after 1, 2, … cells."""
        return [
            (item, table, self._factor(item.held - np.arange(1, item.room)))
            for item, table in self._left_out(self._empty, self._items)
        ]

    def _left_out(self, table: Column, items: Sequence[Item]) -> Iterator[tuple[Item, Column]]:
        """Each of some features with the table of all others, by halves."""
        if len(items) == 1:
            yield items[0], table
        elif items:
            half = len(items) // 2
            for own, others in ((items[:half], items[half:]), (items[half:], items[:half])):
                with_others = table
                for item in others:
                    with_others = self._with(with_others, item)
                yield from self._left_out(with_others, own)

    def _with(self, table: Column, item: Item) -> Column:
        """The table with one more feature: lowered wholly or not at all."""
        ends = self._factor(np.array([item.held, item.held - item.room]))
        found: Column = self._join(table, ends[0])
        if item.room <= self.size:
            lowered = self._join(table[: len(table) - item.room], ends[1])
            found[item.room :] = np.minimum(found[item.room :], lowered)
        return found


def _as_float(model: Model) -> float:
    """The smoothing; NaN where no double will do, and logarithms are not asked for."""
    return float(model.alpha) if model.floats_hold else math.nan
