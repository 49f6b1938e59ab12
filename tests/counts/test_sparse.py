"""Counts of columns, dense and sparse, against a walk over the cells."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nullproof.counts import sparse
from nullproof.counts.sparse import (
    DenseCounts,
    Known,
    SparseCounts,
    count_columns,
    count_together,
    counts_together,
    from_cells,
    tallied,
)

Columns = list[tuple[NDArray[Any], int]]
# How many joint codes, rows and cells are counted at once, and from where on counts are sparse.
USUAL = {"_JOINT": 4096, "_FEW_ROWS": 10_000, "_CELLS": 1 << 16, "_DENSE": 4_000_000}
SIZES = [
    USUAL,
    {**USUAL, "_FEW_ROWS": 0},
    # Two groups at a time, of more joint codes the more rows there are.
    {**USUAL, "_FEW_ROWS": 0, "_MANY_ROWS": 0, "_JOINT": 24, "_ROWS_A_PLACE": 1},
    {"_JOINT": 24, "_FEW_ROWS": 0, "_CELLS": 60, "_DENSE": 24},
    {"_JOINT": 24, "_FEW_ROWS": 99, "_CELLS": 60, "_DENSE": 24},
    {"_JOINT": 0, "_FEW_ROWS": 0, "_CELLS": 0, "_DENSE": 1000},
    {"_JOINT": 1000, "_FEW_ROWS": 99, "_CELLS": 12, "_DENSE": 1000},
    {"_JOINT": 1000, "_FEW_ROWS": 99, "_CELLS": 1000, "_DENSE": 0},
]


def walked(codes: NDArray[Any], n_values: int, labels: NDArray[Any], m: int) -> list[list[int]]:
    """The counts of each value, those of missing cells first."""
    found = Counter(zip(codes.tolist(), labels.tolist(), strict=True))
    return [[found[value, label] for label in range(m)] for value in range(-1, n_values)]


def drawn(rng: np.random.Generator, n_rows: int, sizes: list[int], dtype: Any = np.int8) -> Columns:
    """Columns of codes, missing ones among them, with so many values each."""
    return [(rng.integers(-1, size, n_rows).astype(dtype), size) for size in sizes]


def assert_counted(columns: Columns, labels: NDArray[Any], m: int) -> list[Known]:
    """Check the counts of all columns; give them."""
    ways = [list(count_columns(iter(columns), labels, m))]
    sizes = [size for _, size in columns]
    if columns and counts_together(len(labels), sizes, m):
        cells = np.array([codes for codes, _ in columns])
        ways.append(list(count_together(cells, sizes, labels, m)))
    for pairs in ways:
        assert len(pairs) == len(columns)
        for (codes, size), (known, n_missing) in zip(columns, pairs, strict=True):
            expected = walked(codes, size, labels, m)
            assert known.dense.tolist() == expected[1:]
            assert known.dense.dtype == n_missing.dtype == np.int64
            assert n_missing.tolist() == expected[0]
    return [known for known, _ in ways[0]]


@pytest.mark.parametrize("sizes", SIZES)
def test_columns_are_counted_as_cells(
    sizes: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever way columns are counted, alone or together, each cell counts once."""
    for name, size in sizes.items():
        monkeypatch.setattr(sparse, name, size)
    # Joint counts are dense.
    monkeypatch.setattr(sparse, "_MOST_JOINT", min(sparse._MOST_JOINT, sizes["_DENSE"]))
    rng = np.random.default_rng(20261117)
    for n_rows, m in ((1, 1), (20, 2), (30, 3), (60, 4), (61, 5)):
        for n_columns in (0, 1, 2, 3, 7):
            n_values = rng.choice([1, 1, 2, 3, 4, 5, 7, 11, 12, 40], n_columns).tolist()
            labels = rng.integers(0, m, n_rows).astype(np.int32)
            known = assert_counted(drawn(rng, n_rows, n_values), labels, m)
            for own, size in zip(known, n_values, strict=True):
                assert isinstance(own, SparseCounts) == ((size + 1) * m > sizes["_DENSE"])


def test_many_rows_of_many_columns() -> None:
    """More joint codes than 16 bits hold are never counted together."""
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 3, 12_000).astype(np.int32)
    assert_counted(drawn(rng, 12_000, [20, 20, 20, 4, 1, 63, 2, 3, 70, 6, 100]), labels, 3)
    # A domain that alone has as many joint codes as fit, one more, and far more.
    wide = drawn(rng, 12_000, [1364, 1365, 2, 30_000], np.int32)
    assert_counted(wide, labels, 3)
    four = rng.integers(0, 4, 12_000).astype(np.int32)
    assert_counted(drawn(rng, 12_000, [16_383, 16_384, 3], np.int32), four, 4)
    assert_counted(drawn(rng, 12_000, [2, 126, 2, 126]), labels, 3)


def test_groups_of_columns_end_where_they_are_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns are counted together as long as their joint code is small, in their own order."""
    sizes: list[list[int]] = []

    def noted(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(group: Columns, labels: Any, n_labels: int) -> Any:
            sizes.append([size for _, size in group])
            return function(group, labels, n_labels)

        return wrapped

    monkeypatch.setattr(sparse, "_count_jointly", noted(sparse._count_jointly))
    monkeypatch.setattr(sparse, "_count_in_a_row", noted(sparse._count_in_a_row))
    rng = np.random.default_rng(1)
    monkeypatch.setattr(sparse, "_FEW_ROWS", 19)
    labels = rng.integers(0, 2, 20).astype(np.int32)
    # 2 labels × 4 × 8 × 64 is 4096.
    for given, groups in (
        ([3, 7, 63], [[3, 7, 63]]),
        ([3, 7, 64], [[3, 7], [64]]),
        ([3, 7, 63, 1], [[3, 7, 63], [1]]),
        ([3, 3000, 7], [[3], [3000], [7]]),
        ([2047, 2048], [[2047], [2048]]),
    ):
        sizes.clear()
        assert_counted(drawn(rng, 20, given, np.int16), labels, 2)
        assert sizes == groups
    monkeypatch.setattr(sparse, "_FEW_ROWS", 20)
    monkeypatch.setattr(sparse, "_CELLS", 60)
    for given, groups in (
        ([1] * 7, [[1] * 3, [1] * 3, [1]]),
        ([1, 29, 2, 30, 2, 2], [[1, 29, 2], [], [2, 2]]),
    ):
        sizes.clear()
        assert_counted(drawn(rng, 20, given), labels, 2)
        assert sizes == groups


@pytest.mark.parametrize(("m", "n_values"), [(1, 65_534), (1, 65_535), (2, 32_767), (3, 21_845)])
def test_as_many_joint_codes_as_16_bits_hold(m: int, n_values: int) -> None:
    """A column with about 65,536 places, and one more that fits beside it or not."""
    rng = np.random.default_rng(m)
    labels = rng.integers(0, m, 10_001).astype(np.int32)
    columns = drawn(rng, 10_001, [n_values, 1], np.int32)
    columns[0][0][:2] = n_values - 1, -1
    for given in (columns, columns[::-1], columns[:1]):
        assert_counted(given, labels, m)


@pytest.mark.parametrize(
    "sizes", [[32_766], [32_767], [32_768], [16_000, 16_765], [16_000, 16_800]]
)
def test_as_many_places_as_15_bits_hold(sizes: list[int]) -> None:
    """Columns of few rows that have about 32,767 places in all, with their last values held."""
    labels = np.zeros(50, dtype=np.int32)
    columns = drawn(np.random.default_rng(3), 50, sizes, np.int32)
    for codes, size in columns:
        codes[:2] = size - 1, -1
    assert counts_together(len(labels), sizes, 1)
    assert_counted(columns, labels, 1)


def test_which_tables_are_counted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of few rows in which no column has too many places or would be sparse."""
    monkeypatch.setattr(sparse, "_FEW_ROWS", 20)
    monkeypatch.setattr(sparse, "_CELLS", 60)
    assert counts_together(20, [1, 29, 2], 2)
    assert not counts_together(21, [1, 29, 2], 2)
    assert not counts_together(20, [1, 30, 2], 2)
    monkeypatch.setattr(sparse, "_DENSE", 59)
    assert not counts_together(20, [1, 29, 2], 2)


@pytest.fixture(params=["dense", "sparse"])
def is_sparse(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether tables are kept sparse in a test; those of 4 values and 3 labels are the smallest."""
    wanted: bool = request.param == "sparse"
    monkeypatch.setattr(sparse, "_DENSE", 14 if wanted else 15)
    return wanted


def random_table(rng: random.Random) -> NDArray[np.int64]:
    table = [[rng.choice((0, 0, 1, 5)) for _ in range(3)] for _ in range(4)]
    return np.array(table, dtype=np.int64)


def kept(table: NDArray[np.int64]) -> Known:
    """Counts made from the places of a table that are not zero, in any order."""
    values, labels = np.nonzero(table)
    order = np.random.default_rng(int(table.sum())).permutation(len(values))
    values, labels = values[order], labels[order]
    return from_cells(values, labels, table[values, labels], (4, 3))


def test_counts_answer_alike(is_sparse: bool) -> None:
    """Dense and sparse counts have the same rows, places, cells and sums, and add up alike."""
    rng = random.Random(20261118)
    tables = [random_table(rng) for _ in range(20)]
    for table in [np.zeros((4, 3), dtype=np.int64), *tables]:
        known = kept(table)
        assert isinstance(known, SparseCounts if is_sparse else DenseCounts)
        assert known.dense.tolist() == table.tolist()
        codes = np.array([3, 0, 4, 5, 1, 1])
        rows = [*table[[3, 0]].tolist(), [0] * 3, [0] * 3, *table[[1, 1]].tolist()]
        assert known.rows(codes).tolist() == rows
        values, labels = np.array([0, 3, 1, 2]), np.array([2, 0, 1, 2])
        assert known.at(values, labels).tolist() == table[values, labels].tolist()
        cells = [(v, i, int(table[v, i])) for v in range(4) for i in range(3) if table[v, i]]
        assert [*zip(*(own.tolist() for own in known.cells()), strict=True)] == cells
        for alpha in (0.0, 0.25):
            assert known.label_sums(alpha).tolist() == (table.sum(axis=0) + 4 * alpha).tolist()
        other = random_table(rng)
        assert (known + kept(other)).dense.tolist() == (table + other).tolist()
        assert [len(own) for own in (known + kept(other)).cells()] == [
            (table + other > 0).sum()
        ] * 3


def test_changes_of_counts(is_sparse: bool) -> None:
    """Cells come and go; places that become zero are no cells any more, and the counts before stay."""
    rng = random.Random(20261119)
    for _ in range(60):
        table = random_table(rng)
        known = kept(table)
        values, labels, n_cells, after = [], [], [], table.copy()
        for _ in range(rng.randrange(6)):
            value, label = rng.randrange(4), rng.randrange(3)
            number = rng.choice((1, 2, -int(after[value, label])))
            after[value, label] += number
            values.append(value)
            labels.append(label)
            n_cells.append(number)
        given = [np.array(own, dtype=np.int64) for own in (values, labels, n_cells)]
        changed = known.changed(*given)
        assert (changed is known) == (not values)
        assert known.dense.tolist() == table.tolist()
        assert changed.dense.tolist() == after.tolist()
        if isinstance(changed, SparseCounts):
            assert changed.keys.tolist() == np.flatnonzero(after).tolist()
            assert changed.counts.tolist() == after[after != 0].tolist()


def test_groups_of_cells_add_up(is_sparse: bool) -> None:
    """Groups of cells by code and label, those of a negative code aside."""
    rng = np.random.default_rng(3)
    codes, labels = rng.integers(-2, 4, 50), rng.integers(0, 3, 50)
    counts = rng.integers(1, 9, 50)
    expected = np.zeros((4, 3), dtype=np.int64)
    for code, label, count in zip(codes, labels, counts, strict=True):
        if code >= 0:
            expected[code, label] += count
    known = tallied(codes.astype(np.int32), labels.astype(np.int32), counts, (4, 3))
    assert isinstance(known, SparseCounts) == is_sparse
    assert known.dense.tolist() == expected.tolist()


def test_where_counts_are_sparse() -> None:
    """With one value more than four million places hold, the one for missing cells included."""
    nothing = np.empty(0, dtype=np.int64)
    for m, most in ((2, 1_999_999), (5, 799_999)):
        for n_values, wanted in ((most, DenseCounts), (most + 1, SparseCounts)):
            assert isinstance(from_cells(nothing, nothing, nothing, (n_values, m)), wanted)
            codes = np.array([n_values - 1, -1, 0], dtype=np.int32)
            labels = np.array([0, 1, m - 1], dtype=np.int32)
            ((known, n_missing),) = count_columns([(codes, n_values)], labels, m)
            assert isinstance(known, wanted)
            assert n_missing.tolist() == [0, 1, *[0] * (m - 2)]
            assert [own.tolist() for own in known.cells()] == [
                [0, n_values - 1],
                [m - 1, 0],
                [1, 1],
            ]


def test_large_values_keep_their_places() -> None:
    """Values and labels of narrow types have places beyond what these types hold."""
    known = from_cells(
        np.array([100_000_000 - 1], dtype=np.int32),
        np.array([40], dtype=np.int8),
        np.array([7]),
        (100_000_000, 50),
    )
    assert isinstance(known, SparseCounts)
    assert known.keys.tolist() == [(100_000_000 - 1) * 50 + 40]
    values = np.array([100_000_000 - 1, 5], dtype=np.int32)
    assert known.at(values, np.array([40, 40])).tolist() == [7, 0]
    after = known.changed(values, np.array([40, 40]), np.array([-7, 2]))
    assert [own.tolist() for own in after.cells()] == [[5], [40], [2]]
