"""Cells that points leave out: what looking them up would do, against certify and predict."""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.cleaning_oracle import index_of, options_of, small_case
from support.strategies import Case

from nullproof import certify, cleaning_plan

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
N_TABLES = int(os.environ.get("NULLPROOF_CLEANING_TABLES", "1600")) // 16
SEED = int(os.environ.get("NULLPROOF_SEED", "20240604"))


@pytest.mark.parametrize("bias", [1.0, 0.1])
def test_left_out(bias: float) -> None:
    """A cell secures or changes a prediction as often as its values do, weighed by the known cells."""
    rng = random.Random(SEED)
    n_found = 0
    for _ in range(max(N_TABLES // 2, 20)):
        case = blanked(small_case(rng), rng)
        index = index_of(case)
        options = options_of(case, index) | {"bias": bias}
        plan = cleaning_plan(index, list(case.points), **options)
        found = {(one.cell.row, one.cell.column): one for one in plan.left_out}
        now = certify(index, list(case.points), **options)
        for place, point in enumerate(case.points):
            for j, name in enumerate(case.features):
                domain = case.domains[j]
                if point[j] is not None or len(domain) < 2:
                    assert (place, name) not in found
                    continue
                filled = [(*point[:j], value, *point[j + 1 :]) for value in domain]
                after = certify(index, filled, **options)
                likely = chances(case, j, now.predicted[place])
                secures = 0.0 if now.certain[place] else float(likely @ after.certain)
                other = np.array([one != now.predicted[place] for one in after.predicted])
                changes = float(likely @ other)
                if not secures and not changes:
                    assert (place, name) not in found, case
                    continue
                one = found[place, name]
                assert one.done == now.certain[place]
                assert one.label == now.predicted[place]
                assert (one.secures, one.changes) == pytest.approx((secures, changes)), case
                n_found += 1
        order = [(-one.secures, -one.changes) for one in plan.left_out]
        assert order == sorted(order)
    assert n_found


def blanked(case: Case, rng: random.Random) -> Case:
    """The same table with points that each lack a cell."""
    points = []
    for point in case.points:
        j = rng.randrange(len(point))
        points.append((*point[:j], None, *point[j + 1 :]))
    return replace(case, points=tuple(points))


def chances(case: Any, j: int, label: Any) -> Any:
    """How frequent values are among the known cells of a label; of all labels where none is predicted."""
    labels = {*case.labels} if label is None else {label}
    total = np.zeros(len(case.domains[j]))
    for own in labels:
        cells = [row[j] for row, name in zip(case.rows, case.labels, strict=True) if name == own]
        known = Counter(
            next(iter(cell)) if isinstance(cell, frozenset) else cell
            for cell in cells
            if cell is not None and (not isinstance(cell, frozenset) or len(cell) == 1)
        )
        counts = np.array([float(known[value]) for value in case.domains[j]])
        counts = counts if counts.any() else np.ones(len(counts))
        total += counts * (case.labels.count(own) if len(labels) > 1 else 1)
    return total / total.sum()


def test_any_leaves_nothing_out() -> None:
    """Where holes may hold anything, no cell is left out."""
    rng = random.Random(SEED + 1)
    for _ in range(N_TABLES // 4 + 1):
        case = small_case(rng)
        index = index_of(case)
        plan = cleaning_plan(index, list(case.points), own_missing="any", **options_of(case, index))
        assert plan.left_out == ()
