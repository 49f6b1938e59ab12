"""Where the bins of lazy columns lie: their extents and quantiles, found without fetching the columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.counts.engines.keys import LazyColumn, collected, numbers_of, places_of
from nullproof.counts.notices import NINES, lone_extremes_of
from nullproof.tables.bins import (
    apart_edges,
    bin_edges,
    mdl_edges,
    quantile_edges,
    quantile_places,
)
from nullproof.tables.cuts import CELLS
from nullproof.tables.options import TableOptions
from nullproof.tables.values import text

Extents = dict[str, tuple[float, float]]


@dataclass(frozen=True)
class Labels:
    """The label column of a lazy table, and the numbers of labels that came from there."""

    value: nw.Expr
    codes: Callable[[nw.Series[Any]], NDArray[np.int64]]


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
    labels: Labels,
) -> dict[str, tuple[float, ...]]:
    """The edges of columns that the engine is to bin."""
    found: dict[str, tuple[float, ...]] = {}
    for column in columns:
        name, binning = column.name, options.binning_of(column.name)
        low, high = extents[name]
        if binning == "mdl" and low < high:
            found[name] = _mdl_edges(frame, column, labels)
        elif binning == "quantile" and low < high:
            found[name] = _quantile_edges(frame, column, options.bins or 1)
        else:
            found[name] = bin_edges(np.array(extents[name]), options.bins or 1, "uniform")
    return found


def _by_number(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Each number once, with its rows."""
    found = frame.group_by("value").agg(nw.col("count").sum().alias("count"))
    return found.with_columns(nw.col("count").cast(nw.Int64))


def _up_to(name: str) -> nw.Expr:
    """The sum of a column over this number and all below."""
    return nw.col(name).cum_sum().over(order_by="value").cast(nw.Int64)


def _sizes(by_number: nw.LazyFrame[Any], *more: nw.Expr) -> tuple[int, ...]:
    """The number of rows and of distinct numbers, and further sums."""
    wanted = (nw.col("count").sum().alias("rows"), nw.col("value").count().alias("numbers"))
    return tuple(int(number) for number in collected(by_number.select(*wanted, *more)).row(0))


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


def _mdl_edges(frame: nw.LazyFrame[Any], column: LazyColumn, labels: Labels) -> tuple[float, ...]:
    """Edges where the label changes (theory 11), from at most some thousand counts."""
    cells = frame.filter(column.finite).select(
        column.place.alias("value"), labels.value.alias("label")
    )
    groups = cells.group_by("value", "label").agg(nw.len().alias("count"))
    groups = groups.with_columns(nw.col("count").cast(nw.Int64))
    n_rows = int(collected(cells.select(nw.len().alias("rows"))).item())
    is_heavy = nw.col("count") * CELLS >= n_rows
    by_number = _by_number(cells.select("value", nw.lit(1).alias("count"))).with_columns(
        nw.when(is_heavy).then(nw.lit(1)).otherwise(nw.lit(0)).cast(nw.Int64).alias("heavy"),
        nw.when(is_heavy).then(nw.lit(0)).otherwise(nw.col("count")).cast(nw.Int64).alias("light"),
    )
    _, n_numbers, n_light = _sizes(by_number, nw.col("light").sum())
    if n_numbers <= CELLS:
        whole = groups.with_columns(nw.col("value").alias("low"), nw.col("value").alias("high"))
        return _edges_of_cells(collected(whole), labels)
    in_cells = groups.join(
        _cells(by_number, n_light), left_on="value", right_on="number", how="inner"
    )
    found = collected(
        in_cells.group_by("cell", "label").agg(
            nw.col("value").min().alias("low"),
            nw.col("value").max().alias("high"),
            nw.col("count").sum().alias("count"),
        )
    )
    return _edges_of_cells(found, labels)


def _cells(by_number: nw.LazyFrame[Any], n_light: int) -> nw.LazyFrame[Any]:
    """The cell of each number, as `nullproof.tables.cuts.cells_of` numbers them."""
    ranked = by_number.with_columns(
        _up_to("heavy").alias("heavies"), _up_to("light").alias("lights")
    )
    share = (nw.col("lights") - nw.col("light")) * CELLS // n_light
    cell = share.cast(nw.Int64) + 2 * nw.col("heavies") - nw.col("heavy")
    return ranked.select(nw.col("value").alias("number"), cell.alias("cell"))


def _edges_of_cells(found: nw.DataFrame[Any], labels: Labels) -> tuple[float, ...]:
    """Put the counts of cells, which came label by label, together; without cells there are numbers."""
    codes = labels.codes(found["label"])
    least, greatest = places_of(found["low"]), places_of(found["high"])
    ids = found["cell"].to_numpy() if "cell" in found.columns else least
    numbers, which = np.unique(ids, return_inverse=True)
    lows, highs = np.full(len(numbers), np.inf), np.full(len(numbers), -np.inf)
    np.minimum.at(lows, which, least)
    np.maximum.at(highs, which, greatest)
    counts = np.zeros((len(numbers), int(codes.max()) + 1), dtype=np.int64)
    np.add.at(counts, (which, codes), found["count"].to_numpy())
    return mdl_edges(lows, highs, counts)


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
