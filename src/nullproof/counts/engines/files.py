"""Count files with DuckDB: patterns, folders (also hive-partitioned), a memory limit."""

from __future__ import annotations

import csv
import glob
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw

from nullproof.counts.engines.columns import LazyTable
from nullproof.data.files import separator_of
from nullproof.data.missing import DOUBTFUL, SURE, Missing, Rule
from nullproof.data.options import stay_text
from nullproof.data.schema import Schema
from nullproof.data.texts import FormatFinder
from nullproof.errors import NullproofError, missing_extra
from nullproof.scratch import own_folder

if TYPE_CHECKING:
    import polars as pl

FOLDERS = "nullproof-count-"
_PARQUET = (".parquet", ".pq")
_TEXT = (".csv", ".tsv", ".tab", ".txt")
_PACKED = (".gz", ".zst")
# Texts that are numbers by the rule of docs/values.md, and that 64 bits or doubles keep apart.
_SPACE = r"[ \t\r\n]*"
_PATTERNS = {
    "BIGINT": rf"{_SPACE}[+-]?[0-9]{{1,18}}{_SPACE}",
    "DOUBLE": rf"{_SPACE}[+-]?([0-9]{{1,15}}|[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+\.?[0-9]*[eE][+-]?[0-9]+"
    rf"|\.[0-9]+[eE][+-]?[0-9]+|(?i:inf)){_SPACE}",
}
_SAMPLE = 1_000


def is_many(path: str | Path) -> bool:
    """Return whether a path is a folder or a pattern rather than one file."""
    # For paths that are too long, these return False instead of raising an error.
    if os.path.isdir(path):  # noqa: PTH112
        return True
    return not os.path.exists(path) and glob.has_magic(str(path))  # noqa: PTH110


@contextmanager
def duckdb_table(
    path: str | Path,
    label: str,
    missing: Missing,
    like: Schema | None = None,
    memory_limit: str | None = None,
) -> Iterator[LazyTable]:
    """Open a file, a folder or a pattern as a table of DuckDB; folders like ``year=2024`` become columns.

    They are read like the table of ``like``. Data beyond the memory limit goes to a temporary folder.
    """
    try:
        import duckdb
    except ImportError:
        raise missing_extra("counting a folder or a pattern of files", "duckdb") from None
    files, is_text = _files(path)
    with own_folder(FOLDERS) as spill:
        settings: dict[str, Any] = {
            "temp_directory": str(spill),
            "preserve_insertion_order": "false",
        }
        if memory_limit is not None:
            settings["memory_limit"] = memory_limit
        try:
            with duckdb.connect(f"{spill}/cells.duckdb", config=settings) as connection:
                if is_text:
                    yield _text_files(connection, path, files, label, missing, like)
                else:
                    cells = nw.from_native(_parquet_files(connection, path, files))
                    yield LazyTable(cells, label, missing)
        except duckdb.Error as problem:
            raise NullproofError(f"DuckDB cannot count {path}: {_brief(problem)}") from problem


def _files(path: str | Path) -> tuple[list[str], bool]:
    """Return the files behind a path, and whether they are text; reject files of several kinds."""
    if Path(path).is_dir():
        found = [str(p) for p in sorted(Path(path).rglob("*")) if p.is_file()]
        found = [file for file in found if _suffix(file) in (*_PARQUET, *_TEXT)]
    elif is_many(path):
        found = sorted(glob.iglob(str(path), recursive=True))  # noqa: PTH207 (may be absolute)
    else:
        found = [str(path)] if Path(path).exists() else []
    if not found:
        raise NullproofError(f"no CSV or Parquet file matches {path}; check the path")
    kinds = {*map(_suffix, found)}
    for known in (_PARQUET, _TEXT):
        if kinds <= {*known}:
            return found, known is _TEXT
    raise NullproofError(
        f"DuckDB counts files of one kind, CSV, TSV or Parquet, and {path} has "
        f"{' and '.join(sorted(kinds))}; give one kind by a pattern"
    )


def _suffix(name: str) -> str:
    """Return the ending of a file's name, before that of a packed one."""
    path = Path(name.lower())
    return (path.with_suffix("") if path.suffix in _PACKED else path).suffix


def _parquet_files(connection: Any, path: str | Path, files: list[str]) -> Any:
    import polars as pl

    try:
        headers = [[*pl.read_parquet_schema(file)] for file in files]
    except pl.exceptions.PolarsError as problem:
        raise NullproofError(f"cannot read {path}: {str(problem).splitlines()[0]}") from problem
    hive = is_many(path)
    cells = connection.read_parquet(
        [*map(glob.escape, files)], union_by_name=True, hive_partitioning=hive
    )
    _refuse_other_names(path, headers, cells.columns, hive)
    return cells


def _refuse_other_names(
    path: str | Path, headers: Iterable[Sequence[str]], columns: Sequence[str], hive: bool
) -> None:
    """Reject files whose columns DuckDB would silently rename, join or split."""
    known = {*columns}
    for header in headers:
        names = [name.strip() for name in header]
        as_written = len({*names}) == len(names) and {*names} <= known
        if not as_written or not (hive or len(names) == len(columns)):
            raise NullproofError(
                f"DuckDB reads the header {', '.join(header)!r} of {path} as "
                f"{', '.join(columns)!r}; give each column a name that differs from all others in more "
                "than case, and each row as many fields as the header"
            )


def _brief(problem: Exception) -> str:
    """Return the problem, without DuckDB's advice."""
    lines = str(problem).strip().splitlines()
    if "when sniffing file" in lines[0]:
        return (
            "some rows have a different number of fields than the header, or a quote stands inside a "
            "value or is never closed; fix those rows: quote such values and double the quotes in them"
        )
    if "not utf-8" in str(problem):
        return (
            "some text is not UTF-8; save it as UTF-8, or let one file be read without memory_limit"
        )
    shown = [line.strip() for line in lines[:3]] if "CSV Error" in lines[0] else lines[:1]
    return "; ".join(shown)[:300]


def _text_files(
    connection: Any,
    path: str | Path,
    files: list[str],
    label: str,
    missing: Missing,
    like: Schema | None,
) -> LazyTable:
    """Put the cells of text files into a table on disk, by columns.

    What DuckDB itself would take for numbers or dates is not what docs/values.md says: every cell is
    read as text, and numbers are made of those columns that are numbers by our own rule. Other columns
    stay text, and are read like any text file, from their distinct values. Without the table, text
    would be parsed again for every column that is counted.
    """
    lines = [_first_line(connection, file) for file in files]
    separator = "\t" if _suffix(files[0]) in (".tsv", ".tab") else separator_of(lines[0])
    hive = is_many(path)
    cells = connection.read_csv(
        [*map(glob.escape, files)],
        header=True,
        all_varchar=True,
        na_values=[""],
        # By itself DuckDB takes a quote that is never closed for a part of the value, and lines that
        # begin with # for comments.
        delimiter=separator,
        quotechar='"',
        escapechar='"',
        comment="",
        union_by_name=True,
        hive_partitioning=hive,
        hive_types_autocast=False,
    )
    # A name in quotes may go on in the next line.
    headers = [
        *csv.reader((line for line in lines if line.count('"') % 2 == 0), delimiter=separator)
    ]
    _refuse_other_names(path, headers, cells.columns, hive)
    # DuckDB trims spaces around names.
    written = {name.strip(): name for header in headers for name in header}
    names = {column: written.get(column, column) for column in cells.columns}
    as_text = frozenset(stay_text(label, like))
    rules = {
        column: missing.rule(name, in_file=True)
        for column, name in names.items()
        if name not in as_text
    }
    numbers, taken = _number_types(cells, rules)
    wanted = []
    for column, name in names.items():
        cell = _quoted(column)
        if column in numbers:
            spelled = _spelled(cell, rules[column])
            cell = f"CAST(CASE WHEN {spelled} THEN NULL ELSE {cell} END AS {numbers[column]})"
        wanted.append(f"{cell} AS {_quoted(name)}")
    cells.project(", ".join(wanted)).create("cells")
    cells = connection.table("cells")
    texts = {names[column]: rule for column, rule in rules.items() if column not in numbers}
    if like is not None:
        formats = {name: how for name, how in like.formats if name in texts}
    else:
        finder = FormatFinder(semicolons=separator == ";")
        for name, rule in texts.items():
            # Most columns of texts are settled by a few of them.
            if finder.may_have_one(_distinct(cells.limit(_SAMPLE), name), rule):
                finder.look_at(name, _distinct(cells, name), rule)
        formats = finder.formats()
    by_name = {names[column]: spellings for column, spellings in taken.items()}
    return LazyTable(nw.from_native(cells), label, missing, True, by_name, formats, as_text)


def _first_line(connection: Any, file: str) -> str:
    lines = connection.read_csv(
        glob.escape(file),
        columns={"line": "VARCHAR"},
        header=False,
        delimiter="\x01",
        quotechar="",
        escapechar="",
        auto_detect=False,
        strict_mode=False,
        hive_partitioning=False,
    )
    line = next((line for (line,) in lines.limit(1).fetchall()), "") or ""
    return line.removeprefix("\ufeff")


def _number_types(
    cells: Any, rules: Mapping[str, Rule]
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return which columns are numbers of which type, and the spellings of missing in them.

    A doubtful spelling of missing makes a column text here. It is then read from its distinct
    values, like any text: that takes longer, and gives the same.
    """
    wanted = []
    for column, rule in rules.items():
        cell = _quoted(column)
        spelled = _spelled(cell, rule)
        wanted += [f"list(DISTINCT trim({cell})) FILTER ({spelled})", f"bool_or(NOT {spelled})"]
        wanted += [
            f"bool_and({spelled} OR regexp_full_match({cell}, '{pattern}'))"
            for pattern in _PATTERNS.values()
        ]
    types: dict[str, str] = {}
    taken: dict[str, list[str]] = {}
    # All columns in one query: every query parses the files.
    answers = iter(cells.aggregate(", ".join(wanted)).fetchall()[0] if wanted else ())
    for column in rules:
        spellings, some_known = next(answers), next(answers)
        fitting = [number for number in _PATTERNS if next(answers)]
        if fitting and some_known:
            types[column] = fitting[0]
            taken[column] = sorted({*(spellings or ())} - {""})
    return types, taken


def _spelled(cell: str, rule: Rule) -> str:
    """Return the condition that a text surely means missing."""
    parts = []
    if rule.usual:
        sure = SURE - {value.lower() for value in rule.declared} - DOUBTFUL
        parts.append(f"lower(trim({cell})) IN ({_listed(sorted(sure))})")
    if rule.named:
        parts.append(f"trim({cell}) IN ({_listed(rule.named)})")
    return f"coalesce({' OR '.join(parts)}, false)" if parts else "false"


def _listed(texts: Iterable[str]) -> str:
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)


def _distinct(cells: Any, name: str) -> pl.Series:
    import polars as pl

    texts = cells.project(_quoted(name)).distinct().fetchall()
    return pl.Series([text for (text,) in texts if text is not None], dtype=pl.String)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
