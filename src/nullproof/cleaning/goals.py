"""What counts as done, three ways, and how many cells each of them takes.

A point is done when it is certain; or when it holds up to a bias; or when the odds of one label are
high enough. The weaker the goal, the fewer cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from nullproof.cleaning.course import cells_until
from nullproof.cleaning.plan import CleaningPlan, plan_of
from nullproof.data.points import evenly
from nullproof.model.verdicts import verdicts
from nullproof.odds.filling import Cells
from nullproof.odds.odds import SURE
from nullproof.progress import Progress, over

USUAL_BIAS = Fraction("0.05")
SHARES = (0.9, 0.95, 0.99, 1.0)
MOST_POINTS = 1000


@dataclass(frozen=True)
class Goal:
    """What counts as done, how many points are, and the cells until shares of the points are.

    Parameters
    ----------
    bias, confidence
        As for `cleaning_plan`; no bias where it differs by column.
    n_points
        How many points were judged: all, or an even sample.
    n_cells
        For each of `SHARES`: the cells that are expected to be needed; None if no plan gets there.
    """

    bias: float | None
    confidence: float
    n_points: int
    n_done: int
    n_cells: tuple[int | None, ...]

    def document(self) -> dict[str, Any]:
        """The JSON form."""
        cells = zip(SHARES, self.n_cells, strict=True)
        return {
            "bias": self.bias,
            "confidence": self.confidence,
            "n_points": self.n_points,
            "n_done": self.n_done,
            "cells": [{"share": share, "n_cells": n_cells} for share, n_cells in cells],
        }


def goals(
    plan: CleaningPlan,
    *,
    cells: Cells | None = None,
    costs: Mapping[str, float] | None = None,
    on_progress: Progress | None = None,
) -> tuple[Goal, ...]:
    """The three goals for the points of a plan: certain; up to its bias, or 0.05; by odds, or 0.99.

    Options as for `cleaning_plan`. More than 1,000 points are judged by an even sample.
    """
    strict = plan.model.unbiased
    biased = strict.biased(USUAL_BIAS) if plan.model is strict else plan.model
    enough = plan.confidence if plan.confidence < 1 else SURE
    some = plan.points.take(evenly(np.arange(plan.n_points), MOST_POINTS))
    asked = [(strict, 1.0), (biased, 1.0), (strict, enough)]
    options: dict[str, Any] = {"cells": cells, "costs": costs}
    return tuple(
        _goal_of(plan_of(model, some, verdicts(model, some), confidence=share, **options))
        for model, share in over(asked, "comparing what counts as done", on_progress)
    )


def _goal_of(plan: CleaningPlan) -> Goal:
    cells = tuple(cells_until(plan.steps, plan.n_done, share * plan.n_points) for share in SHARES)
    every = {*plan.model.bias}
    bias = float(every.pop()) if len(every) == 1 else None
    return Goal(bias, plan.confidence, plan.n_points, plan.n_done, cells)
