"""A column on its own: the feature that a table with this column has, and the codes of cells."""

from __future__ import annotations

from typing import Any

import polars as pl

from nullproof.counts.index import CountIndex
from nullproof.tables.schema import Feature


def feature_of(cells: Any, **options: Any) -> Feature:
    """What becomes of a column when it is learned."""
    table = {"a": cells, "y": [k % 2 for k in range(len(cells))]}
    return CountIndex.from_table(table, "y", **{"binning": "uniform"} | options).schema.features[0]


def codes_of(index: CountIndex, cells: Any) -> list[int]:
    """The codes of cells of that column as points."""
    found: list[int] = index.encode(pl.DataFrame({"a": cells}, strict=False)).codes[0].tolist()
    return found
