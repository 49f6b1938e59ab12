"""How far winners are ahead of rivals at any bias, for many points at once, in floats (T10).

A count is a sum of floors or ceilings that jump by one cell at a time, each at a bias that is known
exactly and can be rounded down to a double.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nullproof.bias import Groups, groups_of, share_of
from nullproof.counts.index import LEFT_OUT
from nullproof.data.points import Points
from nullproof.model import WIDE, Floats, Model

Places = NDArray[np.intp]
# Products of so many factors neither over- nor underflow where `floats_do`: a factor is a count of 64 bits
# over a billionth at most, or one over that at least, and (2**63 * 10**9)**11 < 10**308.
_FACTORS = 11
# No logarithm of a count of 64 bits, or of a billionth, is larger.
_LOG = 44.0
_WHOLE = 2.0**53


def floats_do(model: Model) -> bool:
    """Whether products of counts and smoothing keep within the range of doubles."""
    alpha = model.alpha
    return model.floats_hold and (alpha == 0 or Fraction(1, 10**9) <= alpha <= 10**9)


class Part(NamedTuple):
    """Groups of open cells, one per place: their size, and how many cells should hold the value."""

    n_cells: Floats
    expected: Floats


class _Whole(NamedTuple):
    """The groups of all rows and labels, one after another, as `Groups` has them.

    ``above`` and ``below`` are whole numbers with the quotient ``expected``, NaN where doubles do not
    hold them, or not ``below`` times ``size``.
    """

    known: NDArray[np.int64]
    n_cells: NDArray[np.int64]
    n_known: NDArray[np.int64]
    n_candidates: NDArray[np.int64]
    expected: Floats
    size: Floats
    above: Floats
    below: Floats

    @classmethod
    def of(cls, groups: Groups, alpha: Fraction) -> _Whole:
        n_candidates = np.broadcast_to(groups.n_candidates, groups.known.shape)
        size = groups.n_cells.astype(np.float64)
        above, below = np.full((2, *size.shape), np.nan)
        if max(alpha.as_integer_ratio()) <= _WHOLE:
            p, q = map(float, alpha.as_integer_ratio())
            known_of = groups.n_known * q + p * n_candidates
            below = np.where(known_of > 0, known_of, n_candidates)
            above = np.where(known_of > 0, groups.known * q + p, 1.0) * size
            # No number here is larger, and roundings cannot double it.
            above[below * size > _WHOLE / 2] = np.nan
        own = groups.known, groups.n_cells, groups.n_known, n_candidates
        return cls(*own, groups.n_cells * groups.reference(float(alpha)), size, above, below)

    def take(self, places: Places) -> Part:
        """The size and the expectation of some groups."""
        return Part(self.size.take(places), self.expected.take(places))

    def jump(self, places: Places, sign: int, cells: Floats, alpha: Fraction) -> Floats:
        """The bias up to which so many cells of some groups hold their value, rounded down."""
        above, below = self.above.take(places), self.below.take(places)
        found = _rounded_down(sign * (cells * below - above), below * self.size.take(places))
        for place in np.flatnonzero(np.isnan(found)).tolist():
            own = (int(column.take(places[place])) for column in self[:4])
            known, n_cells, n_known, n_candidates = own
            share = Fraction(*share_of(known, n_known, n_candidates, alpha))
            found[place] = _double_below(sign * (Fraction(int(cells[place]), n_cells) - share))
        return found


def _double_below(exact: Fraction) -> float:
    """The greatest double that is not above a number between -1 and 1."""
    nearest = float(exact)
    return nearest if Fraction(nearest) <= exact else float(np.nextafter(nearest, -1.0))


class Tables:
    """What the counts of points are made of, by row (a value of a feature) and label.

    A count is ``base``, which includes the smoothing, plus as many cells of each part as the bias allows.
    A point has one slot per feature, or one per candidate where it is incomplete.
    """

    def __init__(self, model: Model, points: Points) -> None:
        self.model, self.points = model, points
        self._codes: list[NDArray[np.intp] | None] = []
        # Whether every code stands for the row of the same number.
        self.one_to_one = True
        self._slots: list[NDArray[np.intp]] = []
        low, high, parts, skipped, starts = [], [], [], [], [0]
        for j in range(model.d):
            rows = self._rows_of(j)
            least, most, own, left_out = self._of_feature(j, rows)
            low.append(least)
            high.append(most)
            parts.append(own)
            skipped.append(left_out)
            starts.append(starts[-1] + len(rows))
        self._starts = np.array(starts[:-1])
        self.low, self.high = np.vstack(low).ravel(), np.vstack(high).ravel()
        self.parts = _below_each_other(parts, [own.shape for own in low])
        widths = [own.shape[1] for own in self._slots]
        self.first_slots, self.n_slots = np.cumsum([0, *widths])[:-1], sum(widths)
        size = model.index.label_counts + float(model.alpha) * model.index.n_values[:, None]
        log_sizes = np.log(np.where(size > 0, size, 1.0))
        # A row that is left out has a factor of 1, and so no size.
        self.log_size = np.vstack(
            [np.where(own, 0.0, one) for own, one in zip(skipped, log_sizes, strict=True)]
        ).ravel()
        log_prior = np.where((size > 0).all(axis=0), model.log_prior, -np.inf)
        self.log_odds, self.slack = self._of_pairs(log_prior, np.abs(log_sizes).sum(axis=0))

    def _rows_of(self, j: int) -> NDArray[np.int32]:
        """The values of feature ``j`` that get a row; notes the slots that each code takes."""
        points, plain = self.points, int(self.points.n_values[j]) + 2
        if plain > WIDE:
            used, places = points.used(j)
            candidates = [points.candidates(j, int(code)) for code in used]
            rows = np.unique(np.array([v for own in candidates for v in own], dtype=np.int32))
            slots = [np.searchsorted(rows, own) for own in candidates]
            self._codes.append(places)
        else:
            rows = np.arange(plain, dtype=np.int32)
            last = max(plain, int(points.codes[j].max(initial=0)) + 1)
            self._codes.append(None)
            if last == plain:
                self._slots.append(rows.astype(np.intp)[:, None])
                return rows
            slots = [np.array(points.candidates(j, code)) for code in range(last)]
        self.one_to_one = False
        width = max(map(len, slots))
        # Shorter lists repeat their first value, which changes no minimum.
        padded = [np.concatenate([own, np.repeat(own[:1], width - len(own))]) for own in slots]
        self._slots.append(np.array(padded, dtype=np.intp))
        return rows

    def _of_feature(
        self, j: int, rows: NDArray[np.int32]
    ) -> tuple[Floats, Floats, list[_Whole], NDArray[np.bool_]]:
        """The smoothed counts that no bias changes, the groups of the others, and what is left out."""
        model = self.model
        if model.fixed[j]:
            low, high = model.low(j, rows), model.high(j, rows)
            parts = []
        else:
            low = high = model.index.low(j, rows)
            parts = [_Whole.of(own, model.alpha) for own in groups_of(model.index, j, rows)]
        alpha = float(model.alpha)
        least, most = (np.where(own == LEFT_OUT, 1.0, own + alpha) for own in (low, high))
        return least, most, parts, low == LEFT_OUT

    def pairs(self, places: Places, winner: NDArray[Any], rival: NDArray[Any]) -> Pairs:
        """Some points, each with its winner and one rival."""
        rows = self._rows(places) * self.model.m
        return Pairs(self, winner, rival, (rows + winner, rows + rival))

    def _rows(self, places: Places) -> Places:
        """The row of each slot of some points."""
        if self.one_to_one:
            plain: Places = self.points.codes.take(places, axis=1) + self._starts[:, None]
            return plain
        rows = np.empty((self.n_slots, len(places)), dtype=np.intp)
        for j, (slots, codes) in enumerate(zip(self._slots, self._codes, strict=True)):
            own = self.points.codes[j, places] if codes is None else codes[places]
            first = self.first_slots[j]
            rows[first : first + slots.shape[1]] = slots.T.take(own, axis=1) + self._starts[j]
        return rows

    def at(
        self, biases: Floats, some: slice
    ) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Counts at some biases, least and greatest, and their open cells.

        ``some`` are places among all (rows × labels); what is given is those × biases.
        """
        shape = len(self.low[some]), len(biases)
        least, most = np.zeros(shape), np.zeros(shape)
        for part in self.parts:
            size, expected = part.size[some, None], part.expected[some, None]
            moved = size * biases
            least += np.maximum(np.floor(expected - moved), 0)
            most += np.minimum(np.ceil(expected + moved), size)
        return (self.low[some, None] + least, self.high[some, None] + most), (least, most)

    def jump(self, number: int, groups: Places, sign: int, cells: Floats) -> Floats:
        """The bias up to which so many cells of some groups hold their value, rounded down.

        Parameters
        ----------
        number
            Which part the groups belong to.
        sign
            1 for the most cells that hold the value, -1 for the fewest.
        """
        return self.parts[number].jump(groups, sign, cells, self.model.alpha)

    def _of_pairs(self, log_prior: Floats, sizes: Floats) -> tuple[Floats, Floats]:
        """What the priors add to each label's lead over each other one, and a bound of all errors."""
        with np.errstate(invalid="ignore"):
            log_odds = log_prior[:, None] - log_prior
        # A rival without any support never catches up.
        log_odds[:, np.isneginf(log_prior)] = np.inf
        prior = np.where(np.isfinite(log_prior), np.abs(log_prior), 0.0)
        magnitude = prior + sizes + _LOG * self.model.d
        return log_odds, 2 * self.model.slack(magnitude[:, None] + magnitude)


def _below_each_other(
    parts: list[list[_Whole]], shapes: list[tuple[int, ...]]
) -> tuple[_Whole, ...]:
    """Stack the first parts of all features, then the second parts, …; zeros where there are no more."""
    found = []
    for number in range(max(map(len, parts))):
        own = [
            of_feature[number] if number < len(of_feature) else _Whole(*np.zeros((8, *shape), int))
            for of_feature, shape in zip(parts, shapes, strict=True)
        ]
        found.append(_Whole(*(np.vstack(column).ravel() for column in zip(*own, strict=True))))
    return tuple(found)


class Lead(NamedTuple):
    """The logarithm of the winner's least support over the rival's greatest, and the cells moved.

    The number of cells grows by one at every jump of a count.
    """

    log: Floats
    n_cells: Floats

    def at(self, places: Places) -> Lead:
        """The leads of some of the points."""
        return Lead(self.log[places], self.n_cells[places])


@dataclass(frozen=True)
class Pairs:
    """Points with their winner and a rival; what is looked up for them is slots × points.

    Parameters
    ----------
    rows
        For each slot where the winner's and where the rival's count stands in the tables.
    """

    tables: Tables
    winner: NDArray[Any]
    rival: NDArray[Any]
    rows: tuple[Places, Places]

    def at(self, places: Places) -> Self:
        """Some of the points, in their order."""
        if len(places) == len(self.winner):
            return self
        rows = self.rows[0].take(places, axis=1), self.rows[1].take(places, axis=1)
        return type(self)(self.tables, self.winner[places], self.rival[places], rows)

    @cached_property
    def log_odds(self) -> Floats:
        """What the priors add to the lead of each point."""
        return np.asarray(self.tables.log_odds[self.winner, self.rival])

    @cached_property
    def slack(self) -> Floats:
        """A bound of all errors of the lead of each point."""
        return np.asarray(self.tables.slack[self.winner, self.rival])

    @cached_property
    def constant(self) -> Floats:
        """The part of each lead's logarithm that no count changes."""
        winning, threatening = (
            self.tables.log_size.take(own[self.tables.first_slots]).sum(axis=0) for own in self.rows
        )
        return np.asarray(self.log_odds - winning + threatening)

    @cached_property
    def bases(self) -> tuple[Floats, Floats]:
        """The winner's and the rival's counts that no bias changes, smoothed."""
        return self.tables.low.take(self.rows[0]), self.tables.high.take(self.rows[1])

    @cached_property
    def winning(self) -> tuple[Part, ...]:
        """The groups of open cells that may hold the winner's values."""
        return tuple(part.take(self.rows[0]) for part in self.tables.parts)

    @cached_property
    def threatening(self) -> tuple[Part, ...]:
        """The groups of open cells that may hold the rival's values."""
        return tuple(part.take(self.rows[1]) for part in self.tables.parts)

    @property
    def plain(self) -> bool:
        """Whether every feature has one slot and at most one group of open cells."""
        return self.tables.n_slots == self.tables.model.d and len(self.tables.parts) <= 1

    def lead(self, bias: Floats) -> Lead:
        """How far each winner is ahead at a bias of its own; minus infinity for no support."""
        return self._lead(*self._counts(bias))

    def lost(self) -> Lead:
        """The leads at a bias of 1 where they are known to be lost: no need to ask by how much."""
        n_cells = np.zeros(len(self.winner))
        for part in self.threatening:
            n_cells += part.n_cells.sum(axis=0)
        return Lead(np.full(len(n_cells), -np.inf), n_cells)

    def lead_and_loss(self, bias: Floats) -> tuple[Lead, Floats]:
        """The leads, and at which bias they are about lost: one step of Newton's method."""
        low, high, n_cells = self._counts(bias)
        slope = np.zeros(len(bias))
        with np.errstate(divide="ignore", invalid="ignore"):
            for parts, counts in ((self.winning, low), (self.threatening, high)):
                for part in parts:
                    slope += (part.n_cells / counts).sum(axis=0)
            lead = self._lead(low, high, n_cells)
            return lead, bias + lead.log / slope

    def _lead(self, low: Floats, high: Floats, n_cells: Floats) -> Lead:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = low / high
            if len(ratio) > len(self.tables.first_slots):
                ratio = np.minimum.reduceat(ratio, self.tables.first_slots, axis=0)
            logs = np.zeros(len(n_cells))
            for start in range(0, len(ratio), _FACTORS):
                logs += np.log(ratio[start : start + _FACTORS].prod(axis=0))
            # No support, 0 over 0 or 0 times infinity: the winner has none, and perhaps the rival neither.
            lost = ~(logs > -np.inf)
            return Lead(np.where(lost, -np.inf, self.constant + logs), n_cells)

    def _counts(self, bias: Floats) -> tuple[Floats, Floats, Floats]:
        """The winner's least and the rival's greatest counts, smoothed, and how many cells moved."""
        low, high = self.bases
        n_cells = np.zeros(len(bias))
        for part in self.winning:
            held = part.n_cells * bias
            np.subtract(part.expected, held, out=held)
            np.floor(held, out=held)
            np.maximum(held, 0, out=held)
            n_cells -= held.sum(axis=0)
            low = np.add(held, low, out=held)
        for part in self.threatening:
            held = part.n_cells * bias
            held += part.expected
            np.ceil(held, out=held)
            np.minimum(held, part.n_cells, out=held)
            n_cells += held.sum(axis=0)
            high = np.add(held, high, out=held)
        return low, high, n_cells


def _rounded_down(above: Floats, below: Floats) -> Floats:
    """The greatest double that is at most the quotient of two whole numbers which doubles hold.

    The quotient is rounded once; multiplied by ``below`` again, it shows whether it was rounded up.
    """
    quotient = above / below
    product, error = _two_product(quotient, below)
    rounded = np.where((product - above) + error > 0, np.nextafter(quotient, -1.0), quotient)
    return rounded + 0.0  # no minus zero


def _two_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The product of doubles and its rounding error (Dekker), exact if nothing overflows."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _split(a), _split(b)
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def _split(a: Floats) -> tuple[Floats, Floats]:
    scaled = 134_217_729.0 * a
    high = scaled - (scaled - a)
    return high, a - high
