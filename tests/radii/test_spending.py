"""Spending cells on features whose values may be chosen, against every way to spend them (T15)."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.count_tables import index_from_counts, random_index

from nullproof.counts.index import CountIndex
from nullproof.model import Model
from nullproof.radii import spending as spending_module
from nullproof.radii.reach import Reach
from nullproof.radii.spending import Choice, Spending

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")


def drawn_choice(rng: random.Random, feature: int) -> Choice:
    """Up to three values with small counts, some of which cannot move."""
    n_values = rng.randint(1, 3)
    low = [rng.randint(0, 6) for _ in range(n_values)]
    lower = [rng.randint(0, c) for c in low]
    high, upper = ([rng.randint(0, 5) for _ in range(n_values)] for _ in range(2))
    arrays = (np.array(own, dtype=np.int64) for own in (low, high, lower, upper))
    return Choice(feature, np.arange(10, 10 + n_values), *arrays)


def leads_of(choice: Choice, value: int, n_cells: int, alpha: float) -> float:
    """The least quotient of counts over all ways to spend at most so many cells on one value."""
    found = []
    for b in range(min(n_cells, int(choice.lower[value])) + 1):
        for a in range(min(n_cells - b, int(choice.upper[value])) + 1):
            own = int(choice.low[value]) - b + alpha
            other = int(choice.high[value]) + a + alpha
            found.append(own / other if other else (math.inf if own else 0.0))
    return min(found)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 3.0])
def test_one_feature(alpha: float) -> None:
    """T15: either the winner's side gets as many cells as it can take, or the rival's."""
    rng = random.Random(f"choice-{alpha}")
    for _ in range(60):
        choice = drawn_choice(rng, 0)
        most = max(int(a) + int(b) for a, b in zip(choice.lower, choice.upper, strict=True))
        assert choice.n_useful == most
        n_cells = np.arange(most + 2)
        found = choice.leads(n_cells, alpha)
        assert found.shape == (len(choice.values), most + 2)
        for value, n in itertools.product(range(len(choice.values)), n_cells.tolist()):
            lead, expected = float(found[value, n]), leads_of(choice, value, n, alpha)
            if expected in (0.0, math.inf):
                assert lead < -1e200 if expected == 0 else lead > 1e100
            else:
                assert lead == pytest.approx(math.log(expected), abs=1e-12)
        logs = [
            abs(math.log(max(float(c) + alpha, alpha or 1.0)))
            for own in (choice.low, choice.high, choice.low - choice.lower)
            for c in own
        ]
        logs += [abs(math.log(float(c) + alpha or 1.0)) for c in choice.high + choice.upper]
        assert choice.magnitude(alpha) == pytest.approx(max(logs))


def test_rows_are_joined() -> None:
    """The least sum for every number of cells, over all ways to share them between two rows."""
    rng = random.Random("joined")
    for _ in range(50):
        size = rng.randint(1, 8)
        table = np.array(sorted((rng.uniform(-3, 3) for _ in range(size)), reverse=True))
        row = np.array(sorted(rng.choice([1.0, 0.5, rng.random()]) for _ in range(size))[::-1])
        expected = [min(table[n - k] + row[k] for k in range(n + 1)) for n in range(size)]
        assert spending_module._joined(table, row).tolist() == pytest.approx(expected)


class Asked:
    """A point whose values may be chosen, a winner, a rival, and all that they can come to."""

    def __init__(self, rng: random.Random) -> None:
        self.index = random_index(rng, rng.choice([4, 9]))
        made = rng.random() < 0.5
        if made:
            # Two values for which the winner is ahead, and a third.
            sides = [(rng.randint(3, 6), rng.randint(3, 6), rng.randint(0, 3)) for _ in range(3)]
            known = [[(a, rng.randint(0, 2)), (b, rng.randint(0, 2)), (c, 9)] for a, b, c in sides]
            self.index = index_from_counts([15, 13], known)
        alpha: Any = rng.choice([0, 1, Fraction(1, 3)])
        self.alpha = alpha
        prior: Any = rng.choice([None, "uniform", [5.0, 1.0, 0.0, 2.0][: len(self.index.labels)]])
        self.model, self.pair = Model(self.index, alpha, prior), (0, 1)
        self.features = [j for j in range(self.model.d) if rng.random() < 0.6][:3]
        names = [*self.index.features]
        within = rng.sample(names, rng.randint(1, len(names)))
        self.reach = Reach.of(self.index, {"columns": within})
        sizes = self.index.n_values.tolist()
        self.values = [
            np.array(
                rng.sample(range(2 if made else sizes[j] + 1), rng.randint(1, min(2, sizes[j])))
            )
            for j in self.features
        ]
        self.choices = [
            Choice.of(self.model, self.reach, j, own, self.pair)
            for j, own in zip(self.features, self.values, strict=True)
        ]
        self.spending = Spending(self.model, self.pair, self.choices)

    def rooms(self, j: int, code: int) -> tuple[int, int, int, int]:
        """The winner's and the rival's count of a value, and how far cells move them."""
        values, (winner, rival) = np.array([code]), self.pair
        low, high = self.index.low(j, values)[0, winner], self.index.high(j, values)[0, rival]
        size = int(self.index.n_values[j])
        moves = code < size and size > 1 and self.reach.columns[j]
        lower = int(low) if moves else 0
        upper = int(self.index.label_counts[rival]) - int(high) if moves else 0
        return int(low), int(high), lower, upper

    def fewest(self, codes: Sequence[int]) -> float:
        """The fewest cells for one completion, over all ways to spend them."""
        own, other = ({0: self.weight(label)} for label in self.pair)
        for j, code in zip(self.features, codes, strict=True):
            low, high, lower, upper = self.rooms(j, code)
            own = self.wider(own, low, lower, -1)
            other = self.wider(other, high, upper, +1)
        works = [b + a for b, w in own.items() for a, r in other.items() if w <= r]
        return min(works, default=math.inf)

    def wider(self, found: dict[int, Any], count: int, room: int, step: int) -> dict[int, Any]:
        better, more = min if step < 0 else max, dict[int, Any]()
        for used, product in found.items():
            for n in range(room + 1):
                value = product * (count + step * n + Fraction(self.alpha))
                more[used + n] = better(more.get(used + n, value), value)
        return more

    def weight(self, label: int) -> Fraction:
        below = Fraction(1)
        for j in self.features:
            size = int(self.index.n_values[j])
            below *= int(self.index.label_counts[label]) + Fraction(self.alpha) * size
        return Fraction(self.model.prior[label]) / below if below else Fraction(0)


def test_fewest_cells_of_all_completions() -> None:
    """T15: the fewest cells that may be enough are those of the weakest completion, which is named."""
    rng = random.Random("completions")
    n_found = 0
    for _ in range(200):
        asked = Asked(rng)
        every = [*itertools.product(*(own.tolist() for own in asked.values))]
        if not asked.features or not asked.weight(0):
            continue
        radii = {codes: asked.fewest(codes) for codes in every}
        expected = min(radii.values())
        found = asked.spending.fewest(math.inf)
        assert asked.spending.is_hopeless() == (expected == math.inf)
        if found is None:
            assert expected == math.inf
            continue
        assert found[0] == expected
        codes = tuple(found[1][j] for j in asked.features)
        assert radii[codes] == expected
        again = asked.spending.fewest(expected)
        assert again is not None
        assert again[0] == expected
        assert expected == 0 or asked.spending.fewest(expected - 1) is None
        n_found += expected > 0
    assert n_found > 60


def index_of_two() -> CountIndex:
    return index_from_counts([90, 50], [[(60, 20), (30, 30)], [(50, 10), (40, 40)]])


def test_what_is_too_long() -> None:
    """The work grows with the square of the cells worth spending, which end with the useful ones."""
    index = index_of_two()
    model, values = Model(index, 1), np.array([0, 1])
    choices = [Choice.of(model, Reach.of(index), j, values, (0, 1)) for j in range(2)]
    spending = Spending(model, (0, 1), choices)
    useful = sum(choice.n_useful for choice in choices)
    assert useful == (60 + 30) + (50 + 40)
    assert [spending.most(n) for n in (7.0, useful, math.inf)] == [7, useful, useful]
    assert [spending.work(7.0), spending.work(math.inf)] == [7**2, useful**2]


@pytest.mark.parametrize("alpha", [0, 1, Fraction(1, 3)])
def test_slack_of_sums(alpha: Any) -> None:
    """Twice the largest logarithm of each feature, and all that no count changes (theory 2)."""
    index = index_of_two()
    model, values = Model(index, alpha, [3.0, 1.0]), np.array([0, 1])
    choices = [Choice.of(model, Reach.of(index), j, values, (0, 1)) for j in range(2)]
    magnitude = 2 * sum(choice.magnitude(float(alpha)) for choice in choices)
    q = Fraction(alpha).denominator
    for label, n_rows in enumerate((90, 50)):
        share = Fraction(model.prior[label])
        magnitude += math.log(share.numerator) + math.log(share.denominator)
        magnitude += 2 * abs(math.log(q) - math.log(q * (n_rows + 2 * Fraction(alpha))))
    found = Spending(model, (0, 1), choices).slack
    assert found == pytest.approx(8 * model.slack(magnitude), rel=1e-9, abs=0)
