"""The lines of the relaxation: above what winners lose on a box, below what a point alone must pay."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from support.joint_problems import counted, questions

from nullproof.attacks.joint.modes import Box, Modes, lower_hull, single_optima
from nullproof.attacks.joint.problem import Problem

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")


def hull_height(ends: list[tuple[int, int]], at: int) -> Fraction:
    """The height at one place of the lower hull of ends that are lowered by one, but not below 0."""
    points = [(a, max(0, b - 1)) for a, b in ends]
    heights = [Fraction(b) for a, b in points if a == at]
    for (a, b), (c, d) in combinations(points, 2):
        if a < at < c:
            heights.append(b + Fraction((d - b) * (at - a), c - a))
    return min(heights)


def test_lines_below_a_frontier() -> None:
    """At each place the highest line is the lower hull of the ends, each lowered by one."""
    rng, n_lines = np.random.default_rng(7), list[int]()
    cases = [[(0, 9), (3, 3), (9, 0)], [(2, 5), (4, 4), (6, 3), (8, 2)], [(1, 1)], [(0, 0)]]
    cases += [[(3, 7), (4, 7)], [(0, 5), (4, 4), (5, 0)], [(2, 8), (3, 3), (7, 1), (20, 1)]]
    for _ in range(60):
        n_ends = int(rng.integers(1, 7))
        raised = np.sort(rng.choice(40, n_ends, replace=False)).tolist()
        lowered = np.sort(rng.integers(0, rng.choice([5, 30]), n_ends))[::-1].tolist()
        cases.append([*zip(raised, lowered, strict=True)])
    for ends in cases:
        lines = lower_hull(np.array(ends, dtype=np.int64))
        for at in range(ends[0][0], ends[-1][0] + 1):
            height = max(need - slope * at for slope, need in lines)
            assert height == pytest.approx(float(hull_height(ends, at)), abs=1e-12)
        # Beyond the last end nothing less is enough, and no line is there twice.
        assert lines[-1] == (0.0, max(0, ends[-1][1] - 1))
        assert all(steep > flat for (steep, _), (flat, _) in pairwise(lines))
        n_lines.append(len(lines))
    assert {1, 2, 3, 4} <= {*n_lines}


def boxes(modes: Modes, rng: np.random.Generator) -> list[Box]:
    """The whole box, and parts of it, some of them without any room in some groups."""
    capacity = modes.problem.capacity
    allowed = np.ones(modes.n_modes, dtype=bool)
    found = [Box(np.zeros_like(capacity), capacity, allowed)]
    for _ in range(4):
        lower = np.asarray(rng.integers(0, capacity + 1))
        found.append(Box(lower, np.asarray(rng.integers(lower, capacity + 1)), allowed))
        found.append(Box(np.minimum(lower, 2), capacity, allowed))
    return found


def lines_are_tight(modes: Modes, box: Box) -> tuple[int, int]:
    """Check the chords on a box: nothing below them, nothing steeper than needed; count the cases."""
    chords, last = modes.chords(box), modes.most_taken(box)
    n_cut_off = n_whole = 0
    for take, (pair, group) in enumerate(zip(modes.take_pair, modes.take_group, strict=True)):
        most = min(int(box.upper[group]), int(modes.take_last[take]))
        start = min(int(box.lower[group]), most)
        assert (chords.start[take], last[take]) == (start, most)
        count, gap = float(modes.take_low[take]) + modes.alpha, float(modes.gap[pair])

        def loss(taken: int, count: float = count) -> float:
            return -math.log1p(-taken / count)

        assert chords.loss[take] == pytest.approx(loss(start), abs=1e-12)
        # The slopes from the start to each place, up to the gap.
        slopes = [
            (min(loss(taken), gap) - loss(start)) / (taken - start)
            for taken in range(start + 1, most + 1)
        ]
        steepest = max(slopes, default=0.0)
        assert chords.slope[take] == pytest.approx(max(steepest, 0.0), rel=1e-7, abs=1e-12)
        n_cut_off += loss(most) > gap > loss(start)
        n_whole += loss(start) < loss(most) < gap
    return n_cut_off, n_whole


def modes_of(problem: Problem) -> Modes:
    """The modes with none left out."""
    singles = single_optima(problem)
    return Modes(problem, singles, int(problem.capacity.sum()) + 1)


@pytest.mark.parametrize("kind", ["counts", "tables"])
def test_chords_are_just_above_the_losses(kind: str) -> None:
    """From the least taking on, a chord is the lowest line above all losses up to the gap."""
    rng, n_cases = np.random.default_rng(8), np.zeros(2, dtype=np.int64)
    every = counted() if kind == "counts" else [asked.problem for asked in questions()[::2]]
    for problem in (one for one in every if one.floats_hold):
        modes = modes_of(problem)
        for box in boxes(modes, rng):
            n_cases += lines_are_tight(modes, box)
    assert (n_cases > 20).all()
