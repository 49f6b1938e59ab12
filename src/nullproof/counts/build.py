"""From a table to its counts: learn the domains or take them over, encode, count."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.notices import Findings, notify, refuse_nothing
from nullproof.counts.sparse import (
    Counts,
    Known,
    count_columns,
    count_together,
    counts_together,
)
from nullproof.errors import NullproofError
from nullproof.tables.bins import Rows
from nullproof.tables.columns import Column, Encoded, encode, fit_feature
from nullproof.tables.grids import tally
from nullproof.tables.identifiers import names_rows
from nullproof.tables.labels import known_label_codes, label_codes
from nullproof.tables.options import TableOptions
from nullproof.tables.readers import Table, refuse_unknown
from nullproof.tables.schema import Feature, Schema
from nullproof.tables.spellings import Spellings
from nullproof.tables.writings import Writings
from nullproof.words import many, some

CandidateSets = dict[tuple[int, ...], Counts]
_MANY_CELLS = 1_000_000
_MOST_VALUES = 100_000_000
_FEW_VALUES = 256
T = TypeVar("T")


class IndexLike(Protocol):
    """What building and changing need of an index: the five fields of `CountIndex`, which is above."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def schema(self) -> Schema: ...
    @property
    def label_counts(self) -> Counts: ...
    @property
    def known(self) -> tuple[Known, ...]: ...
    @property
    def n_null(self) -> Counts: ...
    @property
    def n_open(self) -> Counts: ...
    @property
    def sets(self) -> tuple[CandidateSets, ...]: ...


Index = TypeVar("Index", bound=IndexLike)
# The class of the index, called with its five fields.
Make = Callable[[Schema, Counts, tuple[Known, ...], Counts, tuple[CandidateSets, ...]], Index]


class Read(Protocol):
    """What is known of any table that was opened, here or in an engine."""

    @property
    def spellings(self) -> Spellings: ...
    @property
    def writings(self) -> Writings: ...


def count_table(
    make: Make[Index],
    table: Table,
    names: Sequence[str],
    labels: Column,
    options: TableOptions,
) -> Index:
    """Learn the domains and count; only two columns at a time are held as they were read."""
    if not len(labels):
        raise NullproofError("the table has no rows; give at least one")
    row_labels, found = label_codes(labels)
    features: list[Feature] = []
    findings = Findings()

    def fitted(name: str) -> tuple[Findings, Feature | None, Encoded | None]:
        domain, own = options.declared(name), Findings()
        column = table.column(name, domain)
        declared = domain or column.declared
        if not column.sets and not declared and not column.known.any():
            own.empty.append(name)
            return own, None, None
        if options.may_leave_out(name) and names_rows(column):
            own.leave_out(column)
            return own, None, None
        own.look_at(column, declared=bool(domain))
        learned = fit_feature(
            column,
            bins=options.bins,
            binning=options.binning_of(name),
            domain=domain,
            rows=Rows(row_labels),
        )
        return own, *learned

    def columns() -> Iterator[Encoded]:
        for own, feature, encoded in _mapped(fitted, names, table):
            findings.add(own)
            if feature is not None and encoded is not None:
                features.append(feature)
                yield encoded

    pairs = list(_counts(columns(), features, row_labels, len(found)))
    schema = schema_of(Schema((), found, labels.name), features, table, findings)
    findings.take(table.nulled(), [feature.name for feature in features])
    index = _assembled(make, schema, pairs, row_labels)
    notify(index, findings)
    return index


def schema_of(
    labels: Schema, features: Sequence[Feature], table: Read, findings: Findings
) -> Schema:
    """What was learned from a table, its labels first; it is refused if there is no feature."""
    missing, missing_only = table.spellings.options
    schema = replace(
        labels,
        features=tuple(features),
        missing=missing,
        missing_only=missing_only,
        left_out=tuple(sorted(findings.left_out)),
        writings=tuple(
            (f.name, table.writings[f.name]) for f in features if f.name in table.writings
        ),
    )
    refuse_nothing(schema, findings)
    return schema


def _mapped(function: Callable[[str], T], names: Sequence[str], table: Table) -> Iterator[T]:
    """Work on two columns at a time where that pays: NumPy and polars leave the other core free."""
    if table.n_rows * len(names) < _MANY_CELLS:
        yield from map(function, names)
        return
    coded = table.coded
    with ThreadPoolExecutor(max_workers=2) as pool:
        going = {name: pool.submit(function, name) for name in names if name not in coded}
        for name in names:
            yield function(name) if name in coded else going.pop(name).result()


def count_like(make: Make[Index], schema: Schema, table: Table, labels: Column) -> Index:
    """Count a table by a schema learned before."""
    return count_codes(
        make, schema, _encoded_like(schema, table), known_label_codes(schema, labels)
    )


def count_codes(
    make: Make[Index], schema: Schema, columns: Iterable[Encoded], row_labels: NDArray[np.int32]
) -> Index:
    """Count columns that are codes of a schema's features already."""
    pairs = list(_counts(columns, list(schema.features), row_labels, len(schema.labels)))
    return _assembled(make, schema, pairs, row_labels)


def checked_codes(codes: Any) -> NDArray[np.integer]:
    """An array of codes of which none is too large to be counted."""
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
    if array.dtype.itemsize > np.dtype(np.int16).itemsize and int(array.max()) >= _MOST_VALUES:
        # As unsigned numbers they would wrap; as a domain they would fill the memory.
        raise NullproofError(
            f"a code is {int(array.max())}; give codes below {_MOST_VALUES:,} that count the values "
            "from 0 on, and a negative one where a cell is missing"
        )
    return array


def domain_sizes(largest: Sequence[int], n_values: Any) -> list[int]:
    """The size of each domain: as given, or by the largest code of each column."""
    if n_values is None:
        return [max(code + 1, 1) for code in largest]
    try:
        sizes = list(n_values)
    except TypeError:
        sizes = [n_values]
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
    """Whether something is a whole number, of Python or of numpy; True and 1.0 are none."""
    # To ask a type's family takes ten times as long.
    return type(number) is int or (
        isinstance(number, numbers.Integral) and not isinstance(number, bool)
    )


def code_features(sizes: Iterable[int]) -> tuple[Feature, ...]:
    """Features whose values are codes, named by their places."""
    return tuple(
        _few_values(j, size) if size <= _FEW_VALUES else _coded(j, tuple(map(str, range(size))))
        for j, size in enumerate(sizes)
    )


def _coded(j: int, values: tuple[str, ...]) -> Feature:
    return Feature(f"x{j}", "code", values)


# Small features are kept for the next index, and those of one size share their values.
@lru_cache(maxsize=1 << 10)
def _few_values(j: int, size: int) -> Feature:
    return _coded(j, _texts(size))


@cache
def _texts(size: int) -> tuple[str, ...]:
    return tuple(map(str, range(size)))


def count_array(
    make: Make[Index], schema: Schema, codes: NDArray[np.integer], row_labels: NDArray[np.int32]
) -> Index:
    """Count a user's own codes, rows × features; every negative one is missing."""
    sizes, n_labels = schema.n_values.tolist(), len(schema.labels)
    least = int(codes.min())
    if counts_together(len(codes), sizes, n_labels):
        codes = np.maximum(codes, -1) if least < -1 else codes
        found = count_together(codes.T, sizes, row_labels, n_labels)
    else:
        columns = (np.maximum(own, -1) if least < -1 else own for own in codes.T)
        found = count_columns(zip(columns, sizes, strict=True), row_labels, n_labels)
    return _assembled(make, schema, [(*pair, {}) for pair in found], row_labels)


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


def _assembled(
    make: Make[Index], schema: Schema, pairs: list[_Pair], row_labels: NDArray[np.int32]
) -> Index:
    n_labels = len(schema.labels)
    n_null = np.array([n_null for _, n_null, _ in pairs], dtype=np.int64).reshape(-1, n_labels)
    return make(
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
            row = row if table.places is None else int(table.places[row])
            raise NullproofError(
                f"column {feature.name!r} holds a value in row {row} that is not "
                f"in its domain in the given index ({some(feature.values, 5)}); count "
                "anew without like, or declare the value with domains when the first index is made"
            )
        yield encoded


def feature_names(table: Table, label: str, options: TableOptions) -> list[str]:
    """Name the columns to count: all but the label and those to ignore."""
    refuse_unknown(options.ignore, table.names, "ignore")
    refuse_unknown(options.domains, table.names, "domains")
    refuse_unknown(options.binned_columns, table.names, "binning")
    refuse_unknown(options.keep, table.names, "keep")
    names = [name for name in table.names if name != label and name not in options.ignore]
    if not names:
        raise NullproofError("the table has no column besides the label; give at least one feature")
    return names
