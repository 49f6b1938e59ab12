"""What can be asked of a finished analysis, one client's question at a time.

Everything is worked out by the library; here it is only asked.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.radius import radii_of
from nullproof.counts.index import CountIndex
from nullproof.data import types
from nullproof.data.points import Points, encode_quietly
from nullproof.model.accuracy import CertaintyCurve
from nullproof.model.certify import Certificates, certificates_of
from nullproof.model.model import Model
from nullproof.model.verdicts import verdicts
from nullproof.reporting import points as details
from nullproof.web import changes
from nullproof.web.analysis import Result
from nullproof.web.problems import RequestError
from nullproof.words import cut, some, text

MOST_POINTS = 200_000
_SHOWN = 50


def about_points(
    certificates: Certificates, positions: NDArray[np.intp], bias: float
) -> list[dict[str, Any]]:
    """The verdicts of some points at a bias, one line each."""
    labels = [text(label) for label in certificates.labels]
    predicted, tolerance = certificates.predicted, certificates.tolerance
    rival, verdict = certificates.rival, certificates.verdict_at(bias)[positions]
    return [
        {
            "point": place,
            "predicted": _named(predicted[place]),
            "verdict": str(verdict[order]),
            "certain": bool(certificates.certain[place]),
            "possible": [labels[i] for i in np.flatnonzero(certificates.possible[place])],
            "tolerance": _number(tolerance[place]),
            "tolerance_rival": _named(rival[place]),
            "n_own_missing": int(certificates.n_own_missing[place]),
        }
        for order, place in enumerate(positions.tolist())
    ]


@dataclass(frozen=True)
class Wanted:
    """Which points of an analysis to list, and in which order."""

    verdict: str = "all"
    label: str | None = None
    find: str | None = None
    right: bool | None = None
    sort: str = "point"


def select(result: Result, wanted: Wanted, bias: float) -> NDArray[np.intp]:
    """The positions of the points that are wanted, verdicts at a bias."""
    certificates = result.certificates
    chosen = np.ones(len(certificates), dtype=bool)
    if wanted.verdict != "all":
        chosen = np.asarray(certificates.verdict_at(bias) == wanted.verdict)
    if wanted.label is not None:
        place = changes.label_place(certificates.model.index, wanted.label)
        chosen = chosen & certificates.possible[:, place]
    if wanted.right is not None:
        chosen = chosen & (_is_right(result) == float(wanted.right))
    if wanted.find is not None and wanted.find.strip():
        chosen = chosen & _found(result.points, wanted.find.strip())
    places = np.flatnonzero(chosen)
    if wanted.sort == "tolerance":
        # What not even a bias of 0 decides comes first.
        tolerance = np.nan_to_num(certificates.tolerance[places], nan=-1.0)
        places = places[np.argsort(tolerance, kind="stable")]
    return places


def _is_right(result: Result) -> NDArray[np.float64]:
    """1 where the prediction is the true label, 0 where not, NaN where that is not known."""
    truth = result.truth or [None] * len(result.points)
    pairs = zip(truth, result.certificates.predicted.tolist(), strict=True)
    return np.array([math.nan if true is None else float(true == own) for true, own in pairs])


def _found(points: Points, typed: str) -> NDArray[np.bool_]:
    """The point at a position, by whatever thousands are parted; else those with such a name or value."""
    found = np.zeros(len(points), dtype=bool)
    digits = typed.replace(",", "").replace(" ", "").removeprefix("#")
    if digits.isascii() and digits.isdigit() and int(digits[:12]) < len(points):
        found[int(digits[:12])] = True
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


def curve(result: Result, biases: Sequence[float]) -> dict[str, Any]:
    """How many predictions hold at some biases, and how many of the labelled ones are right."""
    certificates = result.certificates
    labelled = _labelled(result)
    return {
        "n_points": len(certificates),
        "n_certain": int((certificates.tolerance == 1).sum()),
        "n_labelled": None if labelled is None else labelled.n_points,
        "own_missing": result.own_missing,
        "bias": float(max(result.model.bias, default=1)),
        "threshold": certificates.threshold,
        "at": [
            {
                "bias": one.bias,
                "n_hold": one.n_hold,
                "n_open": one.rest.n_points,
                **_right(labelled, one.bias),
            }
            for one in certificates.curve().points(biases)
        ],
    }


def _labelled(result: Result) -> CertaintyCurve | None:
    """The curve of the points whose own label is known."""
    if result.truth is None:
        return None
    known = np.array([label is not None for label in result.truth], dtype=bool)
    truth = [label for label in result.truth if label is not None]
    return result.certificates[known].curve(truth) if truth else None


def _right(labelled: CertaintyCurve | None, bias: float) -> dict[str, Any]:
    if labelled is None:
        return {"accuracy_hold": None, "accuracy_open": None}
    found = labelled.at(bias)
    return {"accuracy_hold": found.hold.accuracy, "accuracy_open": found.rest.accuracy}


def one_point(result: Result, position: int) -> Points:
    """A point of the analysis by its position."""
    if not 0 <= position < len(result.points):
        raise RequestError(
            404,
            f"there is no point {cut(str(position), 30)}; positions go from 0 to "
            f"{len(result.points) - 1}",
        )
    return result.points.take(np.array([position]))


def given_values(result: Result, position: int) -> dict[str, Any]:
    """The cells of a point as they were in its table; None for every spelling of missing."""
    frame = result.points.frame
    assert frame is not None
    missing = result.points.missing[:, position]
    return {
        name: None if gone else plain(frame[name][position])
        for name, gone in zip(result.index.features, missing, strict=True)
    }


def named(result: Result, position: int) -> dict[str, Any]:
    """The name and the true label of a point, where they are known."""
    names, truth = result.points.names, result.truth
    return {
        "key": None if names is None else names.values[position],
        "truth": None if truth is None else _named(truth[position]),
    }


def typed_point(result: Result, index: CountIndex, values: dict[str, Any]) -> Points:
    """A point that a client wrote: one value per feature, None where it is not known.

    Parameters
    ----------
    index
        That of the analysis, or one of the same features after changes.
    """
    unknown = [name for name in values if name not in index.schema.position]
    if unknown:
        raise RequestError(
            400,
            f"there is no feature {cut(unknown[0])!r}; the features are {some(index.features, 10)}",
        )
    for name, cell in values.items():
        _refuse_huge(name, cell)
    whole = {name: values.get(name) for name in index.features}
    return encode_quietly(index.schema, whole).read(result.own_missing)


def _refuse_huge(name: str, cell: Any) -> None:
    """Refuse a number past all floats, which JSON allows to be written."""
    for one in cell if isinstance(cell, list) else [cell]:
        if isinstance(one, int) and abs(one) > sys.float_info.max:
            raise RequestError(
                400,
                f"the value of {cut(name)!r} is a number of more than 300 digits; give one "
                "that a double can hold, or text",
            )


def explain(model: Model, point: Points) -> dict[str, Any]:
    """All that is known of one point: intervals, radius, odds, and two worlds that disagree."""
    found = certificates_of(model, point)
    # Whoever blanks cells on purpose keeps to no bias.
    strict = model.unbiased
    fragile = radii_of(strict, point, verdicts(strict, point))
    (told,) = details.points(found, fragile, np.array([0]))
    kept = {name: told[name] for name in told if name not in ("point", "values")}
    return {**kept, **_shown(model, found), "bins": _bins(model, point)}


def _bins(model: Model, point: Points) -> dict[str, str]:
    """The bins of one point's numbers and dates."""
    pairs = zip(model.index.schema.features, point.codes[:, 0].tolist(), strict=True)
    return {f.name: f.values[code] for f, code in pairs if f.edges and code < f.n_values}


def support_at(model: Model, point: Points, bias: float) -> dict[str, Any]:
    """The ranges of support of one point over the worlds of at most a bias."""
    model = model.biased(Fraction(bias))
    found = certificates_of(model, point)
    return {"bias": bias, **_shown(model, found)}


def _shown(model: Model, found: Certificates) -> dict[str, Any]:
    """What the worlds of a model say of one point, and its ranges of support."""
    support, one = details.support(model, found.verdicts, 0), found[0]
    return {
        "certain": one.certain,
        "label": _named(one.label),
        "possible": [text(label) for label in one.possible],
        "support": support,
        "n_labels_left_off": model.m - len(support),
    }


def plain(cell: Any) -> Any:
    """A cell as JSON has it."""
    if hasattr(cell, "to_list"):
        cell = cell.to_list()
    if isinstance(cell, list | tuple):
        return [plain(one) for one in cell]
    if types.is_missing(cell):
        return None
    if isinstance(cell, bool | str):
        return cell
    if isinstance(cell, int | float) and abs(cell) < 2**53:
        return cell
    return types.text(cell)


def _named(label: Any) -> str | None:
    return None if label is None else text(label)


def _number(tolerance: Any) -> float | None:
    return None if math.isnan(tolerance) else float(tolerance)


def what_ifs(result: Result, wanted: Sequence[changes.Change]) -> dict[str, Any]:
    """Certify the points on the changed table, and tell which verdicts are different."""
    model = changes.changed_model(result.model, wanted)
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
