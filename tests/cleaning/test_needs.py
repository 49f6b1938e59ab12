"""The fewest and the most cells that a point can need, against looking at all parts of all worlds.

``NULLPROOF_CLEANING_TABLES`` sets the number of random tables, ``NULLPROOF_SEED`` where they start.
"""

from __future__ import annotations

import math
import os
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.cleaning_oracle import Grid, fewest_by_counts, is_complete, small_case
from support.count_tables import first_point, index_from_counts
from support.counted import index_of, options_of
from support.strategies import Case

from nullproof import CountIndex, NullproofError, certify, cleaning_plan
from nullproof.cleaning import needs
from nullproof.cleaning import rivals as lowering
from nullproof.cleaning.needs import Cases, cases
from nullproof.model import Model
from nullproof.tables.points import OwnHoles
from nullproof.verdicts import verdicts

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
N_TABLES = int(os.environ.get("NULLPROOF_CLEANING_TABLES", "1600"))
SEED = int(os.environ.get("NULLPROOF_SEED", "20240604"))
N_CHUNKS = 8
READINGS: tuple[OwnHoles, OwnHoles] = ("any", "skip")
ALPHAS: tuple[Any, ...] = (0, 1, Fraction(1, 2), 0.1)


def assert_equals_oracle(case: Case, own_missing: OwnHoles) -> tuple[int, int]:
    """Compare every point of a case; return how many were open, and how many of them stuck."""
    index = index_of(case)
    options = {**options_of(case, index), "own_missing": own_missing}
    found = cases(index, list(case.points), **options)
    assert found.proven.all()
    certain = certify(index, list(case.points), **options).certain
    n_open = n_stuck = 0
    for position, point in enumerate(case.points):
        pair = found.best[position], found.worst[position]
        grid = Grid(case, point, own_missing)
        if certain[position]:
            assert pair == (0, 0)
        elif not is_complete(point, own_missing):
            assert np.isnan(pair).all()
        else:
            assert pair == (grid.best(), grid.worst()), (case, point)
            n_open, n_stuck = n_open + 1, n_stuck + math.isinf(pair[0])
            if math.isfinite(pair[1]):
                assert pair[1] == len(grid.mattering())
    return n_open, n_stuck


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_random_tables(chunk: int) -> None:
    """Best and worst case equal exhaustive search over cells, values and orders."""
    rng = random.Random(SEED + chunk)
    counts = [
        assert_equals_oracle(small_case(rng), READINGS[number % 2])
        for number in range(N_TABLES // N_CHUNKS)
    ]
    n_open, n_stuck = (sum(part) for part in zip(*counts, strict=True))
    assert n_open > n_stuck >= 0


# Middle-sized tables, where which features are filled wholly is a choice -----------------------------


def table_of(
    rng: np.random.Generator, low: Any, n_open: Any, n_rows: Any, n_values: int
) -> CountIndex:
    """Make an index where so many cells of a label and feature are, or may be, the first value."""
    columns = []
    for j in range(low.shape[1]):
        column = [
            np.concatenate(
                [
                    np.zeros(low[i, j]),
                    np.full(n_open[i, j], -1),
                    rng.integers(1, n_values, n_rows[i] - low[i, j] - n_open[i, j]),
                ]
            )
            for i in range(len(low))
        ]
        columns.append(np.concatenate(column))
    codes = np.stack(columns, axis=1).astype(np.int64)
    return CountIndex.from_codes(
        codes, np.repeat(np.arange(len(low)), n_rows), n_values=[n_values] * low.shape[1]
    )


class Middle:
    """A table of some dozens of rows, and the fewest cells that its point needs."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(SEED + seed)
        m, self.d = int(rng.integers(2, 4)), int(rng.integers(1, 5))
        n_rows = rng.integers(8, 40, m)
        n_open = np.minimum(rng.integers(0, rng.choice([4, 12, 25]), (m, self.d)), n_rows[:, None])
        low = rng.integers(0, np.minimum(n_rows[:, None] - n_open, 30) + 1)
        if seed % 5 == 0:
            low = np.minimum(low, 1)
        n_values = int(rng.integers(2, 5))
        self.index = table_of(rng, low, n_open, n_rows, n_values)
        self.alpha = ALPHAS[seed % 4]
        self.prior: Any = [None, "uniform", rng.integers(1, 9, m).tolist()][seed % 3]
        known: dict[str, Any] = {"None": n_rows.tolist(), "uniform": [1] * m}
        shares: Any = known.get(str(self.prior), self.prior)
        smooth = Fraction(self.alpha)
        weights = [
            Fraction(share) / (int(n) + smooth * n_values) ** self.d
            for share, n in zip(shares, n_rows, strict=True)
        ]
        self.best = fewest_by_counts(low.tolist(), (low + n_open).tolist(), smooth, weights)

    def found(self) -> Cases:
        point = np.zeros((1, self.d), dtype=np.int64)
        return cases(self.index, point, alpha=self.alpha, prior=self.prior)


@pytest.mark.parametrize("seed", range(150))
def test_middle_sized_tables(seed: int) -> None:
    """The best case equals dynamic programming over numbers of cells per feature, exactly."""
    table = Middle(seed)
    found = table.found()
    assert found.proven.all()
    assert found.best[0] == table.best


@pytest.mark.parametrize("n_branches", [1, 5, 30])
def test_searches_that_are_cut_short(n_branches: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not proven is never below the fewest cells nor above the most; what is, is exact."""
    monkeypatch.setattr(lowering.Effort, "left", n_branches)
    n_unproven = 0
    for seed in range(60):
        table = Middle(seed)
        found = table.found()
        n_unproven += not found.proven[0]
        assert found.best[0] >= table.best
        assert math.isinf(found.best[0]) == math.isinf(table.best)
        assert found.best[0] <= found.worst[0]
        assert not found.proven[0] or found.best[0] == table.best
    assert n_unproven


@pytest.mark.parametrize("alpha", [0, 1])
def test_ties_are_not_enough(alpha: int) -> None:
    """A rival that falls to the winner's own support, by other factors, must fall once more."""
    low = np.array([[4, 6], [2, 3]]) - alpha
    n_open = np.array([[0, 0], [7, 0]])
    index = table_of(np.random.default_rng(0), low, n_open, np.array([30, 30]), 2)
    found = cases(index, np.zeros((1, 2), dtype=np.int64), alpha=alpha)
    assert (found.best[0], found.worst[0]) == (2, 7)


# How it behaves -------------------------------------------------------------------------------------


ROWS: list[Any] = [("a", None), ("a", "x"), ("b", "y"), ("b", "x")]
LABELS = ["yes", "yes", "no", "no"]


def test_unseen_values_without_smoothing() -> None:
    """A value that no cell can hold leaves all supports zero: nothing makes the point certain."""
    index = CountIndex.from_rows(ROWS, LABELS)
    found = cases(index, [("c", "x")], alpha=0)
    assert (found.best[0], found.worst[0]) == (math.inf, math.inf)


def test_one_value_domains() -> None:
    """A hole that can hold only one value is no choice, so it never counts."""
    rows: list[Any] = [(None, "x"), ("a", None), ("a", "y"), (None, "x")]
    index = CountIndex.from_rows(rows, ["A", "A", "B", "B"])
    found = cases(index, [("a", "x"), ("a", "y")], alpha=1)
    assert found.worst.tolist() == [1, 1]
    assert found.best.tolist() == [1, 1]


def test_candidates_without_the_value() -> None:
    """A cell whose candidates leave out the point's value does not matter to it."""
    rows: list[Any] = [(frozenset("bc"),), (None,), ("a",), ("b",), ("c",)]
    index = CountIndex.from_rows(rows, ["A", "A", "A", "B", "B"])
    assert cases(index, [("b",)], alpha=0).worst.tolist() == [2]
    assert cases(index, [("a",)], alpha=0).worst.tolist() == [0]


def test_incomplete_points() -> None:
    """Incomplete points have no such numbers, unless they are certain."""
    index = CountIndex.from_rows(ROWS, LABELS)
    found = cases(index, [(None, "x"), ("b", None)], alpha=1, own_missing="any")
    assert np.isnan([found.best[0], found.worst[0]]).all()
    assert (found.best[1], found.worst[1]) == (0, 0)


def test_no_points() -> None:
    """No points, no numbers."""
    index = CountIndex.from_rows(ROWS, LABELS)
    found = cases(index, np.empty((0, 2), dtype=np.int64), alpha=0)
    assert found.best.shape == found.worst.shape == (0,)


def test_numbers_beyond_floats_are_refused() -> None:
    """Bounds by logarithms need numbers that doubles can hold."""
    index = CountIndex.from_rows(ROWS, LABELS)
    with pytest.raises(NullproofError, match="give numbers between 1e-150 and 1e150"):
        cases(index, [("a", "x")], alpha=Fraction(1, 10**400))


def test_a_search_without_effort_left_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels of equal size tie at every mix of cells; not all of them are tried one by one."""
    index = replace(
        index_from_counts([3000, 3000], [[(500, 400), (900, 1000)]]),
        n_null=np.array([[1600, 1600]], dtype=np.int64),
    )
    model, points, tried = Model(index, 1, "uniform"), first_point(index), []
    raised = needs._Winner._raised

    def noted(winner: Any, n_steps: int) -> list[int]:
        tried.append(n_steps)
        return raised(winner, n_steps)

    monkeypatch.setattr(needs._Winner, "_raised", noted)
    found = needs.cases_of(model, points, verdicts(model, points), effort=40)
    assert (found.best[0], found.proven[0]) == (1501, False)
    assert len(tried) < 100
    # Of 1,501 cells of the first label, or of both, that many and no fewer are enough.
    assert model.exceeds(0, [500 + 1501], 1, [2000])
    assert not model.exceeds(0, [500 + 1500], 1, [2000])


def test_more_open_cells_than_memory_holds_are_told() -> None:
    """Each cell of a label would be a number in memory; beyond 20 million a reason stands instead."""
    for n_open, is_told in ((1000, False), (20_000_001, True), (10**12, True)):
        index = replace(
            index_from_counts([n_open + 9, n_open + 9], [[(5, 1), (4, 8)]]),
            n_null=np.array([[n_open, n_open]], dtype=np.int64),
        )
        found = cases(index, [("0",)])[0]
        assert math.isnan(found.best) == math.isnan(found.worst) == is_told
        told = f"a label has {n_open:,} open cells there, more than 20,000,000"
        assert found.not_worked_out == (told if is_told else None)
        for bias in (1, 0.5):
            plan = cleaning_plan(index, [("0",)], bias=bias)
            assert (plan.typical_cases == "") == is_told
            assert all(step.n_cells == n_open for step in plan.steps)
