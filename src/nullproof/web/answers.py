"""What can be asked of a finished analysis: lists of points, and one point.

Everything is worked out by the library; here it is only asked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.radius import radii_of
from nullproof.data.points import Points
from nullproof.model.certify import Certificates
from nullproof.model.verdicts import VERDICTS, verdicts
from nullproof.reporting import render
from nullproof.reporting import rows as details
from nullproof.results.files import to_csv
from nullproof.web.forms import Wanted
from nullproof.web.limits import RequestError
from nullproof.words import cut, text


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


# One point -----------------------------------------------------------------------------------------


def one_point(certificates: Certificates, place: int) -> dict[str, Any]:
    """Return all that is known of a point of the analysis."""
    points = certificates.points
    if not 0 <= place < len(points):
        raise RequestError(
            404,
            f"there is no point {cut(str(place), 30)}; positions go from 0 to {len(points) - 1}",
        )
    places, strict = np.array([place]), certificates.model.unbiased
    own = points.take(places)
    row = details.points(certificates, radii_of(strict, own, verdicts(strict, own)), places)[0]
    return {**row, "html": render.row(row)}
