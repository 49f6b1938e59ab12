"""Bins: numbers and dates fall where scikit-learn puts them, whatever type they have."""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.preprocessing import KBinsDiscretizer
from support.one_column import codes_of, feature_of

from nullproof import CountIndex, NullproofWarning
from nullproof.tables.bins import bin_codes, bin_edges
from nullproof.tables.schema import Feature
from nullproof.tables.training import decode
from nullproof.tables.values import at_microseconds
from nullproof.tables.values import moment as moment_of


def random_columns(seed: int, count: int) -> list[np.ndarray[Any, Any]]:
    """Draw columns of every shape that bins must stand: whole, tied, constant, huge, tiny."""
    rng = np.random.default_rng(seed)
    columns = []
    for _ in range(count):
        n = int(rng.integers(1, 60))
        scale = 10.0 ** rng.integers(-8, 9)
        columns.append(
            rng.choice(
                np.array(
                    [
                        rng.normal(size=n) * scale,
                        rng.integers(-5, 6, n).astype(float),
                        rng.integers(0, 2, n) * scale,
                        np.full(n, rng.normal() * scale),
                        np.round(rng.normal(size=n), 1),
                        rng.integers(0, 100, n) / 10,
                    ]
                )
            )
        )
    return columns


@pytest.mark.parametrize("bins", [2, 3, 5, 10, 50])
def test_uniform_bins_equal_scikit_learn(bins: int) -> None:
    """Uniform bins are exactly those of KBinsDiscretizer, for new numbers too."""
    seed = 11 + bins
    rng = np.random.default_rng(seed)
    for column in random_columns(seed, 60):
        peer = KBinsDiscretizer(n_bins=bins, strategy="uniform", encode="ordinal")
        with np.errstate(all="ignore"):
            constant = column.min() == column.max()
        if constant:
            with pytest.warns(UserWarning, match="constant"):
                peer.fit(column[:, None])
        else:
            peer.fit(column[:, None])
        new = np.concatenate(
            [column, np.nextafter(column, -np.inf), rng.normal(size=20) * column.std() * 3]
        )
        edges = bin_edges(column, bins, "uniform")
        expected = peer.transform(new[:, None])[:, 0].astype(int)
        assert bin_codes(new, edges).tolist() == expected.tolist(), (seed, column)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64", "float32"])
def test_bins_do_not_depend_on_the_width_of_numbers(dtype: str) -> None:
    """Narrow and wide types of the same numbers fall into the same bins."""
    rng = np.random.default_rng(5)
    column = (rng.random(4000) * 100).astype(dtype)
    wide = column.astype(np.float64)
    edges = bin_edges(column, 7, "uniform")
    assert edges == bin_edges(wide, 7, "uniform")
    on_edge = np.array(edges).astype(dtype)
    for cells in (column, on_edge):
        assert (bin_codes(cells, edges) == bin_codes(cells.astype(np.float64), edges)).all()


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "float64"])
def test_few_numbers_fall_where_many_do(dtype: str) -> None:
    """A number has the same bin alone and among a thousand; NaN has none, and infinite ones the ends."""
    for n_edges in (2, 3, 9, 33, 34):
        edges = tuple(np.linspace(0.1, 100.1, n_edges).tolist())
        cells = np.linspace(0, 110, 1001).astype(dtype)
        cells[: n_edges - 1] = np.array(edges[1:]).astype(dtype)
        if cells.dtype.kind == "f":
            cells[-3:] = math.nan, math.inf, -math.inf
        many = bin_codes(cells, edges)
        few = np.concatenate([bin_codes(part, edges) for part in np.split(cells, 7)])
        assert many.dtype == few.dtype == np.int8
        assert many.tolist() == few.tolist()
        if cells.dtype.kind == "f":
            assert few[-3:].tolist() == [-1, n_edges - 2, 0]


@pytest.mark.filterwarnings("ignore:points lie outside")
def test_points_outside_fall_into_the_end_bins() -> None:
    """Numbers beyond the training range, infinite ones too, belong to the first or the last bin."""
    table = {"a": list(range(11)), "y": [0, 1] * 5 + [0]}
    index = CountIndex.from_table(table, "y", binning="uniform")
    assert codes_of(index, [-5.0, -math.inf, 0.0, 10.0, 11.0, math.inf, None]) == [
        0,
        0,
        0,
        4,
        4,
        4,
        7,
    ]


def test_infinite_training_numbers_fall_into_the_end_bins() -> None:
    """The edges come from finite numbers; infinite ones are counted at the ends."""
    plain = feature_of([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    beyond = feature_of([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, math.inf, -math.inf])
    assert (beyond.edges, beyond.bins) == (plain.edges, plain.bins)
    assert beyond.values == ("[0, 1)", "1", "2", "3", "[4, 5]")
    assert feature_of([math.inf, -math.inf, math.inf]).edges == (-math.inf, math.inf)


def test_empty_bins_are_not_in_the_domain() -> None:
    """A domain is closed: a bin that no training cell falls into is outside, with a notice."""
    index = CountIndex.from_table({"a": [0, 1, 10], "y": [0, 1, 1]}, "y", binning="uniform")
    assert index.schema.features[0].values == ("0–1", "10")
    with pytest.warns(NullproofWarning, match="never shows in 'a'"):
        assert codes_of(index, [5, 0, 10, None]) == [2, 0, 1, 4]


def test_a_constant_column_is_one_bin() -> None:
    """A constant column has a domain of one value, which every number is."""
    index = CountIndex.from_table({"a": [3, 3, 3], "y": [0, 1, 1]}, "y")
    assert index.n_values.tolist() == [1]
    assert codes_of(index, [-100, 3, 100]) == [0, 0, 0]


@pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")
def test_quantile_bins_hold_equally_many_rows() -> None:
    """Quantile bins split distinct numbers evenly."""
    cells = [2.0**k for k in range(20)]
    index = CountIndex.from_table({"a": cells, "y": [0] * 20}, "y", binning="quantile")
    assert index.exact(0)[:, 0].tolist() == [4, 4, 4, 4, 4, 0]
    tied = CountIndex.from_table(
        {"a": [1] * 18 + [2, 3, None], "y": [0] * 21}, "y", bins=2, binning="quantile"
    )
    assert tied.exact(0)[:, 0].tolist() == [20, 0]


@pytest.mark.parametrize("bins", [2, 3, 4, 5])
@pytest.mark.parametrize("beside", [[-1.5e308, 1.5e308], [5e-324, 3.0]])
def test_quantiles_of_numbers_too_far_apart(bins: int, beside: list[float]) -> None:
    """Where the distance of neighbours is no double, edges are what fractions say, in memory or not."""
    cells = sorted([-1.7e308, -1.6e308, 1.6e308, 1.7e308, *beside] * 2)
    table = pl.DataFrame({"a": cells, "y": ["p", "q"] * (len(cells) // 2)})
    found = [
        CountIndex.from_table(one, "y", binning="quantile", bins=bins)
        for one in (table, table.lazy())
    ]
    assert found[0] == found[1]
    edges = found[0].schema.features[0].edges
    for part, edge in zip(range(bins + 1), edges, strict=True):
        place = Fraction(part * (len(cells) - 1), bins)
        low, high = (Fraction(cells[k]) for k in (math.floor(place), math.ceil(place)))
        exact = low + (high - low) * (place - math.floor(place))
        assert abs(Fraction(edge) - exact) <= Fraction(2e-15) * max(abs(low), abs(high))


@pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")
@pytest.mark.parametrize("n_rows", [30, 3000])
@pytest.mark.parametrize("bins", [2, 3, 5])
def test_quantile_bins_keep_few_numbers_apart(bins: int, n_rows: int) -> None:
    """As long as a column has no more numbers than bins, each is a bin, however few rows it has."""
    for numbers in (
        [0.0, 1.0],
        [-1.5, 0.0, 8.0],
        [1e300, 1.1e300, 1.2e300, 1.7e308],
        [4, 5, 6, 7, 9],
    ):
        cells = [*numbers, *[numbers[-1]] * n_rows, math.inf, math.nan]
        feature = feature_of(cells, bins=bins, binning="quantile")
        if len(numbers) > bins:
            continue
        assert bin_codes(np.array(numbers), feature.edges).tolist() == [*range(len(numbers))]
        assert len(feature.values) == len(numbers)
    neighbours = [1.0, math.nextafter(1.0, 2.0)]
    assert feature_of(neighbours * 9, binning="quantile").edges == (1.0, *[neighbours[1]] * 2)


def test_without_bins_every_number_is_a_category() -> None:
    """binning="none" keeps every number, in the order of size; 1 and 1.0 are the same."""
    index = CountIndex.from_table({"a": [10, 2, 2.0, 1.5, None], "y": [0] * 5}, "y", binning="none")
    assert index.schema.features[0].values == ("1.5", "2", "10")
    with pytest.warns(NullproofWarning, match="never shows"):
        assert codes_of(index, [2.0, 10.0, 1.5, 3.0, None]) == [1, 2, 0, 3, 5]


def test_many_bins_are_counted_right() -> None:
    """More bins than are compared one by one give the same codes."""
    cells = np.arange(1000) / 7
    edges = bin_edges(cells, 300, "uniform")
    with_gap = np.append(cells, np.nan)
    expected = [sum(x >= edge for edge in edges[1:-1]) for x in cells.tolist()]
    assert bin_codes(with_gap, edges).tolist() == [*expected, -1]


def test_places_of_dates() -> None:
    """A date has one place on the number line, whatever zone it is written in."""
    moment = dt.datetime(2020, 5, 17, 23, 30, 1, 250)
    assert at_microseconds(moment_of(moment)) == moment
    zone = dt.timezone(dt.timedelta(hours=-7))
    assert moment_of(moment.replace(tzinfo=dt.UTC).astimezone(zone)) == moment_of(moment)
    assert moment_of(dt.date(1970, 1, 2)) == 86_400_000_000


def test_dates_without_bins_are_categories_by_the_day() -> None:
    """Unbinned dates are written as dates and met again as dates or text."""
    days = [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2, 12), None]
    index = CountIndex.from_table({"a": days, "y": [0, 1, 1]}, "y", binning="none")
    assert index.schema.features[0].values == ("2020-01-01", "2020-01-02 12:00:00")
    assert codes_of(index, [days[1], days[0], None]) == [1, 0, 4]
    assert codes_of(index, ["2020-01-01", "2020-01-02 12:00:00"]) == [0, 1]


@pytest.mark.parametrize(
    "edges",
    [
        (1e308, 1.2e308, 1.7e308),
        (-1.7e308, -1.2e308, -1e308),
        (-1.7e308, 0.0, 1.7e308),
        (0, 1, 3),
        (1 + 2**-52, 1 + 2**-51, 1 + 2**-51),
    ],
)
def test_the_value_of_a_bin_lies_in_it(edges: tuple[float, ...]) -> None:
    """What a world fills a hole with falls into its own bin, also where the ends are huge."""
    feature = Feature("n", "number", ("low", "high"), edges, (0, 1))
    values = np.array([decode(feature, code) for code in (0, 1)])
    assert bin_codes(values, edges).tolist() == [0, 1]
    one = Feature("n", "number", ("all",), (-math.inf, math.inf), (0,))
    assert decode(one, 0) == 0.0
