"""The fewest rows to add until a rival catches up (T13, with weights as in T17).

Only rows of the rival that agree with the point wherever a row can, and rows of the winner that agree
nowhere they need not, are ever needed. A feature is *loose* at a point if a row can disagree there: a
domain of one value has the factor 1 for every label, and a feature that is left out has no factor. With
``a`` rows the rival's log support is, up to a constant, a sum of logarithms of ``a`` plus its counts,
less one of ``a`` plus its number of rows for every loose feature; the winner's only has the second sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.search import Bounds, Needed, Places, Race, Tried, first
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.progress import Progress, over

Codes = NDArray[np.int32]
Ints = NDArray[np.int64]
# The log support of some races after some rows, and its slope.
LogSupport = Callable[[Places, Floats], tuple[Floats, Floats]]
# Doubles cannot bound larger numbers well enough for an exact answer.
MOST_ROWS = 10**10
_MOST = float(MOST_ROWS)
_BLOCK = 8192
_MOST_ROUNDS = 120


def solve_rows(
    model: Model, codes: Codes, winner: Codes, on_progress: Progress | None = None
) -> Bounds:
    """Find the fewest rows for complete points (features × points), certain with label ``winner``."""
    bounds = Bounds.none_known(codes.shape[1])
    if not codes.shape[1]:
        return bounds
    _, originals, copy_of = np.unique(codes, axis=1, return_index=True, return_inverse=True)
    blocks = [originals[start : start + _BLOCK] for start in range(0, len(originals), _BLOCK)]
    for places in over(blocks, "finding the fewest rows for each point", on_progress):
        for rival in range(model.m):
            tried = places[(winner[places] != rival) & (bounds.at_most[places] > 1)]
            rivals = np.full(len(tried), rival, dtype=np.int32)
            race = RowRace(model, codes[:, tried], winner[tried], rivals, bounds.at_most[tried])
            with np.errstate(all="ignore"):
                found = race.solve()
            raised, lowered = found.n_raise, found.n_lower
            bounds.offer(tried, rival, (raised, raised), (lowered, lowered))
    copies = bounds.at(originals[copy_of.ravel()])
    for own, copied in zip(vars(bounds).values(), vars(copies).values(), strict=True):
        own[:] = copied
    return bounds


def beyond_count(model: Model, codes: Codes, winner: Codes) -> NDArray[np.bool_]:
    """Return which points without an attack of at most `MOST_ROWS` rows would fall to more."""
    found = np.zeros(codes.shape[1], dtype=bool)
    for rival in range(model.m):
        rivals = np.full(codes.shape[1], rival, dtype=np.int32)
        race = RowRace(model, codes, winner, rivals, np.full(codes.shape[1], np.inf))
        found |= race.is_possible & (winner != rival)
    return found


class RowRace(Race[tuple[int, int]]):
    """Races where rows are added; points are features × points."""

    def __init__(
        self, model: Model, codes: Codes, winner: Codes, rival: Codes, known: Floats
    ) -> None:
        super().__init__(np.minimum(known, _MOST + 1))
        self.model, self.winner, self.rival = model, winner, rival
        sizes, weights = model.index.n_values, model.float_weights
        points = np.arange(codes.shape[1])
        is_known = (codes <= sizes[:, None]).T & (weights > 0)
        self.is_matched = is_known & (codes < sizes[:, None]).T
        self.is_forced = self.is_matched & (sizes == 1)
        is_loose = is_known & ~self.is_forced
        low, high = np.empty((2, *is_known.shape), dtype=np.int64)
        for j, own in enumerate(codes):
            low[:, j] = model.low(j, own)[points, winner]
            high[:, j] = model.high(j, own)[points, rival]
        self.low, self.high = low, high
        self.loose_weight = np.where(is_loose, weights, 0)
        self.matched_weight = np.where(is_loose & self.is_matched, weights, 0)
        self._compare(is_loose, high)

    def _compare(self, is_loose: NDArray[np.bool_], high: Ints) -> None:
        """Prepare the log supports: constants, what rows change, and a bound on errors."""
        model, alpha = self.model, float(self.model.alpha)
        weights, counted = model.float_weights, model.prior_is_counted
        self.smoothing = alpha * model.index.n_values
        self.n_rows = model.index.label_counts[np.stack([self.winner, self.rival])].astype(
            np.float64
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            log_alpha = math.log(alpha) if alpha else -math.inf
            own = np.where(is_loose, np.log(self.low + alpha), 0)
            unseen = np.where(is_loose & ~self.is_matched, log_alpha, 0)
            pair = np.stack([self.winner, self.rival])
            shares = np.where(counted, 0.0, model.log_prior[pair])
        self.constants = (
            shares[0] + np.where(is_loose, weights * own, 0).sum(axis=1),
            shares[1] + np.where(unseen != 0, weights * unseen, 0).sum(axis=1),
        )
        self.start = np.where(self.matched_weight > 0, high + alpha, 1.0)
        # Where a count is zero without smoothing, or a label has no rows, one row gives support.
        bare = (self.n_rows[1] == 0) & (counted or alpha == 0)
        self.least = ((self.start == 0).any(axis=1) | bare).astype(np.float64)
        unseen_weight = (self.loose_weight - self.matched_weight).sum(axis=1)
        self.has_peak = unseen_weight > counted
        self.can_lower = self.loose_weight.sum(axis=1) > counted
        largest = math.log(
            _MOST + float(model.index.label_counts.max()) + float(self.smoothing.max())
        )
        largest = max(largest, abs(log_alpha) if alpha else 0)
        finite = model.log_prior[np.isfinite(model.log_prior)]
        magnitude = float(np.abs(finite).max(initial=0)) + 12 * (model.d + 1) * largest
        self.slack = 2 * float(model.slack(magnitude))

    @property
    def is_possible(self) -> NDArray[np.bool_]:
        """Whether any number of rows is enough, be it more than can be counted."""
        if self.model.prior_is_counted:
            return np.ones(len(self.known), dtype=bool)
        has_prior = np.isfinite(self.model.log_prior)[self.rival]
        falls = [self.attack(race, 0, 1) is not None for race in range(len(self.known))]
        return np.asarray(has_prior & (self.can_lower | np.array(falls, dtype=bool)))

    # Floats ---------------------------------------------------------------------------------------

    def _below(self, side: int, races: Places, n_added: Floats) -> tuple[Floats, Floats]:
        """Return what rows of a label do to its own total, in logarithms, and the slope."""
        n_rows = self.n_rows[side][races] + n_added
        sizes, weights = n_rows[:, None] + self.smoothing, self.loose_weight[races]
        log, slope = -(weights * np.log(sizes)).sum(axis=1), -(weights / sizes).sum(axis=1)
        if self.model.prior_is_counted:
            return log + np.log(n_rows), slope + 1 / n_rows
        return log, slope

    def lowered(self, races: Places, n_added: Floats) -> tuple[Floats, Floats]:
        """Return the winner's log support after so many rows, and its slope."""
        log, slope = self._below(0, races, n_added)
        return self.constants[0][races] + log, slope

    def raised(self, races: Places, n_added: Floats) -> tuple[Floats, Floats]:
        """Return the rival's log support after so many rows, and its slope."""
        log, slope = self._below(1, races, n_added)
        counts, weights = self.start[races] + n_added[:, None], self.matched_weight[races]
        log = log + self.constants[1][races] + (weights * np.log(counts)).sum(axis=1)
        return log, slope + (weights / counts).sum(axis=1)

    def starts(self, races: Places) -> tuple[Places, Floats]:
        """Return no row of the winner, as many as are enough alone, and the most that can be of use."""
        self.peak = self._peaks()
        everything = np.arange(len(self.known))
        now = self.raised(everything, self.least)[0]
        alone = self._first(self.lowered, everything, now, -1.0, np.full(len(now), _MOST))
        most = np.minimum(self.needed(everything, np.zeros(len(now))).at_most, self.best)
        most = np.minimum(most, _MOST)
        last = np.where(self.can_lower, np.minimum(alone + 2, most), 0)
        numbers = [np.zeros_like(last), last, np.clip(alone - 1, 0, last), np.minimum(alone, last)]
        return np.concatenate([races] * 4), np.concatenate([own[races] for own in numbers])

    def _peaks(self) -> Floats:
        """Return about how many rows give the rival its greatest support; beyond it more are of no use."""
        peak = np.full(len(self.known), _MOST)
        races = np.flatnonzero(self.has_peak)
        low, high = np.zeros(len(races)), peak[races]
        for _ in range(_MOST_ROUNDS if len(races) else 0):
            middle = np.floor((low + high) / 2)
            falling = self.raised(races, middle)[1] < 0
            low, high = np.where(falling, low, middle + 1), np.where(falling, middle, high)
            if (low >= high).all():
                break
        # The support falls from here on; one row fewer may still be better.
        after = np.maximum(high, self.least[races])
        before = np.maximum(after - 1, self.least[races])
        is_past = self.raised(races, before)[0] >= self.raised(races, after)[0]
        peak[races] = np.where(is_past, before, after)
        return peak

    def needed(self, races: Places, n_lower: Floats) -> Needed:
        """Bound the rows of the rival that are needed beside so many of the winner."""
        target = self.lowered(races, n_lower)[0]
        peak = self.peak[races]
        about = self._first(self.raised, races, target, 1.0, peak)
        at_least, at_most = np.zeros(len(races)), np.full(len(races), np.inf)
        highest = self.raised(races, peak)[0]
        is_low = highest < target - self.slack
        at_least[is_low] = np.inf
        about = np.where(np.isfinite(about), about, peak)
        for n_rows in (about + 1, about, about - 1, about - 2):
            tried = np.clip(n_rows, self.least[races], peak)
            log = self.raised(races, tried)[0]
            enough = log > target + self.slack
            at_most = np.where(enough & (tried < at_most), tried, at_most)
            failing = (log < target - self.slack) & ~is_low & (at_least < tried + 1)
            at_least = np.where(failing, tried + 1, at_least)
        at_least = np.maximum(at_least, np.where(is_low, np.inf, self.least[races]))
        # The rival's log support is concave, if it has no peak: it lies below its tangent.
        tried = np.maximum(about - 1, self.least[races])
        log, slope = self.raised(races, tried)
        level = tried + (target - log - self.slack) / slope
        level[self.has_peak[races] | is_low | ~(slope > 0)] = -np.inf
        return Needed(at_least, at_most, level, slope, -target)

    def steepness(self, left: Tried, right: Tried) -> Floats:
        """Return the slope of the winner's log support, if it is convex from here on, as T13 asks."""
        races = right.race
        n_rows = self.n_rows[0][races, None] + left.n_lower[:, None]
        ratios = n_rows / (n_rows + self.smoothing)
        bends = (self.loose_weight[races] * ratios**2).sum(axis=1)
        is_convex = bends > self.model.prior_is_counted + 1e-9
        slope = self.lowered(races, right.n_lower)[1]
        return np.where(is_convex, np.maximum(-slope * (1 - 1e-9), 0), 0)

    def _first(
        self, log_of: LogSupport, races: Places, target: Floats, sign: float, most: Floats
    ) -> Floats:
        """Return about the first number of rows where a log support passes a target; inf if none does."""
        least = self.least[races] if sign > 0 else np.zeros(len(races))
        found = np.full(len(races), np.inf)
        found[sign * (log_of(races, least)[0] - target) >= 0] = 0
        found = np.where(found == 0, least, found)
        reaches = sign * (log_of(races, most)[0] - target) >= 0
        active: Places = np.flatnonzero(np.isinf(found) & reaches)
        low, high = least[active], most[active]
        at = low
        for _ in range(_MOST_ROUNDS):
            if not len(active):
                break
            log, slope = log_of(races[active], at)
            passed = sign * (log - target[active]) >= 0
            low, high = np.where(passed, low, at), np.where(passed, at, high)
            done = high - low <= 1
            found[active[done]] = high[done]
            step = at + (target[active] - log) / slope
            # Newton's step where it stays inside, at least one row; a geometric mean where it does not.
            step = np.where(passed, np.floor(step), np.maximum(np.ceil(step), at + 1))
            middle = np.floor(np.sqrt((low + 1) * (high + 1)) - 1)
            middle = np.where(high > 4 * low + 8, middle, np.floor((low + high) / 2))
            at = np.where((step > low) & (step < high), step, np.clip(middle, low + 1, high - 1))
            active, low, high, at = active[~done], low[~done], high[~done], at[~done]
        found[active] = high
        return found

    # Whole numbers --------------------------------------------------------------------------------

    def _raised_counts(self, race: int, n_rows: int) -> list[int]:
        matched = self.is_matched[race].tolist()
        return [
            c + n_rows if own else c
            for c, own in zip(self.high[race].tolist(), matched, strict=True)
        ]

    def _lowered_counts(self, race: int, n_rows: int) -> list[int]:
        forced = self.is_forced[race].tolist()
        return [
            c + n_rows if own else c for c, own in zip(self.low[race].tolist(), forced, strict=True)
        ]

    def attack(self, race: int, n_lower: int, n_raise: int) -> tuple[int, int] | None:
        """Return the numbers of rows if the rival catches up with them."""
        stands = self.model.exceeds(
            int(self.winner[race]),
            self._lowered_counts(race, n_lower),
            int(self.rival[race]),
            self._raised_counts(race, n_raise),
            added=(n_lower, n_raise),
        )
        return None if stands else (n_lower, n_raise)

    def most_raises(self, race: int) -> int:
        """Return how many rows give the rival its greatest support, if more would take from it."""
        if not self.has_peak[race]:
            return MOST_ROWS
        label = int(self.rival[race])

        def is_past(n_rows: int) -> bool:
            before, after = (self._raised_counts(race, n) for n in (n_rows, n_rows + 1))
            return self.model.exceeds(label, before, label, after, added=(n_rows, n_rows + 1))

        return first(0, MOST_ROWS, is_past)
