"""Better attacks by destroying, repairing and polishing parts of one (theory 5).

Blanking is monotone: more cells never rescue a point. So the search may give back any part of an
attack, fell the points that stand again, and trim what is not needed any more. That chooses
how each point falls; given these choices, a linear program finds the cells (`Polish`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nullproof.attacks.joint.modes import ANYONE, Single
from nullproof.attacks.joint.problem import Bools, Ints, Problem
from nullproof.attacks.joint.relaxation import sparse
from nullproof.attacks.joint.state import Moves, State
from nullproof.model.bias import Floats

# Steps without progress before the search starts anew.
PATIENCE = 25
# Moves of one repair before it gives up and takes the cells of the best attack.
MAX_MOVES = 300
# An attack is polished again while it is at most this much larger than the era's best.
WORTH = (1.2, 1.05, 1.01, 1.004)
# Attacks made from nothing at the beginning of an era; it goes on from the best of them.
STARTS = 12
# Where the chords end, as multiples of the rival's present count.
ENDS = np.array([0.25, 0.5, 0.7, 0.85, 0.95, 1.0, 1.05, 1.2, 1.5, 2.2, 4.0, 10.0, 40.0])

# Rows, columns and values of a matrix.
Entries = tuple[Ints, Ints, Floats]


class Search:
    """Destroy, repair and polish from one attack, keeping the best.

    An *era* lasts from one fresh start to the next.
    """

    def __init__(
        self, problem: Problem, start: Ints, singles: list[list[Single]], seed: int
    ) -> None:
        self.problem = problem
        self.rng = np.random.default_rng(seed)
        self.state = State(problem, start)
        self.weight = _rival_weights(problem, singles)
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
            # Lowering alone may fell many points with few groups; raising looks better at each move.
            self.repair(lower_only=self.n_starts % 3 == 0)
        else:
            self.state.set_all(self.now)
            self._destroy()
            self.repair(lower_only=bool(self.rng.random() < 0.15))
        self._trim()
        return self._consider(self._slack())

    def offer(self, cells: Ints) -> bool:
        """Complete, trim and consider an attack, or part of one, from elsewhere."""
        self.state.set_all(cells)
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
        better = size < self.n_cells
        if better:
            self.best = cells
        return better

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

    def _slack(self) -> float:
        """Now and then a slightly worse attack is kept, to leave local optima."""
        return float(0.01 * self.rng.exponential()) if self.rng.random() < 0.3 else 0.0

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
        for the whole repair, which then settles on some groups instead of wavering.
        """
        noise = float(self.rng.choice([0.0, 0.3, 0.7]))
        steady = self.rng.random() < 0.5
        chunk = float(self.rng.choice([0.1, 0.3, 1.0]))
        weight = self.weight ** self.rng.choice([1.0, 2.0, 4.0])
        weight = weight * self._blur(noise, weight.size).reshape(weight.shape)
        taste = self._blur(noise, self.problem.n_groups)
        for _ in range(MAX_MOVES):
            points = np.flatnonzero(self.state.standing_notices())
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


def _rival_weights(problem: Problem, singles: list[list[Single]]) -> Floats:
    """Weigh a rival by how cheap it is for the point alone, compared with the cheapest.

    Where a count can be blanked away, no rival costs more than that.
    """
    weight = np.zeros((problem.n_points, problem.n_labels))
    for point, found in enumerate(singles):
        for single in reversed(found):
            share = max(1, found[0].n_cells) / max(1, single.n_cells)
            rivals = slice(None) if single.rival == ANYONE else single.rival
            weight[point, rivals] = np.maximum(weight[point, rivals], share)
    return weight


@dataclass(frozen=True)
class Chords:
    """Chords below the gains of counters: counters x chords, those that are not ``wide`` unused."""

    least: Floats
    first: Floats
    wide: Bools
    width: Floats
    slope: Floats
    column: Ints


class Polish:
    """The best attack near a given one: a linear program in which every point keeps its way to fall.

    Fix the rival that each point falls to, or the count that is blanked away. Then the winner's loss
    is convex in the cells and lies above its tangent, and the rival's gain is concave and lies above
    its chords. With tangents and chords through the present attack the program is feasible, and each
    of its solutions is an attack in all but the rounding: no worse than the present one, up to that.

    Points whose rival is raised by the same cells of a feature share a *counter*.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.room = problem.raised(problem.capacity)
        group, point = np.nonzero(problem.lowers)
        self.group_at = np.full(problem.low.shape, -1, dtype=np.int64)
        self.group_at[point, problem.feature[group]] = group
        self._find_counters()

    def _find_counters(self) -> None:
        problem = self.problem
        self.counter = np.full(problem.high.shape, -1, dtype=np.int64)
        known: dict[tuple[int, int, bytes], int] = {}
        members, home = [], []
        place = problem.label * problem.low.shape[1] + problem.feature
        for here in np.unique(place).tolist():
            label, feature = divmod(here, problem.low.shape[1])
            groups = np.flatnonzero(place == here)
            able = problem.raises[groups]
            for point in np.flatnonzero(able.any(axis=0)).tolist():
                key = (label, feature, able[:, point].tobytes())
                if key not in known:
                    known[key] = len(known)
                    home.append((point, label, feature))
                    members.append(groups[able[:, point]])
                self.counter[point, label, feature] = known[key]
        self.member_counter = np.repeat(np.arange(len(members)), [len(own) for own in members])
        self.member_group = np.concatenate([np.zeros(0, dtype=np.int64), *members])
        # For each counter, a point, label and feature that has it.
        self.home = np.array(home, dtype=np.int64).reshape(-1, 3)

    def __call__(self, state: State) -> Floats | None:
        """Return fractional cells per group; None if the program fails."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        dead = np.isneginf(state.log_low).any(axis=1)
        live = np.flatnonzero(~dead)
        least = self._blanked_away(state, np.flatnonzero(dead))
        if not len(live):
            return least
        gap = state.gaps(live)
        if not np.isfinite(gap.min(axis=1)).all():
            return None
        matrix, right, widths = self._program(state, live, gap.argmin(axis=1))
        n_groups = self.problem.n_groups
        bounds = Bounds(
            np.concatenate([least, np.zeros(len(widths))]),
            np.concatenate([self.problem.capacity, widths]),
        )
        cost = np.repeat([1.0, 0.0], [n_groups, len(widths)])
        found = milp(cost, constraints=LinearConstraint(matrix, right, np.inf), bounds=bounds)
        return None if found.x is None else np.asarray(found.x[:n_groups])

    def _blanked_away(self, state: State, points: Ints) -> Floats:
        """Hold one count of each dead winner at zero: the one that most points share."""
        problem = self.problem
        least = np.zeros(problem.n_groups)
        shared = problem.lowers.sum(axis=1)
        for point in points.tolist():
            zero = np.flatnonzero(np.isneginf(state.log_low[point]))
            group = max(self.group_at[point, zero].tolist(), key=shared.__getitem__)
            least[group] = problem.low[point, problem.feature[group]]
        return least

    def _program(self, state: State, live: Ints, rival: Ints) -> tuple[Any, Floats, Floats]:
        """Return matrix, right-hand sides and the widths of the chords.

        Columns are the groups, then the chords; rows are the counters in use, then the points.
        """
        own = self.counter[live, rival]
        used, place = np.unique(own[own >= 0], return_inverse=True)
        chords = self._chords(state, used)
        losses, need = self._losses(state, live)
        fixed = np.where(own < 0, state.log_high[live, rival], 0.0)
        fixed[own >= 0] = chords.first[place]
        need += state.weight[live, self.problem.winner[live]] - state.weight[live, rival]
        need -= fixed.sum(axis=1)
        term, chord = np.nonzero(chords.wide[place])
        which = place[term], chord
        gains = np.nonzero(own >= 0)[0][term], chords.column[which], chords.slope[which]
        right = np.concatenate([chords.least, need])
        matrix = self._matrix(used, chords, [gains, losses], len(right))
        return matrix, right, chords.width[chords.wide]

    def _chords(self, state: State, used: Ints) -> Chords:
        """Return the chords of some counters; a count of zero must be raised first."""
        at = tuple(self.home[used].T)
        base = (self.problem.high[at] + state.alpha)[:, None]
        now, room = state.raised[at][:, None], self.room[at][:, None]
        least = (base == 0).astype(np.float64)
        ends = np.hstack([least, np.round((base + now) * ENDS - base), room])
        ends = np.clip(ends, least, room)
        value, width = np.log(base + ends), np.diff(ends)
        wide = width > 0
        slope = np.diff(value) / np.where(wide, width, 1.0)
        column = self.problem.n_groups - 1 + np.cumsum(wide).reshape(wide.shape)
        return Chords(least[:, 0], value[:, 0], wide, width, slope, column)

    def _losses(self, state: State, live: Ints) -> tuple[Entries, Floats]:
        """Return the slopes of the winners' losses, and what they leave to be gained."""
        group = self.group_at[live]
        now = self.problem.low[live] - state.lowered[live] + self.problem.added[live]
        row, feature = np.nonzero(group >= 0)
        slopes = row, group[row, feature], 1 / now[row, feature]
        done = np.where(group >= 0, state.cells[group] / now, 0.0)
        return slopes, (np.log(now) + done).sum(axis=1)

    def _matrix(self, used: Ints, chords: Chords, points: list[Entries], n_rows: int) -> Any:
        """A row per counter, whose chords use up what its groups give; then the rows of the points."""
        row_of = np.full(len(self.home), -1, dtype=np.int64)
        row_of[used] = np.arange(len(used))
        row = row_of[self.member_counter]
        given = row[row >= 0], self.member_group[row >= 0], np.ones(int((row >= 0).sum()))
        column = chords.column[chords.wide]
        taken = np.nonzero(chords.wide)[0], column, -np.ones(len(column))
        below = [(len(used) + own, *rest) for own, *rest in points]
        rows, columns, values = map(np.concatenate, zip(taken, given, *below, strict=True))
        shape = (n_rows, self.problem.n_groups + len(column))
        return sparse(rows, columns, values, shape)
