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


def crossing(pairs: Pairs, beyond: Floats, lead: Lead) -> Floats:
    """The largest double at which each winner is ahead; NaN where rounding could blur it.

    Every winner is ahead at 0 and not at ``beyond``, where its ``lead`` is known.
    """
    found = np.full(len(beyond), np.nan)
    bracket, guess = Bracket.of(pairs, beyond, lead)
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
        trial = guess if number == 0 else bracket.trial(_BEYOND, halve=number % 4 == 0)
        bracket.narrow(trial, pairs.lead(trial))
    return found


def crossing_nearby(pairs: Pairs, beyond: Floats, lead: Lead, grid: BiasGrid) -> Floats:
    """As `crossing`, by two trials from a bracket of a grid; NaN also where these do not suffice."""
    bracket = grid.bracket(pairs, beyond, lead)
    for past in (0.0, _FURTHER):
        trial = bracket.trial(past)
        bracket.narrow(trial, pairs.lead(trial))
    few = bracket.is_sure(pairs.slack) & (bracket.n_jumps <= _SOME)
    return _first_lost(pairs, bracket.closed(~few))


def _first_lost(pairs: Pairs, bracket: Bracket) -> Floats:
    """The jump of each bracket, rounded down, after which the lead is lost; NaN where blurred.

    Rounding puts a jump on the wrong side of an end of the bracket only if it lies close to that end.
    For a jump that lies well within, this changes nothing: all jumps close to the left end come before
    it, counted as done already or not, and all close to the right end come after it.
    """
    jumps, changes = _jumps(pairs, bracket)
    if not jumps.size:
        return np.full(len(jumps), np.nan)
    if pairs.plain:
        found, unsure = _walked(pairs, bracket, jumps, changes)
    else:
        found, unsure = _halved(pairs, jumps)
    first, last = jumps.min(axis=1), jumps.max(axis=1, where=np.isfinite(jumps), initial=-np.inf)
    found = np.where(first == last, first, np.where(unsure, np.nan, found))
    # At 0 every winner is ahead; but rounding may take a jump just below 0 for one at 0.
    inside = (found > bracket.left + _CLOSE) | ((bracket.left == 0) & (first >= 0))
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
    # At 0 itself the lead is not known.
    return jumps.take(order[every, lost]), unclear | (bracket.left == 0) | ~(leads[every, lost] < 0)


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


def _jumps(pairs: Pairs, bracket: Bracket) -> tuple[Floats, Floats]:
    """The jumps within each bracket, and what each does to the lead of plain pairs: points × jumps.

    They are in no order; infinite and 0 where a point has no more.
    """
    n_before = np.zeros(len(bracket.left), dtype=np.intp)
    found = []
    for sign, parts, side in ((-1, pairs.winning, 0), (1, pairs.threatening, 1)):
        rows, bases = pairs.rows[side], pairs.bases[side]
        for number, part in enumerate(parts):
            start, stop = _cells_at_ends(part, sign, bracket)
            point, slot = np.divmod(np.flatnonzero((start != stop).T), len(start))
            where = slot * len(n_before) + point
            n_jumps = np.abs(start.take(where) - stop.take(where)).astype(np.intp)
            step = np.arange(n_jumps.sum()) - np.repeat(np.cumsum(n_jumps) - n_jumps, n_jumps)
            where, point = np.repeat(where, n_jumps), np.repeat(point, n_jumps)
            cells = start.take(where) + sign * step
            jump = pairs.tables.jump(number, rows.take(where), sign, cells)
            count = bases.take(where) + cells
            with np.errstate(divide="ignore"):
                change = -sign * np.log((count + sign) / count)
            n_here = np.bincount(point, minlength=len(n_before))
            place = np.arange(len(point)) + (n_before + n_here - np.cumsum(n_here))[point]
            n_before += n_here
            found.append((point, place, jump, change))
    jumps = np.full((len(n_before), int(n_before.max(initial=0))), np.inf)
    changes = np.zeros(jumps.shape)
    for point, place, jump, change in found:
        jumps[point, place], changes[point, place] = jump, change
    return jumps, changes


def _cells_at_ends(part: Part, sign: int, bracket: Bracket) -> tuple[Floats, Floats]:
    """How many cells of a part hold the value at both ends of a bracket; a jump at 0 itself lies within."""
    doubt = np.where(bracket.left == 0, 32 * _EPS * (part.n_cells.max(initial=0.0) + 1), 0.0)
    left, right = (part.n_cells * end for end in (bracket.left, bracket.right))
    if sign < 0:
        start, stop = np.floor(part.expected - left + doubt), np.floor(part.expected - right)
        return np.maximum(start, 0), np.maximum(stop, 0)
    start, stop = np.ceil(part.expected + left - doubt), np.ceil(part.expected + right)
    return np.minimum(start, part.n_cells), np.minimum(stop, part.n_cells)
