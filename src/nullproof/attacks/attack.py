"""An attack: which cells to blank or rows to add, what that does, and what the table is then."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.locate import locate_cells
from nullproof.attacks.reach import Reach
from nullproof.counts.index import CountIndex
from nullproof.counts.update import Cells
from nullproof.data.edits import TrainingTable
from nullproof.data.keys import RowNames, key_at
from nullproof.data.points import Points
from nullproof.data.types import text
from nullproof.errors import NullproofError
from nullproof.model.model import Model
from nullproof.model.predict import log_supports, winners
from nullproof.model.verdicts import verdicts
from nullproof.model.witness import World, favouring
from nullproof.show import ROWS, shown_table
from nullproof.words import many

# A prediction still holds if it is the same in every world of at most this bias.
HOLDS = Fraction(1, 20)


class Effect(NamedTuple):
    """What an attack does to the points that were certain.

    Parameters
    ----------
    n_no_longer_certain
        How many are no longer certain.
    n_still_hold
        How many of these still hold: the same label as long as the missing cells resemble the known ones,
        within 5 percentage points.
    n_changed
        How many of these are predicted another label from the altered table.
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


@dataclass(frozen=True)
class Target:
    """One of the points and what becomes of it.

    ``radius`` is the fewest cells for this point alone, 0 if it was open before, infinite if no attack
    breaks it; ``rival`` the label that catches up with ``label``; ``codes`` the point, as in `Points`.
    A point whose radius (NaN) was ``not_worked_out``, for that reason, is left out of the attack.

    Examples
    --------
    >>> from nullproof import CountIndex, poison
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> target = poison(index, [("a", "x")]).targets[0]
    >>> target.label, target.rival, target.radius
    ('yes', 'no', 1.0)
    """

    point: int
    label: Any
    rival: Any
    radius: float
    codes: tuple[int, ...]
    not_worked_out: str | None = None

    @property
    def broken(self) -> bool:
        """Whether the point is certain before the attack and no longer certain after it."""
        return 0 < self.radius < math.inf


class _Answer:
    """What attacks by cells and by rows have in common."""

    model: Model
    lower_bound: int
    targets: tuple[Target, ...]
    names: RowNames | None

    @property
    def index(self) -> CountIndex:
        """The index of the table before the attack."""
        return self.model.index

    @property
    def index_after(self) -> CountIndex:
        """The index of the altered table, without counting it."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """How many cells are blanked, or rows added."""
        raise NotImplementedError

    @property
    def optimal(self) -> bool:
        """Whether it is proven that no attack is smaller."""
        return self.size == self.lower_bound

    @cached_property
    def effect(self) -> Effect:
        """What the attack does: how many points are no longer certain, still hold, or change."""
        broken = [target for target in self.targets if target.broken]
        if not broken:
            return Effect(0, 0, 0)
        codes = np.array([target.codes for target in broken], dtype=np.int32).T
        points = Points.without_holes(codes, self.index.n_values)
        labels = np.array([self.index.labels.index(target.label) for target in broken])
        after = self.model.on(self.index_after)
        holds = verdicts(after.biased(HOLDS), points).winner == labels
        changes = winners(after, points, log_supports(after, points)) != labels
        return Effect(len(broken), int(holds.sum()), int(changes.sum()))

    def _documents(self) -> dict[str, Any]:
        """Return the parts of the JSON form that both kinds of attacks have."""
        return {
            "lower_bound": self.lower_bound,
            "optimal": self.optimal,
            **self.effect._asdict(),
            "points": [
                {
                    "point": target.point,
                    **key_at(self.names, target.point),
                    "certain_before": target.label is not None,
                    "label": None if target.label is None else str(target.label),
                    "rival": None if target.rival is None else str(target.rival),
                    "not_worked_out": target.not_worked_out,
                }
                for target in self.targets
            ],
        }

    def _headline(self, done: str) -> str:
        bound = "optimal" if self.optimal else f"at least {self.lower_bound:,} are needed"
        points = many(sum(target.broken for target in self.targets), "certain point")
        verb = "makes" if self.size == 1 else "make"
        return f"{type(self).__name__}: {done} {verb} {points} no longer certain ({bound})"


@dataclass(frozen=True, repr=False, eq=False)
class Attack(_Answer):
    """Cells to blank so that no target is certain, and how good that is.

    Parameters
    ----------
    reach
        The cells that could be blanked.
    blanks
        How many cells of which label, feature and value.
    lower_bound
        Every attack on all targets needs at least this many cells; proven.
    targets
        What the attack does to each point.
    names
        The names of the points, if a key was given.

    Examples
    --------
    >>> from nullproof import CountIndex, poison
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> attack = poison(index, [("a", "x")])
    >>> attack.n_cells, attack.lower_bound, attack.optimal
    (1, 1, True)
    >>> attack.cells(rows, ["yes", "yes", "no", "no"])
    [(1, 'x1')]
    """

    model: Model
    reach: Reach
    blanks: tuple[Cells, ...]
    lower_bound: int
    targets: tuple[Target, ...]
    names: RowNames | None = None

    @property
    def n_cells(self) -> int:
        """How many cells are blanked."""
        return sum(blank.n_cells for blank in self.blanks)

    @property
    def size(self) -> int:
        """How many cells are blanked."""
        return self.n_cells

    @cached_property
    def index_after(self) -> CountIndex:
        """The index of the poisoned table, without counting it."""
        return self.index.blanked(self.blanks)

    def cells(self, table: Any, labels: Sequence[Any] | None = None) -> list[tuple[int, str]]:
        """Find real cells for the attack: (row position, column name), exactly ``n_cells`` of them.

        Parameters
        ----------
        table
            The table that was counted, or its rows.
        labels
            The labels of plain rows.
        """
        training = TrainingTable.open(self.index.schema, table, labels)
        found = [(row, self.index.features[j]) for j, row in self._places(training)]
        order = {name: j for j, name in enumerate(self.index.features)}
        return sorted(found, key=lambda cell: (cell[0], order[cell[1]]))

    def locate(
        self, table: Any, *, key: str | None = None, memory_limit: str | None = None
    ) -> list[tuple[Any, str]]:
        """Find cells as `cells` does, in a lazy table that is not collected: (key of the row, column name).

        Parameters
        ----------
        key
            A column that tells rows apart, since rows of a database have no order.
        memory_limit
            For files, as DuckDB writes it.
        """
        if self.reach.mask is not None:
            raise NullproofError(
                "the attack keeps to some rows, which a lazy table cannot tell; use attack.cells"
            )
        return locate_cells(
            self.index.schema, self.blanks, table, key=key, memory_limit=memory_limit
        )

    def document(
        self,
        cells: Iterable[tuple[Any, str]],
        named: Literal["row", "key"] = "row",
        rows: RowNames | None = None,
    ) -> dict[str, Any]:
        """The JSON form; ``cells`` are those that `cells` (``"row"``) or `locate` (``"key"``) found.

        ``rows`` are the names of the rows that `cells` found, if they have some.
        """
        return {
            "n_points": len(self.targets),
            "n_cells": self.n_cells,
            "cells": [
                {
                    named: name if isinstance(name, int | str) else text(name),
                    **key_at(rows, name),
                    "column": column,
                }
                for name, column in cells
            ],
            **self._documents(),
        }

    def apply(self, table: Any, labels: Sequence[Any] | None = None) -> Any:
        """Return the poisoned table, of the same type.

        Count it with ``like=attack.index``: blanked cells move the bins of numbers, and with those the
        points seem certain again.
        """
        attacked = [self.index.schema.features[sort.feature] for sort in self.blanks]
        as_value = [feature.name for feature in attacked if feature.missing_is_value]
        if as_value:
            raise NullproofError(
                f"the attack blanks cells of {as_value[0]!r}, where a blank is counted as a value "
                "(missing_is_value); name the columns that it may reach instead: only={'columns': …}"
            )
        training = TrainingTable.open(self.index.schema, table, labels)
        changes: dict[str, dict[int, Any]] = {}
        for j, row in self._places(training):
            changes.setdefault(self.index.features[j], {})[row] = None
        return training.changed(changes)

    def altered(self, table: Any, labels: Sequence[Any] | None = None) -> Any:
        """Return the table with missing cells filled and attacked cells *changed*, so that the rival wins.

        For an attack on one point. `altered_world` says whether the rival wins there or only ties.
        """
        poisoned = self.apply(table, labels)
        filled = self.altered_world.complete(poisoned, labels)
        if hasattr(table, "astype"):
            whole = {name: table[name].dtype for name in self.index.features}
            filled = filled.astype(whole)
        return filled

    @property
    def altered_world(self) -> World:
        """The world that `altered` makes; more than one winner means that only a tie is possible."""
        broken = [target for target in self.targets if target.broken]
        if len({target.codes for target in broken}) != 1:
            raise NullproofError(
                f"the attack has {len(broken)} targets, but one table can alter one prediction at "
                "a time; poison one certain point"
            )
        target = broken[0]
        after = self.model.on(self.index_after)
        rival = self.index.labels.index(target.rival)
        return favouring(after, (None,) * self.model.d, list(target.codes), rival)

    def _places(self, training: TrainingTable) -> Iterator[tuple[int, int]]:
        """Feature and row of every cell to blank: the first rows that fit."""
        for j in sorted({blank.feature for blank in self.blanks}):
            encoded, within = training.writer(j).encoded, self._within(training, j)
            for blank in (blank for blank in self.blanks if blank.feature == j):
                fits = (encoded.codes == blank.candidates[0]) & (within == blank.label)
                rows = np.flatnonzero(fits).tolist()
                if len(rows) < blank.n_cells:
                    name, value = self.index.features[j], _value(self.index, blank)
                    raise NullproofError(
                        f"the table has {len(rows)} cells with {value!r} in column {name!r} and label "
                        f"{self.index.labels[blank.label]!r}, but the attack blanks {blank.n_cells}; "
                        "give the table that was counted"
                    )
                yield from ((j, row) for row in rows[: blank.n_cells])

    def _within(self, training: TrainingTable, j: int) -> NDArray[np.int32]:
        """The labels of the rows whose cell of a feature is within reach, -1 for the others."""
        mask = self.reach.mask
        if mask is None:
            return training.row_labels
        if len(mask) != len(training.row_labels):
            raise NullproofError(
                f"the table has {len(training.row_labels):,} rows, but the attack was made for a "
                f"table of {len(mask):,}; give the table that was counted"
            )
        return np.where(mask[:, j], training.row_labels, -1)

    def _repr_html_(self) -> str:
        some = self.blanks[:ROWS]
        features = self.index.schema.features
        columns: dict[str, list[Any]] = {
            "cells": [b.n_cells for b in some],
            "column": [features[b.feature].name for b in some],
            "value": [_value(self.index, b) for b in some],
            "label": [str(self.index.labels[b.label]) for b in some],
        }
        return shown_table(repr(self), columns, len(self.blanks))

    def __repr__(self) -> str:
        return self._headline(many(self.n_cells, "blank cell"))


def _value(index: CountIndex, blank: Cells) -> str:
    return index.schema.features[blank.feature].values[blank.candidates[0]]


class AddedRows(NamedTuple):
    """Rows of one label that hold the same values, as codes, and how many of them are added."""

    label: int
    codes: tuple[int, ...]
    n_rows: int


@dataclass(frozen=True, repr=False, eq=False)
class RowAttack(_Answer):
    """Rows to add so that no target keeps its certain label, and how good that is.

    Parameters
    ----------
    added
        Which rows, and how many of each.
    lower_bound
        Every attack on all targets needs at least this many rows; proven.
    targets
        What the attack does to each point; its ``radius`` is in rows.

    Examples
    --------
    >>> from nullproof import CountIndex, poison
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> attack = poison(index, [("a", "x")], threat="rows")
    >>> attack
    RowAttack: 1 added row makes 1 certain point no longer certain (optimal)
    """

    model: Model
    added: tuple[AddedRows, ...]
    lower_bound: int
    targets: tuple[Target, ...]
    names: RowNames | None = None

    @property
    def n_rows(self) -> int:
        """How many rows are added."""
        return sum(own.n_rows for own in self.added)

    @property
    def size(self) -> int:
        """How many rows are added."""
        return self.n_rows

    @cached_property
    def index_after(self) -> CountIndex:
        """The index of the longer table, without counting it."""
        if not self.added:
            return self.index
        codes = np.array([own.codes for own in self.added], dtype=np.int64)
        labels = np.array([own.label for own in self.added], dtype=np.int64)
        n_rows = np.array([own.n_rows for own in self.added], dtype=np.int64)
        label_counts = self.index.label_counts.copy()
        np.add.at(label_counts, labels, n_rows)
        counted = zip(self.index.known, codes.T, strict=True)
        known = tuple(own.changed(column, labels, n_rows) for own, column in counted)
        return replace(self.index, label_counts=label_counts, known=known)

    def apply(self, table: Any, labels: Sequence[Any] | None = None) -> Any:
        """The longer table, of the same type; count it with ``like=`` the index before.

        Values are written as the table writes them, other columns are blank in the new rows. Of plain
        rows with their ``labels`` a pair comes back: the rows and the labels.
        """
        return TrainingTable.open(self.index.schema, table, labels).extended(self.rows())

    def rows(self) -> list[tuple[int, tuple[int, ...]]]:
        """Every added row: the position of its label, and its values as codes."""
        return [(own.label, own.codes) for own in self.added for _ in range(own.n_rows)]

    def values(self, own: AddedRows) -> dict[str, str]:
        """What added rows hold, column by column, in words."""
        pairs = zip(self.index.schema.features, own.codes, strict=True)
        return {feature.name: feature.values[code] for feature, code in pairs}

    def document(self) -> dict[str, Any]:
        """The JSON form; each kind of row stands once, with how many of it are added."""
        return {
            "n_points": len(self.targets),
            "threat": "rows",
            "n_rows": self.n_rows,
            "rows": [
                {
                    "label": str(self.index.labels[own.label]),
                    "n_rows": own.n_rows,
                    "values": self.values(own),
                }
                for own in self.added
            ],
            **self._documents(),
        }

    def _repr_html_(self) -> str:
        columns: dict[str, list[Any]] = {
            "rows": [own.n_rows for own in self.added[:ROWS]],
            "label": [str(self.index.labels[own.label]) for own in self.added[:ROWS]],
        }
        for name in self.index.features[:ROWS]:
            columns[name] = [self.values(own)[name] for own in self.added[:ROWS]]
        return shown_table(repr(self), columns, len(self.added))

    def __repr__(self) -> str:
        return self._headline(many(self.n_rows, "added row"))
