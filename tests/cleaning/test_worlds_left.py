"""Cleaning with a bias, and points that leave features out: against all fillings, and by their laws.

``NULLPROOF_CLEANING_TABLES`` sets the number of random tables, ``NULLPROOF_SEED`` where they start.
"""

from __future__ import annotations

import itertools
import math
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.cleaning_oracle import (
    TIE,
    Grid,
    Hole,
    index_of,
    is_complete,
    options_of,
    own_truth,
    random_truth,
    small_case,
    with_own,
    with_values,
)
from support.count_tables import index_from_counts
from support.strategies import Case, holes

from nullproof import CountIndex, certify, cleaning_plan
from nullproof.cleaning.cleaner import Cleaner
from nullproof.cleaning.features import feature_effects, filled_counts
from nullproof.cleaning.needs import cases
from nullproof.cleaning.simulation import simulate_cleaning

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
N_TABLES = int(os.environ.get("NULLPROOF_CLEANING_TABLES", "1600")) // 16
SEED = int(os.environ.get("NULLPROOF_SEED", "20240604"))
N_DRAWS = 32


def some_bias(case: Case, rng: random.Random) -> Any:
    """A bias of any kind, never 1 for all."""
    named = {rng.choice(case.features): rng.choice([0, 0.5, 1]), "*": rng.choice([0, 0.1])}
    return rng.choice([0, 0.05, 0.2, 0.4, named])


def filled_tables(
    case: Case, index: CountIndex, cells: Sequence[Hole]
) -> Iterator[tuple[float, CountIndex]]:
    """Every way to fill some cells: how likely it is by the known cells, and its counts."""
    grid = Grid(case, case.points[0])
    places = [grid.holes.index(cell) for cell in cells]
    chances = [grid.chances(place, "observed", {}) for place in places]
    options = [
        list(zip(grid.options[k], own, strict=True)) for k, own in zip(places, chances, strict=True)
    ]
    for chosen in itertools.product(*options):
        values = {cell: value for cell, (value, _) in zip(cells, chosen, strict=True)}
        counted = CountIndex.from_rows(with_values(case, values), case.labels, like=index)
        yield float(math.prod(chance for _, chance in chosen)), counted


def group(case: Case, label: Any, feature: str) -> list[Hole]:
    return [
        (i, j) for i, j in holes(case) if case.labels[i] == label and case.features[j] == feature
    ]


# With a bias ----------------------------------------------------------------------------------------


def test_done_is_what_certify_says() -> None:
    """What a plan calls done holds up to its bias, in both readings; no bias is a bias of 1."""
    rng = random.Random(SEED)
    for number in range(2 * N_TABLES):
        case, own_missing = small_case(rng), ("any", "skip")[number % 2]
        index, points = index_of(case), list(case.points)
        options = {**options_of(case, index), "own_missing": own_missing}
        bias = some_bias(case, rng)
        plan = cleaning_plan(index, points, bias=bias, **options)
        found = certify(index, points, bias=bias, **options)
        assert plan.done.tolist() == found.certain.tolist(), (case, bias)
        strict = cleaning_plan(index, points, **options)
        assert {*strict.done.nonzero()[0]} <= {*plan.done.nonzero()[0]}
        assert plan.stuck == tuple(p for p in strict.stuck if not plan.done[p])
        assert np.array_equal(plan.cases.best, strict.cases.best, equal_nan=True)
        plain = cleaning_plan(index, points, bias={"*": 1.0}, **options)
        assert plain.document() == strict.document()


def test_steps_with_a_bias() -> None:
    """Expected is the average over all fillings, best what one of them brings to each point."""
    rng = random.Random(SEED + 1)
    errors, n_steps = [], 0
    for _ in range(N_TABLES):
        case = small_case(rng, 60)
        index, points, bias = index_of(case), list(case.points), some_bias(case, rng)
        options = {**options_of(case, index), "bias": bias}
        plan = cleaning_plan(index, points, **options)
        filled: list[Hole] = []
        for step in plan.steps[:3]:
            filled += group(case, step.label, step.feature)
            mean, ever = np.zeros(len(points)), np.zeros(len(points), dtype=bool)
            for chance, counted in filled_tables(case, index, filled):
                certain = certify(counted, points, **options).certain
                mean, ever = mean + chance * certain, ever | certain
            whole = all(is_complete(point, "skip") for point in points)
            assert step.best == ever.sum() if whole else step.best >= ever.sum(), (case, bias)
            assert step.expected <= step.best
            if whole:
                spread = float(np.sqrt(np.maximum(mean * (1 - mean), 0)).sum())
                off = step.expected - float(mean.sum())
                assert abs(off) <= 5 * spread / math.sqrt(N_DRAWS) + 3 / N_DRAWS, (case, bias)
                errors.append(off)
                n_steps += 1
    assert abs(np.mean(errors or [0])) < 0.05 or N_TABLES < 50
    assert n_steps or N_TABLES < 20


def test_part_of_a_group_with_a_bias() -> None:
    """After a part of a group is filled, the rest is taken to be like all that is known by then."""
    rows: list[Any] = [("a",)] * 12 + [("b",)] * 4 + [(None,)] * 8 + [("a",)] * 6 + [("b",)] * 6
    index = CountIndex.from_rows(rows, ["A"] * 24 + ["B"] * 12)
    options: Any = {"prior": [0.4, 0.6], "bias": 0.1, "cells": "observed"}
    assert not certify(index, [("a",)], prior=[0.4, 0.6], bias=0.1, alpha=0).certain[0]
    plan = cleaning_plan(index, [("a",)], budget=4, **options)
    assert [(step.n_cells, step.best) for step in plan.steps] == [(4, 1)]
    assert "0 of 1 points hold up to the bias; 4 cells in 1 step" in repr(plan)
    mean = 0.0
    for n_held in range(5):
        counted = index.fill("x0", "a", "A", n_cells=n_held) if n_held else index
        counted = counted.fill("x0", "b", "A", n_cells=4 - n_held) if n_held < 4 else counted
        chance = math.comb(4, n_held) * 0.75**n_held * 0.25 ** (4 - n_held)
        mean += chance * certify(counted, [("a",)], prior=[0.4, 0.6], bias=0.1, alpha=0).certain[0]
    assert 0 < mean < 1
    assert abs(plan.steps[0].expected - mean) < 5 * math.sqrt(mean * (1 - mean) / N_DRAWS)


def test_cleaning_with_a_bias_to_the_end() -> None:
    """After each answer the verdicts are those of the table as it is; at the end only ties are left."""
    rng = random.Random(SEED + 2)
    for number in range(N_TABLES):
        case, own_missing = small_case(rng), ("any", "skip")[number % 2]
        index, points, truth = index_of(case), list(case.points), random_truth(case, rng)
        options = options_of(case, index) | {
            "own_missing": own_missing,
            "bias": some_bias(case, rng),
        }
        cleaner = Cleaner(index, points, case.rows, list(case.labels), **options)
        given: dict[Hole, Any] = {}
        told: dict[Hole, Any] = {}
        own = own_truth(case, rng)
        while not cleaner.finished:
            answers = {}
            for cell in cleaner.next(2):
                place = cell.row, case.features.index(cell.column)
                known, so_far = (truth, given) if cell.table == "training" else (own, told)
                assert place not in so_far
                so_far[place] = answers[cell] = known[place]
            assert answers
            cleaner.fill(answers)
            points = with_own(case, told)
            expected = certify(cleaner.index, points, **options)
            assert cleaner.done.tolist() == expected.certain.tolist()
        for position in np.flatnonzero(~cleaner.done).tolist():
            left = Grid(case, points[position], own_missing).after(given)
            assert (left == TIE).all(), (case, points[position])


@pytest.mark.parametrize("strategy", ["ours", "random", "most missing"])
def test_simulation_with_a_bias(strategy: Any) -> None:
    """A simulation ends with every point holding, or with nothing left to fill that matters."""
    rng = np.random.default_rng(SEED)
    labels: Any = rng.integers(0, 3, 200)
    truth: Any = np.where(rng.random((200, 4)) < 0.4, labels[:, None], rng.integers(0, 3, (200, 4)))
    truth = truth.astype(str).astype(object)
    rows, points = truth.copy(), truth[:60].copy()
    rows[rng.random(rows.shape) < 0.2] = None
    points[rng.random(points.shape) < 0.2] = None
    index = CountIndex.from_rows([*map(tuple, rows)], labels)
    cleaner = Cleaner(index, [*map(tuple, points)], rows, labels, alpha=1, bias=0.03)
    curve = simulate_cleaning(cleaner, truth, labels, strategy=strategy)
    held = certify(cleaner.index, [*map(tuple, points)], alpha=1, bias=0.03).certain
    assert curve.n_done[-1] == held.sum()
    assert held.all() or not cleaner.n_open or cleaner.finished
    assert 0 < curve.n_done[0] < curve.n_done[-1]
    assert "done" in repr(cleaner)


def test_effects_with_a_bias() -> None:
    """Could: some filling of a feature's holes makes the point hold, all others up to the bias."""
    rng = random.Random(SEED + 3)
    for number in range(N_TABLES):
        case, own_missing = small_case(rng, 40), ("any", "skip")[number % 2]
        index, points = index_of(case), list(case.points)
        options = options_of(case, index) | {
            "own_missing": own_missing,
            "bias": some_bias(case, rng),
        }
        is_open = ~certify(index, points, **options).certain
        found = feature_effects(index, points, **options)
        assert found.n_open == is_open.sum()
        for effect in found:
            j = case.features.index(effect.feature)
            if own_missing == "any" and any(not is_complete([point[j]]) for point in points):
                continue  # A hole of the point itself is filled too.
            if any(isinstance(point[j], frozenset) for point in points):
                continue
            could = np.zeros(len(points), dtype=bool)
            for _, counted in filled_tables(case, index, [h for h in holes(case) if h[1] == j]):
                could |= certify(counted, points, **options).certain
            assert effect.n_could == (could & is_open).sum(), (case, options, effect)
            assert effect.n_certain <= effect.n_could


# Points that leave features out -----------------------------------------------------------------------


def without(case: Case, left_out: set[int]) -> Case:
    """The table without some columns, in the domains it had."""

    def kept(cells: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(cell for j, cell in enumerate(cells) if j not in left_out)

    names = kept(case.features)
    return replace(
        case,
        rows=tuple(map(kept, case.rows)),
        features=names,
        declared=dict(zip(names, kept(case.domains), strict=True)),
        points=tuple(map(kept, case.points)),
    )


@pytest.mark.parametrize("bias", [1.0, 0.1])
def test_features_that_all_points_leave_out(bias: float) -> None:
    """Points that share their holes get the plan of the table without those columns."""
    rng = random.Random(SEED + 4)
    n_plans = 0
    for _ in range(2 * N_TABLES):
        case = small_case(rng)
        left_out = {*rng.sample(range(len(case.features)), rng.randrange(len(case.features)))}
        points = [
            tuple(None if j in left_out else cell for j, cell in enumerate(point))
            for point in case.points
            if not any(cell is None for j, cell in enumerate(point) if j not in left_out)
        ]
        if not points or not left_out:
            continue
        case = replace(case, points=tuple(points))
        less = without(case, left_out)
        index, smaller = index_of(case), index_of(less)
        options = options_of(case, index)
        plan = cleaning_plan(index, points, bias=bias, **options)
        same = cleaning_plan(smaller, list(less.points), bias=bias, **options)
        assert plan.done.tolist() == same.done.tolist()
        assert plan.stuck == same.stuck
        assert plan.steps == same.steps, case
        for mine, theirs in (
            (plan.cases, same.cases),
            (cases(index, points, **options), same.cases),
        ):
            assert np.array_equal(mine.best, theirs.best, equal_nan=True)
            assert np.array_equal(mine.worst, theirs.worst, equal_nan=True)
        found = feature_effects(index, points, bias=bias, **options)
        effects = {one.feature: one for one in found}
        for one in feature_effects(smaller, list(less.points), bias=bias, **options):
            assert effects.pop(one.feature) == one
        assert all(one.n_certain == one.n_could == 0 for one in effects.values())
        n_plans += bool(plan.steps)
    assert n_plans or N_TABLES < 10


def test_cells_that_no_point_asks_for() -> None:
    """Holes of a column that every point leaves out are never proposed."""
    rows: list[Any] = [("a", None), ("a", "x"), ("b", "y"), (None, None)]
    index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    points: list[Any] = [("a", None), ("b", None)]
    plan = cleaning_plan(index, points, alpha=1)
    assert {step.feature for step in plan.steps} <= {"x0"}
    strict = cleaning_plan(index, points, alpha=1, own_missing="any")
    assert {step.feature for step in strict.steps} >= {"x1"}
    cleaner = Cleaner(index, points, rows, ["yes", "yes", "no", "no"], alpha=1)
    assert {cell.column for cell in cleaner.next(9)} <= {"x0"}


def test_billions_of_holes_are_shared_out_like_thousands() -> None:
    """Products of cells beyond 64 bits do not run over: a table a million times as large too."""
    for times in (1, 10**6):
        index = replace(
            index_from_counts(
                [8000 * times, 8000 * times],
                [[(3000 * times, 1000 * times), (1000 * times, 3000 * times)]],
            ),
            n_null=np.array([[4000 * times, 4000 * times]], dtype=np.int64),
        )
        assert (filled_counts(index, 0) == np.array([[6000, 2000], [2000, 6000]]) * times).all()
        effects = feature_effects(index, [("0",), ("1",)])
        assert (effects.n_open, [one.n_certain for one in effects]) == (2, [2])
