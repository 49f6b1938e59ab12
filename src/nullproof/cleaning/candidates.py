"""What a missing cell may hold, the most probable first, as a worksheet shows it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nullproof.cleaning.cleaner import Cleaner
from nullproof.cleaning.holes import Cell
from nullproof.words import cut

_MOST = 8
_BETWEEN = " | "


class Candidates:
    """The values of training cells by what the rest of their row says, of others by frequency."""

    def __init__(self, cleaner: Cleaner) -> None:
        self._cleaner = cleaner

    def shown(self, cell: Cell) -> str:
        """The candidates of a cell in one text, the most probable first; of many the first few."""
        index = self._cleaner.original
        j = index.schema.position[cell.column]
        size = int(index.n_values[j])
        codes = np.array(self._cleaner.candidates(cell) or range(size), dtype=np.int64)
        codes = codes[codes < size]
        order = np.argsort(-self._weights(cell, j, codes), kind="stable")[:_MOST]
        names = index.schema.features[j].values
        first = _BETWEEN.join(cut(names[code]) for code in codes[order].tolist())
        return first if len(codes) <= _MOST else f"{first}{_BETWEEN}… ({len(codes):,} in all)"

    def _weights(self, cell: Cell, j: int, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        if cell.table == "points":
            return np.asarray(self._cleaner.original.exact(j, codes).sum(axis=1))
        rows, weights = self._cleaner.learned.chances(j)
        return np.asarray(weights[np.searchsorted(rows, cell.row), codes])
