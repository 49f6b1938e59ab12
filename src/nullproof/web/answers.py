"""What can be asked of a finished analysis: lists of points, one point, a point with other values.

Everything is worked out by the library; here it is only asked.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.radius import radii_of
from nullproof.data import types
from nullproof.data.points import Points, encode_quietly
from nullproof.model.certify import Certificates, certificates_of
from nullproof.model.verdicts import VERDICTS, verdicts
from nullproof.reporting import render
from nullproof.reporting import rows as details
from nullproof.results.files import to_csv
from nullproof.web.forms import Wanted
from nullproof.web.limits import RequestError
from nullproof.words import cut, some, text


def listed(certificates: Certificates, wanted: Wanted) -> dict[str, Any]:
    """List verdicts, some at a time, and count those of each kind."""
    bias = _bias(certificates, wanted)
    places, counts = _places(certificates, wanted)
    shown = places[wanted.offset : wanted.offset + wanted.limit]
    chosen = certificates.take(shown)
    columns = {
        "point": shown.tolist(),
        **chosen.listed_columns(),
        "verdict": chosen.verdict_at(bias).tolist(),
        "truth": [None if own is None else text(own) for own in details.true_labels(chosen)],
    }
    lines = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return {
        "n_points": len(places),
        "n_of": counts,
        "offset": wanted.offset,
        "bias": bias,
        "points": lines,
    }


def listed_file(certificates: Certificates, wanted: Wanted) -> str:
    """Return all that is listed as the text of a CSV file."""
    places, _ = _places(certificates, wanted)
    chosen = certificates.take(places)
    verdict = chosen.verdict_at(_bias(certificates, wanted))
    return to_csv({**chosen.file_columns(), "point": places, "verdict": verdict.astype(str)})


def _bias(certificates: Certificates, wanted: Wanted) -> float:
    # The page gives one bias for all columns, so there is a threshold.
    return (certificates.threshold or 0.0) if wanted.bias is None else wanted.bias


def _places(certificates: Certificates, wanted: Wanted) -> tuple[NDArray[np.intp], dict[str, int]]:
    """Return the positions of the points that are wanted, and how many there are of each verdict."""
    verdict = certificates.verdict_at(_bias(certificates, wanted))
    chosen = np.ones(len(certificates), dtype=bool)
    if wanted.right is not None:
        right = certificates.right
        chosen &= np.zeros(len(chosen), bool) if right is None else right == wanted.right
    if wanted.find.strip():
        chosen &= _found(certificates.points, wanted.find.strip())
    counts = {name: int((verdict[chosen] == name).sum()) for name in VERDICTS}
    if wanted.verdict != "all":
        chosen &= np.asarray(verdict == wanted.verdict)
    return _sorted(certificates, np.flatnonzero(chosen), wanted), counts


def _sorted(
    certificates: Certificates, places: NDArray[np.intp], wanted: Wanted
) -> NDArray[np.intp]:
    by: NDArray[Any] = places
    if wanted.sort == "tolerance":
        # What not even a bias of 0 decides comes first.
        by = np.nan_to_num(certificates.tolerance[places], nan=-1.0)
    elif wanted.sort != "point":
        labels = [str(label) for label in getattr(certificates, wanted.sort)[places]]
        # As objects: an array of texts gives each the room of the longest.
        _, by = np.unique(np.array(labels, dtype=object), return_inverse=True)
    order = np.argsort(by, kind="stable")
    return places[order[::-1] if wanted.down else order]


def _found(points: Points, typed: str) -> NDArray[np.bool_]:
    """Return the point at a position; if there is none, those with such a name or value."""
    found = np.zeros(len(points), dtype=bool)
    digits = typed.replace(",", "").removeprefix("#")
    if digits.isascii() and digits.isdigit() and len(digits) < 13 and int(digits) < len(points):
        found[int(digits)] = True
    if points.names is not None:
        names = points.names.values.tolist()
        if typed in names or not found.any():
            found |= np.array([name is not None and _has(name, typed) for name in names])
    if found.any() or points.frame is None:
        return found
    for name in points.frame.columns:
        cells = [str(c) if isinstance(c, list | dict) else c for c in points.frame[name].to_list()]
        known = {cell: _has(text(cell), typed) for cell in {*cells} if cell is not None}
        found |= np.array([known.get(cell, False) for cell in cells])
    return found


def _has(name: str, typed: str) -> bool:
    return typed.casefold() in name.casefold()


def curve(certificates: Certificates, biases: Sequence[float]) -> dict[str, Any]:
    """Count how many predictions hold at some biases, and how many of the labelled ones are right.

    ``tolerances`` counts the points by tolerance, in steps of a twentieth; those that not even a bias
    of 0 decides come first.
    """
    tolerance = certificates.tolerance
    known = tolerance[~np.isnan(tolerance)]
    counts, _ = np.histogram(known, bins=np.linspace(0, 1, 21))
    return {
        "n_points": len(certificates),
        "n_certain": int((tolerance == 1).sum()),
        "at": [
            {
                "bias": step.bias,
                "n_hold": step.n_hold,
                "n_open": step.rest.n_points,
                "accuracy_hold": step.hold.accuracy,
                "accuracy_open": step.rest.accuracy,
            }
            for step in certificates.curve(biases)
        ],
        "tolerances": [len(tolerance) - len(known), *counts.tolist()],
    }


# One point -----------------------------------------------------------------------------------------


def one_point(certificates: Certificates, place: int) -> dict[str, Any]:
    """Return all that is known of a point of the analysis."""
    points = certificates.points
    if not 0 <= place < len(points):
        raise RequestError(
            404,
            f"there is no point {cut(str(place), 30)}; positions go from 0 to {len(points) - 1}",
        )
    # Each cell as it was in its table; None for every spelling of missing.
    assert points.frame is not None
    cells = {
        name: None if missing else _plain(points.frame[name][place])
        for name, missing in zip(
            certificates.model.index.features, points.missing[:, place], strict=True
        )
    }
    row = _described(certificates, place)
    return {**row, "html": render.row(row), "cells": cells}


def typed_point(certificates: Certificates, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that is known of a point with any values; it has no place and no name."""
    row = _described(certificates_of(certificates.model, _typed(certificates, values)), 0)
    html = render.row({**row, "key": "with other values"})
    cells = {name: _plain(cell) for name, cell in values.items()}
    return {**row, "point": None, "html": html, "cells": cells}


def _described(certificates: Certificates, place: int) -> dict[str, Any]:
    """Return what a report says of one point."""
    places, strict = np.array([place]), certificates.model.unbiased
    point = certificates.points.take(places)
    fragile = radii_of(strict, point, verdicts(strict, point))
    return details.points(certificates, fragile, places)[0]


def _typed(certificates: Certificates, values: Mapping[str, Any]) -> Points:
    """Read a point that a client wrote: one value per feature, None where it is not known."""
    index = certificates.model.index
    unknown = [name for name in values if name not in index.schema.position]
    if unknown:
        raise RequestError(
            400,
            f"there is no feature {cut(unknown[0])!r}; the features are {some(index.features, 10)}",
        )
    for name, cell in values.items():
        for number in cell if isinstance(cell, list) else [cell]:
            if isinstance(number, int) and abs(number) > sys.float_info.max:
                raise RequestError(
                    400,
                    f"the value of {cut(name)!r} is a number of more than 300 digits; give one that a "
                    "double can hold, or text",
                )
    whole = {name: values.get(name) for name in index.features}
    return encode_quietly(index.schema, whole).read(certificates.points.own_missing)


def _plain(cell: Any) -> Any:
    """Return a cell as JSON has it."""
    cell = cell.to_list() if hasattr(cell, "to_list") else cell
    if isinstance(cell, list | tuple):
        return [_plain(part) for part in cell]
    if types.is_missing(cell):
        return None
    is_plain = isinstance(cell, str | bool) or (
        isinstance(cell, int | float) and math.isfinite(cell) and abs(cell) < 2**53
    )
    return cell if is_plain else types.text(cell)
