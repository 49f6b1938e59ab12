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
from nullproof.tables.intervals import (
    bin_texts,
    number_text,
    shown_cells,
    shown_in,
    shown_numbers,
    shows_single_values,
    with_bins,
)
from nullproof.tables.schema import Feature
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


def test_an_end_is_above_all_below_and_not_above_the_rest() -> None:
    """The nearest bins on either side count, not those beyond; what begins at an end belongs to it."""
    edges = (0.0, 1.2366, 2.2346, 9.5)
    shown = {0: (0.0, 0.5), 1: (1.237, 2.2345), 2: (3.0, 9.5)}
    assert bin_texts(edges, "number", shown) == {
        0: "[0, 1.237)",
        1: "[1.237, 2.235)",
        2: "[2.235, 9.5]",
    }
    # 171.2 is a number of the bin below, and then the first of the bin above.
    below = {0: (1.0, 171.2), 1: (171.5, 200.5)}
    assert bin_texts((1.0, 171.25, 200.5), "number", below)[0] == "[1, 171.25)"
    above = {0: (1.0, 171.1), 1: (171.2, 200.5)}
    assert bin_texts((1.0, 171.16, 200.5), "number", above)[0] == "[1, 171.2)"


def test_the_ends_of_a_line() -> None:
    """The first is not rounded up, nor the last down, if few digits do; infinite numbers change neither."""
    edges = (0.12364, 0.5, 1.375)
    for least, greatest in ((0.12364, 1.375), (-math.inf, math.inf)):
        shown = {0: (least, 0.25), 1: (0.75, greatest)}
        assert bin_texts(edges, "number", shown) == {0: "[0.1236, 0.5)", 1: "[0.5, 1.38]"}
    # All three ends are 1 in five digits; in so many as tell them apart, the last is 1 still.
    close = (1 - 2e-9, 1 - 1e-9, math.nextafter(1, 0))
    shown = {0: (close[0], 1 - 1.5e-9), 1: (1 - 0.5e-9, close[2])}
    assert bin_texts(close, "number", shown)[1] == "[0.999999999, 1]"


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


def test_extremes_of_whole_numbers_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many cells: doubles alone are looked for beside the edges."""
    monkeypatch.setattr(intervals, "_MANY", 0)
    cells = np.array([2**60 + 1, 2**53 + 1, -(2**53) - 1, 2**60 + 3])
    edges = (-(2.0**60), 2.0**54, 2.0**61)
    expected = {0: (-(2**53) - 1, 2**53 + 1), 1: (2**60 + 1, 2**60 + 3)}
    assert shown_cells(cells, bin_codes(cells, edges), edges) == expected


def test_numbers_that_bins_show() -> None:
    """The extremes in each bin, the last one too; what is missing shows nothing."""
    assert shown_numbers(np.array([3.0, math.nan, 9.0, 7.5, 2.0]), NUMBERS, "number") == {
        0: (2.0, 2.0),
        1: (3.0, 3.0),
        2: (7.5, 9.0),
    }
    days = np.array([START + 3 * DAY, START, START + 12 * DAY])
    assert shown_numbers(days, DAYS, "date") == {
        0: (START, START + 3 * DAY),
        1: (START + 12 * DAY, START + 12 * DAY),
    }


NUMBERS = (0.0, 2.5, 7.5, 10.0)
START = moment(dt.datetime(2020, 1, 1))
DAY = 86_400_000_000
DAYS = (float(START), START + 10.0 * DAY, START + 20.0 * DAY)


@pytest.mark.parametrize(
    ("kind", "edges", "before", "shown", "after"),
    [
        # A bin that came into use, between two others or at an end.
        ("number", NUMBERS, {0: "0–2", 2: "10"}, {1: (4, 4)}, {0: "0–2", 1: "4", 2: "10"}),
        ("number", NUMBERS, {0: "0–2"}, {1: (3, 4)}, {0: "0–2", 1: "[2.5, 7.5)"}),
        ("number", NUMBERS, {0: "0–2"}, {2: (8, 9)}, {0: "0–2", 2: "[7.5, 10]"}),
        ("number", NUMBERS, {1: "4"}, {0: (-0.0, -0.0)}, {0: "0", 1: "4"}),
        # One that shows more than its one number now, and others that show nothing new.
        ("number", NUMBERS, {0: "1", 2: "10"}, {2: (8, 9)}, {0: "1", 2: "[7.5, 10]"}),
        ("number", NUMBERS, {0: "1", 2: "10"}, {0: (0, 0)}, {0: "[0, 2.5)", 2: "10"}),
        ("number", NUMBERS, {0: "1", 2: "10"}, {0: (1, 1), 2: (10, 10)}, {0: "1", 2: "10"}),
        ("number", NUMBERS, {0: "0–2", 2: "10"}, {0: (1, 1)}, {0: "0–2", 2: "10"}),
        ("number", NUMBERS, {0: "-1 to 2"}, {0: (1, 1)}, {0: "-1 to 2"}),
        ("number", NUMBERS, {0: "[0, 2.5)"}, {0: (1, 1)}, {0: "[0, 2.5)"}),
        ("number", (-math.inf, math.inf), {0: "4"}, {0: (2, 2.5)}, {0: "[2, 4]"}),
        ("number", (-math.inf, math.inf), {0: "4"}, {0: (5, 6)}, {0: "[4, 6]"}),
        ("number", (0.0, 2.0**60), {0: "4"}, {0: (5, 6)}, {0: "[0, 1.152921504606847e+18]"}),
        (
            "date",
            DAYS,
            {0: "2020-01-02"},
            {1: (START + 11 * DAY, START + 11 * DAY)},
            {0: "2020-01-02", 1: "2020-01-12"},
        ),
        (
            "date",
            DAYS,
            {0: "2020-01-02"},
            {0: (START, START + 2 * DAY)},
            {0: "[2020-01-01, 2020-01-11)"},
        ),
        ("date", DAYS, {0: "2020-01-02"}, {0: (START + DAY, START + DAY)}, {0: "2020-01-02"}),
        (
            "date",
            (-math.inf, math.inf),
            {0: "2020-01-02"},
            {0: (START + 2 * DAY, START + 3 * DAY)},
            {0: "[2020-01-02, 2020-01-04]"},
        ),
    ],
)
def test_bins_that_came_into_use(
    kind: Any, edges: tuple[float, ...], before: Any, shown: Any, after: Any
) -> None:
    """A new bin is written by its edges or its one number; texts that stay true stay as they are."""
    feature = Feature("f", kind, tuple(before.values()), edges, tuple(before))
    changed = with_bins(feature, shown)
    assert dict(zip(changed.bins, changed.values, strict=True)) == after
    assert list(changed.bins) == sorted(after)


def test_columns_that_show_single_values() -> None:
    """Bins of one number each, all of them; a column without bins has none."""
    for values, edges, single in (
        (("1", "4"), NUMBERS, True),
        (("1", "4–5"), NUMBERS, False),
        (("-3 to -1", "4"), NUMBERS, False),
        (("[1, 2)", "4"), NUMBERS, False),
        (("1", "4"), (), False),
    ):
        assert shows_single_values(Feature("f", "number", values, edges, (0, 1))) is single


def test_huge_whole_numbers_and_negative_zero() -> None:
    """Whole numbers are written out up to 2**53, larger ones with an exponent; zero has no sign."""
    largest = 2.0**53
    assert number_text(largest) == "9007199254740992"
    assert number_text(-largest) == "-9007199254740992"
    assert number_text(largest + 2) == "9007199254740994.0"
    assert number_text(1e300) == "1e+300"
    shown = {0: (-0.0, 3.0), 1: (largest - 1, largest)}
    edges = (0.0, 2.0**52, largest)
    assert bin_texts(edges, "number", shown) == {
        0: f"0–{2**52 - 1}",
        1: f"{2**52}–9007199254740992",
    }
    assert bin_texts(edges, "number", {0: (-0.0, -0.0)}) == {0: "0"}
    assert bin_texts((-1.0, -0.0, 1.0), "number", {1: (-0.0, 0.5)})[1] == "[0, 1]"
    assert bin_texts(edges, "number", {}) == {}


def test_moments_to_the_second() -> None:
    """Seconds are cut off, not rounded, where that keeps the ends apart."""
    edges = (START + 1_999_999.0, START + 5_500_000.0, START + 9_000_001.0)
    texts = bin_texts(edges, "date", {0: (START + 2e6, START + 3e6), 1: (START + 6e6, START + 7e6)})
    assert texts == {
        0: "[2020-01-01 00:00:01, 2020-01-01 00:00:05)",
        1: "[2020-01-01 00:00:05, 2020-01-01 00:00:09]",
    }
    assert [*bin_texts(edges, "date", {1: (START + 6e6, START + 7e6)})] == [1]


def test_the_extremes_of_objects_and_of_cells_in_no_bin() -> None:
    """Cells with a negative code show nothing; a bin of one number shows it twice."""
    codes = np.array([0, -1, 2, 0, 2])
    cells = [5, 1, 2**70, 3, 2**70]
    expected = {0: (3, 5), 2: (2**70, 2**70)}
    whole = np.empty(5, dtype=object)
    whole[:] = cells
    assert shown_in(whole, codes, 3) == expected
    assert shown_in(whole.astype(np.float64), codes, 3) == expected
    small = np.array([5, 1, 8, 3, 8], dtype=np.int8)
    assert shown_in(small, codes, 3) == {0: (3, 5), 2: (8, 8)}
    assert shown_in(small, codes, 4) == {0: (3, 5), 2: (8, 8)}
