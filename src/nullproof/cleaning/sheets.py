"""The file of a worksheet, CSV or Excel: lines of named texts, out and back."""

from __future__ import annotations

import csv
import datetime as dt
import importlib
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from nullproof.data.sources import open_table
from nullproof.errors import NullproofError, missing_extra
from nullproof.files import write_whole

ENDINGS = (".csv", ".xlsx")
Line = dict[str, str]
_SHEET = "worksheet"
_WIDEST = 60


def write_lines(path: Path, head: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    """Write lines under their head, as an Excel file if the name says so, else as CSV."""
    found = [head, *lines]
    write = _write_excel if path.suffix == ".xlsx" else _write_csv
    write_whole(path, lambda part: write(part, found))


def read_lines(path: Path, needed: Sequence[str]) -> list[tuple[int, Line]]:
    """The lines of a worksheet with their numbers in the file; each has a text for what is needed."""
    return (_read_excel if path.suffix == ".xlsx" else _read_csv)(path, needed)


def _write_csv(path: Path, lines: list[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(lines)


def _write_excel(path: Path, lines: list[Sequence[str]]) -> None:
    try:
        xlsxwriter = importlib.import_module("xlsxwriter")
    except ImportError:
        raise missing_extra("writing an Excel file", "excel") from None
    # On a full disk the archive would complain a second time when it is forgotten.
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        # The same answers give the same file, whatever the time.
        book.set_properties({"created": dt.datetime(2000, 1, 1)})
        # As text, lest a spreadsheet program take 3-4 for a date or 007 for 7.
        as_text, bold = book.add_format({"num_format": "@"}), book.add_format({"bold": True})
        sheet = book.add_worksheet(_SHEET)
        for j, column in enumerate(zip(*lines, strict=True)):
            sheet.set_column(j, j, min(max(map(len, column)) + 2, _WIDEST), as_text)
        for i, line in enumerate(lines):
            for j, cell in enumerate(line):
                if cell:
                    sheet.write_string(i, j, cell, as_text if i else bold)
        sheet.freeze_panes(1, 0)
    path.write_bytes(buffer.getvalue())


def _read_excel(path: Path, needed: Sequence[str]) -> list[tuple[int, Line]]:
    frame = open_table(path, as_text=needed).source
    _refuse_lacking(path, needed, frame.columns)
    columns = [frame[name].to_list() for name in needed]
    lines = [
        {n: c or "" for n, c in zip(needed, cells, strict=True)}
        for cells in zip(*columns, strict=True)
    ]
    return [(number, line) for number, line in enumerate(lines, 2) if any(line.values())]


def _read_csv(path: Path, needed: Sequence[str]) -> list[tuple[int, Line]]:
    try:
        written = path.read_bytes().decode("utf-8-sig")
    except OSError as problem:
        raise NullproofError(
            f"no such worksheet: {path} ({problem.strerror}); name the file that nullproof clean -o wrote, "
            "filled in"
        ) from None
    except UnicodeDecodeError:
        raise NullproofError(f"{path} is not UTF-8 text; save the worksheet as CSV UTF-8") from None
    try:
        return _parsed(path, written, needed)
    except csv.Error as problem:
        raise NullproofError(f"{path} is not a worksheet: {problem}; save it as CSV") from None


def _parsed(path: Path, written: str, needed: Sequence[str]) -> list[tuple[int, Line]]:
    head = written.partition("\n")[0]
    # Spreadsheet programs write semicolons where the comma is the decimal sign.
    delimiter = ";" if ";" in head and "," not in head else ","
    reader = csv.DictReader(io.StringIO(written, newline=""), delimiter=delimiter)
    _refuse_lacking(path, needed, reader.fieldnames or ())
    found = []
    for line in reader:
        if any(line[name] is None for name in needed):
            raise NullproofError(f"{path.name}, line {reader.line_num} is cut short; mend it")
        if any(line.get(None) or ()):
            raise NullproofError(
                f"{path.name}, line {reader.line_num} has more cells than the header; put a value that "
                "holds the delimiter in quotes"
            )
        found.append((reader.line_num, line))
    return found


def _refuse_lacking(path: Path, needed: Sequence[str], names: Sequence[str]) -> None:
    lacking = [name for name in needed if name not in names]
    if lacking:
        raise NullproofError(
            f"{path} has no column {lacking[0]!r}; feed back the worksheet with its header line"
        )
