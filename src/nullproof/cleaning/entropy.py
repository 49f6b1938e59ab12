"""The order by expected entropy, to compare with: clean what makes the labels least doubtful on average.

This is the idea of CPClean (Karlaš et al., VLDB 2021) on our model. The doubt about a point is the entropy
of whether its probable winner stays ahead of the likeliest rival when chance fills the cells. Their lead
is taken to be normal: cells that are cleaned move its mean by chance and take their part of its spread
away. Unlike ours, this order does not know what certainty asks for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nullproof.cleaning.scores import Outlook
from nullproof.model.bias import Floats

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
_TINY = 1e-12


def entropy_gains(outlook: Outlook, parts: Floats) -> Floats:
    """By how much cleaning a part of each group lowers the entropy, summed over the points.

    Parameters
    ----------
    parts
        Labels × features: which share of the group's open cells would be cleaned.
    """
    winners, rivals, lead = outlook.closest()
    rows = np.arange(len(winners))
    spread = outlook.variance.sum(axis=2)
    whole = np.maximum(spread[rows, winners] + spread[rows, rivals], _TINY)
    now = _entropy(lead / np.sqrt(whole))
    found = np.zeros(parts.shape)
    for labels in (winners, rivals):
        # Points × features: the part of the spread that goes if cells of this label are cleaned.
        gone = outlook.variance[rows, labels] * parts[labels]
        rest = np.sqrt(np.maximum(whole[:, None] - gone, _TINY))
        moved = lead[:, None, None] + np.sqrt(gone)[:, :, None] * _NODES
        after = _entropy(moved / rest[:, :, None]) @ (_WEIGHTS / _WEIGHTS.sum())
        np.add.at(found, labels, np.maximum(now[:, None] - after, 0.0))
    return found


def _entropy(distance: NDArray[np.float64]) -> Floats:
    """The entropy of whether a standard normal number stays below a distance."""
    # A logistic curve is within 0.01 of the normal one, and needs no library.
    chance = 1 / (1 + np.exp(-np.clip(1.702 * distance, -700, 700)))
    chance = np.clip(chance, _TINY, 1 - _TINY)
    found: Floats = -chance * np.log(chance) - (1 - chance) * np.log(1 - chance)
    return found
