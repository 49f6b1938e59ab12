"""What means missing: spellings that are usual, in doubt or named; and rows without a label."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from support.checking import Options, none_of, wrong_counts
from support.index_view import UNSEEN, counts, kind, quietly, read, saved_and_loaded, values
from support.plain_counter import Column, Table

from nullproof import CountIndex, NullproofError, NullproofWarning, poison, witness
from nullproof.cleaning import Cleaner

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")


# The rule -----------------------------------------------------------------------------------------

TEXTS = ("u", "v", "1", "2", "2020-01-01", "true", "False", "-", " none", "?", "", "gone", "Gone")


def small_columns(n_texts: int, with_null: bool) -> Table:
    """Each combination of so many texts is a column."""
    n_rows = n_texts + with_null
    columns = [
        Column(f"c{number}", "text", (*texts, *([None] * with_null)), "string")
        for number, texts in enumerate(itertools.combinations(TEXTS, n_texts))
    ]
    labels = Column("y", "text", tuple("pq"[k % 2] for k in range(n_rows)), "string")
    return Table(tuple(columns), labels)


@pytest.mark.parametrize("with_null", [False, True])
@pytest.mark.parametrize("n_texts", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "options", [Options(), Options(missing=("gone", "1")), Options(missing=("-",), only=True)]
)
def test_every_small_column(n_texts: int, with_null: bool, options: Options) -> None:
    """Columns of up to three texts are read as the page says, in any order and library, and as points."""
    table = small_columns(n_texts, with_null)
    cells: dict[str, Any] = {column.name: [*column.cells] for column in table.columns}
    frame = pl.DataFrame({**cells, "y": table.label.cells, "filler": "x"})
    index = CountIndex.from_table(frame, "y", **options.given(table))
    none_of(wrong_counts(index, table, options))
    assert CountIndex.from_table(frame.to_pandas(), "y", **options.given(table)) == index
    assert CountIndex.from_table(frame, "y", like=index) == index
    if n_texts < 3:
        assert CountIndex.from_table(frame.reverse(), "y", **options.given(table)) == index
        assert CountIndex.from_table(frame.lazy(), "y", **options.given(table)) == index
    found = read(index, frame)
    for name in index.features:
        n_missing = [cell is None for cell in found[name]].count(True)
        assert n_missing == sum(counts(index, name)[None]), name
        assert {cell for cell in found[name] if cell is not None} == {*values(index, name)}


# Options ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("only", [("gone",), (), "gone"])
def test_missing_only_replaces_the_usual_spellings(only: Any, tmp_path: Path) -> None:
    """With missing_only texts are missing where they are named; nulls always, and empty cells of files."""
    n_missing = 1 + ("gone" in only)
    cells = ["NA", "?", "none", "gone", None, ""]
    table = {"a": cells, "y": [*"pqpqpq"]}
    assert CountIndex.from_table(table, "y", missing_only=only).n_missing == n_missing
    path = tmp_path / "t.csv"
    lines = [f"{cell or ''},{y}" for cell, y in zip(cells, "pqpqpq", strict=True)]
    path.write_text("\n".join(["a,y", *lines]))
    for limit in (None, "200MB"):
        index = CountIndex.from_table(path, "y", missing_only=only, memory_limit=limit)
        assert index.n_missing == n_missing + 1
        loaded = saved_and_loaded(index, tmp_path)
        assert CountIndex.from_table(path, "y", like=loaded) == index


def every_way(columns: dict[str, Any], folder: Path) -> dict[str, tuple[Any, dict[str, Any]]]:
    """The same table by each cheap way, with the options that the way needs."""
    path = folder / "table.csv"
    pl.DataFrame(columns).write_csv(path)
    return {
        "mapping": (columns, {}),
        "polars": (pl.DataFrame(columns), {}),
        "lazy": (pl.LazyFrame(columns), {}),
        "pyarrow": (pa.table(columns), {}),
        "duckdb": (duckdb.from_arrow(pa.table(columns)), {}),
        "csv": (path, {}),
        "csv by duckdb": (path, {"memory_limit": "200MB"}),
    }


DAYS = [dt.date(2020, 1, 1), dt.date(9999, 12, 31), dt.date(2021, 1, 1)]
STAMPS = [dt.datetime(2020, 1, 1, 5), dt.datetime(1900, 1, 1), dt.datetime(2021, 1, 1)]
B = 2**53
# Cells of which the second is missing once it is named, and ways to name it.
NAMED: list[tuple[list[Any], tuple[str, ...]]] = [
    (DAYS, ("9999-12-31",)),
    (STAMPS, ("1900-01-01", " 1900-01-01T01:00+01:00")),
    ([1, -999, 2], ("-999", "-999.0", " -999", "-9.99e2")),
    ([1.5, -999.0, 2.5], ("-999",)),
    ([B - 1, B, 5], (f"{B}", f"+{B}")),
    ([B, B + 1, 5], (f"{B + 1}", f"+{B + 1}")),
    ([2**63 - 2, 2**63 - 1, 5], (f"{2**63 - 1}",)),
]


@pytest.mark.parametrize(
    ("number", "cells", "named"),
    [(k, *one) for k, one in enumerate((cells, n) for cells, names in NAMED for n in names)],
)
def test_named_values_are_missing(
    number: int, cells: list[Any], named: str, tmp_path: Path
) -> None:
    """A value that stands for missing is a hole on every way, and no edge of a bin follows from it."""
    options: dict[str, Any] = {
        "weights": "equal",
        "binning": ("none", "uniform", "mdl")[number % 3],
    }
    labels = ["p", "q", "q"]
    plain = pl.DataFrame({"x": [cells[0], None, cells[2]], "y": labels})
    expected = CountIndex.from_table(plain, "y", **options)
    for name, (table, more) in every_way({"x": cells, "y": labels}, tmp_path).items():
        index = CountIndex.from_table(table, "y", missing=(named,), **options, **more)
        assert index == expected, name
        assert CountIndex.from_table(table, "y", like=index, **more) == index, name
        for points in ([(cells[1],), (cells[0],)], pl.DataFrame({"x": cells[1::-1]})):
            found = read(index, points)["x"]
            assert [cell is None for cell in found] == [True, False], name


def test_named_values_of_other_types() -> None:
    """A name fits numbers of any type and texts of them in points, and labels."""
    index = CountIndex.from_table(
        {"a": [1, 2, -999, 3] * 5, "y": [*"pqpq"] * 5}, "y", missing=(-999,), binning="none"
    )
    for cell in (-999, -999.0, "-999", " -999.00 "):
        assert read(index, [(cell,)]) == read(index, [(None,)])
    rows: list[Any] = [(1,), ({1, -999},), (-999,), (2,)]
    assert CountIndex.from_rows(rows, "ppqq", missing=("-999",)).n_null.tolist() == [[1, 1]]
    table = pl.DataFrame({"x": [True, None, False], "y": [*"pqq"]})
    for way in (table, table.lazy(), table.to_pandas().convert_dtypes()):
        flags = CountIndex.from_table(way, "y", missing="true")
        assert counts(flags) == {"false": [0, 1], None: [1, 1]}
        assert read(flags, table)["x"] == [None, None, "false"]
        dropped = CountIndex.from_table(way, "x", missing="true", unlabelled="drop")
        assert [str(label).lower() for label in dropped.labels] == ["false"]


@pytest.mark.parametrize("limit", [None, "200MB"])
def test_declared_spellings_are_values(limit: str | None, tmp_path: Path) -> None:
    """What domains declares is a value to the letter, in frames and files; labels are as ever."""
    exact = CountIndex.from_table(
        {"a": ["u", "?", " ?", "none"], "y": [*"ppqq"]}, "y", domains={"a": ["?", "v"]}
    )
    assert (values(exact), exact.n_missing) == (("?", "none", "u", "v"), 1)
    columns = {"x": ["NA", "b", "NA"], "n": ["1", "NA", "2"], "y": [*"pqq"]}
    path = tmp_path / "t.csv"
    pl.DataFrame(columns).write_csv(path)
    options: dict[str, Any] = {"domains": {"x": iter(["NA", "c"])}, "memory_limit": limit}
    index = CountIndex.from_table(path, "y", binning="none", **options)
    assert counts(index) == {"NA": [1, 1], "b": [0, 1], "c": [0, 0], None: [0, 0]}
    assert counts(index, "n") == {"1": [1, 0], "2": [0, 1], None: [0, 1]}
    assert CountIndex.from_table(path, "y", like=index, memory_limit=limit) == index
    assert read(index, path) == {"x": ["NA", "b", "NA"], "n": ["1", None, "2"]}
    named = CountIndex.from_table(path, "y", domains={"x": ["NA", "c"]}, missing=("NA",))
    assert counts(named)[None] == [1, 1]
    pl.DataFrame({"x": ["NA", "b", "c"], "y": ["p", "q", "NA"]}).write_csv(path)
    with pytest.raises(NullproofError, match="1 missing label"):
        CountIndex.from_table(path, "y", domains={"x": ["NA"]}, memory_limit=limit)


def test_candidates_are_values() -> None:
    """What a set names as a candidate is a value, and so is the same text as a cell."""
    index = CountIndex.from_rows([({"none", "u"},), ("none",), ("v",), ("w",)], "ppqq")
    assert values(index) == ("none", "u", "v", "w")
    assert index.n_missing == 1
    named = CountIndex.from_rows([({"none", "u"},), ("v",)], "pq", missing="none")
    assert named.n_null.tolist() == [[1, 0]]


# What a column is once its holes are found --------------------------------------------------------


@pytest.mark.parametrize(("spelling", "named"), [("??", "??"), (" ?? ", (" ??", "??", "-"))])
def test_a_numeric_column_is_numeric_again(spelling: str, named: Any, tmp_path: Path) -> None:
    """Once the spelling of missing is named, what remains decides what the column is."""
    cells = {
        "a": ["1", spelling, "3"],
        "b": ["true", spelling, "False"],
        "c": ["2020-01-01", spelling, "2021-01-01"],
        "y": ["p", "q", "q"],
    }
    pl.DataFrame(cells).write_csv(tmp_path / "t.csv")
    index = CountIndex.from_table(tmp_path / "t.csv", "y", missing=named)
    assert [kind(index, name) for name in "abc"] == ["number", "boolean", "datetime"]
    assert index.n_null.tolist() == [[0, 1]] * 3
    for frame in (pd.DataFrame(cells), pl.DataFrame(cells), pa.table(cells)):
        assert CountIndex.from_table(frame, "y", missing=named) == index
    objects = pd.DataFrame({name: pd.Series(c, dtype=object) for name, c in cells.items()})
    assert CountIndex.from_table(objects, "y", missing=named) == index


# What was decided stays ---------------------------------------------------------------------------


def test_points_follow_the_domain() -> None:
    """In points a usual spelling is a value if the domain holds it to the letter, else it is missing."""
    kept = CountIndex.from_rows([("u",), ("v",), ("-",), (None,)], "ppqq")
    lost = CountIndex.from_rows([("u",), ("v",), ("-",), ("u",)], "ppqq")
    points = [("-",), (" -",), ("none",), ("?",), ("w",)]
    for form in (points, pl.DataFrame({"x0": [cell for (cell,) in points]}), np.array(points)):
        assert read(kept, form)["x0"] == ["-", None, None, None, UNSEEN]
        assert read(lost, form)["x0"] == [None, None, None, None, UNSEEN]


def test_further_tables_follow_the_domain(tmp_path: Path) -> None:
    """A chunk counted like an index reads spellings as that index does, whatever the chunk shows."""
    first = CountIndex.from_table({"a": ["01", "x", "-", None], "y": list("ppqq")}, "y")
    assert values(first) == ("01", "-", "x")
    chunk = {"a": ["-", "01", "?"], "y": list("pqq")}
    more = CountIndex.from_table(chunk, "y", like=first)
    assert counts(more) == {"01": [0, 1], "-": [1, 0], "x": [0, 0], None: [0, 1]}
    for table, options in every_way(chunk, tmp_path).values():
        assert CountIndex.from_table(table, "y", like=first, **options) == more


# Labels -------------------------------------------------------------------------------------------


def test_labels_given_apart_are_labels() -> None:
    """? is a hole among labels of a table, and a label where labels are given apart."""
    with pytest.raises(NullproofError, match="the label column 'y' has 1 missing label"):
        CountIndex.from_table({"a": ["u", "v", "u"], "y": ["-", "+", "?"]}, "y")
    assert CountIndex.from_rows([("u",), ("v",)], ["?", "NA"]).labels == ("?", "NA")


LABELS: dict[str, tuple[list[Any], tuple[str, ...]]] = {
    "text": (["a", None, "b", " ? ", "a"], ("?",)),
    "integers": ([1, None, 2, -9, 1], ("-9",)),
    "doubles": ([1.5, float("nan"), 2.0, None, 1.5], ()),
    "booleans": ([True, None, False, None, True], ()),
    "dates": ([DAYS[0], None, DAYS[2], DAYS[1], DAYS[0]], ("9999-12-31",)),
}


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("binning", ["mdl", "uniform", "none"])
def test_rows_without_a_label_have_no_say(name: str, binning: Any, tmp_path: Path) -> None:
    """Null, NaN and named spellings are no labels: the index is that of the table without their rows."""
    labels, missing = LABELS[name]
    columns = {"x": ["u", "new", None, "none", "v"], "n": [1, 9000, 2, 7, None]}
    frame = pl.DataFrame({**columns, "y": labels})
    options: dict[str, Any] = {"missing": missing, "binning": binning}
    expected = CountIndex.from_table(frame[[0, 2, 4]], "y", **options)
    ways = {
        **every_way(frame.to_dict(as_series=False), tmp_path),
        "pandas": (frame.to_pandas(), {}),
    }
    for way, (table, more) in ways.items():
        if "csv" in way and name in ("doubles", "booleans"):
            continue
        with pytest.warns(NullproofWarning, match="left out 2 rows without a label.*3 are left"):
            found = CountIndex.from_table(table, "y", unlabelled="drop", **options, **more)
        assert (found == expected) or ("csv" in way and name != "text"), way
        assert found.n_rows == 3
        assert found.n_missing == expected.n_missing
    assert CountIndex.from_table(frame[[0, 2, 4]], "y", unlabelled="drop", **options) == expected
    said = r"'y' has 2 missing labels \(rows 1, 3.*unlabelled=\"drop\", --drop-unlabelled"
    with pytest.raises(NullproofError, match=said):
        CountIndex.from_table(frame, "y", **options)
    empty = frame[[1]] if labels[1] is None else frame[[1, 3]]
    for table in (empty, empty.lazy()):
        with pytest.raises(NullproofError, match=r"row.* has a label in column 'y'"):
            CountIndex.from_table(table, "y", unlabelled="drop", **options)


ROWS: list[tuple[Any, ...]] = [
    ("31", "Ulm", "no"),
    ("99", "Rome", None),
    (None, "Bonn", "no"),
    ("50", None, "yes"),
    (None, None, None),
    ("64", "Bonn", "yes"),
    ("33", "Ulm", "no"),
    ("77", "Bonn", None),
    ("61", "Ulm", "yes"),
]
PLACES = [i for i, row in enumerate(ROWS) if row[-1] is not None]


def written(path: Path, rows: list[tuple[Any, ...]]) -> Path:
    lines = [["age", "town", "churn"], *([cell or "" for cell in row] for row in rows)]
    path.write_text("\n".join(map(",".join, lines)) + "\n")
    return path


def test_what_is_done_later_leaves_rows_without_a_label_alone(tmp_path: Path) -> None:
    """Attacks, worlds and worksheets name rows as the file has them, and change none without a label."""
    path = written(tmp_path / "all.csv", ROWS)
    kept = written(tmp_path / "kept.csv", [ROWS[place] for place in PLACES])
    index = quietly(path, "churn", binning="uniform", bins=2, unlabelled="drop")
    attack = poison(index, [(33, "Ulm")], alpha=1)
    cells = attack.cells(path)
    assert cells == [(PLACES[row], column) for row, column in attack.cells(kept)]
    assert len(cells) == attack.n_cells > 0
    poisoned = attack.apply(path)
    assert poisoned[PLACES].rows() == attack.apply(kept).rows()
    assert poisoned["churn"].null_count() == 3
    for world in witness(index, (None, "Ulm"), own_missing="any"):
        whole = world.complete(path)
        assert [[*map(str, row)] for row in whole[PLACES].rows()] == [
            [*map(str, row)] for row in world.complete(kept).rows()
        ]
        assert whole["age"].null_count() == 1
    cleaner = Cleaner(index, [(31, "Ulm")], path, alpha=1)
    with pytest.raises(NullproofError, match="row 4, which has no label and was left out"):
        cleaner.fill({(4, "age"): "40"})
    cleaner.fill({(2, "age"): "40", (3, "town"): "Ulm"})
    assert cleaner.index.n_missing == 0
    filled = cleaner.complete()
    assert (filled["age"][2], filled["town"][3]) == (40, "Ulm")
    wrong = [(row[0], "Oslo", row[2]) if i == 6 else row for i, row in enumerate(ROWS)]
    with pytest.raises(NullproofError, match="column 'town' holds a value in row 6 that is not"):
        quietly(written(tmp_path / "n.csv", wrong), "churn", like=index, unlabelled="drop")


# NaN in Parquet files ------------------------------------------------------------------------------

# DuckDB 2.0 believes a file's statistics where they leave NaN out, Spark skips pages that files of polars 1
# call empty: either would make counts wrong without a sign. Our queries avoid both.
NAN_FILES = Path(__file__).parent / "support" / "nan"
ENGINES: dict[str, Callable[[str], Any]] = {
    "polars": pl.scan_parquet,
    "duckdb": lambda path: duckdb.connect().read_parquet(path),
    "folder": lambda path: path,
    "dask": lambda path: pytest.importorskip("dask.dataframe").read_parquet(path),
    "ibis": lambda path: pytest.importorskip("ibis").duckdb.connect().read_parquet(path),
}
# Libraries that take seconds to load.
DEAR_ENGINES = ("dask", "ibis")


@pytest.mark.parametrize(
    "engine",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in DEAR_ENGINES)) for name in ENGINES],
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
    path = str(NAN_FILES / f"{name}.parquet")
    frame = pl.read_parquet(path).select(column, label)
    assert frame[column].is_nan().sum() + frame[column].null_count() == n_missing
    ignore = [other for other in pl.read_parquet_schema(path) if other not in (column, label)]
    options: dict[str, Any] = {"memory_limit": "200MB"} if engine == "folder" else {}
    table = ENGINES[engine](path)
    index = CountIndex.from_table(table, label, ignore=ignore, binning=binning, **options)
    assert index.n_missing == n_missing
    assert index == CountIndex.from_table(frame, label, binning=binning)
