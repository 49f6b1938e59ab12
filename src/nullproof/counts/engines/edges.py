"""Where the bins of lazy columns lie: their extents and quantiles, found without fetching the columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from nullproof.counts.engines.keys import LazyColumn, collected, numbers_of, places_of
from nullproof.counts.notices import NINES, lone_extremes_of
from nullproof.tables.bins import (
    apart_edges,
    bin_edges,
    quantile_edges,
    quantile_places,
)
from nullproof.tables.options import TableOptions
from nullproof.tables.values import text

Extents = dict[str, tuple[float, float]]


def extents_of(frame: nw.LazyFrame[Any], columns: Sequence[LazyColumn]) -> Extents:
    """The least and the greatest finite value of each column, all in one query."""
    cells = [(column, None if column.only_nulls else column.finite) for column in columns]
    return _least_and_greatest(frame, cells)


def _least_and_greatest(
    frame: nw.LazyFrame[Any], cells: Sequence[tuple[LazyColumn, nw.Expr | None]]
) -> Extents:
    if not cells:
        return {}
    wanted = []
    for j, (column, which) in enumerate(cells):
        number: nw.Expr
        if which is not None:
            number = nw.when(which).then(column.number)
        elif column.dtype in (nw.Int128, nw.UInt128):
            # Not every engine hands such integers over as they are.
            number = column.number
        else:
            # An engine passes over nulls itself, and may know the extremes of a bare column.
            number = nw.col(column.name)
        if column.compares_stamps:
            number = number.cast(nw.Datetime("us"))
        wanted += [number.min().alias(f"low{j}"), number.max().alias(f"high{j}")]
    found = collected(frame.select(*wanted))
    numbers = [float(numbers_of(found[name])[0]) for name in found.columns]
    return {
        column.name: (numbers[2 * j], numbers[2 * j + 1]) for j, (column, _) in enumerate(cells)
    }


def edges_of(
    frame: nw.LazyFrame[Any],
    columns: Sequence[LazyColumn],
    extents: Extents,
    options: TableOptions,
) -> dict[str, tuple[float, ...]]:
    """The edges of columns that the engine is to bin."""
    found: dict[str, tuple[float, ...]] = {}
    for column in columns:
        name, binning = column.name, options.binning_of(column.name)
        low, high = extents[name]
        if binning == "quantile" and low < high:
            found[name] = _quantile_edges(frame, column, options.bins)
        else:
            found[name] = bin_edges(np.array(extents[name]), options.bins, "uniform")
    return found


def _by_number(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Each number once, with its rows."""
    found = frame.group_by("value").agg(nw.col("count").sum().alias("count"))
    return found.with_columns(nw.col("count").cast(nw.Int64))


def _up_to(name: str) -> nw.Expr:
    """The sum of a column over this number and all below."""
    return nw.col(name).cum_sum().over(order_by="value").cast(nw.Int64)


def _sizes(by_number: nw.LazyFrame[Any]) -> tuple[int, int]:
    """The number of rows and of distinct numbers."""
    wanted = (nw.col("count").sum().alias("rows"), nw.col("value").count().alias("numbers"))
    rows, numbers = collected(by_number.select(*wanted)).row(0)
    return int(rows), int(numbers)


def _quantile_edges(frame: nw.LazyFrame[Any], column: LazyColumn, bins: int) -> tuple[float, ...]:
    """Edges between equally many rows, from those few values that stand at their places."""
    cells = frame.filter(column.finite).select(column.place.alias("value"))
    by_number = _by_number(cells.with_columns(nw.lit(1).alias("count")))
    n_rows, n_numbers = _sizes(by_number)
    if n_numbers <= bins:
        return apart_edges(places_of(collected(by_number.sort("value"))["value"]))
    ranked = by_number.with_columns(_up_to("count").alias("end"))
    before, after, _ = quantile_places(n_rows, bins)
    wanted = sorted({*before.tolist(), *after.tolist()})
    hits = [(nw.col("end") > k) & (nw.col("end") - nw.col("count") <= k) for k in wanted]
    held = collected(ranked.filter(nw.any_horizontal(*hits, ignore_nulls=False)).sort("end"))
    return quantile_edges(places_of(held["value"]), held["end"].to_numpy(), n_rows, bins)


def lone_extremes(
    frame: nw.LazyFrame[Any], columns: Sequence[LazyColumn], extents: Extents
) -> dict[str, list[str]]:
    """Numbers like -999 that may stand for missing: looked at again only where one is an extreme."""
    nines = [
        (column, extreme)
        for column in columns
        if column.kind == "number"
        for extreme in extents[column.name]
        if math.isfinite(extreme) and NINES.fullmatch(text(extreme))
    ]
    suspects: dict[str, list[str]] = {}
    for column, extreme in nines:
        cells = [(column, column.known & (column.number != extreme))]
        others = _least_and_greatest(frame, cells)[column.name]
        for suspect in lone_extremes_of(np.array([extreme, *others])):
            if suspect == text(extreme):
                suspects.setdefault(suspect, []).append(column.name)
    return suspects
