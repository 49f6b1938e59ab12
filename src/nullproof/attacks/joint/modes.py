"""The ways each point can fall, as arrays: what the relaxation's rows are built from.

A *mode* of a point is a way to fall: to one rival while the winner keeps positive support (a
*pair*), or, with ``alpha = 0``, to anyone because one of the winner's counts is blanked away (a
*kill*). Modes that cost ``limit`` cells or more on their own are left out; no better attack has
them. `single_optima` finds what each mode costs alone (theory 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from nullproof.attacks.joint.problem import Bools, Ints, Problem
from nullproof.model.bias import Floats
from nullproof.radii.frontier import Frontier
from nullproof.radii.limited import LimitedFrontier
from nullproof.radii.splits import Side

# The rival of a point that falls because one of its winner's counts is blanked away.
ANYONE = -1


@dataclass(frozen=True)
class Single:
    """Fewest cells with which ``rival`` overtakes the winner of ``point``, per feature."""

    point: int
    rival: int
    raised: Ints
    lowered: Ints
    # The corners of the frontier: numbers of raising and of lowering steps.
    ends: Ints

    @property
    def n_cells(self) -> int:
        """Number of cells blanked."""
        return int(self.raised.sum() + self.lowered.sum())


@dataclass(frozen=True)
class Box:
    """A part of the search space: bounds on the cells per group, and the modes still allowed."""

    lower: Ints
    upper: Ints
    allowed: Bools


@dataclass(frozen=True)
class Chords:
    """Lines above the winner's losses on a box: ``loss`` at ``start``, rising by ``slope`` from there."""

    start: Floats
    loss: Floats
    slope: Floats


class Modes:
    """Pairs and kills, and the *takings*: what a pair takes from a group that lowers its winner."""

    def __init__(self, problem: Problem, singles: list[list[Single]], limit: int) -> None:
        self.problem, self.limit = problem, limit
        self.alpha = problem.alpha
        pairs = [s for found in singles for s in found if s.n_cells < limit and s.rival != ANYONE]
        self.pair_point = np.array([s.point for s in pairs], dtype=np.int64)
        self.pair_rival = np.array([s.rival for s in pairs], dtype=np.int64)
        self.alone = np.array([s.n_cells for s in pairs], dtype=np.float64)
        self._find_facets(pairs)
        self._find_raising()
        at = np.full(problem.low.shape, -1, dtype=np.int64)
        group, point = np.nonzero(problem.lowers)
        at[point, problem.feature[group]] = group
        self._find_takings(at)
        self._find_kills(at)
        self.gap = self._gaps()
        self.owner = np.concatenate([self.pair_point, self.kill_point])

    @property
    def n_pairs(self) -> int:
        """Number of pairs of a point and a rival."""
        return len(self.pair_point)

    @property
    def n_modes(self) -> int:
        """Number of modes: pairs first, then kills."""
        return len(self.owner)

    def _find_facets(self, pairs: list[Single]) -> None:
        lines = [(pair, *line) for pair, s in enumerate(pairs) for line in lower_hull(s.ends)]
        found = np.array(lines, dtype=np.float64).reshape(-1, 3)
        self.facet_pair = found[:, 0].astype(np.int64)
        self.facet_slope, self.facet_need = found[:, 1], found[:, 2]
        self.least_raised = np.array([s.ends[0, 0] for s in pairs], dtype=np.float64)

    def _find_raising(self) -> None:
        problem, point, rival = self.problem, self.pair_point, self.pair_rival
        self.able = (problem.raises[:, point] & (problem.label[:, None] == rival)).T
        self.high = problem.high[point, rival] + problem.added[point]
        self.room = np.zeros(self.high.shape, dtype=np.int64)
        pair, group = np.nonzero(self.able)
        np.add.at(self.room, (pair, problem.feature[group]), problem.capacity[group])
        # With alpha = 0 a count of zero has to be raised before any log of it makes sense. It can be,
        # or the rival would never overtake.
        self.must = self.high == 0
        self.base = np.where(self.must, 1.0, self.high)

    def _find_takings(self, at: Ints) -> None:
        self.take_pair, feature = np.nonzero(at[self.pair_point] >= 0)
        self.take_point = self.pair_point[self.take_pair]
        self.take_group = at[self.take_point, feature]
        self.take_low = self.problem.low[self.take_point, feature].astype(np.float64)
        # With alpha = 0 the last cell is a kill, a mode of its own.
        self.take_last = self.take_low - (1 if self.problem.alpha == 0 else 0)

    def _find_kills(self, at: Ints) -> None:
        point, feature = np.nonzero(at >= 0)
        count = self.problem.low[point, feature]
        worth = (count < self.limit) & (self.problem.alpha == 0)
        self.kill_point, self.kill_group = point[worth], at[point, feature][worth]
        self.kill_count = count[worth].astype(np.float64)

    def _gaps(self) -> Floats:
        """Return how far the log support of each pair's rival lies below the winner's."""
        problem, point = self.problem, self.pair_point
        weight, low = problem.log_weights, problem.low[point] + problem.added[point]
        winner = np.log(low).sum(axis=1) + weight[point, problem.winner[point]]
        rival = np.log(self.base).sum(axis=1) + weight[point, self.pair_rival]
        return np.asarray(winner - rival, dtype=np.float64)

    def raised(self, cells: Floats) -> Floats:
        """Return how far ``cells`` raise each pair's rival, pairs x features."""
        done = np.zeros(self.high.shape)
        pair, group = np.nonzero(self.able)
        np.add.at(done, (pair, self.problem.feature[group]), cells[group])
        return done

    def loss(self, taken: Floats) -> Floats:
        """Return the winner's loss in log support when each taking has this size."""
        # Subtracting counts before adding alpha keeps a small alpha's digits.
        after = np.log(self.take_low - taken + self.alpha)
        return np.asarray(np.log(self.take_low + self.alpha) - after, dtype=np.float64)

    def most_taken(self, box: Box) -> Floats:
        """Return the most that each taking can be on ``box``."""
        return np.minimum(box.upper[self.take_group], self.take_last)

    def chords(self, box: Box) -> Chords:
        """Return lines above the losses on ``box``, cut off at the gap of their pair.

        The loss is convex, so up to the last place before it reaches the gap it lies below the
        chord to that place; from there on the gap is all that counts. Even if rounding moves that
        place (``reach``), the steeper of the two lines is above both parts.
        """
        last = self.most_taken(box)
        start = np.minimum(box.lower[self.take_group], last)
        loss, gap = self.loss(start), self.gap[self.take_pair]
        need = np.maximum(gap - loss, 0.0)
        count = self.take_low + self.alpha
        reach = np.ceil(count * -np.expm1(-np.maximum(gap, 0.0)) - 1e-9 * count)
        far, before = np.minimum(reach, last), np.minimum(reach - 1, last)
        at_far = np.where(reach <= last, need, self.loss(far) - loss)
        slope = np.maximum(
            at_far / np.maximum(far - start, 1),
            (self.loss(before) - loss) / np.maximum(before - start, 1),
        )
        return Chords(start, loss, slope)


def lower_hull(ends: Ints) -> list[tuple[float, float]]:
    """Return lines ``b >= need - slope * a`` below a frontier with these ends of pieces.

    Between two ends the frontier is the ceiling of a concave function (T8) that lies less than
    one below the ends themselves; so it is above all lines below the ends lowered by one.
    """
    hull: list[tuple[int, int]] = []
    for a, b in ((int(a), max(0, int(b) - 1)) for a, b in ends):
        while len(hull) > 1 and _turns_down(hull[-2], hull[-1], (a, b)):
            hull.pop()
        hull.append((a, b))
    lines = []
    for (a, b), (c, d) in pairwise(hull):
        if b > d:
            lines.append(((b - d) / (c - a), b + (b - d) / (c - a) * a))
    return [*lines, (0.0, float(hull[-1][1]))]


def _turns_down(one: tuple[int, int], two: tuple[int, int], three: tuple[int, int]) -> bool:
    (a, b), (c, d), (e, f) = one, two, three
    return (d - b) * (e - a) >= (f - b) * (c - a)


def single_optima(problem: Problem) -> list[list[Single]]:
    """Return for each point the optimum against every rival that can overtake, cheapest first.

    With ``alpha = 0`` the cheapest count to blank away is one of them, against ``ANYONE``. Blanking
    one away for every point is an attack, so no optimal one has more cells; what needs more is
    left out.
    """
    kills = [_cheapest_kill(problem, point) for point in range(problem.n_points)]
    known = [kill for kill in kills if kill is not None]
    limit = int(union_attack(problem, known).sum()) if len(known) == len(kills) else None
    found = []
    for point, kill in enumerate(kills):
        rivals = (k for k in range(problem.n_labels) if k != problem.winner[point])
        ways = (Pair(problem, point, rival).optimum(limit) for rival in rivals)
        known = [way for way in (kill, *ways) if way is not None]
        found.append(sorted(known, key=lambda way: (way.n_cells, way.rival)))
    return found


def _cheapest_kill(problem: Problem, point: int) -> Single | None:
    """Return the smallest count of the winner to blank away; None if that is not enough."""
    low = problem.low[point]
    # Cells out of reach may keep a count above zero.
    can_go = problem.movable[point] & (problem.room[point] == low)
    if problem.alpha or not can_go.any():
        return None
    lowered = np.zeros_like(low)
    feature = int(np.argmin(np.where(can_go, low, low.max() + 1)))
    lowered[feature] = low[feature]
    return Single(point, ANYONE, np.zeros_like(low), lowered, np.array([[0, low[feature]]]))


def union_attack(problem: Problem, singles: list[Single]) -> Ints:
    """Blank the cells of all ``singles``; they share cells because each takes them in one order."""
    cells = np.zeros((len(singles), problem.n_groups), dtype=np.int64)
    for own, single in zip(cells, singles, strict=True):
        lowers = problem.lowers[:, single.point]
        raises = problem.raises[:, single.point] & (problem.label == single.rival)
        for wanted, able in ((single.lowered, lowers), (single.raised, raises)):
            left = wanted.copy()
            for group in np.flatnonzero(able):
                feature = problem.feature[group]
                own[group] = min(left[feature], problem.capacity[group])
                left[feature] -= own[group]
    return np.asarray(cells.max(axis=0, initial=0))


class Pair:
    """One point and one rival: its frontier, with floats to sort out the clear cases.

    The winner keeps positive support; blanking a count away altogether is a kill.
    """

    def __init__(self, problem: Problem, point: int, rival: int) -> None:
        self.problem, self.point, self.rival = problem, point, rival
        self.low, self.high = problem.low[point], problem.high[point, rival]
        self.alpha, weight = problem.alpha, problem.log_weights[point]
        self.added = problem.added[point]
        self.shift = float(weight[problem.winner[point]]) - float(weight[rival])
        movable = np.flatnonzero(problem.movable[point])
        # With one cell left the counts are as if smoothed by 1: T5 to T8 hold all the same.
        self.kept = (problem.movable[point] & (self.alpha == 0)).astype(np.int64)
        self.frontier = Frontier(
            (self.low - self.kept).tolist(),
            self.high.tolist(),
            int(problem.model.index.label_counts[rival]),
            movable=movable.tolist(),
            overtaken=self._overtaken,
        )
        self.counts = np.sort((self.low - self.kept)[movable])
        self.used_up = np.concatenate([[0], np.cumsum(self.counts)])

    def optimum(self, limit: int | None = None) -> Single | None:
        """Return the cheapest way for the rival to overtake; None if there is none.

        Ways that raise or lower by more than ``limit`` are left out.
        """
        corners = self.frontier.corners(self._guess_lowered, limit)
        if not corners:
            return None
        ends = np.array(corners, dtype=np.int64)
        if self.problem.limited:
            return self._within_limits(ends, limit)
        n_raised, n_lowered = ends[np.argmin(ends.sum(axis=1))].tolist()
        raised = np.array(self.frontier.raised(n_raised)) - self.high
        lowered = self.low - (np.array(self.frontier.lowered(n_lowered)) + self.kept)
        return Single(self.point, self.rival, raised, lowered, ends)

    def _within_limits(self, ends: Ints, limit: int | None) -> Single | None:
        """The cheapest way with the cells within reach; without limits the corners are lower still."""
        problem = self.problem
        label = int(problem.winner[self.point])
        room = np.clip(self.low - self.kept, 0, problem.room[self.point])
        winner = Side(label, self.low.tolist(), room.tolist())
        room = problem.raised(problem.capacity)[self.point, self.rival]
        rival = Side(self.rival, self.high.tolist(), room.tolist())
        attacks = LimitedFrontier(problem.model, winner, rival)
        steps = attacks.fewest(1, limit)
        after = None if steps is None else attacks.after(sum(steps))
        if after is None:
            return None
        low, high = (np.array(counts) for counts in after)
        return Single(self.point, self.rival, high - self.high, self.low - low, ends)

    def _guess_lowered(self, n_raised: int) -> int:
        """Return, up to rounding, how many lowering steps are needed beside these raising steps."""
        left = self.alpha or 1.0
        with np.errstate(divide="ignore", invalid="ignore"):
            high = np.log(np.array(self.frontier.raised(n_raised)) + self.added).sum()
            need = np.log(self.low + self.added).sum() - high + self.shift
        losses = np.log((self.counts + left) / left)
        lost = np.concatenate([[0.0], np.cumsum(losses)])
        if not 0 < need < lost[-1]:
            return 0 if need <= 0 else int(self.used_up[-1])
        place = int(np.searchsorted(lost, need, side="right")) - 1
        part = -np.expm1(lost[place] - need) * (self.counts[place] + left)
        return int(self.used_up[place] + np.ceil(part))

    def _overtaken(self, low: list[int], high: list[int]) -> bool:
        left, right = low + self.kept, np.array(high)
        with np.errstate(divide="ignore"):
            gap = np.log(left + self.added).sum() - np.log(right + self.added).sum() + self.shift
        # Floats decide only what they surely can; a NaN, from two zero supports or from an alpha
        # that no float holds, falls through.
        if abs(gap) > self.problem.unsure:
            return bool(gap < 0)
        return self.problem.falls(self.point, self.rival, left, right)
