"""Bins: numbers and dates to the few intervals that Naive Bayes can count."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nullproof.tables.cuts import CELLS, between, cell_cuts, cells_of
from nullproof.tables.grids import Cells, dealt, tally
from nullproof.tables.schema import Kind
from nullproof.tables.values import LARGEST_DOUBLE_INTEGER, double

Binning = Literal["uniform", "quantile", "mdl", "none"]
MISSING = -1
Whole = NDArray[np.int64]
ONE_BIN = (-math.inf, math.inf)
# Differences of moments below it are whole numbers of 64 bits.
_MOST_MICROSECONDS = 2**61
_LARGEST = int(np.iinfo(np.int64).max)
# So few numbers are looked up among the edges; of more, all are compared with each of a few edges.
_SHORT = 500


@dataclass(frozen=True)
class Rows:
    """What edges may follow from besides a column's cells.

    Parameters
    ----------
    labels
        The number of each row's label; ``"mdl"`` alone needs them.
    weights
        How many rows each cell stands for; None for one.
    """

    labels: NDArray[np.integer] | None = None
    weights: Whole | None = None


EVERY_ROW = Rows()


def code_type(n_values: int) -> type[np.signedinteger[Any]]:
    """Choose the narrowest type that holds -1 and ``n_values``: bytes are counted fastest."""
    if n_values < 2**7:
        return np.int8
    return np.int16 if n_values < 2**15 else np.int32


def doubles(array: NDArray[Any]) -> NDArray[Any]:
    """Numbers as bins compare them: each the nearest double, NaN where missing."""
    if array.dtype.kind != "O":
        return array
    return np.array([double(x) for x in array.tolist()], dtype=np.float64)


def places(array: NDArray[Any], kind: Kind) -> NDArray[Any]:
    """Numbers or moments on the line that bins cut: doubles, or whole microseconds."""
    if kind == "date" and array.dtype.kind in "iu":
        # Engines compare time stamps as they are; doubles would round those far from 1970.
        return array.astype(object)
    if kind == "date" and array.dtype.kind == "O":
        return np.array([x if x != x else math.floor(x) for x in array.tolist()], dtype=object)
    return doubles(array)


def bin_codes(array: NDArray[Any], edges: Sequence[float], kind: Kind = "number") -> NDArray[Any]:
    """Number the bins as scikit-learn's KBinsDiscretizer does: count the inner edges not above x."""
    array = places(array, kind)
    inner = np.array(edges[1:-1], dtype=np.float64)
    codes: NDArray[Any]
    if array.dtype.kind == "O":
        found = [bisect_right(inner.tolist(), x) for x in array.tolist()]
        codes = np.array(found, dtype=code_type(len(edges)))
    elif len(inner) < 32 and len(array) > _SHORT:
        codes = np.zeros(len(array), dtype=np.int8)
        # An array of one edge, not the edge: never compare in the precision of float32 columns.
        for edge in inner[:, None]:
            codes += array >= edge
    else:
        codes = np.searchsorted(inner, array, side="right")
        codes = codes.astype(code_type(len(edges)))
    if array.dtype.kind in "fO":
        codes[~present(array)] = MISSING
    return codes


def present(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Which numbers are known: all but NaN."""
    if array.dtype.kind == "f":
        known: NDArray[np.bool_] = ~np.isnan(array)
        return known
    if array.dtype.kind == "O":
        return np.array([x == x for x in array.tolist()], dtype=bool)
    return np.ones(len(array), dtype=bool)


def line(
    array: NDArray[Any], kind: Kind
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.bool_]]:
    """The distinct finite places of a column, in order, which of them each cell has, and which cells do.

    Moments that no double parts stay two places, with the same double.
    """
    spots = places(array, kind)
    if kind == "number" and spots.dtype.kind in "iu" and _is_large(spots):
        spots = spots.astype(np.float64)
    held = np.isfinite(spots) if spots.dtype.kind == "f" else present(spots)
    values, which = distinct(spots[held])
    return rounded_down(values), which, held


def rounded_down(spots: NDArray[Any]) -> NDArray[np.float64]:
    """Places as doubles; moments as the greatest double not above, which edges part as they part those."""
    numbers = spots.astype(np.float64) + 0.0
    if spots.dtype.kind != "O":
        return numbers
    above = np.array([a > b for a, b in zip(numbers.tolist(), spots.tolist(), strict=True)])
    return np.where(above.astype(bool), np.nextafter(numbers, -math.inf), numbers)


def _is_large(array: NDArray[Any]) -> bool:
    return max(int(array.max(initial=0)), -int(array.min(initial=0))) > LARGEST_DOUBLE_INTEGER


def distinct(array: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """The sorted distinct numbers and the place of each cell among them; integers without sorting."""
    if array.dtype.kind == "O":
        return _distinct_objects(array)
    if array.dtype.kind in "iu" and array.size:
        low, high = int(array.min()), int(array.max())
        if high - low < 2**16 and high <= _LARGEST:
            shifted = np.subtract(array, low, dtype=np.int64).astype(np.int32)
            n_rows = tally(shifted, None, high - low + 1)
            if n_rows.all():
                return np.arange(high - low + 1) + low, shifted
            places = (n_rows > 0).cumsum(dtype=np.int32) - 1
            return np.flatnonzero(n_rows) + low, places[shifted]
    found, inverse = np.unique(array, return_inverse=True)
    return found, inverse.astype(np.int32)


def _distinct_objects(array: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    cells = array.tolist()
    held = sorted({x for x in cells if x == x})
    place = {x: code for code, x in enumerate(held)}
    found = np.empty(len(held), dtype=object)
    found[:] = held
    return found, np.array([place.get(x, MISSING) for x in cells], dtype=np.int32)


def bin_edges(
    array: NDArray[Any],
    bins: int,
    binning: Binning,
    kind: Kind = "number",
    rows: Rows = EVERY_ROW,
) -> tuple[float, ...]:
    """Find the edges from the known, finite numbers; infinite ones fall into the end bins."""
    if binning == "mdl":
        return cut_line(array, kind, rows).edges
    if binning == "quantile":
        return _quantile_edges(array, bins, kind, rows)
    array = doubles(places(array, kind))
    low, high = extent(array)
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = extent(array[np.isfinite(array)])
    return uniform_edges(low, high, bins) if low < high else ONE_BIN


@dataclass(frozen=True)
class CutLine:
    """A column that was cut: its edges, the bin of each cell, and numbers that have each bin's extremes."""

    edges: tuple[float, ...]
    codes: NDArray[Any]
    ends: NDArray[Any]


def cut_line(array: NDArray[Any], kind: Kind, rows: Rows) -> CutLine:
    """Cut a column where the label changes (theory 11)."""
    assert rows.labels is not None
    spots, held = spots_of(array, kind)
    if not len(spots):
        return CutLine(ONE_BIN, bin_codes(array, ONE_BIN, kind), array)
    everywhere = len(spots) == len(array)
    labels = rows.labels if everywhere else rows.labels[held]
    weights = None if rows.weights is None else rows.weights[held]
    cells, which = dealt(spots, weights)
    edges = mdl_edges(cells, which, Rows(labels, weights))
    # No edge parts the numbers of a cell.
    codes: NDArray[Any] = bin_codes(cells.lows, edges, kind)[which]
    ends = np.concatenate([cells.lows, cells.highs])
    if not everywhere:
        own, beyond = codes, array[~held]
        codes = np.empty(len(array), dtype=own.dtype)
        codes[held], codes[~held] = own, bin_codes(beyond, edges, kind)
        ends = ends if kind == "date" else np.concatenate([ends, doubles(beyond)])
    # Moments that are rounded here are written as they are.
    rounded = kind == "date" and array.dtype.kind == "O" and spots.dtype.kind == "f"
    return CutLine(edges, codes, array if rounded else ends)


def spots_of(array: NDArray[Any], kind: Kind) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The finite places of a column, as doubles or whole microseconds, and which cells have one."""
    if kind == "date" and array.dtype.kind != "f":
        whole = places(array, kind)
        held = present(whole)
        known = whole[held].tolist()
        if max(map(abs, known), default=0) < _MOST_MICROSECONDS:
            return np.array(known, dtype=np.int64), held
        return rounded_down(whole[held]), held
    spots = doubles(places(array, kind)).astype(np.float64, copy=False)
    held = np.isfinite(spots)
    return spots if held.all() else spots[held], held


def mdl_edges(cells: Cells, which: NDArray[np.integer], rows: Rows) -> tuple[float, ...]:
    """The same for rows, or groups of rows, whose cells are known; without a cut there is one bin."""
    assert rows.labels is not None
    n_labels = int(rows.labels.max()) + 1
    keys = which * n_labels
    keys += rows.labels
    counts = tally(keys, rows.weights, len(cells.totals) * n_labels).reshape(-1, n_labels)
    ends = cells.lows, cells.highs
    if len(cells.totals) > CELLS:
        first = np.flatnonzero(np.diff(cells_of(cells.totals), prepend=-1))
        last = np.append(first[1:], len(cells.totals)) - 1
        counts = np.add.reduceat(counts, first, axis=0)
        ends = cells.lows[first], cells.highs[last]
    lows, highs = (rounded_down(x if x.dtype.kind == "f" else x.astype(object)) for x in ends)
    cuts = cell_cuts(lows, highs, counts)
    return (float(lows[0]), *cuts, float(highs[-1])) if cuts else ONE_BIN


def _quantile_edges(array: NDArray[Any], bins: int, kind: Kind, rows: Rows) -> tuple[float, ...]:
    """Edges between equally many rows, or between all numbers if there are no more than bins."""
    probe = array[: 100 * bins]
    # A sort of everything only where there may be few numbers, or where each has a weight.
    if rows.weights is None and len(line(probe, kind)[0]) > bins:
        known = rounded_down(places(array, kind))
        known = known[np.isfinite(known)]
        with np.errstate(over="ignore", invalid="ignore"):
            edges = np.quantile(known, np.linspace(0, 1, bins + 1))
        # Neighbours whose distance is no double have no quantile here, but below.
        if np.isfinite(edges).all():
            return _without_negative_zero(np.unique(edges))
    values, which, held = line(array, kind)
    if len(values) <= bins:
        return apart_edges(values)
    weights = None if rows.weights is None else rows.weights[held]
    ends = np.cumsum(tally(which, weights, len(values)))
    return quantile_edges(values, ends, int(ends[-1]), bins)


def apart_edges(values: NDArray[np.float64]) -> tuple[float, ...]:
    """Edges that keep all numbers apart; the numbers are in order."""
    if len(values) < 2 or not values[0] < values[-1]:
        return ONE_BIN
    inner = [between(a, b) for a, b in pairwise(values.tolist()) if a < b]
    return (float(values[0]), *inner, float(values[-1]))


def uniform_edges(low: float, high: float, bins: int) -> tuple[float, ...]:
    """The edges of bins of equal width."""
    if math.isinf(high - low):
        # The width is no double: halve the numbers, which is exact at this size.
        return _without_negative_zero(np.linspace(low / 2, high / 2, bins + 1) * 2)
    return _without_negative_zero(np.linspace(low, high, bins + 1))


def quantile_places(n_rows: int, bins: int) -> tuple[Whole, Whole, NDArray[np.float64]]:
    """Where the quantiles lie among the sorted rows: between which two, and how far."""
    exact = (n_rows - 1) * np.linspace(0, 1, bins + 1)
    before = np.floor(exact).astype(np.int64)
    return before, np.minimum(before + 1, n_rows - 1), exact - before


def quantile_edges(
    values: NDArray[np.float64], ends: Whole, n_rows: int, bins: int
) -> tuple[float, ...]:
    """The edges that NumPy's quantiles of all rows would be; ``ends`` counts the rows up to each."""
    before, after, parts = quantile_places(n_rows, bins)
    low = values[np.searchsorted(ends, before, side="right")]
    high = values[np.searchsorted(ends, after, side="right")]
    edges = map(_part_between, low.tolist(), high.tolist(), parts.tolist())
    return _without_negative_zero(np.unique(np.array([*edges])))


def _part_between(low: float, high: float, part: float) -> float:
    if math.isinf(high - low):
        # As for bins of equal width: halve the numbers.
        return 2 * _part_between(low / 2, high / 2, part)
    return float(np.quantile(np.array([low, high]), np.array([part]))[0])


def _without_negative_zero(edges: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple((edges + 0.0).tolist())


def extent(array: NDArray[Any]) -> tuple[float, float]:
    """The least and the greatest number, NaN aside; both NaN if there is none."""
    if not array.size:
        return (math.nan, math.nan)
    array = doubles(array)
    return float(np.fmin.reduce(array)), float(np.fmax.reduce(array))
