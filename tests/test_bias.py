"""certify within a bias: against the oracle on random tables, against its laws, and on large counts.

``NULLPROOF_TABLES`` sets the number of random tables of all tests on bias together, of which this file
takes three in five; ``NULLPROOF_SEED`` says where they start.
"""

from __future__ import annotations

import itertools
import math
import os
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support import oracle
from support.bias_box import BoxJudge
from support.bias_oracle import Judge, OwnHoles
from support.bias_tables import (
    HAIR,
    assert_verdicts,
    fitted,
    random_bias,
    random_holed,
    random_mapping,
    written,
)
from support.count_tables import index_from_counts
from support.large_counts import large_table

from nullproof import CountIndex, NullproofError, certify, tolerance, witness

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
N_TABLES = int(os.environ.get("NULLPROOF_TABLES", "20000")) * 3 // 5
SEED = int(os.environ.get("NULLPROOF_SEED", "20240702"))
N_CHUNKS = 24
READINGS: tuple[OwnHoles, ...] = ("skip", "any")


# Random tables ------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_random_tables(chunk: int) -> None:
    """T9: certain, label and possible equal the enumeration of every world of the bias."""
    seed = f"{SEED}-{chunk}"
    print("seed", seed)
    rng = random.Random(seed)
    for _ in range(math.ceil(N_TABLES / N_CHUNKS)):
        holed = random_holed(rng, n_rows=10, own_missing=0.1)
        judge, index, reading = holed.judge(), holed.index(), rng.choice(READINGS)
        bias = random_bias(rng, judge)
        result = certify(
            index, list(holed.points), bias=written(rng, bias), own_missing=reading, **holed.options
        )
        assert_verdicts(holed, judge, result, (bias,) * len(holed.features), reading)
        mapping, biases = random_mapping(rng, holed, judge)
        result = certify(
            index, list(holed.points), bias=mapping, own_missing=reading, **holed.options
        )
        assert_verdicts(holed, judge, result, biases, reading)


def test_at_and_around_the_tolerance() -> None:
    """Verdicts change exactly at the breakpoint: there and below a point holds, above it does not."""
    rng = random.Random(SEED)
    n_between = 0
    for _ in range(500):
        holed = random_holed(rng, n_rows=10)
        judge, index = holed.judge(), holed.index()
        for point in holed.points:
            last = judge.tolerance(point)
            if last is None or last == 1:
                continue
            n_between += 1
            below = max(Fraction(0), last - HAIR)
            for bias, holds in [(below, True), (last, True), (last + HAIR, False)]:
                certificate = certify(index, point, bias=bias, **holed.options)
                assert certificate.certain is holds, (point, bias, holed)
    assert n_between > 50


def test_other_ways_to_write_a_bias() -> None:
    """An int, a float, a fraction and a mapping with a star say the same; none is 1."""
    rng = random.Random(SEED)
    for _ in range(100):
        holed = random_holed(rng)
        index, points = holed.index(), list(holed.points)
        ways: list[tuple[Any, ...]] = [
            (1, 1.0, Fraction(1), {"*": 1}, {}, {"f0": 1.0}, np.float64(1)),
            (0, 0.0, Fraction(0), {"*": 0}, dict.fromkeys(holed.features, 0.0)),
            (0.25, Fraction(1, 4), {"*": 0.25, "f0": Fraction(1, 4)}, np.float64(0.25)),
        ]
        for same in ways:
            told = [
                certify(index, points, bias=bias, **holed.options).possible.tolist()
                for bias in same
            ]
            if 1 in same:
                told.append(certify(index, points, **holed.options).possible.tolist())
            assert all(one == told[0] for one in told), holed


def test_a_float_bias_is_not_a_decimal() -> None:
    """Ten holes beside one known a, and the double 0.9, which is a little more than 9/10.

    S_A = c/12 with c = 1 + floor(10 · (1 - bias)), S_B = 1/12: c must be 2, a bias of 9/10 at most.
    """
    rows = [("a",), *[(None,)] * 10, ("a",)]
    index = CountIndex.from_rows(rows, list("A" * 11 + "B"), domains={"x0": ["a", "b"]})
    assert Fraction(0.9) > Fraction(9, 10)
    assert certify(index, ("a",), alpha=0, bias=Fraction(9, 10)).certain
    assert not certify(index, ("a",), alpha=0, bias=0.9).certain
    assert certify(index, ("a",), alpha=0, bias=math.nextafter(0.9, 0)).certain
    (last,) = tolerance(index, [("a",)], alpha=0)
    assert last == math.nextafter(0.9, 0)


# Laws ---------------------------------------------------------------------------------------------


def test_possible_labels_grow_with_the_bias() -> None:
    """T10: with a greater bias no label stops being possible and no open point begins to hold."""
    rng = random.Random(SEED)
    for _ in range(120):
        holed = random_holed(rng, own_missing=0.2)
        judge, index, reading = holed.judge(), holed.index(), rng.choice(READINGS)
        steps = sorted(random_bias(rng, judge) for _ in range(5))
        options: dict[str, Any] = {"own_missing": reading, **holed.options}
        results = [certify(index, list(holed.points), bias=bias, **options) for bias in steps]
        for less, more in itertools.pairwise(results):
            assert not (less.possible & ~more.possible).any(), holed
            assert not (more.certain & ~less.certain).any(), holed


@pytest.mark.parametrize("only_null", [True, False])
def test_points_that_hold_have_the_predicted_label(only_null: bool) -> None:
    """T11: whatever the bias at which a point holds, its label is the one that predict gives."""
    rng = random.Random(SEED)
    n_held = 0
    for _ in range(250):
        holed = random_holed(rng, n_rows=10, own_missing=0.2, only_null=only_null, only_text=True)
        judge, model = holed.judge(), fitted(holed)
        reading, bias = rng.choice(READINGS), random_bias(rng, judge) / 4
        points = list(holed.points)
        predicted = model.predict(points)
        result = certify(model.index_, points, bias=bias, own_missing=reading, **holed.options)
        for place, point in enumerate(points):
            if result.certain[place]:
                n_held += 1
                told = result.label[place], result.predicted[place], predicted[place]
                assert len({*told}) == 1, (told, point, bias, reading, holed)
    assert n_held > 200


def test_a_label_without_a_rival_is_predicted() -> None:
    """One label is certain even where it has no support, so it is the prediction there too."""
    index = CountIndex.from_rows([("a",)], ["A"])
    certificate = certify(index, ("b",), alpha=0)
    assert (certificate.certain, certificate.label, certificate.predicted) == (True, "A", "A")


def test_predicted_is_the_label_of_skipping_naive_bayes() -> None:
    """T11: without candidate sets ``predicted`` is the winner over the known cells alone."""
    rng = random.Random(SEED)
    n_tied = 0
    for _ in range(300):
        holed = random_holed(rng, own_missing=0.2, only_null=True)
        judge = holed.judge()
        result = certify(holed.index(), list(holed.points), **holed.options)
        for place, point in enumerate(holed.points):
            values = {label: skipping_support(judge, label, point) for label in holed.names}
            winners = oracle.winners(values)
            expected = next(iter(winners)) if len(winners) == 1 else None
            assert result.predicted[place] == expected, (point, values, holed)
            n_tied += expected is None
    assert n_tied > 25


def skipping_support(judge: Judge, label: Any, point: Any) -> Fraction:
    """Compute a support from known cells; where a column of a label has none, from equal shares."""
    n_rows, alpha = judge.n_rows[label], judge.alpha
    if not n_rows and not alpha:
        return Fraction(0)
    product = judge.share[label]
    for j, value in enumerate(point):
        if value is None:
            continue
        domain = judge.domains[j]
        n_known = sum(judge.known[label, j, other] for other in domain)
        below = n_known + alpha * len(domain)
        if value not in domain:
            product *= alpha / (n_rows + alpha * len(domain))  # no hole can hold it
        elif below:
            product *= (judge.known[label, j, value] + alpha) / below
        else:
            product *= Fraction(1, len(domain))
    return product


def test_order_does_not_matter() -> None:
    """Rows and columns in another order have the same verdicts, also with a bias by column."""
    rng = random.Random(SEED)
    for _ in range(80):
        holed = random_holed(rng, own_missing=0.2)
        moved, by_feature = holed.moved(rng)
        mapping, _ = random_mapping(rng, holed, holed.judge())
        names = {f"f{old}": f"f{new}" for new, old in enumerate(by_feature)}
        renamed = {names.get(name, name): bias for name, bias in mapping.items()}
        for reading in READINGS:
            results = [
                certify(
                    one.index(), list(one.points), bias=bias, own_missing=reading, **one.options
                )
                for one, bias in [(holed, mapping), (moved, renamed)]
            ]
            assert results[0].possible.tolist() == results[1].possible.tolist(), holed


def test_many_points_equal_one_by_one() -> None:
    """A certificate does not depend on the company its point was asked in."""
    rng = random.Random(SEED)
    for _ in range(80):
        holed = random_holed(rng, own_missing=0.3)
        index = holed.index()
        options: dict[str, Any] = {
            "bias": random_bias(rng, holed.judge()),
            "own_missing": rng.choice(READINGS),
            **holed.options,
        }
        together = certify(index, list(holed.points), **options)
        for place, point in enumerate(holed.points):
            alone = certify(index, point, **options)
            assert alone.certain is bool(together.certain[place])
            assert alone.label == together.label[place]
            assert alone.predicted == together.predicted[place]
            own = np.array(index.labels, dtype=object)[together.possible[place]]
            assert alone.possible == tuple(own)
            np.testing.assert_equal(alone.tolerance, together.tolerance[place])


def test_the_estimator_takes_a_bias() -> None:
    """CertifiedNB with a bias, one number or by column, certifies as the function does."""
    rng = random.Random(SEED)
    for _ in range(100):
        holed = random_holed(rng, own_missing=0.2, only_text=True)
        mapping, biases = random_mapping(rng, holed, holed.judge())
        by_name = {name.replace("f", "x"): bias for name, bias in mapping.items()}
        for reading in READINGS:
            model = fitted(holed, bias=by_name, own_missing=reading)
            result = model.certify(list(holed.points))
            assert_verdicts(holed, holed.judge(), result, biases, reading)


# Large counts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_large_counts(seed: int) -> None:
    """Millions of cells are rounded to whole cells as fractions are, not as doubles are."""
    rng = random.Random(f"{SEED}-{seed}")
    for _ in range(40):
        large = large_table(rng, alpha=rng.choice((Fraction(1, 3), Fraction(3, 7), 0.1, 0, 1)))
        judge, point = large.judge(), large.point(rng)
        d = len(judge.domains)
        tried = [random_share(rng, judge) for _ in range(6)]
        for bias in tried:
            expected = judge.verdict(point, (bias,) * d)
            told = certify(large.index, point, bias=bias, alpha=large.alpha)
            assert told.label == expected.label, (point, bias, large)
            assert frozenset(told.possible) == expected.possible, (point, bias, large)


def random_share(rng: random.Random, judge: BoxJudge) -> Fraction:
    """Draw a bias exactly at, or less than any double away from, a breakpoint of large groups."""
    if not judge.groups or rng.random() < 0.2:
        return Fraction(rng.random())
    n_cells, shares = rng.choice(list(judge.groups.values()))
    share = rng.choice(list(shares.values()))
    if not n_cells:
        return Fraction(0)
    jump = abs(share - Fraction(rng.randint(0, n_cells), n_cells))
    near = jump + rng.choice((-1, 0, 1)) * Fraction(1, 10**30)
    return min(max(near, Fraction(0)), Fraction(1))


def test_a_share_that_doubles_round_to_a_whole_number() -> None:
    """M · (q - bias) just below a whole number loses a cell, however close it is.

    Label A has 3·10⁶ a's, 7·10⁶ b's and 10⁷ holes: q = 3/10 and at bias 0 exactly 3·10⁶ of the holes
    are a's. With B at the same support less one cell the point holds, at any greater bias it does not.
    """
    a_cells, b_cells = (3 * 10**6, 6 * 10**6 - 1), (7 * 10**6, 14 * 10**6 + 1)
    index = replace(
        index_from_counts([2 * 10**7, 2 * 10**7], [[a_cells, b_cells]]),
        n_null=np.array([[10**7, 0]], dtype=np.int64),
    )
    asked: list[tuple[Any, bool]] = [(0, True), (5e-324, False), (Fraction(1, 10**400), False)]
    for bias, holds in asked:
        assert certify(index, ("0",), alpha=0, bias=bias).certain is holds
    assert tolerance(index, [("0",)], alpha=0).tolist() == [0.0]


# Bad values ---------------------------------------------------------------------------------------

BAD = [
    -0.1,
    1.1,
    math.nan,
    math.inf,
    -math.inf,
    "0.5",
    "much",
    None,
    [0.1],
    -1,
    2,
    Fraction(11, 10),
]


@pytest.mark.parametrize("ask", [certify, witness])
@pytest.mark.parametrize("bias", [*BAD, *({"f0": bad} for bad in BAD), {"*": 2}, {"nowhere": 0.1}])
def test_a_bias_that_is_none(ask: Any, bias: Any) -> None:
    """A bias below 0, above 1 or no number at all, and an unknown column, are one sentence."""
    index = CountIndex.from_rows([("a",), (None,), ("b",)], list("AAB"), features=["f0"])
    with pytest.raises(NullproofError) as problem:
        ask(index, ("b",), alpha=1, bias=bias)
    assert len(str(problem.value).splitlines()) == 1
    assert "bias" in str(problem.value)
    if isinstance(bias, dict) and "nowhere" in bias:
        assert "nowhere" in str(problem.value)
