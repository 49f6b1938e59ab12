"""Change counts without counting again: add or remove rows, fill or blank cells, widen and add indexes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.count import (
    CandidateSets,
    Counts,
    IndexFields,
    count_codes,
    is_whole,
    outside_domain,
)
from nullproof.data.points import encode_quietly
from nullproof.data.schema import Encoded, Feature, Schema, encode
from nullproof.data.sources import read_column
from nullproof.data.types import MISSING, text
from nullproof.errors import NullproofError
from nullproof.words import many, some

Index = TypeVar("Index", bound=IndexFields)


@dataclass(frozen=True)
class Cells:
    """``n_cells`` cells of one label and feature, with the same candidates (positions of values).

    One candidate means cells that are known to hold it.
    """

    label: int
    feature: int
    candidates: tuple[int, ...]
    n_cells: int


# Rows.


def change_rows(index: Index, rows: Any, labels: Sequence[Any], sign: int) -> Index:
    """Count further rows, or take rows out of the counts if ``sign`` is -1; domains stay as they are."""
    schema = index.schema
    points = encode_quietly(schema, rows)
    if points.single and isinstance(labels, str):
        labels = [labels]
    if len(points) != len(labels):
        raise NullproofError(
            f"there are {many(len(points), 'row')} but {len(labels)} labels; give one label per row"
        )
    columns = []
    for j, (feature, outside) in enumerate(zip(schema.features, points.unseen, strict=True)):
        sets: dict[int, tuple[int, ...]] = {}
        for candidates, here in points.with_candidates(j):
            sets |= dict.fromkeys(np.flatnonzero(here).tolist(), candidates)
            outside |= here & (feature.n_values in candidates)
        if outside.any():
            raise outside_domain(feature, f" in row {int(outside.argmax())}")
        codes = np.where(points.codes[j] < feature.n_values, points.codes[j], MISSING)
        columns.append(Encoded(codes, sets))
    found = _sum(index, count_codes(schema, columns, _label_codes(schema, labels)), sign)
    _refuse_negative(
        found,
        "a row to remove has a cell in column {feature!r} that is not counted with that label; give "
        "rows as they were when they were counted",
    )
    return found


def _sum(index: Index, other: IndexFields, sign: int = 1) -> Index:
    """Add the counts of an index of the same schema, or take them away."""
    sets: list[CandidateSets] = []
    none = np.zeros_like(index.label_counts)
    for mine, theirs in zip(index.sets, other.sets, strict=True):
        keys = sorted({*mine, *theirs})
        both = {key: mine.get(key, none) + sign * theirs.get(key, none) for key in keys}
        sets.append({key: counts for key, counts in both.items() if counts.any()})
    return replace(
        index,
        label_counts=index.label_counts + sign * other.label_counts,
        known=tuple(a + sign * b for a, b in zip(index.known, other.known, strict=True)),
        n_null=index.n_null + sign * other.n_null,
        sets=tuple(sets),
    )


def _refuse_negative(index: IndexFields, wrong: str) -> None:
    """Reject counts of which more were taken away than there were."""
    fields = zip(index.schema.features, index.known, index.n_null, index.sets, strict=True)
    for feature, known, n_null, sets in fields:
        if any((counts < 0).any() for counts in (known, n_null, *sets.values())):
            raise NullproofError(wrong.format(feature=feature.name))


def _label_codes(schema: Schema, labels: Sequence[Any]) -> NDArray[np.int32]:
    unknown = [label for label in labels if text(label) not in schema.label_codes]
    if unknown:
        raise NullproofError(
            f"there is no label {unknown[0]!r} in the index "
            f"({some(schema.labels, 5)}); count the table anew"
        )
    return np.array([schema.label_codes[text(label)] for label in labels], dtype=np.int32)


# Cells.


def _moved(index: Index, moves: Iterable[tuple[int, Any, Any, int]]) -> Index:
    """Give missing cells their values: of a feature, so many of each value and label; or blank them."""
    known, n_null = [*index.known], index.n_null.copy()
    for j, codes, labels, n_cells in moves:
        if known[j] is index.known[j]:
            known[j] = known[j].copy()
        np.add.at(known[j], (codes, labels), n_cells)
        np.subtract.at(n_null[j], labels, n_cells)
    return replace(index, known=tuple(known), n_null=n_null)


def fill_cells(index: Index, name: str, value: Any, label: Any, n_cells: int) -> Index:
    """Give missing cells of one label and feature a value."""
    if name not in index.schema.position:
        raise NullproofError(
            f"there is no feature {name!r}; it is one of {some(index.schema.position, 20)}"
        )
    j, label_code = index.schema.position[name], int(_label_codes(index.schema, [label])[0])
    feature = index.schema.features[j]
    encoded = encode(feature, read_column(name, [value]))
    code = int(encoded.codes[0])
    if not 0 <= code < feature.n_values:
        raise NullproofError(
            f"{value!r} is not in the domain of column {name!r} ({some(feature.values, 5)}); closed "
            "domains do not grow"
        )
    if not is_whole(n_cells) or n_cells < 0:
        raise NullproofError(
            f"n_cells is {n_cells!r}; give the number of cells to fill, a whole number from 0 on"
        )
    there = int(index.n_null[j, label_code])
    if n_cells > there:
        raise NullproofError(
            f"column {name!r} has {many(there, 'such missing cell')} with label {label!r}, not "
            f"{n_cells:,}; fill no more than there are"
        )
    return _moved(index, [(j, code, label_code, n_cells)])


def fill_codes(
    index: Index, j: int, labels: NDArray[np.integer], codes: NDArray[np.integer]
) -> Index:
    """Give missing cells of one feature their values, as codes."""
    return _moved(index, [(j, codes, labels, 1)])


def blank(index: Index, cells: Iterable[Cells]) -> Index:
    """Make known cells missing."""
    moves = []
    for given in cells:
        (code,) = given.candidates
        moves.append((given.feature, code, given.label, -given.n_cells))
    found = _moved(index, moves)
    _refuse_negative(
        found,
        "more cells of column {feature!r} are to be blanked than there are with that label and value; "
        "blank no more than are counted",
    )
    return found


# Whole indexes.


def widen(index: Index, schema: Schema) -> Index:
    """Count the same rows by a schema with more labels, values or features, or these in another order.

    A feature that is new had no known value in these rows: all its cells are missing.
    """
    labels = np.array([schema.label_codes[text(label)] for label in index.schema.labels])

    def spread(counts: Counts) -> Counts:
        wider = np.zeros(len(schema.labels), dtype=np.int64)
        wider[labels] = counts
        return wider

    label_counts = spread(index.label_counts)
    known, sets = [], []
    n_null = np.repeat(label_counts[None], len(schema.features), axis=0)
    for place, feature in enumerate(schema.features):
        table = np.zeros((feature.n_values, len(label_counts)), dtype=np.int64)
        own_sets: CandidateSets = {}
        j = index.schema.position.get(feature.name)
        if j is not None:
            codes = _codes_in(feature, index.schema.features[j])
            table[np.ix_(codes, labels)] = index.known[j]
            n_null[place] = spread(index.n_null[j])
            for candidates, cells in index.sets[j].items():
                own_sets[tuple(sorted(codes[list(candidates)].tolist()))] = spread(cells)
        known.append(table)
        sets.append(own_sets)
    return replace(
        index,
        schema=schema,
        label_counts=label_counts,
        known=tuple(known),
        n_null=n_null,
        sets=tuple(sets),
    )


def _codes_in(wider: Feature, feature: Feature) -> NDArray[np.intp]:
    """Return the code of each value in a wider domain; bins are the same whatever their texts."""
    if feature.edges:
        bins = np.searchsorted(np.array(wider.bins), np.array(feature.bins))
        return np.append(bins, wider.missing_code) if feature.missing_is_value else bins
    if wider.values == feature.values:
        return np.arange(feature.n_values)
    return np.array([wider.codes[value] for value in feature.values])


def _alike(index: Index, schema: Schema) -> Index | None:
    """Return the same counts in the order of another schema; None if more than the order differs."""
    same_labels = [*map(text, index.schema.labels)] == [*map(text, schema.labels)]
    if not same_labels or {*index.schema.features} != {*schema.features}:
        return None
    return widen(index, schema)


def added(index: Index, other: Index) -> Index:
    """Return the counts of both."""
    alike = _alike(other, index.schema)
    if alike is None:
        raise NullproofError(
            "the two indexes differ in labels, features or domains; "
            "count the second with like= the first"
        )
    return _sum(index, alike)


def are_same(index: IndexFields, other: IndexFields) -> bool:
    """Return whether domains, labels and counts are the same; the order of the features does not matter."""
    alike = _alike(other, index.schema)
    if alike is None:
        return False

    def fields(counted: IndexFields) -> list[Any]:
        sets = [cells for own in counted.sets for _, cells in sorted(own.items())]
        return [counted.label_counts, counted.n_null, *counted.known, *sets]

    same_sets = [own.keys() for own in index.sets] == [own.keys() for own in alike.sets]
    return same_sets and all(map(np.array_equal, fields(index), fields(alike)))
