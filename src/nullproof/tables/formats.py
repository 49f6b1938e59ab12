"""Tables in files and on standard input, in any format and packing: one door for all of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from nullproof.errors import NullproofError
from nullproof.tables.arff import read_arff
from nullproof.tables.contents import AS_IT_IS, KINDS, Content, FileOptions, Form
from nullproof.tables.encodings import NotUtf8Error, decode, decode_as_windows
from nullproof.tables.excel import read_excel
from nullproof.tables.spellings import USUAL, Spellings
from nullproof.tables.text_files import read_text, told, unread_text
from nullproof.tables.writings import Writings, written_plainly

if TYPE_CHECKING:
    import polars as pl

_NAMES: dict[Form, str] = {
    "parquet": "a Parquet file",
    "arrow": "an Arrow file",
    "arrow stream": "an Arrow stream",
    "excel": "an Excel file",
    "arff": "an ARFF file",
    "text": "a text file",
}
# Which options say something about which kinds of files.
_TAKEN: dict[Form, tuple[str, ...]] = {
    "excel": ("header=False", "sheet"),
    "arff": ("encoding",),
    "text": ("encoding", "header=False"),
}


@dataclass(frozen=True)
class FileTable:
    """A table from a file.

    Parameters
    ----------
    writings
        How some columns wrote their numbers and dates before these were made plain.
    from_text
        Whether texts in it may stand for numbers, dates or truth values.
    """

    frame: pl.DataFrame
    writings: Writings = field(default_factory=dict)
    from_text: bool = False


def read_file(
    path: str | Path,
    *,
    spellings: Spellings = USUAL,
    as_text: Collection[str] = (),
    options: FileOptions = AS_IT_IS,
    like: Writings | None = None,
) -> FileTable:
    """Read a table.

    Parameters
    ----------
    path
        A file, or ``-`` for standard input.
    spellings
        What means missing, if not the usual spellings.
    as_text
        Columns to keep as they are written: ``01`` stays ``01``.
    options
        What the file does not say itself: its encoding, whether it has a header, its sheet.
    like
        How the training table writes numbers and dates, if this is to be read as that was.
    """
    content = Content(path)
    form = content.binary_form()
    if form is None:
        decode(content, options.encoding)
    asked = _Asked(spellings, as_text, options, like)
    try:
        return _read(content, form, asked)
    except NotUtf8Error:
        if options.encoding is not None:
            # It was decoded, and is not at fault: a part of it cannot be read as a table.
            raise _unreadable(content, "its text cannot be read") from None
        decode_as_windows(content)
    try:
        return _read(content, form, asked)
    except NotUtf8Error:
        raise _unreadable(content, "its text cannot be read") from None


@dataclass(frozen=True)
class _Asked:
    """How a file is to be read."""

    spellings: Spellings
    as_text: Collection[str]
    options: FileOptions
    like: Writings | None


def _read(content: Content, form: Form | None, asked: _Asked) -> FileTable:
    import polars as pl

    form = form or content.text_form()
    as_text, options = asked.as_text, asked.options
    _refuse_options(content, form, options)
    nulls = [spelling for spelling in asked.spellings.nulls if spelling]
    try:
        if form == "parquet":
            return FileTable(pl.read_parquet(content.source()))
        if form == "arrow":
            return FileTable(pl.read_ipc(content.source()))
        if form == "arrow stream":
            return FileTable(pl.read_ipc_stream(content.source()))
        if form == "excel":
            frame = read_excel(content, as_text=as_text, options=options)
            return FileTable(*_plain(frame, asked), from_text=True)
        if form == "arff":
            return FileTable(read_arff(content, as_text=as_text))
        frame, separator = read_text(content, nulls=nulls, as_text=as_text, header=options.header)
        return FileTable(*_plain(frame, asked, separator), from_text=True)
    except (
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        OSError,
        EOFError,
    ) as problem:
        known = unread_text(content, problem) if form in ("text", "arff") else None
        raise known or _unreadable(content, told(problem)[:200]) from problem


def _plain(
    frame: pl.DataFrame, asked: _Asked, separator: str = ""
) -> tuple[pl.DataFrame, Writings]:
    return written_plainly(
        frame,
        spellings=asked.spellings,
        as_text=asked.as_text,
        semicolons=separator == ";",
        like=asked.like,
    )


def _refuse_options(content: Content, form: Form, options: FileOptions) -> None:
    strange = [name for name in options.named if name not in _TAKEN.get(form, ())]
    if strange and options.strict:
        raise NullproofError(
            f"{strange[0]} was given but {content.name} is {_NAMES[form]}, which leaves no choice there; "
            "leave it out"
        )


def _unreadable(content: Content, why: str) -> NullproofError:
    return NullproofError(f"{content.name} is not a table that can be read: {why}; give a {KINDS}")
