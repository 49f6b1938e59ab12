"""Change counts without counting again: add and remove rows, fill and blank cells, add indexes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.count import (
    CandidateSets,
    Counts,
    DenseCounts,
    IndexFields,
    from_cells,
    is_whole,
)
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

    def add_known(self, j: int, codes: Any, labels: Any, n_cells: Any) -> None:
        """Add cells of feature ``j`` that hold some values; a negative number takes cells away."""
        self.known[j] = self.known[j].changed(np.asarray(codes), np.asarray(labels), n_cells)

    def add_open(
        self, j: int, candidates: tuple[int, ...], labels: Any, n_cells: int | Counts
    ) -> None:
        """Add cells with several candidates; none means any value."""
        if not candidates:
            np.add.at(self.n_null[j], labels, n_cells)
            return
        counts = np.zeros(len(self.index.schema.labels), dtype=np.int64)
        np.add.at(counts, labels, n_cells)
        counts += self.sets[j].get(candidates, 0)
        others = {key: own for key, own in self.sets[j].items() if key != candidates}
        self.sets[j] = {**others, candidates: counts} if counts.any() else others

    def finished(self, wrong: str, label_counts: Counts | None = None) -> Index:
        """Return the changed index; with ``wrong``, reject it if more cells went than there were."""
        before = self.index
        for j, feature in enumerate(before.schema.features):
            counts = [self.n_null[j], *self.sets[j].values()]
            if self.known[j] is not before.known[j]:
                counts.append(self.known[j].dense)
            if any(int(own.min()) < 0 for own in counts if own.size):
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
            draft.add_open(j, candidates, codes[here], sign)
        if outside.any():
            raise NullproofError(
                f"column {feature.name!r} holds a value in row {int(outside.argmax())} that is not "
                f"in its domain ({some(feature.values, 5)}); count the table anew, or declare "
                "the value with domains when the index is made"
            )
        held = points.codes[j] < feature.n_values
        draft.add_known(j, points.codes[j][held], codes[held], sign)
        draft.add_open(j, (), codes[missing[j]], sign)
    return draft.finished(
        "a row to remove has a cell in column {feature!r} that is not counted with that label; give "
        "rows as they were when they were counted",
        label_counts,
    )


def fill_cells(
    index: Index, name: str, value: Any, label: Any, candidates: Any, n_cells: int
) -> Index:
    """Give missing cells of one label and feature a value, or fewer candidates than before."""
    if name not in index.schema.position:
        raise NullproofError(
            f"there is no feature {name!r}; it is one of {some(index.schema.position, 20)}"
        )
    j, i = index.schema.position[name], _label_codes(index.schema, [label])
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
    n_there = int(there[i].item())
    if n_cells > n_there:
        raise NullproofError(
            f"column {name!r} has {many(n_there, 'such missing cell')} with label {label!r}, "
            f"not {n_cells:,}; fill no more than there are"
        )
    draft = _Draft(index)
    draft.add_open(j, before, i, -n_cells)
    if len(after) > 1:
        draft.add_open(j, after, i, n_cells)
    else:
        draft.add_known(j, after, i, n_cells)
    return draft.finished("")


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
    for sort in {*candidates}:
        draft.add_open(j, sort or (), labels[[own == sort for own in candidates]], -1)
    return draft.finished("")


def blank(index: Index, cells: Iterable[Cells]) -> Index:
    """Make cells missing."""
    draft = _Draft(index)
    known: dict[int, list[tuple[int, int, int]]] = {}
    for sort in (_checked_sort(index.schema, sort) for sort in cells):
        label, j, candidates = np.array([sort.label]), sort.feature, sort.candidates
        draft.add_open(j, (), label, sort.n_cells)
        if len(candidates) > 1:
            draft.add_open(j, candidates, label, -sort.n_cells)
        else:
            known.setdefault(j, []).append((candidates[0], sort.label, -sort.n_cells))
    for j, changes in known.items():
        draft.add_known(j, *np.array(changes, dtype=np.int64).T)
    return draft.finished(
        "more cells of column {feature!r} are to be blanked than there are with that label and value; "
        "blank no more than are counted"
    )


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


def _label_codes(schema: Schema, labels: Sequence[Any]) -> NDArray[np.int64]:
    unknown = [label for label in labels if text(label) not in schema.label_codes]
    if unknown:
        raise NullproofError(
            f"there is no label {unknown[0]!r} in the index "
            f"({some(schema.labels, 5)}); count the table anew"
        )
    return np.array([schema.label_codes[text(label)] for label in labels], dtype=np.int64)


def _candidate_codes(feature: Feature, value: Any) -> tuple[int, ...]:
    encoded = encode(feature, read_column(feature.name, raw_cells(feature.name, [value])))
    codes = encoded.sets.get(0, (int(encoded.codes[0]),))
    if feature.n_values in codes:
        raise NullproofError(
            f"{value!r} is not in the domain of column {feature.name!r} "
            f"({some(feature.values, 5)}); closed domains do not grow"
        )
    return () if codes == (-1,) else codes


def widen(index: Index, schema: Schema) -> Index:
    """Count the same rows by a schema with more labels, values or features.

    A feature that is new had no known value in these rows: all its cells are missing.
    """
    labels = np.array([schema.label_codes[text(label)] for label in index.schema.labels])
    n_labels = len(schema.labels)

    def spread(counts: Counts) -> Counts:
        return from_cells(labels, labels * 0, counts, (n_labels, 1)).dense[:, 0]

    label_counts = spread(index.label_counts)
    known: list[DenseCounts] = []
    n_null = np.repeat(label_counts[None], len(schema.features), axis=0)
    sets: list[CandidateSets] = []
    for place, feature in enumerate(schema.features):
        j = index.schema.position.get(feature.name)
        table = np.zeros((feature.n_values, n_labels), dtype=np.int64)
        own_sets: CandidateSets = {}
        if j is not None:
            codes = _codes_in(feature, index.schema.features[j])
            table[np.ix_(codes, labels)] = index.known[j].dense
            n_null[place, labels] = index.n_null[j]
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


# Two indexes of one schema.


def added(index: Index, other: Index) -> Index:
    """Return the counts of both."""
    other = _reordered(other, index)
    pairs = zip(index.known, other.known, strict=True)
    return replace(
        index,
        label_counts=index.label_counts + other.label_counts,
        known=tuple(DenseCounts(a.dense + b.dense) for a, b in pairs),
        n_null=index.n_null + other.n_null,
        sets=tuple(_merged(a, b) for a, b in zip(index.sets, other.sets, strict=True)),
    )


def _merged(a: CandidateSets, b: CandidateSets) -> CandidateSets:
    return {key: a.get(key, 0) + b.get(key, 0) for key in sorted({*a, *b})}  # type: ignore[misc]


def are_same(index: IndexFields, other: IndexFields) -> bool:
    """Return whether domains, labels and counts are the same; the order of the features does not matter."""
    try:
        other = _reordered(other, index)
    except NullproofError:
        return False
    known = zip(index.known, other.known, strict=True)
    return (
        np.array_equal(index.label_counts, other.label_counts)
        and np.array_equal(index.n_null, other.n_null)
        and all(np.array_equal(a.dense, b.dense) for a, b in known)
        and all(_same_sets(a, b) for a, b in zip(index.sets, other.sets, strict=True))
    )


def _same_sets(a: CandidateSets, b: CandidateSets) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[key], b[key]) for key in a)


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
