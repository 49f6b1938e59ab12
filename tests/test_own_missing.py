"""Points with holes of their own: skipped, or whatever they hold, both against the oracle.

``NULLPROOF_TABLES`` sets the number of random tables of all tests on bias together, of which this file
takes one in five; ``NULLPROOF_SEED`` says where they start.
"""

from __future__ import annotations

import math
import os
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.bias_oracle import OwnHoles
from support.bias_tables import (
    EMPTY,
    Holed,
    assert_verdicts,
    fitted,
    random_bias,
    random_holed,
    written,
)

from nullproof import CountIndex, NullproofError, certify, tolerance, witness

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
N_TABLES = int(os.environ.get("NULLPROOF_TABLES", "20000")) // 5
SEED = int(os.environ.get("NULLPROOF_SEED", "20240704"))
N_CHUNKS = 10
READINGS: tuple[OwnHoles, ...] = ("skip", "any")


# Random tables ------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_random_tables(chunk: int) -> None:
    """Both readings equal the enumeration, for points with holes and with sets of candidates."""
    seed = f"{SEED}-{chunk}"
    print("seed", seed)
    rng = random.Random(seed)
    for _ in range(math.ceil(N_TABLES / N_CHUNKS)):
        holed = random_holed(rng, own_missing=rng.choice((0.4, 0.7)))
        judge, index = holed.judge(), holed.index()
        bias = rng.choice((Fraction(1), random_bias(rng, judge)))
        for reading in READINGS:
            result = certify(
                index,
                list(holed.points),
                bias=written(rng, bias),
                own_missing=reading,
                **holed.options,
            )
            assert_verdicts(holed, judge, result, (bias,) * len(holed.features), reading)


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


# Laws ---------------------------------------------------------------------------------------------


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
        holed = random_holed(rng, own_missing=0.4)
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
        holed = random_holed(rng, own_missing=0.5)
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


# Named cases --------------------------------------------------------------------------------------


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
