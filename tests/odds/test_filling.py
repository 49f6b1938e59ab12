"""Counts by chance against exact fractions: the distance is within the error, and the error is small."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from nullproof import CountIndex
from nullproof.counts.index import LEFT_OUT
from nullproof.errors import NullproofError
from nullproof.odds import filling as filling_module
from nullproof.odds.filling import Count, Filling, Open, count_of, distance, rule_of
from nullproof.odds.learned import WHOLE, Chances, Learned

Law = dict[int, Fraction]
_EPS = float(np.finfo(np.float64).eps)


def exact(low: int, groups: tuple[Open, ...]) -> Law:
    """The distribution of the count, cell by cell."""
    ways = [1]
    for n_cells, share, whole in groups:
        for _ in range(n_cells):
            miss, hit = [n * (whole - share) for n in ways], [n * share for n in ways]
            ways = [a + b for a, b in zip([*miss, 0], [0, *hit], strict=True)]
    total = sum(ways)
    return {low + k: Fraction(n, total) for k, n in enumerate(ways) if n}


def apart(law: Law, count: Count) -> Fraction:
    """The total variation distance from an exact distribution."""
    own = {count.first + k: Fraction(chance) for k, chance in enumerate(count.probs.tolist())}
    keys = {*law, *own}
    return (
        sum((abs(law.get(k, Fraction(0)) - own.get(k, Fraction(0))) for k in keys), Fraction(0)) / 2
    )


def drawn_groups(rng: random.Random) -> tuple[Open, ...]:
    """A few groups of open cells, some of them surely or never with the value."""
    found = []
    for _ in range(rng.randint(0, 3)):
        whole = rng.choice([2, 3, 7, 10])
        found.append(Open(rng.choice([1, 2, 5, 12, 25]), rng.randint(0, whole), whole))
    return tuple(found)


@pytest.mark.parametrize("cut", [1e-30, 1e-9, 1e-3, 0.2])
def test_counts_by_chance(cut: float) -> None:
    """Theory 6: the distribution is as near to the truth as it says, and never farther than asked for."""
    rng = random.Random(f"counts-{cut}")
    for _ in range(40):
        low, groups = rng.randint(0, 5), drawn_groups(rng)
        law, count = exact(low, groups), count_of(low, groups, cut)
        assert apart(law, count) <= Fraction(count.error)
        assert count.error <= 1.1 * cut + 1e-11
        assert math.fsum(count.probs) == pytest.approx(1, abs=1e-12)
        assert count.first >= min(law)
        assert count.first + len(count.probs) - 1 <= max(law)
        if cut < 1e-20:
            assert {n for n, chance in law.items() if chance > 1e-25} <= {
                count.first + k for k in range(len(count.probs))
            }
    assert count_of(3, (), cut).probs.tolist() == [1.0]
    assert count_of(3, (), cut).first == 3
    assert count_of(3, (), cut).error == 0


def test_long_tails_are_cut() -> None:
    """Of a thousand cells only some numbers around the likeliest are kept, all that matter."""
    for share, whole in [(1, 2), (1, 10), (9, 10)]:
        group = Open(1000, share, whole)
        mean, deviation = 1000 * share / whole, math.sqrt(1000 * share * (whole - share)) / whole
        for cut, reach in [(1e-3, 4.0), (1e-9, 7.0)]:
            count = count_of(0, (group,), cut)
            last = count.first + len(count.probs) - 1
            assert mean - reach * deviation - 2 < count.first < mean < last
            assert last < mean + reach * deviation + 2
            assert count.error <= 1.1 * cut + 1e-11
            chances = [
                math.comb(1000, k) * share**k * (whole - share) ** (1000 - k) for k in range(1001)
            ]
            total = whole**1000
            law = {k: Fraction(chance, total) for k, chance in enumerate(chances)}
            assert apart(law, count) <= Fraction(count.error)


@pytest.mark.parametrize("n_cells", [31, 32, 33, 64, 70])
def test_single_cells_with_chances_of_their_own(n_cells: int) -> None:
    """Cells are added up some at a time; the others beside them keep their own way."""
    rng = random.Random(n_cells)
    groups = (*(Open(1, rng.randint(0, 97), 97) for _ in range(n_cells)), Open(4, 1, 3))
    law, count = exact(2, groups), count_of(2, groups, 1e-12)
    assert apart(law, count) <= Fraction(count.error)
    assert count.error < 1.2e-12
    parts = filling_module._single_cells([*groups[:n_cells]])
    sizes = [len(part.probs) - 1 for part in parts]
    assert sizes == [32] * (n_cells // 32) + ([n_cells % 32] if n_cells % 32 else [])


@pytest.mark.parametrize("n_single", [31, 40])
def test_groups_beside_single_cells(n_single: int) -> None:
    """However many groups there are, and whatever their sizes: each counts once."""
    rng = random.Random(n_single)
    chances = [Fraction(rng.randint(1, 96), 97) for _ in range(3 * n_single)]
    sizes = [1] * n_single + [2] * n_single + [3] * n_single
    groups = tuple(
        Open(size, own.numerator, own.denominator) for size, own in zip(sizes, chances, strict=True)
    )
    for some in (groups, groups[:n_single], groups[n_single:], groups[n_single : 2 * n_single]):
        law, count = exact(1, some), count_of(1, some, 1e-6)
        assert apart(law, count) <= Fraction(count.error)
        # Each group and each sum has its part of what may be cut off.
        assert count.error <= 1.1e-6
        assert len(count.probs) < len(law)


def test_many_groups_share_the_cut() -> None:
    """Each group and each sum cuts off its part of what may be cut off."""
    groups = tuple(Open(60, share, 97) for share in range(20, 76, 7))
    for cut in (0.1, 1e-3):
        law, count = exact(0, groups), count_of(0, groups, cut)
        assert apart(law, count) <= Fraction(count.error)
        assert 0.5 * cut < count.error < 1.1 * cut


def test_errors_of_single_cells() -> None:
    """Six roundings of each cell, half an eps each, and not many times as much."""
    for part in filling_module._single_cells([Open(1, 1, 3)] * 40):
        assert 3 * 32 * _EPS <= part.error <= 12 * 32 * _EPS
        assert part.first == 0


@pytest.fixture
def untrimmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tails are not cut off."""
    monkeypatch.setattr(filling_module, "_trimmed", lambda count, _: count)


@pytest.mark.usefixtures("untrimmed")
@pytest.mark.parametrize("cut", [0.3, 1e-3, 1e-12])
def test_binomial_numbers_around_the_likeliest(cut: float) -> None:
    """What is left out lies so far from the mean that it has half of the cut at most, by Hoeffding."""
    for n, (a, b) in itertools.product((1, 2, 7, 100, 1000), ((1, 2), (1, 10), (9, 10), (1, 999))):
        count = filling_module._binomial(Open(n, a, b), cut)
        mean, last = n * a / b, count.first + len(count.probs) - 1
        reach = math.sqrt(n * math.log(4 / cut) / 2)
        rounding = 12 * _EPS * len(count.probs)
        assert count.first == 0 or mean - (count.first - 1) >= reach
        assert last == n or last + 1 - mean >= reach
        # The reach is rounded up, and one is to spare.
        assert len(count.probs) <= 2 * reach + 5
        if (count.first, last) == (0, n):
            assert rounding / 2 <= count.error <= 2 * rounding
        else:
            assert cut / 2 + rounding / 2 <= count.error <= cut / 2 + 2 * rounding
        kept = range(count.first, last + 1)
        ways = [math.comb(n, k) * a ** (k - kept[0]) * (b - a) ** (last - k) for k in kept]
        total = sum(ways)
        assert count.probs == pytest.approx([own / total for own in ways], rel=1e-10)


def test_binomial_numbers_that_are_sure() -> None:
    """Cells that never or always take the value are no chance at all."""
    for n, a, expected in ((5, 0, 0), (5, 3, 5), (1, 1, 1)):
        count = filling_module._binomial(Open(n, a, max(a, 1)), 1e-3)
        assert (count.first, count.probs.tolist(), count.error) == (expected, [1.0], 0.0)
    count = filling_module._binomial(Open(4, 1, 3), 1e-3)
    assert (count.first, len(count.probs)) == (0, 5)


def test_tails_are_cut() -> None:
    """Less than half of the cut at each side, and the error says so; the rest sums to 1 again."""
    probs = np.array([0.01, 0.02, 0.3, 0.34, 0.3, 0.02, 0.01])
    count = Count(3, probs, 0.125)
    assert filling_module._trimmed(count, 0.01) is count
    for cut, n_lost in ((0.03, 1), (0.05, 1), (0.07, 2), (0.5, 2)):
        found = filling_module._trimmed(count, cut)
        kept = probs[n_lost : 7 - n_lost]
        assert found.first == 3 + n_lost
        assert found.probs == pytest.approx(kept / kept.sum())
        assert cut < found.error - 0.125 < 1.05 * cut
    lopsided = Count(0, np.array([0.02, 0.4, 0.58]), 0.0)
    assert filling_module._trimmed(lopsided, 0.1).first == 1
    assert len(filling_module._trimmed(lopsided, 0.1).probs) == 2
    tiny = Count(0, np.array([1e-40, 0.5, 0.5, 1e-40]), 0.0)
    found = filling_module._trimmed(tiny, 1e-30)
    assert found.probs.tolist() == [0.5, 0.5]
    assert 2 * _EPS <= found.error <= 8 * _EPS


def test_sums_of_counts() -> None:
    """Errors add up, and each of ``k`` products and sums is rounded once; only true sums are trimmed."""
    one = Count(2, np.array([0.25, 0.5, 0.25]), 0.125)
    other = Count(5, np.array([0.125, 0.375, 0.375, 0.125]), 0.25)
    found = filling_module._sum(one, other, 0.0)
    assert found.first == 7
    assert found.probs == pytest.approx(np.convolve(one.probs, other.probs))
    assert 0.375 + 2 * _EPS <= found.error <= 0.375 + 8 * _EPS
    trimmed = filling_module._sum(one, other, 0.1)
    assert (trimmed.first, len(trimmed.probs)) == (8, 4)
    assert 0.475 < trimmed.error < 0.48
    for pair in ((Count(4, np.ones(1), 0.0), one), (one, Count(4, np.ones(1), 0.0))):
        moved = filling_module._sum(*pair, 0.9)
        assert (moved.first, moved.probs.tolist()) == (6, one.probs.tolist())
        assert 0.125 + _EPS <= moved.error <= 0.125 + 4 * _EPS


def test_distance_of_counts() -> None:
    """The distance is that of the distributions, and of what each may be off."""
    rng = random.Random("distance")
    for _ in range(60):
        counts = []
        for _ in range(2):
            weights = [rng.random() for _ in range(rng.randint(1, 5))]
            probs = np.array(weights) / sum(weights)
            counts.append(Count(rng.randint(0, 4), probs, rng.choice([0.0, 1e-3])))
        one, other = counts
        law = {one.first + k: Fraction(chance) for k, chance in enumerate(one.probs.tolist())}
        true = float(apart(law, other))
        expected = true + one.error + other.error
        assert distance(one, other) == pytest.approx(expected, rel=1e-8)
        assert distance(one, other) >= expected
        assert distance(one, one) == 0
    left_out = [Count(LEFT_OUT, np.ones(1), error) for error in (0.0, 0.125)]
    assert distance(*left_out) == 0.125


# The chances of cells -----------------------------------------------------------------------------


def drawn_table(rng: random.Random) -> tuple[list[tuple[Any, ...]], list[str]]:
    """Rows with missing cells and cells with candidates."""
    n_rows = rng.randint(4, 14)
    kinds: list[Any] = ["a", "b", "c", None, frozenset("ab"), frozenset("bc")]
    rows = [(rng.choice(kinds), rng.choice(["u", None])) for _ in range(n_rows)]
    rows += [("a", "u"), ("b", "u"), ("c", "u")]
    return rows, [rng.choice("AB") for _ in rows]


@pytest.mark.parametrize("cells", ["uniform", "observed"])
def test_chances_of_cells(cells: Any) -> None:
    """Each open cell takes a value as often as its candidates say, or the known cells of its label."""
    rng = random.Random(f"cells-{cells}")
    for _ in range(40):
        rows, labels = drawn_table(rng)
        index = CountIndex.from_rows(rows, labels)
        filling = Filling(index, cells)
        for code, value in enumerate("abc"):
            for i, label in enumerate(index.labels):
                mine = [row[0] for row, own in zip(rows, labels, strict=True) if own == label]
                known = Counter(cell for cell in mine if isinstance(cell, str))
                expected: Counter[Fraction] = Counter()
                for cell in mine:
                    options = {"a", "b", "c"} if cell is None else cell
                    if isinstance(cell, str) or value not in options:
                        continue
                    weights = {one: known[one] if cells == "observed" else 1 for one in options}
                    if not sum(weights.values()):
                        weights = dict.fromkeys(options, 1)
                    expected[Fraction(weights[value], sum(weights.values()))] += 1
                found: Counter[Fraction] = Counter()
                for n_cells, share, whole in filling.open(0, code)[i]:
                    assert math.gcd(share, whole) == 1 or share == 0
                    found[Fraction(share, whole)] += n_cells
                assert found == expected
                assert filling.low(0, code)[i] == known[value]
        # A domain of one value, a value outside and a feature left out have nothing open.
        assert filling.open(1, 0) == filling.open(0, 3) == filling.open(0, 4) == ((), ()) or (
            len(index.labels) == 1
        )


def test_labels_that_know_little() -> None:
    """One known cell says all, and none that all values are as likely as any other."""
    rows: list[tuple[Any, ...]] = [("a",), (None,), (frozenset("bc"),), (None,), (frozenset("bc"),)]
    index = CountIndex.from_rows([*rows, ("c",), ("b",)], list("AAABBCC"))
    filling = Filling(index, "observed")
    assert filling.open(0, 0) == ((Open(1, 1, 1),), (Open(1, 1, 3),), ())
    assert filling.open(0, 1) == (
        (Open(1, 0, 1), Open(1, 1, 2)),
        (Open(1, 1, 3), Open(1, 1, 2)),
        (),
    )
    assert filling.weights(0, (0, 2)).tolist() == [[1, 1, 0], [0, 1, 1]]
    assert Filling(index).weights(0, (0, 2)).tolist() == [[1, 1, 1], [1, 1, 1]]
    # A value outside, and one of a single candidate.
    assert filling.weights(0, (1, 3)).tolist() == [[1, 1, 1], [1, 1, 0]]


def made_up_chances(weights: list[list[int]]) -> tuple[CountIndex, Learned]:
    """Two cells of A and one of B are open, one of them twice alike; C knows all of its cells."""
    rows: list[tuple[Any, ...]] = [(None,), (None,), (None,), ("a",), ("b",), ("c",), ("c",)]
    labels = list("AABAABC")
    index = CountIndex.from_rows(rows, labels)
    learned = Learned.of(index, rows, labels)
    learned._found[0] = Chances(np.array([0, 1, 2]), np.array(weights))
    return index, learned


def test_chances_that_were_learned() -> None:
    """Cells with the same chance are one group, whatever the label knows."""
    half, quarter = WHOLE // 2, WHOLE // 4
    index, learned = made_up_chances(
        [[half, quarter, quarter], [half, 0, half], [quarter, quarter, half]]
    )
    filling = Filling(index, learned)
    assert filling.open(0, 0) == ((Open(2, 1, 2),), (Open(1, 1, 4),), ())
    assert filling.open(0, 1) == ((Open(1, 0, 1), Open(1, 1, 4)), (Open(1, 1, 4),), ())
    assert filling.open(0, 2) == ((Open(1, 1, 4), Open(1, 1, 2)), (Open(1, 1, 2),), ())
    assert filling.open(0, 3) == ((), (), ())
    # All cells of a label together; where none is open, its known ones.
    assert filling.weights(0, (0, 2)).tolist() == [
        [WHOLE, quarter, 0],
        [half + quarter, half, 1],
    ]
    # A candidate outside the domain has no chance beside others.
    assert filling.weights(0, (1, 3)).tolist() == [[quarter, quarter, 1], [0, 0, 1]]
    index, learned = made_up_chances([[WHOLE, 0, 0], [WHOLE - 1, 0, 1], [0, 0, WHOLE]])
    assert Filling(index, learned).weights(0, (1, 2)).tolist() == [[0, 0, 0], [1, WHOLE, 1]]


def test_rules_by_name() -> None:
    """Only ``"model"`` is learned, and only from a table."""
    index, learned = made_up_chances([[WHOLE, 0, 0]] * 3)
    rows: list[tuple[Any, ...]] = [(None,), (None,), (None,), ("a",), ("b",), ("c",), ("c",)]
    assert isinstance(rule_of(index, "model", rows, list("AABAABC")), Learned)
    assert rule_of(index, "model", None) == "model"
    assert rule_of(index, "uniform", rows, list("AABAABC")) == "uniform"
    assert rule_of(index, learned, rows) is learned
    assert Filling(index, learned).learned is learned
    assert Filling(index, "observed").learned is None


def test_unknown_rules_are_refused() -> None:
    """A rule is one of the names, or learned."""
    index = CountIndex.from_rows([("a",), ("b",)], ["A", "B"])
    with pytest.raises(NullproofError, match="cells is 'even'; give"):
        Filling(index, "even")  # type: ignore[arg-type]
    with pytest.raises(NullproofError, match="cells is 'model', which learns"):
        Filling(index, "model")


def test_what_was_learned_from_other_counts_is_refused() -> None:
    """Its cells are not those of the index, and bounds of their odds would be wrong."""
    rows, labels = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")], list("AABB")
    index = CountIndex.from_rows(rows, labels)
    learned = Learned.of(CountIndex.from_rows(rows, labels), rows, labels)
    assert Filling(index, learned).learned is learned
    for other in (
        index.update([("b", None)], ["B"]),
        CountIndex.from_rows([row[::-1] for row in rows], labels, features=["x1", "x0"]),
    ):
        with pytest.raises(NullproofError, match="learned from a table with other counts; give"):
            Filling(other, learned)
