"""Cleaning by brute force: what any cells with any values do for a point, world by world.

The worlds of a table form a grid with one axis per missing cell. Filling some cells picks a part of
the grid; a point is certain there if all worlds of the part have the same single winner. A feature
that the point does not know is left out.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from support import odds_oracle, oracle
from support.attack_tables import attack_case
from support.strategies import Case, holes

TIE = -1
Place = tuple[int, int]  # row and feature


def completed(point: Sequence[Any]) -> tuple[Any, ...]:
    """Return a point with the first of its candidates; missing cells stay missing."""
    return tuple(min(cell) if isinstance(cell, frozenset) else cell for cell in point)


class Grid:
    """The winners of one point without candidates in all worlds of a table."""

    def __init__(self, case: Case, point: Sequence[Any]) -> None:
        self.case, self.domains = case, case.domains
        self.places = holes(case)
        self.options = [oracle.candidates(case.rows[i][j], self.domains[j]) for i, j in self.places]
        names = oracle.distinct(case.labels)
        winners = []
        for values in itertools.product(*self.options):
            rows = with_values(case, dict(zip(self.places, values, strict=True)))
            # A missing cell in a column of one value is as good as known.
            world = next(oracle.worlds(rows, self.domains))
            supports = case.supports(world, point)
            best = oracle.winners(supports)
            winners.append(names.index(next(iter(best))) if len(best) == 1 else TIE)
        self.winners = np.array(winners).reshape([len(own) for own in self.options])

    def certain(self, filled: Sequence[Place]) -> NDArray[np.bool_]:
        """For all values of the filled cells at once: does one label win whatever the rest is?"""
        rest = tuple(k for k, place in enumerate(self.places) if place not in filled)
        least, most = self.winners.min(axis=rest), self.winners.max(axis=rest)
        found: NDArray[np.bool_] = np.asarray((least == most) & (least != TIE))
        return found

    def after(self, values: dict[Place, Any]) -> set[int]:
        """The winners in all worlds that are left once some cells hold these values."""
        where = tuple(
            options.index(values[place]) if place in values else slice(None)
            for place, options in zip(self.places, self.options, strict=True)
        )
        return {*np.atleast_1d(self.winners[where]).ravel().tolist()}

    def expected(self, filled: Sequence[Place]) -> Fraction:
        """How likely the point is certain once some cells are filled as the known ones are."""
        weights = np.ones((), dtype=object)
        for place in self.places:
            if place in filled:
                weights = np.multiply.outer(weights, np.array(self.chances(place)))
        return Fraction((weights * self.certain(filled)).sum())

    def chances(self, place: Place) -> list[Fraction]:
        """How likely each value of a missing cell is: as frequent as among the known ones."""
        weights = [weight for _, weight in odds_oracle.chances(self.case, *place, "observed")]
        return [Fraction(weight, sum(weights)) for weight in weights]


def cleaning_case(rng: random.Random, n_worlds: int = 130) -> Case:
    """Draw a table with missing cells, few enough to look at all worlds, and points near its rows."""
    while True:
        case = attack_case(rng, max_rows=9, max_features=3, n_points=3)
        points = tuple(completed(point) for point in case.points)
        case = replace(case, points=points)
        sizes = [len(case.domains[j]) for _, j in holes(case)]
        if sizes and len(sizes) <= 7 and math.prod(sizes) <= n_worlds:
            return case


def random_truth(case: Case, rng: random.Random) -> dict[Place, Any]:
    """Draw a value for every missing cell."""
    return {(i, j): rng.choice(case.domains[j]) for i, j in holes(case)}


def with_values(case: Case, values: dict[Place, Any]) -> list[tuple[Any, ...]]:
    """Fill some missing cells."""
    return [
        tuple(values.get((i, j), cell) for j, cell in enumerate(row))
        for i, row in enumerate(case.rows)
    ]
