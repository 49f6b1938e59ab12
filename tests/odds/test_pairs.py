"""Two labels by Fourier coefficients: the interval of their difference, and what is added to it."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from support.spreads import Given, spread_of

from nullproof.odds.pairs import Differences, Pairs, _in_interval
from nullproof.odds.terms import SLOPES
from nullproof.odds.waves import MAX_WAVES, STEP, numbers

NEAR = np.array([[True, False, True]])


def spread_with(above: float, below: float, **some: Any) -> Given:
    """One point and three labels; the first less the third one gets so far above and below its mean."""
    spread = spread_of(1, 3, **some)
    up, down = 0.25 * above, 0.25 * below
    # A curve that ascends with the slope is that of something that never gets further.
    reach = np.array([[(up, 0.75 * below), (9.0, 9.0), (down, 0.75 * above)]])
    curves = (reach[..., None] * SLOPES).reshape(1, 3, -1)
    return replace(spread, curves=curves)


def test_where_differences_lie() -> None:
    """The difference lies around its mean, as far as both supports get from theirs; ties are at zero."""
    spread = spread_with(2.5, 1.25, base=[[1.0, 7.0, 3.5]], mean=[[2.0, 8.0, 1.0]])
    both = Differences.of(spread, NEAR)
    assert both.labels.tolist() == [[0, 2]]
    assert both.zero.tolist() == [2.5]
    # 2 - 1 is 1 above the difference of the bases, -2.5, and reaches from -0.25 to 3.5 around it.
    assert both.middle == pytest.approx([3.5 + (2.5 - 1.25) / 2], abs=1e-4)
    assert both.octaves.tolist() == [2]
    # Both ends may be off by the roundings of both labels.
    for slack, octave in ((0.05, 2), (0.1, 3)):
        wider = replace(spread, slack=np.array([[slack, 9.0, 0.05]]))
        assert Differences.of(wider, NEAR).octaves.tolist() == [octave]
    some = both.take(np.array([0, 0]))
    assert (some.labels.tolist(), some.octaves.tolist()) == ([[0, 2]] * 2, [2, 2])
    assert (some.zero.tolist(), len(some.middle)) == ([2.5, 2.5], 2)


@pytest.mark.parametrize("n", [STEP, 3 * STEP])
@pytest.mark.parametrize(("zero", "middle", "octave"), [(0.5, 0.75, 1), (-3.0, -2.0, 2)])
def test_one_place_is_ahead_or_not(zero: float, middle: float, octave: int, n: int) -> None:
    """A difference that is known is ahead of zero or not, up to what the polynomials may be off by."""
    period = 2.0**octave
    both = Differences(np.array([[0, 1]]), *map(np.array, ([zero], [middle], [octave])))
    places = np.linspace(middle - 0.49 * period, middle + 0.49 * period, 99)
    closest = 1.0
    for mass in (1.0, 0.25):
        for place in [*places.tolist(), zero]:
            waves = mass * np.exp(2j * np.pi * np.arange(n) * place / period)[None]
            ahead, off = _in_interval(waves, both, np.array([mass]), np.array([n]))
            assert abs(ahead[0] - mass * (place > zero)) <= off[0] + 1e-12
            assert abs(ahead[0] - mass * (place >= zero)) <= off[0] + 1e-12
            closest = min(closest, float(off[0]) / mass)
            if place == zero:
                # Half of it either way, and hardly more: Fejér's kernel is n high.
                assert ahead[0] == pytest.approx(mass / 2, abs=0.01)
                assert off[0] == pytest.approx(mass / 2, abs=0.01)
    assert closest < 1e-3


def test_few_coefficients_of_many() -> None:
    """Where further coefficients vanish the first ones are enough, with the weights of all."""
    both = Differences(np.array([[0, 1]]), *map(np.array, ([0.0], [0.0], [0])))
    k = np.arange(1_024)
    # A normal difference around 0.1 with a deviation of 0.02 has no further coefficients.
    waves = np.exp(2j * np.pi * k * 0.1 - 2 * (np.pi * k * 0.02) ** 2)[None]
    whole, some = (
        _in_interval(waves[:, :size], both, np.ones(1), np.array([1_024])) for size in (1_024, 128)
    )
    assert [own[0] for own in some] == pytest.approx([own[0] for own in whole], abs=1e-12)
    assert whole[0][0] == pytest.approx(
        NormalDist(0.1, 0.02).cdf(1.0) - NormalDist(0.1, 0.02).cdf(0)
    )


def test_zero_outside_of_the_window() -> None:
    """Where the window lies on one side of zero, the first label is surely ahead, or surely not."""
    for zero, ahead in ((-5.0, 0.75), (5.0, 0.0)):
        both = Differences(np.array([[0, 1]]), *map(np.array, ([zero], [1.0], [1])))
        waves = 0.75 * np.exp(2j * np.pi * np.arange(STEP) * 1.25 / 2)[None]
        found, off = _in_interval(waves, both, np.array([0.75]), np.array([STEP]))
        assert found[0] == pytest.approx(ahead, abs=1e-12)
        assert -1e-12 < off[0] < 0.02


# Bounds ---------------------------------------------------------------------------------------------


class Waves:
    """Coefficients of a difference that is 2 above the middle of an octave, and what was asked."""

    def __init__(self, mass: float = 1.0, rest: float = 0.0) -> None:
        self.mass, self.rest, self.asked = mass, rest, []  # type: ignore[var-annotated]

    def products(self, sums: Any, tolerance: Any) -> Any:
        self.asked.append((sums, tolerance.tolist()))
        size = int(sums.n_waves.max())
        turns = np.full((len(sums.octaves), 1), 2.0) / np.exp2(sums.octaves)[:, None]
        waves = self.mass * np.exp(2j * np.pi * np.arange(size) * turns)
        return waves, sums.n_waves, np.full(len(waves), self.rest)


def bounds_of(spread: Given, waves: Waves, level: float = 3.0) -> Any:
    codes = np.array([[7]], dtype=np.int32)
    least, greatest, reached = Pairs(waves).bounds(codes, spread, NEAR, np.array([level]))  # type: ignore[arg-type]
    assert reached.tolist() == [7.0 - 4]
    return least[0], greatest[0]


def half_width(waves: Waves | None = None, chance: float = 1e-9, **some: Any) -> float:
    spread = replace(spread_with(8.0, 4.0, zero=[[0.25, 0.0, 0.25]], **some), chance=chance)
    least, greatest = bounds_of(spread, waves or Waves(0.5625))
    assert greatest[0] - least[0] == pytest.approx(greatest[2] - least[2])
    assert (least[1], greatest[1]) == (0.0, 1.0)
    return float(greatest[0] - least[0]) / 2


def test_supports_of_zero() -> None:
    """A label is ahead of one without support; where neither has any, all labels have a share."""
    waves = Waves(0.375)
    least, greatest = bounds_of(spread_with(8.0, 4.0, zero=[[0.25, 0.0, 0.5]]), waves)
    shared = 0.25 * 0.5 / 3
    assert (least + greatest)[[0, 2]] / 2 == pytest.approx(
        [0.375 + 0.75 * 0.5 + shared, 0.5 * 0.25 + shared], abs=1e-3
    )
    ((sums, tolerance),) = waves.asked
    assert tolerance == [pytest.approx(2 * 1e-9 * 9 / 4)]
    assert (sums.codes.tolist(), sums.labels.tolist()) == ([[7]], [[0, 2]])
    assert (sums.octaves.tolist(), sums.n_waves.tolist()) == ([4], [STEP])


def test_what_is_added_to_bounds() -> None:
    """Roundings of logarithms, coefficients left out, cut tails and rare reaches widen both bounds.

    A slack of δ moves what polynomials of degree n say by 4nδ over the period, twice (theory 6).
    """
    plain = half_width()
    assert plain < 1e-3
    slack = half_width(slack=[[2e-5, 1.0, 4e-5]]) - plain
    assert slack == pytest.approx(1.1 * 2 * 4 * STEP * 6e-5 / 16)
    assert half_width(Waves(0.5625, 0.01)) - plain == pytest.approx(1.1 * 0.01)
    rare = 1e-3 * 9 / 4
    assert half_width(chance=1e-3) - plain == pytest.approx(1.1 * 2 * rare, rel=1e-3)
    assert half_width(error=[[0.01, 0.5, 0.02]]) - plain == pytest.approx(1.1 * 0.03)


def test_bounds_are_chances() -> None:
    """No bound is less than 0 or more than 1."""
    least, greatest = bounds_of(spread_with(8.0, 4.0, mean=[[1.0, 0.0, 0.0]]), Waves(1.0, 0.01))
    assert (greatest[0], least[2]) == (1.0, 0.0)
    assert 0.98 < least[0] < 0.99
    assert 0.01 < greatest[2] < 0.02


def test_levels_that_are_too_fine() -> None:
    """As many coefficients as are allowed are taken; for more there are no bounds and no level."""
    one = spread_with(8.0, 4.0)
    spread = one.take(np.zeros(3, dtype=int))
    codes, near = np.zeros((1, 3), dtype=np.int32), NEAR.repeat(3, axis=0)
    most = math.log2(MAX_WAVES) - 4
    waves = Waves()
    least, greatest, reached = Pairs(waves).bounds(  # type: ignore[arg-type]
        codes, spread, near, np.array([most + 0.01, most, most - 1.5])
    )
    assert np.isnan(reached[0])
    assert reached[1:] == pytest.approx([most, math.log2(3 / 8 * MAX_WAVES) - 4])
    assert (least[0].tolist(), greatest[0].tolist()) == ([0.0] * 3, [1.0] * 3)
    assert (greatest - least)[1:, [0, 2]].max() < 0.01
    assert waves.asked[0][0].n_waves.tolist() == [MAX_WAVES, 3 * MAX_WAVES // 8]
    least, greatest, reached = Pairs(waves).bounds(codes, spread, near, np.full(3, 20.0))  # type: ignore[arg-type]
    assert np.isnan(reached).all()
    assert (least.max(), greatest.min(), len(waves.asked)) == (0.0, 1.0, 1)


def test_first_levels_of_normal_differences() -> None:
    """The density at zero over the level takes half of the gap."""
    mean, variance = [[3.0, 9.0, 1.0]], [[0.5, 9.0, 1.75]]
    gap = np.array([0.01])
    levels = Pairs(Waves()).first_levels(spread_of(1, 3, mean=mean, variance=variance), NEAR, gap)  # type: ignore[arg-type]
    density = NormalDist(2.0, 1.5).pdf(0.0)
    assert density / 2.0 ** levels[0] == pytest.approx(0.005)
    # Where nothing varies, or zero is too far off, the fewest coefficients will do.
    for means, own in (([3.0, 9.0, 1.0], 0.0), ([1e4, 0.0, 0.0], 0.5)):
        spread = spread_of(1, 3, mean=[means], variance=own)
        levels = Pairs(Waves()).first_levels(spread, NEAR, gap)  # type: ignore[arg-type]
        assert numbers(levels + 30.0).tolist() == [STEP]
