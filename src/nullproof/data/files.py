"""Read tables from files and from standard input: text, Parquet, Arrow, Excel, ARFF, also compressed.

The first bytes decide the format, never the name. Typed formats keep their types; the texts of CSV and
Excel files are typed column by column (`nullproof.data.texts`).
"""

from __future__ import annotations

import codecs
import csv
import difflib
import gzip
import importlib
import io
import itertools
import logging
import os
import re
import stat
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from nullproof.data.sources import (
    FileOptions,
    Reading,
    Stamp,
    Table,
    check_limits,
    table_of_polars,
)
from nullproof.data.texts import exact_as_doubles, plain_numbers, type_file
from nullproof.data.types import as_number, text
from nullproof.errors import NullproofError, missing_extra, notice
from nullproof.words import cut, many, some

if TYPE_CHECKING:
    import polars as pl

KINDS = "CSV, TSV, Parquet, Arrow, Excel (.xlsx) or ARFF file"
# What to do about title lines.
SKIP_LINES = "leave out lines above the header with skip_rows= or --skip-rows"
_FORMS = {
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"\xff\xff\xff\xff": "an Arrow stream",
    b"PK\x03\x04": "an Excel file",
    b"PK\x05\x06": "an Excel file",
}
_OLD_EXCEL = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# The options that apply to each kind of file.
_TAKEN: dict[str, tuple[str, ...]] = {
    "an Excel file": ("header=False", "sheet", "skip_rows"),
    "an ARFF file": ("encoding",),
    "a text file": ("encoding", "header=False", "skip_rows"),
}
# The libraries that read files, and the errors of Python that they raise.
_READERS = ("polars", "fastexcel", "_fastexcel", "pyo3_runtime")
_PROBLEMS = (OSError, EOFError, RuntimeError, ValueError, zlib.error, zipfile.BadZipFile)
_GIGABYTE = 1 << 30
# Longer marks first, since the mark of UTF-32 begins with that of UTF-16.
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# Windows writes this in Western Europe and America; most bytes of such a text are ASCII.
_WINDOWS, _LEAST_ASCII = "cp1252", 0.7
_ASCII = bytes(range(0x20, 0x7F)) + b"\t\r\n\f"
# Control characters, and bytes that stand for no letter there.
_NOT_WINDOWS = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f\x81\x8d\x8f\x90\x9d]")


def read_file(path: str | Path, asked: Reading) -> Table:
    """Read a table from a file, or from standard input (``-``)."""
    before = stamp(path)
    content = Content(path, asked.file)
    with _explaining(content):
        return replace(_read(content, asked), stamp=before)


def stamp(path: str | Path) -> Stamp | None:
    """Return a stamp that changes with the file: its number, size and time; None if it is not a file."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return None
    is_file = stat.S_ISREG(found.st_mode)
    return (found.st_ino, found.st_size, found.st_mtime_ns) if is_file else None


class Content:
    """The decompressed bytes of a file, as UTF-8 if they are text; a plain file stays on disk."""

    def __init__(self, path: str | Path, options: FileOptions) -> None:
        self.path = Path(path)
        self.name = "standard input" if str(path) == "-" else cut(str(path), 200)
        self.data: bytes | None = None
        if str(path) == "-":
            self.data = sys.stdin.buffer.read()
        elif not self._is_plain_file():
            # A pipe, such as <(zcat train.csv.gz) in a shell, can be read only once.
            self.data = self.path.read_bytes()
        self._unpack()
        if not self.read(1):
            raise self.error("is empty; give a table with a header row")
        self.form = self._find_form(options.encoding)
        strange = [name for name in options.given if name not in _TAKEN.get(self.form, ())]
        if strange and options.strict:
            raise NullproofError(
                f"{strange[0]} was given but {self.name} is {self.form}, where it has no effect; "
                "leave it out"
            )

    def error(self, what: str) -> NullproofError:
        """Return an error that begins with the name of the file."""
        return NullproofError(f"{self.name} {what}")

    def open(self) -> BinaryIO:
        return self.path.open("rb") if self.data is None else io.BytesIO(self.data)

    def read(self, size: int = -1) -> bytes:
        with self.open() as stream:
            return stream.read(size)

    def lines(self) -> io.TextIOWrapper:
        return io.TextIOWrapper(cast("Any", self.open()), encoding="utf-8-sig", newline="")

    def source(self) -> Any:
        """Return what polars reads from."""
        return self.path if self.data is None else io.BytesIO(self.data)

    def _is_plain_file(self) -> bool:
        """Return whether the path is a file, not a pipe of the shell; reject anything else."""
        path = self.path
        try:
            if path.is_dir():
                raise self.error("is a directory; give one file")
            if not path.exists():
                names = path.parent.iterdir() if path.parent.is_dir() else ()
                close = difflib.get_close_matches(path.name, [near.name for near in names], n=3)
                hint = f"did you mean {' or '.join(close)}?" if close else "check the path"
                raise NullproofError(f"no such file: {self.name}; {hint}")
            if path.is_fifo() and path.resolve().exists():
                # Opening it would wait for a writer, perhaps for ever.
                raise self.error(
                    "is a named pipe; read it from standard input and give - as the file name"
                )
            if path.is_file():
                path.open("rb").close()
                return True
        except OSError as problem:
            raise NullproofError(f"cannot read {self.name}: {problem.strerror}") from problem
        return False

    def _unpack(self) -> None:
        start = self.read(4)
        opener: Any = gzip
        kind, problems = "gzip", (OSError, EOFError, zlib.error)
        if start == b"\x28\xb5\x2f\xfd":
            home = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
            try:
                opener = importlib.import_module(home)
            except ImportError:
                raise missing_extra("reading a zstd file", "zstd") from None
            kind, problems = "zstd", (OSError, EOFError, opener.ZstdError)
        elif not start.startswith(b"\x1f\x8b"):
            return
        blocks, spare = [], _spare_memory()
        try:
            with self.open() as packed, opener.open(packed) as unpacked:
                while spare >= 0 and (block := unpacked.read(1 << 24)):
                    blocks.append(block)
                    spare -= len(block)
        except problems as problem:
            raise self.error(f"is a damaged {kind} file: {problem}") from problem
        if spare < 0:
            raise self.error(
                f"unpacks to more than {sum(map(len, blocks)) / _GIGABYTE:.1f} GB, too much for the "
                "memory of this machine; let DuckDB count it: memory_limit= or --memory-limit 1GB"
            )
        self.data = b"".join(blocks)

    def _find_form(self, encoding: str | None) -> str:
        """Return what the file is, by its first bytes; text is decoded."""
        start = self.read(8)
        for mark, form in _FORMS.items():
            if start.startswith(mark):
                return form
        if start == _OLD_EXCEL:
            raise self.error(
                "is an old Excel file (.xls), or one with a password; save it as .xlsx without a "
                "password, or as CSV"
            )
        self._decode(encoding)
        with self.lines() as lines:
            first = next((x.strip() for x in lines if x.strip() and not x.startswith("%")), "")
        is_arff = first.lower().startswith(("@relation", "@attribute"))
        return "an ARFF file" if is_arff else "a text file"

    def _decode(self, encoding: str | None) -> None:
        """Turn text into UTF-8: from the given encoding, by its mark, or as Windows writes it."""
        start = self.read(1 << 16)
        marks = (own for mark, own in _BYTE_ORDER_MARKS.items() if start.startswith(mark))
        encoding = encoding or next(marks, None)
        if encoding is None:
            if b"\0" in start:
                raise self.error(f"is not a table; give a {KINDS}")
            if self._is_utf8():
                return
            encoding = self._windows_encoding()
        try:
            written = self.read().decode(encoding)
        except UnicodeDecodeError as problem:
            raise self.error(
                f"is not {encoding} text (byte {problem.start + 1}: {problem.reason}); name another "
                "encoding, or save it as UTF-8"
            ) from None
        except (LookupError, ValueError):
            raise NullproofError(
                f"encoding is {encoding!r}, which Python does not know as a text encoding; give one like "
                "utf-8, cp1252, latin-1 or utf-16"
            ) from None
        self.data = written.removeprefix("\ufeff").encode(errors="replace")
        if not self.data:
            raise self.error("is empty; give a table with a header row")
        if "\0" in written:
            raise self.error(
                f"holds zero bytes when read as {encoding}, and is not a table; give a {KINDS}"
            )

    def _is_utf8(self) -> bool:
        decoder = codecs.getincrementaldecoder("utf-8")()
        with self.open() as stream, suppress(UnicodeDecodeError):
            while block := stream.read(1 << 22):
                decoder.decode(block)
            decoder.decode(b"", final=True)
            return True
        return False

    def _windows_encoding(self) -> str:
        """Return the encoding of Windows, with a notice, for text that it can be; reject any other."""
        raw = self.read()
        n_ascii = len(raw) - len(raw.translate(None, _ASCII))
        if n_ascii < _LEAST_ASCII * len(raw) or _NOT_WINDOWS.search(raw):
            at = len(raw.decode(errors="replace").partition("\ufffd")[0].encode())
            line, column = raw.count(b"\n", 0, at) + 1, at - raw.rfind(b"\n", 0, at)
            raise self.error(
                f"is not UTF-8 text (line {line}, byte {column}); save it as UTF-8, or name its encoding: "
                "encoding= or --encoding"
            )
        notice(
            f"{self.name} is not UTF-8 text and was read as {_WINDOWS} (Windows, Western Europe); if "
            "letters look wrong, name its encoding: encoding= or --encoding"
        )
        return _WINDOWS


def _spare_memory() -> int:
    """Return how many bytes a compressed file may unpack to: half of the free memory."""
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 2 * _GIGABYTE
    return max(free // 2, _GIGABYTE // 4)


def _read(content: Content, asked: Reading) -> Table:
    import polars as pl

    if content.form == "an Excel file":
        return type_file(_read_excel(content, asked), asked)
    if content.form == "a text file":
        header = _read_header(content, asked.file)
        rows = _read_rows(content, header, asked)
        return type_file(rows, asked, semicolons=header.separator == ";")
    if content.form == "a Parquet file":
        frame = pl.read_parquet(content.source(), glob=False)
    elif content.form == "an Arrow file":
        frame = pl.read_ipc(content.source())
    elif content.form == "an Arrow stream":
        frame = pl.read_ipc_stream(content.source())
    else:
        from nullproof.data.arff import read_arff

        frame = read_arff(content.name, content.read().decode("utf-8-sig"), asked.as_text)
    return table_of_polars(frame, asked.missing)


@contextmanager
def _explaining(content: Content) -> Iterator[None]:
    """Turn reading errors into one sentence."""
    try:
        yield
    except NullproofError:
        raise
    except ModuleNotFoundError:
        raise missing_extra("reading an Excel file", "excel") from None
    except BaseException as problem:
        # A panic of polars is no Exception.
        home = type(problem).__module__.partition(".")[0]
        if not isinstance(problem, _PROBLEMS) and home not in _READERS:
            raise
        said = " ".join(str(problem).split("Context:")[0].split())
        said = re.sub(r"\s(The current offset|You might want|Consider) .*", "", said)
        if "more fields than defined" in said or "n_extra" in said:
            raise content.error(
                "is ragged: a row has more fields than the header; mend that row, quote values that "
                f"contain the separator, or {SKIP_LINES}"
            ) from problem
        if "CSV malformed" in said or 'could not parse `"' in said:
            raise _unclosed_quote(content) from problem
        raise content.error(
            f"is not a table that can be read: {cut(said, 200)}; give a {KINDS}"
        ) from problem


def _unclosed_quote(content: Content) -> NullproofError:
    return content.error(
        "has a quote that stands inside a value or is never closed; put such values in quotes and double "
        "the quotes in them"
    )


# Text files. polars fills rows that are too short with nulls, silently, and makes rows of blank lines:
# where it may have done so, Python's reader goes through the rows.

_SEPARATORS = ",\t;|"
_QUOTED = re.compile(r'"[^"]*"?')
# A file that is longer than its head is read with the types that its head shows.
_HEAD_BYTES, _HEAD_ROWS = 1 << 18, 1000


@dataclass(frozen=True)
class Header:
    """What is known of a text file before its rows are read.

    ``n_lines`` counts the lines above the first row.
    """

    separator: str
    names: list[str]
    n_lines: int
    is_written: bool


def separator_of(header: str) -> str:
    """Return what separates the names in a header line."""
    return max(_SEPARATORS, key=_QUOTED.sub("", header).count)


def header_fields(path: Path) -> int:
    """Count the fields of the first line of a text file, without reading more."""
    with path.open("rb") as stream:
        line = stream.readline(1 << 26).decode("utf-8", errors="replace")
    return _QUOTED.sub("", line).count(separator_of(line)) + 1


def _read_header(content: Content, options: FileOptions) -> Header:
    """Read the header; without one, the names are c1, c2, …"""
    with content.lines() as lines:
        n_above = len([*itertools.islice(lines, options.skip_rows)])
        first = ""
        for first in lines:
            if first.strip("\r\n"):
                break
            n_above += 1
        separator = separator_of(first)
        if {*map(str.lower, content.path.suffixes)} & {".tsv", ".tab"}:
            separator = "\t"
        n_lines, names = next(_csv_rows(itertools.chain([first], lines), separator), (0, []))
    if not any(name.strip() for name in names):
        raise content.error("is empty; give a table with a header row")
    if first.endswith("\r"):
        raise content.error("ends its lines in CR alone; save it with LF or CRLF")
    check_limits(n_columns=len(names))
    if not options.header:
        return Header(separator, [f"c{j + 1}" for j in range(len(names))], n_above, False)
    _check_header(names, content.name)
    return Header(separator, names, n_above + n_lines, True)


def _csv_rows(lines: Iterator[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Return the rows with the number of the last line of each, by Python's own reader."""
    reader = csv.reader(lines, delimiter=separator)
    limit = csv.field_size_limit(sys.maxsize)
    try:
        for row in reader:
            yield reader.line_num, row
    finally:
        csv.field_size_limit(limit)


def _read_rows(content: Content, header: Header, asked: Reading) -> pl.DataFrame:
    """Read the rows below a header as texts, or as numbers where all texts are plain numbers."""
    import polars as pl

    texts: dict[str, Any] = {f"c{j}": pl.String for j in range(len(header.names))}

    def read(types: dict[str, Any], source: Any, n_lines: int, **more: Any) -> pl.DataFrame:
        how: dict[str, Any] = {"has_header": False, "separator": header.separator, "glob": False}
        try:
            return pl.read_csv(source, schema=types, skip_lines=n_lines, **how, **more)
        except pl.exceptions.NoDataError:
            return pl.DataFrame(schema=texts)

    frame: pl.DataFrame | None = None
    start = content.read(_HEAD_BYTES)
    if len(start) == _HEAD_BYTES:
        kept = {*asked.as_text, *(asked.like or ())}
        head = start[: start.rfind(b"\n") + 1]
        lenient = {"truncate_ragged_lines": True, "encoding": "utf8-lossy", "n_rows": _HEAD_ROWS}
        with suppress(pl.exceptions.PolarsError):
            columns = read(texts, head, header.n_lines, **lenient).get_columns()
            named = zip(header.names, columns, strict=True)
            plain = (plain_numbers(series) for name, series in named if name not in kept)
            types = texts | {series.name: series.dtype for series in plain if series is not None}
            frame = read(types, content.source(), header.n_lines)
            if not all(exact_as_doubles(x) for x in frame.get_columns() if x.dtype == pl.Float64):
                frame = None
    try:
        frame = read(texts, content.source(), header.n_lines) if frame is None else frame
        has_all_fields = _has_all_fields(frame, content, header)
    except pl.exceptions.SchemaError:
        # The first row is too short, or blank.
        if content.read().count(b'"') % 2:
            raise _unclosed_quote(content) from None
        has_all_fields = False
    if frame is None or not has_all_fields:
        frame = read(texts, _full_rows(content, header), 0)
    if not frame.height:
        raise content.error("has a header but no rows; give at least one row")
    return _named_columns(frame, header.names, content.name)


def _has_all_fields(frame: pl.DataFrame, content: Content, header: Header) -> bool:
    """Return whether no line is short or blank; such rows end in a null and lack separators."""
    if frame.width == 1 or not frame[:, -1].null_count():
        return True
    n_separators = 0
    with content.open() as stream:
        for _ in range(header.n_lines):
            stream.readline()
        while block := stream.read(1 << 20):
            if b'"' in block:
                return False
            n_separators += block.count(header.separator.encode())
    return n_separators == (frame.width - 1) * frame.height


def _full_rows(content: Content, header: Header) -> bytes:
    """Return the rows without blank lines; reject one that is too short."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=header.separator, lineterminator="\n")
    width = len(header.names)
    with content.lines() as lines:
        rows = itertools.islice(lines, header.n_lines, None)
        for line, row in _csv_rows(rows, header.separator):
            if not row or (len(row) == 1 and not row[0].strip() and width > 1):
                continue
            if len(row) < width:
                raise content.error(
                    f"is ragged: line {line + header.n_lines} has "
                    f"{many(len(row), 'field')}, the {'header' if header.is_written else 'first row'} has "
                    f"{width}; mend that line, or {SKIP_LINES}"
                )
            writer.writerow(row)
    return buffer.getvalue().encode()


def _named_columns(frame: pl.DataFrame, header: Sequence[str], where: str) -> pl.DataFrame:
    """Name the columns by their header; leave out those that have neither name nor cells."""
    import polars as pl

    kept = {}
    n_unnamed = 0
    for series, name in zip(frame.get_columns(), header, strict=True):
        if not name.strip():
            if not series.cast(pl.String).str.strip_chars().ne("").any():
                continue
            n_unnamed += 1
        kept[name] = series
    if n_unnamed > 1:
        raise NullproofError(
            f"{where} has {n_unnamed} columns with cells but without a name; give each column its own "
            f"name, or {SKIP_LINES}"
        )
    return pl.DataFrame(kept)


def refuse_repeated(header: Sequence[str], where: str) -> None:
    """Reject a name that two columns have; point out a header that may be a row of data."""
    counts = Counter(name for name in header if name.strip())
    twice = sorted(name for name, count in counts.items() if count > 1)
    if not twice:
        return
    number = "two" if counts[twice[0]] == 2 else str(counts[twice[0]])
    others = f" (and {some(map(repr, twice[1:]), 4)} repeated too)" if twice[1:] else ""
    is_data = _looks_like_data(header)
    hint = ", or say header=False or --no-header if it has no names" if is_data else ""
    raise NullproofError(
        f"{where} has {number} columns named {twice[0]!r}{others}; give each column its own name{hint}"
    )


def _check_header(header: Sequence[str], where: str) -> None:
    refuse_repeated(header, where)
    if _looks_like_data(header):
        notice(
            f"the first row of {where} holds numbers ({some(header, 4)}) and was read as the names of the "
            "columns; if it is data, say header=False or --no-header"
        )


def _looks_like_data(header: Sequence[str]) -> bool:
    """Return whether all names are numbers, or one is a fraction; a few years may be names."""
    numbers = [as_number(name) for name in header if name.strip()]
    fractions = (isinstance(number, float) and abs(number) < 1e300 for number in numbers)
    return None not in numbers or any(fractions)


# Excel. The texts of a sheet are typed as those of a CSV file are.

_CELL = re.compile(rb"""r\s*=\s*["']([A-Za-z]{1,3})([0-9]{1,9})["']""")
# The reader keeps every cell between the outermost ones, about 30 bytes each.
_MOST_PLACES = 50_000_000


def _read_excel(content: Content, asked: Reading) -> pl.DataFrame:
    """Read the named sheet, or the first that has cells; a column of several types is text."""
    import polars as pl

    options = asked.file
    for logger in ("fastexcel", "calamine"):
        # fastexcel logs every empty column.
        logging.getLogger(logger).addHandler(logging.NullHandler())

    def load(**more: Any) -> Any:
        return pl.read_excel(
            content.source(),
            drop_empty_rows=False,
            drop_empty_cols=False,
            raise_if_empty=False,
            infer_schema_length=None,
            **more,
        )

    _check_workbook(content)
    top: dict[str, Any] = {"n_rows": 1, "dtypes": "string"}
    first_rows = load(sheet_id=0, has_header=False, read_options=top)
    name = _choose_sheet(content, first_rows, options.sheet)
    skip = {"skip_rows": options.skip_rows} if options.skip_rows else {}
    header = load(sheet_name=name, has_header=False, read_options=top | skip)
    start = {"header_row": options.skip_rows} if options.header else skip
    frame = load(sheet_name=name, has_header=options.header, read_options=start)
    where = f"the sheet {name!r} of {content.name}"
    names = [f"c{j + 1}" for j in range(frame.width)]
    if options.header:
        # The reader makes up names that are blank or repeated; the first row has those written.
        names = [cell or "" for cell in header.row(0)]
        _check_header(names, where)
    n_held = frame.select(pl.any_horizontal(pl.all().is_not_null()).arg_true().max() + 1).item()
    if not n_held:
        raise NullproofError(f"{where} has a header but no rows; give at least one row")
    # Blank rows after the last cell are no rows.
    frame = _named_columns(frame.head(n_held), names, where)
    as_text = [
        pl.Series(series.name, [None if x is None else text(x) for x in series], pl.String)
        for series in frame.get_columns()
        if series.name in asked.as_text and series.dtype != pl.String
    ]
    return frame.with_columns(as_text)


def _choose_sheet(content: Content, first_rows: dict[str, pl.DataFrame], named: str | None) -> str:
    """Return the named sheet, or the first with cells; give a notice if others have some too."""
    filled = [name for name, frame in first_rows.items() if frame.width]
    if named is not None:
        if named not in first_rows:
            raise content.error(f"has no sheet {named!r}; it has {some(map(repr, first_rows), 10)}")
        if named not in filled:
            raise NullproofError(f"the sheet {named!r} of {content.name} is empty; name another")
        return named
    if not filled:
        raise content.error("is empty; give a table with a header row")
    if len(filled) > 1:
        notice(
            f"{content.name} has {len(filled)} sheets with cells ({some(map(repr, filled), 10)}) and the "
            "first was read; name another with sheet= or --sheet"
        )
    return filled[0]


def _check_workbook(content: Content) -> None:
    """Reject other archives, and cells so many or so far apart that the reader would run out of memory."""
    with content.open() as stream, zipfile.ZipFile(stream) as archive:
        if "xl/workbook.xml" not in archive.namelist():
            raise content.error(
                "is a zip archive but not an .xlsx file; save the table as .xlsx or CSV"
            )
        if sum(part.file_size for part in archive.infolist()) > _spare_memory():
            raise content.error(
                "unpacks to more than the memory of this machine; save the sheet as CSV"
            )
        for name in archive.namelist():
            if name.startswith("xl/worksheets/"):
                cells = {*_CELL.findall(archive.read(name))}
                n_rows = max((int(row) for _, row in cells), default=0)
                n_columns = max((_column_number(letters) for letters, _ in cells), default=0)
                if n_rows * n_columns > _MOST_PLACES:
                    raise content.error(
                        f"has cells as far out as row {n_rows:,} and column {n_columns:,}; delete those "
                        "outside the table, or save the sheet as CSV"
                    )


def _column_number(letters: bytes) -> int:
    """Return the number of a column, from A = 1."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - ord("A") + 1
    return number
