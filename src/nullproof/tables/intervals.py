"""How a bin is written: as its one number, as a range of whole numbers, or as an interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.tables.bins import bin_codes, places
from nullproof.tables.grids import extremes
from nullproof.tables.schema import Feature, Kind
from nullproof.tables.values import (
    LARGEST_DOUBLE_INTEGER,
    as_number,
    date_text,
    parsed_date,
    text,
)

# Of each bin that is in use, the least and the greatest number or moment that the table shows there.
Shown = Mapping[int, tuple[Any, Any]]
# Of so many cells in so few bins the extremes are found beside the edges.
_MANY, _FEW_EDGES, _SAMPLE = 50_000, 10, 4096
_FEWEST_DIGITS = 3
_ALL_DIGITS = 17


def shown_in(spots: NDArray[Any], codes: NDArray[np.integer], n_bins: int) -> dict[int, Any]:
    """The least and the greatest place that each bin holds; cells with a negative code are in none."""
    if spots.dtype.kind == "O":
        pairs = zip(codes.tolist(), spots.tolist(), strict=True)
        return both_shown(*({b: (x, x)} for b, x in pairs if b >= 0))
    # Cells in no bin end up in the last place, which is not looked at.
    lows, highs = extremes((spots, spots), codes, n_bins + 1)
    used = np.flatnonzero(lows[:-1] <= highs[:-1]).tolist()
    return {b: (lows[b].item(), highs[b].item()) for b in used}


def shown_cells(
    spots: NDArray[Any], codes: NDArray[np.integer], edges: Sequence[float]
) -> dict[int, Any]:
    """The same for a column in the bins between edges."""
    if spots.dtype == np.float64 and len(spots) > _MANY and len(edges) < _FEW_EDGES:
        return _shown_beside(spots, edges[1:-1])
    return shown_in(spots, codes, len(edges) - 1)


def _shown_beside(numbers: NDArray[np.float64], inner: Sequence[float]) -> dict[int, Any]:
    """Look on both sides of each inner edge: twice as fast as to compare by bin.

    Some numbers tell how far to look, and few of the others are that near.
    """
    some = numbers[:: len(numbers) // _SAMPLE]
    lows, highs = [float(np.fmin.reduce(numbers))], []
    for edge in inner:
        below = some[some < edge].max(initial=-math.inf)
        above = some[some >= edge].min(initial=math.inf)
        near = numbers[(numbers >= below) & (numbers <= above)]
        highs.append(float(near[near < edge].max(initial=-math.inf)))
        lows.append(float(near[near >= edge].min(initial=math.inf)))
    highs.append(float(np.fmax.reduce(numbers)))
    used = [low < edge for low, edge in zip(lows, inner, strict=False)]
    used.append(highs[-1] >= max(inner, default=-math.inf))
    return {b: (lows[b], highs[b]) for b in np.flatnonzero(used).tolist()}


def both_shown(*parts: Shown) -> dict[int, Any]:
    """What several parts of a table show together."""
    found: dict[int, Any] = {}
    for part in parts:
        for b, (low, high) in part.items():
            least, greatest = found.get(b, (low, high))
            found[b] = (min(least, low), max(greatest, high))
    return found


def shown_numbers(array: NDArray[Any], edges: tuple[float, ...], kind: Kind) -> Shown:
    """The least and the greatest of some numbers in each bin."""
    return shown_in(places(array, kind), bin_codes(array, edges, kind), len(edges) - 1)


def binned_feature(name: str, kind: Kind, edges: tuple[float, ...], shown: Shown) -> Feature:
    """The feature of a column that holds some of its bins."""
    return Feature(name, kind, edges=edges, **_written(bin_texts(edges, kind, shown)))


def _written(texts: Mapping[int, str]) -> dict[str, Any]:
    bins = tuple(sorted(texts))
    return {"bins": bins, "values": tuple(texts[b] for b in bins)}


def with_bins(feature: Feature, shown: Shown) -> Feature:
    """The feature with bins that came into use; one written as its one number may show more of them now."""
    texts = dict(zip(feature.bins, feature.values, strict=True))
    for b, pair in shown.items():
        text_now = _added_text(feature.edges, feature.kind, b, pair)
        if b not in texts:
            texts[b] = text_now
        elif _is_one(texts[b]) and texts[b] != text_now:
            before = parsed_date(texts[b]) if feature.kind == "date" else as_number(texts[b])
            ends = both_shown({b: pair}, {b: (before, before)})[b]
            texts[b] = _added_text(feature.edges, feature.kind, b, ends)
    return replace(feature, **_written(texts))


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
    if kind == "date":
        texts = _date_intervals(edges, shown)
    else:
        shown = {b: (float(low), float(high)) for b, (low, high) in shown.items()}
        whole = all(_is_whole(number) for pair in shown.values() for number in pair)
        texts = _ranges(edges, shown) if whole else _intervals(edges, shown)
    write = date_text if kind == "date" else number_text
    return {b: write(low) if low == high else texts[b] for b, (low, high) in sorted(shown.items())}


def number_text(number: float) -> str:
    """A number as values are written, a huge one with an exponent."""
    return text(number) if abs(number) <= LARGEST_DOUBLE_INTEGER else repr(number)


def _added_text(edges: Sequence[float], kind: Kind, b: int, shown: tuple[Any, Any]) -> str:
    """Write a bin that came into use when the others had been written."""
    if shown[0] == shown[1]:
        return date_text(shown[0]) if kind == "date" else number_text(float(shown[0]))
    write = _moment if kind == "date" else number_text
    low, high = shown if math.isinf(edges[0]) else edges[b : b + 2]
    return _bracketed(write(low), write(high), is_last=b == len(edges) - 2)


def shows_single_values(feature: Feature) -> bool:
    """Whether a column in bins shows one number or moment alone in each of them."""
    return bool(feature.edges) and all(map(_is_one, feature.values))


def _is_one(written: str) -> bool:
    """Whether the text of a bin is that of one number or moment."""
    return not written.startswith("[") and "–" not in written and " to " not in written


def _is_whole(number: float) -> bool:
    return number.is_integer() and abs(number) <= LARGEST_DOUBLE_INTEGER


def _ranges(edges: Sequence[float], shown: Shown) -> dict[int, str]:
    """The whole numbers from edge to edge; at both ends, from and to those that the table shows."""
    first, last = min(shown), max(shown)
    texts = {}
    for b, (low, high) in shown.items():
        least = int(low) if b == first else math.ceil(edges[b])
        greatest = int(high) if b == last else math.ceil(edges[b + 1]) - 1
        texts[b] = f"{least} to {greatest}" if least < 0 else f"{least}–{greatest}"
    return texts


def _intervals(edges: Sequence[float], shown: Shown) -> dict[int, str]:
    """Intervals, whose ends have as few digits as still part what the table shows there.

    They have three digits at least, and more than five only where two ends would be the same.
    """
    exact = _ends(edges, shown)
    for most in (5, _ALL_DIGITS):
        ends = [_shortest(i, exact, shown, most) for i in range(len(exact))]
        if all(low < high for low, high in pairwise(ends)):
            break
    texts, last = [number_text(end) for end in ends], len(edges) - 2
    return {b: _bracketed(texts[b], texts[b + 1], is_last=b == last) for b in shown}


def _ends(edges: Sequence[float], shown: Shown) -> Sequence[float]:
    """The edges; a column in one bin has none, and ends where its numbers do."""
    if math.isinf(edges[0]):
        return shown[0]
    return edges


def _shortest(i: int, edges: Sequence[float], shown: Shown, most: int) -> float:
    """The edge with the fewest digits that still is above all that is below it, and not above the rest."""
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


def _bracketed(low: str, high: str, *, is_last: bool) -> str:
    return f"[{low}, {high}{']' if is_last else ')'}"


def _date_intervals(edges: Sequence[float], shown: Shown) -> dict[int, str]:
    """Intervals of moments, to the second if that parts them."""
    ends = _ends(edges, shown)
    texts = [_second(end) for end in ends]
    if len({*texts}) < len(texts):
        texts = [_moment(end) for end in ends]
    last = len(texts) - 2
    return {
        b: _bracketed(low, high, is_last=b == last)
        for b, (low, high) in enumerate(pairwise(texts))
        if b in shown
    }


def _moment(edge: float) -> str:
    return date_text(round(edge))


def _second(edge: float) -> str:
    whole = round(edge)
    return date_text(whole - whole % 1_000_000)
