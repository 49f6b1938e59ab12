"""The certified accuracy curve against its definition, and the scorers against the curve."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.attack_tables import attack_case, random_limits
from support.counted import index_of, options_of

from nullproof import CountIndex, NullproofError, certify, radius
from nullproof.attacks import AccuracyCurve, certified_accuracy_curve
from nullproof.estimator import CertifiedNB, certified_accuracy

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")

ROWS: list[Any] = [("a", "x"), ("a", "x"), ("a", None), ("b", "y"), ("b", "x"), ("b", "y")]
LABELS = ["yes", "yes", "yes", "no", "no", "no"]


@pytest.mark.parametrize("threat", ["cells", "rows"])
def test_definition(threat: Any) -> None:
    """At every k: the share of points that are certain and right, and whose radius exceeds k."""
    rng = random.Random(threat)
    n_falling = 0
    for _ in range(60):
        case = attack_case(rng)
        index = index_of(case)
        options: Any = options_of(case, index)
        truth = [rng.choice([*index.labels, None]) for _ in case.points]
        limited = threat == "cells" and rng.random() < 0.5
        how = options | {"threat": threat, "only": random_limits(rng, case)[0] if limited else None}
        curve = certified_accuracy_curve(index, list(case.points), truth, **how)
        found = certify(index, list(case.points), **options)
        size = np.asarray(radius(index, list(case.points), **how))
        known = [right is not None for right in truth]
        assert curve.n_known == sum(known)
        for k in (0, 0.5, 1, 2, 3, 5, 8, 100):
            stay = [
                right is not None and label == right and own > k
                for label, right, own in zip(found.label, truth, size, strict=True)
            ]
            assert curve.n_at(k) == sum(stay)
            assert curve.at(k) == sum(stay) / max(sum(known), 1)
        pairs = [*zip(found.predicted, truth, strict=True)]
        right = sum(own == label for own, label in pairs if label is not None)
        # In a tie one of those that share it is predicted.
        if all(own is not None for own, _ in pairs):
            assert curve.accuracy == right / max(sum(known), 1)
        assert curve.at(0) <= curve.accuracy
        document = curve.document()
        assert (document["n_points"], document["n_known"]) == (len(truth), sum(known))
        assert document["accuracy"] == (curve.accuracy if any(known) else None)
        n_falling += len(curve.steps) > 1
    assert n_falling > 5


def some_curve(**options: Any) -> AccuracyCurve:
    """The curve of a small table's own rows, and of one point with the wrong label."""
    index = CountIndex.from_rows(ROWS * 9, LABELS * 9)
    points = [*ROWS, ("a", "y"), ("b", "x")]
    return certified_accuracy_curve(index, points, [*LABELS, "no", "yes"], **options)


def test_steps_are_the_whole_curve() -> None:
    """Between two steps nothing changes, at each step after the first something does."""
    curve = some_curve()
    steps = curve.columns()
    assert steps["k"] == [0, *steps["k"][1:]]
    assert len(steps["k"]) > 2
    for k in range(int(curve.steps[-1]) + 3):
        place = int(np.searchsorted(curve.steps, k, side="right")) - 1
        assert curve.n_at(k) == steps["n"][place]
    assert all(a > b for a, b in pairwise(steps["n"]))
    assert steps["share"] == [n / curve.n_known for n in steps["n"]]
    assert curve.document()["curve"][0] == {"k": 0, "n": steps["n"][0], "share": steps["share"][0]}
    assert curve.to_frame()["k"].to_list() == steps["k"] == curve.file_columns()["k"]
    for wrong in (-1, -0.5, math.nan):
        with pytest.raises(NullproofError, match="k is"):
            curve.n_at(wrong)


def test_points_beyond_attack_stay() -> None:
    """A point that no attack breaks counts at every k; without labels there is no accuracy."""
    index = CountIndex.from_rows([("a",), ("b",)], ["yes", "yes"])
    curve = certified_accuracy_curve(index, [("a",)], ["yes"])
    assert (curve.steps.tolist(), curve.at(0), curve.at(10**9)) == ([0], 1.0, 1.0)
    nothing = certified_accuracy_curve(index, [("a",)], [None])
    assert (nothing.accuracy, nothing.at(0), nothing.document()["accuracy"]) == (0, 0, None)


def test_scorer() -> None:
    """certified_accuracy(k=…) is the curve at k, for cells and for rows; without k it is at 0."""
    cells = np.array(ROWS, dtype=object)
    model = CertifiedNB().fit(cells, LABELS)
    for threat in ("cells", "rows"):
        curve = certified_accuracy_curve(model.index_, ROWS, LABELS, threat=threat)
        for k in (0, 1, 2, 3):
            assert certified_accuracy(k=k, threat=threat)(model, cells, LABELS) == curve.at(k)
    assert certified_accuracy(model, cells, LABELS) == curve.at(0)
    with pytest.raises(NullproofError, match="k is -1"):
        certified_accuracy(k=-1)
    with pytest.raises(NullproofError, match="rows"):
        certified_accuracy_curve(
            model.index_, ROWS, LABELS, only={"columns": ["x0"]}, threat="rows"
        )
