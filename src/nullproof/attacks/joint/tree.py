"""Branch and bound: how many cells every joint attack needs at least (theory 5).

A box whose relaxation is too cheap is made smaller in three ways, each of which keeps every better
attack. *Prices*: the duals say what a cell of a group costs at least, so what costs more than is left
below the best known attack is out. *Probes*, for the whole tree: a relaxation with at least so many
cells of a group may show that no better attack has them. *Splits*, of a group's cells or of a point's
modes: a few are tried, and the one whose parts have the best bounds is made.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from math import ceil, inf

import numpy as np

from nullproof.attacks.joint.effort import Watch
from nullproof.attacks.joint.modes import Box, Modes, Single, union_attack
from nullproof.attacks.joint.problem import Problem
from nullproof.attacks.joint.relaxation import Relaxation, Relaxed
from nullproof.model.bias import Floats

# Rounds of cuts for the first box, after its probes, and for all others.
ROUNDS_AT_FIRST, ROUNDS_PROBED, ROUNDS = 12, 6, 2
# The first box is probed again while that raises the bound by so much, up to a share of the time.
WORTH_PROBING = 1.005
PROBING = 0.6
# Splits tried per box.
TRIED = 3
# What is overrated by less is not worth a split.
LITTLE = 1e-6
# A program with more takings than this takes seconds; then the bound is that of some points only.
MAX_TAKINGS = 4_000
# A bound of a box, and the box.
Part = tuple[float, Box]
# Gives the parts of a box.
Split = Callable[[Box], list[Box]]


def hardest(problem: Problem, singles: list[list[Single]]) -> list[int]:
    """Return points whose program is small: all, or those whose single attacks share least."""
    lowered = problem.lowers.sum(axis=0)
    size = [len(found) * int(lowered[point]) for point, found in enumerate(singles)]
    points: list[int] = []
    left = set(range(len(singles)))
    while left:
        union = {
            p: int(union_attack(problem, [singles[q][0] for q in (*points, p)]).sum()) for p in left
        }
        point = max(sorted(left), key=union.__getitem__)
        left.remove(point)
        if not points or sum(size[q] for q in (*points, point)) <= MAX_TAKINGS:
            points.append(point)
    return sorted(points)


class Tree:
    """The open boxes, best bound first.

    An optimal attack with fewer than ``limit`` cells lies in one of the open boxes, so the least
    certified bound among them, or ``limit`` if none is left, bounds the optimum from below.
    """

    def __init__(
        self, problem: Problem, singles: list[list[Single]], limit: int, watch: Watch
    ) -> None:
        points = hardest(problem, singles)
        # Who fells all points fells these.
        problem = problem.part(points)
        singles = [[replace(s, point=i) for s in singles[p]] for i, p in enumerate(points)]
        self.problem, self.limit, self.watch = problem, limit, watch
        self.modes = Modes(problem, singles, limit)
        self.relaxation = Relaxation(self.modes, watch)
        self.ticket = count()
        self.open: list[tuple[float, int, Box]] = []
        # The fewest cells of an attack met as a box with one member.
        self.leaf = float(limit)
        self.alone = np.array([found[0].n_cells for found in singles], dtype=np.float64)
        self.floor = float(self.alone.max())
        box = Box(
            lower=np.zeros(problem.n_groups, dtype=np.int64),
            upper=np.minimum(problem.capacity, limit - 1),
            allowed=np.ones(self.modes.n_modes, dtype=bool),
        )
        self.n_boxes = 0
        self._push(self.floor, box)

    @property
    def bound(self) -> int:
        """Cells that every attack needs at least."""
        least = min(self.open[0][0] if self.open else inf, self.leaf)
        # Relaxations speak of attacks with fewer cells than the limit; others have as many at least.
        return ceil(min(max(least, self.floor), self.limit))

    @property
    def done(self) -> bool:
        """Whether no open box can hold a better attack."""
        return self.bound >= min(self.limit, self.leaf)

    def lower_limit(self, limit: int) -> None:
        """Tell that an attack with ``limit`` cells is known."""
        self.limit = min(self.limit, limit)

    def step(self) -> Relaxed:
        """Solve and split the box with the least bound.

        The box leaves the heap only after its parts are in, so an interrupt at any time leaves a
        heap that still covers every better attack.
        """
        bound, _, box = self.open[0]
        self.n_boxes += 1
        first = self.n_boxes == 1
        found = self.relaxation.solve(box, rounds=ROUNDS_AT_FIRST if first else ROUNDS)
        box, bound = self._tightened(box, found), max(bound, found.bound)
        if first:
            # What the first box gives holds whatever becomes of its probes.
            self.floor = max(self.floor, bound)
            box, found = self._probed(box, found)
            bound = max(bound, found.bound)
        for own, part in self._parts(box, found, bound):
            self._push(max(own, bound), part)
        heapq.heappop(self.open)
        return found

    def _push(self, bound: float, box: Box) -> None:
        heapq.heappush(self.open, (bound, next(self.ticket), box))

    def _parts(self, box: Box, found: Relaxed, bound: float) -> list[Part]:
        """Split a box that may hold a better attack; one with a single member is decided exactly."""
        if ceil(bound) >= self.limit:
            return []
        if np.array_equal(box.lower, box.upper):
            if self.problem.succeeds(box.lower):
                self.leaf = min(self.leaf, float(box.lower.sum()))
            return []
        splits = self._splits(box, found)
        if splits:
            return self._best_split(box, bound, splits)
        return [(bound, part) for part in self._split_fraction(box, found.cells)]

    def _splits(self, box: Box, found: Relaxed) -> list[Split]:
        """Return ways to split a box where its relaxation errs most: in groups, and in mixed modes."""
        excess = self._excess(box, found)
        groups = [group for group in np.argsort(-excess)[:TRIED].tolist() if excess[group] > LITTLE]
        splits: list[Split] = [
            partial(_split_group, group, float(found.cells[group])) for group in groups
        ]
        mode = self._mixed_mode(found)
        return splits if mode is None else [*splits, partial(self._split_mode, mode)]

    def _tightened(self, box: Box, found: Relaxed) -> Box:
        """Return the part of a box in which prices leave room for a better attack."""
        # One cell fewer than the best known; the rest is far above the rounding of these lines.
        slack = max(self.limit - 1 - found.bound, 0.0) + 1e-6
        price, use = np.split(found.price, [self.problem.n_groups])
        with np.errstate(divide="ignore"):
            steps = np.minimum(slack / np.abs(price), 1e15).astype(np.int64)
        upper = np.where(price > 0, np.minimum(box.upper, box.lower + steps), box.upper)
        lower = np.where(price < 0, np.maximum(box.lower, box.upper - steps), box.lower)
        return Box(lower, upper, box.allowed & (use <= slack))

    def _probed(self, box: Box, found: Relaxed) -> tuple[Box, Relaxed]:
        """Ask for each group how many of its cells a better attack has at most, while that helps."""
        before = 0.0
        while found.bound > WORTH_PROBING * before and not self._hurried():
            before = found.bound
            excess = self._excess(box, found)
            for group in np.argsort(-excess).tolist():
                if excess[group] <= LITTLE or self._hurried():
                    break
                upper = box.upper.copy()
                upper[group] = self._most(box, group, float(found.cells[group]))
                box = Box(box.lower, upper, box.allowed)
            found = self.relaxation.solve(box, rounds=ROUNDS_PROBED)
            box = self._tightened(box, found)
        return box, found

    def _hurried(self) -> bool:
        return self.relaxation.too_slow or self.watch.late(PROBING)

    def _most(self, box: Box, group: int, value: float) -> int:
        """Return how many cells of a group a better attack in the box has at most."""
        low, high = int(box.lower[group]), int(box.upper[group])
        cut = max((int(value) + high) // 2, low + 1)
        if cut > high:
            return high
        part = _at_least(box, group, cut)
        found = self.relaxation.solve(part)
        if ceil(found.bound) >= self.limit:
            return cut - 1
        return int(self._tightened(part, found).upper[group])

    def _best_split(self, box: Box, bound: float, splits: list[Split]) -> list[Part]:
        """Try some splits, and return the parts whose bounds are best.

        Where only one part can hold a better attack, the box becomes that part and waits for its own
        solution before it is split.
        """
        best, top = [(bound, box)], -1.0
        for split in splits:
            if self.relaxation.too_slow or self.watch.late():
                break
            parts = [*self._open_parts(split(box))]
            if not parts:
                return []
            if len(parts) == 1:
                best, top, box = parts, inf, parts[0][1]
                continue
            # A part's own bound may be below its box's: cuts that were not needed are gone.
            least, most = sorted(max(own, bound) for own, _ in parts)
            score = least + most / 10
            if score > top:
                best, top = parts, score
        return best

    def _open_parts(self, boxes: list[Box]) -> Iterator[Part]:
        """Give those boxes that may hold a better attack, tightened, with their bounds."""
        for box in boxes:
            found = self.relaxation.solve(box)
            if ceil(found.bound) < self.limit:
                yield found.bound, self._tightened(box, found)

    def _excess(self, box: Box, found: Relaxed) -> Floats:
        """Return by how much the relaxation overrates what each group does to winners."""
        modes, chords = self.modes, self.modes.chords(box)
        claimed = np.zeros((self.problem.n_groups, self.problem.n_points))
        true = np.zeros_like(claimed)
        gap = np.maximum(modes.gap[modes.take_pair], 1e-9)
        pair_share, kill_share = np.split(found.share, [modes.n_pairs])
        share = pair_share[modes.take_pair]
        part = (chords.loss - chords.slope * chords.start) * share + chords.slope * found.taken
        cells = np.minimum(found.cells[modes.take_group], modes.take_last)
        take, kill = (modes.take_group, modes.take_point), (modes.kill_group, modes.kill_point)
        np.add.at(claimed, take, np.minimum(part / gap, share))
        np.add.at(true, take, np.minimum(modes.loss(cells) / gap, 1.0) * share)
        np.add.at(claimed, kill, kill_share)
        dead = found.cells[modes.kill_group] >= modes.kill_count - 1e-6
        np.add.at(true, kill, kill_share * dead)
        excess = np.maximum(claimed - true, 0.0).sum(axis=1)
        excess[box.upper <= box.lower] = 0.0
        return np.asarray(excess, dtype=np.float64)

    def _mixed_mode(self, found: Relaxed) -> int | None:
        """Return the main mode of the point for which mixing modes may save most; None if none does."""
        owner, n_points = self.modes.owner, self.problem.n_points
        top = np.zeros(n_points)
        np.maximum.at(top, owner, found.share)
        point = int(np.argmax((1 - top) * self.alone))
        if top[point] > 1 - LITTLE:
            return None
        return int(np.argmax(np.where(owner == point, found.share, -1.0)))

    def _split_mode(self, mode: int, box: Box) -> list[Box]:
        """Let the mode's point use it alone, or not at all."""
        others = self.modes.owner == self.modes.owner[mode]
        others[mode] = False
        this = np.arange(len(others)) == mode
        return [Box(box.lower, box.upper, box.allowed & ~gone) for gone in (others, this)]

    def _split_fraction(self, box: Box, cells: Floats) -> list[Box]:
        """Split at the group that is farthest from a whole number, or else at the widest."""
        width = box.upper - box.lower
        off = np.where(width > 0, np.abs(cells - np.round(cells)), -1.0)
        group = int(np.argmax(off if off.max() > LITTLE else width))
        return _split_group(group, float(cells[group]), box)


def _split_group(group: int, value: float, box: Box) -> list[Box]:
    """Split at what the relaxation takes of a group, but leave no part much smaller than the other."""
    low, high = int(box.lower[group]), int(box.upper[group])
    if low >= high:
        return [box]
    cut = int(np.clip(ceil(value - 1e-6), low + max(1, (high - low) // 5), high))
    left = box.upper.copy()
    left[group] = cut - 1
    return [Box(box.lower, left, box.allowed), _at_least(box, group, cut)]


def _at_least(box: Box, group: int, count: int) -> Box:
    lower = box.lower.copy()
    lower[group] = count
    return Box(lower, box.upper, box.allowed)
