"""From a table to its counts: learn the domains or take them over, encode, count, tell what is odd."""

from __future__ import annotations

import math
import numbers
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.sparse import Counts, Known, count_columns
from nullproof.errors import NullproofError, NullproofWarning
from nullproof.tables.bins import Rows, doubles, extent
from nullproof.tables.columns import Column, Encoded, encode, fit_feature
from nullproof.tables.labels import known_label_codes, label_codes
from nullproof.tables.options import TableOptions
from nullproof.tables.readers import Table, refuse_unknown
from nullproof.tables.schema import Feature, Schema
from nullproof.tables.values import OFTEN_MISSING, text
from nullproof.words import many, some

CandidateSets = dict[tuple[int, ...], Counts]
_MANY_VALUES = 10
_MANY_CELLS = 1_000_000
_MOST_VALUES = 100_000_000
T = TypeVar("T")
NINES = re.compile(r"-?9{2,}")


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
    def sets(self) -> tuple[CandidateSets, ...]: ...


Index = TypeVar("Index", bound=IndexLike)
# The class of the index, called with its five fields.
Make = Callable[[Schema, Counts, tuple[Known, ...], Counts, tuple[CandidateSets, ...]], Index]


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
    empty: list[str] = []
    suspects: dict[str, list[str]] = {}

    def fitted(name: str) -> tuple[Feature, Encoded, list[str]] | None:
        column, domain = table.column(name), options.declared(name)
        declared = domain or column.declared
        if not column.sets and not declared and not column.known.any():
            return None
        learned = fit_feature(
            column,
            bins=options.bins,
            binning=options.binning_of(name),
            domain=domain,
            rows=Rows(row_labels),
        )
        return *learned, suspicions(column)

    def columns() -> Iterator[Encoded]:
        for name, made in zip(names, _mapped(fitted, names, len(labels)), strict=True):
            if made is None:
                empty.append(name)
                continue
            feature, encoded, suspicious = made
            features.append(feature)
            for suspect in suspicious:
                suspects.setdefault(suspect, []).append(name)
            yield encoded

    pairs = list(_counts(columns(), features, row_labels, len(found)))
    writings = tuple((f.name, table.writings[f.name]) for f in features if f.name in table.writings)
    schema = Schema(tuple(features), found, labels.name, tuple(options.missing), writings)
    notify(schema, len(labels), empty, suspects)
    return _assembled(make, schema, pairs, row_labels)


def _mapped(function: Callable[[str], T], names: Sequence[str], n_rows: int) -> Iterator[T]:
    """Work on two columns at a time where that pays: NumPy and polars leave the other core free."""
    if n_rows * len(names) < _MANY_CELLS:
        yield from map(function, names)
        return
    with ThreadPoolExecutor(max_workers=2) as pool:
        yield from pool.map(function, names)


def count_like(make: Make[Index], schema: Schema, table: Table, labels: Column) -> Index:
    """Count a table by a schema learned before."""
    return count_codes(
        make, schema, _encoded_like(schema, table), known_label_codes(schema, labels)
    )


def count_codes(
    make: Make[Index], schema: Schema, columns: Iterable[Encoded], row_labels: NDArray[np.int32]
) -> Index:
    """Count columns that are codes of a schema's features already."""
    checked = (
        _checked(feature, column, len(row_labels))
        for feature, column in zip(schema.features, columns, strict=True)
    )
    pairs = list(_counts(checked, list(schema.features), row_labels, len(schema.labels)))
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


def domain_sizes(codes: NDArray[np.integer], n_values: Any) -> list[int]:
    """The size of each domain: as given, or by the largest code of each column."""
    if n_values is None:
        return [max(int(column.max()) + 1, 1) for column in codes.T]
    try:
        sizes = list(n_values)
    except TypeError:
        sizes = [n_values]
    if not all(is_whole(size) and 1 <= size <= _MOST_VALUES for size in sizes):
        raise NullproofError(
            f"n_values is {n_values!r}; give a list of whole numbers from 1 to {_MOST_VALUES:,}, one "
            "per feature"
        )
    if len(sizes) != codes.shape[1]:
        raise NullproofError(
            f"n_values has {len(sizes)} sizes but there are {codes.shape[1]} features; "
            "give one size per feature"
        )
    return [int(size) for size in sizes]


def is_whole(number: Any) -> bool:
    """Whether something is a whole number, of Python or of numpy; True and 1.0 are none."""
    return isinstance(number, numbers.Integral) and not isinstance(number, bool)


def _checked(feature: Feature, column: Encoded, n_rows: int) -> Encoded:
    """Make a user's own codes countable: -1 for missing, in a type with room for one code more."""
    if feature.kind != "code":
        return column
    codes = np.ascontiguousarray(column.codes)
    if len(codes) != n_rows:
        raise NullproofError(
            f"there are {len(codes)} rows but {n_rows} labels; give one label per row"
        )
    low, high = int(codes.min(initial=0)), int(codes.max(initial=0))
    if high >= feature.n_values:
        raise NullproofError(
            f"column {feature.name!r} holds the code {high} but its domain has "
            f"{many(feature.n_values, 'value')}; give a larger n_values"
        )
    if low < -1:
        codes = np.maximum(codes, -1)
    if high >= np.iinfo(codes.dtype).max:
        codes = codes.astype(np.int32)
    return Encoded(codes, column.sets)


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
        np.bincount(row_labels, minlength=n_labels).astype(np.int64),
        tuple(known for known, _, _ in pairs),
        n_null,
        tuple(sets for _, _, sets in pairs),
    )


def _encoded_like(schema: Schema, table: Table) -> Iterator[Encoded]:
    for feature in schema.features:
        encoded = encode(feature, table.column(feature.name))
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
    names = [name for name in table.names if name != label and name not in options.ignore]
    if not names:
        raise NullproofError("the table has no column besides the label; give at least one feature")
    return names


def notify(schema: Schema, n_rows: int, empty: list[str], suspects: dict[str, list[str]]) -> None:
    if not schema.features:
        raise NullproofError("no column holds any known value; give at least one feature")
    if empty:
        _warn(f"left out for lack of any known value: {', '.join(map(repr, empty))}")
    if suspects:
        _warn_of_spellings(suspects)
    for feature in schema.features:
        if feature.n_values > max(_MANY_VALUES, n_rows / 2):
            _warn(
                f"column {feature.name!r} has {feature.n_values:,} values in {n_rows:,} rows and "
                "tells next to nothing about a new point; leave it out with ignore or --ignore"
            )


def suspicions(column: Column) -> list[str]:
    """Name the values of a column that often stand for missing but were not named so."""
    if column.codes is not None:
        suspects = {
            value.strip()
            for code, value in enumerate(column.values)
            if value.strip().lower() in OFTEN_MISSING and np.any(column.codes == code)
        }
        return sorted(suspects)
    assert column.numbers is not None
    return lone_extremes_of(column.numbers) if column.kind == "number" else []


def lone_extremes_of(array: NDArray[Any]) -> list[str]:
    """Numbers like -999 or 9999 that lie further from the others than the others from each other."""
    array, found = doubles(array), []
    for place, extreme in enumerate(extent(array)):
        if not math.isfinite(extreme) or not NINES.fullmatch(text(extreme)):
            continue
        low, high = extent(array[array != extreme])
        gap = high - extreme if place else low - extreme
        if abs(gap) > high - low:
            found.append(text(extreme))
    return found


def _warn_of_spellings(suspects: dict[str, list[str]]) -> None:
    places = [
        f"{spelling!r} in {some(map(repr, names), 5)}" for spelling, names in suspects.items()
    ]
    python = ", ".join(f'"{spelling}"' for spelling in suspects) + "," * (len(suspects) == 1)
    shell = " ".join(f'--missing "{spelling}"' for spelling in suspects)
    _warn(
        f"{' and '.join(places)} may mean missing; if so, name "
        f"{'them' if len(suspects) > 1 else 'it'}: missing=({python}) or {shell}"
    )


def _warn(message: str) -> None:
    warnings.warn(message, NullproofWarning, stacklevel=2)
