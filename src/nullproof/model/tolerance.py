"""tolerance: the largest bias up to which each prediction holds (T10).

The box of counts grows with the bias, so a verdict changes once, at a jump of one of its sides. Floats look
leads up at a grid of biases, which points share, close in on the crossing of each point, and halve the few
jumps that are left. Where rounding could blur that, whole numbers decide.

Of a group of ``M`` open cells a value gets at least ``max(0, ⌊M·(q - ε)⌋)`` and at most
``M - max(0, ⌊M·(1 - q - ε)⌋)``: so both sides of the box lose cells by one rule, and jump where
``M·(q - ε)``, or ``M·(1 - q - ε)``, is a whole number.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import LEFT_OUT, CountIndex
from nullproof.data.points import OwnMissing, Points
from nullproof.errors import NullproofError
from nullproof.model.bias import Floats, Groups, groups_of, held_exactly, share_of
from nullproof.model.model import Model
from nullproof.model.parameters import REST, Alpha, Prior
from nullproof.model.verdicts import Verdicts, least_ratio, verdicts
from nullproof.progress import Progress, over, within

Places = NDArray[np.intp]
_DOING = "finding how far each prediction holds"
# Slots (features, or candidates of incomplete points) × points of a block: what the cache holds.
_BLOCK, _MOST_POINTS = 100_000, 1 << 16
# The grid has at most so many steps.
_STEPS = 256
_MOST_ROUNDS = 60
# Up to this many jumps are halved one by one; a trial goes a little beyond a guess.
_FEW, _MOST, _BEYOND = 6.0, 0.9, 2.5
_UNEVEN = 0.99873291
# Not quite the middle: jumps often lie at simple fractions, where rounding would blur them.
_MIDDLE = 0.4873291
# No log term is larger.
_FAR = 50.0
# A rival that is behind this far beyond the best tolerance known is not asked any further.
_STEP = 1e-9
# Products of so many ratios neither over- nor underflow: a ratio is at most 2**53 over a millionth.
_FACTORS = 11
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
        1 if the point is certain; NaN if it is undecided even at a bias of 0; else the largest double at
        which it holds.
    rival
        The position of the label that catches up first beyond that; -1 if there is none.
    winner
        The position of the label that wins at a bias of 0; -1 if none does.
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
    points, alpha, prior, own_missing
        As for `certify`.
    fixed
        Columns whose bias stays as it is given while that of all others grows.

    Returns
    -------
    array
        One number per point: 1 if it is certain, NaN if it is undecided even at a bias of 0. A prediction
        holds at every bias up to this number, and at none above it.

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
            say = within(on_progress, start / n_points, n_done / n_points)
            found = _searched(model, points.take(places), at_none.take(places), say)
            value[places], rival[places] = found
    return Tolerances(value, rival, at_none.winner)


def _searched(
    model: Model, points: Points, at_none: Verdicts, on_progress: Progress | None
) -> tuple[Floats, Places]:
    """Find tolerance and rival of points that hold at a bias of 0 and not at 1.

    The points are all complete or all incomplete. Whole numbers decide where floats blur a tolerance.
    """
    table = _Table(model, points)
    value, rival = np.empty(len(points)), np.empty(len(points), dtype=np.intp)
    starts = range(0, len(points), table.block)
    for start in over(starts, _DOING, within(on_progress, 0.0, 0.9)):
        block = slice(start, start + table.block)
        value[block], rival[block] = _in_floats(table, table.rows(block), at_none.take(block))
    known: dict[bytes, tuple[float, int]] = {}
    blurred = np.flatnonzero(np.isnan(value)).tolist()
    for place in over(blurred, _DOING, within(on_progress, 0.9, 1.0)):
        key = points.codes[:, place].tobytes()
        if key not in known:
            known[key] = _exactly(model, points.choices(place), int(at_none.winner[place]))
        value[place], rival[place] = known[key]
    return value, rival


def _in_floats(table: _Table, rows: Places, at_none: Verdicts) -> tuple[Floats, Places]:
    """Find the least tolerance against any rival, the strongest first; NaN where floats blur it."""
    winner, strength = at_none.winner, at_none.max_log.copy()
    n_points = len(winner)
    strength[np.arange(n_points), winner] = np.inf
    value, rival = np.full(n_points, np.inf), np.full(n_points, -1)
    blurred = np.zeros(n_points, dtype=bool)
    for challenger in np.argsort(-strength, axis=1, kind="stable")[:, 1:].T:
        left, right = table.brackets(rows, winner, challenger)
        close = np.flatnonzero(left[0] <= value)
        pairs = _Pairs.of(table, rows[:, close], winner[close], challenger[close])
        left, right = left[:, close], right[:, close]
        # A rival that is still behind just beyond the best tolerance cannot threaten first.
        beyond = np.minimum(value[close] + _STEP, right[0])
        unknown = np.flatnonzero((beyond < right[0]) | np.isnan(right[1]))
        right[:, unknown] = beyond[unknown], pairs.at(unknown).lead(beyond[unknown])
        behind = np.flatnonzero(right[1] <= pairs.slack)
        pairs, close = pairs.at(behind), close[behind]
        left, right = left[:, behind], right[:, behind]
        if table.grid is None:
            left[1] = pairs.lead(left[0])
        crossing, label = _crossings(pairs, left, right), challenger[close]
        blurred[close] |= np.isnan(crossing)
        with np.errstate(invalid="ignore"):
            first = crossing < value[close]
        first |= (crossing == value[close]) & (label < rival[close])
        value[close[first]], rival[close[first]] = crossing[first], label[first]
    return np.where(np.isfinite(value) & ~blurred, value, np.nan), rival


def _exactly(model: Model, choices: Sequence[Sequence[int]], winner: int) -> tuple[float, int]:
    """Halve the doubles between 0 and 1, with whole numbers at each."""
    rivals = [k for k in range(model.m) if k != winner]
    features = [_free(model, j, np.array(codes)) for j, codes in enumerate(choices)]

    def held(groups: list[Groups], at: tuple[int, int], side: int, bias: Fraction) -> int:
        sizes = ((int(group.n_cells[at]), group.ratio(at, model.alpha)) for group in groups)
        return sum(held_exactly(n, share, bias)[side] for n, share in sizes if n)

    def ahead(bias: Fraction, rival: int) -> bool:
        least, most = [], []
        for low, high, groups in features:
            rows = range(len(low))
            lows = [int(low[row, winner]) + held(groups, (row, winner), 0, bias) for row in rows]
            highs = [int(high[row, rival]) + held(groups, (row, rival), 1, bias) for row in rows]
            # The worst candidate of each feature (T4).
            worst = least_ratio(model, lows, highs)
            least.append(lows[worst])
            most.append(highs[worst])
        return model.exceeds(winner, least, rival, most)

    # Doubles from 0 upwards are ordered like their bits. It holds at 0 and not at 1.
    last, end = 0, struct.unpack("<q", struct.pack("<d", 1.0))[0]
    while end - last > 1:
        middle = (last + end) // 2
        holds = all(ahead(Fraction(_double(middle)), k) for k in rivals)
        last, end = (middle, end) if holds else (last, middle)
    beyond = Fraction(_double(end))
    return _double(last), next(k for k in rivals if not ahead(beyond, k))


def _double(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])


def _free(
    model: Model, j: int, codes: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[Groups]]:
    """Return the counts that no bias changes, least and greatest, and the groups that it does."""
    if model.fixed[j] or not model.weights[j]:
        return *model.box(j, codes), []
    low = model.index.low(j, codes)
    return low, low, [*groups_of(model.index, j, codes)]


# Floats ---------------------------------------------------------------------------------------------


class _Part(NamedTuple):
    """Groups of open cells in one line: per row and label for the winner, then again for a rival.

    ``expected`` is the size times the reference for the winner, and the rest of the size for a rival:
    the cells that are left to lose.
    """

    known: NDArray[np.int64]
    n_known: NDArray[np.int64]
    n_candidates: NDArray[np.int64]
    size: NDArray[np.int64]
    float_size: Floats
    expected: Floats

    @classmethod
    def of(cls, features: list[Groups], alpha: float) -> _Part:
        columns = [[np.broadcast_to(c, g.known.shape) for c in g] for g in features]
        known, size, n_known, n_candidates = (
            np.vstack(column).ravel() for column in zip(*columns, strict=True)
        )
        shares = np.vstack([groups.reference(alpha) for groups in features]).ravel()
        expected = np.concatenate([size * shares, size - size * shares])
        return cls(known, n_known, n_candidates, size, np.tile(size.astype(float), 2), expected)

    def jumps(self, places: Places, cells: Floats, alpha: Fraction) -> Floats:
        """Return the bias up to which so many cells of some groups are left, rounded down."""
        p, q = map(float, alpha.as_integer_ratio())
        is_rival, rows = np.divmod(places, len(self.size))
        known, n_known, n_candidates, size = (column[rows] for column in self[:4])
        whole = n_known * q + p * n_candidates
        below = np.where(whole > 0, whole, n_candidates)
        above = np.where(whole > 0, known * q + p, 1.0)
        above = np.where(is_rival, below - above, above) * size
        jumps = _rounded_down(above - cells * below, below * size)
        # No number in there is larger, and roundings cannot double it.
        blurred = (below * size > _WHOLE / 2) | (max(p, q) > _WHOLE)
        for place in np.flatnonzero(blurred).tolist():
            own, n, v = int(known[place]), int(n_known[place]), int(n_candidates[place])
            share = Fraction(*share_of(own, n, v, alpha))
            left = Fraction(int(cells[place]), int(size[place]))
            exact = (1 - share if is_rival[place] else share) - left
            nearest = float(exact)
            is_below = Fraction(nearest) <= exact
            jumps[place] = nearest if is_below else np.nextafter(nearest, -1.0)
        return jumps


class _Table:
    """What the counts of points are made of, by row (a value of a feature) and label.

    ``base`` is the count, smoothing included, of a winner without any cell of its parts, then that of a
    rival with all of them. A point has one slot per feature, or one per candidate if it is incomplete.
    """

    def __init__(self, model: Model, points: Points) -> None:
        self.model = model
        self.slots: list[tuple[Places, Places]] = []
        alpha, start = float(model.alpha), 0
        sizes = model.index.label_counts + alpha * model.index.n_values[:, None]
        logs = model.float_weights[:, None] * np.log(np.where(sizes > 0, sizes, 1.0))
        low, high, log_sizes, every = [], [], [], []
        for j in range(model.d):
            used, places = points.used(j)
            candidates = [points.candidates(j, code) for code in used.tolist()]
            rows = np.unique(np.concatenate(candidates)).astype(np.int32)
            width = max(map(len, candidates))
            # Shorter lists repeat their first value, which changes no minimum.
            padded = [[*codes, *codes[:1] * (width - len(codes))] for codes in candidates]
            self.slots.append((np.searchsorted(rows, padded).T + start, places))
            least, most, groups = _free(model, j, rows)
            left_out = least == LEFT_OUT
            low.append(np.where(left_out, 1.0, least + alpha))
            high.append(np.where(left_out, 1.0, sum((g.n_cells for g in groups), most + alpha)))
            log_sizes.append(np.where(left_out, 0.0, logs[j]))
            every.append(groups)
            start += len(rows)
        self.base = np.vstack([*low, *high]).ravel()
        self.log_size = np.vstack(log_sizes).ravel()
        # Features with fewer groups than others have empty ones of one candidate.
        zeros = [np.zeros(counts.shape, dtype=np.int64) for counts in low]
        empty = [Groups(zero, zero, zero, zero + 1) for zero in zeros]
        self.parts = [
            _Part.of([g[n] if n < len(g) else empty[j] for j, g in enumerate(every)], alpha)
            for n in range(max(map(len, every)))
        ]
        widths = [len(slots) for slots, _ in self.slots]
        self.first_slots, self.n_slots = np.cumsum([0, *widths])[:-1], sum(widths)
        self.block = min(max(1, _BLOCK // self.n_slots), _MOST_POINTS, len(points))
        self._scratch = np.empty((2, 2 * self.n_slots * self.block))
        self.log_prior = np.where((sizes > 0).all(axis=0), model.log_prior, -np.inf)
        self.magnitude = np.where(np.isfinite(self.log_prior), np.abs(self.log_prior), 0.0)
        self.magnitude += np.abs(logs).sum(axis=0) + _FAR * model.float_weights.sum()
        self.grid = self._grid(len(points), [len(counts) for counts in low])

    def rows(self, block: slice) -> Places:
        """Return the row of each slot of some points."""
        return np.concatenate([rows.take(which[block], axis=1) for rows, which in self.slots])

    def scratch(self, n_rows: int, n_points: int) -> Floats:
        """Return two arrays of memory that is used again and again.

        Getting fresh pages from the system takes longer than computing their contents.
        """
        return self._scratch[:, : n_rows * n_points].reshape(2, n_rows, n_points)

    def log_odds(self, winner: NDArray[Any], rival: NDArray[Any]) -> Floats:
        """Return how far the priors put each winner ahead; a rival without support never catches up."""
        theirs = self.log_prior[rival]
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(theirs), np.inf, self.log_prior[winner] - theirs)

    def _grid(self, n_points: int, n_rows: list[int]) -> tuple[Floats, Floats] | None:
        """Return some biases, and at each what a row adds to the lead of any label over any other.

        None for incomplete points, whose worst candidates differ by bias, and where a grid would be larger
        than what is looked up in it.
        """
        m, n_all = self.model.m, sum(n_rows)
        n_steps = min(n_points * self.model.d // (n_all * m * m), _STEPS)
        if not n_steps or self.n_slots > self.model.d:
            return None
        n_steps = 1 << n_steps.bit_length() - 1
        # Jumps often lie at simple fractions, where rounding would blur them.
        biases = np.append(_UNEVEN * np.arange(n_steps) / n_steps, 1.0)
        leads = np.empty((n_steps + 1, n_all, m, m))
        sizes = self.log_size.reshape(n_all, m)
        weights = self.model.float_weights.repeat(n_rows)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            for bias, own in zip(biases, leads, strict=True):
                low, high = self.base.reshape(2, n_all, m).copy()
                for part in self.parts:
                    cells = _left_to_lose(part.float_size, part.expected, bias)
                    least, most = cells.reshape(2, n_all, m)
                    low += least
                    high -= most
                mine, theirs = (weights * np.log(counts) - sizes for counts in (low, high))
                own[:] = mine[:, :, None] - theirs[:, None]
        return biases, leads.ravel()

    def brackets(
        self, rows: Places, winner: NDArray[Any], rival: NDArray[Any]
    ) -> tuple[Floats, Floats]:
        """Return two biases of the grid for each point: ahead at the first, behind at the second.

        Each with its lead, in two lines. Without a grid they are 0 and 1, with leads of NaN.
        """
        if self.grid is None:
            ends = np.full((2, 2, len(winner)), np.nan)
            ends[0, 0], ends[1, 0] = 0.0, 1.0
            return ends[0], ends[1]
        biases, leads = self.grid
        m, n_steps = self.model.m, len(biases) - 1
        places = rows * (m * m)
        places += winner * m + rival
        width = leads.size // (n_steps + 1)
        constant = self.log_odds(winner, rival)
        terms, at_step = self.scratch(*rows.shape)
        at_step = at_step.view(places.dtype)

        def lead(steps: Places) -> Floats:
            np.add(places, steps * width, out=at_step)
            with np.errstate(invalid="ignore"):
                log = constant + leads.take(at_step, out=terms, mode="clip").sum(axis=0)
            return np.where(np.isnan(log), -np.inf, log)

        left, right = np.zeros((2, len(winner)), dtype=np.intp)
        right += n_steps
        at_left, at_right = lead(left), lead(right)
        for _ in range(n_steps.bit_length() - 1):
            middle = (left + right) // 2
            log = lead(middle)
            ahead = log > 0
            left, at_left = np.where(ahead, middle, left), np.where(ahead, log, at_left)
            right, at_right = np.where(ahead, right, middle), np.where(ahead, at_right, log)
        return np.array([biases[left], at_left]), np.array([biases[right], at_right])


class _Pairs:
    """Points, each with its winner and a rival. Arrays hold slots × points, the winner's first.

    Parameters
    ----------
    places
        Where each slot is in the arrays of the table.
    constant
        The logarithm of the part of the lead that no count changes.
    slack
        What rounding makes of a lead at most.
    """

    def __init__(self, table: _Table, places: Places, constant: Floats, slack: Floats) -> None:
        self.table, self.places, self.constant, self.slack = table, places, constant, slack
        self.base = table.base.take(places)
        self.parts = [
            (part.float_size.take(places), part.expected.take(places)) for part in table.parts
        ]

    @classmethod
    def of(cls, table: _Table, rows: Places, winner: NDArray[Any], rival: NDArray[Any]) -> _Pairs:
        """Look some points up by the rows of their slots."""
        both = np.tile(rows * table.model.m, (2, 1))
        first, second = np.split(both, 2)
        first += winner
        second += rival
        sizes = (table.log_size.take(own[table.first_slots]).sum(axis=0) for own in (second, first))
        constant = table.log_odds(winner, rival) + np.subtract(*sizes)
        second += len(table.log_size)
        slack = 2 * table.model.slack(table.magnitude[winner] + table.magnitude[rival])
        return cls(table, both, constant, slack)

    def at(self, places: Places) -> _Pairs:
        """Return some of the points."""
        if len(places) == len(self.slack):
            return self
        some = self.places.take(places, axis=1)
        return _Pairs(self.table, some, self.constant[places], self.slack[places])

    def lead(self, bias: Floats) -> Floats:
        """Return how far each winner is ahead at a bias of each point.

        The logarithm of the winner's least support over the rival's greatest; -inf if the winner has none.
        """
        model, half = self.table.model, len(self.places) // 2
        counts, cells = self.table.scratch(*self.places.shape)
        low, high = self.base[:half], self.base[half:]
        for part in self.parts:
            _left_to_lose(*part, bias, cells)
            low = np.add(low, cells[:half], out=counts[:half])
            high = np.subtract(high, cells[half:], out=counts[half:])
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.divide(low, high, out=counts[:half])
            if half > model.d:
                ratio = np.minimum.reduceat(ratio, self.table.first_slots, axis=0)
            if model.has_equal_weights:
                chunks = (ratio[start : start + _FACTORS] for start in range(0, model.d, _FACTORS))
                logs = np.log([chunk.prod(axis=0) for chunk in chunks])
            else:
                # What a weight of 0 takes out has a ratio of 1.
                logs = np.log(ratio, out=ratio)
                logs *= model.float_weights[:, None]
            log = self.constant + logs.sum(axis=0)
        # No number: the winner has no support, and perhaps the rival neither.
        return np.where(np.isnan(log), -np.inf, log)

    def jumps(self, left: Floats, right: Floats) -> Floats:
        """List the jumps between two biases of each point, ascending and each once: points × jumps.

        They are rounded down; infinite where a point has no more.
        """
        owners, biases = [], []
        for part, own in zip(self.table.parts, self.parts, strict=True):
            before, n_jumps = self.table.scratch(*self.places.shape)
            _left_to_lose(*own, left, before)
            np.subtract(before, _left_to_lose(*own, right, n_jumps), out=n_jumps)
            slots, points = np.nonzero(n_jumps)
            repeats = n_jumps[slots, points].astype(np.intp)
            again = np.repeat(np.arange(len(slots)), repeats)
            step = np.arange(len(again)) - (np.cumsum(repeats) - repeats)[again]
            slots, points = slots[again], points[again]
            cells = before[slots, points] - step
            owners.append(points)
            biases.append(part.jumps(self.places[slots, points], cells, self.table.model.alpha))
        owner, jump = np.concatenate(owners), np.concatenate(biases)
        # Short integers are sorted by counting; a block has no more points.
        order = np.argsort(owner.astype(np.uint16), kind="stable")
        owner, jump = owner[order], jump[order]
        n_jumps = np.bincount(owner, minlength=len(left))
        rank = np.arange(len(owner)) - (np.cumsum(n_jumps) - n_jumps)[owner]
        jumps = np.full((len(left), int(n_jumps.max(initial=0)) + 1), np.inf)
        jumps[owner, rank] = jump
        jumps.sort(axis=1)
        # Jumps that round down to one double are one.
        jumps[:, :-1][jumps[:, :-1] == jumps[:, 1:]] = np.inf
        jumps.sort(axis=1)
        return jumps


def _left_to_lose(
    size: Floats, expected: Floats, bias: Floats | float, out: Floats | None = None
) -> Floats:
    """Return how many cells of each group are left to lose at a bias of each point."""
    cells = np.multiply(size, bias, out=out)
    np.subtract(expected, cells, out=cells)
    return np.maximum(np.floor(cells, out=cells), 0, out=cells)


def _crossings(pairs: _Pairs, left: Floats, right: Floats) -> Floats:
    """Return the largest double at which each winner is ahead; NaN where rounding could blur it.

    ``left`` holds biases at which each is ahead and ``right`` such at which it is not, with their leads.
    """
    crossings, places = np.full(left.shape[1], np.nan), np.arange(left.shape[1])
    # At most so many jumps lie between two biases, but for one of each slot.
    density = sum((size.sum(axis=0) for size, _ in pairs.parts), np.full(len(places), 1e-9))
    side = np.zeros(len(places))
    for number in range(_MOST_ROUNDS):
        few = (right[0] - left[0]) * density <= _FEW
        if few.sum() > _MOST * len(few):
            sure = ((left[1] > pairs.slack) | (left[0] == 0)) & (right[1] < -pairs.slack)
            settled, kept = np.flatnonzero(sure & few), np.flatnonzero(~few)
            crossings[places[settled]] = _first_lost(
                pairs.at(settled), left[0, settled], right[0, settled]
            )
            pairs, places, density, side = pairs.at(kept), places[kept], density[kept], side[kept]
            left, right = left[:, kept], right[:, kept]
        if not len(places):
            break
        # Where a straight line crosses 0, and a few jumps beyond, so that the other end moves next; the
        # middle where that does not close in.
        width = right[0] - left[0]
        with np.errstate(all="ignore"):
            trial = left[0] + width * left[1] / (left[1] - right[1]) + side * _BEYOND / density
            inside = (trial > left[0]) & (trial < right[0]) & (number % 4 < 3)
        trial = np.where(inside, trial, left[0] + _MIDDLE * width)
        tried = np.array([trial, pairs.lead(trial)])
        ahead = tried[1] > 0
        left, right = np.where(ahead, tried, left), np.where(ahead, right, tried)
        side = np.where(ahead, 1.0, -1.0)
    return crossings


def _first_lost(pairs: _Pairs, left: Floats, right: Floats) -> Floats:
    """Return the jump within each bracket after which the lead is lost; NaN where rounding blurs that.

    Jumps that rounding may put on either side of an end are listed. For a jump that lies well within, this
    changes nothing: all jumps close to the left end come before it, and all close to the right end after.
    """
    jumps = pairs.jumps(left - _CLOSE, right + _CLOSE)
    every, unsure = np.arange(len(jumps)), np.zeros(len(jumps), dtype=bool)
    # The lead is kept before the first jump, and lost after the last.
    kept, lost = np.full(len(jumps), -1), np.isfinite(jumps).sum(axis=1) - 1
    while (going := lost - kept > 1).any():
        middle = np.where(going, (kept + lost) // 2, 0)
        here = np.where(going, jumps[every, middle], 0.0)
        gap = np.where(going, jumps[every, middle + 1], 0.0) - here
        log = pairs.lead(here + gap / 2)
        unsure |= going & ((gap < 4 * _CLOSE) | (np.abs(log) <= pairs.slack))
        ahead = log > 0
        kept, lost = np.where(going & ahead, middle, kept), np.where(going & ~ahead, middle, lost)
    crossing = jumps[every, lost]
    inside = (crossing > left + _CLOSE) | ((left == 0) & (crossing >= 0))
    inside &= crossing < right - _CLOSE
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
