"""Fill the missing cells of the training table by chance, and count how many hold a value.

Every missing cell is filled independently. For a point, the cells of one label and feature matter only by
how many of them take the point's value: a binomial number (theory 6).
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.data.points import Points
from nullproof.errors import NullproofError
from nullproof.model.bias import Floats

Cells = Literal["observed", "uniform"]
EPS = float(np.finfo(np.float64).eps)


class Binomial(NamedTuple):
    """So many cells, each of which takes a value with probability ``share / whole``, independently."""

    n_cells: int
    share: int
    whole: int


class Count(NamedTuple):
    """The distribution of a number: ``first``, ``first + 1``, … with ``probs``.

    ``error`` bounds its total variation distance from the true distribution.
    """

    first: int
    probs: Floats
    error: float


def chances(index: CountIndex, cells: Cells, j: int, code: int) -> list[Binomial]:
    """Return, per label, the missing cells of feature ``j`` that may hold a value.

    `label_odds` says what ``cells`` means.
    """
    size = int(index.n_values[j])
    # A domain of one value leaves no choice, and none may hold a value outside the domain.
    if code >= size or size == 1:
        return [Binomial(0, 0, 1)] * len(index.labels)
    share, whole = np.ones((2, len(index.labels)), dtype=np.int64)
    whole *= size
    if cells == "observed":
        known = index.label_counts - index.n_null[j]
        share = np.where(known > 0, index.exact(j, np.array([code]))[0], share)
        whole = np.where(known > 0, known, whole)
    rows = zip(index.n_null[j].tolist(), share.tolist(), whole.tolist(), strict=True)
    return [Binomial(*row) for row in rows]


def refuse(index: CountIndex, points: Points, question: str) -> None:
    """Reject points or tables without odds: chance fills only missing cells of the table."""
    if points.own_missing == "any":
        raise NullproofError(
            f"own_missing is 'any', which {question} does not accept: odds come from the known cells of "
            "a point; leave it at 'skip'"
        )
    if not points.complete.all():
        place = int(np.flatnonzero(~points.complete)[0])
        raise NullproofError(
            f"point {place} has several candidates for a cell, which {question} does not accept; give one "
            "value, or leave the cell missing"
        )
    if (name := _column_with_sets(index)) is not None:
        raise NullproofError(
            f"column {name!r} has cells with several candidates, which {question} does not accept; count "
            "them as missing, or use certify, tolerance or witness"
        )


def have_odds(index: CountIndex, points: Points) -> NDArray[np.bool_]:
    """Return which points have odds: those with at most one value in each cell."""
    return points.complete & (_column_with_sets(index) is None)


def _column_with_sets(index: CountIndex) -> str | None:
    for name, sets in zip(index.features, index.sets, strict=True):
        if any(n_cells.any() for n_cells in sets.values()):
            return name
    return None


def binomial(low: int, group: Binomial, cut: float) -> Count:
    """Return how likely each count is, without tails of a probability of at most ``cut``.

    ``low`` cells are known to hold the value, those of ``group`` may.

    Hoeffding: beyond ``reach`` of the mean lies less than half of ``cut``. Neighbours of the likeliest
    number follow by ratios: every weight comes from at most ``len`` ratios of five roundings each, and
    dividing by their sum adds as much again.
    """
    n, share, whole = group
    if n == 0 or share in (0, whole):
        return Count(low + (n if share == whole else 0), np.ones(1), 0.0)
    reach = math.ceil(math.sqrt(n * math.log(4 / cut) / 2)) + 1
    mode = (n + 1) * share // whole
    first, last = max(0, mode - reach), min(n, mode + reach)
    up = np.arange(mode, last, dtype=np.float64)
    down = np.arange(mode, first, -1, dtype=np.float64)
    ratio = share / (whole - share)
    with np.errstate(under="ignore"):
        rising = np.cumprod((n - up) / (up + 1) * ratio)
        falling = np.cumprod(down / (n - down + 1) / ratio)
        weights = np.concatenate([falling[::-1], [1.0], rising])
        probs = weights / weights.sum()
    error = (0.0 if first == 0 and last == n else cut / 2) + 12 * EPS * len(probs)
    return _without_tails(Count(low + first, probs, error), cut / 2)


def _without_tails(count: Count, cut: float) -> Count:
    """Drop tails with a probability of at most ``cut`` in all, and share it out among the rest."""
    probs = count.probs
    start = int(np.searchsorted(np.cumsum(probs), cut / 2))
    stop = len(probs) - int(np.searchsorted(np.cumsum(probs[::-1]), cut / 2))
    if stop - start == len(probs):
        return count
    kept = probs[start:stop]
    lost = 1.01 * cut + EPS * len(probs)
    return Count(count.first + start, kept / kept.sum(), count.error + lost)
