"""What names the rows: a key column, or one name each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.data.schema import Schema
from nullproof.data.sources import no_such_column
from nullproof.data.types import is_missing, text
from nullproof.errors import NullproofError
from nullproof.words import cut, many, some

Key = str | Iterable[Any]
_UNNAMED = "key"


@dataclass(frozen=True, eq=False)
class RowNames:
    """The names of some rows as text, None for a row without one, and the column that they come from.

    The column is ``"key"`` where they were given one by one.
    """

    column: str
    values: NDArray[np.object_]

    def take(self, places: NDArray[np.intp]) -> RowNames:
        """Return the names of some of the rows."""
        return RowNames(self.column, self.values[places])


def shown_name(names: RowNames | None, place: int) -> str:
    """Return how a sentence names a row: by its name, else by its position (``#12`` beside names)."""
    if names is None:
        return str(place)
    return f"#{place}" if names.values[place] is None else str(names.values[place])


def key_columns(names: RowNames | None) -> dict[str, list[Any]]:
    """Return the column ``key`` of a result, if its rows have names."""
    return {} if names is None else {"key": names.values.tolist()}


def key_at(names: RowNames | None, place: int) -> dict[str, Any]:
    """Return the entry ``key`` of one row in a JSON form, if the rows have names."""
    return {} if names is None else {"key": names.values[place]}


def place_of(written: str, names: RowNames | None, n_rows: int, option: str) -> int:
    """Return the row that is meant: by its name if the rows have names, else by its position from 0.

    ``option`` is what messages call it by.
    """
    if names is None:
        if written.isascii() and written.isdigit() and int(written) < n_rows:
            return int(written)
        raise NullproofError(
            f"{option} is {cut(written)!r}; give the position of a point, from 0 to {n_rows - 1:,}"
        )
    places = np.flatnonzero(names.values == written).tolist()
    if len(places) == 1:
        return int(places[0])
    if places:
        raise NullproofError(
            f"{option} is {cut(written)!r}, which names points {some(places, 5)} in {names.column!r}; "
            "leave --key out and give a position"
        )
    known = some((cut(name) for name in names.values if name is not None), 5)
    raise NullproofError(
        f"{option} is {cut(written)!r}, but no point has this name in {names.column!r}; give one of {known}"
    )


def refuse_key(schema: Schema, key: Key | None, option: str = "key") -> None:
    """Reject a key that the index predicts from or that it predicts."""
    if not isinstance(key, str):
        return
    if key == schema.label_name:
        raise NullproofError(
            f"{option} is {key!r}, the label; give a column that tells the rows apart"
        )
    if key in schema.position:
        raise NullproofError(
            f"{option} is {key!r}, which the index counts as a feature; count the table anew without it "
            f'(ignore=["{key}"], or --key when it is counted)'
        )


def row_names(key: Key, frame: nw.DataFrame[Any] | None, rows: Any, n_rows: int) -> RowNames:
    """Return the names of the rows of a data frame, or of plain rows."""
    column, cells = _UNNAMED, key
    if isinstance(key, str):
        column = key
        if frame is not None:
            if key not in frame.columns:
                raise no_such_column(key, frame.columns)
            cells = frame[key].to_list()
        elif rows is not None and all(isinstance(row, Mapping) for row in rows):
            cells = [row.get(key) for row in rows]
        else:
            raise NullproofError(
                f"key is {key!r}, but these points have no column names; give one name per point"
            )
    written = [None if is_missing(cell) else text(cell) or None for cell in cells]
    if len(written) != n_rows:
        raise NullproofError(
            f"key has {many(len(written), 'name')} but there are {n_rows:,} points; give one each"
        )
    values = np.empty(n_rows, dtype=object)
    values[:] = written
    return RowNames(column, values)
