"""Tables that are counted where they are, and how they are opened and read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals as nw

from nullproof.counts.engines.duckdb_files import Nulled, duckdb_files, is_many
from nullproof.counts.engines.keys import (
    LazyColumn,
    lazy_column,
)
from nullproof.errors import NullproofError
from nullproof.tables.columns import Column
from nullproof.tables.options import stay_text
from nullproof.tables.readers import Table
from nullproof.tables.schema import Feature, Schema
from nullproof.tables.spellings import USUAL, Spellings
from nullproof.tables.writings import Writings


def as_lazy(table: Any) -> nw.LazyFrame[Any] | None:
    """The table as a lazy narwhals frame; None if its library is not lazy."""
    if isinstance(table, Table):
        # narwhals would look through everything installed for somebody who knows such a table.
        return None
    if nw.dependencies.is_pandas_dataframe(table) or nw.dependencies.is_polars_dataframe(table):
        return None
    try:
        frame = nw.from_native(table, pass_through=True)
    except nw.exceptions.DuplicateError:
        return None
    return frame if isinstance(frame, nw.LazyFrame) else None


@dataclass(frozen=True)
class LazyTable:
    """A lazy table and how it is to be read; ``nulled`` and ``writings`` as for `Table`."""

    frame: nw.LazyFrame[Any]
    label: str
    spellings: Spellings = USUAL
    from_text: bool = False
    nulled: Nulled = dict
    writings: Writings = field(default_factory=dict)

    @cached_property
    def schema(self) -> nw.Schema:
        try:
            return self.frame.collect_schema()
        except (TypeError, ValueError) as problem:
            # Categories that are no texts, decimals with a negative scale.
            raise NullproofError(
                f"a column has a type that cannot be counted ({problem}); cast it to text, numbers or "
                "dates there"
            ) from problem

    @property
    def header(self) -> Table:
        """A table with the same columns and no rows, which refuses wrong names as any table does."""
        return Table(tuple(self.schema), 0, lambda name, _: Column(name, "category"))

    def column(self, name: str, declared: Iterable[str] = ()) -> LazyColumn:
        """A column to learn from, with its declared values."""
        self.header.column(name)
        return lazy_column(self.frame, name, self.schema[name], self.spellings.declaring(declared))

    def like(self, feature: Feature) -> LazyColumn:
        """The column of a feature learned before."""
        known = self.spellings.known(feature.kind, feature.domain)
        return replace(self.column(feature.name), spellings=known)


@contextmanager
def open_lazily(
    table: Any,
    label: str,
    spellings: Spellings,
    like: Schema | None = None,
    memory_limit: str | None = None,
) -> Iterator[LazyTable | None]:
    """Open a table that is to be counted where it is; None if it is an ordinary one."""
    if isinstance(table, str | Path):
        if memory_limit is None and not is_many(table):
            yield None
            return
        kept = stay_text(label, like)
        written = None if like is None else dict(like.writings)
        with duckdb_files(
            table, spellings=spellings, as_text=kept, like=written, memory_limit=memory_limit
        ) as files:
            frame = nw.from_native(files.relation)
            yield LazyTable(frame, label, spellings, files.from_text, files.nulled, files.writings)
        return
    frame = as_lazy(table)
    yield None if frame is None else LazyTable(frame, label, spellings)
