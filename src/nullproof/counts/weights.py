"""How much each column counts, learned from the known cells (theory 12).

Plain Naive Bayes counts every column as fresh news, so columns that repeat each other count twice. One
exponent per column, the same for all labels, mends that. It is learned from the known cells, each row
left out of its own counts, and then fixed, as the edges of bins are: it is the same in every world.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nullproof.data.options import MOST_WEIGHT
from nullproof.data.schema import ONE
from nullproof.errors import notice

if TYPE_CHECKING:
    from nullproof.counts.count import DenseCounts, IndexFields

Floats = NDArray[np.float64]
Index = TypeVar("Index", bound="IndexFields")
# Fewer rows are too few to learn from, and more than these tell hardly more.
FEWEST_ROWS, MOST_ROWS = 100, 5_000
# So many numbers are held at a time. Beyond the second limit, which only hundreds of labels or tens of
# thousands of columns reach, time is saved by learning from fewer rows.
_BLOCK, _MOST_NUMBERS = 4_000_000, 200_000_000
# Up to so many columns a matrix of all pairs is made.
_MANY_COLUMNS = 256
_MOST_STEPS, _CLOSE = 60, 1e-7


def with_learned_weights(
    index: Index,
    codes: Sequence[NDArray[Any]],
    row_labels: NDArray[np.integer],
    *,
    quiet: bool = False,
) -> Index:
    """Give the features of an index weights learned from its rows.

    A notice says how many are 0 if such a column has missing cells, unless it is to be ``quiet``.
    ``codes`` are the values of all rows, per feature, negative where a cell is not known.
    """
    features = index.schema.features
    several = [j for j, feature in enumerate(features) if feature.n_values > 1]
    n_labels = len(index.label_counts)
    if not several or n_labels < 2 or len(row_labels) < FEWEST_ROWS:
        return index
    affordable = max(FEWEST_ROWS, _MOST_NUMBERS // (len(several) * (n_labels - 1)))
    n_rows = min(len(row_labels), MOST_ROWS, affordable)
    # Spread evenly over the table.
    sample = np.arange(n_rows) * len(row_labels) // n_rows
    leads = _Leads(
        [index.known[j] for j in several],
        [codes[j][sample] for j in several],
        row_labels[sample].astype(np.intp),
        index.label_counts,
    )
    weights = np.zeros(len(features), dtype=np.int64)
    # Round to eighths; within a millionth of a half step, down.
    weights[several] = np.ceil(_optimal_weights(leads) * ONE - 0.5 - 1e-6 * ONE)
    n_zero = int(np.count_nonzero(weights == 0))
    if not quiet and index.n_open[weights == 0].any():
        notice(
            f"Weights learned from {n_rows:,} rows; {n_zero:,} of {len(features):,} columns have "
            "weight 0, their missing cells cannot matter"
        )
    weighted = (
        replace(feature, weight=weight)
        for feature, weight in zip(features, weights.tolist(), strict=True)
    )
    return replace(index, schema=replace(index.schema, features=tuple(weighted)))


class _Leads:
    """By how much each column prefers every other label to a row's own one, as logarithms.

    With the weights as exponents, these leads say how likely each label of each row is. They are
    looked up by value and label, block by block of rows if there are many.
    """

    def __init__(
        self,
        known: Sequence[DenseCounts],
        codes: Sequence[NDArray[Any]],
        labels: NDArray[np.intp],
        label_counts: NDArray[np.int64],
    ) -> None:
        self.n_columns, self._codes, self._labels = len(known), codes, labels
        self._n_labels = len(label_counts)
        self._others = (labels[:, None] + np.arange(1, self._n_labels)) % self._n_labels
        # The row is left out of the counts of its own label, but of no other.
        self._tables = [_log_shares(own.dense, 0) for own in known]
        self._own_tables = [_log_shares(own.dense, 1) for own in known]
        frequency = np.log(np.maximum(label_counts, 0.5))
        own_frequency = np.log(np.maximum(label_counts - 1, 0.5))
        self.prior = frequency[self._others] - own_frequency[labels][:, None]
        size = max(1, _BLOCK // (self.n_columns * (self._n_labels - 1)))
        self._parts = [slice(k, k + size) for k in range(0, len(labels), size)]

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Yield rows, and their leads: columns × all (row, other label)."""
        if len(self._parts) == 1:
            yield self._parts[0], self._all
            return
        for part in self._parts:
            yield part, self._looked_up(part)

    @cached_property
    def _all(self) -> Floats:
        return self._looked_up(self._parts[0])

    def _looked_up(self, part: slice) -> Floats:
        labels, others = self._labels[part], self._others[part]
        leads = np.empty((self.n_columns, *others.shape))
        for j, codes in enumerate(self._codes):
            # Code -1 wraps around to the last row of a table, where a missing cell prefers no label.
            places = codes[part].astype(np.intp) * self._n_labels
            own = self._own_tables[j].take(places + labels, mode="wrap")
            np.subtract(
                self._tables[j].take(places[:, None] + others, mode="wrap"),
                own[:, None],
                out=leads[j],
            )
        return leads.reshape(self.n_columns, -1)


def _log_shares(counts: NDArray[np.int64], n_left_out: int) -> Floats:
    """Return the logarithm of each value's smoothed share among the known cells of each label."""
    # A value that no row of a label holds is never looked up for a row of that label.
    cells = np.maximum(counts + 1.0 - n_left_out, 1.0)
    shares = np.log(cells) - np.log(counts.sum(axis=0) + len(counts) - n_left_out)
    return np.append(shares, np.zeros((1, counts.shape[1])), axis=0)


def _optimal_weights(leads: _Leads) -> Floats:
    """Maximise the log likelihood of the rows less half the squares of the weights, from 0 to 2.

    Projected Newton steps. The function is strictly concave, so there is one optimum whatever the order
    of rows and columns, and as its curvature is at least 1, the gradient bounds the distance to it.
    """
    weights = np.ones(leads.n_columns)
    value, gradient, shares = _likelihood(leads, weights)
    for _ in range(_MOST_STEPS):
        free = ~((weights <= 0) & (gradient <= 0)) & ~((weights >= MOST_WEIGHT) & (gradient >= 0))
        if not free.any() or np.abs(gradient[free]).max() < _CLOSE:
            break
        step = _newton_step(leads, shares, gradient, free)
        length = 1.0
        while length > 1e-10:
            trial = np.clip(weights + length * step, 0.0, MOST_WEIGHT)
            after = _likelihood(leads, trial)
            if after[0] >= value + 1e-4 * float(gradient @ (trial - weights)):
                break
            length /= 2
        else:
            break
        weights, (value, gradient, shares) = trial, after
    return weights


def _likelihood(leads: _Leads, weights: Floats) -> tuple[float, Floats, Floats]:
    """Return what is maximised, its gradient, and the probability of each other label of each row."""
    shares = np.empty(leads.prior.shape)
    value, gradient = -0.5 * float(weights @ weights), -weights
    for part, block in leads.blocks():
        logs = leads.prior[part] + (weights @ block).reshape(-1, shares.shape[1])
        top = np.maximum(logs.max(axis=1, keepdims=True), 0.0)
        likely = np.exp(logs - top)
        total = likely.sum(axis=1, keepdims=True) + np.exp(-top)
        shares[part] = likely / total
        value -= float((top + np.log(total)).sum())
        gradient -= block @ shares[part].ravel()
    return value, gradient, shares


def _newton_step(
    leads: _Leads, shares: Floats, gradient: Floats, free: NDArray[np.bool_]
) -> Floats:
    """Solve the Newton equations of the free weights.

    The curvature is 1 plus the covariance of the leads, summed over rows.
    """
    if leads.n_columns > _MANY_COLUMNS:
        return _conjugate_gradients(leads, shares, np.where(free, gradient, 0.0), free)
    curvature = np.eye(leads.n_columns)
    for part, block in leads.blocks():
        scaled = block * np.sqrt(shares[part]).ravel()
        curvature += scaled @ scaled.T
        weighted = block * shares[part].ravel()
        means = weighted.reshape(leads.n_columns, -1, shares.shape[1]).sum(axis=2)
        curvature -= means @ means.T
    step = np.zeros(leads.n_columns)
    step[free] = np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
    return step


def _conjugate_gradients(
    leads: _Leads, shares: Floats, gradient: Floats, free: NDArray[np.bool_]
) -> Floats:
    """Solve the same equations by products with vectors alone, in time in proportion to the columns.

    The closer the optimum, the more exactly they are solved.
    """
    step, rest = np.zeros(len(gradient)), gradient.copy()
    direction, size = rest.copy(), float(rest @ rest)
    wanted = size * min(0.01, max(size, 1e-12))
    for _ in range(10 * len(gradient)):
        bent = direction.copy()
        for part, block in leads.blocks():
            slopes = (direction @ block).reshape(-1, shares.shape[1])
            mean = (shares[part] * slopes).sum(axis=1, keepdims=True)
            bent += block @ (shares[part] * (slopes - mean)).ravel()
        bent[~free] = 0.0
        length = size / float(direction @ bent)
        step += length * direction
        rest -= length * bent
        before, size = size, float(rest @ rest)
        if size <= wanted:
            break
        direction = rest + (size / before) * direction
    return step
