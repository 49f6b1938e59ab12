"""Numbers and dates as people write them in files: 3,14 and $1,200 and 12 % and 31/01/2024.

A writing is found for a whole column or not at all, and turns each text into the plain one that
docs/values.md knows: the rules of what is a number, and which numbers are the same, stay there. The
index keeps the writings of its columns, so that points are read as the training table was.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from nullproof.errors import notice
from nullproof.tables.spellings import Spellings
from nullproof.words import some

if TYPE_CHECKING:
    import polars as pl

Doubt = Literal["two readings", "several ways", "day or month"]
# By column, what it is called in the index.
Writings = Mapping[str, str]
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
# What any number or date of a person looks like; which one it is, a whole column tells.
AS_WRITTEN = f"{_LOOSE}|{_DATES}|{_YEARS}"
_SAMPLE = 1_000


@dataclass(frozen=True)
class Writing:
    """What a text must look like as a whole, and the replacements that make it plain.

    Patterns and replacements are such as DuckDB takes; polars writes groups in another way.
    """

    name: str
    pattern: str
    steps: tuple[tuple[str, str], ...]

    def plain(self, cells: pl.Expr) -> pl.Expr:
        """The cells with every text that fits made plain."""
        import polars as pl

        made = cells
        for pattern, by in self.steps:
            made = made.str.replace_all(pattern, re.sub(r"\\(\d)", r"${\1}", by))
        return pl.when(cells.str.contains(f"^(?:{self.pattern})$")).then(made).otherwise(cells)

    def sql(self, column: str) -> str:
        """The same for a column, or an expression, of DuckDB."""
        made = column
        for pattern, by in self.steps:
            made = f"regexp_replace({made}, {_literal(pattern)}, {_literal(by)}, 'g')"
        fits = f"regexp_full_match({column}, {_literal(self.pattern)})"
        return f"CASE WHEN {fits} THEN {made} ELSE {column} END"


def writing(name: str) -> Writing:
    """The writing of this name."""
    if name in _ORDERS:
        pattern, order = _ORDERS[name]
        return Writing(name, pattern, ((f"^{pattern}$", order), *_PADS))
    mark, _, unit = name.partition(" with ")
    if mark == COMMA:
        return Writing(name, _number(mark, unit), (("[^0-9+,-]", ""), (",", ".")))
    return Writing(name, _number(mark, unit), (("[^0-9+.-]", ""),))


def plain_text(text: str, how: str | None) -> str:
    """One text made plain by the writing of its column, if that has one."""
    import polars as pl

    if how is None:
        return text
    return str(pl.select(writing(how).plain(pl.lit(text))).item())


def _number(mark: str, unit: str) -> str:
    """The pattern of a number with a decimal mark, thousands in groups, and a unit."""
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


def judged(texts: pl.Series, *, semicolons: bool) -> Writing | Doubt | None:
    """How the known texts of a column are written, or what is in doubt; None if they are plain text.

    Parameters
    ----------
    semicolons
        Whether the file is separated by semicolons: a comma alone is a decimal mark only there.
    """
    if not len(texts):
        return None
    if _all(texts, _YEARS):
        return _if_days(texts, writing(YEAR_FIRST))
    if _all(texts, _DATES):
        return _judged_dates(texts)
    if not _all(texts, _LOOSE) or not texts.str.contains(_MARKED).any():
        return None
    unit = next((unit for unit in _UNITS if unit in texts[0]), "")
    tail = f" with {unit}" if unit else ""
    comma, point = (writing(mark + tail) for mark in (COMMA, POINT))
    is_comma, is_point = (_all(texts, either.pattern) for either in (comma, point))
    if is_comma and is_point:
        same = not texts.str.contains("[.,]").any()
        return point if same else "two readings"
    if is_point:
        return point
    if is_comma:
        sure = semicolons or unit or texts.str.contains(rf"\.|[0-9]{_GROUP}[0-9]").any()
        return comma if sure else "two readings"
    return "several ways"


def _judged_dates(texts: pl.Series) -> Writing | Doubt | None:
    import polars as pl

    if _all(texts, _DOTS):
        return _if_days(texts, writing(DAY_FIRST))
    if not _all(texts, _SLASHES):
        return "day or month"
    parts = texts.str.extract_groups(f"^{_SLASHES}$").struct.unnest()
    day_first, month_first = ((parts[place].cast(pl.Int64) > 12).any() for place in ("1", "2"))
    if day_first == month_first:
        return "day or month"
    return _if_days(texts, writing(DAY_FIRST if day_first else MONTH_FIRST))


def _if_days(texts: pl.Series, found: Writing) -> Writing | None:
    """The writing, unless it makes a day that does not exist."""
    import polars as pl

    plain = texts.to_frame("x").select(found.plain(pl.col("x")))["x"]
    days = plain.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    return None if days.null_count() else found


class Verdicts:
    """How the columns of a file are written, one after another; then everything is told at once."""

    def __init__(self, spellings: Spellings, *, semicolons: bool) -> None:
        self._spellings = spellings.in_files
        self._semicolons = semicolons
        self._found: dict[str, tuple[str, str]] = {}
        self._doubts: dict[str, tuple[str, str]] = {}

    def judge(self, name: str, texts: pl.Series) -> None:
        """Judge a column by its texts."""
        known = self._known(texts)
        verdict = judged(known, semicolons=self._semicolons)
        if isinstance(verdict, Writing):
            self._found[name] = verdict.name, known[0]
        elif verdict is not None:
            self._doubts[name] = verdict, known[0]

    def is_text(self, some_texts: pl.Series) -> bool:
        """Whether some of the texts of a column are enough to see that there is nothing to judge."""
        return not _all(self._known(some_texts), AS_WRITTEN)

    def told(self) -> dict[str, str]:
        """The writings that were found; a notice tells of them and of what is in doubt."""
        for name in dict.fromkeys(name for name, _ in self._found.values()):
            kind = "dates" if name in _ORDERS else "numbers"
            notice(f"read as {kind} ({name}): {_columns(self._found, name)}")
        for doubt, what in _DOUBTS.items():
            columns = _columns(self._doubts, doubt)
            if columns:
                notice(f"left as text: {columns}; {what}")
        return {column: name for column, (name, _) in self._found.items()}

    def _known(self, texts: pl.Series) -> pl.Series:
        """The different texts without those that mean missing, in an order of their own."""
        found = texts.drop_nulls().unique()
        short = found.filter(found.str.len_chars() <= self._spellings.longest)
        spelled = [text for text in short.to_list() if self._spellings.looks_missing(text)]
        return found.filter(~found.is_in(spelled)).sort()


_DOUBTS: dict[Doubt, str] = {
    "two readings": "the comma or point may mark thousands or a fraction, so write plain numbers like "
    "1234 or 1.234",
    "several ways": "the numbers are written in several ways, so write them all plain, like 1234.5",
    "day or month": "the day and the month cannot be told apart, so write dates like 2024-12-31",
}


def _columns(told: Mapping[str, tuple[str, str]], wanted: str) -> str:
    """The columns of which one thing was found, each with one of its texts."""
    own = ((column, text.strip()) for column, (found, text) in told.items() if found == wanted)
    return some((f"{column!r} ({text[:20]!r})" for column, text in own), 5)


def _all(texts: pl.Series, pattern: str) -> bool:
    return bool(texts.str.contains(f"^(?:{pattern})$").all())


def _literal(written: str) -> str:
    return "'" + written.replace("'", "''") + "'"


def written_plainly(
    frame: pl.DataFrame,
    *,
    spellings: Spellings,
    as_text: Collection[str],
    semicolons: bool,
    like: Writings | None,
) -> tuple[pl.DataFrame, Writings]:
    """The texts of a file made plain, column by column, and the writings that were found.

    ``like`` are the writings of a training table: then these are taken and no others.
    """
    import polars as pl

    texts = [series for series in frame if series.dtype == pl.String and series.name not in as_text]
    if like is None:
        verdicts = Verdicts(spellings, semicolons=semicolons)
        for series in texts:
            if not verdicts.is_text(series.head(_SAMPLE)):
                verdicts.judge(series.name, series)
        names = verdicts.told()
    else:
        names = {series.name: like[series.name] for series in texts if series.name in like}
    made = [writing(how).plain(pl.col(name)).alias(name) for name, how in names.items()]
    return frame.with_columns(made), names
