"""Cleaner: the loop with a person, whose every state is that of the table with the answers in it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.amounts import n_tables, seeded
from support.cleaning_oracle import TIE, Grid, cleaning_case, random_truth, with_values
from support.counted import index_of, options_of
from support.strategies import Case

from nullproof import CountIndex, NullproofError, certify
from nullproof.cleaning import Cell, Cleaner

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")

N_TABLES = n_tables(200)


def cleaner_of(case: Case, **options: Any) -> Cleaner:
    """Begin to clean a case's table."""
    index = index_of(case)
    options = {**options_of(case, index), **options}
    return Cleaner(index, list(case.points), case.rows, list(case.labels), **options)


def state(cleaner: Cleaner) -> Any:
    """All that a cleaner tells."""
    judged = cleaner.done.tolist(), cleaner.certain.tolist(), cleaner.finished, cleaner.n_open
    return *judged, cleaner.filled, cleaner.next(99), repr(cleaner), cleaner.complete()


# Laws ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [1.0, 0.1], ids=["certain", "biased"])
def test_cleaning_to_the_end(bias: float) -> None:
    """Filling what is proposed ends; certain points stay certain, and only ties are left open."""
    rng = seeded("end", bias)
    for _ in range(max(N_TABLES // 8, 25)):
        case = cleaning_case(rng)
        truth, given = random_truth(case, rng), dict[tuple[int, int], Any]()
        cleaner = cleaner_of(case, bias=bias)
        options = options_of(case, cleaner.original) | {"bias": bias}
        while not cleaner.finished:
            proposed = cleaner.next(rng.randint(1, 3))
            assert proposed
            before, answers = cleaner.certain.copy(), {}
            for cell in proposed:
                place = cell.row, case.features.index(cell.column)
                assert place not in given
                given[place] = answers[cell] = truth[place]
            cleaner.fill(answers)
            assert bias < 1 or (cleaner.certain >= before).all()
            rows = with_values(case, given)
            assert cleaner.index == CountIndex.from_rows(rows, case.labels, like=cleaner.original)
            held = certify(cleaner.index, list(case.points), **options).certain
            assert cleaner.done.tolist() == held.tolist()
        assert [*cleaner.complete()] == with_values(case, given)
        for point in np.flatnonzero(~cleaner.done).tolist():
            assert Grid(case, case.points[point]).after(given) == {TIE}, (case, point)


def test_saving_and_resuming(tmp_path: Path) -> None:
    """A cleaner that resumes from a file is in the state of the one that wrote it, at any time."""
    rng = seeded("resume")
    for _ in range(max(N_TABLES // 8, 12)):
        case = cleaning_case(rng)
        truth = {(i, case.features[j]): v for (i, j), v in random_truth(case, rng).items()}
        cleaner, other = cleaner_of(case), cleaner_of(case)
        some = rng.sample([*truth], rng.randint(0, len(truth)))
        # One by one or together, as values or as texts.
        for cell in some:
            cleaner.fill({cell: truth[cell]})
        cleaner.save(tmp_path / "saved.json")
        other.resume(tmp_path / "saved.json")
        assert other.index == cleaner.index
        assert state(other) == state(cleaner)
        rest = {cell: truth[cell] for cell in truth if cell not in some}
        cleaner.fill(rest)
        other.fill(rest)
        assert state(other) == state(cleaner)
        assert cleaner.n_open == 0


# Answers ------------------------------------------------------------------------------------------

ROWS: list[Any] = [("a", None, None), ("a", "x", 1), (None, "y", 2), (None, "x", 3), ("b", "y", 1)]
LABELS = ["yes", "yes", "no", "no", "yes"]
POINTS: list[Any] = [("a", "y", 1), ("b", "x", 2), ("a", "x", 3)]


def small_cleaner(**options: Any) -> Cleaner:
    """Begin to clean a small table with four missing cells."""
    index = CountIndex.from_rows(ROWS, LABELS, features=["f", "g", "h"])
    return Cleaner(index, POINTS, ROWS, LABELS, **{"alpha": 1, "bias": 1.0, **options})


WRONG: dict[str, tuple[Any, str]] = {
    "column": ({(0, "k"): "x"}, "'k'.*f, g, h"),
    "row below": ({(-1, "g"): "x"}, "row -1.*0 to 4"),
    "row above": ({(5, "g"): "x"}, "row 5.*0 to 4"),
    "not missing": ({(1, "g"): "x"}, "row 1, column 'g'"),
    "twice": ({(3, "f"): "a"}, "row 3, column 'f'.*already"),
    "outside the domain": ({(0, "g"): "z"}, "row 0, column 'g': 'z'.*x, y"),
    "None": ({(0, "g"): None}, "row 0, column 'g'"),
    "NaN": ({(0, "h"): math.nan}, "row 0, column 'h'"),
    "several": ({(0, "g"): frozenset("xy")}, "row 0, column 'g'"),
    "another kind": ({(0, "h"): "one"}, "row 0, column 'h'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers(name: str) -> None:
    """With one wrong answer none is taken, those before it neither, and the cell is named."""
    answers, words = WRONG[name]
    cleaner = small_cleaner()
    cleaner.fill({(3, "f"): "b"})
    before = state(cleaner)
    with pytest.raises(NullproofError, match=words):
        cleaner.fill({(2, "f"): "a", **answers})
    assert state(cleaner) == before


def test_filling() -> None:
    """Answers are counted, told and written into the table, which itself stays as it was."""
    cleaner = small_cleaner()
    cleaner.fill({})
    assert (cleaner.n_open, cleaner.filled) == (4, {})
    answers: Any = {(np.int64(0), "h"): np.int64(2), (2, "f"): "b"}
    cleaner.fill(answers)
    assert cleaner.filled == {Cell(0, "h"): "2", Cell(2, "f"): "b"}
    assert cleaner.complete()[0] == ("a", None, 2)
    assert cleaner.complete()[2] == ("b", "y", 2)
    assert ROWS[0] == ("a", None, None)
    assert (cleaner.original.n_missing, cleaner.index.n_missing, cleaner.n_open) == (4, 2, 2)
    assert "2 cells filled" in repr(cleaner)
    assert "2 cells left" in repr(cleaner)
    told = certify(cleaner.index, POINTS, alpha=1)
    assert (cleaner.certificates.possible == told.possible).all()


def test_proposals() -> None:
    """No more cells than matter are proposed; at least one must be asked for."""
    cleaner = small_cleaner()
    every = cleaner.next(100)
    assert {*every} <= {Cell(0, "g"), Cell(0, "h"), Cell(2, "f"), Cell(3, "f")}
    assert cleaner.next(1) == every[:1]
    for wrong in (0, -1, 1.5, "many"):
        with pytest.raises(NullproofError, match="next"):
            cleaner.next(wrong)  # type: ignore[arg-type]


def test_another_table_is_refused() -> None:
    """A cleaner begins with the table that was counted."""
    index = CountIndex.from_rows(ROWS, LABELS)
    with pytest.raises(NullproofError, match="the table that was counted"):
        Cleaner(index, POINTS, [*ROWS[:-1], (None, "y", 1)], LABELS, alpha=0)


def test_nothing_to_clean() -> None:
    """A complete table, no points, or points that tie whatever comes: finished from the start."""
    known: list[Any] = [("a", "x"), ("b", "y")]
    index = CountIndex.from_rows(known, ["A", "B"])
    cleaner = Cleaner(index, [("a", "x"), ("a", "y")], known, ["A", "B"], alpha=0)
    assert (cleaner.finished, cleaner.next(5)) == (True, [])
    assert cleaner.certain.tolist() == [True, False]
    index = CountIndex.from_rows(ROWS, LABELS)
    assert Cleaner(index, [], ROWS, LABELS, alpha=0).finished
    stuck = Cleaner(index, [("elsewhere", "x", 1)], ROWS, LABELS, alpha=0)
    assert stuck.finished
    assert not stuck.done.any()


@pytest.mark.parametrize("library", [pl, pd], ids=["polars", "pandas"])
def test_frames(library: Any, tmp_path: Path) -> None:
    """Numbers in bins, dates, booleans and text: filled, written into the frame, and resumed."""
    dates = np.array(["2024-01-01", "NaT", "2024-03-01", "2024-09-01"], dtype="datetime64[us]")
    frame = library.DataFrame(
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
    answers: Any = {(1, "age"): 45.25, (1, "since"): dates[0].item(), (3, "paid"): False}
    cleaner.fill({**answers, (1, "town"): "Bonn"})
    filled = cleaner.complete()
    assert type(filled) is type(frame)
    assert filled["age"].to_list()[1] == 45.25
    assert filled["town"].to_list() == ["Ulm", "Bonn", "Bonn", "Ulm"]
    assert cleaner.index == CountIndex.from_table(filled, "churn", like=index)
    cleaner.save(tmp_path / "saved.json")
    other = Cleaner(index, frame, frame, alpha=1)
    other.resume(tmp_path / "saved.json")
    assert (other.index, other.filled) == (cleaner.index, cleaner.filled)
    assert CountIndex.from_table(other.complete(), "churn", like=index) == cleaner.index


def test_a_number_that_means_missing_is_no_answer() -> None:
    """An answer that the table reads as missing is rejected, written as text or as a number."""
    table = pl.DataFrame({"x": [1, 2, None, -9, 3, 1], "y": [*"ababab"]})
    index = CountIndex.from_table(table, label="y", missing=[-9], binning="none")
    cleaner = Cleaner(index, table[:2], table)
    with pytest.raises(NullproofError, match="means missing in this table"):
        cleaner.fill({(2, "x"): "-9.0"})
    with pytest.raises(NullproofError, match="means missing in this table"):
        cleaner.fill({(2, "x"): -9})
    assert cleaner.filled == {}


# Saved answers ------------------------------------------------------------------------------------


def test_wrong_files(tmp_path: Path) -> None:
    """A file that is not whole, not ours or for another table is refused, and nothing is taken."""
    cleaner, fresh = small_cleaner(), small_cleaner()
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
        "without answers": json.dumps({k: v for k, v in document.items() if k != "answers"}),
        "another version": json.dumps({**document, "version": 1}),
        "a number": json.dumps({**document, "answers": [{**answer, "value": 5}]}),
        "a text for a row": json.dumps({**document, "answers": [{**answer, "row": "0"}]}),
        "no check": json.dumps({**document, "answers": [{**answer, "check": None}]}),
        "twice": json.dumps({**document, "answers": [answer, {**answer, "value": "y"}]}),
        "not text": "\udcff",
    }
    before = state(fresh)
    for name, content in broken.items():
        path.write_bytes(content.encode("utf-8", "surrogateescape"))
        with pytest.raises(NullproofError, match=r"saved\.json"):
            fresh.resume(path)
        assert state(fresh) == before, name
    with pytest.raises(NullproofError, match=r"nothing\.json"):
        fresh.resume(tmp_path / "nothing.json")
    path.write_text(whole, "utf-8")
    rows = [*ROWS[:-1], ("a", "y", 1)]
    index = CountIndex.from_rows(rows, LABELS, features="fgh")
    with pytest.raises(NullproofError, match="another table"):
        Cleaner(index, POINTS, rows, LABELS, alpha=0).resume(path)
    with pytest.raises(NullproofError, match="already"):
        cleaner.resume(path)
    fresh.resume(path)
    assert state(fresh) == state(cleaner)
