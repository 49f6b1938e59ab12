"""What stands behind `certify`, piece by piece: blocks, the bound of rounding, and holes of points."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support import oracle
from support.count_tables import first_point, two_labels
from support.strategies import HARD_TABLES, Case, random_case

from nullproof import CountIndex, certify
from nullproof import verdicts as verdicts_module
from nullproof.model import Model
from nullproof.tables.points import Points
from nullproof.verdicts import least_ratio, verdicts, worst_completion

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")


def questions(seed: int, n_tables: int) -> Iterator[tuple[Case, Model, Points]]:
    """Random tables with two labels or more, and all their points."""
    rng = random.Random(seed)
    while n_tables:
        case = random_case(rng)
        if len(set(case.labels)) > 1:
            index = CountIndex.from_rows(
                case.rows, case.labels, features=case.features, domains=case.declared
            )
            model = Model(index, case.alpha, case.prior_for(index.labels))
            holed = [(None, *point[1:]) for point in case.points]
            yield case, model, model.points([*case.points, *holed], "any")
            n_tables -= 1


@pytest.fixture(params=[2, 1000], ids=["as many labels", "as few labels"])
def _both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels are compared as where there are many, and as where there are few."""
    monkeypatch.setattr(verdicts_module, "_MANY", request.param)


@pytest.mark.usefixtures("_both_ways")
def test_few_tables_against_all_worlds() -> None:
    """T3, T4: the possible labels are those that the enumeration of every world leaves."""
    for case, model, points in questions(20261121, 60):
        found = verdicts(model, points)
        for place, point in enumerate(case.points):
            expected = oracle.undominated(case.outcomes(point))
            assert {*model.named(np.flatnonzero(found.possible[place]))} == expected


@pytest.mark.usefixtures("_both_ways")
@pytest.mark.parametrize("name", [name for name, hard in HARD_TABLES.items() if len(hard[1]) < 100])
def test_near_ties(name: str) -> None:
    """Products that doubles cannot tell apart are told apart, whichever side has a hole besides."""
    n_rows, a, b, expected = HARD_TABLES[name]
    rng = random.Random(name)
    for n_extra in (0, 1):
        for _ in range(8):
            order = rng.sample(range(len(a)), len(a))
            counts = [a[j] for j in order], [b[j] for j in order]
            index = two_labels((n_rows + n_extra,) * 2, *counts)
            n_null = np.zeros((len(a), 2), dtype=np.int64)
            # The one that wins may win higher still, which changes nothing.
            if n_extra and len(expected) == 1:
                n_null[0, "AB".index(min(expected))] = 1
            holed = replace(index, n_null=n_null)
            possible = verdicts(Model(holed, 0), first_point(holed)).possible[0]
            assert {"AB"[i] for i in np.flatnonzero(possible)} == expected


@pytest.mark.usefixtures("_both_ways")
@pytest.mark.parametrize("name", [name for name, hard in HARD_TABLES.items() if len(hard[1]) < 100])
def test_a_hole_makes_a_near_tie(name: str) -> None:
    """A label whose greatest support alone comes close to the least of another is told apart too."""
    n_rows, a, b, expected = HARD_TABLES[name]
    rng = random.Random(name)
    for turn in range(8):
        order = rng.sample(range(len(a)), len(a))
        mine, theirs = [a[j] for j in order], [b[j] for j in order]
        place = theirs.index(max(theirs))
        theirs[place] -= 1
        n_null = np.zeros((len(a), 2), dtype=np.int64)
        n_null[place, 1] = 1
        # That the other may have more support too changes nothing.
        n_null[mine.index(min(mine)), 0] = turn % 2 if min(mine) < n_rows else 0
        holed = replace(two_labels((n_rows, n_rows), mine, theirs), n_null=n_null)
        possible = verdicts(Model(holed, 0), first_point(holed)).possible[0]
        assert possible.tolist() == [True, "B" in expected]


@pytest.mark.parametrize(("size", "n_cells"), [(1, 1 << 15), (5, 1 << 15), (5, 1)])
def test_blocks_change_nothing(size: int, n_cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Points judged a few at a time, one at least, have the verdicts that they have all at once."""
    for _, model, points in questions(20261117, 25):
        whole = verdicts(model, points)
        with monkeypatch.context() as patch:
            patch.setattr(verdicts_module, "_BLOCK", size)
            patch.setattr(verdicts_module, "_FEWEST", 1)
            patch.setattr(verdicts_module, "_CELLS", n_cells)
            patch.setattr(verdicts_module, "_SMALL", 0)
            parts = verdicts(model, points)
        assert (parts.possible == whole.possible).all()
        np.testing.assert_allclose(parts.min_log, whole.min_log, rtol=1e-12)
        np.testing.assert_allclose(parts.max_log, whole.max_log, rtol=1e-12)


def test_ranges_of_incomplete_points_are_those_of_their_completions() -> None:
    """The least and the greatest log support of a point are reached by one of its completions."""
    n_holed = 0
    for _, model, points in questions(20261118, 30):
        found = verdicts(model, points)
        for place in np.flatnonzero(~points.complete).tolist():
            each = verdicts(model, points.completions(place))
            np.testing.assert_allclose(found.min_log[place], each.min_log.min(axis=0), rtol=1e-12)
            np.testing.assert_allclose(found.max_log[place], each.max_log.max(axis=0), rtol=1e-12)
            n_holed += (points.holes[:, place]).sum() > 1
    assert n_holed > 10


def test_the_bound_of_rounding_counts_every_term(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors are bounded by the absolute values of all log terms of both supports that are compared."""
    given: list[Any] = []
    plain = Model.slack

    def noted(self: Model, magnitude: Any) -> Any:
        given.append(magnitude)
        return plain(self, magnitude)

    monkeypatch.setattr(Model, "slack", noted)
    for _, model, points in questions(20261119, 40):
        for some in (points.take(np.flatnonzero(points.complete)), points):
            if not len(some):
                continue
            given.clear()
            found = verdicts(model, some)
            low, high = -found.min_log, -found.max_log
            for i in range(model.m):
                others = np.delete(low, i, axis=1)
                pair = high[:, i] + others.min(axis=1)
                sure = np.isfinite(pair)
                assert (np.asarray(given[0])[i][sure] >= pair[sure] - 1e-9).all()
            if some.complete.all():
                assert len(given) == 1
                continue
            # Of a label and the likeliest one the priors are taken: none is less than 1/m.
            most = max(low[np.isfinite(low)].max(initial=0), high[np.isfinite(high)].max(initial=0))
            assert given[-1] >= most - math.log(model.m) - 1e-9


def test_a_label_without_prior_dominates_nobody() -> None:
    """A prior of 0 is a support of 0, also where a point has candidates."""
    index = CountIndex.from_rows([("x",), ("y",), ("x",), ("y",)], list("AABB"))
    for point in (("x",), ({"x", "y"},)):
        assert certify(index, point, alpha=1, prior=[0, 1]).possible == ("B",)
        assert certify(index, point, alpha=1, prior=[1, 0]).possible == ("A",)


def test_numbers_beyond_doubles_are_left_to_integers() -> None:
    """One smoothed zero outweighs 180 hundredths, though in doubles it is no support at all."""
    index = two_labels((100, 100), [1] * 180, [0] + [100] * 179)
    model = Model(index, Fraction(1, 10**350))
    points = first_point(index)
    holed = replace(points, codes=points.codes.copy(), own_missing="any")
    holed.codes[0] = 4
    for asked in (points, holed):
        assert verdicts(model, asked).possible.tolist() == [[False, True]]
        twice = asked.take(np.array([0, 0]))
        assert verdicts(model, twice).possible.tolist() == [[False, True]] * 2


def test_no_support_dominates_nobody() -> None:
    """Where a candidate leaves a label without support, it does not beat those that have none either."""
    index = CountIndex.from_rows([("x",), ("y",), ("z",)], list("ABC"))
    assert certify(index, ({"x", "z"},), alpha=0).possible == ("A", "B", "C")
    index = CountIndex.from_rows([("x", "p", "m"), ("y", "q", "n")], list("AB"))
    assert certify(index, ("y", "p", {"m", "n"}), alpha=0).possible == ("A", "B")
    assert certify(index, ("x", "p", {"m", "n"}), alpha=0).possible == ("A", "B")


def test_ties_of_incomplete_points_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each point that floats cannot tell is itself asked of the integers, wherever it stands."""
    rows = [("x", "u"), ("y", "u"), ("x", "u"), ("y", "v")]
    index = CountIndex.from_rows(rows, list("AABB"))
    model = Model(index, 1)
    # The last, which nobody knows, is a tie; the others are clear.
    points = model.points([({"x", "y"}, value) for value in "uuvw"], "any")
    monkeypatch.setattr(verdicts_module, "_BLOCK", 4)
    expected = [[True, False], [True, False], [False, True], [True, True]]
    assert verdicts(model, points).possible.tolist() == expected


def test_the_worst_completion_has_the_least_ratios() -> None:
    """Each candidate chosen is worst for one label against another, by exact fractions (T4)."""
    for _, model, points in questions(20261120, 60):
        for place in np.flatnonzero(~points.complete).tolist():
            for i, k in ((0, 1), (1, 0)):
                chosen = worst_completion(model, points, place, i, k)
                for j, code in enumerate(chosen):
                    ratios = {}
                    for own in points.candidates(j, int(points.codes[j, place])):
                        above = int(model.low(j, np.array([own]))[0, i]) + model.alpha
                        below = int(model.high(j, np.array([own]))[0, k]) + model.alpha
                        # Without support a label exceeds nothing; against none it exceeds all.
                        ratios[own] = (
                            -1 if above == 0 else Fraction(above) / below if below else math.inf
                        )
                    assert ratios[code] == min(ratios.values())


def test_least_ratio_by_hand() -> None:
    """No support is least of all, anything over nothing is the most; of equal ones the first is meant."""
    assert least_ratio([(1, 2), (1, 3), (2, 5)]) == 1
    assert least_ratio([(1, 0), (5, 1)]) == 1
    assert least_ratio([(1, 9), (0, 0), (0, 5)]) == 1
    assert least_ratio([(0, 1), (1, 9)]) == 0
    assert least_ratio([(2, 1), (1, 2), (2, 4), (3, 6)]) == 1
    assert least_ratio([(1, 1), (0, 3), (0, 0)]) == 1


@pytest.mark.parametrize(("cell", "name"), [("a", "exceeds"), (None, "dominates")])
def test_many_tied_labels_need_few_exact_comparisons(
    monkeypatch: pytest.MonkeyPatch, cell: str | None, name: str
) -> None:
    """Hundreds of labels that tie far behind are not compared with each other, only with the best."""
    n_labels = 40
    rows = [("a", "x")] * (n_labels + 4) + [("b", "y")]
    labels = [*map(str, range(n_labels)), *["first"] * 4, "last"]
    model = Model(CountIndex.from_rows(rows, labels), Fraction(1))
    points = model.points([(cell, "x")], "any")
    owner: Any = Model if name == "exceeds" else verdicts_module
    asked, exactly = [], getattr(owner, name)

    def counted(*given: Any) -> Any:
        asked.append(given)
        return exactly(*given)

    monkeypatch.setattr(owner, name, counted)
    if name == "exceeds":
        found = verdicts_module._possible_exactly(
            model, *verdicts_module.point_counts(model, points, 0)
        )
    else:
        found = verdicts(model, points).possible[0].tolist()
    assert [label for label, is_in in zip(model.index.labels, found, strict=True) if is_in] == [
        "first"
    ]
    assert len(asked) <= 4 * model.m


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((3, 3, 1), (True, True, False)),
        ((1, 3, 3), (False, True, True)),
        ((3, 1, 2), (True, False, False)),
        ((2,), (True,)),
    ],
)
def test_the_strongest_two_decide(counts: tuple[int, ...], expected: tuple[bool, ...]) -> None:
    """T3: the best label faces the second, all others face the best, in whatever order they come."""
    labels = [str(i) for i, n in enumerate(counts) for _ in range(n)]
    model = Model(CountIndex.from_rows([("a",)] * len(labels), labels), Fraction(0))
    points = model.points([("a",)])
    box = verdicts_module.point_counts(model, points, 0)
    assert tuple(verdicts_module._possible_exactly(model, *box)) == expected


@pytest.mark.parametrize("n_features", [1, 2, 5, 6])
def test_pairs_of_features_are_added_once_for_many_points(n_features: int) -> None:
    """Many labels: points asked about together get the verdicts and supports that each gets alone."""
    rng = np.random.default_rng(n_features)
    n_values = rng.integers(1, 4, n_features).tolist()
    labels = np.arange(400) % 20
    codes = np.stack([rng.integers(-1, size, 400) for size in n_values], axis=1)
    index = CountIndex.from_codes(codes, labels, n_values=n_values)
    rows = [(*(None if code < 0 else code for code in row),) for row in codes.tolist()]
    for alpha in (0, 1):
        model = Model(index, alpha)
        for own_missing in ("skip", "any"):
            points = model.points(rows, own_missing)
            assert verdicts(model, points.take(np.arange(0))).possible.shape == (0, 20)
            together = verdicts(model, points)
            assert together.possible.any(axis=1).all()
            for place in range(0, 400, 7):
                alone = verdicts(model, points.take(np.array([place])))
                assert (together.possible[place] == alone.possible[0]).all()
                np.testing.assert_allclose(together.min_log[place], alone.min_log[0], rtol=1e-12)
                np.testing.assert_allclose(together.max_log[place], alone.max_log[0], rtol=1e-12)


def test_rows_of_pairs_are_used_where_there_are_enough_points() -> None:
    """As many points as pairs of codes are enough, one fewer is not; an odd feature stands alone."""
    table, starts = np.arange(14.0).reshape(7, 2), np.array([0, 3, 5], dtype=np.int32)
    codes = np.array(
        [[0, 1, 2, 0, 1, 2, 0, 0], [1, 0, 1, 0, 1, 0, 1, 0], [0, 1] * 4], dtype=np.int32
    )
    sums = [table[codes[:, place] + starts].sum(axis=0).tolist() for place in range(8)]
    for n_points, n_rows in ((8, 2), (7, 4)):
        found, rows = verdicts_module._paired(table, starts, codes[:, :n_points])
        assert len(rows) == n_rows
        assert [found[own].sum(axis=0).tolist() for own in rows.T] == sums[:n_points]


def test_the_only_label_is_certain() -> None:
    """A label without any rival wins in every world, also where it has no support."""
    index = CountIndex.from_rows([("a", None), ("b", "x")], ["yes", "yes"])
    for alpha in (0, 1):
        model = Model(index, alpha)
        assert (
            verdicts(model, model.points([("a", "x"), ("?", "?")])).possible.tolist()
            == [[True]] * 2
        )


@pytest.mark.usefixtures("_both_ways")
def test_labels_without_least_support_exclude_nobody() -> None:
    """T3: where every label may end up without support, each of them is among the winners then."""
    rows = [(None, "x"), (None, "y"), ("b", "x"), ("a", "y")]
    model = Model(CountIndex.from_rows(rows, ["one", "two", "three", "four"]), 0)
    found = verdicts(model, model.points([("a", "x")]))
    assert found.min_log[0].tolist() == [-math.inf] * 4
    assert found.max_log[0].tolist().count(-math.inf) == 3
    assert found.possible[0].all()
