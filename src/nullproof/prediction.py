"""Plain predictions: Naive Bayes that skips missing cells, as its users expect.

Each probability is estimated from the cells that are known, which is the centre of the worlds of every
bias; so a point that is certain, or holds up to any bias, is always predicted that label (T11).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from nullproof.bias import Groups, groups_of
from nullproof.data.points import Points
from nullproof.model import Floats, Model
from nullproof.parameters import exact_prior

# Where doubles hold at all (`Model.floats_hold`) no logarithm of a count, prior or alpha exceeds this.
_LARGEST_LOG = 350.0
# Beyond these, a change of alpha is lost in the rounding of doubles anyway, so alpha is cut here.
_LEAST_ALPHA = Fraction(1, 10**300)
_MOST_ALPHA = Fraction(10**100)


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
    """The label with the greatest support, exact where floats are too close; in a tie, the floats' choice.

    Where no label has any support at all, the prior decides.
    """
    supports = _or_prior(model, supports)
    best: NDArray[np.intp] = supports.argmax(axis=1)
    for place, exact in _settled(model, points, supports):
        if max(exact) > exact[best[place]]:
            best[place] = exact.index(max(exact))
    return best


def predictions(model: Model, points: Points) -> NDArray[np.int32]:
    """The position of each point's label with the greatest support; -1 where several tie."""
    if model.m == 1:
        return np.zeros(len(points), dtype=np.int32)
    supports = log_supports(model, points)
    best = np.where((supports == -np.inf).all(axis=1), -1, supports.argmax(axis=1))
    for place, exact in _settled(model, points, supports):
        top = max(exact)
        best[place] = exact.index(top) if exact.count(top) == 1 else -1
    return best.astype(np.int32)


def _settled(
    model: Model, points: Points, supports: Floats
) -> Iterator[tuple[int, list[Fraction]]]:
    """The points where floats cannot tell, with their exact supports; equal points only once."""
    known: dict[bytes, list[Fraction]] = {}
    for place in _close(model, supports).tolist():
        key = points.codes[:, place].tobytes()
        if key not in known:
            known[key] = exact_supports(model, points, place)
        yield place, known[key]


def _close(model: Model, supports: Floats) -> NDArray[np.intp]:
    """The points where floats cannot tell the two greatest supports apart."""
    if model.m == 1:
        return np.arange(0)
    if not model.floats_hold:
        return np.arange(len(supports))
    second, first = np.partition(supports, -2, axis=1)[:, -2:].T
    doubt = 2 * model.slack(2 * _LARGEST_LOG * (model.d + 1))
    # A support of zero comes of a count of zero, without any rounding: it is infinitely far from others.
    with np.errstate(invalid="ignore"):
        return np.flatnonzero(first - second <= doubt)


def exact_supports(model: Model, points: Points, place: int) -> list[Fraction]:
    """The supports of one point's labels as fractions, with missing cells skipped."""
    found = [*model.prior]
    for j, code in enumerate(points.codes[:, place].tolist()):
        shares = exact_shares(model, points, j, code)
        found = [support * share for support, share in zip(found, shares, strict=True)]
    return found


def exact_shares(model: Model, points: Points, j: int, code: int) -> list[Fraction]:
    """What a cell multiplies each label's support by: 1 if it is skipped, 0 for a label without any."""
    index, alpha = model.index, model.alpha
    sizes = [n + alpha * int(index.n_values[j]) for n in index.label_counts.tolist()]
    if _is_skipped(points, j, code):
        return [Fraction(bool(size)) for size in sizes]
    codes = np.array(points.candidates(j, code))
    low, every = index.low(j, codes).tolist(), [*groups_of(index, j, codes)]
    return [
        sum(
            (_centre(every, row, i, alpha) + low[row][i] + alpha for row in range(len(codes))),
            Fraction(0),
        )
        / size
        if size
        else Fraction(0)
        for i, size in enumerate(sizes)
    ]


def _centre(every: list[Groups], row: int, i: int, alpha: Fraction) -> Fraction:
    """The open cells that hold a value if each group is shared out like the known cells."""
    of_groups = (
        int(groups.n_cells[row, i]) * Fraction(*groups.ratio((row, i), alpha)) for groups in every
    )
    return sum(of_groups, Fraction(0))


def _is_skipped(points: Points, j: int, code: int) -> bool:
    """Whether plain predictions leave a cell out: they skip what a point does not know."""
    return points.kind(j, code) in ("skipped", "missing")


def probabilities(model: Model, supports: Floats) -> Floats:
    """Supports as probabilities that sum to one; the prior where no label has any support."""
    supports = _or_prior(model, supports)
    shares = np.exp(supports - supports.max(axis=1, keepdims=True))
    normalised: Floats = shares / shares.sum(axis=1, keepdims=True)
    return normalised


def _or_prior(model: Model, supports: Floats) -> Floats:
    """The supports, and the prior for points where no label has any."""
    return np.where((supports == -np.inf).all(axis=1)[:, None], _log_prior(model), supports)


def _log_shares(model: Model, points: Points, j: int, used: NDArray[np.int32]) -> Floats:
    shares = np.zeros((len(used), model.m))
    plain = used <= points.n_values[j]  # values, and those outside the domain
    shares[plain] = _log_estimates(model, j, used[plain])
    for place in np.flatnonzero(~plain):
        code = int(used[place])
        if _is_skipped(points, j, code):
            continue
        codes = np.array(points.candidates(j, code))
        with np.errstate(divide="ignore"):
            shares[place] = np.log(np.exp(_log_estimates(model, j, codes)).sum(axis=0))
    return shares


def _log_estimates(model: Model, j: int, codes: NDArray[np.int32]) -> Floats:
    """``log((c + α) / (N_i + α·|dom_j|))`` over the rows whose cell is not missing.

    Cells with several candidates are shared out like the known ones; without any known cell every
    value is as likely as any other.
    """
    index = model.index
    alpha = float(min(max(model.alpha, _LEAST_ALPHA), _MOST_ALPHA)) if model.alpha else 0.0
    n_values = float(index.n_values[j])
    everything = index.label_counts + alpha * n_values
    inside = (codes < n_values)[:, None]
    if index.sets[j]:
        counts = index.low(j, codes).astype(np.float64)
        for groups in groups_of(index, j, codes):
            counts += groups.n_cells * groups.reference(alpha)
        sizes = np.broadcast_to(everything, counts.shape)
    else:
        counts = index.exact(j, codes).astype(np.float64)
        # No world fills a hole with a value outside the domain: its share is of all rows.
        sizes = np.where(inside, index.known[j].label_sums(alpha), everything)
    with np.errstate(divide="ignore", invalid="ignore"):
        estimates = np.log(counts + alpha) - np.log(sizes)
    return np.where(sizes == 0, -np.log(n_values), estimates)


def _log_prior(model: Model) -> Floats:
    if model.prior != exact_prior(model.index, None):
        return model.log_prior
    counts = model.index.label_counts
    with np.errstate(divide="ignore"):
        frequencies: Floats = np.log(counts) - np.log(max(model.index.n_rows, 1))
    return frequencies
