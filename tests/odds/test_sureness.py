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
        return np.array(lower), np.array(upper)

    monkeypatch.setattr(OddsBounds, "deciding", deciding)
    model = Model(CountIndex.from_rows(ROWS, LABELS), 1)
    points = model.points([("a", "y")], "skip")
    found = verdicts(model, points)
    assert not found.certain[0]
    assert Sureness(model).labels(points, found).tolist() == [told]
