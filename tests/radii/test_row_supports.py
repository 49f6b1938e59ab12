"""Supports as rows are added, with slopes and bends, against plain sums over the features of a point."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.count_tables import index_from_counts, random_codes, random_index

from nullproof.model import Model
from nullproof.radii import row_supports
from nullproof.radii.row_supports import RivalSide, RowTables, Support, WinnerSide
from nullproof.tables.points import Points
from nullproof.verdicts import verdicts

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

PRIOR = (0.53, 0.27, 0.19, 0.31)


class Question(NamedTuple):
    """Certain points of a random table, in their model, and their labels."""

    model: Model
    codes: Any
    winner: Any
    own_log: Any


def questions(n_questions: int) -> list[Question]:
    """Draw tables and points, some of which leave features out."""
    rng, found = random.Random(20240604), list[Question]()
    while len(found) < n_questions:
        index = random_index(rng, rng.choice([6, 60, 600]))
        points = random_codes(rng, index, 14)
        holes = np.random.default_rng(len(found)).random(points.codes.shape) < rng.choice([0, 0.3])
        skipped = (points.n_values[:, None] + 1).astype(np.int32)
        points = Points.without_holes(np.where(holes, skipped, points.codes), points.n_values)
        prior: Any = rng.choice([None, list(PRIOR[: len(index.labels)])])
        alpha: Any = rng.choice([0, 1, Fraction(1, 3), 5])
        model = Model(index, alpha, prior)
        judged = verdicts(model, points)
        places = np.flatnonzero(judged.certain)
        if len(places) > 3:
            winner = judged.winner[places]
            own_log = judged.min_log[places, winner]
            found.append(Question(model, points.codes[:, places], winner, own_log))
    return found


QUESTIONS = questions(40)


def plain(asked: Question, place: int, label: int, n_added: float, *, agrees: bool) -> Support:
    """The log support, its slope, its bend, and the size of the slope's terms, feature by feature."""
    model, alpha = asked.model, float(asked.model.alpha)
    n_rows = float(model.index.label_counts[label]) + n_added
    log, slope, bend, size = float(model.log_prior[label]), 0.0, 0.0, 0.0
    if model.prior_is_counted:
        log = math.log(n_rows / model.index.label_counts.sum())
        slope, bend, size = 1 / n_rows, -1 / n_rows**2, 1 / n_rows
    for j, code in enumerate(asked.codes[:, place].tolist()):
        n_values = int(model.index.n_values[j])
        if code > n_values or (code < n_values == 1):
            continue
        side = model.index.high if agrees else model.index.low
        count = float(side(j, np.array([code]))[0, label]) + alpha
        below = n_rows + alpha * n_values
        slope, bend, size = slope - 1 / below, bend + 1 / below**2, size + 1 / below
        if agrees and code < n_values:
            count += n_added
            slope, bend, size = slope + 1 / count, bend - 1 / count**2, size + 1 / count
        log += math.log(count) - math.log(below)
    return Support(*(np.array(number) for number in (log, slope, bend, size)))


def assert_alike(found: Support, log: Any, expected: list[Support]) -> None:
    """All four numbers agree but for rounding."""
    for own, name in zip(found, Support._fields, strict=True):
        numbers = np.array([float(getattr(one, name)) for one in expected])
        assert np.asarray(own) == pytest.approx(numbers, rel=1e-9, abs=1e-11), name
    assert np.asarray(log) == pytest.approx(np.asarray(found.log), rel=1e-12, abs=1e-12)


def test_winners_as_rows_are_added() -> None:
    """T13: a row of the winner changes nothing above the line, where it need not agree."""
    for asked, start in itertools.product(QUESTIONS, (0, 1)):
        n_points = len(asked.winner)
        tables, block = RowTables(asked.model, asked.codes), slice(start, n_points)
        side = WinnerSide.of(tables, block, asked.winner[block], asked.own_log[block])
        places = np.arange(n_points - start)[::-2]
        part = side.at(places)
        for n_added in (0.0, 1.0, 2.5, 40.0):
            given = np.full(len(places), n_added)
            expected = [
                plain(asked, place, int(asked.winner[place]), n_added, agrees=False)
                for place in (places + start).tolist()
            ]
            assert_alike(part.support(given), part.log(given), expected)
        for place, regular in enumerate(side.is_regular.tolist(), start):
            assert regular == is_regular(asked, place)


def is_regular(asked: Question, place: int) -> bool:
    """Whether the winner's log support is convex at the start, and hence falls."""
    found = plain(asked, place, int(asked.winner[place]), 0.0, agrees=False)
    if not asked.model.prior_is_counted:
        return bool(found.size > 0)
    n_rows = float(asked.model.index.label_counts[asked.winner[place]])
    return bool(found.bend * n_rows**2 > 1e-9)


@pytest.mark.parametrize("n_factors", [None, 1, 2])
def test_rivals_as_rows_are_added(n_factors: int | None) -> None:
    """T13: a row of the rival agrees wherever it can; products of few factors change nothing."""
    n_concave = n_least = 0
    for asked in QUESTIONS:
        n_points = len(asked.winner)
        tables, block = RowTables(asked.model, asked.codes), slice(1, n_points)
        tables.n_factors = n_factors or tables.n_factors
        for rival in range(asked.model.m):
            if not asked.model.prior_is_counted and not asked.model.prior[rival]:
                continue
            places = np.flatnonzero(asked.winner[block] != rival)
            if not len(places):
                continue
            side = RivalSide(tables, block, places, rival)
            some = np.arange(len(places))[::-2]
            for n_added in (1.0, 2.5, 40.0):
                expected = [
                    plain(asked, place + 1, rival, n_added, agrees=True)
                    for place in places.tolist()
                ]
                given = np.full(len(places), n_added)
                assert_alike(side.support(given), side.log(given), expected)
                part = side.at(some)
                chosen = [expected[number] for number in some.tolist()]
                assert_alike(part.support(given[some]), part.log(given[some]), chosen)
                assert part.least.tolist() == side.least[some].tolist()
            assert len(side) == len(places)
            n_least += assert_starts(asked, side, places + 1, rival)
            n_unseen = (asked.codes == asked.model.index.n_values[:, None]).sum(axis=0)[places + 1]
            concave = n_unseen <= int(asked.model.prior_is_counted)
            assert side.is_concave.tolist() == concave.tolist()
            n_concave += int((~concave).sum())
    assert n_concave > 3
    assert n_least > 10


def assert_starts(asked: Question, side: RivalSide, places: Any, rival: int) -> int:
    """A rival needs one row at least exactly where it has no support without any; count those."""
    n_least = 0
    for place, least in zip(places.tolist(), side.least.tolist(), strict=True):
        codes = asked.codes[:, place].tolist()
        index = asked.model.index
        counts = [int(index.high(j, np.array([code]))[0, rival]) for j, code in enumerate(codes)]
        has_support = bool(asked.model.support(rival, counts))
        assert least == (0 if has_support else 1), (codes, counts)
        n_least += not has_support
    return n_least


def test_bounds_of_errors() -> None:
    """Six terms a feature, none larger than the log of all rows that may be added (theory 2)."""
    index = index_from_counts([900, 5], [[(700, 2), (100, 3), (100, 0)], [(800, 1), (100, 4)]])
    codes = np.zeros((2, 1), dtype=np.int32)
    rows = math.log(2.0**40 + 900)
    for alpha, largest in [(0, rows), (2, math.log(2.0**40 + 906)), (1e-100, 100 * math.log(10))]:
        for prior, share in [(None, math.log(905 / 5)), ([1.0, 0.0], 0.0)]:
            model = Model(index, alpha, prior)
            tables = RowTables(model, codes)
            assert tables.slack == pytest.approx(
                2 * model.slack(share + 18 * largest), rel=1e-9, abs=0
            )
            assert tables.slope_slack == pytest.approx(2 * 2.0**-52 * 10, abs=0)
            assert tables.n_factors == int(290 * math.log(10) / largest)
    # As many rows, and as much smoothing, as may be added.
    big = index_from_counts([2**41, 5], [[(2**41, 2), (0, 3), (0, 0)], [(2**41, 1), (0, 4)]])
    for alpha, most in [(0, 2**41), (2**42, 2**41 + 3 * 2**42)]:
        model = Model(big, alpha, [1.0, 1.0])
        expected = 2 * model.slack(math.log(2) + 18 * math.log(2.0**40 + most))
        assert RowTables(model, codes).slack == pytest.approx(expected, rel=1e-9, abs=0)
    assert math.log(10) * row_supports._DIGITS < math.log(2.0**1000)
    far = Model(index_from_counts([9, 5], [[(7, 2), (2, 3)]]), 1e-140)
    assert RowTables(far, codes[:1]).n_factors == 2


@pytest.mark.parametrize(("d", "count", "alpha"), [(60, 10**9, 1), (5, 0, 1e-150)])
def test_products_beyond_all_doubles(d: int, count: int, alpha: float) -> None:
    """Many large or tiny factors are multiplied in parts, none of which over- or underflows."""
    size = 2 * 10**9
    counts = [(size - 9, count), (9, size - count)]
    model = Model(index_from_counts([size, size], [counts] * d), alpha, [1.0, 1.0])
    codes, winner = np.zeros((d, 2), dtype=np.int32), np.zeros(2, dtype=np.intp)
    asked = Question(model, codes, winner, None)
    side = RivalSide(RowTables(model, codes), slice(0, 2), np.arange(2), 1)
    for n_added in (0.0, 3.0):
        given = np.full(2, n_added)
        expected = plain(asked, 0, 1, n_added, agrees=True)
        assert side.log(given) == pytest.approx([float(expected.log)] * 2)
        assert side.support(given).log == pytest.approx([float(expected.log)] * 2)


@pytest.mark.parametrize("alpha", [0, 1])
def test_a_rival_without_rows_needs_one(alpha: int) -> None:
    """Its prior is counted, so that smoothing alone gives it no support; a prior that is given does."""
    index = index_from_counts([9, 5, 0], [[(7, 2, 0), (2, 3, 0)], [(8, 1, 0), (1, 4, 0)]])
    codes = np.zeros((2, 1), dtype=np.int32)
    for prior, least in [(None, 1.0), ([1.0, 1.0, 1.0], 0.0 if alpha else 1.0)]:
        tables = RowTables(Model(index, alpha, prior), codes)
        sides = [RivalSide(tables, slice(0, 1), np.arange(1), rival) for rival in (1, 2)]
        assert [side.least.tolist() for side in sides] == [[0.0], [least]]


@pytest.mark.parametrize(("d", "regular"), [(24, False), (25, False), (26, True)])
def test_supports_that_are_just_not_convex(d: int, regular: bool) -> None:
    """Where the second derivative is 0, rounding does not make it positive: 25 · 0.2² = 1."""
    assert 25 * 0.2**2 > 1
    index = index_from_counts([30, 30], [[(20, 10), (10, 20)]] * d)
    tables = RowTables(Model(index, 60), np.zeros((d, 1), dtype=np.int32))
    side = WinnerSide.of(tables, slice(0, 1), np.zeros(1, dtype=np.intp), np.zeros(1))
    assert side.is_regular.tolist() == [regular]
