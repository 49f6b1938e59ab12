"""The joint problem on counts (theory 5): groups of cells, and an attack in progress."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.radius import Radii
from nullproof.attacks.reach import Reach
from nullproof.attacks.search import error_of_logs
from nullproof.counts.fields import Cells
from nullproof.counts.index import LEFT_OUT
from nullproof.model.bias import Floats
from nullproof.model.model import Model

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
# Gaps closer to 0 are left to integers, even where their error is less.
_UNSURE = 1e-8


@dataclass
class Problem:
    """Groups of interchangeable cells and what they do to each point.

    ``low`` holds the winner's counts, points × features; ``high`` those of all labels, points × labels ×
    features; `LEFT_OUT` where the point leaves the feature out. Groups are sorted by label, then feature;
    ``lowers`` and ``raises`` (groups × points) say whose counts they move, ``values`` are those that the
    cells of each hold.
    """

    model: Model
    reach: Reach
    codes: NDArray[np.int32]
    winner: Ints
    low: Ints
    high: Ints
    label: Ints
    feature: Ints
    lowers: Bools
    raises: Bools
    values: tuple[Ints, ...]

    @classmethod
    def of(cls, found: Radii) -> Problem:
        """Group the cells within reach by what they do to different points, all breakable."""
        model, reach, sizes = found.model, found.reach, found.model.index.n_values
        codes, winner = found.points.codes, found.winner.astype(np.int64)
        low = np.stack(
            [model.low(j, own)[np.arange(len(own)), winner] for j, own in enumerate(codes)]
        )
        high = np.stack([model.high(j, own) for j, own in enumerate(codes)])
        groups: dict[tuple[int, int, bytes, bytes], list[Ints]] = {}
        # A one-value domain forces even its blank cells, so blanking changes nothing.
        changes = (sizes >= 2) & reach.columns & (model.float_weights > 0)
        for j in np.flatnonzero(changes).tolist():
            held, is_movable = np.unique(codes[j]), codes[j] < sizes[j]
            # Values that no point holds do the same.
            kinds = [*held[held < sizes[j], None], np.setdiff1d(np.arange(sizes[j]), held)]
            for values, label in product(kinds, range(model.m)):
                counted = values[reach.index.known[j][values, label] > 0]
                holds, is_winner = np.isin(codes[j], values), winner == label
                lowers, raises = is_winner & holds, ~is_winner & ~holds & is_movable
                if len(counted) and (lowers.any() or raises.any()):
                    key = (label, j, lowers.tobytes(), raises.tobytes())
                    groups.setdefault(key, []).append(counted)
        keys = sorted(groups)
        shape = (len(keys), len(winner))
        return cls(
            model,
            reach,
            codes,
            winner,
            low.T,
            high.transpose(1, 2, 0),
            label=np.array([key[0] for key in keys], dtype=np.int64),
            feature=np.array([key[1] for key in keys], dtype=np.int64),
            lowers=np.array([np.frombuffer(key[2], bool) for key in keys], bool).reshape(shape),
            raises=np.array([np.frombuffer(key[3], bool) for key in keys], bool).reshape(shape),
            values=tuple(np.sort(np.concatenate(groups[key])) for key in keys),
        )

    def __post_init__(self) -> None:
        groups = range(len(self.values))
        self.capacity = np.array([self.n_cells(g).sum() for g in groups], dtype=np.int64)
        self.n_points, self.n_labels, self.n_groups = (
            len(self.winner),
            self.model.m,
            len(self.capacity),
        )
        self.alpha, self.weights = float(self.model.alpha), self.model.float_weights
        # Gaps of log supports this near to 0 are decided by integers.
        self.unsure = max(_UNSURE, error_of_logs(self.model))

    @cached_property
    def added(self) -> Floats:
        """The addend of counts before taking logs, points × features.

        It is the smoothing or, for a feature that is left out, the number that makes its factor 1.
        """
        return np.where(self.low == LEFT_OUT, 1.0 - LEFT_OUT, self.alpha)

    @cached_property
    def constants(self) -> Floats:
        """The logarithm of the part of a support that no count changes, points × labels."""
        index = self.model.index
        sizes = index.label_counts[:, None] + self.alpha * index.n_values
        # The constant of a label without any support is -inf already.
        below = self.weights * np.log(np.where(sizes == 0, 1.0, sizes))
        # The denominators of features that are left out come back.
        return np.asarray(self.model.log_constants + (self.low == LEFT_OUT) @ below.T)

    def lowered(self, cells: Ints) -> Ints:
        """Return how far ``cells`` lower the winner's counts, points × features."""
        done = np.zeros(self.low.shape, dtype=np.int64)
        group, point = np.nonzero(self.lowers)
        np.add.at(done, (point, self.feature[group]), cells[group])
        return done

    def raised(self, cells: Ints) -> Ints:
        """Return how far ``cells`` raise every other label's counts, points × labels × features."""
        done = np.zeros(self.high.shape, dtype=np.int64)
        for group in np.flatnonzero(cells):
            done[self.raises[group], self.label[group], self.feature[group]] += cells[group]
        return done

    def falls(self, point: int, rival: int, low: Ints, high: Ints) -> bool:
        """Decide exactly whether ``rival`` catches up with the winner of ``point`` with these counts."""
        return not self.model.exceeds(int(self.winner[point]), low.tolist(), rival, high.tolist())

    def fallen_to(self, cells: Ints) -> list[int]:
        """Return for each point a label that catches up with its winner, -1 where none does."""
        low, high = self.low - self.lowered(cells), self.high + self.raised(cells)
        found = [-1] * self.n_points
        for point, rival in product(range(self.n_points), range(self.n_labels)):
            is_open = found[point] < 0 and rival != self.winner[point]
            if is_open and self.falls(point, rival, low[point], high[point, rival]):
                found[point] = rival
        return found

    def succeeds(self, cells: Ints) -> bool:
        """Decide exactly whether ``cells`` is an attack: within capacity, and every point falls."""
        inside = bool(np.all(cells >= 0) and np.all(cells <= self.capacity))
        return inside and -1 not in self.fallen_to(cells)

    def n_cells(self, group: int) -> Ints:
        """Return the number of a group's cells within reach, by value."""
        known = self.reach.index.known[self.feature[group]]
        return np.asarray(known[self.values[group], self.label[group]])

    def blanks(self, cells: Ints) -> tuple[Cells, ...]:
        """Return the cells of the table to blank: in each group, the most frequent values first."""
        blanks = []
        for group in np.flatnonzero(cells).tolist():
            label, feature = int(self.label[group]), int(self.feature[group])
            counts = self.n_cells(group)
            order = np.argsort(-counts, kind="stable")
            room = counts[order]
            taken = np.clip(cells[group] - (np.cumsum(room) - room), 0, room)
            for value, n_cells in zip(
                self.values[group][order].tolist(), taken.tolist(), strict=True
            ):
                blanks += [Cells(label, feature, (value,), n_cells)] if n_cells else []
        return tuple(blanks)


class State:
    """An attack that is being changed: cells per group, the counts of all points then, and their logs.

    Floats only filter; a gap too close to zero to call is decided exactly, so `stands` is exact.
    """

    def __init__(self, problem: Problem, cells: Ints) -> None:
        self.problem = problem
        self.lower_points = [np.flatnonzero(row) for row in problem.lowers]
        self.raise_points = [np.flatnonzero(row) for row in problem.raises]
        self.set_all(cells)

    def set_all(self, cells: Ints) -> None:
        """Replace the whole attack."""
        problem = self.problem
        self.cells = cells.copy()
        self.low = problem.low - problem.lowered(cells)
        self.high = problem.high + problem.raised(cells)
        with np.errstate(divide="ignore"):
            self.log_low = problem.weights * np.log(self.low + problem.added)
            self.log_high = problem.weights * np.log(self.high + problem.added[:, None])

    def add(self, group: int, count: int) -> None:
        """Blank ``count`` more cells of ``group``; a negative count gives cells back."""
        problem = self.problem
        self.cells[group] += count
        feature = problem.feature[group]
        low = self.lower_points[group], feature
        high = self.raise_points[group], problem.label[group], feature
        self.low[low] -= count
        self.high[high] += count
        with np.errstate(divide="ignore"):
            weight = problem.weights[feature]
            self.log_low[low] = weight * np.log(self.low[low] + problem.alpha)
            self.log_high[high] = weight * np.log(self.high[high] + problem.alpha)

    def gaps(self, points: Ints) -> Floats:
        """Return the log gap between winner and each label; the winner's own gap is infinite."""
        winner, constants = self.problem.winner[points], self.problem.constants[points]
        left = self.log_low[points].sum(axis=1) + constants[np.arange(len(winner)), winner]
        right = self.log_high[points].sum(axis=2) + constants
        with np.errstate(invalid="ignore"):
            gap = left[:, None] - right
        gap[np.isneginf(left)] = -np.inf
        gap[np.arange(len(winner)), winner] = np.inf
        return np.asarray(gap, dtype=np.float64)

    def stands(self, points: Ints | None = None) -> Bools:
        """Return for each of ``points`` whether it is still certain."""
        if points is None:
            points = np.arange(self.problem.n_points)
        gap = self.gaps(points)
        least = gap.min(axis=1)
        stands = least > 0
        for row in np.flatnonzero(np.abs(least) <= self.problem.unsure):
            point, rivals = int(points[row]), np.flatnonzero(gap[row] <= self.problem.unsure)
            low, high = self.low[point], self.high[point]
            stands[row] = not any(
                self.problem.falls(point, rival, low, high[rival]) for rival in rivals.tolist()
            )
        return np.asarray(stands)

    def trim(self, group: int) -> None:
        """Give back the cells of ``group`` that no point needs, if all points have fallen.

        Mostly there are none, or few: steps double as long as they succeed, then they are halved.
        """
        points = np.concatenate([self.lower_points[group], self.raise_points[group]])
        step, grows = 1, True
        while step:
            give = min(step, int(self.cells[group]))
            self.add(group, -give)
            if not give or self.stands(points).any():
                self.add(group, give)
                grows = False
            step = 2 * step if grows else step // 2
