"""Does an engine find the NaN in files that are known to hold some?

DuckDB 2.0 believes a file's statistics where they leave NaN out, Spark skips pages that files of polars 1
call empty: both would make certificates wrong without a sign. Our queries avoid both today. So that a
new release cannot make us wrong silently, an engine must get two small files of ours right before its
first count of floats.
"""

from __future__ import annotations

import importlib.metadata
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals as nw

from nullproof.counts.engines.keys import bin_key, collected, lazy_column
from nullproof.errors import NullproofError

PROBES = Path(__file__).parent / "probes"
_EDGES = (0.0, 5.0, 9.0)
# Each file's column, and how many of its cells have no number, one below 5, one from 5 on.
_EXPECTED = {
    "statistics.parquet": ("x", {-1: 3, 0: 2, 1: 2}),
    "pages.parquet": ("real", {-1: 12, 0: 21, 1: 7}),
}
_trusted: set[str] = set()


def refuse_engine_that_miscounts(frame: nw.LazyFrame[Any]) -> None:
    """Ask the engine of a lazy table, the first time, about files whose answer is known."""
    engine = frame.implementation.name.lower().removesuffix("_connect")
    if engine in _trusted:
        return
    read = _reader(engine, frame.to_native())
    with warnings.catch_warnings():
        # Warnings here are about the library's own parts, not about the user's table.
        warnings.simplefilter("ignore")
        right = read is None or all(_is_right(read, name) for name in _EXPECTED)
    if not right:
        version = importlib.metadata.version("ibis-framework" if engine == "ibis" else engine)
        raise NullproofError(
            f"{engine} {version} does not find all NaN in a Parquet file, so its counts cannot be "
            "trusted; install another version of it, or read the table into memory first"
        )
    _trusted.add(engine)


def _reader(engine: str, native: Any) -> Callable[[str], Any] | None:
    """How the engine opens a file of this machine; None where it cannot, as a server or a cluster."""
    if engine == "duckdb":
        import duckdb

        return duckdb.connect().read_parquet
    if engine == "polars":
        import polars as pl

        return pl.scan_parquet
    if engine == "dask":
        import dask.dataframe

        return dask.dataframe.read_parquet
    if engine == "ibis" and native.get_backend().name == "duckdb":
        import ibis

        return ibis.duckdb.connect().read_parquet  # type: ignore[no-any-return]
    if engine == "pyspark":
        session = native.sparkSession
        local = str(session.conf.get("spark.master", "")).startswith("local")
        return session.read.parquet if local else None
    return None


def _is_right(read: Callable[[str], Any], name: str) -> bool:
    column_name, expected = _EXPECTED[name]
    frame: nw.LazyFrame[Any] = nw.from_native(read(str(PROBES / name)))
    column = lazy_column(frame, column_name, frame.collect_schema()[column_name])
    cells = frame.select(bin_key(column, _EDGES).value.alias("bin"))
    found = collected(cells.group_by("bin").agg(nw.len().alias("count")))
    counted = dict(zip(found["bin"].to_list(), found["count"].to_list(), strict=True))
    n_known = collected(frame.filter(column.known).select(nw.len().alias("n"))).item()
    return counted == expected and n_known == sum(expected.values()) - expected[-1]
