"""Count a lazy table where it is: DuckDB, Spark, Dask, SQL databases, polars' own lazy frames.

It asks how many rows have each label and value, for every column. Columns of one type are
concatenated, with the number of the column beside each cell, and grouped in one query. The engine
bins numbers, after one query for their extent. What comes back is as large as the index, and is read as
the same cells in memory would be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
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
    Groups,
    Key,
    Labels,
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
    cut_columns,
    doubles,
    edges_of,
    extents_of,
)
from nullproof.data.binning import Rows, both_shown
from nullproof.data.keys import (
    DROP,
    known_label_codes,
    label_codes,
    mend_labels,
    report_unlabelled,
)
from nullproof.data.missing import USUAL, Missing, Rule
from nullproof.data.notices import could_be_ids, notify
from nullproof.data.options import TableOptions, stay_text
from nullproof.data.schema import Feature, Schema, binned_feature, encode
from nullproof.data.sources import Table, check_limits, no_such_column
from nullproof.data.texts import Formats
from nullproof.data.types import Column
from nullproof.errors import NullproofError, explained
from nullproof.words import many

# With so few whole numbers it is faster to count each and bin it here than to compare every cell.
_FEW_VALUES = 1000


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
        column = lazy_column(self.frame, name, self.schema[name], rule, typed)
        return replace(column, format=self.formats.get(name))

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
        if options.weights == "learned":
            raise NullproofError(
                "weights is 'learned', which needs the rows, but a lazy table is counted where it is; give "
                "weights='equal', or like= an index whose weights were learned from some of its rows"
            )
        check_limits(n_columns=len(table.names))
        if options.unlabelled == "drop":
            table = _labelled(table)
        if like is not None:
            return _count_like(like, table)
        return _count(table, feature_names(table.names, table.label, options), options)


def _count(table: LazyTable, names: Sequence[str], options: TableOptions) -> IndexFields:
    columns = [table.column(name, options.declared(name)) for name in names]
    labels = _labels(table)
    n_rows = int(labels.counts.sum())
    check_limits(n_cells=n_rows * len(names))
    learned, as_value = Learned(options), frozenset(options.missing_is_value)
    findings = learned.findings
    # The engine finds the bins of these columns; others are binned here.
    binned = [
        column
        for column in columns
        if column.can_be_binned
        and options.cuts(column.name)
        and (options.binning_of(column.name) != "mdl" or n_rows > FEW_ROWS)
    ]
    extents = extents_of(table.frame, binned)
    findings.left_out += _ids(table, binned, extents, options, n_rows)
    gone = {*findings.left_out}
    binned = [c for c in binned if c.name not in gone and not _few(c, extents[c.name])]
    cut = [
        (column, extents[column.name])
        for column in binned
        if options.binning_of(column.name) == "mdl"
        and extents[column.name][0] < extents[column.name][1]
    ]
    features = {
        feature.name: (feature, known)
        for feature, known in cut_columns(table.frame, cut, labels, as_value)
    }
    rest = [column for column in binned if column.name not in features]
    edges = edges_of(table.frame, rest, extents, options)
    keys = [
        bin_key(c, edges[c.name], ends=True) if c.name in edges else value_key(c)
        for c in columns
        if c.name not in features and c.name not in gone
    ]
    for key, groups in zip(keys, grouped(table.frame, labels.key, keys), strict=True):
        name, row_labels = key.column.name, labels.codes(groups.labels)
        if key.edges:
            feature, codes = _binned(key, groups, name in as_value)
            if not feature.values:
                findings.empty.append(name)
                learned.n_missing[name] = n_rows
                continue
        else:
            column = column_of(key, groups.values, missing=int(groups.counts.sum()) < n_rows)
            fitted = learned.fit(column, Rows(row_labels, groups.counts), n_rows, findings)
            if fitted is None:
                continue
            feature, codes = fitted[0], fitted[1].codes
        features[name] = feature, _tally(feature, codes, groups, row_labels, labels)
    found = [features[name] for name in names if name in features]
    for name, spellings in table.taken.items():
        for spelling in spellings if name in features else ():
            findings.taken.setdefault(spelling, []).append(name)
    findings.sort_taken(names)
    learned.kinds |= {name: table.column(name).kind for name in (*gone, table.label)}
    learned_features = [feature for feature, _ in found]
    schema = learned.schema(
        labels.schema, learned_features, table.names, table.missing, table.formats
    )
    index = _assembled(schema, labels.counts, [known for _, known in found])
    notify(index, findings)
    return index


def _ids(
    table: LazyTable,
    columns: Sequence[LazyColumn],
    extents: Extents,
    options: TableOptions,
    n_rows: int,
) -> list[str]:
    """Return the columns that hold as many different whole numbers as there are rows, and look like ids."""
    found = []
    for column in columns:
        low, high = extents[column.name]
        may_be_ids = options.may_leave_out(column.name) and low < high
        if not may_be_ids or not could_be_ids(column.name, low, high, n_rows):
            continue
        known = table.frame.filter(column.finite).select(column.number.alias("number"))
        whole = known.filter(nw.col("number").floor() == nw.col("number"))
        groups = whole.group_by("number").agg(nw.len().alias("count"))
        if int(collected(groups.select(nw.len().alias("n"))).item()) == n_rows:
            found.append(column.name)
    return found


def _few(column: LazyColumn, extent: tuple[float, float]) -> bool:
    return column.is_whole and extent[1] - extent[0] <= _FEW_VALUES


def _binned(key: Key, groups: Groups, as_value: bool) -> tuple[Feature, NDArray[Any]]:
    """Return the feature of a column that came in bins, and the code of every group."""
    bins = groups.values.to_numpy()
    pairs = zip(*(doubles(ends).tolist() for ends in groups.ends), strict=True)
    shown = both_shown(*({b: pair} for b, pair in zip(bins.tolist(), pairs, strict=True)))
    feature = binned_feature(key.column.name, "number", key.edges, shown, as_value)
    return feature, np.searchsorted(np.array(feature.bins), bins)


def _tally(
    feature: Feature,
    codes: NDArray[Any],
    groups: Groups,
    row_labels: NDArray[np.integer],
    labels: Labels,
) -> DenseCounts:
    """Add up the groups of each code and label."""
    n_labels = len(labels.counts)
    check_size(feature, n_labels)
    return from_cells(codes, row_labels, groups.counts, (feature.n_values, n_labels))


def _count_like(schema: Schema, table: LazyTable) -> IndexFields:
    keys = [like_key(feature, table.like(feature)) for feature in schema.features]
    labels = _labels(table, schema)
    all_groups = grouped(table.frame, labels.key, keys)
    known = []
    for feature, key, groups in zip(schema.features, keys, all_groups, strict=True):
        if key.edges:
            places = np.full(len(feature.edges), feature.n_values)
            places[list(feature.bins)] = range(len(feature.bins))
            codes = places[groups.values.to_numpy()]
        else:
            missing = int(groups.counts.sum()) < int(labels.counts.sum())
            codes = encode(feature, column_of(key, groups.values, missing=missing)).codes
        if (codes == feature.n_values).any():
            raise outside_domain(feature)
        known.append(_tally(feature, codes, groups, labels.codes(groups.labels), labels))
    return _assembled(schema, labels.counts, known)


def like_key(feature: Feature, column: LazyColumn) -> Key:
    """Group by the bins of a feature learned before, or by the values."""
    if feature.edges and feature.kind == column.kind and column.can_be_binned:
        return bin_key(column, feature.edges)
    return value_key(column)


def _label_groups(table: LazyTable) -> Groups:
    """Return how many rows have each label, missing ones too."""
    # Dask counts the cells of another column than those that it groups by.
    cells = table.frame.select(
        table.label_key.value.alias("label"), nw.lit(0).cast(nw.Int64).alias("value")
    )
    groups = cells.group_by("label", "value").agg(nw.len().alias("count"))
    found = collected(groups.with_columns(nw.col("count").cast(nw.Int64)))
    if not len(found):
        raise NullproofError("the table has no rows; give at least one")
    return Groups(found["label"], found["label"], found["count"].to_numpy())


def _labels(table: LazyTable, like: Schema | None = None) -> Labels:
    """Return the labels and the rows of each."""
    groups = _label_groups(table)
    column = table.read_labels(groups.labels)
    n_missing = int(groups.counts[~column.known].sum())
    if n_missing:
        raise NullproofError(
            f"the label column {table.label!r} has {many(n_missing, 'missing label')}; "
            f"{mend_labels(n_missing, DROP)}"
        )
    schema = like or Schema((), label_codes(column)[1], table.label)
    counts = np.zeros(len(schema.labels), dtype=np.int64)
    np.add.at(counts, known_label_codes(schema, column), groups.counts)
    return Labels(table.label_key, schema, counts)


def _labelled(table: LazyTable) -> LazyTable:
    """Return the rows that have a label, with a notice of how many have none."""
    label, groups = table.label_key, _label_groups(table)
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


def _assembled(schema: Schema, label_counts: Counts, known: Sequence[DenseCounts]) -> IndexFields:
    """Put all counts together; cells that are in no group are missing, or hold the value for that."""
    found = list(known)
    n_null = np.array([label_counts - own.dense.sum(axis=0) for own in known], dtype=np.int64)
    for j, feature in enumerate(schema.features):
        if feature.missing_is_value:
            every_label = np.arange(len(label_counts))
            code = np.full(len(label_counts), feature.missing_code)
            found[j] = found[j].changed(code, every_label, n_null[j])
            n_null[j] = 0
    return IndexFields(schema, label_counts, tuple(found), n_null, ({},) * len(found))
