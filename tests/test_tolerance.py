"""tolerance against the oracle on random tables, and against its laws (large counts: test_exactness)."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.amounts import SEED, n_tables, seeded
from support.bias_oracle import READINGS, BoxJudge, Judge, OwnMissing, double_below, shortened
from support.bias_tables import random_bias, random_holed, written
from support.counted import index_of
from support.strategies import Case

from nullproof import CountIndex, certify, tolerance

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
N_TABLES = n_tables(1000)
N_CHUNKS = 4


def as_double(exact: Fraction | None) -> float:
    """Write a tolerance as nullproof does: rounded down to a double, NaN for none."""
    return math.nan if exact is None else double_below(exact)


def assert_tolerances(
    holed: Case,
    told: NDArray[np.float64],
    own_missing: OwnMissing = "skip",
    fixed: dict[int, Fraction] | None = None,
) -> None:
    """Compare the tolerances of all points of a table with the oracle, to the last digit."""
    judge = holed.judge()
    assert len(told) == len(holed.points)
    for point, number in zip(holed.points, told, strict=True):
        exact = judge.tolerance(point, own_missing, fixed)
        # Whether zero has a sign is a law of its own, so that it hides no other disagreement.
        told_so, said = float(number) + 0.0, f"{point} {exact} {own_missing} {fixed} {holed}"
        np.testing.assert_equal(told_so, as_double(exact), said)


# Random tables ------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_random_tables(chunk: int) -> None:
    """T10: the tolerance is the last breakpoint at which every world has one winner."""
    rng = seeded(chunk)
    for _ in range(math.ceil(N_TABLES / N_CHUNKS)):
        holed = random_holed(
            rng, n_rows=12, own_missing=rng.choice((0.0, 0.0, 0.3)), weighted=rng.random() < 0.5
        )
        index, reading = index_of(holed), rng.choice(READINGS)
        told = tolerance(index, list(holed.points), own_missing=reading, **holed.options)
        assert told.dtype == np.float64
        assert_tolerances(holed, told, reading)


@pytest.mark.parametrize("seed", range(3))
def test_many_points_together(seed: int) -> None:
    """Thousands of points asked about at once have the tolerances that the oracle gives each of them."""
    rng = seeded("many", seed)
    for _ in range(12):
        weighted, own_missing = rng.random() < 0.5, rng.choice((0.0, 0.3))
        holed = random_holed(rng, n_rows=14, own_missing=own_missing, weighted=weighted)
        options = [(*domain, None) if rng.random() < 0.3 else domain for domain in holed.domains]
        points = sorted({tuple(map(rng.choice, options)) for _ in range(12)}, key=repr)
        holed = replace(holed, points=tuple(points))
        reading = rng.choice(READINGS)
        order = [rng.randrange(len(points)) for _ in range(3000)]
        told = tolerance(
            index_of(holed), [points[k] for k in order], own_missing=reading, **holed.options
        )
        first = [order.index(k) for k in range(len(points)) if k in order]
        assert len(first) == len(points)
        assert_tolerances(holed, told[first], reading)
        np.testing.assert_array_equal(told, told[first][order])


def test_candidates_of_points_at_the_limits_of_smoothing() -> None:
    """T4, T10: the worst candidates of each feature are found where smoothing is tiny or huge."""
    rng = random.Random(SEED)
    for _ in range(60):
        alpha = rng.choice((1e-6, Fraction(10**20 + 1, 10**26), Fraction(10**20 - 1, 10**14)))
        drawn = random_holed(rng, n_rows=12, own_missing=0.5, weighted=rng.random() < 0.5)
        holed = replace(drawn, alpha=alpha)
        told = tolerance(index_of(holed), list(holed.points), own_missing="any", **holed.options)
        assert_tolerances(holed, told, "any")


def test_what_was_asked_before_changes_nothing() -> None:
    """Tables with the same columns, asked about in turn while all answers are kept."""
    rng = random.Random(SEED)
    points = [(a, b) for a in "abc" for b in "xyz"] * 1000
    kept = []
    for _ in range(4):
        rows = [
            (rng.choice(["a", "b", "c", None]), rng.choice(["x", "y", "z", None]))
            for _ in range(300)
        ]
        labels = [rng.choice("ABC" if row[0] == "a" else "AAB") for row in rows]
        index = CountIndex.from_rows(rows, labels, weights="equal")
        judge = BoxJudge.of_rows(rows, labels, ["abc", "xyz"], alpha=1)
        kept.append((certify(index, points), judge))
    for found, judge in (*kept, *kept[::-1]):
        for place, point in enumerate(points[:9]):
            exact = judge.tolerance(point)
            np.testing.assert_equal(found.tolerance[place] + 0.0, as_double(exact))
        np.testing.assert_array_equal(found.tolerance, np.tile(found.tolerance[:9], 1000))
    whole = certify(index, points)
    parts = [whole[:4500].tolerance, whole[4500:].tolerance]
    np.testing.assert_array_equal(np.concatenate(parts), kept[-1][0].tolerance)


def test_the_rival_is_the_first_label_that_catches_up() -> None:
    """Just beyond the tolerance the winner no longer beats its rival, nor any label before that one."""
    rng = random.Random(SEED)
    n_between = 0
    for _ in range(200):
        weighted, own_missing = rng.random() < 0.5, rng.choice((0.0, 0.2))
        holed = random_holed(rng, n_rows=12, own_missing=own_missing, weighted=weighted)
        if len(holed.names) < 3:
            continue
        judge, reading = holed.judge(), rng.choice(READINGS)
        found = certify(index_of(holed), list(holed.points), own_missing=reading, **holed.options)
        rivals = found.columns()["rival"]
        for point, rival, number in zip(holed.points, rivals, found.tolerance, strict=True):
            exact = judge.tolerance(point, reading)
            if exact is None or exact == 1:
                assert rival is None, (point, exact, holed)
                continue
            n_between += 1
            d = len(holed.features)
            winner = judge.verdict(point, (exact,) * d, reading).label
            beyond = Fraction(math.nextafter(number, 2))
            caught = [
                label
                for label in holed.names
                if label != winner and not beats(judge, winner, label, point, beyond, reading)
            ]
            assert rival == caught[0], (point, exact, holed)
    assert n_between > 20


def beats(
    judge: Judge, winner: Any, rival: Any, point: Any, bias: Fraction, own_missing: OwnMissing
) -> bool:
    """Whether a label beats another in all worlds of a bias and for all completions of the point."""
    kept, points = shortened(point, judge.domains, own_missing)
    every = (bias,) * len(judge.domains)
    return all(
        min(judge.supports(winner, kept, own, every)) > max(judge.supports(rival, kept, own, every))
        for own in points
    )


def test_fixed_columns() -> None:
    """With the bias of some columns fixed the tolerance is about the others."""
    rng = random.Random(SEED)
    kinds = set()
    for _ in range(250):
        holed = random_holed(rng, n_rows=10, own_missing=0.1, weighted=rng.random() < 0.5)
        judge, index, reading = holed.judge(), index_of(holed), rng.choice(READINGS)
        places = rng.sample(range(len(holed.features)), rng.randint(0, len(holed.features)))
        fixed = {j: random_bias(rng, judge) for j in places}
        named = {f"f{j}": written(rng, bias) for j, bias in fixed.items()}
        told = tolerance(
            index, list(holed.points), own_missing=reading, fixed=named, **holed.options
        )
        assert_tolerances(holed, told, reading, fixed)
        kinds |= {"none" if np.isnan(x) else "one" if x == 1 else "between" for x in told}
    assert kinds == {"none", "one", "between"}


# Laws ---------------------------------------------------------------------------------------------


def test_one_means_certain() -> None:
    """The tolerance is 1 exactly for points that are certain, and that of certificates is the same.

    What is said of a point does not depend on the company it was asked in.
    """
    rng = random.Random(SEED)
    for _ in range(150):
        holed = random_holed(rng, own_missing=0.2, weighted=rng.random() < 0.5)
        index, points = index_of(holed), list(holed.points)
        options: dict[str, Any] = {"own_missing": rng.choice(READINGS), **holed.options}
        told, result = tolerance(index, points, **options), certify(index, points, **options)
        assert (told == 1).tolist() == result.certain.tolist(), holed
        np.testing.assert_array_equal(result.tolerance, told)
        for place, point in enumerate(points):
            alone, among = certify(index, point, **options), result[place]
            for name in ("certain", "label", "predicted", "possible", "rival", "n_own_missing"):
                assert getattr(alone, name) == getattr(among, name), (name, point, holed)
            np.testing.assert_equal(alone.tolerance, float(told[place]))


def test_a_point_holds_up_to_its_tolerance() -> None:
    """For doubles: certify at a bias says yes exactly if the tolerance is as great as the bias."""
    rng = random.Random(SEED)
    for _ in range(150):
        holed = random_holed(rng, n_rows=10, own_missing=0.2)
        index, points = index_of(holed), list(holed.points)
        options: dict[str, Any] = {"own_missing": rng.choice(READINGS), **holed.options}
        told = tolerance(index, points, **options)
        asked = {0.0, 1.0, rng.random(), float(random_bias(rng, holed.judge()))}
        for number in told[~np.isnan(told)].tolist():
            asked |= {number, min(1.0, math.nextafter(number, 2)), math.nextafter(number, 0)}
        for bias in asked:
            held = certify(index, points, bias=bias, **options).certain
            assert held.tolist() == (told >= bias).tolist(), (bias, told, holed)


# Named cases --------------------------------------------------------------------------------------


def test_columns_that_are_alike() -> None:
    """Where forty columns are alike all jumps lie at one bias; predictions hold up to it, no further."""
    codes = np.full((800, 40), -1)
    for label, n_zeros in ((0, 120), (1, 100)):
        codes[400 * label : 400 * label + n_zeros] = 0
        codes[400 * label + n_zeros : 400 * label + 200] = 1
    index = CountIndex.from_codes(codes, np.repeat([0, 1], 400), weights="equal")
    points = np.random.default_rng(SEED).integers(0, 2, (60, 40))
    points[:30, :28] = 0
    found = tolerance(index, points)
    searched = np.flatnonzero((found > 0) & (found < 1))
    assert len(searched) > 20
    for bias in np.unique(found[searched]).tolist():
        places = searched[found[searched] == bias]
        assert certify(index, points[places], bias=bias).certain.all()
        assert not certify(index, points[places], bias=float(np.nextafter(bias, 1))).certain.any()
