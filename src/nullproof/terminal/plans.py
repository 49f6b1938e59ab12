"""Cleaning plans as plain values, and as a terminal shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nullproof.cleaning.cleaner import Cleaner
from nullproof.cleaning.plan import CleaningPlan, cleaning_plan
from nullproof.cleaning.worksheet import read_worksheet, write_worksheet
from nullproof.counts.index import CountIndex
from nullproof.errors import NullproofError
from nullproof.terminal import SHOWN
from nullproof.words import many, some


class Work:
    """A plan for a table, after the answers of worksheets were taken."""

    def __init__(
        self, index: CountIndex, points: Any, table: Callable[[], Any], options: dict[str, Any]
    ) -> None:
        self.index, self.points, self._table, self._options = index, points, table, options
        self._cleaner: Cleaner | None = None

    @property
    def cleaner(self) -> Cleaner:
        """The cleaner of the table, which is only needed for cells and answers."""
        if self._cleaner is None:
            self._cleaner = self._new()
        return self._cleaner

    def take(self, worksheets: Sequence[Path]) -> dict[str, Any] | None:
        """Take answers, all or none, and tell what they brought."""
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

    def plan(self, budget: float | None) -> CleaningPlan:
        """What is left to do."""
        index = self.index if self._cleaner is None else self._cleaner.index
        return cleaning_plan(index, self.points, budget=budget, **self._options)

    @property
    def changes(self) -> dict[str, dict[int, Any]]:
        """The answers, by column and row."""
        found: dict[str, dict[int, Any]] = {}
        for (row, column), answer in self.cleaner.filled.items():
            found.setdefault(column, {})[row] = answer
        return found

    def write_worksheet(self, path: Path, plan: CleaningPlan) -> int:
        """Write the cells that are left, marked as cells of the table as it is."""
        return write_worksheet(path, self.cleaner.open_cells, self.cleaner.cells(plan))

    def _new(self) -> Cleaner:
        return Cleaner(self.index, self.points, self._table(), **self._options)


def document(plan: CleaningPlan, brought: dict[str, Any] | None = None) -> dict[str, Any]:
    """The JSON form of a plan, and of what answers brought."""
    return {
        **({} if brought is None else {"answers": brought}),
        "n_points": plan.n_points,
        "n_done": plan.n_done,
        "confidence": plan.confidence,
        "n_cells": plan.n_cells,
        "stuck": list(plan.stuck),
        "steps": [
            {
                "label": str(step.label),
                "feature": step.feature,
                "n_cells": step.n_cells,
                "certain": plan.n_done,
                "expected": step.expected,
                "best": step.best,
            }
            for step in plan.steps
        ],
    }


def _progress(before: Cleaner, after: Cleaner) -> dict[str, Any]:
    """The JSON form of what answers brought; both cleaners have the same points."""
    gained = (after.done & ~before.done).nonzero()[0]
    labels = after.certificates.label
    return {
        "n_answers": len(after.filled),
        "n_done_before": int(before.done.sum()),
        "n_done": int(after.done.sum()),
        "became_done": [
            {"point": int(p), "label": None if labels[p] is None else str(labels[p])}
            for p in gained
        ],
    }


def show(console: Console, plan: CleaningPlan, brought: dict[str, Any] | None) -> None:
    """Print what the answers brought, then the steps that are left."""
    console.print(Text(repr(plan.index), style="dim"))
    if brought is not None:
        _show_progress(console, brought)
    what = "certain" if plan.confidence == 1 else f"done (odds of {plan.confidence:g})"
    console.print(
        Text("\n").append(f"{plan.n_done:,} of {plan.n_points:,} points are {what}", "bold"),
    )
    if plan.steps:
        console.print(f"{plan.n_cells:,} missing cells matter to the others, in this order:\n")
        console.print(_steps(plan))
    elif plan.n_done + len(plan.stuck) == plan.n_points:
        console.print("No missing cell needs to be filled.")
    else:
        console.print("No missing cell within the budget would help the others.")
    if len(plan.steps) > SHOWN:
        console.print(
            f"… and {len(plan.steps) - SHOWN:,} more steps: --json lists all", style="dim"
        )
    if plan.stuck:
        console.print(f"\nLabels tie whatever these cells hold for point {some(plan.stuck, 10)}.")
    if plan.steps and plan.confidence == 1:
        console.print("\nOften far fewer cells are enough with --confidence 0.99.", style="dim")


def _show_progress(console: Console, brought: dict[str, Any]) -> None:
    gained = brought["became_done"]
    console.print(f"\n{many(brought['n_answers'], 'answer')} done {len(gained):,} more points")
    for entry in gained[:SHOWN]:
        said = "by its odds" if entry["label"] is None else f"certainly {entry['label']}"
        console.print(f"  point {entry['point']}: {said}", highlight=False, markup=False)
    if len(gained) > SHOWN:
        console.print(f"  … and {len(gained) - SHOWN:,} more", style="dim")


def _steps(plan: CleaningPlan) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("cells", "column", "label", "expected", "at best"):
        grid.add_column(name, justify="left" if name in ("column", "label") else "right")
    for step in plan.steps[:SHOWN]:
        grid.add_row(
            f"{step.n_cells:,}",
            Text(step.feature),
            Text(str(step.label)),
            f"{step.expected:,.1f}",
            f"{step.best:,}",
        )
    return grid
