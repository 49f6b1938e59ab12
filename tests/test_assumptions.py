"""The experiments on assumptions: the bias that arises, and how useful answers are."""

from __future__ import annotations

import gzip
import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from support.bias_oracle import limits

from experiments import bias, usefulness


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


@pytest.fixture
def penguins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table that passes for one of those at hand."""
    rng = np.random.default_rng(0)
    species = rng.choice(["A", "B"], 300)
    mass = np.where(species == "A", 3.0, 4.0) + rng.normal(size=300)
    island = np.where(rng.random(300) < 0.7, species, "?")
    frame = pl.DataFrame({"body_mass_g": mass, "island": island, "species": species})
    path = tmp_path / "penguins.csv.gz"
    path.write_bytes(gzip.compress(frame.write_csv().encode()))
    monkeypatch.setenv("NULLPROOF_DATA", str(tmp_path))
    return path


@pytest.mark.filterwarnings("ignore:.*alone gives the label")
def test_usefulness_is_measured(penguins: Path) -> None:
    """Shares never rise with the bias, certain points hold at 1, and without blanks nothing changes."""
    found = [*usefulness.measure_table("penguins", penguins)]
    assert [one.setting for one in found[::2]] == [*usefulness.SETTINGS]
    assert [one.setting for one in found[1::2]] == [*usefulness.SETTINGS]
    for one in found:
        strict, skipped = one.certain
        assert strict <= skipped == one.share(1)
        shares = [one.share(limit) for limit in (0.02, 0.05, 0.1, 1)]
        assert shares == sorted(shares, reverse=True)
    assert found[0].n_changed == (0, 0)


@pytest.mark.filterwarnings("ignore:.*alone gives the label")
def test_bias_is_measured(penguins: Path) -> None:
    """Every setting has cells of both columns and labels, and cells blanked by value are farther off."""
    groups = [*bias.measure_table("penguins", penguins)]
    assert len(groups) == 4 * len(bias.SETTINGS)
    mean = {
        setting: np.mean([g.bias for g in groups if g.setting == setting])
        for setting in bias.SETTINGS
    }
    assert mean["20 % by value"] > mean["20 % by chance"]
