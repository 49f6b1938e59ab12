"""How points are read: one or many, in any form and order, with values that training never shows."""

from __future__ import annotations

import datetime as dt
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from support.index_view import UNSEEN, Cell, read
from support.odd_tables import odd_table
from support.refusing import refuses

from nullproof import (
    CountIndex,
    NullproofError,
    NullproofWarning,
    certify,
    cleaning_plan,
    label_odds,
    poison,
    radius,
    report,
)

INDEX = CountIndex.from_rows(
    [("u", 1), ("v", 2), ("w", 3)], ["p", "q", "q"], features=["word", "whole"]
)
ROWS: list[tuple[Any, Any]] = [("u", 3), (None, 1), ("w", None), ("v", 2)]
CELLS: dict[str, list[Cell]] = {"word": ["u", None, "w", "v"], "whole": ["3", "1", None, "2"]}


def test_many_points_in_every_form(tmp_path: Path) -> None:
    """Rows, mappings, arrays, frames and files of the same points are the same points."""
    frame = pl.DataFrame(ROWS, schema=["word", "whole"], orient="row")
    frame.write_parquet(tmp_path / "points.parquet")
    forms: list[Any] = [
        ROWS,
        tuple(ROWS),
        [list(row) for row in ROWS],
        [dict(zip(("word", "whole"), row, strict=True)) for row in ROWS],
        np.array(ROWS, dtype=object),
        frame,
        frame.select("whole", "word").with_columns(other=1),
        frame.to_pandas().set_index(pd.Index([9, 9, 2, 1])),
        [row for _, row in frame.to_pandas().iterrows()],
        str(tmp_path / "points.parquet"),
        INDEX.encode(ROWS),
    ]
    expected = certify(INDEX, ROWS)
    for form in forms:
        assert read(INDEX, form) == CELLS, form
        found = certify(INDEX, form)
        assert len(found) == 4
        assert found.predicted.tolist() == expected.predicted.tolist()
        assert (found.possible == expected.possible).all()


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
        (np.array("u"), np.ma.masked),
    ],
)
def test_one_point_in_every_form(form: Any) -> None:
    """A tuple, a list, a mapping or a series is one point; its cells may be candidates."""
    assert read(INDEX, form) == {"word": ["u"], "whole": [None]}
    assert certify(INDEX, form).predicted == certify(INDEX, [("u", None)]).predicted[0]


def test_candidates_of_points() -> None:
    """Candidates are those that are given, in any order, and may hold an unseen value."""
    points: list[Any] = [({"v", "w"}, None), ("u", {1, 9}), ({"w", "v"}, 2), (["u", "v", "w"], 1)]
    found = read(INDEX, points)
    assert found["word"][:3] == [frozenset("vw"), "u", frozenset("vw")]
    assert found["whole"] == [None, frozenset(["1", UNSEEN]), "2", "1"]
    several = certify(INDEX, points[:3], alpha=1, own_missing="any").possible
    for place, point in enumerate(points[:2]):
        filled = [
            (word, whole)
            for word in (point[0] if isinstance(point[0], set) else [point[0]])
            for whole in (point[1] if isinstance(point[1], set) else [1, 2, 3])
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NullproofWarning)
            each = certify(INDEX, filled, alpha=1).possible
        assert several[place].tolist() == each.any(axis=0).tolist()


@pytest.mark.parametrize("form", [pl.DataFrame, pd.DataFrame, pa.table])
def test_no_points_at_all(form: Any) -> None:
    """No points are no error."""
    assert len(certify(INDEX, form({"word": [], "whole": []}))) == 0
    assert len(certify(INDEX, [])) == 0


def test_a_point_is_read_alone_as_among_others() -> None:
    """Whatever else is asked about, in whichever order: thousands of points, few, or one."""
    n, rng = 3000, np.random.default_rng(4)
    table = odd_table(n).select("real", "whole", "word", "flag", "day", y="label")
    for binning in ("mdl", "uniform", "none"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NullproofWarning)
            index = CountIndex.from_table(table, "y", binning=binning)
        points = table.drop("y")
        whole = read(index, points)
        order = rng.permutation(n)[:40]
        assert read(index, points[order]) == {
            name: [cells[i] for i in order] for name, cells in whole.items()
        }
        for i in order[:6].tolist():
            alone = {name: [cells[i]] for name, cells in whole.items()}
            assert read(index, points.row(i)) == read(index, points[i]) == alone
            assert read(index, points.row(i, named=True)) == alone
            assert read(index, points.to_pandas().iloc[i]) == alone


# Values that training never shows -----------------------------------------------------------------


def test_unseen_values_are_told() -> None:
    """Values that training never shows give one notice with their columns and numbers."""
    with pytest.warns(NullproofWarning) as caught:
        certify(INDEX, [("z", 1), ("y", 9), ("u", 1)])
    (notice,) = caught
    assert "never occur in the training table in 'word' (2), 'whole' (1)" in str(notice.message)
    assert read(INDEX, [("z", 1), ("y", 9)]) == {"word": [UNSEEN] * 2, "whole": ["1", UNSEEN]}


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
    new = {
        "age": [19.9, 61.0, 61.5, 99.0, math.inf],
        "day": [day, dt.date(1999, 1, 1), day, day, None],
        "same": [1, 2, 3, 4, 5],
        "word": ["u"] * 5,
    }
    with pytest.warns(NullproofWarning, match=r"outside .* in 'age' \(3\), 'day' \(1\);") as caught:
        certify(index, pl.DataFrame(new))
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        certify(index, pl.DataFrame(table))


@pytest.mark.parametrize("binning", ["uniform", "quantile", "mdl"])
def test_training_rows_never_lie_outside(binning: Any) -> None:
    """Whatever the kind of numbers, in whatever way the outer edges were rounded."""
    last = dt.datetime(9999, 12, 31)
    table = pl.DataFrame(
        {
            "far": [dt.datetime(1, 1, 1) + dt.timedelta(microseconds=3 * k + 1) for k in range(40)],
            "late": [last + dt.timedelta(microseconds=k * 3) for k in range(40)],
            "huge": [2**62 + k * 1001 for k in range(40)],
            "real": [0.1 * k for k in range(40)],
            "y": ["a"] * 20 + ["b"] * 20,
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NullproofWarning)
        index = CountIndex.from_table(table, "y", binning=binning, keep=["huge"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*same .*tolerance.*")
        certify(index, table)


test_points_that_do_not_fit = refuses(
    "Points have one value of the right kind for every feature.",
    lambda points: certify(INDEX, points),
    (("u",), "row 0 has 1 values but there are 2 features"),
    ([("u", 1), ("u", 1, 2)], "row 1 has 3 values but there are 2 features"),
    ({"word": "u"}, "row 0 has no value for 'whole'"),
    (pl.DataFrame({"word": ["u"]}), "the points lack 1 of the 2 features: 'whole'; add the"),
    (pd.DataFrame({"x": [1]}), "the points lack 2 of the 2 features: 'word', 'whole'"),
    (np.zeros((2, 3)), r"the points have shape \(2, 3\) but the index has 2 features"),
    (np.zeros(2), r"the points have shape \(2,\)"),
    (np.zeros((2, 2, 1)), r"the points have shape \(2, 2, 1\)"),
    (("u", "many"), "'whole' holds text such as 'many', but the training table holds numbers"),
    ("nowhere.csv", "no such file: nowhere.csv"),
    (5, "int is not a table"),
)


# Codes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "float64", "object"])
@pytest.mark.parametrize("times", [1, 2000])
def test_codes_as_points(dtype: str, times: int) -> None:
    """An array of codes is taken as it is: negative is missing, too large is unseen."""
    index = CountIndex.from_codes(np.array([[0, 0], [2, 1], [1, 1]]), [0, 1, 1])
    array = np.tile(np.array([[2, 0], [0, 1], [1, 1]], dtype=dtype), (times, 1))

    def cells(points: Any) -> list[list[Cell]]:
        found = read(index, points)
        return [found["x0"][-3:], found["x1"][-3:]]

    assert cells(array) == [["2", "0", "1"], ["0", "1", "1"]]
    if dtype != "uint8":
        assert cells(array - 1) == [["1", None, "0"], [None, "0", "0"]]
        assert cells(array - 9) == [[None] * 3] * 2
    assert cells(array + 1) == [[UNSEEN, "1", "2"], ["1", UNSEEN, UNSEEN]]
    assert cells(array + 5) == [[UNSEEN] * 3] * 2
    with pytest.warns(NullproofWarning, match=rf"'x0' \({times}\), 'x1' \({2 * times}\)"):
        certify(index, array + 1)
    with pytest.raises(NullproofError, match="have shape"):
        certify(index, array[:, :1])


def test_odd_codes() -> None:
    """Beyond 32 bits, between two codes, or as text: a code is the value it is, or none."""
    index = CountIndex.from_codes(np.array([[0], [1]]), [0, 1])
    large = np.array([[2**32], [2**40 + 1], [-(2**40)], [1]])
    assert read(index, large)["x0"] == [UNSEEN, UNSEEN, None, "1"]
    assert read(index, np.array([[0.5], [1.0], [np.nan]]))["x0"] == [UNSEEN, "1", None]
    assert read(index, np.array([["1"], ["0"]]))["x0"] == ["1", "0"]
    assert read(index, [(0,), (2,), (-7,), (None,), (math.inf,)])["x0"] == [
        *("0", UNSEEN, None, None, UNSEEN)
    ]


# How cells of other types are read ----------------------------------------------------------------


@pytest.mark.parametrize("binning", ["none", "uniform"])
def test_values_of_other_types_are_the_same_values(binning: Any) -> None:
    """A number, a date or a truth value is the same in points whatever type or text it comes as."""
    day = dt.date(2020, 1, 31)
    table = {
        "n": [1, 2, 300],
        "d": [day, dt.date(2020, 2, 1), dt.date(2021, 1, 1)],
        "f": [True, False, True],
        "t": ["1", "true", "2020-01-31"],
        "y": ["p", "q", "q"],
    }
    index = CountIndex.from_table(table, "y", binning=binning)
    one = read(index, [(1, day, True, "1")])
    for point in (
        (1.0, dt.datetime(2020, 1, 31), True, 1),
        ("1", "2020-01-31", "true", "1"),
        (" 1.0 ", "2020-01-31 00:00:00", "True", 1.0),
        (np.int8(1), np.datetime64("2020-01-31"), np.bool_(True), "1"),
        (1, pd.Timestamp("2020-01-31"), True, "1"),
        (np.float32(1), dt.datetime(2020, 1, 31, tzinfo=dt.UTC), True, np.int64(1)),
        ("1e0", "2020-01-31T01:00+01:00", "TRUE", "1"),
    ):
        assert read(index, [point]) == one, point
        assert read(index, point) == one, point
        cells = {name: [cell] for name, cell in zip("ndft", point, strict=True)}
        if binning == "none":
            assert read(index, pd.DataFrame(cells)) == one, point
    assert read(index, [(300, day, False, True)])["t"] == ["true"]
    assert read(index, [(300, day, False, day)])["t"] == ["2020-01-31"]


test_text_among_numbers_is_told = refuses(
    "A point with a text where training holds dates or truth values is refused with that text.",
    lambda cells: certify(
        CountIndex.from_table({"a": cells, "y": ["p", "q"]}, "y", binning="none"), ("soon",)
    ),
    ([dt.date(2020, 1, 31), None], "'a' holds text such as 'soon'.*dates"),
    ([True, False], "'a' holds text such as 'soon'.*true/false"),
)


# Plain rows and columns that were left out --------------------------------------------------------


def test_plain_rows_may_keep_the_column_that_was_left_out() -> None:
    """Rows without names are read with it or without it: points, further rows, attacks and arrays."""
    wide = [(f"id {k}", "uv"[k % 2], "st"[k % 3 > 0]) for k in range(40)]
    narrow, labels = [row[1:] for row in wide], ["p" if k % 4 else "q" for k in range(40)]
    with pytest.warns(NullproofWarning, match="names the rows: 'x0'"):
        index = CountIndex.from_rows(wide, labels)
    assert index.features == ("x1", "x2")
    for rows in (wide, np.array(wide, dtype=object)):
        assert read(index, rows) == read(index, narrow)
    assert CountIndex.from_rows(wide, labels, like=index) == index
    attack = poison(index, [wide[0]])
    assert attack.cells(wide, labels) == attack.cells(narrow, labels)
    assert [row[1:] for row in attack.apply(wide, labels)] == attack.apply(narrow, labels)
    wider = ("n", *wide[0])
    for strange in ([wider], np.array([wider], dtype=object)):
        with pytest.raises(NullproofError, match=r"(the index has|there are) 2 features"):
            certify(index, strange)
    with pytest.warns(NullproofWarning, match="names the rows: 'id'"):
        named = CountIndex.from_rows(wide, labels, features=("id", "f", "g"))
    assert read(named, [("u", "s")]) == {"f": ["u"], "g": ["s"]}
    with pytest.raises(NullproofError, match="row 0 has 3 values but there are 2 features"):
        certify(named, wide)


# Names of points ----------------------------------------------------------------------------------

NAMED = CountIndex.from_rows(
    [("a", None), ("a", "x"), ("a", "y"), ("b", "x")], ["yes", "yes", "no", "no"]
)
POINTS: dict[str, list[Any]] = {
    "x0": ["a", "a", "b"],
    "x1": ["x", "y", "y"],
    "id": ["007", "u", "9"],
}
KEYS = ["007", "u", "9"]


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table])
def test_a_column_names_the_points_in_every_result(make: Callable[..., Any]) -> None:
    """The key stands beside each point in frames, and survives slices."""
    points = make(POINTS)
    found = certify(NAMED, points, key="id")
    assert [str(name) for name in found.to_frame()["key"]] == KEYS
    assert [str(name) for name in found[1:].to_frame()["key"]] == KEYS[1:]
    for result in (radius(NAMED, points, key="id"), label_odds(NAMED, points, key="id")):
        assert [str(name) for name in result.to_frame()["key"]] == KEYS
    assert cleaning_plan(NAMED, points, key="id") is not None
    told = report(NAMED, points, key="id").document
    assert sorted(point["key"] for point in told["points"]) == sorted(KEYS)


def test_names_one_by_one_and_of_mappings(tmp_path: Path) -> None:
    """Points without columns are named one by one; names of a file stay as they are written."""

    def keys(points: Any, key: Any) -> list[Any]:
        return [*certify(NAMED, points, key=key).to_frame()["key"]]

    assert keys([("a", "x"), ("a", "y")], [1.0, "second"]) == ["1", "second"]
    rows = [{"x0": "a", "x1": "x", "id": 7}, {"x0": "a", "x1": "y", "id": None}]
    assert keys(rows, "id") == ["7", None]
    pl.DataFrame({**POINTS, "id": ["007", "08", "1.50"]}).write_csv(tmp_path / "points.csv")
    assert keys(tmp_path / "points.csv", "id") == ["007", "08", "1.50"]
    assert keys(pl.DataFrame({**POINTS, "id": ["k", "k", None]}), "id") == ["k", "k", None]


test_mistakes_in_names = refuses(
    "One sentence that says what came, what was needed and what to do.",
    lambda points, key: certify(NAMED, points, key=key),
    (pl.DataFrame(POINTS), "ide", "there is no column 'ide' in the table; did you mean 'id'"),
    (pl.DataFrame(POINTS), "x0", "key is 'x0', which the index counts as a feature"),
    (pl.DataFrame(POINTS), "label", "key is 'label', the label"),
    (pl.DataFrame(POINTS), ["a"], "key has 1 name but there are 3 points"),
    ([("a", "x")], "id", "these points have no column names; give one name per point"),
    (np.array([["a", "x"]]), "id", "these points have no column names"),
)


def test_what_cannot_be_broken_is_named() -> None:
    """A refusal names points as the results do."""
    rows, labels = [("a", "x")] * 3 + [("b", "y")], [*"111", "0"]
    with pytest.raises(NullproofError, match="no attack can break point 007, u, 9"):
        poison(CountIndex.from_rows(rows, labels), pl.DataFrame(POINTS), key="id", alpha=1000)
