"""Two indexes side by side: the same features in the same order, added up or compared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nullproof.counts.build import CandidateSets, Index, IndexLike
from nullproof.counts.sparse import Known
from nullproof.errors import NullproofError
from nullproof.tables.values import text


def added(index: Index, other: Index) -> Index:
    """The counts of both."""
    other = _reordered(other, index)
    sets = tuple(_merged(a, b) for a, b in zip(index.sets, other.sets, strict=True))
    return replace(
        index,
        label_counts=index.label_counts + other.label_counts,
        known=tuple(a + b for a, b in zip(index.known, other.known, strict=True)),
        n_null=index.n_null + other.n_null,
        sets=sets,
    )


def are_same(index: IndexLike, other: IndexLike) -> bool:
    """Whether domains, labels and counts are the same; the order of the features does not matter."""
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


def _reordered(index: Index, like: IndexLike) -> Index:
    """The same counts with the features in the order of another index of the same schema."""
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
