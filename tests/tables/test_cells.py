"""Changed tables: the cells asked for change, and nothing else."""

from __future__ import annotations

import datetime as dt
from typing import Any

import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from nullproof.tables.cells import set_cells, set_rows

CELLS: dict[str, list[Any]] = {
    "whole": [1, 2, 3],
    "real": [0.5, 1.5, 2.5],
    "word": ["u", "v", "w"],
    "flag": [True, False, True],
    "day": [dt.datetime(2020, 1, day) for day in (1, 2, 3)],
    "left": ["s", "t", None],
}
BLANK = {name: {1: None} for name in ("whole", "real", "word", "flag", "day")}
FRAMES = {
    "polars": pl.DataFrame(CELLS),
    "polars, categories": pl.DataFrame(CELLS).cast(
        {"word": pl.Enum("uvw"), "left": pl.Categorical}
    ),
    "pyarrow": pa.table(CELLS),
    "pandas": pd.DataFrame(CELLS),
    "pandas, nullable": pd.DataFrame(CELLS).convert_dtypes(),
    "pandas, categories": pd.DataFrame(CELLS).astype({"word": "category"}),
    "pandas, same row names": pd.DataFrame(CELLS, index=[7, 7, 7]),
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
    table = FRAMES[library]
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
    table = FRAMES[library]
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
    for table in FRAMES.values():
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
