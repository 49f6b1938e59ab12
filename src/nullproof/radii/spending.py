"""The weakest completion of a point: how to spend cells on features whose values may be chosen (T15).

One winner, one rival. What a number of cells does in one feature, with the value that serves best, is a
row of logarithms. Features share nothing but the number of cells, so rows are joined one after the
other: the least sum for every number of cells. Its completion is then judged by integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.radii.reach import Reach

Integers = NDArray[np.int64]
# A winner without support falls whatever the rival has; a rival without one catches up with no other.
_NO_WINNER, _NO_RIVAL = -1e300, 1e150


class Choice(NamedTuple):
    """The values of one feature: the counts of the winner and the rival, and the cells that move them."""

    feature: int
    values: NDArray[np.intp]
    low: Integers
    high: Integers
    lower: Integers
    upper: Integers

    @classmethod
    def of(
        cls, model: Model, reach: Reach, j: int, values: NDArray[np.intp], pair: tuple[int, int]
    ) -> Choice:
        """Look them up for a winner and a rival."""
        index, within, (winner, rival) = model.index, reach.index, pair
        moves = (values < index.n_values[j]) & (index.n_values[j] >= 2) & reach.columns[j]
        return cls(
            j,
            values,
            index.low(j, values)[:, winner],
            index.high(j, values)[:, rival],
            np.where(moves, within.exact(j, values)[:, winner], 0),
            np.where(moves, within.label_counts[rival] - within.high(j, values)[:, rival], 0),
        )

    def leads(self, n_cells: Integers, alpha: float) -> Floats:
        """Values × numbers of cells: the winner's log count less the rival's, as low as it gets.

        As cells move from one label to the other, a quotient of counts rises or falls throughout. So
        either the winner gets as many as it can take, or the rival.
        """
        lower, upper = self.lower[:, None], self.upper[:, None]
        b, a = np.minimum(n_cells, lower), np.minimum(n_cells, upper)
        pairs = ((b, np.minimum(n_cells - b, upper)), (np.minimum(n_cells - a, lower), a))
        return np.minimum(*(self._lead(b, a, alpha) for b, a in pairs))

    def _lead(self, n_lower: Integers, n_raise: Integers, alpha: float) -> Floats:
        own = self.low[:, None] - n_lower + alpha
        other = self.high[:, None] + n_raise + alpha
        with np.errstate(divide="ignore"):
            lead = np.where(own > 0, np.log(own), _NO_WINNER)
            return lead - np.where(other > 0, np.log(other), -_NO_RIVAL)

    @property
    def n_useful(self) -> int:
        """So many cells change a count at most."""
        return int((self.lower + self.upper).max())

    def magnitude(self, alpha: float) -> float:
        """The size of the largest logarithm that occurs."""
        ends = np.concatenate([self.low - self.lower, self.high + self.upper, self.low, self.high])
        logs = np.log(np.maximum(ends + alpha, alpha or 1.0))
        return float(np.abs(logs).max())


class Spending:
    """All ways to spend cells on an incomplete point that let a rival catch up with the winner.

    ``choices`` are the features that the point does not leave out.
    """

    def __init__(self, model: Model, pair: tuple[int, int], choices: Sequence[Choice]) -> None:
        self._choices, self._alpha = choices, float(model.alpha)
        weights = [_log_weights(model, label, choices) for label in pair]
        self._base = math.fsum(weights[0]) - math.fsum(weights[1])
        magnitude = sum(2 * choice.magnitude(self._alpha) for choice in choices)
        magnitude += sum(abs(weight) for own in weights for weight in own if weight > -_NO_RIVAL)
        self.slack = 8 * float(model.slack(magnitude))
        self._n_useful = sum(choice.n_useful for choice in choices)

    def most(self, at_most: float) -> int:
        """How many cells are worth spending, if no more than some are."""
        return int(min(at_most, self._n_useful))

    def work(self, at_most: float) -> float:
        """How many pairs of numbers of cells are joined; each takes about a nanosecond."""
        return len(self._choices) * float(self.most(at_most)) ** 2 / 2

    def is_hopeless(self) -> bool:
        """Whether the rival surely stays behind whatever is spent."""
        n_cells = np.array([self._n_useful])
        ends = [choice.leads(n_cells, self._alpha).min() for choice in self._choices]
        return bool(self._base + sum(ends) > self.slack)

    def fewest(self, at_most: float) -> tuple[int, dict[int, int]] | None:
        """The fewest cells that may be enough, at most so many, and a value per feature; or None."""
        n_cells = np.arange(self.most(at_most) + 1)
        tables, rows = [np.full(len(n_cells), self._base)], []
        for choice in self._choices:
            rows.append(choice.leads(n_cells, self._alpha))
            tables.append(_joined(tables[-1], rows[-1].min(axis=0)))
        enough = np.flatnonzero(tables[-1] <= self.slack)
        if not len(enough):
            return None
        left, values = int(enough[0]), {}
        for choice, row, before in list(zip(self._choices, rows, tables, strict=False))[::-1]:
            spent = int(np.argmin(before[left::-1] + row.min(axis=0)[: left + 1]))
            values[choice.feature] = int(choice.values[np.argmin(row[:, spent])])
            left -= spent
        return int(enough[0]), values


def _joined(table: Floats, row: Floats) -> Floats:
    """The least sum for every number of cells, shared between those before and one more feature."""
    found: Floats = table + row[0]
    # One cell more that changes nothing here is better left to the others.
    for n in np.flatnonzero(row[1:] < row[:-1]).tolist():
        rest = found[n + 1 :]
        np.minimum(rest, table[: len(rest)] + row[n + 1], out=rest)
    return found


def _log_weights(model: Model, label: int, choices: Sequence[Choice]) -> list[float]:
    """The logarithms of what no count changes: the prior, and what stands below the line."""
    share = model.prior[label]
    sizes = [model.sizes[label][choice.feature] for choice in choices]
    if not share or not all(sizes):
        return [-_NO_RIVAL]
    q = model.alpha.denominator
    weights = [math.log(share.numerator), -math.log(share.denominator)]
    return weights + [math.log(q) - math.log(size) for size in sizes]
