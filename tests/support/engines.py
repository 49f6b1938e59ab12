"""Real parts that lazy tables live in: DuckDB, a Spark session, a Dask cluster, a Postgres server."""

from __future__ import annotations

import importlib
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

# What the engines tell each other about their versions is not ours to mend.
QUIET = (
    pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
)
_NUMBERS = itertools.count()
# Seconds after which something hangs: a busy machine may take long, but not so long.
_PATIENCE = 120.0


def spark_table(session: Any, frame: pl.DataFrame, folder: Path) -> Any:
    """Write Parquet files, so that Spark has several partitions with its own types."""
    path = folder / "spark"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    third = -(-frame.height // 3)
    for part in range(3):
        frame.slice(part * third, third).write_parquet(path / f"{part}.parquet")
    # Parquet has no durations: Spark would read whole numbers.
    durations = {c for c, dtype in frame.schema.items() if dtype == pl.Duration}
    return session.read.parquet(str(path)).selectExpr(
        *(
            f"make_dt_interval(0, 0, 0, `{c}` / 1000000) AS `{c}`" if c in durations else f"`{c}`"
            for c in frame.columns
        )
    )


@contextmanager
def spark_session() -> Iterator[Any]:
    """Start a local Spark with two threads, in a time zone that is not UTC."""
    sql = pytest.importorskip("pyspark.sql", reason="PySpark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not installed")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "America/New_York",
        "spark.driver.memory": "1g",
        # Nor is Java's second compiler, which took more time than the queries.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        # Tables of a few rows are not worth compiling for.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        **_connect_settings(),
    }
    # The workers are processes of their own, which need this environment.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = sql.SparkSession.builder.master("local[2]").appName("nullproof")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def _connect_settings() -> dict[str, str]:
    """Let the session also serve Spark Connect, if its jar is there: it has been since Spark 4."""
    import pyspark

    if not [*Path(pyspark.__file__).with_name("jars").glob("spark-connect_*.jar")]:
        return {}
    return {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        # Any that is free when the server binds it.
        "spark.connect.grpc.binding.port": "0",
    }


@contextmanager
def spark_connect() -> Iterator[Any]:
    """Start a local Spark, and reach it by Spark Connect, as one reaches a remote one."""
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    for part in ("grpc", "grpc_status", "google.rpc", "zstandard"):
        pytest.importorskip(part, reason=f"Spark Connect needs {part}: install pyspark[connect]")
    with spark_session() as session:
        if session.conf.get("spark.connect.grpc.binding.port", None) is None:
            pytest.skip("this PySpark brings no server for Spark Connect")
        from pyspark.sql.connect.session import SparkSession

        name = "org.apache.spark.sql.connect.service.SparkConnectService$"
        java = session._jvm  # noqa: SLF001 (the only way to the port)
        port = getattr(getattr(java, name), "MODULE$").localPort()
        remote = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
        remote.conf.set("spark.sql.session.timeZone", "America/New_York")
        try:
            yield remote
        finally:
            remote.client.close()


@contextmanager
def dask_cluster() -> Iterator[Any]:
    """Start a Dask cluster with two worker processes."""
    pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    dask: Any = importlib.import_module("dask")
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    with (
        dask.config.set({"distributed.comm.timeouts.connect": _PATIENCE}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def dask_table(frame: pl.DataFrame) -> Any:
    """Split a table into four partitions."""
    frames: Any = pytest.importorskip("dask.dataframe")
    return frames.from_pandas(frame.to_pandas(use_pyarrow_extension_array=True), npartitions=4)


@contextmanager
def postgres_server() -> Iterator[Any]:
    """Start a Postgres server of its own in a temporary folder, and connect to it with ibis."""
    ibis = pytest.importorskip("ibis", reason="ibis is not installed")
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    initdb = shutil.which("initdb") or (str(found[-1]) if found else None)
    if initdb is None:
        pytest.skip("the Postgres server is not installed")
    folder = Path(tempfile.mkdtemp(prefix="nullproof-pg-", dir="/tmp"))
    as_user = _as_user(folder)
    data = folder / "data"
    run = [*as_user, initdb, "-D", str(data), "-U", "nullproof", "-A", "trust", "-E", "UTF8"]
    subprocess.run([*run, "--locale", "C", "--no-sync"], check=True, capture_output=True)
    command = [*as_user, str(Path(initdb).with_name("postgres")), "-D", str(data)]
    quick = ["-c", "fsync=off", "-c", "listen_addresses=", "-c", "timezone=America/New_York"]
    server = subprocess.Popen(
        [*command, "-k", str(folder), *quick], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        connection = _connected(ibis, server, folder)
        yield connection
        connection.disconnect()
    finally:
        _stop(data)
        server.wait(timeout=_PATIENCE)
        shutil.rmtree(folder, ignore_errors=True)


def _as_user(folder: Path) -> list[str]:
    """Postgres refuses to run as root."""
    if os.geteuid():
        return []
    if (
        not shutil.which("runuser")
        or subprocess.run(["id", "postgres"], check=False, capture_output=True).returncode
    ):
        pytest.skip("running as root, and there is no user postgres to run the server as")
    shutil.chown(folder, "postgres")
    return ["runuser", "-u", "postgres", "--"]


def _connected(ibis: Any, server: subprocess.Popen[bytes], folder: Path) -> Any:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        assert server.poll() is None, "the Postgres server ended at its start"
        try:
            return ibis.postgres.connect(host=str(folder), user="nullproof", database="postgres")
        except Exception:
            time.sleep(0.1)
    raise TimeoutError("the Postgres server does not answer")


def _stop(data: Path) -> None:
    """Ask the server itself to end: the process started may be a wrapper that changed the user."""
    lines = (data / "postmaster.pid").read_text().splitlines()
    os.kill(int(lines[0]), 2)


def postgres_table(connection: Any, frame: pl.DataFrame) -> Any:
    """Copy a table to Postgres; ibis creates no columns of intervals and JSON, so they come later."""
    name = f"cells_{next(_NUMBERS)}"
    sent = frame.with_columns(
        pl.col(pl.Duration).dt.total_microseconds(),
        *(pl.col(c).struct.json_encode() for c, t in frame.schema.items() if t == pl.Struct),
    )
    connection.create_table(name, sent.to_arrow())
    for column, dtype in frame.schema.items():
        made = {
            pl.Duration: f"""interval USING "{column}" * interval '1 microsecond'""",
            pl.Struct: f"""jsonb USING "{column}"::jsonb""",
        }.get(dtype.base_type())
        if made is not None:
            connection.raw_sql(f'ALTER TABLE {name} ALTER COLUMN "{column}" TYPE {made}').close()
    return connection.table(name)
