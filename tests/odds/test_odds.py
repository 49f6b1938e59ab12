"""label_odds and count_worlds against the enumeration of all worlds, against samples, and their laws.

``NULLPROOF_ODDS_TABLES`` sets the number of random tables, ``NULLPROOF_SEED`` where they start.
"""

from __future__ import annotations

import functools
import itertools
import math
import os
import random
import warnings
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support import oracle
from support.odds_tables import assert_bounds, large_index, only_grids, random_codes
from support.strategies import EXTREME_ALPHAS, EXTREME_WEIGHTS, Case, random_case

import nullproof.odds.bounds as bounds_module
import nullproof.odds.grid as grid_module
import nullproof.odds.narrowing as narrowing_module
from nullproof import CountIndex, NullproofWarning, certify
from nullproof.counts.sparse import DenseCounts
from nullproof.odds.filling import Cells, Open, count_of
from nullproof.odds.labels import label_odds
from nullproof.odds.samples import sampled_odds
from nullproof.odds.worlds import count_worlds

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
N_TABLES = int(os.environ.get("NULLPROOF_ODDS_TABLES", "5000"))
SEED = int(os.environ.get("NULLPROOF_SEED", "20240604"))
N_CHUNKS = 20
GAPS = (0.01, 0.1, 0.001, 1e-6)
CELLS: tuple[Cells, Cells] = ("uniform", "observed")
Wins = dict[frozenset[Any], Fraction]


# The truth ----------------------------------------------------------------------------------------


def weights_of(case: Case, i: int, j: int, cells: Cells) -> list[tuple[Hashable, int]]:
    """How likely each candidate of one training cell is, up to a factor."""
    options = oracle.candidates(case.rows[i][j], case.domains[j])
    if len(options) == 1 or cells == "uniform":
        return [(value, 1) for value in options]
    known = [
        oracle.candidates(row[j], case.domains[j])[0]
        for row, label in zip(case.rows, case.labels, strict=True)
        if label == case.labels[i] and len(oracle.candidates(row[j], case.domains[j])) == 1
    ]
    weights = [known.count(value) for value in options]
    return list(zip(options, weights if sum(weights) else [1] * len(options), strict=True))


def weighed_worlds(case: Case, cells: Cells) -> list[tuple[list[tuple[Hashable, ...]], int]]:
    """Every world with its probability, up to a factor."""
    d = len(case.features)
    shape = [(i, j) for i in range(len(case.rows)) for j in range(d)]
    found = []
    for world in itertools.product(*(weights_of(case, i, j, cells) for i, j in shape)):
        values, weights = zip(*world, strict=True)
        rows = [values[start : start + d] for start in range(0, len(values), d)]
        found.append((rows, math.prod(weights)))
    return found


def true_wins(case: Case, point: Sequence[Any], every: Any) -> Wins:
    """The probability of each set of winners, by looking at every world."""
    names, domains = oracle.distinct(case.labels), case.domains
    share = oracle.shares(case.labels, names, case.prior)
    weights: Counter[oracle.Counts] = Counter()
    for world, weight in every:
        weights[oracle.count(world, case.labels, names, point)] += weight

    @functools.cache
    def support(label: Any, own: tuple[int, ...]) -> Fraction:
        return oracle.support(share[label], own, case.labels.count(label), domains, case.alpha)

    wins: Wins = {}
    total = weights.total()
    for counts, weight in weights.items():
        winners = oracle.winners(
            {label: support(label, own) for label, own in zip(names, counts, strict=True)}
        )
        wins[winners] = wins.get(winners, 0) + Fraction(weight, total)
    return wins


def shared_out(wins: Wins, labels: Sequence[Any]) -> list[Fraction]:
    """The odds of each label: ties are shared out equally."""
    return [
        sum((p / len(who) for who, p in wins.items() if label in who), Fraction(0))
        for label in labels
    ]


def index_of(case: Case) -> CountIndex:
    return CountIndex.from_rows(
        case.rows, case.labels, features=case.features, domains=case.declared
    )


def assert_equals_oracle(case: Case, cells: Cells, gap: float) -> None:
    """Compare exact counts and bounds of every point with the enumeration of all worlds."""
    index = index_of(case)
    options: Any = {
        "alpha": case.alpha,
        "prior": case.prior_for(index.labels),
        "own_missing": "any",
    }
    odds = label_odds(index, list(case.points), cells=cells, gap=gap, **options)
    possible = certify(index, list(case.points), **options).possible
    every = weighed_worlds(case, cells)
    assert odds.lower.shape == odds.upper.shape == possible.shape
    for position, point in enumerate(case.points):
        completions = list(oracle.completions(point, case.domains))
        all_wins = [true_wins(case, filled, every) for filled in completions]
        for wins in all_wins:
            truth = shared_out(wins, index.labels)
            assert_bounds(odds, position, truth, gap if len(completions) == 1 else 1.0)
        assert not odds.upper[position, ~possible[position]].any()
        if possible[position].sum() == 1:
            assert odds.lower[position, possible[position]] == 1
        if len(completions) == 1 and cells == "uniform":
            assert (odds.upper[position, possible[position]] > 0).all()
            assert_exact_counts(index, completions[0], all_wins[0], len(every), options)


def assert_exact_counts(
    index: CountIndex, point: Any, wins: Wins, n_worlds: int, options: Any
) -> None:
    counts = count_worlds(
        index, tuple(next(iter(c)) if isinstance(c, frozenset) else c for c in point), **options
    )
    assert counts.total == n_worlds
    alone = {frozenset([label]): n for label, n in counts.wins.items() if n}
    tied = {frozenset(labels): n for labels, n in counts.ties.items()}
    assert {**alone, **tied} == {who: p * n_worlds for who, p in wins.items()}
    assert all(type(n) is int for n in (counts.total, *counts.wins.values(), *tied.values()))
    assert list(counts.odds.values()) == shared_out(wins, index.labels)


# Random tables ------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_random_tables(chunk: int) -> None:
    """Exact counts equal the enumeration; bounds contain the truth and are ``gap`` apart at most."""
    seed = f"{SEED}-{chunk}"
    print("seed", seed)
    rng = random.Random(seed)
    for _ in range(math.ceil(N_TABLES / N_CHUNKS)):
        case = random_case(rng)
        assert_equals_oracle(case, rng.choice(CELLS), rng.choice(GAPS))


@pytest.mark.parametrize(("seed", "seldom"), [(0, 0.1), (1, 0.1), (2, 2.0), (3, 2.0)])
def test_grid_on_random_tables(seed: int, seldom: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is counted exactly, the bounds still contain the truth, however many ties.

    So they do where labels are left out of a grid that win more than seldom.
    """
    if seed % 2:
        only_grids(monkeypatch)
    monkeypatch.setattr(narrowing_module, "_SELDOM", seldom)
    monkeypatch.setattr(narrowing_module, "_QUICK", -1.0)
    monkeypatch.setattr(narrowing_module, "_LIMIT", 0)
    monkeypatch.setattr(grid_module, "MAX_SIZE", 4096)
    rng = random.Random(f"grid-{SEED}-{seed}")
    for _ in range(80):
        case, cells = random_case(rng), rng.choice(CELLS)
        index, every = index_of(case), weighed_worlds(case, cells)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NullproofWarning)
            odds = label_odds(
                index,
                list(case.points),
                alpha=case.alpha,
                prior=case.prior_for(index.labels),
                own_missing="any",
                cells=cells,
                gap=rng.choice((0.3, 0.01)),
            )
        for position, point in enumerate(case.points):
            for filled in oracle.completions(point, case.domains):
                truth = shared_out(true_wins(case, filled, every), index.labels)
                assert_bounds(odds, position, truth, 1.0)


def test_extreme_numbers() -> None:
    """Smoothing and priors beyond double precision change nothing of the law."""
    rng = random.Random(SEED)
    for _ in range(150):
        case = random_case(rng)
        names = oracle.distinct(case.labels)
        prior: Any = {name: rng.choice(EXTREME_WEIGHTS) for name in names}
        if not any(prior.values()):
            prior = None
        extreme = replace(case, alpha=rng.choice(EXTREME_ALPHAS), prior=prior)
        assert_equals_oracle(extreme, "uniform", 0.01)


# Middle-sized tables, where products of counts can still be counted ----------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_exact_counts_of_larger_tables(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds by waves or by a grid contain the exact share of the worlds, and keep the gap."""
    if seed % 4 == 3:
        only_grids(monkeypatch)
    rng = np.random.default_rng(seed)
    n_rows, d, n_values, m = (
        int(rng.integers(*ends)) for ends in ((20, 90), (2, 5), (2, 5), (2, 4))
    )
    complete, incomplete, labels = random_codes(rng, n_rows, d, n_values, m)
    index = CountIndex.from_codes(incomplete, labels, n_values=[n_values] * d)
    options: Any = {"alpha": [0, 1, 0.1][seed % 3], "prior": [None, "uniform"][seed % 2]}
    odds = label_odds(index, complete[:4], gap=0.005, **options)
    for position in range(4):
        counts = count_worlds(index, complete[position : position + 1], **options)
        assert_bounds(odds, position, list(counts.odds.values()), 0.005)


def test_ties_of_large_tables() -> None:
    """With one feature, equal counts tie however many rows there are; that is found exactly."""
    rows: list[Any] = [("a",)] * 300 + [("b",)] * 100 + [(None,)] * 100
    index = CountIndex.from_rows(rows * 2, ["no"] * 500 + ["yes"] * 500)
    odds = label_odds(index, ("a",), gap=1e-6, alpha=0)
    assert odds.lower[0] == pytest.approx([0.5, 0.5], abs=1e-6)
    counts = count_worlds(index, ("a",), alpha=0)
    tied = counts.ties["no", "yes"] / counts.total
    assert tied > 0.05
    assert_bounds(odds, 0, list(counts.odds.values()), 1e-6)


# Large tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("cells", ["uniform", "observed"])
def test_samples_of_large_tables(cells: Cells) -> None:
    """The shares of 10,000 drawn worlds fall between the bounds, up to the error of sampling."""
    index, complete = large_index()
    points = complete[:25]
    odds = label_odds(index, points, cells=cells, alpha=0)
    assert odds.gap <= 0.01
    estimates = sampled_odds(index, points, 10_000, seed=1, cells=cells, alpha=0)
    # Five standard deviations of a share of 10,000.
    assert (estimates >= odds.lower - 0.025).all()
    assert (estimates <= odds.upper + 0.025).all()
    assert ((odds.lower.sum(axis=1) <= 1) & (odds.upper.sum(axis=1) >= 1)).all()


def test_certain_points_need_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Certain labels have odds of exactly 1, labels that no world predicts exactly 0."""
    index, complete = large_index(n_rows=2_000, d=4, missing=0.02)
    certificates = certify(index, complete[:300], alpha=0)
    assert certificates.certain.any()
    assert not certificates.certain.all()
    odds = label_odds(index, complete[:300], gap=0.05, alpha=0)
    assert (odds.lower[certificates.certain] == certificates.possible[certificates.certain]).all()
    assert (odds.upper[certificates.certain] == certificates.possible[certificates.certain]).all()
    assert not odds.upper[~certificates.possible].any()
    assert (odds.upper[certificates.possible] > 0).all()
    monkeypatch.setattr(bounds_module.OddsBounds, "bounds", None)
    only = label_odds(index, complete[:300][certificates.certain], alpha=0)
    assert (only.lower == only.upper).all()


def test_very_many_missing_cells() -> None:
    """100,000 missing cells per label and feature: nothing overflows and no probability is lost."""
    n = np.array([150_000, 150_000, 150_000])
    table = np.array([[30_000, 20_000, 10_000], [10_000, 20_000, 20_000], [10_000, 10_000, 20_000]])
    known, other = DenseCounts(table), DenseCounts(table + np.array([[9], [0], [0]]))
    template = CountIndex.from_codes(np.arange(3)[:, None].repeat(4, axis=1), list("abc"))
    index = CountIndex(
        template.schema,
        n,
        (known, other, known, known),
        np.full((4, 3), 100_000),
        template.sets,
    )
    points = np.array([[0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 2, 0], [2, 1, 0, 1], [2, 2, 2, 1]])
    odds = label_odds(index, points, gap=0.002, alpha=0)
    assert np.isfinite(odds.lower).all()
    assert odds.gap <= 0.002
    assert odds.lower.sum(axis=1) == pytest.approx(1.0, abs=0.006)
    assert odds.upper.sum(axis=1) == pytest.approx(1.0, abs=0.006)
    estimates = sampled_odds(index, points, 4_000, seed=2, alpha=0)
    assert np.abs(estimates - (odds.lower + odds.upper) / 2).max() < 0.04


def test_wide_tables() -> None:
    """Rounding errors of many features cancel, so a hundred features keep the gap as well."""
    index, complete = large_index(seed=3, n_rows=300, d=100)
    odds = label_odds(index, complete[:5], alpha=1, gap=0.02)
    assert odds.gap <= 0.02
    estimates = sampled_odds(index, complete[:5], 4_000, seed=3, alpha=1)
    assert (estimates >= odds.lower - 0.04).all()
    assert (estimates <= odds.upper + 0.04).all()


# Binomial numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "groups",
    [
        (Open(30, 1, 3),),
        (Open(7, 1, 2), Open(12, 3, 10), Open(1, 2, 3)),
        (Open(2_000, 1, 5),),
        (Open(400, 1, 1_000), Open(300, 999, 1_000)),
        (Open(5, 0, 4), Open(6, 4, 4)),
        tuple(Open(1 + (k % 9 == 0), 977 * k + 1, 65_536) for k in range(67)),
    ],
)
@pytest.mark.parametrize("cut", [1e-3, 1e-9])
def test_count_distributions(groups: tuple[Open, ...], cut: float) -> None:
    """The distance from the exact distribution is at most the error that is told."""
    ways = [1]
    for n, a, b in groups:
        own = [math.comb(n, k) * a**k * (b - a) ** (n - k) for k in range(n + 1)]
        ways = np.convolve(np.array(ways, dtype=object), np.array(own, dtype=object)).tolist()
    exact = [Fraction(n, sum(ways)) for n in ways]
    count = count_of(3, groups, cut)
    found = [0.0] * (len(exact) + 3)
    found[count.first : count.first + len(count.probs)] = count.probs.tolist()
    distance = sum(abs(Fraction(f) - e) for f, e in zip(found[3:], exact, strict=True)) / 2
    assert not any(found[:3])
    assert distance <= count.error <= 1.1 * cut + 1e-11
    assert math.fsum(count.probs) == pytest.approx(1.0, abs=1e-12)
