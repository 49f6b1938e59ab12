"""Change counts without counting again: add and remove rows, fill and blank cells, add indexes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.build import is_whole
from nullproof.counts.count import CandidateSets, Counts, IndexFields, Known, from_cells
from nullproof.data.points import Points, encode_quietly
from nullproof.data.schema import Feature, Schema, encode
from nullproof.data.sources import raw_cells, read_column
from nullproof.data.types import text
from nullproof.errors import NullproofError
from nullproof.words import many, some

_MOST_CELLS = 2**40
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


def add_rows(index: Index, rows: Any, labels: Sequence[Any]) -> Index:
    """Count further rows."""
    return _changed(index, rows, labels, 1)


def remove_rows(index: Index, rows: Any, labels: Sequence[Any]) -> Index:
    """Take rows out of the counts; domains stay as they are."""
    return _changed(index, rows, labels, -1)


def fill_cells(
    index: Index, name: str, value: Any, label: Any, candidates: Any, n_cells: int
) -> Index:
    """Give missing cells of one label and feature a value, or fewer candidates than before."""
    if name not in index.schema.position:
        raise NullproofError(
            f"there is no feature {name!r}; it is one of {some(index.schema.position, 20)}"
        )
    j, i = index.schema.position[name], _label_codes(index.schema, [label])[0]
    feature = index.schema.features[j]
    after = _candidate_codes(feature, value)
    before = None if candidates is None else _candidate_codes(feature, candidates)
    if not after or (before and not {*after} <= {*before}):
        raise NullproofError(
            f"{value!r} is no candidate of the cell in column {name!r}; fill it with one of those"
        )
    if not is_whole(n_cells) or n_cells < 0:
        raise NullproofError(
            f"n_cells is {n_cells!r}; give the number of cells to fill, a whole number from 0 on"
        )
    n_null, sets = index.n_null.copy(), list(index.sets)
    there = n_null[j, i] if not before else sets[j].get(before, n_null[j] * 0)[i]
    if n_cells > there:
        raise NullproofError(
            f"column {name!r} has {many(int(there), 'such missing cell')} with label {label!r}, "
            f"not {n_cells:,}; fill no more than there are"
        )
    one = np.zeros(len(index.schema.labels), dtype=np.int64)
    one[i] = n_cells
    if before:
        sets[j] = _with_set(sets[j], before, -one)
    else:
        n_null[j] -= one
    known = list(index.known)
    if len(after) > 1:
        sets[j] = _with_set(sets[j], after, one)
    else:
        known[j] = known[j].changed(np.array(after), np.array([i]), np.array([n_cells]))
    return replace(index, known=tuple(known), n_null=n_null, sets=tuple(sets))


def fill_codes(
    index: Index,
    j: int,
    labels: NDArray[np.integer],
    codes: NDArray[np.integer],
    candidates: Sequence[tuple[int, ...] | None],
) -> Index:
    """Give cells of one feature their values, as codes; ``candidates`` is None for missing ones."""
    known, n_null, sets = list(index.known), index.n_null.copy(), list(index.sets)
    known[j] = known[j].changed(codes, labels, np.ones(len(codes), dtype=np.int64))
    for sort in {*candidates}:
        whose = labels[[own == sort for own in candidates]]
        n_cells = np.bincount(whose, minlength=len(index.schema.labels)).astype(np.int64)
        if sort is None:
            n_null[j] -= n_cells
        else:
            sets[j] = _with_set(sets[j], sort, -n_cells)
    return replace(index, known=tuple(known), n_null=n_null, sets=tuple(sets))


def _changed(index: Index, rows: Any, labels: Sequence[Any], sign: int) -> Index:
    schema = index.schema
    points = encode_quietly(schema, rows)
    if points.single and isinstance(labels, str):
        labels = [labels]
    if len(points) != len(labels):
        raise NullproofError(
            f"there are {many(len(points), 'row')} but {len(labels)} labels; give one label per row"
        )
    codes = _label_codes(schema, labels)
    label_counts = index.label_counts.copy()
    np.add.at(label_counts, codes, sign)
    known, n_null, sets = list(index.known), index.n_null.copy(), list(index.sets)
    missing, unseen = points.missing, points.unseen
    for j, feature in enumerate(schema.features):
        _refuse_outside(feature, points, j, unseen[j])
        cells = points.codes[j]
        held = cells < feature.n_values
        values, labels_held = cells[held], codes[held]
        known[j] = known[j].changed(values, labels_held, np.full(len(values), sign))
        np.add.at(n_null[j], codes[missing[j]], sign)
        for candidates, here in points.with_candidates(j):
            whose = codes[here]
            counts = sign * np.bincount(whose, minlength=len(schema.labels)).astype(np.int64)
            sets[j] = _with_set(sets[j], candidates, counts)
        if sign < 0 and (
            _is_negative(n_null[j], *sets[j].values())
            or _is_negative(known[j].at(values, labels_held))
        ):
            raise NullproofError(
                f"a row to remove has a cell in column {feature.name!r} that is not counted with "
                "that label; give rows as they were when they were counted"
            )
    return replace(
        index,
        schema=schema,
        label_counts=label_counts,
        known=tuple(known),
        n_null=n_null,
        sets=tuple(sets),
    )


def _label_codes(schema: Schema, labels: Sequence[Any]) -> NDArray[np.int64]:
    unknown = [label for label in labels if text(label) not in schema.label_codes]
    if unknown:
        raise NullproofError(
            f"there is no label {unknown[0]!r} in the index "
            f"({some(schema.labels, 5)}); count the table anew"
        )
    return np.array([schema.label_codes[text(label)] for label in labels], dtype=np.int64)


def _refuse_outside(feature: Feature, points: Points, j: int, outside: NDArray[np.bool_]) -> None:
    for candidates, here in points.with_candidates(j):
        if feature.n_values in candidates:
            outside = outside | here
    if outside.any():
        raise NullproofError(
            f"column {feature.name!r} holds a value in row {int(outside.argmax())} that is not in "
            f"its domain ({some(feature.values, 5)}); count the table anew, or declare "
            "the value with domains when the index is made"
        )


def _candidate_codes(feature: Feature, value: Any) -> tuple[int, ...]:
    encoded = encode(feature, read_column(feature.name, raw_cells(feature.name, [value])))
    codes = encoded.sets.get(0, (int(encoded.codes[0]),))
    if feature.n_values in codes:
        raise NullproofError(
            f"{value!r} is not in the domain of column {feature.name!r} "
            f"({some(feature.values, 5)}); closed domains do not grow"
        )
    return () if codes == (-1,) else codes


def _with_set(sets: CandidateSets, candidates: tuple[int, ...], counts: Counts) -> CandidateSets:
    changed = sets.get(candidates, np.zeros_like(counts)) + counts
    others = {key: cells for key, cells in sets.items() if key != candidates}
    return {**others, candidates: changed} if changed.any() else others


def _is_negative(*counts: Counts) -> bool:
    return any(bool((cells < 0).any()) for cells in counts)


def blank(index: Index, cells: Iterable[Cells]) -> Index:
    """Make cells missing."""
    known, n_null, sets = list(index.known), index.n_null.copy(), list(index.sets)
    places: dict[int, list[tuple[int, int, int]]] = {}
    for sort in cells:
        checked = _checked_sort(index.schema, sort)
        label, j, candidates = checked.label, checked.feature, checked.candidates
        n_cells = checked.n_cells
        n_null[j, label] += n_cells
        if len(candidates) > 1:
            one = np.zeros(len(index.schema.labels), dtype=np.int64)
            one[label] = n_cells
            sets[j] = _with_set(sets[j], candidates, -one)
            if candidates in sets[j] and _is_negative(sets[j][candidates]):
                raise _not_there(index.schema, j)
        else:
            places.setdefault(j, []).append((candidates[0], label, -n_cells))
    for j, changes in places.items():
        values, labels, n_changed = np.array(changes, dtype=np.int64).T
        known[j] = known[j].changed(values, labels, n_changed)
        if _is_negative(known[j].at(values, labels)):
            raise _not_there(index.schema, j)
    return replace(index, known=tuple(known), n_null=n_null, sets=tuple(sets))


def _checked_sort(schema: Schema, sort: Any) -> Cells:
    """Return a sort of cells whose label, feature and values the index has, with ascending candidates."""
    try:
        label, j, n_cells = sort.label, sort.feature, sort.n_cells
        codes = tuple(sorted({*sort.candidates}))
    except (AttributeError, TypeError):
        label, j, codes, n_cells = None, None, (), None
    if (
        not all(map(is_whole, (label, j, n_cells, *codes)))
        or not (0 <= label < len(schema.labels) and 0 <= j < len(schema.features))
        or not codes
        or not (codes[0] >= 0 and codes[-1] < schema.features[j].n_values)
        or not 0 <= n_cells <= _MOST_CELLS
    ):
        raise NullproofError(
            f"the cells to blank are given as {sort!r}; give Cells with the positions of their label, "
            "of their feature and of its values as a tuple, and how many they are"
        )
    return Cells(label, j, codes, n_cells)


def _not_there(schema: Schema, j: int) -> NullproofError:
    return NullproofError(
        f"more cells of column {schema.features[j].name!r} are to be blanked than there are with "
        "that label and value; blank no more than are counted"
    )


def widen(index: Index, schema: Schema) -> Index:
    """Count the same rows by a schema with more labels, values or features.

    A feature that is new had no known value in these rows: all its cells are missing.
    """
    labels = np.array([schema.label_codes[text(label)] for label in index.schema.labels])
    n_labels = len(schema.labels)
    label_counts = _spread(index.label_counts, labels, n_labels)
    known: list[Known] = []
    n_null = np.repeat(label_counts[None], len(schema.features), axis=0)
    sets: list[CandidateSets] = []
    for place, feature in enumerate(schema.features):
        j, shape = index.schema.position.get(feature.name), (feature.n_values, n_labels)
        if j is None:
            nothing = np.empty(0, dtype=np.int64)
            known.append(from_cells(nothing, nothing, nothing, shape))
            sets.append({})
            continue
        codes = _codes_in(feature, index.schema.features[j])
        values, whose, counts = index.known[j].cells()
        known.append(from_cells(codes[values], labels[whose], counts, shape))
        n_null[place, labels] = index.n_null[j]
        sets.append(
            {
                tuple(sorted(codes[list(candidates)].tolist())): _spread(cells, labels, n_labels)
                for candidates, cells in index.sets[j].items()
            }
        )
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
        return np.searchsorted(np.array(wider.bins), np.array(feature.bins))
    return np.array([wider.codes[value] for value in feature.values])


def _spread(counts: Counts, labels: NDArray[np.intp], n_labels: int) -> Counts:
    spread = np.zeros(n_labels, dtype=np.int64)
    spread[labels] = counts
    return spread


# Two indexes of one schema.


def added(index: Index, other: Index) -> Index:
    """Return the counts of both."""
    other = _reordered(other, index)
    sets = tuple(_merged(a, b) for a, b in zip(index.sets, other.sets, strict=True))
    return replace(
        index,
        label_counts=index.label_counts + other.label_counts,
        known=tuple(a + b for a, b in zip(index.known, other.known, strict=True)),
        n_null=index.n_null + other.n_null,
        sets=sets,
    )


def are_same(index: IndexFields, other: IndexFields) -> bool:
    """Return whether domains, labels and counts are the same; the order of the features does not matter."""
    try:
        other = _reordered(other, index)
    except NullproofError:
        return False
    return (
        np.array_equal(index.label_counts, other.label_counts)
        and np.array_equal(index.n_null, other.n_null)
        and all(_same(a, b) for a, b in zip(index.known, other.known, strict=True))
        and all(_same_sets(a, b) for a, b in zip(index.sets, other.sets, strict=True))
    )


def _reordered(index: Index, like: IndexFields) -> Index:
    """Return the same counts with the features in the order of another index of the same schema."""
    mine, theirs = index.schema, like.schema
    same_labels = [*map(text, mine.labels)] == [*map(text, theirs.labels)]
    if not same_labels or {*mine.features} != {*theirs.features}:
        raise NullproofError(
            "the two indexes differ in labels, features or domains; "
            "count the second with like= the first"
        )
    order = [mine.position[feature.name] for feature in theirs.features]
    return replace(
        index,
        schema=theirs,
        known=tuple(index.known[j] for j in order),
        n_null=index.n_null[order],
        sets=tuple(index.sets[j] for j in order),
    )


def _merged(a: CandidateSets, b: CandidateSets) -> CandidateSets:
    return {key: a.get(key, 0) + b.get(key, 0) for key in sorted({*a, *b})}  # type: ignore[misc]


def _same(a: Known, b: Known) -> bool:
    return all(np.array_equal(*pair) for pair in zip(a.cells(), b.cells(), strict=True))


def _same_sets(a: CandidateSets, b: CandidateSets) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[key], b[key]) for key in a)
