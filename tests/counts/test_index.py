"""CountIndex: the same counts by every way of counting, however large a domain is."""

from __future__ import annotations

import random
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from nullproof import CountIndex, NullproofError, NullproofWarning, certify
from nullproof.counts import sparse as eager
from nullproof.counts.sparse import SparseCounts

many_values = pytest.mark.filterwarnings(
    "ignore:column .* has .* values:nullproof.NullproofWarning"
)


def random_frame(rng: random.Random, n_rows: int) -> pl.DataFrame:
    """Draw a table with every kind of column, holes and candidate sets."""

    def cells(draw: Any) -> list[Any]:
        return [None if rng.random() < 0.2 else draw() for _ in range(n_rows)]

    def candidates() -> list[str]:
        return rng.sample("uvwxyz", rng.choice([1, 1, 2, 3]))

    return pl.DataFrame(
        {
            "whole": cells(lambda: rng.randrange(7)),
            "real": cells(lambda: rng.gauss(0, 3)),
            "word": cells(lambda: rng.choice("abcde")),
            "flag": cells(lambda: rng.random() < 0.5),
            "several": cells(candidates),
            "y": [rng.choice(["p", "q", "r"]) for _ in range(n_rows)],
        },
        schema_overrides={"several": pl.List(pl.String)},
    )


@pytest.mark.parametrize("seed", range(8))
def test_order_and_chunks_do_not_matter(seed: int) -> None:
    """Rows, columns and parts in any order give the same index."""
    rng = random.Random(seed)
    frame = random_frame(rng, rng.randrange(30, 90))
    index = CountIndex.from_table(frame, "y")
    rows = list(range(frame.height))
    rng.shuffle(rows)
    names = frame.columns
    rng.shuffle(names)
    assert CountIndex.from_table(frame[rows].select(names), "y") == index
    cuts = sorted(rng.sample(range(frame.height + 1), 2))
    parts = [frame[: cuts[0]], frame[cuts[0] : cuts[1]], frame[cuts[1] :]]
    rng.shuffle(parts)
    counted = [CountIndex.from_table(part.select(names), "y", like=index) for part in parts]
    assert counted[0] + counted[1] + counted[2] == index
    if all(part.height for part in parts):
        assert all(part != index for part in counted)


@pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")
@pytest.mark.parametrize("seed", range(8))
def test_counts_equal_plain_counting(seed: int) -> None:
    """Low counts the cells that hold a value in every world, high those that may; as by hand."""
    rng = random.Random(seed)
    pool = "abc"[: rng.choice([1, 3])]
    cells = [
        rng.choice([None, frozenset(rng.sample(pool, rng.randrange(1, len(pool) + 1))), *pool])
        for _ in range(40)
    ]
    cells[0] = pool[0]
    labels = [rng.choice("pq") for _ in cells]
    index = CountIndex.from_rows([(cell,) for cell in cells], labels)
    domain = index.schema.features[0].values
    sets = [{*domain} if c is None else {c} if isinstance(c, str) else {*c} for c in cells]
    for place, value in enumerate([*domain, "unseen"]):
        for k, label in enumerate(index.labels):
            mine = [s for s, own in zip(sets, labels, strict=True) if own == label]
            assert index.low(0)[place, k] == sum(s == {value} for s in mine)
            assert index.high(0)[place, k] == sum(value in s for s in mine)
    assert index.n_missing == sum(
        c is None or (not isinstance(c, str) and len(c) > 1) for c in cells
    )
    some = np.array([len(domain), 0])
    for counts in (index.low, index.high, index.exact):
        assert counts(0, some).tolist() == counts(0)[some].tolist()


@pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")
@pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
@many_values
@pytest.mark.parametrize("seed", range(4))
def test_sparse_counts_equal_dense_ones(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A column counted sparsely gives every answer that it gives when counted densely."""
    rng = random.Random(seed)
    pool = [f"v{k}" for k in range(3000)]
    rows: list[Any] = [(rng.choice(pool), rng.choice("ab")) for _ in range(1500)]
    rows += [(None, "a"), (frozenset(rng.sample(pool, 3)), None), (frozenset([1, "1"]), "b")]
    rows += [(rng.choice(pool), "a")]
    labels = [rng.choice("pqrs") for _ in rows]
    points = [*rows[::40], *rows[-4:], ("elsewhere", "a")]
    dense = CountIndex.from_rows(rows, labels, keep=["x0"])
    monkeypatch.setattr(eager, "_DENSE", 1000)
    sparse = CountIndex.from_rows(rows, labels, keep=["x0"])
    assert isinstance(sparse.known[0], SparseCounts)
    assert not isinstance(dense.known[0], SparseCounts)
    for counts in ("low", "high", "exact"):
        assert (getattr(dense, counts)(0) == getattr(sparse, counts)(0)).all()
    for alpha in (0, 1):
        found = [certify(index, points, alpha=alpha).possible for index in (dense, sparse)]
        assert (found[0] == found[1]).all()
    half = [
        CountIndex.from_rows(rows[part], labels[part], like=sparse)
        for part in (slice(0, 700), slice(700, None))
    ]
    assert half[0] + half[1] == sparse
    assert half[0] != sparse


def test_an_empty_part_of_a_sparse_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part whose column is all missing has zero counts, sparse or not."""
    monkeypatch.setattr(eager, "_DENSE", 1000)
    rows = [(f"v{k % 5000}",) for k in range(20_000)]
    index = CountIndex.from_rows(rows, [k % 2 for k in range(20_000)])
    part = CountIndex.from_rows([(None,)], [1], like=index)
    assert isinstance(part.known[0], SparseCounts)
    assert not part.exact(0, np.array([0, 17, 5000])).any()
    assert part.n_null.tolist() == [[0, 1]]


def test_ten_thousand_categories() -> None:
    """A large domain is counted value by value."""
    cells = [f"c{k % 10_000}" for k in range(40_000)]
    labels = [k // 10_000 % 2 for k in range(40_000)]
    index = CountIndex.from_table(pl.DataFrame({"a": cells, "y": labels}), "y")
    assert index.n_values.tolist() == [10_000]
    assert (index.exact(0)[:-1] == 2).all()


@pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")
def test_many_labels_and_many_values() -> None:
    """300 labels × 500 values: each pair has its own count."""
    rng = np.random.default_rng(1)
    cells, labels = rng.integers(0, 500, 20_000), rng.integers(0, 300, 20_000)
    index = CountIndex.from_table({"a": cells, "y": labels}, "y", binning="none")
    expected = Counter(zip(cells.tolist(), labels.tolist(), strict=True))
    values = [int(value) for value in index.schema.features[0].values]
    found = index.exact(0)
    assert found.shape == (501, 300)
    assert all(
        found[place, k] == expected[value, label]
        for place, value in enumerate(values)
        for k, label in enumerate(index.labels)
    )


@pytest.mark.filterwarnings("ignore:the label column")
def test_an_id_column_is_told_of_and_stays_small() -> None:
    """A column of ids that is kept is told of; with many labels its counts stay in the size of the rows."""
    n_rows = 60_000
    ids = np.char.add("customer ", np.arange(n_rows).astype(str))
    frame = pl.DataFrame({"id": ids, "y": np.arange(n_rows) % 1000})
    tracemalloc.start()
    with pytest.warns(NullproofWarning, match=r"'id' has 60,000 values in 60,000 rows.*--ignore"):
        index = CountIndex.from_table(frame, "y", keep="id")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    known = index.known[0]
    assert isinstance(known, SparseCounts)
    assert len(known.keys) == n_rows
    assert peak < 60e6  # densely it would be 480 MB
    assert CountIndex.from_table(
        frame.with_columns(a=pl.lit("u")), "y", ignore=["id"]
    ).features == ("a",)


# Adding and comparing -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (
            {"a": ["u", "w"], "y": ["p", "q"]},
            "'a' holds a value in row 1 that is not in its domain",
        ),
        ({"a": ["u", ["u", "w"]], "y": ["p", "q"]}, "'a' holds a value in row 1"),
        ({"a": ["u", "v"], "y": ["p", "r"]}, "label column holds 'r', which the given index does"),
        ({"b": ["u", "v"], "y": ["p", "q"]}, "there is no column 'a' in the table"),
        ({"a": ["u", None], "y": ["p", None]}, "has 1 hole"),
    ],
)
def test_parts_must_fit_the_index_they_are_like(table: Any, reason: str) -> None:
    """A part has the columns, values and labels of the index it is counted like."""
    index = CountIndex.from_table({"a": ["u", "v"], "y": ["p", "q"]}, "y")
    with pytest.raises(NullproofError, match=reason):
        CountIndex.from_table(table, "y", like=index)


def test_parts_take_over_bins_and_spellings(tmp_path: Path) -> None:
    """A part from a file is read with the kinds and spellings of missing of the index."""
    index = CountIndex.from_table(
        {"a": ["01", "1", "?"], "b": [0, 10, 5], "y": [0, 1, 1]},
        "y",
        missing=("?",),
        binning="none",
    )
    texts = CountIndex.from_table(
        {"a": ["01", "1", "x"], "b": [0, 10, 5], "y": [0, 1, 1]}, "y", bins=2, binning="uniform"
    )
    part = tmp_path / "part.csv"
    part.write_text("b,y,a\n3,0,?\n")
    with pytest.raises(NullproofError, match="'b' holds a value in row 0"):
        CountIndex.from_table(part, "y", like=index)
    part.write_text("b,y,a\n3,0,01\n")
    counted = CountIndex.from_table(part, "y", like=texts)
    assert counted.exact(0).tolist() == [[1, 0], [0, 0], [0, 0], [0, 0]]
    assert counted.exact(1).tolist() == [[1, 0], [0, 0], [0, 0]]


def test_only_like_indexes_add_up() -> None:
    """Indexes of different domains, labels or features do not add up and are not equal."""
    index = CountIndex.from_rows([("u",), ("v",)], "pq")
    others = [
        CountIndex.from_rows([("u",), ("w",)], "pq"),
        CountIndex.from_rows([("u",), ("v",)], "pr"),
        CountIndex.from_rows([("u",), ("v",)], "pq", features=["other"]),
        CountIndex.from_rows([("u", 1), ("v", 1)], "pq"),
    ]
    for other in others:
        assert other != index
        with pytest.raises(NullproofError, match="differ in labels, features or domains"):
            index + other
    with pytest.raises(TypeError):
        index + 1  # type: ignore[operator]
    assert index != "index"
    assert (index + index).n_rows == 4


def test_indexes_that_differ_in_one_count_are_not_equal() -> None:
    """Equality looks at every count: labels, values, holes and candidate sets."""
    domains = {"x0": ["u", "v", "w"]}
    tables: list[tuple[list[Any], str]] = [
        (["u", "v", "w"], "ppq"),
        (["u", "v", "w"], "pqq"),
        (["u", "u", "w"], "ppq"),
        (["u", None, "w"], "ppq"),
        (["u", {"u", "v"}, "w"], "ppq"),
        (["u", {"u", "w"}, "w"], "ppq"),
        (["u", {"u", "w"}, {"u", "w"}], "ppq"),
    ]
    made = [
        CountIndex.from_rows([(cell,) for cell in cells], labels, domains=domains)
        for cells, labels in tables
    ]
    for a, one in enumerate(made):
        assert [b for b, other in enumerate(made) if one == other] == [a]


def test_the_order_of_features_does_not_matter_when_adding() -> None:
    """Features are added by name."""
    ab = CountIndex.from_rows([{"a": "u", "b": 1}, {"a": {"u", "v"}, "b": None}], "pq")
    ba = CountIndex.from_rows([{"b": 1, "a": "u"}, {"b": None, "a": {"u", "v"}}], "pq")
    assert ab == ba
    assert ab + ba == ba + ab
    assert (ab + ba).features == ("a", "b")


def test_an_index_shows_what_it_holds() -> None:
    """The repr tells rows, features, labels and holes."""
    index = CountIndex.from_rows([("u", None), ("v", {1, 2})], ["p", "q"])
    assert repr(index) == (
        "CountIndex: 2 rows, 2 features, 2 labels (p, q), 2 missing cells (50.0 %)"
    )
    labels = list("abcdef")
    assert "6 labels (a, b, c, d, e, …), 0" in repr(CountIndex.from_rows([("u",)] * 6, labels))
    empty = CountIndex.from_table(
        pl.DataFrame({"x0": ["u"], "x1": [1], "y": ["p"]})[:0], "y", like=index
    )
    assert repr(empty) == "CountIndex: 0 rows, 2 features, 2 labels (p, q), 0 missing cells"
    with pytest.raises(TypeError):
        hash(index)
    shown = index._repr_html_()
    assert repr(index) in shown
    cells = [part.split("</td>")[0] for part in shown.split("<td>")[1:]]
    assert cells == ["x0", "category", "2", "0", "x1", "number", "2", "2"]


@pytest.mark.parametrize("first", ["ab", 7, None])
def test_rows_that_are_no_rows(first: Any) -> None:
    """A text is no row of letters, and a number none of digits."""
    with pytest.raises(
        NullproofError, match=f"the first row is {first!r}; give each row as a tuple"
    ):
        CountIndex.from_rows([first, ("u",)], ["p", "q"])


WRONG_CODES: dict[str, tuple[Any, Any, str]] = {
    "wraps to missing": (
        np.array([[0], [2**32 - 1]], np.uint32),
        [2],
        "a code is 4294967295; give",
    ),
    "wraps to 1": (
        np.array([[0], [2**32 + 1]], np.uint64),
        [2],
        "a code is 4294967297; give codes",
    ),
    "wraps alone": (np.array([[0], [2**63]], np.uint64), None, "a code is 9223372036854775808;"),
    "beyond int32": (np.array([[0], [2**32 + 1]]), [2], "a code is 4294967297; give codes below"),
    "a huge domain": (np.array([[0], [2**31 - 1]], np.int32), None, "a code is 2147483647; give"),
    "half a value": (np.array([[0], [1]]), [2.5], r"n_values is \[2.5\]; give a list of whole"),
    "a float": (np.array([[0], [1]]), [2.0], r"n_values is \[2.0\]"),
    "text": (np.array([[0], [1]]), ["2"], r"n_values is \['2'\]"),
    "true": (np.array([[0], [0]]), [True], r"n_values is \[True\]"),
    "negative": (np.array([[0], [1]]), [-1], r"n_values is \[-1\]"),
    "none": (np.array([[-1], [-1]]), [0], r"n_values is \[0\]"),
    "too many": (np.array([[0], [1]]), [2**31], r"n_values is \[2147483648\]"),
    "two of one": (np.array([[0], [1]]), [2, 2], "n_values has 2 sizes but there are 1 features"),
    "a mask": (
        np.ma.array([[0], [1]], mask=[[False], [True]]),
        None,
        "masked array; give a plain one",
    ),
    "no rows": (np.zeros((0, 2), int), None, "0 rows and 2 features; give integers, rows"),
    "no array": (None, None, "0-dimensional array of object; give integers, rows × features"),
}


@pytest.mark.parametrize("kind", WRONG_CODES)
def test_codes_that_cannot_be_counted_are_refused(kind: str) -> None:
    """No code is counted as another, and no size is taken for another, whatever their type is."""
    codes, n_values, said = WRONG_CODES[kind]
    with pytest.raises(NullproofError, match=said):
        CountIndex.from_codes(codes, list("pq"), n_values=n_values)


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8"])
def test_codes_count_alike_in_every_type(dtype: str) -> None:
    """The type of the integers makes no difference, also at the end of its range."""
    rng = np.random.default_rng(3)
    top = min(int(np.iinfo(dtype).max), 300)
    codes = rng.integers(0, top, (50, 3))
    codes[7] = top
    labels = rng.integers(0, 2, 50)
    index = CountIndex.from_codes(codes.astype(dtype), labels)
    assert index == CountIndex.from_codes(codes.tolist(), labels)
    points = rng.integers(0, top + 1, (20, 3))
    encoded = index.encode(points.astype(dtype))
    assert np.array_equal(encoded.codes, points.T)
    if dtype[0] == "i":
        least = np.iinfo(dtype).min
        holes = np.where(codes == codes[0], least, codes).astype(dtype)
        marked = np.where(codes == codes[0], -1, codes)
        sizes = index.n_values.tolist()
        assert CountIndex.from_codes(holes, labels, n_values=sizes) == CountIndex.from_codes(
            marked, labels, n_values=sizes
        )


@pytest.mark.filterwarnings("ignore:points hold values")
@pytest.mark.parametrize(
    ("dtype", "code"), [("u4", 2**32 - 1), ("u8", 2**32 + 1), ("u8", 2**63), ("i8", 2**32 + 1)]
)
def test_points_of_large_codes_are_outside(dtype: str, code: int) -> None:
    """A point's code past the domain is a value never seen, and wraps to no other."""
    index = CountIndex.from_codes(np.array([[0], [1], [2]]), list("pqp"))
    assert index.encode(np.array([[code], [1]], dtype=dtype)).codes.tolist() == [[3, 1]]
