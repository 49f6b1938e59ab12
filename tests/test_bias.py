"""certify within a bias, by number and by column, and the two readings of a point's own missing cells."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.amounts import SEED, n_tables, seeded
from support.bias_oracle import READINGS
from support.bias_tables import assert_verdicts, random_bias, random_holed, random_mapping, written
from support.counted import fitted, index_of

from nullproof import CountIndex, certify, tolerance, truth

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
N_TABLES = n_tables(2000)
N_CHUNKS = 8


# Random tables ------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_random_tables(chunk: int) -> None:
    """T9: certain, label and possible equal the enumeration of every world of the bias."""
    rng = seeded(chunk)
    for _ in range(math.ceil(N_TABLES / N_CHUNKS)):
        own_missing, weighted = rng.choice((0.1, 0.1, 0.5)), rng.random() < 0.5
        holed = random_holed(rng, n_rows=10, own_missing=own_missing, weighted=weighted)
        judge, index, reading = holed.judge(), index_of(holed), rng.choice(READINGS)
        bias, (mapping, biases) = random_bias(rng, judge), random_mapping(rng, holed, judge)
        # To skip is what is done unless something else is asked for.
        how: Any = holed.options | ({"own_missing": reading} if reading == "any" else {})
        for given, wanted in ((written(rng, bias), (bias,) * len(biases)), (mapping, biases)):
            result = certify(index, list(holed.points), bias=given, **how)
            assert_verdicts(holed, judge, result, wanted, reading)


def test_other_ways_to_write_a_bias() -> None:
    """An int, a float, a fraction and a mapping with a star say the same; none is 1."""
    rng = random.Random(SEED)
    for _ in range(100):
        holed = random_holed(rng)
        index, points = index_of(holed), list(holed.points)
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


# Laws ---------------------------------------------------------------------------------------------


def test_possible_labels_grow_with_the_bias() -> None:
    """T10: with a greater bias no label stops being possible and no open point begins to hold."""
    rng = random.Random(SEED)
    for _ in range(120):
        holed = random_holed(rng, own_missing=0.2)
        judge, index, reading = holed.judge(), index_of(holed), rng.choice(READINGS)
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
    """Rows and columns in another order have the same verdicts and tolerances, whatever the bias."""
    rng = random.Random(SEED)
    for _ in range(80):
        holed = random_holed(rng, own_missing=0.2, weighted=rng.random() < 0.5)
        moved = holed.moved(rng)
        mapping, _ = random_mapping(rng, holed, holed.judge())
        for reading in READINGS:
            options: dict[str, Any] = {"own_missing": reading, **holed.options}
            first, second = (
                certify(index_of(one), list(one.points), bias=mapping, **options)
                for one in (holed, moved)
            )
            assert first.possible.tolist() == second.possible.tolist(), holed
            before, after = (
                tolerance(index_of(one), list(one.points), **options) for one in (holed, moved)
            )
            np.testing.assert_array_equal(before, after, str(holed))


# Certificates of many points -----------------------------------------------------------------------

# A: one "a" and ten holes; B: nine "a"; C: one "b". The point "a" holds up to exactly 1/10.
HOLED = [("a",), *[(None,)] * 10, *[("a",)] * 9, ("b",)]
HOLED_LABELS = [*"A" * 11, *"B" * 9, "C"]
TWO = [("a", None), ("a", "x"), ("b", "y"), (None, "x"), ("b", "x")]
TWO_LABELS = ["yes", "yes", "no", "no", "no"]


@pytest.mark.parametrize(
    ("bias", "verdict"),
    [
        (Fraction(1, 10), "holds"),
        (Fraction(1, 10) + Fraction(1, 10**20), "open"),
        (Fraction(1, 10**400), "holds"),
        (0, "holds"),
    ],
)
def test_verdicts_are_those_of_the_bias_itself(bias: Fraction, verdict: str) -> None:
    """A fraction that is no double is not rounded before the verdict is named."""
    found = certify(CountIndex.from_rows(HOLED, HOLED_LABELS), [("a",)], bias=bias, alpha=0)
    assert found.verdict.tolist() == [verdict]
    assert found.certain.tolist() == [verdict == "holds"]


def test_certain_is_certain_without_any_bias() -> None:
    """Only a point with one label in every world is named certain, whatever bias is asked about."""
    index = CountIndex.from_rows(HOLED, HOLED_LABELS, features=["f"])
    assert certify(index, [("a",)], alpha=0).verdict.tolist() == ["holds"]
    for bias in (0.05, {"f": 0.05}, {"f": 0}, {"*": 0}):
        found = certify(index, [("a",)], bias=bias, alpha=0)
        assert found.certain.all()
        assert found.verdict.tolist() == ["holds"]
        assert found.document()["verdicts"] == {"certain": 0, "holds": 1, "open": 0}
    by_column = certify(index, [("a",)], bias={"f": 0}, alpha=0)
    assert by_column.threshold is None
    assert "1 holds up to the bias by column" in repr(by_column)


def test_what_is_asked_unless_told_otherwise() -> None:
    """A smoothing of 1, any bias, and one certificate for what was given as one point, right or not."""
    index = CountIndex.from_rows(TWO, TWO_LABELS)
    points = [("a", "x"), ("b", "y"), ("a", "y")]
    plain, told = certify(index, points), certify(index, points, alpha=1, bias=1, truth=None)
    assert plain.columns() == told.columns()
    assert plain.truth is None
    one = certify(index, points[1])
    assert one == plain[1]
    label = one.predicted
    assert label == "no"
    single, many = (
        certify(index, points[1], truth=label),
        certify(index, [points[1]], truth=[label]),
    )
    assert single == many[0]
    assert many.truth is not None
    assert truth(plain, ["yes", "yes", None]).everything.n == 2
