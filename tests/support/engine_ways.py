"""Ways through engines that have to be started: Dask, Spark, and Postgres by ibis."""

from __future__ import annotations

import importlib
import itertools
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from support import plain_counter as truth
from support import storing
from support.plain_counter import Column, Table
from support.ways import Store, Way, all_columns, parquet_folder

_NUMBERS = itertools.count()
_N_TABLES = 3


# Dask --------------------------------------------------------------------------------------------


def dask_ways() -> list[Way]:
    """Frames of pandas in partitions, some of them empty, and Parquet files."""
    objects = {r"(decimal|date|time\[)": "Dask takes columns of Python's objects for texts"}
    unknown = {
        r"date64": "narwhals has no type for it",
        r"(date|timestamp)": "pandas makes dates of Python on the way",
    }
    in_arrow = {r"string_view": "pyarrow cannot take rows of it, which grouping needs"}
    way = partial(Way, may_refuse=unknown, n_tables=_N_TABLES)
    numpy, arrow = storing.pandas_numpy, storing.pandas_arrow
    return [
        way("Dask NumPy", partial(_dask_parts, numpy), numpy, lacks=objects),
        way("Dask Arrow", partial(_dask_parts, arrow), arrow, lacks=in_arrow),
        way("Dask read_parquet", _dask_files, storing.arrow_array, lacks=in_arrow),
    ]


def _dask_parts(store: Store, table: Table, _: Path) -> Any:
    frames: Any = importlib.import_module("dask.dataframe")
    whole = pd.DataFrame({column.name: store(column) for column in all_columns(table)})
    parts = [whole.iloc[part.start : part.stop] for part in table.parts]
    return frames.from_map(_same, parts, meta=whole.iloc[:0])


def _same(part: Any) -> Any:
    return part


def _dask_files(table: Table, folder: Path) -> Any:
    frames: Any = importlib.import_module("dask.dataframe")
    return frames.read_parquet(parquet_folder(table, folder), dtype_backend="pyarrow")


# Spark -------------------------------------------------------------------------------------------


def spark_way(session: Any) -> Way:
    """Parquet files that Spark reads."""

    def put(table: Table, folder: Path) -> Any:
        return session.read.parquet(str(parquet_folder(table, folder)))

    lacks = {
        r"\w+\[ns": "Spark's time ends at microseconds",
        r"time\[": "Spark reads no times of day of Parquet files",
    }
    return Way("Spark", put, storing.arrow_array, lacks=lacks, n_tables=2)


# Postgres ----------------------------------------------------------------------------------------

_POSTGRES = {
    "int8": "smallint",
    "int16": "smallint",
    "int32": "integer",
    "int64": "bigint",
    "float32": "real",
    "float64": "double precision",
    "bool": "boolean",
    "date": "date",
    "text": "text",
    "time": "time",
}


def postgres_way(connection: Any) -> Way:
    """Tables that are made in Postgres by plain SQL, and reached by ibis."""

    def put(table: Table, _: Path) -> Any:
        name = f"ways_{next(_NUMBERS)}"
        columns = all_columns(table)
        cells = [_literals(column) for column in columns]
        names = ", ".join(f'"{column.name}" {_postgres_type(column)}' for column in columns)
        rows = ", ".join(f"({', '.join(row)})" for row in zip(*cells, strict=True))
        connection.raw_sql(f'CREATE TABLE "{name}" ({names})').close()
        connection.raw_sql(f'INSERT INTO "{name}" VALUES {rows}').close()
        return connection.table(name)

    lacks = {
        r"uint": "Postgres has no unsigned integers",
        r"enum": "ibis does not tell what an enum of Postgres declares",
        r"\w+\[ns": "time in Postgres ends at microseconds",
    }
    return Way("Postgres", put, _literals, lacks=lacks, n_tables=_N_TABLES)


def _postgres_type(column: Column) -> str:
    base, first, second = storing.parts_of(column.stored)
    if base == "timestamp":
        return "timestamptz" if second else "timestamp"
    if base == "decimal":
        return f"numeric({first},{second})"
    return _POSTGRES.get(column.kind) or _POSTGRES[base]


def _literals(column: Column) -> list[str]:
    """The cells as texts that Postgres reads in the type of the column."""
    zone = "+00" if storing.parts_of(column.stored)[2] and column.kind == "stamp" else ""
    written: list[str | None] = [*truth.texts(column, truth.NOTHING)]
    if column.kind == "float":
        written = [None if cell is None else repr(cell) for cell in column.cells]
    return [
        "NULL" if cell is None else "'" + cell.replace("'", "''") + f"{zone}'" for cell in written
    ]
