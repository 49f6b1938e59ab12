"""Change cells of a table and keep everything else: its library, types, columns, rows and order."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.tables.values import Exact, as_number, double, exact, is_number, moment, text

# Columns of results that hold text even where they hold nothing but None.
_TEXTS = ("key", "label", "likeliest", "not_worked_out", "predicted", "rival")
Changes = Mapping[str, Mapping[int, Any]]


def set_cells(frame: nw.DataFrame[Any], changes: Changes) -> Any:
    """Return the native frame with new values at some rows of some columns; None blanks a cell."""
    changes = {
        name: {row: held(x, frame[name].dtype) for row, x in cells.items()}
        for name, cells in changes.items()
        if cells
    }
    native = frame.to_native()
    if frame.implementation.is_pandas_like():
        return _set_pandas(native, changes)
    for name, cells in changes.items():
        is_polars = frame.implementation.is_polars()
        native = (_set_polars if is_polars else _set_arrow)(native, name, cells)
    return native


def held(value: Any, dtype: Any) -> Any:
    """A value as a column of this type takes it: as text, in a zone, as a duration or a decimal."""
    if value is None or isinstance(value, list):
        return value
    if dtype == nw.String:
        return text(value)
    if isinstance(value, str) and dtype == nw.Time:
        return dt.time.fromisoformat(value)
    if isinstance(value, str) and dtype.is_numeric():
        return held(as_number(value), dtype)
    if isinstance(value, dt.datetime) and dtype in (nw.Date, nw.Datetime):
        return _at_home(value, getattr(dtype, "time_zone", None))
    if is_number(value):
        number = exact(value)
        if dtype == nw.Decimal:
            return decimal.Decimal(text(number))
        if dtype == nw.Duration:
            return dt.timedelta(microseconds=float(number))
        if dtype.is_float():
            return double(number)
        return int(text(number)) if _is_whole(number) else number
    return value


def _is_whole(number: Exact) -> bool:
    return isinstance(number, int) or (isinstance(number, float) and number.is_integer())


def _at_home(value: dt.datetime, zone: str | None) -> dt.datetime:
    """A moment with a zone where the column has one, else in UTC without."""
    if value.tzinfo is None:
        return value.replace(tzinfo=dt.UTC) if zone else value
    return value if zone else value.astimezone(dt.UTC).replace(tzinfo=None)


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
        column = _wide_enough(column, filled.values())
        column.iloc[list(filled)] = _own_categories(column, filled.values())
    return column


def _wide_enough(column: Any, values: Iterable[Any]) -> Any:
    """A column of whole numbers or days with a type that holds these too."""
    dtype = nw.from_native(column, series_only=True).dtype
    if dtype == nw.Date and any(map(_has_time, values)):
        return column.astype("timestamp[us][pyarrow]")
    if not dtype.is_integer():
        return column
    if any(isinstance(value, float) for value in values):
        return column.astype("Float64")
    kind = np.dtype(getattr(column.dtype, "numpy_dtype", column.dtype))
    ends = np.iinfo(kind)
    beyond = any(not ends.min <= value <= ends.max for value in values)
    return column.astype("Int64") if beyond else column


def _own_categories(column: Any, values: Iterable[Any]) -> list[Any]:
    """Values as the categories of the column's type, which may be numbers where values are texts."""
    own = {text(x): x for x in getattr(column.dtype, "categories", ())}
    return [own.get(text(value), value) for value in values] if own else list(values)


def _with(values: list[Any], cells: Mapping[int, Any]) -> list[Any]:
    """A column with some cells changed."""
    for row, value in cells.items():
        values[row] = value
    return values


def _set_polars(native: Any, name: str, cells: Mapping[int, Any]) -> Any:
    import polars as pl

    column = native[name]
    dtype = column.dtype
    if isinstance(dtype, pl.Object):
        return native.with_columns(pl.Series(name, _with(column.to_list(), cells), dtype=dtype))
    if isinstance(dtype, pl.List | pl.Array):
        values, is_plain = _candidates(_with(column.to_list(), cells))
        dtype = dtype.inner if is_plain else pl.List(dtype.inner)
        return native.with_columns(pl.Series(name, values, dtype=dtype, strict=False))
    # The other cells stay as they are: as Python's own they would lose their nanoseconds.
    new = _polars_cells(name, [*cells.values()], dtype)
    both = pl.concat([column.to_frame(), new.to_frame()], how="vertical_relaxed").to_series()
    places = np.arange(len(column))
    places[[*cells]] = np.arange(len(column), len(both))
    return native.with_columns(both.gather(places))


def _polars_cells(name: str, values: list[Any], dtype: Any) -> Any:
    """A short column of some type, or of a wider one where that does not hold all values."""
    import polars as pl

    if dtype == pl.Date or dtype == pl.Datetime:
        return _polars_moments(name, values, dtype)
    try:
        own = pl.Series(name, values, dtype=dtype)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return pl.Series(name, values)
    wide = dtype.is_decimal() and own.to_list() != values
    return pl.Series(name, values) if wide else own


def _polars_moments(name: str, values: list[Any], dtype: Any) -> Any:
    import polars as pl

    moments = [None if value is None else moment(value) for value in values]
    fine = any(isinstance(x, Fraction) for x in moments)
    ticks = [None if x is None else int(x * 1000) if fine else x for x in moments]
    exactly = pl.Datetime("ns" if fine else "us", getattr(dtype, "time_zone", None))
    found = pl.Series(name, ticks, dtype=pl.Int64).cast(exactly)
    own = found.cast(dtype)
    return own if own.cast(exactly).equals(found) else found


def _set_arrow(native: Any, name: str, cells: Mapping[int, Any]) -> Any:
    position = native.schema.get_field_index(name)
    dtype = native.schema.field(position).type
    values = _with(native[name].to_pylist(), cells)
    return native.set_column(position, name, _arrow_array(values, dtype))


def _arrow_array(values: list[Any], dtype: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_fixed_size_list(dtype):
        dtype = pa.list_(dtype.value_type)
    if pa.types.is_list(dtype) or pa.types.is_large_list(dtype):
        values, is_plain = _candidates(values)
        dtype = dtype.value_type if is_plain else dtype
    if pa.types.is_integer(dtype) and any(isinstance(value, float) for value in values):
        dtype = pa.float64()
    if pa.types.is_date(dtype) and any(map(_has_time, values)):
        # Days and moments side by side are no column of Arrow.
        values = [None if x is None else np.datetime64(x, "us") for x in values]
        dtype = pa.timestamp("us")
    try:
        return pa.array(values, type=dtype)
    except (pa.ArrowInvalid, OverflowError):
        # A type that is too narrow for one of them.
        return pa.array(values)


def _has_time(value: Any) -> bool:
    return isinstance(value, dt.datetime) and value.time() != dt.time()


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
