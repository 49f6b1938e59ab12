"""The fewest changes that let a rival catch up with a winner: one search for cells and rows (T7, T13, T17).

A *race* is one point, its certain label (the winner) and one rival. Some changes raise the rival, ``a`` of
them, some lower the winner, ``b``; a winner that is lowered further needs no more raises. So the least
``a + b`` is found by halving ranges of ``b``: between two numbers of lowering changes, raising takes no
fewer than at the greater. `Race` does that for many races at once, with floats whose error is bounded;
where the bounds leave a choice, whole numbers decide it. What a change does is for `cells` and `rows` to
say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.progress import Progress, over

Places = NDArray[np.intp]
Codes = NDArray[np.int32]
Attack = TypeVar("Attack")
_BLOCK = 4096


@dataclass(frozen=True)
class Bounds:
    """Per point: the radius is at least and at most this; the best attack known and its rival."""

    at_least: Floats
    at_most: Floats
    rival: NDArray[np.int32]
    n_raise: Floats
    n_lower: Floats

    @classmethod
    def none_known(cls, n_points: int) -> Bounds:
        """Return the bounds before any attack is tried."""
        at_least, at_most = np.full((2, n_points), np.inf)
        nobody = np.full(n_points, -1, dtype=np.int32)
        return cls(at_least, at_most, nobody, np.zeros(n_points), np.zeros(n_points))

    def at(self, places: Places | slice) -> Bounds:
        """Return the same for some of the points; a view if they are a slice."""
        parts: Any = (self.at_least, self.at_most, self.rival, self.n_raise, self.n_lower)
        return Bounds(*(part[places] for part in parts))

    def offer(
        self,
        places: Places,
        rival: int | NDArray[np.int32],
        n_raise: tuple[Floats, Floats],
        n_lower: tuple[Floats, Floats],
    ) -> None:
        """Take in one more kind of attack on some of the points; each number lies between two bounds."""
        at_least, at_most = n_raise[0] + n_lower[0], n_raise[1] + n_lower[1]
        self.at_least[places] = np.minimum(self.at_least[places], at_least)
        is_better = at_most < self.at_most[places]
        chosen = places[is_better]
        self.at_most[chosen] = at_most[is_better]
        self.rival[chosen] = np.broadcast_to(rival, is_better.shape)[is_better]
        self.n_raise[chosen] = n_raise[1][is_better]
        self.n_lower[chosen] = n_lower[1][is_better]


def solve_points(
    bounds: Bounds,
    places: Places,
    codes: Codes,
    rivals: Floats,
    race_of: Callable[[Places, Codes, Floats], Race[Any]],
    what: str,
    on_progress: Progress | None,
) -> Bounds:
    """Find the fewest changes of some points (features × points), each different one once.

    ``rivals`` says how strong each rival is (points × labels), NaN for the winner: the strongest is
    tried first, and the others only where they may need less. ``race_of`` sets up races for points, their
    rivals, and how many changes are known to be enough.
    """
    if not len(places):
        return bounds
    first, copies = different(codes[:, places])
    originals = places[first]
    blocks = [originals[start : start + _BLOCK] for start in range(0, len(originals), _BLOCK)]
    for block in over(blocks, what, on_progress):
        order = np.argsort(-rivals[block], axis=1, kind="stable").astype(np.int32)
        for rank in range(order.shape[1] - 1):
            tried = np.flatnonzero(bounds.at_most[block] > 1)
            rival, known = order[tried, rank], bounds.at_most[block[tried]]
            _, raised, lowered = race_of(block[tried], rival, known).solve()
            bounds.offer(block[tried], rival, (raised, raised), (lowered, lowered))
    copied = bounds.at(originals[copies])
    for own, values in zip(vars(bounds).values(), vars(copied).values(), strict=True):
        own[places] = values
    return bounds


def different(codes: Codes) -> tuple[Places, Places]:
    """Return where each different point (features × points) comes first, and which of these each one is."""
    keys = np.zeros(codes.shape[1], dtype=np.uint64)
    for row in codes:
        keys = keys * np.uint64(0x9E3779B97F4A7C15) + row.astype(np.uint64)
    _, first, copies = np.unique(keys, return_index=True, return_inverse=True)
    if (codes[:, first[copies]] != codes).any():
        _, first, copies = np.unique(codes, axis=1, return_index=True, return_inverse=True)
    return first, copies.ravel()


class Tried(NamedTuple):
    """Races with numbers of lowering changes, and bounds on the raising changes needed beside them.

    ``level`` is a real number below ``at_least``; for every ``gain`` that is needed besides, at least one
    change more is. ``loss`` is what the winner has lost.
    """

    race: Places
    n_lower: Floats
    at_least: Floats
    at_most: Floats
    level: Floats
    gain: Floats
    loss: Floats

    def take(self, places: Places | NDArray[np.bool_]) -> Tried:
        """Return some of them."""
        parts: Any = self
        return Tried(*(part[places] for part in parts))


class Race(Generic[Attack]):
    """Some races, and the best attacks known of each.

    Parameters
    ----------
    known
        Attacks with so many changes or more are not asked for.
    """

    # Where it is enough to look at some numbers, no more ranges than this are looked at.
    most_ranges = math.inf

    def __init__(self, known: Floats) -> None:
        self.known, self.best = known, known.copy()

    def starts(self, races: Places) -> tuple[Places, Floats]:
        """Return numbers of lowering changes to begin with, for each race the least and the most useful."""
        raise NotImplementedError

    def needed(self, races: Places, n_lower: Floats) -> Tried:
        """Bound the raising changes that are needed beside so many lowering ones."""
        raise NotImplementedError

    def steepness(self, left: Tried, right: Tried) -> Floats:
        """Bound from below how fast the loss grows towards the right end of each range, by its chord.

        Between the starts the loss must be convex for that.
        """
        return np.asarray((right.loss - left.loss) / (right.n_lower - left.n_lower))

    def attack(self, race: int, n_lower: int, n_raise: int) -> Attack | None:
        """Decide exactly whether so many changes are enough, and return how they are spent."""
        raise NotImplementedError

    def refined(self) -> Iterator[Places]:
        """Look closer, once good attacks are known, at some races, which must be tried again."""
        return iter(())

    def solve(self) -> Floats:
        """Return the fewest changes of each race, how many raise and how many lower; infinite if none."""
        with np.errstate(all="ignore"):
            tried, n_races = self._tried(), len(self.known)
        least, found = np.full(n_races, np.inf), np.full((3, n_races), np.inf)
        np.minimum.at(least, tried.race, tried.n_lower + tried.at_least)
        sure = tried.n_lower + tried.at_most
        places = np.flatnonzero((sure == least[tried.race]) & (sure < self.known[tried.race]))
        # Of attacks that are as short, the one that lowers least comes last and stays.
        places = places[::-1]
        found[:, tried.race[places]] = np.stack([sure, tried.at_most, tried.n_lower])[:, places]
        first = np.searchsorted(tried.race, np.arange(n_races + 1))
        for race in np.flatnonzero(np.isinf(found[0]) & (least < self.known)).tolist():
            steps = self._decide(race, tried.take(np.arange(first[race], first[race + 1])))
            if steps is not None:
                found[:, race] = steps[0] + steps[1], steps[1], steps[0]
        return found

    def cheapest(self) -> Attack | None:
        """Return a cheapest attack of the only race, None if it has not fewer changes than are known."""
        with np.errstate(all="ignore"):
            steps = self._decide(0, self._tried())
        return None if steps is None else steps[2]

    def _tried(self) -> Tried:
        """Try numbers of lowering changes until no other can be better; sorted by race."""
        every = [self._halve(np.arange(len(self.known)))]
        # What was tried before is still true: it only may need less.
        every += [self._halve(races) for races in self.refined() if len(races)]
        return _joined(every) if len(every) > 1 else every[0]

    def _halve(self, races: Places) -> Tried:
        race, n_lower = self.starts(races)
        order = np.lexsort((n_lower, race))
        race, n_lower = race[order], n_lower[order]
        is_new = np.append(True, (np.diff(race) != 0) | (np.diff(n_lower) != 0))[: len(race)]
        tried = self._try(race[is_new], n_lower[is_new])
        every = [tried]
        same = np.flatnonzero(tried.race[1:] == tried.race[:-1])
        left, right = tried.take(same), tried.take(same + 1)
        while 0 < len(left.race) < self.most_ranges:
            is_open = self._least_between(left, right) < self.best[left.race]
            left, right = left.take(is_open), right.take(is_open)
            halves = np.floor(np.asarray(left.n_lower + right.n_lower, dtype=np.float64) / 2)
            middle = self._try(left.race, halves)
            every.append(middle)
            left, right = _joined([left, middle], False), _joined([middle, right], False)
        return _joined(every)

    def _least_between(self, left: Tried, right: Tried) -> Floats:
        """Bound the least total between two numbers of lowering changes, infinite if there is none."""
        width = right.n_lower - left.n_lower - 1
        simple = left.n_lower + 1 + right.at_least
        # The need grows to the left at least as fast as the loss is steep; so a line bounds the total.
        more = self.steepness(left, right) / right.gain
        base = right.n_lower + right.level - 1e-9 * (1 + np.abs(right.level))
        line = base + np.minimum(more - 1, width * (more - 1))
        return np.where(width > 0, np.fmax(simple, np.ceil(line)), np.inf)

    def _try(self, races: Places, n_lower: Floats) -> Tried:
        tried = self.needed(races, n_lower)
        np.minimum.at(self.best, races, n_lower + tried.at_most)
        self._settle(tried)
        return tried

    def _settle(self, tried: Tried) -> None:
        """Decide the cheapest of what bounds leave open in each race: ties may go on along all numbers."""
        total = tried.n_lower + tried.at_least
        unclear = np.flatnonzero((total < self.best[tried.race]) & (total >= 1))
        order = unclear[np.lexsort((total[unclear], tried.race[unclear]))]
        races, first = np.unique(tried.race[order], return_index=True)
        for race, place in zip(races.tolist(), order[first].tolist(), strict=True):
            n_lower, n_raise = int(tried.n_lower[place]), int(tried.at_least[place])
            if self.attack(race, n_lower, n_raise) is not None:
                tried.at_most[place] = n_raise
                self.best[race] = min(self.best[race], total[place])

    def _decide(self, race: int, tried: Tried) -> tuple[int, int, Attack] | None:
        """Decide with whole numbers which of the numbers tried is the cheapest: how they are spent."""
        limit, best = float(self.known[race]), None
        pairs = zip(tried.n_lower.tolist(), tried.at_least.tolist(), strict=True)
        waiting = [(lower + least, lower) for lower, least in pairs if lower + least < limit]
        heapify(waiting)
        while waiting:
            total, n_lower = heappop(waiting)
            if total >= limit:
                break
            found = self._raises(race, int(n_lower), max(int(total), 1), limit)
            if found is not None:
                limit, best = found[0] + found[1], found
        return best

    def _raises(
        self, race: int, n_lower: int, total: int, limit: float
    ) -> tuple[int, int, Attack] | None:
        """Find the fewest raising changes beside so many lowering ones, below ``limit`` in all."""
        top = float(self.most_raises(race))
        n_raise = first_from(
            max(total - n_lower, 0),
            int(min(top, limit - 1 - n_lower)),
            lambda n: self.attack(race, n_lower, n) is not None,
        )
        attack = None if n_raise is None else self.attack(race, n_lower, n_raise)
        return None if n_raise is None or attack is None else (n_lower, n_raise, attack)

    def most_raises(self, race: int) -> int:
        """Return after how many raising changes the rival has its greatest support."""
        raise NotImplementedError


def _joined(parts: list[Tried], in_order: bool = True) -> Tried:
    joined = Tried(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    return joined.take(np.lexsort((joined.n_lower, joined.race))) if in_order else joined


def first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the first number where ``holds`` turns true, at most ``high``."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def first_from(low: int, high: int, holds: Callable[[int], bool]) -> int | None:
    """Return the first number from ``low`` to ``high`` where ``holds`` turns true, or None."""
    failing, stride = low - 1, 1
    while failing < high:
        trial = min(failing + stride, high)
        if holds(trial):
            return first(failing + 1, trial, holds)
        failing, stride = trial, 2 * stride
    return None


def error_of_logs(model: Model, most_rows: float = 0.0) -> float:
    """Bound the error of every difference of log supports here: at most six terms a feature.

    ``most_rows`` rows may be added.
    """
    alpha, sizes = float(model.alpha), model.index.n_values
    rows = most_rows + float(model.index.label_counts.max())
    largest = math.log(rows + alpha * float(sizes.max()) + 1)
    if alpha > 0:
        largest = max(largest, -math.log(alpha))
    shares = model.log_prior[np.isfinite(model.log_prior)]
    magnitude = float(np.abs(shares).max(initial=0)) + 12 * (model.d + 1) * largest
    return 2 * float(model.slack(magnitude))
