"""Certificates of many points: verdicts within a bias, parts of them, and the curve."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from nullproof import CountIndex, NullproofError, certify, tolerance, truth

# A: one "a" and ten holes; B: nine "a"; C: one "b". The point "a" holds up to exactly 1/10.
ROWS = [("a",), *[(None,)] * 10, *[("a",)] * 9, ("b",)]
LABELS = [*"A" * 11, *"B" * 9, "C"]
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
    found = certify(CountIndex.from_rows(ROWS, LABELS), [("a",)], bias=bias, alpha=0)
    assert found.verdict.tolist() == [verdict]
    assert found.certain.tolist() == [verdict == "holds"]


def test_certain_is_certain_without_any_bias() -> None:
    """Only a point with one label in every world is named certain, whatever bias is asked about."""
    index = CountIndex.from_rows(ROWS, LABELS, features=["f"])
    assert certify(index, [("a",)], alpha=0).verdict.tolist() == ["holds"]
    for bias in (0.05, {"f": 0.05}, {"f": 0}, {"*": 0}):
        found = certify(index, [("a",)], bias=bias, alpha=0)
        assert found.certain.all()
        assert found.verdict.tolist() == ["holds"]
        assert found.document()["verdicts"] == {"certain": 0, "holds": 1, "open": 0}
    by_column = certify(index, [("a",)], bias={"f": 0}, alpha=0)
    assert by_column.threshold is None
    assert "1 holds up to the bias by column" in repr(by_column)


@pytest.mark.parametrize(
    "fixed", [0.5, "f", {"*": 1}, {"f": 2}, {"f": "x"}, {"f": math.nan}, {"g": 0}]
)
def test_what_stays_fixed_is_a_mapping(fixed: Any) -> None:
    """What is no mapping from columns to a bias gets one sentence."""
    index = CountIndex.from_rows(ROWS, LABELS, features=["f"])
    with pytest.raises(NullproofError) as problem:
        tolerance(index, [("a",)], fixed=fixed, alpha=0)
    assert len(str(problem.value).splitlines()) == 1


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
