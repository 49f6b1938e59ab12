"""Past faults and traps of odds and of counted worlds: what came in, and the exact odds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from support.large_counts import index_from_counts

from nullproof import CountIndex, label_odds
from nullproof.odds import count_worlds


@dataclass(frozen=True)
class Case:
    """Rows and labels or an index, a point and options; the exact odds."""

    point: Any
    odds: Sequence[Any]
    rows: Sequence[Any] = ()
    labels: Sequence[Any] = ()
    make: Callable[[], CountIndex] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    n_worlds: int | None = None  # what count_worlds must say
    gaps: Sequence[float] = (0.01, 1e-5)
    close: float = 1e-9  # how far the odds may be off

    def index(self) -> CountIndex:
        """Count the table."""
        return self.make() if self.make else CountIndex.from_rows(self.rows, self.labels)


def check(case: Case) -> None:
    """Bounds contain the odds and keep their gap; the worlds are as many as there are."""
    index = case.index()
    for gap in case.gaps:
        found = label_odds(index, case.point, gap=gap, **{"cells": "uniform", **case.options})
        assert found.gap <= gap
        for low, high, true in zip(found.lower[0], found.upper[0], case.odds, strict=True):
            assert low - case.close <= true <= high + case.close
            assert low <= high
    if case.n_worlds is not None:
        counts = count_worlds(index, case.point, **case.options)
        assert counts.total == case.n_worlds
        assert [*counts.odds.values()] == [*case.odds]


def _many_labels() -> CountIndex:
    """Thirty labels, of which one has a missing cell."""
    missing = [int(i == 7) for i in range(30)]
    sizes = [3 + n for n in missing]
    return index_from_counts(sizes, [[[2] * 30, [1] * 30]], [missing])


def _constant_tie(lacking: int, other: int, own: int) -> CountIndex:
    """Two labels that tie in every world, and a third with many missing cells that stands no chance."""
    same = [("x",) * 20] * 10 + [("y",) * 20] * 2
    third = [(None,) * 20] * lacking + [("y",) * 20] * other + [("x",) * 20] * own
    return CountIndex.from_rows(
        [*same, *same, *third], [*"A" * 12, *"B" * 12, *"C" * len(third)], weights="equal"
    )


FOUR = [("a", None), ("a", "x"), ("b", "y"), ("b", "x")]
HALF = Fraction(1, 2)

CASES: dict[str, Case] = {
    # Ever finer grids made the bounds cross: A lay between 0.99985 and 0.00011.
    "labels that tie always beside one without a chance": Case(
        ("x",) * 20,
        [HALF, HALF, 0],
        make=lambda: _constant_tie(30, 8, 1),
        options={"cells": "observed"},
        gaps=(0.01, 1e-3),
        close=1e-4,
    ),
    "the same where the one without a chance is predicted": Case(
        ("x",) * 20,
        [HALF, HALF, 0],
        make=lambda: _constant_tie(30, 0, 2),
        gaps=(0.01, 1e-3),
        close=1e-4,
    ),
    "a tie counts half for each": Case(
        ("a", "y"),
        [Fraction(1, 4), Fraction(3, 4)],
        FOUR,
        ["yes", "yes", "no", "no"],
        options={"alpha": 0},
        n_worlds=2,
    ),
    "a label that never wins has no odds": Case(
        ("a", "x"), [0, 1], FOUR, ["yes", "yes", "no", "no"], n_worlds=2
    ),
    "observed cells that the label never shows": Case(
        ("b",),
        [0, 1],
        [("a",), ("a",), (None,), ("b",), ("b",), (None,)],
        "AAABBB",
        options={"alpha": 0, "cells": "observed"},
    ),
    "observed cells of a label that knows none": Case(
        ("a",),
        [Fraction(1, 8), Fraction(7, 8)],
        [(None,), (None,), ("a",), ("b",)],
        "ABBB",
        options={"alpha": 0, "cells": "observed", "prior": [1, 3]},
    ),
    "all supports are zero": Case(
        ("a", "y"), [HALF, HALF], [("a", "x"), ("b", "y")], "AB", options={"alpha": 0}, n_worlds=1
    ),
    "thirty labels": Case(
        ("0",),
        [HALF if i == 7 else HALF / 29 for i in range(30)],
        make=_many_labels,
        options={"alpha": 0, "prior": "uniform"},
    ),
    "equal columns of two labels tie half of the time": Case(
        [(0,)],
        [HALF, HALF],
        make=lambda: CountIndex.from_codes(
            np.array([[0], [1], [-1]] * 2), [0, 0, 0, 1, 1, 1], n_values=[2]
        ),
        options={"alpha": 0},
        n_worlds=4,
    ),
}
