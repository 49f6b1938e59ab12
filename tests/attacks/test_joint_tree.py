"""The tree's own decisions, one by one, with relaxations that find what the test says."""

from __future__ import annotations

import heapq
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.joint_problems import counted
from support.joint_trees import (
    Scripted,
    box_of,
    cells_of,
    many_points,
    relaxed,
    three_labels,
    tree_of,
)

from nullproof.attacks.joint import tree as trees
from nullproof.attacks.joint.effort import Effort
from nullproof.attacks.joint.modes import Box, single_optima, union_attack
from nullproof.attacks.joint.relaxation import Relaxed
from nullproof.attacks.joint.tree import Tree, hardest

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")


# Which points -------------------------------------------------------------------------------------


def test_the_hardest_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """All points where their program is small; else those that add most cells to the union, as fit."""
    n_parts = 0
    for problem in [three_labels(), *(many_points(seed) for seed in range(4))]:
        singles, points = single_optima(problem), [*range(problem.n_points)]
        # A taking for each way of a point and each group that lowers its winner.
        sizes = [len(found) * int(problem.lowers[:, p].sum()) for p, found in enumerate(singles)]
        for most in {sum(sizes), sum(sizes) - 1, sum(sizes) // 2, 0}:
            monkeypatch.setattr(trees, "MAX_TAKINGS", most)
            chosen, left = list[int](), points[:]
            while left:
                costs = [
                    int(union_attack(problem, [singles[q][0] for q in (*chosen, p)]).sum())
                    for p in left
                ]
                point = left.pop(costs.index(max(costs)))
                if not chosen or sum(sizes[q] for q in (*chosen, point)) <= most:
                    chosen.append(point)
            assert hardest(problem, singles) == sorted(chosen)
            assert (len(chosen) == len(points)) == (most == sum(sizes) or len(points) == 1)
            n_parts += 1 < len(chosen) < len(points)
            tree = tree_of(problem)
            assert tree.problem.n_points == len(chosen)
            assert tree.alone.tolist() == [singles[point][0].n_cells for point in sorted(chosen)]
            assert {*tree.modes.owner.tolist()} <= {*range(len(chosen))}
    assert n_parts > 3


def test_the_first_box() -> None:
    """It holds all attacks with fewer cells than the limit; the bound is that of the hardest point."""
    for problem in counted():
        if not problem.floats_hold:
            continue
        alone = max(found[0].n_cells for found in single_optima(problem))
        for limit in (alone, alone + 3, 1000):
            tree = tree_of(problem, limit)
            ((bound, _, box),) = tree.open
            assert box.lower.tolist() == [0] * problem.n_groups
            most = [min(own, limit - 1) for own in problem.capacity.tolist()]
            assert box.upper.tolist() == most
            assert box.allowed.all()
            assert len(box.allowed) == tree.modes.n_modes
            assert (bound, tree.bound, tree.n_boxes) == (alone, alone, 0)
            assert tree.done == (limit == alone)


@pytest.mark.parametrize(
    ("bounds", "leaf", "floor", "limit", "expected"),
    [
        ([3.2, 9.0], 10, 1, 10, 4),
        ([3.0], 10, 1, 10, 3),
        ([7.5, 8.0], 5, 1, 10, 5),
        ([4.5], 5, 1, 10, 5),
        ([3.9], 5, 1, 10, 4),
        ([], 6, 1, 10, 6),
        ([], 10, 1, 10, 10),
        ([2.5], 10, 4.2, 10, 5),
        ([12.0], 10, 1, 8, 8),
        ([2.5], 10, 9.5, 8, 8),
        ([6.5], 10, 1, 8, 7),
    ],
)
def test_what_is_proven(
    bounds: list[float], leaf: int, floor: float, limit: int, expected: int
) -> None:
    """The least of the open boxes and of the attacks met, rounded up; done where no box has fewer."""
    tree = tree_of(three_labels(), 10)
    box = tree.open[0][2]
    tree.open = [(bound, number, box) for number, bound in enumerate(bounds)]
    tree.leaf, tree.floor = float(leaf), floor
    tree.lower_limit(limit)
    tree.lower_limit(99)
    assert tree.limit == limit
    assert tree.bound == expected
    assert tree.done == (expected == min(leaf, limit))


# Smaller boxes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bound", "price", "expected"),
    [
        # 2.5 cells are left, and nothing more: the best known attack has 10.
        (6.5, 1.0, (2, 4)),
        (6.5, 2.5, (2, 3)),
        (6.5, 2.6, (2, 2)),
        (6.5, 0.9, (2, 4)),
        (6.5, 0.1, (2, 9)),
        (6.5, 0.0, (2, 9)),
        (6.5, -1.0, (7, 9)),
        (6.5, -2.5, (8, 9)),
        (6.5, -0.5, (4, 9)),
        (6.5, -0.1, (2, 9)),
        (9.0, 1.0, (2, 2)),
        (9.0, -1.0, (9, 9)),
        (9.5, 0.3, (2, 2)),
        (9.5, -0.3, (9, 9)),
    ],
)
def test_prices_leave_room(bound: float, price: float, expected: tuple[int, int]) -> None:
    """A group moves from its end as far as the price allows with one cell fewer than the best known."""
    tree = tree_of(three_labels(), 10)
    box = box_of(tree, [1, 2, 1], [5, 9, 5])
    found = relaxed(tree, bound, price=[0.0, price, 0.0])
    assert cells_of(tree._tightened(box, found), 3) == [(1, 5), expected, (1, 5)]


def test_modes_that_cost_too_much() -> None:
    """A mode whose price is more than what is left is not allowed, and none comes back."""
    tree = tree_of(three_labels(), 10)
    box = tree.open[0][2]
    use = [0.0, 2.4999, 2.5, 2.51, 3.0, -4.0]
    assert len(use) <= tree.modes.n_modes
    allowed = box.allowed.copy()
    allowed[0] = False
    price = [0.0] * tree.problem.n_groups + use
    tight = tree._tightened(replace(box, allowed=allowed), relaxed(tree, 6.5, price=price))
    assert tight.allowed[: len(use)].tolist() == [False, True, True, False, False, True]
    assert tight.allowed[len(use) :].all()


@pytest.mark.parametrize(
    ("cells", "value", "bound", "price", "expected"),
    [
        # Cut half-way between what the relaxation takes and the most.
        ((2, 10), 4.7, 9.5, 0.0, (7, 6)),
        ((2, 10), 4.7, 10.0, 0.0, (7, 6)),
        ((2, 10), 4.7, 9.0, 0.0, (7, 10)),
        ((2, 10), 4.7, 8.0, 0.5, (7, 9)),
        ((0, 1), 0.0, 9.5, 0.0, (1, 0)),
        ((3, 5), 3.0, 9.5, 0.0, (4, 3)),
        ((3, 4), 4.0, 9.5, 0.0, (4, 3)),
        ((4, 4), 4.0, 9.5, 0.0, (None, 4)),
    ],
)
def test_the_most_of_a_group(
    cells: tuple[int, int], value: float, bound: float, price: float, expected: tuple[Any, int]
) -> None:
    """Where a relaxation with more cells finds nothing better there are fewer; else prices may tell."""
    tree = tree_of(three_labels(), 10)
    box = box_of(tree, [0, cells[0]], [5, cells[1]])
    relaxation = Scripted(tree, [bound], price=[0.0, price])
    cut, most = expected
    assert tree._most(box, 1, value) == most
    asked = [cells_of(part, 2) for part, _ in relaxation.asked]
    assert asked == ([] if cut is None else [[(0, 5), (cut, cells[1])]])
    assert cells_of(box, 2) == [(0, 5), cells]


def probing(
    tree: Tree, excess: list[float], monkeypatch: pytest.MonkeyPatch
) -> list[tuple[int, int]]:
    """Let groups have this excess, and each probe find one cell fewer; gives the groups asked."""
    asked = list[tuple[int, int]]()

    def most(box: Box, group: int, value: float) -> int:
        asked.append((group, int(value)))
        return int(box.upper[group]) - 1

    own = np.zeros(tree.problem.n_groups)
    own[: len(excess)] = excess
    monkeypatch.setattr(tree, "_excess", lambda *_: own)
    monkeypatch.setattr(tree, "_most", most)
    return asked


@pytest.mark.parametrize(
    ("first", "bounds", "n_rounds"),
    [
        (10.0, [10.5, 10.51], 2),
        (10.0, [10.04], 1),
        (0.5, [0.5], 1),
        (0.0, [], 0),
    ],
)
def test_probes_while_they_help(
    first: float, bounds: list[float], n_rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups are probed, the most overrated first, as long as the bound rises by half a per cent."""
    tree = tree_of(three_labels(), 100)
    asked = probing(tree, [0.0, 0.5, 0.7, 1e-7], monkeypatch)
    box = box_of(tree, [0, 0, 0, 0], [9, 9, 9, 9])
    # The price is of what the last relaxation leaves.
    relaxation = Scripted(tree, bounds, cells=[0, 1, 2, 0], price=[50.0, 0.0, 0.0, 0.0])
    found = relaxed(tree, first, cells=[0, 3, 4, 0])
    tight, last = tree._probed(box, found)
    assert asked == [(2, 4), (1, 3), (2, 2), (1, 1)][: 2 * n_rounds]
    assert [rounds for _, rounds in relaxation.asked] == [6] * n_rounds
    assert last.bound == (bounds[-1] if bounds else first)
    left = 9 - n_rounds
    assert cells_of(tight, 4) == [(0, 1 if n_rounds else 9), (0, left), (0, left), (0, 9)]
    assert cells_of(box, 2) == [(0, 9), (0, 9)]


@pytest.mark.parametrize(
    ("seconds", "too_slow", "hurried"),
    [(0.5, False, False), (0.6, False, True), (0.9, False, True), (0.5, True, True)],
)
def test_probes_leave_time(
    seconds: float, too_slow: bool, hurried: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After six tenths of the time, or where programs take too long, nothing more is probed."""
    now = [0.0]
    tree = tree_of(three_labels(), 100, Effort(seconds=1.0, clock=lambda: now[0]))
    asked = probing(tree, [0.5], monkeypatch)
    Scripted(tree, [5.0]).too_slow = too_slow
    now[0] = seconds
    assert tree._hurried() == hurried
    tree._probed(box_of(tree, [0], [9]), relaxed(tree, 5.0))
    assert bool(asked) != hurried


def test_a_probe_may_take_the_last_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two groups the time is looked at too; what was found so far is kept."""
    tree = tree_of(three_labels(), 100)
    asked = probing(tree, [0.5, 0.7], monkeypatch)
    Scripted(tree, [5.0])
    late = iter([False, False, True, True])
    monkeypatch.setattr(tree, "_hurried", lambda: next(late))
    box, _ = tree._probed(box_of(tree, [0, 0], [9, 9]), relaxed(tree, 5.0))
    assert [group for group, _ in asked] == [1]
    assert cells_of(box, 2) == [(0, 9), (0, 8)]


# Steps --------------------------------------------------------------------------------------------


def test_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first box has more rounds and is probed; parts have the best bound known, and the box goes."""
    tree = tree_of(three_labels(), 100)
    one, two, three = (box_of(tree, [k], [k + 5]) for k in (1, 2, 3))
    probed = list[float]()
    parts = iter([[(50.0, one), (10.0, two)], [(30.0, three)], []])
    given = list[tuple[Box, float, float]]()

    def probe(box: Box, found: Relaxed) -> tuple[Box, Relaxed]:
        probed.append(found.bound)
        assert tree.bound == 20
        return box, replace(found, bound=probes.pop())

    def split(box: Box, found: Relaxed, bound: float) -> list[Any]:
        given.append((box, found.bound, bound))
        # What is split is still there, in case of an interrupt.
        assert len(tree.open) > 0
        return next(parts)

    monkeypatch.setattr(tree, "_probed", probe)
    monkeypatch.setattr(tree, "_parts", split)
    probes = [25.0]
    relaxation = Scripted(tree, [20.0, 40.0, 60.0], price=[200.0])
    assert tree.step().bound == 25
    assert probed == [20.0]
    assert sorted((bound, cells_of(box)) for bound, _, box in tree.open) == [
        (25.0, [(2, 7)]),
        (50.0, [(1, 6)]),
    ]
    assert (tree.floor, tree.bound, tree.n_boxes) == (20.0, 25, 1)
    assert tree.step().bound == 40
    assert [bound for bound, *_ in sorted(tree.open, key=lambda own: own[:2])] == [40.0, 50.0]
    assert tree.bound == 40
    assert tree.step().bound == 60
    assert [bound for bound, *_ in tree.open] == [50.0]
    assert [rounds for _, rounds in relaxation.asked] == [12, 2, 2]
    assert [(found, bound) for _, found, bound in given] == [(25, 25), (40, 40), (60, 60)]
    # Each was made smaller by its prices first.
    assert [cells_of(box) for box, *_ in given] == [[(0, 0)], [(2, 2)], [(3, 3)]]
    assert probed == [20.0]


def test_worse_solutions_lower_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A box keeps the bound it came with where its relaxation, or that after its probes, has less."""
    tree = tree_of(three_labels(), 100)
    monkeypatch.setattr(tree, "_probed", lambda box, found: (box, replace(found, bound=1.0)))
    monkeypatch.setattr(tree, "_parts", lambda box, found, bound: [(0.0, box)])
    tree.floor = 0.0
    heapq.heappop(tree.open)
    tree._push(30.0, box_of(tree, [0], [5]))
    Scripted(tree, [20.0, 10.0])
    tree.step()
    assert (tree.open[0][0], tree.floor) == (30.0, 30.0)
    tree.step()
    assert (tree.open[0][0], tree.floor, len(tree.open)) == (30.0, 30.0, 1)


def test_boxes_with_one_member() -> None:
    """Such a box is decided exactly and split no further; the fewest cells of an attack are kept."""
    problem = three_labels()
    whole = problem.capacity
    tree = tree_of(problem, int(whole.sum()) + 5)
    found = relaxed(tree, 1.0)
    fewer = whole.copy()
    fewer[-1] -= 1
    assert problem.succeeds(fewer)
    for cells, leaf in [
        (np.zeros_like(whole), whole.sum() + 5),
        (whole, whole.sum()),
        (np.zeros_like(whole), whole.sum()),
        (fewer, whole.sum() - 1),
        (whole, whole.sum() - 1),
    ]:
        box = Box(cells, cells, tree.open[0][2].allowed)
        assert tree._parts(box, found, 1.0) == []
        assert tree.leaf == leaf


def test_boxes_that_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    """No box that cannot be better; others where splits are worth it, or else at a fraction."""
    tree = tree_of(three_labels(), 10)
    box, found = box_of(tree, [0], [5]), relaxed(tree, 4.0, cells=[2.5])
    splits = list[Any]()
    monkeypatch.setattr(tree, "_splits", lambda *_: splits)
    monkeypatch.setattr(tree, "_best_split", lambda own, bound, own_splits: [(bound, own)])
    for bound in (9.5, 10.0, 11.0):
        assert tree._parts(box, found, bound) == []
    parts = tree._parts(box, found, 8.5)
    assert [(bound, cells_of(part)) for bound, part in parts] == [(8.5, [(0, 2)]), (8.5, [(3, 5)])]
    splits.append(print)
    assert tree._parts(box, found, 9.0) == [(9.0, box)]
