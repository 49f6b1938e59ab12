"""What users are told about dirty tables: what was taken or left out, what is odd, and the way out."""

from __future__ import annotations

import datetime as dt
import gzip
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from support.index_view import kind, left_out, notices, quietly, read, saved_and_loaded

from nullproof import CountIndex, NullproofError, NullproofWarning


def one(table: Any, *parts: str, **options: Any) -> str:
    """The only notice of a table, which has these parts."""
    (said,) = notices(table, **options)
    for part in parts:
        assert part in said, (part, said)
    assert "\n" not in said
    return said


def forms(table: dict[str, Any]) -> list[Any]:
    return [table, pd.DataFrame(table), pl.DataFrame(table), pl.DataFrame(table).lazy()]


# Spellings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("spelling", ["?", "NA", "n/a", "none", "-", "."])
@pytest.mark.parametrize("others", [["1", "2"], ["u", "v"]])
def test_what_was_taken_as_missing_is_told(
    spelling: str, others: list[str], tmp_path: Path
) -> None:
    """One line names what was taken in which columns, and how to keep it; naming it silences that.

    A saved index lists it too.
    """
    table = {"a": [*others, spelling], "b": [spelling, *others], "y": list("ppq")}
    for form in forms(table):
        one(form, f"{spelling!r} in 'a', 'b'", "taken as missing", "--missing-only")
        columns = saved_and_loaded(quietly(form), tmp_path).columns
        assert columns["a"].taken_as_missing == columns["b"].taken_as_missing == (spelling,)
        assert columns.document()[0]["taken_as_missing"] == [spelling]
        assert columns.to_frame()["taken_as_missing"].to_list() == [spelling, spelling, None]
        assert f"{spelling} taken as missing" in repr(columns)
    for options in ({"missing": spelling}, {"missing_only": (spelling,)}, {"missing_only": ()}):
        assert notices(table, **options) == []


@pytest.mark.parametrize("packed", [False, True])
def test_what_a_reader_of_files_made_null_is_told(tmp_path: Path, packed: bool) -> None:
    """Spellings in files are told too, by polars and by DuckDB; empty cells are not."""
    written = "a,b,c,y\n1,u,7,p\n?,NA,,q\n3,v,9,q\n"
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(written.encode()) if packed else written.encode())
    for options in ({}, {"memory_limit": "200MB"}):
        said = one(path, "'?' in 'a'", "'NA' in 'b'", "taken as missing", **options)
        assert "'c'" not in said
    assert notices(path, missing_only=("?", "NA")) == []
    assert notices({"a": ["u", "", " ", None], "y": list("ppqq")}) == []


@pytest.mark.parametrize(
    "spelling", ["unknown", "Unknown", "missing", "??", "--", "nil", "none", "-", "."]
)
def test_other_likely_spellings_are_told(spelling: str) -> None:
    """What often means missing but is a value there stays one, with a notice."""
    other = "u" if spelling in ("none", "-", ".") else "v"
    table = {"a": ["u", other, spelling], "y": list("ppq")}
    one(table, f"{spelling!r} in 'a' may mean missing", f'--missing "{spelling}"')
    assert notices(table, missing=(spelling,)) == []


# Numbers ------------------------------------------------------------------------------------------

RNG = random.Random(36)
# Columns, and the numbers in them that may mean missing: of nines, far from the others or often at an end.
SENTINELS: dict[str, tuple[list[Any], list[str]]] = {
    **{f"lone {x}": ([1.0, 2.0, 3.5, x], [f"{x:.0f}"]) for x in (-999.0, 999.0, 99.0, 9999999.0)},
    **{f"negative {x}": ([0, 50, 120, x, x] * 1000, [f"{x}"]) for x in (-9, -99)},
    "often": ([-200 if k % 10 == 0 else 600 + 7 * (k % 200) for k in range(400)], ["-200"]),
    "codes": ([RNG.choice([1, 2, 97, 98, 99]) for _ in range(400)], ["97", "98", "99"]),
    "far": ([9999 if k % 50 == 0 else k % 90 for k in range(400)], ["9999"]),
    "near": ([97, 98, 99, 20], []),
    "both ends": ([-99, -50, 0, 99], []),
    "other negatives": ([-9, -8, 4, 5], []),
    "small": ([9, 100, 200, 300], []),
    "alone": ([999, 999, 999, 999], []),
    "no nines": ([1, 2, 3, 1000], []),
    "infinite": ([math.inf, 1, 2, 3], []),
    "wide": ([0.5, 50_000.5, 120_000.5, -8999.5] * 1000, []),
    "plain": ([k % 90 for k in range(400)], []),
    "signs": ([RNG.choice([-1, 0, 1]) for _ in range(400)], []),
    "skewed": ([round(RNG.lognormvariate(0, 2), 2) for _ in range(400)], []),
}


@pytest.mark.parametrize("name", SENTINELS)
def test_numbers_that_may_mean_missing_are_told_and_never_taken(name: str) -> None:
    """What stands apart is named with its column, in memory and lazily; ordinary numbers are not."""
    cells, named = SENTINELS[name]
    columns: dict[str, Any] = {"a": pl.Series(cells, strict=False), "b": ["u"] * len(cells)}
    frame = pl.DataFrame({**columns, "y": ["pq"[k % 2] for k in range(len(cells))]})
    for form in (frame, frame.to_pandas(), *[frame.lazy()] * name.startswith("negative")):
        found = [said for said in notices(form, binning="uniform") if "may mean missing" in said]
        assert bool(found) == bool(named)
        assert all(f"'{number}' in 'a'" in found[0] for number in named)
        assert quietly(form).n_missing == 0


@pytest.mark.parametrize(
    "cells",
    [
        ["x", "nonexistent", "a-b", "q?"],
        [True, False, True, None],
        [dt.date(1999, 9, 9), dt.date(2020, 1, 1), None, None],
        pd.Categorical(["u", "v", "u", "v"], categories=["unknown", "u", "v"]),
    ],
)
def test_ordinary_columns_raise_no_alarm(cells: Any) -> None:
    """Ordinary data gives no notice, nor do declared values that no cell holds."""
    assert notices(pd.DataFrame({"a": cells, "y": list("ppqq")})) == []


# Columns that are left out ------------------------------------------------------------------------


@pytest.mark.parametrize("empty", [None, float("nan"), pd.NA, pd.NaT])
def test_a_column_without_known_values_is_left_out(empty: Any) -> None:
    """A column that knows nothing is left out, with a notice, in every library."""
    frame = pd.DataFrame({"a": [1, 2], "b": [empty, empty], "y": ["p", "q"]})
    polars, arrow = pl.from_pandas(frame), pa.Table.from_pandas(frame, preserve_index=False)
    for table in (frame, polars, arrow):
        one(table, "left out, since they have no known values: 'b'")
        assert quietly(table).features == ("a",)
    assert quietly(frame, domains={"b": ["5"]}).features == ("a", "b")


def table_of(n_rows: int, **columns: Any) -> pl.DataFrame:
    """A table with a feature, a label that says nothing, and further columns."""
    cells = {"f": ["u", "v", "w"] * n_rows, "y": ["p", "q"] * n_rows}
    return pl.DataFrame({**{name: c[:n_rows] for name, c in cells.items()}, **columns})


NAMES = [f"id {k}" for k in range(40)]
SERIAL = [*range(7, 47)]
# Whether the column names the rows, today and later. What else may be left out is not listed.
NAMING: dict[str, tuple[list[Any], bool]] = {
    "names": (NAMES, True),
    "names with holes": ([*NAMES[:21], *[None] * 19], True),
    "few names": ([*NAMES[:20], *[None] * 20], False),
    "half of them": ([*NAMES[:20]] * 2, False),
    "more than half": ([*NAMES[:21], *NAMES[:19]], True),
    "serial numbers": (SERIAL, True),
    "backwards": (SERIAL[::-1], True),
    "whole floats": ([float(k) for k in SERIAL], True),
    "twice the same": ([*SERIAL[:38], 46, 46], False),
    "not whole": ([*map(float, SERIAL[:38]), 45.5, 46.0], False),
    "dates": ([dt.date(2020, 1, 1) + dt.timedelta(k) for k in range(40)], False),
    "nearly true": ([True, False] * 20, False),
}


@pytest.mark.parametrize("binning", ["uniform", "none", "mdl"])
def test_columns_that_name_rows_are_left_out(binning: str, tmp_path: Path) -> None:
    """Names and numbers of the rows are left out in memory, by engines and from files, unless kept."""
    table = table_of(40, **{name: cells for name, (cells, _) in NAMING.items()})
    table.write_csv(tmp_path / "t.csv")
    table.write_parquet(tmp_path / "t.parquet")
    naming = tuple(name for name, (_, names_rows) in NAMING.items() if names_rows)
    ways: list[tuple[Any, dict[str, Any]]] = [
        (table, {}),
        (table.to_pandas(), {}),
        (table.lazy(), {}),
        (tmp_path / "t.csv", {}),
        (tmp_path / "t.csv", {"memory_limit": "200MB"}),
        (tmp_path / "t.parquet", {"memory_limit": "200MB"}),
    ]
    for source, limit in ways:
        options = {"binning": binning, **limit}
        said = [
            text
            for text in notices(source, **options)
            if "names the rows" in text.replace("they name", "names")
        ]
        assert len(said) == 1
        assert "--keep" in said[0]
        index, kept = (quietly(source, keep=keep, **options) for keep in ((), naming))
        assert index.features == tuple(name for name in kept.features if name not in naming)
        assert {*left_out(index)} == {*naming}
        assert kept.features == ("f", *NAMING)
        assert left_out(kept) == ()


def test_the_column_that_names_rows_is_told_and_remembered(tmp_path: Path) -> None:
    """The notice has the words to keep the column; points and chunks need not have it."""
    table = table_of(40, a=NAMES)
    one(table, "names the rows: 'a'", 'keep=("a",) or --keep "a"')
    index = quietly(table)
    assert left_out(saved_and_loaded(index, tmp_path)) == ("a",)
    assert CountIndex.from_table(table, "y", like=index) == index
    assert read(index, table.drop("a")) == read(index, table)
    for declared in (
        quietly(table, domains={"a": NAMES}),
        quietly(table_of(40, a=pl.Series(NAMES, dtype=pl.Enum(NAMES)))),
    ):
        assert declared.features == ("f", "a")
    for frame in (table.drop("f"), table.drop("f").lazy()):
        with pytest.raises(
            NullproofError, match=r"'a' would be left out because they name.*--keep"
        ):
            CountIndex.from_table(frame, "y")
    with pytest.raises(NullproofError, match="keep names the column 'b', which is not among f, y"):
        CountIndex.from_table(table, "y", keep=["b"])


def test_a_wide_range_is_asked_of_the_engine() -> None:
    """Numbers of more rows than are counted by value are left out by engines as in memory."""
    n_rows = 3000
    ids = np.random.default_rng(0).permutation(n_rows) + 10**6
    almost = np.where(ids == ids.max(), ids.min(), ids)
    table = table_of(n_rows, a=ids, b=almost, d=ids.astype(np.float64))
    for form in (table, table.lazy()):
        one(form, "'a', 'd'", "name the rows")
    assert quietly(table.lazy()) == quietly(table)
    assert quietly(table).features == ("f", "b")


# Texts that should be numbers or dates, and spellings alike ---------------------------------------


def test_one_text_among_numbers_is_told(tmp_path: Path) -> None:
    """It makes the column text, on every way in; naming it makes the column numbers."""
    cells = [*(str(k % 40 / 4) for k in range(119)), "unbekannt"]
    table = {"a": cells, "y": list("pq") * 60}
    pl.DataFrame(table).write_csv(tmp_path / "t.csv")
    for way in (tmp_path / "t.csv", *forms(table)):
        one(way, "'unbekannt' in 'a'", "text", 'missing=("unbekannt",) or --missing "unbekannt"')
        index = quietly(way, missing=("unbekannt",), binning="uniform")
        assert kind(index) == "number"
    one(tmp_path / "t.csv", "'unbekannt' in 'a'", memory_limit="200MB")
    few = {"a": [*map(str, range(9)), "3+", *"012345678", "3+"], "y": list("pq") * 10}
    assert not [text for text in notices(few) if "3+" in text]


def test_values_alike_are_told() -> None:
    """Labels that differ in case or spaces are named first, then such values, all in one sentence."""
    table: dict[str, Any] = {"a": ["u", "U", "v", "v "] * 3, "y": ["Yes", "yes", "no"] * 4}
    for form in forms(table):
        labels, values = notices(form)
        assert "labels in 'y'" in labels
        assert "'Yes', 'yes'" in labels
        assert "'U', 'u' in 'a'; 'v', 'v ' in 'a'" in values
    assert notices({"a": ["1", "2"] * 6, "y": [True, False] * 6}) == []
    assert notices({"a": ["a b", "ab", "a"] * 4, "y": list("pq") * 6}) == []


def test_notices_point_at_the_line_of_the_caller() -> None:
    """A warning names the user's file and line, not ours."""
    with pytest.warns(NullproofWarning, match="only in case") as caught:
        CountIndex.from_table({"a": ["u", "U"], "y": ["p", "q"]}, "y")
    assert [notice.filename for notice in caught] == [__file__]


# Holes that cannot matter, and labels -------------------------------------------------------------


def test_holes_that_cannot_matter_are_told() -> None:
    """Columns with missing cells that play no part are named, those with the most missing cells first."""
    alone = {"a": ["u", *[None] * 39], "b": ["v"] * 10 + [None] * 30}
    two = {"c": ["s", "t"] * 19 + [None] * 2}
    one(table_of(40, **alone, **two), "play no part: 'a' (one value, 97.5 % missing), 'b'")
    said = one(table_of(40, age=[20, 20, 30, 30] * 5 + [None] * 20), "'age' (one bin, 50.0 %")
    assert "--binning uniform" in said
    many = {f"d{j}": ["s", "t"] * 10 + [None] * 20 for j in range(2)}
    assert notices(table_of(40, a=["u"] * 36 + [None] * 4, **many)) == []
    assert notices(table_of(20, a=["u"] + [None] * 19)) == []


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["p"] * 120, "has one class, 'p'"),
        ([f"l{k % 51}" for k in range(120)], "has 51 classes"),
        ([k % 60 for k in range(120)], "has 60 classes"),
        ([f"l{k % 50}" for k in range(120)], None),
        ([k % 12 for k in range(120)], None),
    ],
)
def test_labels_that_are_no_classes_are_told(labels: list[Any], said: str | None) -> None:
    """One class and many classes get a sentence with what to do."""
    found = notices(pl.DataFrame({"a": ["u", "v"] * 60, "y": labels}))
    assert len(found) == (said is not None)
    assert all("'y'" in notice and said in notice for notice in found if said)
