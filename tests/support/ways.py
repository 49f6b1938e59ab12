"""Every cheap way from a plain table to something that is counted, and what each way cannot carry."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from nullproof import CountIndex
from support import storing
from support.plain_counter import Column, Table
from support.storing import Uncarried

Store = Callable[[Column], Any]
Lacks = Mapping[str, str]
_LIMIT = {"memory_limit": "200MB"}


@dataclass(frozen=True)
class Way:
    """How a plain table becomes one of a library or a file.

    Parameters
    ----------
    put
        Make the table, with files in the given folder.
    store
        Make one column; `Uncarried` tells that this way cannot hold it.
    lacks
        Patterns of stored types that this way has not, each with the reason.
    may_refuse
        Patterns of stored types that this way may count or refuse, each with the reason.
    points
        Whether points can come this way too.
    n_tables
        How many random tables come this way.
    """

    name: str
    put: Callable[[Table, Path], Any]
    store: Store
    options: Mapping[str, Any] = field(default_factory=dict)
    lacks: Lacks = field(default_factory=dict)
    may_refuse: Lacks = field(default_factory=dict)
    points: bool = True
    n_tables: int = 100

    def why_not(self, column: Column) -> str | None:
        """Why this way cannot carry a column; None if it can."""
        for pattern, reason in self.lacks.items():
            if re.match(pattern, column.stored):
                return reason
        try:
            self.store(column)
        except Uncarried as reason_:
            return str(reason_)
        return None

    def refuses(self, column: Column) -> bool:
        """Whether this way is free to refuse a column that the page counts."""
        return any(re.match(pattern, column.stored) for pattern in self.may_refuse)

    def count(self, table: Table, folder: Path, **options: Any) -> CountIndex:
        """Count the table as it comes this way."""
        source = self.put(table, self.place(folder))
        return CountIndex.from_table(source, table.label.name, **options, **self.options)

    def place(self, folder: Path) -> Path:
        """A folder of this way's own."""
        own = folder / self.name.replace(" ", "_")
        own.mkdir(exist_ok=True)
        return own


class RowsWay(Way):
    """Plain rows, which have a door of their own."""

    def count(self, table: Table, folder: Path, **options: Any) -> CountIndex:
        if like := options.get("like"):
            table = table.only(*like.features)
            rows, labels = self.put(table, folder)
            return CountIndex.from_rows(rows, labels, like=like)
        rows, labels = self.put(table, folder)
        taken = {k: options[k] for k in ("missing", "missing_only", "keep") if k in options}
        return CountIndex.from_rows(rows, labels, **taken)


def all_columns(table: Table) -> tuple[Column, ...]:
    """The columns, and the labels."""
    return (*table.columns, table.label)


# In memory ---------------------------------------------------------------------------------------


def _rows(table: Table, _: Path) -> Any:
    cells = [storing.python_cells(column) for column in table.columns]
    names = [column.name for column in table.columns]
    rows = [dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)]
    return rows, storing.python_cells(table.label)


def _mapping(table: Table, _: Path) -> Any:
    return {column.name: storing.python_cells(column) for column in all_columns(table)}


def _pandas(store: Store, table: Table, _: Path) -> Any:
    return pd.DataFrame({column.name: store(column) for column in all_columns(table)})


def arrow_table(table: Table) -> Any:
    """An Arrow table with one chunk per part, empty ones too."""
    made = {}
    for column in all_columns(table):
        whole = storing.arrow_array(column)
        chunks = [whole[part.start : part.stop] for part in table.parts]
        made[column.name] = pa.chunked_array(chunks, type=whole.type)
    return pa.table(made)


def polars_frame(table: Table) -> pl.DataFrame:
    """A frame of polars with one chunk per part."""
    frame = pl.DataFrame([storing.polars_series(column) for column in all_columns(table)])
    return pl.concat([frame[part.start : part.stop] for part in table.parts], rechunk=False)


# DuckDB ------------------------------------------------------------------------------------------


@cache
def _connection() -> Any:
    return duckdb.connect()


def _duckdb_store(column: Column) -> Any:
    """Arrow's arrays; enums come as texts that DuckDB casts."""
    if column.stored == "enum":
        return pa.array(column.cells, pa.string())
    return storing.arrow_array(column)


def _duckdb_type(column: Column) -> str | None:
    if column.stored != "enum":
        return None
    words = ", ".join("'" + word.replace("'", "''") + "'" for word in column.categories)
    return f"ENUM({words})"


def _relation(table: Table, _: Path) -> Any:
    relation = _connection().from_arrow(
        pa.table({column.name: _duckdb_store(column) for column in all_columns(table)})
    )
    wanted = [(f'"{column.name}"', _duckdb_type(column)) for column in all_columns(table)]
    return relation.project(", ".join(f"{n}::{t} AS {n}" if t else n for n, t in wanted))


# Files -------------------------------------------------------------------------------------------


def parquet_file(table: Table, folder: Path) -> str:
    """Write one file with a row group per part."""
    path = folder / "a.parquet"
    whole = arrow_table(table)
    with pq.ParquetWriter(path, whole.schema) as writer:
        for part in table.parts:
            writer.write_table(whole.slice(part.start, len(part)))
    return str(path)


def parquet_folder(table: Table, folder: Path) -> Path:
    """Write one file per part, the empty ones too."""
    whole = arrow_table(table)
    for path in folder.glob("part*.parquet"):
        path.unlink()
    for number, part in enumerate(table.parts):
        pq.write_table(whole.slice(part.start, len(part)), folder / f"part{number}.parquet")
    return folder


def _parquet_pattern(table: Table, folder: Path) -> str:
    return str(parquet_folder(table, folder) / "part*.parquet")


def _scan(table: Table, folder: Path) -> Any:
    polars_frame(table).write_parquet(folder / "polars.parquet")
    return pl.scan_parquet(folder / "polars.parquet")


def _read_relation(table: Table, folder: Path) -> Any:
    return _connection().read_parquet(parquet_file(table, folder))


@dataclass(frozen=True)
class _Style:
    """How a text file is written; all styles are the same table."""

    separator: str
    line_end: str
    quoted: bool
    last_end: bool

    @classmethod
    def of(cls, table: Table) -> _Style:
        """Choose a style by the table's own content."""
        seed = zlib.crc32(repr(table).encode())
        separator = ",,;\t|"[seed % 5]
        return cls(
            separator, ("\n", "\r\n")[seed // 5 % 2], seed // 10 % 4 == 0, seed // 40 % 2 > 0
        )

    def line(self, cells: list[str]) -> str:
        special = (self.separator, '"', "\n", "\r")
        written = [
            '"' + cell.replace('"', '""') + '"'
            if self.quoted or any(c in cell for c in special)
            else cell
            for cell in cells
        ]
        return self.separator.join(written)

    def text(self, table: Table, rows: range) -> str:
        columns = all_columns(table)
        lines = [self.line([column.name for column in columns])]
        lines += [self.line([column.cells[row] for column in columns]) for row in rows]
        return self.line_end.join(lines) + self.line_end * self.last_end


def _csv_file(table: Table, folder: Path) -> str:
    text = _Style.of(table).text(table, range(table.n_rows))
    path = folder / "a.csv"
    path.write_bytes(text.encode())
    return str(path)


def _csv_folder(table: Table, folder: Path) -> Path:
    """Write one file per part; a file needs a row."""
    style = _Style.of(table)
    for path in folder.glob("*.csv"):
        path.unlink()
    for number, part in enumerate(table.parts):
        if part:
            (folder / f"part{number}.csv").write_bytes(style.text(table, part).encode())
    return folder


def _csv_pattern(table: Table, folder: Path) -> str:
    return str(_csv_folder(table, folder) / "part?.csv")


def _text_only(column: Column) -> Any:
    if column.kind != "written":
        raise Uncarried("text files hold texts")


# All of them -------------------------------------------------------------------------------------

_IN_ARROW = storing.arrow_array
_by_duckdb = partial(Way, n_tables=20)

TYPED_WAYS = (
    RowsWay("rows", _rows, storing.python_cells, points=False),
    Way("mapping", _mapping, storing.python_cells, points=False),
    Way("pandas objects", partial(_pandas, storing.pandas_objects), storing.pandas_objects),
    Way("pandas NumPy", partial(_pandas, storing.pandas_numpy), storing.pandas_numpy),
    Way("pandas nullable", partial(_pandas, storing.pandas_nullable), storing.pandas_nullable),
    Way("pandas Arrow", partial(_pandas, storing.pandas_arrow), storing.pandas_arrow),
    Way("polars", lambda table, _: polars_frame(table), storing.polars_series),
    Way("polars lazy", lambda table, _: polars_frame(table).lazy(), storing.polars_series),
    Way("polars scan", _scan, storing.polars_series, n_tables=60),
    Way("pyarrow", lambda table, _: arrow_table(table), _IN_ARROW),
    Way("Parquet", parquet_file, _IN_ARROW),
    _by_duckdb("Parquet by DuckDB", parquet_file, _IN_ARROW, options=_LIMIT),
    _by_duckdb("Parquet folder", parquet_folder, _IN_ARROW, points=False),
    _by_duckdb("Parquet pattern", _parquet_pattern, _IN_ARROW, points=False),
    Way("DuckDB", _relation, _duckdb_store, n_tables=40),
    _by_duckdb("DuckDB read_parquet", _read_relation, _IN_ARROW),
    Way(
        "ibis",
        lambda table, _: ibis.memtable(arrow_table(table)),
        _IN_ARROW,
        may_refuse={r"timestamp\[s": "ibis makes nanoseconds of them, which end in 1677 and 2262"},
        n_tables=20,
    ),
)
TEXT_WAYS = (
    Way("CSV", _csv_file, _text_only),
    _by_duckdb("CSV by DuckDB", _csv_file, _text_only, options=_LIMIT),
    _by_duckdb("CSV folder", _csv_folder, _text_only, points=False),
    _by_duckdb("CSV pattern", _csv_pattern, _text_only, points=False),
)
