"""From a table to the fields of an index: learn the domains or reuse them, encode, count.

Codes are counted in NumPy, in one pass over the cells. Columns with few values are counted together: one
``bincount`` of their joint code, small enough for the processor's caches, gives the counts of each column
by summing the others out, in less time than one ``bincount`` per column takes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.fields import CandidateSets, Counts, IndexFields
from nullproof.counts.weights import with_learned_weights
from nullproof.data.binning import Rows, tally
from nullproof.data.labels import known_label_codes, label_codes
from nullproof.data.missing import Missing
from nullproof.data.notices import names_rows, notify, refuse_nothing, stray_texts, suspects
from nullproof.data.options import TableOptions
from nullproof.data.schema import (
    IGNORED,
    NAMES_ROWS,
    NO_VALUE,
    ColumnRecord,
    Encoded,
    Feature,
    Schema,
    encode,
    fit_feature,
)
from nullproof.data.sources import Table, check_limits
from nullproof.data.texts import Formats
from nullproof.data.types import Column, is_whole
from nullproof.errors import NullproofError
from nullproof.progress import on_both_cores
from nullproof.words import cut, many, some

# The counts of a column take up to 400 MB.
_MOST_COUNTS = 50_000_000
# The largest allowed code or domain size.
_MOST_VALUES = 100_000_000
# Tables with this many cells are read two columns at a time.
_MANY_CELLS = 1_000_000


def check_size(name: str, n_values: int, n_labels: int) -> None:
    """Reject a column whose counts would fill the memory."""
    if n_values * n_labels > _MOST_COUNTS:
        raise NullproofError(
            f"column {name!r} has {n_values:,} values and there are {n_labels:,} labels, "
            f"and at most {_MOST_COUNTS:,} counts of a column can be kept; leave it out with ignore, or "
            "give it fewer values"
        )


# Learn the domains of a table.


@dataclass
class Learned:
    """The state of learning the domains of a table's columns."""

    options: TableOptions
    records: dict[str, ColumnRecord] = field(default_factory=dict)

    def fit(self, column: Column, rows: Rows, n_rows: int) -> tuple[Feature, Encoded] | None:
        """Learn the domain of a column and encode it; None if it is left out.

        Each cell may stand for a group of cells; ``rows`` holds the group sizes.
        """
        options, name, counts = self.options, column.name, rows.weights
        domain, as_value = options.declared(name), name in options.missing_is_value
        n_known = int(column.known.sum() if counts is None else counts[column.known].sum())
        if not (n_known or column.sets or domain or column.declared or as_value):
            self.records[name] = ColumnRecord(name, "left out", NO_VALUE, column.kind, 1.0)
            return None
        strays = () if domain else stray_texts(column)
        if options.may_leave_out(name) and names_rows(column, counts, n_rows):
            share = 1 - n_known / max(n_rows, 1)
            self.records[name] = ColumnRecord(
                name, "left out", NAMES_ROWS, column.kind, share, strays=strays
            )
            return None
        feature, encoded = fit_feature(
            column,
            bins=options.bins,
            binning=options.binning_of(name),
            domain=domain,
            rows=rows,
            missing_is_value=as_value,
        )
        self.records[name] = ColumnRecord(
            name,
            "feature",
            kind=feature.kind,
            taken=column.taken,
            suspects=suspects(column, strays, counts),
            strays=strays,
        )
        return feature, encoded

    def schema(
        self,
        labels: Schema,
        features: Sequence[Feature],
        names: Sequence[str],
        missing: Missing,
        formats: Formats,
    ) -> Schema:
        """Return the schema with labels and learned features; reject a table without a feature."""
        records = {name: ColumnRecord(name, "left out", IGNORED) for name in names}
        records |= self.records
        if labels.label_name in records:
            records[labels.label_name] = ColumnRecord(labels.label_name, "label")
        schema = replace(
            labels,
            features=self.options.weighted(features),
            missing=replace(missing, as_value=tuple(self.options.missing_is_value)),
            columns=tuple(records.values()),
            formats=tuple((f.name, formats[f.name]) for f in features if f.name in formats),
        )
        refuse_nothing(schema)
        return schema


def feature_names(names: Sequence[str], label: str, options: TableOptions) -> list[str]:
    """Return the columns to count: all but the label and those to ignore."""
    options.refuse_unknown_columns(names)
    ignored = {label, *options.ignore}
    features = [name for name in names if name not in ignored]
    if not features:
        raise NullproofError("the table has no column besides the label; give at least one feature")
    return features


def count_table(
    table: Table,
    names: Sequence[str],
    labels: Column,
    options: TableOptions,
    *,
    quiet_weights: bool = False,
) -> IndexFields:
    """Learn the domains of a table, and its weights if they are to be learned, and count it."""
    if not len(labels):
        raise NullproofError("the table has no rows; give at least one")
    row_labels, found = label_codes(labels)
    check_limits(n_cells=table.n_rows * len(names))
    learned, rows = Learned(options), Rows(row_labels)

    def fitted(name: str) -> tuple[Feature, Encoded] | None:
        return learned.fit(table.column(name, options.declared(name)), rows, table.n_rows)

    # NumPy and polars leave the other core free; only two raw columns are in memory at a time.
    is_short = table.n_rows * len(names) < _MANY_CELLS or bool(table.get(names[0]).declared)
    mapped = map if is_short else on_both_cores
    pairs = [pair for pair in mapped(fitted, names) if pair is not None]
    features, columns = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    schema = Schema((), found, labels.name)
    schema = learned.schema(schema, features, table.names, table.missing, table.formats)
    index = count_codes(schema, columns, row_labels)
    if options.weights == "learned":
        every = [column.codes for column in columns]
        index = with_learned_weights(index, every, row_labels, quiet=quiet_weights)
    notify(index)
    return index


# Count by a schema learned before.


def count_like(schema: Schema, table: Table, labels: Column) -> IndexFields:
    """Count a table by a schema learned before."""
    row_labels = known_label_codes(schema, labels)
    return count_codes(schema, _encoded_like(schema, table), row_labels)


def _encoded_like(schema: Schema, table: Table) -> Iterator[Encoded]:
    for feature in schema.features:
        encoded = encode(feature, table.like(feature))
        outside = encoded.codes == feature.n_values
        for row, candidates in encoded.sets.items():
            outside[row] = feature.n_values in candidates
        if outside.any():
            row = int(outside.argmax())
            row = row if table.rows is None else int(table.rows[row])
            raise outside_domain(feature, f" in row {row}")
        yield encoded


def outside_domain(feature: Feature, where: str = "") -> NullproofError:
    """Return the error of a column with a value that a domain learned before does not have."""
    return NullproofError(
        f"column {feature.name!r} holds a value{where} that is not in its domain in the given index "
        f"({some(map(cut, feature.values), 5)}); count the whole table again, or declare the value with "
        "domains when the first index is made"
    )


# Count codes that a user gives.


def count_array(codes: Any, labels: Column, n_values: Any, options: TableOptions) -> IndexFields:
    """Count integer codes, rows × features; negative codes mean missing."""
    codes = _checked_codes(codes)
    sizes = _domain_sizes(codes.max(axis=0).tolist(), n_values)
    row_labels, names = label_codes(labels)
    if len(codes) != len(row_labels):
        raise NullproofError(
            f"there are {len(codes)} rows but {len(row_labels)} labels; give one label per row"
        )
    for j, size in enumerate(sizes):
        check_size(f"x{j}", size, len(names))
    features = [Feature(f"x{j}", "code", _code_texts(size)) for j, size in enumerate(sizes)]
    options.refuse_unknown_columns([feature.name for feature in features])
    schema = Schema(options.weighted(features), names)
    columns = codes.T if int(codes.min()) >= -1 else np.maximum(codes.T, -1)
    index = count_codes(schema, [Encoded(column, {}) for column in columns], row_labels)
    if options.weights == "learned":
        return with_learned_weights(index, [*columns], row_labels)
    return index


def _checked_codes(codes: Any) -> NDArray[np.integer]:
    """Return an array of codes of which none is too large to be counted."""
    if isinstance(codes, np.ma.MaskedArray):
        raise NullproofError(
            "the codes are a masked array; give a plain one with -1 where a cell is missing"
        )
    array = np.asarray(codes)
    if array.ndim != 2 or array.dtype.kind not in "iu" or not array.size:
        raise NullproofError(
            f"the codes are an array of {array.dtype} of shape {array.shape}; give integers, rows × "
            "features, at least one of each"
        )
    check_limits(n_columns=array.shape[1])
    if array.dtype.itemsize > np.dtype(np.int16).itemsize and int(array.max()) >= _MOST_VALUES:
        raise NullproofError(
            f"a code is {int(array.max())}; give codes below {_MOST_VALUES:,} that count the values "
            "from 0 on, and a negative one where a cell is missing"
        )
    return array


def _domain_sizes(largest: Sequence[int], n_values: Any) -> list[int]:
    """Return the size of each domain: as given, or by the largest code of each column."""
    if n_values is None:
        return [max(code + 1, 1) for code in largest]
    sizes = list(n_values) if hasattr(n_values, "__iter__") else [n_values]
    if not all(map(is_whole, sizes)) or not all(1 <= size <= _MOST_VALUES for size in sizes):
        raise NullproofError(
            f"n_values is {n_values!r}; give a list of whole numbers from 1 to {_MOST_VALUES:,}, one "
            "per feature"
        )
    if len(sizes) != len(largest):
        raise NullproofError(
            f"n_values has {len(sizes)} sizes but there are {len(largest)} features; "
            "give one size per feature"
        )
    for j, (code, size) in enumerate(zip(largest, sizes, strict=True)):
        if code >= size:
            raise NullproofError(
                f"column 'x{j}' holds the code {code} but its domain has {many(int(size), 'value')}; "
                "give a larger n_values"
            )
    return [int(size) for size in sizes]


# Features of the same size share their values.
@lru_cache(maxsize=1 << 9)
def _code_texts(size: int) -> tuple[str, ...]:
    return tuple(map(str, range(size)))


# Count.

# A joint table of several columns has at most so many places, since their number must fit into 16 bits.
_MOST_JOINT = int(np.iinfo(np.uint16).max)
# Joint tables have about as many places as there are groups of so many rows, and at least some thousands.
_FEW_JOINT, _ROWS_A_PLACE = 1 << 12, 8
# Columns with so few rows are counted side by side, so many cells at a time.
_FEW_ROWS, _CELLS = 6_000, 1 << 18
# Of so many rows two groups of columns are counted at a time: with fewer the cores wait for each other.
_MANY_ROWS = 500_000
# The codes of a column, and how many codes there are with -1.
_Coded = tuple[NDArray[np.integer], int]


def count_codes(
    schema: Schema, columns: Iterable[Encoded], row_labels: NDArray[np.int32]
) -> IndexFields:
    """Count columns that are already codes of a schema's features."""
    n_labels, columns = len(schema.labels), list(columns)
    for feature in schema.features:
        check_size(feature.name, feature.n_values, n_labels)
    coded = [
        *zip((column.codes for column in columns), (schema.n_values + 1).tolist(), strict=True)
    ]
    groups = _grouped(coded, n_labels, len(row_labels))
    count = partial(_counted, labels=row_labels, n_labels=n_labels)
    mapped = map if len(row_labels) < _MANY_ROWS else on_both_cores
    tables = [*chain.from_iterable(mapped(count, groups))]
    # The first row of a table is for code -1: missing cells, and those with several candidates.
    n_null = np.array([table[0] for table in tables], dtype=np.int64).reshape(-1, n_labels)
    sets: list[CandidateSets] = [{} for _ in columns]
    for j, column in enumerate(columns):
        for row, candidates in column.sets.items():
            counts = sets[j].setdefault(candidates, np.zeros(n_labels, dtype=np.int64))
            counts[row_labels[row]] += 1
            n_null[j, row_labels[row]] -= 1
    known = tuple(table[1:] for table in tables)
    return IndexFields(schema, tally(row_labels, None, n_labels), known, n_null, tuple(sets))


def _grouped(coded: list[_Coded], n_labels: int, n_rows: int) -> Iterator[list[_Coded]]:
    """Group neighbours that are counted at once."""
    if n_rows <= _FEW_ROWS:
        at_once = max(1, _CELLS // max(n_rows, 1))
        yield from (coded[start : start + at_once] for start in range(0, len(coded), at_once))
        return
    most = min(max(_FEW_JOINT, n_rows // _ROWS_A_PLACE), _MOST_JOINT)
    group: list[_Coded] = []
    n_places = n_labels
    for codes, size in coded:
        if group and n_places * size > most:
            yield group
            group, n_places = [], n_labels
        group.append((codes, size))
        n_places *= size
    if group:
        yield group


def _counted(group: list[_Coded], labels: NDArray[np.integer], n_labels: int) -> list[Counts]:
    """Count some columns by one ``bincount``: a table of codes from -1 on × labels for each."""
    n_places = n_labels * math.prod(size for _, size in group)
    if len(labels) <= _FEW_ROWS or n_places > _MOST_JOINT:
        return _count_side_by_side(group, labels, n_labels)
    key, of_ones = np.zeros(len(labels), dtype=np.uint16), 0
    for codes, size in group:
        key *= np.uint16(size)
        # A missing cell wraps around, until one is added to each code below.
        key += codes.astype(np.uint16, copy=False)
        of_ones = of_ones * size + 1
    key += np.uint16(of_ones)
    key *= np.uint16(n_labels)
    key += labels.astype(np.uint16)
    joint = np.bincount(key, minlength=n_places).astype(np.int64, copy=False)
    return [*_apart(joint.reshape([*(size for _, size in group), n_labels]))]


def _apart(joint: Counts) -> Iterator[Counts]:
    """Return the table of each column from a joint one, codes × labels: one half is summed out first."""
    columns = tuple(range(joint.ndim - 1))
    if len(columns) == 1:
        yield joint
        return
    half = len(columns) // 2
    yield from _apart(np.add.reduce(joint, axis=columns[half:]))
    yield from _apart(np.add.reduce(joint, axis=columns[:half]))


def _count_side_by_side(
    group: list[_Coded], labels: NDArray[np.integer], n_labels: int
) -> list[Counts]:
    """Give each column a separate range of codes: for few cells, NumPy calls cost more than counting."""
    ends = np.cumsum([size for _, size in group])
    n_places = int(ends[-1]) * n_labels
    kind = next(kind for kind in (np.int16, np.int32, np.int64) if n_places <= np.iinfo(kind).max)
    starts = ends - [size - 1 for _, size in group]
    keys = np.multiply(
        np.array([codes for codes, _ in group]), kind(n_labels), dtype=kind, order="C"
    )
    keys += labels.astype(kind)
    keys += (starts * n_labels).astype(kind)[:, None]
    counts = np.bincount(keys.ravel(), minlength=n_places).astype(np.int64, copy=False)
    return np.split(counts.reshape(-1, n_labels), ends[:-1])
