"""Change cells of a table and keep everything else: its library, types, columns, rows and order.

`TrainingTable` opens a table again after it was counted, so that attacks can name its cells and worlds can
fill them. `inject_missing` blanks cells by chance.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.data.labels import known_label_codes, labelled_rows
from nullproof.data.options import AS_USUAL, refuse_seed
from nullproof.data.points import RowNames, row_names
from nullproof.data.schema import Encoded, Schema, decode, encode
from nullproof.data.sources import Table, labels_apart, open_table, refuse_unknown, rows_like
from nullproof.data.types import (
    as_number,
    at_microseconds,
    is_missing,
    is_number,
    text,
)
from nullproof.errors import NullproofError

if TYPE_CHECKING:
    import polars as pl

Changes = Mapping[str, Mapping[int, Any]]


def set_cells(frame: nw.DataFrame[Any], changes: Changes) -> Any:
    """Return the native frame with new values at some rows of some columns; None blanks a cell.

    A column keeps its type if that holds the new values; else it gets a wider one.
    """
    is_pandas, is_polars = frame.implementation.is_pandas_like(), frame.implementation.is_polars()
    set_own = _set_pandas if is_pandas else _set_series if is_polars else _set_arrow
    columns = []
    for name, cells in changes.items():
        if cells:
            column = frame[name]
            new = {row: held(value, column.dtype) for row, value in cells.items()}
            made = set_own(column.to_native(), new)
            columns.append(nw.from_native(made, series_only=True).alias(name))
    return frame.with_columns(*columns).to_native()


def held(value: Any, dtype: Any) -> Any:
    """Convert a value for a column of this type: text, a time zone, a duration or a decimal."""
    if value is None:
        return value
    if dtype == nw.String:
        return text(value)
    if isinstance(value, str) and dtype == nw.Time:
        return dt.time.fromisoformat(value)
    if isinstance(value, str) and dtype.is_numeric():
        value = as_number(value)
    if isinstance(value, dt.datetime) and dtype in (nw.Date, nw.Datetime):
        # In the column's time zone, or in UTC without one.
        in_utc = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        has_zone = getattr(dtype, "time_zone", None) is not None
        return in_utc if has_zone else in_utc.astimezone(dt.UTC).replace(tzinfo=None)
    if is_number(value):
        if dtype == nw.Decimal:
            return decimal.Decimal(text(value))
        if dtype == nw.Duration:
            return dt.timedelta(seconds=float(value))
        if dtype.is_float():
            return float(value)
        return int(value) if float(value).is_integer() else float(value)
    return value


def _set_pandas(column: Any, cells: Mapping[int, Any]) -> Any:
    """Return a pandas column with some cells changed, in the first type that can hold them."""
    blanks = [row for row, value in cells.items() if value is None]
    if blanks:
        # NumPy integers and booleans have no missing value, but pandas' nullable types do.
        is_plain = isinstance(column.dtype, np.dtype) and column.dtype.kind in "iub"
        column = column.convert_dtypes() if is_plain else column.copy()
        column.iloc[blanks] = None
    filled = {row: value for row, value in cells.items() if value is not None}
    if not filled:
        return column
    # The categories of the column's type may be numbers where values are texts.
    categories = {text(x): x for x in getattr(column.dtype, "categories", ())}
    values = [categories.get(text(x), x) for x in filled.values()]
    objects = column.astype(object).where(column.notna(), None)
    objects.iloc[[*filled]] = values
    try:
        made = objects.astype(column.dtype)
        kept = all(map(_same, made.iloc[[*filled]].tolist(), values))
    except (TypeError, ValueError, OverflowError, NotImplementedError):
        kept = False
    return made if kept else objects.convert_dtypes()


def _same(made: Any, value: Any) -> bool:
    """Return whether a cell holds the value that was set: a narrow type may round it silently."""
    if value is None:
        return made is None
    return not is_missing(made) and text(made) == text(value)


def _set_series(column: pl.Series, cells: Mapping[int, Any]) -> pl.Series:
    """Return a series with some cells changed, in its type if possible, else in a wider one."""
    import polars as pl

    name, new = column.name, [*cells.values()]
    try:
        own = pl.Series(name, new, dtype=column.dtype)
        kept = all(map(_same, own.to_list(), new))
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        kept = False
    if not kept:
        # Whole numbers may be mixed with fractions.
        own = pl.Series(name, new, strict=False)
    both = pl.concat([column.to_frame(), own.to_frame()], how="vertical_relaxed").to_series()
    places = np.arange(len(column))
    places[[*cells]] = np.arange(len(column), len(both))
    return both.gather(places)


def _set_arrow(column: Any, cells: Mapping[int, Any]) -> Any:
    """Return an Arrow column with some cells changed, in its type if that can hold them."""
    import polars as pl
    import pyarrow as pa

    kind = column.type
    plain = column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column
    made = _set_series(pl.Series(pl.from_arrow(plain)), cells).to_arrow()
    with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
        # Unless the type is too narrow for one of them.
        made = made.cast(kind)
    return pa.chunked_array([made])


@dataclass(frozen=True)
class TrainingTable:
    """A table that was counted, and the position of each row's label among the schema's labels.

    Rows without a label were left out when it was counted. They keep their positions, with the label -1,
    and their cells are neither known nor missing.
    """

    schema: Schema
    source: Any
    table: Table
    row_labels: NDArray[np.int32]
    counted: Table
    labels: Sequence[Any] = ()

    @classmethod
    def open(
        cls, schema: Schema, source: Any, labels: Sequence[Any] | None = None
    ) -> TrainingTable:
        """Open a data frame or a file with its label column, or plain rows with their labels."""
        if labels is None:
            table = AS_USUAL.open(source, schema.label_name, schema)
            counted, column = labelled_rows(table, table.labels(schema.label_name))
        else:
            table = counted = rows_like(schema, source)
            column = labels_apart(labels)
            if len(column) != table.n_rows:
                raise NullproofError(
                    f"there are {table.n_rows} rows but {len(column)} labels; give one label per row"
                )
        row_labels = np.full(table.n_rows, -1, dtype=np.int32)
        codes = known_label_codes(schema, column, "give the table that was counted")
        row_labels[slice(None) if counted.rows is None else counted.rows] = codes
        return cls(schema, source, table, row_labels, counted, () if labels is None else labels)

    def names(self, key: str | None) -> RowNames | None:
        """Return the names of the rows, if the table has the key column."""
        frame = self.table.frame
        if key is None or frame is None or key not in frame.columns:
            return None
        return row_names(key, frame, None, self.table.n_rows)

    def writer(self, j: int) -> ColumnWriter:
        """Return the writer of one column."""
        return ColumnWriter(self, j)

    def changed(self, changes: Changes) -> Any:
        """Return the table with some cells changed, None for blank; of the same type."""
        if self.table.frame is not None:
            return set_cells(self.table.frame, changes)
        columns = {name: [*cells] for name, cells in self.table.columns.items()}
        for name, cells in changes.items():
            for row, value in cells.items():
                columns[name][row] = value
        return [*zip(*columns.values(), strict=True)]

    def extended(
        self, rows: Sequence[tuple[int, Sequence[int]]], frame: nw.DataFrame[Any] | None = None
    ) -> Any:
        """Return the table, or a ``frame`` of its rows, with added rows: label positions, codes.

        Columns that are neither features nor the label are blank in them. Plain rows give (rows, labels).
        """
        writers = [self.writer(j) for j in range(len(self.schema.features))]
        values = {
            own.feature.name: [own.value(codes[j]) for _, codes in rows]
            for j, own in enumerate(writers)
        }
        frame = self.table.frame if frame is None else frame
        labels, blank = [self._label(code) for code, _ in rows], [None] * len(rows)
        if frame is None:
            columns = [values.get(name, blank) for name in self.table.names]
            return [*self.changed({}), *zip(*columns, strict=True)], [*self.labels, *labels]
        values[self.schema.label_name] = labels
        longer = nw.concat([frame, frame[[0] * len(rows)]]) if rows else frame
        if longer.implementation.is_pandas_like():
            longer = nw.from_native(longer.to_native().reset_index(drop=True))
        return set_cells(
            longer,
            {name: dict(enumerate(values.get(name, blank), len(frame))) for name in frame.columns},
        )

    def _label(self, code: int) -> Any:
        """Return a label as written in the table, if it occurs there."""
        shown = np.flatnonzero(self.row_labels == code)
        if not len(shown):
            return self.schema.labels[code]
        frame = self.table.frame
        return (self.labels if frame is None else frame[self.schema.label_name])[int(shown[0])]

    def filled(self, changes: Changes) -> Any:
        """Return the table with all missing cells filled; a set of one candidate becomes that value."""
        if self.table.frame is not None:
            return self.changed(changes)
        several = (list, set, frozenset, tuple)
        return [
            tuple(next(iter(cell)) if isinstance(cell, several) else cell for cell in row)
            for row in self.changed(changes)
        ]


class ColumnWriter:
    """Values for filling a column, written as in the column if they occur there."""

    def __init__(self, training: TrainingTable, j: int) -> None:
        self.feature, self.table = training.schema.features[j], training.table
        self.column = training.counted.like(self.feature)
        self.encoded = encode(self.feature, self.column)
        rows = training.counted.rows
        if rows is not None:
            # Rows without a label hold no value of the domain.
            codes = np.full(self.table.n_rows, self.feature.n_values, dtype=np.int64)
            codes[rows] = self.encoded.codes
            self.encoded = Encoded(codes, {})
        self._values: dict[int, Any] = {}

    def value(self, code: int) -> Any:
        """Return a value with this code."""
        if code not in self._values:
            shown = np.flatnonzero(self.encoded.codes == code)
            frame = self.table.frame
            value = None
            if len(shown) and frame is not None:
                value = frame[self.feature.name][int(shown[0])]
            self._values[code] = self._made_up(code, frame) if value is None else value
        return self._values[code]

    def written(self, number: float) -> Any:
        """Return a number in the type of the column: internally, dates are numbers."""
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


# Blank cells by chance. The draw needs only the raw 64-bit numbers of PCG64, whose stream NumPy promises
# never to change, and multiplications and divisions, which every machine rounds alike.

Mask = NDArray[np.bool_]


def inject_missing(
    table: Any,
    rate: float,
    *,
    features: str | Collection[str] | None = None,
    label: str | None = None,
    seed: int = 0,
) -> Any:
    """Blank a share of the known cells of a table, each as likely as any other.

    Parameters
    ----------
    table
        A data frame (the result has the same type), or a lazy one, a DuckDB table or a file (the
        result is a polars frame).
    rate
        The share of the known cells of the features to blank, from 0 to 1; rounded to whole cells.
    features
        The columns to blank cells of; None means all.
    label
        The label column, which keeps all cells.
    seed
        The same seed blanks the same cells, on any machine and in any data frame library.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [20, 30, 40, 50], "churn": ["no", "no", "yes", "yes"]})
    >>> inject_missing(table, 0.5, label="churn", seed=1)["age"].to_list()
    [None, 30, 40, None]
    """
    opened = open_table(table)
    if opened.frame is None:
        raise NullproofError(
            f"{type(table).__name__} is not a data frame; give one of pandas, polars, pyarrow or "
            "DuckDB, or the path of a file"
        )
    refuse_seed(seed)
    names = _chosen_features(opened, features, label)
    known = np.stack([opened.column(name).known for name in names], axis=1)
    blanked = draw_cells(known, rate, seed=seed)
    changes = {
        name: dict.fromkeys(np.flatnonzero(blanked[:, j]).tolist()) for j, name in enumerate(names)
    }
    return set_cells(opened.frame, changes)


def draw_cells(known: Mask, rate: float, *, seed: int) -> Mask:
    """Draw a share of the known cells (rows × features); cells take numbers column by column."""
    if not 0 <= rate <= 1:
        raise NullproofError(f"rate is {rate!r}; give a share of the cells, from 0 to 1")
    keys = np.where(known.ravel(order="F"), uniforms(known.size, seed, stream=1), np.inf)
    n_cells = round(float(rate) * int(known.sum()))
    return smallest(keys, n_cells).reshape(known.shape, order="F")


def uniforms(size: int, seed: int, *, stream: int) -> NDArray[np.float64]:
    """Return numbers in [0, 1) from the raw stream of PCG64; each ``stream`` of a seed is independent."""
    raw = np.random.PCG64(np.random.SeedSequence([seed, stream])).random_raw(size)
    return (raw >> np.uint64(11)).astype(np.float64) * np.float64(2.0**-53)


def smallest(keys: NDArray[np.float64], n_wanted: int) -> Mask:
    """Mark the smallest keys; among equal keys the first, so that the result is deterministic."""
    marked: Mask = np.zeros(len(keys), dtype=bool)
    marked[np.argsort(keys, kind="stable")[:n_wanted]] = True
    return marked


def _chosen_features(
    table: Table, features: str | Collection[str] | None, label: str | None
) -> Sequence[str]:
    if label is not None:
        refuse_unknown([label], table.names, "label")
    names = [name for name in table.names if name != label]
    if not names:
        raise NullproofError("the table has no column besides the label; give at least one feature")
    if features is None:
        return names
    wanted = [features] if isinstance(features, str) else features
    if not isinstance(wanted, Collection) or not len(wanted):
        raise NullproofError(
            f"features is {features!r}; give the names of the columns to blank cells of, or None for all"
        )
    refuse_unknown(wanted, names, "features")
    return [name for name in names if name in wanted]
