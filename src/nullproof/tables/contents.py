"""The bytes behind a path or on standard input, unpacked, and which kind of file they are."""

from __future__ import annotations

import difflib
import gzip
import importlib
import io
import stat
import sys
import zlib
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

from nullproof.errors import NullproofError, missing_extra

Form = Literal["parquet", "arrow", "arrow stream", "excel", "arff", "text"]
Stamp = tuple[int, int, int]
KINDS = "CSV, TSV, Parquet, Arrow, Excel (.xlsx) or ARFF file"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ARFF = (b"@relation", b"@attribute")


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
    strict
        Whether an option that does not fit the kind of file is refused, or passed over.
    """

    encoding: str | None = None
    header: bool = True
    sheet: str | None = None
    strict: bool = True

    @property
    def named(self) -> list[str]:
        """The options that were given, as a message names them."""
        given = {
            "encoding": self.encoding is not None,
            "header=False": not self.header,
            "sheet": self.sheet is not None,
        }
        return [name for name, is_given in given.items() if is_given]

    def refuse(self, what: str) -> None:
        """Refuse options of files for a table that is none, or that is not read here."""
        if self.named:
            raise NullproofError(
                f"{self.named[0]} was given but the table is {what}; it is for single files of text or "
                "Excel, leave it out"
            )


AS_IT_IS = FileOptions()


class Content:
    """The bytes behind a path, unpacked; a plain file stays on disk.

    ``n_above`` tells how many lines a piece of a text lacks between its header and its first row.
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

    def start(self, size: int = 1 << 16) -> bytes:
        with self.open() as stream:
            return stream.read(size)

    def open(self) -> BinaryIO:
        if self.data is not None:
            return io.BytesIO(self.data)
        assert self.path is not None
        return self.path.open("rb")

    def piece(self, data: bytes, n_above: int) -> Content:
        """Some rows of a text below its header."""
        some = copy(self)
        some.data, some.n_above = data, n_above
        return some

    def source(self) -> Any:
        return self.path if self.data is None else io.BytesIO(self.data)

    @property
    def plain_name(self) -> str:
        """The name in lower case, without the ending of a packing."""
        return str(self.path or "").lower().removesuffix(".gz").removesuffix(".zst")

    def binary_form(self) -> Form | None:
        """The kind of a file that is no text, by its first bytes; None for all others."""
        start = self.start(8)
        if start.startswith(b"PAR1"):
            return "parquet"
        if start.startswith(b"ARROW1"):
            return "arrow"
        if start.startswith(b"\xff\xff\xff\xff"):
            return "arrow stream"
        if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            return "excel"
        if start == _OLE:
            raise NullproofError(
                f"{self.name} is an old Excel file (.xls), or one with a password; save it as .xlsx "
                "without a password, or as CSV"
            )
        return None

    def text_form(self) -> Form:
        """The kind of a text file."""
        with self.open() as stream:
            for line in stream:
                line = line.removeprefix(b"\xef\xbb\xbf").strip()
                if line and not line.startswith(b"%"):
                    return "arff" if line.lower().startswith(_ARFF) else "text"
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


def stamp(path: str | Path) -> Stamp | None:
    """What changes when a file is changed: its number, size and time; None for what is no file."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return None
    is_file = stat.S_ISREG(found.st_mode)
    return (found.st_ino, found.st_size, found.st_mtime_ns) if is_file else None


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
