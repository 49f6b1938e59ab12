"""The judge of bias on trial: cases worked out by hand, T9 by brute force, and planted mistakes."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from support import bias_oracle, oracle, strategies
from support.bias_box import BoxJudge
from support.bias_oracle import Judge, OwnHoles
from support.bias_tables import Holed, random_bias, random_holed

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
SEED = 20240701
READINGS: tuple[OwnHoles, ...] = ("skip", "any")


def counted(label: str, **cells: int) -> tuple[list[tuple[Any]], list[str]]:
    """Make the rows of one label with one feature; ``hole`` counts the missing cells."""
    rows = [(None if value == "hole" else value,) for value, n in cells.items() for _ in range(n)]
    return rows, [label] * len(rows)


# By hand ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_cells", "share", "bias", "expected"),
    [
        (3, THIRD, 0, (1, 1)),
        (3, HALF, 0, (1, 2)),  # one and a half cells are rounded outwards
        (2, HALF, Fraction(1, 4), (0, 2)),  # 2 · 1/4 and 2 · 3/4
        (3, THIRD, Fraction(1, 4), (0, 2)),  # 3 · 1/12 and 3 · 7/12
        (3, THIRD, THIRD, (0, 2)),  # exactly 0 and 2: the limits are closed
        (3, THIRD, THIRD + Fraction(1, 1000), (0, 3)),
        (4, Fraction(3, 4), HALF, (1, 4)),  # 5 of 4 cells are 4
        (4, Fraction(1, 4), HALF, (0, 3)),  # and -1 are none
        (5, Fraction(2, 5), 1, (0, 5)),
    ],
)
def test_limits_by_hand(
    n_cells: int, share: Fraction, bias: Any, expected: tuple[int, int]
) -> None:
    """Limits are rounded outwards, closed, and between none and all cells."""
    assert bias_oracle.limits(n_cells, share, Fraction(bias)) == expected


def test_reference_by_hand() -> None:
    """Shares are those of the known cells of the label, smoothed, over the candidates only."""
    known = Counter({("A", 0, "a"): 2, ("A", 0, "b"): 1, ("B", 0, "c"): 5})
    every = ("A", 0, frozenset("abc"))
    some = ("A", 0, frozenset("bc"))
    shares = bias_oracle.reference(known, every, 1)
    assert shares == {"a": HALF, "b": THIRD, "c": Fraction(1, 6)}
    assert bias_oracle.reference(known, every, 0) == {"a": 2 * THIRD, "b": THIRD, "c": 0}
    assert bias_oracle.reference(known, some, 0) == {"b": 1, "c": 0}
    assert bias_oracle.reference(known, some, HALF) == {"b": Fraction(3, 4), "c": Fraction(1, 4)}
    # Without a known cell and without smoothing nothing is known: every candidate is as good.
    nothing = ("C", 0, frozenset("abc"))
    assert set(bias_oracle.reference(known, nothing, 0).values()) == {THIRD}


def test_groups_by_hand() -> None:
    """A set of one value is known, one of the whole domain is a hole, others are groups apart."""
    rows = [(None,), ({"a", "b", "c"},), ({"a", "b"},), ({"b"},), ("a",), (None,)]
    groups = bias_oracle.open_groups(rows, "AAAAAB", [("a", "b", "c")])
    assert groups == {
        ("A", 0, frozenset("abc")): [0, 1],
        ("A", 0, frozenset("ab")): [2],
        ("B", 0, frozenset("abc")): [5],
    }
    assert bias_oracle.known_cells(rows, "AAAAAB", [("a", "b", "c")]) == {
        ("A", 0, "a"): 1,
        ("A", 0, "b"): 1,
    }
    assert bias_oracle.open_groups([(None,), ("a",)], "AA", [("a",)]) == {}


def test_worlds_by_hand() -> None:
    """Of two holes beside one a and one b one is an a and one a b, until the bias is above 0."""
    rows, labels = counted("A", a=1, b=1, hole=2)
    for bias, n_worlds in [(Fraction(0), 2), (Fraction(1, 10**6), 4), (Fraction(1), 4)]:
        worlds = bias_oracle.worlds_of_bias(rows, labels, [("a", "b")], alpha=0, bias=(bias,))
        assert len(list(worlds)) == n_worlds
    assert list(bias_oracle.compositions(2, [(0, 1), (0, 2)])) == [(0, 2), (1, 1)]
    assert list(bias_oracle.compositions(2, [(0, 0), (0, 1)])) == []


def test_tolerance_by_hand() -> None:
    """Label A has one a and three holes, B one a: A must keep two of its holes' a's, no more.

    S_A = 4/5 · c/4 = c/5 and S_B = 1/5. All known cells of A are a's, so c is at least
    1 + floor(3 · (1 - bias)), which is 2 or more up to a bias of 2/3 and 1, a tie, above.
    """
    (rows_a, labels_a), (rows_b, labels_b) = counted("A", a=1, hole=3), counted("B", a=1)
    judge = Judge.of_rows(rows_a + rows_b, labels_a + labels_b, [("a", "b")])
    assert judge.breakpoints() == [0, THIRD, 2 * THIRD, 1]
    assert judge.tolerance(("a",)) == 2 * THIRD
    assert judge.verdict(("a",), (2 * THIRD,)).label == "A"
    above = judge.verdict(("a",), (2 * THIRD + Fraction(1, 10**9),))
    assert above == bias_oracle.Verdict(None, frozenset("AB"))
    # At bias 0 no hole is a b, so for a b both supports are 0: a tie.
    assert judge.tolerance(("b",)) is None


def test_tolerance_of_smoothed_counts_by_hand() -> None:
    """With smoothing of 1 and equal priors the same table holds up to 5/12.

    q(a) = 2/3. S_A = (c + 1)/7 with c = 1 + floor(4 · (2/3 - bias)) for four holes, against
    S_B = 1/3 for one b: c = 2 is enough (3/7), c = 1 is not (2/7). So 4 · (2/3 - bias) >= 1.
    """
    (rows_a, labels_a), (rows_b, labels_b) = counted("A", a=1, hole=4), counted("B", b=1)
    judge = Judge.of_rows(
        rows_a + rows_b, labels_a + labels_b, [("a", "b")], alpha=1, prior="uniform"
    )
    assert judge.tolerance(("a",)) == 2 * THIRD - Fraction(1, 4) == Fraction(5, 12)


def test_bias_by_column_by_hand() -> None:
    """Two columns, both with three holes of A: one left to any value takes away what the other gives.

    S_A = 4/5 · (c/4) · (e/4) with c and e between 1 and 4, S_B = 1/5 · 1 · 1. A needs c · e > 4.
    With the second column at any value e is 1: no c is enough. With the second column at 0 e is 4:
    c = 2 is enough, a bias of 2/3. Both alike: 3 · 3 at 1/3, but 2 · 2 only ties at 2/3.
    """
    rows = [("a", "a"), *[(None, None)] * 3, ("a", "a")]
    judge = Judge.of_rows(rows, list("AAAAB"), [("a", "b"), ("a", "b")])
    point = ("a", "a")
    assert judge.tolerance(point) == THIRD
    assert judge.tolerance(point, fixed={1: Fraction(0)}) == 2 * THIRD
    assert judge.tolerance(point, fixed={1: Fraction(1)}) is None
    assert judge.tolerance(point, fixed={0: THIRD, 1: THIRD}) == 1
    # Without the second column A needs c > 1.
    assert judge.tolerance(("a", None)) == 2 * THIRD
    # If the second value may also be b: there B has no support, and A none in the world of all a.
    assert judge.tolerance(("a", None), "any") is None


def test_a_label_without_rows_by_hand() -> None:
    """It has no support without smoothing, even where every feature is left out; with it, it may."""
    rows, labels = counted("A", a=1)
    options: dict[str, Any] = {"prior": {"A": 1, "B": 9}, "all_labels": ["A", "B"]}
    for point in (("a",), (None,)):
        judge = Judge.of_rows(rows, labels, [("a", "b")], **options)
        assert judge.verdict(point, (Fraction(1),)).label == "A"
        judge = Judge.of_rows(rows, labels, [("a", "b")], alpha=1, **options)
        # 1/10 · 2/3 against 9/10 · 1/2, and 1/10 against 9/10.
        assert judge.verdict(point, (Fraction(1),)).label == "B"


def test_double_below() -> None:
    """The largest double not above a number; a double is its own."""
    assert bias_oracle.double_below(HALF) == 0.5
    assert Fraction(1 / 3) < THIRD
    assert bias_oracle.double_below(THIRD) == 1 / 3
    assert Fraction(2 / 3) < 2 * THIRD
    tenth = Fraction(1, 10)
    assert bias_oracle.double_below(tenth) == math.nextafter(0.1, 0) < 0.1
    assert bias_oracle.double_below(Fraction(0.1)) == 0.1


# Row by row, group by group, and the box ------------------------------------------------------------


def small_tables(
    n: int, *, cap: int = 2000, own_missing: float = 0.3
) -> list[tuple[Holed, random.Random]]:
    """Draw tables whose worlds can all be written out, each with a generator of its own."""
    found: list[tuple[Holed, random.Random]] = []
    rng = random.Random(SEED)
    while len(found) < n:
        holed = random_holed(rng, n_rows=6, own_missing=own_missing)
        if math.prod(len(options) for *_, options in holed.holes()) <= cap:
            found.append((holed, random.Random(rng.random())))
    return found


def row_by_row(
    holed: Holed, point: Sequence[Any], bias: bias_oracle.Bias, own_missing: OwnHoles
) -> list[oracle.Supports]:
    """Write out the supports of every world."""
    return bias_oracle.outcomes_row_by_row(
        holed.rows, holed.labels, point, holed.domains,
        all_labels=holed.names, alpha=holed.alpha, prior=holed.prior, bias=bias,
        own_missing=own_missing,
    )  # fmt: skip


def test_row_by_row_equals_group_by_group() -> None:
    """Both ways through the worlds lead to the same verdict, by column and in both readings."""
    n_open = 0
    for holed, rng in small_tables(100, cap=300):
        judge = holed.judge()
        bias = tuple(random_bias(rng, judge) for _ in holed.features)
        for point, reading in itertools.product(holed.points, READINGS):
            every = row_by_row(holed, point, bias, reading)
            verdict = judge.verdict(point, bias, reading)
            assert verdict.label == oracle.certain_label(every), (point, bias, reading, holed)
            assert verdict.possible == oracle.undominated(every), (point, bias, reading, holed)
            if reading == "skip" and not any(isinstance(cell, frozenset) for cell in point):
                assert verdict.possible == oracle.possible_labels(every), (point, bias, holed)
            n_open += verdict.label is None
    assert n_open > 60


def test_tolerance_is_the_last_breakpoint_that_holds() -> None:
    """Row by row: it holds at its tolerance, not a hair above, and at no later breakpoint."""
    n_between = 0
    for holed, _ in small_tables(100, cap=64, own_missing=0.1):
        judge = holed.judge()
        point, d = holed.points[0], len(holed.features)
        tolerance = judge.tolerance(point)
        steps = judge.breakpoints()
        asked = [*steps, *((one + two) / 2 for one, two in itertools.pairwise(steps))]
        for bias in asked:
            held = oracle.certain(row_by_row(holed, point, (bias,) * d, "skip"))
            assert held == (tolerance is not None and bias <= tolerance), (bias, holed)
        n_between += tolerance is not None and tolerance < 1
    assert n_between > 3


def test_counts_fill_a_box() -> None:
    """T9: jointly over labels and features, the counts of the worlds of a bias are a whole box."""
    for holed, rng in small_tables(400, cap=150, own_missing=0.0):
        judge, boxes = holed.judge(), holed.judge(BoxJudge)
        assert isinstance(boxes, BoxJudge)
        bias = tuple(random_bias(rng, judge) for _ in holed.features)
        point = holed.points[0]
        reached = {
            oracle.count(world, holed.labels, holed.names, point)
            for world in bias_oracle.worlds_of_bias(
                holed.rows, holed.labels, holed.domains, alpha=holed.alpha, bias=bias
            )
        }
        sides = [
            boxes.box(label, j, value, bias[j])
            for label in holed.names
            for j, value in enumerate(point)
        ]
        box = itertools.product(*(range(low, high + 1) for low, high in sides))
        assert {sum(counts, ()) for counts in reached} == set(box), (point, bias, holed)


def test_counts_of_larger_groups_fill_a_box() -> None:
    """T9 for one group: all cells, candidates, shares and biases up to small denominators."""
    biases = [Fraction(k, 24) for k in range(25)]
    for n_cells, weights in itertools.product(range(1, 7), itertools.product(range(4), repeat=3)):
        total = sum(weights)
        if not total:
            continue
        shares = tuple(Fraction(weight, total) for weight in weights)
        for bias in biases:
            taken = bias_oracle.shared_out(n_cells, shares, bias)
            for share, values in zip(shares, taken, strict=True):
                low, high = bias_oracle.limits(n_cells, share, bias)
                assert values == {*range(low, high + 1)}, (n_cells, shares, bias)


def test_any_bias_is_every_world() -> None:
    """A bias of 1 excludes nothing: the verdicts are those of the oracle of all worlds."""
    rng = random.Random(SEED)
    for _ in range(500):
        case = strategies.random_case(rng)
        judge = Judge.of_rows(
            case.rows, case.labels, case.domains, alpha=case.alpha, prior=case.prior
        )
        for point in case.points:
            every = case.outcomes(point)
            verdict = judge.verdict(point, (Fraction(1),) * len(case.features), "any")
            assert verdict.label == oracle.certain_label(every), (point, case)
            assert verdict.possible == oracle.undominated(every), (point, case)


# Planted mistakes -----------------------------------------------------------------------------------


class InwardLow(BoxJudge):
    def fewest(self, n_cells: int, share: Fraction, bias: Fraction) -> int:
        return max(0, math.ceil(n_cells * (share - bias)))


class InwardHigh(BoxJudge):
    def most(self, n_cells: int, share: Fraction, bias: Fraction) -> int:
        return min(n_cells, math.floor(n_cells * (share + bias)))


class OpenLimits(BoxJudge):
    def fewest(self, n_cells: int, share: Fraction, bias: Fraction) -> int:
        return max(0, math.ceil(n_cells * (share - bias)) - 1)


class HalfTheBias(BoxJudge):
    def fewest(self, n_cells: int, share: Fraction, bias: Fraction) -> int:
        return super().fewest(n_cells, share, bias / 2)

    def most(self, n_cells: int, share: Fraction, bias: Fraction) -> int:
        return super().most(n_cells, share, bias / 2)


class UniformReference(BoxJudge):
    def box(self, label: Any, j: int, value: Any, bias: Fraction) -> tuple[int, int]:
        low = high = self.known[label, j, value]
        for (own, feature, options), (n_cells, _) in self.groups.items():
            if (own, feature) == (label, j) and value in options:
                low += self.fewest(n_cells, Fraction(1, len(options)), bias)
                high += self.most(n_cells, Fraction(1, len(options)), bias)
        return low, high


class ReferenceWithoutSmoothing(BoxJudge):
    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.groups = {
            group: (n_cells, bias_oracle.reference(self.known, group, 0))
            for group, (n_cells, _) in self.groups.items()
        }


class OneGroupForAllCandidates(BoxJudge):
    def box(self, label: Any, j: int, value: Any, bias: Fraction) -> tuple[int, int]:
        low = high = self.known[label, j, value]
        own = [
            (n_cells, shares[value])
            for (name, feature, options), (n_cells, shares) in self.groups.items()
            if (name, feature) == (label, j) and value in options
        ]
        if own:
            n_cells = sum(n for n, _ in own)
            share = sum((n * share for n, share in own), Fraction(0)) / n_cells
            low += self.fewest(n_cells, share, bias)
            high += self.most(n_cells, share, bias)
        return low, high


class AllCellsBelowTheLine(BoxJudge):
    def supports(self, label: Any, kept: Any, point: Any, bias: Any) -> list[Fraction]:
        skipped = [j for j in range(len(self.domains)) if j not in kept]
        below = [self.n_rows[label] + self.alpha * len(self.domains[j]) for j in skipped]
        factor = math.prod(below, start=Fraction(1)) or Fraction(1)
        return [value / factor for value in super().supports(label, kept, point, bias)]


class EmptyLabelsHavePriors(BoxJudge):
    def supports(self, label: Any, kept: Any, point: Any, bias: Any) -> list[Fraction]:
        if not kept:
            return [self.share[label]]
        return super().supports(label, kept, point, bias)


MISTAKES = [
    InwardLow, InwardHigh, OpenLimits, HalfTheBias, UniformReference, ReferenceWithoutSmoothing,
    OneGroupForAllCandidates, AllCellsBelowTheLine, EmptyLabelsHavePriors,
]  # fmt: skip


def disagrees(kind: type[Judge], n_tables: int) -> bool:
    """Whether another judge differs from the oracle in some verdict or tolerance."""
    rng = random.Random(SEED)
    for _ in range(n_tables):
        holed = random_holed(rng, own_missing=0.3)
        judge, other = holed.judge(), holed.judge(kind)
        bias = tuple(random_bias(rng, judge) for _ in holed.features)
        for point, reading in itertools.product(holed.points, READINGS):
            if judge.verdict(point, bias, reading) != other.verdict(point, bias, reading):
                return True
            if judge.tolerance(point, reading) != other.tolerance(point, reading):
                return True
    return False


def test_the_box_never_disagrees() -> None:
    """T9, T10: the formulas give the verdicts and tolerances of the enumeration."""
    assert not disagrees(BoxJudge, 600)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_planted_mistakes_are_noticed(mistake: type[Judge]) -> None:
    """Random tables tell each wrong formula from the right one, and few of them are enough."""
    assert disagrees(mistake, 1500)


def test_a_breakpoint_is_missed_by_hairs_alone() -> None:
    """Points do hold exactly at a breakpoint and not a hair above: tables reach both sides."""
    rng = random.Random(SEED)
    hair, n_exact = Fraction(1, 10**9), 0
    for _ in range(300):
        holed = random_holed(rng)
        judge, d = holed.judge(), len(holed.features)
        for point in holed.points:
            tolerance = judge.tolerance(point)
            if tolerance is not None and tolerance < 1:
                assert judge.verdict(point, (tolerance,) * d).label is not None
                assert judge.verdict(point, (tolerance + hair,) * d).label is None
                n_exact += 1
    assert n_exact > 30


def test_filling_keeps_a_certain_point_certain() -> None:
    """A tolerance of 1 stays 1 when a hole gets a value: all worlds after were worlds before."""
    rng = random.Random(SEED)
    n_filled = 0
    for _ in range(300):
        holed = random_holed(rng)
        certain = [point for point in holed.points if holed.judge().tolerance(point) == 1]
        for i, j, options in holed.holes():
            filled = holed.with_cell(i, j, rng.choice(options)).judge()
            assert all(filled.tolerance(point) == 1 for point in certain), holed
            n_filled += len(certain)
    assert n_filled > 300
