"""What two surfaces share of a report's document."""

from __future__ import annotations

from typing import Any

_ORIGIN = ("asked", "name", "next", "notes")


def answers(document: dict[str, Any]) -> dict[str, Any]:
    """All that a report answers.

    Values that were taken as missing are named by notices of the reading, which belong to its origin, as
    does whether options are written as flags or as keywords.
    """
    kept = {name: value for name, value in document.items() if name not in _ORIGIN}
    kept["unused"] = [{**entry, "undo": None} for entry in document["unused"] if entry["columns"]]
    return kept
