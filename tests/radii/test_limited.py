"""Attacks within limits against every choice of allowed cells, with small counts and with huge ones."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from support.count_tables import two_labels

from nullproof.model import Model
from nullproof.radii.limited import LimitedFrontier
from nullproof.radii.splits import Climb, Item, Products, Side

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")


def extremes(counts: Sequence[int], rooms: Sequence[int], step: int, alpha: Fraction) -> Any:
    """The least or greatest product of smoothed counts for every number of cells, over all choices."""
    better, found = min if step < 0 else max, {0: Fraction(1)}
    for count, room in zip(counts, rooms, strict=True):
        wider: dict[int, Fraction] = {}
        for used, product in found.items():
            for n_cells in range(room + 1):
                value = product * (count + step * n_cells + alpha)
                wider[used + n_cells] = better(wider.get(used + n_cells, value), value)
        found = wider
    return found


class Pair:
    """A winner and a rival of one point, the cells of each that can be blanked, and all choices of them."""

    def __init__(
        self, sizes: tuple[int, int], sides: Sequence[tuple[list[int], list[int]]], *given: Any
    ) -> None:
        (low, lower), (high, upper) = sides
        self.model = Model(two_labels(sizes, low, high), *given)
        self.winner, self.rival = Side(0, low, lower), Side(1, high, upper)

    def weight(self, label: int) -> Fraction:
        """The part of a label's support that no cell changes."""
        size, alpha = int(self.model.index.label_counts[label]), self.model.alpha
        below = math.prod(size + alpha * 2 for _ in self.winner.counts)
        return Fraction(self.model.prior[label]) / below if below else Fraction(0)

    @cached_property
    def leads(self) -> list[Fraction]:
        """For every number of cells, the greatest lead of the rival's support over the winner's."""
        alpha = self.model.alpha
        falls = extremes(self.winner.counts, self.winner.room, -1, alpha)
        climbs = extremes(self.rival.counts, self.rival.room, +1, alpha)
        own, other = self.weight(0), self.weight(1)
        found: list[Fraction] = []
        for n_cells in range(max(falls) + max(climbs) + 1):
            splits = [(n_cells - b, b) for b in falls if n_cells - b in climbs]
            found.append(max(other * climbs[a] - own * falls[b] for a, b in splits))
            found[-1] = max(found[-2:])
        return found

    @cached_property
    def ratios(self) -> list[Fraction]:
        """For every number of cells, the rival's greatest support as a share of the winner's."""
        alpha = self.model.alpha
        falls = extremes(self.winner.counts, self.winner.room, -1, alpha)
        climbs = extremes(self.rival.counts, self.rival.room, +1, alpha)
        shares = [Fraction(0)] * (max(falls) + max(climbs) + 1)
        for b, own in falls.items():
            for a, other in climbs.items():
                shares[a + b] = max(shares[a + b], self.weight(1) * other / (self.weight(0) * own))
        return [max(shares[: n + 1]) for n in range(len(shares))]

    @property
    def fewest(self) -> float:
        works = [n for n, lead in enumerate(self.leads) if lead >= 0]
        return works[0] if works else math.inf

    def lead(self, low: Sequence[int], high: Sequence[int]) -> Fraction:
        own, other = (math.prod(c + self.model.alpha for c in counts) for counts in (low, high))
        return self.weight(1) * other - self.weight(0) * own

    def frontier(self, *, strict: bool = False) -> LimitedFrontier:
        given = self.model, self.winner, self.rival
        return LimitedFrontier(*given, strict=True) if strict else LimitedFrontier(*given)


def small_pairs(n_pairs: int) -> list[Pair]:
    """Draw pairs with counts up to ten whose winner is ahead."""
    rng, found = random.Random(20240604), list[Pair]()
    while len(found) < n_pairs:
        d, sizes = rng.randint(1, 4), (rng.randint(3, 10), rng.randint(1, 10))
        counts = [[rng.randint(rng.randint(0, n), n) for _ in range(d)] for n in sizes]
        rooms = [
            [rng.choice([c, rng.randint(0, c)]) for c in counts[0]],
            [rng.choice([0, rng.randint(0, sizes[1] - c)]) for c in counts[1]],
        ]
        prior = rng.choice([None, "uniform", (3, 1), (1, 7), (1, 0)])
        alpha = rng.choice([0, 0, 1, Fraction(1, 2), 0.1, Fraction(1, 10**400)])
        one = Pair(sizes, [*zip(counts, rooms, strict=True)], alpha, prior)
        if one.leads[0] < 0:
            found.append(one)
    return found


PAIRS = small_pairs(160)


def test_fewest_cells_within_limits() -> None:
    """T14: the fewest allowed cells of all choices, between any bounds that hold them."""
    n_found = n_mixed = n_outright = 0
    for one in PAIRS:
        expected = one.fewest
        steps = one.frontier().fewest(1)
        assert (math.inf if steps is None else sum(steps)) == expected
        if steps is None:
            continue
        n_found, n_mixed = n_found + 1, n_mixed + (min(steps) > 0)
        assert min(steps) >= 0
        n_cells = int(expected)
        assert one.frontier().fewest(n_cells, n_cells) is not None
        assert one.frontier().fewest(1, n_cells - 1) is None
        again = one.frontier().fewest(1, n_cells + 2)
        assert again is not None
        assert sum(again) == expected
        # With as many cells the rival may even win outright.
        outright = one.frontier(strict=True).after(n_cells)
        assert (outright is not None) == (one.leads[n_cells] > 0)
        assert outright is None or one.lead(*outright) > 0
        n_outright += outright is not None
    assert min(n_found - n_outright, n_outright) > 4
    assert n_mixed > 4


@pytest.mark.parametrize("floats_hold", [True, False])
def test_counts_after_so_many_cells(floats_hold: bool) -> None:
    """T14: with every number of cells an attack is found iff there is one, and it keeps to its limits."""
    for one in PAIRS[:: 1 if floats_hold else 3]:
        one.model.floats_hold &= floats_hold
        frontier, expected = one.frontier(), one.fewest
        for n_cells in (*range(len(one.leads) + 2), 1, 3):
            found = frontier.after(n_cells)
            assert (found is None) == (n_cells < expected), (n_cells, expected)
            if found is not None:
                low, high = found
                lowered = [a - b for a, b in zip(one.winner.counts, low, strict=True)]
                raised = [b - a for a, b in zip(one.rival.counts, high, strict=True)]
                assert sum(lowered) + sum(raised) <= n_cells
                moves = zip([*lowered, *raised], [*one.winner.room, *one.rival.room], strict=True)
                assert all(0 <= moved <= room for moved, room in moves)
                assert one.lead(low, high) >= 0


def huge_pairs(n_pairs: int) -> list[Pair]:
    """Draw pairs with counts of nearly a million, or a billion, that logarithms cannot tell apart."""
    rng, found = random.Random(20240605), list[Pair]()
    while len(found) < n_pairs:
        size, d = rng.choice([10**6, 10**9]), rng.choice([2, 3, 3])
        x = size // 10 * 9 + rng.randint(0, 500)
        low = [x + rng.randint(3, 9) for _ in range(d)]
        high = [x + rng.randint(0, 9) for _ in range(d)]
        rooms = [[rng.randint(0, 4) for _ in range(d)] for _ in range(2)]
        one = Pair((size, size), [(low, rooms[0]), (high, rooms[1])], rng.choice([0, 1]))
        if one.leads[0] < 0 <= one.leads[-1]:
            found.append(one)
    return found


def test_counts_that_logarithms_cannot_tell_apart() -> None:
    """T14: products of a million that differ by a few, or not at all, are told apart by integers."""
    for one in huge_pairs(60):
        expected = one.fewest
        steps = one.frontier().fewest(1)
        assert steps is not None
        assert sum(steps) == expected
        assert one.frontier().fewest(1, int(expected) - 1) is None
        outright = one.frontier(strict=True).after(int(expected))
        assert (outright is not None) == (one.leads[int(expected)] > 0)


def test_the_last_cell_of_a_count() -> None:
    """Without smoothing the winner falls with its smallest count that can be blanked away."""
    for low, lower, expected in [
        ([1, 5], [1, 0], 1),
        ([2, 5], [1, 5], 5),
        ([3, 2, 4], [3, 2, 4], 2),
        ([3, 2], [2, 1], math.inf),
    ]:
        one = Pair((10, 6), [(low, lower), ([1] * len(low), [0] * len(low))], 0, (10**9, 1))
        steps = one.frontier().fewest(1)
        assert (math.inf if steps is None else sum(steps)) == expected == one.fewest
        if steps is not None:
            assert steps == (0, expected)


def test_one_feature_goes_wholly() -> None:
    """The last number of cells blanks all that can be of the only feature."""
    # The winner's share is (count + 1) / 22, the rival's 4 / 11, and the winner weighs more.
    for weight, expected in [(1, 2), (1.3, 4), (1.5, 5), (1.7, math.inf)]:
        one = Pair((20, 9), [([9], [5]), ([3], [0])], 1, (weight, 1))
        steps = one.frontier().fewest(1)
        assert (math.inf if steps is None else sum(steps)) == expected == one.fewest


def test_zeros_are_raised_first() -> None:
    """Without smoothing a rival needs a cell for each count of zero before it has any support."""
    for n_zeros in (1, 2, 3):
        high, upper = [0] * n_zeros + [5], [3] * n_zeros + [1]
        low, lower = [9] * (n_zeros + 1), [4] * (n_zeros + 1)
        one = Pair((10, 6), [(low, lower), (high, upper)], 0, (1, 900))
        steps = one.frontier().fewest(1)
        assert steps is not None
        assert sum(steps) == one.fewest >= n_zeros
        assert [one.frontier().after(n) is None for n in range(n_zeros)] == [True] * n_zeros


# The parts ----------------------------------------------------------------------------------------


def test_climb_is_greedy() -> None:
    """After every number of steps the counts are those of the smallest-first walk, within each limit."""
    for one in PAIRS:
        climb, side, alpha = Climb(one.model, one.rival), one.rival, one.model.alpha
        zeros = [j for j, c in enumerate(side.counts) if alpha == 0 == c]
        stuck = [j for j in zeros if not side.room[j]]
        assert climb.is_hopeless == (bool(stuck) or not one.weight(1))
        if climb.is_hopeless:
            continue
        counts = [max(c, int(j in zeros)) for j, c in enumerate(side.counts)]
        top = [c + n for c, n in zip(side.counts, side.room, strict=True)]
        assert climb.first == len(zeros)
        assert climb.last == climb.first + sum(top) - sum(counts)
        moving = [j for j, c in enumerate(counts) if c < top[j]]
        assert climb.ends == [own[j] for own in (counts, top) for j in moving]
        walked, turns = [list(counts)], {climb.first}
        while left := [j for j, c in enumerate(counts) if c < top[j]]:
            lowest = min(left, key=counts.__getitem__)
            counts[lowest] += 1
            walked.append(list(counts))
            if all(counts[j] >= counts[lowest] for j in left) and counts[lowest] in (
                top[j] for j in moving if counts[j] == counts[lowest]
            ):
                turns.add(climb.first + len(walked) - 1)
        for n_steps, expected in enumerate(walked, climb.first):
            found = climb.counts(n_steps)
            assert sorted(found) == sorted(expected)
            assert all(a <= b <= c for a, b, c in zip(side.counts, found, top, strict=True))
        assert {climb.last, climb.first} <= {*climb.turns}
        if one.model.floats_hold:
            assert_logs(one, walked)


def assert_logs(one: Pair, walked: list[list[int]]) -> None:
    """The logs of a climb are those of its counts, asked for in any order."""
    every = [one.model.log_support(1, counts) for counts in walked]
    climb = Climb(one.model, one.rival)
    for last in (climb.first, climb.first + 1, climb.last, climb.first, climb.last + 3):
        n_logs = min(last - climb.first + 1, len(every))
        assert climb.logs(last) == pytest.approx(np.array(every[:n_logs]), abs=1e-12)
    assert len(climb.logs(climb.first - 1)) == 0


@pytest.mark.parametrize("exact", [False, True])
def test_best_splits(exact: bool) -> None:
    """T14: of every number of cells the tables know the greatest lead, and features that attain it."""
    n_tried = 0
    for one in PAIRS[::2]:
        model = one.model
        if not model.floats_hold or not model.alpha or not one.weight(1):
            continue
        climb = Climb(model, one.rival)
        moves = enumerate(zip(one.winner.counts, one.winner.room, strict=True))
        items = [Item(j, count, room) for j, (count, room) in moves if room]
        most = sum(one.winner.room) + sum(one.rival.room)
        for size in {most, most + 2}:
            tables = Products(model, one.winner, items, climb, size=size, exact=exact)
            for n_cells in range(most + 1):
                lead, split = tables.best(n_cells)
                low = list(one.winner.counts)
                for item in tables.chosen(split):
                    assert item != split.part
                    low[item.feature] -= item.room
                if split.part is not None:
                    low[split.part.feature] -= split.n_part
                high = climb.counts(split.n_raise)
                used = sum(high) - sum(one.rival.counts) + sum(one.winner.counts) - sum(low)
                assert used <= n_cells
                ratio = model.support(1, high) / model.support(0, low)
                best = one.ratios[n_cells]
                assert (ratio >= 1) == (best >= 1)
                if exact:
                    assert (lead >= 0) == (ratio >= 1)
                else:
                    assert lead == pytest.approx(math.log(ratio), abs=1e-12)
                    assert lead == pytest.approx(math.log(best), abs=1e-12)
                n_tried += 1
    assert n_tried > 200


def test_lines_and_slack_of_a_knapsack() -> None:
    """Whole features lie on lines, steepest first; the slack allows for every logarithm (theory 2)."""
    one = Pair((20, 10), [([9, 6], [4, 6]), ([2, 3], [5, 0])], Fraction(1, 2))
    frontier = one.frontier()
    sizes, losses = frontier._lines
    assert sizes.tolist() == [0, 6, 10]
    assert losses == pytest.approx([0, math.log(6.5 / 0.5), math.log(6.5 / 0.5 * 9.5 / 5.5)])
    logs = sum(abs(math.log(end + 0.5)) for end in (5, 0, 9, 6, 2, 7))
    ends = abs(one.model.log_support(0, [9, 6])) + abs(one.model.log_support(1, [2, 3]))
    expected = 8 * float(one.model.slack(ends + logs))
    assert frontier._slack == pytest.approx(expected, rel=1e-9, abs=0)


def test_counts_that_met_their_limit_stay() -> None:
    """Where one count has met its limit and two go on, a single step is for one of those two."""
    one = Pair((20, 10), [([9] * 3, [0] * 3), ([1, 1, 1], [1, 4, 4])], 1)
    climb = Climb(one.model, one.rival)
    found = [climb.counts(n) for n in range(10)]
    assert [sorted(own) for own in found[3:6]] == [[2, 2, 2], [2, 2, 3], [2, 3, 3]]
    assert all(own[0] <= 2 for own in found)
    assert [sum(own) for own in found] == [*range(3, 13)]
