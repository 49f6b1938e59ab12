"""A winner and a rival at any bias, in fractions: who is ahead, and where their counts jump (T10)."""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from nullproof.leads import Pairs, Tables
from nullproof.model import Model
from support.bias_box import BoxJudge
from support.bias_oracle import double_below
from support.large_counts import LargeTable, large_table

ALPHAS: tuple[Any, ...] = (0, 1, Fraction(1, 3), Fraction(3, 7), 0.1)


@dataclass(frozen=True)
class Duel:
    """Two labels of a table, by position, and a complete point."""

    judge: BoxJudge
    point: tuple[str, ...]
    winner: int
    rival: int

    @cached_property
    def jumps(self) -> list[Fraction]:
        """The biases from 0 on beyond which the winner's count falls or the rival's rises, ascending."""
        names, found = self.judge.names, []
        for (label, j, values), (n_cells, shares) in self.judge.groups.items():
            value = self.point[j]
            if value not in values:
                continue
            steps = [Fraction(n_held, n_cells) - shares[value] for n_held in range(n_cells + 1)]
            if label == names[self.winner]:
                # From no cell on no count falls.
                found += [-step for step in steps[1:]]
            if label == names[self.rival]:
                found += steps[:-1]
        return sorted(jump for jump in found if jump >= 0)

    def log_lead(self, bias: Fraction | float) -> float:
        """The logarithm of the winner's least support over the rival's greatest."""
        every, names = (Fraction(bias),) * len(self.point), self.judge.names
        kept = range(len(self.point))
        least = min(self.judge.supports(names[self.winner], kept, self.point, every))
        most = max(self.judge.supports(names[self.rival], kept, self.point, every))
        if not least:
            return -math.inf
        return math.inf if not most else _log(least / most)

    @cached_property
    def last(self) -> float | None:
        """The greatest double at which the winner is ahead; None if that is none between 0 and 1."""
        if self.log_lead(0) <= 0 or self.log_lead(1) > 0:
            return None
        steps = sorted({*self.jumps})
        n_ahead = bisect_left(steps, True, key=lambda step: self.log_lead(step) <= 0)
        return double_below(steps[n_ahead - 1])

    @cached_property
    def is_clear(self) -> bool:
        """Whether both the lead before it is lost and the lag after that are larger than any rounding."""
        assert self.last is not None
        before, after = (self.log_lead(bias) for bias in (self.last, math.nextafter(self.last, 2)))
        return min(before, -after) > 1e-9


def _log(number: Fraction) -> float:
    return math.log(number.numerator) - math.log(number.denominator)


def pairs_of(table: LargeTable, duels: Sequence[Duel]) -> Pairs:
    """The same duels in floats."""
    model = Model(table.index, table.alpha)
    tables = Tables(model, model.points([duel.point for duel in duels]))
    winner, rival = (
        np.array(own) for own in zip(*((d.winner, d.rival) for d in duels), strict=True)
    )
    return tables.pairs(np.arange(len(duels)), winner, rival)


def drawn_duels(seed: int, n_tables: int, size: int) -> Iterator[tuple[LargeTable, list[Duel]]]:
    """Tables of so many rows a label, each with its duels that are lost between 0 and 1."""
    rng = random.Random(seed)
    for _ in range(n_tables):
        table = large_table(rng, rng.choice(ALPHAS), size)
        judge = table.judge()
        points = {table.point(rng) for _ in range(8)}
        labels = range(len(judge.names))
        duels = [
            Duel(judge, point, winner, rival)
            for point in sorted(points)
            for winner in labels
            for rival in labels
            if winner != rival
        ]
        lost = [duel for duel in duels if duel.last is not None]
        if lost:
            yield table, lost
