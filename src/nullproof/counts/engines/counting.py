"""Count a lazy table where it is: DuckDB, Spark, Dask, SQL databases, polars' own lazy frames.

It asks how many rows have each label and value, for every column. Columns of one type are
concatenated, with the number of the column beside each cell, and grouped in one query. The engine
bins numbers and dates, after one query for their extent. What comes back is as large as the index,
and is read as the same cells in memory would be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.counts.build import Index, Make, feature_names, schema_of
from nullproof.counts.engines.edges import Labels, edges_of, extents_of, lone_extremes
from nullproof.counts.engines.guards import refuse_engine_that_miscounts
from nullproof.counts.engines.keys import (
    Key,
    LazyColumn,
    bin_key,
    collected,
    column_of,
    in_python_years,
    value_key,
)
from nullproof.counts.engines.serials import numbering
from nullproof.counts.engines.tables import LazyTable
from nullproof.counts.notices import Findings, notify
from nullproof.counts.sparse import Counts, Known, from_cells
from nullproof.errors import NullproofError, explained
from nullproof.tables.bins import MISSING, Rows, interval_texts
from nullproof.tables.columns import Column, encode, fit_feature
from nullproof.tables.identifiers import names_rows
from nullproof.tables.kinds import read_series
from nullproof.tables.labels import label_codes
from nullproof.tables.options import TableOptions
from nullproof.tables.schema import Feature, Schema
from nullproof.tables.spellings import NOTHING_SPELLED
from nullproof.tables.values import text
from nullproof.words import many, some

_LABELS = -1
_FEW = 1000


@dataclass(frozen=True)
class Groups:
    """Label, value and number of rows of every group of one column."""

    values: nw.Series[Any]
    labels: nw.Series[Any]
    counts: Counts


def count_lazy(
    make: Make[Index], table: LazyTable, options: TableOptions, *, like: Schema | None = None
) -> Index:
    """Count a lazy table, by a schema learned before if there is one."""
    table.header.column(table.label)
    if any(dtype.is_float() for dtype in table.schema.values()):
        refuse_engine_that_miscounts(table.frame)
    with explained(table.frame.implementation.name):
        if like is not None:
            return _count_like(make, like, table)
        names = feature_names(table.header, table.label, options)
        return _count(make, table, names, options)


def _count(
    make: Make[Index], table: LazyTable, names: Sequence[str], options: TableOptions
) -> Index:
    columns = [table.column(name, options.declared(name)) for name in names]
    binned = [column for column in columns if _binned_there(column, options)]
    extents = extents_of(table.frame, binned)
    findings = Findings()
    findings.left_out += numbering(
        table.frame, [c for c in binned if options.may_leave_out(c.name)], extents
    )
    columns, binned = (
        [column for column in some_ if column.name not in findings.left_out]
        for some_ in (columns, binned)
    )
    # With so few values it is faster to count each and bin it here than to compare every cell.
    binned = [column for column in binned if not _few(column, extents[column.name])]
    edges = {
        name: found
        for name, found in edges_of(
            table.frame, binned, extents, options, _lazy_labels(table)
        ).items()
        if table.column(name).kind != "date" or in_python_years(found)
    }
    keys = [bin_key(c, edges[c.name]) if c.name in edges else value_key(c) for c in columns]
    rows, groups = grouped(table, keys)
    schema, label_counts = _labels(table, rows)
    findings.suspects |= lone_extremes(table.frame, binned, extents)
    features, known = [], []
    for j, key in enumerate(keys):
        counted = Counted(key, groups[j], schema, label_counts, table.from_text)
        name = key.column.name
        if options.may_leave_out(name) and counted.names_rows():
            findings.left_out.append(name)
            continue
        feature, codes = counted.fit(options)
        if not feature.values:
            findings.empty.append(name)
            continue
        if not key.edges:
            findings.look_at(counted.column)
        features.append(feature)
        known.append(counted.tally(feature, codes))
    findings.take(table.nulled(), [feature.name for feature in features])
    schema = schema_of(schema, features, table.spellings, findings)
    index = assembled(make, schema, label_counts, known)
    notify(index, findings)
    return index


def _binned_there(column: LazyColumn, options: TableOptions) -> bool:
    """Whether the engine finds the bins of a column; others are counted by value, and binned here."""
    binnable = column.kind in ("number", "date") and column.can_be_binned
    by_place = options.binning_of(column.name) in ("quantile", "mdl")
    return binnable and options.cuts(column.name) and (column.has_places or not by_place)


def _lazy_labels(table: LazyTable) -> Labels:
    """The label column, for edges that look at it; it is counted, and its holes refused, when they do."""

    @cache
    def schema() -> Schema:
        return _labels(table, grouped(table, [])[0])[0]

    return Labels(_label_key(table).value, lambda labels: _coded_labels(schema(), labels))


def _few(column: LazyColumn, extent: tuple[float, float]) -> bool:
    return column.steps > 0 and extent[1] - extent[0] <= _FEW * column.steps


def _count_like(make: Make[Index], schema: Schema, table: LazyTable) -> Index:
    keys = [like_key(feature, table.like(feature)) for feature in schema.features]
    rows, groups = grouped(table, keys)
    found, counts = _labels(table, rows)
    unknown = [label for label in found.labels if text(label) not in schema.label_codes]
    if unknown:
        raise NullproofError(
            f"the label column holds {unknown[0]!r}, which the given index does not have "
            f"({some(schema.labels, 5)}); count anew without like"
        )
    label_counts = np.zeros(len(schema.labels), dtype=np.int64)
    label_counts[[schema.label_codes[text(label)] for label in found.labels]] = counts
    known = []
    for j, (feature, key) in enumerate(zip(schema.features, keys, strict=True)):
        counted = Counted(key, groups[j], schema, label_counts, table.from_text)
        codes = counted.encode(feature)
        if (codes == feature.n_values).any():
            raise NullproofError(
                f"column {feature.name!r} holds a value that is not in its domain in the given "
                f"index ({some(feature.values, 5)}); count anew without like, or declare "
                "the value with domains when the first index is made"
            )
        known.append(counted.tally(feature, codes))
    return assembled(make, schema, label_counts, known)


def like_key(feature: Feature, column: LazyColumn) -> Key:
    """Group by the bins of a feature learned before, or by the values."""
    comparable = column.can_be_binned and (feature.kind != "date" or in_python_years(feature.edges))
    if feature.edges and feature.kind == column.kind and comparable:
        return bin_key(column, feature.edges)
    return value_key(column)


@dataclass(frozen=True)
class Counted:
    """The groups of one column, and how they become codes and counts of a feature."""

    key: Key
    groups: Groups
    schema: Schema
    label_counts: Counts
    from_text: bool

    @cached_property
    def column(self) -> Column:
        """The groups as a column: one cell per group."""
        holes = int(self.groups.counts.sum()) < int(self.label_counts.sum())
        return column_of(self.key, self.groups.values, retype=self.from_text, holes=holes)

    def fit(self, options: TableOptions) -> tuple[Feature, NDArray[Any]]:
        """Learn the domain, and give the code of every group."""
        name = self.key.column.name
        if self.key.edges:
            bins = self.groups.values.to_numpy()
            return binned_feature(self.key, bins), np.unique(bins, return_inverse=True)[1]
        column, domain = self.column, options.declared(name)
        if not domain and not column.declared and not column.known.any():
            return Feature(name, column.kind, ()), np.empty(0, dtype=np.int64)
        labels = _coded_labels(self.schema, self.groups.labels)
        feature, encoded = fit_feature(
            column,
            bins=options.bins,
            binning=options.binning_of(name),
            domain=domain,
            rows=Rows(labels, self.groups.counts),
        )
        return feature, encoded.codes

    def encode(self, feature: Feature) -> NDArray[Any]:
        """The code of every group in a domain learned before."""
        if not self.key.edges:
            return encode(feature, self.column).codes
        table = np.full(len(feature.edges), feature.n_values)
        table[list(feature.bins)] = range(feature.n_values)
        codes: NDArray[Any] = table[self.groups.values.to_numpy()]
        return codes

    def names_rows(self) -> bool:
        """Whether the column only names the rows; of columns in bins it is known before."""
        if self.key.edges:
            return False
        return names_rows(self.column, self.groups.counts, int(self.label_counts.sum()))

    def tally(self, feature: Feature, codes: NDArray[Any]) -> Known:
        """Add up the groups of each code and label."""
        held = codes != MISSING
        labels = _coded_labels(self.schema, self.groups.labels)[held]
        n_labels = len(self.schema.labels)
        keys, places = np.unique(
            codes[held].astype(np.int64) * n_labels + labels, return_inverse=True
        )
        counts = np.zeros(len(keys), dtype=np.int64)
        np.add.at(counts, places, self.groups.counts[held])
        return from_cells(keys // n_labels, keys % n_labels, counts, (feature.n_values, n_labels))


def binned_feature(key: Key, bins: NDArray[Any]) -> Feature:
    """The feature of a binned column that holds some of its bins."""
    used = tuple(int(bin_) for bin_ in np.unique(bins))
    texts = interval_texts(key.edges, key.column.kind)
    return Feature(key.column.name, key.column.kind, tuple(texts[b] for b in used), key.edges, used)


def grouped(table: LazyTable, keys: Sequence[Key]) -> tuple[Groups, list[Groups]]:
    """The rows of each label, and each column counted by label and value."""
    label = _label_key(table)
    parts = list(enumerate(keys))
    place = next((j for j, key in parts if key.with_holes), _LABELS)
    if place == _LABELS:
        rows = Key(label.column, nw.lit(0).cast(nw.Int64), nw.Int64, with_holes=True)
        parts.append((_LABELS, rows))
    by_type: dict[str, list[nw.LazyFrame[Any]]] = {}
    for j, key in parts:
        cells = table.frame if key.with_holes else table.frame.filter(key.column.known)
        cells = cells.select(
            label.value.alias("label"),
            key.value.alias("value"),
            nw.lit(j, nw.Int32).alias("column"),
        )
        by_type.setdefault(str(key.type), []).append(cells)
    found: dict[int, Groups] = {}
    for frames in by_type.values():
        # One query at a time: their memory does not add up.
        found.update(_split(collected(_counted(frames))))
    if place not in found:
        raise NullproofError("the table has no rows; give at least one")
    return found[place], [
        _without_holes(key, found[j]) if j in found else _no_groups(key, found[place])
        for j, key in enumerate(keys)
    ]


def _counted(frames: Sequence[nw.LazyFrame[Any]]) -> nw.LazyFrame[Any]:
    """Count the cells of some columns: by one group-by, unless the engine would copy them for that."""
    if frames[0].implementation.is_polars() or frames[0].implementation.is_dask():
        return nw.concat([_grouped_cells(cells) for cells in frames])
    return _grouped_cells(nw.concat(frames))


def _grouped_cells(cells: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    groups = cells.group_by("column", "label", "value").agg(nw.len().alias("count"))
    return groups.with_columns(nw.col("count").cast(nw.Int64))


def _without_holes(key: Key, groups: Groups) -> Groups:
    if not key.with_holes:
        return groups
    known = ~groups.values.is_null() if key.type == nw.String else groups.values != MISSING
    return Groups(
        groups.values.filter(known), groups.labels.filter(known), groups.counts[known.to_numpy()]
    )


def _split(frame: nw.DataFrame[Any]) -> Iterator[tuple[int, Groups]]:
    columns = frame["column"].to_numpy()
    order = np.argsort(columns, kind="stable")
    cuts = np.flatnonzero(np.diff(columns[order], prepend=-2))
    for rows in np.split(order, cuts[1:]) if len(order) else []:
        part = frame[rows.tolist()]
        groups = Groups(part["value"], part["label"], part["count"].to_numpy())
        yield int(columns[rows[0]]), groups


def _no_groups(key: Key, like: Groups) -> Groups:
    # polars has no time stamps of whole seconds.
    kind = nw.Datetime("us") if key.type == nw.Datetime else key.type
    values = nw.new_series("value", [], kind, backend="polars")
    return Groups(values, like.labels[:0], np.zeros(0, dtype=np.int64))


def _label_key(table: LazyTable) -> Key:
    column = table.column(table.label)
    if column.dtype in (nw.Categorical, nw.Enum):
        return value_key(column)
    return Key(column, nw.col(column.name), column.dtype)


def _labels(table: LazyTable, groups: Groups) -> tuple[Schema, Counts]:
    """The labels and the rows of each."""
    spellings = table.spellings.in_files if table.from_text else table.spellings
    column = read_series(groups.labels, spellings.of_labels, retype=False)
    n_holes = int(groups.counts[~column.known].sum())
    if n_holes:
        raise NullproofError(
            f"the label column {table.label!r} has {many(n_holes, 'hole')}; fill them in or leave "
            "those rows out: labels are never missing"
        )
    codes, names = label_codes(column)
    counts = np.zeros(len(names), dtype=np.int64)
    np.add.at(counts, codes, groups.counts)
    return Schema((), names, table.label), counts


def _coded_labels(schema: Schema, labels: nw.Series[Any]) -> NDArray[np.int64]:
    if not len(labels):
        return np.empty(0, dtype=np.int64)
    codes, names = label_codes(read_series(labels, NOTHING_SPELLED, retype=False))
    places = np.array([schema.label_codes[text(name)] for name in names], dtype=np.int64)
    return places[codes]


def assembled(
    make: Make[Index], schema: Schema, label_counts: Counts, known: Iterable[Known]
) -> Index:
    """All counts; cells that are in no group are missing."""
    known = tuple(known)
    n_null = np.empty((len(known), len(label_counts)), dtype=np.int64)
    for j, counts in enumerate(known):
        _, labels, cells = counts.cells()
        n_null[j] = label_counts
        np.subtract.at(n_null[j], labels, cells)
    return make(schema, label_counts, known, n_null, ({},) * len(known))
