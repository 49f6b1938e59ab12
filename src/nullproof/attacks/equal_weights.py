"""A fast path for equal weights: float bounds on the radius of many certain points at once (T8).

Raising smallest counts first and lowering smallest counts first are both optimal (T5), so a cheapest
attack ends in one of three ways. The rival is raised to where the winner is after some of
its smallest counts (none, one, two, …) are blanked away. Or the winner is lowered to where the rival is
now. Or the rival is raised as far as it goes, and the winner lowered to there. Each way gives an
interval: fewer steps than its first number surely fail, as many as its second surely succeed (infinite:
none surely do). What is left open is for `search`, which takes any weights and limits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.search import Bounds, Places, error_of_logs
from nullproof.model.bias import Floats
from nullproof.model.model import Model

Interval = tuple[Floats, Floats]
_BLOCK = 8192
_MANY_VALUES = 4096
# A few roundings of a step count on its way through products, quotients and functions.
_ROUNDINGS = 8 * float(np.finfo(np.float64).eps)


def bound_radii(
    model: Model,
    codes: NDArray[Any],
    winner: NDArray[Any],
    logs: tuple[Floats, Floats],
    columns: NDArray[np.bool_],
) -> Bounds:
    """Bound the radius of complete points that are certain with label ``winner``.

    Parameters
    ----------
    codes
        Features × points.
    logs
        Points × labels: least and greatest log supports.
    columns
        The features that an attack can reach.
    """
    (min_log, max_log), n_points = logs, codes.shape[1]
    bounds = Bounds.none_known(n_points)
    tables = _Tables(model, codes, columns)
    for start in range(0, n_points, _BLOCK):
        block = slice(start, start + _BLOCK)
        own_log = np.take_along_axis(min_log[block], winner[block, None], axis=1)[:, 0]
        part = _Block(tables, block, winner[block], own_log, bounds.at(block))
        part.lower_only(max_log[block])
        for rival in range(model.m):
            part.raise_rival(rival, max_log[block, rival])
    return bounds


class _Tables:
    """Counts of the features that an attack can move, for quick look-up by code.

    A one-value domain has nothing to move, and its count is the same in every world. Counts are kept
    as ranks, small integers that sort fast: the count of rank ``r`` is ``counts[r]``, and the last
    rank, of an infinite count, is for what no attack can move at one point.
    """

    def __init__(self, model: Model, codes: NDArray[Any], columns: NDArray[np.bool_]) -> None:
        index = model.index
        self.model, self.codes, self.alpha = model, codes, float(model.alpha)
        self.caps = index.label_counts.astype(np.float64)
        self.slack = error_of_logs(model)
        moving = np.flatnonzero((index.n_values >= 2) & columns).tolist()
        self.n_moving = len(moving)
        self.out_of_reach = np.flatnonzero(~columns).tolist()
        used = [used_codes(codes[j], int(index.n_values[j])) for j in moving]
        self.rows = [rows for _, rows in used]
        pairs = [(j, own) for j, (own, _) in zip(moving, used, strict=True)]
        # A feature that a point leaves out counts as a zero until its rank is set below.
        low = [np.maximum(index.low(j, own), 0).T for j, own in pairs]
        high = [np.maximum(index.high(j, own), 0).T for j, own in pairs]
        nothing = np.zeros(1, dtype=np.int64)
        found = np.unique(np.concatenate([nothing, *(part.ravel() for part in (*low, *high))]))
        self.low_ranks = [np.searchsorted(found, part).astype(np.int32) for part in low]
        self.high_ranks = [np.searchsorted(found, part).astype(np.int32) for part in high]
        for (j, own), lows, highs in zip(pairs, self.low_ranks, self.high_ranks, strict=True):
            # A value outside the domain can never be raised, nor can a feature that is left out.
            highs[:, own >= index.n_values[j]] = len(found)
            if self.alpha == 0:
                # Without smoothing, the zero of a feature that is left out would make the support 0.
                lows[:, own > index.n_values[j]] = len(found)
        self.counts = np.append(found, np.inf)
        # Without smoothing a rival's zeros must all be ones before any other step counts.
        self.lifted = np.maximum(self.counts, 0 if self.alpha > 0 else 1)
        self.logs = np.log(self.lifted + self.alpha)

    def can_rise(self, rival: int) -> bool:
        """Whether raising counts can change the rival's support at all."""
        has_support = self.caps[rival] + self.alpha > 0 and self.model.prior[rival] > 0
        return bool(self.n_moving and has_support)

    def fixed_logs(self, rival: int, points: NDArray[np.intp]) -> Floats:
        """The part of a rival's log support at some points that lies in columns out of reach."""
        logs = np.zeros(len(points))
        for j in self.out_of_reach:
            counts = self.model.index.high(j, self.codes[j, points])
            logs += self.model.log_terms(j, counts)[:, rival]
        return logs


class _Block:
    """One block of points: tries the attacks of every rival and keeps the best."""

    def __init__(
        self, tables: _Tables, block: slice, winner: NDArray[Any], own_log: Floats, bounds: Bounds
    ) -> None:
        self.tables, self.winner, self.bounds, self.start = tables, winner, bounds, block.start
        self.rows = [rows[block].astype(np.intp, copy=False) for rows in tables.rows]
        self.lowering = self._lowering(own_log)

    def lower_only(self, max_log: Floats) -> None:
        """Lower the winner to where each rival is now."""
        for rival in range(self.tables.model.m):
            places = np.flatnonzero(self.winner != rival)
            at_least, at_most = self.lowering.at(places).fewest(max_log[places, rival])
            none = np.zeros(len(places))
            # A certain winner is ahead of every rival, so at least one step is needed.
            self.bounds.offer(places, rival, (none, none), (np.maximum(at_least, 1), at_most))

    def raise_rival(self, rival: int, max_log: Floats) -> None:
        """Raise one rival as far as it goes, or to the end of each of the winner's pieces."""
        tables = self.tables
        places = np.flatnonzero((self.winner != rival) & (self.bounds.at_most > 1))
        if not len(places) or not tables.can_rise(rival):
            return
        ranks = np.empty((tables.n_moving, len(places)), dtype=np.int32)
        for out, table, rows in zip(ranks, tables.high_ranks, self.rows, strict=True):
            table[rival].take(rows[places], out=out, mode="clip")
        base = self._lifted(rival, ranks, max_log, places)
        smallest = tables.lifted[ranks.min(axis=0)] + tables.alpha
        least = LeastRaising(tables.n_moving, smallest, base, tables.slack)
        kept = np.flatnonzero(self._is_promising(places, least))
        if len(kept):
            ranks = np.sort(ranks[:, kept].T.copy(), axis=1)
            raising = Raising(
                tables.counts.take(ranks),
                tables.logs.take(ranks),
                base[kept],
                cap=float(tables.caps[rival]),
                alpha=tables.alpha,
                slack=tables.slack,
            )
            self._saturate(places[kept], rival, raising)
            self._raise_to_ends(places[kept], rival, raising, least.at(kept))

    def _lowering(self, own_log: Floats) -> Lowering:
        tables, n_points = self.tables, len(own_log)
        if not tables.n_moving:
            return Lowering(np.zeros((n_points, 1)), own_log[:, None], tables.alpha, tables.slack)
        ranks = np.empty((tables.n_moving, n_points), dtype=np.int32)
        for out, table, rows in zip(ranks, tables.low_ranks, self.rows, strict=True):
            table.ravel().take(self.winner * table.shape[1] + rows, out=out, mode="clip")
        if tables.alpha == 0:
            smallest = tables.counts[ranks.min(axis=0)]
            return Lowering.without_smoothing(smallest, own_log, tables.slack)
        ranks = np.sort(ranks.T.copy(), axis=1)
        counts, logs = tables.counts.take(ranks), tables.logs.take(ranks)
        return Lowering.smoothed(counts, logs, own_log, tables.alpha, tables.slack)

    def _lifted(
        self, rival: int, ranks: NDArray[np.int32], max_log: Floats, places: Places
    ) -> Floats:
        """The rival's log support; without smoothing, zeros that can rise count as ones."""
        tables, max_log = self.tables, max_log[places]
        zero = np.flatnonzero(np.isneginf(max_log))
        if len(zero):
            # Here a count that cannot rise is one that the point leaves out: its factor is 1.
            terms = tables.logs[ranks[:, zero]] - math.log(tables.caps[rival])
            max_log[zero] = np.where(np.isinf(terms), 0.0, terms).sum(axis=0)
            max_log[zero] += tables.model.log_prior[rival]
            max_log[zero] += tables.fixed_logs(rival, self.start + places[zero])
        return max_log

    @property
    def _n_ends(self) -> int:
        # Without smoothing the last end is a support of zero, where nothing need be raised.
        return self.lowering.n_pieces + 1 if self.tables.alpha > 0 else 1

    def _is_promising(self, places: Places, least: LeastRaising) -> NDArray[np.bool_]:
        """Where some attack that raises the rival might beat the best one known.

        One that raises it as far as it goes lies between two ends of pieces, where the winner's support is
        linear and the bound of the rival's convex: if neither end is promising, it is no better (T8).
        """
        known = self.bounds.at_most[places]
        promising = np.zeros(len(places), dtype=bool)
        for end in range(self._n_ends):
            n_lower = self.lowering.ends[places, end]
            if (n_lower >= known).all():
                break
            promising |= n_lower + least.steps(self.lowering.logs[places, end]) < known
        return promising

    def _saturate(self, places: Places, rival: int, raising: Raising) -> None:
        full, peak = raising.saturated()
        kept = np.flatnonzero(full < self.bounds.at_most[places])
        lower = self.lowering.at(places[kept]).fewest(peak[kept])
        self.bounds.offer(places[kept], rival, (full[kept], full[kept]), lower)

    def _raise_to_ends(
        self, places: Places, rival: int, raising: Raising, least: LeastRaising
    ) -> None:
        for end in range(self._n_ends):
            n_lower, target = self.lowering.ends[places, end], self.lowering.logs[places, end]
            known = self.bounds.at_most[places]
            if (n_lower >= known).all():
                break
            promising = n_lower + least.steps(target) < known
            if end > 0:
                # Where the rival is as high already, lowering alone takes no more cells.
                promising &= target > raising.base
            kept = np.flatnonzero(promising)
            if len(kept):
                steps = raising.fewest(kept, target[kept])
                self.bounds.offer(places[kept], rival, steps, (n_lower[kept], n_lower[kept]))


def used_codes(codes: NDArray[Any], n_values: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Which rows of a feature's counts to look at, and which of them each point takes."""
    if n_values <= _MANY_VALUES:
        # The values, a value outside the domain, and a feature that is left out.
        return np.arange(n_values + 2), codes
    used, rows = np.unique(codes, return_inverse=True)
    return used, rows


@dataclass(frozen=True)
class Lowering:
    """The winner's side, points × (pieces + 1).

    Parameters
    ----------
    ends
        The numbers of steps after which A2 has exhausted 0, 1, 2, … features.
    logs
        The winner's log support there.
    """

    ends: Floats
    logs: Floats
    alpha: float
    slack: float

    @classmethod
    def without_smoothing(cls, smallest: Floats, log_support: Floats, slack: float) -> Lowering:
        """One piece: once the smallest count is exhausted, the support is 0.

        An infinite one means that there is no count to lower.
        """
        is_fixed = np.isinf(smallest)
        ends = np.column_stack([np.zeros_like(smallest), np.where(is_fixed, 0.0, smallest)])
        logs = np.column_stack([log_support, np.where(is_fixed, log_support, -np.inf)])
        return cls(ends, logs, 0.0, slack)

    @classmethod
    def smoothed(
        cls, counts: Floats, logs: Floats, log_support: Floats, alpha: float, slack: float
    ) -> Lowering:
        """One piece for each feature; ``counts`` ascend, ``logs`` are those of ``counts + alpha``."""
        falls = _running_sums(math.log(alpha) - logs)
        return cls(_running_sums(counts), log_support[:, None] + falls, alpha, slack)

    @property
    def n_pieces(self) -> int:
        return int(self.ends.shape[1]) - 1

    def at(self, places: Places) -> Lowering:
        """The same for some of the points."""
        return Lowering(self.ends[places], self.logs[places], self.alpha, self.slack)

    def fewest(self, target: Floats) -> Interval:
        """Bound the steps that bring the winner's log support to ``target`` or below."""
        points = np.arange(len(target))
        piece = (self.logs[:, 1:] > target[:, None]).sum(axis=1)
        following = np.minimum(piece + 1, self.n_pieces)
        start, top = self.ends[points, piece], self.logs[points, piece]
        size = self.ends[points, following] - start
        # Within a piece every step takes the same share of the support that the piece starts with.
        ratio = np.exp(np.minimum(target - top, 1.0))
        steps = (size + self.alpha) * (1 - ratio)
        error = (size + self.alpha) * (4 * self.slack * ratio + _ROUNDINGS)
        at_least = start + np.maximum(np.ceil(steps - error), 0)
        # So close to where the piece starts, the answer may be in the piece before.
        at_least[(piece > 0) & (top - target < 2 * self.slack)] = 0
        needed = np.maximum(np.ceil(steps + error), 0)
        is_reached = self.logs[points, following] <= target - 2 * self.slack
        at_most = start + np.where(needed <= size, needed, np.where(is_reached, size, np.inf))
        # Where all features are exhausted, the support falls no further.
        spent = start == self.ends[:, -1]
        at_most[spent] = np.inf
        at_least[spent] = np.where(top - target > 2 * self.slack, np.inf, 0)[spent]
        return at_least, at_most


class Raising:
    """One rival's side.

    Parameters
    ----------
    counts, logs
        Points × features: the counts that can grow, ascending, and ``log(count + alpha)``; infinite
        for a count that cannot. Without smoothing, the log of a zero is that of a one.
    base
        The rival's log support from those logs.
    cap
        The number of the rival's rows.
    """

    def __init__(
        self, counts: Floats, logs: Floats, base: Floats, *, cap: float, alpha: float, slack: float
    ) -> None:
        self.counts, self.base = counts, base
        self.cap, self.alpha, self.slack = cap, alpha, slack
        self._first_level = 0.0 if alpha > 0 else 1.0
        self._sum_counts, self._sum_logs = _running_sums(counts), _running_sums(logs)
        with np.errstate(invalid="ignore"):
            # How much log support it takes to bring the lower features to the level of the next.
            self._turns = np.arange(1, counts.shape[1]) * logs[:, 1:] - self._sum_logs[:, 1:-1]

    def saturated(self) -> tuple[Floats, Floats]:
        """Return the steps until no count can grow, and the log support then."""
        everywhere = np.arange(len(self.base))
        n_steps, _, log_support = self._filled(everywhere, np.full_like(self.base, self.cap))
        return n_steps, log_support

    def fewest(self, places: Places, target: Floats) -> Interval:
        """Bound the steps that bring the log support of some points to ``target`` or above."""
        level = self._level(places, target)
        cost, n_wet, log_support = self._filled(places, level)
        room = np.where(level < self.cap, n_wet, 0)
        # From one level to the next every step multiplies the support by the same factor.
        gain = np.log1p(1 / (level + self.alpha))
        steps = (target - log_support) / gain
        error = 2 * self.slack / gain + np.abs(steps) * _ROUNDINGS
        needed = np.ceil(steps - error)
        at_least = cost + np.clip(needed, 0, room + 1)
        at_least[(needed > room) & (level >= self.cap - 1)] = np.inf
        # A level guessed too high says nothing of fewer steps; there is none below the first.
        at_least[(needed < 1) & (level > self._first_level)] = 0
        needed = np.ceil(steps + error)
        at_most = np.where(needed <= room, cost + np.maximum(needed, 0), np.inf)
        return at_least, at_most

    def _level(self, places: Places, target: Floats) -> Floats:
        """Guess the last whole water level whose log support is below ``target``."""
        need = target - self.base[places]
        n_wet = 1 + (self._turns[places] < need[:, None]).sum(axis=1)
        with np.errstate(over="ignore"):
            level = np.exp((need + self._sum_logs[places, n_wet]) / n_wet) - self.alpha
        level = np.ceil(level * (1 - 1e-12)) - 1
        level = np.maximum(np.minimum(level, self.cap - 1), self._first_level)
        return np.asarray(level, dtype=np.float64)

    def _filled(self, places: Places, level: Floats) -> tuple[Floats, Floats, Floats]:
        """Raise all counts to a level: steps, features at or below it, log support."""
        n_wet = (self.counts[places] <= level[:, None]).sum(axis=1)
        cost = n_wet * level - self._sum_counts[places, n_wet]
        gain = n_wet * np.log(level + self.alpha) - self._sum_logs[places, n_wet]
        return cost, n_wet.astype(np.float64), self.base[places] + gain


@dataclass(frozen=True)
class LeastRaising:
    """A cheap lower bound on A1 steps, so that the counts of most points need not be sorted.

    ``smallest`` is each point's smallest count plus smoothing, ``base`` its log support.
    """

    n_features: int
    smallest: Floats
    base: Floats
    slack: float

    def at(self, places: Places) -> LeastRaising:
        """The same for some of the points."""
        smallest, base = self.smallest[places], self.base[places]
        return LeastRaising(self.n_features, smallest, base, self.slack)

    def steps(self, target: Floats) -> Floats:
        """Return a number of steps below which the log support stays under ``target``."""
        # a steps multiply the support by at most (1 + a / (d * smallest)) ** d, since an arithmetic
        # mean is no smaller than a geometric one.
        need = np.maximum(target - self.base - 2 * self.slack, 0) / self.n_features
        with np.errstate(over="ignore", invalid="ignore"):
            steps = self.n_features * self.smallest * np.expm1(need) * (1 - 1e-6)
        return np.asarray(steps, dtype=np.float64)


def _running_sums(terms: Floats) -> Floats:
    sums = np.zeros((len(terms), terms.shape[1] + 1))
    np.cumsum(terms, axis=1, out=sums[:, 1:])
    return sums
