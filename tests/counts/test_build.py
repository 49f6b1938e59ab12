"""Building an index: from tables, rows and codes, with their labels and options."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nullproof import CountIndex, NullproofError, NullproofWarning
from nullproof.counts import build, sparse
from nullproof.counts.build import (
    checked_codes,
    code_features,
    domain_sizes,
    is_whole,
)
from nullproof.counts.sparse import SparseCounts

# Labels -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        (["b", "a", "10", "9"], ("9", "10", "a", "b")),
        ([3, 1, 2, 1], (1, 2, 3)),
        ([0.5, 1.5, 0.5, 1.5], (0.5, 1.5)),
        ([True, False, True, True], (False, True)),
        (np.array([2**40, 5, 5, 5]), (5, 2**40)),
        (pd.Series(["u", "v", "u", "v"]), ("u", "v")),
        (("p", "p", "p", "p"), ("p",)),
    ],
)
def test_labels_are_sorted_and_keep_their_type(labels: Any, found: tuple[Any, ...]) -> None:
    """Labels keep their type, sorted by size or by name."""
    index = CountIndex.from_rows([("x",)] * 4, labels)
    assert index.labels == found
    assert [type(label) for label in index.labels] == [type(label) for label in found]
    assert index.label_counts.sum() == 4


def test_unused_categories_are_no_labels() -> None:
    """A label that no row has is none."""
    frame = pd.DataFrame({"a": [1, 2], "y": pd.Categorical(["p", "q"], categories=["z", "q", "p"])})
    assert CountIndex.from_table(frame, "y").labels == ("p", "q")


def test_labels_of_a_file_are_its_texts(tmp_path: Path) -> None:
    """Labels of a text file are what it says: 01 is not 1."""
    (tmp_path / "t.csv").write_text("a,y\n1,01\n2,1\n3,True\n")
    assert CountIndex.from_table(tmp_path / "t.csv", "y").labels == ("01", "1", "True")


@pytest.mark.parametrize("hole", [None, float("nan"), pd.NA, "?"])
def test_holes_among_the_labels_are_refused(hole: Any) -> None:
    """Labels are never missing; the message says how many are, and where."""
    labels = ["p", hole, "q", hole, *["p"] * 4, *[hole] * 5]
    with pytest.raises(NullproofError, match=r"'y' has 7 holes \(rows 1, 3, 8, 9, 10, …, counted"):
        CountIndex.from_table({"a": list(range(13)), "y": labels}, "y", missing=("?",))


def test_a_label_with_candidates_is_refused() -> None:
    """A label has no candidates."""
    with pytest.raises(NullproofError, match="a label has several candidates"):
        CountIndex.from_rows([("x",), ("x",)], ["p", {"p", "q"}])


# Ways to build ------------------------------------------------------------------------------------


def test_rows_in_every_form() -> None:
    """Tuples, lists and mappings of the same rows give the same index; None and sets are holes."""
    rows = [("u", 1), (None, 2), (frozenset("uv"), 1)]
    index = CountIndex.from_rows(rows, "ppq", features=["a", "b"])
    assert (
        CountIndex.from_rows([list(row) for row in rows], list("ppq"), features=["a", "b"]) == index
    )
    assert CountIndex.from_rows([{"b": b, "a": a} for a, b in rows], tuple("ppq")) == index
    assert index.features == ("a", "b")
    assert index.schema.features[1].values == ("1", "2")
    assert CountIndex.from_rows(rows, "ppq").features == ("x0", "x1")
    assert CountIndex.from_rows(rows, "ppq", features=["a", "b"], domains={"a": ["w"]}) != index
    assert CountIndex.from_rows([("u",), ("?",)], "pq", missing=("?",)).n_missing == 1


@pytest.mark.parametrize(
    ("rows", "labels", "reason"),
    [
        ([], [], "there are no rows"),
        ([("u",)], ["p", "q"], "there are 1 rows but 2 labels"),
        ([("u", "v"), ("u",)], ["p", "q"], "row 1 has 1 values but there are 2 features"),
        ([{"a": 1}, {"b": 1}], ["p", "q"], "row 1 has no value for 'a'"),
        ([("u",), (set(),)], ["p", "q"], "column 'x0', row 1: the set of candidates is empty"),
    ],
)
def test_bad_rows(rows: list[Any], labels: list[Any], reason: str) -> None:
    """Rows and labels that do not fit are refused."""
    with pytest.raises(NullproofError, match=reason):
        CountIndex.from_rows(rows, labels)


def test_domains_of_unknown_columns_are_refused() -> None:
    """A declared domain names a feature."""
    with pytest.raises(NullproofError, match="domains names the column 'z'"):
        CountIndex.from_rows([("u",)], ["p"], domains={"z": ["u"]})


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint64"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_codes_are_counted_as_they_are(dtype: str, order: Any) -> None:
    """Integers are codes in every type and memory order; the largest a type holds too."""
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 100, (500, 3)).astype(dtype)
    codes[0] = min(np.iinfo(dtype).max, 300)
    labels = rng.integers(0, 2, 500)
    index = CountIndex.from_codes(np.array(codes, order=order), labels)
    for j in range(3):
        expected = Counter(zip(codes[:, j].tolist(), labels.tolist(), strict=True))
        found = index.exact(j)
        assert found.sum() == 500
        assert all(found[code, label] == count for (code, label), count in expected.items())


def test_negative_codes_are_missing() -> None:
    """Every negative code is a hole, and n_values may declare more than is seen."""
    codes = np.array([[0, -1], [1, -100], [-5, 0], [-1, 1]], dtype=np.int8)
    index = CountIndex.from_codes(codes, list("ppqq"), n_values=[4, 2])
    assert index.n_null.tolist() == [[0, 2], [2, 0]]
    assert index.n_values.tolist() == [4, 2]
    assert CountIndex.from_codes(np.array([[-1], [-1]]), "pq").n_values.tolist() == [1]


@pytest.mark.parametrize(
    ("codes", "labels", "options", "reason"),
    [
        (np.zeros((2, 1)), "pq", {}, "2-dimensional array of float64; give integers"),
        (np.zeros(2, dtype=int), "pq", {}, "1-dimensional array of int64"),
        (np.zeros((0, 2), dtype=int), "", {}, "give integers, rows × features"),
        (np.zeros((2, 1), dtype=int), "pqr", {}, "there are 2 rows but 3 labels"),
        (np.array([[0], [3]]), "pq", {"n_values": [3]}, "code 3 but its domain has 3 values"),
    ],
)
def test_bad_codes(codes: Any, labels: Any, options: Any, reason: str) -> None:
    """Codes are a matrix of integers within their domains, one label per row."""
    with pytest.raises(NullproofError, match=reason):
        CountIndex.from_codes(codes, list(labels), **options)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"bins": 0}, "bins is 0; give a whole number from 1 on, or binning='none' for no bins"),
        (
            {"bins": None},
            "bins is None; give a whole number from 1 on, or binning='none' for no bins",
        ),
        (
            {"bins": 7},
            "bins is 7 but binning is 'mdl', which asks for no number; give binning='uniform'",
        ),
        ({"binning": "kmeans"}, "binning is 'kmeans'; give 'mdl', 'uniform', 'quantile' or"),
        ({"binning": {"z": "mdl"}}, "binning names the column 'z', which is not among a, b, y"),
        ({"ignore": ["b", "z"]}, "ignore names the column 'z', which is not among a, b, y"),
        ({"ignore": ["a", "b"]}, "no column besides the label"),
    ],
)
def test_bad_options(options: Any, reason: str) -> None:
    """Options that mean nothing are refused."""
    with pytest.raises(NullproofError, match=reason):
        CountIndex.from_table({"a": [1, 2], "b": [3, 4], "y": [0, 1]}, "y", **options)


def test_one_column_to_ignore_may_be_named_plainly() -> None:
    """One name need not stand in a list."""
    table = {"first": [1, 2], "b": [3, 4], "y": [0, 1]}
    assert CountIndex.from_table(table, "y", ignore="first").features == ("b",)


# Inside ---------------------------------------------------------------------------------------------

MOST = 100_000_000


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
def test_codes_that_are_too_large(dtype: Any) -> None:
    """The largest code that is counted is one less than a hundred million."""
    fine = np.array([[0], [MOST - 1]], dtype=dtype)
    assert checked_codes(fine) is fine
    with pytest.raises(NullproofError, match="a code is 100000000; give codes below 100,000,000"):
        checked_codes(np.array([[0], [MOST]], dtype=dtype))
    narrow = np.array([[0], [2**15 - 1]], dtype=np.int16)
    assert checked_codes(narrow) is narrow
    with pytest.raises(NullproofError, match="masked array"):
        checked_codes(np.ma.masked_array([[1]], mask=[[True]]))
    with pytest.raises(NullproofError, match="3-dimensional"):
        checked_codes(np.zeros((1, 1, 1), dtype=dtype))


@pytest.mark.parametrize(
    ("largest", "n_values", "sizes"),
    [
        ([2, 0, -1, -5], None, [3, 1, 1, 1]),
        ([2, 0], [3, 1], [3, 1]),
        ([2, 0], (np.int64(7), 1), [7, 1]),
        ([2], [MOST], [MOST]),
        ([2], 5, [5]),
    ],
)
def test_sizes_of_domains(largest: list[int], n_values: Any, sizes: list[int]) -> None:
    """As given, or one more than the largest code, and one at least."""
    assert domain_sizes(largest, n_values) == sizes


@pytest.mark.parametrize("wrong", [0, -1, MOST + 1, 2.0, True, "3", None])
def test_sizes_that_are_none(wrong: Any) -> None:
    """Each size is a whole number from 1 to a hundred million, whichever place it has."""
    for given in ([wrong, 3], [3, wrong], [wrong, wrong]):
        with pytest.raises(
            NullproofError, match="give a list of whole numbers from 1 to 100,000,000"
        ):
            domain_sizes([0, 0], given)
    with pytest.raises(NullproofError, match="n_values has 1 sizes but there are 2 features"):
        domain_sizes([0, 0], [3])
    with pytest.raises(NullproofError, match=r"'x1' holds the code 3 but its domain has 3 values"):
        domain_sizes([0, 3], [3, 3])
    assert domain_sizes([2, 2], [3, 3]) == [3, 3]


@pytest.mark.parametrize("size", [1, 255, 256, 257, 300])
def test_values_of_codes(size: int) -> None:
    """The codes themselves, as text."""
    first, second = code_features([size, 2])
    assert (first.name, first.kind, second.name) == ("x0", "code", "x1")
    assert first.values == tuple(str(code) for code in range(size))
    assert second.values == ("0", "1")


@pytest.mark.parametrize(
    ("cells", "dtype"),
    [
        ([0, 126, -1], np.int8),
        ([0, 127, -1], np.int8),
        ([0, 127, -128], np.int8),
        ([0, 5, -2], np.int16),
        ([0, 2**15 - 1, -3], np.int16),
        ([0, 255, 3], np.uint8),
        ([0, 2, 1], np.uint64),
        ([0, 70_000, -(2**40)], np.int64),
    ],
)
@pytest.mark.parametrize("few", [0, 6_000])
def test_codes_of_any_type(
    cells: list[int], dtype: Any, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The largest code of a type is counted, and so is every negative one, as missing."""
    monkeypatch.setattr(sparse, "_FEW_ROWS", few)
    codes = np.array([cells, cells[::-1]], dtype=dtype).T
    for own in (codes, np.asfortranarray(codes)):
        index = CountIndex.from_codes(own, [0, 1, 1])
        for j in range(2):
            exact = index.exact(j)
            assert exact.shape == (max(cells) + 2, 2)
            column = own[:, j].tolist()
            for row, cell in enumerate(column):
                counts = index.n_null[j] if cell < 0 else exact[cell]
                assert counts.tolist() == [int(row == 0), int(row > 0)]
        assert int(index.n_null.sum()) == 2 * sum(cell < 0 for cell in cells)
        assert sum(int(index.exact(j).sum()) for j in range(2)) + int(index.n_null.sum()) == 6


def test_codes_of_very_many_values_are_kept_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows of codes are counted at once only if no column has so many values that most have no row."""
    monkeypatch.setattr(sparse, "_DENSE", 12)
    codes, labels = np.array([[0, 5, 4], [1, -1, -3]]).T, [0, 1, 1]
    for sizes in ([6, 2], [6, 5], [7, 6]):
        index = CountIndex.from_codes(codes, labels, n_values=sizes)
        assert [isinstance(known, SparseCounts) for known in index.known] == [
            2 * (size + 1) > 12 for size in sizes
        ]
        assert index.exact(0)[:6].tolist() == [[1, 0], [0, 0], [0, 0], [0, 0], [0, 1], [0, 1]]
        assert index.exact(1)[:2].tolist() == [[0, 0], [1, 0]]
        assert index.n_null.tolist() == [[0, 0], [0, 2]]


def test_whole_numbers() -> None:
    """Integers of Python and of NumPy; truth values and doubles are none."""
    assert [is_whole(x) for x in (1, -3, np.int8(2), np.uint64(2))] == [True] * 4
    assert [is_whole(x) for x in (True, False, 1.0, np.float64(1), "1", None)] == [False] * 6


def test_candidates_are_counted_once_each() -> None:
    """Cells with candidates are not missing cells; each counts for its set and its label."""
    rows: list[Any] = [({"a", "b"},), ({"b", "a"},), ({"b", "c"},), (None,), ("c",), ({"a", "b"},)]
    index = CountIndex.from_rows(rows, list("AABABB"))
    assert index.n_null.tolist() == [[1, 0]]
    assert {key: counts.tolist() for key, counts in index.sets[0].items()} == {
        (0, 1): [2, 1],
        (1, 2): [0, 1],
    }
    assert index.exact(0).tolist() == [[0, 0], [0, 0], [0, 1], [0, 0]]
    assert index.label_counts.tolist() == [3, 3]


def test_values_that_an_index_lacks_are_told_by_row() -> None:
    """The first row with one is named, as the table counts its rows; candidates are looked at too."""
    like = CountIndex.from_rows([("a",), ("b",)], ["p", "q"])
    for rows, row in (
        ([("a",), ("z",), ("a",), ("y",)], 1),
        ([("a",), ("b",), ({"a", "z"},)], 2),
        ([({"a", "b"},), ({"z"},)], 1),
        ([("z",)], 0),
    ):
        with pytest.raises(NullproofError, match=f"holds a value in row {row} that is not in its"):
            CountIndex.from_rows(rows, ["p"] * len(rows), like=like)
    fine = CountIndex.from_rows([({"a", "b"},), (None,), ("b",)], list("pqp"), like=like)
    assert fine.n_missing == 2
    table = {"x0": ["a", "b", "a", "z"], "label": ["p", None, "q", "q"]}
    with (
        pytest.warns(NullproofWarning),
        pytest.raises(NullproofError, match="holds a value in row 3 that"),
    ):
        CountIndex.from_table(table, "label", like=like, unlabelled="drop")


@pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")
def test_columns_that_are_left_out() -> None:
    """Columns without any value, and those that only name the rows, unless they are declared or kept."""
    table = {
        "empty": [None] * 30,
        "some": ["u", None] * 15,
        "id": [f"row {k}" for k in range(30)],
        "y": ["p", "q", "q"] * 10,
    }
    assert CountIndex.from_table(table, "y").features == ("some",)
    assert CountIndex.from_table(table, "y").schema.left_out == ("id",)
    kept = CountIndex.from_table(table, "y", keep=["id"], domains={"empty": ["e"]})
    assert kept.features == ("empty", "some", "id")
    assert kept.n_null[0].tolist() == [10, 20]
    sets = CountIndex.from_rows([({"a", "b"},), ({"a", "b"},)], ["p", "q"])
    assert sets.features == ("x0",)


@pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")
def test_two_columns_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether columns are read one by one or two at a time, they stay in their order."""
    rng = np.random.default_rng(4)
    table: dict[str, Any] = {f"c{k}": rng.integers(0, 9, 40) for k in range(6)}
    table["y"] = rng.integers(0, 2, 40)
    plain = CountIndex.from_table(table, "y")
    frame = pd.DataFrame(table).astype(dict.fromkeys(("c1", "c4", "y"), "category"))
    coded = CountIndex.from_table(frame, "y")
    monkeypatch.setattr(build, "_MANY_CELLS", 0)
    both = CountIndex.from_table(table, "y")
    assert both.features == plain.features == tuple(f"c{k}" for k in range(6))
    assert both == plain
    assert CountIndex.from_table(frame, "y") == coded
    assert coded.features == plain.features
