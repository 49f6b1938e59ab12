"""A worksheet: the cells of a plan as a CSV file that a person fills in and feeds back.

Each line names a cell and carries a check of the table it belongs to, so lines may be sorted, deleted
or split among people, and a line of another table is noticed. `Work` goes the whole round: take the
answers of worksheets, plan what is left, write the next worksheet.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from nullproof.cleaning.cleaner import Cleaner
from nullproof.cleaning.holes import OpenCells, fingerprint
from nullproof.cleaning.plan import CleaningPlan, cleaning_plan
from nullproof.counts.index import CountIndex
from nullproof.errors import NullproofError
from nullproof.files import write_whole
from nullproof.progress import Progress
from nullproof.tables.names import RowNames, key_at
from nullproof.tables.points import Points

COLUMNS = ("row", "column", "label", "candidates", "value", "check")
_NEEDED = ("row", "column", "value", "check")


class Work:
    """A plan for a table, after the answers of worksheets were taken; ``key`` names its rows."""

    def __init__(
        self,
        index: CountIndex,
        points: Points,
        table: Callable[[], Any],
        options: dict[str, Any],
        key: str | None = None,
    ) -> None:
        self.index, self.points, self._table, self._options = index, points, table, options
        self._key = key
        self._cleaner: Cleaner | None = None

    @property
    def cleaner(self) -> Cleaner:
        """The cleaner of the table, which is only needed for cells and answers."""
        if self._cleaner is None:
            self._cleaner = self._new()
        return self._cleaner

    def take(self, worksheets: Sequence[Path]) -> dict[str, Any] | None:
        """Take the answers of worksheets, all or none, and return what they brought."""
        if not worksheets:
            return None
        answers: dict[tuple[int, str], str] = {}
        for path in worksheets:
            found = read_worksheet(path, self.cleaner.open_cells)
            twice = [cell for cell in found if cell in answers]
            if twice:
                raise NullproofError(
                    f"{path.name}: row {twice[0][0]}, column {twice[0][1]!r} has an answer in "
                    "another worksheet too; leave one of them"
                )
            answers |= found
        before = self._new()
        self.cleaner.answer(answers)
        return _progress(before, self.cleaner)

    def plan(self, budget: float | None, on_progress: Progress | None = None) -> CleaningPlan:
        """What is left to do."""
        index = self.index if self._cleaner is None else self._cleaner.index
        return cleaning_plan(
            index, self.points, budget=budget, on_progress=on_progress, **self._options
        )

    @property
    def changes(self) -> dict[str, dict[int, Any]]:
        """The answers, by column and row."""
        found: dict[str, dict[int, Any]] = {}
        for (row, column, table), answer in self.cleaner.filled.items():
            if table == "training":
                found.setdefault(column, {})[row] = answer
        return found

    def write_worksheet(self, path: Path, plan: CleaningPlan) -> int:
        """Write the cells that are left, marked as cells of the table as it is."""
        cells = self.cleaner.open_cells
        names = cells.training.names(self._key)
        chosen = [cell[:2] for cell in self.cleaner.cells(plan) if cell.table == "training"]
        return write_worksheet(path, cells, chosen, names)

    def _new(self) -> Cleaner:
        return Cleaner(self.index, self.points, self._table(), **self._options)


def write_worksheet(
    path: Path,
    cells: OpenCells,
    chosen: Iterable[tuple[int, str]],
    names: RowNames | None = None,
) -> int:
    """Write cells in their order, with the names of their rows, the values left blank; return how many."""
    index, mark = cells.index, fingerprint(cells.index)
    lines = []
    for row, column in chosen:
        j = index.schema.position[column]
        candidates = cells.candidates(row, j) or ()
        label = index.labels[int(cells.training.row_labels[row])]
        written = " | ".join(index.schema.features[j].values[code] for code in candidates)
        own = () if names is None else (names.values[row],)
        lines.append((row, *own, column, str(label), written, "", _check(mark, row, column)))
    row_column, *others = COLUMNS
    head = (row_column, *(() if names is None else ("key",)), *others)

    def write(part: Path) -> None:
        with part.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([head, *lines])

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


def _progress(before: Cleaner, after: Cleaner) -> dict[str, Any]:
    """The JSON form of what answers brought; both cleaners have the same points."""
    gained = (after.done & ~before.done).nonzero()[0]
    labels, names = after.certificates.label, after.points.names
    return {
        "n_answers": len(after.filled),
        "n_done_before": int(before.done.sum()),
        "n_done": int(after.done.sum()),
        "became_done": [
            {
                "point": int(p),
                **key_at(names, int(p)),
                "label": None if labels[p] is None else str(labels[p]),
            }
            for p in gained
        ],
    }


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
