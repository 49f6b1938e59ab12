"""The counts of points as arrays, against counts of every cell by itself."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support import oracle
from support.strategies import Case, random_case

from nullproof import CountIndex
from nullproof.boxes import Ranges, open_counts, shares_of
from nullproof.counts.index import LEFT_OUT
from nullproof.model import Model

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
BIASES = (Fraction(1), Fraction(1, 3), Fraction(0))


def questions(seed: int, n_tables: int) -> Iterator[tuple[Case, CountIndex]]:
    """Random tables, and their indexes."""
    rng = random.Random(seed)
    for _ in range(n_tables):
        case = random_case(rng)
        options: Any = {"features": case.features, "domains": case.declared}
        yield case, CountIndex.from_rows(case.rows, case.labels, **options)


def cells_of(case: Case, j: int, label: Any) -> list[set[Any]]:
    """The candidates of each cell of one label and feature."""
    return [
        {*oracle.candidates(row[j], case.domains[j])}
        for row, own in zip(case.rows, case.labels, strict=True)
        if own == label
    ]


def within(cells: list[set[Any]], value: Any, bias: Fraction, alpha: Any) -> tuple[int, int]:
    """How many cells hold a value at least and at most (T9), group by group."""
    known = [next(iter(cell)) for cell in cells if len(cell) == 1]
    least = most = known.count(value)
    for group in {frozenset(cell) for cell in cells if len(cell) > 1 and value in cell}:
        n_cells = cells.count({*group})
        n_known = sum(one in group for one in known)
        below = n_known + Fraction(alpha) * len(group)
        above = known.count(value) + Fraction(alpha)
        share = above / below if below else Fraction(1, len(group))
        least += max(0, math.floor(n_cells * (share - bias)))
        most += min(n_cells, math.ceil(n_cells * (share + bias)))
    return least, most


def likely(cells: list[set[Any]], value: Any, domain: Any) -> Fraction:
    """The known cells with a value, and the share of the others that these suggest."""
    known = [next(iter(cell)) for cell in cells if len(cell) == 1]
    held = known.count(value)
    n_may = sum(value in cell for cell in cells) - held
    return held + n_may * (held + Fraction(1, len(domain))) / (len(known) + 1)


@pytest.mark.parametrize("bias", BIASES)
def test_ranges_are_those_of_every_cell(bias: Fraction) -> None:
    """T9: the least and the greatest count over all candidates of a point, and what is likely."""
    for case, index in questions(20261117, 25):
        model = Model(index, case.alpha, bias=bias)
        points = model.points([*case.points, (None,) * model.d], "any")
        found = Ranges.of(model, points)
        for p, point in enumerate([*case.points, (None,) * model.d]):
            for j, domain in enumerate(case.domains):
                values = oracle.candidates(point[j], domain)
                for i, label in enumerate(index.labels):
                    cells = cells_of(case, j, label)
                    for given, low, high in (
                        (bias, found.low, found.high),
                        (Fraction(1), found.least, found.most),
                    ):
                        every = [within(cells, value, given, case.alpha) for value in values]
                        assert low[p, i, j] == min(low for low, _ in every)
                        assert high[p, i, j] == max(high for _, high in every)
                    guess = sum(likely(cells, value, domain) for value in values) / len(values)
                    guess = min(max(guess, int(found.low[p, i, j])), int(found.high[p, i, j]))
                    assert found.likely[p, i, j] == pytest.approx(float(guess))


def test_some_of_the_points() -> None:
    """Taken points have their own counts, of all five kinds."""
    for case, index in questions(20261118, 5):
        for bias in BIASES:
            model = Model(index, case.alpha, bias=bias)
            whole = Ranges.of(model, model.points(list(case.points)))
            positions = np.arange(len(case.points))[::-2].copy()
            some = whole.take(positions)
            for name in ("low", "high", "likely", "least", "most"):
                assert (getattr(some, name) == getattr(whole, name)[positions]).all()
            assert (some.n_open == (whole.most - whole.least)[positions]).all()


def test_a_feature_that_is_left_out() -> None:
    """It counts the same everywhere, and is never open (theory 9)."""
    index = CountIndex.from_rows([("a",), (None,), ("b",), (None,)], list("AABB"))
    for bias in BIASES:
        model = Model(index, 1, bias=bias)
        found = Ranges.of(model, model.points([(None,), ("a",)], "skip"))
        for counts in (found.low, found.high, found.likely, found.least, found.most):
            assert (counts[0] == LEFT_OUT).all()
        assert found.n_open.tolist() == [[[0], [0]], [[1], [1]]]


def test_open_cells_and_shares() -> None:
    """Cells with a choice per label and feature; shares with one cell more, spread evenly."""
    rows = [("a", None), ("b", "x"), (None, None), ({"a", "b"}, "x"), ("c", "x")]
    index = CountIndex.from_rows(rows, list("AAABB"))
    # The second feature has one value, so its missing cells have no choice.
    assert open_counts(index).tolist() == [[1, 0], [1, 0]]
    assert index.n_open.tolist() == [[1, 1], [2, 0]]
    third = 1 / 3
    shares = [
        [(1 + third) / 3, third / 2],
        [(1 + third) / 3, third / 2],
        [third / 3, (1 + third) / 2],
    ]
    assert shares_of(index, 0, np.arange(3)) == pytest.approx(np.array(shares))
