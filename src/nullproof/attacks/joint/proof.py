"""Search and proof side by side: an attack on all points, and how far it can be from the best.

The two help each other. The search's attack prunes the tree; each relaxation solved in the tree is
a suggestion that the search completes and trims. Both need logarithms of counts; where the smoothing
is beyond all floats, the union of the single attacks is trimmed by exact tests instead, and the bound
is the largest of them.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from math import ceil

import numpy as np

from nullproof.attacks.joint.effort import Effort, Watch
from nullproof.attacks.joint.modes import Box, Modes, Single, single_optima, union_attack
from nullproof.attacks.joint.problem import Ints, Problem
from nullproof.attacks.joint.relaxation import Relaxation, Relaxed
from nullproof.attacks.joint.search import Search
from nullproof.radii.frontier import first

# Steps of the search before the first box of the tree, and at most between two boxes.
STEPS_AT_FIRST = 30
STEPS_BETWEEN = 8
FEW_POINTS = 6

# Called with the best number of cells, the bound, and the share of the time or rounds that is spent.
Found = Callable[[int, int, float], None]


def solve(
    problem: Problem,
    *,
    effort: Effort,
    seed: int = 0,
    on_progress: Found | None = None,
) -> tuple[Ints, int]:
    """Look for the fewest cells that fell every point, until proven, interrupted or out of time.

    Gives the cells per group and a proven lower bound. With a number of rounds in ``effort`` the
    answer depends on ``seed`` alone.
    """
    watch = effort.begin()
    singles = single_optima(problem)
    start = union_attack(problem, [found[0] for found in singles])
    work = _Work(problem, singles, start, seed, on_progress)
    # The best attack and the bound so far are complete and true at any time.
    with suppress(KeyboardInterrupt):
        work.run(watch)
    return work.result()


class _Work:
    """The search and the tree, and what they have found."""

    def __init__(
        self,
        problem: Problem,
        singles: list[list[Single]],
        start: Ints,
        seed: int,
        on_progress: Found | None,
    ) -> None:
        self.problem, self.singles, self.start = problem, singles, start
        self.seed, self.on_progress = seed, on_progress
        self.search: Search | None = None
        self._spent = 0.0
        self.bound = max((found[0].n_cells for found in singles), default=0)

    @property
    def best(self) -> Ints:
        return self.start if self.search is None else self.search.best

    def run(self, watch: Watch) -> None:
        if not self.problem.floats_hold:
            self._shrink(watch)
            return
        search = Search(self.problem, self.start, self.singles, self.seed)
        self.search = search
        self._walk(search, STEPS_AT_FIRST, watch, share=0.3)
        if self._proven() or watch.late():
            return
        tree = Tree(self.problem, self.singles, search.n_cells, watch)
        # With few points there is little to find and much to prove.
        least = 1 if self.problem.n_points <= FEW_POINTS else STEPS_BETWEEN // 2
        done, steps = 0, STEPS_BETWEEN
        while not self._proven() and not watch.over(done):
            before = search.n_cells
            if not tree.relaxation.too_slow:
                self._prove(tree, search, watch)
            self._walk(search, steps, watch)
            # A search that finds nothing more leaves its time to the proof.
            steps = STEPS_BETWEEN if search.n_cells < before else max(least, steps // 2)
            tree.lower_limit(search.n_cells)
            self.bound = max(self.bound, tree.bound)
            done += 1
            self._report(watch.spent(done))

    def _shrink(self, watch: Watch) -> None:
        """Give back what no point needs, one group after the other, by exact tests alone."""
        for group in np.flatnonzero(self.start).tolist():
            if self._proven() or watch.late():
                return
            self.start = _trimmed(self.problem, self.start, group)
            self._report(watch.spent(0))

    def _prove(self, tree: Tree, search: Search, watch: Watch) -> None:
        """Raise the bound, and let the search make an attack of the relaxation's solution."""
        found = tree.step()
        self.bound = max(self.bound, tree.bound)
        if not watch.late():
            search.offer(np.ceil(found.cells - 1e-6).astype(np.int64))

    def _walk(self, search: Search, steps: int, watch: Watch, share: float = 1.0) -> None:
        """Take some steps, as long as less than a share of the time is spent."""
        for _ in range(steps):
            if self._proven() or watch.late(share):
                return
            if search.step():
                self._report(watch.spent(0))

    def _proven(self) -> bool:
        return int(self.best.sum()) <= self.bound

    def _report(self, spent: float) -> None:
        self._spent = max(self._spent, spent)
        if self.on_progress is not None:
            self.on_progress(int(self.best.sum()), self.bound, self._spent)

    def result(self) -> tuple[Ints, int]:
        if not self.problem.succeeds(self.best):
            raise AssertionError("the attack found does not fell every point")
        return self.best, min(self.bound, int(self.best.sum()))


def _trimmed(problem: Problem, attack: Ints, group: int) -> Ints:
    """Return an attack with as few cells of one group as its others allow."""

    def with_cells(count: int) -> Ints:
        return np.where(np.arange(len(attack)) == group, count, attack)

    # More cells never rescue a point.
    fewest = first(0, int(attack[group]), lambda count: problem.succeeds(with_cells(count)))
    return with_cells(fewest)


class Tree:
    """Branch and bound over boxes of the relaxation: the open boxes, best bound first.

    An optimal attack with fewer than ``limit`` cells lies in one of the open boxes, so the least
    certified bound among them, or ``limit`` if none is left, bounds the optimum from below.
    """

    def __init__(
        self, problem: Problem, singles: list[list[Single]], limit: int, watch: Watch
    ) -> None:
        self.problem, self.limit = problem, limit
        self.modes = Modes(problem, singles, limit)
        self.relaxation = Relaxation(self.modes, watch)
        self.ticket = count()
        self.open: list[tuple[float, int, Box]] = []
        # The fewest cells of an attack met as a box with one member.
        self.leaf = float(limit)
        self.floor = float(max((found[0].n_cells for found in singles), default=0))
        box = Box(
            lower=np.zeros(problem.n_groups, dtype=np.int64),
            upper=np.minimum(problem.capacity, max(0, limit - 1)),
            allowed=np.ones(self.modes.n_modes, dtype=bool),
        )
        self.n_boxes = 0
        self._push(self.floor, box)

    @property
    def bound(self) -> int:
        """Cells that every attack needs at least."""
        least = min(self.open[0][0] if self.open else self.limit, self.leaf, self.limit)
        return ceil(max(least, self.floor))

    @property
    def done(self) -> bool:
        """Whether no open box can hold a better attack."""
        return not self.open or self.bound >= min(self.limit, self.leaf)

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
        found = self.relaxation.solve(box, rounds=12 if self.n_boxes == 1 else 2)
        bound = max(bound, found.bound)
        parts = self._split(box, found) if ceil(bound) < self.limit else []
        for part in parts:
            self._push(bound, part)
        if not parts and np.array_equal(box.lower, box.upper):
            self._close(box.lower)
        heapq.heappop(self.open)
        return found

    def _close(self, cells: Ints) -> None:
        """Settle a box with one member exactly: an attack of known size, or nothing."""
        if self.problem.succeeds(cells):
            self.leaf = min(self.leaf, float(cells.sum()))

    def _push(self, bound: float, box: Box) -> None:
        heapq.heappush(self.open, (bound, next(self.ticket), box))

    def _split(self, box: Box, found: Relaxed) -> list[Box]:
        """Split where the relaxation errs most: chords, then mixed modes, then fractions."""
        group, excess = self._worst_group(box, found)
        if excess > 1e-6:
            return self._split_group(box, group, float(found.cells[group]))
        parts = self._split_modes(box, found)
        if parts:
            return parts
        width = box.upper - box.lower
        if not width.any():
            return []
        off = np.where(width > 0, np.abs(found.cells - np.round(found.cells)), -1.0)
        group = int(np.argmax(off if off.max() > 1e-6 else width))
        return self._split_group(box, group, float(found.cells[group]))

    def _worst_group(self, box: Box, found: Relaxed) -> tuple[int, float]:
        """Return the group whose effect on winners the relaxation overrates most, and how much."""
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
        if not len(excess):
            return 0, 0.0
        group = int(np.argmax(excess))
        return group, float(excess[group])

    def _split_group(self, box: Box, group: int, value: float) -> list[Box]:
        low, high = int(box.lower[group]), int(box.upper[group])
        cut = int(np.clip(ceil(value - 1e-6), low + max(1, (high - low) // 5), high))
        left, right = box.upper.copy(), box.lower.copy()
        left[group], right[group] = cut - 1, cut
        return [Box(box.lower, left, box.allowed), Box(right, box.upper, box.allowed)]

    def _split_modes(self, box: Box, found: Relaxed) -> list[Box]:
        """Let the point that mixes its modes most evenly use one of them only, one per part."""
        owner = self.modes.owner
        n_modes = np.bincount(owner[box.allowed], minlength=self.problem.n_points)
        top = np.where(n_modes > 1, 0.0, 1.0)
        np.maximum.at(top, owner, found.share)
        point = int(np.argmin(top))
        if top[point] > 1 - 1e-6:
            return []
        parts = []
        for mode in np.flatnonzero((owner == point) & box.allowed):
            allowed = box.allowed & (owner != point)
            allowed[mode] = True
            parts.append(Box(box.lower, box.upper, allowed))
        return parts
