"""Uploaded tables: streamed to a file, checked against the limits, and described for the user.

A name from the browser is only shown; files on disk are named by this server. A file is read and
described in a separate process (`nullproof.web.jobs`), since a damaged file may crash its reader.
"""

from __future__ import annotations

import gzip
import re
import secrets
import sys
import weakref
import zipfile
import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import anyio

from nullproof.data.files import SKIP_LINES, header_fields
from nullproof.data.missing import Missing, written_spellings
from nullproof.data.notices import names_rows
from nullproof.data.sources import Reading, Table, open_table
from nullproof.data.types import text
from nullproof.errors import NullproofError
from nullproof.web.jobs import Say
from nullproof.web.limits import MEGABYTE, RequestError, Settings, shown_name
from nullproof.words import cut

if TYPE_CHECKING:
    import polars as pl

_ZIP = b"PK\x03\x04"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ARROW_STREAM = b"\xff\xff\xff\xff"
_BINARY = (b"PAR1", b"ARRO", _ARROW_STREAM, _ZIP)
_LONGEST_NAME = 200
_SHOWN_ROWS, _SHOWN_CHARACTERS = 8, 200
_SAMPLE = 10_000
# Usual names of the column to predict, and the largest likely number of labels.
_CALLED = ("label", "class", "target", "outcome", "y", "diagnosis", "survived", "churn")
_MOST_LABELS, _MOST_CALLED = 20, 100


class Upload:
    """One uploaded file; it is deleted when neither the store nor an analysis refers to this object."""

    busy = False

    def __init__(self, name: str, path: Path) -> None:
        self.name, self.path = name, path
        self.size = path.stat().st_size
        self.description: dict[str, Any] = {}
        weakref.finalize(self, path.unlink, missing_ok=True)

    def discard(self) -> None:
        """Do nothing: the file is deleted with this object."""


def by_name(message: str, names: Mapping[Path, str]) -> str:
    """Return a message with the user's file names in place of the server's, and without options."""
    message = message.replace(SKIP_LINES, "delete the lines above the header in the file")
    for path, name in names.items():
        message = message.replace(str(path), shown_name(name)).replace(path.name, shown_name(name))
    return message


def _last_part(name: str) -> str:
    """Return a file name without folders and unusual characters."""
    last = re.split(r"[/\\]", name)[-1]
    shown = "".join(sign for sign in last if sign.isprintable()).strip()
    return shown[:_LONGEST_NAME] or "table"


# Receiving -----------------------------------------------------------------------------------------


class Receiver:
    """Write the blocks of one upload to a file, and stop at the limits."""

    def __init__(self, folder: Path, name: str, settings: Settings) -> None:
        self.name = _last_part(name)
        kept = {".tsv": ".tsv", ".tab": ".tsv", ".xlsx": ".xlsx"}
        ending = kept.get(Path(self.name).suffix.lower(), ".table")
        self.path = folder / (secrets.token_hex(8) + ending)
        self._settings = settings
        self._size = self._lines = 0
        self._quoted = False

    async def receive(self, blocks: AsyncIterator[bytes]) -> None:
        """Stream an upload to its file."""
        iterator = aiter(blocks)
        async with await anyio.open_file(self.path, "wb") as stream:
            while (block := await self._next(iterator)) is not None:
                try:
                    self._count(block)
                except RequestError:
                    await self._drain(iterator)
                    raise
                await stream.write(block)

    def _count(self, block: bytes) -> None:
        """Count bytes and lines, and stop at the limit."""
        self._size += len(block)
        if self._size > self._settings.max_upload:
            raise self._too_large()
        self._lines += block.count(b"\n")
        self._quoted = self._quoted or b'"' in block

    def finish(self) -> Upload:
        """Unpack the file, and check it as far as possible without reading it as a table."""
        start = self._start()
        if start == _ZSTD:
            raise RequestError(
                415, f"{shown_name(self.name)} is packed with zstd; unpack it, or use gzip"
            )
        if start == _ZIP and _unpacks_beyond(self.path, self._settings.max_upload):
            raise self._too_large()
        if start.startswith(b"\x1f\x8b"):
            self._unpack()
        most = self._settings.max_rows
        is_text = self._start() not in _BINARY
        if is_text and not self._quoted and self._lines > 2 * most:
            raise _too_much(self.name, "rows", self._lines - 1, most)
        return Upload(self.name, self.path)

    def _start(self) -> bytes:
        with self.path.open("rb") as stream:
            return stream.read(4)

    def _unpack(self) -> None:
        """Unpack gzip within the limit, so that a small file cannot become a huge one."""
        packed, self.path = self.path, self.path.with_name(f"u{self.path.name}")
        self._size = self._lines = 0
        try:
            with gzip.open(packed) as source, self.path.open("wb") as target:
                while block := source.read(MEGABYTE):
                    self._count(block)
                    target.write(block)
        except (OSError, EOFError, zlib.error) as problem:
            raise RequestError(
                400, f"{shown_name(self.name)} is a damaged gzip file; pack it again"
            ) from problem
        finally:
            packed.unlink(missing_ok=True)

    def _too_large(self) -> RequestError:
        limit = self._settings.max_upload / MEGABYTE
        return RequestError(
            413,
            f"{shown_name(self.name)} is larger than {limit:,.0f} MB; send fewer rows or columns, or "
            "start the server with a larger --max-upload",
        )

    async def _next(self, iterator: AsyncIterator[bytes]) -> bytes | None:
        idle = self._settings.idle
        try:
            with anyio.fail_after(idle):
                return await anext(iterator, None)
        except TimeoutError:
            raise RequestError(
                408, f"nothing arrived for {idle:.0f} seconds; send the file again"
            ) from None

    async def _drain(self, iterator: AsyncIterator[bytes]) -> None:
        """Read the rest of a file that is too large: clients read the answer only after sending it."""
        left = 4 * self._settings.max_upload
        while left > 0 and (block := await self._next(iterator)) is not None:
            left -= len(block)


def _unpacks_beyond(source: Path, most: int) -> bool:
    """Return whether an Excel file unpacks to more than ``most`` bytes, or to more than it declares.

    A part that holds more than its entry declares is an attack: readers trust one or the other.
    A damaged file passes; reading it will report the error.
    """
    try:
        with zipfile.ZipFile(source) as archive:
            parts = archive.infolist()
            declared = sum(part.file_size for part in parts)
            return declared > most or any(_holds_more(archive, part) for part in parts)
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError, NotImplementedError):
        return False


def _holds_more(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> bool:
    """Return whether a part of an archive holds more bytes than its entry declares."""
    n_left, part.file_size = part.file_size, sys.maxsize
    with archive.open(part) as stream:
        # A size that is never reached makes the reader read all of it.
        while n_left >= 0 and (block := stream.read(MEGABYTE)):
            n_left -= len(block)
    return n_left < 0


# Describing, in a separate process --------------------------------------------------------------------


def describe(
    say: Say, path: Path, name: str, settings: Settings, missing: Sequence[str] = ()
) -> dict[str, Any]:
    """Read a table, reject it if it is too large, and describe it so that a user can choose the label.

    ``missing`` are further texts that mean missing, as on the command line.
    """
    say(0.0, "reading the table")
    try:
        _check_before_reading(path, name, settings)
        table = open_table(path, Reading(Missing.of(written_spellings(missing))))
    except NullproofError as problem:
        status = problem.status if isinstance(problem, RequestError) else 400
        raise RequestError(status, by_name(str(problem), {path: name})) from problem
    assert table.frame is not None
    frame: pl.DataFrame = table.frame.to_native()
    _check_shape(name, frame.height, frame.width, settings)
    if frame.width < 2:
        raise RequestError(
            400,
            f"{shown_name(name)} has one column; a table needs a label and at least one feature, "
            "separated by comma, tab or semicolon",
        )
    read = [_describe_column(table, series) for series in frame]
    columns = [column for column, _ in read]
    return {
        "name": name,
        "n_bytes": path.stat().st_size,
        "n_rows": frame.height,
        "columns": columns,
        "preview": [list(row) for row in zip(*(preview for _, preview in read), strict=True)],
        "label": proposed_label(columns),
    }


def proposed_label(columns: Sequence[dict[str, Any]]) -> str | None:
    """Return the likely label column: one with a usual name, else the last column with few values."""

    def with_values(most: int) -> list[str]:
        return [c["name"] for c in columns if 2 <= c["n_distinct"] <= most and not c["is_key"]]

    called = [name for name in with_values(_MOST_CALLED) if name.strip().lower() in _CALLED]
    likely = called or with_values(_MOST_LABELS)
    return likely[-1] if likely else None


def _check_before_reading(path: Path, name: str, settings: Settings) -> None:
    """Reject tables that a quick look shows to be too large: header fields, rows of a binary file."""
    with path.open("rb") as stream:
        start = stream.read(4)
    if start not in _BINARY:
        _check_shape(name, 0, header_fields(path), settings)
        return
    try:
        n_rows, n_columns = _stored_shape(path, start, settings.max_upload)
    except Exception:
        # Reading it will report the error.
        return
    _check_shape(name, n_rows, n_columns, settings)
    # A column of one value compresses to almost nothing.
    if n_rows * n_columns > settings.max_upload:
        raise _too_much(name, "cells", n_rows * n_columns, settings.max_upload)


def _stored_shape(path: Path, start: bytes, most_cells: int) -> tuple[int, int]:
    """Return the rows and columns of a Parquet or Arrow file; zeros for an Excel file."""
    import polars as pl

    if start == _ARROW_STREAM:
        n_columns = pl.read_ipc_stream(path, n_rows=1).width
        # Rows have no end there, but for the cells that are too many anyway.
        most_rows = most_cells // max(n_columns, 1) + 1
        return pl.read_ipc_stream(path, n_rows=most_rows).height, n_columns
    if start == _ZIP:
        return 0, 0
    scanned = pl.scan_parquet(path) if start == b"PAR1" else pl.scan_ipc(path)
    return int(scanned.select(pl.len()).collect().item()), len(scanned.collect_schema())


def _check_shape(name: str, n_rows: int, n_columns: int, settings: Settings) -> None:
    if n_rows > settings.max_rows:
        raise _too_much(name, "rows", n_rows, settings.max_rows)
    if n_columns > settings.max_columns:
        raise _too_much(name, "columns", n_columns, settings.max_columns)


def _too_much(
    name: str, what: Literal["rows", "columns", "cells"], n: int, most: int
) -> RequestError:
    todo = {
        "rows": "send a part of it, or start the server with a larger --max-rows",
        "columns": "leave some out",
        "cells": "send fewer rows or columns, or start the server with a larger --max-upload",
    }
    return RequestError(
        413,
        f"{shown_name(name)} has {n:,} {what} but this server accepts at most {most:,}; {todo[what]}",
    )


def _describe_column(table: Table, series: pl.Series) -> tuple[dict[str, Any], list[str | None]]:
    """Describe one column as it would be counted, with its first cells (None where missing)."""
    kind, n_missing, is_key = "text", series.null_count(), False
    n_unlabelled = n_missing
    known = series.is_not_null().head(_SHOWN_ROWS).to_list()
    try:
        read = table.column(series.name)
        cells = read.known
        kind = {"category": "text", "code": "number"}.get(read.kind, read.kind)
        n_missing = int((~cells).sum())
        known, is_key = cells[:_SHOWN_ROWS].tolist(), names_rows(read)
        # In the label column, a text that may mean missing is a label.
        n_unlabelled = int((~table.labels(series.name).known).sum()) if n_missing else 0
    except NullproofError:
        # It cannot be counted, but it may still be left out.
        pass
    sample = series.drop_nulls().head(_SAMPLE)
    described = {
        "name": series.name,
        "type": kind,
        "n_missing": n_missing,
        "n_unlabelled": n_unlabelled,
        "n_distinct": len(sample) if series.dtype.is_nested() else sample.n_unique(),
        "is_key": is_key,
    }
    first = zip(series.head(_SHOWN_ROWS).to_list(), known, strict=True)
    return described, [
        cut(text(cell), _SHOWN_CHARACTERS) if is_known and cell is not None else None
        for cell, is_known in first
    ]
