"""Laws of the joint attack: the bounds enclose the brute-force optimum and meet on small cases."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import (
    CUBE,
    PETERSEN,
    PRISM,
    cover_counts,
    heavy_enough,
    min_vertex_cover,
    three_colouring,
)
from joint_oracle import fewest_cells
from joint_tables import random_table, table_counts
from scipy.optimize import linprog
from scipy.sparse import csr_array

from nullproof.blanking.joint.effort import Effort
from nullproof.blanking.joint.problem import build_problem
from nullproof.blanking.joint.relaxation import certified_value
from nullproof.blanking.joint.search import improve
from nullproof.blanking.joint.single import single_optima
from nullproof.blanking.joint.solving import UnbreakableError, solve


@pytest.mark.parametrize("block", range(8))
def test_bounds_enclose_the_optimum(block: int) -> None:
    """Law: lower bound <= optimum <= cells, equal when claimed, and 95 % are proven."""
    proven = total = 0
    for seed in range(25 * block, 25 * block + 25):
        rng = np.random.default_rng(seed)
        table = random_table(rng, int(rng.integers(2, 5)), dirty=seed % 2 == 1)
        want = fewest_cells(table)
        problem = build_problem(table_counts(table))
        if want is None:
            with pytest.raises(UnbreakableError):
                solve(problem, effort=Effort(rounds=1))
            continue
        found = solve(problem, effort=Effort(rounds=200))
        assert found.lower_bound <= want <= found.n_cells, seed
        assert problem.succeeds(found.cells)
        total += 1
        proven += found.optimal
    assert proven >= 0.95 * total


@pytest.mark.parametrize("edges", [PRISM, CUBE, PETERSEN], ids=["prism", "cube", "petersen"])
def test_vertex_cover(edges: list[tuple[int, int]]) -> None:
    """Law: the reduction's optimum is the minimum vertex cover, and it is proven."""
    problem = build_problem(cover_counts(edges, three_colouring(edges), heavy_enough(edges)))
    found = solve(problem, effort=Effort(rounds=300))
    assert found.optimal
    assert found.n_cells == min_vertex_cover(edges)


def test_six_points_of_the_paper() -> None:
    """Law: the six points of the paper's example, five vertices a-e, need three cells."""
    edges = [(0, 1), (2, 1), (2, 3), (0, 3), (3, 4), (0, 4)]
    problem = build_problem(cover_counts(edges, (0, 1, 0, 1, 2), 100))
    found = solve(problem, effort=Effort(rounds=100))
    assert (found.n_cells, found.lower_bound) == (3, 3)


def test_same_seed_same_answer() -> None:
    """Law: with a number of rounds the answer depends on the seed alone."""
    problem = build_problem(cover_counts(PETERSEN, three_colouring(PETERSEN), 20))
    first, second = (solve(problem, effort=Effort(rounds=5), seed=3) for _ in range(2))
    assert np.array_equal(first.cells, second.cells)
    assert first.lower_bound == second.lower_bound


@pytest.mark.parametrize("seed", range(60))
def test_single_optimum(seed: int) -> None:
    """Law: for one point the cheapest rival's optimum is the brute-force optimum."""
    rng = np.random.default_rng(1000 + seed)
    table = random_table(rng, 1, dirty=seed % 2 == 1)
    problem = build_problem(table_counts(table))
    want = fewest_cells(table)
    if problem.n_points == 0:
        assert want == 0
    else:
        found = single_optima(problem, 0)
        assert (found[0].n_cells if found else None) == want


def test_interrupt_keeps_the_best() -> None:
    """Law: Ctrl-C at any time returns a verified attack and a true bound."""
    problem = build_problem(cover_counts(PETERSEN, three_colouring(PETERSEN), 20))

    def interrupt(n_cells: int, bound: int) -> None:
        raise KeyboardInterrupt

    found = solve(problem, on_progress=interrupt)
    assert problem.succeeds(found.cells)
    assert found.lower_bound <= 6 <= found.n_cells


def test_improve_never_worsens() -> None:
    """Law: the search alone returns a verified attack no larger than its start."""
    problem = build_problem(cover_counts(PETERSEN, three_colouring(PETERSEN), 20))
    start = problem.capacity
    found = improve(problem, start, effort=Effort(rounds=5), seed=1)
    assert problem.succeeds(found)
    assert found.sum() <= start.sum()


@pytest.mark.parametrize("seed", range(40))
def test_certified_value(seed: int) -> None:
    """Law: any multipliers give a value below the program's optimum."""
    rng = np.random.default_rng(seed)
    matrix = csr_array(rng.integers(-3, 4, (4, 6)).astype(float))
    inside = rng.uniform(0, 5, 6)
    right = matrix @ inside - rng.uniform(0, 1, 4)
    cost = rng.uniform(0, 2, 6)
    bounds = (np.zeros(6), np.full(6, 5.0))
    best = linprog(cost, A_ub=-matrix, b_ub=-right, bounds=(0, 5)).fun
    duals = rng.uniform(0, 1, 4)
    assert certified_value(cost, matrix, right, bounds, duals) <= best + 1e-7
