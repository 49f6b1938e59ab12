"""Cells told apart by their rows: the order is another, verdicts and odds are those of the table."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import polars as pl
import pytest
from support import oracle
from support.cleaning_oracle import random_truth, small_case
from support.counted import index_of, options_of

from nullproof import CountIndex, certify
from nullproof.cleaning import Cleaner, simulate_cleaning
from nullproof.cleaning.entropy import entropy_gains
from nullproof.cleaning.prospects import Prospects
from nullproof.odds.learned import Learned

SEED = 20261118
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")


def copied(n: int = 300, seed: int = 3) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A table whose column b nearly repeats a, with holes in both; and without."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    a = (rng.random(n) < 0.35 + 0.3 * label).astype(int)
    b = np.where(rng.random(n) < 0.1, 1 - a, a)
    truth = pl.DataFrame({"a": a, "b": b, "c": rng.integers(0, 4, n), "y": label})
    holed = truth.with_columns(
        pl.when(pl.Series(rng.random(n) > 0.25)).then(pl.col(name)).alias(name) for name in "ab"
    )
    return holed, truth


def cleaner_of(holed: pl.DataFrame, **options: Any) -> Cleaner:
    index = CountIndex.from_table(holed, "y", binning="none")
    points = [{"a": a, "b": b, "c": c} for a in (0, 1) for b in (0, 1) for c in range(4)]
    return Cleaner(index, pl.DataFrame(points), holed, **options)


def test_cells_share_what_their_group_does() -> None:
    """The scores of all cells of a group sum to what the group would do for all points."""
    cleaner = cleaner_of(copied()[0], cells="model")
    points = cleaner.points.take(np.flatnonzero(~cleaner.done))
    cells = cleaner.open_cells
    prospects = Prospects(cleaner.outlook, points, cleaner.learned, cells.rows)
    groups = cleaner.outlook.shares()[0].sum(axis=0)
    for i, j in np.argwhere(cleaner.outlook.matters).tolist():
        scores = prospects.scores(i, j, cells.rows(i, j))
        assert scores.sum() == pytest.approx(groups[i, j])
    best = prospects.best(10_000, np.ones(3))
    assert sum(len(rows) for *_, rows in best) == cleaner.n_open


def test_likely_helpers_come_first() -> None:
    """For one point: cells of its winner that probably hold its value, cells of a rival that do not."""
    whole = cleaner_of(copied()[0])
    for place in np.flatnonzero(~whole.done).tolist():
        points = whole.points.take(np.array([place]))
        cleaner = Cleaner(whole.original, points, copied()[0], cells="model")
        prospects = Prospects(cleaner.outlook, points, cleaner.learned, cleaner.open_cells.rows)
        winner = cleaner.outlook.closest()[0][0]
        for i, j in np.argwhere(cleaner.outlook.matters).tolist():
            rows = cleaner.open_cells.rows(i, j)
            every, weights = cleaner.learned.chances(j)
            likely = weights[np.searchsorted(every, rows), points.codes[j, 0]]
            helpful = likely if i == winner else -likely
            order = np.argsort(prospects.scores(i, j, rows), kind="stable")
            assert (np.diff(helpful[order]) >= 0).all()


@pytest.mark.parametrize("cells", ["observed", "model"])
def test_the_order_never_changes_a_verdict(cells: Any) -> None:
    """On random tables, whatever is proposed is open, and the end is that of the true table."""
    rng = random.Random(SEED)
    for _ in range(25):
        case = small_case(rng)
        index = index_of(case)
        labels = list(case.labels)
        points = [next(oracle.completions(point, case.domains)) for point in case.points]
        options = options_of(case, index) | {"own_missing": "skip"}
        cleaner = Cleaner(index, points, case.rows, labels, cells=cells, **options)
        truth = random_truth(case, rng)
        while not cleaner.finished:
            step = cleaner.next(3)
            places = [(cell.row, case.features.index(cell.column)) for cell in step]
            assert len({*step}) == len(step) > 0
            assert not {*step} & {*cleaner.filled}
            cleaner.fill({cell: truth[place] for cell, place in zip(step, places, strict=True)})
        ends = certify(cleaner.index, points, **options)
        assert cleaner.certain.tolist() == ends.certain.tolist()


def test_odds_are_learned_anew() -> None:
    """After answers the points done by odds are those of a new look at the table with the answers."""
    holed, truth = copied()
    cleaner = cleaner_of(holed, cells="model", confidence=0.9)
    for _ in range(3):
        step = cleaner.next(8)
        cleaner.fill({cell: truth[cell.column][cell.row] for cell in step})
        again = CountIndex.from_table(cleaner.complete(), "y", like=cleaner.original)
        other = Cleaner(again, cleaner.points, cleaner.complete(), cells="model", confidence=0.9)
        assert other.done.tolist() == cleaner.done.tolist()
        assert isinstance(cleaner.rule, Learned)
        if cleaner.finished:
            break


@pytest.mark.parametrize("strategy", ["ours", "entropy", "random"])
def test_every_order_ends_alike(strategy: Any) -> None:
    """Cleaned to its end, every order makes the same points certain."""
    holed, truth = copied()
    cells: Any = "model" if strategy == "ours" else "observed"
    curve = simulate_cleaning(cleaner_of(holed, cells=cells), truth, strategy=strategy)
    whole = CountIndex.from_table(truth, "y", like=cleaner_of(holed).original)
    assert curve.n_done[-1] == certify(whole, cleaner_of(holed).points).certain.sum()
    assert (np.diff(curve.n_cells) > 0).all()


def test_entropy_gains() -> None:
    """No cells, no gain; more cells gain no less, and nothing is gained where labels cannot change."""
    outlook = cleaner_of(copied()[0]).outlook
    shape = outlook.variance.shape[1:]
    none, half, all_ = (entropy_gains(outlook, np.full(shape, part)) for part in (0.0, 0.5, 1.0))
    assert none.max() == pytest.approx(0, abs=1e-3)
    assert (half <= all_ + 1e-3).all()
    assert all_.max() > 0.01
    assert not all_[~outlook.is_open.any(axis=0)].max() > 1e-3
