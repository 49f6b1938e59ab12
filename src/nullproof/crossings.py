"""Where a growing bias lets a rival catch up with a winner, for many points at once (T10).

Floats bracket the bias at which the lead is lost, by secants and halves, until only a few jumps of
counts lie between. Those are then tried one after another. NaN says that rounding could have blurred
the answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nullproof.leads import Lead, Pairs, Part, Places
from nullproof.model import Floats

_EPS = float(np.finfo(np.float64).eps)
# Just above 0: the jumps at 0 itself lie clearly below it.
_FIRST = 2.0**-40
_MOST_ROUNDS = 60
# Not quite the middle: jumps often lie at simple fractions, where rounding would blur them.
_MIDDLE = 0.4873291
# How many jumps a trial goes beyond a guess, and how few jumps are tried one by one.
_BEYOND, _FEW = 2.0, 16
# Jumps closer than this cannot be told apart by a bias between them.
_LEAST_GAP = 1e-12


def crossing(pairs: Pairs, beyond: Floats, lead: Lead) -> Floats:
    """The largest double at which each winner is ahead; NaN where rounding could blur it.

    Every winner is ahead at 0 and not at ``beyond``, where its ``lead`` is known.
    """
    found = np.full(len(beyond), np.nan)
    bracket, guess = _Bracket.of(pairs, beyond, lead)
    places = np.arange(len(beyond))
    for number in range(_MOST_ROUNDS):
        few = bracket.n_jumps <= _FEW
        if 3 * few.sum() > 2 * len(few):
            sure = bracket.is_sure(pairs.slack)
            some, kept = np.flatnonzero(sure & few), np.flatnonzero(sure & ~few)
            found[places[some]] = _first_lost(pairs.at(some), bracket.at(some))
            pairs, places, bracket = pairs.at(kept), places[kept], bracket.at(kept)
            guess = guess[kept] if number == 0 else guess
        if not len(places):
            break
        trial = guess if number == 0 else bracket.trial(number)
        bracket.narrow(trial, pairs.lead(trial))
    return found


def _first_lost(pairs: Pairs, bracket: _Bracket) -> Floats:
    """The jump of each bracket, rounded down, after which the lead is lost; NaN where blurred."""
    jumps, changes, blurred = _jumps(pairs, bracket)
    if not jumps.size:
        return np.full(len(jumps), np.nan)
    if pairs.plain:
        found, unsure = _walked(pairs, bracket, jumps, changes)
    else:
        found, unsure = _halved(pairs, jumps)
    last = np.where(np.isfinite(jumps), jumps, -np.inf).max(axis=1)
    one = jumps[:, 0] == last
    found = np.where(one, last, np.where(unsure, np.nan, found))
    return np.where(blurred, np.nan, found)


def _walked(
    pairs: Pairs, bracket: _Bracket, jumps: Floats, changes: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """The jump at which plain pairs lose the lead, found jump by jump; and where rounding blurs that."""
    with np.errstate(invalid="ignore"):
        leads = bracket.low.log[:, None] + np.cumsum(changes, axis=1)
    lost, every = (leads < 0).argmax(axis=1), np.arange(len(leads))
    unclear = (np.abs(leads) <= pairs.slack[:, None]).any(axis=1)
    # At 0 itself the lead is not known.
    return jumps[every, lost], unclear | (bracket.left == 0) | ~(leads[every, lost] < 0)


def _halved(pairs: Pairs, jumps: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """The jump at which the lead is lost, found by halves; and where rounding blurs that."""
    jumps = jumps.copy()
    # Jumps that round down to one double are one.
    jumps[:, :-1][jumps[:, :-1] == jumps[:, 1:]] = np.inf
    jumps.sort(axis=1)
    every, unsure = np.arange(len(jumps)), np.zeros(len(jumps), dtype=bool)
    # The lead is kept before the first jump, and lost after the last.
    kept, lost = np.full(len(jumps), -1), np.isfinite(jumps).sum(axis=1) - 1
    while (lost - kept > 1).any():
        going = lost - kept > 1
        middle = np.where(going, (kept + lost) // 2, 0)
        here = np.where(going, jumps[every, middle], 0.0)
        gap = np.where(going, jumps[every, middle + going], 0.0) - here
        lead = pairs.lead(here + gap / 2)
        unsure |= going & ((gap < _LEAST_GAP) | (np.abs(lead.log) <= pairs.slack))
        ahead = lead.log > 0
        kept, lost = np.where(going & ahead, middle, kept), np.where(going & ~ahead, middle, lost)
    return jumps[every, lost], unsure


def _jumps(pairs: Pairs, bracket: _Bracket) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """The jumps within each bracket, ascending, points × jumps, infinite for none.

    Also what each jump does to the lead of plain pairs, and where rounding blurs the bracket.
    """
    blurred = np.zeros(len(bracket.left), dtype=bool)
    points, jumps, changes = [np.arange(0)], [np.zeros(0)], [np.zeros(0)]
    for sign, parts, side in ((-1, pairs.winning, 0), (1, pairs.threatening, 1)):
        rows, bases = pairs.rows[side], pairs.bases[side]
        for number, part in enumerate(parts):
            start, stop, unclear = _cells_at_ends(part, sign, bracket)
            blurred |= unclear
            slot, point = np.nonzero(start != stop)
            n_jumps = np.abs(start - stop)[slot, point].astype(np.intp)
            step = np.arange(n_jumps.sum()) - np.repeat(np.cumsum(n_jumps) - n_jumps, n_jumps)
            slot, point = np.repeat(slot, n_jumps), np.repeat(point, n_jumps)
            cells = start[slot, point] + sign * step
            points.append(point)
            jumps.append(pairs.tables.jump(number, rows[slot, point], sign, cells))
            count = bases[slot, point] + cells
            with np.errstate(divide="ignore"):
                changes.append(-sign * np.log((count + sign) / count))
    point, jump, change = np.concatenate(points), np.concatenate(jumps), np.concatenate(changes)
    # Rounding took a jump just below a bracket for one at its left end.
    blurred[point[jump < 0]] = True
    return *_by_point(point, jump, change, len(blurred)), blurred


def _by_point(point: Places, jump: Floats, change: Floats, n_points: int) -> tuple[Floats, Floats]:
    """Jumps and changes as points × jumps, ascending; infinite and 0 where a point has no more."""
    order = np.argsort(point, kind="stable")
    point, jump, change = point[order], jump[order], change[order]
    n_jumps = np.bincount(point, minlength=n_points)
    place = np.arange(len(point)) - np.repeat(np.cumsum(n_jumps) - n_jumps, n_jumps)
    jumps = np.full((n_points, int(n_jumps.max(initial=0))), np.inf)
    changes = np.zeros(jumps.shape)
    jumps[point, place], changes[point, place] = jump, change
    order = np.argsort(jumps, axis=1, kind="stable")
    return np.take_along_axis(jumps, order, axis=1), np.take_along_axis(changes, order, axis=1)


@dataclass
class _Bracket:
    """Between which biases each lead is lost, and the leads at both.

    ``rose`` tells which of the two ends moved last.
    """

    left: Floats
    right: Floats
    low: Lead
    high: Lead
    rose: NDArray[np.bool_]

    @classmethod
    def of(cls, pairs: Pairs, beyond: Floats, last: Lead) -> tuple[_Bracket, Floats]:
        """Brackets from just above 0, or from 0 where the lead is lost there already; and a first guess."""
        lead, guess = pairs.lead_and_loss(np.full(len(beyond), _FIRST))
        lost = lead.log < 0
        # At 0 every winner is ahead. Jumps between 0 and just above it count as jumps at 0.
        low = Lead(np.where(lost, np.inf, lead.log), lead.n_cells)
        high = Lead(*(np.where(lost, a, b) for a, b in zip(lead, last, strict=True)))
        left, right = np.where(lost, 0.0, _FIRST), np.where(lost, _FIRST, beyond)
        guess, middle = 1.05 * guess + 1e-9, left + _MIDDLE * (right - left)
        guess = np.where((left < guess) & (guess < right), guess, middle)
        return cls(left, right, low, high, np.ones(len(beyond), dtype=bool)), guess

    @property
    def n_jumps(self) -> Floats:
        """How many jumps of counts lie within each bracket."""
        return self.high.n_cells - self.low.n_cells

    def is_sure(self, slack: Floats) -> NDArray[np.bool_]:
        """Whether rounding blurs neither end."""
        return np.asarray((self.low.log > slack) & (self.high.log < -slack))

    def at(self, places: Places) -> _Bracket:
        """Some of the points."""
        ends = self.left[places], self.right[places]
        return _Bracket(*ends, self.low.at(places), self.high.at(places), self.rose[places])

    def trial(self, number: int) -> Floats:
        """A bias to try: where a straight line between the ends crosses 0, or the middle.

        It goes a few jumps past the crossing, away from the end that moved last, so that both ends
        close in.
        """
        width, n_jumps = self.right - self.left, np.maximum(self.n_jumps, 1.0)
        top, bottom = np.minimum(self.low.log, 50.0), np.maximum(self.high.log, -50.0)
        step = np.where(self.rose, _BEYOND, -_BEYOND) / n_jumps
        # Where rounding leaves no lead at either end, there is no line.
        crosses = np.full_like(top, _MIDDLE)
        np.divide(top, top - bottom, out=crosses, where=top > bottom)
        share = np.clip(crosses + step, 0.01, 0.99)
        if number % 4 == 0:
            share[:] = _MIDDLE
        return self.left + width * np.where(n_jumps <= 2 * _BEYOND, _MIDDLE, share)

    def narrow(self, trial: Floats, lead: Lead) -> None:
        """Replace the end on whose side the lead at ``trial`` is."""
        ahead = self.rose = lead.log > 0
        self.left, self.right = (
            np.where(ahead, trial, self.left),
            np.where(ahead, self.right, trial),
        )
        self.low = Lead(
            *(np.where(ahead, new, old) for new, old in zip(lead, self.low, strict=True))
        )
        self.high = Lead(
            *(np.where(ahead, old, new) for new, old in zip(lead, self.high, strict=True))
        )


def _cells_at_ends(
    part: Part, sign: int, bracket: _Bracket
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """How many cells of a part hold the value at both ends of a bracket, and where that is unclear.

    A jump at the left end itself counts as within the bracket.
    """
    doubt = 32 * _EPS * (part.n_cells + 1)
    ends = [part.expected + sign * part.n_cells * end for end in (bracket.left, bracket.right)]
    unclear = np.zeros(part.n_cells.shape, dtype=bool)
    for cells, is_zero in zip(ends, (bracket.left == 0, False), strict=True):
        near = np.abs(cells - np.rint(cells)) <= doubt
        if near.any():
            # A count of none or all of the cells jumps no further.
            inside = cells > 0.5 if sign < 0 else cells < part.n_cells - 0.5
            unclear |= near & inside & ~np.asarray(is_zero)
    if sign < 0:
        start, stop = np.floor(ends[0] + doubt), np.floor(ends[1])
        return np.maximum(start, 0), np.maximum(stop, 0), np.asarray(unclear.any(axis=0))
    start, stop = np.ceil(ends[0] - doubt), np.ceil(ends[1])
    most = part.n_cells
    return np.minimum(start, most), np.minimum(stop, most), np.asarray(unclear.any(axis=0))
