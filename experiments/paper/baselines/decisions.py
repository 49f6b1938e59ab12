"""The decision problem as the paper's experiments solve it: AD, Iterate, Iterate+Index.

Iterate is Algorithm 1 to the letter. It takes the missing cells of a one-value domain for open, and it
lets a missing cell take a value that is outside the domain (theory 1 has both exceptions), so its
verdict can differ from `nullproof.certify` where a column is constant or a point's value was never
seen; elsewhere the two are equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.paper.baselines.coded import CodedTable, Counts, Supports, rows_of_points

Verdicts = NDArray[np.bool_]


def iterate(table: CodedTable, points: Any) -> Verdicts:
    """Run Algorithm 1 for every point anew: one pass over the table each.

    Examples
    --------
    >>> table = CodedTable.of([[0, -1], [0, 0], [1, 1], [1, 0]], [0, 0, 1, 1])
    >>> iterate(table, [[0, 0], [0, 1], [1, 1]]).tolist()
    [True, False, True]
    """
    return np.array(
        [is_certain(table, point) for point in rows_of_points(table, points)], dtype=bool
    )


def is_certain(table: CodedTable, point: list[int]) -> bool:
    """Algorithm 1: count the cells that agree and the NULL cells, then compare supports."""
    return Supports(table).is_certain(table.matches(point), table.nulls())


def iterate_with_index(table: CodedTable, points: Any) -> Verdicts:
    """Count every value of every feature once, then look the counts of each point up."""
    supports, missing = Supports(table), table.nulls()
    index = [_value_counts(table, j, table.codes[:, j]) for j in range(table.n_features)]
    return np.array(
        [
            supports.is_certain(_looked_up(index, point), missing)
            for point in rows_of_points(table, points)
        ],
        dtype=bool,
    )


def approximate_decision(
    table: CodedTable, points: Any, *, n_worlds: int = 100, seed: int = 0
) -> Verdicts:
    """Sample worlds for every point, train on each, and call the point certain if all agree.

    Every world fills the whole table and trains on all of it, and every point has its own worlds, as in
    the paper. A world in which labels tie predicts nothing and so agrees with no other. What this
    calls open is open; what it calls certain may not be.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    supports = Supports(table)
    holes = [np.flatnonzero(table.codes[:, j] < 0) for j in range(table.n_features)]
    verdicts = []
    for point in rows_of_points(table, points):
        predictions = {
            supports.predicted(_looked_up(_sampled_model(table, holes, rng), point))
            for _ in range(n_worlds)
        }
        verdicts.append(len(predictions) == 1 and None not in predictions)
    return np.array(verdicts, dtype=bool)


def _sampled_model(
    table: CodedTable, holes: list[NDArray[np.intp]], rng: np.random.Generator
) -> list[Counts]:
    """Fill the NULL cells uniformly from their domains and count: Naive Bayes trained on one world."""
    model = []
    for j, rows in enumerate(holes):
        column = table.codes[:, j]
        if len(rows):
            column = column.copy()
            column[rows] = rng.integers(0, table.n_values[j], len(rows), dtype=column.dtype)
        model.append(_value_counts(table, j, column))
    return model


def _value_counts(table: CodedTable, j: int, column: NDArray[np.signedinteger]) -> Counts:
    """How often each value occurs with each label, values × labels; the last row counts nothing."""
    size, m = table.n_values[j], table.n_labels
    # NULL goes to place 0, which is dropped.
    key = (column.astype(np.int64) + 1) * m + table.labels
    counts = np.bincount(key, minlength=(size + 2) * m).reshape(size + 2, m)
    return counts[1:].astype(np.int64, copy=False)


def _looked_up(model: list[Counts], point: list[int]) -> Counts:
    """The counts of a point's values, labels × features; a value outside the domain has none."""
    return np.stack(
        [counts[min(code, len(counts) - 1)] for counts, code in zip(model, point, strict=True)],
        axis=1,
    )
