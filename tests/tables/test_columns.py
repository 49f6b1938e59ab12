"""Domains and bins: what a column's cells become, when it is learned and when it is met again."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.one_column import codes_of, feature_of

from nullproof import CountIndex, NullproofError, NullproofWarning
from nullproof.tables.columns import Column, encode, fit_feature, widen_feature
from nullproof.tables.kinds import column_of_cells
from nullproof.tables.schema import Feature
from nullproof.tables.values import in_order, is_missing, text

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
    assert feature_of([None, None], domains={"a": [2, 1]}).kind == "number"
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


@pytest.mark.parametrize("dtype", ["int8", "int16", "int64", "uint8", "uint64", "float32"])
def test_whole_numbers_of_every_width(dtype: str) -> None:
    """The ends of a type's range are values like others, as cells and as labels."""
    ends = np.iinfo(dtype) if dtype != "float32" else np.iinfo("int16")
    cells = np.array([ends.min, ends.max, ends.max, ends.max - 1], dtype=dtype)
    index = CountIndex.from_table({"a": cells, "y": cells}, "y", binning="none")
    assert index.label_counts.tolist() == [1, 1, 2]
    assert index.exact(0).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 2], [0, 0, 0]]
    top = np.array([ends.max, ends.max - 1], dtype=dtype)
    assert CountIndex.from_table({"a": top, "y": [0, 1]}, "y", binning="none").n_values[0] == 2


def test_large_whole_numbers_stay_apart() -> None:
    """Neighbouring integers beyond the precision of floats are different values."""
    large = 2**53
    for cells in ([large, large + 1, large + 2], [large, large + 1, None], [-large - 1, -large, 5]):
        index = CountIndex.from_rows([(cell,) for cell in cells], "abb")
        assert index.n_values[0] == len([c for c in cells if c is not None])
        points = [(cell,) for cell in cells if cell is not None]
        found = index.encode(points).codes[0]
        assert sorted(found.tolist()) == list(range(len(points)))
    huge = pl.DataFrame(
        {"a": [10**30, 1, 10**31], "y": [0, 1, 1]}, schema_overrides={"a": pl.Int128}
    )
    assert CountIndex.from_table(huge, "y").schema.features[0].kind == "number"
    assert CountIndex.from_rows([(10**30,), (1,)], "ab").n_values[0] == 2


# Meeting a column again ---------------------------------------------------------------------------

KINDS: dict[str, tuple[list[Any], list[tuple[list[Any], list[int]]]]] = {
    "number": (
        [0, 10, 5],
        [(["0", " 10", None], [0, 2, 5]), ([True, None], []), (["many", "0"], []), ([None], [5])],
    ),
    "date": (
        [dt.date(2020, 1, 1), dt.date(2020, 1, 11), dt.date(2020, 1, 6)],
        [
            (["2020-01-01", "2020-01-11 00:00:00", None], [0, 2, 5]),
            ([dt.datetime(2020, 1, 1, 5)], [0]),
            (["soon"], []),
            ([5], []),
            ([None], [5]),
        ],
    ),
    "boolean": (
        [True, False, None],
        [(["True", "FALSE", None], [1, 0, 4]), (["yes"], []), ([1, 0], []), ([None], [4])],
    ),
    "category": (
        ["True", "1", "x"],
        [([True, None], [1, 5]), ([1, 1.0], [0, 0]), ([None], [5]), (["x"], [2])],
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_columns_met_in_another_form(kind: str) -> None:
    """A column met again in another form is brought to the form learned, or refused."""
    cells, meetings = KINDS[kind]
    index = CountIndex.from_table(
        pl.DataFrame({"a": cells, "y": [0, 1, 1]}), "y", binning="uniform"
    )
    assert index.schema.features[0].kind == kind
    for met, codes in meetings:
        if codes:
            assert codes_of(index, met) == codes, met
        else:
            with pytest.raises(
                NullproofError, match=r"column 'a' holds .*; give the column in the"
            ):
                codes_of(index, met)


def test_the_refusal_names_the_cell_that_does_not_fit() -> None:
    """Among many good cells the message shows the one that is not."""
    index = CountIndex.from_table({"a": [1, 2, 3], "y": [0, 1, 1]}, "y")
    with pytest.raises(NullproofError, match=r"holds text such as 'oops', but .* holds numbers"):
        codes_of(index, ["1", "2", "oops", "3"])
    with pytest.raises(NullproofError, match=r"holds dates, but .* holds numbers"):
        codes_of(index, [dt.date(2020, 1, 1)])


def test_candidates_met_in_another_form() -> None:
    """Candidate sets are brought to the form learned as single cells are."""
    numbers = CountIndex.from_table({"a": [0, 10, 5], "y": [0, 1, 1]}, "y", binning="uniform")
    points = numbers.encode([({"0", "10"},), ({0, 0.5},), ({0, 5},)])
    assert points.codes[0].tolist() == [6, 0, 7]
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
    index = CountIndex.from_table(train, "y", binning="none")
    assert index.schema.features[0].values == ("01", "1", "A1")
    assert index.encode(test).codes.tolist() == [[1, 0], [0, 0]]


def test_codes_are_whole_numbers() -> None:
    """Codes met as plain numbers: negative and null are missing, others outside unless whole."""
    index = CountIndex.from_codes(np.array([[0], [2], [1]]), [0, 1, 1])
    with pytest.warns(NullproofWarning, match="never shows"):
        found = index.encode([(0,), (2.0,), (3,), (-7,), (None,), (0.5,), (math.inf,)])
    assert found.codes[0].tolist() == [0, 2, 3, 5, 5, 3, 3]
    with pytest.warns(NullproofWarning, match="never shows"):
        floats = index.encode(np.array([[0.0], [np.nan], [1.5], [2.0]]))
    assert floats.codes[0].tolist() == [0, 5, 3, 2]
    texts = CountIndex.from_codes(np.array([[0], [1]]), [0, 1]).encode(np.array([["1"], ["0"]]))
    assert texts.codes[0].tolist() == [1, 0]


WIDER: list[tuple[list[Any], list[Any], tuple[str, ...]]] = [
    (["u", "v"], ["v", "z", None], ("u", "v", "z")),
    (["u", "v"], ["u", None], ("u", "v")),
    (["u", "v"], [{"p", "q"}, {"u", "r"}, None], ("p", "q", "r", "u", "v")),
    ([1, 2], [3, {4, 5}, 2.0], ("1", "2", "3", "4", "5")),
    ([True], [False, None], ("false", "true")),
]


@pytest.mark.parametrize(("cells", "more", "values"), WIDER)
def test_domains_are_widened_by_what_they_lack(
    cells: list[Any], more: list[Any], values: tuple[str, ...]
) -> None:
    """A wider domain has the old values and the new ones, those of candidates too, and no others."""
    feature, _ = fit_feature(column_of_cells("a", cells), bins=5, binning="none")
    assert widen_feature(feature, column_of_cells("a", more)).values == values


def test_bins_are_widened_without_moving() -> None:
    """Of a binned column empty bins may come into use; the edges stay."""
    feature, _ = fit_feature(column_of_cells("a", [0, 1, 10]), bins=5, binning="uniform")
    wider = widen_feature(feature, column_of_cells("a", [5, {2.5, 3.5}, None, 99]))
    assert wider.edges == feature.edges
    assert wider.bins == (0, 1, 2, 4)
    assert wider.values == ("0–1", "[2, 4)", "5", "[8, 10]")
    again = widen_feature(wider, column_of_cells("a", [5, 0, None]))
    assert again == wider
    assert widen_feature(wider, column_of_cells("a", [4])).values[2] == "[4, 6)"
    for cells, more, written in (
        ([3, 3], [7], "[3, 7]"),
        ([dt.date(2020, 1, 1)], [dt.date(2019, 1, 1)], "[2019-01-01, 2020-01-01]"),
    ):
        one, _ = fit_feature(column_of_cells("a", cells), bins=5, binning="uniform")
        assert widen_feature(one, column_of_cells("a", more)).values == (written,)


def test_codes_are_widened_to_the_largest() -> None:
    """A domain of codes has all codes up to the largest."""
    feature = Feature("a", "code", ("0", "1"))
    column = Column("a", "number", numbers=np.array([4, -1, 0]))
    assert widen_feature(feature, column).values == ("0", "1", "2", "3", "4")


# The parts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1, "1"),
        (1.0, "1"),
        (np.float32(1.5), "1.5"),
        (1e300, str(int(1e300))),
        (0.1, "0.1"),
        (-0.0, "0"),
        (1e16, "10000000000000000"),
        (2**53 + 1, "9007199254740993"),
        (decimal.Decimal("1.50"), "1.5"),
        (decimal.Decimal(10**30), "1" + "0" * 30),
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
    values = ["b", "10", "9", "inf", "-1.5", "a", "nan", "", "٣", "1e999", " 2 ", "É", "-inf"]
    ordered = ("-1.5", " 2 ", "9", "10", "", "-inf", "1e999", "a", "b", "inf", "nan", "É", "٣")
    assert in_order(values) == ordered


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
    for bins in (0, 1, 4, 40):
        numbers = np.where(rng.random(50) < 0.3, np.nan, np.round(rng.normal(size=50), 1))
        column = Column("a", "number", numbers=numbers, sets={0: (1.0, 2.0), 1: (0.1, 0.11)})
        feature, learned = fit_feature(column, bins=bins, binning="uniform" if bins else "none")
        again = encode(feature, column)
        assert learned.codes.tolist() == again.codes.tolist()
        assert learned.sets == again.sets
