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
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.data.points import distinct
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.progress import Progress, over

Places = NDArray[np.intp]
Codes = NDArray[np.int32]
_BLOCK = 4096


@dataclass(frozen=True)
class Cheapest:
    """The cheapest attack known on each point: its size, the rival, and how many changes do what."""

    size: Floats
    rival: NDArray[np.int32]
    n_raise: Floats
    n_lower: Floats

    @classmethod
    def none_known(cls, n_points: int) -> Cheapest:
        """Return what is known before any attack is tried."""
        nobody = np.full(n_points, -1, dtype=np.int32)
        return cls(np.full(n_points, np.inf), nobody, *np.zeros((2, n_points)))

    def at(self, places: Places | slice) -> Cheapest:
        """Return the same for some of the points; a view if they are a slice."""
        return Cheapest(*(part[places] for part in vars(self).values()))

    def offer(self, places: Places, rival: Any, n_raise: Floats, n_lower: Floats) -> None:
        """Keep attacks on some of the points where they are cheaper; infinite numbers are no attack."""
        is_better = n_raise + n_lower < self.size[places]
        numbers = n_raise + n_lower, np.broadcast_to(rival, len(places)), n_raise, n_lower
        for own, values in zip(vars(self).values(), numbers, strict=True):
            own[places[is_better]] = values[is_better]


def solve_points(
    best: Cheapest,
    places: Places,
    codes: Codes,
    rivals: Floats,
    race_of: Callable[[Places, Codes, Floats], Race],
    what: str,
    on_progress: Progress | None,
) -> Cheapest:
    """Find the fewest changes of some points (features × points), each different one once.

    ``rivals`` says how strong each rival is (points × labels), NaN for the winner: the strongest is
    tried first, and the others only where they may need less. ``race_of`` sets up races for points, their
    rivals, and how many changes are known to be enough.
    """
    if not len(places):
        return best
    first, copies = distinct(codes[:, places])
    originals = places[first]
    blocks = [originals[start : start + _BLOCK] for start in range(0, len(originals), _BLOCK)]
    for block in over(blocks, what, on_progress):
        order = np.argsort(-rivals[block], axis=1, kind="stable").astype(np.int32)
        for rank in range(order.shape[1] - 1):
            tried = np.flatnonzero(best.size[block] > 1)
            rival, known = order[tried, rank], best.size[block[tried]]
            best.offer(block[tried], rival, *race_of(block[tried], rival, known).solve())
    copied = best.at(originals[copies])
    for own, values in zip(vars(best).values(), vars(copied).values(), strict=True):
        own[places] = values
    return best


def counts_of(
    model: Model, codes: Codes, winner: Codes, rival: Codes
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the least counts of winners and the greatest of rivals, points × features."""
    low, high = np.empty((2, *codes.T.shape), dtype=np.int64)
    points = np.arange(codes.shape[1])
    for j, own in enumerate(codes):
        n_codes = int(model.index.n_values[j]) + 2
        # With many points it is faster to look up each value once.
        used, rows = (np.arange(n_codes), own) if n_codes < len(own) else (own, points)
        least, most = model.box(j, used)
        low[:, j], high[:, j] = least[rows, winner], most[rows, rival]
    return low, high


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


class Race:
    """Some races, and the best attacks known of each.

    Parameters
    ----------
    known
        Attacks with so many changes or more are not asked for.
    slack
        The error of every difference of log supports.
    """

    def __init__(self, known: Floats, slack: float) -> None:
        self.known, self.best, self.slack = known, known.copy(), slack

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

    def falls(self, race: int, n_lower: int, n_raise: int) -> bool:
        """Decide exactly whether so many changes are enough."""
        raise NotImplementedError

    def most_raises(self, race: int) -> int:
        """Return after how many raising changes the rival has its greatest support."""
        raise NotImplementedError

    def refined(self) -> Iterator[Places]:
        """Look closer, once good attacks are known, at some races, which must be tried again."""
        return iter(())

    @np.errstate(all="ignore")
    def solve(self) -> tuple[Floats, Floats]:
        """Return how many changes raise and lower in a cheapest attack of each race; infinite if none."""
        n_races = len(self.known)
        tried = self._halve(np.arange(n_races))
        for again in self.refined():
            # What was tried before is still true: it only may need less.
            tried = _joined([tried, self._halve(again)]) if len(again) else tried
        least, (raised, lowered) = np.full(n_races, np.inf), np.full((2, n_races), np.inf)
        np.minimum.at(least, tried.race, tried.n_lower + tried.at_least)
        sure = tried.n_lower + tried.at_most
        # Of attacks that are as short, the one that lowers least comes last and stays.
        places = np.flatnonzero((sure == least[tried.race]) & (sure < self.known[tried.race]))[::-1]
        raised[tried.race[places]] = tried.at_most[places]
        lowered[tried.race[places]] = tried.n_lower[places]
        first = np.searchsorted(tried.race, np.arange(n_races + 1))
        for race in np.flatnonzero(np.isinf(raised) & (least < self.known)).tolist():
            own = tried.take(np.arange(first[race], first[race + 1]))
            raised[race], lowered[race] = self._decide(race, own)
        return raised, lowered

    def _halve(self, races: Places) -> Tried:
        """Try numbers of lowering changes until no other can be better; sorted by race."""
        race, n_lower = self.starts(races)
        order = np.lexsort((n_lower, race))
        race, n_lower = race[order], n_lower[order]
        is_new = np.append(True, (np.diff(race) != 0) | (np.diff(n_lower) != 0))[: len(race)]
        tried = self._try(race[is_new], n_lower[is_new])
        every = [tried]
        same = np.flatnonzero(tried.race[1:] == tried.race[:-1])
        left, right = tried.take(same), tried.take(same + 1)
        while len(left.race):
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
        error = self.slack / right.gain + 1e-9 * (1 + np.abs(right.level))
        base = right.n_lower + right.level - error
        line = base + np.minimum(more - 1, width * (more - 1))
        return np.where(width > 0, np.fmax(simple, np.ceil(line)), np.inf)

    def _try(self, races: Places, n_lower: Floats) -> Tried:
        """Bound what is needed beside some numbers, and decide the cheapest of what that leaves open.

        Ties may go on along all numbers, so one is decided in each race.
        """
        tried = self.needed(races, n_lower)
        np.minimum.at(self.best, races, n_lower + tried.at_most)
        total = tried.n_lower + tried.at_least
        unclear = np.flatnonzero((total < self.best[races]) & (total >= 1))
        order = unclear[np.lexsort((total[unclear], races[unclear]))]
        _, first = np.unique(races[order], return_index=True)
        for place in order[first].tolist():
            race, n_raise = int(races[place]), int(tried.at_least[place])
            if self.falls(race, int(n_lower[place]), n_raise):
                tried.at_most[place] = n_raise
                self.best[race] = min(self.best[race], total[place])
            else:
                is_last = n_raise >= self.most_raises(race)
                tried.at_least[place] = math.inf if is_last else n_raise + 1
        return tried

    def _decide(self, race: int, tried: Tried) -> tuple[float, float]:
        """Decide with whole numbers which of the numbers tried is the cheapest."""
        limit, found = float(self.known[race]), (math.inf, math.inf)
        top = self.most_raises(race)
        total = tried.n_lower + tried.at_least
        for place in np.argsort(total, kind="stable").tolist():
            if total[place] >= limit:
                break
            n_lower = int(tried.n_lower[place])
            n_raise = first_from(
                max(int(tried.at_least[place]), 1 - n_lower),
                int(min(top, limit - 1 - n_lower)),
                partial(self.falls, race, n_lower),
            )
            if n_raise is not None:
                limit, found = n_raise + n_lower, (n_raise, n_lower)
        return found


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
