"""Laws of counting where the data is: every engine gives the index that the table in memory gives."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import polars as pl
import pytest
from support.engines import (
    QUIET,
    dask_cluster,
    dask_table,
    postgres_server,
    postgres_table,
    spark_connect,
    spark_session,
    spark_table,
)
from support.odd_tables import crowded_numbers, many_numbers, odd_table

from nullproof.attacks.locate import locate_cells
from nullproof.counts.engines import counting, dealing
from nullproof.counts.engines.guards import PROBES
from nullproof.counts.index import CountIndex
from nullproof.counts.revise import Cells
from nullproof.errors import NullproofError, NullproofWarning

pytestmark = [*QUIET, pytest.mark.xdist_group("engines")]
ENGINES = ("polars", "duckdb", "ibis", "spark", "dask", "postgres")
ALL_OF_DASK = os.environ.get("NULLPROOF_ENGINES") == "all"
Put = Callable[[pl.DataFrame], Any]


@pytest.fixture(scope="module", params=ENGINES)
def put(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Put]:
    """Give a function that takes a table to an engine."""
    if request.param == "polars":
        yield pl.DataFrame.lazy
    elif request.param == "duckdb":
        connection = duckdb.connect()
        yield lambda frame: connection.from_arrow(frame.to_arrow())
    elif request.param == "ibis":
        ibis = pytest.importorskip("ibis", reason="ibis is not installed")
        yield lambda frame: ibis.memtable(frame.to_arrow())
    elif request.param == "spark":
        with spark_session() as session:
            folder = tmp_path_factory.mktemp("spark")
            yield lambda frame: spark_table(session, frame, folder)
    elif request.param == "dask":
        with dask_cluster():
            yield dask_table
    else:
        with postgres_server() as connection:
            yield lambda frame: postgres_table(connection, frame)


OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "spellings of missing": {"missing": ("-999", "?", "null")},
    "every value a category": {"binning": "none", "ignore": ["stamp", "zoned"]},
    "quantiles": {"binning": "quantile", "bins": 4, "missing": ("?",)},
    "cut where the label changes": {"binning": "mdl", "missing": ("?",)},
    "each its own": {"binning": {"real": "mdl", "whole": "none", "*": "quantile"}},
    "declared": {
        "domains": {"whole": [1, 2, 200], "odd": ["z"], "empty": ["5"]},
        "bins": 3,
        "binning": "uniform",
    },
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_every_engine_gives_the_same_index(
    put: Put, options: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    """Counts, domains, bins and labels are those of the table in memory, bit for bit."""
    if "dask" in request.node.name and not ALL_OF_DASK and "binning" in options:
        pytest.skip("takes a minute through Dask; NULLPROOF_ENGINES=all ./check runs it")
    table = odd_table()
    if options:
        table = table.drop("many", "word", "flag", "day", "constant", "single")
    expected = CountIndex.from_table(table, "label", **options)
    found = CountIndex.from_table(put(table), "label", **options)
    assert found.schema == expected.schema
    assert found == expected


@pytest.mark.parametrize(
    ("labels", "missing", "binning"),
    [
        (["a", None, "b", " ? ", "a", "b"], ("?",), "mdl"),
        ([1, None, 2, -9, 1, 2], ("-9",), "uniform"),
        ([1.5, float("nan"), 2.0, None, 1.5, 2.0], (), "mdl"),
        ([True, None, False, None, True, False], (), "uniform"),
    ],
)
def test_every_engine_drops_the_rows_without_a_label(
    put: Put, labels: list[Any], missing: tuple[str, ...], binning: str
) -> None:
    """Whatever they hold, it has no say: the index is that of the table without them."""
    columns = {"x": ["u", "new", None, "w", "v", "u"], "n": [1, 9000, 2, 7, None, 3]}
    table = pl.DataFrame({**columns, "label": labels})
    options: dict[str, Any] = {"missing": missing, "binning": binning}
    expected = CountIndex.from_table(table[[0, 2, 4, 5]], "label", **options)
    found = CountIndex.from_table(put(table), "label", unlabelled="drop", **options)
    assert found == expected


def test_spark_is_kept_from_skipping_pages_with_nan() -> None:
    """Files of polars 1 call pages with NaN empty, and Spark's filters of their columns skip them."""
    path = PROBES / "pages.parquet"
    table = pl.read_parquet(path)
    with spark_session() as session:
        lazy = session.read.parquet(str(path))
        assert len(lazy.filter("real < 1e9").collect()) == 0  # else this file proves nothing
        for how in ("uniform", "mdl"):
            options: dict[str, Any] = {"binning": how, "ignore": ["id"]}
            expected = CountIndex.from_table(table, "label", **options)
            assert CountIndex.from_table(lazy, "label", **options) == expected
        wanted = [
            Cells(i, j, (code,), int(expected.exact(j)[code, i]))
            for i, j in product((0, 1), (0, 1))
            for code in range(expected.n_values[j])
        ]
        found = locate_cells(expected.schema, wanted, lazy, key="id")
    assert len({*found}) == sum(cells.n_cells for cells in wanted)


@pytest.mark.parametrize("binning", ["mdl", "quantile"])
def test_more_numbers_than_are_fetched(put: Put, binning: Any) -> None:
    """Thousands of numbers, some of them often: cut between the same cells as in memory."""
    table = many_numbers()
    expected = CountIndex.from_table(table, "label", binning=binning)
    assert min(len(feature.edges) for feature in expected.schema.features) > 2
    found = CountIndex.from_table(put(table), "label", binning=binning)
    assert found.schema == expected.schema
    assert found == expected


@pytest.mark.filterwarnings("ignore:Sending large graph")
def test_cells_are_counted_in_the_engine(
    put: Put, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """So many rows that cells are dealt there, crowded ones again: the same bins and counts."""
    if "dask" in request.node.name and not ALL_OF_DASK:
        pytest.skip("takes half a minute through Dask; NULLPROOF_ENGINES=all ./check runs it")
    for module in (counting, dealing):
        monkeypatch.setattr(module, "FEW_ROWS", 2**13)
    table = crowded_numbers(10_000)
    expected = CountIndex.from_table(table, "label", binning="mdl")
    assert min(len(feature.edges) for feature in expected.schema.features) > 3
    found = CountIndex.from_table(put(table), "label", binning="mdl")
    assert found.schema == expected.schema
    assert found == expected


def test_labels_with_holes_have_no_edges(put: Put) -> None:
    """The holes of a label column are told with their number, before anything is cut by it."""
    table = many_numbers().with_columns(label=pl.when(pl.col("real") < 3).then("label"))
    with pytest.raises(NullproofError, match=r"the label column 'label' has [0-9,]+ holes"):
        CountIndex.from_table(put(table), "label", binning="mdl")


def test_few_dates_stay_categories(put: Put) -> None:
    """Dates and time stamps without bins are written as they are in memory."""
    table = odd_table(200).with_columns(
        pl.col("stamp").dt.truncate("365d"), zoned=pl.col("zoned").dt.truncate("365d")
    )
    table = table.select("stamp", "day", "zoned", "label")
    expected = CountIndex.from_table(table, "label", binning="none")
    assert CountIndex.from_table(put(table), "label", binning="none") == expected


def test_a_second_part_is_counted_like_the_first(put: Put) -> None:
    """With like the second part has the bins and domains of the first, and the parts add up."""
    table = odd_table(1000).select("word", "real", "whole", "flag", "day", "zoned", "label")
    whole = CountIndex.from_table(table, "label")
    first, second = put(table[:400]), table[400:]
    parts = CountIndex.from_table(first, "label", like=whole)
    parts += CountIndex.from_table(put(second), "label", like=whole)
    assert parts == whole


def test_a_value_outside_the_domain_is_refused(put: Put) -> None:
    """What the given index does not know is told: values and labels."""
    table = odd_table(100).select("word", "whole", "label")
    index = CountIndex.from_table(table, "label")
    other = table.with_columns(word=pl.lit("new"))
    with pytest.raises(NullproofError, match="'word' holds a value that is not in its domain"):
        CountIndex.from_table(put(other), "label", like=index)
    with pytest.raises(NullproofError, match="the label column holds 'new'"):
        CountIndex.from_table(put(table.with_columns(label=pl.lit("new"))), "label", like=index)


def test_labels_of_every_type(put: Put) -> None:
    """Labels may be numbers, booleans, or texts, and keep their type."""
    rows = odd_table(300).select(whole=pl.col("whole").fill_null(0) % 3, word="word")
    rows = rows.with_columns(flag=pl.col("whole") == 1, real=pl.col("whole") / 2)
    for label in ("whole", "flag", "real"):
        table = rows.select("word", label)
        expected = CountIndex.from_table(table, label)
        found = CountIndex.from_table(put(table), label)
        assert found == expected
        assert [*map(type, found.labels)] == [*map(type, expected.labels)]


def test_holes_among_labels_are_refused(put: Put) -> None:
    """A label is never missing."""
    table = pl.DataFrame({"a": ["x", "y", "x"], "label": ["yes", None, "no"]})
    with pytest.raises(NullproofError, match="'label' has 1 hole; fill"):
        CountIndex.from_table(put(table), "label")


def test_wrong_names_are_told(put: Put) -> None:
    """A misspelt label lists close names."""
    table = put(pl.DataFrame({"a": ["x", "y"], "label": ["yes", "no"]}))
    with pytest.raises(
        NullproofError, match="no column 'lable' in the table; did you mean 'label'"
    ):
        CountIndex.from_table(table, "lable")


@pytest.mark.parametrize(
    "cells",
    [
        [["x"], ["y", "z"]],
        [{"b": 1}, {"b": 2}],
        [dt.timedelta(1), dt.timedelta(2)],
        [b"\x00", b"\xff"],
    ],
    ids=["list", "struct", "duration", "binary"],
)
def test_types_that_cannot_be_counted_are_named(put: Put, cells: list[Any]) -> None:
    """Lists and the like are refused with the name of the column; without it the rest is counted."""
    table = pl.DataFrame({"a b": cells, "c": ["x", "y"], "label": ["yes", "no"]})
    lazy = put(table)
    message = r"column 'a b' has type .+, which cannot be counted in \w+; cast .* or .* with ignore"
    with pytest.raises(NullproofError, match=message):
        CountIndex.from_table(lazy, "label")
    found = CountIndex.from_table(lazy, "label", ignore=["a b"])
    assert found == CountIndex.from_table(table, "label", ignore=["a b"])


def test_oddities_are_told(put: Put) -> None:
    """Columns without values and suspicious values are told of as for tables in memory."""
    table = odd_table(500).select("code", "odd", "empty", "label")
    with pytest.warns(NullproofWarning) as expected:
        CountIndex.from_table(table, "label")
    lazy = put(table)
    with pytest.warns(NullproofWarning) as found:
        CountIndex.from_table(lazy, "label")
    kept = [w for w in found if w.category is NullproofWarning]
    assert sorted(str(w.message) for w in kept) == sorted(str(w.message) for w in expected)


def test_cells_of_an_attack_are_located(put: Put) -> None:
    """The cells fit: as many rows as asked for, each with the label and the value."""
    table = odd_table(300).select("word", "whole", "real", "flag", "day", "label")
    table = table.with_row_index("id").with_columns(pl.col("id").cast(pl.Int64))
    index = CountIndex.from_table(table, "label", ignore=["id"], binning="uniform")
    wanted = [
        Cells(i, j, (code,), int(min(3, index.exact(j)[code, i])))
        for i, j, code in [(0, 0, 1), (1, 1, 4), (2, 2, 0), (0, 3, 1), (1, 4, 2), (1, 0, 0)]
    ]
    found = locate_cells(index.schema, wanted, put(table), key="id")
    assert len(found) == len({*found}) == sum(cells.n_cells for cells in wanted)
    blanked = table.with_columns(
        pl.when(pl.col("id").is_in([row for row, name in found if name == column]))
        .then(None)
        .otherwise(pl.col(column))
        .alias(column)
        for column in index.features
    )
    assert CountIndex.from_table(blanked, "label", like=index) == index.blanked(wanted)


def test_cells_that_are_not_there_are_told(put: Put) -> None:
    """A table with too few cells, and a key that repeats, are refused."""
    table = pl.DataFrame({"a": ["x", "y", "x"], "id": [1, 2, 1], "label": ["yes", "yes", "yes"]})
    schema = CountIndex.from_table(table, "label", ignore=["id"]).schema
    for cells, key in (([Cells(0, 0, (1,), 2)], "id"), ([Cells(0, 0, (0,), 2)], "id")):
        with pytest.raises(NullproofError, match=r"has 1 rows with '[xy]' in column 'a'"):
            locate_cells(schema, cells, put(table), key=key)
    with pytest.raises(NullproofError, match="no column 'ID'"):
        locate_cells(schema, [Cells(0, 0, (0,), 1)], put(table), key="ID")


def test_spark_connect_frames_are_counted_alike(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """What holds of a Spark session holds of a remote one."""
    with spark_connect() as session:

        def put(frame: pl.DataFrame) -> Any:
            table = spark_table(session, frame, tmp_path)
            assert nw.from_native(table).implementation.is_pyspark_connect()
            return table

        test_every_engine_gives_the_same_index(put, {}, request)
        test_types_that_cannot_be_counted_are_named(put, [["x"], ["y", "z"]])
        test_cells_of_an_attack_are_located(put)


def test_rows_of_polars_have_positions() -> None:
    """A lazy frame of polars needs no key; others do; ordinary tables are told where to go."""
    table = pl.DataFrame({"a": ["x", "y", "x"], "label": ["yes", "yes", "yes"]})
    schema = CountIndex.from_table(table, "label").schema
    assert locate_cells(schema, [Cells(0, 0, (0,), 2)], table.lazy()) == [(0, "a"), (2, "a")]
    assert locate_cells(schema, [], table.lazy()) == []
    with pytest.raises(NullproofError, match="name a column that tells them apart: key="):
        locate_cells(schema, [Cells(0, 0, (0,), 2)], duckdb.from_arrow(table.to_arrow()))
    with pytest.raises(NullproofError, match=r"use attack\.cells"):
        locate_cells(schema, [], table)
