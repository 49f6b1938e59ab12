"""Count a lazy table where it is: DuckDB, Spark, Dask, SQL databases, polars' own lazy frames.

It asks how many rows have each label and value, for every column. Columns of one type are
concatenated, with the number of the column beside each cell, and grouped in one query. The engine
bins numbers and dates, after one query for their extent. What comes back is as large as the index,
and is read as the same cells in memory would be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.counts.build import Index, Make, feature_names, schema_of
from nullproof.counts.engines.dealing import FEW_ROWS, Labels, cut_columns
from nullproof.counts.engines.edges import Extents, edges_of, extents_of, lone_extremes
from nullproof.counts.engines.groups import Groups, grouped
from nullproof.counts.engines.guards import refuse_engine_that_miscounts
from nullproof.counts.engines.keys import (
    Key,
    LazyColumn,
    bin_key,
    column_of,
    in_python_years,
    new_bin_key,
    shown_places,
    value_key,
)
from nullproof.counts.engines.serials import numbering
from nullproof.counts.engines.tables import LazyTable
from nullproof.counts.notices import Findings, notify
from nullproof.counts.sparse import Counts, Known, tallied
from nullproof.errors import NullproofError, explained
from nullproof.tables.bins import Rows
from nullproof.tables.columns import Column, encode, fit_feature
from nullproof.tables.identifiers import names_rows
from nullproof.tables.intervals import Shown, binned_feature, both_shown
from nullproof.tables.kinds import read_series
from nullproof.tables.labelled import tell_of_unlabelled
from nullproof.tables.labels import DROP, label_codes, mend_labels
from nullproof.tables.options import TableOptions
from nullproof.tables.schema import Feature, Schema
from nullproof.tables.spellings import NOTHING_SPELLED, Spellings
from nullproof.tables.values import text
from nullproof.words import many, some

_FEW = 1000
# The labels and the rows of each, where they are needed before anything else is counted.
CountedLabels = Callable[[], tuple[Schema, Counts]]


def count_lazy(
    make: Make[Index], table: LazyTable, options: TableOptions, *, like: Schema | None = None
) -> Index:
    """Count a lazy table, by a schema learned before if there is one."""
    with explained(table.frame.implementation.name):
        table.header.column(table.label)
        if any(dtype.is_float() for dtype in table.schema.values()):
            refuse_engine_that_miscounts(table.frame)
        if options.unlabelled == "drop":
            table = _labelled(table)
        if like is not None:
            return _count_like(make, like, table)
        names = feature_names(table.header, table.label, options)
        return _count(make, table, names, options)


def _count(
    make: Make[Index], table: LazyTable, names: Sequence[str], options: TableOptions
) -> Index:
    columns = [table.column(name, options.declared(name)) for name in names]

    @cache
    def labels() -> tuple[Schema, Counts]:
        return _labels(table, grouped(table.frame, _label_key(table), [])[0])

    binned = [column for column in columns if _binned_there(column, options, labels)]
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
    learned = _cut(table, binned, extents, options, labels)
    edges = {
        name: found
        for name, found in edges_of(
            table.frame, [c for c in binned if c.name not in learned], extents, options
        ).items()
        if table.column(name).kind != "date" or in_python_years(found)
    }
    others = [column for column in columns if column.name not in learned]
    keys = [new_bin_key(c, edges[c.name]) if c.name in edges else value_key(c) for c in others]
    rows, groups = grouped(table.frame, _label_key(table), keys)
    schema, label_counts = _labels(table, rows)
    findings.suspects |= lone_extremes(table.frame, binned, extents)
    for j, key in enumerate(keys):
        counted = Counted(key, groups[j], schema, label_counts, table.from_text)
        name = key.column.name
        if options.may_leave_out(name) and counted.names_rows():
            findings.leave_out(counted.column)
            continue
        feature, codes = counted.fit(options)
        if not feature.values:
            findings.empty.append(name)
            continue
        if not key.edges:
            findings.look_at(counted.column, declared=bool(options.declared(name)))
        learned[name] = (feature, counted.tally(feature, codes))
    found = [learned[name] for name in names if name in learned]
    features = tuple(feature for feature, _ in found)
    findings.take(table.nulled(), [feature.name for feature in features])
    schema = schema_of(schema, features, table, findings)
    index = assembled(make, schema, label_counts, [known for _, known in found])
    notify(index, findings)
    return index


def _cut(
    table: LazyTable,
    binned: Sequence[LazyColumn],
    extents: Extents,
    options: TableOptions,
    counted_labels: CountedLabels,
) -> dict[str, tuple[Feature, Known]]:
    """Learn and count the columns that the engine cuts where the label changes."""
    wanted = [
        (column, extents[column.name])
        for column in binned
        if options.binning_of(column.name) == "mdl"
        and extents[column.name][0] < extents[column.name][1]
    ]
    if not wanted:
        return {}
    schema = counted_labels()[0]
    labels = Labels(
        _label_key(table), lambda found: _coded_labels(schema, found), len(schema.labels)
    )
    return {pair[0].name: pair for pair in cut_columns(table.frame, wanted, labels)}


def _binned_there(column: LazyColumn, options: TableOptions, labels: CountedLabels) -> bool:
    """Whether the engine finds the bins of a column; others are counted by value, and binned here."""
    binnable = column.kind in ("number", "date") and column.can_be_binned
    if not (binnable and options.cuts(column.name)):
        return False
    binning = options.binning_of(column.name)
    if binning == "mdl":
        # Engines reckon with numbers alike, but not with moments.
        return column.kind == "number" and int(labels()[1].sum()) > FEW_ROWS
    return column.has_places or binning != "quantile"


def _labelled(table: LazyTable) -> LazyTable:
    """The rows that have a label, and a notice of how many have none."""
    label = _label_key(table)
    groups = grouped(table.frame, label, [])[0]
    known = read_series(groups.labels, _label_spellings(table), retype=False).known
    n_left = int(groups.counts[known].sum())
    tell_of_unlabelled(table.label, int(groups.counts.sum()) - n_left, n_left)
    if known.all():
        return table
    kept = label.column.known
    spelled = groups.labels.filter((~known).tolist()).drop_nulls()
    # Other numbers that were named are not known to the engine either.
    if (label.column.kind != "number" or label.column.steps) and len(spelled):
        kept = kept & ~label.value.is_in(spelled.to_list())
    return replace(table, frame=table.frame.filter(kept))


def _few(column: LazyColumn, extent: tuple[float, float]) -> bool:
    return column.steps > 0 and extent[1] - extent[0] <= _FEW * column.steps


def _count_like(make: Make[Index], schema: Schema, table: LazyTable) -> Index:
    keys = [like_key(feature, table.like(feature)) for feature in schema.features]
    rows, groups = grouped(table.frame, _label_key(table), keys)
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
            kind, bins = self.key.column.kind, self.groups.values.to_numpy()
            feature = binned_feature(name, kind, self.key.edges, _shown(self.groups))
            return feature, np.unique(bins, return_inverse=True)[1]
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
        labels = _coded_labels(self.schema, self.groups.labels)
        shape = (feature.n_values, len(self.schema.labels))
        return tallied(codes, labels, self.groups.counts, shape)


def _shown(groups: Groups) -> Shown:
    """The least and the greatest cell of each bin."""
    pairs = zip(*(shown_places(ends) for ends in groups.ends), strict=True)
    return both_shown(*({b: pair} for b, pair in zip(groups.values.to_list(), pairs, strict=True)))


def _label_key(table: LazyTable) -> Key:
    column = table.column(table.label)
    if column.dtype in (nw.Categorical, nw.Enum):
        return value_key(column)
    return Key(column, nw.col(column.name), column.dtype)


def _label_spellings(table: LazyTable) -> Spellings:
    spellings = table.spellings.in_files if table.from_text else table.spellings
    return spellings.of_labels


def _labels(table: LazyTable, groups: Groups) -> tuple[Schema, Counts]:
    """The labels and the rows of each."""
    column = read_series(groups.labels, _label_spellings(table), retype=False)
    n_holes = int(groups.counts[~column.known].sum())
    if n_holes:
        raise NullproofError(
            f"the label column {table.label!r} has {many(n_holes, 'hole')}; {mend_labels(n_holes, DROP)}"
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
