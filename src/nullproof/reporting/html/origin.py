"""The sections on where a report comes from: what is odd about the data, and what was asked."""

from __future__ import annotations

from typing import Any

from nullproof.reporting.html.elements import Cell, Column, data, paragraph, section, table

Document = dict[str, Any]
_LONGEST = 10_000


def fragment_data(document: Document) -> str:
    """What was left out or taken as missing, and what else to know before trusting the numbers."""
    if not document["notes"]:
        return ""
    notes = "".join(f"<li>{data(note, _LONGEST)}</li>" for note in document["notes"])
    return section("data", "What to know about the data", f'<ul class="notes">{notes}</ul>')


def fragment_asked(document: Document) -> str:
    """Files, date, version, options, and the command that makes the report again."""
    asked = document["asked"]
    points = "the training rows themselves" if asked["training_rows"] else asked["test"]
    facts = [
        ("training table", asked["train"]),
        ("points", points),
        ("made", asked["date"]),
        ("nullproof", asked["version"]),
        *((one["name"], one["value"]) for one in asked["options"]),
    ]
    rows = [[Cell(data(name)), Cell(data(value, _LONGEST))] for name, value in facts if value]
    again = ""
    if asked["command"]:
        line = data(asked["command"], _LONGEST)
        again = f"<p>To make it again:</p><pre><code>{line}</code></pre>"
    return section(
        "asked",
        "What was asked",
        table("What was asked", [Column("what"), Column("answer")], rows),
        again,
        paragraph(
            "Verdicts are exact: integers decide them. Each way to fill all missing cells with values "
            "of their columns is a world, and a tie is not a prediction."
        ),
    )


def byline(document: Document) -> str:
    """One line below the title: the files and the date."""
    asked = document["asked"]
    named = [data(one, 40) for one in (asked["train"], asked["test"], asked["date"]) if one]
    return " · ".join(["nullproof report", *named])
