"""Which cells of its own a point should be asked for, in which order, and what they will bring.

A point's own cells matter to this point alone. In the best order the chance that it is done grows from
cell to cell; where the first cell brings little without the second, they go together: a package.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.cleaning.holed import Holed
from nullproof.data.points import Points
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.odds.filling import Filling

_TINY = 1e-9


class Package(NamedTuple):
    """Cells of one point that are best filled together.

    Parameters
    ----------
    gain
        By how much they raise the chance that the point is done, on average over random fillings.
    """

    point: int
    features: tuple[int, ...]
    gain: float
    cost: float

    @property
    def density(self) -> float:
        """What the package brings per unit of cost."""
        return self.gain / self.cost


def packages(
    model: Model,
    points: Points,
    filling: Filling,
    confidence: float,
    costs: Floats,
    *,
    n_draws: int = 32,
    seed: int = 1,
) -> list[Package]:
    """The packages of all points with holes, those that bring most for their cost first."""
    places = np.flatnonzero(~points.complete)
    rng, size = np.random.default_rng(seed), Holed.most(model.m, n_draws)
    found: list[Package] = []
    for start in range(0, len(places), size):
        some = places[start : start + size]
        holed = Holed(model, points.take(some), filling, confidence, (n_draws, rng))
        for place, own in enumerate(_of_each(holed, costs)):
            found += [one._replace(point=int(some[place])) for one in own]
    return sorted(found, key=lambda one: -one.density)


def _of_each(holed: Holed, costs: Floats) -> Iterator[list[Package]]:
    order = _order(holed, costs)
    chance = np.zeros((len(order), max(map(len, order)) + 1))
    chance[:, 0] = holed.done().mean(axis=0)
    for step in range(chance.shape[1] - 1):
        features = np.array([own[step] if step < len(own) else -1 for own in order])
        for j in np.unique(features[features >= 0]).tolist():
            holed.fill_own(j, np.flatnonzero(features == j))
        chance[:, step + 1] = holed.done().mean(axis=0)
    for place, own in enumerate(order):
        spent = np.cumsum([0.0, *costs[own]])
        yield [
            Package(place, tuple(own[a:b]), float(gain), float(cost))
            for a, b, gain, cost in envelope(chance[place, : len(own) + 1], spent)
        ]


def _order(holed: Holed, costs: Floats) -> list[list[int]]:
    """The features that each point lacks, those that bring its probable winner closest first."""
    n_points, rows = len(holed.points), np.arange(len(holed.points))
    wanting = [(j, np.flatnonzero(column.lacks)) for j, column in enumerate(holed.columns)]
    gains = {j: holed.gains(j, own).mean(axis=0) for j, own in wanting if len(own)}
    now = holed.leads.mean(axis=0)
    after = now.copy()
    for j, own in wanting:
        if len(own):
            after[own] += gains[j]
    itself = np.eye(holed.model.m, dtype=bool)
    winner = np.where(itself, np.inf, after).min(axis=2).argmax(axis=1)
    needs = np.maximum(-now[rows, winner], _TINY)
    needs[rows, winner] = 0.0
    scored: list[list[tuple[float, int]]] = [[] for _ in range(n_points)]
    for j, own in wanting:
        if len(own):
            closed = np.minimum(gains[j][np.arange(len(own)), winner[own]], needs[own]).sum(axis=1)
            for place, score in zip(own.tolist(), (closed / costs[j]).tolist(), strict=True):
                scored[place].append((-score, j))
    return [[j for _, j in sorted(own)] for own in scored]


def envelope(values: Floats, spent: Floats) -> Iterator[tuple[int, int, float, float]]:
    """Cut a rising curve where its steepest straight lines end: from, to, the rise and its cost."""
    here, last = 0, len(values) - 1
    while here < last:
        rise, cost = values[here + 1 :] - values[here], spent[here + 1 :] - spent[here]
        # Of equally steep lines the longest, unless nothing rises any more.
        slopes: NDArray[np.float64] = rise / cost
        top = slopes.max()
        there = last if top <= _TINY else here + 1 + int(np.flatnonzero(slopes >= top - _TINY)[-1])
        yield here, there, float(values[there] - values[here]), float(spent[there] - spent[here])
        here = there
