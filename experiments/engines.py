"""Counting where the data is: DuckDB by number of rows, and Spark against hand-written SQL."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from experiments.measuring import in_process, shown, times
from nullproof.counts.index import CountIndex
from nullproof.data.schema import Feature, Schema

TITLE = "Counting where the data is"
COLUMNS = 10
PART = 1_000_000
LIMIT = "1GB"

OURS = """
from nullproof.counts.index import CountIndex
start = time.perf_counter()
CountIndex.from_table(sys.argv[1], "label", memory_limit=sys.argv[2], binning=sys.argv[3], weights="equal")
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
        lines += _bins(Path(folder), millions)
        lines += _spark(Path(folder), [1] if quick else [2, 10], runs=3 if quick else 7)
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
            pairs = [
                (in_process(OURS, path, LIMIT, "uniform"), in_process(BARE, path, LIMIT))
                for _ in range(3)
            ]
            ours, bare = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
            over = statistics.median(ours[0] / bare[0] for ours, bare in pairs)
            lines.append(
                f"| {count} | {'text' if text else 'numbers in 5 bins'} | {ours[0]:.2f} s "
                f"| {count * PART / ours[0]:,.0f} | {ours[1]:,.0f} MB | {bare[0]:.2f} s "
                f"| {over:.2f} |"
            )
            shutil.rmtree(folder / "table")
    return [
        *lines,
        "",
        "Fastest of three runs, each in a process of its own; the ratio is the median of three pairs, "
        "one run after the other.",
        "",
    ]


def _bins(folder: Path, millions: list[int]) -> list[str]:
    lines = [
        f"## DuckDB: Parquet, {COLUMNS} columns of doubles that differ, 1 % missing, memory limit {LIMIT}",
        "",
        "| million rows | uniform bins | mdl bins | ratio |",
        "|---|---|---|---|",
    ]
    for count in millions:
        path = _write_doubles(folder / "table", count)
        pairs = [
            [in_process(OURS, path, LIMIT, how)[0] for how in ("uniform", "mdl")] for _ in range(3)
        ]
        uniform, mdl = (min(times) for times in zip(*pairs, strict=True))
        over = statistics.median(slow / fast for fast, slow in pairs)
        lines.append(f"| {count} | {uniform:.2f} s | {mdl:.2f} s | {over:.2f} |")
        shutil.rmtree(folder / "table")
    return [*lines, ""]


def _write_doubles(folder: Path, millions: int) -> str:
    """Write Parquet files of a million rows; every other column tells something about the label."""
    folder.mkdir()
    for part in range(millions):
        rng = np.random.default_rng(part)
        labels = rng.integers(0, 2, PART)
        columns: dict[str, Any] = {"label": labels.astype(np.int8)}
        for j in range(COLUMNS):
            cells = rng.normal(size=PART) + labels * (j % 2)
            cells[rng.random(PART) < 0.01] = np.nan
            columns[f"x{j}"] = pl.Series(cells).fill_nan(None)
        pl.DataFrame(columns).write_parquet(folder / f"{part:03}.parquet")
    return str(folder / "*.parquet")


def _spark(folder: Path, millions: list[int], runs: int) -> list[str]:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "4").config("spark.log.level", "ERROR")
    session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    lines = [
        f"## Spark: {COLUMNS} text columns, 2 threads",
        "",
        "| million rows | CountIndex.from_table | one group-by a column, SQL | ratio "
        "| one group-by in all, SQL | ratio |",
        "|---|---|---|---|---|---|",
    ]
    for count in millions:
        write_table(folder / "spark", count, text=True)
        seconds = _spark_seconds(session, str(folder / "spark"), runs)
        shutil.rmtree(folder / "spark")
        ours, each, whole = seconds["ours"], seconds["each"], seconds["whole"]
        lines.append(
            f"| {count} | {shown(ours)} | {shown(each)} | {_paired(ours, each):.2f} "
            f"| {shown(whole)} | {_paired(ours, whole):.2f} |"
        )
    session.stop()
    return [
        *lines,
        "",
        f"Ratios are medians of {runs} rounds, in which the three ran one after the other.",
        "",
    ]


def _spark_seconds(session: Any, path: str, runs: int) -> dict[str, list[float]]:
    """Time ours and two ways to write it by hand: as anyone would, and as Spark likes it best."""
    table = session.read.parquet(path)
    table.createOrReplaceTempView("cells")
    each = " UNION ALL ".join(
        f"SELECT {j} AS j, label, x{j} AS value, count(*) AS n FROM cells GROUP BY label, x{j}"
        for j in range(COLUMNS)
    )
    cells = " UNION ALL ".join(
        f"SELECT {j} AS j, label, x{j} AS value FROM cells" for j in range(COLUMNS)
    )
    whole = f"SELECT j, label, value, count(*) AS n FROM ({cells}) GROUP BY j, label, value"
    tasks = {
        "ours": lambda: CountIndex.from_table(table, "label", binning="uniform", weights="equal"),
        "each": lambda: session.sql(each).collect(),
        "whole": lambda: session.sql(whole).collect(),
    }
    # Java compiles what it has run often: the first rounds tell nothing.
    times(2, **tasks)
    return times(runs, **tasks)


def _paired(slow: list[float], fast: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(slow, fast, strict=True))


def _saving(folder: Path) -> list[str]:
    index, path = _index(1_000_000, 1), folder / "a.index"
    seconds = times(5, save=lambda: index.save(path), load=lambda: CountIndex.load(path))
    raw = sum(counts.nbytes for counts in index.known)
    return [
        "## An index with 1 million values and 2 labels",
        "",
        "| what | |",
        "|---|---|",
        f"| save | {shown(seconds['save'])} |",
        f"| load | {shown(seconds['load'])} |",
        f"| file | {path.stat().st_size / 1e6:.1f} MB (the bare counts {raw / 1e6:.0f} MB) |",
        "",
        *_changing(),
    ]


def _changing() -> list[str]:
    lines = [
        "## One row more, one less",
        "",
        "| features | values of each | a row more | a row more, only one cell known | a row less |",
        "|---|---|---|---|---|",
    ]
    for n_values, n_features in ((1_000_000, 1), (5, 100), (10_000, 100)):
        index = _index(n_values, n_features)
        row, sparse = ("value 3",) * n_features, ("value 3", *(None,) * (n_features - 1))
        seconds = _changes(index, row, sparse)
        cells = " | ".join(shown(seconds[name]) for name in ("more", "one", "less"))
        lines.append(f"| {n_features} | {n_values:,} | {cells} |")
    return [*lines, ""]


def _changes(
    index: CountIndex, row: tuple[Any, ...], sparse: tuple[Any, ...]
) -> dict[str, list[float]]:
    def of(cells: tuple[Any, ...]) -> CountIndex:
        return CountIndex.from_rows([cells], ["yes"], like=index)

    return times(
        15,
        more=lambda: index + of(row),
        one=lambda: index + of(sparse),
        less=lambda: index - of(row),
    )


def _index(n_values: int, n_features: int) -> CountIndex:
    """An index of random counts."""
    rng = np.random.default_rng(0)
    known = tuple(rng.integers(1, 50, (n_values, 2)).astype(np.int64) for _ in range(n_features))
    values = tuple(f"value {k}" for k in range(n_values))
    features = tuple(Feature(f"x{j}", "category", values) for j in range(n_features))
    rows = np.max([counts.sum(axis=0) for counts in known], axis=0) + 1
    n_null = np.array([rows - counts.sum(axis=0) for counts in known])
    return CountIndex(Schema(features, ("no", "yes")), rows, known, n_null, ({},) * n_features)
