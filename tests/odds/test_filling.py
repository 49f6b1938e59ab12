"""Counts by chance against exact fractions: the distance is within the error, and the error is small."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from nullproof import CountIndex
from nullproof.errors import NullproofError
from nullproof.odds import filling as filling_module
from nullproof.odds.filling import Count, Filling, Open, count_of, distance

Law = dict[int, Fraction]


def exact(low: int, groups: tuple[Open, ...]) -> Law:
    """The distribution of the count, cell by cell."""
    found: Law = {low: Fraction(1)}
    for n_cells, share, whole in groups:
        for _ in range(n_cells):
            wider: Law = {}
            for count, chance in found.items():
                for more, own in ((1, Fraction(share, whole)), (0, 1 - Fraction(share, whole))):
                    wider[count + more] = wider.get(count + more, Fraction(0)) + chance * own
            found = wider
    return found


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


def test_unknown_rules_are_refused() -> None:
    """A rule is one of the names, or learned."""
    index = CountIndex.from_rows([("a",), ("b",)], ["A", "B"])
    with pytest.raises(NullproofError, match="cells is 'even'; give"):
        Filling(index, "even")  # type: ignore[arg-type]
    with pytest.raises(NullproofError, match="cells is 'model', which learns"):
        Filling(index, "model")
