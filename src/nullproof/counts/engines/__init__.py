"""Count a lazy table inside its engine: DuckDB, Spark, Dask, SQL databases, lazy polars frames.

The engine counts the rows with each label and value, for every column. The result is as large as the index,
and is read by the same code as cells in memory. The engine itself bins columns of very many numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.counts.count import Learned, feature_names, outside_domain
from nullproof.counts.engines.columns import (
    Groups,
    Key,
    Labels,
    LazyColumn,
    LazyTable,
    by_bin,
    by_value,
    collected,
    doubles,
    grouped,
    like_key,
    summed,
)
from nullproof.counts.engines.files import duckdb_table, is_many
from nullproof.counts.fields import Counts, IndexFields
from nullproof.counts.weights import FEWEST_ROWS
from nullproof.data.binning import (
    GRID,
    Cells,
    Rows,
    Stretches,
    bin_codes,
    both_shown,
    dense,
    in_line,
    mdl_edges,
    shown_numbers,
    uniform_edges,
)
from nullproof.data.labels import (
    DROP,
    known_label_codes,
    label_codes,
    mend_labels,
    report_unlabelled,
)
from nullproof.data.missing import Missing
from nullproof.data.notices import could_be_ids, notify
from nullproof.data.options import TableOptions
from nullproof.data.schema import NAMES_ROWS, ColumnRecord, Feature, Schema, binned_feature, encode
from nullproof.data.sources import Table, check_limits
from nullproof.errors import NullproofError, explained, notice
from nullproof.words import many

Extent = tuple[float, float]
_MOST_GROUPS = 2**21
# Whole numbers in a range this short are counted one by one, which is faster than comparing with edges.
_FEW_VALUES = 1000
# Numbers of tables with so few rows are binned here; so are those that get quantiles.
_FEW_ROWS = 2**17


@contextmanager
def open_lazily(
    table: Any,
    label: str,
    missing: Missing,
    like: Schema | None = None,
    memory_limit: str | None = None,
) -> Iterator[LazyTable | None]:
    """Open a table to be counted inside its engine; None if it is an ordinary table."""
    if not isinstance(table, str | Path):
        frame = _as_lazy(table)
        yield None if frame is None else LazyTable(frame, label, missing)
    elif memory_limit is None and not is_many(table):
        yield None
    else:
        with duckdb_table(table, label, missing, like, memory_limit) as files:
            yield files


def _as_lazy(table: Any) -> nw.LazyFrame[Any] | None:
    """Return the table as a lazy narwhals frame; None if its library is not lazy."""
    # narwhals would search all installed packages for one that supports such a table.
    if isinstance(table, Table | np.ndarray | Mapping | list | tuple):
        return None
    if nw.dependencies.is_pandas_dataframe(table) or nw.dependencies.is_polars_dataframe(table):
        return None
    try:
        frame = nw.from_native(table, pass_through=True)
    except nw.exceptions.DuplicateError:
        return None
    return frame if isinstance(frame, nw.LazyFrame) else None


def count_lazy(
    table: LazyTable, options: TableOptions, *, like: Schema | None = None
) -> IndexFields:
    """Count a lazy table, by a schema learned before if there is one."""
    with explained(table.frame.implementation.name):
        table.refuse_unknown(table.label)
        check_limits(n_columns=len(table.names))
        if like is None:
            names = feature_names(table.names, table.label, options)
            table, labels = _labels(table, options)
            return _count(table, labels, names, options)
        table, labels = _labels(table, options, like)
        return _count_like(like, table, labels)


def _labels(
    table: LazyTable, options: TableOptions, like: Schema | None = None
) -> tuple[LazyTable, Labels]:
    """Return the labels and the rows of each; rows without one are dropped, or rejected."""
    column = table.column(table.label)
    # Dask needs a column other than the group keys to count.
    cells = table.frame.select(column.label.alias("label"), nw.lit(0).cast(nw.Int64).alias("value"))
    groups = cells.group_by("label", "value").agg(nw.len().alias("count"))
    found = collected(groups.with_columns(nw.col("count").cast(nw.Int64)))
    if not len(found):
        raise NullproofError("the table has no rows; give at least one")
    read, n_rows = column.read(found["label"], column.rule.of_labels), found["count"].to_numpy()
    known = read.known
    n_missing = int(n_rows[~known].sum())
    if options.unlabelled == "drop":
        report_unlabelled(table.label, n_missing, int(n_rows[known].sum()))
    elif n_missing:
        raise NullproofError(
            f"the label column {table.label!r} has {many(n_missing, 'missing label')}; "
            f"{mend_labels(n_missing, DROP)}"
        )
    if n_missing:
        kept = column.known
        spelled = found["label"].filter((~known).tolist()).drop_nulls()
        if not column.is_binned_there and len(spelled):
            kept = kept & ~column.label.is_in(spelled.to_list())
        table = replace(table, frame=table.frame.filter(kept))
        read, n_rows = read.rows(np.flatnonzero(known)), n_rows[known]
    schema = like or Schema((), label_codes(read)[1], table.label)
    counts = np.zeros(len(schema.labels), dtype=np.int64)
    np.add.at(counts, known_label_codes(schema, read), n_rows)
    return table, Labels(column, schema, counts)


def _count(
    table: LazyTable, labels: Labels, names: Sequence[str], options: TableOptions
) -> IndexFields:
    """Learn the domains of a table and count it."""
    columns = [table.column(name, options.declared(name)) for name in names]
    n_rows = labels.n_rows
    check_limits(n_cells=n_rows * len(names))
    learned = Learned(options)
    ids, binned = _columns_to_bin(table.frame, columns, options, n_rows)
    counted = {}
    for feature, known in _count_bins(table.frame, labels, binned, options):
        counted[feature.name] = feature, known
        taken = tuple(table.taken.get(feature.name, ()))
        learned.records[feature.name] = ColumnRecord(
            feature.name, "feature", kind=feature.kind, taken=taken
        )
    done = {*ids, *counted}
    learned.records |= {
        name: ColumnRecord(name, "left out", NAMES_ROWS, "number", 0) for name in ids
    }
    rest = [column for column in columns if column.name not in done]
    all_groups = grouped(table.frame, labels, [*map(by_value, rest)])
    for column, groups in zip(rest, all_groups, strict=True):
        marked = int(groups.counts.sum()) < n_rows
        rows = Rows(groups.labels, groups.counts)
        read = column.read(groups.values, marked=marked)
        read.taken = (*table.taken.get(column.name, ()), *read.taken)
        fitted = learned.fit(read, rows, n_rows)
        if fitted is not None:
            feature, encoded = fitted
            counted[column.name] = feature, summed(feature, encoded.codes, groups, labels)
    pairs = [counted[name] for name in names if name in counted]
    features = [feature for feature, _ in pairs]
    schema = learned.schema(labels.schema, features, table.names, table.missing, table.formats)
    index = _assembled(schema, labels.counts, [known for _, known in pairs])
    if options.weights == "learned" and n_rows >= FEWEST_ROWS:
        notice(
            "Every column counts 1, since weights are learned from rows and a lazy table is counted where "
            "it is; give like= an index of some of its rows to take its weights, or weights='equal'"
        )
    notify(index)
    return index


def _count_like(schema: Schema, table: LazyTable, labels: Labels) -> IndexFields:
    """Count a table by a schema learned before."""
    keys = [like_key(feature, table.like(feature)) for feature in schema.features]
    all_groups = grouped(table.frame, labels, keys)
    known = []
    for feature, key, groups in zip(schema.features, keys, all_groups, strict=True):
        if key.in_cells:
            places = np.full(len(feature.edges), feature.n_values)
            places[list(feature.bins)] = range(len(feature.bins))
            codes = places[groups.values.to_numpy().astype(np.intp)]
        else:
            marked = int(groups.counts.sum()) < labels.n_rows
            codes = encode(feature, key.column.read(groups.values, marked=marked)).codes
        if (codes == feature.n_values).any():
            raise outside_domain(feature)
        known.append(summed(feature, codes, groups, labels))
    return _assembled(schema, labels.counts, known)


def _assembled(schema: Schema, label_counts: Counts, known: Sequence[Counts]) -> IndexFields:
    """Put all counts together; cells that are in no group are missing, or hold the value for that."""
    n_null = np.array([label_counts - counts.sum(axis=0) for counts in known], dtype=np.int64)
    for j, feature in enumerate(schema.features):
        if feature.missing_is_value:
            known[j][feature.missing_code] += n_null[j]
            n_null[j] = 0
    return IndexFields(schema, label_counts, tuple(known), n_null, ({},) * len(known))


# Bins of very many numbers. For the cuts (theory 11) a query deals the numbers of some columns into the
# cells of `nullproof.data.binning`; further ones deal again what crowds there. Bins are made up of cells,
# so they need no further query.


def _columns_to_bin(
    frame: nw.LazyFrame[Any], columns: Sequence[LazyColumn], options: TableOptions, n_rows: int
) -> tuple[list[str], list[tuple[LazyColumn, Extent]]]:
    """Return the columns that only number the rows, and those for the engine to bin."""
    if n_rows <= _FEW_ROWS:
        return [], []
    numbers = [
        column
        for column in columns
        if column.is_binned_there
        and options.cuts(column.name)
        and options.binning_of(column.name) != "quantile"
    ]
    ids, binned = [], []
    for column, (low, high) in zip(numbers, _extents(frame, numbers), strict=True):
        if not low < high:
            # At most three numbers, two of them infinite.
            continue
        name = column.name
        may_be_ids = options.may_leave_out(name) and could_be_ids(name, low, high, n_rows)
        if may_be_ids and _n_different(frame, column) == n_rows:
            ids.append(name)
        elif not column.dtype.is_integer() or high - low > _FEW_VALUES:
            binned.append((column, (low, high)))
    return ids, binned


def _extents(frame: nw.LazyFrame[Any], columns: Sequence[LazyColumn]) -> list[Extent]:
    """Return the least and the greatest finite number of each column, all in one query."""
    wanted = []
    for j, column in enumerate(columns):
        # Engines skip nulls themselves, and may know the extremes of a plain column.
        number = nw.col(column.name)
        if column.dtype.is_float() or column.rule.numbers:
            number = nw.when(column.finite).then(column.number)
        wanted += [number.min().alias(f"low{j}"), number.max().alias(f"high{j}")]
    ends = [float(doubles(end)[0]) for end in collected(frame.select(*wanted))] if wanted else []
    return [*zip(ends[::2], ends[1::2], strict=True)]


def _n_different(frame: nw.LazyFrame[Any], column: LazyColumn) -> int:
    """Count the different whole numbers of a column."""
    cells = frame.filter(column.finite).select(column.number.alias("number"))
    whole = cells.filter(nw.col("number").floor() == nw.col("number"))
    groups = whole.group_by("number").agg(nw.len().alias("count"))
    return int(collected(groups.select(nw.len().alias("n"))).item())


def _count_bins(
    frame: nw.LazyFrame[Any],
    labels: Labels,
    columns: Sequence[tuple[LazyColumn, Extent]],
    options: TableOptions,
) -> Iterator[tuple[Feature, Counts]]:
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
            yield _binned(dealing.column, *dealing.finished(), labels, options)
    uniform = [
        (column, uniform_edges(*extent, options.bins))
        for column, extent in columns
        if options.binning_of(column.name) == "uniform"
    ]
    found = grouped(frame, labels, [by_bin(*pair) for pair in uniform])
    for (column, edges), groups in zip(uniform, found, strict=True):
        yield _binned(column, edges, groups, labels, options)


def _binned(
    column: LazyColumn,
    edges: tuple[float, ...],
    groups: Groups,
    labels: Labels,
    options: TableOptions,
) -> tuple[Feature, Counts]:
    """Return the feature of a column and its counts; no group lies in several bins."""
    shown = both_shown(*(shown_numbers(ends, edges, "number") for ends in groups.ends))
    as_value = column.name in options.missing_is_value
    feature = binned_feature(column.name, "number", edges, shown, as_value)
    codes = np.searchsorted(np.array(feature.bins), bin_codes(groups.ends[0], edges))
    return feature, summed(feature, codes, groups, labels)


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
