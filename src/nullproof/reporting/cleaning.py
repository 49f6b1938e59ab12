"""What a report says about cleaning: the first steps of the plan that `nullproof clean` makes."""

from __future__ import annotations

from typing import Any

import numpy as np

from nullproof.cleaning.forecast import column_effects
from nullproof.cleaning.plan import CleaningPlan, plan_of, usual_goal
from nullproof.model.certify import Certificates
from nullproof.model.verdicts import verdicts
from nullproof.odds.filling import have_odds
from nullproof.progress import Progress
from nullproof.words import text

SHOWN = 20
_MOST_FEATURES = 40
_MEANING = (
    "Complete means: the missing cells of this feature are filled in at random as the known cells of the "
    "same label are, all others stay missing. Would: how many of the points that are not done then are, on "
    "average: done means that they hold up to the bias, 0.05 if none was given."
)


def planned(judged: Certificates, on_progress: Progress | None = None) -> CleaningPlan | None:
    """Return the plan of a report: up to the bias that was asked about, or 0.05 without one.

    None where points are read as "any", or points or cells have candidates.
    """
    model, points = usual_goal(judged.model), judged.points
    if points.own_missing == "any" or not have_odds(model.index, points).all():
        return None
    found = judged.verdicts if model is judged.model else verdicts(model, points)
    return plan_of(model, points, found, on_progress=on_progress)


def first_steps(plan: CleaningPlan | None) -> dict[str, Any] | None:
    """Return the plan as a report shows it; None where there is nothing to look up."""
    if plan is None or not plan.steps:
        return None
    return {
        "headline": text(f"{plan.headline}. {plan.meaning}"),
        "n_points": plan.n_points,
        "n_done": plan.n_done,
        "n_cells": plan.n_cells,
        "stages": [
            {
                "columns": text(stage.columns()),
                "n_cells": stage.n_cells,
                "so_far": stage.so_far,
                "expected": round(stage.expected, 1),
            }
            for stage in plan.stages[:SHOWN]
        ],
        "n_left_off": max(0, len(plan.stages) - SHOWN),
        "stop": None if plan.stop is None else plan.stop.sentence,
        "certainty": plan.certainty,
        "hint": text(plan.hint),
    }


def complete_features(plan: CleaningPlan | None) -> dict[str, Any]:
    """Return how many more points would be done if one feature were complete, the best first."""
    if plan is None:
        return {"meaning": _MEANING, "n_open": 0, "n_left_off": 0, "features": []}
    model, points, done = plan.model, plan.points, plan.done
    n_missing, n_open = model.index.n_open.sum(axis=1), int((~done).sum())
    n_features = int((n_missing > 0).sum()) if n_open else 0
    features = np.argsort(-n_missing, kind="stable")[:n_features].tolist()
    judged_features = features[:_MOST_FEATURES]
    effects = column_effects(model, points, done, judged_features) if judged_features else []
    listed: list[dict[str, Any]] = [
        {
            "feature": text(model.index.features[j]),
            "n_missing": int(n_missing[j]),
            "expected": round(expected, 1),
            "share": expected / n_open,
        }
        for j, expected in zip(judged_features, effects, strict=True)
    ]
    listed.sort(key=lambda effect: -effect["share"])
    return {
        "meaning": _MEANING,
        "n_open": n_open,
        "n_left_off": len(features) - len(judged_features),
        "features": listed,
    }


def in_words(cleaning: dict[str, Any]) -> str:
    """Say what the plan is expected to bring."""
    parts = (cleaning["headline"], cleaning["stop"], cleaning["hint"], cleaning["certainty"])
    return " ".join(filter(None, parts))


HEADS = ["look up (of these labels)", "cells", "so far", "then done, expected"]
