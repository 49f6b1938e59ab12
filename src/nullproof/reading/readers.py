"""Any table in, columns in one common form out: files, data frames of every library, arrays, rows."""

from __future__ import annotations

import datetime as dt
import difflib
import numbers
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.errors import NullproofError
from nullproof.reading.bins import MISSING, microseconds, parsed_date
from nullproof.reading.columns import Column
from nullproof.reading.files import TEXT_MISSING, read_file
from nullproof.schema import is_missing, is_number, text

NUMBER = re.compile(r"\s*[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[iI]nf)\s*")
_ZONE = r"(Z|[+-]\d\d(:?\d\d)?)?"
_DATE = re.compile(rf"\d{{4}}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{{1,9}})?)?{_ZONE})?")
# Beyond this floats no longer tell neighbouring integers apart.
_LARGEST_EXACT = 2**53


@dataclass(frozen=True)
class Table:
    """A table of any origin whose columns are read one at a time."""

    names: tuple[str, ...]
    n_rows: int
    read: Callable[[str], Column]
    frame: nw.DataFrame[Any] | None = None

    def renamed(self, names: tuple[str, ...]) -> Table:
        """The same columns under other names."""
        places = dict(zip(names, self.names, strict=True))
        return Table(
            names, self.n_rows, lambda name: replace(self.read(places[name]), name=name), self.frame
        )

    def column(self, name: str) -> Column:
        """Read one column, or say which names there are."""
        if name not in self.names:
            close = difflib.get_close_matches(str(name), self.names, n=3, cutoff=0.5)
            named = [repr(near) for near in close or self.names[:10]] or ["no columns"]
            hint = f"did you mean {' or '.join(named)}?" if close else f"it has {', '.join(named)}"
            raise NullproofError(f"there is no column {name!r} in the table; {hint}")
        return self.read(name)


def open_table(
    source: Any, *, missing: Collection[str] = (), as_text: Collection[str] = ()
) -> Table:
    """Open a path, a data frame, a two-dimensional array or a mapping of columns.

    Parameters
    ----------
    missing
        Spellings of missing, compared after trimming, besides null, None, NaN, NA and NaT.
    as_text
        Columns that a text file must not turn into numbers.
    """
    if isinstance(source, Table):
        return source
    missing = spellings(missing)
    if isinstance(source, np.ndarray):
        return _from_array(source, missing)
    if isinstance(source, Mapping):
        return _from_mapping(source, missing)
    from_text = False
    if isinstance(source, str | Path):
        source, from_text = read_file(source, missing=missing, as_text=as_text)
    frame = _narwhals(source)
    spelled = frozenset((*missing, *(TEXT_MISSING if from_text else ())))

    def read(name: str) -> Column:
        kept = name in as_text
        return read_series(frame[name], spelled, retype=from_text and not kept, keep_text=kept)

    return Table(tuple(frame.columns), len(frame), read, frame)


def open_rows(rows: Sequence[Any], names: Sequence[str], *, missing: Collection[str] = ()) -> Table:
    """Open plain rows (tuples, lists or mappings), whose cells may be sets of candidates."""
    columns: dict[str, list[Any]] = {name: [] for name in names}
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
                f"row {position} is {row!r}; give a tuple with one value per feature"
            )
        if len(row) != len(names):
            raise NullproofError(
                f"row {position} has {len(row)} values but there are {len(names)} features; "
                "give one value per feature, in the order of index.features"
            )
        for name, cell in zip(names, row, strict=True):
            columns[name].append(cell)
    table = _from_mapping(columns, spellings(missing))
    return Table(table.names, len(rows), table.read)


def read_series(
    series: nw.Series[Any], missing: Collection[str], *, retype: bool, keep_text: bool = False
) -> Column:
    """Read one narwhals column.

    Parameters
    ----------
    retype
        Whether texts that are all numbers, dates or true/false become such; otherwise only those
        columns do where a spelling of missing stood in the way.
    """
    dtype, name = series.dtype, series.name
    if dtype == nw.Boolean:
        codes = _floats(series.cast(nw.Int8) if not series.null_count() else series)
        known = np.nan_to_num(codes, nan=MISSING).astype(np.int8)
        return Column(name, "boolean", codes=known, values=("false", "true"))
    if dtype.is_numeric():
        return _number_column(name, _floats(series), missing)
    if dtype == nw.Date or dtype == nw.Datetime:
        stamps = series.cast(nw.Datetime("us")) if dtype == nw.Date else series
        return Column(name, "date", numbers=_floats(stamps.dt.timestamp("us")).astype(np.float64))
    if dtype == nw.Duration:
        return Column(name, "number", numbers=_floats(series.dt.total_microseconds()))
    if dtype == nw.String or dtype == nw.Categorical or dtype == nw.Enum:
        codes, values, declared = _factorized(series)
        return _text_column(
            name,
            codes,
            [text(value) for value in values],
            missing,
            declared,
            retype and not keep_text,
        )
    if dtype == nw.Time:
        return column_of_cells(name, [None if c is None else str(c) for c in series], missing)
    if dtype in (nw.List, nw.Array, nw.Object, nw.Unknown):
        return column_of_cells(name, series.to_list(), missing)
    raise NullproofError(
        f"column {name!r} has type {dtype}, which cannot be counted; "
        "turn it into text, numbers or dates, or leave it out with ignore"
    )


def column_of_cells(name: str, cells: Sequence[Any], missing: Collection[str] = ()) -> Column:
    """Read plain Python cells: one kind for all of them, candidates apart."""
    sets: dict[int, tuple[Any, ...]] = {}
    plain: list[Any] = []
    for row, cell in enumerate(cells):
        if isinstance(cell, set | frozenset | list | tuple | np.ndarray):
            cell = _candidates(name, row, cell, sets, missing)
        plain.append(None if _is_hole(cell, missing) else cell)
    held = [cell for cell in plain if cell is not None]
    held += [cell for candidates in sets.values() for cell in candidates]
    if held and all(is_number(cell) for cell in held) and _fits_floats(plain, held):
        column = _number_column(name, _number_array(plain), missing)
    elif held and all(isinstance(cell, dt.date) for cell in held):
        array = np.array([np.nan if cell is None else microseconds(cell) for cell in plain])
        sets = {row: tuple(microseconds(c) for c in cells) for row, cells in sets.items()}
        column = Column(name, "date", numbers=array)
    else:
        places: dict[str, int] = {}
        codes = np.array(
            [MISSING if c is None else places.setdefault(text(c), len(places)) for c in plain],
            dtype=np.int32,
        )
        boolean = bool(held) and all(isinstance(cell, bool | np.bool_) for cell in held)
        column = Column(
            name, "boolean" if boolean else "category", codes=codes, values=tuple(places)
        )
        sets = {row: tuple(text(c) for c in cells) for row, cells in sets.items()}
    column.sets = sets
    return column


def spellings(missing: Collection[str]) -> tuple[str, ...]:
    """The spellings of missing as they are compared: trimmed; one text is one spelling."""
    if isinstance(missing, str):
        missing = (missing,)
    return tuple(text(spelling).strip() for spelling in missing)


def _narwhals(source: Any) -> nw.DataFrame[Any]:
    if nw.dependencies.is_pandas_dataframe(source):
        # pandas numbers the columns of an array.
        source = source.set_axis([str(name) for name in source.columns], axis="columns")
    try:
        frame: nw.DataFrame[Any] | nw.LazyFrame[Any] = nw.from_native(source)
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
    if isinstance(frame, nw.LazyFrame):
        return frame.collect("polars")
    return frame


def _from_array(array: NDArray[Any], missing: tuple[str, ...]) -> Table:
    if array.ndim != 2:
        raise NullproofError(
            f"the array has {array.ndim} dimensions; give two: one row per point, "
            "one column per feature"
        )
    names = tuple(f"x{j}" for j in range(array.shape[1]))
    read = lambda name: _array_column(name, array[:, int(name[1:])], missing)  # noqa: E731
    return Table(names, len(array), read)


def _array_column(name: str, array: NDArray[Any], missing: tuple[str, ...]) -> Column:
    if array.dtype.kind in "iuf":
        return _number_column(name, array, missing)
    if array.dtype.kind == "M":
        # Finer units have no Python type and come out as integers.
        array = array.astype("datetime64[us]")
    return column_of_cells(name, array.tolist(), missing)


def _from_mapping(source: Mapping[Any, Any], missing: tuple[str, ...]) -> Table:
    columns = {str(name): cells for name, cells in source.items()}
    lengths = {len(cells) for cells in columns.values()}
    if len(lengths) > 1:
        raise NullproofError("the columns differ in length; give one cell per row in each")

    def read(name: str) -> Column:
        cells = columns[name]
        if isinstance(cells, np.ndarray):
            return _array_column(name, cells, missing)
        return column_of_cells(name, list(cells), missing)

    return Table(tuple(columns), lengths.pop() if lengths else 0, read)


def _floats(series: nw.Series[Any]) -> NDArray[Any]:
    """The column as NumPy numbers, NaN where it is null."""
    if series.dtype in (nw.Int128, nw.UInt128):
        series = series.cast(nw.Float64)
    if series.implementation.is_polars() and series.dtype.is_float():
        # Twice as fast as to let polars turn nulls into NaN on the way to NumPy.
        series = series.fill_null(float("nan"))
    array = series.to_numpy()
    if array.dtype.kind in "iuf":
        return array
    cells = [np.nan if is_missing(cell) else float(cell) for cell in series.to_list()]
    return np.array(cells, dtype=np.float64)


def _factorized(series: nw.Series[Any]) -> tuple[NDArray[Any], list[Any], list[str]]:
    """Codes, the values they stand for, and declared categories, by each library's fastest way."""
    native = series.to_native()
    if series.implementation.is_pandas_like():
        if hasattr(native.dtype, "categories"):
            declared = [text(value) for value in native.cat.categories]
            return native.cat.codes.to_numpy(), declared, declared
        codes, values = native.factorize()
        return codes, list(values), []
    if series.implementation.is_polars():
        codes, values = _factorized_polars(native)
        return codes, values, values if series.dtype == nw.Enum else []
    encoded = native.combine_chunks() if hasattr(native, "combine_chunks") else native
    if not hasattr(encoded, "indices"):
        encoded = encoded.dictionary_encode()
    codes = encoded.indices.cast("int32").fill_null(MISSING).to_numpy(zero_copy_only=False)
    return codes, encoded.dictionary.to_pylist(), []


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


def _text_column(
    name: str,
    codes: NDArray[Any],
    values: Sequence[str],
    missing: Collection[str],
    declared: Sequence[str],
    retype: bool,
) -> Column:
    """Take out the spellings of missing, among the distinct values only, and see what is left."""
    left = [value for value in values if value.strip() not in missing]
    if len(left) < len(values):
        table = np.arange(-1, len(values), dtype=np.int32)
        gone = [code for code, value in enumerate(values, start=1) if value.strip() in missing]
        table[gone] = MISSING
        codes = table[codes + 1]
        retype = retype or not declared
    if retype:
        parsed = _parsed(left, values)
        if parsed is not None:
            kind, numbers_ = parsed
            return Column(name, kind, numbers=numbers_[codes])
        if left and {value.strip().lower() for value in left} <= {"true", "false"}:
            lowered = [value.strip().lower() for value in values]
            return Column(name, "boolean", codes=codes, values=lowered)
    declared = [value for value in declared if value.strip() not in missing]
    return Column(name, "category", codes=codes, values=values, declared=declared)


def _parsed(left: list[str], values: Sequence[str]) -> tuple[Any, NDArray[np.float64]] | None:
    """All remaining texts as numbers or as dates, if they are; NaN for the others."""
    if not left:
        return None
    if all(NUMBER.fullmatch(value) for value in left):
        kind, pattern = "number", NUMBER
    elif all(_DATE.fullmatch(value.strip()) for value in left):
        kind, pattern = "date", _DATE
    else:
        return None
    read = float if kind == "number" else parsed_date
    try:
        table = [read(v) if pattern.fullmatch(v.strip()) else np.nan for v in values]
    except ValueError:
        return None
    return kind, np.array([*table, np.nan])


def _number_column(name: str, array: NDArray[Any], missing: Iterable[str]) -> Column:
    for spelling in missing:
        if NUMBER.fullmatch(spelling):
            named = array == float(spelling)
            if named.any():
                array = np.where(named, np.nan, array)
    return Column(name, "number", numbers=array)


def _number_array(cells: Sequence[Any]) -> NDArray[Any]:
    if all(isinstance(cell, numbers.Integral) for cell in cells):
        try:
            return np.array(cells, dtype=np.int64)
        except OverflowError:
            pass
    return np.array([np.nan if cell is None else float(cell) for cell in cells])


def _fits_floats(plain: list[Any], held: list[Any]) -> bool:
    """Whether no two integers become one number; without holes they need not become floats."""
    if len(plain) == len(held):
        return True
    return all(abs(int(c)) <= _LARGEST_EXACT for c in held if isinstance(c, numbers.Integral))


def _is_hole(cell: Any, missing: Collection[str]) -> bool:
    return is_missing(cell) or (bool(missing) and text(cell).strip() in missing)


def _candidates(
    name: str, row: int, cell: Any, sets: dict[int, tuple[Any, ...]], missing: Collection[str]
) -> Any:
    """One candidate is a value, several are noted in ``sets``; an unknown among them means any."""
    if not len(cell):
        raise NullproofError(
            f"column {name!r}, row {row}: the set of candidates is empty; "
            "give at least one value, or None where any is possible"
        )
    try:
        distinct = list(dict.fromkeys(cell))
    except TypeError:
        raise NullproofError(
            f"column {name!r}, row {row}: a candidate is itself a list; give plain values"
        ) from None
    if any(_is_hole(candidate, missing) for candidate in distinct):
        return None
    if len(distinct) == 1:
        return distinct[0]
    sets[row] = tuple(distinct)
    return None
