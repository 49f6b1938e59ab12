"""Any table in, columns in one common form out: files, data frames of every library, arrays, rows."""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.errors import NullproofError, explained
from nullproof.tables.bins import MISSING, distinct, present
from nullproof.tables.columns import Column, number_array, without_cells
from nullproof.tables.contents import AS_IT_IS, FileOptions
from nullproof.tables.formats import TEXT_MISSING, read_file
from nullproof.tables.schema import Kind
from nullproof.tables.series import (
    declared_categories,
    factorized,
    is_date64,
    number_series,
    ticks,
    ticks_of,
)
from nullproof.tables.values import (
    Exact,
    as_number,
    duration,
    exact,
    is_missing,
    is_number,
    moment,
    parsed_date,
    text,
    time_text,
)
from nullproof.tables.writings import Writings
from nullproof.words import some


@dataclass(frozen=True)
class Table:
    """A table of any origin whose columns are read one at a time.

    ``missing`` are the spellings of missing that it was opened with, ``writings`` how a file wrote the
    numbers and dates of some columns. A table with a ``frame`` reads a column, or a part of it, by
    ``read_series``; ``places`` is where its rows stand in the table that they are taken from.
    """

    names: tuple[str, ...]
    n_rows: int
    read: Callable[[str], Column]
    frame: nw.DataFrame[Any] | None = None
    missing: tuple[str, ...] = ()
    read_series: Callable[[nw.Series[Any]], Column] | None = None
    writings: Writings = field(default_factory=dict)
    places: NDArray[np.intp] | None = None

    def renamed(self, names: Sequence[str]) -> Table:
        """The same columns under other names."""
        places = dict(zip(names, self.names, strict=True))
        read = lambda name: replace(self.read(places[name]), name=name)  # noqa: E731
        return replace(self, names=tuple(names), read=read)

    def column(self, name: str) -> Column:
        """Read one column, or say which names there are."""
        if name not in self.names:
            close = difflib.get_close_matches(str(name), self.names, n=3, cutoff=0.5)
            named = [repr(near) for near in close or self.names[:10]] or ["no columns"]
            hint = f"did you mean {' or '.join(named)}?" if close else f"it has {', '.join(named)}"
            raise NullproofError(f"there is no column {name!r} in the table; {hint}")
        return self.read(name)


def refuse_unknown(wanted: Iterable[str], names: Collection[str], option: str) -> None:
    """Refuse an option that names a column the table does not have."""
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise NullproofError(
            f"{option} names the column {unknown[0]!r}, which is not among {some(names, 20)}"
        )


def open_table(
    source: Any,
    *,
    missing: Collection[str] = (),
    as_text: Collection[str] = (),
    file: FileOptions = AS_IT_IS,
    like: Writings | None = None,
) -> Table:
    """Open a path (``file`` and ``like`` as `read_file` has them), a data frame, an array or a mapping.

    Parameters
    ----------
    missing
        Spellings of missing, compared after trimming, besides null, None, NaN, NA and NaT.
    as_text
        Columns that a text file must not turn into numbers.
    """
    missing = spellings(missing)
    if not isinstance(source, str | Path):
        file.refuse(f"a {type(source).__name__}")
    if isinstance(source, np.ndarray):
        return _from_array(source, missing)
    if isinstance(source, Mapping):
        return _from_mapping(source, missing)
    from_text = False
    writings: Writings = {}
    if isinstance(source, str | Path):
        found = read_file(source, missing=missing, as_text=as_text, options=file, like=like)
        source, from_text, writings = found.frame, found.from_text, found.writings
    frame = _narwhals(source)
    spelled = frozenset((*missing, *(TEXT_MISSING if from_text else ())))

    def read(series: nw.Series[Any]) -> Column:
        kept = series.name in as_text
        return read_series(series, spelled, retype=from_text and not kept, keep_text=kept)

    names = tuple(frame.columns)
    return Table(names, len(frame), lambda name: read(frame[name]), frame, missing, read, writings)


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
    return replace(table, n_rows=len(rows))


def read_series(
    series: nw.Series[Any], missing: Collection[str], *, retype: bool, keep_text: bool = False
) -> Column:
    """Read one narwhals column.

    Parameters
    ----------
    retype
        Whether a column of texts that are all numbers, dates or true/false becomes such. If not, it
        does only where a spelling of missing stood in the way.
    """
    dtype, name = series.dtype, series.name
    if dtype == nw.Boolean:
        whole = number_series(series.cast(nw.Int8))
        known = np.nan_to_num(whole, nan=MISSING).astype(np.int8)
        return Column(name, "boolean", codes=known, values=("false", "true"))
    if dtype.is_numeric():
        return _number_column(name, number_series(series), missing)
    if dtype in (nw.Date, nw.Datetime, nw.Duration) or is_date64(series):
        kind: Kind = "number" if dtype == nw.Duration else "date"
        return Column(name, kind, numbers=ticks(series))
    if dtype == nw.String or dtype == nw.Categorical or dtype == nw.Enum:
        codes, values = factorized(series)
        declared = declared_categories(series)
        return _text_column(name, codes, values, missing, declared, retype and not keep_text)
    if dtype == nw.Time:
        return _time_column(name, series, missing)
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
    if any(isinstance(cell, bytes | Mapping) for cell in held):
        raise NullproofError(
            f"column {name!r} holds bytes or nested values, which cannot be counted; "
            "turn it into text, numbers or dates, or leave it out with ignore"
        )
    to_number = _as_numbers(held)
    if to_number is not None:
        kind, write = to_number
        array = number_array([None if cell is None else write(cell) for cell in plain])
        sets = {row: tuple(write(c) for c in cells) for row, cells in sets.items()}
        column = _number_column(name, array, missing) if kind == "number" else None
        column = column or Column(name, kind, numbers=array)
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


def _as_numbers(held: Sequence[Any]) -> tuple[Kind, Callable[[Any], Exact]] | None:
    """Which kind of numbers the cells are, and how each becomes one; None if they are none."""
    if not held:
        return None
    if all(map(is_number, held)):
        return "number", exact
    if all(isinstance(cell, dt.timedelta | np.timedelta64) for cell in held):
        return "number", duration
    if all(isinstance(cell, dt.date | np.datetime64) for cell in held):
        return "date", moment
    return None


def _time_column(name: str, series: nw.Series[Any], missing: Collection[str]) -> Column:
    moments = ticks(series)
    found, codes = distinct(moments)
    codes[~present(moments)] = MISSING
    values = [time_text(int(x * 1000)) if x == x else "" for x in found.tolist()]
    return _text_column(name, codes, values, missing, (), retype=False)


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
        with explained(frame.implementation.name):
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
    return Table(names, len(array), read, missing=missing)


def _array_column(name: str, array: NDArray[Any], missing: tuple[str, ...]) -> Column:
    if array.dtype.kind in "iuf":
        return _number_column(name, array, missing)
    if array.dtype.kind in "mM":
        kind: Kind = "date" if array.dtype.kind == "M" else "number"
        return Column(name, kind, numbers=ticks_of(array))
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

    return Table(tuple(columns), lengths.pop() if lengths else 0, read, missing=missing)


def _text_column(
    name: str,
    codes: NDArray[Any],
    values: Sequence[str],
    missing: Collection[str],
    declared: Sequence[str],
    retype: bool,
) -> Column:
    """Take out the spellings of missing, then decide the kind of the column by the texts that are left."""
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
            if kind == "number":
                return _number_column(name, numbers_[codes], missing)
            return Column(name, kind, numbers=numbers_[codes])
        if left and {value.strip().lower() for value in left} <= {"true", "false"}:
            lowered = [value.strip().lower() for value in values]
            return Column(name, "boolean", codes=codes, values=lowered)
    declared = [value for value in declared if value.strip() not in missing]
    return Column(name, "category", codes=codes, values=values, declared=declared)


def _parsed(left: list[str], values: Sequence[str]) -> tuple[Any, NDArray[Any]] | None:
    """All remaining texts as numbers or as dates, if they are; NaN for the others."""
    if not left:
        return None
    for kind, read in (("number", as_number), ("date", parsed_date)):
        found = [read(value) for value in left]
        if all(number is not None for number in found):
            number = dict(zip(left, found, strict=True))
            return kind, number_array([*(number.get(value) for value in values), None])
    return None


def _number_column(name: str, array: NDArray[Any], missing: Iterable[str]) -> Column:
    for spelling in missing:
        number = as_number(spelling)
        if number is None:
            continue
        named = _equal(array, number)
        if named.any():
            array = without_cells(array, named)
    return Column(name, "number", numbers=array)


def _equal(array: NDArray[Any], number: int | float) -> NDArray[np.bool_]:
    """Which numbers are this one; a decimal fraction is rounded as the array's are."""
    if array.dtype.kind == "O" or (array.dtype.kind in "iu" and abs(number) >= 2**63):
        return np.array([x == number for x in array.tolist()], dtype=bool)
    return np.asarray(array == number, dtype=bool)


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
        if any(isinstance(candidate, tuple | frozenset) for candidate in distinct):
            raise TypeError
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
