"""Excel files: the cells that a person sees are the table, and a bad file is one sentence."""

from __future__ import annotations

import datetime as dt
import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.workbooks import Rows, with_part, workbook

from nullproof import CountIndex, NullproofError, NullproofWarning, certify
from nullproof.tables.contents import FileOptions
from nullproof.tables.formats import read_file

DAY = dt.date(2024, 2, 28)
ROWS: Rows = [
    ["age", "town", "since", "paid", "mixed", "y"],
    [31, "Ulm", DAY, True, 1, "a"],
    [None, "Bonn", None, False, "x", "b"],
    [50.5, None, DAY, None, 2.5, "a"],
]
SHEET = "xl/worksheets/sheet1.xml"


def read(folder: Path, written: bytes, *, as_text: Any = (), **options: Any) -> pl.DataFrame:
    # Told by its content: the name says nothing.
    path = folder / "book.data"
    path.write_bytes(written)
    return read_file(path, as_text=as_text, options=FileOptions(**options)).frame


def refused(folder: Path, written: bytes, reason: str, **options: Any) -> None:
    with pytest.raises(NullproofError, match=reason) as caught:
        read(folder, written, **options)
    assert "\n" not in str(caught.value)


def test_cells_of_every_kind(tmp_path: Path) -> None:
    """Numbers, texts, days and truth values keep their kinds; a column of several kinds is text."""
    frame = read(tmp_path, workbook(ROWS))
    assert frame.columns == ROWS[0]
    midnight = dt.datetime(2024, 2, 28)
    assert frame.rows() == [
        (31.0, "Ulm", midnight, True, "1", "a"),
        (None, "Bonn", None, False, "x", "b"),
        (50.5, None, midnight, None, "2.5", "a"),
    ]


HALF_PAST = dt.time(10, 30)
STAMP = dt.datetime(2020, 1, 1, 10, 30)


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        ([True, 1, 2], ["true", "1", "2"]),
        ([False, 0.5, None], ["false", "0.5", None]),
        ([True, DAY, False], ["true", "2024-02-28", "false"]),
        ([1, DAY, STAMP], ["1", "2024-02-28", "2020-01-01 10:30:00"]),
        (["x", DAY, "2024-02-28 00:00:00"], ["x", "2024-02-28", "2024-02-28 00:00:00"]),
        (["x", 1e-10, 2e-10], ["x", "1e-10", "2e-10"]),
        (["x", 1 / 3, "0.333333333"], ["x", "0.3333333333333333", "0.333333333"]),
        (["x", 2.0**60, "true"], ["x", str(2**60), "true"]),
        ([HALF_PAST, None, dt.time(0)], ["10:30:00", None, "00:00:00"]),
        ([HALF_PAST, DAY, True], ["10:30:00", "2024-02-28", "true"]),
        ([HALF_PAST, "x", "1899-12-31 10:30:00"], ["10:30:00", "x", "1899-12-31 10:30:00"]),
    ],
    ids=str,
)
def test_cells_of_several_kinds_keep_their_values(
    cells: list[Any], values: list[str | None], tmp_path: Path
) -> None:
    """The reader takes true for 1, times for stamps of 1899, and rounds numbers among texts."""
    path = tmp_path / "t.xlsx"
    rows = [*zip(cells, "pqq", strict=True)]
    path.write_bytes(workbook([["x", "y"], *rows]))
    index = CountIndex.from_table(path, "y")
    counted = dict(zip(index.schema.features[0].values, index.known[0].dense.tolist(), strict=True))
    assert counted == {v: [int(i == 0), int(i > 0)] for i, v in enumerate(values) if v is not None}
    assert index == CountIndex.from_table({"x": cells, "y": [*"pqq"]}, "y")
    assert read(tmp_path, workbook(rows), header=False)["c1"].cast(pl.String).to_list() == values


@pytest.mark.filterwarnings("ignore:'NA' in 'code' was taken as missing")
def test_the_same_index_as_from_csv(tmp_path: Path) -> None:
    """A table saved as Excel counts as the same table saved as CSV, points included."""
    cells: Any = [["age", "code", "seen", "y"], [31, "01", "2020-01-31", 1], [2, "NA", " ", 0]]
    cells += [[None, "7", "2020-02-01", 1], [31, "1", None, 0]]
    (tmp_path / "t.xlsx").write_bytes(workbook(cells))
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in cells]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    excel, text = (CountIndex.from_table(tmp_path / f"t.{end}", "y") for end in ("xlsx", "csv"))
    assert excel == text
    assert excel.labels == ("0", "1")
    answers = [certify(excel, tmp_path / f"t.{end}").predicted.tolist() for end in ("xlsx", "csv")]
    assert answers[0] == answers[1]


def test_numbers_beside_a_column_of_booleans(tmp_path: Path) -> None:
    """True and false in one column leave 0 and 1 of another as they are."""
    rows: Any = [["a", "b", "y"], [0, True, "p"], [1, False, "q"], [None, None, "q"]]
    frame = read(tmp_path, workbook(rows))
    assert frame.schema == {"a": pl.Int64, "b": pl.Boolean, "y": pl.String}
    assert frame.rows() == [tuple(row) for row in rows[1:]]


def test_large_numbers_stay_apart(tmp_path: Path) -> None:
    """Excel holds doubles; whole ones beyond those that doubles tell apart are not made integers."""
    frame = read(tmp_path, workbook([["a", "y"], [2.0**53, "p"], [1e300, "q"], [1, "p"]]))
    assert frame["a"].to_list() == [2.0**53, 1e300, 1.0]
    assert CountIndex.from_table(tmp_path / "book.data", "y", binning="none").n_values.tolist() == [
        3
    ]


def test_blank_rows_and_columns(tmp_path: Path) -> None:
    """Blank rows above the names and below the table count for nothing, nor do blank columns."""
    cells: Any = [[], [], [None, "a", "y", ""], [None, 1, "p", " "], [], [None, 2, "q"], [], []]
    frame = read(tmp_path, workbook(cells))
    assert frame.columns == ["a", "y"]
    assert frame.rows() == [(1, "p"), (None, None), (2, "q")]


def test_a_header_over_several_columns(tmp_path: Path) -> None:
    """Where a name is written over two columns, the second has none; two such columns are refused."""
    frame = read(tmp_path, workbook([["size", None, "y"], [1, 2, "p"], [3, 4, "q"]]))
    assert frame.columns == ["size", "", "y"]
    refused(
        tmp_path,
        workbook([["size", None, None, "y"], [1, 2, 3, "p"]]),
        "the sheet 'table' of .* has 2 columns with cells but without a name; give each column",
    )


def test_names_that_look_like_repeated_ones(tmp_path: Path) -> None:
    """Names are those that are written, also where they end in numbers or are days."""
    rows: Any = [["n", "n_1", "n_1_1", DAY, 2019], [1, 2, 3, 4, 5]]
    names = ["n", "n_1", "n_1_1", "2024-02-28 00:00:00", "2019"]
    assert read(tmp_path, workbook(rows)).columns == names
    refused(tmp_path, workbook([["n", "n_1", "n"], [1, 2, 3]]), "has two columns named 'n'")


def test_formulas_that_fail_are_missing(tmp_path: Path) -> None:
    """#N/A and #DIV/0! say that there is no value."""
    book = with_part(
        workbook([["a", "y"], [1, "p"], [2, "q"]]),
        SHEET,
        lambda xml: xml.replace(b'<c r="A3"><v>2</v>', b'<c r="A3" t="e"><v>#N/A</v>'),
    )
    assert read(tmp_path, book)["a"].to_list() == [1, None]


def test_sheets(tmp_path: Path) -> None:
    """The first sheet with cells is read, and others are told; a sheet can be named."""
    book = workbook({"empty": [], "one": [["a", "y"], [1, "p"]], "two": [["b", "y"], [2, "q"]]})
    with pytest.warns(
        NullproofWarning, match=r"2 sheets with cells \('one', 'two'\) and the first"
    ):
        assert read(tmp_path, book).columns == ["a", "y"]
    assert read(tmp_path, book, sheet="two").columns == ["b", "y"]
    refused(tmp_path, book, "has no sheet 'three'; it has 'empty', 'one', 'two'", sheet="three")
    refused(tmp_path, book, "the sheet 'empty' of .* is empty", sheet="empty")


def test_without_a_header(tmp_path: Path) -> None:
    """The columns of a sheet without names are numbered from 1."""
    frame = read(tmp_path, workbook([[1, "p"], [2, "q"]]), header=False)
    assert frame.to_dict(as_series=False) == {"c1": [1, 2], "c2": ["p", "q"]}


def test_text_where_it_is_asked_for(tmp_path: Path) -> None:
    """A column to keep as text has each cell as a value is written."""
    rows: Any = [["a", "b", "c", "d"], [1, True, DAY, 0.5], [2, False, None, 3]]
    frame = read(tmp_path, workbook(rows), as_text=["a", "b", "c", "d"])
    assert frame.rows() == [("1", "true", "2024-02-28", "0.5"), ("2", "false", None, "3")]


def test_texts_that_people_write_in_their_own_way(tmp_path: Path) -> None:
    """Texts of money and of days are made plain as in a text file, and it is told."""
    rows = [["paid", "when", "y"], ["$1,200", "31/01/2024", "p"], ["$5", "03/04/2024", "q"]]
    with pytest.warns(NullproofWarning, match="read as") as told:
        frame = read(tmp_path, workbook(rows))
    assert frame.rows() == [("1200", "2024-01-31", "p"), ("5", "2024-04-03", "q")]
    assert [str(notice.message) for notice in told] == [
        "read as numbers (decimal point with $): 'paid' ('$1,200')",
        "read as dates (day first): 'when' ('03/04/2024')",
    ]


def test_bad_workbooks(tmp_path: Path) -> None:
    """What cannot be read as a sheet is refused by what it is."""
    good = workbook(ROWS)
    refused(tmp_path, workbook([]), "is empty; give a table with a header row")
    refused(tmp_path, workbook([["a", "y"]]), "has a header but no rows")
    refused(tmp_path, workbook([["a", "a"], [1, 2]]), "has two columns named 'a'")
    refused(tmp_path, good[: len(good) // 2], "is a damaged Excel file: .*; save it again")
    refused(tmp_path, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), r"old Excel file \(\.xls\)")
    refused(tmp_path, archive({"a.csv": b"a,b\n1,2\n"}), "is a zip archive; unpack it")
    refused(tmp_path, archive({"xl/workbook.bin": b"\x83\x01"}), r"binary Excel file \(\.xlsb\)")
    kind = b"application/vnd.oasis.opendocument.spreadsheet"
    refused(
        tmp_path, archive({"mimetype": kind}), r"OpenDocument file \(\.ods\); save it as \.xlsx"
    )
    refused(tmp_path, archive({"xl/workbook.xml": b"<x"}), "not an Excel file that can be read")
    refused(tmp_path, good, "encoding was given but .* is an Excel file", encoding="utf-8")


def archive(parts: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    return buffer.getvalue()


def test_a_cell_far_out_does_not_fill_the_memory(tmp_path: Path) -> None:
    """The reader would make room for every cell in between."""
    book = with_part(
        workbook(ROWS), SHEET, lambda xml: xml.replace(b'r="B2"', b'r="XFD1048576"', 1)
    )
    refused(tmp_path, book, "row 1,048,576 and column 16,384; delete those that lie outside")


def test_a_wide_sheet_is_read(tmp_path: Path) -> None:
    """Many columns alone are not too many cells."""
    names = [f"x{j}" for j in range(600)]
    assert read(tmp_path, workbook([names, [*range(600)]])).shape == (1, 600)


def test_without_its_extra_the_install_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where fastexcel is not installed the message says how to install it."""
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    refused(tmp_path, workbook(ROWS), r'pip install "nullproof\[excel\]"')
