"""The completions of an incomplete point that an attacker of its label would choose from.

An incomplete point falls as soon as one of its completions does, so its radius is the least one of
all completions. Which completion that is does not split by feature as T4 does, since all features
share the blanked cells; but a value that serves the attacker no better than another can be left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.model import Model
from nullproof.radii.reach import Reach
from nullproof.reasons import too_many_completions
from nullproof.tables.points import Points

MAX_COMPLETIONS = 65_536


class Completions:
    """Lists, in batches, the completions of points that are certain with a known label."""

    def __init__(self, model: Model, points: Points, reach: Reach) -> None:
        self._model, self._points, self._reach = model, points, reach
        self.too_many: dict[int, str] = {}
        self._values: dict[tuple[int, int, int], NDArray[np.intp]] = {}

    def batches(
        self, places: Iterable[int], winner: NDArray[Any]
    ) -> Iterator[tuple[NDArray[np.int32], NDArray[np.intp]]]:
        """Yield codes (features × completions) and the place of the point that each belongs to.

        A point with more than ``MAX_COMPLETIONS`` is left out, and ``too_many`` says why.
        """
        codes: list[NDArray[np.int32]] = []
        owners: list[NDArray[np.intp]] = []
        n_waiting = 0
        for place in places:
            values = self._choices(place, int(winner[place]))
            n_completions = math.prod(map(len, values))
            if n_completions > MAX_COMPLETIONS:
                self.too_many[place] = too_many_completions(n_completions, MAX_COMPLETIONS)
                continue
            codes.append(_product(values))
            owners.append(np.full(n_completions, place))
            n_waiting += n_completions
            if n_waiting >= MAX_COMPLETIONS:
                yield np.hstack(codes), np.hstack(owners)
                codes, owners, n_waiting = [], [], 0
        if codes:
            yield np.hstack(codes), np.hstack(owners)

    def _choices(self, place: int, winner: int) -> list[NDArray[np.intp]]:
        """Per feature of one point the values that an attacker would choose from."""
        column = self._points.codes[:, place].tolist()
        return [self._worth_choosing(j, code, winner) for j, code in enumerate(column)]

    def _worth_choosing(self, j: int, code: int, winner: int) -> NDArray[np.intp]:
        """The values that no other one replaces against some rival."""
        key = (j, code, winner)
        if key not in self._values:
            values = np.array(self._points.candidates(j, code), dtype=np.intp)
            if len(values) > 1:
                values = values[self._kept(j, values, winner)]
            self._values[key] = values
        return self._values[key]

    def _kept(self, j: int, values: NDArray[np.intp], winner: int) -> NDArray[np.bool_]:
        if self._reach.mask is not None:
            return self._kept_within(j, values, winner)
        index = self._model.index
        low, high = index.low(j, values)[:, winner], index.high(j, values)
        # An attack that works for a value also works for one with a lower count of the winner and a
        # higher one of the rival. A value outside the domain cannot rise, so it replaces nothing.
        seen = values < index.n_values[j]
        kept = np.zeros(len(values), dtype=bool)
        for rival in range(self._model.m):
            if rival != winner:
                order = np.lexsort((~seen, -high[:, rival], low))
                kept[order[_front(high[order, rival], seen[order])]] = True
        return kept if kept.any() else np.arange(len(values)) == 0

    def _kept_within(self, j: int, values: NDArray[np.intp], winner: int) -> NDArray[np.bool_]:
        """The same where only some cells can be blanked.

        One value replaces another if its counts are no worse now, and no worse at their limits.
        """
        index, within = self._model.index, self._reach.index
        moves = (values < index.n_values[j]) & (index.n_values[j] >= 2)
        low, high = index.low(j, values)[:, winner], index.high(j, values)
        least = low - within.exact(j, values)[:, winner] * moves
        most = high + (within.label_counts - within.high(j, values)) * moves[:, None]
        kept = np.zeros(len(values), dtype=bool)
        for rival in (label for label in range(self._model.m) if label != winner):
            costs = np.stack([low, least, -high[:, rival], -most[:, rival]])
            no_worse = (costs[:, :, None] <= costs[:, None, :]).all(axis=0)
            # Of values that are alike, the first is kept.
            first = np.tri(len(values), k=-1, dtype=bool)
            replaced = no_worse & (~no_worse.T | first.T)
            kept |= ~replaced.any(axis=0)
        return kept if kept.any() else np.arange(len(values)) == 0


def _product(values: list[NDArray[np.intp]]) -> NDArray[np.int32]:
    """Every way to choose one value per feature, features × completions."""
    left = math.prod(map(len, values))
    codes, number = np.empty((len(values), left), dtype=np.int32), np.arange(left)
    for own, choice in zip(codes, values, strict=True):
        left //= len(choice)
        own[:] = choice[number // left % len(choice)]
    return codes


def _front(high: NDArray[np.int64], seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Of values sorted by the winner's count: those with a higher rival's count than all before."""
    of_seen = np.where(seen, high, -1)
    before = np.concatenate([[-1], np.maximum.accumulate(of_seen)[:-1]])
    front: NDArray[np.bool_] = high > before
    return front
