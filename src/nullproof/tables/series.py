"""One column of a data frame as plain arrays, by each library's own fastest way.

Nothing is lost on the way: integers with nulls do not become floats that mix them up, time stamps
keep their nanoseconds, and dates may lie beyond the years that Python has.
"""

from __future__ import annotations

import math
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.tables.bins import MISSING
from nullproof.tables.columns import number_array
from nullproof.tables.values import (
    LARGEST_DOUBLE_INTEGER,
    NANOSECONDS,
    duration,
    exact,
    is_missing,
    microseconds,
    moment,
    text,
)

# Up to so many cells a query of polars, or pandas' or pyarrow's own way, takes longer than its work.
_SHORT = 50_000
_FEW = 5_000
_VERY_FEW = 300
_WIDE = (nw.Int128, nw.UInt128, nw.Decimal)
# Types of pandas' columns, of NumPy and of its own.
_NUMBERS = frozenset(map(np.dtype, ("b", "h", "i", "q", "B", "H", "I", "Q", "f", "d")))
_TEXTS = ("str", "string")
ARROW_TEXTS = ("string", "large_string", "string_view")


def pandas_numbers(native: Any) -> NDArray[Any] | None:
    """A column of pandas as numbers if it has one of NumPy's types, of which no integer is null."""
    return native.to_numpy() if native.dtype in _NUMBERS else None


def pandas_texts(native: Any) -> tuple[NDArray[Any], list[str], list[str]] | None:
    """Codes and values of texts as `factorized`, and the categories that the type declares.

    None if the type is neither one of categories nor one of texts alone.
    """
    dtype = native.dtype
    if hasattr(dtype, "categories"):
        values = [text(value) for value in dtype.categories.tolist()]
        return native.array.codes, values, values
    return (*_factorized_pandas(native), []) if dtype.name in _TEXTS else None


def unmasked(array: NDArray[Any]) -> NDArray[Any]:
    """A plain array: what is masked is missing, as NaN, NaT or None."""
    if not isinstance(array, np.ma.MaskedArray):
        return np.asarray(array)
    mask = np.ma.getmaskarray(array)
    if array.dtype.kind in "fmM":
        hole = math.nan if array.dtype.kind == "f" else "NaT"
        return np.where(mask, np.array(hole, dtype=array.dtype), array.data)
    found = np.array(array.data, dtype=object)
    found[mask] = None
    return found


def mixes_kinds(series: nw.Series[Any]) -> bool:
    """Whether cells of a column of texts are none: of pandas' objects narwhals looks at the first alone."""
    native: Any = series.to_native()
    if not isinstance(getattr(native, "dtype", None), np.dtype):
        return False
    from pandas.api.types import infer_dtype

    return bool(infer_dtype(native, skipna=True) != "string")


def decoded(series: nw.Series[Any]) -> nw.Series[Any] | None:
    """The values of a column that is an Arrow dictionary; None for those of texts, and other columns."""
    native: Any = series.to_native()
    if hasattr(getattr(native, "dtype", None), "pyarrow_dtype"):
        native = native.array.__arrow_array__()
    elif not series.implementation.is_pyarrow():
        return None
    values = native.type.value_type
    if str(values) in ARROW_TEXTS:
        return None
    plain: nw.Series[Any] = nw.from_native(native.cast(values), series_only=True)
    return plain.alias(series.name)


def number_series(series: nw.Series[Any]) -> NDArray[Any]:
    """The column as numbers, NaN where it is null."""
    native = series.to_native()
    if isinstance(getattr(native, "dtype", None), np.dtype):
        # Of NumPy's own types no integer is null.
        return _plain_numbers(series)
    # To ask for the type costs more than a short column.
    dtype = series.dtype
    if dtype in _WIDE or _loses_integers(series, dtype):
        cells = series.to_list()
        return number_array([None if is_missing(cell) else exact(cell) for cell in cells])
    if series.implementation.is_polars() and dtype.is_float() and len(series) > _SHORT:
        # Twice as fast as to let polars turn nulls into NaN on the way to NumPy.
        series = series.fill_null(math.nan)
    return _plain_numbers(series)


def _plain_numbers(series: nw.Series[Any]) -> NDArray[Any]:
    array = series.to_numpy()
    if array.dtype.kind in "iuf":
        return array
    cells = [math.nan if is_missing(cell) else float(cell) for cell in series.to_list()]
    return np.array(cells, dtype=np.float64)


def _loses_integers(series: nw.Series[Any], dtype: Any) -> bool:
    """Whether integers have nulls beside them and are too large for the doubles that NaN needs."""
    if not dtype.is_integer() or not series.null_count():
        return False
    known = series.drop_nulls()
    if not len(known):
        return False
    return max(int(known.max()), -int(known.min())) > LARGEST_DOUBLE_INTEGER


def ticks(series: nw.Series[Any]) -> NDArray[Any]:
    """Dates, time stamps, durations or times of day as exact microseconds, NaN where null."""
    found = _whole_ticks(series)
    if found is None:
        read = duration if series.dtype == nw.Duration else moment
        return number_array([None if is_missing(c) else read(c) for c in series.to_list()])
    return _in_microseconds(*found)


def ticks_of(array: NDArray[Any]) -> NDArray[Any]:
    """The same for an array of NumPy's time stamps or durations."""
    unit, count = np.datetime_data(array.dtype)
    if unit not in NANOSECONDS:
        # Months and years begin on a day; what is finer than nanoseconds is cut.
        unit, count = "D" if unit in "YM" else "ns", 1
        array = array.astype(f"{array.dtype.kind}8[{unit}]")
    return _in_microseconds(array.astype(np.int64), np.isnat(array), unit, count)


def is_date64(series: nw.Series[Any]) -> bool:
    """Whether a column is of Arrow's days in milliseconds, for which narwhals has no type."""
    native: Any = series.to_native()
    kind = getattr(native.dtype, "pyarrow_dtype", "") if hasattr(native, "dtype") else native.type
    return str(kind) in ("date64", "date64[ms]")


def _whole_ticks(
    series: nw.Series[Any],
) -> tuple[NDArray[np.int64], NDArray[np.bool_], str] | None:
    """The integers behind a column of times, which of them are null, and their unit."""
    native: Any = series.to_native()
    dtype: Any = series.dtype
    if series.implementation.is_polars():
        whole = native.to_physical()
        unit = "D" if dtype == nw.Date else "ns" if dtype == nw.Time else dtype.time_unit
        return whole.fill_null(0).to_numpy().astype(np.int64), native.is_null().to_numpy(), unit
    if series.implementation.is_pandas_like():
        if isinstance(native.dtype, np.dtype) or hasattr(native.dtype, "tz"):
            return _pandas_ticks(native)
        if not hasattr(native.dtype, "pyarrow_dtype"):
            return None
        native = native.array.__arrow_array__()
    return _arrow_ticks(native)


def _pandas_ticks(native: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_], str] | None:
    if getattr(native.dtype, "tz", None) is not None:
        native = native.dt.tz_convert("UTC").dt.tz_localize(None)
    array = native.to_numpy()
    if array.dtype.kind not in "mM":
        return None
    unit = np.datetime_data(array.dtype)[0]
    return array.astype(np.int64), np.isnat(array), unit


def _arrow_ticks(array: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_], str]:
    import pyarrow as pa

    if pa.types.is_date64(array.type):
        array = array.cast(pa.timestamp("ms"))
    narrow = pa.types.is_date32(array.type) or pa.types.is_time32(array.type)
    whole = array.cast(pa.int32() if narrow else pa.int64()).fill_null(0)
    unit = "D" if pa.types.is_date32(array.type) else array.type.unit
    return whole.to_numpy().astype(np.int64), array.is_null().to_numpy(), unit


def _in_microseconds(
    whole: NDArray[np.int64], null: NDArray[np.bool_], unit: str, count: int = 1
) -> NDArray[Any]:
    """Integers of some unit as microseconds: doubles where those are exact, else Python's numbers."""
    known = whole[~null]
    if not len(known):
        return np.full(len(whole), math.nan)
    per_tick, rest = divmod(NANOSECONDS[unit] * count, 1000)
    largest = max(int(known.max()), -int(known.min()))
    if not rest and largest * per_tick <= LARGEST_DOUBLE_INTEGER:
        return np.where(null, math.nan, whole * float(per_tick))
    if rest and not (known % 1000).any():
        return _in_microseconds(np.where(null, 0, whole // 1000), null, "us", count)
    cells = zip(whole.tolist(), null.tolist(), strict=True)
    return number_array([None if hole else microseconds(x * count, unit) for x, hole in cells])


def factorized(series: nw.Series[Any]) -> tuple[NDArray[Any], list[str]]:
    """Texts as codes, -1 where null, and the values that these stand for."""
    native = series.to_native()
    if series.implementation.is_polars():
        return _factorized_polars(native)
    if not series.implementation.is_pandas_like():
        return _factorized_arrow(native)
    found = pandas_texts(native)
    return _factorized_pandas(native) if found is None else found[:2]


def _factorized_pandas(native: Any) -> tuple[NDArray[Any], list[str]]:
    dtype = native.dtype
    if hasattr(dtype, "pyarrow_dtype") or getattr(dtype, "storage", None) == "pyarrow":
        return _factorized_arrow(native.array.__arrow_array__())
    if len(native) < _FEW:
        # pandas' own way takes a while to begin.
        return _factorized_cells(native.tolist())
    codes, values = native.factorize()
    return codes, [text(value) for value in values]


def _factorized_cells(cells: list[Any]) -> tuple[NDArray[np.int32], list[str]]:
    places: dict[Any, int] = dict.fromkeys(cells, MISSING)
    values = [value for value in places if isinstance(value, str) or not is_missing(value)]
    places.update(zip(values, range(len(values)), strict=True))
    codes = np.array([*map(places.__getitem__, cells)], dtype=np.int32)
    return codes, [text(value) for value in values]


def _factorized_arrow(array: Any) -> tuple[NDArray[Any], list[str]]:
    if len(array) < _VERY_FEW:
        return _factorized_cells(array.to_pylist())
    encoded = array.combine_chunks() if hasattr(array, "combine_chunks") else array
    if not hasattr(encoded, "indices"):
        encoded = encoded.dictionary_encode()
    places = encoded.indices.cast("int32")
    codes = (places.fill_null(MISSING) if places.null_count else places).to_numpy()
    values = encoded.dictionary.to_pylist()
    holes = [code for code, value in enumerate(values) if value is None]
    if holes:
        codes = np.where(np.isin(codes, holes), MISSING, codes)
    return codes, ["" if value is None else text(value) for value in values]


def declared_categories(series: nw.Series[Any]) -> list[str]:
    """The categories that the type of a column declares, whether cells hold them or not."""
    native = series.to_native()
    if series.implementation.is_pandas_like() and hasattr(native.dtype, "categories"):
        return [text(value) for value in native.cat.categories]
    if series.implementation.is_polars() and series.dtype == nw.Enum:
        return [*native.dtype.categories]
    return []


def _factorized_polars(series: Any) -> tuple[NDArray[Any], list[str]]:
    import polars as pl

    distinct = series.drop_nulls().unique()
    if series.dtype == pl.Categorical:
        # Physical codes are shared by all columns of the process: keep only those used here.
        physical = distinct.to_physical().to_numpy()
        order = np.argsort(physical)
        codes = np.searchsorted(physical[order], series.to_physical().fill_null(0).to_numpy())
        codes[series.is_null().to_numpy()] = MISSING
        texts = distinct.cast(pl.String).to_list()
        return codes, [texts[i] for i in order]
    if series.dtype == pl.String:
        series = series.cast(pl.Enum(distinct))
    codes = series.to_physical().cast(pl.Int32).fill_null(MISSING).to_numpy()
    return codes, series.dtype.categories.to_list()
