"""What if: training cells blanked or filled, and what that does to certainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from nullproof.certificates import certificates_of
from nullproof.counts.index import CountIndex
from nullproof.counts.revise import Cells
from nullproof.model import Model
from nullproof.tables.training import decode
from nullproof.web.analysis import Result
from nullproof.web.answers import about_points, label_place
from nullproof.web.problems import RequestError
from nullproof.words import cut, some

MOST_POINTS = 200_000
_SHOWN = 50


@dataclass(frozen=True)
class Change:
    """Some cells of one label and feature: known ones blanked, or missing ones filled."""

    do: Literal["blank", "fill"]
    feature: str
    label: str
    value: str
    n_cells: int


def changed(index: CountIndex, changes: Sequence[Change]) -> CountIndex:
    """The index after the changes, one after the other."""
    for number, change in enumerate(changes, start=1):
        index = _after(index, change, f"change {number}")
    return index


def changed_model(model: Model, changes: Sequence[Change]) -> Model:
    """The model of the changed table; smoothing, prior and bias stay."""
    return model.on(changed(model.index, changes)) if changes else model


def what_if(result: Result, changes: Sequence[Change]) -> dict[str, Any]:
    """Certify the points on the changed table, and tell which verdicts are different."""
    model = changed_model(result.model, changes)
    some = result.points
    if len(some) > MOST_POINTS:
        some = some.take(np.arange(MOST_POINTS))
    before = result.certificates.verdicts.take(slice(len(some)))
    after = certificates_of(model, some)
    was, now = before.certain, after.certain
    moved = np.flatnonzero((before.possible != after.possible).any(axis=1))
    # Points that gain or lose certainty come first; the others only change their possible labels.
    moved = moved[np.argsort(was[moved] == now[moved], kind="stable")]
    shown = moved[:_SHOWN]
    judged = certificates_of(model, some.take(shown))
    lines = about_points(judged, np.arange(len(shown)), judged.threshold or 0.0)
    return {
        "n_points": len(some),
        "n_points_left_off": len(result.points) - len(some),
        "n_certain_before": int(was.sum()),
        "n_certain": int(now.sum()),
        "n_gained": int((now & ~was).sum()),
        "n_lost": int((was & ~now).sum()),
        "n_missing_before": result.index.n_missing,
        "n_missing": model.index.n_missing,
        "changed": [
            {**line, "point": place, "was_certain": bool(was[place])}
            for line, place in zip(lines, shown.tolist(), strict=True)
        ],
        "n_changed_left_off": max(0, len(moved) - _SHOWN),
    }


def _after(index: CountIndex, change: Change, which: str) -> CountIndex:
    if change.feature not in index.schema.position:
        raise RequestError(
            400,
            f"{which} names the feature {cut(change.feature)!r}; the features are "
            f"{some(index.features, 10)}",
        )
    j, i = index.schema.position[change.feature], label_place(index, change.label)
    feature = index.schema.features[j]
    code = feature.codes.get(change.value)
    if code is None:
        raise RequestError(
            400,
            f"{which} names the value {cut(change.value)!r}, which {feature.name!r} does not have; "
            f"its values are {some(feature.values, 10)}",
        )
    there = int(index.n_null[j, i]) if change.do == "fill" else _known(index, j, code, i)
    if change.n_cells > there:
        wanted = cut(f"{change.n_cells:,}", 30)
        kind = "missing" if change.do == "fill" else f"known as {cut(change.value)!r}"
        raise RequestError(
            400,
            f"{which} is to {change.do} {wanted} cells, but {there:,} cells of "
            f"{cut(feature.name)!r} with label {cut(change.label)!r} are {kind}; give at "
            "most that many",
        )
    if change.do == "blank":
        return index.blanked([Cells(i, j, (code,), change.n_cells)])
    value = decode(feature, code)
    return index.fill(feature.name, value, index.labels[i], n_cells=change.n_cells)


def _known(index: CountIndex, j: int, code: int, i: int) -> int:
    return int(index.exact(j, np.array([code]))[0, i])


def about_features(index: CountIndex, most_values: int = 60) -> list[dict[str, Any]]:
    """The features with their domains and how many cells of each label are missing."""
    room = max(2, min(most_values, 20_000 // max(len(index.features), 1)))
    return [
        {
            "name": feature.name,
            "kind": feature.kind,
            "binned": bool(feature.edges),
            "values": list(feature.values[:room]),
            "n_values": feature.n_values,
            "n_missing": index.n_null[j].tolist(),
        }
        for j, feature in enumerate(index.schema.features)
    ]


def about_feature(index: CountIndex, j: int, most_values: int = 1_000) -> dict[str, Any]:
    """One feature with the number of known and missing cells, per value and label."""
    if not 0 <= j < len(index.features):
        raise RequestError(
            404,
            f"there is no feature {cut(str(j), 30)}; positions go from 0 to "
            f"{len(index.features) - 1}",
        )
    feature = index.schema.features[j]
    size = min(feature.n_values, most_values)
    return {
        "name": feature.name,
        "kind": feature.kind,
        "binned": bool(feature.edges),
        "values": list(feature.values[:size]),
        "n_values": feature.n_values,
        "n_missing": index.n_null[j].tolist(),
        "known": index.exact(j, np.arange(size)).tolist(),
    }
