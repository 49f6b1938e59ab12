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

import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.equal_weights import bound_radii
from nullproof.attacks.reach import Reach
from nullproof.attacks.search import (
    Cheapest,
    Codes,
    Places,
    Race,
    Tried,
    counts_of,
    error_of_logs,
    solve_points,
)
from nullproof.counts.index import LEFT_OUT
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.model.verdicts import Verdicts
from nullproof.progress import Progress

Ints = NDArray[np.int64]
# How the counts of the winner are lowered and those of the rival raised.
Spent = tuple[list[int], list[int]]
# Thresholds and gains are products of a few roundings.
_ROUNDING = 1e-14
_MOST_HALVINGS = 200
# So many cells are taken one by one.
_FEW = 32


def solve_cells(
    model: Model,
    codes: Codes,
    found: Verdicts,
    reach: Reach,
    on_progress: Progress | None = None,
) -> Cheapest:
    """Find the fewest cells for complete points (features × points) with certain verdicts."""
    n_points, winner = codes.shape[1], found.winner
    best, places = Cheapest.none_known(n_points), np.arange(n_points)
    if model.has_equal_weights and reach.mask is None:
        best, at_least = bound_radii(model, codes, found, reach.columns)
        places = np.flatnonzero(at_least < best.size)
    rivals = found.max_log.copy()
    rivals[np.arange(n_points), winner] = np.nan

    def race_of(points: Places, rival: Codes, known: Floats) -> CellRace:
        return CellRace(Sides.of(model, codes[:, points], winner[points], rival, reach), known)

    what = "finding the fewest cells for each point"
    return solve_points(best, places, codes, rivals, race_of, what, on_progress)


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
        low, high = counts_of(model, codes, winner, rival)
        # What is out of reach counts as missing there: it is not in the low counts, but in the high ones.
        within = model.on(reach.index)
        lower, reached = counts_of(within, codes, winner, rival)
        sizes = model.index.n_values
        is_movable = (sizes > codes.T) & (sizes >= 2) & reach.columns & (model.float_weights > 0)
        upper = within.index.label_counts[rival][:, None] - reached
        return cls(
            model,
            winner,
            rival,
            low,
            high,
            np.where(is_movable, lower, 0),
            np.where(is_movable, upper, 0),
        )

    def __len__(self) -> int:
        return len(self.winner)

    def falls(self, race: int, lowered: Sequence[int], raised: Sequence[int]) -> bool:
        """Decide exactly whether the rival catches up after these changes."""
        low = [c - n for c, n in zip(self.low[race].tolist(), lowered, strict=True)]
        high = [c + n for c, n in zip(self.high[race].tolist(), raised, strict=True)]
        winner, rival = int(self.winner[race]), int(self.rival[race])
        return not self.model.exceeds(winner, low, rival, high)


# Raising --------------------------------------------------------------------------------------------


class _Raising:
    """The rivals of some races: how many cells raise their log supports by how much."""

    def __init__(self, sides: Sides, slack: float) -> None:
        self.sides, self.slack, alpha = sides, slack, float(sides.model.alpha)
        self.weights = sides.model.float_weights
        # Without smoothing a rival has no support before all its zeros are raised.
        zero = (sides.high == 0) & (alpha == 0) & (self.weights > 0)
        self.n_first = zero.sum(axis=1).astype(np.float64)
        self.is_hopeless = (zero & (sides.upper == 0)).any(axis=1)
        self.first = zero & ~self.is_hopeless[:, None]
        is_stuck = (self.weights == 0) | (sides.high == LEFT_OUT) | self.is_hopeless[:, None]
        self.room = np.where(is_stuck, 0, sides.upper - self.first).astype(np.float64)
        self.start = np.where(is_stuck, 1, sides.high + self.first + alpha)
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
        next_gain, most = np.exp(self.top[races]), self.most_gain[races]
        number = (gain - self.slack) / next_gain
        at_least = np.where(gain > most + self.slack, np.inf, np.where(gain > self.slack, 1.0, 0.0))
        at_most = np.where(gain <= most - self.slack, self.most_cells[races], np.inf)
        at_most[gain <= -self.slack] = 0
        is_open = np.isfinite(at_least) & (at_most > 0) & (self.most_cells[races] > 0)
        active = np.flatnonzero(is_open)
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

    def price(self, races: Places, gap: Floats, gains: Floats, cells: Floats) -> Floats:
        """Return the least gain per cell that is used if features, too, can be lowered by any share.

        ``gains`` are those of ``cells`` of the features, races × features.
        """
        ratio = np.where(gains > 0, gains / cells, 0)
        high = np.maximum(self.top[races], np.log(ratio.max(axis=1)))
        low = np.minimum(self.bottom[races], np.log(np.where(gains > 0, ratio, np.inf).min(axis=1)))
        for _ in range(40):
            middle = (high + low) / 2
            lost = np.where(ratio >= np.exp(middle)[:, None], gains, 0).sum(axis=1)
            is_enough = self.at(races, middle)[1] + lost >= gap
            low, high = np.where(is_enough, middle, low), np.where(is_enough, high, middle)
        return np.asarray(np.exp(low))

    def exactly(self, race: int, n_cells: int) -> list[int]:
        """Return the best raise of so many cells; near ties of gains are told apart by whole numbers."""
        sides, races = self.sides, np.array([race])
        steps = self.first[race].astype(np.int64)
        left = n_cells - int(steps.sum())
        high, low = self.top[race] + 1, self.bottom[race] - 1
        n_high, n_low = 0.0, float(self.most_cells[race])
        # Take the cells whose gain is surely above the least one that is taken, but for a few.
        for _ in range(_MOST_HALVINGS):
            if n_low - n_high <= _FEW or high - low <= _ROUNDING:
                break
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


# A set of features that are lowered wholly: its cells, the loss, and which they are.
_WholeSet = tuple[float, float, tuple[int, ...]]
# A race, the feature that may follow in part, and the set.
_Piece = tuple[int, int, float, float, tuple[int, ...]]


class _Lowering:
    """The winners of some races: how many cells lower their log supports by how much.

    A piece is a set of features that are lowered wholly (``cells`` and ``loss`` in all) and one feature,
    ``part``, that may follow in part: its ``count`` (with smoothing), ``weight`` and ``room``. Pieces are
    sorted by race.
    """

    def __init__(self, sides: Sides, slack: float) -> None:
        self.sides, self.slack, self.alpha = sides, slack, float(sides.model.alpha)
        self.weights = sides.model.float_weights
        self.can_fall = (sides.lower > 0) & (self.weights > 0)
        race, part = np.nonzero(self.can_fall)
        nothing = np.zeros(len(race))
        self._use(race, part, nothing, nothing, [()] * len(race))

    def _use(
        self,
        race: Places,
        part: Places,
        cells: Floats,
        loss: Floats,
        whole: list[tuple[int, ...]],
    ) -> None:
        order = np.argsort(race, kind="stable")
        self.race, self.part = race[order], part[order]
        self.cells, self.loss = cells[order], loss[order]
        self.whole = [whole[place] for place in order.tolist()]
        self.count = self.sides.low[self.race, self.part] + self.alpha
        self.room = self.sides.lower[self.race, self.part].astype(np.float64)
        self.weight = self.weights[self.part]
        races = np.arange(len(self.sides))
        self.first = np.searchsorted(self.race, races)
        self.n_pieces = np.searchsorted(self.race, races, side="right") - self.first

    def _add(self, pieces: list[_Piece]) -> None:
        if pieces:
            races, parts, cells, losses, whole = zip(*pieces, strict=True)
            self._use(
                np.append(self.race, races),
                np.append(self.part, parts),
                np.append(self.cells, cells),
                np.append(self.loss, losses),
                [*self.whole, *whole],
            )

    def _pieces_of(self, races: Places) -> tuple[Places, Places]:
        """Return all pieces of some races, and where those of each race begin."""
        length = self.n_pieces[races]
        begin = np.cumsum(length) - length
        return np.arange(length.sum()) - np.repeat(begin - self.first[races], length), begin

    def _loss_at(self, pieces: Places, n_cells: Floats) -> Floats:
        """Return the loss of each piece with so many cells; -inf if its whole features take more."""
        part = np.minimum(n_cells - self.cells[pieces], self.room[pieces])
        count = self.count[pieces]
        loss = self.loss[pieces] - self.weight[pieces] * np.log((count - part) / count)
        return np.where(part >= 0, loss, -np.inf)

    def most(self, races: Places, n_cells: Floats) -> Floats:
        """Return the greatest loss of so many cells."""
        pieces, begin = self._pieces_of(races)
        lengths, found = self.n_pieces[races], np.zeros(len(races))
        loss = self._loss_at(pieces, np.repeat(n_cells, lengths))
        filled = lengths > 0
        if filled.any():
            found[filled] = np.maximum(np.maximum.reduceat(loss, begin[filled]), 0)
        return found

    def fewest(self, gap: Floats) -> Floats:
        """Return how many cells surely lose ``gap``, the fewest up to rounding; infinite if none do."""
        need = np.maximum(gap[self.race] - self.loss + 2 * self.slack, 0)
        part = np.ceil(self.count * (1e-12 - np.expm1(-need / self.weight)))
        # Without smoothing, a count that is blanked away loses any gap.
        part = np.where(self.count == self.room, np.minimum(part, self.room), part)
        found = np.full(len(self.sides), np.inf)
        np.minimum.at(found, self.race, np.where(part <= self.room, self.cells + part, np.inf))
        return np.where(gap <= -2 * self.slack, 0, found)

    def near(self, race: int, n_cells: int, loss: float) -> Iterator[list[int]]:
        """Give the ways to spend so many cells that lose about ``loss`` at least, per feature."""
        pieces, _ = self._pieces_of(np.array([race]))
        losses = self._loss_at(pieces, np.full(len(pieces), float(n_cells)))
        nothing = [0] * self.sides.low.shape[1]
        for piece in pieces[losses >= loss].tolist():
            lowered, part = nothing.copy(), int(self.part[piece])
            for j in self.whole[piece]:
                lowered[j] = int(self.sides.lower[race, j])
            lowered[part] = int(min(n_cells - self.cells[piece], self.room[piece]))
            yield lowered
        if loss <= 0 or not len(pieces):
            yield nothing

    def greedy_sets(self, known: Floats, gap: Floats, raising: _Raising) -> Places:
        """Let features be lowered wholly, the greatest loss per cell first, where that may be better.

        Return the races that have more pieces now: those where an attack with fewer than ``known`` cells
        may lower a feature wholly.
        """
        ends, gains = self._ends(known)
        # No cell does more than the steepest chord of a feature, or than the best raise.
        ratio = np.where(self.can_fall, gains / ends, 0)
        steepest = np.maximum(ratio.max(axis=1, initial=0), np.exp(raising.top))
        need = np.maximum(gap[:, None] - gains - self.slack, 0) * (1 - 1e-12)
        is_whole = self.can_fall & (ends == self.sides.lower)
        is_whole &= ends + need / steepest[:, None] < known[:, None]
        is_possible = gap <= gains.sum(axis=1) + raising.most_gain + self.slack
        is_possible &= self.can_fall.sum(axis=1) > 1
        changed = np.flatnonzero(is_whole.any(axis=1) & is_possible)
        pieces = []
        for race in changed.tolist():
            features = np.flatnonzero(is_whole[race])
            order = features[np.argsort(-ratio[race, features], kind="stable")].tolist()
            rest = np.flatnonzero(self.can_fall[race] & ~is_whole[race]).tolist()
            cells = np.append(0, np.cumsum(ends[race, order]))
            losses = np.append(0, np.cumsum(gains[race, order]))
            for n, part in enumerate([*order, *rest[:1]]):
                if n and cells[n] < known[race]:
                    pieces.append((race, part, cells[n], losses[n], tuple(order[:n])))
        self._add(pieces)
        return changed

    def best_sets(self, races: Places, known: Floats, gap: Floats, raising: _Raising) -> Places:
        """Add all pieces that attacks with fewer than ``known`` cells may use; return the races with more.

        A *price*, a gain per cell, bounds all attacks (weak duality): one of ``n`` cells has
        ``price * n >= gap - most``, with ``most`` the sum, over the features and the raise, of the greatest
        excess of a gain over the price of its cells. What is less than the greatest is a *regret*, and all
        regrets of an attack with fewer than ``known`` cells add up to at most
        ``price * (known - 1) - gap + most``, the *budget*.
        """
        # Zeros that the rival must raise take their cells anyway.
        total = self.sides.lower.sum(axis=1) + raising.most_cells
        limit = np.clip(known - raising.n_first, 1, total + 1)
        ends, gains = self._ends(limit)
        ends, gains, limit = ends[races], gains[races], limit[races]
        price = raising.price(races, gap[races], gains, ends)
        excess = np.maximum(gains - price[:, None] * ends, 0)
        n_raise, gain = raising.at(races, np.log(price))
        most = excess.sum(axis=1) + np.maximum(gain - price * n_raise, 0)
        budget = price * (limit - 1) - gap[races] + most
        budget += 2 * self.slack + 1e-12 * price * limit
        is_whole = self.can_fall[races] & (ends == self.sides.lower[races])
        regret = self._regrets(races, price) + excess
        changed = np.flatnonzero((budget >= 0) & is_whole.any(axis=1))
        pieces: list[_Piece] = []
        for place in changed.tolist():
            about = is_whole[place], gains[place], excess[place], regret[place]
            limits = float(price[place]), float(budget[place])
            pieces += self._pieces(int(races[place]), *about, *limits)
        self._add(pieces)
        return np.asarray(races[changed])

    def _regrets(self, races: Places, price: Floats) -> Floats:
        """Return how much the price of a part exceeds its loss at least, races × features; inf for no part.

        The loss of a part is convex, so that is with one cell, or with one cell left.
        """
        count, room = self.sides.low[races] + self.alpha, self.sides.lower[races]
        least = np.full(room.shape, np.inf)
        for cells in (np.minimum(room, 1), np.maximum(room - 1, 1)):
            lost = -self.weights * np.log((count - cells) / count)
            least = np.minimum(least, price[:, None] * cells - lost)
        return np.where(self.can_fall[races], least, np.inf)

    def _ends(self, known: Floats) -> tuple[Floats, Floats]:
        """Return the most cells that attacks with fewer than ``known`` take from a feature, and their loss.

        Without smoothing, a count that goes to zero decides the race by itself: not these.
        """
        low, lower = self.sides.low + self.alpha, self.sides.lower
        ends = np.minimum(lower - (low == lower), np.maximum(known - 1, 1)[:, None])
        losses = -self.weights * np.log((low - ends) / low)
        return np.where(self.can_fall, ends, 0), np.where(self.can_fall, losses, 0)

    def _pieces(  # noqa: C901
        self,
        race: int,
        is_whole: NDArray[np.bool_],
        gains: Floats,
        excess: Floats,
        regret: Floats,
        price: float,
        budget: float,
    ) -> Iterator[_Piece]:
        """Give the pieces of a race with regrets within the budget; like features stand for each other."""
        sides = self.sides
        kinds: dict[tuple[int, int, int], list[int]] = {}
        for j in np.flatnonzero(is_whole).tolist():
            kind = (int(sides.low[race, j]), int(sides.lower[race, j]), sides.model.exponents[j])
            kinds.setdefault(kind, []).append(j)
        cells, losses, most = sides.lower[race].tolist(), gains.tolist(), excess.tolist()
        # The features whose choice matters most come first.
        choice = np.abs(gains - price * sides.lower[race])
        alike = sorted(kinds.values(), key=lambda features: -choice[features[0]])
        # Features that cannot be lowered wholly are regretted, unless they are the part.
        left = budget - float(excess[~is_whole].sum())

        def sets_without(part: int, left: float) -> list[_WholeSet]:
            """Return sets of whole features, but for those that others surely beat with no more cells."""
            best: list[_WholeSet] = [(0.0, 0.0, ())]
            for members in alike:
                features = [j for j in members if j != part]
                every = list(best)
                for j in features:
                    last = every[-len(best) :]
                    every += [(c + cells[j], g + losses[j], (*old, j)) for c, g, old in last]
                left -= sum(most[j] for j in features)
                best, greatest = [], -math.inf
                for n_cells, loss, old in sorted(every, key=lambda own: (own[0], -own[1])):
                    if price * n_cells - loss <= left and loss > greatest - 2 * self.slack:
                        best.append((n_cells, loss, old))
                        greatest = max(greatest, loss)
            return best

        shared = sets_without(-1, left)
        for n_cells, loss, features in shared:
            if features:
                last = features[-1]
                yield race, last, n_cells - cells[last], loss - losses[last], features[:-1]
        used = {j for _, _, features in shared for j in features}
        doubled = {j for members in alike for j in members[:-1]}
        for part in np.flatnonzero(regret <= budget).tolist():
            if part in doubled:
                continue
            # Where no good set holds the part, and none should, the sets without it are the same.
            is_same = part not in used and not most[part]
            room = left if is_whole[part] else left + most[part]
            rest = budget - sum(most) + most[part] - float(regret[part])
            for n_cells, loss, features in shared if is_same else sets_without(part, room):
                # A part without whole features is a piece already.
                if features and price * n_cells - loss <= rest:
                    yield race, part, n_cells, loss, features


# Both ---------------------------------------------------------------------------------------------


class CellRace(Race):
    """Races where cells are blanked."""

    def __init__(self, sides: Sides, known: Floats) -> None:
        super().__init__(known, error_of_logs(sides.model))
        self.sides = sides
        with np.errstate(all="ignore"):
            self.raising = _Raising(sides, self.slack)
            self.gap = gaps(sides, self.raising)
            self.lowering = _Lowering(sides, self.slack)

    def starts(self, races: Places) -> tuple[Places, Floats]:
        """Return about as many lowering cells as are needed at least, and alone."""
        pieces = self.lowering
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

    def refined(self) -> Iterator[Places]:
        """Let whole features be lowered where that may be better: first greedily, then all that may be."""
        races = self.lowering.greedy_sets(self.best, self.gap, self.raising)
        yield races
        yield self.lowering.best_sets(races, self.best, self.gap, self.raising)

    def needed(self, races: Places, n_lower: Floats) -> Tried:
        """Bound the raising cells that are needed beside so many lowering ones."""
        loss = self.lowering.most(races, n_lower)
        need = np.where(np.isposinf(loss), -np.inf, self.gap[races] - loss)
        at_least, at_most, level, gain = self.raising.fewest(races, need)
        # A rival without support catches up only with a winner without support.
        first = np.where(np.isneginf(need), 0, self.raising.n_first[races])
        at_least, at_most, level = at_least + first, at_most + first, level + first
        return Tried(races, n_lower, at_least, at_most, level, gain, loss)

    def most_raises(self, race: int) -> int:
        """Return how many cells can raise the rival."""
        return int(self.sides.upper[race].sum())

    def falls(self, race: int, n_lower: int, n_raise: int) -> bool:
        """Decide exactly whether so many cells are enough."""
        return self.attack(race, n_lower, n_raise) is not None

    @np.errstate(all="ignore")
    def attack(self, race: int, n_lower: int, n_raise: int) -> Spent | None:
        """Return how cells lower and raise the counts of a race if that is an attack."""
        raising, nothing = self.raising, [0] * self.sides.low.shape[1]
        has_support = n_raise >= raising.n_first[race] and not raising.is_hopeless[race]
        raised = raising.exactly(race, n_raise) if has_support else nothing
        steps = np.array(raised) - raising.first[race]
        gains = np.where(steps > 0, raising.weights * np.log1p(steps / raising.start[race]), 0)
        need = float(self.gap[race] - gains.sum()) - 2 * self.slack
        for lowered in self.lowering.near(race, n_lower, need):
            if self.sides.falls(race, lowered, raised):
                return lowered, raised
        return None


def spent(sides: Sides, n_raise: int, n_lower: int) -> Spent:
    """Return how cells let the rival of the only race catch up, given the size of a cheapest attack.

    That is so many of the rival's and of the winner's or, if these do not do it, as many others.
    """
    race = CellRace(sides, np.array([n_raise + n_lower + 1.0]))
    found = race.attack(0, n_lower, n_raise)
    if found is None:
        (raised,), (lowered,) = race.solve()
        found = race.attack(0, int(lowered), int(raised))
    if found is None:
        raise AssertionError("no attack has as many cells as the radius")
    return found


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
