"""Plain predictions: Naive Bayes that skips missing cells, as its users expect.

Each probability is estimated from the cells that are known, and lies between its least and its
greatest value over all worlds; so a robust point is always predicted its certain label.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nullproof.points import Points
from nullproof.support import Floats, Model, exact_prior, verdicts


def log_supports(model: Model, points: Points) -> Floats:
    """The log support of each label (points × labels), estimated from known cells.

    A missing cell of a point is skipped; several candidates share their probabilities. The order of
    operations is that of scikit-learn's CategoricalNB, so that complete data give the same floats.
    """
    total = np.zeros((len(points), model.m))
    for j in range(model.d):
        used, places = np.unique(points.codes[j], return_inverse=True)
        total += _log_shares(model, points, j, used)[places]
    return total + _log_prior(model)


def winners(model: Model, points: Points, supports: Floats) -> NDArray[np.intp]:
    """The label with the greatest support: the certain one where there is one, else by floats.

    Where no label has any support at all, the prior decides.
    """
    supports = np.where((supports == -np.inf).all(axis=1)[:, None], _log_prior(model), supports)
    best = supports.argmax(axis=1)
    if model.m == 1:
        return best
    second, first = np.partition(supports, -2, axis=1)[:, -2:].T
    with np.errstate(invalid="ignore"):
        # Here a term is a difference of two logarithms, each of them below 60.
        doubt = 2 * model.slack(60.0 * model.d - first - second)
        close = np.flatnonzero(~(first - second > doubt))
    if len(close):
        found = verdicts(model, points.take(close))
        robust = found.possible.sum(axis=1) == 1
        best[close[robust]] = found.possible[robust].argmax(axis=1)
    return best


def probabilities(model: Model, supports: Floats) -> Floats:
    """Supports as probabilities that sum to one; the prior where no label has any support."""
    top = supports.max(axis=1, keepdims=True)
    none = (top == -np.inf).ravel()
    supports = np.where(none[:, None], _log_prior(model), supports)
    shares = np.exp(supports - supports.max(axis=1, keepdims=True))
    normalised: Floats = shares / shares.sum(axis=1, keepdims=True)
    return normalised


def _log_shares(model: Model, points: Points, j: int, used: NDArray[np.int32]) -> Floats:
    size = int(points.n_values[j])
    shares = np.zeros((len(used), model.m))
    plain = used <= size
    shares[plain] = _log_estimates(model, j, used[plain])
    for place in np.flatnonzero(used > size + 1):
        codes = np.array(points.candidates(j, int(used[place])))
        with np.errstate(divide="ignore"):
            shares[place] = np.log(np.exp(_log_estimates(model, j, codes)).sum(axis=0))
    return shares


def _log_estimates(model: Model, j: int, codes: NDArray[np.int32]) -> Floats:
    """``log((c + α) / (N_i + α·|dom_j|))`` over the rows whose cell is not missing.

    A cell with several candidates counts a fraction for each, which keeps the estimate within the
    range of all worlds; without any known cell every value is as likely as any other.
    """
    index, alpha = model.index, float(model.alpha)
    counts = index.exact(j, codes).astype(np.float64)
    for candidates, cells in index.sets[j].items():
        counts += np.isin(codes, candidates)[:, None] * (cells / len(candidates))
    size = index.label_counts - index.n_null[j] + alpha * float(index.n_values[j])
    with np.errstate(divide="ignore", invalid="ignore"):
        estimates = np.log(counts + alpha) - np.log(size)
    return np.where(size > 0, estimates, -np.log(float(index.n_values[j])))


def _log_prior(model: Model) -> Floats:
    if model.prior != exact_prior(model.index, None):
        return model.log_prior
    counts = model.index.label_counts
    with np.errstate(divide="ignore"):
        frequencies: Floats = np.log(counts) - np.log(counts.sum())
    return frequencies
