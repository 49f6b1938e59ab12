"""The ways each point can fall, as arrays: what the relaxation's rows are built from.

A *mode* of a point is a way to fall: to one rival while the winner keeps positive support (a
*pair*), or, with ``alpha = 0``, to anyone because one of the winner's counts is blanked away (a
*kill*). Modes that cost ``limit`` cells or more on their own are left out; no better attack has
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from nullproof.attacks.joint.problem import Bools, Floats, Ints, Problem, log_fraction
from nullproof.attacks.joint.single import ANYONE, Single


@dataclass(frozen=True)
class Box:
    """A part of the search space: bounds on the cells per group, and the modes still allowed."""

    lower: Ints
    upper: Ints
    allowed: Bools


@dataclass(frozen=True)
class Chords:
    """Lines above the winner's losses on a box: at ``start`` it is ``loss``, then ``slope``."""

    start: Floats
    loss: Floats
    slope: Floats


class Modes:
    """Pairs and kills, and the *takings*: what a pair takes from a group that lowers its winner."""

    def __init__(self, problem: Problem, singles: list[list[Single]], limit: int) -> None:
        self.problem, self.limit = problem, limit
        self.alpha = float(problem.alpha)
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
        self.high = problem.high[point, rival] + self.alpha
        self.room = np.zeros(self.high.shape, dtype=np.int64)
        pair, group = np.nonzero(self.able)
        np.add.at(self.room, (pair, problem.feature[group]), problem.capacity[group])
        # With alpha = 0 a count of zero has to be raised before any log of it makes sense.
        self.must = (self.room > 0) & (self.high == 0)
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
        low, point = self.problem.low, self.pair_point
        weight = np.array([log_fraction(value) for value in self.problem.weight])
        winner = np.log(low[point] + self.alpha).sum(axis=1) + weight[self.problem.winner[point]]
        rival = np.log(self.base).sum(axis=1) + weight[self.pair_rival]
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
        chord to that place; from there on the gap is all that counts. Whatever place ``reach`` is
        taken for that, the steeper of the two lines is above both parts.
        """
        last = self.most_taken(box)
        start = np.minimum(box.lower[self.take_group], last)
        loss, gap = self.loss(start), self.gap[self.take_pair]
        need = np.maximum(gap - loss, 0.0)
        count = self.take_low + self.alpha
        reach = np.ceil(count * -np.expm1(-np.clip(gap, 0.0, 700.0)) - 1e-9 * count)
        reach = np.maximum(reach, start + 1)
        far, before = np.minimum(reach, last), np.minimum(reach - 1, last)
        at_far = np.where(reach <= last, need, self.loss(far) - loss)
        slope = np.maximum(
            np.where(far > start, at_far / np.maximum(far - start, 1), 0.0),
            np.where(before > start, (self.loss(before) - loss) / np.maximum(before - start, 1), 0),
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
