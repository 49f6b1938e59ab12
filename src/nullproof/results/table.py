"""The base of all results: a sequence with one row per point that declares its columns once.

The frame, the columns of a file, the JSON rows, the repr and the tables in notebook and terminal all follow
from `Result.declared`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.data.points import RowNames, distinct, shown_name
from nullproof.data.sources import native_frame
from nullproof.errors import notice
from nullproof.results.pictures import ROWS, shown_table, stack
from nullproof.words import cut, many

if TYPE_CHECKING:
    import polars as pl

Item = TypeVar("Item")
_JOINED = " | "
_REPR_ROWS = 5
_LONGEST_NAME = 40


@dataclass(frozen=True)
class Column:
    """One column of a result.

    Parameters
    ----------
    values
        One value per row or, with ``places``, the distinct values: texts, numbers, booleans, or lists of
        texts.
    places
        Which of the distinct values each row has; -1 for none.
    heading
        The heading of the column in notebook and terminal; None if they do not show it.
    written
        How notebook and terminal write a value.
    """

    values: Sequence[Any] | NDArray[Any]
    places: NDArray[np.integer] | None = None
    heading: str | None = None
    written: Callable[[Any], Any] = lambda value: value

    def listed(self) -> list[Any]:
        """Return one plain value per row; None for NaN and for none."""
        if self.places is None:
            return [None if value != value else value for value in np.asarray(self.values).tolist()]
        distinct = np.empty(len(self.values) + 1, dtype=object)
        distinct[:-1] = [*self.values]
        listed: list[Any] = distinct[self.places].tolist()
        return listed

    def joined(self) -> Column:
        """Return the column with every list of texts as one text."""
        if not any(isinstance(value, list) for value in islice(self.values, 1)):
            return self
        return Column([_JOINED.join(texts) for texts in self.values], self.places)

    def series(self) -> pl.Series:
        """Return the column as a series of polars, lists as texts; null for NaN and for none."""
        import polars as pl

        values = self.joined().values
        if self.places is None:
            kind = pl.String if np.asarray(values).dtype == object else None
            return pl.Series(values, dtype=kind, nan_to_null=True)
        distinct = pl.Series([*values, None], dtype=None if values else pl.String)
        return distinct.gather(np.where(self.places < 0, len(values), self.places))


class Result(Generic[Item]):
    """An answer with one row per point: a sequence of items, and a table."""

    def declared(self) -> dict[str, Column]:
        """Return the columns by name, without position and key."""
        raise NotImplementedError

    def take(self, places: NDArray[np.intp]) -> Self:
        """Return the result of some of the points."""
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def _origin(self) -> tuple[RowNames | None, nw.DataFrame[Any] | None]:
        """Return the names of the points, and the frame that they came in."""
        raise NotImplementedError

    def _item(self, place: int) -> Item:
        raise NotImplementedError

    def _line(self, place: int) -> str:
        """Return the repr line of one point."""
        return repr(self._item(place))

    def _headline(self) -> str:
        raise NotImplementedError

    def _shown_first(self) -> tuple[str, NDArray[np.intp]]:
        """Return the display order of the points: in words, and as positions."""
        return "", np.arange(len(self))

    def _all_columns(self) -> dict[str, Column]:
        names, _ = self._origin()
        return {**({} if names is None else {"key": Column(names.values)}), **self.declared()}

    def columns(self) -> dict[str, list[Any]]:
        """Return one row per point as plain columns, the key first if there is one."""
        return {name: column.joined().listed() for name, column in self._all_columns().items()}

    def listed_columns(self) -> dict[str, list[Any]]:
        """Return the columns with several labels as lists."""
        return {name: column.listed() for name, column in self._all_columns().items()}

    def file_columns(self, first: int = 0) -> dict[str, Any]:
        """Return the columns as a file holds them, as series of polars: the position of each point first.

        ``first`` is the position of the first point, where others came before these.
        """
        every = {"point": Column(np.arange(first, first + len(self))), **self._all_columns()}
        return {name: column.series() for name, column in every.items()}

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of the JSON form."""
        columns = {"point": [*range(len(self))], **self.listed_columns()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def document(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"n_points": len(self), "points": self.rows()}

    def to_frame(self) -> Any:
        """Return one row per point, in the library that the points came in."""
        return native_frame(self.columns(), self._origin()[1])

    @overload
    def __getitem__(self, position: int) -> Item: ...
    @overload
    def __getitem__(self, position: Any) -> Self: ...
    def __getitem__(self, position: Any) -> Item | Self:
        """Return one point by its position; several by a slice, positions or a mask."""
        place = chosen(position, len(self))
        return self._item(place) if isinstance(place, int) else self.take(place)

    def __iter__(self) -> Iterator[Item]:
        return (self._item(place) for place in range(len(self)))

    def _written(self) -> dict[str, list[Any]]:
        """Return the columns for display, by heading."""
        return {
            column.heading: [column.written(value) for value in column.listed()]
            for column in self.declared().values()
            if column.heading is not None
        }

    def shown_rows(self, most: int, first: int = 0) -> tuple[dict[str, list[Any]], int]:
        """Return up to ``most`` points for display, by heading, and the number of listed points.

        Empty columns are left out. ``first`` is the position of the first point, if only one was
        requested.
        """
        (names, _), (_, places) = self._origin(), self._shown_first()
        shown = places[:most]
        columns = self.take(shown)._written()
        is_named = names is not None and names.column not in columns
        heading = cut(names.column, _LONGEST_NAME) if names is not None and is_named else "point"
        offset = first if names is None else 0
        points = [cut(shown_name(names, at + offset), _LONGEST_NAME) for at in shown.tolist()]
        with_words = {
            name: cells
            for name, cells in columns.items()
            if not points or any(cell not in (None, "") for cell in cells)
        }
        return {heading: points, **with_words}, len(places)

    def _repr_html_(self) -> str:
        order, _ = self._shown_first()
        headline = f"{self._headline()}; {order}" if order else self._headline()
        return shown_table(headline, *self.shown_rows(ROWS), self._share_bar())

    def _share_bar(self) -> str:
        """Draw how many points have each verdict, where they have verdicts."""
        column = self.declared().get("verdict")
        if column is None or column.places is None or not len(self):
            return ""
        counts = np.bincount(column.places, minlength=len(column.values)) / len(self)
        return stack(dict(zip(column.values, counts.tolist(), strict=True)))

    def __repr__(self) -> str:
        names, _ = self._origin()
        places = range(min(len(self), _REPR_ROWS))
        lines = [f"  {shown_name(names, place)}: {self._line(place)}" for place in places]
        more = ["  …"] if len(self) > _REPR_ROWS else []
        return "\n".join([self._headline(), *lines, *more])


def label_sets(
    labels: Sequence[Any], possible: NDArray[np.bool_], predicted: NDArray[np.int32]
) -> tuple[Column, Column]:
    """Return the possible labels of every point, and the possible labels that are not predicted.

    Points with the same labels share their lists, which are written once.
    """
    first, places = distinct(np.vstack([predicted, np.packbits(possible, axis=1).T]))
    names = [str(label) for label in labels]
    sets = [np.flatnonzero(possible[place]).tolist() for place in first.tolist()]
    winners = predicted[first].tolist()
    others = [
        [names[i] for i in members if i != winner]
        for members, winner in zip(sets, winners, strict=True)
    ]
    possible_sets = [[names[i] for i in members] for members in sets]
    return Column(possible_sets, places), Column(others, places)


def chosen(which: Any, n_points: int) -> int | NDArray[np.intp]:
    """Return the position from 0 of one point, or those of several.

    >>> chosen(-1, 3), chosen(slice(1, 9), 3), chosen([True, False, True], 3)
    (2, array([1, 2]), array([0, 2]))
    """
    if isinstance(which, slice):
        return np.arange(n_points)[which]
    wanted = np.asarray(which)
    if wanted.dtype.kind == "b" and wanted.ndim == 1:
        if len(wanted) != n_points:
            raise IndexError(
                f"the mask has {len(wanted):,} entries but there are {n_points:,} points; give one for each"
            )
        return np.flatnonzero(wanted)
    if wanted.ndim == 1 and not len(wanted):
        return np.arange(0)
    if wanted.dtype.kind not in "iu" or wanted.ndim > 1:
        raise IndexError(
            f"points were chosen by {which!r}; give a position, a slice, a list of positions or a mask"
        )
    beyond = np.atleast_1d(wanted)[np.atleast_1d((wanted < -n_points) | (wanted >= n_points))]
    if len(beyond):
        there = (
            f"there are {n_points:,}, from 0 to {n_points - 1:,}" if n_points else "there are none"
        )
        raise IndexError(f"point {int(beyond[0])} was asked for, but {there}")
    places = wanted.astype(np.intp) % max(n_points, 1)
    return places if wanted.ndim else int(places)


# Points not worked out: ``not_worked_out`` of a result holds the reasons, and a notice gives the number.


def reasons_of(n_points: int, known: Mapping[int, str]) -> NDArray[np.object_]:
    """Return one entry per point: its reason, or None."""
    reasons = np.full(n_points, None, dtype=object)
    for place, reason in known.items():
        reasons[place] = reason
    return reasons


def tell_of(what: str, known: Mapping[int, str]) -> None:
    """Warn how many points are not worked out, if any are, and why the first is not."""
    for place, reason in islice(known.items(), 1):
        notice(
            f"{what} of {many(len(known), 'point')} not worked out; the first is point {place}: {reason}"
        )
