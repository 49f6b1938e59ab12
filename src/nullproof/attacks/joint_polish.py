"""The best attack near a given one: a linear program in which every point keeps its way to fall (theory 5).

Fix the rival that each point falls to, or the count that is blanked away. Then the winner's loss is
convex in the cells and lies above its tangent, and the rival's gain is concave and lies above its
chords. With tangents and chords through the present attack the program is feasible, and each of its
solutions is an attack in all but the rounding: no worse than the present one, up to that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nullproof.attacks.joint_problem import Bools, Ints, Problem, State
from nullproof.model.bias import Floats

# Where the chords end, as multiples of the rival's present count.
ENDS = np.array([0.25, 0.5, 0.7, 0.85, 0.95, 1.0, 1.05, 1.2, 1.5, 2.2, 4.0, 10.0, 40.0])

# Rows, columns and values of a matrix.
Entries = tuple[Ints, Ints, Floats]


@dataclass(frozen=True)
class Chords:
    """Chords below the gains of counters: counters × chords, those that are not ``wide`` unused."""

    least: Floats
    first: Floats
    wide: Bools
    width: Floats
    slope: Floats
    column: Ints


class Polish:
    """The program of a problem; points whose rival is raised by the same cells share a *counter*."""

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
        """Hold one count of each winner without support at zero: the one that most points share."""
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
        constants = self.problem.constants
        need += constants[live, self.problem.winner[live]] - constants[live, rival]
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
        base = (self.problem.high[at] + self.problem.alpha)[:, None]
        now, room = state.high[at][:, None], self.room[at][:, None]
        least = (base == 0).astype(np.float64)
        ends = np.hstack([least, np.round(now * ENDS - base), room])
        ends = np.clip(ends, least, room)
        value = self.problem.weights[self.home[used, 2]][:, None] * np.log(base + ends)
        width = np.diff(ends)
        wide = width > 0
        slope = np.diff(value) / np.where(wide, width, 1.0)
        column = self.problem.n_groups - 1 + np.cumsum(wide).reshape(wide.shape)
        return Chords(least[:, 0], value[:, 0], wide, width, slope, column)

    def _losses(self, state: State, live: Ints) -> tuple[Entries, Floats]:
        """Return the slopes of the winners' losses, and what they leave to be gained."""
        group, now = self.group_at[live], state.low[live]
        slope = self.problem.weights / now
        row, feature = np.nonzero(group >= 0)
        done = np.where(group >= 0, state.cells[group] * slope, 0.0)
        slopes = row, group[row, feature], slope[row, feature]
        return slopes, (state.log_low[live] + done).sum(axis=1)

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
        return sparse(rows, columns, values, (n_rows, self.problem.n_groups + len(column)))


def sparse(rows: Ints, columns: Ints, values: Floats, shape: tuple[int, int]) -> Any:
    """Return a matrix from its entries; the HiGHS of older SciPy takes no wide integers."""
    from scipy.sparse import coo_array

    place = rows.astype("int32"), columns.astype("int32")
    return coo_array((values, place), shape=shape).tocsr()
