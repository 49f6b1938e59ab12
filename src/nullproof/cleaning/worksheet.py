"""A worksheet: the cells of a plan as a CSV or Excel file that a person fills in and feeds back.

Each line names a cell and carries a check of the table it belongs to, so lines may be sorted, deleted
or split among people, and a line of another table is noticed. `Work` goes the whole round: take the
answers of worksheets, plan what is left, write the next worksheet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast, get_args

import narwhals as nw

from nullproof.cleaning.candidates import Candidates
from nullproof.cleaning.cleaner import Cleaner
from nullproof.cleaning.holes import Cell, Which, fits, is_beyond, value_names
from nullproof.cleaning.plan import CleaningPlan, cleaning_plan
from nullproof.cleaning.sheets import Line, read_lines, write_lines
from nullproof.counts.index import CountIndex
from nullproof.data.edits import set_cells
from nullproof.data.keys import key_at
from nullproof.data.points import Points
from nullproof.data.texts import plain_text
from nullproof.errors import NullproofError, notice
from nullproof.progress import Progress
from nullproof.words import cut, many, some

NEEDED = ("table", "row", "column", "value", "check")
_UNKNOWN = "?"
_SHOWN = 6


@dataclass(frozen=True)
class Answer:
    """What a line of a worksheet says, and where that line is."""

    value: str
    where: str


class Work:
    """A plan for a table, after the answers of worksheets were taken.

    Parameters
    ----------
    table
        Gives the training table when it is first needed.
    key
        The column that names rows.
    same_rows
        Whether the points are the rows of the training table: an answer then fills both.
    """

    def __init__(
        self,
        index: CountIndex,
        points: Points,
        table: Callable[[], Any],
        options: dict[str, Any],
        *,
        key: str | None = None,
        same_rows: bool = False,
    ) -> None:
        self.index, self._points, self._table, self._options = index, points, table, options
        self._key, self._same_rows = key, same_rows
        self._cleaner: Cleaner | None = None

    @property
    def cleaner(self) -> Cleaner:
        """The cleaner of the table, which is only needed for cells and answers."""
        if self._cleaner is None:
            self._cleaner = self._new()
        return self._cleaner

    @property
    def points(self) -> Points:
        """The points with the answers to their own cells."""
        return self._points if self._cleaner is None else self._cleaner.points

    def take(self, worksheets: Sequence[Path]) -> dict[str, Any] | None:
        """Take the answers of worksheets, all or none, and return what they brought."""
        if not worksheets:
            return None
        answers: dict[Cell, Answer] = {}
        for path in worksheets:
            found = read_worksheet(path, self.cleaner)
            twice = [cell for cell in found if cell in answers]
            if twice:
                raise NullproofError(
                    f"{path.name}: {_named(twice[0])} has an answer in another worksheet too; leave one "
                    "of them"
                )
            answers |= found
        _refuse_misfits(self.cleaner, answers)
        _tell_of_beyond(self.index, answers)
        before = self._new()
        self.cleaner.answer({cell: own.value for cell, own in self._of_both(answers)})
        return {"n_answers": len(answers), **_progress(before, self.cleaner)}

    def plan(self, budget: float | None, on_progress: Progress | None = None) -> CleaningPlan:
        """What is left to do."""
        index = self.index if self._cleaner is None else self._cleaner.index
        return cleaning_plan(
            index, self.points, budget=budget, on_progress=on_progress, **self._options
        )

    @property
    def repaired(self) -> tuple[CountIndex, Points]:
        """The counts and the points with all answers, those to the points' own cells as values too."""
        points = self.points
        if points.frame is not None:
            filled = nw.from_native(set_cells(points.frame, self.changes("points")))
            points = replace(points, source=filled)
        return self.cleaner.index, points

    def changes(self, table: Which) -> dict[str, dict[int, Any]]:
        """The answers for one of the two tables, by column and row."""
        found: dict[str, dict[int, Any]] = {}
        for cell, answer in self.cleaner.values.items():
            if cell.table == table or self._same_rows:
                found.setdefault(cell.column, {})[cell.row] = answer
        return found

    def write_worksheet(self, path: Path, plan: CleaningPlan) -> int:
        """Write the cells that are left, marked as cells of the tables as they were; return how many."""
        cells = self.cleaner.cells(plan)
        if self._same_rows:
            # A training row has its cell once, whether it is to be counted or to be predicted.
            labels = self.cleaner.open_cells.training.row_labels
            once = (c._replace(table="training") if labels[c.row] >= 0 else c for c in cells)
            cells = [*dict.fromkeys(once)]
        return write_worksheet(path, self.cleaner, cells, self._key)

    def _of_both(self, answers: Mapping[Cell, Answer]) -> Iterator[tuple[Cell, Answer]]:
        """The answers, those for training rows that are points too for both."""
        for cell, answer in answers.items():
            yield cell, answer
            if self._same_rows and cell.table == "training":
                yield cell._replace(table="points"), answer

    def _new(self) -> Cleaner:
        return Cleaner(self.index, self._points, self._table(), **self._options)


def write_worksheet(
    path: Path, cleaner: Cleaner, chosen: Iterable[Cell], key: str | None = None
) -> int:
    """Write cells in their order, with the names of their rows, the values left blank; return how many."""
    training, marks, likely = cleaner.open_cells.training, cleaner.marks, Candidates(cleaner)
    names = {"training": training.names(key), "points": cleaner.points.names}
    has_key = any(own is not None for own in names.values())
    lines = []
    for cell in chosen:
        own = names[cell.table]
        name = "" if own is None else own.values[cell.row] or ""
        is_point = cell.table == "points"
        label = "" if is_point else str(cleaner.index.labels[int(training.row_labels[cell.row])])
        where = (cell.table, str(cell.row), *([name] if has_key else []), cell.column, label)
        lines.append((*where, likely.shown(cell), "", _check(marks[cell.table], cell)))
    keys = ["key"] if has_key else []
    head = ("table", "row", *keys, "column", "label", "candidates", "value", "check")
    write_lines(path, head, lines)
    return len(lines)


def read_worksheet(path: Path, cleaner: Cleaner) -> dict[Cell, Answer]:
    """Read the answers of a worksheet; lines without a value, or with ``?``, are left out."""
    answers: dict[Cell, Answer] = {}
    writings = dict(cleaner.index.schema.formats)
    for number, line in read_lines(path, NEEDED):
        where = f"{path.name}, line {number}"
        if _is_unknown(line, cleaner.index):
            continue
        cell = _cell(line, where)
        if line["check"] != _check(cleaner.marks[cell.table], cell):
            raise NullproofError(
                f"{where} ({_named(cell)}) belongs to another table or was altered; feed back lines of "
                "the worksheet that was made for this one"
            )
        if cell in answers:
            raise NullproofError(f"{where}: {_named(cell)} has two answers; leave one of them")
        answers[cell] = Answer(plain_text(line["value"], writings.get(cell.column)), where)
    return answers


def _is_unknown(line: Line, index: CountIndex) -> bool:
    """Whether a line says that the value is still unknown; ``?`` may be a value of its column."""
    written, j = line["value"].strip(), index.schema.position.get(line["column"])
    is_value = j is not None and _UNKNOWN in index.schema.features[j].codes
    return not written or (written == _UNKNOWN and not is_value)


def _cell(line: Line, where: str) -> Cell:
    """The cell that a line is about."""
    if not (line["row"].isascii() and line["row"].isdigit()):
        raise NullproofError(f"{where}: the row is {line['row']!r}; give a whole number")
    if line["table"] not in get_args(Which):
        raise NullproofError(
            f"{where}: the table is {line['table']!r}; give 'training' or 'points'"
        )
    return Cell(int(line["row"]), line["column"], cast("Which", line["table"]))


def _named(cell: Cell) -> str:
    """How a message names a cell."""
    return f"{'row' if cell.table == 'training' else 'point'} {cell.row}, column {cell.column!r}"


def _refuse_misfits(cleaner: Cleaner, answers: Mapping[Cell, Answer]) -> None:
    """Refuse answers that are no values of their columns, all of them in one message."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    schema, ranges = cleaner.index.schema, ""
    for cell, answer in answers.items():
        feature, allowed = schema.features[schema.position[cell.column]], cleaner.candidates(cell)
        if not fits(feature, answer.value, allowed):
            names = tuple(value_names(feature, allowed))
            said = f"{answer.where}: {cut(repr(answer.value))}"
            found.setdefault((cell.column, names), []).append(said)
            if answer.value.strip() in names:
                ranges = "write the number itself rather than the range it lies in, "
    if found:
        told = [
            f"{column!r} has {some(names, _SHOWN)} ({'; '.join(said)})"
            for (column, names), said in found.items()
        ]
        n = sum(map(len, found.values()))
        are = (
            "answer is no value of its column"
            if n == 1
            else "answers are no values of their columns"
        )
        raise NullproofError(
            f"{n:,} {are}: {', '.join(told)}; {ranges}mend the lines, or write ? where a value is not known"
        )


def _tell_of_beyond(index: CountIndex, answers: Mapping[Cell, Answer]) -> None:
    """Give a notice of numbers beyond all others of their columns: they may be slips."""
    schema = index.schema
    said = [
        f"{answer.where}: {cell.column!r} is {answer.value}"
        for cell, answer in answers.items()
        if is_beyond(schema.features[schema.position[cell.column]], answer.value)
    ]
    if said:
        notice(
            f"{many(len(said), 'answer')} beyond all that the column shows, taken as its first or last "
            f"bin: {'; '.join(said)}"
        )


def _progress(before: Cleaner, after: Cleaner) -> dict[str, Any]:
    """The JSON form of what answers brought; both cleaners have the same points."""
    gained = (after.done & ~before.done).nonzero()[0]
    labels, names = after.certificates.label, after.points.names
    return {
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


def _check(mark: str, cell: Cell) -> str:
    # A letter first, lest a spreadsheet program take 12345e67 for a number and round it.
    return "c" + hashlib.sha256(f"{mark}:{cell.row}:{cell.column}".encode()).hexdigest()[:8]
