"""Counting where the data is: every engine gives the index of the table in memory, or one sentence.

Engines are started once per session. ``NULLPROOF_ENGINES=all`` sends what takes long through Dask and
Spark too; ``NULLPROOF_MORE=25`` sends many nasty tables through all of them, not one.
"""

from __future__ import annotations

import datetime as dt
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from support import nasty_tables
from support.amounts import seeded
from support.checking import (
    MORE,
    Options,
    carried,
    labels_with_holes,
    none_of,
    point_problems,
    problems,
    round_trip_problems,
)
from support.engine_ways import dask_ways, postgres_way, spark_way
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
from support.index_view import edges, quietly, read, values
from support.odd_tables import crowded_numbers, many_numbers, odd_table
from support.ways import TYPED_WAYS, Way

from nullproof import CountIndex, NullproofError, NullproofWarning, poison

pytestmark = [*QUIET, pytest.mark.xdist_group("engines")]
ALL_ENGINES = os.environ.get("NULLPROOF_ENGINES") == "all"
Put = Callable[[pl.DataFrame], Any]


def counted(*source: Any, **options: Any) -> CountIndex:
    """Count a table with equal weights, as lazy ones have them, unless it is counted like another one."""
    if "like" not in options:
        options.setdefault("weights", "equal")
    return CountIndex.from_table(*source, **options)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    with spark_session() as session:
        yield session


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    with postgres_server() as connection:
        yield connection


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    with dask_cluster() as client:
        yield client


@pytest.fixture(scope="session", params=["polars", "duckdb", "ibis", "dask", "postgres", "spark"])
def put(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Put:
    """Give a function that takes a table to an engine."""
    if request.param == "polars":
        return pl.DataFrame.lazy
    if request.param == "duckdb":
        connection = duckdb.connect()
        return lambda frame: connection.from_arrow(frame.to_arrow())
    if request.param == "ibis":
        ibis = pytest.importorskip("ibis", reason="ibis is not installed")
        return lambda frame: ibis.memtable(frame.to_arrow())
    if request.param == "spark":
        session, folder = request.getfixturevalue("spark"), tmp_path_factory.mktemp("spark")
        return lambda frame: spark_table(session, frame, folder)
    if request.param == "dask":
        request.getfixturevalue("cluster")
        return dask_table
    connection = request.getfixturevalue("postgres")
    return lambda frame: postgres_table(connection, frame)


def is_slow(request: pytest.FixtureRequest) -> bool:
    """Whether an engine takes seconds for what others do at once."""
    return not ALL_ENGINES and any(name in request.node.name for name in ("dask", "spark"))


# The same index -----------------------------------------------------------------------------------

OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "spellings of missing": {"missing": ("-999", "?", "null")},
    "every value a category": {"binning": "none", "ignore": ["stamp", "zoned"]},
    "quantiles": {"binning": "quantile", "bins": 4, "missing": ("?",)},
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
    """Counts, domains, bins and labels are those of the table in memory."""
    if is_slow(request) and options:
        pytest.skip("takes long; NULLPROOF_ENGINES=all runs it")
    table = odd_table(600 if options or not is_slow(request) else 150)
    if options:
        table = table.drop("many", "word", "flag", "day", "constant", "single")
    expected = counted(table, "label", **options)
    found = counted(put(table), "label", **options)
    assert found == expected
    assert found.features == expected.features


@pytest.mark.parametrize("binning", ["mdl", "quantile"])
def test_more_numbers_than_are_fetched(
    put: Put, binning: Any, request: pytest.FixtureRequest
) -> None:
    """Thousands of numbers, some of them often: cut between the same cells as in memory."""
    if is_slow(request):
        pytest.skip("takes long; NULLPROOF_ENGINES=all runs it")
    table = many_numbers(3000)
    expected = counted(table, "label", binning=binning)
    assert min(len(edges(expected, name)) for name in expected.features) > 2
    assert counted(put(table), "label", binning=binning) == expected


@pytest.mark.parametrize("binning", ["mdl", "uniform"])
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_so_many_rows_that_the_engine_makes_the_bins(engine: str, binning: Any) -> None:
    """Numbers that are dealt into cells by the engine, and again where they crowd, have the same bins."""
    table = crowded_numbers()
    expected = counted(table, "label", binning=binning)
    lazy = table.lazy() if engine == "polars" else duckdb.from_arrow(table.to_arrow())
    assert counted(lazy, "label", binning=binning) == expected
    assert counted(lazy, "label", like=expected) == expected


@pytest.mark.parametrize(
    ("labels", "missing", "binning"),
    [
        (["a", None, "b", " ? ", "a", "b"], ("?",), "mdl"),
        ([1.5, float("nan"), 2.0, None, 1.5, 2.0], (), "uniform"),
    ],
)
def test_rows_without_a_label_are_dropped(
    put: Put, labels: list[Any], missing: tuple[str, ...], binning: str
) -> None:
    """Whatever they hold, it has no say: the index is that of the table without them."""
    columns = {"x": ["u", "new", None, "w", "v", "u"], "n": [1, 9000, 2, 7, None, 3]}
    table = pl.DataFrame({**columns, "label": labels})
    options: dict[str, Any] = {"missing": missing, "binning": binning}
    expected = counted(table[[0, 2, 4, 5]], "label", **options)
    lazy = put(table)
    assert counted(lazy, "label", unlabelled="drop", **options) == expected
    with pytest.raises(NullproofError, match="'label' has 2 missing labels"):
        counted(lazy, "label", **options)


def test_few_dates_stay_categories(put: Put) -> None:
    """Dates and time stamps without bins are written as they are in memory."""
    table = odd_table(200).with_columns(
        pl.col("stamp").dt.truncate("365d"), zoned=pl.col("zoned").dt.truncate("365d")
    )
    table = table.select("stamp", "day", "zoned", "label")
    expected = counted(table, "label", binning="none")
    assert counted(put(table), "label", binning="none") == expected


def test_a_second_part_is_counted_like_the_first(put: Put) -> None:
    """With like the second part has the bins and domains of the first, and the parts add up."""
    table = odd_table(400).select("word", "real", "whole", "flag", "day", "zoned", "label")
    whole = counted(table, "label")
    parts = counted(put(table[:150]), "label", like=whole)
    parts += counted(put(table[150:]), "label", like=whole)
    assert parts == whole
    other = table.with_columns(word=pl.lit("new"))
    with pytest.raises(NullproofError, match="'word' holds a value that is not in its domain"):
        counted(put(other), "label", like=whole)
    with pytest.raises(NullproofError, match="the label column holds 'new'"):
        counted(put(table.with_columns(label=pl.lit("new"))), "label", like=whole)


def test_labels_of_every_type(put: Put) -> None:
    """Labels may be numbers or booleans, and keep their type; a misspelt label lists close names."""
    rows = odd_table(60).select(whole=pl.col("whole").fill_null(0) % 3, word="word")
    rows = rows.with_columns(flag=pl.col("whole") == 1, real=pl.col("whole") / 2)
    for label in ("whole", "flag", "real"):
        table = rows.select("word", label)
        expected = counted(table, label)
        found = counted(put(table), label)
        assert found == expected
        assert [*map(type, found.labels)] == [*map(type, expected.labels)]
    with pytest.raises(NullproofError, match="no column 'rael' in the table; did you mean 'real'"):
        counted(put(table), "rael")


@pytest.mark.parametrize("cells", [[["x"], ["y", "z"]], [b"\x00", b"\xff"]], ids=["list", "binary"])
def test_types_that_cannot_be_counted_are_named(put: Put, cells: list[Any]) -> None:
    """Lists and the like are refused with the name of the column; without it the rest is counted."""
    table = pl.DataFrame({"a b": cells, "c": ["x", "y"], "label": ["yes", "no"]})
    lazy = put(table)
    message = r"column 'a b' has type .+, which cannot be counted in \w+; cast .* or .* with ignore"
    with pytest.raises(NullproofError, match=message):
        counted(lazy, "label")
    found = counted(lazy, "label", ignore=["a b"])
    assert found == counted(table, "label", ignore=["a b"])


def test_oddities_are_told(put: Put) -> None:
    """Columns without values and suspicious values are told of as for tables in memory."""
    table = odd_table(300).select("code", "odd", "empty", "label")
    with pytest.warns(NullproofWarning) as expected:
        counted(table, "label")
    lazy = put(table)
    with pytest.warns(NullproofWarning) as found:
        counted(lazy, "label")
    kept = [w for w in found if w.category is NullproofWarning]
    assert sorted(str(w.message) for w in kept) == sorted(str(w.message) for w in expected)


def test_cells_of_an_attack_are_located(put: Put, request: pytest.FixtureRequest) -> None:
    """An attack names as many cells as it needs, and without them the table is what it worked out."""
    table = odd_table(120).select("word", "whole", "flag", "label").with_row_index("id")
    table = table.with_columns(pl.col("id").cast(pl.Int64))
    index = counted(table, "label", ignore=["id"], binning="uniform")
    attack = poison(index, table.drop("id", "label")[:1], alpha=1, steps=1)
    found = attack.locate(put(table), key="id")
    assert len(found) == len({*found}) == attack.n_cells
    blanked = table.with_columns(
        pl.when(pl.col("id").is_in([row for row, name in found if name == column]))
        .then(None)
        .otherwise(pl.col(column))
        .alias(column)
        for column in index.features
    )
    assert counted(blanked, "label", like=index) == attack.index_after
    if "duckdb" in request.node.name:
        with pytest.raises(NullproofError, match="key="):
            attack.locate(put(table))
    with pytest.raises(NullproofError, match="no column 'ID'"):
        attack.locate(put(table), key="ID")


# Nasty tables -------------------------------------------------------------------------------------


@pytest.fixture(scope="session", params=["Dask NumPy", "Dask Arrow", "Spark", "Postgres"])
def way(request: pytest.FixtureRequest) -> Iterator[Way]:
    """Give the way through an engine."""
    if request.param == "Spark":
        yield spark_way(request.getfixturevalue("spark"))
    elif request.param == "Postgres":
        yield postgres_way(request.getfixturevalue("postgres"))
    else:
        dask = pytest.importorskip("dask", reason="Dask is not installed")
        with dask.config.set(scheduler="synchronous"):
            yield next(made for made in dask_ways() if made.name == request.param)


def test_a_nasty_table(way: Way, tmp_path: Path) -> None:
    """Values of many types that are hard to tell apart are counted as by the plain counter."""
    rng = random_of("one")
    stored = rng.sample(nasty_tables.STORED, 14)
    table = carried(way, nasty_tables.typed_table(rng, stored, n_rows=24))
    none_of(problems(way, table, Options(missing=("?", "-9"), keep=True), tmp_path))


@pytest.mark.skipif(MORE < 1, reason="takes minutes; NULLPROOF_MORE=25 runs it")
def test_nasty_tables(way: Way, tmp_path: Path) -> None:
    """All types with all of their nasty cells, cut and not, in parts, as points and like another."""
    whole = nasty_tables.whole_table(random_of("whole"), holes=True)
    found = [
        *problems(way, carried(way, whole), Options(), tmp_path),
        *problems(way, carried(way, whole), Options(bins=3, missing=("?", "-9")), tmp_path),
        *problems(
            way, carried(way, nasty_tables.cut_table(whole, 0.35)), Options(binning="mdl"), tmp_path
        ),
    ]
    for table, options in labels_with_holes():
        found += problems(way, carried(way, table), options, tmp_path)
    polars = next(other for other in TYPED_WAYS if other.name == "polars")
    for number in range(way.n_tables):
        rng = random_of(f"wide-{number}")
        table = nasty_tables.typed_table(rng, rng.sample(nasty_tables.STORED, 20))
        options = Options.drawn(rng)
        found += problems(way, carried(way, table), options, tmp_path)
        found += point_problems(way, table, options, tmp_path)
        found += round_trip_problems(polars, way, table, options, tmp_path)
    none_of(found)


def random_of(name: str) -> random.Random:
    return seeded(name)


# Each engine's own ways to fail -------------------------------------------------------------------

FRAME = {"a": ["x", None, "z"] * 20, "n": [*range(60)], "label": ["p", "q", "q"] * 20}


def test_postgres_dies() -> None:
    """A server that ends the connection in the middle of a query is one sentence, and no index."""
    with postgres_server() as connection:
        name = postgres_table(connection, pl.DataFrame(FRAME)).get_name()
        dying = f"SELECT * FROM {name} WHERE n < 50 OR pg_terminate_backend(pg_backend_pid())"
        connection.raw_sql(f"CREATE VIEW dying AS {dying}").close()
        view = connection.table("dying")
        for _ in range(2):
            with pytest.raises(NullproofError, match="the connection may be lost") as refused:
                counted(view, "label")
            assert "\n" not in str(refused.value)


@pytest.mark.skipif(not ALL_ENGINES, reason="starts a second Spark; NULLPROOF_ENGINES=all runs it")
def test_spark_connect_frames_are_counted_alike(tmp_path: Path) -> None:
    """What holds of a Spark session holds of a remote one."""
    table = odd_table(200)
    with spark_connect() as session:
        found = counted(spark_table(session, table, tmp_path), "label")
    assert found == counted(table, "label")


# Files that DuckDB counts -------------------------------------------------------------------------


def test_folders_and_patterns_of_files(tmp_path: Path) -> None:
    """Files, CSV or Parquet, are counted by DuckDB as the whole table is in memory."""
    table = odd_table(800).drop("stamp", "zoned", "single", "odd")
    expected = counted(table, "label")
    for k in range(4):
        part = table[k * 200 : k * 200 + 200]
        part.write_parquet(tmp_path / f"part{k}.parquet")
        part.write_csv(tmp_path / f"part{k}.csv")
    table.write_csv(tmp_path / "whole.csv")
    assert counted(tmp_path / "*.parquet", "label") == expected
    pattern = str(tmp_path / "part?.csv")
    one = counted(tmp_path / "whole.csv", "label")
    assert counted(pattern, "label") == one
    assert counted(pattern, "label", like=one) == one
    assert counted(tmp_path / "whole.csv", "label", memory_limit="200MB") == one
    with pytest.raises(NullproofError, match=r"has \.csv and \.parquet; give one kind"):
        counted(tmp_path, "label")


def test_folders_that_are_columns(tmp_path: Path) -> None:
    """A folder of folders like word=a has the column word; month=01 is read as a cell is."""
    table = odd_table(300).select("word", "real", "whole", "label")
    for (word,), part in table.group_by("word"):
        folder = tmp_path / "parquet" / f"word={word}"
        folder.mkdir(parents=True)
        part.drop("word").write_parquet(folder / "0.parquet")
    found = counted(tmp_path / "parquet", "label")
    assert found == counted(table, "label")
    for month, cells in (("01", "a,p\nb,q\n"), ("02", "a,q\n")):
        folder = tmp_path / "csv" / f"month={month}"
        folder.mkdir(parents=True)
        (folder / "part.csv").write_text("x,y\n" + cells)
    for path in (tmp_path / "csv", tmp_path / "csv" / "**" / "*.csv"):
        index = counted(path, "y", keep=("month",), binning="none")
        assert values(index, "month") == ("1", "2")
        assert index.label_counts.tolist() == [1, 2]


# Text files, and what is said of them where DuckDB reads them.
BROKEN: dict[str, tuple[str, str]] = {
    **{
        f"quote {name}": ("x,y\n" + "u,p\nv,q\n" * 20 + rest, "quote")
        for name, rest in {
            "at the end": 'u,"p',
            "at the end of a line": '"u,p\n',
            "after a quoted value": '"u"v,q\n',
            "far from the start": "u,p\n" * 30_000 + 'u,"q',
        }.items()
    },
    # DuckDB numbers repeated names, and skips a header that does not fit.
    **{
        f"header {head}": (
            f"{head}\n" + "1,2,p\n3,4,q\n" * 20,
            "DuckDB reads the header .* give each",
        )
        for head in ("x,x,y", "x,X,y", ",x,y", "x,y", "A table\nx,z,y")
    },
    "ragged": ("x,y\n" + "u,p\n" * 30_000 + "u,p,z\n", "(fields than the header|Line: 30002)"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_text_files_that_are_refused(tmp_path: Path, name: str) -> None:
    """A broken quote, a header that DuckDB changes and a ragged row are refused, and not mended."""
    path = tmp_path / "a.csv"
    content, said = BROKEN[name]
    path.write_text(content)
    for limit in ("200MB", None) if said == "quote" else ("200MB",):
        with pytest.raises(NullproofError, match=said):
            counted(path, "y", memory_limit=limit)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none*.csv", r"no CSV or Parquet file matches .*none\*.csv; check the path"),
        ("*.feather", "DuckDB counts files of one kind, CSV, TSV or Parquet, and .* has .feather"),
        ("empty", "no CSV or Parquet file matches"),
    ],
)
def test_files_that_cannot_be_counted(tmp_path: Path, name: str, message: str) -> None:
    """Wrong patterns and kinds are told in one line."""
    (tmp_path / "a.feather").write_bytes(b"ARROW1")
    (tmp_path / "empty").mkdir()
    with pytest.raises(NullproofError, match=message):
        counted(tmp_path / name, "label")


def test_columns_that_duckdb_mixes_up_are_refused(tmp_path: Path) -> None:
    """DuckDB joins x of one file with X of another."""
    for k, name in enumerate(("x", "X")):
        pl.DataFrame({name: [1, 2], "y": ["p", "q"]}).write_parquet(tmp_path / f"{k}.parquet")
    with pytest.raises(NullproofError, match=r"DuckDB reads the header 'X, y' .* as 'x, y'"):
        counted(tmp_path, "y")


def test_points_of_engines(put: Put) -> None:
    """Points that are in an engine are read as those in memory."""
    table = odd_table(60).select("word", "whole", "flag", "day", "label")
    index = quietly(table, "label", binning="none")
    points = table.select("word", "whole", "flag", "day").sort(pl.all())[:9]
    found, expected = read(index, put(points)), read(index, points)
    names = [*found]
    assert sorted(map(str, zip(*(found[name] for name in names), strict=True))) == sorted(
        map(str, zip(*(expected[name] for name in names), strict=True))
    )


def test_values_that_are_lost_on_the_way_are_refused() -> None:
    """DuckDB's time 24:00:00 does not come through, and must not become a hole."""
    table = duckdb.sql(
        "SELECT x::TIME x, y FROM (VALUES ('24:00:00', 'p'), ('08:00:00', 'q')) t(x, y)"
    )
    with pytest.raises(NullproofError, match="'x' holds a value that cannot be transferred"):
        counted(table, "y")
    fine = duckdb.sql("SELECT TIME '08:00:00' x, 'p' y UNION ALL SELECT NULL, 'q'")
    assert values(counted(fine, "y")) == (str(dt.time(8)),)
