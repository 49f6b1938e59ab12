"""Columns met again, one by one: brought to the kind that was learned, or refused; and wider domains."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from nullproof import NullproofError
from nullproof.tables.columns import Column, encode, widen_feature
from nullproof.tables.schema import Feature, Kind

NAN = math.nan
DAY = 86_400_000_000
NUMBERS = Feature("a", "number", ("1", "2", "10"))
DATES = Feature("a", "date", ("1970-01-01", "1970-01-02"))
CODES = Feature("a", "code", ("0", "1", "2"))
WORDS = Feature("a", "category", ("1", "1970-01-02", "True", "x"))
FLAGS = Feature("a", "boolean", ("false", "true"))


def numbers(*cells: Any, sets: Any = None, kind: Kind = "number") -> Column:
    return Column("a", kind, numbers=np.array(cells), sets=sets or {})


def texts(codes: list[int], values: list[str], **more: Any) -> Column:
    return Column("a", more.pop("kind", "category"), codes=np.array(codes), values=values, **more)


# Other kinds --------------------------------------------------------------------------------------


def test_columns_without_a_cell_fit_everywhere() -> None:
    """Where nothing is known, any kind will do, and every cell is missing."""
    for feature in (NUMBERS, DATES, CODES, WORDS, FLAGS):
        for column in (numbers(NAN, NAN), numbers(NAN, NAN, kind="date"), texts([-1, -1], [])):
            found = encode(feature, column)
            assert found.codes.tolist() == [-1, -1]
            assert found.sets == {}
    flags = texts([-1, -1], [], kind="boolean")
    assert encode(NUMBERS, flags).codes.tolist() == [-1, -1]


def test_texts_are_read_as_numbers_and_dates() -> None:
    """Texts that cells hold are read, the first of the list too; others may be anything."""
    column = texts([2, 0, -1, 2], ["10", "never", "01"])
    assert encode(NUMBERS, column).codes.tolist() == [0, 2, -1, 0]
    assert encode(CODES, texts([0, 1, -1], ["2", "1.5"])).codes.tolist() == [2, 3, -1]
    moments = texts([1, 0, -1], ["1970-01-02 00:00:00", "1970-01-01"])
    assert encode(DATES, moments).codes.tolist() == [0, 1, -1]
    candidates = texts([-1, 0, -1], ["2"], sets={0: ("1", "10"), 2: ("1", "1.0")})
    found = encode(NUMBERS, candidates)
    assert found.codes.tolist() == [-1, 1, 0]
    assert found.sets == {0: (0, 2)}
    only = texts([-1, -1], [], sets={1: ("1", "2")})
    assert encode(NUMBERS, only).sets == {1: (0, 1)}


def test_numbers_and_dates_are_read_as_texts() -> None:
    """Where texts were learned, a number or a moment is the text that it is written as."""
    assert encode(WORDS, numbers(1.0, NAN, 2.0, 1.0)).codes.tolist() == [0, -1, 4, 0]
    found = encode(WORDS, numbers(DAY, 0, kind="date"))
    assert found.codes.tolist() == [1, 4]
    found = encode(WORDS, numbers(NAN, 1.0, sets={0: (1, 3)}))
    assert found.codes.tolist() == [-1, 0]
    assert found.sets == {0: (0, 4)}
    found = encode(WORDS, numbers(NAN, kind="date", sets={0: (0, DAY)}))
    assert found.sets == {0: (1, 4)}


def test_true_and_false_in_any_case() -> None:
    """Booleans fit texts and texts fit booleans, if no text is anything else."""
    flags = texts([1, 0, -1], ["false", "true"], kind="boolean", sets={2: ("true", "false")})
    found = encode(WORDS, flags)
    assert found.codes.tolist() == [2, 4, -1]
    assert found.sets == {2: (2, 4)}
    assert encode(FLAGS, texts([0, 1, -1], ["TRUE", "False"])).codes.tolist() == [1, 0, -1]
    assert encode(FLAGS, texts([0, -1], ["True"])).codes.tolist() == [1, -1]
    assert encode(FLAGS, texts([0], ["true"], kind="boolean")).codes.tolist() == [1]
    unused = texts([0, 2, -1], ["TRUE", "other", "False"])
    assert encode(FLAGS, unused).codes.tolist() == [1, 0, -1]


def test_plain_numbers_fit_codes() -> None:
    """Numbers and codes are brought to each other as they are."""
    assert encode(CODES, numbers(2, 0, 5)).codes.tolist() == [2, 0, 3]
    assert encode(NUMBERS, numbers(2, 0, 10, kind="code")).codes.tolist() == [1, 3, 2]


REFUSED: list[tuple[Feature, Column, str]] = [
    (NUMBERS, texts([1, 0], ["oops", "1"]), r"text such as 'oops', .* holds numbers there"),
    (DATES, texts([1, 0, 1], ["1970-01-02", "5"]), r"text such as '5', .* holds dates there"),
    (NUMBERS, numbers(0, kind="date"), r"dates, but .* holds numbers there \(1, 2, 10\)"),
    (DATES, numbers(5), r"numbers, but the training table holds dates there"),
    (CODES, numbers(0, kind="date"), r"dates, but the training table holds codes there"),
    (DATES, numbers(5, kind="code"), r"codes, but the training table holds dates there"),
    (FLAGS, numbers(1, 0), r"numbers, but the training table holds true/false there"),
    (FLAGS, texts([0, 1], ["yes", "True"]), r"text such as 'yes', .* true/false there"),
    (FLAGS, texts([1, 0], ["no", "True"]), r"text such as 'no', .* true/false there"),
    (NUMBERS, texts([1], ["false", "true"], kind="boolean"), r"true/false such as 'false', .*numb"),
    (DATES, texts([0], ["true"], kind="boolean"), r"true/false such as 'true', .* dates"),
    (NUMBERS, texts([-1], [], sets={0: ("1", "x")}), r"text such as 'x', .* holds numbers"),
]


@pytest.mark.parametrize(("feature", "column", "reason"), REFUSED)
def test_what_does_not_fit_is_refused(feature: Feature, column: Column, reason: str) -> None:
    """The message tells what the column holds, with a cell that does not fit, and what was learned."""
    with pytest.raises(NullproofError, match=f"column 'a' holds {reason}"):
        encode(feature, column)


# Wider domains ------------------------------------------------------------------------------------


def test_wider_texts() -> None:
    """Texts that the domain lacks are added, in cells and in sets, used ones alone."""
    words = Feature("a", "category", ("u", "w"))
    assert widen_feature(words, texts([0, 1, -1], ["w", "u"])) is words
    assert widen_feature(words, texts([0, -1], ["v", "z"])).values == ("u", "v", "w")
    assert widen_feature(words, texts([0, 1], ["v", "u"])).values == ("u", "v", "w")
    mixed = texts([0, -1, -1], ["u"], sets={1: ("u", "w"), 2: ("u", "x")})
    assert widen_feature(words, mixed).values == ("u", "w", "x")
    outside = texts([0, -1], ["u"], sets={1: ("p", "q")})
    assert widen_feature(words, outside).values == ("p", "q", "u", "w")
    both = texts([0, -1], ["v"], sets={1: ("u", "w")})
    assert widen_feature(words, both).values == ("u", "v", "w")
    inside = texts([0, -1], ["u"], sets={1: ("u", "w")})
    assert widen_feature(words, inside) is words
    numbered = Feature("a", "category", ("u", "7"))
    assert widen_feature(numbered, numbers(7, 8, NAN)).values == ("7", "8", "u")


def test_wider_numbers_and_dates() -> None:
    """Numbers and moments are added as they are written; a set that is all outside adds its own."""
    assert widen_feature(NUMBERS, numbers(2.0, NAN)) is NUMBERS
    assert widen_feature(NUMBERS, numbers(3.0, 2.0, NAN)).values == ("1", "2", "3", "10")
    added = numbers(2.0, NAN, sets={1: (4, 5)})
    assert widen_feature(NUMBERS, added).values == ("1", "2", "4", "5", "10")
    moments = numbers(0.0, 2 * DAY, NAN, kind="date", sets={2: (0, 3 * DAY)})
    days = ("1970-01-01", "1970-01-02", "1970-01-03", "1970-01-04")
    assert widen_feature(DATES, moments) == Feature("a", "date", days)


def test_wider_codes() -> None:
    """All codes up to the largest new one belong to the domain, be it in a set."""
    digits = tuple(map(str, range(6)))
    assert widen_feature(CODES, numbers(5, 3, 0)).values == digits
    assert widen_feature(CODES, numbers(0, -1, sets={1: (1, 5)})).values == digits
    assert widen_feature(CODES, numbers(2, -1)) is CODES


def test_wider_bins() -> None:
    """Bins that come into use are added, those of candidates too, and the edges stay."""
    binned = Feature("a", "number", ("0–1", "8–9"), edges=(0.0, 3.0, 6.0, 9.0), bins=(0, 2))
    wider = widen_feature(binned, numbers(4.0, NAN, NAN, sets={1: (4.5, 5.0)}))
    assert wider.bins == (0, 1, 2)
    assert wider.edges == binned.edges
    assert widen_feature(binned, numbers(NAN, NAN, sets={1: (3.0, 9.0)})).bins == (0, 1, 2)
    assert widen_feature(binned, numbers(0.5, 8.5)).bins == (0, 2)
    assert widen_feature(binned, texts([0, -1], ["4"])).bins == (0, 1, 2)
