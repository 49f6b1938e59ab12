"""Changed tables: the index after a change equals the index of the changed table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.counted import index_of
from support.strategies import Case, cases

from nullproof.counts import sparse as eager
from nullproof.counts.index import CountIndex
from nullproof.counts.revise import Cells, fill_codes
from nullproof.errors import NullproofError

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

ROWS = [("a", None), ("a", "x"), ("b", {"x", "y"}), ("b", "y")]
LABELS = ["yes", "yes", "no", "no"]


def index() -> CountIndex:
    return CountIndex.from_rows(ROWS, LABELS, domains={"x1": ["z"]})


@given(cases(), st.data())
@settings(max_examples=100, deadline=None)
def test_rows_come_and_go(case: Case, data: st.DataObject) -> None:
    """Counting a part and adding the rest is counting all; removing the rest is counting the part."""
    whole = index_of(case)
    cut = data.draw(st.integers(1, len(case.rows)))
    part = CountIndex.from_rows(case.rows[:cut], case.labels[:cut], like=whole)
    rest = case.rows[cut:], case.labels[cut:]
    if rest[0]:
        assert part.update(*rest) == whole
        assert whole.remove(*rest) == part
    assert whole.update(case.rows, case.labels) == whole + whole


@pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")
def test_sparse_counts_change_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts that are kept sparse lose the places that become zero."""
    monkeypatch.setattr(eager, "_JOINT", 10)
    monkeypatch.setattr(eager, "_DENSE", 10)
    rows = [(f"id{k}",) for k in range(60)]
    labels = [str(k % 5) for k in range(60)]
    whole = CountIndex.from_rows(rows, labels, keep=["x0"])
    part = CountIndex.from_rows(rows[:50], labels[:50], like=whole)
    assert isinstance(whole.known[0], eager.SparseCounts)
    assert whole.remove(rows[50:], labels[50:]) == part
    assert part.update(rows[50:], labels[50:]) == whole
    assert part.remove(rows[:50], labels[:50]).update(rows, labels) == whole
    blanked = whole.blanked([Cells(0, 0, (whole.schema.features[0].codes["id5"],), 1)])
    holes = [(None,) if row == ("id5",) else row for row in rows]
    assert blanked == CountIndex.from_rows(holes, labels, like=whole)
    assert blanked.fill("x0", "id5", "0") == whole
    with pytest.raises(NullproofError, match="a cell in column 'x0' that is not counted"):
        part.remove(rows[50:51], labels[50:51])


@pytest.mark.parametrize("sparse", [True, False])
def test_no_cells_change_nothing(monkeypatch: pytest.MonkeyPatch, sparse: bool) -> None:
    """An index in which no cell is filled or blanked equals itself, also at a value that no row has."""
    if sparse:
        monkeypatch.setattr(eager, "_JOINT", 0)
        monkeypatch.setattr(eager, "_DENSE", 0)
    before = index()
    assert isinstance(before.known[1], eager.SparseCounts) == sparse
    assert before.fill("x1", "z", "yes", n_cells=0) == before
    assert before.blanked([Cells(0, 1, (2,), 0)]) == before


def test_what_does_not_change_is_shared() -> None:
    """Counts of features without a changed cell are not copied; those of others are."""
    before = index()
    for after in (
        before.update([(None, "x")], ["yes"]),
        before.fill("x1", "x", "yes"),
        before.blanked([Cells(0, 1, (1,), 1)]),
    ):
        assert after.known[0] is before.known[0]
        assert after.known[1] is not before.known[1]


def test_tables_and_single_rows_are_taken() -> None:
    """Rows may be a data frame, whose numbers fall into the bins of the index, or one tuple."""
    table = pl.DataFrame(
        {"age": [1.0, 2.0, None, 9.0], "c": ["u", "v", "u", "v"], "label": [1, 2, 1, 2]}
    )
    whole = CountIndex.from_table(table, "label")
    part = CountIndex.from_table(table[:2], "label", like=whole)
    assert part.update(table[2:], table["label"][2:].to_list()) == whole
    assert index().update(("a", "x"), "yes") == index().update([("a", "x")], ["yes"])
    assert index().update(("a", "x"), ["yes"]) == index().update([("a", "x")], ["yes"])
    letters = CountIndex.from_rows([("a",), ("b",)], ["p", "q"])
    assert letters.update([("a",), ("b",)], "qp") == letters.update([("a",), ("b",)], ["q", "p"])


def test_the_index_before_stays_as_it_was() -> None:
    """A change makes a new index."""
    before = index()
    before.update([("b", None)], ["yes"])
    before.fill("x1", "x", "yes")
    assert before == index()


@pytest.mark.parametrize("value", ["x", "y", "z", {"x", "y"}])
def test_a_filled_cell_is_counted_as_the_table_with_it(value: Any) -> None:
    """A missing cell that got a value, or fewer candidates, is counted as such."""
    filled = [("a", value), *ROWS[1:]]
    expected = CountIndex.from_rows(filled, LABELS, domains={"x1": ["x", "y", "z"]})
    assert index().fill("x1", value, "yes") == expected


def test_a_cell_with_candidates_is_filled() -> None:
    """A cell with a few candidates gets one of them."""
    filled = [*ROWS[:2], ("b", "x"), ROWS[3]]
    expected = CountIndex.from_rows(filled, LABELS, domains={"x1": ["x", "y", "z"]})
    assert index().fill("x1", "x", "no", candidates={"y", "x"}) == expected


def test_many_cells_are_filled_at_once() -> None:
    """The number of cells can be given."""
    rows = [(None,), (None,), ("a",), ("b",)]
    filled = CountIndex.from_rows([("a",), ("a",), ("a",), ("b",)], ["u"] * 4)
    assert CountIndex.from_rows(rows, ["u"] * 4).fill("x0", "a", "u", n_cells=2) == filled


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda i: i.update([("new", "x")], ["yes"]), "'x0' holds a value in row 0 that is not in"),
        (lambda i: i.update([("a", {"x", "new"})], ["yes"]), "'x1' holds a value in row 0"),
        (lambda i: i.update([("a", "x")], ["new"]), "there is no label 'new' in the index"),
        (lambda i: i.update([("a", "x")], ["yes", "no"]), "1 row but 2 labels"),
        (lambda i: i.remove([("b", "x")], ["yes"]), "a cell in column 'x0' that is not counted"),
        (lambda i: i.remove([("a", {"y", "z"})], ["yes"]), "a cell in column 'x1'"),
        (lambda i: i.remove([("a", None)] * 2, ["yes"] * 2), "a cell in column 'x1'"),
        (lambda i: i.fill("x1", "new", "yes"), "'new' is not in the domain of column 'x1'"),
        (lambda i: i.fill("x9", "x", "yes"), "no feature 'x9'; it is one of x0, x1"),
        (lambda i: i.fill("x1", "x", "new"), "no label 'new'"),
        (lambda i: i.fill("x1", None, "yes"), "None is no candidate of the cell"),
        (lambda i: i.fill("x1", "z", "no", candidates={"x", "y"}), "'z' is no candidate"),
        (lambda i: i.fill("x1", "x", "no"), "has 0 such missing cells with label 'no', not 1"),
        (lambda i: i.fill("x1", "x", "no", candidates={"x", "z"}), "0 such missing cells"),
        (lambda i: i.fill("x1", "x", "yes", candidates={"x", "z"}), "0 such missing cells"),
        (lambda i: i.update([("a", "x"), ("c", "x")], ["yes"] * 2), "'x0' holds a value in row 1"),
        (lambda i: i.fill("x1", "x", "yes", n_cells=2), "1 such missing cell with label 'yes'"),
        (lambda i: i.fill("x1", "x", "yes", n_cells=-1), "n_cells is -1; give the number of cells"),
        (lambda i: i.fill("x1", "x", "yes", n_cells=0.5), "n_cells is 0.5; give the number"),
        (lambda i: i.fill("x1", "x", "yes", n_cells=1.0), "n_cells is 1.0"),
        (lambda i: i.fill("x1", "x", "yes", n_cells=True), "n_cells is True"),
        (lambda i: i.fill("x1", "x", "yes", n_cells="1"), "n_cells is '1'"),
        (lambda i: i.fill("x1", "x", "yes", n_cells=float("nan")), "n_cells is nan"),
    ],
)
def test_what_cannot_be_changed_is_told(change: Any, message: str) -> None:
    """Values, labels and cells that the index does not have are named."""
    with pytest.raises(NullproofError, match=message):
        change(index())


WRONG: list[tuple[Any, Any, Any, Any]] = [
    *[(0, 0, (1,), n) for n in (-1, 0.5, True, "1", None, float("nan"), 2**70)],
    *[(0, 0, codes, 1) for codes in ((), (2,), (9,), (-1,), ("b",), (1.0,), (0, 2), 1, None)],
    *[(label, 0, (1,), 1) for label in (-1, 2, "no", None, 0.0)],
    *[(0, feature, (1,), 1) for feature in (-1, 2, "x0", None)],
]
WRONG_SORTS = [*[Cells(*sort) for sort in WRONG], (0, 0, (1,), 1), "abcd", 5]


@pytest.mark.parametrize("sort", WRONG_SORTS)
def test_sorts_of_cells_that_cannot_be_are_refused(sort: Any) -> None:
    """What is to be blanked names a label, a feature, values of it and a number from 0 on."""
    with pytest.raises(NullproofError, match="the cells to blank are given as"):
        index().blanked([sort])


@pytest.mark.parametrize("sparse", [True, False])
def test_no_more_is_blanked_than_is_there(monkeypatch: pytest.MonkeyPatch, sparse: bool) -> None:
    """No count of an index is ever negative: all cells can be blanked, one more is refused."""
    if sparse:
        monkeypatch.setattr(eager, "_JOINT", 0)
        monkeypatch.setattr(eager, "_DENSE", 0)
    before = index()
    assert isinstance(before.known[0], eager.SparseCounts) == sparse
    n_tried = 0
    for j in range(2):
        for code, counts in enumerate(before.exact(j)[:-1].tolist()):
            for label, count in enumerate(counts):
                after = before.blanked([Cells(label, j, (code,), count)])
                assert after.exact(j)[code, label] == 0
                for cells in ([count + 1], [count, 1], [1] * (count + 1)):
                    with pytest.raises(NullproofError, match="blank no more than are counted"):
                        before.blanked(Cells(label, j, (code,), n) for n in cells)
                    n_tried += 1
    assert n_tried == 2 * 3 * (2 + 3)
    assert before.blanked([Cells(0, 1, (1, 0), 1)]) == before.blanked([Cells(0, 1, (0, 1), 1)])
    for n_cells, candidates in ((2, (0, 1)), (1, (0, 2))):
        with pytest.raises(NullproofError, match="cells of column 'x1' are to be blanked"):
            before.blanked([Cells(0, 1, candidates, n_cells)])


def test_changes_of_a_large_index_are_quick() -> None:
    """Removing one row of an index with a million values counts nothing else again."""
    codes = np.arange(500_000, dtype=np.int32)[:, None]
    large = CountIndex.from_codes(codes, np.arange(500_000) % 2)
    smaller = large.remove(np.array([[7]], dtype=np.int32), [1])
    assert smaller.n_rows == 499_999
    assert smaller.exact(0, np.array([7])).tolist() == [[0, 0]]


# Inside ---------------------------------------------------------------------------------------------

HOLED: list[tuple[Any, ...]] = [
    (None, "x"),
    ({"a", "b"}, "y"),
    (None, None),
    ({"b", "c"}, "x"),
    ({"a", "b"}, "x"),
    ("a", "y"),
    (None, "x"),
    ("c", "y"),
]
HOLED_LABELS = list("ABBAABCC")


def test_codes_of_many_cells_are_filled_in() -> None:
    """Cells of several labels and sorts at once: the index is that of the filled table."""
    before = CountIndex.from_rows(HOLED, HOLED_LABELS)
    names = before.schema.features[0].values
    values = {0: "b", 1: "a", 2: "c", 3: "c", 4: "b", 6: "a"}
    for rows in ([0, 1, 2, 3, 4, 6], [0, 2], [1, 4], [4], [3, 6], []):
        labels = np.array([before.labels.index(HOLED_LABELS[row]) for row in rows], dtype=np.int64)
        codes = np.array([names.index(values[row]) for row in rows], dtype=np.int64)
        cells = [HOLED[row][0] for row in rows]
        sorts = [cell and tuple(sorted(map(names.index, cell))) for cell in cells]
        after = fill_codes(before, 0, labels, codes, sorts)
        filled = [(values[r] if r in rows else row[0], row[1]) for r, row in enumerate(HOLED)]
        assert after == CountIndex.from_rows(filled, HOLED_LABELS, like=before)
        assert before == CountIndex.from_rows(HOLED, HOLED_LABELS)


def test_wider_schemas_count_the_same_rows() -> None:
    """More labels, values and features, in any order: new features are missing in all rows."""
    rows = [(row[0], row[1], cell) for row, cell in zip(HOLED, "pqpqprrr", strict=True)]
    names = ["f", "g", "h"]
    whole = CountIndex.from_rows(rows, HOLED_LABELS, features=names, domains={"f": ["0"]})
    part = CountIndex.from_rows(
        [row[1::-1] for row in rows[1:6]], list("BBAAB"), features=["g", "f"]
    )
    wider = part.widened(whole.schema)
    seen = [(*row[:2], None) for row in rows[1:6]]
    assert wider == CountIndex.from_rows(seen, list("BBAAB"), like=whole)
    assert wider.features == ("f", "g", "h")
    assert wider.n_null.tolist() == [[0, 1, 0], [0, 1, 0], [2, 3, 0]]
    assert wider.label_counts.tolist() == [2, 3, 0]


def test_bins_that_came_into_use_keep_their_counts() -> None:
    """Where bins lie between those in use before, counts stay with their bins."""
    table = pl.DataFrame({"n": [0.0, 1.0, 5.0, 9.0, 10.0, None], "y": list("ABABAB")})
    whole = CountIndex.from_table(table, "y", binning="uniform")
    (feature,) = whole.schema.features
    assert feature.bins == (0, 2, 4)
    some = replace(feature, bins=(0, 4), values=(feature.values[0], feature.values[2]))
    narrow = replace(whole.schema, features=(some,))
    rows = table.filter((pl.col("n") != 5).fill_null(True))
    part = CountIndex.from_rows(
        [(x,) for x in rows["n"].to_list()],
        rows["y"].to_list(),
        like=replace(whole, schema=narrow),
    )
    assert part.widened(whole.schema).exact(0)[:-1].tolist() == [[1, 1], [0, 0], [1, 1]]


@pytest.mark.parametrize(
    ("label", "feature", "candidates", "n_cells"),
    [(1, 1, (0,), 1), (0, 0, (1,), 0), (0, 0, (0,), 0), (1, 0, (0,), 2), (0, 1, (0, 1), 1)],
)
def test_the_first_and_the_last_of_all_can_be_blanked(
    label: int, feature: int, candidates: tuple[int, ...], n_cells: int
) -> None:
    """Labels, features and values are counted from 0 on; no cells are a number of cells too."""
    before = index()
    after = before.blanked([Cells(label, feature, candidates, n_cells)])
    assert after.n_null[feature, label] == before.n_null[feature, label] + n_cells
    assert int(after.n_null.sum()) == int(before.n_null.sum()) + n_cells


def test_more_cells_than_any_table_has_are_refused() -> None:
    """Numbers that could wrap are refused before they are added; smaller ones are just not there."""
    for n_cells, message in (
        (2**40 + 1, "the cells to blank are given as"),
        (2**40, "blank no more than are counted"),
        (81, "blank no more than are counted"),
    ):
        with pytest.raises(NullproofError, match=message):
            index().blanked([Cells(0, 0, (1,), n_cells)])


def test_candidates_are_filled_with_all_or_some_of_them() -> None:
    """A cell may get all its candidates again, which changes nothing, or be told to be missing."""
    before = index()
    assert before.fill("x1", {"x", "y"}, "no", candidates={"y", "x"}) == before
    assert before.fill("x1", "x", "yes", candidates=None) == before.fill("x1", "x", "yes")
    three = CountIndex.from_rows([({"a", "b", "c"},), ("d",)], ["u", "v"])
    fewer = three.fill("x0", {"a", "c"}, "u", candidates={"a", "b", "c"})
    assert fewer == CountIndex.from_rows([({"a", "c"},), ("d",)], ["u", "v"], like=three)
    with pytest.raises(NullproofError, match="is no candidate"):
        three.fill("x0", {"a", "d"}, "u", candidates={"a", "b", "c"})


def test_some_rows_have_a_set_and_others_not() -> None:
    """A set of two labels stays for the one that still has it."""
    rows = [({"a", "b"},), ({"a", "b"},), ("c",)]
    before = CountIndex.from_rows(rows, list("ABA"))
    after = before.remove([({"a", "b"},)], ["A"])
    assert {key: counts.tolist() for key, counts in after.sets[0].items()} == {(0, 1): [0, 1]}
    assert after.remove([({"b", "a"},)], ["B"]).sets == ({},)
    for wrong in ([("a",), ({"a", "b"},)], [(None,), ({"a", "b"},)], [({"a", "b"},)] * 2):
        with pytest.raises(NullproofError, match="that is not counted"):
            before.remove(wrong, ["A"] * len(wrong))
