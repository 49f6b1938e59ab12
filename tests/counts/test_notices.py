"""Notices: what was taken as missing or left out, what may be odd, and how to have it otherwise."""

from __future__ import annotations

import datetime as dt
import gzip
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from nullproof import CountIndex, NullproofError, NullproofWarning, poison
from nullproof.counts.notices import standing
from nullproof.tables.readers import open_table

TAKEN = (
    "taken as missing; if {}, name what is missing instead: missing_only=(…) or --missing-only TEXT"
)


def notices(table: Any, **options: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CountIndex.from_table(table, "y", **options)
    return [str(notice.message) for notice in caught]


# Spellings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("spelling", ["?", "NA", "n/a", "none", "-", "."])
@pytest.mark.parametrize("others", [["1", "2"], ["u", "v"]])
def test_what_was_taken_as_missing_is_told(spelling: str, others: list[str]) -> None:
    """One line names what was taken in which columns, and how to keep it; naming it silences that."""
    table = {"a": [*others, spelling], "b": [spelling, *others], "y": list("ppq")}
    said = f"{spelling!r} in 'a', 'b' was {TAKEN.format('it is a value')}"
    for frame in (table, pd.DataFrame(table), pl.DataFrame(table), pl.DataFrame(table).lazy()):
        assert notices(frame) == [said]
    assert notices(table, missing=(spelling,)) == []
    assert notices(table, missing_only=(spelling,)) == []
    assert notices(table, missing_only=()) == []


def test_several_spellings_and_columns_share_a_line() -> None:
    """All that was taken shares one notice; of many columns the first are named."""
    table = {f"c{j}": ["?", "x", "z", "NA"] for j in range(7)}
    (notice,) = notices({**table, "y": list("ppqq")})
    assert notice == (
        "'?' in 'c0', 'c1', 'c2' and 4 more and 'NA' in 'c0', 'c1', 'c2' and 4 more were "
        + TAKEN.format("they are values")
    )


def test_empty_cells_are_not_told(tmp_path: Path) -> None:
    """An empty cell is missing to everybody."""
    assert notices({"a": ["u", "", " ", None], "y": list("ppqq")}) == []
    (tmp_path / "t.csv").write_text("a,y\nu,p\n,q\n")
    assert notices(tmp_path / "t.csv") == []


@pytest.mark.parametrize("packed", [False, True])
def test_what_a_reader_of_files_made_null_is_told(tmp_path: Path, packed: bool) -> None:
    """Spellings in files are told too, in columns of numbers and of texts, by polars and by DuckDB."""
    written = "a,b,c,y\n1,u,7,p\n?,NA,8,q\n3,v,9,q\n"
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(written.encode()) if packed else written.encode())
    said = ["'?' in 'a' and 'NA' in 'b' were " + TAKEN.format("they are values")]
    assert notices(path) == said
    assert notices(path, memory_limit="200MB") == said
    assert notices(path, missing_only=("?", "NA")) == []


def test_what_cannot_be_read_again_is_not_told(tmp_path: Path) -> None:
    """If the file has changed since, or is gone, counting goes on without its texts."""
    path = tmp_path / "t.csv"
    for after in ("b,c\n1,2\n", "", 'a,y\n"1', None):
        path.write_text("a,y\n1,p\nNA,q\n")
        table = open_table(path, as_text=["y"])
        path.unlink() if after is None else path.write_text(after)
        assert notices(table) == []


@pytest.mark.parametrize("spelling", ["none", "-", "."])
def test_doubtful_spellings_that_are_values_are_told(spelling: str) -> None:
    """Where a doubtful spelling is a value, one line says so, and how to make it missing."""
    table = {"a": ["u", spelling, "u"], "y": list("ppq")}
    assert notices(table) == [
        f"{spelling!r} in 'a' was taken as a value; if missing, name it: "
        f'missing=("{spelling}",) or --missing "{spelling}"'
    ]
    assert notices(table, missing=(spelling,)) == []


@pytest.mark.parametrize("spelling", ["unknown", "Unknown", "missing", "??", "--", "nil"])
def test_other_likely_spellings_are_told(spelling: str) -> None:
    """What often means missing but is no usual spelling stays a value, with a notice."""
    (notice,) = notices({"a": ["u", "v", spelling], "y": list("ppq")})
    assert notice == (
        f"{spelling!r} in 'a' may mean missing; if so, name it: "
        f'missing=("{spelling}",) or --missing "{spelling}"'
    )


@pytest.mark.parametrize("only", [False, True])
def test_spellings_in_one_text_get_a_hint(only: bool) -> None:
    """A named spelling with a comma that no cell holds is likely several."""
    table = {"a": ["u", "v", "w"], "y": list("ppq")}
    option, flag = ("missing_only", "--missing-only") if only else ("missing", "--missing")
    assert notices(table, **{option: "?,NA"}) == [
        "no cell is spelled '?,NA'; if these are several spellings, give each on its own: "
        f'{option}=("?", "NA") or {flag} "?" {flag} "NA"'
    ]
    assert notices({**table, "a": ["u", "?,NA", "w"]}, **{option: "?,NA"}) == []


# Numbers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extreme", [-999, -9999, 999, 99, -99.0, 9999999])
def test_lone_extremes_are_told(extreme: float) -> None:
    """A number of nines far from all others is a likely spelling of missing."""
    (notice,) = notices({"a": [1, 2, 3.5, extreme], "y": list("ppqq")})
    assert f'missing=("{int(extreme)}",)' in notice


@pytest.mark.parametrize("extreme", [-9, -99])
def test_an_only_negative_number_is_told(extreme: int) -> None:
    """A negative number of nines among numbers that are not negative is told, however near it is."""
    cells = [0, 50, 120, extreme, extreme]
    table = pl.DataFrame({"a": cells * 1000, "y": list("ppqqq") * 1000})
    for frame in (table, table.lazy(), table.with_columns(pl.col("a") * 1000 + 0.5)):
        told = notices(frame, binning="uniform")
        assert len(told) == (frame.collect_schema()["a"] == pl.Int64)
        assert all(f"'{extreme}' in 'a' may mean missing" in notice for notice in told)


@pytest.mark.parametrize(
    "cells",
    [
        [97, 98, 99, 20],
        [-99, -50, 0, 99],
        [-9, -8, 4, 5],
        [9, 100, 200, 300],
        [999, 999, 999, 999],
        [1, 2, 3, 1000],
        [float("inf"), 1, 2, 3],
        ["x", "nonexistent", "a-b", "q?"],
        [True, False, True, None],
        [dt.date(1999, 9, 9), dt.date(2020, 1, 1), None, None],
    ],
)
def test_ordinary_columns_raise_no_alarm(cells: list[Any]) -> None:
    """Ordinary data gives no notice."""
    assert notices({"a": cells, "y": list("ppqq")}) == []


def test_unused_declared_spellings_raise_no_alarm() -> None:
    """A declared category that no cell holds is no suspect."""
    cells = pd.Categorical(["u", "v"], categories=["?", "unknown", "u", "v"])
    assert notices(pd.DataFrame({"a": cells, "y": [0, 1]})) == []


# Columns ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("empty", [None, float("nan"), pd.NA, pd.NaT])
def test_a_column_without_known_values_is_left_out(empty: Any) -> None:
    """A column that knows nothing is left out, with a notice, in every library."""
    frame = pd.DataFrame({"a": [1, 2], "b": [empty, empty], "y": ["p", "q"]})
    polars, arrow = pl.from_pandas(frame), pa.Table.from_pandas(frame, preserve_index=False)
    for table in (frame, polars, arrow):
        with pytest.warns(NullproofWarning, match="left out for lack of any known value: 'b'"):
            assert CountIndex.from_table(table, "y").features == ("a",)


def table_of(n_rows: int, **columns: Any) -> pl.DataFrame:
    """A table with a feature, a label that says nothing, and further columns."""
    cells = {"f": ["u", "v", "w"] * n_rows, "y": ["p", "q"] * n_rows}
    return pl.DataFrame({**{name: c[:n_rows] for name, c in cells.items()}, **columns})


NAMES = [f"id {k}" for k in range(40)]
SERIAL = [*range(7, 47)]
NAMING: dict[str, tuple[list[Any], bool]] = {
    "names": (NAMES, True),
    "names with holes": ([*NAMES[:21], *[None] * 19], True),
    "few names": ([*NAMES[:20], *[None] * 20], False),
    "half of them": ([*NAMES[:20]] * 2, False),
    "more than half": ([*NAMES[:21], *NAMES[:19]], True),
    "serial numbers": (SERIAL, True),
    "backwards": (SERIAL[::-1], True),
    "whole floats": ([float(k) for k in SERIAL], True),
    "a hole": ([*SERIAL[:39], None], False),
    "a gap": ([*SERIAL[:39], 99], False),
    "twice the same": ([*SERIAL[:38], 46, 46], False),
    "not whole": ([*map(float, SERIAL[:38]), 45.5, 46.0], False),
    "beyond doubles": ([2**60 + k for k in range(40)], False),
    "dates": ([dt.date(2020, 1, 1) + dt.timedelta(k) for k in range(40)], False),
    "nearly true": ([True, False] * 20, False),
}


@pytest.mark.parametrize("binning", ["uniform", "none", "mdl"])
def test_columns_that_name_rows_are_left_out(binning: str, tmp_path: Path) -> None:
    """Names and numbers of the rows are left out in memory, by engines and from files, unless kept."""
    table = table_of(40, **{name: cells for name, (cells, _) in NAMING.items()})
    table.write_csv(tmp_path / "t.csv")
    table.write_parquet(tmp_path / "t.parquet")
    left_out = tuple(name for name, (_, names_rows) in NAMING.items() if names_rows)
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
        with pytest.warns(NullproofWarning) as said:
            index = CountIndex.from_table(source, "y", **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NullproofWarning)
            kept = CountIndex.from_table(source, "y", keep=left_out, **options)
        (told,) = [str(w.message) for w in said if "since they name the rows" in str(w.message)]
        assert f"and {len(left_out) - 3} more; to keep them: " in told
        assert index.features == tuple(name for name in kept.features if name not in left_out)
        assert index.schema.left_out == tuple(sorted(left_out))
        assert kept.features == ("f", *NAMING)
        assert kept.schema.left_out == ()


def test_the_one_column_that_names_rows_is_told() -> None:
    """The notice has the words to keep the column."""
    (notice,) = notices(table_of(40, a=NAMES))
    expected = "left out, since it names the rows: 'a'; to keep it: "
    assert notice == expected + 'keep=("a",) or --keep "a"'


def test_a_wide_range_is_asked_of_the_engine() -> None:
    """Numbers of more rows than are counted by value are left out by engines as in memory."""
    n_rows = 3000
    ids = np.random.default_rng(0).permutation(n_rows) + 10**6
    almost = np.where(ids == ids.max(), ids.min(), ids)
    halves = np.where(ids == ids.max() - 1, ids - 0.5, ids)
    table = table_of(n_rows, a=ids, b=almost, c=halves, d=ids.astype(np.float64))
    with pytest.warns(NullproofWarning, match="since they name the rows: 'a', 'd'; to keep them"):
        index = CountIndex.from_table(table.lazy(), "y")
    with pytest.warns(NullproofWarning, match="since they name the rows: 'a', 'd'; to keep them"):
        assert CountIndex.from_table(table, "y") == index
    assert index.features == ("f", "b", "c")


def test_left_out_columns_are_remembered(tmp_path: Path) -> None:
    """A saved index knows which columns were left out; points and chunks need not have them."""
    table = table_of(40, a=NAMES)
    with pytest.warns(NullproofWarning, match="names the rows"):
        index = CountIndex.from_table(table, "y")
    index.save(tmp_path / "i.index")
    assert CountIndex.load(tmp_path / "i.index").schema.left_out == ("a",)
    assert CountIndex.from_table(table, "y", like=index) == index
    assert index.encode(table.drop("a")).codes.shape == (1, 40)


def test_plain_rows_may_keep_the_column_that_was_left_out() -> None:
    """Rows without names are read with it or without it: points, further rows, attacks and arrays."""
    wide = [(name, "uv"[k % 2], "st"[k % 3 > 0]) for k, name in enumerate(NAMES)]
    narrow, labels = [row[1:] for row in wide], ["p" if k % 4 else "q" for k in range(40)]
    with pytest.warns(NullproofWarning, match="names the rows: 'x0'"):
        index = CountIndex.from_rows(wide, labels)
    assert index.features == ("x1", "x2")
    for rows in (wide, np.array(wide, dtype=object)):
        points = index.encode(rows)
        assert np.array_equal(points.codes, index.encode(narrow).codes)
        assert points.own(0, "x1", 3) == "v"
    assert CountIndex.from_rows(wide, labels, like=index) == index
    attack = poison(index, [wide[0]])
    assert attack.cells(wide, labels) == attack.cells(narrow, labels)
    assert [row[1:] for row in attack.apply(wide, labels)] == attack.apply(narrow, labels)
    wider = ("n", *wide[0])
    for strange in ([wider], np.array([wider], dtype=object)):
        with pytest.raises(NullproofError, match=r"(the index has|there are) 2 features"):
            index.encode(strange)


def test_rows_with_names_of_their_own_leave_the_column_out() -> None:
    """Names that are no places do not tell where the column stood."""
    wide = [(name, "uv"[k % 2]) for k, name in enumerate(NAMES)]
    with pytest.warns(NullproofWarning, match="names the rows: 'id'"):
        index = CountIndex.from_rows(wide, "pq" * 20, features=("id", "f"))
    assert index.encode([("u",)]).codes.tolist() == [[0]]
    with pytest.raises(NullproofError, match="row 0 has 2 values but there are 1 features"):
        index.encode(wide)


def test_declared_values_keep_a_column() -> None:
    """A column with declared values, by domains or by its type, is not left out."""
    with pytest.warns(NullproofWarning, match="'a' has 40 values in 40 rows"):
        declared = CountIndex.from_table(table_of(40, a=NAMES), "y", domains={"a": NAMES})
    assert declared.features == ("f", "a")
    enum = table_of(40, a=pl.Series(NAMES, dtype=pl.Enum(NAMES)))
    with pytest.warns(NullproofWarning, match="'a' has 40 values in 40 rows"):
        assert CountIndex.from_table(enum, "y").features == ("f", "a")


def test_columns_to_keep_must_be_there() -> None:
    """A misspelt column to keep is refused, and so is a table of which nothing would be left."""
    table = table_of(40, a=NAMES)
    with pytest.raises(NullproofError, match="keep names the column 'b', which is not among f, y"):
        CountIndex.from_table(table, "y", keep=["b"])
    with pytest.raises(NullproofError, match="keep names the column 'b', which is not among x0"):
        CountIndex.from_rows([("u",)], ["p"], keep=["b"])
    for frame in (table.drop("f"), table.drop("f").lazy()):
        with pytest.raises(
            NullproofError, match=r"'a' would be left out as names of the rows.*--keep"
        ):
            CountIndex.from_table(frame, "y")


# Texts that should be numbers or dates, and spellings alike ---------------------------------------


def test_one_text_among_numbers_is_told(tmp_path: Path) -> None:
    """It makes the column text, on every way in; naming it makes the column numbers."""
    cells = [*(str(k % 40 / 4) for k in range(119)), "unbekannt"]
    said = (
        "because of 'unbekannt' in 'a' that column counts as text, not as numbers or dates; if it means "
        'missing, name it: missing=("unbekannt",) or --missing "unbekannt"'
    )
    table = {"a": cells, "y": list("pq") * 60}
    pl.DataFrame(table).write_csv(tmp_path / "t.csv")
    for way in (tmp_path / "t.csv", table, pd.DataFrame(table), pl.DataFrame(table).lazy()):
        assert notices(way) == [said]
        index = CountIndex.from_table(way, "y", missing=("unbekannt",), binning="uniform")
        assert index.schema.features[0].kind == "number"
    assert notices(tmp_path / "t.csv", memory_limit="200MB") == [said]


def test_strays_share_a_line_and_are_told_of_left_out_columns(tmp_path: Path) -> None:
    """Decimal commas count as numbers; what only seems to name the rows is told to hold numbers."""
    lines = [f"{k},5;{k % 30};{'pq'[k % 2]}" for k in range(100)]
    lines[3:5] = ["k.A.;4;p", "7,5;12x;q"]
    (tmp_path / "t.csv").write_text("\n".join(["a;b;y", *lines]) + "\n", encoding="utf-8")
    assert notices(tmp_path / "t.csv") == [
        'left out, since it names the rows: \'a\'; to keep it: keep=("a",) or --keep "a"',
        "because of 'k.A.' in 'a' and '12x' in 'b' these columns count as text, not as numbers or dates; "
        'if they mean missing, name them: missing=("k.A.", "12x") or --missing "k.A." --missing "12x"',
    ]


def test_many_strays_are_cut_short() -> None:
    """Of more than four texts the first three are named."""
    cells = [*map(str, range(100)), *(f"x{k}" for k in range(5))] * 3
    (said,) = notices({"a": cells, "y": list("pqr") * 105})
    assert said.startswith(
        "because of 'x0' in 'a' and 'x1' in 'a' and 'x2' in 'a' and 2 more texts that"
    )


def test_amounts_as_texts_are_told(tmp_path: Path) -> None:
    """A data frame says that its dates and numbers are texts; in a file they are dates and numbers."""
    days = [f"2024-{1 + k // 28:02d}-{1 + k % 28:02d}" for k in range(112)]
    table = {
        "a": days,
        "b": days[:12] * 9 + days[:4],
        "c": [str(k % 40 / 4) for k in range(112)],
        "y": list("pq") * 56,
    }
    pl.DataFrame(table).write_csv(tmp_path / "t.csv")
    assert notices(tmp_path / "t.csv") == []
    for frame in (pd.DataFrame(table), pl.DataFrame(table).lazy()):
        left_out, *told = notices(frame)
        assert left_out.startswith("left out, since it names the rows: 'a'")
        assert told == [
            "'a', 'b' hold dates as texts, each a value of its own; give them a type of dates first, as "
            "pandas.to_datetime does",
            "'c' holds numbers as texts, each a value of its own; give it a type of numbers first, as "
            "pandas.to_numeric does, unless they are codes",
        ]
    assert notices(pd.DataFrame(table)[["c", "y"]], domains={"c": ["10"]}) == []


def test_values_alike_are_told(tmp_path: Path) -> None:
    """Labels and values that differ in case or spaces, of many groups the first three."""
    table = {"a": ["u", "U", "v", "v "] * 3, "y": ["Yes", "yes", "no"] * 4}
    said = (
        "'Yes', 'yes' in 'y'; 'U', 'u' in 'a'; 'v', 'v ' in 'a' differ only in case or spaces and count as "
        "different values; if they mean the same, write them alike"
    )
    for way in (table, pd.DataFrame(table), pl.DataFrame(table).lazy()):
        assert notices(way) == [said]
    table = {name: list("uUvV") for name in "abc"} | {"y": list("pqpq")}
    (said,) = notices(table)
    assert said.startswith("'U', 'u' in 'a'; 'V', 'v' in 'a'; 'U', 'u' in 'b' and 3 more differ")
    numbers = {"a": ["1", "2"] * 6, "y": [True, False] * 6}
    assert notices(numbers) == []


def test_what_is_odd_is_remembered(tmp_path: Path) -> None:
    """A saved index still tells of strays and of values alike, for reports."""
    cells = [*(str(k % 40) for k in range(119)), "unbekannt"]
    table = {"a": cells, "b": ["u", "U"] * 60, "y": list("pq") * 60}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        CountIndex.from_table(table, "y").save(tmp_path / "t.index")
    strays, same = standing(CountIndex.load(tmp_path / "t.index"))
    assert strays.startswith("because of 'unbekannt' in 'a' that column counts as text")
    assert same.startswith("'U', 'u' in 'b' differ only in case")


def test_notices_point_at_the_line_of_the_caller() -> None:
    """A warning names the user's file and line, not ours."""
    with pytest.warns(NullproofWarning, match="only in case") as caught:
        CountIndex.from_table({"a": ["u", "U"], "y": ["p", "q"]}, "y")
    assert [notice.filename for notice in caught] == [__file__]


# Holes that cannot matter, and labels -------------------------------------------------------------


def test_holes_that_cannot_matter_are_told() -> None:
    """Holes of columns with one value are told where they are half of all, the most holes first."""
    one = {"a": ["u", *[None] * 39], "b": ["v"] * 10 + [None] * 30}
    two = {"c": ["s", "t"] * 19 + [None] * 2}
    assert notices(table_of(40, **one, **two)) == [
        "69 of the 71 missing cells are in columns with one value or one bin, where they cannot "
        "matter: 'a', 'b'"
    ]
    (said,) = notices(table_of(40, age=[20, 20, 30, 30] * 5 + [None] * 20))
    assert said.startswith("all 20 missing cells are in columns with one value or one bin")
    assert said.endswith(
        "'age'; to cut numbers in any case: binning=\"uniform\" or --binning uniform"
    )
    many = {f"d{j}": ["s", "t"] * 10 + [None] * 20 for j in range(2)}
    assert notices(table_of(40, a=["u"] * 36 + [None] * 4, **many)) == []
    assert notices(table_of(40, a=["u"] * 40, **many)) == []
    assert notices(table_of(20, a=["u"] + [None] * 19)) == []


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (
            ["p"] * 120,
            "the label column 'y' has one class, 'p', so every prediction is certain; give",
        ),
        (
            [f"l{k % 51}" for k in range(120)],
            "the label column 'y' has 51 classes; join rare ones or",
        ),
        (
            [k % 60 for k in range(120)],
            "the label column 'y' has 60 classes; join rare ones or cut",
        ),
        (
            [k % 11 + 0.5 for k in range(120)],
            "the label column 'y' holds 11 different numbers with",
        ),
        ([str(k % 12 / 4) for k in range(120)], "'y' holds 12 different numbers with fractions"),
        ([f"l{k % 50}" for k in range(120)], None),
        ([k % 10 + 0.5 for k in range(120)], None),
        ([k % 12 for k in range(120)], None),
    ],
)
def test_labels_that_are_no_classes_are_told(labels: list[Any], said: str | None) -> None:
    """One class, many classes and numbers with fractions get a sentence with what to do."""
    found = notices(pl.DataFrame({"a": ["u", "v"] * 60, "y": labels}))
    assert len(found) == (said is not None)
    assert all(said in notice for notice in found if said)
