"""Witness worlds: two completions of the training table that disagree about a point."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from nullproof.bins import at_microseconds
from nullproof.building import label_codes
from nullproof.columns import Encoded, encode, encode_set
from nullproof.errors import NullproofError
from nullproof.index import CountIndex
from nullproof.points import Points
from nullproof.readers import Table, open_rows, open_table
from nullproof.schema import Feature, text
from nullproof.support import (
    Alpha,
    Model,
    Prior,
    dominates,
    point_counts,
    verdicts,
    worst_completion,
)
from nullproof.tables import set_cells, set_rows


@dataclass(frozen=True, repr=False)
class World:
    """One world, told by what its holes are filled with.

    Rows of the labels in ``raised`` agree with the point wherever their candidates allow it; rows
    of the other labels disagree wherever they can.

    Parameters
    ----------
    point
        The point, completed where it had holes of its own.
    winners
        The labels with the greatest support; more than one is a tie.
    log_supports
        The natural logarithm of each label's support, for display.
    """

    index: CountIndex
    point: tuple[Any, ...]
    codes: tuple[int, ...]
    raised: frozenset[int]
    winners: tuple[Any, ...]
    log_supports: dict[Any, float]

    def complete(self, table: Any, labels: Sequence[Any] | None = None) -> Any:
        """Fill a training table as this world does, so that any Naive Bayes can be trained on it.

        Parameters
        ----------
        table
            The table that was counted: a data frame or a file (the result has the same type, for a
            file polars), or plain rows.
        labels
            The labels of plain rows.
        """
        schema = self.index.schema
        if labels is not None:
            opened = open_rows(table, self.index.features, missing=schema.missing)
            column = open_table({"label": labels}).column("label")
        else:
            opened = open_table(table, missing=schema.missing, as_text=[schema.label_name])
            column = opened.column(schema.label_name)
        found, names = label_codes(column)
        is_raised = [schema.label_codes.get(text(name), -1) in self.raised for name in names]
        changes = {
            feature.name: dict(self._fillings(j, opened, np.array(is_raised)[found]))
            for j, feature in enumerate(schema.features)
        }
        if opened.frame is None:
            filled = set_rows(table, self.index.features, changes)
            return [tuple(_scalar(cell) for cell in row) for row in filled]
        for name, cells in changes.items():
            if opened.frame.schema[name] in (nw.List, nw.Array, nw.Object):
                for row, cell in enumerate(opened.frame[name].to_list()):
                    cells.setdefault(row, _scalar(cell))
        return set_cells(opened.frame, changes)

    def _fillings(self, j: int, table: Table, is_raised: Any) -> Iterator[tuple[int, Any]]:
        feature, aim = self.index.schema.features[j], self.codes[j]
        column = table.column(feature.name)
        encoded = encode(feature, column)
        cells = _Cells(feature, encoded, table)
        everything = tuple(range(feature.n_values))
        for row in np.flatnonzero(encoded.codes < 0).tolist():
            candidates = encoded.sets.get(row, everything)
            other = next((code for code in candidates if code != aim), aim)
            agree = aim in candidates and (is_raised[row] or other == aim)
            code = aim if agree else other
            if feature.edges and row in column.sets:
                # Of a bin only the cell's own candidates will do.
                own = (x for x in column.sets[row] if encode_set(feature, (x,)) == (code,))
                yield row, cells.written(next(own))
            else:
                yield row, cells.value(code)

    def __repr__(self) -> str:
        verb = "predicts" if len(self.winners) == 1 else "ties"
        return f"World({verb} {' and '.join(str(label) for label in self.winners)})"


def witness(
    index: CountIndex, point: Any, *, alpha: Alpha = 0.0, prior: Prior = None
) -> tuple[World, World]:
    """Show two worlds that prove a point not robust: they disagree, or one of them ties.

    Examples
    --------
    >>> rows, labels = [("a", None), ("a", "x"), ("b", "y"), ("b", "x")], ["yes", "yes", "no", "no"]
    >>> index = CountIndex.from_rows(rows, labels)
    >>> one, other = witness(index, ("a", "y"))
    >>> one, other
    (World(ties no and yes), World(predicts yes))
    >>> other.complete(rows, labels)
    [('a', 'y'), ('a', 'x'), ('b', 'y'), ('b', 'x')]
    """
    points = index.encode(point)
    if len(points) != 1:
        raise NullproofError(f"witness takes one point but got {len(points)}; give one row")
    model = Model.of(index, alpha, prior)
    found = verdicts(model, points)
    possible = np.flatnonzero(found.possible[0])
    if len(possible) == 1:
        raise NullproofError(
            f"the point is robust: every world predicts {index.labels[possible[0]]!r}, so there "
            "are no two worlds that disagree"
        )
    original = _known_cells(index, point, points)
    start = [points.candidates(j, int(code))[0] for j, code in enumerate(points.codes[:, 0])]
    likely = int(possible[np.argmax(found.min_log[0, possible])])
    one = favouring(model, original, start, likely)
    if len(one.winners) > 1:
        others = [i for i in possible if i != likely]
        return one, favouring(model, original, start, int(others[0]))
    winner = index.labels.index(one.winners[0])
    rivals = sorted((k for k in range(model.m) if k != winner), key=lambda k: -found.max_log[0, k])
    rival = next(k for k in rivals if not dominates(model, points, 0, winner, k))
    worst = worst_completion(model, points, 0, winner, rival)
    return one, favouring(model, original, worst, rival)


def favouring(model: Model, cells: Sequence[Any], codes: list[int], raised: int) -> World:
    """The world that does most for one label against all others, at one completion of a point.

    Parameters
    ----------
    cells
        The point as it was given: known cells, sets of candidates, or None.
    codes
        The completed point as codes.
    """
    index = model.index
    points = Points(
        np.array(codes, dtype=np.int32)[:, None], index.n_values, ((),) * model.d, single=True
    )
    low, high = point_counts(model, points, 0)
    counts = [high[i] if i == raised else low[i] for i in range(model.m)]
    winners = [
        i
        for i in range(model.m)
        if not any(model.exceeds(k, counts[k], i, counts[i]) for k in range(model.m))
    ]
    ranges = verdicts(model, points)
    logs = np.where(np.arange(model.m) == raised, ranges.max_log[0], ranges.min_log[0])
    completed = (
        _completed(feature, code, cell)
        for feature, code, cell in zip(index.schema.features, codes, cells, strict=True)
    )
    return World(
        index,
        tuple(completed),
        tuple(codes),
        frozenset({raised}),
        tuple(index.labels[i] for i in winners),
        dict(zip(index.labels, logs.tolist(), strict=True)),
    )


def _known_cells(index: CountIndex, point: Any, points: Points) -> tuple[Any, ...]:
    """The cells of the point as given; None for every spelling of missing."""
    cells = _given_cells(index, point, points)
    unknown = points.codes[:, 0] == points.n_values + 1
    return tuple(None if gone else cell for cell, gone in zip(cells, unknown, strict=True))


def _given_cells(index: CountIndex, point: Any, points: Points) -> tuple[Any, ...]:
    if hasattr(point, "to_dict") and getattr(point, "ndim", 2) == 1:
        point = point.to_dict()
    if points.frame is not None:
        point = {name: points.frame[name][0] for name in index.features}
    if isinstance(point, Mapping):
        return tuple(point[name] for name in index.features)
    return tuple(point if points.single else point[0])


def _completed(feature: Feature, code: int, cell: Any) -> Any:
    """The cell itself if it is known, else a value with the code: one of its candidates or any."""
    if isinstance(cell, set | frozenset | list | tuple):
        return next(one for one in cell if encode_set(feature, (one,)) == (code,))
    return decode(feature, code) if cell is None else cell


def decode(feature: Feature, code: int) -> Any:
    """A value with this code; for a bin, the middle of its interval; None outside the domain."""
    if code >= feature.n_values:
        return None
    if feature.edges:
        low, high = feature.edges[feature.bins[code]], feature.edges[feature.bins[code] + 1]
        middle = (low + high) / 2 if math.isfinite(low + high) else 0.0
        return at_microseconds(middle) if feature.kind == "date" else middle
    value = feature.values[code]
    if feature.kind == "boolean":
        return value == "true"
    if feature.kind in ("number", "code"):
        return int(value) if value.lstrip("-").isdigit() else float(value)
    return value


class _Cells:
    """Values to fill a column with: as the column itself writes them, where it shows one."""

    def __init__(self, feature: Feature, encoded: Encoded, table: Table) -> None:
        self.feature, self.encoded, self.table = feature, encoded, table
        self.values: dict[int, Any] = {}

    def value(self, code: int) -> Any:
        if code not in self.values:
            shown = np.flatnonzero(self.encoded.codes == code)
            frame = self.table.frame
            if len(shown) and frame is not None:
                self.values[code] = _scalar(frame[self.feature.name][int(shown[0])])
            else:
                self.values[code] = self._made_up(code, frame)
        return self.values[code]

    def written(self, number: float) -> Any:
        """A number as the column holds it: dates are numbers only here."""
        return at_microseconds(number) if self.feature.kind == "date" else number

    def _made_up(self, code: int, frame: nw.DataFrame[Any] | None) -> Any:
        value = decode(self.feature, code)
        if frame is None or not isinstance(value, float):
            return value
        dtype = frame.schema[self.feature.name]
        if dtype.is_integer() and self.feature.edges:
            edge = self.feature.edges[self.feature.bins[code]]
            return math.ceil(edge) if math.isfinite(edge) else 0
        return str(value) if dtype == nw.String else value


def _scalar(cell: Any) -> Any:
    """The one candidate of a list cell, or the cell."""
    if hasattr(cell, "to_list") and not isinstance(cell, dt.date):
        cell = cell.to_list()
    return next(iter(cell)) if isinstance(cell, list | set | frozenset | tuple) else cell
