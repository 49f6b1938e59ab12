"""The section of the page that puts another report beside this one."""

from __future__ import annotations

from typing import Any

from nullproof.reporting.comparison import in_words, shown
from nullproof.reporting.html.elements import Cell, Column, data, paragraph, section, table
from nullproof.reporting.html.verdicts import link
from nullproof.words import cut, many

_SHORT = 24


def fragment_compared(document: dict[str, Any]) -> str:
    """Both reports side by side, and the points that changed."""
    told = document.get("compared")
    if not told:
        return ""
    rows = [
        [Cell(data(row["name"])), Cell(data(row["there"] or "–")), Cell(data(row["here"] or "–"))]
        for row in told["measures"]
    ]
    other = cut(told["name"], _SHORT)
    columns = [Column("what"), Column(other, True), Column("here", True)]
    changed = [
        [Cell(link(row)), Cell(data(shown(row["there"]))), Cell(data(shown(row["here"])))]
        for row in told["points"]
    ]
    heads = [Column("point"), Column(other), Column("here")]
    more = told["n_changed"] - len(changed)
    return section(
        "compared",
        "Beside another report",
        paragraph(in_words(told)),
        table("Two reports side by side", columns, rows),
        table("Points that changed", heads, changed) if changed else "",
        paragraph(f"and {many(more, 'point')} more", "small") if more else "",
    )
