"""Count a lazy table where it is: DuckDB, Spark, Dask, SQL databases, polars' own lazy frames.

It asks how many rows have each label and value, for every column. Columns of one type are
concatenated, with the number of the column beside each cell, and grouped in one query. The engine
bins numbers, after one query for their extent. What comes back is as large as the index, and is read as
the same cells in memory would be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.counts.build import Learned, feature_names
from nullproof.counts.count import Counts, IndexFields, Known, tallied
from nullproof.counts.engines.columns import (
    Groups,
    Key,
    LazyColumn,
    bin_key,
    collected,
    column_of,
    grouped,
    lazy_column,
    value_key,
)
from nullproof.counts.engines.duckdb import duckdb_files, is_many
from nullproof.counts.engines.edges import (
    FEW_ROWS,
    Extents,
    Labels,
    cut_columns,
    doubles,
    edges_of,
    extents_of,
)
from nullproof.data.binning import Rows, both_shown
from nullproof.data.keys import DROP, label_codes, mend_labels, report_unlabelled
from nullproof.data.missing import NOTHING_SPELLED, USUAL, Missing, Rule
from nullproof.data.notices import could_be_ids, names_rows, notify
from nullproof.data.options import TableOptions, stay_text
from nullproof.data.schema import Feature, Schema, binned_feature, encode, fit_feature
from nullproof.data.sources import Table, check_limits, no_such_column
from nullproof.data.texts import Formats
from nullproof.data.types import Column, text
from nullproof.errors import NullproofError, explained
from nullproof.words import many, some

# With so few whole numbers it is faster to count each and bin it here than to compare every cell.
_FEW_VALUES = 1000
# The labels and the rows of each, where they are needed before anything else is counted.
CountedLabels = Callable[[], tuple[Schema, Counts]]


@dataclass(frozen=True)
class LazyTable:
    """A lazy table and how it is to be read.

    Parameters
    ----------
    in_file
        Whether its texts come from a text file.
    taken, formats
        As for `Table`.
    as_text
        Columns of a text file that stay text.
    """

    frame: nw.LazyFrame[Any]
    label: str
    missing: Missing = USUAL
    in_file: bool = False
    taken: Mapping[str, Sequence[str]] = field(default_factory=dict)
    formats: Formats = field(default_factory=dict)
    as_text: frozenset[str] = frozenset()

    @cached_property
    def schema(self) -> nw.Schema:
        try:
            return self.frame.collect_schema()
        except (TypeError, ValueError) as problem:
            # Categories that are no texts, decimals with a negative scale.
            raise NullproofError(
                f"a column has a type that cannot be counted ({problem}); cast it to text, numbers or "
                "dates there"
            ) from problem

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.schema)

    def refuse_unknown(self, name: str) -> None:
        """Reject a column that the table does not have."""
        if name not in self.schema:
            raise no_such_column(name, self.names)

    def column(self, name: str, declared: Iterable[str] = ()) -> LazyColumn:
        """Return a column to learn from, with its declared values."""
        self.refuse_unknown(name)
        rule = self.missing.rule(name, declared, in_file=self.in_file)
        typed = self.in_file and name not in self.as_text
        return lazy_column(self.frame, name, self.schema[name], rule, typed)

    def like(self, feature: Feature) -> LazyColumn:
        """Return the column of a feature learned before."""
        rule = self.missing.settled(
            feature.name, feature.kind, feature.domain, in_file=self.in_file
        )
        return replace(self.column(feature.name), rule=rule)

    @property
    def label_key(self) -> Key:
        """What the label column is grouped by."""
        column = self.column(self.label)
        if column.dtype in (nw.Categorical, nw.Enum, nw.Decimal):
            return value_key(column)
        return Key(column, nw.col(column.name), column.dtype)

    def read_labels(self, series: nw.Series[Any], rule: Rule | None = None) -> Column:
        """Read labels that came from the table."""
        if rule is None:
            rule = self.missing.rule(self.label, in_file=self.in_file).of_labels
        return column_of(self.label_key, series, rule)


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
            yield LazyTable(
                frame, label, missing, files.from_text, files.taken, files.formats, frozenset(kept)
            )
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
    columns = [table.column(name, options.declared(name)) for name in names]

    @cache
    def labels() -> tuple[Schema, Counts]:
        return _labels(table, grouped(table.frame, table.label_key, [])[0])

    binned = [column for column in columns if _binned_there(column, options, labels)]
    extents = extents_of(table.frame, binned)
    learned = Learned()
    learned.findings.left_out += _ids(table, binned, extents, options, labels)
    gone = {*learned.findings.left_out}
    columns = [column for column in columns if column.name not in gone]
    binned = [c for c in binned if c.name not in gone and not _few(c, extents[c.name])]
    features = _cut(table, binned, extents, options, labels)
    rest = [column for column in binned if column.name not in features]
    edges = edges_of(table.frame, rest, extents, options)
    others = [column for column in columns if column.name not in features]
    keys = [
        bin_key(c, edges[c.name], ends=True) if c.name in edges else value_key(c) for c in others
    ]
    rows, groups = grouped(table.frame, table.label_key, keys)
    schema, label_counts = _labels(table, rows)
    check_limits(n_cells=int(label_counts.sum()) * len(names))
    as_value = frozenset(options.missing_is_value)
    for key, found in zip(keys, groups, strict=True):
        own = Counted(table, key, found, schema, label_counts)
        name = key.column.name
        if options.may_leave_out(name) and own.names_rows():
            learned.findings.leave_out(own.column)
            learned.n_missing[name] = int(label_counts.sum() - found.counts.sum())
            continue
        feature, codes = own.fit(options)
        if not feature.values:
            learned.findings.empty.append(name)
            learned.n_missing[name] = int(label_counts.sum())
            continue
        if not key.edges:
            declared = bool(options.declared(name))
            learned.findings.look_at(own.column, declared=declared, counts=found.counts)
        features[name] = (feature, own.tally(feature, codes))
    counted = [features[name] for name in names if name in features]
    for name, spellings in table.taken.items():
        for spelling in spellings if name in features else ():
            learned.findings.taken.setdefault(spelling, []).append(name)
    learned.findings.sort_taken(names)
    learned.kinds |= {name: table.column(name).kind for name in (*gone, table.label)}
    own_features = [feature for feature, _ in counted]
    schema = learned.schema(
        schema, own_features, table.names, options, table.missing, table.formats
    )
    assert as_value == frozenset(schema.missing.as_value)
    index = _assembled(schema, label_counts, [known for _, known in counted])
    notify(index, learned.findings)
    return index


def _ids(
    table: LazyTable,
    columns: Sequence[LazyColumn],
    extents: Extents,
    options: TableOptions,
    labels: CountedLabels,
) -> list[str]:
    """Return the columns that hold as many different whole numbers as there are rows, and look like ids."""
    wide = [
        column
        for column in columns
        if options.may_leave_out(column.name) and extents[column.name][0] < extents[column.name][1]
    ]
    if not wide:
        return []
    n_rows = int(labels()[1].sum())
    fitting = [c for c in wide if could_be_ids(c.name, *extents[c.name], n_rows)]
    found = []
    for column in fitting:
        known = table.frame.filter(column.finite).select(column.number.alias("number"))
        whole = known.filter(nw.col("number").floor() == nw.col("number"))
        groups = whole.group_by("number").agg(nw.len().alias("count"))
        if int(collected(groups.select(nw.len().alias("n"))).item()) == n_rows:
            found.append(column.name)
    return found


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
        table.label_key, lambda found: _coded_labels(table, schema, found), len(schema.labels)
    )
    as_value = frozenset(options.missing_is_value)
    return {pair[0].name: pair for pair in cut_columns(table.frame, wanted, labels, as_value)}


def _binned_there(column: LazyColumn, options: TableOptions, labels: CountedLabels) -> bool:
    """Return whether the engine finds the bins of a column; others are binned here."""
    if not (column.can_be_binned and options.cuts(column.name)):
        return False
    return options.binning_of(column.name) != "mdl" or int(labels()[1].sum()) > FEW_ROWS


def _few(column: LazyColumn, extent: tuple[float, float]) -> bool:
    return column.is_whole and extent[1] - extent[0] <= _FEW_VALUES


def _labelled(table: LazyTable) -> LazyTable:
    """Return the rows that have a label, with a notice of how many have none."""
    label = table.label_key
    groups = grouped(table.frame, label, [])[0]
    known = table.read_labels(groups.labels).known
    n_left = int(groups.counts[known].sum())
    report_unlabelled(table.label, int(groups.counts.sum()) - n_left, n_left)
    if known.all():
        return table
    kept = label.column.known
    spelled = groups.labels.filter((~known).tolist()).drop_nulls()
    # Numbers that were named are not known to the engine either.
    if (label.column.kind != "number" or label.column.is_whole) and len(spelled):
        kept = kept & ~label.value.is_in(spelled.to_list())
    return replace(table, frame=table.frame.filter(kept))


def _count_like(schema: Schema, table: LazyTable) -> IndexFields:
    keys = [like_key(feature, table.like(feature)) for feature in schema.features]
    rows, groups = grouped(table.frame, table.label_key, keys)
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
    for feature, key, own in zip(schema.features, keys, groups, strict=True):
        counted = Counted(table, key, own, schema, label_counts)
        codes = counted.encode(feature)
        if (codes == feature.n_values).any():
            raise NullproofError(
                f"column {feature.name!r} holds a value that is not in its domain in the given "
                f"index ({some(feature.values, 5)}); count anew without like, or declare "
                "the value with domains when the first index is made"
            )
        known.append(counted.tally(feature, codes))
    return _assembled(schema, label_counts, known)


def like_key(feature: Feature, column: LazyColumn) -> Key:
    """Group by the bins of a feature learned before, or by the values."""
    if feature.edges and feature.kind == column.kind and column.can_be_binned:
        return bin_key(column, feature.edges)
    return value_key(column)


@dataclass(frozen=True)
class Counted:
    """The groups of one column, and how they become codes and counts of a feature."""

    table: LazyTable
    key: Key
    groups: Groups
    schema: Schema
    label_counts: Counts

    @cached_property
    def column(self) -> Column:
        """The groups as a column: one cell per group."""
        missing = int(self.groups.counts.sum()) < int(self.label_counts.sum())
        return column_of(self.key, self.groups.values, missing=missing)

    def fit(self, options: TableOptions) -> tuple[Feature, NDArray[Any]]:
        """Learn the domain, and return the code of every group."""
        name = self.key.column.name
        as_value = name in options.missing_is_value
        if self.key.edges:
            bins = self.groups.values.to_numpy()
            pairs = zip(*(doubles(ends).tolist() for ends in self.groups.ends), strict=True)
            shown = both_shown(*({b: pair} for b, pair in zip(bins.tolist(), pairs, strict=True)))
            feature = binned_feature(name, "number", self.key.edges, shown, as_value)
            return feature, np.unique(bins, return_inverse=True)[1]
        column, domain = self.column, options.declared(name)
        if not domain and not column.declared and not column.known.any() and not as_value:
            return Feature(name, column.kind, ()), np.empty(0, dtype=np.int64)
        labels = _coded_labels(self.table, self.schema, self.groups.labels)
        feature, encoded = fit_feature(
            column,
            bins=options.bins,
            binning=options.binning_of(name),
            domain=domain,
            rows=Rows(labels, self.groups.counts),
            missing_is_value=as_value,
        )
        return feature, encoded.codes

    def encode(self, feature: Feature) -> NDArray[Any]:
        """Return the code of every group in a domain learned before."""
        if not self.key.edges:
            return encode(feature, self.column).codes
        table = np.full(len(feature.edges), feature.n_values)
        table[list(feature.bins)] = range(len(feature.bins))
        codes: NDArray[Any] = table[self.groups.values.to_numpy()]
        return codes

    def names_rows(self) -> bool:
        """Return whether the column only names the rows; of columns in bins it is known before."""
        if self.key.edges:
            return False
        return names_rows(self.column, self.groups.counts, int(self.label_counts.sum()))

    def tally(self, feature: Feature, codes: NDArray[Any]) -> Known:
        """Add up the groups of each code and label."""
        labels = _coded_labels(self.table, self.schema, self.groups.labels)
        shape = (feature.n_values, len(self.schema.labels))
        return tallied(codes, labels, self.groups.counts, shape)


def _labels(table: LazyTable, groups: Groups) -> tuple[Schema, Counts]:
    """Return the labels and the rows of each."""
    column = table.read_labels(groups.labels)
    n_missing = int(groups.counts[~column.known].sum())
    if n_missing:
        raise NullproofError(
            f"the label column {table.label!r} has {many(n_missing, 'missing label')}; "
            f"{mend_labels(n_missing, DROP)}"
        )
    codes, names = label_codes(column)
    counts = np.zeros(len(names), dtype=np.int64)
    np.add.at(counts, codes, groups.counts)
    return Schema((), names, table.label), counts


def _coded_labels(table: LazyTable, schema: Schema, labels: nw.Series[Any]) -> NDArray[np.int64]:
    if not len(labels):
        return np.empty(0, dtype=np.int64)
    codes, names = label_codes(table.read_labels(labels, NOTHING_SPELLED))
    places = np.array([schema.label_codes[text(name)] for name in names], dtype=np.int64)
    return places[codes]


def _assembled(schema: Schema, label_counts: Counts, known: Sequence[Known]) -> IndexFields:
    """Put all counts together; cells that are in no group are missing, or hold the value for that."""
    counted = list(known)
    n_null = np.empty((len(counted), len(label_counts)), dtype=np.int64)
    every_label = np.arange(len(label_counts))
    for j, feature in enumerate(schema.features):
        _, labels, cells = counted[j].cells()
        n_null[j] = label_counts
        np.subtract.at(n_null[j], labels, cells)
        if feature.missing_is_value:
            code = np.full(len(label_counts), feature.missing_code)
            counted[j] = counted[j].changed(code, every_label, n_null[j])
            n_null[j] = 0
    return IndexFields(schema, label_counts, tuple(counted), n_null, ({},) * len(counted))
