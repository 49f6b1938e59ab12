"""Branch and bound over boxes of the relaxation: proves lower bounds, and finds attacks.

An optimal attack with fewer than ``limit`` cells lies in one of the open boxes, so the least
certified bound among them, or ``limit`` if none is left, bounds the optimum from below.
"""

from __future__ import annotations

import heapq
from itertools import count
from math import ceil

import numpy as np

from nullproof.attacks.joint.effort import Watch
from nullproof.attacks.joint.modes import Box, Modes
from nullproof.attacks.joint.problem import Ints, Problem
from nullproof.attacks.joint.relaxation import Relaxation, Relaxed
from nullproof.attacks.joint.single import Single


class Tree:
    """The open boxes, best bound first."""

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
