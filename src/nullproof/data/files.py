"""Tables in files and on standard input: CSV and its like, Parquet, Arrow, Excel, ARFF, packed or not.

What a file is, its first bytes say. Typed formats are what their types are; texts are typed here, column by
column (`nullproof.data.texts`). A CSV is read once: columns whose first cells are plain numbers as numbers,
all others as texts. Only where a column turns out to be no numbers after all is it read again, as text.
"""

from __future__ import annotations

import codecs
import csv
import datetime as dt
import difflib
import gzip
import importlib
import io
import itertools
import logging
import math
import os
import re
import stat
import sys
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, cast

from nullproof.data.missing import USUAL, Missing
from nullproof.data.texts import FormatFinder, Formats, format_named, type_texts
from nullproof.data.types import LARGEST_DOUBLE_INTEGER, as_number, text
from nullproof.errors import NullproofError, missing_extra, notice
from nullproof.words import cut, many, some

if TYPE_CHECKING:
    import polars as pl

Form = Literal["parquet", "arrow", "arrow stream", "excel", "arff", "text"]
Stamp = tuple[int, int, int]
KINDS = "CSV, TSV, Parquet, Arrow, Excel (.xlsx) or ARFF file"
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
    "excel": ("header=False", "sheet", "skip_rows"),
    "arff": ("encoding",),
    "text": ("encoding", "header=False", "skip_rows"),
}
# How many cells a block has, about, and how many bytes of a text file these are.
_BLOCK, _BYTES, _FEWEST = 4_000_000, 8, 4096
_GIGABYTE = 1 << 30


@dataclass(frozen=True)
class FileOptions:
    """How a file is to be read where it does not say so itself.

    Parameters
    ----------
    encoding
        The encoding of a text file, as Python names it; None for UTF-8, or what is found out.
    header
        Whether the first row has the names; if not, they are ``c1``, ``c2``, …
    sheet
        The sheet of an Excel file; None for the first with cells.
    skip_rows
        Lines of a text file, or rows of a sheet, to skip before the header.
    strict
        Whether an option that does not fit the kind of file is rejected, or passed over.
    """

    encoding: str | None = None
    header: bool = True
    sheet: str | None = None
    skip_rows: int = 0
    strict: bool = True

    def __post_init__(self) -> None:
        if (
            isinstance(self.skip_rows, bool)
            or not isinstance(self.skip_rows, int)
            or self.skip_rows < 0
        ):
            raise NullproofError(
                f"skip_rows is {self.skip_rows!r}; give how many lines to skip, a whole number from 0 on"
            )

    @property
    def named(self) -> list[str]:
        """The options that were given, as a message names them."""
        given = {
            "encoding": self.encoding is not None,
            "header=False": not self.header,
            "sheet": self.sheet is not None,
            "skip_rows": self.skip_rows > 0,
        }
        return [name for name, is_given in given.items() if is_given]

    def refuse(self, what: str) -> None:
        """Reject options of files for a table that is none, or that is not read here."""
        if self.named:
            raise NullproofError(
                f"{self.named[0]} was given but the table is {what}; it is for single files of text or "
                "Excel, leave it out"
            )


AS_IT_IS = FileOptions()


@dataclass(frozen=True)
class FileTable:
    """A table from a file.

    Parameters
    ----------
    from_text
        Whether its texts come from a text file, where an empty cell is missing in any case.
    taken
        By column, the spellings that were taken as missing.
    formats
        How some columns wrote their numbers and dates.
    skipped
        Rows of the file that are no data, and were left out.
    """

    frame: pl.DataFrame
    from_text: bool = False
    taken: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    formats: Formats = field(default_factory=dict)
    skipped: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Asked:
    """How a file is to be read."""

    missing: Missing = USUAL
    as_text: frozenset[str] = frozenset()
    domains: Mapping[str, Collection[str]] = field(default_factory=dict)
    options: FileOptions = AS_IT_IS
    like: Formats | None = None


def read_file(
    path: str | Path,
    *,
    missing: Missing = USUAL,
    as_text: Collection[str] = (),
    domains: Mapping[str, Collection[str]] | None = None,
    options: FileOptions = AS_IT_IS,
    like: Formats | None = None,
) -> FileTable:
    """Read a table.

    Parameters
    ----------
    path
        A file, or ``-`` for standard input.
    as_text
        Columns to keep as they are written: ``01`` stays ``01``.
    domains
        Declared values by column.
    like
        How the training table writes numbers and dates, if this is to be read as that was.
    """
    content = Content(path)
    form = content.form(options)
    return _read(content, form, _Asked(missing, frozenset(as_text), domains or {}, options, like))


Read = Callable[[Collection[str]], Iterator[tuple[FileTable, float]]]


def file_blocks(
    path: str | Path,
    *,
    missing: Missing,
    as_text: Collection[str],
    options: FileOptions,
    like: Formats,
) -> tuple[tuple[str, ...], Read]:
    """Open a table that is like a training table, to be read in blocks of rows.

    Return the names of its columns and a function that reads the blocks, each with the share of the file
    that is read then. It takes the columns that are wanted. Parquet, Arrow and text files are read in
    blocks; other kinds, and text that is not UTF-8, are one block.
    """
    content = Content(path)
    form = content.form(options)
    asked = _Asked(missing, frozenset(as_text), {}, options, like)
    if form in ("parquet", "arrow"):
        return _scanned(content, form)
    if form == "text" and content.is_utf8():
        return _in_pieces(content, asked)
    whole = _read(content, form, asked)
    return tuple(whole.frame.columns), lambda _: iter([(whole, 1.0)])


class Content:
    """The bytes behind a path, unpacked; a plain file stays on disk.

    ``n_above`` is how many lines a piece of a text lacks between its header and its first row.
    """

    n_above = 0

    def __init__(self, path: str | Path) -> None:
        self.name = "standard input" if str(path) == "-" else str(path)
        self.path = None if str(path) == "-" else Path(path)
        self.data: bytes | None = None
        if self.path is None:
            self.data = sys.stdin.buffer.read()
        else:
            _refuse_unreadable(self.path)
            if not self.path.is_file():
                # A pipe, as the shell makes one of <(zcat train.csv.gz), can be read only once.
                self.data = self.path.read_bytes()
        self._unpack()
        if not self.start(1):
            raise self.empty()

    def empty(self) -> NullproofError:
        return NullproofError(f"{self.name} is empty; give a table with a header row")

    def unreadable(self, why: str) -> NullproofError:
        return NullproofError(f"{self.name} is not a table that can be read: {why}; give a {KINDS}")

    def start(self, size: int = 1 << 16) -> bytes:
        with self.open() as stream:
            return stream.read(size)

    def open(self) -> BinaryIO:
        if self.data is not None:
            return io.BytesIO(self.data)
        assert self.path is not None
        return self.path.open("rb")

    def read(self) -> bytes:
        with self.open() as stream:
            return stream.read()

    def source(self) -> Any:
        return self.path if self.data is None else io.BytesIO(self.data)

    def form(self, options: FileOptions) -> Form:
        """Return the kind of the file by its first bytes, and reject options that do not fit."""
        start = self.start(8)
        form: Form = "text"
        if start.startswith(b"PAR1"):
            form = "parquet"
        elif start.startswith(b"ARROW1"):
            form = "arrow"
        elif start.startswith(b"\xff\xff\xff\xff"):
            form = "arrow stream"
        elif start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            form = "excel"
        elif start == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
            raise NullproofError(
                f"{self.name} is an old Excel file (.xls), or one with a password; save it as .xlsx "
                "without a password, or as CSV"
            )
        else:
            self.decode(options.encoding)
            form = self._text_form()
        strange = [name for name in options.named if name not in _TAKEN.get(form, ())]
        if strange and options.strict:
            raise NullproofError(
                f"{strange[0]} was given but {self.name} is {_NAMES[form]}, which leaves no choice there; "
                "leave it out"
            )
        return form

    def _text_form(self) -> Form:
        with self.open() as stream:
            for line in stream:
                line = line.removeprefix(codecs.BOM_UTF8).strip()
                if line and not line.startswith(b"%"):
                    is_arff = line.lower().startswith((b"@relation", b"@attribute"))
                    return "arff" if is_arff else "text"
        return "text"

    def _unpack(self) -> None:
        start = self.start(4)
        if start.startswith(b"\x1f\x8b"):
            kind, problems = "gzip", (OSError, EOFError, zlib.error)
            opener: Any = gzip
        elif start == b"\x28\xb5\x2f\xfd":
            home = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
            try:
                opener = importlib.import_module(home)
            except ImportError:
                raise missing_extra("reading a zstd file", "zstd") from None
            kind, problems = "zstd", (OSError, EOFError, opener.ZstdError)
        else:
            return
        most, blocks, size = _spare_memory(), [], 0
        try:
            with self.open() as packed, opener.open(packed) as unpacked:
                while block := unpacked.read(1 << 24):
                    blocks.append(block)
                    size += len(block)
                    if size > most:
                        raise NullproofError(
                            f"{self.name} unpacks to more than {most / _GIGABYTE:.1f} GB, too much "
                            "for the memory of this machine; let DuckDB count it: memory_limit= or "
                            "--memory-limit 1GB"
                        )
        except problems as problem:
            if isinstance(problem, NullproofError):
                raise
            raise NullproofError(f"{self.name} is a damaged {kind} file: {problem}") from problem
        self.data = b"".join(blocks)

    # Encodings: by a mark, by the name that was given, UTF-8, or as Windows writes text.

    def decode(self, encoding: str | None) -> None:
        """Turn a text into UTF-8 if its mark or the user says that it is something else."""
        if encoding is None:
            start = self.start(4)
            encoding = next((name for mark, name in _MARKS if start.startswith(mark)), None)
            if encoding is None:
                if b"\0" in self.start():
                    raise NullproofError(f"{self.name} is not a table; give a {KINDS}")
                return
        try:
            written = self.read().decode(encoding)
        except UnicodeDecodeError as problem:
            raise NullproofError(
                f"{self.name} is not {encoding} text (byte {problem.start + 1}: {problem.reason}); "
                "name another encoding, or save it as UTF-8"
            ) from None
        except (LookupError, ValueError):
            raise NullproofError(
                f"encoding is {encoding!r}, which is no encoding of text that Python knows; give one like "
                "utf-8, cp1252, latin-1 or utf-16"
            ) from None
        self.data = written.removeprefix("\ufeff").encode(errors="replace")
        if not self.data:
            raise self.empty()
        if "\0" in written:
            raise NullproofError(
                f"{self.name} holds zero bytes when read as {encoding}, and is not a table; give a {KINDS}"
            )

    def is_utf8(self) -> bool:
        """Return whether all of a text is UTF-8."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        with self.open() as stream:
            try:
                while block := stream.read(1 << 22):
                    decoder.decode(block)
                decoder.decode(b"", final=True)
            except UnicodeDecodeError:
                return False
        return True

    def decode_as_windows(self) -> None:
        """Take a text that is not UTF-8 for what Windows writes, with a notice, or reject it."""
        raw = self.read()
        n_ascii = len(raw) - len(raw.translate(None, _ASCII))
        written = None
        if not _CONTROLS.search(raw) and n_ascii >= _LEAST_ASCII * len(raw):
            try:
                written = raw.decode(WINDOWS)
            except UnicodeDecodeError:
                written = None
        if written is None:
            raise self._not_utf8(raw)
        self.data = written.encode()
        notice(
            f"{self.name} is not UTF-8 text and was read as {WINDOWS} (Windows, Western Europe); if "
            "letters look wrong, name its encoding: encoding= or --encoding"
        )

    def _not_utf8(self, raw: bytes) -> NullproofError:
        try:
            raw.decode("utf-8")
            at = 0
        except UnicodeDecodeError as problem:
            at = problem.start
        line = raw.count(b"\n", 0, at) + 1
        column = at - raw.rfind(b"\n", 0, at)
        return NullproofError(
            f"{self.name} is not UTF-8 text (line {line}, byte {column}); save it as UTF-8, or name its "
            "encoding: encoding= or --encoding"
        )


# What Excel and other programs write on Windows in Western Europe and America.
WINDOWS = "cp1252"
# The longer marks first: that of UTF-16 begins that of UTF-32.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_ASCII = bytes(range(0x20, 0x7F)) + b"\t\r\n\f"
# Of the bytes of a text in a language with Latin letters, far more are ASCII.
_LEAST_ASCII = 0.7


class NotUtf8Error(Exception):
    """A text file turned out not to be UTF-8 while it was read."""


def stamp(path: str | Path) -> Stamp | None:
    """Return what changes when a file is changed: its number, size and time; None for what is no file."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return None
    is_file = stat.S_ISREG(found.st_mode)
    return (found.st_ino, found.st_size, found.st_mtime_ns) if is_file else None


def _spare_memory() -> int:
    """Return how many bytes a packed file may have unpacked: half of the memory that is free."""
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 2 * _GIGABYTE
    return max(free // 2, _GIGABYTE // 4)


def _refuse_unreadable(path: Path) -> None:
    try:
        if path.is_dir():
            raise NullproofError(f"{path} is a directory; give one file")
        if not path.exists():
            names = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
            close = difflib.get_close_matches(path.name, names, n=3)
            hint = f"; did you mean {' or '.join(close)}?" if close else "; check the path"
            raise NullproofError(f"no such file: {path}{hint}")
        if path.is_file():
            path.open("rb").close()
    except OSError as problem:
        raise NullproofError(f"cannot read {path}: {problem.strerror}") from problem


# Reading.


def _read(content: Content, form: Form, asked: _Asked) -> FileTable:
    """Read a text as UTF-8, and if it turns out not to be that, as Windows writes it."""
    try:
        return _read_form(content, form, asked)
    except NotUtf8Error:
        if asked.options.encoding is not None:
            # It was decoded, and is not at fault: a part of it cannot be read as a table.
            raise content.unreadable("its text cannot be read") from None
        content.decode_as_windows()
    try:
        return _read_form(content, form, asked)
    except NotUtf8Error:
        raise content.unreadable("its text cannot be read") from None


def _read_form(content: Content, form: Form, asked: _Asked) -> FileTable:
    import polars as pl

    with _explaining(content, form):
        if form == "parquet":
            return FileTable(pl.read_parquet(content.source(), glob=False))
        if form == "arrow":
            return FileTable(pl.read_ipc(content.source()))
        if form == "arrow stream":
            return FileTable(pl.read_ipc_stream(content.source()))
        if form == "arff":
            from nullproof.data.arff import read_arff

            try:
                written = content.read().decode("utf-8-sig")
            except UnicodeDecodeError:
                raise NotUtf8Error from None
            return FileTable(read_arff(content.name, written, as_text=asked.as_text))
        if form == "excel":
            return _typed(read_excel(content, asked), asked, semicolons=False)
        top = _top_of(content, asked.options)
        frame = _read_rows(content, top, asked)
        return _typed(frame, asked, semicolons=top.separator == ";")


@contextmanager
def _explaining(content: Content, form: Form) -> Iterator[None]:
    """Say in one sentence why a file cannot be read."""
    import polars as pl

    problems = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, EOFError)
    try:
        yield
    except problems as problem:
        message = _ADVICE.sub("", " ".join(str(problem).split()))
        if form in ("text", "arff"):
            if "utf-8" in message.lower() or "utf8" in message.lower():
                raise NotUtf8Error from problem
            if "more fields than defined" in message or "n_extra" in message:
                raise NullproofError(
                    f"{content.name} is ragged: a row has more fields than the header; mend that row, or "
                    "quote values that contain the separator; lines above the header are left out "
                    "with skip_rows= or --skip-rows"
                ) from problem
            if "CSV malformed" in message or 'could not parse `"' in message:
                raise _unclosed(content) from problem
        raise content.unreadable(message[:200]) from problem


def _unclosed(content: Content) -> NullproofError:
    return NullproofError(
        f"{content.name} has a quote that stands inside a value or is never closed; "
        "put such values in quotes and double the quotes in them"
    )


_ADVICE = re.compile(r"\s(The current offset|You might want|Consider) .*")


def _typed(frame: pl.DataFrame, asked: _Asked, *, semicolons: bool) -> FileTable:
    """Type the texts of a file column by column; rows that are no data are left out first."""
    import polars as pl

    columns = {series.name: series for series in frame.get_columns()}
    names = [n for n, own in columns.items() if own.dtype == pl.String and n not in asked.as_text]
    like, domains = asked.like or {}, asked.domains
    plain = [name for name in names if name not in like and name not in domains]
    typed = _plain_columns(columns[name] for name in plain)
    rules = {name: asked.missing.rule(name, domains.get(name, ()), in_file=True) for name in names}
    taken: dict[str, tuple[str, ...]] = {}

    def take(name: str, series: pl.Series) -> bool:
        found = type_texts(series, rules[name])
        if found is not None:
            typed[name], taken[name] = found[0], found[1].taken
        return found is not None

    formats = {name: like[name] for name in names if name in like}
    made_plain = {
        name: format_named(how).plain_series(columns[name]) for name, how in formats.items()
    }
    left = [n for n in names if n not in typed and not take(n, made_plain.get(n, columns[n]))]
    odd_rows = _rows_of_no_data([columns[name] for name in left], rules, frame.height)
    if odd_rows:
        _report_rows(odd_rows)
        found = _typed(without_rows(frame, odd_rows), asked, semicolons=semicolons)
        return replace(found, skipped=tuple(odd_rows))
    if asked.like is None:
        finder = FormatFinder(semicolons=semicolons)
        for name in left:
            form = finder.look_at(name, columns[name], rules[name])
            if form is not None:
                take(name, form.plain_series(columns[name]))
        formats = finder.formats()
    if typed:
        frame = pl.DataFrame(columns | typed)
    return FileTable(frame, True, {name: own for name, own in taken.items() if own}, formats)


def _plain_columns(columns: Iterable[pl.Series]) -> dict[str, pl.Series]:
    """Return the columns of texts that are plain numbers throughout, as numbers.

    Only quick operations: a file may have ten thousand columns.
    """
    import polars as pl

    found = {}
    for texts in columns:
        first, nulls = texts.first(), texts.null_count()
        if nulls == len(texts) or (first is not None and as_number(str(first)) is None):
            continue
        floats = texts.cast(pl.Float64, strict=False)
        # A sum is finite if all numbers are.
        if floats.null_count() > nulls or not math.isfinite(floats.sum()):
            continue
        whole = texts.cast(pl.Int64, strict=False)
        if whole.null_count() == nulls:
            found[texts.name] = whole
        elif _doubles_hold(floats):
            found[texts.name] = floats
    return found


def _doubles_hold(floats: pl.Series) -> bool:
    """Return whether doubles stand for the texts that they were: no large integers, infinity or NaN."""
    ends = [float(end) for end in (floats.min(), floats.max()) if end is not None]  # type: ignore[arg-type]
    return all(abs(end) < LARGEST_DOUBLE_INTEGER for end in ends) and math.isfinite(floats.sum())


def _rows_of_no_data(
    columns: Sequence[pl.Series], rules: Mapping[str, Any], n_rows: int
) -> list[int]:
    """Return at most three rows (a repeated header, say) that keep most columns from being numbers."""
    import polars as pl

    if n_rows < _FEW_ROWS:
        return []
    rows: set[int] = set()
    n_kept = 0
    for series in columns:
        # Two looks, since most columns of texts are settled by their last cells.
        tail = series.tail(_FEW_ROWS).drop_nulls()
        if not len(tail) or tail.cast(pl.Float64, strict=False).null_count() > _MOST_ODD + 2:
            continue
        texts = series.is_not_null() & series.cast(pl.Float64, strict=False).is_null()
        odd = texts.arg_true()
        if len(odd) > max(_MOST_ODD, n_rows // 2):
            continue
        own = [row for row in odd.to_list() if not rules[series.name].looks_missing(series[row])]
        if 0 < len(own) <= _MOST_ODD:
            rows.update(own)
            n_kept += 1
    return (
        sorted(rows) if n_kept >= 2 and 2 * n_kept > len(columns) and len(rows) <= _MOST_ODD else []
    )


_FEW_ROWS, _MOST_ODD = 20, 3


def without_rows(frame: pl.DataFrame, rows: Sequence[int]) -> pl.DataFrame:
    """Return a frame without some of its rows."""
    import polars as pl

    if not rows:
        return frame
    kept = [row not in rows for row in range(frame.height)]
    return frame.filter(pl.Series(kept, dtype=pl.Boolean))


def _report_rows(rows: Sequence[int]) -> None:
    which = "row" if len(rows) == 1 else "rows"
    notice(
        f"left out {which} {some([row + 1 for row in rows], 3)} below the header, which "
        f"{'holds' if len(rows) == 1 else 'hold'} texts where all other rows hold numbers (descriptions, "
        "or a repeated header)"
    )


# CSV, TSV and their like. polars fills rows that are too short with nulls, silently; `_whole_rows` looks
# for those.

_SEPARATORS = ",\t;|"
_QUOTED = re.compile(r'"[^"]*"?')
_HEAD, _HEAD_ROWS = 1 << 18, 1000


@dataclass(frozen=True)
class Top:
    """What is known of a text file before its rows are read.

    ``n_lines`` are the lines above the first row of data, ``n_bytes`` the bytes of these.
    """

    separator: str
    names: list[str]
    n_lines: int
    n_bytes: int
    has_header: bool = True


def separator_of(header: str) -> str:
    """Return what separates the names in a header line."""
    return max(_SEPARATORS, key=_QUOTED.sub("", header).count)


def header_fields(path: Path) -> int:
    """Count the fields of the first line of a text file, without reading more."""
    with path.open("rb") as stream:
        line = stream.readline(1 << 26).decode("utf-8", errors="replace")
    return _QUOTED.sub("", line).count(separator_of(line)) + 1


def _top_of(content: Content, options: FileOptions) -> Top:
    """Read the header; without one, the names are c1, c2, …"""
    try:
        with _lines(content) as lines:
            skipped = [*itertools.islice(lines, options.skip_rows)]
            blank = [*itertools.takewhile(lambda line: not line.strip("\r\n"), lines)]
            # takewhile has read one line too many.
            first = _line_after(content, len(skipped) + len(blank))
            separator = separator_of(first)
            if (
                str(content.path or "")
                .lower()
                .removesuffix(".gz")
                .removesuffix(".zst")
                .endswith((".tsv", ".tab"))
            ):
                separator = "\t"
            n_lines, names = next(_rows(itertools.chain([first], lines), separator), (0, []))
    except UnicodeDecodeError:
        raise NotUtf8Error from None
    if not any(name.strip() for name in names):
        raise content.empty()
    if first.endswith("\r"):
        raise NullproofError(f"{content.name} ends its lines in CR alone; save it with LF or CRLF")
    above = len(skipped) + len(blank)
    if options.header:
        refuse_repeated(names, content.name)
        _tell_of_data(names, content.name)
        above += n_lines
    else:
        names = [f"c{place}" for place in range(1, len(names) + 1)]
    with content.open() as stream:
        n_bytes = sum(map(len, itertools.islice(stream, above)))
    return Top(separator, names, above, n_bytes, options.header)


def _line_after(content: Content, n_lines: int) -> str:
    with _lines(content) as lines:
        return next(itertools.islice(lines, n_lines, None), "")


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


def _read_rows(content: Content, top: Top, asked: _Asked) -> pl.DataFrame:
    """Read the rows below a header that is known already."""
    import polars as pl

    kept = asked.as_text.union(asked.like or ())
    width = len(top.names)
    texts = {f"c{j}": pl.String for j in range(width)}

    def read(types: dict[str, Any], source: Any = None, **more: Any) -> pl.DataFrame:
        return pl.read_csv(
            content.source() if source is None else source,
            has_header=False,
            skip_lines=top.n_lines,
            separator=top.separator,
            schema=types,
            **more,
        )

    frame = None
    start = content.start(_HEAD)
    if len(start) == _HEAD:
        head = start[: start.rfind(b"\n") + 1]
        try:
            first = read(
                texts, head, n_rows=_HEAD_ROWS, truncate_ragged_lines=True, encoding="utf8-lossy"
            )
            plain = _plain_columns(first[f"c{j}"] for j in range(width) if top.names[j] not in kept)
            types = texts | {name: series.dtype for name, series in plain.items()}
            if types != texts:
                frame = read(types)
                floats = (own for own in frame.get_columns() if own.dtype == pl.Float64)
                frame = frame if all(map(_doubles_hold, floats)) else None
        except pl.exceptions.PolarsError:
            frame = None
    try:
        frame = read(texts) if frame is None else frame
    except pl.exceptions.SchemaError:
        # The first row is too short, or blank.
        if content.read().count(b'"') % 2:
            raise _unclosed(content) from None
        content, top = (
            _without_blank_lines(content, top),
            Top(top.separator, top.names, 0, 0, top.has_header),
        )
        frame = read(texts)
    except pl.exceptions.NoDataError:
        frame = pl.DataFrame(schema=texts)
    frame = _whole_rows(frame, content, top)
    if not frame.height:
        raise NullproofError(f"{content.name} has a header but no rows; give at least one row")
    return _with_names(frame, top.names, content.name)


def _whole_rows(frame: pl.DataFrame, content: Content, top: Top) -> pl.DataFrame:
    """Drop the rows that polars makes of blank lines, and reject rows it filled up with nulls.

    Both end in a null and lack separators, so most files are settled by counting those.
    """
    import polars as pl

    if frame.width == 1 or not frame[:, -1].null_count():
        return frame
    expected = (frame.width - 1) * frame.height
    found, quoted = 0, False
    with content.open() as stream:
        stream.seek(top.n_bytes)
        while block := stream.read(1 << 20):
            found += block.count(top.separator.encode())
            quoted = quoted or b'"' in block
    if found == expected and not quoted:
        return frame
    kept = [_is_row(content, top, line, row) for line, row in _body(content, top)]
    return frame.filter(pl.Series(kept, dtype=pl.Boolean))


def _body(content: Content, top: Top) -> Iterator[tuple[int, list[str]]]:
    """Return the rows below the header with their lines."""
    with _lines(content) as lines:
        yield from _rows(itertools.islice(lines, top.n_lines, None), top.separator)


def _is_row(content: Content, top: Top, line: int, row: list[str]) -> bool:
    """Return whether a row is not blank; reject one that is too short."""
    if not row or (len(row) == 1 and not row[0].strip() and len(top.names) > 1):
        return False
    if len(row) < len(top.names):
        above = "header" if top.has_header else "first row"
        raise NullproofError(
            f"{content.name} is ragged: line {line + top.n_lines + content.n_above} has "
            f"{many(len(row), 'field')}, the {above} has {len(top.names)}; mend that line, or leave "
            "out lines above the header with skip_rows= or --skip-rows"
        )
    return True


def _without_blank_lines(content: Content, top: Top) -> Content:
    """Return the rows of a text file without blank lines; reject rows that are too short."""
    kept = copy(content)
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=top.separator, lineterminator="\n")
    writer.writerows(row for line, row in _body(content, top) if _is_row(content, top, line, row))
    kept.data = buffer.getvalue().encode()
    return kept


def _in_pieces(content: Content, asked: _Asked) -> tuple[tuple[str, ...], Read]:
    """Read a text file some rows at a time."""
    with _explaining(content, "text"):
        top = _top_of(content, asked.options)

    def read(_: Collection[str]) -> Iterator[tuple[FileTable, float]]:
        some_rows = False
        for data, n_above, share in _pieces(content, top.n_bytes, _BYTES * _BLOCK):
            # Blank lines are no rows.
            if len(top.names) > 1 and not data.strip():
                continue
            part = copy(content)
            part.data, part.n_above = data, n_above + top.n_lines
            with _explaining(content, "text"):
                body = Top(top.separator, top.names, 0, 0, top.has_header)
                frame = _read_rows(part, body, asked)
                block = _typed(frame, asked, semicolons=top.separator == ";")
            yield block, share
            some_rows = True
        if not some_rows:
            raise NullproofError(f"{content.name} has a header but no rows; give at least one row")

    return tuple(name for name in top.names if name.strip()), read


def _pieces(content: Content, start: int, size: int) -> Iterator[tuple[bytes, int, float]]:
    """Return whole rows, about ``size`` bytes at a time, with the lines above and the share read."""
    with content.open() as stream:
        n_bytes = stream.seek(0, 2)
        stream.seek(start)
        rest, n_above = (b"" if start else stream.read(3).removeprefix(codecs.BOM_UTF8)), 0
        while block := stream.read(size):
            rest += block
            # A line end between quotes is none of a row.
            end = rest.rfind(b"\n") + 1
            n_quotes = rest.count(b'"', 0, end)
            while n_quotes % 2:
                before = rest.rfind(b"\n", 0, end - 1) + 1
                n_quotes -= rest.count(b'"', before, end)
                end = before
            if end:
                yield rest[:end], n_above, stream.tell() / n_bytes
                n_above += rest.count(b"\n", 0, end)
                rest = rest[end:]
        if rest:
            yield rest, n_above, 1.0


def _scanned(content: Content, form: Form) -> tuple[tuple[str, ...], Read]:
    """Read a Parquet or an Arrow file some rows at a time."""
    import polars as pl

    def scan() -> pl.LazyFrame:
        source = content.source()
        return pl.scan_parquet(source, glob=False) if form == "parquet" else pl.scan_ipc(source)

    def read(wanted: Collection[str]) -> Iterator[tuple[FileTable, float]]:
        with _explaining(content, form):
            lazy = scan().select(name for name in names if name in wanted)
            n_rows = max(1, lazy.select(pl.len()).collect().item())
            # Where rows are long, setting a question up for each few of them would take longer than that.
            step = max(_FEWEST, _BLOCK // max(1, len(names)))
        for start in range(0, n_rows, step):
            with _explaining(content, form):
                frame = lazy.slice(start, step).collect()
            yield FileTable(frame), min(1.0, (start + step) / n_rows)

    with _explaining(content, form):
        names = tuple(scan().collect_schema().names())
    return names, read


# Names of columns.


def _with_names(frame: pl.DataFrame, header: Sequence[str], where: str) -> pl.DataFrame:
    """Name the columns by their header, without those that have neither name nor cells."""
    import polars as pl

    unnamed = [j for j, name in enumerate(header) if not name.strip()]
    empty = {
        j
        for j in unnamed
        if frame.to_series(j).null_count() == frame.height
        or (
            frame.to_series(j).dtype == pl.String
            and not frame.to_series(j).str.strip_chars().ne("").any()
        )
    }
    if len(unnamed) - len(empty) > 1:
        raise NullproofError(
            f"{where} has {len(unnamed) - len(empty)} columns with cells but without a name; give each "
            "column its own name, or leave out lines above the header with skip_rows= or --skip-rows"
        )
    pairs = zip(frame.get_columns(), header, strict=True)
    return pl.DataFrame({name: own for j, (own, name) in enumerate(pairs) if j not in empty})


def refuse_repeated(header: Sequence[str], where: str) -> None:
    """Reject a name that two columns have, and point out a header that may be none."""
    counts: dict[str, int] = {}
    for name in header:
        if name.strip():
            counts[name] = counts.get(name, 0) + 1
    twice = sorted(name for name, count in counts.items() if count > 1)
    if not twice:
        return
    number = "two" if counts[twice[0]] == 2 else str(counts[twice[0]])
    others = f" (and {some(map(repr, twice[1:]), 4)} repeated too)" if twice[1:] else ""
    hint = (
        ", or say header=False or --no-header if it has no names"
        if _looks_like_data(header)
        else ""
    )
    raise NullproofError(
        f"{where} has {number} columns named {twice[0]!r}{others}; give each column its own name{hint}"
    )


def _tell_of_data(header: Sequence[str], where: str) -> None:
    if _looks_like_data(header):
        notice(
            f"the first row of {where} holds numbers ({some(header, 4)}) and was read as the names of the "
            "columns; if it is data, say header=False or --no-header"
        )


def _looks_like_data(header: Sequence[str]) -> bool:
    """Return whether all names are numbers, or one is a number that is not whole; years may be names."""
    numbers = [as_number(name) for name in header if name.strip()]
    parts = (isinstance(x, float) and abs(x) < 1e300 for x in numbers)
    return all(x is not None for x in numbers) or any(parts)


# Excel.

_SHEETS = "xl/worksheets/"
_CELL = re.compile(rb"""r\s*=\s*["']([A-Za-z]{1,3})([0-9]{1,9})["']""")
# The reader keeps every cell between the outermost ones; about 30 bytes each.
_MOST_PLACES = 50_000_000
_NUMBERED = re.compile(r"_[0-9]+$")
_SILENCE = logging.NullHandler()
_DAMAGE = (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, ValueError)


def read_excel(content: Content, asked: _Asked) -> pl.DataFrame:
    """Read the sheet that is named, or the first that has cells; a column of several kinds is text."""
    import polars as pl

    _refuse_damage(content)
    options = asked.options
    with _explaining_excel(content):
        book = importlib.import_module("fastexcel").read_excel(
            str(content.path) if content.data is None else content.data
        )
        name, sheet = _sheet(book, content, options)
        names = _sheet_names(book, name, sheet, options)
        frame: pl.DataFrame = sheet.to_polars()
    where = f"the sheet {name!r} of {content.name}"
    if options.header:
        refuse_repeated(names, where)
        _tell_of_data(names, where)
    held = frame.select(pl.any_horizontal(pl.all().is_not_null()).alias("held"))["held"].arg_true()
    # Blank rows after the last cell are no rows.
    frame = frame.head(int(held[-1]) + 1 if len(held) else 0)
    if not frame.height:
        raise NullproofError(f"{where} has a header but no rows; give at least one row")
    return _whole_columns(_with_names(frame, names, where), asked.as_text)


@contextmanager
def _explaining_excel(content: Content) -> Iterator[None]:
    for logger in ("fastexcel", "calamine"):
        # They log every empty column.
        logging.getLogger(logger).addHandler(_SILENCE)
    try:
        yield
    except ModuleNotFoundError:
        raise missing_extra("reading an Excel file", "excel") from None
    except BaseException as problem:
        home = type(problem).__module__.partition(".")[0]
        if home not in ("fastexcel", "_fastexcel", "pyo3_runtime"):
            raise
        said = " ".join(str(problem).split("Context:")[0].split())[:200]
        raise NullproofError(
            f"{content.name} is not an Excel file that can be read: {said}; save it again as .xlsx, or "
            "as CSV"
        ) from problem


def _load(book: Any, name: str, options: FileOptions, **more: Any) -> Any:
    place: dict[str, Any] = {"header_row": options.skip_rows if options.header else None}
    if not options.header and options.skip_rows:
        place["skip_rows"] = options.skip_rows
    return book.load_sheet(name, **{**place, "schema_sample_rows": None, **more})


def _sheet(book: Any, content: Content, options: FileOptions) -> tuple[str, Any]:
    """Return the sheet that is named, or the first with cells and a notice if others have some too."""
    if options.sheet is not None:
        if options.sheet not in book.sheet_names:
            known = some(map(repr, book.sheet_names), 10)
            raise NullproofError(f"{content.name} has no sheet {options.sheet!r}; it has {known}")
        sheet = _load(book, options.sheet, options)
        if not sheet.width:
            raise NullproofError(
                f"the sheet {options.sheet!r} of {content.name} is empty; name another sheet"
            )
        return options.sheet, sheet
    filled = [name for name in book.sheet_names if _first_row(book, name).height]
    if not filled:
        raise content.empty()
    if len(filled) > 1:
        notice(
            f"{content.name} has {len(filled)} sheets with cells ({some(map(repr, filled), 10)}) and the "
            "first was read; name another with sheet= or --sheet"
        )
    return filled[0], _load(book, filled[0], options)


def _first_row(book: Any, name: str, skip_rows: int | None = None) -> pl.DataFrame:
    """Return the first row of a sheet, as text."""
    options = {"header_row": None, "n_rows": 1, "dtypes": "string", "skip_rows": skip_rows}
    frame: pl.DataFrame = book.load_sheet(name, **options).to_polars()
    return frame


def _sheet_names(book: Any, name: str, sheet: Any, options: FileOptions) -> list[str]:
    """Return the names as they are written: the reader makes up some and tells repeated ones apart."""
    if not options.header:
        return [f"c{place}" for place in range(1, sheet.width + 1)]
    columns = sheet.available_columns()
    names = [column.name for column in columns]
    made_up = any(column.column_name_from != "looked_up" for column in columns)
    if made_up or any(_NUMBERED.sub("", own) in names for own in names if _NUMBERED.search(own)):
        return [cell or "" for cell in _first_row(book, name, options.skip_rows or None).row(0)]
    return names


def _whole_columns(frame: pl.DataFrame, as_text: Collection[str]) -> pl.DataFrame:
    """Return whole numbers as such (Excel has doubles only), and texts where they are asked for."""
    import polars as pl

    columns = {}
    for series in frame.get_columns():
        if series.dtype.is_float():
            whole = series.cast(pl.Int64, strict=False)
            same = (whole.cast(pl.Float64) == series).all()
            if same and whole.null_count() == series.null_count():
                series = whole
        elif series.dtype == pl.Datetime and _are_times(series):
            series = series.dt.time()
        if series.name in as_text and series.dtype != pl.String:
            cells = [None if x is None else text(x) for x in series.to_list()]
            series = pl.Series(series.name, cells, pl.String)
        columns[series.name] = series
    return pl.DataFrame(columns)


def _are_times(moments: pl.Series) -> bool:
    """Return whether moments are times of day: Excel writes those as a day before its first."""
    days = moments.drop_nulls().dt.date()
    return bool(len(days)) and bool((days < dt.date(1900, 1, 1)).all())


def _refuse_damage(content: Content) -> None:
    """Unpack the file once, with its checksums: no part is damaged, and no cell lies too far out."""
    try:
        with content.open() as stream, zipfile.ZipFile(stream) as archive:
            names = archive.namelist()
            if "xl/workbook.xml" not in names:
                raise _other_archive(content, archive)
            for part in archive.infolist():
                n_columns = n_rows = 1
                rest = b""
                with archive.open(part) as unpacked:
                    while block := unpacked.read(1 << 22):
                        if part.filename.startswith(_SHEETS):
                            # The name of a cell may lie across two blocks.
                            for letters, row in {*_CELL.findall(rest + block)}:
                                n_columns = max(n_columns, _column_number(letters))
                                n_rows = max(n_rows, int(row))
                            rest = block[-20:]
                if n_columns * n_rows > _MOST_PLACES:
                    raise NullproofError(
                        f"{content.name} has cells as far out as row {n_rows:,} and column {n_columns:,}; "
                        "delete those that lie outside the table, or save the sheet as CSV"
                    )
    except NullproofError:
        raise
    except _DAMAGE as problem:
        raise NullproofError(
            f"{content.name} is a damaged Excel file: {cut(str(problem), 200)}; save it again as .xlsx, "
            "or as CSV"
        ) from problem


def _other_archive(content: Content, archive: zipfile.ZipFile) -> NullproofError:
    names = archive.namelist()
    if "mimetype" in names and b"opendocument" in archive.read("mimetype")[:100]:
        what = "is an OpenDocument file (.ods); save it as .xlsx or CSV"
    elif any(name.startswith("xl/") for name in names):
        what = "is a binary Excel file (.xlsb); save it as .xlsx or CSV"
    else:
        what = f"is a zip archive; unpack it and give a {KINDS}"
    return NullproofError(f"{content.name} {what}")


def _column_number(letters: bytes) -> int:
    """Return the number of a column, from A = 1."""
    place = 0
    for letter in letters.upper():
        place = place * 26 + letter - ord("A") + 1
    return place
