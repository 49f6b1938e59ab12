"""Five kinds of values, and when two cells hold the same value (docs/values.md, as code).

Text, integers of 64 bits, floats of 64 bits, datetimes (microseconds, years 1 to 9999) and booleans. Every
value has one text, and values are the same if their texts are. `to_kind` says what becomes of every
other type: it turns into one of the five, or is rejected by the name of its column.
"""

from __future__ import annotations

import datetime as dt
import math
import numbers
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from nullproof.errors import NullproofError

if TYPE_CHECKING:
    import polars as pl

# What a column is; "code" are integers that a user has numbered himself.
Kind = Literal["category", "boolean", "number", "date", "code"]
MISSING = -1
# Up to here, doubles represent all whole numbers exactly.
LARGEST_DOUBLE_INTEGER = 2**53
_LARGEST = 2**63
_MOST_DIGITS = 15
_LONGEST = 300
DAY = 86_400_000_000
_EPOCH = dt.datetime(1970, 1, 1)
_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_800_000_000
_SPACE = r"[ \t\r\n]*"
_NUMBER = re.compile(
    rf"{_SPACE}[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf){_SPACE}", re.ASCII | re.IGNORECASE
)
_INTEGER = re.compile(rf"{_SPACE}[+-]?\d+{_SPACE}", re.ASCII)
_DATE = re.compile(
    r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.(\d{1,9}))?)?(Z|[+-]\d\d(:?[0-5]\d)?)?)?", re.ASCII
)


def text(value: Any) -> str:
    """Write a value the one way that values are compared: ``1``, ``1.0`` and ``"1"`` are the same.

    Examples
    --------
    >>> text(1.0), text(2**53 + 1), text(0.1), text(True), text(dt.date(2020, 1, 31))
    ('1', '9007199254740993', '0.1', 'true', '2020-01-31')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, dt.timedelta | np.timedelta64):
        value = seconds(value)
    if isinstance(value, numbers.Real | Decimal):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    if isinstance(value, dt.date | np.datetime64):
        return date_text(moment(value))
    if isinstance(value, dt.time):
        return value.isoformat()
    return str(value)


def is_number(value: Any) -> bool:
    """Return whether a Python value is a number; true and false are not."""
    kinds = numbers.Real | Decimal
    return isinstance(value, kinds) and not isinstance(value, bool | np.bool_ | np.timedelta64)


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number, of Python or of NumPy; True and 1.0 are none."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_missing(value: Any) -> bool:
    """Return whether a Python cell is None, NaN, NaT or NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType", "MaskedConstant"):
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    if isinstance(value, Decimal):
        # A signalling NaN must not be compared.
        return value.is_nan()
    return isinstance(value, numbers.Real) and bool(value != value)


def as_number(written: str) -> int | float | None:
    """Return the number that a text writes; None if it writes none.

    An integer is one of 64 bits, or a larger one that a double holds exactly.
    """
    # Cheaper than a failing match: the only number that begins with a letter is inf.
    first = written[:1]
    if (first.isalpha() and first not in "iI") or not _NUMBER.fullmatch(written):
        return None
    if not _INTEGER.fullmatch(written):
        return float(written)
    if len(written) > _LONGEST:
        return None
    whole = int(written)
    if -_LARGEST <= whole < _LARGEST:
        return whole
    return float(whole) if int(float(whole)) == whole else None


def parsed_date(written: str) -> int | None:
    """Return the moment that a text writes as ISO 8601 does, in microseconds since 1970 in UTC."""
    found = _DATE.fullmatch(written.strip())
    # Python would truncate digits beyond microseconds.
    if found is None or (found[4] or "").ljust(9, "0")[6:] != "000":
        return None
    try:
        whole = moment(dt.datetime.fromisoformat(found[0]))
    except ValueError:
        return None
    return whole if _FIRST <= whole < _LAST else None


def moment(value: Any) -> int:
    """Return a date or time stamp as microseconds since 1970, in UTC."""
    if isinstance(value, np.datetime64):
        return int(value.astype("datetime64[us]").astype(np.int64))
    if not isinstance(value, dt.datetime):
        return int(value.toordinal() - _EPOCH.toordinal()) * DAY
    offset = value.utcoffset() or dt.timedelta()
    plain = value.replace(tzinfo=None, fold=0) - _EPOCH - offset
    return int(plain // dt.timedelta(microseconds=1))


def seconds(value: Any) -> float:
    """Return the length of a duration in seconds."""
    if isinstance(value, np.timedelta64):
        return float(value / np.timedelta64(1, "s"))
    return float(value.total_seconds())


def date_text(number: float) -> str:
    """Write the moment at a place on the line: the date, and the time unless it is midnight.

    Examples
    --------
    >>> date_text(0), date_text(1), date_text(10**17)
    ('1970-01-01', '1970-01-01 00:00:00.000001', '5138-11-16 09:46:40')
    """
    written = at_microseconds(number).isoformat(sep=" ")
    return written.removesuffix(" 00:00:00")


def at_microseconds(number: float) -> dt.datetime:
    """Return the time stamp at a place on the line; the last or first one beyond what Python has."""
    whole = min(max(round(number), _FIRST), _LAST - 1)
    return _EPOCH + dt.timedelta(microseconds=whole)


def in_order(values: Iterable[str]) -> tuple[str, ...]:
    """Sort numbers by size and before texts, so that a domain never depends on the order of rows."""
    ranked, words = [], []
    for value in values:
        number = as_number(value)
        if number is None or math.isinf(number):
            words.append(value)
        else:
            ranked.append((number, value))
    return (*(value for _, value in sorted(ranked)), *sorted(words))


@dataclass
class Column:
    """One column as read, whatever it was read from.

    Numbers, dates (microseconds since 1970) and codes are ``numbers``: integers, of which a ``mask`` says
    which are known if not all are, or floats with NaN where missing. Categories and booleans are ``codes``,
    positions in ``values``, -1 where missing. ``sets`` has by row the candidates of cells that have several
    (such cells are missing otherwise), ``declared`` the values that the type of the column declares,
    ``taken`` the spellings that were taken as missing, ``kept`` doubtful ones that were kept as values.
    """

    name: str
    kind: Kind
    numbers: NDArray[Any] | None = None
    codes: NDArray[Any] | None = None
    values: Sequence[str] = ()
    mask: NDArray[np.bool_] | None = None
    sets: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    declared: Sequence[str] = ()
    taken: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.numbers if self.numbers is not None else self.codes)  # type: ignore[arg-type]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which cells hold one value."""
        if self.numbers is None:
            assert self.codes is not None
            return np.asarray(self.codes >= 0)
        if self.numbers.dtype.kind == "f":
            return np.asarray(~np.isnan(self.numbers))
        return np.ones(len(self), dtype=bool) if self.mask is None else self.mask

    @property
    def used(self) -> list[int]:
        """The codes that some cell holds."""
        assert self.codes is not None
        known = self.codes[self.codes >= 0] if self.codes.min(initial=0) < 0 else self.codes
        return np.flatnonzero(np.bincount(known)).tolist()

    @property
    def texts(self) -> list[str]:
        """The values that some cell holds, of categories and booleans."""
        return [self.values[code] for code in self.used]

    @property
    def held(self) -> NDArray[Any]:
        """The known numbers."""
        assert self.numbers is not None
        if self.numbers.dtype.kind != "f" and self.mask is None:
            return self.numbers
        return self.numbers[self.known]

    def cell(self, row: int) -> Any:
        """Return one known cell: its number, or its text."""
        return self.values[self.codes[row]] if self.numbers is None else self.numbers[row].item()  # type: ignore[index]

    def rows(self, rows: NDArray[np.intp]) -> Column:
        """Return the cells of some rows; only whole columns have candidates."""
        numbers_, codes, mask = (
            None if array is None else array[rows]
            for array in (self.numbers, self.codes, self.mask)
        )
        return replace(self, numbers=numbers_, codes=codes, mask=mask)

    def without(self, gone: NDArray[np.bool_]) -> Column:
        """Return the column with some of its numbers missing."""
        assert self.numbers is not None
        if self.numbers.dtype.kind == "f":
            return replace(self, numbers=np.where(gone, math.nan, self.numbers))
        return replace(self, mask=self.known & ~gone)

    def write(self, number: Any) -> str:
        """Write one of its numbers as a value."""
        return date_text(number) if self.kind == "date" else text(number)


def distinct(array: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the sorted distinct numbers and the place of each cell among them."""
    if array.dtype.kind in "iu" and array.size:
        low, high = int(array.min()), int(array.max())
        if high - low < 2**16 and high < _LARGEST:
            shifted = np.subtract(array, low, dtype=np.int64).astype(np.int32)
            n_rows = np.bincount(shifted, minlength=high - low + 1)
            places = (n_rows > 0).cumsum(dtype=np.int32) - 1
            return np.flatnonzero(n_rows) + low, places[shifted]
    found, inverse = np.unique(array, return_inverse=True)
    return found, inverse.astype(np.int32)


def unsupported(name: str, what: str) -> NullproofError:
    """Return the error for a column of a type that cannot be counted."""
    return NullproofError(
        f"column {name!r} has {what}, which cannot be counted; turn it into text, numbers or dates, or "
        "leave it out with ignore"
    )


def to_kind(series: pl.Series) -> pl.Series:
    """Turn a series of any type into text, Int64, Float64, Datetime("us") or Boolean, or reject it.

    Categoricals and Enums stay what they are.
    """
    import polars as pl

    dtype, name = series.dtype, series.name
    if dtype in (pl.String, pl.Int64, pl.Float64, pl.Boolean, pl.Categorical, pl.Enum):
        return series
    if dtype.is_integer():
        whole = series.cast(pl.Int64, strict=False)
        if whole.null_count() > series.null_count():
            raise unsupported(name, "integers beyond 64 bits")
        return whole
    if dtype.is_float():
        return series.cast(pl.Float64)
    if dtype == pl.Null:
        return series.cast(pl.String)
    if dtype == pl.Date or dtype == pl.Datetime:
        return _datetimes(series)
    if dtype.is_decimal():
        return _decimals(series)
    if dtype == pl.Duration:
        per_second = {"ns": 1e9, "us": 1e6, "ms": 1e3}[getattr(dtype, "time_unit", "us")]
        return series.to_physical() / per_second
    if dtype == pl.Time:
        _refuse_lost(name, series.to_physical() % 1000)
        return pl.Series(name, [None if x is None else x.isoformat() for x in series], pl.String)
    raise unsupported(name, f"type {dtype}")


def _decimals(series: pl.Series) -> pl.Series:
    """Return decimals as floats, which hold 15 digits; whole ones as integers."""
    import polars as pl

    low, high = series.min(), series.max()
    scale = 10 ** (getattr(series.dtype, "scale", 0) or 0)
    largest = max((abs(int(x * scale)) for x in (low, high) if x is not None), default=0)
    if scale == 1 and largest < _LARGEST:
        return series.cast(pl.Int64)
    if largest >= 10**_MOST_DIGITS:
        raise unsupported(series.name, f"decimals of more than {_MOST_DIGITS} digits")
    # By way of their text, which every version of polars rounds to the nearest double.
    return series.cast(pl.String).cast(pl.Float64)


def _datetimes(series: pl.Series) -> pl.Series:
    """Return dates and time stamps as microseconds in UTC, if that loses nothing."""
    import polars as pl

    unit = getattr(series.dtype, "time_unit", "D")
    # Time stamps with a zone are stored in UTC. Integers, since polars ends in a panic at far years.
    ticks = series.to_physical().cast(pl.Int64)
    if unit == "ns":
        _refuse_lost(series.name, ticks % 1000)
        ticks, unit = ticks // 1000, "us"
    factor = {"D": DAY, "ms": 1000, "us": 1}[unit]
    low, high = (int(end) for end in (ticks.min() or 0, ticks.max() or 0))  # type: ignore[arg-type]
    if not (low * factor >= _FIRST and high * factor < _LAST):
        raise unsupported(series.name, "years before 1 or after 9999")
    return (ticks * factor).cast(pl.Datetime("us"))


def _refuse_lost(name: str, rest: pl.Series) -> None:
    if (rest != 0).any():
        raise unsupported(name, "nanoseconds that microseconds do not hold")
