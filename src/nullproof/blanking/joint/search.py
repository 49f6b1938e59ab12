"""Better attacks by destroying and repairing parts of one (THEORY.md, section 5).

Blanking is monotone: more cells never rescue a point. So any part of an attack may be given back,
the points that stand again be felled anew, and what became superfluous be trimmed. The repair
rates a move by the progress it makes at all standing points together, which is where shared cells
and cells that serve both ways pay. Lowering has growing returns, so its moves go all the way to a
point's fall; raising has falling returns, so its moves are small and spread.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nullproof.blanking.joint.effort import Effort
from nullproof.blanking.joint.problem import Floats, Ints, Problem
from nullproof.blanking.joint.single import Single, single_optima
from nullproof.blanking.joint.state import State

# A rival's count of zero is worth this many nats of gap, for the rating only.
ZERO = 4.0
# Gaps beyond this are rated alike: only blanking away a count of the winner closes them.
HOPELESS = 1e4
# Steps without progress before the search starts anew.
PATIENCE = 25
# Moves of one repair before it gives up and takes the cells of the best attack.
MAX_MOVES = 300
# A move is one number: its group times this, plus its count.
KEY = 1 << 40


class Search:
    """Destroy and repair from one attack, keeping the best."""

    def __init__(
        self, problem: Problem, start: Ints, singles: list[list[Single]], seed: int
    ) -> None:
        self.problem = problem
        self.rng = np.random.default_rng(seed)
        self.state = State(problem, start)
        self.weight = _rival_weights(problem, singles)
        self._trim()
        self.best = self.state.cells.copy()
        starts = [self.best, self._fresh(lower_only=True), self._fresh(lower_only=False)]
        self.best = self.now = self.era = min(starts, key=lambda cells: int(cells.sum()))
        self.idle = self.n_restarts = 0

    @property
    def n_cells(self) -> int:
        """Cells of the best attack so far."""
        return int(self.best.sum())

    def step(self) -> bool:
        """Try one change; return whether it gave the best attack so far."""
        if self.idle >= PATIENCE:
            self._restart()
        self.state.set_all(self.now)
        self._destroy()
        return self._settle(self._slack())

    def offer(self, cells: Ints) -> bool:
        """Complete, trim and consider an attack, or part of one, from elsewhere."""
        self.state.set_all(cells)
        return self._settle(0.0)

    def _settle(self, slack: float) -> bool:
        """Complete and trim the state, and keep it if it is not much worse than before."""
        self.repair(lower_only=bool(self.rng.random() < 0.15))
        self._trim()
        size, era = self.state.n_cells, int(self.era.sum())
        self.idle = 0 if size < era else self.idle + 1
        if size < era:
            self.era = self.state.cells.copy()
        if size <= int(self.now.sum()) * (1 + slack):
            # A walk that has drifted too far goes on from the best since the last restart.
            self.now = self.state.cells.copy() if size <= 1.03 * era else self.era.copy()
        better = size < self.n_cells
        if better:
            self.best = self.state.cells.copy()
        return better

    def _slack(self) -> float:
        """Now and then a slightly worse attack is kept, to leave local optima."""
        return float(0.02 * self.rng.exponential()) if self.rng.random() < 0.3 else 0.0

    def _restart(self) -> None:
        """Go on from a fresh attack of either kind or, every third time, from the best."""
        kind = self.n_restarts % 3
        self.now = self.era = self.best if kind == 2 else self._fresh(lower_only=kind == 0)
        self.best = min(self.best, self.era, key=lambda cells: int(cells.sum()))
        self.n_restarts += 1
        self.idle = 0

    def _fresh(self, *, lower_only: bool) -> Ints:
        """Return the best of a few attacks made from nothing; lowering alone is quick."""
        found = []
        for _ in range(8 if lower_only else 3):
            self.state.set_all(np.zeros_like(self.problem.capacity))
            self.repair(lower_only=lower_only)
            self._trim()
            found.append(self.state.cells.copy())
        return min(found, key=lambda cells: int(cells.sum()))

    def _destroy(self) -> None:
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
        self.state.trim_all(self.rng.permutation(self.problem.n_groups))

    def repair(self, *, lower_only: bool = False) -> None:
        """Fell all standing points by the moves with the best rating.

        Ratings are blurred, so that different repairs choose differently: per move, or per group
        for the whole repair, which then settles on some groups instead of wavering. Raising looks
        better step by step, but lowering alone may fell many points with few groups.
        """
        noise = float(self.rng.choice([0.0, 0.3, 0.7]))
        steady = self.rng.random() < 0.5
        chunk = float(self.rng.choice([0.1, 0.3, 1.0]))
        weight = self.weight ** self.rng.choice([1.0, 2.0, 4.0])
        weight = weight * self._blur(noise, weight.size).reshape(weight.shape)
        taste = self._blur(noise, self.problem.n_groups)
        for _ in range(MAX_MOVES):
            points = np.flatnonzero(self.state.standing())
            if not len(points):
                return
            moves = Moves(self.state, points, chunk, lower_only)
            blur = taste[moves.group] if steady else self._blur(noise, len(moves.group))
            rating = moves.progress(weight[points]) * blur / moves.count
            top = int(np.argmax(rating))
            self.state.add(int(moves.group[top]), int(moves.count[top]))
        # More cells never rescue a point, so adding a whole attack fells the rest.
        self.state.set_all(np.maximum(self.state.cells, self.best))

    def _blur(self, noise: float, size: int) -> Floats:
        return self.rng.uniform(1 - noise, 1.0, size)


class Moves:
    """Additions of cells worth considering for the standing ``points``, and their progress."""

    def __init__(self, state: State, points: Ints, chunk: float, lower_only: bool) -> None:
        problem = state.problem
        self.problem, self.points = problem, points
        low = problem.low[points] - state.lowered[points] + state.alpha
        high = problem.high[points] + state.raised[points] + state.alpha
        # Zeros are counted apart: other features cannot make up for them.
        log_high = np.where(high > 0, state.log_high[points], 0.0).sum(axis=2) + state.weight
        left = state.log_low[points].sum(axis=1) + state.weight[problem.winner[points]]
        self.excess = np.clip(left[:, None] - log_high, 1e-9, HOPELESS)
        self.excess[np.arange(len(points)), problem.winner[points]] = HOPELESS
        self.gap = self.excess + ZERO * (high == 0).sum(axis=2)
        self.low, self.high = low, high
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
        count = self.low[row, problem.feature[group]]
        fall = np.ceil(count * -np.expm1(-self.gap.min(axis=1)[row]) - 1e-9)
        return _as_keys(group, np.clip(fall, 1, room[group]))

    def _raising(self, room: Ints, chunk: float) -> Ints:
        """Propose to raise a rival by a part of its count, or until the point falls."""
        problem, points = self.problem, self.points
        group, row = np.nonzero(problem.raises[:, points] & (room > 0)[:, None])
        label, feature = problem.label[group], problem.feature[group]
        base = np.maximum(self.high[row, label, feature], 0.5)
        full = np.ceil(base * np.expm1(np.minimum(self.gap[row, label], 50.0)) - 1e-9)
        part = np.minimum(np.ceil(base * chunk), full)
        return _as_keys(group, np.clip(part, 1, room[group]))

    def progress(self, weight: Floats) -> Floats:
        """Return per move the share of the gaps it closes, summed over the points."""
        problem, points = self.problem, self.points
        label, feature = problem.label[self.group], problem.feature[self.group]
        count = self.count[:, None]
        gap, excess = self.gap[:, label].T, self.excess[:, label].T
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = -np.log1p(-np.minimum(count / self.low[:, feature].T, 1.0))
            high = self.high[:, label, feature].T
            gain = np.minimum(np.where(high > 0, np.log1p(count / high), np.log(count)), excess)
            gain = gain + np.where(high > 0, 0.0, ZERO)
        least = self.gap.min(axis=1)
        closed = np.where(problem.lowers[self.group][:, points], np.minimum(1.0, loss / least), 0.0)
        share = np.where(problem.raises[self.group][:, points], np.minimum(1.0, gain / gap), 0.0)
        return np.asarray((closed + share * weight[:, label].T).sum(axis=1))


def _as_keys(group: Ints, count: Floats) -> Ints:
    return np.asarray(group * KEY + count.astype(np.int64), dtype=np.int64)


def _rival_weights(problem: Problem, singles: list[list[Single]]) -> Floats:
    """Weigh a rival by how cheap it is for the point alone, compared with the cheapest."""
    weight = np.zeros((problem.n_points, len(problem.weight)))
    for point, found in enumerate(singles):
        for single in found:
            weight[point, single.rival] = max(1, found[0].n_cells) / max(1, single.n_cells)
    return weight


def improve(
    problem: Problem,
    start: Ints,
    *,
    effort: Effort,
    seed: int = 0,
    on_progress: Callable[[int], None] | None = None,
) -> Ints:
    """Return an attack with at most as many cells as ``start``; a round is a step."""
    watch = effort.begin()
    singles = [single_optima(problem, point) for point in range(problem.n_points)]
    search = Search(problem, start, singles, seed)
    done = 0
    while not watch.over(done):
        if search.step() and on_progress:
            on_progress(search.n_cells)
        done += 1
    return search.best
