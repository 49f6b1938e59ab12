"""The edges of lazy columns, found where the table is: extents, quantiles, cuts where the label changes.

For the cuts (theory 11) one query deals the numbers of some columns into cells; further ones deal only what
crowds there. When little is left, its numbers come here. Cells make up the bins, so these need no further
query.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.counts.count import Counts, DenseCounts, from_cells
from nullproof.counts.engines.columns import Groups, Key, Labels, LazyColumn, collected, counted
from nullproof.data.binning import (
    GRID,
    Cells,
    Rows,
    Stretches,
    apart_edges,
    bin_codes,
    both_shown,
    dealt,
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

Extents = dict[str, tuple[float, float]]
# A table of so many rows is not worth a query for cells: its numbers come here.
FEW_ROWS = 2**17
_MOST_ROUNDS = 4
_MOST_GROUPS = 2**21


def doubles(series: nw.Series[Any]) -> NDArray[np.float64]:
    """Return numbers as they came from an engine."""
    return series.cast(nw.Float64).to_numpy().astype(np.float64) + 0.0


def extents_of(frame: nw.LazyFrame[Any], columns: Sequence[LazyColumn]) -> Extents:
    """Return the least and the greatest finite number of each column, all in one query."""
    if not columns:
        return {}
    wanted = []
    for j, column in enumerate(columns):
        number: nw.Expr = column.number
        if not column.only_nulls:
            number = nw.when(column.finite).then(column.number)
        elif column.is_whole:
            # An engine passes over nulls itself, and may know the extremes of a bare column.
            number = nw.col(column.name)
        wanted += [number.min().alias(f"low{j}"), number.max().alias(f"high{j}")]
    found = collected(frame.select(*wanted))
    numbers = [float(doubles(found[name])[0]) for name in found.columns]
    return {column.name: (numbers[2 * j], numbers[2 * j + 1]) for j, column in enumerate(columns)}


def edges_of(
    frame: nw.LazyFrame[Any], columns: Sequence[LazyColumn], extents: Extents, options: TableOptions
) -> dict[str, tuple[float, ...]]:
    """Return the edges of columns that the engine is to bin."""
    found: dict[str, tuple[float, ...]] = {}
    for column in columns:
        low, high = extents[column.name]
        if options.binning_of(column.name) == "quantile" and low < high:
            found[column.name] = _quantile_edges(frame, column, options.bins)
        else:
            found[column.name] = uniform_edges(low, high, options.bins)
    return found


def _quantile_edges(frame: nw.LazyFrame[Any], column: LazyColumn, bins: int) -> tuple[float, ...]:
    """Return edges between equally many rows, from those few values that stand at their places."""
    cells = frame.filter(column.finite).select(column.place.alias("value"))
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
    held = collected(ranked.sort("end"))
    return quantile_edges(doubles(held["value"]), held["end"].to_numpy(), n_rows, bins)


def cut_columns(
    frame: nw.LazyFrame[Any],
    columns: Sequence[tuple[LazyColumn, tuple[float, float]]],
    labels: Labels,
    as_value: frozenset[str],
) -> Iterator[tuple[Feature, DenseCounts]]:
    """Learn and count columns of numbers, of which the least and the greatest finite one are known."""
    size = max(1, _MOST_GROUPS // (GRID * len(labels.counts)))
    for first in range(0, len(columns), size):
        lines = [_Line(*pair) for pair in columns[first : first + size]]
        waiting = lines
        for n_rounds in range(_MOST_ROUNDS):
            waiting = _dealt_once(frame, waiting, labels, is_first=n_rounds == 0)
        for line in waiting:
            _fetch(frame, line, labels)
        yield from (line.finished(len(labels.counts), as_value) for line in lines)


def _dealt_once(
    frame: nw.LazyFrame[Any], lines: Sequence[_Line], labels: Labels, *, is_first: bool
) -> list[_Line]:
    """Deal the crowded stretches of some columns; return those in which some are left."""
    found = counted(frame, labels.key, [(j, line.key(is_first)) for j, line in enumerate(lines)])
    waiting = []
    for j, line in enumerate(lines):
        line.take(found[j], labels.codes(found[j].labels))
        if not line.n_left:
            continue
        if line.n_left > FEW_ROWS:
            waiting.append(line)
        else:
            _fetch(frame, line, labels)
    return waiting


def _fetch(frame: nw.LazyFrame[Any], line: _Line, labels: Labels) -> None:
    """Deal the rest of a column here."""
    column = line.column
    key = Key(column, column.place, nw.Float64, only=_inside(column, line.stretches))
    groups = counted(frame, labels.key, [(0, key)])[0]
    line.take_numbers(doubles(groups.values), labels.codes(groups.labels), groups.counts)


def _within(column: LazyColumn, stretches: Stretches, s: int) -> nw.Expr:
    low, high = float(stretches.lows[s]), float(stretches.highs[s])
    return (column.number >= low) & (column.number <= high)


def _inside(column: LazyColumn, stretches: Stretches) -> nw.Expr:
    return column.finite & reduce(
        or_, (_within(column, stretches, s) for s in range(len(stretches)))
    )


def _cell(column: LazyColumn, stretches: Stretches, s: int) -> nw.Expr:
    """Return the cell of a number in a stretch, as `nullproof.data.binning.Stretches.keys` has it."""
    low = float(stretches.lows[s])
    number = nw.when(_within(column, stretches, s)).then(column.number).otherwise(nw.lit(low))
    offset = number * 0.5 - low * 0.5 if stretches.halved else number - low
    for factor in stretches.factors:
        if factor[s] != 1.0:
            offset = offset * float(factor[s])
    return offset.floor().cast(nw.Int64) + s * (GRID + 1)


@dataclass
class _Line:
    """A column while it is dealt: what is crowded still, and the groups whose cells are known."""

    column: LazyColumn
    extent: tuple[float, float]
    n_rows: int = 0
    n_left: int = 0
    cells: list[Cells] = field(default_factory=list)
    groups: list[tuple[NDArray[Any], NDArray[Any], Counts]] = field(default_factory=list)
    infinite: list[tuple[NDArray[Any], NDArray[Any], Counts]] = field(default_factory=list)

    def __post_init__(self) -> None:
        low, high = self.extent
        self.stretches = Stretches(np.array([low]), np.array([high]))

    def key(self, is_first: bool) -> Key:
        """Group by cells of the stretches; at first of all numbers, infinite ones beside them."""
        column, stretches = self.column, self.stretches
        cell = _cell(column, stretches, len(stretches) - 1)
        for s in reversed(range(len(stretches) - 1)):
            own = _cell(column, stretches, s)
            cell = nw.when(_within(column, stretches, s)).then(own).otherwise(cell)
        only = None if is_first else _inside(column, stretches)
        if is_first and column.is_real:
            beyond = nw.when(column.number > self.extent[1]).then(nw.lit(GRID))
            cell = nw.when(column.finite).then(cell).otherwise(beyond.otherwise(nw.lit(-1)))
        return Key(column, cell.cast(nw.Int64), nw.Int64, number=column.place, only=only)

    def take(self, groups: Groups, labels: NDArray[np.integer]) -> None:
        """Take over the cells that are not crowded, and remember the stretches that are."""
        keys, counts = groups.values.to_numpy(), groups.counts
        lows, highs = (doubles(ends) for ends in groups.ends)
        if not self.n_rows:
            ends = ~np.isfinite(lows)
            self.infinite.append((lows[ends], labels[ends], counts[ends]))
            keys, labels, counts = keys[~ends], labels[~ends], counts[~ends]
            lows, highs = lows[~ends], highs[~ends]
            self.n_rows = int(counts.sum())
        keys, which = dense(keys.astype(np.int64))
        cells = Cells.gathered((lows, highs), which, counts, len(keys))
        crowded = cells.crowded(self.n_rows)
        self._keep(cells, which, labels, counts, ~crowded[which])
        self.n_left = int(cells.totals[crowded].sum())
        if self.n_left:
            self.stretches, _ = cells.runs(keys, crowded)

    def take_numbers(
        self, numbers: NDArray[np.float64], labels: NDArray[np.integer], counts: Counts
    ) -> None:
        """Take over the numbers of crowded stretches, and deal them here."""
        own = np.searchsorted(self.stretches.lows, numbers, side="right") - 1
        for s in range(len(self.stretches)):
            here = own == s
            cells, which = dealt(numbers[here], counts[here], self.n_rows)
            everything = np.ones(len(which), dtype=bool)
            self._keep(cells, which, labels[here], counts[here], everything)

    def _keep(
        self,
        cells: Cells,
        which: NDArray[np.intp],
        labels: NDArray[np.integer],
        counts: Counts,
        kept: NDArray[np.bool_],
    ) -> None:
        n_before = sum(len(before.lows) for before in self.cells)
        self.groups.append((which[kept] + n_before, labels[kept], counts[kept]))
        self.cells.append(cells)

    def finished(self, n_labels: int, as_value: frozenset[str]) -> tuple[Feature, DenseCounts]:
        """Return the feature and its counts."""
        numbers, labels, counts = map(np.concatenate, zip(*self.groups, strict=True))
        cells, which = in_line(self.cells, numbers)
        edges = mdl_edges(cells, which, Rows(labels, counts))
        beyond, *more = map(np.concatenate, zip(*self.infinite, strict=True))
        parts = (cells.lows, cells.highs, beyond)
        shown = both_shown(*(shown_numbers(part, edges, "number") for part in parts))
        name = self.column.name
        feature = binned_feature(name, "number", edges, shown, name in as_value)
        bins = bin_codes(np.concatenate([cells.lows[which], beyond]), edges)
        codes = np.searchsorted(np.array(feature.bins), bins)
        return feature, from_cells(
            codes,
            np.concatenate([labels, more[0]]),
            np.concatenate([counts, more[1]]),
            (feature.n_values, n_labels),
        )
