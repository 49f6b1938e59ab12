"""tolerance: the largest bias up to which each prediction holds (T10).

The box of counts grows with the bias, so a verdict changes once, at a jump of one of its sides. Floats
bracket the bias at which the winner's least support meets a rival's greatest, for many points at once,
until a few jumps are left, and halve these. Where rounding could blur that, whole numbers decide.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import LEFT_OUT, CountIndex
from nullproof.data.points import OwnMissing, Points
from nullproof.errors import NullproofError
from nullproof.model.bias import Floats, Groups, groups_of, held, held_exactly, share_of
from nullproof.model.model import Model
from nullproof.model.parameters import REST, Alpha, Prior
from nullproof.model.verdicts import Verdicts, least_ratio, verdicts
from nullproof.progress import Progress, over, within

Places = NDArray[np.intp]
_DOING = "finding how far each prediction holds"
# Slots (features, or candidates of incomplete points) × points of a block: what the cache holds.
_BLOCK = 60_000
_MOST_ROUNDS = 60
# So few jumps are halved one by one; a trial goes so many jumps beyond a guess.
_FEW, _BEYOND = 16, 2.0
# Not quite the middle: jumps often lie at simple fractions, where rounding would blur them.
_MIDDLE = 0.4873291
# Leads beyond this are all the same to a straight line, and no log term is larger.
_FAR = 50.0
_STEP = 1e-9
# Products of so many ratios neither over- nor underflow: a ratio is at most 2**53 over a millionth.
_FACTORS = 11
# Jumps closer than this cannot be told apart by a bias between them.
_LEAST_GAP = 1e-12
# How far rounding moves a jump at most: a count of n cells errs by some eps·(n + 1) before it is rounded
# to whole cells, which is the error of a bias of that divided by n.
_CLOSE = 128 * float(np.finfo(np.float64).eps)
_WHOLE = 2.0**53


@dataclass(frozen=True)
class Tolerances:
    """Per point: the largest bias up to which its prediction holds, and who threatens it first.

    Parameters
    ----------
    value
        1 where the point is certain; NaN where not even a bias of 0 decides. Else the largest
        double at which it holds.
    rival
        The position of the label that catches up first beyond that; -1 where there is none.
    winner
        The position of the label that wins at a bias of 0; -1 where not even that decides.
    """

    value: Floats
    rival: NDArray[np.int32]
    winner: NDArray[np.int32]

    def take(self, places: Places) -> Tolerances:
        """Return the tolerances of some of the points."""
        return Tolerances(self.value[places], self.rival[places], self.winner[places])


def tolerance(
    index: CountIndex,
    points: Any,
    *,
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnMissing = "skip",
    fixed: Mapping[str, float | Fraction] | None = None,
) -> Floats:
    """Find the largest bias up to which each prediction holds.

    A prediction holds up to a bias of 0.05 if it is the same in every world where the share of the missing
    cells that hold a value differs by at most 0.05 from its share among the known cells of the same
    label and column.

    Parameters
    ----------
    points
        A data frame, a file, an array, a list of rows, or one row.
    alpha
        Smoothing; 1 as scikit-learn users know it, 0 as in the paper.
    prior
        None for the label frequencies, ``"uniform"``, or one number per label.
    own_missing
        ``"skip"``: predict from the cells that a point knows; ``"any"``: whatever its holes hold.
    fixed
        Columns whose bias stays as it is given while that of all others grows.

    Returns
    -------
    array
        One number per point: 1 where it is certain, NaN where not even a bias of 0 decides. A prediction
        holds at every bias up to this number, and at none above.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> tolerance(index, [("a", "x"), ("b", "y")], alpha=1)
    array([1., 1.])
    """
    if fixed is not None and (not isinstance(fixed, Mapping) or REST in fixed):
        raise NullproofError(
            f"fixed is {fixed!r}; give a mapping from columns to the bias that each keeps"
        )
    model = Model(index, alpha, prior, dict(fixed or {}))
    return tolerances_of(model, model.points(points, own_missing)).value


def tolerances_of(
    model: Model,
    points: Points,
    judged: Verdicts | None = None,
    on_progress: Progress | None = None,
) -> Tolerances:
    """Find the tolerance of every point; columns that a mapping named keep their bias.

    ``judged`` are the verdicts at a bias of 1, if they are known.
    """
    at_none = verdicts(model.biased(0), points)
    at_all = verdicts(model.biased(1), points) if judged is None else judged
    value = np.where(at_all.certain, 1.0, np.nan)
    rival = np.full(len(points), -1, dtype=np.int32)
    between = at_none.certain & ~at_all.certain
    n_done, n_points = 0, max(int(between.sum()), 1)
    for complete in (True, False):
        places = np.flatnonzero(between & (points.complete == complete))
        if len(places):
            start, n_done = n_done, n_done + len(places)
            search = _Search(model, points.take(places), at_none.take(places))
            search.run(within(on_progress, start / n_points, n_done / n_points))
            value[places], rival[places] = search.value, search.rival
    return Tolerances(value, rival, at_none.winner)


def last_holding(holds: Callable[[int], bool], first: int, end: int) -> int:
    """Return the last number from ``first`` on at which something holds that fails from some number on.

    It holds at ``first`` and fails at ``end``.
    """
    while end - first > 1:
        middle = (first + end) // 2
        first, end = (middle, end) if holds(middle) else (first, middle)
    return first


class _Search:
    """Points that hold at a bias of 0 and not at 1."""

    def __init__(self, model: Model, points: Points, at_none: Verdicts) -> None:
        self.model, self.points, self.winner, self.at_none = model, points, at_none.winner, at_none
        self.value = np.full(len(points), np.nan)
        self.rival = np.empty(len(points), dtype=np.int32)

    def run(self, on_progress: Progress | None) -> None:
        """Find the tolerance of each point in floats, and exactly where they blur it."""
        table = _Table(self.model, self.points)
        n_points = max(1, _BLOCK // table.n_slots)
        for start in over(
            range(0, len(self.points), n_points), _DOING, within(on_progress, 0.0, 0.9)
        ):
            self._block(table, np.arange(start, min(start + n_points, len(self.points))))
        known: dict[bytes, tuple[float, int]] = {}
        blurred = np.flatnonzero(np.isnan(self.value)).tolist()
        for place in over(blurred, _DOING, within(on_progress, 0.9, 1.0)):
            key = self.points.codes[:, place].tobytes()
            if key not in known:
                known[key] = self._exactly(place)
            self.value[place], self.rival[place] = known[key]

    def _block(self, table: _Table, places: Places) -> None:
        """Find the least tolerance against any rival, the strongest first; NaN where floats blur it."""
        winner, every = self.winner[places], np.arange(len(places))
        strength = self.at_none.max_log[places]
        strength[every, winner] = np.inf
        value, rival = np.full(len(places), np.inf), np.full(len(places), -1)
        blurred = np.zeros(len(places), dtype=bool)
        for challenger in np.argsort(-strength, axis=1, kind="stable")[:, 1:].T:
            pairs = table.pairs(places, winner, challenger)
            # A rival that is still behind just beyond the best tolerance cannot threaten first.
            beyond = np.where(np.isinf(value), 1.0, np.minimum(value + _STEP, 1.0))
            lead = pairs.lead(beyond)
            some = np.flatnonzero(lead.log <= pairs.slack)
            with np.errstate(invalid="ignore"):
                at_none = self.at_none.min_log[places, winner] - strength[every, challenger]
            bracket = _Bracket.of(pairs.at(some), at_none[some], beyond[some], lead.at(some))
            crossing = _crossing(pairs.at(some), bracket)
            blurred[some] |= np.isnan(crossing)
            own = challenger[some]
            with np.errstate(invalid="ignore"):
                first = (crossing < value[some]) | ((crossing == value[some]) & (own < rival[some]))
            value[some[first]], rival[some[first]] = crossing[first], own[first]
        sure = np.isfinite(value) & ~blurred
        self.value[places[sure]], self.rival[places[sure]] = value[sure], rival[sure]

    def _exactly(self, place: int) -> tuple[float, int]:
        """Halve the doubles between 0 and 1, with whole numbers at each."""
        model, winner = self.model, int(self.winner[place])
        rivals = [k for k in range(model.m) if k != winner]
        p, q = model.alpha.as_integer_ratio()
        choices = [np.array(own) for own in self.points.choices(place)]
        features = [(len(own), *_free(model, j, own)) for j, own in enumerate(choices)]

        def ahead(bias: Fraction, rival: int) -> bool:
            def more(groups: list[Groups], at: tuple[int, int], side: int) -> int:
                sizes = ((int(own.n_cells[at]), own.ratio(at, model.alpha)) for own in groups)
                return sum(held_exactly(n, share, bias)[side] for n, share in sizes if n)

            least, most = [], []
            for n_codes, low, high, groups in features:
                rows = range(n_codes)
                lows = [int(low[r, winner]) + more(groups, (r, winner), 0) for r in rows]
                highs = [int(high[r, rival]) + more(groups, (r, rival), 1) for r in rows]
                # The worst candidate of each feature (T4).
                pairs = zip(lows, highs, strict=True)
                worst = least_ratio([(a * q + p, b * q + p) for a, b in pairs])
                least.append(lows[worst])
                most.append(highs[worst])
            return model.exceeds(winner, least, rival, most)

        def holds(rank: int) -> bool:
            return all(ahead(Fraction(_double(rank)), k) for k in rivals)

        last = last_holding(holds, 0, _rank(1.0))
        beyond = Fraction(_double(last + 1))
        return _double(last), next(k for k in rivals if not ahead(beyond, k))


def _free(
    model: Model, j: int, codes: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[Groups]]:
    """Return the counts that no bias changes, least and greatest, and the groups that it does."""
    if model.fixed[j] or not model.weights[j]:
        return model.low(j, codes), model.high(j, codes), []
    low = model.index.low(j, codes)
    return low, low, [*groups_of(model.index, j, codes)]


def _rank(number: float) -> int:
    """Return the position of a double among all doubles from 0 upwards."""
    rank: int = struct.unpack("<q", struct.pack("<d", number))[0]
    return rank


def _double(rank: int) -> float:
    number: float = struct.unpack("<d", struct.pack("<q", rank))[0]
    return number


class _Part(NamedTuple):
    """Groups of open cells, one per row and label, all in one line.

    ``least`` and ``most`` hold at a bias of 0, exactly; ``expected`` is the size times the reference.
    """

    known: NDArray[np.int64]
    size: NDArray[np.int64]
    n_known: NDArray[np.int64]
    n_candidates: NDArray[np.int64]
    expected: Floats
    least: NDArray[np.int64]
    most: NDArray[np.int64]

    @classmethod
    def of(cls, groups: Groups, alpha: Fraction) -> _Part:
        zeros = np.zeros(len(groups.known), dtype=np.intp)
        n_candidates = np.broadcast_to(groups.n_candidates, groups.known.shape)
        ends = held(groups, alpha, (Fraction(0),), zeros)
        expected = groups.n_cells * groups.reference(float(alpha))
        return cls(groups.known, groups.n_cells, groups.n_known, n_candidates, expected, *ends)

    def cells(self, rows: Places, sign: int, bias: Floats) -> NDArray[np.int64]:
        """Count the cells of some groups that hold their value: the most, or the fewest for sign -1."""
        size = self.size.take(rows)
        moved = self.expected.take(rows) + sign * (size * bias)
        if sign < 0:
            counts, exact = np.maximum(np.floor(moved), 0), self.least.take(rows)
        else:
            counts, exact = np.minimum(np.ceil(moved), size), self.most.take(rows)
        return np.where(bias == 0, exact, counts).astype(np.int64)

    def jump(self, rows: Places, sign: int, cells: NDArray[np.int64], alpha: Fraction) -> Floats:
        """Return the bias up to which so many cells of some groups hold their value, rounded down."""
        p, q = map(float, alpha.as_integer_ratio())
        known, size, n_known, n_candidates = (column.take(rows) for column in self[:4])
        whole = n_known * q + p * n_candidates
        below = np.where(whole > 0, whole, n_candidates)
        above = np.where(whole > 0, known * q + p, 1.0) * size
        jumps = _rounded_down(
            np.asarray(sign * (cells * below - above), dtype=np.float64), below * size
        )
        # No number in there is larger, and roundings cannot double it.
        blurred = (below * size > _WHOLE / 2) | (max(p, q) > _WHOLE)
        for place in np.flatnonzero(blurred).tolist():
            columns = (known, n_known, n_candidates, cells, size)
            own, n, v, c, s = (int(column[place]) for column in columns)
            exact = sign * (Fraction(c, s) - Fraction(*share_of(own, n, v, alpha)))
            nearest = float(exact)
            is_below = Fraction(nearest) <= exact
            jumps[place] = nearest if is_below else np.nextafter(nearest, -1.0)
        return jumps


class _Table:
    """What the counts of points are made of, by row (a value of a feature) and label.

    A count is ``low`` or ``high``, which include the smoothing, plus as many cells of each part as the bias
    allows. A point has one slot per feature, or one per candidate where it is incomplete.
    """

    def __init__(self, model: Model, points: Points) -> None:
        self.model = model
        self._slots: list[tuple[Places, Places]] = []
        low, high, log_size, parts, start = [], [], [], [], 0
        alpha = float(model.alpha)
        sizes = model.index.label_counts + alpha * model.index.n_values[:, None]
        logs = model.float_weights[:, None] * np.log(np.where(sizes > 0, sizes, 1.0))
        for j in range(model.d):
            used, places = points.used(j)
            candidates = [points.candidates(j, code) for code in used.tolist()]
            rows = np.unique(np.concatenate(candidates)).astype(np.int32)
            width = max(map(len, candidates))
            # Shorter lists repeat their first value, which changes no minimum.
            padded = [[*own, *own[:1] * (width - len(own))] for own in candidates]
            self._slots.append((np.searchsorted(rows, padded).T + start, places))
            least, most, every = _free(model, j, rows)
            left_out = least == LEFT_OUT
            low.append(np.where(left_out, 1.0, least + alpha))
            high.append(np.where(left_out, 1.0, most + alpha))
            log_size.append(np.where(left_out, 0.0, logs[j]))
            parts.append([_Part.of(groups, model.alpha) for groups in every])
            start += len(rows)
        self.low, self.high, self.log_size = (
            np.vstack(own).ravel() for own in (low, high, log_size)
        )
        self.parts = [
            _Part(*(np.vstack(column).ravel() for column in zip(*numbered, strict=True)))
            for numbered in _numbered(parts, [own.shape for own in low])
        ]
        widths = [len(slots) for slots, _ in self._slots]
        self.first_slots, self.n_slots = np.cumsum([0, *widths])[:-1], sum(widths)
        self.weights = model.float_weights.repeat(widths)[:, None]
        log_prior = np.where((sizes > 0).all(axis=0), model.log_prior, -np.inf)
        with np.errstate(invalid="ignore"):
            self.log_odds = log_prior[:, None] - log_prior
        # A rival without any support never catches up.
        self.log_odds[:, np.isneginf(log_prior)] = np.inf
        magnitude = np.where(np.isfinite(log_prior), np.abs(log_prior), 0.0)
        magnitude += np.abs(logs).sum(axis=0) + _FAR * model.float_weights.sum()
        self.slack = 2 * model.slack(magnitude[:, None] + magnitude)

    def pairs(self, places: Places, winner: NDArray[Any], rival: NDArray[Any]) -> _Pairs:
        """Return some points, each with its winner and one rival."""
        rows = np.concatenate([slots.take(own[places], axis=1) for slots, own in self._slots])
        rows *= self.model.m
        return _Pairs(self, winner, rival, (rows + winner, rows + rival))


def _numbered(
    parts: list[list[_Part]], shapes: list[tuple[int, ...]]
) -> list[list[tuple[NDArray[Any], ...]]]:
    """Return the first parts of all features, then the second parts, …; zeros where there are no more."""
    return [
        [
            own[number] if number < len(own) else (np.zeros(shape, dtype=np.int64),) * 7
            for own, shape in zip(parts, shapes, strict=True)
        ]
        for number in range(max(map(len, parts)))
    ]


class _Lead(NamedTuple):
    """The logarithm of the winner's least support over the rival's greatest, and the cells moved.

    The number of cells grows by one at every jump of a count.
    """

    log: Floats
    n_cells: Floats

    def at(self, places: Places) -> _Lead:
        return _Lead(self.log[places], self.n_cells[places])

    def where(self, mask: NDArray[np.bool_], other: _Lead) -> _Lead:
        return _Lead(*(np.where(mask, a, b) for a, b in zip(self, other, strict=True)))


class _Pairs:
    """Points with their winner and a rival; what is looked up for them is slots × points."""

    def __init__(
        self, table: _Table, winner: NDArray[Any], rival: NDArray[Any], rows: tuple[Places, Places]
    ) -> None:
        self.table, self.winner, self.rival, self.rows = table, winner, rival, rows
        self.slack = table.slack[winner, rival]
        sizes = (table.log_size.take(own[table.first_slots]).sum(axis=0) for own in rows)
        winning, threatening = sizes
        self._constant = table.log_odds[winner, rival] - winning + threatening
        self._bases = table.low.take(rows[0]), table.high.take(rows[1])
        self._sides = [
            [
                (part.size.take(own).astype(np.float64), part.expected.take(own))
                for part in table.parts
            ]
            for own in rows
        ]

    def at(self, places: Places) -> Self:
        """Return some of the points."""
        if len(places) == len(self.winner):
            return self
        rows = self.rows[0].take(places, axis=1), self.rows[1].take(places, axis=1)
        return type(self)(self.table, self.winner[places], self.rival[places], rows)

    def at_zero(self) -> tuple[Floats, Floats]:
        """Count the cells moved at a bias of 0, and guess where the leads are lost per unit of lead."""
        n_cells, slope = np.zeros((2, len(self.winner)))
        with np.errstate(divide="ignore", invalid="ignore"):
            for rows, sign, base, side in zip(
                self.rows, (-1, 1), self._bases, self._sides, strict=True
            ):
                for part, (size, expected) in zip(self.table.parts, side, strict=True):
                    exact = part.least if sign < 0 else part.most
                    n_cells += sign * exact.take(rows).sum(axis=0)
                    slope += (self.table.weights * size / (base + expected)).sum(axis=0)
            return n_cells, 1 / slope

    def lead(self, bias: Floats) -> _Lead:
        """Return how far each winner is ahead at a bias of its own above 0; -inf for no support."""
        (low, high), n_cells = self._bases, np.zeros(len(bias))
        for size, expected in self._sides[0]:
            cells = size * bias
            np.subtract(expected, cells, out=cells)
            np.maximum(np.floor(cells, out=cells), 0, out=cells)
            n_cells -= cells.sum(axis=0)
            low = np.add(cells, low, out=cells)
        for size, expected in self._sides[1]:
            cells = size * bias
            cells += expected
            np.minimum(np.ceil(cells, out=cells), size, out=cells)
            n_cells += cells.sum(axis=0)
            high = np.add(cells, high, out=cells)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio, table = low / high, self.table
            if table.n_slots > table.model.d:
                ratio = np.minimum.reduceat(ratio, table.first_slots, axis=0)
            if table.model.has_equal_weights:
                chunks = np.arange(0, len(ratio), _FACTORS)
                logs = np.log(np.multiply.reduceat(ratio, chunks, axis=0))
            else:
                # What a weight of 0 takes out has a ratio of 1.
                logs = np.log(ratio) * table.model.float_weights[:, None]
            log = self._constant + logs.sum(axis=0)
        # No number: the winner has no support, and perhaps the rival neither.
        return _Lead(np.where(np.isnan(log), -np.inf, log), n_cells)

    def jumps(self, left: Floats, right: Floats) -> Floats:
        """List the jumps between two biases of each point, ascending and each once: points × jumps.

        They are rounded down; infinite where a point has no more.
        """
        points, biases = [], []
        for rows, sign in zip(self.rows, (-1, 1), strict=True):
            for part in self.table.parts:
                before, after = (part.cells(rows, sign, bias) for bias in (left, right))
                n_jumps = np.abs(after - before).ravel()
                again = np.repeat(np.arange(len(n_jumps)), n_jumps)
                step = np.arange(len(again)) - (np.cumsum(n_jumps) - n_jumps)[again]
                cells = before.ravel()[again] + sign * step
                points.append(again % len(left))
                biases.append(part.jump(rows.ravel()[again], sign, cells, self.table.model.alpha))
        owner, jump = np.concatenate(points).astype(np.intp), np.concatenate(biases)
        order = np.lexsort((jump, owner))
        owner, jump = owner[order], jump[order]
        # Jumps that round down to one double are one.
        new = np.append(True, (np.diff(owner) != 0) | (np.diff(jump) != 0))[: len(owner)]
        owner, jump = owner[new], jump[new]
        n_jumps = np.bincount(owner, minlength=len(left))
        jumps = np.full((len(left), int(n_jumps.max(initial=0)) + 1), np.inf)
        jumps[owner, np.arange(len(owner)) - (np.cumsum(n_jumps) - n_jumps)[owner]] = jump
        return jumps


@dataclass
class _Bracket:
    """Between which biases each lead is lost, and the leads at both; ``rose``: the left end moved last."""

    left: Floats
    right: Floats
    low: _Lead
    high: _Lead
    rose: NDArray[np.bool_]
    trial: Floats

    @classmethod
    def of(cls, pairs: _Pairs, at_none: Floats, beyond: Floats, lead: _Lead) -> _Bracket:
        """Bracket leads that are kept at 0 and lost at ``beyond``; the first trial is Newton's."""
        n_cells, per_lead = pairs.at_zero()
        with np.errstate(invalid="ignore"):
            guess = 1.05 * at_none * per_lead + _STEP
        trial = np.where((guess > 0) & (guess < beyond), guess, _MIDDLE * beyond)
        low, rose = _Lead(at_none, n_cells), np.ones(len(beyond), dtype=bool)
        return cls(np.zeros(len(beyond)), beyond, low, lead, rose, trial)

    @property
    def n_jumps(self) -> Floats:
        """How many jumps of counts lie within each bracket."""
        return self.high.n_cells - self.low.n_cells

    def is_sure(self, slack: Floats) -> NDArray[np.bool_]:
        """Return whether rounding blurs neither end; at 0 every winner is known to be ahead."""
        return np.asarray(((self.low.log > slack) | (self.left == 0)) & (self.high.log < -slack))

    def at(self, places: Places) -> _Bracket:
        ends = self.left[places], self.right[places], self.low.at(places), self.high.at(places)
        return _Bracket(*ends, self.rose[places], self.trial[places])

    def narrow(self, lead: _Lead, *, halve: bool) -> None:
        """Move one end to the trial, which has this lead, and choose the next.

        That is where a straight line between the ends crosses 0, and a few jumps beyond, away from the
        end that moved last, so that both ends close in; or the middle.
        """
        ahead = self.rose = lead.log > 0
        self.left = np.where(ahead, self.trial, self.left)
        self.right = np.where(ahead, self.right, self.trial)
        self.low, self.high = lead.where(ahead, self.low), self.high.where(ahead, lead)
        top, bottom = np.minimum(self.low.log, _FAR), np.maximum(self.high.log, -_FAR)
        n_jumps = np.maximum(self.n_jumps, 1.0)
        share = np.full_like(top, _MIDDLE)
        if not halve:
            np.divide(top, top - bottom, out=share, where=top > bottom)
            share += np.where(ahead, _BEYOND, -_BEYOND) / n_jumps
            share = np.clip(share, 0.01, 0.99)
        self.trial = self.left + share * (self.right - self.left)


def _crossing(pairs: _Pairs, bracket: _Bracket) -> Floats:
    """Return the largest double at which each winner is ahead; NaN where rounding could blur it."""
    crossings, places = np.full(len(bracket.left), np.nan), np.arange(len(bracket.left))
    for number in range(_MOST_ROUNDS):
        few = bracket.n_jumps <= _FEW
        if 3 * few.sum() > 2 * len(few):
            sure = bracket.is_sure(pairs.slack)
            some, kept = np.flatnonzero(sure & few), np.flatnonzero(~few)
            crossings[places[some]] = _first_lost(pairs.at(some), bracket.at(some))
            pairs, places, bracket = pairs.at(kept), places[kept], bracket.at(kept)
        if not len(places):
            break
        bracket.narrow(pairs.lead(bracket.trial), halve=number % 4 == 3)
    return crossings


def _first_lost(pairs: _Pairs, bracket: _Bracket) -> Floats:
    """Return the jump within each bracket after which the lead is lost; NaN where rounding blurs that.

    Rounding puts a jump on the wrong side of an end of the bracket only if it lies close to that end.
    For a jump that lies well within, this changes nothing: all jumps close to the left end come before
    it, counted as done already or not, and all close to the right end come after it.
    """
    jumps = pairs.jumps(bracket.left, bracket.right)
    every, unsure = np.arange(len(jumps)), np.zeros(len(jumps), dtype=bool)
    # The lead is kept before the first jump, and lost after the last.
    kept, lost = np.full(len(jumps), -1), np.isfinite(jumps).sum(axis=1) - 1
    while (going := lost - kept > 1).any():
        middle = np.where(going, (kept + lost) // 2, 0)
        here = np.where(going, jumps[every, middle], 0.0)
        gap = np.where(going, jumps[every, middle + 1], 0.0) - here
        lead = pairs.lead(here + gap / 2)
        unsure |= going & ((gap < _LEAST_GAP) | (np.abs(lead.log) <= pairs.slack))
        ahead = lead.log > 0
        kept, lost = np.where(going & ahead, middle, kept), np.where(going & ~ahead, middle, lost)
    crossing = jumps[every, lost]
    inside = (crossing > bracket.left + _CLOSE) | (bracket.left == 0)
    inside &= crossing < bracket.right - _CLOSE
    return np.where(inside & ~unsure, crossing, np.nan)


def _rounded_down(above: Floats, below: Floats) -> Floats:
    """Return the greatest double that is at most the quotient of two whole numbers which doubles hold.

    The quotient is rounded once; multiplied by ``below`` again, exactly (Dekker), it shows whether it was
    rounded up.
    """
    quotient = above / below
    product = quotient * below
    (a, b), (c, d) = _split(quotient), _split(below)
    error = ((a * c - product) + a * d + b * c) + b * d
    rounded = np.where((product - above) + error > 0, np.nextafter(quotient, -1.0), quotient)
    return np.asarray(rounded + 0.0)  # no minus zero


def _split(number: Floats) -> tuple[Floats, Floats]:
    scaled = 134_217_729.0 * number
    high = scaled - (scaled - number)
    return high, number - high
