"""Where rivals catch up: told wherever rounding cannot blur it, and what is told is right (T10)."""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from support.bias_oracle import double_below
from support.count_tables import first_point, index_from_counts
from support.duels import Duel, drawn_duels, pairs_of
from support.large_counts import LargeTable

from nullproof import crossings
from nullproof.brackets import BiasGrid, Bracket
from nullproof.crossings import (
    _by_trials,
    _cells,
    _first_lost,
    _jumps,
    _moved,
    crossing,
    crossing_nearby,
)
from nullproof.leads import Lead, Pairs, Part, Tables
from nullproof.model import Model

EPS = float(np.finfo(np.float64).eps)
# Rows of a label, and how many tables: small ones lose their lead at 0 often.
SIZES = {12: 300, 60: 40, 300: 12, 1500: 5}


@functools.lru_cache
def drawn(size: int) -> list[tuple[LargeTable, list[Duel]]]:
    return [*drawn_duels(7, SIZES[size], size)]


def assert_told(found: NDArray[np.float64], duels: list[Duel]) -> int:
    """Compare with the fractions; no number may lack where the leads before and after are clear."""
    n_told = 0
    for told, duel in zip(found.tolist(), duels, strict=True):
        assert told == duel.last or (math.isnan(told) and not duel.is_clear)
        n_told += duel.is_clear
    return n_told


# From a bias of 0 to 1 ----------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
def test_clear_crossings_are_told(size: int) -> None:
    """All at once and one by one, from any bias at which the lead is lost on."""
    rng, n_told = random.Random(size), 0
    for table, duels in drawn(size):
        pairs, lasts = pairs_of(table, duels), np.array([duel.last for duel in duels])
        for share in (1.0, rng.random()):
            # A little beyond at least: rounding blurs a jump that lies next to an end.
            beyond = lasts + np.maximum(share * (1 - lasts), 1e-9)
            n_told += assert_told(crossing(pairs, beyond, pairs.lead(beyond)), duels)
        for place in range(len(duels)):
            one = pairs.at(np.array([place]))
            found = crossing(one, np.ones(1), one.lead(np.ones(1)))
            n_told += assert_told(found, [duels[place]])
    assert n_told > 50


def test_after_the_last_round_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A crossing that too few rounds leave open is left to integers."""
    monkeypatch.setattr(crossings, "_MOST_ROUNDS", 1)
    for table, duels in drawn(1500):
        pairs, beyond = pairs_of(table, duels), np.ones(len(duels))
        found = crossing(pairs, beyond, pairs.lead(beyond))
        assert np.isnan(found).any()
        told = ~np.isnan(found)
        assert found[told].tolist() == [
            duel.last for duel, is_told in zip(duels, told, strict=True) if is_told
        ]


@pytest.mark.parametrize("n_biases", [8, 64, 512])
@pytest.mark.parametrize("size", SIZES)
def test_clear_crossings_are_told_by_a_grid(size: int, n_biases: int) -> None:
    """Between neighbours on a grid, fine or coarse, few jumps are left, or two trials find them."""
    n_told = 0
    for table, duels in drawn(size):
        pairs = pairs_of(table, duels)
        found = crossing_nearby(pairs, BiasGrid.of(pairs.tables, n_biases))
        n_told += assert_told(found, duels)
    assert n_told > 15


@pytest.mark.parametrize("size", [60, 300, 1500])
def test_crossings_by_a_very_fine_grid(size: int) -> None:
    """There neighbours are not always found, and then two trials need not do; but most are told."""
    n_told, n_all = 0, 0
    for table, duels in drawn(size):
        pairs = pairs_of(table, duels)
        found = crossing_nearby(pairs, BiasGrid.of(pairs.tables, 4096))
        for told_so, duel in zip(found.tolist(), duels, strict=True):
            assert math.isnan(told_so) or told_so == duel.last
        n_told, n_all = n_told + int(np.isfinite(found).sum()), n_all + len(duels)
    assert n_told > n_all / 2


def few_and_many(n_few: int, n_many: int) -> LargeTable:
    """One feature: a label with few open cells, one with none, one with many."""
    known = Counter({("L0", 0, "0"): 5, ("L0", 0, "1"): 2, ("L1", 0, "0"): 6, ("L1", 0, "1"): 9})
    known += Counter({("L2", 0, "0"): 7, ("L2", 0, "1"): 13})
    n_open = {"L0": n_few, "L1": 0, "L2": n_many}
    n_rows = {"L0": 7 + n_few, "L1": 15, "L2": 20 + n_many}
    index = index_from_counts([*n_rows.values()], [[[5, 6, 7], [2, 9, 13]]])
    groups = {(name, 0, frozenset("01")): n for name, n in n_open.items() if n}
    return LargeTable(
        replace(index, n_null=np.array([[*n_open.values()]])),
        n_rows,
        known,
        groups,
        (("0", "1"),),
        1,
    )


@pytest.mark.parametrize("n_few", [9, 20, 30, 40, 60, 90, 200])
@pytest.mark.parametrize("n_many", [300, 5000])
def test_points_of_few_jumps_beside_points_of_many(n_few: int, n_many: int) -> None:
    """Those that are done go first, whenever that is, and the others go on without them."""
    table = few_and_many(n_few, n_many)
    judge, n_told = table.judge(), 0
    every = [Duel(judge, ("0",), *pair) for pair in itertools.permutations(range(3), 2)]
    lost = [duel for duel in every if duel.last is not None]
    assert len(lost) == 2
    for duels in itertools.product(lost, repeat=4):
        pairs = pairs_of(table, duels)
        found = crossing(pairs, np.ones(len(duels)), pairs.lead(np.ones(len(duels))))
        n_told += assert_told(found, [*duels])
    assert n_told == 4 * 2**4


def test_no_points_have_no_crossings() -> None:
    """Where no rival may catch up, nothing is asked."""
    table, duels = drawn(60)[0]
    pairs = pairs_of(table, duels)
    none = pairs.at(np.array([], dtype=np.intp))
    empty = np.array([])
    assert (
        crossing(none, empty, pairs.lead(np.ones(len(duels))).at(empty.astype(np.intp))).size == 0
    )
    assert crossing_nearby(none, BiasGrid.of(pairs.tables, 8)).size == 0


@pytest.mark.parametrize("threatens", [False, True])
def test_a_jump_at_zero_is_told_though_rounding_hides_it(threatens: bool) -> None:
    """A whole number of cells is expected, which doubles miss: the jump at 0 is found nevertheless."""
    if threatens:
        # Of 42 holes 27 are expected to hold the rival's value, and one more beyond 0: 36, then 37 of 56.
        assert 42 * (9 / 14) > 27
        counts, sizes, open_cells, level = [[[5, 9], [9, 5]]], [14, 56], [0, 42], Fraction(73, 2)
        prior = [level * Fraction(14, 56), Fraction(5)]
    else:
        # Of 49 holes one is expected to hold the winner's value, and none beyond 0: 2, then 1 of 98.
        assert 49 * (1 / 49) < 1
        counts, sizes, open_cells, level = [[[1, 3], [48, 4]]], [98, 7], [49, 0], Fraction(3, 2)
        prior = [Fraction(3), level * Fraction(7, 98)]
    index = replace(index_from_counts(sizes, counts), n_null=np.array([open_cells]))
    tables = Tables(Model(index, 0, prior), first_point(index))
    pairs = tables.pairs(np.array([0]), np.array([0]), np.array([1]))
    assert crossing(pairs, np.ones(1), pairs.lead(np.ones(1))).tolist() == [0]
    for n_biases in (8, 64):
        assert crossing_nearby(pairs, BiasGrid.of(tables, n_biases)).tolist() == [0]


# Within brackets ----------------------------------------------------------------------------------


def between(pairs: Pairs, left: NDArray[np.float64], right: NDArray[np.float64]) -> Bracket:
    """Brackets with their leads."""
    return Bracket(left, right, pairs.lead(left), pairs.lead(right), np.ones(len(left), dtype=bool))


@pytest.mark.parametrize("size", SIZES)
def test_jumps_within_brackets(size: int) -> None:
    """All jumps of both counts, rounded down, the one at 0 too; and what each does to a plain lead."""
    rng, n_plain = random.Random(size), 0
    for table, duels in drawn(size):
        pairs = pairs_of(table, duels)
        left = np.array([rng.choice((0.0, rng.random() / 3, rng.random() / 9)) for _ in duels])
        bracket = between(pairs, left, left + np.array([rng.random() / 3 for _ in duels]))
        moved = _moved(pairs, bracket)
        jumps, changes = _jumps(pairs, bracket, moved)
        for place, duel in enumerate(duels):
            ends = bracket.left[place], bracket.right[place]
            expected = [jump for jump in duel.jumps if ends[0] <= jump < ends[1]]
            order = np.argsort(jumps[place])
            listed = jumps[place, order][: len(expected)].tolist()
            assert listed == [double_below(jump) for jump in expected]
            assert np.isinf(jumps[place, order][len(expected) :]).all()
            assert not changes[place, order][len(expected) :].any()
            n_moved = sum(int(own[:, place].sum()) for side in moved for own in side)
            assert n_moved == len(expected)
            if pairs.plain:
                n_plain += len({*expected})
                assert_changes(duel, ends[0], expected, changes[place, order])
    assert n_plain > 10


def assert_changes(
    duel: Duel, left: float, jumps: list[Fraction], changes: NDArray[np.float64]
) -> None:
    """Beyond each jump the lead is the one at the left end and what all jumps up to there do to it."""
    lead = duel.log_lead(left)
    for number, jump in enumerate(jumps, 1):
        after = duel.log_lead(jump + Fraction(1, 10**30))
        if math.isfinite(lead) and jumps[number : number + 1] != [jump]:
            assert lead + changes[:number].sum() == pytest.approx(after, abs=1e-11)


@pytest.mark.parametrize("plain", [True, False], ids=["jump by jump", "by halves"])
@pytest.mark.parametrize("size", [60, 300, 1500])
def test_the_first_lost_of_wide_brackets(
    size: int, plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many jumps a bracket has, the one at which the lead is lost is found, both ways."""
    rng, n_told = random.Random(size), 0
    for table, duels in drawn(size):
        pairs = pairs_of(table, duels)
        if pairs.plain < plain:
            continue
        some = [place for place, duel in enumerate(duels) if duel.last]
        if not some:
            continue
        pairs, duels_here = pairs.at(np.array(some)), [duels[place] for place in some]
        lasts = np.array([duel.last for duel in duels_here])
        left = lasts * np.array([rng.choice((1 - 1e-9, rng.random())) for _ in some])
        right = lasts + (1 - lasts) * np.array([rng.choice((1.0, rng.random())) for _ in some])
        bracket = between(pairs, left, right)
        with monkeypatch.context() as patch:
            patch.setattr(Pairs, "plain", plain)
            found = _first_lost(pairs, bracket, _moved(pairs, bracket))
        n_told += assert_told(found, duels_here)
    assert n_told > 8


def twins(rival: int) -> Pairs:
    """Two features alike, whose counts fall to 3 beyond a bias of 1/8, to 2 beyond 1/4, to 1 beyond 3/8.

    One of two known cells holds the value, and eight more of the winner's are open. The rival's support is
    that of a winner with this product of its two counts.
    """
    index = index_from_counts([10, 2], [[[1, 1], [1, 1]]] * 2)
    index = replace(index, n_null=np.array([[8, 0], [8, 0]]))
    tables = Tables(Model(index, 0, [1, rival * Fraction(2, 10) ** 2]), first_point(index))
    return tables.pairs(np.array([0]), np.array([0]), np.array([1]))


def told(pairs: Pairs, left: float, right: float) -> float:
    bracket = between(pairs, np.array([left]), np.array([right]))
    assert bracket.is_sure(pairs.slack).all()
    return float(_first_lost(pairs, bracket, _moved(pairs, bracket))[0])


def test_jumps_at_one_bias_are_one() -> None:
    """Two counts jump at one bias, with a tie between: rounding blurs which of them it is, not where."""
    assert told(twins(6), 0.2, 0.3) == 0.25
    # Where the bracket has more jumps, jumps before the tie or after it could be meant.
    assert math.isnan(told(twins(6), 0.1, 0.3))
    assert math.isnan(told(twins(6), 0.2, 0.4))
    # Without a tie there is nothing to blur.
    for rival in (5, 7, 8):
        assert told(twins(rival), 0.1, 0.4) == 0.25
    assert told(twins(3), 0.1, 0.4) == 0.375


def test_halves_look_between_jumps_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jumps at one bias are one, so that no tie between them blurs anything."""
    monkeypatch.setattr(Pairs, "plain", False)
    for rival in (5, 6, 7, 8):
        for left, right in ((0.2, 0.3), (0.1, 0.3), (0.2, 0.4), (0.1, 0.4)):
            assert told(twins(rival), left, right) == 0.25
    assert told(twins(3), 0.1, 0.4) == 0.375
    assert told(twins(10), 0.1, 0.4) == 0.125
    # A tie beyond a jump is one between two biases.
    assert math.isnan(told(twins(4), 0.1, 0.4))


def test_a_lead_that_no_jump_loses() -> None:
    """If the jumps that are listed do not lose the lead, rounding hides the one that does."""
    index = index_from_counts([200, 100], [[[50, 10], [50, 90]]])
    model = Model(replace(index, n_null=np.array([[100, 0]])), 0)
    tables = Tables(model, first_point(index))
    pairs = tables.pairs(np.array([0]), np.array([0]), np.array([1]))
    bracket = between(pairs, np.array([0.105]), np.array([0.125]))
    # The winner has 89, then 88 and 87 of the value.
    first, second = (double_below(Fraction(share, 100)) for share in (11, 12))
    for log, expected in ((0.5, math.nan), (0.02, second), (0.01, first)):
        bracket.low = Lead(np.array([log]), bracket.low.n_cells)
        found = _first_lost(pairs, bracket, _moved(pairs, bracket))
        np.testing.assert_array_equal(found, [expected])


def test_several_points_with_different_numbers_of_jumps() -> None:
    """A point with one jump, told though a tie blurs it, beside one with more."""
    pairs = twins(6)
    both = replace(
        pairs,
        winner=pairs.winner.repeat(2),
        rival=pairs.rival.repeat(2),
        rows=(pairs.rows[0].repeat(2, axis=1), pairs.rows[1].repeat(2, axis=1)),
    )
    for order in ([0, 1], [1, 0]):
        bracket = between(both, np.full(2, 0.2), np.array([0.3, 0.4])[order])
        found = _first_lost(both, bracket, _moved(both, bracket))
        np.testing.assert_array_equal(found, np.array([0.25, math.nan])[order])


def test_trials_from_a_tie_tell_nothing() -> None:
    """Beyond 1/4 both labels have the same support up to 3/8: the lead is not lost there, but before."""
    pairs = twins(4)
    bracket = between(pairs, np.array([0.37]), np.array([0.5]))
    assert abs(bracket.low.log[0]) <= pairs.slack[0]
    assert np.isnan(_by_trials(pairs, bracket)).all()
    # From a lead they tell.
    pairs = twins(5)
    assert _by_trials(pairs, between(pairs, np.array([0.2]), np.array([0.5]))).tolist() == [0.25]


def test_trials_are_for_wide_brackets_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between neighbours on a grid with few plain jumps between, those are looked at without more leads."""
    tried: list[int] = []

    def noted(pairs: Pairs, bracket: Bracket) -> NDArray[np.float64]:
        tried.append(len(bracket.left))
        return np.full(len(bracket.left), np.nan)

    monkeypatch.setattr(crossings, "_by_trials", noted)
    for table, duels in [*drawn(12), *drawn(60), *drawn(300)]:
        pairs = pairs_of(table, duels)
        grid = BiasGrid.of(pairs.tables, 64)
        bracket, _ = grid.bracket(pairs)
        narrow = (bracket.left > 0) & (bracket.n_jumps <= 20) & pairs.plain
        found = crossing_nearby(pairs, grid)
        assert_told(found[narrow], [d for d, own in zip(duels, narrow, strict=True) if own])
        # None is tried where none needs it.
        assert sum(tried) <= (~narrow).sum()
        tried.clear()


# Cells --------------------------------------------------------------------------------------------


def test_cells_that_hold_a_value() -> None:
    """Whole cells, none below zero and none above all (T9)."""
    rng, edges = random.Random(5), set()
    for _ in range(300):
        n, bias = rng.randint(1, 40), rng.choice((rng.random(), rng.random() / 10))
        share = Fraction(rng.randint(0, 12), 12)
        part = Part(np.array([float(n)]), np.array([n * float(share)]))
        fewest = max(0, math.floor(n * (share - Fraction(bias))))
        most = min(n, math.ceil(n * (share + Fraction(bias))))
        for before in (False, True):
            assert _cells(part, -1, np.array([bias]), before).tolist() == [fewest]
            assert _cells(part, 1, np.array([bias]), before).tolist() == [most]
        assert _cells(part, -1, np.array([bias])).tolist() == [fewest]
        edges |= {fewest == 0, most == n}
    assert edges == {True, False}


@pytest.mark.parametrize("n_cells", [1, 2, 7, 10**6])
def test_cells_before_a_jump_at_zero(n_cells: int) -> None:
    """A jump at 0 is still to come there, whichever side of it rounding puts the expectation on."""
    zero = np.zeros(1)
    for whole, n_doubles, sign in itertools.product(
        (1, n_cells // 2 + 1, n_cells), range(-4, 5), (-1, 1)
    ):
        expected = whole * (1 + n_doubles * EPS / 2)
        part = Part(np.array([float(n_cells)]), np.array([expected]))
        assert _cells(part, sign, zero, True).tolist() == [whole]
        # At 0 itself it counts as it is.
        plain = max(0, math.floor(expected)) if sign < 0 else min(n_cells, math.ceil(expected))
        assert _cells(part, sign, zero).tolist() == [plain]


@pytest.mark.parametrize("n_cells", [3, 1000])
def test_cells_beyond_a_jump_below_zero(n_cells: int) -> None:
    """A jump that is clearly below 0 has happened there."""
    zero = np.zeros(1)
    for sign, expected, held in ((-1, 2 - 1e-9, 1), (1, 2 + 1e-9, 3)):
        part = Part(np.array([float(n_cells)]), np.array([expected]))
        assert _cells(part, sign, zero, True).tolist() == [held]
