"""Cleaning by brute force: what any cells with any values do for a point, world by world.

The worlds of a table form a grid with one axis per hole. Filling some holes picks a part of the
grid; a point is certain there if all worlds of the part have the same single winner.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from support import oracle
from support.counted import index_of as index_of
from support.counted import options_of as options_of
from support.strategies import Case, holes, random_case

TIE = -1
# Equals no value of any table.
_LEFT_OUT = "left out"
Hole = tuple[int, int]


def is_complete(point: Sequence[Any], own_missing: str = "any") -> bool:
    """Whether a point has one value for every feature that is not left out."""
    return not any(
        (cell is None and own_missing == "any") or (isinstance(cell, frozenset) and len(cell) > 1)
        for cell in point
    )


class Grid:
    """The winners of one point in all worlds; the last axis is the completions of the point.

    With ``own_missing="skip"`` the features that the point does not know leave the product.
    """

    def __init__(self, case: Case, point: Sequence[Any], own_missing: str = "any") -> None:
        self.case, self.domains = case, case.domains
        self._kept = [j for j, cell in enumerate(point) if own_missing == "any" or cell is not None]
        if own_missing == "skip":
            point = [_LEFT_OUT if cell is None else cell for cell in point]
        self.names = oracle.distinct(case.labels)
        self.holes = holes(case)
        self.options = [oracle.candidates(case.rows[i][j], self.domains[j]) for i, j in self.holes]
        self.points = list(oracle.completions(point, self.domains))
        shape = (*map(len, self.options), len(self.points))
        self._support = functools.cache(self._support_of)
        winners = functools.cache(self._winners_of)
        fixed = {filled: self._fixed(filled) for filled in self.points}
        counts = [
            self._counts(values, filled, fixed[filled])
            for values in itertools.product(*self.options)
            for filled in self.points
        ]
        self._reached = {*counts}
        self.sets = [winners(own) for own in counts]
        codes = [
            self.names.index(min(own, key=repr)) if len(own) == 1 else TIE for own in self.sets
        ]
        self.winners = np.array(codes).reshape(shape)

    def _counts(
        self, values: Sequence[Any], point: Sequence[Any], fixed: oracle.Counts
    ) -> oracle.Counts:
        counts = {label: [0] * len(point) for label in self.names}
        for (i, j), value in zip(self.holes, values, strict=True):
            counts[self.case.labels[i]][j] += value == point[j]
        return tuple(
            tuple(a + b for a, b in zip(own, counts[label], strict=True))
            for own, label in zip(fixed, self.names, strict=True)
        )

    def _fixed(self, point: tuple[Any, ...]) -> oracle.Counts:
        """What the cells count that are no holes."""
        rows = [
            [
                None if (i, j) in self.holes else oracle.candidates(cell, self.domains[j])[0]
                for j, cell in enumerate(row)
            ]
            for i, row in enumerate(self.case.rows)
        ]
        return oracle.count(rows, self.case.labels, self.names, point)

    def _support_of(self, label: Any, own: tuple[int, ...]) -> Fraction:
        n_rows = self.case.labels.count(label)
        counts, domains = [own[j] for j in self._kept], [self.domains[j] for j in self._kept]
        return oracle.support(self._shares[label], counts, n_rows, domains, self.case.alpha)

    def _winners_of(self, counts: oracle.Counts) -> frozenset[Any]:
        pairs = zip(self.names, counts, strict=True)
        return oracle.winners({label: self._support(label, own) for label, own in pairs})

    @functools.cached_property
    def _shares(self) -> oracle.Supports:
        return oracle.shares(self.case.labels, self.names, self.case.prior)

    def certain(self, filled: Sequence[Hole]) -> NDArray[np.bool_]:
        """For all values of the filled holes at once: whether one label wins whatever the rest is."""
        rest = tuple(k for k, hole in enumerate(self.holes) if hole not in filled)
        rest = (*rest, len(self.holes))
        least, most = self.winners.min(axis=rest), self.winners.max(axis=rest)
        found: NDArray[np.bool_] = (least == most) & (least != TIE)
        return found

    def best(self) -> float:
        """The fewest holes that some values of them make the point certain."""
        for n_cells in range(len(self.holes) + 1):
            for chosen in itertools.combinations(self.holes, n_cells):
                if self.certain(chosen).any():
                    return n_cells
        return math.inf

    def mattering(self) -> list[Hole]:
        """Holes that may hold the point's value, but need not, of labels that may win or tie.

        Labels without support in any world may tie at zero, but their holes change nothing.
        """
        (point,) = self.points
        possible = {
            label
            for place, label in enumerate(self.names)
            if any(label in own for own in self.sets)
            and any(self._support(label, counts[place]) for counts in self._reached)
        }
        return [
            (i, j)
            for (i, j), options in zip(self.holes, self.options, strict=True)
            if self.case.labels[i] in possible and point[j] in options
        ]

    def worst(self) -> float:
        """How long filling what matters can leave a point open that becomes certain at last."""
        if not self.can_be_certain():
            return math.inf
        cells = self.mattering()
        for n_cells in range(len(cells), -1, -1):
            for chosen in itertools.combinations(cells, n_cells):
                rest = tuple(k for k, hole in enumerate(self.holes) if hole not in chosen)
                wins = (self.winners != TIE).any(axis=(*rest, len(self.holes)))
                if (wins & ~self.certain(chosen)).any():
                    return n_cells + 1
        return 0

    def can_be_certain(self) -> bool:
        """Whether some values of all holes make the point certain."""
        return bool(self.certain(self.holes).any())

    def after(self, values: dict[Hole, Any]) -> NDArray[np.int64]:
        """The winners in all worlds that are left once some holes hold these values."""
        where = tuple(
            options.index(values[hole]) if hole in values else slice(None)
            for hole, options in zip(self.holes, self.options, strict=True)
        )
        found: NDArray[np.int64] = np.atleast_1d(self.winners[where])
        return found

    def odds(self, how: str, values: dict[Hole, Any] | None = None) -> dict[Any, Fraction]:
        """How likely each label wins; ties are shared out. The point must be complete."""
        given = values or {}
        total: dict[Any, Fraction] = dict.fromkeys(self.names, Fraction(0))
        chances = [self.chances(k, how, given) for k in range(len(self.holes))]
        for world, winners in zip(itertools.product(*chances), self.sets, strict=True):
            weight = math.prod(world, start=Fraction(1))
            for label in winners:
                total[label] += weight / len(winners)
        return total

    def chances(self, place: int, how: str, given: dict[Hole, Any]) -> list[Fraction]:
        """How likely each option of a hole is, once some holes hold given values."""
        (i, j), options = self.holes[place], self.options[place]
        if (i, j) in given:
            return [Fraction(option == given[i, j]) for option in options]
        weights = [1] * len(options)
        if how == "observed":
            column = [given.get((r, j), row[j]) for r, row in enumerate(self.case.rows)]
            known = [
                oracle.candidates(cell, self.domains[j])[0]
                for cell, label in zip(column, self.case.labels, strict=True)
                if label == self.case.labels[i]
                and len(oracle.candidates(cell, self.domains[j])) == 1
            ]
            weights = [known.count(value) for value in options]
            weights = weights if sum(weights) else [1] * len(options)
        return [Fraction(weight, sum(weights)) for weight in weights]


def fewest_by_counts(
    low: Sequence[Sequence[int]],
    high: Sequence[Sequence[int]],
    alpha: Fraction,
    weights: Sequence[Fraction],
) -> float:
    """The fewest cells by dynamic programming over the features; a weight is all but the counts.

    A label's support is its weight times the product of its counts plus alpha.
    """
    raised = [_products(a, b, alpha, up=True) for a, b in zip(low, high, strict=True)]
    lowered = [_products(a, b, alpha, up=False) for a, b in zip(low, high, strict=True)]
    best = math.inf
    for winner, sizes in enumerate(raised):
        for n_cells, size in enumerate(sizes):
            total: float = n_cells
            for rival, others in enumerate(lowered):
                if rival != winner:
                    ahead = (
                        n
                        for n, other in enumerate(others)
                        if weights[winner] * size > weights[rival] * other
                    )
                    total += next(ahead, math.inf)
            best = min(best, total)
    return best


def _products(
    low: Sequence[int], high: Sequence[int], alpha: Fraction, *, up: bool
) -> list[Fraction]:
    """The greatest (least) product after each number of cells was raised (lowered)."""
    choose = max if up else min
    found = [Fraction(1)]
    for a, b in zip(low, high, strict=True):
        terms = [(a + n if up else b - n) + alpha for n in range(b - a + 1)]
        found = [
            choose(
                found[n - k] * terms[k]
                for k in range(max(0, n - len(found) + 1), min(n, len(terms) - 1) + 1)
            )
            for n in range(len(found) + len(terms) - 1)
        ]
    return found


def small_case(rng: Any, n_worlds: int = 130) -> Case:
    """A random table with at least one hole, and with few enough worlds to look at all parts."""
    while True:
        case = random_case(rng)
        sizes = [len(oracle.candidates(case.rows[i][j], case.domains[j])) for i, j in holes(case)]
        if sizes and len(sizes) <= 7 and math.prod(sizes) <= n_worlds:
            return case


def random_truth(case: Case, rng: Any) -> dict[Hole, Any]:
    """A value for every hole."""
    return {
        (i, j): rng.choice(oracle.candidates(case.rows[i][j], case.domains[j]))
        for i, j in holes(case)
    }


def with_values(case: Case, values: dict[Hole, Any]) -> list[tuple[Any, ...]]:
    """The rows with some holes filled."""
    return [
        tuple(values.get((i, j), cell) for j, cell in enumerate(row))
        for i, row in enumerate(case.rows)
    ]


def own_missing(case: Case) -> list[tuple[int, int]]:
    """The cells that points lack, or that may hold several values."""
    return [
        (place, j)
        for place, point in enumerate(case.points)
        for j, cell in enumerate(point)
        if cell is None or (isinstance(cell, frozenset) and len(cell) > 1)
    ]


def own_truth(case: Case, rng: Any) -> dict[tuple[int, int], Any]:
    """A value for every cell that a point lacks."""
    return {
        (place, j): rng.choice(oracle.candidates(case.points[place][j], case.domains[j]))
        for place, j in own_missing(case)
    }


def with_own(case: Case, values: dict[tuple[int, int], Any]) -> list[tuple[Any, ...]]:
    """The points with some of their cells filled."""
    return [
        tuple(values.get((place, j), cell) for j, cell in enumerate(point))
        for place, point in enumerate(case.points)
    ]
