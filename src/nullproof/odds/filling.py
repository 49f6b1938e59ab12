"""How chance fills the missing cells, and how many of them then hold a value.

Each cell is filled on its own, evenly or as the known cells of its label. For a point, cells of one
label and feature matter only by how many of them take the point's value: ``low`` of them surely, and
of each group of open cells a binomial number (theory 6).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.errors import NullproofError
from nullproof.model.bias import Floats
from nullproof.odds.learned import WHOLE, Learned
from nullproof.words import either

Cells = Literal["uniform", "observed", "model"]
# How chance fills cells: by name, or by what was learned from their rows, which is "model".
Rule = Cells | Learned
Integers = NDArray[np.int64]
_EPS = float(np.finfo(np.float64).eps)
# So many single cells are added up at once.
_TOGETHER = 32


class Open(NamedTuple):
    """Cells that each take the point's value with probability ``share / whole``, independently."""

    n_cells: int
    share: int
    whole: int


@dataclass(frozen=True)
class Count:
    """The distribution of a count: ``first``, ``first + 1``, … with ``probs``.

    ``error`` bounds its total variation distance from the true distribution.
    """

    first: int
    probs: Floats
    error: float


class Filling:
    """The chances of one index under one rule.

    Parameters
    ----------
    cells
        ``"uniform"``: every candidate of a cell is as likely as any other, which is counting worlds.
        ``"observed"``: candidates are as likely as they are frequent among the known cells of the
        same column and label; where none of them occurs there, they are all equally likely.
        What was `Learned`: as the rest of its row says, cell by cell.
    """

    def __init__(self, index: CountIndex, cells: Rule = "uniform") -> None:
        self.learned = cells if isinstance(cells, Learned) else None
        refuse_cells(cells)
        if cells == "model":
            raise NullproofError(
                "cells is 'model', which learns from the rows of the table; give cells=Learned.of(index, "
                "table), or 'uniform' or 'observed'"
            )
        if self.learned is not None and not _counted_alike(self.learned.index, index):
            raise NullproofError(
                "cells were learned from a table with other counts; give cells=Learned.of(index, table) of "
                "the same index"
            )
        self.index, self.cells = index, cells
        self._groups: dict[tuple[int, int], tuple[tuple[Open, ...], ...]] = {}

    def low(self, j: int, code: int) -> Integers:
        """Per label: the cells of feature ``j`` that hold the value in every world.

        `LEFT_OUT` for the code of a feature that a point leaves out.
        """
        found: Integers = self.index.low(j, np.array([code]))[0]
        return found

    def open(self, j: int, code: int) -> tuple[tuple[Open, ...], ...]:
        """Per label: the cells that may or may not hold the value, grouped by their chance."""
        key = (j, code)
        if key not in self._groups:
            gathered: list[dict[tuple[int, int], int]] = [{} for _ in self.index.labels]
            for n_cells, share, whole in self._sorts(j, code):
                for own, n, a, b in zip(gathered, n_cells, share, whole, strict=True):
                    if n:
                        common = math.gcd(int(a), int(b))
                        chance = (int(a) // common, int(b) // common)
                        own[chance] = own.get(chance, 0) + int(n)
            self._groups[key] = tuple(
                tuple(Open(n, a, b) for (a, b), n in own.items()) for own in gathered
            )
        return self._groups[key]

    def weights(self, j: int, candidates: tuple[int, ...]) -> Integers:
        """How likely each candidate of a cell is, candidates × labels, up to a factor per label."""
        if self.cells == "uniform":
            return np.ones((len(candidates), len(self.index.labels)), dtype=np.int64)
        known = self.index.exact(j, np.array(candidates))
        if self.learned is not None:
            # The cells of a label differ; all together hold each value as often as this says.
            rows, weights = self.learned.chances(j)
            labels = self.learned.row_labels[rows]
            # Candidates of a point may lie outside the domain.
            sums = np.zeros((weights.shape[1] + 1, len(self.index.labels)), dtype=np.int64)
            for i in np.unique(labels).tolist():
                sums[:-1, i] = weights[labels == i].sum(axis=0)
            here = sums[list(candidates)]
            known = np.where(here.sum(axis=0) > 0, here, known)
        return np.where(known.sum(axis=0) > 0, known, 1)

    def _sorts(self, j: int, code: int) -> Iterator[tuple[Integers, Integers, Integers]]:
        """Number of cells, share and whole per label, for each sort of open cells."""
        index, size = self.index, int(self.index.n_values[j])
        if code >= size or size == 1:
            return
        if self.learned is not None:
            yield from self._learned_sorts(self.learned, j, code)
            return
        ones = np.ones(len(index.labels), dtype=np.int64)
        if self.cells == "uniform":
            yield index.n_null[j], ones, ones * size
        else:
            known = index.label_counts - index.n_open[j]
            here = index.exact(j, np.array([code]))[0]
            seen = known > 0
            yield index.n_null[j], np.where(seen, here, 1), np.where(seen, known, size)
        for candidates, n_cells in index.sets[j].items():
            if code in candidates:
                weights = self.weights(j, candidates)
                yield n_cells, weights[candidates.index(code)], weights.sum(axis=0)

    def _learned_sorts(
        self, learned: Learned, j: int, code: int
    ) -> Iterator[tuple[Integers, Integers, Integers]]:
        """The same where every cell has a chance of its own: those with the same one together."""
        rows, weights = learned.chances(j)
        labels, m = learned.row_labels[rows], len(self.index.labels)
        shares, place = np.unique(weights[:, code], return_inverse=True)
        n_cells = np.zeros((len(shares), m), dtype=np.int64)
        np.add.at(n_cells, (place, labels), 1)
        for share, cells in zip(shares.tolist(), n_cells, strict=True):
            yield cells, np.full(m, share), np.full(m, WHOLE)


def _counted_alike(one: CountIndex, other: CountIndex) -> bool:
    # Indexes are also the same if their features are in another order, but codes go by that order.
    return one is other or (one.features == other.features and one == other)


def rule_of(
    index: CountIndex, cells: Rule, table: Any, labels: Sequence[Any] | None = None
) -> Rule:
    """The rule by its name; ``"model"`` is learned from the table that was counted."""
    refuse_cells(cells)
    return Learned.of(index, table, labels) if cells == "model" and table is not None else cells


def refuse_cells(cells: Any) -> None:
    """Refuse what is no way to fill cells."""
    if not isinstance(cells, Learned) and cells not in get_args(Cells):
        ways = either([repr(way) for way in get_args(Cells)])
        raise NullproofError(f"cells is {cells!r}; give {ways}")


def count_of(low: int, groups: tuple[Open, ...], cut: float) -> Count:
    """The distribution of ``low`` and a binomial number of each group.

    Parameters
    ----------
    cut
        The greatest probability that may be cut off at the tails.
    """
    each = cut / (2 * max(len(groups), 1))
    single = [group for group in groups if group.n_cells == 1]
    few = len(single) < _TOGETHER
    several = [group for group in groups if few or group.n_cells > 1]
    parts = [_binomial(group, each) for group in several]
    parts += [] if few else _single_cells(single)
    parts = parts or [Count(0, np.ones(1), 0.0)]
    # Two by two, so that few of many convolutions are of long ones.
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        joined = [_sum(one, other, each) for one, other in pairs]
        parts = [*joined, *parts[2 * len(joined) :]]
    return replace(parts[0], first=parts[0].first + low)


def _single_cells(groups: list[Open]) -> list[Count]:
    """The numbers of single cells with chances of their own, some cells at a time.

    A cell multiplies and adds positive numbers, six roundings at most.
    """
    found, n = [], len(groups)
    chances = np.zeros(-(-n // _TOGETHER) * _TOGETHER)
    chances[:n] = [group.share / group.whole for group in groups]
    probs = np.zeros((len(chances) // _TOGETHER, _TOGETHER + 1))
    probs[:, 0] = 1.0
    for chance in chances.reshape(len(probs), _TOGETHER).T[:, :, None]:
        hits = probs[:, :-1] * chance
        probs *= 1 - chance
        probs[:, 1:] += hits
    for block, own in enumerate(probs):
        size = min(n - block * _TOGETHER, _TOGETHER)
        found.append(Count(0, own[: size + 1].copy(), 6 * _TOGETHER * _EPS))
    return found


def distance(one: Count, other: Count) -> float:
    """A bound of the total variation distance between two counts."""
    if one is other:
        return 0.0
    first = min(one.first, other.first)
    last = max(count.first + len(count.probs) for count in (one, other))
    both = np.zeros((2, last - first))
    for row, count in zip(both, (one, other), strict=True):
        row[count.first - first : count.first - first + len(count.probs)] = count.probs
    apart = float(np.abs(both[0] - both[1]).sum()) / 2
    return apart * (1 + 1e-9) + one.error + other.error


def _sum(one: Count, other: Count, cut: float) -> Count:
    """The distribution of the sum of two independent numbers."""
    # All terms are positive, so a sum of k products is off by k + 1 roundings at most.
    rounding = _EPS * (min(len(one.probs), len(other.probs)) + 1)
    probs = np.convolve(one.probs, other.probs)
    both = Count(one.first + other.first, probs, one.error + other.error + rounding)
    return both if min(len(one.probs), len(other.probs)) == 1 else _trimmed(both, cut)


def _binomial(group: Open, cut: float) -> Count:
    """The numbers around the most likely one, from which neighbours follow by simple ratios.

    Hoeffding: beyond ``reach`` of the mean lies less than half of ``cut``. Every weight comes from
    at most ``len`` ratios of five roundings each; dividing by their sum adds as much again.
    """
    n, a, b = group
    if a == 0 or a == b:
        return Count(n if a else 0, np.ones(1), 0.0)
    reach = math.ceil(math.sqrt(n * math.log(4 / cut) / 2)) + 1
    mode = (n + 1) * a // b
    low, high = max(0, mode - reach), min(n, mode + reach)
    up = np.arange(mode, high, dtype=np.float64)
    down = np.arange(mode, low, -1, dtype=np.float64)
    odds = a / (b - a)
    with np.errstate(under="ignore"):
        rising = np.cumprod((n - up) / (up + 1) * odds)
        falling = np.cumprod(down / (n - down + 1) / odds)
        weights = np.concatenate([falling[::-1], [1.0], rising])
        probs = weights / weights.sum()
    error = (0.0 if low == 0 and high == n else cut / 2) + 12 * _EPS * len(probs)
    return _trimmed(Count(low, probs, error), cut / 2)


def _trimmed(count: Count, cut: float) -> Count:
    """Drop tails with a probability below ``cut`` in all, and spread it over the rest."""
    probs = count.probs
    start = int(np.searchsorted(np.cumsum(probs), cut / 2))
    stop = len(probs) - int(np.searchsorted(np.cumsum(probs[::-1]), cut / 2))
    if stop - start == len(probs):
        return count
    kept = probs[start:stop]
    lost = 1.01 * cut + _EPS * len(probs)
    return Count(count.first + start, kept / kept.sum(), count.error + lost)
