"""Tables in files and on standard input: CSV and its like, Parquet, Arrow, Excel, ARFF, packed or not.

What a file is, its first bytes say. Typed formats are what their types are; texts are typed here, column by
column (`nullproof.data.texts`). Of a large CSV the head says which
columns are plain numbers; where that does not hold to its end, the file is read as texts.
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
import math
import os
import re
import stat
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, cast

from nullproof.data.sources import Blocks, FileOptions, Reading, Stamp, Table, table_of_polars
from nullproof.data.texts import FormatFinder, format_named, type_texts
from nullproof.data.types import LARGEST_DOUBLE_INTEGER, as_number, text
from nullproof.errors import NullproofError, missing_extra, notice
from nullproof.words import cut, many, some

if TYPE_CHECKING:
    import polars as pl

Form = Literal[
    "a Parquet file",
    "an Arrow file",
    "an Arrow stream",
    "an Excel file",
    "an ARFF file",
    "a text file",
]
KINDS = "CSV, TSV, Parquet, Arrow, Excel (.xlsx) or ARFF file"
# Which options say something about which kinds of files.
_TAKEN: dict[str, tuple[str, ...]] = {
    "an Excel file": ("header=False", "sheet", "skip_rows"),
    "an ARFF file": ("encoding",),
    "a text file": ("encoding", "header=False", "skip_rows"),
}
_GIGABYTE = 1 << 30
# What Excel and other programs write on Windows in Western Europe and America. Far more than this share of
# the bytes of a text with Latin letters are ASCII.
_WINDOWS, _LEAST_ASCII = "cp1252", 0.7
_ASCII = bytes(range(0x20, 0x7F)) + b"\t\r\n\f"
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f]")
# The longer marks first: that of UTF-16 begins that of UTF-32.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def read_file(path: str | Path, asked: Reading) -> Table:
    """Read a table from a file, or from standard input (``-``)."""
    before = stamp(path)
    return replace(_read(Content(path, asked.file), asked), stamp=before)


def open_blocks(path: str | Path, asked: Reading) -> Blocks:
    """Open a table that is like a training table, to be read in blocks of rows.

    Parquet, Arrow and text files are read in blocks; other kinds are one block.
    """
    content = Content(path, asked.file)
    if content.form in ("a Parquet file", "an Arrow file"):
        return _scanned(content, asked)
    if content.form == "a text file":
        return _in_pieces(content, asked)
    return Blocks.of(_read(content, asked))


class Content:
    """The bytes behind a path, unpacked, and as UTF-8 if they are text; a plain file stays on disk."""

    def __init__(self, path: str | Path, options: FileOptions) -> None:
        self.name = "standard input" if str(path) == "-" else str(path)
        self.path = Path(path)
        self.data: bytes | None = None
        if str(path) == "-":
            self.data = sys.stdin.buffer.read()
        else:
            _refuse_unreadable(self.path)
            if not self.path.is_file():
                # A pipe, as the shell makes one of <(zcat train.csv.gz), can be read only once.
                self.data = self.path.read_bytes()
        self._unpack()
        if not self.start(1):
            raise self.empty()
        self.form = self._found_form(options.encoding)
        strange = [name for name in options.given if name not in _TAKEN.get(self.form, ())]
        if strange and options.strict:
            raise NullproofError(
                f"{strange[0]} was given but {self.name} is {self.form}, which leaves no choice there; "
                "leave it out"
            )

    def empty(self) -> NullproofError:
        return NullproofError(f"{self.name} is empty; give a table with a header row")

    def without_rows(self) -> NullproofError:
        return NullproofError(f"{self.name} has a header but no rows; give at least one row")

    def start(self, size: int = 1 << 16) -> bytes:
        with self.open() as stream:
            return stream.read(size)

    def open(self) -> BinaryIO:
        return self.path.open("rb") if self.data is None else io.BytesIO(self.data)

    def lines(self) -> io.TextIOWrapper:
        return io.TextIOWrapper(cast("Any", self.open()), encoding="utf-8-sig", newline="")

    def read(self) -> bytes:
        with self.open() as stream:
            return stream.read()

    def source(self) -> Any:
        return self.path if self.data is None else io.BytesIO(self.data)

    def _found_form(self, encoding: str | None) -> Form:
        """Return the kind of the file by its first bytes."""
        start = self.start(8)
        if start.startswith(b"PAR1"):
            return "a Parquet file"
        if start.startswith(b"ARROW1"):
            return "an Arrow file"
        if start.startswith(b"\xff\xff\xff\xff"):
            return "an Arrow stream"
        if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            return "an Excel file"
        if start == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
            raise NullproofError(
                f"{self.name} is an old Excel file (.xls), or one with a password; save it as .xlsx "
                "without a password, or as CSV"
            )
        self._decode(encoding)
        with self.lines() as lines:
            first = next((x.strip() for x in lines if x.strip() and not x.startswith("%")), "")
        is_arff = first.lower().startswith(("@relation", "@attribute"))
        return "an ARFF file" if is_arff else "a text file"

    def _unpack(self) -> None:
        start = self.start(4)
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
                while block := unpacked.read(1 << 24):
                    blocks.append(block)
                    spare -= len(block)
                    if spare < 0:
                        break
        except problems as problem:
            raise NullproofError(f"{self.name} is a damaged {kind} file: {problem}") from problem
        if spare < 0:
            raise NullproofError(
                f"{self.name} unpacks to more than {sum(map(len, blocks)) / _GIGABYTE:.1f} GB, too much "
                "for the memory of this machine; let DuckDB count it: memory_limit= or --memory-limit 1GB"
            )
        self.data = b"".join(blocks)

    def _decode(self, encoding: str | None) -> None:
        """Turn a text into UTF-8: from the encoding that is given, by its mark, or as Windows writes it."""
        start = self.start()
        encoding = encoding or next((own for mark, own in _MARKS if start.startswith(mark)), None)
        if encoding is None:
            if b"\0" in start:
                raise NullproofError(f"{self.name} is not a table; give a {KINDS}")
            if not self._is_utf8():
                self._decode_as_windows()
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

    def _is_utf8(self) -> bool:
        decoder = codecs.getincrementaldecoder("utf-8")()
        with self.open() as stream:
            try:
                while block := stream.read(1 << 22):
                    decoder.decode(block)
                decoder.decode(b"", final=True)
            except UnicodeDecodeError:
                return False
        return True

    def _decode_as_windows(self) -> None:
        """Take a text that is not UTF-8 for what Windows writes, with a notice, or reject it."""
        raw = self.read()
        n_ascii = len(raw) - len(raw.translate(None, _ASCII))
        written = None
        if n_ascii >= _LEAST_ASCII * len(raw) and not _CONTROLS.search(raw):
            with suppress(UnicodeDecodeError):
                written = raw.decode(_WINDOWS)
        if written is None:
            good = raw.decode(errors="replace").partition("\ufffd")[0]
            at = len(good.encode())
            line, column = raw.count(b"\n", 0, at) + 1, at - raw.rfind(b"\n", 0, at)
            raise NullproofError(
                f"{self.name} is not UTF-8 text (line {line}, byte {column}); save it as UTF-8, or name "
                "its encoding: encoding= or --encoding"
            )
        self.data = written.encode()
        notice(
            f"{self.name} is not UTF-8 text and was read as {_WINDOWS} (Windows, Western Europe); if "
            "letters look wrong, name its encoding: encoding= or --encoding"
        )


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


def _read(content: Content, asked: Reading) -> Table:
    import polars as pl

    with _explaining(content):
        if content.form == "a Parquet file":
            return table_of_polars(pl.read_parquet(content.source(), glob=False), asked.missing)
        if content.form == "an Arrow file":
            return table_of_polars(pl.read_ipc(content.source()), asked.missing)
        if content.form == "an Arrow stream":
            return table_of_polars(pl.read_ipc_stream(content.source()), asked.missing)
        if content.form == "an ARFF file":
            from nullproof.data.arff import read_arff

            written = content.read().decode("utf-8-sig")
            frame = read_arff(content.name, written, as_text=asked.as_text)
            return table_of_polars(frame, asked.missing)
        if content.form == "an Excel file":
            return _typed(_read_excel(content, asked), asked)
        top = _top_of(content, asked.file)
        return _typed(_read_rows(content, top, asked), asked, semicolons=top.separator == ";")


@contextmanager
def _explaining(content: Content) -> Iterator[None]:
    """Say in one sentence why a file cannot be read."""
    import polars as pl

    problems = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, EOFError)
    try:
        yield
    except problems as problem:
        message = re.sub(
            r"\s(The current offset|You might want|Consider) .*", "", " ".join(str(problem).split())
        )
        if "more fields than defined" in message or "n_extra" in message:
            raise NullproofError(
                f"{content.name} is ragged: a row has more fields than the header; mend that row, or "
                "quote values that contain the separator; lines above the header are left out "
                "with skip_rows= or --skip-rows"
            ) from problem
        if "CSV malformed" in message or 'could not parse `"' in message:
            raise _unclosed(content) from problem
        raise NullproofError(
            f"{content.name} is not a table that can be read: {message[:200]}; give a {KINDS}"
        ) from problem


def _unclosed(content: Content) -> NullproofError:
    return NullproofError(
        f"{content.name} has a quote that stands inside a value or is never closed; "
        "put such values in quotes and double the quotes in them"
    )


def _typed(frame: pl.DataFrame, asked: Reading, *, semicolons: bool = False) -> Table:
    """Type the texts of a file column by column; rows that are no data are left out first."""
    import polars as pl

    columns = {series.name: series for series in frame.get_columns()}
    names = [n for n, own in columns.items() if own.dtype == pl.String and n not in asked.as_text]
    like, domains = asked.like or {}, asked.domains
    formats = {name: like[name] for name in names if name in like}
    typed = _plain_columns(columns[n] for n in names if n not in formats and n not in domains)
    taken: dict[str, tuple[str, ...]] = {}
    rules = {
        name: asked.missing.rule(name, domains.get(name, ()), in_file=True)
        for name in names
        if name not in typed
    }

    def take(name: str, series: pl.Series) -> bool:
        found = type_texts(series, rules[name])
        if found is not None:
            typed[name], taken[name] = found[0], found[1].taken
        return found is not None

    left = []
    for name in rules:
        cells = columns[name]
        if not take(name, format_named(like[name]).plain(cells) if name in formats else cells):
            left.append(name)
    odd_rows = _rows_of_no_data([columns[name] for name in left], rules, frame.height)
    if odd_rows:
        which, hold = ("row", "holds") if len(odd_rows) == 1 else ("rows", "hold")
        notice(
            f"left out {which} {some([row + 1 for row in odd_rows], 3)} below the header, which {hold} "
            "texts where all other rows hold numbers (descriptions, or a repeated header)"
        )
        found = _typed(without_rows(frame, odd_rows), asked, semicolons=semicolons)
        return replace(found, skipped=tuple(odd_rows))
    if asked.like is None:
        finder = FormatFinder(semicolons=semicolons)
        for name in left:
            form = finder.look_at(name, columns[name], rules[name])
            if form is not None:
                take(name, form.plain(columns[name]))
        formats = finder.formats()
    taken = {name: own for name, own in taken.items() if own}
    table = table_of_polars(pl.DataFrame(columns | typed), asked.missing)
    return replace(table, in_file=True, taken=taken, formats=formats)


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


_FEW_ROWS, _MOST_ODD = 20, 3


def _rows_of_no_data(
    columns: Sequence[pl.Series], rules: Mapping[str, Any], n_rows: int
) -> list[int]:
    """Return at most three rows (a repeated header, say) that keep most columns from being numbers."""
    import polars as pl

    rows: set[int] = set()
    n_kept = 0
    for series in columns if n_rows >= _FEW_ROWS else ():
        # Most columns of texts are settled by their last cells.
        tail = series.tail(_FEW_ROWS).drop_nulls()
        if not len(tail) or tail.cast(pl.Float64, strict=False).null_count() > _MOST_ODD + 2:
            continue
        odd = series.is_not_null() & series.cast(pl.Float64, strict=False).is_null()
        if odd.sum() > max(_MOST_ODD, n_rows // 2):
            continue
        looks_missing = rules[series.name].looks_missing
        own = [row for row in odd.arg_true().to_list() if not looks_missing(series[row])]
        if 0 < len(own) <= _MOST_ODD:
            rows.update(own)
            n_kept += 1
    most = n_kept >= 2 and 2 * n_kept > len(columns)
    return sorted(rows) if most and len(rows) <= _MOST_ODD else []


def without_rows(frame: pl.DataFrame, rows: Sequence[int]) -> pl.DataFrame:
    """Return a frame without some of its rows."""
    import polars as pl

    kept = [row not in rows for row in range(frame.height)]
    return frame.filter(pl.Series(kept, dtype=pl.Boolean)) if rows else frame


# CSV, TSV and their like. polars fills rows that are too short with nulls, silently, and makes rows of
# blank lines: where it may have done so, Python's reader goes through the rows.

_SEPARATORS = ",\t;|"
_QUOTED = re.compile(r'"[^"]*"?')
_HEAD, _HEAD_ROWS = 1 << 18, 1000
# How many cells a block has, about, and how many bytes of a text file these are.
_BLOCK, _BYTES, _FEWEST = 4_000_000, 8, 4096


@dataclass(frozen=True)
class Top:
    """What is known of a text file before its rows are read.

    ``n_lines`` are the lines above the first row, ``n_before`` those of the file above a piece of it.
    """

    separator: str
    names: list[str]
    n_lines: int
    has_header: bool
    n_before: int = 0


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
        n_lines, names = next(_rows(itertools.chain([first], lines), separator), (0, []))
    if not any(name.strip() for name in names):
        raise content.empty()
    if first.endswith("\r"):
        raise NullproofError(f"{content.name} ends its lines in CR alone; save it with LF or CRLF")
    if not options.header:
        return Top(separator, [f"c{j + 1}" for j in range(len(names))], n_above, False)
    refuse_repeated(names, content.name)
    _report_data(names, content.name)
    return Top(separator, names, n_above + n_lines, True)


def _rows(lines: Iterator[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(lines, delimiter=separator)
    limit = csv.field_size_limit(sys.maxsize)
    try:
        for row in reader:
            yield reader.line_num, row
    finally:
        csv.field_size_limit(limit)


def _read_rows(content: Content, top: Top, asked: Reading) -> pl.DataFrame:
    """Read the rows below a header that is known already."""
    import polars as pl

    texts: dict[str, Any] = {f"c{j}": pl.String for j in range(len(top.names))}

    def read(types: dict[str, Any], source: Any, **more: Any) -> pl.DataFrame:
        how: dict[str, Any] = {
            "has_header": False,
            "skip_lines": top.n_lines,
            "separator": top.separator,
        } | more
        try:
            return pl.read_csv(source, schema=types, **how)
        except pl.exceptions.NoDataError:
            return pl.DataFrame(schema=texts)

    frame: pl.DataFrame | None = None
    start = content.start(_HEAD)
    if len(start) == _HEAD:
        kept = asked.as_text.union(asked.like or ())
        free = [f"c{j}" for j, name in enumerate(top.names) if name not in kept]
        lines = {"n_rows": _HEAD_ROWS, "truncate_ragged_lines": True, "encoding": "utf8-lossy"}
        with suppress(pl.exceptions.PolarsError):
            head = read(texts, start[: start.rfind(b"\n") + 1], **lines)
            plain = _plain_columns(head[name] for name in free)
            types = texts | {name: series.dtype for name, series in plain.items()}
            frame = read(types, content.source())
            if not all(
                _doubles_hold(own) for own in frame.get_columns() if own.dtype == pl.Float64
            ):
                frame = None
    try:
        frame = read(texts, content.source()) if frame is None else frame
        whole = _is_whole(frame, content, top)
    except pl.exceptions.SchemaError:
        # The first row is too short, or blank.
        if content.read().count(b'"') % 2:
            raise _unclosed(content) from None
        whole = False
    if frame is None or not whole:
        frame = read(texts, _full_rows(content, top), skip_lines=0)
    if not frame.height:
        raise content.without_rows()
    return _with_names(frame, top.names, content.name)


def _is_whole(frame: pl.DataFrame, content: Content, top: Top) -> bool:
    """Return whether no row comes from a blank or a short line: those end in a null and lack separators."""
    if frame.width == 1 or not frame[:, -1].null_count():
        return True
    found = 0
    with content.open() as stream:
        for _ in range(top.n_lines):
            stream.readline()
        while block := stream.read(1 << 20):
            if b'"' in block:
                return False
            found += block.count(top.separator.encode())
    return found == (frame.width - 1) * frame.height


def _full_rows(content: Content, top: Top) -> bytes:
    """Return the rows without blank lines; reject one that is too short."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=top.separator, lineterminator="\n")
    with content.lines() as lines:
        for line, row in _rows(itertools.islice(lines, top.n_lines, None), top.separator):
            if not row or (len(row) == 1 and not row[0].strip() and len(top.names) > 1):
                continue
            if len(row) < len(top.names):
                above = "header" if top.has_header else "first row"
                raise NullproofError(
                    f"{content.name} is ragged: line {line + top.n_lines + top.n_before} has "
                    f"{many(len(row), 'field')}, the {above} has {len(top.names)}; mend that line, or "
                    "leave out lines above the header with skip_rows= or --skip-rows"
                )
            writer.writerow(row)
    return buffer.getvalue().encode()


def _in_pieces(content: Content, asked: Reading) -> Blocks:
    """Read a text file some rows at a time."""
    with _explaining(content):
        top = _top_of(content, asked.file)

    def read(_: Collection[str]) -> Iterator[tuple[Table, float]]:
        some_rows = False
        for data, n_before, share in _pieces(content, top.n_lines):
            # Blank lines are no rows.
            if len(top.names) > 1 and not data.strip():
                continue
            piece = copy(content)
            piece.data = data
            with _explaining(content):
                frame = _read_rows(piece, replace(top, n_lines=0, n_before=n_before), asked)
                block = _typed(frame, asked, semicolons=top.separator == ";")
            yield block, share
            some_rows = True
        if not some_rows:
            raise content.without_rows()

    return Blocks(tuple(name for name in top.names if name.strip()), read)


def _pieces(content: Content, n_before: int) -> Iterator[tuple[bytes, int, float]]:
    """Return whole rows, some megabytes at a time, with the lines above and the share read."""
    with content.open() as stream:
        n_bytes = stream.seek(0, 2)
        stream.seek(0)
        for _ in range(n_before):
            stream.readline()
        rest = b"" if n_before else stream.read(3).removeprefix(codecs.BOM_UTF8)
        while block := stream.read(_BYTES * _BLOCK):
            rest += block
            # A line end between quotes is none of a row.
            end = rest.rfind(b"\n") + 1
            n_quotes = rest.count(b'"', 0, end)
            while n_quotes % 2:
                before = rest.rfind(b"\n", 0, end - 1) + 1
                n_quotes -= rest.count(b'"', before, end)
                end = before
            if end:
                yield rest[:end], n_before, stream.tell() / n_bytes
                n_before += rest.count(b"\n", 0, end)
                rest = rest[end:]
        if rest:
            yield rest, n_before, 1.0


def _scanned(content: Content, asked: Reading) -> Blocks:
    """Read a Parquet or an Arrow file some rows at a time."""
    import polars as pl

    def scan() -> pl.LazyFrame:
        if content.form == "an Arrow file":
            return pl.scan_ipc(content.source())
        return pl.scan_parquet(content.source(), glob=False)

    def read(wanted: Collection[str]) -> Iterator[tuple[Table, float]]:
        with _explaining(content):
            lazy = scan().select(name for name in names if name in wanted)
            n_rows = max(1, lazy.select(pl.len()).collect().item())
        # Where rows are long, setting a question up for each few of them would take longer than that.
        step = max(_FEWEST, _BLOCK // max(1, len(names)))
        for start in range(0, n_rows, step):
            with _explaining(content):
                frame = lazy.slice(start, step).collect()
            yield table_of_polars(frame, asked.missing), min(1.0, (start + step) / n_rows)

    with _explaining(content):
        names = tuple(scan().collect_schema().names())
    return Blocks(names, read)


# Names of columns.


def _with_names(frame: pl.DataFrame, header: Sequence[str], where: str) -> pl.DataFrame:
    """Name the columns by their header, without those that have neither name nor cells."""
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
            "name, or leave out lines above the header with skip_rows= or --skip-rows"
        )
    return pl.DataFrame(kept)


def refuse_repeated(header: Sequence[str], where: str) -> None:
    """Reject a name that two columns have, and point out a header that may be none."""
    counts = Counter(name for name in header if name.strip())
    twice = sorted(name for name, count in counts.items() if count > 1)
    if not twice:
        return
    number = "two" if counts[twice[0]] == 2 else str(counts[twice[0]])
    others = f" (and {some(map(repr, twice[1:]), 4)} repeated too)" if twice[1:] else ""
    hint = ", or say header=False or --no-header if it has no names"
    raise NullproofError(
        f"{where} has {number} columns named {twice[0]!r}{others}; give each column its own name"
        f"{hint if _looks_like_data(header) else ''}"
    )


def _report_data(header: Sequence[str], where: str) -> None:
    if _looks_like_data(header):
        notice(
            f"the first row of {where} holds numbers ({some(header, 4)}) and was read as the names of the "
            "columns; if it is data, say header=False or --no-header"
        )


def _looks_like_data(header: Sequence[str]) -> bool:
    """Return whether all names are numbers, or one is a number that is not whole; years may be names."""
    numbers = [as_number(name) for name in header if name.strip()]
    fractions = (isinstance(number, float) and abs(number) < 1e300 for number in numbers)
    return None not in numbers or any(fractions)


# Excel. Texts of a sheet are typed as those of a CSV are.

_CELL = re.compile(rb"""r\s*=\s*["']([A-Za-z]{1,3})([0-9]{1,9})["']""")
# The reader keeps every cell between the outermost ones; about 30 bytes each.
_MOST_PLACES = 50_000_000


def _read_excel(content: Content, asked: Reading) -> pl.DataFrame:
    """Read the sheet that is named, or the first that has cells; a column of several kinds is text."""
    import polars as pl

    _refuse_damage(content)
    options = asked.file
    with _explaining_excel(content):
        book = importlib.import_module("fastexcel").read_excel(
            str(content.path) if content.data is None else content.data
        )
        name = _sheet(book, content, options)
        where = f"the sheet {name!r} of {content.name}"
        top: dict[str, Any] = {"header_row": None, "skip_rows": options.skip_rows or None}
        first: pl.DataFrame = book.load_sheet(name, n_rows=1, dtypes="string", **top).to_polars()
        if not first.width:
            raise NullproofError(f"{where} is empty; name another sheet")
        if options.header:
            # The reader makes up some names and tells repeated ones apart: `first` has those written.
            top = {"header_row": options.skip_rows}
        frame: pl.DataFrame = book.load_sheet(name, schema_sample_rows=None, **top).to_polars()
    names = [f"c{j + 1}" for j in range(first.width)]
    if options.header:
        names = [cell or "" for cell in first.row(0)]
        refuse_repeated(names, where)
        _report_data(names, where)
    held = frame.select(pl.any_horizontal(pl.all().is_not_null()).alias("held"))["held"].arg_true()
    if not len(held):
        raise NullproofError(f"{where} has a header but no rows; give at least one row")
    # Blank rows after the last cell are no rows.
    frame = _with_names(frame.head(int(held[-1]) + 1), names, where)
    return frame.select(_as_kept(series, asked.as_text) for series in frame.get_columns())


def _as_kept(series: pl.Series, as_text: Collection[str]) -> pl.Series:
    """Return times of day as such (Excel has them on a day before its first), and texts if asked for."""
    import polars as pl

    if series.dtype == pl.Datetime and series.dt.year().max() == 1899:
        series = series.dt.time()
    if series.name in as_text and series.dtype != pl.String:
        cells = [None if cell is None else text(cell) for cell in series.to_list()]
        series = pl.Series(series.name, cells, pl.String)
    return series


@contextmanager
def _explaining_excel(content: Content) -> Iterator[None]:
    for logger in ("fastexcel", "calamine"):
        # They log every empty column.
        logging.getLogger(logger).addHandler(logging.NullHandler())
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


def _sheet(book: Any, content: Content, options: FileOptions) -> str:
    """Return the sheet that is named, or the first with cells and a notice if others have some too."""
    names: list[str] = book.sheet_names
    if options.sheet is not None:
        if options.sheet not in names:
            raise NullproofError(
                f"{content.name} has no sheet {options.sheet!r}; it has {some(map(repr, names), 10)}"
            )
        return options.sheet
    filled = [name for name in names if book.load_sheet(name, header_row=None, n_rows=1).width]
    if not filled:
        raise content.empty()
    if len(filled) > 1:
        notice(
            f"{content.name} has {len(filled)} sheets with cells ({some(map(repr, filled), 10)}) and the "
            "first was read; name another with sheet= or --sheet"
        )
    return filled[0]


def _refuse_damage(content: Content) -> None:
    """Unpack the sheets once: none is damaged, and no cell lies so far out that the reader would fail."""
    try:
        with content.open() as stream, zipfile.ZipFile(stream) as archive:
            if "xl/workbook.xml" not in archive.namelist():
                raise _other_archive(content, archive)
            if sum(part.file_size for part in archive.infolist()) > _spare_memory():
                raise NullproofError(
                    f"{content.name} unpacks to more than the memory of this machine holds; save the "
                    "sheet as CSV"
                )
            for part in archive.infolist():
                if not part.filename.startswith("xl/worksheets/"):
                    continue
                n_columns = n_rows = 0
                with archive.open(part) as unpacked:
                    rest = b""
                    while block := unpacked.read(1 << 22):
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
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, ValueError) as problem:
        raise NullproofError(
            f"{content.name} is a damaged Excel file: {cut(str(problem), 200)}; save it again as .xlsx, "
            "or as CSV"
        ) from problem


def _other_archive(content: Content, archive: zipfile.ZipFile) -> NullproofError:
    names = archive.namelist()
    what = f"is a zip archive; unpack it and give a {KINDS}"
    if "mimetype" in names and b"opendocument" in archive.read("mimetype")[:100]:
        what = "is an OpenDocument file (.ods); save it as .xlsx or CSV"
    elif any(name.startswith("xl/") for name in names):
        what = "is a binary Excel file (.xlsb); save it as .xlsx or CSV"
    return NullproofError(f"{content.name} {what}")


def _column_number(letters: bytes) -> int:
    """Return the number of a column, from A = 1."""
    place = 0
    for letter in letters.upper():
        place = place * 26 + letter - ord("A") + 1
    return place
