"""Open tables: every source in memory becomes a `Table` of polars series or codes.

Paths, pandas (with or without pyarrow), polars, pyarrow, NumPy (masked arrays too), mappings and plain
rows. Code behind this module never knows where a column came from. `native_frame` converts results back.
"""

from __future__ import annotations

import datetime as dt
import difflib
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.data.missing import NOTHING_SPELLED, USUAL, Missing, Rule
from nullproof.data.schema import Feature, Schema
from nullproof.data.texts import Formats, type_texts
from nullproof.data.types import (
    MISSING,
    Column,
    Kind,
    at_microseconds,
    is_missing,
    is_number,
    moment,
    seconds,
    text,
    to_kind,
    unsupported,
)
from nullproof.errors import NullproofError, explained
from nullproof.words import cut, many, some

if TYPE_CHECKING:
    import polars as pl

# Changes when a file is changed.
Stamp = tuple[int, int, int]
# Up to this many cells, a polars query takes longer to start than to run.
_FEW = 300


# The limits of nullproof: within them, floats neither overflow nor underflow.
MOST_COLUMNS, MOST_LABELS, MOST_CELLS = 20_000, 10_000, 2**53
LEAST_ALPHA, MOST_ALPHA, LEAST_PRIOR = 1e-6, 1e6, Fraction(1, 10**9)


def check_limits(
    *,
    n_columns: int = 0,
    n_labels: int = 0,
    n_cells: int = 0,
    alpha: float | Fraction = 0,
    prior: Iterable[float | Fraction] = (),
) -> None:
    """Reject a table or a model that is beyond the limits, in one sentence."""
    for count, most, what, advice in (
        (n_columns, MOST_COLUMNS, "columns", "leave some out"),
        (n_labels, MOST_LABELS, "different labels", "join labels, or name another column"),
        (n_cells, MOST_CELLS, "cells", "leave out rows or columns"),
    ):
        if count > most:
            raise NullproofError(
                f"the table has {count:,} {what} and at most {most:,} can be counted; {advice}"
            )
    if alpha and not LEAST_ALPHA <= alpha <= MOST_ALPHA:
        shown = f"{float(alpha):g}" if alpha < 10**300 else "a number beyond doubles"
        raise NullproofError(
            f"alpha is {shown}; give 0 (no smoothing) or a number from {LEAST_ALPHA:g} to "
            f"{MOST_ALPHA:g}"
        )
    for share in prior:
        if share and share < LEAST_PRIOR:
            raise NullproofError(
                f"prior has a number that is {float(share):g} of the largest; give 0 or at least 1e-9 of it"
            )


@dataclass(frozen=True)
class FileOptions:
    """How to read a file, as far as it does not say so itself.

    ``encoding`` is named as Python does, None to find it out; without a ``header`` the names are ``c1``,
    ``c2``, …; ``sheet`` is that of an Excel file, None for the first with cells; ``skip_rows`` are lines
    or rows above the header. ``strict`` rejects an option that does not fit the kind of file.
    """

    encoding: str | None = None
    header: bool = True
    sheet: str | None = None
    skip_rows: int = 0
    strict: bool = True

    def __post_init__(self) -> None:
        if type(self.skip_rows) is not int or self.skip_rows < 0:
            raise NullproofError(
                f"skip_rows is {self.skip_rows!r}; give how many lines to skip, a whole number from 0 on"
            )

    @property
    def given(self) -> list[str]:
        """The options that were given, as a message names them."""
        pairs = {
            "encoding": self.encoding is not None,
            "header=False": not self.header,
            "sheet": self.sheet is not None,
            "skip_rows": self.skip_rows > 0,
        }
        return [name for name, is_given in pairs.items() if is_given]

    def refuse(self, what: str) -> None:
        """Reject file options for a table that is not a file, or that is not read here."""
        if self.given:
            raise NullproofError(
                f"{self.given[0]} was given but the table is {what}; it is for single files of text or "
                "Excel, leave it out"
            )


AS_IT_IS = FileOptions()


@dataclass(frozen=True)
class Reading:
    """How to read a table: what means missing, and the file options.

    The columns ``as_text`` of a text file stay as they are written (``01`` stays ``01``), ``domains`` are
    declared values by column, and ``like`` says how the training table writes numbers and dates.
    """

    missing: Missing = USUAL
    as_text: Collection[str] = ()
    domains: Mapping[str, Collection[str]] = field(default_factory=dict)
    file: FileOptions = AS_IT_IS
    like: Formats | None = None


NOTHING_ASKED = Reading()


@dataclass(frozen=True)
class Table:
    """A table of any origin, whose columns are read one at a time.

    ``columns`` are the cells as they came: series, arrays or lists. ``source`` is the data frame behind
    them, None for arrays, mappings and rows, and ``rows`` are those of its rows that the table has, None
    for all. A text file (``in_file``) brings by column the spellings ``taken`` as missing when it was
    read and the ``formats`` of its numbers and dates, the rows that were ``skipped`` as no data, and a
    ``stamp`` that changes when the file does.
    """

    columns: Mapping[str, Any]
    n_all: int
    missing: Missing = USUAL
    source: Any = None
    in_file: bool = False
    taken: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    formats: Formats = field(default_factory=dict)
    rows: NDArray[np.intp] | None = None
    stamp: Stamp | None = None
    skipped: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_limits(n_columns=len(self.columns))

    @property
    def n_rows(self) -> int:
        return self.n_all if self.rows is None else len(self.rows)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns)

    @cached_property
    def frame(self) -> nw.DataFrame[Any] | None:
        """The data frame behind it, of narwhals."""
        return None if self.source is None else nw.from_native(self.source, eager_only=True)

    def renamed(self, names: Sequence[str]) -> Table:
        """Return the same columns under other names."""
        return replace(self, columns=dict(zip(names, self.columns.values(), strict=True)))

    def some(self, rows: NDArray[np.intp]) -> Table:
        """Return some of the rows, as if there were no others."""
        return replace(self, rows=rows if self.rows is None else self.rows[rows])

    def get(self, name: str) -> Column:
        """Read a column without looking for texts that mean missing."""
        return raw_cells(name, self.columns[name])

    def column(self, name: str, declared: Iterable[str] = ()) -> Column:
        """Read one column to learn from, with its declared values."""
        return self._read(name, self.missing.rule(name, declared, in_file=self.in_file))

    def labels(self, name: str) -> Column:
        """Read a column of labels."""
        return self._read(name, self.missing.rule(name, in_file=self.in_file).of_labels)

    def like(self, feature: Feature) -> Column:
        """Read the column of a feature learned before."""
        name = feature.name
        rule = self.missing.settled(name, feature.kind, feature.domain, in_file=self.in_file)
        return self._read(name, rule, learning=False)

    def _read(self, name: str, rule: Rule, *, learning: bool = True) -> Column:
        if name not in self.columns:
            raise no_such_column(name, self.names)
        column = self.get(name)
        if self.rows is not None:
            column = column.rows(self.rows)
        if not learning:
            # The training table declares which values exist, not the type of these cells.
            column.declared = ()
        column = read_column(name, column, rule)
        if name in self.taken:
            column.taken = (*column.taken, *self.taken[name])
        return column


def no_such_column(name: str, names: Sequence[str]) -> NullproofError:
    """Return the error for a column that a table does not have, with the names that come close."""
    by_case = [own for own in names if own.lower() == str(name).lower()]
    close = by_case or difflib.get_close_matches(str(name), names[:1000], n=3, cutoff=0.5)
    named = [repr(near) for near in close or names[:10]] or ["no columns"]
    hint = f"did you mean {' or '.join(named)}?" if close else f"it has {', '.join(named)}"
    return NullproofError(f"there is no column {name!r} in the table; {hint}")


def refuse_unknown(wanted: Iterable[str], names: Collection[str], option: str) -> None:
    """Reject an option that names a column the table does not have."""
    known = frozenset(names)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise NullproofError(
            f"{option} names the column {unknown[0]!r}, which is not among {some(names, 20)}"
        )


# Open a table.


def open_table(source: Any, how: Reading = NOTHING_ASKED) -> Table:
    """Open a path, a data frame, an array or a mapping."""
    if isinstance(source, str | Path):
        from nullproof.data.files import read_file

        return read_file(source, how)
    how.file.refuse(f"a {type(source).__name__}")
    if isinstance(source, np.ndarray):
        return _of_array(source, how.missing)
    if isinstance(source, Mapping):
        return _of_mapping(source, how.missing)
    return _of_frame(source, how.missing)


def _of_frame(source: Any, missing: Missing) -> Table:
    if nw.dependencies.is_polars_dataframe(source):
        return table_of_polars(source, missing)
    is_pandas = nw.dependencies.is_pandas_dataframe(source)
    if is_pandas and not all(isinstance(name, str) for name in source.columns):
        # pandas numbers the columns of an array.
        source = source.set_axis([*map(str, source.columns.tolist())], axis="columns")
    try:
        frame: Any = nw.from_native(source)
        if is_pandas:
            return Table(dict(source.items()), len(source), missing, source)
        if nw.dependencies.is_pyarrow_table(source):
            arrays = dict(zip(source.column_names, source.columns, strict=True))
            return Table(arrays, source.num_rows, missing, source)
        if isinstance(frame, nw.LazyFrame):
            with explained(frame.implementation.name):
                return table_of_polars(frame.collect("polars").to_native(), missing)
        return replace(table_of_polars(frame.to_polars(), missing), source=source)
    except TypeError:
        raise NullproofError(
            f"{type(source).__name__} is not a table; give a data frame of pandas, polars, "
            "pyarrow or DuckDB, or the path of a file"
        ) from None
    except nw.exceptions.DuplicateError as problem:
        named = " ".join(str(problem).split()).rpartition("- ")[2]
        raise NullproofError(
            f"the table has a column name twice ({named}); give each column its own name"
        ) from None


def table_of_polars(frame: pl.DataFrame, missing: Missing) -> Table:
    columns = {series.name: series for series in frame.get_columns()}
    return Table(columns, frame.height, missing, frame)


def _of_array(array: NDArray[Any], missing: Missing) -> Table:
    if array.ndim != 2:
        raise NullproofError(
            f"the array has {many(array.ndim, 'dimension')}; give two (one row per point, one column per "
            "feature), or a data frame"
        )
    columns = {f"x{j}": array[:, j] for j in range(array.shape[1])}
    return Table(columns, len(array), missing)


def _of_mapping(source: Mapping[Any, Any], missing: Missing) -> Table:
    columns = {
        str(name): cells if hasattr(cells, "__array__") else np.fromiter(cells, dtype=object)
        for name, cells in source.items()
    }
    lengths = {len(cells) for cells in columns.values()}
    if len(lengths) > 1:
        raise NullproofError("the columns differ in length; give one cell per row in each")
    return Table(columns, lengths.pop() if lengths else 0, missing)


# From any library to a `Column`.


def raw_cells(name: str, cells: Any) -> Column:
    """Return the cells of one column: an array, a series of any library, or plain Python cells.

    Plain Python cells alone, which are those of rows, may be sets of candidates.
    """
    import polars as pl

    if isinstance(cells, pl.Series):
        return series_column(name, cells)
    if isinstance(cells, np.ndarray):
        return _array_column(name, cells)
    if nw.dependencies.is_pandas_series(cells):
        return _pandas_column(name, cells)
    if hasattr(cells, "to_pylist") and hasattr(cells, "type"):
        return _arrow_column(name, cells)
    if hasattr(cells, "to_numpy"):
        return _array_column(name, cells.to_numpy())
    return _python_column(name, cells)


def series_column(name: str, series: pl.Series) -> Column:
    """Return a series of polars as a column of one of the five kinds."""
    import polars as pl

    if series.dtype == pl.Object:
        return series_column(name, _series_of_cells(name, series.to_list()))
    series = to_kind(series if series.name == name else series.alias(name))
    dtype, nulls = series.dtype, series.null_count()
    if dtype == pl.Float64:
        return Column(name, "number", (series.fill_null(math.nan) if nulls else series).to_numpy())
    if dtype == pl.Int64 or dtype == pl.Datetime:
        kind: Kind = "number" if dtype == pl.Int64 else "date"
        # A query of polars takes longer than its work on a few cells.
        numbers = series if dtype == pl.Int64 else series.to_physical()
        if not nulls:
            return Column(name, kind, numbers.to_numpy())
        mask = series.is_not_null().to_numpy()
        return Column(name, kind, numbers.fill_null(0).to_numpy(), mask=mask)
    if dtype == pl.Boolean:
        codes = series.cast(pl.Int8).fill_null(MISSING).to_numpy()
        return Column(name, "boolean", codes=codes, values=("false", "true"))
    declared: list[str] = []
    if dtype == pl.Enum:
        values = declared = dtype.categories.to_list()  # type: ignore[attr-defined]
    elif len(series) < _FEW:
        places: dict[Any, int] = {}
        cells = series.cast(pl.String).to_list()
        found = [MISSING if x is None else places.setdefault(x, len(places)) for x in cells]
        return Column(name, "category", codes=np.array(found, dtype=np.int32), values=[*places])
    else:
        different = series.drop_nulls().unique().cast(pl.String)
        series = series.cast(pl.String).cast(pl.Enum(different))
        values = different.to_list()
    codes = series.to_physical().cast(pl.Int32).fill_null(MISSING).to_numpy()
    return Column(name, "category", codes=codes, values=values, declared=declared)


def _arrow_column(name: str, array: Any) -> Column:
    """Return an array of Arrow as a column; dictionaries are what their values are."""
    import polars as pl

    kind = array.type
    if hasattr(kind, "value_type") and hasattr(kind, "index_type"):
        array = array.cast(kind.value_type)
    try:
        series = pl.Series(name, pl.from_arrow(array))
    except BaseException as problem:
        # A polars panic is not an Exception.
        if isinstance(problem, KeyboardInterrupt | SystemExit | MemoryError):
            raise
        raise unsupported(name, f"type {kind}") from problem
    return series_column(name, series)


def _pandas_column(name: str, column: Any) -> Column:
    """Read a column of pandas by its dtype; pyarrow is needed only where it made the column."""
    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        return _array_column(name, column.to_numpy())
    if hasattr(dtype, "categories"):
        return _categories(name, column.array.codes, dtype.categories.tolist())
    is_text = dtype.name in ("str", "string", "object")
    in_arrow = getattr(dtype, "storage", "") == "pyarrow"
    if is_text and in_arrow and len(column) >= _FEW:
        # Using Arrow's codes takes half the time of converting its texts to polars.
        array = column.array.__arrow_array__()
        array = array.combine_chunks() if hasattr(array, "combine_chunks") else array
        encoded = array.dictionary_encode()
        codes = encoded.indices.fill_null(MISSING).to_numpy()
        return Column(name, "category", codes=codes, values=encoded.dictionary.to_pylist())
    if is_text:
        return series_column(name, _series_of_cells(name, column.tolist()))
    if in_arrow or hasattr(dtype, "pyarrow_dtype"):
        return _arrow_column(name, column.array.__arrow_array__())
    if getattr(dtype, "tz", None) is not None:
        return _array_column(name, column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
    if getattr(dtype, "numpy_dtype", None) is not None and dtype.kind in "iufb":
        # Masked numbers and booleans.
        gone = column.isna().to_numpy()
        cells = column.to_numpy(dtype=dtype.numpy_dtype, na_value=0)
        return _array_column(name, np.ma.MaskedArray(cells, gone))
    raise unsupported(name, f"type {dtype}")


def _categories(name: str, codes: NDArray[Any], categories: Sequence[Any]) -> Column:
    """Return a categorical as codes of texts; two categories with one text are one value."""
    if any(isinstance(value, _NESTED) for value in categories):
        raise unsupported(name, "categories that are no plain values")
    values = [text(value) for value in categories]
    if len({*values}) < len(values):
        places = {value: place for place, value in enumerate(dict.fromkeys(values))}
        table = np.array([*(places[value] for value in values), MISSING], dtype=np.int32)
        codes, values = table[codes], [*places]
    return Column(name, "category", codes=codes, values=values, declared=values)


def _array_column(name: str, array: NDArray[Any]) -> Column:
    """Return a plain or masked one-dimensional array as a column."""
    import polars as pl

    kind = array.dtype.kind
    if kind in "OUSV":
        return series_column(name, _series_of_cells(name, array.tolist()))
    if kind == "c":
        raise unsupported(name, "complex numbers")
    plain = np.asarray(array.data if isinstance(array, np.ma.MaskedArray) else array)
    if kind == "f":
        plain = plain.astype(np.float64, copy=False)
    elif kind == "m":
        plain = np.where(np.isnat(plain), np.nan, (plain / np.timedelta64(1, "s")).astype(float))
    elif kind == "M" and np.datetime_data(plain.dtype)[0] not in ("D", "ms", "us", "ns"):
        # Years that overflow are refused, not wrapped around.
        years = plain.astype("datetime64[Y]").astype(np.int64)[~np.isnat(plain)] + 1970
        if len(years) and not 1 <= years.min() <= years.max() <= 9999:
            raise unsupported(name, "years before 1 or after 9999")
        plain = plain.astype("datetime64[us]")
    series = pl.Series(name, np.ascontiguousarray(plain))
    if isinstance(array, np.ma.MaskedArray):
        series = series.set(pl.Series(np.ma.getmaskarray(array)), None)
    return series_column(name, series)


# Plain Python cells.

_NESTED = (bytes, Mapping, tuple, list, set, frozenset, np.ndarray, complex)


def _python_column(name: str, cells: Iterable[Any]) -> Column:
    """Return plain Python cells as a column of one kind; tuples, lists and sets are candidates."""
    plain = list(cells)
    sets: dict[int, tuple[Any, ...]] = {}
    for row, cell in enumerate(plain):
        if isinstance(cell, np.ndarray):
            plain[row] = cell = cell.tolist()
        if type(cell) is tuple or isinstance(cell, set | frozenset | list):
            candidates = _candidates(name, row, cell)
            if len(candidates) > 1:
                sets[row] = candidates
            plain[row] = candidates[0] if len(candidates) == 1 else None
    listed = [x for candidates in sets.values() for x in candidates]
    column = series_column(name, _series_of_cells(name, [*plain, *listed]))
    if not sets:
        return column
    written = iter([column.cell(place) for place in range(len(plain), len(column))])
    column = column.rows(np.arange(len(plain)))
    column.sets = {
        row: tuple(dict.fromkeys(next(written) for _ in own)) for row, own in sets.items()
    }
    return column


def _candidates(name: str, row: int, cell: Collection[Any]) -> tuple[Any, ...]:
    """Return the different candidates of a cell; none where an unknown one makes it any value."""
    if not cell:
        raise NullproofError(
            f"column {name!r}, row {row}: the set of candidates is empty; "
            "give at least one value, or None where any is possible"
        )
    if any(isinstance(x, _NESTED) for x in cell):
        raise NullproofError(
            f"column {name!r}, row {row}: a candidate is itself a list; give plain values"
        )
    return () if any(map(is_missing, cell)) else tuple(dict.fromkeys(cell))


def _series_of_cells(name: str, cells: Sequence[Any]) -> pl.Series:
    """Return Python values as a series of the one kind that holds them all."""
    import polars as pl

    cells = [None if is_missing(cell) else cell for cell in cells]
    dtype, write = _kind_of_cells(name, [cell for cell in cells if cell is not None])
    try:
        return pl.Series(name, [None if x is None else write(x) for x in cells], dtype)
    except UnicodeEncodeError as problem:
        raise NullproofError(
            f"column {name!r} holds {problem.object[problem.start]!r}, half of a surrogate pair, which no "
            "file can hold; fix that text in the table"
        ) from problem


def _kind_of_cells(name: str, held: Sequence[Any]) -> tuple[Any, Callable[[Any], Any]]:
    """Return the type that holds all of some Python values, and how each is written in it."""
    import polars as pl

    if all(isinstance(cell, str) for cell in held):
        return pl.String, str
    if any(isinstance(cell, _NESTED) for cell in held):
        raise unsupported(name, "lists, bytes or nested values")
    if all(isinstance(cell, bool | np.bool_) for cell in held):
        return pl.Boolean, bool
    if all(map(is_number, held)):
        return _kind_of_numbers(name, held)
    if all(isinstance(cell, dt.timedelta | np.timedelta64) for cell in held):
        return pl.Float64, seconds
    if all(isinstance(cell, dt.date | np.datetime64) for cell in held):
        if any(getattr(cell, "nanosecond", 0) for cell in held):
            raise unsupported(name, "nanoseconds that microseconds do not hold")
        return pl.Datetime("us"), lambda cell: at_microseconds(moment(cell))
    return pl.String, text


def _kind_of_numbers(name: str, held: Sequence[Any]) -> tuple[Any, Callable[[Any], Any]]:
    import polars as pl

    whole = [int(cell) for cell in held if isinstance(cell, int | np.integer)]
    if len(whole) < len(held):
        if any(int(float(number)) != number for number in whole if abs(number) < 2**1000):
            raise unsupported(name, "integers that no double holds beside other numbers")
        return pl.Float64, float
    if not all(-(2**63) <= number < 2**63 for number in whole):
        raise unsupported(name, "integers beyond 64 bits")
    return pl.Int64, int


# What is spelled missing in a column.


def read_column(name: str, cells: Any, rule: Rule = NOTHING_SPELLED) -> Column:
    """Read the cells of a column, of any library, without those that the rule takes as missing."""
    column = cells if isinstance(cells, Column) else raw_cells(name, cells)
    if column.sets:
        # A set with an unknown candidate means any value; its other members are values.
        unknown = {*rule.named, *rule.numbers, *rule.moments}
        sets = {
            row: own
            for row, own in column.sets.items()
            if not any((x.strip() if isinstance(x, str) else x) in unknown for x in own)
        }
        column = replace(column, sets=sets)
        if column.numbers is None:
            rule = rule.declaring(x for own in sets.values() for x in own)
            rule = replace(rule, retypes=not sets)
    if column.numbers is None:
        return _without_spelled(column, rule)
    for number in rule.moments if column.kind == "date" else rule.numbers:
        gone = column.numbers == number
        if gone.any():
            column = column.without(gone)
    return column


def _without_spelled(column: Column, rule: Rule) -> Column:
    """Take out what is spelled missing; the texts beside it may turn out to be numbers."""
    import polars as pl

    codes, values = column.codes, column.values
    assert codes is not None
    if column.declared:
        rule = rule.declaring(column.declared)
    spelled = [place for place, value in enumerate(values) if rule.looks_missing(value)]
    if not spelled:
        return column
    used, held = column.used, column.texts
    marked = bool((codes < 0).any())
    found = rule.find(held, marked=marked)
    # Named spellings that no cell holds are no values of the domain either.
    gone = found.gone.union(values[p] for p in spelled if values[p].strip() in rule.named)
    if not gone:
        return replace(column, kept=found.kept)
    if column.kind == "category" and not column.declared and rule.retypes and found.gone:
        typed = type_texts(pl.Series([*held, None] if marked else held, dtype=pl.String), rule)
        if typed is not None:
            # The place of each code among the texts that are held; a missing cell is the null at the end.
            places = np.full(len(values) + 1, len(held))
            places[used] = np.arange(len(held))
            retyped = read_column(column.name, typed[0].gather(places[codes]), rule)
            return replace(retyped, taken=typed[1].taken)
    table = np.array(
        [MISSING if x in gone else place for place, x in enumerate(values)] + [MISSING], np.int32
    )
    declared = [value for value in column.declared if value not in gone]
    return replace(
        column, codes=table[codes], declared=declared, taken=found.taken, kept=found.kept
    )


def open_rows(rows: Sequence[Any], names: Sequence[str], *, missing: Missing = USUAL) -> Table:
    """Open plain rows (tuples, lists or mappings), whose cells may be sets of candidates."""
    columns: dict[str, list[Any]] = {name: [] for name in names}
    lists = [*columns.values()]
    for position, row in enumerate(rows):
        if isinstance(row, Mapping):
            lacking = [name for name in names if name not in row]
            if lacking:
                raise NullproofError(
                    f"row {position} has no value for {lacking[0]!r}; "
                    "give one value per feature, or None where it is not known"
                )
            row = [row[name] for name in names]
        if isinstance(row, str) or not hasattr(row, "__len__"):
            raise NullproofError(
                f"row {position} is {cut(repr(row))}; give a tuple with one value per feature"
            )
        if len(row) != len(names):
            raise NullproofError(
                f"row {position} has {len(row)} values but there are {len(names)} features; "
                "give one value per feature, in the order of index.features"
            )
        for cells, cell in zip(lists, row, strict=True):
            cells.append(cell)
    return Table(columns, len(rows), missing)


def rows_like(schema: Schema, rows: Sequence[Any]) -> Table:
    """Open plain rows of a schema learned before, with or without the columns that it left out."""
    first = rows[0] if len(rows) else ()
    width = len(first) if hasattr(first, "__len__") and not isinstance(first, Mapping) else 0
    return open_rows(rows, schema.row_columns(width), missing=schema.missing)


def labels_apart(labels: Any, missing: Missing = USUAL) -> Column:
    """Read labels given without a table: each is a label, unless it was named as missing."""
    rule = replace(missing.rule("label"), usual=False)
    if isinstance(labels, np.ndarray) and labels.ndim != 1:
        raise NullproofError(f"the labels are an array of shape {labels.shape}; give one per row")
    return read_column("label", labels, rule.of_labels)


# Back to the caller's library.


def native_frame(
    columns: dict[str, list[Any]], like: nw.DataFrame[Any] | None, *, same_rows: bool = True
) -> Any:
    """Return plain columns as a data frame of the library of another, else of polars.

    Where it has the ``same_rows`` it also takes over the pandas index.
    """
    if like is None:
        import polars as pl

        return pl.DataFrame(columns).with_columns(pl.col(pl.Null).cast(pl.String))
    made = nw.from_dict(columns, backend=like.implementation)
    if like.implementation.is_pandas_like() and same_rows:
        native = made.to_native()
        native.index = like.to_native().index
        return native
    return made.to_native()


def some_rows(frame: nw.DataFrame[Any] | None, places: NDArray[np.intp]) -> Any:
    """Return some rows of a frame, if there is one."""
    return None if frame is None else frame[places.tolist()]
