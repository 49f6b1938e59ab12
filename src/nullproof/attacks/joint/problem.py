"""The joint poisoning problem on counts (theory 5).

A blanked cell helps in two ways: it lowers the winner's count for points that hold its value, and
raises a rival's count for points that hold another one. Cells of one label and feature that do the
same to every point are interchangeable, so the unknowns are one integer per such *group*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, log, nan, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

# Sums of a few hundred logs below 1e4 err by less than 1e-10; the rest is safety.
UNSURE = 1e-8
# Beyond this, or its inverse, doubles over- or underflow.
_TINY = Fraction(1, 10**250)


@dataclass(frozen=True)
class Counts:
    """What the attacker knows of the table and of the points.

    ``exact[j]`` counts per value and label the cells known to hold the value; ``codes`` holds one
    row per point, a code outside ``0 .. n_values[j] - 1`` being an unseen value; ``low`` and
    ``high`` are points x labels x features. ``sets`` lists the cells with several candidates that
    are not all of the domain.
    """

    exact: Sequence[Ints]
    n_values: Ints
    codes: Ints
    low: Ints
    high: Ints
    label_counts: Ints
    alpha: Fraction = Fraction(0)
    prior: Sequence[Fraction] | None = None
    sets: Sequence[CandidateCells] = ()


@dataclass(frozen=True)
class CandidateCells:
    """``count`` cells of one label and feature that share one set of candidate values."""

    label: int
    feature: int
    values: frozenset[int]
    count: int


@dataclass(frozen=True)
class Part:
    """Cells that one group draws from: those known to hold ``values``, or that candidate set."""

    values: frozenset[int]
    count: int


@dataclass(frozen=True)
class Problem:
    """Groups of interchangeable cells and what they do to each point.

    ``position`` maps every given point to a row here, -1 for points that are open already;
    equal points share a row. Groups are sorted by label, then feature.
    """

    position: Ints
    winner: Ints
    low: Ints
    high: Ints
    weight: tuple[Fraction, ...]
    alpha: Fraction
    label: Ints
    feature: Ints
    capacity: Ints
    lowers: Bools
    raises: Bools
    parts: tuple[tuple[Part, ...], ...]

    @property
    def n_points(self) -> int:
        """Number of distinct points that are certain before the attack."""
        return len(self.winner)

    @property
    def n_groups(self) -> int:
        """Number of groups of interchangeable cells."""
        return len(self.capacity)

    @property
    def floats_hold(self) -> bool:
        """Whether doubles can tell counts apart with this smoothing added, and take their logs."""
        return self.alpha == 0 or _TINY <= self.alpha <= 1 / _TINY

    @property
    def float_alpha(self) -> float:
        """The smoothing as a double; NaN where none will do, so that no comparison with it holds."""
        return float(self.alpha) if self.floats_hold else nan

    def lowered(self, cells: Ints) -> Ints:
        """Return how far ``cells`` lower the winner's counts, points x features."""
        done = np.zeros(self.low.shape, dtype=np.int64)
        group, point = np.nonzero(self.lowers)
        np.add.at(done, (point, self.feature[group]), cells[group])
        return done

    def raised(self, cells: Ints) -> Ints:
        """Return how far ``cells`` raise every other label's counts, points x labels x features."""
        done = np.zeros(self.high.shape, dtype=np.int64)
        used = np.flatnonzero(cells)
        for group in used:
            done[self.raises[group], self.label[group], self.feature[group]] += cells[group]
        return done

    def falls(self, point: int, rival: int, lowered: Ints, raised: Ints) -> bool:
        """Tell exactly whether ``rival`` ties or beats the winner after these changes (T2)."""
        winner = int(self.winner[point])
        left = self.support(winner, self.low[point] - lowered)
        return left <= self.support(rival, self.high[point, rival] + raised)

    def support(self, label: int, counts: Ints) -> Fraction:
        """Return the exact support of ``label`` (theory 2)."""
        return self.weight[label] * _product(counts, self.alpha)

    def fallen_to(self, cells: Ints) -> list[int]:
        """Return for each point a label that ties or beats its winner, -1 where none does."""
        lowered, raised = self.lowered(cells), self.raised(cells)
        found = []
        for point in range(self.n_points):
            rivals = (k for k in range(len(self.weight)) if k != self.winner[point])
            falls = (k for k in rivals if self.falls(point, k, lowered[point], raised[point, k]))
            found.append(next(falls, -1))
        return found

    def succeeds(self, cells: Ints) -> bool:
        """Tell exactly whether ``cells`` is an attack: within capacity, and every point falls."""
        inside = bool(np.all(cells >= 0) and np.all(cells <= self.capacity))
        return inside and min(self.fallen_to(cells), default=0) >= 0


def build_problem(counts: Counts) -> Problem:
    """Group the cells of ``counts`` by what they do to the points that are certain now."""
    weight = _weights(counts)
    winners = [_winner(counts, weight, point) for point in range(len(counts.codes))]
    position, kept = _distinct(counts.codes, winners)
    winner = np.array([winners[point] for point in kept], dtype=np.int64)
    groups = _Groups(counts, winner, counts.codes[kept])
    return Problem(
        position=position,
        winner=winner,
        low=counts.low[kept, winner],
        high=counts.high[kept],
        weight=weight,
        alpha=counts.alpha,
        **groups.arrays(),
    )


def _distinct(codes: Ints, winners: list[int]) -> tuple[Ints, list[int]]:
    """Return the row of each point among the distinct certain ones, and which points those are."""
    position = np.full(len(winners), -1, dtype=np.int64)
    rows: dict[bytes, int] = {}
    kept: list[int] = []
    for point, winner in enumerate(winners):
        if winner >= 0:
            row = rows.setdefault(codes[point].tobytes(), len(kept))
            if row == len(kept):
                kept.append(point)
            position[point] = row
    return position, kept


def log_fraction(value: Fraction) -> float:
    """Return the log of a fraction too small for a float; minus infinity for zero."""
    return log(value.numerator) - log(value.denominator) if value > 0 else -inf


def _product(counts: Ints, alpha: Fraction) -> int:
    """Return the product of ``count + alpha``, times a power of alpha's denominator."""
    return prod(alpha.denominator * int(count) + alpha.numerator for count in counts.tolist())


def _weights(counts: Counts) -> tuple[Fraction, ...]:
    """Return per label everything in its support that no blanked cell changes."""
    totals = counts.label_counts.tolist()
    prior = counts.prior or [Fraction(total, max(1, sum(totals))) for total in totals]
    bottom, top = counts.alpha.denominator, counts.alpha.numerator
    found = []
    for share, total in zip(prior, totals, strict=True):
        below = prod(bottom * total + top * size for size in counts.n_values.tolist())
        found.append(share / below if below else Fraction(0))
    return tuple(found)


def _winner(counts: Counts, weight: tuple[Fraction, ...], point: int) -> int:
    """Return the label that is certain for a point before the attack, -1 if none is (T2)."""

    def support(label: int, bounds: Ints) -> Fraction:
        return weight[label] * _product(bounds[point, label], counts.alpha)

    labels = range(len(weight))
    lows = [support(label, counts.low) for label in labels]
    winner = max(labels, key=lows.__getitem__)
    beaten = all(lows[winner] > support(k, counts.high) for k in labels if k != winner)
    return winner if beaten else -1


class _Groups:
    """Collects cells by label, feature and effect."""

    def __init__(self, counts: Counts, winner: Ints, codes: Ints) -> None:
        self.winner, self.codes, self.n_values = winner, codes, counts.n_values
        self.found: dict[tuple[int, int, bytes, bytes], list[Part]] = {}
        for feature, size in enumerate(counts.n_values.tolist()):
            # A one-value domain forces even its blank cells, so blanking changes nothing.
            if size >= 2:
                for value, label in np.argwhere(counts.exact[feature][:size] > 0).tolist():
                    count = int(counts.exact[feature][value, label])
                    self._add(label, feature, Part(frozenset([value]), count))
        for cells in counts.sets:
            self._add(cells.label, cells.feature, Part(cells.values, cells.count))

    def _add(self, label: int, feature: int, part: Part) -> None:
        code = self.codes[:, feature]
        inside = np.isin(code, list(part.values))
        mine = self.winner == label
        lowers = mine & inside & (len(part.values) == 1)
        raises = ~mine & ~inside & (code >= 0) & (code < self.n_values[feature])
        if lowers.any() or raises.any():
            key = (label, feature, lowers.tobytes(), raises.tobytes())
            self.found.setdefault(key, []).append(part)

    def arrays(self) -> dict[str, Any]:
        """Return the fields of ``Problem`` that describe groups."""
        keys = sorted(self.found)
        shape = (len(keys), len(self.winner))
        return {
            "label": np.array([key[0] for key in keys], dtype=np.int64),
            "feature": np.array([key[1] for key in keys], dtype=np.int64),
            "capacity": np.array([sum(p.count for p in self.found[key]) for key in keys], np.int64),
            "lowers": np.array([np.frombuffer(k[2], bool) for k in keys], bool).reshape(shape),
            "raises": np.array([np.frombuffer(k[3], bool) for k in keys], bool).reshape(shape),
            "parts": tuple(tuple(self.found[key]) for key in keys),
        }
