"""When are two cells the same value? docs/values.md, as code.

Every value has one text, and values are the same if their texts are: so the same data from a CSV
file, a database or any data frame library have the same codes. Whole numbers of any size are exact,
other numbers are doubles, moments and durations are exact to the nanosecond.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import numbers
import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from nullproof.errors import NullproofError

Exact: TypeAlias = int | float | Fraction

_SPACE = r"[ \t\r\n]*"
NUMBER = re.compile(
    rf"{_SPACE}[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf){_SPACE}", re.ASCII | re.IGNORECASE
)
DATE = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)([ T]([01]\d|2[0-3]):([0-5]\d)(:([0-5]\d)(\.(\d{1,9}))?)?"
    r"(Z|([+-])(\d\d)(:?(\d\d))?)?)?",
    re.ASCII,
)
# Up to here doubles tell all neighbouring whole numbers apart.
LARGEST_DOUBLE_INTEGER = 2**53
DAY = 86_400_000_000
_INTEGER = re.compile(rf"{_SPACE}[+-]?\d+{_SPACE}", re.ASCII)
# What Python itself turns into text and back.
_MOST_DIGITS = 4_300
_TOO_LARGE = 10**_MOST_DIGITS
_EPOCH = dt.date(1970, 1, 1).toordinal()


def text(value: Any) -> str:
    """Write a value the one way that values are compared: ``1``, ``1.0`` and ``"1"`` are the same.

    Examples
    --------
    >>> text(1.0), text(2**53 + 1), text(1e16), text(0.1)
    ('1', '9007199254740993', '10000000000000000', '0.1')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(float(value))
    if is_number(value):
        return _number_text(exact(value))
    if isinstance(value, dt.timedelta | np.timedelta64):
        return _number_text(duration(value))
    if isinstance(value, dt.date | np.datetime64):
        return date_text(moment(value))
    if isinstance(value, dt.time):
        return time_text(_nanoseconds_of_day(value))
    return str(value)


def is_number(value: Any) -> bool:
    """Whether a plain Python value is a number; true and false are not."""
    kinds = numbers.Real | decimal.Decimal
    return isinstance(value, kinds) and not isinstance(value, bool | np.bool_ | np.timedelta64)


def exact(value: Any) -> Exact:
    """The number that counts: a whole one as an integer, another as the nearest double."""
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, decimal.Decimal):
        return int(value) if value.is_finite() and value == value.to_integral() else float(value)
    if isinstance(value, Fraction) and 1000 % value.denominator == 0:
        # So many digits as a duration has, in microseconds, are exact.
        return int(value) if value.denominator == 1 else value
    return double(value)


def double(value: Exact) -> float:
    """The nearest double, as bins compare numbers; infinite beyond the largest."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def as_number(written: str) -> int | float | None:
    """The number that a text writes, exact if it is an integer; None if it writes none."""
    # Cheaper than a failing match: of what begins with a letter only inf is a number.
    first = written[:1]
    if first.isalpha() and first not in "iI":
        return None
    if not NUMBER.fullmatch(written):
        return None
    if _INTEGER.fullmatch(written):
        return int(written) if len(written.strip().lstrip("+-")) <= _MOST_DIGITS else None
    return float(written)


def _number_text(number: Exact) -> str:
    if isinstance(number, int):
        if not -_TOO_LARGE < number < _TOO_LARGE:
            raise _too_long()
        return str(number)
    if isinstance(number, float):
        return str(int(number)) if number.is_integer() else repr(number)
    # Durations to the nanosecond: fractions of a thousand, written to the last digit.
    whole, rest = divmod(abs(number) * 1000, 1000)
    return f"{'-' if number < 0 else ''}{whole}.{int(rest):03d}".rstrip("0")


def _too_long() -> NullproofError:
    return NullproofError(
        f"a cell holds an integer of more than {_MOST_DIGITS:,} digits, which cannot be counted; "
        "turn the column into text, or leave it out with ignore"
    )


def in_order(values: Iterable[str]) -> tuple[str, ...]:
    """Sort numbers by size and before texts, so that a domain never depends on the order of rows."""
    numbers_, words = [], []
    for value in values:
        number = as_number(value)
        if number is None or (isinstance(number, float) and math.isinf(number)):
            words.append(value)
        else:
            numbers_.append((number, value))
    return (*(value for _, value in sorted(numbers_)), *sorted(words))


def is_missing(value: Any) -> bool:
    """Whether a plain Python cell is None, NaN, NaT or NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    if isinstance(value, decimal.Decimal):
        # A signalling NaN must not be compared.
        return value.is_nan()
    return isinstance(value, numbers.Real) and bool(value != value)


# Moments lie on a line of microseconds since 1970, in UTC where a zone is given.


def moment(value: Any) -> int | Fraction:
    """Where a date or time stamp lies on the line of microseconds."""
    if isinstance(value, np.datetime64):
        return _in_microseconds(value, "datetime64")
    day = int(value.toordinal() - _EPOCH) * DAY
    if not isinstance(value, dt.datetime):
        return day
    offset = value.utcoffset() or dt.timedelta()
    clock = dt.timedelta(
        hours=value.hour,
        minutes=value.minute,
        seconds=value.second,
        microseconds=value.microsecond,
    )
    # pandas' time stamps have nanoseconds besides.
    return _with_nanoseconds(
        day + (clock - offset) // dt.timedelta(microseconds=1), getattr(value, "nanosecond", 0)
    )


def duration(value: Any) -> int | Fraction:
    """The length of a duration in microseconds."""
    if isinstance(value, np.timedelta64):
        return _in_microseconds(value, "timedelta64")
    whole = value.days * DAY + value.seconds * 1_000_000 + value.microseconds
    return _with_nanoseconds(int(whole), getattr(value, "nanoseconds", 0))


def _in_microseconds(value: Any, kind: str) -> int | Fraction:
    unit, count = np.datetime_data(value.dtype)
    if unit in ("ps", "fs", "as"):
        value, unit, count = value.astype(f"{kind}[ns]"), "ns", 1
    if unit in ("Y", "M"):
        value, unit, count = value.astype(f"{kind}[D]"), "D", 1
    return microseconds(int(value.astype(np.int64)) * count, unit)


NANOSECONDS = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
    "D": 86_400_000_000_000,
    "W": 604_800_000_000_000,
}


def microseconds(ticks: int, unit: str) -> int | Fraction:
    """A number of some unit of time in microseconds."""
    return _with_nanoseconds(0, ticks * NANOSECONDS[unit])


def _with_nanoseconds(whole: int, nanoseconds: int) -> int | Fraction:
    more, rest = divmod(nanoseconds, 1000)
    return whole + more + Fraction(rest, 1000) if rest else whole + more


def parsed_date(written: str) -> int | Fraction | None:
    """The moment that a text writes as ISO 8601 does; None if it writes none."""
    found = DATE.fullmatch(written.strip())
    if found is None:
        return None
    year, month, day, _, hour, minute, _, second, _, fraction, zone, sign, hours, _, minutes = (
        found.groups()
    )
    try:
        days = dt.date(int(year), int(month), int(day)).toordinal() - _EPOCH
    except ValueError:
        return None
    seconds = int(hour or 0) * 3600 + int(minute or 0) * 60 + int(second or 0)
    if zone and sign:
        offset = int(hours) * 3600 + int(minutes or 0) * 60
        if offset >= 86_400 or int(minutes or 0) >= 60:
            return None
        seconds -= offset if sign == "+" else -offset
    nanoseconds = int((fraction or "").ljust(9, "0"))
    return _with_nanoseconds(days * DAY + seconds * 1_000_000, nanoseconds)


def date_text(number: Exact) -> str:
    """Write the moment at a place on the line: the date, and the time unless it is midnight.

    Examples
    --------
    >>> date_text(0), date_text(1), date_text(10**17)
    ('1970-01-01', '1970-01-01 00:00:00.000001', '5138-11-16 09:46:40')
    """
    day, rest = divmod(number if isinstance(number, Fraction) else int(number), DAY)
    written = str(np.datetime64(int(day), "D"))
    return f"{written} {time_text(int(rest * 1000))}" if rest else written


def time_text(nanoseconds: int) -> str:
    """Write a time of day with as many digits as it has: none, six or nine."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    written = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    if not rest:
        return written
    return f"{written}.{rest:09d}" if rest % 1000 else f"{written}.{rest // 1000:06d}"


def _nanoseconds_of_day(value: dt.time) -> int:
    seconds = value.hour * 3600 + value.minute * 60 + value.second
    return (seconds * 1_000_000 + value.microsecond) * 1000


def at_microseconds(number: Exact) -> Any:
    """The time stamp at a place on the line; one of NumPy beyond what Python's can hold."""
    when = round(number)
    try:
        if isinstance(number, Fraction) and when != number:
            return np.datetime64(int(number * 1000), "ns")
        return dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=when)
    except OverflowError:
        return np.datetime64(when, "us")
