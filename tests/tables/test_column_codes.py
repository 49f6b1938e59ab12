"""Columns function by function: arrays that keep numbers apart, learned domains, codes, wider domains."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from nullproof import NullproofError
from nullproof.tables.bins import Rows, code_type
from nullproof.tables.columns import (
    Column,
    encode,
    encode_numbers,
    encode_set,
    fit_feature,
    n_outside,
    number_array,
    without_cells,
)
from nullproof.tables.schema import Feature

NAN = math.nan
LARGE = 2**53
DAY = 86_400_000_000


def numbers(*cells: Any, sets: Any = None, kind: Any = "number") -> Column:
    return Column("a", kind, numbers=np.array(cells), sets=sets or {})


def texts(codes: list[int], values: list[str], **more: Any) -> Column:
    return Column("a", more.pop("kind", "category"), codes=np.array(codes), values=values, **more)


def learned(column: Column, **options: Any) -> tuple[Feature, list[int], dict[int, Any]]:
    """What a column teaches: the feature, the codes and the sets."""
    wanted: Any = {"bins": 5, "binning": "none"} | options
    feature, encoded = fit_feature(column, **wanted)
    return feature, encoded.codes.tolist(), encoded.sets


# Arrays -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([1, -2, 200], "i"),
        ([2**63 - 1, 1 - 2**63], "i"),
        ([2**63, 1], "O"),
        ([2**64 + 1, 2**64], "O"),
        ([1, None], "f"),
        ([1, 2.5], "f"),
        ([0.5, None], "f"),
        ([LARGE, None, -LARGE], "f"),
        ([LARGE + 1, None], "O"),
        ([1, -LARGE - 1, None], "O"),
        ([LARGE + 1, LARGE + 2, 0.5, 3], "O"),
        ([Fraction(1, 3), 1], "O"),
        ([Fraction(1, 3), Fraction(2, 3), None], "O"),
        ([], "i"),
    ],
)
def test_numbers_are_kept_apart(cells: list[Any], kind: str) -> None:
    """The array holds the very numbers, as integers or doubles where these can, and NaN for None."""
    found = number_array(cells)
    assert found.dtype.kind == kind
    assert len(found) == len(cells)
    for cell, number in zip(cells, found.tolist(), strict=True):
        assert number != number if cell is None else number == cell


def test_numbers_lose_cells() -> None:
    """Cells that are lost are NaN, the others what they were, in their own precision."""
    gone = np.array([False, True, False])
    for cells in ([LARGE + 1, 5, LARGE + 3], [1, 2, 3], [0.5, 1.5, 2.5]):
        found = without_cells(number_array(cells), gone).tolist()
        assert (found[0], found[2]) == (cells[0], cells[2])
        assert found[1] != found[1]
    single = without_cells(np.array([0.1, 0.2, 0.3], dtype=np.float32), gone)
    assert single.dtype == np.float32
    assert single[[0, 2]].tolist() == np.array([0.1, 0.3], dtype=np.float32).tolist()


def test_columns_know_their_cells_and_rows() -> None:
    """A column of numbers or of codes tells its length, its known cells, and some of its rows."""
    column = numbers(1.0, NAN, 3.0, NAN, sets={3: (1.0, 2.0)})
    words = texts([0, -1, 1, -1], ["u", "v"], sets={1: ("u", "v")})
    for own, last in ((column, {2: (1.0, 2.0)}), (words, {0: ("u", "v")})):
        assert len(own) == 4
        assert own.known.tolist() == [True, False, True, False]
        some = own.rows(np.array([1, 2, 3]))
        assert len(some) == 3
        assert some.known.tolist() == [False, True, False]
        assert some.sets == last
    assert column.rows(np.array([2])).numbers is not None
    assert column.rows(np.array([2])).codes is None
    assert words.rows(np.array([2])).numbers is None


# Learning -----------------------------------------------------------------------------------------


def test_unknown_columns_take_the_kind_of_their_domain() -> None:
    """A column without a known cell is of numbers if its domain is, and of texts if one is a text."""
    empty = texts([-1, -1], [])
    assert learned(empty, domain=["2", "1.0"])[0] == Feature("a", "number", ("1", "2"))
    assert learned(empty, domain=["2", "1.0"])[1] == [-1, -1]
    assert learned(empty, domain=["2", "x"])[0] == Feature("a", "category", ("2", "x"))
    candidates = texts([-1, -1], [], sets={0: ("2", "3")})
    assert learned(candidates, domain=["2"])[0].kind == "category"
    assert learned(texts([0, -1], ["1"]), domain=["2"])[0] == Feature("a", "category", ("1", "2"))
    assert learned(numbers(7.0, NAN), domain=["2"])[0] == Feature("a", "number", ("2", "7"))
    assert learned(numbers(7.0, NAN), domain=["2"])[1] == [1, -1]


def test_binned_or_not() -> None:
    """Numbers and dates get bins, unless none are wanted or a domain is declared."""
    column, words = numbers(1, 4, 9), texts([0, 1, 0], ["u", "v"])
    for kind in ("number", "date"):
        own = numbers(1, 4, 9, kind=kind)
        assert learned(own, bins=2, binning="uniform")[0].edges == (1.0, 5.0, 9.0)
        assert learned(own, bins=2, binning="uniform")[1] == [0, 0, 1]
        assert not learned(own)[0].edges
    assert learned(column, binning="uniform", domain=["1"])[0].values == ("1", "4", "9")
    assert learned(words, binning="uniform")[0] == Feature("a", "category", ("u", "v"))


def test_declared_dates() -> None:
    """Dates are read as dates; a text among them makes the whole column text."""
    column = numbers(0, DAY, kind="date")
    feature, codes, _ = learned(column, domain=["1970-01-03", "1970-01-01"])
    assert feature == Feature("a", "date", ("1970-01-01", "1970-01-02", "1970-01-03"))
    assert codes == [0, 1]
    feature, codes, _ = learned(column, domain=["1970-01-03", "never"])
    assert feature == Feature("a", "category", ("1970-01-01", "1970-01-02", "1970-01-03", "never"))
    assert codes == [0, 1]
    with_sets = numbers(NAN, 0.0, kind="date", sets={0: (0, DAY)})
    assert learned(with_sets)[0] == Feature("a", "date", ("1970-01-01", "1970-01-02"))
    assert learned(with_sets)[2] == {0: (0, 1)}


def test_declared_texts_beside_numbers_are_refused() -> None:
    """One text among the declared values of a column of numbers is enough."""
    with pytest.raises(NullproofError, match="declares texts for column 'a', which holds numbers"):
        learned(numbers(1, 2), domain=["3", "x"])


def test_texts_of_a_type_and_texts_of_cells() -> None:
    """Values that a type declares belong to the domain, others only where a cell holds them."""
    assert learned(texts([1, -1], ["u", "v", "w"]))[0].values == ("v",)
    assert learned(texts([0, 2], ["u", "v", "w"]))[0].values == ("u", "w")
    assert learned(texts([-1, -1], ["u"], sets={0: ("p", "q")}))[0].values == ("p", "q")
    declared = texts([1, -1], ["u", "v"], declared=["u", "v", "z"])
    assert learned(declared)[0].values == ("u", "v", "z")
    some = texts([1, -1], ["u", "v"], declared=["v", "z"])
    assert learned(some)[0].values == ("v", "z")
    assert learned(some)[1] == [0, -1]
    flags = texts([0, -1], ["true"], kind="boolean")
    assert learned(flags, domain=["False"])[0].values == ("false", "true")
    assert learned(texts([0, -1], ["true"]), domain=["False"])[0].values == ("False", "true")


def test_candidates_and_bins() -> None:
    """Candidates have a share in equal widths and in what bins show; one bin makes them one value."""
    column = numbers(0.0, 4.0, NAN, NAN, sets={2: (3.0, 10.0), 3: (0.5, 1.0)})
    feature, codes, sets = learned(column, bins=5, binning="uniform")
    assert feature.edges == (0.0, 2.0, 4.0, 6.0, 8.0, 10.0)
    assert feature.bins == (0, 1, 2, 4)
    assert codes == [0, 2, -1, 0]
    assert sets == {2: (1, 3)}
    # They say nothing of the label, so that cuts do not see them.
    rows = Rows(labels=np.array([0] * 6 + [1] * 6 + [0]))
    column = numbers(*range(6), *range(20, 26), NAN, sets={12: (3, 300)})
    alone = numbers(*range(6), *range(20, 26), NAN)
    feature, codes, sets = learned(column, binning="mdl", rows=rows)
    cut, known, _ = learned(alone, binning="mdl", rows=rows)
    assert feature.edges == cut.edges
    assert len(feature.edges) == 3
    assert codes == known
    assert sets == {12: (0, 1)}
    assert cut.values[1] != feature.values[1]


def test_far_moments_are_rounded_down() -> None:
    """Edges of moments that no double equals lie at the greatest double below them."""
    column = numbers(LARGE + 3, LARGE + 40, kind="date")
    feature, codes, _ = learned(column, binning="quantile")
    assert float(LARGE + 3) > LARGE + 3
    assert (feature.edges[0], feature.edges[-1]) == (LARGE + 2, LARGE + 40)
    assert codes == [0, 1]


def test_one_bin_that_is_not_used() -> None:
    """A bin that shows nothing has no code, and those after it have one less."""
    feature, codes, _ = learned(numbers(0, 1, 5, 5, 9), bins=3, binning="uniform")
    assert (feature.bins, codes) == ((0, 1, 2), [0, 0, 1, 1, 2])
    feature, codes, _ = learned(numbers(0, 1, 8, 9), bins=3, binning="uniform")
    assert (feature.bins, codes) == ((0, 2), [0, 0, 1, 1])
    assert encode_numbers(feature, np.array([4.0, NAN, 9.5, -3.0])).tolist() == [2, -1, 1, 0]


# Encoding -----------------------------------------------------------------------------------------


def test_codes_are_as_narrow_as_they_can_be() -> None:
    """Codes are bytes for small domains, whether the column has the order of the domain or not."""
    feature = Feature("a", "category", ("u", "v"))
    for dtype in (np.int8, np.int32, np.int64):
        for values, codes in ((["u", "v"], [1, 0, -1]), (["v", "u"], [0, 1, -1])):
            column = Column("a", "category", codes=np.array(codes, dtype=dtype), values=values)
            found = encode(feature, column).codes
            assert found.tolist() == [1, 0, -1]
            assert found.dtype == np.int8
    assert encode(feature, texts([0, 1, -1], ["w", "v"])).codes.tolist() == [2, 1, -1]
    assert encode(feature, texts([-1], [])).codes.tolist() == [-1]
    one = Feature("a", "category", ("u",))
    assert encode(one, texts([0, 1], ["u", "v"])).codes.tolist() == [0, 1]
    assert encode(one, texts([0, -1], ["v"])).codes.tolist() == [1, -1]
    wide = Feature("a", "category", tuple(f"{k:03}" for k in range(130)))
    column = texts([0, 1], ["129", "000"])
    assert encode(wide, column).codes.dtype == code_type(130) == np.int16


def test_sets_do_not_change_the_column() -> None:
    """Candidates with one code are a value of the codes, while the column stays as it was."""
    feature = Feature("a", "category", ("u", "v"))
    codes = np.array([0, -1, -1, 1], dtype=np.int8)
    column = Column(
        "a", "category", codes=codes, values=["u", "v"], sets={1: ("p", "q"), 2: ("u", "v")}
    )
    found = encode(feature, column)
    assert found.codes.tolist() == [0, 2, -1, 1]
    assert found.sets == {2: (0, 1)}
    assert codes.tolist() == [0, -1, -1, 1]


def test_numbers_as_values_of_their_own() -> None:
    """A number has the code of the value that equals it, before, between and after the others too."""
    feature = Feature("a", "number", ("-1", "2", "10"))
    for array in (np.array([-1.0, 2, 10, 11, 5, -7, NAN]), np.array([-1, 2, 10, 11, 5, -7, 3])):
        last = -1 if array.dtype.kind == "f" else 3
        assert encode_numbers(feature, array).tolist() == [0, 1, 2, 3, 3, 3, last]
    single = Feature("a", "number", ("2",))
    assert encode_numbers(single, np.array([1, 2, 3])).tolist() == [1, 0, 1]
    assert encode_numbers(single, np.array([], dtype=np.int64)).tolist() == []
    assert encode_numbers(single, number_array([Fraction(1, 3), 2, None])).tolist() == [1, 0, -1]
    # A fraction counts as the nearest double.
    third = Feature("a", "number", ("0.3333333333333333", "2"))
    assert encode_numbers(third, number_array([Fraction(1, 3), 2, None])).tolist() == [0, 1, -1]


def test_large_numbers_are_no_neighbours() -> None:
    """Integers that doubles mix up are told apart on both sides of zero, in the domain and in cells."""
    for sign in (1, -1):
        feature = Feature("a", "number", (str(sign * LARGE), "5"))
        cells = [sign * LARGE, sign * (LARGE + 1), 5, 6]
        assert encode_numbers(feature, np.array(cells)).tolist() == [0, 2, 1, 2]
        wide = Feature("a", "number", (str(sign * (LARGE + 1)), "5"))
        assert encode_numbers(wide, np.array([float(sign * LARGE), 5.0, NAN])).tolist() == [
            2,
            1,
            -1,
        ]


def test_dates_as_values_of_their_own() -> None:
    """Moments are compared by their text, as integers and as doubles, NaN is missing."""
    feature = Feature("a", "date", ("1970-01-01", "1970-01-02"))
    assert encode_numbers(feature, np.array([0, DAY, DAY + 1])).tolist() == [0, 1, 2]
    assert encode_numbers(feature, np.array([0.0, NAN, DAY])).tolist() == [0, -1, 1]


def test_plain_codes() -> None:
    """Whole numbers below the size are codes, negative ones and NaN missing, all others outside."""
    feature = Feature("a", "code", ("0", "1", "2"))
    cells = np.array([0, 2, 3, 4, 7, -1, -9, 0.5, 2.5, NAN, math.inf, -math.inf])
    assert encode_numbers(feature, cells).tolist() == [0, 2, 3, 3, 3, -1, -1, 3, 3, -1, 3, -1]
    assert encode_numbers(feature, np.array([2, 1, 3, -4])).tolist() == [2, 1, 3, -1]
    assert encode_numbers(feature, number_array([2**70, 1])).tolist() == [3, 1]


def test_candidates_of_one_cell() -> None:
    """Candidates are sorted codes, each once; those outside the domain share one code."""
    assert encode_set(Feature("a", "category", ("1", "x")), ("x", 1, "z", "y")) == (0, 1, 2)
    assert encode_set(Feature("a", "boolean", ("false", "true")), (True, "false")) == (0, 1)
    assert encode_set(Feature("a", "number", ("1", "2")), (2, 1.0, 1, 9)) == (0, 1, 2)
    assert encode_set(Feature("a", "date", ("1970-01-02",)), (DAY, 0)) == (0, 1)
    assert encode_set(Feature("a", "code", ("0", "1")), (1, 0)) == (0, 1)


# Beyond the edges ---------------------------------------------------------------------------------


def test_cells_beyond_the_outer_edges() -> None:
    """Finite cells below the first and above the last edge are counted, the edges themselves are not."""
    feature = Feature("a", "number", ("x", "y"), edges=(0.0, 5.0, 10.0), bins=(0, 1))
    for cells, n in (
        ([0.0, 10.0], 0),
        ([0.5, 10.0, NAN], 0),
        ([-0.5, 3.0], 1),
        ([3.0, 10.5], 1),
        ([-1.0, -2.0, 11.0, 0.0, 10.0, NAN], 3),
        ([-math.inf, math.inf, 4.0], 0),
        ([-math.inf, math.inf, -1.0, 12.0], 2),
        ([-3.0, -2.0], 2),
        ([11.0, 12.0, 13.0], 3),
        ([NAN], 0),
        ([], 0),
    ):
        assert n_outside(feature, Column("a", "number", numbers=np.array(cells, dtype=float))) == n
    assert n_outside(feature, numbers(-1, 0, 5, 10, 11, 12)) == 3
    assert n_outside(Feature("a", "number", ("1",)), numbers(5.0)) == 0
    single = Feature("a", "number", ("1",), edges=(-math.inf, math.inf), bins=(0,))
    assert n_outside(single, numbers(5.0, -5.0)) == 0


def test_moments_at_rounded_edges() -> None:
    """An outer edge that a moment was rounded to has that moment within, up or down."""
    far = 2**60 + 1
    feature = Feature("a", "date", ("x", "y"), edges=(float(-far), 0.0, float(far)), bins=(0, 1))
    assert n_outside(feature, numbers(-far, far, kind="date")) == 0
    up = 2**60 + 200
    assert float(up) > up
    feature = Feature("a", "date", ("x", "y"), edges=(float(-up), 0.0, float(up)), bins=(0, 1))
    assert n_outside(feature, numbers(-up, up, kind="date")) == 0
    assert n_outside(feature, numbers(-2 * up, 2 * up, kind="date")) == 2
