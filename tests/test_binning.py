"""How numbers and dates are cut into bins: mdl, uniform, quantile and none, against the plain truth."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.preprocessing import KBinsDiscretizer
from support.amounts import SEED
from support.checking import MORE, Options, none_of, wrong_counts
from support.index_view import UNSEEN, bins, edges, quietly, read, values
from support.nasty_tables import typed_column
from support.odd_tables import crowded_numbers, many_numbers
from support.plain_counter import DAY, Column, Kind, Table
from support.storing import polars_series

from nullproof import CertifiedNB, CountIndex, certify

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")
ONE_BIN = (-math.inf, math.inf)
LABELS = ["a"] * 6 + ["b"] * 6
N_COLUMNS = max(25, round(2500 * MORE))


def counted(cells: Any, labels: Any = None, **options: Any) -> CountIndex:
    """Count one column; without labels these tell nothing."""
    labels = [k % 2 for k in range(len(cells))] if labels is None else labels
    return CountIndex.from_table({"a": cells, "y": labels}, "y", weights="equal", **options)


# Against the truth --------------------------------------------------------------------------------


def drawn_column(rng: random.Random) -> tuple[Column, list[str]]:
    """Draw numbers or moments, and labels that follow them more or less, often with ties."""
    n_rows, n_labels = rng.randint(2, 40), rng.randint(1, 4)
    spread, noise = rng.choice((2, 4, 9, 40)), rng.choice((0, 0.1, 0.3, 1))
    sort, shift = rng.randrange(6), rng.choice((0, 0, -7, 2**40))
    steps = [rng.randrange(spread) for _ in range(n_rows)]
    unit = (1, 3600 * 10**9, DAY // 2)[sort % 3]
    made: dict[int, tuple[Kind, str, list[Any]]] = {
        0: ("integer", "int64", [x + shift for x in steps]),
        1: ("float", "float64", [x * rng.choice((1.0, 0.75)) + shift for x in steps]),
        2: ("float", "float64", [x * 10.0 ** rng.choice((-3, 0, 200)) for x in steps]),
        3: ("date", "date32", [x * 40 for x in steps]),
        4: ("stamp", "timestamp[us]", [x * unit * 1000 for x in steps]),
        5: ("stamp", "timestamp[us,UTC]", [x * 1000 + 10**18 for x in steps]),
    }
    kind_, stored, cells = made[sort]
    odd = [None, math.inf, -math.inf, math.nan] if kind_ == "float" else [None]
    cells = [rng.choice(odd) if rng.random() < 0.1 else cell for cell in cells]
    if rng.random() < 0.1:
        cells = [*typed_column(rng, "a", stored, n_rows).cells]
    names = [
        x * n_labels // spread if rng.random() >= noise else rng.randrange(n_labels) for x in steps
    ]
    return Column("a", kind_, tuple(cells), stored), [f"label {k}" for k in names]


@pytest.mark.parametrize("binning", ["mdl", "uniform", "quantile"])
@pytest.mark.parametrize("block", range(4))
def test_random_columns(binning: str, block: int) -> None:
    """Edges, texts and counts of bins are those of the definitions, worked out without rounding."""
    found, n_cut = [], 0
    for number in range(N_COLUMNS // 4):
        seed = f"{SEED}-{binning}-{block}-{number}"
        rng = random.Random(seed)
        column, labels = drawn_column(rng)
        table = Table((column,), Column("y", "text", tuple(labels), "string"))
        options = Options(rng.choice((1, 2, 3, 5, 40)), binning, keep=True)
        frame = pl.DataFrame([polars_series(column), pl.Series("y", labels)])
        if all(cell is None or cell != cell for cell in column.cells):
            continue
        index = CountIndex.from_table(frame, "y", **options.given(table))
        found += [f"seed {seed}: {wrong}" for wrong in wrong_counts(index, table, options)]
        if index.features:
            n_cut += len(values(index)) > 1
    none_of(found)
    assert n_cut > N_COLUMNS // 40


@pytest.mark.parametrize("n_bins", [2, 3, 5, 50])
def test_uniform_bins_equal_scikit_learn(n_bins: int) -> None:
    """Uniform bins are exactly those of KBinsDiscretizer, for new numbers too."""
    rng = np.random.default_rng(11 + n_bins)
    for _ in range(8):
        n, scale = int(rng.integers(2, 60)), 10.0 ** rng.integers(-8, 9)
        for column in (
            rng.normal(size=n) * scale,
            np.append(rng.integers(-5, 6, n), 9.0),
            np.round(rng.normal(size=n), 1),
        ):
            if column.min() == column.max():
                continue
            peer = KBinsDiscretizer(n_bins=n_bins, strategy="uniform", encode="ordinal")
            peer.fit(column[:, None])
            new = np.concatenate([column, np.nextafter(column, -np.inf), rng.normal(size=9) * 9])
            index = counted(column, binning="uniform", bins=n_bins, keep="a")
            written = dict(zip(bins(index), values(index), strict=True))
            expected = [
                written.get(int(b), UNSEEN) for b in peer.transform(new[:, None])[:, 0].tolist()
            ]
            assert read(index, pl.DataFrame({"a": new}))["a"] == expected


def test_quantile_bins_hold_equally_many_rows() -> None:
    """Quantile bins split distinct numbers evenly, few or many, and of ties all go together."""
    for n in (20, 5000):
        cells = np.random.default_rng(n).permutation(n) * 1.5
        index = counted(cells, [0] * n, binning="quantile", keep="a")
        assert index.exact(0)[:-1, 0].tolist() == [n // 5] * 5
    tied = counted([1] * 18 + [2, 3, None], [0] * 21, bins=2, binning="quantile")
    assert tied.exact(0)[:, 0].tolist() == [20, 0]


# Cuts where the label changes ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        # H = 1, gain = 1 > (log2 5 + log2 7 - 2) / 6 = 0.52
        ("aaabbb", (3.5,)),
        # gain = 1 > (log2 1 + log2 7 - 2) / 2 = 0.40
        ("ab", (1.5,)),
        # The best cut leaves 2/3 bits: gain = 0.25 < (log2 2 + log2 7 - (1.84 - 2)) / 3 = 1.32
        ("aba", ()),
        # The best cut is after aa: gain = 0.459 < (log2 5 + log2 7 - (2 - 1.62)) / 6 = 0.79
        ("aababb", ()),
        # gain = 0.252 > (log2 35 + log2 7 - (1.84 - 2)) / 36 = 0.225, but not in half as many rows.
        ("a" * 12 + "b" * 12 + "a" * 12, (12.5, 24.5)),
        ("aaaaaabbbbbbaaaaaa", ()),
        # Three labels: gain = 0.918 > (log2 11 + log2 25 - (4.75 - 2)) / 12 = 0.44, then 4.5 again.
        ("aaaabbbbcccc", (4.5, 8.5)),
        ("aaaa", ()),
        ("a", ()),
    ],
)
def test_cuts_worked_out_by_hand(labels: str, expected: tuple[float, ...]) -> None:
    """The numbers 1, 2, … with these labels are cut there."""
    index = counted([*range(1, len(labels) + 1)], list(labels), keep="a")
    assert edges(index)[1:-1] == expected


def by_counts(table: list[list[int]]) -> tuple[float, ...]:
    """The cuts of the numbers 0, 1, … of which so many rows have each label."""
    rows = [
        (x, label) for x, row in enumerate(table) for label, n in enumerate(row) for _ in range(n)
    ]
    return edges(counted([x for x, _ in rows], [label for _, label in rows]))[1:-1]


def test_ties() -> None:
    """Of equally good cuts the one nearest the middle by rows counts, then the lower one."""
    mirror = [[30, 5], [4, 4], [5, 30]]
    assert by_counts(mirror) == by_counts([row[::-1] for row in mirror]) == (0.5,)
    # The first cut and the last leave the same entropy; after the first the last would not pay.
    assert by_counts([[0, 12, 0], [0, 0, 8], [0, 4, 0], [12, 8, 4]]) == (0.5, 1.5, 2.5)


def test_a_gain_that_hardly_exceeds_its_price_does_not_pay() -> None:
    """Between 2**-37 and 2**-36 bits a row above its price (worked out to 50 digits), it is no gain."""
    for left, right, cuts in (
        ((251_453, 248_572), (248_469, 251_444), ()),
        ((251_453 + 60, 248_572 - 60), (248_469, 251_444), (0.5,)),
    ):
        sizes = [*left, *right]
        frame = pl.DataFrame(
            {
                "a": np.repeat([0, 0, 1, 1], sizes).astype(np.int8),
                "y": np.repeat([0, 1, 0, 1], sizes).astype(np.int8),
            }
        )
        assert edges(CountIndex.from_table(frame, "y"))[1:-1] == cuts


@pytest.mark.parametrize("place", [31_415, 5_000, 19_990])
def test_many_numbers_are_cut_close_to_where_the_label_changes(place: int) -> None:
    """With thousands of numbers the cut is found to one in a thousand rows, wherever they crowd."""
    n = 40_000
    rank = np.arange(n)
    labels = np.where(rank < place, "a", "b")
    for cells in (rank * 1.0, np.exp(rank / 60), np.where(rank < 9_000, rank * 1e-9, rank)):
        index = counted(cells, labels, keep="a")
        cuts = edges(index)[1:-1]
        assert cuts
        assert all(abs(np.searchsorted(cells, cut) - place) <= n / 512 for cut in cuts)
        known = index.exact(0)[:-1]
        assert known.sum() == n
        assert np.minimum(known[:, 0], known[:, 1]).sum() <= n / 512


def test_a_frequent_number_is_told_from_its_neighbours() -> None:
    """A number with many rows is a cell of its own among thousands of others."""
    cells = np.concatenate([np.arange(20_000.0), np.full(3000, 10_000.0)])
    labels = np.concatenate([np.arange(20_000) % 2, np.ones(3000, dtype=int)])
    assert edges(counted(cells, labels, keep="a")) == (0, 9_999.5, 10_000.5, 19_999)


def test_many_labels() -> None:
    """So many labels that three to their number is no double."""
    cells = np.repeat(np.arange(700), 30)
    assert len(edges(counted(cells, cells))) == 701


@pytest.mark.parametrize(
    ("low", "high", "edge"),
    [
        (1.0, 2.0, 1.5),
        (1.0, math.nextafter(1.0, 2.0), math.nextafter(1.0, 2.0)),
        (0.0, 5e-324, 5e-324),
        (-5e-324, 0.0, 0.0),
        (-1.7e308, 1.7e308, 0.0),
        (1e308, 1.5e308, 1.25e308),
    ],
)
@pytest.mark.parametrize("binning", ["mdl", "quantile"])
def test_edges_lie_between_neighbours(low: float, high: float, edge: float, binning: Any) -> None:
    """The middle, or the upper neighbour where no double lies between; never the lower one."""
    index = counted([low] * 6 + [high] * 6, LABELS, binning=binning)
    assert edges(index)[1] == pytest.approx(edge, rel=1e-15, abs=0)
    assert math.copysign(1, edges(index)[1]) == math.copysign(1, edge)
    assert index.exact(0)[:-1].tolist() == [[6, 0], [0, 6]]


# Kinds of columns, and what has no part -----------------------------------------------------------


def test_each_column_its_own() -> None:
    """A mapping names the binning of columns, the star that of the rest; declared values are not cut."""
    table = {name: [0, 1, 2] * 2 + [3, 4, 5] * 2 for name in "abcd"} | {"y": LABELS}
    how: dict[str, Any] = {"a": "mdl", "b": "none", "*": "uniform"}
    index = CountIndex.from_table(table, "y", binning=how, bins=3, domains={"d": [50]})
    assert [len(edges(index, name)) for name in "abcd"] == [3, 0, 4, 0]
    assert values(index, "d") == ("0", "1", "2", "3", "4", "5", "50")
    plain = CountIndex.from_table(table, "y", binning={"a": "uniform"}, bins=3)
    assert [len(edges(plain, name)) for name in "abcd"] == [4, 3, 3, 3]


def test_one_bin_cannot_matter() -> None:
    """Where no cut pays and where there is one number or label, all is one bin, whatever comes."""
    assert edges(counted([1, 2] * 6, LABELS)) == ONE_BIN
    assert edges(counted([*range(12)], ["a"] * 12)) == ONE_BIN
    constant = counted([3] * 12, LABELS)
    assert read(constant, [(-100,), (3,), (99.5,)])["a"] == ["3"] * 3
    table = {"a": [1, 2, None] * 4, "b": [0] * 6 + [1] * 6, "y": LABELS}
    assert certify(CountIndex.from_table(table, "y"), {"a": 7, "b": 0}, alpha=0).certain


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64", "float32", "float64"])
def test_the_type_of_numbers_does_not_matter(dtype: str) -> None:
    """Thousands of numbers of narrow and wide types fall into the same bins; few are typed columns."""
    cells = (np.random.default_rng(5).random(4000) * 100).astype(dtype)
    labels = (cells > 40).astype(int)
    for binning, n_bins in (("uniform", 60), ("quantile", 4), ("mdl", None)):
        options: dict[str, Any] = {"binning": binning, "keep": "a"}
        options |= {} if n_bins is None else {"bins": n_bins}
        index = counted(cells, labels, **options)
        assert counted(cells.astype(np.float64), labels, **options) == index
        assert counted(pd.Series(cells), labels, **options) == index
        some = read(index, pl.DataFrame({"a": cells[:9]}))["a"]
        assert some == read(index, pl.DataFrame({"a": cells}))["a"][:9]


# Many rows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("binning", ["mdl", "quantile"])
def test_thousands_of_numbers_in_every_library(binning: Any) -> None:
    """Numbers and moments are cut between the same cells, whatever the order, library and label names."""
    table = many_numbers().drop("cents", "day")
    index = quietly(table, "label", binning=binning)
    assert min(len(edges(index, name)) for name in index.features) > 2
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=5)
    for one in (shuffled.to_pandas(), shuffled.to_arrow(), shuffled.lazy()):
        assert quietly(one, "label", binning=binning) == index
    renamed = quietly(
        shuffled.with_columns(pl.col("label").replace("low", "z")), "label", binning=binning
    )
    assert all(edges(renamed, name) == edges(index, name) for name in index.features)
    parts = [CountIndex.from_table(part, "label", like=index) for part in (table[:9], table[9:])]
    assert parts[0] + parts[1] == index


def test_so_many_rows_that_bins_are_looked_for_beside_their_edges() -> None:
    """The text of each bin is by the least and the greatest number in it, however many rows there are."""
    table = crowded_numbers(60_000)
    for binning in ("mdl", "uniform"):
        index = quietly(table, "label", binning=binning)
        assert quietly(table.lazy(), "label", binning=binning) == index
        for name in ("real", "skew", "whole"):
            cells = table[name].to_numpy()
            known = cells[~np.isnan(cells)].astype(np.float64)
            inner = np.array(edges(index, name)[1:-1])
            codes = np.searchsorted(inner, known, side="right")
            found = index.exact(index.features.index(name))[:-1].sum(axis=1)
            expected = np.bincount(codes, minlength=len(inner) + 1)
            assert found.tolist() == expected[expected > 0].tolist()
            assert [*bins(index, name)] == np.flatnonzero(expected).tolist()
            for b, written in zip(bins(index, name), values(index, name), strict=True):
                held = known[codes == b]
                assert (held.min() == held.max()) == (
                    written[0] != "[" and "–" not in written[1:] and " to " not in written
                )


# How bins are written -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_texts_are_unique(seed: int) -> None:
    """No two bins of a column have the same text, however close its numbers lie."""
    rng = np.random.default_rng(seed)
    cells = np.round(rng.normal(size=200), int(rng.integers(1, 16)))
    cells = cells * rng.choice([1.0, 1e-9, 1e9, 1e300]) + rng.choice([0.0, 1e6])
    for binning in ("uniform", "quantile"):
        found = values(counted(cells, bins=40, binning=binning, keep="a"))
        assert len({*found}) == len(found) > 0


def later_bins(*chunks: list[float]) -> tuple[str, ...]:
    """The bins of an estimator after it was fitted to chunks of a column."""
    model = CertifiedNB(binning="uniform", weights="equal")
    for chunk in chunks:
        frame = pd.DataFrame({"a": chunk, "b": ["u"] * len(chunk)})
        model.partial_fit(frame, [*"pqpq"][: len(chunk)], classes=["p", "q"])
    return values(model.index_, "a")


def test_bins_that_come_into_use_later() -> None:
    """A new bin is written by its edges or its one number; texts that stay true stay as they are."""
    assert later_bins([0, 1, 10], [4, 4]) == ("0–1", "4", "10")
    assert later_bins([0, 1, 10], [4, 5]) == ("0–1", "[4, 6)", "10")
    assert later_bins([0, 1, 10], [2.5, 3.5], [9]) == ("0–1", "[2, 4)", "[8, 10]")
    assert later_bins([0, 1, 10], [1, 10, 99]) == ("0–1", "[8, 10]")
    assert later_bins([-5, -4, 3, 5], [-4.5], [3]) == ("-5 to -4", "3–5")
    assert later_bins([3, 3], [7]) == ("[3, 7]",)
    assert later_bins([3, 3], [3]) == ("3",)


def test_the_estimator_cuts_too() -> None:
    """`fit` cuts by its labels; the first chunk that knows a column fixes its cuts."""
    table = pd.DataFrame({"a": range(12), "b": [math.nan] * 12})
    model = CertifiedNB(1.0, weights="equal").partial_fit(table, LABELS, classes=["a", "b", "c"])
    assert edges(model.index_, "a") == (0, 5.5, 11)
    later = pd.DataFrame({"a": range(12), "b": [0.0] * 6 + [8.0] * 6})
    model.partial_fit(later, ["c"] * 6 + ["a"] * 6)
    assert [edges(model.index_, name) for name in "ab"] == [(0, 5.5, 11), (0, 4, 8)]
