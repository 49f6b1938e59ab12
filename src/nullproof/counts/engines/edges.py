"""Bins of lazy columns, found where the table is: extents, quantiles, cuts where the label changes.

For the cuts (theory 11) a query deals the numbers of some columns into the cells of
`nullproof.data.binning`; further ones deal again what crowds there. Bins are made up of cells, so they need
no further query.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.counts.count import Counts, DenseCounts, from_cells
from nullproof.counts.engines.columns import (
    Groups,
    Key,
    Labels,
    LazyColumn,
    by_bin,
    collected,
    doubles,
    grouped,
)
from nullproof.data.binning import (
    GRID,
    Cells,
    Rows,
    Stretches,
    apart_edges,
    bin_codes,
    both_shown,
    dense,
    in_line,
    mdl_edges,
    quantile_edges,
    quantile_places,
    shown_numbers,
    uniform_edges,
)
from nullproof.data.options import TableOptions
from nullproof.data.schema import Feature, binned_feature

Extent = tuple[float, float]
_MOST_GROUPS = 2**21


def extents_of(frame: nw.LazyFrame[Any], columns: Sequence[LazyColumn]) -> list[Extent]:
    """Return the least and the greatest finite number of each column, all in one query."""
    wanted = []
    for j, column in enumerate(columns):
        # An engine passes over nulls itself, and may know the extremes of a bare column.
        number = nw.col(column.name)
        if column.dtype.is_float() or column.rule.numbers:
            number = nw.when(column.finite).then(column.number)
        wanted += [number.min().alias(f"low{j}"), number.max().alias(f"high{j}")]
    if not wanted:
        return []
    found = collected(frame.select(*wanted))
    ends = [float(doubles(found[name])[0]) for name in found.columns]
    return [*zip(ends[::2], ends[1::2], strict=True)]


def count_bins(
    frame: nw.LazyFrame[Any],
    labels: Labels,
    columns: Sequence[tuple[LazyColumn, Extent]],
    options: TableOptions,
) -> Iterator[tuple[Feature, DenseCounts]]:
    """Learn the bins of columns of numbers, of which the extents are known and differ, and count them."""
    apart = [pair for pair in columns if options.binning_of(pair[0].name) == "mdl"]
    size = max(1, _MOST_GROUPS // (GRID * len(labels.counts)))
    for first in range(0, len(apart), size):
        dealings = [_Dealing(*pair) for pair in apart[first : first + size]]
        waiting = dealings
        while waiting:
            found = grouped(frame, labels, [dealing.key() for dealing in waiting])
            for dealing, groups in zip(waiting, found, strict=True):
                dealing.take(groups)
            waiting = [dealing for dealing in waiting if dealing.is_crowded]
        for dealing in dealings:
            yield _counted(dealing.column, *dealing.finished(), labels, options)
    binned = []
    for column, extent in columns:
        binning = options.binning_of(column.name)
        if binning == "uniform":
            binned.append((column, uniform_edges(*extent, options.bins)))
        elif binning == "quantile":
            binned.append((column, _quantile_edges(frame, column, options.bins)))
    found = grouped(frame, labels, [by_bin(*pair) for pair in binned])
    for (column, edges), groups in zip(binned, found, strict=True):
        yield _counted(column, edges, groups, labels, options)


def _counted(
    column: LazyColumn,
    edges: tuple[float, ...],
    groups: Groups,
    labels: Labels,
    options: TableOptions,
) -> tuple[Feature, DenseCounts]:
    """Return the feature of a column and its counts; no group lies in several bins."""
    shown = both_shown(*(shown_numbers(ends, edges, "number") for ends in groups.ends))
    as_value = column.name in options.missing_is_value
    feature = binned_feature(column.name, "number", edges, shown, as_value)
    codes = np.searchsorted(np.array(feature.bins), bin_codes(groups.ends[0], edges))
    shape = feature.n_values, len(labels.counts)
    return feature, from_cells(codes, groups.labels, groups.counts, shape)


def _quantile_edges(frame: nw.LazyFrame[Any], column: LazyColumn, bins: int) -> tuple[float, ...]:
    """Return edges between equally many rows, from those few values that stand at their places."""
    cells = frame.filter(column.finite).select(column.number.alias("value"))
    by_number = cells.group_by("value").agg(nw.len().alias("count"))
    by_number = by_number.with_columns(nw.col("count").cast(nw.Int64))
    sizes = (nw.col("count").sum().alias("rows"), nw.col("value").count().alias("numbers"))
    n_rows, n_numbers = map(int, collected(by_number.select(*sizes)).row(0))
    if n_numbers <= bins:
        return apart_edges(doubles(collected(by_number.sort("value"))["value"]))
    end = nw.col("count").cum_sum().over(order_by="value").cast(nw.Int64).alias("end")
    before, after, _ = quantile_places(n_rows, bins)
    wanted = sorted({*before.tolist(), *after.tolist()})
    hits = [(nw.col("end") > k) & (nw.col("end") - nw.col("count") <= k) for k in wanted]
    ranked = by_number.with_columns(end).filter(nw.any_horizontal(*hits, ignore_nulls=False))
    values = collected(ranked.sort("end"))
    return quantile_edges(doubles(values["value"]), values["end"].to_numpy(), n_rows, bins)


class _Dealing:
    """A column of numbers while it is dealt into cells.

    The ``stretches`` are still to be dealt: at first the whole extent, later what is crowded.
    """

    def __init__(self, column: LazyColumn, extent: Extent) -> None:
        self.column, self._extent = column, extent
        self.stretches = Stretches(*(np.array([end]) for end in extent))
        self.is_crowded = True
        self._n_rows = 0
        self._cells: list[Cells] = []
        # Cell, label and rows of every group whose cell is not dealt again.
        self._groups: list[tuple[NDArray[Any], NDArray[Any], Counts]] = []

    def key(self) -> Key:
        """Group by cells of the stretches; at first infinite numbers have a cell at each end."""
        column, stretches = self.column, self.stretches
        inside = [self._within(s) for s in range(len(stretches))]
        cell = self._cell(len(stretches) - 1)
        for s in reversed(range(len(stretches) - 1)):
            cell = nw.when(inside[s]).then(self._cell(s)).otherwise(cell)
        if self._cells:
            return Key(column, cell, column.finite & reduce(or_, inside), in_cells=True)
        if column.dtype.is_float():
            beyond = nw.when(column.number > self._extent[1]).then(nw.lit(GRID))
            cell = nw.when(column.finite).then(cell).otherwise(beyond.otherwise(nw.lit(-1)))
        return Key(column, cell, column.known, in_cells=True)

    def _within(self, s: int) -> nw.Expr:
        low, high = float(self.stretches.lows[s]), float(self.stretches.highs[s])
        return (self.column.number >= low) & (self.column.number <= high)

    def _cell(self, s: int) -> nw.Expr:
        """Return the cell of a number in a stretch, as `nullproof.data.binning.Stretches.keys` has it."""
        low, halved = float(self.stretches.lows[s]), self.stretches.halved
        number = nw.when(self._within(s)).then(self.column.number).otherwise(nw.lit(low))
        offset = number * 0.5 - low * 0.5 if halved else number - low
        for factor in self.stretches.factors:
            if factor[s] != 1.0:
                offset = offset * float(factor[s])
        return offset.floor().cast(nw.Int64) + s * (GRID + 1)

    def take(self, groups: Groups) -> None:
        """Keep the groups in cells that are not crowded, and remember the stretches that are."""
        (lows, highs), labels, counts = groups.ends, groups.labels, groups.counts
        numbers = groups.values.to_numpy().astype(np.int64) + 1
        if not self._cells:
            self._n_rows = int(counts[np.isfinite(lows)].sum())
        keys, which = dense(numbers)
        cells = Cells.gathered((lows, highs), which, counts, len(keys))
        crowded = cells.crowded(self._n_rows)
        kept = ~crowded[which]
        n_before = sum(len(before.lows) for before in self._cells)
        self._groups.append((which[kept] + n_before, labels[kept], counts[kept]))
        self._cells.append(cells)
        self.is_crowded = bool(crowded.any())
        if self.is_crowded:
            self.stretches, _ = cells.runs(keys, crowded)

    def finished(self) -> tuple[tuple[float, ...], Groups]:
        """Return the edges, and the groups with the extremes of their cells."""
        numbers, labels, counts = map(np.concatenate, zip(*self._groups, strict=True))
        cells, which = in_line(self._cells, numbers)
        finite = np.isfinite(cells.lows)
        first = int(finite.argmax())
        some = finite[which]
        inner = Cells(cells.lows[finite], cells.highs[finite], cells.totals[finite])
        edges = mdl_edges(inner, which[some] - first, Rows(labels[some], counts[some]))
        ends = cells.lows[which], cells.highs[which]
        return edges, Groups(None, labels, counts, ends)
