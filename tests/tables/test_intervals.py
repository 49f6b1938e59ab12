"""How bins are written: one number, whole numbers from and to, or an interval."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from support.one_column import feature_of

from nullproof import CountIndex
from nullproof.tables import intervals
from nullproof.tables.bins import bin_codes
from nullproof.tables.intervals import bin_texts, shown_cells, shown_in
from nullproof.tables.values import moment


@pytest.mark.parametrize(
    ("cells", "texts"),
    [
        ([0, 1, 1, 0], ("0", "1")),
        ([0, 4, 5, 9, 10], ("0", "4–5", "8–10")),
        ([16, 17, 32, 33, 66], ("16–25", "26–35", "66")),
        ([-5, -4, 3, 5], ("-5 to -4", "3–5")),
        ([-6, -5, 0, 1, 4], ("-6 to -5", "0–1", "4")),
        ([1.0, 1.0, 2.0, 11.0], ("1–2", "11")),
        ([0.5, 0.6, 2.5, 5.5], ("[0.5, 1.5)", "2.5", "5.5")),
        ([0, 1.25, 2, 9, 10], ("[0, 2)", "2", "[8, 10]")),
        ([7, 7, None], ("7",)),
        ([1e300, 1e300, 2e300], ("1e+300", "2e+300")),
        ([2**53 - 1, 2**53 - 1], (str(2**53 - 1),)),
        ([0.1234567, 0.1234568, 2, 3], ("[0.123, 0.699)", "2", "3")),
        ([math.inf, 1, 1], ("[1, inf]",)),
        ([math.inf, math.inf], ("inf",)),
    ],
)
def test_uniform_bins_as_people_write_them(cells: list[Any], texts: tuple[str, ...]) -> None:
    """Five bins of equal width; only those that the table shows are values."""
    assert feature_of(cells).values == texts


def test_ends_part_what_the_table_shows() -> None:
    """An end gets digits until it lies between its neighbours, five at most."""
    shown = {0: (1.0, 171.0), 1: (171.5, 200.5)}
    assert bin_texts((1.0, 171.25, 200.5), "number", shown) == {
        0: "[1, 171.2)",
        1: "[171.2, 200.5]",
    }
    close = {0: (1.0, 171.2499999), 1: (171.2500001, 200.5)}
    assert bin_texts((1.0, 171.25, 200.5), "number", close)[0] == "[1, 171.25)"
    closer = {0: (1.0, 171.2456780), 1: (171.2456782, 200.5)}
    assert bin_texts((1.0, 171.2456781, 200.5), "number", closer)[0] == "[1, 171.25)"


def test_ends_that_look_alike_get_more_digits() -> None:
    """Edges that agree in five digits are written with more, so that no two bins look the same."""
    edges = (1.0, 1.0 + 1e-9, 1.0 + 2e-9, 2.0)
    shown = {0: (1.0, 1.0 + 0.5e-9), 1: (1.0 + 1.1e-9, 1.0 + 1.5e-9), 2: (1.0 + 3e-9, 2.0)}
    texts = bin_texts(edges, "number", shown)
    assert texts == {0: "[1, 1.000000001)", 1: "[1.000000001, 1.000000002)", 2: "[1.000000002, 2]"}


def test_moments() -> None:
    """One moment is written as itself, others as intervals, to the second or the microsecond."""
    start = moment(dt.datetime(2020, 1, 1))
    edges = (float(start), start + 10.0, start + 20.0)
    shown = {0: (start, start + 5), 1: (start + 15, start + 15)}
    assert bin_texts(edges, "date", shown) == {
        0: "[2020-01-01, 2020-01-01 00:00:00.000010)",
        1: "2020-01-01 00:00:00.000015",
    }
    day = 86_400_000_000
    wide = (float(start), start + 10.5 * day, start + 21.0 * day)
    assert bin_texts(
        wide, "date", {0: (start, start + day), 1: (start + 11 * day, start + 21 * day)}
    ) == {
        0: "[2020-01-01, 2020-01-11 12:00:00)",
        1: "[2020-01-11 12:00:00, 2020-01-22]",
    }
    one = (-math.inf, math.inf)
    assert bin_texts(one, "date", {0: (start, start + day)}) == {0: "[2020-01-01, 2020-01-02]"}


def test_one_bin_is_written_from_its_least_to_its_greatest_number() -> None:
    """Where no cut pays, the one bin has no edges to write."""
    labels = [0, 1] * 6
    whole = CountIndex.from_table({"a": [*range(3, 15)], "y": labels}, "y", binning="mdl")
    assert whole.schema.features[0].values == ("3–14",)
    half = CountIndex.from_table({"a": np.arange(12) / 8, "y": labels}, "y", binning="mdl")
    assert half.schema.features[0].values == ("[0, 1.38]",)


@pytest.mark.parametrize("seed", range(30))
def test_texts_are_unique(seed: int) -> None:
    """No two bins of a column have the same text, however close its numbers lie."""
    rng = np.random.default_rng(seed)
    cells = np.round(rng.normal(size=200), int(rng.integers(1, 16)))
    cells = cells * rng.choice([1.0, 1e-9, 1e9, 1e300]) + rng.choice([0.0, 1e6])
    for binning in ("uniform", "quantile"):
        feature = feature_of(cells, bins=40, binning=binning)
        assert len({*feature.values}) == feature.n_values > 0


def test_candidates_are_shown_too() -> None:
    """A candidate is a number that the table shows."""
    rows = {"a": [[0], [1, 3, 4], [11]], "y": ["a", "b", "a"]}
    index = CountIndex.from_table(pl.DataFrame(rows), "y", binning="uniform")
    assert index.schema.features[0].values == ("0–2", "3–4", "11")


def test_extremes_of_bins_are_found_beside_their_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever way is taken, each bin shows its least and its greatest number; an empty one shows none."""
    monkeypatch.setattr(intervals, "_MANY", 0)
    monkeypatch.setattr(intervals, "_SAMPLE", 3)
    rng = np.random.default_rng(0)
    odd = [math.nan, math.inf, -math.inf, -0.0, 1.0]
    for _ in range(300):
        cells = rng.choice([*odd, *rng.normal(size=6)], rng.integers(3, 30))
        inner = np.unique(rng.choice([1.0, 0.0, *rng.normal(size=4)], rng.integers(0, 6)))
        edges = (-3.0, *inner.tolist(), 3.0)
        codes = bin_codes(cells, edges)
        assert shown_cells(cells, codes, edges) == shown_in(cells, codes, len(edges) - 1)
