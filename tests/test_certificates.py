"""Certificates of many points: verdicts within a bias, parts of them, and the curve."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
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


def test_parts_of_certificates() -> None:
    """Slices, masks, positions and negative ones give the same answers as the points alone."""
    index = CountIndex.from_rows(TWO, TWO_LABELS)
    points = [("a", "x"), ("b", "y"), ("a", None), (None, None), ("b", "x")]
    every = certify(index, points, alpha=1)
    for part in (
        slice(1, 3),
        [4, 0],
        np.array([True, False, False, True, True]),
        slice(None, None, -1),
    ):
        chosen = [points[place] for place in np.arange(len(points))[part]]
        alone = certify(index, chosen, alpha=1)
        np.testing.assert_array_equal(every[part].tolerance, alone.tolerance)
        assert every[part].predicted.tolist() == alone.predicted.tolist()
        assert every[part].columns() == alone.columns()
    assert every[-1] == every[4]
    assert len(every[5:]) == 0


def test_points_without_a_true_label_are_neither_right_nor_wrong() -> None:
    """The accuracy of what holds is that of the points whose label is known."""
    index = CountIndex.from_rows(TWO, TWO_LABELS)
    found = certify(index, [("a", "x"), ("b", "y"), ("b", "x")], alpha=1)
    at = found.curve(truth=[found.predicted[0], None, "yes"]).at(0)
    assert (at.n_hold + at.n_rest, at.n_known_hold + at.n_known_rest) == (3, 2)
    assert (at.n_right_hold or 0) + (at.n_right_rest or 0) == 1
    with pytest.raises(NullproofError, match="truth is 3; give one true label per point"):
        found.curve(truth=3)
    with pytest.raises(NullproofError, match="truth has 1 labels but there are 3 points"):
        found.curve(truth=["yes"])


@pytest.mark.parametrize("fixed", [0.5, "f", {"*": 1}])
def test_what_stays_fixed_is_a_mapping(fixed: object) -> None:
    """Anything else gets one sentence."""
    index = CountIndex.from_rows(ROWS, LABELS, features=["f"])
    with pytest.raises(NullproofError, match="give a mapping from columns to the bias"):
        tolerance(index, [("a",)], fixed=fixed, alpha=0)  # type: ignore[arg-type]


def test_huge_smoothing_gives_no_warning() -> None:
    """Where doubles overflow, integers decide; warnings are errors here."""
    index = CountIndex.from_rows(TWO, TWO_LABELS)
    assert tolerance(index, [("a", "x")], alpha=1e308).shape == (1,)


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
