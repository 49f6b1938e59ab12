"""The optimum of one point against one rival, and the union of such optima (theory 4).

The union is the published heuristic for many points: the start of the search, and what it has to
beat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from nullproof.attacks.joint.problem import UNSURE, Ints, Problem, log_fraction
from nullproof.radii.frontier import Frontier

# The rival of a point that falls because one of its winner's counts is blanked away.
ANYONE = -1


@dataclass(frozen=True)
class Single:
    """Fewest cells with which ``rival`` overtakes the winner of ``point``, per feature."""

    point: int
    rival: int
    raised: Ints
    lowered: Ints
    # The ends of the frontier's concave pieces: numbers of raising and of lowering steps.
    ends: Ints

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


def single_optimum(
    problem: Problem, point: int, rival: int, limit: int | None = None
) -> Single | None:
    """Return the cheapest way for ``rival`` to overtake at ``point``; None if there is none.

    The winner keeps positive support: blanking a count away altogether is `cheapest_kill`. T7
    walks the frontier of ``a`` raising and ``b`` lowering steps. Between two places where
    lowering exhausts a feature the winner's support is linear in ``b`` and the rival's convex in
    ``a``, so the frontier is the ceiling of a concave function (T8) and its least sum lies at an
    end of such a piece: only those ends are tried, each found by bisection with exact tests.
    Ways that raise or lower by more than ``limit`` are left out.
    """
    steps = Steps(problem, point, rival, limit)
    if not steps.falls(steps.most_raised, steps.most_lowered):
        return None
    ends = np.array([(a, steps.fewest_lowered(a)) for a in steps.ends()], dtype=np.int64)
    raised, lowered = ends[np.argmin(ends.sum(axis=1))].tolist()
    return Single(point, rival, *steps.changes(raised, lowered), ends)


def cheapest_kill(problem: Problem, point: int) -> Single | None:
    """Return the smallest count of the winner to blank away; None if that is not enough."""
    room = room_to_lower(problem, point)
    if problem.alpha or not room.any() or len(problem.weight) < 2:
        return None
    lowered = np.zeros_like(room)
    feature = int(np.argmin(np.where(room > 0, room, room.max() + 1)))
    lowered[feature] = room[feature]
    return Single(point, ANYONE, np.zeros_like(room), lowered, np.array([[0, room[feature]]]))


def single_optima(problem: Problem) -> list[list[Single]]:
    """Return for each point the optimum against every rival that can overtake, cheapest first.

    With ``alpha = 0`` the cheapest count to blank away is one of them, against ``ANYONE``. Blanking
    one away for every point is an attack, so no optimal one has more cells; what needs more is
    left out.
    """
    kills = [cheapest_kill(problem, point) for point in range(problem.n_points)]
    known = [kill for kill in kills if kill is not None]
    limit = int(union_attack(problem, known).sum()) if len(known) == len(kills) else None
    found = []
    for point, kill in enumerate(kills):
        rivals = (k for k in range(len(problem.weight)) if k != problem.winner[point])
        ways = (single_optimum(problem, point, rival, limit) for rival in rivals)
        known = [way for way in (kill, *ways) if way is not None]
        found.append(sorted(known, key=lambda way: (way.n_cells, way.rival)))
    return found


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


class Steps:
    """Numbers of raising and lowering steps that fell one point for one rival, in the orders of T5."""

    def __init__(self, problem: Problem, point: int, rival: int, limit: int | None = None) -> None:
        self.problem, self.point, self.rival = problem, point, rival
        self.alpha = problem.float_alpha
        winner = problem.weight[int(problem.winner[point])]
        self.shift = log_fraction(winner) - log_fraction(problem.weight[rival])
        down, up = room_to_lower(problem, point), room_to_raise(problem, point, rival)
        high = problem.high[point, rival]
        # With one cell left the counts are as if smoothed by 1: T5 to T8 hold all the same.
        self.kept = ((down > 0) & (problem.alpha == 0)).astype(np.int64)
        low = problem.low[point] - self.kept
        self.frontier = Frontier(
            low.tolist(),
            high.tolist(),
            int((high + up).max(where=up > 0, initial=0)),
            movable=np.flatnonzero((down > 0) | (up > 0)).tolist(),
            overtaken=self._overtaken,
        )
        self.most_raised = _at_most(self.frontier.max_raise, limit)
        self.most_lowered = _at_most(self.frontier.max_lower, limit)
        self.counts = np.sort(low[down > 0])
        self.used_up = np.concatenate([[0], np.cumsum(self.counts)])
        self.exhausting = [e for e in self.used_up.tolist() if e < self.most_lowered]
        self.exhausting.append(self.most_lowered)

    def ends(self) -> list[int]:
        """Return the raising steps where a piece of the frontier begins or ends."""
        least = self._fewest_raised(self.most_lowered, self.most_raised)
        found, start = {least, self.most_raised}, self.most_raised
        for lowered in self.exhausting:
            if start == least:
                break
            if self.falls(start, lowered):
                start = self._fewest_raised(lowered, start)
                found |= {start, max(least, start - 1)}
        return sorted(found)

    def _fewest_raised(self, n_lowered: int, at_most: int) -> int:
        return first(0, at_most, partial(self.falls, n_lowered=n_lowered))

    def fewest_lowered(self, n_raised: int) -> int:
        """Return how many lowering steps are needed beside these raising steps."""
        guess = self._guess_lowered(n_raised)
        return first_near(guess, self.most_lowered, partial(self.falls, n_raised))

    def _guess_lowered(self, n_raised: int) -> int:
        """Return the same up to rounding: lowering uses up one feature after the other."""
        left = self.alpha or 1.0
        with np.errstate(divide="ignore", invalid="ignore"):
            high = np.log(np.array(self.frontier.raised(n_raised)) + self.alpha).sum()
            need = np.log(self.problem.low[self.point] + self.alpha).sum() - high + self.shift
        losses = np.log((self.counts + left) / left)
        lost = np.concatenate([[0.0], np.cumsum(losses)])
        if not 0 < need < lost[-1]:
            return 0 if need <= 0 else self.most_lowered
        place = int(np.searchsorted(lost, need, side="right")) - 1
        part = -np.expm1(lost[place] - need) * (self.counts[place] + left)
        return int(self.used_up[place] + np.ceil(part))

    def falls(self, n_raised: int, n_lowered: int) -> bool:
        """Tell exactly whether the rival ties or beats the winner after these steps."""
        return self._overtaken(self.frontier.lowered(n_lowered), self.frontier.raised(n_raised))

    def _overtaken(self, low: list[int], high: list[int]) -> bool:
        left, right = low + self.kept, np.array(high)
        with np.errstate(divide="ignore"):
            gap = np.log(left + self.alpha).sum() - np.log(right + self.alpha).sum() + self.shift
        # Floats decide only what they surely can; a NaN, from two zero supports or from an alpha
        # that no float holds, falls through.
        if gap > UNSURE or gap < -UNSURE:
            return bool(gap < 0)
        problem, point, rival = self.problem, self.point, self.rival
        return problem.falls(
            point, rival, problem.low[point] - left, right - problem.high[point, rival]
        )

    def changes(self, n_raised: int, n_lowered: int) -> tuple[Ints, Ints]:
        """Return how far the steps raise the rival's counts and lower the winner's."""
        low = np.array(self.frontier.lowered(n_lowered)) + self.kept
        high = np.array(self.frontier.raised(n_raised))
        point = self.point
        return high - self.problem.high[point, self.rival], self.problem.low[point] - low


def _at_most(number: int, limit: int | None) -> int:
    return number if limit is None else min(number, limit)


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
