"""The model under every question: what it keeps, what it forgets, and what verdicts and points know."""

from __future__ import annotations

import gc
import itertools
import math
import pickle
import weakref
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.count_tables import index_from_counts

from nullproof import CountIndex, NullproofError, NullproofWarning, certify, cleaning_plan
from nullproof import model as model_module
from nullproof import verdicts as verdicts_module
from nullproof.counts.index import LEFT_OUT
from nullproof.model import Model
from nullproof.parameters import written_number
from nullproof.verdicts import verdicts

ROWS = [("a", None), ("a", "x"), ("b", "y"), ("b", "x")]
LABELS = ["yes", "yes", "no", "no"]
POINTS = [("a", "x"), ("a", "y"), ("b", None)]


def index() -> CountIndex:
    return CountIndex.from_rows(ROWS, LABELS)


def test_a_model_on_a_changed_index_keeps_smoothing_and_prior() -> None:
    """Rows that are added change neither alpha nor the prior, not even one of frequencies."""
    before = Model(index(), alpha=0.1)
    after = before.on(before.index.update([("a", "x")], ["yes"]))
    assert (after.alpha, after.prior) == (before.alpha, before.prior)
    assert after.index.n_rows == 5
    assert not after.agrees(before)
    assert Model(before.index, 0.1).agrees(before)


def test_asking_leaves_no_trace_in_pickles() -> None:
    """An index is pickled with its counts only, and a model without its tables."""
    asked = index()
    size = len(pickle.dumps(asked))
    for alpha in range(20):
        certify(asked, POINTS, alpha=alpha)
    made = Model(asked, 1)
    found = verdicts(made, asked.encode(POINTS))
    assert len(pickle.dumps(asked)) < size + 1000
    revived = pickle.loads(pickle.dumps(made))
    assert "terms" in vars(made)
    assert "terms" not in vars(revived)
    again = verdicts(revived, asked.encode(POINTS))
    assert (again.possible == found.possible).all()


def test_one_table_is_remembered_while_its_index_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second question about an index makes no second table, and nothing keeps the index alive."""
    n_made = 0
    plain = Model._all_terms

    def counted(self: Model) -> model_module.Terms:
        nonlocal n_made
        n_made += 1
        return plain(self)

    monkeypatch.setattr(Model, "_all_terms", counted)
    first, second = index(), index()
    for _ in range(3):
        certify(first, POINTS, alpha=1)
    assert n_made == 1
    certify(first, POINTS, alpha=2)
    certify(second, POINTS, alpha=2)
    assert n_made == 3
    alive = weakref.ref(second)
    del second
    gc.collect()
    assert alive() is None
    assert model_module._LAST._kept is None
    certify(first, POINTS, alpha=2)
    assert n_made == 4


def test_verdicts_know_who_is_certain() -> None:
    """A point is certain if one label is possible, which is then its winner; -1 stands for none."""
    made = Model(index(), alpha=0)
    found = verdicts(made, made.index.encode(POINTS))
    assert found.certain.tolist() == [True, False, True]
    assert found.winner.tolist() == [1, -1, 0]
    assert made.named(found.winner).tolist() == ["yes", None, "no"]
    some = found.take(np.array([2, 1]))
    assert some.winner.tolist() == [0, -1]
    assert (some.min_log == found.min_log[[2, 1]]).all()


def test_points_know_what_their_codes_mean() -> None:
    """Every cell of a point is known, unseen, missing, or one of some candidates."""
    with pytest.warns(match="never shows"):
        points = index().encode([("a", "x"), ("c", None), (frozenset("ab"), "x")])
    kinds = [[points.kind(j, int(c)) for c in points.codes[j]] for j in range(2)]
    assert kinds == [["known", "unseen", "candidates"], ["known", "missing", "known"]]
    assert points.unseen.tolist() == [[False, True, False], [False, False, False]]
    assert points.missing.tolist() == [[False, False, False], [False, True, False]]
    assert points.holes.tolist() == [[False, False, True], [False, True, False]]
    assert [points.n_completions(place) for place in range(3)] == [1, 2, 2]
    assert points.completions(1).codes.T.tolist() == [[2, 0], [2, 1]]
    ((candidates, here),) = points.with_candidates(0)
    assert (candidates, here.tolist()) == ((0, 1), [False, False, True])


def test_what_a_model_is_by_default() -> None:
    """Smoothing 1, the frequencies of the labels, and holes that may hold anything."""
    made: Any = Model(index())
    assert (made.alpha, made.prior, made.bias) == (1, (Fraction(1, 2),) * 2, (1, 1))
    assert made.prior_is_counted
    assert not Model(index(), prior="uniform").prior_is_counted
    assert Model(index(), Fraction(1, 3)).alpha == Fraction(1, 3)
    assert Model(index(), np.float32(0.5)).alpha == Fraction(1, 2)  # type: ignore[arg-type]


def test_an_enemy_may_choose_any_values() -> None:
    """Without its bias a model keeps all else; if no column has one, it is its own."""
    free = Model(index(), 2)
    assert free.unbiased is free
    for bias in (Fraction(1, 3), {"x0": 0.5}):
        bound = Model(free.index, 2, bias=bias)
        assert bound.unbiased is not bound
        assert bound.unbiased.agrees(free)
    given = Model(index(), 2, [1, 3], bias=0)
    assert given.unbiased.agrees(Model(given.index, 2, [1, 3]))
    assert not given.unbiased.prior_is_counted


def test_another_bias_leaves_named_columns_theirs() -> None:
    """`biased` changes the bias of the columns that no mapping named, and nothing else."""
    made: Any = Model(index(), 2, bias={"x1": 0.25})
    other = made.biased(Fraction(1, 2))
    assert (made.bias, other.bias) == ((1, Fraction(1, 4)), (Fraction(1, 2), Fraction(1, 4)))
    assert (other.alpha, other.prior, other.fixed) == (made.alpha, made.prior, made.fixed)
    assert other.prior_is_counted


def supports(made: Model, counts: list[list[int]], n_added: int = 0) -> list[Fraction]:
    """S_i by its definition, with rows added to each label, of which the counts know."""
    alpha, found = made.alpha, []
    for i, own in enumerate(counts):
        n = int(made.index.label_counts[i]) + n_added
        share = made.prior[i]
        if made.prior_is_counted:
            share = Fraction(n, made.index.n_rows)
        for c, size in zip(own, made.index.n_values.tolist(), strict=True):
            if c != LEFT_OUT:
                below = n + alpha * size
                share = share * (c + alpha) / below if below else Fraction(0)
        found.append(share)
    return found


@pytest.mark.parametrize("prior", [None, "uniform", [0, 5], [Fraction(1, 3), 7]])
@pytest.mark.parametrize("alpha", [0, 1, Fraction(2, 3), 0.1])
def test_supports_and_the_one_comparison(alpha: Any, prior: Any) -> None:
    """`exceeds` compares the products that define a support; equal ones exceed each other neither way."""
    uneven = CountIndex.from_rows([*ROWS, ("b", "z")], [*LABELS, "no"])
    made = Model(uneven, alpha, prior)
    sides = list(itertools.product((0, 1, 2, LEFT_OUT), repeat=2))
    seen = set()
    for mine, theirs in itertools.product(sides, sides):
        counts = [list(mine), list(theirs)]
        for n_added in (0, 3):
            first, second = supports(made, counts, n_added)
            added = (n_added, n_added)
            assert made.exceeds(0, mine, 1, theirs, added=added) == (first > second)
            assert made.exceeds(1, theirs, 0, mine, added=added) == (second > first)
            if not n_added:
                assert made.exceeds(0, mine, 1, theirs) == (first > second)
            seen.add((first > second) - (first < second))
        for i, exact in enumerate(supports(made, counts)):
            assert made.support(i, counts[i]) == exact
            log = made.log_support(i, counts[i])
            assert log == (pytest.approx(math.log(exact)) if exact else -math.inf)
            # The rest of a support is the product of its smoothed counts.
            if LEFT_OUT not in counts[i] and exact:
                p, q = made.alpha.as_integer_ratio()
                rest = sum(math.log(c * q + p) for c in counts[i])
                assert made.log_weights[i] + rest == pytest.approx(math.log(exact))
    if prior == [0, 5]:
        assert made.log_weights[0] == -math.inf
    else:
        assert {-1, 1} <= seen


def test_a_label_without_rows_or_smoothing_has_no_support() -> None:
    """0/0 is no support: such a label exceeds nothing and is exceeded by whatever has any."""
    part = CountIndex.from_rows([("a", "x")], ["yes"], like=index())
    made = Model(part, 0, [1, 1])
    assert made.support(0, [0, 0]) == made.support(0, [LEFT_OUT, LEFT_OUT]) == 0
    assert made.log_support(0, [LEFT_OUT, LEFT_OUT]) == made.log_weights[0] == -math.inf
    assert made.exceeds(1, [1, 1], 0, [LEFT_OUT, LEFT_OUT])
    assert not made.exceeds(0, [LEFT_OUT, LEFT_OUT], 1, [1, 1])
    assert not made.exceeds(0, [0, 0], 1, [0, 0])
    assert (
        made.log_terms(0, np.array([[0, 1], [LEFT_OUT, LEFT_OUT]])).tolist() == [[-math.inf, 0]] * 2
    )
    # With an added row of its own it has some.
    assert made.exceeds(0, [1, 1], 1, [0, 1], added=(1, 0))


def test_rows_are_added_to_a_table_of_one() -> None:
    """The shares of the labels follow the rows that are added, however few there were."""
    made = Model(CountIndex.from_rows([("a", "x")], ["yes"], like=index()), 1)
    assert made.prior == (Fraction(0), Fraction(1))
    for mine, theirs in itertools.product(range(4), repeat=2):
        first, second = supports(made, [[mine] * 2, [theirs] * 2], 2)
        assert made.exceeds(0, [mine] * 2, 1, [theirs] * 2, added=(2, 2)) == (first > second)
    assert made.exceeds(0, [2, 2], 1, [1, 1], added=(2, 0))
    assert not made.exceeds(0, [1, 1], 1, [1, 1], added=(1, 0))


@pytest.mark.parametrize("alpha", [0, 1, 0.1])
@pytest.mark.parametrize("bias", [1, 0, Fraction(1, 3), {"x1": 0.1}])
def test_the_table_of_terms_has_the_logarithms_of_all_counts(alpha: Any, bias: Any) -> None:
    """Per code: the logs of its low and high counts; 0 where left out; the range over all values."""
    rows = [*ROWS, (frozenset("ab"), None), (None, None)]
    whole = CountIndex.from_rows(rows, [*LABELS, "no", "yes"])
    # The other has one row, so that a label has none.
    for counted in (whole, CountIndex.from_rows([("a", "x")], ["yes"], like=whole)):
        assert_terms(Model(counted, alpha, bias=bias))


def assert_terms(made: Model) -> None:
    """Hold every row of the table against the logarithms of exact fractions."""
    table, starts = made.terms_of_any
    for j, n_values in enumerate(made.index.n_values.tolist()):
        own = table[starts[j] : starts[j] + n_values + 3]
        codes = np.arange(n_values + 2)
        for side, counts in ((0, made.low(j, codes)), (1, made.high(j, codes))):
            for i in range(made.m):
                logs = [one_term(made, i, j, int(c)) for c in counts[:, i]]
                column = own[:, side * made.m + i]
                assert column[:-1] == pytest.approx(logs)
                least = (max if side else min)(logs[:n_values])
                assert column[-1] == pytest.approx(least)
        assert made.log_terms(j, made.low(j, codes)) == pytest.approx(own[:-1, : made.m])
        ranged = made.range_rows(j, [np.arange(n_values), np.array([0])])
        assert ranged == pytest.approx(own[[-1, 0]])


def one_term(made: Model, i: int, j: int, count: int) -> float:
    """The logarithm of one factor of a support."""
    size = int(made.index.label_counts[i]) + made.alpha * int(made.index.n_values[j])
    factor = 1 if count == LEFT_OUT else (count + made.alpha) / (size or 1)
    factor = factor if size else 0
    return math.log(factor) if factor else -math.inf


@pytest.mark.parametrize(("most", "n_rows"), [(1, 0), (2, 5), (3, 11)])
def test_a_column_beyond_the_table_has_no_rows_in_it(
    most: int, n_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns with more values than that take no place among the terms, and verdicts are the same."""
    counted = CountIndex.from_rows([*ROWS, ("b", "z")], [*LABELS, "no"])
    plain = verdicts(Model(counted), counted.encode(POINTS))
    monkeypatch.setattr(model_module, "WIDE", most)
    monkeypatch.setattr(verdicts_module, "WIDE", most)
    wide = Model(counted, 2)
    assert len(wide.terms[0]) == n_rows
    monkeypatch.setattr(model_module, "_LAST", model_module._LastTerms())
    again = verdicts(Model(counted), counted.encode(POINTS))
    assert (again.possible == plain.possible).all()
    assert again.min_log == pytest.approx(plain.min_log)


@pytest.mark.parametrize("alpha", [-1, -0.1, math.inf, math.nan, "1", None, Fraction(-1, 9)])
def test_smoothing_is_a_number_that_is_0_or_more(alpha: Any) -> None:
    """Anything else is refused in one sentence, as a number of the prior is."""
    with pytest.raises(NullproofError, match="alpha is"):
        Model(index(), alpha)
    with pytest.raises(NullproofError, match="prior is"):
        Model(index(), 1, [1, alpha])


def test_priors_add_up_to_one() -> None:
    """Whatever is given: frequencies, equal shares, or numbers, which are divided by their sum."""
    part = CountIndex.from_rows([("a", "x"), ("a", "y"), ("b", "x")], ["yes", "yes", "no"])
    given: list[tuple[Any, Any]] = [
        (None, (Fraction(1, 3), Fraction(2, 3))),
        ("uniform", (Fraction(1, 2),) * 2),
        ([0, 0.5], (0, 1)),
        ([Fraction(1, 3), Fraction(2, 3)], (Fraction(1, 3), Fraction(2, 3))),
        ([10**17 + 1, 0], (1, 0)),
        (
            [10**17 + 1, 10**17],
            (Fraction(10**17 + 1, 2 * 10**17 + 1), Fraction(10**17, 2 * 10**17 + 1)),
        ),
        (np.array([3.0, 1.0]), (Fraction(3, 4), Fraction(1, 4))),
    ]
    for prior, expected in given:
        assert Model(part, prior=prior).prior == expected
    wrong: Any
    for wrong in ([0, 0], [1], [1, 1, 1], "even"):
        with pytest.raises(NullproofError, match="prior"):
            Model(part, prior=wrong)


def test_numbers_as_people_write_them() -> None:
    """A fraction is exact, a decimal is the double that it is, and other texts are refused."""
    assert written_number("1/3") == Fraction(1, 3)
    assert written_number("0.1") == 0.1
    for wrong in ("1/0", "a/2", "much", ""):
        with pytest.raises(NullproofError, match="not a number"):
            written_number(wrong)


def test_the_bound_of_rounding_is_the_one_that_was_proven() -> None:
    """eps · (d + 8) · (4 + magnitude), no less (theory 2)."""
    eps = np.finfo(float).eps
    assert Model(index()).slack(0.0) >= 40 * eps
    assert Model(index()).slack(100.0) >= 1040 * eps


def test_without_smoothing_unseen_values_decide_nothing() -> None:
    """What the warning of unseen values says follows from the smoothing."""
    for alpha, said in ((0, "every label ties at zero"), (1, "values of no row")):
        with pytest.warns(NullproofWarning, match=said):
            Model(index(), alpha).points([("c", "x")])


def test_floats_are_asked_only_well_within_their_range() -> None:
    """Smoothing and every share of the prior must be 0 or neither tiny nor huge; else integers decide."""
    for alpha in (0, 1, 1e-9, 1e100):
        assert Model(index(), alpha, [0, 1]).floats_hold
    for beyond in (1e-200, 1e200, Fraction(1, 10**400)):
        assert not Model(index(), beyond).floats_hold
    assert not Model(index(), 1, [1, 1e-200]).floats_hold
    longest = Fraction(10**400 + 1, 10**400)
    assert not Model(index(), longest).floats_hold
    assert Model(index(), Fraction(10**300 + 1, 10**300)).floats_hold


def test_floats_are_not_asked_where_they_lose_cells() -> None:
    """Beyond 2^53 cells in all, sums of counts are rounded; integers decide then."""
    for n_rows, holds in ((2**50, True), (2**52 - 1, True), (2**52, False)):
        counted = index_from_counts([n_rows // 2, n_rows - n_rows // 2], [[(1, 2)]] * 2)
        assert Model(counted).floats_hold == holds


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.uint8])
def test_integers_of_numpy_do_not_overflow(kind: Any) -> None:
    """They count as plain ones, whose products have any size; NumPy's would run over."""
    rows = [(str(i % 3),) * 20 for i in range(60)]
    counted = CountIndex.from_rows(rows, ["no", "yes"] * 30)
    prior: Any = np.array([3, 5], dtype=kind)
    odd = Model(counted, kind(1), prior, kind(0))
    plain = Model(counted, 1, [3, 5], 0)
    for one, other in zip(
        (odd.alpha, *odd.prior, *odd.bias), (plain.alpha, *plain.prior, *plain.bias), strict=True
    ):
        assert one == other
        assert {*map(type, one.as_integer_ratio())} == {int}
    asked = {"alpha": kind(1), "prior": np.array([100, 100], dtype=kind)}
    found = certify(counted, [("0",) * 20, ("1",) * 20], **asked)
    assert found.certain.tolist() == [False, False]
    assert found[0].possible == ("no", "yes")


def test_a_table_without_any_row_left_has_no_verdict() -> None:
    """All supports are 0, so all labels tie, up to any bias."""
    empty = index().remove(ROWS, LABELS)
    found = certify(empty, POINTS)
    assert found.label.tolist() == [None] * 3
    assert not certify(empty, POINTS, bias=0.5).certain.any()
    assert "0 hold up to a bias of 0.05, 3 open" in repr(found)
    plan = cleaning_plan(empty, POINTS, own_missing="any")
    assert (plan.n_done, plan.stuck) == (0, (0, 1, 2))
