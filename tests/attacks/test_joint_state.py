"""An attack that is being changed: which points stand, which cells can go, and which help most."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.count_tables import first_point, index_from_counts, two_labels
from support.joint_problems import asked_of, questions, random_cells

from nullproof.attacks.joint.problem import Ints, Problem
from nullproof.attacks.joint.state import Moves, State

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")


def test_state_is_kept_up_to_date() -> None:
    """After cells are added, given back or replaced, gaps are those of the supports, and points fall."""
    rng = np.random.default_rng(3)
    for problem, _, _ in questions():
        state = State(problem, np.zeros(problem.n_groups, dtype=np.int64))
        for turn in range(6):
            if turn == 3:
                state.set_all(random_cells(rng, problem))
            group = int(rng.integers(problem.n_groups))
            wanted = int(rng.integers(0, problem.capacity[group] + 1))
            state.add(group, wanted - int(state.cells[group]))
            assert state.n_cells == state.cells.sum()
            assert_state(state)
        points = np.arange(problem.n_points)[::-1]
        assert state.standing(points).tolist() == state.standing()[::-1].tolist()


def assert_state(state: State) -> None:
    """What a state keeps is what its cells give."""
    problem, model = state.problem, state.problem.model
    low = problem.low - problem.lowered(state.cells)
    high = problem.high + problem.raised(state.cells)
    gaps = state.gaps()
    for point, winner in enumerate(problem.winner.tolist()):
        own = model.log_support(winner, low[point].tolist())
        for label in range(problem.n_labels):
            other = model.log_support(label, high[point, label].tolist())
            if label == winner:
                assert gaps[point, label] == math.inf
            elif own == -math.inf:
                assert gaps[point, label] == -math.inf
            else:
                assert gaps[point, label] == pytest.approx(own - other, abs=1e-9)
    stands = [label == -1 for label in problem.fallen_to(state.cells)]
    assert state.standing().tolist() == stands


def test_trimming_leaves_no_cell_to_spare() -> None:
    """Of each group in turn, as many cells are given back as the others allow; all points fall."""
    rng, n_given, n_off = np.random.default_rng(4), 0, 0
    for problem, _, _ in questions():
        state = State(problem, problem.capacity)
        for group in rng.permutation(problem.n_groups).tolist():
            before = state.cells.copy()
            fewest = next(
                count
                for count in range(int(before[group]) + 1)
                if problem_succeeds(problem, before, group, count)
            )
            guessed = state._spare(group)
            given = state.trim(group)
            assert state.cells[group] == before[group] - given >= fewest
            assert problem.succeeds(state.cells)
            n_given, n_off = n_given + given, n_off + abs(int(before[group]) - fewest - guessed)
        n_cells = state.n_cells
        assert state.trim_all(np.arange(problem.n_groups)) == n_cells - state.n_cells
        assert_state(state)
    assert n_given > 200
    # Where floats cannot tell, nothing is given back.
    assert n_off <= 5


def problem_succeeds(problem: Problem, cells: Ints, group: int, count: int) -> bool:
    """Whether an attack still works with another number of cells of one group."""
    changed = cells.copy()
    changed[group] = count
    return problem.succeeds(changed)


def problem_with(index: Any, points: Any = None, **options: Any) -> Problem:
    """The problem of the point with the first values, or of others."""
    asked = asked_of(index, first_point(index) if points is None else points, **options)
    assert asked is not None
    return asked.problem


def group_that(problem: Problem, does: str, feature: int) -> int:
    """The group of one feature that lowers, or raises, all points."""
    able = getattr(problem, does).all(axis=1) & (problem.feature == feature)
    return int(np.flatnonzero(able)[0])


def test_ties_that_floats_miss() -> None:
    """A rival with the same support fells a point, whatever floats make of the logarithms."""
    n_open = 0
    for a, b, c, x in [
        (2, 15, 6, 9),
        (3, 10, 14, 20),
        (5, 21, 6, 9),
        (7, 10, 9, 21),
        (11, 12, 10, 22),
    ]:
        for scale in (1, 3, 7, 1000, 12_345):
            y = a * b * c // x
            assert x * y == a * b * c
            size = 4 * scale * max(a, b, c, x, y)
            winner = [a * scale, b * scale, c * scale]
            rival = [x * scale, y * scale, scale - 1]
            problem = problem_with(two_labels((size, size), winner, rival), alpha=0)
            state = State(problem, np.zeros(problem.n_groups, dtype=np.int64))
            assert state.standing().tolist() == [True]
            state.add(group_that(problem, "raises", 2), 1)
            assert state.standing().tolist() == [False]
            n_open += bool(state.gaps()[0, 1] > 0)
    assert n_open > 2


def test_leads_that_floats_miss() -> None:
    """A point stands while its winner leads by one in products of billions."""
    n_fallen = 0
    for k in range(10**9, 10**9 + 40):
        problem = problem_with(two_labels((4 * k, 4 * k), [k, k], [k - 1, k + 1]), alpha=0)
        state = State(problem, np.zeros(problem.n_groups, dtype=np.int64))
        assert state.standing().tolist() == [True]
        n_fallen += bool(state.gaps()[0, 1] < 0)
        state.add(group_that(problem, "lowers", 0), 1)
        assert state.standing().tolist() == [False]
    assert n_fallen > 0


def test_one_of_several_close_rivals_is_enough() -> None:
    """A point falls to a rival that ties, though another one as near in floats does not."""
    k = 10**9
    index = index_from_counts([2 * k] * 3, [[(k, k - 1, k - 3), (k, k + 1, k + 3)]])
    problem = problem_with(index, alpha=0)
    state = State(problem, np.zeros(problem.n_groups, dtype=np.int64))
    third = int(np.flatnonzero(problem.raises[:, 0] & (problem.label == 2))[0])
    for count, stands in [(2, True), (1, False)]:
        state.add(third, count)
        assert state.standing().tolist() == [stands]


def test_trimming_where_floats_guess_too_much() -> None:
    """What floats call enough to a millionth is put right by single cells, for every point."""
    # 2,000,000 · 3.9999995 is the rival's support; the other point falls with 4 already.
    a, rival, size = 2_000_000, 7_999_999, 20_000_000
    beside = (size - 2 * a + 1000, size - 2 * rival)
    known: list[Any] = [[(a, rival), (a - 1000, rival), beside], [(10, 1), (size - 10, size - 1)]]
    problem = problem_with(
        index_from_counts([size, size], known), [("0", "0"), ("1", "0")], alpha=0
    )
    state = State(problem, np.zeros(problem.n_groups, dtype=np.int64))
    group = group_that(problem, "lowers", 1)
    state.add(group, 10)
    assert state._spare(group) == 4
    assert state.trim(group) == 3
    assert state.cells[group] == 7


def test_trimming_what_raises_where_floats_guess_too_much() -> None:
    """The same for a rival that must have 4.0000005 cells or more, hence 5."""
    r, size = 2_000_000, 20_000_000
    problem = problem_with(two_labels((size, size), [4 * r + 1, 1], [r, 1]), alpha=0)
    state = State(problem, np.zeros(problem.n_groups, dtype=np.int64))
    group = group_that(problem, "raises", 1)
    state.add(group, 9)
    assert state._spare(group) == 6
    assert state.trim(group) == 5
    assert state.cells[group] == 4


def test_cells_for_a_rival_that_is_not_needed() -> None:
    """Where another label ties already, all cells that raise the first are given back."""
    index = index_from_counts([20, 20, 20], [[(9, 5, 8), (11, 15, 12)]])
    problem = problem_with(index, alpha=0)
    raises = [int(np.flatnonzero(problem.raises[:, 0] & (problem.label == k))[0]) for k in (1, 2)]
    state = State(problem, np.zeros(problem.n_groups, dtype=np.int64))
    state.add(raises[0], 7)
    state.add(raises[1], 1)
    assert state.gaps()[0, 2] == 0
    assert state.trim(raises[0]) == 7


# Moves --------------------------------------------------------------------------------------------


class Rated:
    """What moves should be, one point and one label at a time, from exact supports."""

    def __init__(self, state: State, point: int) -> None:
        self.problem, self.state = state.problem, state
        self.point, self.winner = point, int(state.problem.winner[point])
        self.low: list[int] = (state.problem.low - state.lowered)[point].tolist()
        self.high: list[list[int]] = (state.problem.high + state.raised)[point].tolist()
        self.alpha = state.problem.model.alpha
        gaps = [self.gap(k) for k in range(state.problem.n_labels) if k != self.winner]
        self.least = min(gaps)

    def n_zeros(self, label: int) -> int:
        """How many counts of a rival are zero: each weighs four units of logarithm."""
        return 0 if self.alpha else self.high[label].count(0)

    def excess(self, label: int) -> float:
        """By how much the winner leads, zeros of the rival apart."""
        model = self.problem.model
        most = [count + (not count and not self.alpha) for count in self.high[label]]
        lead = model.log_support(self.winner, self.low) - model.log_support(label, most)
        return min(max(lead, 1e-9), 1e4)

    def gap(self, label: int) -> float:
        return self.excess(label) + 4 * self.n_zeros(label)

    def moves(self, group: int, chunk: float, *, lowering: bool) -> int | None:
        """How many cells of a group to blank for this point; None if it is of no use to it."""
        problem = self.problem
        able = problem.lowers if lowering else problem.raises
        room = int(problem.capacity[group] - self.state.cells[group])
        if not able[group, self.point] or room == 0:
            return None
        label, feature = int(problem.label[group]), int(problem.feature[group])
        if lowering:
            count = self.low[feature] + float(self.alpha)
            wanted = math.ceil(count - count * math.exp(-self.least) - 1e-9)
        else:
            count = max(self.high[label][feature] + float(self.alpha), 0.5)
            whole = count * (math.exp(min(self.gap(label), 60)) - 1)
            wanted = min(math.ceil(count * chunk), math.ceil(whole - 1e-9))
        return min(max(wanted, 1), room)

    def progress(self, group: int, count: int, weight: Any) -> float:
        """The share of the gap that so many cells close, in both ways."""
        problem = self.problem
        label, feature = int(problem.label[group]), int(problem.feature[group])
        if problem.lowers[group, self.point]:
            own = self.low[feature] + self.alpha
            left = 1 - Fraction(count) / own
            return min(1.0, -math.log(left) / self.least) if left else 1.0
        if not problem.raises[group, self.point]:
            return 0.0
        own = self.high[label][feature] + self.alpha
        gain = math.log(1 + Fraction(count) / own) if own else math.log(count)
        gain = min(gain, self.excess(label)) + (0 if own else 4)
        return min(1.0, gain / self.gap(label)) * float(weight[label])


@pytest.mark.parametrize("chunk", [0.1, 1.0, 9.0])
def test_moves_and_what_they_are_worth(chunk: float) -> None:
    """Each group is taken as far as some point wants, and rated by the gaps that it closes."""
    rng, n_moves = np.random.default_rng(6), 0
    # A label whose prior is 0 is never nearer, whatever raises it.
    index = index_from_counts([20, 15, 9], [[(15, 5, 4), (5, 10, 5)], [(12, 6, 2), (8, 9, 7)]])
    hopeless = problem_with(index, prior=[1, 1, 0])
    for problem in [hopeless, *(asked.problem for asked in questions())]:
        for share in (0.0, 0.2, 0.6):
            cells = np.asarray(rng.binomial(problem.capacity, share), dtype=np.int64)
            state = State(problem, cells)
            points = np.flatnonzero(state.standing())
            if not len(points):
                continue
            rated = [Rated(state, int(point)) for point in points]
            wanted = {
                lowering: {
                    (group, count)
                    for group in range(problem.n_groups)
                    for one in rated
                    if (count := one.moves(group, chunk, lowering=lowering)) is not None
                }
                for lowering in (False, True)
            }
            weight = rng.random((len(points), problem.n_labels))
            for lower_only in (False, True):
                moves = Moves(state, points, chunk, lower_only)
                found = [*zip(moves.group.tolist(), moves.count.tolist(), strict=True)]
                only = lower_only and wanted[True]
                assert found == sorted(wanted[True] if only else wanted[True] | wanted[False])
                worth = moves.progress(weight)
                for (group, count), own in zip(found, worth.tolist(), strict=True):
                    plain = sum(
                        one.progress(group, count, rates)
                        for one, rates in zip(rated, weight, strict=True)
                    )
                    assert own == pytest.approx(plain, rel=1e-6, abs=1e-9)
                n_moves += len(found)
    assert n_moves > 200
