"""The radius of points that leave features out equals that on a table without these columns.

``NULLPROOF_RADIUS_TABLES`` sets the number of random tables, ``NULLPROOF_SEED`` the seed they start from.
"""

from __future__ import annotations

import math
import os
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.blanking_oracle import brute_radius, radius_case, subset_radius
from support.count_tables import index_from_counts, random_codes, random_index
from support.own_missing import with_own_missing, without_holes
from support.strategies import EXTREME_ALPHAS, Case

from nullproof.attacks.poisoning import poison
from nullproof.counts.index import CountIndex
from nullproof.decision import certify
from nullproof.errors import NullproofError
from nullproof.model import Model
from nullproof.radii.cells import radii, radius
from nullproof.radii.reach import Reach
from nullproof.radii.solving import PointCounts

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

N_TABLES = int(os.environ.get("NULLPROOF_RADIUS_TABLES", "6000"))
SEED = int(os.environ.get("NULLPROOF_SEED", "20240604"))
N_CHUNKS = 10


def index_of(case: Case) -> CountIndex:
    """Count a case's table."""
    return CountIndex.from_rows(
        case.rows, case.labels, features=case.features, domains=case.declared
    )


def assert_equals_shorter_points(case: Case) -> int:
    """Compare every point with brute force on the columns that it knows; count finite radii."""
    index = index_of(case)
    options: Any = {"alpha": case.alpha, "prior": case.prior_for(index.labels)}
    found = radii(index, list(case.points), **options)
    expected = [brute_radius(*without_holes(case, point)) for point in case.points]
    assert found.radius.tolist() == expected, case
    for place, point in enumerate(case.points):
        if 0 < expected[place] < math.inf:
            assert_attack_works(case, index, point, int(expected[place]), options)
    return sum(0 < value < math.inf for value in expected)


def assert_attack_works(
    case: Case, index: CountIndex, point: tuple[Any, ...], n_cells: int, options: Any
) -> None:
    """The cells to blank lie in columns that the point knows, and brute force sees it fall."""
    attack = poison(index, [point], **options)
    assert attack.n_cells == attack.lower_bound == n_cells
    cells = attack.cells(case.rows, case.labels)
    assert all(point[case.features.index(name)] is not None for _, name in cells)
    rows = attack.apply(case.rows, case.labels)
    declared = dict(zip(case.features, case.domains, strict=True))
    after = Case(tuple(rows), case.labels, case.features, declared, (), case.alpha, case.prior)
    assert brute_radius(*without_holes(after, point)) == 0
    assert not certify(attack.index_after, [point], **options).certain.any()


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_random_tables(chunk: int) -> None:
    """Theory 9: a feature left out is neither raised nor lowered, and its factor is 1."""
    seed = f"{SEED}-skip-{chunk}"
    print("seed", seed)
    rng = random.Random(seed)
    n_tables = math.ceil(N_TABLES / N_CHUNKS / 2)
    n_attacked = sum(
        assert_equals_shorter_points(with_own_missing(rng, radius_case(rng)))
        for _ in range(n_tables)
    )
    assert n_attacked >= n_tables // 10


def test_all_subsets_of_cells_and_all_worlds() -> None:
    """Nothing taken for granted: every subset of cells and every world of the shorter table."""
    rng = random.Random(f"{SEED}-skip-subsets")
    n_attacked = 0
    for _ in range(60):
        case = with_own_missing(rng, radius_case(rng, max_rows=4, max_features=3), 2)
        index = index_of(case)
        expected = [subset_radius(*without_holes(case, point)) for point in case.points]
        options: Any = {"alpha": case.alpha, "prior": case.prior_for(index.labels)}
        assert radius(index, list(case.points), **options).tolist() == expected
        n_attacked += sum(0 < value < math.inf for value in expected)
    assert n_attacked >= 10


def test_smoothing_beyond_doubles() -> None:
    """Where no double holds the smoothing, integers leave features out as well."""
    rng = random.Random(f"{SEED}-skip-extreme")
    for _ in range(60):
        case = with_own_missing(rng, radius_case(rng))
        extreme = Case(
            case.rows, case.labels, case.features, case.declared, case.points,
            rng.choice(EXTREME_ALPHAS), case.prior,
        )  # fmt: skip
        assert_equals_shorter_points(extreme)


@pytest.mark.parametrize("alpha", [0, 1, Fraction(1, 3), 0.1])
@pytest.mark.parametrize("scale", [30, 2000])
def test_counts_too_large_to_enumerate(alpha: Any, scale: int) -> None:
    """On larger tables, hole pattern by hole pattern: equal to an index without those columns."""
    rng = random.Random(f"{SEED}-skip-{scale}-{alpha}")
    n_attacked = 0
    for _ in range(6):
        index = random_index(rng, scale)
        points = random_codes(rng, index, 40)
        codes = points.codes.copy()
        holes = np.array([[rng.random() < 0.4 for _ in range(40)] for _ in index.features])
        codes[holes] = np.broadcast_to(index.n_values[:, None] + 1, codes.shape)[holes]
        found = radii(index, points.with_codes(codes), alpha=alpha)
        for place in range(40):
            known = np.flatnonzero(~holes[:, place])
            if not len(known):
                continue
            shorter = columns_of(index, known)
            alone = shorter.encode(points.codes[known, place][None, :])
            assert radius(shorter, alone, alpha=alpha)[0] == found.radius[place]
            n_attacked += 0 < found.radius[place] < math.inf
    assert n_attacked > 12


def columns_of(index: CountIndex, places: np.ndarray[Any, Any]) -> CountIndex:
    """The index of the same rows with some of the columns."""
    schema = index.schema
    features = tuple(schema.features[j] for j in places.tolist())
    return CountIndex(
        type(schema)(features, schema.labels),
        index.label_counts,
        tuple(index.known[j] for j in places.tolist()),
        index.n_null[places],
        tuple(index.sets[j] for j in places.tolist()),
    )


def test_nothing_known() -> None:
    """A point without any known cell is predicted by the prior, which no blanking changes."""
    index = index_from_counts([6, 3], [[(5, 1), (1, 2)], [(3, 1), (3, 2)]])
    for alpha in (0, 1, Fraction(1, 3)):
        found = radii(index, [(None, None), ("0", None)], alpha=alpha)
        assert found.radius[0] == math.inf
        assert found.label[0] == "L0"
        assert 0 < found.radius[1] < math.inf
        assert radius(index, (None, None), alpha=alpha, prior="uniform").tolist() == [0]
        with pytest.raises(NullproofError, match="no attack can break point 0"):
            poison(index, [(None, None)], alpha=alpha)


def test_left_out_is_not_unseen() -> None:
    """Without smoothing an unseen value ties all labels at zero; a feature left out does not."""
    index = index_from_counts([6, 3], [[(5, 1), (1, 2)], [(3, 1), (3, 2)]])
    assert radius(index, ("0", "9"), alpha=0).tolist() == [0]
    assert radius(index, ("0", None), alpha=0).tolist() == [
        radius(columns_of(index, np.array([0])), ("0",), alpha=0)[0]
    ]
    codes = np.array([[0], [3]], dtype=np.int32)
    counts = PointCounts(Model(index, alpha=0), codes, Reach.of(index))
    assert counts.is_movable.ravel().tolist() == [True, False]


def test_the_two_readings() -> None:
    """The reading is asked for by name; whatever holds for "any" value holds without it."""
    rng = random.Random(f"{SEED}-readings")
    for _ in range(60):
        case = with_own_missing(rng, radius_case(rng))
        index = index_of(case)
        options: Any = {"alpha": case.alpha, "prior": case.prior_for(index.labels)}
        points = list(case.points)
        skip = radius(index, points, own_missing="skip", **options)
        any_value = radius(index, points, own_missing="any", **options)
        assert any_value.tolist() == [brute_radius(case, point) for point in points]
        assert ((any_value > 0) <= (skip > 0)).all()
        assert radius(index, points, **options).tolist() == skip.tolist()
    with pytest.raises(NullproofError, match="own_missing is 'none'"):
        radius(index, points, own_missing="none", alpha=0)  # type: ignore[arg-type]


def test_feature_with_many_values() -> None:
    """Of a feature with thousands of values only those of the points are looked up, or none."""
    values = [f"v{i % 5000}" for i in range(20_000)]
    labels = ["A" if i % 5000 < 4000 or i % 2 else "B" for i in range(20_000)]
    rows = [(v, "x" if label == "A" else "y") for v, label in zip(values, labels, strict=True)]
    index, narrow = (
        CountIndex.from_rows(rows, labels),
        CountIndex.from_rows([r[1:] for r in rows], labels),
    )
    found = radius(index, [(None, "x"), ("v7", "x"), (None, "y"), (None, None)], alpha=0)
    assert found[[0, 2]].tolist() == radius(narrow, [("x",), ("y",)], alpha=0).tolist()
    assert found[1] == radius(index, ("v7", "x"), alpha=0)[0]
    assert found[3] == math.inf
