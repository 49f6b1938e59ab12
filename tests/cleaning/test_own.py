"""Cells that points lack themselves: answers for them, and plans that name them.

``NULLPROOF_CLEANING_TABLES`` sets the number of random tables, ``NULLPROOF_SEED`` where they start.
"""

from __future__ import annotations

import itertools
import math
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import oracle
from support.cleaning_oracle import (
    Grid,
    index_of,
    options_of,
    own_missing,
    own_truth,
    random_truth,
    small_case,
    with_own,
)
from support.strategies import Case, holes

from nullproof import CountIndex, NullproofError, certify, cleaning_plan
from nullproof.cleaning import Cell, Cleaner

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
N_TABLES = int(os.environ.get("NULLPROOF_CLEANING_TABLES", "1600")) // 16
N_DRAWS = 32
SEED = int(os.environ.get("NULLPROOF_SEED", "20240604"))


def holed_case(rng: random.Random, n_worlds: int = 130) -> Case:
    """A small table with holes, at least one of them in a point."""
    while not own_missing(case := small_case(rng, n_worlds)):
        pass
    return case


@pytest.mark.parametrize("reading", ["any", "skip"])
def test_answers_for_points(reading: Any, tmp_path: Path) -> None:
    """After any answers the verdicts are those of the filled table and points; saved answers resume."""
    rng = random.Random(SEED)
    for _ in range(max(N_TABLES // 2, 10)):
        case = holed_case(rng)
        index = index_of(case)
        options = options_of(case, index) | {"own_missing": reading}
        cleaner, other = (
            Cleaner(index, list(case.points), case.rows, list(case.labels), **options)
            for _ in range(2)
        )
        names = case.features
        truth, own = random_truth(case, rng), own_truth(case, rng)
        some = {cell: own[cell] for cell in rng.sample([*own], rng.randint(0, len(own)))}
        cleaner.fill({Cell(p, names[j], "points"): value for (p, j), value in some.items()})
        cleaner.fill({(i, names[j]): value for (i, j), value in truth.items()})
        expected = certify(cleaner.index, with_own(case, some), **options)
        assert cleaner.certain.tolist() == expected.certain.tolist()
        assert (cleaner.certificates.possible == expected.possible).all()
        assert len(cleaner.filled) == len(some) + len(truth)
        cleaner.save(tmp_path / "saved.json")
        other.resume(tmp_path / "saved.json")
        assert other.filled == cleaner.filled
        assert other.certain.tolist() == cleaner.certain.tolist()


ROWS: list[Any] = [("a", None), ("a", "x"), ("b", "y"), (None, "x")]
LABELS = ["yes", "yes", "no", "no"]
POINTS: list[Any] = [("a", None), (None, "y"), ("b", "y"), (frozenset("ab"), "x")]
WRONG: dict[str, tuple[Any, str]] = {
    "table": ({(0, "x1", "train"): "x"}, "table 'train'; give 'training' or 'points'"),
    "column": ({(0, "k", "points"): "x"}, "column 'k', which is no feature; they are x0, x1"),
    "point": ({(4, "x1", "points"): "x"}, "point 4, but points go from 0 to 3"),
    "not missing": ({(2, "x1", "points"): "x"}, "point 2, column 'x1' is not missing"),
    "twice": ({(1, "x0", "points"): "b"}, "point 1, column 'x0' has an answer already"),
    "outside": ({(0, "x1", "points"): "z"}, "'z' for point 0, column 'x1' is not one of its"),
    "no candidate": ({(3, "x0", "points"): "c"}, r"'c' for point 3, column 'x0' is not .*\(a, b\)"),
    "None": ({(0, "x1", "points"): None}, "the answer for point 0, column 'x1' is missing too"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_for_points(name: str) -> None:
    """One wrong answer and none is taken, those for the training table neither."""
    answers, message = WRONG[name]
    index = CountIndex.from_rows(ROWS, LABELS)
    cleaner = Cleaner(index, POINTS, ROWS, LABELS, own_missing="any")
    cleaner.fill({(1, "x0", "points"): "a"})
    before = cleaner.filled, cleaner.index, cleaner.points.codes.tolist()
    with pytest.raises(NullproofError, match=message) as caught:
        cleaner.fill({(0, "x1"): "x", **answers})
    assert "\n" not in str(caught.value)
    assert (cleaner.filled, cleaner.index, cleaner.points.codes.tolist()) == before


def test_answers_of_other_points(tmp_path: Path) -> None:
    """Answers for points are not taken for other points; those for the table alone are."""
    index = CountIndex.from_rows(ROWS, LABELS)
    cleaner = Cleaner(index, POINTS, ROWS, LABELS)
    cleaner.fill({(0, "x1"): "x"})
    cleaner.save(tmp_path / "saved.json")
    Cleaner(index, POINTS[:2], ROWS, LABELS).resume(tmp_path / "saved.json")
    cleaner.fill({(0, "x1", "points"): "x"})
    cleaner.save(tmp_path / "saved.json")
    with pytest.raises(NullproofError, match="was saved for other points; give those"):
        Cleaner(index, POINTS[:2], ROWS, LABELS).resume(tmp_path / "saved.json")


# Plans ----------------------------------------------------------------------------------------------


def partly(case: Case, point: Sequence[Any], features: set[int]) -> list[tuple[Any, ...]]:
    """A point with some of its features filled in every way."""
    return [
        *itertools.product(
            *(
                oracle.candidates(cell, case.domains[j]) if j in features else (cell,)
                for j, cell in enumerate(point)
            )
        )
    ]


def test_expected_with_own_cells() -> None:
    """What is expected of own and training cells is the average over all fillings of both.

    At best is no less than what some filling brings to each point.
    """
    rng = random.Random(SEED + 1)
    errors, n_own = [], 0
    for _ in range(max(N_TABLES // 2, 10)):
        case = holed_case(rng, 40)
        index = index_of(case)
        options = options_of(case, index) | {"own_missing": "any"}
        plan = cleaning_plan(index, list(case.points), **options)
        filled: list[tuple[int, int]] = []
        own: dict[int, set[int]] = {}
        for step in plan.steps[:4]:
            j = case.features.index(step.feature)
            for cell in step.own:
                own.setdefault(cell.row, set()).add(j)
            filled += [(i, k) for i, k in holes(case) if case.labels[i] == step.label and k == j]
            mean = spread = 0.0
            ever = 0
            for place, point in enumerate(case.points):
                grids = [Grid(case, one) for one in partly(case, point, own.get(place, set()))]
                certain = [grid.certain(filled) for grid in grids]
                share = float(np.mean([one.mean() for one in certain]))
                mean, spread = mean + share, spread + math.sqrt(max(share * (1 - share), 0.0))
                ever += any(one.any() for one in certain)
            off = step.expected - mean
            assert abs(off) <= 5 * spread / math.sqrt(N_DRAWS) + 3 / N_DRAWS, case
            assert step.expected - 1e-9 <= step.best
            assert step.best >= ever
            errors.append(off)
            n_own += bool(step.own)
    assert n_own
    assert abs(np.mean(errors)) < 0.05 or N_TABLES < 50


def test_own_cells_are_cheaper() -> None:
    """Where complete points are certain and the others lack one cell, those cells come first."""
    rows = [("a", "x", "u")] * 40 + [("b", "y", "v")] * 40 + [(None, None, None)] * 3
    labels = ["A"] * 41 + ["B"] * 42
    index = CountIndex.from_rows(rows, labels)
    points = [("a", "x", None), (None, "y", "v"), ("a", None, "v"), ("a", "x", "u")]
    plan = cleaning_plan(index, points, own_missing="any")
    assert plan.n_done == 3
    assert plan.steps[0].own == (Cell(2, "x1", "points"),)
    assert plan.steps[0].table == "points"
    assert plan.steps[0].expected > 3.5
    dear = cleaning_plan(index, points, own_missing="any", costs={"x1": 100.0})
    assert dear.steps
    assert certify(index, [("a", "x", "v"), ("a", "y", "v")]).certain.all()
