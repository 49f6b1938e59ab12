"""Chernoff bounds of many points at once, and what may be kept when a table changes."""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest
from support.cleaning_oracle import (
    Grid,
    index_of,
    is_complete,
    options_of,
    small_case,
)

from nullproof import CountIndex
from nullproof.model import Model
from nullproof.odds.filling import Count, Filling, distance
from nullproof.odds.narrowing import Ways
from nullproof.odds.sureness import Sureness
from nullproof.verdicts import verdicts

pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
N_TABLES = int(os.environ.get("NULLPROOF_ODDS_TABLES", "400")) // 4
SEED = int(os.environ.get("NULLPROOF_SEED", "20240604"))


def test_first_bounds() -> None:
    """Chernoff bounds of all points at once contain the odds that are counted world by world."""
    rng = random.Random(SEED)
    n_told = 0
    for _ in range(max(N_TABLES // 2, 30)):
        case = small_case(rng)
        index = index_of(case)
        options = options_of(case, index)
        model = Model(index, options["alpha"], options["prior"])
        points = model.points(list(case.points), "skip")
        found = verdicts(model, points)
        whole = np.flatnonzero(points.complete)
        ways = Ways.of(model, Filling(index), 0.01)
        spread = ways.spreads.of(points.codes[:, whole], found.possible[whole], 1e-4)
        for place, lower, upper in zip(whole.tolist(), *spread.bounds(), strict=True):
            assert is_complete(case.points[place], "skip")
            odds = Grid(case, case.points[place], "skip").odds("uniform")
            for label, low, high in zip(index.labels, lower, upper, strict=True):
                assert low - 1e-9 <= odds[label] <= high + 1e-9, case
            n_told += int((upper < 0.5).any())
    assert n_told


@pytest.mark.parametrize("cells", ["uniform", "observed"])
def test_a_rule_that_goes_on(cells: Any) -> None:
    """After each answer a rule that keeps what it knows says what a new one says."""
    rng = np.random.default_rng(SEED)
    labels = rng.integers(0, 3, 300)
    truth = np.where(rng.random((300, 5)) < 0.35, labels[:, None], rng.integers(0, 4, (300, 5)))
    rows = np.where(rng.random(truth.shape) < 0.25, -1, truth)
    model = Model(CountIndex.from_codes(rows, labels))
    points = model.points(truth[:30], "skip")
    rule = Sureness(model, cells, 0.95)
    rule.labels(points, verdicts(model, points))
    n_kept = 0
    open_cells = [(i, j) for i, j in np.argwhere(rows < 0).tolist()]
    for i, j in [open_cells[k] for k in rng.permutation(len(open_cells))[:12]]:
        name = model.index.features[j]
        value, label = int(truth[i, j]), model.index.labels[int(labels[i])]
        model = model.on(model.index.fill(name, value, label, n_cells=1))
        rule = rule.after(model)
        n_kept += len(rule._known)
        found = verdicts(model, points)
        again = Sureness(model, cells, 0.95).labels(points, found)
        assert rule.labels(points, found).tolist() == again.tolist()
    assert n_kept


def test_distance() -> None:
    """The distance of two counts is half the sum of the differences of their chances, and errors."""
    one = Count(2, np.array([0.5, 0.5]), 0.0)
    assert distance(one, one) == 0
    assert distance(one, Count(3, np.array([0.5, 0.5]), 0.0)) == pytest.approx(0.5)
    assert distance(one, Count(7, np.ones(1), 0.01)) == pytest.approx(1.01)
