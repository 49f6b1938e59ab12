"""Columns as plain arrays: in every library, short or long, the numbers and texts of their cells."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from nullproof.tables import series as reading
from nullproof.tables.kinds import read_series
from nullproof.tables.series import (
    declared_categories,
    factorized,
    is_date64,
    number_series,
    pandas_numbers,
    pandas_texts,
    ticks,
    ticks_of,
)
from nullproof.tables.spellings import Spellings

EPOCH = dt.datetime(1970, 1, 1)
# How many times the cells are repeated: some ways begin only with long columns.
TIMES = [1, 2000]


def of(native: Any) -> nw.Series[Any]:
    return nw.from_native(native, series_only=True)


def same(found: Any, expected: list[Any]) -> bool:
    """Whether numbers are equal as exact numbers, and NaN where None is expected."""
    cells = found.tolist()
    return len(cells) == len(expected) and all(
        math.isnan(cell)
        if wanted is None
        else cell == wanted == math.inf or Fraction(cell) == wanted
        for cell, wanted in zip(cells, expected, strict=True)
    )


NUMBERS: dict[str, tuple[Callable[[list[Any]], Any], list[Any]]] = {
    "polars, integers": (lambda cells: pl.Series(cells, dtype=pl.Int64), [3, None, -7]),
    "polars, large integers": (lambda cells: pl.Series(cells, dtype=pl.Int64), [2**53 + 1, None]),
    "polars, large below 0": (
        lambda cells: pl.Series(cells, dtype=pl.Int64),
        [-(2**53) - 1, None, 1],
    ),
    "polars, large, all known": (lambda cells: pl.Series(cells, dtype=pl.Int64), [2**53 + 1, 5]),
    "polars, 128 bits": (lambda cells: pl.Series(cells, dtype=pl.Int128), [2**100 + 1, None, 2]),
    "polars, 128 bits, all known": (lambda cells: pl.Series(cells, dtype=pl.Int128), [2**100 + 1]),
    "polars, infinite": (lambda cells: pl.Series(cells, dtype=pl.Float64), [math.inf, None, 0.1]),
    "polars, all null": (lambda cells: pl.Series(cells, dtype=pl.Int64), [None, None]),
    "polars, doubles": (lambda cells: pl.Series(cells, dtype=pl.Float64), [0.5, None, -2.0]),
    "polars, decimals": (
        lambda cells: pl.Series(cells, dtype=pl.Decimal(38, 2)),
        [Fraction(1, 4), None, Fraction(2**70 + 1)],
    ),
    "pandas, NumPy": (lambda cells: pd.Series(cells, dtype="int64"), [2**53 + 1, -4]),
    "pandas, NumPy's doubles": (lambda cells: pd.Series(cells, dtype="float64"), [0.5, None]),
    "pandas, nullable": (lambda cells: pd.Series(cells, dtype="Int64"), [2**53 + 1, None, -4]),
    "pandas, nullable and small": (lambda cells: pd.Series(cells, dtype="Int8"), [5, None, -4]),
    "pandas, Arrow": (lambda cells: pd.Series(cells, dtype="int64[pyarrow]"), [5, None, 2**60 + 1]),
    "pyarrow": (
        lambda cells: pa.chunked_array([pa.array(cells, pa.int64())]),
        [5, None, 2**60 + 1],
    ),
    "pyarrow, doubles": (
        lambda cells: pa.chunked_array([pa.array(cells, pa.float64())]),
        [0.5, None],
    ),
}


def as_python(cell: Any) -> Any:
    """A decimal for a fraction: what libraries take."""
    return Decimal(cell.numerator) / cell.denominator if isinstance(cell, Fraction) else cell


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("times", TIMES)
def test_numbers(name: str, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each known cell is its exact number, and each null NaN."""
    monkeypatch.setattr(reading, "_SHORT", 100)
    make, cells = NUMBERS[name]
    native = make([as_python(cell) for cell in cells] * times)
    assert same(number_series(of(native)), cells * times)
    if isinstance(native, pd.Series):
        plain = pandas_numbers(native)
        assert (plain is not None) == name.startswith("pandas, NumPy")
        assert plain is None or same(plain, cells * times)


@pytest.mark.parametrize(
    "make",
    [
        lambda cells: pl.Series(cells, dtype=pl.Float32),
        lambda cells: pd.Series(cells, dtype="Float32"),
        lambda cells: pa.chunked_array([pa.array(cells, pa.float32())]),
    ],
)
def test_single_precision(make: Callable[[list[Any]], Any]) -> None:
    """Numbers of single precision stay such, so that a decimal fraction named as missing is found."""
    series = of(make([0.1, None, 2.5]))
    assert (number_series(series) == 0.1).tolist() == [True, False, False]
    assert read_series(series, Spellings(("0.1",)), retype=True).known.tolist() == [
        False,
        False,
        True,
    ]


def test_no_integers_are_lost_of_nulls_alone() -> None:
    """Without a known cell there is no integer that doubles would mix up."""
    nulls = of(pl.Series([None, None], dtype=pl.Int64))
    assert not reading._loses_integers(nulls, nulls.dtype)


@pytest.mark.parametrize("dtype", ["boolean", "bool"])
def test_truths_as_numbers(dtype: str) -> None:
    """What is no number of NumPy's is read cell by cell."""
    assert same(number_series(of(pd.Series([True, False], dtype=dtype))), [1, 0])


# On both sides of 1970, and one that is null.
MOMENTS = [dt.datetime(2021, 3, 4, 5, 6, 7), None, dt.datetime(1905, 1, 1), EPOCH]


def since(moment: dt.datetime | None) -> int | None:
    return None if moment is None else (moment - EPOCH) // dt.timedelta(microseconds=1)


STAMPS: dict[str, Callable[[list[Any]], Any]] = {
    "polars, ms": lambda cells: pl.Series(cells, dtype=pl.Datetime("ms")),
    "polars, us": lambda cells: pl.Series(cells, dtype=pl.Datetime("us")),
    "polars, ns": lambda cells: pl.Series(cells, dtype=pl.Datetime("ns")),
    "pandas, s": lambda cells: pd.Series(cells, dtype="datetime64[s]"),
    "pandas, us": lambda cells: pd.Series(cells, dtype="datetime64[us]"),
    "pandas, ns": lambda cells: pd.Series(cells, dtype="datetime64[ns]"),
    "pandas, zone": lambda cells: pd.Series(
        [None if cell is None else cell.replace(tzinfo=dt.UTC) for cell in cells]
    ).dt.tz_convert("Asia/Tokyo"),
    "pandas, Arrow": lambda cells: pd.Series(cells, dtype="timestamp[us][pyarrow]"),
    "pyarrow, s": lambda cells: pa.chunked_array([pa.array(cells, pa.timestamp("s"))]),
    "pyarrow, ms": lambda cells: pa.chunked_array([pa.array(cells, pa.timestamp("ms"))]),
    "pyarrow, ns": lambda cells: pa.chunked_array([pa.array(cells, pa.timestamp("ns"))]),
}


@pytest.mark.parametrize("name", STAMPS)
def test_time_stamps(name: str) -> None:
    """A time stamp is its microseconds since 1970, in UTC."""
    assert same(ticks(of(STAMPS[name](MOMENTS))), [*map(since, MOMENTS)])


def test_years_beyond_those_of_python() -> None:
    """A column of seconds holds them, and each is its number."""
    seconds = np.array([10**12, 5]).astype("M8[s]")
    for native in (pd.Series(seconds), pa.chunked_array([pa.array(seconds)])):
        assert same(ticks(of(native)), [10**18, 5 * 10**6])


DAYS = [dt.date(2021, 3, 4), None, dt.date(1905, 1, 1)]
CLOCKS = [dt.time(1, 2, 3, 4), None, dt.time(23, 59)]
SPANS = [dt.timedelta(days=2, microseconds=3), None, -dt.timedelta(hours=1)]
DAY = 86_400_000_000
IN_DAYS = [DAY * 18690, None, -DAY * 23741]
IN_CLOCKS = [3_723_000_004, None, 86_340_000_000]
IN_SPANS = [2 * DAY + 3, None, -3_600_000_000]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: pl.Series(DAYS, dtype=pl.Date), IN_DAYS),
        (lambda: pa.chunked_array([pa.array(DAYS, pa.date32())]), IN_DAYS),
        (lambda: pa.chunked_array([pa.array(DAYS, pa.date64())]), IN_DAYS),
        (lambda: pl.Series(CLOCKS, dtype=pl.Time), IN_CLOCKS),
        (lambda: pa.chunked_array([pa.array(CLOCKS, pa.time64("us"))]), IN_CLOCKS),
        (lambda: pa.chunked_array([pa.array(CLOCKS[1:], pa.time32("s"))]), IN_CLOCKS[1:]),
        (lambda: pl.Series(SPANS, dtype=pl.Duration("us")), IN_SPANS),
        (lambda: pd.Series(SPANS, dtype="timedelta64[us]"), IN_SPANS),
        (lambda: pd.Series(SPANS, dtype="duration[ns][pyarrow]"), IN_SPANS),
        (lambda: pa.chunked_array([pa.array(SPANS, pa.duration("us"))]), IN_SPANS),
    ],
)
def test_days_clocks_and_spans(make: Callable[[], Any], expected: list[Any]) -> None:
    """A day is that of its midnight, a time of day that of 1970, and a duration its length."""
    assert same(ticks(of(make())), expected)


@pytest.mark.parametrize("dtype", ["object", "category"])
def test_days_that_pandas_keeps_as_objects(dtype: str) -> None:
    """They are read cell by cell."""
    assert same(ticks(of(pd.Series(DAYS, dtype=object).astype(dtype))), IN_DAYS)


# A thousand times the last one is 0 in 64 bits.
@pytest.mark.parametrize("n", [1, -1, 999, 1000, 1001, 10**15 + 1, -(10**15) - 7, 2**61])
def test_nanoseconds_are_kept(n: int) -> None:
    """A nanosecond is a thousandth of a microsecond, beside nulls and other time stamps."""
    expected = [Fraction(n, 1000), None, Fraction(2 * n, 1000)]
    whole = np.array([n, 0, 2 * n]).astype("M8[ns]")
    whole[1] = np.datetime64("NaT")
    assert same(ticks_of(whole), expected)
    assert same(ticks(of(pl.Series([n, None, 2 * n]).cast(pl.Datetime("ns")))), expected)


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.array(["1970-02", "1971-01", "NaT"], "M8[M]"), [31 * DAY, 365 * DAY, None]),
        (np.array(["1972", "1971"], "M8[Y]"), [730 * DAY, 365 * DAY]),
        (np.array([7, 9], "m8[10ns]"), [Fraction(7, 100), Fraction(9, 100)]),
        (np.array([100, 200], "m8[10ns]"), [1, 2]),
        (np.array([1000, 3000], "m8[10ns]"), [10, 30]),
        (np.array([3, 4], "m8[1500ns]"), [Fraction(9, 2), 6]),
        (np.array([2, -3], "m8[W]"), [14 * DAY, -21 * DAY]),
        (np.array([2_500, 999], "m8[ps]"), [Fraction(2, 1000), 0]),
        (np.array([2**62, 1], "m8[s]"), [2**62 * 10**6, 10**6]),
        (np.array([2**53 + 1, 1], "m8[us]"), [2**53 + 1, 1]),
        (np.array([-(2**53) - 1, 1], "m8[us]"), [-(2**53) - 1, 1]),
        (np.array([2**50 + 1, 1], "m8[ms]"), [2**50 * 1000 + 1000, 1000]),
        (np.array(["NaT", "NaT"], "m8[s]"), [None, None]),
    ],
)
def test_units_of_numpy(array: Any, expected: list[Any]) -> None:
    """Any unit and any multiple of it, beyond the years of Python too; finer than nanoseconds is cut."""
    assert same(ticks_of(array), expected)


WORDS = ["b", None, "a", "b", ""]
TEXTS: dict[str, Callable[[list[Any]], Any]] = {
    "polars": lambda cells: pl.Series(cells, dtype=pl.String),
    "polars, categories": lambda cells: pl.Series(cells, dtype=pl.Categorical),
    "polars, enum": lambda cells: pl.Series(cells, dtype=pl.Enum(["b", "never", "a", ""])),
    "pandas, objects": lambda cells: pd.Series(cells, dtype=object),
    "pandas, texts": lambda cells: pd.Series(cells, dtype="string[python]"),
    "pandas, Arrow's texts": lambda cells: pd.Series(cells, dtype="string[pyarrow]"),
    "pandas, Arrow": lambda cells: pd.Series(cells, dtype=pd.ArrowDtype(pa.string())),
    "pandas, categories": lambda cells: pd.Series(cells, dtype="category"),
    "pyarrow": lambda cells: pa.chunked_array([cells[:3], cells[3:]], pa.string()),
    "pyarrow, dictionary": lambda cells: pa.chunked_array(
        [pa.array(cells, pa.string()).dictionary_encode()]
    ),
    "pyarrow, null in the dictionary": lambda cells: pa.chunked_array(
        [pa.array(cells, pa.string()).dictionary_encode(null_encoding="encode")]
    ),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("times", TIMES)
def test_texts(name: str, times: int) -> None:
    """Each code stands for the text of its cell, and -1 for none."""
    codes, values = factorized(of(TEXTS[name](WORDS * times)))
    assert [None if code < 0 else values[code] for code in codes.tolist()] == WORDS * times
    assert {code for code in codes.tolist() if code < 0} == {-1}


def test_objects_beside_texts() -> None:
    """Whatever a cell of objects holds that is no null has its text."""
    codes, values = factorized(of(pd.Series(["a", 1, None, 2.5, "a"], dtype=object)))
    assert (codes.tolist(), values) == ([0, 1, -1, 2, 0], ["a", "1", "2.5"])


def test_texts_of_pandas() -> None:
    """Only columns of texts alone, or of categories, which come with those that are declared."""
    kind = pd.CategoricalDtype(["x", "never"])
    found = pandas_texts(pd.Series(["x", None], dtype=kind))
    assert found is not None
    assert (found[0].tolist(), *found[1:]) == ([0, -1], ["x", "never"], ["x", "never"])
    found = pandas_texts(pd.Series(["x", None], dtype="string[python]"))
    assert found is not None
    assert (found[0].tolist(), *found[1:]) == ([0, -1], ["x"], [])
    assert pandas_texts(pd.Series(["x", 1], dtype=object)) is None
    assert pandas_texts(pd.Series([1, 2])) is None


def test_declared_categories() -> None:
    """Those of a type that lists them, whether they occur or not."""
    kind = pd.CategoricalDtype(["x", 2, "never"])
    assert declared_categories(of(pd.Series(["x", 2], dtype=kind))) == ["x", "2", "never"]
    enum = pl.Enum(["x", "never"])
    assert declared_categories(of(pl.Series(["x", None], dtype=enum))) == ["x", "never"]
    assert declared_categories(of(pl.Series(["x"]))) == []
    assert declared_categories(of(pd.Series(["x"]))) == []
    assert declared_categories(of(pa.chunked_array([["x"]]))) == []


def test_days_in_milliseconds() -> None:
    """Arrow's own kind of day, also inside pandas."""
    days = pa.chunked_array([pa.array(DAYS, pa.date64())])
    assert is_date64(of(days))
    assert is_date64(of(pd.Series(pd.arrays.ArrowExtensionArray(days))))
    assert not is_date64(of(pa.chunked_array([pa.array(DAYS, pa.date32())])))
    assert not is_date64(of(pd.Series([1])))
