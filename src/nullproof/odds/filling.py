"""How chance fills the missing cells of the training table, and how many of them then hold a value.

Every missing cell is filled on its own. For a point, the cells of one label and feature matter only by how
many of them take the point's value: a binomial number (theory 6).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.data.points import Points
from nullproof.errors import NullproofError
from nullproof.model.bias import Floats
from nullproof.words import either

Cells = Literal["observed", "uniform"]
Integers = NDArray[np.int64]
_EPS = float(np.finfo(np.float64).eps)


class Binomial(NamedTuple):
    """So many cells, each of which takes a value with probability ``share / whole``, independently."""

    n_cells: int
    share: int
    whole: int

    @property
    def fixed(self) -> int | None:
        """The number of cells that take the value, if chance has no say in it."""
        if self.n_cells == 0 or self.share == 0:
            return 0
        return self.n_cells if self.share == self.whole else None


class Count(NamedTuple):
    """The distribution of a number: ``first``, ``first + 1``, … with ``probs``.

    ``error`` bounds its total variation distance from the true distribution.
    """

    first: int
    probs: Floats
    error: float


class Filling:
    """How likely each value of a missing cell is.

    Parameters
    ----------
    cells
        ``"observed"``: a missing cell holds a value with the share that the value has among the known
        cells of the same column and label, without smoothing; so a value that the label never shows is
        never filled in. Where the label has no known cell in the column, all values are equally likely.
        ``"uniform"``: all values of the column's domain are equally likely, so odds are shares of worlds.
    """

    def __init__(self, index: CountIndex, cells: Cells = "observed") -> None:
        refuse_cells(cells)
        self.index, self.cells = index, cells

    def chances(self, j: int, code: int) -> list[Binomial]:
        """Return, per label, the missing cells of feature ``j`` that may hold a value."""
        index, size = self.index, int(self.index.n_values[j])
        # A domain of one value leaves no choice, and none may hold a value outside the domain.
        if code >= size or size == 1:
            return [Binomial(0, 0, 1)] * len(index.labels)
        share, whole = np.ones((2, len(index.labels)), dtype=np.int64)
        whole *= size
        if self.cells == "observed":
            known = index.label_counts - index.n_null[j]
            share = np.where(known > 0, index.exact(j, np.array([code]))[0], share)
            whole = np.where(known > 0, known, whole)
        rows = zip(index.n_null[j].tolist(), share.tolist(), whole.tolist(), strict=True)
        return [Binomial(*row) for row in rows]

    def weights(self, j: int, candidates: Sequence[int]) -> Integers:
        """Return how likely each candidate of a cell is (candidates × labels), up to a factor per label."""
        if self.cells == "uniform":
            return np.ones((len(candidates), len(self.index.labels)), dtype=np.int64)
        known = self.index.exact(j, np.array(candidates))
        return np.where(known.sum(axis=0) > 0, known, 1)


def refuse_cells(cells: Any) -> None:
    """Reject what is no way to fill cells."""
    if not isinstance(cells, str) or cells not in get_args(Cells):
        ways = either([repr(way) for way in get_args(Cells)])
        raise NullproofError(f"cells is {cells!r}; give {ways}")


def refuse(index: CountIndex, points: Points, question: str) -> None:
    """Reject points or a table without odds: chance fills missing cells of the table, and nothing else."""
    if points.own_missing == "any":
        raise NullproofError(
            f"own_missing is 'any', which {question} does not take: odds come from the cells that a point "
            "knows; leave it at 'skip'"
        )
    if not points.complete.all():
        place = int(np.flatnonzero(~points.complete)[0])
        raise NullproofError(
            f"point {place} has several candidates for a cell, which {question} does not take; give one "
            "value, or leave the cell missing"
        )
    if (name := _column_with_sets(index)) is not None:
        raise NullproofError(
            f"column {name!r} has cells with a few candidates, which {question} does not take; count them "
            "as missing, or ask certify, tolerance or witness"
        )


def have_odds(index: CountIndex, points: Points) -> NDArray[np.bool_]:
    """Return which points have odds: those with one value, or none, for each cell."""
    return points.complete & (_column_with_sets(index) is None)


def _column_with_sets(index: CountIndex) -> str | None:
    for name, sets in zip(index.features, index.sets, strict=True):
        if any(n_cells.any() for n_cells in sets.values()):
            return name
    return None


def binomial(group: Binomial, cut: float) -> Count:
    """Return how likely each number of cells is, without tails of a probability of at most ``cut``.

    Hoeffding: beyond ``reach`` of the mean lies less than half of ``cut``. Neighbours of the likeliest
    number follow by ratios: every weight comes from at most ``len`` ratios of five roundings each, and
    dividing by their sum adds as much again.
    """
    if group.fixed is not None:
        return Count(group.fixed, np.ones(1), 0.0)
    n, share, whole = group
    reach = math.ceil(math.sqrt(n * math.log(4 / cut) / 2)) + 1
    mode = (n + 1) * share // whole
    low, high = max(0, mode - reach), min(n, mode + reach)
    up = np.arange(mode, high, dtype=np.float64)
    down = np.arange(mode, low, -1, dtype=np.float64)
    ratio = share / (whole - share)
    with np.errstate(under="ignore"):
        rising = np.cumprod((n - up) / (up + 1) * ratio)
        falling = np.cumprod(down / (n - down + 1) / ratio)
        weights = np.concatenate([falling[::-1], [1.0], rising])
        probs = weights / weights.sum()
    error = (0.0 if low == 0 and high == n else cut / 2) + 12 * _EPS * len(probs)
    return _without_tails(Count(low, probs, error), cut / 2)


def _without_tails(count: Count, cut: float) -> Count:
    """Drop tails with a probability of at most ``cut`` in all, and share it out among the rest."""
    probs = count.probs
    start = int(np.searchsorted(np.cumsum(probs), cut / 2))
    stop = len(probs) - int(np.searchsorted(np.cumsum(probs[::-1]), cut / 2))
    if stop - start == len(probs):
        return count
    kept = probs[start:stop]
    lost = 1.01 * cut + _EPS * len(probs)
    return Count(count.first + start, kept / kept.sum(), count.error + lost)
