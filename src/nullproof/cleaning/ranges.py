"""The counts of points as arrays: at least, at most, and as they will probably turn out.

A feature that a point leaves out (theory 9) counts `LEFT_OUT` everywhere: it is never open, and its
log term is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.data.points import Points
from nullproof.model.bias import Floats
from nullproof.model.model import Model

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Ranges:
    """Counts of points, each points × labels × features.

    Parameters
    ----------
    low, high
        The least and the greatest count over all worlds of the model's bias, and completions of an
        incomplete point.
    likely
        What the known cells of the label suggest, within these.
    least, most
        The same without any bias: what a group can turn out to hold once it is filled.
    """

    low: Integers
    high: Integers
    likely: Floats
    least: Integers
    most: Integers

    @classmethod
    def of(cls, model: Model, points: Points) -> Ranges:
        """Look the counts of all points up, each value of a feature once."""
        narrow, likely = _looked_up(model, points)
        if model.unbiased is model:
            return cls(*narrow, likely, *narrow)
        wide, _ = _looked_up(model.unbiased, points)
        return cls(*narrow, np.clip(likely, *narrow), *wide)

    @property
    def n_open(self) -> Integers:
        """How many cells of each group may or may not hold the point's value."""
        return self.most - self.least

    def take(self, positions: NDArray[np.intp]) -> Ranges:
        """The counts of some of the points."""
        low, high, likely = self.low[positions], self.high[positions], self.likely[positions]
        if self.least is self.low:
            return Ranges(low, high, likely, low, high)
        return Ranges(low, high, likely, self.least[positions], self.most[positions])


def _looked_up(model: Model, points: Points) -> tuple[tuple[Integers, Integers], Floats]:
    """The least and greatest counts within the model's bias, and the likely counts, whatever the bias."""
    index = model.index
    shape = (len(points), model.m, model.d)
    low, high = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
    likely = np.empty(shape)
    for j in range(model.d):
        used, places = points.used(j)
        candidates = [points.candidates(j, int(code)) for code in used]
        codes = np.array([code for own in candidates for code in own], dtype=np.int64)
        starts = np.cumsum([0, *map(len, candidates)])[:-1]
        least, most = model.low(j, codes), model.high(j, codes)
        surely, perhaps = least, most
        if model.bias[j] < 1:
            surely, perhaps = index.low(j, codes), index.high(j, codes)
        guess = surely + (perhaps - surely) * shares_of(index, j, codes)
        if len(codes) > len(used):
            least = np.minimum.reduceat(least, starts)
            most = np.maximum.reduceat(most, starts)
            guess = np.add.reduceat(guess, starts) / np.diff([*starts, len(codes)])[:, None]
        low[:, :, j], high[:, :, j], likely[:, :, j] = (
            least[places],
            most[places],
            guess[places],
        )
    return (low, high), likely


def open_counts(index: CountIndex) -> Integers:
    """Labels × features: cells with more than one candidate."""
    n_open = index.n_open.copy()
    n_open[index.n_values == 1] = 0
    return n_open.T


def shares_of(index: CountIndex, j: int, codes: Integers) -> Floats:
    """How frequent values are among the known cells of each label.

    One cell is added, spread evenly over the values, so that none counts as impossible.
    """
    n_known = index.label_counts - index.n_open[j]
    shares: Floats = (index.exact(j, codes) + 1 / int(index.n_values[j])) / (n_known + 1)
    return shares
