"""Any table in, columns in one common form out: files, data frames of every library, arrays, rows."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.errors import NullproofError, explained
from nullproof.tables.columns import Column
from nullproof.tables.contents import AS_IT_IS, FileOptions, Stamp, stamp
from nullproof.tables.formats import FileTable, file_blocks, read_file
from nullproof.tables.glimpse import nulled_texts
from nullproof.tables.kinds import (
    column_of_cells,
    date_column,
    number_column,
    read_column,
    read_series,
)
from nullproof.tables.schema import Feature, Schema
from nullproof.tables.series import ticks_of, unmasked
from nullproof.tables.spellings import NOTHING_SPELLED, USUAL, Spellings
from nullproof.tables.writings import Writings
from nullproof.words import some


@dataclass(frozen=True)
class Table:
    """A table of any origin whose columns are read one at a time.

    ``source`` is the data frame behind it, if there is one, of narwhals or, as it is, of pandas.
    ``spellings`` of missing are those that it was opened with; ``nulled`` tells those of a text file
    that its reader turned into nulls, by column, ``writings`` how a file wrote the numbers and dates of
    some columns. ``part`` gives a table of some of its rows, as if there were no others; ``places`` is
    where the rows of such a part stand in the table that they are taken from. ``stamp`` tells whether
    the file was changed since.
    """

    names: tuple[str, ...]
    n_rows: int
    read: Callable[[str, Spellings], Column]
    source: Any = None
    spellings: Spellings = USUAL
    nulled: Callable[[], Mapping[str, Collection[str]]] = dict
    part: Callable[[NDArray[np.intp]], Table] | None = None
    writings: Writings = field(default_factory=dict)
    places: NDArray[np.intp] | None = None
    stamp: Stamp | None = None

    @cached_property
    def frame(self) -> nw.DataFrame[Any] | None:
        """The data frame behind it; narwhals takes longer to begin than to read a few rows of pandas."""
        return None if self.source is None else nw.from_native(self.source, pass_through=True)

    @property
    def coded(self) -> frozenset[str]:
        """The columns that pandas holds as codes: to read one is no work that a core could take over."""
        if self.source is None or isinstance(self.source, nw.DataFrame):
            return frozenset()
        kinds = zip(self.names, self.source.dtypes.tolist(), strict=True)
        return frozenset(name for name, kind in kinds if hasattr(kind, "categories"))

    def renamed(self, names: Sequence[str]) -> Table:
        """The same columns under other names."""
        if tuple(names) == self.names:
            return self
        places = dict(zip(names, self.names, strict=True))

        def read(name: str, spellings: Spellings) -> Column:
            return replace(self.read(places[name], spellings), name=name)

        return replace(self, names=tuple(names), read=read)

    def column(self, name: str, declared: Iterable[str] = ()) -> Column:
        """Read one column to learn from, with its declared values."""
        return self._read(name, self.spellings.declaring(declared))

    def labels(self, name: str) -> Column:
        """Read a column of labels."""
        return self._read(name, self.spellings.of_labels)

    def like(self, feature: Feature) -> Column:
        """Read the column of a feature learned before."""
        return self._read(feature.name, self.spellings.known(feature.kind, feature.domain))

    def _read(self, name: str, spellings: Spellings) -> Column:
        """Read one column, or say which names there are."""
        if name not in self.names:
            raise no_such_column(name, self.names)
        return self.read(name, spellings)


def no_such_column(name: str, names: Sequence[str]) -> NullproofError:
    """The error for a column that a table does not have, with the names that come close."""
    close = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
    named = [repr(near) for near in close or names[:10]] or ["no columns"]
    hint = f"did you mean {' or '.join(named)}?" if close else f"it has {', '.join(named)}"
    return NullproofError(f"there is no column {name!r} in the table; {hint}")


def refuse_unknown(wanted: Iterable[str], names: Collection[str], option: str) -> None:
    """Refuse an option that names a column the table does not have."""
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise NullproofError(
            f"{option} names the column {unknown[0]!r}, which is not among {some(names, 20)}"
        )


def open_table(
    source: Any,
    *,
    missing: Collection[str] | Spellings = (),
    as_text: Collection[str] = (),
    file: FileOptions = AS_IT_IS,
    like: Writings | None = None,
) -> Table:
    """Open a path (``file`` and ``like`` as `read_file` has them), a data frame, an array or a mapping.

    Parameters
    ----------
    missing
        Spellings of missing besides the usual ones and null, None, NaN, NA and NaT, compared after
        trimming.
    as_text
        Columns that a text file must not turn into numbers.
    """
    spelled = missing if isinstance(missing, Spellings) else Spellings.of(missing)
    if not isinstance(source, str | Path):
        file.refuse(f"a {type(source).__name__}")
    if isinstance(source, np.ndarray):
        return _from_array(unmasked(source), spelled)
    if isinstance(source, Mapping):
        return _from_mapping(source, spelled)
    if not isinstance(source, str | Path):
        return _from_file(FileTable(source), spelled, as_text)
    before = stamp(source)
    found = read_file(source, spellings=spelled, as_text=as_text, options=file, like=like)
    table = replace(_from_file(found, spelled, as_text), stamp=before)
    if not found.from_text:
        return table
    return replace(table, nulled=partial(nulled_texts, source, found.frame, spelled))


@dataclass(frozen=True)
class Blocks:
    """A table that comes in blocks of rows: its columns, and a way to go through the blocks.

    Each block is a table with at least the ``wanted`` columns, and comes with the share of all rows that
    are read then.
    """

    names: tuple[str, ...]
    tables: Callable[[Collection[str]], Iterator[tuple[Table, float]]]

    @classmethod
    def of(cls, table: Table) -> Blocks:
        """A table that is in memory, as one block."""
        return cls(table.names, lambda _: iter([(table, 1.0)]))


def open_blocks(
    path: str | Path,
    *,
    missing: Spellings,
    as_text: Collection[str],
    file: FileOptions,
    like: Writings,
) -> Blocks:
    """Open a file to be read in blocks; parameters as `open_table` has them."""
    found = file_blocks(path, spellings=missing, as_text=as_text, options=file, like=like)

    def tables(wanted: Collection[str]) -> Iterator[tuple[Table, float]]:
        for block, share in found.read(wanted):
            yield _from_file(block, missing, as_text), share

    return Blocks(found.names, tables)


def _from_file(found: FileTable, spellings: Spellings, as_text: Collection[str]) -> Table:
    """A data frame of any library; where it comes from a text file, texts may stand for numbers."""

    def read(frame: Any, name: str, spelled: Spellings) -> Column:
        if found.from_text:
            spelled = spelled.in_files
        return read_column(frame, name, spelled, retype=found.from_text and name not in as_text)

    table = _from_frame(_named(found.frame), read, spellings)
    return replace(table, writings=found.writings) if found.writings else table


def _from_frame(
    frame: Any, read: Callable[[Any, str, Spellings], Column], spellings: Spellings
) -> Table:
    """A table of a frame of narwhals, or of pandas."""

    def part(rows: NDArray[np.intp]) -> Table:
        return _from_frame(nw.from_native(frame, pass_through=True)[rows.tolist()], read, spellings)

    names = frame.columns if isinstance(frame, nw.DataFrame) else frame.columns.tolist()
    return Table(tuple(names), len(frame), partial(read, frame), frame, spellings, part=part)


def open_rows(
    rows: Sequence[Any], names: Sequence[str], *, missing: Collection[str] | Spellings = ()
) -> Table:
    """Open plain rows (tuples, lists or mappings), whose cells may be sets of candidates."""
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for position, row in enumerate(rows):
        if isinstance(row, Mapping):
            lacking = [name for name in names if name not in row]
            if lacking:
                raise NullproofError(
                    f"row {position} has no value for {lacking[0]!r}; "
                    "give one value per feature, or None where it is not known"
                )
            row = [row[name] for name in names]
        if isinstance(row, str) or not hasattr(row, "__len__"):
            raise NullproofError(
                f"row {position} is {row!r}; give a tuple with one value per feature"
            )
        if len(row) != len(names):
            raise NullproofError(
                f"row {position} has {len(row)} values but there are {len(names)} features; "
                "give one value per feature, in the order of index.features"
            )
        for name, cell in zip(names, row, strict=True):
            columns[name].append(cell)
    spelled = missing if isinstance(missing, Spellings) else Spellings.of(missing)
    table = _from_mapping(columns, spelled)
    return replace(table, n_rows=len(rows))


def rows_like(schema: Schema, rows: Sequence[Any]) -> Table:
    """Open plain rows of a schema learned before, with or without the columns that it left out."""
    first = rows[0] if len(rows) else ()
    width = len(first) if hasattr(first, "__len__") and not isinstance(first, Mapping) else 0
    return open_rows(rows, schema.row_columns(width), missing=schema.spellings)


def _named(source: Any) -> Any:
    """A frame of pandas whose names are texts, each for one column; of every other library, of narwhals."""
    if nw.dependencies.is_pandas_dataframe(source):
        names = source.columns.tolist()
        if not all(isinstance(name, str) for name in names):
            # pandas numbers the columns of an array.
            source = source.set_axis([str(name) for name in names], axis="columns")
        if source.columns.is_unique:
            return source
    return _narwhals(source)


def _narwhals(source: Any) -> nw.DataFrame[Any]:
    try:
        frame: nw.DataFrame[Any] | nw.LazyFrame[Any] = nw.from_native(source)
    except TypeError:
        raise NullproofError(
            f"{type(source).__name__} is not a table; give a data frame of pandas, polars, "
            "pyarrow or DuckDB, or the path of a file"
        ) from None
    except nw.exceptions.DuplicateError as problem:
        named = " ".join(str(problem).split()).rpartition("- ")[2]
        raise NullproofError(
            f"the table has a column name twice ({named}); give each column its own name"
        ) from None
    if isinstance(frame, nw.LazyFrame):
        with explained(frame.implementation.name):
            return frame.collect("polars")
    return frame


def _from_array(array: NDArray[Any], spellings: Spellings) -> Table:
    if array.ndim != 2:
        raise NullproofError(
            f"the array has {array.ndim} dimensions; give two: one row per point, "
            "one column per feature"
        )
    names = tuple(f"x{j}" for j in range(array.shape[1]))

    def read(name: str, spelled: Spellings) -> Column:
        return _array_column(name, array[:, int(name[1:])], spelled)

    def part(rows: NDArray[np.intp]) -> Table:
        return _from_array(array[rows], spellings)

    return Table(names, len(array), read, spellings=spellings, part=part)


def _array_column(name: str, array: NDArray[Any], spellings: Spellings) -> Column:
    if array.dtype.kind in "iuf":
        return number_column(name, array, spellings)
    if array.dtype.kind in "mM":
        moments = ticks_of(array)
        if array.dtype.kind == "m":
            return Column(name, "number", numbers=moments)
        return date_column(name, moments, spellings)
    return column_of_cells(name, array.tolist(), spellings)


def _from_mapping(source: Mapping[Any, Any], spellings: Spellings) -> Table:
    columns = {str(name): _plain_cells(cells) for name, cells in source.items()}
    lengths = {len(cells) for cells in columns.values()}
    if len(lengths) > 1:
        raise NullproofError("the columns differ in length; give one cell per row in each")

    def read(name: str, spelled: Spellings) -> Column:
        cells = columns[name]
        if isinstance(cells, np.ndarray):
            return _array_column(name, cells, spelled)
        if isinstance(cells, nw.Series):
            return read_series(cells.alias(name), spelled, retype=False)
        return column_of_cells(name, list(cells), spelled)

    def part(rows: NDArray[np.intp]) -> Table:
        return _from_mapping({name: _at(cells, rows) for name, cells in columns.items()}, spellings)

    n_rows = lengths.pop() if lengths else 0
    return Table(tuple(columns), n_rows, read, spellings=spellings, part=part)


def _plain_cells(cells: Any) -> Any:
    """The cells of a column: a plain array, a series of narwhals, or what they are."""
    if isinstance(cells, np.ndarray):
        return unmasked(cells)
    if nw.dependencies.is_into_series(cells):
        return nw.from_native(cells, series_only=True)
    return cells.to_pylist() if hasattr(cells, "to_pylist") else cells


def _at(cells: Any, rows: NDArray[np.intp]) -> Any:
    if isinstance(cells, np.ndarray):
        return cells[rows]
    if isinstance(cells, nw.Series):
        return cells[rows.tolist()]
    held = list(cells)
    return [held[row] for row in rows.tolist()]


def labels_apart(labels: Any, spellings: Spellings = NOTHING_SPELLED) -> Column:
    """Read labels that came without a table: each is a label, unless its spelling was named."""
    named = replace(spellings, usual=False) if spellings.usual else spellings
    if isinstance(labels, np.ndarray):
        labels = unmasked(labels)
        if labels.ndim == 1 and labels.dtype.kind in "iu":
            return number_column("label", labels, named)
    return open_table({"label": labels}, missing=named).labels("label")
