"""Names of rows: a column of the points, or one name for each, in every result."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from nullproof import (
    CountIndex,
    NullproofError,
    NullproofWarning,
    certify,
    cleaning_plan,
    label_odds,
    poison,
    report,
)
from nullproof.radii import radii

ROWS = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
INDEX = CountIndex.from_rows(ROWS, ["yes", "yes", "no", "no"])
CELLS: dict[str, list[Any]] = {
    "x0": ["a", "a", "b"],
    "x1": ["x", "y", "y"],
    "id": ["007", "u", "9"],
}
KEYS = ["007", "u", "9"]


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table])
def test_a_column_names_the_points_in_every_result(make: Callable[..., Any]) -> None:
    """The key stands beside each point, in frames, files and JSON, and survives slices."""
    points = make(CELLS)
    found = certify(INDEX, points, key="id")
    assert list(found.file_columns()["key"]) == KEYS
    assert [point["key"] for point in found.document()["points"]] == KEYS
    assert [*found[1:].columns()["key"]] == KEYS[1:]
    for result in (radii(INDEX, points, key="id"), label_odds(INDEX, points, key="id")):
        assert [point["key"] for point in result.document()["points"]] == KEYS
        assert list(result.file_columns()["key"]) == KEYS
        assert "007" in result._repr_html_()
        assert [str(name) for name in result.to_frame()["key"]] == KEYS
    attack = poison(INDEX, points, key="id", steps=1)
    assert [point["key"] for point in attack.document([])["points"]] == KEYS
    assert cleaning_plan(INDEX, points, key="id").points.names is not None
    told = report(INDEX, points, key="id").document
    assert [point["key"] for point in told["points"]] == KEYS


def test_names_one_by_one_and_of_mappings() -> None:
    """Points without columns are named one by one, mappings by one of their keys."""
    plain = certify(INDEX, [("a", "x"), ("a", "y")], key=[1.0, "second"])
    assert plain.columns()["key"] == ["1", "second"]
    rows = [{"x0": "a", "x1": "x", "id": 7}, {"x0": "a", "x1": "y", "id": None}]
    with pytest.warns(NullproofWarning, match="1 row has no name in 'id'"):
        assert certify(INDEX, rows, key="id").columns()["key"] == ["7", None]


def test_names_of_a_file_stay_as_they_are_written(tmp_path: Path) -> None:
    """A name that looks like a number is the text that it is."""
    pl.DataFrame({**CELLS, "id": ["007", "08", "1.50"]}).write_csv(tmp_path / "points.csv")
    found = certify(INDEX, tmp_path / "points.csv", key="id")
    assert found.columns()["key"] == ["007", "08", "1.50"]


def test_doubtful_names_are_told_and_kept() -> None:
    """Rows that share a name or have none are shown all the same, and a notice says so."""
    points = pl.DataFrame({**CELLS, "id": ["k", "k", None]})
    with pytest.warns(NullproofWarning, match="1 row has no name.*'id' stands for more .*: k"):
        found = certify(INDEX, points, key="id")
    assert found.columns()["key"] == ["k", "k", None]
    names = found.points.names
    assert names is not None
    assert [names.shown(place) for place in range(3)] == ["k", "k", "#2"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        certify(INDEX, pl.DataFrame(CELLS), key="id")


@pytest.mark.parametrize(
    ("points", "key", "reason"),
    [
        (pl.DataFrame(CELLS), "ide", "there is no column 'ide' in the table; did you mean 'id'"),
        (pl.DataFrame(CELLS), "x0", "key is 'x0', which the index counts as a feature"),
        (pl.DataFrame(CELLS), "label", "key is 'label', the label"),
        (pl.DataFrame(CELLS), ["a"], "key has 1 name but there are 3 points"),
        ([("a", "x")], "id", "these points have no column names; give one name per point"),
        (np.array([["a", "x"]]), "id", "these points have no column names"),
    ],
)
def test_mistakes(points: Any, key: Any, reason: str) -> None:
    """One sentence that says what came, what was needed and what to do."""
    with pytest.raises(NullproofError, match=reason):
        certify(INDEX, points, key=key)


def test_what_cannot_be_broken_is_named() -> None:
    """A refusal names points as the results do."""
    rows, labels = [("a", "x")] * 3 + [("b", "y")], [*"111", "0"]
    with pytest.raises(NullproofError, match="no attack can break point 007, u, 9: its label"):
        poison(CountIndex.from_rows(rows, labels), pl.DataFrame(CELLS), key="id", alpha=1000)
