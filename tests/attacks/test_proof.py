"""Search and proof together: verified attacks, true bounds, and what is told on the way."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from support.joint_oracle import Table, fewest_by_counts, fewest_cells
from support.joint_tables import index_of, random_table

from nullproof.attacks.joint import proof
from nullproof.attacks.joint.effort import Effort
from nullproof.attacks.joint.modes import single_optima, union_attack
from nullproof.attacks.joint.problem import Problem
from nullproof.attacks.poisoning import different
from nullproof.radii.cells import radii

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")


def problem_of(table: Table) -> Problem | None:
    """The joint problem of a tiny table; None if nothing is certain, or a point is beyond attack."""
    found = radii(index_of(table), list(table.points), alpha=table.alpha)
    places = [*different(found, np.flatnonzero(found.radius > 0)).values()]
    return None if np.isinf(found.radius).any() or not places else Problem.of(found, places)


def tables(n_tables: int, alpha: Fraction | None = None) -> list[tuple[Problem, int]]:
    """Problems of tiny tables with the fewest cells that brute force finds."""
    found = list[tuple[Problem, int]]()
    for seed in range(200):
        rng = np.random.default_rng(500 + seed)
        table = random_table(rng, int(rng.integers(2, 5)), dirty=seed % 2 == 1)
        table = table if alpha is None else table._replace(alpha=alpha)
        problem = problem_of(table)
        if alpha is not None and len(table.rows) * len(table.domains) > 10:
            continue
        oracle = fewest_by_counts if alpha is None else fewest_cells
        want = None if problem is None else oracle(table)
        if problem is not None and want:
            found.append((problem, want))
        if len(found) == n_tables:
            break
    return found


@pytest.mark.parametrize("rounds", [0, 1, 40])
def test_bounds_enclose_the_optimum(rounds: int) -> None:
    """Lower bound ≤ optimum ≤ cells of a verified attack; with some rounds all are proven."""
    n_proven, every = 0, tables(12)
    for problem, want in every:
        cells, bound = proof.solve(problem, effort=Effort(rounds=rounds))
        assert problem.succeeds(cells)
        assert bound <= want <= cells.sum()
        singles = single_optima(problem)
        assert bound >= max(found[0].n_cells for found in singles)
        assert cells.sum() <= union_attack(problem, [found[0] for found in singles]).sum()
        n_proven += bound == want == cells.sum()
    assert n_proven >= (len(every) if rounds == 40 else 6)


@pytest.mark.parametrize("alpha", [Fraction(1, 10**400), Fraction(10**400)])
def test_attacks_that_floats_cannot_weigh(alpha: Fraction) -> None:
    """Beyond all floats the union is trimmed by exact tests, and no group has a cell to spare."""
    every = tables(6, alpha)
    assert every
    for problem, want in every:
        cells, bound = proof.solve(problem, effort=Effort(rounds=3))
        assert problem.succeeds(cells)
        assert bound <= want <= cells.sum()
        if bound < cells.sum():
            for group in np.flatnonzero(cells).tolist():
                fewer = cells.copy()
                fewer[group] -= 1
                assert not problem.succeeds(fewer)


def test_trimming_one_group() -> None:
    """Of one group as few cells are left as the others allow, and the others stay."""
    for problem, _ in tables(6):
        for group in range(problem.n_groups):
            found = proof._trimmed(problem, problem.capacity, group)
            counts = range(int(problem.capacity[group]) + 1)
            others = np.arange(problem.n_groups) != group
            assert (found == problem.capacity)[others].all()
            works = []
            for count in counts:
                tried = problem.capacity.copy()
                tried[group] = count
                works.append(problem.succeeds(tried))
            assert works == [count >= found[group] for count in counts]


def test_what_is_told() -> None:
    """Best, bound and share are told as they are found: none of them goes back."""
    problem, want = tables(12)[-1]
    told = list[tuple[int, int, float]]()
    cells, bound = proof.solve(
        problem, effort=Effort(rounds=30), on_progress=lambda *one: told.append(one)
    )
    for (best, least, share), (later, more, further) in itertools.pairwise(told):
        assert later <= best
        assert more >= least
        assert further >= share
    for best, least, share in told:
        assert least <= want <= best
        assert 0 <= share <= 1
    assert bound <= cells.sum()


def test_an_attack_that_fails_is_never_given() -> None:
    """What does not fell every point is an error of ours, whatever the bound."""
    problem, _ = tables(1)[0]
    singles = single_optima(problem)
    nothing = np.zeros(problem.n_groups, dtype=np.int64)
    work = proof._Work(problem, singles, nothing, 0, None)
    with pytest.raises(AssertionError, match="does not fell every point"):
        work.result()
    work = proof._Work(problem, singles, problem.capacity, 0, None)
    work.bound = int(problem.capacity.sum()) + 5
    assert work.result()[1] == problem.capacity.sum()
    work.bound = 1
    assert work.result()[1] == 1
    assert proof._Work(problem, [], nothing, 0, None).bound == 0
