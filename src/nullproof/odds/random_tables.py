"""draw: a completed training table, drawn by chance, for any model or for multiple imputation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.odds.filling import Cells, Filling
from nullproof.tables.columns import Encoded, encode_set
from nullproof.tables.training import ColumnWriter, TrainingTable, scalar


def draw(
    index: CountIndex,
    table: Any,
    labels: Sequence[Any] | None = None,
    *,
    cells: Cells = "uniform",
    seed: int = 0,
) -> Any:
    """Draw one world: fill every missing cell with one of its candidates by chance.

    Parameters
    ----------
    table
        The table that was counted: a data frame or a file (the result has the same type, for a file
        polars), or plain rows.
    labels
        The labels of plain rows.
    cells
        ``"uniform"``: every candidate is equally likely. ``"observed"``: as likely as it is among
        the known cells of its column and label. A bin is filled with one of its known numbers.
    seed
        Of the generator; another seed is another world.

    Examples
    --------
    >>> rows, labels = [("a", None), ("a", "x"), ("b", {"x", "y"})], ["yes", "yes", "no"]
    >>> index = CountIndex.from_rows(rows, labels)
    >>> one = draw(index, rows, labels)
    >>> one[0] in [("a", "x"), ("a", "y")], one[1]
    (True, ('a', 'x'))
    """
    training = TrainingTable.open(index.schema, table, labels)
    filling, rng = Filling(index, cells), np.random.default_rng(seed)
    return training.filled(
        {name: _fillings(filling, j, training, rng) for j, name in enumerate(index.features)}
    )


def _fillings(
    filling: Filling, j: int, training: TrainingTable, rng: np.random.Generator
) -> dict[int, Any]:
    """New values for the missing cells of one column, by row."""
    writer = training.writer(j)
    feature, sets = writer.feature, writer.column.sets
    values = _Values(writer, rng)
    found = {}
    for row, code in _drawn_codes(filling, j, writer.encoded, training.row_labels, rng).items():
        if feature.edges and row in sets:
            # Of a bin only the cell's own candidates will do.
            own = [x for x in sets[row] if encode_set(feature, (x,)) == (code,)]
            found[row] = writer.written(own[rng.integers(len(own))])
        else:
            found[row] = values.of(code)
    return found


def _drawn_codes(
    filling: Filling,
    j: int,
    encoded: Encoded,
    row_labels: NDArray[np.int32],
    rng: np.random.Generator,
) -> dict[int, int]:
    everything = tuple(range(filling.index.schema.features[j].n_values))
    sorts: dict[tuple[int, ...], list[int]] = {}
    for row in np.flatnonzero(encoded.codes < 0).tolist():
        sorts.setdefault(encoded.sets.get(row, everything), []).append(row)
    found: dict[int, int] = {}
    for candidates, some in sorts.items():
        weights, rows = filling.weights(j, candidates), np.array(some)
        for i in np.unique(row_labels[rows]):
            mine = rows[row_labels[rows] == i]
            share = weights[:, i] / weights[:, i].sum()
            drawn = rng.choice(candidates, size=len(mine), p=share)
            found.update(zip(mine.tolist(), drawn.tolist(), strict=True))
    return found


class _Values:
    """Values of a column with a given code: always the same for a category, any known one of a bin."""

    def __init__(self, writer: ColumnWriter, rng: np.random.Generator) -> None:
        self._writer, self._rng = writer, rng
        frame = writer.table.frame
        self._column: list[Any] = []
        if writer.feature.edges and frame is not None:
            self._column = frame[writer.feature.name].to_list()
        self._rows: dict[int, NDArray[np.intp]] = {}

    def of(self, code: int) -> Any:
        if not self._column:
            return self._writer.value(code)
        if code not in self._rows:
            self._rows[code] = np.flatnonzero(self._writer.encoded.codes == code)
        rows = self._rows[code]
        if not len(rows):
            return self._writer.value(code)
        return scalar(self._column[int(rows[self._rng.integers(len(rows))])])
