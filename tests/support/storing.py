"""A plain column as each library stores it: Arrow, pandas (NumPy, nullable, Arrow, objects), polars."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from support.plain_counter import DAY, Column

UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_PARTS = re.compile(r"(\w+)[\[(]([^,\])]+)(?:,([^\])]+))?[\])]")
_ARROW: dict[str, Any] = {
    "bool": pa.bool_(),
    "date64": pa.date64(),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
}
_NULLABLE = {
    "bool": "boolean",
    "float32": "Float32",
    "float64": "Float64",
    **{f"int{n}": f"Int{n}" for n in (8, 16, 32, 64)},
    **{f"uint{n}": f"UInt{n}" for n in (8, 16, 32, 64)},
}


class Uncarried(Exception):  # noqa: N818 - it is no error
    """A library has no such type, or no such cell in it; the message says why."""


def parts_of(stored: str) -> tuple[str, str, str]:
    """Take ``timestamp[ns,UTC]`` apart."""
    found = _PARTS.fullmatch(stored)
    return (found[1], found[2], found[3] or "") if found else (stored, "", "")


def counts_of(column: Column) -> list[int | None]:
    """Dates and times as numbers of the unit they are stored in."""
    unit = 1 if column.kind == "date" else UNITS[parts_of(column.stored)[1]]
    return [None if cell is None else cell // unit for cell in column.cells]


# Arrow -------------------------------------------------------------------------------------------


def arrow_type(stored: str) -> Any:
    """The type of Arrow that a column is stored as."""
    base, first, second = parts_of(stored)
    if base == "timestamp":
        return pa.timestamp(first, second or None)
    if base == "time":
        return pa.time32(first) if first in ("s", "ms") else pa.time64(first)
    if base == "decimal":
        return pa.decimal128(int(first), int(second))
    if stored == "enum":
        raise Uncarried("Arrow has no enums")
    return _ARROW.get(stored) or getattr(pa, stored)()


def arrow_array(column: Column) -> Any:
    """The column as Arrow stores it, NaN and null apart."""
    type_ = arrow_type(column.stored)
    if column.kind in ("date", "stamp", "time"):
        counts = counts_of(column)
        if column.stored == "date64":
            counts = [None if count is None else count * 86_400_000 for count in counts]
        return pa.array(counts, pa.int64()).cast(_plain_width(type_)).view(type_)
    if column.stored == "dictionary":
        words = [*dict.fromkeys(cell for cell in column.cells if cell is not None)]
        codes = [None if cell is None else words.index(cell) for cell in column.cells]
        return pa.DictionaryArray.from_arrays(
            pa.array(codes, pa.int32()), pa.array(words, pa.string())
        )
    cells = list(column.cells)
    if column.stored.startswith("decimal"):
        cells = [None if cell is None else Decimal(cell) for cell in cells]
    return pa.array(cells, type_, from_pandas=False)


def _plain_width(type_: Any) -> Any:
    return pa.int32() if type_.bit_width == 32 else pa.int64()


# Python ------------------------------------------------------------------------------------------


def python_cells(column: Column) -> list[Any]:
    """The cells as Python itself has them."""
    if column.stored == "enum":
        raise Uncarried("Python's texts declare no categories")
    return [None if cell is None else _python_cell(column, cell) for cell in column.cells]


def _python_cell(column: Column, cell: Any) -> Any:
    if column.kind == "date":
        return _python_stamp(cell * DAY).date()
    if column.kind == "stamp":
        zone = parts_of(column.stored)[2]
        moment = _python_stamp(cell)
        return moment.replace(tzinfo=dt.UTC) if zone else moment
    if column.kind == "time":
        return _python_stamp(cell).time()
    return cell


def _python_stamp(nanos: int) -> dt.datetime:
    return dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=nanos // 1000)


# pandas ------------------------------------------------------------------------------------------


def pandas_numpy(column: Column) -> Any:
    """A column of NumPy's own types; nothing else there can be missing than NaN and NaT."""
    if column.stored == "enum":
        return pd.Series(pd.Categorical(list(column.cells), categories=list(column.categories)))
    if column.stored == "dictionary":
        return pd.Series(list(column.cells), dtype="str")
    if column.kind == "stamp":
        return _pandas_stamps(column)
    if column.kind in ("integer", "float", "boolean"):
        if column.kind != "float" and None in column.cells:
            raise Uncarried("NumPy's integers and booleans are never missing")
        cells = [float("nan") if cell is None else cell for cell in column.cells]
        return pd.Series(np.array(cells, dtype=column.stored))
    return pandas_objects(column)


def _pandas_stamps(column: Column) -> Any:
    _, unit, zone = parts_of(column.stored)
    counts = [np.iinfo(np.int64).min if c is None else c for c in counts_of(column)]
    series = pd.Series(np.array(counts, dtype=np.int64).view(f"M8[{unit}]"))
    return series.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else series


def pandas_objects(column: Column) -> Any:
    """Python's own values, missing in every way that pandas knows."""
    holes = [None, pd.NA, float("nan"), pd.NaT]
    cells = python_cells(column)
    filled = [holes[row % 4] if cell is None else cell for row, cell in enumerate(cells)]
    made = np.empty(len(filled), dtype=object)
    made[:] = filled
    return pd.Series(made, dtype=object)


def pandas_nullable(column: Column) -> Any:
    """The nullable types of pandas; a float there may be NaN or NA."""
    if column.kind == "text":
        return pd.Series(list(column.cells), dtype="string")
    name = _NULLABLE.get(column.stored)
    if name is None:
        raise Uncarried("pandas has no nullable type of its own for it")
    mask = np.array([cell is None for cell in column.cells])
    cells = np.array([0 if cell is None else cell for cell in column.cells], dtype=column.stored)
    kinds = {"b": pd.arrays.BooleanArray, "f": pd.arrays.FloatingArray}
    return pd.Series(kinds.get(cells.dtype.kind, pd.arrays.IntegerArray)(cells, mask))


def pandas_arrow(column: Column) -> Any:
    """A column of pandas that Arrow stores."""
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([arrow_array(column)])))


# polars ------------------------------------------------------------------------------------------


def polars_series(column: Column) -> Any:
    """A column of polars; enums are its own."""
    if column.stored == "enum":
        return pl.Series(column.name, column.cells, dtype=pl.Enum(column.categories))
    if column.stored == "dictionary":
        return pl.Series(column.name, column.cells, dtype=pl.Categorical)
    series = pl.from_arrow(pa.table({column.name: arrow_array(column)}))
    assert isinstance(series, pl.DataFrame)
    return series.to_series()
