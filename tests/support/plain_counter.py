"""The truth about a table: a counter in plain Python that knows nothing but ``docs/values.md``.

It imports no library of tables and nothing of nullproof. Cells are plain: integers and floats, `Decimal`,
booleans, texts; dates are days since 1970, time stamps nanoseconds since 1970 (UTC where there is a
zone), times of day nanoseconds. None is missing, and so is NaN.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

Kind = Literal[
    "integer", "float", "decimal", "boolean", "text", "category", "date", "stamp", "time", "written"
]
DAY = 86_400 * 10**9
_EPOCH = dt.date(1970, 1, 1)
# Compared without the spaces around them and in lower case.
SURELY_MISSING = ("", "na", "n/a", "nan", "null", "?", "#n/a", "<na>")
PERHAPS_MISSING = ("none", "-", ".")
_MARK = " (a label)"
_NUMBER = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[iI][nN][fF])")
_STAMP = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[ T]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?"
    r"(?:(Z)|([+-])([0-9]{2}):([0-9]{2}))?)?"
)
Tally = dict[str, int]


@dataclass(frozen=True)
class Column:
    """A column of plain cells.

    Parameters
    ----------
    kind
        What the cells are; ``"written"`` are the raw texts of a text file.
    stored
        How typed ways are to store it, such as ``int8`` or ``timestamp[ns,UTC]``; the truth does not look.
    categories
        What the type declares, of a column of categories.
    """

    name: str
    kind: Kind
    cells: tuple[Any, ...]
    stored: str = ""
    categories: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """Columns, labels, and the rows before which a new part (chunk, file, partition) begins."""

    columns: tuple[Column, ...]
    label: Column
    cuts: tuple[int, ...] = ()

    @property
    def n_rows(self) -> int:
        return len(self.label.cells)

    def only(self, *names: str) -> Table:
        """The table with some of its columns."""
        return replace(self, columns=tuple(c for c in self.columns if c.name in names))

    @property
    def parts(self) -> list[range]:
        """The rows of each part; some may be empty."""
        return [range(a, b) for a, b in pairwise((0, *self.cuts, self.n_rows))]


@dataclass(frozen=True)
class Rules:
    """Which texts mean missing: some that were named, besides the usual ones or instead of them."""

    named: tuple[str, ...] = ()
    only: bool = False

    def name(self, text: str) -> bool:
        return text.strip() in [spelling.strip() for spelling in self.named]

    def surely(self, text: str) -> bool:
        return self.name(text) or (not self.only and text.strip().lower() in SURELY_MISSING)

    def perhaps(self, text: str) -> bool:
        usual = not self.only and text.strip().lower() in PERHAPS_MISSING
        return usual and not self.name(text)


USUAL = Rules()
NOTHING = Rules(only=True)


@dataclass(frozen=True)
class Counted:
    """The number of known cells of each value and label, and of the missing cells of each label."""

    values: dict[Any, Tally]
    missing: Tally


class Refusal(Exception):  # noqa: N818 - it is what has to happen
    """The page says that such a table is refused."""


# Which cells are the same ------------------------------------------------------------------------


def texts(column: Column, rules: Rules = USUAL) -> list[str | None]:
    """Write every known cell as the page says; two cells are the same if their texts are."""
    return [None if cell is None else _text(kind, cell) for kind, cell in _cells(column, rules)]


def places(column: Column, rules: Rules = USUAL) -> list[float | None] | None:
    """Where every known cell lies among bins, as the nearest double; None for kinds without bins."""
    cells = _cells(column, rules)
    if not {kind for kind, _ in cells} <= {"number", "date", "stamp"}:
        return None
    return [None if cell is None else _place(kind, cell) for kind, cell in cells]


def are_moments(column: Column, rules: Rules = USUAL) -> bool:
    """Whether the known cells are dates or time stamps."""
    return {kind for kind, _ in _cells(column, rules)} <= {"date", "stamp"}


def moment_text(microseconds: int) -> str:
    """A moment on the line of microseconds, as the page writes it."""
    return _text("stamp", microseconds * 1000)


def domain(column: Column, rules: Rules = USUAL) -> set[str]:
    """What the known cells show and what the type declares."""
    doubt_stays = _doubtful_are_values(column.cells, column.categories, rules)
    declared = {
        value
        for value in column.categories
        if not rules.surely(value) and (doubt_stays or not rules.perhaps(value))
    }
    return declared | {text for text in texts(column, rules) if text is not None}


def _cells(column: Column, rules: Rules) -> list[tuple[str, Any]]:
    """Each cell with the kind that it is compared as, None where it is missing."""
    spelled = {spelling.strip() for spelling in rules.named}
    if column.kind == "written":
        # An empty cell of a file is missing, whatever else is.
        kind, cells = _read(_unspelled([c if c.strip() else None for c in column.cells], (), rules))
    elif has_spelled_holes(column, rules):
        kind, cells = _read(_unspelled(column.cells, (), rules))
    else:
        kind, cells = _common(column.kind), [_known(cell) for cell in column.cells]
    if kind == "number":
        cells = [None if c is None else _number(c) for c in cells]
        named = {_number(_parsed(s)) for s in spelled if _NUMBER.fullmatch(s)}
        cells = [None if cell in named else cell for cell in cells]
    elif kind in ("date", "stamp"):
        unit = DAY if kind == "date" else 1
        moments = {_stamp(spelling) for spelling in spelled}
        cells = [None if cell is None or cell * unit in moments else cell for cell in cells]
    elif column.kind in ("text", "category"):
        cells = _unspelled(cells, column.categories, rules) if kind == "text" else cells
    elif kind == "time":
        written = [None if c is None else time_text(c) for c in cells]
        cells = [None if t and t in spelled else c for t, c in zip(written, cells, strict=True)]
    return [(kind, cell) for cell in cells]


def has_spelled_holes(column: Column, rules: Rules) -> bool:
    """Whether a column of typed texts spells missing: then what remains decides what it is."""
    if column.kind != "text":
        return False
    return _unspelled(column.cells, (), rules) != [*column.cells]


def _unspelled(
    cells: Sequence[str | None], categories: Sequence[str], rules: Rules
) -> list[str | None]:
    """The texts with None for all that are spelled missing."""
    stay = _doubtful_are_values(cells, categories, rules)
    return [
        None if c is None or rules.surely(c) or (rules.perhaps(c) and not stay) else c
        for c in cells
    ]


def _doubtful_are_values(cells: Sequence[Any], categories: Sequence[str], rules: Rules) -> bool:
    """Whether a column shows that none, - and . are values there.

    Either such a spelling is one of two values; or the others are words, and holes look otherwise.
    """
    texts = [cell for cell in cells if isinstance(cell, str)]
    has_holes = any(cell is None for cell in cells) or any(map(rules.surely, texts))
    values = [text for text in {*texts, *categories} if not rules.surely(text)]
    doubtful = [text for text in values if rules.perhaps(text)]
    others = [text for text in values if not rules.perhaps(text)]
    if len(doubtful) == 1 and len(others) == 1:
        return True
    kind, _ = _read(others)
    return has_holes and bool(others) and kind == "text"


def names_rows(column: Column, rules: Rules = USUAL) -> bool:
    """Whether a column only names the rows: many different texts, or the numbers of the rows."""
    cells = _cells(column, rules)
    known = [cell for _, cell in cells if cell is not None]
    kinds = {kind for kind, _ in cells}
    if kinds <= {"text", "time"} and not column.categories:
        return len(known) > 20 and len({*known}) > len(known) / 2
    if kinds != {"number"} or len(known) < len(cells) or len(known) <= 20:
        return False
    if not all(isinstance(cell, int) and abs(cell) <= 2**53 for cell in known):
        return False
    return sorted(known) == [*range(min(known), min(known) + len(known))]


def _common(kind: Kind) -> str:
    if kind in ("integer", "float", "decimal"):
        return "number"
    return "text" if kind == "category" else kind


def _known(cell: Any) -> Any:
    """The cell, None if it is NaN of any sort."""
    if isinstance(cell, Decimal):
        return None if cell.is_nan() else cell
    return None if isinstance(cell, float) and math.isnan(cell) else cell


def _number(cell: Any) -> int | float:
    """Whole numbers are the integers they are, all others the nearest double."""
    if isinstance(cell, int):
        return cell
    if isinstance(cell, float) and not math.isfinite(cell):
        return cell
    exact = Fraction(cell)
    if exact.denominator == 1:
        return exact.numerator
    nearest = _double(exact)
    return int(nearest) if nearest.is_integer() else nearest


def _double(exact: Fraction | int) -> float:
    """The nearest double; beyond the largest one an infinity."""
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


# Texts of files ----------------------------------------------------------------------------------


def _read(cells: Sequence[str | None]) -> tuple[str, list[Any]]:
    """What all known texts are: numbers, else dates, else true and false, else text."""
    known = [text for text in cells if text is not None]
    if known and all(map(_is_number, known)):
        return "number", [None if c is None else _parsed(c.strip(" ")) for c in cells]
    stamps = [None if c is None else _stamp(c) for c in cells]
    if known and all(s is not None or c is None for s, c in zip(stamps, cells, strict=True)):
        return "stamp", stamps
    if known and {text.lower() for text in known} <= {"true", "false"}:
        return "boolean", [None if c is None else c.lower() == "true" for c in cells]
    return "text", [*cells]


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text.strip(" ")) is not None


def _parsed(text: str) -> int | float:
    """Digits alone are an integer, other texts of numbers are doubles."""
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def _stamp(text: str) -> int | None:
    """Read a date or time stamp of ISO 8601 as nanoseconds, None if it is none."""
    found = _STAMP.fullmatch(text)
    if not found:
        return None
    year, month, day = (int(part) for part in found.group(1, 2, 3))
    hour, minute, second = (int(part or 0) for part in found.group(4, 5, 6))
    try:
        total = days_of(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
    except ValueError:
        return None
    if hour > 23 or minute > 59 or second > 59:
        return None
    nanos = int((found.group(7) or "").ljust(9, "0"))
    if found.group(9):
        shift = int(found.group(10)) * 3600 + int(found.group(11)) * 60
        total -= shift if found.group(9) == "+" else -shift
    return total * 10**9 + nanos


# Writing -----------------------------------------------------------------------------------------


def days_of(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01."""
    return (dt.date(year, month, day) - _EPOCH).days


def date_text(days: int) -> str:
    """As ISO 8601."""
    return (_EPOCH + dt.timedelta(days)).isoformat()


def time_text(nanos: int) -> str:
    """As ISO 8601: no fraction, one of microseconds, or one of nanoseconds."""
    seconds, part = divmod(nanos, 10**9)
    fraction = "" if not part else f".{part:09}" if part % 1000 else f".{part // 1000:06}"
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{fraction}"


def _text(kind: str, cell: Any) -> str:
    if kind == "number":
        return str(cell) if isinstance(cell, int) else repr(cell)
    if kind == "boolean":
        return "true" if cell else "false"
    if kind == "date":
        return date_text(cell)
    if kind == "stamp":
        days, nanos = divmod(cell, DAY)
        return date_text(days) + (f" {time_text(nanos)}" if nanos else "")
    if kind == "time":
        return time_text(cell)
    return str(cell)


# Counting ----------------------------------------------------------------------------------------


def label_texts(label: Column, rules: Rules = USUAL) -> list[str]:
    """The label of every row; a hole is refused, and what may be missing is a label."""
    sure = replace(label, cells=tuple(_marked(cell, rules) for cell in label.cells))
    found = [None if text is None else text.removesuffix(_MARK) for text in texts(sure, rules)]
    if None in found:
        raise Refusal("labels are never missing")
    return [text for text in found if text is not None]


def _marked(cell: Any, rules: Rules) -> Any:
    return cell + _MARK if isinstance(cell, str) and rules.perhaps(cell) else cell


def count_values(
    column: Column, labels: Sequence[str], rules: Rules = USUAL, *, keep: bool = False
) -> Counted | None:
    """Count every distinct value; None if the column is to be left out."""
    values = domain(column, rules)
    if not values or (names_rows(column, rules) and not keep):
        return None
    return _counted(texts(column, rules), labels, values)


def count_bins(
    column: Column, labels: Sequence[str], edges: Sequence[float], rules: Rules = USUAL
) -> Counted:
    """Count the cells of each bin: the number of inner edges that are not above the cell."""
    found = places(column, rules)
    assert found is not None
    bins = [None if x is None else sum(edge <= x for edge in edges[1:-1]) for x in found]
    return _counted(bins, labels, {b for b in bins if b is not None})


def _counted(cells: Sequence[Any], labels: Sequence[str], values: Collection[Any]) -> Counted:
    counts: dict[Any, Tally] = {value: dict.fromkeys(labels, 0) for value in values}
    holes = dict.fromkeys(labels, 0)
    for cell, label in zip(cells, labels, strict=True):
        row = holes if cell is None else counts[cell]
        row[label] += 1
    return Counted(counts, holes)


# Places on the line that bins cut ----------------------------------------------------------------


def _place(kind: str, cell: Any) -> float:
    if kind == "stamp":
        return int(cell // 1000)
    if kind == "date":
        return int(cell * DAY // 1000)
    return _double(cell) if isinstance(cell, int) else float(cell)
