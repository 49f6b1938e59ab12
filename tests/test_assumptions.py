"""The experiments on assumptions: the bias that arises."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
from support.bias_oracle import limits

from experiments import bias


def is_world(known: list[int], blanked: list[int], eps: Fraction) -> bool:
    """Whether blanked cells that held these values make a world of so much bias."""
    total = sum(known) + len(known)
    ranges = (limits(sum(blanked), Fraction(n + 1, total), eps) for n in known)
    return all(low <= x <= high for x, (low, high) in zip(blanked, ranges, strict=True))


def test_the_least_bias_is_where_the_truth_becomes_a_world() -> None:
    """Just above it what the cells held is a world of that bias; just below it is none (T9)."""
    rng = random.Random(0)
    tiny, n_above = Fraction(1, 10**9), 0
    for _ in range(1000):
        size = rng.randint(1, 4)
        known = [rng.randint(0, 6) for _ in range(size)]
        blanked = [rng.randint(0, 5) for _ in range(size)]
        if not any(blanked):
            continue
        least = bias.least_bias(np.array(known), np.array(blanked))
        assert is_world(known, blanked, Fraction(least) + tiny)
        if least > 0:
            assert not is_world(known, blanked, max(Fraction(least) - tiny, Fraction(0)))
            n_above += 1
    assert n_above > 200
