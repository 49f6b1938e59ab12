"""An attack by added rows: which rows, how many of each, and the longer table (T13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nullproof.attacks.attack import Target, target_documents
from nullproof.counts.index import CountIndex
from nullproof.data.edits import TrainingTable
from nullproof.data.keys import RowNames
from nullproof.model.model import Model
from nullproof.show import ROWS, shown_table
from nullproof.words import many


class AddedRows(NamedTuple):
    """Rows of one label that hold the same values, as codes, and how many of them are added."""

    label: int
    codes: tuple[int, ...]
    n_rows: int


@dataclass(frozen=True, repr=False, eq=False)
class RowAttack:
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
    RowAttack: 1 added row breaks 1 certain point (optimal)
    """

    model: Model
    added: tuple[AddedRows, ...]
    lower_bound: int
    targets: tuple[Target, ...]
    names: RowNames | None = None

    @property
    def index(self) -> CountIndex:
        """The index of the table before the attack."""
        return self.model.index

    @property
    def n_rows(self) -> int:
        """How many rows are added."""
        return sum(own.n_rows for own in self.added)

    @property
    def optimal(self) -> bool:
        """Whether it is proven that no attack needs fewer rows."""
        return self.n_rows == self.lower_bound

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
            "lower_bound": self.lower_bound,
            "optimal": self.optimal,
            "rows": [
                {
                    "label": str(self.index.labels[own.label]),
                    "n_rows": own.n_rows,
                    "values": self.values(own),
                }
                for own in self.added
            ],
            "points": target_documents(self.targets, self.names),
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
        bound = "optimal" if self.optimal else f"at least {self.lower_bound:,} are needed"
        n_broken = sum(target.broken for target in self.targets)
        verb = "breaks" if self.n_rows == 1 else "break"
        rows = many(self.n_rows, "added row")
        return f"RowAttack: {rows} {verb} {many(n_broken, 'certain point')} ({bound})"
