"""Engines find the NaN in Parquet files whose statistics or pages do not mention them.

DuckDB 2.0 believes a file's statistics where they leave NaN out, Spark skips pages that files of polars 1
call empty: either would make counts wrong without a sign. Our queries avoid both.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from nullproof import CountIndex

FILES = Path(__file__).parent / "support" / "nan"
ENGINES: dict[str, Callable[[str], Any]] = {
    "polars": pl.scan_parquet,
    "duckdb": lambda path: duckdb.connect().read_parquet(path),
    "folder": lambda path: path,
    "dask": lambda path: pytest.importorskip("dask.dataframe").read_parquet(path),
    "ibis": lambda path: pytest.importorskip("ibis").duckdb.connect().read_parquet(path),
}
# Libraries that take seconds to load.
DEAR = ("dask", "ibis")


@pytest.mark.parametrize(
    "engine", [pytest.param(name, marks=[pytest.mark.slow] * (name in DEAR)) for name in ENGINES]
)
@pytest.mark.parametrize(
    ("name", "label", "column", "n_missing"),
    [("statistics", "y", "x", 3), ("pages", "label", "real", 12), ("pages", "label", "single", 12)],
)
@pytest.mark.parametrize("binning", ["mdl", "uniform"])
@pytest.mark.filterwarnings("ignore")
def test_nan_is_missing_in_every_engine(
    engine: str, name: str, label: str, column: str, n_missing: int, binning: Any
) -> None:
    """Every engine counts as many missing cells as the table in memory has."""
    path = str(FILES / f"{name}.parquet")
    frame = pl.read_parquet(path).select(column, label)
    assert frame[column].is_nan().sum() + frame[column].null_count() == n_missing
    ignore = [other for other in pl.read_parquet_schema(path) if other not in (column, label)]
    options: dict[str, Any] = {"memory_limit": "200MB"} if engine == "folder" else {}
    table = ENGINES[engine](path)
    index = CountIndex.from_table(table, label, ignore=ignore, binning=binning, **options)
    assert index.n_missing == n_missing
    assert index == CountIndex.from_table(frame, label, binning=binning)
