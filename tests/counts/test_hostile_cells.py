"""Cells that one of the ways to the counts once took for something else, each fault by its name."""

from __future__ import annotations

import datetime as dt
import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from nullproof import CountIndex, NullproofError
from nullproof.attacks.locate import locate_cells
from nullproof.counts.revise import Cells

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")
LABELS = ["p", "q", "q"]


def counts(index: CountIndex, name: str = "x") -> dict[str, list[int]]:
    """By value, and last for holes: the cells of each label."""
    j = index.schema.position[name]
    values = index.schema.features[j].values
    held = dict(zip(values, index.known[j].dense.tolist(), strict=True))
    return held | {"hole": index.n_null[j].tolist()}


def counted(cells: Any, **options: Any) -> dict[str, list[int]]:
    """The counts of one column and the labels above."""
    table = {"x": cells, "y": LABELS}
    return counts(CountIndex.from_table(table, "y", **{"binning": "none", **options}))


# Arrays and series ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (np.array([1, 2, 2]), {"1": [1, 0], "2": [0, 1]}),
        (np.array([2**60, 2**60 + 1, 2**60]), {str(2**60): [1, 0], str(2**60 + 1): [0, 1]}),
        (np.array([0.5, 1.5, 1.5], dtype=np.float32), {"0.5": [1, 0], "1.5": [0, 1]}),
        (np.array(["u", "v", "v"]), {"u": [1, 0], "v": [0, 1]}),
        (np.array([True, False, False]), {"true": [1, 0], "false": [0, 1]}),
        (
            np.array(["2020-01-01", "2020-01-02", "2020-01-02"], "M8[ns]"),
            {"2020-01-01": [1, 0], "2020-01-02": [0, 1]},
        ),
    ],
    ids=lambda cells: str(cells.dtype) if isinstance(cells, np.ndarray) else "",
)
def test_masked_cells_are_missing(cells: Any, values: dict[str, list[int]]) -> None:
    """What NumPy masks is a hole, whatever lies beneath the mask."""
    masked = np.ma.masked_array(cells, mask=[False, False, True])
    assert counted(masked) == values | {"hole": [0, 1]}
    assert counted(np.ma.masked_array(cells))["hole"] == [0, 0]


def test_masked_cells_of_points_are_missing() -> None:
    """Points of masked arrays have holes there, codes too."""
    points = np.ma.masked_array([[0, 1], [1, 0]], mask=[[True, False], [False, False]])
    for index in (
        CountIndex.from_rows([(0, 1), (1, 0)], ["p", "q"]),
        CountIndex.from_codes(np.array([[0, 1], [1, 0]]), ["p", "q"]),
    ):
        encoded = index.encode(points)
        assert encoded.missing.tolist() == [[True, False], [False, False]]
        assert encoded.codes[~encoded.missing].tolist() == [1, 1, 0]


def test_masked_labels_are_holes() -> None:
    """A label beneath a mask is not known."""
    labels: Any = np.ma.masked_array([1, 2, 2], mask=[False, True, False])
    with pytest.raises(NullproofError, match="1 hole"):
        CountIndex.from_rows([("u",), ("v",), ("v",)], labels)
    with pytest.raises(NullproofError, match="1 hole"):
        CountIndex.from_table({"x": ["u", "v", "v"], "y": labels}, "y")


def test_a_matrix_is_an_array() -> None:
    """NumPy's matrices, of which every column has two dimensions, are read as arrays."""
    index = CountIndex.from_rows([(1, 2), (3, 4)], ["p", "q"])
    with pytest.warns(PendingDeprecationWarning):
        points = np.matrix([[1, 2], [3, 4]])
    assert index.encode(points).codes.tolist() == [[0, 1], [0, 1]]


def test_long_doubles_are_rounded_to_doubles() -> None:
    """Two numbers are the same if their doubles are; before, such cells were in no count at all."""
    thirds = np.array([1, 2, 1], dtype=np.longdouble) / 3
    expected = {"0.3333333333333333": [1, 1], "0.6666666666666666": [0, 1], "hole": [0, 0]}
    assert counted(thirds) == expected
    assert counted(pd.Series(thirds)) == expected


@pytest.mark.parametrize("make", [pa.array, lambda cells: pa.chunked_array([cells]), pl.Series])
def test_columns_of_a_mapping_are_read_by_their_library(make: Any) -> None:
    """Arrow's null is a hole and its integers are numbers, in labels too."""
    assert counted(make([1, None, 2])) == {"1": [1, 0], "2": [0, 1], "hole": [0, 1]}
    assert counted(make(["u", None, "v"])) == {"u": [1, 0], "v": [0, 1], "hole": [0, 1]}
    rows = [("u",), ("v",), ("v",)]
    assert CountIndex.from_rows(rows, make([1, 2, 2])).labels == (1, 2)
    with pytest.raises(NullproofError, match="1 hole"):
        CountIndex.from_rows(rows, make([1, None, 2]))


def test_categories_in_a_mapping_are_declared() -> None:
    """A series of categories declares them, as it does in a frame; rows can be left out of it."""
    cells = pd.Series(["u", "v", "u"], dtype=pd.CategoricalDtype(["u", "v", "w"]))
    assert counted(cells) == {"u": [1, 1], "v": [0, 1], "w": [0, 0], "hole": [0, 0]}
    table = {"x": cells, "y": pa.array(["p", None, "q"])}
    index = CountIndex.from_table(table, "y", unlabelled="drop")
    assert counts(index) == {"u": [1, 1], "v": [0, 0], "w": [0, 0], "hole": [0, 0]}


# Objects of pandas ---------------------------------------------------------------------------------


def late(*cells: Any, n_texts: int = 150) -> dict[str, list[int]]:
    """The counts of some cells after so many texts; all have one label, the last another."""
    objects = pd.Series(["u"] * n_texts + [*cells, "u"], dtype=object)
    labels = ["p"] * (n_texts + len(cells)) + ["q"]
    index = CountIndex.from_table({"x": objects, "y": labels}, "y")
    found = counts(index) | {str(k): v.tolist() for k, v in index.sets[0].items()}
    return {value: cells[:1] for value, cells in found.items()}


@pytest.mark.parametrize("n_texts", [150, 6000])
def test_cells_after_many_texts_are_read_as_all_others(n_texts: int) -> None:
    """narwhals looks at a hundred objects of pandas: candidates after them failed, true became 1."""
    assert late({"u", "v"}, n_texts=n_texts) == {
        "u": [n_texts],
        "v": [0],
        "hole": [0],
        "(0, 1)": [1],
    }
    found = late(1, True, "1", 1.0, n_texts=n_texts)
    assert found == {"1": [3], "true": [1], "u": [n_texts], "hole": [0]}
    holes = (None, pd.NA, pd.NaT, float("nan"), decimal.Decimal("NaN"), decimal.Decimal("sNaN"))
    assert late(*holes, n_texts=n_texts) == {"u": [n_texts], "hole": [6]}
    for cell in (b"u", {"u": 1}):
        with pytest.raises(NullproofError, match="bytes or nested values"):
            late(cell, n_texts=n_texts)


def test_intervals_of_arrow_are_no_candidates() -> None:
    """An interval comes as a tuple of months, days and nanoseconds, which are not three candidates."""
    cells = pa.array([(1, 2, 3), None, (1, 2, 3)], pa.month_day_nano_interval())
    with pytest.raises(NullproofError, match="bytes or nested values"):
        counted(cells)
    with pytest.raises(NullproofError, match="bytes or nested values"):
        CountIndex.from_table(pa.table({"x": cells, "y": LABELS}), "y")


# Spellings of missing ------------------------------------------------------------------------------


def duckdb_table(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("duckdb").from_arrow(pa.table(columns))


def dask_table(columns: dict[str, Any]) -> Any:
    dataframe = pytest.importorskip("dask.dataframe")
    frame = pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype)
    return dataframe.from_pandas(frame, npartitions=2)


def csv_file(folder: Path, columns: dict[str, Any]) -> str:
    path = folder / "table.csv"
    pl.DataFrame(columns).write_csv(path)
    return str(path)


def every_way(columns: dict[str, Any], folder: Path) -> dict[str, tuple[Any, dict[str, Any]]]:
    """The same table by each cheap way, with the options that the way needs."""
    path = csv_file(folder, columns)
    return {
        "mapping": (columns, {}),
        "polars": (pl.DataFrame(columns), {}),
        "lazy": (pl.LazyFrame(columns), {}),
        "pyarrow": (pa.table(columns), {}),
        "duckdb": (duckdb_table(columns), {}),
        "dask": (dask_table(columns), {}),
        "csv": (path, {}),
        "csv by duckdb": (path, {"memory_limit": "200MB"}),
    }


DAYS = [dt.date(2020, 1, 1), dt.date(9999, 12, 31), dt.date(2021, 1, 1)]
STAMPS = [dt.datetime(2020, 1, 1, 5), dt.datetime(1900, 1, 1), dt.datetime(2021, 1, 1)]


@pytest.mark.parametrize(
    ("cells", "named"),
    [(DAYS, "9999-12-31"), (STAMPS, "1900-01-01"), (STAMPS, " 1900-01-01T01:00+01:00")],
)
@pytest.mark.parametrize("binning", ["none", "uniform", "quantile", "mdl"])
def test_named_dates_are_missing(
    cells: list[Any], named: str, binning: Any, tmp_path: Path
) -> None:
    """A date that stands for missing is a hole on every way, and no edge of a bin follows from it."""
    options: dict[str, Any] = {"missing": (named,), "binning": binning}
    for name, (table, more) in every_way({"x": cells, "y": LABELS}, tmp_path).items():
        index = CountIndex.from_table(table, "y", **options, **more)
        plain = CountIndex.from_rows([(cells[0],), (None,), (cells[2],)], LABELS, features=["x"])
        if binning != "none":
            rest = {"x": [cells[0], None, cells[2]], "y": LABELS}
            plain = CountIndex.from_table(pl.DataFrame(rest), "y", binning=binning)
        assert index == plain, name
        assert CountIndex.from_table(table, "y", like=index, **more) == index, name
        assert index.encode([(cells[1],)]).missing.tolist() == [[True]], name


def test_named_truth_values_are_missing(tmp_path: Path) -> None:
    """A boolean that stands for missing is a hole in typed columns too, of points and labels as well."""
    columns: dict[str, Any] = {"x": [True, None, False], "y": LABELS}
    ways = every_way(columns, tmp_path) | {"pandas": (pd.DataFrame(columns).convert_dtypes(), {})}
    for name, (table, more) in ways.items():
        index = CountIndex.from_table(table, "y", missing="true", **more)
        assert counts(index) == {"false": [0, 1], "hole": [1, 1]}, name
        for points in (pl.DataFrame(columns), pd.DataFrame(columns).convert_dtypes()):
            assert index.encode(points).missing.ravel().tolist() == [True, True, False], name
        flipped: Any = {"label": "x", "missing": "true", "unlabelled": "drop", **more}
        labels = CountIndex.from_table(table, **flipped).labels
        assert [str(label).lower() for label in labels] == ["false"], name
    assert counted(np.array([True, False, True]), missing="true")["hole"] == [1, 1]


@pytest.mark.parametrize("named", [2**53, 2**53 + 1, 2**63 - 1])
@pytest.mark.parametrize(
    "written", [str, lambda number: f"{number}.0", lambda number: f"+{number}"]
)
def test_named_integers_are_exact(named: int, written: Any, tmp_path: Path) -> None:
    """A large integer that stands for missing leaves its neighbours alone, on every way."""
    spelling = written(named)
    named = int(float(spelling)) if "." in spelling else named
    cells = [named - 1, named, 5] if named < 2**63 else [named - 2, named - 1, 5]
    holes = [None if cell == named else cell for cell in cells]
    plain = CountIndex.from_rows([(cell,) for cell in holes], LABELS, features=["x"])
    for name, (table, more) in every_way({"x": cells, "y": LABELS}, tmp_path).items():
        index = CountIndex.from_table(table, "y", missing=(spelling,), binning="none", **more)
        assert index == plain, name
        binned = CountIndex.from_table(table, "y", missing=(spelling,), binning="uniform", **more)
        assert binned.n_null.tolist() == plain.n_null.tolist(), name


@pytest.mark.parametrize("limit", [None, "200MB"])
def test_declared_spellings_are_values_of_files(limit: str | None, tmp_path: Path) -> None:
    """What domains declares is a value in a text file too; other columns and labels are as ever."""
    columns = {"x": ["NA", "b", "NA"], "n": ["1", "NA", "2"], "y": LABELS}
    path = csv_file(tmp_path, columns)
    options: dict[str, Any] = {"domains": {"x": iter(["NA", "c"])}, "memory_limit": limit}
    index = CountIndex.from_table(path, "y", binning="none", **options)
    assert counts(index) == {"NA": [1, 1], "b": [0, 1], "c": [0, 0], "hole": [0, 0]}
    assert counts(index, "n") == {"1": [1, 0], "2": [0, 1], "hole": [0, 1]}
    assert CountIndex.from_table(path, "y", like=index, memory_limit=limit) == index
    points = index.encode(path)
    assert points.codes[0].tolist() == [0, 1, 0]
    assert points.missing[1].tolist() == [False, True, False]
    named = CountIndex.from_table(path, "y", domains={"x": ["NA", "c"]}, missing=("NA",))
    assert counts(named)["hole"] == [1, 1]
    labels = csv_file(tmp_path, {"x": ["NA", "b", "c"], "y": ["p", "q", "NA"]})
    with pytest.raises(NullproofError, match="1 hole"):
        CountIndex.from_table(labels, "y", domains={"x": ["NA"]}, memory_limit=limit)


@pytest.mark.parametrize("limit", [None, "200MB"])
def test_labels_of_spaces_are_dropped(limit: str | None, tmp_path: Path) -> None:
    """A label of a file that holds nothing but spaces is a hole, whatever else means missing."""
    path = csv_file(tmp_path, {"x": ["a", "b", "a"], "y": [" ", "q", "q"]})
    index = CountIndex.from_table(
        path, "y", missing_only=("zz",), unlabelled="drop", memory_limit=limit
    )
    assert counts(index) == {"a": [1], "b": [1], "hole": [0]}


@pytest.mark.parametrize(
    ("labels", "named"),
    [(DAYS, "9999-12-31"), (STAMPS, "1900-01-01"), ([1, 2**53 + 1, 2**53], str(2**53 + 1))],
)
def test_named_labels_are_dropped(labels: list[Any], named: str, tmp_path: Path) -> None:
    """A date or a large number that stands for no label does so on every way that has types."""
    options: dict[str, Any] = {"missing": (named,), "unlabelled": "drop"}
    for name, (table, more) in every_way({"x": ["u", "v", "w"], "y": labels}, tmp_path).items():
        if "csv" in name and labels is STAMPS:
            # Labels of text files stay as they are written.
            continue
        index = CountIndex.from_table(table, "y", **options, **more)
        assert counts(index) == {"u": [1, 0], "w": [0, 1], "hole": [0, 0]}, name


# Engines -------------------------------------------------------------------------------------------


def test_values_that_are_lost_on_the_way_are_refused() -> None:
    """DuckDB's time 24:00:00 does not come through, and must not become a hole."""
    duckdb = pytest.importorskip("duckdb")
    table = duckdb.sql(
        "SELECT x::TIME x, y FROM (VALUES ('24:00:00', 'p'), ('08:00:00', 'q')) t(x, y)"
    )
    with pytest.raises(NullproofError, match="'x' holds a value that does not come through"):
        CountIndex.from_table(table, "y")


@pytest.mark.parametrize(
    "categories", [[1, 2], [0.5, 1.5], [True, False], pd.interval_range(0, 2)], ids=str
)
def test_categories_of_dask_are_texts(categories: Any) -> None:
    """Dask writes categories of other types in its own way, so they are refused."""
    dataframe = pytest.importorskip("dask.dataframe")
    cells = pd.Categorical.from_codes([0, 1, -1], categories=categories)
    frame = pd.DataFrame({"x": cells, "y": LABELS})
    known = dataframe.from_pandas(frame, npartitions=1)
    for table in (known, known.assign(x=known["x"].cat.as_unknown())):
        with pytest.raises(NullproofError, match="cannot be counted"):
            CountIndex.from_table(table, "y")


@pytest.mark.parametrize("cells", [[1, None, 10], [0.5, None, 2.5], [True, None, False], DAYS])
def test_dictionaries_of_arrow_are_their_values(cells: list[Any]) -> None:
    """An Arrow dictionary of numbers is numbers, in memory as through DuckDB, and Dask refuses it."""
    packed = pa.array(cells).dictionary_encode()
    table = {"x": packed, "y": LABELS}
    expected = CountIndex.from_table({"x": cells, "y": LABELS}, "y")
    frame = pa.table(table).to_pandas(types_mapper=pd.ArrowDtype)
    for found in (table, pa.table(table), duckdb_table(table), frame):
        assert CountIndex.from_table(found, "y") == expected
    with pytest.raises(NullproofError, match="cannot be counted"):
        CountIndex.from_table(dask_table(table), "y")


def test_keys_beyond_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of columns with huge domains have more places than 32 bits number."""
    codes = np.array([[0, 3], [2, 1], [-1, 3]])
    expected = CountIndex.from_codes(codes, LABELS)
    for kinds in [(np.int32,), (np.int64,), (np.int8, np.int64)]:
        monkeypatch.setattr("nullproof.counts.sparse._KEYS", kinds)
        assert CountIndex.from_codes(codes, LABELS) == expected


# ARFF ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("last", ["", "% read row by row\n"])
def test_spaces_in_quotes_belong_to_the_value(last: str, tmp_path: Path) -> None:
    """However the rows of an ARFF file are split: spaces around a quote go, those within stay."""
    path = tmp_path / "table.arff"
    head = "@relation r\n@attribute x string\n@attribute y {p, q}\n@data\n"
    path.write_text(head + "' a ',p\na,q\n 'a b' ,q\n" + last)
    index = CountIndex.from_table(path, "y")
    assert counts(index) == {" a ": [1, 0], "a": [0, 1], "a b": [0, 1], "hole": [0, 0]}
    path.write_text(head + "'a''b',p\na,q\n" + last)
    with pytest.raises(NullproofError, match="line 5: a quote"):
        CountIndex.from_table(path, "y")


# What cannot be ------------------------------------------------------------------------------------


def test_arrays_without_a_dimension_are_cells() -> None:
    """NumPy's arrays of no dimension are the value that they hold, and its masked cell is a hole."""
    rows = [(np.array(5),), (np.ma.masked,), (np.array("u"),)]
    assert counts(CountIndex.from_rows(rows, LABELS), "x0") == {
        "5": [1, 0],
        "u": [0, 1],
        "hole": [0, 1],
    }


def test_decimals_with_a_negative_scale_are_refused() -> None:
    """narwhals has no name for such a type of Arrow's."""
    cells = pa.array([decimal.Decimal("1100"), None, None], pa.decimal128(10, -2))
    with pytest.raises(NullproofError, match=r"'x' has a type .* cannot be counted"):
        CountIndex.from_table(pa.table({"x": cells, "y": LABELS}), "y")


@pytest.mark.parametrize(("cell", "label"), [("u\ud800", "p"), ("u", "p\ud800")])
def test_half_letters_are_not_saved(cell: str, label: str, tmp_path: Path) -> None:
    """Python's texts may hold half of a surrogate pair; files may not."""
    index = CountIndex.from_rows([(cell,), ("v",)], [label, "q"])
    with pytest.raises(NullproofError, match="half of a letter"):
        index.save(tmp_path / "a.index")
    assert not [*tmp_path.iterdir()]


def test_cells_are_located_by_labels_that_are_dates() -> None:
    """A table whose labels are dates has its rows found again."""
    table = pl.LazyFrame({"x": ["u", "v", "u"], "y": [DAYS[0], DAYS[2], DAYS[0]]})
    index = CountIndex.from_table(table, "y")
    cells = Cells(index.labels.index("2020-01-01"), 0, (index.schema.features[0].codes["u"],), 2)
    assert locate_cells(index.schema, [cells], table) == [(0, "x"), (2, "x")]
