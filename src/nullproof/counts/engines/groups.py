"""The group-by of every count in an engine: how many rows have each label and value of some columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from nullproof.counts.engines.keys import Key, collected
from nullproof.counts.sparse import Counts
from nullproof.errors import NullproofError
from nullproof.tables.bins import MISSING

_LABELS = -1


@dataclass(frozen=True)
class Groups:
    """Label, value and number of rows of every group of one column.

    Where they were asked for, ``ends`` are the least and the greatest number of each group.
    """

    values: nw.Series[Any]
    labels: nw.Series[Any]
    counts: Counts
    ends: tuple[nw.Series[Any], ...] = ()


def grouped(
    frame: nw.LazyFrame[Any], label: Key, keys: Sequence[Key]
) -> tuple[Groups, list[Groups]]:
    """The rows of each label, and each column counted by label and value."""
    parts = list(enumerate(keys))
    place = next((j for j, key in parts if key.with_holes), _LABELS)
    if place == _LABELS:
        rows = Key(label.column, nw.lit(0).cast(nw.Int64), nw.Int64, with_holes=True)
        parts.append((_LABELS, rows))
    found = counted(frame, label, parts)
    if place not in found:
        raise NullproofError("the table has no rows; give at least one")
    return found[place], [
        _without_holes(key, found[j]) if j in found else _no_groups(key, found[place])
        for j, key in enumerate(keys)
    ]


def counted(
    frame: nw.LazyFrame[Any], label: Key, parts: Iterable[tuple[int, Key]]
) -> dict[int, Groups]:
    """Count some columns, each with its number; columns of one type share a query."""
    by_type: dict[str, list[nw.LazyFrame[Any]]] = {}
    for j, key in parts:
        cells = frame if key.with_holes else frame.filter(key.rows)
        wanted = [
            label.value.alias("label"),
            key.value.alias("value"),
            nw.lit(j, nw.Int32).alias("column"),
        ]
        if key.number is not None:
            wanted.append(key.number.alias("number"))
        by_type.setdefault(key.sort, []).append(cells.select(*wanted))
    found: dict[int, Groups] = {}
    for frames in by_type.values():
        # One query at a time: their memory does not add up.
        found.update(_split(collected(_counted(frames))))
    return found


def _counted(frames: Sequence[nw.LazyFrame[Any]]) -> nw.LazyFrame[Any]:
    """Count the cells of some columns: by one group-by, unless the engine would copy them for that."""
    if frames[0].implementation.is_polars() or frames[0].implementation.is_dask():
        return nw.concat([_grouped_cells(cells) for cells in frames])
    return _grouped_cells(nw.concat(frames))


def _grouped_cells(cells: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    wanted = [nw.len().alias("count")]
    if "number" in cells.collect_schema():
        wanted += [nw.col("number").min().alias("low"), nw.col("number").max().alias("high")]
    groups = cells.group_by("column", "label", "value").agg(*wanted)
    return groups.with_columns(nw.col("count").cast(nw.Int64))


def _without_holes(key: Key, groups: Groups) -> Groups:
    if not key.with_holes:
        if groups.values.null_count():
            raise NullproofError(
                f"column {key.column.name!r} holds a value that does not come through, such as the time "
                "24:00:00; cast it to text there, or leave it out with ignore"
            )
        return groups
    known = ~groups.values.is_null() if key.type == nw.String else groups.values != MISSING
    return Groups(
        groups.values.filter(known),
        groups.labels.filter(known),
        groups.counts[known.to_numpy()],
        tuple(ends.filter(known) for ends in groups.ends),
    )


def _split(frame: nw.DataFrame[Any]) -> Iterator[tuple[int, Groups]]:
    columns = frame["column"].to_numpy()
    order = np.argsort(columns, kind="stable")
    cuts = np.flatnonzero(np.diff(columns[order], prepend=-2))
    ends = [name for name in ("low", "high") if name in frame.columns]
    for rows in np.split(order, cuts[1:]) if len(order) else []:
        part = frame[rows.tolist()]
        extremes = tuple(part[name] for name in ends)
        groups = Groups(part["value"], part["label"], part["count"].to_numpy(), extremes)
        yield int(columns[rows[0]]), groups


def _no_groups(key: Key, like: Groups) -> Groups:
    # polars has no time stamps of whole seconds.
    kind = nw.Datetime("us") if key.type == nw.Datetime else key.type
    values = nw.new_series("value", [], kind, backend="polars")
    return Groups(values, like.labels[:0], np.zeros(0, dtype=np.int64))
