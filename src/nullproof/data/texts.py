"""Which texts are numbers, dates or booleans, and how people write numbers and dates in files.

A column of texts becomes numbers, dates or booleans if all of its known texts are such. Files also write
``3,14`` and ``1,200.5`` and ``31/01/2024``: such a format is found for a whole column or not at all, and
turns each text into a plain one. The index keeps the formats of its columns, so that points are read
alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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

# By column, the name of its format.
Formats = Mapping[str, str]
COMMA, POINT, DAY_FIRST, MONTH_FIRST = "decimal comma", "decimal point", "day first", "month first"
_SPACE, _GROUP = "[ \t\u00a0\u202f]*", "[ \u00a0\u202f]"
_TIME = "([ T][0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?"
_DATE = rf"{_SPACE}([0-9]{{1,2}})[/.-]([0-9]{{1,2}})[/.-]([0-9]{{4}}){_TIME}{_SPACE}"
_YEAR_FIRST = rf"{_SPACE}[0-9]{{4}}[/.][0-9]{{1,2}}[/.][0-9]{{1,2}}{_TIME}{_SPACE}"
_DIGITS = f"{_SPACE}[+-]?[0-9][0-9., \u00a0\u202f]*"
_UNIT = f"{_SPACE}[+-]?[$€£¥]?{_DIGITS}[$€£¥%]?{_SPACE}"
# What any number or date of a person looks like; which one it is, a whole column says.
_ANY = f"{_UNIT}|{_DATE}|{_YEAR_FIRST}"
_AMOUNT = re.compile(_ANY)
_DAY_OR_MONTH = "the day and the month cannot be told apart, so write dates like 2024-12-31"
_OTHER_DATES = "such dates are not read, so write them like 2024-12-31"
_WITH_UNIT = "numbers with a unit are not read, so write them plain, like 1234.5"
_SEVERAL_WAYS = "the numbers are written in several ways, so write them all plain, like 1234.5"
_TWO_READINGS = (
    "the comma or point may mark thousands or a fraction, so write plain numbers like 1234 or 1.234"
)


def is_amount(written: str) -> bool:
    """Return whether a text is a number or a date, in whichever format."""
    if _AMOUNT.fullmatch(written) or as_number(written) is not None:
        return True
    return parsed_date(written) is not None


@dataclass(frozen=True)
class Format:
    """What a text must look like as a whole, and the replacements that make it plain.

    Patterns and replacements are such as DuckDB takes; polars writes groups in another way.
    """

    name: str
    pattern: str
    steps: tuple[tuple[str, str], ...]

    def plain(self, series: pl.Series) -> pl.Series:
        """Return a series with every text that fits made plain."""
        made = series
        for pattern, by in self.steps:
            made = made.str.replace_all(pattern, re.sub(r"\\(\d)", r"${\1}", by))
        return made.zip_with(_fits(series, self.pattern).fill_null(value=False), series)

    def sql(self, column: str) -> str:
        """Return the same as an expression of DuckDB."""
        made = column
        for pattern, by in self.steps:
            made = f"regexp_replace({made}, {_literal(pattern)}, {_literal(by)}, 'g')"
        fits = f"regexp_full_match({column}, {_literal(self.pattern)})"
        return f"CASE WHEN {fits} THEN {made} ELSE {column} END"


def _literal(written: str) -> str:
    return "'" + written.replace("'", "''") + "'"


def format_named(name: str) -> Format:
    """Return the format of this name."""
    if name in (DAY_FIRST, MONTH_FIRST):
        order = r"\3-\2-\1\4" if name == DAY_FIRST else r"\3-\1-\2\4"
        two_digits = (
            ("^([0-9]{4})-([0-9])-", r"\1-0\2-"),
            ("^([0-9]{4}-[0-9]{2})-([0-9])([ T]|$)", r"\1-0\2\3"),
        )
        return Format(name, _DATE, ((f"^{_DATE}$", order), *two_digits))
    group, point = (r"\.", ",") if name == COMMA else (",", r"\.")
    # A group of thousands never begins with 0: 0.125 is no hundred and twenty-five.
    three = "[1-9][0-9]{0,2}"
    whole = f"(?:[0-9]+|{three}(?:{group}[0-9]{{3}})+|{three}(?:{_GROUP}[0-9]{{3}})+)"
    pattern = f"{_SPACE}[+-]?{whole}(?:{point}[0-9]+)?{_SPACE}"
    if name == COMMA:
        return Format(name, pattern, (("[^0-9+,-]", ""), (",", ".")))
    return Format(name, pattern, (("[^0-9+.-]", ""),))


def plain_text(written: str, name: str | None) -> str:
    """Return one text made plain by the format of its column, if that has one."""
    import polars as pl

    return written if name is None else str(format_named(name).plain(pl.Series([written])).item())


def _judged(texts: pl.Series, *, semicolons: bool) -> Format | str | None:
    """Return the format of the distinct known texts of a column, or why it is text; None for plain text.

    In files separated by semicolons a comma alone is a decimal mark.
    """
    if _fits(texts, _YEAR_FIRST).all():
        return _OTHER_DATES
    if _fits(texts, _DATE).all():
        return _judged_dates(texts)
    if not _fits(texts, _UNIT).all():
        return None
    if not _fits(texts, _DIGITS).all():
        return _WITH_UNIT
    grouped = texts.str.contains(f"[0-9]{_GROUP}[0-9]").any()
    if not grouped and not texts.str.contains(",").any():
        return None
    comma, point = format_named(COMMA), format_named(POINT)
    is_comma, is_point = (_fits(texts, either.pattern).all() for either in (comma, point))
    if is_comma and is_point:
        return _TWO_READINGS if texts.str.contains("[.,]").any() else point
    if is_comma:
        sure = semicolons or grouped or texts.str.contains(r"\.").any()
        return comma if sure else _TWO_READINGS
    return point if is_point else _SEVERAL_WAYS


def _judged_dates(texts: pl.Series) -> Format | str | None:
    import polars as pl

    dots = texts.str.contains(r"[0-9]\.[0-9]+\.[0-9]")
    if dots.any() and not dots.all():
        return _DAY_OR_MONTH
    parts = texts.str.extract_groups(f"^{_DATE}$").struct.unnest()
    day_first, month_first = ((parts[place].cast(pl.Int64) > 12).any() for place in ("1", "2"))
    if not dots.all() and day_first == month_first:
        return _DAY_OR_MONTH
    found = format_named(DAY_FIRST if dots.all() or day_first else MONTH_FIRST)
    days = found.plain(texts).str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    return None if days.null_count() else found


def _fits(texts: pl.Series, pattern: str) -> pl.Series:
    return texts.str.contains(f"^(?:{pattern})$")


class FormatFinder:
    """Finds the formats of the columns of a file, one after another; a notice names all at the end."""

    def __init__(self, *, semicolons: bool) -> None:
        self._semicolons = semicolons
        self._found: dict[str, str] = {}
        # By what is said of them, the columns with one of their texts.
        self._said: dict[str, list[str]] = {}

    def may_have_one(self, texts: pl.Series, rule: Rule) -> bool:
        """Return whether some of the texts of a column leave it open that it has a format."""
        return bool(_fits(_known(texts, rule), _ANY).all())

    def look_at(self, name: str, texts: pl.Series, rule: Rule) -> Format | None:
        """Return the format of a column of texts, if it has one."""
        if not self.may_have_one(texts.head(1000), rule):
            return None
        known = _known(texts, rule)
        verdict = _judged(known, semicolons=self._semicolons) if len(known) else None
        if verdict is None:
            return None
        said = verdict if isinstance(verdict, str) else verdict.name
        self._said.setdefault(said, []).append(f"{name!r} ({known[0].strip()[:20]!r})")
        if isinstance(verdict, str):
            return None
        self._found[name] = verdict.name
        return verdict

    def formats(self) -> dict[str, str]:
        """Return the formats that were found; a notice names them and what is in doubt."""
        for said, columns in self._said.items():
            if said in self._found.values():
                kind = "dates" if said in (DAY_FIRST, MONTH_FIRST) else "numbers"
                notice(f"read as {kind} ({said}): {some(columns, 5)}")
            else:
                notice(f"left as text: {some(columns, 5)}; {said}")
        return self._found


def _known(texts: pl.Series, rule: Rule) -> pl.Series:
    """Return the different texts without those that mean missing, sorted."""
    found = texts.drop_nulls().unique()
    short = found.filter(found.str.len_chars() <= rule.longest)
    spelled = [value for value in short.to_list() if rule.looks_missing(value)]
    return found.filter(~found.is_in(spelled)).sort()
