"""Tables in files and on standard input, in any format and packing: one door for all of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from nullproof.errors import NullproofError
from nullproof.tables.contents import AS_IT_IS, KINDS, Content, FileOptions, Form
from nullproof.tables.encodings import NotUtf8Error, decode, decode_as_windows, is_utf8
from nullproof.tables.spellings import USUAL, Spellings
from nullproof.tables.text_files import read_pieces, read_text, told, top_of, unread_text
from nullproof.tables.writings import Writings, written_plainly

if TYPE_CHECKING:
    import polars as pl

# How many cells a block has, about: some ten megabytes of numbers.
BLOCK = 4_000_000
FEWEST = 4096
# About so many bytes a text file takes for a cell.
_BYTES = 8
_NAMES: dict[Form, str] = {
    "parquet": "a Parquet file",
    "arrow": "an Arrow file",
    "arrow stream": "an Arrow stream",
    "excel": "an Excel file",
    "arff": "an ARFF file",
    "text": "a text file",
}
_MOST_DIGITS = 38
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
    return _read_decoded(content, form, _Asked(spellings, as_text, options, like))


@dataclass(frozen=True)
class FileBlocks:
    """A table in a file that can be read in blocks of rows, again and again.

    Parameters
    ----------
    names
        The columns.
    read
        Gives the blocks, each with the share of the file that is read then. It takes the columns that are
        wanted; the kinds of files that have to be read whole give the others too.
    """

    names: tuple[str, ...]
    read: Callable[[Collection[str]], Iterator[tuple[FileTable, float]]]


def file_blocks(
    path: str | Path,
    *,
    spellings: Spellings = USUAL,
    as_text: Collection[str] = (),
    options: FileOptions = AS_IT_IS,
    like: Writings,
) -> FileBlocks:
    """Open a table that is like a training table, to be read in blocks of about `BLOCK` cells.

    Parquet, Arrow and text files are; other kinds, and text that is neither UTF-8 nor of a named encoding,
    are one block. Other parameters as `read_file` has them.
    """
    content = Content(path)
    form = content.binary_form()
    if form is None:
        decode(content, options.encoding)
    asked = _Asked(spellings, as_text, options, like)
    kind = form or content.text_form()
    _refuse_options(content, kind, options)
    if kind in ("parquet", "arrow"):
        return _scanned(content, kind)
    if kind == "text" and is_utf8(content):
        return _in_pieces(content, asked)
    whole = _read_decoded(content, form, asked)
    return FileBlocks(tuple(whole.frame.columns), lambda _: iter([(whole, 1.0)]))


def _read_decoded(content: Content, form: Form | None, asked: _Asked) -> FileTable:
    """Read a text as UTF-8, and if it turns out not to be that, as Windows writes it."""
    try:
        return _read(content, form, asked)
    except NotUtf8Error:
        if asked.options.encoding is not None:
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

    @property
    def texts(self) -> Collection[str]:
        """Columns that a text file must not turn into numbers: those written in their own way neither."""
        return (*self.as_text, *(self.like or ()))

    @property
    def nulls(self) -> list[str]:
        """The texts, besides nothing, that a reader may turn into nulls."""
        return [spelling for spelling in self.spellings.nulls if spelling]


def _scanned(content: Content, form: Form) -> FileBlocks:
    """A Parquet or an Arrow file, of which polars reads some rows at a time."""
    import polars as pl

    def scan() -> pl.LazyFrame:
        source = content.source()
        return pl.scan_parquet(source, glob=False) if form == "parquet" else pl.scan_ipc(source)

    def read(wanted: Collection[str]) -> Iterator[tuple[FileTable, float]]:
        with _explaining(content, form):
            lazy = scan().select(name for name in names if name in wanted)
            n_rows = max(1, lazy.select(pl.len()).collect().item())
            # Where rows are long, setting a question up for each few of them would take longer than that.
            step = max(FEWEST, BLOCK // max(1, len(names)))
        for start in range(0, n_rows, step):
            with _explaining(content, form):
                frame = lazy.slice(start, step).collect()
            yield FileTable(frame), min(1.0, (start + step) / n_rows)

    with _explaining(content, form):
        names = tuple(scan().collect_schema().names())
    return FileBlocks(names, read)


def _in_pieces(content: Content, asked: _Asked) -> FileBlocks:
    """A text file, of which some rows are read at a time."""
    with _explaining(content, "text"):
        top = top_of(content, asked.options.header)

    def read(_: Collection[str]) -> Iterator[tuple[FileTable, float]]:
        with _explaining(content, "text"):
            for frame, share in read_pieces(
                content, top, nulls=asked.nulls, as_text=asked.texts, size=_BYTES * BLOCK
            ):
                yield FileTable(*_plain(frame, asked, top.separator), from_text=True), share

    return FileBlocks(tuple(top.names), read)


def _read(content: Content, form: Form | None, asked: _Asked) -> FileTable:
    import polars as pl

    form = form or content.text_form()
    as_text, options = asked.as_text, asked.options
    _refuse_options(content, form, options)
    with _explaining(content, form):
        if form == "parquet":
            return _stored(pl.read_parquet(content.source(), glob=False), content)
        if form == "arrow":
            return _stored(pl.read_ipc(content.source()), content)
        if form == "arrow stream":
            return _stored(pl.read_ipc_stream(content.source()), content)
        if form == "excel":
            from nullproof.tables.excel import read_excel

            frame = read_excel(content, as_text=as_text, options=options)
            return FileTable(*_plain(frame, asked), from_text=True)
        if form == "arff":
            from nullproof.tables.arff import read_arff

            return FileTable(read_arff(content, as_text=as_text))
        frame, separator = read_text(
            content, nulls=asked.nulls, as_text=asked.texts, header=options.header
        )
        return FileTable(*_plain(frame, asked, separator), from_text=True)


def _stored(frame: pl.DataFrame, content: Content) -> FileTable:
    """A table with the types that its file says; refuse those that cannot be."""
    import polars as pl

    for name, dtype in frame.schema.items():
        if isinstance(dtype, pl.Decimal) and not 0 < (dtype.precision or 1) <= _MOST_DIGITS:
            raise _unreadable(content, f"{name!r} has decimals of {dtype.precision} digits")
    return FileTable(frame)


@contextmanager
def _explaining(content: Content, form: Form) -> Iterator[None]:
    """Say in one sentence why a file cannot be read."""
    import polars as pl

    try:
        yield
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
