"""The training table again, after it was counted: its rows' labels, its cells as codes, changed cells.

Attacks point at cells of it, worlds fill its holes.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.errors import NullproofError
from nullproof.tables.cells import Changes, append_rows, set_cells, set_rows
from nullproof.tables.columns import Encoded, encode
from nullproof.tables.labelled import Labelled, labelled_rows
from nullproof.tables.labels import label_codes
from nullproof.tables.names import RowNames, row_names
from nullproof.tables.options import AS_USUAL
from nullproof.tables.readers import Table, labels_apart, rows_like
from nullproof.tables.schema import Feature, Schema
from nullproof.tables.values import as_number, at_microseconds, parsed_date, text


@dataclass(frozen=True)
class TrainingTable:
    """A table that was counted, and the position of each row's label among the schema's labels.

    Rows without a label were left out when it was counted. They keep their places, with the label -1,
    and their cells are neither known nor holes.
    """

    schema: Schema
    source: Any
    table: Table
    row_labels: NDArray[np.int32]
    counted: Labelled
    labels: Sequence[Any] = ()

    @classmethod
    def open(
        cls, schema: Schema, source: Any, labels: Sequence[Any] | None = None
    ) -> TrainingTable:
        """Open a data frame or a file with its label column, or plain rows with their labels."""
        if labels is not None:
            table = rows_like(schema, source)
            column = labels_apart(labels)
        else:
            table = AS_USUAL.open(source, schema.label_name, schema)
            column = table.labels(schema.label_name)
        counted = Labelled(table, column, np.arange(len(column)))
        if labels is None:
            counted = labelled_rows(table, column)
        codes, names = label_codes(counted.labels)
        strange = [name for name in names if text(name) not in schema.label_codes]
        if strange:
            raise NullproofError(
                f"the table holds the label {strange[0]!r}, which the index does not have; "
                "give the table that was counted"
            )
        places = np.array([schema.label_codes[text(name)] for name in names], dtype=np.int32)
        row_labels = np.full(len(column), -1, dtype=np.int32)
        row_labels[counted.rows] = places[codes]
        return cls(schema, source, table, row_labels, counted, () if labels is None else labels)

    def names(self, key: str | None) -> RowNames | None:
        """The names of its rows, if it has that column."""
        frame = self.table.frame
        if key is None or frame is None or key not in frame.columns:
            return None
        return row_names(key, frame, None, self.table.n_rows)

    def writer(self, j: int) -> ColumnWriter:
        """One column with its codes, and how it writes its values."""
        return ColumnWriter(self.schema.features[j], self.table, self.counted)

    def changed(self, changes: Changes) -> Any:
        """The table with some cells changed, None for blank; of the same type."""
        if self.table.frame is not None:
            return set_cells(self.table.frame, changes)
        return set_rows(self.source, self.table.names, changes)

    def extended(
        self, rows: Sequence[tuple[int, Sequence[int]]], frame: nw.DataFrame[Any] | None = None
    ) -> Any:
        """The table, or a ``frame`` of its rows, with rows more: positions of labels, and codes.

        Columns that are neither features nor the label are blank there. Of plain rows a pair: rows, labels.
        """
        writers = [self.writer(j) for j in range(len(self.schema.features))]
        values = {
            own.feature.name: [own.value(codes[j]) for _, codes in rows]
            for j, own in enumerate(writers)
        }
        frame = self.table.frame if frame is None else frame
        labels = [self._label(code) for code, _ in rows]
        if frame is None:
            columns = [values.get(name, [None] * len(rows)) for name in self.table.names]
            longer = set_rows(self.source, self.table.names, {})
            return [*longer, *zip(*columns, strict=True)], [*self.labels, *labels]
        if self.schema.label_name in frame.columns:
            values[self.schema.label_name] = labels
        return append_rows(frame, values, len(rows))

    def _label(self, code: int) -> Any:
        """A label as the table writes it, where it shows it."""
        shown = np.flatnonzero(self.row_labels == code)
        frame = self.table.frame
        if not len(shown):
            return self.schema.labels[code]
        if frame is None:
            return self.labels[int(shown[0])]
        return frame[self.schema.label_name][int(shown[0])]

    def filled(self, changes: dict[str, dict[int, Any]]) -> Any:
        """The table with all holes filled; a set of one candidate becomes that value."""
        frame = self.table.frame
        if frame is None:
            return [tuple(scalar(cell) for cell in row) for row in self.changed(changes)]
        for name, cells in changes.items():
            if frame.schema[name] in (nw.List, nw.Array, nw.Object):
                for row, cell in enumerate(frame[name].to_list()):
                    cells.setdefault(row, scalar(cell))
        return self.changed(changes)


def decode(feature: Feature, code: int) -> Any:
    """A value with this code; for a bin, the middle of its interval; None outside the domain."""
    if code >= feature.n_values:
        return None
    if feature.edges:
        low, high = feature.edges[feature.bins[code]], feature.edges[feature.bins[code] + 1]
        # The sum of huge ends is no double; one bin for all has no ends at all.
        middle = (low + high) / 2 if math.isfinite(low + high) else low / 2 + high / 2
        middle = middle if math.isfinite(middle) else 0.0
        # Between neighbouring doubles the middle is rounded, perhaps into the next bin.
        middle = middle if middle < high else low
        return at_microseconds(middle) if feature.kind == "date" else middle
    value = feature.values[code]
    if feature.kind == "boolean":
        return value == "true"
    if feature.kind in ("number", "code"):
        return as_number(value)
    moment = parsed_date(value) if feature.kind == "date" else None
    return value if moment is None else at_microseconds(moment)


class ColumnWriter:
    """Values to fill a column with: as the column itself writes them, where it shows one."""

    def __init__(self, feature: Feature, table: Table, counted: Labelled) -> None:
        self.feature, self.table = feature, table
        self.column = counted.table.like(feature)
        self.encoded = encode(feature, self.column)
        if len(counted.rows) < table.n_rows:
            self._put_back(counted.rows)
        self.values: dict[int, Any] = {}

    def _put_back(self, rows: NDArray[np.intp]) -> None:
        """Give the rows the places that they have in the table; the others hold no value of the domain."""
        places = rows.tolist()
        codes = np.full(self.table.n_rows, self.feature.n_values, dtype=np.int64)
        codes[rows] = self.encoded.codes
        self.encoded = Encoded(codes, {places[i]: x for i, x in self.encoded.sets.items()})
        self.column.sets = {places[i]: x for i, x in self.column.sets.items()}

    def value(self, code: int) -> Any:
        """A value with this code."""
        if code not in self.values:
            shown = np.flatnonzero(self.encoded.codes == code)
            frame = self.table.frame
            value = None
            if len(shown) and frame is not None:
                value = scalar(frame[self.feature.name][int(shown[0])])
            if value is None or self._is_cut(value, code):
                value = self._made_up(code, frame)
            self.values[code] = value
        return self.values[code]

    def _is_cut(self, value: Any, code: int) -> bool:
        """Whether polars gave a time stamp without its nanoseconds, which make it a value of its own."""
        is_moment = isinstance(value, dt.datetime) and not self.feature.edges
        return is_moment and text(value) != self.feature.values[code]

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


def scalar(cell: Any) -> Any:
    """The one candidate of a list cell, or the cell."""
    if hasattr(cell, "to_list") and not isinstance(cell, dt.date):
        cell = cell.to_list()
    return next(iter(cell)) if isinstance(cell, list | set | frozenset | tuple) else cell
