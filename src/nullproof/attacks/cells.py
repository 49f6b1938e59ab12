"""The fewest cells to blank until a rival catches up, for any weights and limits (T17).

Blanking cells of the rival raises its counts, blanking cells of the winner lowers its own. With
``R(a)`` the greatest raise of ``a`` cells and ``L(b)`` the greatest loss of ``b`` cells, both in
logarithms, the radius is the least ``a + b`` with ``R(a) + L(b)`` at least the gap. ``R`` is greedy,
hence one threshold on the gains of single cells. ``L`` lowers some features wholly and at most one in
part; a *piece* is such a set of whole features with the feature that may follow in part.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heapify, heappop, heapreplace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.equal_weights import bound_radii
from nullproof.attacks.reach import Reach
from nullproof.attacks.search import Bounds, Needed, Places, Race, error_of_logs
from nullproof.counts.index import LEFT_OUT
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.model.verdicts import Verdicts
from nullproof.progress import Progress, over

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
# How the counts of the winner are lowered and those of the rival raised.
Spent = tuple[list[int], list[int]]
# Thresholds and gains are products of a few roundings.
_ROUNDING = 1e-14
_MOST_HALVINGS = 200
# So many cells are taken one by one.
_FEW = 32
_BLOCK = 4096


def solve_cells(
    model: Model,
    codes: Codes,
    winner: Codes,
    found: Verdicts,
    reach: Reach,
    on_progress: Progress | None = None,
) -> Bounds:
    """Find the radius of complete points (features × points) that are certain with label ``winner``."""
    bounds = Bounds.none_known(codes.shape[1])
    if model.has_equal_weights and reach.mask is None:
        logs = found.min_log, found.max_log
        bounds = bound_radii(model, codes, winner, logs, reach.columns)
        places = np.flatnonzero(bounds.at_least < bounds.at_most)
    else:
        places = np.arange(codes.shape[1])
    if not len(places):
        return bounds
    # Each different point once.
    _, first, copy_of = np.unique(codes[:, places], axis=1, return_index=True, return_inverse=True)
    originals = places[first]
    blocks = [originals[start : start + _BLOCK] for start in range(0, len(originals), _BLOCK)]
    for block in over(blocks, "finding the fewest cells for each point", on_progress):
        _solve_block(model, codes, winner, found.max_log, reach, block, bounds)
    copies = bounds.at(originals[copy_of.ravel()])
    for own, copied in zip(vars(bounds).values(), vars(copies).values(), strict=True):
        own[places] = copied
    return bounds


def _solve_block(
    model: Model,
    codes: Codes,
    winner: Codes,
    max_log: Floats,
    reach: Reach,
    places: Places,
    bounds: Bounds,
) -> None:
    """Try the strongest rival of each point first, then those others that may need fewer cells."""
    rivals = max_log[places].copy()
    rivals[np.arange(len(places)), winner[places]] = -np.inf
    order = np.argsort(-rivals, axis=1, kind="stable")
    for rank in range(model.m - 1):
        # The last of the order is the winner, or a label without any support.
        chosen = order[:, rank].astype(np.int32)
        chosen = np.where(chosen == winner[places], order[:, -1], chosen).astype(np.int32)
        sides = Sides.of(model, codes[:, places], winner[places], chosen, reach)
        known = bounds.at_most[places]
        with np.errstate(all="ignore"):
            tried = np.flatnonzero(_may_fall(sides, known))
            solved = CellRace(sides.take(tried), known[tried]).solve()
        raised, lowered = solved.n_raise, solved.n_lower
        bounds.offer(places[tried], chosen[tried], (raised, raised), (lowered, lowered))


@dataclass(frozen=True)
class Sides:
    """The winners and the rivals of some races, races × features.

    ``low`` and ``high`` are the winner's least and the rival's greatest counts, `LEFT_OUT` where a
    point leaves a feature out; ``lower`` and ``upper`` say how many cells can lower and raise them.
    """

    model: Model
    winner: NDArray[np.int32]
    rival: NDArray[np.int32]
    low: Ints
    high: Ints
    lower: Ints
    upper: Ints

    @classmethod
    def of(cls, model: Model, codes: Codes, winner: Codes, rival: Codes, reach: Reach) -> Sides:
        """Look up the counts of points (features × points) and how many cells within reach move them."""
        shape = (codes.shape[1], model.d)
        low, high, lower, upper = (np.zeros(shape, dtype=np.int64) for _ in range(4))
        points, sizes = np.arange(codes.shape[1]), model.index.n_values
        for j, own in enumerate(codes):
            low[:, j] = model.low(j, own)[points, winner]
            high[:, j] = model.high(j, own)[points, rival]
            if sizes[j] >= 2 and reach.columns[j] and model.weights[j]:
                is_movable, within = own < sizes[j], reach.index
                lower[:, j] = np.where(is_movable, within.exact(j, own)[points, winner], 0)
                # What is out of reach counts as missing there, and is in the high count.
                room = within.label_counts[rival] - within.high(j, own)[points, rival]
                upper[:, j] = np.where(is_movable, room, 0)
        return cls(model, winner, rival, low, high, lower, upper)

    def take(self, places: Places | slice) -> Sides:
        """Return some of the races."""
        arrays: Any = (self.winner, self.rival, self.low, self.high, self.lower, self.upper)
        return Sides(self.model, *(array[places] for array in arrays))

    def __len__(self) -> int:
        return len(self.winner)

    def falls(self, race: int, lowered: Sequence[int], raised: Sequence[int], strict: bool) -> bool:
        """Decide exactly whether the rival catches up, or, strictly, wins, after these changes."""
        low = [c - n for c, n in zip(self.low[race].tolist(), lowered, strict=True)]
        high = [c + n for c, n in zip(self.high[race].tolist(), raised, strict=True)]
        winner, rival = int(self.winner[race]), int(self.rival[race])
        if strict:
            return self.model.exceeds(rival, high, winner, low)
        return not self.model.exceeds(winner, low, rival, high)


# Raising --------------------------------------------------------------------------------------------


class _Raising:
    """The rivals of some races: how many cells raise their log supports by how much."""

    def __init__(self, sides: Sides, slack: float) -> None:
        self.alpha, self.weights, self.slack = (
            float(sides.model.alpha),
            sides.model.float_weights,
            slack,
        )
        # Without smoothing a rival has no support before all its zeros are raised.
        zero = (sides.high == 0) & (self.alpha == 0) & (sides.model.float_weights > 0)
        self.n_first = zero.sum(axis=1).astype(np.float64)
        self.is_hopeless = (zero & (sides.upper == 0)).any(axis=1)
        self.first = zero & ~self.is_hopeless[:, None]
        is_stuck = (self.weights == 0) | (sides.high == LEFT_OUT) | self.is_hopeless[:, None]
        self.room = np.where(is_stuck, 0, sides.upper - self.first).astype(np.float64)
        self.start = np.where(is_stuck, 1, sides.high + self.first + self.alpha)
        can_rise = self.room > 0
        gains = self.weights * np.log1p(1 / self.start)
        last = self.weights * np.log1p(1 / (self.start + self.room - 1))
        self.top = np.log(np.where(can_rise, gains, 0).max(axis=1, initial=0)) + _ROUNDING
        self.bottom = np.log(np.where(can_rise, last, np.inf).min(axis=1, initial=np.inf))
        self.bottom -= _ROUNDING
        whole = self.weights * np.log1p(self.room / self.start)
        self.most_gain = np.where(can_rise, whole, 0).sum(axis=1)
        self.most_cells = self.room.sum(axis=1)

    def at(self, races: Places, log_gain: Floats) -> tuple[Floats, Floats]:
        """Return how many cells have at least some gain, and how much they raise in all."""
        start = self.start[races]
        level = 1 / np.expm1(np.exp(log_gain)[:, None] / self.weights) - start
        steps = np.minimum(np.maximum(np.floor(level) + 1, 0), self.room[races])
        gains = self.weights * np.log1p(steps / start)
        return steps.sum(axis=1), np.where(steps > 0, gains, 0).sum(axis=1)

    def fewest(self, races: Places, gain: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Bound the cells that raise a race's rival by ``gain``; infinite where none surely do.

        Besides, return a real number below them, and the greatest gain of the cells after those.
        """
        next_gain = np.exp(self.top[races])
        number = (gain - self.slack) / next_gain
        at_least = np.where(gain > self.slack, self.most_cells[races] + 1, 0)
        at_most = np.where(gain > -self.slack, np.inf, 0)
        impossible = gain > self.most_gain[races] + self.slack
        at_least[impossible] = np.inf
        full = gain <= self.most_gain[races] - self.slack
        at_most[full & (gain > -self.slack)] = self.most_cells[races][full & (gain > -self.slack)]
        at_least[~impossible & (gain > self.slack)] = 1
        active = np.flatnonzero(~impossible & (at_most > 0) & (self.most_cells[races] > 0))
        # Thresholds with too small and with sufficient raises, with their cells and gains.
        high, low = self.top[races[active]], self.bottom[races[active]]
        above = np.zeros((2, len(active)))
        below = np.stack([self.most_cells[races[active]], self.most_gain[races[active]]])
        for halving in range(_MOST_HALVINGS):
            wanted = gain[active]
            lack = wanted - above[1]
            # Cells between the thresholds have gains between them.
            some = above[0] + np.ceil(np.maximum(lack - self.slack, 0) * np.exp(-high - _ROUNDING))
            enough = above[0] + np.ceil((lack + self.slack) * np.exp(-low + _ROUNDING))
            at_least[active] = np.maximum(at_least[active], some)
            next_gain[active] = np.exp(high + _ROUNDING)
            number[active] = above[0] + (lack - self.slack) / next_gain[active]
            enough = np.where(enough <= below[0], enough, np.inf)
            at_most[active] = np.minimum(at_most[active], enough)
            open_ = (at_least[active] < at_most[active]) & (high - low > _ROUNDING)
            if not open_.any():
                break
            active, high, low = active[open_], high[open_], low[open_]
            above, below, wanted = above[:, open_], below[:, open_], wanted[open_]
            # The raise is nearly linear in the logarithm of the threshold.
            share = (wanted - above[1]) / (below[1] - above[1])
            middle = (high + low) / 2 if halving % 3 == 2 else high - share * (high - low)
            middle = np.clip(middle, low + (high - low) * 1e-3, high - (high - low) * 1e-3)
            found = np.stack(self.at(races[active], middle))
            reached = found[1] >= wanted
            low, below = np.where(reached, middle, low), np.where(reached, found, below)
            high, above = np.where(reached, high, middle), np.where(reached, above, found)
        return at_least, at_most, number, next_gain

    def exactly(self, sides: Sides, race: int, n_cells: int) -> list[int]:
        """Return the best raise of so many cells; near ties of gains are told apart by whole numbers."""
        steps = self.first[race].astype(np.int64)
        left = n_cells - int(steps.sum())
        high, low = self.top[race] + 1, self.bottom[race] - 1
        races = np.array([race])
        # Take the cells whose gain is surely above the least one that is taken, but for a few.
        total, n_high, n_low = float(self.start[race].sum()), 0.0, float(self.most_cells[race])
        for halving in range(_MOST_HALVINGS):
            if n_low - n_high <= _FEW or high - low <= _ROUNDING:
                break
            # The cells and counts in all are nearly inverse to the threshold.
            middle = high - math.log((left + total) / (n_high + total))
            if halving % 3 == 2 or not low < middle < high:
                middle = (high + low) / 2
            n_above = float(self.at(races, np.array([middle]))[0][0])
            if n_above >= left:
                low, n_low = middle, n_above
            else:
                high, n_high = middle, n_above
        level = 1 / np.expm1(np.exp(high + 2 * _ROUNDING) / self.weights) - self.start[race]
        sure = np.minimum(np.maximum(np.floor(level * (1 - _ROUNDING) - 1), 0), self.room[race])
        sure = np.where(self.room[race] > 0, sure, 0).astype(np.int64)
        if sure.sum() > left:
            sure[:] = 0
        steps += sure
        left -= int(sure.sum())
        limit = sides.upper[race]

        def gain(j: int) -> Fraction:
            before = int(sides.high[race, j]) + int(steps[j]) + sides.model.alpha
            return ((before + 1) / before) ** sides.model.exponents[j]

        heap = [
            (-gain(j), j) for j in range(len(steps)) if self.room[race, j] and steps[j] < limit[j]
        ]
        heapify(heap)
        while left and heap:
            _, j = heap[0]
            steps[j] += 1
            left -= 1
            if steps[j] < limit[j]:
                heapreplace(heap, (-gain(j), j))
            else:
                heappop(heap)
        found: list[int] = steps.tolist()
        return found


# Lowering -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Pieces:
    """Sets of features that are lowered wholly, each with one that may follow in part; sorted by race.

    ``cells`` and ``loss`` are those of the whole features, ``count`` (with smoothing), ``weight``
    and ``room`` those of the feature ``part``.
    """

    race: Places
    cells: Floats
    loss: Floats
    part: Places
    count: Floats
    weight: Floats
    room: Floats
    whole: list[tuple[int, ...]]

    @classmethod
    def of(cls, sides: Sides, race: Places, cells: Floats, loss: Floats, part: Places,
           whole: list[tuple[int, ...]]) -> _Pieces:  # fmt: skip
        """Look up the features that follow in part."""
        count = sides.low[race, part].astype(np.float64) + float(sides.model.alpha)
        weight, room = sides.model.float_weights[part], sides.lower[race, part].astype(np.float64)
        return cls(race, cells, loss, part, count, weight, room, whole)

    def loss_at(self, pieces: Places, n_cells: Floats) -> Floats:
        """Return the loss of a piece with so many cells; -inf if its whole features take more."""
        part = np.minimum(n_cells - self.cells[pieces], self.room[pieces])
        count = self.count[pieces]
        loss = self.loss[pieces] - self.weight[pieces] * np.log((count - part) / count)
        return np.where(part >= 0, loss, -np.inf)

    def fewest(self, gap: Floats) -> Floats:
        """Return about how many cells each piece needs for its race's ``gap``; or infinity."""
        need = np.maximum(gap[self.race] - self.loss, 0)
        part = np.ceil(-self.count * np.expm1(-need / self.weight) - 1e-12 * self.count)
        return np.where(part <= self.room, self.cells + part, np.inf)


class _Lowering:
    """The winners of some races."""

    def __init__(self, sides: Sides, slack: float) -> None:
        self.sides, self.slack, self.alpha = sides, slack, float(sides.model.alpha)
        self.can_fall = (sides.lower > 0) & (sides.model.float_weights > 0)
        race, part = np.nonzero(self.can_fall)
        nothing = np.zeros(len(race))
        self.use(_Pieces.of(sides, race, nothing, nothing, part, [()] * len(race)))

    def use(self, pieces: _Pieces) -> None:
        """Take other pieces."""
        self.pieces = pieces
        n_races = len(self.sides)
        self.first = np.searchsorted(pieces.race, np.arange(n_races))
        self.n_pieces = np.searchsorted(pieces.race, np.arange(n_races), side="right") - self.first

    def _expanded(self, races: Places) -> tuple[Places, Places]:
        """Return all pieces of some races, and where those of each race begin."""
        length = self.n_pieces[races]
        begin = np.cumsum(length) - length
        pieces = np.arange(length.sum()) - np.repeat(begin - self.first[races], length)
        return pieces, begin

    def most(self, races: Places, n_cells: Floats) -> Floats:
        """Return the greatest loss of so many cells."""
        pieces, begin = self._expanded(races)
        lengths = self.n_pieces[races]
        loss = self.pieces.loss_at(pieces, np.repeat(n_cells, lengths))
        found = np.zeros(len(races))
        filled = lengths > 0
        if filled.any():
            found[filled] = np.maximum(np.maximum.reduceat(loss, begin[filled]), 0)
        return found

    def fewest(self, gap: Floats) -> Floats:
        """Return about how many cells each race needs to lose ``gap``; infinite if it never does."""
        found = np.full(len(self.sides), np.inf)
        np.minimum.at(found, self.pieces.race, self.pieces.fewest(gap))
        return np.where(gap <= 0, 0, found)

    def near(self, race: int, n_cells: int, loss: float) -> Iterator[list[int]]:
        """Give the ways to spend so many cells that lose about ``loss`` at least, per feature."""
        pieces, _ = self._expanded(np.array([race]))
        if not len(pieces):
            yield [0] * self.sides.low.shape[1]
            return
        losses = self.pieces.loss_at(pieces, np.full(len(pieces), float(n_cells)))
        for piece in pieces[losses >= loss].tolist():
            lowered = [0] * self.sides.low.shape[1]
            for j in self.pieces.whole[piece]:
                lowered[j] = int(self.sides.lower[race, j])
            left = n_cells - int(self.pieces.cells[piece])
            part = int(self.pieces.part[piece])
            lowered[part] = min(left, int(self.sides.lower[race, part]))
            yield lowered
        if loss <= 0:
            yield [0] * self.sides.low.shape[1]

    def add_whole_features(self, known: Floats) -> Places:
        """Let whole features be lowered too, where attacks with fewer than ``known`` cells may do so.

        Return the races that have other pieces now.
        """
        small = self.can_fall & (self.sides.lower < known[:, None])
        # Without smoothing, a count that goes to zero decides the race by itself.
        small &= self.sides.low - self.sides.lower + self.alpha > 0
        changed = np.flatnonzero(small.any(axis=1) & (self.can_fall.sum(axis=1) > 1))
        if not len(changed):
            return changed
        found = [
            (race, *piece)
            for race in changed.tolist()
            for piece in self._whole_sets(race, np.flatnonzero(small[race]), float(known[race]))
        ]
        race, cells, loss, whole, part = zip(*found, strict=True)
        before = self.pieces
        kept = np.flatnonzero(~np.isin(before.race, changed))
        races = np.concatenate([before.race[kept], np.array(race, dtype=np.intp)])
        order = np.argsort(races, kind="stable")
        sets = [()] * len(kept) + list(whole)
        self.use(
            _Pieces.of(
                self.sides,
                races[order],
                np.concatenate([before.cells[kept], np.array(cells, dtype=np.float64)])[order],
                np.concatenate([before.loss[kept], np.array(loss)])[order],
                np.concatenate([before.part[kept], np.array(part, dtype=np.intp)])[order],
                [sets[place] for place in order.tolist()],
            )
        )
        return changed

    def _whole_sets(
        self, race: int, small: Places, known: float
    ) -> Iterator[tuple[int, float, tuple[int, ...], int]]:
        """Give the best sets of whole features of one race, by the feature that may follow in part."""
        sides = self.sides
        kinds: dict[tuple[int, int, int], list[int]] = {}
        for j in np.flatnonzero(self.can_fall[race]).tolist():
            kind = (int(sides.low[race, j]), int(sides.lower[race, j]), sides.model.exponents[j])
            kinds.setdefault(kind, []).append(j)
        movable = {*small.tolist()}
        every: list[_WholeSet] | None = None
        for members in kinds.values():
            part = members[-1]
            if part in movable or every is None:
                others = [j for own in kinds.values() for j in own if j in movable and j != part]
                sets = self._best_sets(race, others, known)
                if part not in movable:
                    every = sets
            else:
                sets = every
            for own in sets:
                yield own.cells, own.loss, own.features, part

    def _best_sets(self, race: int, features: list[int], known: float) -> list[_WholeSet]:
        """Return the sets for which no other loses as much with as few cells."""
        sides, best = self.sides, [_WholeSet(0, 0.0, (), Fraction(1))]
        alpha = sides.model.alpha
        for j in features:
            count, room = int(sides.low[race, j]), int(sides.lower[race, j])
            factor = ((count - room + alpha) / (count + alpha)) ** sides.model.exponents[j]
            loss = -float(sides.model.float_weights[j]) * math.log(
                (count - room + alpha) / (count + alpha)
            )
            more = [
                _WholeSet(
                    own.cells + room, own.loss + loss, (*own.features, j), own.factor * factor
                )
                for own in best
                if own.cells + room < known
            ]
            merged = sorted((*best, *more), key=lambda own: (own.cells, own.factor))
            best = []
            for own in merged:
                if not best or own.factor < best[-1].factor:
                    best.append(own)
        return best


@dataclass(frozen=True)
class _WholeSet:
    """Features lowered wholly, and the exact factor that this leaves of the winner's support."""

    cells: int
    loss: float
    features: tuple[int, ...]
    factor: Fraction


# Both ---------------------------------------------------------------------------------------------


class CellRace(Race[Spent]):
    """Races where cells are blanked."""

    def __init__(self, sides: Sides, known: Floats, *, strict: bool = False) -> None:
        super().__init__(known)
        self.sides, self.strict = sides, strict
        if strict:
            # To win outright is better than to catch up, but not asked for at any price.
            self.most_ranges = 1000
        self.slack = error_of_logs(sides.model)
        self.raising = _Raising(sides, self.slack)
        self.gap = gaps(sides, self.raising)
        self.lowering = _Lowering(sides, self.slack)

    def starts(self, races: Places) -> tuple[Places, Floats]:
        """Return about as many lowering cells as are needed at least, and alone."""
        pieces = self.lowering.pieces
        # Zeros that the rival must raise are spared only where the winner has no support left.
        alone = self.lowering.fewest(np.where(self.raising.n_first > 0, np.inf, self.gap))
        least = self.lowering.fewest(self.gap - self.raising.most_gain)
        longest = np.zeros(len(self.sides))
        np.maximum.at(longest, pieces.race, pieces.cells + pieces.room)
        last = np.minimum(np.minimum(alone + 1, longest), self.best)
        numbers = [np.zeros_like(last), least - 1, least, alone - 1, alone, last]
        starts = [np.minimum(np.maximum(own, 0), last)[races] for own in numbers]
        mine = np.isin(pieces.race, races)
        # Between the numbers where a piece begins or ends the greatest loss is convex.
        race, end = pieces.race[mine], pieces.cells[mine] + pieces.room[mine]
        turns = [np.minimum(own, last[race]) for own in (pieces.cells[mine], end, end - 1)]
        races = np.concatenate([*[races] * len(starts), race, race, race])
        return races, np.concatenate([*starts, *turns])

    def refined(self) -> Places:
        """Let whole features be lowered where that may be better."""
        return self.lowering.add_whole_features(self.best)

    def needed(self, races: Places, n_lower: Floats) -> Needed:
        """Bound the raising cells that are needed beside so many lowering ones."""
        loss = self.lowering.most(races, n_lower)
        need = np.where(np.isposinf(loss), -np.inf, self.gap[races] - loss)
        at_least, at_most, level, gain = self.raising.fewest(races, need)
        # A rival without support catches up only with a winner without support.
        first = np.where(np.isneginf(need), 0, self.raising.n_first[races])
        return Needed(at_least + first, at_most + first, level + first, gain, loss)

    def most_raises(self, race: int) -> int:
        """Return how many cells can raise the rival."""
        return int(self.sides.upper[race].sum())

    def attack(self, race: int, n_lower: int, n_raise: int) -> Spent | None:
        """Return how cells lower and raise the counts of a race if that is an attack."""
        raising, nothing = self.raising, [0] * self.sides.low.shape[1]
        has_support = n_raise >= raising.n_first[race] and not raising.is_hopeless[race]
        raised = raising.exactly(self.sides, race, n_raise) if has_support else nothing
        steps = np.array(raised) - raising.first[race]
        gains = np.where(steps > 0, raising.weights * np.log1p(steps / raising.start[race]), 0)
        need = float(self.gap[race] - gains.sum()) - 2 * self.slack
        for lowered in self.lowering.near(race, n_lower, need):
            if self.sides.falls(race, lowered, raised, self.strict):
                return lowered, raised
        return None


def spent(sides: Sides, n_cells: int, *, strict: bool = False) -> Spent | None:
    """Return how at most so many cells let the rival of the only race catch up or, strictly, win."""
    with np.errstate(all="ignore"):
        return CellRace(sides, np.array([n_cells + 1.0]), strict=strict).cheapest()


def _may_fall(sides: Sides, known: Floats) -> NDArray[np.bool_]:
    """Where fewer than ``known`` cells could be enough if all of them served every feature at once."""
    slack, raising = error_of_logs(sides.model), _Raising(sides, 0.0)
    gap = gaps(sides, raising)
    cells = np.minimum(known[:, None] - 1, sides.lower)
    count = sides.low + float(sides.model.alpha)
    loss = -sides.model.float_weights * np.log((count - cells) / count)
    gain = np.minimum(raising.most_gain, (known - 1) * np.exp(raising.top))
    most = np.where(cells > 0, loss, 0).sum(axis=1) + np.where(np.isnan(gain), np.inf, gain)
    return np.asarray((known > 1) & ((most >= gap - slack) | np.isposinf(most)))


def gaps(sides: Sides, raising: _Raising) -> Floats:
    """Return how far each winner is ahead, after the rival's zeros are raised; inf if it stays so."""
    model = sides.model
    alpha, weights = float(model.alpha), model.float_weights
    used = (sides.low != LEFT_OUT) & (weights > 0)
    logs = []
    for label, counts in ((sides.winner, sides.low + alpha), (sides.rival, raising.start)):
        sizes = model.index.label_counts[label][:, None] + alpha * model.index.n_values
        shares = counts / np.where(sizes > 0, sizes, np.inf)
        terms = weights * np.log(np.where(used, shares, 1.0))
        has_rows = (sizes > 0).all(axis=1)
        logs.append(np.where(has_rows, model.log_prior[label] + terms.sum(axis=1), -np.inf))
    gap = np.where(raising.is_hopeless, np.inf, logs[0] - logs[1])
    return np.where(np.isnan(gap), np.inf, gap)
