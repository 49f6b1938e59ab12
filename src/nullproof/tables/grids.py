"""Which neighbours on a line of numbers are told apart when cuts are looked for (theory 11).

A line is dealt into cells of equal width, and where many rows crowd into one cell, that again. The cells
follow from the numbers and how often each occurs. They need differences, products with powers of two
and comparisons alone, which are the same doubles in NumPy and in every engine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A stretch has more than half as many cells as this, and not more.
GRID = 2**14
# A cell with several numbers and more than one in so many rows is crowded.
SHARE = 1024
_LARGEST_POWER = 1000
_FEW_CODES, _FEW_ROWS = 8, 2048
_Whole = NDArray[np.int64]


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
        """Whether the difference is no double: then numbers are halved first.

        That is a whole line. Crowded cells are fewer than `SHARE`, an eighth of a line at most.
        """
        with np.errstate(over="ignore"):
            return bool(np.isinf(self.highs - self.lows).any())

    @cached_property
    def factors(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How many cells have the width 1, as two factors: of the two, each is a double."""
        scale = 0.5 if self.halved else 1
        widths = (self.highs * scale - self.lows * scale).astype(np.float64)
        powers = int(math.log2(GRID)) - np.frexp(widths)[1]
        first = np.minimum(powers, _LARGEST_POWER)
        return np.ldexp(1.0, first), np.ldexp(1.0, powers - first)

    def keys(self, spots: NDArray[Any], which: NDArray[np.integer] | int) -> _Whole:
        """Number the cells that places in these stretches lie in; ``which`` tells the stretch of each.

        The last cell of a stretch and the first of the next are not neighbours.
        """
        lows = self.lows[which]
        offsets = spots * 0.5 - lows * 0.5 if self.halved else spots - lows
        offsets = offsets.astype(np.float64, copy=False)
        for factor in self.factors:
            if np.any(factor != 1.0):
                offsets *= factor[which]
        keys: _Whole = offsets.astype(np.int64)
        if len(self) == 1:
            return keys
        return keys + which * (GRID + 1)


@dataclass(frozen=True)
class Cells:
    """Cells in the order of their numbers: the least and the greatest number, and the rows of each."""

    lows: NDArray[Any]
    highs: NDArray[Any]
    totals: _Whole

    def crowded(self, n_rows: int) -> NDArray[np.bool_]:
        """Which cells are to be dealt again."""
        found: NDArray[np.bool_] = (self.lows < self.highs) & (self.totals * SHARE > n_rows)
        return found

    def runs(self, keys: _Whole, crowded: NDArray[np.bool_]) -> tuple[Stretches, _Whole]:
        """Crowded neighbours as one stretch each, and the number of the stretch of every cell."""
        places = np.flatnonzero(crowded)
        first = np.diff(keys[places], prepend=keys[places[0]] - 2) != 1
        last = np.append(first[1:], True)
        which = np.zeros(len(keys), dtype=np.int64)
        which[places] = np.cumsum(first) - 1
        return Stretches(self.lows[places[first]], self.highs[places[last]]), which


def dealt(
    spots: NDArray[Any], weights: _Whole | None = None, n_rows: int | None = None
) -> tuple[Cells, NDArray[np.intp]]:
    """The cells of some places on a line, and the number of each place's cell.

    Parameters
    ----------
    spots
        Doubles, or whole numbers so small that their differences are whole numbers too.
    weights
        How many rows each place stands for; None for one.
    n_rows
        The rows of the whole line, if these places are a crowded stretch of it.
    """
    total = len(spots) if weights is None else int(weights.sum())
    n_rows = total if n_rows is None else n_rows
    whole = Cells(*(np.array([end]) for end in (spots.min(), spots.max(), total)))
    if not whole.crowded(n_rows).any():
        return whole, np.zeros(len(spots), dtype=np.intp)
    keys, numbers = dense(Stretches(whole.lows, whole.highs).keys(spots, 0))
    found = [gathered((spots, spots), numbers, weights, len(keys))]
    crowded, active, own = found[0].crowded(n_rows), None, numbers
    while crowded.any():
        stretches, which = found[-1].runs(keys, crowded)
        inside = np.flatnonzero(crowded[own])
        active = inside if active is None else active[inside]
        part = spots[active]
        keys, own = dense(stretches.keys(part, which[own[inside]]))
        numbers[active] = own + sum(map(_size, found))
        own_weights = None if weights is None else weights[active]
        found.append(gathered((part, part), own, own_weights, len(keys)))
        crowded = found[-1].crowded(n_rows)
    return (found[0], numbers) if len(found) == 1 else in_order(found, numbers)


def _size(cells: Cells) -> int:
    return len(cells.lows)


def dense(keys: _Whole) -> tuple[_Whole, NDArray[np.intp]]:
    """The distinct keys, in order, and the place of each key among them; few of them without sorting."""
    size = int(keys.max()) + 1
    if size > 2**20 + 4 * len(keys):
        return np.unique(keys, return_inverse=True)
    found = np.bincount(keys).nonzero()[0]
    places = np.empty(size, dtype=np.intp)
    places[found] = np.arange(len(found))
    return found, places[keys]


def gathered(
    ends: tuple[NDArray[Any], NDArray[Any]],
    places: NDArray[np.intp],
    weights: _Whole | None,
    size: int,
) -> Cells:
    """Put numbers, or groups of which the least and the greatest are known, together to cells."""
    lows, highs = extremes(ends, places, size)
    return Cells(lows, highs, tally(places, weights, size))


def extremes(
    ends: tuple[NDArray[Any], NDArray[Any]], places: NDArray[np.integer], size: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The least and the greatest number at each place; where there is none, the least is the greater."""
    kind = ends[0].dtype
    least, greatest = (-math.inf, math.inf)
    if kind.kind != "f":
        least, greatest = np.iinfo(kind).min, np.iinfo(kind).max
    lows, highs = np.full(size, greatest, dtype=kind), np.full(size, least, dtype=kind)
    with np.errstate(invalid="ignore"):
        np.minimum.at(lows, places, ends[0])
        np.maximum.at(highs, places, ends[1])
    return lows, highs


def tally(codes: NDArray[np.integer], weights: _Whole | None, size: int) -> _Whole:
    """Add up the rows of each code."""
    if weights is None and size <= _FEW_CODES and len(codes) > _FEW_ROWS:
        # To compare all is faster than to count each at its place, but takes longer to begin.
        return np.array([np.count_nonzero(codes == code) for code in range(size)], dtype=np.int64)
    # As doubles weights are exact: no table has 2**53 rows.
    return np.bincount(codes, weights, minlength=size).astype(np.int64)


def in_order(found: list[Cells], numbers: NDArray[np.intp]) -> tuple[Cells, NDArray[np.intp]]:
    """The cells that were not dealt again, by size."""
    lows, highs, totals = (
        np.concatenate([getattr(cells, name) for cells in found])
        for name in ("lows", "highs", "totals")
    )
    used = np.flatnonzero(np.bincount(numbers, minlength=len(lows)))
    used = used[np.argsort(lows[used], kind="stable")]
    rank = np.zeros(len(lows), dtype=np.intp)
    rank[used] = np.arange(len(used))
    return Cells(lows[used], highs[used], totals[used]), rank[numbers]
