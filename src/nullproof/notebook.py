"""Small HTML for notebooks: a headline, then a readable table or a picture, never a wall of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

ROWS = 10


def shown_table(headline: str, columns: Mapping[str, Sequence[Any]], n_rows: int) -> str:
    """A headline and the first rows of a table; all text is escaped.

    ``columns`` need to hold no more than the first `ROWS` rows of ``n_rows``.
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    rows = zip(*(list(column)[:ROWS] for column in columns.values()), strict=True)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_text(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    more = f"<p>… and {n_rows - ROWS:,} more</p>" if n_rows > ROWS else ""
    return (
        f"<div><p><b>{escape(headline)}</b></p><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{more}</div>"
    )


def shown_figure(caption: str, picture: str) -> str:
    """A picture, which is HTML already, below its caption, which is escaped."""
    return f"<figure><figcaption>{escape(caption)}</figcaption>{picture}</figure>"


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
