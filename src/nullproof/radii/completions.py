"""The completions of an incomplete point that an attacker of its label would choose from.

An incomplete point falls as soon as one of its completions does, so its radius is the least one of
all completions. A value that serves the attacker no better than another can be left out. Where many
completions are left, some are picked that are the weakest for every number of added rows (T15).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.data.points import Points
from nullproof.model.model import Model
from nullproof.radii.reach import Reach

Codes = NDArray[np.int32]
# Points with more completions than this get a few that are picked.
MANY = 1_024
_BATCH = 65_536


class Completions:
    """Lists, in batches, the completions of points that are certain with a known label."""

    def __init__(self, model: Model, points: Points, reach: Reach) -> None:
        self._model, self._points, self._reach = model, points, reach
        self.picked: list[int] = []
        self._values: dict[tuple[int, int, int], NDArray[np.intp]] = {}
        self._turns: dict[tuple[int, int, int, int], list[tuple[int, int]]] = {}

    def batches(
        self, places: Iterable[int], winner: NDArray[Any]
    ) -> Iterator[tuple[Codes, NDArray[np.intp]]]:
        """Yield codes (features × completions) and the place of the point that each belongs to.

        The points with more than ``MANY`` completions, of which only some are picked, are ``picked``.
        """
        codes: list[Codes] = []
        owners: list[NDArray[np.intp]] = []
        n_waiting = 0
        for place in places:
            label = int(winner[place])
            is_small = self.n_completions(place, label) <= MANY
            own = self.every(place, label) if is_small else self._pick(place, label)
            if not is_small:
                self.picked.append(place)
            codes.append(own)
            owners.append(np.full(own.shape[1], place))
            n_waiting += own.shape[1]
            if n_waiting >= _BATCH:
                yield np.hstack(codes), np.hstack(owners)
                codes, owners, n_waiting = [], [], 0
        if codes:
            yield np.hstack(codes), np.hstack(owners)

    def n_completions(self, place: int, winner: int) -> int:
        """How many completions of a point an attacker would choose from."""
        return math.prod(map(len, self.choices(place, winner)))

    def every(self, place: int, winner: int) -> Codes:
        """All of them, features × completions."""
        return _product(self.choices(place, winner))

    def _pick(self, place: int, winner: int) -> Codes:
        """For every rival and every number of its rows, a completion that is the weakest then (T15)."""
        column, sizes = self._points.codes[:, place].tolist(), self._model.index.n_values
        values = self.choices(place, winner)
        # Of a domain of one value with an unseen one beside it, either may be the weakest.
        loose = [len(own) == 1 or sizes[j] > 1 for j, own in enumerate(values)]
        found = []
        for rival in (label for label in range(self._model.m) if label != winner):
            turns = [
                self._favourites(j, code, winner, rival) if loose[j] else []
                for j, code in enumerate(column)
            ]
            for n_rows in sorted({0, *(n for own in turns for n, _ in own)}):
                best = [[v for n, v in own if n <= n_rows][-1:] for own in turns]
                pairs = zip(best, values, strict=True)
                found.append(_product([np.array(own or every) for own, every in pairs]))
        return np.unique(np.hstack(found), axis=1)

    def _favourites(self, j: int, code: int, winner: int, rival: int) -> list[tuple[int, int]]:
        """From which number of the rival's rows on which value is the weakest, in whole numbers."""
        key = (j, code, winner, rival)
        if key not in self._turns:
            index, values = self._model.index, self._worth_choosing(j, code, winner)
            p, q = self._model.alpha.as_integer_ratio()
            low = [int(c) * q + p for c in index.low(j, values)[:, winner]]
            high = [int(c) * q + p for c in index.high(j, values)[:, rival]]
            steps = [q * int(v < index.n_values[j]) for v in values]
            lines = list(zip(low, high, steps, strict=True))
            self._turns[key] = [(n, int(values[place])) for n, place in _turns(lines)]
        return self._turns[key]

    def choices(self, place: int, winner: int) -> list[NDArray[np.intp]]:
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


def _turns(lines: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """From which number ``n`` on which of some quotients ``low / (high + n * step)`` is the least.

    A quotient that becomes the least has a smaller ``low`` than the one before, or the first ``step``.
    """
    n, found = 0, []
    while True:
        place = _least(lines, n)
        found.append((n, place))
        low, high, step = lines[place]
        later = []
        for other_low, other_high, other_step in lines:
            # other_low / (other_high + n * other_step) <= low / (high + n * step)
            gain, lack = low * other_step - other_low * step, other_low * high - low * other_high
            # Later than now, since of equal ones that with the most to gain was taken.
            if gain > 0:
                later.append(-(-lack // gain))
        if not later:
            return found
        n = min(later)


def _least(lines: list[tuple[int, int, int]], n: int) -> int:
    """The position of the least quotient; of equal ones that which falls most from there on."""
    best = 0
    for place, (low, high, step) in enumerate(lines):
        best_low, best_high, best_step = lines[best]
        lead = best_low * (high + n * step) - low * (best_high + n * best_step)
        if lead > 0 or (lead == 0 and best_low * step > low * best_step):
            best = place
    return best


def _front(high: NDArray[np.int64], seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Of values sorted by the winner's count: those with a higher rival's count than all before."""
    of_seen = np.where(seen, high, -1)
    before = np.concatenate([[-1], np.maximum.accumulate(of_seen)[:-1]])
    front: NDArray[np.bool_] = high > before
    return front
