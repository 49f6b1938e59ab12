"""Find the cells of an attack in a lazy table: only the keys of their rows leave the engine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

from nullproof.counts.engines import like_key, open_lazily
from nullproof.counts.engines.columns import Key, LazyTable, collected
from nullproof.counts.update import Cells
from nullproof.data.missing import NOTHING_SPELLED
from nullproof.data.schema import Feature, Schema, encode
from nullproof.errors import NullproofError

_ROW = "nullproof row"


def locate_cells(
    schema: Schema,
    cells: Iterable[Cells],
    table: Any,
    *,
    key: str | None = None,
    memory_limit: str | None = None,
) -> list[tuple[Any, str]]:
    """Name real cells: (key of the row, column), as many of each sort as are asked for.

    Parameters
    ----------
    cells
        How many of which sort, as codes of the schema.
    key
        A column that tells rows apart; its smallest values are taken. Lazy tables have no order of
        rows, except those of polars, where the position of the row is the default.

    Examples
    --------
    >>> import polars as pl
    >>> from nullproof import CountIndex, poison
    >>> table = pl.LazyFrame({"x": ["a", "a", "b"], "y": ["yes", "yes", "no"]})
    >>> index = CountIndex.from_table(table, "y")
    >>> attack = poison(index, [("a",)])
    >>> locate_cells(index.schema, attack.blanks, table)
    [(0, 'x'), (1, 'x'), (2, 'x')]
    """
    with open_lazily(table, schema.label_name, schema.missing, schema, memory_limit) as lazy:
        if lazy is None:
            raise NullproofError(f"{type(table).__name__} is not a lazy table; use attack.cells")
        lazy, key = _numbered(lazy, key)
        sorts = [sort for sort in cells if sort.n_cells]
        found = _found(schema, sorts, lazy, key)
    for number, sort in enumerate(sorts):
        rows = [row for row, place in found if place == number]
        if len({*rows}) < sort.n_cells:
            feature = schema.features[sort.feature]
            raise NullproofError(
                f"the table has {len({*rows})} rows with {feature.values[sort.candidates[0]]!r} in "
                f"column {feature.name!r} and label {schema.labels[sort.label]!r}, told apart by "
                f"{key!r}, but the attack blanks {sort.n_cells}; give the table that was counted and a "
                "key without repetition"
            )
    return sorted((row, schema.features[sorts[number].feature].name) for row, number in found)


def _numbered(table: LazyTable, key: str | None) -> tuple[LazyTable, str]:
    if key is not None:
        table.refuse_unknown(key)
        return table, key
    if not table.frame.implementation.is_polars():
        raise NullproofError(
            "the rows of this table have no order; name a column that tells them apart: key="
        )
    frame = nw.from_native(table.frame.to_native().with_row_index(_ROW))
    return replace(table, frame=frame), _ROW


def _found(schema: Schema, sorts: list[Cells], table: LazyTable, key: str) -> list[tuple[Any, int]]:
    """Key and number of the sort of every cell, in one query."""
    labels, label = _values_of_labels(schema, table), table.column(table.label)
    values: dict[int, tuple[Key, dict[int, list[Any]]]] = {}
    parts = []
    for number, sort in enumerate(sorts):
        if sort.feature not in values:
            values[sort.feature] = _values_of_codes(schema.features[sort.feature], table)
        key_of_column, by_code = values[sort.feature]
        fits = (
            key_of_column.only
            & key_of_column.value.is_in(by_code.get(sort.candidates[0], []))
            & label.label.is_in(labels.get(sort.label, []))
        )
        rows = table.frame.filter(fits).select(nw.col(key).alias("row")).sort("row")
        parts.append(
            rows.head(sort.n_cells).with_columns(nw.lit(number).cast(nw.Int32).alias("sort"))
        )
    if not parts:
        return []
    frame = collected(nw.concat(parts))
    return list(zip(frame["row"].to_list(), frame["sort"].to_list(), strict=True))


def _values_of_labels(schema: Schema, table: LazyTable) -> dict[int, list[Any]]:
    """How each label is written in the table."""
    label = table.column(table.label)
    found = collected(table.frame.select(label.label.alias("label")).unique())["label"]
    found = found.drop_nulls()
    column = label.read(found, NOTHING_SPELLED)
    if column.numbers is not None:
        texts = [column.write(number) for number in column.numbers.tolist()]
    else:
        assert column.codes is not None
        texts = [column.values[code] for code in column.codes]
    values: dict[int, list[Any]] = {}
    for value, written in zip(found.to_list(), texts, strict=True):
        if written in schema.label_codes:
            values.setdefault(schema.label_codes[written], []).append(value)
    return values


def _values_of_codes(feature: Feature, table: LazyTable) -> tuple[Key, dict[int, list[Any]]]:
    """What is grouped by, and what of it each code stands for."""
    key = like_key(feature, table.like(feature))
    if key.in_cells:
        return key, {code: [bin_] for code, bin_ in enumerate(feature.bins)}
    cells = table.frame.filter(key.only).select(key.value.alias("value"))
    values = collected(cells.unique())["value"]
    codes = encode(feature, key.column.read(values)).codes
    by_code: dict[int, list[Any]] = {}
    for code in np.unique(codes).tolist():
        by_code[code] = values.filter((codes == code).tolist()).to_list()
    return key, by_code
