"""cleaning_plan against looking at all worlds, its laws, and what it refuses.

``NULLPROOF_CLEANING_TABLES`` sets the number of random tables, ``NULLPROOF_SEED`` where they start.
"""

from __future__ import annotations

import itertools
import math
import os
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from support import oracle
from support.cleaning_oracle import (
    Grid,
    index_of,
    is_complete,
    options_of,
    random_truth,
    small_case,
)
from support.strategies import Case, holes

from nullproof import CountIndex, NullproofError, certify, cleaning_plan
from nullproof.cleaning.plan import CleaningPlan
from nullproof.odds.filling import Cells
from nullproof.tables.points import OwnHoles

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
N_TABLES = int(os.environ.get("NULLPROOF_CLEANING_TABLES", "1600")) // 8
SEED = int(os.environ.get("NULLPROOF_SEED", "20240604"))
N_CHUNKS = 4
N_DRAWS = 32
READINGS: tuple[OwnHoles, OwnHoles] = ("any", "skip")


def plan_of(case: Case, **options: Any) -> tuple[CountIndex, CleaningPlan]:
    index = index_of(case)
    plan = cleaning_plan(index, list(case.points), **options_of(case, index), **options)
    return index, plan


def chosen(case: Case, plan: CleaningPlan, table: str = "training") -> list[tuple[int, int]]:
    """The cells of a plan in one of the tables, as row and feature number."""
    return [
        (row, case.features.index(name))
        for row, name, which in plan.cells(case.rows, list(case.labels))
        if which == table
    ]


def group_cells(case: Case, label: Any, feature: str) -> list[tuple[int, int]]:
    return [
        (i, j) for i, j in holes(case) if case.labels[i] == label and case.features[j] == feature
    ]


# Against all worlds ---------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_end_of_a_plan(chunk: int) -> None:
    """Followed to its end with any values, a plan leaves open what ties only; stuck points always do."""
    rng = random.Random(SEED + chunk)
    n_stuck = 0
    for number in range(N_TABLES // N_CHUNKS):
        case, own_missing = small_case(rng), READINGS[number % 2]
        _, plan = plan_of(case, own_missing=own_missing)
        cells = chosen(case, plan)
        truth = {cell: value for cell, value in random_truth(case, rng).items() if cell in cells}
        own = {
            (p, j): rng.choice(oracle.candidates(case.points[p][j], case.domains[j]))
            for p, j in chosen(case, plan, "points")
        }
        stuck = []
        for position, point in enumerate(case.points):
            filled = [own.get((position, j), cell) for j, cell in enumerate(point)]
            left = {*Grid(case, filled, own_missing).after(truth).ravel().tolist()}
            assert len(left) == 1, (case, point)
            if not any(
                Grid(case, one, own_missing).can_be_certain()
                for one in fillings(case, point, own_missing)
            ):
                stuck.append(position)
        # Of points with holes of their own it is told where a bound shows it.
        assert {*plan.stuck} <= {*stuck}, case
        whole = {p for p in stuck if is_complete(case.points[p], own_missing)}
        assert whole <= {*plan.stuck}, case
        n_stuck += len(plan.stuck)
    assert n_stuck or N_TABLES < 100


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_steps(chunk: int) -> None:
    """Every step fills all holes of its group; its best case is what some values of all so far bring."""
    rng = random.Random(SEED + 100 + chunk)
    for number in range(N_TABLES // N_CHUNKS):
        case, own_missing = small_case(rng), READINGS[number % 2]
        _, plan = plan_of(case, own_missing=own_missing)
        grids = [Grid(case, point, own_missing) for point in case.points]
        filled: list[tuple[int, int]] = []
        before = float(plan.n_done)
        for step in plan.steps:
            group = group_cells(case, step.label, step.feature)
            assert step.n_cells == len(step.own or group) > 0
            assert not {*group} & {*filled}
            filled += group
            best = [bool(grid.certain(filled).any()) for grid in grids]
            if all(is_complete(point, own_missing) for point in case.points):
                assert step.best == sum(best), case
            assert step.best >= sum(best)
            assert plan.n_done <= before <= step.expected + 1e-9
            assert step.expected <= step.best <= plan.n_points
            before = step.expected
        done = [bool(grid.certain([]).all()) for grid in grids]
        assert plan.done.tolist() == done
        assert chosen(case, plan) == filled


def expected_after(
    grids: list[Grid], filled: list[tuple[int, int]], how: str
) -> tuple[float, float]:
    """How many points are certain on average after some holes are filled, and a bound of its spread."""
    mean = spread = 0.0
    for grid in grids:
        certain = grid.certain(filled)
        kept = [k for k, hole in enumerate(grid.holes) if hole in filled]
        weights = np.ones(())
        for k in kept:
            chances = np.array([float(chance) for chance in grid.chances(k, how, {})])
            weights = np.multiply.outer(weights, chances)
        share = float((weights * certain).sum())
        mean, spread = mean + share, spread + math.sqrt(max(share * (1 - share), 0.0))
    return mean, spread


@pytest.mark.parametrize("how", ["uniform", "observed"])
def test_expected(how: Cells) -> None:
    """What is expected is the average over all fillings, up to the error of 32 draws, and unbiased."""
    rng = random.Random(SEED + 200)
    errors = []
    for _ in range(N_TABLES // 2):
        case = small_case(rng)
        if not all(is_complete(point, "skip") for point in case.points):
            continue
        _, plan = plan_of(case, cells=how)
        grids = [Grid(case, point, "skip") for point in case.points]
        filled: list[tuple[int, int]] = []
        for step in plan.steps:
            filled += group_cells(case, step.label, step.feature)
            mean, spread = expected_after(grids, filled, how)
            assert abs(step.expected - mean) <= (5 * spread / math.sqrt(N_DRAWS)) + 3 / N_DRAWS, (
                case
            )
            errors.append(step.expected - mean)
    assert abs(np.mean(errors)) < 0.05 or N_TABLES < 100


@pytest.mark.parametrize("how", ["uniform", "observed"])
@pytest.mark.parametrize("confidence", [0.6, 0.8, 0.9])
def test_confidence(how: Cells, confidence: float) -> None:
    """Below 1 a point is done if and only if the odds of one label reach the confidence.

    A point with holes of its own: the odds of the same label, however these are filled.
    """
    rng = random.Random(SEED + 300)
    n_done = n_holed = 0
    for number in range(N_TABLES // 4):
        case, own_missing = small_case(rng), READINGS[number % 2]
        index, plan = plan_of(case, cells=how, confidence=confidence, own_missing=own_missing)
        options = {**options_of(case, index), "own_missing": own_missing}
        certain = certify(index, list(case.points), **options).certain
        for position, point in enumerate(case.points):
            done = plan.done[position]
            if certain[position]:
                assert done
                continue
            every = [
                Grid(case, filled, own_missing).odds(how)
                for filled in fillings(case, point, own_missing)
            ]
            top = float(max(min(odds[label] for odds in every) for label in every[0]))
            assert top >= confidence - 1e-12 if done else top <= confidence + 1e-5, case
            n_done += int(done)
            n_holed += int(done and len(every) > 1)
        for step, after in zip(plan.steps, plan.steps[1:], strict=False):
            assert plan.n_done <= step.expected <= after.expected + 1e-9
            assert step.expected <= step.best <= after.best <= plan.n_points
    assert n_done or N_TABLES < 100
    assert n_holed or N_TABLES < 1000


def fillings(case: Case, point: Sequence[Any], own_missing: OwnHoles) -> list[tuple[Any, ...]]:
    """Every way to fill the holes of a point; those that are skipped stay."""
    cells = zip(point, case.domains, strict=True)
    choices = (
        (None,) if cell is None and own_missing == "skip" else oracle.candidates(cell, domain)
        for cell, domain in cells
    )
    return [*itertools.product(*choices)]


# Budget and costs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_budget(seed: int) -> None:
    """A plan never costs more than its budget, and leaves nothing that it could still afford."""
    rng = random.Random(SEED + 400 + seed)
    case = small_case(rng)
    costs = {name: rng.choice([0.1, 1, 2.5, 7]) for name in case.features}
    _, whole = plan_of(case, costs=costs)
    for budget in (0, 0.35, 1, 3, 7.5, 1e9):
        _, plan = plan_of(case, costs=costs, budget=budget)
        spent = sum(step.n_cells * costs[step.feature] for step in plan.steps)
        assert spent <= budget + 1e-9
        cells = plan.cells(case.rows, list(case.labels))
        assert len(cells) == len({*cells}) == plan.n_cells
        done: dict[tuple[Any, str], int] = {}
        for step in plan.steps:
            group = step.label, step.feature
            done[group] = done.get(group, 0) + step.n_cells
        for step in whole.steps:
            group = step.label, step.feature
            n_left = step.n_cells - min(done.get(group, 0), step.n_cells)
            done[group] = done.get(group, 0) - step.n_cells
            assert n_left >= 0
            assert not n_left or spent + costs[step.feature] > budget - 1e-9
    assert spent == pytest.approx(sum(s.n_cells * costs[s.feature] for s in whole.steps))


def test_part_of_a_step() -> None:
    """What a part of a step can bring at best is told for that part."""
    rows: list[Any] = [("a",)] * 4 + [(None,)] * 3 + [("b",)] * 3 + [("a",)] * 5 + [("b",)] * 5
    index = CountIndex.from_rows(rows, ["A"] * 10 + ["B"] * 10)
    whole = cleaning_plan(index, [("a",)], alpha=0)
    assert [(step.n_cells, step.best) for step in whole.steps] == [(3, 1)]
    assert [step.best for step in cleaning_plan(index, [("a",)], budget=1, alpha=0).steps] == [0]
    part = cleaning_plan(index, [("a",)], budget=2, alpha=0).steps
    assert [(step.n_cells, step.best) for step in part] == [(2, 1)]
    assert 0 < part[0].expected < whole.steps[0].expected


def test_dear_columns_come_late() -> None:
    """A column that gets dear moves behind the others."""
    index, points = many_points(50)
    first = cleaning_plan(index, points, alpha=1).steps[0].feature
    dear = cleaning_plan(index, points, alpha=1, costs={first: 1000.0}).steps
    assert dear[0].feature != first
    assert {step.feature for step in dear[-4:]} == {first}


# How it behaves -------------------------------------------------------------------------------------


def many_points(n_points: int, n_rows: int = 600) -> tuple[CountIndex, Any]:
    """A table of codes with holes, and points of its kind."""
    rng = np.random.default_rng(SEED)
    labels = rng.integers(0, 4, n_rows)
    noise = rng.integers(0, 5, (n_rows, 6))
    complete = np.where(rng.random((n_rows, 6)) < 0.3, labels[:, None], noise)
    incomplete = np.where(rng.random((n_rows, 6)) < 0.1, -1, complete)
    return CountIndex.from_codes(incomplete, labels), rng.integers(0, 5, (n_points, 6))


def test_many_points() -> None:
    """Thousands of points share one plan, whose order does not depend on theirs."""
    index, points = many_points(2_000)
    plan = cleaning_plan(index, points, alpha=1)
    assert plan.n_points == 2_000
    assert 0 < plan.n_done < 2_000
    assert plan.n_cells == index.n_missing
    assert plan.steps[-1].expected > 1_990
    some = cleaning_plan(index, points[:300], alpha=1)
    turned = cleaning_plan(index, points[299::-1], alpha=1)
    assert [(s.label, s.feature) for s in turned.steps] == [
        (s.label, s.feature) for s in some.steps
    ]
    low = cleaning_plan(index, points[:300], alpha=1, confidence=0.95)
    assert low.n_done > some.n_done
    few = cleaning_plan(index, points[:20], alpha=1)
    assert ((few.cases.best == 0) == few.done).all()


ROWS: list[Any] = [("a", None), ("a", "x"), ("b", "y"), (None, "x")]
LABELS = ["yes", "yes", "no", "no"]


@pytest.mark.parametrize("library", ["polars", "pandas", "rows"])
def test_frames(library: str) -> None:
    """Points and tables may be frames or rows; the plan names the same cells and comes back alike."""
    columns = {"f": [row[0] for row in ROWS], "g": [row[1] for row in ROWS]}
    points: Any = {"f": ["a", "b", "b"], "g": ["y", "y", "y"]}
    if library == "rows":
        index = CountIndex.from_rows(ROWS, LABELS, features=["f", "g"])
        plan = cleaning_plan(index, list(zip(*points.values(), strict=True)), alpha=1)
        cells = plan.cells(ROWS, LABELS)
    else:
        frame = __import__(library).DataFrame({**columns, "label": LABELS})
        index = CountIndex.from_table(frame, "label")
        plan = cleaning_plan(index, __import__(library).DataFrame(points), alpha=1)
        cells = plan.cells(frame)
    assert sorted(cells) == [(0, "g", "training"), (3, "f", "training")]
    shown = plan.to_frame()
    assert type(shown).__module__.startswith("pandas" if library == "pandas" else "polars")
    assert list(shown.columns) == ["table", "label", "feature", "n_cells", "expected", "best"]
    assert list(shown["n_cells"]) == [1, 1]
    assert "2 of 3 points are certain; 2 cells in 2 steps" in repr(plan)
    assert "n_cells" in plan._repr_html_()


def test_another_table_is_refused() -> None:
    """Cells are named in the table that was counted only."""
    plan = cleaning_plan(CountIndex.from_rows(ROWS, LABELS), [("a", "y")], alpha=1)
    with pytest.raises(NullproofError, match="give the table that was counted"):
        plan.cells([*ROWS, (None, "x")], [*LABELS, "no"])
    with pytest.raises(NullproofError, match="the label 'maybe', which the index does not have"):
        plan.cells(ROWS, [*LABELS[:-1], "maybe"])


def test_incomplete_points() -> None:
    """Holes of the points are cells to fill, each once, also where the table has none."""
    index = CountIndex.from_rows(ROWS, LABELS)
    points: list[Any] = [(None, "x"), ("b", None), (None, None), ("a", "y")]
    plan = cleaning_plan(index, points, alpha=1, own_missing="any")
    assert all(step.n_cells for step in plan.steps)
    assert 0 < sum(len(step.own) for step in plan.steps) <= 4
    known: list[Any] = [("a", "x"), ("b", "y"), ("a", "y")]
    index = CountIndex.from_rows(known, ["A", "B", "B"])
    whole = cleaning_plan(index, [(None, None)], alpha=1, own_missing="any")
    assert [(step.own[0].row, step.label) for step in whole.steps] == [(0, None)] * 2
    assert (whole.n_done, whole.stuck) == (0, ())


def test_nothing_to_do() -> None:
    """No points, no holes, or ties that no cell can break: an empty plan."""
    index = CountIndex.from_rows(ROWS, LABELS)
    empty = cleaning_plan(index, [], alpha=0)
    assert (empty.n_points, empty.steps, empty.stuck) == (0, (), ())
    known: list[Any] = [("a", "x"), ("b", "y")]
    plan = cleaning_plan(CountIndex.from_rows(known, ["A", "B"]), [("a", "x"), ("a", "y")], alpha=0)
    assert plan.done.tolist() == [True, False]
    assert (plan.steps, plan.stuck) == ((), (1,))
    unseen = cleaning_plan(index, [("c", "y")], alpha=0)
    assert (unseen.steps, unseen.stuck) == ((), (0,))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": -1}, "budget is -1; give a number of cells that is 0 or more"),
        ({"budget": math.nan}, "budget is nan; give a number"),
        ({"budget": "ten"}, "budget is 'ten'; give a number"),
        ({"confidence": 0.5}, "confidence is 0.5; give 1 for certain, or odds above 0.5"),
        ({"confidence": 1.01}, "confidence is 1.01; give 1"),
        ({"confidence": math.nan}, "confidence is nan; give 1"),
        ({"confidence": "high"}, "confidence is 'high'; give 1"),
        ({"cells": "even"}, "cells is 'even'; give 'uniform', 'observed' or 'model'"),
        ({"costs": {"x7": 1}}, "costs names 'x7', which is no feature; they are x0, x1"),
        ({"costs": {"x1": 0}}, "the cost of 'x1' is 0; give a number above 0"),
        ({"costs": {"x1": -2.5}}, "the cost of 'x1' is -2.5; give"),
        ({"costs": {"x1": math.inf}}, "the cost of 'x1' is inf; give"),
        ({"costs": {"x1": math.nan}}, "the cost of 'x1' is nan; give"),
        ({"costs": {"x1": "dear"}}, "the cost of 'x1' is 'dear'; give"),
        ({"alpha": -1}, "alpha is -1; give"),
    ],
)
def test_wrong_questions_are_refused(options: Any, message: str) -> None:
    """What came, what was needed, in one sentence."""
    index = CountIndex.from_rows(ROWS, LABELS)
    with pytest.raises(NullproofError, match=message) as caught:
        cleaning_plan(index, [("a", "y")], **options)
    assert "\n" not in str(caught.value)
