"""Past faults and traps of verdicts, predictions and tolerances: what came in, the question, the answer."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.bias_oracle import double_below
from support.large_counts import index_from_counts, two_labels
from support.strategies import PAPER_LABELS, PAPER_ROWS, table

from nullproof import (
    CertifiedNB,
    CountIndex,
    NullproofError,
    certify,
    cleaning_plan,
    explain,
    tolerance,
    witness,
)


@dataclass(frozen=True)
class Case:
    """Rows and labels or an index, points, the question and its options, and what must come out."""

    ask: str
    points: Sequence[Any]
    expected: Any
    rows: Sequence[Any] = ()
    labels: Sequence[Any] = ()
    make: Callable[[], CountIndex] | None = None
    domains: Mapping[str, Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def index(self) -> CountIndex:
        """Count the table."""
        if self.make is not None:
            return self.make()
        return CountIndex.from_rows(self.rows, self.labels, domains=self.domains)


def _possible(index: CountIndex, points: Any, **options: Any) -> list[str]:
    found = certify(index, points, **options)
    return [" ".join(map(str, one.possible)) for one in found]


def _label(index: CountIndex, points: Any, **options: Any) -> list[Any]:
    found: list[Any] = certify(index, points, **options).label.tolist()
    return found


def _predicted(index: CountIndex, points: Any, **options: Any) -> list[Any]:
    found: list[Any] = certify(index, points, **options).predicted.tolist()
    return found


def _tolerance(index: CountIndex, points: Any, **options: Any) -> list[str]:
    # As text, so that NaN equals NaN and no zero has a sign.
    return [repr(one) for one in tolerance(index, points, **options).tolist()]


def _rival(index: CountIndex, points: Any, **options: Any) -> list[Any]:
    found: list[Any] = certify(index, points, **options).columns()["rival"]
    return found


def _proba(index: CountIndex, points: Any, **options: Any) -> list[list[float]]:
    found = CertifiedNB.from_index(index, **options).predict_proba(points)
    return [[round(share, 12) for share in own] for own in found.tolist()]


def _explained(index: CountIndex, points: Any, **options: Any) -> list[tuple[Any, bool]]:
    told = [explain(index, point, **options) for point in points]
    return [(one.label, one.certain) for one in told]


def _refused(index: CountIndex, points: Any, *, by: Any = certify, **options: Any) -> list[bool]:
    with pytest.raises(NullproofError) as problem:
        by(index, points, **options)
    assert len(str(problem.value).splitlines()) == 1
    return [True]


def _winners(index: CountIndex, points: Any, **options: Any) -> list[list[str]]:
    pairs = [witness(index, point, **options) for point in points]
    return [[" ".join(map(str, world.winners)) for world in pair] for pair in pairs]


def _completed(index: CountIndex, points: Any) -> list[list[Any]]:
    pairs = [witness(index, point) for point in points]
    return [sorted((*world.winners, world.point[0]) for world in pair) for pair in pairs]


def _binned() -> CountIndex:
    numbers = [1.0, 2.0, 3.0, 4.0, 10.0, 20.0, 70.0, 80.0, 90.0, 100.0]
    cells = [number for number in numbers for _ in range(6)]
    table = {"x": [*cells, None], "y": ["A"] * 30 + ["B"] * 31}
    return CountIndex.from_table(table, label="y", weights="equal")


def _jump_at_a_twentieth() -> CountIndex:
    """At 1/20 at least 9 of 20 missing cells hold a, 58 against 57; at the double 0.05, 8: a tie."""
    return index_from_counts([118, 118], [[[49, 57], [49, 61]]], [[20, 0]])


def _surfaces(index: CountIndex, points: Any) -> list[bool]:
    holds = certify(index, points).verdict.tolist() == ["holds"]
    plans = [cleaning_plan(index, points), CertifiedNB.from_index(index).cleaning_plan(points)]
    assert [plan.n_done == len(points) for plan in plans] == [holds] * 2
    return [holds]


def _right(index: CountIndex, points: Any) -> list[Any]:
    return [certify(index, point, truth=["A"]).right for point in points]


QUESTIONS: dict[str, Callable[..., Any]] = {
    "possible": _possible,
    "label": _label,
    "predicted": _predicted,
    "tolerance": _tolerance,
    "rival": _rival,
    "proba": _proba,
    "explain": _explained,
    "refuse": _refused,
    "witness": _winners,
    "completed": _completed,
    "surfaces": _surfaces,
    "right": _right,
}


def check(case: Case) -> None:
    """Ask and compare."""
    assert QUESTIONS[case.ask](case.index(), case.points, **case.options) == case.expected


def _told(*tolerances: Fraction | float) -> list[str]:
    return [repr(double_below(Fraction(one))) for one in tolerances]


# Indexes and options that take a few lines ---------------------------------------------------------


def _next_to_one(winner: int) -> CountIndex:
    """A winner with ten billion missing cells among a hundred billion a's, and two rivals of five rows."""
    sizes, known, missing = [5] * 3, [5] * 3, [0] * 3
    sizes[winner], known[winner], missing[winner] = 11 * 10**10, 10**11, 10**10
    return index_from_counts(sizes, [[known, [0, 0, 0]]], [missing])


def _next_to_one_prior(winner: int, strong: int, weak: int) -> list[Fraction]:
    prior = [Fraction(0)] * 3
    prior[winner] = Fraction(11 * 10**10)
    prior[strong], prior[weak] = 10**11 + Fraction(5, 2), 10**11 + Fraction(9, 4)
    return prior


def _jump_at_zero(threatens: bool) -> tuple[CountIndex, list[Any]]:
    """A lead that is lost right above 0 though doubles hide that jump, and not at the next, at 1e-13."""
    n, p, q = (42, 9, 14) if threatens else (49, 1, 49)
    m, s = 3_000_007, 3_000_029
    r = -pow(m, -1, s) % s
    most, rows = r + (m * r + 1) // s, m + s
    if threatens:
        known = rows - n
        held = known * p // q
        counts = [[[50, held], [48, known - held]], [[7, r], [91, s - r]]]
        missing = [[0, n], [0, m]]
        before, after = Fraction(50, held + n * p // q), Fraction(50, held + n * p // q + 1)
    else:
        counts = [[[p, 5], [q - p, rows - 5]], [[7, r], [91, s - r]]]
        missing = [[n, 0], [0, m]]
        before, after = Fraction(2, 5), Fraction(1, 5)
    others = Fraction(7, most) * Fraction(rows, 98) ** 2
    return index_from_counts([98, rows], counts, missing), [1, (before + after) / 2 * others]


def _as_it_is(index: CountIndex) -> CountIndex:
    return index


def _catching_up(names: Sequence[str]) -> dict[str, Any]:
    """Of 4 missing cells floor(4 · (1 - bias)) are a's: 5, 4, 3, 2, 1 a's beyond 0, 1/4, 1/2, 3/4."""
    winner, strong, weak = names
    cells: dict[str, list[Any]] = {winner: ["a", *[None] * 4], strong: ["a"] * 29, weak: ["a"] * 21}
    return {
        "rows": [(cell,) for own in cells.values() for cell in own],
        "labels": [label for label, own in cells.items() for _ in own],
        "domains": {"x0": ["a", "b"]},
    }


def _at_once(names: Sequence[str]) -> dict[str, Any]:
    """Two rivals catch up at one jump of the winner, one of them by far."""
    prior = dict(zip(names, (Fraction(1), Fraction(5, 10), Fraction(9, 20)), strict=True))
    return {"alpha": 0, "prior": [prior[name] for name in sorted(names)]}


def _level(names: Sequence[str]) -> dict[str, Any]:
    """One rival draws level beyond 1/4, the other clearly catches up beyond 1/2."""
    prior = dict(zip(names, (Fraction(1, 3), Fraction(1, 5), Fraction(1, 6)), strict=True))
    return {"alpha": 0, "prior": [prior[name] for name in sorted(names)]}


EARLY, LATE = dt.date(2020, 1, 1), dt.date(2021, 6, 1)
FEW = table(23, A=[1, 2], B=[0, 23])
N_LARGE = 10**9
ORDERS = [*itertools.permutations("XYZ")]
THREATENS = {name: _jump_at_zero(name == "rival") for name in ("winner", "rival")}

CASES: dict[str, Case] = {
    "the paper's decision example: 1/6 is above 1/15 in the worst world": Case(
        "possible", [("a", "b")], ["l*"], PAPER_ROWS, PAPER_LABELS, options={"alpha": 0}
    ),
    # Verdicts --------------------------------------------------------------------------------------
    "missing cells of a one-value column are forced": Case(
        "label", [("a",)], ["A"], [(None,), (None,), ("a",), ("a",)], "AAAB", options={"alpha": 0}
    ),
    "an unseen value fits no missing cell": Case(
        "label",
        [("z",)],
        ["A"],
        [("a",), ("a",), ("b",), ("b",), (None,), (None,)],
        "AAAABB",
        options={"alpha": 1},
    ),
    "without smoothing an unseen value ties at zero": Case(
        "possible", [("z",)], ["A B"], [("a",), ("b",), (None,)], "AAB", options={"alpha": 0}
    ),
    "a float is not a decimal": Case("label", [("a", "a")], ["B"], *FEW, options={"alpha": 0.1}),
    "a tenth ties where its double does not": Case(
        "possible", [("a", "a")], ["A B"], *FEW, options={"alpha": Fraction(1, 10)}
    ),
    "a label without prior dominates nobody": Case(
        "possible",
        [("x",), ({"x", "y"},)],
        ["B", "B"],
        [("x",), ("y",), ("x",), ("y",)],
        "AABB",
        options={"prior": [0, 1]},
    ),
    "no support dominates no support": Case(
        "possible",
        [({"x", "z"},)],
        ["A B C"],
        [("x",), ("y",), ("z",)],
        "ABC",
        options={"alpha": 0},
    ),
    "labels without least support exclude nobody": Case(
        "possible",
        [("a", "x")],
        ["four one three two"],
        [(None, "x"), (None, "y"), ("b", "x"), ("a", "y")],
        ["one", "two", "three", "four"],
        options={"alpha": 0},
    ),
    "candidates that leave a label without support": Case(
        "possible",
        [("y", "p", {"m", "n"}), ("x", "p", {"m", "n"})],
        ["A B", "A B"],
        [("x", "p", "m"), ("y", "q", "n")],
        "AB",
        options={"alpha": 0},
    ),
    "one label is certain without support": Case(
        "label", [("z",), (None,)], ["A", "A"], [("a",)], "A", options={"alpha": 0}
    ),
    "one label is predicted without support": Case(
        "predicted", [("z",)], ["A"], [("a",)], "A", options={"alpha": 0}
    ),
    "forty labels that tie far behind": Case(
        "possible",
        [("a", "x"), ({"a", "b"}, "x")],
        ["first", "first"],
        [("a", "x")] * 44 + [("b", "y")],
        [*map(str, range(40)), *["first"] * 4, "last"],
    ),
    "integers of NumPy overflow": Case(
        "possible",
        [("0",) * 20, ("1",) * 20],
        ["no yes", "no yes"],
        [(str(i % 3),) * 20 for i in range(60)],
        ["no", "yes"] * 30,
        options={"alpha": np.int8(1), "prior": np.array([100, 100], dtype=np.int8)},
    ),
    "a lead of one in 10^18": Case(
        "explain",
        [("0", "0")],
        [("L1", True)],
        make=lambda: two_labels(
            (4 * N_LARGE, 4 * N_LARGE), (N_LARGE + 1, N_LARGE - 1), (N_LARGE, N_LARGE)
        ),
        options={"alpha": 0},
    ),
    "more cells than doubles count": Case(
        "refuse",
        [("0", "0")],
        [True],
        make=lambda: two_labels((2**54, 2**54), (2**53 + 1, 2**53), (2**53 + 1, 2**53 + 1)),
        options={"alpha": 0},
    ),
    "the likeliest label is raised first, then its best rival": Case(
        "witness",
        [("a",)],
        [["A", "B"]],
        [("a",)] * 5
        + [(None,), ("b",)]
        + [("a",)] * 3
        + [(None,)] * 4
        + [("a",)] * 2
        + [(None,)] * 2,
        ["A"] * 7 + ["B"] * 7 + ["C"] * 4,
        options={"alpha": 0},
    ),
    # Predictions -----------------------------------------------------------------------------------
    "missing cells do not make an unseen value likelier": Case(
        "predicted",
        [("s", "never seen")],
        ["A"],
        [*[("s", None)] * 9, ("s", "x"), *[("s", "x")] * 9, ("t", "x")],
        ["B"] * 10 + ["A"] * 10,
        options={"prior": [3, 1]},
    ),
    "a prior at the limit": Case(
        "predicted",
        [("b",), ("a",)],
        ["B", "A"],
        [("a",), ("b",)],
        "AB",
        options={"alpha": 0, "prior": [1, Fraction(1, 10**9)]},
    ),
    "without any support the prior decides": Case(
        "proba",
        [["c"]],
        [[round(1 / 3, 12), round(2 / 3, 12)]],
        [("a",), ("b",), ("b",)],
        "ABB",
        options={"alpha": 0},
    ),
    "a cell with two candidates counts half for each": Case(
        "proba",
        [["x"], [{"x", "y"}]],
        [[round(1 / 3, 12), round(2 / 3, 12)], [0.5, 0.5]],
        [({"x", "y"},), ("z",), ("x",), ("z",)],
        "AABB",
        options={"alpha": 0},
    ),
    # Tolerances ------------------------------------------------------------------------------------
    "a tolerance of 0 has no sign": Case(
        "tolerance",
        [(1,)],
        ["0.0"],
        [(0,), (1,), (None,), (None,)],
        "ABCC",
        domains={"x0": [0, 1]},
        options={"alpha": 0, "prior": [1, 1, 9]},
    ),
    "a bias of 0.9 is more than nine tenths": Case(
        "tolerance",
        [("a",)],
        [repr(math.nextafter(0.9, 0))],
        [("a",), *[(None,)] * 10, ("a",)],
        "A" * 11 + "B",
        domains={"x0": ["a", "b"]},
        options={"alpha": 0},
    ),
    "smoothing is 1 unless given": Case(
        "tolerance",
        [("a",)],
        _told(Fraction(2, 3) - Fraction(1, 2)),
        [("a",), (None,), (None,), ("a",), ("a",)],
        "AAABB",
        domains={"x0": ["a", "b"]},
    ),
    "a count falls to a tiny smoothing": Case(
        "tolerance",
        [("t", "x")],
        _told(Fraction(4, 21)),
        [(None, value) for value in "xxxxyyy"]
        + [(value, "y") for value in ("t", "u", "v", None, None, None, None)],
        "A" * 7 + "B" * 7,
        options={"alpha": 1e-6},
    ),
    # Of the known cells of A all are a's, and at least floor(n · (1 - bias)) of its missing ones. Once
    # one is looked up and holds a b, half are, and floor((n - 1) · (1/2 - bias)) of those left.
    **{
        f"looking up one of {n} missing cells costs tolerance: {found}": Case(
            "tolerance",
            [("a",)],
            _told(wanted),
            [("a",), *[(value,) for value in found], *[(None,)] * (n - len(found)), ("a",)],
            "A" * (1 + n) + "B",
            domains={"x0": ["a", "b"]},
            options={"alpha": 0},
        )
        for n, found, wanted in (
            (3, "", Fraction(2, 3)),
            (3, "b", Fraction(0)),
            (4, "", Fraction(3, 4)),
            (4, "b", Fraction(1, 6)),
        )
    },
    "a fixed bias of all columns leaves nothing to grow": Case(
        "refuse",
        [("a",)],
        [True],
        [("a",), (None,), ("b",)],
        "AAB",
        options={"by": tolerance, "fixed": {"*": 0.5}},
    ),
    **{
        f"a jump at zero that doubles hide, of the {name}": Case(
            "tolerance",
            [("0", "0")],
            ["0.0"],
            make=partial(_as_it_is, index),
            options={"alpha": 0, "prior": prior},
        )
        for name, (index, prior) in THREATENS.items()
    },
    **{
        f"two rivals catch up at once: {ask}, {names}": Case(
            ask, [("a",)] * size, [wanted] * size, **_catching_up(names), options=_at_once(names)
        )
        for names in ORDERS
        for size in (1, 40)
        for ask, wanted in (("tolerance", "0.5"), ("rival", min(names[1:])))
    },
    **{
        f"a rival that ties is not missed: {ask}, {names}": Case(
            ask, [("a",)], [wanted], **_catching_up(names), options=_level(names)
        )
        for names in ORDERS
        for ask, wanted in (("tolerance", "0.25"), ("rival", names[1]))
    },
    **{
        f"a tolerance next to one: {places}, {size} points": Case(
            "tolerance",
            [("0",)] * size,
            _told(1 - Fraction(3, 10**10)) * size,
            make=partial(_next_to_one, places[0]),
            options={"alpha": 0, "prior": _next_to_one_prior(*places)},
        )
        for places in itertools.permutations(range(3))
        for size in (1, 40)
    },
    "a world has a candidate of the point, here a date": Case(
        "completed",
        [({EARLY, LATE}, "x")],
        [[("A", EARLY), ("B", LATE)]],
        [(EARLY, "x"), (EARLY, "x"), (LATE, "x"), (LATE, "y"), (LATE, None)],
        "AABBB",
    ),
    "a world has a candidate of the point, here a text in a column of bins": Case(
        "completed", [({"9", "100"},)], [[("A", "9"), ("B", "100")]], make=_binned
    ),
    "holding up to 0.05 means the same on every surface": Case(
        "surfaces", [("0",)], [False], make=_jump_at_a_twentieth
    ),
    "the true label of one point may come in a list": Case(
        "right", [("a", "x")], [True], [("a", "x"), ("b", "y")], "AB"
    ),
}
