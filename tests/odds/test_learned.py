"""Chances learned from the row: against plain counting, and odds by them against all worlds."""

from __future__ import annotations

import itertools
import math
import os
import random
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from support import learned_oracle, oracle
from support.counted import index_of, options_of
from support.odds_tables import assert_bounds
from support.strategies import Case, holes, random_case

from nullproof import CountIndex, NullproofError, certify, label_odds
from nullproof.odds import draw, sampled_odds
from nullproof.odds.learned import WHOLE, Learned, in_parts

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
N_TABLES = int(os.environ.get("NULLPROOF_ODDS_TABLES", "300"))
SEED = int(os.environ.get("NULLPROOF_SEED", "20261117"))


def learned_of(case: Case) -> Learned:
    return Learned.of(index_of(case), case.rows, list(case.labels))


def chances_of(case: Case, learned: Learned) -> dict[tuple[int, int], dict[Any, Fraction]]:
    """The chances of every open cell, by value."""
    found = {}
    for j, domain in enumerate(case.domains):
        rows, weights = learned.chances(j)
        codes = learned.index.schema.features[j].codes
        for row, own in zip(rows.tolist(), weights.tolist(), strict=True):
            found[row, j] = {value: Fraction(own[codes[str(value)]], WHOLE) for value in domain}
    return found


@pytest.mark.parametrize("chunk", range(4))
def test_chances_equal_plain_counting(chunk: int) -> None:
    """Chances sum to 1, are 0 for no candidate, and are those of the formula up to rounding."""
    rng = random.Random(f"{SEED}-{chunk}")
    for _ in range(N_TABLES // 4):
        case = random_case(rng)
        learned = learned_of(case)
        found = chances_of(case, learned)
        assert {*holes(case)} <= {*found}
        for (row, j), own in found.items():
            assert sum(own.values()) == 1
            truth = learned_oracle.chances(case.rows, case.labels, case.domains, row, j)
            assert all(not chance for value, chance in own.items() if value not in truth)
            for value, chance in truth.items():
                assert abs(float(own[value]) - chance) <= 1.01 / WHOLE


def weighed_odds(case: Case, point: Any, learned: Learned) -> list[Fraction]:
    """The odds of each label: every world weighs the product of the chances of its cells."""
    chances, names = chances_of(case, learned), oracle.distinct(case.labels)
    cells = [(i, j) for i in range(len(case.rows)) for j in range(len(case.features))]
    options = []
    for i, j in cells:
        values = oracle.candidates(case.rows[i][j], case.domains[j])
        one = {values[0]: Fraction(1)}
        options.append([*(chances.get((i, j), one) if len(values) > 1 else one).items()])
    share = oracle.shares(case.labels, names, case.prior)
    odds = dict.fromkeys(names, Fraction(0))
    d = len(case.features)
    for world in itertools.product(*options):
        weight = math.prod((chance for _, chance in world), start=Fraction(1))
        held = [value for value, _ in world]
        rows = [tuple(held[start : start + d]) for start in range(0, len(held), d)]
        counts = oracle.count(rows, case.labels, names, point)
        supports = {
            name: oracle.support(
                share[name], own, case.labels.count(name), case.domains, case.alpha
            )
            for name, own in zip(names, counts, strict=True)
        }
        winners = oracle.winners(supports)
        for name in winners:
            odds[name] += weight / len(winners)
    return [odds[name] for name in learned.index.labels]


@pytest.mark.parametrize("chunk", range(4))
def test_odds_equal_all_worlds(chunk: int) -> None:
    """The bounds hold what the worlds say, each weighed by the chances of its cells."""
    rng = random.Random(f"odds {SEED}-{chunk}")
    for _ in range(max(1, N_TABLES // 10)):
        case = random_case(rng)
        if (
            math.prod(
                len(oracle.candidates(c, d))
                for row in case.rows
                for c, d in zip(row, case.domains, strict=True)
            )
            > 600
        ):
            continue
        index = index_of(case)
        options = options_of(case, index) | {"own_missing": "any"}
        gap = rng.choice([0.01, 1e-4])
        points = [next(oracle.completions(point, case.domains)) for point in case.points]
        odds = label_odds(
            index,
            points,
            cells="model",
            table=case.rows,
            labels=list(case.labels),
            gap=gap,
            **options,
        )
        learned = learned_of(case)
        for place, point in enumerate(points):
            assert_bounds(odds, place, weighed_odds(case, point, learned), gap)


def correlated(n: int = 400, seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A table whose second column repeats the first, with holes there; and without."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    first = (rng.random(n) < 0.3 + 0.4 * label).astype(int)
    truth = pl.DataFrame({"a": first, "b": first, "c": rng.integers(0, 3, n), "y": label})
    held = pl.Series(rng.random(n) > 0.3)
    return truth.with_columns(b=pl.when(held).then(pl.col("b"))), truth


def test_a_copied_column_is_seen_through() -> None:
    """Where another column tells the value, its chance is high; what is certain stays so."""
    table, truth = correlated()
    index = CountIndex.from_table(table, "y", binning="none")
    rows, weights = Learned.of(index, table).chances(index.features.index("b"))
    right = weights[np.arange(len(rows)), truth["b"].to_numpy()[rows]] / WHOLE
    assert right.mean() > 0.9
    points = table.drop("y")[:40]
    odds = label_odds(index, points, cells="model", table=table)
    certain = certify(index, points).certain
    assert (odds.lower.max(axis=1)[certain] == 1).all()
    assert (odds.upper - odds.lower).max() <= 0.01


def test_drawn_worlds_follow_the_chances() -> None:
    """Drawn tables hold each value as often as its chance; odds of drawn worlds are in the bounds."""
    table, _ = correlated(60)
    index = CountIndex.from_table(table, "y", binning="none")
    learned, j = Learned.of(index, table), index.features.index("b")
    rows, weights = learned.chances(j)
    n = 300
    ones = np.zeros(len(rows))
    for seed in range(n):
        filled = draw(index, table, cells="model", seed=seed)
        assert filled.filter(table["b"].is_not_null()).equals(
            table.filter(table["b"].is_not_null())
        )
        ones += filled["b"].to_numpy()[rows]
    chance = weights[:, index.schema.features[j].codes["1"]] / WHOLE
    assert np.abs(ones / n - chance).max() < 5 * 0.5 / math.sqrt(n)
    points = pl.DataFrame({"a": [0, 1], "b": [1, 0], "c": [1, 2]})
    odds = label_odds(index, points, cells=learned)
    share = sampled_odds(index, points, 2000, cells=learned)
    assert (share > odds.lower - 0.06).all()
    assert (share < odds.upper + 0.06).all()


def test_answers_are_known_cells() -> None:
    """After answers, the chances are those of the table with them."""
    table, truth = correlated(80)
    index = CountIndex.from_table(table, "y", binning="none")
    learned, j = Learned.of(index, table), index.features.index("b")
    rows = learned.open_rows(j)[:7]
    filled = table.with_columns(
        b=pl.Series([truth["b"][i] if i in rows else v for i, v in enumerate(table["b"].to_list())])
    )
    after = CountIndex.from_table(filled, "y", like=index)
    found = learned.after(after, {j: (rows, truth["b"].to_numpy()[rows])})
    for k in range(len(index.features)):
        both = zip(found.chances(k), Learned.of(after, filled).chances(k), strict=True)
        assert all(np.array_equal(one, other) for one, other in both)


def test_parts_are_whole() -> None:
    """Chances in 65536ths sum to all of them, whatever the scores."""
    rng = np.random.default_rng(1)
    scores = rng.normal(0, 40, (200, 7))
    scores[rng.random(scores.shape) < 0.3] = -np.inf
    scores[:, 0] = 0.0
    assert (in_parts(scores).sum(axis=1) == WHOLE).all()
    assert (in_parts(np.zeros((1, 3))) == [[21846, 21845, 21845]]).all()


def test_what_is_refused() -> None:
    """The model needs the table, and the one that was counted."""
    table, truth = correlated(50)
    index = CountIndex.from_table(table, "y", binning="none")
    points = table.drop("y")[:2]
    with pytest.raises(NullproofError, match="which learns from the rows of the table"):
        label_odds(index, points, cells="model")
    with pytest.raises(NullproofError, match=r"column 'b' of the table has 0 missing cells"):
        label_odds(index, points, cells="model", table=truth)
