"""From a table to the fields of an index: learn the domains or take them over, encode, count."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.count import (
    CandidateSets,
    Counts,
    IndexFields,
    Known,
    count_columns,
    count_together,
    counts_together,
)
from nullproof.data.binning import Rows, tally
from nullproof.data.keys import known_label_codes, label_codes
from nullproof.data.missing import Missing
from nullproof.data.notices import Findings, names_rows, notify, records, refuse_nothing
from nullproof.data.options import TableOptions
from nullproof.data.schema import Encoded, Feature, Schema, encode, fit_feature
from nullproof.data.sources import Coded, Table, check_limits
from nullproof.data.texts import Formats
from nullproof.data.types import Column
from nullproof.errors import NullproofError
from nullproof.words import many, some

_MANY_CELLS = 1_000_000
_MOST_VALUES = 100_000_000
T = TypeVar("T")


@dataclass
class Learned:
    """What is known of the columns of a table while their domains are learned."""

    findings: Findings = field(default_factory=Findings)
    kinds: dict[str, str] = field(default_factory=dict)
    n_missing: dict[str, int] = field(default_factory=dict)

    def schema(
        self,
        labels: Schema,
        features: Sequence[Feature],
        names: Sequence[str],
        options: TableOptions,
        missing: Missing,
        formats: Formats,
    ) -> Schema:
        """Return what was learned from a table, its labels first; reject it if there is no feature."""
        self.kinds |= {feature.name: feature.kind for feature in features}
        found = records(names, labels.label_name, self.findings, {*options.ignore}, self.kinds)
        schema = replace(
            labels,
            features=tuple(features),
            missing=replace(missing, as_value=tuple(options.missing_is_value)),
            columns=tuple(
                replace(record, n_missing=self.n_missing.get(name))
                for name, record in found.items()
            ),
            formats=tuple((f.name, formats[f.name]) for f in features if f.name in formats),
        )
        refuse_nothing(schema, self.findings)
        return schema


def count_table(
    table: Table, names: Sequence[str], labels: Column, options: TableOptions
) -> IndexFields:
    """Learn the domains and count; only two columns at a time are held as they were read."""
    if not len(labels):
        raise NullproofError("the table has no rows; give at least one")
    row_labels, found = label_codes(labels)
    check_limits(n_cells=table.n_rows * len(names))
    rows = Rows(row_labels)
    features: list[Feature] = []
    learned = Learned()
    as_value = frozenset(options.missing_is_value)

    def fitted(name: str) -> tuple[Findings, Column, Feature | None, Encoded | None]:
        domain, own = options.declared(name), Findings()
        column = table.column(name, domain)
        declared = domain or column.declared
        if not column.sets and not declared and not column.known.any() and name not in as_value:
            own.empty.append(name)
            return own, column, None, None
        if options.may_leave_out(name) and names_rows(column):
            own.leave_out(column)
            return own, column, None, None
        own.look_at(column, declared=bool(domain))
        learned_feature = fit_feature(
            column,
            bins=options.bins,
            binning=options.binning_of(name),
            domain=domain,
            rows=rows,
            missing_is_value=name in as_value,
        )
        return own, column, *learned_feature

    def columns() -> Iterator[Encoded]:
        for own, column, feature, encoded in _mapped(fitted, names, table):
            learned.findings.add(own)
            learned.kinds[column.name] = column.kind
            if feature is not None and encoded is not None:
                features.append(feature)
                yield encoded
            else:
                learned.n_missing[column.name] = int((~column.known).sum())

    pairs = list(_counts(columns(), features, row_labels, len(found)))
    schema = Schema((), found, labels.name)
    schema = learned.schema(schema, features, table.names, options, table.missing, table.formats)
    index = _assembled(schema, pairs, row_labels)
    notify(index, learned.findings)
    return index


def _mapped(function: Callable[[str], T], names: Sequence[str], table: Table) -> Iterator[T]:
    """Work on two columns at a time where that pays: NumPy and polars leave the other core free."""
    if table.n_rows * len(names) < _MANY_CELLS or isinstance(table.get(names[0]), Coded):
        yield from map(function, names)
        return
    with ThreadPoolExecutor(max_workers=2) as pool:
        yield from pool.map(function, names)


def count_like(schema: Schema, table: Table, labels: Column) -> IndexFields:
    """Count a table by a schema learned before."""
    row_labels = known_label_codes(schema, labels)
    return count_codes(schema, _encoded_like(schema, table), row_labels)


def count_codes(
    schema: Schema, columns: Iterable[Encoded], row_labels: NDArray[np.int32]
) -> IndexFields:
    """Count columns that are codes of a schema's features already."""
    pairs = list(_counts(columns, list(schema.features), row_labels, len(schema.labels)))
    return _assembled(schema, pairs, row_labels)


def checked_codes(codes: Any) -> NDArray[np.integer]:
    """Return an array of codes of which none is too large to be counted."""
    if isinstance(codes, np.ma.MaskedArray):
        raise NullproofError(
            "the codes are a masked array; give a plain one with -1 where a cell is missing"
        )
    array = np.asarray(codes)
    if array.ndim != 2 or array.dtype.kind not in "iu":
        raise NullproofError(
            f"the codes are a {array.ndim}-dimensional array of {array.dtype}; "
            "give integers, rows × features"
        )
    if not array.size:
        raise NullproofError(
            f"the codes have {array.shape[0]} rows and {array.shape[1]} features; give integers, rows "
            "× features, at least one of each"
        )
    check_limits(n_columns=array.shape[1])
    if array.dtype.itemsize > np.dtype(np.int16).itemsize and int(array.max()) >= _MOST_VALUES:
        # As unsigned numbers they would wrap; as a domain they would fill the memory.
        raise NullproofError(
            f"a code is {int(array.max())}; give codes below {_MOST_VALUES:,} that count the values "
            "from 0 on, and a negative one where a cell is missing"
        )
    return array


def domain_sizes(largest: Sequence[int], n_values: Any) -> list[int]:
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


def is_whole(number: Any) -> bool:
    """Return whether something is a whole number, of Python or of NumPy; True and 1.0 are none."""
    # To ask a type's family takes ten times as long.
    return type(number) is int or (
        isinstance(number, numbers.Integral) and not isinstance(number, bool)
    )


def code_features(sizes: Iterable[int]) -> tuple[Feature, ...]:
    """Return features whose values are codes, named by their places."""
    return tuple(
        _small_feature(j, size)
        if size <= 256
        else Feature(f"x{j}", "code", tuple(map(str, range(size))))
        for j, size in enumerate(sizes)
    )


# Small features are kept for the next index, and those of one size share their values.
@lru_cache(maxsize=1 << 10)
def _small_feature(j: int, size: int) -> Feature:
    return Feature(f"x{j}", "code", _texts(size))


@lru_cache(maxsize=1 << 9)
def _texts(size: int) -> tuple[str, ...]:
    return tuple(map(str, range(size)))


def count_array(
    schema: Schema, codes: NDArray[np.integer], row_labels: NDArray[np.int32]
) -> IndexFields:
    """Count a user's own codes, rows × features; every negative one is missing."""
    sizes, n_labels = schema.n_values.tolist(), len(schema.labels)
    least = int(codes.min())
    if counts_together(len(codes), sizes, n_labels):
        codes = np.maximum(codes, -1) if least < -1 else codes
        found = count_together(codes.T, sizes, row_labels, n_labels)
    else:
        columns = (np.maximum(own, -1) if least < -1 else own for own in codes.T)
        found = count_columns(zip(columns, sizes, strict=True), row_labels, n_labels)
    return _assembled(schema, [(*pair, {}) for pair in found], row_labels)


_Pair = tuple[Known, Counts, CandidateSets]


def _counts(
    columns: Iterable[Encoded],
    features: list[Feature],
    row_labels: NDArray[np.int32],
    n_labels: int,
) -> Iterator[_Pair]:
    """Count columns as they come; ``features`` may grow while they do."""
    sets: list[dict[int, tuple[int, ...]]] = []

    def codes() -> Iterator[tuple[NDArray[np.signedinteger], int]]:
        for position, column in enumerate(columns):
            sets.append(column.sets)
            yield column.codes, features[position].n_values

    for position, (known, n_null) in enumerate(count_columns(codes(), row_labels, n_labels)):
        grouped: CandidateSets = {}
        for row, candidates in sets[position].items():
            n_null[row_labels[row]] -= 1
            counts = grouped.setdefault(candidates, np.zeros(n_labels, dtype=np.int64))
            counts[row_labels[row]] += 1
        yield known, n_null, grouped


def _assembled(schema: Schema, pairs: list[_Pair], row_labels: NDArray[np.int32]) -> IndexFields:
    n_labels = len(schema.labels)
    n_null = np.array([n_null for _, n_null, _ in pairs], dtype=np.int64).reshape(-1, n_labels)
    return IndexFields(
        schema,
        tally(row_labels, None, n_labels),
        tuple(known for known, _, _ in pairs),
        n_null,
        tuple(sets for _, _, sets in pairs),
    )


def _encoded_like(schema: Schema, table: Table) -> Iterator[Encoded]:
    for feature in schema.features:
        encoded = encode(feature, table.like(feature))
        outside = encoded.codes == feature.n_values
        for row, candidates in encoded.sets.items():
            outside[row] = feature.n_values in candidates
        if outside.any():
            row = int(outside.argmax())
            row = row if table.rows is None else int(table.rows[row])
            raise NullproofError(
                f"column {feature.name!r} holds a value in row {row} that is not "
                f"in its domain in the given index ({some(feature.values, 5)}); count "
                "anew without like, or declare the value with domains when the first index is made"
            )
        yield encoded


def feature_names(names: Sequence[str], label: str, options: TableOptions) -> list[str]:
    """Return the columns to count: all but the label and those to ignore."""
    options.refuse_unknown_columns(names)
    ignored = {label, *options.ignore}
    found = [name for name in names if name not in ignored]
    if not found:
        raise NullproofError("the table has no column besides the label; give at least one feature")
    return found
