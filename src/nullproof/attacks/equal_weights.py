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
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.search import Cheapest, Codes, Places, error_of_logs
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.model.verdicts import Verdicts

Interval = tuple[Floats, Floats]
_BLOCK = 8192
# A few roundings of a step count on its way through products, quotients and functions.
_ROUNDINGS = 8 * float(np.finfo(np.float64).eps)


def bound_radii(
    model: Model, codes: Codes, found: Verdicts, columns: NDArray[np.bool_]
) -> tuple[Cheapest, Floats]:
    """Bound the radius of complete points (features × points) with certain verdicts.

    Return the best attacks that surely succeed, and how many cells each point takes at least. ``columns``
    are the features that an attack can reach.
    """
    n_points = codes.shape[1]
    best, at_least = Cheapest.none_known(n_points), np.full(n_points, np.inf)
    tables = _tables(model, columns)
    for start in range(0, n_points, _BLOCK):
        block = slice(start, start + _BLOCK)
        part = _Block(model, codes[:, block], found.take(block), tables)
        part.bound(best.at(block), at_least[block])
    return best, at_least


def _tables(model: Model, columns: NDArray[np.bool_]) -> dict[int, tuple[Floats, Floats]]:
    """Return the counts that an attack can move: the low and the high ones by feature, labels × codes.

    A one-value domain has nothing to move. Neither a value outside the domain nor a feature that is
    left out can be raised: their count is infinite.
    """
    tables = {}
    # Without smoothing, a zero of the winner would make the support 0.
    empty = np.inf if model.alpha == 0 else 0.0
    for j in np.flatnonzero((model.index.n_values >= 2) & columns).tolist():
        size = int(model.index.n_values[j])
        low, high = (side.T.astype(np.float64) for side in model.box(j, np.arange(size + 2)))
        low[:, size:], high[:, size:] = empty, np.inf
        tables[j] = low, high
    return tables


class _Block:
    """One block of points, and the counts that an attack can move."""

    def __init__(
        self,
        model: Model,
        codes: Codes,
        found: Verdicts,
        tables: dict[int, tuple[Floats, Floats]],
    ) -> None:
        self.model, self.codes, self.found, self.tables = model, codes, found, tables
        self.alpha, self.slack = float(model.alpha), error_of_logs(model)
        winner, points = found.winner, np.arange(codes.shape[1])
        low = np.empty((len(tables), len(points)))
        for out, (j, (own, _)) in zip(low, tables.items(), strict=True):
            own.ravel().take(winner * own.shape[1] + codes[j], out=out, mode="clip")
        self.lowering = self._lowering(low, found.min_log[points, winner])

    def _lowering(self, counts: Floats, log_support: Floats) -> Lowering:
        if self.alpha == 0:
            # Once the smallest count is exhausted, the support is 0.
            smallest = counts.min(axis=0, initial=np.inf)
            is_fixed = np.isinf(smallest)
            ends = np.column_stack([np.zeros_like(smallest), np.where(is_fixed, 0.0, smallest)])
            logs = np.column_stack([log_support, np.where(is_fixed, log_support, -np.inf)])
            return Lowering(ends, logs, 0.0, self.slack)
        counts = np.sort(counts.T.copy(), axis=1)
        falls = _running_sums(math.log(self.alpha) - np.log(counts + self.alpha))
        return Lowering(_running_sums(counts), log_support[:, None] + falls, self.alpha, self.slack)

    def bound(self, best: Cheapest, at_least: Floats) -> None:
        """Try the attacks of every rival and keep the best."""
        rivals = [(k, np.flatnonzero(self.found.winner != k)) for k in range(self.model.m)]

        def offer(places: Places, rival: int, raised: Interval, lowered: Interval) -> None:
            at_least[places] = np.minimum(at_least[places], raised[0] + lowered[0])
            best.offer(places, rival, raised[1], lowered[1])

        for rival, places in rivals:
            fewest, enough = self.lowering.fewest(places, self.found.max_log[places, rival])
            none = np.zeros(len(places))
            # A certain winner is ahead of every rival, so at least one step is needed.
            offer(places, rival, (none, none), (np.maximum(fewest, 1), enough))
        for rival, places in rivals:
            places = places[best.size[places] > 1]
            has_support = self.n_rows(rival) + self.alpha > 0 and self.model.prior[rival] > 0
            if len(places) and self.tables and has_support:
                for attack in self._raised(places, rival, best.size[places]):
                    offer(*attack)

    def n_rows(self, label: int) -> float:
        return float(self.model.index.label_counts[label])

    def _raised(
        self, places: Places, rival: int, best: Floats
    ) -> Iterator[tuple[Places, int, Interval, Interval]]:
        """Raise one rival as far as it goes, or to the end of each of the winner's pieces."""
        alpha, lowering, base = self.alpha, self.lowering, self.found.max_log[places, rival]
        counts = np.empty((len(self.tables), len(places)))
        for out, (j, (_, own)) in zip(counts, self.tables.items(), strict=True):
            own[rival].take(self.codes[j, places], out=out, mode="clip")
        if np.isneginf(base).any():
            base = np.where(np.isneginf(base), self._lifted(places, rival), base)
        # Where may an attack with so many whole features be the best? Raising takes no fewer cells than if
        # all counts were the smallest, since an arithmetic mean is no smaller than a geometric one.
        # Raising as far as it goes lies between two ends, where the winner's support is linear and that
        # bound convex: if neither end is promising, it is no better (T8). Without smoothing the last end
        # is a support of zero, where nothing need be raised.
        d, few = len(counts), best[:, None]
        n_ends = int((lowering.ends[places] < few).any(axis=0).sum()) if alpha else 1
        ends, targets = lowering.ends[places, :n_ends], lowering.logs[places, :n_ends]
        smallest = np.maximum(counts.min(axis=0), 0 if alpha else 1) + alpha
        with np.errstate(over="ignore", invalid="ignore"):
            need = np.maximum(targets - base[:, None] - 2 * self.slack, 0)
            hopes = ends + d * smallest[:, None] * np.expm1(need / d) * (1 - 1e-6) < few
        chosen = np.flatnonzero(hopes.any(axis=1))
        places, base, best, hopes = places[chosen], base[chosen], best[chosen], hopes[chosen]
        ends, targets = ends[chosen], targets[chosen]
        raising = Raising(counts[:, chosen].T, base, self.n_rows(rival), alpha, self.slack)
        full, peak = raising.saturated()
        kept = np.flatnonzero(full < best)
        all_of = full[kept], full[kept]
        yield places[kept], rival, all_of, lowering.fewest(places[kept], peak[kept])
        for end in range(n_ends):
            # Where the rival is as high already, lowering alone takes no more cells.
            kept = np.flatnonzero(hopes[:, end] & ((targets[:, end] > base) | (end == 0)))
            n_lower = ends[kept, end]
            yield places[kept], rival, raising.fewest(kept, targets[kept, end]), (n_lower, n_lower)

    def _lifted(self, places: Places, rival: int) -> Floats:
        """Return the log support of a rival without smoothing once its zeros that can rise are ones."""
        lifted = np.full(len(places), self.model.log_prior[rival])
        for j, codes in enumerate(self.codes[:, places]):
            counts = self.model.high(j, codes)
            if j in self.tables:
                counts[counts == 0] = 1
            lifted += self.model.log_terms(j, counts)[:, rival]
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

    def fewest(self, places: Places, target: Floats) -> Interval:
        """Bound the steps that bring the winner's log support of some points to ``target`` or below."""
        piece = (self.logs[places, 1:] > target[:, None]).sum(axis=1)
        following = np.minimum(piece + 1, self.ends.shape[1] - 1)
        start, top = self.ends[places, piece], self.logs[places, piece]
        size = self.ends[places, following] - start
        # Within a piece every step takes the same share of the support that the piece starts with.
        ratio = np.exp(np.minimum(target - top, 1.0))
        steps = (size + self.alpha) * (1 - ratio)
        error = (size + self.alpha) * (4 * self.slack * ratio + _ROUNDINGS)
        at_least = start + np.maximum(np.ceil(steps - error), 0)
        # So close to where the piece starts, the answer may be in the piece before.
        at_least[(piece > 0) & (top - target < 2 * self.slack)] = 0
        needed = np.maximum(np.ceil(steps + error), 0)
        is_reached = self.logs[places, following] <= target - 2 * self.slack
        at_most = start + np.where(needed <= size, needed, np.where(is_reached, size, np.inf))
        # Where all features are exhausted, the support falls no further.
        spent = start == self.ends[places, -1]
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
