"""An index after any order of changes is the index of the table as it then is.

``NULLPROOF_STEPS`` sets how many orders are tried.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from nullproof import CountIndex
from nullproof.counts.revise import Cells
from nullproof.errors import NullproofError

# The last column has one value, so its missing cells are no choice.
DOMAINS = {"colour": ("blue", "green", "red"), "size": ("l", "m", "s", "xl"), "same": ("x",)}
LABELS = ("no", "yes")
NAMES = [*DOMAINS]
Cell = str | frozenset[str] | None
Row = tuple[Cell, ...]


def cells_of(name: str) -> st.SearchStrategy[Cell]:
    values = DOMAINS[name]
    some: st.SearchStrategy[Cell] = st.sampled_from(values) | st.none()
    if len(values) > 2:
        some |= st.sets(st.sampled_from(values), min_size=2, max_size=len(values) - 1).map(
            frozenset
        )
    return some


ROWS = st.lists(
    st.tuples(st.tuples(*map(cells_of, NAMES)), st.sampled_from(LABELS)), min_size=1, max_size=3
)


class IndexSteps(RuleBasedStateMachine):
    """The rows as plain tuples beside the index that was only ever changed."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[Row, str]] = []

    def counted(self, rows: list[tuple[Row, str]]) -> CountIndex:
        cells, labels = zip(*rows, strict=True)
        return CountIndex.from_rows(cells, labels, like=self.empty)

    @initialize(rows=ROWS)
    def start(self, rows: list[tuple[Row, str]]) -> None:
        both = [((None,) * len(NAMES), label) for label in LABELS]
        self.rows = [*both, *rows]
        cells, labels = zip(*self.rows, strict=True)
        self.index = self.empty = CountIndex.from_rows(
            cells, labels, features=NAMES, domains=DOMAINS
        )

    @rule(rows=ROWS)
    def update(self, rows: list[tuple[Row, str]]) -> None:
        cells, labels = zip(*rows, strict=True)
        self.index = self.index.update([*cells], [*labels])
        self.rows += rows

    @rule(rows=ROWS)
    def add(self, rows: list[tuple[Row, str]]) -> None:
        self.index = self.index + self.counted(rows)
        self.rows += rows

    @precondition(lambda self: self.rows)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        row, label = self.rows.pop(data.draw(st.integers(0, len(self.rows) - 1)))
        self.index = self.index.remove([row], [label])

    @rule(rows=ROWS)
    def remove_what_is_not_there(self, rows: list[tuple[Row, str]]) -> None:
        held = Counter(self._cells())
        row, label = rows[0]
        if all(held[label, name, cell] for name, cell in zip(NAMES, row, strict=True)):
            return
        with pytest.raises(NullproofError, match="is not counted with that label"):
            self.index.remove([row], [label])

    @precondition(lambda self: self._holes())
    @rule(data=st.data())
    def fill(self, data: st.DataObject) -> None:
        place, j = data.draw(st.sampled_from(self._holes()))
        row, label = self.rows[place]
        before = row[j]
        values = sorted(before) if isinstance(before, frozenset) else [*DOMAINS[NAMES[j]]]
        after = data.draw(st.sampled_from(values))
        self.index = self.index.fill(NAMES[j], after, label, candidates=before)
        self._change(place, j, after)

    @rule(label=st.sampled_from(LABELS), name=st.sampled_from(NAMES))
    def fill_more_than_there_are(self, label: str, name: str) -> None:
        there = Counter(self._cells())[label, name, None]
        with pytest.raises(NullproofError, match="fill no more than there are"):
            self.index.fill(name, DOMAINS[name][0], label, n_cells=there + 1)

    @precondition(lambda self: self._known())
    @rule(data=st.data())
    def blank(self, data: st.DataObject) -> None:
        place, j = data.draw(st.sampled_from(self._known()))
        self.index = self.index.blanked([self._sort(place, j, 1)])
        self._change(place, j, None)

    @precondition(lambda self: self._known())
    @rule(data=st.data())
    def blank_more_than_there_are(self, data: st.DataObject) -> None:
        place, j = data.draw(st.sampled_from(self._known()))
        row, label = self.rows[place]
        there = Counter(self._cells())[label, NAMES[j], row[j]]
        with pytest.raises(NullproofError, match="blank no more than are counted"):
            self.index.blanked([self._sort(place, j, there + 1)])

    @rule()
    def save_and_load(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "i.index"
            self.index.save(path)
            self.index = CountIndex.load(path)

    @invariant()
    def is_counted_again(self) -> None:
        if not hasattr(self, "index"):
            return
        assert self.index.n_rows == len(self.rows)
        if self.rows:
            assert self.index == self.counted(self.rows)
        found = Counter(self._cells())
        for j, (name, values) in enumerate(DOMAINS.items()):
            low, high = self.index.low(j), self.index.high(j)
            for v, value in enumerate(values):
                for i, label in enumerate(LABELS):
                    own = {
                        cell: n for (at, of, cell), n in found.items() if (at, of) == (label, name)
                    }
                    forced = own.get(value, 0) + (own.get(None, 0) if len(values) == 1 else 0)
                    may = sum(n for cell, n in own.items() if _may_hold(cell, value))
                    assert (low[v, i], high[v, i]) == (forced, may)

    def _cells(self) -> list[tuple[str, str, Cell]]:
        return [
            (label, name, cell)
            for row, label in self.rows
            for name, cell in zip(NAMES, row, strict=True)
        ]

    def _holes(self) -> list[tuple[int, int]]:
        return [
            (place, j)
            for place, (row, _) in enumerate(self.rows)
            for j, cell in enumerate(row)
            if not isinstance(cell, str)
        ]

    def _known(self) -> list[tuple[int, int]]:
        return [
            (place, j)
            for place, (row, _) in enumerate(self.rows)
            for j, cell in enumerate(row)
            if cell is not None
        ]

    def _sort(self, place: int, j: int, n_cells: int) -> Cells:
        row, label = self.rows[place]
        cell: Any = row[j]
        held = [cell] if isinstance(cell, str) else [*cell]
        codes = tuple(sorted(DOMAINS[NAMES[j]].index(value) for value in held))
        return Cells(LABELS.index(label), j, codes, n_cells)

    def _change(self, place: int, j: int, cell: Cell) -> None:
        row, label = self.rows[place]
        self.rows[place] = ((*row[:j], cell, *row[j + 1 :]), label)


def _may_hold(cell: Cell, value: str) -> bool:
    return cell is None or value == cell or (isinstance(cell, frozenset) and value in cell)


TestIndexSteps = IndexSteps.TestCase
TestIndexSteps.settings = settings(
    max_examples=int(os.environ.get("NULLPROOF_STEPS", "20")), stateful_step_count=25, deadline=None
)
