"""Where to cut a line of numbers so that the pieces tell about the label (theory 11).

The rule is Fayyad and Irani's. Everything here follows from counts alone: how many rows of each label have
each number. So the order of rows, the names of labels and the engine that counted do not matter.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

# A line with more cells than this is cut between cells of about equally many rows only.
CELLS = 1024
# Cuts that differ by less than so many bits a row are as good as each other, and a gain that exceeds
# its price by less does not pay: sums of logarithms are not more exact than that.
_SLACK = 2.0**-36
_Counts = NDArray[np.int64]
_Doubles = NDArray[np.float64]


def cells_of(totals: _Counts) -> NDArray[np.int64]:
    """Number the cells between which cuts are tried, from the rows of smaller cells, in order.

    Up to 1,024 cells stay as they are. Of more, one stays if it has at least one in 1,024 rows. The rows
    of the others are dealt into 1,024 equal shares, and neighbours that begin in the same share are one.
    """
    if len(totals) <= CELLS:
        return np.arange(len(totals))
    heavy = totals * CELLS >= totals.sum()
    light = np.where(heavy, 0, totals)
    share = (np.cumsum(light) - light) * CELLS // light.sum()
    keys = share + 2 * np.cumsum(heavy) - heavy
    return np.cumsum(np.diff(keys, prepend=keys[:1]) > 0)


def cell_cuts(lows: _Doubles, highs: _Doubles, counts: _Counts) -> tuple[float, ...]:
    """The cuts between cells, of which the least and the greatest number and the counts are known."""
    below = _running(counts)
    open_ = np.append(False, lows[1:] > highs[:-1])
    pieces, found = [(0, len(lows))], []
    while pieces:
        first, end = pieces.pop()
        cut = _best(below[:, first : end + 1], open_[first:end])
        if cut is not None:
            found.append(first + cut)
            pieces += [(first, first + cut), (first + cut, end)]
    return tuple(between(float(highs[cut - 1]), float(lows[cut])) for cut in sorted(found))


def between(low: float, high: float) -> float:
    """The edge between two neighbours: their middle, which must be above ``low``; else ``high``.

    Examples
    --------
    >>> between(1.0, 2.0), between(1.0, 1.0 + 2**-52)
    (1.5, 1.0000000000000002)
    """
    middle = (low + high) / 2
    if math.isinf(middle):
        middle = low / 2 + high / 2
    return (middle if middle > low else high) + 0.0


def _running(counts: _Counts) -> _Counts:
    """Labels × cells: how many rows of each label lie before each cell, and in all.

    Labels stand in an order that follows from their counts, not from their names.
    """
    present = counts[:, counts.any(axis=0)]
    ordered = present[:, np.lexsort(present)] if present.size else present
    below = np.zeros((ordered.shape[1], len(counts) + 1), dtype=np.int64)
    np.cumsum(ordered.T, axis=1, out=below[:, 1:])
    return below


def _best(below: _Counts, open_: NDArray[np.bool_]) -> int | None:
    """The number of cells before the best cut of a piece, or None if that does not pay.

    Of cuts that are equally good, the one nearest the middle by rows counts, then the lower one.
    """
    cuts = np.flatnonzero(open_[1:]) + 1
    whole = below[:, -1] - below[:, 0]
    if not len(cuts) or np.count_nonzero(whole) < 2:
        return None
    left = below[:, cuts] - below[:, :1]
    bits = _bits(left) + _bits(whole[:, None] - left)
    n_rows = int(whole.sum())
    tied = np.flatnonzero(bits <= bits.min() + _SLACK * n_rows)
    off_middle = np.abs(2 * left[:, tied].sum(axis=0) - n_rows)
    best = tied[off_middle.argmin()]
    sides = left[:, best], whole - left[:, best]
    return int(cuts[best]) if _pays(whole, *sides) else None


def _pays(whole: _Counts, left: _Counts, right: _Counts) -> bool:
    """Fayyad and Irani's inequality, both sides times the number of rows."""
    n_rows = int(whole.sum())
    parts = (whole, left, right)
    bits = [float(_bits(part[:, None])[0]) for part in parts]
    spread = [
        np.count_nonzero(part) * b / int(part.sum()) for part, b in zip(parts, bits, strict=True)
    ]
    gain = bits[0] - bits[1] - bits[2]
    kinds = math.log2(3 ** int(np.count_nonzero(whole)) - 2)
    price = math.log2(n_rows - 1) + kinds - (spread[0] - spread[1] - spread[2])
    return bool(gain > price + _SLACK * n_rows)


def _bits(counts: _Counts) -> _Doubles:
    """Rows times entropy, of each column of counts by label."""
    bits: _Doubles = _times_log(counts.sum(axis=0)) - _times_log(counts).sum(axis=0)
    return bits


def _times_log(counts: _Counts) -> _Doubles:
    numbers = counts.astype(np.float64)
    product: _Doubles = numbers * np.log2(np.maximum(numbers, 1.0))
    return product
