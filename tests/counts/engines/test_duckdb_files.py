"""Files that are counted where they are, by DuckDB: many, large and broken ones."""

from __future__ import annotations

import re
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from support.odd_tables import odd_table

from nullproof.counts.index import CountIndex
from nullproof.errors import NullproofError

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")


def test_folders_and_patterns_of_files(tmp_path: Path) -> None:
    """Files, CSV or Parquet, are counted by DuckDB as the whole table is in memory."""
    table = odd_table().drop("stamp", "zoned", "single", "odd")
    expected = CountIndex.from_table(table, "label")
    for k in range(4):
        part = table[k * 500 : k * 500 + 500]
        part.write_parquet(tmp_path / f"part{k}.parquet")
        part.write_csv(tmp_path / f"part{k}.csv")
    table.write_csv(tmp_path / "whole.csv")
    assert CountIndex.from_table(tmp_path / "*.parquet", "label") == expected
    pattern = str(tmp_path / "part?.csv")
    one = CountIndex.from_table(tmp_path / "whole.csv", "label")
    assert CountIndex.from_table(pattern, "label") == one
    assert CountIndex.from_table(pattern, "label", like=one) == one
    assert CountIndex.from_table(tmp_path / "whole.csv", "label", memory_limit="200MB") == one
    with pytest.raises(NullproofError, match=r"holds \.csv and \.parquet files; give one kind"):
        CountIndex.from_table(tmp_path, "label")


def test_hive_partitions_are_columns(tmp_path: Path) -> None:
    """A folder of folders like word=a has the column word."""
    table = odd_table(300).select("word", "real", "whole", "label")
    for (word,), part in table.group_by("word"):
        folder = tmp_path / f"word={word}"
        folder.mkdir()
        part.drop("word").write_parquet(folder / "0.parquet")
    assert CountIndex.from_table(tmp_path, "label") == CountIndex.from_table(table, "label")


@pytest.mark.skipif(
    duckdb.__version__.startswith("1."), reason="before DuckDB 2 the groups must fit the limit"
)
def test_files_larger_than_the_memory_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups that do not fit the limit go to disk, and the counts stay the same."""
    # Few but long values: DuckDB must hold them, and we need not sort many.
    limit, numbers = "40MB", np.random.default_rng(0).permutation(120_000) % 80_000
    table = pl.DataFrame({"id": numbers, "label": numbers % 2}).with_columns(
        id=pl.format("{} is " + "a long value " * 60, "id")
    )
    table.write_parquet(
        path := tmp_path / "a.parquet", compression="uncompressed", row_group_size=3000
    )
    assert path.stat().st_size > 40e6
    query = f"SELECT label, id, count(*) FROM '{path}' GROUP BY ALL"
    with (
        duckdb.connect(config={"memory_limit": limit, "temp_directory": ""}) as connection,
        pytest.raises(duckdb.OutOfMemoryException),
    ):
        connection.sql(f"SELECT count(*) FROM ({query})").fetchall()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with watched_size(tmp_path, "nullproof-*/duckdb_temp*") as sizes:
        found = CountIndex.from_table(path, "label", memory_limit=limit, keep="id")
    assert max(sizes) > 1e6
    assert not [*tmp_path.glob("nullproof-*")]
    assert found == CountIndex.from_table(path, "label", keep="id")


@contextmanager
def watched_size(folder: Path, pattern: str) -> Iterator[list[int]]:
    """Note again and again how many bytes the files of a pattern have."""
    sizes, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            with suppress(FileNotFoundError):
                sizes.append(sum(path.stat().st_size for path in folder.glob(pattern)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield sizes
    finally:
        done.set()
        watcher.join()


BROKEN = {
    "at the end": 'x,"yes',
    "at the end of a line": '"x,yes\n',
    "in the middle": '"x,yes\n' + "x,no\n" * 5,
    "after a quoted value": '"x"y,no\n',
    "far from the start": "x,yes\n" * 30_000 + 'x,"no',
}


@pytest.mark.parametrize("rest", BROKEN.values(), ids=BROKEN.keys())
def test_quotes_that_are_never_closed_are_refused(tmp_path: Path, rest: str) -> None:
    """A text file with a broken quote is refused by DuckDB as it is when read in memory."""
    path = tmp_path / "a.csv"
    path.write_text("a,label\n" + "x,yes\ny,no\n" * 20 + rest)
    for limit in (None, "100MB"):
        with pytest.raises(NullproofError, match="quote"):
            CountIndex.from_table(path, "label", memory_limit=limit)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_are_those_of_the_header(tmp_path: Path, separator: str) -> None:
    """Quoted separators, quotes and line ends in values and names are read alike in both ways."""
    header = f'"a{separator};b"{separator}label\n'
    row = f'"x{separator},|\r\n""y"""{separator}no\n'
    path = tmp_path / "a.csv"
    path.write_bytes((header + row * 3 + f"it's{separator}yes\n").encode())
    expected = CountIndex.from_table(path, "label")
    assert expected.n_rows == 4
    assert CountIndex.from_table(path, "label", memory_limit="100MB") == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none*.csv", r"no file fits .*none\*.csv; check the path"),
        ("*.feather", "DuckDB counts CSV, TSV and Parquet files, not .feather"),
        ("empty", "holds no CSV or Parquet files"),
        ("*.csv", "DuckDB cannot count .*csv: .*(fields than the header|Line: 30002)"),
    ],
)
def test_files_that_cannot_be_counted(tmp_path: Path, name: str, message: str) -> None:
    """Wrong patterns, kinds and contents are told in one line."""
    (tmp_path / "a.feather").write_bytes(b"ARROW1")
    (tmp_path / "a.csv").write_text("a,label\n" + "x,yes\n" * 30_000 + "x,y,z\n")
    (tmp_path / "empty").mkdir()
    with pytest.raises(NullproofError, match=message):
        CountIndex.from_table(tmp_path / name, "label")


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("x,x,y\n", "two columns named 'x'"),
        ("y,x,y\n", "two columns named 'y'"),
        ("x,X,y\n", "the columns 'x' and 'X', which DuckDB does not tell apart"),
        (",x,y\n", "a column without a name"),
        ("x,y\n", "the header has 2 fields, its rows have 3"),
        ("A table\nx,z,y\n", "the header has 1 field, its rows have 3"),
    ],
)
def test_headers_that_duckdb_changes_are_refused(head: str, message: str, tmp_path: Path) -> None:
    """DuckDB numbers repeated names, and skips a header that does not fit: a file says what it says."""
    path = tmp_path / "a.csv"
    path.write_text(head + "1,2,p\n3,4,q\n" * 20)
    with pytest.raises(NullproofError, match=re.escape(message)):
        CountIndex.from_table(path, "y", memory_limit="200MB")


def test_columns_that_duckdb_mixes_up_are_refused(tmp_path: Path) -> None:
    """DuckDB calls the second of a and A by another name, and joins x of one file with X of another."""
    both = {"x": [1, 2], "y": ["p", "q"]}
    named = [both, {"X": [3, 4], "y": ["p", "q"]}]
    for k, columns in enumerate(named):
        pl.DataFrame(columns).write_parquet(tmp_path / f"{k}.parquet")
    message = "columns 'x' and 'X', which DuckDB does not tell apart"
    with pytest.raises(NullproofError, match=message):
        CountIndex.from_table(tmp_path, "y")
    for k, columns in enumerate(named):
        pl.DataFrame(columns).write_csv(tmp_path / f"{k}.csv")
    with pytest.raises(NullproofError, match=message):
        CountIndex.from_table(tmp_path / "*.csv", "y")
    path = tmp_path / "0.parquet"
    pl.DataFrame(both | {"X": [3, 4]}).write_parquet(path)
    with pytest.raises(NullproofError, match=message):
        CountIndex.from_table(path, "y", memory_limit="200MB")
    # Names inside of a column, and the name that a file gives the table, are no columns.
    inside = {"z": [{"X": [1], "root": 2}] * 2, "Element": [1, 2], "Schema": ["u", "v"]}
    pl.DataFrame(both | inside).write_parquet(path)
    index = CountIndex.from_table(path, "y", ignore="z", memory_limit="200MB")
    assert {*index.features} == {"x", "Element", "Schema"}


def test_a_name_in_quotes_over_two_lines(tmp_path: Path) -> None:
    """Such a header is DuckDB's own business, as it always was."""
    path = tmp_path / "a.csv"
    path.write_text('"x\nz",y\n' + "1,p\n3,q\n" * 20)
    index = CountIndex.from_table(path, "y", memory_limit="200MB")
    assert index.features == ("x\nz",)


def test_text_files_in_folders_that_are_columns(tmp_path: Path) -> None:
    """A folder like month=01 is a column of the CSV files in it, read as their cells are."""
    for month, cells in (("01", "a,p\nb,q\n"), ("02", "a,q\n")):
        folder = tmp_path / f"month={month}"
        folder.mkdir()
        (folder / "part.csv").write_text("x,y\n" + cells)
    for path in (tmp_path, tmp_path / "**" / "*.csv"):
        index = CountIndex.from_table(path, "y", keep=("month",), binning="none")
        assert {*index.features} == {"x", "month"}
        feature = index.schema.features[index.schema.position["month"]]
        assert feature.values == ("1", "2")
        assert index.label_counts.tolist() == [1, 2]
