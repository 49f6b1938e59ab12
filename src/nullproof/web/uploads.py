"""Uploaded tables: streamed to a temporary folder, checked, described.

A name from the browser is only shown; files on disk are named by this server.
"""

from __future__ import annotations

import gzip
import re
import secrets
import threading
import zipfile
import zlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from nullproof.data.files import header_fields
from nullproof.errors import NullproofError
from nullproof.web.descriptions import Description, described, refuse_width, shown_name, too_many
from nullproof.web.problems import RequestError
from nullproof.web.settings import MEGABYTE, Settings
from nullproof.web.trials import ends_its_reader

_LONGEST_NAME = 200
_ZSTD = b"\x28\xb5\x2f\xfd"
ZIP = b"PK\x03\x04"


@dataclass
class Upload:
    """One uploaded table on disk, with what a person needs to know to choose its label."""

    name: str
    path: Path
    size: int
    description: Description
    settings: Settings
    _users: int = 0
    _gone: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def busy(self) -> bool:
        """Whether an analysis is reading it."""
        return self._users > 0

    @property
    def column_names(self) -> list[str]:
        return [column["name"] for column in self.description.columns]

    def discard(self) -> None:
        """Delete the file, at the latest when nobody reads it any more."""
        with self._lock:
            self._gone = True
            if not self._users:
                self.path.unlink(missing_ok=True)

    def __enter__(self) -> Upload:
        with self._lock:
            self._users += 1
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._gone and not self._users:
                self.path.unlink(missing_ok=True)

    def read_with(self, missing: Sequence[str]) -> Description:
        """What is in the table if further texts mean missing."""
        try:
            with self:
                return described(self.name, self.path, self.settings, missing)
        except NullproofError as problem:
            raise RequestError(400, str(self.explained(problem))) from problem

    def explained(self, problem: NullproofError) -> NullproofError:
        """The same problem told by the name that the person knows the file by."""
        return NullproofError(str(problem).replace(str(self.path), shown_name(self.name)))


def last_part(name: str) -> str:
    """The name of a file without the folders that a client put before it, and without odd signs."""
    last = re.split(r"[/\\]", name)[-1]
    shown = "".join(sign for sign in last if sign.isprintable()).strip()
    return shown[:_LONGEST_NAME] or "table"


class Receiver:
    """Writes the chunks of one upload to a file and stops at the limits."""

    def __init__(self, folder: Path, name: str, settings: Settings) -> None:
        ending = ".tsv" if name.lower().endswith((".tsv", ".tab")) else ".table"
        self.name = last_part(name)
        self.path = folder / (secrets.token_hex(8) + ending)
        self.size = 0
        self._settings = settings
        self._lines, self._quoted = 0, False

    @property
    def limit(self) -> int:
        """The most bytes of one file."""
        return self._settings.max_upload

    def take(self, stream: Any, block: bytes) -> None:
        """Write one block."""
        self.size += len(block)
        if self.size > self._settings.max_upload:
            raise self.too_large()
        self._lines += block.count(b"\n")
        self._quoted = self._quoted or b'"' in block
        stream.write(block)

    def too_large(self) -> RequestError:
        """Say what the limit is."""
        limit = self._settings.max_upload / MEGABYTE
        return RequestError(
            413,
            f"{shown_name(self.name)} is larger than {limit:,.0f} MB; send fewer rows or columns, or "
            "start the server with a larger --max-upload",
        )

    def finish(self) -> Upload:
        """Check and describe the table that arrived; run this in a thread."""
        import polars as pl

        try:
            self._unpack()
            self._refuse_many_lines()
            self._refuse_many_columns()
            if ends_its_reader(self.path):
                raise self._damaged()
            found = described(self.name, self.path, self._settings)
            size = self.path.stat().st_size
            return Upload(self.name, self.path, size, found, self._settings)
        except NullproofError as problem:
            if isinstance(problem, RequestError):
                raise
            told = str(problem).replace(str(self.path), shown_name(self.name))
            raise RequestError(400, told) from problem
        except pl.exceptions.PanicException as problem:
            raise self._damaged() from problem
        except KeyboardInterrupt:
            # polars turns Ctrl-C into an exception of whichever thread is calling it.
            raise RequestError(503, "the server is ending; start it again") from None

    def _damaged(self) -> RequestError:
        return RequestError(
            400, f"{shown_name(self.name)} is damaged and cannot be read; make it again"
        )

    def _refuse_many_lines(self) -> None:
        """Refuse a plain text with far too many rows before it is read into memory."""
        with self.path.open("rb") as stream:
            is_text = stream.read(4) not in (b"PAR1", b"ARRO", b"\xff\xff\xff\xff", ZIP)
        if is_text and not self._quoted and self._lines > 2 * self._settings.max_rows:
            raise too_many(self.name, self._lines - 1, self._settings)

    def _refuse_many_columns(self) -> None:
        """Refuse a plain text by the fields of its first line, before anything else is read."""
        with self.path.open("rb") as stream:
            is_text = stream.read(4) not in (b"PAR1", b"ARRO", b"\xff\xff\xff\xff", ZIP)
        if is_text:
            refuse_width(self.name, header_fields(self.path), self._settings)

    def _unpack(self) -> None:
        """Unpack gzip within the limit, so that a small file cannot become a huge one unseen."""
        with self.path.open("rb") as stream:
            start = stream.read(4)
        if start == _ZSTD:
            raise RequestError(
                415, f"{shown_name(self.name)} is packed with zstd; unpack it, or use gzip"
            )
        if start == ZIP:
            self._refuse_large_workbook()
        if not start.startswith(b"\x1f\x8b"):
            return
        packed, self.path = self.path, self.path.with_name(f"u{self.path.name}")
        self.size = self._lines = 0
        try:
            with gzip.open(packed) as source, self.path.open("wb") as target:
                while block := source.read(MEGABYTE):
                    self.take(target, block)
        except (OSError, EOFError, zlib.error) as problem:
            raise RequestError(
                400, f"{shown_name(self.name)} is a damaged gzip file; pack it again"
            ) from problem
        finally:
            packed.unlink(missing_ok=True)

    def _refuse_large_workbook(self) -> None:
        """Refuse an Excel file that is too large unpacked; one that lies about it is damaged."""
        if workbook_size(self.path) > self._settings.max_upload:
            raise self.too_large()


def workbook_size(source: Path | IO[bytes]) -> int:
    """How many bytes an Excel file has unpacked; 0 if it is damaged, which reading it will tell."""
    try:
        with zipfile.ZipFile(source) as archive:
            return sum(part.file_size for part in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return 0


async def receive(blocks: AsyncIterator[bytes], receiver: Receiver, idle: float) -> None:
    """Stream an upload to its file, in blocks of a megabyte written by another thread."""
    import anyio
    import anyio.to_thread

    iterator = aiter(blocks)
    buffer = bytearray()
    with receiver.path.open("wb") as stream:
        while True:
            block = await _next(iterator, idle)
            buffer += block or b""
            if len(buffer) >= MEGABYTE or (block is None and buffer):
                try:
                    await anyio.to_thread.run_sync(receiver.take, stream, bytes(buffer))
                except RequestError:
                    await _drain(iterator, idle, receiver.limit)
                    raise
                buffer.clear()
            if block is None:
                return


async def _next(iterator: AsyncIterator[bytes], idle: float) -> bytes | None:
    import anyio

    try:
        with anyio.fail_after(idle):
            return await anext(iterator, None)
    except TimeoutError:
        raise RequestError(
            408, f"nothing arrived for {idle:.0f} seconds; send the file again"
        ) from None


async def _drain(iterator: AsyncIterator[bytes], idle: float, limit: int) -> None:
    """Read the rest of a file that is too large: clients read no answer before they have sent it."""
    left = 4 * limit
    while left > 0 and (block := await _next(iterator, idle)) is not None:
        left -= len(block)
