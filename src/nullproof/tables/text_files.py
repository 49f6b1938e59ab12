"""CSV, TSV and their like: the separator, the names, every row whole, and doubtful columns as text.

polars reads the text: on a 318 MB CSV of numbers it took 0.7 s, as long as pandas 3 and pyarrow at
best and a sixth of pandas 2, with the least memory of them, and it is a dependency anyway. It fills
rows that are too short with nulls, silently; `_whole_rows` looks for those.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from nullproof.errors import NullproofError
from nullproof.tables.contents import Content
from nullproof.tables.encodings import NotUtf8Error
from nullproof.tables.headers import numbered_names, refuse_repeated, tell_of_data, with_names
from nullproof.tables.pieces import header_of, pieces
from nullproof.tables.values import LARGEST_DOUBLE_INTEGER

if TYPE_CHECKING:
    import polars as pl

_SEPARATORS = ",\t;|"
_INFER_ROWS = 1_000
_COLUMN = re.compile(r"could not parse .* \(column number (\d+)\)", re.DOTALL)
_QUOTED = re.compile(r'"[^"]*"?')
_ADVICE = re.compile(r"\s(The current offset|You might want|Consider) .*")


def read_text(
    content: Content,
    *,
    nulls: Sequence[str],
    as_text: Collection[str],
    header: bool = True,
) -> tuple[pl.DataFrame, str]:
    """Read the table of a text file in UTF-8, and say what separates its cells.

    Parameters
    ----------
    nulls
        What stands for missing, besides nothing.
    as_text
        Columns to keep as they are written: ``01`` stays ``01``.
    header
        Whether the first row has the names; if not, one is put before it.
    """
    top = top_of(content, header)
    if top.added:
        with content.open() as stream:
            rest = stream.read().removeprefix(codecs.BOM_UTF8)
        content.data = top.line + rest
    return _read_rows(content, top, nulls, as_text), top.separator


def read_pieces(
    content: Content, top: Top, *, nulls: Sequence[str], as_text: Collection[str], size: int
) -> Iterator[tuple[pl.DataFrame, float]]:
    """The same piece by piece, each of about ``size`` bytes, with the share of the file that is read."""
    some_rows = False
    for piece in pieces(content, 0 if top.added else len(top.line), size):
        # Blank lines are no rows.
        if len(top.names) == 1 or piece.data.strip():
            part = content.piece(top.line + piece.data, piece.n_above)
            yield _read_rows(part, top, nulls, as_text), piece.share
            some_rows = True
    if not some_rows:
        raise _without_rows(content)


def _read_rows(
    content: Content, top: Top, nulls: Sequence[str], as_text: Collection[str]
) -> pl.DataFrame:
    """Read rows below a header that is known already."""
    import polars as pl

    texts = [name for name in top.names if name in as_text]

    def read(
        infer_rows: int | None = _INFER_ROWS,
        names: list[str] | None = None,
        nulls: Sequence[str] = nulls,
    ) -> pl.DataFrame:
        return pl.read_csv(
            content.source(),
            separator=top.separator,
            columns=names,
            null_values=list(nulls),
            schema_overrides=dict.fromkeys(texts, pl.String),
            infer_schema_length=infer_rows,
        )

    found = None
    if not _begins_with_spellings(content, top, nulls):
        found = _read_hopefully(read, nulls)
    if found is None:
        frame = _read_patiently(read, texts, top.names)
        found = frame, mixed_up(frame)
    frame, doubtful = found
    if doubtful:
        texts += doubtful
        frame = frame.with_columns(read(names=doubtful))
    frame = _whole_rows(frame, content, top)
    if not frame.height:
        raise _without_rows(content)
    # Where a quote stands inside a name, polars and Python may not agree how many there are.
    same = len(top.names) == frame.width
    names = top.names if same else frame.columns
    return with_names(frame, names, content.name)


def _without_rows(content: Content) -> NullproofError:
    return NullproofError(f"{content.name} has a header but no rows; give at least one row")


def separator_of(header: str) -> str:
    """What separates the names in a header line."""
    return max(_SEPARATORS, key=_QUOTED.sub("", header).count)


def mixed_up(frame: pl.DataFrame) -> list[str]:
    """Columns whose doubles may stand for different texts: large integers, or spellings of infinity."""
    import polars.selectors as cs

    numbers, most = cs.float(), LARGEST_DOUBLE_INTEGER
    # The least and the greatest take no notice of NaN.
    plain = ~numbers.is_nan().any() & (numbers.min() > -most) & (numbers.max() < most)
    found = frame.select(plain.fill_null(value=True))
    return [name for name in found.columns if not found[name].item()]


def mixes_up(series: pl.Series) -> bool:
    """Whether a column's doubles may stand for different texts."""
    return bool(mixed_up(series.to_frame()))


@dataclass(frozen=True)
class Top:
    """The first row: the separator, the names and the line of bytes; ``added`` if it is not in the file."""

    separator: str
    names: list[str]
    line: bytes
    added: bool = False


def top_of(content: Content, header: bool) -> Top:
    """Read the first row; without a header, the names are c1, c2, …"""
    try:
        with _lines(content) as lines:
            first = next((line for line in lines if line.strip("\r\n")), "")
            separator = separator_of(first)
            if content.plain_name.endswith((".tsv", ".tab")):
                separator = "\t"
            _, names = next(_rows(itertools.chain([first], lines), separator), (0, []))
    except UnicodeDecodeError:
        raise NotUtf8Error from None
    if not any(name.strip() for name in names):
        raise content.empty()
    if first.endswith("\r"):
        raise NullproofError(f"{content.name} ends its lines in CR alone; save it with LF or CRLF")
    if header:
        refuse_repeated(names, content.name)
        tell_of_data(names, content.name)
        return Top(separator, names, header_of(content))
    names = numbered_names(len(names))
    return Top(separator, names, separator.join(names).encode() + b"\n", added=True)


def _read_hopefully(
    read: Callable[..., pl.DataFrame], nulls: Sequence[str]
) -> tuple[pl.DataFrame, list[str]] | None:
    """Read as if nothing but empty cells were missing; None where that would make a difference.

    With the columns that are mixed up, since a NaN makes a column one of them.
    polars compares every cell with every spelling, which makes 17 of them cost a third of its time.
    Most files that are long have none of them: a spelling would turn a column into text, or NaN.
    """
    import polars as pl

    try:
        frame = read(nulls=[null for null in nulls if not null])
    except pl.exceptions.ComputeError:
        return None
    doubtful = mixed_up(frame)
    return None if _has_spellings(frame, doubtful, nulls) else (frame, doubtful)


def _begins_with_spellings(content: Content, top: Top, nulls: Sequence[str]) -> bool:
    """Whether the first cells tell already that some are missing: then one way of reading is spared."""
    start = content.start().replace(b'"', b"").replace(b"\r", b"")
    cells = {*start.replace(top.separator.encode(), b"\n").split(b"\n")}
    return any(null.encode() in cells for null in nulls if null)


def _has_spellings(frame: pl.DataFrame, doubtful: list[str], nulls: Sequence[str]) -> bool:
    import polars as pl
    import polars.selectors as cs

    found = frame.select(cs.string().is_in([*nulls]).any(), pl.col(doubtful).is_nan().any())
    return bool(found.width) and any(found.row(0))


def _read_patiently(
    read: Callable[..., pl.DataFrame], texts: list[str], names: list[str]
) -> pl.DataFrame:
    """Read, and leave columns as text that polars takes for numbers but cannot read as such."""
    import polars as pl

    infer_rows: int | None = _INFER_ROWS
    while True:
        try:
            return read(infer_rows)
        except pl.exceptions.ComputeError as problem:
            found = _COLUMN.search(str(problem))
            if found is None:
                raise
            name = names[int(found.group(1)) - 1]
            if infer_rows is None and name not in texts:
                texts.append(name)
            elif infer_rows is None:
                raise
            # Numbers may turn into text further down: let polars look at whole columns first.
            infer_rows = None


def _whole_rows(frame: pl.DataFrame, content: Content, top: Top) -> pl.DataFrame:
    """Drop the rows polars makes of blank lines, and refuse rows it filled up with nulls.

    Both end in a null and lack separators, so most files are settled by counting those.
    """
    import polars as pl

    if frame.width == 1 or not frame[:, -1].null_count():
        return frame
    expected = (frame.width - 1) * (frame.height + 1)
    found, quoted = 0, False
    with content.open() as stream:
        while block := stream.read(1 << 20):
            found += block.count(top.separator.encode())
            quoted = quoted or b'"' in block
    if found == expected and not quoted:
        return frame
    kept = []
    above = "first row" if top.added else "header"
    with _lines(content) as lines:
        rows = itertools.dropwhile(
            lambda numbered: _is_blank(numbered[1]), _rows(lines, top.separator)
        )
        for line, row in itertools.islice(rows, 1, None):
            kept.append(not _is_blank(row))
            if kept[-1] and len(row) < frame.width:
                raise NullproofError(
                    f"{content.name} is ragged: line {line - top.added + content.n_above} has {len(row)} "
                    f"{'field' if len(row) == 1 else 'fields'}, the {above} has {frame.width}; "
                    "mend that line"
                )
    return frame.filter(pl.Series(kept, dtype=pl.Boolean))


def _is_blank(row: list[str]) -> bool:
    return not row or (len(row) == 1 and not row[0].strip())


def _lines(content: Content) -> io.TextIOWrapper:
    return io.TextIOWrapper(cast("Any", content.open()), encoding="utf-8-sig", newline="")


def _rows(lines: Iterator[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(lines, delimiter=separator)
    limit = csv.field_size_limit(sys.maxsize)
    try:
        for row in reader:
            yield reader.line_num, row
    finally:
        csv.field_size_limit(limit)


def unread_text(content: Content, problem: BaseException) -> Exception | None:
    """What is wrong with a text file that polars could not read; None if that is not known."""
    message = told(problem)
    if "utf-8" in message.lower() or "utf8" in message.lower():
        return NotUtf8Error()
    if "more fields than defined" in message:
        return NullproofError(
            f"{content.name} is ragged: a row has more fields than the header; "
            "mend that row, or quote values that contain the separator"
        )
    if "CSV malformed" in message or 'could not parse `"' in message:
        return NullproofError(
            f"{content.name} has a quote that stands inside a value or is never closed; "
            "put such values in quotes and double the quotes in them"
        )
    return None


def told(problem: BaseException) -> str:
    """What polars says on one line, without its own advice."""
    return _ADVICE.sub("", " ".join(str(problem).split()))
