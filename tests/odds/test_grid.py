"""Points bounded together, and labels on one grid: the quick ways say what the plain ones say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.odds_tables import only_grids, random_codes

import nullproof.odds.grid as grid_module
import nullproof.odds.narrowing as narrowing_module
from nullproof import CountIndex, label_odds


def many_labels(n_rows: int = 600, m: int = 12) -> tuple[CountIndex, Any]:
    complete, incomplete, labels = random_codes(np.random.default_rng(7), n_rows, 6, 5, m)
    return CountIndex.from_codes(incomplete, labels, n_values=[5] * 6), complete


@pytest.mark.parametrize("alpha", [0, 1])
def test_points_together(alpha: int) -> None:
    """A point has the same odds, up to roundings, whether it is asked for alone or with others."""
    index, points = many_labels(400, 4)
    together = label_odds(index, points[:40], alpha=alpha)
    for place in range(0, 40, 5):
        alone = label_odds(index, points[place : place + 1], alpha=alpha)
        assert alone.lower[0] == pytest.approx(together.lower[place], abs=1e-9)
        assert alone.upper[0] == pytest.approx(together.upper[place], abs=1e-9)


def test_one_grid_for_many_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels on one grid have bounds around those of all pairs, and hardly wider."""
    index, points = many_labels()
    found = []
    only_grids(monkeypatch)
    # Bounds of one grid each: no finer one hides a wrong one.
    monkeypatch.setattr(narrowing_module.Ways, "first_levels", lambda *_: np.full(len(_[2]), 9.0))
    for few in (0, 100):
        monkeypatch.setattr(grid_module, "_FEW", few)
        found.append(label_odds(index, points[:30], gap=0.5))
    one_grid, pairs = found
    assert (one_grid.lower <= pairs.lower + 1e-9).all()
    assert (one_grid.upper >= pairs.upper - 1e-9).all()
    wider = (one_grid.upper - one_grid.lower) - (pairs.upper - pairs.lower)
    assert 0 < wider.max() < 0.02


def test_odds_of_many_labels() -> None:
    """With a dozen labels bounds are as close as asked for, and shares of drawn worlds lie between."""
    from nullproof.odds import sampled_odds

    index, points = many_labels()
    odds = label_odds(index, points[:20])
    assert odds.gap <= 0.01
    estimates = sampled_odds(index, points[:20], 4_000, seed=1)
    # Five standard deviations of a share of 4,000.
    assert (estimates >= odds.lower - 0.04).all()
    assert (estimates <= odds.upper + 0.04).all()
