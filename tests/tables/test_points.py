"""Points: one or many, in any form, become the same codes."""

from __future__ import annotations

import datetime as dt
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from nullproof import CountIndex, NullproofError, NullproofWarning
from nullproof.tables.points import Points, encode_points, encode_quietly

INDEX = CountIndex.from_rows(
    [("u", 1), ("v", 2), ("w", 3)], ["p", "q", "q"], features=["word", "whole"]
)
ROWS: list[tuple[Any, Any]] = [("u", 3), (None, 1), ("w", None), ("v", 2)]
CODES = [[0, 5, 2, 1], [2, 0, 5, 1]]


def test_many_points_in_every_form(tmp_path: Path) -> None:
    """Rows, mappings, arrays, frames and files of the same points have the same codes."""
    frame = pl.DataFrame(ROWS, schema=["word", "whole"], orient="row")
    frame.write_csv(tmp_path / "points.csv")
    frame.write_parquet(tmp_path / "points.parquet")
    forms: list[Any] = [
        ROWS,
        tuple(ROWS),
        [list(row) for row in ROWS],
        [dict(zip(("word", "whole"), row, strict=True)) for row in ROWS],
        np.array(ROWS, dtype=object),
        frame,
        frame.select("whole", "word").with_columns(other=1),
        frame.to_pandas(),
        [row for _, row in frame.to_pandas().iterrows()],
        frame.to_arrow(),
        frame.lazy(),
        tmp_path / "points.csv",
        str(tmp_path / "points.parquet"),
    ]
    for form in forms:
        points = INDEX.encode(form)
        assert points.codes.tolist() == CODES, form
        assert not points.single
        assert len(points) == 4
        assert INDEX.encode(points) is points


@pytest.mark.parametrize(
    "form",
    [
        ("u", None),
        ["u", None],
        {"whole": None, "word": "u"},
        pd.Series({"word": "u", "whole": np.nan}),
        {"word": {"u"}, "whole": {1, 2, 3, None}},
        (["u"], None),
        ("u", pd.NA),
    ],
)
def test_one_point_in_every_form(form: Any) -> None:
    """A tuple, a list, a mapping or a series is one point; its cells may be candidates."""
    points = INDEX.encode(form)
    assert points.single
    assert points.codes.tolist() == [[0], [5]]


def test_candidates_of_points() -> None:
    """A code tells its candidates: itself, the domain, or a set, which may hold an unseen value."""
    points = INDEX.encode([({"v", "w"}, None), ("u", {1, 9}), ({"w", "v"}, 9)][:2])
    assert points.codes.tolist() == [[6, 0], [5, 6]]
    assert [points.candidates(0, code) for code in (6, 0, 3, 4, 5)] == [
        (1, 2),
        (0,),
        (3,),
        (4,),
        (0, 1, 2),
    ]
    assert points.candidates(1, 6) == (0, 3)
    assert points.complete.tolist() == [False, False]
    assert INDEX.encode([("u", 1), (None, 1)]).complete.tolist() == [True, False]
    assert INDEX.encode([("u", 1), ("v", 1)]).complete.all()


def test_equal_candidate_sets_share_a_number() -> None:
    """The same candidates in another order are the same set."""
    points = INDEX.encode([({"v", "w"}, 1), ({"w", "v"}, 1), ({"u", "v"}, 1)])
    assert points.codes[0].tolist() == [6, 6, 7]
    assert points.sets == (((1, 2), (0, 1)), ())


@pytest.mark.parametrize("form", [pl.DataFrame, pd.DataFrame, pa.table])
def test_no_points_at_all(form: Any) -> None:
    """No points are no error."""
    assert len(INDEX.encode(form({"word": [], "whole": []}))) == 0
    assert len(INDEX.encode([])) == 0


def test_unseen_values_are_told() -> None:
    """Values that training never shows give one notice with their columns and numbers."""
    with pytest.warns(NullproofWarning) as caught:
        points = INDEX.encode([("z", 1), ("y", 9), ("u", 1)])
    assert points.codes.tolist() == [[3, 3, 0], [0, 3, 0]]
    (notice,) = caught
    assert "never shows in 'word' (2), 'whole' (1); for every label" in str(notice.message)
    wide = CountIndex.from_rows([("u",) * 7], ["p"])
    with pytest.warns(NullproofWarning, match=r"'x4' \(1\), …; for every"):
        wide.encode(("z",) * 7)


def test_numbers_outside_are_told() -> None:
    """Numbers and dates beyond what training shows give one notice, by column; one bin has no outside."""
    day = dt.date(2020, 1, 1)
    table = {
        "age": [20, 30, 60, 61],
        "day": [day, day, day, dt.date(2021, 1, 1)],
        "same": [5, 5, 5, None],
        "word": ["u", "v", "u", "v"],
        "y": [0, 1, 0, 1],
    }
    index = CountIndex.from_table(pl.DataFrame(table), "y", binning="uniform")
    new = pl.DataFrame(
        {
            "age": [19.9, 61.0, 61.5, 99.0, math.inf],
            "day": [day, dt.date(1999, 1, 1), day, day, None],
            "same": [1, 2, 3, 4, 5],
            "word": ["u"] * 5,
        }
    )
    with pytest.warns(NullproofWarning) as caught:
        points = index.encode(new)
    assert points.n_outside == (3, 1, 0, 0)
    (notice,) = caught
    assert str(notice.message) == (
        "points lie outside what the training table shows in 'age' (3), 'day' (1); they count to the bins "
        "at its ends"
    )
    assert index.encode(pl.DataFrame(table)).n_outside == (0, 0, 0, 0)
    with pytest.warns(NullproofWarning, match=r"^points lie outside .* in 'age' \(1\); they"):
        text = index.encode(("99", day, None, "u"))
    assert text.n_outside == (1, 0, 0, 0)
    assert points.take(np.array([0])).n_outside == ()


@pytest.mark.parametrize("binning", ["uniform", "quantile", "mdl"])
def test_training_rows_never_lie_outside(binning: Any) -> None:
    """Whatever the kind of numbers, in whatever way the outer edges were rounded."""
    far = [dt.datetime(1, 1, 1) + dt.timedelta(microseconds=k * 3 + 1) for k in range(40)]
    table = pl.DataFrame(
        {
            "far": far,
            "late": [
                dt.datetime(9999, 12, 31) + dt.timedelta(microseconds=k * 3) for k in range(40)
            ],
            "huge": [2**62 + k * 1001 for k in range(40)],
            "real": [0.1 * k for k in range(40)],
            "y": ["a"] * 20 + ["b"] * 20,
        }
    )
    index = CountIndex.from_table(table, "y", binning=binning)
    assert index.encode(table).n_outside == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        (("u",), "row 0 has 1 values but there are 2 features"),
        ([("u", 1), ("u", 1, 2)], "row 1 has 3 values but there are 2 features"),
        ({"word": "u"}, "row 0 has no value for 'whole'"),
        (pl.DataFrame({"word": ["u"]}), "the points lack 1 of the 2 features: 'whole'; add the"),
        (pd.DataFrame({"x": [1]}), "the points lack 2 of the 2 features: 'word', 'whole'"),
        (np.zeros((2, 3)), r"the points have shape \(2, 3\) but the index has 2 features"),
        (np.zeros(2), r"the points have shape \(2,\)"),
        (("u", "many"), "'whole' holds text such as 'many', but the training table holds numbers"),
        ("nowhere.csv", "no such file: nowhere.csv"),
        (5, "int is not a table"),
    ],
)
def test_points_that_do_not_fit(points: Any, reason: str) -> None:
    """Points have one value of the right kind for every feature."""
    with pytest.raises(NullproofError, match=reason):
        INDEX.encode(points)


def test_many_lacking_features_are_not_all_listed() -> None:
    """Three lacking features are enough to see what is wrong."""
    wide = CountIndex.from_rows([("u",) * 7], ["p"])
    with pytest.raises(NullproofError, match="lack 6 of the 7 features: 'x1', 'x2', 'x3', …; add"):
        wide.encode(pl.DataFrame({"x0": ["u"]}))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "float64", "object"])
def test_codes_as_points(dtype: str) -> None:
    """An array of codes is taken as it is: negative is missing, too large is unseen."""
    index = CountIndex.from_codes(np.array([[0, 0], [2, 1], [1, 1]]), [0, 1, 1])
    array = np.array([[2, 0], [0, 1], [1, 1]], dtype=dtype)
    assert index.encode(array).codes.tolist() == [[2, 0, 1], [0, 1, 1]]
    if dtype != "uint8":
        assert index.encode(array - 1).codes.tolist() == [[1, 5, 0], [4, 0, 0]]
    with pytest.warns(NullproofWarning, match=r"'x0' \(1\), 'x1' \(2\)"):
        near = index.encode(array + 1)
    assert near.codes.tolist() == [[3, 1, 2], [1, 2, 2]]
    with pytest.warns(NullproofWarning, match=r"'x0' \(3\), 'x1' \(3\)"):
        far = index.encode(array + 5)
    assert far.codes.tolist() == [[3, 3, 3], [2, 2, 2]]
    with pytest.raises(NullproofError, match="have shape"):
        index.encode(array[:, :1])


def test_huge_codes_are_unseen() -> None:
    """A code beyond 32 bits is outside the domain, not another value."""
    index = CountIndex.from_codes(np.array([[0], [1]]), [0, 1])
    with pytest.warns(NullproofWarning, match="never shows"):
        points = index.encode(np.array([[2**32], [2**40 + 1], [-(2**40)], [1]]))
    assert points.codes.tolist() == [[2, 2, 4, 1]]


def test_spellings_of_missing_hold_for_points(tmp_path: Path) -> None:
    """What means missing in TRAIN means missing in TEST, in files, frames and rows."""
    index = CountIndex.from_table(
        {"a": ["1", "?", "2", "x"], "b": [1, 2, -9, 3], "y": [0, 0, 1, 1]},
        "y",
        missing=("?", "-9"),
        binning="none",
    )
    path = tmp_path / "t.csv"
    path.write_text("a,b\n ? ,1\n1,-9\n")
    for points in (path, pl.read_csv(path), [(" ? ", 1), ("1", -9)]):
        assert index.encode(points).codes.tolist() == [[5, 0], [0, 5]]


def test_some_of_the_points() -> None:
    """Points can be taken by position, candidates included."""
    points = INDEX.encode([("u", 1), ({"v", "w"}, None), ("w", 2)])
    some = points.take(np.array([1, 0]))
    assert some.codes.tolist() == [[6, 0], [5, 0]]
    assert some.candidates(0, 6) == (1, 2)


def test_an_index_with_points_of_a_frame_remembers_it() -> None:
    """Points keep the frame they came in, so that results can be given in its library."""
    frame = pd.DataFrame(ROWS, columns=["word", "whole"])
    points = INDEX.encode(frame)
    assert isinstance(points, Points)
    assert points.frame is not None
    assert INDEX.encode(ROWS).frame is None


def test_points_come_back_as_they_are() -> None:
    """What is encoded already is not encoded again, with or without warnings."""
    index = CountIndex.from_rows([("u", 1), ("v", 2)], ["p", "q"])
    points = index.encode([("u", 1), (None, 2)])
    assert encode_points(index.schema, points) is points
    assert encode_quietly(index.schema, points) is points
    assert index.update(points, ["p", "q"]) == index.update([("u", 1), (None, 2)], ["p", "q"])


def test_two_readings_of_holes() -> None:
    """A hole is left out or may hold anything, and each reading can be turned into the other."""
    points = INDEX.encode([("u", 1), (None, 1), ("u", None), (None, None)])
    skipped = points.read("skip")
    assert skipped.complete.all()
    assert not points.complete[1:].any()
    assert skipped.skipped.tolist() == points.missing.tolist() == skipped.missing.tolist()
    assert not points.skipped.any()
    assert not skipped.holes.any()
    assert points.n_own_missing.tolist() == skipped.n_own_missing.tolist() == [0, 1, 1, 2]
    assert np.array_equal(skipped.read("any").codes, points.codes)
    assert skipped.read("skip") is skipped
    assert [skipped.kind(0, int(code)) for code in skipped.codes[0]] == [
        "known",
        "skipped",
        "known",
        "skipped",
    ]
    with pytest.raises(NullproofError, match="own_missing is 'both'; give 'skip'"):
        points.read("both")  # type: ignore[arg-type]


def test_cells_that_are_arrays_without_a_dimension() -> None:
    """A tuple of them is one point, not rows."""
    index = CountIndex.from_rows([(1, 2), (3, 4)], ["p", "q"])
    found = encode_quietly(index.schema, (np.array(1), np.ma.masked))
    assert (found.single, found.codes.tolist()) == (True, [[0], [4]])
