"""Cleaner: a loop with a person or an oracle; it proposes cells, takes answers and tells when to stop."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.cleaning.best_case import contenders
from nullproof.cleaning.confidence import Confidence
from nullproof.cleaning.holes import Answers, Cell, Fill, OpenCells, Which
from nullproof.cleaning.learned import Learned
from nullproof.cleaning.needs import refuse_beyond_floats
from nullproof.cleaning.order import Orders
from nullproof.cleaning.own import OwnAnswers, OwnFill
from nullproof.cleaning.plan import CleaningPlan, column_costs
from nullproof.cleaning.ranges import Ranges, open_counts
from nullproof.cleaning.scores import Outlook
from nullproof.counts.index import CountIndex
from nullproof.data.points import OwnHoles, Points
from nullproof.data.types import text
from nullproof.errors import NullproofError
from nullproof.files import write_whole
from nullproof.model.certify import Certificates
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Bias, Prior
from nullproof.model.verdicts import verdicts
from nullproof.odds.filling import Cells, Filling
from nullproof.words import many

Place = tuple[int, int]  # feature and point
Rows = NDArray[np.intp]
# What points lack is foreseen anew after so many answers, or that part of the open cells.
_AGAIN = 50
_FORMAT = "nullproof cleaning"


class Cleaner:
    """Clean a table cell by cell until the points that matter are done.

    Parameters
    ----------
    index
        The counts of the table.
    points
        The points that matter.
    table
        The table that was counted, with ``labels`` beside it where it was counted from plain rows.
    confidence, cells, costs
        As for `cleaning_plan`.
    own_missing, bias
        As for `certify`. Each answer changes the counts, and with them what the bias assumes of the
        cells that are left. Verdicts are exact for the table as it then is.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("b", "y"), (None, "x")]
    >>> labels = ["yes", "yes", "no", "no"]
    >>> index = CountIndex.from_rows(rows, labels)
    >>> cleaner = Cleaner(index, [("a", "y"), ("b", "y")], rows, labels, alpha=1)
    >>> cleaner.next(1)
    [Cell(row=3, column='x0', table='training')]
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
        confidence: float = 1.0,
        cells: Cells | None = None,
        costs: Mapping[str, float] | None = None,
        alpha: Alpha = 1.0,
        prior: Prior = None,
        own_missing: OwnHoles = "skip",
        bias: Bias = 1.0,
    ) -> None:
        self.original = index
        self._confidence = Confidence(confidence, cells)
        self._costs = column_costs(index, costs)
        model = Model(index, alpha, prior, bias)
        model.refuse_weights("Cleaner")
        self._own = OwnAnswers(index.schema, model.points(points, own_missing))
        refuse_beyond_floats(model)
        self._answers = Answers(OpenCells.of(index, table, labels))
        self._ahead: tuple[list[Place], list[Place]] = [], []
        self._n_since = 0
        self._judge(model)

    @property
    def index(self) -> CountIndex:
        """The counts of the table with all answers so far."""
        return self.model.index

    @property
    def points(self) -> Points:
        """The points with all answers to their own cells so far."""
        return self._own.points

    @property
    def certain(self) -> NDArray[np.bool_]:
        """Which points are certain now (up to the bias, if one was given)."""
        return self._verdicts.certain

    @property
    def finished(self) -> bool:
        """Whether every point is done, or no open cell matters to those that are not."""
        if self.done.all():
            return True
        return not (self.outlook.matters.any() or self._wanted.any())

    @property
    def filled(self) -> dict[Cell, str]:
        """The answers so far, as text."""
        return {cell: text(value) for cell, value in self.values.items()}

    @property
    def values(self) -> dict[Cell, Any]:
        """The answers so far."""
        return self._answers.values | self._own.values

    @cached_property
    def marks(self) -> dict[Which, str]:
        """A digest of the table and one of the points, before any answer."""
        return {"training": self.open_cells.fingerprint, "points": self._own.fingerprint}

    def candidates(self, cell: Cell) -> tuple[int, ...] | None:
        """The codes that an open cell may hold before any answer: None for every value of its column."""
        if cell.table == "points":
            return self._own.candidates(cell)
        return self.open_cells.candidates(cell.row, self.index.schema.position[cell.column])

    @property
    def certificates(self) -> Certificates:
        """What all worlds that are left say of the points."""
        return Certificates(self.model, self.points, self._verdicts)

    def next(self, n_cells: int = 1) -> list[Cell]:
        """Propose cells to fill: those that probably make the most points done for the least cost."""
        if not isinstance(n_cells, int | np.integer) or n_cells < 1:
            raise NullproofError(f"next was asked for {n_cells!r} cells; ask for 1 or more")
        first, later = self._lacking()
        found = first[:n_cells]
        for _, j, rows in self.proposed(n_cells - len(found)) if len(found) < n_cells else ():
            found += [Cell(int(row), self.index.features[j]) for row in rows]
        return found + later[: n_cells - len(found)]

    def proposed(
        self, n_cells: int, rows_of: Callable[[int, int], Rows] | None = None
    ) -> list[tuple[int, int, Rows]]:
        """The best training cells, by label and feature; ``rows_of`` tells the open rows in some order."""
        rows_of = rows_of or self._answers.open_rows
        found = []
        for i, j in self.ranking():
            rows = rows_of(i, j)[:n_cells]
            found.append((i, j, rows))
            n_cells -= len(rows)
            if not n_cells:
                break
        return found

    @cached_property
    def learned(self) -> Learned:
        """What the rows of the table say about its missing cells, before any answer."""
        return Learned.of(self.original, self.open_cells.training)

    def ranking(self) -> list[tuple[int, int]]:
        """Labels and features with open cells that matter, the best first."""
        return self.outlook.ranked(self.outlook.scores(open_counts(self.index) * self._costs))

    def fill(self, answers: Mapping[Any, Any]) -> None:
        """Take answers: a value for each of some open `Cell`. All are taken, or none.

        A pair of row and column is a cell of the training table.
        """
        self._fill(answers)

    def answer(self, answers: Mapping[Any, str]) -> None:
        """Take answers that were written as text, as in a worksheet. All are taken, or none."""
        self._fill(answers, as_text=True)

    def _fill(self, answers: Mapping[Any, Any], as_text: bool = False) -> None:
        cells = {Cell(*cell): value for cell, value in answers.items()}
        ours = {(c.row, c.column): value for c, value in cells.items() if c.table == "training"}
        own = {c: value for c, value in cells.items() if c.table != "training"}
        self.take(self._answers.checked(ours, as_text), self._own.checked(own, as_text))

    def cells(self, plan: CleaningPlan) -> list[Cell]:
        """The cells of a plan that was made for the table and points as they are now, in its order."""
        return plan.cells_among(self._answers.open_rows)

    def take(self, fills: list[Fill], own: Sequence[OwnFill] = ()) -> None:
        """Take answers that were checked, as codes."""
        self._own.take(own)
        self._n_since += len(own) + sum(len(one.rows) for one in fills)
        if not fills:
            self._judge_again(np.unique([one.point for one in own]).astype(np.intp))
            return
        index = self._answers.taken(self.index, fills)
        self._judge(self.model.on(index))

    def complete(self) -> Any:
        """The table with all answers filled in, of the same type."""
        return self._answers.filled_table()

    def save(self, path: str | Path) -> None:
        """Write the answers so far to a JSON file, whole or not at all."""
        document = {
            "format": _FORMAT,
            "version": 1,
            "table": self.marks["training"],
            "points": self.marks["points"],
            "answers": [{**cell._asdict(), "value": own} for cell, own in self.filled.items()],
        }
        written = json.dumps(document, ensure_ascii=False, indent=1)
        write_whole(Path(path), lambda part: part.write_text(written + "\n", "utf-8"))

    def resume(self, path: str | Path) -> None:
        """Take the answers that `save` wrote, in addition to those given since."""
        try:
            document = json.loads(Path(path).read_text("utf-8"))
            saved = {
                Cell(a["row"], a["column"], a["table"]): a["value"] for a in document["answers"]
            }
            is_ours = (
                (document["format"], document["version"]) == (_FORMAT, 1)
                and isinstance(document["table"], str)
                and isinstance(document["points"], str)
                and len(saved) == len(document["answers"])
                and all(isinstance(value, str) for value in saved.values())
            )
        except OSError:
            raise NullproofError(f"no such file: {path}; check the path") from None
        # Lists in lists in lists … are no answers either.
        except (ValueError, KeyError, TypeError, RecursionError):
            is_ours = False
        if not is_ours:
            raise NullproofError(
                f"{path} holds no answers that a Cleaner saved; give the file that save wrote"
            )
        if document["table"] != self.marks["training"]:
            raise NullproofError(f"{path} was saved for another table; give that one")
        has_own = any(cell.table == "points" for cell in saved)
        if has_own and document["points"] != self.marks["points"]:
            raise NullproofError(f"{path} was saved for other points; give those")
        self.answer(saved)

    def __repr__(self) -> str:
        strict = self.model.unbiased is self.model
        what = "certain" if strict and self._confidence.confidence == 1 else "done"
        return (
            f"Cleaner: {int(self.done.sum()):,} of {len(self.points):,} points {what}, "
            f"{many(len(self.filled), 'cell')} filled, {many(self.n_open, 'cell')} left"
        )

    @property
    def n_open(self) -> int:
        """Open cells of the table that are not filled yet."""
        return int(open_counts(self.index).sum())

    @property
    def open_cells(self) -> OpenCells:
        """The open cells of the table before any answer."""
        return self._answers.cells

    def _lacking(self) -> tuple[list[Cell], list[Cell]]:
        """Cells that open points lack: those worth more than any training cell, and the others.

        Foreseeing what they bring takes longer than a step, so it is done anew after some answers only:
        the order depends on it, never a verdict.
        """
        wanted = self._wanted
        if not wanted.any():
            return [], []
        first, later = ([cell for cell in part if wanted[cell]] for part in self._ahead)
        many_since = self._n_since > max(_AGAIN, self.n_open // _AGAIN)
        if many_since or len(first) + len(later) < wanted.sum():
            self._ahead, self._n_since = self._foreseen(), 0
            first, later = self._ahead
        names = self.index.features
        found = [[Cell(t, names[j], "points") for j, t in part] for part in (first, later)]
        return found[0], found[1]

    @property
    def _wanted(self) -> NDArray[np.bool_]:
        """Features × points: cells that open points lack and that may hold several values."""
        points, found = self.points, np.zeros_like(self.points.codes, dtype=bool)
        left = np.flatnonzero(~self.done)
        left = left[self.outlook.possible.any(axis=1)]
        forced = points.missing[:, left] & (points.n_values == 1)[:, None]
        found[:, left] = points.holes[:, left] & ~forced
        return found

    def _foreseen(self) -> tuple[list[Place], list[Place]]:
        left, enough = np.flatnonzero(~self.done), self._confidence
        matter = np.zeros((len(self.points), self.model.m), dtype=bool)
        matter[left] = self.outlook.possible
        filling = Filling(self.index, enough.cells)
        orders = Orders(
            self.model, self.points, left, matter, enough.confidence, filling, self._costs
        )
        first, later = (
            [(j, one.point) for one in part for j in one.features] for part in orders.own()
        )
        return first, later

    def _judge(self, model: Model) -> None:
        self.model = model
        self.__dict__.pop("outlook", None)
        self._verdicts = verdicts(model, self.points)
        self.done, _ = self._confidence.done(model, self.points, self._verdicts)

    def _judge_again(self, places: NDArray[np.intp]) -> None:
        """Judge the points at some places, where answers for cells of their own are all that changed."""
        points = self.points.take(places)
        found = verdicts(self.model, points)
        self._verdicts = self._verdicts.with_some(places, found)
        self.done = self.done.copy()
        self.done[places], _ = self._confidence.done(self.model, points, found)
        self.__dict__.pop("outlook", None)

    @cached_property
    def outlook(self) -> Outlook:
        """The points that are not done, and what they need."""
        some = np.flatnonzero(~self.done)
        points = self.points.take(some)
        ranges = Ranges.of(self.model, points)
        matter = contenders(self.model, points, ranges, self._verdicts.take(some))
        return Outlook(self.model, ranges, matter, self._confidence.confidence)
