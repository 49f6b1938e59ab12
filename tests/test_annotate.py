"""annotate: a table of points gets the same answers wherever it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from support.command_line import demo_tables
from support.engines import QUIET, dask_table, spark_session, spark_table

from nullproof import CountIndex, NullproofError, annotate, certify

pytestmark = [*QUIET, pytest.mark.xdist_group("engines")]
NEW = ["predicted", "verdict", "holds_up_to", "right"]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """Start Spark once."""
    with spark_session() as session:
        yield session


@pytest.fixture(scope="module")
def asked() -> tuple[CountIndex, pl.DataFrame]:
    """Return the index of the demo, and its own rows as points, with missing cells and labels."""
    train, _ = demo_tables()
    return CountIndex.from_table(train, "churn"), train


def expected(index: CountIndex, points: pl.DataFrame, **options: Any) -> list[list[Any]]:
    """Return the columns as certify gives them."""
    found = certify(index, points, truth=points["churn"].to_list(), **options)
    holds = [None if bias != bias else bias for bias in found.tolerance.tolist()]
    right = found.right
    assert right is not None
    return [[*found.predicted], [*found.verdict], holds, [*right]]


def given(frame: pl.DataFrame) -> list[list[Any]]:
    """Return the new columns."""
    return [frame[name].to_list() for name in NEW]


def in_order(frame: pl.DataFrame, place: str = "place") -> pl.DataFrame:
    """Return the rows in the order of the table."""
    return frame.sort(place)


@pytest.mark.parametrize("options", [{}, {"bias": 0.1, "alpha": 0, "own_missing": "any"}])
@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow", "lazy", "file"])
def test_memory(
    asked: tuple[CountIndex, pl.DataFrame], library: str, options: dict[str, Any], tmp_path: Path
) -> None:
    """Frames keep their library and their columns, and get what certify answers."""
    index, points = asked
    table: Any = points
    if library == "pandas":
        table = points.to_pandas().set_index(pl.Series(range(5, 5 + len(points))).to_pandas())
    elif library == "pyarrow":
        table = points.to_arrow()
    elif library == "lazy":
        table = points.lazy()
    elif library == "file":
        table = tmp_path / "points.csv"
        points.write_csv(table)
    found = annotate(index, table, **options)
    if library == "lazy":
        assert isinstance(found, pl.LazyFrame)
        found = found.collect()
    elif library != "file":
        assert type(found) is type(table)
    if library == "pandas":
        assert found.index.tolist() == table.index.tolist()
    plain = pl.DataFrame(found) if library != "pandas" else pl.from_pandas(found)
    assert plain.columns == [*points.columns, *NEW]
    assert given(plain) == expected(index, points, **options)


def test_without_labels(asked: tuple[CountIndex, pl.DataFrame]) -> None:
    """A table without the label column gets no column about it."""
    index, points = asked
    found = annotate(index, points.drop("churn"))
    assert found.columns == [*points.drop("churn").columns, *NEW[:3]]


@pytest.mark.slow
def test_dask(asked: tuple[CountIndex, pl.DataFrame]) -> None:
    """Dask annotates partition by partition, when it is asked for the rows."""
    pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    index, points = asked
    found = annotate(index, dask_table(points.with_row_index("place")))
    assert hasattr(found, "compute")
    rows = in_order(pl.from_pandas(found.compute().reset_index(drop=True)))
    assert given(rows) == expected(index, points)


@pytest.mark.slow
def test_spark(asked: tuple[CountIndex, pl.DataFrame], spark: Any, tmp_path: Path) -> None:
    """Spark annotates in its workers."""
    index, points = asked
    table = spark_table(spark, points.with_row_index("place").cast({"place": pl.Int64}), tmp_path)
    found = annotate(index, table)
    rows = in_order(pl.from_pandas(found.toPandas()))
    assert given(rows) == expected(index, points)


def test_duckdb_and_ibis(asked: tuple[CountIndex, pl.DataFrame], tmp_path: Path) -> None:
    """Tables of DuckDB and ibis are written to a Parquet file, whole or not at all."""
    index, points = asked
    table = points.with_row_index("place")
    connection = duckdb.connect()
    connection.register("points", table.to_arrow())
    path = annotate(index, connection.table("points"), into=tmp_path / "out.parquet")
    assert given(in_order(pl.read_parquet(path))) == expected(index, points)
    ibis = pytest.importorskip("ibis", reason="ibis is not installed")
    table.write_parquet(tmp_path / "points.parquet")
    in_duckdb = ibis.duckdb.connect()
    in_duckdb.con.execute(f"create table points as from '{tmp_path / 'points.parquet'}'")
    for own in (ibis.polars.connect({"points": table}), in_duckdb):
        path = annotate(index, own.table("points"), into=tmp_path / "other.parquet")
        assert given(in_order(pl.read_parquet(path))) == expected(index, points)
    for into, said in ((None, "into='annotated.parquet'"), ("a.csv", "ends in .parquet")):
        with pytest.raises(NullproofError, match=said):
            annotate(index, connection.table("points"), into=into)


def test_refusals(asked: tuple[CountIndex, pl.DataFrame]) -> None:
    """What cannot be annotated is one sentence."""
    index, points = asked
    with pytest.raises(NullproofError, match="'verdict' already"):
        annotate(index, points.with_columns(verdict=pl.lit("x")))
    with pytest.raises(NullproofError, match="leave it out"):
        annotate(index, points.lazy(), into="out.parquet")
