"""What means missing in files and frames, and what a column is once its holes are found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from nullproof import CountIndex


def features_of(table: Any, **options: Any) -> dict[str, Any]:
    index = CountIndex.from_table(table, "y", **options)
    return {feature.name: feature for feature in index.schema.features}


def counted(tmp_path: Path, written: str, **options: Any) -> CountIndex:
    path = tmp_path / "t.csv"
    path.write_text(written)
    return CountIndex.from_table(path, "y", **options)


pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")
SPELLINGS = ["", "NA", "N/A", "NaN", "null", "NULL", " ", " NA ", " null", '""', '"NA"']


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize(("low", "high", "kind"), [("1", "5", "number"), ("u", "v", "category")])
def test_missing_in_text_files(
    spelling: str, low: str, high: str, kind: str, tmp_path: Path
) -> None:
    """Text files spell missing in many ways, trimmed and in quotes or not."""
    index = counted(tmp_path, f"a,y\n{low},p\n{spelling},q\n{high},q\n")
    (feature,) = index.schema.features
    assert (feature.kind, feature.n_values) == (kind, 2)
    assert index.n_null.tolist() == [[0, 1]]


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
