"""The radius against all subsets of changed cells, of the whole table and within reach (T12, T14).

``NULLPROOF_CHANGED_TABLES`` sets the number of random tables of each, ``NULLPROOF_SEED`` the seed they
start from.
"""

from __future__ import annotations

import math
import os
import random
from typing import Any

import pytest
from support.blanking_oracle import falsified_radius, subset_radius
from support.changing_oracle import Tables, tiny_case
from support.limits import random_limits
from support.strategies import Case

from nullproof.counts.index import CountIndex
from nullproof.radii.cells import radius

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

N_TABLES = int(os.environ.get("NULLPROOF_CHANGED_TABLES", "5000"))
SEED = int(os.environ.get("NULLPROOF_SEED", "20240604"))
N_CHUNKS = 10


def radii_of_case(case: Case, only: Any = None) -> list[float]:
    """Ask for the radii of a case's points."""
    index = CountIndex.from_rows(
        case.rows, case.labels, features=case.features, domains=case.declared
    )
    prior = case.prior_for(index.labels)
    asked: Any = {"alpha": case.alpha, "prior": prior, "own_missing": "any", "only": only}
    found: list[float] = radius(index, list(case.points), **asked).tolist()
    return found


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_random_tables(chunk: int) -> None:
    """T12: no fewer wrong cells than blanked ones take a point's label, and as many do."""
    seed = f"{SEED}-changed-{chunk}"
    print("seed", seed)
    rng = random.Random(seed)
    n_tables, n_attacked = math.ceil(N_TABLES / N_CHUNKS), 0
    for _ in range(n_tables):
        case = tiny_case(rng)
        tables = Tables(case)
        expected = [tables.radius(point) for point in case.points]
        assert radii_of_case(case) == expected, case
        n_attacked += sum(0 < own < math.inf for own in expected)
    assert n_attacked > n_tables / 4 or n_tables < 50


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_random_tables_within_limits(chunk: int) -> None:
    """T14: the same where only some columns, rows or cells can be changed."""
    seed = f"{SEED}-changed-within-{chunk}"
    print("seed", seed)
    rng = random.Random(seed)
    n_tables, n_attacked = math.ceil(N_TABLES / N_CHUNKS), 0
    for _ in range(n_tables):
        case = tiny_case(rng)
        only, within = random_limits(rng, case)
        tables = Tables(case, within)
        expected = [tables.radius(point) for point in case.points]
        assert radii_of_case(case, only) == expected, case
        n_attacked += sum(0 < own < math.inf for own in expected)
    assert n_attacked > n_tables / 20 or n_tables < 50


def test_all_tables_at_once() -> None:
    """The oracle finds what a walk through subsets finds: cells falsified, and blanked within limits."""
    rng = random.Random(f"{SEED}-oracle")
    for _ in range(25):
        case = tiny_case(rng)
        _, within = random_limits(rng, case)
        for point in case.points:
            assert Tables(case).radius(point) == falsified_radius(case, point), case
            assert Tables(case, within).radius(point) == subset_radius(case, point, within), case
