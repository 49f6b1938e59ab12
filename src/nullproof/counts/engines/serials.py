"""Which columns of a lazy table number its rows: asked only where their extent fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw

from nullproof.counts.engines.keys import LazyColumn, collected
from nullproof.tables.identifiers import spans_rows


def numbering(
    frame: nw.LazyFrame[Any],
    columns: Sequence[LazyColumn],
    extents: Mapping[str, tuple[float, float]],
) -> list[str]:
    """The columns that hold as many different whole numbers as there are rows, without a gap."""
    wide = [c for c in columns if c.kind == "number" and extents[c.name][0] < extents[c.name][1]]
    if not wide:
        return []
    n_rows = int(collected(frame.select(nw.len().alias("rows"))).item())
    fitting = [column for column in wide if spans_rows(*extents[column.name], n_rows)]
    return [column.name for column in fitting if _n_whole(frame, column) == n_rows]


def _n_whole(frame: nw.LazyFrame[Any], column: LazyColumn) -> int:
    """How many different whole numbers a column holds."""
    known = frame.filter(column.finite).select(column.number.alias("number"))
    # However an engine rounds: only a whole number is the same afterwards.
    whole = known.filter(nw.col("number").cast(nw.Int64).cast(nw.Float64) == nw.col("number"))
    groups = whole.group_by("number").agg(nw.len().alias("count"))
    return int(collected(groups.select(nw.len().alias("n"))).item())
