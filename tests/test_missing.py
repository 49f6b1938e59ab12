"""What means missing: spellings that are usual, in doubt or named; and rows without a label."""

from __future__ import annotations

import datetime as dt
import itertools
import random
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from support.checking import Options, none_of, wrong_counts
from support.index_view import UNSEEN, counts, kind, quietly, read, saved_and_loaded, values
from support.plain_counter import Column, Table

from nullproof import CountIndex, NullproofError, NullproofWarning, poison, witness
from nullproof.cleaning import Cleaner

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")
SURE = ["", " ", "NA", "nA", "n/a", "NaN", "Null", "?", " ? ", "#N/A", "<na>"]
DOUBTFUL = ["none", "None", "NONE", "-", " - ", "."]


# The rule -----------------------------------------------------------------------------------------

TEXTS = ("u", "v", "1", "2", "2020-01-01", "true", "False", "-", " none", "?", "", "gone")


def small_columns(n_texts: int, with_null: bool) -> Table:
    """Each combination of so many texts is a column."""
    n_rows = n_texts + with_null
    columns = [
        Column(f"c{number}", "text", (*texts, *([None] * with_null)), "string")
        for number, texts in enumerate(itertools.combinations(TEXTS, n_texts))
    ]
    labels = Column("y", "text", tuple("pq"[k % 2] for k in range(n_rows)), "string")
    return Table(tuple(columns), labels)


@pytest.mark.parametrize("with_null", [False, True])
@pytest.mark.parametrize("n_texts", [1, 2, 3])
@pytest.mark.parametrize(
    "options", [Options(), Options(missing=("gone", "1")), Options(missing=("-",), only=True)]
)
def test_every_small_column(n_texts: int, with_null: bool, options: Options) -> None:
    """Columns of up to three texts are read as the page says, in memory and lazily, and as points."""
    table = small_columns(n_texts, with_null)
    cells: dict[str, Any] = {column.name: [*column.cells] for column in table.columns}
    frame = pl.DataFrame({**cells, "y": table.label.cells, "filler": "x"})
    index = CountIndex.from_table(frame, "y", **options.given(table))
    none_of(wrong_counts(index, table, options))
    assert CountIndex.from_table(frame.to_pandas(), "y", **options.given(table)) == index
    assert CountIndex.from_table(frame, "y", like=index) == index
    if n_texts < 3:
        assert CountIndex.from_table(frame.lazy(), "y", **options.given(table)) == index
    found = read(index, frame)
    for name in index.features:
        n_missing = [cell is None for cell in found[name]].count(True)
        assert n_missing == sum(counts(index, name)[None]), name
        assert {cell for cell in found[name] if cell is not None} == {*values(index, name)}


def column_of(cells: list[Any], **options: Any) -> tuple[str, tuple[str, ...], int]:
    """The kind, the values and the number of holes of a column, the same in every library."""
    labels = ["p", "q"] * len(cells)
    table = {"a": cells, "b": ["x"] * len(cells), "y": labels[: len(cells)]}
    frame = pl.DataFrame(table)
    frames = [table, pd.DataFrame(table), frame, pa.table(table), frame.lazy()]
    first, *others = (CountIndex.from_table(f, "y", binning="none", **options) for f in frames)
    assert all(index == first for index in others)
    if "a" not in first.features:
        return "none", (), len(cells)
    return kind(first, "a"), values(first, "a"), sum(counts(first, "a")[None])


@pytest.mark.parametrize("spelling", SURE)
def test_sure_spellings_are_missing_in_every_column_of_texts(spelling: str) -> None:
    """A sure spelling is missing beside anything, in any case and trimmed."""
    assert column_of(["u", "v", spelling]) == ("text", ("u", "v"), 1)
    assert column_of(["u", "u", spelling]) == ("text", ("u",), 1)
    assert column_of(["1", "3", spelling]) == ("number", ("1", "3"), 1)


@pytest.mark.parametrize("spelling", DOUBTFUL)
def test_doubtful_spellings(spelling: str) -> None:
    """They are missing unless they are one of two values, or texts mark their holes otherwise."""
    for others, found in (
        (["u", "v"], "text"),
        (["1", "3"], "number"),
        (["1", "3", None], "number"),
        (["2020-01-01", "2021-01-01", "?"], "datetime"),
        (["true", "False", ""], "boolean"),
    ):
        assert column_of([*others, spelling])[0] == found
        assert column_of([*others, spelling])[2] == len(others) - 1
    for hole in (None, "?", "", " NA"):
        read_as, domain, n_missing = column_of(["u", "v", spelling, hole])
        assert (read_as, {*domain}, n_missing) == ("text", {"u", "v", spelling}, 1)
    assert column_of(["+", spelling, "+"])[1:] == (tuple(sorted(["+", spelling])), 0)
    assert column_of(["+", spelling, None])[2] == 1
    assert {*column_of(["5", spelling, "5"])[1]} == {"5", spelling}


def test_several_doubtful_spellings_stand_or_fall_together() -> None:
    """Two beside one value are no pair; with other holes all are values; alone they are missing."""
    assert column_of(["u", "-", "none"]) == ("text", ("u",), 2)
    assert column_of(["u", "-", "none", None])[1:] == (("-", "none", "u"), 1)
    assert column_of(["-", "none", None])[0] == "none"


def test_order_and_number_of_cells_do_not_matter() -> None:
    """The rule sees which texts there are."""
    for cells in (["u", "v", "-", None], ["1", "2", "-"], ["u", "-"], ["u", "v", "."]):
        orders = itertools.permutations(cells)
        found = {column_of([*some, *some[:1] * n])[:2] for some in orders for n in (0, 2)}
        assert len(found) == 1


# Options ------------------------------------------------------------------------------------------


def test_named_spellings_are_missing_whatever_the_column_shows() -> None:
    """A named spelling is missing, to the letter, and is another sort of hole for those in doubt."""
    assert column_of(["+", "-", "+"], missing=("-",)) == ("text", ("+",), 1)
    assert column_of(["u", "v", "none", "gone"], missing="gone")[1] == ("none", "u", "v")
    assert column_of(["u", "v", "Gone"], missing="gone")[2] == 0


@pytest.mark.parametrize("only", [("gone",), (), "gone"])
def test_missing_only_replaces_the_usual_spellings(only: Any, tmp_path: Path) -> None:
    """With missing_only texts are missing where they are named; nulls always, and empty cells of files."""
    n_missing = 1 + ("gone" in only)
    cells = ["NA", "?", "none", "gone", None, ""]
    assert column_of(cells, missing_only=only)[2] == n_missing
    path = tmp_path / "t.csv"
    lines = [f"{cell or ''},{y}" for cell, y in zip(cells, "pqpqpq", strict=True)]
    path.write_text("\n".join(["a,y", *lines]))
    for limit in (None, "200MB"):
        index = CountIndex.from_table(path, "y", missing_only=only, memory_limit=limit)
        assert index.n_missing == n_missing + 1
        loaded = saved_and_loaded(index, tmp_path)
        assert CountIndex.from_table(path, "y", like=loaded) == index


NAMED_NUMBERS = ["-999", "-999.0", " -999", "-9.99e2"]


@pytest.mark.parametrize("named", NAMED_NUMBERS)
def test_numbers_that_mean_missing(named: str, tmp_path: Path) -> None:
    """A number named as missing is missing however it is written, among candidates too."""
    (tmp_path / "t.csv").write_text("a,y\n1,p\n-999,p\n-999.0,q\n2,q\n")
    index = CountIndex.from_table(tmp_path / "t.csv", "y", missing=(named,))
    assert index.n_null.tolist() == [[1, 1]]
    frame = pd.DataFrame({"a": [1, -999, -999.0, 2], "y": list("ppqq")})
    lists = pl.DataFrame({"a": [[1], [1, -999], [-999], [2]], "y": list("ppqq")})
    for table in (frame, pl.from_pandas(frame), pl.from_pandas(frame).lazy()):
        assert CountIndex.from_table(table, "y", missing=(named,)) == index
    assert CountIndex.from_table(lists, "y", missing=("-999",)) == index
    assert CountIndex.from_table(frame, "y", missing=(-999,)) == index
    points = pl.DataFrame({"a": [-999.0, 1.0]})
    assert [cell is None for cell in read(index, points)["a"]] == [True, False]
    if named.strip() == "-999":
        rows = [(-999,), (-999.0,), ("-999",), (1,)]
        assert [cell is None for cell in read(index, rows)["a"]] == [True] * 3 + [False]


def every_way(columns: dict[str, Any], folder: Path) -> dict[str, tuple[Any, dict[str, Any]]]:
    """The same table by each cheap way, with the options that the way needs."""
    path = folder / "table.csv"
    pl.DataFrame(columns).write_csv(path)
    return {
        "mapping": (columns, {}),
        "polars": (pl.DataFrame(columns), {}),
        "lazy": (pl.LazyFrame(columns), {}),
        "pyarrow": (pa.table(columns), {}),
        "duckdb": (duckdb.from_arrow(pa.table(columns)), {}),
        "csv": (path, {}),
        "csv by duckdb": (path, {"memory_limit": "200MB"}),
    }


DAYS = [dt.date(2020, 1, 1), dt.date(9999, 12, 31), dt.date(2021, 1, 1)]
STAMPS = [dt.datetime(2020, 1, 1, 5), dt.datetime(1900, 1, 1), dt.datetime(2021, 1, 1)]


@pytest.mark.parametrize(
    ("cells", "named"),
    [(DAYS, "9999-12-31"), (STAMPS, "1900-01-01"), (STAMPS, " 1900-01-01T01:00+01:00")],
)
@pytest.mark.parametrize("binning", ["none", "uniform", "mdl"])
def test_named_dates_are_missing(
    cells: list[Any], named: str, binning: Any, tmp_path: Path
) -> None:
    """A date that stands for missing is a hole on every way, and no edge of a bin follows from it."""
    labels = ["p", "q", "q"]
    plain = pl.DataFrame({"x": [cells[0], None, cells[2]], "y": labels})
    expected = CountIndex.from_table(plain, "y", binning=binning)
    for name, (table, more) in every_way({"x": cells, "y": labels}, tmp_path).items():
        index = CountIndex.from_table(table, "y", missing=(named,), binning=binning, **more)
        assert index == expected, name
        assert CountIndex.from_table(table, "y", like=index, **more) == index, name
        assert read(index, [(cells[1],)])["x"] == [None], name


@pytest.mark.parametrize("named", [2**53, 2**53 + 1, 2**63 - 1])
@pytest.mark.parametrize("written", ["{}", "+{}"])
def test_named_integers_are_exact(named: int, written: str, tmp_path: Path) -> None:
    """A large integer that stands for missing leaves its neighbours alone, on every way."""
    spelling, cells = written.format(named), [named - 1, named, 5]
    holes = [(None if cell == named else cell,) for cell in cells]
    plain = CountIndex.from_rows(holes, "pqq", features=["x"])
    for name, (table, more) in every_way({"x": cells, "y": [*"pqq"]}, tmp_path).items():
        index = CountIndex.from_table(table, "y", missing=(spelling,), binning="none", **more)
        assert index == plain, name


def test_named_truth_values_are_missing(tmp_path: Path) -> None:
    """A boolean that stands for missing is a hole in typed columns too, of points and labels as well."""
    columns: dict[str, Any] = {"x": [True, None, False], "y": ["p", "q", "q"]}
    ways = every_way(columns, tmp_path) | {"pandas": (pd.DataFrame(columns).convert_dtypes(), {})}
    for name, (table, more) in ways.items():
        index = CountIndex.from_table(table, "y", missing="true", **more)
        assert counts(index) == {"false": [0, 1], None: [1, 1]}, name
        assert read(index, pl.DataFrame(columns))["x"] == [None, None, "false"], name
        labels = CountIndex.from_table(table, "x", missing="true", unlabelled="drop", **more).labels
        assert [str(label).lower() for label in labels] == ["false"], name


@pytest.mark.parametrize("limit", [None, "200MB"])
def test_declared_spellings_are_values(limit: str | None, tmp_path: Path) -> None:
    """What domains declares is a value to the letter, in frames and files; labels are as ever."""
    found = column_of(["u", "?", " ?", "none"], domains={"a": ["?", "v"]})
    assert found == ("text", ("?", "none", "u", "v"), 1)
    columns = {"x": ["NA", "b", "NA"], "n": ["1", "NA", "2"], "y": [*"pqq"]}
    path = tmp_path / "t.csv"
    pl.DataFrame(columns).write_csv(path)
    options: dict[str, Any] = {"domains": {"x": iter(["NA", "c"])}, "memory_limit": limit}
    index = CountIndex.from_table(path, "y", binning="none", **options)
    assert counts(index) == {"NA": [1, 1], "b": [0, 1], "c": [0, 0], None: [0, 0]}
    assert counts(index, "n") == {"1": [1, 0], "2": [0, 1], None: [0, 1]}
    assert CountIndex.from_table(path, "y", like=index, memory_limit=limit) == index
    assert read(index, path) == {"x": ["NA", "b", "NA"], "n": ["1", None, "2"]}
    named = CountIndex.from_table(path, "y", domains={"x": ["NA", "c"]}, missing=("NA",))
    assert counts(named)[None] == [1, 1]
    pl.DataFrame({"x": ["NA", "b", "c"], "y": ["p", "q", "NA"]}).write_csv(path)
    with pytest.raises(NullproofError, match="1 missing label"):
        CountIndex.from_table(path, "y", domains={"x": ["NA"]}, memory_limit=limit)


def test_candidates_are_values() -> None:
    """What a set names as a candidate is a value, and so is the same text as a cell."""
    index = CountIndex.from_rows([({"none", "u"},), ("none",), ("v",), ("w",)], "ppqq")
    assert values(index) == ("none", "u", "v", "w")
    assert index.n_missing == 1
    named = CountIndex.from_rows([({"none", "u"},), ("v",)], "pq", missing="none")
    assert named.n_null.tolist() == [[1, 0]]


# What a column is once its holes are found --------------------------------------------------------


@pytest.mark.parametrize("spelling", ["", "NA", "NaN", "NULL", " ", " NA ", '""', '"NA"', "?"])
@pytest.mark.parametrize(("low", "high", "found"), [("1", "5", "number"), ("u", "v", "text")])
def test_missing_in_text_files(
    spelling: str, low: str, high: str, found: str, tmp_path: Path
) -> None:
    """Text files spell missing in many ways, trimmed and in quotes or not."""
    (tmp_path / "t.csv").write_text(f"a,y\n{low},p\n{spelling},q\n{high},q\n")
    index = CountIndex.from_table(tmp_path / "t.csv", "y")
    assert (kind(index), len(values(index))) == (found, 2)
    assert index.n_null.tolist() == [[0, 1]]


@pytest.mark.parametrize("spelling", ["??", " ?? "])
@pytest.mark.parametrize("named", ["??", ("??",), (" ??", "??", "-")])
def test_a_numeric_column_is_numeric_again(spelling: str, named: Any, tmp_path: Path) -> None:
    """Once the spelling of missing is named, what remains decides what the column is."""
    cells = {
        "a": ["1", spelling, "3"],
        "b": ["true", spelling, "False"],
        "c": ["2020-01-01", spelling, "2021-01-01"],
        "y": ["p", "q", "q"],
    }
    pl.DataFrame(cells).write_csv(tmp_path / "t.csv")
    index = CountIndex.from_table(tmp_path / "t.csv", "y", missing=named)
    assert [kind(index, name) for name in "abc"] == ["number", "boolean", "datetime"]
    assert index.n_null.tolist() == [[0, 1]] * 3
    for frame in (pd.DataFrame(cells), pl.DataFrame(cells), pa.table(cells)):
        assert CountIndex.from_table(frame, "y", missing=named) == index
    objects = pd.DataFrame({name: pd.Series(c, dtype=object) for name, c in cells.items()})
    assert CountIndex.from_table(objects, "y", missing=named) == index
    mixed = pd.DataFrame({"a": [1, spelling, 3], "y": cells["y"]})
    assert kind(CountIndex.from_table(mixed, "y", missing=named)) == "number"
    # Without a spelling of missing in it, a text column is what its library says.
    plain = pl.DataFrame({"a": ["01", "1", "02"], "y": ["p", "q", "q"]})
    assert values(CountIndex.from_table(plain, "y", missing=named)) == ("01", "1", "02")


def test_categories_without_a_cell_are_a_domain() -> None:
    """Declared categories may stand in a hole though no cell holds one."""
    enum = pl.DataFrame({"x": pl.Series([None, "p"], dtype=pl.Enum(["p", "q"])), "y": ["a", "b"]})
    words = pd.Categorical([None, "p"], categories=["p", "q"])
    for table in (enum, enum.lazy(), pd.DataFrame({"x": words, "y": ["a", "b"]})):
        assert counts(CountIndex.from_table(table, "y")) == {"p": [0, 1], "q": [0, 0], None: [1, 0]}


# What was decided stays ---------------------------------------------------------------------------


def test_points_follow_the_domain() -> None:
    """In points a usual spelling is a value if the domain holds it to the letter, else it is missing."""
    kept = CountIndex.from_rows([("u",), ("v",), ("-",), (None,)], "ppqq")
    lost = CountIndex.from_rows([("u",), ("v",), ("-",), ("u",)], "ppqq")
    points = [("-",), (" -",), ("none",), ("?",), ("w",)]
    for form in (points, pl.DataFrame({"x0": [cell for (cell,) in points]}), np.array(points)):
        assert read(kept, form)["x0"] == ["-", None, None, None, UNSEEN]
        assert read(lost, form)["x0"] == [None, None, None, None, UNSEEN]


def test_further_tables_follow_the_domain(tmp_path: Path) -> None:
    """A chunk counted like an index reads spellings as that index does, whatever the chunk shows."""
    first = CountIndex.from_table({"a": ["01", "x", "-", None], "y": list("ppqq")}, "y")
    assert values(first) == ("01", "-", "x")
    chunk = {"a": ["-", "01", "?"], "y": list("pqq")}
    more = CountIndex.from_table(chunk, "y", like=first)
    assert counts(more) == {"01": [0, 1], "-": [1, 0], "x": [0, 0], None: [0, 1]}
    for table, options in every_way(chunk, tmp_path).values():
        assert CountIndex.from_table(table, "y", like=first, **options) == more


# Labels -------------------------------------------------------------------------------------------


def test_labels_follow_the_sure_spellings_alone(tmp_path: Path) -> None:
    """A label may be - or none; ? is a hole among labels, unless they are given apart."""
    table = {"a": ["u", "v", "u"], "y": ["-", "+", "none"]}
    assert CountIndex.from_table(table, "y").labels == ("+", "-", "none")
    (tmp_path / "t.csv").write_text("a,y\nu,-\nv,+\nu,.\n")
    for limit in (None, "200MB"):
        index = CountIndex.from_table(tmp_path / "t.csv", "y", memory_limit=limit)
        assert index.labels == ("+", "-", ".")
    with pytest.raises(NullproofError, match="the label column 'y' has 1 missing label"):
        CountIndex.from_table({**table, "y": ["-", "+", "?"]}, "y")
    assert CountIndex.from_rows([("u",), ("v",)], ["?", "NA"]).labels == ("?", "NA")


@pytest.mark.parametrize("hole", [None, float("nan"), pd.NA, "?"])
def test_holes_among_the_labels_are_refused(hole: Any) -> None:
    """Labels are never missing; the message says how many are, where, and the way out."""
    labels = ["p", hole, "q", hole, *["p"] * 4, *[hole] * 5]
    table = {"a": list(range(13)), "y": labels}
    said = (
        r"'y' has 7 missing labels \(rows 1, 3, 8, 9, 10, .*unlabelled=\"drop\", --drop-unlabelled"
    )
    with pytest.raises(NullproofError, match=said):
        CountIndex.from_table(table, "y", missing=("?",))


LABELS: dict[str, tuple[list[Any], tuple[str, ...]]] = {
    "text": (["a", None, "b", " ? ", "a"], ("?",)),
    "integers": ([1, None, 2, -9, 1], ("-9",)),
    "doubles": ([1.5, float("nan"), 2.0, None, 1.5], ()),
    "booleans": ([True, None, False, None, True], ()),
    "dates": ([DAYS[0], None, DAYS[2], DAYS[1], DAYS[0]], ("9999-12-31",)),
}


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("binning", ["mdl", "uniform", "none"])
def test_rows_without_a_label_have_no_say(name: str, binning: Any, tmp_path: Path) -> None:
    """Null, NaN and named spellings are no labels: the index is that of the table without their rows."""
    labels, missing = LABELS[name]
    columns = {"x": ["u", "new", None, "none", "v"], "n": [1, 9000, 2, 7, None]}
    frame = pl.DataFrame({**columns, "y": labels})
    options: dict[str, Any] = {"missing": missing, "binning": binning}
    expected = CountIndex.from_table(frame[[0, 2, 4]], "y", **options)
    ways = {
        **every_way(frame.to_dict(as_series=False), tmp_path),
        "pandas": (frame.to_pandas(), {}),
    }
    for way, (table, more) in ways.items():
        if "csv" in way and name in ("doubles", "booleans"):
            continue
        with pytest.warns(NullproofWarning, match="left out 2 rows without a label.*3 are left"):
            found = CountIndex.from_table(table, "y", unlabelled="drop", **options, **more)
        assert (found == expected) or ("csv" in way and name != "text"), way
        assert found.n_rows == 3
        assert found.n_missing == expected.n_missing
    assert CountIndex.from_table(frame[[0, 2, 4]], "y", unlabelled="drop", **options) == expected
    empty = frame[[1]] if labels[1] is None else frame[[1, 3]]
    for table in (empty, empty.lazy()):
        with pytest.raises(NullproofError, match=r"row.* has a label in column 'y'"):
            CountIndex.from_table(table, "y", unlabelled="drop", **options)


ROWS: list[tuple[Any, ...]] = [
    ("31", "Ulm", "no"),
    ("99", "Rome", None),
    (None, "Bonn", "no"),
    ("50", None, "yes"),
    (None, None, None),
    ("64", "Bonn", "yes"),
    ("33", "Ulm", "no"),
    ("77", "Bonn", None),
    ("61", "Ulm", "yes"),
]
PLACES = [i for i, row in enumerate(ROWS) if row[-1] is not None]


def written(path: Path, rows: list[tuple[Any, ...]]) -> Path:
    lines = [["age", "town", "churn"], *([cell or "" for cell in row] for row in rows)]
    path.write_text("\n".join(map(",".join, lines)) + "\n")
    return path


def test_what_is_done_later_leaves_rows_without_a_label_alone(tmp_path: Path) -> None:
    """Attacks, worlds and worksheets name rows as the file has them, and change none without a label."""
    path = written(tmp_path / "all.csv", ROWS)
    kept = written(tmp_path / "kept.csv", [ROWS[place] for place in PLACES])
    index = quietly(path, "churn", binning="uniform", bins=2, unlabelled="drop")
    attack = poison(index, [(33, "Ulm")], alpha=1)
    cells = attack.cells(path)
    assert cells == [(PLACES[row], column) for row, column in attack.cells(kept)]
    assert len(cells) == attack.n_cells > 0
    poisoned = attack.apply(path)
    assert poisoned[PLACES].rows() == attack.apply(kept).rows()
    assert poisoned["churn"].null_count() == 3
    for world in witness(index, (None, "Ulm"), own_missing="any"):
        whole = world.complete(path)
        assert [[*map(str, row)] for row in whole[PLACES].rows()] == [
            [*map(str, row)] for row in world.complete(kept).rows()
        ]
        assert whole["age"].null_count() == 1
    cleaner = Cleaner(index, [(31, "Ulm")], path, alpha=1)
    with pytest.raises(NullproofError, match="row 4, which has no label and was left out"):
        cleaner.answer({(4, "age"): "40"})
    cleaner.answer({(2, "age"): "40", (3, "town"): "Ulm"})
    assert cleaner.index.n_missing == 0
    filled = cleaner.complete()
    assert (filled["age"][2], filled["town"][3]) == (40, "Ulm")
    wrong = [(row[0], "Oslo", row[2]) if i == 6 else row for i, row in enumerate(ROWS)]
    with pytest.raises(NullproofError, match="column 'town' holds a value in row 6 that is not"):
        quietly(written(tmp_path / "n.csv", wrong), "churn", like=index, unlabelled="drop")


def test_candidates_of_rows_without_a_label() -> None:
    """Cells with several candidates keep their places too."""
    rng = random.Random(3)
    for _ in range(15):
        cells = [rng.choice([["u"], ["u", "v"], ["v", "w"], None]) for _ in range(8)]
        labels = ["p", "q", None, *rng.choices(["p", "q", None], k=5)]
        frame = pl.DataFrame({"x": cells, "z": ["s", "t"] * 4, "y": labels})
        rows = [i for i, label in enumerate(labels) if label is not None]
        index = quietly(frame, unlabelled="drop")
        assert index == quietly(frame[rows])


def test_named_numbers_are_missing_however_points_write_them() -> None:
    """A number that was named is compared by its value in plain points too."""
    table = {"a": [1, 2, -999, 3] * 5, "y": list("pqpq") * 5}
    index = CountIndex.from_table(table, "y", missing=("-999.0",), binning="none")
    for cell in (-999, -999.0, "-999", " -999.00 "):
        assert read(index, [(cell,)]) == read(index, [(None,)])
