"""Floats and integers put together: small tables against brute force, with and without limits."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.adding_oracle import rows_radius, small_case
from support.blanking_oracle import brute_radius, radius_case
from support.count_tables import two_labels
from support.limits import random_limits
from support.own_missing import with_own_missing, without_holes
from support.strategies import Case

from nullproof.counts.index import CountIndex
from nullproof.model import Model
from nullproof.radii.additions import Additions
from nullproof.radii.bounds import Bounds
from nullproof.radii.cells import radii, radius
from nullproof.radii.reach import Reach
from nullproof.radii.results import Radii
from nullproof.radii.solving import PointCounts, solve
from nullproof.tables.points import Points
from nullproof.verdicts import verdicts

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")


def found_for(case: Case, **asked: Any) -> Radii:
    """Ask for the radii of a case's points, each of them twice."""
    index = CountIndex.from_rows(
        case.rows, case.labels, features=case.features, domains=case.declared
    )
    options: Any = {"alpha": case.alpha, "prior": case.prior_for(index.labels), **asked}
    return radii(index, [*case.points, *case.points[::-1]], **options)


def assert_radii(found: Radii, expected: list[float]) -> None:
    """Each radius is the expected one, is the sum of its steps, and names its rival."""
    assert found.radius.tolist() == [*expected, *expected[::-1]]
    finite = np.isfinite(found.radius)
    assert (found.radius == found.n_raise + found.n_lower)[finite].all()
    assert (found.n_raise[~finite] + found.n_lower[~finite] == 0).all()
    attacked = finite & (found.radius > 0)
    assert [name is not None for name in found.rival] == attacked.tolist()


@pytest.mark.parametrize("limited", [False, True])
def test_small_tables(limited: bool) -> None:
    """T7, T14: the radius is the fewest cells of all that can be blanked."""
    rng = random.Random(f"small-{limited}")
    n_attacked = 0
    for _ in range(45):
        case = radius_case(rng, max_rows=7, max_features=3)
        only, within = random_limits(rng, case) if limited else (None, None)
        expected = [brute_radius(case, point, within) for point in case.points]
        assert_radii(found_for(case, own_missing="any", only=only), expected)
        n_attacked += sum(0 < value < math.inf for value in expected)
    assert n_attacked > 10


def test_points_that_leave_features_out() -> None:
    """A feature that is left out is neither raised nor lowered."""
    rng = random.Random("left out")
    n_attacked = 0
    for _ in range(40):
        case = with_own_missing(rng, radius_case(rng, max_rows=7, max_features=3))
        expected = [brute_radius(*without_holes(case, point)) for point in case.points]
        assert_radii(found_for(case), expected)
        n_attacked += sum(0 < value < math.inf for value in expected)
    assert n_attacked > 10


def test_added_rows() -> None:
    """T13: the radius is the fewest rows of all multisets."""
    rng = random.Random("rows")
    n_attacked = 0
    for _ in range(30):
        case, most = small_case(rng, 60)
        case = with_own_missing(rng, case) if rng.random() < 0.4 else case
        found = found_for(case, threat="rows")
        pairs = [without_holes(case, point) for point in case.points]
        expected = [rows_radius(*pair, most) for pair in pairs]
        capped = [own if own <= most else math.inf for own in found.radius.tolist()]
        assert capped == [*expected, *expected[::-1]]
        n_attacked += sum(0 < value < math.inf for value in expected)
    assert n_attacked > 5


@pytest.mark.parametrize(
    "index", [two_labels((40, 30), (30, 36, 40), (6, 9, 20)), two_labels((4, 4), (4, 4), (4, 3))]
)
def test_floats_that_cannot_tell(index: CountIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever interval floats give, integers find the number that it holds."""
    model, d = Model(index, 0), len(index.features)
    points = Points.without_holes(np.zeros((d, 3), dtype=np.int32), index.n_values)
    judged = verdicts(model, points)
    asked = radii(index, points, alpha=0)
    given = asked, points.codes, judged.winner, judged
    (radius,) = {*solve(*given).at_most.tolist()}
    assert radius >= 1
    for below, above in [(0, 0), (1, 0), (0, 1), (3, 4), (radius, math.inf), (radius - 1, 0)]:

        def bounded(*_: Any, low: float = radius - below, top: float = radius + above) -> Bounds:
            bounds = Bounds.none_known(3)
            bounds.at_least[:], bounds.at_most[:] = low, top
            return bounds

        monkeypatch.setattr("nullproof.radii.solving.bound_radii", bounded)
        found = solve(*given)
        assert found.at_most.tolist() == [radius] * 3
        if above:
            assert found.rival.tolist() == [1, 1, 1]
            assert (found.n_raise + found.n_lower).tolist() == [radius] * 3


def test_how_far_it_is() -> None:
    """Work is told of from 0 to 1, without steps back; within limits, the first tenth is without them."""
    rows = [("a", "x"), ("a", "x"), ("a", "y"), ("b", "y"), ("b", "y")] * 2
    labels = ["yes", "yes", "yes", "no", "no"] * 2
    index = CountIndex.from_rows(rows, labels)
    # Beyond the range of doubles, integers decide every point.
    alpha = Fraction(1, 10**400)
    model = Model(index, alpha)
    points = model.points([("a", "x"), ("b", "y")], "skip", None)
    judged, every = verdicts(model, points), np.ones(10, dtype=bool)
    for only in (None, {"rows": every, "table": rows, "labels": labels}):
        asked, told = radii(index, points, alpha=alpha, only=only), list[tuple[str, float]]()
        solve(asked, points.codes, judged.winner, judged, lambda *one, into=told: into.append(one))
        shares = [share for _, share in told]
        assert shares == sorted(shares)
        assert (shares[0], shares[-1]) == (0, 1)
        assert (0.1 in shares) == (only is not None)


def test_how_far_it_is_with_incomplete_points() -> None:
    """Complete points come first, with their share of the points, then those with holes."""
    index = two_labels((40, 30), (30, 36, 40), (6, 9, 20))
    points = [("0", "0", "0"), ("0", "0", {"0", "1"}), ("0", {"0", "1"}, "0"), ("0", "0", "1")]
    told = list[tuple[str, float]]()
    alpha = Fraction(1, 10**400)
    found = radii(index, points, alpha=alpha, on_progress=lambda *one: told.append(one))
    shares = [share for _, share in told]
    n_certain = int((found.radius > 0).sum())
    n_holed = int((found.radius[1:3] > 0).sum())
    assert min(n_certain - n_holed, n_holed) >= 1
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 1)
    assert (n_certain - n_holed) / n_certain in shares
    told.clear()
    radii(index, points[:1], alpha=alpha, on_progress=lambda *one: told.append(one))
    assert {share for _, share in told} == {0.0, 1.0}


def test_smoothing_by_default() -> None:
    """Without a word on smoothing it is 1; options that are no threat are refused."""
    index = two_labels((40, 30), (30, 36, 40), (6, 9, 20))
    point = ("0", "0", "0")
    for threat in ("cells", "rows"):
        expected = radius(index, point, alpha=1, threat=threat).tolist()
        assert expected != radius(index, point, alpha=9, threat=threat).tolist()
        assert radius(index, point, threat=threat).tolist() == expected
        assert radii(index, point, threat=threat).radius.tolist() == expected
    assert radius(index, point, only={"columns": ["x0"]}) > 0


# The counts of a point ----------------------------------------------------------------------------


def test_what_can_move() -> None:
    """Counts of values outside the domain, of one-value domains and of columns out of reach stay."""
    rows = [("a", "x", "u"), ("a", "y", "u"), ("b", "y", "u"), ("b", "x", "u"), ("b", "y", "u")]
    index = CountIndex.from_rows(rows, ["A", "A", "A", "B", "B"])
    model = Model(index, 1)
    codes = np.array([[0, 1, 2, 3], [0, 1, 1, 2], [0, 0, 1, 2]], dtype=np.int32)
    counts = PointCounts(model, codes, Reach.of(index))
    movable = [[True, True, False, False], [True, True, True, False], [False] * 4]
    assert counts.is_movable.tolist() == movable
    columns = PointCounts(model, codes, Reach.of(index, {"columns": ["x1", "x2"]}))
    assert columns.is_movable.tolist() == [[False] * 4, *movable[1:]]
    found = [counts.additions(place, 0, 1) for place in range(4)]
    assert [sorted(own.matched) for own in found] == [[0, 1, 2], [0, 1, 2], [1], []]
    assert [sorted(own.forced) for own in found] == [[2], [2], [], []]
    assert [own.n_known for own in found] == [3, 3, 3, 1]
    assert all(isinstance(own, Additions) for own in found)


def test_rooms_within_limits() -> None:
    """T14: only the cells within reach lower the winner's counts, or raise the rival's."""
    rows = [("a", "x", "u"), ("a", "x", "u"), ("a", "y", "u")]
    rows += [("b", "x", "u"), ("b", "y", "u"), ("a", "y", "u")]
    labels = ["A", "A", "A", "B", "B", "B"]
    index = CountIndex.from_rows(rows, labels)
    mask = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1]], dtype=bool)
    only = {"cells": mask, "table": rows, "labels": labels}
    codes = np.array([[0, 1], [0, 1], [0, 0]], dtype=np.int32)
    counts = PointCounts(Model(index, 1), codes, Reach.of(index, only))
    limited = counts.limited(0, 0, 1)
    assert (limited._winner.counts, limited._winner.room) == ([3, 2, 3], [2, 0, 0])
    assert (limited._rival.counts, limited._rival.room) == ([1, 1, 3], [1, 2, 0])
    other = counts.limited(1, 1, 0)
    assert (other._winner.counts, other._winner.room) == ([2, 2, 3], [1, 2, 0])
    assert (other._rival.counts, other._rival.room) == ([0, 1, 3], [2, 0, 0])
    assert type(counts.attacks(0, 0, 1)) is type(limited)
    plain = PointCounts(Model(index, 1), codes, Reach.of(index))
    assert type(plain.attacks(0, 0, 1)) is type(plain.frontier(0, 0, 1))


def test_winning_outright() -> None:
    """Strictly, the rival must have more support; otherwise a tie is enough."""
    index = two_labels((4, 4), (3, 4), (3, 2))
    counts = PointCounts(Model(index, 0), np.zeros((2, 1), dtype=np.int32), Reach.of(index))
    loose, strict = counts.attacks(0, 0, 1), counts.attacks(0, 0, 1, strict=True)
    assert loose.fewest(1) is not None
    assert [own.after(2) is None for own in (loose, strict)] == [False, False]
    assert [own.after(1) is None for own in (loose, strict)] == [True, True]
    tie = two_labels((4, 4), (4, 4), (4, 3))
    counts = PointCounts(Model(tie, 0), np.zeros((2, 1), dtype=np.int32), Reach.of(tie))
    loose, strict = counts.attacks(0, 0, 1), counts.attacks(0, 0, 1, strict=True)
    assert [own.after(1) is None for own in (loose, strict)] == [False, True]


@pytest.mark.parametrize(
    ("prior", "expected"),
    [([1e-19, 1, 0], math.nan), ([0, 1, 1e-19], math.nan), ([0, 1, 0], math.inf)],
)
def test_one_rival_that_can_is_enough(prior: list[float], expected: float) -> None:
    """Rows beyond what a double holds are not worked out if any rival can win with them, else never."""
    index = CountIndex.from_rows([("a",), ("b",), ("c",)], ["x", "y", "z"])
    (found,) = radius(index, [("b",)], prior=prior, threat="rows")
    np.testing.assert_equal(found, expected)
