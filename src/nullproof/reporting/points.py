"""The parts of a report's document that look at single points."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.poison import single_attack
from nullproof.attacks.radius import Radii
from nullproof.data.points import Points
from nullproof.model.certify import Certificates
from nullproof.model.explain import Explanation, Known, Lead, terms_against
from nullproof.model.model import Model
from nullproof.model.verdicts import Box, Verdicts, point_counts, verdicts
from nullproof.model.witness import World, disagreeing
from nullproof.odds.filling import have_odds
from nullproof.odds.odds import odds_of
from nullproof.progress import Progress, over, within
from nullproof.reporting.overview import gap, named, weakest
from nullproof.results import CellWords, cell_words, value_words
from nullproof.words import cut, text

MOST_VALUES = 60
MOST_LABELS = 12
_MOST_DIFFERENCES = 12
_MOST_SORTS = 12
# Odds cost time for every feature and every label of a point.
_ODDS_BUDGET = 60_000
_SEVERAL = "a cell of the point or of the table has a few candidates, to which no chances are known"
_TOO_LONG = "would take too long for a report; ask label_odds or nullproof odds"
_MOST_TERMS = 8


def points(
    everything: Certificates,
    fragile: Radii,
    shown: NDArray[np.intp],
    actual: NDArray[np.int32] | None = None,
    on_progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """All that is known of each of some points; radii do not depend on the bias.

    ``actual`` are the positions of the true labels of all points, -1 for unknown.
    """
    judged, model, encoded = everything.take(shown), everything.model, everything.points
    strict, own = model.unbiased, judged.points
    anywhere = judged.verdicts if judged.strict else verdicts(strict, own)
    is_open = np.flatnonzero(~anywhere.certain)
    weighing = within(on_progress, 0.0, 0.7)
    odds = _odds(strict, own, anywhere, is_open, weighing)
    cells, boxes = encoded.take_whole(shown), _Boxes(strict, own)
    known: Known = {}
    told = []
    places = over(shown.tolist(), "describing the points", within(on_progress, 0.7, 1.0))
    for at, place in enumerate(places):
        words = [cell_words(model.index.schema, cells, at, j) for j in range(model.d)]
        told.append(
            {
                "point": place,
                **named(encoded.names, place),
                **_verdict(judged, at),
                **_truth(judged, at, -1 if actual is None else int(actual[place])),
                "possible": _label_texts(model, anywhere.possible[at]),
                **_radius(fragile, place),
                "values": [own._asdict() for own in words[:MOST_VALUES]],
                "n_values_left_off": max(0, model.d - MOST_VALUES),
                "support": support(model, anywhere, at),
                "n_labels_left_off": max(0, model.m - MOST_LABELS),
                "odds": odds.get(at),
                "odds_reason": None
                if anywhere.certain[at] or at in odds
                else _reason(strict, own, at),
                "explanation": _explanation(model, (cells, at, words), anywhere, known),
                **_witness(boxes, anywhere, at),
            }
        )
    return told


def _verdict(judged: Certificates, at: int) -> dict[str, Any]:
    """What is predicted, and how far it holds."""
    verdict, tolerance = judged.verdict[at], float(judged.tolerance[at])
    certain = bool(verdict == "certain")
    return {
        "verdict": verdict,
        "certain": certain,
        "label": _text_or_none(judged.label[at]) if certain else None,
        "predicted": _text_or_none(judged.predicted[at]),
        "tolerance": None if math.isnan(tolerance) else tolerance,
        "tolerance_rival": _text_or_none(judged.rival[at]),
        "n_own_missing": int(judged.n_own_missing[at]),
    }


def _truth(judged: Certificates, at: int, actual: int) -> dict[str, Any]:
    """The true label, and whether the prediction is right; None where that is not known."""
    if actual < 0:
        return {"truth": None, "right": None}
    label = judged.labels[actual]
    return {"truth": text(label), "right": bool(judged.predicted[at] == label)}


def _explanation(
    model: Model, point: tuple[Points, int, list[CellWords]], found: Verdicts, known: Known
) -> dict[str, Any] | None:
    """What speaks for the strongest label of a point and what for its strongest rival; None without one."""
    if model.m == 1:
        return None
    cells, at, words = point
    low, high = found.min_log[at], found.max_log[at].copy()
    label = int(np.lexsort((high, low, found.possible[at]))[-1])
    high[label] = -np.inf
    said = terms_against(model, cells, at, (label, int(high.argmax())), known, words)
    # In every line of a table, long labels are shorter than elsewhere.
    brief = replace(said, label=cut(text(said.label), 24), rival=cut(text(said.rival), 24))
    terms = [term for term in said.strongest_first if term.lead != (0.0, 0.0, 0.0)]
    return {
        "label": text(said.label),
        "rival": text(said.rival),
        "prior": brief.said(said.prior),
        "total": _lead(brief, said.total),
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


def _lead(said: Explanation, lead: Lead) -> dict[str, Any]:
    """A lead by the known cells, and between which two it lies over all worlds, in words."""
    least, reference, greatest = (said.said(log) for log in lead)
    log = lead.reference
    return {
        "log": float(log) if math.isfinite(log) else None,
        "said": reference,
        "least": least,
        "greatest": greatest,
    }


def _radius(fragile: Radii, place: int) -> dict[str, Any]:
    radius = float(fragile.radius[place])
    return {
        "radius": int(radius) if math.isfinite(radius) else None,
        "rival": _text_or_none(fragile.rival[place]),
        "not_worked_out": fragile.not_worked_out[place],
    }


def _label_texts(model: Model, possible: NDArray[np.bool_]) -> list[str]:
    return [text(model.index.labels[i]) for i in np.flatnonzero(possible)]


def support(model: Model, found: Verdicts, place: int) -> list[dict[str, Any]]:
    """The range of each label's support, possible labels first, then the strongest."""
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


def attack(model: Model, fragile: Radii) -> dict[str, Any] | None:
    """A cheapest attack on the weakest certain point: which cells, and what they do."""
    places = weakest(fragile.radius, 1)
    if not len(places):
        return None
    place, index = int(places[0]), model.index
    rival, blanks = single_attack(fragile, place)
    own = int(fragile.winner[place])
    after = index.blanked(blanks)
    codes = fragile.codes[:, place : place + 1]
    point = Points.without_holes(codes, index.n_values)
    attacked = model.on(after)
    cells = [
        {
            "label": text(index.labels[blank.label]),
            "feature": text(index.features[blank.feature]),
            "values": value_words(index.schema, blank.feature, blank.candidates),
            "n_cells": blank.n_cells,
            "effect": "lowers" if blank.label == own else "raises",
        }
        for blank in sorted(blanks, key=lambda blank: -blank.n_cells)
    ]
    return {
        "point": place,
        **named(fragile.names, place),
        "label": text(index.labels[own]),
        "rival": text(index.labels[rival]),
        "n_cells": sum(blank.n_cells for blank in blanks),
        "cells": cells[:_MOST_SORTS],
        "n_sorts_left_off": max(0, len(cells) - _MOST_SORTS),
        "before": support(model, verdicts(model, point), 0),
        "after": support(attacked, verdicts(attacked, point), 0),
    }


def _odds(
    model: Model,
    encoded: Points,
    found: Verdicts,
    places: NDArray[np.intp],
    on_progress: Progress | None,
) -> dict[int, list[Any]]:
    """Bounds of the odds of some points: the predicted label first, then the likeliest."""
    places = places[: _ODDS_BUDGET // (model.d * model.m) + 1]
    places = places[have_odds(model.index, encoded)[places]]
    if not len(places):
        return {}
    odds = odds_of(
        model,
        encoded.take(places).read("skip"),
        found.take(places),
        gap=gap(model.index),
        on_progress=on_progress,
    )
    told = {}
    for at, place in enumerate(places.tolist()):
        lower, upper = odds.lower[at], odds.upper[at]
        others = np.arange(model.m) != odds.winners[at]
        order = np.lexsort((-lower, -(lower + upper), others))
        told[place] = [
            {
                "label": text(model.index.labels[i]),
                "lower": float(lower[i]),
                "upper": float(upper[i]),
            }
            for i in order[:MOST_LABELS].tolist()
            if upper[i] > 0 or not others[i]
        ]
    return told


def _reason(model: Model, encoded: Points, at: int) -> str:
    """Why the odds of a point are not worked out."""
    return _TOO_LONG if have_odds(model.index, encoded)[at] else _SEVERAL


class _Boxes:
    """The low and high counts of points, each value of a feature looked up once."""

    def __init__(self, model: Model, points: Points) -> None:
        self.model, self.points = model, points
        self._sides = [self._of_feature(j) for j in range(model.d)]

    def _of_feature(self, j: int) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.int64]]:
        used, places = self.points.used(j)
        # Cells with candidates have no one box; nobody asks for that of a point that has some.
        codes = np.minimum(used, self.model.index.n_values[j] + 1)
        return places, self.model.low(j, codes), self.model.high(j, codes)

    def of(self, at: int) -> Box:
        """The box of a complete point, label by label."""
        low = np.array([least[places[at]] for places, least, _ in self._sides])
        high = np.array([most[places[at]] for places, _, most in self._sides])
        return low.T.tolist(), high.T.tolist()


def _witness(boxes: _Boxes, found: Verdicts, at: int) -> dict[str, Any]:
    """Two worlds that disagree, by the holes that they fill differently."""
    if found.certain[at]:
        return {"worlds": None, "differences": [], "n_differences_left_off": 0}
    model, here = boxes.model, np.array([at])
    point = boxes.points.take(here)
    box = boxes.of(at) if point.complete[0] else None
    # The cells themselves are not asked for, so any stand-in that is no hole will do.
    worlds = disagreeing(model, point, found.take(here), ("",) * model.d)
    cells = [
        (n_cells, i, j)
        for i in sorted(worlds[0].raised ^ worlds[1].raised)
        for j, n_cells in enumerate(_n_open(model, worlds[i in worlds[1].raised], i, box))
        if n_cells
    ]
    cells.sort(key=lambda cell: -cell[0])
    return {
        "worlds": [_world(world) for world in worlds],
        "differences": [_difference(model, worlds, *cell) for cell in cells[:_MOST_DIFFERENCES]],
        "n_differences_left_off": max(0, len(cells) - _MOST_DIFFERENCES),
    }


def _n_open(model: Model, world: World, i: int, box: Box | None) -> list[int]:
    """Per feature, how many cells of a label may or may not agree with a completed point."""
    if box is None:
        point = Points.without_holes(np.array(world.codes)[:, None], model.index.n_values)
        box = point_counts(model, point, 0)
    return [most - least for least, most in zip(box[0][i], box[1][i], strict=True)]


def _world(world: World) -> dict[str, Any]:
    logs = sorted(world.log_supports.items(), key=lambda pair: -pair[1])[:MOST_LABELS]
    return {
        "winners": [text(label) for label in world.winners],
        "support": [{"label": text(label), "log": _finite(log)} for label, log in logs],
    }


def _difference(
    model: Model, worlds: tuple[World, World], n_cells: int, i: int, j: int
) -> dict[str, Any]:
    """Cells of a label and feature that agree with the point in only one of the two worlds."""
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


def _text_or_none(label: Any) -> str | None:
    return None if label is None else text(label)
