"""The certified accuracy curve against its definition, and the scorer against the curve."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.blanking_oracle import radius_case

from nullproof.counts.index import CountIndex
from nullproof.decision import certify
from nullproof.errors import NullproofError
from nullproof.estimator import CertifiedNB, certified_accuracy
from nullproof.plots import accuracy_rows, plot_certified_accuracy
from nullproof.radii.accuracy import AccuracyCurve, certified_accuracy_curve
from nullproof.radii.cells import radius

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")
ROWS = [("a", "x"), ("a", "x"), ("a", None), ("b", "y"), ("b", "x"), ("b", "y")]
LABELS = ["yes", "yes", "yes", "no", "no", "no"]


@pytest.mark.parametrize("threat", ["cells", "rows"])
def test_definition(threat: Any) -> None:
    """At every k: the share of points that are certain and right, and whose radius exceeds k."""
    rng = random.Random(threat)
    n_falling = 0
    for _ in range(60):
        case = radius_case(rng)
        index = CountIndex.from_rows(
            case.rows, case.labels, features=case.features, domains=case.declared
        )
        options: Any = {"alpha": case.alpha, "prior": case.prior_for(index.labels)}
        truth = [rng.choice([*index.labels, None]) for _ in case.points]
        curve = certified_accuracy_curve(index, list(case.points), truth, threat=threat, **options)
        found = certify(index, list(case.points), **options)
        size = radius(index, list(case.points), threat=threat, **options)
        n_known = sum(one is not None for one in truth)
        assert curve.n_known == n_known
        for k in (0, 1, 2, 3, 5, 8, 100):
            stay = [
                right is not None and label == right and own > k
                for label, right, own in zip(found.label, truth, size, strict=True)
            ]
            assert curve.n_at(k) == sum(stay)
            assert curve.at(k) == sum(stay) / max(n_known, 1)
        n_falling += len(curve.steps) > 1
        assert curve.at(0) <= curve.accuracy
    assert n_falling > 10


def test_steps_are_the_whole_curve() -> None:
    """Between two steps nothing changes, at each step after the first something does."""
    index = CountIndex.from_rows(ROWS, LABELS)
    points = [("a", "x"), ("b", "y"), ("b", "x"), ("a", "y")]
    curve = certified_accuracy_curve(index, points, ["yes", "no", "no", "no"])
    steps = curve.columns()
    for k in range(int(curve.steps[-1]) + 3):
        place = int(np.searchsorted(curve.steps, k, side="right")) - 1
        assert curve.n_at(k) == steps["n"][place]
    assert all(a > b for a, b in zip(steps["n"], steps["n"][1:], strict=False))
    assert curve.document()["curve"][0] == {"k": 0, "n": steps["n"][0], "share": steps["share"][0]}
    assert curve.to_frame()["k"].to_list() == steps["k"]
    assert curve.some_sizes()[0] == 0
    assert "AccuracyCurve" in curve._repr_html_()
    with pytest.raises(NullproofError, match="k is -1"):
        curve.at(-1)


def test_points_beyond_attack_stay() -> None:
    """A point that no attack breaks counts at every k."""
    index = CountIndex.from_rows([("a",), ("b",)], ["yes", "yes"])
    curve = certified_accuracy_curve(index, [("a",)], ["yes"])
    assert (curve.steps.tolist(), curve.at(0), curve.at(math.inf - 1)) == ([0], 1.0, 0.0)
    assert curve.at(10**9) == 1.0


def test_within_limits() -> None:
    """The curve of an attacker with limits is that of the radii within them; rows have no such limits."""
    index = CountIndex.from_rows(ROWS, LABELS)
    for only in ({"columns": ["x0"]}, {"rows": np.arange(6) < 4, "table": ROWS, "labels": LABELS}):
        curve = certified_accuracy_curve(index, ROWS, LABELS, only=only)
        size = radius(index, ROWS, only=only)
        label = certify(index, ROWS).label
        for k in range(8):
            right = [own == name for own, name in zip(label, LABELS, strict=True)]
            assert curve.n_at(k) == int((np.array(right) & (size > k)).sum())
    with pytest.raises(NullproofError, match="the threat is rows"):
        certified_accuracy_curve(index, ROWS, LABELS, only={"columns": ["x0"]}, threat="rows")


def test_scorer() -> None:
    """certified_accuracy(k=…) is the curve at k, for cells and for rows."""
    cells = np.array(ROWS, dtype=object)
    model = CertifiedNB().fit(cells, LABELS)
    index = model.index_
    for threat in ("cells", "rows"):
        curve = certified_accuracy_curve(index, ROWS, LABELS, threat=threat)
        for k in (0, 1, 2, 3):
            scorer = certified_accuracy(k=k, threat=threat)
            assert scorer(model, cells, LABELS) == curve.at(k)
    assert certified_accuracy(model, cells, LABELS) == curve.at(0)
    with pytest.raises(NullproofError, match="k is -1"):
        certified_accuracy(k=-1)


def test_plot() -> None:
    """A chart has one row per step of each curve; something else is refused in words."""
    index = CountIndex.from_rows(ROWS, LABELS)
    curves = [
        certified_accuracy_curve(index, ROWS, LABELS, threat=threat) for threat in ("cells", "rows")
    ]
    assert len(accuracy_rows(curves)) == sum(len(curve.steps) for curve in curves)
    chart = plot_certified_accuracy(curves[0]).to_dict()
    assert {row["threat"] for row in chart["data"]["values"]} == {"cells"}
    with pytest.raises(NullproofError, match="give what certified_accuracy_curve found"):
        plot_certified_accuracy([3])  # type: ignore[list-item]


def curve_of(radii: list[float], n_right: int = 0) -> AccuracyCurve:
    """A curve of points that are certain and right, with these radii."""
    size = len(radii)
    right = np.arange(size) < n_right
    return AccuracyCurve("cells", np.array(radii), np.ones(size, dtype=bool), right, size + 2)


def test_round_sizes() -> None:
    """A few sizes of attack: 0, 1, 2, 5, 10 and so on, and the last one where the curve falls."""
    assert curve_of([20, 3]).some_sizes() == [0, 1, 2, 5, 10, 20]
    assert curve_of([60]).some_sizes(4) == [0, 1, 2, 60]
    assert curve_of([60]).some_sizes(9) == [0, 1, 2, 5, 10, 20, 50, 60]
    assert curve_of([math.inf]).some_sizes() == [0]
    assert len(curve_of([10**8]).some_sizes()) == 18
    shown = repr(curve_of([10**8]))
    assert shown.count(" at ") == 5


def test_shares_and_documents() -> None:
    """Shares are of the points whose label is known; without any there is no accuracy."""
    curve = curve_of([1, 3, 3, math.nan], n_right=3)
    assert [curve.n_at(k) for k in (0, 0.5, 1, 2.9, 3)] == [3, 3, 2, 2, 0]
    assert (curve.accuracy, curve.at(1)) == (0.75, 0.5)
    assert curve.steps.tolist() == [0, 1, 3]
    assert curve.document()["accuracy"] == 0.75
    assert (curve.document()["n_points"], curve.document()["n_known"]) == (6, 4)
    assert curve.file_columns() == {"k": [0, 1, 3], "n": [3, 2, 0], "share": [0.75, 0.5, 0]}
    nothing = curve_of([])
    assert (nothing.accuracy, nothing.at(0), nothing.document()["accuracy"]) == (0, 0, None)
    for k in (-1, -0.5, math.nan):
        with pytest.raises(NullproofError, match="k is"):
            curve.n_at(k)
    html = curve._repr_html_()
    assert "AccuracyCurve: 75.0 % of 4 predictions are right" in html


def test_curves_of_data_frames() -> None:
    """A curve has rows of its own, whatever index the points had; smoothing is 1 by default."""
    index = CountIndex.from_rows(ROWS, LABELS)
    points = pd.DataFrame(ROWS, columns=["x0", "x1"], index=[10, 11, 12, 13, 14, 15])
    curve = certified_accuracy_curve(index, points, LABELS)
    frame = curve.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.index.tolist() == [*range(len(curve.steps))]
    assert len(frame) < 6
    plain = certified_accuracy_curve(index, points, LABELS, alpha=1)
    assert curve.columns() == plain.columns()
    assert curve.columns() != certified_accuracy_curve(index, points, LABELS, alpha=2).columns()
