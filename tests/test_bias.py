"""certify within a bias, by number and by column, and the two readings of a point's own missing cells.

``NULLPROOF_MORE`` and ``NULLPROOF_SEED`` ask about more and other random tables.
"""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.amounts import SEED, n_tables
from support.bias_oracle import OwnMissing
from support.bias_tables import (
    EMPTY,
    HAIR,
    Holed,
    assert_verdicts,
    fitted,
    random_bias,
    random_holed,
    random_mapping,
    written,
)

from nullproof import CountIndex, NullproofError, certify, tolerance, witness

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
N_TABLES = n_tables(2000)
N_CHUNKS = 8
READINGS: tuple[OwnMissing, ...] = ("skip", "any")


# Random tables ------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_random_tables(chunk: int) -> None:
    """T9: certain, label and possible equal the enumeration of every world of the bias."""
    seed = f"{SEED}-{chunk}"
    print("seed", seed)
    rng = random.Random(seed)
    for _ in range(math.ceil(N_TABLES / N_CHUNKS)):
        own_missing, weighted = rng.choice((0.1, 0.1, 0.5)), rng.random() < 0.5
        holed = random_holed(rng, n_rows=10, own_missing=own_missing, weighted=weighted)
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
        holed = random_holed(rng, own_missing=0.3, weighted=rng.random() < 0.5)
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


# A point's own missing cells ----------------------------------------------------------------------


def test_skipping_is_the_default() -> None:
    """Without a word on own holes they are skipped, by every question that has the option."""
    rng = random.Random(SEED)
    for _ in range(80):
        holed = random_holed(rng, own_missing=0.5, only_text=True)
        index, points = holed.index(), list(holed.points)
        told = certify(index, points, **holed.options)
        skipped = certify(index, points, own_missing="skip", **holed.options)
        assert told.possible.tolist() == skipped.possible.tolist()
        assert fitted(holed).certify(points).possible.tolist() == skipped.possible.tolist()
        np.testing.assert_array_equal(
            tolerance(index, points, **holed.options),
            tolerance(index, points, own_missing="skip", **holed.options),
        )


def test_skipping_is_leaving_the_column_out() -> None:
    """A point with a hole has the verdict and tolerance of a table that lacks that column."""
    rng = random.Random(SEED)
    n_compared = 0
    for _ in range(150):
        holed = random_holed(rng)
        if len(holed.domains) == 1:
            continue
        j = rng.randrange(len(holed.domains))
        points = tuple((*point[:j], None, *point[j + 1 :]) for point in holed.points)
        bias = random_bias(rng, holed.judge())
        told, expected = (
            certify(one.index(), list(one.points), bias=bias, **one.options)
            for one in (replace(holed, points=points), holed.without(j))
        )
        assert told.possible.tolist() == expected.possible.tolist(), (j, bias, holed)
        assert told.label.tolist() == expected.label.tolist(), (j, bias, holed)
        assert told.predicted.tolist() == expected.predicted.tolist(), (j, bias, holed)
        np.testing.assert_array_equal(told.tolerance, expected.tolerance, str(holed))
        n_compared += 1
    assert n_compared > 50


def test_any_value_is_stricter_than_skipping() -> None:
    """What holds whatever the own holes hold also holds without them, with the same label."""
    rng = random.Random(SEED)
    n_held = 0
    for n_asked in range(300):
        holed = random_holed(rng, own_missing=0.4, weighted=rng.random() < 0.5)
        index, points = holed.index(), list(holed.points)
        bias = random_bias(rng, holed.judge())
        skipped, whatever = (
            certify(index, points, bias=bias, own_missing=reading, **holed.options)
            for reading in READINGS
        )
        for one, other in zip(skipped.label, whatever.label, strict=True):
            assert other is None or one == other, (bias, holed)
            n_held += other is not None
        if n_asked % 8:
            continue
        less, more = (np.nan_to_num(one.tolerance, nan=-1.0) for one in (whatever, skipped))
        assert (less <= more).all(), holed
    assert n_held > 100


def test_any_value_is_the_set_of_the_whole_domain() -> None:
    """A hole under "any" is the set of all values, which means the same under both readings."""
    rng = random.Random(SEED)
    for _ in range(100):
        holed = random_holed(rng, own_missing=0.5, weighted=rng.random() < 0.5)
        named = [
            tuple(
                frozenset(domain) if cell is None else cell
                for cell, domain in zip(point, holed.domains, strict=True)
            )
            for point in holed.points
        ]
        options: dict[str, Any] = {"bias": random_bias(rng, holed.judge()), **holed.options}
        index = holed.index()
        told = certify(index, list(holed.points), own_missing="any", **options)
        for reading in READINGS:
            other = certify(index, named, own_missing=reading, **options)
            assert other.possible.tolist() == told.possible.tolist(), holed
            np.testing.assert_array_equal(other.tolerance, told.tolerance, str(holed))


def test_number_of_own_missing() -> None:
    """Certificates say how many cells of each point are unknown."""
    index = CountIndex.from_rows([("a", "x"), ("b", "y")], ["A", "B"])
    points: list[tuple[Any, ...]] = [("a", "x"), (None, "x"), (None, None)]
    for reading in READINGS:
        result = certify(index, points, own_missing=reading, alpha=1)
        assert result.n_own_missing.tolist() == [0, 1, 2]


def test_the_two_readings_by_hand() -> None:
    """Skipped, a hole leaves 2/3 against 1/3; whatever it holds, a b would reverse that.

    Without the first column S_A = 2/4 · 2/2 and S_B = 2/4 · 1/2. With a b there S_A is 0.
    """
    rows = [("a", "x"), ("a", "x"), ("b", "x"), ("b", "y")]
    index = CountIndex.from_rows(rows, list("AABB"))
    assert certify(index, (None, "x"), alpha=0).label == "A"
    assert certify(index, (None, "x"), alpha=0).possible == ("A",)
    whatever = certify(index, (None, "x"), alpha=0, own_missing="any")
    assert (whatever.label, whatever.possible) == (None, ("A", "B"))
    assert whatever.predicted == "A"


def test_nothing_known_leaves_the_prior() -> None:
    """A point without known cells is decided by the prior, whatever the holes of the table are."""
    rows: list[tuple[Any, ...]] = [("a",), (None,), (None,), (None,)]
    index = CountIndex.from_rows(rows, list("ABBB"), domains={"x0": ["a", "b"]})
    assert certify(index, (None,), alpha=0).label == "B"
    assert certify(index, (None,), alpha=0, prior=[3, 2]).label == "A"
    assert certify(index, (None,), alpha=0, prior="uniform").label is None
    told = [tolerance(index, [(None,)], alpha=1, prior=prior)[0] for prior in (None, "uniform")]
    np.testing.assert_array_equal(told, [1, np.nan])


@pytest.mark.parametrize("point", [("a",), (None,)])
def test_a_label_without_rows_has_no_support(point: tuple[Any, ...]) -> None:
    """Without smoothing it never wins, even where every feature is skipped; with it, it may."""
    holed = Holed(
        rows=(("a",),),
        labels=("A",),
        domains=(("a", "b"),),
        points=(point,),
        prior={"A": 1, EMPTY: 9},
        has_empty_label=True,
    )
    assert certify(holed.index(), point, **holed.options).label == "A"
    assert tolerance(holed.index(), [point], **holed.options).tolist() == [1]
    # 1/10 · 2/3 against 9/10 · 1/2, and 1/10 against 9/10.
    smoothed = replace(holed, alpha=1)
    assert certify(holed.index(), point, **smoothed.options).label == EMPTY


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


@pytest.mark.parametrize("own_missing", ["Skip", "ignore", "", None, True, 1, ["skip"]])
@pytest.mark.parametrize("ask", [certify, witness, tolerance])
def test_other_words_are_refused(ask: Any, own_missing: Any) -> None:
    """Only the two words are understood; the refusal is one sentence that names both."""
    index = CountIndex.from_rows([("a",), (None,), ("b",)], list("AAB"))
    with pytest.raises(NullproofError) as problem:
        ask(index, ("b",), alpha=1, own_missing=own_missing)
    told = str(problem.value)
    assert len(told.splitlines()) == 1
    assert "skip" in told
    assert "any" in told


def test_the_estimator_refuses_other_words() -> None:
    """So does CertifiedNB, at the latest when it is asked."""
    from nullproof import CertifiedNB

    with pytest.raises(NullproofError):
        CertifiedNB(own_missing="both", alpha=0).fit(  # type: ignore[arg-type]
            [["a"], ["b"]], ["A", "B"]
        ).certify([["a"]])
    with pytest.raises(NullproofError):
        CertifiedNB(bias=2, alpha=0).fit([["a"], ["b"]], ["A", "B"]).certify([["a"]])
