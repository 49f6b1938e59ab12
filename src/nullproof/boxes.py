"""The counts of points as arrays: at least, at most, and as they will probably turn out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.model import Floats
from nullproof.tables.points import Points

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Ranges:
    """Counts of points, each points × labels × features.

    Parameters
    ----------
    low, high
        The least and the greatest count over all worlds, and completions of an incomplete point.
    likely
        ``low`` and that share of the open cells that the known cells of the label suggest.
    """

    low: Integers
    high: Integers
    likely: Floats

    @classmethod
    def of(cls, index: CountIndex, points: Points) -> Ranges:
        """Look the counts of all points up, each value of a feature once."""
        shape = (len(points), len(index.labels), len(index.features))
        low, high = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
        likely = np.empty(shape)
        for j in range(shape[2]):
            used, places = points.used(j)
            candidates = [points.candidates(j, int(code)) for code in used]
            codes = np.array([code for own in candidates for code in own], dtype=np.int64)
            starts = np.cumsum([0, *map(len, candidates)])[:-1]
            least, most = index.low(j, codes), index.high(j, codes)
            guess = least + (most - least) * _shares(index, j, codes)
            if len(codes) > len(used):
                least = np.minimum.reduceat(least, starts)
                most = np.maximum.reduceat(most, starts)
                guess = np.add.reduceat(guess, starts) / np.diff([*starts, len(codes)])[:, None]
            low[:, :, j], high[:, :, j], likely[:, :, j] = (
                least[places],
                most[places],
                guess[places],
            )
        return cls(low, high, likely)

    def take(self, positions: NDArray[np.intp]) -> Ranges:
        """The counts of some of the points."""
        return Ranges(self.low[positions], self.high[positions], self.likely[positions])


def open_counts(index: CountIndex) -> Integers:
    """Labels × features: cells with more than one candidate."""
    n_open = index.n_open.copy()
    n_open[index.n_values == 1] = 0
    return n_open.T


def _shares(index: CountIndex, j: int, codes: Integers) -> Floats:
    """How frequent values are among the known cells of each label.

    One more cell, spread evenly, so that no value is held to be impossible.
    """
    n_known = index.label_counts - index.n_open[j]
    shares: Floats = (index.exact(j, codes) + 1 / int(index.n_values[j])) / (n_known + 1)
    return shares
