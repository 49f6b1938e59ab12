"""Count a lazy table where it is: DuckDB, Spark, Dask, SQL databases, polars' own lazy frames.

It asks how many rows have each label and value, for every column. What comes back is as large as the index,
and is read as the same cells in memory would be, by the same code. Columns of very many numbers are put
into bins by the engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.counts.count import (
    Counts,
    DenseCounts,
    IndexFields,
    Learned,
    check_size,
    feature_names,
    from_cells,
    outside_domain,
)
from nullproof.counts.engines.columns import (
    Key,
    Labels,
    LazyColumn,
    LazyTable,
    by_bin,
    by_value,
    collected,
    grouped,
)
from nullproof.counts.engines.edges import Extent, count_bins, extents_of
from nullproof.counts.engines.files import duckdb_files, is_many
from nullproof.counts.weights import FEWEST_ROWS
from nullproof.data.binning import Rows
from nullproof.data.labels import (
    DROP,
    known_label_codes,
    label_codes,
    mend_labels,
    report_unlabelled,
)
from nullproof.data.missing import Missing
from nullproof.data.notices import could_be_ids, notify
from nullproof.data.options import TableOptions, stay_text
from nullproof.data.schema import Feature, Schema, encode
from nullproof.data.sources import Table, check_limits
from nullproof.data.types import Column
from nullproof.errors import NullproofError, explained, notice
from nullproof.words import many

# Whole numbers in so short a range are counted one by one: faster than to compare them with edges.
_FEW_VALUES = 1000
# Tables with so few rows are not worth a query for cells: their numbers come here.
_FEW_ROWS = 2**17


@contextmanager
def open_lazily(
    table: Any,
    label: str,
    missing: Missing,
    like: Schema | None = None,
    memory_limit: str | None = None,
) -> Iterator[LazyTable | None]:
    """Open a table that is to be counted where it is; None if it is an ordinary one."""
    if isinstance(table, str | Path):
        if memory_limit is None and not is_many(table):
            yield None
            return
        kept = stay_text(label, like)
        formats = None if like is None else dict(like.formats)
        with duckdb_files(
            table, missing=missing, as_text=kept, like=formats, memory_limit=memory_limit
        ) as files:
            frame = nw.from_native(files.relation)
            yield LazyTable(frame, label, missing, *files[1:], frozenset(kept))
        return
    frame = _as_lazy(table)
    yield None if frame is None else LazyTable(frame, label, missing)


def _as_lazy(table: Any) -> nw.LazyFrame[Any] | None:
    """Return the table as a lazy narwhals frame; None if its library is not lazy."""
    # narwhals would look through everything installed for somebody who knows such a table.
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
        if options.unlabelled == "drop":
            table = _labelled(table)
        if like is not None:
            return _count_like(like, table)
        return _count(table, feature_names(table.names, table.label, options), options)


def _count(table: LazyTable, names: Sequence[str], options: TableOptions) -> IndexFields:
    """Learn the domains of a table and count it."""
    columns = [table.column(name, options.declared(name)) for name in names]
    labels = _labels(table)
    n_rows = int(labels.counts.sum())
    check_limits(n_cells=n_rows * len(names))
    learned = Learned(options)
    findings = learned.findings
    ids, binned = _columns_to_bin(table.frame, columns, options, n_rows)
    findings.left_out += ids
    counted = {
        feature.name: (feature, known)
        for feature, known in count_bins(table.frame, labels, binned, options)
    }
    rest = [column for column in columns if column.name not in {*ids, *counted}]
    all_groups = grouped(table.frame, labels, [*map(by_value, rest)])
    for column, groups in zip(rest, all_groups, strict=True):
        rows = Rows(groups.labels, groups.counts)
        read = column.read(groups.values, has_missing=int(groups.counts.sum()) < n_rows)
        fitted = learned.fit(read, rows, n_rows, findings)
        if fitted is not None:
            known = _tally(fitted[0], fitted[1].codes, rows, labels)
            counted[column.name] = fitted[0], known
    for name, spellings in table.taken.items():
        for spelling in spellings if name in counted else ():
            findings.taken.setdefault(spelling, []).append(name)
    findings.sort_taken(names)
    learned.kinds |= {name: table.column(name).kind for name in (*ids, table.label)}
    pairs = [counted[name] for name in names if name in counted]
    features = [feature for feature, _ in pairs]
    schema = learned.schema(labels.schema, features, table.names, table.missing, table.formats)
    index = _assembled(schema, labels.counts, [known for _, known in pairs])
    if options.weights == "learned" and n_rows >= FEWEST_ROWS:
        notice(
            "Every column counts 1, since weights are learned from rows and a lazy table is counted where "
            "it is; give like= an index of some of its rows to take its weights, or weights='equal'"
        )
    notify(index, findings)
    return index


def _columns_to_bin(
    frame: nw.LazyFrame[Any], columns: Sequence[LazyColumn], options: TableOptions, n_rows: int
) -> tuple[list[str], list[tuple[LazyColumn, Extent]]]:
    """Return the columns that only number the rows, and those that the engine is to bin."""
    numbers = [
        column
        for column in columns
        if column.is_binned_there
        and options.cuts(column.name)
        and (options.binning_of(column.name) != "mdl" or n_rows > _FEW_ROWS)
    ]
    ids, binned = [], []
    for column, (low, high) in zip(numbers, extents_of(frame, numbers), strict=True):
        if not low < high:
            # At most three numbers, two of them infinite.
            continue
        may_be_ids = options.may_leave_out(column.name) and could_be_ids(
            column.name, low, high, n_rows
        )
        if may_be_ids and _n_different(frame, column) == n_rows:
            ids.append(column.name)
        elif not column.dtype.is_integer() or high - low > _FEW_VALUES:
            binned.append((column, (low, high)))
    return ids, binned


def _n_different(frame: nw.LazyFrame[Any], column: LazyColumn) -> int:
    """Count the different whole numbers of a column."""
    cells = frame.filter(column.finite).select(column.number.alias("number"))
    whole = cells.filter(nw.col("number").floor() == nw.col("number"))
    groups = whole.group_by("number").agg(nw.len().alias("count"))
    return int(collected(groups.select(nw.len().alias("n"))).item())


def _count_like(schema: Schema, table: LazyTable) -> IndexFields:
    """Count a table by a schema learned before."""
    columns = [table.like(feature) for feature in schema.features]
    keys = [like_key(*pair) for pair in zip(schema.features, columns, strict=True)]
    labels = _labels(table, schema)
    known = []
    for feature, key, groups in zip(
        schema.features, keys, grouped(table.frame, labels, keys), strict=True
    ):
        if key.in_cells:
            places = np.full(len(feature.edges), feature.n_values)
            places[list(feature.bins)] = range(len(feature.bins))
            codes = places[groups.values.to_numpy()]
        else:
            has_missing = int(groups.counts.sum()) < int(labels.counts.sum())
            codes = encode(feature, key.column.read(groups.values, has_missing=has_missing)).codes
        if (codes == feature.n_values).any():
            raise outside_domain(feature)
        known.append(_tally(feature, codes, Rows(groups.labels, groups.counts), labels))
    return _assembled(schema, labels.counts, known)


def like_key(feature: Feature, column: LazyColumn) -> Key:
    """Group by the bins of a feature learned before, or by the values."""
    if feature.edges and feature.kind == column.kind and column.is_binned_there:
        return by_bin(column, feature.edges)
    return by_value(column)


def _tally(feature: Feature, codes: NDArray[Any], rows: Rows, labels: Labels) -> DenseCounts:
    """Add up the groups of each code and label."""
    n_labels = len(labels.counts)
    check_size(feature, n_labels)
    assert rows.labels is not None
    assert rows.weights is not None
    return from_cells(codes, rows.labels, rows.weights, (feature.n_values, n_labels))


def _assembled(schema: Schema, label_counts: Counts, known: Sequence[DenseCounts]) -> IndexFields:
    """Put all counts together; cells that are in no group are missing, or hold the value for that."""
    known = list(known)
    n_null = np.array([label_counts - own.dense.sum(axis=0) for own in known], dtype=np.int64)
    for j, feature in enumerate(schema.features):
        if feature.missing_is_value:
            every_label = np.arange(len(label_counts))
            code = np.full(len(label_counts), feature.missing_code)
            known[j] = known[j].changed(code, every_label, n_null[j])
            n_null[j] = 0
    return IndexFields(schema, label_counts, tuple(known), n_null, ({},) * len(known))


# Labels.


def _label_groups(table: LazyTable) -> tuple[nw.Series[Any], Column, Counts]:
    """Return every label, missing ones too, as the engine has it and as it is read, and its rows."""
    # Dask counts the cells of another column than those that it groups by.
    column = table.column(table.label)
    cells = table.frame.select(column.label.alias("label"), nw.lit(0).cast(nw.Int64).alias("value"))
    groups = cells.group_by("label", "value").agg(nw.len().alias("count"))
    found = collected(groups.with_columns(nw.col("count").cast(nw.Int64)))
    if not len(found):
        raise NullproofError("the table has no rows; give at least one")
    read = column.read(found["label"], column.rule.of_labels)
    return found["label"], read, found["count"].to_numpy()


def _labels(table: LazyTable, like: Schema | None = None) -> Labels:
    """Return the labels and the rows of each; reject missing ones."""
    _, read, n_rows = _label_groups(table)
    n_missing = int(n_rows[~read.known].sum())
    if n_missing:
        raise NullproofError(
            f"the label column {table.label!r} has {many(n_missing, 'missing label')}; "
            f"{mend_labels(n_missing, DROP)}"
        )
    schema = like or Schema((), label_codes(read)[1], table.label)
    counts = np.zeros(len(schema.labels), dtype=np.int64)
    np.add.at(counts, known_label_codes(schema, read), n_rows)
    return Labels(table.column(table.label), schema, counts)


def _labelled(table: LazyTable) -> LazyTable:
    """Return the rows that have a label, with a notice of how many have none."""
    found, read, n_rows = _label_groups(table)
    n_left = int(n_rows[read.known].sum())
    report_unlabelled(table.label, int(n_rows.sum()) - n_left, n_left)
    if read.known.all():
        return table
    column = table.column(table.label)
    kept = column.known
    spelled = found.filter((~read.known).tolist()).drop_nulls()
    if not column.is_binned_there and len(spelled):
        kept = kept & ~column.label.is_in(spelled.to_list())
    return replace(table, frame=table.frame.filter(kept))
