"""cleaning_plan: which missing cells to look up first, the expected effect, and where to stop.

This is the one source of advice: the command line, the page, the report's finding and its next step all
show a `CleaningPlan`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.cleaning.forecast import Part, forecast
from nullproof.cleaning.order import (
    Group,
    Order,
    cells_that_matter,
    contenders,
    mostly_missing,
)
from nullproof.counts.index import CountIndex
from nullproof.data.edits import TrainingTable
from nullproof.data.points import Key, OwnMissing, Points
from nullproof.data.sources import native_frame
from nullproof.data.types import is_whole
from nullproof.errors import NullproofError
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Bias, Prior
from nullproof.model.verdicts import HOLDS, Verdicts, verdicts
from nullproof.odds.filling import refuse
from nullproof.progress import Progress, within
from nullproof.results.pictures import ROWS, shown_table
from nullproof.words import estimate, many, some

USUAL_BIAS = Fraction(HOLDS)
# The largest share of the missing cells for which certainty is still proposed.
_TOO_MANY = 0.1
# A step looks up at most this many cells, or this share of the plan, so that the curve has many points.
_STEP_CELLS, _STEP_SHARE = 100, 20
_MOST_STAGES = 20
_LEAST_RISE = 0.5
# How far the curve must rise above a straight line, as a share of its rise, before a stop is named.
_BEND = 0.1


class Cell(NamedTuple):
    """A missing cell of the training table, to look up.

    Examples
    --------
    >>> Cell(3, "age")
    Cell(row=3, column='age')
    """

    row: int
    column: str


class Step(NamedTuple):
    """Look up missing cells of one feature in the rows of one label.

    ``expected`` is how many points will be done after this step and those before it, on average: an
    estimate.
    """

    label: Any
    feature: str
    n_cells: int
    expected: float


class Stage(NamedTuple):
    """Steps that together complete points: the cells so far, and the points done after them."""

    steps: tuple[Step, ...]
    so_far: int
    expected: float

    @property
    def n_cells(self) -> int:
        return sum(step.n_cells for step in self.steps)

    def columns(self, most: int = 4, rows: str = "") -> str:
        """Name the columns, with the labels of the rows to look at; ``rows`` is put before the labels."""
        labels: dict[str, dict[str, None]] = {}
        for step in self.steps:
            labels.setdefault(step.feature, {})[str(step.label)] = None
        return some((f"{name} ({rows}{some(own, 2)})" for name, own in labels.items()), most)


class Stop(NamedTuple):
    """A good place to stop: ``n_cells`` complete ``gain`` points, the ``n_after`` others far fewer."""

    n_cells: int
    gain: float
    n_after: int
    gain_after: float

    @property
    def sentence(self) -> str:
        """Write this in words."""
        first = "cell is" if self.n_cells == 1 else f"{self.n_cells:,} cells are"
        return (
            f"Where to stop: the first {first} expected to bring {estimate(self.gain)} points, "
            f"the other {self.n_after:,} only {estimate(self.gain_after)} more."
        )


@dataclass(frozen=True, repr=False, eq=False)
class CleaningPlan:
    """A plan of steps, with the expected effect of each.

    Parameters
    ----------
    stuck
        Positions of points that no values of the missing cells can help: labels tie in every world. Exact.
    n_for_certainty
        How many cells may have to be looked up before every point is certain.
    does_not_apply
        Columns that are missing in over nine tenths of the rows. They have no steps: such cells probably do
        not apply, and ``missing_is_value`` counts them as a value.

    Examples
    --------
    >>> from nullproof import CountIndex, cleaning_plan
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> plan = cleaning_plan(index, [("a", "x"), ("a", "y")])
    >>> plan.n_cells
    1
    >>> plan.cells(rows, ["yes", "yes", "no", "no"])
    [Cell(row=0, column='x1')]
    """

    model: Model
    points: Points
    verdicts: Verdicts
    steps: tuple[Step, ...]
    stuck: tuple[int, ...]
    n_for_certainty: int
    does_not_apply: tuple[str, ...] = ()

    @property
    def index(self) -> CountIndex:
        """The counts of the table to clean."""
        return self.model.index

    @property
    def done(self) -> NDArray[np.bool_]:
        """Which points are done: they hold up to the bias, or are certain if it is 1. Exact."""
        return self.verdicts.certain

    @property
    def n_points(self) -> int:
        return len(self.done)

    @property
    def n_done(self) -> int:
        """The number of points that are done."""
        return int(self.done.sum())

    @property
    def n_cells(self) -> int:
        """The number of cells in all steps."""
        return sum(step.n_cells for step in self.steps)

    @property
    def expected(self) -> float:
        """The expected number of points done after all steps."""
        return self.steps[-1].expected if self.steps else float(self.n_done)

    @cached_property
    def curve(self) -> dict[str, list[Any]]:
        """The expected number of points done, by cells looked up, from 0 cells on."""
        n_cells = np.cumsum([0, *(step.n_cells for step in self.steps)]).tolist()
        return {"n_cells": n_cells, "expected": [self.n_done, *(s.expected for s in self.steps)]}

    @cached_property
    def stages(self) -> list[Stage]:
        """The steps, merged until each stage completes some points.

        Steps after the last gain are left out. If nothing is gained at all, every step is a stage.
        """
        top = max((step.expected for step in self.steps), default=0.0)
        least = max(_LEAST_RISE, (top - self.n_done) / _MOST_STAGES)
        stages, waiting, so_far, reached = list[Stage](), list[Step](), 0, float(self.n_done)
        for step in self.steps:
            waiting.append(step)
            so_far += step.n_cells
            if step.expected >= min(reached + least, max(top - 1e-9, reached + 1e-6)):
                stages.append(Stage(tuple(waiting), so_far, step.expected))
                waiting, reached = [], step.expected
        if not stages:
            ends = self.curve["n_cells"][1:]
            pairs = zip(self.steps, ends, strict=True)
            stages = [Stage((step,), end, step.expected) for step, end in pairs]
        return stages

    @cached_property
    def stop(self) -> Stop | None:
        """Where the curve bends most; None if all cells have about the same effect."""
        cells = np.array(self.curve["n_cells"], dtype=float)
        rise = np.maximum.accumulate(self.curve["expected"]) - self.n_done
        if not self.steps or rise[-1] < _LEAST_RISE:
            return None
        above = rise - rise[-1] * cells / cells[-1]
        bend = int(above.argmax())
        if above[bend] < _BEND * rise[-1]:
            return None
        n_cells, total = int(cells[bend]), int(cells[-1])
        return Stop(n_cells, float(rise[bend]), total - n_cells, float(rise[-1] - rise[bend]))

    # In words -------------------------------------------------------------------------------------

    @property
    def what(self) -> str:
        """Say what is true of the points that are done."""
        return goal_in_words(self.model)

    @property
    def headline(self) -> str:
        """How many points are done, and how many cells the others take."""
        said = f"{self.n_done:,} of {many(self.n_points, 'point')} {self.what}"
        if not self.steps:
            return said
        last = self.stages[-1]
        return f"{said}; {estimate(last.expected)} expected after looking up {many(last.so_far, 'cell')}"

    @property
    def meaning(self) -> str:
        """What it means that a point is done."""
        biases = {*self.model.bias}
        if self.model.is_unbiased:
            return "Certain: the same label whatever the missing cells hold."
        limit = "the bias of each column"
        if len(biases) == 1:
            limit = f"{float(100 * biases.pop()):g} percentage points"
        return f"Hold: the same label as long as the missing cells resemble the known ones, within {limit}."

    @property
    def nothing_to_do(self) -> str:
        """Why there are no steps."""
        if self.n_done + len(self.stuck) == self.n_points:
            return "No missing cell needs to be looked up."
        if self.does_not_apply:
            return "Only cells of columns that are almost entirely missing would help the others."
        return "No missing cell to look up would help the others."

    @property
    def certainty(self) -> str:
        """What certainty would take, if the plan has a weaker goal; else empty."""
        n_missing = self.index.n_missing
        if self.model.is_unbiased or not self.n_for_certainty:
            return ""
        said = (
            "Making certain every point that can be may take "
            f"{self.n_for_certainty:,} of {many(n_missing, 'missing cell')}"
        )
        if self.n_for_certainty > _TOO_MANY * n_missing:
            return f"{said}: more than a tenth, so it is not proposed."
        return f"{said}: set the bias to 1 to plan for this."

    @property
    def hint(self) -> str:
        """Which columns are almost entirely missing and what to do about them; or empty."""
        if not self.does_not_apply:
            return ""
        is_are = "is" if len(self.does_not_apply) == 1 else "are"
        return (
            f"{some(self.does_not_apply, 4)} {is_are} missing in over nine tenths of the rows and not in "
            "the plan; if missing means that it does not apply, count it as a value "
            "(missing_is_value, --missing-is-value)."
        )

    # As a table -----------------------------------------------------------------------------------

    def cells(self, table: Any, labels: Sequence[Any] | None = None) -> list[Cell]:
        """Return the cells to look up, in this order: row position and column name.

        Parameters
        ----------
        table
            The table that was counted, with ``labels`` if it was counted from plain rows.
        """
        return self.cells_among(missing_rows(self.index, table, labels).__getitem__)

    def cells_among(self, rows_of: Callable[[Group], NDArray[np.intp]]) -> list[Cell]:
        """Return the cells to look up, where ``rows_of`` returns the missing rows of a group."""
        position = self.index.schema.position
        label_codes = {label: code for code, label in enumerate(self.index.labels)}
        taken: dict[Group, int] = {}
        cells: list[Cell] = []
        for step in self.steps:
            group = label_codes[step.label], position[step.feature]
            start = taken.get(group, 0)
            taken[group] = start + step.n_cells
            rows = rows_of(group)[start : taken[group]]
            cells += [Cell(row, step.feature) for row in rows.tolist()]
        return cells

    def columns(self) -> dict[str, list[Any]]:
        """Return the steps as plain columns."""
        return {
            "label": [str(step.label) for step in self.steps],
            "feature": [step.feature for step in self.steps],
            "n_cells": [step.n_cells for step in self.steps],
            "expected": [step.expected for step in self.steps],
        }

    def document(self, brought: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the JSON form, with what the answers ``brought`` if there were any."""
        names, columns = self.points.names, self.columns()
        steps = zip(*columns.values(), strict=True)
        curve = zip(*self.curve.values(), strict=True)
        return {
            **({} if brought is None else {"answers": brought}),
            "n_points": self.n_points,
            "n_done": self.n_done,
            "n_cells": self.n_cells,
            "n_for_certainty": self.n_for_certainty,
            "stop": None if self.stop is None else self.stop._asdict(),
            "curve": [dict(zip(self.curve, entry, strict=True)) for entry in curve],
            "stuck": list(self.stuck),
            **({} if names is None else {"stuck_keys": names.values[[*self.stuck]].tolist()}),
            "does_not_apply": list(self.does_not_apply),
            "steps": [dict(zip(columns, step, strict=True)) for step in steps],
        }

    def to_frame(self) -> Any:
        """Return one row per step, in the library that the points came in."""
        return native_frame(self.columns(), self.points.frame, same_rows=False)

    def shown_rows(self, most: int) -> tuple[dict[str, list[Any]], int]:
        """Return the stages as people see them, by heading, and how many there are."""
        shown = self.stages[:most]
        columns: dict[str, list[Any]] = {
            "cells": [stage.n_cells for stage in shown],
            "so far": [stage.so_far for stage in shown],
            "columns (and labels)": [stage.columns() for stage in shown],
            "expected done": [estimate(stage.expected) for stage in shown],
        }
        return columns, len(self.stages)

    def _repr_html_(self) -> str:
        return shown_table(f"CleaningPlan: {self.headline}", *self.shown_rows(ROWS))

    def __repr__(self) -> str:
        lines = [f"CleaningPlan: {self.headline}"]
        lines += [
            f"  {many(stage.n_cells, 'cell')} of {stage.columns()}: "
            f"then {estimate(stage.expected)} expected"
            for stage in self.stages[:5]
        ]
        return "\n".join(lines + (["  …"] if len(self.stages) > 5 else []))


def cleaning_plan(
    index: CountIndex,
    points: Any,
    *,
    budget: int | None = None,
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnMissing = "skip",
    bias: Bias = 0.05,
    key: Key | None = None,
    on_progress: Progress | None = None,
) -> CleaningPlan:
    """Rank the missing cells of the training table, so that looking up the first few helps most.

    Parameters
    ----------
    points
        The points that matter: a data frame, a file, an array or a list of rows.
    budget
        The most cells to look up; None for no limit.
    own_missing
        ``"skip"`` only: points are predicted from their known cells.
    bias
        A point is done when it holds up to this bias, as for `certify`; 1 asks for certainty, which
        often takes most of the missing cells. A cell that is looked up becomes a known cell, which
        changes what is assumed about the others; the expected numbers account for that.
    key
        The names of the points in the result: one of their columns, or one name per point.
    on_progress
        Called with a description of the current step and the share of the work that is done.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("b", "y"), (None, "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> cleaning_plan(index, [("a", "y"), ("b", "y")], alpha=1, bias=1)
    CleaningPlan: 1 of 2 points are certain; 2.0 expected after looking up 1 cell
      1 cell of x0 (no): then 2.0 expected
    """
    model = Model(index, alpha, prior, bias)
    encoded = model.points(points, own_missing, key)
    return plan_of(
        model,
        encoded,
        verdicts(model, encoded),
        budget=budget,
        on_progress=on_progress,
    )


def plan_of(
    model: Model,
    points: Points,
    found: Verdicts,
    *,
    budget: int | None = None,
    on_progress: Progress | None = None,
) -> CleaningPlan:
    """Plan for points whose verdicts are known; options as for `cleaning_plan`."""
    index = model.index
    refuse(index, points, "cleaning_plan")
    if budget is not None and not (is_whole(budget) and budget > 0):
        raise NullproofError(f"budget is {budget!r}; give a whole number of cells, at least 1")
    left = np.flatnonzero(~found.certain)
    contending = contenders(model, points.take(left), found.take(left))
    order = Order(model, points.take(left), contending)
    excluded = mostly_missing(index)
    wanted = order.matters.any(axis=0)
    n_for_certainty = _n_for_certainty(model, points, order)
    order.matters[:, excluded] = False
    parts, expected = _best_parts(model, points, found, order, budget, on_progress)
    steps = tuple(
        Step(index.labels[part.label], index.features[part.feature], part.n_cells, after)
        for part, after in zip(parts, expected, strict=True)
    )
    return CleaningPlan(
        model,
        points,
        found,
        steps,
        tuple(left[~contending.any(axis=1)].tolist()),
        n_for_certainty,
        tuple(np.array(index.features)[excluded & wanted].tolist()),
    )


def usual_goal(model: Model) -> Model:
    """Return the model of the usual plan: its own bias, or 0.05 where cells may hold anything."""
    return model.biased(USUAL_BIAS) if model.is_unbiased else model


def goal_in_words(model: Model) -> str:
    """Say what is true of points that are done."""
    if model.is_unbiased:
        return "are certain"
    biases = {*model.bias}
    return f"hold up to {'the bias' if len(biases) > 1 else f'a bias of {float(biases.pop()):g}'}"


def _n_for_certainty(model: Model, points: Points, order: Order) -> int:
    """Count the cells that matter to a point that is not certain: all may be needed, no other is."""
    if model.is_unbiased:
        return int(order.n_cells[order.matters].sum())
    found = verdicts(model.unbiased, points)
    left = np.flatnonzero(~found.certain)
    some_points = points.take(left)
    contending = contenders(model.unbiased, some_points, found.take(left))
    return int(order.n_cells[cells_that_matter(order.n_cells, some_points, contending)].sum())


def _best_parts(
    model: Model,
    points: Points,
    found: Verdicts,
    order: Order,
    budget: int | None,
    on_progress: Progress | None,
) -> tuple[list[Part], list[float]]:
    """Return the parts of the plan, and how many points are expected to be done after each.

    Groups are scored as if they were filled whole. A budget that is too small for the first of them may
    bring more if it is spent on smaller groups, so both are tried.
    """
    parts = [*_split(order)]
    tries = [[*_within(budget, parts)]]
    if budget is not None:
        small = sorted(parts, key=lambda part: order.n_cells[part.label, part.feature] > budget)
        tries += [[*_within(budget, small)]] if small != parts else []
    forecasts = [
        forecast(
            model,
            points,
            found.certain,
            tried,
            within(on_progress, 0.2 + 0.8 * k / len(tries), 0.2 + 0.8 * (k + 1) / len(tries)),
        )
        for k, tried in enumerate(tries)
    ]
    return max(zip(tries, forecasts, strict=True), key=lambda each: each[1][-1] if each[1] else 0)


def _split(order: Order) -> Iterator[Part]:
    """Yield the groups in order, large ones in several parts."""
    total = int(order.n_cells[order.matters].sum())
    most = max(_STEP_CELLS, math.ceil(total / _STEP_SHARE))
    for label, feature in order.groups():
        n_cells = int(order.n_cells[label, feature])
        n_parts = math.ceil(n_cells / most)
        for place in range(n_parts):
            size = n_cells * (place + 1) // n_parts - n_cells * place // n_parts
            yield Part(label, feature, size)


def _within(budget: int | None, parts: Iterable[Part]) -> Iterator[Part]:
    """Yield the parts that a budget allows; of the first that is too large, as many cells as it can."""
    left = math.inf if budget is None else budget
    for part in parts:
        n_cells = int(min(part.n_cells, left))
        if n_cells:
            yield part._replace(n_cells=n_cells)
        left -= n_cells


def missing_rows(
    index: CountIndex, table: Any, labels: Sequence[Any] | None = None
) -> dict[Group, NDArray[np.intp]]:
    """Return the rows with a missing cell by label and feature, of the table that was counted."""
    return rows_by_group(index, TrainingTable.open(index.schema, table, labels))


def rows_by_group(index: CountIndex, training: TrainingTable) -> dict[Group, NDArray[np.intp]]:
    """Return the same for an open table; reject any table other than the one counted."""
    rows: dict[Group, NDArray[np.intp]] = {}
    for j, name in enumerate(index.features):
        missing = np.flatnonzero(training.writer(j).encoded.codes < 0)
        missing = missing[training.row_labels[missing] >= 0]
        owners = training.row_labels[missing]
        here = np.bincount(owners, minlength=len(index.labels))
        if not np.array_equal(here, index.n_open[j]):
            raise NullproofError(
                f"column {name!r} of the table has {int(here.sum()):,} missing cells, but "
                f"{int(index.n_open[j].sum()):,} were counted; give the table that was counted"
            )
        for i in np.flatnonzero(here).tolist():
            rows[i, j] = missing[owners == i]
    return rows
