"""Answers are exact: underflow, near ties, counts near ten million, many features, tiny and huge numbers.

Where doubles cannot tell two supports apart, whole numbers do. Every verdict, prediction and tolerance
here is held against fractions.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support import oracle, strategies
from support.amounts import SEED, seeded
from support.bias_oracle import READINGS, BoxJudge
from support.bias_tables import assert_verdicts
from support.counted import index_of
from support.large_counts import LargeTable, index_from_counts, large_table, two_labels
from support.strategies import EVEN, HARD_TABLES, ODD, random_case, table

from nullproof import CertifiedNB, CountIndex, certify, explain, tolerance

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
ALPHAS: tuple[Any, ...] = (0, 1, Fraction(1, 3), Fraction(3, 7), 0.1)


# Underflow and near ties --------------------------------------------------------------------------


@pytest.mark.parametrize("name", HARD_TABLES)
def test_hard_tables(name: str) -> None:
    """Underflow, near ties and ties are decided as exact products decide them.

    Beside a third label too, and after so many other points that they are looked at in parts.
    """
    n_rows, a, b, expected = HARD_TABLES[name]
    counts, point = {"A": a, "B": b, "C": [0] * len(a)}, [("a",) * len(a)]
    others = [("b",) * len(a)] * (5000 if len(a) < 100 else 1)
    for names in ("AB",) if len(a) > 100 else ("AB", "ACB", "CAB", "ABC"):
        best = max(math.prod(counts[one]) for one in names)
        tops = {one for one in names if math.prod(counts[one]) == best}
        assert tops == expected or not best
        rows, labels = table(n_rows, **{one: counts[one] for one in names})
        model = CertifiedNB(0, binning="none", weights="equal").fit(rows, labels)
        found = model.certify([*others, *point])[-1]
        only = min(tops) if len(tops) == 1 else None
        assert {*found.possible} == tops
        assert (found.label, found.predicted) == (only, only)
        assert model.predict(point)[0] in tops


@pytest.mark.parametrize("alpha", [0, 1, 0.1])
def test_hole_next_to_a_tie(alpha: float) -> None:
    """One hole among 7,200 cells is all it takes to lose a certificate."""
    rows, labels = table(3, A=[2, *EVEN[1:]], B=ODD)
    holed = [rows[0], (None, *rows[1][1:]), *rows[2:]]
    for some, expected in ((rows, {"A"}), (holed, {"A", "B"})):
        index = CountIndex.from_rows(some, labels, weights="equal")
        assert {*certify(index, ("a",) * len(ODD), alpha=alpha).possible} == expected


@pytest.mark.parametrize(
    "name", [name for name, hard in HARD_TABLES.items() if len(hard[1]) < 100 and all(hard[1])]
)
def test_near_ties_with_missing_cells_beside(name: str) -> None:
    """A missing cell that makes or breaks the last digit is told apart, in any order of the columns.

    The counts of one label are reached only in its best world, or in its worst; a third label and many
    labels far behind change nothing.
    """
    n_rows, a, b, _ = HARD_TABLES[name]
    rng = random.Random(name)
    for n_behind in (0, 1, 20):
        order = rng.sample(range(len(a)), len(a))
        left, right = ([own[j] for j in order] for own in (a, b))
        behind = {f"C{k:02}": [0] * len(a) for k in range(n_behind)}
        rows, labels = table(n_rows, A=left, B=right, **behind)
        first, second = math.prod(left), math.prod(right)
        for place, value in itertools.product((0, n_rows), "ab"):
            # One row of the label holds this value in one column; blanked, it may hold either.
            spots = [
                (i, j)
                for i in range(place, place + n_rows)
                for j in range(len(a))
                if rows[i][j] == value and (value == "b" or (left, right)[place > 0][j] > 1)
            ]
            i, j = rng.choice(spots)
            holed = [*rows]
            holed[i] = (*rows[i][:j], None, *rows[i][j + 1 :])
            own = left if place == 0 else right
            change = Fraction(own[j] + (1 if value == "b" else -1), own[j])
            ranges = {"A": [Fraction(first)] * 2, "B": [Fraction(second)] * 2}
            label = "B" if place else "A"
            ranges[label] = sorted((ranges[label][0], ranges[label][0] * change))
            expected = {
                one for one, other in (("A", "B"), ("B", "A")) if ranges[one][1] >= ranges[other][0]
            }
            index = CountIndex.from_rows(
                holed, labels, domains={f"x{j}": ["a", "b"]}, weights="equal"
            )
            assert set(certify(index, ("a",) * len(a), alpha=0).possible) == expected


@pytest.mark.filterwarnings("ignore:.*in (multiply|divide|subtract):RuntimeWarning")
def test_extreme_alphas_and_priors() -> None:
    """Numbers below, above and at the edge of double precision are as exact as any other."""
    rng = random.Random(20240607)
    for _ in range(120):
        case = replace(random_case(rng), alpha=rng.choice(strategies.EXTREME_ALPHAS))
        prior = {
            label: rng.choice(strategies.EXTREME_WEIGHTS) for label in oracle.distinct(case.labels)
        }
        case = replace(case, prior=prior) if any(prior.values()) else case
        index, judge, points = index_of(case), case.judge(), [*case.points]
        for bias in (Fraction(0), Fraction(rng.randrange(12), 12), Fraction(1)):
            for reading in READINGS:
                told = certify(index, points, bias=bias, own_missing=reading, **case.options)
                assert_verdicts(case, judge, told, (bias,) * len(case.features), reading)


# Large counts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_large_counts(seed: int) -> None:
    """Millions of cells are rounded to whole cells as fractions are, not as doubles are (T9)."""
    rng = seeded(seed)
    for _ in range(40):
        large = large_table(rng, alpha=rng.choice(ALPHAS))
        judge, point = large.judge(), large.point(rng)
        for bias in [Fraction(1), *(random_share(rng, judge) for _ in range(5))]:
            expected = judge.verdict(point, (bias,) * len(judge.domains))
            told = certify(large.index, point, bias=bias, alpha=large.alpha)
            assert told.label == expected.label, (point, bias, large)
            assert frozenset(told.possible) == expected.possible, (point, bias, large)


def random_share(rng: random.Random, judge: BoxJudge) -> Fraction:
    """Draw a bias exactly at, or less than any double away from, a breakpoint of large groups."""
    if not judge.groups or rng.random() < 0.2:
        return Fraction(rng.random())
    n_cells, shares = rng.choice(list(judge.groups.values()))
    share = rng.choice(list(shares.values()))
    jump = abs(share - Fraction(rng.randint(0, n_cells), n_cells))
    near = jump + rng.choice((-1, 0, 1)) * Fraction(1, 10**30)
    return min(max(near, Fraction(0)), Fraction(1))


def near_ties(n_features: int, size: int) -> Iterator[tuple[list[int], list[int]]]:
    """Counts of two labels whose products differ by about one part in the square of a count, or tie.

    (n + k)(n - k) against n · n, with other columns alike, in another order.
    """
    rng = random.Random(size + n_features)
    for k in (0, 1, 2, 3):
        n = size - rng.randrange(size // 4)
        others = [size - rng.randrange(size // 2) for _ in range(n_features - 2)]
        shuffled = rng.sample(others, len(others))
        yield [n, n, *others], [n + k, n - k, *shuffled]


@pytest.mark.parametrize(
    "weights",
    [
        (Fraction(1, 8), Fraction(15, 8)),
        *(pytest.param(own, marks=pytest.mark.slow) for own in ((1, 1), (2, 0.125))),
    ],
)
@pytest.mark.parametrize(
    ("n_features", "size"),
    [(2, 10**7), (8, 10**6), pytest.param(96, 10**7, marks=pytest.mark.slow), (96, 900)],
)
def test_near_ties_of_large_counts(n_features: int, size: int, weights: tuple[Any, Any]) -> None:
    """Verdict, prediction, tolerance and explanation agree where sums of logarithms cannot tell.

    The weights are those of the two columns that differ, and of all others.
    """
    own, rest = weights
    given = {"x0": own, "x1": own, "*": rest}
    for left, right in near_ties(n_features, size):
        for first, second in ((left, right), (right, left)):
            index = two_labels((2 * size, 2 * size), first, second, given)
            point = ("0",) * n_features
            a, b = math.prod(first), math.prod(second)
            winner = "L0" if a > b else "L1" if b > a else None
            found = certify(index, point, alpha=0)
            assert (found.label, found.predicted) == (winner, winner), (first, second)
            assert found.certain is (winner is not None)
            np.testing.assert_equal(found.tolerance, 1.0 if winner else math.nan)
            told = explain(index, point, alpha=0)
            assert told.certain is found.certain
            if winner is not None:
                lead = float(own) * math.log1p(Fraction(max(a, b), min(a, b)) - 1)
                assert told.label == winner
                expected = pytest.approx((lead,) * 3, rel=1e-6, abs=1e-9)
                assert (told.total.least, told.total.reference, told.total.greatest) == expected


@pytest.mark.parametrize("n_others", [0, 94])
def test_near_ties_that_exponents_decide(n_others: int) -> None:
    """Counts near ten millions with weights of 1/8 and 15/8: without exponents the other label would win.

    L1 has one cell fewer in the column of weight 15/8 and about fifteen more in that of weight 1/8, so its
    support to the eighth power is about the same, and the plain product greater.
    """
    n = 10**7
    given = {"x0": Fraction(1, 8), "x1": Fraction(15, 8), "*": Fraction(3, 8)}
    others = [n - 7 * j for j in range(n_others)]
    winners = set()
    for more in (14, 15, 16):
        first, second = [n, n, *others], [n + more, n - 1, *others[::-1]]
        a, b = n * n**15, (n + more) * (n - 1) ** 15
        winner = "L0" if a > b else "L1"
        winners.add(winner)
        assert math.prod(first) < math.prod(second)
        assert abs(Fraction(a, b) - 1) < 1e-6
        index = two_labels((2 * n, 2 * n), first, second, given)
        point = ("0",) * len(first)
        found = certify(index, point, alpha=0)
        assert (found.label, found.predicted, found.tolerance) == (winner, winner, 1.0)
        told = explain(index, point, alpha=0)
        assert (told.label, told.certain) == (winner, True)
    assert winners == {"L0", "L1"}


@pytest.mark.parametrize("alpha", ALPHAS)
def test_near_ties_with_a_prior(alpha: Any) -> None:
    """A prior that makes up for the counts exactly is a tie; a hair more or less decides."""
    rng = random.Random(SEED)
    for size in (5, 10**3, 10**7):
        d = rng.choice((1, 3, 12))
        first, second = ([size - rng.randrange(size // 2 + 1) for _ in range(d)] for _ in range(2))
        index = two_labels((2 * size, 2 * size), first, second)
        smooth = Fraction(alpha)
        a, b = (math.prod(count + smooth for count in own) for own in (first, second))
        hair = Fraction(1, 10**60)
        for factor, expected in ((1, None), (1 + hair, "L0"), (1 - hair, "L1")):
            prior: Any = [b * factor, a]
            found = certify(index, ("0",) * d, alpha=alpha, prior=prior)
            assert (found.label, found.predicted) == (expected, expected), (size, first, second)


# Tolerances of large counts -----------------------------------------------------------------------


def assert_tolerance(large: LargeTable, judge: BoxJudge, point: Any, told: float) -> bool:
    """The point holds at the double told and not at the next; whether it lies between 0 and 1.

    The breakpoint between these two is found exactly, and certify draws the line just there.
    """
    if math.isnan(told):
        assert not judge.holds(point, 0), (point, large)
        return False
    assert judge.holds(point, told), (point, told, large)
    if told == 1:
        return False
    after = math.nextafter(told, 2)
    assert not judge.holds(point, after), (point, told, large)
    last = max(step for step in jumps(judge, told, after) if judge.holds(point, step))
    for bias, holds in [(last, True), (last + Fraction(1, 10**40), False)]:
        told_so = certify(large.index, point, bias=bias, **large.options).certain
        assert told_so is holds, (point, bias, large)
    return True


def jumps(judge: BoxJudge, first: float, end: float) -> list[Fraction]:
    """List ``first`` and the breakpoints between it and ``end``."""
    start = Fraction(first)
    found = [start]
    for n_cells, shares in judge.groups.values():
        for share in shares.values():
            down = share - Fraction(math.floor(n_cells * (share - start)), n_cells)
            up = Fraction(math.ceil(n_cells * (share + start)), n_cells) - share
            found += [step for step in (down, up) if start <= step < Fraction(end)]
    return found


@pytest.mark.parametrize(
    "size", [30, 1000, 10**5, *(pytest.param(10**n, marks=pytest.mark.slow) for n in (7, 10))]
)
def test_tolerances_of_large_counts(size: int) -> None:
    """T10: right to the last digit, for one point alone and for many points together."""
    rng = seeded(size)
    n_between = 0
    for _ in range(30):
        large = large_table(rng, alpha=rng.choice(ALPHAS), size=size)
        if rng.random() < 0.5:
            # A prior brings the labels close together.
            weights = {label: Fraction(rng.randint(900, 1100), 1000) for label in large.n_rows}
            large = replace(large, prior=weights)
        judge = large.judge()
        points = sorted({large.point(rng) for _ in range(6)})
        together = tolerance(large.index, points, **large.options).tolist()
        for point, told in zip(points, together, strict=True):
            n_between += assert_tolerance(large, judge, point, told)
        alone = tolerance(large.index, points[:1], **large.options)
        np.testing.assert_equal(alone[0], together[0])
        crowd = points * 400
        np.testing.assert_array_equal(
            tolerance(large.index, crowd, **large.options), np.tile(together, 400)
        )
    assert n_between > 10


TRILLION = 10**12
# Sizes, known cells and missing cells: more jumps than 32 bits count, or than anybody lists.
HUGE: dict[str, tuple[Any, Any, Any]] = {
    "a trillion jumps": (
        [TRILLION] * 2,
        [
            [[680, TRILLION], [320, 0]],
            [[TRILLION, TRILLION // 22_026], [0, TRILLION - TRILLION // 22_026]],
        ],
        [[TRILLION - 1000, 0], [0, 0]],
    ),
    "jumps just above zero": (
        [2**51] * 2,
        [[[2**49 + 2**16, 2**49], [2**49 - 2**16, 2**49]]],
        [[2**50, 2**50]],
    ),
    "more than 32 bits, of the rival": (
        [2, 2**36],
        [[[1, 2**33 + 2**29], [1, 2**35 - 2**33 - 2**29]]],
        [[0, 2**35]],
    ),
    "more than 32 bits, of both": (
        [6, 2**36],
        [[[1, 2**33 + 2**29], [1, 2**35 - 2**33 - 2**29]]],
        [[4, 2**35]],
    ),
}


@pytest.mark.parametrize("prior", [None, "uniform"])
@pytest.mark.parametrize("name", HUGE)
def test_tolerances_beyond_32_bits(name: str, prior: Any) -> None:
    """Alone and in a crowd a point is told the last double at which it holds."""
    index = index_from_counts(*HUGE[name])
    point = ("0",) * len(index.features)
    alone = tolerance(index, [point], prior=prior)
    np.testing.assert_array_equal(tolerance(index, [point] * 40, prior=prior), alone.repeat(40))
    last = float(alone[0])
    if math.isnan(last):
        assert not certify(index, point, bias=0, prior=prior).certain
    elif last < 1:
        assert certify(index, point, bias=last, prior=prior).certain
        assert not certify(index, point, bias=math.nextafter(last, 2), prior=prior).certain
