"""Cleaner and simulate_cleaning: laws of filling, saving and resuming, and what is refused."""

from __future__ import annotations

import json
import math
import os
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.cleaning_oracle import (
    TIE,
    Grid,
    own_truth,
    random_truth,
    small_case,
    with_own,
    with_values,
)
from support.counted import index_of, options_of
from support.strategies import Case

from nullproof import CountIndex, NullproofError, certify
from nullproof.cleaning.cleaner import Cleaner
from nullproof.cleaning.holes import Cell
from nullproof.cleaning.simulation import Curve, simulate_cleaning

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
N_TABLES = int(os.environ.get("NULLPROOF_CLEANING_TABLES", "1600")) // 16
SEED = int(os.environ.get("NULLPROOF_SEED", "20240604"))


def cleaner_of(case: Case, **options: Any) -> Cleaner:
    index = index_of(case)
    options = {**options_of(case, index), **options}
    return Cleaner(index, list(case.points), case.rows, list(case.labels), **options)


def state(cleaner: Cleaner) -> Any:
    """All that a cleaner tells."""
    judged = cleaner.done.tolist(), cleaner.certain.tolist(), cleaner.finished
    return *judged, cleaner.filled, cleaner.ranking(), repr(cleaner), cleaner.complete()


# Laws -----------------------------------------------------------------------------------------------


def clean_to_the_end(case: Case, rng: random.Random, own_missing: str) -> None:
    """Fill what is proposed with random values and check every state on the way."""
    truth, own = random_truth(case, rng), own_truth(case, rng)
    cleaner = cleaner_of(case, own_missing=own_missing)
    given: dict[tuple[int, int], Any] = {}
    told: dict[tuple[int, int], Any] = {}
    while not cleaner.finished:
        n_wanted = rng.randint(1, 3)
        proposed = cleaner.next(n_wanted)
        assert 0 < len(proposed) == len({*proposed}) <= n_wanted
        before = cleaner.certain.copy()
        answers = {}
        for cell in proposed:
            place = cell.row, case.features.index(cell.column)
            known, so_far = (truth, given) if cell.table == "training" else (own, told)
            assert place not in so_far
            so_far[place] = answers[cell] = known[place]
        cleaner.fill(answers)
        assert (cleaner.certain >= before).all()
        rows = with_values(case, given)
        assert cleaner.index == CountIndex.from_rows(rows, case.labels, like=cleaner.original)
        assert cleaner.index.n_missing - cleaner.original.n_missing == -len(given)
    assert cleaner.complete() == [tuple(row) for row in with_values(case, given)]
    for position, point in enumerate(with_own(case, told)):
        left = Grid(case, point, own_missing).after(given)
        certain = int(left.min()) == int(left.max()) != TIE
        assert cleaner.certain[position] == certain
        assert certain or (left == TIE).all(), (case, point)


def test_cleaning_to_the_end() -> None:
    """Certain points stay certain, counts equal those of the filled table, and only ties are left."""
    rng = random.Random(SEED)
    for number in range(N_TABLES):
        clean_to_the_end(small_case(rng), rng, ("any", "skip")[number % 2])


def test_saving_and_resuming(tmp_path: Path) -> None:
    """A cleaner that resumes from a file is in the state of the one that wrote it, at any time."""
    rng = random.Random(SEED + 1)
    for _ in range(N_TABLES // 2):
        case = small_case(rng)
        truth = {(i, case.features[j]): v for (i, j), v in random_truth(case, rng).items()}
        cleaner = cleaner_of(case)
        some = rng.sample([*truth], rng.randint(0, len(truth)))
        cleaner.fill({cell: truth[cell] for cell in some})
        cleaner.save(tmp_path / "saved.json")
        other = cleaner_of(case)
        other.resume(tmp_path / "saved.json")
        assert other.index == cleaner.index
        assert state(other) == state(cleaner)
        rest = {cell: truth[cell] for cell in truth if cell not in some}
        cleaner.fill(rest)
        other.fill(rest)
        assert state(other) == state(cleaner)


@pytest.mark.parametrize("confidence", [0.7, 0.9])
def test_confidence(confidence: float) -> None:
    """Settled below certainty means odds that reach the confidence, after fills too."""
    rng = random.Random(SEED + 2)
    for number in range(N_TABLES // 4):
        case, own_missing = small_case(rng), ("any", "skip")[number % 2]
        truth = random_truth(case, rng)
        some = {cell: truth[cell] for cell in rng.sample([*truth], len(truth) // 2)}
        cleaner = cleaner_of(case, confidence=confidence, cells="observed", own_missing=own_missing)
        cleaner.fill({(i, case.features[j]): value for (i, j), value in some.items()})
        for position, point in enumerate(case.points):
            grid = Grid(case, point, own_missing)
            if len(grid.points) == 1 and cleaner.done[position]:
                assert max(grid.odds("observed", some).values()) >= confidence - 1e-12


# Answers --------------------------------------------------------------------------------------------


ROWS: list[Any] = [
    ("a", None, None),
    ("a", "x", 1),
    (frozenset("ab"), "y", 2),
    (None, "x", 3),
    ("c", "y", 1),
]
LABELS = ["yes", "yes", "no", "no", "yes"]
POINTS: list[Any] = [("a", "y", 1), ("b", "x", 2), ("a", "x", 3)]


def small_cleaner(**options: Any) -> Cleaner:
    index = CountIndex.from_rows(ROWS, LABELS, features=["f", "g", "h"])
    return Cleaner(index, POINTS, ROWS, LABELS, **{"alpha": 1, **options})


WRONG: dict[str, tuple[Any, str]] = {
    "column": ({(0, "k"): "x"}, "column 'k', which is no feature; they are f, g, h"),
    "row below": ({(-1, "g"): "x"}, "row -1, but rows go from 0 to 4"),
    "row above": ({(5, "g"): "x"}, "row 5, but rows go from 0 to 4"),
    "row as text": ({("0", "g"): "x"}, "row '0', but rows go"),
    "not missing": ({(1, "g"): "x"}, "row 1, column 'g' is not missing"),
    "twice": ({(3, "f"): "a"}, "row 3, column 'f' has an answer already"),
    "outside the domain": ({(0, "g"): "z"}, "the answer 'z' for row 0, column 'g' is not one of"),
    "no candidate": ({(2, "f"): "c"}, r"the answer 'c' for row 2, column 'f' is not .*\(a, b\)"),
    "None": ({(0, "g"): None}, "the answer for row 0, column 'g' is missing too"),
    "NaN": ({(0, "h"): math.nan}, "the answer for row 0, column 'h' is missing too"),
    "several": ({(0, "g"): frozenset("xy")}, "the answer .* for row 0, column 'g' is not one of"),
    "another kind": ({(0, "h"): "one"}, "row 0, column 'h'"),
    "a number": ({(0, "g"): 7}, "row 0, column 'g'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers(name: str) -> None:
    """One wrong answer and none is taken, those before it neither."""
    answers, message = WRONG[name]
    cleaner = small_cleaner()
    cleaner.fill({(3, "f"): "b"})
    before = state(cleaner)
    good: Any = {(2, "f"): "a"} if (2, "f") not in answers else {(0, "h"): 1}
    with pytest.raises(NullproofError, match=message) as caught:
        cleaner.fill({**good, **answers})
    assert "\n" not in str(caught.value)
    assert state(cleaner) == before
    cleaner.fill(good)
    assert cleaner.n_open == 2


def test_filling() -> None:
    """Answers are counted, told and written into the table."""
    cleaner = small_cleaner()
    cleaner.fill({})
    assert (cleaner.n_open, cleaner.filled) == (4, {})
    answers: Any = {(np.int64(0), "h"): np.int64(2), (2, "f"): "b"}
    cleaner.fill(answers)
    assert cleaner.filled == {Cell(0, "h"): "2", Cell(2, "f"): "b"}
    assert cleaner.complete()[0] == ("a", None, 2)
    assert cleaner.complete()[2] == ("b", "y", 2)
    assert ROWS[0] == ("a", None, None)
    assert cleaner.original.n_missing == 4
    assert "2 cells filled, 2 cells left" in repr(cleaner)
    certificates = certify(cleaner.index, POINTS, alpha=1)
    assert (cleaner.certificates.possible == certificates.possible).all()


def test_proposals() -> None:
    """No more cells than matter are proposed, the cheaper first, and at least one must be asked for."""
    cleaner = small_cleaner()
    everything = cleaner.next(100)
    assert {*everything} <= {Cell(0, "g"), Cell(0, "h"), Cell(2, "f"), Cell(3, "f")}
    assert cleaner.next(1) == everything[:1]
    dear = small_cleaner(costs={everything[0][1]: 1e6})
    assert dear.next(1) != everything[:1]
    assert sorted(dear.next(100)) == sorted(everything)
    for wrong in (0, -1, 1.5, "many"):
        with pytest.raises(NullproofError, match="next was asked for"):
            cleaner.next(wrong)  # type: ignore[arg-type]


def test_wrong_options() -> None:
    """A cleaner refuses what a plan refuses."""
    for options, message in (
        ({"confidence": 0.2}, "confidence is 0.2; give 1"),
        ({"cells": "even"}, "cells is 'even'; give 'uniform', 'observed' or 'model'"),
        ({"costs": {"g": math.inf}}, "the cost of 'g' is inf"),
        ({"alpha": 10**400}, "alpha or the prior is too large or too small"),
    ):
        with pytest.raises(NullproofError, match=message):
            small_cleaner(**options)
    index = CountIndex.from_rows(ROWS, LABELS)
    for rows in ([*ROWS[:-1], (None, "y", 1)], [*ROWS[:2], (frozenset("ac"), "y", 2), *ROWS[3:]]):
        with pytest.raises(NullproofError, match="give the table that was counted"):
            Cleaner(index, POINTS, rows, LABELS, alpha=0)


def test_nothing_to_clean() -> None:
    """A complete table, no points, or points that tie whatever comes: done from the start."""
    known: list[Any] = [("a", "x"), ("b", "y")]
    index = CountIndex.from_rows(known, ["A", "B"])
    cleaner = Cleaner(index, [("a", "x"), ("a", "y")], known, ["A", "B"], alpha=0)
    assert cleaner.finished
    assert cleaner.next(5) == []
    assert cleaner.certain.tolist() == [True, False]
    index = CountIndex.from_rows(ROWS, LABELS)
    assert Cleaner(index, [], ROWS, LABELS, alpha=0).finished
    stuck = Cleaner(index, [("elsewhere", "x", 1)], ROWS, LABELS, alpha=0)
    assert stuck.finished
    assert not stuck.done.any()


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_frames(library: str, tmp_path: Path) -> None:
    """Numbers in bins, dates, booleans and text: filled, written into the frame, saved and resumed."""
    frames = __import__(library)
    dates = np.array(["2024-01-01", "NaT", "2024-03-01", "2024-09-01"], dtype="datetime64[us]")
    frame = frames.DataFrame(
        {
            "age": [30.5, None, 61.0, 44.0],
            "since": dates,
            "town": ["Ulm", None, "Bonn", "Ulm"],
            "paid": [True, None, False, None],
            "churn": ["no", "no", "yes", "yes"],
        }
    )
    index = CountIndex.from_table(frame, "churn")
    cleaner = Cleaner(index, frame, frame, alpha=1)
    answers: dict[tuple[int, str], Any] = {
        (1, "age"): 45.25,
        (1, "since"): dates[0].item(),
        (1, "town"): "Bonn",
        (3, "paid"): False,
    }
    cleaner.fill(answers)
    filled = cleaner.complete()
    assert type(filled) is type(frame)
    assert filled["age"].to_list()[1] == 45.25
    assert filled["town"].to_list() == ["Ulm", "Bonn", "Bonn", "Ulm"]
    assert cleaner.index == CountIndex.from_table(filled, "churn", like=index)
    cleaner.save(tmp_path / "saved.json")
    other = Cleaner(index, frame, frame, alpha=1)
    other.resume(tmp_path / "saved.json")
    assert other.index == cleaner.index
    assert other.filled == cleaner.filled
    assert CountIndex.from_table(other.complete(), "churn", like=index) == cleaner.index


# Saved answers --------------------------------------------------------------------------------------


def test_wrong_files(tmp_path: Path) -> None:
    """A file that is not whole, not ours or for another table is refused, and nothing is taken."""
    cleaner = small_cleaner()
    cleaner.fill({(0, "g"): "x"})
    path = tmp_path / "saved.json"
    cleaner.save(path)
    whole = path.read_text("utf-8")
    document = json.loads(whole)
    answer = document["answers"][0]
    broken = {
        "truncated": whole[: len(whole) // 2],
        "not JSON": "row,column\n",
        "a list": "[]",
        "lists in lists": "[" * 9_999,
        "without table": json.dumps({k: v for k, v in document.items() if k != "table"}),
        "without answers": json.dumps({k: v for k, v in document.items() if k != "answers"}),
        "another version": json.dumps({**document, "version": 2}),
        "a number": json.dumps({**document, "answers": [{**answer, "value": 5}]}),
        "twice": json.dumps({**document, "answers": [answer, {**answer, "value": "y"}]}),
    }
    fresh = small_cleaner()
    before = state(fresh)
    for name, content in broken.items():
        path.write_text(content, "utf-8")
        with pytest.raises(NullproofError, match="holds no answers that a Cleaner saved"):
            fresh.resume(path)
        assert state(fresh) == before, name
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(NullproofError, match="holds no answers"):
        fresh.resume(path)
    with pytest.raises(NullproofError, match="no such file"):
        fresh.resume(tmp_path / "nothing.json")
    path.write_text(whole, "utf-8")
    rows = [*ROWS[:-1], ("b", "y", 1)]
    other = Cleaner(
        CountIndex.from_rows(rows, LABELS, features="fgh"), POINTS, rows, LABELS, alpha=0
    )
    with pytest.raises(NullproofError, match="was saved for another table"):
        other.resume(path)
    with pytest.raises(NullproofError, match="has an answer already"):
        cleaner.resume(path)
    fresh.resume(path)
    assert state(fresh) == state(cleaner)


# Simulation -----------------------------------------------------------------------------------------


def codes_with_holes(seed: int, n_rows: int = 200) -> tuple[Any, Any, list[str]]:
    rng = np.random.default_rng(SEED + seed)
    labels = rng.integers(0, 3, n_rows)
    noise = rng.integers(0, 4, (n_rows, 4))
    truth = np.where(rng.random((n_rows, 4)) < 0.4, labels[:, None], noise)
    share = np.array([0.02, 0.05, 0.2, 0.1])
    rows = truth.astype(object)
    rows[rng.random((n_rows, 4)) < share] = None
    return truth.tolist(), rows.tolist(), [f"label {i}" for i in labels]


def curve_of(seed: int, strategy: Any, **options: Any) -> Curve:
    truth, rows, labels = codes_with_holes(seed)
    index = CountIndex.from_rows(rows, labels)
    cleaner = Cleaner(index, truth[:40], rows, labels, alpha=1, **options)
    return simulate_cleaning(cleaner, truth, labels, strategy=strategy, step=3)


@pytest.mark.parametrize("strategy", ["ours", "random", "most missing"])
@pytest.mark.parametrize("confidence", [1.0, 0.9])
def test_curves(strategy: str, confidence: float) -> None:
    """A curve ends with all points done, never falls at certainty, and its numbers follow from it."""
    for seed in range(3):
        curve = curve_of(seed, strategy, confidence=confidence)
        cells, done = curve.n_cells.tolist(), curve.n_done.tolist()
        assert cells[0] == 0
        assert all(0 < b - a <= 3 for a, b in pairwise(cells))
        assert cells[-1] <= curve.n_open
        assert done[-1] == curve.n_points == 40
        if confidence == 1:
            assert done == sorted(done)
        for share in (0.5, 0.9, 0.95, 1.0):
            enough = (k for k, n in enumerate(done) if n >= share * done[-1] - 1e-9)
            assert curve.cells_until(share) == cells[next(enough)]
        area = sum(
            [n for k, n in zip(cells, done, strict=True) if k <= at][-1]
            for at in range(curve.n_open)
        )
        assert curve.area == pytest.approx(area / 40 / curve.n_open)
        assert f"Curve: {strategy}" in repr(curve)
        assert "n_done" in curve._repr_html_()


def test_strategies_differ() -> None:
    """Ours needs fewer cells than the others on average; the others go their own ways."""
    curves = {
        name: [curve_of(seed, name) for seed in range(6)]
        for name in ("ours", "random", "most missing")
    }
    area = {name: float(np.mean([curve.area for curve in own])) for name, own in curves.items()}
    assert area["ours"] > max(area["random"], area["most missing"])
    assert area["random"] != area["most missing"]
    assert curve_of(0, "random").area == curves["random"][0].area


def test_wrong_simulations() -> None:
    """A truth with holes, with values that a cell cannot hold, or of another size is refused."""
    for row, column, value in ((0, 1, None), (0, 1, "z"), (2, 0, "c"), (0, 1, frozenset("xy"))):
        truth = [list(cells) for cells in ROWS]
        truth[0][1:], truth[2][0], truth[3][0] = ["x", 1], "a", "a"
        simulate_cleaning(small_cleaner(), truth, LABELS)
        truth[row][column] = value
        with pytest.raises(NullproofError, match="of the truth"):
            simulate_cleaning(small_cleaner(), truth, LABELS)
    with pytest.raises(NullproofError, match="give the same rows without holes"):
        simulate_cleaning(small_cleaner(), [("a", "x", 1)] * 2, ["yes", "no"])
    with pytest.raises(NullproofError, match="strategy is 'best'; give one of 'ours', 'random'"):
        simulate_cleaning(small_cleaner(), ROWS, LABELS, strategy="best")  # type: ignore[arg-type]


@pytest.mark.parametrize("strategy", ["ours", "random"])
def test_simulation_of_ties(strategy: Any) -> None:
    """Where points tie at last, ours stops when nothing matters any more, the others at the end."""
    rows: list[Any] = [("a", None), ("b", None), ("a", "x"), ("b", "y")]
    truth, labels = [("a", "x"), ("b", "y"), *rows[2:]], ["A", "B", "B", "A"]
    index = CountIndex.from_rows(rows, labels)
    cleaner = Cleaner(index, [("a", "x"), ("c", "x")], rows, labels, alpha=0)
    curve = simulate_cleaning(cleaner, truth, labels, strategy=strategy)
    assert (curve.n_cells.tolist(), curve.n_done[-1]) == ([0, 1, 2], 0)
    assert cleaner.finished


def test_simulation_without_holes() -> None:
    """Nothing to clean: one point of the curve, and all of the area."""
    known: list[Any] = [("a", "x"), ("b", "y")]
    index = CountIndex.from_rows(known, ["A", "B"])
    curve = simulate_cleaning(Cleaner(index, known, known, ["A", "B"], alpha=0), known, ["A", "B"])
    assert (curve.n_cells.tolist(), curve.n_done.tolist()) == ([0], [2])
    assert (curve.cells_until(1.0), curve.area) == (0, 1)
