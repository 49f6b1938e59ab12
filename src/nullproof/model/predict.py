"""Plain predictions: Naive Bayes that skips missing cells.

Each probability is estimated from the cells that are known, which is the centre of the worlds of every
bias; so a point that is certain, or holds up to any bias, is always predicted that label (T11).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nullproof.data.points import Points
from nullproof.model.bias import Floats, groups_of
from nullproof.model.model import Model
from nullproof.model.parameters import exact_prior
from nullproof.model.verdicts import verdicts

# The limits of the parameters keep every logarithm of a count, a size or a prior below this.
_LARGEST_LOG = 50.0


def log_supports(model: Model, points: Points) -> Floats:
    """Return the log support of each label (points × labels), estimated from known cells.

    A missing cell of a point is skipped; several candidates share their probabilities. The order of
    operations is that of scikit-learn's CategoricalNB, so that complete data give the same floats.
    """
    total = np.zeros((len(points), model.m))
    for j in range(model.d):
        if model.weights[j]:
            used, places = points.used(j)
            shares = _log_shares(model, points, j, used)
            if not model.has_equal_weights:
                shares *= model.float_weights[j]
            total += shares[places]
    total += _log_prior(model)
    if model.alpha == 0:
        total[:, model.index.label_counts == 0] = -np.inf
    return total


def winners(model: Model, points: Points) -> NDArray[np.intp]:
    """Return the label with the greatest support; the verdict at a bias of 0 rules out close rivals.

    In a tie it is the floats' choice; where no label has any support at all, the prior decides.
    """
    supports = _or_prior(model, log_supports(model, points))
    best: NDArray[np.intp] = supports.argmax(axis=1)
    close, may_win = _close_calls(model, points, supports)
    best[close] = np.where(may_win, supports[close], -np.inf).argmax(axis=1)
    return best


def predictions(model: Model, points: Points) -> NDArray[np.int32]:
    """Return the position of each point's label with the greatest support; -1 where several tie.

    Supports that floats cannot tell apart tie unless the verdict at a bias of 0 decides between them.
    """
    supports = log_supports(model, points)
    best: NDArray[np.int32] = supports.argmax(axis=1).astype(np.int32)
    if model.m > 1:
        best[(supports == -np.inf).all(axis=1)] = -1
    close, may_win = _close_calls(model, points, supports)
    best[close] = np.where(may_win.sum(axis=1) == 1, may_win.argmax(axis=1), -1)
    return best


def probabilities(model: Model, points: Points) -> Floats:
    """Return supports as probabilities that sum to one; the prior where no label has any support."""
    supports = _or_prior(model, log_supports(model, points))
    shares = np.exp(supports - supports.max(axis=1, keepdims=True))
    normalised: Floats = shares / shares.sum(axis=1, keepdims=True)
    return normalised


def log_shares(model: Model, points: Points, j: int, code: int) -> Floats:
    """Return the log term of each label for one cell, by the known cells; 0 if the cell is skipped."""
    shares = np.zeros(model.m)
    if model.weights[j]:
        estimates = _log_shares(model, points, j, np.array([code], dtype=np.int32))[0]
        shares = model.float_weights[j] * estimates
    if model.alpha == 0:
        shares[model.index.label_counts == 0] = -np.inf
    return shares


def _close_calls(
    model: Model, points: Points, supports: Floats
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the points where floats cannot tell the two greatest supports apart, and who may win there.

    These are the labels that win or tie at a bias of 0, exactly: with missing cells as like the known ones
    as whole cells can be, and without any just the labels with the greatest support.
    """
    none = np.arange(0), np.zeros((0, model.m), dtype=bool)
    if model.m == 1:
        return none
    second, first = np.partition(supports, -2, axis=1)[:, -2:].T
    doubt = 2 * model.slack(4 * _LARGEST_LOG * (model.d + 1))
    # A support of zero comes from a count of zero, without rounding: it is infinitely far from others.
    with np.errstate(invalid="ignore"):
        close = np.flatnonzero(first - second <= doubt)
    if not len(close):
        return none
    return close, verdicts(model.everywhere(0), points.take(close).read("skip")).possible


def _is_skipped(points: Points, j: int, code: int) -> bool:
    """Return whether plain predictions leave a cell out: they skip what a point does not know."""
    return points.kind(j, code) in ("skipped", "missing")


def _or_prior(model: Model, supports: Floats) -> Floats:
    """Return the supports, and the prior for points where no label has any."""
    return np.where((supports == -np.inf).all(axis=1)[:, None], _log_prior(model), supports)


def _log_shares(model: Model, points: Points, j: int, used: NDArray[np.int32]) -> Floats:
    shares = np.zeros((len(used), model.m))
    plain = used <= points.n_values[j]  # values, and those outside the domain
    shares[plain] = _log_estimates(model, j, used[plain])
    for place in np.flatnonzero(~plain):
        code = int(used[place])
        if not _is_skipped(points, j, code):
            codes = np.array(points.candidates(j, code))
            with np.errstate(divide="ignore"):
                shares[place] = np.log(np.exp(_log_estimates(model, j, codes)).sum(axis=0))
    return shares


def _log_estimates(model: Model, j: int, codes: NDArray[np.int32]) -> Floats:
    """Return ``log((c + α) / (N_i + α·|dom_j|))`` over the rows whose cell is not missing.

    Cells with several candidates are shared out like the known ones; without any known cell every
    value is as likely as any other.
    """
    index, alpha = model.index, float(model.alpha)
    n_values = float(index.n_values[j])
    everything = index.label_counts + alpha * n_values
    if index.sets[j]:
        counts = index.low(j, codes).astype(np.float64)
        for groups in groups_of(index, j, codes):
            counts += groups.n_cells * groups.reference(alpha)
        sizes = np.broadcast_to(everything, counts.shape)
    else:
        counts = index.exact(j, codes).astype(np.float64)
        # No world fills a missing cell with a value outside the domain: its share is of all rows.
        inside = (codes < n_values)[:, None]
        # In the order in which CategoricalNB sums.
        sums = np.ascontiguousarray(index.known[j].T + alpha).sum(axis=1)
        sizes = np.where(inside, sums, everything)
    with np.errstate(divide="ignore", invalid="ignore"):
        estimates = np.log(counts + alpha) - np.log(sizes)
    return np.where(sizes == 0, -np.log(n_values), estimates)


def _log_prior(model: Model) -> Floats:
    if model.prior != exact_prior(model.index, None):
        return model.log_prior
    with np.errstate(divide="ignore"):
        frequencies: Floats = np.log(model.index.label_counts) - np.log(max(model.index.n_rows, 1))
    return frequencies
