"""Float bounds on the fewest added rows, for many certain points at once (T13).

Per rival the best mix of its rows and the winner's is found with real numbers. Then the whole numbers
beside it are tried: one total surely suffices, and the next smaller one surely fails, since the
rival's lead as a function of the mix has one peak and floats show on which side it lies.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.model import Model
from nullproof.radii.bounds import Bounds
from nullproof.radii.row_supports import MOST, Floats, Places, RivalSide, RowTables, WinnerSide

_BLOCK = 8192
_ROUNDS = 16
# A mix this close to the best one has the whole numbers beside the best one as its neighbours.
_CLOSE = 0.2


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
    at_least, n_raise, n_lower = race.solved()
    at_most = n_raise + n_lower
    is_better = at_most < bounds.at_most[places]
    chosen = places[is_better]
    bounds.at_least[places] = np.minimum(bounds.at_least[places], at_least)
    bounds.at_most[chosen], bounds.rival[chosen] = at_most[is_better], rival
    bounds.n_raise[chosen], bounds.n_lower[chosen] = n_raise[is_better], n_lower[is_better]


class _Mix(NamedTuple):
    """Real numbers of rows of the rival and the winner that suffice with the least sum; NaN for unknown.

    ``excess``: how many rows more of the same total would better be the rival's, beyond what there
    are. ``drift``: how much of one row more would be the rival's.
    """

    n_raise: Floats
    n_lower: Floats
    excess: Floats
    drift: Floats


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

    def solved(self) -> tuple[Floats, Floats, Floats]:
        """Per point: fewer rows surely fail; and an attack that surely works, infinite if none is known."""
        mix = self._best_mix()
        total = np.ceil(mix.n_raise + mix.n_lower - 1e-7)
        at_least, works = np.ones(len(total)), np.full((2, len(total)), np.inf)
        waiting = np.flatnonzero(np.isfinite(total))
        for n_more in (0, 1):
            n_rows = total[waiting] + n_more
            middle = self._middle(waiting, mix, n_rows)
            is_enough = self._lead(waiting, middle, n_rows)[0] > self.slack
            works[:, waiting[is_enough]] = np.stack([middle, n_rows - middle])[:, is_enough]
            waiting = waiting[~is_enough]
        done = np.flatnonzero(np.isfinite(works[0]))
        fewer = works[:, done].sum(axis=0) - 1
        fails = self._fails(done, self._middle(done, mix, fewer), fewer)
        at_least[done[fails]] = fewer[fails] + 1
        return at_least, works[0], works[1]

    def _best_mix(self) -> _Mix:
        """Find the mix by Newton's method, each point within a bracket of its own.

        The rival's rows are best where one more of them gains what one more of the winner's loses.
        The reciprocals of gain and loss are nearly lines, so that few rounds are needed.
        """
        n_points = len(self.rival)
        top = self.winner.support(np.zeros(n_points)).log
        left, right = self.rival.least.copy(), np.full(n_points, MOST)
        n_raise, n_lower = left.copy(), np.zeros(n_points)
        found, active = np.full((5, n_points), np.nan), np.arange(n_points)
        for round_ in range(_ROUNDS):
            a, own = n_raise[active], self.winner.at(active)
            rival = self.rival.at(active).support(a)
            target = np.minimum(rival.log, top[active])
            b = own.rows_down_to(target, n_lower[active], 1 if round_ else 3)
            loss, bend, _ = own.below.slopes(b)
            is_over = (rival.log > top[active]) | (rival.slope <= 0)
            is_short = ~is_over & (rival.slope + loss > 0)
            left[active] = np.where(is_short, a, left[active])
            right[active] = np.where(is_short, right[active], a)
            turn = -rival.bend / rival.slope**2 - bend * rival.slope / loss**3
            step = -(1 / rival.slope + 1 / loss) / turn
            # A tangent of the rival's concave support meets the winner's too early.
            most = (top[active] - rival.log) / rival.slope
            is_edge = is_over | ~(step < most)
            wanted = _within(a + np.where(is_edge, most, step), left[active], right[active])
            is_done = np.abs(wanted - a) <= _CLOSE
            bends = bend - rival.bend
            mix = np.stack([a, b, (rival.slope + loss) / bends, bend / bends, target])
            # Where the winner gets no row, the sum is not flat at its least.
            mix[:, is_edge] = np.stack([wanted, 0 * b, mix[2], mix[3], top[active]])[:, is_edge]
            found[:, active[is_done]] = mix[:, is_done]
            n_raise[active], n_lower[active] = wanted, b
            active = active[~is_done]
            if not len(active):
                break
        n_lower = self.winner.rows_down_to(found[4], found[1], 3)
        return _Mix(found[0], n_lower, found[2], found[3])

    def _middle(self, places: Places, mix: _Mix, n_rows: Floats) -> Floats:
        """The whole number of the rival's rows that is about the best one for a total."""
        n_raise, n_lower, excess, drift = (part[places] for part in mix)
        wanted = np.rint(n_raise + excess + drift * (n_rows - n_raise - n_lower))
        return np.clip(wanted, np.minimum(self.rival.least[places], n_rows), n_rows)

    def _lead(
        self, places: Places, n_raise: Floats, n_rows: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """The rival's lead in log support, its slope along the mix, and a bound on the slope's error."""
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
            lead, slope, error = self._lead(places, tried, n_rows)
            fails &= is_outside | (lead < -self.slack)
            if shift:
                fails &= is_outside | (-shift * slope > error)
        return np.asarray(fails | (n_rows == 0))


def _within(wanted: Floats, left: Floats, right: Floats) -> Floats:
    """What is wanted where it lies within a bracket, else a number well inside."""
    inside = (left + np.minimum(right, 3 * left + 8)) / 2
    return np.asarray(np.where((wanted >= left) & (wanted <= right), wanted, inside))
