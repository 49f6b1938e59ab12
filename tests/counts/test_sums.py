"""Two indexes side by side: what adds up, and what makes them differ."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nullproof import CountIndex, NullproofError
from nullproof.counts.sparse import DenseCounts

ROWS: list[tuple[Any, ...]] = [
    ("a", None),
    ("b", "x"),
    ({"a", "b"}, "y"),
    ({"b", "c"}, {"x", "z"}),
    (None, "z"),
    ("c", {"x", "z"}),
    ({"a", "b"}, {"x", "y"}),
]
LABELS = list("ABBAABA")
WHOLE = CountIndex.from_rows(ROWS, LABELS)


@pytest.mark.parametrize("cut", range(1, len(ROWS)))
def test_parts_add_up(cut: int) -> None:
    """The counts of two parts are those of the whole, candidate sets of one or both parts too."""
    one, other = (
        CountIndex.from_rows(ROWS[part], LABELS[part], like=WHOLE)
        for part in (slice(cut), slice(cut, None))
    )
    both = one + other
    assert both == WHOLE == other + one
    assert both.label_counts.tolist() == WHOLE.label_counts.tolist()
    assert both.n_null.tolist() == WHOLE.n_null.tolist()
    for j in range(2):
        assert both.exact(j).tolist() == WHOLE.exact(j).tolist()
        for candidates, counts in WHOLE.sets[j].items():
            assert both.sets[j][candidates].tolist() == counts.tolist()
        assert list(both.sets[j]) == sorted(WHOLE.sets[j])
    assert both != one


def plus(counts: Any, place: Any) -> Any:
    changed = counts.copy()
    changed[place] += 1
    return changed


def changed_sets(j: int, change: Any) -> dict[str, Any]:
    sets = list(WHOLE.sets)
    sets[j] = change(dict(sets[j]))
    return {"sets": tuple(sets)}


def changed_known(j: int, place: tuple[int, int]) -> dict[str, Any]:
    known = list(WHOLE.known)
    known[j] = DenseCounts(plus(known[j].dense, place))
    return {"known": tuple(known)}


DIFFERENCES: dict[str, dict[str, Any]] = {
    "rows of a label": {"label_counts": plus(WHOLE.label_counts, 1)},
    "missing cells": {"n_null": plus(WHOLE.n_null, (1, 0))},
    "a count": changed_known(1, (0, 1)),
    "a count of zero elsewhere": changed_known(1, (0, 0)),
    "a count of zero": changed_known(0, (2, 0)),
    "cells with candidates": changed_sets(0, lambda own: {**own, (0, 1): own[0, 1] + 1}),
    "cells with other candidates": changed_sets(1, lambda own: {**own, (0, 2): own[0, 2] + 1}),
    "a set more": changed_sets(1, lambda own: {**own, (1, 2): np.array([1, 0])}),
    "a set less": changed_sets(0, lambda own: {(0, 1): own[0, 1]}),
    "no sets": changed_sets(1, lambda _own: {}),
    "labels": {"schema": replace(WHOLE.schema, labels=("A", "C"))},
    "a domain": {
        "schema": replace(
            WHOLE.schema,
            features=(
                WHOLE.schema.features[0],
                replace(WHOLE.schema.features[1], values=("x", "y", "w")),
            ),
        )
    },
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_every_difference_counts(name: str) -> None:
    """Indexes that differ in one number, set, label or value are not the same; nor are they added."""
    other = replace(WHOLE, **DIFFERENCES[name])
    assert other != WHOLE
    assert other != WHOLE
    assert replace(WHOLE) == WHOLE
    if "schema" in DIFFERENCES[name]:
        with pytest.raises(NullproofError, match="differ in labels, features or domains"):
            WHOLE + other


def test_the_order_of_features_does_not_matter() -> None:
    """The same columns in another order make the same index, and add up to the order of the first."""
    turned = CountIndex.from_rows(
        [row[::-1] for row in ROWS], LABELS, features=["x1", "x0"], keep=["x0", "x1"]
    )
    plain = CountIndex.from_rows(ROWS, LABELS, features=["x0", "x1"], keep=["x0", "x1"])
    assert turned == plain
    assert (plain + turned).features == ("x0", "x1")
    assert plain + turned == plain + plain
