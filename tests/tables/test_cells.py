"""Changed tables: the cells asked for change, and nothing else."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from nullproof.tables.cells import (
    append_rows,
    native_frame,
    set_cells,
    set_rows,
    some_rows,
)
from nullproof.tables.values import is_missing

CELLS: dict[str, list[Any]] = {
    "whole": [1, 2, 3],
    "real": [0.5, 1.5, 2.5],
    "word": ["u", "v", "w"],
    "flag": [True, False, True],
    "day": [dt.datetime(2020, 1, day) for day in (1, 2, 3)],
    "left": ["s", "t", None],
}
BLANK = {name: {1: None} for name in ("whole", "real", "word", "flag", "day")}
FRAMES: dict[str, Callable[[], Any]] = {
    "polars": lambda: pl.DataFrame(CELLS),
    "polars, categories": lambda: pl.DataFrame(CELLS).cast(
        {"word": pl.Enum("uvw"), "left": pl.Categorical}
    ),
    "pyarrow": lambda: pa.table(CELLS),
    "pandas": lambda: pd.DataFrame(CELLS),
    "pandas, nullable": lambda: pd.DataFrame(CELLS).convert_dtypes(),
    "pandas, categories": lambda: pd.DataFrame(CELLS).astype({"word": "category"}),
    "pandas, same row names": lambda: pd.DataFrame(CELLS, index=[7, 7, 7]),
}


def cells_of(table: Any) -> dict[str, list[Any]]:
    frame = nw.from_native(table, eager_only=True)
    return {
        name: [None if pd.isna(cell) else cell for cell in frame[name].to_list()]
        for name in frame.columns
    }


@pytest.mark.parametrize("library", FRAMES)
def test_blanked_cells_are_missing_and_all_others_stay(library: str) -> None:
    """None blanks a cell; other cells, columns, rows and the given table stay what they are."""
    table = FRAMES[library]()
    changed = set_cells(nw.from_native(table, eager_only=True), BLANK)
    assert type(changed) is type(table)
    expected = {name: [c[0], None, c[2]] for name, c in CELLS.items() if name != "left"}
    assert cells_of(changed) == {**expected, "left": CELLS["left"]}
    assert cells_of(table) == CELLS
    if isinstance(table, pd.DataFrame):
        assert changed.index.equals(table.index)


@pytest.mark.parametrize("library", FRAMES)
def test_new_values_keep_the_types(library: str) -> None:
    """Values of a column's own kind leave its type alone."""
    table = FRAMES[library]()
    changes: dict[str, dict[int, Any]] = {
        "whole": {0: 9},
        "real": {2: 9.0},
        "word": {0: "w", 1: "w"},
        "flag": {0: False},
    }
    changed = set_cells(nw.from_native(table, eager_only=True), {**changes, "left": {}})
    found = cells_of(changed)
    assert found["whole"] == [9, 2, 3]
    assert found["real"] == [0.5, 1.5, 9.0]
    assert found["word"] == ["w", "w", "w"]
    assert found["flag"] == [False, False, True]
    if isinstance(table, pa.Table):
        assert changed.schema == table.schema
    else:
        assert list(changed.dtypes) == list(table.dtypes)


def test_nothing_to_change() -> None:
    """No changes give an equal table."""
    for make in FRAMES.values():
        table = make()
        assert cells_of(set_cells(nw.from_native(table, eager_only=True), {})) == CELLS


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table])
def test_lists_become_plain_when_no_list_is_left(make: Any) -> None:
    """A column of candidate lists is a plain column once every cell has one value."""
    frame = nw.from_native(make({"a": [["u"], ["u", "v"], None]}), eager_only=True)
    plain = set_cells(frame, {"a": {0: "u", 1: "v", 2: "u"}})
    assert cells_of(plain) == {"a": ["u", "v", "u"]}
    still = nw.from_native(set_cells(frame, {"a": {2: ["v"]}}), eager_only=True)
    assert [list(cell) for cell in still["a"].to_list()] == [["u"], ["u", "v"], ["v"]]


def test_plain_rows() -> None:
    """Tuples and mappings come back as tuples in the order of the features."""
    changes = {"b": {0: None, 1: 5}}
    assert set_rows([(1, 2), (3, 4)], ["a", "b"], changes) == [(1, None), (3, 5)]
    rows = [{"b": 2, "a": 1}, {"b": 4, "a": 3}]
    assert set_rows(rows, ["a", "b"], changes) == [(1, None), (3, 5)]


def lists() -> pl.DataFrame:
    return pl.DataFrame({"a": [["u"], ["u", "v"]], "n": [1, 2], "t": ["s", None]})


@pytest.mark.parametrize("make", [pl.DataFrame, pl.DataFrame.to_arrow, pl.DataFrame.to_pandas])
@pytest.mark.parametrize("n_rows", [0, 1, 2])
def test_more_rows(make: Any, n_rows: int) -> None:
    """Rows are added at the end with the same types; columns without values are blank there."""
    table = pl.DataFrame(CELLS).drop("day")
    native = table if make is pl.DataFrame else make(table)
    frame = nw.from_native(native, eager_only=True)
    values: dict[str, list[Any]] = {"whole": [7, 8][:n_rows], "word": ["new", None][:n_rows]}
    longer = append_rows(frame, values, n_rows)
    assert type(longer) is type(native)
    found = cells_of(longer)
    assert found["whole"] == [1, 2, 3, *values["whole"]]
    assert found["word"] == ["u", "v", "w", *values["word"]]
    for name in ("real", "flag", "left"):
        assert found[name] == [*CELLS[name], *[None] * n_rows]
    if isinstance(longer, pd.DataFrame):
        assert longer.index.tolist() == [*range(3 + n_rows)]
        assert list(longer.columns) == list(native.columns)


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table, pd.DataFrame])
def test_more_rows_of_one_row(make: Any) -> None:
    """A table of a single row can be made longer too."""
    frame = nw.from_native(make({"a": ["u"], "n": [1]}), eager_only=True)
    assert cells_of(append_rows(frame, {"a": ["v", None]}, 2)) == {
        "a": ["u", "v", None],
        "n": [1, None, None],
    }


def test_more_rows_of_lists() -> None:
    """In a column of candidates a value is a list of one, and a blank cell stays blank."""
    for native in (lists(), lists().to_arrow()):
        frame = nw.from_native(native, eager_only=True)
        longer = nw.from_native(append_rows(frame, {"a": ["w", None]}, 2), eager_only=True)
        cells = [cell if cell is None else list(cell) for cell in longer["a"].to_list()]
        assert cells == [["u"], ["u", "v"], ["w"], None]
        assert longer["n"].to_list() == [1, 2, None, None]
        assert longer["t"].to_list() == ["s", None, None, None]


def test_values_are_written_as_the_column_holds_them() -> None:
    """A number goes into a column of texts as text, elsewhere as it is; None stays None."""
    for native in (lists(), lists().to_arrow()):
        frame = nw.from_native(native, eager_only=True)
        changes: dict[str, dict[int, Any]] = {"t": {0: 5.0, 1: None}, "n": {0: 5}}
        filled = nw.from_native(set_cells(frame, changes), eager_only=True)
        assert filled["t"].to_list() == ["5", None]
        assert filled["n"].to_list() == [5, 2]
        assert [list(cell) for cell in filled["a"].to_list()] == lists()["a"].to_list()


def test_lists_stay_lists_while_one_is_left() -> None:
    """One cell with candidates keeps the others what they are; whole numbers take a half as a double."""
    for native in (lists(), lists().to_arrow()):
        changed = nw.from_native(
            set_cells(nw.from_native(native, eager_only=True), {"a": {0: ["v"]}}), eager_only=True
        )
        assert [list(cell) for cell in changed["a"].to_list()] == [["v"], ["u", "v"]]
    frame = nw.from_native(lists(), eager_only=True)
    half = set_cells(frame, {"n": {0: 0.5}})
    assert (half["n"].dtype, half["n"].to_list()) == (pl.Float64(), [0.5, 2.0])
    whole = set_cells(frame, {"n": {0: 5.0, 1: None}})
    assert (whole["n"].dtype, whole["n"].to_list()) == (pl.Int64(), [5, None])


TWO = {"a": [["one", "two"], ["two", "three"]]}
LISTS: dict[str, Callable[[], Any]] = {
    "polars": lists,
    "polars, fixed": lambda: pl.DataFrame(TWO, schema_overrides={"a": pl.Array(pl.String, 2)}),
    "polars, numbers": lambda: pl.DataFrame({"a": [[1, 2], [3]]}),
    "pyarrow": lambda: pa.table({"a": [["one", "two"], ["two"]]}),
    "pyarrow, large": lambda: pl.DataFrame({"a": [["one", "two"], ["two"]]}).to_arrow(),
    "pyarrow, fixed": lambda: pa.table({"a": pa.array(TWO["a"], pa.list_(pa.string(), 2))}),
    "pyarrow, numbers": lambda: pa.table({"a": [[1, 2], [3]]}),
    "pandas": lambda: pd.DataFrame({"a": [["one", "two"], ["two"]]}),
    "pandas, Arrow": lambda: arrow_lists(pa.list_(pa.string())),
    "pandas, large": lambda: arrow_lists(pa.large_list(pa.string())),
    "pandas, fixed": lambda: arrow_lists(pa.list_(pa.string(), 2)),
}


def arrow_lists(kind: Any) -> pd.DataFrame:
    return pd.DataFrame({"a": pd.Series(TWO["a"], [7, 9], pd.ArrowDtype(kind))})


@pytest.mark.parametrize("sort", LISTS)
def test_a_value_beside_lists_is_a_list_of_one(sort: str) -> None:
    """Not the list of its letters; without a list the column is plain, and blank cells stay blank."""
    frame = nw.from_native(LISTS[sort](), eager_only=True)
    value: Any = 7 if "numbers" in sort else "word"
    other = [*frame["a"].to_list()[1]]

    def after(cells: dict[int, Any]) -> list[Any]:
        changed = nw.from_native(set_cells(frame, {"a": cells}), eager_only=True)
        return [None if x is pd.NA else x for x in changed["a"].to_list()]

    if sort == "pandas":
        # Objects are as they are.
        assert after({0: value}) == [value, other]
        return
    assert after({0: value}) == [[value], other]
    assert after({0: None}) == [None, other]
    assert after({0: value, 1: value}) == [value, value]
    assert after({0: value, 1: None}) == [value, None]
    longer = nw.from_native(append_rows(frame, {"a": [value, None]}, 2), eager_only=True)
    assert longer["a"].to_list()[1:3] == [other, [value]]
    assert is_missing(longer["a"].to_list()[3])


def test_pandas_columns_that_take_none_keep_their_type() -> None:
    """Doubles, texts and dates have a missing value of their own; whole numbers get pandas' type."""
    table = pd.DataFrame(CELLS)
    changed = set_cells(nw.from_native(table, eager_only=True), BLANK)
    assert changed["real"].dtype == table["real"].dtype
    assert changed["day"].dtype == table["day"].dtype
    assert changed["word"].dtype == table["word"].dtype
    assert str(changed["whole"].dtype) == "Int64"
    assert str(changed["flag"].dtype) == "boolean"
    filled = set_cells(nw.from_native(table, eager_only=True), {"whole": {0: 5}})
    assert filled["whole"].dtype == table["whole"].dtype


def test_frames_of_results() -> None:
    """They come in the library of the given table, else in polars, where texts are texts."""
    columns: dict[str, list[Any]] = {"label": [None, None], "n": [1, 2]}
    plain = native_frame(columns, None)
    assert isinstance(plain, pl.DataFrame)
    assert plain.schema == {"label": pl.String(), "n": pl.Int64()}
    given = pd.DataFrame({"z": [0, 0]}, index=[7, 9])
    for frame, rows in (
        (native_frame(columns, nw.from_native(given, eager_only=True)), [7, 9]),
        (native_frame(columns, nw.from_native(given, eager_only=True), same_rows=False), [0, 1]),
    ):
        assert isinstance(frame, pd.DataFrame)
        assert frame.index.tolist() == rows
        assert frame["n"].tolist() == [1, 2]
    arrow = native_frame(columns, nw.from_native(pa.table({"z": [0, 0]}), eager_only=True))
    assert isinstance(arrow, pa.Table)
    polars = native_frame(columns, nw.from_native(lists(), eager_only=True))
    assert isinstance(polars, pl.DataFrame)


def test_some_rows_of_a_frame() -> None:
    """Rows by position, or nothing where there is no frame."""
    places = np.array([1, 0])
    assert some_rows(None, places) is None
    assert some_rows(nw.from_native(lists(), eager_only=True), places)["n"].to_list() == [2, 1]


def test_other_cells_keep_their_nanoseconds() -> None:
    """Cells that are not asked for do not lose what Python's own time stamps cannot hold."""
    for kind in (
        pl.Datetime("ns"),
        pl.Datetime("ns", "Europe/Berlin"),
        pl.Duration("ns"),
        pl.Time(),
    ):
        table = pl.DataFrame({"x": pl.Series([1, 1001, 2002]).cast(kind)})
        changed = set_cells(nw.from_native(table, eager_only=True), {"x": {1: None}})
        assert changed["x"].dtype == kind
        assert changed["x"].to_physical().to_list() == [1, None, 2002]


DAYS = [dt.date(2020, 1, 1), None]
NOON = dt.datetime(2020, 1, 2, 12)
ZONED = pd.Series([pd.Timestamp(2020, 1, 1, tz="Europe/Berlin"), pd.NaT])
FITS: dict[str, tuple[Any, Any, Any]] = {
    "polars, too narrow": (pl.Series([1, None], dtype=pl.Int8), 300, 300),
    "polars, decimals": (pl.Series([Decimal("1.5"), None]), 2.47, Decimal("2.47")),
    "polars, days": (pl.Series(DAYS), NOON, NOON),
    "polars, midnight": (pl.Series(DAYS), dt.datetime(2020, 1, 2), dt.date(2020, 1, 2)),
    "polars, zone": (pl.from_pandas(ZONED), NOON, NOON.replace(tzinfo=dt.UTC)),
    "polars, duration": (pl.Series([dt.timedelta(1), None]), 5, dt.timedelta(microseconds=5)),
    "polars, time": (pl.Series([dt.time(1), None]), "02:00:00", dt.time(2)),
    "polars, number as text": (pl.Series([1, None]), "2", 2),
    "pandas, too narrow": (pd.Series([1, None], dtype="Int8"), 300, 300),
    "pandas, half": (pd.Series([1, None], dtype="Int8"), 2.5, 2.5),
    "pandas, Arrow half": (pd.Series([1, None], dtype="int8[pyarrow]"), 2.5, 2.5),
    "pandas, Arrow days": (pd.Series(DAYS, dtype="date32[pyarrow]"), NOON, NOON),
    "pandas, texts": (pd.Series(["1", None]), 2, "2"),
    "pandas, zone": (ZONED, NOON, NOON.replace(tzinfo=dt.UTC)),
    "pandas, no zone": (pd.Series([NOON, None]), NOON.replace(tzinfo=dt.UTC), NOON),
    "pandas, numbers as categories": (pd.Series([1, 2, 2]).astype("category")[:2], "2", 2),
    "pandas, decimal": (pd.Series([1.5, None]), Decimal("2.5"), 2.5),
    "pyarrow, too narrow": (pa.chunked_array([pa.array([1, None], pa.int8())]), 300, 300),
    "pyarrow, half": (pa.chunked_array([pa.array([1, None], pa.int8())]), 2.5, 2.5),
    "pyarrow, days": (pa.chunked_array([pa.array(DAYS)]), NOON, NOON),
    "pyarrow, texts": (pa.chunked_array([pa.array(["1", None])]), 2, "2"),
    "pyarrow, decimals": (
        pa.chunked_array([pa.array([Decimal("1.5"), None])]),
        2.47,
        Decimal("2.47"),
    ),
}


@pytest.mark.parametrize("sort", FITS)
def test_values_are_written_whole_or_the_type_grows(sort: str) -> None:
    """A value that the column's type cannot hold is neither lost nor rounded, and the other cell stays."""
    column, value, expected = FITS[sort]
    before = nw.from_native(column, series_only=True)
    if isinstance(column, pd.Series):
        table: Any = pd.DataFrame({"x": column})
    else:
        table = (
            pl.DataFrame({"x": column})
            if isinstance(column, pl.Series)
            else pa.table({"x": column})
        )
    changed = nw.from_native(set_cells(nw.from_native(table, eager_only=True), {"x": {1: value}}))
    after = changed["x"].to_list()
    assert after[1] == expected
    assert date_of(after[0]) == date_of(before.to_list()[0])


def date_of(cell: Any) -> Any:
    """A day as a moment, which is what it is among moments."""
    is_day = isinstance(cell, dt.date) and not isinstance(cell, dt.datetime)
    return dt.datetime(cell.year, cell.month, cell.day) if is_day else cell


def test_cells_of_polars_that_are_any_objects() -> None:
    """They are put beside each other as they are."""
    table = pl.DataFrame({"x": pl.Series([{1, 2}, {3}, {4}], dtype=pl.Object)})
    changed = set_cells(nw.from_native(table, eager_only=True), {"x": {1: None}})
    assert changed["x"].to_list() == [{1, 2}, None, {4}]
