"""Leads at the edges of what doubles hold, and of labels without support (T10)."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.bias_oracle import double_below
from support.count_tables import first_point, index_from_counts

from nullproof import CountIndex, tolerance
from nullproof import leads as leads_module
from nullproof.bias import Groups, share_of
from nullproof.leads import Pairs, Tables, _double_below, _two_product, _Whole, floats_do
from nullproof.model import Model

BILLIONTH = Fraction(1, 10**9)


def pair_of(model: Model, values: Any = None, own_missing: Any = "skip") -> Pairs:
    """The first label and the second one at the point with the first value of every feature, or another."""
    points = first_point(model.index) if values is None else model.points([values], own_missing)
    return Tables(model, points).pairs(np.array([0]), np.array([0]), np.array([1]))


# Very large and very small counts -----------------------------------------------------------------


@pytest.mark.parametrize("ahead", [True, False])
@pytest.mark.parametrize("n_features", [11, 12, 16, 22, 23, 40])
def test_products_of_the_largest_and_the_smallest_counts(n_features: int, ahead: bool) -> None:
    """No product over- or underflows, whichever label has all of 2**63 - 1 rows and which has none."""
    most = 2**63 - 1
    counts = [[[most, 0], [0, most]] if ahead else [[0, most], [most, 0]]] * n_features
    model = Model(index_from_counts([most, most], counts), BILLIONTH, "uniform")
    assert floats_do(model)
    pairs = pair_of(model)
    quotient = (most + BILLIONTH) / BILLIONTH
    expected = (
        (1 if ahead else -1)
        * n_features
        * (math.log(quotient.numerator) - math.log(quotient.denominator))
    )
    assert abs(pairs.lead(np.ones(1)).log[0] - expected) <= pairs.slack[0]


def test_a_tolerance_among_trillions_of_rows() -> None:
    """Sixteen features that a rival of ten trillion rows always has, a winner of ten rows never.

    Its prior makes up for them but for a factor: in the last feature it needs three a's, one known and two
    of eight holes, half of which are a's like the known cells. That holds up to a bias of 1/4. Products of
    sixteen such counts once underflowed, and a tolerance of 0 was told.
    """
    n, alpha = 10**13, Fraction(1, 10**8)
    counts = [*[[[0, n], [10, 0]]] * 16, [[1, n], [1, 0]]]
    index = index_from_counts([10, n], counts)
    index = replace(index, n_null=np.array([*[[0, 0]] * 16, [8, 0]]))
    size = 10 + 2 * alpha
    prior = [math.prod([size / alpha] * 16, start=size) / Fraction(27, 10), Fraction(1)]
    assert floats_do(Model(index, alpha, prior))
    assert tolerance(index, [["0"] * 17], alpha=alpha, prior=prior).tolist() == [0.25]


def test_the_slack_is_a_bound_of_all_errors() -> None:
    """What `Model.slack` says of all logarithms of both labels, for counts of any size, and twice that."""
    sizes, prior = [5, 2**60], [Fraction(1, 10**6), Fraction(10**6)]
    index = index_from_counts(sizes, [[[1, 7], [4, 2**60 - 7]]] * 3)
    model = Model(index, BILLIONTH, prior)
    logs = [
        abs(math.log(share)) + 3 * (abs(math.log(size + 2e-9)) + math.log(2**63))
        for share, size in zip(model.prior, sizes, strict=True)
    ]
    slack = float(pair_of(model).slack[0])
    assert slack >= 2 * model.slack(sum(logs))
    # It is no larger than it needs to be, by far.
    assert slack < 3 * model.slack(sum(logs))


# Jumps --------------------------------------------------------------------------------------------


def whole_of(columns: list[tuple[int, int, int, int]], alpha: Fraction) -> _Whole:
    """Groups from known cells with the value, cells, known cells and candidates."""
    own = (np.array(column, dtype=np.int64)[:, None] for column in zip(*columns, strict=True))
    return _Whole.of(Groups(*own), alpha)


def assert_jumps(columns: list[tuple[int, int, int, int]], held: int, alpha: Fraction) -> None:
    """Compare the bias up to which so many cells hold the value with the fraction, rounded down."""
    whole, places = whole_of(columns, alpha), np.arange(len(columns))
    cells = np.full(len(columns), float(held))
    for sign in (1, -1):
        found = whole.jump(places, sign, cells, alpha).tolist()
        for (known, n_cells, n_known, size), jump in zip(columns, found, strict=True):
            share = Fraction(*share_of(known, n_known, size, alpha))
            assert jump == double_below(sign * (Fraction(held, n_cells) - share))


@pytest.mark.parametrize("n", [2**52 - 1, 2**52, 2**52 + 1, 2**53 - 1, 2**53 + 1, 2**54 + 2])
def test_jumps_of_numbers_that_doubles_just_hold(n: int) -> None:
    """Where numerators or denominators are too long for doubles, fractions decide."""
    rng = random.Random(n)
    for n_cells in (1, 3, 5):
        known_of = n // n_cells
        columns = [(rng.randint(0, known_of), n_cells, known_of, 2) for _ in range(60)]
        assert_jumps(columns, n_cells // 2, Fraction(0))
        assert_jumps(columns, n_cells, Fraction(0))


@pytest.mark.parametrize(
    "alpha",
    [
        Fraction(2**53 - 1, 2**53),
        Fraction(2**53, 2**53 - 1),
        Fraction(2**53 + 1, 2**53),
        Fraction(10**400 + 1, 10**400),
        Fraction(10**400, 10**400 + 1),
        Fraction(1, 3 * 10**8 + 1),
        Fraction(1, 10**400),
    ],
    ids=["below 1", "above 1", "too long", "much too long", "the same below 1", "small", "tiny"],
)
def test_jumps_with_long_fractions_of_smoothing(alpha: Fraction) -> None:
    """However many digits the smoothing has, and without any known cell too."""
    columns = [(0, 3, 0, 2), (0, 3, 0, 3), (1, 7, 2, 3), (0, 1, 1, 2), (5, 2, 9, 4)]
    assert_jumps(columns, 1, alpha)


def test_the_greatest_double_that_is_not_above() -> None:
    """Of fractions of either sign, and of doubles themselves."""
    rng = random.Random(8)
    for _ in range(200):
        exact = Fraction(rng.randint(-(10**6), 10**6), 10**6 + rng.randint(0, 99))
        assert _double_below(exact) == double_below(exact)
        assert _double_below(Fraction(double_below(exact))) == double_below(exact)


def test_errors_of_products_of_long_numbers() -> None:
    """Exact for numbers with all bits in use, where the halves must be cut at the right place."""
    rng = random.Random(9)
    numbers = [float(2**53 - 1 - rng.randrange(2**k)) for k in range(1, 53) for _ in range(8)]
    a, b = np.array(numbers) * 2.0**-53, np.array(rng.sample(numbers, len(numbers)))
    for x, y, product, error in zip(a, b, *_two_product(a, b), strict=True):
        assert Fraction(product) + Fraction(error) == Fraction(x) * Fraction(y)


# Labels without support ---------------------------------------------------------------------------


def test_leads_of_labels_without_support() -> None:
    """A winner without support is never ahead, a rival without support never catches up."""
    one, none = [[3, 0], [2, 5]], [[0, 0], [5, 5]]
    for features, lead in (
        ([one], math.inf),
        ([[[0, 3], [5, 2]]], -math.inf),
        # Neither has any.
        ([none], -math.inf),
        ([one, none], -math.inf),
        ([none, one], -math.inf),
        ([one, [[0, 3], [5, 2]]], -math.inf),
        # Both a count of zero and of all rows, many times over.
        ([*[one] * 12, *[[[0, 3], [5, 2]]] * 12], -math.inf),
        ([*[[[0, 3], [5, 2]]] * 12, *[one] * 12], -math.inf),
    ):
        pairs = pair_of(Model(index_from_counts([5, 5], features), 0))
        assert pairs.lead(np.ones(1)).log.tolist() == [lead]


def test_leads_over_a_label_without_a_prior() -> None:
    """It never catches up; but a winner that lacks a value is not ahead of it either."""
    for n_held, lead in ((2, math.inf), (0, -math.inf)):
        index = index_from_counts([5, 5], [[[n_held, 3], [5 - n_held, 2]]])
        assert pair_of(Model(index, 0, [1, 0])).lead(np.ones(1)).log.tolist() == [lead]


@pytest.mark.parametrize("alpha", [0, Fraction(1, 10)])
@pytest.mark.parametrize("n_rows", [0, 1])
def test_leads_over_a_label_of_few_rows(alpha: Fraction, n_rows: int) -> None:
    """Without rows and smoothing a label has no support, even for a point that leaves all out."""
    index = index_from_counts([4, n_rows], [[[1, n_rows], [3, 0]]])
    model = Model(index, alpha, "uniform")
    for values in (["0"], [None]):
        pairs = pair_of(model, values)
        least, most = (
            Fraction(count + alpha, n + 2 * alpha) if values[0] and n + alpha else Fraction(1)
            for count, n in ((1, 4), (n_rows, n_rows))
        )
        log = math.log(least / most) if n_rows or alpha else math.inf
        assert pairs.lead(np.ones(1)).log == pytest.approx([log], abs=1e-12)
        # The other way round it has no support to lead with.
        back = pairs.tables.pairs(np.array([0]), np.array([1]), np.array([0]))
        assert back.lead(np.ones(1)).log == pytest.approx([-log], abs=1e-12)


def test_a_feature_that_is_left_out_has_no_size() -> None:
    """Its factor is 1 for every label, whatever their numbers of rows."""
    index = index_from_counts([4, 9], [[[1, 5], [3, 4]], [[2, 3], [2, 6]]])
    tables = Tables(Model(index, 1), first_point(index))
    # Two values, a value outside and the row that is left out, for each of two features.
    sizes = tables.log_size.reshape(2, 4, 2)
    assert not sizes[:, 3].any()
    for counts in (tables.low, tables.high):
        assert (counts.reshape(2, 4, 2)[:, 3] == 1).all()
    assert sizes[:, :3] == pytest.approx(np.broadcast_to(np.log([6, 11]), (2, 3, 2)))


# Forms of tables ----------------------------------------------------------------------------------


def test_plain_tables_have_one_group_a_feature() -> None:
    """Points without choices, in tables without candidate sets besides missing cells."""
    sets = [frozenset("ab"), frozenset("abc")]
    for cell, point, reading, plain in (
        ("a", "a", "skip", True),
        (None, "a", "skip", True),
        (None, None, "skip", True),
        (None, None, "any", False),
        ("a", None, "any", False),
        (sets[0], "a", "skip", True),
    ):
        rows = [(cell, "x"), ("b", "x"), ("c", "y")]
        index = CountIndex.from_rows(rows, list("ABA"), domains={"x0": list("abc")})
        pairs = pair_of(Model(index, 1), (point, "x"), reading)
        assert pairs.plain is plain
        assert pairs.tables.one_to_one is (reading == "skip")
        assert (pairs.tables.n_slots == 2) is (reading == "skip")
    rows = [(sets[0], "x"), (None, "x"), ("c", "y")]
    index = CountIndex.from_rows(rows, list("ABA"), domains={"x0": list("abc")})
    assert not pair_of(Model(index, 1), ("a", "x")).plain


def test_wide_tables_have_rows_for_their_points_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """One for each value that a point has, in place of one for each value there is."""
    index = index_from_counts([4, 9], [[[1, 5], [2, 2], [0, 1], [1, 1]]])
    model = Model(index, 1)
    points = model.points([("2",), ("0",), ("2",)])
    monkeypatch.setattr(leads_module, "WIDE", 3)
    tables = Tables(model, points)
    assert not tables.one_to_one
    assert tables.low.reshape(-1, 2).tolist() == [[2, 6], [1, 2]]
    monkeypatch.setattr(leads_module, "WIDE", 6)
    assert Tables(model, points).one_to_one


def test_about_where_a_lead_is_lost() -> None:
    """Newton's method: with millions of cells a lead falls as steeply as its slope says."""
    n = 10**7
    counts = [[[6 * n, 3 * n], [4 * n, 7 * n]], [[n, n], [9 * n, 8 * n]]]
    index = replace(index_from_counts([11 * n, 12 * n], counts), n_null=np.array([[n, 2 * n]] * 2))
    pairs, bias, step = pair_of(Model(index, 1)), np.array([0.03]), 1e-4
    lead, loss = pairs.lead_and_loss(bias)
    fallen = lead.log - pairs.lead(bias + step).log
    assert lead.log[0] > 0.1
    assert loss == pytest.approx(bias + lead.log * step / fallen, rel=1e-3)
