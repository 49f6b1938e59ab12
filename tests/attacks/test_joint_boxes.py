"""How the tree splits boxes: no better attack is ever lost, and what is split where it errs most."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.count_tables import first_point, two_labels
from support.joint_oracle import fewest_by_counts
from support.joint_problems import asked_of
from support.joint_tables import index_of, random_table
from support.joint_trees import Scripted, box_of, cells_of, relaxed, three_labels, tree_of

from nullproof.attacks.joint.effort import Effort
from nullproof.attacks.joint.modes import Box
from nullproof.attacks.joint.problem import Ints, Problem
from nullproof.attacks.joint.relaxation import Relaxed
from nullproof.attacks.joint.tree import Tree, _split_group

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")


# Whole trees --------------------------------------------------------------------------------------


def attacks_below(problem: Problem, limit: int) -> list[Ints]:
    """All attacks with fewer cells than the limit."""
    counts = product(*(range(min(own, limit - 1) + 1) for own in problem.capacity.tolist()))
    tried = (np.array(cells, dtype=np.int64) for cells in counts if sum(cells) < limit)
    return [cells for cells in tried if problem.succeeds(cells)]


def ways(tree: Tree, cells: Ints) -> list[set[int]]:
    """For each point the modes in which it falls: kills if there are any, or else pairs."""
    problem, modes, found = tree.problem, tree.modes, list[set[int]]()
    low, high = problem.low - problem.lowered(cells), problem.high + problem.raised(cells)
    for point in range(problem.n_points):
        kills = np.flatnonzero(modes.kill_point == point).tolist()
        dead = {k for k in kills if cells[modes.kill_group[k]] >= modes.kill_count[k]}
        pairs = np.flatnonzero(modes.pair_point == point).tolist()
        rivals = {pair: int(modes.pair_rival[pair]) for pair in pairs}
        fallen = {
            p for p, k in rivals.items() if problem.falls(point, k, low[point], high[point, k])
        }
        found.append({modes.n_pairs + k for k in dead} or fallen)
    return found


def is_in(box: Box, cells: Ints, modes: list[set[int]]) -> bool:
    """Whether an attack lies in a box: its cells do, and each point may fall in one of its modes."""
    inside = (box.lower <= cells).all() and (cells <= box.upper).all()
    allowed = {*np.flatnonzero(box.allowed).tolist()}
    return bool(inside) and all(own & allowed for own in modes)


def small_problem(seed: int) -> tuple[Problem, int]:
    """The problem of a tiny table, and the fewest cells that brute force finds."""
    rng = np.random.default_rng(seed)
    table = random_table(rng, int(rng.integers(2, 5)), dirty=seed % 2 == 1)
    asked, want = asked_of(index_of(table), list(table.points), alpha=table.alpha), None
    if asked is not None:
        want = fewest_by_counts(table)
    assert asked is not None
    assert want
    return asked.problem, want


@pytest.mark.parametrize("seed", [31, 47, 67, 71, 77, 80, 91, 104, 150, 158])
@pytest.mark.parametrize("more", [0, 1, 3])
def test_no_better_attack_is_lost(seed: int, more: int) -> None:
    """After each step all attacks below the limit are in open boxes, or met; at last the best is met."""
    problem, want = small_problem(seed)
    tree = tree_of(problem, want + more)
    attacks = [(cells, ways(tree, cells)) for cells in attacks_below(problem, want + more)]
    assert bool(attacks) == (more > 0)
    while not tree.done:
        assert tree.n_boxes < 100
        tree.step()
        assert tree.bound <= want
        for cells, modes in attacks:
            met = tree.leaf <= cells.sum()
            assert met or any(is_in(box, cells, modes) for *_, box in tree.open)
    assert tree.bound == want
    assert tree.leaf == want or not more


@pytest.mark.parametrize("seed", [31, 77, 91, 150])
def test_a_better_attack_that_is_told(seed: int) -> None:
    """A limit that falls while the tree grows leaves the bound true, and at last exact."""
    problem, want = small_problem(seed)
    tree = tree_of(problem, want + 4)
    for fewer in (4, 2, 1, 0):
        tree.lower_limit(want + fewer)
        assert tree.bound <= want
        if not tree.done:
            tree.step()
    assert (tree.bound, tree.done) == (want, True)


# Splits -------------------------------------------------------------------------------------------


def test_splits_of_a_group() -> None:
    """Two parts that hold each number once, at what the relaxation takes; the first is not too small."""
    tree = tree_of(three_labels())
    for low, high in product(range(4), (0, 1, 2, 3, 9, 14)):
        box = box_of(tree, [7, low], [8, high])
        for value in (*range(high + 2), 0.4, 2.5, 3 - 1e-7, 3 + 1e-7, 8.9):
            parts = _split_group(1, float(value), box)
            if low >= high:
                assert parts == [box]
                continue
            assert [cells_of(part, 3)[::2] for part in parts] == [[(7, 8), (0, 0)]] * 2
            assert all((part.allowed == box.allowed).all() for part in parts)
            (start, end), (cut, last) = (cells_of(part, 2)[1] for part in parts)
            assert (start, end, last) == (low, cut - 1, high)
            assert start <= end
            assert cut <= last
            # What is a whole number but for rounding is one, and begins the second part.
            wanted = round(value) if abs(value - round(value)) < 1e-6 else math.ceil(value)
            least = low + max(1, (high - low) // 5)
            assert cut == min(max(wanted, least), high)
    assert cells_of(box, 2) == [(7, 8), (3, 14)]


def test_splits_at_a_fraction() -> None:
    """The group farthest from a whole number is split, or, if all are whole, the widest."""
    tree = tree_of(three_labels())
    box = box_of(tree, [0, 2, 0, 1], [1, 5, 0, 3])
    for cells, group, cut in [
        ([0.4, 2.3, 0.0, 1.6], 0, 1),
        ([0.1, 2.3, 0.0, 1.6], 3, 2),
        ([0.1, 4.7, 0.0, 1.2], 1, 5),
        # There is nothing to split in a group with one number only.
        ([0.1, 2.0, 0.5, 2.0], 0, 1),
        ([1.0, 4.0, 0.5, 2.0], 1, 4),
        ([1.0, 4.0, 0.0, 2.0], 1, 4),
    ]:
        first, second = tree._split_fraction(box, relaxed(tree, 1.0, cells=cells).cells)
        expected = cells_of(box, 4)
        low, high = expected[group]
        for part, own in [(first, (low, cut - 1)), (second, (cut, high))]:
            assert cells_of(part, 4) == [*expected[:group], own, *expected[group + 1 :]]


def test_splits_of_modes() -> None:
    """A point has the mode and no other of its own, or any other; the other points keep theirs."""
    tree = tree_of(three_labels(), 30)
    owner, box = tree.modes.owner.tolist(), tree.open[0][2]
    allowed = box.allowed.copy()
    allowed[1] = False
    box = Box(box.lower, box.upper, allowed)
    for mode, point in enumerate(owner):
        alone, without = tree._split_mode(mode, box)
        expected = [
            (bool(allowed[k]) and (k == mode or own != point), bool(allowed[k]) and k != mode)
            for k, own in enumerate(owner)
        ]
        assert [*zip(alone.allowed.tolist(), without.allowed.tolist(), strict=True)] == expected
        assert all(cells_of(part, 9) == cells_of(box, 9) for part in (alone, without))


def test_which_point_mixes_modes() -> None:
    """The one that may save most cells, if a share of its main mode is missing at all."""
    tree = tree_of(three_labels(), 30)
    owner = tree.modes.owner
    own = [np.flatnonzero(owner == point).tolist() for point in range(3)]
    tree.alone = np.array([2.0, 6.0, 3.0])
    for shares, expected in [
        ({0: [0.5, 0.5], 1: [0.9, 0.1], 2: [1.0]}, own[0][0]),
        ({0: [0.3, 0.7], 1: [0.95, 0.05], 2: [1.0]}, own[0][1]),
        ({0: [0.3, 0.7], 1: [0.1, 0.1, 0.8], 2: [1.0]}, own[1][2]),
        ({0: [0.3, 0.7], 1: [0.9, 0.1], 2: [0.2, 0.0]}, own[2][0]),
        ({0: [1.0], 1: [1.0], 2: [1.0]}, None),
        ({0: [1.0], 1: [1 - 1e-7, 1e-7], 2: [1.0]}, None),
        ({0: [1.0], 1: [1 - 1e-5, 1e-5], 2: [1.0]}, own[1][0]),
    ]:
        share = np.zeros(tree.modes.n_modes)
        for point, given in shares.items():
            share[own[point][: len(given)]] = given
        assert tree._mixed_mode(relaxed(tree, 1.0, share=share)) == expected


def test_which_splits_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The groups that are overrated, the most overrated first, and the mixed mode, if there is one."""
    tree = tree_of(three_labels(), 30)
    box = box_of(tree, [0] * 4, [9] * 4)
    found = relaxed(tree, 1.0, cells=[2, 3.5, 5, 6])
    excess = np.zeros(tree.problem.n_groups)
    excess[:4] = 0.3, 0.5, 1e-7, 0.0
    mixed: list[int | None] = [None]
    monkeypatch.setattr(tree, "_excess", lambda *_: excess)
    monkeypatch.setattr(tree, "_mixed_mode", lambda _: mixed[0])
    for mode in (None, 1):
        mixed[0] = mode
        splits = [split(box) for split in tree._splits(box, found)]
        assert [[cells_of(part, 2) for part in parts] for parts in splits[:2]] == [
            [[(0, 9), (0, 3)], [(0, 9), (4, 9)]],
            [[(0, 1), (0, 9)], [(2, 9), (0, 9)]],
        ]
        assert len(splits) == 2 + (mode is not None)
        for parts in splits[2:]:
            assert [int(part.allowed[1]) for part in parts] == [1, 0]
    excess[:6] = 0.3, 0.5, 0.2, 0.6, 0.1, 0.4
    box = box_of(tree, [0] * 6, [9] * 6)
    tried = [split(box)[1].lower.argmax() for split in tree._splits(box, found)[:-1]]
    assert tried == [3, 1, 5]


def test_parts_that_stay_open() -> None:
    """A part is left out where its bound, rounded up, reaches the limit; the others are tightened."""
    tree = tree_of(three_labels(), 10)
    boxes = [box_of(tree, [k], [9]) for k in range(4)]
    relaxation = Scripted(tree, [8.0, 9.5, 9.0, 10.0], price=[1.0])
    found = [(bound, cells_of(box)) for bound, box in tree._open_parts(boxes)]
    assert found == [(8.0, [(0, 1)]), (9.0, [(2, 2)])]
    assert [rounds for _, rounds in relaxation.asked] == [1] * 4


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        # Two splits with two parts each: the larger least bound, then the larger other one.
        ([3, 9, 4, 4], [(4, "c"), (4, "d")]),
        ([4, 4, 3, 9], [(4, "a"), (4, "b")]),
        ([4, 4, 4, 9], [(4, "c"), (9, "d")]),
        ([4, 9, 9, 3.5], [(4, "a"), (9, "b")]),
        ([0, 0, 99, 99], []),
        ([0, 0, 0, 0], [(0, "a"), (0, "b")]),
        # Below the bound of the box, 2, it is that which counts.
        ([1, 9, 1.5, 6], [(1, "a"), (9, "b")]),
        # Where one part is left it becomes the box, and others can only make it smaller.
        ([99, 5, 8, 8], [(5, "b")]),
        ([5, 99, 8, 8], [(5, "a")]),
        ([8, 8, 99, 5], [(5, "d")]),
        ([99, 5, 6, 99], [(6, "c")]),
        ([99, 99], []),
        ([99, 5, 99, 99], []),
    ],
)
def test_the_best_split(bounds: list[float], expected: list[tuple[float, str]]) -> None:
    """The parts whose bounds are best, or what is left where at most one part can be better."""
    tree = tree_of(three_labels(), 10)
    Scripted(tree, bounds)
    names, split_at = dict[int, str](), list[Box]()

    def split(one: int, other: int) -> Any:
        def parts(box: Box) -> list[Box]:
            split_at.append(box)
            return [box_of(tree, [k], [9]) for k in (one, other)]

        return parts

    names = {1: "a", 2: "b", 3: "c", 4: "d"}
    whole = box_of(tree, [0], [9])
    bound = 2.0 if 1.5 in bounds else 0.0
    found = tree._best_split(whole, bound, [split(1, 2), split(3, 4)])
    assert [(own, names[cells_of(box)[0][0]]) for own, box in found] == expected
    # The second split is of what the first has left.
    left = [bound for bound in bounds[:2] if bound < 10]
    if len(split_at) > 1:
        start = 0 if len(left) == 2 else 1 + bounds.index(left[0])
        assert cells_of(split_at[1]) == [(start, 9)]


def test_no_time_for_splits() -> None:
    """A box stays as it is where no split was tried, and the best so far is taken if time ends."""
    seconds = [0.0]
    tree = tree_of(three_labels(), 10, Effort(seconds=1.0, clock=lambda: seconds[0]))
    whole, relaxation = box_of(tree, [0], [9]), Scripted(tree, [3, 3, 4, 4])

    def parts(box: Box) -> list[Box]:
        return [box_of(tree, [k], [9]) for k in (1, 2)]

    def last_parts(box: Box) -> list[Box]:
        seconds[0] = 1.0
        return parts(box)

    relaxation.too_slow = True
    assert tree._best_split(whole, 2.0, [parts]) == [(2.0, whole)]
    relaxation.too_slow, seconds[0] = False, 2.0
    assert tree._best_split(whole, 2.0, [parts]) == [(2.0, whole)]
    seconds[0] = 0.0
    assert [bound for bound, _ in tree._best_split(whole, 2.0, [last_parts, parts])] == [3, 3]


# Where the relaxation errs ------------------------------------------------------------------------


def near_tie() -> Problem:
    """A point whose rival is close behind: the gap is less than 1."""
    index = two_labels((25, 14), (12, 12), (7, 7))
    asked = asked_of(index, first_point(index), alpha=1)
    assert asked is not None
    return asked.problem


def excess(tree: Tree, box: Box, found: Relaxed, group: int) -> float:
    """By how much a group is overrated: what lines claim of its losses, less what they are."""
    modes, chords, total = tree.modes, tree.modes.chords(box), 0.0
    if box.lower[group] >= box.upper[group]:
        return 0.0
    for point in range(tree.problem.n_points):
        claimed = true = 0.0
        for take in np.flatnonzero((modes.take_group == group) & (modes.take_point == point)):
            gap = max(float(modes.gap[modes.take_pair[take]]), 1e-9)
            share = float(found.share[modes.take_pair[take]])
            beyond = found.taken[take] - share * chords.start[take]
            claimed += min((share * chords.loss[take] + chords.slope[take] * beyond) / gap, share)
            count = modes.take_low[take] + modes.alpha
            taken = min(found.cells[group], modes.take_last[take])
            true += share * min(-math.log1p(-taken / count) / gap, 1.0)
        for kill in np.flatnonzero((modes.kill_group == group) & (modes.kill_point == point)):
            share = float(found.share[modes.n_pairs + kill])
            claimed += share
            true += share * (found.cells[group] >= modes.kill_count[kill] - 1e-6)
        total += max(claimed - true, 0.0)
    return total


@pytest.mark.parametrize("alpha", [0, 2, None])
def test_what_is_overrated(alpha: int | None) -> None:
    """The excess of each group, for solutions with cells on, beside and beyond the counts of winners."""
    rng, n_over = np.random.default_rng(4), 0
    tree = tree_of(near_tie() if alpha is None else three_labels(alpha), 40)
    n_groups, modes = tree.problem.n_groups, tree.modes
    whole = tree.open[0][2]
    for _ in range(200):
        lower = np.minimum(rng.integers(0, 4, n_groups), whole.upper)
        upper = np.where(rng.random(n_groups) < 0.2, lower, whole.upper)
        box = Box(lower, upper, whole.allowed)
        cells = lower + (upper - lower) * rng.random(n_groups) ** 3
        at_count = rng.random(n_groups) < 0.5
        cells[modes.kill_group] = np.where(
            at_count[modes.kill_group],
            modes.kill_count + rng.choice([-0.5, -2e-6, -5e-7, 0, 1], len(modes.kill_count)),
            cells[modes.kill_group],
        )
        share = rng.choice([0.0, 0.2, 0.7, 1.0], modes.n_modes)
        taken = share[modes.take_pair] * np.minimum(
            rng.uniform(0, 1.2, len(modes.take_pair)) * cells[modes.take_group], modes.take_last
        )
        found = relaxed(tree, 1.0, cells=cells, share=share, taken=taken)
        own = tree._excess(box, found)
        expected = [excess(tree, box, found, group) for group in range(n_groups)]
        assert own == pytest.approx(expected, abs=1e-9)
        n_over += sum(one > 0 for one in expected)
    assert n_over > 10
