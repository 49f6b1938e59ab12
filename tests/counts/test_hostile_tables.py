"""Tables that once gave wrong counts, each fault by its name; `test_ways` looks for more of the kind."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from nullproof import CountIndex, NullproofError, certify
from nullproof.tables.schema import Feature

B = 2**53
LABELS = list("aaabb")
LARGE = [B, B + 1, B + 1, B, None]

Columns = dict[str, Any]
Way = Callable[[Columns], Any]


def _duckdb(columns: Columns) -> Any:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    return duckdb.from_arrow(pa.table(columns))


def _dask(columns: Columns) -> Any:
    dataframe = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    return dataframe.from_pandas(_pandas(columns), npartitions=2)


def _pandas(columns: Columns) -> pd.DataFrame:
    return pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype)


WAYS: dict[str, Way] = {
    "mapping": dict,
    "pandas": _pandas,
    "polars": pl.DataFrame,
    "polars lazy": pl.LazyFrame,
    "pyarrow": pa.table,
    "duckdb": _duckdb,
    "dask": _dask,
}


@pytest.fixture(params=[*WAYS.values()], ids=[*WAYS])
def way(request: pytest.FixtureRequest) -> Way:
    made: Way = request.param
    return made


def counted(index: CountIndex, j: int = 0) -> dict[str, list[int]]:
    """The counts of a feature by the text of its values."""
    values = index.schema.features[j].values
    return dict(zip(values, index.exact(j)[:-1].tolist(), strict=True))


def possible(index: CountIndex, point: Any) -> list[Any]:
    """The labels that some world predicts."""
    row = certify(index, [point], alpha=0).possible[0]
    return [label for label, there in zip(index.labels, row, strict=True) if there]


def test_a_large_integers_stay_apart(way: Way) -> None:
    """A: integers that doubles cannot tell apart are different values, also beside a hole."""
    index = CountIndex.from_table(way({"x": LARGE, "y": LABELS}), "y", binning="none")
    assert counted(index) == {str(B): [1, 1], str(B + 1): [2, 0]}
    assert possible(index, (B,)) == ["a", "b"]


def test_a_large_integers_among_points(way: Way) -> None:
    """A: a point has the same value whether other points have holes or not."""
    table = {"x": [B] * 3 + [B + 1] * 2, "y": LABELS}
    index = CountIndex.from_table(way(table), "y", binning="none")
    alone = certify(index, pl.DataFrame({"x": [B + 1]}), alpha=0)
    beside_a_hole = certify(index, pl.DataFrame({"x": [B + 1, None]}), alpha=0)
    assert alone[0].label == beside_a_hole[0].label == "b"


@pytest.mark.parametrize("limit", [None, "200MB"], ids=["polars", "duckdb"])
def test_a_long_ids_in_a_csv(tmp_path: Path, limit: str | None) -> None:
    """A: twenty digits, or forty, with holes, fractions or words beside them, are read exactly."""
    ids = [10**19 + 1, 10**19 + 2, 10**40 + 1, 10**40 + 2]
    for others in ([], [""], ["0.5"], ["x"]):
        cells = [*map(str, ids), *others]
        path = tmp_path / "ids.csv"
        path.write_text("x,y\n" + "".join(f"{cell},a\n" for cell in cells))
        index = CountIndex.from_table(path, "y", binning="none", memory_limit=limit)
        assert {*counted(index)} == {*map(str, ids), *filter(None, others)}


def test_a_integers_and_the_floats_that_they_equal(way: Way) -> None:
    """A: 10^16 is one value whether it comes as an integer or a float."""
    whole = CountIndex.from_table(way({"x": [10**16, 1], "y": ["a", "b"]}), "y", binning="none")
    real = CountIndex.from_table(way({"x": [1e16, 1.0], "y": ["a", "b"]}), "y", binning="none")
    assert whole == real
    assert CountIndex.from_table({"x": [1e16], "y": ["a"]}, "y", like=whole).n_rows == 1


def test_a_large_integers_as_labels(way: Way) -> None:
    """A: labels are as exact as features."""
    index = CountIndex.from_table(way({"x": list("uvuv"), "y": [B, B + 1, B + 1, B]}), "y")
    assert index.labels == (B, B + 1)
    assert counted(index) == {"u": [1, 1], "v": [1, 1]}


@pytest.mark.parametrize("digits", [4_300, 4_301])
def test_a_as_many_digits_as_python_writes(digits: int) -> None:
    """A: integers have up to 4,300 digits; longer ones are refused."""
    table = {"x": [10 ** (digits - 1), 1], "y": ["a", "b"]}
    if digits <= 4_300:
        assert len(counted(CountIndex.from_table(table, "y", binning="none"))) == 2
        return
    with pytest.raises(NullproofError, match="an integer of more than 4,300 digits"):
        CountIndex.from_table(table, "y", binning="none")


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
@pytest.mark.parametrize("options", [{"binning": "none"}, {"binning": "uniform", "bins": 2}])
def test_b_nan_in_parquet_through_duckdb(tmp_path: Path, options: dict[str, Any]) -> None:
    """B: NaN that a file's statistics leave out is missing, by every way to DuckDB."""
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    ibis = pytest.importorskip("ibis", reason="ibis is not installed")
    path = tmp_path / "some" / "nan.parquet"
    path.parent.mkdir()
    pl.DataFrame({"x": [1.0, 2.0, math.nan, 9.0, math.nan], "y": LABELS}).write_parquet(path)
    expected = CountIndex.from_table(pl.read_parquet(path), "y", **options)
    assert possible(expected, (9,)) == ["a", "b"]
    limited = CountIndex.from_table(path, "y", **options, memory_limit="200MB")
    assert limited == expected
    for table in (
        path.parent,
        str(path.parent / "*.parquet"),
        duckdb.read_parquet(str(path)),
        ibis.duckdb.connect().read_parquet(path),
    ):
        assert CountIndex.from_table(table, "y", **options) == expected


def test_c_lines_that_begin_with_a_hash(tmp_path: Path) -> None:
    """C: DuckDB takes no line of a CSV file for a comment."""
    path = tmp_path / "hash.csv"
    path.write_text("x,y\n#1,a\n2,b\n#3,a\n# 4,b\n")
    expected = CountIndex.from_table(path, "y")
    assert expected.n_rows == 4
    assert CountIndex.from_table(path, "y", memory_limit="200MB") == expected


def test_d_null_in_a_time_column(way: Way) -> None:
    """D: a time that is not known is missing."""
    times = [dt.time(1), None, None, dt.time(2)]
    index = CountIndex.from_table(way({"x": times, "y": list("aabb")}), "y")
    assert counted(index) == {"01:00:00": [1, 0], "02:00:00": [0, 1]}
    assert possible(index, (dt.time(1),)) == ["a", "b"]


def test_e_declared_categories_without_a_cell() -> None:
    """E: declared categories are a domain though no cell holds one."""
    words = pl.Series(["u", "v"])
    for frame in (
        pl.DataFrame({"x": pl.Series([None, None], dtype=pl.Enum(["p", "q"])), "z": words}),
        pd.DataFrame({"x": pd.Categorical([None, None], categories=["p", "q"]), "z": ["u", "v"]}),
    ):
        table = frame.assign(y=["a", "b"]) if isinstance(frame, pd.DataFrame) else frame
        if isinstance(table, pl.DataFrame):
            table = table.with_columns(y=pl.Series(["a", "b"]))
        index = CountIndex.from_table(table, "y")
        assert index.schema.features[0].values == ("p", "q")
        assert index.n_null[0].tolist() == [1, 1]
        if isinstance(table, pl.DataFrame):
            assert CountIndex.from_table(table.lazy(), "y") == index


def test_f_both_zeros(way: Way) -> None:
    """F: 0.0 and -0.0 are one value, and one edge."""
    table = {"x": [0.0, -0.0, 1.0, -0.0, None], "y": LABELS}
    index = CountIndex.from_table(way(table), "y", binning="none")
    assert counted(index) == {"0": [2, 1], "1": [1, 0]}
    binned = CountIndex.from_table(way(table), "y", bins=2, binning="uniform")
    assert math.copysign(1, binned.schema.features[0].edges[0]) == 1
    turned = CountIndex.from_table(
        way({**table, "x": [-0.0, 0.0, 1.0, 0.0, None]}), "y", bins=2, binning="uniform"
    )
    assert turned == binned


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        ([-0.0, 1.0, 1.0, 0.0, -0.0, 0.0, 0.0, 0.0, 0.0], "aababaaab"),
        ([None, 1.0, -0.0, 0.0, 0.0, -0.0], "baabba"),
    ],
    ids=["wrong counts", "cannot reindex"],
)
def test_f_both_zeros_in_two_partitions_of_dask(cells: list[float | None], labels: str) -> None:
    """F: Dask counts both zeros as one value where groups of two partitions meet."""
    table = {"x": cells, "y": list(labels)}
    expected = CountIndex.from_table(table, "y", binning="none")
    assert CountIndex.from_table(_dask(table), "y", binning="none") == expected


def test_g_quantiles_of_narrow_integers() -> None:
    """G: the middle of narrow integers is found without overflow, in memory and lazily."""
    cells = [1, -128, -128, 127, -128, 127, -128, 0]
    table = pl.DataFrame({"x": pl.Series(cells, dtype=pl.Int8), "y": list("abababab")})
    options: dict[str, Any] = {"bins": 2, "binning": "quantile"}
    index = CountIndex.from_table(table, "y", **options)
    assert index.schema.features[0].edges == (-128.0, -64.0, 127.0)
    assert CountIndex.from_table(table.lazy(), "y", **options) == index


END = pl.Series([2**31 - 1, -(2**31), 0, None, 5], dtype=pl.Int32).cast(pl.Date)
FAR = pl.Series([10**18, 2 * 10**18, 3 * 10**18, None, 4 * 10**18]).cast(pl.Datetime("us"))
ZONED = pl.Series([10**15, 10**14, 0, None, 5]).cast(pl.Datetime("us", "Europe/Berlin"))
FINE = pl.Series([10**9 + 1, 10**9 + 2, 0, None, 5]).cast(pl.Datetime("ns"))


@pytest.mark.parametrize("options", [{"binning": "none"}, {"binning": "uniform", "bins": 2}])
@pytest.mark.parametrize("column", [END, FAR, ZONED, FINE], ids=["end", "far", "zoned", "fine"])
def test_j_dates_at_their_ends(column: pl.Series, options: dict[str, Any]) -> None:
    """J: dates and time stamps of any year, zone and unit are counted, by every library alike."""
    table = pl.DataFrame({"x": column, "y": LABELS})
    index = CountIndex.from_table(table, "y", **options)
    assert int(index.n_null.sum()) == 1
    assert "bins" in options or index.schema.features[0].n_values == 4
    arrow = table.to_arrow()
    for other in (table.lazy(), arrow, arrow.to_pandas(types_mapper=pd.ArrowDtype)):
        assert CountIndex.from_table(other, "y", **options) == index


def test_j_dask_with_an_arrow_dictionary() -> None:
    """J: Arrow's own categories are texts to Dask as to pandas."""
    dataframe = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    words = pa.array(["u", "v", None, "u", "v"]).dictionary_encode()
    table = pa.table({"x": words, "y": LABELS}).to_pandas(types_mapper=pd.ArrowDtype)
    index = CountIndex.from_table(table, "y")
    assert counted(index) == {"u": [1, 1], "v": [1, 1]}
    assert CountIndex.from_table(dataframe.from_pandas(table, npartitions=2), "y") == index


def test_j_integers_beyond_every_double() -> None:
    """J: an integer above 1.8e308 is a value of its own, and lies in an end bin."""
    table = {"x": [10**400, 1, 2, None, -(10**400)], "y": LABELS}
    assert len(counted(CountIndex.from_table(table, "y", binning="none"))) == 4
    index = CountIndex.from_table(table, "y", bins=2, binning="uniform")
    assert list(counted(index).values()) == [[1, 1], [2, 0]]


def test_j_a_signalling_nan_is_missing() -> None:
    """J: a NaN that must not be compared is missing like any other."""
    cells = [decimal.Decimal("sNaN"), decimal.Decimal("1.5"), 2]
    index = CountIndex.from_table({"x": cells, "y": ["a", "a", "b"]}, "y", binning="none")
    assert index.n_null.tolist() == [[1, 0]]


@pytest.mark.parametrize("bins", [2.5, "5", True, 0, -1])
def test_j_bins_that_are_no_number_of_bins(bins: Any) -> None:
    """J: bins is a whole number from 1 on."""
    with pytest.raises(NullproofError, match="give a whole number from 1 on, or binning='none'"):
        CountIndex.from_table({"x": [1, 2], "y": ["a", "b"]}, "y", bins=bins)


def test_k_dates_as_labels(way: Way) -> None:
    """K: dates as labels are written as dates, and given as dates."""
    days = [dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(2020, 1, 1)]
    index = CountIndex.from_table(way({"x": ["u", "v", "u"], "y": days}), "y")
    assert index.labels == ("2020-01-01", "2020-01-02")
    assert index.update([("u",)], [dt.date(2020, 1, 2)]).label_counts.tolist() == [2, 2]


def test_k_a_column_wider_than_every_double(tmp_path: Path) -> None:
    """K: bins of numbers whose span is no double have finite edges, and survive saving."""
    table = {"x": [1.7e308, -1.7e308, 0.0, 1e308], "y": list("aabb")}
    for binning in ("uniform", "quantile"):
        index = CountIndex.from_table(table, "y", bins=4, binning=binning)
        assert all(map(math.isfinite, index.schema.features[0].edges))
        index.save(tmp_path / "wide.index")
        assert CountIndex.load(tmp_path / "wide.index") == index


@pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")
@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["1", "nan"], "number", {"1"}),
        (["2020-1-1"], "category", {"2020-1-1"}),
        (["0x10", "1"], "category", {"0x10", "1"}),
        (["1_000", "1"], "category", {"1_000", "1"}),
        (["٣", "1"], "category", {"٣", "1"}),
        (["Infinity", "1"], "category", {"Infinity", "1"}),
        (["inf", "INF", "1"], "number", {"inf", "1"}),
        ([" 5", "5 ", "+5"], "number", {"5"}),
        (["2020-02-30"], "category", {"2020-02-30"}),
        (["2020-01-01T00:00Z"], "date", {"2020-01-01"}),
        (["1e16", "10000000000000000"], "number", {"10000000000000000"}),
    ],
)
@pytest.mark.parametrize("limit", [None, "200MB"], ids=["polars", "duckdb"])
@pytest.mark.parametrize("n_before", [0, 1_500])
def test_k_csv_is_read_by_one_rule(
    tmp_path: Path, cells: list[str], kind: str, values: set[str], limit: str | None, n_before: int
) -> None:
    """K: polars and DuckDB read texts by the same rule, at the start of a file and far down."""
    path = tmp_path / "cells.csv"
    before = "7,a\n" * n_before if kind == "number" else f"{cells[0]},a\n" * n_before
    path.write_text(" x,y\n" + before + "".join(f"{cell},a\n" for cell in cells))
    index = CountIndex.from_table(path, "y", binning="none", memory_limit=limit)
    assert index.schema.features == (
        Feature(" x", kind, index.schema.features[0].values),  # type: ignore[arg-type]
    )
    assert {*counted(index)} - {"7"} == values


def test_k_durations_below_a_microsecond() -> None:
    """K: durations, time stamps and times of day differ by their nanoseconds too."""
    ticks = pl.Series([1, 2, 1000, None, 5])
    for dtype in (pl.Duration("ns"), pl.Datetime("ns"), pl.Time):
        table = pl.DataFrame({"x": ticks.cast(dtype), "y": LABELS})
        index = CountIndex.from_table(table, "y", binning="none")
        assert index.schema.features[0].n_values == 4
        arrow = table.to_arrow()
        assert CountIndex.from_table(arrow, "y", binning="none") == index
    long = np.array([2**60, 2**60 + 1], dtype="m8[ns]")
    assert (
        len(counted(CountIndex.from_table({"x": long, "y": ["a", "b"]}, "y", binning="none"))) == 2
    )
