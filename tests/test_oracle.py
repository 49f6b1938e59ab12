"""The judges on trial: cases worked out by hand, and two ways through the worlds that must agree."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support import bias_oracle, oracle
from support.bias_oracle import READINGS, BoxJudge, Judge
from support.bias_tables import random_bias, random_holed
from support.strategies import PAPER_LABELS, PAPER_ROWS, Case, holes

from experiments import bias as arising

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
SEED = 20240701


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
    case = Case(PAPER_ROWS, PAPER_LABELS, ("x", "y"), None, (), 0, None)
    values = case.supports(world, ("a", "b"))
    assert (values["l*"], values["l"]) == expected


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
) -> list[tuple[Case, random.Random]]:
    """Draw tables whose worlds can all be written out, each with a generator of its own."""
    found: list[tuple[Case, random.Random]] = []
    rng = random.Random(SEED)
    while len(found) < n:
        weighted = rng.random() < 0.5
        holed = random_holed(rng, n_rows=6, own_missing=own_missing, weighted=weighted)
        cells = [(holed.rows[i][j], holed.domains[j]) for i, j in holes(holed)]
        if math.prod(len(oracle.candidates(*own)) for own in cells) <= cap:
            found.append((holed, random.Random(rng.random())))
    return found


def worlds_of(case: Case, bias: bias_oracle.Bias) -> Iterator[oracle.Row]:
    """Write out every world of a bias."""
    return bias_oracle.worlds_of_bias(
        case.rows, case.labels, case.domains, alpha=case.alpha, bias=bias
    )


def test_row_by_row_equals_group_by_group() -> None:
    """Both ways through the worlds lead to the same verdict, by column and in both readings."""
    n_open = 0
    for holed, rng in small_tables(100, cap=300):
        judge = holed.judge()
        bias = tuple(random_bias(rng, judge) for _ in holed.features)
        worlds = [*worlds_of(holed, bias)]
        for point, reading in itertools.product(holed.points, READINGS):
            options = [
                (None,) if cell is None and reading == "skip" else oracle.candidates(cell, domain)
                for cell, domain in zip(point, holed.domains, strict=True)
            ]
            filled = [*itertools.product(*options)]
            every = [holed.supports(world, own) for world in worlds for own in filled]
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
        boxes = holed.judge(BoxJudge)
        bias = tuple(random_bias(rng, boxes) for _ in holed.features)
        point = holed.points[0]
        reached = {
            oracle.count(world, holed.labels, holed.names, point)
            for world in worlds_of(holed, bias)
        }
        sides = [
            boxes.counts(label, j, value, bias[j])
            for label in holed.names
            for j, value in enumerate(point)
        ]
        box = itertools.product(*(range(min(ends), max(ends) + 1) for ends in sides))
        assert {sum(counts, ()) for counts in reached} == set(box), (point, bias, holed)


def test_the_box_never_disagrees() -> None:
    """T9, T10: the formulas give the verdicts and tolerances of the enumeration."""
    rng = random.Random(SEED)
    for _ in range(400):
        holed = random_holed(rng, own_missing=0.3, weighted=rng.random() < 0.5)
        judge, other = holed.judge(), holed.judge(BoxJudge)
        bias = tuple(random_bias(rng, judge) for _ in holed.features)
        for point, reading in itertools.product(holed.points, READINGS):
            assert judge.verdict(point, bias, reading) == other.verdict(point, bias, reading)
            assert judge.tolerance(point, reading) == other.tolerance(point, reading)


# The bias that arises --------------------------------------------------------------------------------


def is_world(known: list[int], blanked: list[int], eps: Fraction) -> bool:
    """Whether blanked cells that held these values make a world of so much bias."""
    total = sum(known) + len(known)
    ranges = (bias_oracle.limits(sum(blanked), Fraction(n + 1, total), eps) for n in known)
    return all(low <= x <= high for x, (low, high) in zip(blanked, ranges, strict=True))


def test_the_least_bias_is_where_the_truth_becomes_a_world() -> None:
    """Just above it what the cells held is a world of that bias; just below it is none (T9)."""
    rng = random.Random(0)
    tiny, n_above = Fraction(1, 10**9), 0
    for _ in range(1000):
        size = rng.randint(1, 4)
        known = [rng.randint(0, 6) for _ in range(size)]
        blanked = [rng.randint(0, 5) for _ in range(size)]
        if not any(blanked):
            continue
        least = arising.least_bias(np.array(known), np.array(blanked))
        assert is_world(known, blanked, Fraction(least) + tiny)
        if least > 0:
            assert not is_world(known, blanked, max(Fraction(least) - tiny, Fraction(0)))
            n_above += 1
    assert n_above > 200
