"""The joint poisoning problem on counts (theory 5).

A blanked cell helps in two ways: it lowers the winner's count for points that hold its value, and
raises a rival's count for points that hold another one. Cells of one label and feature that do the
same to every point are interchangeable, so the unknowns are one integer per such *group*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import log, nan

import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.attack import taken
from nullproof.counts.index import LEFT_OUT
from nullproof.counts.update import Cells
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.radii.results import Radii
from nullproof.radii.solving import PointCounts

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Gaps closer to 0 are left to integers, even where their error is less.
_UNSURE = 1e-8
# Beyond this, or its inverse, doubles over- or underflow.
_TINY = Fraction(1, 10**250)
# A move of the search is one number: its group times this, plus its count.
KEY = 1 << 40


@dataclass(frozen=True)
class Problem:
    """Groups of interchangeable cells and what they do to each point.

    ``low`` holds the winner's counts, points x features; ``high`` those of all labels, points x
    labels x features; blanking changes them where the point's feature is ``movable``, and they are
    `LEFT_OUT` where the point leaves it out. Groups are sorted by label, then feature; ``sorts`` are
    the cells of each. It is ``limited`` if some rows are out of reach.
    """

    model: Model
    winner: Ints
    low: Ints
    high: Ints
    movable: Bools
    label: Ints
    feature: Ints
    lowers: Bools
    raises: Bools
    sorts: tuple[tuple[Cells, ...], ...]
    capacity: Ints
    limited: bool

    @classmethod
    def of(cls, found: Radii, places: Sequence[int]) -> Problem:
        """Group the cells within reach by what they do to some different points, all breakable."""
        model, reach = found.model, found.reach
        codes, winner = found.codes[:, places], found.winner[places].astype(np.int64)
        counts = PointCounts(model, codes, reach)
        groups: dict[tuple[int, int, bytes, bytes], list[Cells]] = {}
        for cells in reach.cells():
            own, movable = codes[cells.feature], counts.is_movable[cells.feature]
            inside, mine = np.isin(own, cells.candidates), winner == cells.label
            lowers = mine & inside & movable & (len(cells.candidates) == 1)
            raises = ~mine & ~inside & movable
            if lowers.any() or raises.any():
                key = (cells.label, cells.feature, lowers.tobytes(), raises.tobytes())
                groups.setdefault(key, []).append(cells)
        keys = sorted(groups)
        sorts = tuple(tuple(groups[key]) for key in keys)
        shape = (len(keys), len(winner))
        return cls(
            model,
            winner,
            counts.low.transpose(1, 2, 0)[np.arange(len(winner)), winner],
            counts.high.transpose(1, 2, 0)[np.arange(len(winner))],
            counts.is_movable.T,
            label=np.array([key[0] for key in keys], dtype=np.int64),
            feature=np.array([key[1] for key in keys], dtype=np.int64),
            lowers=np.array([np.frombuffer(key[2], bool) for key in keys], bool).reshape(shape),
            raises=np.array([np.frombuffer(key[3], bool) for key in keys], bool).reshape(shape),
            sorts=sorts,
            capacity=np.array([sum(c.n_cells for c in own) for own in sorts], dtype=np.int64),
            limited=reach.mask is not None,
        )

    def part(self, points: Sequence[int]) -> Problem:
        """Return the problem for some of the points, with the same groups."""
        keep = np.array(points, dtype=np.int64)
        return replace(
            self,
            winner=self.winner[keep],
            low=self.low[keep],
            high=self.high[keep],
            movable=self.movable[keep],
            lowers=self.lowers[:, keep],
            raises=self.raises[:, keep],
        )

    @property
    def n_points(self) -> int:
        """Number of points to break."""
        return len(self.winner)

    @property
    def n_labels(self) -> int:
        """Number of labels of the model."""
        return self.model.m

    @property
    def n_groups(self) -> int:
        """Number of groups of interchangeable cells."""
        return len(self.capacity)

    @property
    def floats_hold(self) -> bool:
        """Whether doubles can tell counts apart with this smoothing added, and take their logs.

        Nor does the search count more cells of one group than `KEY`.
        """
        if int(self.capacity.max(initial=0)) >= KEY:
            return False
        return self.model.alpha == 0 or _TINY <= self.model.alpha <= 1 / _TINY

    @property
    def alpha(self) -> float:
        """The smoothing as a double; NaN where none will do, so that no comparison with it holds."""
        return float(self.model.alpha) if self.floats_hold else nan

    @cached_property
    def error(self) -> float:
        """What rounding adds at most to a gap between two log supports (theory 2)."""
        index, alpha = self.model.index, self.model.alpha
        # A support has up to six logs a feature, of counts, sizes and parts of the smoothing.
        most = int(index.label_counts.max()) + 1 + alpha * int(index.n_values.max())
        largest = max(log(part) for part in (*most.as_integer_ratio(), alpha.denominator))
        shares = self.model.log_prior[np.isfinite(self.model.log_prior)]
        magnitude = float(np.abs(shares).max()) + 6 * (self.model.d + 1) * largest
        return 2 * float(self.model.slack(magnitude))

    @property
    def unsure(self) -> float:
        """Gaps of log supports this near to 0 are decided by integers."""
        return max(_UNSURE, self.error)

    @cached_property
    def added(self) -> Floats:
        """What to add to counts before taking logs, points x features.

        That is the smoothing; for a feature that is left out, what makes its factor 1.
        """
        return np.where(self.low == LEFT_OUT, 1.0 - LEFT_OUT, self.alpha)

    @cached_property
    def log_weights(self) -> Floats:
        """The logarithm of all in a support that no count changes, points x labels."""
        index = self.model.index
        sizes = index.label_counts[:, None] + self.alpha * index.n_values
        # The weight of a label without any support is -inf already.
        below = np.log(np.where(sizes == 0, 1.0, sizes))
        # The denominators of features that are left out come back.
        return np.asarray(self.model.log_constants + (self.low == LEFT_OUT) @ below.T)

    def lowered(self, cells: Ints) -> Ints:
        """Return how far ``cells`` lower the winner's counts, points x features."""
        done = np.zeros(self.low.shape, dtype=np.int64)
        group, point = np.nonzero(self.lowers)
        np.add.at(done, (point, self.feature[group]), cells[group])
        return done

    @cached_property
    def room(self) -> Ints:
        """By how much the winner's counts can be lowered, points x features."""
        return self.lowered(self.capacity)

    def raised(self, cells: Ints) -> Ints:
        """Return how far ``cells`` raise every other label's counts, points x labels x features."""
        done = np.zeros(self.high.shape, dtype=np.int64)
        used = np.flatnonzero(cells)
        for group in used:
            done[self.raises[group], self.label[group], self.feature[group]] += cells[group]
        return done

    def falls(self, point: int, rival: int, low: Ints, high: Ints) -> bool:
        """Tell exactly whether ``rival`` ties or beats the winner of ``point`` with these counts."""
        return not self.model.exceeds(int(self.winner[point]), low.tolist(), rival, high.tolist())

    def fallen_to(self, cells: Ints) -> list[int]:
        """Return for each point a label that ties or beats its winner, -1 where none does."""
        low, high = self.low - self.lowered(cells), self.high + self.raised(cells)
        found = []
        for point in range(self.n_points):
            rivals = (k for k in range(self.n_labels) if k != self.winner[point])
            falls = (k for k in rivals if self.falls(point, k, low[point], high[point, k]))
            found.append(next(falls, -1))
        return found

    def succeeds(self, cells: Ints) -> bool:
        """Tell exactly whether ``cells`` is an attack: within capacity, and every point falls."""
        inside = bool(np.all(cells >= 0) and np.all(cells <= self.capacity))
        return inside and -1 not in self.fallen_to(cells)

    def blanks(self, cells: Ints) -> tuple[Cells, ...]:
        """Return which cells of the table to blank: those of a group are taken sort by sort."""
        return tuple(
            blank
            for group in np.flatnonzero(cells).tolist()
            for blank in taken(self.sorts[group], int(cells[group]))
        )
