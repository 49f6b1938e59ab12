"""Where to cut a line of numbers so that the pieces tell about the label (theory 11).

The rule is Fayyad and Irani's. Everything here follows from counts alone: how many rows of each label have
each number. So the order of rows, the names of labels and the engine that counted do not matter.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

# A line with more cells than this is cut between cells of about equally many rows only.
CELLS = 1024
# Cuts that differ by less than so many bits a row are as good as each other, and a gain that exceeds
# its price by less does not pay: sums of logarithms are not more exact than that.
_SLACK = 2.0**-36
# Logarithms of smaller counts are looked up.
_FEW = 4096
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
    cuts = (lows[1:] > highs[:-1]).nonzero()[0] + 1
    stops = [0, *cuts.tolist(), len(lows)]
    below = _running(counts).take(stops, axis=1)
    pieces, found = [(0, len(stops) - 1)], []
    while pieces:
        first, end = pieces.pop()
        cut = _best(below[:, first : end + 1])
        if cut is not None:
            found.append(stops[first + cut])
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
    """Labels × cells: how many rows of each label, and last of all, lie before each cell, and in all.

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


def _best(below: _Counts) -> int | None:
    """The best cut of a piece, or None if no cut pays; told are the rows before it, each cut and its end.

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
    bits = _bits(parts, n_rows)
    either = bits[:n_cuts] + bits[n_cuts + 1 :]
    tied = (either <= either.min() + _SLACK * n_rows).nonzero()[0]
    best = int(tied[np.abs(2 * left[-1, tied] - n_rows).argmin()])
    three = [n_cuts, best, n_cuts + 1 + best]
    return best + 1 if _pays(parts[:, three].T.tolist(), bits[three].tolist()) else None


def _pays(parts: list[list[int]], bits: list[float]) -> bool:
    """Fayyad and Irani's inequality for the whole, its left and its right, times the number of rows."""
    kinds = [sum(map(bool, labels)) for *labels, _ in parts]
    n_rows = parts[0][-1]
    spread = [k * b / part[-1] for k, b, part in zip(kinds, bits, parts, strict=True)]
    gain = bits[0] - bits[1] - bits[2]
    price = math.log2(n_rows - 1) + math.log2(3 ** kinds[0] - 2)
    price -= spread[0] - spread[1] - spread[2]
    return gain > price + _SLACK * n_rows


def _bits(counts: _Counts, most: int) -> _Doubles:
    """Rows times entropy, of each column of counts by label and of their sum, which is at most so large."""
    logs = _few_times_log()[counts] if most < _FEW else _times_log(counts)
    bits: _Doubles = logs[-1] - logs[:-1].sum(axis=0)
    return bits


@cache
def _few_times_log() -> _Doubles:
    return _times_log(np.arange(_FEW))


def _times_log(counts: _Counts) -> _Doubles:
    numbers = counts.astype(np.float64)
    product: _Doubles = numbers * np.log2(np.maximum(numbers, 1.0))
    return product
