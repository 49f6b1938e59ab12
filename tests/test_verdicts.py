"""certify: certain, label and possible against the enumeration of every world, and against its laws."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import oracle, strategies
from support.amounts import n_tables, seeded
from support.bias_oracle import READINGS, OwnMissing, shortened
from support.bias_tables import assert_verdicts
from support.counted import index_of
from support.large_counts import judge_of_codes
from support.strategies import Case, cases, holes, random_case, random_weights, with_cell

from nullproof import CountIndex, certify

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
N_TABLES = n_tables(20_000)
# All parts belong to the quick check too; one is enough to measure coverage.
PARTS = [0, *(pytest.param(part, marks=pytest.mark.no_cover) for part in range(1, 40))]


def verdicts(case: Case, points: Sequence[Any] | None = None) -> list[tuple[Any, frozenset[Any]]]:
    """Return, per point, the certain label (or None) and the possible labels; all at once."""
    asked = list(case.points if points is None else points)
    result = certify(index_of(case), asked, own_missing="any", **case.options)
    names = np.array(sorted(case.names), dtype=object)
    pairs = zip(result.label, result.possible, strict=True)
    return [(label, frozenset(names[own])) for label, own in pairs]


def assert_equals_oracle(case: Case, own_missing: OwnMissing = "any") -> None:
    """Compare the verdict on every point of a case with all worlds, which is any bias."""
    result = certify(index_of(case), [*case.points], own_missing=own_missing, **case.options)
    every = (Fraction(1),) * len(case.features)
    assert_verdicts(case, case.judge(), result, every, own_missing)


# Random tables ------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", PARTS)
def test_random_tables(part: int) -> None:
    """T1 to T4, T16: certain, label and possible equal the enumeration of every world, in both readings.

    Three of four tables have weights.
    """
    rng = seeded(part)
    for _ in range(math.ceil(N_TABLES / len(PARTS))):
        case = random_case(rng)
        if rng.random() < 0.75:
            case = replace(case, weights=random_weights(rng, len(case.features)))
        assert_equals_oracle(case, rng.choice(READINGS))


@pytest.mark.parametrize("n_values", [9_999, 10_000, 10_001, 10_050])
def test_wide_domains(n_values: int) -> None:
    """The same law where a column declares about ten thousand values."""
    rng = random.Random(n_values)
    for _ in range(4):
        case = random_case(rng)
        n_extra = n_values - len(case.domains[0])
        assert_equals_oracle(strategies.widened(case, n_extra), rng.choice(READINGS))


@pytest.mark.parametrize("alpha", [0, 1, Fraction(1, 3)])
@pytest.mark.parametrize("n_features", [1, 2, 5, 6])
def test_many_labels_and_points(n_features: int, alpha: Any) -> None:
    """T3, T4 for twenty labels and hundreds of points at once, complete and not."""
    draw = np.random.default_rng(n_features)
    n_values = draw.integers(1, 4, n_features).tolist()
    labels = np.arange(400) % 20
    codes = np.stack([draw.integers(-1, size, 400) for size in n_values], axis=1)
    index = CountIndex.from_codes(codes, labels, n_values=n_values, weights="equal")
    judge = judge_of_codes(codes, labels, n_values, alpha=alpha, prior=None)
    points = [tuple(None if code < 0 else code for code in row) for row in codes.tolist()]
    for asked, reading in itertools.product((points, points[:9]), READINGS):
        found = certify(index, asked, alpha=alpha, own_missing=reading)
        for place in range(0, len(asked), 23 if len(asked) > 9 else 1):
            expected = judge.verdict(asked[place], (Fraction(1),) * n_features, reading)
            assert found[place].label == expected.label
            assert {*found[place].possible} == expected.possible


# Laws ---------------------------------------------------------------------------------------------


def assert_narrower(after: list[Any], before: list[Any]) -> None:
    """Certain points keep their label and no label becomes possible."""
    for (label, possible), (old_label, old_possible) in zip(after, before, strict=True):
        assert possible <= old_possible
        assert old_label is None or label == old_label


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_narrowing_a_cell_never_breaks_certainty(data: st.DataObject) -> None:
    """Fewer candidates, or one, keep certain points certain and make no label possible."""
    case = data.draw(cases().filter(holes))
    i, j = position = data.draw(st.sampled_from(holes(case)))
    options = oracle.candidates(case.rows[i][j], case.domains[j])
    fewer = data.draw(st.frozensets(st.sampled_from(options), min_size=1))
    narrowed, filled = (with_cell(case, position, cell) for cell in (fewer, min(fewer, key=repr)))
    before, between, after = verdicts(case), verdicts(narrowed), verdicts(filled)
    assert_narrower(between, before)
    assert_narrower(after, between)


def test_many_points_of_both_kinds() -> None:
    """Thousands of points, complete and not, equal their own certificates."""
    rng = random.Random(20240605)
    case = random_case(rng)
    while len(case.features) < 3 or len(set(case.labels)) < 3 or not holes(case):
        case = random_case(rng)
    options = [(*domain, None, frozenset(domain[:2])) for domain in case.domains]
    points = [tuple(rng.choice(own) for own in options) for _ in range(10_000)]
    known = {point: verdicts(case, [point])[0] for point in set(points)}
    assert verdicts(case, points) == [known[point] for point in points]


@given(cases())
@settings(max_examples=150, deadline=None)
def test_bounds_are_attained_and_never_crossed(case: Case) -> None:
    """The log supports of all worlds lie between the reported bounds and reach both."""
    index, judge = index_of(case), case.judge()
    result = certify(index, [*case.points], own_missing="any", **case.options)
    every = (Fraction(1),) * len(case.features)
    for p, point in enumerate(case.points):
        kept, points = shortened(point, judge.domains, "any")
        for i, label in enumerate(index.labels):
            values = [x for own in points for x in judge.supports(label, kept, own, every)]
            bounds = result.min_log_support[p, i], result.max_log_support[p, i]
            assert bounds == pytest.approx((log(min(values)), log(max(values))), abs=1e-9)


def log(value: Fraction) -> float:
    """Take the logarithm of a fraction of any size."""
    if not value:
        return -math.inf
    return math.log(value.numerator) - math.log(value.denominator)
