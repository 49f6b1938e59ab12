"""The small parts of a page: texts of the data, tables, bars. What is given as text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from nullproof.words import either, ends

_VISIBLE, _LISTED, _SHORT = 60, 32, 24


class Cell(NamedTuple):
    """A table cell: HTML, and what it is sorted by."""

    html: str
    key: float | str | None = None
    kind: str = ""


class Column(NamedTuple):
    """A table column: its heading, as text, and whether it holds numbers."""

    name: str
    number: bool = False


def data(text: str, longest: int = _VISIBLE) -> str:
    """A text of the data: escaped, on its own in its writing direction.

    A long one loses its middle: names that begin alike often end otherwise.
    """
    if len(text) <= longest:
        kind = ' class="long"' if len(text) > _SHORT else ""
        return f"<bdi{kind}>{escape(text)}</bdi>"
    tail = longest // 3
    shown = ends(text, longest - tail - 3, tail)
    return f'<bdi class="long" title="{escape(text)}">{escape(shown)}</bdi>'


def listed(texts: Iterable[str], word: str = "or") -> str:
    """Texts of the data in a row: ``a, b or c``."""
    return either([data(text, _LISTED) for text in texts], word)


def table(
    caption: str,
    columns: Sequence[Column],
    rows: Iterable[Sequence[Cell]],
    *,
    kind: str = "",
    sortable: bool = False,
) -> str:
    """A table whose first column names its rows; wide ones scroll by themselves."""
    head = "".join(map(_head, columns))
    body = "".join(f"<tr>{_row(columns, row)}</tr>" for row in rows)
    classes = " ".join(filter(None, [kind, "sortable" if sortable else ""]))
    return (
        f'<div class="scroll" role="group" tabindex="0" aria-label="{escape(caption)}">'
        f"<table{_class(classes)}><caption>{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def bar(share: float, kind: str = "", *, behind: float = 0.0) -> str:
    """A bar as long as a share, in front of a paler one."""
    return (
        f'<svg class="bar {kind}" aria-hidden="true"><rect class="track" width="100%" height="100%"/>'
        f'<rect class="behind" width="{100 * behind:.2f}%" height="100%"/>'
        f'<rect class="front" width="{100 * share:.2f}%" height="100%"/></svg>'
    )


def section(name: str, title: str, *parts: str) -> str:
    """One step of the story."""
    return (
        f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{escape(title)}'
        f"</h2>{''.join(parts)}</section>"
    )


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of our own words, as text."""
    return f"<p{_class(kind)}>{escape(text)}</p>"


def _head(column: Column) -> str:
    if not column.name:
        return "<td></td>"
    kind = _class("number" if column.number else "")
    return f'<th scope="col"{kind}>{escape(column.name)}</th>'


def _row(columns: Sequence[Column], cells: Sequence[Cell]) -> str:
    parts = []
    for place, (column, cell) in enumerate(zip(columns, cells, strict=True)):
        tag, scope = ("td", "") if place else ("th", ' scope="row"')
        key = "" if cell.key is None else f' data-key="{escape(str(cell.key))}"'
        kind = " ".join(filter(None, ["number" if column.number else "", cell.kind]))
        parts.append(f"<{tag}{scope}{_class(kind)}{key}>{cell.html}</{tag}>")
    return "".join(parts)


def _class(kind: str) -> str:
    return f' class="{escape(kind)}"' if kind else ""
