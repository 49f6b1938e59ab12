"""The optimum of one point against one rival, and the union of such optima (THEORY.md, section 4).

The union is the published heuristic for many points: the start of the search, and what it has to
beat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from nullproof.blanking.joint.problem import UNSURE, Ints, Problem, log_fraction


@dataclass(frozen=True)
class Single:
    """Fewest cells with which ``rival`` overtakes the winner of ``point``."""

    point: int
    rival: int
    raised: Ints
    lowered: Ints

    @property
    def n_cells(self) -> int:
        """Number of cells blanked."""
        return int(self.raised.sum() + self.lowered.sum())


def room_to_raise(problem: Problem, point: int, rival: int) -> Ints:
    """Return per feature how many blanked cells can raise ``rival`` for ``point``."""
    room = np.zeros(problem.low.shape[1], dtype=np.int64)
    mine = problem.raises[:, point] & (problem.label == rival)
    np.add.at(room, problem.feature[mine], problem.capacity[mine])
    return room


def room_to_lower(problem: Problem, point: int) -> Ints:
    """Return per feature how many blanked cells can lower the winner of ``point``."""
    room = np.zeros(problem.low.shape[1], dtype=np.int64)
    mine = problem.lowers[:, point]
    np.add.at(room, problem.feature[mine], problem.capacity[mine])
    return room


def single_optimum(problem: Problem, point: int, rival: int) -> Single | None:
    """Return the cheapest way for ``rival`` to overtake at ``point``; None if there is none.

    T7 walks the frontier of ``a`` raising and ``b`` lowering steps. Between two places where
    lowering exhausts a feature the winner's support is linear in ``b`` and the rival's convex in
    ``a``, so the frontier is the ceiling of a concave function (T8) and its least sum lies at an
    end of such a piece: only those ends are tried, each found by bisection with exact tests.
    """
    steps = _Steps(problem, point, rival)
    if not steps.falls(steps.most_raised, steps.most_lowered):
        return None
    raises = {0, steps.most_raised}
    for lowered in steps.exhausting:
        if steps.falls(steps.most_raised, lowered):
            first = _first(0, steps.most_raised, partial(steps.falls, n_lowered=lowered))
            raises |= {first, max(0, first - 1)}
    pairs = []
    for raised in raises:
        if steps.falls(raised, steps.most_lowered):
            fewest = _first(0, steps.most_lowered, partial(steps.falls, raised))
            pairs.append((raised + fewest, raised, fewest))
    _, raised, lowered = min(pairs)
    return Single(point, rival, steps.raising(raised), steps.lowering(lowered))


def single_optima(problem: Problem, point: int) -> list[Single]:
    """Return the optimum against every rival that can overtake at ``point``, cheapest first."""
    rivals = (k for k in range(len(problem.weight)) if k != problem.winner[point])
    found = [single_optimum(problem, point, rival) for rival in rivals]
    return sorted((s for s in found if s is not None), key=lambda s: (s.n_cells, s.rival))


def union_attack(problem: Problem, singles: list[Single]) -> Ints:
    """Blank the cells of all ``singles``; they share cells because each takes them in one order."""
    cells = np.zeros(problem.n_groups, dtype=np.int64)
    for single in singles:
        cells = np.maximum(cells, single_attack(problem, single))
    return cells


def single_attack(problem: Problem, single: Single) -> Ints:
    """Turn steps per feature into cells per group, taking groups in their order."""
    cells = np.zeros(problem.n_groups, dtype=np.int64)
    lowers = problem.lowers[:, single.point]
    raises = problem.raises[:, single.point] & (problem.label == single.rival)
    for wanted, able in ((single.lowered, lowers), (single.raised, raises)):
        left = wanted.copy()
        for group in np.flatnonzero(able):
            feature = problem.feature[group]
            cells[group] = min(left[feature], problem.capacity[group])
            left[feature] -= cells[group]
    return cells


class _Steps:
    """The two greedy orders of T5 for one point and rival."""

    def __init__(self, problem: Problem, point: int, rival: int) -> None:
        self.problem, self.point, self.rival = problem, point, rival
        self.low = problem.low[point]
        self.high = problem.high[point, rival]
        self.room_up = room_to_raise(problem, point, rival)
        self.room_down = room_to_lower(problem, point)
        self.most_raised, self.most_lowered = int(self.room_up.sum()), int(self.room_down.sum())
        # Features that blanking cannot lower keep their counts, so they come last in the order.
        self.order = np.argsort(np.where(self.room_down > 0, self.low, self.low.max() + 1))
        room = self.room_down[self.order]
        self.before = np.cumsum(room) - room
        # With alpha = 0 the first feature exhausted is the end: the winner's support is 0.
        self.exhausting = [0, *np.cumsum(room).tolist()] if problem.alpha else [0]
        ends = np.concatenate([self.high, self.high + self.room_up])
        self.levels = np.unique(ends[np.tile(self.room_up > 0, 2)])
        self.totals = self._to_level(self.levels[:, None]).sum(axis=1)
        self._weigh()

    def _weigh(self) -> None:
        problem = self.problem
        winner = problem.weight[int(problem.winner[self.point])]
        rival = problem.weight[self.rival]
        self.shift = log_fraction(winner) - log_fraction(rival)
        self.alpha = float(problem.alpha)

    def falls(self, n_raised: int, n_lowered: int) -> bool:
        lowered, raised = self.lowering(n_lowered), self.raising(n_raised)
        with np.errstate(divide="ignore"):
            left = float(np.log(self.low - lowered + self.alpha).sum())
            right = float(np.log(self.high + raised + self.alpha).sum())
        gap = left + self.shift - right
        # Floats decide only what they surely can; a NaN, from two zero supports, falls through.
        if gap > UNSURE or gap < -UNSURE:
            return gap < 0
        return self.problem.falls(self.point, self.rival, lowered, raised)

    def lowering(self, n_steps: int) -> Ints:
        """Lower the smallest count until it is exhausted, then the next (A2)."""
        done = np.zeros_like(self.room_down)
        done[self.order] = np.clip(n_steps - self.before, 0, self.room_down[self.order])
        return done

    def raising(self, n_steps: int) -> Ints:
        """Raise the smallest counts to one level as ``n_steps`` cells allow (A1)."""
        if n_steps <= 0:
            return np.zeros_like(self.room_up)
        # Between two levels where a feature joins or is full, the total grows evenly.
        end = int(np.searchsorted(self.totals, n_steps))
        gained = self.totals[end] - self.totals[end - 1]
        each = gained // (self.levels[end] - self.levels[end - 1])
        level = int(self.levels[end - 1] - (self.totals[end - 1] - n_steps) // each)
        done = self._to_level(level)
        surplus = int(done.sum()) - n_steps
        done[np.flatnonzero(done > self._to_level(level - 1))[:surplus]] -= 1
        return done

    def _to_level(self, level: Ints | int) -> Ints:
        return np.asarray(np.clip(level - self.high, 0, self.room_up), dtype=np.int64)


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the first number where ``holds`` turns true, at most ``high``."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
