"""Seeds that nothing can be drawn from."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from nullproof import CountIndex, NullproofError, inject_missing, poison
from nullproof.cleaning.cleaner import Cleaner
from nullproof.cleaning.simulation import simulate_cleaning
from nullproof.odds.samples import draw, sample_worlds, sampled_odds

ROWS = [("a", None), ("a", "x"), ("b", "y"), ("b", "x")]
LABELS = ["yes", "yes", "no", "no"]
POINTS = [("a", "x"), ("b", "y")]


@pytest.fixture(scope="module")
def index() -> CountIndex:
    """Four rows with a hole."""
    return CountIndex.from_rows(ROWS, LABELS)


@pytest.mark.parametrize("seed", [-1, 0.5, "1", None, True])
def test_a_seed_is_a_whole_number(index: CountIndex, seed: Any) -> None:
    """Whatever draws by chance says so in the same words."""
    frame = pd.DataFrame(ROWS, columns=["u", "v"])
    cleaner, truth = Cleaner(index, POINTS, ROWS, LABELS), [("a", "x"), *ROWS[1:]]
    asked = (
        lambda: poison(index, POINTS, seed=seed),
        lambda: inject_missing(frame, 0.5, seed=seed),
        lambda: sample_worlds(index, POINTS, 3, seed=seed),
        lambda: sampled_odds(index, POINTS, 3, seed=seed),
        lambda: draw(index, ROWS, LABELS, seed=seed),
        lambda: simulate_cleaning(cleaner, truth, seed=seed),
    )
    for call in asked:
        with pytest.raises(NullproofError, match="give a whole number that is 0 or more"):
            call()
