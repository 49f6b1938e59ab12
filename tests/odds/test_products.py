"""Exact distributions of supports against every choice of one factor each."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.count_tables import index_from_counts

from nullproof.counts.index import LEFT_OUT
from nullproof.model import Model
from nullproof.odds.products import (
    Scales,
    products,
    products_of_others,
    side_by_side,
    winning_shares,
    winning_weights,
)

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

Part = tuple[list[int], Any]


def drawn_parts(rng: random.Random, top: int) -> list[Part]:
    """A few parts of small factors, or of factors that no machine word holds together."""
    return [
        (
            rng.sample(range(top, top + 9), rng.randint(1, 4)),
            None,
        )
        for _ in range(rng.randint(1, 4))
    ]


@pytest.mark.parametrize("top", [0, 1, 10**9, 10**25])
def test_products_of_factors(top: int) -> None:
    """Every product of one factor of each part stands once, ascending, with the sum of its weights."""
    rng = random.Random(f"products-{top}")
    for _ in range(40):
        parts = [
            (factors, np.array([rng.randint(1, 5) for _ in factors], dtype=object))
            for factors, _ in drawn_parts(rng, top)
        ]
        expected: Counter[int] = Counter()
        for choice in itertools.product(*(zip(f, w.tolist(), strict=True) for f, w in parts)):
            expected[math.prod(f for f, _ in choice)] += math.prod(w for _, w in choice)
        found = products(parts, 10**6)
        assert found is not None
        assert [int(value) for value in found[0]] == sorted(expected)
        assert found[1].tolist() == [expected[value] for value in sorted(expected)]


def test_products_that_are_too_many() -> None:
    """A step that combines more pairs than the limit gives up; one that combines as many does not."""
    parts = [([2, 3, 5], np.ones(3)), ([7, 11], np.ones(2)), ([1, 13], np.ones(2))]
    assert products(parts, 12) is not None
    assert products(parts, 11) is None
    found = products([], 1)
    assert found is not None
    assert (found[0].tolist(), found[1].tolist()) == ([1], [1.0])


@pytest.mark.parametrize("bits", [(20, 20), (31, 31), (31, 32), (32, 32), (40, 40)])
def test_products_at_the_edge_of_machine_words(bits: tuple[int, int]) -> None:
    """Up to 63 bits machine words do, also beside small factors; beyond them, numbers of any size."""
    for least in (0, 1, 2):
        parts = [([least, 2**size - 1, 2**size - 2], np.ones(3)) for size in bits]
        found = products(parts, 100)
        assert found is not None
        expected = sorted({a * b for a in parts[0][0] for b in parts[1][0]})
        assert [int(value) for value in found[0]] == expected
        assert (found[0].dtype == np.int64) == (sum(bits) <= 63)


def drawn_labels(rng: random.Random, n_labels: int) -> list[tuple[Any, Any]]:
    """Values and weights of each label, ascending."""
    found = []
    for _ in range(n_labels):
        values = sorted(rng.sample(range(7), rng.randint(1, 4)))
        found.append(
            (np.array(values), np.array([rng.randint(1, 4) for _ in values], dtype=object))
        )
    return found


def true_wins(labels: list[tuple[Any, Any]], scales: list[int]) -> dict[tuple[int, ...], int]:
    """The weight of each set of winners, by every choice of one value per label."""
    found: dict[tuple[int, ...], int] = {}
    pairs = [
        list(zip(values.tolist(), weights.tolist(), strict=True)) for values, weights in labels
    ]
    for choice in itertools.product(*pairs):
        supports = [value * scale for (value, _), scale in zip(choice, scales, strict=True)]
        winners = tuple(i for i, own in enumerate(supports) if own == max(supports))
        found[winners] = found.get(winners, 0) + math.prod(weight for _, weight in choice)
    return found


@pytest.mark.parametrize("n_labels", [1, 2, 3, 4, 5])
def test_winners(n_labels: int) -> None:
    """Theory 6: weights of all sets of winners are exact, and ties are shared out equally."""
    rng = random.Random(n_labels)
    for _ in range(30):
        labels, scales = drawn_labels(rng, n_labels), [rng.randint(0, 3) for _ in range(n_labels)]
        expected = true_wins(labels, scales)
        table = side_by_side(labels, scales)
        assert winning_weights(table, 1 << n_labels) == expected
        totals = [sum(weights.tolist()) for _, weights in labels]
        chances = [(values, weights.astype(float) / sum(weights)) for values, weights in labels]
        shares = winning_shares(side_by_side(chances, scales))
        for i in range(n_labels):
            exact = sum(
                Fraction(weight, len(winners))
                for winners, weight in expected.items()
                if i in winners
            )
            assert shares[i] == pytest.approx(float(exact / math.prod(totals)), abs=1e-12)


def test_supports_side_by_side() -> None:
    """Every support that some label can have is a column, ascending; equal ones are one."""
    labels = [(np.array([1, 4]), np.array([0.25, 0.75])), (np.array([2, 3]), np.array([0.5, 0.5]))]
    assert side_by_side(labels, [1, 2]).tolist() == [[0.25, 0.75, 0.0], [0.0, 0.5, 0.5]]
    assert side_by_side(labels, [0, 1]).tolist() == [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]


def test_products_of_all_other_rows() -> None:
    """Also where a row is zero, which no quotient could tell."""
    rng = np.random.default_rng(5)
    for n_rows in range(1, 6):
        rows = rng.random((n_rows, 4))
        rows[0, 1] = 0.0
        expected = [np.delete(rows, i, axis=0).prod(axis=0) for i in range(n_rows)]
        assert products_of_others(rows) == pytest.approx(np.array(expected))


@pytest.mark.parametrize("alpha", [Fraction(0), Fraction(1), Fraction(2, 3)])
def test_scales_make_supports_comparable(alpha: Fraction) -> None:
    """Products times scales are the supports, up to one factor for all labels."""
    index = index_from_counts(
        [6, 4, 0, 5], [[(4, 1, 0, 2), (2, 3, 0, 3)], [(5, 0, 0, 1), (0, 4, 0, 2), (1, 0, 0, 2)]]
    )
    model = Model(index, alpha, [3, 2, 1, 0])
    scales = Scales(model)
    for labels in ((0, 1), (0, 1, 2, 3), (1, 3), (2, 3), (3,)):
        found = scales.of(labels)
        assert scales.of(labels) is found
        assert math.gcd(*found) in (0, 1)
        # Without smoothing a label without rows has no support, and without a prior none ever has.
        never = [i == 3 or (i == 2 and not alpha) for i in labels]
        assert [scale == 0 for scale in found] == never
        for codes in ((0, 0), (1, 2), (1, 4)):
            supports, products_of = [], []
            for i, scale in zip(labels, found, strict=True):
                counts = [int(index.low(j, np.array([code]))[0, i]) for j, code in enumerate(codes)]
                supports.append(model.support(i, counts))
                factors = [scales.factors(i, j, range(c, c + 1)) for j, c in enumerate(counts)]
                products_of.append(scale * math.prod(own[0] for own in factors))
            total = sum(products_of)
            assert bool(total) == bool(sum(supports))
            if total:
                shares = [Fraction(own, total) for own in products_of]
                assert shares == [Fraction(own) / sum(supports) for own in supports]
    p, q = alpha.as_integer_ratio()
    assert scales.factors(0, 0, range(2, 5)) == [c * q + p for c in (2, 3, 4)]
    assert scales.factors(0, 1, range(LEFT_OUT, LEFT_OUT + 1)) == [6 * q + 3 * p]


def test_more_sets_of_winners_than_a_limit() -> None:
    """Three labels with either of two supports tie in eight ways, three that surely tie in one."""
    free = np.ones((3, 2), dtype=object)
    assert winning_weights(free, 7) is None
    found = winning_weights(free, 8)
    assert found is not None
    assert len(found) == 7
    assert found[0, 1, 2] == 2
    assert winning_weights(np.array([[0, 1]] * 3, dtype=object), 1) == {(0, 1, 2): 1}
