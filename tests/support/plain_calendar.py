"""The calendar in plain Python, of any year, and how dates and times of day are written."""

from __future__ import annotations


def _leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def month_days(year: int, month: int) -> int:
    """How many days a month has."""
    return (
        29
        if month == 2 and _leap(year)
        else (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]
    )


def days_of(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the calendar of today, extended to all years."""
    before = year - 1
    total = before * 365 + before // 4 - before // 100 + before // 400
    return total + sum(month_days(year, m) for m in range(1, month)) + day - 719_163


def date_of(days: int) -> tuple[int, int, int]:
    """Year, month and day of the days since 1970-01-01."""
    year = 1970 + days * 400 // 146_097
    while days_of(year, 1, 1) > days:
        year -= 1
    while days_of(year + 1, 1, 1) <= days:
        year += 1
    month = 1
    while month < 12 and days_of(year, month + 1, 1) <= days:
        month += 1
    return year, month, days - days_of(year, month, 1) + 1


def date_text(days: int) -> str:
    """As ISO 8601."""
    year, month, day = date_of(days)
    sign = "-" if year < 0 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


def time_text(nanos: int) -> str:
    """As ISO 8601: no fraction, one of microseconds, or one of nanoseconds."""
    seconds, part = divmod(nanos, 10**9)
    fraction = "" if not part else f".{part:09}" if part % 1000 else f".{part // 1000:06}"
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{fraction}"
