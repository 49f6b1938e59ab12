"""The limits of one server, and its errors: one sentence each, as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass

from nullproof.errors import NullproofError
from nullproof.words import cut, ends

MEGABYTE = 1 << 20
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LONGEST = 600


@dataclass(frozen=True)
class Settings:
    """Limits of one server.

    Parameters
    ----------
    names
        Host names of the server, besides those of the loopback.
    max_upload
        Bytes of one uploaded file, also after decompression.
    max_rows, max_columns
        Size of one uploaded table.
    max_tables, max_analyses
        The largest numbers kept; beyond that, the least recently used are dropped.
    memory
        Bytes that the points of all analyses together may take.
    idle
        Seconds that an upload may stall.
    """

    names: tuple[str, ...] = ()
    max_upload: int = 256 * MEGABYTE
    max_rows: int = 2_000_000
    max_columns: int = 2_000
    max_tables: int = 32
    max_analyses: int = 24
    memory: int = 1 << 30
    idle: float = 60.0

    @property
    def hosts(self) -> frozenset[str]:
        """All host names that a request may be addressed to, in lower case."""
        return frozenset(name.lower() for name in (*LOOPBACK, *self.names))


class RequestError(NullproofError):
    """A request that the client must change; ``status`` is the HTTP code."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status

    def __reduce__(self) -> tuple[type[RequestError], tuple[int, str]]:
        return RequestError, (self.status, str(self))


def error_body(message: str) -> bytes:
    """Return the JSON of an error: one line, not too long, in UTF-8 whatever it quotes."""
    line = " ".join(message.split())
    if len(line) > _LONGEST:
        # Keep the end of the sentence, which says what to do.
        line = ends(line, _LONGEST // 2, _LONGEST // 3)
    return json.dumps({"error": line}, ensure_ascii=False).encode(errors="replace")


def shown_name(name: str) -> str:
    """Return a file name as a message shows it."""
    return cut(" ".join(name.split()) or "the table", 60)
