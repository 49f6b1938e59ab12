"""Every way from a table to an index counts as a plain counter does that knows only ``docs/values.md``."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import nasty_tables
from support.amounts import SEED
from support.checking import (
    ALL_OPTIONS,
    MORE,
    SOME_OPTIONS,
    Options,
    carried,
    labels_with_holes,
    none_of,
    point_problems,
    problems,
    round_trip_problems,
)
from support.index_view import quietly, values
from support.odd_tables import odd_table
from support.plain_counter import Table
from support.refusing import refuses
from support.ways import TEXT_WAYS, TYPED_WAYS, Way

from nullproof import CountIndex, NullproofError, certify

pytestmark = [
    pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
typed_ways = pytest.mark.parametrize("way", TYPED_WAYS, ids=lambda way: way.name)
text_ways = pytest.mark.parametrize("way", TEXT_WAYS, ids=lambda way: way.name)
all_ways = pytest.mark.parametrize("way", [*TYPED_WAYS, *TEXT_WAYS], ids=lambda way: way.name)


def drawn_table(way: Way, rng: random.Random) -> Table:
    """Draw a table of the sort that a way carries."""
    if way in TEXT_WAYS:
        return nasty_tables.written_table(rng)
    return nasty_tables.typed_table(rng)


def n_tables(way: Way, share: float = 1.0) -> int:
    """How many random tables come a way: at least one."""
    return max(1, round(way.n_tables * MORE * share))


# Every way against the plain counter --------------------------------------------------------------


@pytest.mark.parametrize("options", SOME_OPTIONS, ids=str)
@typed_ways
def test_all_cells_of_all_types(way: Way, options: Options, tmp_path: Path) -> None:
    """Each type with all of its nasty cells, with and without holes, has the true counts."""
    found: list[str] = []
    # Where a count is dear, holes come with every other options.
    both = (True, False) if way.n_tables > 50 else (ALL_OPTIONS.index(options) % 2 == 0,)
    for holes in both:
        table = nasty_tables.whole_table(random.Random(SEED), holes)
        found += problems(way, carried(way, table), options, tmp_path)
    none_of(found)


@all_ways
def test_cuts_of_all_types(way: Way, tmp_path: Path) -> None:
    """Columns that the label follows are cut between the same two cells, however near these are."""
    for first in (0.35, 0.7) if way.n_tables > 50 else (0.35,):
        if way in TEXT_WAYS:
            table = nasty_tables.whole_written_table(random.Random(SEED))
        else:
            table = nasty_tables.whole_table(random.Random(SEED), holes=first < 0.4)
        table, options = nasty_tables.cut_table(table, first), Options(binning="mdl")
        none_of(problems(way, carried(way, table), options, tmp_path))


@typed_ways
def test_columns_without_a_known_cell(way: Way, tmp_path: Path) -> None:
    """Columns of holes are left out; those whose type declares values have these for a domain."""
    table = nasty_tables.empty_table(random.Random(SEED))
    none_of(problems(way, carried(way, table), Options(), tmp_path))


@pytest.mark.parametrize("options", SOME_OPTIONS, ids=str)
@text_ways
def test_all_texts_of_files(way: Way, options: Options, tmp_path: Path) -> None:
    """A column of a text file is what all of its known texts are, and has the true counts."""
    table = nasty_tables.whole_written_table(random.Random(SEED))
    none_of(problems(way, carried(way, table), options, tmp_path))


@all_ways
def test_random_tables(way: Way, tmp_path: Path) -> None:
    """Small tables of few and repeated cells, labels of any type, in parts that may be empty."""
    found: list[str] = []
    for number in range(n_tables(way)):
        seed = f"{SEED}-{number}"
        rng = random.Random(seed)
        table, options = drawn_table(way, rng), Options.drawn(rng)
        wrong = problems(way, carried(way, table), options, tmp_path)
        found += [f"seed {seed}: {problem}" for problem in wrong]
    none_of(found)


@all_ways
def test_points_and_round_trips(way: Way, tmp_path: Path) -> None:
    """Rows that come as points any way are read as the truth says.

    An index that was saved is the same when loaded, and so is one counted like it another way.
    """
    found: list[str] = []
    others = [
        other for other in (*TYPED_WAYS, *TEXT_WAYS) if (other in TEXT_WAYS) == (way in TEXT_WAYS)
    ]
    for number in range(n_tables(way, 0.25)):
        seed = f"{SEED}-points-{number}"
        rng = random.Random(seed)
        table, options = drawn_table(way, rng), Options.drawn(rng)
        other = rng.choice(others)
        wrong = [
            *point_problems(way, table, options, tmp_path),
            *round_trip_problems(way, other, table, options, tmp_path),
        ]
        found += [f"seed {seed}: {problem}" for problem in wrong]
    none_of(found)


@pytest.mark.parametrize("way", [w for w in TYPED_WAYS if w.points], ids=lambda way: way.name)
def test_all_cells_as_points(way: Way, tmp_path: Path) -> None:
    """Each type with all of its nasty cells is read as points as it is counted."""
    table = nasty_tables.whole_table(random.Random(SEED), holes=True)
    for options in (Options(keep=True), Options(bins=3, keep=True)):
        none_of(point_problems(way, table, options, tmp_path))


@typed_ways
def test_labels_with_holes_are_refused(way: Way, tmp_path: Path) -> None:
    """A label is never missing: not None, not NaN, not a named spelling."""
    found: list[str] = []
    for table, options in labels_with_holes():
        found += problems(way, carried(way, table), options, tmp_path)
    none_of(found)


NOT_COUNTED: dict[str, Any] = {
    "struct": pa.array([{"a": 1}, {"a": 2}, None]),
    "map": pa.array([[("a", 1)], [("b", 2)], None], pa.map_(pa.string(), pa.int64())),
    "binary": pa.array([b"\x00", b"\xff", None]),
    "fixed binary": pa.array([b"ab", b"cd", None], pa.binary(2)),
    "list": pa.array([["u"], ["u", "v"], None]),
    "list of structs": pa.array([[{"a": 1}], [{"a": 2}], None]),
}


def odd_tables(name: str, folder: Path) -> Iterator[Any]:
    """The same table with a column that cannot be counted, by several ways."""
    table = pa.table({"odd": NOT_COUNTED[name], "a": ["x", "y", "x"], "y": ["yes", "no", "no"]})
    pq.write_table(table, folder / "odd.parquet")
    yield table
    yield table.to_pandas(types_mapper=pd.ArrowDtype)
    if name != "map":
        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)
        yield frame
        yield frame.lazy()
        yield folder / "odd.parquet"
    yield duckdb.connect().from_arrow(table)
    yield folder


@pytest.mark.parametrize("name", NOT_COUNTED)
def test_types_that_are_not_counted_are_refused(name: str, tmp_path: Path) -> None:
    """Structs, maps and bytes are refused in one sentence that names the column, whatever the way."""
    for table in odd_tables(name, tmp_path):
        with pytest.raises(NullproofError, match="'odd'") as caught:
            CountIndex.from_table(table, "y")
        assert "\n" not in str(caught.value)
        assert CountIndex.from_table(table, "y", ignore=["odd"]).features == ("a",)


# Rows ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_order_and_chunks_do_not_matter(seed: int) -> None:
    """Rows, columns and parts in any order give the same index, and parts add up."""
    rng = random.Random(seed)
    n_rows = rng.randrange(30, 90)
    frame = odd_table(n_rows, seed).select("whole", "real", "word", "flag", "day", y="label")
    index = CountIndex.from_table(frame, "y")
    rows, names = [*range(n_rows)], frame.columns
    rng.shuffle(rows)
    rng.shuffle(names)
    assert CountIndex.from_table(frame[rows].select(names), "y") == index
    cuts = sorted(rng.sample(range(1, n_rows), 2))
    parts = [frame[: cuts[0]], frame[cuts[0] : cuts[1]], frame[cuts[1] :]]
    rng.shuffle(parts)
    counted = [CountIndex.from_table(part.select(names), "y", like=index) for part in parts]
    assert counted[0] + counted[1] + counted[2] == index
    assert all(part != index for part in counted)


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


def test_rows_in_every_form() -> None:
    """Tuples, lists and mappings of the same rows give the same index; None and sets are holes."""
    rows = [("u", 1), (None, 2), (frozenset("uv"), 1)]
    index = CountIndex.from_rows(rows, "ppq", features=["a", "b"])
    lists = [list(row) for row in rows]
    assert CountIndex.from_rows(lists, list("ppq"), features=["a", "b"]) == index
    assert CountIndex.from_rows([{"b": b, "a": a} for a, b in rows], tuple("ppq")) == index
    assert index.features == ("a", "b")
    assert values(index, "b") == ("1", "2")
    assert CountIndex.from_rows(rows, "ppq").features == ("x0", "x1")
    assert CountIndex.from_rows(rows, "ppq", features=["a", "b"], domains={"a": ["w"]}) != index
    assert CountIndex.from_rows([("u",), ("?",)], "pq", missing=("?",)).n_missing == 1


def test_an_unknown_candidate_means_any_value() -> None:
    """None or a spelling of missing among the candidates leaves nothing known of the cell."""
    rows: list[Any] = [("u",), ({"u", None},), ({"u", " ? "},), ("v",)]
    index = CountIndex.from_rows(rows, "ppqq", missing=("?",))
    assert index == CountIndex.from_rows([("u",), (None,), (None,), ("v",)], "ppqq", missing=("?",))


# Codes and large domains --------------------------------------------------------------------------


def plain_counts(codes: list[int], labels: list[int]) -> Counter[tuple[int, int]]:
    return Counter(zip(codes, labels, strict=True))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint64"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_rows", [40, 7000])
def test_codes_are_counted_as_they_are(dtype: str, order: Any, n_rows: int) -> None:
    """Integers are codes in every type and memory order, few or many; negative ones are missing."""
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 100, (n_rows, 3)).astype(dtype)
    codes[0] = min(np.iinfo(dtype).max, 300)
    if dtype[0] == "i":
        codes[rng.random(codes.shape) < 0.2] = -1
        codes[1] = np.iinfo(dtype).min
    labels = rng.integers(0, 2, n_rows)
    index = CountIndex.from_codes(np.array(codes, order=order), labels)
    for j in range(3):
        found = index.exact(j)
        assert found.shape == (int(codes[:, j].max()) + 2, 2)
        for (code, label), count in plain_counts(codes[:, j].tolist(), labels.tolist()).items():
            if code >= 0:
                assert found[code, label] == count
        missing = [int(((codes[:, j] < 0) & (labels == label)).sum()) for label in (0, 1)]
        assert index.n_null[j].tolist() == missing
        assert found.sum() + sum(missing) == n_rows
        assert values(index, f"x{j}")[:3] == ("0", "1", "2")


@pytest.mark.parametrize("sizes", [(2_500_000, 3), (3, 1_999_999, 7), (2_000_000, 2_000_000)])
@pytest.mark.parametrize("n_rows", [50, 9000])
def test_huge_domains_are_counted_as_small_ones(sizes: tuple[int, ...], n_rows: int) -> None:
    """Counts of millions of values, of which few are held, change and add up as all others do."""
    rng = np.random.default_rng(n_rows)
    codes = np.stack([rng.integers(-1, size, n_rows) for size in sizes], axis=1)
    codes[:20] = rng.integers(-1, 3, (20, len(sizes)))
    codes[-1] = [size - 1 for size in sizes]
    labels: Any = rng.integers(0, 2, n_rows)
    labels[:2] = 0, 1

    def counted(rows: slice) -> CountIndex:
        return CountIndex.from_codes(codes[rows], labels[rows], n_values=sizes, weights="equal")

    whole = counted(slice(None))
    for j in range(len(sizes)):
        held = np.unique(codes[:, j][codes[:, j] >= 0])
        expected = plain_counts(codes[:, j].tolist(), labels.tolist())
        rows = [[expected[code, label] for label in (0, 1)] for code in held.tolist()]
        assert whole.exact(j, held).tolist() == whole.low(j, held).tolist() == rows
        assert whole.n_null[j].tolist() == [expected[-1, 0], expected[-1, 1]]
        n_null = whole.n_null[j]
        assert (whole.high(j, held) == whole.exact(j, held) + n_null).all()
        beside = np.setdiff1d(np.array([4, 5, 6]) % sizes[j], held)
        assert not whole.exact(j, beside).any()
    first, rest = counted(slice(9)), counted(slice(9, None))
    assert first != whole
    assert first + rest == whole == rest + first
    assert whole - first == rest
    with pytest.raises(NullproofError, match="not counted"):
        rest - first
    assert certify(whole, codes[:9]).predicted.tolist() == [
        *certify(whole, codes[:5]).predicted,
        *certify(whole, codes[5:9]).predicted,
    ]


def test_ids_that_are_kept_are_counted_in_little_memory() -> None:
    """A column of ids with a thousand labels has one count per row, however large the product is."""
    n_rows = 30_000
    ids = [f"customer {k}" for k in range(n_rows)]
    index = quietly({"id": ids, "y": np.arange(n_rows) % 1000}, keep="id")
    assert index.n_values.tolist() == [n_rows]
    places = [values(index).index(name) for name in ("customer 7", "customer 2999")]
    assert np.argwhere(index.exact(0, np.array(places))).tolist() == [[0, 7], [1, 999]]


WRONG_CODES: list[tuple[Any, Any, str]] = [
    (np.zeros((2, 1)), None, "array of float64 of shape .*; give integers"),
    (np.zeros(2, dtype=int), None, r"of shape \(2,\)"),
    (np.array([[0], [2**32 - 1]], np.uint32), [2], "a code is 4294967295"),
    (np.array([[0], [2**32 + 1]], np.uint64), [2], "a code is 4294967297"),
    (np.array([[0], [2**63]], np.uint64), None, "a code is 9223372036854775808"),
    (np.array([[0], [10**8]]), None, "a code is 100000000; give codes below"),
    (np.array([[0], [3]]), [3], "code 3 but its domain has 3 values"),
    (np.array([[0], [1]]), [2.5], r"n_values is \[2.5\]; give"),
    (np.array([[0], [1]]), [2.0], r"n_values is \[2.0\]"),
    (np.array([[0], [1]]), ["2"], r"n_values is \['2'\]"),
    (np.array([[0], [0]]), [True], r"n_values is \[True\]"),
    (np.array([[0], [1]]), [-1], r"n_values is \[-1\]"),
    (np.array([[-1], [-1]]), [0], r"n_values is \[0\]"),
    (np.array([[0], [1]]), [10**8 + 1], r"n_values is \[100000001\]"),
    (np.array([[0], [1]]), [25_000_001], "'x0' has 25,000,001 values and"),
    (np.array([[0], [1]]), [2, 2], "n_values has 2 sizes but there are 1 features"),
    (np.ma.array([[0], [1]], mask=[[False], [True]]), None, "masked array"),
    (np.zeros((0, 2), int), None, "give integers, rows"),
]


test_codes_that_cannot_be_counted_are_refused = refuses(
    "No code is counted as another, and no size is taken for another, whatever their type is.",
    lambda codes, n_values: CountIndex.from_codes(codes, list("pq"), n_values=n_values),
    *WRONG_CODES,
)


def test_sizes_of_code_domains() -> None:
    """As given, in any type of whole numbers, or one more than the largest code, and one at least."""
    codes = np.array([[2, 0, -1], [0, 0, -5]])
    assert CountIndex.from_codes(codes, "pq").n_values.tolist() == [3, 1, 1]
    sizes: Any = (np.int64(7), 1, np.uint8(4))
    index = CountIndex.from_codes(codes, "pq", n_values=sizes)
    assert index.n_values.tolist() == [7, 1, 4]
    assert values(index, "x2") == ("0", "1", "2", "3")
    with pytest.raises(NullproofError, match="2 rows but 3 labels"):
        CountIndex.from_codes(codes, "pqr")


# What is refused ----------------------------------------------------------------------------------

BAD_TABLES: list[tuple[Any, str]] = [
    (None, "NoneType is not a table; give a data frame"),
    (3, "int is not a table"),
    ([(1, "p")], "list is not a table"),
    (pd.Series([1, 2]), "Series is not a table"),
    (np.zeros(3), "the array has 1 dimension; give two"),
    ({"a": [1], "y": [1, 2]}, "the columns differ in length"),
    ({}, "there is no column 'y' in the table; it has no columns"),
    ({"x": [1], "yy": [1]}, r"no column 'y' in the table; did you mean 'yy'\?"),
    ({"much": [1], "other": [1]}, "no column 'y' in the table; it has 'much', 'other'"),
    ({"y": [1]}, "no column besides the label"),
    (pl.DataFrame({"a": [], "y": []}), "the table has no rows"),
    (pd.DataFrame({"a": [], "y": []}), "the table has no rows"),
    (pd.DataFrame([[1, 2, 3]], columns=["a", "a", "y"]), "a column name twice .'a' 2 times"),
    (pa.table([[1], [2], [3]], names=["a", "a", "y"]), "a column name twice .'a' 2 times"),
    (pd.DataFrame([[1, 2, 3]], columns=[1, "1", "y"]), "a column name twice"),
    ({"a": [None], "y": ["p"]}, "no column holds any known value"),
]


test_what_is_no_table_is_refused = refuses(
    "What cannot be counted is refused with what came, what was needed and what to do.",
    lambda table: CountIndex.from_table(table, "y"),
    *BAD_TABLES,
)


test_bad_rows = refuses(
    "Rows and labels that do not fit are refused.",
    CountIndex.from_rows,
    ([], [], "there are no rows"),
    ([("u",)], ["p", "q"], "there are 1 rows but 2 labels"),
    ([("u", "v"), ("u",)], ["p", "q"], "row 1 has 1 values but there are 2 features"),
    ([{"a": 1}, {"b": 1}], ["p", "q"], "row 1 has no value for 'a'"),
    ([("u",), (set(),)], ["p", "q"], "column 'x0', row 1: the set of candidates is empty"),
    ([("u",), ([["u"]],)], ["p", "q"], "row 1: a candidate is itself a list"),
    ([("u", "v"), "uv"], ["p", "q"], "row 1 is 'uv'; give a tuple"),
    (["ab", ("u",)], ["p", "q"], "the first row is 'ab'; give each row as a tuple"),
    ([7, ("u",)], ["p", "q"], "the first row is 7"),
    ([("x",), ("x",)], ["p", {"p", "q"}], "a label has several candidates"),
)


test_bad_options = refuses(
    "Options that mean nothing are refused.",
    lambda options: CountIndex.from_table({"a": [1, 2], "b": [3, 4], "y": [0, 1]}, "y", **options),
    *(({"bins": n, "binning": "uniform"}, "give a whole number") for n in (0, -1, 2.5, "5")),
    ({"bins": True}, "give a whole number"),
    ({"bins": None}, "give a whole number"),
    ({"bins": 7}, "bins is 7 but binning is 'mdl'"),
    ({"binning": "kmeans"}, "binning is 'kmeans'; give 'mdl', 'uniform', 'quantile' or"),
    ({"binning": {"a": "mdl", "*": "x"}}, "binning is 'x'; give"),
    ({"binning": ["mdl"]}, r"binning is \['mdl'\]; give"),
    ({"binning": {"z": "mdl"}}, "binning names the column 'z', which is not among a, b, y"),
    ({"ignore": ["b", "z"]}, "ignore names the column 'z', which is not among a, b, y"),
    ({"keep": ["z"]}, "keep names the column 'z'"),
    ({"domains": {"z": ["u"]}}, "domains names the column 'z'"),
    ({"domains": {"a": "xyz"}}, "give a list of values"),
    ({"ignore": ["a", "b"]}, "no column besides the label"),
    ({"missing": ("?",), "missing_only": ("x",)}, "give missing to add to the usual"),
    ({"unlabelled": "keep"}, "unlabelled is 'keep'; give 'refuse', or 'drop'"),
)


def test_numbered_columns() -> None:
    """Columns that a library numbers are named by those numbers; so are those of an array."""
    index = CountIndex.from_table(pd.DataFrame([[1, "u", "p"], [2, "v", "q"]]), "2")
    assert index.features == ("0", "1")
    assert CountIndex.from_table({0: [1, 2], 1: ["u", "v"], 2: ["p", "q"]}, "2") == index
    with pytest.raises(NullproofError, match=r"no column 2 in the table; did you mean '2'\?"):
        CountIndex.from_table(pd.DataFrame([[1, 2, 3]]), 2)  # type: ignore[arg-type]
    array = CountIndex.from_table(np.array([["u", "1"], ["v", "2"]]), "x1")
    assert (array.features, array.labels) == (("x0",), ("1", "2"))
