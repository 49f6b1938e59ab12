"""An attack: how many cells of which sort to blank, where they are, and what the table is then."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.locate import locate_cells
from nullproof.counts.index import CountIndex
from nullproof.counts.update import Cells
from nullproof.data.edits import TrainingTable
from nullproof.data.keys import RowNames, key_at
from nullproof.data.schema import Encoded
from nullproof.data.types import text
from nullproof.errors import NullproofError
from nullproof.model.model import Model
from nullproof.model.witness import World, favouring
from nullproof.radii.reach import Reach
from nullproof.show import ROWS, shown_table
from nullproof.words import many


@dataclass(frozen=True)
class Target:
    """One of the points and what becomes of it.

    ``radius`` is the fewest cells for this point alone, 0 if it was open before, infinite if no attack
    breaks it; ``rival`` the label that catches up with ``label``; ``codes`` the point, as in `Points`, or
    its weakest completion. A point whose radius (NaN) was ``not_worked_out``, for that reason, is
    left out of the attack.

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
        """Whether the attack changes what the point is: certain before, and not certain after."""
        return 0 < self.radius < math.inf


@dataclass(frozen=True, repr=False, eq=False)
class Attack:
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
    def index(self) -> CountIndex:
        """The index of the table before the attack."""
        return self.model.index

    @property
    def n_cells(self) -> int:
        """How many cells are blanked."""
        return sum(blank.n_cells for blank in self.blanks)

    @property
    def optimal(self) -> bool:
        """Whether it is proven that no attack needs fewer cells."""
        return self.n_cells == self.lower_bound

    @cached_property
    def index_after(self) -> CountIndex:
        """The index of the poisoned table, without counting again."""
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
            "lower_bound": self.lower_bound,
            "optimal": self.optimal,
            "cells": [
                {
                    named: name if isinstance(name, int | str) else text(name),
                    **key_at(rows, name),
                    "column": column,
                }
                for name, column in cells
            ],
            "points": target_documents(self.targets, self.names),
        }

    def apply(self, table: Any, labels: Sequence[Any] | None = None) -> Any:
        """The poisoned table, of the same type.

        Count it with ``like=attack.index``: blanked cells move the bins of numbers, and by those points
        seem certain again.
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
        """The table with its holes filled and the attacked cells *changed*, so that the rival is predicted.

        For an attack on one point. `altered_world` tells whether the rival wins there or only ties.
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
                rows = _fitting(encoded, blank, within)
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
        bound = "optimal" if self.optimal else f"at least {self.lower_bound:,} are needed"
        n_broken = sum(target.broken for target in self.targets)
        cells = (
            f"{self.n_cells:,} cell breaks"
            if self.n_cells == 1
            else f"{self.n_cells:,} cells break"
        )
        return f"Attack: {cells} {many(n_broken, 'certain point')} ({bound})"


def target_documents(targets: Iterable[Target], names: RowNames | None) -> list[dict[str, Any]]:
    """The JSON form of targets."""
    return [
        {
            "point": target.point,
            **key_at(names, target.point),
            "certain_before": target.label is not None,
            "label": None if target.label is None else str(target.label),
            "rival": None if target.rival is None else str(target.rival),
            "not_worked_out": target.not_worked_out,
        }
        for target in targets
    ]


def taken(sorts: Iterable[Cells], n_cells: int) -> Iterator[Cells]:
    """Take a number of cells from some sorts, one sort after the other."""
    for cells in sorts:
        own = min(n_cells, cells.n_cells)
        if own:
            yield replace(cells, n_cells=own)
            n_cells -= own
        if not n_cells:
            return


def _value(index: CountIndex, blank: Cells) -> str:
    values = index.schema.features[blank.feature].values
    return " or ".join(values[code] for code in blank.candidates)


def _fitting(encoded: Encoded, blank: Cells, row_labels: NDArray[np.int32]) -> list[int]:
    """The rows whose cell is of the sort that is blanked."""
    fits = encoded.codes == (blank.candidates[0] if len(blank.candidates) == 1 else -2)
    for row, candidates in encoded.sets.items():
        fits[row] = candidates == blank.candidates
    rows: list[int] = np.flatnonzero(fits & (row_labels == blank.label)).tolist()
    return rows
