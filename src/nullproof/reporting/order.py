"""Which sections a report has, and in which order: what matters most here comes first."""

from __future__ import annotations

from typing import Any

# Short names, as a list of contents has them.
TITLES = {
    "compared": "Compared",
    "tolerance": "Tolerance",
    "labels": "Labels",
    "open": "Open points",
    "fragility": "Fragility",
    "accuracy": "Accuracy under attack",
    "attack": "Attack",
    "features": "Features",
    "cleaning": "Cleaning",
    "holes": "Holes",
    "data": "Data",
    "points": "Point by point",
    "asked": "What was asked",
}
_ATTACKS = ("fragility", "accuracy", "attack")
_CHANCES = ("tolerance", "data", "open", "features", "cleaning", "holes")


def sections(document: dict[str, Any]) -> list[str]:
    """The names of the sections that have something to say, the leading ones first.

    Where no cell is missing, or all points are certain, the radius leads; where nothing is certain,
    tolerance and odds do.
    """
    first: tuple[str, ...] = ("tolerance", "data", "labels", "open", *_ATTACKS)
    n_points, n_certain = (document["certain"][name] for name in ("n_points", "n_certain"))
    if nothing_missing(document) or n_certain == n_points:
        first = (*_ATTACKS, "data")
    elif not n_certain:
        first = _CHANCES
    order = dict.fromkeys(("compared", *first, *TITLES))
    return [name for name in order if _has_content(document, name)]


def nothing_missing(document: dict[str, Any]) -> bool:
    """Whether there is but one world: no hole in the table, none in the points."""
    return not document["table"]["n_missing"] and not document["own_missing"]["n_points"]


def _has_content(document: dict[str, Any], name: str) -> bool:
    n_points = document["certain"]["n_points"]
    features = document["features"]
    return bool(
        {
            "compared": document.get("compared"),
            # Where all are certain, a curve along the bias has nothing to tell.
            "tolerance": n_points > document["certain"]["n_certain"]
            and not nothing_missing(document),
            "labels": n_points,
            "open": document["open"]["n_points"],
            "fragility": document["fragility"]["n_certain"],
            "accuracy": document["accuracy"] and document["certain"]["n_certain"],
            "attack": document["attack"],
            "features": features["n_open"] and features["features"],
            "cleaning": document["cleaning"],
            "holes": document["holes"]["features"],
            "data": document["notes"],
            "points": document["points"],
            "asked": True,
        }[name]
    )
