"""In which order cells are looked up: training cells by group, cells of the points by package.

Training cells matter to all points, a point's own cells to that point. What each kind brings for its
cost is foreseen, and the two are merged: whatever brings more goes first. Only the order of work
depends on this, never a verdict.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nullproof.cleaning.forecast import OwnPart, Part, forecast
from nullproof.cleaning.holed import chances
from nullproof.cleaning.packages import Package, envelope, packages
from nullproof.cleaning.ranges import Ranges, open_counts
from nullproof.cleaning.scores import Outlook
from nullproof.data.points import Points
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.odds.filling import Filling
from nullproof.progress import Progress, over, within

_N_DRAWS = 16
# Of very many points with holes a rougher guess is enough, since only the order depends on it.
_MANY, _MANY_DRAWS, _FEW_DRAWS = 5_000, 32, 8
# A point whose own cells make it done in so many fillings asks for no training cell.
_LIKELY = 0.95
# Packages that bring about the same for their cost are one step; this many cells per point.
_LEVELS = (0.75, 0.4, 0.2, 0.05, 0.0)


@dataclass(frozen=True, eq=False)
class Orders:
    """What the order depends on.

    Parameters
    ----------
    places
        The positions of the points that are not done.
    matter
        Points × labels: the labels whose cells can matter to a point (`contenders`).
    costs
        The cost of a cell of each feature.
    """

    model: Model
    points: Points
    places: NDArray[np.intp]
    matter: NDArray[np.bool_]
    confidence: float
    filling: Filling
    costs: Floats

    def parts(self, on_progress: Progress | None = None) -> list[Part | OwnPart]:
        """All that matters, in order."""
        trained = self._training(self.places, self.points, within(on_progress, 0.0, 0.5))
        if not len(self._lacking):
            return [*trained]
        first, later = self._own(trained)
        left, points = self._after(first)
        again = self._training(left, points, within(on_progress, 0.5, 0.9))
        again += [part for part in trained if part not in again]
        worth = [one for one in later if one.gain > 0]
        last = [one for one in later if one.gain <= 0]
        return [*_own_parts(first), *self._merged(left, again, worth), *_own_parts(last)]

    def own(self) -> tuple[list[Package], list[Package]]:
        """What points lack that is worth more than any training cell, and what else they lack."""
        if not len(self._lacking):
            return [], []
        return self._own(self._training(self.places, self.points, None))

    @property
    def _lacking(self) -> NDArray[np.intp]:
        """The points that are not done and that their own cells can help."""
        places = self.places
        found: NDArray[np.intp] = places[
            ~self.points.complete[places] & self.matter[places].any(axis=1)
        ]
        return found

    def _own(self, trained: list[Part]) -> tuple[list[Package], list[Package]]:
        holed = self._lacking
        own = [
            one._replace(point=int(holed[one.point]))
            for one in packages(
                self.model,
                self.points.take(holed),
                self.filling,
                self.confidence,
                self.costs,
                n_draws=_MANY_DRAWS if len(holed) <= _MANY else _FEW_DRAWS,
            )
        ]
        steepest = max((slope for slope, _ in self._slopes(self.places, trained)), default=0.0)
        n_first = sum(one.gain > 0 and one.density >= steepest for one in own)
        return own[:n_first], own[n_first:]

    def _training(
        self, places: NDArray[np.intp], points: Points, on_progress: Progress | None
    ) -> list[Part]:
        """The groups that matter to some points, those that probably settle most for least first."""
        ranges = Ranges.of(self.model, points.take(places))
        outlook = Outlook(self.model, ranges, self.matter[places], self.confidence)
        n_open = open_counts(self.model.index)
        left = outlook.matters
        found: list[Part] = []
        for _ in over(range(int(left.sum())), "ordering the cells", on_progress):
            scores = np.where(left, outlook.scores(n_open * self.costs), -np.inf)
            i, j = (int(place) for place in np.unravel_index(int(scores.argmax()), scores.shape))
            found.append(Part(i, j, int(n_open[i, j])))
            left[i, j] = False
            outlook.fill(i, j)
        return found

    def _slopes(
        self, places: NDArray[np.intp], parts: list[Part]
    ) -> list[tuple[float, list[Part]]]:
        """What training cells bring per cost, piece by piece of their order."""
        foreseen = forecast(
            self.model,
            self.points,
            places,
            self.filling,
            parts,
            confidence=self.confidence,
            n_draws=_N_DRAWS,
        )
        values = np.array([0.0, *foreseen.expected])
        spent = np.cumsum([0.0, *(part.n_cells * self.costs[part.feature] for part in parts)])
        return [(rise / cost, parts[a:b]) for a, b, rise, cost in envelope(values, spent)]

    def _after(self, first: list[Package]) -> tuple[NDArray[np.intp], Points]:
        """The points that probably are not done after the first packages, as they probably are then."""
        chance: dict[int, float] = {}
        codes = self.points.codes.copy()
        for one in first:
            chance[one.point] = chance.get(one.point, 0.0) + one.gain
            for j in one.features:
                candidates = self.points.candidates(j, int(codes[j, one.point]))
                likely = chances(self.model, self.filling, j, candidates)
                codes[j, one.point] = candidates[int(likely.argmax())]
        left = [t for t in self.places.tolist() if chance.get(t, 0.0) < _LIKELY]
        return np.array(left, dtype=np.intp), self.points.with_codes(codes)

    def _merged(
        self, places: NDArray[np.intp], trained: list[Part], own: list[Package]
    ) -> Iterator[Part | OwnPart]:
        """Both kinds, each piece before those that bring less for their cost."""
        if not own:
            yield from trained
            return
        for slope, parts in self._slopes(places, trained):
            ahead = [one for one in own if one.density >= slope]
            own = own[len(ahead) :]
            yield from _own_parts(ahead)
            yield from parts
        yield from _own_parts(own)


def _own_parts(own: Sequence[Package]) -> Iterator[OwnPart]:
    """Packages as cells, feature by feature among those that bring about the same."""
    start = 0
    while start < len(own):
        level = next(level for level in _LEVELS if own[start].density >= level)
        end = start
        while end < len(own) and own[end].density >= level:
            end += 1
        by_feature: dict[int, list[int]] = {}
        for one in own[start:end]:
            for j in one.features:
                by_feature.setdefault(j, []).append(one.point)
        for j, points in by_feature.items():
            yield OwnPart(j, tuple(points))
        start = end


def affordable(
    parts: Iterable[Part | OwnPart], budget: float | None, costs: Floats
) -> Iterator[Part | OwnPart]:
    """What a budget allows; of cells that are too dear together, some."""
    left = math.inf if budget is None else float(budget)
    for part in parts:
        cost = float(costs[part.feature])
        n_bought = part.n_cells
        if left / cost * (1 + 1e-12) < n_bought:
            n_bought = int(left / cost * (1 + 1e-12))
        if n_bought > 0:
            if isinstance(part, OwnPart):
                yield part._replace(points=part.points[:n_bought])
            else:
                yield part._replace(n_cells=n_bought)
        left -= n_bought * cost
