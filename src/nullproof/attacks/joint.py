"""Fewest cells that break many points at once: a search for attacks (theory 5).

A blanked cell helps in two ways: it lowers the winner's count for points that hold its value, and
raises a rival's count for points that hold another one. Cells of one label and feature that do the same
to every point are interchangeable, so the unknowns are one integer per such *group*. More cells never
rescue a point. So the search may give back any part of an attack, break the points that stand again,
and trim what is not needed any more. `polish` finds better cells once the search has chosen how each
point falls, `bound` how few there can be at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic

import numpy as np

from nullproof.attacks.cells import CellRace
from nullproof.attacks.joint_bound import Tree
from nullproof.attacks.joint_polish import Polish
from nullproof.attacks.joint_problem import Ints, Problem, State
from nullproof.model.bias import Floats

# Steps without progress before the search starts anew.
PATIENCE = 25
# Moves of one repair before it gives up and takes the cells of the best attack.
MAX_MOVES = 300
# An attack is polished again while it is at most this much larger than the era's best.
WORTH = (1.2, 1.05, 1.01, 1.004)
# Attacks made from nothing at the beginning of an era; it goes on from the best of them.
STARTS = 12
# Steps of the search before the first box of the proof, and at most between two boxes.
STEPS_AT_FIRST, STEPS_BETWEEN = 30, 8
# A rival's count of zero is worth this many nats of gap, for the rating only.
ZERO = 4.0
# Gaps beyond this are rated alike: only blanking away a count of the winner closes them.
HOPELESS = 1e4
# A move of the search is one number: its group times this, plus its count.
KEY = 1 << 40

# Called with the best number of cells, the bound, and the share of the time or rounds that is spent.
Found = Callable[[int, int, float], None]


@dataclass(frozen=True)
class Effort:
    """How long to look: seconds, or a number of rounds when the answer must be repeatable."""

    seconds: float = 10.0
    rounds: int | None = None


class Watch:
    """Knows when an effort that has begun is over."""

    def __init__(self, effort: Effort) -> None:
        self.rounds, self.begin = effort.rounds, monotonic()
        self.seconds = effort.seconds if effort.rounds is None else math.inf

    def late(self, share: float = 1.0) -> bool:
        """Return whether the time, or a share of it, is up."""
        return monotonic() - self.begin >= share * self.seconds

    def left(self) -> float:
        """Return the seconds left, at least 0; infinity if rounds count instead."""
        return max(0.0, self.begin + self.seconds - monotonic())

    def over(self, n_rounds: int) -> bool:
        """Return whether the time is up or so many rounds are enough."""
        return self.late() or (self.rounds is not None and n_rounds >= self.rounds)

    def spent(self, n_rounds: int) -> float:
        """Return the share of the time, or of the rounds, that is spent."""
        if self.rounds is not None:
            return min(1.0, n_rounds / max(self.rounds, 1))
        return min(1.0, (monotonic() - self.begin) / self.seconds) if self.seconds else 1.0


def solve(
    problem: Problem, start: Ints, *, effort: Effort, seed: int, on_progress: Found | None
) -> tuple[Ints, int]:
    """Look for the fewest cells that break every point, until proven, interrupted or out of time.

    Gives the cells per group and a proven lower bound, beginning with the attack ``start``. With a
    number of rounds in ``effort`` the answer depends on ``seed`` alone.
    """
    work = _Work(problem, start, seed, on_progress)
    # The best attack and the bound so far are complete and true at any time.
    with suppress(KeyboardInterrupt):
        work.run(Watch(effort))
    return work.result()


class _Work:
    """The search and the proof side by side.

    The search's attack prunes the tree of the proof; each solution there is a suggestion for the search.
    """

    def __init__(self, problem: Problem, start: Ints, seed: int, on_progress: Found | None) -> None:
        self.problem, self.start, self.on_progress = problem, start, on_progress
        self.seed, self.spent = seed, 0.0
        self.alone = fewest_alone(problem)
        self.bound = int(self.alone.min(axis=1).max())
        self.search: Search | None = None

    @property
    def best(self) -> Ints:
        return self.start if self.search is None else self.search.best

    def run(self, watch: Watch) -> None:
        if not self.problem.floats_hold:
            return
        search = Search(self.problem, self.start, self.alone, self.seed)
        self.search = search
        self._walk(search, STEPS_AT_FIRST, watch, share=0.3)
        if self._proven() or watch.late():
            return
        tree = Tree(self.problem, self.alone, search.n_cells, watch.left)
        n_rounds, steps = 0, STEPS_BETWEEN
        while not self._proven() and not watch.over(n_rounds):
            before = search.n_cells
            self._prove(tree, search, STEPS_BETWEEN // steps, watch)
            self._walk(search, steps, watch)
            # A search that finds nothing more leaves its time to the proof.
            steps = STEPS_BETWEEN if search.n_cells < before else max(1, steps // 2)
            tree.limit = min(tree.limit, search.n_cells)
            self.bound = max(self.bound, tree.bound)
            n_rounds += 1
            self._report(watch.spent(n_rounds))

    def _prove(self, tree: Tree, search: Search, n_boxes: int, watch: Watch) -> None:
        """Raise the bound, and let the search make an attack of the solution of a box."""
        found = None
        for _ in range(n_boxes):
            if tree.done or self._proven() or watch.late():
                break
            found = tree.step()
            self.bound = max(self.bound, tree.bound)
        if found is not None and not watch.late():
            search.offer(np.ceil(found - 1e-6).astype(np.int64))

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
        self.spent = max(self.spent, spent)
        if self.on_progress is not None:
            self.on_progress(int(self.best.sum()), self.bound, self.spent)

    def result(self) -> tuple[Ints, int]:
        if not self.problem.succeeds(self.best):
            raise AssertionError("the attack found does not break every point")
        return self.best, min(self.bound, int(self.best.sum()))


def fewest_alone(problem: Problem) -> Floats:
    """Return the fewest cells with which each label catches up at each point; infinite for the winner."""
    alone = np.full((problem.n_points, problem.n_labels), np.inf)
    for rival in range(problem.n_labels):
        points = np.flatnonzero(problem.winner != rival)
        sides = problem.sides(points, rival)
        with np.errstate(all="ignore"):
            alone[points, rival] = CellRace(sides, np.full(len(points), np.inf)).solve().total
    return alone


class Search:
    """Destroy, repair and polish from one attack, keeping the best.

    An *era* lasts from one fresh start to the next.
    """

    def __init__(self, problem: Problem, start: Ints, alone: Floats, seed: int) -> None:
        self.problem = problem
        self.rng = np.random.default_rng(seed)
        self.state = State(problem, start)
        # A rival is worth how cheap it is for the point alone, compared with the cheapest.
        self.worth = np.maximum(alone.min(axis=1, keepdims=True), 1) / np.maximum(alone, 1)
        self.polish = Polish(problem)
        self._trim()
        self.best = self.now = self.era = self.state.cells.copy()
        # The first step begins an era.
        self.idle, self.n_eras, self.n_starts = PATIENCE, 0, 0

    @property
    def n_cells(self) -> int:
        """Cells of the best attack so far."""
        return int(self.best.sum())

    def step(self) -> bool:
        """Try one change; return whether it gave the best attack so far."""
        if self.idle >= PATIENCE:
            self._begin_era()
        if self.n_starts:
            self.n_starts -= 1
            self.idle = 0
            self.state.set_all(np.zeros_like(self.best))
            # Lowering alone may break many points with few groups; raising looks better at each move.
            self.repair(lower_only=self.n_starts % 3 == 0)
        else:
            self.state.set_all(self.now)
            self._destroy()
            self.repair(lower_only=bool(self.rng.random() < 0.15))
        self._trim()
        # Now and then a slightly worse attack is kept, to leave local optima.
        slack = 0.01 * self.rng.exponential() if self.rng.random() < 0.3 else 0.0
        return self._consider(float(slack))

    def offer(self, cells: Ints) -> bool:
        """Complete, trim and consider an attack, or part of one, from elsewhere."""
        self.state.set_all(np.clip(cells, 0, self.problem.capacity))
        self.repair()
        self._trim()
        return self._consider(0.0)

    def _begin_era(self) -> None:
        """Go on from fresh attacks or, every third time, from the best."""
        self.n_eras += 1
        self.idle = 0
        if self.n_eras % 3 == 0:
            self.now = self.era = self.best
        else:
            self.n_starts = STARTS
            # Anything is better than blanking all there is.
            self.now = self.era = self.problem.capacity

    def _consider(self, slack: float) -> bool:
        """Polish the state, and keep it if it is not much worse than before."""
        cells = self._polished()
        size, era = int(cells.sum()), int(self.era.sum())
        self.idle = 0 if size < era else self.idle + 1
        if size < era:
            self.era = cells
        if size <= int(self.now.sum()) * (1 + slack):
            # A walk that has drifted too far goes on from the best since the last restart.
            self.now = cells if size <= 1.02 * era else self.era
        is_better = size < self.n_cells
        if is_better:
            self.best = cells
        return is_better

    def _polished(self) -> Ints:
        """Return the state's attack, polished as long as that pays."""
        best = self.state.cells.copy()
        for worth in WORTH:
            before = int(best.sum())
            found = self.polish(self.state) if before <= worth * self.era.sum() else None
            if found is None:
                break
            for cells in (np.ceil(found - 1e-6), np.floor(found + 1e-6)):
                self.state.set_all(np.clip(cells.astype(np.int64), 0, self.problem.capacity))
                self.repair()
                self._trim()
                if self.state.n_cells < best.sum():
                    best = self.state.cells.copy()
            self.state.set_all(best)
            if best.sum() >= 0.9995 * before:
                break
        return best

    def _destroy(self) -> None:
        """Give back some groups, those that serve some points, or a random part."""
        used = np.flatnonzero(self.state.cells)
        kind = self.rng.random()
        if not len(used):
            return
        if kind < 0.4:
            n_gone = int(self.rng.integers(1, 4))
            gone = self.rng.choice(used, size=min(n_gone, len(used)), replace=False)
        elif kind < 0.8:
            n_points = int(self.rng.integers(1, 4))
            points = self.rng.permutation(self.problem.n_points)[:n_points]
            serves = np.any((self.problem.lowers | self.problem.raises)[:, points], axis=1)
            gone = used[serves[used] & (self.rng.random(len(used)) < 0.7)]
        else:
            gone = used[self.rng.random(len(used)) < self.rng.uniform(0.1, 0.6)]
        for group in gone:
            self.state.add(int(group), -int(self.state.cells[group]))

    def _trim(self) -> None:
        """Give back superfluous cells, groups in random order."""
        for group in self.rng.permutation(self.problem.n_groups).tolist():
            if self.state.cells[group]:
                self.state.trim(group)

    def repair(self, *, lower_only: bool = False) -> None:
        """Break all standing points by the moves with the best rating.

        Ratings are blurred, so that different repairs choose differently: per move, or per group
        for the whole repair, which then settles on some groups instead of wavering.
        """
        noise = float(self.rng.choice([0.0, 0.3, 0.7]))
        steady = self.rng.random() < 0.5
        chunk = float(self.rng.choice([0.1, 0.3, 1.0]))
        worth = self.worth ** self.rng.choice([1.0, 2.0, 4.0])
        worth = worth * self._blur(noise, worth.size).reshape(worth.shape)
        taste = self._blur(noise, self.problem.n_groups)
        for _ in range(MAX_MOVES):
            points = np.flatnonzero(self.state.stands())
            if not len(points):
                return
            moves = Moves(self.state, points, chunk, lower_only)
            blur = taste[moves.group] if steady else self._blur(noise, len(moves.group))
            rating = moves.progress(worth[points]) * blur / moves.count
            top = int(np.argmax(rating))
            self.state.add(int(moves.group[top]), int(moves.count[top]))
        # More cells never rescue a point, so adding a whole attack breaks the rest.
        self.state.set_all(np.maximum(self.state.cells, self.best))

    def _blur(self, noise: float, size: int) -> Floats:
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
        self.low, self.high = state.low[points], state.high[points]
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
