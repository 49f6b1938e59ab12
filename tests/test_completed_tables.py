"""Tables that come back with cells changed: filled by a world, blanked by an attack, in every library."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from support.index_view import quietly

from nullproof import CountIndex, certify, poison, witness

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")
DAYS = [dt.date(2020, 1, 1 + k) for k in range(6)]
STAMPS = [dt.datetime(2020, 1, 1, k, 30) for k in range(6)]
CELLS: dict[str, list[Any]] = {
    "whole": [1, 2, 7, 8, 9, 100],
    "real": [0.25, 0.5, 1.5, 2.5, 9.0, 9.5],
    "price": [decimal.Decimal(k) / 4 for k in range(6)],
    "word": ["u", "v", "u", "w", "v", "u"],
    "flag": [True, False, True, True, False, False],
    "day": DAYS,
    "stamp": STAMPS,
    "zoned": [moment.replace(tzinfo=dt.UTC) for moment in STAMPS],
    "clock": [dt.time(k) for k in range(6)],
}
LABELS = ["p", "p", "q", "q", "p", "q", "p", "q", "p", "q", "p", "q"]
LIBRARIES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame,
    "pandas": pl.DataFrame.to_pandas,
    "pandas nullable": lambda frame: _nullable(frame.to_pandas()),
    "pandas Arrow": lambda frame: frame.to_pandas(use_pyarrow_extension_array=True),
    "pyarrow": pl.DataFrame.to_arrow,
}


def _nullable(frame: pd.DataFrame) -> pd.DataFrame:
    """The types of pandas that hold missing cells, categories for words, and rows with names."""
    frame = frame.convert_dtypes().set_axis([*range(10, 10 + len(frame))])
    return frame.astype({"word": "category"} if "word" in frame else {})


def table_of(*names: str) -> pl.DataFrame:
    """Each column known in the first rows and missing in the last ones, and a label."""
    columns = {name: [*CELLS[name], *CELLS[name][::-1]] for name in names}
    for cells in columns.values():
        cells[7:12] = [None] * 5
    columns["y"] = LABELS
    return pl.DataFrame(columns)


def cells_of(table: Any, name: str) -> list[Any]:
    """The cells of a column as Python has them, moments in UTC."""
    column = table[name]
    cells = column.to_pylist() if isinstance(table, pa.Table) else column.to_list()
    return [_plain(cell) for cell in cells]


def _plain(cell: Any) -> Any:
    if cell is None or cell is pd.NaT or cell is pd.NA or cell != cell:
        return None
    if isinstance(cell, dt.datetime):
        cell = cell.astimezone(dt.UTC).replace(tzinfo=None) if cell.tzinfo else cell
        cell = pd.Timestamp(cell).to_pydatetime()
        return cell.date() if cell.time() == dt.time() else cell
    return cell


@pytest.mark.parametrize("binning", ["none", "uniform", "mdl"])
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", CELLS)
def test_worlds_fill_columns_of_every_type(name: str, library: str, binning: Any) -> None:
    """No cell is missing, known ones stay, and the counts are some that the index says can be."""
    frame = table_of(name, "word") if name != "word" else table_of(name)
    table = LIBRARIES[library](frame)
    index = quietly(table, binning=binning)
    point = next(row for row in frame.drop("y").rows() if not certify(index, row, alpha=1).certain)
    for world in witness(index, point, alpha=1):
        whole = world.complete(table)
        assert type(whole) is type(table)
        before, after = cells_of(table, name), cells_of(whole, name)
        assert None not in after
        known = [k for k, cell in enumerate(before) if cell is not None]
        assert [after[k] for k in known] == [before[k] for k in known]
        counted = CountIndex.from_table(whole, "y", like=index)
        assert counted.n_missing == 0
        for j in range(len(index.features)):
            assert (index.low(j) <= counted.low(j)).all()
            assert (counted.high(j) <= index.high(j)).all()
    assert cells_of(table, name) == before


# Dates, texts like numbers and whole numbers once became other labels on the way back.
KINDS_OF_LABELS: list[list[Any]] = [["p", "q"], DAYS[:2], ["01", "1"], [1, 2]]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", CELLS)
def test_attacks_blank_columns_of_every_type(name: str, library: str) -> None:
    """The cells that an attack names are missing, the others stay, and so do the types of the table."""
    for labels in KINDS_OF_LABELS:
        columns = {name: CELLS[name][:2] * 6, "other": [1] * 12, "y": labels * 6}
        frame = pl.DataFrame(columns)
        table = LIBRARIES[library](frame)
        index = quietly(table, binning="none")
        attack = poison(index, frame.drop("y")[:1], alpha=1)
        after, altered = attack.apply(table), attack.altered(table)
        blank = {row for row, _ in attack.cells(table)}
        assert len(blank) == attack.n_cells > 0
        columns[name] = [None if k in blank else cell for k, cell in enumerate(columns[name])]
        for column, cells in columns.items():
            assert cells_of(after, column) == [*map(_plain, cells)]
        assert CountIndex.from_table(after, "y", like=index) == attack.index_after
        lazy = frame.with_row_index("id").lazy()
        assert {(int(row), own) for row, own in attack.locate(lazy, key="id")} == {
            (row, name) for row in blank
        }
        assert None not in cells_of(altered, name)
        assert type(after) is type(altered) is type(table)
        if isinstance(table, pd.DataFrame):
            assert after.index.equals(table.index)
            assert after.drop(columns=name).dtypes.equals(table.drop(columns=name).dtypes)
            assert altered.dtypes.equals(table.dtypes)
        else:
            assert after.schema == altered.schema == table.schema
