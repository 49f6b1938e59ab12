"""Drawing worlds part by part: who wins in given counts, how draws become odds, and what fills a cell."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nullproof import CountIndex, NullproofError
from nullproof.counts.index import LEFT_OUT
from nullproof.model import Model
from nullproof.odds.filling import Filling
from nullproof.odds.learned import WHOLE, Learned
from nullproof.odds.samples import (
    _drawn_codes,
    draw,
    sample_worlds,
    sampled_odds,
    sampled_winners,
)

ROWS: list[Any] = [("a", None), ("a", "x"), ("b", {"x", "y"}), ("b", "z"), (None, "x")]
LABELS = ["yes", "yes", "no", "no", "no"]
INDEX = CountIndex.from_rows(ROWS, LABELS)


def model_of(n_rows: list[int], d: int, **options: Any) -> Model:
    """A model of labels with these numbers of rows, and features of two values."""
    codes = np.zeros((sum(n_rows), d), dtype=np.int64)
    labels = np.repeat(np.arange(len(n_rows)), n_rows)
    return Model(CountIndex.from_codes(codes, labels, n_values=[2] * d), **options)


def won(model: Model, worlds: list[Any]) -> list[list[bool]]:
    """Who wins in worlds, each given as counts by label and feature."""
    counts = np.array(worlds, dtype=np.int64).reshape(len(worlds), model.m, model.d)
    found: list[list[bool]] = sampled_winners(model, counts).tolist()
    return found


# Who wins -----------------------------------------------------------------------------------------


def test_the_greatest_support_wins() -> None:
    """Labels with the greatest product of prior and shares win, and several if they tie."""
    model = model_of([4, 4, 4], 2, alpha=0)
    worlds = [
        [(3, 2), (2, 2), (1, 4)],
        [(3, 2), (2, 3), (1, 4)],
        [(1, 1), (2, 2), (4, 1)],
        [(0, 4), (4, 0), (1, 1)],
        [(2, LEFT_OUT), (3, LEFT_OUT), (3, LEFT_OUT)],
    ]
    assert won(model, worlds) == [
        [True, False, False],
        [True, True, False],
        [False, True, True],
        [False, False, True],
        [False, True, True],
    ]


def test_without_any_support_all_tie() -> None:
    """Where no label has a support, all of them have the greatest, which is zero."""
    model = model_of([3, 3], 2, alpha=0)
    assert won(model, [[(0, 1), (1, 0)], [(0, 1), (1, 1)]]) == [[True, True], [False, True]]


def test_priors_decide_what_doubles_cannot_tell() -> None:
    """Supports that differ in the 18th digit are no tie; of three near ones just one may win."""
    large = 10**18
    model = model_of([5, 5], 1, alpha=0, prior=[large, large + 1])
    assert won(model, [[(3,), (3,)], [(4,), (3,)]]) == [[False, True], [True, False]]
    model = model_of([5, 5, 5], 1, alpha=0, prior=[large, large + 1, large])
    assert won(model, [[(3,), (3,), (3,)]]) == [[False, True, False]]
    model = model_of([5, 5, 5, 5], 1, alpha=0, prior=[large, large + 1, large - 1, large + 1])
    assert won(model, [[(3,)] * 4, [(3,), (2,), (3,), (2,)]]) == [
        [False, True, False, True],
        [True, False, False, False],
    ]


def test_ties_of_long_sums_are_ties() -> None:
    """The same factors in another order tie, though sums of many large logarithms round differently."""
    rng = np.random.default_rng(5)
    d = 60
    model = model_of([9, 9], d, alpha=Fraction(1, 10**100))
    counts = rng.integers(0, 9, size=d)
    worlds = [[counts, rng.permutation(counts)] for _ in range(20)]
    logs = np.zeros((20, 2))
    for j in range(d):
        logs += model.log_terms(j, np.array(worlds)[:, :, j])
    assert np.abs(logs[:, 0] - logs[:, 1]).max() > model.slack(0)
    assert won(model, worlds) == [[True, True]] * 20


def test_numbers_below_all_doubles_decide() -> None:
    """A smoothing and a prior that round among the least doubles are compared as they are."""
    least = Fraction(1, 2**1074)
    tiny = Fraction(8, 5) * least
    model = model_of([1, 4], 1, alpha=Fraction(7, 5) * least, prior=[1 - tiny, tiny])
    # Seven fifths against three quarters of eight fifths; doubles see 1 against 3/2.
    assert won(model, [[(0,), (3,)]]) == [[True, False]]


# Odds ---------------------------------------------------------------------------------------------


def test_seeds_are_zero_unless_given() -> None:
    """Without a seed the worlds are those of the seed 0, which differ from those of 1."""
    rows, labels = ROWS * 9, LABELS * 9
    index = CountIndex.from_rows(rows, labels)
    asked: list[Any] = [
        lambda **seed: sample_worlds(index, ("a", "x"), 50, **seed).tolist(),
        lambda **seed: sampled_odds(INDEX, ("a", "y"), 50, **seed).tolist(),
        lambda **seed: draw(index, rows, labels, **seed),
    ]
    for ask in asked:
        assert ask() == ask(seed=0)
        assert ask() != ask(seed=1)


def test_odds_are_the_shares_of_drawn_worlds() -> None:
    """Odds sum to 1 and are what the winners of the same worlds say, a tie shared out."""
    points = [("a", "y"), ("b", "x")]
    model = Model(INDEX, 1)
    for place, own in enumerate(sampled_odds(INDEX, points[:1], 200, seed=4)):
        wins = sampled_winners(model, sample_worlds(INDEX, points[:1], 200, seed=4)[place])
        assert own.tolist() == pytest.approx(
            [np.mean(wins[:, i] / wins.sum(axis=1)) for i in range(2)]
        )
    for n in (1, 2, 999, 1000, 1001, 2500):
        assert sampled_odds(INDEX, points, n, seed=4).sum(axis=1).tolist() == pytest.approx([1, 1])
    tied = CountIndex.from_rows([("a",), ("a",), ("b",), ("b",)], ["p", "q", "p", "q"])
    assert sampled_odds(tied, [("a",)], 7).tolist() == [[0.5, 0.5]]


def test_smoothing_is_one_unless_given() -> None:
    """Without a smoothing every value counts once more, as in `label_odds`."""
    index = CountIndex.from_rows([("b",), *[("a",)] * 6, *[("c",)] * 2], ["p"] * 7 + ["q"] * 2)
    even: Any = {"prior": "uniform"}
    # For b: (1 + α) / (7 + 3α) of p against α / (2 + 3α) of q, a tie at α = 1.
    assert sampled_odds(index, ("b",), 3, **even).tolist() == [[0.5, 0.5]]
    assert sampled_odds(index, ("b",), 3, alpha=2, **even).tolist() == [[0.0, 1.0]]


def test_numbers_of_worlds() -> None:
    """One world is enough; none, a fraction of one or a text are refused."""
    assert sample_worlds(INDEX, ("a", "x"), 1).shape == (1, 1, 2, 2)
    for n in (0, -1, 2.5, "3"):
        for ask in (sample_worlds, sampled_odds):
            with pytest.raises(NullproofError, match=r"n is .*; give how many worlds to draw"):
                ask(INDEX, ("a", "x"), n)  # type: ignore[arg-type]


def test_the_first_point_that_is_not_complete_is_named() -> None:
    """Of several points that cannot be drawn for, the message names the first, and why."""
    for points, reason in (
        ([("a", "x"), (None, "x"), ("a", None)], "point 1 has missing cells"),
        ([("a", {"x", "y"}), ("a", "x"), (None, "x")], "point 0 has several candidates"),
    ):
        with pytest.raises(NullproofError, match=reason):
            sampled_odds(INDEX, points, 5, own_missing="any")


# Tables -------------------------------------------------------------------------------------------


def test_every_tick_of_a_chance_leads_to_its_value() -> None:
    """Of the 65536 ticks, as many lead to a value as it has parts, in the order of the values."""
    rows: list[Any] = [("a",), ("b",), ("b",), ("c",), (None,), ({"a", "c"},)]
    index = CountIndex.from_rows(rows, ["p"] * 6)
    learned = Learned.of(index, rows, ["p"] * 6)
    open_rows, weights = learned.chances(0)
    assert open_rows.tolist() == [4, 5]
    assert weights[1, 1] == 0

    def drawn(tick: int) -> list[int]:
        rng = SimpleNamespace(integers=lambda end, size: np.full(size, min(tick, end - 1)))
        found = _drawn_codes(
            Filling(index, learned),
            0,
            learned.columns[0],
            learned.row_labels,
            rng,  # type: ignore[arg-type]
        )
        return [found[4], found[5]]

    ends = np.cumsum(weights, axis=1)
    for tick in (0, WHOLE - 1, WHOLE, *ends.ravel().tolist(), *(ends.ravel() - 1).tolist()):
        here = min(tick, WHOLE - 1)
        assert drawn(tick) == [int(np.flatnonzero(own > here)[0]) for own in ends]


def test_plain_rows_with_bins_get_the_middle() -> None:
    """In plain rows a hole of a binned column gets the middle of a bin, known numbers stay."""
    rows: list[Any] = [(0.0,), (10.0,), (4.0,), (None,), ({1.0, 9.0},)]
    labels = ["p", "q", "p", "q", "p"]
    known = {"a": [0.0, 10.0, 4.0], "y": ["p", "q", "p"]}
    binned = CountIndex.from_table(known, "y", bins=2, binning="uniform")
    index = CountIndex.from_rows(rows, labels, like=binned)
    worlds = [draw(index, rows, labels, seed=seed) for seed in range(30)]
    assert {world[3] for world in worlds} == {(2.5,), (7.5,)}
    assert {world[4] for world in worlds} == {(1.0,), (9.0,)}
    assert {tuple(world[:3]) for world in worlds} == {((0.0,), (10.0,), (4.0,))}


def test_a_candidate_lies_in_the_bin_that_was_drawn() -> None:
    """Where the label knows numbers of one bin only, the candidate that lies there fills the cell."""
    rows: list[Any] = [(0.0,), (4.0,), ({1.0, 9.0},), (10.0,), ({2.0, 8.0, 9.0},)]
    labels = ["p", "p", "p", "q", "q"]
    known = {"a": [0.0, 10.0, 4.0], "y": ["p", "q", "p"]}
    binned = CountIndex.from_table(known, "y", bins=2, binning="uniform")
    index = CountIndex.from_rows(rows, labels, like=binned)
    worlds = [draw(index, rows, labels, cells="observed", seed=seed) for seed in range(20)]
    assert {world[2] for world in worlds} == {(1.0,)}
    assert {world[4] for world in worlds} == {(8.0,), (9.0,)}


def test_bins_are_filled_with_what_they_show() -> None:
    """A hole of a binned column of a frame gets any known number of its bin, each now and then."""
    numbers = [0.0, 1.0, 2.0, 9.0, 10.0, None]
    frame = pd.DataFrame({"a": numbers * 2, "y": list("pqpqpqqpqpqp")})
    index = CountIndex.from_table(frame, "y", bins=2, binning="uniform")
    worlds = [draw(index, frame, seed=seed)["a"].tolist() for seed in range(60)]
    assert {world[5] for world in worlds} == {0.0, 1.0, 2.0, 9.0, 10.0}
    assert sum(world[5] < 5 for world in worlds) / 60 == pytest.approx(1 / 2, abs=0.25)
    assert all(world[:5] == numbers[:5] for world in worlds)


def test_a_category_is_always_written_the_same() -> None:
    """Numbers that are values of their own may be written in two ways: a hole gets the first."""
    frame = pd.DataFrame({"a": ["1", "01", "1.0", "2", "?"] * 4, "y": list("pqpqp") * 4})
    index = CountIndex.from_table(frame, "y", binning="none", missing=("?",))
    assert index.schema.features[0].values == ("1", "2")
    drawn = {draw(index, frame, seed=seed)["a"][4] for seed in range(30)}
    assert drawn == {"1", "2"}


def test_observed_draws_within_candidates_and_labels() -> None:
    """Candidates are drawn as often as the known cells of the label hold them, row by row."""
    cells: list[Any] = ["u", "u", "v", "w", {"u", "v"}, "w", {"u", "v", "w"}, None]
    rows, labels = [(cell,) for cell in cells], ["p", "p", "p", "p", "p", "q", "q", "p"]
    index = CountIndex.from_rows(rows, labels)
    n = 400
    worlds = [draw(index, rows, labels, cells="observed", seed=seed) for seed in range(n)]
    seen = [Counter(world[row][0] for world in worlds) for row in range(len(rows))]
    assert [{*own} for own in seen[:4]] == [{"u"}, {"u"}, {"v"}, {"w"}]
    assert [{*own} for own in seen[5:7]] == [{"w"}, {"w"}]
    assert {*seen[4]} == {"u", "v"}
    assert seen[4]["u"] / n == pytest.approx(2 / 3, abs=0.1)
    assert seen[7]["u"] / n == pytest.approx(1 / 2, abs=0.1)
    assert seen[7]["w"] / n == pytest.approx(1 / 4, abs=0.1)
