"""A text file in pieces of whole rows, so that not all of it is in memory."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import NamedTuple

from nullproof.tables.contents import Content

_QUOTE = b'"'


class Piece(NamedTuple):
    """Some whole rows: their bytes, the lines between them and the header, and what is read so far."""

    data: bytes
    n_above: int
    share: float


def header_of(content: Content) -> bytes:
    """The lines of the first row that is not blank, and the blank ones above it."""
    found = b""
    with content.open() as stream:
        for line in stream:
            found += line
            if found.removeprefix(codecs.BOM_UTF8).strip(b"\r\n") and _is_whole(found):
                break
    return found if found.endswith(b"\n") else found + b"\n"


def pieces(content: Content, start: int, size: int) -> Iterator[Piece]:
    """The rows from a place on, about ``size`` bytes at a time."""
    with content.open() as stream:
        n_bytes = stream.seek(0, 2)
        stream.seek(start)
        rest, n_above = (b"" if start else stream.read(3).removeprefix(codecs.BOM_UTF8)), 0
        while block := stream.read(size):
            rest += block
            end = _end_of_rows(rest)
            if end:
                yield Piece(rest[:end], n_above, stream.tell() / n_bytes)
                n_above += rest.count(b"\n", 0, end)
                rest = rest[end:]
        if rest:
            yield Piece(rest, n_above, 1.0)


def _end_of_rows(data: bytes) -> int:
    """Where the last whole row ends; a line end between quotes is none of a row. 0 if no row is whole."""
    end = data.rfind(b"\n") + 1
    n_quotes = data.count(_QUOTE, 0, end)
    while n_quotes % 2:
        before = data.rfind(b"\n", 0, end - 1) + 1
        n_quotes -= data.count(_QUOTE, before, end)
        end = before
    return end


def _is_whole(rows: bytes) -> bool:
    return rows.count(_QUOTE) % 2 == 0
