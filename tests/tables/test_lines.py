"""Columns as lines of numbers or moments: places, distinct ones, quantiles, and what cutting gives."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nullproof.tables.bins import (
    ONE_BIN,
    Binning,
    Rows,
    apart_edges,
    bin_codes,
    bin_edges,
    code_type,
    cut_line,
    distinct,
    extent,
    line,
    places,
    present,
    quantile_edges,
    rounded_down,
    spots_of,
    uniform_edges,
)
from nullproof.tables.intervals import shown_numbers

FAR = 2**53


def objects(cells: list[Any]) -> NDArray[Any]:
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


@pytest.mark.parametrize(
    "n_values", [1, 14, 100, 127, 128, 129, 255, 256, 300, 32_767, 32_768, 40_000]
)
def test_the_narrowest_type_of_codes(n_values: int) -> None:
    """It holds the number of values, and no narrower type does."""
    chosen = code_type(n_values)
    holding = [one for one in (np.int8, np.int16, np.int32) if np.iinfo(one).max >= n_values]
    assert chosen is holding[0]


def test_moments_stay_whole_and_numbers_become_doubles() -> None:
    """Whole microseconds are not rounded, parts of them are cut off; numbers are the nearest doubles."""
    whole = places(np.array([FAR + 1, -FAR - 1]), "date")
    assert (whole.dtype, whole.tolist()) == (np.dtype(object), [FAR + 1, -FAR - 1])
    parts = places(objects([Fraction(7, 2), -Fraction(1, 2), math.nan, 3]), "date").tolist()
    assert parts[:2] == [3, -1]
    assert parts[2] != parts[2]
    assert parts[3] == 3
    narrow = np.array([1, 2], dtype=np.int8)
    assert places(narrow, "number") is narrow
    numbers = places(objects([FAR + 1, 1, math.nan]), "number")
    assert numbers.dtype == np.float64
    assert numbers[:2].tolist() == [FAR, 1]
    moments = np.array([1.5, math.nan])
    assert places(moments, "date") is moments
    assert present(moments).tolist() == [True, False]
    assert present(objects([1, math.nan])).tolist() == [True, False]
    assert present(narrow).tolist() == [True, True]


def test_places_as_doubles_not_above() -> None:
    """Moments are rounded down, to a zero without a sign; numbers are doubles already."""
    cells = [5, FAR, FAR + 1, FAR + 3, -FAR - 1, 0]
    assert rounded_down(objects(cells)).tolist() == [5, FAR, FAR, FAR + 2, -FAR - 2, 0]
    assert math.copysign(1, rounded_down(np.array([-0.0]))[0]) == 1
    assert rounded_down(np.array([3], dtype=np.int8)).tolist() == [3.0]
    assert rounded_down(objects([])).tolist() == []


@pytest.mark.parametrize(
    ("cells", "dtype"),
    [
        ([3, 1, 3, -2], np.int8),
        ([7], np.int64),
        ([-5, -6, -5], np.int64),
        ([0, 2] * 1100, np.int8),
        ([0, 2**40, 0, 5], np.int64),
        ([-(2**40), 2**40], np.int64),
        ([-(2**63), 2**63 - 1, 0], np.int64),
        ([2**63 - 1, 2**63 - 9], np.int64),
        ([2**63, 2**63 - 1], np.uint64),
        ([2**63 + 5, 2**63 + 1, 2**64 - 1, 2**63 + 5], np.uint64),
        ([2**64 - 1, 2**64 - 2], np.uint64),
        ([1.5, -0.5, 1.5], np.float64),
        ([], np.int64),
        ([], np.float64),
        ([FAR + 1, 2**90, FAR, FAR + 1], object),
    ],
)
def test_distinct_numbers_in_order(cells: list[Any], dtype: Any) -> None:
    """Each number once, by size, and the place of every cell among them."""
    found, which = distinct(objects(cells) if dtype is object else np.array(cells, dtype=dtype))
    assert found.tolist() == sorted({*cells})
    assert which.dtype == np.int32
    assert [sorted({*cells})[place] for place in which] == cells


def test_distinct_cells_with_holes() -> None:
    """Objects have no place where they are NaN; among doubles NaN is the last of the numbers."""
    found, which = distinct(objects([FAR + 1, math.nan, 3]))
    assert (found.tolist(), which.tolist()) == ([3, FAR + 1], [1, -1, 0])
    doubles, which = distinct(np.array([5.0, math.nan, 3.0]))
    assert doubles[:2].tolist() == [3.0, 5.0]
    assert math.isnan(doubles[2])
    assert which.tolist() == [1, 2, 0]


def test_one_bin_is_the_whole_line() -> None:
    """From minus infinity to infinity."""
    assert bin_edges(np.array([3.0]), 5, "uniform") == (-math.inf, math.inf)


def test_numbers_fall_into_bins_as_doubles_and_moments_as_they_are() -> None:
    """FAR + 3 is FAR + 4 as a double: such a number is in the bin from there on, such a moment is not."""
    for inner in ([FAR + 4.0], [*range(40), FAR + 4.0]):
        edges = (-1.0, *inner, 2.0**60)
        for n_rows in (1, 300):
            pair, last = [FAR + 3, FAR + 2] * n_rows, len(inner)
            for cells in (np.array(pair), objects(pair)):
                assert bin_codes(cells, edges).tolist() == [last, last - 1] * n_rows
                assert bin_codes(cells, edges, "date").tolist() == [last - 1, last - 1] * n_rows


def test_a_line_of_numbers() -> None:
    """Infinite and missing cells have no place; whole numbers that no double parts have the same."""
    values, which, held = line(np.array([2.5, math.inf, -1.0, math.nan, 2.5]), "number")
    assert (values.tolist(), which.tolist()) == ([-1.0, 2.5], [1, 0, 1])
    assert held.tolist() == [True, False, True, False, True]
    for sign in (1, -1):
        values, which, held = line(np.array([FAR + 1, FAR, 3]) * sign, "number")
        assert sorted(values.tolist()) == sorted([3.0 * sign, float(FAR) * sign])
        assert values[which].tolist() == [FAR * sign, FAR * sign, 3 * sign]
        assert held.all()
    for cells in (np.array([FAR + 1, FAR]), objects([FAR + 1, FAR])):
        values, which, held = line(cells, "date")
        assert (values.tolist(), which.tolist()) == ([FAR, FAR], [1, 0])
        assert held.all()
    values, which, held = line(objects([5, math.nan]), "date")
    assert (values.tolist(), which.tolist(), held.tolist()) == ([5.0], [0], [True, False])


def test_all_numbers_apart() -> None:
    """Edges in the middle of neighbours; one bin where no double parts two numbers."""
    for cells, expected in (
        ([], ONE_BIN),
        ([3.0], ONE_BIN),
        ([1.0, 1.0], ONE_BIN),
        ([1.0, 2.0], (1.0, 1.5, 2.0)),
        ([1.0, 1.0, 2.0], (1.0, 1.5, 2.0)),
        ([1.0, 2.0, 2.0], (1.0, 1.5, 2.0)),
        ([1.0, 2.0, 4.0, 8.0], (1.0, 1.5, 3.0, 6.0, 8.0)),
    ):
        assert apart_edges(np.array(cells)) == expected


@pytest.mark.parametrize(
    ("low", "high"),
    [(-1.7e308, 1.7e308), (1e308, 1.7e308), (0.0, 7 * 5e-324), (-0.0, 1.0), (3, 10)],
)
def test_edges_of_equal_width(low: float, high: float) -> None:
    """From the least to the greatest number at equal distances, huge and tiny ones alike."""
    for bins in (1, 2, 5):
        edges = uniform_edges(low, high, bins)
        exact = [
            Fraction(low) + k * (Fraction(high) - Fraction(low)) / bins for k in range(bins + 1)
        ]
        tiny = bins * Fraction(5e-324) if high < 1 else 0
        for edge, true in zip(edges, exact, strict=True):
            assert abs(Fraction(edge) - true) <= abs(true) * Fraction(1, 2**50) + tiny
        assert (edges[0], edges[-1]) == (low, high)
        assert math.copysign(1, edges[0] or 1.0) == math.copysign(1, low or 1.0)
    assert math.copysign(1, uniform_edges(-0.0, 1.0, 1)[0]) == 1


def test_no_edge_is_a_negative_zero() -> None:
    """A zero without a sign stands for it, so that equal edges are also written alike."""
    assert str(uniform_edges(-2.0, -0.0, 2)) == "(-2.0, -1.0, 0.0)"
    cells = np.array([-2.0, -1.0, -0.0])
    binnings: tuple[Binning, ...] = ("uniform", "quantile")
    for binning in binnings:
        assert str(bin_edges(cells, 2, binning)) == "(-2.0, -1.0, 0.0)"
    grouped = bin_edges(cells, 2, "quantile", rows=Rows(weights=np.ones(3, int)))
    assert str(grouped) == "(-2.0, -1.0, 0.0)"


def test_ends_of_numbers() -> None:
    """The least and the greatest but for NaN; uniform bins look at finite numbers alone."""
    assert extent(np.array([3.0, math.nan, -1.0])) == (-1.0, 3.0)
    assert all(map(math.isnan, extent(np.array([]))))
    for odd in ([math.inf], [-math.inf], [math.inf, -math.inf], [math.nan], []):
        cells = np.array([0.0, 4.0, *odd])
        assert bin_edges(cells, 2, "uniform") == (0.0, 2.0, 4.0)
        assert bin_edges(np.array([3.0, 3.0, *odd]), 2, "uniform") == ONE_BIN
        assert bin_edges(np.array([0.0, *odd]), 2, "uniform") == ONE_BIN


@pytest.mark.parametrize("bins", [1, 2, 3, 4, 7])
def test_quantiles_of_groups_are_those_of_their_rows(bins: int) -> None:
    """Numbers with weights have the quantiles that NumPy gives for all rows, if there are many numbers."""
    rng = np.random.default_rng(bins)
    for _ in range(30):
        values = np.unique(np.round(rng.normal(size=int(rng.integers(bins + 1, 30))), 2))
        counts = rng.integers(1, 6, len(values))
        cells = np.repeat(values, counts)
        expected = tuple(np.unique(np.quantile(cells, np.linspace(0, 1, bins + 1))).tolist())
        found = quantile_edges(values, np.cumsum(counts), int(counts.sum()), bins)
        assert found == pytest.approx(expected, abs=1e-12)
        order = rng.permutation(len(values))
        grouped = bin_edges(values[order], bins, "quantile", rows=Rows(weights=counts[order]))
        odd = np.append(cells, [math.nan, math.inf])
        if len(values) > bins:
            assert bin_edges(rng.permutation(odd), bins, "quantile") == expected
            assert grouped == found
        else:
            assert grouped == apart_edges(values)


@pytest.mark.parametrize(("low", "high"), [(-1.5e308, 1e308), (-1.7e308, 1.7e308), (-1.5, 1.0)])
def test_quantiles_between_two_numbers(low: float, high: float) -> None:
    """They part the distance, also where that is no double."""
    found = quantile_edges(np.array([low, high]), np.array([1, 2]), 2, 4)
    width = Fraction(high) - Fraction(low)
    expected = [float(Fraction(low) + Fraction(k, 4) * width) for k in range(5)]
    assert found == pytest.approx(expected, rel=1e-14)


def test_quantiles_of_few_numbers_first() -> None:
    """Whatever the first rows hold, edges are those of all rows."""
    for n_first in (150, 201, 250):
        cells = np.concatenate([np.ones(n_first), np.arange(50.0)])
        expected = tuple(np.unique(np.quantile(cells, [0, 0.5, 1])).tolist())
        assert bin_edges(cells, 2, "quantile") == expected
        assert (
            bin_edges(cells, 2, "quantile", rows=Rows(weights=np.ones(len(cells), int))) == expected
        )
        few = np.where(np.arange(len(cells)) < n_first, 1.0, 2.0)
        assert bin_edges(few, 2, "quantile") == (1.0, 1.5, 2.0)


def drawn_line(rng: np.random.Generator, kind: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """A column of one kind whose cells follow its labels."""
    labels = rng.integers(0, 3, 60)
    numbers = labels * 10 + rng.integers(0, 12, 60)
    cells: NDArray[Any] = numbers.astype(np.float64) / 4
    if kind == "odd numbers":
        cells[rng.integers(0, 60, 6)] = rng.choice([math.nan, math.inf, -math.inf], 6)
    elif kind == "whole numbers":
        cells = numbers.astype(np.int16)
    elif kind == "objects":
        cells = objects([FAR + int(x) if x % 5 else math.nan for x in numbers])
    elif kind == "moments":
        cells = numbers + FAR
    elif kind == "moments with holes":
        cells = objects([FAR + int(x) if x % 5 else math.nan for x in numbers])
    elif kind == "far moments":
        cells = objects([2**61 + 1000 * int(x) if x % 5 else math.nan for x in numbers])
    return cells, labels


KINDS = ["numbers", "odd numbers", "whole numbers", "objects", "moments", "moments with holes"]


@pytest.mark.parametrize("sort", [*KINDS, "far moments"])
def test_cut_columns(sort: str) -> None:
    """Codes are those of the edges, ends show what the cells show, weights stand for rows."""
    rng = np.random.default_rng(len(sort))
    kind: Any = "date" if "moments" in sort else "number"
    n_cut = 0
    for _ in range(20):
        cells, labels = drawn_line(rng, sort)
        found = cut_line(cells, kind, Rows(labels))
        codes = bin_codes(cells, found.edges, kind)
        assert found.codes.tolist() == codes.tolist()
        assert shown_numbers(found.ends, found.edges, kind) == shown_numbers(
            cells, found.edges, kind
        )
        weights = rng.integers(1, 4, len(cells))
        weighed = cut_line(cells, kind, Rows(labels, weights))
        repeated = cut_line(np.repeat(cells, weights), kind, Rows(np.repeat(labels, weights)))
        assert weighed.edges == repeated.edges
        assert weighed.codes.tolist() == bin_codes(cells, weighed.edges, kind).tolist()
        finite = spots_of(cells, kind)[0]
        if found.edges != ONE_BIN:
            n_cut += 1
            ends = rounded_down(finite if finite.dtype.kind == "f" else finite.astype(object))
            assert (found.edges[0], found.edges[-1]) == (ends.min(), ends.max())
        if sort == "far moments":
            assert found.ends is cells
        elif kind == "date":
            assert found.ends.dtype == np.int64
    assert n_cut > 10
    nothing = objects([math.nan] * 3) if kind == "date" else np.full(3, math.nan)
    empty = cut_line(nothing, kind, Rows(np.array([0, 1, 0])))
    assert (empty.edges, empty.codes.tolist(), empty.ends) == (ONE_BIN, [-1] * 3, nothing)


def test_moments_are_whole_numbers_as_long_as_these_fit() -> None:
    """Below 2**61 microseconds differences fit into 64 bits; beyond, moments are doubles not above."""
    for cells, dtype in (
        ([2**61 - 1, -(2**61) + 1], np.int64),
        ([5, 2**61], np.float64),
        ([5, -(2**61)], np.float64),
        ([5, 2**70], np.float64),
        ([123, 5], np.int64),
        ([], np.int64),
    ):
        spots, held = spots_of(objects([*cells, math.nan]), "date")
        assert spots.dtype == dtype
        assert held.tolist() == [*[True] * len(cells), False]
        assert spots.tolist() == (
            cells if dtype is np.int64 else rounded_down(objects(cells)).tolist()
        )
    numbers = np.array([1.0, math.inf, math.nan])
    spots, held = spots_of(numbers, "number")
    assert (spots.tolist(), held.tolist()) == ([1.0], [True, False, False])
    whole = np.array([1.0, 2.0])
    assert spots_of(whole, "number")[0] is whole
    for large in (np.array([FAR + 1, 3]), objects([FAR + 1, 3])):
        spots, held = spots_of(large, "number")
        assert spots.dtype == np.float64
        assert (spots.tolist(), held.tolist()) == ([FAR, 3], [True, True])
    spots, held = spots_of(np.array([1.5, math.inf, math.nan]), "date")
    assert (spots.tolist(), held.tolist()) == ([1.5], [True, False, False])
