"""Search and proof side by side: an attack on all points, and how far it can be from the best.

The two help each other. The search's attack prunes the tree; each relaxation solved in the tree is
a suggestion that the search completes and trims.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from nullproof.blanking.joint.bound import Tree
from nullproof.blanking.joint.effort import Effort, Watch
from nullproof.blanking.joint.modes import Box
from nullproof.blanking.joint.problem import Ints, Problem
from nullproof.blanking.joint.relaxation import Relaxed
from nullproof.blanking.joint.search import Search
from nullproof.blanking.joint.single import Single, single_optima, union_attack

STEPS_AT_FIRST = 60
STEPS_A_ROUND = 15
MANY_POINTS = 6
WIDTHS = (0.3, 0.1, 0.5)

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Joint:
    """A verified attack, cells per group of the problem, and a proven bound."""

    cells: Ints
    lower_bound: int
    n_union: int
    rivals: tuple[int, ...]

    @property
    def n_cells(self) -> int:
        """Number of cells blanked."""
        return int(self.cells.sum())

    @property
    def optimal(self) -> bool:
        """Whether no attack with fewer cells exists, proven."""
        return self.n_cells == self.lower_bound


class UnbreakableError(ValueError):
    """Points that no attack can break; ``points`` are rows of the problem."""

    def __init__(self, points: list[int]) -> None:
        super().__init__(f"no blanking of cells makes these points uncertain: {points}")
        self.points = points


def solve(
    problem: Problem,
    *,
    effort: Effort = Effort(),  # noqa: B008
    seed: int = 0,
    on_progress: Progress | None = None,
) -> Joint:
    """Look for the fewest cells that fell every point, until proven, interrupted or out of time.

    With a number of rounds in ``effort`` the answer depends on ``seed`` alone.
    """
    watch = effort.begin()
    singles = [single_optima(problem, point) for point in range(problem.n_points)]
    hopeless = [point for point, found in enumerate(singles) if not found]
    if hopeless:
        raise UnbreakableError(hopeless)
    union = union_attack(problem, [found[0] for found in singles])
    work = _Work(problem, singles, union, seed, on_progress)
    # The best attack and the bound so far are complete and true at any time.
    with suppress(KeyboardInterrupt):
        work.run(watch)
    return work.result(int(union.sum()))


class _Work:
    """The search and the tree, and what they have found."""

    def __init__(
        self,
        problem: Problem,
        singles: list[list[Single]],
        start: Ints,
        seed: int,
        on_progress: Progress | None,
    ) -> None:
        self.problem, self.singles, self.start = problem, singles, start
        self.seed, self.on_progress = seed, on_progress
        self.search: Search | None = None
        self.bound = max((found[0].n_cells for found in singles), default=0)

    @property
    def best(self) -> Ints:
        return self.start if self.search is None else self.search.best

    def run(self, watch: Watch) -> None:
        search = Search(self.problem, self.start, self.singles, self.seed)
        self.search = search
        self._walk(search, STEPS_AT_FIRST, watch)
        if self._proven() or watch.late():
            return
        tree = Tree(self.problem, self.singles, search.n_cells)
        # With many points the tree gains little per box and the search has more to find.
        pace = 1 if self.problem.n_points <= MANY_POINTS else 3
        done = 0
        while not self._proven() and not watch.over(done):
            if done % pace == 0:
                self._offer(search, tree.step())
            self._walk(search, STEPS_A_ROUND, watch)
            nearby = neighbourhood(self.problem, tree.modes.n_modes, search.now, WIDTHS[done % 3])
            self._offer(search, tree.relaxation.solve(nearby, rounds=2))
            tree.lower_limit(search.n_cells)
            self.bound = max(self.bound, tree.bound)
            self._report()
            done += 1

    def _offer(self, search: Search, found: Relaxed) -> None:
        for cells in (np.floor(found.cells + 1e-6), np.ceil(found.cells - 1e-6)):
            search.offer(np.clip(cells.astype(np.int64), 0, self.problem.capacity))

    def _walk(self, search: Search, steps: int, watch: Watch) -> None:
        for _ in range(steps):
            if self._proven() or watch.late():
                return
            if search.step():
                self._report()

    def _proven(self) -> bool:
        return int(self.best.sum()) <= self.bound

    def _report(self) -> None:
        if self.on_progress is not None:
            self.on_progress(int(self.best.sum()), self.bound)

    def result(self, n_union: int) -> Joint:
        rivals = tuple(self.problem.fallen_to(self.best))
        if min(rivals, default=0) < 0 or not self.problem.succeeds(self.best):
            raise AssertionError("the attack found does not fell every point")
        return Joint(self.best, min(self.bound, int(self.best.sum())), n_union, rivals)


def neighbourhood(problem: Problem, n_modes: int, cells: Ints, width: float) -> Box:
    """Return a box around an attack, in which the relaxation is nearly exact.

    Only chords above the winners' losses make the relaxation wrong, so only groups that lower a
    winner are held near their present values, and those blanked away stay so.
    """
    lowering = problem.lowers.any(axis=1)
    away = lowering & (cells == problem.capacity)
    least = np.where(away, cells, np.floor(cells * (1 - width)))
    most = np.ceil(cells * (1 + width)) + np.ceil(0.3 * width * problem.capacity)
    return Box(
        lower=np.where(lowering, least, 0).astype(np.int64),
        upper=np.where(lowering, np.minimum(most, problem.capacity), problem.capacity).astype(
            np.int64
        ),
        allowed=np.ones(n_modes, dtype=bool),
    )
