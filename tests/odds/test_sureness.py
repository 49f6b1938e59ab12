"""One rule for one label in at least a share of the worlds: what bounds cannot tell is not claimed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nullproof import CountIndex
from nullproof.model import Model
from nullproof.odds.bounds import OddsBounds
from nullproof.odds.sureness import NONE, UNDECIDED, Sureness
from nullproof.verdicts import verdicts

ROWS = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
LABELS = ["yes", "yes", "no", "no"]


@pytest.mark.parametrize(
    ("lower", "upper", "told"),
    [
        ((0.0, 0.99), (0.01, 1.0), 1),
        ((0.0, 0.989999), (0.01, 0.990001), UNDECIDED),
        ((0.5, 0.4), (0.6, 0.5), NONE),
    ],
)
def test_only_a_proven_lower_bound_is_enough(
    monkeypatch: pytest.MonkeyPatch,
    lower: tuple[float, float],
    upper: tuple[float, float],
    told: int,
) -> None:
    """A label counts if its lower bound reaches the share, not if only its upper bound does."""

    def deciding(*_: Any) -> tuple[Any, Any]:
        return np.array([lower]), np.array([upper])

    monkeypatch.setattr(OddsBounds, "deciding", deciding)
    model = Model(CountIndex.from_rows(ROWS, LABELS), 1)
    points = model.points([("a", "y")], "skip")
    found = verdicts(model, points)
    assert not found.certain[0]
    assert Sureness(model).labels(points, found).tolist() == [told]


@pytest.mark.parametrize(
    ("bounds", "told"),
    [
        ({"x": (0.0, 0.99), "y": (0.0, 1.0)}, 1),
        ({"x": (0.0, 0.99), "y": (0.0, 0.98)}, UNDECIDED),
        ({"x": (0.0, 0.99), "y": (0.99, 0.0)}, NONE),
        ({"x": (0.0, 0.99), "y": (0.4, 0.4)}, NONE),
    ],
)
def test_all_completions_must_agree(
    monkeypatch: pytest.MonkeyPatch, bounds: dict[str, tuple[float, float]], told: int
) -> None:
    """A point with a hole of its own has a label if every way to fill it surely has that one."""
    rows = [("a", "x"), ("a", None), ("a", "y"), ("a", None)]
    model = Model(CountIndex.from_rows(rows, ["yes", "yes", "no", "no"]), 1)

    def deciding(_: Any, codes: Any, *__: Any) -> tuple[Any, Any]:
        lower = np.array([bounds["xy"[code]] for code in codes[1]]).reshape(-1, 2)
        return lower, np.minimum(lower + 0.015, 1)

    monkeypatch.setattr(OddsBounds, "deciding", deciding)
    for point in (("a", None), ("a", {"x", "y"})):
        points = model.points([point], "any")
        found = verdicts(model, points)
        assert not found.certain[0]
        assert Sureness(model).labels(points, found).tolist() == [told]
