"""What a server is told when it starts: where it listens and how much it takes."""

from __future__ import annotations

from dataclasses import dataclass

MEGABYTE = 1 << 20
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Settings:
    """Limits of one server.

    Parameters
    ----------
    names
        Host names that requests may be addressed to, besides those of the loopback.
    max_upload
        Bytes of one uploaded file, also after unpacking.
    max_rows, max_columns
        Size of one uploaded table.
    max_tables, max_analyses
        How many are kept; beyond that, those that were not asked for longest are dropped.
    max_age
        Seconds after which something that nobody asked for is dropped.
    memory
        Bytes that the points of all analyses together may take.
    idle
        Seconds that an upload may stand still.
    """

    names: tuple[str, ...] = ()
    max_upload: int = 256 * MEGABYTE
    max_rows: int = 2_000_000
    max_columns: int = 2_000
    max_tables: int = 32
    max_analyses: int = 24
    max_age: float = 12 * 3600.0
    memory: int = 1 << 30
    idle: float = 60.0

    @property
    def hosts(self) -> frozenset[str]:
        """All host names that a request may be addressed to, in lower case."""
        return frozenset(name.lower() for name in (*LOOPBACK, *self.names))
