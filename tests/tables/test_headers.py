"""The names of columns: repeated, lacking, or no names at all."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from nullproof import CountIndex, NullproofError, NullproofWarning
from nullproof.tables.contents import FileOptions
from nullproof.tables.formats import read_file
from nullproof.tables.headers import looks_like_data


def read(folder: Path, written: str, name: str = "t.csv", header: bool = True) -> pl.DataFrame:
    (folder / name).write_text(written)
    return read_file(folder / name, options=FileOptions(header=header)).frame


@pytest.mark.parametrize("end", ["", "\n"])
def test_columns_without_name_and_cells_are_dropped(end: str, tmp_path: Path) -> None:
    """Separators at the end of every line make no columns."""
    frame = read(tmp_path, f"a;b;y;;\n1;;p;;\n2;u;q;; {end}")
    assert frame.columns == ["a", "b", "y"]
    assert frame["a"].to_list() == [1, 2]


def test_a_blank_name_with_cells_stays(tmp_path: Path) -> None:
    """pandas writes its index under no name; a second such column is refused."""
    assert read(tmp_path, ",a,y,\n0,1,p,\n1,2,q,\n").columns == ["", "a", "y"]
    with pytest.raises(NullproofError, match="has 2 columns with cells but without a name"):
        read(tmp_path, ",a,,\n0,1,p,\n")


def test_repeated_names_are_told(tmp_path: Path) -> None:
    """Which name, how often, and the way out where the first row looks like data."""
    with pytest.raises(
        NullproofError, match=r"has two columns named 'a' \(and 'b' repeated too\);"
    ):
        read(tmp_path, "a,b,a,b\n1,2,3,4\n")
    with pytest.raises(NullproofError, match="has 3 columns named 'a'; give each column its own"):
        read(tmp_path, "a,a,a\n1,2,3\n")
    with pytest.raises(
        NullproofError, match=r"named '0\.2'; .*, or say header=False or --no-header"
    ):
        read(tmp_path, "0.2,0.2,x\n1,2,y\n")


@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
def test_files_without_a_header(name: str, tmp_path: Path) -> None:
    """The columns are c1, c2, …, and the first row is a row, after blank lines and a mark too."""
    written = '\ufeff\n5.1,"Ulm, south",p\n4.9,,q\n'
    frame = read(tmp_path, written.replace(",", "\t") if name == "t.tsv" else written, name, False)
    assert frame.columns == ["c1", "c2", "c3"]
    assert frame["c1"].to_list() == [5.1, 4.9]
    index = CountIndex.from_table(tmp_path / name, "c3", header=False)
    assert (index.n_rows, index.labels) == (2, ("p", "q"))


def test_lines_are_counted_as_they_are_in_the_file(tmp_path: Path) -> None:
    """A row that is too short is named by its own line."""
    with pytest.raises(NullproofError, match="line 3 has 1 field, the first row has 2"):
        read(tmp_path, "1,2\n3,4\n5\n", header=False)


def test_a_first_row_of_numbers_is_pointed_out(tmp_path: Path) -> None:
    """It may be data, and then the file has no header."""
    with pytest.warns(NullproofWarning, match=r"holds numbers \(5.1, 3.5, setosa\).*--no-header"):
        read(tmp_path, "5.1,3.5,setosa\n4.9,3.0,setosa\n")


@pytest.mark.parametrize(
    ("names", "is_data"),
    [
        (["1", "2"], True),
        (["5.1", "x"], True),
        (["a", "2019", "2020"], False),
        (["a", "inf"], False),
        (["a", ""], False),
    ],
)
def test_what_looks_like_data(names: list[str], is_data: bool) -> None:
    """All numbers, or a number with a fraction; years may be names."""
    assert looks_like_data(names) == is_data


@pytest.mark.parametrize("option", [{"header": False}, {"encoding": "utf-8"}, {"sheet": "a"}])
def test_options_of_files_are_refused_elsewhere(option: dict[str, object], tmp_path: Path) -> None:
    """A data frame, a Parquet file and files that DuckDB counts leave no such choice."""
    frame = pl.DataFrame({"a": [1, 2], "y": ["p", "q"]})
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_csv(tmp_path / "t.csv")
    for table, reason in (
        (frame, "but the table is a DataFrame"),
        (frame.lazy(), "but the table is counted where it is"),
        (tmp_path / "t.parquet", "is a Parquet file, which leaves no choice"),
    ):
        with pytest.raises(NullproofError, match=reason):
            CountIndex.from_table(table, "y", **option)  # type: ignore[arg-type]
    with pytest.raises(NullproofError, match="counted where it is"):
        CountIndex.from_table(tmp_path / "t.csv", "y", memory_limit="1GB", **option)  # type: ignore[arg-type]
