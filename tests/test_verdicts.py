"""certify: certain, label and possible against the enumeration of every world, and against its laws.

``NULLPROOF_MORE`` and ``NULLPROOF_SEED`` ask about more and other random tables.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import oracle, strategies
from support.amounts import SEED, n_tables
from support.counted import index_of
from support.large_counts import judge_of_codes
from support.strategies import Case, cases, holes, random_case, random_weights, with_cell

from nullproof import CountIndex, NullproofError, certify

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
N_TABLES = n_tables(20_000)
# All parts belong to the quick check too; one is enough to measure coverage.
PARTS = [0, *(pytest.param(part, marks=pytest.mark.no_cover) for part in range(1, 40))]
Reading = Literal["skip", "any"]
READINGS: tuple[Reading, ...] = ("skip", "any")


def verdicts(
    case: Case, points: Sequence[Any] | None = None, own_missing: Reading = "any"
) -> list[tuple[Any, frozenset[Any]]]:
    """Return, per point, the certain label (or None) and the possible labels; all at once."""
    index = index_of(case)
    asked = list(case.points if points is None else points)
    prior = case.prior_for(index.labels)
    result = certify(index, asked, alpha=case.alpha, prior=prior, own_missing=own_missing)
    assert result.possible.shape == (len(asked), len(index.labels))
    assert len(result.certain) == len(result.label) == len(asked)
    found = []
    for certain, label, row in zip(result.certain, result.label, result.possible, strict=True):
        assert bool(certain) == (label is not None)
        possible = [name for name, is_one in zip(index.labels, row.tolist(), strict=True) if is_one]
        found.append((label, frozenset(possible)))
    return found


def assert_equals_oracle(case: Case, own_missing: Reading = "any") -> None:
    """Compare the verdict on every point of a case with the enumeration of all worlds."""
    told = verdicts(case, own_missing=own_missing)
    for point, (label, possible) in zip(case.points, told, strict=True):
        every = case.outcomes(point, own_missing)
        assert label == oracle.certain_label(every), (point, own_missing, case)
        assert possible == oracle.undominated(every), (point, own_missing, case)
        true = oracle.possible_labels(every)
        assert possible >= true, (point, own_missing, case)
        if not any(cell is None or isinstance(cell, frozenset) for cell in point):
            assert possible == true, (point, own_missing, case)


# Random tables ------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", PARTS)
def test_random_tables(part: int) -> None:
    """T1 to T4, T16: certain, label and possible equal the enumeration of every world, in both readings.

    Three of four tables have weights.
    """
    seed = f"{SEED}-{part}"
    print("seed", seed)
    rng = random.Random(seed)
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


@given(cases())
@settings(max_examples=150, deadline=None)
def test_shrinking_tables(case: Case) -> None:
    """The same law with cases that shrink to the smallest disagreement."""
    assert_equals_oracle(case)


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


# Named cases --------------------------------------------------------------------------------------


def test_paper_decision_example() -> None:
    """The paper's example is certain: 1/6 is above 1/15 in the worst world."""
    index = CountIndex.from_rows(strategies.PAPER_ROWS, strategies.PAPER_LABELS)
    certificate = certify(index, ("a", "b"), alpha=0)
    assert certificate.certain is True
    assert certificate.label == "l*"
    assert certificate.possible == ("l*",)


def test_insurance_story() -> None:
    """One unknown residence leaves one customer's prediction certain and another's open."""
    rows = [
        ("20s", "abroad", "low"),
        ("40s", "US", "low"),
        ("40s", "abroad", "low"),
        ("40s", "US", "low"),
        ("30s", None, "high"),  # customer 11013
    ]
    labels = ["stays", "stays", "churns", "churns", "churns"]
    index = CountIndex.from_rows(rows, labels, features=["Age", "In-US", "Income"])
    customer_11014, customer_11015 = ("30s", "abroad", "high"), ("40s", "abroad", "low")
    result = certify(index, [customer_11014, customer_11015], alpha=0)
    assert list(result.certain) == [True, False]
    assert list(result.label) == ["churns", None]
    assert result.possible.tolist() == [[label == "churns" for label in index.labels], [True, True]]
    single = certify(index, customer_11015, alpha=0)
    assert single.certain is False
    assert single.label is None
    assert set(single.possible) == {"churns", "stays"}


def test_one_value_domain() -> None:
    """Missing cells of a one-value column are forced; counting them as open finds a false tie."""
    index = CountIndex.from_rows([(None,), (None,), ("a",), ("a",)], list("AAAB"))
    assert certify(index, ("a",), alpha=0).label == "A"


def test_value_outside_the_domain() -> None:
    """An unseen value fits no hole: smoothing may still decide, without it everything ties."""
    index = CountIndex.from_rows([("a",), ("a",), ("b",), ("b",), (None,), (None,)], list("AAAABB"))
    assert certify(index, ("z",), alpha=1).label == "A"
    assert set(certify(index, ("z",), alpha=0).possible) == {"A", "B"}


def test_candidate_sets_may_be_plain_sets() -> None:
    """A set in a row or in a point names the candidates of that cell."""
    rows, labels = [("a",), ({"b", "c"},), ("c",), ("b",)], ["A", "A", "B", "B"]
    index = CountIndex.from_rows(rows, labels)
    assert certify(index, ("a",), alpha=0).label == "A"
    assert certify(index, ({"a"},), alpha=0).label == "A"
    assert certify(index, ({"a", "b"},), alpha=0).label is None
    assert certify(index, (None,), own_missing="any", alpha=0).label is None


def test_one_label_is_always_certain() -> None:
    """Without a rival nothing can change, not even for values never seen."""
    index = CountIndex.from_rows([("a", None), (None, "x")], ["only", "only"])
    for point in (("a", "x"), ("z", "z"), (None, {"x", "z"})):
        assert certify(index, point, alpha=0).label == "only"
        assert certify(index, point, alpha=0).possible == ("only",)


def test_no_points() -> None:
    """An empty list of points has an empty answer."""
    index = CountIndex.from_rows([("a",), ("b",)], ["A", "B"])
    result = certify(index, [], alpha=0)
    assert result.possible.shape == (0, 2)
    assert len(result.certain) == len(result.label) == 0


@pytest.mark.parametrize("point", [("a",), ("a", "x", "y")])
def test_wrong_number_of_values(point: tuple[str, ...]) -> None:
    """A point needs one value per feature."""
    index = CountIndex.from_rows([("a", "x"), ("b", "y")], ["A", "B"])
    with pytest.raises(NullproofError):
        certify(index, point, alpha=0)


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


@given(cases(), st.data())
@settings(max_examples=100, deadline=None)
def test_narrowing_a_point_never_breaks_certainty(case: Case, data: st.DataObject) -> None:
    """A point certain for all values of a cell is certain for some of them and for each of them."""
    (point, *_), domains = case.points, case.domains
    j = data.draw(st.integers(0, len(point) - 1))
    fewer = data.draw(st.frozensets(st.sampled_from(domains[j]), min_size=1))
    chain = [
        (*point[:j], cell, *point[j + 1 :])
        for cell in (None, frozenset(domains[j]), fewer, min(fewer, key=repr))
    ]
    every, whole, some, one = verdicts(case, chain)
    assert whole == every
    assert_narrower([some], [whole])
    assert_narrower([one], [some])


@given(cases(), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_order_does_not_matter(case: Case, rng: random.Random) -> None:
    """Rows, features and points in another order have the same verdicts."""
    n_rows, n_features, n_points = len(case.rows), len(case.features), len(case.points)
    by_row, by_feature, by_point = (rng.sample(range(n), n) for n in (n_rows, n_features, n_points))
    moved = replace(
        case,
        rows=tuple(tuple(case.rows[i][j] for j in by_feature) for i in by_row),
        labels=tuple(case.labels[i] for i in by_row),
        features=tuple(case.features[j] for j in by_feature),
        points=tuple(tuple(case.points[p][j] for j in by_feature) for p in by_point),
    )
    before = verdicts(case)
    assert verdicts(moved) == [before[p] for p in by_point]


@given(cases())
@settings(max_examples=150, deadline=None)
def test_many_points_equal_one_by_one(case: Case) -> None:
    """A certificate does not depend on the company its point was asked in."""
    index = index_of(case)
    prior = case.prior_for(index.labels)
    options: Any = {"alpha": case.alpha, "prior": prior, "own_missing": "any"}
    singles = [certify(index, point, **options) for point in case.points]
    assert all(isinstance(single.certain, bool) for single in singles)
    assert [(single.label, frozenset(single.possible)) for single in singles] == verdicts(case)
    assert [single.certain for single in singles] == [
        len(single.possible) == 1 for single in singles
    ]


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
    index = index_of(case)
    prior = case.prior_for(index.labels)
    result = certify(index, [*case.points], alpha=case.alpha, prior=prior, own_missing="any")
    for p, point in enumerate(case.points):
        every = case.outcomes(point)
        for i, label in enumerate(index.labels):
            values = [values[label] for values in every]
            bounds = result.min_log_support[p, i], result.max_log_support[p, i]
            assert bounds == pytest.approx((log(min(values)), log(max(values))), abs=1e-9)


def log(value: Fraction) -> float:
    """Take the logarithm of a fraction of any size."""
    if not value:
        return -math.inf
    return math.log(value.numerator) - math.log(value.denominator)


def test_labels_without_rows() -> None:
    """Part of a table, counted like the whole, may lack a label: smoothing alone supports it."""
    rng = random.Random(20240608)
    for _ in range(150):
        case = random_case(rng)
        kept = [i for i in range(len(case.rows)) if rng.randrange(3)] or [0]
        rows, labels = [case.rows[i] for i in kept], [case.labels[i] for i in kept]
        whole = index_of(case)
        part = CountIndex.from_rows(rows, labels, like=whole)
        prior: Any = rng.choice([None, {label: 1 + rng.randrange(3) for label in whole.labels}])
        options = {"alpha": case.alpha, "prior": prior, "all_labels": whole.labels}
        for point in case.points:
            every = oracle.outcomes(rows, labels, point, case.domains, **options)
            shares = prior and [*prior.values()]
            found = certify(part, point, alpha=case.alpha, prior=shares, own_missing="any")
            assert frozenset(found.possible) == oracle.undominated(every), (point, options, case)
