"""A worksheet: the cells of a plan as a CSV or Excel file that a person fills in and feeds back.

Each line names a cell and carries a check of the table it belongs to, so lines may be sorted, deleted
or split among people, and a line of another table is noticed. `Work` goes the whole round: take the
answers of worksheets, plan what is left, write the next worksheet.
"""

from __future__ import annotations

import csv
import datetime as dt
import importlib
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.cleaning.cleaner import Cleaner, Fill
from nullproof.cleaning.plan import Cell, CleaningPlan, plan_of
from nullproof.counts.index import CountIndex
from nullproof.data.edits import set_cells
from nullproof.data.points import Points, key_at
from nullproof.data.schema import Schema, n_outside
from nullproof.data.sources import FileOptions, Reading, Table, open_table, read_column
from nullproof.data.texts import plain_text
from nullproof.data.types import as_number, text
from nullproof.errors import NullproofError, missing_extra, notice
from nullproof.model.model import Model
from nullproof.model.verdicts import verdicts
from nullproof.progress import Progress
from nullproof.results.files import shown_in_spreadsheets, taken_from_spreadsheets, write_whole
from nullproof.words import cut, many

ENDINGS = (".csv", ".xlsx")
NEEDED = ("row", "column", "value", "check")
Line = dict[str, str]
_UNKNOWN = "?"
_MOST_CANDIDATES, _BETWEEN = 8, " | "
_WIDEST = 60
_MOST_DIGITS = 19
# A sheet of Excel has so many lines; the library that writes it drops further ones.
_MOST_LINES = 1_048_576


@dataclass(frozen=True)
class Answer:
    """The answer in a line of a worksheet, and its place."""

    value: str
    where: str


class Work:
    """A plan for a table, after the answers of worksheets were filled in.

    Parameters
    ----------
    open_training
        Returns the training table when it is first needed.
    options
        ``alpha``, ``prior`` and ``bias``, as for `cleaning_plan`.
    key
        The column that names rows.
    same_rows
        Whether the points are the rows of the training table: an answer then fills both.
    lines
        The lines of the rows in the file of the table, where they are known.
    """

    def __init__(
        self,
        index: CountIndex,
        points: Points,
        open_training: Callable[[], Any],
        options: Mapping[str, Any],
        *,
        key: str | None = None,
        same_rows: bool = False,
        lines: Callable[[], Sequence[int] | None] = lambda: None,
    ) -> None:
        self.index, self.points = index, points
        self._open_training, self._options = open_training, dict(options)
        self._key, self._same_rows, self._lines = key, same_rows, lines
        self._has_answers = False

    @cached_property
    def cleaner(self) -> Cleaner:
        """The cleaner of the table, which is only needed for cells and answers."""
        table = self._open_training()
        return Cleaner(self.index, self.points, table, **self._options)

    @property
    def model(self) -> Model:
        """The counts with all answers, and the options."""
        return self.cleaner.model if self._has_answers else Model(self.index, **self._options)

    def take(self, worksheets: Sequence[Path]) -> dict[str, Any] | None:
        """Fill in the answers of worksheets, all or none, and return their effect."""
        if not worksheets:
            return None
        answers: dict[Cell, Answer] = {}
        for path in worksheets:
            for cell, answer in read_worksheet(path, self.cleaner).items():
                if cell in answers:
                    raise NullproofError(
                        f"{path.name}: {_named(cell)} has an answer in another worksheet too; leave one of "
                        "them"
                    )
                answers[cell] = answer
        places = {cell: answer.where for cell, answer in answers.items()}
        values = {cell: answer.value for cell, answer in answers.items()}
        fills = self.cleaner.checked(values, places)
        _warn_of_slips(self.index.schema, fills, places)
        before = self.cleaner.done
        self.cleaner.take(fills)
        self._has_answers = True
        if self._same_rows:
            self.points = self._repaired_points(fills)
        return {"n_answers": len(answers), **self._progress(before)}

    def plan(self, budget: int | None, on_progress: Progress | None = None) -> CleaningPlan:
        """Plan what is left to do."""
        model = self.model
        return plan_of(
            model,
            self.points,
            verdicts(model, self.points),
            budget=budget,
            on_progress=on_progress,
        )

    def write_worksheet(self, path: Path, plan: CleaningPlan) -> int:
        """Write the cells of a plan as a worksheet to fill in; return how many."""
        cells = self.cleaner.cells(plan)
        write_worksheet(path, self.cleaner, cells, self._key, self._lines())
        return len(cells)

    def _repaired_points(self, fills: Sequence[Fill]) -> Points:
        """Return the points with the answers to cells of their own rows."""
        codes = self.points.codes.copy()
        for fill in fills:
            codes[fill.feature, fill.rows] = fill.codes
        assert self.points.frame is not None
        filled = set_cells(self.points.frame, self.cleaner.changes())
        return replace(self.points, codes=codes, source=filled)

    def _progress(self, before: NDArray[np.bool_]) -> dict[str, Any]:
        """Return the JSON form of what answers brought."""
        after = verdicts(self.model, self.points)
        labels, names = self.model.named(after.winner), self.points.names
        gained = np.flatnonzero(after.certain & ~before).tolist()
        return {
            "n_done_before": int(before.sum()),
            "n_done": int(after.certain.sum()),
            "became_done": [
                {"point": place, **key_at(names, place), "label": str(labels[place])}
                for place in gained
            ],
        }


def lines_of(path: Path, table: Table, options: FileOptions) -> list[int] | None:
    """Return the lines of a table's rows in its text file; None where a row may be no line."""
    if not table.in_file or not path.is_file():
        return None
    n_above = options.skip_rows + options.header
    n_rows = table.n_all + len(table.skipped)
    content = path.read_bytes()
    n_lines = content.count(b"\n") + (not content.endswith(b"\n"))
    # Blank lines, and cells with several lines, would make more.
    if n_lines != n_above + n_rows:
        return None
    skipped = {*table.skipped}
    return [n_above + place + 1 for place in range(n_rows) if place not in skipped]


# Out ----------------------------------------------------------------------------------------------


def write_worksheet(
    path: Path,
    cleaner: Cleaner,
    cells: Iterable[Cell],
    key: str | None = None,
    file_lines: Sequence[int] | None = None,
) -> None:
    """Write cells in their order, with the names and lines of their rows, the values left blank."""
    training, index = cleaner.training, cleaner.original
    names = training.names(key)
    head = ["row", "column", "label", "candidates", "value", "check"]
    head = [*["line"] * (file_lines is not None), *["key"] * (names is not None), *head]
    lines = []
    for cell in cells:
        label = int(training.row_labels[cell.row])
        line = {
            "line": "" if file_lines is None else str(file_lines[cell.row]),
            "key": "" if names is None else names.values[cell.row] or "",
            "row": str(cell.row),
            "column": cell.column,
            "label": str(index.labels[label]),
            "candidates": _candidates(index, cell.column, label),
            "value": "",
            "check": cleaner.check(cell),
        }
        lines.append([shown_in_spreadsheets(line[name]) for name in head])
    if path.suffix == ".xlsx" and len(lines) >= _MOST_LINES:
        raise NullproofError(
            f"{path.name} would have {len(lines):,} lines and an Excel sheet has {_MOST_LINES:,}; write a "
            "CSV file, or give a budget"
        )
    write = _write_excel if path.suffix == ".xlsx" else _write_csv
    write_whole(path, lambda part: write(part, [head, *lines]))


def _candidates(index: CountIndex, column: str, label: int) -> str:
    """List the values that a cell may hold, the most frequent of its label first; of many a few."""
    j = index.schema.position[column]
    values = index.schema.features[j].values
    order = np.argsort(-index.exact(j)[:-1, label], kind="stable")[:_MOST_CANDIDATES]
    first = _BETWEEN.join(cut(values[code]) for code in order.tolist())
    if len(values) <= _MOST_CANDIDATES:
        return first
    return f"{first}{_BETWEEN}… ({len(values):,} in all)"


def _write_csv(path: Path, lines: list[list[str]]) -> None:
    # The mark at the start tells Excel that it is UTF-8.
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows(lines)


def _write_excel(path: Path, lines: list[list[str]]) -> None:
    try:
        xlsxwriter = importlib.import_module("xlsxwriter")
    except ImportError:
        raise missing_extra("writing an Excel file", "excel") from None
    # On a full disk the archive would complain a second time when it is forgotten.
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        # The same answers give the same file, whatever the time.
        book.set_properties({"created": dt.datetime(2000, 1, 1)})
        # As text, so that spreadsheet programs do not read 3-4 as a date or 007 as 7.
        as_text, bold = book.add_format({"num_format": "@"}), book.add_format({"bold": True})
        sheet = book.add_worksheet("worksheet")
        for j, column in enumerate(zip(*lines, strict=True)):
            sheet.set_column(j, j, min(max(map(len, column)) + 2, _WIDEST), as_text)
        for i, line in enumerate(lines):
            for j, cell in enumerate(line):
                if cell:
                    sheet.write_string(i, j, cell, as_text if i else bold)
        sheet.freeze_panes(1, 0)
    path.write_bytes(buffer.getvalue())


# Back ---------------------------------------------------------------------------------------------


def read_worksheet(path: Path, cleaner: Cleaner) -> dict[Cell, Answer]:
    """Read the answers of a worksheet; lines without a value, or with ``?``, are left out."""
    answers: dict[Cell, Answer] = {}
    schema = cleaner.index.schema
    formats = dict(schema.formats)
    for number, line in read_lines(path):
        where = f"{path.name}, line {number}"
        value, j = line["value"].strip(), schema.position.get(line["column"])
        # In some columns ? is a value.
        is_value = j is not None and _UNKNOWN in schema.features[j].codes
        if not value or (value == _UNKNOWN and not is_value):
            continue
        row = line["row"]
        if not (row.isascii() and row.isdigit() and len(row) < _MOST_DIGITS):
            raise NullproofError(f"{where}: the row is {cut(repr(row))}; give a whole number")
        cell = Cell(int(row), line["column"])
        if line["check"] != cleaner.check(cell):
            raise NullproofError(
                f"{where} ({_named(cell)}) belongs to another table or was altered; use lines of "
                "the worksheet that was made for this one"
            )
        if cell in answers:
            raise NullproofError(f"{where}: {_named(cell)} has two answers; leave one of them")
        answers[cell] = Answer(_plain(line["value"], formats.get(cell.column), where), where)
    return answers


def _plain(written: str, form: str | None, where: str) -> str:
    """Return an answer made plain by the format of its column; reject one that may mean two numbers."""
    plain = plain_text(written, form)
    number, other = as_number(written), as_number(plain)
    if number is not None and other is not None and number != other:
        raise NullproofError(
            f"{where}: {written.strip()!r} may mean {text(number)} or {text(other)} (the column is written "
            f"with a {form}); write it without a mark for thousands"
        )
    return plain


def read_lines(path: Path) -> list[tuple[int, Line]]:
    """Read the lines of a worksheet, with their numbers in the file."""
    lines = (_read_excel if path.suffix == ".xlsx" else _read_csv)(path)
    return [
        (number, {name: taken_from_spreadsheets(line[name]) for name in NEEDED})
        for number, line in lines
    ]


def _read_excel(path: Path) -> list[tuple[int, Line]]:
    frame = open_table(path, Reading(as_text=NEEDED)).source
    _refuse_lacking(path, frame.columns)
    columns = [frame[name].to_list() for name in NEEDED]
    rows = zip(*columns, strict=True)
    lines = [{name: cell or "" for name, cell in zip(NEEDED, row, strict=True)} for row in rows]
    return [(number, line) for number, line in enumerate(lines, 2) if any(line.values())]


def _read_csv(path: Path) -> list[tuple[int, Line]]:
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
        return _parsed(path, written)
    except csv.Error as problem:
        raise NullproofError(f"{path} is not a worksheet: {problem}; save it as CSV") from None


def _parsed(path: Path, written: str) -> list[tuple[int, Line]]:
    head = written.partition("\n")[0]
    # Spreadsheet programs write semicolons where the comma is the decimal sign.
    delimiter = ";" if ";" in head and "," not in head else ","
    reader = csv.DictReader(io.StringIO(written, newline=""), delimiter=delimiter)
    _refuse_lacking(path, reader.fieldnames or ())
    lines = []
    for line in reader:
        if any(line[name] is None for name in NEEDED):
            raise NullproofError(f"{path.name}, line {reader.line_num} is cut short; fix it")
        if any(line.get(None) or ()):
            raise NullproofError(
                f"{path.name}, line {reader.line_num} has more cells than the header; put a value that "
                "holds the delimiter in quotes"
            )
        lines.append((reader.line_num, line))
    return lines


def _refuse_lacking(path: Path, names: Sequence[str]) -> None:
    lacking = [name for name in NEEDED if name not in names]
    if lacking:
        raise NullproofError(
            f"{path} has no column {lacking[0]!r}; give the worksheet with its header line"
        )
    twice = [name for name in NEEDED if list(names).count(name) > 1]
    if twice:
        raise NullproofError(
            f"{path} has the column {twice[0]!r} twice; leave one of them, with the answers in it"
        )


def _named(cell: Cell) -> str:
    """Name a cell in a message."""
    return f"row {cell.row}, column {cell.column!r}"


def _warn_of_slips(schema: Schema, fills: Sequence[Fill], places: Mapping[Cell, str]) -> None:
    """Warn about numbers outside the range of their columns: they may be typing errors."""
    beyond = []
    for fill in fills:
        feature = schema.features[fill.feature]
        for row, value in zip(fill.rows.tolist(), fill.values, strict=True):
            if n_outside(feature, read_column(feature.name, [value])):
                place = places[Cell(row, feature.name)]
                beyond.append(f"{place}: {feature.name!r} is {text(value)}")
    if beyond:
        notice(
            f"{many(len(beyond), 'answer')} outside the range of the column, counted in its first or last "
            f"bin: {'; '.join(beyond)}"
        )
