"""The course of a plan: its steps, how far they get, and where to stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nullproof.cleaning.holes import Cell, Which
from nullproof.words import many, some

_MOST_STAGES = 20
_LEAST_RISE = 0.5
# How far above a straight line the curve must bend before it is said where to stop.
_BEND = 0.1


@dataclass(frozen=True)
class Step:
    """Fill missing cells of one feature, in the training rows of one label or in some points.

    Parameters
    ----------
    label
        Whose training cells the step fills; None where it fills cells of the points.
    n_cells
        How many cells the step fills.
    expected
        How many points will be done after it, on average over random fillings: an estimate.
    best
        How many can be done after it: each point with the values that suit it best. Exact for
        complete points; a bound from above for incomplete ones, for a part of a group with
        candidate sets, and with a bias for a part of any group.
    own
        The cells of the points that the step fills, one by one; none for training cells.
    """

    label: Any
    feature: str
    n_cells: int
    expected: float
    best: int
    own: tuple[Cell, ...] = ()

    @property
    def table(self) -> Which:
        """Which table the cells are of: ``"training"`` or ``"points"``."""
        return "points" if self.own else "training"


class Stage(NamedTuple):
    """Steps that bring something together, with the cells so far and the points done after them."""

    steps: tuple[Step, ...]
    so_far: int
    expected: float

    @property
    def n_cells(self) -> int:
        return sum(step.n_cells for step in self.steps)

    @property
    def table(self) -> str:
        """Which table the cells are of, or ``"both"``."""
        found = {step.table for step in self.steps}
        return found.pop() if len(found) == 1 else "both"

    def columns(self, most: int = 4) -> str:
        """The columns in words, those of the training table with the labels of their rows."""
        labels: dict[str, list[str]] = {}
        for step in self.steps:
            own = labels.setdefault(step.feature, [])
            if not step.own:
                own.append(str(step.label))
        return some(
            (f"{name} ({some(own, 2)})" if own else name for name, own in labels.items()), most
        )


class Stop(NamedTuple):
    """Where to stop at first: so many cells bring so many points, those after them far fewer."""

    n_cells: int
    gain: float
    n_after: int
    gain_after: float

    @property
    def sentence(self) -> str:
        """The same in words."""
        several, more = self.n_cells > 1, self.n_after > 1
        each = f", {self.gain / self.n_cells:.2g} each" if several else ""
        after = f", {self.gain_after / self.n_after:.1g} each" if more else ""
        return (
            f"Where to stop: {many(self.n_cells, 'cell')} {'bring' if several else 'brings'} "
            f"{self.gain:,.1f} points{each}; the {f'{self.n_after:,}' if more else 'one'} after "
            f"{'them' if several else 'it'} {'bring' if more else 'brings'} {self.gain_after:,.1f} "
            f"more{after}."
        )


def stages(steps: Sequence[Step], n_done: int) -> list[Stage]:
    """The steps put together until each stage brings something; those that bring nothing are left off."""
    top = max((step.expected for step in steps), default=0.0)
    least = max(_LEAST_RISE, (top - n_done) / _MOST_STAGES)
    found: list[Stage] = []
    waiting: list[Step] = []
    so_far, reached = 0, float(n_done)
    for step in steps:
        waiting.append(step)
        so_far += step.n_cells
        if step.expected >= min(reached + least, max(top - 1e-9, reached + 1e-6)):
            found.append(Stage(tuple(waiting), so_far, step.expected))
            waiting, reached = [], step.expected
    return found


def curve(steps: Sequence[Step], n_done: int) -> dict[str, list[Any]]:
    """Cells looked up and points that are expected to be done, from none on."""
    cells = np.cumsum([0, *(step.n_cells for step in steps)])
    return {"n_cells": cells.tolist(), "expected": [n_done, *(step.expected for step in steps)]}


def stop(steps: Sequence[Step], n_done: int) -> Stop | None:
    """Where the curve bends most; None where each cell brings about the same."""
    along = curve(steps, n_done)
    cells = np.array(along["n_cells"], dtype=float)
    rise = np.maximum.accumulate(np.array(along["expected"], dtype=float)) - n_done
    if not len(steps) or rise[-1] < _LEAST_RISE:
        return None
    above = rise - rise[-1] * cells / cells[-1]
    bend = int(above.argmax())
    if above[bend] < _BEND * rise[-1]:
        return None
    n_cells, total = int(cells[bend]), int(cells[-1])
    return Stop(n_cells, float(rise[bend]), total - n_cells, float(rise[-1] - rise[bend]))


def cells_until(steps: Sequence[Step], n_done: int, n_wanted: float) -> int | None:
    """How many cells are expected to be needed until so many points are done; None if never."""
    along = curve(steps, n_done)
    for n_cells, expected in zip(along["n_cells"], along["expected"], strict=True):
        if expected >= n_wanted - 1e-6:
            return int(n_cells)
    return None
