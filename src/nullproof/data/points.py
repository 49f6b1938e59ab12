"""The rows to predict: their names, and their cells as codes of an index's features."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.data.options import AS_USUAL
from nullproof.data.schema import Schema, encode, n_outside
from nullproof.data.sources import Reading, Table, no_such_column, open_table, rows_like
from nullproof.data.types import is_missing, text
from nullproof.errors import NullproofError, notice
from nullproof.words import cut, many, some

# The names of the rows: a key column, or one name per row.

Key = str | Iterable[Any]
_UNNAMED = "key"


@dataclass(frozen=True, eq=False)
class RowNames:
    """The names of some rows as text, None for a row without one, and the column that they come from.

    The column is ``"key"`` if the names were given one by one.
    """

    column: str
    values: NDArray[np.object_]

    def take(self, places: NDArray[np.intp]) -> RowNames:
        """Return the names of some of the rows."""
        return RowNames(self.column, self.values[places])


def shown_name(names: RowNames | None, place: int) -> str:
    """Return how messages refer to a row: by its name, else by its position (``#12`` beside names)."""
    if names is None:
        return str(place)
    return f"#{place}" if names.values[place] is None else str(names.values[place])


def key_at(names: RowNames | None, place: int) -> dict[str, Any]:
    """Return the entry ``key`` of one row in a JSON form, if the rows have names."""
    return {} if names is None else {"key": names.values[place]}


def place_of(written: str, names: RowNames | None, n_rows: int, option: str) -> int:
    """Find a row by its name if the rows have names, else by its position from 0.

    ``option`` is the name of the option in messages.
    """
    if names is None:
        if written.isascii() and written.isdigit() and int(written) < n_rows:
            return int(written)
        there = f"from 0 to {n_rows - 1:,}" if n_rows else "but there are no points"
        raise NullproofError(f"{option} is {cut(written)!r}; give the position of a point, {there}")
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
    """Reject a key that is a feature or the label of the index."""
    if not isinstance(key, str):
        return
    if key == schema.label_name:
        raise NullproofError(
            f"{option} is {key!r}, the label; give a column with a different name for each row"
        )
    if key in schema.position:
        raise NullproofError(
            f"{option} is {key!r}, which the index counts as a feature; count the table again without it "
            f'(ignore=["{key}"], or --key when it is counted)'
        )


def row_names(key: Key, frame: nw.DataFrame[Any] | None, rows: Any, n_rows: int) -> RowNames:
    """Return the names of the rows of a data frame, or of plain rows."""
    if not isinstance(key, Iterable):
        raise NullproofError(f"key is {key!r}; give the name of a column, or one name per point")
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


# Points as codes.

Kind = Literal["known", "unseen", "skipped", "missing", "candidates"]
OwnMissing = Literal["skip", "any"]
# Cells turned from rows into columns at a time, so that they fit into the cache.
_CELLS = 1 << 17
# Up to this many values, looking up which codes occur is faster than sorting.
_MANY_CODES = 1 << 12
# A large odd number, so that points with the same weighted sum of codes hardly ever differ.
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
# The codes after those of the values; the number of values is added to each.
_UNSEEN, _SKIPPED, _MISSING, _FIRST_SET = range(4)


@dataclass(frozen=True)
class Points:
    """Points as codes, one row of ``codes`` per feature.

    A code below ``n_values`` is a value of the domain. The codes after these mean, in this order: a
    value outside the domain, a missing cell that is left out (`read`), one that may hold any value, and
    then the candidate sets ``sets[feature]``, one by one. ``source`` or ``rows`` are what they were read
    from, ``n_outside`` counts per feature the points with a number beyond the outer edges of
    its bins, and ``names`` are their own names, if a key was given.
    """

    codes: NDArray[np.int32]
    n_values: NDArray[np.int64]
    sets: tuple[tuple[tuple[int, ...], ...], ...]
    single: bool = False
    source: Any = None
    own_missing: OwnMissing = "any"
    rows: Any = None
    n_outside: tuple[int, ...] = ()
    names: RowNames | None = None

    @classmethod
    def without_holes(cls, codes: NDArray[np.int32], n_values: NDArray[np.int64]) -> Points:
        """Return points with one value for every feature."""
        return cls(codes, n_values, ((),) * len(n_values))

    def __len__(self) -> int:
        return int(self.codes.shape[1])

    @cached_property
    def frame(self) -> nw.DataFrame[Any] | None:
        """The data frame that they were read from, if it was one."""
        return None if self.source is None else nw.from_native(self.source, eager_only=True)

    def read(self, own_missing: OwnMissing) -> Points:
        """Return the points with their own missing cells read in one of two ways (theory 9).

        ``"skip"``: an unknown feature is left out; ``"any"``: it may hold any value.
        """
        refuse_reading(own_missing)
        before, after = (_MISSING, _SKIPPED) if own_missing == "skip" else (_SKIPPED, _MISSING)
        codes, gone = self.codes, self.codes == self._sizes + before
        if gone.any():
            codes = np.where(gone, self._sizes + after, codes)
        elif self.own_missing == own_missing:
            return self
        return replace(self, codes=codes, own_missing=own_missing)

    @cached_property
    def _sizes(self) -> NDArray[np.int32]:
        """The number of values of each feature, of the type of the codes and beside them."""
        return self.n_values.astype(np.int32)[:, None]

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Which points have one value for every feature that is not left out."""
        return np.asarray(~self.holes.any(axis=0))

    @property
    def unseen(self) -> NDArray[np.bool_]:
        """Features × points: cells with a value outside the domain."""
        return np.asarray(self.codes == self._sizes)

    @property
    def n_unseen(self) -> NDArray[np.int64]:
        """Per feature: how many points have a value outside the domain."""
        return np.array([np.count_nonzero(cells) for cells in self.unseen], dtype=np.int64)

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Features × points: cells without any value, whether left out or read as any value."""
        first = self._sizes + _SKIPPED
        return np.asarray((self.codes >= first) & (self.codes < first + 2))

    @property
    def holes(self) -> NDArray[np.bool_]:
        """Features × points: cells with more than one candidate; those left out have none."""
        return np.asarray(self.codes > self._sizes + _SKIPPED)

    @cached_property
    def n_own_missing(self) -> NDArray[np.int64]:
        """Per point: its cells without a known value, left out or not."""
        return np.asarray((self.codes > self._sizes).sum(axis=0))

    def take(self, positions: NDArray[np.intp]) -> Points:
        """Return some of the points."""
        names = None if self.names is None else self.names.take(positions)
        codes = self.codes.take(positions, axis=1)
        return replace(
            self, codes=codes, source=None, rows=None, n_outside=(), single=False, names=names
        )

    def take_whole(self, positions: NDArray[np.intp]) -> Points:
        """Return some of the points, each with its own cells."""
        rows: Any = None
        if self.frame is not None:
            rows = self.frame[positions.tolist()].rows(named=True)
        elif self.rows is not None:
            rows = [self.rows[place] for place in positions.tolist()]
        return replace(self.take(positions), rows=rows)

    def own(self, j: int, name: str, position: int) -> Any:
        """Return a cell as given in the point; None if it is no longer known."""
        if self.frame is not None:
            return self.frame[name][position]
        if self.rows is None:
            return None
        row = self.rows[position]
        return row[name] if isinstance(row, Mapping) else row[j]

    def used(self, j: int) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
        """Return the codes that occur in feature ``j``, and where each point's code is among them."""
        own = self.codes[j]
        if self.n_values[j] > _MANY_CODES:
            codes, places = np.unique(own, return_inverse=True)
            return codes, places
        held = np.bincount(own) > 0
        return np.flatnonzero(held).astype(np.int32), (np.cumsum(held) - 1)[own]

    def kind(self, j: int, code: int) -> Kind:
        """Return what a code of feature ``j`` means."""
        meanings: tuple[Kind, ...] = ("known", "unseen", "skipped", "missing", "candidates")
        return meanings[min(max(code - int(self.n_values[j]) + 1, 0), 4)]

    def candidates(self, j: int, code: int) -> tuple[int, ...]:
        """Return the codes that feature ``j`` may have where the point has ``code``."""
        n_values = int(self.n_values[j])
        if code <= n_values + _SKIPPED:
            return (code,)
        if code == n_values + _MISSING:
            return tuple(range(n_values))
        return self.sets[j][code - n_values - _FIRST_SET]

    def choices(self, position: int) -> list[tuple[int, ...]]:
        """Return the candidates of one point, feature by feature."""
        column = self.codes[:, position].tolist()
        return [self.candidates(j, code) for j, code in enumerate(column)]


def refuse_reading(own_missing: Any, option: str = "own_missing") -> None:
    """Reject a value of own_missing that is neither 'skip' nor 'any'."""
    if not isinstance(own_missing, str) or own_missing not in ("skip", "any"):
        raise NullproofError(
            f"{option} is {own_missing!r}; give 'skip' (predict from the known cells of a point) "
            "or 'any' (whatever its missing cells hold)"
        )


def evenly(places: NDArray[np.intp], n_wanted: int) -> NDArray[np.intp]:
    """Pick ``n_wanted`` places at even distances, or all if there are not more."""
    if len(places) <= n_wanted:
        return places
    picked: NDArray[np.intp] = places[np.arange(n_wanted) * len(places) // n_wanted]
    return picked


def distinct(codes: NDArray[np.integer]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where each distinct point (features × points) comes first, and which of these each one is."""
    keys = np.zeros(codes.shape[1], dtype=np.uint64)
    for row in codes:
        keys *= _FACTOR
        keys += row.astype(np.uint64)
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    if not np.array_equal(codes.take(first, axis=1).take(which, axis=1), codes):
        _, first, which = np.unique(codes, axis=1, return_index=True, return_inverse=True)
    return first, which.ravel()


def encode_points(
    schema: Schema, points: Any, *, smoothed: bool = True, key: Key | None = None
) -> Points:
    """Encode a table, an array, rows, or one point, and warn about values that training never shows.

    `Points` are returned unchanged, without a second warning. The warning depends on whether counts are
    ``smoothed``. ``key`` names the points.
    """
    refuse_key(schema, key)
    encoded = encode_quietly(schema, points, key if isinstance(key, str) else None)
    if encoded is not points:
        for line in unseen_notices(schema, encoded, smoothed=smoothed):
            notice(line)
    if key is None:
        return encoded
    return replace(encoded, names=row_names(key, encoded.frame, encoded.rows, len(encoded)))


def encode_quietly(schema: Schema, points: Any, key: str | None = None) -> Points:
    """Encode a table, an array, rows, or one point (a tuple, a mapping or a series).

    The column ``key`` of a file, which names the rows, stays as it is written.
    """
    if isinstance(points, Points):
        return points
    if _is_series(points):
        points = points.to_dict()
    if isinstance(points, list | tuple) and points and _is_series(points[0]):
        points = [own.to_dict() if _is_series(own) else own for own in points]
    if isinstance(points, np.ndarray) and _are_codes(schema, points):
        return _from_codes(schema, np.asarray(points))
    single = _is_one(points)
    points = [points] if single else points
    table = _table(schema, points, key)
    codes = np.empty((len(schema.features), table.n_rows), dtype=np.int32)
    all_sets: list[tuple[tuple[int, ...], ...]] = []
    outside = []
    for j, feature in enumerate(schema.features):
        column = table.like(feature)
        encoded = encode(feature, column)
        codes[j] = encoded.codes
        if encoded.codes.min(initial=0) < 0:
            codes[j, encoded.codes < 0] = feature.n_values + _MISSING
        places: dict[tuple[int, ...], int] = {}
        for row, candidates in encoded.sets.items():
            place = places.setdefault(candidates, len(places))
            codes[j, row] = feature.n_values + _FIRST_SET + place
        all_sets.append(tuple(places))
        outside.append(n_outside(feature, column))
    return Points(
        codes,
        schema.n_values,
        tuple(all_sets),
        single,
        table.source,
        rows=_own_rows(schema, points, table),
        n_outside=tuple(outside),
    )


def _own_rows(schema: Schema, points: Any, table: Table) -> Any:
    """Return the rows that points were read from, one cell per feature; None if they were no rows."""
    if not isinstance(points, list | tuple | np.ndarray):
        return None
    if len(table.names) == len(schema.features):
        return points
    places = [table.names.index(feature.name) for feature in schema.features]
    return [row if isinstance(row, Mapping) else [row[j] for j in places] for row in points]


def _are_codes(schema: Schema, array: NDArray[Any]) -> bool:
    plain = array.dtype.kind == "i" and not isinstance(array, np.ma.MaskedArray)
    return plain and all(feature.kind == "code" for feature in schema.features)


def _from_codes(schema: Schema, array: NDArray[Any]) -> Points:
    """Take over codes block by block, which turns rows into columns within the cache."""
    if array.ndim != 2 or array.shape[1] != len(schema.features):
        raise _wrong_shape(array, schema)
    codes = np.empty(array.shape[::-1], dtype=np.int32)
    sizes = schema.n_values[:, None]
    step = max(1, _CELLS // len(sizes))
    for start in range(0, len(array), step):
        block = array[start : start + step].T
        own = np.where(block < 0, sizes + _MISSING, np.minimum(block, sizes))
        codes[:, start : start + step] = own
    return Points.without_holes(codes, schema.n_values)


def _wrong_shape(array: NDArray[Any], schema: Schema) -> NullproofError:
    return NullproofError(
        f"the points have shape {array.shape} but the index has {len(schema.features)} features; "
        "give one row per point and one column per feature"
    )


def _is_one(points: Any) -> bool:
    if isinstance(points, Mapping):
        return True
    if not isinstance(points, tuple | list):
        return False
    nested = (Mapping, tuple, list, np.ndarray)
    return bool(points) and not all(isinstance(x, nested) and getattr(x, "ndim", 1) for x in points)


def _is_series(points: Any) -> bool:
    """Return whether something is a row of a pandas frame."""
    return hasattr(points, "to_dict") and getattr(points, "ndim", 2) == 1


def _table(schema: Schema, points: Any, key: str | None) -> Table:
    if isinstance(points, list | tuple):
        return rows_like(schema, points)
    if isinstance(points, np.ndarray):
        columns = schema.row_columns(points.shape[1]) if points.ndim == 2 else ()
        if points.ndim != 2 or points.shape[1] != len(columns):
            raise _wrong_shape(points, schema)
        return open_table(points, Reading(schema.missing)).renamed(columns)
    table = AS_USUAL.open(points, None, schema, key)
    names = [feature.name for feature in schema.features]
    lacking = [name for name in names if name not in table.columns]
    if lacking:
        raise NullproofError(
            f"the points lack {len(lacking)} of the {len(names)} features: {some(map(repr, lacking), 3)}; "
            "add the column, empty where it is not known"
        )
    return table


def unseen_notices(schema: Schema, points: Points, *, smoothed: bool) -> Iterator[str]:
    """Warn about values of the points that never occur in the training data, or lie beyond its range."""
    if unseen := _named(schema, points.n_unseen):
        follows = (
            "for every label they count as values of no row"
            if smoothed
            else "without smoothing (alpha = 0) every label ties at zero there"
        )
        yield f"points hold values that never occur in the training table in {unseen}; {follows}"
    if outside := _named(schema, points.n_outside):
        yield (
            f"points lie outside the range of the training table in {outside}; they count in the bins at "
            "its ends"
        )


def _named(schema: Schema, counts: Sequence[int] | NDArray[np.int64]) -> str:
    """Name the features that have some cells, with how many."""
    places = np.flatnonzero(counts).tolist()
    return some([f"{cut(schema.features[j].name)!r} ({counts[j]})" for j in places], 5)
