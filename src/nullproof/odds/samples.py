"""Drawing worlds by chance: as counts of a point, which never touches the table.

A point sees of a world only how many cells of each label and feature hold its value, and these
numbers are independent (theory 6). So one world costs one draw per label and feature.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.errors import NullproofError
from nullproof.model import Alpha, Floats, Model, Prior
from nullproof.odds.filling import Cells, Filling
from nullproof.tables.points import OwnHoles, Points

_BLOCK = 1_000


def sample_worlds(
    index: CountIndex,
    points: Any,
    n: int,
    seed: int = 0,
    *,
    cells: Cells = "uniform",
    own_holes: OwnHoles = "skip",
) -> NDArray[np.int64]:
    """Draw worlds, each told by how many cells of every label and feature hold a point's value.

    Every point gets worlds of its own.

    Parameters
    ----------
    points
        Points: every cell has one value or is missing.
    n
        How many worlds to draw for each point.
    cells
        How missing cells are filled, as in `label_odds`.
    own_holes
        ``"skip"``: a feature that a point does not know is left out. ``"any"``: a point with a
        missing cell is refused.

    Returns
    -------
    array
        Points × worlds × labels × features; -1 for a feature that the point leaves out.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("b", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> worlds = sample_worlds(index, ("a", "y"), 1000)[0]
    >>> worlds.shape
    (1000, 2, 2)
    >>> np.unique(worlds, axis=0).tolist()
    [[[0, 1], [2, 0]], [[0, 1], [2, 1]]]
    """
    if not isinstance(n, numbers.Integral) or n < 1:
        raise NullproofError(f"n is {n!r}; give how many worlds to draw, at least 1")
    encoded = _complete(index, points, own_holes)
    filling, rng = Filling(index, cells), np.random.default_rng(seed)
    found = np.empty((len(encoded), n, len(index.labels), len(index.features)), dtype=np.int64)
    for own, codes in zip(found, encoded.codes.T.tolist(), strict=True):
        _draw_counts(filling, codes, rng, own)
    return found


def sampled_winners(model: Model, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which labels win or tie in each world, exactly.

    Parameters
    ----------
    counts
        Worlds × labels × features; `LEFT_OUT` where a feature is left out.
    """
    logs = np.zeros(counts.shape[:2])
    for j in range(model.d):
        logs += model.log_terms(j, counts[:, :, j])
    logs += model.log_prior
    top = logs.max(axis=1, keepdims=True)
    # No log term is above 0, so the sum of two supports' logs is the magnitude of both.
    with np.errstate(invalid="ignore"):
        close: NDArray[np.bool_] = top - logs <= model.slack(-(top + logs))
    close |= logs == top
    if not model.floats_hold:
        close[:] = True
    for world in np.flatnonzero(close.sum(axis=1) > 1):
        close[world] = _winners(model, counts[world].tolist(), close[world])
    return close


def sampled_odds(
    index: CountIndex,
    points: Any,
    n: int,
    seed: int = 0,
    *,
    alpha: Alpha = 0.0,
    prior: Prior = None,
    cells: Cells = "uniform",
    own_holes: OwnHoles = "skip",
) -> Floats:
    """Estimate the odds of each label from drawn worlds, points × labels; ties are shared out.

    The options are those of `sample_worlds` and `label_odds`; with ``own_holes="any"`` a point with
    a missing cell is refused.
    """
    model, encoded = Model(index, alpha, prior), _complete(index, points, own_holes)
    filling, rng = Filling(index, cells), np.random.default_rng(seed)
    found = np.zeros((len(encoded), model.m))
    for own, codes in zip(found, encoded.codes.T.tolist(), strict=True):
        for start in range(0, n, _BLOCK):
            counts = np.empty((min(_BLOCK, n - start), model.m, model.d), dtype=np.int64)
            _draw_counts(filling, codes, rng, counts)
            wins = sampled_winners(model, counts)
            own += (wins / wins.sum(axis=1, keepdims=True)).sum(axis=0)
    return found / n


def _complete(index: CountIndex, points: Any, own_holes: OwnHoles) -> Points:
    encoded = index.encode(points).read(own_holes)
    if not encoded.complete.all():
        place = int(np.flatnonzero(~encoded.complete)[0])
        missing = encoded.missing[:, place].any()
        has = "missing cells of its own" if missing else "several candidates for a cell"
        raise NullproofError(
            f"point {place} has {has}; give one value per feature, or leave own_holes at 'skip' for "
            "missing cells"
        )
    return encoded


def _draw_counts(
    filling: Filling, codes: list[int], rng: np.random.Generator, out: NDArray[np.int64]
) -> None:
    """Fill worlds × labels × features with counts."""
    for j, code in enumerate(codes):
        out[:, :, j] = filling.low(j, code)
        for i, groups in enumerate(filling.open(j, code)):
            for n_cells, share, whole in groups:
                out[:, i, j] += rng.binomial(n_cells, share / whole, size=len(out))


def _winners(model: Model, counts: list[list[int]], close: NDArray[np.bool_]) -> list[bool]:
    some = np.flatnonzero(close).tolist()
    return [
        i in some and not any(model.exceeds(k, counts[k], i, counts[i]) for k in some if k != i)
        for i in range(model.m)
    ]
