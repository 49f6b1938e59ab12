"""Bins: numbers and dates to the few intervals that Naive Bayes can count."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nullproof.tables.schema import Kind
from nullproof.tables.values import date_text, double

Binning = Literal["uniform", "quantile"]
MISSING = -1


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
    elif len(inner) < 32:
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


def bin_edges(
    array: NDArray[Any], bins: int, binning: Binning, kind: Kind = "number"
) -> tuple[float, ...]:
    """Find the edges from the known, finite numbers; infinite ones fall into the end bins."""
    array = doubles(places(array, kind))
    low, high = extent(array)
    if not (math.isfinite(low) and math.isfinite(high)):
        array = array[np.isfinite(array)]
        low, high = extent(array)
    if not low < high:
        return (-math.inf, math.inf)
    if binning == "uniform":
        return uniform_edges(low, high, bins)
    # In double precision, whatever the type: narrow integers overflow on the way.
    known = array.astype(np.float64)
    return quantile_edges(np.nanquantile(known, np.linspace(0, 1, bins + 1)))


def uniform_edges(low: float, high: float, bins: int) -> tuple[float, ...]:
    """The edges of bins of equal width."""
    if math.isinf(high - low):
        # The width is no double: halve the numbers, which is exact at this size.
        return _without_negative_zero(np.linspace(low / 2, high / 2, bins + 1) * 2)
    return _without_negative_zero(np.linspace(low, high, bins + 1))


def quantile_edges(quantiles: NDArray[np.float64]) -> tuple[float, ...]:
    """Edges at quantiles, of which many may be the same number."""
    return _without_negative_zero(np.unique(quantiles))


def _without_negative_zero(edges: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple((edges + 0.0).tolist())


def extent(array: NDArray[Any]) -> tuple[float, float]:
    """The least and the greatest number, NaN aside; both NaN if there is none."""
    if not array.size:
        return (math.nan, math.nan)
    array = doubles(array)
    return float(np.fmin.reduce(array)), float(np.fmax.reduce(array))


def interval_texts(edges: Sequence[float], kind: Kind) -> list[str]:
    """Write each bin as the interval that it is."""

    def write(number: float, digits: int) -> str:
        if kind == "date" and math.isfinite(number):
            whole = round(number)
            return date_text(whole if digits > 6 else whole - whole % 1_000_000)
        return format(number, f".{digits}g")

    for digits in (6, 17):
        shown = [write(edge, digits) for edge in edges]
        if len(set(shown)) == len(shown):
            break
    texts = [f"[{a}, {b})" for a, b in pairwise(shown)]
    texts[-1] = texts[-1][:-1] + "]"
    return texts
