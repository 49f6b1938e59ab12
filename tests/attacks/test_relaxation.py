"""The program that bounds joint attacks: its value is below the truth in exact arithmetic, and near it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array
from support.joint_tables import index_of, larger_table

from nullproof.attacks.joint.effort import Effort
from nullproof.attacks.joint.modes import Box, Modes, single_optima, union_attack
from nullproof.attacks.joint.problem import Problem
from nullproof.attacks.joint.relaxation import Relaxation, certified_value
from nullproof.attacks.poisoning import different
from nullproof.radii.cells import radii

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_certified_value_in_fractions(scale: float) -> None:
    """Theory 5: the value and the prices are below those of weak duality without any rounding."""
    rng = np.random.default_rng(7)
    for _ in range(40):
        n_rows, n_columns = int(rng.integers(1, 7)), int(rng.integers(1, 9))
        dense = rng.normal(size=(n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.7)
        right, cost = rng.normal(size=n_rows) * scale, rng.uniform(0, 2, n_columns)
        low = rng.integers(-2, 3, n_columns).astype(float)
        high, duals = low + rng.uniform(0, 5, n_columns) * scale, rng.uniform(0, 1, n_rows)
        value, price = certified_value(cost, csr_array(dense), right, (low, high), duals)
        exact = sum(Fraction(y) * Fraction(r) for y, r in zip(duals, right, strict=True))
        for j in range(n_columns):
            reduced = Fraction(cost[j]) - sum(
                Fraction(y) * Fraction(entry) for y, entry in zip(duals, dense[:, j], strict=True)
            )
            exact += min(reduced * Fraction(low[j]), reduced * Fraction(high[j]))
            assert abs(Fraction(price[j])) <= abs(reduced)
            assert price[j] * reduced >= 0
            assert abs(reduced) - abs(Fraction(price[j])) <= Fraction(1, 10**12)
        assert Fraction(value) <= exact
        assert exact - Fraction(value) <= Fraction(scale) / 10**10 + Fraction(1, 10**10)


def problems() -> list[Problem]:
    """Joint problems of some tables whose points can all be broken."""
    found = list[Problem]()
    for seed in range(40):
        rng = np.random.default_rng(600 + seed)
        table = larger_table(rng, dirty=seed % 2 == 1)
        judged = radii(index_of(table), list(table.points), alpha=table.alpha)
        places = [*different(judged, np.flatnonzero(judged.radius > 0)).values()]
        if places and np.isfinite(judged.radius).all():
            found.append(Problem.of(judged, places))
    return found


def test_first_programs_are_strong() -> None:
    """Before any split the program proves as much as it ever did, with lines at common levels alone."""
    total, every = 0.0, problems()
    for problem in every:
        singles = single_optima(problem)
        union = int(union_attack(problem, [found[0] for found in singles]).sum())
        modes = Modes(problem, singles, union + 1)
        relaxation = Relaxation(modes, Effort(rounds=1).begin())
        upper = np.minimum(problem.capacity, union)
        box = Box(np.zeros_like(upper), upper, np.ones(modes.n_modes, dtype=bool))
        found = relaxation.solve(box)
        assert found.bound <= union
        total += found.bound
    assert len(every) == 36
    assert total == pytest.approx(123.178, abs=0.01)
