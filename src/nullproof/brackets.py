"""Between which two biases winners lose their lead over rivals, for many points at once (T10).

A feature adds to a lead what its code, the two labels and the bias say. So the leads at some biases,
the same for all points, are sums of terms that are looked up, and brackets lie between neighbours among
these biases. Where they are too wide, leads at a bias of its own for each point narrow them further.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from threading import Lock
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nullproof.leads import Lead, Pairs, Places, Tables
from nullproof.model import Floats, Model

# Just above 0: the jumps at 0 itself lie clearly below it.
_FIRST = 2.0**-40
# Not quite the middle: jumps often lie at simple fractions, where rounding would blur them.
_MIDDLE = 0.4873291
# So few jumps are halved.
_CLOSE_BY = 4.0
# Leads beyond this are all the same to a straight line.
_FAR = 50.0
# At most and at least so many biases are looked up; fewer are not worth their table.
_MOST, _FEWEST = 4096, 8
# So many of them are halved, and those between are found by straight lines, in at most so many rounds.
_ROUGH, _ROUNDS = 64, 8
# A grid has at most so many terms for each feature of each point, and so many are made at a time.
_TERMS, _AT_A_TIME = 2.0, 1 << 16
# One number holds the jumps of a winner's count above so many bits, those of a rival's below.
_BITS = 32
# More jumps than these are counted as these: they fit into those bits, and are too many to look at.
_MANY = (1 << 31) - 1


@dataclass
class Bracket:
    """Between which biases each lead is lost, and the leads at both.

    ``rose`` tells which of the two ends moved last.
    """

    left: Floats
    right: Floats
    low: Lead
    high: Lead
    rose: NDArray[np.bool_]

    @classmethod
    def of(cls, pairs: Pairs, beyond: Floats, last: Lead) -> tuple[Bracket, Floats]:
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

    def at(self, places: Places) -> Bracket:
        """Some of the points."""
        ends = self.left[places], self.right[places]
        return Bracket(*ends, self.low.at(places), self.high.at(places), self.rose[places])

    def trial(self, beyond: float, *, halve: bool = False) -> Floats:
        """A bias to try: where a straight line between the ends crosses 0, or the middle.

        It goes so many jumps ``beyond`` the crossing, away from the end that moved last, so that both
        ends close in.
        """
        width, n_jumps = self.right - self.left, np.maximum(self.n_jumps, 1.0)
        if halve:
            return self.left + _MIDDLE * width
        share = _share_kept(self.low.log, self.high.log)
        share += np.where(self.rose, beyond, -beyond) / n_jumps
        share = np.where(n_jumps <= _CLOSE_BY, _MIDDLE, np.clip(share, 0.01, 0.99))
        return self.left + width * share

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


def grid_of(tables: Tables) -> BiasGrid | None:
    """A grid for the points of some tables; None where it would not pay, or slots do not add up.

    Points often come in blocks, so the last grid is kept for those that come next.
    """
    n_terms = _TERMS * len(tables.points) * tables.n_slots
    n_biases = int(min(_MOST, n_terms / (len(tables.low) * (tables.model.m - 1))))
    if tables.n_slots > tables.model.d or n_biases < _FEWEST:
        return None
    n_biases = 1 << (n_biases.bit_length() - 1)
    return _LAST.of(tables, n_biases) if tables.one_to_one else BiasGrid.of(tables, n_biases)


@dataclass(frozen=True)
class BiasGrid:
    """What each row adds to the lead of each label over each other one, at some biases.

    Parameters
    ----------
    biases
        Ascending, as many as a power of two; the last is 1.
    log, jumps
        What is added to the logarithm of a lead, and how often the counts of both labels jump between
        a bias and the next: (rows × labels × other labels) × biases.
    rough
        ``log`` at every so many biases: those × (rows × labels × other labels).
    """

    biases: Floats
    log: Floats
    jumps: NDArray[np.int64]
    rough: Floats

    @classmethod
    def of(cls, tables: Tables, n_biases: int) -> Self:
        """A grid of so many biases, a power of two."""
        m, size = tables.model.m, len(tables.low)
        biases = (np.arange(n_biases) + _MIDDLE) / n_biases
        biases[0], biases[-1] = _FIRST, 1.0
        log = np.empty((size * (m - 1), n_biases))
        jumps = np.empty(log.shape, dtype=np.int64)
        step = max(1, _AT_A_TIME // (m * n_biases)) * m
        for start in range(0, size, step):
            some = slice(start, start + step)
            own = slice(start * (m - 1), (start + step) * (m - 1))
            log[own], jumps[own] = _terms(tables, biases, some)
        every = max(1, n_biases // _ROUGH)
        return cls(biases, log, jumps, np.ascontiguousarray(log[:, every - 1 :: every].T))

    def bracket(self, pairs: Pairs) -> tuple[Bracket, list[NDArray[np.int64]]]:
        """Brackets between biases of the grid, and the jumps of each slot within: winners', rivals'.

        Where the lead is lost before the first bias, the bracket starts at 0. There, and between biases
        that are no neighbours, the jumps of each slot are not told. More jumps than can be kept are
        infinitely many.
        """
        rows = self._rows(pairs)
        left, low, high = self._roughly(rows, pairs.log_odds)
        rows *= len(self.biases)
        right = left + len(self.biases) // len(self.rough)
        for _ in range(_ROUNDS):
            some = np.flatnonzero(right - left > 1)
            if not len(some):
                break
            own = rows if len(some) == len(left) else rows.take(some, axis=1)
            start, stop = left[some], right[some]
            share = _share_kept(low[some], high[some])
            trial = np.clip(start + (share * (stop - start)).astype(np.intp), start + 1, stop - 1)
            trial[start < 0] = 0
            lead = _leads(self.log, own + trial, pairs.log_odds[some])
            ahead = lead > 0
            left[some], right[some] = np.where(ahead, trial, start), np.where(ahead, stop, trial)
            low[some[ahead]], high[some[~ahead]] = lead[ahead], lead[~ahead]
        first = np.maximum(left, 0)
        jumps = self.jumps.take(rows + first)
        moved = [jumps >> _BITS, jumps & ((1 << _BITS) - 1)]
        n_jumps = np.where(left < 0, 0.0, sum(own.sum(axis=0) for own in moved))
        # Those that were cut to fit would look few beside the jumps of a trial, which are not.
        cut = sum((own == _MANY).any(axis=0) for own in moved)
        n_jumps[(right - left > 1) | ((cut > 0) & (left >= 0))] = np.inf
        ends = np.where(left < 0, 0.0, self.biases[first]), self.biases[right]
        leads = Lead(low, np.zeros(len(low))), Lead(high, n_jumps)
        return Bracket(*ends, *leads, np.ones(len(low), dtype=bool)), moved

    def lead(self, pairs: Pairs, beyond: Floats) -> Floats:
        """The leads at the first biases that are not below some others."""
        at = np.searchsorted(self.biases, beyond)
        return _leads(self.log, self._rows(pairs) * len(self.biases) + at, pairs.log_odds)

    def _roughly(self, rows: Places, log_odds: Floats) -> tuple[Places, Floats, Floats]:
        """After which bias leads are lost, among every so many; and the leads there and at the next."""
        n_biases, size = self.rough.shape
        n_ahead = np.zeros(len(log_odds), dtype=np.intp)
        low, high = np.full(len(log_odds), np.inf), _leads(self.rough[-1], rows, log_odds)
        step = n_biases // 2
        while step:
            trial = n_ahead + (step - 1)
            lead = _leads(self.rough, rows + trial * size, log_odds)
            ahead = lead > 0
            low, high = np.where(ahead, lead, low), np.where(ahead, high, lead)
            n_ahead += np.where(ahead, step, 0)
            step //= 2
        return n_ahead * (len(self.biases) // n_biases) - 1, low, high

    def _rows(self, pairs: Pairs) -> Places:
        """Where the terms of each feature and point stand among those of a bias."""
        m = pairs.tables.model.m
        winner, rival = pairs.winner, pairs.rival
        rows: Places = pairs.rows[0] * (m - 1) + (rival - (rival > winner))
        return rows


def _terms(tables: Tables, biases: Floats, some: slice) -> tuple[Floats, NDArray[np.int64]]:
    """What some rows add to leads, and their jumps, as `BiasGrid` has them."""
    m = tables.model.m
    counts, cells = tables.at(biases, some)
    size = tables.log_size[some, None]
    i, k = np.nonzero(~np.eye(m, dtype=bool))
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = ((np.log(own) - size).reshape(-1, m, len(biases)) for own in counts)
        log = low[:, i] - high[:, k]
    fell, rose = (
        np.minimum(np.abs(np.diff(own, append=own[:, -1:])), _MANY)
        .astype(np.int64)
        .reshape(low.shape)
        for own in cells
    )
    jumps = (fell[:, i] << _BITS) + rose[:, k]
    return log.reshape(-1, len(biases)), jumps.reshape(-1, len(biases))


def _leads(terms: Floats, places: Places, log_odds: Floats) -> Floats:
    """The sums of the terms at some places, slots × points, and of the odds of the priors.

    Their error keeps within the slack of the pairs, which is twice `Model.slack`: a sum has a logarithm
    of each count and of each size, as the bound there has, and three more subtractions for each feature.
    """
    with np.errstate(invalid="ignore"):
        lead: Floats = terms.take(places).sum(axis=0) + log_odds
    # No number: neither label has any support, so the winner is not ahead.
    lead[np.isnan(lead)] = -np.inf
    return lead


def _share_kept(low: Floats, high: Floats) -> Floats:
    """Where a straight line between two leads crosses 0: 0 at the first, 1 at the second."""
    top, bottom = np.minimum(low, _FAR), np.maximum(high, -_FAR)
    # Where rounding leaves no lead at either end, there is no line.
    share = np.full_like(top, _MIDDLE)
    np.divide(top, top - bottom, out=share, where=top > bottom)
    return share


class _LastGrid:
    """The grid that was made last, kept as long as its model lives."""

    def __init__(self) -> None:
        self._kept: tuple[weakref.ref[Model], BiasGrid] | None = None
        # Two blocks of points are asked about at a time, and one grid will do.
        self._making = Lock()

    def of(self, tables: Tables, n_biases: int) -> BiasGrid:
        """The grid of a model, made anew if there is none of at least so many biases."""
        with self._making:
            kept = self._kept
            if kept and kept[0]() is tables.model and len(kept[1].biases) >= n_biases:
                return kept[1]
            grid = BiasGrid.of(tables, n_biases)
            self._kept = weakref.ref(tables.model, self._forget), grid
            return grid

    def _forget(self, _gone: weakref.ref[Model]) -> None:
        # Only the reference that is kept can call: those before it are gone themselves.
        self._kept = None


_LAST = _LastGrid()
