"""What a report says about cleaning: the first steps of a plan."""

from __future__ import annotations

from typing import Any

import numpy as np

from nullproof.cleaning.confidence import Confidence
from nullproof.cleaning.plan import plan_of
from nullproof.data.points import Points, evenly
from nullproof.model.model import Model
from nullproof.model.verdicts import Verdicts
from nullproof.odds.odds import SURE
from nullproof.progress import Progress
from nullproof.words import many, text

MOST_POINTS, _FEWEST_POINTS = 1000, 100
# A point costs time for every feature and label.
_BUDGET = 36_000
SHOWN = 20


def first_steps(
    model: Model,
    points: Points,
    found: Verdicts,
    on_progress: Progress | None = None,
) -> dict[str, Any] | None:
    """The plan as a report tells it, for the points that are not certain, or an even sample of them.

    With a bias: for those that do not hold up to it.
    """
    open_ones = np.flatnonzero(~found.certain)
    n_judged = max(_FEWEST_POINTS, min(MOST_POINTS, _BUDGET // (model.d * model.m)))
    judged = evenly(open_ones, n_judged)
    # A plan weighs by floats, which such an alpha or prior does not fit into.
    if not len(judged) or not model.floats_hold:
        return None
    chosen, own = points.take(judged), found.take(judged)
    plan = plan_of(model, chosen, own, on_progress=on_progress)
    if not plan.steps:
        return None
    likely, _ = Confidence(SURE).done(model, chosen, own)
    return {
        "goal": "certain" if model.unbiased is model else "holds",
        "n_open": len(open_ones),
        "n_judged": len(judged),
        "n_cells": plan.n_cells,
        "confidence": SURE,
        "n_likely": int(likely.sum()),
        "stages": [
            {
                "table": stage.table,
                "columns": text(stage.columns()),
                "n_cells": stage.n_cells,
                "so_far": stage.so_far,
                "expected": round(stage.expected, 1),
            }
            for stage in plan.stages[:SHOWN]
        ],
        "n_left_off": max(0, len(plan.stages) - SHOWN),
        "stop": None if plan.stop is None else plan.stop.sentence,
        "cases": plan.typical_cases,
    }


def in_words(cleaning: dict[str, Any]) -> str:
    """Say what the plan is for."""
    n_judged, n_likely = cleaning["n_judged"], cleaning["n_likely"]
    certain = cleaning["goal"] == "certain"
    whom = "points that are not certain" if certain else "points that do not hold up to the bias"
    said = (
        f"{many(cleaning['n_cells'], 'missing cell')} matter to the {whom}. In this order they "
        f"probably make many points {'certain' if certain else 'hold'} soon; points near a tie need "
        "almost all of them. "
    )
    if n_judged < cleaning["n_open"]:
        said += f"Worked out for {n_judged:,} of {cleaning['n_open']:,} such points. "
    said += (
        f"For {n_likely:,} of {n_judged:,} no cell need be looked up if the same label in "
        f"{cleaning['confidence']:.0%} of the worlds is enough. ".replace("%", " %")
    )
    return " ".join([said.strip(), *filter(None, (cleaning["stop"], cleaning["cases"]))])


def heads(cleaning: dict[str, Any]) -> list[str]:
    """The columns of the table of steps."""
    then = "then certain" if cleaning["goal"] == "certain" else "then holding"
    return ["table", "look up (of these labels)", "cells", "so far", f"{then}, expected"]
