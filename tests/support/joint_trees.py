"""Trees of joint attacks whose relaxations find what a test says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from nullproof.attacks.joint.effort import Effort
from nullproof.attacks.joint.modes import Box, single_optima
from nullproof.attacks.joint.problem import Problem
from nullproof.attacks.joint.relaxation import Relaxed
from nullproof.attacks.joint.tree import Tree
from support.count_tables import index_from_counts
from support.joint_problems import asked_of


def three_labels(alpha: int = 0) -> Problem:
    """Points that fall in many modes, to two rivals or by a kill."""
    index = index_from_counts(
        [20, 15, 9],
        [[(17, 3, 0), (1, 10, 3), (2, 2, 6)], [(11, 6, 4), (9, 9, 5)], [(6, 0, 1), (14, 15, 8)]],
    )
    points = [("0", "0", "1"), ("1", "1", "1"), ("0", "1", "0")]
    asked = asked_of(index, points, alpha=alpha)
    assert asked is not None
    return asked.problem


def many_points(seed: int) -> Problem:
    """Up to eight points, some of which share cells."""
    rng = np.random.default_rng(seed)
    known = [rng.multinomial([20, 12, 9], rng.dirichlet([1, 1, 1], 3)).T for _ in range(3)]
    points = [tuple(str(value) for value in rng.integers(0, 3, 3)) for _ in range(8)]
    asked = asked_of(index_from_counts([20, 12, 9], known), points, alpha=1)
    assert asked is not None
    return asked.problem


def tree_of(problem: Problem, limit: int = 10, effort: Effort | None = None) -> Tree:
    """A tree for attacks with fewer cells than the limit."""
    return Tree(problem, single_optima(problem), limit, (effort or Effort(rounds=1)).begin())


def box_of(tree: Tree, lower: Sequence[int], upper: Sequence[int]) -> Box:
    """A box with these cells of the first groups, and none of the others."""
    bounds = np.zeros((2, tree.problem.n_groups), dtype=np.int64)
    bounds[:, : len(lower)] = lower, upper
    return Box(bounds[0], bounds[1], np.ones(tree.modes.n_modes, dtype=bool))


def relaxed(tree: Tree, bound: float, **columns: Any) -> Relaxed:
    """A solution with this bound; what is not given of the columns is 0."""
    modes = tree.modes
    sizes = {
        "cells": tree.problem.n_groups,
        "share": modes.n_modes,
        "taken": len(modes.take_pair),
        "price": tree.problem.n_groups + modes.n_modes,
    }
    filled = {}
    for name, size in sizes.items():
        filled[name] = np.zeros(size)
        given = columns.get(name, ())
        filled[name][: len(given)] = given
    return Relaxed(bound, **filled)


class Scripted:
    """A relaxation that has these bounds in turn, and what it was asked."""

    def __init__(self, tree: Tree, bounds: Iterable[float], **columns: Any) -> None:
        self.tree, self.columns, self.bounds = tree, columns, iter(bounds)
        self.too_slow, self.asked = False, list[tuple[Box, int]]()
        tree.relaxation = self  # type: ignore[assignment]

    def solve(self, box: Box, rounds: int = 1) -> Relaxed:
        """The next bound."""
        self.asked.append((box, rounds))
        return relaxed(self.tree, next(self.bounds), **self.columns)


def cells_of(box: Box, n_groups: int = 1) -> list[tuple[int, int]]:
    """The least and greatest cells of the first groups."""
    pairs = zip(box.lower.tolist(), box.upper.tolist(), strict=True)
    return [*pairs][:n_groups]
