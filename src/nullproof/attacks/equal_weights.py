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
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.search import Bounds, Codes, Places, error_of_logs
from nullproof.model.bias import Floats
from nullproof.model.model import Model

Interval = tuple[Floats, Floats]
_BLOCK = 8192
_MANY_VALUES = 4096
# A few roundings of a step count on its way through products, quotients and functions.
_ROUNDINGS = 8 * float(np.finfo(np.float64).eps)


def bound_radii(
    model: Model,
    codes: Codes,
    winner: Codes,
    logs: tuple[Floats, Floats],
    columns: NDArray[np.bool_],
) -> Bounds:
    """Bound the radius of complete points (features × points) that are certain with label ``winner``.

    ``logs`` are the least and greatest log supports (points × labels), ``columns`` the features that an
    attack can reach.
    """
    bounds, slack = Bounds.none_known(codes.shape[1]), error_of_logs(model)
    # A one-value domain has nothing to move, and its count is the same in every world.
    tables = [
        _Counts(model, codes, j)
        for j in np.flatnonzero((model.index.n_values >= 2) & columns).tolist()
    ]
    for start in range(0, codes.shape[1], _BLOCK):
        block = slice(start, start + _BLOCK)
        part = _Block(
            model, codes[:, block], winner[block], [own.at(block) for own in tables], slack
        )
        part.bound(logs[0][block], logs[1][block], bounds.at(block))
    return bounds


class _Counts:
    """The counts of one feature, labels × values, and which value each point has.

    A value outside the domain can never be raised, nor can a feature that is left out: an infinite count.
    """

    def __init__(self, model: Model, codes: Codes, j: int) -> None:
        self.feature, size = j, int(model.index.n_values[j])
        # The values, a value outside the domain, and a feature that is left out.
        used, self.rows = np.arange(size + 2), codes[j].astype(np.intp)
        if size > _MANY_VALUES:
            used, self.rows = np.unique(codes[j], return_inverse=True)
        is_stuck = used >= size
        # Without smoothing, the zero of a feature that is left out would make the support 0.
        empty = np.inf if model.alpha == 0 else 0.0
        low, high = model.low(self.feature, used).T, model.high(self.feature, used).T
        self.low = np.where(is_stuck, empty, low)
        self.high = np.where(is_stuck, np.inf, high)

    def at(self, block: slice) -> _Counts:
        """Return the same for some of the points."""
        other = copy(self)
        other.rows = self.rows[block]
        return other


class _Block:
    """One block of points, and the counts that an attack can move."""

    def __init__(
        self, model: Model, codes: Codes, winner: Codes, counts: list[_Counts], slack: float
    ) -> None:
        self.model, self.codes, self.winner, self.counts = model, codes, winner, counts
        self.alpha, self.slack = float(model.alpha), slack

    def bound(self, min_log: Floats, max_log: Floats, bounds: Bounds) -> None:
        """Try the attacks of every rival and keep the best."""
        points = np.arange(len(self.winner))
        lowering = self._lowering(min_log[points, self.winner])
        for rival in range(self.model.m):
            places = np.flatnonzero(self.winner != rival)
            at_least, at_most = lowering.at(places).fewest(max_log[places, rival])
            none = np.zeros(len(places))
            # A certain winner is ahead of every rival, so at least one step is needed.
            bounds.offer(places, rival, (none, none), (np.maximum(at_least, 1), at_most))
        for rival in range(self.model.m):
            places = np.flatnonzero((self.winner != rival) & (bounds.at_most > 1))
            has_support = self._n_rows(rival) + self.alpha > 0 and self.model.prior[rival] > 0
            if len(places) and self.counts and has_support:
                self._raise(places, rival, max_log[places, rival], lowering, bounds)

    def _n_rows(self, label: int) -> float:
        return float(self.model.index.label_counts[label])

    def _lowering(self, log_support: Floats) -> Lowering:
        if not self.counts:
            return Lowering(
                np.zeros((len(log_support), 1)), log_support[:, None], self.alpha, self.slack
            )
        counts = np.empty((len(self.counts), len(log_support)))
        for out, own in zip(counts, self.counts, strict=True):
            own.low.ravel().take(self.winner * own.low.shape[1] + own.rows, out=out, mode="clip")
        if self.alpha == 0:
            # Once the smallest count is exhausted, the support is 0.
            smallest = counts.min(axis=0)
            is_fixed = np.isinf(smallest)
            ends = np.column_stack([np.zeros_like(smallest), np.where(is_fixed, 0.0, smallest)])
            logs = np.column_stack([log_support, np.where(is_fixed, log_support, -np.inf)])
            return Lowering(ends, logs, 0.0, self.slack)
        counts = np.sort(counts.T.copy(), axis=1)
        falls = _running_sums(math.log(self.alpha) - np.log(counts + self.alpha))
        return Lowering(_running_sums(counts), log_support[:, None] + falls, self.alpha, self.slack)

    def _raise(
        self, places: Places, rival: int, base: Floats, lowering: Lowering, bounds: Bounds
    ) -> None:
        """Raise one rival as far as it goes, or to the end of each of the winner's pieces."""
        alpha = self.alpha
        columns = np.empty((len(self.counts), len(places)))
        for out, own in zip(columns, self.counts, strict=True):
            own.high[rival].take(own.rows[places], out=out, mode="clip")
        counts = columns.T
        if np.isneginf(base).any():
            base = np.where(np.isneginf(base), self._lifted(places, rival, counts), base)
        # Where may an attack with so many whole features be the best? Raising takes no fewer cells than if
        # all counts were the smallest, since an arithmetic mean is no smaller than a geometric one.
        # Raising as far as it goes lies between two ends, where the winner's support is linear and that
        # bound convex: if neither end is promising, it is no better (T8). Without smoothing the last end
        # is a support of zero, where nothing need be raised.
        best, d = bounds.at_most[places][:, None], len(columns)
        n_ends = int((lowering.ends[places] < best).any(axis=0).sum()) if alpha else 1
        ends, targets = lowering.ends[places, :n_ends], lowering.logs[places, :n_ends]
        smallest = np.maximum(columns.min(axis=0), 0 if alpha else 1) + alpha
        with np.errstate(over="ignore", invalid="ignore"):
            need = np.maximum(targets - base[:, None] - 2 * self.slack, 0)
            hopes = ends + d * smallest[:, None] * np.expm1(need / d) * (1 - 1e-6) < best
        chosen = np.flatnonzero(hopes.any(axis=1))
        if not len(chosen):
            return
        raising = Raising(counts[chosen], base[chosen], self._n_rows(rival), alpha, self.slack)
        full, peak = raising.saturated()
        kept = np.flatnonzero(full < bounds.at_most[places[chosen]])
        at = places[chosen[kept]]
        bounds.offer(at, rival, (full[kept], full[kept]), lowering.at(at).fewest(peak[kept]))
        for end in range(n_ends):
            # Where the rival is as high already, lowering alone takes no more cells.
            is_useful = hopes[chosen, end] & ((targets[chosen, end] > base[chosen]) | (end == 0))
            kept = np.flatnonzero(is_useful)
            n_lower = ends[chosen[kept], end]
            steps = raising.fewest(kept, targets[chosen[kept], end])
            bounds.offer(places[chosen[kept]], rival, steps, (n_lower, n_lower))

    def _lifted(self, places: Places, rival: int, counts: Floats) -> Floats:
        """Return the log support of a rival without smoothing once its zeros that can rise are ones."""
        model = self.model
        logs = np.log(np.maximum(counts, 1)) - math.log(max(self._n_rows(rival), 1))
        # What the point leaves out has the factor 1.
        lifted: Floats = np.where(np.isinf(counts), 0.0, logs).sum(axis=1) + model.log_prior[rival]
        for j in sorted({*range(model.d)} - {own.feature for own in self.counts}):
            lifted += model.log_terms(j, model.high(j, self.codes[j, places]))[:, rival]
        return lifted


@dataclass(frozen=True)
class Lowering:
    """The winner's side, points × (pieces + 1).

    ``ends`` are the numbers of steps after which 0, 1, 2, … of its smallest counts are exhausted,
    ``logs`` the winner's log support there.
    """

    ends: Floats
    logs: Floats
    alpha: float
    slack: float

    def at(self, places: Places) -> Lowering:
        """Return the same for some of the points."""
        return Lowering(self.ends[places], self.logs[places], self.alpha, self.slack)

    def fewest(self, target: Floats) -> Interval:
        """Bound the steps that bring the winner's log support to ``target`` or below."""
        points = np.arange(len(target))
        piece = (self.logs[:, 1:] > target[:, None]).sum(axis=1)
        following = np.minimum(piece + 1, self.ends.shape[1] - 1)
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
    """One rival's side: ``counts`` (points × features) that grow up to ``cap``, infinite if they cannot.

    ``base`` is the rival's log support; without smoothing, with zeros raised to ones.
    """

    def __init__(
        self, counts: Floats, base: Floats, cap: float, alpha: float, slack: float
    ) -> None:
        self.counts, self.base = np.sort(counts, axis=1), base
        self.cap, self.alpha, self.slack = cap, alpha, slack
        self._first_level = 0.0 if alpha > 0 else 1.0
        logs = np.log(np.maximum(self.counts, self._first_level) + alpha)
        self._sum_counts, self._sum_logs = _running_sums(self.counts), _running_sums(logs)
        with np.errstate(invalid="ignore"):
            # How much log support it takes to bring the lower features to the level of the next.
            self._turns = np.arange(1, counts.shape[1]) * logs[:, 1:] - self._sum_logs[:, 1:-1]

    def saturated(self) -> Interval:
        """Return the steps until no count can grow, and the log support then."""
        n_steps, _, log_support = self._filled(
            np.arange(len(self.base)), np.full_like(self.base, self.cap)
        )
        return n_steps, log_support

    def fewest(self, places: Places, target: Floats) -> Interval:
        """Bound the steps that bring the log support of some points to ``target`` or above."""
        # Guess the last whole water level whose log support is below the target.
        need = target - self.base[places]
        n_wet = 1 + (self._turns[places] < need[:, None]).sum(axis=1)
        with np.errstate(over="ignore"):
            level = np.exp((need + self._sum_logs[places, n_wet]) / n_wet) - self.alpha
        level = np.ceil(level * (1 - 1e-12)) - 1
        level = np.maximum(np.minimum(level, self.cap - 1), self._first_level)
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

    def _filled(self, places: Places, level: Floats) -> tuple[Floats, Any, Floats]:
        """Raise all counts to a level: steps, features at or below it, log support."""
        n_wet = (self.counts[places] <= level[:, None]).sum(axis=1)
        cost = n_wet * level - self._sum_counts[places, n_wet]
        gain = n_wet * np.log(level + self.alpha) - self._sum_logs[places, n_wet]
        return cost, n_wet, self.base[places] + gain


def _running_sums(terms: Floats) -> Floats:
    sums = np.zeros((len(terms), terms.shape[1] + 1))
    np.cumsum(terms, axis=1, out=sums[:, 1:])
    return sums
