"""One text for each value: cells are the same if and only if their texts are, whatever their types."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nullproof import CountIndex, NullproofError
from nullproof.tables.values import (
    LARGEST_DOUBLE_INTEGER,
    as_number,
    at_microseconds,
    date_text,
    double,
    duration,
    exact,
    in_order,
    is_missing,
    is_number,
    microseconds,
    moment,
    parsed_date,
    text,
    time_text,
)

LARGE = 2**53 + 1
EPOCH = dt.datetime(1970, 1, 1)


@pytest.mark.parametrize(
    ("values", "written"),
    [
        (["u", np.str_("u")], "u"),
        ([True, np.True_], "true"),
        ([False, np.False_], "false"),
        ([1, 1.0, np.int8(1), np.float32(1), Decimal("1.00"), Fraction(1), "1"], "1"),
        ([0.0, -0.0, 0, Decimal("-0.0"), Fraction(1, 10**400)], "0"),
        ([0.1, Decimal("0.1"), Fraction(1, 10), np.float64(0.1)], "0.1"),
        ([np.float32(0.1), 0.10000000149011612], "0.10000000149011612"),
        ([1.5, Decimal("1.5"), Fraction(3, 2), np.float32(1.5)], "1.5"),
        ([1 / 3, Fraction(1, 3)], "0.3333333333333333"),
        ([-2 / 3, Fraction(-2, 3)], "-0.6666666666666666"),
        ([1e-6, Fraction(1, 10**6), Decimal("0.000001")], "1e-06"),
        ([LARGE, np.int64(LARGE), Decimal(LARGE), Fraction(LARGE)], "9007199254740993"),
        ([1e16, 10**16], "10000000000000000"),
        ([math.inf, np.float32("inf"), Decimal("inf"), Fraction(10**400, 3)], "inf"),
        ([-math.inf, Fraction(-(10**400), 3)], "-inf"),
        ([dt.timedelta(days=1, seconds=2, microseconds=3), 86_402_000_003], "86402000003"),
        ([np.timedelta64(1500, "ns"), pd.Timedelta(1500, "ns"), Fraction(3, 2)], "1.5"),
        ([np.timedelta64(-1050, "ns"), pd.Timedelta(-1050, "ns")], "-1.05"),
        ([np.timedelta64(2**62 + 1, "ns")], f"{(2**62 + 1) // 1000}.{(2**62 + 1) % 1000:03d}"),
        ([dt.date(2020, 1, 2), dt.datetime(2020, 1, 2), np.datetime64("2020-01-02")], "2020-01-02"),
        ([dt.datetime(2020, 1, 2, 3, 4, 5)], "2020-01-02 03:04:05"),
        ([dt.time(3, 4, 5)], "03:04:05"),
        ([dt.time(23, 59, 58, 7)], "23:59:58.000007"),
        ([dt.time()], "00:00:00"),
        ([("u", 1)], "('u', 1)"),
    ],
)
def test_values_that_are_the_same_have_one_text(values: list[Any], written: str) -> None:
    """Numbers by size, in whatever type; durations in microseconds, moments as dates."""
    assert [text(value) for value in values] == [written] * len(values)


def test_a_column_of_fractions_is_one_of_doubles() -> None:
    """Fractions count as the nearest doubles, and those that differ are not mixed up."""
    cells = [Fraction(3331, 10_000), Fraction(3332, 10_000), Fraction(1, 3), None]
    doubles = [None if cell is None else float(cell) for cell in cells]
    labels = ["a", "b", "a", "b"]
    for binning in ("none", "uniform"):
        found, expected = (
            CountIndex.from_table({"x": column, "y": labels}, "y", binning=binning)
            for column in (cells, doubles)
        )
        assert found.schema.features[0].values == ("0.3331", "0.3332", "0.3333333333333333")
        assert found == expected


@pytest.mark.parametrize("sign", [1, -1])
def test_integers_of_4300_digits(sign: int) -> None:
    """So many can be written and read, and not one more."""
    longest = sign * (10**4300 - 1)
    assert as_number(text(longest)) == longest
    assert as_number(f" {sign * int('9' * 4300)}\n") == longest
    assert as_number(f"{sign * 9}{'9' * 4300}") is None
    with pytest.raises(NullproofError, match="more than 4,300 digits"):
        text(sign * 10**4300)
    assert text(43_001 * sign) == str(43_001 * sign)


def test_the_largest_integer_that_doubles_tell_apart() -> None:
    """It and those below are doubles; the next one is not."""
    largest = LARGEST_DOUBLE_INTEGER
    assert [int(float(x)) - x for x in (largest - 1, largest)] == [0, 0]
    assert float(largest + 1) == float(largest)


def test_what_is_a_number() -> None:
    """Numbers of all types, but neither true nor false, nor durations, nor texts."""
    for number in (1, 1.5, np.int8(1), np.float32(1), Decimal(1), Fraction(1, 3), math.nan):
        assert is_number(number)
    for other in (True, np.True_, "1", None, np.timedelta64(1, "s"), dt.timedelta(1), dt.date.min):
        assert not is_number(other)


def test_the_number_that_counts() -> None:
    """Whole ones as integers, of any size; others as doubles, but thousandths are exact."""
    for whole in (LARGE, np.int64(LARGE), Decimal(LARGE), Fraction(LARGE)):
        assert type(exact(whole)) is int
        assert exact(whole) == LARGE
    for half in (Fraction(LARGE, 2), Fraction(-LARGE, 1000), Fraction(LARGE, 8)):
        assert exact(half) == half
    for number in (Decimal("0.1"), 0.1, np.float64(0.1)):
        assert type(exact(number)) is float
        assert exact(number) == 0.1
    for third in (Fraction(LARGE, 3), Fraction(LARGE, 1001), Fraction(LARGE, 2000)):
        assert exact(third) == third.numerator / third.denominator
    assert exact(Decimal("-inf")) == -math.inf
    assert [double(x) for x in (10**400, -(10**400), LARGE)] == [math.inf, -math.inf, LARGE - 1]


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("7", 7),
        ("+7", 7),
        ("\t-07 ", -7),
        (str(LARGE), LARGE),
        ("7.", 7.0),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1E3", 1000.0),
        ("1e400", math.inf),
        ("inf", math.inf),
        ("-INF", -math.inf),
        ("Inf", math.inf),
        ("", None),
        ("abc", None),
        ("e3", None),
        ("ice", None),
        ("x7", None),
        ("7x", None),
        ("nan", None),
        ("1_000", None),
        ("٣", None),
        ("+", None),
        ("1e", None),
        ("7\v", None),
    ],
)
def test_texts_that_write_numbers(written: str, number: float | None) -> None:
    """Digits, a point, an exponent or inf; whole numbers are integers."""
    found = as_number(written)
    assert found == number
    assert type(found) is type(number)


def test_domains_are_in_order() -> None:
    """Numbers by size, then texts; infinite numbers are among the texts."""
    ordered = ("-3", "2.5", "9", "10", str(10**400), "-inf", "1e400", "b", "inf")
    for values in (ordered, ordered[::-1]):
        assert in_order(values) == ordered


def test_missing_cells() -> None:
    """None, NaN, NaT and NA of all libraries, and nothing else."""
    nothing = [None, math.nan, np.float32("nan"), pd.NA, pd.NaT, Decimal("nan"), Decimal("snan")]
    nothing += [np.datetime64("NaT"), np.timedelta64("NaT")]
    assert all(map(is_missing, nothing))
    something = [0, 0.0, False, "", "nan", Decimal(0), math.inf, Fraction(1, 3), (), dt.date.min]
    something += [np.datetime64("2020-01-01"), np.timedelta64(0, "s"), np.int8(0)]
    assert not any(map(is_missing, something))


@pytest.mark.parametrize(
    "when",
    [
        EPOCH,
        dt.datetime(1, 1, 1),
        dt.datetime(1969, 12, 31, 23, 59, 59, 999_999),
        dt.datetime(2020, 2, 29, 13, 14, 15, 161_718),
        dt.datetime(9999, 12, 31, 1, 2, 3, 4),
    ],
)
def test_moments_on_the_line(when: dt.datetime) -> None:
    """Microseconds since 1970 in UTC, there and back, and as text."""
    place = (when - EPOCH) // dt.timedelta(microseconds=1)
    assert moment(when) == place
    assert type(moment(when)) is int
    assert moment(np.datetime64(when)) == place
    assert moment(when.date()) == place - (when - dt.datetime.combine(when, dt.time())) // (
        dt.timedelta(microseconds=1)
    )
    zone = dt.timezone(dt.timedelta(hours=-5, minutes=-30))
    assert moment(when.replace(tzinfo=zone)) == place + 5 * 3_600_000_000 + 30 * 60_000_000
    assert at_microseconds(place) == when
    written = str(when) if when.time() != dt.time() else str(when.date())
    assert (date_text(place), parsed_date(written)) == (written, place)
    assert date_text(float(place)) == written or abs(place) > LARGEST_DOUBLE_INTEGER


def test_nanoseconds() -> None:
    """Moments and durations are exact to the nanosecond, and have nine digits where they need them."""
    stamp = pd.Timestamp("2020-01-02 03:04:05.000006007")
    place = moment(dt.datetime(2020, 1, 2, 3, 4, 5, 6)) + Fraction(7, 1000)
    assert moment(stamp) == moment(np.datetime64("2020-01-02T03:04:05.000006007")) == place
    assert date_text(place) == "2020-01-02 03:04:05.000006007"
    assert parsed_date("2020-01-02 03:04:05.000006007") == place
    assert duration(pd.Timedelta(1_000_000_007, "ns")) == 1_000_000 + Fraction(7, 1000)
    assert time_text(3_723_000_000_000) == "01:02:03"
    assert time_text(3_723_000_001_000) == "01:02:03.000001"
    assert time_text(3_723_000_001_001) == "01:02:03.000001001"
    assert time_text(86_399_500_000_000) == "23:59:59.500000"
    beyond = at_microseconds(10**18)
    assert (type(beyond), moment(beyond)) == (np.datetime64, 10**18)


UNITS: dict[str, Any] = {
    "ns": Fraction(1, 1000),
    "us": 1,
    "ms": 1000,
    "s": 10**6,
    "m": 60 * 10**6,
    "h": 60 * 60 * 10**6,
    "D": 24 * 60 * 60 * 10**6,
    "W": 7 * 24 * 60 * 60 * 10**6,
}


@pytest.mark.parametrize("unit", UNITS)
def test_units_of_time(unit: Any) -> None:
    """NumPy's units, and so many of them at a time as its types say."""
    for ticks in (0, 1, -1, 12_345):
        assert microseconds(ticks, unit) == ticks * UNITS[unit]
        for count in (1, 25):
            expected = ticks * count * UNITS[unit]
            assert duration(np.timedelta64(ticks, (unit, count))) == expected
            assert moment(np.datetime64(ticks, (unit, count))) == expected


def test_units_that_are_no_multiple() -> None:
    """Months and years begin on their first day; what is finer than nanoseconds is cut off."""
    assert moment(np.datetime64("2001")) == moment(dt.date(2001, 1, 1))
    assert moment(np.datetime64("2001-05")) == moment(dt.date(2001, 5, 1))
    assert moment(np.datetime64(4, ("Y", 10))) == moment(dt.date(2010, 1, 1))
    unit: Any
    for unit, per in (("ps", 10**3), ("fs", 10**6), ("as", 10**9)):
        assert moment(np.datetime64(1_234 * per + per // 2, unit)) == Fraction(1234, 1000)
        assert duration(np.timedelta64(1_234 * per + per // 2, unit)) == Fraction(1234, 1000)
        assert duration(np.timedelta64(50 * per, (unit, 25))) == Fraction(50 * 25, 1000)


@pytest.mark.parametrize(
    "written",
    [
        "2020-02-29",
        "2020-02-29 13:14",
        "2020-02-29T13:14:15",
        "2020-02-29 13:14:15.500000",
        "2020-02-29 13:14:15Z",
        "2020-02-29T00:00:00+02:00",
        "2020-02-29T00:00:00-02:30",
        "2020-02-29T13:14:15+0230",
        "2020-02-29T13:14:15+23:59",
        "1969-12-31T23:59:59-00:45",
    ],
)
def test_dates_as_iso_8601_writes_them(written: str) -> None:
    """Python reads the same moment."""
    when = dt.datetime.fromisoformat(written)
    if when.tzinfo is not None:
        when = when.astimezone(dt.UTC).replace(tzinfo=None)
    expected = (when - EPOCH) // dt.timedelta(microseconds=1)
    assert parsed_date(written) == expected
    assert parsed_date(f" {written}\n") == expected


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("2020-02-29 13:14:15.5", "2020-02-29 13:14:15.500000"),
        ("2020-02-29 13:14+02", "2020-02-29 11:14:00"),
        ("2020-02-30", None),
        ("2020-13-01", None),
        ("2020-02-29 24:00", None),
        ("2020-02-29 13", None),
        ("2020-02-29 13:14+24:00", None),
        ("2020-02-29 13:14-24:00", None),
        ("2020-02-29 13:14+10:60", None),
        ("2020-02-29 13:14+10:75", None),
        ("2020-2-9", None),
        ("x", None),
    ],
)
def test_dates_that_python_reads_otherwise(written: str, same: str | None) -> None:
    """Zones of whole hours, and few digits of a second; but no day, hour or zone that does not exist."""
    assert parsed_date(written) == (None if same is None else parsed_date(same))
    assert same is None or parsed_date(same) is not None
