"""Learn the weight of each column from the known cells (theory 12).

Plain Naive Bayes treats every column as independent evidence, so redundant columns count twice. One
exponent per column, the same for all labels, corrects that. It is learned from the known cells, leaving
each row out of the counts for itself, and then fixed like the edges of bins: it is the same in every world.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.fields import Index
from nullproof.data.options import MOST_WEIGHT
from nullproof.data.schema import ONE
from nullproof.errors import notice

Floats = NDArray[np.float64]
# Fewer rows are too few to learn from, and more than the second number add hardly any information.
FEWEST_ROWS, MOST_ROWS = 100, 5_000
# Numbers worked on at a time, which fit into the cache, and numbers kept for the next pass.
_BLOCK, _KEPT = 1 << 17, 1 << 23
# Up to this many columns, a matrix of all pairs is made.
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
    n_rows = min(len(row_labels), MOST_ROWS)
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
        n_all = int(index.label_counts.sum())
        of_all = f"of {n_all:,} " if n_rows < n_all else ""
        notice(
            f"Weights learned from {n_rows:,} {of_all}rows; {n_zero:,} of {len(features):,} columns have "
            "weight 0, so their missing cells cannot matter"
        )
    weighted = (
        replace(feature, weight=weight)
        for feature, weight in zip(features, weights.tolist(), strict=True)
    )
    return replace(index, schema=replace(index.schema, features=tuple(weighted)))


class _Leads:
    """By how much each column prefers every other label to a row's own one, as logarithms.

    With the weights as exponents, these leads say how likely each label of each row is. They are
    looked up by value and label, block by block of rows: columns × all (other label, row).
    """

    def __init__(
        self,
        tables: Sequence[NDArray[np.int64]],
        codes: Sequence[NDArray[Any]],
        labels: NDArray[np.intp],
        label_counts: NDArray[np.int64],
    ) -> None:
        self.n_columns, self._n_labels, self._labels = len(tables), len(label_counts), labels
        sizes = np.array([len(counts) for counts in tables])
        first = sizes.cumsum() - sizes
        counts = np.concatenate(tables)
        # Where a cell is missing, the last row prefers no label.
        kind = np.int32 if counts.size < 2**30 else np.int64
        self._places = np.empty((len(tables), len(labels)), dtype=kind)
        for j, (own, at) in enumerate(zip(codes, first, strict=True)):
            self._places[j] = (
                np.where(own < 0, len(counts), own.astype(np.int64) + at) * self._n_labels
            )
        # The row is left out of the counts of its own label, but of no other.
        self._table, self._own_table = (_log_shares(counts, first, sizes, n) for n in (0, 1))
        self._frequency = np.log(np.maximum(label_counts, 0.5))
        self._own_frequency = np.log(np.maximum(label_counts - 1, 0.5))
        size = max(1, _BLOCK // (self.n_columns * (self._n_labels - 1)))
        self._parts = [slice(k, k + size) for k in range(0, len(labels), size)]
        n_numbers = self._places.size * (self._n_labels - 1)
        self._kept = [*map(self._looked_up, self._parts)] if n_numbers <= _KEPT else None

    def blocks(self) -> Iterable[tuple[Floats, Floats]]:
        """Return, block by block, the leads of the prior (other labels × rows) and those of the columns."""
        return map(self._looked_up, self._parts) if self._kept is None else self._kept

    def _looked_up(self, part: slice) -> tuple[Floats, Floats]:
        labels, places = self._labels[part], self._places[:, part]
        others = (labels + np.arange(1, self._n_labels)[:, None]) % self._n_labels
        leads = self._table.take(places[:, None] + others)
        leads -= self._own_table.take(places + labels)[:, None]
        prior = self._frequency[others] - self._own_frequency[labels]
        return prior, leads.reshape(self.n_columns, -1)


def _log_shares(
    counts: NDArray[np.int64], first: NDArray[np.int64], sizes: NDArray[np.int64], n_left_out: int
) -> Floats:
    """Return the logarithm of each value's smoothed share among the known cells of each label.

    The values of all columns follow each other; those of a column begin at ``first``.
    """
    # A value that no row of a label holds is never looked up for a row of that label.
    cells = np.maximum(counts + 1.0 - n_left_out, 1.0)
    totals = np.add.reduceat(counts, first) + sizes[:, None] - n_left_out
    shares = np.log(cells) - np.log(totals).repeat(sizes, axis=0)
    return np.append(shares, np.zeros((1, counts.shape[1])), axis=0)


class _Likelihood(NamedTuple):
    """What is maximised, its gradient, and the probability of each other label of each row, by block."""

    value: float
    gradient: Floats
    shares: list[Floats]

    @classmethod
    def of(cls, leads: _Leads, weights: Floats) -> _Likelihood:
        value, gradient, every = -0.5 * float(weights @ weights), -weights, []
        for prior, block in leads.blocks():
            logs = prior + (weights @ block).reshape(prior.shape)
            top = np.maximum(logs.max(axis=0), 0.0)
            likely = np.exp(logs - top)
            total = likely.sum(axis=0) + np.exp(-top)
            likely /= total
            value -= float((top + np.log(total)).sum())
            gradient -= block @ likely.ravel()
            every.append(likely)
        return cls(value, gradient, every)


def _optimal_weights(leads: _Leads) -> Floats:
    """Maximise the log likelihood of the rows less half the squares of the weights, from 0 to 2.

    Projected Newton steps. The function is strictly concave, so there is one optimum whatever the order
    of rows and columns, and as its curvature is at least 1, the gradient bounds the distance to it.
    """
    weights, steepness, curvature = np.ones(leads.n_columns), 0.0, None
    now = _Likelihood.of(leads, weights)
    for _ in range(_MOST_STEPS):
        at_most, at_least = weights >= MOST_WEIGHT, weights <= 0
        free = ~(at_least & (now.gradient <= 0)) & ~(at_most & (now.gradient >= 0))
        before, steepness = steepness, np.abs(now.gradient[free]).max(initial=0.0)
        if steepness < _CLOSE:
            break
        if leads.n_columns > _MANY_COLUMNS:
            step = _conjugate_gradients(leads, now, free)
        else:
            # While progress is fast, the curvature of an earlier step will do.
            if curvature is None or steepness > before / 8:
                curvature = _curvature(leads, now)
            step = np.zeros(leads.n_columns)
            step[free] = np.linalg.solve(curvature[np.ix_(free, free)], now.gradient[free])
        length = 1.0
        while length > 1e-10:
            trial = np.clip(weights + length * step, 0.0, MOST_WEIGHT)
            after = _Likelihood.of(leads, trial)
            # Near the optimum a gain is smaller than the roundings of the sum.
            gain = 1e-4 * float(now.gradient @ (trial - weights)) - 1e-11 * abs(now.value)
            if after.value >= now.value + gain:
                break
            length /= 2
        else:
            break
        weights, now = trial, after
    return weights


def _curvature(leads: _Leads, now: _Likelihood) -> Floats:
    """Return the curvature of all pairs of columns: 1 plus the covariance of the leads over all rows."""
    curvature = np.eye(leads.n_columns)
    for (_, block), shares in zip(leads.blocks(), now.shares, strict=True):
        scaled = block * shares.ravel()
        means = scaled.reshape(len(block), *shares.shape).sum(axis=1)
        curvature += scaled @ block.T - means @ means.T
    return curvature


def _conjugate_gradients(leads: _Leads, now: _Likelihood, free: NDArray[np.bool_]) -> Floats:
    """Solve the Newton equations by products with vectors alone, in time in proportion to the columns.

    The closer the optimum, the more exactly they are solved.
    """
    rest = np.where(free, now.gradient, 0.0)
    step, direction, size = np.zeros(len(rest)), rest.copy(), float(rest @ rest)
    wanted = size * min(0.01, max(size, 1e-12))
    for _ in range(10 * len(rest)):
        bent = direction.copy()
        for (_, block), shares in zip(leads.blocks(), now.shares, strict=True):
            slopes = (direction @ block).reshape(shares.shape)
            slopes -= (shares * slopes).sum(axis=0)
            bent += block @ (shares * slopes).ravel()
        bent[~free] = 0.0
        length = size / float(direction @ bent)
        step += length * direction
        rest -= length * bent
        before, size = size, float(rest @ rest)
        if size <= wanted:
            break
        direction = rest + (size / before) * direction
    return step
