"""Cleaner: clean cell by cell, with a person or a program, until the points that matter are done.

It proposes cells, takes answers, keeps the counts up to date and reports when to stop. All answers are
checked against their columns before any is accepted, and verdicts are exact for the current table.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.cleaning.order import Group, Order, contenders, mostly_missing
from nullproof.cleaning.plan import Cell, CleaningPlan, rows_by_group
from nullproof.counts.index import CountIndex
from nullproof.data.edits import TrainingTable
from nullproof.data.points import OwnMissing, Points
from nullproof.data.schema import Feature, Schema, encode
from nullproof.data.sources import read_column
from nullproof.data.types import as_number, at_microseconds, is_missing, parsed_date, text
from nullproof.errors import NullproofError
from nullproof.model.certify import Certificates
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Bias, Prior
from nullproof.model.verdicts import Verdicts, verdicts
from nullproof.odds.filling import refuse
from nullproof.results.files import write_whole
from nullproof.words import cut, many, some

Rows = NDArray[np.intp]
_FORMAT, _VERSION = "nullproof cleaning", 2
_NO_ROWS: Rows = np.empty(0, dtype=np.intp)


class Fill(NamedTuple):
    """Checked answers for one feature: rows, the codes of their values, and the values themselves."""

    feature: int
    rows: Rows
    codes: NDArray[np.intp]
    values: Sequence[Any] = ()


class Cleaner:
    """Clean a table cell by cell until the points that matter are done.

    Parameters
    ----------
    index
        The counts of the table.
    points
        The points that matter.
    table
        The table that was counted, with ``labels`` if it was counted from plain rows.
    bias
        As for `cleaning_plan`: points are done when they hold up to it. Each answer changes the
        counts, and with them what the bias assumes about the remaining cells.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("b", "y"), (None, "x")]
    >>> labels = ["yes", "yes", "no", "no"]
    >>> index = CountIndex.from_rows(rows, labels)
    >>> cleaner = Cleaner(index, [("a", "y"), ("b", "y")], rows, labels, alpha=1, bias=1)
    >>> cleaner.next(1)
    [Cell(row=3, column='x0')]
    >>> cleaner.fill({(3, "x0"): "b"})
    >>> cleaner
    Cleaner: 2 of 2 points certain, 1 cell filled, 1 cell left
    """

    def __init__(
        self,
        index: CountIndex,
        points: Any,
        table: Any,
        labels: Sequence[Any] | None = None,
        *,
        alpha: Alpha = 1.0,
        prior: Prior = None,
        own_missing: OwnMissing = "skip",
        bias: Bias = 0.05,
    ) -> None:
        self.original = index
        self.model = Model(index, alpha, prior, bias)
        self.points: Points = self.model.points(points, own_missing)
        refuse(index, self.points, "Cleaner")
        self.training = TrainingTable.open(index.schema, table, labels)
        self.values: dict[Cell, Any] = {}
        self._rows = rows_by_group(index, self.training)

    # The state of the work ------------------------------------------------------------------------

    @property
    def index(self) -> CountIndex:
        """The counts of the table with all answers so far."""
        return self.model.index

    @cached_property
    def verdicts(self) -> Verdicts:
        """The verdicts on the points over all remaining worlds."""
        return verdicts(self.model, self.points)

    @property
    def done(self) -> NDArray[np.bool_]:
        """Which points hold up to the bias now, or are certain where the bias is 1."""
        return self.verdicts.certain

    @property
    def certain(self) -> NDArray[np.bool_]:
        """The same as `done`, as `certify` calls it."""
        return self.done

    @property
    def certificates(self) -> Certificates:
        """The certificates of the points, for the table with all answers so far."""
        return Certificates(self.model, self.points, self.verdicts)

    @property
    def finished(self) -> bool:
        """Whether every point is done, or no missing cell matters to the others."""
        return bool(self.done.all()) or not self._order.matters.any()

    @property
    def filled(self) -> dict[Cell, str]:
        """The answers so far, as text."""
        return {cell: text(value) for cell, value in self.values.items()}

    @property
    def n_open(self) -> int:
        """How many missing cells are left."""
        return int(self.index.n_open[self.index.n_values > 1].sum())

    def check(self, cell: Cell) -> str:
        """Return a short digest of a cell, the cells of its row, and its table before any answer.

        The codes of the whole table are not enough: two people of the same age bin, town and label
        have the same codes, and an answer about one of them must not end up with the other.
        """
        frame, row = self.training.table.frame, ()
        if 0 <= cell.row < len(self.training.row_labels):
            row = self.training.source[cell.row] if frame is None else frame.row(cell.row)
        cells: list[Any] = [*row.values()] if isinstance(row, Mapping) else [*row]
        texts = [None if is_missing(own) else text(own) for own in cells]
        written = json.dumps([self.fingerprint, cell.row, cell.column, texts])
        # A letter first, lest a spreadsheet program take 12345e67 for a number and round it.
        return f"c{hashlib.sha256(written.encode()).hexdigest()[:8]}"

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the table before any answer: its counts and its rows in order."""
        index = self.original
        schema = [[f.name, f.kind, f.values, f.edges] for f in index.schema.features]
        labels = [text(label) for label in index.labels]
        digest = hashlib.sha256(json.dumps([schema, labels]).encode())
        digest.update(np.ascontiguousarray(self.training.row_labels, dtype="<i4").tobytes())
        for j in range(len(index.features)):
            codes = self.training.writer(j).encoded.codes
            digest.update(np.ascontiguousarray(codes, dtype="<i4").tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        what = "certain" if self.model.is_unbiased else "done"
        return (
            f"Cleaner: {int(self.done.sum()):,} of {len(self.points):,} points {what}, "
            f"{many(len(self.values), 'cell')} filled, {many(self.n_open, 'cell')} left"
        )

    # Proposals ------------------------------------------------------------------------------------

    def next(self, n_cells: int = 1) -> list[Cell]:
        """Propose cells to look up: those that will probably complete the most points."""
        if not isinstance(n_cells, int | np.integer) or n_cells < 1:
            raise NullproofError(f"next got n_cells = {n_cells!r}; give 1 or more")
        proposed: list[Cell] = []
        for group in self.ranking():
            rows = self.rows_of(group)[: n_cells - len(proposed)]
            proposed += [Cell(row, self.index.features[group[1]]) for row in rows.tolist()]
            if len(proposed) == n_cells:
                break
        return proposed

    def ranking(self) -> list[Group]:
        """Return the labels and features whose missing cells matter, the best first.

        Columns that are almost entirely missing come last.
        """
        last = mostly_missing(self.original)
        return sorted(self._order.ranking(), key=lambda group: bool(last[group[1]]))

    def rows_of(self, group: Group) -> Rows:
        """Return the rows of a group whose cell has no answer yet."""
        return self._rows.get(group, _NO_ROWS)

    def cells(self, plan: CleaningPlan) -> list[Cell]:
        """Return the cells of a plan made for the current table, in its order."""
        return plan.cells_among(self.rows_of)

    @cached_property
    def _order(self) -> Order:
        left = np.flatnonzero(~self.done)
        points = self.points.take(left)
        contending = contenders(self.model, points, self.verdicts.take(left))
        return Order(self.model, points, contending)

    # Answers --------------------------------------------------------------------------------------

    def fill(self, answers: Mapping[Any, Any]) -> None:
        """Fill in answers: values for missing cells, by (row, column). All are accepted, or none.

        Texts are parsed as values of their column, as in a worksheet.
        """
        self.take(self.checked(answers))

    def take(self, fills: Sequence[Fill]) -> None:
        """Fill in checked answers, as codes."""
        index, owners = self.index, self.training.row_labels
        for j, rows, codes, values in fills:
            index = index.filled(j, owners[rows], codes)
            name = index.features[j]
            self.values |= {
                Cell(row, name): value for row, value in zip(rows.tolist(), values, strict=False)
            }
            for i in np.unique(owners[rows]).tolist():
                self._rows[i, j] = np.setdiff1d(self._rows[i, j], rows, assume_unique=True)
        if fills:
            self.model = self.model.on(index)
            self.__dict__.pop("verdicts", None)
            self.__dict__.pop("_order", None)

    def complete(self) -> Any:
        """Return the table with all answers filled in, of the same type."""
        return self.training.changed(self.changes())

    def changes(self) -> dict[str, dict[int, Any]]:
        """Return the answers by column and row."""
        changes: dict[str, dict[int, Any]] = {}
        for cell, value in self.values.items():
            changes.setdefault(cell.column, {})[cell.row] = value
        return changes

    def save(self, path: str | Path) -> None:
        """Write the answers so far to a JSON file, atomically."""
        answers = [
            {**cell._asdict(), "value": value, "check": self.check(cell)}
            for cell, value in self.filled.items()
        ]
        document = {"format": _FORMAT, "version": _VERSION, "answers": answers}
        written = json.dumps(document, ensure_ascii=False, indent=1)
        write_whole(Path(path), lambda part: part.write_text(written + "\n", "utf-8"))

    def resume(self, path: str | Path) -> None:
        """Fill in the answers that `save` wrote, in addition to those given since."""
        try:
            document = json.loads(Path(path).read_text("utf-8"))
            saved = {Cell(a["row"], a["column"]): a["value"] for a in document["answers"]}
            checks = [a["check"] for a in document["answers"]]
            is_ours = (
                (document["format"], document["version"]) == (_FORMAT, _VERSION)
                and len(saved) == len(checks)
                and all(type(cell.row) is int and isinstance(cell.column, str) for cell in saved)
                and all(isinstance(value, str) for value in saved.values())
            )
        except OSError:
            raise NullproofError(f"no such file: {path}; check the path") from None
        # Deeply nested lists are not answers either.
        except (ValueError, KeyError, TypeError, RecursionError):
            is_ours = False
        if not is_ours:
            raise NullproofError(
                f"{path} holds no answers that a Cleaner saved; give the file that save wrote"
            )
        if checks != [self.check(cell) for cell in saved]:
            raise NullproofError(f"{path} was saved for another table; give that one")
        self.fill(saved)

    def checked(
        self, answers: Mapping[Any, Any], where: Mapping[Any, str] | None = None
    ) -> list[Fill]:
        """Check answers; one error reports all that are not values of their columns.

        ``where`` gives the place of each answer in messages, instead of row and column.
        """
        if not isinstance(answers, Mapping):
            raise NullproofError(
                f"the answers are a {type(answers).__name__}; give a mapping from (row, column) to a value"
            )
        by_feature: dict[int, list[tuple[int, int, Any]]] = {}
        wrong = []
        for cell, value in answers.items():
            if not (isinstance(cell, tuple) and len(cell) == 2):
                raise NullproofError(
                    f"there is an answer for {cell!r}; give a value for each (row, column)"
                )
            row, column = cell
            j = self._feature(row, column)
            try:
                plain, code = _read_answer(self.index.schema, j, value)
            except NullproofError as problem:
                place = f"row {row}, column {column!r}" if where is None else where[cell]
                wrong.append(f"{place}: {problem}")
            else:
                by_feature.setdefault(j, []).append((int(row), code, plain))
        if wrong:
            raise NullproofError(
                f"{many(len(wrong), 'answer')} cannot be accepted: {'; '.join(wrong)}; correct them, or "
                "leave the cell out"
            )
        return [*_fills(by_feature)]

    def _feature(self, row: Any, column: Any) -> int:
        """Return the feature of a missing cell without an answer; anything else is an error."""
        j, n_rows = self.index.schema.position.get(column), len(self.training.row_labels)
        if j is None:
            raise NullproofError(
                f"there is an answer for column {column!r}, which is not a feature; "
                f"they are {some(self.index.features, 8)}"
            )
        if isinstance(row, bool) or not isinstance(row, int | np.integer) or not 0 <= row < n_rows:
            raise NullproofError(
                f"there is an answer for row {row!r}, but rows go from 0 to {n_rows - 1:,}"
            )
        if Cell(int(row), column) in self.values:
            raise NullproofError(
                f"row {row}, column {column!r} has an answer already "
                f"({text(self.values[Cell(int(row), column)])}); give each cell one"
            )
        label = int(self.training.row_labels[row])
        if label < 0:
            raise NullproofError(
                f"there is an answer for row {row}, which has no label and was left out; give answers for "
                "rows with a label only"
            )
        rows = self.rows_of((label, j))
        place = int(np.searchsorted(rows, row))
        if place == len(rows) or rows[place] != row:
            raise NullproofError(
                f"row {row}, column {column!r} is not missing; give answers for missing cells only"
            )
        return j


def _fills(by_feature: Mapping[int, list[tuple[int, int, Any]]]) -> Iterator[Fill]:
    for j, answers in by_feature.items():
        rows, codes, values = zip(*answers, strict=True)
        yield Fill(j, np.array(rows, dtype=np.intp), np.array(codes, dtype=np.intp), values)


# One answer ---------------------------------------------------------------------------------------


def _read_answer(schema: Schema, j: int, value: Any) -> tuple[Any, int]:
    """Return an answer as a value of its column, with its code; raise an error if it is invalid."""
    feature, missing = schema.features[j], schema.missing
    if is_missing(value):
        raise NullproofError("it is missing too")
    said = cut(repr(value))
    plain = _typed(feature, value) if isinstance(value, str) else value
    # Such as a -999 that was named.
    rule = missing.settled(feature.name, feature.kind, feature.domain, in_file=False)
    if rule.is_missing(text(plain)):
        raise NullproofError(f"{said} means missing in this table")
    try:
        encoded = encode(feature, read_column(feature.name, [plain]))
    except NullproofError as problem:
        raise NullproofError(f"{said} does not fit: {problem}") from None
    code = int(encoded.codes[0])
    # A bin accepts any number between its edges, but some columns hold only a few numbers.
    is_odd = feature.shows_single_values and text(plain) not in feature.codes
    several = isinstance(plain, list | tuple | set | frozenset | np.ndarray)
    if several or is_odd or not 0 <= code < feature.n_values:
        raise NullproofError(
            f"{said} is not one of the values of {feature.name!r} ({some(feature.values, 6)})"
        )
    return plain, code


def _typed(feature: Feature, written: str) -> Any:
    """Return a text as a value of the kind of its column."""
    if feature.kind == "category":
        return written
    value: Any
    stripped = written.strip()
    if feature.kind == "boolean":
        value = {"true": True, "false": False}.get(stripped.lower())
    elif feature.kind == "date":
        moment = parsed_date(written)
        value = None if moment is None else at_microseconds(moment)
    else:
        # Parsed as in files: other parsers round large integers.
        value = as_number(written)
    if value is not None:
        return value
    if stripped in feature.values:
        raise NullproofError(f"{written!r} is a range of {feature.name!r}; write the number itself")
    kinds = {"number": "a number", "code": "a whole number", "date": "a date"}
    raise NullproofError(
        f"{cut(repr(written))} is not {kinds.get(feature.kind, 'true or false')}, as {feature.name!r} needs"
    )
