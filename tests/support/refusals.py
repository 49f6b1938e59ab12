"""Tables that the page refuses: types that are not counted, labels with holes, broken text files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from nullproof.counts.index import CountIndex
from nullproof.errors import NullproofError
from support.checking import Options
from support.plain_counter import Column, Table

TYPES: dict[str, Any] = {
    "struct": pa.array([{"a": 1}, {"a": 2}, None]),
    "map": pa.array([[("a", 1)], [("b", 2)], None], pa.map_(pa.string(), pa.int64())),
    "binary": pa.array([b"\x00", b"\xff", None]),
    "fixed binary": pa.array([b"ab", b"cd", None], pa.binary(2)),
    "list of structs": pa.array([[{"a": 1}], [{"a": 2}], None]),
}
FILES = {
    "not UTF-8": b"a,label\nx,yes\n\x81,no\n",
    "not UTF-8 in the header": b"\x81,label\nx,yes\ny,no\n",
    "a row too short": b"a,b,label\nx,1,yes\ny\n",
    "a row too short by one": b"a,b,label\nx,1,yes\ny,no\n",
    "a row too long": b"a,b,label\nx,1,yes\ny,2,no,3\n",
    "no rows": b"a,label\n",
    "a label that is missing": b"a,label\nx,yes\ny,NA\n",
    "a quote that is never closed": b'a,label\nx,yes\n"y,no\n',
}


def unrefused(name: str, folder: Path) -> Iterator[str]:
    """The ways that count a column of such a type, or fail without naming it."""
    for where, table in _of_type(name, folder):
        try:
            yield f"{where} counted it: {CountIndex.from_table(table, 'label').schema.features}"
        except NullproofError as problem:
            if "'odd'" not in str(problem):
                yield f"{where} does not name the column: {problem}"
        except Exception as problem:
            yield f"{where}: {type(problem).__name__}: {str(problem)[:300]}"


def _of_type(name: str, folder: Path) -> Iterator[tuple[str, Any]]:
    """The same table with a column that cannot be counted, by several ways."""
    table = pa.table({"odd": TYPES[name], "a": ["x", "y", "x"], "label": ["yes", "no", "no"]})
    path = folder / "odd.parquet"
    pq.write_table(table, path)
    yield "pyarrow", table
    yield "pandas Arrow", table.to_pandas(types_mapper=pd.ArrowDtype)
    if name != "map":
        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)
        yield "polars", frame
        yield "polars lazy", frame.lazy()
        yield "Parquet", str(path)
    yield "DuckDB", duckdb.connect().from_arrow(table)
    yield "Parquet folder", folder


def labels_with_holes() -> Iterator[tuple[Table, Options]]:
    """Labels with one hole, of every kind of hole."""
    holes: list[tuple[Any, Options]] = [
        (Column("label", "text", ("a", None, "b"), "string"), Options()),
        (Column("label", "integer", (1, None, 2), "int64"), Options()),
        (Column("label", "float", (1.0, float("nan"), 2.0), "float64"), Options()),
        (Column("label", "boolean", (True, None, False), "bool"), Options()),
        (Column("label", "date", (1, None, 2), "date32"), Options()),
        (Column("label", "text", ("a", " ?", "b"), "string"), Options(missing=("?",))),
        (Column("label", "integer", (1, -9, 2), "int64"), Options(missing=("-9.0",))),
        (Column("label", "float", (1.5, -9.0, 2.0), "float64"), Options(missing=("-9",))),
    ]
    for label, options in holes:
        yield Table((Column("c0", "text", ("x", "y", "x"), "string"),), label), options
