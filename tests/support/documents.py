"""What two surfaces share of a report's document, and how people read its shares."""

from __future__ import annotations

from typing import Any

_ORIGIN = ("asked", "next", "notes")


def answers(document: dict[str, Any]) -> dict[str, Any]:
    """All that a report answers."""
    return {name: value for name, value in document.items() if name not in _ORIGIN}


def per_cent(share: float) -> str:
    """A share as every surface writes it: 0 and 100 only where they are exact."""
    if share in (0, 1):
        return f"{100 * share:.0f}\N{NO-BREAK SPACE}%"
    if not 0.001 <= share <= 0.999:
        return f"{'under 0.1' if share < 0.001 else 'over 99.9'}\N{NO-BREAK SPACE}%"
    return f"{100 * share:.1f}\N{NO-BREAK SPACE}%"
