"""A cleaner after any order of answers says what a fresh one says of the table with these answers in it.

``NULLPROOF_STEPS`` sets how many orders are tried.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from nullproof import CountIndex, certify
from nullproof.cleaning import Cell, Cleaner
from nullproof.cleaning.holes import Which
from nullproof.errors import NullproofError

DOMAINS = {"colour": ("blue", "red"), "size": ("l", "m", "s")}
NAMES = [*DOMAINS]
ROW = st.tuples(*(st.sampled_from((*values, None)) for values in DOMAINS.values()))
TABLES = st.lists(st.tuples(ROW, st.sampled_from(("no", "yes"))), min_size=3, max_size=10)
HOLES = ("skip", "any")


class CleanerSteps(RuleBasedStateMachine):
    """The two tables as lists beside a cleaner that only ever took answers."""

    @initialize(
        table=TABLES,
        points=st.lists(ROW, min_size=1, max_size=4),
        own_missing=st.sampled_from(HOLES),
        bias=st.sampled_from((1.0, 0.25)),
    )
    def start(self, table: Any, points: Any, own_missing: Any, bias: float) -> None:
        both = [(("blue", "l"), "no"), (("red", "s"), "yes")]
        rows, labels = zip(*both, *table, strict=True)
        self.rows, self.labels, self.at = [*rows], [*labels], [*points]
        self.original = self.rows[:], self.at[:]
        self.options = {"own_missing": own_missing, "bias": bias}
        self.index = CountIndex.from_rows(rows, labels, features=NAMES, domains=DOMAINS)
        self.cleaner = self._fresh(*self.original)

    def _fresh(self, rows: Any, points: Any) -> Cleaner:
        index = CountIndex.from_rows(rows, self.labels, like=self.index)
        return Cleaner(index, points, rows, self.labels, **self.options)

    @precondition(lambda self: self._holes())
    @rule(data=st.data(), as_text=st.booleans())
    def answer(self, data: st.DataObject, as_text: bool) -> None:
        chosen = data.draw(
            st.lists(st.sampled_from(self._holes()), min_size=1, max_size=3, unique=True)
        )
        answers = {cell: data.draw(st.sampled_from(DOMAINS[cell.column])) for cell in chosen}
        (self.cleaner.answer if as_text else self.cleaner.fill)(answers)
        for cell, value in answers.items():
            self._change(cell, value)

    @precondition(lambda self: self._holes())
    @rule(data=st.data(), odd=st.sampled_from(("purple", "?", "", 3)))
    def one_bad_answer_spoils_all(self, data: st.DataObject, odd: Any) -> None:
        first = data.draw(st.sampled_from(self._holes()))
        answers = {cell: DOMAINS[cell.column][0] for cell in self._holes()}
        with pytest.raises(NullproofError):
            self.cleaner.fill({**answers, first: odd})

    @precondition(lambda self: self.cleaner.filled)
    @rule(data=st.data())
    def no_second_answer(self, data: st.DataObject) -> None:
        cell = data.draw(st.sampled_from([*self.cleaner.filled]))
        with pytest.raises(NullproofError, match="has an answer already"):
            self.cleaner.fill({cell: DOMAINS[cell.column][0]})

    @rule()
    def save_and_resume(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "answers.json"
            self.cleaner.save(path)
            again = self._fresh(*self.original)
            again.resume(path)
        assert again.filled == self.cleaner.filled
        self.cleaner = again

    @rule(n_cells=st.integers(1, 9))
    def proposed(self, n_cells: int) -> None:
        found = self.cleaner.next(n_cells)
        assert len({*found}) == len(found) <= n_cells
        assert {*found} <= {*self._holes()}

    @invariant()
    def is_as_fresh(self) -> None:
        if not hasattr(self, "cleaner"):
            return
        fresh = self._fresh(self.rows, self.at)
        assert self.cleaner.index == fresh.index
        assert np.array_equal(self.cleaner.certain, fresh.certain)
        assert np.array_equal(self.cleaner.done, fresh.done)
        assert self.cleaner.finished == fresh.finished
        assert [*self.cleaner.complete()] == self.rows
        told = certify(fresh.index, self.at, **self.options)
        assert np.array_equal(self.cleaner.certificates.possible, told.possible)
        assert np.array_equal(self.cleaner.certain, told.certain)

    def _holes(self) -> list[Cell]:
        return [
            Cell(place, name, which)
            for which in get_args(Which)
            for place, row in enumerate(self.rows if which == "training" else self.at)
            for name, cell in zip(NAMES, row, strict=True)
            if cell is None
        ]

    def _change(self, cell: Cell, value: str) -> None:
        rows = self.rows if cell.table == "training" else self.at
        j = NAMES.index(cell.column)
        rows[cell.row] = (*rows[cell.row][:j], value, *rows[cell.row][j + 1 :])


TestCleanerSteps = CleanerSteps.TestCase
TestCleanerSteps.settings = settings(
    max_examples=int(os.environ.get("NULLPROOF_STEPS", "20")), stateful_step_count=8, deadline=None
)
