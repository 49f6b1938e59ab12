"""radius with threat="rows": the fewest rows to add until a point's label is lost (T13)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.amounts import n_tables, seeded
from support.attack_oracle import RowJudge, fewest_rows, without_missing
from support.attack_tables import large_points, large_table, rows_case, trailing_table
from support.counted import index_of, index_of_codes, options_of
from support.large_counts import index_from_counts
from support.strategies import Case

from nullproof import CountIndex, certify, poison, radius
from nullproof.attacks import Radii

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")

N_TABLES = n_tables(1500)
N_CHUNKS = 4


def radii_of(case: Case, **more: Any) -> Radii:
    """Ask for the radii of a case's points."""
    index = index_of(case)
    options = options_of(case, index)
    return radius(index, list(case.points), threat="rows", **options, **more)


def assert_rows_suffice(case: Case, found: Radii) -> None:
    """So many rows that agree with the point and so many that disagree take its label."""
    for place, point in enumerate(case.points):
        n_raise, n_lower = int(found.n_raise[place]), int(found.n_lower[place])
        if not 0 < found.radius[place] < math.inf:
            continue
        assert found.radius[place] == n_raise + n_lower
        if found.radius[place] > 1000:
            continue
        shorter, values = without_missing(case, point)
        pairs = [*zip(values, shorter.domains, strict=True)]
        agreeing = tuple(v if v in domain else domain[0] for v, domain in pairs)
        against = tuple(next((w for w in domain if w != v), v) for v, domain in pairs)
        added = [(found.rival[place], agreeing)] * n_raise
        added += [(found.label[place], against)] * n_lower
        assert RowJudge(shorter, values).label(added) != found.label[place]


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_random_tables(chunk: int) -> None:
    """T13: the radius is the fewest rows of all multisets, so one row fewer never suffices."""
    rng = seeded("rows", chunk)
    n_tables, n_attacked = max(N_TABLES // N_CHUNKS // 2, 30), 0
    for _ in range(n_tables):
        case, most = rows_case(rng, 120)
        found = radii_of(case)
        expected = [fewest_rows(case, point, most) for point in case.points]
        size = [own if own <= most else math.inf for own in np.asarray(found.radius).tolist()]
        assert size == expected, case
        assert_rows_suffice(case, found)
        n_attacked += sum(0 < own < math.inf for own in expected)
    assert n_attacked > n_tables / 6


# Larger counts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", range(2))
def test_hundreds_of_rows(chunk: int) -> None:
    """T13: the cheapest of all numbers of agreeing and disagreeing rows, by fractions."""
    rng = seeded("rows-large", chunk)
    n_found = n_many = 0
    for _ in range(max(N_TABLES // 60, 30)):
        table = large_table(rng, rng.choice([8, 15, 40, 150]), rng.choice([1, 1, 1, 2, 32]))
        alpha: Any = rng.choice([0, 1, 1, Fraction(1, 2), 3, 1e-6, 50, 300])
        numbers = [rng.choice([0.1, 1, 7]) for _ in np.unique(table.labels)]
        prior: Any = rng.choice([None, None, numbers])
        points = large_points(rng, table, 3)
        options: Any = {"alpha": alpha, "prior": prior, "threat": "rows"}
        size = np.asarray(radius(index_of_codes(table), points, **options))
        for point, own in zip(points, size.tolist(), strict=True):
            most = int(own) if 50 < own < 800 else 50
            expected = table.fewest_rows(point, Fraction(alpha), prior, most)
            assert (own if own <= most else math.inf) == expected, (table, point, alpha, prior)
            n_found += 3 < expected < math.inf
            n_many += 50 < expected < math.inf
    assert n_found > 20
    assert n_many > 3


def test_exact_ties() -> None:
    """A rival that is a few rows behind ties exactly once it has them; that is enough."""
    rng = seeded("rows-ties")
    n_one = 0
    for _ in range(max(N_TABLES // 20, 40)):
        table, point = trailing_table(rng)
        alpha: Any = rng.choice([0, 0, 1, Fraction(1, 2), 0.1])
        found = np.asarray(radius(index_of_codes(table), [point], alpha=alpha, threat="rows"))
        expected = table.fewest_rows(point, Fraction(alpha), None, 6)
        assert found.tolist() == [expected], (table, alpha)
        n_one += expected == 1
    assert n_one > 5


@pytest.mark.parametrize("share", [1e-3, 1e-6, 1e-9])
def test_millions_of_rows(share: float) -> None:
    """Far beyond any walk: the rows do it, and no split of one row fewer does."""
    index = index_from_counts([2, 2], [[(2, 0), (0, 2)]])
    found = radius(index, [("0",)], prior=[1, share], threat="rows")
    n_rows, n_raise = int(found.radius[0]), int(found.n_raise[0])
    prior = Fraction(share)

    def falls(a: int, b: int) -> bool:
        # Smoothing 1: (2 + 1) / (2 + b + 2) against share · (a + 1) / (2 + a + 2).
        return Fraction(3, 4 + b) <= prior * Fraction(a + 1, a + 4)

    assert falls(n_raise, n_rows - n_raise)
    near = range(max(0, n_raise - 3000), n_raise + 3000)
    for a in {*near, *(n_rows * k // 1000 for k in range(1000))}:
        assert a >= n_rows or not falls(a, n_rows - 1 - a)
    attack = poison(index, [("0",)], prior=[1, share], threat="rows")
    assert attack.n_rows == attack.lower_bound == n_rows
    assert attack.index_after.n_rows == 4 + n_rows
    after = certify(attack.index_after, [("0",)], prior=[1, share]).label
    assert after.tolist() != ["L0"]


# Named tables -------------------------------------------------------------------------------------


def test_rows_may_raise_first_and_lower_then() -> None:
    """With two unseen values a label's support is (n + 1)/(n + 3)², and falls from n = 2 on only."""
    index = index_from_counts([6, 1], [[(3, 1), (3, 0)], [(3, 1), (3, 0)]])
    found = radius(index, [("9", "9")], threat="rows")
    assert (found.label[0], found.n_raise[0], found.n_lower[0]) == ("L1", 0, 5)


def test_one_number_of_rows_gives_the_rival_most() -> None:
    """Beside an unseen value a rival may do best with one row, and worse with none or two."""
    index = index_from_counts([1000, 0], [[(900, 0), (100, 0)], [(300, 0), (300, 0), (400, 0)]])
    assert len(index.labels) == 2
    alpha = Fraction(11, 10)

    def support(n: int) -> Fraction:
        return (n + alpha) / (n + 2 * alpha) * alpha / (n + 3 * alpha)

    assert support(1) > support(0) > support(2)
    own = (900 + alpha) / (1000 + 2 * alpha) * alpha / (1000 + 3 * alpha)
    share = float(support(1) / own) * 0.9999
    found = radius(index, [("0", "9")], alpha=alpha, prior=[share, 1], threat="rows")
    assert (found.radius[0], found.n_raise[0]) == (1, 1)


@pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")
def test_the_rivals_best_may_be_no_row() -> None:
    """A rival that a row of its own would hurt is raised by none; one row of the winner ties here."""
    index = CountIndex.from_rows(
        [("a", "a"), ("b", "b"), ("b", "a")], ["C", "C", "B"], weights={"x0": 2, "x1": 2}
    )
    found = radius(index, [("b", "unseen")], alpha=Fraction(1, 2), prior="uniform", threat="rows")
    assert (found.radius.tolist(), found.n_raise.tolist(), found.n_lower.tolist()) == (
        [1],
        [0],
        [1],
    )
