"""Bins: how edges are chosen, which bin a number is in, and how a bin is written.

Three ways to choose edges: ``"mdl"`` cuts where the label changes (theory 11), ``"uniform"`` makes bins
of equal width, ``"quantile"`` bins with equally many rows. Everything follows from how many rows of each
label have each number, so the order of rows, the names of labels and the engine that counted do not
matter. Numbers are compared as doubles, dates as whole microseconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nullproof.data.types import (
    LARGEST_DOUBLE_INTEGER,
    MISSING,
    Column,
    Kind,
    date_text,
    distinct,
    text,
)

Binning = Literal["uniform", "quantile", "mdl", "none"]
Whole = NDArray[np.int64]
Doubles = NDArray[np.float64]
# By bin, the least and the greatest number or moment that the table shows there.
Shown = Mapping[int, tuple[Any, Any]]
ONE_BIN: tuple[float, ...] = (-math.inf, math.inf)
# So few numbers are looked up among the edges; of more, all are compared with each of a few edges.
_SHORT, _FEW_EDGES = 500, 32


def code_type(n_values: int) -> type[np.signedinteger[Any]]:
    """Choose the narrowest type that holds -1 and ``n_values``: bytes are counted fastest."""
    if n_values < 2**7:
        return np.int8
    return np.int16 if n_values < 2**15 else np.int32


def bin_codes(array: NDArray[Any], edges: Sequence[float], kind: Kind = "number") -> NDArray[Any]:
    """Number the bins as scikit-learn's KBinsDiscretizer does: count the inner edges not above x."""
    inner: NDArray[Any] = np.array(edges[1:-1], dtype=np.float64)
    if kind == "date":
        # A whole number is not below an edge if it is not below the next whole number.
        inner = np.ceil(inner).astype(np.int64)
    codes: NDArray[Any]
    if len(inner) < _FEW_EDGES and len(array) > _SHORT:
        codes = np.zeros(len(array), dtype=np.int8)
        for edge in inner[:, None]:
            codes += array >= edge
    else:
        codes = np.searchsorted(inner, array, side="right").astype(code_type(len(edges)))
    if array.dtype.kind == "f":
        codes[np.isnan(array)] = MISSING
    return codes


def rounded_down(numbers: NDArray[Any]) -> Doubles:
    """Return numbers as doubles; whole ones beyond 2**53 as the greatest double that is not above."""
    found = numbers.astype(np.float64) + 0.0
    if numbers.dtype.kind == "f":
        return found
    with np.errstate(invalid="ignore"):
        above = (found >= 2.0**63) | (found.astype(np.int64) > numbers)
    return np.where(above, np.nextafter(found, -math.inf), found)


def tally(codes: NDArray[np.integer], weights: Whole | None, size: int) -> Whole:
    """Add up the rows of each code."""
    # As doubles weights are exact: no table has 2**53 rows.
    return np.bincount(codes, weights, minlength=size).astype(np.int64, copy=False)


@dataclass(frozen=True)
class Rows:
    """What edges may follow from besides the numbers.

    That is the number of each row's label, which ``"mdl"`` alone needs, and how many rows each cell stands
    for, None for one.
    """

    labels: NDArray[np.integer] | None = None
    weights: Whole | None = None

    def some(self, held: NDArray[np.bool_]) -> Rows:
        """Return those of some cells."""
        labels = None if self.labels is None else self.labels[held]
        return Rows(labels, None if self.weights is None else self.weights[held])


def learn_bins(
    column: Column, bins: int, binning: Binning, rows: Rows
) -> tuple[tuple[float, ...], Shown]:
    """Return the edges of a column's bins, and the extremes of each bin in use.

    Edges follow from the known, finite numbers; infinite ones fall into the end bins.
    """
    numbers = column.numbers
    assert numbers is not None
    held = np.isfinite(numbers) if numbers.dtype.kind == "f" else column.known
    spots, rest = numbers, numbers[:0]
    if not held.all():
        spots, rest, rows = numbers[held], numbers[~held], rows.some(held)
    if column.kind == "number":
        spots = spots.astype(np.float64, copy=False)
    edges, ends = ONE_BIN, [spots]
    if binning == "mdl" and len(spots):
        cells, which = dealt(spots, rows.weights)
        edges, ends = mdl_edges(cells, which, rows), [cells.lows, cells.highs]
    elif binning == "quantile":
        edges = _quantile_edges(spots, bins, rows.weights)
    elif binning == "uniform" and len(spots):
        low, high = rounded_down(np.array([spots.min(), spots.max()])).tolist()
        edges = uniform_edges(low, high, bins)
    if numbers.dtype.kind == "f":
        ends.append(rest[~np.isnan(rest)])
    return edges, shown_numbers(np.concatenate(ends), edges, column.kind)


# Equal width, equal shares.


def uniform_edges(low: float, high: float, bins: int) -> tuple[float, ...]:
    """Return the edges of bins of equal width."""
    if not low < high:
        return ONE_BIN
    if math.isinf(high - low):
        # The width is no double: halve the numbers, which is exact at this size.
        return _plain(np.linspace(low / 2, high / 2, bins + 1) * 2)
    return _plain(np.linspace(low, high, bins + 1))


def _quantile_edges(spots: NDArray[Any], bins: int, weights: Whole | None) -> tuple[float, ...]:
    """Return edges between equally many rows, or between all numbers if there are no more than bins."""
    values, which = distinct(spots)
    values = rounded_down(values)
    if len(values) <= bins:
        inner = [between(a, b) for a, b in pairwise(values.tolist()) if a < b]
        return (float(values[0]), *inner, float(values[-1])) if inner else ONE_BIN
    # What NumPy's quantiles of all rows would be: between two rows, and how far.
    ends = np.cumsum(tally(which, weights, len(values)))
    n_rows = int(ends[-1])
    exact = (n_rows - 1) * np.linspace(0, 1, bins + 1)
    before = np.floor(exact).astype(np.int64)
    after = np.minimum(before + 1, n_rows - 1)
    low, high = (values[np.searchsorted(ends, row, side="right")] for row in (before, after))
    edges = map(_part_between, low.tolist(), high.tolist(), (exact - before).tolist())
    return _plain(np.unique(np.array([*edges])))


def _part_between(low: float, high: float, part: float) -> float:
    if math.isinf(high - low):
        return 2 * _part_between(low / 2, high / 2, part)
    return float(np.quantile(np.array([low, high]), np.array([part]))[0])


def _plain(edges: Doubles) -> tuple[float, ...]:
    """Return edges without a negative zero."""
    return tuple((edges + 0.0).tolist())


# MDL: first cells of neighbouring numbers, between which cuts are tried. A line of numbers is dealt into
# cells of equal width, and where many rows crowd into one cell, that again. Cells need differences,
# products with powers of two and comparisons alone, which are the same doubles in NumPy and in every
# engine.

# A stretch has more than half as many cells as this, and not more.
GRID = 2**14
# A cell with several numbers and more than one in so many rows is crowded.
SHARE = 1024
_LARGEST_POWER = 1000


@dataclass(frozen=True)
class Stretches:
    """Parts of a line, in order, from their least to their greatest number, which differ.

    The width of a stretch's cells is the power of two that makes more than half of `GRID` of them. They
    are counted from its least number on.
    """

    lows: NDArray[Any]
    highs: NDArray[Any]

    def __len__(self) -> int:
        return len(self.lows)

    @cached_property
    def halved(self) -> bool:
        """Whether the difference is no double: then numbers are halved first."""
        with np.errstate(over="ignore"):
            return bool(np.isinf(self.highs - self.lows).any())

    @cached_property
    def factors(self) -> tuple[Doubles, Doubles]:
        """How many cells have the width 1, as two factors: of the two, each is a double."""
        scale = 0.5 if self.halved else 1
        widths = (self.highs * scale - self.lows * scale).astype(np.float64)
        powers = int(math.log2(GRID)) - np.frexp(widths)[1]
        first = np.minimum(powers, _LARGEST_POWER)
        return np.ldexp(1.0, first), np.ldexp(1.0, powers - first)

    def keys(self, spots: NDArray[Any], which: NDArray[np.integer] | int) -> Whole:
        """Number the cells that places in these stretches lie in; ``which`` is the stretch of each.

        The last cell of a stretch and the first of the next are not neighbours.
        """
        lows = self.lows[which]
        offsets = spots * 0.5 - lows * 0.5 if self.halved else spots - lows
        offsets = offsets.astype(np.float64, copy=False)
        for factor in self.factors:
            if np.any(factor != 1.0):
                offsets *= factor[which]
        keys: Whole = offsets.astype(np.int64)
        return keys if len(self) == 1 else keys + which * (GRID + 1)


@dataclass(frozen=True)
class Cells:
    """Cells in the order of their numbers: the least and the greatest number, and the rows of each."""

    lows: NDArray[Any]
    highs: NDArray[Any]
    totals: Whole

    @classmethod
    def gathered(
        cls,
        ends: tuple[NDArray[Any], NDArray[Any]],
        places: NDArray[np.intp],
        weights: Whole | None,
        size: int,
    ) -> Cells:
        """Put numbers, or groups of which the least and the greatest are known, together to cells."""
        return cls(*_extremes(ends, places, size), tally(places, weights, size))

    def crowded(self, n_rows: int) -> NDArray[np.bool_]:
        """Return which cells are to be dealt again."""
        found: NDArray[np.bool_] = (self.lows < self.highs) & (self.totals * SHARE > n_rows)
        return found

    def runs(self, keys: Whole, crowded: NDArray[np.bool_]) -> tuple[Stretches, Whole]:
        """Return crowded neighbours as one stretch each, and the number of the stretch of every cell."""
        places = np.flatnonzero(crowded)
        first = np.diff(keys[places], prepend=keys[places[0]] - 2) != 1
        last = np.append(first[1:], True)
        which = np.zeros(len(keys), dtype=np.int64)
        which[places] = np.cumsum(first) - 1
        return Stretches(self.lows[places[first]], self.highs[places[last]]), which


def dealt(spots: NDArray[Any], weights: Whole | None = None) -> tuple[Cells, NDArray[np.intp]]:
    """Return the cells of some places on a line (doubles, or microseconds), and the cell of each place.

    ``weights`` is how many rows each place stands for, None for one.
    """
    n_rows = len(spots) if weights is None else int(weights.sum())
    whole = Cells(*(np.array([end]) for end in (spots.min(), spots.max(), n_rows)))
    if not whole.crowded(n_rows).any():
        return whole, np.zeros(len(spots), dtype=np.intp)
    keys, numbers = dense(Stretches(whole.lows, whole.highs).keys(spots, 0))
    found = [Cells.gathered((spots, spots), numbers, weights, len(keys))]
    crowded, active, own = found[0].crowded(n_rows), None, numbers
    while crowded.any():
        stretches, which = found[-1].runs(keys, crowded)
        inside = np.flatnonzero(crowded[own])
        active = inside if active is None else active[inside]
        part = spots[active]
        keys, own = dense(stretches.keys(part, which[own[inside]]))
        numbers[active] = own + sum(len(cells.lows) for cells in found)
        own_weights = None if weights is None else weights[active]
        found.append(Cells.gathered((part, part), own, own_weights, len(keys)))
        crowded = found[-1].crowded(n_rows)
    return (found[0], numbers) if len(found) == 1 else in_line(found, numbers)


def dense(keys: Whole) -> tuple[Whole, NDArray[np.intp]]:
    """Return the distinct keys, in order, and the place of each key among them; few without sorting."""
    size = int(keys.max()) + 1
    if size > 2**20 + 4 * len(keys):
        return np.unique(keys, return_inverse=True)
    found = np.bincount(keys).nonzero()[0]
    places = np.empty(size, dtype=np.intp)
    places[found] = np.arange(len(found))
    return found, places[keys]


def _extremes(
    ends: tuple[NDArray[Any], NDArray[Any]], places: NDArray[np.integer], size: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the least and the greatest number at each place; where there is none, the least is greater."""
    kind = ends[0].dtype
    least, greatest = (-math.inf, math.inf)
    if kind.kind != "f":
        least, greatest = np.iinfo(kind).min, np.iinfo(kind).max
    lows, highs = np.full(size, greatest, dtype=kind), np.full(size, least, dtype=kind)
    np.minimum.at(lows, places, ends[0])
    np.maximum.at(highs, places, ends[1])
    return lows, highs


def in_line(found: list[Cells], numbers: NDArray[np.intp]) -> tuple[Cells, NDArray[np.intp]]:
    """Return the cells that were not dealt again, by size."""
    lows, highs, totals = (
        np.concatenate([getattr(cells, name) for cells in found])
        for name in ("lows", "highs", "totals")
    )
    used = np.flatnonzero(np.bincount(numbers, minlength=len(lows)))
    used = used[np.argsort(lows[used], kind="stable")]
    rank = np.zeros(len(lows), dtype=np.intp)
    rank[used] = np.arange(len(used))
    return Cells(lows[used], highs[used], totals[used]), rank[numbers]


def mdl_edges(cells: Cells, which: NDArray[np.integer], rows: Rows) -> tuple[float, ...]:
    """Return the edges for rows, or groups of rows, whose cells are known; one bin if no cut pays."""
    assert rows.labels is not None
    n_labels = int(rows.labels.max()) + 1
    keys = which * n_labels
    keys += rows.labels
    counts = tally(keys, rows.weights, len(cells.totals) * n_labels).reshape(-1, n_labels)
    ends = cells.lows, cells.highs
    if len(cells.totals) > SHARE:
        first = np.flatnonzero(np.diff(_merged(cells.totals), prepend=-1))
        last = np.append(first[1:], len(cells.totals)) - 1
        counts = np.add.reduceat(counts, first, axis=0)
        ends = cells.lows[first], cells.highs[last]
    lows, highs = map(rounded_down, ends)
    cuts = _cuts(lows, highs, counts)
    return (float(lows[0]), *cuts, float(highs[-1])) if cuts else ONE_BIN


def _merged(totals: Whole) -> Whole:
    """Number at most about 2,048 cells between which cuts are tried, from the rows of smaller cells.

    One stays if it has at least one in 1,024 rows. The rows of the others are dealt into 1,024
    equal shares, and neighbours that begin in the same share are one.
    """
    heavy = totals * SHARE >= totals.sum()
    light = np.where(heavy, 0, totals)
    share = (np.cumsum(light) - light) * SHARE // light.sum()
    keys = share + 2 * np.cumsum(heavy) - heavy
    return np.cumsum(np.diff(keys, prepend=keys[:1]) > 0)


# The rule of Fayyad and Irani. Cuts that differ by less than so many bits a row are as good as each
# other, and a gain that exceeds its price by less does not pay: sums of logarithms are not more exact.
_SLACK = 2.0**-36


def _cuts(lows: Doubles, highs: Doubles, counts: Whole) -> tuple[float, ...]:
    """Return the cuts between cells, of which the extremes and the counts by label are known."""
    possible = (lows[1:] > highs[:-1]).nonzero()[0] + 1
    stops = [0, *possible.tolist(), len(lows)]
    below = _running(counts).take(stops, axis=1)
    pieces, found = [(0, len(stops) - 1)], []
    while pieces:
        first, end = pieces.pop()
        cut = _best_cut(below[:, first : end + 1])
        if cut is not None:
            found.append(stops[first + cut])
            pieces += [(first, first + cut), (first + cut, end)]
    return tuple(between(float(highs[cut - 1]), float(lows[cut])) for cut in sorted(found))


def between(low: float, high: float) -> float:
    """Return the edge between two neighbours: their middle, which must be above ``low``; else ``high``.

    Examples
    --------
    >>> between(1.0, 2.0), between(1.0, 1.0 + 2**-52)
    (1.5, 1.0000000000000002)
    """
    middle = (low + high) / 2
    if math.isinf(middle):
        middle = low / 2 + high / 2
    return (middle if middle > low else high) + 0.0


def _running(counts: Whole) -> Whole:
    """Return, labels × cells, how many rows of each label, and last of all, lie before each cell.

    Labels stand in an order that follows from their counts, not from their names.
    """
    present = counts.T[counts.any(axis=0)]
    # The bytes of numbers with the highest first compare as the numbers do.
    last_first = [own.tobytes() for own in present[:, ::-1].astype(">i8")]
    order = sorted(range(len(present)), key=last_first.__getitem__)
    below = np.zeros((len(present) + 1, len(counts) + 1), dtype=np.int64)
    np.cumsum(present[order], axis=1, out=below[:-1, 1:])
    below[:-1].sum(axis=0, out=below[-1])
    return below


def _best_cut(below: Whole) -> int | None:
    """Return the best cut of a piece, or None if no cut pays; given are the rows before each place.

    Of cuts that are equally good, the one nearest the middle by rows counts, then the lower one.
    """
    n_cuts = below.shape[1] - 2
    until = below[:, 1:] - below[:, :1]
    whole, left = until[:, -1:], until[:, :-1]
    if not n_cuts or np.count_nonzero(whole[:-1]) < 2:
        return None
    n_rows = int(whole[-1, 0])
    # All at once: most pieces are so short that a call of NumPy takes longer than its work.
    parts = np.concatenate([until, whole - left], axis=1)
    bits = _bits(parts)
    either = bits[:n_cuts] + bits[n_cuts + 1 :]
    tied = (either <= either.min() + _SLACK * n_rows).nonzero()[0]
    best = int(tied[np.abs(2 * left[-1, tied] - n_rows).argmin()])
    three = [n_cuts, best, n_cuts + 1 + best]
    return best + 1 if _pays(parts[:, three].T.tolist(), bits[three].tolist()) else None


def split_pays(left: Sequence[int], right: Sequence[int]) -> bool:
    """Return whether to part rows, of which the numbers by label are given, pays by the rule."""
    parts = np.array([left, right], dtype=np.int64)
    counts = np.concatenate([parts.sum(axis=0)[None], parts]).T
    columns = np.concatenate([counts, counts.sum(axis=0)[None]])
    if not columns[-1].all() or np.count_nonzero(columns[:-1, 0]) < 2:
        return False
    return _pays(columns.T.tolist(), _bits(columns).tolist())


def _pays(parts: list[list[int]], bits: list[float]) -> bool:
    """Evaluate the inequality for the whole, its left and its right, times the number of rows."""
    kinds = [sum(map(bool, labels)) for *labels, _ in parts]
    n_rows = parts[0][-1]
    spread = [k * b / part[-1] for k, b, part in zip(kinds, bits, parts, strict=True)]
    gain = bits[0] - bits[1] - bits[2]
    price = math.log2(n_rows - 1) + math.log2(3 ** kinds[0] - 2)
    price -= spread[0] - spread[1] - spread[2]
    return gain > price + _SLACK * n_rows


def _bits(counts: Whole) -> Doubles:
    """Return rows times entropy, of each column of counts by label and of their sum."""
    numbers = counts.astype(np.float64)
    logs = numbers * np.log2(np.maximum(numbers, 1.0))
    bits: Doubles = logs[-1] - logs[:-1].sum(axis=0)
    return bits


# How a bin is written: as its one number, as a range of whole numbers, or as an interval.

_FEWEST_DIGITS, _USUAL_DIGITS, _ALL_DIGITS = 3, 5, 17


def shown_numbers(array: NDArray[Any], edges: tuple[float, ...], kind: Kind) -> Shown:
    """Return the least and the greatest of some numbers in each bin."""
    if kind == "number":
        array = array.astype(np.float64, copy=False)
    lows, highs = _extremes((array, array), bin_codes(array, edges, kind), len(edges) - 1)
    used = np.flatnonzero(lows <= highs).tolist()
    return {b: (lows[b].item(), highs[b].item()) for b in used}


def both_shown(*parts: Shown) -> Shown:
    """Return what several parts of a table show together."""
    found: dict[int, tuple[Any, Any]] = {}
    for part in parts:
        for b, (low, high) in part.items():
            least, greatest = found.get(b, (low, high))
            found[b] = (min(least, low), max(greatest, high))
    return found


def bin_texts(edges: Sequence[float], kind: Kind, shown: Shown) -> dict[int, str]:
    """Write every bin that is in use; no two texts are the same.

    Examples
    --------
    >>> bin_texts((0.0, 2.5, 7.5, 10.0), "number", {0: (0.0, 2.0), 1: (4.0, 4.0), 2: (8.0, 10.0)})
    {0: '0–2', 1: '4', 2: '8–10'}
    >>> bin_texts((-5.0, 0.4217, 2.5), "number", {0: (-5.0, 0.25), 1: (0.5, 2.5)})
    {0: '[-5, 0.422)', 1: '[0.422, 2.5]'}
    """
    if not shown:
        return {}
    # A column in one bin has no edges, and ends where its numbers do.
    ends = shown[0] if math.isinf(edges[0]) else edges
    whole = all(
        float(end).is_integer() and abs(end) <= LARGEST_DOUBLE_INTEGER
        for pair in shown.values()
        for end in pair
    )
    if kind == "number" and whole:
        texts = _ranges(edges, shown)
    else:
        written = _date_ends(ends) if kind == "date" else _number_ends(ends, shown)
        texts = {b: _interval(written, b) for b in shown}
    write = date_text if kind == "date" else number_text
    return {b: write(low) if low == high else texts[b] for b, (low, high) in sorted(shown.items())}


def number_text(number: float) -> str:
    """Write a number as values are written, a huge one with an exponent."""
    return text(number) if abs(number) <= LARGEST_DOUBLE_INTEGER else repr(float(number))


def late_bin_text(edges: Sequence[float], kind: Kind, b: int, shown: tuple[Any, Any]) -> str:
    """Write a bin that came into use when the others had been written."""
    write = date_text if kind == "date" else number_text
    if shown[0] == shown[1]:
        return write(shown[0])
    return _interval([*map(write, shown if math.isinf(edges[0]) else edges)], b)


def is_single(written: str) -> bool:
    """Return whether the text of a bin is that of one number or moment."""
    return not written.startswith("[") and "–" not in written and " to " not in written


def _interval(ends: Sequence[str], b: int) -> str:
    return f"[{ends[b]}, {ends[b + 1]}{']' if b == len(ends) - 2 else ')'}"


def _ranges(edges: Sequence[float], shown: Shown) -> dict[int, str]:
    """Write the whole numbers from edge to edge; at both ends, from and to those that the table shows."""
    first, last = min(shown), max(shown)
    texts = {}
    for b, (low, high) in shown.items():
        least = int(low) if b == first else math.ceil(edges[b])
        greatest = int(high) if b == last else math.ceil(edges[b + 1]) - 1
        texts[b] = f"{least} to {greatest}" if least < 0 else f"{least}–{greatest}"
    return texts


def _number_ends(exact: Sequence[float], shown: Shown) -> list[str]:
    """Write the ends of intervals with as few digits as still part what the table shows there.

    They have three digits at least, and more than five only where two ends would be the same.
    """
    for most in (_USUAL_DIGITS, _ALL_DIGITS):
        ends = [_shortest(i, exact, shown, most) for i in range(len(exact))]
        if all(low < high for low, high in pairwise(ends)):
            break
    return [number_text(end) for end in ends]


def _shortest(i: int, edges: Sequence[float], shown: Shown, most: int) -> float:
    """Return the edge with the fewest digits that is above all that is below it, and not above the rest."""
    edge = edges[i]
    below = max((high for b, (_, high) in shown.items() if b < i), default=-math.inf)
    above = min((low for b, (low, _) in shown.items() if b >= i), default=math.inf)
    # Infinite numbers lie in the bins at the ends, but beyond these ends.
    if i == 0:
        above = edge
    elif i == len(edges) - 1:
        below = math.nextafter(edge, -math.inf)
    rounded = [float(format(edge, f".{digits}g")) for digits in range(_FEWEST_DIGITS, most + 1)]
    return next((number for number in rounded if below < number <= above), rounded[-1])


def _date_ends(exact: Sequence[float]) -> list[str]:
    """Write the ends of intervals of moments, to the second if that parts them."""
    ends = [round(end) for end in exact]
    texts = [date_text(end - end % 1_000_000) for end in ends]
    return texts if len({*texts}) == len(texts) else [date_text(end) for end in ends]
