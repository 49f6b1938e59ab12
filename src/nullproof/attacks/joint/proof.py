"""Search and proof side by side: an attack on all points, and how far it can be from the best.

The two help each other. The search's attack prunes the tree; each relaxation solved in the tree is
a suggestion that the search completes and trims. Both need logarithms of counts; where the smoothing
is beyond all floats, the union of the single attacks is trimmed by exact tests instead, and the bound
is the largest of them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from nullproof.attacks.joint.effort import Effort, Watch
from nullproof.attacks.joint.modes import Single, single_optima, union_attack
from nullproof.attacks.joint.problem import Ints, Problem
from nullproof.attacks.joint.search import Search
from nullproof.attacks.joint.tree import Tree
from nullproof.radii.frontier import first

# Steps of the search before the first box of the tree, and at most between two boxes.
STEPS_AT_FIRST = 30
STEPS_BETWEEN = 8

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
        done, steps = 0, STEPS_BETWEEN
        while not self._proven() and not watch.over(done):
            before = search.n_cells
            self._prove(tree, search, STEPS_BETWEEN // steps, watch)
            self._walk(search, steps, watch)
            # A search that finds nothing more leaves its time to the proof.
            steps = STEPS_BETWEEN if search.n_cells < before else max(1, steps // 2)
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

    def _prove(self, tree: Tree, search: Search, n_boxes: int, watch: Watch) -> None:
        """Raise the bound, and let the search make an attack of the relaxation's solution."""
        found = None
        for _ in range(n_boxes):
            if tree.done or tree.relaxation.too_slow or self._proven() or watch.late():
                break
            found = tree.step()
            self.bound = max(self.bound, tree.bound)
        if found is not None and not watch.late():
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
