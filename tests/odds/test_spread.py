"""Chernoff bounds of many points at once, and what may be kept when a table changes."""

from __future__ import annotations

import math
import os
import random
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.cleaning_oracle import (
    Grid,
    index_of,
    is_complete,
    options_of,
    small_case,
)

from nullproof import CountIndex
from nullproof.model import Model
from nullproof.odds.filling import Count, Filling, distance
from nullproof.odds.narrowing import Ways
from nullproof.odds.spread import Spread, Spreads, _log_finite
from nullproof.odds.sureness import Sureness
from nullproof.odds.terms import SLOPES, Term, Terms, reaches
from nullproof.verdicts import verdicts

pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
N_TABLES = int(os.environ.get("NULLPROOF_ODDS_TABLES", "400")) // 4
_EPS = float(np.finfo(np.float64).eps)
SEED = int(os.environ.get("NULLPROOF_SEED", "20240604"))


def test_first_bounds() -> None:
    """Chernoff bounds of all points at once contain the odds that are counted world by world."""
    rng = random.Random(SEED)
    n_told = 0
    for _ in range(max(N_TABLES // 2, 30)):
        case = small_case(rng)
        index = index_of(case)
        options = options_of(case, index)
        model = Model(index, options["alpha"], options["prior"])
        points = model.points(list(case.points), "skip")
        found = verdicts(model, points)
        whole = np.flatnonzero(points.complete)
        ways = Ways.of(model, Filling(index), 0.01)
        spread = ways.spreads.of(points.codes[:, whole], found.possible[whole], 1e-4)
        for place, lower, upper in zip(whole.tolist(), *spread.bounds(), strict=True):
            assert is_complete(case.points[place], "skip")
            odds = Grid(case, case.points[place], "skip").odds("uniform")
            for label, low, high in zip(index.labels, lower, upper, strict=True):
                assert low - 1e-9 <= odds[label] <= high + 1e-9, case
            n_told += int((upper < 0.5).any())
    assert n_told


@pytest.mark.parametrize("cells", ["uniform", "observed"])
def test_a_rule_that_goes_on(cells: Any) -> None:
    """After each answer a rule that keeps what it knows says what a new one says."""
    rng = np.random.default_rng(SEED)
    labels = rng.integers(0, 3, 300)
    truth = np.where(rng.random((300, 5)) < 0.35, labels[:, None], rng.integers(0, 4, (300, 5)))
    rows = np.where(rng.random(truth.shape) < 0.25, -1, truth)
    model = Model(CountIndex.from_codes(rows, labels))
    points = model.points(truth[:30], "skip")
    rule = Sureness(model, cells, 0.95)
    rule.labels(points, verdicts(model, points))
    n_kept = 0
    open_cells = [(i, j) for i, j in np.argwhere(rows < 0).tolist()]
    for i, j in [open_cells[k] for k in rng.permutation(len(open_cells))[:12]]:
        name = model.index.features[j]
        value, label = int(truth[i, j]), model.index.labels[int(labels[i])]
        model = model.on(model.index.fill(name, value, label, n_cells=1))
        rule = rule.after(model)
        n_kept += len(rule._known)
        found = verdicts(model, points)
        again = Sureness(model, cells, 0.95).labels(points, found)
        assert rule.labels(points, found).tolist() == again.tolist()
    assert n_kept


def test_distance() -> None:
    """The distance of two counts is half the sum of the differences of their chances, and errors."""
    one = Count(2, np.array([0.5, 0.5]), 0.0)
    assert distance(one, one) == 0
    assert distance(one, Count(3, np.array([0.5, 0.5]), 0.0)) == pytest.approx(0.5)
    assert distance(one, Count(7, np.ones(1), 0.01)) == pytest.approx(1.01)


# What is summed up --------------------------------------------------------------------------------


def some_spreads(alpha: Any, prior: Any = None) -> tuple[Model, Terms, Spreads]:
    """Three labels, the last one with one row; many holes, and values that a label surely lacks."""
    rows: list[tuple[Any, ...]] = [
        ("a", "u"), ("a", None), (None, "v"), (None, None), ("b", "u"), (None, "w"),
        ("a", "u"), ("a", "u"), ("b", "v"), ("b", None),
    ]  # fmt: skip
    labels = ["A"] * 6 + ["B"] * 4
    index = CountIndex.from_rows([*rows, ("b", "w")], [*labels, "C"])
    model = Model(index, alpha, prior)
    terms = Terms(model, Filling(index), 1e-3)
    return model, terms, Spreads(model, terms)


EVERY = np.array([(a, u) for a in range(3) for u in range(4)], dtype=np.int32).T


@pytest.mark.parametrize("alpha", [0, 1, Fraction(1, 10**400)])
def test_sums_of_terms(alpha: Any) -> None:
    """Each number of a spread is what its terms, which are independent, add up to."""
    model, terms, spreads = some_spreads(alpha, [Fraction(1, 10**100), 2, 3])
    possible = np.ones((EVERY.shape[1], 3), dtype=bool)
    spread = spreads.of(EVERY, possible, 1e-4)
    constants, magnitudes = terms.constants
    for place, codes in enumerate(EVERY.T.tolist()):
        for i in range(3):
            own = [terms.of(j, code)[i] for j, code in enumerate(codes)]
            assert spread.error[place, i] == pytest.approx(sum(t.count.error for t in own))
            assert spread.alive[place, i] == all(t.zero < 1 for t in own)
            lengths = [len(t.count.probs) for t in own]
            assert spread.n_products[place, i] == pytest.approx(math.log2(math.prod(lengths)))
            assert spread.n_open[place, i] == sum(len(t.logs) > 1 for t in own)
            if not spread.alive[place, i]:
                assert spread.zero[place, i] == 1
                assert spread.mean[place, i] == -math.inf
                continue
            zero = 1 - math.prod(1 - t.zero for t in own)
            assert spread.zero[place, i] == pytest.approx(zero, abs=1e-12)
            least = constants[i] + sum(t.logs[0] for t in own)
            assert spread.base[place, i] == pytest.approx(least)
            shares = [t.probs / t.probs.sum() for t in own]
            means = [float(t.logs @ p) for t, p in zip(own, shares, strict=True)]
            assert spread.mean[place, i] == pytest.approx(constants[i] + sum(means))
            apart = [t.logs - mean for t, mean in zip(own, means, strict=True)]
            variance = sum(float(x**2 @ p) for x, p in zip(apart, shares, strict=True))
            assert spread.variance[place, i] == pytest.approx(variance, abs=1e-9)
            for k, slope in enumerate([*SLOPES, *-SLOPES]):
                tops = [float((slope * x).max()) for x in apart]
                height = sum(
                    top + math.log(float(np.exp(slope * x - top) @ p))
                    for x, p, top in zip(apart, shares, tops, strict=True)
                )
                assert spread.curves[place, i, k] == pytest.approx(height, rel=1e-6, abs=1e-6)
            rounding = model.slack(magnitudes[i] + sum(t.magnitude for t in own))
            assert rounding <= spread.slack[place, i] <= 6 * rounding
    above, below = reaches(spread.curves, SLOPES, 1e-4)
    assert (spread.above.tolist(), spread.below.tolist()) == (above.tolist(), below.tolist())
    assert spread.alive.any()
    assert spread.alive.all() == (alpha > 0)


def test_labels_without_a_chance() -> None:
    """A label that is not possible, or has no prior, is not alive; only the first one has no error."""
    possible = np.ones((EVERY.shape[1], 3), dtype=bool)
    possible[::2, 0] = False
    spread = some_spreads(1, [1, 0, 1])[2].of(EVERY, possible, 1e-4)
    assert (spread.alive == possible & [True, False, True]).all()
    assert not spread.error[::2, 0].any()
    assert (spread.error[1::2, 0] > 0).any()
    assert (spread.error[:, 1] > 0).any()
    assert (spread.mean[~spread.alive] == -math.inf).all()


def test_no_points() -> None:
    """Without points there is nothing to sum up."""
    spread = some_spreads(1)[2].of(np.zeros((2, 0), dtype=np.int32), np.ones((0, 3), bool), 0.1)
    assert spread.curves.shape == (0, 3, 2 * len(SLOPES))
    assert spread.bounds()[0].shape == (0, 3)


def test_spreads_of_a_changed_table() -> None:
    """What did not change is kept, the rest is made anew."""
    model, terms, spreads = some_spreads(1)
    kept, gone = spreads._of_value(0, 1), spreads._of_value(1, 0)
    assert spreads._of_value(0, 1) is kept
    other = spreads.after(model, terms, {1})
    assert other._of_value(0, 1) is kept
    assert other._of_value(1, 0) is not gone


def test_terms_that_are_never_finite() -> None:
    """However their probabilities are rounded."""
    one, almost = Count(0, np.ones(1), 0.0), 1 - 2.0**-53
    assert _log_finite(Term(one, np.zeros(0), np.zeros(0), almost, 0.0)) == -math.inf
    assert _log_finite(Term(one, np.zeros(0), np.zeros(0), 1.0, 0.0)) == -math.inf
    assert _log_finite(Term(one, np.zeros(1), np.zeros(1), 1.0, 0.0)) == -math.inf
    assert _log_finite(Term(one, np.zeros(1), np.ones(1), 0.75, 0.0)) == pytest.approx(
        math.log(0.25)
    )


# Bounds of made-up spreads ------------------------------------------------------------------------


def made_up(mean: Any, **others: Any) -> Spread:
    """A spread of normal distributions of variance 1, all alive, and nothing off, but for what is given."""
    means = np.array(mean, dtype=float)
    nothing, every = np.zeros(means.shape), np.ones(means.shape, dtype=bool)
    plain = ("base", "above", "below", "zero", "error", "slack", "n_open", "n_products")
    curves = np.broadcast_to(np.tile(SLOPES**2 / 2, 2), (*means.shape, 2 * len(SLOPES)))
    spread = Spread(
        possible=every, alive=every, mean=means, variance=nothing + 1, curves=curves, chance=1e-9,
        **dict.fromkeys(plain, nothing),
    )  # fmt: skip
    arrays: dict[str, Any] = {name: np.array(own) for name, own in others.items()}
    return replace(spread, **arrays)


def test_how_rarely_a_label_reaches_the_likeliest() -> None:
    """Chernoff: a lead of 4 of two normal distributions is lost with at most e^-4, times a little."""
    cases = [([9.0, 5.0, 5.0], [0.0, 0.0, 0.5]), ([9.0, 3.0, 3.5], [0.75, 1.25, 0.25])]
    for mean, slack in cases:
        lower, upper = made_up([mean] * 2, slack=[slack] * 2).bounds()
        assert not lower.any()
        assert upper[:, 0].tolist() == [1.0, 1.0]
        lead = mean[0] - mean[2] - slack[0] - slack[2]
        wider = min(float(s * s - s * lead) for s in SLOPES)
        for k, height in ((1, -4.0), (2, wider)):
            assert math.exp(height) < upper[0, k] < 1.02 * math.exp(height)
            assert upper[1, k] == upper[0, k]
    # Each goes its own way: up by the first half of the exponents, the likeliest down by the second.
    skewed = np.concatenate([SLOPES**2 / 2, SLOPES**2])
    lower, upper = made_up([[6.0, 0.0]], curves=np.stack([skewed, skewed])[None]).bounds()
    lost = math.exp(min(float(1.5 * s * s - 6 * s) for s in SLOPES))
    assert lost < upper[0, 1] < 1.02 * lost
    # No lead at all, or none beyond roundings.
    assert made_up([[1.0, 1.0]]).bounds()[1].tolist() == [[1.0, 1.0]]
    assert made_up([[9.0, 1.0]], slack=[[4.0, 4.0]]).bounds()[1].tolist() == [[1.0, 1.0]]


def test_what_is_added_to_first_bounds() -> None:
    """The likeliest may be zero, tails were cut off, and sums are rounded."""
    far = [[900.0, 0.0, 0.0]]
    upper = made_up(far).bounds()[1]
    assert (upper[:, 1:] > 2 * _EPS).all()
    assert (upper[:, 1:] < 20 * _EPS).all()
    upper = made_up(far, zero=[[0.25, 0.5, 0.0]]).bounds()[1]
    assert upper[0, 1:] == pytest.approx([0.25, 0.25])
    upper = made_up(far, error=[[0.01, 0.02, 0.0]]).bounds()[1]
    assert 0.03 < upper[0, 1] < 0.04
    assert 0.01 < upper[0, 2] < 0.014


def test_first_bounds_of_labels_that_are_surely_zero() -> None:
    """Such a label wins only where all others are zero; alone with its like it has its share."""
    alive = [[True, True, False], [True, False, False]]
    mean = [[5.0, 5.0, -math.inf], [5.0, -math.inf, -math.inf]]
    error = [[0.0, 0.01, 0.02], [0.01, 0.0, 0.0]]
    zero = [[0.25, 0.125, 1.0], [0.5, 1.0, 1.0]]
    spread = made_up(mean, alive=alive, zero=zero, error=error)
    lower, upper = spread.bounds()
    assert not lower.any()
    assert 0.125 + 0.03 < upper[0, 2] < 0.125 + 0.045
    assert 0.5 + 0.01 < upper[1, 1] == upper[1, 2] < 0.5 + 0.015
    possible = [[True, False, True], [True, True, True], [True, True, False]]
    error = [[0.1, 0.0, 0.1], [0.0, 0.0, 0.0], [0.9, 0.0, 0.0]]
    spread = made_up(
        [[-math.inf] * 3] * 3, alive=np.zeros((3, 3), bool), possible=possible, error=error
    )
    lower, upper = spread.bounds()
    assert (lower[:, 0] == [lower[0, 2], lower[1, 1], 0.0]).all()
    assert 0.5 - 0.3 < lower[0, 0] < 0.5 - 0.2
    assert 0.5 + 0.2 < upper[0, 0] < 0.5 + 0.3
    assert (lower[1] < 1 / 3).all()
    assert (upper[1] > 1 / 3).all()
    assert lower[1] == pytest.approx(1 / 3)
    assert upper[1] == pytest.approx(1 / 3)
    assert upper[2].tolist() == [1.0, 1.0, 0.0]
    assert (lower[0, 1], upper[0, 1], lower[2, 2]) == (0.0, 0.0, 0.0)


def test_errors_of_some_labels() -> None:
    """Tails of the near labels and of those that are surely zero, with a little room, and never nothing."""
    near = np.array([[True, False, False]] * 2)
    spread = made_up(
        np.zeros((2, 3)), alive=[[True, True, False]] * 2, error=[[0, 9, 0], [1, 2, 4]]
    )
    none, some = spread.errors(near)
    assert 2 * _EPS < none < 20 * _EPS
    assert 5.1 < some < 6.5


def test_what_is_rare() -> None:
    """The same part of the gap however many labels share it, each with each."""
    for m in (2, 3, 7):
        spread = replace(made_up(np.zeros((4, m))), chance=0.01 * 0.5 / m**2)
        assert spread.rare == pytest.approx(0.5 / 400)


def test_some_of_the_points() -> None:
    """All numbers of a spread are taken along, and the chance stays."""
    spread = made_up([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    some = spread.take(np.array([2, 0]))
    assert some.mean.tolist() == [[5.0, 6.0], [1.0, 2.0]]
    assert some.chance == spread.chance
    assert {len(getattr(some, f.name)) for f in fields(some) if f.name != "chance"} == {2}
