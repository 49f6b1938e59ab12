"""Bounds of three and more labels, part by part: each against the sum or the law that it stands for."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.spreads import spread_of

import nullproof.odds.crowds as crowds_module
from nullproof.odds.crowds import Crowds, Ends, _ascending, _below, _wins, first_levels
from nullproof.odds.spread import Spread
from nullproof.odds.waves import MAX_WAVES, STEP, Products, weights

_EPS = float(np.finfo(np.float64).eps)


def made_up(mean: Any, chance: float = 0.0, **others: Any) -> Spread:
    """A spread of labels that are all alive, with nothing but what is given."""
    means = np.array(mean, dtype=float)
    return replace(spread_of(*means.shape, mean=means, **others), chance=chance)


# How likely supports stay below a step --------------------------------------------------------------


class Law:
    """Log supports of labels: how far values lie above a base, their chances, and none for zero."""

    def __init__(self, rng: np.random.Generator, zero: float = 0.0) -> None:
        self.above = np.sort(rng.uniform(0, 1.5, (3, 6)), axis=1)
        self.above[:, 0] = 0.0
        self.probs = rng.dirichlet(np.ones(6), 3) * (1 - zero)
        self.base = rng.uniform(-40, -39, 3)
        self.zero = np.full(3, zero)

    def waves(self, period: float, n: int) -> Any:
        turns = self.above[:, None] * np.arange(n)[:, None] / period
        return (np.exp(2j * np.pi * turns) * self.probs[:, None]).sum(axis=2)

    def spread(self, chance: float, slack: float) -> Spread:
        mean = self.base + 0.75
        reach = np.full(3, 0.75)
        return made_up(
            [mean], chance, base=[self.base], above=[reach], below=[reach],
            zero=[self.zero], slack=[[slack] * 3],
        )  # fmt: skip

    def chance_of(self, i: int, step: float, moved: float = 0.0) -> float:
        values = self.base[i] + self.above[i] + moved
        return float(self.zero[i] + self.probs[i][values <= step].sum())


def below(law: Law, n: int, size: int, rest: float = 0.0, **numbers: float) -> tuple[Any, ...]:
    """Bounds at each step as they come, the ends, the steps and the period."""
    spread = law.spread(numbers.get("chance", 0.0), numbers.get("slack", 0.0))
    ends = Ends.of(spread, np.ones((1, 3), dtype=bool))
    period = 2.0 ** int(ends.octaves[0])
    made = law.waves(period, size), np.full(3, rest)
    raw: Any = _below(made, (0, np.arange(3)), spread, ends, n)
    least, greatest, beyond = raw[:3]
    first = float(ends.lowest.max())
    n_steps = least.shape[1]
    steps = [first + k * period / n_steps for k in range(n_steps)]
    assert (beyond == (np.array(steps) >= ends.highest[0][:, None])).all()
    return least, greatest, ends, steps, period


@pytest.fixture
def as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds are not made to ascend, so that each can be looked at."""
    monkeypatch.setattr(crowds_module, "_ascending", lambda *all_of_them: all_of_them)


@pytest.mark.usefixtures("as_they_come")
@pytest.mark.parametrize(("n", "size"), [(128, 128), (512, 128), (256, 256), (384, 256)])
@pytest.mark.parametrize("zero", [0.0, 0.125])
def test_polynomials_of_supports(n: int, size: int, zero: float) -> None:
    """In the middle Vaaler's polynomials of both ends, around it those of Fejér, and roundings."""
    law = Law(np.random.default_rng(n), zero)
    least, greatest, ends, steps, period = below(law, n, size)
    assert len(steps) == max(n, 2 * size)
    vaaler, fejer = weights(n).vaaler[:size], weights(n).fejer[:size]
    harmonics = 2 * np.pi * np.arange(size)
    for i in range(3):
        start = (ends.lowest[0, i] + ends.highest[0, i] - period) / 2
        values = law.base[i] + law.above[i]
        angles = np.outer(values - start, harmonics) / period
        saw, off = law.probs[i] @ (np.sin(angles) @ vaaler), law.probs[i] @ (np.cos(angles) @ fejer)
        for k in range(0, len(steps), 7):
            angles = np.outer(values - steps[k], harmonics) / period
            middle = law.probs[i] @ (np.sin(angles) @ vaaler) - saw
            middle += (1 - zero) * (steps[k] - start) / period + zero
            width = law.probs[i] @ (np.cos(angles) @ fejer) + off
            assert (least[i, k] + greatest[i, k]) / 2 == pytest.approx(middle, abs=1e-11)
            more = (greatest[i, k] - least[i, k]) / 2 - width
            rounding = 16 * _EPS * math.log2(len(steps)) * math.sqrt(len(steps))
            assert rounding < more < 8 * rounding
            if size == n and steps[k] < start + period:
                assert least[i, k] <= law.chance_of(i, steps[k]) <= greatest[i, k]


@pytest.mark.usefixtures("as_they_come")
def test_what_is_added_to_polynomials() -> None:
    """Supports beyond both ends, coefficients left out, and supports that are moved by roundings."""
    n = 256
    law = Law(np.random.default_rng(3))
    plain = below(law, n, n)
    off = (plain[1] - plain[0]) / 2
    for rare in (0.125, 0.25):
        least, greatest, *_ = below(law, n, n, chance=rare)
        assert 2 * rare <= ((greatest - least) / 2 - off).min() <= 3.5 * rare
        least, greatest, *_ = below(law, n, n, rest=rare)
        assert rare <= ((greatest - least) / 2 - off).min() <= 1.5 * rare
    # However far polynomials can change between two places, at both ends.
    steep = 2 * np.pi * np.arange(n) @ (np.abs(weights(n).vaaler) + weights(n).fejer)
    for slack in (1e-6, 1e-4):
        least, greatest, _, steps, period = below(law, n, n, slack=slack)
        moved = 2 * float(steep) * slack / period
        more = (greatest - least).mean() / 2 - off.mean()
        assert moved < more < 2.5 * moved
        for (i, k), by in itertools.product(np.ndindex(least.shape), (-slack, slack)):
            if steps[k] < law.base[i] + 1.5:
                assert least[i, k] <= law.chance_of(i, steps[k], by) <= greatest[i, k]


def test_where_supports_lie() -> None:
    """Each between two ends, but for a small chance; the period is as long as the widest near label."""
    spread = made_up(
        [[5.0, 3.0, 0.0], [1.0, 1.0, 1.0]],
        above=[[1.0, 0.25, 90.0], [0.25, 0.5, 0.25]],
        below=[[2.0, 0.5, 90.0], [0.125, 0.25, 0.25]],
        slack=[[0.25, 0.125, 1.0], [0.0, 0.0625, 0.0]],
    )
    ends = Ends.of(spread, np.array([[True, True, False], [True, True, True]]))
    assert ends.lowest[:, :2].tolist() == [[2.75, 2.375], [0.875, 0.6875]]
    assert ends.highest[:, :2].tolist() == [[6.25, 3.375], [1.25, 1.5625]]
    assert ends.octaves.tolist() == [2, 0]


# Steps --------------------------------------------------------------------------------------------


def test_chances_that_ascend() -> None:
    """No bound is looser than one of an earlier or a later step; the last step is above everything."""
    rng = np.random.default_rng(6)
    for n_beyond in (0, 3, 7):
        least, greatest = rng.uniform(-0.3, 1.3, (2, 3, 10))
        first = 10 - n_beyond
        beyond = np.arange(10) >= np.array([[first], [first - 2], [first]])
        lower, upper = _ascending(least, greatest, beyond, 0.125)
        assert lower.shape == upper.shape == (3, first + 1)
        assert lower[:, -1].tolist() == upper[:, -1].tolist() == [1.0] * 3
        for i, k in itertools.product(range(3), range(first)):
            lows = [0.875 if beyond[i, s] else least[i, s] for s in range(k + 1)]
            highs = [1.0 if beyond[i, s] else greatest[i, s] for s in range(k, 10)]
            assert lower[i, k] == min(1.0, max(0.0, *lows))
            assert upper[i, k] == max(0.0, min(1.0, *highs))
    everywhere = np.ones((2, 4), dtype=bool)
    lower, upper = _ascending(np.zeros((2, 4)), np.ones((2, 4)), everywhere, 0.125)
    assert lower.tolist() == [[0.875] * 4 + [1.0]] * 2
    assert upper.tolist() == [[1.0] * 5] * 2


def drawn_chances(rng: np.random.Generator, m: int, n: int) -> tuple[Any, Any]:
    """Bounds of chances that ascend, with a last step that is above everything."""
    both = np.sort(rng.random((2, m, n)), axis=2)
    both = np.concatenate([np.sort(both, axis=0), np.ones((2, m, 1))], axis=2)
    return both[0], both[1]


@pytest.mark.parametrize("m", [2, 3, 5])
@pytest.mark.parametrize("n", [1, 2, 6])
def test_wins_by_steps(m: int, n: int) -> None:
    """On each step a label is surely ahead of those that stay at the step before, and of none above it."""
    rng = np.random.default_rng(m * n)
    for _ in range(5):
        lower, upper = drawn_chances(rng, m, n)
        sure, maybe = _wins(lower, upper, 0.0)
        for i in range(m):
            others = [k for k in range(m) if k != i]
            ahead = sum(
                (upper[i, s + 1] - upper[i, s]) * math.prod(lower[k, s] for k in others)
                for s in range(n)
            )
            assert sure[i] == pytest.approx(ahead)
            reached = sum(
                (lower[i, s + 1] - lower[i, s]) * math.prod(upper[k, s + 1] for k in others)
                for s in range(n)
            )
            assert maybe[i] == pytest.approx(reached)
            assert _wins(lower, upper, 0.25)[0][i] == sure[i]
            assert _wins(lower, upper, 0.25)[1][i] == pytest.approx(reached + 0.25)


def test_roundings_of_wins() -> None:
    """Of numbers that no sum rounds, a few eps for each step and label are taken off and added."""
    lower = upper = np.array([[0.5, 1.0, 1.0], [0.5, 0.5, 1.0]])
    sure, maybe = _wins(lower, upper, 0.0)
    for found, exact, sign in ((sure, [0.25, 0.5], -1), (maybe, [0.25, 0.5], 1)):
        for own, true in zip(found, exact, strict=True):
            assert 4 * 6 * _EPS < sign * (own - true) < 16 * 6 * _EPS


# Points -------------------------------------------------------------------------------------------


class Scripted:
    """Coefficients that are made up, and what was asked for."""

    def __init__(self, sizes: list[int]) -> None:
        self.sizes = np.array(sizes)
        self.asked: list[Any] = []

    def products(self, sums: Any, tolerance: Any) -> Products:
        self.asked.append((sums, tolerance))
        n = len(self.sizes)
        waves = np.arange(n)[:, None] + 1j * np.arange(self.sizes.max())
        return Products(waves, self.sizes, np.arange(n) / 8)


def test_coefficients_of_points() -> None:
    """Every near label of every point is asked for once; of each point as many come as one label needs."""
    near = np.array([[True, False, True], [True, True, True]])
    spectra = Scripted([STEP, 2 * STEP, 3 * STEP, STEP, 2 * STEP])
    spread = replace(made_up(np.zeros((2, 3))), chance=1e-3)
    codes = np.array([[4, 5], [6, 7]], dtype=np.int32)
    crowds = Crowds(spectra)  # type: ignore[arg-type]
    octaves, n_waves = np.array([1, 2]), np.array([512, 1024])
    made = crowds._waves(codes, spread, near, octaves, n_waves)
    (sums, tolerance) = spectra.asked[0]
    assert sums.codes.tolist() == [[4, 4, 5, 5, 5], [6, 6, 7, 7, 7]]
    assert sums.labels.tolist() == [[0], [2], [0], [1], [2]]
    assert sums.octaves.tolist() == [1, 1, 2, 2, 2]
    assert sums.n_waves.tolist() == [512, 512, 1024, 1024, 1024]
    # All labels of a point together share what may be left out.
    shares = tolerance / spread.rare
    assert shares == pytest.approx([4.0, 4.0, 8 / 3, 8 / 3, 8 / 3])
    assert [waves.shape for waves, _ in made] == [(2, 2 * STEP), (3, 3 * STEP)]
    assert [waves[:, 0].real.tolist() for waves, _ in made] == [[0, 1], [2, 3, 4]]
    assert [rest.tolist() for _, rest in made] == [[0, 0.125], [0.25, 0.375, 0.5]]
    assert crowds._waves(codes[:, :0], spread, near[:0], octaves[:0], n_waves[:0]) == []


def test_bounds_of_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tails are taken off and added; points that need too many coefficients or may be zero have none."""
    chance = 2.0**-10
    n_points = 6
    near = np.tile([True, True, False], (n_points, 1))
    near[5] = True
    zero = np.zeros((n_points, 3))
    zero[1], zero[2, 0], zero[:, 2] = chance, 2 * chance, 0.5
    zero[5] = 0.0
    reach = np.full((n_points, 3), 0.8)
    error = np.full((n_points, 3), 0.01)
    error[4] = 0.4
    spread = made_up(
        np.zeros((n_points, 3)), chance, zero=zero, above=reach, below=reach, error=error
    )
    levels = np.array([7.0, 12.0, 7.0, 12.5, 6.0, 2.0])
    asked = []

    def found(lower: Any, upper: Any, rarely: float) -> tuple[Any, Any]:
        asked.append((len(lower), rarely))
        return np.full(len(lower), 0.25), np.full(len(lower), 0.75)

    monkeypatch.setattr(crowds_module, "_below", lambda *_: (np.zeros(len(_[1][1])), None))
    monkeypatch.setattr(crowds_module, "_wins", found)
    crowds = Crowds(Scripted([STEP] * 9))  # type: ignore[arg-type]
    least, greatest, reached = crowds.bounds(
        np.zeros((2, n_points), np.int32), spread, near, levels
    )
    # The period is 2; coefficients come in numbers that many points share, at least as many as asked for.
    assert reached.tolist()[:2] == [7.0, 12.0]
    assert MAX_WAVES == 2**13
    assert np.isnan(reached[2:4]).all()
    assert reached.tolist()[4:] == [6.0, 6.0]
    assert [n for n, _ in asked] == [2, 2, 2, 3]
    assert all(chance <= rarely <= 2.5 * chance for _, rarely in asked)
    for place, n in [(0, 2), (1, 2), (5, 3)]:
        doubt = 0.01 * n
        assert (0.25 - 1.2 * doubt < least[place, :n]).all()
        assert (least[place, :n] < 0.25 - 1.05 * doubt).all()
        assert (0.75 + 1.05 * doubt < greatest[place, :n]).all()
        assert (greatest[place, :n] < 0.75 + 1.2 * doubt).all()
    assert (least[2:4].tolist(), greatest[2:4].tolist()) == ([[0.0] * 3] * 2, [[1.0] * 3] * 2)
    assert (least[4].tolist(), greatest[4].tolist()) == ([0.0] * 3, [1.0] * 3)
    assert (least[0, 2], greatest[0, 2]) == (0.0, 1.0)


# Where to begin -----------------------------------------------------------------------------------


def ties_of(mean: list[float], sigma: list[float]) -> float:
    """How likely, per width, one label ties with another at the top, all of them normal."""

    def density(x: float, i: int) -> float:
        away = (x - mean[i]) / sigma[i]
        return math.exp(-(away**2) / 2) / (sigma[i] * math.sqrt(2 * math.pi))

    def under(x: float, i: int) -> float:
        return (1 + math.erf((x - mean[i]) / sigma[i] / math.sqrt(2))) / 2

    m, found = len(mean), [0.0] * len(mean)
    places = np.arange(-20.0, 20.0, 1 / 8)
    for x, i, k in itertools.product(places.tolist(), range(m), range(m)):
        if i != k:
            rest = math.prod(under(x, own) for own in range(m) if own not in (i, k))
            found[i] += density(x, i) * density(x, k) * rest / 8
    return max(found)


@pytest.mark.parametrize("scale", [2.0**-6, 1.0, 2.0**6])
def test_first_levels(scale: float) -> None:
    """A step times the chance of ties at the top is a fifth of the gap, for normal distributions."""
    cases = [
        ([0.0, 1.0, 0.5], [1.0, 2.0, 1.5]),
        ([3.0, 3.0, -4.0], [1.0, 1.0, 1.0]),
        ([0.0, 0.0, 2.0], [1.0, 1.0, 1.0]),
    ]
    for (mean, sigma), gap in itertools.product(cases, (0.01, 0.001)):
        # The last label, far above all others, is not near.
        means, sigmas = scale * np.array([[*mean, 99.0]]), scale * np.array([[*sigma, 9.0]])
        reach = 6 * sigmas * [1, 1, 1, 0]
        spread = made_up(means, variance=sigmas**2, above=reach, below=reach)
        near = np.array([[True, True, True, False]])
        found = first_levels(spread, near, np.array([gap]))
        expected = math.log2(ties_of(mean, sigma) / scale / (0.2 * gap))
        assert found[0] == pytest.approx(expected, abs=0.05)


def test_first_levels_of_some_labels() -> None:
    """Labels that are not near, or always the same, tie with nobody; no step is wider than a look."""
    mean, reach = [[0.0, 1.0, 5.0, 0.5]] * 4, np.array([[8.0, 4.0, 99.0, 2.0]] * 4) / 2
    reach[2] = 0.0
    variance = np.array([[1.0, 1.0, 1.0, 0.0]] * 4)
    near = np.array([[1, 1, 0, 1], [1, 0, 0, 1], [0, 0, 0, 1], [1, 1, 0, 1]], dtype=bool)
    spread = made_up(mean, variance=variance, above=reach, below=reach)
    found = first_levels(spread, near, np.array([0.01, 0.01, 0.01, 1.0]))
    expected = math.log2(ties_of([0.0, 1.0], [1.0, 1.0]) / 0.002)
    assert found[0] == pytest.approx(expected, abs=0.05)
    assert found[1:].tolist() == [2.0, 5.0, 2.0]
