"""Files that DuckDB counts where they are: patterns, folders (hive-partitioned too), a memory limit."""

from __future__ import annotations

import csv
import glob
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nullproof.data.files import refuse_repeated, separator_of
from nullproof.data.missing import DOUBTFUL, SURE, USUAL, Missing, Rule
from nullproof.data.texts import FormatFinder, Formats
from nullproof.errors import NullproofError, missing_extra
from nullproof.scratch import own_folder
from nullproof.words import many

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
    # Of a path that is too long, these say no instead of an error.
    if os.path.isdir(path):  # noqa: PTH112
        return True
    return not os.path.exists(path) and glob.has_magic(str(path))  # noqa: PTH110


class LazyFiles(NamedTuple):
    """Files as a DuckDB relation; ``taken`` and ``formats`` of text files as for `Table`."""

    relation: Any
    in_file: bool
    taken: Mapping[str, Sequence[str]]
    formats: Formats


@contextmanager
def duckdb_files(
    path: str | Path,
    *,
    missing: Missing = USUAL,
    as_text: Collection[str] = (),
    like: Formats | None = None,
    memory_limit: str | None = None,
) -> Iterator[LazyFiles]:
    """Open files as a DuckDB relation.

    Parameters
    ----------
    path
        A file, a folder or a pattern; folders like ``year=2024`` become columns.
    as_text
        Columns of text files to keep as they are written.
    like
        How the training table writes numbers and dates, if these are to be read as that was.
    memory_limit
        As DuckDB writes it, e.g. ``"1GB"``; what does not fit goes to a temporary folder.
    """
    try:
        import duckdb
    except ImportError:
        raise missing_extra("counting a folder or a pattern of files", "duckdb") from None
    pattern, is_text = _pattern(path)
    hive = is_many(path)
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
                    yield _text_files(connection, pattern, missing, as_text, like, hive=hive)
                else:
                    yield LazyFiles(_parquet(connection, pattern, hive), False, {}, {})
        except duckdb.Error as problem:
            raise NullproofError(f"DuckDB cannot count {path}: {_brief(problem)}") from problem


def _parquet(connection: Any, pattern: str, hive: bool) -> Any:
    import polars as pl

    try:
        names = [name for file in _fitting(pattern) for name in pl.read_parquet_schema(file)]
    except pl.exceptions.PolarsError as problem:
        raise NullproofError(f"cannot read {pattern}: {str(problem).splitlines()[0]}") from problem
    _refuse_alike(names, pattern)
    return connection.read_parquet(pattern, union_by_name=True, hive_partitioning=hive)


def _refuse_alike(names: Iterable[str], pattern: str) -> None:
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(name.strip().lower(), name)
        if other != name:
            raise NullproofError(
                f"{pattern} has the columns {other!r} and {name!r}, which DuckDB does not tell apart; "
                "give one of them another name"
            )


def _brief(problem: Exception) -> str:
    """Return what is wrong, without DuckDB's own advice."""
    lines = str(problem).strip().splitlines()
    if "when sniffing file" in lines[0]:
        return (
            "some rows have other fields than the header, or a quote stands inside a value or is "
            "never closed; mend those rows: put such values in quotes and double the quotes in them"
        )
    if "not utf-8" in str(problem):
        return (
            "some text is not UTF-8; save it as UTF-8, or let one file be read without memory_limit"
        )
    shown = [line.strip() for line in lines[:3]] if "CSV Error" in lines[0] else lines[:1]
    return "; ".join(shown)[:300]


def _pattern(path: str | Path) -> tuple[str, bool]:
    """Return the pattern of the files, and whether they are text."""
    if Path(path).is_dir():
        names = {_suffix(p): p for p in sorted(Path(path).rglob("*")) if p.is_file()}
        kinds = [suffix for suffix in names if _bare(suffix) in (*_PARQUET, *_TEXT)]
        if len(kinds) != 1:
            came = f"{' and '.join(sorted(kinds))} files" if kinds else "no CSV or Parquet files"
            raise NullproofError(f"the folder {path} holds {came}; give one kind by a pattern")
        return f"{glob.escape(str(path))}/**/*{kinds[0]}", _bare(kinds[0]) in _TEXT
    found = _fitting(str(path)) if is_many(path) else [str(path)]
    if not found or not Path(found[0]).exists():
        raise NullproofError(f"no file fits {path}; check the path")
    suffixes = {_bare(_suffix(Path(name))) for name in found}
    if suffixes <= {*_PARQUET}:
        return str(path), False
    if suffixes <= {*_TEXT}:
        return str(path), True
    raise NullproofError(
        f"DuckDB counts CSV, TSV and Parquet files, not {' and '.join(sorted(suffixes))}; "
        "give files of one of those kinds"
    )


def _fitting(pattern: str) -> list[str]:
    """Return the files that fit a pattern, which may be the name of one."""
    if Path(pattern).is_file():
        return [pattern]
    return sorted(glob.iglob(pattern, recursive=True))  # noqa: PTH207 - absolute patterns too


def _suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _PACKED:
        return "".join(suffixes[-2:])
    return suffixes[-1] if suffixes else ""


def _bare(suffix: str) -> str:
    for packed in _PACKED:
        suffix = suffix.removesuffix(packed)
    return suffix


def _text_files(
    connection: Any,
    pattern: str,
    missing: Missing,
    as_text: Collection[str],
    like: Formats | None,
    *,
    hive: bool,
) -> LazyFiles:
    """Put the cells of text files into a table on disk, by columns.

    What DuckDB itself would take for numbers or dates is not what docs/values.md says: every cell is
    read as text, and numbers are made of those columns that are numbers by our own rule. Other columns
    stay text, and are read like any text file, from their distinct values. Without the table, text
    would be parsed again for every column that is counted.
    """
    lines = [_first_line(connection, glob.escape(file)) for file in _fitting(pattern)]
    first = lines[0]
    tabs = _bare(pattern.lower()).endswith((".tsv", ".tab"))
    separator = "\t" if tabs else separator_of(first)
    # A name in quotes may go on in the next line.
    whole = [line for line in lines if line.count('"') % 2 == 0]
    headers = [*csv.reader(whole, delimiter=separator)]
    cells = connection.read_csv(
        pattern,
        header=True,
        all_varchar=True,
        na_values=[""],
        # Unless it is told otherwise, DuckDB takes a quote that is never closed for a part of the
        # value, and lines that begin with # for comments.
        delimiter=separator,
        quotechar='"',
        escapechar='"',
        comment="",
        union_by_name=True,
        hive_partitioning=hive,
        hive_types_autocast=False,
    )
    _refuse_misread(headers, pattern, None if hive else len(cells.columns))
    # DuckDB cuts off the spaces around names.
    written = {name.strip(): name for header in headers for name in header}
    names = [written.get(column, column) for column in cells.columns]
    cells = cells.project(
        ", ".join(
            f"{_quoted(column)} AS {_quoted(name)}"
            for column, name in zip(cells.columns, names, strict=True)
        )
    )
    rules = {name: missing.rule(name, in_file=True) for name in names if name not in as_text}
    numbers, taken = _number_types(cells, rules)
    wanted = []
    for name in names:
        cell = _quoted(name)
        if name in numbers:
            spelled = _spelled(cell, rules[name])
            cell = f"CAST(CASE WHEN {spelled} THEN NULL ELSE {cell} END AS {numbers[name]})"
        wanted.append(f"{cell} AS {_quoted(name)}")
    cells.project(", ".join(wanted)).create("cells")
    cells = connection.table("cells")
    texts = [name for name in rules if name not in numbers]
    if like is not None:
        formats = {name: like[name] for name in texts if name in like}
    else:
        finder = FormatFinder(semicolons=separator == ";")
        for name in texts:
            # Most columns of texts are settled by a few of them.
            if finder.may_have_one(_distinct(cells.limit(_SAMPLE), name), rules[name]):
                finder.look_at(name, _distinct(cells, name), rules[name])
        formats = finder.formats()
    return LazyFiles(cells, True, taken, formats)


def _refuse_misread(headers: Sequence[list[str]], pattern: str, n_fields: int | None) -> None:
    """Reject headers that DuckDB changes without a word."""
    for header in headers:
        refuse_repeated(header, pattern)
        if n_fields is not None and len(header) != n_fields:
            raise NullproofError(
                f"{pattern} is ragged: the header has {many(len(header), 'field')}, its rows have "
                f"{n_fields}; mend that"
            )
        if not all(name.strip() for name in header):
            raise NullproofError(
                f"{pattern} has a column without a name, to which DuckDB gives one of its own; give "
                "each column a name, or write the files without it (in pandas: to_csv(…, index=False))"
            )
    _refuse_alike((name for header in headers for name in header), pattern)


def _number_types(
    cells: Any, rules: Mapping[str, Rule]
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return which columns are numbers of which type, and the spellings of missing in them.

    A doubtful spelling of missing makes a column text here. It is then read from its distinct
    values, like any text: that takes longer, and gives the same.
    """
    wanted = []
    for name, rule in rules.items():
        cell = _quoted(name)
        spelled = _spelled(cell, rule)
        wanted += [f"list(DISTINCT trim({cell})) FILTER ({spelled})", f"bool_or(NOT {spelled})"]
        wanted += [
            f"bool_and({spelled} OR regexp_full_match({cell}, '{pattern}'))"
            for pattern in _PATTERNS.values()
        ]
    types: dict[str, str] = {}
    taken: dict[str, list[str]] = {}
    # All columns in one query: every query parses the files.
    found = iter(cells.aggregate(", ".join(wanted)).fetchall()[0] if wanted else ())
    for name in rules:
        spellings, some_known = next(found), next(found)
        fitting = [number for number in _PATTERNS if next(found)]
        if fitting and some_known:
            types[name] = fitting[0]
            taken[name] = sorted({*(spellings or ())} - {""})
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


def _first_line(connection: Any, pattern: str) -> str:
    lines = connection.read_csv(
        pattern,
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


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
