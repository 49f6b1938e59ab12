"""Annotating points where they are, against the same job that only reads and writes them.

Each engine reads Parquet files and writes Parquet files, with and without `annotate` in between, in a
process of its own; its workers' greatest memory is that of the largest process that it started.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

TITLE = "Annotating where the points are"
COLUMNS = 10
PART = 500_000

_HEAD = """
import os, re, shutil, sys, threading, time, warnings
warnings.simplefilter("ignore")
from nullproof import CountIndex, annotate
points, out, index = sys.argv[1], sys.argv[2], CountIndex.load(sys.argv[3])
peaks = {}

def watch():
    # The greatest memory of every Python process of this session.
    while True:
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.getsid(int(name)) == os.getsid(0):
                    status = open(f"/proc/{name}/status").read()
                    if status.startswith("Name:\\tpython"):
                        peaks[name] = int(re.search(r"VmHWM:\\s+(\\d+)", status)[1]) / 1024
            except (OSError, TypeError):
                pass
        time.sleep(0.2)

def measure(read, write):
    # The first pair starts workers, and Java compiles what it has run often.
    for _ in range(2):
        seconds = []
        for step in (lambda table: table, lambda table: annotate(index, table)):
            shutil.rmtree(out, ignore_errors=True)
            start = time.perf_counter()
            write(step(read(points)))
            seconds.append(time.perf_counter() - start)
    peaks.pop(str(os.getpid()), None)
    print("measured", *seconds, max(peaks.values()))

threading.Thread(target=watch, daemon=True).start()
"""
_ENGINES = {
    "Spark, 2 threads, `mapInArrow`": """
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
builder = builder.config("spark.log.level", "ERROR").config("spark.driver.memory", "2g")
session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
measure(session.read.parquet, lambda table: table.write.parquet(out))
""",
    "Dask, 2 processes, `map_partitions`": """
import dask.dataframe as dd
from dask.distributed import Client
if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        measure(dd.read_parquet, lambda table: table.to_parquet(out))
""",
}


def run(*, quick: bool) -> list[str]:
    """Measure; the environment variable NULLPROOF_ROWS says how many millions of points."""
    millions = 1 if quick else int(os.environ.get("NULLPROOF_ROWS", "10"))
    lines = [
        f"{millions} million points of {COLUMNS} columns of five values, one in ten missing, in Parquet "
        f"files of {PART:,} rows; two labels, learned weights. Second of two runs, one after the other.",
        "",
        "| engine | read and write | read, annotate and write | ratio | largest Python worker |",
        "|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder, 2 * millions)
        for engine, program in _ENGINES.items():
            plain, annotated, peak = _measured(folder, program)
            lines.append(
                f"| {engine} | {plain:.1f} s | {annotated:.1f} s | {annotated / plain:.2f} "
                f"| {peak:,.0f} MB |"
            )
    return lines


def _write(folder: Path, n_parts: int) -> None:
    """Write the points in parts, and the index of another part."""
    from nullproof.counts.index import CountIndex

    (folder / "points").mkdir()
    for part in range(n_parts):
        _points(part).write_parquet(folder / "points" / f"{part:03}.parquet")
    CountIndex.from_table(_points(n_parts)[:50_000], "label").save(folder / "a.index")


def _points(seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, PART)
    columns = {"label": pl.Series(labels.astype(np.int8))}
    for j in range(COLUMNS):
        cells = np.where(rng.random(PART) < 0.2, 3 * labels, rng.integers(0, 5, PART))
        known = pl.Series(rng.random(PART) >= 0.1)
        nothing = pl.Series([None], dtype=pl.Int8)
        columns[f"x{j}"] = pl.Series(cells.astype(np.int8)).zip_with(known, nothing)
    return pl.DataFrame(columns)


def _measured(folder: Path, program: str) -> tuple[float, float, float]:
    """Return the seconds without and with annotate, and the peak memory of a worker in MB."""
    script = folder / "job.py"
    script.write_text(_HEAD + program)
    paths = [str(folder / name) for name in ("points", "out", "a.index")]
    done = subprocess.run(
        [sys.executable, str(script), *paths],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        check=True,
        capture_output=True,
        text=True,
        start_new_session=True,
    )
    line = next(line for line in done.stdout.splitlines() if line.startswith("measured"))
    plain, annotated, peak = map(float, line.split()[1:])
    return plain, annotated, peak
