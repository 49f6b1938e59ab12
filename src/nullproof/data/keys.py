"""What names rows: a column of their table, the key, or one name for each."""

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
from nullproof.errors import NullproofError, notice
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
        """Return the names of some of the rows."""
        return RowNames(self.column, self.values[places])

    def shown(self, place: int) -> str:
        """Return the name of a row; its position with ``#`` where it has none."""
        name = self.values[place]
        return f"#{place}" if name is None else str(name)


def shown_name(names: RowNames | None, place: int) -> str:
    """Return how a sentence names a row: by its name, or by its position if no names were asked for."""
    return str(place) if names is None else names.shown(place)


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
            f"{option} is {written!r}; give the position of a point, from 0 to {n_rows - 1:,}"
        )
    places = np.flatnonzero(names.values == written).tolist()
    if len(places) == 1:
        return int(places[0])
    if places:
        raise NullproofError(
            f"{option} is {written!r}, which names points {some(places, 5)} in {names.column!r}; leave "
            "--key out and give a position"
        )
    known = some((name for name in names.values if name is not None), 5)
    raise NullproofError(
        f"{option} is {written!r}, but no point has this name in {names.column!r}; give one of {known}"
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
    if not isinstance(key, str):
        found = RowNames(_UNNAMED, _texts(key))
        if len(found.values) != n_rows:
            raise NullproofError(
                f"key has {many(len(found.values), 'name')} but there are {n_rows:,} points; give one each"
            )
        return found
    if frame is not None:
        if key not in frame.columns:
            raise no_such_column(key, frame.columns)
        return RowNames(key, _texts(frame[key].to_list()))
    if rows is not None and all(isinstance(row, Mapping) for row in rows):
        return RowNames(key, _texts([row.get(key) for row in rows]))
    raise NullproofError(
        f"key is {key!r}, but these points have no column names; give one name per point"
    )


class KeyDoubts:
    """Finds rows without a name, and names that stand for several rows, while rows come in blocks."""

    def __init__(self) -> None:
        self._column, self._n_lacking = _UNNAMED, 0
        self._seen: set[str] = set()
        self._repeated: set[str] = set()

    def look_at(self, names: RowNames) -> None:
        """Note what is doubtful about some names."""
        self._column = names.column
        for name in names.values.tolist():
            if name is None:
                self._n_lacking += 1
            elif name in self._seen:
                self._repeated.add(name)
            else:
                self._seen.add(name)

    def report(self) -> None:
        """Give a notice of what was doubtful, if anything was."""
        said, n_lacking, column = [], self._n_lacking, self._column
        if n_lacking:
            has, its = ("has", "its") if n_lacking == 1 else ("have", "their")
            said.append(
                f"{many(n_lacking, 'row')} {has} no name in {column!r}; {its} position is shown, as #12"
            )
        if self._repeated:
            stand = "stands" if len(self._repeated) == 1 else "stand"
            said.append(
                f"{many(len(self._repeated), 'name')} in {column!r} {stand} for more than one row: "
                f"{some(sorted(self._repeated), 3)}"
            )
        if said:
            notice("; ".join(said))


def _texts(cells: Iterable[Any]) -> NDArray[np.object_]:
    written = [None if is_missing(cell) else text(cell) for cell in cells]
    found = np.empty(len(written), dtype=object)
    found[:] = [name or None for name in written]
    return found
