"""Two indexes side by side: are they of the same schema, and have they the same counts?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nullproof.counts.build import CandidateSets, Index
from nullproof.counts.sparse import Known
from nullproof.errors import NullproofError
from nullproof.tables.values import text


def reordered(index: Index, like: Index) -> Index:
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


def merged(a: CandidateSets, b: CandidateSets) -> CandidateSets:
    """The cells of both with each set of candidates."""
    return {key: a.get(key, 0) + b.get(key, 0) for key in sorted({*a, *b})}  # type: ignore[misc]


def same_counts(a: Known, b: Known) -> bool:
    """Whether two features have the same known cells."""
    return all(np.array_equal(*pair) for pair in zip(a.cells(), b.cells(), strict=True))


def same_sets(a: CandidateSets, b: CandidateSets) -> bool:
    """Whether two features have the same cells with several candidates."""
    return a.keys() == b.keys() and all(np.array_equal(a[key], b[key]) for key in a)
