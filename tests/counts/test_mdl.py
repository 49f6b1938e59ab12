"""Tables counted with bins that are cut where the label changes: every kind of column, every face."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.odd_tables import many_numbers
from support.one_column import codes_of

from nullproof import CountIndex, certify
from nullproof.estimator import CertifiedNB
from nullproof.tables.bins import ONE_BIN
from nullproof.tables.schema import Feature

LABELS = ["a"] * 6 + ["b"] * 6


def learned(cells: Any, labels: Any = LABELS, **options: Any) -> Feature:
    """The feature that a column becomes beside these labels."""
    table = {"a": cells, "y": labels}
    return CountIndex.from_table(table, "y", **{"binning": "mdl"} | options).schema.features[0]


def test_bins_are_cut_where_the_label_changes() -> None:
    """One cut between the labels; the outer edges are the extremes."""
    feature = learned([*range(12)])
    assert feature.edges == (0, 5.5, 11)
    assert feature.values == ("0–5", "6–11")


def test_a_column_without_a_cut_has_one_bin() -> None:
    """Where no cut pays, and where there is one label, every number is in one bin: holes cannot matter."""
    assert learned([1, 2] * 6).edges == ONE_BIN
    assert learned([*range(12)], ["a"] * 12).edges == ONE_BIN
    assert learned([3] * 12).edges == ONE_BIN
    table = {"a": [1, 2, None] * 4, "b": [0] * 6 + [1] * 6, "y": LABELS}
    index = CountIndex.from_table(table, "y", binning="mdl")
    assert certify(index, {"a": 7, "b": 0}, alpha=0).certain


def test_holes_and_infinities_have_no_part_in_edges() -> None:
    """Edges come from finite known cells alone; infinite ones fall into the end bins."""
    cells = [*map(float, range(12)), math.nan, None, math.inf, -math.inf]
    labels = [*LABELS, "b", "b", "a", "b"]
    table = {"a": pl.Series(cells, dtype=pl.Float64, strict=False), "y": labels}
    index = CountIndex.from_table(pl.DataFrame(table), "y", binning="mdl")
    assert index.schema.features[0].edges == learned([*map(float, range(12))]).edges
    assert index.schema.features[0].values == ("[0, 5.5)", "[5.5, 11]")
    assert index.exact(0)[:-1].tolist() == [[6, 1], [1, 6]]
    assert codes_of(index, [math.inf, -math.inf, None]) == [1, 0, 4]
    assert learned([math.inf, -math.inf] * 6).edges == ONE_BIN


def test_kinds_of_columns() -> None:
    """Dates, decimals and huge integers are cut on the line that bins compare on; booleans never."""
    days = [dt.date(2020, 1, 1) + dt.timedelta(k) for k in range(12)]
    assert learned(days).values == (
        "[2020-01-01, 2020-01-06 12:00:00)",
        "[2020-01-06 12:00:00, 2020-01-12]",
    )
    assert learned([Decimal(k) / 4 for k in range(12)]).edges == (0, 1.375, 2.75)
    huge = [10**30 + k * 10**28 for k in range(12)]
    low, cut, high = learned(huge).edges
    assert (low, high) == (1e30, float(huge[-1]))
    assert huge[5] < cut <= huge[6]
    # No double lies between these.
    assert learned([2**60 + k for k in range(12)]).edges == ONE_BIN
    assert learned([10**400 + k for k in range(12)]).edges == ONE_BIN
    assert learned([False] * 6 + [True] * 6).values == ("false", "true")
    assert learned([0] * 6 + [1] * 6).edges == (0, 0.5, 1)


def test_moments_that_no_double_parts() -> None:
    """Far from 1970 doubles are microseconds apart: cells fall where comparing with the edges puts them."""
    far = np.datetime64("9000-01-01T00:00:00.000001", "us")
    for step in (1, 7, 1000):
        cells = far + np.arange(12) * step
        index = CountIndex.from_table(pl.DataFrame({"a": cells, "y": LABELS}), "y", binning="mdl")
        edges = index.schema.features[0].edges
        whole = cells.astype(np.int64).tolist()
        if step == 1:
            assert edges == ONE_BIN
        for edge in edges[1:-1]:
            assert any(a < edge <= b for a, b in pairwise(whole))
        if step == 1000:
            assert index.exact(0)[:-1].tolist() == [[6, 0], [0, 6]]


def test_candidates_have_no_part_in_edges() -> None:
    """A cell with several candidates tells no number; the candidates fall into the bins of the others."""
    cells: list[Any] = [[k] for k in range(12)] + [[0, 11], [3, 4]]
    index = CountIndex.from_table(
        pl.DataFrame({"a": cells, "y": [*LABELS, "a", "b"]}), "y", binning="mdl"
    )
    assert index.schema.features[0].edges == (0, 5.5, 11)
    assert list(index.sets[0]) == [(0, 1)]
    assert index.exact(0)[:-1].tolist() == [[6, 1], [0, 6]]


def test_each_column_its_own() -> None:
    """A mapping names the binning of columns, the star that of the rest; declared values are not cut."""
    table = {name: [0, 1, 2] * 2 + [3, 4, 5] * 2 for name in "abcd"} | {"y": LABELS}
    how: dict[str, Any] = {"a": "mdl", "b": "none", "*": "uniform"}
    index = CountIndex.from_table(table, "y", binning=how, bins=3, domains={"d": [50]})
    assert [len(f.edges) for f in index.schema.features] == [3, 0, 4, 0]
    plain = CountIndex.from_table(table, "y", binning={"a": "uniform"}, bins=3)
    assert [len(f.edges) for f in plain.schema.features] == [4, 3, 3, 3]


def test_another_part_takes_the_edges_over() -> None:
    """With like, edges are those of the index given, whatever the labels of the part say."""
    whole = many_numbers().drop("cents")
    index = CountIndex.from_table(whole, "label", binning="mdl")
    parts = CountIndex.from_table(whole[:100], "label", like=index)
    assert parts + CountIndex.from_table(whole[100:], "label", like=index) == index


@pytest.mark.parametrize(
    "convert", [pl.DataFrame.to_pandas, pl.DataFrame.to_arrow, pl.DataFrame.lazy]
)
def test_every_library_gives_the_same_index(convert: Any) -> None:
    """Thousands of numbers are cut between the same cells, in any order of rows."""
    table = many_numbers().drop("cents", "day")
    index = CountIndex.from_table(table, "label", binning="mdl")
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=5)
    assert CountIndex.from_table(convert(shuffled), "label", binning="mdl") == index


def test_nanoseconds_are_cut_down_alike() -> None:
    """Time stamps of nanoseconds, before 1970 too, have the places of whole microseconds everywhere."""
    import duckdb

    rng = np.random.default_rng(0)
    ticks = rng.integers(-3_000_000, 3_000_000, 5000)
    table = pl.DataFrame({"a": ticks, "y": np.where(ticks > 1234, "b", "a")}).with_columns(
        pl.col("a").cast(pl.Datetime("ns"))
    )
    for binning in ("mdl", "quantile"):
        index = CountIndex.from_table(table, "y", binning=binning)
        relation = duckdb.from_arrow(table.to_arrow())
        assert CountIndex.from_table(relation, "y", binning=binning) == index
        assert CountIndex.from_table(table.lazy(), "y", binning=binning) == index


def test_the_estimator_cuts_too() -> None:
    """`fit` cuts by its labels; the first chunk that knows a column fixes its cuts."""
    table = pd.DataFrame({"a": range(12), "b": [math.nan] * 12})
    with pytest.warns(UserWarning, match="left out"):
        model = CertifiedNB(1.0, binning="mdl").partial_fit(table, LABELS, classes=["a", "b", "c"])
    assert model.index_.schema.features[0].edges == (0, 5.5, 11)
    later = pd.DataFrame({"a": range(12), "b": [0.0] * 6 + [8.0] * 6})
    model.partial_fit(later, ["c"] * 6 + ["a"] * 6)
    assert [f.edges for f in model.index_.schema.features] == [(0, 5.5, 11), (0, 4, 8)]
    assert model.predict(later[::11]).tolist() == ["c", "a"]
    assert (
        CertifiedNB(binning={"a": "mdl"}, alpha=0)
        .fit(table.drop(columns="b"), LABELS)
        .score(table.drop(columns="b"), LABELS)
        == 1.0
    )


def test_zero_and_one_equal_to_the_label_are_not_lost() -> None:
    """A column that equals the label tells it, whatever the binning."""
    table = {"a": [0] * 95 + [1] * 5, "y": [0] * 95 + [1] * 5}
    for binning in ("uniform", "quantile", "mdl", "none"):
        index = CountIndex.from_table(table, "y", binning=binning)
        assert index.exact(0)[:-1].tolist() == [[95, 0], [0, 5]]
