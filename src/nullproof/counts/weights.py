"""How much each column counts, learned from the known cells (theory 12).

Plain Naive Bayes counts every column as fresh news, so columns that repeat each other count twice. One
exponent per column, the same for all labels, mends that. It is learned from the known cells, each row
left out of its own counts, and then fixed, as the edges of bins are: it is the same in every world.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nullproof.data.options import MOST_WEIGHT
from nullproof.data.schema import ONE, Feature
from nullproof.errors import notice

if TYPE_CHECKING:
    from nullproof.counts.count import DenseCounts

Floats = NDArray[np.float64]
# Fewer rows are too few to learn from, and more than these tell hardly more.
FEWEST_ROWS, MOST_ROWS = 100, 5_000
# The smoothing of the shares that are learned from.
_ALPHA = 1.0
# At most so many numbers are held at once: wide tables and many labels are learned from fewer rows.
_MOST_NUMBERS = 20_000_000
# Up to so many columns a matrix of all pairs is made; beyond, its products with vectors alone.
_MANY_COLUMNS = 256
_MOST_STEPS, _CLOSE = 60, 1e-7


def sampled_rows(n_rows: int, n_columns: int, n_labels: int) -> NDArray[np.intp]:
    """Return the rows to learn from: all up to 5,000, else as many, spread evenly over the table."""
    affordable = max(FEWEST_ROWS, _MOST_NUMBERS // max(1, n_columns * max(n_labels - 1, 1)))
    n_wanted = min(n_rows, MOST_ROWS, affordable)
    return np.arange(n_wanted) * n_rows // max(n_wanted, 1)


def with_learned_weights(
    features: Sequence[Feature],
    known: Sequence[DenseCounts],
    codes: Sequence[NDArray[Any]],
    labels: NDArray[np.integer],
    label_counts: NDArray[np.int64],
) -> list[Feature]:
    """Give features the weights that are learned, and tell how many are 0."""
    weights = learned_weights(known, codes, labels, label_counts, [f.n_values for f in features])
    n_zero = weights.count(0)
    if n_zero:
        notice(
            f"Weights learned from {len(labels):,} rows; {n_zero:,} of {len(features):,} columns have "
            "weight 0, their missing cells cannot matter"
        )
    return [replace(f, weight=weight) for f, weight in zip(features, weights, strict=True)]


def learned_weights(
    known: Sequence[DenseCounts],
    codes: Sequence[NDArray[Any]],
    labels: NDArray[np.integer],
    label_counts: NDArray[np.int64],
    n_values: Sequence[int],
) -> list[int]:
    """Learn one weight per column, in eighths, from the counts of a table and some of its rows.

    Parameters
    ----------
    known
        Per column: the known cells of the whole table, values × labels.
    codes
        Per column: the values of the sampled rows, negative where a cell is not known.
    labels
        The labels of the sampled rows.
    label_counts
        Rows of each label in the whole table.
    """
    weights = np.zeros(len(known), dtype=np.int64)
    several = [j for j, size in enumerate(n_values) if size > 1]
    if not several or len(label_counts) < 2 or label_counts.sum() < FEWEST_ROWS:
        return [ONE] * len(known)
    rows, m = np.arange(len(labels)), len(label_counts)
    # The other labels of each row; all leads are against its own.
    others = (labels[:, None] + np.arange(1, m)) % m
    leads = np.empty((len(labels), m - 1, len(several)))
    for place, j in enumerate(several):
        own = np.asarray(codes[j], dtype=np.int64)
        counts = known[j].rows(np.maximum(own, 0)).astype(np.float64)
        sizes = np.repeat(known[j].label_sums(_ALPHA)[None], len(labels), axis=0)
        counts += _ALPHA
        is_known = own >= 0
        counts[rows, labels] -= is_known
        sizes[rows, labels] -= is_known
        logs = np.log(counts) - np.log(sizes)
        logs[~is_known] = 0.0
        leads[:, :, place] = logs[rows[:, None], others] - logs[rows, labels][:, None]
    frequency = np.log(np.maximum(label_counts, 0.5))
    base = frequency[others] - np.log(np.maximum(label_counts - 1, 0.5))[labels][:, None]
    found = _greatest(base, leads)
    # Round to eighths; within a millionth of a half step, down.
    weights[several] = np.ceil(found * ONE - 0.5 - 1e-6 * ONE)
    return weights.tolist()


def _greatest(base: Floats, leads: Floats) -> Floats:
    """Maximise the log likelihood of the rows less half the squares of the weights, from 0 to 2.

    Projected Newton steps: it is strictly concave, so there is one optimum whatever the order of rows
    and columns, and as its curvature is at least 1, the gradient bounds the distance to it.
    """
    weights = np.ones(leads.shape[-1])
    value, gradient, shares = _likelihood(base, leads, weights)
    for _ in range(_MOST_STEPS):
        free = ~((weights <= 0) & (gradient <= 0)) & ~((weights >= MOST_WEIGHT) & (gradient >= 0))
        if not free.any() or np.abs(gradient[free]).max() < _CLOSE:
            break
        step = np.zeros(len(weights))
        step[free] = _newton(leads[:, :, free] if not free.all() else leads, shares, gradient[free])
        length = 1.0
        while length > 1e-10:
            trial = np.clip(weights + length * step, 0.0, MOST_WEIGHT)
            after = _likelihood(base, leads, trial)
            if after[0] >= value + 1e-4 * float(gradient @ (trial - weights)):
                break
            length /= 2
        else:
            break
        weights, (value, gradient, shares) = trial, after
    return weights


def _likelihood(base: Floats, leads: Floats, weights: Floats) -> tuple[float, Floats, Floats]:
    """Return what is maximised, its gradient, and the probability of each other label of each row."""
    logs = base + leads @ weights
    top = np.maximum(logs.max(axis=1, initial=0.0), 0.0)[:, None]
    shares = np.exp(logs - top)
    total = shares.sum(axis=1, keepdims=True) + np.exp(-top)
    shares /= total
    value = -float((top + np.log(total)).sum()) - 0.5 * float(weights @ weights)
    flat = leads.reshape(-1, leads.shape[-1])
    return value, -(shares.ravel() @ flat) - weights, shares


def _newton(leads: Floats, shares: Floats, gradient: Floats) -> Floats:
    """Solve the Newton equations: the curvature is 1 plus the covariance of the leads, summed over rows."""
    flat = leads.reshape(-1, leads.shape[-1])
    means = np.einsum("rl,rlj->rj", shares, leads)
    if len(gradient) <= _MANY_COLUMNS:
        scaled = flat * np.sqrt(shares).reshape(-1, 1)
        curvature = scaled.T @ scaled - means.T @ means + np.eye(len(gradient))
        return np.asarray(np.linalg.solve(curvature, gradient))

    def curved(vector: Floats) -> Floats:
        spread = (shares.ravel() * (flat @ vector)) @ flat
        return np.asarray(vector + spread - (means @ vector) @ means)

    # Conjugate gradients: time and memory in proportion to the columns.
    step, rest = np.zeros(len(gradient)), gradient.copy()
    direction, size = rest.copy(), float(rest @ rest)
    wanted = 1e-12 * size
    for _ in range(10 * len(gradient)):
        bent = curved(direction)
        length = size / float(direction @ bent)
        step += length * direction
        rest -= length * bent
        before, size = size, float(rest @ rest)
        if size <= wanted:
            break
        direction = rest + (size / before) * direction
    return step
