"""What two surfaces share of a report's document."""

from __future__ import annotations

from typing import Any

_ORIGIN = ("asked", "next", "notes")


def answers(document: dict[str, Any]) -> dict[str, Any]:
    """All that a report answers."""
    return {name: value for name, value in document.items() if name not in _ORIGIN}
