"""radius against brute force over all blanked cells, on named tables, and against its laws.

``NULLPROOF_RADIUS_TABLES`` sets the number of random tables, ``NULLPROOF_SEED`` the seed they start from.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from support.blanking_oracle import brute_radius, radius_case, subset_radius
from support.count_tables import (
    exact_radius,
    first_point,
    frontier_by_steps,
    index_from_counts,
    random_codes,
    random_index,
    two_labels,
)
from support.strategies import Case, cases

from nullproof.counts.index import CountIndex
from nullproof.model import Model
from nullproof.radii.cells import radii, radius
from nullproof.radii.results import Radii
from nullproof.tables.points import Points
from nullproof.verdicts import verdicts

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

N_TABLES = int(os.environ.get("NULLPROOF_RADIUS_TABLES", "6000"))
SEED = int(os.environ.get("NULLPROOF_SEED", "20240604"))
N_CHUNKS = 20


def index_of(case: Case) -> CountIndex:
    """Count a case's table."""
    return CountIndex.from_rows(
        case.rows, case.labels, features=case.features, domains=case.declared
    )


def assert_equals_brute_force(case: Case) -> int:
    """Compare every point of a case; return how many have a radius to find."""
    index = index_of(case)
    prior = case.prior_for(index.labels)
    found = radii(index, list(case.points), alpha=case.alpha, prior=prior, own_missing="any")
    expected = [brute_radius(case, point) for point in case.points]
    assert found.radius.tolist() == expected, case
    assert_consistent(found)
    return sum(value > 0 for value in expected)


def assert_consistent(found: Radii) -> None:
    """A radius is the sum of its steps, and a rival is named exactly where there is an attack."""
    finite = np.isfinite(found.radius)
    assert (found.radius[finite] == (found.n_raise + found.n_lower)[finite]).all()
    assert [name is None for name in found.label] == (found.radius == 0).tolist()
    assert [name is None for name in found.rival] == (~finite | (found.radius == 0)).tolist()


# Random tables ------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_random_tables(chunk: int) -> None:
    """T5, T6, T7, T8: the radius is the fewest cells over all vectors of blanked cells."""
    seed = f"{SEED}-radius-{chunk}"
    print("seed", seed)
    rng = random.Random(seed)
    n_tables = math.ceil(N_TABLES / N_CHUNKS)
    n_attacked = sum(assert_equals_brute_force(radius_case(rng)) for _ in range(n_tables))
    assert n_attacked > n_tables / 4


@given(cases())
@settings(max_examples=200, deadline=None)
def test_shrinking_tables(case: Case) -> None:
    """The same law with cases that shrink to the smallest disagreement."""
    assert_equals_brute_force(case)


@pytest.mark.parametrize("chunk", range(10))
def test_all_subsets_of_cells_and_all_worlds(chunk: int) -> None:
    """Nothing taken for granted: every subset of cells, every world, every completion."""
    seed = f"{SEED}-subsets-{chunk}"
    print("seed", seed)
    rng = random.Random(seed)
    n_attacked = 0
    for _ in range(30):
        case = radius_case(rng, max_rows=4, max_features=2)
        index = index_of(case)
        prior = case.prior_for(index.labels)
        expected = [subset_radius(case, point) for point in case.points]
        options: Any = {"alpha": case.alpha, "prior": prior, "own_missing": "any"}
        assert radius(index, list(case.points), **options).tolist() == expected
        n_attacked += sum(0 < value < math.inf for value in expected)
    assert n_attacked >= 5


# Named tables -------------------------------------------------------------------------------------


def steps_alone(index: CountIndex) -> tuple[float, float]:
    """Return what only raising and only lowering cost, as the paper's Algorithm 3 walks them."""
    model = Model(index, alpha=0)
    low = [int(index.low(j)[0, 0]) for j in range(model.d)]
    high = [int(index.high(j)[0, 1]) for j in range(model.d)]
    cap = int(index.label_counts[1])

    def catching_up(counts: list[int], step: int) -> float:
        n_steps = 0
        while model.exceeds(0, low, 1, high):
            movable = [
                j for j, count in enumerate(counts) if (count > 0 if step < 0 else count < cap)
            ]
            if not movable:
                return math.inf
            counts[min(movable, key=counts.__getitem__)] += step
            n_steps += 1
        return n_steps

    raising = catching_up(high, +1)
    high[:] = [int(index.high(j)[0, 1]) for j in range(model.d)]
    return raising, catching_up(low, -1)


def test_counterexample_to_the_key_lemma() -> None:
    """T6: A2 alone needs 3 cells, A1 alone never suffices, one of each are enough."""
    index = two_labels((5, 1), (3, 3, 3), (0, 1, 1))
    assert steps_alone(index) == (math.inf, 3)
    found = radii(index, first_point(index), alpha=0)
    assert (found.radius[0], found.n_raise[0], found.n_lower[0]) == (2, 1, 1)
    assert (found.label[0], found.rival[0]) == ("L0", "L1")


def test_rare_label_beats_the_greedy_of_the_paper() -> None:
    """A rival with 2 % of the rows saturates, then a mix is far cheaper than either side alone."""
    index = two_labels((4900, 100), (4000, 4200, 4400), (60, 90, 100))
    raising, lowering = steps_alone(index)
    found = radii(index, first_point(index), alpha=0)
    assert found.radius[0] == frontier_by_steps(index) < min(raising, lowering)
    assert found.n_raise[0] == 50
    assert found.n_lower[0] > 0


def test_rival_that_stays_at_zero() -> None:
    """Without smoothing a rival without rows ties once the winner's smallest count is gone."""
    index = index_from_counts([4, 0], [[(3, 0), (1, 0)], [(4, 0), (0, 0)]])
    found = radii(index, first_point(index), alpha=0)
    assert (found.radius[0], found.n_raise[0], found.n_lower[0]) == (3, 0, 3)
    assert radius(index, first_point(index), alpha=1).tolist() == [frontier_by_steps(index, 1)]


def test_no_attack_exists() -> None:
    """Infinite: one label alone, nothing to move, or smoothing that keeps the winner ahead."""
    alone = index_from_counts([3], [[(1,), (2,)]])
    assert radius(alone, [("0",), ("1",), ("9",)], alpha=0).tolist() == [math.inf] * 3
    rigid = index_from_counts([3, 2], [[(3, 2)]])
    assert radius(rigid, ("0",), alpha=0).tolist() == [math.inf]
    heavy = index_from_counts([9, 1], [[(9, 0), (0, 1)]])
    found = radii(heavy, ("0",), alpha=50)
    assert found.radius.tolist() == [math.inf]
    assert found.rival.tolist() == [None]


def test_zero_prior_never_catches_up() -> None:
    """With smoothing a label of prior 0 has support 0 and the winner never has."""
    index = index_from_counts([3, 3], [[(2, 1), (1, 2)]])
    assert radius(index, ("0",), alpha=1, prior=[1, 0]).tolist() == [math.inf]
    assert radius(index, ("0",), alpha=0, prior=[1, 0]).tolist() == [2]


def test_unseen_value_cannot_be_raised() -> None:
    """A value outside the domain has count 0 in every world, blanked cells or not."""
    index = index_from_counts([6, 3], [[(5, 1), (1, 2)], [(3, 1), (3, 2)]])
    rows = [*[("0", "0")] * 3, *[("0", "1")] * 2, ("1", "1"), ("0", "0"), *[("1", "1")] * 2]
    case = Case(
        tuple(rows),
        ("L0",) * 6 + ("L1",) * 3,
        ("x0", "x1"),
        {"x0": ("0", "1"), "x1": ("0", "1")},
        (),
        1,
        None,
    )
    for point in [("0", "9"), ("9", "0"), ("9", "9")]:
        assert radius(index, point, alpha=1).tolist() == [brute_radius(case, point)]
        assert radius(index, point, alpha=0).tolist() == [0]


# Laws and edges -----------------------------------------------------------------------------------


def test_order_of_features_and_labels_does_not_matter() -> None:
    """Turning the columns around, or renaming the labels in another order, keeps every radius."""
    rng = random.Random(f"{SEED}-order")
    for _ in range(40):
        case = radius_case(rng)
        renamed = {name: f"{9 - place}" for place, name in enumerate("ABCD")}
        turned = Case(
            tuple(row[::-1] for row in case.rows),
            tuple(renamed[label] for label in case.labels),
            case.features[::-1],
            case.declared,
            tuple(point[::-1] for point in case.points),
            case.alpha,
            None,
        )
        expected = radius(index_of(case), list(case.points), alpha=case.alpha)
        assert (
            radius(index_of(turned), list(turned.points), alpha=case.alpha).tolist()
            == expected.tolist()
        )


def test_many_points_at_once() -> None:
    """Blocks of points change nothing: each has the radius it has alone."""
    rng = random.Random(f"{SEED}-blocks")
    index = random_index(rng, 50)
    few = random_codes(rng, index, 40)
    picks = np.array([rng.randrange(40) for _ in range(20_000)])
    many = Points(few.codes[:, picks], few.n_values, few.sets)
    alone = [
        radius(index, Points(few.codes[:, p : p + 1], few.n_values, few.sets), alpha=0)[0]
        for p in range(40)
    ]
    assert (radius(index, many, alpha=0) == np.array(alone)[picks]).all()


def test_domain_with_many_values() -> None:
    """Of a feature with thousands of values only those of the points are looked up."""
    values = [f"v{i % 5000}" for i in range(20_000)]
    labels = ["A" if i % 5000 < 4000 or i % 2 else "B" for i in range(20_000)]
    rows = [
        (value, "x" if label == "A" else "y") for value, label in zip(values, labels, strict=True)
    ]
    index = CountIndex.from_rows(rows, labels)
    found = radii(index, [("v7", "x"), ("v4999", "x"), ("v4998", "y"), ("elsewhere", "x")], alpha=0)
    codes = index.encode([("v7", "x"), ("v4999", "x"), ("v4998", "y")]).codes.T.tolist()
    expected = [exact_or_zero(index, code) for code in codes]
    assert found.radius.tolist() == [*expected, 0]


def exact_or_zero(index: CountIndex, codes: Sequence[int]) -> float:
    """Solve one complete point with integers only."""
    model = Model(index, alpha=0)
    points = Points(np.array([codes], dtype=np.int32).T, index.n_values, ((),) * model.d)
    possible = verdicts(model, points).possible[0]
    return exact_radius(model, points, 0, int(possible.argmax())) if possible.sum() == 1 else 0


def test_nothing_to_do() -> None:
    """No points, or none that is certain, give an empty answer and zeros."""
    index = two_labels((4, 4), (2, 2), (2, 2))
    nothing = Points(np.zeros((2, 0), dtype=np.int32), index.n_values, ((), ()))
    assert radius(index, nothing, alpha=0).tolist() == []
    assert "0 points" in repr(radii(index, nothing, alpha=0))
    tied = radii(index, first_point(index), alpha=0)
    assert repr(tied) == "Radii: 1 points, 1 not certain, 0 beyond any attack"
    assert (tied.radius.tolist(), tied.label.tolist(), tied.rival.tolist()) == ([0], [None], [None])


def test_repr_counts_the_points() -> None:
    """The summary tells apart weak points, those beyond attack, and the range of the others."""
    index = two_labels((5, 1), (3, 3, 3), (0, 1, 1))
    found = radii(index, [("0", "0", "0"), ("1", "1", "1")], alpha=0)
    assert repr(found).startswith("Radii: 2 points")
    assert "cells to blank" in repr(found)
    columns = found.columns()
    assert columns["radius"] == found.radius.tolist()
    assert (columns["label"][0], columns["rival"][0]) == ("L0", "L1")
    assert (columns["n_raise"][0], columns["n_lower"][0]) == (1, 1)
    html = found._repr_html_()
    assert repr(found).split("\n")[0] in html
    assert html.count("<tr") == 1 + len(found)
