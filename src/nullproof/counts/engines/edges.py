"""Where the bins of lazy columns lie: their extents and quantiles, found without fetching the columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.counts.build import NINES, lone_extremes_of
from nullproof.counts.engines.keys import LazyColumn, collected, numbers_of
from nullproof.counts.sparse import Counts
from nullproof.tables.bins import bin_edges, doubles, places, quantile_edges
from nullproof.tables.columns import Column
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
            # Engines skip nulls by themselves, and may know the extremes of a plain column already.
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
    assert options.bins is not None or not columns
    bins = options.bins or 1
    found = {c.name: bin_edges(np.array(extents[c.name]), bins, "uniform") for c in columns}
    if options.binning == "quantile":
        for column in columns:
            low, high = extents[column.name]
            if low < high:
                found[column.name] = _quantile_edges(frame, column, bins)
    return found


def _quantile_edges(frame: nw.LazyFrame[Any], column: LazyColumn, bins: int) -> tuple[float, ...]:
    """Edges between equally many rows; only the few values next to the quantiles are fetched."""
    ranked = (
        frame.filter(column.finite)
        .select(column.number.alias("value"))
        .group_by("value")
        .agg(nw.len().alias("count"))
        .with_columns(nw.col("count").cast(nw.Int64))
        .with_columns(nw.col("count").cum_sum().over(order_by="value").cast(nw.Int64).alias("end"))
    )
    n_rows = collected(ranked.select(nw.col("count").sum())).item()
    before, after, _ = _places(int(n_rows), bins)
    places = sorted({*before.tolist(), *after.tolist()})
    hits = [(nw.col("end") > k) & (nw.col("end") - nw.col("count") <= k) for k in places]
    held = collected(ranked.filter(nw.any_horizontal(*hits, ignore_nulls=False)).sort("end"))
    values = numbers_of(held["value"]).astype(np.float64)
    return _interpolated(values, held["end"].to_numpy(), int(n_rows), bins)


def weighted_edges(column: Column, weights: Counts, bins: int) -> tuple[float, ...]:
    """Edges between equally many rows, where each number stands for as many rows as its weight."""
    assert column.numbers is not None
    numbers = doubles(places(column.numbers, column.kind)).astype(np.float64)
    finite = np.isfinite(numbers)
    values, which = np.unique(numbers[finite], return_inverse=True)
    if len(values) < 2:
        return (-math.inf, math.inf)
    counts = np.zeros(len(values), dtype=np.int64)
    np.add.at(counts, which, weights[finite])
    ends = np.cumsum(counts)
    return _interpolated(values, ends, int(ends[-1]), bins)


def _places(n_rows: int, bins: int) -> tuple[Counts, Counts, NDArray[np.float64]]:
    """Where the quantiles lie among the sorted rows: between which two, and how far."""
    exact = (n_rows - 1) * np.linspace(0, 1, bins + 1)
    before = np.floor(exact).astype(np.int64)
    return before, np.minimum(before + 1, n_rows - 1), exact - before


def _interpolated(values: NDArray[Any], ends: Counts, n_rows: int, bins: int) -> tuple[float, ...]:
    """The same edges as NumPy's quantiles of all rows; ``ends`` counts the rows up to each value."""
    before, after, parts = _places(n_rows, bins)
    low = values[np.searchsorted(ends, before, side="right")]
    high = values[np.searchsorted(ends, after, side="right")]
    edges = [
        np.quantile(np.array(pair), np.array([part]))[0]
        for part, *pair in zip(parts, low, high, strict=True)
    ]
    return quantile_edges(np.array(edges))


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
