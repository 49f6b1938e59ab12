"""What means missing, and what may mean it: spellings in files and frames, and the notice of them."""

from __future__ import annotations

import datetime as dt
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from nullproof import CountIndex, NullproofWarning


def features_of(table: Any, **options: Any) -> dict[str, Any]:
    index = CountIndex.from_table(table, "y", **options)
    return {feature.name: feature for feature in index.schema.features}


def counted(tmp_path: Path, written: str, **options: Any) -> CountIndex:
    path = tmp_path / "t.csv"
    path.write_text(written)
    return CountIndex.from_table(path, "y", **options)


SPELLINGS = ["", "NA", "N/A", "NaN", "null", "NULL", " ", " NA ", " null", '""', '"NA"']


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize(("low", "high", "kind"), [("1", "5", "number"), ("u", "v", "category")])
def test_missing_in_text_files(
    spelling: str, low: str, high: str, kind: str, tmp_path: Path
) -> None:
    """Text files spell missing in six ways, trimmed and in quotes or not."""
    index = counted(tmp_path, f"a,y\n{low},p\n{spelling},q\n{high},q\n")
    (feature,) = index.schema.features
    assert (feature.kind, feature.n_values) == (kind, 2)
    assert index.n_null.tolist() == [[0, 1]]


def test_texts_that_spell_missing_are_categories_elsewhere(tmp_path: Path) -> None:
    """A category named null in a Parquet file or a frame stays one; a notice tells of it."""
    frame = pl.DataFrame({"a": ["null", "x", None], "y": ["p", "p", "q"]})
    frame.write_parquet(tmp_path / "t.parquet")
    with pytest.warns(NullproofWarning, match="'null' in 'a' may mean missing"):
        index = CountIndex.from_table(tmp_path / "t.parquet", "y")
    assert index.schema.features[0].values == ("null", "x")
    assert index.n_missing == 1


@pytest.mark.parametrize("spelling", ["?", " ? "])
@pytest.mark.parametrize("named", ["?", ("?",), (" ?", "?", "-")])
def test_a_numeric_column_is_numeric_again(spelling: str, named: Any, tmp_path: Path) -> None:
    """Once the spelling of missing is named, what remains decides what the column is."""
    written = (
        f"a,b,c,y\n1,true,2020-01-01,p\n{spelling},{spelling},{spelling},q\n3,False,2021-01-01,q\n"
    )
    cells = {
        "a": ["1", spelling, "3"],
        "b": ["true", spelling, "False"],
        "c": ["2020-01-01", spelling, "2021-01-01"],
        "y": ["p", "q", "q"],
    }
    index = counted(tmp_path, written, missing=named)
    kinds = [feature.kind for feature in index.schema.features]
    assert kinds == ["number", "boolean", "date"]
    assert index.n_null.tolist() == [[0, 1]] * 3
    for frame in (pd.DataFrame(cells), pl.DataFrame(cells), pa.table(cells), objects_of(cells)):
        assert CountIndex.from_table(frame, "y", missing=named) == index
    mixed = pd.DataFrame({"a": [1, spelling, 3], "y": cells["y"]})
    assert features_of(mixed, missing=named)["a"].kind == "number"


def objects_of(cells: dict[str, list[Any]]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(c, dtype=object) for name, c in cells.items()})


def test_numbers_that_mean_missing(tmp_path: Path) -> None:
    """A number named as missing is missing however it is written, in a set too."""
    index = counted(tmp_path, "a,y\n1,p\n-999,p\n-999.0,q\n2,q\n", missing=("-999",))
    assert index.n_null.tolist() == [[1, 1]]
    frame = pd.DataFrame({"a": [1, -999, -999.0, 2], "y": list("ppqq")})
    assert CountIndex.from_table(frame, "y", missing=(-999,)) == index  # type: ignore[arg-type]
    lists = pl.DataFrame({"a": [[1], [1, -999], [-999], [2]], "y": list("ppqq")})
    assert CountIndex.from_table(lists, "y", missing=("-999",)) == index


def test_texts_stay_texts_without_a_reason() -> None:
    """A text column of a frame without a spelling of missing in it is what its library says."""
    frame = pl.DataFrame({"a": ["01", "1", "02"], "y": ["p", "q", "q"]})
    assert features_of(frame, missing=("?",))["a"].values == ("01", "1", "02")


def test_dates_that_are_none_stay_texts(tmp_path: Path) -> None:
    """What looks like a date but is none is a category."""
    index = counted(tmp_path, "a,y\n2020-02-30,p\n2020-01-01,q\n")
    assert index.schema.features[0].kind == "category"


def test_infinite_numbers_in_text(tmp_path: Path) -> None:
    """Inf is a number, whatever else stands in the column."""
    frame = {"a": ["inf", "?", "-inf", "1", "2"], "y": list("ppqqq")}
    index = CountIndex.from_table(pl.DataFrame(frame), "y", missing=("?",))
    assert index == counted(tmp_path, "a,y\ninf,p\n?,p\n-inf,q\n1,q\n2,q\n", missing=("?",))
    assert index.schema.features[0].kind == "number"


# Notices ------------------------------------------------------------------------------------------

SUSPECTS = ["?", "-", "unknown", "Unknown", "none", "None", "missing", "nan", "na", "."]


def notices(table: Any, **options: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CountIndex.from_table(table, "y", **options)
    return [str(notice.message) for notice in caught]


@pytest.mark.parametrize("spelling", SUSPECTS)
@pytest.mark.parametrize("others", [["1", "2"], ["u", "v"]])
def test_likely_spellings_are_told_in_one_line(spelling: str, others: list[str]) -> None:
    """A likely spelling gives exactly one notice, which says what to add; adding it silences it."""
    frame = pl.DataFrame({"a": [*others, spelling], "b": [spelling, *others], "y": list("ppq")})
    (notice,) = notices(frame)
    assert notice == (
        f"'{spelling}' in 'a', 'b' may mean missing; if so, name it: "
        f'missing=("{spelling}",) or --missing "{spelling}"'
    )
    assert notices(frame, missing=(spelling,)) == []


def test_several_spellings_are_told_in_one_line_too() -> None:
    """All likely spellings share one notice; columns beyond five are not listed."""
    frame = {f"c{j}": ["?", "x", "unknown"] for j in range(7)}
    (notice,) = notices({**frame, "y": list("ppq")})
    assert "'c4', … and 'unknown' in" in notice
    assert "c5" not in notice
    assert notice.endswith('missing=("?", "unknown") or --missing "?" --missing "unknown"')


@pytest.mark.parametrize("extreme", [-999, -9999, 999, 99, -99.0])
def test_lone_extremes_are_told(extreme: float) -> None:
    """A number of nines far from all others is a likely spelling of missing."""
    (notice,) = notices({"a": [1, 2, 3.5, extreme], "y": list("ppqq")})
    assert f'missing=("{int(extreme)}",)' in notice


@pytest.mark.parametrize(
    "cells",
    [
        [97, 98, 99, 20],
        [-99, -50, 0, 99],
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
    frame = pd.DataFrame({"a": pd.Categorical(["u", "v"], categories=["?", "u", "v"]), "y": [0, 1]})
    assert notices(frame) == []


@pytest.mark.parametrize("empty", [None, float("nan"), pd.NA, pd.NaT])
def test_a_column_without_known_values_is_left_out(empty: Any) -> None:
    """A column that knows nothing is left out, with a notice, in every library."""
    frame = pd.DataFrame({"a": [1, 2], "b": [empty, empty], "y": ["p", "q"]})
    with pytest.warns(NullproofWarning, match="left out for lack of any known value: 'b'"):
        assert [*features_of(frame)] == ["a"]
    for table in (pl.from_pandas(frame), pa.Table.from_pandas(frame, preserve_index=False)):
        with pytest.warns(NullproofWarning, match="left out for lack of any known value: 'b'"):
            assert [*features_of(table)] == ["a"]
