"""An index that is changed, added, saved and loaded is the index of the table that is meant.

``NULLPROOF_STEPS`` sets how many chains of changes are tried.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support.index_view import counts, left_out, quietly, saved_and_loaded
from support.refusing import refuses

from nullproof import CountIndex, NullproofError, poison

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")
ROWS: list[tuple[Any, ...]] = [("a", None), ("a", "x"), ("b", {"x", "y"}), ("b", "y")]
LABELS = ["yes", "yes", "no", "no"]


def small_index() -> CountIndex:
    return CountIndex.from_rows(ROWS, LABELS, domains={"x1": ["z"]})


# Any chain of changes -----------------------------------------------------------------------------

# The last column has one value, so its missing cells are no choice.
DOMAINS = {"colour": ("blue", "green", "red"), "size": ("l", "m", "s", "xl"), "same": ("x",)}
NAMES = [*DOMAINS]
BOTH = ("no", "yes")
Cell = str | frozenset[str] | None
Row = tuple[Cell, ...]


def cells_of(name: str) -> st.SearchStrategy[Cell]:
    domain = DOMAINS[name]
    some: st.SearchStrategy[Cell] = st.sampled_from(domain) | st.none()
    if len(domain) > 2:
        several = st.sets(st.sampled_from(domain), min_size=2, max_size=len(domain) - 1)
        some |= several.map(frozenset)
    return some


SOME_ROWS = st.lists(
    st.tuples(st.tuples(*map(cells_of, NAMES)), st.sampled_from(BOTH)), min_size=1, max_size=3
)


class IndexSteps(RuleBasedStateMachine):
    """The rows as plain tuples beside the index that was only ever changed."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[Row, str]] = []

    def counted(self, rows: list[tuple[Row, str]]) -> CountIndex:
        cells, labels = zip(*rows, strict=True)
        return CountIndex.from_rows(cells, labels, like=self.empty)

    @initialize(rows=SOME_ROWS)
    def start(self, rows: list[tuple[Row, str]]) -> None:
        self.rows = [*(((None,) * len(NAMES), label) for label in BOTH), *rows]
        cells, labels = zip(*self.rows, strict=True)
        self.index = self.empty = CountIndex.from_rows(
            cells, labels, features=NAMES, domains=DOMAINS
        )

    @rule(rows=SOME_ROWS)
    def add(self, rows: list[tuple[Row, str]]) -> None:
        self.index = self.index + self.counted(rows)
        self.rows += rows

    @precondition(lambda self: self.rows)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        row, label = self.rows.pop(data.draw(st.integers(0, len(self.rows) - 1)))
        self.index = self.index - self.counted([(row, label)])

    @rule(rows=SOME_ROWS)
    def remove_what_is_not_there(self, rows: list[tuple[Row, str]]) -> None:
        held = Counter(self.cells())
        row, label = rows[0]
        if all(held[label, name, cell] for name, cell in zip(NAMES, row, strict=True)):
            return
        with pytest.raises(NullproofError, match="is not counted with that label"):
            self.index - self.counted([(row, label)])

    @rule()
    def save_and_load(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.index = saved_and_loaded(self.index, Path(folder))

    @invariant()
    def is_counted_again(self) -> None:
        if not hasattr(self, "index"):
            return
        assert self.index.n_rows == len(self.rows)
        if self.rows:
            assert self.index == self.counted(self.rows)
        found = Counter(self.cells())
        for j, (name, domain) in enumerate(DOMAINS.items()):
            low, high = self.index.low(j), self.index.high(j)
            for v, value in enumerate(domain):
                for i, label in enumerate(BOTH):
                    own = {c: n for (at, of, c), n in found.items() if (at, of) == (label, name)}
                    forced = own.get(value, 0) + (own.get(None, 0) if len(domain) == 1 else 0)
                    may = sum(n for cell, n in own.items() if _may_hold(cell, value))
                    assert (low[v, i], high[v, i]) == (forced, may)

    def cells(self) -> list[tuple[str, str, Cell]]:
        return [
            (label, name, cell)
            for row, label in self.rows
            for name, cell in zip(NAMES, row, strict=True)
        ]


def _may_hold(cell: Cell, value: str) -> bool:
    return cell is None or value == cell or (isinstance(cell, frozenset) and value in cell)


TestIndexSteps = IndexSteps.TestCase
TestIndexSteps.settings = settings(
    max_examples=int(os.environ.get("NULLPROOF_STEPS", "20")), stateful_step_count=25, deadline=None
)


# Changes one by one -------------------------------------------------------------------------------


def test_parts_of_a_table_are_added_and_taken_away() -> None:
    """Parts of a data frame are counted with the bins of the whole, and leave both as they are."""
    table = pl.DataFrame(
        {"age": [1.0, 2.0, None, 9.0], "c": ["u", "v", "u", "v"], "label": [1, 2, 1, 2]}
    )
    whole = CountIndex.from_table(table, "label")
    first, second = (
        CountIndex.from_table(own, "label", like=whole) for own in (table[:2], table[2:])
    )
    assert first + second == whole
    assert whole - first == second
    assert whole - second == first
    assert (whole - whole).n_rows == 0
    with pytest.raises(TypeError, match="unsupported operand"):
        whole - 1


def more(index: CountIndex, rows: list[Any], labels: list[Any]) -> CountIndex:
    return CountIndex.from_rows(rows, labels, like=index)


test_what_cannot_be_changed_is_told = refuses(
    "Values, labels and cells that the index does not have are named.",
    lambda change: change(small_index()),
    (lambda i: i + more(i, [("new", "x")], ["yes"]), "'x0' holds a value in row 0 that is not in"),
    (lambda i: i + more(i, [("a", {"x", "new"})], ["yes"]), "'x1' holds a value in row 0"),
    (lambda i: i + more(i, [("a", "x"), ("c", "x")], ["yes"] * 2), "'x0' holds a value in row 1"),
    (lambda i: i + more(i, [("a", "x")], ["new"]), "holds 'new', which the given index does not"),
    (lambda i: i + more(i, [("a", "x")], ["yes", "no"]), "1 rows but 2 labels"),
    (lambda i: i - more(i, [("b", "x")], ["yes"]), "a cell in column 'x0' that is not counted"),
    (lambda i: i - more(i, [("a", {"y", "z"})], ["yes"]), "a cell in column 'x1'"),
    (lambda i: i - more(i, [("a", None)] * 2, ["yes"] * 2), "a cell in column 'x1'"),
    (lambda i: i - CountIndex.from_rows(ROWS, LABELS), "differ in labels, features or domains"),
)


def test_no_more_cells_can_be_blanked_than_there_are() -> None:
    """All cells of a kind may be blanked, or none; what is left is checked where attacks are."""
    index = CountIndex.from_rows([("u",), ("u",), ("v",), ("v",)], list("ppqq"))
    (one, *_) = poison(index, [("u",)]).blanks
    everything = index.blanked([replace(one, n_cells=2)])
    assert everything.exact(one.feature)[one.candidates[0], one.label] == 0
    assert index.blanked([]) == index.blanked([replace(one, n_cells=0)]) == index
    for wrong in (3, 2**40):
        with pytest.raises(NullproofError, match="blank no more than are counted"):
            index.blanked([replace(one, n_cells=wrong)])


# Adding and comparing -----------------------------------------------------------------------------


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
        (["u", "v", "w"], "ppr"),
        (["u", "v", "z"], "ppq"),
    ]
    made = [
        CountIndex.from_rows([(cell,) for cell in cells], labels, domains=domains)
        for cells, labels in tables
    ]
    for a, one in enumerate(made):
        assert [b for b, other in enumerate(made) if one == other] == [a]
    for other in (*made[-2:], CountIndex.from_rows([("u", 1), ("v", 1)], "pq")):
        with pytest.raises(NullproofError, match="differ in labels, features or domains"):
            made[0] + other
    with pytest.raises(TypeError):
        made[0] + 1
    assert made[0] != "index"
    with pytest.raises(TypeError):
        hash(made[0])


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (
            {"a": ["u", "w"], "y": ["p", "q"]},
            "'a' holds a value in row 1 that is not in its domain",
        ),
        ({"a": ["u", "v"], "y": ["p", "r"]}, "label column holds 'r', which the given index does"),
        ({"b": ["u", "v"], "y": ["p", "q"]}, "there is no column 'a' in the table"),
        ({"a": ["u", None], "y": ["p", None]}, "has 1 missing label"),
    ],
)
def test_parts_must_fit_the_index_they_are_like(table: Any, reason: str) -> None:
    """A part has the columns, values and labels of the index it is counted like."""
    index = CountIndex.from_table({"a": ["u", "v"], "y": ["p", "q"]}, "y")
    with pytest.raises(NullproofError, match=reason):
        CountIndex.from_table(table, "y", like=index)
    for rows in ([("u",), (["u", "w"],)], [(["u", "v"],), (["w"],)]):
        with pytest.raises(NullproofError, match="'a' holds a value in row 1"):
            CountIndex.from_rows(rows, "pq", like=index)
    options: tuple[dict[str, Any], ...] = (
        {"missing_only": ("x",)},
        {"keep": "a"},
        {"binning": "none"},
    )
    for option in options:
        with pytest.raises(NullproofError, match=f"{next(iter(option))} is given together with"):
            CountIndex.from_table(table, "y", like=index, **option)
    with pytest.raises(NullproofError, match="keep is given together with like"):
        CountIndex.from_rows([("u",)], ["p"], like=index, keep=("a",))


def test_parts_take_over_kinds_bins_and_spellings(tmp_path: Path) -> None:
    """A part from a file is read with the kinds and spellings of missing of the index."""
    part = tmp_path / "part.csv"
    texts = {"a": ["01", "1", "x"], "b": [0, 10, 5], "y": [0, 1, 1]}
    index = CountIndex.from_table(texts, "y", bins=2, binning="uniform")
    part.write_text("b,y,a\n3,0,01\n99,1,1\n")
    counted = CountIndex.from_table(part, "y", like=index)
    assert counts(counted, "a") == {"01": [1, 0], "1": [0, 1], "x": [0, 0], None: [0, 0]}
    assert [*counts(counted, "b").values()] == [[1, 0], [0, 1], [0, 0]]
    named = CountIndex.from_table({**texts, "a": ["1", "??", "2"]}, "y", missing=("??",))
    part.write_text("b,y,a\n3,0,??\n")
    assert CountIndex.from_table(part, "y", like=named).n_missing == 1
    # What is counted as text is read as text again: an attack and a world find "01" in the file.
    codes, labels = ["01"] * 6 + ["02"] * 3 + ["01"] + ["02"] * 5, ["yes"] * 9 + ["no"] * 6
    frame = pl.DataFrame({"code": codes, "y": labels})
    frame.write_csv(part)
    like = CountIndex.from_table(part, "y", like=CountIndex.from_table(frame, "y"))
    attack = poison(like, [("01",)], alpha=1)
    assert len(attack.cells(part)) == attack.n_cells > 0
    assert CountIndex.from_table(attack.apply(part), "y", like=like) == attack.index_after


# On disk ------------------------------------------------------------------------------------------


def odd_index() -> CountIndex:
    rows = [("a", None), ("a", "x"), ('b\n"ü"', {"x", "y"}), ("null", "y")]
    return CountIndex.from_rows(rows, LABELS, domains={"x1": ["", "z"]}, missing=("?",))


def test_everything_comes_back(tmp_path: Path) -> None:
    """Bins, dates, booleans, declared values, odd texts, sets, spellings of missing and label types."""
    frame = pl.DataFrame(
        {
            "number": [1.5, None, 3.25, float("inf")],
            "day": pl.Series(["2024-01-01", "2024-02-01", None, "2024-03-01"]).str.to_date(),
            "flag": [True, False, None, True],
            "label": [1, 2, 2, 1],
        }
    )
    huge = CountIndex.from_codes(np.array([[0, 3], [2_499_999, -1]]), "pq", n_values=[2_500_000, 4])
    for before in (odd_index(), CountIndex.from_table(frame, "label"), huge):
        after = saved_and_loaded(before, tmp_path)
        assert after == before
        assert after.schema == before.schema
        assert [type(label) for label in after.labels] == [type(label) for label in before.labels]
    named = quietly(frame.with_columns(id=pl.Series([f"row {k}" for k in range(4)])), "label")
    assert left_out(saved_and_loaded(named, tmp_path)) == left_out(named)


def test_texts_that_look_like_the_file_come_back(tmp_path: Path) -> None:
    """Values, labels and names may hold anything: line ends, the first line of a file."""
    path = tmp_path / "[a]*.index"
    odd_index().save(path)
    marks = [path.read_bytes().split(b"\n")[0].decode() + "\n", "u\n"]
    before = CountIndex.from_rows(
        [(mark, None) for mark in marks], marks, features=marks, missing=["x" + marks[1]]
    )
    before.save(path)
    assert CountIndex.load(path) == before


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (1, "has format 1 .* count the table again"),
        # Its records of columns had no texts that were taken as missing.
        (7, "has format 7 .* count the table again"),
        (9, "install a newer nullproof"),
    ],
)
def test_other_formats_are_refused(tmp_path: Path, version: int, said: str) -> None:
    """A whole file of another version of the format says what to do."""
    path = tmp_path / "a.index"
    odd_index().save(path)
    raw = path.read_bytes()
    path.write_bytes(re.sub(rb"^nullproof index \d", b"nullproof index %d" % version, raw))
    with pytest.raises(NullproofError, match=said):
        CountIndex.load(path)


def test_other_files_are_no_index(tmp_path: Path) -> None:
    """A missing file, a text, a plain Parquet file, a folder, a pipe and impossible paths are refused."""
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "a.parquet")
    for name in ("none.index", "a.csv", "a.parquet"):
        with pytest.raises(NullproofError, match="index"):
            CountIndex.load(tmp_path / name)
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", "a\0b", "", tmp_path / ("x" * 5000)):
        with pytest.raises(NullproofError):
            CountIndex.load(path)


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    """What cannot be written is refused, the file of before is still whole and nothing else is left."""
    path = tmp_path / "a.index"
    odd_index().save(path)
    with pytest.raises(NullproofError):
        odd_index().save(tmp_path / "no" / "such.index")
    assert CountIndex.load(path) == odd_index()
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.index"]
