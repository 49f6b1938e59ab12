"""Change cells of a table and keep everything else: its library, types, columns, rows and order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.tables.values import text

# Columns of results that hold text even where they hold nothing but None.
_TEXTS = ("key", "label", "likeliest", "not_worked_out", "predicted", "rival")
Changes = Mapping[str, Mapping[int, Any]]


def set_cells(frame: nw.DataFrame[Any], changes: Changes) -> Any:
    """Return the native frame with new values at some rows of some columns; None blanks a cell."""
    changes = {name: cells for name, cells in changes.items() if cells}
    native = frame.to_native()
    if frame.implementation.is_pandas_like():
        return _set_pandas(native, changes)
    for name, cells in changes.items():
        values = _with(frame[name].to_list(), cells)
        native = (
            _set_polars(native, name, values)
            if frame.implementation.is_polars()
            else _set_arrow(native, name, values)
        )
    return native


def fill_in(frame: nw.DataFrame[Any], changes: Changes) -> Any:
    """The same for values as an index knows them: text where the column holds text."""
    written = {
        name: {
            row: text(x) if x is not None and frame.schema[name] == nw.String else x
            for row, x in cells.items()
        }
        for name, cells in changes.items()
    }
    return set_cells(frame, written)


def append_rows(frame: nw.DataFrame[Any], values: Mapping[str, Sequence[Any]], n_rows: int) -> Any:
    """Return the native frame with more rows, of the same types; columns without values are blank there."""
    n_before = len(frame)
    longer = nw.concat([frame, frame[[0] * n_rows]]) if n_rows else frame
    if longer.implementation.is_pandas_like():
        longer = nw.from_native(longer.to_native().reset_index(drop=True))
    changes = {}
    for name in frame.columns:
        cells = values.get(name, [None] * n_rows)
        if frame.schema[name] in (nw.List, nw.Array):
            cells = [None if cell is None else [cell] for cell in cells]
        changes[name] = dict(enumerate(cells, n_before))
    return set_cells(longer, changes)


def set_rows(rows: Sequence[Any], names: Sequence[str], changes: Changes) -> list[tuple[Any, ...]]:
    """The same for plain rows."""
    columns = [
        [
            changes.get(name, {}).get(position, _cell(row, j, name))
            for position, row in enumerate(rows)
        ]
        for j, name in enumerate(names)
    ]
    return list(zip(*columns, strict=True))


def _cell(row: Any, j: int, name: str) -> Any:
    return row[name] if isinstance(row, Mapping) else row[j]


def _set_pandas(native: Any, changes: Changes) -> Any:
    native = native.copy()
    for name, cells in changes.items():
        column = native[name]
        kind = str(getattr(column.dtype, "pyarrow_dtype", ""))
        if kind.startswith(("list<", "large_list<", "fixed_size_list<")):
            array = column.array
            values = _with(array.__arrow_array__().to_pylist(), cells)
            native[name] = type(array)(_arrow_array(values, column.dtype.pyarrow_dtype))
        else:
            native[name] = _set_pandas_cells(column.copy(), cells)
    return native


def _set_pandas_cells(column: Any, cells: Mapping[int, Any]) -> Any:
    blanks = [row for row, value in cells.items() if value is None]
    filled = {row: value for row, value in cells.items() if value is not None}
    if blanks:
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iub":
            # NumPy integers and booleans have no missing value; pandas' own types do.
            column = column.convert_dtypes()
        # Numbers and dates take None alone for a missing value, but not in a list.
        column.iloc[blanks] = None
    if filled:
        column.iloc[list(filled)] = list(filled.values())
    return column


def _with(values: list[Any], cells: Mapping[int, Any]) -> list[Any]:
    """A column with some cells changed."""
    for row, value in cells.items():
        values[row] = value
    return values


def _set_polars(native: Any, name: str, values: list[Any]) -> Any:
    import polars as pl

    dtype = native[name].dtype
    if isinstance(dtype, pl.List | pl.Array):
        values, is_plain = _candidates(values)
        dtype = dtype.inner if is_plain else pl.List(dtype.inner)
    if dtype.is_integer() and any(isinstance(v, float) and not v.is_integer() for v in values):
        dtype = pl.Float64()
    return native.with_columns(pl.Series(name, values, dtype=dtype, strict=False))


def _set_arrow(native: Any, name: str, values: list[Any]) -> Any:
    position = native.schema.get_field_index(name)
    dtype = native.schema.field(position).type
    return native.set_column(position, name, _arrow_array(values, dtype))


def _arrow_array(values: list[Any], dtype: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_fixed_size_list(dtype):
        dtype = pa.list_(dtype.value_type)
    if pa.types.is_list(dtype) or pa.types.is_large_list(dtype):
        values, is_plain = _candidates(values)
        dtype = dtype.value_type if is_plain else dtype
    return pa.array(values, type=dtype)


def _candidates(values: list[Any]) -> tuple[list[Any], bool]:
    """The cells of a column of candidates, and whether they are plain values: where no list is left.

    Beside lists a value is a list of one. Left to a library, a text would be the list of its letters.
    """
    if not any(isinstance(value, list) for value in values):
        return values, True
    return [x if x is None or isinstance(x, list) else [x] for x in values], False


def native_frame(
    columns: dict[str, list[Any]], like: nw.DataFrame[Any] | None, *, same_rows: bool = True
) -> Any:
    """A frame of plain columns in the library of another, else of polars.

    Where it has the ``same_rows`` it also takes over the pandas index.
    """
    if like is None:
        import polars as pl

        texts = {name: pl.String for name in _TEXTS if name in columns}
        return pl.DataFrame(columns, schema_overrides=texts)
    made = nw.from_dict(columns, backend=like.implementation)
    if like.implementation.is_pandas_like() and same_rows:
        native = made.to_native()
        native.index = like.to_native().index
        return native
    return made.to_native()


def some_rows(frame: nw.DataFrame[Any] | None, places: NDArray[np.intp]) -> Any:
    """Some rows of a frame, if there is one."""
    return None if frame is None else frame[places.tolist()]
