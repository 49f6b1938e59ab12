"""Blank cells in the ways that an experiment needs besides `inject_missing`: some features, or by value."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nullproof.data.edits import inject_missing, smallest, uniforms
from nullproof.data.sources import open_table
from nullproof.data.types import Column, distinct, in_order

Mechanism = Literal["uniform", "value"]


def blank_cells(
    frame: pl.DataFrame, rate: float, *, label: str, mechanism: Mechanism, seed: int = 0
) -> pl.DataFrame:
    """Blank a share of the known cells, by chance or by value.

    By value, not at random: the greater a cell's value among those of its column, the likelier it is
    blanked, in proportion to the value's rank (texts rank in alphabetical order), as when high incomes are
    kept secret. Cells with the smallest random number per weight are blanked (sequential Poisson sampling).
    """
    if mechanism == "uniform":
        found: pl.DataFrame = inject_missing(frame, rate, label=label, seed=seed)
        return found
    table = open_table(frame)
    names = [name for name in frame.columns if name != label]
    columns = [table.column(name) for name in names]
    known = np.concatenate([column.known for column in columns])
    weights = np.concatenate([_rank_weights(column) for column in columns])
    keys = np.where(known, uniforms(len(known), seed, stream=1) / weights, np.inf)
    gone = smallest(keys, round(rate * int(known.sum()))).reshape(len(names), -1)
    masks = zip(names, gone, strict=True)
    return frame.with_columns(
        pl.when(pl.Series(~mask)).then(pl.col(name)).alias(name) for name, mask in masks
    )


def draw_features(n_features: int, share: float, *, seed: int) -> list[int]:
    """Draw a share of the features, at least one."""
    keys = uniforms(n_features, seed, stream=0)
    return np.flatnonzero(smallest(keys, max(1, round(share * n_features)))).tolist()


def _rank_weights(column: Column) -> NDArray[np.float64]:
    """Return the rank of each cell's value among the column's distinct ones, by the mean rank.

    So a column of many values loses as many cells as one of few.
    """
    known = column.known
    ranks = np.ones(len(column))
    if column.numbers is not None:
        ranks[known] += distinct(column.held)[1]
    else:
        rank = {value: place for place, value in enumerate(in_order({*column.texts}))}
        table = np.array([rank.get(value, 0) for value in column.values])
        ranks[known] += table[np.asarray(column.codes)[known]]
    weights: NDArray[np.float64] = ranks / (ranks.sum() / max(len(ranks), 1))
    return weights
