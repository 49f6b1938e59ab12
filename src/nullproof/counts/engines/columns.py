"""Tables that stay in their engine: columns, what each is grouped by, and the groups that come back.

Engines only do comparisons, casts to numbers and ``CASE``. Texts of numbers and dates are made here,
since every engine writes them differently.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.counts.count import check_size
from nullproof.counts.fields import Counts
from nullproof.data.labels import known_label_codes
from nullproof.data.missing import NOTHING_SPELLED, USUAL, Missing, Rule
from nullproof.data.schema import Feature, Schema
from nullproof.data.sources import no_such_column, read_column
from nullproof.data.texts import Formats, format_named, type_texts
from nullproof.data.types import Column, Kind, to_kind
from nullproof.errors import NullproofError

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class LazyColumn:
    """A column of a lazy table: its name, its type in the engine, and which values mean missing.

    ``from_text`` says that texts which are all numbers or dates are such, written in a ``format``.
    """

    name: str
    dtype: Any
    kind: Kind
    rule: Rule = NOTHING_SPELLED
    categories: tuple[str, ...] = ()
    from_text: bool = False
    format: str | None = None

    @property
    def is_binned_there(self) -> bool:
        """Whether the engine can put the cells into bins; others are counted by value and binned here.

        Engines compute with dates differently, and round decimals to different doubles.
        """
        return bool(self.dtype.is_integer() or self.dtype.is_float())

    @property
    def number(self) -> nw.Expr:
        """The cells as doubles; among floats, NaN for null.

        With NaN for null no engine can look for nulls in the statistics of a file, where some writers
        take NaN for null and others leave it out.
        """
        number = nw.col(self.name).cast(nw.Float64)
        return nw.coalesce(number, nw.lit(math.nan)) + 0.0 if self.dtype.is_float() else number

    @property
    def finite(self) -> nw.Expr:
        """Which cells are finite numbers, and not missing."""
        # Zero times NaN or an infinite number is NaN, which equals zero in no engine.
        return self.known & (self.number * 0.0 == 0.0) if self.dtype.is_float() else self.known

    @property
    def known(self) -> nw.Expr:
        """Which cells are not missing; texts that spell missing are found later, among the groups."""
        cell, number, is_float = nw.col(self.name), self.number, self.dtype.is_float()
        known = ~cell.is_null()
        if is_float:
            known = (number * 0.0 == 0.0) | (number == math.inf) | (number == -math.inf)
        for named in self.rule.numbers if self.is_binned_there else ():
            if is_float:
                known = known & (number != float(named))
            elif abs(named) < 2**63 and named == int(named):
                known = known & (cell != int(named))
        return known

    @property
    def value(self) -> nw.Expr:
        """The group key of the known cells when they are counted by value."""
        cell = nw.col(self.name)
        if self.kind == "boolean":
            return _one_if(cell).cast(nw.Int64)
        if self.dtype.is_integer():
            return cell.cast(nw.Int64)
        if self.dtype.is_float():
            return self.number
        comes_as_it_is = self.kind == "date" or self.dtype in (nw.String, nw.Time)
        return cell if comes_as_it_is else cell.cast(nw.String)

    @property
    def label(self) -> nw.Expr:
        """The group key of rows if the column is the label; it includes nulls."""
        cell = nw.col(self.name)
        in_text = self.dtype in (nw.Categorical, nw.Enum, nw.Decimal)
        return cell.cast(nw.String) if in_text else cell

    def read(self, values: pl.Series, rule: Rule | None = None, *, marked: bool = False) -> Column:
        """Read distinct cells that came from the engine as the same cells in memory would be.

        ``rule`` says what means missing among labels, which stay as they are written, and ``marked``
        that the column has missing cells besides these.
        """
        import polars as pl

        if marked:
            return self.read(values.extend_constant(None, 1), rule).rows(np.arange(len(values)))
        series = to_kind(values.alias(self.name))
        if self.kind == "boolean" and series.dtype != pl.Boolean:
            series = series.cast(pl.Boolean)
        elif self.dtype == nw.Decimal:
            series = to_kind(series.cast(pl.Decimal(38, self.dtype.scale)))
        if self.categories:
            series = series.cast(pl.Enum(self.categories))
        if rule is None and self.from_text and series.dtype == pl.String:
            if self.format is not None:
                series = format_named(self.format).plain(series)
            typed = type_texts(series, self.rule)
            if typed is not None:
                column = read_column(self.name, typed[0], self.rule)
                column.taken = typed[1].taken
                return column
        return read_column(self.name, series, rule or self.rule)


def _one_if(condition: nw.Expr) -> nw.Expr:
    # Postgres cannot cast booleans to numbers.
    return nw.when(condition).then(nw.lit(1)).otherwise(nw.lit(0))


@dataclass(frozen=True)
class LazyTable:
    """A table that stays in its engine, and how to read it.

    Parameters
    ----------
    in_file
        Whether its texts come from a text file.
    taken, formats
        As for `nullproof.data.sources.Table`.
    as_text
        Columns of a text file that stay text.
    """

    frame: nw.LazyFrame[Any]
    label: str
    missing: Missing = USUAL
    in_file: bool = False
    taken: Mapping[str, Sequence[str]] = field(default_factory=dict)
    formats: Formats = field(default_factory=dict)
    as_text: frozenset[str] = frozenset()

    @cached_property
    def schema(self) -> nw.Schema:
        try:
            return self.frame.collect_schema()
        except (TypeError, ValueError) as problem:
            # Categories that are not texts, decimals with a negative scale.
            raise NullproofError(
                f"a column has a type that cannot be counted ({problem}); cast it to text, numbers or "
                "dates there"
            ) from problem

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.schema)

    def refuse_unknown(self, name: str) -> None:
        """Reject a column that the table does not have."""
        if name not in self.schema:
            raise no_such_column(name, self.names)

    def column(self, name: str, declared: Iterable[str] = ()) -> LazyColumn:
        """Return a column to learn from, with its declared values; reject what cannot be counted."""
        self.refuse_unknown(name)
        dtype, engine = self.schema[name], self.frame.implementation
        categories = self._declared(name, dtype)
        kind: Kind
        if dtype.is_numeric():
            kind = "number"
        elif dtype == nw.Date or dtype == nw.Datetime:
            kind = "date"
        elif dtype == nw.Boolean:
            kind = "boolean"
        elif dtype in (nw.String, nw.Time) or categories is not None:
            kind = "category"
        else:
            raise NullproofError(
                f"column {name!r} has type {dtype}, which cannot be counted in {engine.name.lower()}; "
                "cast it to text, numbers or dates there, or leave it out with ignore"
            )
        rule = self.missing.rule(name, declared, in_file=self.in_file)
        from_text = self.in_file and name not in self.as_text
        return LazyColumn(
            name, dtype, kind, rule, categories or (), from_text, self.formats.get(name)
        )

    def _declared(self, name: str, dtype: Any) -> tuple[str, ...] | None:
        """Return the values that a type of categories declares; None if these are no texts."""
        if dtype == nw.Enum:
            return tuple(dtype.categories)
        if dtype != nw.Categorical:
            return None
        if not self.frame.implementation.is_dask():
            return ()
        native = self.frame.to_native()[name]
        if not hasattr(native.dtype, "categories"):
            return () if "string" in str(native.dtype.pyarrow_dtype.value_type) else None
        declared = tuple(native.dtype.categories) if native.cat.known else (None,)
        return declared if all(isinstance(value, str) for value in declared) else None

    def like(self, feature: Feature) -> LazyColumn:
        """Return the column of a feature learned before."""
        rule = self.missing.settled(
            feature.name, feature.kind, feature.domain, in_file=self.in_file
        )
        return replace(self.column(feature.name), rule=rule)


# Count groups.


@dataclass(frozen=True)
class Labels:
    """The label column of a lazy table, its labels, and how many rows have each."""

    column: LazyColumn
    schema: Schema
    counts: Counts

    @property
    def n_rows(self) -> int:
        return int(self.counts.sum())

    def codes(self, values: pl.Series) -> NDArray[np.integer]:
        """Number labels that came from the table."""
        if not len(values):
            return np.empty(0, dtype=np.int64)
        return known_label_codes(self.schema, self.column.read(values, NOTHING_SPELLED))


class Key(NamedTuple):
    """The group key of a column.

    With ``in_cells`` the values are cells or bins, and the least and the greatest number of each are
    wanted; ``only`` are the rows to look at.
    """

    column: LazyColumn
    value: nw.Expr
    only: nw.Expr
    in_cells: bool = False

    @property
    def query(self) -> str:
        """The kind of query: keys of the same kind share one query."""
        dtype = self.column.dtype
        if self.in_cells or dtype.is_integer() or dtype == nw.Boolean:
            return f"integers, {self.in_cells}"
        if dtype.is_float():
            return "floats"
        return str(dtype) if self.column.kind == "date" or dtype == nw.Time else "texts"


class Groups(NamedTuple):
    """Value, label and number of rows of every group of one column.

    Where the values are cells or bins, ``ends`` are the least and the greatest number of each group.
    """

    values: Any
    labels: NDArray[np.integer]
    counts: Counts
    ends: tuple[NDArray[np.float64], ...] = ()


def by_value(column: LazyColumn) -> Key:
    """Group by the values themselves."""
    return Key(column, column.value, column.known)


def by_bin(column: LazyColumn, edges: Sequence[float]) -> Key:
    """Group the known numbers by their bins: the inner edges not above each are counted."""
    code = nw.lit(0)
    for edge in edges[1:-1]:
        code = code + _one_if(column.number >= edge)
    return Key(column, code, column.known, in_cells=True)


def like_key(feature: Feature, column: LazyColumn) -> Key:
    """Group by the bins of a feature learned before, or by the values."""
    if feature.edges and feature.kind == column.kind and column.is_binned_there:
        return by_bin(column, feature.edges)
    return by_value(column)


def collected(frame: nw.LazyFrame[Any]) -> pl.DataFrame:
    """Collect a small result."""
    found: pl.DataFrame = frame.collect("polars").to_native()
    return found


def doubles(series: pl.Series) -> NDArray[np.float64]:
    """Return numbers as they came from an engine."""
    import polars as pl

    return series.cast(pl.Float64).to_numpy() + 0.0


def grouped(frame: nw.LazyFrame[Any], labels: Labels, keys: Sequence[Key]) -> list[Groups]:
    """Count some columns by label and value.

    Keys of one type share a query: their cells are concatenated, each with the number of its column.
    """
    queries: dict[str, list[nw.LazyFrame[Any]]] = {}
    for j, key in enumerate(keys):
        wanted = [
            labels.column.label.alias("label"),
            (key.value.cast(nw.Int64) if key.in_cells else key.value).alias("value"),
            nw.lit(j, nw.Int32).alias("column"),
        ]
        if key.in_cells:
            wanted.append(key.column.number.alias("number"))
        queries.setdefault(key.query, []).append(frame.filter(key.only).select(*wanted))
    found = [_no_groups(key.column) for key in keys]
    for cells in queries.values():
        # One query at a time: their memory does not add up. One group-by, unless the engine would
        # copy the cells for that.
        apart = frame.implementation.is_polars() or frame.implementation.is_dask()
        query = nw.concat([*map(_counted, cells)]) if apart else _counted(nw.concat(cells))
        for part in collected(query).partition_by("column"):
            j = part["column"][0]
            if part["value"].null_count():
                raise NullproofError(
                    f"column {keys[j].column.name!r} holds a value that cannot be transferred, such as "
                    "the time 24:00:00; cast it to text there, or leave it out with ignore"
                )
            ends = tuple(doubles(part[end]) for end in ("low", "high") if end in part.columns)
            codes, counts = labels.codes(part["label"]), part["count"].to_numpy()
            found[j] = Groups(part["value"], codes, counts, ends)
    return found


def _counted(cells: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    wanted = [nw.len().alias("count")]
    if "number" in cells.collect_schema():
        wanted += [nw.col("number").min().alias("low"), nw.col("number").max().alias("high")]
    groups = cells.group_by("column", "label", "value").agg(*wanted)
    return groups.with_columns(nw.col("count").cast(nw.Int64))


def _no_groups(column: LazyColumn) -> Groups:
    import polars as pl

    kinds = {"number": pl.Float64(), "date": pl.Datetime("us"), "boolean": pl.Boolean()}
    nothing = pl.Series("value", [], kinds.get(column.kind, pl.String()))
    numbers = np.zeros(0, dtype=np.int64)
    return Groups(nothing, numbers, numbers, (np.zeros(0), np.zeros(0)))


def summed(feature: Feature, codes: NDArray[Any], groups: Groups, labels: Labels) -> Counts:
    """Add up the groups of each code and label, values × labels; a negative code means missing."""
    n_labels = len(labels.counts)
    check_size(feature.name, feature.n_values, n_labels)
    counts = np.zeros((feature.n_values, n_labels), dtype=np.int64)
    known = codes >= 0
    np.add.at(counts, (codes[known], groups.labels[known]), groups.counts[known])
    return counts
