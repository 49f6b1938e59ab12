"""poison on many points, through the front door: bounds, verified attacks, repeatable answers."""

from __future__ import annotations

import importlib.util
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.joint_oracle import fewest_by_counts
from support.joint_tables import index_of, random_table

from nullproof.attacks.poisoning import poison
from nullproof.counts.index import CountIndex
from nullproof.decision import certify
from nullproof.errors import NullproofError, NullproofWarning
from nullproof.radii.cells import radius

pytestmark = pytest.mark.filterwarnings("ignore:points hold values")


@pytest.mark.parametrize("block", range(6))
def test_the_bounds_enclose_the_optimum(block: int) -> None:
    """lower_bound <= optimum <= n_cells, equal when claimed, and at least 95 % are proven optimal."""
    proven = total = 0
    for seed in range(10 * block, 10 * block + 10):
        rng = np.random.default_rng(5_000 + seed)
        table = random_table(rng, int(rng.integers(2, 5)), dirty=seed % 2 == 1)
        index, want = index_of(table), fewest_by_counts(table)
        if want is None:
            with pytest.raises(NullproofError, match="no attack can break"):
                poison(index, table.points, alpha=table.alpha, steps=1)
            continue
        attack = poison(index, table.points, alpha=table.alpha, steps=200)
        assert attack.lower_bound <= want <= attack.n_cells, seed
        assert not certify(attack.index_after, table.points, alpha=table.alpha).certain.any()
        total += 1
        proven += attack.optimal
    assert proven >= 0.95 * total


@pytest.mark.parametrize(
    "alpha",
    [1e-309, 5e-324, Fraction(1, 10**400), 10**400, 1e308, Fraction(10**400, 3)],
    ids=["1e-309", "5e-324", "1e-400", "1e400", "1e308", "thirds"],
)
@pytest.mark.parametrize("prior", [None, "uniform", [Fraction(1, 10**400), 1]])
def test_any_smoothing_is_answered(alpha: Any, prior: Any) -> None:
    """Whatever certify and radius answer for, poison answers for: a true attack, a true bound."""
    for seed in range(5):
        rng = np.random.default_rng(6_000 + seed)
        codes = rng.integers(-1 if seed % 2 else 0, 3, (24, 4)).astype(np.int8)
        index = CountIndex.from_codes(codes, (rng.random(24) < 0.4).astype(int))
        points = rng.integers(0, 3, (6, 4)).astype(np.int32)
        radii = radius(index, points, alpha=alpha, prior=prior)
        attack = poison(index, points, alpha=alpha, prior=prior, steps=3, skip_unbreakable=True)
        finite = radii[np.isfinite(radii)]
        assert finite.max(initial=0) <= attack.lower_bound <= attack.n_cells <= finite.sum()
        after = certify(attack.index_after, points, alpha=alpha, prior=prior).certain
        assert not after[np.isfinite(radii)].any(), seed


ROWS = [("a", "x", "p")] * 6 + [("b", "y", "q")] * 5 + [("a", "y", "p")] * 3 + [("b", "x", "q")] * 4
LABELS = ["yes"] * 8 + ["no"] * 10
POINTS = [("a", "x", "p"), ("b", "y", "q"), ("b", "x", "q"), ("a", "x", "q")]


def test_same_seed_same_answer() -> None:
    """With a number of steps the attack depends on the seed alone."""
    index = CountIndex.from_rows(ROWS, LABELS)
    one, other = (poison(index, POINTS, steps=3, seed=5, alpha=0) for _ in range(2))
    assert one.blanks == other.blanks
    assert one.lower_bound == other.lower_bound


def test_never_worse_than_the_union() -> None:
    """The joint attack is at most the sum of the single ones and at least the largest radius."""
    index = CountIndex.from_rows(ROWS, LABELS)
    found = radius(index, POINTS, alpha=0)
    attack = poison(index, POINTS, steps=20, alpha=0)
    assert found.max() <= attack.lower_bound <= attack.n_cells <= found.sum()
    assert [target.radius for target in attack.targets] == found.tolist()


def test_each_target_falls_to_its_rival() -> None:
    """After the attack the named rival reaches the label in some world: it is possible."""
    index = CountIndex.from_rows(ROWS, LABELS)
    attack = poison(index, POINTS, steps=20, alpha=0)
    after = certify(attack.index_after, POINTS, alpha=0)
    for target in attack.targets:
        if target.radius:
            assert target.rival in after[target.point].possible


def test_the_same_point_twice_costs_once() -> None:
    """Repeated points and points that are open already add nothing."""
    index = CountIndex.from_rows(ROWS, LABELS)
    once = poison(index, POINTS[:1], alpha=0)
    twice = poison(index, [POINTS[0], POINTS[0]], alpha=0)
    assert once.n_cells == twice.n_cells
    assert twice.optimal


def test_incomplete_points_keep_an_honest_bound() -> None:
    """A joint attack on points with holes is verified; its bound is the largest radius."""
    index = CountIndex.from_rows(ROWS, LABELS)
    points: list[tuple[Any, ...]] = [("a", None, "p"), ("b", "y", "q")]
    found = radius(index, points, own_missing="any", alpha=0)
    assert (found > 0).all()
    attack = poison(index, points, steps=20, own_missing="any", alpha=0)
    assert not certify(attack.index_after, points, own_missing="any", alpha=0).certain.any()
    assert attack.lower_bound == found.max()


def test_progress_is_told() -> None:
    """on_progress gets falling numbers of cells and rising bounds, in words."""
    index = CountIndex.from_rows(ROWS * 5, LABELS * 5)
    said: list[str] = []
    attack = poison(index, POINTS, steps=5, on_progress=lambda now, _: said.append(now), alpha=0)
    found = [re.match(r"best (\d+) cells, at least (\d+) needed", now) for now in said]
    seen = [tuple(map(int, one.groups())) for one in found if one is not None]
    assert seen
    cells, bounds = zip(*seen, strict=True)
    assert list(cells) == sorted(cells, reverse=True)
    assert list(bounds) == sorted(bounds)
    assert attack.n_cells <= cells[-1]


def test_without_scipy_the_union_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The missing extra is one sentence with its install line; the attack is still a true one."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    index = CountIndex.from_rows(ROWS, LABELS)
    with pytest.warns(NullproofWarning, match=r"nullproof\[attack\]"):
        attack = poison(index, POINTS, alpha=0)
    assert not certify(attack.index_after, POINTS, alpha=0).certain.any()


@pytest.mark.parametrize("options", [{"time_limit": -1}, {"steps": -1}])
def test_limits_must_not_be_negative(options: dict[str, Any]) -> None:
    """Negative limits are refused with a sentence."""
    with pytest.raises(NullproofError, match="0 or more"):
        poison(CountIndex.from_rows(ROWS, LABELS), POINTS, **options)
