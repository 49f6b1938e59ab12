"""ARFF, the format of Weka and OpenML: attributes with their types and domains, then rows.

Rows without quotes are split by polars, all at once; rows with quotes and sparse rows one at a time.
A nominal attribute becomes an Enum, so its domain is closed as it is declared.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from nullproof.errors import NullproofError
from nullproof.tables.contents import Content
from nullproof.tables.encodings import NotUtf8Error
from nullproof.tables.headers import refuse_repeated
from nullproof.tables.text_files import mixes_up
from nullproof.words import cut, some

if TYPE_CHECKING:
    import polars as pl

Kind = Literal["number", "nominal", "string", "date"]
_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_VALUE = rf"""{_QUOTED}|(?!['"])[^,]*?"""
_FIELD = re.compile(rf"\s*({_VALUE})\s*(,|$)")
_ENTRY = re.compile(rf"\s*(\d+)\s+({_VALUE})\s*(,|$)", re.ASCII)
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|[^\s{{]+)\s*(.*)", re.IGNORECASE | re.DOTALL)
_NOMINAL = re.compile(rf"""\{{((?:{_QUOTED}|[^}}'"])*)\}}\s*(%.*)?""", re.DOTALL)
_TYPE = re.compile(rf"(\w+)\s*({_QUOTED}|[^%\s][^%]*?)?\s*(%.*)?", re.DOTALL)
# Spaces within a quote belong to the value, those around it do not.
_SPACED = re.compile(r"[^\S\r\n]'|'[^\S\r\n]")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
_NUMBERS = ("numeric", "real", "integer")
_ISO = "yyyy-MM-dd'T'HH:mm:ss"
# Letters of Java's SimpleDateFormat, and what polars calls them.
_MOMENTS = {"yyyy": "%Y", "yy": "%y", "MM": "%m", "M": "%m", "MMM": "%b", "dd": "%d", "d": "%d"}
_MOMENTS |= {"HH": "%H", "H": "%H", "mm": "%M", "ss": "%S", "SSS": "%3f"}
_PATTERN = re.compile(r"'([^']*)'|([A-Za-z])\2*|[^A-Za-z']+")


@dataclass(frozen=True)
class Attribute:
    """A column as it is declared; ``form`` is how polars reads its dates."""

    name: str
    kind: Kind
    values: tuple[str, ...] = ()
    form: str = ""

    @property
    def zero(self) -> str | None:
        """What a sparse row means by leaving it out; None if that is nothing."""
        if self.kind == "nominal":
            return self.values[0] if self.values else None
        return "0" if self.kind == "number" else None


def read_arff(content: Content, *, as_text: Collection[str] = ()) -> pl.DataFrame:
    """Read an ARFF file in UTF-8; numbers in ``as_text`` stay as they are written."""
    import polars as pl

    with content.open() as stream:
        try:
            written = stream.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise NotUtf8Error from None
    attributes, n_above = _declared(content, written)
    refuse_repeated([attribute.name for attribute in attributes], content.name)
    at = 0
    for _ in range(n_above):
        at = written.find("\n", at) + 1 or len(written)
    frame = _all_at_once(attributes, written[at:], n_above)
    if frame is None:
        frame = _split(content, attributes, _rows(content, written[at:], n_above))
    places = frame["line"]
    return pl.DataFrame(
        {
            attribute.name: _typed(
                content, attribute, frame[f"c{j}"], places, attribute.name in as_text
            )
            for j, attribute in enumerate(attributes)
        }
    )


def _problem(content: Content, line: int, what: str) -> NullproofError:
    return NullproofError(f"{content.name}, line {line}: {what}")


def _all_at_once(attributes: Sequence[Attribute], body: str, n_above: int) -> pl.DataFrame | None:
    """The cells as polars reads a CSV file, if the rows are as plain as one; None if they may not be."""
    import polars as pl

    width = len(attributes)
    odd = ('"', "\\", "{", "%", "'?'", "''")
    if width == 1 or any(sign in body for sign in odd) or _SPACED.search(body):
        return None
    body = body.rstrip("\r\n")
    try:
        cells = pl.read_csv(
            body.encode(),
            has_header=False,
            new_columns=[f"c{j}" for j in range(width)],
            quote_char="'",
            infer_schema=False,
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    n_rows = cells.height
    # A row that is short, long or blank, or a comma in a value, makes one of these wrong.
    if body.count("\n") + 1 != n_rows or body.count(",") != (width - 1) * n_rows:
        return None
    if cells.width != width:
        return None
    numbers = pl.int_range(n_above + 1, n_above + n_rows + 1, eager=True).alias("line")
    return cells.select(_known(pl.all().str.strip_chars())).insert_column(0, numbers)


def _known(cells: pl.Expr) -> pl.Expr:
    """Cells without those that say or show nothing."""
    import polars as pl

    return pl.when(~cells.is_in(["?", ""])).then(cells)


def _rows(content: Content, body: str, n_above: int) -> pl.DataFrame:
    """The lines that are rows, with their numbers."""
    import polars as pl

    lines = body.split("\n")
    rows = pl.DataFrame(
        {
            "line": pl.int_range(n_above + 1, n_above + len(lines) + 1, eager=True),
            "row": pl.Series(lines, dtype=pl.String).str.strip_chars(),
        }
    ).filter((pl.col("row") != "") & ~pl.col("row").str.starts_with("%"))
    if not rows.height:
        raise NullproofError(f"{content.name} has a header but no rows; give at least one row")
    return rows


def _declared(content: Content, whole: str) -> tuple[list[Attribute], int]:
    """The attributes, and how many lines there are up to @data."""
    attributes: list[Attribute] = []
    numbered = enumerate(io.StringIO(whole), start=1)
    for line, written in numbered:
        written = written.strip()
        word = written.split(maxsplit=1)[0].lower() if written else "%"
        if word == "@data":
            if not attributes:
                raise _problem(content, line, "the data begin without any @attribute; declare them")
            return attributes, line
        if word == "@attribute":
            # A list of values may go on over several lines.
            while "{" in written and not re.search(r"\}\s*(%.*)?$", written):
                more = next(numbered, None)
                if more is None:
                    break
                written += " " + more[1].strip()
            attributes.append(_attribute(content, line, written))
        elif not word.startswith("%") and word != "@relation":
            raise _problem(
                content,
                line,
                f"{written[:40]!r} is neither @relation, @attribute nor @data; mend that line",
            )
    raise NullproofError(f"{content.name} has no @data line; give a whole ARFF file")


def _attribute(content: Content, line: int, written: str) -> Attribute:
    found = _ATTRIBUTE.fullmatch(written)
    if found is None:
        raise _problem(content, line, "an @attribute needs a name and a type; mend that line")
    name, declared = _unquoted(found[1]), found[2]
    nominal = _NOMINAL.fullmatch(declared)
    # Where quotes do not fit, the type is told as it is written.
    with contextlib.suppress(ValueError):
        if nominal is not None:
            listed = _fields(nominal[1]) if nominal[1].strip() else []
            return Attribute(name, "nominal", tuple(dict.fromkeys(map(_unquoted, listed))))
    typed = _TYPE.fullmatch(declared)
    kind = typed[1].lower() if typed else ""
    if typed and kind == "date":
        return Attribute(name, "date", form=_moments(content, line, _unquoted(typed[2] or _ISO)))
    if typed and not typed[2] and (kind in _NUMBERS or kind == "string"):
        return Attribute(name, "string" if kind == "string" else "number")
    if kind == "relational":
        raise _problem(
            content, line, f"the attribute {name!r} is relational, a table in a cell; leave it out"
        )
    raise _problem(
        content,
        line,
        f"the attribute {name!r} has the type {declared[:40]!r}; give numeric, string, date or "
        "{its values}, with quotes around values that hold spaces, commas or quotes",
    )


def _moments(content: Content, line: int, pattern: str) -> str:
    """A pattern of Java's dates as polars writes it."""
    parts = []
    for found in _PATTERN.finditer(pattern):
        letters = found[0] if found[2] else ""
        if letters and letters not in _MOMENTS:
            raise _problem(
                content,
                line,
                f"the date format {cut(pattern, 40)!r} has {cut(letters, 20)!r}; write dates as "
                "yyyy-MM-dd HH:mm:ss, or declare a string",
            )
        literal = found[1] if found[1] is not None else found[0]
        parts.append(_MOMENTS.get(letters) or literal.replace("%", "%%"))
    return "".join(parts)


def _unquoted(written: str) -> str:
    if written[:1] in ("'", '"') and written[-1:] == written[:1] and len(written) > 1:
        return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), written[1:-1])
    return written


def _fields(row: str) -> list[str]:
    """The fields of a row, as they are written."""
    return [field for field, _ in _matches(_FIELD, row)]


def _matches(pattern: re.Pattern[str], row: str) -> Iterator[tuple[str, ...]]:
    """The groups of one match after another, to the end of the row; ValueError if one does not fit."""
    at, more = 0, True
    while more:
        found = pattern.match(row, at)
        if found is None:
            raise ValueError
        *groups, comma = found.groups()
        yield *groups, comma
        at, more = found.end(), bool(comma)


def _split(content: Content, attributes: Sequence[Attribute], rows: pl.DataFrame) -> pl.DataFrame:
    """The cells of every row as text, null where missing, with the line of each."""
    import polars as pl

    width = len(attributes)
    names = [f"c{j}" for j in range(width)]
    by_hand = pl.col("row").str.contains(r"""^\{|['"\\]""")
    odd = rows.filter(by_hand)
    plain = rows.filter(~by_hand)
    if width > 1:
        # Weka takes tabs and spaces for separators too.
        spaced = pl.col("row").str.replace_all(r"\s+", ",")
        commas = pl.col("row").str.contains(",", literal=True)
        plain = plain.with_columns(pl.when(commas).then("row").otherwise(spaced))
    wrong = plain.filter(pl.col("row").str.count_matches(",", literal=True) != width - 1)
    if wrong.height:
        line, row = wrong.row(0)
        raise _wrong_width(content, line, row.count(",") + 1, width, row)
    cells = plain["row"].str.split_exact(",", width - 1).struct.rename_fields(names).struct.unnest()
    cells = cells.select(_known(pl.all().str.strip_chars()))
    parts = [pl.concat([plain.select("line"), cells], how="horizontal")]
    if odd.height:
        made = [_cells(content, attributes, line, row) for line, row in odd.rows()]
        schema = dict.fromkeys(names, pl.String)
        parts.append(
            pl.concat(
                [odd.select("line"), pl.DataFrame(made, schema, orient="row")], how="horizontal"
            )
        )
    return pl.concat(parts).sort("line")


def _wrong_width(content: Content, line: int, found: int, width: int, row: str) -> NullproofError:
    if found == width + 1 and row.endswith("}"):
        return _problem(
            content, line, "the row has a weight; weights are not counted, leave them out"
        )
    return _problem(
        content,
        line,
        f"the row has {found} {'value' if found == 1 else 'values'} and there are {width} attributes; give "
        "one for each, in quotes where it holds a comma",
    )


def _cells(
    content: Content, attributes: Sequence[Attribute], line: int, row: str
) -> list[str | None]:
    """The cells of one row with quotes, or of a sparse one."""
    try:
        if row.startswith("{"):
            return _sparse(content, attributes, line, row)
        fields = _fields(row)
    except ValueError as problem:
        if isinstance(problem, NullproofError):
            raise
        what = "a quote is never closed or stands inside a value; quote the whole value"
        if row.startswith("{"):
            what = "the sparse row is not written like {0 1.5, 3 'a b'}; mend that line"
        raise _problem(content, line, what) from None
    if len(fields) != len(attributes):
        raise _wrong_width(content, line, len(fields), len(attributes), row)
    return [_cell(field) for field in fields]


def _cell(field: str) -> str | None:
    return None if field in ("?", "") else _unquoted(field)


def _sparse(
    content: Content, attributes: Sequence[Attribute], line: int, row: str
) -> list[str | None]:
    """A row like ``{1 x, 3 y}``: what it leaves out is zero, or the first value of its attribute."""
    if not row.endswith("}"):
        raise _problem(content, line, "the sparse row has no } at its end; mend that line")
    inside = row[1:-1]
    given: dict[int, str | None] = {}
    if inside.strip():
        entries = [(int(place), _cell(field)) for place, field, _ in _matches(_ENTRY, inside)]
        given = dict(entries)
        if len(given) < len(entries):
            raise _problem(content, line, "the sparse row has an attribute twice; mend that line")
    if any(place >= len(attributes) for place in given):
        raise _problem(
            content,
            line,
            f"the sparse row has a value for attribute {max(given)}, but the last is "
            f"{len(attributes) - 1}, counted from 0; mend that line",
        )
    for place, attribute in enumerate(attributes):
        if place not in given and attribute.zero is None:
            raise _problem(
                content,
                line,
                f"the sparse row leaves out {attribute.name!r}, which has no zero; give its value or ?",
            )
    return [given.get(place, attribute.zero) for place, attribute in enumerate(attributes)]


def _typed(
    content: Content, attribute: Attribute, cells: pl.Series, lines: pl.Series, as_text: bool
) -> pl.Series:
    """A column of texts as its attribute declares it."""
    import polars as pl

    if attribute.kind == "nominal":
        strange = ~cells.is_in([*attribute.values]) & cells.is_not_null()
        wanted = f"it is declared with {some(map(repr, attribute.values), 5)}"
        made = cells.set(strange, None).cast(pl.Enum([*attribute.values]))
    elif attribute.kind == "date":
        made, wanted = _dates(cells, attribute.form), "it is declared with another form of dates"
        strange = made.is_null() & cells.is_not_null()
    elif attribute.kind == "number":
        made, wanted = _numbers(cells), "it is declared as numbers"
        strange = made.is_null() & cells.is_not_null()
        made = cells if as_text else made
    else:
        return cells
    if strange.any():
        at = int(strange.arg_max() or 0)
        raise _problem(
            content,
            lines[at],
            f"{attribute.name!r} is {cells[at][:40]!r} but {wanted}; mend that line",
        )
    return made


def _numbers(cells: pl.Series) -> pl.Series:
    """Integers where all are, exact up to 38 digits, else doubles; null where a text is no number."""
    import polars as pl

    found = cells.cast(pl.Float64, strict=False)
    if found.null_count() > cells.null_count():
        return found
    integers = pl.Int128 if mixes_up(found) else pl.Int64
    whole = cells.cast(integers, strict=False)
    return whole if whole.null_count() == cells.null_count() else found


def _dates(cells: pl.Series, form: str) -> pl.Series:
    if not any(part in form for part in ("%H", "%M", "%S", "%3f")):
        return cells.str.to_date(form, strict=False)
    return cells.str.to_datetime(form, strict=False, time_unit="us")
