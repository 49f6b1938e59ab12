"""An engine that dies while it counts: one sentence, and no index."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import polars as pl
import pytest
from support.engines import QUIET, postgres_server, postgres_table

from nullproof import CountIndex
from nullproof.errors import NullproofError, explained

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


class _SparkError(Exception):
    """An error of a library, as that between Python and Java raises them."""


@pytest.mark.parametrize(
    ("problem", "lost"),
    [
        (_SparkError("An error occurred while calling o384.getResult"), True),
        (
            _SparkError("An error occurred while calling o38.x.\n: java.lang.ArithmeticException"),
            False,
        ),
        (_SparkError("Answer from Java side is empty: network is gone"), True),
        (ConnectionResetError(104, "reset by peer"), True),
        (EOFError(), True),
        (NotImplementedError("intervals"), False),
    ],
)
def test_what_tells_that_a_connection_is_lost(problem: Exception, lost: bool) -> None:
    """Whoever lost an engine is told to connect again, and not to change the table."""
    with pytest.raises(NullproofError) as refused, explained("PySpark"):
        raise problem
    assert ("the connection may be lost" in str(refused.value)) == lost
    assert ("cast the column" in str(refused.value)) != lost


# In a process of its own: the session that it ends is not that of other tests.
_DYING_SPARK = """
import os, signal, threading, time
from support.engines import spark_session
from nullproof import CountIndex
from nullproof.errors import NullproofError, explained

with spark_session() as session:
    columns = "id % 7 AS a", "id AS n", "CAST(id % 2 AS STRING) AS y"
    table = session.range(0, 300_000, 1, 4).selectExpr(*columns)
    context = session.sparkContext
    java, tracker = context._gateway.proc.pid, context.statusTracker()

    def kill():
        while not tracker.getActiveJobsIds():
            time.sleep(0.001)
        os.kill(java, signal.SIGKILL)

    threading.Thread(target=kill, daemon=True).start()
    try:
        CountIndex.from_table(table, "y")
    except NullproofError as refused:
        print(refused, flush=True)
    os._exit(0)
"""


def test_spark_dies() -> None:
    """A Spark whose process is killed in the middle of a query."""
    pytest.importorskip("pyspark.sql", reason="PySpark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not installed")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _DYING_SPARK],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    (said,) = done.stdout.splitlines()
    assert said.startswith("pyspark cannot count the table: ")
    assert said.endswith("the connection may be lost, so connect and count again")
