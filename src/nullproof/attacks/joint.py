"""Fewest cells that break many points at once: a search for attacks (theory 5).

A blanked cell helps in two ways: it lowers the winner's count for points that hold its value, and
raises a rival's count for points that hold another one. Cells of one label and feature that do the same
to every point are interchangeable, so the unknowns are one integer per such *group*. More cells never
rescue a point. So the search may give back any part of an attack, break the points that stand again,
and trim what is not needed any more. `joint_bound` says how few there can be at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from time import monotonic

import numpy as np

from nullproof.attacks.cells import CellRace, Sides
from nullproof.attacks.joint_bound import Tree
from nullproof.attacks.joint_problem import Ints, Problem, State
from nullproof.model.bias import Floats
from nullproof.progress import Progress

# Moves of one repair before it gives up and takes the cells of the best attack.
MAX_MOVES = 300
# So many standing points, drawn anew for each move, propose and rate moves.
MOST_POINTS = 32
# Attacks made from nothing at first; the search goes on from the best of them.
STARTS = 12
# Steps of the search before the first box of the proof, within a share of the time, and at most between
# two boxes.
STEPS_AT_FIRST, SHARE_AT_FIRST, STEPS_BETWEEN = 30, 0.3, 8
# A rival's count of zero is worth this many nats of gap, for the rating only.
ZERO = 4.0
# Gaps beyond this are rated alike: only blanking away a count of the winner closes them.
HOPELESS = 1e4
# A move of the search is one number: its group times this, plus its count.
KEY = 1 << 40


def solve(
    problem: Problem,
    start: Ints,
    *,
    seconds: float,
    rounds: int | None,
    seed: int,
    on_progress: Progress | None,
) -> tuple[Ints, int]:
    """Look for the fewest cells that break every point, until proven, interrupted or out of time.

    Gives the cells per group and a proven lower bound, beginning with the attack ``start``. With a
    number of ``rounds`` the answer depends on ``seed`` alone.
    """
    work = _Work(problem, start, on_progress)
    if problem.capacity.max(initial=0) < KEY:
        # The best attack and the bound so far are complete and true at any time.
        with suppress(KeyboardInterrupt):
            work.run(seconds, rounds, seed)
    if not problem.succeeds(work.best) or work.bound > work.n_cells:
        raise AssertionError(
            "the attack does not break every point, or has fewer cells than it needs"
        )
    return work.best, work.bound


class _Work:
    """The search and the proof side by side.

    The search's attack prunes the tree of the proof; each solution there is a suggestion for the search.
    """

    def __init__(self, problem: Problem, start: Ints, on_progress: Progress | None) -> None:
        self.problem, self.best, self.on_progress = problem, start, on_progress
        self.alone = fewest_alone(problem)
        self.bound = int(self.alone.min(axis=1).max())
        self.begin, self.seconds, self.share = monotonic(), math.inf, 0.0

    @property
    def n_cells(self) -> int:
        """Cells of the best attack so far."""
        return int(self.best.sum())

    def run(self, seconds: float, rounds: int | None, seed: int) -> None:
        """Search and prove in turn; a search that finds nothing more leaves its time to the proof."""
        self.seconds = seconds if rounds is None else math.inf
        search = Search(self.problem, self.best, self.alone, seed, self._over)
        tree, steps, share = None, STEPS_AT_FIRST, SHARE_AT_FIRST
        for n_rounds in count():
            before, self.best = self.n_cells, search.best
            for _ in range(steps):
                if not self._over(share) and search.step():
                    self.best = search.best
                    self._report(0.0)
            self._report(n_rounds / rounds if rounds else 0.0)
            if self._over() or n_rounds == rounds:
                return
            is_better = self.n_cells < before or tree is None
            tree = tree or Tree(self.problem, self.alone, self.n_cells, lambda: self._left(1.0))
            tree.limit, found, share = min(tree.limit, self.n_cells), None, 1.0
            steps = STEPS_BETWEEN if is_better else max(1, steps // 2)
            for _ in range(STEPS_BETWEEN // steps):
                self.bound = max(self.bound, tree.bound)
                if not (tree.done or self._over()):
                    found = tree.step()
            self.bound = max(self.bound, tree.bound)
            if found is not None and not self._over():
                search.offer(np.ceil(found - 1e-6).astype(np.int64))

    def _left(self, share: float) -> float:
        """Return the seconds left of a share of the time, at least 0."""
        return max(0.0, self.begin + share * self.seconds - monotonic())

    def _over(self, share: float = 1.0) -> bool:
        """Return whether the attack is proven to be the smallest, or a share of the time is up."""
        return self.n_cells <= self.bound or self._left(share) == 0

    def _report(self, share: float) -> None:
        spent = 1 - self._left(1.0) / self.seconds if 0 < self.seconds < math.inf else share
        self.share = max(self.share, min(spent, 1.0))
        if self.on_progress is not None:
            gap = f", {100 * (self.n_cells / self.bound - 1):.0f} % apart" if self.bound else ""
            said = f"best {self.n_cells:,} cells, at least {self.bound:,} needed{gap}"
            self.on_progress(f"{said} (Ctrl-C keeps the best)", self.share)


def fewest_alone(problem: Problem) -> Floats:
    """Return the fewest cells with which each label catches up at each point; infinite for the winner."""
    alone = np.full((problem.n_points, problem.n_labels), np.inf)
    for rival in range(problem.n_labels):
        points = np.flatnonzero(problem.winner != rival)
        winner = problem.winner[points].astype(np.int32)
        rivals = np.full(len(points), rival, dtype=np.int32)
        codes = problem.codes[:, points]
        sides = Sides.of(problem.model, codes, winner, rivals, problem.reach)
        alone[points, rival] = sum(CellRace(sides, np.full(len(points), np.inf)).solve())
    return alone


class Search:
    """Destroy and repair from one attack, keeping the best."""

    def __init__(
        self, problem: Problem, start: Ints, alone: Floats, seed: int, over: Callable[[], bool]
    ) -> None:
        self.problem, self.over = problem, over
        self.rng = np.random.default_rng(seed)
        self.state = State(problem, start)
        # A rival is worth how cheap it is for the point alone, compared with the cheapest.
        self.worth = np.maximum(alone.min(axis=1, keepdims=True), 1) / np.maximum(alone, 1)
        self._trim()
        self.best = self.now = self.state.cells.copy()
        self.n_fresh = STARTS

    def step(self) -> bool:
        """Try one change; return whether it gave the best attack so far.

        The first few attacks are made from nothing, and the best of them is changed.
        """
        if self.n_fresh:
            self.n_fresh -= 1
            self.state.set_all(np.zeros_like(self.best))
            # Lowering alone may break many points with few groups; raising looks better at each move.
            self.repair(lower_only=self.n_fresh % 3 == 0)
        else:
            self.state.set_all(self.now)
            self._destroy()
            self.repair(lower_only=bool(self.rng.random() < 0.15))
        self._trim()
        return self._consider()

    def offer(self, cells: Ints) -> None:
        """Complete, trim and consider an attack, or part of one, from elsewhere."""
        self.state.set_all(np.clip(cells, 0, self.problem.capacity))
        self.repair()
        self._trim()
        self._consider()

    def _consider(self) -> bool:
        """Keep the state if it is not worse than before, or now and then only slightly worse."""
        cells = self.state.cells.copy()
        size, before = int(cells.sum()), int(self.now.sum())
        slack = 0.01 * self.rng.exponential() if self.rng.random() < 0.3 else 0.0
        if size <= before * (1 + slack):
            self.now = cells
        is_better = size < int(self.best.sum())
        self.best = cells if is_better else self.best
        return is_better

    def _destroy(self) -> None:
        """Give back most groups that serve a few points."""
        n_points = int(self.rng.integers(1, 4))
        points = self.rng.permutation(self.problem.n_points)[:n_points]
        serves = np.any((self.problem.lowers | self.problem.raises)[:, points], axis=1)
        gone = (self.state.cells > 0) & serves & (self.rng.random(len(serves)) < 0.7)
        for group in np.flatnonzero(gone).tolist():
            self.state.add(group, -int(self.state.cells[group]))

    def _trim(self) -> None:
        """Give back superfluous cells, groups in random order."""
        for group in self.rng.permutation(self.problem.n_groups).tolist():
            if self.state.cells[group]:
                self.state.trim(group)

    def repair(self, *, lower_only: bool = False) -> None:
        """Break all standing points by the moves with the best rating.

        Ratings are blurred, so that different repairs choose differently: per group for the whole
        repair, which then settles on some groups instead of wavering.
        """
        noise = float(self.rng.choice([0.0, 0.3, 0.7]))
        chunk = float(self.rng.choice([0.1, 0.3, 1.0]))
        worth = self.worth**2 * self._blur(noise, self.worth.shape)
        taste = self._blur(noise, self.problem.n_groups)
        for _ in range(MAX_MOVES):
            points = np.flatnonzero(self.state.stands())
            if not len(points):
                return
            if self.over():
                break
            if len(points) > MOST_POINTS:
                points = np.sort(self.rng.choice(points, MOST_POINTS, replace=False))
            moves = Moves(self.state, points, chunk, lower_only)
            rating = moves.progress(worth[points]) * taste[moves.group] / moves.count
            top = int(np.argmax(rating))
            self.state.add(int(moves.group[top]), int(moves.count[top]))
        # More cells never rescue a point, so adding a whole attack breaks the rest.
        self.state.set_all(np.maximum(self.state.cells, self.best))

    def _blur(self, noise: float, size: int | tuple[int, ...]) -> Floats:
        return self.rng.uniform(1 - noise, 1.0, size)


class Moves:
    """Additions of cells worth considering for the standing ``points``, and their progress.

    A move is rated by the progress it makes at all standing points together, which is where shared cells
    and cells that serve both ways pay. Lowering has growing returns, so its moves go all the way to a
    point's fall; raising has falling returns, so its moves are small and spread.
    """

    def __init__(self, state: State, points: Ints, chunk: float, lower_only: bool) -> None:
        problem = state.problem
        self.problem, self.points = problem, points
        self.low = state.low[points] + problem.added[points]
        self.high = state.high[points] + problem.added[points, None]
        # Zeros are counted apart: other features cannot make up for them.
        log_high = np.where(self.high > 0, state.log_high[points], 0.0).sum(axis=2)
        log_high += problem.constants[points]
        left = state.log_low[points].sum(axis=1)
        left += problem.constants[points, problem.winner[points]]
        self.excess = np.clip(left[:, None] - log_high, 1e-9, HOPELESS)
        self.excess[np.arange(len(points)), problem.winner[points]] = HOPELESS
        self.gap = self.excess + ZERO * (self.high == 0).sum(axis=2)
        room = problem.capacity - state.cells
        moves = self._lowering(room)
        if not lower_only or not len(moves):
            moves = np.concatenate([moves, self._raising(room, chunk)])
        moves = np.unique(moves)
        self.group, self.count = moves // KEY, moves % KEY

    def _lowering(self, room: Ints) -> Ints:
        """Propose to lower a winner until its point falls."""
        problem, points = self.problem, self.points
        group, row = np.nonzero(problem.lowers[:, points] & (room > 0)[:, None])
        feature = problem.feature[group]
        count, weight = self.low[row, feature], problem.weights[feature]
        fall = np.ceil(-count * np.expm1(-self.gap.min(axis=1)[row] / weight) - 1e-9)
        return _as_keys(group, np.clip(fall, 1, room[group]))

    def _raising(self, room: Ints, chunk: float) -> Ints:
        """Propose to raise a rival by a part of its count, or until the point falls."""
        problem, points = self.problem, self.points
        group, row = np.nonzero(problem.raises[:, points] & (room > 0)[:, None])
        label, feature = problem.label[group], problem.feature[group]
        base, weight = np.maximum(self.high[row, label, feature], 0.5), problem.weights[feature]
        full = np.ceil(base * np.expm1(np.minimum(self.gap[row, label] / weight, 50.0)) - 1e-9)
        part = np.minimum(np.ceil(base * chunk), full)
        return _as_keys(group, np.clip(part, 1, room[group]))

    def progress(self, worth: Floats) -> Floats:
        """Return per move the share of the gaps it closes, summed over the points."""
        problem, points = self.problem, self.points
        label, feature = problem.label[self.group], problem.feature[self.group]
        count, weight = self.count[:, None], problem.weights[feature][:, None]
        gap, excess = self.gap[:, label].T, self.excess[:, label].T
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = -weight * np.log1p(-count / self.low[:, feature].T)
            high = self.high[:, label, feature].T
            gain = weight * np.where(high > 0, np.log1p(count / high), np.log(count))
            gain = np.minimum(gain, excess) + np.where(high > 0, 0.0, ZERO)
        least = self.gap.min(axis=1)
        closed = np.where(problem.lowers[self.group][:, points], np.minimum(1.0, loss / least), 0.0)
        share = np.where(problem.raises[self.group][:, points], gain / gap, 0.0)
        return np.asarray((closed + share * worth[:, label].T).sum(axis=1))


def _as_keys(group: Ints, count: Floats) -> Ints:
    return np.asarray(group * KEY + count.astype(np.int64), dtype=np.int64)
