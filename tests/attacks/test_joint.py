"""Laws of the joint attack: the bounds enclose the brute-force optimum and meet on small cases."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array
from support.graphs import (
    CUBE,
    PETERSEN,
    PRISM,
    cover_index,
    heavy_enough,
    min_vertex_cover,
    three_colouring,
)
from support.joint_oracle import Point, Table, fewest_by_counts, fewest_cells
from support.joint_tables import index_of, larger_table, random_table

from nullproof.attacks.joint.effort import Effort
from nullproof.attacks.joint.modes import ANYONE, Pair, lower_hull, single_optima, union_attack
from nullproof.attacks.joint.problem import Problem
from nullproof.attacks.joint.proof import solve
from nullproof.attacks.joint.relaxation import certified_value
from nullproof.attacks.joint.search import Polish
from nullproof.attacks.joint.state import State
from nullproof.attacks.joint.tree import Tree
from nullproof.attacks.poisoning import different
from nullproof.counts.index import CountIndex
from nullproof.radii.cells import radii
from nullproof.radii.frontier import first_near

pytestmark = pytest.mark.filterwarnings("ignore:points hold values")

EXTREME = [Fraction(1e-309), Fraction(1, 10**400), Fraction(10**400)]


def problem_of(
    index: CountIndex, points: Sequence[Point], alpha: Fraction = Fraction(0)
) -> Problem | None:
    """The joint problem of the points that are certain; None if one of them is beyond attack."""
    found = radii(index, list(points), alpha=alpha)
    places = different(found, np.flatnonzero(found.radius > 0)).values()
    if np.isinf(found.radius).any():
        return None
    return Problem.of(found, [*places])


def table_problem(table: Table) -> Problem | None:
    """The joint problem of a tiny table."""
    return problem_of(index_of(table), table.points, table.alpha)


def cover_problem(edges: list[tuple[int, int]], heavy: int) -> Problem:
    """The joint problem whose optimum is a minimum vertex cover."""
    problem = problem_of(*cover_index(edges, three_colouring(edges), heavy))
    assert problem is not None
    return problem


def assert_enclosed(problem: Problem | None, want: int | None, effort: Effort, seed: int) -> bool:
    """Check lower bound <= optimum <= cells of a true attack; tell whether the two are equal."""
    assert (problem is None) == (want is None)
    if problem is None or want is None:
        return False
    cells, bound = solve(problem, effort=effort, seed=seed)
    assert bound <= want <= cells.sum(), seed
    assert problem.succeeds(cells)
    return bool(bound == cells.sum())


def test_a_wrong_guess_costs_only_time() -> None:
    """Law: the first number where a condition turns true is found from any guess."""
    for top in range(12):
        for first in range(top + 1):
            for guess in range(15):
                assert first_near(guess, top, first.__le__) == first


@pytest.mark.parametrize("block", range(8))
def test_bounds_enclose_the_optimum(block: int) -> None:
    """Law: lower bound <= optimum <= cells, equal when claimed, and 95 % are proven."""
    proven = total = 0
    for seed in range(10 * block, 10 * block + 10):
        rng = np.random.default_rng(seed)
        table = random_table(rng, int(rng.integers(2, 5)), dirty=seed % 2 == 1)
        want = fewest_by_counts(table)
        proven += assert_enclosed(table_problem(table), want, Effort(rounds=200), 0)
        total += want is not None
    assert proven >= 0.95 * total


@pytest.mark.parametrize("block", range(4))
def test_bounds_enclose_the_optimum_of_larger_tables(block: int) -> None:
    """Law: lower bound <= optimum <= cells, however little or much was looked."""
    total = 0
    for seed in range(20 * block, 20 * block + 20):
        rng = np.random.default_rng(90_000 + seed)
        table = larger_table(rng, dirty=seed % 2 == 1)
        try:
            want = fewest_by_counts(table, 100_000)
        except ValueError:
            continue
        effort = Effort(rounds=(0, 1, 3, 20)[seed % 4])
        assert_enclosed(table_problem(table), want, effort, seed)
        total += bool(want)
    assert total >= 3


@pytest.mark.parametrize("alpha", EXTREME, ids=["1e-309", "1e-400", "1e400"])
def test_smoothing_beyond_all_floats(alpha: Fraction) -> None:
    """Law: lower bound <= optimum <= cells, also where a float is no alpha, and half are proven."""
    proven = total = 0
    for seed in range(150):
        rng = np.random.default_rng(70_000 + seed)
        table = random_table(rng, int(rng.integers(2, 4)), dirty=seed % 2 == 1)
        table = table._replace(alpha=alpha)
        if len(table.rows) * len(table.domains) > 10:
            continue
        want = fewest_cells(table)
        proven += assert_enclosed(table_problem(table), want, Effort(rounds=10), 0)
        total += want is not None
    assert total >= 5
    assert proven >= total / 2


def test_the_oracles_agree() -> None:
    """Law: trying counts per sort of cell gives the same optimum as trying sets of cells."""
    for seed in range(30):
        rng = np.random.default_rng(80_000 + seed)
        table = random_table(rng, int(rng.integers(2, 5)), dirty=seed % 2 == 1)
        shape = len(table.rows), len(table.domains)
        allowed = rng.random(shape) < (1.0 if seed % 3 else 0.6)
        within = {(i, j) for i, j in np.argwhere(allowed).tolist()}
        assert fewest_by_counts(table, within=within) == fewest_cells(table, within), seed


@pytest.mark.parametrize("edges", [PRISM, CUBE, PETERSEN], ids=["prism", "cube", "petersen"])
def test_vertex_cover(edges: list[tuple[int, int]]) -> None:
    """Law: the reduction's optimum is the minimum vertex cover, and it is proven."""
    cells, bound = solve(cover_problem(edges, heavy_enough(edges)), effort=Effort(rounds=300))
    assert cells.sum() == bound == min_vertex_cover(edges)


def test_six_points_of_the_paper() -> None:
    """Law: the six points of the paper's example, five vertices a-e, need three cells."""
    edges = [(0, 1), (2, 1), (2, 3), (0, 3), (3, 4), (0, 4)]
    problem = problem_of(*cover_index(edges, (0, 1, 0, 1, 2), 100))
    assert problem is not None
    cells, bound = solve(problem, effort=Effort(rounds=100))
    assert (cells.sum(), bound) == (3, 3)


def test_same_seed_same_answer() -> None:
    """Law: with a number of rounds the answer depends on the seed alone."""
    problem = cover_problem(PETERSEN, 20)
    (one, bound), (other, again) = (
        solve(problem, effort=Effort(rounds=5), seed=3) for _ in range(2)
    )
    assert np.array_equal(one, other)
    assert bound == again


@pytest.mark.parametrize("seed", range(60))
def test_single_optimum(seed: int) -> None:
    """Law: for one point the cheapest rival's optimum is the brute-force optimum."""
    rng = np.random.default_rng(1000 + seed)
    table = random_table(rng, 1, dirty=seed % 2 == 1)
    problem, want = table_problem(table), fewest_by_counts(table)
    if problem is None:
        assert want is None
    else:
        assert [found[0].n_cells for found in single_optima(problem)] == [want] * (want != 0)


@pytest.mark.parametrize("seed", range(20))
def test_lines_lie_below_the_frontier(seed: int) -> None:
    """Law: no number of raising steps gets by with fewer lowering steps than the lines say."""
    rng = np.random.default_rng(2000 + seed)
    problem = table_problem(larger_table(rng, dirty=seed % 2 == 1))
    singles = [] if problem is None else [s for found in single_optima(problem) for s in found]
    for single in (s for s in singles if s.rival != ANYONE):
        assert problem is not None
        frontier = Pair(problem, single.point, single.rival).frontier
        first, last = int(single.ends[0, 0]), int(single.ends[-1, 0])
        for raised in range(first, last + 1):
            lowered = next(b for b in range(10**6) if frontier.falls(raised, b))
            assert raised + lowered >= single.n_cells
            for slope, need in lower_hull(single.ends):
                assert lowered >= need - slope * raised - 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_polishing_worsens_nothing_but_by_rounding(seed: int) -> None:
    """Law: around an attack the program is feasible, so its value is at most the attack's size."""
    rng = np.random.default_rng(3000 + seed)
    problem = table_problem(larger_table(rng, dirty=seed % 2 == 1))
    if problem is not None:
        start = union_attack(problem, [found[0] for found in single_optima(problem)])
        found = Polish(problem)(State(problem, start))
        assert found is None or found.sum() <= start.sum() + 1e-6


def test_out_of_time_the_bound_stays_true() -> None:
    """Law: programs abandoned for lack of time leave the bound at the largest radius."""
    problem = cover_problem(PETERSEN, 20)
    singles = single_optima(problem)
    tree = Tree(problem, singles, 10, Effort(seconds=0.0).begin())
    for _ in range(3):
        tree.step()
    assert tree.bound == max(found[0].n_cells for found in singles)
    _, bound = solve(problem, effort=Effort(seconds=0.0))
    assert bound == tree.bound


@pytest.mark.parametrize("block", range(4))
def test_boxes_cover_every_better_attack(block: int) -> None:
    """Law: whatever attack is known, the tree's bound never passes the optimum and ends there."""
    total = 0
    for seed in range(20 * block, 20 * block + 20):
        rng = np.random.default_rng(60_000 + seed)
        table = larger_table(rng, dirty=seed % 2 == 1)
        problem = table_problem(table)
        try:
            want = fewest_by_counts(table, 20_000)
        except ValueError:
            continue
        if problem is None or not want:
            continue
        singles = single_optima(problem)
        union = int(union_attack(problem, [found[0] for found in singles]).sum())
        # Of the best attack itself nothing more may be claimed than that it is the best.
        for most in (want + 1, union + 1, want + 7):
            tree = Tree(problem, singles, int(rng.integers(want, most)), Effort(rounds=1).begin())
            while not tree.done and tree.n_boxes < 200:
                tree.step()
                assert tree.bound <= want, seed
            assert tree.bound == want, seed
        total += 1
    assert total >= 3


def test_interrupt_keeps_the_best() -> None:
    """Law: Ctrl-C at any time returns a verified attack and a true bound."""
    problem = cover_problem(PETERSEN, 20)

    def interrupt(n_cells: int, bound: int, share: float) -> None:
        raise KeyboardInterrupt

    cells, bound = solve(problem, effort=Effort(), on_progress=interrupt)
    assert problem.succeeds(cells)
    assert bound <= 6 <= cells.sum()


@pytest.mark.parametrize("seed", range(40))
def test_certified_value(seed: int) -> None:
    """Law: any multipliers give a value below the program's optimum, and prices that all solutions pay."""
    rng = np.random.default_rng(seed)
    matrix = csr_array(rng.integers(-3, 4, (4, 6)).astype(float))
    inside = rng.uniform(0, 5, 6)
    right = matrix @ inside - rng.uniform(0, 1, 4)
    cost = rng.uniform(0, 2, 6)
    bounds = (np.zeros(6), np.full(6, 5.0))
    best = linprog(cost, A_ub=-matrix, b_ub=-right, bounds=(0, 5)).fun
    duals = rng.uniform(0, 1, 4)
    value, price = certified_value(cost, matrix, right, bounds, duals)
    assert value <= best + 1e-7
    # Every point of the program pays the price of each column on top.
    away = np.where(price > 0, inside, inside - 5.0)
    assert (value + price * away <= cost @ inside + 1e-7).all()
