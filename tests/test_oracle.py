"""The judges on trial: cases worked out by hand, and two ways through the worlds that must agree."""

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
from support.bias_oracle import Judge, OwnMissing
from support.bias_tables import Holed, random_bias, random_holed
from support.strategies import PAPER_LABELS, PAPER_ROWS

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
SEED = 20240701
READINGS: tuple[OwnMissing, ...] = ("skip", "any")


def test_world_count_of_paper_example() -> None:
    """One hole with six values and two with four make 96 distinct worlds."""
    domains = oracle.seen_domains(PAPER_ROWS, 2)
    assert [len(domain) for domain in domains] == [4, 6]
    every = list(oracle.worlds(PAPER_ROWS, domains))
    assert len(every) == len(set(every)) == 96
    assert all(oracle.is_world(world, PAPER_ROWS, domains) for world in every)


@pytest.mark.parametrize(
    ("fills", "expected"),
    [
        (("b", "a", "b"), (Fraction(4, 9) * 3 / 4 * 3 / 4, Fraction(5, 9) * 2 / 5 * 1 / 5)),
        (("d", "a", "a"), (Fraction(4, 9) * 3 / 4 * 2 / 4, Fraction(5, 9) * 3 / 5 * 1 / 5)),
    ],
)
def test_supports_of_paper_example(
    fills: tuple[str, str, str], expected: tuple[Fraction, Fraction]
) -> None:
    """Both worlds shown in the paper have the supports printed there."""
    world = list(PAPER_ROWS)
    world[3], world[6], world[7] = ("a", fills[0]), (fills[1], "u4"), (fills[2], "u5")
    domains = oracle.seen_domains(PAPER_ROWS, 2)
    values = oracle.supports(world, PAPER_LABELS, ("a", "b"), domains)
    assert (values["l*"], values["l"]) == expected


def test_reachable_counts_fill_a_box() -> None:
    """T1: for a complete point the reachable counts are all vectors between low and high."""
    rng = random.Random(20240601)
    for _ in range(150):
        case = strategies.random_case(rng)
        point = tuple(rng.choice(domain) for domain in case.domains)
        reached = oracle.reachable_counts(case.rows, case.labels, point, case.domains)
        sides = [
            range(*_low_and_beyond(case, point, label, j))
            for label in oracle.distinct(case.labels)
            for j in range(len(point))
        ]
        flat = {tuple(itertools.chain(*counts)) for counts in reached}
        assert flat == set(itertools.product(*sides)), case


def _low_and_beyond(
    case: strategies.Case, point: oracle.Row, label: oracle.Label, j: int
) -> tuple[int, int]:
    """Return low and high + 1 of one label and feature by their definition in T1."""
    sets = [
        set(oracle.candidates(row[j], case.domains[j]))
        for row, own in zip(case.rows, case.labels, strict=True)
        if own == label
    ]
    low = sum(options == {point[j]} for options in sets)
    high = sum(point[j] in options for options in sets)
    return low, high + 1


def test_remembering_supports_changes_nothing() -> None:
    """Outcomes from distinct counts equal those of a plain walk over worlds and completions."""
    rng = random.Random(20240602)
    for _ in range(80):
        case = strategies.random_case(rng)
        for point in case.points:
            plain = [
                oracle.supports(
                    world, case.labels, filled, case.domains, alpha=case.alpha, prior=case.prior
                )
                for world in oracle.worlds(case.rows, case.domains)
                for filled in oracle.completions(point, case.domains)
            ]
            quick = case.outcomes(point)
            assert {tuple(values.items()) for values in plain} == {
                tuple(values.items()) for values in quick
            }, case


def test_random_tables_cover_what_they_should() -> None:
    """The generator really makes ties, holes, sets, strange points and all kinds of verdicts."""
    rng = random.Random(20240603)
    met: Counter[str] = Counter()
    for _ in range(400):
        case = strategies.random_case(rng)
        cells = [cell for row in case.rows for cell in row]
        asked = [cell for point in case.points for cell in point]
        every = case.outcomes(case.points[0])
        facts = {
            "null": None in cells,
            "set": any(isinstance(cell, frozenset) for cell in cells),
            "forced": any(
                row[j] is None and len(domain) == 1
                for row in case.rows
                for j, domain in enumerate(case.domains)
            ),
            "declared": case.domains != oracle.seen_domains(case.rows, len(case.features)),
            "unseen": any(cell in strategies.UNSEEN for cell in asked),
            "open point": None in asked,
            "set in point": any(isinstance(cell, frozenset) for cell in asked),
            "tie": any(len(oracle.winners(values)) > 1 for values in every),
            "certain": oracle.certain(every),
            "open": not oracle.certain(every),
            "one label": len(set(case.labels)) == 1,
            "four labels": len(set(case.labels)) == 4,
            "loose": oracle.undominated(every) != oracle.possible_labels(every),
            "many worlds": len(strategies.holes(case)) >= 5,
        }
        assert oracle.certain(every) == (len(oracle.undominated(every)) == 1)
        met.update(facts)
    assert all(met.values()), met


# Bias ------------------------------------------------------------------------------------------


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


def test_tolerance_by_hand() -> None:
    """Label A has one a and three holes, B one a: A must keep two of its holes' a's, no more.

    S_A = 4/5 · c/4 = c/5 and S_B = 1/5. All known cells of A are a's, so c is at least
    1 + floor(3 · (1 - bias)), which is 2 or more up to a bias of 2/3 and 1, a tie, above.
    """
    rows = [("a",), *[(None,)] * 3, ("a",)]
    judge = Judge.of_rows(rows, list("AAAAB"), [("a", "b")])
    assert judge.breakpoints() == [0, THIRD, 2 * THIRD, 1]
    assert judge.tolerance(("a",)) == 2 * THIRD
    assert judge.verdict(("a",), (2 * THIRD,)).label == "A"
    above = judge.verdict(("a",), (2 * THIRD + Fraction(1, 10**9),))
    assert above == bias_oracle.Verdict(None, frozenset("AB"))
    # At bias 0 no hole is a b, so for a b both supports are 0: a tie.
    assert judge.tolerance(("b",)) is None


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
    holed: Holed, point: Sequence[Any], bias: bias_oracle.Bias, own_missing: OwnMissing
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


def test_counts_fill_a_box() -> None:
    """T9: jointly over labels and features, the counts of the worlds of a bias are a whole box."""
    for holed, rng in small_tables(150, cap=150, own_missing=0.0):
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


def test_the_box_never_disagrees() -> None:
    """T9, T10: the formulas give the verdicts and tolerances of the enumeration."""
    rng = random.Random(SEED)
    for _ in range(400):
        holed = random_holed(rng, own_missing=0.3)
        judge, other = holed.judge(), holed.judge(BoxJudge)
        bias = tuple(random_bias(rng, judge) for _ in holed.features)
        for point, reading in itertools.product(holed.points, READINGS):
            assert judge.verdict(point, bias, reading) == other.verdict(point, bias, reading)
            assert judge.tolerance(point, reading) == other.tolerance(point, reading)
