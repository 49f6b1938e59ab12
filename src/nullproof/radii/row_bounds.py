"""Float bounds on the fewest added rows, for many certain points at once (T13).

Per rival the best mix of its rows and the winner's is found with real numbers. The whole numbers beside
it surely suffice. The next smaller total surely fails, since a concave lead lies below its tangents;
or since a lead as a function of the mix has one peak, and floats show on which side it lies.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.model.model import Model
from nullproof.radii.bounds import Bounds
from nullproof.radii.row_supports import (
    MOST,
    Floats,
    Places,
    RivalSide,
    RowTables,
    Support,
    WinnerSide,
)

_BLOCK = 16_384
_ROUNDS = 16
# A step this small changes no support by more than the next round would put right.
_CLOSE = 1.0
_FAR = 1e300


def bound_row_radii(
    model: Model, codes: NDArray[Any], winner: NDArray[Any], min_log: Floats
) -> Bounds:
    """Bound the fewest added rows for complete points that are certain with label ``winner``.

    Parameters and result are those of `bound_radii`.
    """
    n_points = codes.shape[1]
    bounds = Bounds.none_known(n_points)
    bounds.at_least[:] = 1
    if not model.floats_hold or not n_points:
        return bounds
    tables = RowTables(model, codes)
    for start in range(0, n_points, _BLOCK):
        block = slice(start, start + _BLOCK)
        own_log = np.take_along_axis(min_log[block], winner[block, None], axis=1)[:, 0]
        side = WinnerSide.of(tables, block, winner[block], own_log)
        kept = np.flatnonzero(side.is_regular)
        part = bounds.at(block)
        part.at_least[kept] = np.inf
        for rival in np.flatnonzero(_can_win(model)).tolist():
            places = kept[winner[block][kept] != rival]
            if len(places):
                with np.errstate(all="ignore"):
                    _offer(part, places, rival, Race(tables, block, places, rival, side))
    return bounds


def _can_win(model: Model) -> NDArray[np.bool_]:
    """Which labels can have support at all: a prior of 0 that is given stays 0."""
    return model.prior_is_counted | np.isfinite(model.log_prior)


def _offer(bounds: Bounds, places: Places, rival: int, race: Race) -> None:
    """Take in what is known of one rival's attacks."""
    at_least, n_raise, n_lower = race.solved(bounds.at_most[places])
    at_most = n_raise + n_lower
    is_better = at_most < bounds.at_most[places]
    chosen = places[is_better]
    bounds.at_least[places] = np.minimum(bounds.at_least[places], at_least)
    bounds.at_most[chosen], bounds.rival[chosen] = at_most[is_better], rival
    bounds.n_raise[chosen], bounds.n_lower[chosen] = n_raise[is_better], n_lower[is_better]


class _Mix(NamedTuple):
    """About the fewest rows, real numbers, that let the rival catch up; NaN where that is not known.

    With ``share`` of ``n_rows + ahead + behind``, less ``ahead``, as the rival's rows a total is spent
    best. Fewer than ``at_least`` rows surely fail.
    """

    total: Floats
    ahead: Floats
    behind: Floats
    share: Floats
    at_least: Floats


class _Powers(NamedTuple):
    """Powers with the first two derivatives of the supports: ``x^u`` of the rival's and ``y^-v``.

    A row more makes ``x`` or ``y`` greater by 1.
    """

    x: Floats
    y: Floats
    u: Floats
    v: Floats

    @classmethod
    def of(cls, rival: Support, winner: Support) -> _Powers:
        """The powers at some mix; the rival's has no exponent where its support does not rise."""
        x, y = -rival.slope / rival.bend, -winner.slope / winner.bend
        is_power = (rival.slope > 0) & (x > 0)
        return cls(np.where(is_power, x, _FAR), y, rival.slope * x * is_power, -winner.slope * y)

    def best(self, deficit: Floats, n_raise: Floats, n_lower: Floats) -> tuple[Floats, Floats]:
        """How many rows more of each make up for a deficit with the least sum.

        ``n_raise`` and ``n_lower`` rows of each can be taken away.
        """
        x, y, u, v = self
        # Where the sum is least, both powers change alike: u / x = v / y.
        tilt = v * np.log(x * v / (y * u))
        level = x * np.exp(np.clip((deficit - tilt) / (u + v), -3, 3))
        more, other = level - x, level * (v / u) - y
        edge = np.flatnonzero(other < -n_lower)
        other[edge] = -n_lower[edge]
        rest = deficit[edge] - v[edge] * np.log1p(other[edge] / y[edge])
        more[edge] = x[edge] * np.expm1(rest / u[edge])
        # The rows of a rival whose support does not rise are taken away.
        edge = np.flatnonzero((more < -n_raise) | ~(u > 0))
        more[edge] = -n_raise[edge]
        rest = deficit[edge] - u[edge] * np.log1p(more[edge] / x[edge])
        other[edge] = np.maximum(y[edge] * np.expm1(rest / v[edge]), -n_lower[edge])
        return more, other

    def mix(self, a: Floats, b: Floats, n_more: Floats) -> Floats:
        """The parts of a `_Mix` for so many rows of each, and some more of both."""
        return np.stack([a + b + n_more, self.x - a, self.y - b, self.u / (self.u + self.v)])


class Race:
    """One rival against the winners of some points."""

    def __init__(
        self,
        tables: RowTables,
        block: slice,
        places: Places,
        rival: int,
        winner: WinnerSide,
    ) -> None:
        self.winner = winner.at(places)
        self.rival = RivalSide(tables, block, places, rival)
        self.slack, self.slope_slack = tables.slack, tables.slope_slack

    def solved(self, known: Floats) -> tuple[Floats, Floats, Floats]:
        """Per point: fewer rows surely fail; and an attack that surely works, infinite if none is known.

        No attack of ``known`` rows or more is looked for.
        """
        mix = self._best_mix(known)
        total = np.maximum(np.ceil(mix.total - 1e-7), 1)
        at_least, works = np.minimum(mix.at_least, known), np.full((2, len(total)), np.inf)
        waiting = np.flatnonzero(np.isfinite(total))
        for n_more in (0, 1):
            n_rows = total[waiting] + n_more
            middle = self._middle(waiting, mix, n_rows)
            is_enough = self._lead(waiting, middle, n_rows) > self.slack
            works[:, waiting[is_enough]] = np.stack([middle, n_rows - middle])[:, is_enough]
            waiting = waiting[~is_enough]
        n_rows = works.sum(axis=0)
        at_least = np.minimum(at_least, n_rows)
        doubtful = np.flatnonzero(np.isfinite(n_rows) & (at_least < n_rows))
        fewer = n_rows[doubtful] - 1
        fails = self._fails(doubtful, self._middle(doubtful, mix, fewer), fewer)
        at_least[doubtful[fails]] = fewer[fails] + 1
        return at_least, works[0], works[1]

    def _best_mix(self, known: Floats) -> _Mix:
        """Find the mix with powers in place of both supports; few rounds are needed."""
        n_points = len(self.rival)
        n_raise, n_lower = self.rival.least.copy(), np.zeros(n_points)
        found, active = np.full((5, n_points), np.nan), np.arange(n_points)
        found[4] = 1
        for _ in range(_ROUNDS):
            a, b, least = n_raise[active], n_lower[active], self.rival.least[active]
            rival, own = self.rival.at(active).support(a), self.winner.at(active).support(b)
            powers = _Powers.of(rival, own)
            at_least = self._tangent(a, b, rival, own, active)
            found[4, active] = np.fmax(found[4, active], at_least)
            more, other = powers.best(own.log - rival.log, a - least, b)
            is_done = np.abs(more) + np.abs(other) <= _CLOSE
            done = np.flatnonzero(is_done)
            found[:4, active[done]] = powers.mix(a, b, more + other)[:, done]
            n_raise[active], n_lower[active] = a + more, b + other
            hopes = ~is_done & (at_least < known[active]) & (n_raise[active] < MOST)
            active = active[hopes]
            if not len(active):
                break
        return _Mix(*found)

    def _tangent(
        self, a: Floats, b: Floats, rival: Support, own: Support, places: Places
    ) -> Floats:
        """A number of rows below which all mixes surely fail: a lead lies below its tangents (T13)."""
        gain, loss, least = rival.slope, -own.slope, self.rival.least[places]
        error = self.slope_slack * (rival.size + own.size) * (2 * (a + b) + 8)
        lead = rival.log - own.log + self.slack + error
        alone = a + (loss * b - lead) / gain
        mixed = least + b + (gain * (a - least) - lead) / loss
        total = np.minimum(np.minimum(alone, mixed), 2 * (a + b) + 8)
        return np.where(
            self.rival.is_concave[places] & (gain > 0), np.ceil(total * (1 - 1e-12) - 1e-9), 1
        )

    def _middle(self, places: Places, mix: _Mix, n_rows: Floats) -> Floats:
        """The whole number of the rival's rows that is about the best one for a total."""
        ahead, behind = mix.ahead[places], mix.behind[places]
        wanted = np.rint((n_rows + ahead + behind) * mix.share[places] - ahead)
        return np.clip(wanted, np.minimum(self.rival.least[places], n_rows), n_rows)

    def _lead(self, places: Places, n_raise: Floats, n_rows: Floats) -> Floats:
        """The rival's lead in log support."""
        gained = self.rival.at(places).log(n_raise)
        return np.asarray(gained - self.winner.at(places).log(n_rows - n_raise))

    def _steep_lead(
        self, places: Places, n_raise: Floats, n_rows: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """The rival's lead, its slope along the mix, and a bound on the slope's error."""
        gains = self.rival.at(places).support(n_raise)
        losses = self.winner.at(places).support(n_rows - n_raise)
        return (
            gains.log - losses.log,
            gains.slope + losses.slope,
            self.slope_slack * (gains.size + losses.size),
        )

    def _fails(self, places: Places, middle: Floats, n_rows: Floats) -> NDArray[np.bool_]:
        """Where so many rows surely fail however they are mixed: the lead has one peak (T13)."""
        fails, least = np.ones(len(places), dtype=bool), self.rival.least[places]
        for shift in (-1, 0, 1):
            n_raise = middle + shift
            is_outside = (n_raise < least) | (n_raise > n_rows)
            tried = np.where(is_outside, np.minimum(least, n_rows), n_raise)
            lead, slope, error = self._steep_lead(places, tried, n_rows)
            fails &= is_outside | (lead < -self.slack)
            if shift:
                fails &= is_outside | (-shift * slope > error)
        return np.asarray(fails | (n_rows == 0))
