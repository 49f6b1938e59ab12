"""Odds of points that leave features out equal those of all worlds of a table without these columns.

``NULLPROOF_ODDS_TABLES`` sets the number of random tables, ``NULLPROOF_SEED`` where they start.
"""

from __future__ import annotations

import itertools
import math
import os
import random
import warnings
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support import oracle
from support.odds_tables import assert_bounds, large_index, only_grids
from support.own_missing import with_own_missing, without_holes
from support.strategies import EXTREME_ALPHAS, Case, random_case

import nullproof.odds.grid as grid_module
import nullproof.odds.narrowing as narrowing_module
from nullproof import CountIndex, NullproofError, NullproofWarning, certify
from nullproof.model import Model
from nullproof.odds.labels import label_odds
from nullproof.odds.samples import sample_worlds, sampled_odds, sampled_winners
from nullproof.odds.worlds import count_worlds

pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
N_TABLES = int(os.environ.get("NULLPROOF_ODDS_TABLES", "5000"))
SEED = int(os.environ.get("NULLPROOF_SEED", "20240604"))
N_CHUNKS = 10
GAPS = (0.01, 0.1, 0.001, 1e-6)
Wins = dict[frozenset[Any], Fraction]


def index_of(case: Case) -> CountIndex:
    return CountIndex.from_rows(
        case.rows, case.labels, features=case.features, domains=case.declared
    )


def true_wins(case: Case, point: tuple[Any, ...]) -> Wins:
    """The share of the worlds of a table that each set of labels wins, at one complete point."""
    names = oracle.distinct(case.labels)
    share = oracle.shares(case.labels, names, case.prior)
    worlds = Counter(
        oracle.count(world, case.labels, names, point)
        for world in oracle.worlds(case.rows, case.domains)
    )
    wins: Wins = {}
    for counts, n in worlds.items():
        values = {
            name: oracle.support(
                share[name], own, case.labels.count(name), case.domains, case.alpha
            )
            for name, own in zip(names, counts, strict=True)
        }
        won = oracle.winners(values)
        wins[won] = wins.get(won, Fraction(0)) + Fraction(n, worlds.total())
    return wins


def shared_out(wins: Wins, labels: Any) -> list[Fraction]:
    """The odds of each label: ties are shared out equally."""
    return [
        sum((p / len(who) for who, p in wins.items() if label in who), Fraction(0))
        for label in labels
    ]


def completed(rng: random.Random, case: Case) -> Case:
    """A case whose points have one value in each known cell, as well as holes of their own."""
    case = with_own_missing(rng, case)
    domains = case.domains
    points = tuple(
        tuple(
            cell if cell is None else rng.choice(oracle.candidates(cell, domain))
            for cell, domain in zip(point, domains, strict=True)
        )
        for point in case.points
    )
    return replace(case, points=points)


def assert_equals_shorter_points(case: Case, gap: float) -> None:
    """Compare odds and exact numbers of worlds with those on the columns that a point knows."""
    index = index_of(case)
    options: Any = {"alpha": case.alpha, "prior": case.prior_for(index.labels)}
    odds = label_odds(index, list(case.points), gap=gap, **options)
    n_worlds = sum(1 for _ in oracle.worlds(case.rows, case.domains))
    for position, point in enumerate(case.points):
        wins = true_wins(*without_holes(case, point))
        assert_bounds(odds, position, shared_out(wins, index.labels), gap)
        counts = count_worlds(index, point, **options)
        alone = {frozenset([label]): n for label, n in counts.wins.items() if n}
        tied = {frozenset(labels): n for labels, n in counts.ties.items()}
        assert counts.total == n_worlds
        assert {**alone, **tied} == {who: p * n_worlds for who, p in wins.items()}, case


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_random_tables(chunk: int) -> None:
    """Theory 9: numbers of worlds are exact and bounds hold the truth, as close as for any point."""
    seed = f"{SEED}-skip-{chunk}"
    print("seed", seed)
    rng = random.Random(seed)
    for _ in range(math.ceil(N_TABLES / N_CHUNKS / 5)):
        assert_equals_shorter_points(completed(rng, random_case(rng)), rng.choice(GAPS))


def test_smoothing_beyond_doubles() -> None:
    """Extreme smoothing changes nothing of the law."""
    rng = random.Random(f"{SEED}-skip-extreme")
    for _ in range(60):
        case = completed(rng, random_case(rng))
        assert_equals_shorter_points(replace(case, alpha=rng.choice(EXTREME_ALPHAS)), 0.01)


def test_candidate_sets_beside_holes() -> None:
    """A set of candidates keeps its meaning: the bounds hold for each of its completions."""
    rng = random.Random(f"{SEED}-skip-sets")
    for _ in range(120):
        case = with_own_missing(rng, random_case(rng))
        index = index_of(case)
        options: Any = {"alpha": case.alpha, "prior": case.prior_for(index.labels)}
        odds = label_odds(index, list(case.points), **options)
        for position, point in enumerate(case.points):
            shorter, known = without_holes(case, point)
            for filled in oracle.completions(known, shorter.domains):
                truth = shared_out(true_wins(shorter, filled), index.labels)
                assert_bounds(odds, position, truth, 1.0)


@pytest.mark.parametrize("waves", [True, False])
def test_grid_on_random_tables(waves: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is counted exactly, the bounds still contain the truth."""
    if not waves:
        only_grids(monkeypatch)
    monkeypatch.setattr(narrowing_module, "_QUICK", -1.0)
    monkeypatch.setattr(narrowing_module, "_LIMIT", 0)
    monkeypatch.setattr(grid_module, "MAX_SIZE", 4096)
    rng = random.Random(f"{SEED}-skip-grid")
    for _ in range(60):
        case = completed(rng, random_case(rng))
        index = index_of(case)
        options: Any = {"alpha": case.alpha, "prior": case.prior_for(index.labels)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NullproofWarning)
            odds = label_odds(index, list(case.points), gap=rng.choice((0.3, 0.01)), **options)
        for position, point in enumerate(case.points):
            truth = shared_out(true_wins(*without_holes(case, point)), index.labels)
            assert_bounds(odds, position, truth, 1.0)


@pytest.mark.parametrize("alpha", [0, 1, Fraction(1, 3)])
def test_large_tables(alpha: Any) -> None:
    """On large tables the bounds keep the gap, and meet those of an index without the columns."""
    index, complete = large_index(n_rows=3_000, d=6)
    points = complete[:8].copy()
    rng = np.random.default_rng(SEED)
    points[rng.random(points.shape) < 0.4] = -1
    points[:, 0] = complete[:8, 0]
    odds = label_odds(index, points, alpha=alpha)
    assert odds.gap <= 0.01
    for place, point in enumerate(points):
        known = np.flatnonzero(point >= 0).tolist()
        schema = index.schema
        shorter = CountIndex(
            type(schema)(tuple(schema.features[j] for j in known), schema.labels),
            index.label_counts,
            tuple(index.known[j] for j in known),
            index.n_null[known],
            tuple(index.sets[j] for j in known),
        )
        alone = label_odds(shorter, point[known][None, :], alpha=alpha)
        assert (odds.lower[place] <= alone.upper[0]).all()
        assert (alone.lower[0] <= odds.upper[place]).all()
    estimates = sampled_odds(index, points, 4_000, seed=1, alpha=alpha)
    assert (estimates >= odds.lower - 0.04).all()
    assert (estimates <= odds.upper + 0.04).all()


def test_sampled_worlds() -> None:
    """A drawn world tells -1 of a feature left out; its winners are those of the known features."""
    rng = random.Random(f"{SEED}-skip-samples")
    for _ in range(60):
        case = completed(rng, random_case(rng))
        index = index_of(case)
        names = index.labels
        model = Model(index, case.alpha, case.prior_for(names))
        drawn = sample_worlds(index, list(case.points), 15, seed=rng.randrange(100))
        share = oracle.shares(case.labels, names, case.prior)
        for point, worlds in zip(case.points, drawn, strict=True):
            shorter, known = without_holes(case, point)
            kept = [cell is not None for cell in point]
            assert (worlds[:, :, ~np.array(kept)] == -1).all()
            reachable = oracle.reachable_counts(
                shorter.rows, case.labels, known, shorter.domains, names
            )
            for counts, won in zip(worlds.tolist(), sampled_winners(model, worlds), strict=True):
                own = tuple(tuple(itertools.compress(row, kept)) for row in counts)
                assert own in reachable
                values = {
                    label: oracle.support(
                        share[label], row, case.labels.count(label), shorter.domains, case.alpha
                    )
                    for label, row in zip(names, own, strict=True)
                }
                found = {label for label, is_so in zip(names, won, strict=True) if is_so}
                assert found == oracle.winners(values)


def test_label_without_rows() -> None:
    """Without smoothing a label that has no rows has no support, whatever a point leaves out."""
    rows: list[Any] = [("a", None), ("a", "x"), ("b", "y"), ("b", "x")]
    labels = ["yes", "yes", "no", "no"]
    wider = CountIndex.from_rows([*rows, ("c", "z")], [*labels, "rare"])
    index = CountIndex.from_rows(rows, labels, like=wider)
    points = [(None, None), (None, "x"), ("a", None)]
    plain = label_odds(index, points, prior="uniform", alpha=0)
    assert plain.gap <= 0.01
    assert plain.upper[:, 1].tolist() == [0, 0, 0]
    assert count_worlds(index, (None, None), prior="uniform", alpha=0).ties == {("no", "yes"): 3}
    smoothed = label_odds(index, points, alpha=1, prior="uniform")
    assert smoothed.lower[0] == pytest.approx([1 / 3] * 3)


def test_the_two_readings() -> None:
    """Whatever a hole holds, or without it: asked for by name, and refused where it means nothing."""
    rows: list[Any] = [("a", None), ("a", "x"), ("b", "y"), ("b", "x"), (None, "x")]
    index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no", "no"])
    points = [("a", None), (None, None)]
    skip = label_odds(index, points, alpha=1)
    any_value = label_odds(index, points, alpha=1, own_missing="any")
    assert skip.gap <= 0.01 < any_value.gap
    assert skip[1] == {"no": (1.0, 1.0), "yes": (0.0, 0.0)}
    assert certify(index, points, alpha=1).certain.all()
    with pytest.raises(NullproofError, match="a point with missing cells"):
        count_worlds(index, ("a", None), own_missing="any", alpha=0)
    with pytest.raises(NullproofError, match="point 0 has missing cells of its own"):
        sample_worlds(index, points, 5, own_missing="any")
    with pytest.raises(NullproofError, match="point 0 has missing cells of its own"):
        sampled_odds(index, points, 5, own_missing="any", alpha=0)
    with pytest.raises(NullproofError, match="own_missing is 'all'"):
        label_odds(index, points, own_missing="all", alpha=0)  # type: ignore[arg-type]
