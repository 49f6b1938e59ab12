"""Brackets of biases, and the grid of biases that many points share (T10)."""

from __future__ import annotations

import functools
import gc
import math
import random
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from support.bias_tables import random_holed
from support.count_tables import first_point, index_from_counts
from support.duels import Duel, drawn_duels, pairs_of
from support.large_counts import LargeTable

from nullproof import CountIndex, brackets, leads
from nullproof.brackets import BiasGrid, Bracket, _leads, _share_kept, grid_of
from nullproof.leads import Lead, Tables
from nullproof.model import Model

FIRST = 2.0**-40


@functools.lru_cache
def drawn(size: int) -> list[tuple[LargeTable, list[Duel]]]:
    return [*drawn_duels(7, {12: 300, 60: 40, 300: 12}[size], size)]


def floats(*numbers: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(numbers, dtype=np.float64)


def bracket_of(low: float, high: float, n_jumps: float, *, rose: bool = True) -> Bracket:
    """A bracket from 0.2 to 0.6."""
    leads_of = Lead(floats(low), floats(7)), Lead(floats(high), floats(7 + n_jumps))
    return Bracket(floats(0.2), floats(0.6), *leads_of, np.array([rose]))


# Brackets -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "share"),
    [(1, -1, 1 / 2), (3, -1, 3 / 4), (1, -4, 1 / 5), (0, -1, 0), (1, 0, 1)],
)
def test_where_a_line_crosses_zero(low: float, high: float, share: float) -> None:
    """Between a lead and a lag, nearer to the smaller of both."""
    assert _share_kept(floats(low), floats(high)).tolist() == [share]


def test_where_a_line_from_far_away_crosses_zero() -> None:
    """Infinite leads are like very large ones; without a lead at either end there is no line."""
    far = brackets._FAR
    given = [(math.inf, -math.inf), (math.inf, -1), (2, -math.inf), (far + 9, -far - 7)]
    expected = [0.5, far / (far + 1), 2 / (2 + far), 0.5]
    low, high = (floats(*ends) for ends in zip(*given, strict=True))
    assert _share_kept(low, high).tolist() == expected
    assert _share_kept(floats(0, -1), floats(0, 1)).tolist() == [brackets._MIDDLE] * 2


def test_a_trial_goes_beyond_the_crossing() -> None:
    """So many jumps away from the end that moved last, but well within the bracket."""
    for rose, share in ((True, 0.75 + 0.02), (False, 0.75 - 0.02)):
        tried = bracket_of(3, -1, 100, rose=rose).trial(2.0)
        assert tried == pytest.approx([0.2 + 0.4 * share], abs=1e-15)
    for low, high, rose, share in ((40, -1e-3, True, 0.99), (1e-3, -40, False, 0.01)):
        tried = bracket_of(low, high, 100, rose=rose).trial(2.0)
        assert tried == pytest.approx([0.2 + 0.4 * share], abs=1e-15)
    # Without any step beyond it is the crossing itself.
    assert bracket_of(3, -1, 5).trial(0.0) == pytest.approx([0.5], abs=1e-15)


@pytest.mark.parametrize("n_jumps", [0, 1, 4])
def test_few_jumps_are_halved(n_jumps: int) -> None:
    """Where a line would say little, and where it is asked for, the middle is tried, about."""
    few = bracket_of(3, -1, n_jumps).trial(2.0)
    asked = bracket_of(3, -1, 1000).trial(2.0, halve=True)
    assert few.tolist() == asked.tolist()
    assert 0.39 < few[0] < 0.4


def test_a_trial_narrows_a_bracket() -> None:
    """A lead moves the left end, no lead the right one: a tie is none (T2)."""
    for log, ends in ((0.3, (0.4, 0.6)), (-0.3, (0.2, 0.4)), (0.0, (0.2, 0.4))):
        one = bracket_of(3, -1, 100)
        one.narrow(floats(0.4), Lead(floats(log), floats(50)))
        assert (one.left[0], one.right[0]) == ends
        ahead = log > 0
        assert one.rose.tolist() == [ahead]
        assert (one.low.log[0], one.high.log[0]) == ((log, -1) if ahead else (3, log))
        assert one.n_jumps.tolist() == [57 if ahead else 43]


def test_an_end_within_the_slack_is_not_sure() -> None:
    """Both leads must be larger than all errors, or rounding could have changed who is ahead."""
    slack = floats(0.5)
    for low, high, sure in (
        (0.6, -0.6, True),
        (0.5, -0.6, False),
        (0.6, -0.5, False),
        (-0.6, -0.7, False),
        (0.7, 0.6, False),
    ):
        assert bracket_of(low, high, 9).is_sure(slack).tolist() == [sure]


def test_no_lead_is_asked_for_at_zero() -> None:
    """Rounding may count a jump at 0 as done there, so that it would be counted twice."""
    lost, guess = Lead(floats(-1e-3), floats(7)), floats(-1e-9 / 1.05)
    assert (1.05 * guess + 1e-9).tolist() == [0]
    pairs = SimpleNamespace(lead_and_loss=lambda _bias: (lost, guess))
    bracket, trial = Bracket.of(cast(Any, pairs), floats(1), Lead(floats(-1), floats(9)))
    assert (bracket.left.tolist(), bracket.right.tolist()) == ([0], [FIRST])
    assert 0 < trial[0] < FIRST


@pytest.mark.parametrize("size", [12, 300])
def test_first_brackets(size: int) -> None:
    """They start just above 0, or end there where the lead is lost at 0; a guess lies within."""
    kinds = set()
    for table, duels in drawn(size):
        pairs = pairs_of(table, duels)
        lasts = floats(*(duel.last or 0.0 for duel in duels))
        beyond = np.minimum(lasts + 0.01, 1.0)
        bracket, guess = Bracket.of(pairs, beyond, pairs.lead(beyond))
        assert (bracket.left < guess).all()
        assert (guess < bracket.right).all()
        for place, duel in enumerate(duels):
            ends, own = (bracket.left[place], bracket.right[place]), bracket.at(np.array([place]))
            if -1e-9 < duel.log_lead(FIRST) < 1e-9:
                continue
            at_zero = duel.last == 0
            kinds.add(at_zero)
            assert ends == ((0, FIRST) if at_zero else (FIRST, beyond[place]))
            assert own.low.log == pytest.approx(math.inf if at_zero else duel.log_lead(ends[0]))
            assert own.high.log == pytest.approx(duel.log_lead(ends[1]))
            n_jumps = 0 if at_zero else sum(ends[0] <= jump < ends[1] for jump in duel.jumps)
            assert own.n_jumps.tolist() == [n_jumps]
    assert kinds == ({True, False} if size == 12 else {False})


# Grids --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at_a_time", [1, 500, 1 << 16])
@pytest.mark.parametrize("n_biases", [8, 256])
def test_what_rows_add_to_leads(
    n_biases: int, at_a_time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each row, label and other label: the logarithm of a quotient, and jumps up to the next bias."""
    monkeypatch.setattr(brackets, "_AT_A_TIME", at_a_time)
    every = max(1, n_biases // 64)
    for table, duels in drawn(60)[:6]:
        tables, m = pairs_of(table, duels).tables, len(table.index.labels)
        grid = BiasGrid.of(tables, n_biases)
        assert len(grid.biases) == n_biases
        assert (np.diff(grid.biases) > 0).all()
        assert (grid.biases[0], grid.biases[-1]) == (FIRST, 1)
        (low, high), (least, most) = tables.at(grid.biases, slice(None))
        place = 0
        for row in range(0, len(low), m):
            for i, k in ((row + i, row + k) for i in range(m) for k in range(m) if i != k):
                with np.errstate(divide="ignore", invalid="ignore"):
                    expected = (np.log(low[i]) - tables.log_size[i]) - (
                        np.log(high[k]) - tables.log_size[k]
                    )
                np.testing.assert_array_equal(grid.log[place], expected)
                np.testing.assert_array_equal(grid.rough[:, place], expected[every - 1 :: every])
                fell, rose = least[i, :-1] - least[i, 1:], most[k, 1:] - most[k, :-1]
                assert (grid.jumps[place, :-1] >> 32).tolist() == fell.tolist()
                assert (grid.jumps[place, :-1] & 0xFFFFFFFF).tolist() == rose.tolist()
                assert grid.jumps[place, -1] == 0
                place += 1
        assert place == len(grid.log) == len(grid.jumps)


def is_near(one: float, other: float) -> bool:
    return one == other or abs(one - other) < 1e-9


@pytest.mark.parametrize("n_biases", [8, 64, 128, 512])
@pytest.mark.parametrize("size", [12, 60, 300])
def test_brackets_of_a_grid(size: int, n_biases: int) -> None:
    """They lie between neighbours, with the leads at both and the jumps between them."""
    at_zero, from_first = 0, 0
    for table, duels in drawn(size):
        pairs = pairs_of(table, duels)
        grid = BiasGrid.of(pairs.tables, n_biases)
        bracket, moved = grid.bracket(pairs)
        biases = [0.0, *grid.biases.tolist()]
        assert bracket.rose.all()
        for place, duel in enumerate(duels):
            assert duel.last is not None
            if not duel.is_clear:
                continue
            left, right = float(bracket.left[place]), float(bracket.right[place])
            assert left <= duel.last < right
            assert biases.index(right) == biases.index(left) + 1
            assert is_near(bracket.high.log[place], duel.log_lead(right))
            if left == 0:
                assert bracket.low.log[place] == math.inf
                at_zero += 1
                continue
            from_first += left == FIRST
            assert is_near(bracket.low.log[place], duel.log_lead(left))
            expected = sum(left <= jump < right for jump in duel.jumps)
            assert bracket.n_jumps[place] == expected == sum(own[:, place].sum() for own in moved)
    assert at_zero or size > 12
    assert from_first or n_biases > 8


@pytest.mark.parametrize("n_biases", [8, 256])
def test_a_lead_that_is_lost_late(n_biases: int) -> None:
    """Of 1000 holes at least floor(1000 · (1 - bias)) are a's, and two are needed: up to a bias of 0.998.

    Without smoothing 1 + 2 a's of 1001 are more than the rival's share, which is 2.5 of 1001.
    """
    rows, labels = [("a",), *[(None,)] * 1000, ("a",)], ["A"] * 1001 + ["B"]
    index = CountIndex.from_rows(rows, labels, domains={"x0": ["a", "b"]})
    model = Model(index, 0, [1, Fraction(5, 2002)])
    tables = Tables(model, model.points([("a",)]))
    pairs = tables.pairs(np.array([0]), np.array([0]), np.array([1]))
    grid = BiasGrid.of(tables, n_biases)
    bracket, _ = grid.bracket(pairs)
    assert (bracket.left[0], bracket.right[0]) == (grid.biases[-2], 1)
    assert bracket.high.log == pytest.approx([math.log(1 / 2.5)])
    n_needed = 1 + math.floor(1000 * (1 - grid.biases[-2]))
    assert bracket.low.log == pytest.approx([math.log(n_needed / 2.5)])


@pytest.mark.parametrize("n_biases", [8, 256, 4096])
def test_a_lead_that_is_never_lost(n_biases: int) -> None:
    """Rounding may leave a lead at a bias of 1: the bracket ends there, and is not sure."""
    # All 5000 known cells hold the value and some of 20,000 holes; the rival has as much as 4900 cells.
    index = index_from_counts([25_000, 10_000], [[[5000, 4900], [0, 5100]]])
    index = replace(index, n_null=np.array([[20_000, 0]]))
    tables = Tables(Model(index, 0, [25_000, 10_000]), first_point(index))
    pairs = tables.pairs(np.array([0]), np.array([0]), np.array([1]))
    grid = BiasGrid.of(tables, n_biases)
    bracket, _ = grid.bracket(pairs)
    assert (bracket.left[0], bracket.right[0]) == (grid.biases[-2], 1)
    assert bracket.high.log == pytest.approx([math.log(5000 / 4900)])
    assert not bracket.is_sure(pairs.slack).any()


def test_labels_without_support_are_not_ahead() -> None:
    """Minus infinity and less is no number, and no lead."""
    terms = floats(-math.inf, math.inf, math.nan, 0.5)
    places = np.array([[0, 1, 2, 3, 0], [3, 3, 3, 3, 1]])
    found = _leads(terms, places, np.full(5, 0.25)).tolist()
    assert found == [-math.inf, math.inf, -math.inf, 1.25, -math.inf]


def test_brackets_between_biases_that_are_no_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rounds end early, brackets are wider, and nobody knows how many jumps they have."""
    monkeypatch.setattr(brackets, "_ROUNDS", 1)
    widths = set()
    for table, duels in drawn(300):
        pairs = pairs_of(table, duels)
        grid = BiasGrid.of(pairs.tables, 512)
        bracket, _ = grid.bracket(pairs)
        for place, duel in enumerate(duels):
            assert duel.last is not None
            left, right = float(bracket.left[place]), float(bracket.right[place])
            width = int(np.searchsorted(grid.biases, right) - np.searchsorted(grid.biases, left))
            assert left <= duel.last < right or abs(duel.log_lead(right)) < 1e-9
            assert np.isinf(bracket.n_jumps[place]) == (width > 1)
            widths.add(width)
    assert {1, 2} < widths


@pytest.mark.parametrize("falls", [True, False])
@pytest.mark.parametrize("lost", [Fraction(1, 10), Fraction(1, 2)])
def test_more_jumps_than_are_kept_are_infinitely_many(falls: bool, lost: Fraction) -> None:
    """A grid tells a thousand jumps between neighbours, the first two as well, and cuts billions."""
    share = Fraction(7, 10) if falls else Fraction(1, 5)
    # What the label with open cells has at the bias, in ten thousandths; the other always has that.
    level = int((share - lost if falls else share + lost) * 10_000)
    for n in (9000, 10**12):
        open_one = [int(1000 * share), 1000 - int(1000 * share)]
        other = [level, 10_000 - level]
        columns = [open_one, other] if falls else [other, open_one]
        sizes = [n + 1000, 10_000] if falls else [10_000, n + 1000]
        index = index_from_counts(sizes, [[list(pair) for pair in zip(*columns, strict=True)]])
        index = replace(index, n_null=np.array([[n, 0] if falls else [0, n]]))
        tables = Tables(Model(index, 0, [1, 1]), first_point(index))
        pairs = tables.pairs(np.array([0]), np.array([0]), np.array([1]))
        bracket, _ = BiasGrid.of(tables, 8).bracket(pairs)
        left, right = (Fraction(float(end[0])) for end in (bracket.left, bracket.right))
        assert left < lost * Fraction(n, n + 1000) < right
        assert (left == FIRST) == (lost < Fraction(1, 5))
        ends = [n * (share - b if falls else share + b) for b in (left, right)]
        cells = [math.floor(end) if falls else math.ceil(end) for end in ends]
        expected = abs(cells[1] - cells[0])
        assert bracket.n_jumps.tolist() == [expected if n == 9000 else math.inf]


def test_leads_at_biases_of_a_grid() -> None:
    """The lead at the first bias that is not below, of each label over each other one."""
    rng = random.Random(6)
    for table, duels in drawn(300):
        pairs = pairs_of(table, duels)
        grid = BiasGrid.of(pairs.tables, 32)
        asked = floats(*(rng.choice((rng.random(), float(grid.biases[5]))) for _ in duels))
        for duel, bias, lead in zip(duels, asked, grid.lead(pairs, asked), strict=True):
            assert is_near(lead, duel.log_lead(min(one for one in grid.biases if one >= bias)))


def tables_of(model: Model, n_points: int) -> Tables:
    """The tables of some points, each with the first value of every feature."""
    values = [feature.values[0] for feature in model.index.schema.features]
    return Tables(model, model.points([values] * n_points))


def test_how_fine_a_grid_is() -> None:
    """A power of two, as fine as its terms allow: so many for each feature of each point, and no finer."""
    sizes = set()
    for seed in (3, 4, 5):
        model = Model(random_holed(random.Random(seed), n_rows=12).index())
        for n_points in (1, 7, 8, 9, 31, 32, 33, 64, 100, 999, 40_000):
            tables = tables_of(model, n_points)
            n_terms = brackets._TERMS * n_points * model.d
            most = min(n_terms / (len(tables.low) * (model.m - 1)), brackets._MOST)
            grid = grid_of(tables)
            if grid is None:
                assert most < brackets._FEWEST
                continue
            n_biases = len(grid.biases)
            assert n_biases.bit_count() == 1
            assert n_biases <= most < 2 * n_biases
            sizes.add(n_biases)
            # Not the one that is kept, which may be finer.
            brackets._LAST._kept = None
    assert {8, 4096} < sizes


def test_no_grid_where_slots_do_not_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worst of several candidates is no sum of terms."""
    monkeypatch.setattr(brackets, "_TERMS", math.inf)
    holed = random_holed(random.Random(3))
    model = Model(holed.index(), 1)
    cells = [None] * model.d
    assert grid_of(Tables(model, model.points([cells] * 9, "any"))) is None
    assert grid_of(tables_of(model, 9)) is not None


def test_a_grid_of_some_values_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a table has rows for the values of these points only, others need a grid of their own."""
    monkeypatch.setattr(brackets, "_TERMS", math.inf)
    monkeypatch.setattr(brackets, "_MOST", 32)
    model = Model(random_holed(random.Random(3)).index(), 1)
    with monkeypatch.context() as patch:
        patch.setattr(leads, "WIDE", 1)
        narrow = grid_of(tables_of(model, 5))
        assert grid_of(tables_of(model, 5)) is not narrow
    assert grid_of(tables_of(model, 5)) is not narrow


def test_a_grid_is_kept_for_the_next_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """One grid serves all blocks of points of a model, but for one that pays for more biases."""
    monkeypatch.setattr(brackets, "_TERMS", math.inf)
    monkeypatch.setattr(brackets, "_MOST", 32)
    index = random_holed(random.Random(3)).index()
    model = Model(index)
    grid = grid_of(tables_of(model, 5))
    assert grid is not None
    assert len(grid.biases) == 32
    assert grid_of(tables_of(model, 9)) is grid
    monkeypatch.setattr(brackets, "_MOST", 16)
    assert grid_of(tables_of(model, 9)) is grid
    monkeypatch.setattr(brackets, "_MOST", 64)
    finer = grid_of(tables_of(model, 9))
    assert finer is not None
    assert len(finer.biases) == 64
    assert grid_of(tables_of(Model(index), 9)) is not finer


def test_a_grid_is_forgotten_with_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid may take tens of megabytes, which nobody needs once the model is gone."""
    monkeypatch.setattr(brackets, "_TERMS", math.inf)
    model = Model(random_holed(random.Random(3)).index())
    assert grid_of(tables_of(model, 5)) is not None
    assert brackets._LAST._kept is not None
    del model
    gc.collect()
    assert brackets._LAST._kept is None
