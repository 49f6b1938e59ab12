"""radius: the fewest training cells to blank, or to be wrong, until a point is no longer certain."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.amounts import n_tables, seeded
from support.attack_oracle import WrongCells, fewest_cells, radius_of, smallest_first, views
from support.attack_tables import attack_case, large_points, large_table, tiny_case
from support.counted import index_of, index_of_codes, options_of
from support.large_counts import index_from_counts, two_labels
from support.strategies import EXTREME_ALPHAS, Case

from nullproof import radius
from nullproof.attacks import Radii

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")

N_TABLES = n_tables(1500)
N_CHUNKS = 4


def radii_of(case: Case, **more: Any) -> Radii:
    """Ask for the radii of a case's points."""
    index = index_of(case)
    return radius(index, list(case.points), **options_of(case, index), **more)


def assert_consistent(found: Radii) -> None:
    """A radius is the sum of its steps, and a rival is named exactly where there is an attack."""
    size = np.asarray(found.radius)
    finite = np.isfinite(size)
    assert (size[finite] == (found.n_raise + found.n_lower)[finite]).all()
    assert [name is None for name in found.label] == (size == 0).tolist()
    assert [name is None for name in found.rival] == (~finite | (size == 0)).tolist()
    assert all(a != b for a, b in zip(found.label, found.rival, strict=True) if a is not None)


# Random tables ------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_random_tables(chunk: int) -> None:
    """T5 to T8: the radius is the fewest cells over all numbers of blanked cells."""
    rng = seeded("radius", chunk)
    n_tables, n_attacked = max(N_TABLES // N_CHUNKS, 30), 0
    for _ in range(n_tables):
        case = attack_case(rng)
        found = radii_of(case)
        expected = [radius_of(views(case, p), Fraction(case.alpha)) for p in case.points]
        assert [*zip(found.label, found.radius, strict=True)] == expected, case
        assert_consistent(found)
        n_attacked += sum(0 < size < math.inf for _, size in expected)
    assert n_attacked > n_tables / 4


@pytest.mark.parametrize("chunk", range(2))
def test_wrong_cells(chunk: int) -> None:
    """T12: no fewer wrong cells than blanked ones take a point's label, and as many do."""
    rng = seeded("wrong", chunk)
    n_tables, n_attacked = max(N_TABLES // 10, 20), 0
    for _ in range(n_tables):
        case = tiny_case(rng)
        tables = WrongCells(case)
        expected = [tables.radius(point) for point in case.points]
        assert np.asarray(radii_of(case).radius).tolist() == expected, case
        n_attacked += sum(0 < own < math.inf for own in expected)
    assert n_attacked > n_tables / 5


# Larger counts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", range(2))
def test_hundreds_of_rows(chunk: int) -> None:
    """T7: what is found on large counts is what a walk over all greedy steps finds, exactly."""
    rng = seeded("large", chunk)
    n_attacked = 0
    for _ in range(max(N_TABLES // 12, 30)):
        table = large_table(rng, rng.choice([8, 40, 40, 150, 400]), rng.choice([1, 1, 1, 4]))
        alpha: Any = rng.choice([0, 0, 1, Fraction(1, 2), 0.1, 3, 1e-6, 50])
        numbers = [rng.choice([0.1, 1, 7]) for _ in np.unique(table.labels)]
        prior, points = rng.choice([None, None, numbers]), large_points(rng, table, 4)
        expected = []
        for point in points:
            own = table.views(point, Fraction(alpha), prior)
            expected.append(radius_of(own, Fraction(alpha), smallest_first)[1])
        found = radius(index_of_codes(table), points, alpha=alpha, prior=prior)
        assert np.asarray(found.radius).tolist() == expected, (table, points, alpha, prior)
        assert_consistent(found)
        n_attacked += sum(3 < size < math.inf for size in expected)
    assert n_attacked > 20


def greedy(counts: list[int], n_cells: int, step: int, end: int) -> list[int]:
    """Move the smallest counts n_cells steps at once: a water level, found by halves."""
    if step > 0:
        low, high = min(counts), end
        while low < high:
            level = (low + high + 1) // 2
            needed = sum(max(0, level - c) for c in counts)
            low, high = (level, high) if needed <= n_cells else (low, level - 1)
        found = [max(c, low) for c in counts]
        left = n_cells - sum(found) + sum(counts)
        for j in range(len(counts)):
            if left and found[j] == low < end:
                found[j], left = found[j] + 1, left - 1
        return found
    found = [*counts]
    for j in sorted(range(len(counts)), key=counts.__getitem__):
        taken = min(found[j], n_cells)
        found[j], n_cells = found[j] - taken, n_cells - taken
    return found


@pytest.mark.parametrize("alpha", [Fraction(0), Fraction(1), Fraction(5, 2)])
def test_billions_of_rows(alpha: Fraction) -> None:
    """Exact on counts that no walk can go through: r cells do it, r - 1 do not, however split."""
    rng = seeded("billions", alpha)
    n_attacked = 0
    for _ in range(12):
        d, size = rng.randint(1, 4), rng.choice([10**6, 10**9])
        sizes = (size, size // rng.choice([1, 3, 50]))
        winner = [rng.randint(size // 2, size) for _ in range(d)]
        rival = [rng.randint(0, sizes[1]) for _ in range(d)]
        found = radius(two_labels(sizes, winner, rival), ("0",) * d, alpha=alpha)
        if found.label[0] != "L0":
            continue
        own = Fraction(sizes[0]) / math.prod(sizes[0] + 2 * alpha for _ in winner)
        other = Fraction(sizes[1]) / math.prod(sizes[1] + 2 * alpha for _ in winner)

        def falls(
            n_raise: int, n_lower: int, pair: Any = (winner, rival, own, other, sizes[1])
        ) -> bool:
            low = greedy(pair[0], n_lower, -1, 0)
            high = greedy(pair[1], n_raise, +1, pair[4])
            return bool(
                pair[2] * math.prod(c + alpha for c in low)
                <= pair[3] * math.prod(c + alpha for c in high)
            )

        n_most = sum(sizes[1] - c for c in rival)
        if math.isinf(found.radius[0]):
            assert alpha
            assert not falls(n_most, sum(winner))
            continue
        n_cells, a = int(found.radius[0]), int(found.n_raise[0])
        assert falls(a, n_cells - a)
        near = [a + k for k in range(-40, 41)]
        spread = [n_cells * k // 60 for k in range(61)]
        for n_raise in {*near, *spread, n_most, n_most - 1}:
            if 0 <= n_raise <= min(n_most, n_cells - 1):
                assert not falls(n_raise, n_cells - 1 - n_raise), (sizes, winner, rival, n_raise)
        n_attacked += 1
    assert n_attacked >= 4


@pytest.mark.parametrize("size", [10**12, 10**13, 10**14, 10**15])
@pytest.mark.parametrize("weight", [3, 7, 9])
def test_lowering_alone_on_trillions_of_rows(size: int, weight: int) -> None:
    """All rows of the rival agree with the point, so that only the winner's cells are left: exact."""
    for n_rival, count in ((3, size), (10, size - size // 17), (10, size - 3)):
        index = index_from_counts([size, n_rival], [[(count, n_rival), (size - count, 0)]])
        (feature,) = index.schema.features
        schema = replace(index.schema, features=(replace(feature, weight=weight),))
        found = radius(replace(index, schema=schema), ("0",), prior="uniform")
        # The weight is the same for both: (count - r + 1) / (size + 2) is at most the rival's share.
        share = Fraction(n_rival + 1, n_rival + 2)
        assert found.radius.tolist() == [math.ceil(count + 1 - share * (size + 2))]


# Named tables -------------------------------------------------------------------------------------


def test_rare_label_beats_the_greedy_of_the_paper() -> None:
    """A rival with 2 % of the rows saturates; then a mix is far cheaper than either side alone."""
    found = radius(two_labels((4900, 100), (4000, 4200, 4400), (60, 90, 100)), ("0",) * 3, alpha=0)
    assert (found.n_raise[0], found.n_lower[0] > 0) == (50, True)
    assert found.radius[0] < 4000  # lowering alone: the smallest count of all


def test_smallest_first_is_not_best_with_weights() -> None:
    """T17: counts (2, 3) with weights (1/8, 1); three cells of the second column beat smallest first."""
    rows = (("a", "a"), ("a", "a"), ("b", "a"), ("b", "b"), *[("b", "b")] * 4)
    case = Case(rows, (*"AAAABBBB",), ("x", "y"), None, (("a", "a"),), 1, {"A": 1, "B": 1}, (1, 8))
    index = index_of(case)
    found = radius(index, [("a", "a")], only={"columns": ["x", "y"]}, **options_of(case, index))
    assert found.radius.tolist() == [fewest_cells(case, ("a", "a"))]


@pytest.mark.parametrize("alpha", EXTREME_ALPHAS)
def test_smoothing_near_the_limits_of_doubles(alpha: Any) -> None:
    """At the limits of what is taken, radii are exact."""
    rng = seeded(alpha)
    for _ in range(12):
        case = replace(attack_case(rng, max_rows=8, max_features=3), alpha=alpha, prior=None)
        expected = [fewest_cells(case, point) for point in case.points]
        assert radii_of(case).radius.tolist() == expected


# Laws and edges -----------------------------------------------------------------------------------


def test_many_points_at_once() -> None:
    """Each of many points has the radius that it has alone."""
    rng = seeded("blocks")
    table = large_table(rng, 50)
    index, few = index_of_codes(table), large_points(rng, table, 40)
    picks = [rng.randrange(40) for _ in range(20_000)]
    alone = np.array([np.asarray(radius(index, [point], alpha=0))[0] for point in few])
    many = np.asarray(radius(index, [few[p] for p in picks], alpha=0))
    assert (many == alone[picks]).all()


def test_what_radii_tell() -> None:
    """One result: numbers, labels, rivals, a frame, JSON, the weakest points first."""
    index = two_labels((5, 1), (3, 3, 3), (0, 1, 1))
    points = pd.DataFrame({"x0": ["0", "1"], "x1": ["0", "1"], "x2": ["0", "1"]}, index=[7, 9])
    found = radius(index, points, alpha=0)
    assert (found[0].radius, found[0].label, found[0].rival) == (2, "L0", "L1")
    document = found.document()
    assert document["n_points"] == 2
    expected = {"point": 0, "radius": 2, "label": "L0", "rival": "L1"}
    assert document["points"][0].items() >= expected.items()
    frame = found.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame["radius"].tolist() == found.radius.tolist()
    order = [found.radius[place] for place in found.weakest_first]
    assert order == sorted(order)
    assert repr(found).startswith("Radii: 2 of 2 predictions are certain")
    assert "cells" in repr(found)
    beyond = radius(index_from_counts([9, 1], [[(9, 0), (0, 1)]]), ("0",), alpha=50)
    assert beyond.document()["points"][0]["radius"] is None


def test_nothing_to_do() -> None:
    """No points, or none that is certain, give an empty answer and zeros."""
    index = two_labels((4, 4), (2, 2), (2, 2))
    nothing = radius(index, pl.DataFrame({"x0": [], "x1": []}, schema={"x0": str, "x1": str}))
    assert len(nothing) == 0
    assert "0 of 0 predictions" in repr(nothing)
    tied = radius(index, ("0", "0"), alpha=0)
    assert (tied.radius.tolist(), tied.label.tolist(), tied.rival.tolist()) == ([0], [None], [None])
