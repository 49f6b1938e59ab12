"""Points that come in blocks, encoded one block after another, with one notice for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from nullproof.tables.names import Doubts, row_names
from nullproof.tables.points import OwnHoles, Points, encode_quietly
from nullproof.tables.readers import Blocks, Table
from nullproof.tables.schema import Schema
from nullproof.tables.strange import tell_of_strange


class Arrival(NamedTuple):
    """Some points, the table that they come in, where the first of them stands, what is read so far."""

    points: Points
    table: Table
    first: int
    share: float


def arrivals(
    schema: Schema, blocks: Blocks, own_missing: OwnHoles, key: str | None, *, smoothed: bool
) -> Iterator[Arrival]:
    """Encode points block by block; after the last, say of all what `encode_points` says.

    Parameters
    ----------
    key
        The column that names the points. The names are kept in memory, to tell which stand for several.
    smoothed
        Whether there is any smoothing.
    """
    wanted = {*schema.position, schema.label_name, *([] if key is None else [key])}
    n_unseen, n_outside = np.zeros((2, len(schema.features)), dtype=np.int64)
    doubts, first = Doubts(), 0
    for table, share in blocks.tables(wanted):
        points = encode_quietly(schema, table)
        n_unseen += points.n_unseen
        n_outside += np.array(points.n_outside, dtype=np.int64)
        if key is not None:
            names = row_names(key, points.frame, points.rows, len(points))
            doubts.look_at(names)
            points = replace(points, names=names)
        yield Arrival(points.read(own_missing), table, first, share)
        first += len(points)
    tell_of_strange(schema, n_unseen, n_outside, smoothed=smoothed)
    doubts.tell()
