"""Where a growing bias lets a rival catch up with a winner, for many points at once (T10).

Floats bracket the bias at which the lead is lost, by secants and halves, until only a few jumps of
counts lie between. Those are then tried one after another. NaN says that rounding could have blurred
the answer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nullproof.brackets import BiasGrid, Bracket
from nullproof.leads import Lead, Pairs, Part
from nullproof.model import Floats

_EPS = float(np.finfo(np.float64).eps)
_MOST_ROUNDS = 60
# How few jumps are tried one by one, and how many jumps a trial goes beyond a guess.
_FEW, _BEYOND = 16, 2.0
# The same where there are two trials only.
_SOME, _FURTHER = 24, 4.0
# Jumps closer than this cannot be told apart by a bias between them.
_LEAST_GAP = 1e-12
# How far rounding moves a jump at most: a count of n cells errs by some eps·(n + 1) before it is rounded
# to whole cells, which is the error of a bias of that divided by n.
_CLOSE = 128 * _EPS
# The jumps of winners' counts and of rivals', by part: slots × points.
_Moved = list[list[NDArray[np.int64]]]


def crossing(pairs: Pairs, beyond: Floats, lead: Lead) -> Floats:
    """The largest double at which each winner is ahead; NaN where rounding could blur it.

    Every winner is ahead at 0 and not at ``beyond``, where its ``lead`` is known.
    """
    found = np.full(len(beyond), np.nan)
    bracket, trial = Bracket.of(pairs, beyond, lead)
    places = np.arange(len(beyond))
    for number in range(_MOST_ROUNDS):
        few = bracket.n_jumps <= _FEW
        if 3 * few.sum() > 2 * len(few):
            sure = bracket.is_sure(pairs.slack)
            some, kept = np.flatnonzero(sure & few), np.flatnonzero(sure & ~few)
            near, within = pairs.at(some), bracket.at(some)
            found[places[some]] = _first_lost(near, within, _not_too_many(_moved(near, within)))
            pairs, places = pairs.at(kept), places[kept]
            bracket, trial = bracket.at(kept), trial[kept]
        if not len(places):
            break
        bracket.narrow(trial, pairs.lead(trial))
        trial = bracket.trial(_BEYOND, halve=number % 4 == 3)
    return found


def crossing_nearby(pairs: Pairs, grid: BiasGrid) -> Floats:
    """As `crossing`, from brackets of a grid; NaN also where these do not suffice."""
    bracket, moved = grid.bracket(pairs)
    near = (bracket.n_jumps <= _SOME) & (bracket.left > 0) & pairs.plain
    sure = near & bracket.is_sure(pairs.slack)
    found = _first_lost(pairs, bracket, [[own * sure] for own in moved])
    others = np.flatnonzero(~near)
    if len(others):
        found[others] = _by_trials(pairs.at(others), bracket.at(others))
    return found


def _by_trials(pairs: Pairs, bracket: Bracket) -> Floats:
    """As `crossing`, by two trials within brackets; NaN also where these do not suffice."""
    n_cells = pairs.lead(bracket.left).n_cells
    bracket.high = Lead(bracket.high.log, n_cells + bracket.n_jumps)
    bracket.low = Lead(bracket.low.log, n_cells)
    for past in (0.0, _FURTHER):
        trial = bracket.trial(past)
        bracket.narrow(trial, pairs.lead(trial))
    few = np.flatnonzero(bracket.is_sure(pairs.slack) & (bracket.n_jumps <= _SOME))
    found = np.full(len(bracket.left), np.nan)
    some, within = pairs.at(few), bracket.at(few)
    found[few] = _first_lost(some, within, _moved(some, within))
    return found


def _first_lost(pairs: Pairs, bracket: Bracket, moved: _Moved) -> Floats:
    """The jump of each bracket, rounded down, after which the lead is lost; NaN where blurred.

    Rounding puts a jump on the wrong side of an end of the bracket only if it lies close to that end.
    For a jump that lies well within, this changes nothing: all jumps close to the left end come before
    it, counted as done already or not, and all close to the right end come after it.
    """
    jumps, changes = _jumps(pairs, bracket, moved)
    if not jumps.size:
        return np.full(len(jumps), np.nan)
    if pairs.plain:
        found, unsure = _walked(pairs, bracket, jumps, changes)
    else:
        found, unsure = _halved(pairs, jumps)
    # Where all jumps are one, it is the one, whatever rounding blurs.
    doubtful = np.flatnonzero(unsure)
    own = jumps[doubtful]
    first, last = own.min(axis=1), np.where(np.isfinite(own), own, -np.inf).max(axis=1)
    found[doubtful] = np.where(first == last, first, np.nan)
    # At 0 every winner is ahead, so that the lead is lost at a jump that is listed. Rounding may list one
    # below 0 too; then there are two, and neither is told.
    inside = (found > bracket.left + _CLOSE) | (bracket.left == 0)
    return np.where(inside & (found < bracket.right - _CLOSE), found, np.nan)


def _walked(
    pairs: Pairs, bracket: Bracket, jumps: Floats, changes: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """The jump at which plain pairs lose the lead, found jump by jump; and where rounding blurs that."""
    every = np.arange(len(jumps))
    order = np.argsort(jumps, axis=1) + (every * jumps.shape[1])[:, None]
    with np.errstate(invalid="ignore"):
        leads = bracket.low.log[:, None] + np.cumsum(changes.take(order), axis=1)
    lost = (leads < 0).argmax(axis=1)
    unclear = (np.abs(leads) <= pairs.slack[:, None]).any(axis=1)
    # At 0 itself the lead is not known, and counts as infinite: no jump is seen to lose it.
    return jumps.take(order[every, lost]), unclear | ~(leads[every, lost] < 0)


def _halved(pairs: Pairs, jumps: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """The jump at which the lead is lost, found by halves; and where rounding blurs that."""
    jumps = np.sort(jumps, axis=1)
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


def _jumps(pairs: Pairs, bracket: Bracket, moved: _Moved) -> tuple[Floats, Floats]:
    """The jumps within each bracket, and what each does to the lead of plain pairs: points × jumps.

    They are in no order; infinite and 0 where a point has no more.
    """
    tables, every = pairs.tables, sum(moved[0] + moved[1])
    first = np.cumsum(every, axis=0)
    jumps = np.full((first.shape[1], int(first[-1].max(initial=0))), np.inf)
    changes = np.zeros(jumps.shape)
    first -= every
    for side, sign in enumerate((-1, 1)):
        for number, n_jumps in enumerate(moved[side]):
            where = np.flatnonzero(n_jumps != 0)
            point, row = where % len(jumps), pairs.rows[side].take(where)
            place = point * jumps.shape[1] + first.take(where)
            cells = _cells(tables.parts[number].take(row), sign, bracket.left.take(point), True)
            if len(where) and (n_own := n_jumps.take(where)).max() > 1:
                again = np.repeat(np.arange(len(where)), n_own)
                step = np.arange(len(again)) - (np.cumsum(n_own) - n_own)[again]
                row, place, cells = row[again], place[again] + step, cells[again] + sign * step
            jumps.put(place, tables.jump(number, row, sign, cells))
            count = (tables.low, tables.high)[side].take(row)
            # Cells are added up before the smoothing, or a tiny one would lose its digits.
            with np.errstate(divide="ignore"):
                changes.put(place, -sign * np.log((count + (cells + sign)) / (count + cells)))
            first += n_jumps
    return jumps, changes


def _moved(pairs: Pairs, bracket: Bracket) -> _Moved:
    """How many jumps each slot of each point has within its bracket; one at 0 itself lies within."""
    return [
        [
            np.abs(
                _cells(part, sign, bracket.left, True) - _cells(part, sign, bracket.right)
            ).astype(np.int64)
            for part in parts
        ]
        for sign, parts in ((-1, pairs.winning), (1, pairs.threatening))
    ]


def _not_too_many(moved: _Moved) -> _Moved:
    """The same, but no jumps of a point with very many.

    Of 2^60 cells a million move between 0 and just above it, where they are not told apart anyway.
    """
    n_jumps = sum(own.sum(axis=0) for parts in moved for own in parts)
    listed = n_jumps <= _SOME * len(moved[0][0])
    return [[own * listed for own in parts] for parts in moved]


def _cells(part: Part, sign: int, bias: Floats, before: bool = False) -> Floats:
    """How many cells of a part hold the value at a bias; or, where that is 0, ``before`` a jump there."""
    held = part.expected + sign * (part.n_cells * bias)
    if before:
        held -= np.where(bias == 0, sign * 32 * _EPS * (part.n_cells + 1), 0.0)
    if sign < 0:
        return np.maximum(np.floor(held), 0)
    return np.minimum(np.ceil(held), part.n_cells)
