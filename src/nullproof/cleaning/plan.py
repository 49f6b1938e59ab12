"""cleaning_plan: which missing cells to fill first, and what that will bring."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.cleaning.best_case import contenders
from nullproof.cleaning.confidence import Confidence, is_number
from nullproof.cleaning.course import Stage, Step, Stop, curve, stages, stop
from nullproof.cleaning.forecast import Forecast, OwnPart, Part, forecast
from nullproof.cleaning.holes import Cell, OpenCells
from nullproof.cleaning.left_out import LeftOut, left_out
from nullproof.cleaning.needs import Cases, cases_of, refuse_beyond_floats, typical
from nullproof.cleaning.order import Orders, affordable
from nullproof.cleaning.ranges import Ranges
from nullproof.counts.index import CountIndex
from nullproof.data.keys import Key, key_at
from nullproof.data.points import OwnHoles, Points
from nullproof.data.sources import native_frame
from nullproof.errors import NullproofError
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Bias, Prior
from nullproof.model.verdicts import Verdicts, verdicts
from nullproof.odds.filling import Cells, Filling
from nullproof.progress import Progress, within
from nullproof.show import ROWS, shown_table
from nullproof.words import many, some

_MOST_LEFT_OUT = 1000
_TABLES = {"training": "the training table", "points": "the points", "both": "both tables"}


@dataclass(frozen=True, repr=False, eq=False)
class CleaningPlan:
    """An order of work: steps one after another, with what each will bring.

    Parameters
    ----------
    done
        Which points need nothing: certain (up to the bias, if one was given), or with odds of one
        label that reach ``confidence``. Exact.
    stuck
        Positions of points that no values of the missing cells make certain, nor hold up to any
        bias: labels tie in every world. Exact for complete points.
    undecided
        Positions of points that may have odds of ``confidence``, but no bound tells: they lie too near
        it, or the point has too many completions. They count as not done.

    Examples
    --------
    >>> from nullproof import CountIndex, cleaning_plan
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> plan = cleaning_plan(index, [("a", "x"), ("a", "y")])
    >>> plan.n_cells
    1
    >>> plan.cells(rows, ["yes", "yes", "no", "no"])
    [Cell(row=0, column='x1', table='training')]
    """

    model: Model
    points: Points
    verdicts: Verdicts
    steps: tuple[Step, ...]
    done: NDArray[np.bool_]
    stuck: tuple[int, ...]
    confidence: float
    undecided: tuple[int, ...] = ()

    @property
    def index(self) -> CountIndex:
        """The counts of the table to clean."""
        return self.model.index

    @property
    def n_points(self) -> int:
        return len(self.done)

    @property
    def n_done(self) -> int:
        """How many points need nothing."""
        return int(self.done.sum())

    @property
    def n_cells(self) -> int:
        """How many cells all steps fill."""
        return sum(step.n_cells for step in self.steps)

    @property
    def stages(self) -> list[Stage]:
        """The steps put together until each brings something; those that bring nothing are left off."""
        return stages(self.steps, self.n_done)

    @property
    def stop(self) -> Stop | None:
        """Where to stop at first: after it each cell brings far less. None if nowhere."""
        return stop(self.steps, self.n_done)

    @cached_property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Cells that points leave out and that would secure or change a prediction.

        Worked out when first asked for.
        """
        return left_out(self.model, self.points, self.done)

    @cached_property
    def cases(self) -> Cases:
        """The fewest and the most cells that each point can need; computed when first asked for.

        Until it is certain, whatever the bias of the plan.
        """
        strict = self.model.unbiased
        found = self.verdicts if strict is self.model else verdicts(strict, self.points)
        return cases_of(strict, self.points, found)

    @cached_property
    def typical_cases(self) -> str:
        """What open points need at best and at worst until they are certain, in a sentence."""
        strict = self.model.unbiased
        found = self.verdicts if strict is self.model else verdicts(strict, self.points)
        is_goal = strict is self.model and self.confidence == 1
        return typical(strict, self.points, found, is_goal=is_goal)

    def cells(self, table: Any, labels: Sequence[Any] | None = None) -> list[Cell]:
        """The cells to fill, in this order: row position, column name and which table.

        Parameters
        ----------
        table
            The table that was counted; ``labels`` beside it where it was counted from plain rows.
        """
        return self.cells_among(OpenCells.of(self.index, table, labels).rows)

    def cells_among(self, rows: Callable[[int, int], NDArray[np.intp]]) -> list[Cell]:
        """The cells to fill, where ``rows`` tells the open rows of a label and a feature."""
        labels, position = [*self.index.labels], self.index.schema.position
        found: list[Cell] = []
        for step in self.steps:
            found += step.own
            if not step.own:
                open_rows = rows(labels.index(step.label), position[step.feature])
                found += [Cell(int(row), step.feature) for row in open_rows[: step.n_cells]]
        return found

    def columns(self) -> dict[str, list[Any]]:
        """The steps as plain columns."""
        return {
            "table": [step.table for step in self.steps],
            "label": [None if step.own else str(step.label) for step in self.steps],
            "feature": [step.feature for step in self.steps],
            "n_cells": [step.n_cells for step in self.steps],
            "expected": [step.expected for step in self.steps],
            "best": [step.best for step in self.steps],
        }

    def document(self, brought: dict[str, Any] | None = None) -> dict[str, Any]:
        """The JSON form, with what answers ``brought`` where some were taken."""
        names = self.points.names
        return {
            **({} if brought is None else {"answers": brought}),
            "n_points": self.n_points,
            "n_done": self.n_done,
            "confidence": self.confidence,
            "n_cells": self.n_cells,
            "stop": None if self.stop is None else self.stop._asdict(),
            "curve": [
                {"n_cells": n_cells, "expected": expected}
                for n_cells, expected in zip(*curve(self.steps, self.n_done).values(), strict=True)
            ],
            "stuck": list(self.stuck),
            "undecided": list(self.undecided),
            **({} if names is None else {"stuck_keys": names.values[[*self.stuck]].tolist()}),
            "left_out": [
                {**one.document(), **key_at(names, one.cell.row)}
                for one in self.left_out[:_MOST_LEFT_OUT]
            ],
            "steps": [
                {
                    "table": step.table,
                    "label": None if step.own else str(step.label),
                    "feature": step.feature,
                    "n_cells": step.n_cells,
                    "certain": self.n_done,
                    "expected": step.expected,
                    "best": step.best,
                }
                for step in self.steps
            ],
        }

    def to_frame(self) -> Any:
        """One row per step, in the library that the points came in."""
        return native_frame(self.columns(), self.points.frame, same_rows=False)

    @property
    def what(self) -> str:
        """What is true of the points that are done, in words."""
        if self.confidence < 1:
            return f"are done: certain, or with odds of {self.confidence:g} or more"
        return "are certain" if self.model.unbiased is self.model else "hold up to the bias"

    def _headline(self) -> str:
        return (
            f"CleaningPlan: {self.n_done:,} of {self.n_points:,} points {self.what}; "
            f"{many(self.n_cells, 'cell')} in {many(len(self.steps), 'step')}"
        )

    def _repr_html_(self) -> str:
        found = self.stages
        shown: dict[str, list[Any]] = {
            "n_cells": [stage.n_cells for stage in found],
            "so far": [stage.so_far for stage in found],
            "table": [stage.table for stage in found],
            "columns (and labels)": [stage.columns() for stage in found],
            "expected": [stage.expected for stage in found],
        }
        first = {name: column[:ROWS] for name, column in shown.items()}
        return shown_table(self._headline(), first, len(found))

    def __repr__(self) -> str:
        lines = [self._headline()]
        lines += [
            f"  {many(stage.n_cells, 'cell')} of {_TABLES[stage.table]}, {stage.columns()}: "
            f"then {stage.expected:.1f} expected"
            for stage in self.stages[:5]
        ]
        return "\n".join(lines + (["  …"] if len(self.stages) > 5 else []))


def cleaning_plan(
    index: CountIndex,
    points: Any,
    *,
    budget: float | None = None,
    confidence: float = 1.0,
    cells: Cells | None = None,
    costs: Mapping[str, float] | None = None,
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnHoles = "skip",
    bias: Bias = 1.0,
    key: Key | None = None,
    on_progress: Progress | None = None,
) -> CleaningPlan:
    """Rank the missing cells, so that looking up the first few settles as many points as possible.

    Parameters
    ----------
    points
        The points that matter: a data frame, a file, an array or a list of rows.
    budget
        The most cells to fill or, with ``costs``, the most that they may cost; None for no limit.
    confidence
        1: a point is done when it is certain. Below 1 it is done once the odds of its predicted label
        are proven to reach this number. That often takes far fewer cells: a point near a tie needs
        almost every cell to become certain.
    cells
        How chance fills the missing cells, as for `label_odds`: ``"observed"`` or ``"uniform"``. The
        default is ``"observed"`` for odds; the forecast of a plan without a bias fills cells ``"uniform"``.
    costs
        The cost of a cell by column name; 1 for columns that are not named.
    own_missing
        As for `certify`. Cells of a feature that a point leaves out do not matter to it.
    bias
        As for `certify`: a point is done when it holds up to this bias. A cell that is filled is a
        known cell, so it changes what is assumed of the others; what is expected takes that into
        account, and counts points that are done already only while they stay so.
    key
        What names the points in the result: a column of theirs, or one name per point.
    on_progress
        Called with what is being done and which share of the work is done.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("b", "y"), (None, "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> cleaning_plan(index, [("a", "y"), ("b", "y")], alpha=1)
    CleaningPlan: 1 of 2 points are certain; 2 cells in 2 steps
      2 cells of the training table, x0 (no), x1 (yes): then 2.0 expected
    """
    model = Model(index, alpha, prior, bias)
    encoded = model.points(points, own_missing, key)
    return plan_of(
        model,
        encoded,
        verdicts(model, encoded),
        budget=budget,
        confidence=confidence,
        cells=cells,
        costs=costs,
        on_progress=on_progress,
    )


def plan_of(
    model: Model,
    points: Points,
    found: Verdicts,
    *,
    budget: float | None = None,
    confidence: float = 1.0,
    cells: Cells | None = None,
    costs: Mapping[str, float] | None = None,
    on_progress: Progress | None = None,
) -> CleaningPlan:
    """The plan for points whose verdicts are known; options as for `cleaning_plan`."""
    model.refuse_weights("cleaning_plan")
    if budget is not None and not (is_number(budget) and budget >= 0):
        raise NullproofError(f"budget is {budget!r}; give a number of cells that is 0 or more")
    strict = model.unbiased is model
    reached = Confidence(confidence, cells)
    filling = Filling(model.index, cells or ("uniform" if strict else "observed"))
    each = column_costs(model.index, costs)
    refuse_beyond_floats(model)
    # Weighing the worlds of each point takes longer than all that follows.
    start = 0.6 if reached.confidence < 1 else 0.0
    done, undecided = reached.done(model, points, found, within(on_progress, 0.0, start))
    matter = contenders(model, points, Ranges.of(model, points), found)
    left = np.flatnonzero(~done)
    orders = Orders(model, points, left, matter, reached.confidence, filling, each)
    parts = orders.parts(within(on_progress, start, (start + 1) / 2))
    parts = [*affordable(parts, budget, each)]
    # Without a bias a point that is done stays so, whatever cells turn out to hold.
    looked_at = left if strict else np.flatnonzero(~done | points.complete)
    foreseen = forecast(
        model,
        points,
        looked_at,
        filling,
        parts,
        done=done,
        confidence=reached.confidence,
        on_progress=within(on_progress, (start + 1) / 2, 1.0),
    )
    steps = tuple(_steps(model.index, parts, foreseen, len(points) - len(looked_at)))
    stuck = np.flatnonzero(~done & ~matter.any(axis=1))
    return CleaningPlan(
        model,
        points,
        found,
        steps,
        done,
        tuple(stuck.tolist()),
        reached.confidence,
        tuple(np.flatnonzero(undecided).tolist()),
    )


def _steps(
    index: CountIndex, parts: Sequence[Part | OwnPart], foreseen: Forecast, n_done: int
) -> Iterator[Step]:
    """The steps as a plan lists them; ``n_done`` points are done before the first."""
    for part, expected, best in zip(
        parts, foreseen.expected.tolist(), foreseen.best.tolist(), strict=True
    ):
        feature, after = index.features[part.feature], (n_done + expected, n_done + best)
        if isinstance(part, OwnPart):
            own = tuple(Cell(place, feature, "points") for place in part.points)
            yield Step(None, feature, part.n_cells, *after, own)
        else:
            yield Step(index.labels[part.label], feature, part.n_cells, *after)


def column_costs(index: CountIndex, costs: Mapping[str, float] | None) -> Floats:
    """The cost of a cell per feature."""
    costs = costs or {}
    unknown = [name for name in costs if name not in index.schema.position]
    if unknown:
        raise NullproofError(
            f"costs names {unknown[0]!r}, which is no feature; they are {some(index.features, 8)}"
        )
    for name, cost in costs.items():
        if not (is_number(cost) and 0 < cost < math.inf):
            raise NullproofError(f"the cost of {name!r} is {cost!r}; give a number above 0")
    return np.array([float(costs.get(name, 1.0)) for name in index.features])
