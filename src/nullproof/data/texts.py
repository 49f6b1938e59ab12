"""Type columns of texts: numbers, dates, booleans, and common formats for them.

A column becomes numbers, dates or booleans if all of its known texts are such. Files also write ``3,14``,
``$1,200``, ``12 %`` and ``31/01/2024``: such a format is found for a whole column or not at all, and makes
every text plain. The index keeps the formats of its columns, so that points are read alike.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nullproof.data.missing import Found, Rule
from nullproof.data.types import LARGEST_DOUBLE_INTEGER, as_number, parsed_date
from nullproof.errors import notice
from nullproof.words import cut, some

if TYPE_CHECKING:
    import polars as pl

    from nullproof.data.sources import Reading, Table

_SAMPLE = 64
_MANY_ODD = 1000
# The most rows that may be descriptions or a repeated header, and the least length of such a file.
_MOST_ODD_ROWS, _FEW_ROWS = 3, 20


def type_file(frame: pl.DataFrame, asked: Reading, *, semicolons: bool = False) -> Table:
    """Type the texts of a file column by column; rows that are no data are left out first."""
    import polars as pl

    from nullproof.data.sources import table_of_polars

    columns = {series.name: series for series in frame.get_columns()}
    rules = {
        name: asked.missing.rule(name, asked.domains.get(name, ()), in_file=True)
        for name, series in columns.items()
        if series.dtype == pl.String and name not in asked.as_text
    }
    formats = {name: form for name, form in (asked.like or {}).items() if name in rules}
    plain = {
        name: _made_plain(columns[name], format_named(form), rules[name])
        for name, form in formats.items()
    }
    typed = {name: type_texts(plain.get(name, columns[name]), rules[name]) for name in rules}
    texts = [name for name in rules if typed[name] is None]
    odd_rows = _rows_of_no_data([columns[name] for name in texts], rules, frame.height)
    read = {**columns, **{name: pair[0] for name, pair in typed.items() if pair is not None}}
    # Descriptions stand in every column of numbers; a row with a few texts among numbers is data.
    if odd_rows and sum(own.dtype.is_numeric() for own in read.values()) < len(texts):
        which, hold = ("row", "holds") if len(odd_rows) == 1 else ("rows", "hold")
        notice(
            f"left out {which} {some([row + 1 for row in odd_rows], 3)} below the header, which {hold} "
            "texts where all other rows hold numbers (descriptions, or a repeated header)"
        )
        table = type_file(without_rows(frame, odd_rows), asked, semicolons=semicolons)
        return replace(table, skipped=tuple(odd_rows))
    if asked.like is None:
        finder = FormatFinder(semicolons=semicolons)
        for name in texts:
            form = finder.look_at(name, columns[name], rules[name])
            if form is not None:
                typed[name] = type_texts(_made_plain(columns[name], form, rules[name]), rules[name])
        formats = finder.formats()
    taken = {}
    for name, pair in typed.items():
        if pair is not None:
            columns[name], taken[name] = pair[0], pair[1].taken
    table = table_of_polars(pl.DataFrame(columns), asked.missing)
    return replace(table, in_file=True, taken=taken, formats=formats)


def _made_plain(texts: pl.Series, form: Format, rule: Rule) -> pl.Series:
    """Return texts made plain by a format, but for those that were named as missing."""
    if not rule.named:
        return form.plain(texts)
    is_named = texts.str.strip_chars().is_in([*rule.named]).fill_null(value=False)
    return texts.zip_with(is_named, form.plain(texts))


def _rows_of_no_data(
    columns: Sequence[pl.Series], rules: Mapping[str, Rule], n_rows: int
) -> list[int]:
    """Return at most three rows (a repeated header, say) that keep most columns from being numbers."""
    import polars as pl

    rows: set[int] = set()
    n_kept = 0
    for series in columns if n_rows >= _FEW_ROWS else ():
        # Most columns of texts are settled by their last cells.
        tail = series.tail(_FEW_ROWS).drop_nulls()
        if not len(tail) or tail.cast(pl.Float64, strict=False).null_count() > _MOST_ODD_ROWS + 2:
            continue
        odd = series.is_not_null() & series.cast(pl.Float64, strict=False).is_null()
        if odd.sum() > max(_MOST_ODD_ROWS, n_rows // 2):
            continue
        looks_missing = rules[series.name].looks_missing
        own = [row for row in odd.arg_true().to_list() if not looks_missing(series[row])]
        if 0 < len(own) <= _MOST_ODD_ROWS:
            rows.update(own)
            n_kept += 1
    most = n_kept >= 2 and 2 * n_kept > len(columns)
    return sorted(rows) if most and len(rows) <= _MOST_ODD_ROWS else []


def without_rows(frame: pl.DataFrame, rows: Sequence[int]) -> pl.DataFrame:
    """Return a frame without some of its rows."""
    return frame[np.delete(np.arange(frame.height), rows)] if rows else frame


# Numbers, dates and booleans.


def type_texts(series: pl.Series, rule: Rule) -> tuple[pl.Series, Found] | None:
    """Turn texts into numbers, dates or booleans if all known texts allow it, else return None."""
    import polars as pl

    plain = plain_numbers(series)
    if plain is not None:
        return plain, Found()
    first = series.head(4 * _SAMPLE).drop_nulls().head(_SAMPLE).to_list()
    known = [value for value in first if not rule.looks_missing(value)]
    typed = None
    if all(as_number(value) is not None for value in known):
        typed = _numbers(series, rule)
    if typed is None and all(parsed_date(value) is not None for value in known):
        typed = _parsed(series, rule, parsed_date, pl.Datetime("us"))
    if typed is None and all(_boolean(value) is not None for value in known):
        typed = _parsed(series, rule, _boolean, pl.Boolean())
    return typed


def plain_numbers(texts: pl.Series) -> pl.Series | None:
    """Return texts as numbers if all are plain numbers, else None.

    Only quick operations: a file may have ten thousand columns.
    """
    import polars as pl

    first, nulls = texts.first(), texts.null_count()
    if nulls == len(texts) or (first is not None and as_number(str(first)) is None):
        return None
    floats = texts.cast(pl.Float64, strict=False)
    # A sum is finite only if all numbers are.
    if floats.null_count() > nulls or not math.isfinite(floats.sum()):
        return None
    whole = texts.cast(pl.Int64, strict=False)
    if whole.null_count() == nulls:
        return whole
    return floats if exact_as_doubles(floats) else None


def exact_as_doubles(floats: pl.Series) -> bool:
    """Return whether doubles stand for the texts that they were: no large integers, infinity or NaN."""
    ends = [float(end) for end in (floats.min(), floats.max()) if end is not None]  # type: ignore[arg-type]
    return all(abs(end) < LARGEST_DOUBLE_INTEGER for end in ends) and math.isfinite(floats.sum())


def _numbers(series: pl.Series, rule: Rule) -> tuple[pl.Series, Found] | None:
    """Return numbers among which texts mean missing, or have spaces around them."""
    import polars as pl

    series = series.str.strip_chars(" \t\r\n")
    floats = series.cast(pl.Float64, strict=False)
    odd = series.filter(floats.is_null() | ~floats.is_finite()).drop_nulls().unique().to_list()
    if len(odd) > _MANY_ODD:
        return None
    found = _spelled_missing(series, rule, [value for value in odd if as_number(value) is None])
    if found is None:
        return None
    if odd:
        series = series.set(series.is_in([*found.gone]), None)
        floats = series.cast(pl.Float64, strict=False)
    if series.null_count() == len(series):
        return None
    whole = series.cast(pl.Int64, strict=False)
    if whole.null_count() == series.null_count():
        return whole, found
    # Large integers beside fractions, or beyond 64 bits, would be rounded.
    large = series.filter(floats.abs() >= LARGEST_DOUBLE_INTEGER).unique().head(_MANY_ODD)
    digits = [value for value in large.to_list() if value.lstrip("+-").isdigit()]
    if any(as_number(value) is None or int(float(value)) != int(value) for value in digits):
        return None
    return floats, found


def _boolean(value: str) -> int | None:
    return {"true": 1, "false": 0}.get(value.strip().lower())


def _parsed(
    series: pl.Series, rule: Rule, parse: Callable[[str], int | None], dtype: Any
) -> tuple[pl.Series, Found] | None:
    """Parse the distinct texts of a column, if all but spellings of missing can be."""
    import polars as pl

    values = {value: parse(value) for value in series.drop_nulls().unique().to_list()}
    odd = [value for value, parsed in values.items() if parsed is None]
    found = None if len(odd) == len(values) else _spelled_missing(series, rule, odd)
    if found is None:
        return None
    return series.replace_strict(values, default=None, return_dtype=pl.Int64).cast(dtype), found


def _spelled_missing(series: pl.Series, rule: Rule, unreadable: list[str]) -> Found | None:
    """Return which texts that cannot be read are missing; None if one of them is a value."""
    if not unreadable:
        return Found()
    if not all(map(rule.looks_missing, unreadable)):
        return None
    gone = [*(value.strip() for value in unreadable), *rule.named]
    others = series.filter(~series.str.strip_chars().is_in(gone)).drop_nulls().unique().head(2)
    found = rule.find(unreadable, others.to_list(), bool(series.null_count()))
    return None if found.kept else found


# Formats: how people write numbers and dates. A column has a format if exactly one fits all of its texts.

# By column, the name of its format.
Formats = Mapping[str, str]
COMMA, POINT = "decimal comma", "decimal point"
DAY_FIRST, MONTH_FIRST, YEAR_FIRST = "day first", "month first", "year first"
_CURRENCIES = ("$", "€", "£", "¥")
_SPACE = "[ \t\u00a0\u202f]*"
_GROUP = "[ \u00a0\u202f'’]"
# Patterns of numbers and dates in any format, and of numbers that are not plain.
_NUMBER = f"{_SPACE}[+-]?[$€£¥]?{_SPACE}[+-]?[0-9][0-9.,'’ \u00a0\u202f]*{_SPACE}[$€£¥%]?{_SPACE}"
_MARKED = f"[,$€£¥%]|[0-9]{_GROUP}[0-9]"
_TIME = "([ T][0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?"
_DATE = f"{_SPACE}([0-9]{{1,2}})[/.-]([0-9]{{1,2}})[/.-]([0-9]{{4}}){_TIME}{_SPACE}"
_YEAR_DATE = f"{_SPACE}([0-9]{{4}})[/.]([0-9]{{1,2}})[/.]([0-9]{{1,2}}){_TIME}{_SPACE}"
_WRITTEN = re.compile(f"{_NUMBER}|{_DATE}|{_YEAR_DATE}")
_ORDERS = {
    DAY_FIRST: (_DATE, "${3}-0${2}-0${1}${4}"),
    MONTH_FIRST: (_DATE, "${3}-0${1}-0${2}${4}"),
    YEAR_FIRST: (_YEAR_DATE, "${1}-0${2}-0${3}${4}"),
}
# Month and day have two digits.
_TWO_DIGITS = ("-0([0-9]{2})", "-${1}")
# Which orders dates may have: with points the day comes first; with several marks nobody knows.
_DATE_PATTERNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (_YEAR_DATE, (YEAR_FIRST,)),
    (_DATE.replace("[/.-]", "[.]"), (DAY_FIRST,)),
    (_DATE.replace("[/.-]", "[/-]"), (DAY_FIRST, MONTH_FIRST)),
    (_DATE, ()),
)


def is_amount(written: str) -> bool:
    """Return whether a text is a number or a date, in whichever format."""
    if written[:1].isalpha():
        return as_number(written) is not None
    fits = _WRITTEN.fullmatch(written) is not None
    return fits or as_number(written) is not None or parsed_date(written) is not None


@dataclass(frozen=True)
class Format:
    """What a text must look like as a whole, and the replacements that make it plain."""

    name: str
    pattern: str
    steps: tuple[tuple[str, str], ...]

    def plain(self, series: pl.Series) -> pl.Series:
        """Return a series with every text that fits made plain."""
        made = series
        for pattern, by in self.steps:
            made = made.str.replace_all(pattern, by)
        fits = series.str.contains(f"^(?:{self.pattern})$").fill_null(value=False)
        return made.zip_with(fits, series)

    def fits(self, texts: pl.Series) -> bool:
        """Return whether all texts have this format, and no date is a day that does not exist."""
        if not _all_fit(texts, self.pattern):
            return False
        if self.name not in _ORDERS:
            return True
        days = self.plain(texts).str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
        return not days.null_count()


def format_named(name: str) -> Format:
    """Return the format of this name."""
    if name in _ORDERS:
        pattern, order = _ORDERS[name]
        return Format(name, pattern, ((f"^{pattern}$", order), _TWO_DIGITS))
    mark, _, unit = name.partition(" with ")
    group, point = (r"\.", ",") if mark == COMMA else (",", r"\.")
    # Money has no thousandths, so $1,200 is twelve hundred.
    digits = "[0-9]{1,2}" if unit in _CURRENCIES else "[0-9]+"
    # A group of thousands never begins with 0, so 0.125 is not 125.
    three = "[1-9][0-9]{0,2}"
    whole = f"(?:[0-9]+|{three}(?:{group}[0-9]{{3}})+|{three}(?:{_GROUP}[0-9]{{3}})+)"
    number = f"{whole}(?:{point}{digits})?"
    if unit == "%":
        number = f"{number}{_SPACE}%"
    elif unit:
        number = f"(?:[{unit}]{_SPACE}{number}|{number}{_SPACE}[{unit}])"
    steps = (("[^0-9+,-]", ""), (",", ".")) if mark == COMMA else (("[^0-9+.-]", ""),)
    return Format(name, f"{_SPACE}[+-]?{number}{_SPACE}", steps)


def plain_text(written: str, name: str | None) -> str:
    """Return one text made plain by the format of its column, if that has one."""
    import polars as pl

    return written if name is None else format_named(name).plain(pl.Series([written]))[0]


def _all_fit(texts: pl.Series, pattern: str) -> bool:
    return bool(texts.str.contains(f"^(?:{pattern})$").all())


def _fitting_formats(texts: pl.Series, *, semicolons: bool) -> list[Format] | None:
    """Return the formats that the distinct known texts of a column may have; None for plain text.

    In files separated by semicolons a comma alone is a decimal mark; elsewhere ``3,14`` is in doubt.
    """
    for pattern, orders in _DATE_PATTERNS:
        if _all_fit(texts, pattern):
            return [form for form in map(format_named, orders) if form.fits(texts)]
    if not _all_fit(texts, _NUMBER) or not texts.str.contains(_MARKED).any():
        return None
    unit = next((f" with {unit}" for unit in (*_CURRENCIES, "%") if unit in texts[0]), "")
    fitting = [form for form in map(format_named, (POINT + unit, COMMA + unit)) if form.fits(texts)]
    if not texts.str.contains("[.,]").any():
        # Without a mark both say the same.
        return fitting[:1]
    sure = semicolons or unit or texts.str.contains(rf"\.|[0-9]{_GROUP}[0-9]").any()
    return fitting if sure or [form.name for form in fitting] != [COMMA] else []


class FormatFinder:
    """Finds the formats of the columns of a file, one after another; a notice names all at the end."""

    def __init__(self, *, semicolons: bool) -> None:
        self._semicolons = semicolons
        self._found: dict[str, str] = {}
        # By format, or "" where it is in doubt: the columns, each with an example.
        self._examples: dict[str, list[str]] = {}

    def may_have_one(self, texts: pl.Series, rule: Rule) -> bool:
        """Return whether some of the texts of a column leave it open that it has a format."""
        cells = texts.drop_nulls().to_list()
        return all(_WRITTEN.fullmatch(cell) or rule.looks_missing(cell) for cell in cells)

    def look_at(self, name: str, texts: pl.Series, rule: Rule) -> Format | None:
        """Return the format of a column of texts, if it has one."""
        if not self.may_have_one(texts.head(1000), rule):
            return None
        known = texts.drop_nulls().unique().sort()
        spelled = [value for value in known.to_list() if rule.looks_missing(value)]
        known = known.filter(~known.is_in(spelled))
        fitting = _fitting_formats(known, semicolons=self._semicolons) if len(known) else None
        if fitting is None:
            return None
        form = fitting[0] if len(fitting) == 1 else None
        example = f"{name!r} ({cut(known[0].strip(), 20)!r})"
        self._examples.setdefault("" if form is None else form.name, []).append(example)
        if form is not None:
            self._found[name] = form.name
        return form

    def formats(self) -> dict[str, str]:
        """Return the formats that were found; a notice names them and what is in doubt."""
        doubtful = self._examples.pop("", [])
        for form, columns in self._examples.items():
            kind = "dates" if form in _ORDERS else "numbers"
            notice(f"read as {kind} ({form}): {some(columns, 5)}")
        if doubtful:
            notice(
                f"left as text: {some(doubtful, 5)}; their format is in doubt, so write plain "
                "numbers like 1234.5 and dates like 2024-12-31"
            )
        return self._found
