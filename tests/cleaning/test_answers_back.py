"""Answers that come back: to the cells they were meant for, and with the values that were written."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from nullproof import CountIndex, NullproofError, NullproofWarning
from nullproof.cleaning import Cell, Cleaner
from nullproof.cleaning.worksheet import read_worksheet, write_worksheet


def test_rows_in_another_order_are_another_table(tmp_path: Path) -> None:
    """Lines and saved answers name rows by their places, so sorted rows are refused, not filled."""
    table = pl.DataFrame({"x": ["a", "b", None, None, "a", "b"], "y": list("ababab")})
    sorted_rows = table[[0, 1, 3, 2, 4, 5]]
    cleaner, other = (
        Cleaner(CountIndex.from_table(own, label="y"), own[:2], own) for own in (table, sorted_rows)
    )
    sheet, state = tmp_path / "sheet.csv", tmp_path / "state.json"
    write_worksheet(sheet, cleaner, [Cell(2, "x")])
    sheet.write_text(sheet.read_text().replace(",,c", ",a,c"))
    cleaner.fill({(2, "x"): "a"})
    cleaner.save(state)
    with pytest.raises(NullproofError, match="belongs to another table"):
        read_worksheet(sheet, other)
    with pytest.raises(NullproofError, match="saved for another table"):
        other.resume(state)


def test_points_of_another_domain_are_other_points(tmp_path: Path) -> None:
    """The same codes of points mean other values where the training table has others."""
    cleaners = []
    for values in ("ab", "cd"):
        table = pl.DataFrame({"x": [*values, None], "y": list("yny")})
        points = pl.DataFrame({"x": [None, values[0]]})
        cleaners.append(Cleaner(CountIndex.from_table(table, label="y"), points, table))
    write_worksheet(tmp_path / "sheet.csv", cleaners[0], [Cell(0, "x", "points")])
    written = (tmp_path / "sheet.csv").read_text()
    (tmp_path / "sheet.csv").write_text(written.replace(",,c", ",c,c"))
    with pytest.raises(NullproofError, match="belongs to another table"):
        read_worksheet(tmp_path / "sheet.csv", cleaners[1])


LARGE = 2**53
MOMENTS = ("1970-01-01 00:00:00.000005", "1970-01-01 00:00:00.000005005")


@pytest.mark.parametrize("written", [f" {LARGE + 1}", f"{LARGE + 1} ", f"+{LARGE + 1}"])
def test_answers_keep_large_integers_apart(written: str) -> None:
    """Spaces and a sign do not make an integer a double, which would be its neighbour."""
    cells = [LARGE, LARGE + 1, None, LARGE]
    table = pl.DataFrame({"x": cells, "y": list("abab")})
    cleaner = Cleaner(CountIndex.from_table(table, label="y", binning="none"), table, table)
    cleaner.answer({(2, "x"): written})
    assert cleaner.complete()["x"].to_list() == [LARGE, LARGE + 1, LARGE + 1, LARGE]


def test_answers_keep_nanoseconds() -> None:
    """A moment is not cut down to its microsecond, which is another value."""
    ticks = pl.Series([5000, 5005, None, 5000]).cast(pl.Datetime("ns"))
    table = pl.DataFrame({"x": ticks, "y": list("abab")})
    index = CountIndex.from_table(table, label="y", binning="none")
    assert index.schema.features[0].values == MOMENTS
    cleaner = Cleaner(index, table, table)
    cleaner.answer({(2, "x"): MOMENTS[1]})
    assert cleaner.filled == {Cell(2, "x"): MOMENTS[1]}
    assert cleaner.complete()["x"].to_physical().to_list() == [5000, 5005, 5005, 5000]


@pytest.mark.parametrize("written", ["1_0", "٣", "Infinity"])
def test_answers_are_numbers_as_files_write_them(written: str) -> None:
    """What a file would not take for a number is none in a worksheet."""
    table = pl.DataFrame({"x": [1.0, 9.0, None, 20.0], "y": list("abab")})
    index = CountIndex.from_table(table, label="y", binning="uniform", bins=2)
    with pytest.raises(NullproofError, match="is not a number"):
        Cleaner(index, table, table).answer({(2, "x"): written})


def test_a_plain_fraction_among_decimal_commas(tmp_path: Path) -> None:
    """No group of thousands begins with 0: 0.125 is an eighth, also where 1.125 is a thousand and more."""
    path, sheet = tmp_path / "weights.csv", tmp_path / "sheet.csv"
    path.write_text("x;y\n3,5;a\n2,25;b\n;a\n300,5;b\n")
    with pytest.warns(NullproofWarning, match="decimal comma"):
        index = CountIndex.from_table(path, label="y", binning="uniform", bins=2)
    cleaner = Cleaner(index, path, path)
    write_worksheet(sheet, cleaner, [Cell(2, "x")])
    blank = sheet.read_text()
    for written, value in {"0.125": "0.125", "1.125": "1125", '"0,125"': "0.125"}.items():
        sheet.write_text(blank.replace(",,c", f",{written},c"))
        assert [own.value for own in read_worksheet(sheet, cleaner).values()] == [value]


def test_a_line_longer_than_the_header_is_refused(tmp_path: Path) -> None:
    """A value with a comma and without quotes is not cut at the comma."""
    table = pl.DataFrame({"x": [1.0, 9.0, None, 20.0], "y": list("abab")})
    cleaner = Cleaner(CountIndex.from_table(table, label="y", binning="none"), table, table)
    sheet = tmp_path / "sheet.csv"
    write_worksheet(sheet, cleaner, [Cell(2, "x")])
    check = sheet.read_text().split(",")[-1].strip()
    sheet.write_text(f"table,row,column,check,value\ntraining,2,x,{check},1,5\n")
    with pytest.raises(NullproofError, match="line 2 has more cells than the header"):
        read_worksheet(sheet, cleaner)


def test_a_list_is_no_answer() -> None:
    """Not even a list of one value, which a column of numbers cannot hold."""
    table = pl.DataFrame({"x": [1, 9, None, 20], "y": list("abab")})
    index = CountIndex.from_table(table, label="y", binning="none")
    with pytest.raises(NullproofError, match="is not one of its values"):
        Cleaner(index, table, table).fill({(2, "x"): [9]})
