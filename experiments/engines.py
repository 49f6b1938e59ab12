"""Counting where the data is: DuckDB by number of rows, and Spark against hand-written SQL."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from experiments.measuring import in_process, ratio, shown, times
from nullproof.index import CountIndex
from nullproof.schema import Feature, Schema

TITLE = "Counting where the data is"
COLUMNS = 10
PART = 1_000_000
LIMIT = "1GB"

OURS = """
from nullproof.index import CountIndex
start = time.perf_counter()
CountIndex.from_table(sys.argv[1], "label", memory_limit=sys.argv[2])
"""
BARE = """
import duckdb
connection = duckdb.connect(config={"memory_limit": sys.argv[2]})
start = time.perf_counter()
for column in range(10):
    connection.sql(
        f"SELECT label, x{column}, count(*) FROM '{sys.argv[1]}' GROUP BY ALL"
    ).fetchall()
"""


def run(*, quick: bool) -> list[str]:
    """Measure; the environment variable NULLPROOF_ROWS (millions, e.g. 1,10,100) says how far."""
    millions = (
        [1] if quick else [int(k) for k in os.environ.get("NULLPROOF_ROWS", "1,10").split(",")]
    )
    with tempfile.TemporaryDirectory() as folder:
        lines = _duckdb(Path(folder), millions)
        lines += _spark(Path(folder), runs=3 if quick else 5)
        lines += _saving(Path(folder))
    return lines


def write_table(folder: Path, millions: int, *, text: bool = False) -> str:
    """Write Parquet files of a million rows: ten columns of five values, a tenth of them missing."""
    folder.mkdir()
    for part in range(millions):
        rng = np.random.default_rng(part)
        columns: dict[str, Any] = {"label": rng.integers(0, 2, PART).astype(np.int8)}
        for j in range(COLUMNS):
            cells = pl.Series(rng.integers(0, 5, PART).astype(np.int8))
            known = pl.Series(rng.random(PART) >= 0.1)
            columns[f"x{j}"] = cells.zip_with(known, pl.Series([None], dtype=pl.Int8))
        frame = pl.DataFrame(columns)
        if text:
            frame = frame.cast(pl.String)
        frame.write_parquet(folder / f"{part:03}.parquet")
    return str(folder / "*.parquet")


def _duckdb(folder: Path, millions: list[int]) -> list[str]:
    lines = [
        f"## DuckDB: Parquet, {COLUMNS} columns of 5 values, 10 % missing, memory limit {LIMIT}",
        "",
        "| million rows | values | nullproof | rows a second | peak | one group-by a column "
        "| ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    for count in millions:
        for text in (False, True):
            path = write_table(folder / "table", count, text=text)
            ours = min(in_process(OURS, path, LIMIT) for _ in range(3))
            bare = min(in_process(BARE, path, LIMIT) for _ in range(3))
            lines.append(
                f"| {count} | {'text' if text else 'numbers in 5 bins'} | {ours[0]:.2f} s "
                f"| {count * PART / ours[0]:,.0f} | {ours[1]:,.0f} MB | {bare[0]:.2f} s "
                f"| {ours[0] / bare[0]:.2f} |"
            )
            shutil.rmtree(folder / "table")
    return [*lines, "", "Fastest of three runs, each in a process of its own.", ""]


def _spark(folder: Path, runs: int) -> list[str]:
    from pyspark.sql import SparkSession

    pattern = write_table(folder / "spark", 2, text=True)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "4").config("spark.log.level", "ERROR")
    session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    table = session.read.parquet(str(Path(pattern).parent))
    table.createOrReplaceTempView("cells")
    query = " UNION ALL ".join(
        f"SELECT {j} AS j, label, x{j} AS value, count(*) AS n FROM cells GROUP BY label, x{j}"
        for j in range(COLUMNS)
    )
    seconds = times(
        runs,
        ours=lambda: CountIndex.from_table(table, "label"),
        sql=lambda: session.sql(query).collect(),
    )
    session.stop()
    return [
        f"## Spark: 2 million rows, {COLUMNS} text columns, 2 threads",
        "",
        "| way | time |",
        "|---|---|",
        f"| CountIndex.from_table | {shown(seconds['ours'])} |",
        f"| hand-written SQL, collected | {shown(seconds['sql'])} |",
        "",
        f"Ratio {ratio(seconds['ours'], seconds['sql']):.2f}.",
        "",
    ]


def _saving(folder: Path) -> list[str]:
    size = 1_000_000
    counts = np.random.default_rng(0).integers(0, 50, (size, 2)).astype(np.int64)
    feature = Feature("id", "category", tuple(f"value {k}" for k in range(size)))
    schema = Schema((feature,), ("no", "yes"))
    none = np.zeros((1, 2), dtype=np.int64)
    index = CountIndex(schema, counts.sum(axis=0), (counts,), none, ({},))
    path = folder / "a.index"
    seconds = times(5, save=lambda: index.save(path), load=lambda: CountIndex.load(path))
    changed = times(5, remove=lambda: index.remove([("value 7",)], ["yes"]))
    return [
        "## An index with 1 million values and 2 labels",
        "",
        "| what | |",
        "|---|---|",
        f"| save | {shown(seconds['save'])} |",
        f"| load | {shown(seconds['load'])} |",
        f"| file | {path.stat().st_size / 1e6:.1f} MB (the bare counts {counts.nbytes / 1e6:.0f} MB) |",
        f"| remove one row | {shown(changed['remove'])} |",
        "",
    ]
