"""Plain predictions: Naive Bayes that skips missing cells, as its users expect.

Each probability is estimated from the cells that are known, which is the centre of the worlds of every
bias; so a point that is certain, or holds up to any bias, is always predicted that label (T11).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from nullproof.data.points import Points
from nullproof.model.bias import Floats, groups_of
from nullproof.model.model import Model
from nullproof.model.parameters import exact_prior

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
    """Return the label with the greatest support, decided exactly where floats are too close.

    In a tie it is the floats' choice; where no label has any support at all, the prior decides.
    """
    supports = _or_prior(model, log_supports(model, points))
    best: NDArray[np.intp] = supports.argmax(axis=1)
    for place, tops in _settled(model, points, supports):
        if best[place] not in tops:
            best[place] = tops[0]
    return best


def predictions(model: Model, points: Points) -> NDArray[np.int32]:
    """Return the position of each point's label with the greatest support; -1 where several tie."""
    supports = log_supports(model, points)
    best: NDArray[np.int32] = supports.argmax(axis=1).astype(np.int32)
    if model.m > 1:
        best[(supports == -np.inf).all(axis=1)] = -1
    for place, tops in _settled(model, points, supports):
        best[place] = tops[0] if len(tops) == 1 else -1
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


def _exact_shares(model: Model, points: Points, j: int, code: int) -> list[Fraction]:
    """Return the share of each label's rows that a cell stands for: what its weight is the exponent of.

    1 if the cell is skipped, 0 for a label without any support.
    """
    index, alpha = model.index, model.alpha
    sizes = [n + alpha * int(index.n_values[j]) for n in index.label_counts.tolist()]
    if _is_skipped(points, j, code) or not model.weights[j]:
        return [Fraction(bool(size)) for size in sizes]
    codes = np.array(points.candidates(j, code))
    # The open cells that hold a value, if each group is shared out like the known cells.
    counts = [[n + alpha for n in row] for row in index.low(j, codes).tolist()]
    for groups in groups_of(index, j, codes):
        for row, i in np.argwhere(groups.n_cells).tolist():
            share = Fraction(*groups.ratio((row, i), alpha))
            counts[row][i] += int(groups.n_cells[row, i]) * share
    totals = [sum(own, Fraction(0)) for own in zip(*counts, strict=True)]
    return [
        total / size if size else Fraction(0) for total, size in zip(totals, sizes, strict=True)
    ]


def _settled(model: Model, points: Points, supports: Floats) -> Iterator[tuple[int, list[int]]]:
    """Yield the points where floats cannot tell the two greatest supports apart, with all winners."""
    if model.m == 1:
        return
    second, first = np.partition(supports, -2, axis=1)[:, -2:].T
    doubt = 2 * model.slack(4 * _LARGEST_LOG * (model.d + 1))
    known: dict[bytes, list[int]] = {}
    # A support of zero comes of a count of zero, without any rounding: it is infinitely far from others.
    with np.errstate(invalid="ignore"):
        close = np.flatnonzero(first - second <= doubt)
    for place in close.tolist():
        key = points.codes[:, place].tobytes()
        if key not in known:
            exact = _exact_supports(model, points, place)
            known[key] = [i for i, support in enumerate(exact) if support == max(exact)]
        yield place, known[key]


def _exact_supports(model: Model, points: Points, place: int) -> list[Fraction]:
    """Return the supports of one point's labels, to the power that makes them fractions."""
    supports = [share**model.power for share in model.prior]
    for j, code in enumerate(points.codes[:, place].tolist()):
        shares = _exact_shares(model, points, j, code)
        exponent = model.exponents[j]
        # A weight of 0 leaves what rules a label out.
        powers = [share**exponent if exponent else share for share in shares]
        supports = [support * power for support, power in zip(supports, powers, strict=True)]
    return supports


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
