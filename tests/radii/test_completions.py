"""Incomplete points: their radius is that of the weakest completion."""

from __future__ import annotations

import itertools
import os
import random

import pytest
from support.count_tables import index_from_counts, random_index, two_labels

from nullproof.radii.cells import radii, radius

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

SEED = int(os.environ.get("NULLPROOF_SEED", "20240604"))


def test_weakest_of_all_completions() -> None:
    """Leaving out values that serve the attacker no better never changes the least radius."""
    rng = random.Random(f"{SEED}-completions")
    n_attacked = 0
    for _ in range(150):
        index, alpha = random_index(rng, 1000), rng.choice([0, 0, 1, 0.1])
        choices = [
            rng.sample([*map(str, range(n)), "unseen"], rng.randint(1, min(n, 3)))
            for n in index.n_values.tolist()
        ]
        point = tuple(set(own) if len(own) > 1 else own[0] for own in choices)
        every = radii(index, list(itertools.product(*choices)), alpha=alpha)
        expected = min(every.radius) if len(set(every.label.tolist())) == 1 else 0
        assert radius(index, [point], alpha=alpha).tolist() == [expected]
        n_attacked += expected > 0
    assert n_attacked > 20


def test_hole_is_any_value_of_the_domain() -> None:
    """None stands for the whole domain, a set for its members; both may be the attacker's choice."""
    index = two_labels((10, 10), (9, 8), (4, 5))
    full = radii(index, [("0", "0"), ("0", "1")], alpha=0)
    points = [("0", None), ("0", {"0"}), ("0", {"0", "1"}), (None, None)]
    found = radius(index, points, own_missing="any", alpha=0)
    weakest = min(full.radius) if full.label[1] == "L0" else 0
    assert found.tolist() == [weakest, full.radius[0], weakest, 0]


def test_weakest_completion_is_reported() -> None:
    """Of the candidates, the attack is on the one that falls first."""
    index = index_from_counts([20, 20], [[(9, 2), (8, 6), (3, 12)], [(15, 5), (5, 15)]])
    found = radii(index, [({"0", "1"}, "0"), ("0", "0"), ("1", "0")], alpha=0)
    assert found.radius[0] == found.radius[2] < found.radius[1]
    assert found.codes[:, 0].tolist() == [1, 0]


def test_many_incomplete_points() -> None:
    """Completions are solved in batches; each point keeps its own."""
    index = index_from_counts([180, 100], [[(50, 1), (60, 2), (70, 3), (0, 94)]] * 8)
    points = [({"0", "1", "2"},) * n + ("1",) * (8 - n) for n in (7, 0, 8, 8, 3)] * 8
    found = radius(index, points, alpha=0)
    assert found.tolist() == found[:5].tolist() * 8
    assert found[1] >= found[4] >= found[0] >= found[2] == found[3] > 0
