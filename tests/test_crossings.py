"""Where rivals catch up, at brackets whose ends lie as close to jumps as doubles can (T10)."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from support.count_tables import first_point, index_from_counts

from nullproof import CountIndex, certify
from nullproof.brackets import Bracket
from nullproof.crossings import _first_lost, _moved, _not_too_many
from nullproof.leads import Pairs, Tables
from nullproof.model import Model
from nullproof.tolerances import tolerance


class Close(NamedTuple):
    """Two jumps, the winner's before the rival's, and the pair of labels that has them."""

    first: float
    second: float
    pairs: Pairs


def below(exact: Fraction) -> float:
    """The greatest double that is not above a fraction."""
    nearest = float(exact)
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, -math.inf)


def close_jumps(odds: Fraction) -> Iterator[Close]:
    """Two features with hundreds of millions of open cells, and one jump of each within some 1e-16.

    With the share ``q`` of a value the winner's count falls from ``1 + a`` beyond ``q - a/n``, the
    rival's rises from ``2 + b`` beyond ``b/k - (1 - q)``. Where the first has happened and the second
    has not, the supports have these ``odds``.
    """
    rng = random.Random(20261117)
    for _ in range(4000):
        n, k = (rng.randrange(10**8, 4 * 10**8) for _ in range(2))
        apart, alpha = rng.randint(1, 9), Fraction(rng.randint(1, 9), rng.choice((3, 7, 10, 11)))
        if math.gcd(n, k) > 1:
            continue
        # So that the jumps are apart / (n·k) apart.
        a = apart * pow(k, -1, n) % n
        b = (apart + n * k - a * k) // n
        share = (1 + alpha) / (3 + 2 * alpha)
        first, second = below(share - Fraction(a, n)), below(Fraction(b, k) - (1 - share))
        if not 0.001 < first < second < 0.06:
            continue
        counts = [[[1, 1], [2, k + 2]], [[1, 2], [n + 2, 1]]]
        index = replace(
            index_from_counts([n + 3, k + 3], counts), n_null=np.array([[n, 0], [0, k]])
        )
        sizes = ((n + 3 + 2 * alpha) / (k + 3 + 2 * alpha)) ** 2
        prior = odds * sizes * (2 + b + alpha), a + alpha
        tables = Tables(Model(index, alpha, prior), first_point(index))
        yield Close(first, second, tables.pairs(np.array([0]), np.array([0]), np.array([1])))


def told(pairs: Pairs, left: float, right: float) -> float | None:
    """What is told of a bracket; None if rounding blurs one of its ends."""
    ends = np.array([left]), np.array([right])
    low, high = (pairs.lead(end) for end in ends)
    bracket = Bracket(*ends, low, high, np.array([True]))
    if not bracket.is_sure(pairs.slack).all():
        return None
    return float(_first_lost(pairs, bracket, _moved(pairs, bracket))[0])


def doubles_away(number: float, n_doubles: int) -> float:
    """The double that is so many doubles above a number, or below it."""
    for _ in range(abs(n_doubles)):
        number = math.nextafter(number, n_doubles * math.inf)
    return number


@pytest.mark.parametrize("which", [0, 1], ids=["the first", "the second"])
def test_jumps_close_to_an_end_are_not_told_wrongly(which: int) -> None:
    """Of two jumps next to each other the right one is told, or none if an end lies next to them too.

    Rounding may put one of them on the wrong side of such an end, and then the other takes the blame.
    """
    n_close = 0
    odds = 1 + Fraction(2 * which - 1, 10**9)
    for first, second, pairs in close_jumps(odds):
        right = (first, second)[which]
        assert told(pairs, first - 1e-10, second + 1e-10) == right
        for n_doubles in range(1, 5):
            left_end = told(pairs, doubles_away(first, -n_doubles), second + 1e-10)
            right_end = told(pairs, first - 1e-10, doubles_away(second, n_doubles))
            for found in (left_end, right_end):
                assert found is None or math.isnan(found) or found == right
                n_close += found is not None
    assert n_close > 500


@pytest.mark.parametrize("which", [0, 1], ids=["the first", "the second"])
def test_halves_do_not_tell_close_jumps_apart(which: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lead between two jumps next to each other is that of either side, so that neither is told."""
    monkeypatch.setattr(Pairs, "plain", False)
    n_blurred, odds = 0, 1 + Fraction(2 * which - 1, 10**9)
    for first, second, pairs in close_jumps(odds):
        found = told(pairs, first - 1e-10, second + 1e-10)
        assert found is not None
        assert math.isnan(found) or found == (first, second)[which]
        n_blurred += math.isnan(found)
    assert n_blurred > 100


@pytest.mark.parametrize("threatens", [False, True])
def test_a_jump_at_zero_is_not_missed(threatens: bool) -> None:
    """A lead is lost right above 0 though rounding hides that jump, and not at the next one, at 1e-13."""
    # Of n open cells n·p/q hold the value: a whole number that doubles miss.
    n, p, q = (42, 9, 14) if threatens else (49, 1, 49)
    assert (n * (p / q) > n * p // q) if threatens else (n * (p / q) < n * p // q)
    # In the other feature, a rival's count rises beyond 1 / (m·s).
    m, s = 3_000_007, 3_000_029
    assert (m + s) % 14 == 0
    r = -pow(m, -1, s) % s
    most = r + (m * r + 1) // s
    rows = m + s
    if threatens:
        known = rows - n
        held = known * p // q
        counts = [[[50, held], [48, known - held]], [[7, r], [91, s - r]]]
        open_cells = [[0, n], [0, m]]
        before, after = Fraction(50, held + n * p // q), Fraction(50, held + n * p // q + 1)
    else:
        counts = [[[p, 5], [q - p, rows - 5]], [[7, r], [91, s - r]]]
        open_cells = [[n, 0], [0, m]]
        before, after = Fraction(2, 5), Fraction(1, 5)
    index = replace(index_from_counts([98, rows], counts), n_null=np.array(open_cells))
    # Supports whose quotient is 1 half way between before and after.
    others = Fraction(7, most) * Fraction(rows, 98) ** 2
    found = tolerance(index, [("0", "0")], alpha=0, prior=[1, (before + after) / 2 * others])
    assert found.tolist() == [0.0]


@pytest.mark.parametrize("alpha", [1e-5, 1e-7, 1e-9, Fraction(1, 10**9)])
def test_a_count_that_falls_to_a_tiny_smoothing(alpha: float | Fraction) -> None:
    """Beyond 4/21 the winner has nothing but the smoothing left, and ties; the rival rises at 5/12."""
    winner = [(None, value) for value in "xxxxyyy"]
    rival = [(value, "y") for value in ("t", "u", "v", None, None, None, None)]
    index = CountIndex.from_rows(winner + rival, ["A"] * 7 + ["B"] * 7)
    assert tolerance(index, [("t", "x")], alpha=alpha).tolist() == [below(Fraction(4, 21))]


def test_jumps_that_were_cut_to_fit_do_not_look_few() -> None:
    """A grid keeps fewer jumps of a trillion open cells than a trial passes, and is right all the same."""
    n = 10**12
    counts = [[[680, n], [320, 0]], [[n, n // 22_026], [0, n - n // 22_026]]]
    holes = np.array([[n - 1000, 0], [0, 0]])
    index = replace(index_from_counts([n, n], counts), n_null=holes)
    alone, *every = (tolerance(index, [("0", "0")] * size) for size in (1, 32))
    assert 0.6795 < alone[0] < 0.68
    assert every[0].tolist() == [alone[0]] * 32


def test_a_million_jumps_just_above_zero_are_not_listed() -> None:
    """Of 2^60 open cells nearly a million move before a bias of 2^-40, where the lead is lost."""
    n = 2**61
    counts = [[[n // 4 + 2**16, n // 4], [n // 4 - 2**16, n // 4]]]
    index = replace(index_from_counts([n, n], counts), n_null=np.array([[n // 2, n // 2]]))
    first, second = np.array([0]), np.array([1])
    pairs = Tables(Model(index), first_point(index)).pairs(first, first, second)
    bracket, _ = Bracket.of(pairs, np.ones(1), pairs.lost())
    assert (bracket.left[0], bracket.right[0]) == (0.0, 2.0**-40)
    moved = _moved(pairs, bracket)
    assert min(int(own[0, 0]) for parts in moved for own in parts) >= 2**20
    assert [own.tolist() for parts in _not_too_many(moved) for own in parts] == [[[0]], [[0]]]
    found = tolerance(index, [("0",)])
    assert 0 < found[0] < 2.0**-40
    assert certify(index, [("0",)], bias=found[0]).certain.all()
    assert not certify(index, [("0",)], bias=math.nextafter(found[0], 1)).certain.any()
