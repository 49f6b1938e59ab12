"""The frontier of one rival against every split of cells that a small table allows."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest

from nullproof.radii.frontier import Frontier, first, first_from, first_near


class Small(NamedTuple):
    """A small frontier, and what decides in it: products of counts plus smoothing."""

    low: list[int]
    high: list[int]
    cap: int
    movable: list[int]
    alpha: int
    weights: tuple[int, int]

    def overtaken(self, low: Sequence[int], high: Sequence[int]) -> bool:
        own = self.weights[0] * math.prod(count + self.alpha for count in low)
        return own <= self.weights[1] * math.prod(count + self.alpha for count in high)

    @property
    def frontier(self) -> Frontier:
        return Frontier(
            self.low, self.high, self.cap, movable=self.movable, overtaken=self.overtaken
        )


def small_frontiers(n_cases: int) -> list[Small]:
    """Draw frontiers where the winner is ahead."""
    rng, found = random.Random(20240604), list[Small]()
    while len(found) < n_cases:
        d, cap = rng.randint(1, 4), rng.randint(1, 6)
        one = Small(
            [rng.randint(0, 7) for _ in range(d)],
            [rng.randint(0, cap) for _ in range(d)],
            cap,
            [j for j in range(d) if rng.random() < 0.8],
            rng.choice([0, 1, 1, 3]),
            (rng.randint(1, 9), rng.randint(1, 4)),
        )
        if not one.overtaken(one.low, one.high):
            found.append(one)
    return found


CASES = small_frontiers(300)


def products(counts: Sequence[int], rooms: Sequence[int], one: Small, step: int) -> list[int]:
    """The best product for every number of steps, over all ways to split them."""
    best = min if step < 0 else max
    found = {0: 1}
    for count, room in zip(counts, rooms, strict=True):
        wider: dict[int, int] = {}
        for used, product in found.items():
            for n_steps in range(room + 1):
                value = product * (count + step * n_steps + one.alpha)
                wider[used + n_steps] = best(wider.get(used + n_steps, value), value)
        found = wider
    return [found[n_steps] for n_steps in range(len(found))]


def succeeding(one: Small) -> set[tuple[int, int]]:
    """All numbers of raising and lowering cells that some choice of cells makes succeed."""
    moving = [j in one.movable for j in range(len(one.low))]
    falls = [own if is_moving else 0 for own, is_moving in zip(one.low, moving, strict=True)]
    rises = [one.cap - c if is_moving else 0 for c, is_moving in zip(one.high, moving, strict=True)]
    lowered, raised = products(one.low, falls, one, -1), products(one.high, rises, one, +1)
    return {
        (a, b)
        for a, other in enumerate(raised)
        for b, own in enumerate(lowered)
        if one.weights[0] * own <= one.weights[1] * other
    }


def test_greedy_steps_are_the_best_ones() -> None:
    """T5: a number of A1 and A2 steps succeeds iff some choice of so many cells does."""
    for one in CASES:
        frontier, found = one.frontier, succeeding(one)
        for a in range(frontier.max_raise + 1):
            assert_moves(one, one.high, frontier.raised(a), a)
            for b in range(frontier.max_lower + 1):
                assert frontier.falls(a, b) == ((a, b) in found), (one, a, b)
        for b in range(frontier.max_lower + 1):
            assert_moves(one, one.low, frontier.lowered(b), -b)
        assert frontier.max_raise == sum(one.cap - one.high[j] for j in one.movable)
        assert frontier.max_lower == sum(one.low[j] for j in one.movable)


def assert_moves(one: Small, before: Sequence[int], after: Sequence[int], by: int) -> None:
    """So many cells are moved, all of them one way, and none that cannot move."""
    moved = [new - old for old, new in zip(before, after, strict=True)]
    assert sum(moved) == by
    assert all(step * by >= 0 for step in moved)
    assert all(j in one.movable for j, step in enumerate(moved) if step)
    assert max(after) <= max(one.cap, *before)


def test_cheapest_pair_of_all() -> None:
    """T7: the fewest cells of all that succeed, within any two bounds; each total is judged rightly."""
    n_attacked = 0
    for one in CASES:
        frontier, pairs = one.frontier, succeeding(one)
        least = min((a + b for a, b in pairs), default=None)
        ceiling = frontier.max_raise + frontier.max_lower
        for n_cells in range(1, ceiling + 3):
            steps, after = frontier.within(n_cells), frontier.after(n_cells)
            assert (steps is None) == (least is None or n_cells < least) == (after is None), one
            if steps is not None:
                assert steps in pairs
                assert sum(steps) == min(n_cells, ceiling)
                assert after == (frontier.lowered(steps[1]), frontier.raised(steps[0]))
        found = frontier.fewest(1)
        assert (None if found is None else sum(found)) == least, one
        if least is not None:
            n_attacked += 1
            assert [frontier.fewest(1, least - 1), frontier.fewest(least + 1, least)] == [None] * 2
            assert frontier.fewest(least, least) == frontier.fewest(1, least + 1) == found
            later = frontier.fewest(least + 1)
            assert (later is None) == (least == ceiling)
            assert later is None or sum(later) == least + 1
    assert n_attacked > 150


@pytest.mark.parametrize("limit", [None, 3, 6])
def test_corners_are_where_pieces_end(limit: int | None) -> None:
    """T8: where A2 exhausts a feature a piece of the cheapest pairs begins, and before it one ends."""
    n_corners = 0
    for number, one in enumerate(CASES):
        frontier = one.frontier
        n_raise, n_lower = (
            n if limit is None else min(n, limit) for n in (frontier.max_raise, frontier.max_lower)
        )
        smallest = sorted(one.low[j] for j in one.movable)
        exhausted = {sum(smallest[:n]) for n in range(len(smallest) + 1)}
        expected: set[int] = set()
        if frontier.falls(n_raise, n_lower):
            least = min(a for a in range(n_raise + 1) if frontier.falls(a, n_lower))
            expected = {least, n_raise}
            for end in (*(end for end in exhausted if end < n_lower), n_lower):
                starts = [a for a in range(n_raise + 1) if frontier.falls(a, end)]
                if starts and starts[0] < n_raise:
                    expected |= {starts[0], max(least, starts[0] - 1)}
                elif starts and least < n_raise:
                    expected |= {n_raise - 1}
        found = frontier.corners(lambda _, guess=number % 9: guess, limit)  # type: ignore[misc]
        assert [a for a, _ in found] == sorted(expected), one
        for a, b in found:
            assert b <= n_lower
            assert frontier.falls(a, b)
            assert b == 0 or not frontier.falls(a, b - 1)
        n_corners += len(found)
    assert n_corners > 200


def counted(threshold: int) -> tuple[Callable[[int], bool], list[int]]:
    """What holds from a number on, and the numbers that it is asked about."""
    asked: list[int] = []

    def holds(number: int) -> bool:
        asked.append(number)
        return number >= threshold

    return holds, asked


def test_searches_for_the_first_number() -> None:
    """Each search finds the first number that holds, wherever it starts, and asks of none outside."""
    for top in range(9):
        for threshold in range(top + 2):
            for low in range(top + 1):
                holds, asked = counted(threshold)
                assert first(low, top, holds) == min(max(low, threshold), top)
                found = first_from(low, top, holds)
                assert found == (None if threshold > top else max(low, threshold))
                if threshold <= top:
                    for guess in (low, low + top):
                        assert first_near(guess, top, holds) == threshold
                assert all(0 <= number <= top for number in asked)
    assert first_from(5, 4, counted(0)[0]) is None


def test_searches_are_short() -> None:
    """Near its guess a search asks of few numbers, however far the end is; far off, of some dozens."""
    for search in (first_near, first_from):
        for threshold, most in [(500_000, 2), (500_001, 3), (500_020, 12), (10**6, 42)]:
            holds, asked = counted(threshold)
            assert search(500_000, 10**6, holds) == threshold
            assert len(asked) <= most, (threshold, asked)
    for threshold, most in [(499_999, 4), (499_980, 13), (0, 42)]:
        holds, asked = counted(threshold)
        assert first_near(500_000, 10**6, holds) == threshold
        assert len(asked) <= most, (threshold, asked)


def test_searches_go_away_from_their_guess_in_strides_that_double() -> None:
    """From a guess up or down, then by halves between the last two numbers that tell."""
    for guess, top, threshold, expected in [
        (10, 100, 25, [10, 11, 13, 17, 25, 17, 21, 23, 24]),
        (40, 100, 12, [40, 39, 37, 34, 29, 20, 3, 12, 8, 10, 11]),
        (9, 9, 9, [8]),
        (3, 9, 0, [3, 2, 0]),
    ]:
        holds, asked = counted(threshold)
        assert first_near(guess, top, holds) == threshold
        assert asked == expected
    holds, asked = counted(30)
    assert first_from(4, 90, holds) == 30
    assert asked == [4, 6, 10, 18, 34, 26, 30, 28, 29]
