"""radius with added rows against brute force over all multisets of rows (T13).

``NULLPROOF_ROWS_TABLES`` sets the number of random tables, ``NULLPROOF_SEED`` the seed they start from.
"""

from __future__ import annotations

import math
import os
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.adding_oracle import ALPHAS, rows_radius, rows_radius_by_worlds, small_case
from support.count_tables import index_from_counts, random_codes, random_index
from support.own_missing import with_own_missing, without_holes
from support.strategies import Case

from nullproof.counts.index import CountIndex
from nullproof.errors import NullproofError
from nullproof.model import Model
from nullproof.radii.cells import radii, radii_of, radius
from nullproof.radii.results import Radii
from nullproof.radii.solving import PointCounts
from nullproof.tables.points import Points
from nullproof.verdicts import verdicts

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

N_TABLES = int(os.environ.get("NULLPROOF_ROWS_TABLES", "5000"))
SEED = int(os.environ.get("NULLPROOF_SEED", "20240604"))
N_CHUNKS = 10


def index_of(case: Case) -> CountIndex:
    """Count a case's table."""
    return CountIndex.from_rows(
        case.rows, case.labels, features=case.features, domains=case.declared
    )


def found_for(case: Case, own_missing: Any) -> Radii:
    """Ask for the radii of a case's points."""
    index = index_of(case)
    prior = case.prior_for(index.labels)
    return radii(
        index,
        list(case.points),
        alpha=case.alpha,
        prior=prior,
        own_missing=own_missing,
        threat="rows",
    )


def capped(found: Radii, most: int) -> list[float]:
    """What brute force over so many rows can tell of the radii."""
    return [own if own <= most else math.inf for own in found.radius.tolist()]


# Random tables ------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_random_tables(chunk: int) -> None:
    """T13: the radius is the fewest rows of all multisets, so one row fewer never suffices."""
    seed = f"{SEED}-rows-{chunk}"
    print("seed", seed)
    rng = random.Random(seed)
    n_tables, n_attacked = math.ceil(N_TABLES * 0.8 / N_CHUNKS), 0
    for _ in range(n_tables):
        case, most = small_case(rng, 120)
        found = found_for(case, "any")
        expected = [rows_radius(case, point, most) for point in case.points]
        assert capped(found, most) == expected, case
        assert_consistent(found)
        n_attacked += sum(0 < own < math.inf for own in expected)
    assert n_attacked > n_tables / 4 or n_tables < 50


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_points_that_leave_features_out(chunk: int) -> None:
    """Under skip the radius is that of the shorter point, on a table without those columns."""
    seed = f"{SEED}-rows-skip-{chunk}"
    print("seed", seed)
    rng = random.Random(seed)
    n_tables, n_attacked = math.ceil(N_TABLES * 0.2 / N_CHUNKS), 0
    for _ in range(n_tables):
        case, most = small_case(rng, 120)
        case = replace(with_own_missing(rng, case, n_points=2), alpha=case.alpha)
        found = found_for(case, "skip")
        expected = [rows_radius(*without_holes(case, point), most) for point in case.points]
        assert capped(found, most) == expected, case
        assert_consistent(found)
        n_attacked += sum(0 < own < math.inf for own in expected)
    assert n_attacked or n_tables < 50


def test_all_multisets_and_all_worlds() -> None:
    """Nothing taken for granted: every multiset of rows, every world, every completion."""
    rng = random.Random(f"{SEED}-rows-worlds")
    n_attacked = 0
    for _ in range(60):
        case, most = small_case(rng, 40)
        expected = [rows_radius_by_worlds(case, point, most) for point in case.points]
        assert capped(found_for(case, "any"), most) == expected, case
        n_attacked += sum(0 < own < math.inf for own in expected)
    assert n_attacked >= 10


def assert_consistent(found: Radii) -> None:
    """A radius is the sum of its rows, and these rows take the label."""
    counts = PointCounts(found.model, found.codes, found.reach)
    finite = (found.radius > 0) & np.isfinite(found.radius)
    assert (found.radius == found.n_raise + found.n_lower)[finite].all()
    assert (found.n_raise >= 0).all()
    assert (found.n_lower >= 0).all()
    for place in np.flatnonzero(finite).tolist():
        pair = int(found.winner[place]), int(found.overtaker[place])
        steps = int(found.n_raise[place]), int(found.n_lower[place])
        assert counts.additions(place, *pair).falls(*steps)


# Floats against integers --------------------------------------------------------------------------


def test_floats_agree_with_integers() -> None:
    """On tables with hundreds of rows floats, where they dare to tell, find what integers find."""
    rng = random.Random(f"{SEED}-rows-floats")
    n_certain = n_certain_with_unseen = 0
    for _ in range(60):
        index = random_index(rng, rng.choice([5, 50, 500]))
        m = len(index.labels)
        numbers = [rng.choice([0.1, 1, 7]) for _ in range(m)]
        prior: Any = rng.choice([None, None, "uniform", numbers])
        alpha: Any = rng.choice([*ALPHAS, 1e-10, 50])
        model = Model(index, alpha, prior)
        points = left_out(rng, random_codes(rng, index, 12))
        judged = verdicts(model, points)
        quick = radii_of(model, points, judged, threat="rows")
        assert_consistent(quick)
        model.floats_hold = False
        assert (
            quick.radius.tolist() == radii_of(model, points, judged, threat="rows").radius.tolist()
        )
        n_certain += int(judged.certain.sum())
        n_certain_with_unseen += int((judged.certain & points.unseen.any(axis=0)).sum())
    assert n_certain > 300
    assert n_certain_with_unseen > 20


def left_out(rng: random.Random, points: Points) -> Points:
    """Let one table in three have points that leave out features."""
    holes = np.random.default_rng(rng.randrange(2**32)).random(points.codes.shape) < 0.15
    if rng.random() < 2 / 3:
        return points
    skipped = (points.n_values[:, None] + 1).astype(np.int32)
    return Points.without_holes(np.where(holes, skipped, points.codes), points.n_values)


# Named tables -------------------------------------------------------------------------------------


def test_rows_may_raise_first_and_lower_then() -> None:
    """T13: with two unseen values a label's support is (n + 1)/(n + 3)², and falls from n = 2 on.

    The winner's rows are of use from the fourth on, where it has less support than without any.
    """
    index = index_from_counts([6, 1], [[(3, 1), (3, 0)], [(3, 1), (3, 0)]])
    model = Model(index)
    lone = [0, 0]
    rising = [model.exceeds(1, lone, 1, lone, added=(n + 1, n)) for n in range(4)]
    assert rising == [True, False, False, False]
    found = radii(index, [("9", "9")], threat="rows")
    assert (found.label[0], found.n_raise[0], found.n_lower[0]) == ("L1", 0, 5)
    additions = PointCounts(model, found.codes, found.reach).additions(0, 1, 0)
    assert not any(additions.falls(a, b) for a in range(5) for b in range(5 - a))


def test_one_row_is_more_than_enough() -> None:
    """Without smoothing one row may give a rival far more support than the winner has, never fewer."""
    index = index_from_counts([900, 300], [[(1, 299), (899, 1)], [(600, 300), (300, 0)]])
    found = radii(index, [("0", "1")], alpha=0, threat="rows")
    assert (found.label[0], found.radius[0], found.n_raise[0]) == ("L0", 1, 1)
    assert_consistent(found)


def test_rival_without_rows_may_need_none() -> None:
    """With smoothing and a given prior a label without any row has support: a row against it is enough."""
    index = index_from_counts([0, 0], [[(0, 0), (0, 0)]] * 3)
    found = radii(index, [("0", "0", "0")], alpha=1 / 3, prior=[7, 1], threat="rows")
    assert (found.radius[0], found.n_raise[0], found.n_lower[0]) == (1, 0, 1)


def test_no_number_of_rows_is_enough() -> None:
    """Infinite: one label alone, a rival of prior 0, or a given prior and nothing to disagree in."""
    alone = index_from_counts([3], [[(1,), (2,)]])
    assert radius(alone, [("0",), ("1",)], threat="rows").tolist() == [math.inf] * 2
    index = index_from_counts([3, 2], [[(2, 0), (1, 2)], [(3, 2)]])
    options: Any = {"threat": "rows", "own_missing": "skip"}
    assert radius(index, [("0", "0")], prior=[1, 0], **options).tolist() == [math.inf]
    assert radius(index, [(None, "0")], prior=[2, 1], **options).tolist() == [math.inf]
    assert radius(index, [(None, "0")], **options).tolist() == [1]
    bare = index_from_counts([3, 0], [[(3, 0)]])
    assert radius(bare, [("0",)], alpha=0, prior=[1, 1], **options).tolist() == [1]


def test_counted_prior_follows_the_rows() -> None:
    """The same numbers given as a prior stay, so that more rows are needed."""
    index = index_from_counts([60, 20], [[(40, 10), (20, 10)], [(30, 10), (30, 10)]])
    counted = radius(index, [("0", "0")], threat="rows")
    given = radius(index, [("0", "0")], prior=[60, 20], threat="rows")
    assert (counted[0], given[0]) == (18, 41)


def test_unknown_threat() -> None:
    """Only threats with an exact answer are taken."""
    index = index_from_counts([3, 2], [[(2, 0), (1, 2)]])
    with pytest.raises(NullproofError, match="threat is 'labels'; give 'cells'"):
        radius(index, ("0",), threat="labels")  # type: ignore[arg-type]


def test_what_is_shown() -> None:
    """The summary and the JSON form say that rows are added."""
    index = index_from_counts([60, 20], [[(40, 10), (20, 10)], [(30, 10), (30, 10)]])
    found = radii(index, [("0", "0")], threat="rows")
    assert "rows to add: 18 to 18" in repr(found)
    assert found.document()["threat"] == "rows"
    assert radii(index, [("0", "0")]).document()["threat"] == "cells"


def test_a_radius_that_no_double_holds_is_not_worked_out() -> None:
    """More than 2^53 rows are told in words, not as a number that was rounded or ran over."""
    rows, labels = [("a",), ("a",), ("b",), ("b",)], ["yes", "yes", "no", "no"]
    index = CountIndex.from_rows(rows, labels)
    points: Any
    for share in (1e-17, 1e-19, 1e-300):
        for points in ([("a",)], [({"a", "c"},)]):
            found = radii(index, points, prior=[share, 1], threat="rows")[0]
            assert math.isnan(found.radius)
            assert found.not_worked_out == "an attack takes more than 9,007,199,254,740,992 rows"
    beyond = radii(index, [("a",)], prior=[0, 1], threat="rows")[0]
    assert (beyond.radius, beyond.not_worked_out) == (math.inf, None)


def test_what_is_shown_where_nothing_can_be_broken() -> None:
    """Without a number there is no line of numbers."""
    index = CountIndex.from_rows([("a",), ("b",)], ["yes", "no"])
    found = radii(index, [("a",)], prior=[0, 1], threat="rows")
    assert repr(found) == "Radii: 1 points, 0 not certain, 1 beyond any attack"
