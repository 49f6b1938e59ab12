"""An engine that dies while it counts: one sentence, and no index."""

from __future__ import annotations

import polars as pl
import pytest
from support.engines import QUIET, postgres_server, postgres_table

from nullproof import CountIndex
from nullproof.errors import NullproofError

pytestmark = [*QUIET, pytest.mark.xdist_group("engines")]
FRAME = pl.DataFrame({"a": ["x", None, "z"] * 20, "n": [*range(60)], "y": ["p", "q", "q"] * 20})


def told(table: object) -> str:
    with pytest.raises(NullproofError) as refused:
        CountIndex.from_table(table, "y")
    said = str(refused.value)
    assert "\n" not in said
    return said


def test_postgres_dies() -> None:
    """A server that ends the connection in the middle of a query, and one that is gone altogether."""
    with postgres_server() as connection:
        table = postgres_table(connection, FRAME)
        name = table.get_name()
        dying = f"SELECT * FROM {name} WHERE n < 50 OR pg_terminate_backend(pg_backend_pid())"
        connection.raw_sql(f"CREATE VIEW dying AS {dying}").close()
        view = connection.table("dying")
        assert "the connection may be lost" in told(view)
        assert "the connection may be lost" in told(view)
