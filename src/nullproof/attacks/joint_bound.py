"""How many cells every joint attack needs at least: a linear relaxation and weak duality (theory 5).

A *mode* of a point is a way to fall: to one rival while the winner keeps positive support (a *pair*),
or, with ``alpha = 0``, to anyone because one of the winner's counts is blanked away (a *kill*). Take an
optimal attack, if it has fewer than ``limit`` cells. Give each point share 1 of one mode in which it
falls, and each pair the part of its gap that lowering the winner closes, at most its share. Then
every row of the program holds, so its least value is a lower bound:

* *modes*: each point has one, or pays ``limit``, which makes every box feasible;
* *gaps*: the rival's gain and the part that lowering closes reach the gap. The gain is concave in the
  integer number of cells, so it lies below every line through two neighbouring integers;
* *losses*: each cell that lowers the winner closes at most so much of the gap, by the chord of a convex
  loss. The rivals of a point share these cells, so one row has them all: each pair is scaled by
  ``1 - exp(-gap)``, which with equal weights makes the chords of all rivals alike;
* *zeros*: with ``alpha = 0`` a rival needs one cell at least in each feature where it has none;
* *alone*: the cells that serve a point in its mode are an attack on it alone, so they are as many.

Coefficients are widened by more than their rounding error, and the bound is not the solver's: it is
recomputed from the dual solution (`certified_value`). A box whose bound is too low is split. HiGHS'
mixed-integer solver would split boxes too, but it gives no dual solution to prove its bound with.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from math import ceil, inf
from typing import Any, NamedTuple

import numpy as np

from nullproof.attacks.joint_problem import Bools, Ints, Problem
from nullproof.model.bias import Floats

# Rounds of cuts for the first box, and for all others.
ROUNDS_AT_FIRST, ROUNDS = 12, 2
# A cut is dropped when so many solutions in a row did not need it.
MAX_AGE = 30
# What is overrated by less is not worth a split.
LITTLE = 1e-6
# With more chords than this a program takes seconds; then the bound is that of some points only.
MAX_CHORDS = 4_000
# Coefficients are widened by this, far more than the rounding of logs of counts.
WIDEN = 1e-11
LEAST_GAP = 1e-9


@dataclass(frozen=True)
class Box:
    """A part of the search space: bounds on the cells per group, and the modes still allowed."""

    lower: Ints
    upper: Ints
    allowed: Bools


class Relaxed(NamedTuple):
    """A solution of the relaxation: the certified bound, the columns, and the price of each group."""

    bound: float
    cells: Floats
    share: Floats
    part: Floats
    price: Floats


class Modes:
    """Pairs and kills of some points: all, or those that need the most cells alone.

    A *lowering* is a point with a group that lowers its winner, a *chord* a pair with a lowering.
    """

    def __init__(self, problem: Problem, alone: Floats, limit: int) -> None:
        self.problem, self.limit = problem, limit
        self.points = _hardest(problem, alone)
        is_used = np.isin(np.arange(problem.n_points), self.points)
        self.pair_point, self.pair_rival = np.nonzero((alone < limit) & is_used[:, None])
        self.n_pairs = len(self.pair_point)
        self.alone = alone[self.pair_point, self.pair_rival]
        self._find_raising()
        self.low_point, self.low_group = np.nonzero((problem.lowers & is_used).T)
        feature = problem.feature[self.low_group]
        self.low_count = problem.low[self.low_point, feature]
        # With alpha = 0 the last cell is a kill, a mode of its own.
        self.low_last = self.low_count - (problem.alpha == 0)
        self.kill = np.flatnonzero((self.low_count < limit) & (problem.alpha == 0))
        self.owner = np.concatenate([self.pair_point, self.low_point[self.kill]])
        self.chord_pair, self.chord_low = np.nonzero(self.pair_point[:, None] == self.low_point)
        self.chord_size = self.low_count[self.chord_low] + problem.alpha
        self.chord_last = self.low_last[self.chord_low]
        self.chord_weight = problem.weights[feature[self.chord_low]]
        self.chord_gap = self.gap[self.chord_pair]
        # So many cells close the gap.
        share = -np.expm1(-self.chord_gap / self.chord_weight)
        self.reach = np.ceil(self.chord_size * (share - 1e-9))

    def _find_raising(self) -> None:
        problem, point, rival = self.problem, self.pair_point, self.pair_rival
        self.able = (problem.raises[:, point] & (problem.label[:, None] == rival)).T
        self.high = problem.high[point, rival] + problem.added[point]
        self.room = self.raised(problem.capacity.astype(np.float64))
        # With alpha = 0 a count of zero has to be raised before any log of it makes sense. It can be,
        # or the rival would never catch up but by a kill.
        self.must = (self.high == 0) & (self.room > 0)
        self.base = np.where(self.high == 0, 1.0, self.high)
        low, constants = problem.low[point] + problem.added[point], problem.constants
        gap = (problem.weights * (np.log(low) - np.log(self.base))).sum(axis=1)
        gap += constants[point, problem.winner[point]] - constants[point, rival]
        # A gap below the margin is as good as none.
        self.gap = np.clip(gap, LEAST_GAP, 1e3)
        self.scale = -np.expm1(-self.gap)

    def raised(self, cells: Floats) -> Floats:
        """Return how far ``cells`` raise each pair's rival, pairs × features."""
        done = np.zeros(self.high.shape)
        pair, group = np.nonzero(self.able)
        np.add.at(done, (pair, self.problem.feature[group]), cells[group])
        return done

    def closed(self, cells: Floats) -> Floats:
        """Return the part of the gap, at most 1, that so many cells close, chord by chord."""
        taken = np.minimum(cells, self.chord_last)
        loss = -self.chord_weight * np.log1p(-taken / self.chord_size)
        return np.asarray(np.minimum(loss / self.chord_gap, 1.0))

    def chords(self, box: Box) -> tuple[Floats, Floats, Floats]:
        """Return lines above the parts that cells close on ``box``.

        That is where each lowering starts, and for each chord the part there and the slope. The loss is
        convex, so up to the last place before it reaches the gap it lies below the chord to that
        place; from there on the gap is all that counts. Even if rounding moves that place (``reach``),
        the steeper of the two lines is above both parts.
        """
        last = np.minimum(box.upper[self.low_group], self.low_last)
        start = np.minimum(box.lower[self.low_group], last)
        begin, end = start[self.chord_low], last[self.chord_low]
        far, before = np.minimum(self.reach, end), np.minimum(self.reach - 1, end)
        part, at_far = self.closed(begin), np.where(self.reach <= end, 1.0, self.closed(far))
        slope = np.maximum(
            (at_far - part) / np.maximum(far - begin, 1),
            (self.closed(before) - part) / np.maximum(before - begin, 1),
        )
        return start, part, slope * (1 + WIDEN)


class Relaxation:
    """The program for a box, with the lines above the gains that have proved useful so far.

    Columns are, in this order: cells per group, share per pair, share per kill, what each point pays, and
    the part of the gap that lowering closes per pair.
    """

    def __init__(self, modes: Modes, seconds_left: Callable[[], float]) -> None:
        self.modes, self.seconds_left = modes, seconds_left
        sizes = [modes.problem.n_groups, modes.n_pairs, len(modes.kill), len(modes.points)]
        self.pair, self.kill, self.pays, self.part = np.cumsum(sizes).tolist()
        self.n_columns = self.part + modes.n_pairs
        self.margin = modes.problem.unsure
        self.cut_pair = np.zeros(0, dtype=np.int64)
        self.cut_at = np.zeros((0, modes.high.shape[1]))
        self.cut_age = np.zeros(0, dtype=np.int64)
        self.too_slow = False
        if modes.n_pairs:
            # Cut where a point alone would raise its rival: at a common level of the small counts.
            floor = np.where(modes.room > 0, modes.base, np.inf).min(axis=1)
            floor = np.where(np.isfinite(floor), floor, 1.0)
            for share in np.linspace(0.0, 1.0, 7):
                level = floor ** (1 - share) * (floor + modes.alone) ** share
                self._add_cuts(np.arange(len(floor)), level[:, None] - modes.high)

    def _add_cuts(self, pairs: Ints, raised: Floats) -> None:
        """Bound the gain of ``pairs`` by lines that touch it at ``raised``, per feature."""
        modes = self.modes
        at = np.clip(np.floor(raised), modes.must[pairs], np.maximum(modes.room, modes.must)[pairs])
        self.cut_pair = np.concatenate([self.cut_pair, pairs])
        self.cut_at = np.concatenate([self.cut_at, at])
        self.cut_age = np.concatenate([self.cut_age, np.zeros(len(pairs), dtype=np.int64)])

    def solve(self, box: Box, rounds: int) -> Relaxed:
        """Solve the relaxation on ``box``, in up to so many rounds that add violated cuts."""
        best = self._solve_once(box)
        for _ in range(rounds - 1):
            if self.seconds_left() == 0 or not self._cut_off(best):
                break
            again = self._solve_once(box)
            is_stalled = again.bound - best.bound < 1e-4 * max(1.0, best.bound)
            best = again if again.bound > best.bound else best
            if is_stalled:
                break
        return best

    def _cut_off(self, found: Relaxed) -> bool:
        """Add lines for pairs whose gain is overestimated at ``found``; return whether there are any."""
        modes, share = self.modes, found.share[: self.modes.n_pairs]
        raised = modes.raised(found.cells) / np.maximum(share, 1e-9)[:, None]
        slope, constant = self._lines()
        height = (slope * raised[self.cut_pair]).sum(axis=1) + constant
        least = np.full(len(share), np.inf)
        np.minimum.at(least, self.cut_pair, height)
        logs = np.log(np.maximum(modes.high + raised, modes.base) / modes.base)
        true = (modes.problem.weights * logs).sum(axis=1)
        pairs = np.flatnonzero((share > 1e-3) & (least > true + 1e-3))
        self._add_cuts(pairs, raised[pairs])
        return len(pairs) > 0

    def _lines(self) -> tuple[Floats, Floats]:
        """Return the cuts: lines above the gains of pairs, as slope per feature and constant."""
        modes = self.modes
        high, base = modes.high[self.cut_pair], modes.base[self.cut_pair]
        # A count of zero that cannot be raised counts as one, whatever is blanked.
        now = np.maximum(high + self.cut_at, base)
        slope = modes.problem.weights * np.log1p(1.0 / now)
        constant = modes.problem.weights * np.log(now / base) - slope * self.cut_at
        return slope, constant.sum(axis=1)

    def _solve_once(self, box: Box) -> Relaxed:
        from scipy.optimize import linprog

        matrix, right = self._rows(box)
        cost, low, high = self._columns(box)
        found = linprog(
            cost,
            A_ub=-matrix,
            b_ub=-right,
            bounds=np.column_stack([low, high]),
            method="highs-ds",
            # Half of the time is kept for the search, in case the program does not end.
            options={"time_limit": self.seconds_left() / 2, "presolve": False},
        )
        if found.status != 0:
            # Out of time or of precision: the box keeps the bound it came with.
            self.too_slow = True
            cells = box.lower.astype(np.float64)
            nothing = np.zeros(len(self.modes.owner)), np.zeros(self.modes.n_pairs)
            return Relaxed(float(cells.sum()), cells, *nothing, 0 * cells)
        duals = np.maximum(-found.ineqlin.marginals, 0.0)
        bound, price = certified_value(cost, matrix, right, (low, high), duals)
        self.cut_age = np.where(
            duals[len(duals) - len(self.cut_age) :] > 1e-12, 0, self.cut_age + 1
        )
        keep = self.cut_age <= MAX_AGE
        self.cut_pair, self.cut_at = self.cut_pair[keep], self.cut_at[keep]
        self.cut_age = self.cut_age[keep]
        cells, share = found.x[: self.pair], found.x[self.pair : self.pays]
        return Relaxed(bound, cells, share, found.x[self.part :], price[: self.pair])

    def _columns(self, box: Box) -> tuple[Floats, Floats, Floats]:
        """Return the cost, lower and upper bound of each column."""
        cost, low = np.zeros((2, self.n_columns))
        high = np.ones(self.n_columns)
        cost[: self.pair], cost[self.pays : self.part] = 1.0, self.modes.limit
        low[: self.pair], high[: self.pair] = box.lower, box.upper
        high[self.pair : self.pays] = box.allowed
        kill = self.modes.kill
        high[self.kill : self.pays] *= (
            box.upper[self.modes.low_group[kill]] >= self.modes.low_count[kill]
        )
        return cost, low, high

    def _rows(self, box: Box) -> tuple[Any, Floats]:
        """Return the matrix and the right-hand sides; the cuts come last."""
        modes, problem = self.modes, self.modes.problem
        rows, pairs = _Rows(self.n_columns), np.arange(modes.n_pairs)
        points, lowerings = np.arange(len(modes.points)), np.arange(len(modes.low_group))
        row_of = np.zeros(problem.n_points, dtype=np.int64)
        row_of[modes.points] = points
        pair_row, low_row, kill = row_of[modes.pair_point], row_of[modes.low_point], modes.kill
        share, part = self.pair + pairs, self.part + pairs
        killed, kill_count = self.kill + np.arange(len(kill)), modes.low_count[kill]
        rows.add(
            np.ones(len(points)),
            (pair_row, share, 1.0),
            (low_row[kill], killed, 1.0),
            (points, self.pays + points, 1.0),
        )
        pair, raising = np.nonzero(modes.able)
        rows.add(
            np.zeros(len(points)),
            (low_row, modes.low_group, 1.0),
            (pair_row[pair], raising, 1.0),
            (pair_row, share, -modes.alone),
            (low_row[kill], killed, -kill_count),
        )
        start, begun, slope = modes.chords(box)
        steepest, known = np.zeros(len(lowerings)), np.full(modes.n_pairs, self.margin)
        np.maximum.at(steepest, modes.chord_low, slope * modes.scale[modes.chord_pair])
        np.add.at(known, modes.chord_pair, begun * modes.scale[modes.chord_pair])
        rows.add(
            np.bincount(low_row, steepest * start, len(points)).astype(np.float64),
            (low_row, modes.low_group, steepest),
            (pair_row, share, known),
            (pair_row, part, -modes.scale),
            (low_row[kill], killed, -(steepest * (modes.low_count - start))[kill]),
        )
        rows.add(np.zeros(len(pairs)), (pairs, share, 1.0), (pairs, part, -1.0))
        rows.add(
            np.zeros(len(kill)),
            (np.arange(len(kill)), modes.low_group[kill], 1.0),
            (np.arange(len(kill)), killed, -kill_count),
        )
        # Zeros: a rival needs a cell in each feature where it has none.
        pair, feature = np.nonzero(modes.must)
        zero, group = np.nonzero(modes.able[pair] & (problem.feature == feature[:, None]))
        rows.add(np.zeros(len(pair)), (zero, group, 1.0), (np.arange(len(pair)), share[pair], -1.0))
        slopes, constant = self._lines()
        line, group = np.nonzero(modes.able[self.cut_pair])
        lines, gap = np.arange(len(self.cut_pair)), modes.gap[self.cut_pair]
        need = np.maximum(gap - constant - self.margin, 0.0)
        rows.add(
            np.zeros(len(lines)),
            (line, group, slopes[line, problem.feature[group]] * (1 + WIDEN)),
            (lines, part[self.cut_pair], gap),
            (lines, share[self.cut_pair], -need),
        )
        return rows.stacked()


class _Rows:
    """Rows of a program, block after block; the rows of a block are numbered from 0."""

    def __init__(self, n_columns: int) -> None:
        self.n_columns, self.n_rows = n_columns, 0
        self.entries: list[tuple[Ints, Ints, Floats]] = []
        self.right: list[Floats] = []

    def add(self, right: Floats, *entries: tuple[Ints, Ints, Any]) -> None:
        """Add a block with these right-hand sides; entries are rows, columns and values."""
        for row, column, value in entries:
            values = np.broadcast_to(np.asarray(value, dtype=np.float64), row.shape)
            self.entries.append((row + self.n_rows, column, values))
        self.right.append(right)
        self.n_rows += len(right)

    def stacked(self) -> tuple[Any, Floats]:
        """Return the matrix and the right-hand sides."""
        from scipy.sparse import coo_array

        row, column, value = map(np.concatenate, zip(*self.entries, strict=True))
        # The HiGHS of older SciPy takes no wide integers.
        place = row.astype("int32"), column.astype("int32")
        matrix = coo_array((value, place), shape=(self.n_rows, self.n_columns)).tocsr()
        return matrix, np.concatenate(self.right)


def certified_value(
    cost: Floats, matrix: Any, right: Floats, bounds: tuple[Floats, Floats], duals: Floats
) -> tuple[float, Floats]:
    """Return a number below ``min cost x, matrix x >= right, bounds`` whatever ``duals >= 0`` are.

    With it comes the price of each column: the number rises by at least that much per unit by which
    the column is kept above its lower bound or, if the price is negative, below its upper bound.

    Weak duality: ``cost x >= duals right + (cost - matrix' duals) x`` for every feasible ``x``, and
    the last term is least at an end of each interval. The rounding of a float sum of ``n`` terms
    is below ``n * eps`` times the sum of their sizes; twice that is taken off.
    """
    low, high = bounds
    eps = 2.0 * float(np.finfo(np.float64).eps)
    reduced = cost - matrix.T @ duals
    length = np.diff(matrix.tocsc().indptr) + 3
    unsure = eps * length * (np.abs(cost) + abs(matrix).T @ duals)
    far = np.maximum(np.abs(low), np.abs(high))
    ends = np.minimum(reduced * low, reduced * high)
    value = float(duals @ right + ends.sum() - (unsure * far).sum())
    size = float(np.abs(duals * right).sum() + np.abs(ends).sum())
    price = np.sign(reduced) * np.maximum(np.abs(reduced) - unsure, 0.0)
    return value - eps * (len(cost) + len(right) + 8) * (size + 1.0), price


class Tree:
    """The open boxes, best bound first.

    An optimal attack with fewer than ``limit`` cells lies in one of the open boxes, so the least
    certified bound among them, or ``limit`` if none is left, bounds the optimum from below.
    """

    def __init__(
        self, problem: Problem, alone: Floats, limit: int, seconds_left: Callable[[], float]
    ) -> None:
        self.problem, self.limit, self.ticket = problem, limit, count()
        self.modes = Modes(problem, alone, limit)
        self.relaxation = Relaxation(self.modes, seconds_left)
        # How much it matters that a point mixes modes.
        self.alone = np.zeros(problem.n_points)
        self.alone[self.modes.points] = alone.min(axis=1)[self.modes.points]
        self.floor, self.leaf, self.n_boxes = float(self.alone.max()), float(limit), 0
        box = Box(
            lower=np.zeros(problem.n_groups, dtype=np.int64),
            upper=np.minimum(problem.capacity, limit - 1),
            allowed=np.ones(len(self.modes.owner), dtype=bool),
        )
        self.open: list[tuple[float, int, Box]] = [(self.floor, next(self.ticket), box)]

    @property
    def bound(self) -> int:
        """Cells that every attack needs at least."""
        least = min(self.open[0][0] if self.open else inf, self.leaf)
        # Relaxations speak of attacks with fewer cells than the limit; others have as many at least.
        return ceil(min(max(least, self.floor), self.limit))

    @property
    def done(self) -> bool:
        """Whether no open box can hold a better attack, or the program is too slow to find out."""
        return self.bound >= min(self.limit, self.leaf) or self.relaxation.too_slow

    def step(self) -> Floats:
        """Solve and split the box with the least bound; return the cells of its solution.

        The box leaves the heap only after its parts are in, so an interrupt at any time leaves a
        heap that still covers every better attack.
        """
        bound, _, box = self.open[0]
        self.n_boxes += 1
        found = self.relaxation.solve(box, ROUNDS_AT_FIRST if self.n_boxes == 1 else ROUNDS)
        box, bound = self._tightened(box, found), max(bound, found.bound)
        for part in self._parts(box, found, bound):
            heapq.heappush(self.open, (bound, next(self.ticket), part))
        heapq.heappop(self.open)
        return found.cells

    def _tightened(self, box: Box, found: Relaxed) -> Box:
        """Return the part of a box in which prices leave room for a better attack."""
        # One cell fewer than the best known; the rest is far above the rounding of these lines.
        slack = max(self.limit - 1 - found.bound, 0.0) + 1e-6
        price = found.price
        with np.errstate(divide="ignore"):
            steps = np.minimum(slack / np.abs(price), 1e15).astype(np.int64)
        upper = np.where(price > 0, np.minimum(box.upper, box.lower + steps), box.upper)
        lower = np.where(price < 0, np.maximum(box.lower, box.upper - steps), box.lower)
        return Box(lower, upper, box.allowed)

    def _parts(self, box: Box, found: Relaxed, bound: float) -> list[Box]:
        """Split a box that may hold a better attack; one with a single member is decided exactly."""
        if ceil(bound) >= self.limit or (box.lower > box.upper).any():
            return []
        width = box.upper - box.lower
        if not width.any():
            if self.problem.succeeds(box.lower):
                self.leaf = min(self.leaf, float(box.lower.sum()))
            return []
        if self.relaxation.too_slow:
            return [box]
        # Split where the relaxation errs most: in a group, or in a point that mixes modes.
        excess, top = self._excess(box, found), np.zeros(self.problem.n_points)
        group, owner = int(np.argmax(excess)), self.modes.owner
        np.maximum.at(top, owner, found.share)
        point = int(np.argmax((1 - top) * self.alone))
        if 1 - top[point] > max(excess[group], LITTLE):
            # The point uses its main mode alone, or not at all.
            mode = np.arange(len(owner)) == np.argmax(np.where(owner == point, found.share, -1.0))
            others = (owner == point) & ~mode
            return [replace(box, allowed=box.allowed & ~gone) for gone in (others, mode)]
        if excess[group] <= LITTLE:
            off = np.where(width > 0, np.abs(found.cells - np.round(found.cells)), -1.0)
            group = int(np.argmax(off if off.max() > LITTLE else width))
        return _split_group(group, float(found.cells[group]), box)

    def _excess(self, box: Box, found: Relaxed) -> Floats:
        """Return by how much the relaxation overrates what each group does to winners."""
        modes = self.modes
        start, part, slope = modes.chords(box)
        cells, excess = found.cells[modes.low_group], np.zeros(self.problem.n_groups)
        pair, lowering = modes.chord_pair, modes.chord_low
        claimed = np.minimum(part + slope * (cells - start)[lowering], 1.0)
        claimed *= found.share[pair]
        # Often a pair uses only a part of what the chords allow.
        most = np.maximum(np.bincount(pair, claimed, modes.n_pairs), 1e-9)
        claimed *= np.minimum(found.part / most, 1.0)[pair]
        true = found.share[pair] * modes.closed(cells[lowering])
        np.add.at(excess, modes.low_group[lowering], np.maximum(claimed - true, 0.0))
        is_alive = cells[modes.kill] < modes.low_count[modes.kill] - 1e-6
        np.add.at(excess, modes.low_group[modes.kill], found.share[modes.n_pairs :] * is_alive)
        excess[box.upper <= box.lower] = 0.0
        return excess


def _split_group(group: int, value: float, box: Box) -> list[Box]:
    """Split at what the relaxation takes of a group, but leave no part much smaller than the other."""
    low, high = int(box.lower[group]), int(box.upper[group])
    cut = int(np.clip(ceil(value - 1e-6), low + max(1, (high - low) // 5), high))
    upper, lower = box.upper.copy(), box.lower.copy()
    upper[group], lower[group] = cut - 1, cut
    return [replace(box, upper=upper), replace(box, lower=lower)]


def _hardest(problem: Problem, alone: Floats) -> Ints:
    """Return points whose program is small enough: all, or those that need the most cells alone."""
    sizes = problem.lowers.sum(axis=0) * np.isfinite(alone).sum(axis=1)
    order = np.argsort(-alone.min(axis=1), kind="stable")
    fits = np.cumsum(sizes[order]) <= MAX_CHORDS
    fits[0] = True
    return np.sort(order[fits])
