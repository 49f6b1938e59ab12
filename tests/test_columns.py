"""Domains and bins: what a column's cells become, when it is learned and when it is met again."""

from __future__ import annotations

import datetime as dt
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.preprocessing import KBinsDiscretizer

from nullproof import CountIndex, NullproofError, NullproofWarning
from nullproof.bins import at_microseconds, bin_codes, bin_edges, interval_texts, microseconds
from nullproof.columns import Column, encode, fit_feature
from nullproof.schema import Feature, is_missing, sort_key, text


def feature_of(cells: Any, **options: Any) -> Feature:
    table = {"a": cells, "y": [k % 2 for k in range(len(cells))]}
    return CountIndex.from_table(table, "y", **options).schema.features[0]


def codes_of(index: CountIndex, cells: Any) -> list[int]:
    return index.encode(pl.DataFrame({"a": cells}, strict=False)).codes[0].tolist()


# Bins ---------------------------------------------------------------------------------------------


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


def test_points_outside_fall_into_the_end_bins() -> None:
    """Numbers beyond the training range, infinite ones too, belong to the first or the last bin."""
    index = CountIndex.from_table({"a": list(range(11)), "y": [0, 1] * 5 + [0]}, "y")
    assert codes_of(index, [-5.0, -math.inf, 0.0, 10.0, 11.0, math.inf, None]) == [0, 0, 0, 4, 4, 4, 6]


def test_infinite_training_numbers_fall_into_the_end_bins() -> None:
    """The edges come from finite numbers; infinite ones are counted at the ends."""
    plain = feature_of([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    assert feature_of([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, math.inf, -math.inf]) == plain
    assert feature_of([math.inf, -math.inf, math.inf]).edges == (-math.inf, math.inf)


def test_empty_bins_are_not_in_the_domain() -> None:
    """A domain is closed: a bin that no training cell falls into is outside, with a notice."""
    index = CountIndex.from_table({"a": [0, 1, 10], "y": [0, 1, 1]}, "y")
    assert index.schema.features[0].values == ("[0, 2)", "[8, 10]")
    with pytest.warns(NullproofWarning, match="never shows in 'a'"):
        assert codes_of(index, [5, 0, 10, None]) == [2, 0, 1, 3]


def test_a_constant_column_is_one_bin() -> None:
    """A constant column has a domain of one value, which every number is."""
    index = CountIndex.from_table({"a": [3, 3, 3], "y": [0, 1, 1]}, "y")
    assert index.n_values.tolist() == [1]
    assert codes_of(index, [-100, 3, 100]) == [0, 0, 0]


def test_quantile_bins_hold_equally_many_rows() -> None:
    """Quantile bins split distinct numbers evenly, and tied numbers stay together."""
    cells = [2.0**k for k in range(20)]
    index = CountIndex.from_table({"a": cells, "y": [0] * 20}, "y", binning="quantile")
    assert index.exact(0)[:, 0].tolist() == [4, 4, 4, 4, 4, 0]
    tied = CountIndex.from_table({"a": [1] * 18 + [2, None], "y": [0] * 20}, "y", binning="quantile")
    assert tied.exact(0)[:, 0].tolist() == [19, 0]


def test_without_bins_every_number_is_a_category() -> None:
    """bins=None keeps every number, in the order of size; 1 and 1.0 are the same."""
    index = CountIndex.from_table({"a": [10, 2, 2.0, 1.5, None], "y": [0] * 5}, "y", bins=None)
    assert index.schema.features[0].values == ("1.5", "2", "10")
    with pytest.warns(NullproofWarning, match="never shows"):
        assert codes_of(index, [2.0, 10.0, 1.5, 3.0, None]) == [1, 2, 0, 3, 4]


def test_many_bins_are_counted_right() -> None:
    """More bins than are compared one by one give the same codes."""
    cells = np.arange(1000) / 7
    edges = bin_edges(cells, 300, "uniform")
    with_gap = np.append(cells, np.nan)
    expected = [sum(x >= edge for edge in edges[1:-1]) for x in cells.tolist()]
    assert bin_codes(with_gap, edges).tolist() == [*expected, -1]


def test_bins_are_written_apart() -> None:
    """Edges that agree in six digits, or in the second, are written with more."""
    close = interval_texts((1.0, 1.0 + 1e-9, 1.0 + 2e-9), "number")
    assert len({*close}) == 2
    start = microseconds(dt.datetime(2020, 1, 1))
    moments = interval_texts((start, start + 10.0, start + 20.0), "date")
    assert moments[1] == "[2020-01-01 00:00:00.000010, 2020-01-01 00:00:00.000020]"


def test_places_of_dates() -> None:
    """A date has one place on the number line, whatever zone it is written in."""
    moment = dt.datetime(2020, 5, 17, 23, 30, 1, 250)
    assert at_microseconds(microseconds(moment)) == moment
    zone = dt.timezone(dt.timedelta(hours=-7))
    assert microseconds(moment.replace(tzinfo=dt.UTC).astimezone(zone)) == microseconds(moment)
    assert microseconds(dt.date(1970, 1, 2)) == 86_400e6


def test_dates_without_bins_are_categories_by_the_day() -> None:
    """Unbinned dates are written as dates and met again as dates or text."""
    days = [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2, 12), None]
    index = CountIndex.from_table({"a": days, "y": [0, 1, 1]}, "y", bins=None)
    assert index.schema.features[0].values == ("2020-01-01", "2020-01-02 12:00:00")
    assert codes_of(index, [days[1], days[0], None]) == [1, 0, 3]
    assert codes_of(index, ["2020-01-01", "2020-01-02 12:00:00"]) == [0, 1]


# Domains ------------------------------------------------------------------------------------------


def test_declared_categories_extend_the_domain() -> None:
    """Categories of a type, used or not, and those of domains belong to the domain."""
    expected = ("a", "b", "c")
    enum = pl.DataFrame({"a": pl.Series(["a", "b"], dtype=pl.Enum(["c", "b", "a"])), "y": [0, 1]})
    for table in (enum, enum.to_pandas()):
        assert CountIndex.from_table(table, "y").schema.features[0].values == expected
    assert feature_of(["a", "b"], domains={"a": ["c", None]}).values == expected
    ordered = pd.DataFrame({"a": pd.Categorical([2, 10], [10, 7, 2], ordered=True), "y": [0, 1]})
    assert CountIndex.from_table(ordered, "y").schema.features[0].values == ("2", "7", "10")


def test_categories_are_counted_as_themselves() -> None:
    """Unused and unsorted categories never shift the counts of others."""
    cells = pd.Categorical(["u", "w", None, "w"], categories=["z", "w", "v", "u"])
    index = CountIndex.from_table(pd.DataFrame({"a": cells, "y": [0, 0, 1, 1]}), "y")
    assert index.schema.features[0].values == ("u", "v", "w", "z")
    assert index.exact(0).tolist() == [[1, 0], [0, 0], [1, 1], [0, 0], [0, 0]]
    assert index.n_null.tolist() == [[0, 1]]


def test_polars_categories_of_other_columns_do_not_count() -> None:
    """polars numbers categories across columns; a column knows only its own."""
    other = pl.Series(["p", "q", "r"], dtype=pl.Categorical)
    cells = pl.Series(["r", None, "u"], dtype=pl.Categorical)
    index = CountIndex.from_table(pl.DataFrame({"o": other, "a": cells, "y": [0, 0, 1]}), "y")
    assert index.schema.features[1].values == ("r", "u")
    assert index.exact(1).tolist() == [[1, 0], [0, 1], [0, 0]]


def test_a_declared_spelling_of_missing_is_no_value() -> None:
    """A category that means missing leaves the domain; the others stay categories."""
    cells = pd.Categorical(["?", "1", "2"], categories=["?", "1", "2", "3"])
    frame = pd.DataFrame({"a": cells, "y": [0, 1, 1]})
    index = CountIndex.from_table(frame, "y", missing=("?",))
    assert index.schema.features[0].values == ("1", "2", "3")
    assert index.n_null.tolist() == [[1, 0]]


def test_domains_of_numbers_dates_and_booleans() -> None:
    """Declared values are compared as the column's own: 01 and 1.0 are the number 1."""
    assert feature_of([1, 2.5], domains={"a": ["01", 3.0, 1]}).values == ("1", "2.5", "3")
    assert feature_of([True, True], domains={"a": ["False", True]}).values == ("false", "true")
    moment = dt.datetime(2020, 1, 1, 12)
    aware = moment.replace(tzinfo=dt.UTC)
    declared = {"a": [dt.date(2021, 1, 1), aware]}
    values = feature_of([moment, dt.datetime(2020, 1, 1)], domains=declared).values
    assert values == ("2020-01-01", "2020-01-01 12:00:00", "2021-01-01")


def test_a_declared_column_without_values_stays() -> None:
    """A column that holds nothing but has a declared domain is counted; an empty domain declares none."""
    index = CountIndex.from_table(
        {"a": [None, None], "b": [1, 2], "y": [0, 1]}, "y", domains={"a": ["u", "v"]}
    )
    assert index.features == ("a", "b")
    assert index.n_null.tolist() == [[1, 1], [0, 0]]
    with pytest.warns(NullproofWarning, match="left out"):
        CountIndex.from_table({"a": [None], "b": [1], "y": [0]}, "y", domains={"a": []})


@pytest.mark.parametrize(
    ("domains", "reason"),
    [
        ({"a": "uv"}, "domains gives 'uv' for 'a'; give a list of values"),
        ({"b": ["u"]}, "domains names the column 'b', which is not among a, y"),
        ({"a": ["u"]}, "domains declares texts for column 'a', which holds numbers"),
    ],
)
def test_bad_domains(domains: Any, reason: str) -> None:
    """A domain is a list of values of the column's kind, for a column there is."""
    with pytest.raises(NullproofError, match=reason):
        feature_of([1, 2], domains=domains)


def test_large_whole_numbers_stay_apart() -> None:
    """Neighbouring integers beyond the precision of floats are different values."""
    large = 2**53
    for cells in ([large, large + 1, large + 2], [large, large + 1, None], [-large - 1, -large, 5]):
        index = CountIndex.from_rows([(cell,) for cell in cells], "abb")
        assert index.n_values[0] == len([c for c in cells if c is not None])
        points = [(cell,) for cell in cells if cell is not None]
        found = index.encode(points).codes[0]
        assert sorted(found.tolist()) == list(range(len(points)))
    huge = pl.DataFrame({"a": [10**30, 1, 10**31], "y": [0, 1, 1]}, schema_overrides={"a": pl.Int128})
    assert CountIndex.from_table(huge, "y").schema.features[0].kind == "number"
    assert CountIndex.from_rows([(10**30,), (1,)], "ab").n_values[0] == 2


# Meeting a column again ---------------------------------------------------------------------------

KINDS: dict[str, tuple[list[Any], list[tuple[list[Any], list[int]]]]] = {
    "number": (
        [0, 10, 5],
        [(["0", " 10", None], [0, 2, 4]), ([True, None], []), (["many", "0"], []), ([None], [4])],
    ),
    "date": (
        [dt.date(2020, 1, 1), dt.date(2020, 1, 11), dt.date(2020, 1, 6)],
        [
            (["2020-01-01", "2020-01-11 00:00:00", None], [0, 2, 4]),
            ([dt.datetime(2020, 1, 1, 5)], [0]),
            (["soon"], []),
            ([5], []),
            ([None], [4]),
        ],
    ),
    "boolean": (
        [True, False, None],
        [(["True", "FALSE", None], [1, 0, 3]), (["yes"], []), ([1, 0], []), ([None], [3])],
    ),
    "category": (
        ["True", "1", "x"],
        [([True, None], [1, 4]), ([1, 1.0], [0, 0]), ([None], [4]), (["x"], [2])],
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_columns_met_in_another_form(kind: str) -> None:
    """A column met again in another form is brought to the form learned, or refused."""
    cells, meetings = KINDS[kind]
    index = CountIndex.from_table(pl.DataFrame({"a": cells, "y": [0, 1, 1]}), "y")
    assert index.schema.features[0].kind == kind
    for met, codes in meetings:
        if codes:
            assert codes_of(index, met) == codes, met
        else:
            with pytest.raises(NullproofError, match="column 'a' holds .*; give the column in the"):
                codes_of(index, met)


def test_the_refusal_names_the_cell_that_does_not_fit() -> None:
    """Among many good cells the message shows the one that is not."""
    index = CountIndex.from_table({"a": [1, 2, 3], "y": [0, 1, 1]}, "y")
    with pytest.raises(NullproofError, match="holds text such as 'oops', but .* holds numbers"):
        codes_of(index, ["1", "2", "oops", "3"])
    with pytest.raises(NullproofError, match="holds dates, but .* holds numbers"):
        codes_of(index, [dt.date(2020, 1, 1)])


def test_candidates_met_in_another_form() -> None:
    """Candidate sets are brought to the form learned as single cells are."""
    numbers = CountIndex.from_table({"a": [0, 10, 5], "y": [0, 1, 1]}, "y")
    points = numbers.encode([({"0", "10"},), ({0, 0.5},), ({0, 5},)])
    assert points.codes[0].tolist() == [5, 0, 6]
    assert points.sets == (((0, 2), (0, 1)),)
    flags = CountIndex.from_table({"a": ["True", "False", "x"], "y": [0, 1, 1]}, "y")
    assert flags.encode([({True, False},)]).sets == (((0, 1),),)
    texts = CountIndex.from_rows([("1",), ("x",)], "ab")
    assert texts.encode([({1, 2},), (1.0,)]).sets == (((0, 2),),)


def test_leading_zeros(tmp_path: Path) -> None:
    """Where TRAIN holds text, TEST keeps its zeros; where it holds numbers, they do not matter."""
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    train.write_text("a,b,y\n01,01,p\n1,2,q\nA1,3,q\n")
    test.write_text("a,b\n1,01\n01,1\n")
    index = CountIndex.from_table(train, "y", bins=None)
    assert index.schema.features[0].values == ("01", "1", "A1")
    assert index.encode(test).codes.tolist() == [[1, 0], [0, 0]]


def test_codes_are_whole_numbers() -> None:
    """Codes met as plain numbers: negative and null are missing, others outside unless whole."""
    index = CountIndex.from_codes(np.array([[0], [2], [1]]), [0, 1, 1])
    with pytest.warns(NullproofWarning, match="never shows"):
        found = index.encode([(0,), (2.0,), (3,), (-7,), (None,), (0.5,), (math.inf,)])
    assert found.codes[0].tolist() == [0, 2, 3, 4, 4, 3, 3]
    with pytest.warns(NullproofWarning, match="never shows"):
        floats = index.encode(np.array([[0.0], [np.nan], [1.5], [2.0]]))
    assert floats.codes[0].tolist() == [0, 4, 3, 2]
    texts = CountIndex.from_codes(np.array([[0], [1]]), [0, 1]).encode(np.array([["1"], ["0"]]))
    assert texts.codes[0].tolist() == [1, 0]


# The parts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1, "1"),
        (1.0, "1"),
        (np.float32(1.5), "1.5"),
        (1e300, "1e+300"),
        (np.int8(-3), "-3"),
        (True, "true"),
        (np.bool_(False), "false"),
        ("01", "01"),
        (dt.date(2020, 1, 2), "2020-01-02"),
        (pd.Timestamp("2020-01-02"), "2020-01-02"),
        (dt.datetime(2020, 1, 2, 3), "2020-01-02 03:00:00"),
        (dt.time(3, 4), "03:04:00"),
        ((1, 2), "(1, 2)"),
    ],
)
def test_values_are_written_in_one_way(value: Any, written: str) -> None:
    """Equal values of different types have the same text."""
    assert text(value) == written


def test_values_have_one_order() -> None:
    """Numbers come by size and before texts; infinite ones are texts."""
    values = ["b", "10", "9", "inf", "-1.5", "a", "nan"]
    assert sorted(values, key=sort_key) == ["-1.5", "9", "10", "a", "b", "inf", "nan"]


@pytest.mark.parametrize("value", [None, math.nan, np.float32("nan"), pd.NA, pd.NaT])
def test_what_is_missing(value: Any) -> None:
    """None, NaN, NA and NaT are missing in every library's spelling."""
    assert is_missing(value)
    assert is_missing(np.datetime64("NaT"))
    assert not is_missing(np.datetime64("2020-01-01"))
    assert not any(map(is_missing, (0, "", "nan", False)))


def test_features_are_shown_readably() -> None:
    """A feature shows its name, its kind and its first values."""
    assert repr(Feature("a", "category", tuple("uvwxyz"))) == (
        "Feature('a', category, 6 values: u, v, w, x, …)"
    )


def test_a_learned_column_is_encoded_as_it_was_learned() -> None:
    """Encoding the training column again gives the codes that learning gave."""
    rng = np.random.default_rng(3)
    for bins in (None, 1, 4, 40):
        numbers = np.where(rng.random(50) < 0.3, np.nan, np.round(rng.normal(size=50), 1))
        column = Column("a", "number", numbers=numbers, sets={0: (1.0, 2.0), 1: (0.1, 0.11)})
        feature, learned = fit_feature(column, bins=bins, binning="uniform")
        again = encode(feature, column)
        assert learned.codes.tolist() == again.codes.tolist()
        assert learned.sets == again.sets
