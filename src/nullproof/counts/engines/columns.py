"""What a lazy column is grouped by where it is, and what comes back from there as a column.

Only comparisons, casts to numbers and ``CASE`` are asked of an engine. Texts of numbers and dates are
made here, since every engine writes them in its own way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.counts.count import Counts
from nullproof.data.keys import known_label_codes
from nullproof.data.missing import NOTHING_SPELLED, Rule
from nullproof.data.schema import Schema
from nullproof.data.sources import read_column
from nullproof.data.texts import format_named, type_texts
from nullproof.data.types import LARGEST_DOUBLE_INTEGER, Column, Kind, to_kind
from nullproof.errors import NullproofError

_WHOLE = (nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32)
# Integers that may be beyond 64 bits; an engine says so when it casts them.
_HUGE = (nw.UInt64, nw.Int128, nw.UInt128)
_TEXT = (nw.String, nw.Categorical, nw.Enum)


@dataclass(frozen=True)
class LazyColumn:
    """A column of a lazy table: its name and type there, and which of its values mean missing.

    ``from_text`` says that texts which are all numbers or dates are such, written in a ``format``.
    """

    name: str
    dtype: Any
    kind: Kind
    rule: Rule = NOTHING_SPELLED
    categories: tuple[str, ...] = ()
    engine: str = ""
    from_text: bool = False
    format: str | None = None

    @property
    def is_real(self) -> bool:
        """Whether the column holds doubles or singles, and so may hold NaN and infinities."""
        return bool(self.dtype.is_float())

    @property
    def is_whole(self) -> bool:
        """Whether the column holds integers."""
        return self.dtype in _WHOLE or self.dtype in _HUGE

    @property
    def number(self) -> nw.Expr:
        """The cells as doubles."""
        column = nw.col(self.name)
        if self.dtype == nw.Decimal:
            # By way of their text: some engines do not round these to the nearest double.
            column = column.cast(nw.String)
        number = column if self.dtype == nw.Float64 else column.cast(nw.Float64)
        # Parquet files of polars 1 call pages with NaN empty. Spark skips such pages when it filters
        # by the column or looks for cells that are not null, but not when nulls become NaN first.
        return nw.coalesce(number, nw.lit(math.nan)) if self._nan_for_null else number

    @property
    def place(self) -> nw.Expr:
        """The cells as they are grouped: a negative zero becomes the other one."""
        return self.number + 0.0

    @property
    def known(self) -> nw.Expr:
        """Which cells are not missing; texts that spell missing are found later, among the groups."""
        if self._nan_for_null:
            known = ~self.number.is_nan()
        else:
            known = ~nw.col(self.name).is_null()
            if self.is_real:
                known = known & self._not_nan
        for number in self._named:
            known = known & (self.number != number)
        return known

    @property
    def finite(self) -> nw.Expr:
        """Which cells have a place among the edges of bins."""
        return self.known & ~self._infinite if self.is_real else self.known

    @property
    def only_nulls(self) -> bool:
        """Whether every cell that is not null is a finite number."""
        return not self.is_real and not self._named

    @property
    def can_be_binned(self) -> bool:
        """Whether the engine can put the cells into bins; others are counted by value, and binned here.

        Dates are, since engines reckon with moments in different ways; so are numbers of which we must
        find the missing ones among the values, and decimals in Dask, which has no texts of them.
        """
        large = [n for n in self.rule.numbers if abs(n) >= LARGEST_DOUBLE_INTEGER]
        odd = self.engine == "dask" and self.dtype == nw.Decimal
        return self.kind == "number" and not large and not odd

    @property
    def _named(self) -> list[int | float]:
        """The named numbers that the engine finds; larger ones, which doubles mix up, are found here."""
        named = self.rule.numbers if self.kind == "number" else []
        found = [n for n in named if abs(n) < LARGEST_DOUBLE_INTEGER]
        return [float(np.float32(n)) for n in found] if self.dtype == nw.Float32 else found

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
    def _nan_for_null(self) -> bool:
        return self.is_real and self.engine.startswith("pyspark")


def lazy_column(
    frame: nw.LazyFrame[Any], name: str, dtype: Any, rule: Rule, from_text: bool = False
) -> LazyColumn:
    """Look at the type of a column, and reject what cannot be counted where it is."""
    engine = frame.implementation.name.lower()
    categories: tuple[str, ...] = ()
    if dtype == nw.Enum:
        categories = tuple(dtype.categories)
    elif dtype == nw.Categorical and frame.implementation.is_dask():
        categories = _dask_categories(frame.to_native()[name], name)
    if dtype in (*_WHOLE, *_HUGE, nw.Decimal) or dtype.is_float():
        kind: Kind = "number"
    elif dtype == nw.Date or dtype == nw.Datetime:
        kind = "date"
    elif dtype == nw.Boolean:
        kind = "boolean"
    elif dtype in _TEXT or dtype == nw.Time:
        kind = "category"
    else:
        raise _uncountable(name, dtype, engine)
    return LazyColumn(name, dtype, kind, rule, categories, engine, from_text)


def _dask_categories(native: Any, name: str) -> tuple[str, ...]:
    """Return the declared categories; Dask writes others than texts in its own way: they are rejected."""
    if not hasattr(native.dtype, "categories"):
        kind = str(native.dtype.pyarrow_dtype.value_type)
        are_texts, found = kind in ("string", "large_string", "string_view"), ()
    else:
        # Unknown ones are those of all partitions, which takes a look at each, and declare nothing.
        known = native if native.cat.known else native.cat.as_known()
        are_texts = all(isinstance(value, str) for value in known.cat.categories)
        found = tuple(native.cat.categories) if native.cat.known else ()
    if not are_texts:
        raise _uncountable(name, "Categorical of other things than texts", "dask")
    return found


def _uncountable(name: str, dtype: Any, engine: str) -> NullproofError:
    return NullproofError(
        f"column {name!r} has type {dtype}, which cannot be counted in {engine}; "
        "cast it to text, numbers or dates there, or leave it out with ignore"
    )


@dataclass(frozen=True)
class Key:
    """What a column is grouped by, and the type of that: keys of one type share a query.

    ``number`` is what the least and the greatest of each group are wanted of, and ``only`` the rows to
    look at, if these are not the known ones.
    """

    column: LazyColumn
    value: nw.Expr
    type: Any
    edges: tuple[float, ...] = ()
    number: nw.Expr | None = None
    only: nw.Expr | None = None

    @property
    def sort(self) -> str:
        """What must be the same for two keys to share a query."""
        return f"{self.type}, {self.number is None}"


def value_key(column: LazyColumn) -> Key:
    """Group by the values themselves."""
    cell = nw.col(column.name)
    if column.kind == "boolean":
        return Key(column, _one_if(cell).cast(nw.Int64), nw.Int64)
    if column.kind == "date" or column.dtype == nw.Time:
        return Key(column, cell, column.dtype)
    if column.is_whole:
        return Key(column, cell.cast(nw.Int64), nw.Int64)
    if column.is_real:
        return Key(column, column.place, nw.Float64)
    return Key(column, cell if column.dtype == nw.String else cell.cast(nw.String), nw.String)


def bin_key(column: LazyColumn, edges: Sequence[float], *, ends: bool = False) -> Key:
    """Group by the number of inner edges not above the cell, as `nullproof.data.binning.bin_codes` does.

    With ``ends`` the least and the greatest cell of each bin come too.
    """
    code = nw.lit(0)
    for edge in edges[1:-1]:
        code = code + _one_if(column.number >= edge)
    number = column.number if ends else None
    return Key(column, code.cast(nw.Int64), nw.Int64, tuple(edges), number)


def _one_if(condition: nw.Expr) -> nw.Expr:
    # Postgres casts no boolean to a number.
    return nw.when(condition).then(nw.lit(1)).otherwise(nw.lit(0))


def collected(frame: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    """Bring a small result here."""
    return frame.collect("polars")


def column_of(
    key: Key, values: nw.Series[Any], rule: Rule | None = None, *, missing: bool = False
) -> Column:
    """Return the groups of a column as a column of their own, read as the same cells in memory would be.

    ``missing`` says that it has missing cells besides these groups.
    """
    import polars as pl

    column, n_groups = key.column, len(values)
    column = column if rule is None else replace(column, rule=rule, from_text=False)
    series = to_kind(values.to_native().alias(column.name))
    if column.kind == "boolean" and series.dtype != pl.Boolean:
        series = series.cast(pl.Boolean)
    elif column.dtype == nw.Decimal:
        series = to_kind(series.cast(pl.Decimal(38, column.dtype.scale)))
    if column.categories:
        series = series.cast(pl.Enum(column.categories))
    if missing:
        series = series.extend_constant(None, 1)
    found = None
    if series.dtype == pl.String and column.from_text:
        if column.format is not None:
            series = format_named(column.format).plain(series)
        found = type_texts(series, column.rule)
    if found is not None:
        read = read_column(column.name, found[0], column.rule)
        read.taken = found[1].taken
    else:
        read = read_column(column.name, series, column.rule)
    return read.rows(np.arange(n_groups)) if missing else read


@dataclass(frozen=True)
class Groups:
    """Label, value and number of rows of every group of one column.

    Where they were asked for, ``ends`` are the least and the greatest number of each group.
    """

    values: nw.Series[Any]
    labels: nw.Series[Any]
    counts: Counts
    ends: tuple[nw.Series[Any], ...] = ()


@dataclass(frozen=True)
class Labels:
    """The label column of a lazy table, the labels and how many rows have each."""

    key: Key
    schema: Schema
    counts: Counts

    def codes(self, found: nw.Series[Any]) -> NDArray[np.integer]:
        """Number labels that came from the table."""
        if not len(found):
            return np.empty(0, dtype=np.int64)
        return known_label_codes(self.schema, column_of(self.key, found, NOTHING_SPELLED))


def grouped(frame: nw.LazyFrame[Any], label: Key, keys: Sequence[Key]) -> list[Groups]:
    """Count each column by label and value, without its missing cells."""
    found = counted(frame, label, enumerate(keys))
    for j, groups in found.items():
        if groups.values.null_count():
            raise NullproofError(
                f"column {keys[j].column.name!r} holds a value that does not come through, such as the "
                "time 24:00:00; cast it to text there, or leave it out with ignore"
            )
    return [found[j] if j in found else _no_groups(key) for j, key in enumerate(keys)]


def _no_groups(key: Key) -> Groups:
    # polars has no time stamps of whole seconds.
    kind = nw.Datetime("us") if key.type == nw.Datetime else key.type
    nothing = nw.new_series("value", [], kind, backend="polars")
    return Groups(nothing, nothing, np.zeros(0, dtype=np.int64), (nothing, nothing))


def counted(
    frame: nw.LazyFrame[Any], label: Key, parts: Iterable[tuple[int, Key]]
) -> dict[int, Groups]:
    """Count some columns, each with its number; columns of one type share a query."""
    by_type: dict[str, list[nw.LazyFrame[Any]]] = {}
    for j, key in parts:
        cells = frame.filter(key.column.known if key.only is None else key.only)
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
        # One query at a time: their memory does not add up. One group-by, unless the engine would
        # copy the cells for that.
        apart = frames[0].implementation.is_polars() or frames[0].implementation.is_dask()
        query = (
            nw.concat([*map(_grouped_cells, frames)])
            if apart
            else _grouped_cells(nw.concat(frames))
        )
        found.update(_split(collected(query)))
    return found


def _grouped_cells(cells: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    wanted = [nw.len().alias("count")]
    if "number" in cells.collect_schema():
        wanted += [nw.col("number").min().alias("low"), nw.col("number").max().alias("high")]
    groups = cells.group_by("column", "label", "value").agg(*wanted)
    return groups.with_columns(nw.col("count").cast(nw.Int64))


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
