"""Drawing worlds by chance: as counts of a point, which never touches the table, or as a whole table.

A point sees of a world only how many cells of each label and feature hold its value, and these
numbers are independent (theory 6). So one world costs one draw per label and feature. `draw` fills
the table itself, for any model or for multiple imputation.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.data.edits import ColumnWriter, TrainingTable, scalar
from nullproof.data.points import OwnHoles, Points
from nullproof.data.schema import Encoded, encode_set
from nullproof.errors import NullproofError
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Prior
from nullproof.odds.filling import Cells, Filling, Rule, rule_of
from nullproof.odds.learned import WHOLE
from nullproof.seeds import refuse_seed

_BLOCK = 1_000


def sample_worlds(
    index: CountIndex,
    points: Any,
    n: int,
    seed: int = 0,
    *,
    cells: Rule = "uniform",
    own_missing: OwnHoles = "skip",
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
        How missing cells are filled, as in `label_odds`; each by its row with ``Learned.of(index, table)``.
    own_missing
        ``"skip"``: a feature that a point does not know is left out. ``"any"``: a point with a
        missing cell is refused.

    Returns
    -------
    array
        Points × worlds × labels × features; -1 for a feature that the point leaves out.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> worlds = sample_worlds(index, ("a", "y"), 1000)[0]
    >>> worlds.shape
    (1000, 2, 2)
    >>> np.unique(worlds, axis=0).tolist()
    [[[1, 1], [2, 0]], [[1, 1], [2, 1]]]
    """
    _refuse_number(n)
    refuse_seed(seed)
    encoded = _complete(index, points, own_missing)
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
    alpha: Alpha = 1.0,
    prior: Prior = None,
    cells: Rule = "uniform",
    own_missing: OwnHoles = "skip",
) -> Floats:
    """Estimate the odds of each label from drawn worlds, points × labels; ties are shared out.

    The options are those of `sample_worlds` and `label_odds`; with ``own_missing="any"`` a point with
    a missing cell is refused.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> sampled_odds(index, [("a", "x"), ("a", "y")], 100)
    array([[0.  , 1.  ],
           [0.44, 0.56]])
    """
    _refuse_number(n)
    refuse_seed(seed)
    model, encoded = Model(index, alpha, prior), _complete(index, points, own_missing)
    model.refuse_weights("label_odds")
    filling, rng = Filling(index, cells), np.random.default_rng(seed)
    found = np.zeros((len(encoded), model.m))
    for own, codes in zip(found, encoded.codes.T.tolist(), strict=True):
        for start in range(0, n, _BLOCK):
            counts = np.empty((min(_BLOCK, n - start), model.m, model.d), dtype=np.int64)
            _draw_counts(filling, codes, rng, counts)
            wins = sampled_winners(model, counts)
            own += (wins / wins.sum(axis=1, keepdims=True)).sum(axis=0)
    return found / n


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
        the known cells of its column and label. ``"model"``: as the rest of its row says. A bin is
        filled with one of its known numbers.
    seed
        Seed of the random numbers; another seed gives another world.

    Examples
    --------
    >>> rows, labels = [("a", None), ("a", "x"), ("b", {"x", "y"})], ["yes", "yes", "no"]
    >>> index = CountIndex.from_rows(rows, labels)
    >>> one = draw(index, rows, labels)
    >>> one[0] in [("a", "x"), ("a", "y")], one[1]
    (True, ('a', 'x'))
    """
    training = TrainingTable.open(index.schema, table, labels)
    filling = Filling(index, rule_of(index, cells, training))
    refuse_seed(seed)
    rng = np.random.default_rng(seed)
    return training.filled(
        {name: _fillings(filling, j, training, rng) for j, name in enumerate(index.features)}
    )


def _refuse_number(n: Any) -> None:
    if not isinstance(n, numbers.Integral) or n < 1:
        raise NullproofError(f"n is {n!r}; give how many worlds to draw, at least 1")


def _complete(index: CountIndex, points: Any, own_missing: OwnHoles) -> Points:
    encoded = index.encode(points).read(own_missing)
    if not encoded.complete.all():
        place = int(np.flatnonzero(~encoded.complete)[0])
        missing = encoded.missing[:, place].any()
        has = "missing cells of its own" if missing else "several candidates for a cell"
        raise NullproofError(
            f"point {place} has {has}; give one value per feature, or leave own_missing at 'skip' for "
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
            # In a bin, the value must be one of the cell's own candidates.
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
    if filling.learned is not None:
        open_rows, chances = filling.learned.chances(j)
        ticks = rng.integers(WHOLE, size=(len(open_rows), 1))
        values = (ticks >= np.cumsum(chances, axis=1)).sum(axis=1)
        return dict(zip(open_rows.tolist(), values.tolist(), strict=True))
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
