"""cleaning_plan: which missing cells to look up first, held to what it promises."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.amounts import n_tables, seeded
from support.cleaning_oracle import TIE, Grid, cleaning_case, random_truth, with_values
from support.counted import index_of, options_of
from support.refusing import refuses
from support.strategies import Case, holes

from nullproof import CountIndex, certify, cleaning_plan
from nullproof.cleaning import CleaningPlan

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")

N_TABLES = n_tables(200)
N_DRAWS = 32  # what is expected is at least as good as an average of so many draws


def plan_of(case: Case, **options: Any) -> tuple[CountIndex, CleaningPlan]:
    """Count a case's table, and plan for its points."""
    index = index_of(case)
    plan = cleaning_plan(index, list(case.points), **options_of(case, index), **options)
    return index, plan


def planned(case: Case, plan: CleaningPlan) -> list[tuple[int, int]]:
    """List the cells of a plan as row and feature number."""
    cells = plan.cells(case.rows, list(case.labels))
    return [(cell.row, case.features.index(cell.column)) for cell in cells]


def some_bias(case: Case, rng: random.Random) -> Any:
    """Draw a bias of any kind."""
    named = {rng.choice(case.features): rng.choice([0, 0.5, 1]), "*": rng.choice([0, 0.1])}
    return rng.choice([1.0, 0, 0.05, 0.2, 0.4, named])


# Laws ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", range(2))
def test_cells_budget_and_done(chunk: int) -> None:
    """Planned cells are missing and count, none comes twice, the budget is kept; done is certify's."""
    rng = seeded("budget", chunk)
    for _ in range(max(N_TABLES // 4, 20)):
        case = cleaning_case(rng)
        bias = some_bias(case, rng)
        index, whole = plan_of(case, bias=bias)
        for budget in (None, 1, rng.choice((2, 3)), 100):
            _, plan = (index, whole) if budget is None else plan_of(case, bias=bias, budget=budget)
            cells = planned(case, plan)
            assert {*cells} <= {*holes(case)}
            assert all(case.weights is None or case.weights[j] for _, j in cells)
            assert len({*cells}) == len(cells) == plan.n_cells
            assert plan.n_cells == min(budget or whole.n_cells, whole.n_cells)
        found = certify(index, list(case.points), bias=bias, **options_of(case, index))
        assert whole.done.tolist() == found.certain.tolist(), (case, bias)
        assert (whole.n_done, whole.n_points) == (found.certain.sum(), len(case.points))
        assert not whole.done.all() or not whole.steps


@pytest.mark.parametrize("chunk", range(2))
def test_end_of_a_plan(chunk: int) -> None:
    """Filled with any values, a whole plan leaves open only points that tie in every world left."""
    rng = seeded("end", chunk)
    n_stuck = n_steps = 0
    for _ in range(max(N_TABLES // 8, 20)):
        case = cleaning_case(rng)
        _, plan = plan_of(case, bias=1.0)
        cells = planned(case, plan)
        truth = {cell: value for cell, value in random_truth(case, rng).items() if cell in cells}
        grids = [Grid(case, point) for point in case.points]
        assert all(len(grid.after(truth)) == 1 for grid in grids), case
        stuck = [place for place, grid in enumerate(grids) if not (grid.winners != TIE).any()]
        assert [*plan.stuck] == stuck, case
        n_stuck, n_steps = n_stuck + len(stuck), n_steps + len(plan.steps)
    assert n_stuck or N_TABLES < 400
    assert n_steps > 3


@pytest.mark.parametrize("chunk", range(2))
def test_what_steps_promise(chunk: int) -> None:
    """Expected is the average over all fillings, within the error of a simulation."""
    rng = seeded("steps", chunk)
    errors = []
    for _ in range(max(N_TABLES // 8, 20)):
        case = cleaning_case(rng)
        _, plan = plan_of(case, bias=1.0)
        grids = [Grid(case, point) for point in case.points]
        cells, n_filled, before = planned(case, plan), 0, float(plan.n_done)
        for step in plan.steps:
            n_filled += step.n_cells
            filled = cells[:n_filled]
            chances = [float(grid.expected(filled)) for grid in grids]
            spread = sum(math.sqrt(max(p * (1 - p), 0)) for p in chances)
            error = step.expected - sum(chances)
            assert abs(error) <= 5 * spread / math.sqrt(N_DRAWS) + 3 / N_DRAWS, (case, step)
            errors.append(error)
            assert before <= step.expected + 1e-9
            before = step.expected
        assert n_filled == plan.n_cells == len(cells)
    assert len(errors) > 3
    assert abs(np.mean(errors)) < (0.05 if len(errors) > 100 else 0.2)


def test_expected_with_a_bias() -> None:
    """With a bias too: what is expected is the average over all fillings of the planned cells."""
    rng = seeded("biased")
    errors = []
    for _ in range(max(N_TABLES // 16, 15)):
        case = cleaning_case(rng, 60)
        bias = rng.choice([0, 0.1, 0.3])
        index, plan = plan_of(case, bias=bias)
        cells, n_filled = planned(case, plan), 0
        for step in plan.steps[:2]:
            n_filled += step.n_cells
            filled = cells[:n_filled]
            mean = np.zeros(len(case.points))
            for chance, rows in fillings(case, filled):
                counted = CountIndex.from_rows(rows, case.labels, like=index)
                options = options_of(case, index) | {"bias": bias}
                mean += chance * certify(counted, list(case.points), **options).certain
            spread = float(np.sqrt(np.maximum(mean * (1 - mean), 0)).sum())
            error = step.expected - float(mean.sum())
            assert abs(error) <= 5 * spread / math.sqrt(N_DRAWS) + 3 / N_DRAWS, (case, bias)
            errors.append(error)
    assert errors
    assert abs(np.mean(errors)) < 0.2


def fillings(case: Case, cells: list[tuple[int, int]]) -> Any:
    """List every way to fill some cells: how likely it is by the known cells, and the rows."""
    grid = Grid(case, case.points[0])
    options = [case.domains[j] for _, j in cells]
    chances = [grid.chances(cell) for cell in cells]
    for choice in itertools.product(*(range(len(own)) for own in options)):
        values = {cell: case.domains[cell[1]][k] for cell, k in zip(cells, choice, strict=True)}
        chance = math.prod(own[k] for own, k in zip(chances, choice, strict=True))
        yield float(chance), with_values(case, values)


def test_part_of_a_step() -> None:
    """What a part of a group is expected to bring is that of the part."""
    rows: list[Any] = [("a",)] * 4 + [(None,)] * 3 + [("b",)] * 3 + [("a",)] * 5 + [("b",)] * 5
    index = CountIndex.from_rows(rows, ["A"] * 10 + ["B"] * 10)
    expected = [
        cleaning_plan(index, [("a",)], alpha=0, bias=1.0, budget=budget).expected
        for budget in (1, 2, 3)
    ]
    assert expected[0] == 0 < expected[1] < expected[2]


# Larger tables ------------------------------------------------------------------------------------


def many_points(n_points: int, n_rows: int = 600) -> tuple[CountIndex, Any]:
    """A table of codes with missing cells, and points of its kind."""
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 4, n_rows)
    noise = rng.integers(0, 5, (n_rows, 6))
    complete = np.where(rng.random((n_rows, 6)) < 0.3, labels[:, None], noise)
    incomplete = np.where(rng.random((n_rows, 6)) < 0.1, -1, complete)
    return CountIndex.from_codes(incomplete, labels), rng.integers(0, 5, (n_points, 6))


def test_many_points() -> None:
    """Thousands of points share one plan, whose order does not depend on theirs."""
    index, points = many_points(2_000)
    plan = cleaning_plan(index, points, alpha=1, bias=1.0)
    assert 0 < plan.n_done < plan.n_points == 2_000
    assert plan.n_cells == index.n_missing
    assert plan.steps[-1].expected > 1_990
    curve = [step.expected for step in plan.steps]
    assert curve == sorted(curve)
    some = cleaning_plan(index, points[:300], alpha=1, bias=1.0)
    turned = cleaning_plan(index, points[299::-1], alpha=1, bias=1.0)
    assert [(s.label, s.feature) for s in turned.steps] == [
        (s.label, s.feature) for s in some.steps
    ]
    biased = cleaning_plan(index, points[:300], alpha=1, bias=0.05)
    assert biased.n_done > some.n_done
    held = certify(index, points[:300], alpha=1, bias=0.05).certain
    assert biased.n_done == held.sum()


def test_good_cells_come_first() -> None:
    """A column that decides comes before one that says nothing about the label."""
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, 400)
    deciding = np.where(rng.random(400) < 0.85, labels, 1 - labels)
    codes = np.stack([deciding, rng.integers(0, 2, 400)], axis=1)
    codes[rng.random((400, 2)) < 0.3] = -1
    index = CountIndex.from_codes(codes, labels, weights="equal")
    points = [(a, b) for a in (0, 1) for b in (0, 1)]
    plan = cleaning_plan(index, points, alpha=1, bias=1.0)
    assert plan.steps
    assert plan.steps[0].feature == "x0"
    first = cleaning_plan(index, points, alpha=1, bias=1.0, budget=20).steps
    assert {step.feature for step in first} == {"x0"}


# What it tells ------------------------------------------------------------------------------------

ROWS: list[Any] = [("a", None), ("a", "x"), ("b", "y"), (None, "x")]
LABELS = ["yes", "yes", "no", "no"]


@pytest.mark.parametrize("library", ["polars", "pandas", "rows"])
def test_frames(library: str) -> None:
    """Points and tables may be frames or rows; the plan names the same cells and comes back alike."""
    points: Any = {"f": ["a", "b", "b"], "g": ["y", "y", "y"]}
    columns = {"f": [row[0] for row in ROWS], "g": [row[1] for row in ROWS], "label": LABELS}
    made: Any = {"polars": pl.DataFrame, "pandas": pd.DataFrame, "rows": None}[library]
    options: Any = {"alpha": 1, "bias": 1.0}
    if made is None:
        index = CountIndex.from_rows(ROWS, LABELS, features=["f", "g"])
        plan = cleaning_plan(index, list(zip(*points.values(), strict=True)), **options)
        cells = plan.cells(ROWS, LABELS)
    else:
        index = CountIndex.from_table(made(columns), "label")
        plan = cleaning_plan(index, made(points), **options)
        cells = plan.cells(made(columns))
    assert sorted(cell[:2] for cell in cells) == [(0, "g"), (3, "f")]
    shown = plan.to_frame()
    assert isinstance(shown, pd.DataFrame if library == "pandas" else pl.DataFrame)
    assert {"label", "feature", "n_cells", "expected"} <= {*shown.columns}
    assert list(shown["n_cells"]) == [1, 1]


def test_document() -> None:
    """The JSON form has the steps, the curve and the points that tie whatever the cells hold."""
    index, points = many_points(50)
    plan = cleaning_plan(index, points, alpha=1, bias=1.0)
    document = json.loads(json.dumps(plan.document()))
    assert (document["n_points"], document["n_done"]) == (50, plan.n_done)
    assert document["n_cells"] == plan.n_cells == sum(s["n_cells"] for s in document["steps"])
    curve = document["curve"]
    assert curve[0] == {"n_cells": 0, "expected": plan.n_done}
    assert curve[-1]["n_cells"] == plan.n_cells
    assert [own["expected"] for own in curve] == sorted(own["expected"] for own in curve)
    assert [own["expected"] for own in curve[1:]] == [step.expected for step in plan.steps]
    stop = document["stop"]
    assert stop is None or 0 < stop["n_cells"] <= plan.n_cells


def test_nothing_to_do() -> None:
    """No points, no missing cells, or ties that no cell can break: an empty plan."""
    index = CountIndex.from_rows(ROWS, LABELS)
    empty = cleaning_plan(index, [], alpha=0, bias=1.0)
    assert (empty.n_points, empty.n_cells, [*empty.stuck]) == (0, 0, [])
    known: list[Any] = [("a", "x"), ("b", "y")]
    points = [("a", "x"), ("a", "y")]
    plan = cleaning_plan(CountIndex.from_rows(known, ["A", "B"]), points, alpha=0, bias=1.0)
    assert plan.done.tolist() == [True, False]
    assert (plan.n_cells, [*plan.stuck]) == (0, [1])


def test_cells_that_no_point_asks_for() -> None:
    """Missing cells of a column that every point leaves out are never proposed."""
    rows: list[Any] = [("a", None), ("a", "x"), ("b", "y"), (None, None)]
    index = CountIndex.from_rows(rows, LABELS)
    plan = cleaning_plan(index, [("a", None), ("b", None)], alpha=1, bias=1.0)
    assert {step.feature for step in plan.steps} <= {"x0"}


test_another_table_is_refused = refuses(
    "Cells are named in the table that was counted only.",
    cleaning_plan(CountIndex.from_rows(ROWS, LABELS), [("a", "y")], alpha=1, bias=1.0).cells,
    ([*ROWS, (None, "x")], [*LABELS, "no"], "the table that was counted"),
    (ROWS, [*LABELS[:-1], "maybe"], "'maybe'"),
)


test_wrong_options = refuses(
    "What cannot be planned for is refused in one sentence that names the option and its value.",
    lambda options: cleaning_plan(CountIndex.from_rows(ROWS, LABELS), [("a", "y")], **options),
    ({"budget": -1}, "budget.*-1"),
    ({"budget": math.nan}, "budget.*nan"),
    ({"own_missing": "any"}, "own_missing.*'any'"),
    ({"budget": 2.5}, "budget.*2.5"),
    ({"bias": 2}, "bias"),
)


# The goal -----------------------------------------------------------------------------------------


def test_the_usual_goal() -> None:
    """Without a bias a point is done when it holds up to 0.05; certainty is named, not proposed."""
    index, points = many_points(100)
    usual = cleaning_plan(index, points)
    assert usual.columns() == cleaning_plan(index, points, bias=0.05).columns()
    strict = cleaning_plan(index, points, bias=1.0)
    assert usual.n_done > strict.n_done
    assert usual.n_for_certainty == strict.n_cells == index.n_missing
    assert "not proposed" in usual.certainty
    assert not strict.certainty


@pytest.mark.parametrize("bias", [1.0, 0.05])
def test_a_budget_is_always_spent(bias: float) -> None:
    """However small the budget, the best cells within it are listed with what they bring."""
    index, points = many_points(300)
    for budget in (1, 20):
        plan = cleaning_plan(index, points, budget=budget, bias=bias)
        assert plan.n_cells == budget == plan.stages[-1].so_far
        assert plan.stages[0].columns() in repr(plan)


def test_columns_that_do_not_apply() -> None:
    """A column missing in over nine tenths of its rows gets a hint, and no steps."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 200)
    codes = np.stack([labels ^ (rng.random(200) < 0.2), labels], axis=1).astype(np.int64)
    codes[rng.random(200) < 0.2, 0] = -1
    codes[rng.random(200) < 0.95, 1] = -1
    index = CountIndex.from_codes(codes, labels)
    plan = cleaning_plan(index, [(0, 1), (1, 0), (0, 0)], bias=1.0)
    assert {step.feature for step in plan.steps} <= {"x0"}
    assert plan.does_not_apply == ("x1",)
    assert "x1" in plan.hint
    assert "--missing-is-value" in plan.hint


def test_no_cell_is_listed_twice() -> None:
    """However many steps look up cells of one label and column, each step has cells of its own."""
    rng = random.Random(9)
    rows: list[tuple[Any, ...]] = []
    labels = []
    for _ in range(1_500):
        label = rng.choice("pq")
        lean = rng.random() < (0.55 if label == "p" else 0.45)
        rows.append((None if rng.random() < 0.6 else "u" if lean else "v", rng.choice("xy")))
        labels.append(label)
    index = CountIndex.from_rows(rows, labels)
    plan = cleaning_plan(index, [("u", "x"), ("u", "y"), ("v", "x"), ("v", "y")], bias=1)
    steps = Counter((step.feature, step.label) for step in plan.steps)
    assert max(steps.values()) > 2
    cells = plan.cells(rows, labels)
    assert len({*cells}) == len(cells) == plan.n_cells
    assert all(rows[row][("x0", "x1").index(column)] is None for row, column in cells)
