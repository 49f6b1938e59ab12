"""What the codes of points mean: values, unseen ones, holes read in two ways, candidates."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from nullproof import CountIndex, NullproofError, NullproofWarning
from nullproof.tables import points as points_module
from nullproof.tables.points import Points, encode_points, evenly
from nullproof.tables.schema import Feature, Schema

INDEX = CountIndex.from_rows(
    [("u", 1), ("v", 2), ("w", 2), ("w", 1)], list("pqqp"), features=["word", "whole"]
)
VALUES = (("u", "v", "w"), (1, 2))
# Every meaning that a cell can have, in both columns, and two candidate sets in each.
WORDS: tuple[Any, ...] = ("u", "w", "x", None, {"u", "w"}, {"v", "w"}, {"u", "x"})
WHOLES: tuple[Any, ...] = (1, 2, 9, None, {1, 9}, {2, 9}, {1, 2, 9})
ROWS = [*itertools.product(WORDS, WHOLES)]

pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")


def meaning(cell: Any, j: int, own_missing: str) -> str:
    if cell is None:
        return "skipped" if own_missing == "skip" else "missing"
    if isinstance(cell, set):
        return "candidates"
    return "known" if cell in VALUES[j] else "unseen"


def choices(cell: Any, j: int, own_missing: str) -> set[Any]:
    """The values that a cell may have; None for one that is left out, "unseen" for all others."""
    if cell is None:
        return {None} if own_missing == "skip" else {*VALUES[j]}
    some = cell if isinstance(cell, set) else {cell}
    return {value if value in VALUES[j] else "unseen" for value in some}


@pytest.mark.parametrize("own_missing", ["skip", "any"])
def test_every_meaning(own_missing: Any) -> None:
    """Kinds, candidates and all that is counted of cells follow from the rows, cell by cell."""
    points = INDEX.encode(ROWS).read(own_missing)
    for j in range(2):
        size = len(VALUES[j])
        for place, row in enumerate(ROWS):
            code = int(points.codes[j, place])
            assert points.kind(j, code) == meaning(row[j], j, own_missing)
            named = [
                VALUES[j][own] if own < size else "unseen" if own == size else None
                for own in points.candidates(j, code)
            ]
            assert len(named) == len({*named})
            assert {*named} == choices(row[j], j, own_missing)
    kinds = np.array(
        [[meaning(cell, j, own_missing) for j, cell in enumerate(row)] for row in ROWS]
    ).T
    open_kinds = np.isin(kinds, ["missing", "candidates"])
    assert (points.unseen == (kinds == "unseen")).all()
    assert (points.skipped == (kinds == "skipped")).all()
    assert (points.missing == np.isin(kinds, ["skipped", "missing"])).all()
    assert (points.holes == open_kinds).all()
    assert (points.complete == ~open_kinds.any(axis=0)).all()
    assert points.n_unseen.tolist() == (kinds == "unseen").sum(axis=1).tolist()
    own = np.isin(kinds, ["skipped", "missing", "candidates"]).sum(axis=0)
    assert points.n_own_missing.tolist() == own.tolist()
    for place, row in enumerate(ROWS):
        n_ways = [len(choices(cell, j, own_missing)) for j, cell in enumerate(row)]
        assert points.n_completions(place) == n_ways[0] * n_ways[1]
        ways = points.completions(place)
        assert len({*zip(*ways.codes.tolist(), strict=True)}) == len(ways) == n_ways[0] * n_ways[1]
        assert ways.complete.all()


@pytest.mark.parametrize("rows", [[row] for row in ROWS] + [ROWS, [("u", 1), ("w", 2)]])
def test_readings_turn_into_each_other(rows: Any) -> None:
    """Reading holes twice is reading them once, and no codes change that need not."""
    points = INDEX.encode(rows)
    before = points.codes.copy()
    skipped, anything = points.read("skip"), points.read("any")
    assert (skipped.own_missing, anything.own_missing) == ("skip", "any")
    assert anything is points
    for one in (skipped, anything):
        assert one.read(one.own_missing) is one
        assert (one.read("any").codes == anything.codes).all()
        assert (one.read("skip").codes == skipped.codes).all()
        assert (one.read("any").own_missing, one.read("skip").own_missing) == ("any", "skip")
    assert (points.codes == before).all()
    has_hole = any(cell is None for row in rows for cell in row)
    assert (skipped.codes is points.codes) == (not has_hole)
    assert ((skipped.codes != before) == points.missing).all()


@pytest.mark.parametrize("most", [0, 5, 6, 1 << 12])
def test_codes_that_occur(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each code once, in order, and where each point's code is among them."""
    monkeypatch.setattr(points_module, "_MANY_CODES", most)
    codes = np.array([[4, 0, 4, 2, 6, 2], [1, 1, 1, 1, 1, 1]], dtype=np.int32)
    points = Points.without_holes(codes, np.array([7, 2]))
    assert points.sets == ((), ())
    for j, expected in enumerate(([0, 2, 4, 6], [1])):
        used, places = points.used(j)
        assert used.tolist() == expected
        assert used.dtype == np.int32
        assert used[places].tolist() == codes[j].tolist()


def test_candidate_sets_and_their_points() -> None:
    """Each set of a column is told once, with the points that have it."""
    points = INDEX.encode(ROWS)
    for j, own in enumerate((WORDS, WHOLES)):
        found = [(sets, here.tolist()) for sets, here in points.with_candidates(j)]
        assert len(found) == sum(isinstance(cell, set) for cell in own)
        for sets, here in found:
            assert here == [
                points.candidates(j, int(code)) == sets and isinstance(row[j], set)
                for code, row in zip(points.codes[j], ROWS, strict=True)
            ]


@pytest.mark.parametrize("form", ["rows", "mappings", "frame", "array"])
def test_points_keep_their_own_cells(form: str) -> None:
    """A cell is found again as it was given, also of some points, taken with their cells."""
    rows = [("u", 1), (None, 2), ("x", 9)]
    forms: dict[str, Any] = {
        "rows": rows,
        "mappings": [{"whole": b, "word": a} for a, b in rows],
        "frame": pl.DataFrame(rows, schema=["word", "whole"], orient="row"),
        "array": np.array(rows, dtype=object),
    }
    points = INDEX.encode(forms[form])
    some = points.take_whole(np.array([2, 0]))
    for j, name in enumerate(INDEX.features):
        assert [points.own(j, name, place) for place in range(3)] == [row[j] for row in rows]
        assert [some.own(j, name, place) for place in range(2)] == [rows[2][j], rows[0][j]]
        assert points.take(np.array([2, 0])).own(j, name, 0) is None
    assert some.codes.tolist() == points.codes[:, [2, 0]].tolist()
    assert points.take(np.array([0])).take_whole(np.array([0])).rows is None
    wide = pl.DataFrame({"more": [7] * 3}).hstack(forms["frame"])
    assert INDEX.encode(wide).own(0, "word", 2) == "x"
    assert INDEX.encode(wide).take_whole(np.array([2])).own(0, "word", 0) == "x"


def test_one_point_taken_is_one_of_many() -> None:
    """Only what was given as one point is answered as one."""
    points = INDEX.encode(("u", 1))
    assert points.single
    assert not points.take(np.array([0])).single
    assert not points.with_codes(points.codes).single
    assert not Points.without_holes(points.codes, points.n_values).single


def test_names_go_with_the_points() -> None:
    """Taken points have their own names, or none."""
    points = encode_points(INDEX.schema, ROWS[:3], key=["a", "b", "c"])
    taken = points.take(np.array([2, 0])).names
    assert taken is not None
    assert taken.values.tolist() == ["c", "a"]
    assert INDEX.encode(ROWS[:3]).take(np.array([0])).names is None


def test_names_in_a_file_stay_as_written(tmp_path: Path) -> None:
    """A column that names the rows is not read as numbers."""
    path = tmp_path / "points.csv"
    path.write_text("id,word,whole\n007,u,1\n1e3,v,2\n")
    names = encode_points(INDEX.schema, path, key="id").names
    assert names is not None
    assert names.values.tolist() == ["007", "1e3"]


@pytest.mark.parametrize("n_cells", [1, 3, 4, 1 << 17])
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_codes_in_blocks(n_cells: int, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many rows turn at a time: negative codes are missing, large ones unseen."""
    monkeypatch.setattr(points_module, "_CELLS", n_cells)
    index = CountIndex.from_codes(np.array([[0, 0], [2, 1], [1, 1]]), [0, 1, 1])
    array = np.array([[0, 1], [-1, 0], [-2, 5], [2, 2], [3, -128], [1, 1], [0, 0]], dtype=dtype)
    points = index.encode(array)
    assert points.codes.tolist() == [[0, 5, 5, 2, 3, 1, 0], [1, 0, 2, 2, 4, 1, 0]]
    if dtype == np.int64:
        far = np.array([[2**31, -(2**31) - 1], [2**40, -(2**40)], [2**31 - 1, -(2**31)]])
        assert index.encode(far).codes.tolist() == [[3] * 3, [4] * 3]


@pytest.mark.parametrize("n_cells", [1, 3, 4, 1 << 17])
def test_holes_in_blocks(n_cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many cells are looked at at a time, each hole has the code of its own feature's holes."""
    monkeypatch.setattr(points_module, "_CELLS", n_cells)
    rows = [("u", None), (None, 2), ("w", 1), (None, None)]
    assert INDEX.encode(rows).codes.tolist() == [[0, 5, 2, 5], [4, 1, 0, 4]]


def test_evenly() -> None:
    """So many places at even distances, or all if there are not more."""
    places = np.arange(10, 20)
    assert evenly(places, 10) is places
    assert evenly(places, 11) is places
    assert evenly(places, 9).tolist() == [10, 11, 12, 13, 14, 15, 16, 17, 18]
    assert evenly(places, 5).tolist() == [10, 12, 14, 16, 18]
    assert evenly(places, 3).tolist() == [10, 13, 16]
    assert evenly(places, 1).tolist() == [10]


def test_what_follows_for_unseen_values() -> None:
    """The notice says what unseen values count as, with smoothing and without."""
    given: list[tuple[dict[str, Any], str]] = [
        ({}, "for every label they count as values of no row"),
        ({"smoothed": True}, "for every label they count as values of no row"),
        ({"smoothed": False}, "every label ties at zero there"),
    ]
    for options, follows in given:
        with pytest.warns(NullproofWarning, match=follows):
            encode_points(INDEX.schema, ("x", 1), **options)
    seven = CountIndex.from_rows([("u",) * 7], ["p"])
    with pytest.warns(NullproofWarning, match=r"'x0' \(1\).*'x4' \(1\), …; "):
        seven.encode(("z",) * 7)
    six = CountIndex.from_rows([("u",) * 6], ["p"])
    with pytest.warns(NullproofWarning, match=r"'x4' \(1\), …; "):
        six.encode(("z",) * 6)


def told(schema: Schema, points: Any, **options: Any) -> list[str]:
    """All that is told when points are encoded."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        encode_points(schema, points, **options)
    return [str(one.message) for one in caught]


def test_what_is_strange_is_told_once() -> None:
    """When points are encoded, and not again when these are given."""
    rows = [("x", 9), (None, 1)]
    assert len(told(INDEX.schema, rows)) == 1
    assert told(INDEX.schema, INDEX.encode(rows)) == []
    assert told(INDEX.schema, INDEX.encode(rows), key=["a", "b"]) == []


def test_one_number_outside_is_told() -> None:
    """Whichever feature it is in, though all cells hold values of their domains."""
    table = {"a": [1.0, 2.0, 3.0, 4.0], "b": [5.0, 6.0, 7.0, 8.0], "y": [0, 1, 0, 1]}
    schema = CountIndex.from_table(table, "y", binning="uniform").schema
    for point, name in (((9.0, 6.0), "a"), ((2.0, 9.0), "b")):
        (notice,) = told(schema, point)
        assert notice.startswith(
            f"points lie outside what the training table shows in '{name}' (1);"
        )
    assert told(schema, (2.0, 6.0)) == []


@pytest.mark.parametrize("reading", [None, 1, "", "Skip", ["skip"], ("any",)])
def test_other_readings_are_refused(reading: Any) -> None:
    """There are two readings of holes, told by their names."""
    with pytest.raises(NullproofError, match=r"own_missing is .*; give 'skip'"):
        INDEX.encode(ROWS).read(reading)


@pytest.mark.parametrize("shape", [(2,), (2, 1), (2, 3), (1, 2, 2), (2, 2, 2)])
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_arrays_of_other_shapes_are_refused(shape: tuple[int, ...], dtype: Any) -> None:
    """Points in an array are rows × features, codes and numbers alike."""
    index = CountIndex.from_codes(np.array([[0, 0], [1, 1]]), [0, 1])
    for one in (index, CountIndex.from_rows([(0, 0), (1, 1)], [0, 1])):
        with pytest.raises(NullproofError, match=r"the points have shape .* 2 features"):
            one.encode(np.zeros(shape, dtype=dtype))


def test_integers_are_codes_only_where_all_features_are() -> None:
    """An array of integers holds values where an index was made from a table."""
    rows = [(5, 7), (6, 8)]
    points = CountIndex.from_rows(rows, [0, 1]).encode(np.array([[6, 7], [5, 8]]))
    assert points.codes.tolist() == [[1, 0], [0, 1]]
    codes = CountIndex.from_codes(np.array([[0], [1]]), [0, 1])
    assert codes.encode(np.array([[1.0], [0.0]])).codes.tolist() == [[1, 0]]


def test_lists_of_points_and_of_cells() -> None:
    """A list is one point unless all that it holds are rows; an empty one holds none."""
    assert INDEX.encode([["u"], 1]).single
    assert not INDEX.encode([["u", 1]]).single
    assert not INDEX.encode([np.array(["u", 1], dtype=object)]).single
    assert not INDEX.encode([]).single
    assert not INDEX.encode([{"word": "u", "whole": 1}]).single
    assert INDEX.encode({"word": "u", "whole": 1}).single


def test_integers_are_values_beside_other_features() -> None:
    """Where one feature has codes and another categories, integers are looked up as values."""
    features = (Feature("x0", "code", ("0", "1")), Feature("x1", "category", ("5", "7")))
    points = encode_points(Schema(features, (0, 1)), np.array([[1, 7], [0, 5]]))
    assert points.codes.tolist() == [[1, 0], [1, 0]]


@pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")
def test_own_cells_beside_a_column_that_is_left_out() -> None:
    """Rows that have the column which only names them too keep each cell under its own feature."""
    rows = [(f"id {k}", "uv"[k % 2], "xyz"[k % 3]) for k in range(24)]
    index = CountIndex.from_rows(rows, list("pq") * 12)
    assert index.features == ("x1", "x2")
    forms: list[Any] = [rows, [dict(zip(("x0", "x1", "x2"), row, strict=True)) for row in rows]]
    for form in forms:
        points = index.encode(form)
        some = points.take_whole(np.array([4, 1]))
        for j, name in enumerate(index.features):
            assert [points.own(j, name, place) for place in (0, 5)] == [
                rows[0][j + 1],
                rows[5][j + 1],
            ]
            assert [some.own(j, name, place) for place in (0, 1)] == [
                rows[4][j + 1],
                rows[1][j + 1],
            ]


def test_parts_of_numbers_are_no_codes() -> None:
    """A number between two codes is unseen, and not cut off to one of them."""
    codes = CountIndex.from_codes(np.array([[0], [1], [2]]), [0, 1, 1])
    assert codes.encode(np.array([[1.5], [2.0]])).codes.tolist() == [[3, 2]]
