"""Groups of open cells: how many there are, what is expected of them, how many hold a value (T9)."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from nullproof import CountIndex, NullproofError
from nullproof.bias import Groups, exact_bias, groups_of, held, held_exactly, share_of

ALPHAS = [
    Fraction(0),
    Fraction(1),
    Fraction(0.1),
    Fraction(2, 3),
    Fraction(1, 10**30),
    Fraction(10**400),
]
BIASES = [Fraction(0), Fraction(1, 7), Fraction(1, 2), Fraction(0.9), Fraction(1)]


def reference(known: int, n_known: int, n_candidates: int, alpha: Any) -> Fraction:
    """The smoothed share of the known cells by its definition; equal shares where there are none."""
    whole = n_known + Fraction(alpha) * n_candidates
    return (known + Fraction(alpha)) / whole if whole else Fraction(1, n_candidates)


def bounds(n_cells: int, share: Fraction, bias: Fraction) -> tuple[int, int]:
    """The fewest and the most cells by their definition."""
    least, most = math.floor(n_cells * (share - bias)), math.ceil(n_cells * (share + bias))
    return max(0, least), min(n_cells, most)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_cells_that_hold_a_value(alpha: Any) -> None:
    """Floors and ceilings of exact products, also where these are whole numbers."""
    places = [
        (known, n_cells, n_known, 3)
        for n_cells in (0, 1, 2, 7, 30)
        for n_known in (0, 1, 5, 6)
        for known in range(min(n_known, 4) + 1)
    ]
    columns = np.array(places, dtype=np.int64)
    # One row per group, in two features; the second label repeats the first.
    known, n_cells, n_known = (np.repeat(columns[:, [c]], 2, axis=1) for c in range(3))
    groups = Groups(known, n_cells, n_known, columns[:, [3]])
    owner = np.arange(len(places)) % 2
    for first, second in itertools.product(BIASES, BIASES):
        low, high = held(groups, Fraction(alpha), (first, second), owner)
        for row, (one, n, whole, size) in enumerate(places):
            share = reference(one, whole, size, alpha)
            expected = bounds(n, share, (first, second)[owner[row]])
            assert [(low[row, i], high[row, i]) for i in (0, 1)] == [expected] * 2
            assert (
                held_exactly(n, share.as_integer_ratio(), (first, second)[owner[row]]) == expected
            )
            assert Fraction(*share_of(one, whole, size, Fraction(alpha))) == share
            assert Fraction(*groups.ratio((row, 1), Fraction(alpha))) == share


@pytest.mark.parametrize("n_cells", [1, 2, 10**9])
def test_a_share_that_doubles_round_to_all(n_cells: int) -> None:
    """Smoothed by a billionth, a value of all but one in 10**17 cells need not be in all open ones."""
    known, alpha = 10**8, Fraction(1, 10**9)
    column = [np.array([[number]]) for number in (known, n_cells, known, 2)]
    groups = Groups(*column)
    share = reference(known, known, 2, alpha)
    assert groups.reference(float(alpha)) == 1.0 != share
    for bias in (Fraction(0), Fraction(1, 10**30)):
        low, high = held(groups, alpha, (bias,), np.array([0]))
        assert (low[0, 0], high[0, 0]) == bounds(n_cells, share, bias)
        assert low[0, 0] == n_cells - 1


def test_references_in_floats() -> None:
    """Doubles of the exact shares."""
    known, n_known = np.array([[2, 0], [0, 3]]), np.array([[4, 0], [0, 3]])
    groups = Groups(known, known + 1, n_known, np.array([[3], [2]]))
    assert groups.reference(0.0) == pytest.approx(np.array([[0.5, 1 / 3], [0.5, 1]]))
    assert groups.reference(2.0) == pytest.approx(np.array([[0.4, 1 / 3], [0.5, 5 / 7]]))


def test_groups_of_a_feature() -> None:
    """One per set of candidates; a cell that may hold everything is a missing cell."""
    rows = [(None,), (frozenset("ab"),), (frozenset("abc"),), ("a",), ("a",), ("b",), ("c",)]
    index = CountIndex.from_rows([*rows, (None,)], list("AAAAAAAB"))
    codes = np.array([0, 1, 2, 3])
    whole, pair = groups_of(index, 0, codes)
    assert whole.known.tolist() == [[2, 0], [1, 0], [1, 0], [0, 0]]
    assert whole.n_cells.tolist() == [[2, 1], [2, 1], [2, 1], [0, 0]]
    assert whole.n_known.tolist() == [[4, 0]] * 4
    assert whole.n_candidates.tolist() == [[3]] * 4
    assert pair.n_cells.tolist() == [[1, 0], [1, 0], [0, 0], [0, 0]]
    assert pair.n_known.tolist() == [[3, 0]] * 4
    assert pair.n_candidates.tolist() == [[2]] * 4
    forced = CountIndex.from_rows([("a",), (None,)], ["A", "B"])
    assert [*groups_of(forced, 0, codes[:1])] == []
    known = CountIndex.from_rows([("a",), ("b",)], ["A", "B"])
    assert [*groups_of(known, 0, codes[:2])] == []
    one = CountIndex.from_rows([(None,), ("a",), ("b",)], ["A", "A", "B"])
    assert [groups.n_cells.tolist() for groups in groups_of(one, 0, codes[:2])] == [[[1, 0]] * 2]
    sets = CountIndex.from_rows([(frozenset("ab"),), ("c",)], ["A", "B"])
    assert len([*groups_of(sets, 0, codes[:2])]) == 1


def test_the_bias_of_each_column() -> None:
    """One number for all, or a mapping with a star for the rest, which is 1 if it is not given."""
    index = CountIndex.from_rows([("a", "b")], ["A"], features=["age", "pay"])
    given: list[tuple[Any, Any]] = [
        (0.5, ((Fraction(1, 2),) * 2, (False, False))),
        (np.float32(0.5), ((Fraction(1, 2),) * 2, (False, False))),
        ({"age": 0}, ((0, 1), (True, False))),
        ({"age": 1, "*": Fraction(1, 3)}, ((1, Fraction(1, 3)), (True, False))),
        ({}, ((1, 1), (False, False))),
    ]
    for bias, expected in given:
        assert exact_bias(index, bias) == expected
    for wrong in (True, -0.01, 1.01, math.nan, "1", None, {"age": 2}, {"*": -1}):
        with pytest.raises(NullproofError, match=r"the bias.* is .*give a number from 0"):
            exact_bias(index, wrong)
    with pytest.raises(NullproofError, match=r"'Age', which is no feature; close names are 'age'"):
        exact_bias(index, {"Age": 1})
    with pytest.raises(NullproofError, match="'zzzzz', which is no feature; they are age, pay"):
        exact_bias(index, {"zzzzz": 1})
