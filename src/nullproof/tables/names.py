"""What names rows: a column of their table, or one name for each."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.errors import NullproofError, NullproofWarning
from nullproof.tables.readers import no_such_column
from nullproof.tables.schema import Schema
from nullproof.tables.values import is_missing, text
from nullproof.words import many, some

# A column that names the rows, or one name per row.
Key = str | Iterable[Any]
_UNNAMED = "key"


@dataclass(frozen=True, eq=False)
class RowNames:
    """The names of some rows, as text.

    Parameters
    ----------
    column
        The column that they come from; ``"key"`` where they were given one by one.
    values
        One name per row, None for a row without a name.
    """

    column: str
    values: NDArray[np.object_]

    def take(self, places: NDArray[np.intp]) -> RowNames:
        """The names of some of the rows."""
        return RowNames(self.column, self.values[places])

    def shown(self, place: int) -> str:
        """The name of a row; its position with ``#`` where it has none."""
        name = self.values[place]
        return f"#{place}" if name is None else str(name)


def shown_name(names: RowNames | None, place: int) -> str:
    """How a sentence names a row: by its name, or by its position if no names were asked for."""
    return str(place) if names is None else names.shown(place)


def key_columns(names: RowNames | None) -> dict[str, list[Any]]:
    """The column ``key`` of a result, if its rows have names."""
    return {} if names is None else {"key": names.values.tolist()}


def key_at(names: RowNames | None, place: int) -> dict[str, Any]:
    """The entry ``key`` of one row in a JSON form, if the rows have names."""
    return {} if names is None else {"key": names.values[place]}


def refuse_key(schema: Schema, key: Key | None, option: str = "key") -> None:
    """Refuse a key that the index predicts from or that it predicts."""
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
    """The names of the rows of a data frame, or of plain rows."""
    if not isinstance(key, str):
        found = RowNames(_UNNAMED, _texts(key))
        if len(found.values) != n_rows:
            raise NullproofError(
                f"key has {many(len(found.values), 'name')} but there are {n_rows:,} points; give one each"
            )
    elif frame is not None:
        if key not in frame.columns:
            raise no_such_column(key, frame.columns)
        found = RowNames(key, _texts(frame[key].to_list()))
    elif rows is not None and all(isinstance(row, Mapping) for row in rows):
        found = RowNames(key, _texts([row.get(key) for row in rows]))
    else:
        raise NullproofError(
            f"key is {key!r}, but these points have no column names; give one name per point"
        )
    return found


def tell_of_doubtful(names: RowNames) -> None:
    """Say if rows have no name, or share one."""
    known = [name for name in names.values.tolist() if name is not None]
    n_lacking = len(names.values) - len(known)
    repeated = []
    if len({*known}) < len(known):
        found, counts = np.unique(np.array(known, dtype=object), return_counts=True)
        repeated = found[counts > 1].tolist()
    said = []
    if n_lacking:
        has, its = ("has", "its") if n_lacking == 1 else ("have", "their")
        said.append(
            f"{many(n_lacking, 'row')} {has} no name in {names.column!r}; {its} position is shown, as #12"
        )
    if repeated:
        stand = "stands" if len(repeated) == 1 else "stand"
        said.append(
            f"{many(len(repeated), 'name')} in {names.column!r} {stand} for more than one row: "
            f"{some(repeated, 3)}"
        )
    if said:
        warnings.warn("; ".join(said), NullproofWarning, stacklevel=2)


def _texts(cells: Iterable[Any]) -> NDArray[np.object_]:
    written = [None if is_missing(cell) else text(cell) for cell in cells]
    found = np.empty(len(written), dtype=object)
    found[:] = [name or None for name in written]
    return found
