"""What a lazy column is grouped by where it is, and what comes back from there as a column.

Only comparisons, casts to numbers and ``CASE`` are asked of an engine. Texts of numbers and dates are
made here, since every engine writes them in its own way.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.errors import NullproofError
from nullproof.tables.bins import MISSING, doubles, places, rounded_down
from nullproof.tables.columns import Column, number_array
from nullproof.tables.kinds import boolean_column, number_column, read_series
from nullproof.tables.schema import Kind
from nullproof.tables.series import ARROW_TEXTS
from nullproof.tables.spellings import NOTHING_SPELLED, Spellings
from nullproof.tables.values import LARGEST_DOUBLE_INTEGER, Exact, at_microseconds, double, exact

_WHOLE = (nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32)
# What neither 64 bits nor doubles hold is fetched as text.
_HUGE = (nw.UInt64, nw.Int128, nw.UInt128, nw.Decimal)
_TEXT = (nw.String, nw.Categorical, nw.Enum)


@dataclass(frozen=True)
class LazyColumn:
    """A column of a lazy table: its name and type there, and which of its values mean missing."""

    name: str
    dtype: Any
    kind: Kind
    spellings: Spellings = NOTHING_SPELLED
    categories: tuple[str, ...] = ()
    engine: str = ""

    @property
    def steps(self) -> float:
        """The least distance of two different values on the number line; 0 if it is not known."""
        if self.dtype == nw.Date:
            return 86_400_000_000.0
        return 1.0 if self.dtype in _WHOLE else 0.0

    @property
    def number(self) -> nw.Expr:
        """The cells as numbers, or as the dates they are."""
        column = nw.col(self.name)
        if self.compares_stamps:
            return column.cast(nw.Datetime("us"))
        if self.kind == "date":
            return column.dt.convert_time_zone("UTC") if self._has_own_zone else column
        if self.dtype in (nw.Int128, nw.UInt128, nw.Decimal):
            # By way of their text: some engines do not round these to the nearest double.
            column = column.cast(nw.String)
        number = column if self.dtype == nw.Float64 else column.cast(nw.Float64)
        # Parquet files of polars 1 call pages with NaN empty. Spark skips such pages when it filters
        # by the column or looks for cells that are not null, but not when nulls become NaN first.
        return nw.coalesce(number, nw.lit(math.nan)) if self._nan_for_null else number

    @property
    def place(self) -> nw.Expr:
        """The cells as they are grouped to find edges: of all that lie at one place, the same."""
        if self.kind == "number":
            # Some engines know two zeros; one that is negative becomes the other.
            return self.number + 0.0
        return self.number.cast(nw.Datetime("us")) if self._has_nanoseconds else self.number

    @property
    def _has_nanoseconds(self) -> bool:
        return getattr(self.dtype, "time_unit", "") == "ns"

    @property
    def has_places(self) -> bool:
        """Whether the engine can group the cells by their place: all but polars round nanoseconds."""
        return self.engine == "polars" or not self._has_nanoseconds

    @property
    def known(self) -> nw.Expr:
        """Which cells are not missing; texts that spell missing are found later, among the groups."""
        if self._nan_for_null:
            known = ~self.number.is_nan()
        else:
            known = ~nw.col(self.name).is_null()
            if self.is_real:
                known = known & self._not_nan
        for number in self._numbers_missing:
            known = known & (self.number != number)
        return known

    @property
    def _has_own_zone(self) -> bool:
        """Whether it has a zone other than UTC in polars, which compares stamps of one zone only."""
        zone = self.dtype.time_zone if self.dtype == nw.Datetime else None
        return self.engine == "polars" and zone not in (None, "UTC")

    @property
    def can_be_binned(self) -> bool:
        """Whether the engine turns the cells into doubles or compares them with edges as they are.

        Dask does not turn decimals into doubles by way of their text, and gives a wrong greatest time
        stamp where one lies beyond the years that Python has. Missing cells that only we find among the
        values must not be in a bin.
        """
        if self.kind == "date" and self.spellings.moments:
            return False
        if len(self._numbers_missing) < len(self._numbers_named):
            return False
        return not (self.engine == "dask" and self.dtype in (nw.Decimal, nw.Datetime))

    @property
    def _not_nan(self) -> nw.Expr:
        # DuckDB 2.0 believes a file's statistics when they say that a column has no NaN, and answers
        # isnan(x) and x <> x from them; ibis writes isnan(x) even for is_finite.
        if self.engine == "duckdb":
            return self.number.is_finite() | self._infinite
        if self.engine == "ibis":
            return self.number.cast(nw.String).str.to_lowercase() != "nan"
        return ~self.number.is_nan()

    @property
    def _infinite(self) -> nw.Expr:
        return (self.number == math.inf) | (self.number == -math.inf)

    @property
    def is_real(self) -> bool:
        """Whether the column holds doubles or singles, and so may hold NaN and infinities."""
        return self.dtype is not None and bool(self.dtype.is_float())

    @property
    def compares_stamps(self) -> bool:
        """Whether days must be compared with time stamps: Dask with pandas 2 takes a day for a text."""
        return self.dtype == nw.Date and self.engine == "dask"

    @property
    def _nan_for_null(self) -> bool:
        return self.is_real and self.engine.startswith("pyspark")

    @property
    def only_nulls(self) -> bool:
        """Whether every cell that is not null is a finite value."""
        return not self.is_real and not self._numbers_missing

    @property
    def finite(self) -> nw.Expr:
        """Which cells have a place among the edges of bins."""
        return self.known & ~self._infinite if self.is_real else self.known

    @property
    def _numbers_named(self) -> list[int | float]:
        return self.spellings.numbers if self.kind == "number" else []

    @property
    def _numbers_missing(self) -> list[int | float]:
        """The named numbers that the engine finds: doubles mix large integers up, which are found here."""
        numbers = [
            n
            for n in self._numbers_named
            if abs(n) < LARGEST_DOUBLE_INTEGER or (self.is_real and double(n) == n)
        ]
        if self.dtype == nw.Float32 or str(self.dtype) == "Float16":
            # In memory, too, a spelling is rounded as the column's cells were.
            rounded = np.float32 if self.dtype == nw.Float32 else np.float16
            return [float(rounded(n)) for n in numbers]
        return numbers


@dataclass(frozen=True)
class Key:
    """What a column is grouped by, and the type of that: keys of one type share a query.

    ``with_holes`` tells that missing cells have a group of their own, null or -1, so that no query
    for the rows of each label is needed. ``number`` is what the least and the greatest of each group are
    wanted of, and ``only`` the rows to look at, if these are not the known ones.
    """

    column: LazyColumn
    value: nw.Expr
    type: Any
    edges: tuple[float, ...] = ()
    with_holes: bool = False
    number: nw.Expr | None = None
    only: nw.Expr | None = None

    @property
    def rows(self) -> nw.Expr:
        """The rows to look at."""
        return self.column.known if self.only is None else self.only

    @property
    def sort(self) -> str:
        """What must be the same for two keys to share a query."""
        if self.number is None:
            return str(self.type)
        kind = nw.Float64 if self.column.kind == "number" else self.column.dtype
        return f"{self.type} and {kind}"


def lazy_column(
    frame: nw.LazyFrame[Any], name: str, dtype: Any, spellings: Spellings = NOTHING_SPELLED
) -> LazyColumn:
    """Look at the type of a column, and refuse what cannot be counted where it is."""
    engine = frame.implementation.name.lower()
    categories: tuple[str, ...] = ()
    if dtype == nw.Enum:
        categories = tuple(dtype.categories)
    elif dtype == nw.Categorical and frame.implementation.is_dask():
        categories = _dask_categories(frame.to_native()[name], name)
    return LazyColumn(name, dtype, _kind(name, dtype, engine), spellings, categories, engine)


def _dask_categories(native: Any, name: str) -> tuple[str, ...]:
    """The categories that are declared; Dask writes others than texts in its own way: they are refused."""
    if not hasattr(native.dtype, "categories"):
        are_texts = str(native.dtype.pyarrow_dtype.value_type) in ARROW_TEXTS
        found: tuple[str, ...] = ()
    else:
        # Unknown ones are those of all partitions, which takes a look at each, and declare nothing.
        known = native if native.cat.known else native.cat.as_known()
        are_texts = all(isinstance(value, str) for value in known.cat.categories)
        found = tuple(native.cat.categories) if native.cat.known else ()
    if not are_texts:
        raise _uncountable(name, "Categorical of other things than texts", "dask")
    return found


def _kind(name: str, dtype: Any, engine: str) -> Kind:
    if dtype in (*_WHOLE, *_HUGE) or dtype.is_float():
        return "number"
    if dtype == nw.Date or dtype == nw.Datetime:
        return "date"
    if dtype == nw.Boolean:
        return "boolean"
    if dtype in _TEXT or dtype == nw.Time:
        return "category"
    raise _uncountable(name, dtype, engine)


def _uncountable(name: str, dtype: Any, engine: str) -> NullproofError:
    return NullproofError(
        f"column {name!r} has type {dtype}, which cannot be counted in {engine}; "
        "cast it to text, numbers or dates there, or leave it out with ignore"
    )


def value_key(column: LazyColumn) -> Key:
    """Group by the values themselves."""
    cell = nw.col(column.name)
    if column.kind == "boolean":
        return Key(column, _or_hole(column, _one_if(cell)), nw.Int64, with_holes=True)
    if column.kind == "date":
        return Key(column, cell if column.compares_stamps else column.number, column.dtype)
    if column.dtype == nw.Time:
        return Key(column, cell, column.dtype)
    if column.dtype in _WHOLE:
        return Key(column, cell.cast(nw.Int64), nw.Int64)
    if column.is_real:
        # Dask cannot group by two zeros; one that is negative becomes the other.
        return Key(column, column.number + 0.0, nw.Float64)
    if column.dtype in _HUGE:
        return Key(column, cell.cast(nw.String), nw.String)
    text = cell if column.dtype == nw.String else cell.cast(nw.String)
    return Key(column, text, nw.String, with_holes=True)


def in_python_years(edges: Sequence[float]) -> bool:
    """Whether an engine can be given the edges of dates to compare with."""
    # A second later, since time stamps of whole seconds are compared with the next one.
    return all(
        isinstance(at_microseconds(math.ceil(edge) + 1_000_000), dt.datetime)
        for edge in edges[1:-1]
    )


def bin_key(column: LazyColumn, edges: Sequence[float]) -> Key:
    """Group by the number of inner edges not above the cell, as `nullproof.tables.bins.bin_codes` does."""
    steps = [_one_if(column.number >= _literal(column, edge)) for edge in edges[1:-1]]
    total = steps[0] if steps else nw.lit(0)
    for step in steps[1:]:
        total = total + step
    return Key(column, _or_hole(column, total), nw.Int64, tuple(edges), with_holes=True)


def new_bin_key(column: LazyColumn, edges: Sequence[float]) -> Key:
    """The same, with the least and the greatest cell of each bin, for bins that are to be written."""
    return replace(bin_key(column, edges), number=column.number)


def _one_if(condition: nw.Expr) -> nw.Expr:
    # Postgres casts no boolean to a number.
    return nw.when(condition).then(nw.lit(1)).otherwise(nw.lit(0))


def _or_hole(column: LazyColumn, code: nw.Expr) -> nw.Expr:
    return nw.when(column.known).then(code).otherwise(nw.lit(MISSING)).cast(nw.Int64)


def _literal(column: LazyColumn, edge: float) -> Any:
    """An edge in the type of the column: of time stamps, the next one that the type has."""
    if column.kind == "number":
        return edge
    unit = {"ms": 1_000, "s": 1_000_000}.get(getattr(column.dtype, "time_unit", ""), 1)
    when = at_microseconds(-(-math.ceil(edge) // unit) * unit)
    if column.dtype == nw.Date and not column.compares_stamps:
        day = when.date()
        return nw.lit(day if dt.datetime.combine(day, dt.time()) == when else day + dt.timedelta(1))
    zone = column.dtype.time_zone if column.dtype == nw.Datetime else None
    if column.engine.startswith("pyspark"):
        # As text: Spark takes a plain time stamp to be in the session's time zone, and hands one with a
        # zone over by way of the local time, which Python does not have right in the first years.
        written = when.isoformat(sep=" ") + ("" if zone is None else "+00:00")
        return nw.lit(written).cast(nw.Datetime("us", zone))
    if zone is not None:
        return nw.lit(when.replace(tzinfo=dt.UTC))
    return nw.lit(when)


def collected(frame: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    """Bring a small result here."""
    return frame.collect("polars")


def numbers_of(series: nw.Series[Any]) -> NDArray[Any]:
    """Numbers or moments, as they came from an engine, on the line that bins cut."""
    found = read_series(series, NOTHING_SPELLED, retype=False)
    assert found.numbers is not None
    return doubles(places(found.numbers, found.kind))


def places_of(series: nw.Series[Any]) -> NDArray[np.float64]:
    """The same as `nullproof.tables.bins.line` has them."""
    found = read_series(series, NOTHING_SPELLED, retype=False)
    assert found.numbers is not None
    return rounded_down(places(found.numbers, found.kind))


def shown_places(series: nw.Series[Any]) -> list[Any]:
    """The same as numbers of Python: doubles, or whole microseconds of moments."""
    found = read_series(series, NOTHING_SPELLED, retype=False)
    assert found.numbers is not None
    cells: list[Any] = places(found.numbers, found.kind).tolist()
    return [int(cell) for cell in cells] if found.kind == "date" else cells


def column_of(key: Key, values: nw.Series[Any], *, retype: bool, holes: bool = False) -> Column:
    """The groups of a column as a column of their own, read as the same cells in memory would be.

    Parameters
    ----------
    retype
        Whether the column comes from a text file.
    holes
        Whether it has missing cells besides these groups.
    """
    column = key.column
    if column.kind == "boolean":
        codes = values.to_numpy().astype(np.int8)
        return boolean_column(column.name, codes, column.spellings)
    if column.kind == "number":
        is_huge = column.dtype in _HUGE
        numbers = number_array(_huge_numbers(values)) if is_huge else values.to_numpy()
        return number_column(column.name, numbers, column.spellings)
    if column.categories:
        values = values.cast(nw.Enum(column.categories))
    spellings = column.spellings.in_files if retype else column.spellings
    read = read_series(values, spellings, retype=retype and spellings.retypes, holes=holes)
    read.name = column.name
    return read


def _huge_numbers(values: nw.Series[Any]) -> list[Exact]:
    return [exact(decimal.Decimal(cell)) for cell in values.to_list()]
