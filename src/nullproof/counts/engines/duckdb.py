"""Files that DuckDB counts where they are: patterns, folders (hive-partitioned too), a memory limit."""

from __future__ import annotations

import csv
import glob
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nullproof.data.files import refuse_repeated, separator_of
from nullproof.data.missing import DOUBTFUL, SURE, USUAL, Missing, Rule
from nullproof.data.texts import FormatFinder, Formats, format_named
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
    return Path(path).is_dir() or (not Path(path).exists() and glob.has_magic(str(path)))


@dataclass(frozen=True)
class LazyFiles:
    """Files as a DuckDB relation; ``taken`` and ``formats`` of text files as for `Table`."""

    relation: Any
    from_text: bool = False
    taken: Mapping[str, Sequence[str]] = field(default_factory=dict)
    formats: Formats = field(default_factory=dict)


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
                    texts = _TextFiles(connection, pattern, hive, missing)
                    cells = texts.cells(as_text, like)
                    yield LazyFiles(cells, True, texts.taken, texts.formats)
                else:
                    yield LazyFiles(_parquet(connection, pattern, hive))
        except duckdb.Error as problem:
            raise NullproofError(f"DuckDB cannot count {path}: {_brief(problem)}") from problem


def _parquet(connection: Any, pattern: str, hive: bool) -> Any:
    try:
        files = connection.read_parquet(pattern, union_by_name=True, hive_partitioning=hive)
        # Old versions of DuckDB fail only when they are asked for the names.
        _ = files.columns
        _refuse_mixed_up(pattern)
        return files
    except (RuntimeError, UnicodeDecodeError) as problem:
        raise NullproofError(
            f"DuckDB cannot name the columns of {pattern}: {problem}; give them names in UTF-8"
        ) from problem


def _refuse_mixed_up(pattern: str) -> None:
    """Reject Parquet files of which DuckDB numbers names (A_1), or takes two columns for one."""
    import duckdb

    # A connection of its own, since the other one may change the order of what it gives.
    with duckdb.connect() as connection:
        asked = "SELECT file_name, name, coalesce(num_children, 0) FROM parquet_schema(?)"
        elements = connection.execute(asked, [pattern]).fetchall()
    names: dict[str, list[str]] = {}
    n_inside = 0
    for file, name, n_children in elements:
        if file not in names:
            # The first element is the table itself.
            names[file], n_inside = [], 0
        elif n_inside:
            n_inside += n_children - 1
        else:
            names[file].append(name)
            n_inside = n_children
    for own in names.values():
        refuse_repeated(own, pattern)
    _refuse_alike((name for own in names.values() for name in own), pattern)


def _refuse_alike(names: Iterable[str], pattern: str, trimmed: Callable[[str], str] = str) -> None:
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(trimmed(name).lower(), name)
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


class _TextFiles:
    """Text files whose cells go to a table on disk, by columns.

    What DuckDB itself would take for numbers or dates is not what docs/values.md says: every cell is
    read as text, and numbers are made of those columns that are numbers by our own rule. Other columns
    stay text, and are read like any text file, from their distinct values. Without the table, text
    would be parsed again for every column that is counted.
    """

    def __init__(self, connection: Any, pattern: str, hive: bool, missing: Missing) -> None:
        self.connection, self.pattern, self.hive, self.missing = connection, pattern, hive, missing
        self.header = _first_line(connection, pattern).removeprefix("\ufeff")
        tabs = _bare(pattern.lower()).endswith((".tsv", ".tab"))
        self.separator = "\t" if tabs else separator_of(self.header)
        self.formats: dict[str, str] = {}
        self.taken: dict[str, list[str]] = {}
        if hive:
            lines = [_first_line(connection, glob.escape(file)) for file in _fitting(pattern)]
            whole = [x.removeprefix("\ufeff") for x in lines if x.count('"') % 2 == 0]
            headers = csv.reader(whole, delimiter=self.separator)
            _refuse_alike((name for header in headers for name in header), pattern, str.strip)

    def cells(self, as_text: Collection[str], like: Formats | None) -> Any:
        """Make the table; ``formats`` and ``taken`` are known afterwards."""
        cells = self._texts()
        names = dict(zip(cells.columns, self._names(cells.columns), strict=True))
        typed = [column for column, name in names.items() if name not in as_text]
        numbers = self._number_types(cells, typed, names)
        self.formats = self._find_formats(
            cells, {c: names[c] for c in typed if c not in numbers}, like
        )
        written = {c: _quoted(c) for c in names}
        if self.formats:
            written |= {
                column: format_named(self.formats[name]).sql(_quoted(column))
                for column, name in names.items()
                if name in self.formats
            }
            cells = cells.project(", ".join(f"{own} AS {_quoted(c)}" for c, own in written.items()))
            plain = [column for column, name in names.items() if name in self.formats]
            numbers |= self._number_types(cells, plain, names)
        wanted = []
        for column, name in names.items():
            cell = _quoted(column)
            if column in numbers:
                spelled = _spelled(cell, self.missing.rule(name, in_file=True))
                cell = f"CAST(CASE WHEN {spelled} THEN NULL ELSE {cell} END AS {numbers[column]})"
            wanted.append(f"{cell} AS {_quoted(name)}")
        cells.project(", ".join(wanted)).create("cells")
        return self.connection.table("cells")

    def _names(self, columns: Sequence[str]) -> list[str]:
        """Return the names of columns with the spaces around them, which DuckDB cuts off."""
        header = next(csv.reader([self.header], delimiter=self.separator), [])
        # A name in quotes may go on in the next line.
        if header and self.header.count('"') % 2 == 0:
            refuse_repeated(header, self.pattern)
            self._refuse_misread(header, columns)
        written = {name.strip(): name for name in header}
        return [written.get(column, column) for column in columns]

    def _refuse_misread(self, header: Sequence[str], columns: Sequence[str]) -> None:
        """Reject a header that DuckDB changes without a word."""
        if not self.hive and len(header) != len(columns):
            raise NullproofError(
                f"{self.pattern} is ragged: the header has {many(len(header), 'field')}, its rows have "
                f"{len(columns)}; mend that"
            )
        if not all(name.strip() for name in header):
            raise NullproofError(
                f"{self.pattern} has a column without a name, to which DuckDB gives one of its own; give "
                "each column a name, or write the files without it (in pandas: to_csv(…, index=False))"
            )
        _refuse_alike(header, self.pattern, str.strip)

    def _texts(self) -> Any:
        return self.connection.read_csv(
            self.pattern,
            header=True,
            all_varchar=True,
            na_values=[""],
            # Unless it is told otherwise, DuckDB takes a quote that is never closed for a part of the
            # value, and lines that begin with # for comments.
            delimiter=self.separator,
            quotechar='"',
            escapechar='"',
            comment="",
            union_by_name=True,
            hive_partitioning=self.hive,
            hive_types_autocast=False,
        )

    def _find_formats(
        self, cells: Any, texts: Mapping[str, str], like: Formats | None
    ) -> dict[str, str]:
        """Return how each column of texts writes its numbers and dates, by all of its distinct texts."""
        if like is not None:
            return {name: like[name] for name in texts.values() if name in like}
        finder = FormatFinder(semicolons=self.separator == ";")
        for column, name in texts.items():
            own = cells.project(_quoted(column)).filter(f"{_quoted(column)} IS NOT NULL")
            rule = self.missing.rule(name, in_file=True)
            # Most columns of texts are settled by a few of them.
            if finder.may_have_one(_fetched(own.limit(_SAMPLE)), rule):
                finder.look_at(name, _fetched(own.distinct()), rule)
        return finder.formats()

    def _number_types(
        self, cells: Any, columns: Sequence[str], names: Mapping[str, str]
    ) -> dict[str, str]:
        """Return which columns are numbers, and whether 64 bits or doubles hold them exactly.

        A doubtful spelling of missing makes a column text here. It is then read from its distinct
        values, like any text: that takes longer, and gives the same.
        """
        types: dict[str, str] = {}
        sample = [*zip(*cells.limit(_SAMPLE).fetchall(), strict=True)]
        first = dict(zip(cells.columns, sample, strict=True)) if sample else {}
        rules = {column: self.missing.rule(names[column], in_file=True) for column in columns}
        left = [column for column in columns if column in first]
        for number, pattern in _PATTERNS.items():
            # A sampled text that does not fit settles its column; only the others are asked about.
            fits = re.compile(pattern).fullmatch
            asked = [
                column
                for column in left
                if all(x is None or fits(x) or rules[column].is_missing(x) for x in first[column])
            ]
            if not asked:
                continue
            wanted = []
            for column in asked:
                cell = _quoted(column)
                spelled = _spelled(cell, rules[column])
                wanted.append(f"bool_and({spelled} OR regexp_full_match({cell}, '{pattern}'))")
                wanted.append(f"list(DISTINCT trim({cell})) FILTER ({spelled})")
                wanted.append(f"bool_or(NOT {spelled})")
            (found,) = cells.aggregate(", ".join(wanted)).fetchall()
            for j, column in enumerate(asked):
                all_fit, taken, some_known = found[3 * j : 3 * j + 3]
                if all_fit and some_known:
                    types[column] = number
                    if taken:
                        self.taken[names[column]] = sorted(set(taken) - {""})
            left = [column for column in left if column not in types]
        return types


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


def _fetched(cells: Any) -> pl.Series:
    import polars as pl

    return pl.Series([text for (text,) in cells.fetchall()], dtype=pl.String)


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
    return next((line for (line,) in lines.limit(1).fetchall()), "") or ""


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
