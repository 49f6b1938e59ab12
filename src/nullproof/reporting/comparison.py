"""Two reports side by side: before and after cleaning, or two models of the same points."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nullproof.errors import NullproofError
from nullproof.words import cut, per_cent, text

_MOST_POINTS = 20
_PLURAL = {"certain": "the certain", "holds": "those that hold", "open": "the open"}


def read(path: Path) -> dict[str, Any]:
    """Read the document of a report that was written as JSON."""
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
        # Whatever lacks in it shows when it is compared with itself.
        compared(found, found, path.name)
    except OSError as problem:
        raise NullproofError(
            f"{path} cannot be read: {problem.strerror}; name a report as JSON"
        ) from problem
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as problem:
        raise NullproofError(
            f"{path} is no report as JSON; make one with nullproof report … -o FILE.json"
        ) from problem
    return found


def compared(document: dict[str, Any], other: dict[str, Any], name: str) -> dict[str, Any]:
    """Return what a report says beside another: measures of both, and listed points that changed.

    ``name`` is what the other one is called.
    """
    lists = [one["points"] for one in (document, other)]
    # Names that are not unique name nothing; then the order of the points has to do.
    name_of = "key" if all(map(_has_keys, lists)) else "point"
    mine, theirs = ({point[name_of]: point for point in points} for points in lists)
    both = [key for key in mine if key in theirs]
    changed = [key for key in both if _said(mine[key]) != _said(theirs[key])]
    return {
        "name": text(name),
        "title": text(other["title"]),
        "measures": [
            {"name": what, "here": here, "there": there}
            for (what, here), (_, there) in zip(_measures(document), _measures(other), strict=True)
            if here is not None or there is not None
        ],
        "n_matched": len(both),
        "n_changed": len(changed),
        "points": [
            {
                "point": mine[key]["point"],
                "key": mine[key].get("key"),
                "here": _said(mine[key]),
                "there": _said(theirs[key]),
            }
            for key in changed[:_MOST_POINTS]
        ],
    }


def _has_keys(points: list[dict[str, Any]]) -> bool:
    keys = {point.get("key") for point in points}
    return None not in keys and len(keys) == len(points)


def _said(point: dict[str, Any]) -> dict[str, str | None]:
    return {"predicted": point["predicted"], "verdict": point["verdict"]}


def _measures(document: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Return what is put side by side, as it is shown."""
    table, fragility = document["table"], document["fragility"]
    groups = document["verdicts"]["groups"]
    found: list[tuple[str, str | None]] = [
        ("training rows", f"{table['n_rows']:,}"),
        ("features", f"{table['n_features']:,}"),
        ("missing cells", f"{table['n_missing']:,} ({per_cent(table['share_missing'])})"),
        ("predictions", f"{document['certain']['n_points']:,}"),
    ]
    found += [
        (group["verdict"], f"{group['n_points']:,} ({per_cent(group['share'])})")
        for group in groups
    ]
    for group in groups:
        share = group["n_right"] / group["n_known"] if group["n_known"] else None
        right = None if share is None else per_cent(share)
        found.append((f"right among {_PLURAL[group['verdict']]}", right))
    found += [
        ("least radius", None if fragility["least"] is None else f"{fragility['least']:,}"),
        ("median radius", None if fragility["median"] is None else f"{fragility['median']:,g}"),
        ("smoothing", cut(table["alpha"], 40)),
    ]
    return found
