"""Engines must find the NaN in files that are known to hold some, or they are refused by name."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import polars as pl
import pytest

from nullproof import CountIndex, NullproofError
from nullproof.counts.engines import guards
from nullproof.counts.engines.keys import LazyColumn

FLOATS = pl.DataFrame({"x": [1.0, 2.0, None], "y": ["a", "b", "a"]})


def _duckdb(frame: pl.DataFrame) -> Any:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    return duckdb.from_arrow(frame.to_arrow())


@pytest.fixture(autouse=True)
def _forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "_trusted", set())


@pytest.mark.parametrize("lazy", [_duckdb, pl.DataFrame.lazy], ids=["duckdb", "polars"])
def test_engines_at_hand_find_the_nan(lazy: Any) -> None:
    """What we ask of engines gets both files right, and each engine is asked once."""
    CountIndex.from_table(lazy(FLOATS), "y")
    assert len(guards._trusted) == 1


@pytest.mark.parametrize("lazy", [_duckdb, pl.DataFrame.lazy], ids=["duckdb", "polars"])
def test_an_engine_that_loses_nan_is_refused_by_name(
    lazy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If an engine takes NaN for a number, nothing is counted."""
    monkeypatch.setattr(LazyColumn, "known", property(lambda self: ~nw.col(self.name).is_null()))
    with pytest.raises(NullproofError, match=r"^(duckdb|polars) [\d.]+ does not find all NaN in a"):
        CountIndex.from_table(lazy(FLOATS), "y")
    with pytest.raises(NullproofError, match="counts cannot be trusted"):
        CountIndex.from_table(lazy(FLOATS), "y", like=CountIndex.from_table(FLOATS, "y"))


def test_tables_without_floats_are_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """Integers and texts have no NaN: the first count of such a table costs nothing more."""
    monkeypatch.setattr(guards, "_EXPECTED", None)
    CountIndex.from_table(pl.LazyFrame({"x": [1, 2], "y": ["a", "b"]}), "y")
