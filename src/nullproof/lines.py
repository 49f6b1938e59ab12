"""The labels of many points as texts, each different one written once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def label_texts(labels: Sequence[Any], places: NDArray[np.integer]) -> list[str | None]:
    """The labels at some places as texts; None at -1."""
    names = np.array([*map(str, labels), None], dtype=object)
    found: list[str | None] = names[places].tolist()
    return found


def label_sets(
    labels: Sequence[Any], possible: NDArray[np.bool_], predicted: NDArray[np.int32]
) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """Per point its possible labels, and those of them that are not the predicted one, as lists of texts.

    Points of one kind share their lists.
    """
    names = [str(label) for label in labels]
    marks = np.packbits(possible, axis=1)
    chosen = np.ascontiguousarray(predicted, dtype=np.int32).view(np.uint8).reshape(-1, 4)
    # As bytes, which sort a hundred times faster than rows of booleans.
    rows = np.ascontiguousarray(np.hstack([marks, chosen]))
    whole = rows.view(np.dtype((np.void, rows.shape[1]))).ravel()
    _, first, kinds = np.unique(whole, return_index=True, return_inverse=True)
    sets, others = np.empty(len(first), dtype=object), np.empty(len(first), dtype=object)
    for kind, place in enumerate(first.tolist()):
        found = np.flatnonzero(possible[place]).tolist()
        sets[kind] = [names[i] for i in found]
        others[kind] = [names[i] for i in found if i != predicted[place]]
    return sets[kinds], others[kinds]
