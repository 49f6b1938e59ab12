"""Which single cells of the table promise most, each by what the rest of its row says.

Without that the cells of a group are alike. With it each has chances of its own: a cell helps a point
whose probable winner is the cell's label if it holds the point's value, and a point that has the label
for a rival if it does not. So what a group would do for the points is dealt out to its cells, by
whether they probably hold the values that help. Only the order of work depends on this.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nullproof.cleaning.scores import Outlook
from nullproof.data.points import Points
from nullproof.model.bias import Floats
from nullproof.odds.learned import WHOLE, Learned

Rows = NDArray[np.intp]
_RARE = 1e-6


class Prospects:
    """The open points and what single cells would do for them.

    Parameters
    ----------
    points
        The points that are open, those of ``outlook``.
    open_rows
        Tells the open rows of a label and a feature.
    """

    def __init__(
        self,
        outlook: Outlook,
        points: Points,
        learned: Learned,
        open_rows: Callable[[int, int], Rows],
    ) -> None:
        self._shares, self._winners = outlook.shares()
        self._matters = outlook.matters
        self._points, self._learned, self._open_rows = points, learned, open_rows

    def best(self, n_cells: int, costs: Floats) -> list[tuple[int, int, Rows]]:
        """The cells that promise most for their cost, by label and feature; at most so many."""
        groups = [(int(i), int(j)) for i, j in np.argwhere(self._matters)]
        rows = [self._open_rows(i, j) for i, j in groups]
        if not groups:
            return []
        scores = [
            self.scores(i, j, own) / costs[j] for (i, j), own in zip(groups, rows, strict=True)
        ]
        owner = np.repeat(np.arange(len(groups)), [len(own) for own in rows])
        first = np.argsort(-np.concatenate(scores), kind="stable")[:n_cells]
        every = np.concatenate(rows)
        # Groups in the order of their best cell, cells in their own order.
        used = dict.fromkeys(owner[first].tolist())
        return [(*groups[g], every[first[owner[first] == g]]) for g in used]

    def scores(self, i: int, j: int, rows: Rows) -> Floats:
        """What each of some open cells of a group promises."""
        own, n = self._shares[:, i, j], max(len(rows), 1)
        every, weights = self._learned.chances(j)
        chances = weights[np.searchsorted(every, rows)] / WHOLE
        size = chances.shape[1]
        wins, held = self._winners == i, np.minimum(self._points.codes[j], size)
        likely = np.append(chances.mean(axis=0) if len(rows) else np.zeros(size), 0.0)
        hits = np.bincount(held[wins], weights=own[wins], minlength=size + 1)
        misses = np.bincount(held[~wins], weights=own[~wins], minlength=size + 1)
        # Each point's share of the group, by one more cell with its value or without it.
        by_hit = (hits / np.maximum(likely, _RARE))[:size]
        by_miss = misses / np.maximum(1 - likely, _RARE)
        promised: Floats = chances @ (by_hit - by_miss[:size]) + by_miss.sum()
        return promised / n
