"""The open cells of a table, what they may hold, and the answers that close them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.counts.update import fill_codes
from nullproof.data.edits import TrainingTable
from nullproof.data.schema import Encoded, Feature, Schema, encode, n_outside
from nullproof.data.sources import raw_cells, read_column
from nullproof.data.types import as_number, at_microseconds, is_missing, parsed_date, text
from nullproof.errors import NullproofError
from nullproof.words import some

Which = Literal["training", "points"]


class Cell(NamedTuple):
    """A cell to look up: row and column, of the training table or of the points.

    For a cell of the points ``row`` is the position of the point.

    Examples
    --------
    >>> Cell(3, "age")
    Cell(row=3, column='age', table='training')
    >>> Cell(0, "age", "points").table
    'points'
    """

    row: int
    column: str
    table: Which = "training"


@dataclass(frozen=True, eq=False)
class OpenCells:
    """A table that was counted, and its cells with more than one candidate."""

    index: CountIndex
    training: TrainingTable

    @classmethod
    def of(cls, index: CountIndex, table: Any, labels: Sequence[Any] | None = None) -> OpenCells:
        """Open the table that an index counts; another table is refused."""
        found = cls(index, TrainingTable.open(index.schema, table, labels))
        for j, name in enumerate(index.features):
            there = index.n_open[j]
            here = np.bincount(found._labels_of(j), minlength=len(index.labels))
            if not np.array_equal(there, here):
                raise NullproofError(
                    f"column {name!r} of the table has {int(here.sum()):,} missing cells, but "
                    f"{int(there.sum()):,} were counted; give the table that was counted"
                )
            if found._sorts(j) != {
                (i, sort): int(n)
                for sort, cells in index.sets[j].items()
                for i, n in enumerate(cells)
                if n
            }:
                raise NullproofError(
                    f"column {name!r} of the table has cells with other candidates than were "
                    "counted; give the table that was counted"
                )
        return found

    @cached_property
    def _columns(self) -> dict[int, Encoded]:
        return {}

    def column(self, j: int) -> Encoded:
        """One column as codes; open cells have a negative code or are in ``sets``."""
        if j not in self._columns:
            self._columns[j] = self.training.writer(j).encoded
        return self._columns[j]

    def open_rows(self, j: int) -> NDArray[np.intp]:
        """The rows whose cell of a feature is open."""
        encoded = self.column(j)
        rows = np.flatnonzero(encoded.codes < 0)
        several = np.fromiter(encoded.sets, dtype=np.intp, count=len(encoded.sets))
        found: NDArray[np.intp] = np.union1d(rows, several)
        return found

    def rows(self, label: int, j: int) -> NDArray[np.intp]:
        """The open cells of one label and feature, by row; none where the domain leaves no choice."""
        if self.index.n_values[j] == 1:
            return np.empty(0, dtype=np.intp)
        rows = self.open_rows(j)
        found: NDArray[np.intp] = rows[self.training.row_labels[rows] == label]
        return found

    def candidates(self, row: int, j: int) -> tuple[int, ...] | None:
        """What an open cell may hold: None for every value."""
        return self.column(j).sets.get(row)

    def groups(self) -> Iterator[tuple[int, int, NDArray[np.intp]]]:
        """Each label and feature with its open rows."""
        for j in range(len(self.index.features)):
            for i in range(len(self.index.labels)):
                yield i, j, self.rows(i, j)

    @property
    def fingerprint(self) -> str:
        """A digest of the counts and of the rows in their order: answers name a row by its place."""
        digest = hashlib.sha256(fingerprint(self.index).encode())
        digest.update(np.ascontiguousarray(self.training.row_labels, dtype="<i4").tobytes())
        for j in range(len(self.index.features)):
            encoded = self.column(j)
            digest.update(np.ascontiguousarray(encoded.codes, dtype="<i4").tobytes())
            digest.update(json.dumps(sorted(encoded.sets.items())).encode())
        return digest.hexdigest()

    def _sorts(self, j: int) -> Counter[tuple[int, tuple[int, ...]]]:
        """How many cells of each label have which candidates."""
        labels = self.training.row_labels
        return Counter((int(labels[row]), sort) for row, sort in self.column(j).sets.items())

    def _labels_of(self, j: int) -> NDArray[np.int32]:
        return self.training.row_labels[self.open_rows(j)]


class Fill(NamedTuple):
    """Answers for one feature: rows, the codes of their values, and the values themselves."""

    feature: int
    rows: NDArray[np.intp]
    codes: NDArray[np.intp]
    values: list[Any]


class Answers:
    """The answers given so far."""

    def __init__(self, cells: OpenCells) -> None:
        self.cells = cells
        self.given: dict[tuple[int, int], str] = {}
        self._values: dict[str, dict[int, Any]] = {}
        self._open = {(i, j): rows for i, j, rows in cells.groups()}

    def open_rows(self, label: int, j: int) -> NDArray[np.intp]:
        """The rows of a group that have no answer yet."""
        return self._open[label, j]

    def checked(self, answers: Mapping[tuple[int, str], Any], as_text: bool = False) -> list[Fill]:
        """Check answers; the first that cannot be taken is an error, and then none is."""
        by_feature: dict[int, list[tuple[int, int, Any]]] = {}
        for (row, column), value in answers.items():
            j = self._place(row, column)
            code, plain = self._code(row, j, value, as_text)
            by_feature.setdefault(j, []).append((int(row), code, plain))
        return [
            Fill(
                j,
                np.array([row for row, _, _ in own], dtype=np.intp),
                np.array([code for _, code, _ in own], dtype=np.intp),
                [value for _, _, value in own],
            )
            for j, own in by_feature.items()
        ]

    def taken(self, index: CountIndex, fills: list[Fill]) -> CountIndex:
        """Count the answers; the index as it was is not changed."""
        labels = self.cells.training.row_labels
        for j, rows, codes, values in fills:
            sets = self.cells.column(j).sets
            candidates = [sets.get(int(row)) for row in rows]
            index = fill_codes(index, j, labels[rows], codes, candidates)
            name = index.features[j]
            for row, value in zip(rows.tolist(), values, strict=False):
                self.given[row, j] = text(value)
                self._values.setdefault(name, {})[row] = value
            for i in np.unique(labels[rows]).tolist():
                self._open[i, j] = np.setdiff1d(self._open[i, j], rows, assume_unique=True)
        return index

    @property
    def values(self) -> dict[Cell, Any]:
        """The values given so far."""
        return {
            Cell(row, name): value
            for name, cells in self._values.items()
            for row, value in cells.items()
        }

    def filled_table(self) -> Any:
        """The table with the answers in their cells."""
        return self.cells.training.changed(self._values)

    def _place(self, row: Any, column: Any) -> int:
        """Find the feature of an open cell without an answer; anything else is an error."""
        index = self.cells.index
        if column not in index.schema.position:
            raise NullproofError(
                f"there is an answer for column {column!r}, which is no feature; "
                f"they are {some(index.features, 8)}"
            )
        j, n_rows = index.schema.position[column], len(self.cells.training.row_labels)
        if isinstance(row, bool) or not isinstance(row, int | np.integer) or not 0 <= row < n_rows:
            raise NullproofError(
                f"there is an answer for row {row!r}, but rows go from 0 to {n_rows - 1:,}"
            )
        if (int(row), j) in self.given:
            raise NullproofError(
                f"row {row}, column {column!r} has an answer already "
                f"({self.given[int(row), j]}); give each cell one"
            )
        label = int(self.cells.training.row_labels[row])
        if label < 0:
            raise NullproofError(
                f"there is an answer for row {row}, which has no label and was left out; give answers for "
                "rows with a label only"
            )
        rows = self._open[label, j]
        place = int(np.searchsorted(rows, row))
        if place == len(rows) or rows[place] != row:
            raise NullproofError(
                f"row {row}, column {column!r} is not missing; give answers for missing cells only"
            )
        return j

    def _code(self, row: int, j: int, value: Any, as_text: bool) -> tuple[int, Any]:
        feature = self.cells.index.schema.features[j]
        where = f"row {row}, column {feature.name!r}"
        plain = read_answer(feature, value, where) if as_text else value
        return code_of(feature, plain, self.cells.candidates(int(row), j), where), plain


def read_answer(feature: Feature, written: str, where: str) -> Any:
    """An answer that was written as text, as a value of its column; ``where`` names the cell."""
    _refuse_missing(written, where)
    return parsed(feature, written, where)


def code_of(feature: Feature, value: Any, allowed: tuple[int, ...] | None, where: str) -> int:
    """The code of an answer; None for ``allowed`` means every value of the column."""
    _refuse_missing(value, where)
    try:
        column = read_column(feature.name, raw_cells(feature.name, [value]))
        encoded = encode(feature, column)
    except NullproofError as problem:
        raise NullproofError(f"the answer {value!r} for {where} does not fit: {problem}") from None
    code = int(encoded.codes[0])
    # A bin takes any number between its edges, but a column may show a few numbers only.
    odd = not allowed and feature.shows_single_values and text(value) not in feature.codes
    several = isinstance(value, list | tuple | set | frozenset | np.ndarray)
    if several or odd or code not in (allowed or range(feature.n_values)):
        names = value_names(feature, allowed)
        raise NullproofError(
            f"the answer {value!r} for {where} is not one of its values ({some(names, 6)})"
        )
    return code


def value_names(feature: Feature, allowed: tuple[int, ...] | None) -> list[str]:
    """The values that a cell may hold, as text; candidates of a point outside the domain have none."""
    return [feature.values[c] for c in allowed or range(feature.n_values) if c < feature.n_values]


def is_beyond(feature: Feature, written: str) -> bool:
    """Whether an answer that fits lies beyond all that the table shows in that column."""
    cell = raw_cells(feature.name, [parsed(feature, written, "")])
    return n_outside(feature, read_column(feature.name, cell)) > 0


def fits(feature: Feature, written: str, allowed: tuple[int, ...] | None) -> bool:
    """Whether a text is a value that a cell may hold; None for ``allowed`` means every value."""
    try:
        code_of(feature, read_answer(feature, written, ""), allowed, "")
    except NullproofError:
        return False
    return True


def _refuse_missing(value: Any, where: str) -> None:
    if is_missing(value):
        raise NullproofError(f"the answer for {where} is missing too; leave the cell out")


def parsed(feature: Feature, written: str, where: str) -> Any:
    """Read a value of a feature that was written as text."""
    if written in feature.codes and not feature.edges:
        return written if feature.kind == "category" else _typed(feature, written)
    try:
        return _typed(feature, written)
    except ValueError:
        kind = {"number": "a number", "code": "a whole number", "date": "a date"}
        raise NullproofError(
            f"the answer {written!r} for {where} is not {kind.get(feature.kind, 'true or false')}"
        ) from None


def _typed(feature: Feature, written: str) -> Any:
    if feature.kind == "category":
        return written
    if feature.kind == "boolean":
        if written.strip().lower() not in ("true", "false"):
            raise ValueError
        return written.strip().lower() == "true"
    # As a file is read: other readers round large integers, and cut moments to microseconds.
    found = parsed_date(written) if feature.kind == "date" else as_number(written)
    if found is None:
        raise ValueError
    return at_microseconds(found) if feature.kind == "date" else found


def domains_text(schema: Schema) -> str:
    """The features and their domains in one text."""
    return json.dumps([[f.name, f.kind, f.values, f.edges] for f in schema.features])


def fingerprint(index: CountIndex) -> str:
    """A digest of the counts, which tells tables apart."""
    schema = index.schema
    labels = json.dumps([text(label) for label in schema.labels])
    digest = hashlib.sha256((domains_text(schema) + labels).encode())
    for counts in (index.label_counts, index.n_null):
        digest.update(np.ascontiguousarray(counts, dtype="<i8").tobytes())
    for known, sets in zip(index.known, index.sets, strict=True):
        for part in known.cells():
            digest.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
        shown = sorted((key, cells.tolist()) for key, cells in sets.items())
        digest.update(json.dumps(shown).encode())
    return digest.hexdigest()
