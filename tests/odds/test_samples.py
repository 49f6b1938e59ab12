"""Drawn worlds, as counts and as tables, are worlds, and come as often as they should."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from support import oracle
from support.counted import index_of, options_of
from support.strategies import EXTREME_ALPHAS, Case, random_case

from nullproof import CountIndex, NullproofError, certify
from nullproof.model import Model
from nullproof.odds.samples import (
    draw,
    sample_worlds,
    sampled_odds,
    sampled_winners,
)
from nullproof.odds.worlds import count_worlds

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
SEED = 20240607
ROWS: list[Any] = [("a", None), ("a", "x"), ("b", {"x", "y"}), ("b", "z"), (None, "x")]
LABELS = ["yes", "yes", "no", "no", "no"]


def completed(case: Case) -> list[Any]:
    """One completion of each point."""
    return [next(oracle.completions(point, case.domains)) for point in case.points]


# Counts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", range(4))
def test_sampled_worlds_are_worlds(chunk: int) -> None:
    """Drawn counts are reachable, and their winners are those that the oracle finds."""
    rng = random.Random(f"{SEED}-{chunk}")
    for _ in range(40):
        case = random_case(rng)
        if rng.random() < 0.2:
            case = replace(case, alpha=rng.choice(EXTREME_ALPHAS))
        index, points = index_of(case), completed(case)
        model = Model(index, case.alpha, case.prior_for(index.labels))
        drawn = sample_worlds(index, points, 20, seed=rng.randrange(100))
        assert drawn.shape == (len(points), 20, model.m, model.d)
        names = index.labels
        share = oracle.shares(case.labels, names, case.prior)
        for point, worlds in zip(points, drawn, strict=True):
            reachable = oracle.reachable_counts(case.rows, case.labels, point, case.domains, names)
            wins = sampled_winners(model, worlds)
            for counts, won in zip(worlds.tolist(), wins.tolist(), strict=True):
                assert tuple(map(tuple, counts)) in reachable
                values = {
                    label: oracle.support(
                        share[label], own, case.labels.count(label), case.domains, case.alpha
                    )
                    for label, own in zip(names, counts, strict=True)
                }
                found = {label for label, is_so in zip(names, won, strict=True) if is_so}
                assert found == oracle.winners(values)


def test_sampled_odds_come_near() -> None:
    """Shares of many drawn worlds approach the exact ones."""
    index = CountIndex.from_rows(ROWS, LABELS)
    points = [("a", "x"), ("b", "x"), ("b", "y"), ("a", "y")]
    found = sampled_odds(index, points, 4_000, seed=SEED, alpha=1)
    exact = [[float(x) for x in count_worlds(index, p, alpha=1).odds.values()] for p in points]
    assert np.abs(found - np.array(exact)).max() < 0.04


def test_seeds() -> None:
    """The same seed draws the same worlds, another one others."""
    index = CountIndex.from_rows(ROWS * 9, LABELS * 9)
    one, same, other = (sample_worlds(index, ("a", "x"), 50, seed) for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()


def test_agreement_of_drawn_worlds_errs_on_one_side() -> None:
    """All drawn worlds agree on a certain point; they may on one with a rare rival too."""
    rng = random.Random(SEED)
    n_open = 0
    for _ in range(60):
        case = random_case(rng)
        index, points = index_of(case), completed(case)
        options = options_of(case, index)
        certain = certify(index, points, **options).certain
        guessed = (sampled_odds(index, points, 30, **options) == 1).any(axis=1)
        assert (guessed >= certain).all()
        n_open += int((~guessed).sum())
    assert n_open > 20
    rows: list[Any] = [("a",)] * 6 + [(None,)] * 30 + [("b",)] + [("a",)] * 5
    rare = CountIndex.from_rows(rows, ["yes"] * 37 + ["no"] * 5, domains={"x0": range(9)})
    assert not certify(rare, ("a",), prior=[1, 2], alpha=0).certain
    assert sampled_odds(rare, ("a",), 100, prior=[1, 2], alpha=0).max() == 1


def test_wrong_questions_are_refused() -> None:
    """What came, what was needed."""
    index = CountIndex.from_rows(ROWS, LABELS)
    with pytest.raises(NullproofError, match="n is 0; give how many worlds"):
        sample_worlds(index, ("a", "x"), 0)
    with pytest.raises(NullproofError, match="point 1 has missing cells of its own"):
        sample_worlds(index, [("a", "x"), ("a", None)], 5, own_missing="any")
    with pytest.raises(NullproofError, match="point 1 has several candidates for a cell"):
        sample_worlds(index, [("a", None), ("a", {"x", "y"})], 5)
    with pytest.raises(NullproofError, match="the label 'maybe', which the index does not have"):
        draw(index, ROWS, [*LABELS[:4], "maybe"])


# Tables -------------------------------------------------------------------------------------------


def test_drawn_rows_are_worlds() -> None:
    """A drawn table fills the holes with candidates and changes nothing else."""
    rng = random.Random(SEED)
    for seed in range(120):
        case = random_case(rng)
        world = draw(index_of(case), case.rows, case.labels, seed=seed)
        assert oracle.is_world(world, case.rows, case.domains), case


def test_drawn_worlds_are_equally_likely() -> None:
    """Every world comes about as often as any other."""
    index = CountIndex.from_rows(ROWS, LABELS)
    n_draws = 1_200
    seen = Counter(tuple(draw(index, ROWS, LABELS, seed=seed)) for seed in range(n_draws))
    assert len(seen) == 12
    assert all(abs(n - n_draws / 12) < 50 for n in seen.values())


def test_observed_draws_follow_their_label() -> None:
    """Holes are filled as often with a value as the known cells of the label hold it."""
    rows: list[Any] = (
        [("a",)] * 30 + [("b",)] * 10 + [(None,)] * 400 + [("b",)] + [({"a", "b"},)] * 9
    )
    labels = ["yes"] * 440 + ["no"] * 10
    index = CountIndex.from_rows(rows, labels)
    world = draw(index, rows, labels, cells="observed", seed=SEED)
    share = Fraction(sum(row == ("a",) for row in world[40:440]), 400)
    assert abs(share - Fraction(3, 4)) < Fraction(1, 10)
    assert world[440:] == [("b",)] * 10


FRAME: dict[str, list[Any]] = {
    "age": [20.0, None, 41.5, 60.0, None, 33.0] * 5,
    "city": ["A", "B", None, "B", "A", None] * 5,
    "n": [1, 2, 3, 4, 5, 6] * 5,
    "label": ["x", "y"] * 15,
}


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
def test_drawn_frames(library: str) -> None:
    """The drawn table has the type, the columns and the known cells of the given one."""
    makers: dict[str, Any] = {
        "polars": pl.DataFrame,
        "pandas": pd.DataFrame,
        "pyarrow": pa.table,
    }
    table = makers[library](FRAME)
    index = CountIndex.from_table(table, "label", bins=3, binning="uniform")
    drawn = draw(index, table, seed=SEED)
    assert type(drawn) is type(table)
    plain: dict[str, list[Any]] = (
        drawn.to_dict("list")
        if library == "pandas"
        else pl.DataFrame(drawn).to_dict(as_series=False)
    )
    for name, cells in FRAME.items():
        for old, new in zip(cells, plain[name], strict=True):
            assert new == old if old is not None else new in cells
    # Bins are filled with different numbers, as far as the column shows them.
    assert len({plain["age"][row] for row in range(1, 30, 3)}) > 2
    again = CountIndex.from_table(drawn, "label", like=index)
    assert again.n_missing == 0
    for j in range(3):
        assert (again.low(j) >= index.low(j)).all()
        assert (again.high(j) <= index.high(j)).all()


def test_drawn_candidates_of_bins() -> None:
    """A list of numbers is a cell with candidates: one of its own numbers fills it."""
    table = pl.DataFrame(
        {"age": [[1.0], [50.0, 51.0, 99.0], [100.0], [20.0], None], "label": list("xyxyx")}
    )
    index = CountIndex.from_table(table, "label", bins=4, binning="uniform")
    drawn = [draw(index, table, seed=seed) for seed in range(60)]
    assert {one["age"][1] for one in drawn} == {50.0, 51.0, 99.0}
    # No cell is known to be about fifty, so a cell that may hold anything gets the bin's middle.
    assert {one["age"][4] for one in drawn} == {1.0, 20.0, 38.125, 62.875, 100.0}
    assert all(CountIndex.from_table(one, "label", like=index).n_missing == 0 for one in drawn)
