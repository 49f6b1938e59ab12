"""Intervals of steps against walks of single steps, with errors of logarithms so large that they show."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from nullproof.radii.steps import LeastRaising, Lowering, Raising

# Far more than rounding, so that an interval that forgets it is caught.
SLACKS = (1e-9, 1e-3, 0.02)


def log_of(count: float, alpha: float) -> float:
    return math.log(count + alpha) if count + alpha > 0 else -math.inf


def lowering_walk(counts: Sequence[int], log_support: float, alpha: float) -> list[float]:
    """The winner's log support after 0, 1, 2, … steps, the smallest count first."""
    found, left = [log_support], list(counts)
    for j, count in enumerate(counts):
        for _ in range(count):
            left[j] -= 1
            gain = sum(log_of(c, alpha) for c in left) - sum(log_of(c, alpha) for c in counts)
            found.append(log_support + gain)
    return found


def raising_walk(counts: Sequence[float], base: float, cap: int, alpha: float) -> list[float]:
    """A rival's log support after 0, 1, 2, … steps, the smallest count first."""
    left = [int(count) for count in counts if count < math.inf]
    floor = 0 if alpha else 1
    start = sum(log_of(max(count, floor), alpha) for count in left)
    found = [base + sum(log_of(c, alpha) for c in left) - start]
    while left and min(left) < cap:
        left[left.index(min(left))] += 1
        found.append(base + sum(log_of(c, alpha) for c in left) - start)
    return found


def first_at(walked: Sequence[float], target: float, sign: int) -> float:
    """The first number of steps whose log support has reached a target, infinite if none has."""
    reached = [n for n, log in enumerate(walked) if (log >= target if sign > 0 else log <= target)]
    return reached[0] if reached else math.inf


def targets_of(rng: random.Random, walked: Sequence[float], slack: float) -> list[float]:
    """Targets far from, near and at the log supports of a walk, and beyond both of its ends."""
    finite = [log for log in walked if log > -math.inf]
    found = [(one + other) / 2 for one, other in pairwise(finite)]
    for log in finite:
        found += [log, *(log + part * slack for part in (-4.5, -3, -1.9, -1, 1, 1.9, 3, 4.5, 15))]
    found += [min(finite) - 1, max(finite) + 1, min(finite) - 50 * slack, max(finite) + 50 * slack]
    return rng.sample(found, min(len(found), 60))


def assert_interval(
    walked: Sequence[float], target: float, slack: float, found: tuple[float, float], sign: int
) -> None:
    """The interval holds every answer that errors of this size allow, and no other beyond doubt.

    It may be wider where no step can be taken, and beside a tie within 1e-12.
    """
    at_least, at_most = found
    soonest = first_at(walked, target - sign * 2 * slack, sign)
    latest = first_at(walked, target + sign * 2 * slack, sign)
    assert at_least <= soonest, (target, found, soonest)
    assert at_most >= latest, (target, found, latest)
    sooner = first_at(walked, target - sign * 5 * slack, sign)
    later = first_at(walked, target + sign * 5 * slack, sign)
    if sooner == later and len(walked) > 1 and slack > 1e-12:
        assert at_least == at_most == sooner, (target, found, sooner)


def ascending(rng: random.Random, d: int, top: int) -> list[int]:
    return sorted(rng.randint(0, top) for _ in range(d))


@pytest.mark.parametrize("slack", SLACKS)
def test_lowering_with_smoothing(slack: float) -> None:
    """The interval of A2 steps holds the walk's answer, and one number where no tie is near."""
    rng = random.Random(f"lowering-{slack}")
    for _ in range(40):
        alpha, counts = (
            rng.choice([0.25, 1.0, 3.0, 40.0]),
            ascending(rng, rng.randint(1, 4), rng.choice([9, 60])),
        )
        own_log = rng.uniform(-5, 0)
        walked = lowering_walk(counts, own_log, alpha)
        targets = targets_of(rng, walked, slack)
        array = np.array([counts] * len(targets), dtype=float)
        logs = np.log(array + alpha)
        lowering = Lowering.smoothed(
            array, logs, np.full(len(targets), own_log), alpha=alpha, slack=slack
        )
        assert lowering.n_pieces == len(counts)
        at_least, at_most = lowering.fewest(np.array(targets))
        for target, *found in zip(targets, at_least.tolist(), at_most.tolist(), strict=True):
            assert_interval(walked, target, slack, (found[0], found[1]), -1)
            ends = [sum(counts[:n]) for n in range(1, len(counts) + 1)]
            reached = [end for end in ends if walked[end] <= target]
            if reached and reached[0] and walked[reached[0]] < target - 2.01 * slack:
                assert found[1] <= reached[0]
        one = lowering.at(np.array([len(targets) - 1])).fewest(np.array(targets[-1:]))
        assert [*one] == [at_least[-1:], at_most[-1:]]


@pytest.mark.parametrize("slack", SLACKS)
def test_lowering_without_smoothing(slack: float) -> None:
    """The smallest count leads to a support of 0; if there is none, nothing is ever enough."""
    rng = random.Random(f"plain-{slack}")
    for _ in range(30):
        smallest, own_log = rng.randint(1, 12), rng.uniform(-5, 0)
        walked = lowering_walk([smallest], own_log, 0)
        targets = [*targets_of(rng, walked, slack), -math.inf]
        one = np.ones(len(targets))
        lowering = Lowering.without_smoothing(one * smallest, one * own_log, slack)
        at_least, at_most = lowering.fewest(np.array(targets))
        for target, *found in zip(targets, at_least.tolist(), at_most.tolist(), strict=True):
            assert_interval(walked, target, slack, (found[0], found[1]), -1)
        stuck = Lowering.without_smoothing(one * np.inf, one * own_log, slack)
        at_least, at_most = stuck.fewest(np.array(targets))
        assert at_most.tolist() == [math.inf] * len(targets)
        for target, found_least in zip(targets, at_least.tolist(), strict=True):
            assert found_least == (0 if own_log - target <= 2 * slack else math.inf)


@pytest.mark.parametrize("slack", [3e-14, *SLACKS])
def test_raising(slack: float) -> None:
    """The interval of A1 steps holds the walk's answer, and one number where no tie is near."""
    rng = random.Random(f"raising-{slack}")
    for _ in range(80):
        alpha, cap = rng.choice([0.0, 0.0, 0.25, 1.0, 3.0]), rng.randint(1, 9)
        counts: list[float] = [*ascending(rng, rng.randint(1, 4), cap)]
        counts += [math.inf] * rng.randint(0, 1)
        base = rng.uniform(-5, 0)
        walked = raising_walk(counts, base, cap, alpha)
        targets = targets_of(rng, walked, slack)
        array = np.array([counts] * len(targets))
        raising = Raising(
            array,
            np.log(np.maximum(array, 0 if alpha else 1) + alpha),
            np.full(len(targets), base),
            cap=cap,
            alpha=alpha,
            slack=slack,
        )
        n_steps, log_support = raising.saturated()
        assert n_steps.tolist() == [len(walked) - 1] * len(targets)
        assert log_support == pytest.approx(walked[-1])
        places = np.arange(len(targets))[::-1]
        at_least, at_most = raising.fewest(places, np.array(targets))
        for target, *found in zip(targets, at_least.tolist(), at_most.tolist(), strict=True):
            assert_interval(walked, target, slack, (found[0], found[1]), +1)


def test_each_point_has_its_own_counts() -> None:
    """Points are looked up by their places, on both sides."""
    counts = np.array([[2.0, 7.0], [4.0, 9.0], [1.0, 3.0]])
    base, places = np.array([-2.0, -1.0, -3.0]), np.array([2, 0])
    raising = Raising(counts, np.log(counts + 1), base, cap=9, alpha=1.0, slack=1e-9)
    lowering = Lowering.smoothed(counts, np.log(counts + 1), base, 1.0, 1e-9)
    rises = [raising_walk(counts[place].tolist(), base[place], 9, 1.0) for place in places]
    falls = [lowering_walk([int(c) for c in counts[p]], base[p], 1.0) for p in places]
    for n_steps in range(1, 4):
        target = np.array([(walked[n_steps - 1] + walked[n_steps]) / 2 for walked in rises])
        assert [one.tolist() for one in raising.fewest(places, target)] == [[n_steps] * 2] * 2
        target = np.array([(walked[n_steps - 1] + walked[n_steps]) / 2 for walked in falls])
        assert [one.tolist() for one in lowering.at(places).fewest(target)] == [[n_steps] * 2] * 2


def test_least_raising_is_below_every_walk() -> None:
    """The cheap bound is never above the walk, and meets it where all counts rise alike."""
    rng = random.Random("least")
    for _ in range(200):
        alpha, slack, d = rng.choice([0.5, 1.0]), rng.choice([1e-12, 0.01]), rng.randint(1, 4)
        counts, base = ascending(rng, d, 6), rng.uniform(-3, 0)
        walked = raising_walk(counts, base, 9, alpha)
        least = LeastRaising(d, np.array([counts[0] + alpha]), np.array([base]), slack)
        for n_steps, log in enumerate(walked):
            assert least.steps(np.array([log + 1.9 * slack]))[0] <= n_steps
            assert least.steps(np.array([log - slack]))[0] <= n_steps
        if counts[0] == counts[-1]:
            level = np.array([walked[d]])
            found = least.steps(level + 2 * slack)[0]
            assert found == pytest.approx(d, rel=3e-6)
            assert found < d
    two = LeastRaising(2, np.array([1.0, 3.0]), np.array([-1.0, -2.0]), 0.0)
    assert two.at(np.array([1])).steps(np.array([0.0])) == two.steps(np.array([0.0, 0.0]))[1]
