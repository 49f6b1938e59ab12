"""The rows of a table that have a label, where the others are to be left out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nullproof.errors import NullproofError, notice
from nullproof.tables.columns import Column
from nullproof.tables.readers import Table
from nullproof.words import many


@dataclass(frozen=True)
class Labelled:
    """Some rows of a table: their cells, their labels, and where they stand in it."""

    table: Table
    labels: Column
    rows: NDArray[np.intp]


def labelled_rows(table: Table, labels: Column) -> Labelled:
    """The rows whose label is known; whatever the others hold, it has no say in anything."""
    if labels.known.all() or labels.sets:
        return Labelled(table, labels, np.arange(len(labels)))
    rows = np.flatnonzero(labels.known)
    assert table.part is not None
    some = replace(table.part(rows), nulled=table.nulled, writings=table.writings, places=rows)
    return Labelled(some, labels.rows(rows), rows)


def tell_of_unlabelled(label: str, n_dropped: int, n_left: int) -> None:
    """Say how many rows were left out, or that none is left."""
    if not n_left:
        raise NullproofError(
            f"none of the {many(n_dropped, 'row')} has a label in column {label!r}; give at least one that "
            "has"
        )
    if n_dropped:
        notice(
            f"left out {many(n_dropped, 'row')} without a label in column {label!r}; {n_left:,} are left"
        )
