"""tolerance against the oracle on random tables, and against its laws (large counts: test_exactness).

``NULLPROOF_MORE`` and ``NULLPROOF_SEED`` ask about more and other random tables.
"""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.amounts import SEED, n_tables
from support.bias_box import BoxJudge
from support.bias_oracle import Judge, OwnMissing, double_below, shortened
from support.bias_tables import Holed, fitted, random_bias, random_holed, written
from support.hostile import hostile_index, hostile_points

from nullproof import CountIndex, NullproofError, certify, tolerance

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
N_TABLES = n_tables(1000)
N_CHUNKS = 4
READINGS: tuple[OwnMissing, ...] = ("skip", "any")


def as_double(exact: Fraction | None) -> float:
    """Write a tolerance as nullproof does: rounded down to a double, NaN for none."""
    return math.nan if exact is None else double_below(exact)


def assert_tolerances(
    holed: Holed,
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
    seed = f"{SEED}-{chunk}"
    print("seed", seed)
    rng = random.Random(seed)
    for _ in range(math.ceil(N_TABLES / N_CHUNKS)):
        holed = random_holed(
            rng,
            n_rows=12,
            own_missing=rng.choice((0.0, 0.0, 0.3)),
            weighted=rng.random() < 0.5,
        )
        index, reading = holed.index(), rng.choice(READINGS)
        told = tolerance(index, list(holed.points), own_missing=reading, **holed.options)
        assert told.dtype == np.float64
        assert_tolerances(holed, told, reading)


@pytest.mark.parametrize("seed", range(3))
def test_many_points_together(seed: int) -> None:
    """Thousands of points asked about at once have the tolerances that the oracle gives each of them."""
    rng = random.Random(f"{SEED}-many-{seed}")
    for _ in range(12):
        weighted, own_missing = rng.random() < 0.5, rng.choice((0.0, 0.3))
        holed = random_holed(rng, n_rows=14, own_missing=own_missing, weighted=weighted)
        options = [(*domain, None) if rng.random() < 0.3 else domain for domain in holed.domains]
        points = sorted({tuple(map(rng.choice, options)) for _ in range(12)}, key=repr)
        holed = replace(holed, points=tuple(points))
        reading = rng.choice(READINGS)
        order = [rng.randrange(len(points)) for _ in range(3000)]
        told = tolerance(
            holed.index(), [points[k] for k in order], own_missing=reading, **holed.options
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
        told = tolerance(holed.index(), list(holed.points), own_missing="any", **holed.options)
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
        found = certify(holed.index(), list(holed.points), own_missing=reading, **holed.options)
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
        judge, index, reading = holed.judge(), holed.index(), rng.choice(READINGS)
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
    """The tolerance is 1 exactly for points that are certain, and that of certificates is the same."""
    rng = random.Random(SEED)
    for _ in range(150):
        holed = random_holed(rng, own_missing=0.2)
        index, points = holed.index(), list(holed.points)
        options: dict[str, Any] = {"own_missing": rng.choice(READINGS), **holed.options}
        told, result = tolerance(index, points, **options), certify(index, points, **options)
        assert (told == 1).tolist() == result.certain.tolist(), holed
        np.testing.assert_array_equal(result.tolerance, told)
        single = certify(index, points[0], **options)
        np.testing.assert_equal(single.tolerance, float(told[0]))


def test_a_point_holds_up_to_its_tolerance() -> None:
    """For doubles: certify at a bias says yes exactly if the tolerance is as great as the bias."""
    rng = random.Random(SEED)
    for _ in range(150):
        holed = random_holed(rng, n_rows=10, own_missing=0.2)
        index, points = holed.index(), list(holed.points)
        options: dict[str, Any] = {"own_missing": rng.choice(READINGS), **holed.options}
        told = tolerance(index, points, **options)
        asked = {0.0, 1.0, rng.random(), float(random_bias(rng, holed.judge()))}
        for number in told[~np.isnan(told)].tolist():
            asked |= {number, min(1.0, math.nextafter(number, 2)), math.nextafter(number, 0)}
        for bias in asked:
            held = certify(index, points, bias=bias, **options).certain
            assert held.tolist() == (told >= bias).tolist(), (bias, told, holed)


def test_order_does_not_matter() -> None:
    """Rows and columns in another order have the same tolerances."""
    rng = random.Random(SEED)
    for _ in range(80):
        holed = random_holed(rng, own_missing=0.2)
        moved, _ = holed.moved(rng)
        for reading in READINGS:
            before, after = (
                tolerance(one.index(), list(one.points), own_missing=reading, **one.options)
                for one in (holed, moved)
            )
            np.testing.assert_array_equal(before, after, str(holed))


def test_filling_keeps_a_certain_point_certain() -> None:
    """A tolerance of 1 stays 1 whatever value a hole turns out to have."""
    rng = random.Random(SEED)
    n_filled = 0
    for _ in range(200):
        holed = random_holed(rng, own_missing=0.2)
        options: dict[str, Any] = {"own_missing": rng.choice(READINGS), **holed.options}
        before = tolerance(holed.index(), list(holed.points), **options) == 1
        if not (before.any() and holed.holes()):
            continue
        i, j, values = rng.choice(holed.holes())
        filled = holed.with_cell(i, j, rng.choice(values)).index()
        after = tolerance(filled, list(holed.points), **options)
        assert (after[before] == 1).all(), (i, j, holed)
        n_filled += 1
    assert n_filled > 60


@pytest.mark.parametrize(
    ("n_holes", "before", "after"),
    [
        # Before: all known cells of A are a's, so of its 3 holes at least floor(3 · (1 - bias)) are
        # a's, which is 1 or more up to a bias of 2/3. After: half of the known cells are a's, and of
        # the 2 holes left at least floor(2 · (1/2 - bias)) are, which is 1 at a bias of 0 only.
        (3, Fraction(2, 3), Fraction(0)),
        # With 4 holes floor(4 · (1 - bias)) >= 1 up to 3/4, then floor(3 · (1/2 - bias)) >= 1 up to 1/6.
        (4, Fraction(3, 4), Fraction(1, 6)),
    ],
)
def test_filling_a_hole_may_lower_the_tolerance(
    n_holes: int, before: Fraction, after: Fraction
) -> None:
    """Looking up a hole can cost tolerance: the value found changes what the others should resemble.

    Label A has one a and some holes, label B one a; the point is a, without smoothing. Of n rows in
    all, S_A = c/n and S_B = 1/n with c the a's of A: A wins alone if at least one hole is an a. Then
    one hole is looked up and holds a b, as it does in some world of every bias above 0.
    """
    rows = [("a",), *[(None,)] * n_holes, ("a",)]
    labels = ["A"] * (1 + n_holes) + ["B"]
    domains = [("a", "b")]
    assert Judge.of_rows(rows, labels, domains).tolerance(("a",)) == before
    index = CountIndex.from_rows(rows, labels, domains={"x0": ["a", "b"]})
    assert tolerance(index, [("a",)], alpha=0).tolist() == [as_double(before)]
    rows[1] = ("b",)
    assert Judge.of_rows(rows, labels, domains).tolerance(("a",)) == after
    index = CountIndex.from_rows(rows, labels, domains={"x0": ["a", "b"]})
    assert tolerance(index, [("a",)], alpha=0).tolist() == [as_double(after)]


def test_the_estimator_has_tolerances() -> None:
    """CertifiedNB gives the tolerances of its own index, smoothing and prior."""
    rng = random.Random(SEED)
    for _ in range(60):
        holed = random_holed(rng, own_missing=0.2, only_text=True)
        for reading in READINGS:
            told = fitted(holed, own_missing=reading).tolerance(list(holed.points))
            assert_tolerances(holed, told, reading)


# Named cases --------------------------------------------------------------------------------------


def test_bias_by_column_by_hand() -> None:
    """Two columns with three holes of A each, worked out in the trial of the judge."""
    rows = [("a", "a"), *[(None, None)] * 3, ("a", "a")]
    index = CountIndex.from_rows(
        rows, list("AAAAB"), features=["f", "g"], domains={"f": ["a", "b"], "g": ["a", "b"]}
    )
    for fixed, expected in [
        (None, 1 / 3),
        ({}, 1 / 3),
        ({"g": 0}, 2 / 3),
        ({"g": 1}, math.nan),
        ({"f": Fraction(1, 3), "g": Fraction(1, 3)}, 1.0),
    ]:
        told = tolerance(index, [("a", "a")], alpha=0, fixed=fixed)
        np.testing.assert_array_equal(told, [expected])


def test_no_tolerance_is_written_without_a_sign() -> None:
    """A point that holds at a bias of 0 only has the tolerance 0.0; -0.0 would be shown as that.

    S_C = 9/11 · c/2, S_B = 1/11: C wins with one of its two holes, and at any bias above 0 may have none.
    """
    rows = [(0,), (1,), (None,), (None,)]
    index = CountIndex.from_rows(rows, list("ABCC"), domains={"x0": [0, 1]})
    told = tolerance(index, [(1,)], alpha=0, prior=[1, 1, 9])
    assert [str(number) for number in told.tolist()] == ["0.0"]


@pytest.mark.filterwarnings("ignore:points hold values")
def test_leads_that_rounding_leaves_at_zero() -> None:
    """Where no end of a bracket has a lead, its middle is tried; exact verdicts agree with the answer."""
    index, points = hostile_index(), hostile_points()
    told = tolerance(index, points, alpha=0)
    for place in np.flatnonzero((told > 0) & (told < 1)).tolist():
        last = float(told[place])
        for bias, holds in ((last, True), (math.nextafter(last, 1), False)):
            assert certify(index, points[place], alpha=0, bias=bias).certain is holds


def test_ties_and_single_labels() -> None:
    """A tie without any hole has no tolerance; a label without a rival always has all of it."""
    tied = CountIndex.from_rows([("a",), ("a",)], ["A", "B"])
    assert np.isnan(tolerance(tied, [("a",)], alpha=1)).all()
    alone = CountIndex.from_rows([("a",), (None,)], ["A", "A"])
    points: list[tuple[Any, ...]] = [("a",), ("never",), (None,)]
    assert tolerance(alone, points, alpha=0).tolist() == [1, 1, 1]
    assert tolerance(alone, [], alpha=0).shape == (0,)


@pytest.mark.parametrize("fixed", [{"f0": 2}, {"f0": -1}, {"f0": "x"}, {"f0": math.nan}, {"g": 0}])
def test_bad_fixed_columns(fixed: Any) -> None:
    """A bias that is none and an unknown column are refused in one sentence."""
    index = CountIndex.from_rows([("a",), (None,), ("b",)], list("AAB"), features=["f0"])
    with pytest.raises(NullproofError) as problem:
        tolerance(index, [("a",)], alpha=1, fixed=fixed)
    assert len(str(problem.value).splitlines()) == 1
