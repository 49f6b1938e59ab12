"""Files that DuckDB counts where they are: patterns, folders (hive-partitioned too), a memory limit."""

from __future__ import annotations

import csv
import glob
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nullproof.errors import NullproofError, missing_extra
from nullproof.scratch import own_folder
from nullproof.tables.headers import refuse_repeated
from nullproof.tables.spellings import USUAL, Spellings
from nullproof.tables.text_files import separator_of
from nullproof.tables.writings import Verdicts, Writings, writing
from nullproof.words import many

if TYPE_CHECKING:
    import polars as pl

FOLDERS = "nullproof-count-"
_PARQUET = (".parquet", ".pq")
_TEXT = (".csv", ".tsv", ".tab", ".txt")
_PACKED = (".gz", ".zst")
# Texts that are numbers by the rule of `values.NUMBER`, and that 64 bits or doubles keep apart.
_SPACE = r"[ \t\r\n]*"
_INTEGER = rf"{_SPACE}[+-]?[0-9]{{1,18}}{_SPACE}"
_DOUBLE = (
    rf"{_SPACE}[+-]?([0-9]{{1,15}}|[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+\.?[0-9]*[eE][+-]?[0-9]+"
    rf"|\.[0-9]+[eE][+-]?[0-9]+|(?i:inf)){_SPACE}"
)
_PATTERNS = {"BIGINT": _INTEGER, "DOUBLE": _DOUBLE}
_SAMPLE = 1_000
_GLIMPSE = 100_000
Nulled = Callable[[], Mapping[str, Collection[str]]]


def is_many(path: str | Path) -> bool:
    """Whether a path is a folder or a pattern rather than one file."""
    return Path(path).is_dir() or (not Path(path).exists() and glob.has_magic(str(path)))


@dataclass(frozen=True)
class LazyFiles:
    """Files as a DuckDB relation; ``nulled`` and ``writings`` of text files as for `Table`."""

    relation: Any
    from_text: bool = False
    nulled: Nulled = dict
    writings: Writings = field(default_factory=dict)


@contextmanager
def duckdb_files(
    path: str | Path,
    *,
    spellings: Spellings = USUAL,
    as_text: Collection[str] = (),
    like: Writings | None = None,
    memory_limit: str | None = None,
) -> Iterator[LazyFiles]:
    """Open files as a DuckDB relation.

    Parameters
    ----------
    path
        A file, a folder or a pattern; folders like ``year=2024`` become columns.
    spellings
        What means missing in text files, if not the usual spellings.
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
                    texts = _TextFiles(connection, pattern, hive, spellings)
                    spelled = partial(texts.nulled, [s for s in spellings.nulls if s])
                    cells = texts.cells(as_text, like)
                    yield LazyFiles(cells, True, spelled, texts.writings)
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
    """Refuse Parquet files of which DuckDB numbers names (A_1), or takes two columns for one."""
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
    """What is wrong, without DuckDB's own advice."""
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
    told = [line.strip() for line in lines[:3]] if "CSV Error" in lines[0] else lines[:1]
    return "; ".join(told)[:300]


def _pattern(path: str | Path) -> tuple[str, bool]:
    """The pattern of the files, and whether they are text."""
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

    def __init__(self, connection: Any, pattern: str, hive: bool, spellings: Spellings) -> None:
        self.connection, self.pattern, self.hive = connection, pattern, hive
        self.spellings = spellings
        self.header = _first_line(connection, pattern).removeprefix("\ufeff")
        tabs = _bare(pattern.lower()).endswith((".tsv", ".tab"))
        self.separator = "\t" if tabs else separator_of(self.header)
        self.writings: Writings = {}
        if hive:
            lines = [_first_line(connection, glob.escape(file)) for file in _fitting(pattern)]
            whole = [x.removeprefix("\ufeff") for x in lines if x.count('"') % 2 == 0]
            headers = csv.reader(whole, delimiter=self.separator)
            _refuse_alike((name for header in headers for name in header), pattern, str.strip)

    def cells(self, as_text: Collection[str], like: Writings | None) -> Any:
        """The table; ``writings`` are known after it was made."""
        cells = self._texts({"", *self.spellings.nulls})
        names = self._names(cells.columns)
        columns = [*zip(cells.columns, names, strict=True)]
        numbers = _number_types(cells, columns, as_text)
        texts = [(c, n) for c, n in columns if c not in numbers and n not in as_text]
        self.writings = self._written(cells, texts, like)
        plain = [
            f"{writing(self.writings[name]).sql(_quoted(column))} AS {_quoted(column)}"
            if name in self.writings
            else _quoted(column)
            for column, name in columns
        ]
        if self.writings:
            cells = cells.project(", ".join(plain))
            others = [*as_text, *(n for _, n in columns if n not in self.writings)]
            numbers |= _number_types(cells, columns, others)
        wanted = [
            f"{_cell(column, numbers.get(column))} AS {_quoted(name)}" for column, name in columns
        ]
        cells.project(", ".join(wanted)).create("cells")
        return self.connection.table("cells")

    def nulled(self, spellings: Sequence[str]) -> dict[str, list[str]]:
        """Which of some spellings the first rows hold, by column."""
        if not spellings:
            return {}
        texts = self._texts({""})
        listed = ", ".join("'" + spelling.replace("'", "''") + "'" for spelling in spellings)
        wanted = [
            f"list(DISTINCT {_quoted(column)}) FILTER ({_quoted(column)} IN ({listed}))"
            for column in texts.columns
        ]
        (found,) = texts.limit(_GLIMPSE).aggregate(", ".join(wanted)).fetchall()
        names = self._names(texts.columns)
        return {name: sorted(held) for name, held in zip(names, found, strict=True) if held}

    def _names(self, columns: Sequence[str]) -> list[str]:
        """The names of columns with the spaces around them, which DuckDB cuts off."""
        header = next(csv.reader([self.header], delimiter=self.separator), [])
        # A name in quotes may go on in the next line.
        if header and self.header.count('"') % 2 == 0:
            refuse_repeated(header, self.pattern)
            self._refuse_misread(header, columns)
        written = {name.strip(): name for name in header}
        return [written.get(column, column) for column in columns]

    def _refuse_misread(self, header: Sequence[str], columns: Sequence[str]) -> None:
        """Refuse a header that DuckDB changes without a word."""
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

    def _texts(self, missing: Collection[str]) -> Any:
        return self.connection.read_csv(
            self.pattern,
            header=True,
            all_varchar=True,
            na_values=sorted(missing),
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

    def _written(
        self, cells: Any, texts: Sequence[tuple[str, str]], like: Writings | None
    ) -> dict[str, str]:
        """How each column of texts writes its numbers and dates, by all of its distinct texts."""
        if like is not None:
            return {name: like[name] for _, name in texts if name in like}
        verdicts = Verdicts(self.spellings, semicolons=self.separator == ";")
        for column, name in texts:
            own = cells.project(_quoted(column)).filter(f"{_quoted(column)} IS NOT NULL")
            # Most columns of texts are settled by a few of them.
            if not verdicts.is_text(_fetched(own.limit(_SAMPLE))):
                verdicts.judge(name, _fetched(own.distinct()))
        return verdicts.told()


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


def _number_types(
    cells: Any,
    columns: Sequence[tuple[str, str]],
    as_text: Collection[str],
) -> dict[str, str]:
    """Which columns are numbers, and whether 64 bits or doubles hold them exactly.

    A spelling of missing with spaces around it makes a column text here. It is then read from its
    distinct values, like any text: that takes longer, and gives the same.
    """
    types: dict[str, str] = {}
    sample = [*zip(*cells.limit(_SAMPLE).fetchall(), strict=True)]
    left = {
        column: texts
        for (column, name), texts in zip(columns, sample, strict=bool(sample))
        if name not in as_text
    }
    for number, pattern in _PATTERNS.items():
        # A sampled text that does not fit settles its column; only the other columns are asked about.
        fits = re.compile(pattern).fullmatch
        asked = [
            column for column, texts in left.items() if all(fits(x) for x in texts if x is not None)
        ]
        if not asked:
            continue
        wanted = [
            f"bool_and(regexp_full_match({_quoted(column)}, '{pattern}'))" for column in asked
        ]
        (found,) = cells.aggregate(", ".join(wanted)).fetchall()
        types |= {column: number for column, all_fit in zip(asked, found, strict=True) if all_fit}
        left = {column: texts for column, texts in left.items() if column not in types}
    return types


def _cell(column: str, number: str | None) -> str:
    return _quoted(column) if number is None else f"CAST({_quoted(column)} AS {number})"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
