"""The lines that a result has for many points: labels as texts, each different one written once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from nullproof.data.keys import RowNames, key_columns

if TYPE_CHECKING:
    import polars as pl

VERDICTS = ("certain", "holds", "open")
# Up to so many kinds of points there may be one place for each that could be.
_FEW = 1 << 16
_MARKS = np.array([False, True, None], dtype=object)


@dataclass(frozen=True)
class Lines:
    """What is told of many points; labels as positions in ``labels``, -1 for none.

    Parameters
    ----------
    names
        Names of the points, if they have any.
    judged
        The verdict of each point as a position in `VERDICTS`.
    possible, certain, winner
        What every world agrees on (`nullproof.model.verdicts`).
    tolerance, rival
        How far each prediction holds, and who threatens it first.
    actual
        The true label of each point; None if none is known.
    """

    labels: Sequence[Any]
    names: RowNames | None
    predicted: NDArray[np.int32]
    judged: NDArray[np.int8]
    possible: NDArray[np.bool_]
    certain: NDArray[np.bool_]
    winner: NDArray[np.int32]
    tolerance: NDArray[np.float64]
    rival: NDArray[np.int32]
    n_own_missing: NDArray[np.int64]
    actual: NDArray[np.int32] | None

    def columns(self) -> dict[str, list[Any]]:
        """One row per point as plain columns; the key first and ``right`` last, if they are known."""
        columns = self.listed_columns()
        for name in ("possible", "others"):
            columns[name] = [" | ".join(labels) for labels in columns[name]]
        return columns

    def listed_columns(self) -> dict[str, list[Any]]:
        """The columns with possible and other labels as lists."""
        kinds = _LabelSets.of(self.labels, self.possible, self.predicted)
        right = self._right
        return {
            **key_columns(self.names),
            "predicted": _texts(self.labels, self.predicted),
            "verdict": _texts(VERDICTS, self.judged),
            "certain": self.certain.tolist(),
            "label": _texts(self.labels, self.winner),
            "possible": kinds.listed(kinds.possible),
            "others": kinds.listed(kinds.others),
            "tolerance": [None if t != t else t for t in self.tolerance.tolist()],
            "rival": _texts(self.labels, self.rival),
            "n_own_missing": self.n_own_missing.tolist(),
            **({} if right is None else {"right": _MARKS[right].tolist()}),
        }

    def file_columns(self, first: int) -> dict[str, pl.Series]:
        """The columns as series of polars, with the positions of the points from ``first`` on."""
        labels, kinds = self.labels, _LabelSets.of(self.labels, self.possible, self.predicted)
        right = self._right
        return {
            "point": _numbers(np.arange(first, first + len(self.predicted))),
            **_keys(self.names),
            "predicted": _series(labels, self.predicted),
            "verdict": _series(VERDICTS, self.judged),
            "certain": _marks(self.certain),
            "label": _series(labels, self.winner),
            "possible": _series(map(" | ".join, kinds.possible), kinds.places),
            "others": _series(map(" | ".join, kinds.others), kinds.places),
            "tolerance": _numbers(self.tolerance),
            "rival": _series(labels, self.rival),
            "n_own_missing": _numbers(self.n_own_missing),
            **({} if right is None else {"right": _marks(right)}),
        }

    @property
    def _right(self) -> NDArray[np.int8] | None:
        """Per point 1 where its prediction is right, 0 where not, -1 where that is not known."""
        if self.actual is None:
            return None
        return np.where(self.actual < 0, -1, self.actual == self.predicted).astype(np.int8)


@dataclass(frozen=True)
class _LabelSets:
    """The possible labels of many points, and those of them that are not the predicted one, as texts.

    Points of one kind share their lists: ``places`` tells the kind of each point.
    """

    places: NDArray[np.intp]
    possible: list[list[str]]
    others: list[list[str]]

    @classmethod
    def of(
        cls, labels: Sequence[Any], possible: NDArray[np.bool_], predicted: NDArray[np.int32]
    ) -> Self:
        """Find the kinds of some points."""
        names = [str(label) for label in labels]
        first, places = _kinds(possible, predicted)
        found = [np.flatnonzero(possible[place]).tolist() for place in first.tolist()]
        own = predicted[first].tolist()
        return cls(
            places,
            [[names[i] for i in some] for some in found],
            [[names[i] for i in some if i != one] for some, one in zip(found, own, strict=True)],
        )

    def listed(self, lists: list[list[str]]) -> list[list[str]]:
        """The list of each point."""
        kinds = np.empty(len(lists), dtype=object)
        kinds[:] = lists
        found: list[list[str]] = kinds[self.places].tolist()
        return found


def _kinds(
    possible: NDArray[np.bool_], predicted: NDArray[np.int32]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first point of each kind, and the kind of each point."""
    n_points, m = possible.shape
    if (m + 1) << m <= _FEW:
        keys = (predicted.astype(np.intp) + 1) << m
        for i in range(m):
            keys += possible[:, i].astype(np.intp) << i
        seen = np.full((m + 1) << m, -1)
        seen[keys[::-1]] = np.arange(n_points)[::-1]
        used = np.flatnonzero(seen >= 0)
        place = np.empty(len(seen), dtype=np.intp)
        place[used] = np.arange(len(used))
        return seen[used], place[keys]
    marks = np.packbits(possible, axis=1)
    chosen = np.ascontiguousarray(predicted, dtype=np.int32).view(np.uint8).reshape(-1, 4)
    # As bytes, which sort a hundred times faster than rows of booleans.
    rows = np.ascontiguousarray(np.hstack([marks, chosen]))
    whole = rows.view(np.dtype((np.void, rows.shape[1]))).ravel()
    _, first, kinds = np.unique(whole, return_index=True, return_inverse=True)
    return first, kinds


def _series(names: Iterable[Any], places: NDArray[np.integer]) -> pl.Series:
    """The names at some places as a series of polars; null at -1."""
    import polars as pl

    written = [*map(str, names), None]
    return pl.Series(written, dtype=pl.String).gather(
        np.where(places < 0, len(written) - 1, places)
    )


def _keys(names: RowNames | None) -> dict[str, pl.Series]:
    """The column ``key`` of a result as a series, if its rows have names."""
    import polars as pl

    return {} if names is None else {"key": pl.Series(names.values.tolist(), dtype=pl.String)}


def _marks(marks: NDArray[Any]) -> pl.Series:
    """Marks as a series of booleans, null at -1."""
    import polars as pl

    return pl.Series(_MARKS.tolist()).gather(np.where(marks < 0, 2, marks))


def _numbers(numbers: NDArray[Any]) -> pl.Series:
    """Numbers as a series, null for NaN."""
    import polars as pl

    return pl.Series(numbers, nan_to_null=True)


def _texts(labels: Sequence[Any], places: NDArray[np.integer]) -> list[str | None]:
    """The labels at some places as texts; None at -1."""
    names = np.array([*map(str, labels), None], dtype=object)
    found: list[str | None] = names[places].tolist()
    return found
