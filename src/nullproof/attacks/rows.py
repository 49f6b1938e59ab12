"""The fewest rows to add until a rival catches up (T13, with weights as in T17).

Only rows of the rival that agree with the point wherever a row can, and rows of the winner that agree
nowhere they need not, are ever needed. A feature is *loose* at a point if a row can disagree there: a
domain of one value has the factor 1 for every label, and a feature that is left out has no factor. With
``a`` rows the rival's log support is, up to a constant, a sum of logarithms of ``a`` plus its counts,
less one of ``a`` plus its number of rows for every loose feature; the winner's only has the second sum.

Rows for several points are searched for greedily, then pruned. More rows may undo an attack on another
point, since they also make its winner or its rival more frequent. So every step looks at the verdicts of
all points.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.search import (
    Cheapest,
    Codes,
    Places,
    Race,
    Tried,
    counts_of,
    error_of_logs,
    first,
    solve_points,
)
from nullproof.counts.index import CountIndex
from nullproof.data.points import evenly
from nullproof.errors import NullproofError
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.model.verdicts import Verdicts, verdicts
from nullproof.progress import Progress

if TYPE_CHECKING:
    from nullproof.attacks.radius import Radii

Ints = NDArray[np.int64]
# The log support of some races after some rows, and its slope.
LogSupport = Callable[[Places, Floats], tuple[Floats, Floats]]
# Doubles cannot bound larger numbers well enough for an exact answer.
MOST_ROWS = 10**10
_MOST = float(MOST_ROWS)
# A label and the values of a row, as codes.
Kind = tuple[int, tuple[int, ...]]
# So many points at a time offer the rows that would break them.
_OFFERING = 24
_ROUNDS = 400
# So many rows that differ in one value are tried where none that is best for one point helps.
_MOST_NEAR = 500
_CLEAR = 1e-9
# No lead counts for more than this, so that supports of zero can be compared.
_FAR = 700.0


def solve_rows(
    model: Model, codes: Codes, found: Verdicts, on_progress: Progress | None = None
) -> Cheapest:
    """Find the fewest rows for complete points (features × points) with certain verdicts."""
    n_points = codes.shape[1]
    winner, rivals = found.winner, np.tile(-np.arange(float(model.m)), (n_points, 1))
    rivals[np.arange(n_points), winner] = np.nan

    def race_of(points: Places, rival: Codes, known: Floats) -> RowRace:
        return RowRace(model, codes[:, points], winner[points], rival, known)

    what, best = "finding the fewest rows for each point", Cheapest.none_known(n_points)
    return solve_points(best, np.arange(n_points), codes, rivals, race_of, what, on_progress)


def beyond_count(model: Model, codes: Codes, winner: Codes) -> NDArray[np.bool_]:
    """Return which points without an attack of at most `MOST_ROWS` rows would fall to more (T13).

    If the prior follows the rows, any rival catches up in the end. If it is given, any rival does whose
    prior is not 0, as long as some feature is loose.
    """
    if model.prior_is_counted:
        return np.full(len(winner), model.m > 1)
    can_win = np.isfinite(model.log_prior)
    has_rival = can_win.sum() - can_win[winner] > 0
    return np.asarray(has_rival & _is_loose(model, codes).any(axis=1))


def _is_loose(model: Model, codes: Codes) -> NDArray[np.bool_]:
    """Return where rows can disagree with points, points × features."""
    sizes = model.index.n_values
    is_forced = (codes.T == 0) & (sizes == 1)
    return np.asarray((sizes >= codes.T) & (model.float_weights > 0) & ~is_forced)


class RowRace(Race):
    """Races where rows are added; points are features × points."""

    def __init__(
        self, model: Model, codes: Codes, winner: Codes, rival: Codes, known: Floats
    ) -> None:
        super().__init__(np.minimum(known, _MOST + 1), error_of_logs(model, _MOST))
        self.model, self.winner, self.rival = model, winner, rival
        sizes, weights = model.index.n_values, model.float_weights
        alpha = float(model.alpha)
        is_loose = _is_loose(model, codes)
        self.is_matched = (codes < sizes[:, None]).T & (weights > 0)
        self.is_forced = self.is_matched & (sizes == 1)
        self.low, self.high = counts_of(model, codes, winner, rival)
        loose, self.matched = (
            np.where(is_loose, weights, 0),
            np.where(is_loose & self.is_matched, weights, 0),
        )
        # Domains of one size have one total.
        distinct, place = np.unique(sizes, return_inverse=True)
        self.smoothing, self.loose = alpha * distinct, loose @ np.eye(len(distinct))[place]
        self.counted = model.prior_is_counted
        pair = np.stack([winner, rival])
        self.n_rows = model.index.label_counts[pair].astype(np.float64)
        unseen = (loose - self.matched).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(self.counted, 0.0, model.log_prior[pair])
            terms = np.where(is_loose, weights * np.log(self.low + alpha), 0)
            log_alpha = math.log(alpha) if alpha else -math.inf
            rest = np.where(unseen > 0, unseen * log_alpha, 0.0)
        self.constants = shares[0] + terms.sum(axis=1), shares[1] + rest
        self.start = np.where(self.matched > 0, self.high + alpha, 1.0)
        # Where a count is zero without smoothing, or a label has no rows, one row gives support.
        bare = (self.n_rows[1] == 0) & (self.counted or alpha == 0)
        self.least = ((self.start == 0).any(axis=1) | bare).astype(np.float64)
        self.has_peak = unseen > self.counted
        self.can_lower = loose.sum(axis=1) > self.counted

    # Floats ---------------------------------------------------------------------------------------

    def _total(self, side: int, races: Places, n_added: Floats) -> tuple[Floats, Floats]:
        """Return what rows of a label do to its own total, in logarithms, and the slope."""
        n_rows = self.n_rows[side][races] + n_added
        sizes, weights = n_rows[:, None] + self.smoothing, self.loose[races]
        log, slope = -(weights * np.log(sizes)).sum(axis=1), -(weights / sizes).sum(axis=1)
        if self.counted:
            return log + np.log(n_rows), slope + 1 / n_rows
        return log, slope

    def lowered(self, races: Places, n_added: Floats) -> tuple[Floats, Floats]:
        """Return the winner's log support after so many rows, and its slope."""
        log, slope = self._total(0, races, n_added)
        return self.constants[0][races] + log, slope

    def raised(self, races: Places, n_added: Floats) -> tuple[Floats, Floats]:
        """Return the rival's log support after so many rows, and its slope."""
        log, slope = self._total(1, races, n_added)
        counts, weights = self.start[races] + n_added[:, None], self.matched[races]
        log += self.constants[1][races] + np.einsum("ij,ij->i", weights, np.log(counts))
        return log, slope + np.einsum("ij,ij->i", weights, 1 / counts)

    def starts(self, races: Places) -> tuple[Places, Floats]:
        """Return no row of the winner, as many as are enough alone, and the most that can be of use."""
        everything, none = np.arange(len(self.known)), np.zeros(len(self.known))
        self.peak = self._peaks()
        self.highest = self.raised(everything, self.peak)[0]
        self.at_none = self._needed(everything, none)
        # As many rows of the winner as surely are enough.
        now = self.raised(everything, self.least)[0] - 2 * self.slack
        alone = self._first(self.lowered, everything, now, -1.0, none, none + _MOST)
        last = np.minimum(np.minimum(self.at_none.at_most, self.best), np.minimum(alone, _MOST))
        # No row of the winner is better than one of the rival where the rival's last gains more.
        steepest = (self.loose / (self.n_rows[0][:, None] + self.smoothing)).sum(axis=1)
        is_worse = ~self.has_peak & (steepest < self.at_none.gain * (1 - 1e-9))
        is_worse &= self.at_none.at_least == self.at_none.at_most
        last = np.where(self.can_lower & ~is_worse, last, 0)
        numbers = [none, last, np.clip(alone - 1, 0, last), np.minimum(alone, last)]
        return np.concatenate([races] * 4), np.concatenate([own[races] for own in numbers])

    def _peaks(self) -> Floats:
        """Return about how many rows give the rival its greatest support; beyond it more are of no use."""
        peak = np.full(len(self.known), _MOST)
        races = np.flatnonzero(self.has_peak)
        low, high = np.zeros(len(races)), peak[races]
        while (low < high).any():
            middle = np.floor((low + high) / 2)
            falling = self.raised(races, middle)[1] < 0
            low, high = np.where(falling, low, middle + 1), np.where(falling, middle, high)
        # The support falls from here on; one row fewer may still be better.
        after = np.maximum(high, self.least[races])
        before = np.maximum(after - 1, self.least[races])
        is_past = self.raised(races, before)[0] >= self.raised(races, after)[0]
        peak[races] = np.where(is_past, before, after)
        return peak

    def needed(self, races: Places, n_lower: Floats) -> Tried:
        """Bound the rows of the rival that are needed beside so many of the winner."""
        at_none = self.at_none.take(races)
        some = np.flatnonzero(n_lower > 0)
        for part, values in zip(at_none, self._needed(races[some], n_lower[some]), strict=True):
            part[some] = values
        return at_none

    def _needed(self, races: Places, n_lower: Floats) -> Tried:
        target = self.lowered(races, n_lower)[0]
        least, peak, highest = self.least[races], self.peak[races], self.highest[races]
        about = self._first(self.raised, races, target, 1.0, least, peak)
        about = np.where(np.isfinite(about), about, peak)
        before = np.maximum(about - 1, least)
        (log, _), (log_before, slope) = self.raised(races, about), self.raised(races, before)
        at_most = np.where(log > target + self.slack, about, np.inf)
        at_least = np.where(log_before < target - self.slack, before + 1, least)
        is_low = highest < target - self.slack
        at_least, at_most = np.where(is_low, np.inf, at_least), np.where(is_low, np.inf, at_most)
        # The rival's log support is concave, if it has no peak: it lies below its tangent.
        level = before + (target - log_before - self.slack) / slope
        level[self.has_peak[races] | is_low | ~(slope > 0)] = -np.inf
        return Tried(races, n_lower, at_least, at_most, level, slope, -target)

    def steepness(self, left: Tried, right: Tried) -> Floats:
        """Return the slope of the winner's log support, if it is convex from here on, as T13 asks."""
        races = right.race
        n_rows = self.n_rows[0][races, None] + left.n_lower[:, None]
        ratios = n_rows / (n_rows + self.smoothing)
        is_convex = (self.loose[races] * ratios**2).sum(axis=1) > self.counted + 1e-9
        slope = self.lowered(races, right.n_lower)[1]
        return np.where(is_convex, np.maximum(-slope * (1 - 1e-9), 0), 0)

    def _first(
        self,
        log_of: LogSupport,
        races: Places,
        target: Floats,
        sign: float,
        least: Floats,
        most: Floats,
    ) -> Floats:
        """Return about the first number of rows where a log support passes a target; inf if none does."""
        found = np.where(sign * (log_of(races, least)[0] - target) >= 0, least, np.inf)
        reaches = sign * (log_of(races, most)[0] - target) >= 0
        active = np.flatnonzero(np.isinf(found) & reaches)
        low, high, at = least[active], most[active], least[active]
        while len(active):
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
        return found

    # Whole numbers --------------------------------------------------------------------------------

    def _counts(self, side: int, race: int, n_rows: int) -> list[int]:
        """Return the counts of a label after some rows: the winner's disagree wherever a row can."""
        counts, follows = ((self.low, self.is_forced), (self.high, self.is_matched))[side]
        pairs = zip(counts[race].tolist(), follows[race].tolist(), strict=True)
        return [count + n_rows if is_more else count for count, is_more in pairs]

    def falls(self, race: int, n_lower: int, n_raise: int) -> bool:
        """Decide exactly whether the rival catches up with so many rows."""
        return not self.model.exceeds(
            int(self.winner[race]),
            self._counts(0, race, n_lower),
            int(self.rival[race]),
            self._counts(1, race, n_raise),
            added=(n_lower, n_raise),
        )

    def most_raises(self, race: int) -> int:
        """Return how many rows give the rival its greatest support, if more would take from it."""
        if not self.has_peak[race]:
            return MOST_ROWS
        label = int(self.rival[race])

        def is_past(n_rows: int) -> bool:
            before, after = (self._counts(1, race, n) for n in (n_rows, n_rows + 1))
            return self.model.exceeds(label, before, label, after, added=(n_rows, n_rows + 1))

        return first(0, MOST_ROWS, is_past)


# Several points ------------------------------------------------------------------------------------


class AddedRows(NamedTuple):
    """Rows of one label that hold the same values, as codes, and how many of them are added."""

    label: int
    codes: tuple[int, ...]
    n_rows: int


def with_rows(index: CountIndex, added: Iterable[AddedRows]) -> CountIndex:
    """Return the index of the longer table, without counting it."""
    label_counts = index.label_counts.copy()
    known = tuple(counts.copy() for counts in index.known)
    for own in added:
        label_counts[own.label] += own.n_rows
        for counts, code in zip(known, own.codes, strict=True):
            counts[code, own.label] += own.n_rows
    return replace(index, label_counts=label_counts, known=known)


def joint_rows(found: Radii) -> tuple[tuple[AddedRows, ...], list[int]]:
    """Return rows that break all points, different and breakable, and the label each falls to."""
    search = _RowSearch(found)
    if len(found) == 1:
        search.add(search.raising(0), int(found.n_raise[0]))
        search.add(search.lowering(0), int(found.n_lower[0]))
    elif len(found) and not search.run(max(1, int(found.radius.max()) // 4)):
        raise NullproofError(
            f"no rows were found that break all {len(found)} points at once, although each can be broken "
            "alone; the search does not try all rows, so an attack may exist; attack fewer points"
        )
    search.prune()
    possible = search.judged(search.index).possible
    possible[np.arange(len(found)), found.winner] = False
    rows = tuple(AddedRows(*kind, n) for kind, n in sorted(search.added.items()) if n)
    return rows, possible.argmax(axis=1).tolist()


class _RowSearch:
    """Points and the rows added so far: greedy steps towards the fall of all points, then pruned."""

    def __init__(self, found: Radii) -> None:
        self.model, self.points = found.model, found.points
        self.winner, self.rival = found.winner, found.overtaker
        self.added: Counter[Kind] = Counter()
        self.index = found.model.index

    def add(self, kind: Kind, n_rows: int) -> None:
        """Add some rows of one kind, or take them away."""
        self.index = self._with(kind, n_rows)
        self.added[kind] += n_rows

    def _with(self, kind: Kind, n_rows: int) -> CountIndex:
        return with_rows(self.index, [AddedRows(*kind, n_rows)])

    def judged(self, index: CountIndex) -> Verdicts:
        """Return the verdicts of a longer table."""
        return verdicts(self.model.on(index), self.points)

    def _stands(self, judged: Verdicts) -> NDArray[np.bool_]:
        """Return which points are still certain of their label."""
        return np.asarray(judged.winner == self.winner)

    def run(self, step: int) -> bool:
        """Add rows, at first ``step`` at a time, until all points are broken; return whether they are."""
        for _ in range(_ROUNDS):
            judged = self.judged(self.index)
            standing = np.flatnonzero(self._stands(judged))
            if not len(standing):
                return True
            offering = evenly(standing, _OFFERING).tolist()
            kinds = {*self.added}.union(map(self.raising, offering), map(self.lowering, offering))
            # If no row that is best for one point helps, a row that differs in one value may.
            tried, left = (sorted(kinds), self._near(kinds)), self._left(judged)
            kind = next(filter(None, (self._best(own, step, left) for own in tried)), None)
            if kind is not None:
                self.add(kind, step)
            elif step > 1:
                step //= 2
            else:
                self.add(self.raising(int(standing[0])), 1)
        return False

    def raising(self, place: int) -> Kind:
        """Return a row of a point's rival that agrees with it wherever a row can."""
        label, sizes = int(self.rival[place]), self.model.index.n_values.tolist()
        pairs = enumerate(zip(self.points.codes[:, place].tolist(), sizes, strict=True))
        return label, tuple(c if c < size else self._usual(j, label, -1) for j, (c, size) in pairs)

    def lowering(self, place: int) -> Kind:
        """Return a row of a point's winner that disagrees with it wherever a row can."""
        label, codes = int(self.winner[place]), self.points.codes[:, place].tolist()
        return label, tuple(self._usual(j, label, code) for j, code in enumerate(codes))

    def _usual(self, j: int, label: int, but: int) -> int:
        """Return the value that a label's rows hold most often, other than one if there is another."""
        known = self.model.index.exact(j)[:-1, label].copy()
        if 0 <= but < len(known) and len(known) > 1:
            known[but] = -1
        return int(known.argmax())

    def _best(self, kinds: Iterable[Kind], step: int, left: float) -> Kind | None:
        """Return the row of which ``step`` more bring the standing points furthest, if any helps."""
        best, least = None, left - _CLEAR
        for kind in kinds:
            left = self._left(self.judged(self._with(kind, step)))
            if left < least:
                best, least = kind, left
        return best

    def _left(self, judged: Verdicts) -> float:
        """Return how far all standing points together are from falling."""
        places = np.flatnonzero(self._stands(judged))
        winner, rivals = self.winner[places], judged.max_log[places]
        own = judged.min_log[places, winner]
        rivals[np.arange(len(places)), winner] = -np.inf
        return float(np.clip(own - rivals.max(axis=1), 0, _FAR).sum())

    def _near(self, kinds: set[Kind]) -> Iterable[Kind]:
        """Give rows that differ from some in one value, at most a few hundred."""
        near = (
            (label, (*codes[:j], value, *codes[j + 1 :]))
            for label, codes in sorted(kinds)
            for j, size in enumerate(self.model.index.n_values.tolist())
            for value in range(size)
        )
        return islice(near, _MOST_NEAR)

    def prune(self) -> None:
        """Take rows away as long as all points stay broken."""
        for kind in sorted(self.added, key=lambda kind: self.added[kind]):
            size = 1 << max(self.added[kind].bit_length() - 1, 0)
            while size:
                if self.added[kind] >= size:
                    spared = self.judged(self._with(kind, -size))
                    if not self._stands(spared).any():
                        self.add(kind, -size)
                        continue
                size //= 2
