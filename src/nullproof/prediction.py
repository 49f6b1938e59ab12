"""Plain predictions: Naive Bayes that skips missing cells, as its users expect.

Each probability is estimated from the cells that are known, and lies between its least and its
greatest value over all worlds; so a certain point is always predicted its certain label (theory 2).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.model import Floats, Model, exact_prior
from nullproof.tables.points import Points
from nullproof.verdicts import verdicts

# Where doubles hold at all (`Model.floats_hold`) no logarithm of a count, prior or alpha exceeds this.
_LARGEST_LOG = 350.0
# Beyond these alphas doubles cannot tell what changes: counts are lost in its rounding, or it is.
_ALPHAS = (Fraction(1, 10**300), Fraction(10**100))


def log_supports(model: Model, points: Points) -> Floats:
    """The log support of each label (points × labels), estimated from known cells.

    A missing cell of a point is skipped; several candidates share their probabilities. The order of
    operations is that of scikit-learn's CategoricalNB, so that complete data give the same floats.
    """
    total = np.zeros((len(points), model.m))
    for j in range(model.d):
        used, places = points.used(j)
        total += _log_shares(model, points, j, used)[places]
    total += _log_prior(model)
    if model.alpha == 0:
        total[:, model.index.label_counts == 0] = -np.inf
    return total


def winners(model: Model, points: Points, supports: Floats) -> NDArray[np.intp]:
    """The label with the greatest support: the certain one where there is one, else by floats.

    Where no label has any support at all, the prior decides.
    """
    supports = np.where((supports == -np.inf).all(axis=1)[:, None], _log_prior(model), supports)
    best: NDArray[np.intp] = supports.argmax(axis=1)
    if model.m == 1:
        return best
    second, first = np.partition(supports, -2, axis=1)[:, -2:].T
    # A support of zero comes of a count of zero, without any rounding.
    doubt = 2 * model.slack(2 * _LARGEST_LOG * (model.d + 1))
    close = np.flatnonzero((second > -np.inf) & (first - second <= doubt))
    if not model.floats_hold:
        close = np.arange(len(points))
    if len(close):
        found = verdicts(model, points.take(close))
        best[close[found.certain]] = found.winner[found.certain]
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
    shares = np.zeros((len(used), model.m))
    plain = used <= points.n_values[j]
    shares[plain] = _log_estimates(model, j, used[plain])
    for place in np.flatnonzero(~plain):
        code = int(used[place])
        if points.kind(j, code) == "missing":
            continue
        codes = np.array(points.candidates(j, code))
        with np.errstate(divide="ignore"):
            shares[place] = np.log(np.exp(_log_estimates(model, j, codes)).sum(axis=0))
    return shares


def _log_estimates(model: Model, j: int, codes: NDArray[np.int32]) -> Floats:
    """``log((c + α) / (N_i + α·|dom_j|))`` over the rows whose cell is not missing.

    A cell with several candidates counts a fraction for each, which keeps the estimate within the
    range of all worlds; without any known cell every value is as likely as any other.
    """
    index = model.index
    alpha = float(min(max(model.alpha, _ALPHAS[0]), _ALPHAS[1])) if model.alpha else 0.0
    counts = index.exact(j, codes).astype(np.float64)
    for candidates, cells in index.sets[j].items():
        counts += np.isin(codes, candidates)[:, None] * (cells / len(candidates))
    n_values = float(index.n_values[j])
    inside = (codes < n_values)[:, None]
    # No world fills a hole with a value outside the domain: its share is of all rows.
    sizes = np.where(inside, _sizes(index, j, alpha), index.label_counts + alpha * n_values)
    with np.errstate(divide="ignore", invalid="ignore"):
        estimates = np.log(counts + alpha) - np.log(sizes)
    without_cells = np.where(inside, -np.log(n_values), -np.inf)
    return np.where(sizes == 0, without_cells, estimates)


def _sizes(index: CountIndex, j: int, alpha: float) -> Floats:
    """The known cells of each label, smoothed; summed as CategoricalNB does, to the last digit."""
    if index.sets[j]:
        known: Floats = index.label_counts - index.n_null[j] + alpha * float(index.n_values[j])
        return known
    return index.known[j].label_sums(alpha)


def _log_prior(model: Model) -> Floats:
    if model.prior != exact_prior(model.index, None):
        return model.log_prior
    counts = model.index.label_counts
    with np.errstate(divide="ignore"):
        frequencies: Floats = np.log(counts) - np.log(counts.sum())
    return frequencies
