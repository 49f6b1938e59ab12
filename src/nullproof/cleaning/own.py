"""The cells that points lack themselves, and the answers that fill them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from nullproof.cleaning.holes import Cell, code_of, domains_text, read_answer
from nullproof.data.points import Points
from nullproof.data.schema import Schema
from nullproof.data.types import text
from nullproof.errors import NullproofError
from nullproof.words import some


class OwnFill(NamedTuple):
    """An answer that was checked: the point, the feature, the code of the value and the value."""

    point: int
    feature: int
    code: int
    value: Any


class OwnAnswers:
    """Points, and the answers for cells that they lack."""

    def __init__(self, schema: Schema, points: Points) -> None:
        self.schema, self.original, self.points = schema, points, points
        self.given: dict[tuple[int, int], Any] = {}

    @property
    def values(self) -> dict[Cell, Any]:
        """The answers so far."""
        names = self.schema.features
        return {
            Cell(place, names[j].name, "points"): value for (place, j), value in self.given.items()
        }

    def candidates(self, cell: Cell) -> tuple[int, ...] | None:
        """What a cell that a point lacked at first may hold: None for every value."""
        j = self.schema.position[cell.column]
        code = int(self.original.codes[j, cell.row])
        few = self.original.kind(j, code) == "candidates"
        return self.original.candidates(j, code) if few else None

    @property
    def fingerprint(self) -> str:
        """A digest of the points before any answer, however their holes are read."""
        codes = np.ascontiguousarray(self.original.read("any").codes, dtype="<i4")
        what = domains_text(self.schema) + repr(codes.shape)
        return hashlib.sha256(codes.tobytes() + what.encode()).hexdigest()

    def checked(self, answers: Mapping[Cell, Any], as_text: bool = False) -> list[OwnFill]:
        """Check answers; the first that cannot be taken is an error, and then none is."""
        found = []
        for cell, value in answers.items():
            j = self._feature(cell)
            feature = self.schema.features[j]
            where = f"point {cell.row}, column {feature.name!r}"
            plain = read_answer(feature, value, where) if as_text else value
            code = code_of(feature, plain, self.candidates(cell), where)
            found.append(OwnFill(int(cell.row), j, code, plain))
        return found

    def take(self, fills: Sequence[OwnFill]) -> None:
        """Take answers that were checked."""
        if not fills:
            return
        codes = self.points.codes.copy()
        for place, j, code, value in fills:
            codes[j, place] = code
            self.given[place, j] = value
        self.points = replace(self.points, codes=codes)

    def _feature(self, cell: Cell) -> int:
        """Find the feature of a cell that its point lacks; anything else is an error."""
        row, column, which = cell
        if which != "points":
            raise NullproofError(
                f"there is an answer for table {which!r}; give 'training' or 'points'"
            )
        if column not in self.schema.position:
            names = [feature.name for feature in self.schema.features]
            raise NullproofError(
                f"there is an answer for column {column!r}, which is no feature; "
                f"they are {some(names, 8)}"
            )
        n_points, j = len(self.points), self.schema.position[column]
        whole = isinstance(row, int | np.integer) and not isinstance(row, bool)
        if not whole or not 0 <= row < n_points:
            raise NullproofError(
                f"there is an answer for point {row!r}, but points go from 0 to {n_points - 1:,}"
            )
        if (int(row), j) in self.given:
            raise NullproofError(
                f"point {row}, column {column!r} has an answer already "
                f"({text(self.given[int(row), j])}); give each cell one"
            )
        if self.points.kind(j, int(self.points.codes[j, row])) in ("known", "unseen"):
            raise NullproofError(
                f"point {row}, column {column!r} is not missing; give answers for missing cells only"
            )
        return j
