"""The paper's algorithms: equal to nullproof where the paper is right, different where it says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nullproof import CountIndex, NullproofError, certify, radius
from nullproof.baselines import (
    CodedTable,
    approximate_decision,
    greedy_search,
    iterate,
    iterate_with_index,
    random_poisoning,
    smarter_random,
    union,
)

N_TABLES = 60


def random_table(seed: int, *, missing: float = 0.0, most_labels: int = 3) -> CodedTable:
    """A small table whose labels are of very different size, so that rivals saturate."""
    rng = np.random.default_rng(seed)
    n, d, m = rng.integers(4, 30), rng.integers(1, 5), rng.integers(2, most_labels + 1)
    sizes = rng.integers(2, 4, d)
    codes = np.stack([rng.integers(0, size, n) for size in sizes], axis=1)
    codes[: sizes.max()] = np.minimum(np.arange(sizes.max())[:, None], sizes - 1)
    labels = rng.choice(m, n, p=(weights := 3.0 ** -np.arange(m)) / weights.sum())
    labels[:m] = np.arange(m)
    codes[rng.random(codes.shape) < missing] = -1
    return CodedTable.of(codes, labels, n_values=sizes.tolist())


def points_of(table: CodedTable, seed: int, n: int = 4) -> Any:
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, size, n) for size in table.n_values], axis=1)


def index_of(table: CodedTable) -> CountIndex:
    return CountIndex.from_codes(table.codes, table.labels, n_values=table.n_values)


def blanked(table: CodedTable, cells: Any) -> CodedTable:
    codes = table.codes.copy()
    codes[np.divmod(np.asarray(cells, dtype=np.int64), table.n_features)] = -1
    return CodedTable.of(codes, table.labels, n_values=table.n_values)


@pytest.mark.parametrize("seed", range(N_TABLES))
def test_iterate_is_right_where_domains_are_not_degenerate(seed: int) -> None:
    """With and without index, Algorithm 1 certifies what nullproof does."""
    table = random_table(seed, missing=0.15)
    points = points_of(table, seed)
    expected = certify(index_of(table), points, alpha=0).certain
    assert iterate(table, points).tolist() == expected.tolist()
    assert iterate_with_index(table, points).tolist() == expected.tolist()


def test_algorithm_1_misses_the_one_value_domain() -> None:
    """A missing cell of a constant column has one candidate; the paper's text counts it as open."""
    codes = [[0, 0], [0, -1], [0, -1], [1, 0], [0, 0]]
    table = CodedTable.of(codes, [0, 0, 0, 1, 1])
    assert certify(index_of(table), np.array([[0, 0]]), alpha=0).certain.tolist() == [True]
    assert iterate(table, [0, 0]).tolist() == iterate_with_index(table, [0, 0]).tolist() == [False]


def test_algorithm_1_lets_a_missing_cell_hold_an_unseen_value() -> None:
    """A value outside the domain has support 0 for all; in the paper's text missing cells take it."""
    table = CodedTable.of([[0, 0], [1, 1], [-1, 0]], [0, 0, 1])
    assert iterate(table, [2, 0]).tolist() == iterate_with_index(table, [2, 0]).tolist() == [False]
    assert iterate(CodedTable.of([[0], [1]], [0, 0]), [5]).tolist() == [True]


@pytest.mark.parametrize("seed", range(20))
def test_sampling_errs_on_one_side_only(seed: int) -> None:
    """AD calls every certain point certain, and on a complete table it calls nothing else so."""
    table = random_table(seed, missing=0.1)
    points = points_of(table, seed)
    said = approximate_decision(table, points, n_worlds=10, seed=seed)
    assert (said >= certify(index_of(table), points, alpha=0).certain).all()
    complete = random_table(seed)
    said = approximate_decision(complete, points, n_worlds=2)
    assert said.tolist() == certify(index_of(complete), points, alpha=0).certain.tolist()


def test_sampling_takes_a_rare_world_for_impossible() -> None:
    """Hardly one world in ten million disagrees: no sample of 100 shows it."""
    codes = [[0]] * 5 + [[-1]] * 60 + [[1], [2]] + [[0]] * 9
    table = CodedTable.of(codes, [0] * 67 + [1] * 9)
    assert approximate_decision(table, [0]).tolist() == [True]
    assert iterate(table, [0]).tolist() == [False]


@pytest.mark.parametrize("seed", range(30))
def test_random_poisoning_stops_at_the_first_cell_that_breaks_the_point(seed: int) -> None:
    """All ways to check choose the same cells; with one fewer the point is certain."""
    table, point = random_table(seed), points_of(random_table(seed), seed, 1)
    found = random_poisoning(table, point, seed=seed)
    for check in ("counts", "bisect"):
        same = random_poisoning(table, point, seed=seed, check=check)
        assert same.cells.tolist() == found.cells.tolist()
    assert not iterate(blanked(table, found.cells), point)[0]
    if found.n_cells:
        assert iterate(blanked(table, found.cells[:-1]), point)[0]


@pytest.mark.parametrize("seed", range(30))
def test_smarter_random_breaks_the_point(seed: int) -> None:
    """SR stops at the first cell that breaks the point, and never beats the radius."""
    table, point = random_table(seed), points_of(random_table(seed), seed, 1)
    found = smarter_random(table, point, seed=seed)
    again = smarter_random(table, point, seed=seed, check="iterate")
    assert found.cells.tolist() == again.cells.tolist()
    assert not iterate(blanked(table, found.cells), point)[0]
    assert found.n_cells >= np.asarray(radius(index_of(table), point, alpha=0))[0]
    if found.n_cells:
        assert iterate(blanked(table, found.cells[:-1]), point)[0]


@pytest.mark.parametrize("seed", range(N_TABLES))
def test_greedy_is_optimal_unless_a_rival_saturates(seed: int) -> None:
    """GS equals the radius but for T6; its cells break the point; what it claims is told apart."""
    table = random_table(seed)
    for point in points_of(table, seed):
        found, optimum = (
            greedy_search(table, point),
            np.asarray(radius(index_of(table), point[None], alpha=0))[0],
        )
        assert found.n_cells == len(set(found.cells.tolist()))
        assert not iterate(blanked(table, found.cells), point)[0]
        assert found.n_claimed <= found.n_cells
        if found.n_cells != optimum:
            assert found.saturated
            assert found.n_cells > optimum
        if not found.saturated:
            assert found.n_claimed == found.n_cells


def test_random_tables_show_the_exception_of_t6() -> None:
    """Among the tables above there are points where GS is not optimal, or claims too little."""
    longer = false = 0
    for seed in range(N_TABLES):
        table = random_table(seed)
        for point in points_of(table, seed):
            found, optimum = (
                greedy_search(table, point),
                np.asarray(radius(index_of(table), point[None], alpha=0))[0],
            )
            longer += found.n_cells > optimum
            false += found.n_claimed < optimum
    assert longer
    assert false


def test_union_counts_shared_cells_once() -> None:
    """Points that break by the same cells cost them once; no points cost nothing."""
    table = random_table(1)
    (point,) = points_of(table, 5, 1)
    one = greedy_search(table, point)
    assert one.n_cells
    assert union([point, point], lambda p: greedy_search(table, p)).n_cells == one.n_cells
    assert union([], lambda p: greedy_search(table, p)).n_cells == 0


def test_a_tie_costs_nothing() -> None:
    """A point that the complete table does not predict needs no cell; nor is there a rival of one."""
    table = CodedTable.of([[0], [0]], [0, 1])
    assert greedy_search(table, [0]).n_cells == 0
    assert smarter_random(table, [0]).n_cells == 0
    assert random_poisoning(table, [0]).n_cells == 0
    alone = CodedTable.of([[0], [1]], [0, 0])
    assert greedy_search(alone, [0]).n_cells == smarter_random(alone, [0]).n_cells == 0


def test_wide_domains_and_empty_columns_are_taken() -> None:
    """Codes beyond a byte keep their value; a column of NULLs has a domain of one."""
    table = CodedTable.of([[300, -1], [2, -1]], [0, 1])
    assert table.n_values == (301, 1)
    assert (table.n_rows, table.n_cells) == (2, 4)
    assert iterate(table, [300, 0]).tolist() == [False]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: CodedTable.of([0, 1], [0, 1]), "rows × features"),
        (lambda: CodedTable.of([[0], [1]], [0]), "one whole number from 0 for each of 2 rows"),
        (lambda: CodedTable.of([[0], [1]], [0, 1], n_values=[1]), "n_values does not fit"),
        (lambda: iterate(random_table(0), [[0] * 9]), "one row per point"),
        (lambda: iterate(CodedTable.of([[0]], [0]), [[-1]]), "missing value"),
        (lambda: approximate_decision(random_table(0), [[0]], n_worlds=0), "at least 1"),
        (lambda: greedy_search(CodedTable.of([[-1]], [0]), [0]), "complete tables"),
        (lambda: greedy_search(CodedTable.of([[0]], [0]), [[0], [0]]), "use union"),
    ],
)
def test_wrong_input_is_told(make: Any, said: str) -> None:
    """Each refusal says what was needed."""
    with pytest.raises(NullproofError, match=said):
        make()
