"""Holes: as many as asked, where asked, the same for a seed in every library and on every machine."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from support.refusing import refuses

from nullproof import inject_missing

N_ROWS = 200
CELLS: dict[str, list[Any]] = {
    "age": [20 + i % 50 for i in range(N_ROWS)],
    "pay": [None if i % 10 == 0 else i * 0.5 for i in range(N_ROWS)],
    "town": [f"t{i % 7}" for i in range(N_ROWS)],
    "day": [dt.datetime(2020, 1, 1 + i % 28) for i in range(N_ROWS)],
    "told": [i % 3 == 0 for i in range(N_ROWS)],
    "churn": ["yes" if i % 4 else "no" for i in range(N_ROWS)],
}
FRAMES: dict[str, Callable[[Any], Any]] = {
    "polars": pl.DataFrame,
    "pandas": pd.DataFrame,
    "pyarrow": pa.table,
}
N_KNOWN = N_ROWS * 5 - N_ROWS // 10


def holes(table: Any) -> dict[str, list[int]]:
    frame = nw.from_native(table, eager_only=True)
    return {
        name: [i for i, cell in enumerate(frame[name].to_list()) if pd.isna(cell)]
        for name in frame.columns
    }


def test_every_library_gets_the_same_holes() -> None:
    """One seed blanks the same cells of the same table, and the table keeps its type and other cells."""
    made = {
        name: inject_missing(frame(CELLS), 0.3, label="churn", seed=7)
        for name, frame in FRAMES.items()
    }
    assert all(type(made[name]) is type(frame(CELLS)) for name, frame in FRAMES.items())
    assert holes(made["polars"]) == holes(made["pandas"]) == holes(made["pyarrow"])
    assert sum(map(len, holes(made["polars"]).values())) == round(0.3 * N_KNOWN) + N_ROWS // 10
    assert not holes(made["polars"])["churn"]
    assert holes(pl.DataFrame(CELLS))["pay"] == list(range(0, N_ROWS, 10))
    for name in CELLS:
        kept = [i for i in range(N_ROWS) if i not in holes(made["polars"])[name]]
        assert made["polars"][name][kept].to_list() == [CELLS[name][i] for i in kept]


def test_the_draw_is_pinned() -> None:
    """These cells must never change: they are what makes a published table repeatable."""
    table = pl.DataFrame({f"c{j}": [*range(5)] for j in range(4)})
    found = holes(inject_missing(table, 0.25, seed=1))
    assert found == {"c0": [3], "c1": [0, 1], "c2": [4], "c3": [0]}


def test_rates_at_the_ends() -> None:
    """Rate 0 changes nothing, rate 1 leaves nothing, and other seeds choose other cells."""
    table = pl.DataFrame(CELLS)
    assert inject_missing(table, 0, label="churn").equals(table)
    assert all(len(rows) == N_ROWS for rows in holes(inject_missing(table, 1)).values())
    first, second = (holes(inject_missing(table, 0.3, seed=seed)) for seed in (1, 2))
    assert first != second


def test_features_can_be_named() -> None:
    """Only the chosen columns get holes."""
    table = pl.DataFrame(CELLS).drop("pay")
    named = holes(inject_missing(table, 0.5, features=["town", "age"]))
    assert [name for name in named if named[name]] == ["age", "town"]
    assert sum(map(len, named.values())) == N_ROWS
    alone = holes(inject_missing(table, 0.5, features="age"))
    assert [name for name in alone if alone[name]] == ["age"]


def test_lazy_tables_and_files_become_polars(tmp_path: Path) -> None:
    """What cannot be changed in place comes back as a polars frame with the same holes."""
    table = pl.DataFrame(CELLS).drop("pay")
    expected = holes(inject_missing(table, 0.4, seed=5))
    assert holes(inject_missing(table.lazy(), 0.4, seed=5)) == expected
    table.write_parquet(tmp_path / "t.parquet")
    assert holes(inject_missing(tmp_path / "t.parquet", 0.4, seed=5)) == expected


test_wrong_options_are_told = refuses(
    "A refusal names what came and what was needed; arrays have no missing value.",
    lambda options: inject_missing(**{"table": pl.DataFrame(CELLS), "rate": 0.1, **options}),
    ({"rate": 1.5}, "from 0 to 1"),
    ({"rate": float("nan")}, "from 0 to 1"),
    ({"features": ["height"]}, "height"),
    ({"features": 0.2}, "the names of the columns"),
    ({"features": []}, "the names of the columns"),
    ({"features": ["churn"], "label": "churn"}, "churn"),
    ({"label": "chrun"}, "chrun"),
    ({"table": np.zeros((2, 2))}, "not a data frame"),
    ({"table": pl.DataFrame({"y": [1]}), "label": "y"}, "besides the label"),
)
