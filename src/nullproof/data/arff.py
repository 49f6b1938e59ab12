"""ARFF, the format of Weka and OpenML: attributes with their types and domains, then rows.

A nominal attribute becomes an Enum with the declared domain. ``?`` and empty values are missing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from nullproof.data.missing import NOTHING_SPELLED
from nullproof.data.texts import type_texts
from nullproof.data.types import parsed_date
from nullproof.errors import NullproofError
from nullproof.words import many, some

if TYPE_CHECKING:
    import polars as pl

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_VALUE = rf"""{_QUOTED}|(?!['"])[^,]*?"""
_FIELD = re.compile(rf"\s*({_VALUE})\s*(,|$)")
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|[^\s{{]+)\s*(.*)", re.IGNORECASE | re.DOTALL)
_NOMINAL = re.compile(rf"""\{{((?:{_QUOTED}|[^}}'"])*)\}}\s*(%.*)?""", re.DOTALL)
_TYPE = re.compile(rf"(\w+)\s*({_QUOTED}|[^%\s][^%]*?)?\s*(%.*)?", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
_ODD = re.compile(r"""^\{|['"\\]""")


# The name of a column, and its type: Float64, String, Datetime, or an Enum of the declared values.
Attribute = tuple[str, Any]


def read_arff(name: str, written: str, as_text: Collection[str]) -> pl.DataFrame:
    """Read the text of an ARFF file; columns in ``as_text`` stay text."""
    import polars as pl

    from nullproof.data.files import refuse_repeated

    lines = enumerate(written.split("\n"), start=1)
    attributes = _declared(name, lines)
    refuse_repeated([own for own, _ in attributes], name)
    numbers, rows = [], []
    for number, line in lines:
        line = line.strip()
        if line and not line.startswith("%"):
            numbers.append(number)
            rows.append(_cells(f"{name}, line {number}", len(attributes), line))
    if not rows:
        raise NullproofError(f"{name} has a header but no rows; give at least one row")
    columns = []
    for (own, kind), cells in zip(attributes, zip(*rows, strict=True), strict=True):
        texts = pl.Series(own, cells, pl.String)
        typed = _typed(name, texts, kind, numbers)
        columns.append(texts if own in as_text else typed)
    return pl.DataFrame(columns)


def _declared(name: str, lines: Iterator[tuple[int, str]]) -> list[Attribute]:
    """Read the attributes, up to @data."""
    attributes: list[Attribute] = []
    for number, line in lines:
        line, where = line.strip(), f"{name}, line {number}"
        word = line.split(maxsplit=1)[0].lower() if line else "%"
        if word == "@data":
            if not attributes:
                raise NullproofError(
                    f"{where}: the data begin before any @attribute; declare the attributes first"
                )
            return attributes
        if word == "@attribute":
            # A list of values may span several lines.
            while "{" in line and not re.search(r"\}\s*(%.*)?$", line):
                more = next(lines, None)
                if more is None:
                    break
                line += " " + more[1].strip()
            attributes.append(_attribute(where, line))
        elif not word.startswith("%") and word != "@relation":
            raise NullproofError(
                f"{where}: {line[:40]!r} is neither @relation, @attribute nor @data; fix that line"
            )
    raise NullproofError(f"{name} has no @data line; give a complete ARFF file")


def _attribute(where: str, line: str) -> Attribute:
    import polars as pl

    found = _ATTRIBUTE.fullmatch(line)
    if found is None:
        raise NullproofError(f"{where}: an @attribute needs a name and a type; fix that line")
    name, declared = _unquoted(found[1]), found[2]
    nominal = _NOMINAL.fullmatch(declared)
    if nominal is not None:
        listed = _split(nominal[1]) if nominal[1].strip() else []
        if listed is not None:
            return name, pl.Enum([*dict.fromkeys(map(_unquoted, listed))])
    typed = _TYPE.fullmatch(declared)
    kind = typed[1].lower() if typed else ""
    if kind == "date":
        return name, pl.Datetime("us")
    if typed and not typed[2] and kind in ("numeric", "real", "integer", "string"):
        return name, pl.String() if kind == "string" else pl.Float64()
    raise NullproofError(
        f"{where}: the attribute {name!r} has the type {declared[:40]!r}; give numeric, string, date or "
        "{its values}, with quotes around values that hold spaces, commas or quotes"
    )


def _unquoted(written: str) -> str:
    if written[:1] in ("'", '"') and written[-1:] == written[:1] and len(written) > 1:
        return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), written[1:-1])
    return written


def _split(row: str) -> list[str] | None:
    """Return the fields of a row as written; None if one is malformed."""
    fields, at, more = [], 0, True
    while more:
        found = _FIELD.match(row, at)
        if found is None:
            return None
        fields.append(found[1])
        at, more = found.end(), bool(found[2])
    return fields


def _cells(where: str, n_attributes: int, row: str) -> list[str | None]:
    """Return the cells of one row as text; None for missing cells."""
    if row.startswith("{"):
        raise NullproofError(
            f"{where}: sparse rows are not supported; write one value for each attribute, as Weka's "
            "SparseToNonSparse does"
        )
    if _ODD.search(row):
        fields = _split(row)
    elif "," in row or n_attributes == 1:
        fields = [field.strip() for field in row.split(",")]
    else:
        # Weka also accepts tabs and spaces as separators.
        fields = row.split()
    if fields is None:
        raise NullproofError(
            f"{where}: a quote is never closed or stands inside a value; quote the whole value"
        )
    if len(fields) != n_attributes:
        raise NullproofError(
            f"{where}: the row has {many(len(fields), 'value')} and there are {n_attributes} "
            "attributes; give one for each, without a weight, in quotes where it holds a comma"
        )
    return [None if field in ("?", "") else _unquoted(field) for field in fields]


def _typed(name: str, cells: pl.Series, kind: Any, lines: Sequence[int]) -> pl.Series:
    """Return a column of texts as its attribute declares it."""
    import polars as pl

    if kind == pl.String:
        return cells
    if kind == pl.Enum:
        wanted = f"its declared values are {some(map(repr, kind.categories), 5)}"
        made = cells.cast(kind, strict=False)
    elif kind == pl.Datetime:
        wanted = "dates must look like 2024-12-31 10:30:00"
        days = [None if x is None else parsed_date(x) for x in cells.to_list()]
        made = pl.Series(cells.name, days, pl.Int64).cast(kind)
    else:
        wanted = "it is declared as numeric"
        typed = type_texts(cells, NOTHING_SPELLED)
        made = cells.cast(kind, strict=False) if typed is None else typed[0]
    strange = made.is_null() & cells.is_not_null()
    if strange.any():
        at = int(strange.arg_max() or 0)
        raise NullproofError(
            f"{name}, line {lines[at]}: {cells.name!r} is {cells[at][:40]!r} but {wanted}; mend it"
        )
    return made
