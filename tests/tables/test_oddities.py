"""Texts that keep a column from being numbers or dates, and values that a person would write alike."""

from __future__ import annotations

import pytest

from nullproof.tables.oddities import alike, amounts, strays

NUMBERS = [str(number) for number in range(10)]
DAYS = [f"2024-01-{day:02d}" for day in range(1, 21)]


@pytest.mark.parametrize(
    "amounts",
    [
        NUMBERS,
        [f"{number}.5" for number in range(30)],
        [f"{number},5" for number in range(30)],
        [f"€{number},000" for number in range(10, 30)],
        [f"{number} %" for number in range(30)],
        DAYS,
        [f"{day:02d}.01.2024" for day in range(1, 21)],
    ],
)
def test_a_few_strays_are_named(amounts: list[str]) -> None:
    """Up to three texts among at least ten numbers or dates, however people write those."""
    assert strays([*amounts, "unbekannt"]) == ["unbekannt"]
    assert strays(["x1", *amounts, "?? ", "12x"]) == ["12x", "??", "x1"]
    assert strays(["a", "b", "c", *amounts, "d"]) == []
    assert strays(amounts) == []


def test_strays_grow_with_the_numbers() -> None:
    """A twentieth of all texts may be strays; more are codes, and so are texts among few numbers."""
    letters = [f"V{place:02d}" for place in range(20)]
    assert strays([*map(str, range(380)), *letters]) == letters
    assert strays([*map(str, range(360)), *letters]) == []
    assert strays([*NUMBERS[:9], "3+"]) == []
    assert strays([*NUMBERS[:9], "3+", "x"]) == []
    assert strays(["1", "infant", *letters]) == []


def test_amounts_as_texts() -> None:
    """More than ten dates, or more than twenty numbers, by some of the texts at even distances."""
    assert amounts(DAYS) == "dates"
    assert amounts([str(number / 4) for number in range(21)]) == "numbers"
    assert amounts([str(number) for number in range(20)]) is None
    assert amounts(DAYS[:10]) is None
    assert amounts([*DAYS, "x"]) is None
    assert amounts([]) is None


def test_alike() -> None:
    """Groups of texts that differ in case or in the spaces around them, in their order."""
    assert alike(["yes", "No", "YES", "no ", "maybe"]) == [["YES", "yes"], ["No", "no "]]
    assert alike(["STRASSE", "straße"]) == [["STRASSE", "straße"]]
    assert alike(["a b", "ab", "a"]) == []
    assert alike(["x", "X", *map(str, range(998))]) == [["X", "x"]]
    assert alike(["x", "X", *map(str, range(999))]) == []
