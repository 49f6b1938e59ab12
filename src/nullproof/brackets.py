"""Between which two biases winners lose their lead over rivals, for many points at once (T10).

A feature adds to a lead what its code, the two labels and the bias say. So the leads at a few biases,
the same for all points, are sums of terms that are looked up, and halving these biases gives the first
brackets. Leads at a bias of its own for each point narrow them further.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nullproof.leads import Lead, Pairs, Places, Tables
from nullproof.model import Floats

# Just above 0: the jumps at 0 itself lie clearly below it.
_FIRST = 2.0**-40
# Not quite the middle: jumps often lie at simple fractions, where rounding would blur them.
_MIDDLE = 0.4873291
# So few jumps are halved.
_CLOSE_BY = 4.0
# At most and at least so many biases are looked up; fewer are not worth their table.
_MOST, _FEWEST = 64, 8
# A grid has at most so many terms for each feature of each point.
_TERMS = 1.0


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

    def closed(self, some: NDArray[np.bool_]) -> Bracket:
        """The same brackets, but some of them without any jumps."""
        right = np.where(some, self.left, self.right)
        return Bracket(self.left, right, self.low, self.high, self.rose)

    def trial(self, beyond: float, *, halve: bool = False) -> Floats:
        """A bias to try: where a straight line between the ends crosses 0, or the middle.

        It goes so many jumps ``beyond`` the crossing, away from the end that moved last, so that both
        ends close in.
        """
        width, n_jumps = self.right - self.left, np.maximum(self.n_jumps, 1.0)
        if halve:
            return self.left + _MIDDLE * width
        top, bottom = np.minimum(self.low.log, 50.0), np.maximum(self.high.log, -50.0)
        # Where rounding leaves no lead at either end, there is no line.
        share = np.full_like(top, _MIDDLE)
        np.divide(top, top - bottom, out=share, where=top > bottom)
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


@dataclass(frozen=True)
class BiasGrid:
    """What each row adds to the lead of each label over each other one, at some biases.

    Parameters
    ----------
    biases
        The biases, ascending, one less than a power of two.
    log, n_cells
        What is added to the logarithm of a lead, and the cells moved: biases × (rows × labels × other
        labels).
    """

    biases: Floats
    log: Floats
    n_cells: Floats

    @classmethod
    def of(cls, tables: Tables) -> Self | None:
        """A grid for the points of some tables; None where it would not pay, or slots do not add up."""
        m, size = tables.model.m, len(tables.low) * (tables.model.m - 1)
        n_biases = int(min(_MOST, _TERMS * len(tables.points) * tables.n_slots / size))
        if tables.n_slots > tables.model.d or n_biases < _FEWEST:
            return None
        n_biases = 1 << (n_biases.bit_length() - 1)
        biases = (np.arange(n_biases - 1) + _MIDDLE) / n_biases
        biases[0] = _FIRST
        counts, cells = tables.at(biases)
        with np.errstate(divide="ignore", invalid="ignore"):
            log = _pairwise(np.log(counts[0]), np.log(counts[1]), m)
        return cls(biases, log, -_pairwise(*cells, m))

    def bracket(self, pairs: Pairs, beyond: Floats, last: Lead) -> Bracket:
        """Brackets between neighbours of the grid; parameters as `Bracket.of` has them.

        The error of a sum of terms keeps within the slack of the pairs: it has a logarithm of each
        count, as the bound of `Model.slack` has, and one more subtraction for each feature.
        """
        size, last_bias = self.log.shape[1], len(self.biases) - 1
        rows = self._rows(pairs)
        n_ahead = np.zeros(len(beyond), dtype=np.intp)
        low, high = np.full(len(beyond), np.inf), last.log
        step = (last_bias + 2) // 2
        while step:
            trial = n_ahead + (step - 1)
            with np.errstate(invalid="ignore"):
                lead = self.log.take(rows + trial * size).sum(axis=0) + pairs.constant
            # No number: neither label has any support, so the winner is not ahead.
            lead[np.isnan(lead)] = -np.inf
            inside = self.biases[trial] < beyond
            ahead = inside & (lead > 0)
            low, high = np.where(ahead, lead, low), np.where(inside & ~ahead, lead, high)
            n_ahead += np.where(ahead, step, 0)
            step //= 2
        before, after = np.maximum(n_ahead - 1, 0), np.minimum(n_ahead, last_bias)
        cells = [self.n_cells.take(rows + k * size).sum(axis=0) for k in (before, after)]
        inside = (n_ahead <= last_bias) & (self.biases[after] < beyond)
        left = np.where(n_ahead > 0, self.biases[before], 0.0)
        right = np.where(inside, self.biases[after], beyond)
        cells[1] = np.where(inside, cells[1], last.n_cells)
        rose = np.ones(len(beyond), dtype=bool)
        return Bracket(left, right, Lead(low, cells[0]), Lead(high, cells[1]), rose)

    def _rows(self, pairs: Pairs) -> Places:
        """Where the terms of each feature and point stand among those of a bias."""
        m = pairs.tables.model.m
        winner, rival = (rows[0] % m for rows in pairs.rows)
        rows: Places = pairs.rows[0] * (m - 1) + (rival - (rival > winner))
        return rows


def _pairwise(mine: Floats, theirs: Floats, m: int) -> Floats:
    """What a label has minus what each other one has: biases × (rows × labels × other labels)."""
    i, k = np.nonzero(~np.eye(m, dtype=bool))
    rows = len(mine), -1, m
    found: Floats = mine.reshape(rows)[:, :, i] - theirs.reshape(rows)[:, :, k]
    return found.reshape(len(mine), -1)
