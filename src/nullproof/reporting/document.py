"""Compute everything that a report says, as one document of plain values for the templates to present.

The document is strict JSON. Labels, features and values are texts, shortened where they are very long;
a *share* is between 0 and 1, or null where there is nothing to share. `docs/report.md` explains every
key; in the order of the story they are:

- overview: ``title``, ``name``, ``table``, ``verdicts``, ``quality``, ``unused``, ``finding``, ``next``,
  ``notes``, ``own_missing``, ``curve``;
- rows: ``sample``, ``points`` (weakest first), ``certain``, ``open``;
- columns: ``columns``;
- clean up: ``cleaning``;
- attacks: ``fragility``, ``accuracy``, ``attack``;
- where it comes from: ``asked``, and ``compared`` if another report was given.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

from nullproof.attacks.accuracy import AccuracyCurve
from nullproof.attacks.radius import Radii, radii_of
from nullproof.cleaning.plan import CleaningPlan, plan_of, usual_goal
from nullproof.data.notices import in_flags, in_shell, leaks, standing_notices
from nullproof.data.points import evenly, unseen_notices
from nullproof.data.schema import ONE
from nullproof.model.accuracy import BIASES, DRAWN, Truth
from nullproof.model.certify import Certificates, certificates_of
from nullproof.model.model import Model
from nullproof.model.verdicts import VERDICTS, verdicts
from nullproof.odds.filling import have_odds
from nullproof.odds.odds import SURE
from nullproof.progress import Progress, within
from nullproof.reporting import rows
from nullproof.reporting.columns import profiles, unused
from nullproof.results.pictures import histogram
from nullproof.words import (
    estimate,
    many,
    number,
    per_cent,
    shortened,
    some,
    text,
    verdict_meanings,
)

LIMIT = 200
# Finding two worlds for a point takes time for every feature.
_BUDGET = 40_000
_MOST_STAGES, _BARS = 20, 10
_MOST_STEPS, _MOST_DRAWN = 200, 200
# The Python call that makes the report again.
_CALLS = {"clean": "cleaning_plan(index, points)", "radius": "radius(index, points)"}
# Notices of what ``unused`` lists.
_UNUSED = re.compile("left out, since|play no part|taken as missing|have weight 0")
_TRAINING_ROWS = (
    "The points are the training rows themselves, so the share of right predictions shows how well the "
    "model fits its own training rows, not how well it will predict new points."
)


@dataclass(frozen=True)
class Asked:
    """The origin of a report: files and a command or, without these, a call in Python.

    Parameters
    ----------
    train, test
        The names of the files; ``test`` is None if the points are the training rows.
    given
        The options that were given.
    notices
        The notices given while the files were read: what was left out or read as missing.
    commands
        Commands by name: ``"report"`` makes it again, ``"clean"`` and ``"radius"`` may be next.
    """

    train: str | None = None
    test: str | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    notices: Sequence[str] = ()
    commands: Mapping[str, str] = field(default_factory=lambda: _CALLS)

    @property
    def in_python(self) -> bool:
        return self.train is None

    @property
    def training_rows(self) -> bool:
        """Whether the points are known to be the training rows themselves."""
        return not self.in_python and self.test is None

    def document(self, judged: Certificates) -> dict[str, Any]:
        """Return the plain values; options that were not given have the model's values."""
        model, now = judged.model, datetime.now(UTC)
        # With a fixed time the same report can be made again, byte for byte.
        with suppress(ValueError, OverflowError, OSError):
            now = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "")), UTC)
        prior = zip(model.index.labels, model.prior, strict=True)
        options = {
            "alpha": number(model.alpha),
            "prior": some((f"{label} {float(share):.3g}" for label, share in prior), 6),
            "own missing": judged.points.own_missing,
            "bias": "no limit" if judged.strict else judged.up_to,
        }
        for name, value in self.given.items():
            listed = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            options[name.replace("_", " ")] = "yes" if value is True else listed
        return {
            "version": None if self.in_python else version("nullproof"),
            "train": self.train,
            "test": self.test,
            "training_rows": self.training_rows,
            "date": None if self.in_python else now.strftime("%Y-%m-%d %H:%M UTC"),
            "options": [{"name": name, "value": shortened(own)} for name, own in options.items()],
            "command": self.commands.get("report"),
        }

    def more_points(self, most: int) -> str:
        """Explain how to list points that are left out; ``most`` is the largest limit."""
        if "report" in self.commands:
            how, more = (
                "--point and its number or key to the command at the end of this report",
                "--limit N",
            )
        elif self.in_python:
            how, more = "also=[its number or key] to report", "limit=N"
        else:
            return "Any other point can be opened on the page of nullproof serve."
        return f"To list another point, add {how}; {more} lists more points, here up to {most:,}."


def document_of(
    judged: Certificates,
    *,
    limit: int = LIMIT,
    say: Progress,
    asked: Asked | None = None,
    also: Sequence[int] = (),
) -> dict[str, Any]:
    """Return the document of points whose verdicts, up to the model's bias, are known.

    Possible labels, supports, odds, worlds, radii and attacks refer to all worlds, whatever the bias; the
    plan and the effects of missing cells refer to the bias.
    """
    asked = asked or Asked()
    judged.work_out(lambda what, share: say(what, 0.1 + 0.3 * share))
    model, points, index = judged.model, judged.points, judged.model.index
    say("finding the fewest cells for each point", 0.4)
    strict = judged if judged.strict else certificates_of(model.unbiased, points)
    fragile = radii_of(strict.model, points, strict.verdicts, within(say, 0.4, 0.5))
    most = max(rows.WEAKEST, _BUDGET // model.d)
    shown = rows.listed(judged, fragile, min(limit, most), also)
    say("weighing the worlds", 0.5)
    listed = rows.points(judged, fragile.take(shown), shown, within(say, 0.5, 0.7))
    say("planning what to clean", 0.7)
    plan = _planned(judged, within(say, 0.7, 1.0))
    known = judged.truth if judged.truth is not None and judged.truth.everything.n else None
    is_all = len(listed) == len(points)
    document: dict[str, Any] = {
        "name": asked.train,
        "table": _table(model),
        "verdicts": _verdicts(judged),
        "quality": _quality(known),
        "unused": unused(index, asked.notices, flags=not asked.in_python),
        "own_missing": {
            "reading": points.own_missing,
            "n_points": int((points.n_own_missing > 0).sum()),
            "n_certain": {"skip": strict.n_certain_if("skip"), "any": strict.n_certain_if("any")},
        },
        "curve": _curve(judged),
        "certain": {"n_points": len(points), "n_certain": judged.n_of("certain")},
        "open": _open(judged, listed),
        "columns": profiles(index, plan),
        "cleaning": _cleaning(plan),
        "fragility": _fragility(fragile),
        "accuracy": None if known is None else _accuracy(judged, strict, fragile),
        "attack": rows.attack(strict.model, points, fragile),
        "sample": {
            "n_points": len(points),
            "n_shown": len(listed),
            "all": is_all,
            "n_weakest": min(limit, most, len(points)),
            "asked": sorted({*also}),
            "more": "" if is_all else asked.more_points(most),
        },
        "points": listed,
        "asked": asked.document(judged),
    }
    document["title"] = _title(judged)
    alone = [text(name) for name in leaks(index)]
    document["finding"] = _leak(alone) if alone else _finding(document)
    document["next"] = _without(alone) if alone else _next(document, asked.commands)
    document["notes"] = _notes(judged, document, asked)
    say("done", 1.0)
    return document


# Overview ---------------------------------------------------------------------------------------------


def _table(model: Model) -> dict[str, Any]:
    """Describe the counted table and the model."""
    index = model.index
    n_cells = index.n_rows * len(index.features)
    return {
        "label_name": text(index.schema.label_name),
        "labels": [text(label) for label in index.labels],
        "n_rows": index.n_rows,
        "n_features": len(index.features),
        "n_missing": index.n_missing,
        "share_missing": index.n_missing / n_cells if n_cells else None,
        "alpha": number(model.alpha),
        "weighted": {*index.schema.weights} != {ONE},
    }


def _verdicts(judged: Certificates) -> dict[str, Any]:
    """Count the points with each verdict, and how many of their predictions are right, if known."""
    meanings = verdict_meanings(judged.threshold, judged.learned)
    known = {} if judged.truth is None else judged.truth.groups
    groups = [
        {
            "verdict": verdict,
            "n_points": judged.n_of(verdict),
            "share": judged.n_of(verdict) / len(judged) if len(judged) else None,
            "n_right": known[verdict].n_right if known else None,
            "n_known": known[verdict].n if known else None,
            "meaning": meanings[verdict],
        }
        for verdict in VERDICTS
    ]
    return {
        "threshold": judged.threshold,
        "learned": bool(judged.learned),
        "groups": groups,
    }


def _title(judged: Certificates) -> str:
    n_points, n_certain = len(judged), judged.n_of("certain")
    if not n_points:
        return "There are no points to predict"
    of = f"of {many(n_points, 'prediction')}"
    if judged.strict:
        verb = "is" if n_points == 1 else "are"
        return f"{n_certain:,} {of} {verb} certain ({per_cent(n_certain / n_points)})"
    n_held, verb = n_certain + judged.n_of("holds"), "holds" if n_points == 1 else "hold"
    share = per_cent(n_held / n_points)
    return f"{n_held:,} {of} {verb} up to {judged.up_to} ({share}); {n_certain:,} certain"


def _quality(truth: Truth | None) -> dict[str, Any] | None:
    """Return the accuracy, and that of always answering the most frequent label."""
    if truth is None:
        return None
    baseline = {"label": text(truth.usual), **truth.baseline.document()}
    return {**truth.everything.document(), "baseline": baseline}


def _leak(names: Sequence[str]) -> str:
    """Say that some columns alone give away the label: then nothing else matters."""
    gives = "gives" if len(names) == 1 else "give"
    return (
        f"{some(map(repr, names), 3)} alone {gives} the label in over 99.9 % of the rows, so these numbers "
        "say little about new rows."
    )


def _without(names: Sequence[str]) -> dict[str, Any]:
    flags = " ".join(f"--ignore {in_shell(name)}" for name in names[:3])
    it, is_not = ("it", "is not") if len(names) == 1 else ("them", "are not")
    text = f"If {some(map(repr, names), 3)} {is_not} known for a new row, leave {it} out: {flags}"
    return {"text": text, "command": None}


def _finding(document: dict[str, Any]) -> str:
    """Return the one sentence that matters most after the numbers, from the plan if there is one."""
    plan, fragility = document["cleaning"], document["fragility"]
    if not document["certain"]["n_points"]:
        return ""
    if plan:
        first = plan["stages"][0]
        return (
            f"Missing cells of {plan['first']} matter most: {many(first['n_cells'], 'cell')} looked up "
            f"{'is' if first['n_cells'] == 1 else 'are'} expected to raise the rows that hold from "
            f"{plan['n_done']:,} to {estimate(first['expected'])} of {plan['n_points']:,}."
        )
    found = []
    if not document["table"]["n_missing"]:
        found.append("No cell is missing, so every prediction is certain")
    elif not document["open"]["n_points"]:
        found.append("No missing cell needs to be looked up")
    if fragility["least"] is not None:
        is_are = "is" if fragility["least"] == 1 else "are"
        found.append(
            "the weakest certain prediction is no longer certain once "
            f"{many(fragility['least'], 'training cell')} {is_are} blanked or wrong"
        )
    said = "; ".join(found)
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def _next(document: dict[str, Any], commands: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the next step, from the same plan, and its command."""
    plan = document["cleaning"]
    if plan:
        first = plan["stages"][0]
        what = (
            f"Look up missing cells of the training table, first {many(first['n_cells'], 'cell')} of "
            f"{plan['first']}"
        )
        lead, command = ". The whole list:", commands.get("clean")
    elif document["fragility"]["n_certain"]:
        what = "Find how few cells break each certain prediction, and which label catches up"
        lead, command = ":", commands.get("radius")
    else:
        return None
    return {"text": what + (lead if command else "."), "command": command}


def _curve(judged: Certificates) -> dict[str, Any]:
    """Count the predictions that hold at each bias: a few for the table, many for the curve."""
    columns = _curve_columns(judged, BIASES)
    if judged.actual is not None:
        at = judged.curve()
        columns["accuracy_hold"] = [point.hold.accuracy for point in at]
        columns["accuracy_rest"] = [point.rest.accuracy for point in at]
    asked = () if judged.threshold is None else (judged.threshold,)
    return {**columns, "drawn": _curve_columns(judged, sorted({*DRAWN, *asked}))}


def _curve_columns(judged: Certificates, biases: Sequence[float]) -> dict[str, Any]:
    n_hold = [at.n_hold for at in judged.curve(biases)]
    shares = [n / max(len(judged), 1) for n in n_hold]
    return {"bias": [*biases], "n_hold": n_hold, "share": shares}


def _notes(judged: Certificates, document: dict[str, Any], asked: Asked) -> list[str]:
    """List what the reader should know before trusting the numbers, without repetition."""
    index, smoothed = judged.model.index, judged.model.alpha > 0
    standing = standing_notices(index)
    if not asked.in_python:
        standing = [*map(in_flags, standing)]
    notices = [
        *asked.notices,
        *standing,
        *unseen_notices(index.schema, judged.points, smoothed=smoothed),
    ]
    told = [_TRAINING_ROWS] * asked.training_rows
    told += [f"{line[0].upper()}{line[1:]}." for line in notices if not _UNUSED.search(line)]
    biases = zip(index.features, judged.model.bias, judged.model.fixed, strict=True)
    named = [f"{text(name)} {number(bias)}" for name, bias, fixed in biases if fixed]
    if named:
        told.append(
            f"Columns with a bias of their own, which they keep: {some(named, 5)} (0: like the known "
            "cells, 1: anything)."
        )
    close = rows.gap(index)
    n_wide = sum(
        any(bound["upper"] - bound["lower"] > close for bound in point["odds"] or ())
        for point in document["points"]
    )
    if n_wide:
        told.append(
            f"The odds of {many(n_wide, 'point')} have bounds more than {close:g} apart: labels "
            "tie too often there."
        )
    missing = document["own_missing"]
    if missing["n_points"]:
        verb = "has" if missing["n_points"] == 1 else "have"
        read = "are left out" if missing["reading"] == "skip" else "may hold anything, too"
        line = f"{many(missing['n_points'], 'point')} {verb} missing cells; they {read}."
        skip, every = missing["n_certain"]["skip"], missing["n_certain"]["any"]
        if skip != every:
            line += (
                f" Predicted from the known cells of each point, {skip:,} are certain; whatever its own "
                f"missing cells hold, {every:,} are."
            )
        told.append(line)
    # Notices from reading the files may name the same columns as standing ones, in another order.
    return list(
        {tuple(sorted(re.findall(r"\w+", note))): note for note in reversed(told)}.values()
    )[::-1]


# Rows -------------------------------------------------------------------------------------------------


def _open(judged: Certificates, listed: list[dict[str, Any]]) -> dict[str, Any]:
    """Count the open points, those with odds, and those whose label is likely."""
    weighed = [point for point in listed if point["verdict"] == "open" and point["odds"]]
    sure = [
        point
        for point in weighed
        if point["predicted"] is not None and point["odds"][0]["lower"] >= SURE
    ]
    return {"n_points": judged.n_of("open"), "n_odds": len(weighed), "n_likely": len(sure)}


# Clean up ---------------------------------------------------------------------------------------------


def _planned(judged: Certificates, on_progress: Progress | None) -> CleaningPlan | None:
    """Return the plan of `nullproof clean`, up to the given bias, or 0.05 without one.

    Return None if ``own_missing`` is "any", or if points or cells have candidates.
    """
    model, points = usual_goal(judged.model), judged.points
    if points.own_missing == "any" or not have_odds(model.index, points).all():
        return None
    found = judged.verdicts if model is judged.model else verdicts(model, points)
    return plan_of(model, points, found, on_progress=on_progress)


def _cleaning(plan: CleaningPlan | None) -> dict[str, Any] | None:
    """Return the plan for the report; None if there is nothing to look up."""
    if plan is None or not plan.steps:
        return None
    cells, expected = (plan.curve[name] for name in ("n_cells", "expected"))
    drawn = evenly(np.arange(len(cells)), _MOST_DRAWN).tolist()
    return {
        "headline": f"{plan.headline}. {plan.meaning}",
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
            for stage in plan.stages[:_MOST_STAGES]
        ],
        "first": text(plan.stages[0].columns(rows="rows labelled ")),
        "n_left_off": max(0, len(plan.stages) - _MOST_STAGES),
        "drawn": {
            "n_cells": [int(cells[at]) for at in drawn],
            # Only rows that are not done yet: often most are done, and the curve would be flat.
            "share": [
                max(0.0, float(expected[at]) - plan.n_done) / max(plan.n_points - plan.n_done, 1)
                for at in drawn
            ],
        },
        "stop": None if plan.stop is None else plan.stop.sentence,
        "certainty": plan.certainty,
        "hint": text(plan.hint),
    }


# Attacks ----------------------------------------------------------------------------------------------


def _fragility(fragile: Radii) -> dict[str, Any]:
    """Count how many cells would have to be blanked before certain points are no longer certain."""
    radius, names = fragile.radius, fragile.names
    finite = radius[(radius > 0) & np.isfinite(radius)]
    labels, rivals = fragile.label, fragile.rival
    return {
        "n_certain": int((fragile.winner >= 0).sum()),
        "n_unbreakable": int(np.isinf(radius).sum()),
        "n_not_worked_out": int(np.isnan(radius).sum()),
        "least": int(finite.min()) if len(finite) else None,
        "median": float(np.median(finite)) if len(finite) else None,
        "greatest": int(finite.max()) if len(finite) else None,
        "histogram": histogram(finite, _BARS),
        "weakest": [
            {
                "point": place,
                "key": rows.name_of(names, place),
                "label": text(labels[place]),
                "rival": text(rivals[place]),
                "radius": int(radius[place]),
            }
            for place in rows.weakest(radius).tolist()
        ],
    }


def _accuracy(judged: Certificates, strict: Certificates, fragile: Radii) -> dict[str, Any]:
    """Count the predictions that stay right under any attack of some size."""
    assert judged.actual is not None
    known, actual = judged.actual >= 0, judged.actual
    found = AccuracyCurve(
        "cells",
        fragile.radius[known],
        np.asarray(strict.verdicts.winner == actual)[known],
        np.asarray(judged.predicted_positions == actual)[known],
        len(known),
    )
    steps = found.steps[evenly(np.arange(len(found.steps)), _MOST_STEPS)].tolist()
    return {
        "n_known": found.n_known,
        "n_right": int(found.right.sum()),
        "accuracy": found.accuracy,
        "curve": [{"k": k, "n": found.n_at(k), "share": found.at(k)} for k in found.some_sizes()],
        "drawn": {"k": steps, "share": [found.at(k) for k in steps]},
    }
