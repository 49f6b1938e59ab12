"""What points hold that the training table never shows: it is told, with what follows from it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nullproof.errors import notice
from nullproof.tables.schema import Schema
from nullproof.words import some


def tell_of_strange(
    schema: Schema,
    n_unseen: NDArray[np.int64],
    n_outside: Sequence[int] | NDArray[np.int64],
    *,
    smoothed: bool,
) -> None:
    """Say where points hold values that the training table never shows, or numbers beyond its ends."""
    if unseen := _named(schema, n_unseen):
        follows = (
            "for every label they count as values of no row"
            if smoothed
            else "without smoothing (alpha = 0) every label ties at zero there"
        )
        notice(f"points hold values that the training table never shows in {unseen}; {follows}")
    if outside := _named(schema, n_outside):
        notice(
            f"points lie outside what the training table shows in {outside}; they count to the bins at "
            "its ends"
        )


def _named(schema: Schema, counts: Sequence[int] | NDArray[np.int64]) -> str:
    """The features that have some cells, with how many; nothing if none has."""
    places = np.flatnonzero(counts).tolist()
    return some([f"{schema.features[j].name!r} ({counts[j]})" for j in places], 5)
