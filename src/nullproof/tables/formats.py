"""Tables in files and on standard input: CSV, TSV, Parquet and Arrow, plain, gzip or zstd.

polars reads the text: on a 318 MB CSV of numbers it took 0.7 s, as long as pandas 3 and pyarrow at
best and a sixth of pandas 2, with the least memory of them, and it is a dependency anyway. It fills
rows that are too short with nulls, silently; `_whole_rows` looks for those.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import importlib
import io
import itertools
import re
import sys
import zlib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from nullproof.errors import NullproofError, missing_extra
from nullproof.tables.spellings import COMMON
from nullproof.tables.values import LARGEST_DOUBLE_INTEGER

if TYPE_CHECKING:
    import polars as pl

TEXT_MISSING = COMMON
_SEPARATORS = ",\t;|"
_INFER_ROWS = 1_000
_COLUMN = re.compile(r"could not parse .* \(column number (\d+)\)", re.DOTALL)
_QUOTED = re.compile(r'"[^"]*"?')
_ADVICE = re.compile(r"\s(The current offset|You might want|Consider) .*")


def read_file(
    path: str | Path,
    *,
    missing: Collection[str] = TEXT_MISSING,
    as_text: Collection[str] = (),
) -> tuple[pl.DataFrame, bool]:
    """Read a table, and say whether it came from text.

    Parameters
    ----------
    path
        A file, or ``-`` for standard input.
    missing
        Texts that become nulls besides empty cells: by default the usual spellings of missing.
    as_text
        Columns to keep as they are written: ``01`` stays ``01``.
    """
    import polars as pl

    content = _Content(path)
    try:
        form = content.form()
        if form == "parquet":
            return pl.read_parquet(content.source()), False
        if form == "arrow":
            return pl.read_ipc(content.source()), False
        if form == "arrow stream":
            return pl.read_ipc_stream(content.source()), False
        return _read_text(content, missing, as_text), True
    except (
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        OSError,
        EOFError,
    ) as problem:
        raise _explained(content, problem) from problem


class _Content:
    """The bytes behind a path, unpacked; a plain file stays on disk."""

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

    def start(self, size: int = 1 << 16) -> bytes:
        with self.open() as stream:
            return stream.read(size)

    def open(self) -> BinaryIO:
        if self.data is not None:
            return io.BytesIO(self.data)
        assert self.path is not None
        return self.path.open("rb")

    def source(self) -> Any:
        return self.path if self.data is None else io.BytesIO(self.data)

    def form(self) -> str:
        start = self.start()
        if start.startswith(b"PAR1"):
            return "parquet"
        if start.startswith(b"ARROW1"):
            return "arrow"
        if start.startswith(b"\xff\xff\xff\xff"):
            return "arrow stream"
        if start.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise NullproofError(f"{self.name} is UTF-16 text; save it as UTF-8")
        if b"\0" in start:
            raise NullproofError(
                f"{self.name} is not a table; give a CSV, TSV, Parquet or Arrow file"
            )
        return "text"

    def _unpack(self) -> None:
        start = self.start(4)
        if start.startswith(b"\x1f\x8b"):
            try:
                with self.open() as packed:
                    self.data = gzip.decompress(packed.read())
            except (OSError, EOFError, zlib.error) as problem:
                raise NullproofError(f"{self.name} is a damaged gzip file: {problem}") from problem
        elif start == b"\x28\xb5\x2f\xfd":
            zstd = _zstd()
            try:
                with self.open() as packed:
                    self.data = zstd.decompress(packed.read())
            except zstd.ZstdError as problem:
                raise NullproofError(f"{self.name} is a damaged zstd file: {problem}") from problem


def _zstd() -> Any:
    home = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    try:
        return importlib.import_module(home)
    except ImportError:
        raise missing_extra("reading a zstd file", "zstd") from None


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


def _read_text(
    content: _Content, missing: Collection[str], as_text: Collection[str]
) -> pl.DataFrame:
    import polars as pl

    separator, header = _header(content)
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise NullproofError(
            f"{content.name} has two columns named {twice[0]!r}; give each column its own name"
        )

    texts = [name for name in header if name in as_text]

    def read(infer_rows: int | None = _INFER_ROWS, names: list[str] | None = None) -> pl.DataFrame:
        return pl.read_csv(
            content.source(),
            separator=separator,
            columns=names,
            null_values=[spelling for spelling in missing if spelling],
            schema_overrides=dict.fromkeys(texts, pl.String),
            infer_schema_length=infer_rows,
        )

    frame = _read_patiently(read, texts, header)
    doubtful = [name for name in frame.columns if _mixes_up(frame[name])]
    if doubtful:
        texts += doubtful
        frame = frame.with_columns(read(names=doubtful))
    frame = _whole_rows(frame, content, separator)
    if not frame.height:
        raise NullproofError(f"{content.name} has a header but no rows; give at least one row")
    return frame


def _read_patiently(
    read: Callable[..., pl.DataFrame], texts: list[str], header: list[str]
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
            name = header[int(found.group(1)) - 1]
            if infer_rows is None and name not in texts:
                texts.append(name)
            elif infer_rows is None:
                raise
            # Numbers may turn into text further down: let polars look at whole columns first.
            infer_rows = None


def _mixes_up(series: pl.Series) -> bool:
    """Whether doubles may stand for different texts: large integers, or spellings of infinity."""
    if not series.dtype.is_float():
        return False
    known = series.drop_nulls()
    if not known.is_finite().all():
        return True
    low, high = cast("float | None", known.min()), cast("float | None", known.max())
    return low is not None and high is not None and max(high, -low) >= LARGEST_DOUBLE_INTEGER


def separator_of(header: str) -> str:
    """What separates the names in a header line."""
    return max(_SEPARATORS, key=_QUOTED.sub("", header).count)


def _header(content: _Content) -> tuple[str, list[str]]:
    try:
        with _lines(content) as lines:
            first = next((line for line in lines if line.strip("\r\n")), "")
            separator = separator_of(first)
            if _plain_name(content).endswith((".tsv", ".tab")):
                separator = "\t"
            _, header = next(_rows(itertools.chain([first], lines), separator), (0, []))
    except UnicodeDecodeError:
        raise _not_utf8(content) from None
    if not any(name.strip() for name in header):
        raise content.empty()
    if first.endswith("\r"):
        raise NullproofError(f"{content.name} ends its lines in CR alone; save it with LF or CRLF")
    return separator, header


def _plain_name(content: _Content) -> str:
    return str(content.path or "").lower().removesuffix(".gz").removesuffix(".zst")


def _whole_rows(frame: pl.DataFrame, content: _Content, separator: str) -> pl.DataFrame:
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
            found += block.count(separator.encode())
            quoted = quoted or b'"' in block
    if found == expected and not quoted:
        return frame
    kept = []
    with _lines(content) as lines:
        rows = itertools.dropwhile(lambda numbered: _is_blank(numbered[1]), _rows(lines, separator))
        for line, row in itertools.islice(rows, 1, None):
            kept.append(not _is_blank(row))
            if kept[-1] and len(row) < frame.width:
                raise NullproofError(
                    f"{content.name} is ragged: line {line} has {len(row)} "
                    f"{'field' if len(row) == 1 else 'fields'}, the header has {frame.width}; "
                    "mend that line"
                )
    return frame.filter(pl.Series(kept, dtype=pl.Boolean))


def _is_blank(row: list[str]) -> bool:
    return not row or (len(row) == 1 and not row[0].strip())


def _lines(content: _Content) -> io.TextIOWrapper:
    return io.TextIOWrapper(cast("Any", content.open()), encoding="utf-8-sig", newline="")


def _rows(lines: Iterator[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(lines, delimiter=separator)
    limit = csv.field_size_limit(sys.maxsize)
    try:
        for row in reader:
            yield reader.line_num, row
    finally:
        csv.field_size_limit(limit)


def _explained(content: _Content, problem: Exception) -> NullproofError:
    message = _ADVICE.sub("", " ".join(str(problem).split()))
    if "utf-8" in message.lower() or "utf8" in message.lower():
        return _not_utf8(content)
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
    return NullproofError(
        f"{content.name} is not a table that can be read: {message[:200]}; "
        "give a CSV, TSV, Parquet or Arrow file"
    )


def _not_utf8(content: _Content) -> NullproofError:
    with content.open() as stream:
        places = ((line, _undecodable(raw)) for line, raw in enumerate(stream, start=1))
        line, at = next(((line, at) for line, at in places if at), (1, 1))
    return NullproofError(
        f"{content.name} is not UTF-8 text (line {line}, byte {at}); save it as UTF-8"
    )


def _undecodable(raw: bytes) -> int:
    """Which byte, counted from 1, is not UTF-8; 0 if there is none."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        return problem.start + 1
    return 0
