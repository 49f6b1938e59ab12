"""Which texts are numbers, dates or booleans, and how people write numbers and dates in files.

A column of texts becomes numbers, dates or booleans if all of its known texts are such. Files also write
``3,14`` and ``$1,200`` and ``12 %`` and ``31/01/2024``: such a format is found for a whole column or not
at all, and turns each text into a plain one. The index keeps the formats of its columns, so that points
are read alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from nullproof.data.missing import Found, Rule
from nullproof.data.types import LARGEST_DOUBLE_INTEGER, as_number, parsed_date
from nullproof.errors import notice
from nullproof.words import some

if TYPE_CHECKING:
    import polars as pl

_SAMPLE = 64
_MANY_ODD = 1000
_BOOLEANS = {"true": True, "false": False}


def type_texts(series: pl.Series, rule: Rule) -> tuple[pl.Series, Found] | None:
    """Turn texts into numbers, dates or booleans if all known ones are such; None if they are not."""
    first = series.head(4 * _SAMPLE).drop_nulls().head(_SAMPLE).to_list()
    plain = [value for value in first if not rule.looks_missing(value)]
    parsers: tuple[tuple[Callable[[str], Any], Any], ...] = (
        (as_number, _numbers),
        (parsed_date, _dates),
        (_boolean, _booleans),
    )
    for parse, typed in parsers:
        if all(parse(value) is not None for value in plain):
            found: tuple[pl.Series, Found] | None = typed(series, rule)
            if found is not None or plain:
                return found
    return None


def _numbers(series: pl.Series, rule: Rule) -> tuple[pl.Series, Found] | None:
    import polars as pl

    floats = series.cast(pl.Float64, strict=False)
    odd = series.filter(floats.is_null() | ~floats.is_finite()).drop_nulls().unique()
    if len(odd) > _MANY_ODD:
        return None
    found = Found()
    if len(odd):
        spelled = [value for value in odd.to_list() if rule.looks_missing(value)]
        if any(as_number(value) is None for value in {*odd.to_list()}.difference(spelled)):
            return None
        taken = _found(series, rule, spelled)
        if taken is None:
            return None
        found = taken
        series = series.set(series.is_in([*found.gone]), None).str.strip_chars(" \t\r\n")
        floats = series.cast(pl.Float64, strict=False)
    if series.null_count() == len(series):
        return None
    whole = series.cast(pl.Int64, strict=False)
    if whole.null_count() == series.null_count():
        return whole, found
    # Large integers beside fractions, or beyond 64 bits, would be rounded.
    large = series.filter(floats.abs() > LARGEST_DOUBLE_INTEGER).unique().head(_MANY_ODD)
    digits = [value for value in large.to_list() if value.lstrip("+-").isdigit()]
    if any(as_number(value) is None or int(float(value)) != int(value) for value in digits):
        return None
    return floats, found


def _dates(series: pl.Series, rule: Rule) -> tuple[pl.Series, Found] | None:
    import polars as pl

    typed = _parsed(series, rule, parsed_date, pl.Int64)
    return None if typed is None else (typed[0].cast(pl.Datetime("us")), typed[1])


def _booleans(series: pl.Series, rule: Rule) -> tuple[pl.Series, Found] | None:
    import polars as pl

    return _parsed(series, rule, _boolean, pl.Boolean)


def _boolean(value: str) -> bool | None:
    return _BOOLEANS.get(value.strip().lower())


def _parsed(
    series: pl.Series, rule: Rule, parse: Callable[[str], Any], dtype: Any
) -> tuple[pl.Series, Found] | None:
    """Parse the distinct texts of a column, if all but spellings of missing can be."""
    values = {value: parse(value) for value in series.drop_nulls().unique().to_list()}
    odd = [value for value, parsed in values.items() if parsed is None]
    if len(odd) == len(values) or not all(map(rule.looks_missing, odd)):
        return None
    found = _found(series, rule, odd)
    if found is None:
        return None
    return series.replace_strict(values, default=None, return_dtype=dtype), found


def _found(series: pl.Series, rule: Rule, spelled: list[str]) -> Found | None:
    """Return the spellings of missing; None if a doubtful one is a value."""
    gone = [*(value.strip() for value in spelled), *rule.named]
    others = series.filter(~series.str.strip_chars().is_in(gone)).drop_nulls().unique().head(2)
    found = rule.find(spelled, others.to_list(), bool(series.null_count()))
    return None if found.kept else found


# Formats: how people write numbers and dates.

Doubt = Literal["two readings", "several ways", "day or month"]
# By column, the name of its format.
Formats = Mapping[str, str]
COMMA, POINT = "decimal comma", "decimal point"
DAY_FIRST, MONTH_FIRST, YEAR_FIRST = "day first", "month first", "year first"
_CURRENCIES = ("$", "€", "£", "¥")
_UNITS = (*_CURRENCIES, "%")
_SPACE = "[ \t\u00a0\u202f]*"
_GROUP = "[ \u00a0\u202f'’]"
_LOOSE = f"{_SPACE}[+-]?[$€£¥]?{_SPACE}[+-]?[0-9][0-9.,'’ \u00a0\u202f]*{_SPACE}[$€£¥%]?{_SPACE}"
_MARKED = f"[,$€£¥%]|[0-9]{_GROUP}[0-9]"
_TIME = "([ T][0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?"
_SLASHES = f"{_SPACE}([0-9]{{1,2}})[/-]([0-9]{{1,2}})[/-]([0-9]{{4}}){_TIME}{_SPACE}"
_DOTS = rf"{_SPACE}([0-9]{{1,2}})\.([0-9]{{1,2}})\.([0-9]{{4}}){_TIME}{_SPACE}"
_DATES = rf"{_SPACE}([0-9]{{1,2}})[/.-]([0-9]{{1,2}})[/.-]([0-9]{{4}}){_TIME}{_SPACE}"
_YEARS = f"{_SPACE}([0-9]{{4}})[/.]([0-9]{{1,2}})[/.]([0-9]{{1,2}}){_TIME}{_SPACE}"
_ORDERS = {
    DAY_FIRST: (_DATES, r"\3-\2-\1\4"),
    MONTH_FIRST: (_DATES, r"\3-\1-\2\4"),
    YEAR_FIRST: (_YEARS, r"\1-\2-\3\4"),
}
# Month and day with two digits.
_PADS = (
    ("^([0-9]{4})-([0-9])-", r"\1-0\2-"),
    ("^([0-9]{4}-[0-9]{2})-([0-9])([ T]|$)", r"\1-0\2\3"),
)
# What any number or date of a person looks like; which one it is, a whole column says.
_AS_WRITTEN = f"{_LOOSE}|{_DATES}|{_YEARS}"
_WRITTEN = re.compile(_AS_WRITTEN)


def is_amount(written: str) -> bool:
    """Return whether a text is a number or a date, in whichever format."""
    if written[:1].isalpha():
        return as_number(written) is not None
    return (
        _WRITTEN.fullmatch(written) is not None
        or as_number(written) is not None
        or parsed_date(written) is not None
    )


@dataclass(frozen=True)
class Format:
    """What a text must look like as a whole, and the replacements that make it plain.

    polars writes the groups of replacements in another way.
    """

    name: str
    pattern: str
    steps: tuple[tuple[str, str], ...]

    def plain(self, series: pl.Series) -> pl.Series:
        """Return a series with every text that fits made plain."""
        made = series
        for pattern, by in self.steps:
            made = made.str.replace_all(pattern, re.sub(r"\\(\d)", r"${\1}", by))
        fits = series.str.contains(f"^(?:{self.pattern})$").fill_null(value=False)
        return made.zip_with(fits, series)


def format_named(name: str) -> Format:
    """Return the format of this name."""
    if name in _ORDERS:
        pattern, order = _ORDERS[name]
        return Format(name, pattern, ((f"^{pattern}$", order), *_PADS))
    mark, _, unit = name.partition(" with ")
    if mark == COMMA:
        return Format(name, _number(mark, unit), (("[^0-9+,-]", ""), (",", ".")))
    return Format(name, _number(mark, unit), (("[^0-9+.-]", ""),))


def plain_text(written: str, name: str | None) -> str:
    """Return one text made plain by the format of its column, if that has one."""
    import polars as pl

    if name is None:
        return written
    return str(format_named(name).plain(pl.Series([written])).item())


def _number(mark: str, unit: str) -> str:
    """Return the pattern of a number with a decimal mark, thousands in groups, and a unit."""
    group, point = (r"\.", ",") if mark == COMMA else (",", r"\.")
    # Money has no thousandths: $1,200 is twelve hundred.
    digits = "[0-9]{1,2}" if unit in _CURRENCIES else "[0-9]+"
    # A group of thousands never begins with 0: 0.125 is no hundred and twenty-five.
    three = "[1-9][0-9]{0,2}"
    whole = f"(?:[0-9]+|{three}(?:{group}[0-9]{{3}})+|{three}(?:{_GROUP}[0-9]{{3}})+)"
    number = f"{whole}(?:{point}{digits})?"
    sign = f"{_SPACE}[+-]?"
    if not unit:
        return f"{sign}{number}{_SPACE}"
    if unit == "%":
        return f"{sign}{number}{_SPACE}%{_SPACE}"
    return f"{sign}(?:[{unit}]{_SPACE}{number}|{number}{_SPACE}[{unit}]){_SPACE}"


def _judged(texts: pl.Series, *, semicolons: bool) -> Format | Doubt | None:
    """Return the format of the distinct known texts of a column, or what is in doubt; None for plain text.

    In files separated by semicolons a comma alone is a decimal mark.
    """
    if _all(texts, _YEARS):
        return _if_days(texts, format_named(YEAR_FIRST))
    if _all(texts, _DATES):
        return _judged_dates(texts)
    if not _all(texts, _LOOSE) or not texts.str.contains(_MARKED).any():
        return None
    unit = next((unit for unit in _UNITS if unit in texts[0]), "")
    tail = f" with {unit}" if unit else ""
    comma, point = (format_named(mark + tail) for mark in (COMMA, POINT))
    is_comma, is_point = (_all(texts, either.pattern) for either in (comma, point))
    if is_comma and is_point:
        return "two readings" if texts.str.contains("[.,]").any() else point
    if is_point:
        return point
    if is_comma:
        sure = semicolons or unit or texts.str.contains(rf"\.|[0-9]{_GROUP}[0-9]").any()
        return comma if sure else "two readings"
    return "several ways"


def _judged_dates(texts: pl.Series) -> Format | Doubt | None:
    import polars as pl

    if _all(texts, _DOTS):
        return _if_days(texts, format_named(DAY_FIRST))
    if not _all(texts, _SLASHES):
        return "day or month"
    parts = texts.str.extract_groups(f"^{_SLASHES}$").struct.unnest()
    day_first, month_first = ((parts[place].cast(pl.Int64) > 12).any() for place in ("1", "2"))
    if day_first == month_first:
        return "day or month"
    return _if_days(texts, format_named(DAY_FIRST if day_first else MONTH_FIRST))


def _if_days(texts: pl.Series, found: Format) -> Format | None:
    """Return the format, unless it makes a day that does not exist."""
    days = found.plain(texts).str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    return None if days.null_count() else found


def _all(texts: pl.Series, pattern: str) -> bool:
    return bool(texts.str.contains(f"^(?:{pattern})$").all())


class FormatFinder:
    """Finds the formats of the columns of a file, one after another; a notice names all at the end."""

    def __init__(self, *, semicolons: bool) -> None:
        self._semicolons = semicolons
        self._found: dict[str, tuple[str, str]] = {}
        self._doubts: dict[str, tuple[str, str]] = {}

    def may_have_one(self, texts: pl.Series, rule: Rule) -> bool:
        """Return whether some of the texts of a column leave it open that it has a format."""
        return _all(_known(texts, rule), _AS_WRITTEN)

    def look_at(self, name: str, texts: pl.Series, rule: Rule) -> Format | None:
        """Return the format of a column of texts, if it has one."""
        if not self.may_have_one(texts.head(1000), rule):
            return None
        known = _known(texts, rule)
        if not len(known):
            return None
        verdict = _judged(known, semicolons=self._semicolons)
        if isinstance(verdict, Format):
            self._found[name] = verdict.name, known[0]
            return verdict
        if verdict is not None:
            self._doubts[name] = verdict, known[0]
        return None

    def formats(self) -> dict[str, str]:
        """Return the formats that were found; a notice names them and what is in doubt."""
        for name in dict.fromkeys(name for name, _ in self._found.values()):
            kind = "dates" if name in _ORDERS else "numbers"
            notice(f"read as {kind} ({name}): {_columns(self._found, name)}")
        for doubt, what in _DOUBTS.items():
            columns = _columns(self._doubts, doubt)
            if columns:
                notice(f"left as text: {columns}; {what}")
        return {column: name for column, (name, _) in self._found.items()}


def _known(texts: pl.Series, rule: Rule) -> pl.Series:
    """Return the different texts without those that mean missing, sorted."""
    found = texts.drop_nulls().unique()
    short = found.filter(found.str.len_chars() <= rule.longest)
    spelled = [value for value in short.to_list() if rule.looks_missing(value)]
    return found.filter(~found.is_in(spelled)).sort()


_DOUBTS: dict[Doubt, str] = {
    "two readings": "the comma or point may mark thousands or a fraction, so write plain numbers like "
    "1234 or 1.234",
    "several ways": "the numbers are written in several ways, so write them all plain, like 1234.5",
    "day or month": "the day and the month cannot be told apart, so write dates like 2024-12-31",
}


def _columns(found: Mapping[str, tuple[str, str]], wanted: str) -> str:
    """Return the columns of which one thing was found, each with one of its texts."""
    own = ((column, text.strip()) for column, (what, text) in found.items() if what == wanted)
    return some((f"{column!r} ({text[:20]!r})" for column, text in own), 5)
