"""An attack: which cells to blank or rows to add, its effect, and the altered table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.radius import Radii
from nullproof.attacks.rows import AddedRows, with_rows
from nullproof.counts.engines import open_lazily
from nullproof.counts.engines.columns import Key, LazyTable, collected, like_key
from nullproof.counts.fields import Cells
from nullproof.counts.index import CountIndex
from nullproof.data.edits import TrainingTable
from nullproof.data.labels import label_codes, label_positions
from nullproof.data.missing import NOTHING_SPELLED
from nullproof.data.points import RowNames, key_at
from nullproof.data.schema import Feature, Schema, encode
from nullproof.data.types import text
from nullproof.errors import NullproofError
from nullproof.model.model import Model
from nullproof.model.predict import winners
from nullproof.model.verdicts import HOLDS, verdicts
from nullproof.model.witness import World, favouring
from nullproof.results.pictures import ROWS, shown_table
from nullproof.words import cut, many

# The name of row positions, if rows have no key.
_ROW = "nullproof row"
# How many columns of an added row people see.
_SHOWN_COLUMNS = 6


class Effect(NamedTuple):
    """What an attack does to the points that were certain.

    ``n_still_hold`` of the points that are no longer certain still hold: the same label as long as the
    missing cells resemble the known ones, within 5 percentage points. The altered table predicts another
    label for ``n_changed``.
    """

    n_no_longer_certain: int
    n_still_hold: int
    n_changed: int

    def __str__(self) -> str:
        return (
            f"no longer certain: {self.n_no_longer_certain:,}; of these still hold, the same label as long "
            "as the missing cells resemble the known ones, within 5 percentage points: "
            f"{self.n_still_hold:,}; predicted another label from the altered table: {self.n_changed:,}"
        )


@dataclass(frozen=True, repr=False, eq=False)
class Attack:
    """Cells to blank, or rows to add, so that no target keeps its certain label, with a lower bound.

    Parameters
    ----------
    targets
        The radius of each point alone, and the rival that catches up in this attack.
    lower_bound
        A proven lower bound on the cells or rows of every attack on all targets.
    blanks
        The cells to blank: how many of which label, feature and value.
    added
        The rows to add, and how many of each.

    Examples
    --------
    >>> from nullproof import CountIndex, poison
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> attack = poison(index, [("a", "x")])
    >>> attack.n_cells, attack.lower_bound, attack.optimal
    (1, 1, True)
    >>> attack.cells(rows, ["yes", "yes", "no", "no"])
    [(0, 'x0')]
    >>> attack.targets[0].label, attack.targets[0].rival
    ('yes', 'no')
    >>> poison(index, [("a", "x")], threat="rows")
    Attack: 1 added row makes 1 certain point no longer certain (optimal)
    """

    targets: Radii
    lower_bound: int
    blanks: tuple[Cells, ...] = ()
    added: tuple[AddedRows, ...] = ()

    @property
    def model(self) -> Model:
        """The index before the attack, with the smoothing and the prior."""
        return self.targets.model

    @property
    def index(self) -> CountIndex:
        """The index of the table before the attack."""
        return self.model.index

    @cached_property
    def index_after(self) -> CountIndex:
        """The index of the altered table, without counting it."""
        return with_rows(self.index.blanked(self.blanks), self.added)

    @property
    def n_cells(self) -> int:
        """How many cells are blanked."""
        return sum(blank.n_cells for blank in self.blanks)

    @property
    def n_rows(self) -> int:
        """How many rows are added."""
        return sum(own.n_rows for own in self.added)

    @property
    def optimal(self) -> bool:
        """Whether no attack is smaller, proven."""
        return self.n_cells + self.n_rows == self.lower_bound

    @cached_property
    def effect(self) -> Effect:
        """The effect of the attack: how many points are no longer certain, still hold, or change."""
        broken = self.targets.take(self.targets.broken)
        if not len(broken):
            return Effect(0, 0, 0)
        after = self.model.on(self.index_after)
        holds = verdicts(after.biased(Fraction(HOLDS)), broken.points).winner == broken.winner
        predicted = winners(after, broken.points)
        changes = predicted != broken.winner
        return Effect(len(broken), int(holds.sum()), int(changes.sum()))

    def cells(self, table: Any, labels: Sequence[Any] | None = None) -> list[tuple[int, str]]:
        """Find real cells for the attack: (row position, column name), exactly ``n_cells`` of them.

        Parameters
        ----------
        table
            The table that was counted, or its rows.
        labels
            The labels of plain rows.
        """
        places = self._places(TrainingTable.open(self.index.schema, table, labels))
        return [(row, self.index.features[j]) for row, j in sorted((row, j) for j, row in places)]

    def locate(
        self, table: Any, *, key: str | None = None, memory_limit: str | None = None
    ) -> list[tuple[Any, str]]:
        """Find cells as `cells` does, in a lazy table that is not collected: (key of the row, column name).

        Parameters
        ----------
        key
            A column that identifies the rows, since rows of a database have no order.
        memory_limit
            For files, as DuckDB writes it.
        """
        if self.targets.reach.mask is not None:
            raise NullproofError(
                "the attack is limited to some rows, which a lazy table cannot identify; use attack.cells"
            )
        schema = self.index.schema
        with open_lazily(table, schema.label_name, schema.missing, schema, memory_limit) as lazy:
            if lazy is None:
                raise NullproofError(
                    f"{type(table).__name__} is not a lazy table; use attack.cells"
                )
            lazy, key = _numbered(lazy, key)
            found = _found(schema, self.blanks, lazy, key)
        for number, blank in enumerate(self.blanks):
            n_rows = len({row for row, place in found if place == number})
            if n_rows < blank.n_cells:
                self._refuse_other_table(blank, n_rows, key)
        return sorted(
            (row, self.index.features[self.blanks[number].feature]) for row, number in found
        )

    def rows(self) -> list[tuple[int, tuple[int, ...]]]:
        """Return every added row: the position of its label, and its values as codes."""
        return [(own.label, own.codes) for own in self.added for _ in range(own.n_rows)]

    def values(self, own: AddedRows) -> dict[str, str]:
        """Return the values of added rows as texts, by column."""
        pairs = zip(self.index.schema.features, own.codes, strict=True)
        return {feature.name: feature.values[code] for feature, code in pairs}

    def document(
        self,
        cells: Iterable[tuple[Any, str]] = (),
        named: Literal["row", "key"] = "row",
        rows: RowNames | None = None,
    ) -> dict[str, Any]:
        """Return the JSON form; each kind of added row appears once, with its number.

        ``cells`` are those that `cells` (``"row"``) or `locate` (``"key"``) found, ``rows`` the names of
        the rows that `cells` found, if they have some.
        """
        changes: dict[str, Any]
        if self.targets.threat == "rows":
            kinds = [
                {
                    "label": str(self.index.labels[own.label]),
                    "n_rows": own.n_rows,
                    "values": self.values(own),
                }
                for own in self.added
            ]
            changes = {"threat": "rows", "n_rows": self.n_rows, "rows": kinds}
        else:
            listed = [
                {
                    named: name if isinstance(name, int | str) else text(name),
                    **key_at(rows, name),
                    "column": column,
                }
                for name, column in cells
            ]
            changes = {"n_cells": self.n_cells, "cells": listed}
        kept = ("point", "key", "label", "rival", "not_worked_out")
        return {
            "n_points": len(self.targets),
            **changes,
            "lower_bound": self.lower_bound,
            "optimal": self.optimal,
            **self.effect._asdict(),
            "points": [
                {name: row[name] for name in kept if name in row}
                | {"certain_before": row["label"] is not None}
                for row in self.targets.rows()
            ],
        }

    def apply(self, table: Any, labels: Sequence[Any] | None = None) -> Any:
        """Return the poisoned table, of the same type.

        Count it with ``like=attack.index``: blanked cells and added rows move the bins of numbers, which
        may make the points seem certain again. Values of added rows are written as in the table; other
        columns are blank in them. With added rows, plain rows and their ``labels`` are returned as a pair.
        """
        features = self.index.schema.features
        attacked = [features[blank.feature] for blank in self.blanks]
        as_value = [feature.name for feature in attacked if feature.missing_is_value]
        if as_value:
            raise NullproofError(
                f"the attack blanks cells of {as_value[0]!r}, where a blank counts as a value "
                "(missing_is_value); restrict the attack to other columns: only={'columns': …}"
            )
        training = TrainingTable.open(self.index.schema, table, labels)
        if self.targets.threat == "rows":
            return training.extended(self.rows())
        changes: dict[str, dict[int, Any]] = {}
        for j, row in self._places(training):
            changes.setdefault(features[j].name, {})[row] = None
        return training.changed(changes)

    def altered(self, table: Any, labels: Sequence[Any] | None = None) -> Any:
        """Return the table with missing cells filled and attacked cells *changed* so that the rival wins.

        For an attack on one point. `altered_world` says whether the rival wins there or only ties.
        """
        filled = self.altered_world.complete(self.apply(table, labels), labels)
        if hasattr(table, "astype"):
            filled = filled.astype({name: table[name].dtype for name in self.index.features})
        return filled

    @property
    def altered_world(self) -> World:
        """The world that `altered` makes; several winners mean that only a tie is possible."""
        if self.added:
            raise NullproofError(
                "the attack adds rows and alters no cell; apply returns the table with these rows"
            )
        broken = self.targets.take(self.targets.broken)
        if len(np.unique(broken.points.codes, axis=1).T) != 1:
            raise NullproofError(
                f"the attack has {len(broken)} targets, but one table can alter one prediction at "
                "a time; poison one certain point"
            )
        codes, rival = broken.points.codes[:, 0].tolist(), int(broken.overtaker[0])
        return favouring(self.model.on(self.index_after), (None,) * self.model.d, codes, rival)

    def _places(self, training: TrainingTable) -> Iterator[tuple[int, int]]:
        """Yield feature and row of every cell to blank: the first matching rows."""
        mask, labels = self.targets.reach.mask, training.row_labels
        if mask is not None and len(mask) != len(labels):
            raise NullproofError(
                f"the table has {len(labels):,} rows, but the attack was made for a table of "
                f"{len(mask):,}; give the table that was counted"
            )
        for j in sorted({blank.feature for blank in self.blanks}):
            codes = training.writer(j).encoded.codes
            within = labels if mask is None else np.where(mask[:, j], labels, -1)
            for blank in (blank for blank in self.blanks if blank.feature == j):
                fits = (codes == blank.candidates[0]) & (within == blank.label)
                rows = np.flatnonzero(fits).tolist()
                if len(rows) < blank.n_cells:
                    self._refuse_other_table(blank, len(rows))
                yield from ((j, row) for row in rows[: blank.n_cells])

    def _refuse_other_table(self, blank: Cells, n_rows: int, key: str | None = None) -> None:
        """Raise an error: a table has too few matching cells; ``key`` identifies its rows."""
        told = f", identified by {key!r}" if key else ""
        unique = " and a key with unique values" if key else ""
        raise NullproofError(
            f"the table has {n_rows} cells with {self._value(blank)!r} in column "
            f"{self.index.features[blank.feature]!r} and label {self.index.labels[blank.label]!r}"
            f"{told}, but the attack blanks {blank.n_cells}; give the table that was counted{unique}"
        )

    def _value(self, blank: Cells) -> str:
        return self.index.schema.features[blank.feature].values[blank.candidates[0]]

    def shown_rows(self, most: int) -> tuple[dict[str, list[Any]], int]:
        """Return the blanked cells or added rows for display, by heading, and the number of lines."""
        schema, columns = self.index.schema, dict[str, list[Any]]()
        if self.targets.threat == "cells":
            blanks = sorted(self.blanks, key=lambda blank: -blank.n_cells)[:most]
            columns["cells"] = [blank.n_cells for blank in blanks]
            columns["column"] = [self.index.features[blank.feature] for blank in blanks]
            columns["value"] = [self._value(blank) for blank in blanks]
            columns["label"] = [str(schema.labels[blank.label]) for blank in blanks]
            return columns, len(self.blanks)
        added = sorted(self.added, key=lambda own: -own.n_rows)[:most]
        columns["rows to add"] = [own.n_rows for own in added]
        columns[schema.label_name] = [str(schema.labels[own.label]) for own in added]
        values = [self.values(own) for own in added]
        for name in self.index.features[:_SHOWN_COLUMNS]:
            columns[name] = [cut(row[name], 20) for row in values]
        n_more = len(self.index.features) - _SHOWN_COLUMNS
        if n_more > 0:
            columns[f"{n_more} more columns"] = ["…" for _ in added]
        return columns, len(self.added)

    def _repr_html_(self) -> str:
        return shown_table(repr(self), *self.shown_rows(ROWS))

    def __repr__(self) -> str:
        size = self.n_cells + self.n_rows
        what = {"cells": "blank cell", "rows": "added row"}[self.targets.threat]
        bound = "optimal" if self.optimal else f"at least {self.lower_bound:,} are needed"
        points = many(len(self.targets.broken), "certain point")
        verb = "makes" if size == 1 else "make"
        return f"Attack: {many(size, what)} {verb} {points} no longer certain ({bound})"


# Lazy tables ----------------------------------------------------------------------------------------


def _numbered(table: LazyTable, key: str | None) -> tuple[LazyTable, str]:
    if key is not None:
        table.refuse_unknown(key)
        return table, key
    if not table.frame.implementation.is_polars():
        raise NullproofError(
            "the rows of this table have no order; name a column that identifies them: key="
        )
    frame = nw.from_native(table.frame.to_native().with_row_index(_ROW))
    return replace(table, frame=frame), _ROW


def _found(
    schema: Schema, sorts: Sequence[Cells], table: LazyTable, key: str
) -> list[tuple[Any, int]]:
    """Return the key and the kind of every cell, in one query."""
    label = table.column(table.label)
    written = collected(table.frame.select(label.label.alias("label")).unique())["label"]
    column = label.read(written, NOTHING_SPELLED)
    is_known = np.asarray(column.known)
    places, names = label_codes(column.rows(np.flatnonzero(is_known)))
    labels = _by_code(written.filter(is_known.tolist()), label_positions(schema, names)[places])
    values = {j: _values_of(schema.features[j], table) for j in {sort.feature for sort in sorts}}
    parts = []
    for number, sort in enumerate(sorts):
        grouped, by_code = values[sort.feature]
        fits = (
            grouped.only
            & grouped.value.is_in(by_code.get(sort.candidates[0], []))
            & label.label.is_in(labels.get(sort.label, []))
        )
        rows = table.frame.filter(fits).select(nw.col(key).alias("row")).sort("row")
        parts.append(
            rows.head(sort.n_cells).with_columns(nw.lit(number).cast(nw.Int32).alias("sort"))
        )
    return [*collected(nw.concat(parts)).iter_rows()] if parts else []


def _values_of(feature: Feature, table: LazyTable) -> tuple[Key, dict[int, list[Any]]]:
    """Return the grouping of a column, and the values of each code."""
    key = like_key(feature, table.like(feature))
    if key.in_cells:
        return key, {code: [bin_] for code, bin_ in enumerate(feature.bins)}
    cells = table.frame.filter(key.only).select(key.value.alias("value"))
    values = collected(cells.unique())["value"]
    return key, _by_code(values, encode(feature, key.column.read(values)).codes)


def _by_code(values: Any, codes: NDArray[Any]) -> dict[int, list[Any]]:
    """Return the engine's values by code."""
    return {code: values.filter((codes == code).tolist()).to_list() for code in {*codes.tolist()}}
