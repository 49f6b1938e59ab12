"""Change counts without counting again: add and remove rows, fill and blank cells, add indexes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.count import CandidateSets, Counts, DenseCounts, IndexFields, is_whole
from nullproof.data.points import encode_quietly
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


class _Draft(Generic[Index]):
    """An index while its cells are changed."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.known, self.sets = list(index.known), list(index.sets)
        self.n_null = index.n_null.copy()

    def add(self, j: int, candidates: tuple[int, ...], labels: Any, n_cells: int) -> None:
        """Add cells of some labels to feature ``j``, or take them away; no candidates mean any value."""
        labels = np.atleast_1d(labels)
        if not candidates:
            np.add.at(self.n_null[j], labels, n_cells)
        elif len(candidates) == 1:
            self.add_known(j, np.full(len(labels), candidates[0]), labels, n_cells)
        else:
            counts = self.sets[j].get(candidates, 0) + np.zeros_like(self.index.label_counts)
            np.add.at(counts, labels, n_cells)
            sets = self.sets[j] | {candidates: counts}
            self.sets[j] = {key: cells for key, cells in sets.items() if cells.any()}

    def add_known(self, j: int, codes: Any, labels: Any, n_cells: Any) -> None:
        """Add cells of feature ``j`` that hold one value each, or take them away."""
        self.known[j] = self.known[j].changed(codes, labels, n_cells)

    def finished(self, wrong: str = "", label_counts: Counts | None = None) -> Index:
        """Return the changed index; reject it, with ``wrong``, if more cells went than there were."""
        before = self.index
        for j, feature in enumerate(before.schema.features):
            counts = [self.n_null[j], *self.sets[j].values()]
            if self.known[j] is not before.known[j]:
                counts.append(self.known[j].dense)
            if any(int(cells.min(initial=0)) < 0 for cells in counts):
                raise NullproofError(wrong.format(feature=feature.name))
        return replace(
            before,
            label_counts=before.label_counts if label_counts is None else label_counts,
            known=tuple(self.known),
            n_null=self.n_null,
            sets=tuple(self.sets),
        )


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
    codes = _label_codes(schema, labels)
    label_counts = index.label_counts.copy()
    np.add.at(label_counts, codes, sign)
    draft, missing, unseen = _Draft(index), points.missing, points.unseen
    for j, feature in enumerate(schema.features):
        outside = unseen[j]
        for candidates, here in points.with_candidates(j):
            if feature.n_values in candidates:
                outside = outside | here
            draft.add(j, candidates, codes[here], sign)
        if outside.any():
            raise NullproofError(
                f"column {feature.name!r} holds a value in row {int(outside.argmax())} that is not "
                f"in its domain ({some(feature.values, 5)}); count the table anew, or declare "
                "the value with domains when the index is made"
            )
        held = points.codes[j] < feature.n_values
        draft.add_known(j, points.codes[j][held], codes[held], sign)
        draft.add(j, (), codes[missing[j]], sign)
    return draft.finished(
        "a row to remove has a cell in column {feature!r} that is not counted with that label; give "
        "rows as they were when they were counted",
        label_counts,
    )


def _label_codes(schema: Schema, labels: Sequence[Any]) -> NDArray[np.int64]:
    unknown = [label for label in labels if text(label) not in schema.label_codes]
    if unknown:
        raise NullproofError(
            f"there is no label {unknown[0]!r} in the index "
            f"({some(schema.labels, 5)}); count the table anew"
        )
    return np.array([schema.label_codes[text(label)] for label in labels], dtype=np.int64)


def fill_cells(
    index: Index, name: str, value: Any, label: Any, candidates: Any, n_cells: int
) -> Index:
    """Give missing cells of one label and feature a value, or fewer candidates than before."""
    if name not in index.schema.position:
        raise NullproofError(
            f"there is no feature {name!r}; it is one of {some(index.schema.position, 20)}"
        )
    j, label_code = index.schema.position[name], int(_label_codes(index.schema, [label])[0])
    feature = index.schema.features[j]
    after = _candidate_codes(feature, value)
    before = () if candidates is None else _candidate_codes(feature, candidates)
    if not after or (before and not {*after} <= {*before}):
        raise NullproofError(
            f"{value!r} is no candidate of the cell in column {name!r}; fill it with one of those"
        )
    if not is_whole(n_cells) or n_cells < 0:
        raise NullproofError(
            f"n_cells is {n_cells!r}; give the number of cells to fill, a whole number from 0 on"
        )
    there = index.sets[j].get(before, index.label_counts * 0) if before else index.n_null[j]
    if n_cells > there[label_code]:
        raise NullproofError(
            f"column {name!r} has {many(int(there[label_code]), 'such missing cell')} with label "
            f"{label!r}, not {n_cells:,}; fill no more than there are"
        )
    draft = _Draft(index)
    draft.add(j, before, label_code, -n_cells)
    draft.add(j, after, label_code, n_cells)
    return draft.finished()


def _candidate_codes(feature: Feature, value: Any) -> tuple[int, ...]:
    encoded = encode(feature, read_column(feature.name, raw_cells(feature.name, [value])))
    codes = encoded.sets.get(0, (int(encoded.codes[0]),))
    if feature.n_values in codes:
        raise NullproofError(
            f"{value!r} is not in the domain of column {feature.name!r} "
            f"({some(feature.values, 5)}); closed domains do not grow"
        )
    return () if codes == (-1,) else codes


def fill_codes(
    index: Index,
    j: int,
    labels: NDArray[np.integer],
    codes: NDArray[np.integer],
    candidates: Sequence[tuple[int, ...] | None],
) -> Index:
    """Give cells of one feature their values, as codes; ``candidates`` is None for missing ones."""
    draft = _Draft(index)
    draft.add_known(j, codes, labels, 1)
    for before in {*candidates}:
        draft.add(j, before or (), labels[[own == before for own in candidates]], -1)
    return draft.finished()


def blank(index: Index, cells: Iterable[Cells]) -> Index:
    """Make cells missing."""
    draft = _Draft(index)
    known: dict[int, list[tuple[int, int, int]]] = {}
    for given in cells:
        _refuse_wrong_cells(index.schema, given)
        candidates = tuple(sorted({*given.candidates}))
        draft.add(given.feature, (), given.label, given.n_cells)
        if len(candidates) > 1:
            draft.add(given.feature, candidates, given.label, -given.n_cells)
        else:
            # All of a feature at once: each change copies its counts.
            change = (candidates[0], given.label, -given.n_cells)
            known.setdefault(given.feature, []).append(change)
    for j, changes in known.items():
        draft.add_known(j, *np.array(changes, dtype=np.int64).T)
    return draft.finished(
        "more cells of column {feature!r} are to be blanked than there are with that label and value; "
        "blank no more than are counted"
    )


def _refuse_wrong_cells(schema: Schema, cells: Any) -> None:
    """Reject cells whose label, feature or values the index does not have."""
    try:
        numbers = (cells.label, cells.feature, cells.n_cells, *cells.candidates)
        n_values = schema.features[cells.feature].n_values
        fits = (
            all(map(is_whole, numbers))
            and 0 <= cells.label < len(schema.labels)
            and cells.feature >= 0
            and 0 <= cells.n_cells <= _MOST_CELLS
            and bool(cells.candidates)
            and all(0 <= code < n_values for code in cells.candidates)
        )
    except (AttributeError, TypeError, IndexError):
        fits = False
    if not fits:
        raise NullproofError(
            f"the cells to blank are given as {cells!r}; give Cells with the positions of their label, "
            "of their feature and of its values as a tuple, and how many they are"
        )


# Whole indexes.


def widen(index: Index, schema: Schema) -> Index:
    """Count the same rows by a schema with more labels, values or features.

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
            table[np.ix_(codes, labels)] = index.known[j].dense
            n_null[place] = spread(index.n_null[j])
            for candidates, cells in index.sets[j].items():
                own_sets[tuple(sorted(codes[list(candidates)].tolist()))] = spread(cells)
        known.append(DenseCounts(table))
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
    return np.array([wider.codes[value] for value in feature.values])


def added(index: Index, other: Index) -> Index:
    """Return the counts of both."""
    other = _reordered(other, index)
    sets: list[CandidateSets] = []
    for mine, theirs in zip(index.sets, other.sets, strict=True):
        none = np.zeros_like(index.label_counts)
        keys = sorted({*mine, *theirs})
        sets.append({key: mine.get(key, none) + theirs.get(key, none) for key in keys})
    pairs = zip(index.known, other.known, strict=True)
    return replace(
        index,
        label_counts=index.label_counts + other.label_counts,
        known=tuple(DenseCounts(mine.dense + theirs.dense) for mine, theirs in pairs),
        n_null=index.n_null + other.n_null,
        sets=tuple(sets),
    )


def are_same(index: IndexFields, other: IndexFields) -> bool:
    """Return whether domains, labels and counts are the same; the order of the features does not matter."""
    try:
        other = _reordered(other, index)
    except NullproofError:
        return False

    def fields(counted: IndexFields) -> list[Any]:
        tables = [table.dense for table in counted.known]
        sets = [cells for own in counted.sets for _, cells in sorted(own.items())]
        return [counted.label_counts, counted.n_null, *tables, *sets]

    same_sets = [own.keys() for own in index.sets] == [own.keys() for own in other.sets]
    return same_sets and all(map(np.array_equal, fields(index), fields(other)))


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
