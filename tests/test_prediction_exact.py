"""Plain predictions piece by piece: supports from known cells, by fractions, and who has the greatest."""

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
from support.strategies import EXTREME_ALPHAS, HARD_TABLES, Case, random_case

from nullproof import CountIndex, prediction
from nullproof.counts.sparse import DenseCounts
from nullproof.model import Model
from nullproof.prediction import (
    exact_shares,
    exact_supports,
    log_supports,
    predictions,
    probabilities,
    winners,
)
from nullproof.tables.points import Points

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")


def share(case: Case, j: int, label: Any, values: list[Any]) -> Fraction:
    """What a cell multiplies a support by: open cells are shared out like the known ones of the label."""
    pairs = zip(case.rows, case.labels, strict=True)
    cells = [oracle.candidates(row[j], case.domains[j]) for row, own in pairs if own == label]
    alpha = Fraction(case.alpha)
    size = len(cells) + alpha * len(case.domains[j])
    known = [own[0] for own in cells if len(own) == 1]
    total = Fraction(0)
    for value in values:
        total += known.count(value) + alpha
        for own in cells:
            if len(own) > 1 and value in own:
                below = sum(one in own for one in known) + alpha * len(own)
                above = known.count(value) + alpha
                total += above / below if below else Fraction(1, len(own))
    return total / size if size else Fraction(0)


def support(case: Case, label: Any, prior: Fraction, point: tuple[Any, ...]) -> Fraction:
    """The support of a label, with the missing cells of the point skipped."""
    found = prior
    for j, cell in enumerate(point):
        if cell is not None:
            values = [*oracle.candidates(cell, case.domains[j])]
            found *= share(case, j, label, values)
    return found


def questions(seed: int, n_tables: int) -> Iterator[tuple[Case, Model, Points]]:
    """Random tables and all their points, read in both ways."""
    rng = random.Random(seed)
    for number in range(n_tables):
        case = random_case(rng)
        options: Any = {"features": case.features, "domains": case.declared}
        index = CountIndex.from_rows(case.rows, case.labels, **options)
        model = Model(index, case.alpha, case.prior_for(index.labels))
        yield case, model, model.points([*case.points, *case.points], ("skip", "any")[number % 2])


def test_supports_are_those_of_the_known_cells() -> None:
    """T11: fractions equal those by the definition, floats are their logarithms, the greatest wins."""
    n_tied = 0
    for case, model, points in questions(20261121, 120):
        found = log_supports(model, points)
        best, sole = winners(model, points, found), predictions(model, points)
        shares = probabilities(model, found)
        for place, point in enumerate([*case.points, *case.points]):
            expected = [
                support(case, label, prior, point)
                for label, prior in zip(model.index.labels, model.prior, strict=True)
            ]
            assert exact_supports(model, points, place) == expected
            logs = [math.log(one) if one else -math.inf for one in expected]
            assert found[place] == pytest.approx(logs, rel=1e-12)
            some = expected if any(expected) else [*model.prior]
            assert some[best[place]] == max(some)
            assert shares[place] == pytest.approx([float(one / sum(some)) for one in some])
            top = [i for i, one in enumerate(expected) if one == max(expected)]
            assert sole[place] == (top[0] if len(top) == 1 else -1)
            n_tied += len(top) > 1
    assert n_tied > 20


@pytest.mark.parametrize("alpha", EXTREME_ALPHAS)
def test_smoothing_beyond_doubles(alpha: Any) -> None:
    """Whatever doubles make of it, the greatest exact support wins."""
    for case, model, points in questions(20261122, 12):
        extreme = Model(model.index, alpha, case.prior_for(model.index.labels))
        found = log_supports(extreme, points)
        assert np.isfinite(found).all() or 0 in extreme.prior
        best, sole = winners(extreme, points, found), predictions(extreme, points)
        for place in range(len(points)):
            exact = exact_supports(extreme, points, place)
            assert exact[best[place]] == max(exact)
            assert sole[place] == (-1 if exact.count(max(exact)) > 1 else best[place])


@pytest.mark.parametrize("name", [name for name, hard in HARD_TABLES.items() if len(hard[1]) < 100])
def test_near_ties(name: str) -> None:
    """Products that doubles cannot tell apart are told apart, whichever label has the greater."""
    n_rows, a, b, expected = HARD_TABLES[name]
    rng = random.Random(name)
    for _ in range(8):
        order = rng.sample(range(len(a)), len(a))
        for left, right in ((a, b), (b, a)):
            counts = [left[j] for j in order], [right[j] for j in order]
            index = two_labels((n_rows,) * 2, *counts)
            model, points = Model(index, 0), first_point(index)
            if len(expected) > 1:
                assert predictions(model, points).tolist() == [-1]
                continue
            winner = int((left is a) != (expected == {"A"}))
            assert winners(model, points, log_supports(model, points)).tolist() == [winner]
            assert predictions(model, points).tolist() == [winner]


def test_in_a_tie_floats_choose() -> None:
    """As scikit-learn does: the greatest sum of logarithms wins, though only their order makes it so."""
    rng, chosen = random.Random(3), set()
    for _ in range(40):
        counts = [rng.randint(1, 9) for _ in range(6)]
        index = two_labels((9, 9), counts, rng.sample(counts, 6))
        model, points = Model(index, 0), first_point(index)
        found = log_supports(model, points)
        assert predictions(model, points).tolist() == [-1]
        assert winners(model, points, found).tolist() == found.argmax(axis=1).tolist()
        chosen.add(int(found.argmax()))
    assert chosen == {0, 1}


def test_a_near_tie_beside_a_label_without_support() -> None:
    """Labels without any support do not hide that the two greatest are close."""
    n_rows, a, b, _ = HARD_TABLES["18th digit"]
    zeros = [0] * len(a)
    index = two_labels((n_rows,) * 2, a, b)
    for place in range(3):
        counts = [np.insert(own.dense, place, 0, axis=1) for own in index.known]
        for known in counts:
            known[1, place] = n_rows
        wider = replace(
            index,
            schema=replace(index.schema, labels=("L0", "L1", "L2")),
            label_counts=np.full(3, n_rows),
            known=tuple(map(DenseCounts, counts)),
            n_null=np.zeros((len(zeros), 3), dtype=np.int64),
        )
        model = Model(wider, 0)
        points = first_point(wider)
        sole = predictions(model, points).tolist()
        assert sole == [int(place == 0)]
        assert winners(model, points, log_supports(model, points)).tolist() == sole


def test_the_bound_of_rounding_covers_every_logarithm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each feature and the prior take two logarithms of numbers that may be as large as 10**150."""
    given: list[float] = []
    plain = Model.slack

    def noted(self: Model, magnitude: float) -> Any:
        given.append(magnitude)
        return plain(self, magnitude)

    monkeypatch.setattr(Model, "slack", noted)
    for d in (1, 2, 40):
        index = two_labels((9, 9), [5] * d, [4] * d)
        given.clear()
        assert predictions(Model(index, 1), first_point(index)).tolist() == [0]
        assert given[0] >= 2 * (d + 1) * math.log(10**150)


def test_equal_points_are_settled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact supports are worked out where floats cannot tell, once for equal points."""
    index = CountIndex.from_rows([("x", "u"), ("y", "u"), ("x", "v"), ("y", "v")], list("AABB"))
    model = Model(index, 1)
    points = model.points([("x", "u"), ("x", None), ("x", None), ("y", None), ("x", "v")])
    asked: list[int] = []
    exact = prediction.exact_supports

    def noted(model: Model, points: Points, place: int) -> list[Fraction]:
        asked.append(place)
        return exact(model, points, place)

    monkeypatch.setattr(prediction, "exact_supports", noted)
    assert predictions(model, points).tolist() == [0, -1, -1, -1, 1]
    assert asked == [1, 3]
    # In a tie floats choose, and the first of equal floats is first.
    assert winners(model, points, log_supports(model, points)).tolist() == [0, 0, 0, 0, 1]


def test_one_label_is_always_predicted() -> None:
    """There is nothing to compare with, so nothing is compared."""
    model = Model(CountIndex.from_rows([("x",), ("y",)], list("AA")), 0)
    points = model.points([("x",), ("z",), (None,)])
    found = log_supports(model, points)
    assert predictions(model, points).tolist() == [0, 0, 0]
    assert winners(model, points, found).tolist() == [0, 0, 0]
    assert probabilities(model, found).tolist() == [[1], [1], [1]]
    nothing = model.points([])
    assert winners(model, nothing, log_supports(model, nothing)).tolist() == []
    assert predictions(model, nothing).tolist() == []


def test_supports_that_are_no_doubles_have_probabilities() -> None:
    """Logarithms far below those of the smallest double, and far above, are compared all the same."""
    model = Model(CountIndex.from_rows([("x",), ("y",)], list("AB")), 1)
    for far in (-2000.0, 2000.0):
        found = probabilities(model, np.array([[far, far - 1], [far - 2000, far]]))
        e = math.e
        assert found[0] == pytest.approx([e / (1 + e), 1 / (1 + e)])
        assert found[1].tolist() == [0, 1]


def test_unseen_values_take_two_logarithms() -> None:
    """To the last digit: the logarithm of the smoothing less that of all rows, smoothed."""
    index = CountIndex.from_rows([("x",), ("x",), ("x",), (None,)], list("ABBB"))
    for alpha in (0.1, 0.7, 2.9, 7.3, 17.1, 33.3, 51.9, 70.1):
        model = Model(index, alpha)
        found = log_supports(model, model.points([("z",)]))[0]
        prior = np.log(np.array([1, 3])) - np.log(4)
        logs = np.log(alpha) - np.log(np.array([1, 3]) + alpha * 1.0)
        assert found.tolist() == (logs + prior).tolist()


def test_the_smallest_smoothing_of_doubles() -> None:
    """Alphas below 1e-300 count as 1e-300 for the logarithms; those above are taken as they are."""
    index = CountIndex.from_rows([("x",), ("x",), ("y",)], list("AAB"))
    for alpha, used in ((Fraction(1, 10**400), 1e-300), (1e-290, 1e-290), (1e-5, 1e-5)):
        model = Model(index, alpha)
        found = log_supports(model, model.points([("y",)]))
        expected = [math.log(2 / 3) + math.log(used / (2 + 2 * used)), math.log(1 / 3) - used]
        assert found[0] == pytest.approx(expected, rel=1e-9)
    for alpha in (1e4, 1e99, Fraction(10**400)):
        found = log_supports(Model(index, alpha), model.points([("y",)]))
        alpha = min(alpha, 10**100)
        part = float(Fraction(alpha) / (2 + 2 * Fraction(alpha)))
        assert found[0, 0] == pytest.approx(math.log(2 / 3) + math.log(part), rel=1e-13)


def test_a_label_without_rows() -> None:
    """Without smoothing it has no support, even where a cell is skipped; with smoothing it has."""
    index = CountIndex.from_rows([("x",), ("y",)], ["A", "A"])
    schema = replace(index.schema, labels=("A", "B"))
    for alpha, none in ((0, True), (1, False)):
        model = Model(index.widened(schema), alpha, [1, 3])
        points = model.points([("x",), (None,)])
        for place in range(2):
            assert (exact_supports(model, points, place)[1] == 0) == none
            code = int(points.codes[0, place])
            assert (exact_shares(model, points, 0, code)[1] == 0) == none
        assert predictions(model, points).tolist() == ([0, 0] if none else [1, 1])
