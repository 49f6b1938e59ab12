"""Past faults and traps of radii and attacks: what came in, the question, and what must come out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest
from support.large_counts import index_from_counts, two_labels

from nullproof import CountIndex, NullproofError, certify, poison, radius

MILLION, BILLION = 10**6, 10**9


@dataclass(frozen=True)
class Case:
    """How the index is made, the question about some points, its options, and the answer."""

    make: Callable[[], CountIndex]
    ask: str
    points: Sequence[Any]
    expected: Any
    options: Mapping[str, Any] = field(default_factory=dict)


def _radius(index: CountIndex, points: Any, **options: Any) -> list[float]:
    found: list[float] = np.asarray(radius(index, points, **options)).tolist()
    return found


def _steps(index: CountIndex, points: Any, **options: Any) -> list[tuple[Any, ...]]:
    found = radius(index, points, **options)
    return [(one.label, one.rival, one.n_raise, one.n_lower) for one in found]


def _verified(index: CountIndex, points: Any, **options: Any) -> list[str]:
    """What is wrong with an attack: nothing."""
    attack = poison(index, points, **options)
    asked = {k: v for k, v in options.items() if k in ("alpha", "prior")}
    before = certify(index, points, **asked).label.tolist()
    after = certify(attack.index_after, points, **asked).label.tolist()
    n_used = attack.n_rows if options.get("threat") == "rows" else attack.n_cells
    wrong = [str(label) for label, now in zip(before, after, strict=True) if label == now]
    largest = max(_radius(index, points, **asked, threat=options.get("threat", "cells")))
    return wrong + ["bound"] * (not largest <= attack.lower_bound <= n_used)


def _refused(index: CountIndex, points: Any, **options: Any) -> str:
    with pytest.raises(NullproofError) as caught:
        poison(index, points, **options)
    return str(caught.value)


ASK: dict[str, Callable[..., Any]] = {
    "radius": _radius,
    "steps": _steps,
    "verified": _verified,
    "refused": _refused,
}


def check(case: Case) -> None:
    """Ask the question and compare; of a refusal, the expected parts must be in the sentence."""
    found = ASK[case.ask](case.make(), case.points, **case.options)
    if case.ask == "refused":
        assert all(part in found for part in case.expected), found
    else:
        assert found == case.expected


def _neighbours(x: int, alpha: int, *, ahead: bool) -> Case:
    """x(x+4)(x+5) and (x+1)(x+2)(x+6) differ by 12: invisible to logarithms, one cell to us."""
    less, more = [x, x + 4, x + 5], [x + 1, x + 2, x + 6]
    own, other = (more, less) if ahead else (less, more)
    smallest, behind = 700_000 + 7 * (x % 100), 5_000 + x % 1000
    winner = [count - alpha for count in (smallest, *own)]
    rival = [count - alpha for count in (*other[::-1], smallest - behind)]
    make = partial(two_labels, (MILLION, MILLION), winner, rival)
    return Case(make, "radius", [("0",) * 4], [behind + ahead], {"alpha": alpha})


def _rows(rows: Sequence[Any], labels: Sequence[Any]) -> Callable[[], CountIndex]:
    return partial(CountIndex.from_rows, rows, labels)


def _wide(n_features: int) -> CountIndex:
    """Two labels with hundreds of features that lean a little."""
    rng = np.random.default_rng(1)
    labels = np.repeat([0, 1], 30)
    codes = (rng.random((60, n_features)) < 0.45 + 0.1 * labels[:, None]).astype(np.int8)
    return CountIndex.from_codes(codes, labels, n_values=[2] * n_features)


def _trillions() -> CountIndex:
    many = 10**12
    sizes = [3 * many, 2 * many]
    return index_from_counts(
        sizes,
        [
            [(2 * many, many // 2), (many, sizes[1] - many // 2)],
            [(many, many // 4), (2 * many, sizes[1] - many // 4)],
        ],
    )


YES_NO = _rows([("a",), ("a",), ("b",), ("b",)], ["yes", "yes", "no", "no"])
SMALL = _rows(
    [("a", "x"), ("a", "y"), ("b", "y"), ("b", "y"), ("a", "x")], ["yes", "yes", "no", "no", "yes"]
)
MIXED = _rows([("a", "x")] * 6 + [("b", "y")] * 5 + [("a", "y")] * 3, ["yes"] * 7 + ["no"] * 7)

CASES: dict[str, Case] = {
    "T6: neither raising nor lowering alone is the cheapest": Case(
        partial(two_labels, (5, 1), (3, 3, 3), (0, 1, 1)),
        "steps",
        [("0",) * 3],
        [("L0", "L1", 1, 1)],
        {"alpha": 0},
    ),
    "a near tie is settled by integers": Case(
        partial(
            two_labels,
            (MILLION, MILLION),
            (7, 900_001, 900_002, 900_006),
            (900_000, 900_004, 900_005, 3),
        ),
        "radius",
        [("0",) * 4],
        [5],
        {"alpha": 0},
    ),
    **{
        f"neighbours of {x:,}, smoothing {alpha}, {'ahead' if ahead else 'behind'}": _neighbours(
            x, alpha, ahead=ahead
        )
        for x in (900_000, 900_013, 900_027)
        for alpha in (0, 1)
        for ahead in (False, True)
    },
    "a rival without rows ties once the smallest count is gone": Case(
        partial(index_from_counts, [4, 0], [[(3, 0), (1, 0)], [(4, 0), (0, 0)]]),
        "steps",
        [("0", "0")],
        [("L0", "L1", 0, 3)],
        {"alpha": 0},
    ),
    "a point without any known cell is predicted by the prior": Case(
        SMALL, "radius", [(None, None)], [math.inf]
    ),
    "an unseen value ties all labels at zero, a missing cell does not": Case(
        SMALL, "radius", [("a", "z"), ("a", None)], [0, 3], {"alpha": 0}
    ),
    "NumPy's integers as smoothing and prior": Case(
        SMALL,
        "radius",
        [("a", "x")],
        _radius(SMALL(), [("a", "x")], alpha=2, prior=[2, 3]),
        {"alpha": np.int64(2), "prior": np.array([2, 3])},
    ),
    "rows: a rival without rows ties with one": Case(
        partial(index_from_counts, [3, 0], [[(3, 0)]]),
        "radius",
        [("0",)],
        [1],
        {"alpha": 0, "prior": [1, 1], "threat": "rows"},
    ),
    "rows: labels far apart take milliseconds": Case(
        YES_NO, "radius", [("a",)], [3_005_996], {"prior": [1e-6, 1], "threat": "rows"}
    ),
    "rows: billions are found exactly": Case(
        YES_NO, "radius", [("a",)], [3_000_189_732], {"prior": [1e-9, 1], "threat": "rows"}
    ),
    "rows: billions are added to the index at once": Case(
        YES_NO, "verified", [("a",)], [], {"prior": [1e-9, 1], "threat": "rows"}
    ),
    "rows: the least smoothing guides the search too": Case(
        SMALL, "verified", [("a", "x"), ("b", "y")], [], {"alpha": 1e-6, "threat": "rows"}
    ),
    "joint: counts of a trillion": Case(
        _trillions, "verified", [("0", "0"), ("0", "1")], [], {"alpha": 0, "steps": 2}
    ),
    "joint: hundreds of features": Case(
        partial(_wide, 200), "verified", [(0,) * 200, (1,) * 200], [], {"alpha": 0.5, "steps": 0}
    ),
    "joint: the same point twice": Case(
        MIXED, "verified", [("a", "x")] * 3 + [("b", "y")], [], {"alpha": 0, "steps": 5}
    ),
    "a negative seed": Case(SMALL, "refused", [("a", "x")], ["seed", "-1"], {"seed": -1}),
    "a seed that is no whole number": Case(
        SMALL, "refused", [("a", "x")], ["seed", "1.5"], {"seed": 1.5}
    ),
    "the text False in a mask counted as True": Case(
        partial(CountIndex.from_table, pl.DataFrame({"x": ["a", "b"] * 3, "y": [*"AABBAB"]}), "y"),
        "refused",
        [("a",)],
        ["'x'"],
        {
            "only": {
                "cells": pl.DataFrame({"x": ["False"] * 6}),
                "table": pl.DataFrame({"x": ["a", "b"] * 3, "y": [*"AABBAB"]}),
            }
        },
    ),
}
