"""label_odds and count_worlds: the truth lies between the bounds, which keep their gap."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from support import odds_oracle, oracle
from support.amounts import SEED, n_tables, seeded
from support.bias_oracle import Judge
from support.counted import index_of, options_of
from support.large_counts import index_from_counts, judge_of_codes
from support.odds_oracle import exact_odds, shared_out, wins_of, worlds_by_chance
from support.refusing import refuses
from support.strategies import Case, random_case, random_weights

from nullproof import CountIndex, NullproofError, certify, label_odds
from nullproof.odds import count_worlds

# Random points hold unseen values on purpose, and random weights are 0 now and then.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{said}:nullproof.NullproofWarning")
    for said in ("points hold values", "Weights", "columns with missing cells")
]
N_TABLES = n_tables(300)
N_CHUNKS = 6
GAPS = (0.01, 0.1, 0.001, 1e-6)
Cells = Literal["observed", "uniform"]
CELLS: tuple[Cells, ...] = ("observed", "uniform")
ROUNDING = 1e-11  # of the oracle's doubles
ROWS: list[Any] = [("a", None), ("a", "x"), ("b", "y"), ("b", "z"), (None, "x")]
LABELS = ["yes", "yes", "no", "no", "no"]
Weights = tuple[int, ...] | None


def assert_bounds(
    odds: Any, position: int, truth: Sequence[Any], gap: float, rounding: float = 0.0
) -> None:
    """The truth lies between the bounds, which are at most ``gap`` apart."""
    for low, high, true in zip(odds.lower[position], odds.upper[position], truth, strict=True):
        assert 0 <= low <= high <= 1
        assert low <= true + rounding, (low, true, high)
        assert true - rounding <= high, (low, true, high)
        assert high - low <= gap


def assert_same(odds: Any, labels: Sequence[Any]) -> None:
    """The share of the worlds with the same label is that of the predicted one, and no other's."""
    for place, predicted in enumerate(odds.predicted):
        low, high = odds.same[place]
        if predicted is None:
            assert np.isnan(low)
            assert not odds.sure[place]
        else:
            assert (low, high) == odds[place][predicted]
            assert odds.sure[place] == (low >= 0.99)
            assert predicted in labels


# Small tables, world by world ---------------------------------------------------------------------


def plain_case(rng: random.Random) -> Case:
    """Draw a case, every other time with weights; what may hold a few values holds one of them."""
    case = random_case(rng)
    rows, points = (
        tuple(
            tuple(min(cell, key=str) if isinstance(cell, frozenset) else cell for cell in row)
            for row in some
        )
        for some in (case.rows, case.points)
    )
    weights = random_weights(rng, len(case.features)) if rng.random() < 0.5 else None
    declared = dict(zip(case.features, case.domains, strict=True))
    return replace(case, rows=rows, points=points, weights=weights, declared=declared)


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_random_tables(chunk: int) -> None:
    """Exact counts equal the enumeration; bounds contain the truth and are ``gap`` apart at most."""
    rng = seeded(chunk)
    for _ in range(math.ceil(N_TABLES / N_CHUNKS)):
        assert_equals_oracle(plain_case(rng), rng.choice(CELLS), rng.choice(GAPS))


def assert_equals_oracle(case: Case, cells: Cells, gap: float) -> None:
    """Compare exact counts and bounds of every point with the enumeration of all worlds."""
    index = index_of(case)
    options: Any = options_of(case, index)
    points = [next(oracle.completions(point, case.domains)) for point in case.points]
    odds = label_odds(index, points, cells=cells, gap=gap, **options)
    possible = certify(index, points, **options).possible
    every = worlds_by_chance(case, cells)
    assert odds.labels == index.labels
    for position, point in enumerate(points):
        wins = wins_of(case, point, every)
        truth, own = shared_out(wins, index.labels), possible[position]
        assert_bounds(odds, position, truth, gap)
        assert not odds.upper[position, ~own].any()
        if own.sum() == 1:
            assert odds.lower[position, own] == 1
        if cells == "uniform":
            assert (odds.upper[position, own] > 0).all()
            assert_exact_counts(index, point, wins, len(every), options)


def assert_exact_counts(
    index: CountIndex, point: Any, wins: odds_oracle.Wins, n_worlds: int, options: Any
) -> None:
    """The worlds that each label wins, and each tie, are counted one by one."""
    counts = count_worlds(index, point, **options)
    assert counts.total == n_worlds
    assert [*counts.wins] == [*index.labels]
    alone = {frozenset([label]): n for label, n in counts.wins.items() if n}
    tied = {frozenset(labels): n for labels, n in counts.ties.items()}
    assert {**alone, **tied} == {who: p * n_worlds for who, p in wins.items()}
    assert all(type(n) is int for n in (counts.total, *counts.wins.values(), *tied.values()))
    assert list(counts.odds.values()) == shared_out(wins, index.labels)


@pytest.mark.parametrize("cells", CELLS)
def test_the_oracle_of_counts_agrees_with_all_worlds(cells: Cells) -> None:
    """Odds from products of independent counts are those from going through the worlds."""
    rng = random.Random(SEED)
    for _ in range(60):
        case = plain_case(rng)
        names = oracle.distinct(case.labels)
        judge = case.judge()
        assert judge.names == names
        every = worlds_by_chance(case, cells)
        for point in case.points:
            filled = next(oracle.completions(point, case.domains))
            expected = shared_out(wins_of(case, filled, every), names)
            assert exact_odds(judge, filled, cells) == pytest.approx(list(map(float, expected)))


def test_own_missing_cells_are_skipped() -> None:
    """A point with missing cells has the odds of a table without those columns."""
    rng = random.Random(SEED)
    for _ in range(60):
        case = plain_case(rng)
        index, judge = index_of(case), case.judge()
        points = [
            tuple(
                None if rng.random() < 0.4 or isinstance(cell, frozenset) else cell
                for cell in point
            )
            for point in case.points
        ]
        odds = label_odds(index, points, gap=0.001, **options_of(case, index))
        for place, point in enumerate(points):
            truth = dict(zip(judge.names, exact_odds(judge, point, "observed"), strict=True))
            assert_bounds(odds, place, [truth[x] for x in index.labels], 0.001, ROUNDING)


# Tables of some hundreds or thousands of rows -----------------------------------------------------


def random_codes(
    rng: np.random.Generator, n_rows: int, d: int, n_values: int, m: int, missing: float
) -> tuple[Any, Any, Any]:
    """Complete codes, the same with missing cells, and labels that have to do with them."""
    labels = rng.integers(0, m, n_rows)
    noise = rng.integers(0, n_values, (n_rows, d))
    leaning = rng.random((n_rows, d)) < rng.choice((0.1, 0.3))
    complete = np.where(leaning, labels[:, None] % n_values, noise)
    # Labels differ in how much they lack.
    share = missing * (0.5 + rng.random((m, d)))[labels]
    return complete, np.where(rng.random((n_rows, d)) < share, -1, complete), labels


def judged(
    seed: int,
    shape: tuple[int, int, int, int, float],
    alpha: Any,
    prior: Any,
    weights: Weights = None,
) -> tuple[CountIndex, Judge, list[tuple[int, ...]]]:
    """An index of random codes, the oracle of the same table, and points."""
    rng = np.random.default_rng(seed)
    n_rows, d, n_values, m, missing = shape
    complete, codes, labels = random_codes(rng, n_rows, d, n_values, m, missing)
    named: Any = "equal" if weights is None else {f"x{j}": w / 8 for j, w in enumerate(weights)}
    index = CountIndex.from_codes(codes, labels, n_values=[n_values] * d, weights=named)
    judge = judge_of_codes(codes, labels, [n_values] * d, alpha=alpha, prior=prior, weights=weights)
    points = sorted({tuple(row) for row in complete[:40].tolist()})
    rng.shuffle(points)
    return index, judge, points


# rows, features, values, labels, share of missing cells
SHAPES = [
    (60, 3, 2, 2, 0.2),
    (90, 3, 3, 3, 0.15),
    (40, 5, 2, 2, 0.1),
    (400, 2, 3, 2, 0.3),
    (400, 2, 4, 5, 0.2),
    (3000, 2, 3, 3, 0.05),
    (2000, 1, 3, 2, 0.4),
    (1500, 1, 2, 12, 0.3),
    (240, 2, 2, 25, 0.3),
    (9000, 2, 2, 2, 0.03),
    (80, 4, 4, 3, 0.35),
    (50, 4, 6, 4, 0.35),
    (70, 4, 3, 2, 0.3),
]
# Few rows without smoothing, or with very little, have supports that are zero or nearly so.
SMOOTHED: list[tuple[Any, Any, Weights]] = [
    (0, None, None),
    (1, "uniform", (8, 5, 3, 16, 1)),
    (Fraction(1, 10**6), None, None),
]


@pytest.mark.parametrize("cells", CELLS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_tables_whose_products_can_be_listed(
    shape: tuple[int, int, int, int, float], cells: Cells
) -> None:
    """Bounds contain the odds from all products of counts and keep the gap, whichever it is."""
    for seed, (alpha, prior, weights) in enumerate(SMOOTHED):
        index, judge, points = judged(seed, shape, alpha, prior, weights and weights[: shape[1]])
        points = points[: 5 if shape[1] < 4 else 2]
        truths = [exact_odds(judge, point, cells) for point in points]
        options: Any = {"alpha": alpha, "prior": prior, "cells": cells}
        for gap in (0.3, 0.01, 0.0005):
            odds = label_odds(index, np.array(points), gap=gap, **options)
            assert odds.gap == (odds.upper - odds.lower).max()
            for place, truth in enumerate(truths):
                assert_bounds(odds, place, truth, gap, ROUNDING)
            assert_same(odds, index.labels)


def test_priors_that_bring_labels_level() -> None:
    """Where a prior makes two labels about equally likely, or one nearly sure, bounds hold as well."""
    rng = random.Random(SEED)
    for seed in range(12):
        shape = SHAPES[seed % len(SHAPES)]
        index, judge, points = judged(seed, shape, 1, None)
        point = points[0]
        means = {}
        for label in judge.names:
            product = Fraction(1)
            for j, value in enumerate(point):
                low, probs = odds_oracle.count_chances(judge, label, j, value, "uniform")
                mean = low + float((np.arange(len(probs)) * probs).sum())
                product *= Fraction(mean + 1) / (judge.n_rows[label] + len(judge.domains[j]))
            means[label] = product
        prior = [1 / means[label] * Fraction(rng.randint(95, 105), 100) for label in judge.names]
        weights = dict(zip(judge.names, prior, strict=True))
        level = Judge(
            judge.n_rows,
            judge.known,
            {group: n for group, (n, _) in judge.groups.items()},
            judge.domains,
            alpha=1,
            prior=weights,
        )
        truth = exact_odds(level, point, "uniform")
        for gap in (0.05, 0.002):
            odds = label_odds(index, np.array([point]), gap=gap, prior=prior, cells="uniform")
            assert_bounds(odds, 0, truth, gap, ROUNDING)


def test_ties_of_large_tables() -> None:
    """With one feature, equal counts tie however many rows there are; that is found exactly."""
    rows: list[Any] = [("a",)] * 300 + [("b",)] * 100 + [(None,)] * 100
    index = CountIndex.from_rows(rows * 2, ["no"] * 500 + ["yes"] * 500)
    odds = label_odds(index, ("a",), gap=1e-6, alpha=0, cells="uniform")
    assert odds.lower[0] == pytest.approx([0.5, 0.5], abs=1e-6)
    counts = count_worlds(index, ("a",), alpha=0)
    assert counts.ties["no", "yes"] / counts.total > 0.05
    assert_bounds(odds, 0, list(counts.odds.values()), 1e-6)


def test_exact_counts_of_larger_tables() -> None:
    """The share of the worlds that each label wins, as whole numbers, is what the oracle gives."""
    for seed, shape in enumerate(SHAPES[:4]):
        index, judge, points = judged(seed, shape, 1, None)
        for point in points[:3]:
            counts = count_worlds(index, [point])
            assert [float(one) for one in counts.odds.values()] == pytest.approx(
                exact_odds(judge, point)
            )
            assert counts.total == math.prod(
                len(options) ** n for (_, _, options), (n, _) in judge.groups.items()
            )


# Large tables -------------------------------------------------------------------------------------

LARGE = [
    (13_000, 11, 5, 4, 0.2),
    (300, 100, 3, 3, 0.2),
    (4_000, 6, 4, 2, 0.3),
    (900, 8, 2, 30, 0.2),
]


@pytest.mark.parametrize(("cells", "is_weighted"), [*zip(CELLS, (True, False), strict=True)])
@pytest.mark.parametrize("shape", LARGE, ids=str)
def test_drawn_worlds_of_large_tables(
    shape: tuple[int, int, int, int, float], cells: Cells, is_weighted: bool
) -> None:
    """The shares of drawn worlds fall between the bounds, up to the error of sampling."""
    weights = random_weights(random.Random(SEED), shape[1]) if is_weighted else None
    index, judge, points = judged(7, shape, 1, None, weights)
    points = points[:6]
    odds, narrow = (
        label_odds(index, np.array(points), cells=cells, gap=gap) for gap in (0.01, 0.002)
    )
    assert odds.gap <= 0.01
    assert narrow.gap <= 0.002
    # Both contain the truth, so they meet.
    assert (narrow.lower <= odds.upper).all()
    assert (odds.lower <= narrow.upper).all()
    assert ((odds.lower.sum(axis=1) <= 1) & (odds.upper.sum(axis=1) >= 1)).all()
    n, rng = 20_000, np.random.default_rng(SEED)
    for place, point in enumerate(points):
        shares = odds_oracle.drawn_odds(judge, point, rng, n, cells)
        # Five standard deviations of a share of so many.
        error = 5 * np.sqrt((shares * (1 - shares) + 1e-4) / n)
        assert (shares >= narrow.lower[place] - error).all()
        assert (shares <= narrow.upper[place] + error).all()


def test_very_many_missing_cells() -> None:
    """100,000 missing cells per label and feature: nothing overflows and no probability is lost."""
    counts = np.array(
        [[30_000, 20_000, 10_000], [10_000, 20_000, 20_000], [10_000, 10_000, 20_000]]
    )
    known = [counts, counts + np.array([[9], [-9], [0]]), counts, counts]
    index = index_from_counts([150_000] * 3, known, [[100_000] * 3] * 4)
    points = [tuple(point) for point in ("0000", "1120", "2221")]
    odds = label_odds(index, points, gap=0.002, alpha=0)
    assert odds.gap <= 0.002
    assert odds.lower.sum(axis=1) == pytest.approx(1.0, abs=0.006)
    closer = label_odds(index, points, gap=0.0005, alpha=0)
    assert (closer.lower <= odds.upper).all()
    assert (odds.lower <= closer.upper).all()


# Answers and questions ----------------------------------------------------------------------------


def test_shown_odds() -> None:
    """A frame and JSON have the same numbers as the result."""
    rows = [("a", None), ("a", "x"), ("b", "y"), ("b", "x")]
    index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"], features=["f", "g"])
    points = pd.DataFrame({"f": ["a", "a"] * 12, "g": ["x", "y"] * 12})
    key = [f"k{n}" for n in range(24)]
    result = label_odds(index, points, alpha=0, key=key, cells="uniform")
    assert [*result[1]] == ["no", "yes"]
    assert result[1]["no"] == pytest.approx((0.25, 0.25))
    assert result[1]["yes"] == pytest.approx((0.75, 0.75))
    assert result.predicted.tolist() == ["yes", None] * 12
    assert result.sure.tolist() == [True, False] * 12
    assert "100 % of the worlds give the same label" in repr(result)
    assert "labels tie" in repr(result)
    frame = result.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame["key"].tolist()[:2] == ["k0", "k1"]
    assert frame["lower no"].tolist()[:2] == pytest.approx([0.0, 0.25])
    document = json.loads(json.dumps(result.document(), allow_nan=False))
    for side in ("lower", "upper"):
        assert document["points"][1][side] == pytest.approx({"no": 0.25, "yes": 0.75})


INDEX = CountIndex.from_rows(ROWS, LABELS)
SETS = CountIndex.from_rows([*ROWS, ("a", {"x", "y"})], [*LABELS, "no"])
BOTH: list[tuple[Any, ...]] = [
    (INDEX, ("a", {"x", "y"}), {}, "several candidates"),
    (INDEX, ("a", "x"), {"own_missing": "any"}, "'any'"),
    (SETS, ("a", "x"), {}, "'x1'"),
]

test_wrong_questions_are_refused = refuses(
    "What came, what was needed, what to do.",
    lambda ask, index, point, options: ask(index, point, **options),
    *(
        (label_odds, INDEX, ("a", "y"), {"gap": gap}, "gap")
        for gap in (0.0, 9e-7, 1.001, math.nan, "wide")
    ),
    (label_odds, INDEX, ("a", "y"), {"cells": "even"}, "uniform"),
    (count_worlds, INDEX, [("a", "y"), ("a", "x")], {}, "got 2"),
    *((ask, *case) for ask in (label_odds, count_worlds) for case in BOTH),
)


def test_more_worlds_than_anybody_counts_are_refused() -> None:
    """count_worlds says where it ends: too many supports or cells."""
    codes = np.full((400, 3), -1)
    codes[:2] = [[0, 1, 0], [1, 0, 1]]
    many = CountIndex.from_codes(codes, [0, 1] * 200, n_values=[2, 2, 2])
    with pytest.raises(NullproofError, match="label_odds"):
        count_worlds(many, [(0, 0, 0)])
    # Where one label is certain, all worlds are its own, however many supports it has.
    sure = count_worlds(many, [(0, 0, 0)], prior=[1, 10**9])
    assert (sure.total, sure.wins, sure.ties) == (2**1194, {0: 0, 1: 2**1194}, {})
    large = index_from_counts([10**12] * 2, [[[1, 1], [1, 1]]], [[10**12 - 2] * 2])
    with pytest.raises(NullproofError, match="x0"):
        count_worlds(large, ("0",))
    few = CountIndex.from_codes(np.array([[0], [-1]] * 4), np.repeat(np.arange(4), 2), n_values=[2])
    assert count_worlds(few, [(0,)]).ties[0, 1, 2, 3] == 2
