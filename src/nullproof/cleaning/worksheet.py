"""A worksheet: the cells of a plan as a CSV file that a person fills in and feeds back.

Each line names a cell and carries a check of the table it belongs to, so lines may be sorted, deleted
or split among people, and a line of another table is noticed.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable
from pathlib import Path

from nullproof.cleaning.answers import fingerprint
from nullproof.cleaning.holes import OpenCells
from nullproof.errors import NullproofError
from nullproof.files import write_whole

COLUMNS = ("row", "column", "label", "candidates", "value", "check")
_NEEDED = ("row", "column", "value", "check")


def write_worksheet(path: Path, cells: OpenCells, chosen: Iterable[tuple[int, str]]) -> int:
    """Write cells in their order, the values left blank; return how many."""
    index, mark = cells.index, fingerprint(cells.index)
    lines = []
    for row, column in chosen:
        j = index.schema.position[column]
        candidates = cells.candidates(row, j) or ()
        label = index.labels[int(cells.training.row_labels[row])]
        names = " | ".join(index.schema.features[j].values[code] for code in candidates)
        lines.append((row, column, str(label), names, "", _check(mark, row, column)))

    def write(part: Path) -> None:
        with part.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([COLUMNS, *lines])

    write_whole(path, write)
    return len(lines)


def read_worksheet(path: Path, cells: OpenCells) -> dict[tuple[int, str], str]:
    """Read the answers of a worksheet; lines without a value are left out."""
    mark = fingerprint(cells.index)
    answers: dict[tuple[int, str], str] = {}
    for number, line in _lines(path):
        value = line["value"]
        if not value.strip():
            continue
        where = f"{path.name}, line {number}"
        if not (line["row"].isascii() and line["row"].isdigit()):
            raise NullproofError(f"{where}: the row is {line['row']!r}; give a whole number")
        cell = int(line["row"]), line["column"]
        if line["check"] != _check(mark, *cell):
            raise NullproofError(
                f"{where} (row {cell[0]}, column {cell[1]!r}) belongs to another table or was altered; "
                "feed back lines of the worksheet that was made for this one"
            )
        if cell in answers:
            raise NullproofError(
                f"{where}: row {cell[0]}, column {cell[1]!r} has two answers; leave one of them"
            )
        answers[cell] = value
    return answers


def _lines(path: Path) -> list[tuple[int, dict[str, str]]]:
    try:
        written = path.read_bytes().decode("utf-8-sig")
    except OSError as problem:
        raise NullproofError(f"no such worksheet: {path} ({problem.strerror})") from None
    except UnicodeDecodeError:
        raise NullproofError(f"{path} is not UTF-8 text; save the worksheet as CSV UTF-8") from None
    try:
        return _parsed(path, written)
    except csv.Error as problem:
        raise NullproofError(f"{path} is not a worksheet: {problem}; save it as CSV") from None


def _parsed(path: Path, written: str) -> list[tuple[int, dict[str, str]]]:
    head = written.partition("\n")[0]
    # Spreadsheet programs write semicolons where the comma is the decimal sign.
    delimiter = ";" if ";" in head and "," not in head else ","
    reader = csv.DictReader(io.StringIO(written, newline=""), delimiter=delimiter)
    lacking = [name for name in _NEEDED if name not in (reader.fieldnames or ())]
    if lacking:
        raise NullproofError(
            f"{path} has no column {lacking[0]!r}; feed back the worksheet with its header line"
        )
    found = []
    for line in reader:
        if any(line[name] is None for name in _NEEDED):
            raise NullproofError(f"{path.name}, line {reader.line_num} is cut short; mend it")
        found.append((reader.line_num, line))
    return found


def _check(mark: str, row: int, column: str) -> str:
    # A letter first, lest a spreadsheet program take 12345e67 for a number and round it.
    return "c" + hashlib.sha256(f"{mark}:{row}:{column}".encode()).hexdigest()[:8]
