"""Write a cell of a point for people: its value, its bin, or why it has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from nullproof.data.points import Kind, Points
from nullproof.data.schema import Schema
from nullproof.data.types import text as value_text
from nullproof.words import text

_MOST_CANDIDATES = 8


class CellWords(NamedTuple):
    """One cell: its value in words (None where there is none), and what kind of cell it is.

    ``own`` is the point's own number or date where ``value`` is a bin that is written otherwise.
    """

    feature: str
    value: str | None
    kind: Kind
    own: str | None

    @property
    def shown(self) -> str:
        """The value as people read it: ``22 (18–25)`` for a number in its bin."""
        if self.kind == "skipped":
            return "not known: left out"
        if self.kind == "missing":
            return "not known: any value"
        if self.kind == "unseen":
            return f"{self.value or 'a value'} (never seen)"
        if self.own is None:
            return str(self.value)
        # An interval already has brackets.
        bin_ = self.value if str(self.value).startswith("[") else f"({self.value})"
        return f"{self.own} {bin_}"


def cell_words(schema: Schema, points: Points, place: int, j: int) -> CellWords:
    """Return the cell of feature ``j`` of the point at ``place`` in words."""
    feature, code = schema.features[j], int(points.codes[j, place])
    value, kind, own = None, points.kind(j, code), None
    if kind == "known":
        value = text(feature.values[code])
        own = _own_text(points, place, j, feature.name) if feature.edges else None
    elif kind == "unseen":
        value = _own_text(points, place, j, feature.name)
    elif kind == "candidates":
        value = " or ".join(value_words(schema, j, points.candidates(j, code)))
    return CellWords(text(feature.name), value, kind, None if own == value else own)


def value_words(schema: Schema, j: int, codes: Sequence[int]) -> list[str]:
    """Return the first of some values of feature ``j`` as texts, and how many more there are."""
    values = schema.features[j].values
    named = [
        text(values[code]) if code < len(values) else "a value never seen"
        for code in codes[:_MOST_CANDIDATES]
    ]
    more = len(codes) - _MOST_CANDIDATES
    return [*named, f"{more:,} more"] if more > 0 else named


def _own_text(points: Points, place: int, j: int, name: str) -> str | None:
    """Return a value of the point itself as text, where it is still known."""
    cell: Any = points.own(j, name, place)
    is_single = isinstance(cell, str) or not hasattr(cell, "__iter__")
    return text(value_text(cell)) if cell is not None and is_single else None
