"""Any table in: the same data from every library, spellings of missing, candidates, bad tables."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from nullproof import CountIndex, NullproofError
from nullproof.tables.kinds import column_of_cells
from nullproof.tables.readers import open_rows, open_table

DATA: dict[str, list[Any]] = {
    "whole": [1, 2, None, 4, 10, 4],
    "real": [1.5, None, 2.5, -3.0, 0.25, 1.5],
    "word": ["u", "v", None, "w", "u", "u"],
    "flag": [True, None, False, True, True, False],
    "day": [
        dt.date(2020, 1, 1),
        None,
        dt.date(2021, 5, 5),
        dt.date(2020, 7, 7),
        dt.date(2022, 1, 1),
        dt.date(1969, 7, 20),
    ],
    "moment": [
        dt.datetime(2020, 1, 1, 3),
        None,
        dt.datetime(2021, 5, 5),
        dt.datetime(2020, 7, 7, 1, 2, 3, 456789),
        dt.datetime(2022, 1, 1),
        dt.datetime(1969, 7, 20, 20, 17, 40),
    ],
    "y": ["p", "q", "p", "q", "q", "p"],
}
POLARS = pl.DataFrame(DATA)
PANDAS = pd.DataFrame(DATA)
ARROW = pa.table(DATA)


def features_of(table: Any, **options: Any) -> dict[str, Any]:
    index = CountIndex.from_table(table, "y", **options)
    return {feature.name: feature for feature in index.schema.features}


def objects(missing: Any) -> pd.DataFrame:
    """Build a pandas frame of object columns with one way to write missing."""
    return pd.DataFrame(
        {
            name: pd.Series([missing if c is None else c for c in cells], dtype=object)
            for name, cells in DATA.items()
        }
    )


def arrow_with(**columns: pa.Array) -> pa.Table:
    return pa.table({**DATA, **columns})


SAME: dict[str, Callable[[], Any]] = {
    "mapping": lambda: DATA,
    "mapping of arrays": lambda: {
        **DATA,
        "real": PANDAS.real.to_numpy(),
        "moment": PANDAS.moment.to_numpy().astype("datetime64[ns]"),
    },
    "pandas": lambda: PANDAS,
    "pandas, nullable": PANDAS.convert_dtypes,
    "pandas, Arrow": lambda: POLARS.to_pandas(use_pyarrow_extension_array=True),
    "pandas, None": lambda: objects(None),
    "pandas, NA": lambda: objects(pd.NA),
    "pandas, NaN": lambda: objects(float("nan")),
    "pandas, NaT": lambda: objects(pd.NaT),
    "pandas, categorical": lambda: PANDAS.astype({"word": "category"}),
    "pandas, other index": lambda: PANDAS.set_index(pd.Index([9, 9, 2, 1, 0, 5])),
    "pandas, zone": lambda: PANDAS.assign(
        moment=PANDAS.moment.dt.tz_localize("UTC").dt.tz_convert("Asia/Kolkata")
    ),
    "pandas, seconds and nanoseconds": lambda: PANDAS.assign(
        day=pd.to_datetime(PANDAS.day).astype("datetime64[s]"),
        moment=PANDAS.moment.astype("datetime64[ns]"),
    ),
    "polars": lambda: POLARS,
    "polars, lazy": POLARS.lazy,
    "polars, chunks": lambda: pl.concat([POLARS[:2], POLARS[2:]], rechunk=False),
    "polars, categorical": lambda: POLARS.cast({"word": pl.Categorical}),
    "polars, narrow": lambda: POLARS.cast({"whole": pl.Int8, "real": pl.Float32}),
    "polars, wide": lambda: POLARS.cast({"whole": pl.Int128, "real": pl.Decimal(10, 3)}),
    "polars, nanoseconds": lambda: POLARS.cast({"moment": pl.Datetime("ns")}),
    "polars, zone": lambda: POLARS.with_columns(
        pl.col("moment").dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Kolkata")
    ),
    "pyarrow": lambda: ARROW,
    "pyarrow, chunks": lambda: pa.concat_tables([ARROW.slice(0, 2), ARROW.slice(2)]),
    "pyarrow, dictionary": lambda: arrow_with(word=pa.array(DATA["word"]).dictionary_encode()),
    "pyarrow, dictionaries": lambda: arrow_with(
        word=pa.chunked_array(
            [pa.array(part).dictionary_encode() for part in (DATA["word"][:2], DATA["word"][2:])]
        )
    ),
    "pyarrow, small dictionary": lambda: arrow_with(
        word=pa.array(DATA["word"]).cast(pa.dictionary(pa.uint8(), pa.string()))
    ),
    "pyarrow, large text": lambda: arrow_with(word=pa.array(DATA["word"], pa.large_string())),
    "pyarrow, milliseconds": lambda: arrow_with(day=pa.array(DATA["day"]).cast(pa.timestamp("ms"))),
    "pyarrow, decimal": lambda: arrow_with(real=pa.array(DATA["real"]).cast(pa.decimal128(10, 3))),
    "DuckDB": lambda: duckdb.from_arrow(ARROW),
    "DuckDB, query": lambda: duckdb.from_arrow(ARROW).order("real").project("word, * exclude word"),
}


@pytest.mark.parametrize("form", SAME)
def test_every_library_gives_the_same_index(form: str) -> None:
    """The same data gives the same index whatever library and column types hold it."""
    assert CountIndex.from_table(SAME[form](), "y") == CountIndex.from_table(POLARS, "y")


@pytest.mark.parametrize(
    "options", [{}, {"binning": "none"}, {"binning": "quantile"}, {"binning": "uniform"}]
)
def test_files_give_the_same_index_as_frames(options: dict[str, Any], tmp_path: Path) -> None:
    """Text and Parquet files of a frame give its index, however numbers and dates are binned."""
    expected = CountIndex.from_table(POLARS, "y", **options)
    for name, write in {
        "polars.csv": POLARS.write_csv,
        "polars.parquet": POLARS.write_parquet,
        "pandas.csv": lambda path: PANDAS.to_csv(path, index=False),
        "pandas.parquet": PANDAS.to_parquet,
    }.items():
        write(tmp_path / name)
        assert CountIndex.from_table(tmp_path / name, "y", **options) == expected, name


@pytest.mark.parametrize("zone", ["Z", "+00:00", "+0000", "+05:30", "+02"])
def test_time_stamps_with_zones_in_text(zone: str, tmp_path: Path) -> None:
    """A time stamp with a zone is the same moment in a text file as in a frame."""
    moments = [dt.datetime.fromisoformat(f"2020-0{m}-01T10:00:00.5{zone}") for m in range(1, 8)]
    path = tmp_path / "t.csv"
    written = "\n".join(f"2020-0{m}-01T10:00:00.5{zone},p" for m in range(1, 8))
    path.write_text(f"when,y\n{written}\n")
    frame = {"when": moments, "y": ["p"] * 7}
    assert CountIndex.from_table(path, "y") == CountIndex.from_table(frame, "y")


def test_times_and_durations() -> None:
    """Times of day are categories and durations numbers, in every library."""
    frame = POLARS.select(
        pl.col("moment").dt.time().alias("time"),
        (pl.col("moment") - pl.col("moment").min()).alias("span"),
        "y",
    )
    found = features_of(frame)
    assert found["time"].kind == "category"
    assert found["time"].values[:2] == ("00:00:00", "01:02:03.456789")
    assert found["span"].kind == "number"
    expected = CountIndex.from_table(frame, "y")
    assert CountIndex.from_table(frame.to_arrow(), "y") == expected
    spans = pd.DataFrame({"span": PANDAS.moment - PANDAS.moment.min(), "y": PANDAS.y})
    assert features_of(spans)["span"] == found["span"]


def test_numbers_without_a_float_type() -> None:
    """Decimal numbers in plain cells are numbers, and their NaN is missing."""
    cells = [decimal.Decimal("1.50"), decimal.Decimal(3), decimal.Decimal("NaN"), 2]
    column = column_of_cells("a", cells)
    assert column.kind == "number"
    assert column.numbers is not None
    np.testing.assert_equal(column.numbers, [1.5, 3.0, np.nan, 2.0])
    assert CountIndex.from_rows([(cells[0],), ("x",)], "ab").schema.features[0].values == (
        "1.5",
        "x",
    )


# Candidates ---------------------------------------------------------------------------------------

LISTS: dict[str, Callable[[list[Any]], Any]] = {
    "polars": lambda cells: pl.Series("a", cells).to_frame(),
    "pyarrow": lambda cells: pa.table({"a": cells}),
    "pandas": lambda cells: pd.DataFrame({"a": pd.Series(cells, dtype=object)}),
    "pandas, sets": lambda cells: pd.DataFrame({"a": [c and frozenset(c) for c in cells]}),
    "pandas, arrays": lambda cells: pd.DataFrame({"a": [c and np.array(c) for c in cells]}),
    "pandas, Arrow": lambda cells: pd.DataFrame(
        {"a": pd.Series(cells, dtype=pd.ArrowDtype(pa.array(cells).type))}
    ),
    "DuckDB": lambda cells: duckdb.from_arrow(pa.table({"a": cells})).pl(),
    "mapping": lambda cells: {"a": cells},
}


@pytest.mark.parametrize("library", LISTS)
@pytest.mark.parametrize(
    "cells",
    [
        [["u"], ["u", "v"], None, ["w", "u"], ["w"]],
        [[1], [1, 9], None, [3, 9], [4]],
        [[dt.date(2020, 1, d) for d in c] or None for c in ([1], [1, 9], [], [3, 9], [4])],
    ],
)
def test_lists_are_candidate_sets(library: str, cells: list[Any]) -> None:
    """A list-typed column holds candidate sets, in every library."""
    column = open_table(LISTS[library](cells)).column("a")
    plain = column_of_cells("a", [c if c is None or len(c) > 1 else c[0] for c in cells])
    assert column.kind == plain.kind
    assert [*column.sets] == [1, 3]
    assert {r: {*s} for r, s in column.sets.items()} == {r: {*s} for r, s in plain.sets.items()}
    assert column.known.tolist() == [True, False, False, False, True]


def test_an_unknown_candidate_means_any_value() -> None:
    """Null or a spelling of missing among the candidates leaves nothing known of the cell."""
    frame = pl.DataFrame({"a": [["u"], ["u", None], ["u", " ? "], ["v"]], "y": list("ppqq")})
    index = CountIndex.from_table(frame, "y", missing=("?",))
    assert index.n_null.tolist() == [[1, 1]]
    assert index.sets == ({},)


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ([], "row 1: the set of candidates is empty"),
        ([["u"]], "row 1: a candidate is itself a list"),
    ],
)
def test_bad_candidates(cell: Any, reason: str) -> None:
    """An empty set has no world, and a candidate is one plain value."""
    with pytest.raises(NullproofError, match=reason):
        CountIndex.from_table({"a": ["u", cell], "y": [0, 1]}, "y")


# Tables that are none -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (None, "NoneType is not a table; give a data frame"),
        (3, "int is not a table"),
        ([(1, "p")], "list is not a table"),
        (POLARS["whole"], "Series is not a table"),
        (PANDAS["whole"], "Series is not a table"),
        (np.zeros(3), "the array has 1 dimensions; give two"),
        ({"a": [1], "y": [1, 2]}, "the columns differ in length"),
        ({}, "there is no column 'y' in the table; it has no columns"),
        (pl.DataFrame(), "it has no columns"),
        ({"x": [1], "yy": [1]}, r"no column 'y' in the table; did you mean 'yy'\?"),
        ({"much": [1], "other": [1]}, "no column 'y' in the table; it has 'much', 'other'"),
        ({"y": [1]}, "no column besides the label"),
        (POLARS.head(0), "the table has no rows"),
        (PANDAS.head(0), "the table has no rows"),
        (POLARS.with_columns(z=pl.lit(b"")), "column 'z' has type Binary, which cannot be counted"),
        (POLARS.with_columns(z=pl.struct("real")), "column 'z' has type Struct"),
        (pd.DataFrame([[1, 2, 3]], columns=["a", "a", "y"]), "a column name twice .'a' 2 times"),
        (pa.table([[1], [2], [3]], names=["a", "a", "y"]), "a column name twice .'a' 2 times"),
        (pd.DataFrame([[1, 2, 3]], columns=[1, "1", "y"]), "a column name twice"),
        ({"a": [None], "y": ["p"]}, "no column holds any known value"),
    ],
)
def test_what_is_no_table_is_refused(table: Any, reason: str) -> None:
    """What cannot be counted is refused with what came, what was needed and what to do."""
    with pytest.raises(NullproofError, match=reason):
        CountIndex.from_table(table, "y")


def test_columns_that_are_numbered() -> None:
    """pandas numbers the columns of an array; they are named by those numbers."""
    index = CountIndex.from_table(pd.DataFrame([[1, "u", "p"], [2, "v", "q"]]), "2")
    assert index.features == ("0", "1")
    assert CountIndex.from_table({0: [1, 2], 1: ["u", "v"], 2: ["p", "q"]}, "2") == index
    with pytest.raises(NullproofError, match=r"no column 2 in the table; did you mean '2'\?"):
        CountIndex.from_table(pd.DataFrame([[1, 2, 3]]), 2)  # type: ignore[arg-type]


def test_arrays_are_tables() -> None:
    """Columns of an array are read by what they hold."""
    numbers = open_table(np.array([[1.0, np.nan]]))
    assert numbers.names == ("x0", "x1")
    assert numbers.column("x1").known.tolist() == [False]
    texts = open_table(np.array([["u", "v"]]))
    assert texts.column("x0").kind == "category"
    days = open_table(np.array([["2020-01-01", "NaT"]], dtype="datetime64[ns]"))
    assert days.column("x0").kind == "date"
    assert not days.column("x1").known.any()


def test_columns_that_are_codes_already() -> None:
    """Categories of pandas are codes, under any name; texts, and columns of other tables, are not."""
    frame = pd.DataFrame({"a": ["x", "y"], "b": [1, 2], "c": ["x", "y"]}).astype({"c": "category"})
    table = open_table(frame)
    assert table.coded == {"c"}
    assert table.renamed(["k", "l", "m"]).coded == {"m"}
    assert table.frame is not None
    assert table.frame.to_native() is frame
    for other in (pl.from_pandas(frame), frame[["b"]].to_numpy(), {"a": [1, 2]}):
        assert open_table(other).coded == frozenset()


def test_columns_under_other_names() -> None:
    """A renamed table has the same columns in the same order."""
    table = open_table({"a": [1], "b": ["u"]}).renamed(("p", "q"))
    assert table.names == ("p", "q")
    assert table.column("q").values == ("u",)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (("u",), "row 1 has 1 values but there are 2 features"),
        ({"a": 1}, "row 1 has no value for 'b'"),
        ("uv", "row 1 is 'uv'; give a tuple"),
        (7, "row 1 is 7; give a tuple"),
    ],
)
def test_rows_of_the_wrong_form(row: Any, reason: str) -> None:
    """A row has one value per feature."""
    with pytest.raises(NullproofError, match=reason):
        open_rows([("u", "v"), row], ["a", "b"])


@pytest.mark.parametrize(
    "dtype",
    [
        *("int8", "uint16", "int64", "uint64", "float32", "float64", ">i8", "float16"),
        *("Int64", "Float64", "int64[pyarrow]"),
    ],
)
def test_numbers_of_every_type_of_pandas(dtype: str) -> None:
    """Whichever type a column of pandas has, its numbers are those given."""
    frame = pd.DataFrame({"a": pd.Series([3, 1, 4, 1, 5, 9]).astype(dtype)})
    column = open_table(frame).column("a")
    assert column.kind == "number"
    assert column.numbers is not None
    assert column.numbers.tolist() == [3, 1, 4, 1, 5, 9]


@pytest.mark.parametrize("n_rows", [6, 600, 6_000])
@pytest.mark.parametrize(
    "dtype",
    [
        *("str", "string[python]", "string[pyarrow]", "object", "category"),
        pd.ArrowDtype(pa.string()),
        pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string())),
    ],
)
def test_texts_of_every_type_of_pandas(dtype: Any, n_rows: int) -> None:
    """Whichever type a column of pandas has, and however long it is, its texts are those given."""
    cells: list[Any] = ["v", None, "w", "u", "v", "v"] * (n_rows // 6)
    column = open_table(pd.DataFrame({"a": pd.Series(cells, dtype=dtype)})).column("a")
    assert column.kind == "category"
    assert column.codes is not None
    values = [*column.values, None]
    assert [values[code] for code in column.codes.tolist()] == cells
    assert [*column.declared] == (["u", "v", "w"] if dtype == "category" else [])
