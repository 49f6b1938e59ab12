"""Which points one label surely wins often enough, by Chernoff bounds, for all points at once.

The same bound as `Spread.chances`, summed up for many points together. Most odds are far above the share
that is asked for, so this tells of most points; grids are for the others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nullproof.model import Floats, Model
from nullproof.odds.filling import SLOPES, Terms
from nullproof.odds.grid import Grid

NOBODY = -1
_EPS = float(np.finfo(np.float64).eps)
_BLOCK = 2**22


def leaders(
    model: Model,
    terms: Terms,
    grid: Grid,
    codes: NDArray[np.int32],
    possible: NDArray[np.bool_],
    share: float,
) -> NDArray[np.intp]:
    """The label of each complete point whose odds surely reach the share, else `NOBODY`.

    Parameters
    ----------
    codes, possible
        Features × points and points × labels.
    """
    size = max(1, _BLOCK // (model.m * (8 + 2 * len(SLOPES))))
    found = [
        _of_block(
            model,
            terms,
            grid,
            codes[:, start : start + size],
            possible[start : start + size],
            share,
        )
        for start in range(0, len(possible), size)
    ]
    return np.concatenate([np.empty(0, dtype=np.intp), *found])


def _of_block(
    model: Model,
    terms: Terms,
    grid: Grid,
    codes: NDArray[np.int32],
    possible: NDArray[np.bool_],
    share: float,
) -> NDArray[np.intp]:
    total = np.zeros((8 + 2 * len(SLOPES), *possible.shape))
    for j, own in enumerate(codes):
        used, places = np.unique(own, return_inverse=True)
        table = np.stack([grid.of_value(j, int(code)) for code in used], axis=1)
        total += table[:, places]
    constants, magnitudes = terms.constants
    alive = possible & (total[3] > -np.inf) & (constants > -np.inf)
    rows = np.arange(len(possible))
    mean = np.where(alive, constants + total[1], -np.inf)
    best = mean.argmax(axis=1)
    slack = 4 * model.slack(total[5] + magnitudes)
    error = np.where(possible, total[4], 0.0)
    with np.errstate(invalid="ignore", under="ignore", over="ignore"):
        lead = mean[rows, best][:, None] - mean - slack - slack[rows, best][:, None]
        up, down = total[8 : 8 + len(SLOPES)], total[8 + len(SLOPES) :, rows, best]
        height = (up + down[:, :, None] - SLOPES[:, None, None] * lead).min(axis=0)
        reached = np.exp(height.clip(max=0.0))
    zero = -np.expm1(total[3])[rows, best][:, None]
    chances = 1.01 * reached + zero + 1.1 * (error + error[rows, best][:, None]) + 4 * _EPS
    # A label without any support wins only where the best has none either.
    chances = np.where(alive, chances, zero + 1.1 * error.sum(axis=1, keepdims=True) + 4 * _EPS)
    chances = np.where(possible, chances, 0.0)
    chances[rows, best] = 0.0
    lost: Floats = chances.sum(axis=1) + 8 * _EPS * model.m
    sure = alive[rows, best] & (1 - lost >= share)
    return np.where(sure, best, NOBODY)
