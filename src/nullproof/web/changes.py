"""Changes to a training table: cells blanked or filled, by feature, label and value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from nullproof.counts.index import CountIndex
from nullproof.counts.update import Cells
from nullproof.data.schema import decode
from nullproof.model.model import Model
from nullproof.web.problems import RequestError
from nullproof.words import cut, many, some, text


@dataclass(frozen=True)
class Change:
    """Some cells of one label and feature: known ones blanked, or missing ones filled."""

    do: Literal["blank", "fill"]
    feature: str
    label: str
    value: str
    n_cells: int

    def __str__(self) -> str:
        done, held = ("blanked", "that held") if self.do == "blank" else ("filled", "with")
        return (
            f"{done} {many(self.n_cells, 'cell')} of {text(self.feature)} {held} {text(self.value)} "
            f"in rows labelled {text(self.label)}"
        )


def changed(index: CountIndex, changes: Sequence[Change]) -> CountIndex:
    """The index after the changes, one after the other."""
    for number, change in enumerate(changes, start=1):
        index = _after(index, change, f"change {number}")
    return index


def changed_model(model: Model, changes: Sequence[Change]) -> Model:
    """The model of the changed table; smoothing, prior and bias stay."""
    return model.on(changed(model.index, changes)) if changes else model


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


def label_place(index: CountIndex, label: str) -> int:
    """The position of a label, or which labels there are."""
    if label not in index.schema.label_codes:
        named = some(map(text, index.labels), 10)
        raise RequestError(400, f"there is no label {cut(label)!r}; it is one of {named}")
    return index.schema.label_codes[label]
