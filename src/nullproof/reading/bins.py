"""Bins: numbers and dates to the few intervals that Naive Bayes can count."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nullproof.schema import Kind, in_utc, text

Binning = Literal["uniform", "quantile"]
MISSING = -1
_EPOCH = dt.datetime(1970, 1, 1)


def code_type(n_values: int) -> type[np.signedinteger[Any]]:
    """Choose the narrowest type that holds -1 and ``n_values``: bytes are counted fastest."""
    if n_values < 2**7:
        return np.int8
    return np.int16 if n_values < 2**15 else np.int32


def bin_codes(array: NDArray[Any], edges: Sequence[float]) -> NDArray[Any]:
    """Number the bins as scikit-learn's KBinsDiscretizer does: count the inner edges not above x."""
    inner = np.array(edges[1:-1], dtype=np.float64)
    codes: NDArray[Any]
    if len(inner) < 32:
        codes = np.zeros(len(array), dtype=np.int8)
        # An array of one edge, not the edge: never compare in the precision of float32 columns.
        for edge in inner[:, None]:
            codes += array >= edge
    else:
        codes = np.searchsorted(inner, array, side="right")
        codes = codes.astype(code_type(len(edges)))
    if array.dtype.kind == "f":
        codes[np.isnan(array)] = MISSING
    return codes


def bin_edges(array: NDArray[Any], bins: int, binning: Binning) -> tuple[float, ...]:
    """Find the edges from the known, finite numbers; infinite ones fall into the end bins."""
    low, high = extent(array)
    if not (math.isfinite(low) and math.isfinite(high)):
        array = array[np.isfinite(array)]
        low, high = extent(array)
    if not low < high:
        return (-math.inf, math.inf)
    if binning == "uniform":
        return tuple(np.linspace(low, high, bins + 1).tolist())
    return tuple(np.unique(np.nanquantile(array, np.linspace(0, 1, bins + 1))).tolist())


def extent(array: NDArray[Any]) -> tuple[float, float]:
    """The least and the greatest number, NaN aside; both NaN if there is none."""
    if not array.size:
        return (math.nan, math.nan)
    return float(np.fmin.reduce(array)), float(np.fmax.reduce(array))


def interval_texts(edges: Sequence[float], kind: Kind) -> list[str]:
    """Write each bin as the interval that it is."""

    def write(number: float, digits: int) -> str:
        if kind == "date" and math.isfinite(number):
            when = at_microseconds(number)
            timespec = "seconds" if digits == 6 else "microseconds"
            return when.isoformat(sep=" ", timespec=timespec).removesuffix(" 00:00:00")
        return format(number, f".{digits}g")

    for digits in (6, 17):
        shown = [write(edge, digits) for edge in edges]
        if len(set(shown)) == len(shown):
            break
    texts = [f"[{a}, {b})" for a, b in pairwise(shown)]
    texts[-1] = texts[-1][:-1] + "]"
    return texts


def microseconds(value: dt.date) -> float:
    """Place a date or time stamp on the number line that date columns are binned on."""
    if not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    return (in_utc(value) - _EPOCH) / dt.timedelta(microseconds=1)


def parsed_date(written: str) -> float:
    """Read a date or time stamp as ISO 8601 writes it."""
    return microseconds(dt.datetime.fromisoformat(written.strip()))


def at_microseconds(number: float) -> dt.datetime:
    """The time stamp at a place on that number line."""
    return _EPOCH + dt.timedelta(microseconds=number)


def date_text(number: float) -> str:
    """Write the date or time stamp at a place on that number line."""
    return text(at_microseconds(number))
