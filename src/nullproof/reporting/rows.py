"""Describe single points for a report: verdict, explanation, values, support, odds, two worlds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.joint_problem import Problem
from nullproof.attacks.poison import union
from nullproof.attacks.radius import Radii
from nullproof.counts.index import CountIndex
from nullproof.data.points import Points, RowNames, key_at
from nullproof.model.certify import Certificates
from nullproof.model.explain import Explanation, Known, Lead, terms_against
from nullproof.model.model import Model
from nullproof.model.verdicts import Verdicts, point_counts, verdicts
from nullproof.model.witness import World, disagreeing
from nullproof.odds.filling import have_odds
from nullproof.odds.odds import odds_of
from nullproof.progress import Progress, over, within
from nullproof.results import CellWords, cell_words, value_words
from nullproof.words import cut, text

WEAKEST = 10
MOST_LABELS = 12
_MOST_VALUES, _MOST_TERMS, _MOST_DIFFERENCES = 60, 8, 12
# Computing odds takes time for every feature and every label of a point.
_ODDS_BUDGET = 60_000
# With many labels none is far ahead, and finer bounds would take long.
_GAP, _WIDE_GAP, _MANY_LABELS = 0.01, 0.03, 20
_FAR = 700.0
_SEVERAL = "a cell of the point or of the table has several candidates with unknown probabilities"
_TOO_LONG = "would take too long for a report; use label_odds or nullproof odds"


def listed(
    judged: Certificates, fragile: Radii, limit: int, also: Sequence[int] = ()
) -> NDArray[np.intp]:
    """Return the positions of the ``limit`` weakest points and of some more, weakest first.

    Points are ordered by tolerance, then by radius.
    """
    tolerance = np.nan_to_num(judged.tolerance, nan=-1.0)
    order = np.lexsort((np.nan_to_num(fragile.radius, nan=math.inf), tolerance))
    shown: NDArray[np.intp] = order[(np.arange(len(order)) < limit) | np.isin(order, [*also])]
    return shown


def weakest(radius: NDArray[np.float64], n_wanted: int = WEAKEST) -> NDArray[np.intp]:
    """Return the certain points with the smallest radius, smallest first, without unbreakable ones."""
    places = np.flatnonzero((radius > 0) & np.isfinite(radius))
    picked: NDArray[np.intp] = places[np.argsort(radius[places], kind="stable")[:n_wanted]]
    return picked


def name_of(names: RowNames | None, place: int) -> str | None:
    """Return the name of a point as text, or None."""
    return _text(key_at(names, place).get("key"))


def true_labels(judged: Certificates) -> list[Any]:
    """Return the true label of each point; None if it is unknown."""
    places = [-1] * len(judged) if judged.actual is None else judged.actual.tolist()
    labels = [*judged.labels, None]
    return [labels[place] for place in places]


def gap(index: CountIndex) -> float:
    """Return the gap at which the bounds of odds are close enough."""
    return _GAP if len(index.labels) < _MANY_LABELS else _WIDE_GAP


def points(
    everything: Certificates,
    fragile: Radii,
    shown: NDArray[np.intp],
    on_progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Describe the points at some positions one by one; ``fragile`` are the radii of these points."""
    judged, model, encoded = everything.take(shown), everything.model, everything.points
    strict, own = model.unbiased, judged.points
    anywhere = judged.verdicts if judged.strict else verdicts(strict, own)
    odds = _odds(strict, own, anywhere, within(on_progress, 0.0, 0.7))
    cells = encoded.take_whole(shown)
    known: Known = {}
    rows, labels, actual = [], model.index.labels, true_labels(judged)
    places = over(shown.tolist(), "describing the points", within(on_progress, 0.7, 1.0))
    for at, place in enumerate(places):
        words = [cell_words(model.index.schema, cells, at, j) for j in range(model.d)]
        explanation, influence = _explanation(model, (cells, at, words), anywhere, known)
        reason = None
        if not anywhere.certain[at] and at not in odds:
            reason = _TOO_LONG if have_odds(strict.index, own)[at] else _SEVERAL
        verdict, tolerance = judged.verdict[at], float(judged.tolerance[at])
        truth, radius = actual[at], float(fragile.radius[at])
        certain = bool(verdict == "certain")
        here = np.array([at])
        rows.append(
            {
                "point": place,
                "key": name_of(encoded.names, place),
                "verdict": verdict,
                "certain": certain,
                "label": _text(judged.label[at]) if certain else None,
                "predicted": _text(judged.predicted[at]),
                "tolerance": None if math.isnan(tolerance) else tolerance,
                "tolerance_rival": _text(judged.rival[at]),
                "n_own_missing": int(judged.n_own_missing[at]),
                "truth": _text(truth),
                "right": None if truth is None else bool(judged.predicted[at] == truth),
                "possible": [text(labels[i]) for i in anywhere.possible[at].nonzero()[0]],
                "radius": int(radius) if math.isfinite(radius) else None,
                "rival": _text(fragile.rival[at]),
                "not_worked_out": fragile.not_worked_out[at],
                "explanation": explanation,
                "values": [words[j]._asdict() for j in influence[:_MOST_VALUES]],
                "n_values_left_off": max(0, model.d - _MOST_VALUES),
                "support": support(model, anywhere, at),
                "n_labels_left_off": max(0, model.m - MOST_LABELS),
                "odds": odds.get(at),
                "odds_reason": reason,
                **_witness(strict, own.take(here), anywhere.take(here)),
            }
        )
    return rows


def _explanation(
    model: Model, point: tuple[Points, int, list[CellWords]], found: Verdicts, known: Known
) -> tuple[dict[str, Any] | None, list[int]]:
    """Explain the strongest label against its rival; also return the features by influence."""
    if model.m == 1:
        return None, list(range(model.d))
    cells, at, words = point
    low, high = found.min_log[at], found.max_log[at].copy()
    label = int(np.lexsort((high, low, found.possible[at]))[-1])
    high[label] = -np.inf
    whole = terms_against(model, cells, at, (label, int(high.argmax())), known, words)
    # Long labels are cut more than elsewhere, since every line of the table repeats them.
    brief = replace(whole, label=cut(text(whole.label), 24), rival=cut(text(whole.rival), 24))
    strongest = whole.strongest_first
    position = {id(term): j for j, term in enumerate(whole.terms)}
    terms = [term for term in strongest if term.lead != (0.0, 0.0, 0.0)]
    explanation = {
        "label": text(whole.label),
        "rival": text(whole.rival),
        "prior": brief.said(whole.prior),
        "total": _lead(brief, whole.total),
        "terms": [
            {
                "feature": term.cell.feature,
                "value": text(term.cell.shown),
                **_lead(brief, term.lead),
            }
            for term in terms[:_MOST_TERMS]
        ],
        "n_terms_left_off": max(0, len(terms) - _MOST_TERMS),
    }
    return explanation, [position[id(term)] for term in strongest]


def _lead(explanation: Explanation, lead: Lead) -> dict[str, Any]:
    """Return a lead by the known cells, and its range over all worlds."""
    least, reference, greatest = (explanation.said(log) for log in lead)
    return {
        "log": _finite(lead.reference),
        "said": reference,
        "least": least,
        "greatest": greatest,
        # JSON has no infinite numbers; pictures draw them to the edge.
        "drawn": [0.0 if log != log else min(max(log, -_FAR), _FAR) for log in lead],
    }


def support(model: Model, found: Verdicts, place: int) -> list[dict[str, Any]]:
    """Return the range of each label's support, possible labels first, then the strongest."""
    low, high, possible = found.min_log[place], found.max_log[place], found.possible[place]
    order = np.lexsort((-low, -high, ~possible))[:MOST_LABELS]
    return [
        {
            "label": text(model.index.labels[i]),
            "low": _finite(low[i]),
            "high": _finite(high[i]),
            "possible": bool(possible[i]),
        }
        for i in order.tolist()
    ]


def attack(model: Model, points: Points, fragile: Radii) -> dict[str, Any] | None:
    """Describe a smallest attack on the weakest certain point: its cells and their effect."""
    places = weakest(fragile.radius, 1)
    if not len(places):
        return None
    place, index, alone = int(places[0]), model.index, fragile.take(places)
    problem = Problem.of(alone)
    blanks = problem.blanks(union(problem, alone))
    winner, rival = int(alone.winner[0]), int(alone.overtaker[0])
    point = Points.without_holes(points.codes[:, place : place + 1], index.n_values)
    attacked = model.on(index.blanked(blanks))
    cells = [
        {
            "label": text(index.labels[blank.label]),
            "feature": text(index.features[blank.feature]),
            "values": value_words(index.schema, blank.feature, blank.candidates),
            "n_cells": blank.n_cells,
            "effect": "lowers" if blank.label == winner else "raises",
        }
        for blank in sorted(blanks, key=lambda blank: -blank.n_cells)
    ]
    return {
        "point": place,
        "key": name_of(fragile.names, place),
        "label": text(index.labels[winner]),
        "rival": text(index.labels[rival]),
        "n_cells": sum(blank.n_cells for blank in blanks),
        "cells": cells[:MOST_LABELS],
        "n_sorts_left_off": max(0, len(cells) - MOST_LABELS),
        "before": support(model, verdicts(model, point), 0),
        "after": support(attacked, verdicts(attacked, point), 0),
    }


def _odds(
    model: Model, encoded: Points, found: Verdicts, on_progress: Progress | None
) -> dict[int, list[Any]]:
    """Return bounds of the odds of open points: the predicted label first, then the likeliest."""
    places = np.flatnonzero(~found.certain)[: _ODDS_BUDGET // (model.d * model.m) + 1]
    places = places[have_odds(model.index, encoded)[places]]
    if not len(places):
        return {}
    asked = encoded.take(places).read("skip")
    odds = odds_of(model, asked, found.take(places), gap=gap(model.index), on_progress=on_progress)
    bounds = {}
    for at, place in enumerate(places.tolist()):
        lower, upper = odds.lower[at], odds.upper[at]
        others = np.arange(model.m) != odds.winners[at]
        order = np.lexsort((-lower, -(lower + upper), others))
        bounds[place] = [
            {
                "label": text(model.index.labels[i]),
                "lower": float(lower[i]),
                "upper": float(upper[i]),
            }
            for i in order[:MOST_LABELS].tolist()
            if upper[i] > 0 or not others[i]
        ]
    return bounds


def _witness(model: Model, point: Points, found: Verdicts) -> dict[str, Any]:
    """Describe two worlds that disagree about a point by the missing cells they fill differently."""
    if found.certain[0]:
        return {"worlds": None, "differences": [], "n_differences_left_off": 0}
    # The cell values are not needed, so any placeholder that is not missing will do.
    worlds = disagreeing(model, point, found, ("",) * model.d)
    cells = []
    for i in sorted(worlds[0].raised ^ worlds[1].raised):
        world = worlds[i in worlds[1].raised]
        low, high = point_counts(model, world.codes)
        pairs = enumerate(zip(low[i], high[i], strict=True))
        cells += [(most - least, i, j) for j, (least, most) in pairs if most > least]
    cells.sort(key=lambda cell: -cell[0])
    return {
        "worlds": [{"winners": [text(label) for label in world.winners]} for world in worlds],
        "differences": [_difference(model, worlds, *cell) for cell in cells[:_MOST_DIFFERENCES]],
        "n_differences_left_off": max(0, len(cells) - _MOST_DIFFERENCES),
    }


def _difference(
    model: Model, worlds: tuple[World, World], n_cells: int, i: int, j: int
) -> dict[str, Any]:
    """Describe cells of a label and feature that agree with the point in only one of the two worlds."""
    first, second = (
        {
            "value": value_words(model.index.schema, j, (world.codes[j],))[0],
            "takes": i in world.raised,
        }
        for world in worlds
    )
    return {
        "label": text(model.index.labels[i]),
        "feature": text(model.index.features[j]),
        "n_cells": n_cells,
        "first": first,
        "second": second,
    }


def _finite(log: Any) -> float | None:
    return float(log) if math.isfinite(log) else None


def _text(label: Any) -> str | None:
    return None if label is None else text(label)
