"""The laws of ``test_ways`` for engines that have to be started: Dask, Spark, Postgres."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import nasty_tables, refusals
from support.checking import (
    MORE,
    SEED,
    Options,
    carried,
    none_of,
    point_problems,
    problems,
    round_trip_problems,
)
from support.engine_ways import dask_ways, postgres_way, spark_way
from support.engines import QUIET, postgres_server, spark_session
from support.ways import TYPED_WAYS, Way

pytestmark = [
    *QUIET,
    pytest.mark.xdist_group("ways of engines"),
    pytest.mark.skipif(
        MORE < 1, reason="takes minutes; NULLPROOF_WAYS_TABLES=20000 ./check runs it"
    ),
]
POLARS = next(way for way in TYPED_WAYS if way.name == "polars")
# So many types at once that a few tables show all of them.
N_COLUMNS = 25


@pytest.fixture(
    scope="module", params=["Dask NumPy", "Dask Arrow", "Dask read_parquet", "Spark", "Postgres"]
)
def way(request: pytest.FixtureRequest) -> Iterator[Way]:
    """Start an engine, and give the way through it."""
    if request.param == "Spark":
        with spark_session() as session:
            yield spark_way(session)
    elif request.param == "Postgres":
        with postgres_server() as connection:
            yield postgres_way(connection)
    else:
        dask = pytest.importorskip("dask", reason="Dask is not installed")
        with dask.config.set(scheduler="synchronous"):
            yield next(made for made in dask_ways() if made.name == request.param)


def test_all_cells_of_all_types(way: Way, tmp_path: Path) -> None:
    """Each type with all of its nasty cells, with and without holes, has the true counts."""
    found: list[str] = []
    for options in (Options(), Options(bins=3, missing=("?", "-9"))):
        table = nasty_tables.whole_table(random.Random(SEED), holes=options.bins is None)
        found += problems(way, carried(way, table), options, tmp_path)
    none_of(found)


def test_cuts_of_all_types(way: Way, tmp_path: Path) -> None:
    """Columns that the label follows are cut between the same two cells, however near these are."""
    table = nasty_tables.cut_table(nasty_tables.whole_table(random.Random(SEED), holes=True), 0.35)
    options = Options(binning="mdl")
    none_of(problems(way, carried(way, table), options, tmp_path))


def test_columns_without_a_known_cell(way: Way, tmp_path: Path) -> None:
    """Columns of holes are left out; those whose type declares values have these for a domain."""
    table = nasty_tables.empty_table(random.Random(SEED))
    none_of(problems(way, carried(way, table), Options(), tmp_path))


def test_random_tables(way: Way, tmp_path: Path) -> None:
    """Wide tables, labels of any type, in parts that may be empty; as points, and like another."""
    found: list[str] = []
    for number in range(max(1, round(way.n_tables * MORE))):
        seed = f"{SEED}-wide-{number}"
        rng = random.Random(seed)
        table = nasty_tables.typed_table(rng, rng.sample(nasty_tables.STORED, N_COLUMNS))
        options = Options.drawn(rng)
        wrong = [
            *problems(way, carried(way, table), options, tmp_path),
            *point_problems(way, table, options, tmp_path),
            *round_trip_problems(POLARS, way, table, options, tmp_path),
        ]
        found += [f"seed {seed}: {problem}" for problem in wrong]
    none_of(found)


def test_labels_with_holes_are_refused(way: Way, tmp_path: Path) -> None:
    """A label is never missing: not None, not NaN, not a named spelling."""
    found: list[str] = []
    for table, options in refusals.labels_with_holes():
        found += problems(way, carried(way, table), options, tmp_path)
    none_of(found)
