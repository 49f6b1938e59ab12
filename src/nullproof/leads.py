"""How far winners are ahead of rivals at any bias, for many points at once, in floats (T10).

A count is a sum of floors or ceilings that jump by one cell at a time, each at a bias that is known
exactly and can be rounded down to a double.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nullproof.bias import Groups, groups_of, share_of
from nullproof.counts.index import LEFT_OUT
from nullproof.model import WIDE, Floats, Model
from nullproof.tables.points import Points

Places = NDArray[np.intp]
# Products of so many factors neither over- nor underflow where `floats_do`.
_FACTORS = 16
_WHOLE = 2.0**53


def floats_do(model: Model) -> bool:
    """Whether products of counts and smoothing keep within the range of doubles."""
    alpha = model.alpha
    return model.floats_hold and (alpha == 0 or Fraction(1, 10**9) <= alpha <= 10**9)


class Part(NamedTuple):
    """Groups of open cells, one per place: their size, and how many cells should hold the value."""

    n_cells: Floats
    expected: Floats

    def at(self, places: Places) -> Part:
        """The same for some of the points."""
        return Part(self.n_cells[:, places], self.expected[:, places])


class _Whole(NamedTuple):
    """The groups of all rows and labels, one after another, as `Groups` has them."""

    known: NDArray[np.int64]
    n_cells: NDArray[np.int64]
    n_known: NDArray[np.int64]
    n_candidates: NDArray[np.int64]
    expected: Floats
    size: Floats

    @classmethod
    def of(cls, groups: Groups, alpha: float) -> _Whole:
        n_candidates = np.broadcast_to(groups.n_candidates, groups.known.shape)
        expected = groups.n_cells * groups.reference(alpha)
        size = groups.n_cells.astype(np.float64)
        return cls(groups.known, groups.n_cells, groups.n_known, n_candidates, expected, size)

    def take(self, places: Places) -> Part:
        """The size and the expectation of some groups."""
        return Part(self.size.take(places), self.expected.take(places))

    def jump(self, places: Places, sign: int, cells: Floats, alpha: Fraction) -> Floats:
        """The bias up to which so many cells of some groups hold their value, rounded down."""
        p, q = alpha.as_integer_ratio()
        known, n_cells, n_known, n_candidates, *_ = (own.take(places) for own in self)
        largest = (n_known.max(initial=1) + 1) * max(
            n_cells.max(initial=1), n_candidates.max(initial=1)
        )
        if max(p, q) * int(largest) * 2 > _WHOLE:
            every = zip(known, n_known, n_candidates, n_cells, cells, strict=True)
            return np.array(
                [_jump(*(int(x) for x in own), alpha=alpha, sign=sign) for own in every],
                dtype=float,
            )
        below = n_known * q + p * n_candidates
        above = np.where(below > 0, known * q + p, 1)
        below = np.where(below > 0, below, n_candidates)
        return _rounded_down(
            sign * (cells * below - above * n_cells), (below * n_cells).astype(float)
        )


def _jump(
    known: int,
    n_known: int,
    n_candidates: int,
    n_cells: int,
    cells: int,
    *,
    alpha: Fraction,
    sign: int,
) -> float:
    share = Fraction(*share_of(known, n_known, n_candidates, alpha))
    jump = sign * (Fraction(cells, n_cells) - share)
    nearest = float(jump)
    return nearest if Fraction(nearest) <= jump else float(np.nextafter(nearest, -1.0))


class Tables:
    """What the counts of points are made of, by row (a value of a feature) and label.

    A count is ``base``, which includes the smoothing, plus as many cells of each part as the bias
    allows.
    A point has one slot per feature, or one per candidate where it is incomplete.
    """

    def __init__(self, model: Model, points: Points) -> None:
        self.model, self.points = model, points
        self._codes: list[NDArray[np.intp] | None] = []
        # Whether every code stands for the row of the same number.
        self._one_to_one = True
        self._slots: list[NDArray[np.intp]] = []
        low, high, parts, starts = [], [], [], [0]
        for j in range(model.d):
            rows = self._rows_of(j)
            least, most, own = self._of_feature(j, rows)
            low.append(least)
            high.append(most)
            parts.append(own)
            starts.append(starts[-1] + len(rows))
        self._starts = np.array(starts[:-1])
        self.low, self.high = np.vstack(low).ravel(), np.vstack(high).ravel()
        self.parts = _below_each_other(parts, [own.shape for own in low])
        widths = [own.shape[1] for own in self._slots]
        self.first_slots, self.n_slots = np.cumsum([0, *widths])[:-1], sum(widths)
        size = model.index.label_counts + float(model.alpha) * model.index.n_values[:, None]
        self._log_sizes = np.log(np.where(size > 0, size, 1.0))
        self._log_prior = np.where((size > 0).all(axis=0), model.log_prior, -np.inf)

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
        self._one_to_one = False
        width = max(map(len, slots))
        # Shorter lists repeat their first value, which changes no minimum.
        padded = [np.concatenate([own, np.repeat(own[:1], width - len(own))]) for own in slots]
        self._slots.append(np.array(padded, dtype=np.intp))
        return rows

    def _of_feature(self, j: int, rows: NDArray[np.int32]) -> tuple[Floats, Floats, list[_Whole]]:
        model = self.model
        if model.fixed[j]:
            low, high = model.low(j, rows), model.high(j, rows)
            parts = []
        else:
            low = high = model.index.low(j, rows)
            parts = [_Whole.of(own, float(model.alpha)) for own in groups_of(model.index, j, rows)]
        alpha = float(model.alpha)
        # The factor of a feature that is left out is 1, and `pairs` leaves its size out.
        least, most = (np.where(own == LEFT_OUT, 1.0, own + alpha) for own in (low, high))
        return least, most, parts

    def pairs(self, places: Places, winner: NDArray[Any], rival: NDArray[Any]) -> Pairs:
        """Some points, each with its winner and one rival."""
        rows = self._rows(places) * self.model.m
        winning, threatening = rows + winner, rows + rival
        return Pairs(
            self,
            *self._constants(places, winner, rival),
            (winning, threatening),
            (self.low.take(winning), self.high.take(threatening)),
            tuple(part.take(winning) for part in self.parts),
            tuple(part.take(threatening) for part in self.parts),
        )

    def _rows(self, places: Places) -> Places:
        """The row of each slot of some points."""
        if self._one_to_one:
            plain: Places = self.points.codes[:, places] + self._starts[:, None]
            return plain
        rows = np.empty((self.n_slots, len(places)), dtype=np.intp)
        for j, (slots, codes) in enumerate(zip(self._slots, self._codes, strict=True)):
            own = self.points.codes[j, places] if codes is None else codes[places]
            first = self.first_slots[j]
            rows[first : first + slots.shape[1]] = slots.T.take(own, axis=1) + self._starts[j]
        return rows

    def at(self, biases: Floats) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """All counts at some biases, least and greatest, and their open cells: biases × (rows × labels)."""
        shape = len(biases), len(self.low)
        least, most = np.zeros(shape), np.zeros(shape)
        for part in self.parts:
            moved = part.size * biases[:, None]
            least += np.maximum(np.floor(part.expected - moved), 0)
            most += np.minimum(np.ceil(part.expected + moved), part.size)
        return (self.low + least, self.high + most), (least, most)

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

    def _constants(
        self, places: Places, winner: NDArray[Any], rival: NDArray[Any]
    ) -> tuple[Floats, Floats]:
        """The part of the lead's logarithm that no count changes, and a bound of all errors."""
        logs = np.broadcast_to(
            self._log_prior - self._log_sizes.sum(axis=0), (len(places), self.model.m)
        )
        skipped = self.points.take(places).skipped
        if skipped.any():
            logs = logs + skipped.T.astype(np.float64) @ self._log_sizes
        own = np.arange(len(places))
        with np.errstate(invalid="ignore"):
            constant = logs[own, winner] - logs[own, rival]
        # A rival without any support never catches up.
        constant[np.isneginf(logs[own, rival])] = np.inf
        prior = np.where(np.isfinite(self._log_prior), np.abs(self._log_prior), 0.0)
        magnitude = prior + np.abs(self._log_sizes).sum(axis=0) + 40.0 * self.model.d
        return constant, 2 * self.model.slack(magnitude[winner] + magnitude[rival])


def _below_each_other(
    parts: list[list[_Whole]], shapes: list[tuple[int, ...]]
) -> tuple[_Whole, ...]:
    """Stack the first parts of all features, then the second parts, …; zeros where there are no more."""
    found = []
    for number in range(max(map(len, parts), default=0)):
        own = [
            of_feature[number] if number < len(of_feature) else _Whole(*np.zeros((6, *shape), int))
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
    """Points with their winner and a rival; parts and bases are slots × points."""

    tables: Tables
    constant: Floats
    slack: Floats
    rows: tuple[Places, Places]
    bases: tuple[Floats, Floats]
    winning: tuple[Part, ...]
    threatening: tuple[Part, ...]

    def at(self, places: Places) -> Self:
        """Some of the points, in their order."""
        if len(places) == len(self.constant):
            return self
        return type(self)(
            self.tables,
            self.constant[places],
            self.slack[places],
            (self.rows[0][:, places], self.rows[1][:, places]),
            (self.bases[0][:, places], self.bases[1][:, places]),
            tuple(part.at(places) for part in self.winning),
            tuple(part.at(places) for part in self.threatening),
        )

    @property
    def plain(self) -> bool:
        """Whether every feature has one slot and at most one group of open cells."""
        return self.tables.n_slots == self.tables.model.d and len(self.winning) <= 1

    def lead(self, bias: Floats) -> Lead:
        """How far each winner is ahead at a bias of its own; minus infinity for no support."""
        return self._lead(*self._counts(bias))

    def lost(self) -> Lead:
        """The leads at a bias of 1 where they are known to be lost: no need to ask by how much."""
        n_cells = np.zeros(len(self.constant))
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
            if not low.all():
                ratio[low == 0] = 0.0
            if len(ratio) > len(self.tables.first_slots):
                ratio = np.minimum.reduceat(ratio, self.tables.first_slots, axis=0)
            logs = np.zeros(len(n_cells))
            for start in range(0, len(ratio), _FACTORS):
                logs += np.log(ratio[start : start + _FACTORS].prod(axis=0))
            # No support, or 0 times infinity: the winner has none, and perhaps the rival neither.
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
