"""Float bounds on the radius of many certain points: which attacks are worth a look, and their length.

A cheapest attack ends in one of three ways (T8). The rival is raised to where the winner is after A2
has exhausted some features (none, one, two, …). Or the winner is lowered to where the rival is now.
Or the rival is raised as far as it goes, and the winner lowered to there. Each way gives an interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.model.model import Model
from nullproof.radii.steps import Floats, Interval, LeastRaising, Lowering, Places, Raising

_BLOCK = 8192
_MANY_VALUES = 4096


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
        """The bounds before any attack is tried."""
        at_least, at_most = np.full((2, n_points), np.inf)
        nobody = np.full(n_points, -1, dtype=np.int32)
        return cls(at_least, at_most, nobody, np.zeros(n_points), np.zeros(n_points))

    def at(self, places: Places | slice) -> Bounds:
        """The same for some of the points; a view if they are a slice."""
        return Bounds(
            self.at_least[places],
            self.at_most[places],
            self.rival[places],
            self.n_raise[places],
            self.n_lower[places],
        )

    def copy(self, sources: Places, places: Places) -> None:
        """Give some points what is known of others."""
        for own in (self.at_least, self.at_most, self.rival, self.n_raise, self.n_lower):
            own[places] = own[sources]

    def offer(self, places: Places, rival: int, n_raise: Interval, n_lower: Interval) -> None:
        """Take in one more kind of attack on some of the points."""
        at_least, at_most = n_raise[0] + n_lower[0], n_raise[1] + n_lower[1]
        self.at_least[places] = np.minimum(self.at_least[places], at_least)
        is_better = at_most < self.at_most[places]
        chosen = places[is_better]
        self.at_most[chosen] = at_most[is_better]
        self.rival[chosen] = rival
        self.n_raise[chosen] = n_raise[1][is_better]
        self.n_lower[chosen] = n_lower[1][is_better]


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
    if not model.floats_hold:
        bounds.at_least[:] = 1
        return bounds
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
        self.slack = _slack(model)
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


def _slack(model: Model) -> float:
    """Bound the error of every log support computed here.

    Each adds up at most four terms a feature, none larger than the largest log of a count or total.
    """
    alpha, sizes = float(model.alpha), model.index.n_values
    n_rows = float(model.index.label_counts.max())
    largest = math.log(n_rows + alpha * float(sizes.max()) + 1)
    if alpha > 0:
        largest = max(largest, -math.log(alpha))
    shares = model.log_prior[np.isfinite(model.log_prior)]
    magnitude = float(np.abs(shares).max(initial=0)) + 4 * (model.d + 1) * largest
    return 2 * float(model.slack(magnitude))


def used_codes(codes: NDArray[Any], n_values: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Which rows of a feature's counts to look at, and which of them each point takes."""
    if n_values <= _MANY_VALUES:
        # The values, a value outside the domain, and a feature that is left out.
        return np.arange(n_values + 2), codes
    used, rows = np.unique(codes, return_inverse=True)
    return used, rows
