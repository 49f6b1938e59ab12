"""From a table to the fields of an index: learn the domains or take them over, encode, count.

Codes are counted in one pass over the cells, in NumPy. Counting bytes costs little more than reading
them. Columns with few values are counted together: one ``bincount`` of their joint code, small enough for
the processor's own caches, gives the counts of each by summing the others out, in less time than they
would take one by one.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from itertools import accumulate, chain, islice, pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nullproof.cores import on_both_cores
from nullproof.counts.weights import sampled_rows, with_learned_weights
from nullproof.data.binning import Rows, tally
from nullproof.data.keys import known_label_codes, label_codes
from nullproof.data.missing import Missing
from nullproof.data.notices import Findings, names_rows, notify, records, refuse_nothing
from nullproof.data.options import TableOptions
from nullproof.data.schema import Encoded, Feature, Schema, encode, fit_feature
from nullproof.data.sources import Table, check_limits
from nullproof.data.texts import Formats
from nullproof.data.types import Column
from nullproof.errors import NullproofError
from nullproof.words import cut, many, some

T = TypeVar("T")
Counts = NDArray[np.int64]
# The codes of a column, and how many values it has.
_Coded = tuple[NDArray[np.signedinteger], int]
# A joint table has so many places at least and at most, and as many as there are that many rows for. The
# number of places itself must fit into 16 bits.
_JOINT = 1 << 12
_MOST_JOINT = int(np.iinfo(np.uint16).max)
_ROWS_A_PLACE = 8
# Tables of so few rows are counted many columns at a time, of so many cells in all.
_FEW_ROWS = 6_000
_CELLS = 1 << 18
# Of so many rows two groups of columns are counted at a time: with fewer the cores wait for each other.
_MANY_ROWS = 500_000
# The narrowest type that numbers all places is counted fastest.
_KEYS: tuple[type[np.signedinteger[Any]], ...] = (np.int16, np.int32, np.int64)
# Counts of a column take up to 400 MB.
_MOST_COUNTS = 50_000_000
# Codes and sizes of domains that are given.
_MOST_VALUES = 100_000_000
# Two columns of tables with so many cells are read at a time.
_MANY_CELLS = 1_000_000


@dataclass(frozen=True, eq=False)
class DenseCounts:
    """Counts of a column, values × labels."""

    dense: Counts

    def rows(self, codes: NDArray[np.integer]) -> Counts:
        """Return the counts of some values; zeros for one outside the domain."""
        inside = (codes < len(self.dense))[:, None]
        return np.where(inside, self.dense.take(codes, axis=0, mode="clip"), 0)

    def at(self, values: NDArray[np.integer], labels: NDArray[np.integer]) -> Counts:
        """Return the counts at some places."""
        found: Counts = self.dense[values, labels]
        return found

    def cells(self) -> tuple[Counts, Counts, Counts]:
        """Return value, label and count of every place that is not zero, by value and then label."""
        values, labels = np.nonzero(self.dense)
        return values, labels, self.dense[values, labels]

    def label_sums(self, alpha: float) -> NDArray[np.float64]:
        """Sum the counts of each label with ``alpha`` added to each, in CategoricalNB's order."""
        summed: NDArray[np.float64] = np.ascontiguousarray(self.dense.T + alpha).sum(axis=1)
        return summed

    def changed(
        self, values: NDArray[np.integer], labels: NDArray[np.integer], n_cells: Any
    ) -> DenseCounts:
        """Return the counts after cells were added, or taken away; the same ones if none were."""
        if not len(values):
            return self
        table = self.dense.copy()
        np.add.at(table, (values, labels), n_cells)
        return DenseCounts(table)


# By candidate set, the cells of each label.
CandidateSets = dict[tuple[int, ...], Counts]


@dataclass(frozen=True, eq=False, repr=False)
class IndexFields:
    """The five fields of an index, which add up over parts of a table.

    Parameters
    ----------
    schema
        Features with their domains, and labels.
    label_counts
        Rows per label.
    known
        Per feature: cells known to hold a value, values × labels.
    n_null
        Cells that may hold any value of their domain, features × labels.
    sets
        Per feature: cells with several candidates, as counts per label for each candidate set.
    """

    schema: Schema
    label_counts: Counts
    known: tuple[DenseCounts, ...]
    n_null: Counts
    sets: tuple[CandidateSets, ...]

    @cached_property
    def n_open(self) -> Counts:
        """Features × labels: cells with more than one candidate."""
        n_open = self.n_null.copy()
        for j, sets in enumerate(self.sets):
            for counts in sets.values():
                n_open[j] += counts
        return n_open


def check_size(name: str, n_values: int, n_labels: int) -> None:
    """Reject a column whose counts would fill the memory."""
    if n_values * n_labels > _MOST_COUNTS:
        raise NullproofError(
            f"column {name!r} has {n_values:,} values and there are {n_labels:,} labels, and at most "
            f"{_MOST_COUNTS:,} counts of a column can be kept; leave it out with ignore, or give it "
            "fewer values"
        )


def from_cells(
    values: NDArray[np.integer],
    labels: NDArray[np.integer],
    counts: Counts,
    shape: tuple[int, int],
) -> DenseCounts:
    """Add up groups of cells by value and label; those with a negative code are missing."""
    held = values >= 0
    dense = np.zeros(shape, dtype=np.int64)
    np.add.at(dense, (values[held], labels[held]), counts[held])
    return DenseCounts(dense)


# Learn the domains of a table, or take them over.


@dataclass
class Learned:
    """What is known of the columns of a table while their domains are learned."""

    options: TableOptions
    findings: Findings = field(default_factory=Findings)
    kinds: dict[str, str] = field(default_factory=dict)
    n_missing: dict[str, int] = field(default_factory=dict)

    def fit(
        self, column: Column, rows: Rows, n_rows: int, findings: Findings
    ) -> tuple[Feature, Encoded] | None:
        """Learn the domain of a column and encode it; None if it is left out.

        Its cells may be groups of cells, whose sizes ``rows`` has.
        """
        options, name, counts = self.options, column.name, rows.weights
        domain, as_value = options.declared(name), name in options.missing_is_value
        self.kinds[name] = column.kind
        n_known = int(column.known.sum() if counts is None else counts[column.known].sum())
        if not (n_known or column.sets or domain or column.declared or as_value):
            findings.empty.append(name)
            self.n_missing[name] = n_rows
            return None
        if options.may_leave_out(name) and names_rows(column, counts, n_rows):
            findings.leave_out(column)
            self.n_missing[name] = n_rows - n_known
            return None
        findings.look_at(column, declared=bool(domain), counts=counts)
        return fit_feature(
            column,
            bins=options.bins,
            binning=options.binning_of(name),
            domain=domain,
            rows=rows,
            missing_is_value=as_value,
        )

    def schema(
        self,
        labels: Schema,
        features: Sequence[Feature],
        names: Sequence[str],
        missing: Missing,
        formats: Formats,
    ) -> Schema:
        """Return what was learned from a table, its labels first; reject it if there is no feature."""
        kinds = self.kinds | {feature.name: feature.kind for feature in features}
        ignored = {*self.options.ignore}
        found = records(names, labels.label_name, self.findings, ignored, kinds)
        schema = replace(
            labels,
            features=self.options.weighted(features),
            missing=replace(missing, as_value=tuple(self.options.missing_is_value)),
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
    learned = Learned(options)
    sample = sampled_rows(table.n_rows, len(names), len(found))
    sampled: list[NDArray[Any]] = []

    def fitted(name: str) -> tuple[Findings, tuple[Feature, Encoded] | None]:
        findings = Findings()
        column = table.column(name, options.declared(name))
        return findings, learned.fit(column, rows, table.n_rows, findings)

    def columns() -> Iterator[Encoded]:
        for findings, pair in _mapped(fitted, names, table):
            learned.findings.add(findings)
            if pair is not None:
                features.append(pair[0])
                if options.weights == "learned":
                    sampled.append(pair[1].codes[sample])
                yield pair[1]

    pairs = list(_counts(columns(), features, row_labels, len(found)))
    if options.weights == "learned" and features:
        known, n_rows = [known for known, _, _ in pairs], tally(row_labels, None, len(found))
        features = with_learned_weights(features, known, sampled, row_labels[sample], n_rows)
    schema = Schema((), found, labels.name)
    schema = learned.schema(schema, features, table.names, table.missing, table.formats)
    index = _assembled(schema, pairs, row_labels)
    notify(index, learned.findings)
    return index


def _mapped(function: Callable[[str], T], names: Sequence[str], table: Table) -> Iterator[T]:
    """Work on two columns at a time where that pays: NumPy and polars leave the other core free."""
    if table.n_rows * len(names) < _MANY_CELLS or table.get(names[0]).declared:
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
    if array.ndim != 2 or array.dtype.kind not in "iu" or not array.size:
        raise NullproofError(
            f"the codes are an array of {array.dtype} of shape {array.shape}; give integers, rows × "
            "features, at least one of each"
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


def code_features(sizes: Sequence[int], n_labels: int) -> tuple[Feature, ...]:
    """Return features whose values are codes, named by their places."""
    for j, size in enumerate(sizes):
        check_size(f"x{j}", size, n_labels)
    return tuple(Feature(f"x{j}", "code", _texts(size)) for j, size in enumerate(sizes))


# Features of one size share their values.
@lru_cache(maxsize=1 << 9)
def _texts(size: int) -> tuple[str, ...]:
    return tuple(map(str, range(size)))


def count_array(
    schema: Schema, codes: NDArray[np.integer], row_labels: NDArray[np.int32]
) -> IndexFields:
    """Count a user's own codes, rows × features; every negative one is missing."""
    columns = codes.T if int(codes.min()) >= -1 else np.maximum(codes.T, -1)
    sizes, n_labels = schema.n_values.tolist(), len(schema.labels)
    found = count_columns(zip(columns, sizes, strict=True), row_labels, n_labels)
    return _assembled(schema, [(*pair, {}) for pair in found], row_labels)


_Pair = tuple[DenseCounts, Counts, CandidateSets]


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
            feature = features[position]
            check_size(feature.name, feature.n_values, n_labels)
            yield column.codes, feature.n_values

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
            raise outside_domain(feature, f" in row {row}")
        yield encoded


def outside_domain(feature: Feature, where: str = "") -> NullproofError:
    """Return the error of a column with a value that a domain learned before does not have."""
    return NullproofError(
        f"column {feature.name!r} holds a value{where} that is not in its domain in the given index "
        f"({some(map(cut, feature.values), 5)}); count anew without like, or declare the value with "
        "domains when the first index is made"
    )


def feature_names(names: Sequence[str], label: str, options: TableOptions) -> list[str]:
    """Return the columns to count: all but the label and those to ignore."""
    options.refuse_unknown_columns(names)
    ignored = {label, *options.ignore}
    found = [name for name in names if name not in ignored]
    if not found:
        raise NullproofError("the table has no column besides the label; give at least one feature")
    return found


# Count codes.


def count_columns(
    columns: Iterable[_Coded],
    labels: NDArray[np.integer],
    n_labels: int,
) -> Iterator[tuple[DenseCounts, Counts]]:
    """Count each column by value and label.

    Parameters
    ----------
    columns
        Codes (-1 = missing) and the number of values of each column.
    labels
        The label code of every row.

    Yields
    ------
    The counts (values × labels) and the missing cells per label, in the order of the columns.
    """
    if len(labels) <= _FEW_ROWS:
        # A call of NumPy takes longer to begin than to count so few cells.
        remaining, size = iter(columns), _CELLS // max(len(labels), 1)
        while group := list(islice(remaining, size)):
            yield from _count_side_by_side(group, labels, n_labels)
        return
    most = min(max(_JOINT, len(labels) // _ROWS_A_PLACE), _MOST_JOINT)
    count = partial(_count_jointly, labels=labels, n_labels=n_labels)
    groups = _grouped(columns, n_labels, most)
    # NumPy leaves the other core free while it counts.
    mapped = map if len(labels) < _MANY_ROWS else on_both_cores
    yield from chain.from_iterable(mapped(count, groups))


def _grouped(columns: Iterable[_Coded], n_labels: int, most: int) -> Iterator[list[_Coded]]:
    """Group neighbours whose joint codes, with the label, are at most so many; one with more is alone."""
    group: list[_Coded] = []
    size = n_labels
    for codes, n_values in columns:
        if group and size * (n_values + 1) > most:
            yield group
            group, size = [], n_labels
        group.append((codes, n_values))
        size *= n_values + 1
    if group:
        yield group


def _count_side_by_side(
    group: list[_Coded], labels: NDArray[np.integer], n_labels: int
) -> Iterator[tuple[DenseCounts, Counts]]:
    """Count by one ``bincount`` over the cells of all columns, each with places of its own."""
    ends = [0, *accumulate(n_values + 1 for _, n_values in group)]
    n_places = ends[-1] * n_labels
    kind = next(kind for kind in _KEYS if n_places <= np.iinfo(kind).max)
    codes = np.array([codes for codes, _ in group])
    keys = np.multiply(codes, kind(n_labels), dtype=kind, order="C")
    keys += labels.astype(kind)
    # Missing cells come first, at the start.
    keys += np.array([(start + 1) * n_labels for start in ends[:-1]], dtype=kind)[:, None]
    counts = np.bincount(keys.ravel(), minlength=n_places).astype(np.int64, copy=False)
    table = counts.reshape(-1, n_labels)
    for start, end in pairwise(ends):
        yield DenseCounts(table[start + 1 : end]), table[start]


def _count_jointly(
    group: list[_Coded], labels: NDArray[np.integer], n_labels: int
) -> list[tuple[DenseCounts, Counts]]:
    if n_labels * math.prod(n_values + 1 for _, n_values in group) > _MOST_JOINT:
        return list(_count_side_by_side(group, labels, n_labels))
    shape, ones = [n_labels], 0
    key = labels.astype(np.uint16)
    for codes, n_values in group:
        shape.append(n_values + 1)
        ones = ones * (n_values + 1) + 1
        key *= np.uint16(n_values + 1)
        # A missing cell wraps around, until one is added to each code below.
        key += codes.astype(np.uint16, copy=False)
    key += np.uint16(ones)
    return list(_apart(np.bincount(key, minlength=math.prod(shape)).reshape(shape)))


def _apart(joint: Counts) -> Iterator[tuple[DenseCounts, Counts]]:
    """Return the counts of each column from joint ones, labels × codes: one half is summed out first."""
    columns = tuple(range(1, joint.ndim))
    if len(columns) == 1:
        counts = np.array(joint.T, dtype=np.int64, order="C")
        yield DenseCounts(counts[1:]), counts[0]
        return
    half = len(columns) // 2
    yield from _apart(np.add.reduce(joint, axis=columns[half:]))
    yield from _apart(np.add.reduce(joint, axis=columns[:half]))
