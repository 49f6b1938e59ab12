"""Tables that are too large to enumerate, and what bounds of odds must satisfy."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import nullproof.odds.crowds as crowds_module
import nullproof.odds.pairs as pairs_module
from nullproof import CountIndex
from nullproof.odds.labels import Odds


def assert_bounds(odds: Odds, position: int, truth: Sequence[Fraction], gap: float) -> None:
    """The truth lies between the bounds, which are at most ``gap`` apart."""
    for low, high, true in zip(odds.lower[position], odds.upper[position], truth, strict=True):
        assert 0 <= low <= true <= high <= 1
        assert high - low <= gap
        assert (high == 0) <= (true == 0)


def only_grids(monkeypatch: pytest.MonkeyPatch) -> None:
    """No point is bounded by Fourier coefficients, so that all go to a grid."""
    for module in (pairs_module, crowds_module):
        monkeypatch.setattr(module, "MAX_WAVES", 0)


def random_codes(
    rng: np.random.Generator, n_rows: int, d: int, n_values: int, m: int, missing: float = 0.2
) -> tuple[Any, Any, Any]:
    """Complete codes, the same with holes, and labels that have to do with them."""
    labels = rng.integers(0, m, n_rows)
    noise = rng.integers(0, n_values, (n_rows, d))
    complete = np.where(rng.random((n_rows, d)) < 0.3, labels[:, None] % n_values, noise)
    return complete, np.where(rng.random((n_rows, d)) < missing, -1, complete), labels


def large_index(
    seed: int = 0, n_rows: int = 13_000, d: int = 11, missing: float = 0.2
) -> tuple[CountIndex, Any]:
    rng = np.random.default_rng(seed)
    complete, incomplete, labels = random_codes(rng, n_rows, d, 5, 4, missing)
    return CountIndex.from_codes(incomplete, labels), complete
