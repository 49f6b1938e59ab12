"""Describe the columns for a report: a profile of each, and what the model does not use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nullproof.cleaning.forecast import column_effects
from nullproof.cleaning.plan import CleaningPlan
from nullproof.counts.columns import ColumnLine
from nullproof.counts.index import CountIndex
from nullproof.data.notices import in_shell
from nullproof.data.schema import IGNORED, NAMES_ROWS
from nullproof.words import estimate, text

_MOST_COLUMNS, _MOST_EFFECTS, _MOST_VALUES = 100, 40, 24
# An option is given for so many columns by name.
_FEW = 3
# Why a column plays no part, and the option that undoes this on the command line and in Python.
_REASONS: dict[str, tuple[str, str | None, str | None]] = {
    "one bin": (
        "no cut of its numbers tells enough about the label, so it has one bin",
        None,
        None,
    ),
    "one value": ("all known cells hold the same value", None, None),
    "weight 0": (
        "has weight 0: given the other columns, it adds no information about the label",
        "--weights equal",
        'weights="equal"',
    ),
}


def profiles(index: CountIndex, plan: CleaningPlan | None) -> dict[str, Any]:
    """Describe each column and the effect of its missing cells, most missing cells first."""
    effects, is_done = _effects(plan), plan is not None and bool(plan.done.all())
    lines = sorted(
        (line for line in index.columns if line.use != "label"),
        key=lambda line: -(line.missing or 0.0),
    )
    listed = [_profile(index, line, effects, is_done) for line in lines[:_MOST_COLUMNS]]
    return {"listed": listed, "n_left_off": len(lines) - len(listed)}


def _profile(
    index: CountIndex, line: ColumnLine, effects: dict[str, float], is_done: bool
) -> dict[str, Any]:
    j = index.schema.position.get(line.name)
    n_missing = 0 if j is None else int(index.n_open[j].sum())
    counts = [] if j is None else index.exact(j)[:-1].sum(axis=1).tolist()
    order = list(range(len(counts)))
    if not line.edges and len(order) > 1:
        order.sort(key=lambda code: -counts[code])
    total = max(sum(counts), 1)
    return {
        "column": text(line.name),
        "use": line.use,
        "kind": line.kind,
        "n_missing": n_missing,
        "share": line.missing,
        "binned": bool(line.edges),
        "n_values": len(line.values),
        "values": [
            {
                "value": text(line.values[code]),
                "n_cells": counts[code],
                "share": counts[code] / total,
            }
            for code in order[:_MOST_VALUES]
        ],
        "weight": line.weight,
        "expected": effects.get(line.name),
        "effect": _effect(line, n_missing, effects, is_done),
    }


def _effect(line: ColumnLine, n_missing: int, effects: dict[str, float], is_done: bool) -> str:
    """Describe how the missing cells of a column affect the predictions."""
    if line.use != "feature":
        return f"not used: {line.why}"
    if not line.plays_a_part:
        return f"not used: {_why_idle(line)}"
    if not n_missing:
        return "no cell is missing"
    if line.name not in effects:
        return "every row holds already" if is_done else "not worked out"
    expected = effects[line.name]
    if expected < 0.05:
        return "if they were known, no further row would hold"
    return f"if they were known, {estimate(expected)} more rows would hold"


def _effects(plan: CleaningPlan | None) -> dict[str, float]:
    """Estimate how many more points would be done if one column had no missing cells."""
    if plan is None or plan.done.all():
        return {}
    index = plan.model.index
    n_missing = index.n_open.sum(axis=1)
    features = np.argsort(-n_missing, kind="stable")[: int((n_missing > 0).sum())]
    judged = features[:_MOST_EFFECTS].tolist()
    effects = column_effects(plan.model, plan.points, plan.done, judged) if judged else []
    return {index.features[j]: round(effect, 1) for j, effect in zip(judged, effects, strict=True)}


def _why_idle(line: ColumnLine) -> str:
    if len(line.values) < 2:
        return "one bin" if line.edges else "one value"
    return "weight 0"


def unused(index: CountIndex, notices: Sequence[str], *, flags: bool) -> list[dict[str, Any]]:
    """List what the model does not use, each with the option that undoes it.

    First come columns that were left out, or that have missing cells and play no part in any prediction;
    then values that were read as missing, which only the notices name.
    ``flags``: whether options are written for the command line or for Python.
    """
    groups: dict[str, list[ColumnLine]] = {}
    for line in index.columns:
        if line.use == "left out" and line.why != IGNORED:
            groups.setdefault(line.why, []).append(line)
        elif line.use == "feature" and line.missing and not line.plays_a_part:
            groups.setdefault(_why_idle(line), []).append(line)
    found = []
    for why, lines in groups.items():
        lines.sort(key=lambda line: -(line.missing or 0.0))
        names = [text(line.name) for line in lines]
        reason, flag, keyword = _REASONS.get(why, (why, None, None))
        if why == NAMES_ROWS:
            reason = "left out: most rows have a unique value there"
            flag, keyword = (
                " ".join(f"--keep {in_shell(name)}" for name in names),
                f"keep={(*names,)}",
            )
        elif why == "one bin":
            flag, keyword = "--binning uniform", 'binning="uniform"'
            if len(names) <= _FEW:
                flag = " ".join(f"--binning {in_shell(f'{name}=uniform')}" for name in names)
                keyword = f"binning={dict.fromkeys(names, 'uniform')}"
        missing = [line.missing for line in lines]
        undo = flag if flags else keyword
        found.append({"columns": names, "missing": missing, "why": reason, "undo": undo})
    undo = "--missing-only TEXT" if flags else "missing_only=(…)"
    for notice in notices:
        if "taken as missing" in notice:
            what, _, _ = notice.partition("; if ")
            found.append({"columns": [], "missing": [], "why": text(what), "undo": undo})
    return found
