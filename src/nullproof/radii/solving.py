"""The radius of complete points: floats bound it for all of them, integers decide the rest.

Where only some cells can be blanked, the radius as if whole columns could be is a lower bound, and the
points that stand even if all cells within reach are blanked are beyond any attack.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nullproof.data.points import Points
from nullproof.model.model import Model
from nullproof.model.verdicts import Verdicts, verdicts
from nullproof.progress import Progress, over, within
from nullproof.radii.additions import MOST_ROWS, Additions
from nullproof.radii.bounds import Bounds, bound_radii
from nullproof.radii.frontier import Frontier
from nullproof.radii.limited import LimitedFrontier
from nullproof.radii.reach import Reach
from nullproof.radii.results import Radii
from nullproof.radii.row_bounds import bound_row_radii
from nullproof.radii.splits import Counts, Side

Codes = NDArray[np.int32]
Places = NDArray[np.intp]
Attacks = Frontier | LimitedFrontier | Additions
# Of a point by its number, a winner and a rival.
Way = Callable[["PointCounts", int, int, int], Attacks]


def solve(
    asked: Radii,
    codes: Codes,
    winner: Codes,
    found: Verdicts,
    on_progress: Progress | None = None,
) -> Bounds:
    """Find the radius of complete points that are certain with label ``winner``, exactly.

    ``asked`` has the model, the threat and the cells within reach.
    """
    model, reach = asked.model, asked.reach
    if asked.threat == "rows":
        bounds = bound_row_radii(model, codes, winner, found.min_log)
    else:
        bounds = bound_radii(model, codes, winner, (found.min_log, found.max_log), reach.columns)
    unclear = np.flatnonzero(bounds.at_least < bounds.at_most)
    is_limited = asked.threat == "cells" and reach.mask is not None
    way = PointCounts.frontier if asked.threat == "cells" else PointCounts.additions
    work = _Work(asked, codes, winner)
    work.decide(bounds, unclear, way, within(on_progress, 0.0, 0.1 if is_limited else 1.0))
    if not is_limited:
        return bounds
    # Points that stand when all is blanked that can be are beyond attack.
    spent = model.on(model.index.blanked(reach.cells()))
    stands = verdicts(spent, Points.without_holes(codes, model.index.n_values)).certain
    limited = Bounds.none_known(codes.shape[1])
    limited.at_least[~stands] = bounds.at_most[~stands]
    say = within(on_progress, 0.1, 1.0)
    work.decide(limited, np.flatnonzero(~stands), PointCounts.limited, say)
    return limited


def beyond_count(asked: Radii) -> dict[int, str]:
    """The points that only more rows break than a radius can tell, with that as the reason."""
    places = np.flatnonzero(np.isinf(asked.radius))
    counts = PointCounts(asked.model, asked.codes[:, places], asked.reach)
    return {
        int(place): f"an attack takes more than {MOST_ROWS:,} rows"
        for number, place in enumerate(places)
        if any(
            counts.additions(number, int(asked.winner[place]), rival).possible
            for rival in range(asked.model.m)
            if rival != asked.winner[place]
        )
    }


@dataclass(frozen=True)
class _Work:
    """Points whose radius integers decide: what is asked, their codes and their labels."""

    asked: Radii
    codes: Codes
    winner: Codes

    def decide(
        self, bounds: Bounds, places: Places, way: Way, on_progress: Progress | None
    ) -> None:
        """Find the cheapest attack on some of the points, each different point once (T7, T13, T14)."""
        if not len(places):
            return
        model = self.asked.model
        columns, first, copy_of = np.unique(
            self.codes[:, places], axis=1, return_index=True, return_inverse=True
        )
        counts, originals = PointCounts(model, columns, self.asked.reach), places[first]
        for number, place in enumerate(over(originals.tolist(), self.asked.doing, on_progress)):
            own = int(self.winner[place])
            for rival in (label for label in range(model.m) if label != own):
                _offer(bounds, place, rival, way(counts, number, own, rival))
        bounds.copy(originals[copy_of.ravel()], places)


def _offer(bounds: Bounds, place: int, rival: int, attacks: Attacks) -> None:
    """Take a rival's cheapest attack if it is shorter than the best one known."""
    at_least, known = max(1, int(bounds.at_least[place])), float(bounds.at_most[place])
    if known <= at_least:
        return
    steps = attacks.fewest(at_least, None if math.isinf(known) else int(known) - 1)
    if steps is not None:
        n_raise, n_lower = (np.array([float(n_steps)]) for n_steps in steps)
        bounds.offer(np.array([place]), rival, (n_raise, n_raise), (n_lower, n_lower))


class PointCounts:
    """The counts of complete points as integers, features × points × labels.

    They are `LEFT_OUT` where a point leaves a feature out, and no attack can move those.
    """

    def __init__(self, model: Model, codes: Codes, reach: Reach) -> None:
        index, sizes = model.index, model.index.n_values[:, None]
        self._model, self._codes, self._reach = model, codes, reach
        self.low = np.stack([index.low(j, own) for j, own in enumerate(codes)])
        self.high = np.stack([index.high(j, own) for j, own in enumerate(codes)])
        self.is_movable = (sizes >= 2) & (codes < sizes) & reach.columns[:, None]

    def attacks(
        self, place: int, winner: int, rival: int, *, strict: bool = False
    ) -> Frontier | LimitedFrontier:
        """All attacks on a point that let ``rival`` catch up with ``winner``, or, strictly, win."""
        if self._reach.mask is None:
            return self.frontier(place, winner, rival, strict=strict)
        return self.limited(place, winner, rival, strict=strict)

    def frontier(self, place: int, winner: int, rival: int, *, strict: bool = False) -> Frontier:
        """The same as if all cells of the columns within reach could be blanked."""

        def overtaken(low: Sequence[int], high: Sequence[int]) -> bool:
            if strict:
                return self._model.exceeds(rival, high, winner, low)
            return not self._model.exceeds(winner, low, rival, high)

        return Frontier(
            self.low[:, place, winner].tolist(),
            self.high[:, place, rival].tolist(),
            int(self._model.index.label_counts[rival]),
            movable=np.flatnonzero(self.is_movable[:, place]).tolist(),
            overtaken=overtaken,
        )

    def limited(
        self, place: int, winner: int, rival: int, *, strict: bool = False
    ) -> LimitedFrontier:
        """The same with the cells within reach alone."""
        lower, upper = self._rooms(place, winner, rival)
        own = Side(winner, self.low[:, place, winner].tolist(), lower)
        other = Side(rival, self.high[:, place, rival].tolist(), upper)
        return LimitedFrontier(self._model, own, other, strict=strict)

    def _rooms(self, place: int, winner: int, rival: int) -> tuple[Counts, Counts]:
        """How many cells within reach lower the winner's counts, and raise the rival's."""
        index, lower, upper = self._reach.index, [], []
        for j, is_movable in enumerate(self.is_movable[:, place].tolist()):
            code = self._codes[j, place : place + 1]
            lower.append(int(index.exact(j, code)[0, winner]) if is_movable else 0)
            # What is out of reach counts as missing there, and is in the high count.
            room = index.label_counts[rival] - index.high(j, code)[0, rival]
            upper.append(int(room) if is_movable else 0)
        return lower, upper

    def additions(self, place: int, winner: int, rival: int) -> Additions:
        """All ways to add rows that let ``rival`` catch up with ``winner``."""
        codes, sizes = self._codes[:, place], self._model.index.n_values
        return Additions(
            self._model,
            winner,
            rival,
            self.low[:, place, winner].tolist(),
            self.high[:, place, rival].tolist(),
            matched=frozenset(np.flatnonzero(codes < sizes).tolist()),
            forced=frozenset(np.flatnonzero((codes < sizes) & (sizes == 1)).tolist()),
            n_known=int((codes <= sizes).sum()),
        )
