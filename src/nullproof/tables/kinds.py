"""What kind of column some cells are: texts, numbers, dates or true and false, and which are missing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.errors import NullproofError
from nullproof.tables.bins import MISSING, distinct, present
from nullproof.tables.columns import Column, number_array, without_cells
from nullproof.tables.schema import Kind
from nullproof.tables.series import (
    declared_categories,
    decoded,
    factorized,
    is_date64,
    mixes_kinds,
    number_series,
    pandas_numbers,
    pandas_texts,
    ticks,
)
from nullproof.tables.spellings import NOTHING_SPELLED, Found, Spellings
from nullproof.tables.values import (
    Exact,
    as_number,
    double,
    duration,
    exact,
    is_missing,
    is_number,
    moment,
    parsed_date,
    text,
    time_text,
)


def read_column(frame: Any, name: str, spellings: Spellings, *, retype: bool) -> Column:
    """Read one column of a frame of narwhals, or of pandas, as `read_series` does."""
    if not isinstance(frame, nw.DataFrame):
        # What its own type tells: narwhals takes longer to ask for it than to read a short column.
        native = frame[name]
        numbers = pandas_numbers(native)
        if numbers is not None:
            return number_column(name, numbers, spellings)
        texts = pandas_texts(native)
        if texts is not None:
            codes, values, declared = texts
            found = spellings.found(values, codes, by_type=declared)
            return _text_column(name, codes, values, spellings, found, declared, retype)
        return read_series(nw.from_native(native, series_only=True), spellings, retype=retype)
    return read_series(frame.get_column(name), spellings, retype=retype)


def read_series(
    series: nw.Series[Any], spellings: Spellings, *, retype: bool, holes: bool = False
) -> Column:
    """Read one narwhals column.

    Parameters
    ----------
    retype
        Whether a column of texts that are all numbers, dates or true/false becomes such. If not, it
        does only where a spelling of missing stood in the way.
    holes
        Whether the column has missing cells besides these.
    """
    name = series.name
    try:
        dtype = series.dtype
    except ValueError as problem:
        raise _uncountable(name, f"a type that narwhals does not know ({problem})") from problem
    if dtype == nw.Boolean:
        whole = number_series(series.cast(nw.Int8))
        known = np.nan_to_num(whole, nan=MISSING).astype(np.int8)
        return boolean_column(name, known, spellings)
    if dtype.is_numeric():
        return number_column(name, number_series(series), spellings)
    if dtype in (nw.Date, nw.Datetime, nw.Duration) or (dtype == nw.Unknown and is_date64(series)):
        moments = ticks(series)
        if dtype == nw.Duration:
            return Column(name, "number", numbers=moments)
        return date_column(name, moments, spellings)
    if dtype == nw.String and mixes_kinds(series):
        return column_of_cells(name, series.to_list(), spellings)
    if dtype == nw.String or dtype == nw.Categorical or dtype == nw.Enum:
        return _series_of_texts(series, dtype, spellings, retype=retype, holes=holes)
    if dtype == nw.Time:
        return _time_column(name, series, spellings)
    if dtype in (nw.List, nw.Array, nw.Object, nw.Unknown):
        return column_of_cells(name, series.to_list(), spellings)
    raise _uncountable(name, f"type {dtype}")


def _series_of_texts(
    series: nw.Series[Any], dtype: Any, spellings: Spellings, *, retype: bool, holes: bool
) -> Column:
    plain = decoded(series) if dtype == nw.Categorical else None
    if plain is not None:
        return read_series(plain, spellings, retype=False, holes=holes)
    codes, values = factorized(series)
    declared = declared_categories(series)
    found = spellings.found(values, codes, by_type=declared, holes=holes)
    return _text_column(series.name, codes, values, spellings, found, declared, retype)


def _uncountable(name: str, what: str) -> NullproofError:
    return NullproofError(
        f"column {name!r} has {what}, which cannot be counted; "
        "turn it into text, numbers or dates, or leave it out with ignore"
    )


def column_of_cells(
    name: str, cells: Sequence[Any], spellings: Spellings = NOTHING_SPELLED
) -> Column:
    """Read plain Python cells: one kind for all of them, candidates apart."""
    sets: dict[int, tuple[Any, ...]] = {}
    plain: list[Any] = []
    for row, cell in enumerate(cells):
        if isinstance(cell, np.ndarray) and not cell.ndim:
            cell = None if cell is np.ma.masked else cell.item()
        # A tuple with names, as Arrow's intervals are, is one nested value.
        if type(cell) is tuple or isinstance(cell, set | frozenset | list | np.ndarray):
            cell = _candidates(name, row, cell, sets, spellings.named)
        # Texts are looked at together, below.
        whole = isinstance(cell, str) or not _is_hole(cell, spellings.named)
        plain.append(cell if whole else None)
    found = Found()
    if any(isinstance(cell, str) and spellings.looks_missing(cell) for cell in plain):
        codes, values = _numbered(plain)
        given = {text(cell) for candidates in sets.values() for cell in candidates}
        found = spellings.declaring(spellings.declared | given).found(values, codes)
        if not sets and all(cell is None or isinstance(cell, str) for cell in plain):
            return _text_column(name, codes, values, spellings, found, (), retype=False)
        gone = {values[code] for code in found.gone}
        plain = [None if isinstance(cell, str) and cell in gone else cell for cell in plain]
    held = [cell for cell in plain if cell is not None]
    held += [cell for candidates in sets.values() for cell in candidates]
    if any(isinstance(cell, bytes | Mapping | tuple) for cell in held):
        raise NullproofError(
            f"column {name!r} holds bytes or nested values, which cannot be counted; "
            "turn it into text, numbers or dates, or leave it out with ignore"
        )
    to_number = _as_numbers(held)
    if to_number is not None:
        kind, write = to_number
        array = number_array([None if cell is None else write(cell) for cell in plain])
        sets = {row: tuple(write(c) for c in cells) for row, cells in sets.items()}
        read = number_column if kind == "number" else date_column
        column = read(name, array, spellings)
    else:
        codes, values = _numbered(plain)
        boolean = bool(held) and all(isinstance(cell, bool | np.bool_) for cell in held)
        column = Column(name, "boolean" if boolean else "category", codes=codes, values=values)
        sets = {row: tuple(text(c) for c in cells) for row, cells in sets.items()}
    column.sets, column.taken, column.kept = sets, found.taken, found.kept
    return column


def _numbered(cells: Sequence[Any]) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """The texts of plain cells as codes, -1 where one is missing, and the texts."""
    places: dict[str, int] = {}
    codes = [
        MISSING if cell is None else places.setdefault(text(cell), len(places)) for cell in cells
    ]
    return np.array(codes, dtype=np.int32), tuple(places)


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


def _time_column(name: str, series: nw.Series[Any], spellings: Spellings) -> Column:
    moments = ticks(series)
    found, codes = distinct(moments)
    codes[~present(moments)] = MISSING
    values = [time_text(int(x * 1000)) if x == x else "" for x in found.tolist()]
    named = replace(spellings, usual=False)
    return _text_column(name, codes, values, named, named.found(values, codes), (), retype=False)


def _text_column(
    name: str,
    codes: NDArray[Any],
    values: Sequence[str],
    spellings: Spellings,
    found: Found,
    declared: Sequence[str],
    retype: bool,
) -> Column:
    """Take out what is spelled missing, then decide the kind of the column by the texts that are left."""
    told: dict[str, Any] = {"taken": found.taken, "kept": found.kept}
    left = list(values)
    if found.gone:
        gone = {values[code] for code in found.gone}
        left = [value for value in values if value not in gone]
        declared = [value for value in declared if value not in gone]
        table = np.arange(-1, len(values), dtype=np.int32)
        table[np.array(found.gone) + 1] = MISSING
        spelled = table[codes + 1]
        retype = retype or (spellings.retypes and not declared and bool((spelled != codes).any()))
        codes = spelled
    if retype:
        parsed = _parsed(left, values)
        if parsed is not None:
            kind, numbers_ = parsed
            read = number_column if kind == "number" else date_column
            return replace(read(name, numbers_[codes], spellings), **told)
        if left and {value.strip().lower() for value in left} <= {"true", "false"}:
            lowered = [value.strip().lower() for value in values]
            return Column(name, "boolean", codes=codes, values=lowered, **told)
    return Column(name, "category", codes=codes, values=values, declared=declared, **told)


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


def boolean_column(name: str, codes: NDArray[np.int8], spellings: Spellings) -> Column:
    """A column of true (1) and false (0), -1 where missing, without what was named."""
    values = ("false", "true")
    named = [code for code, value in enumerate(values) if value in spellings.named]
    if named:
        codes = np.where(np.isin(codes, named), np.int8(MISSING), codes)
    return Column(name, "boolean", codes=codes, values=values)


def number_column(name: str, array: NDArray[Any], spellings: Spellings) -> Column:
    if array.dtype.kind == "f" and array.dtype.itemsize > np.dtype(np.float64).itemsize:
        array = array.astype(np.float64)
    return Column(name, "number", numbers=_without(array, spellings.numbers))


def date_column(name: str, moments: NDArray[Any], spellings: Spellings) -> Column:
    """A column of dates or time stamps, as microseconds, without those that were named."""
    return Column(name, "date", numbers=_without(moments, spellings.moments))


def _without(array: NDArray[Any], gone: Sequence[Exact]) -> NDArray[Any]:
    for number in gone:
        named = _equal(array, number)
        if named.any():
            array = without_cells(array, named)
    return array


def _equal(array: NDArray[Any], number: Exact) -> NDArray[np.bool_]:
    """Which numbers are this one; a decimal fraction is rounded as the array's are."""
    too_large = array.dtype.kind in "iu" and not -(2**63) < number < 2**63
    if array.dtype.kind == "O" or isinstance(number, Fraction) or too_large:
        return np.array([x == number for x in array.tolist()], dtype=bool)
    if array.dtype.kind == "f" and double(number) != number:
        # NumPy would round an integer that is no double.
        return np.zeros(len(array), dtype=bool)
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
