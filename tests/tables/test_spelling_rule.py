"""The rule of missing texts by itself: against the rule as docs/values.md says it, and part by part."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from nullproof import NullproofError
from nullproof.tables.spellings import (
    COMMON,
    NOTHING_SPELLED,
    USUAL,
    Found,
    Spellings,
    trimmed,
)

TEXTS = ("u", "v", "1", "2", "2020-01-01", "true", "False", "-", " none", "?", "", "gone")


# The rule -----------------------------------------------------------------------------------------


def all_are(kind: str, texts: Iterable[str]) -> bool:
    """Whether all of the texts above are of one kind."""
    kinds = {"1": "number", "2": "number", "2020-01-01": "date", "true": "flag", "False": "flag"}
    return all(kinds.get(text) == kind for text in texts)


def plain_rule(
    cells: Collection[str],
    *,
    has_holes: bool,
    named: Collection[str] = (),
    declared: Collection[str] = (),
    by_type: Collection[str] = (),
) -> tuple[set[str], set[str]]:
    """Which texts of a column are missing, and which doubtful ones are values, as the page says."""
    there = {*cells, *by_type}
    sure = {text for text in there if text in {"?", ""} - {*declared} or text in named}
    doubtful = there & {"-", " none"} - {*named, *declared}
    values = (there | {*declared}) - sure - doubtful
    one_of_two = len(doubtful) == 1 and len(values) == 1
    texts = values and not any(all_are(kind, values) for kind in ("number", "date", "flag"))
    marked = has_holes or any(text in sure for text in cells)
    if one_of_two or (texts and marked):
        return sure, doubtful
    return sure | doubtful, set()


def found_in(spellings: Spellings, cells: Sequence[str | None], **options: Any) -> tuple[Any, Any]:
    """The texts that are missing, and those that are kept, with what is told of them."""
    values = ["never there", *dict.fromkeys(cell for cell in cells if cell is not None)]
    values += [text for text in options.get("by_type", ()) if text not in values]
    codes = np.array([-1 if cell is None else values.index(cell) for cell in cells], dtype=np.int8)
    found = spellings.found(values, codes, **options)
    gone = {values[code] for code in found.gone}
    held = {cell for cell in cells if cell is not None}
    assert found.taken == tuple(sorted({cell.strip() for cell in gone & held} - {""}))
    return gone, {*found.kept}


@pytest.mark.parametrize("with_null", [False, True])
def test_every_small_column(with_null: bool) -> None:
    """Columns of up to four texts are read as the page says, whatever they hold besides."""
    for n in (1, 2, 3, 4):
        for texts in itertools.combinations(TEXTS, n):
            cells: list[str | None] = [*texts, *([None] if with_null else [])]
            gone, kept = found_in(Spellings(), cells)
            truth = plain_rule(texts, has_holes=with_null)
            assert (gone, kept) == (truth[0], {text.strip() for text in truth[1]}), cells


def test_small_columns_with_names_and_declared_values() -> None:
    """So they are with spellings that were named and values that were declared."""
    for named, declared in ((("gone",), ()), ((), ("?",)), (("-",), ("-", "w")), ((), (" none",))):
        spellings = Spellings.of(named).declaring(declared)
        for texts in itertools.combinations(TEXTS, 3):
            gone, kept = found_in(spellings, texts)
            truth = plain_rule(texts, has_holes=False, named=named, declared=declared)
            assert (gone, kept) == (truth[0], {text.strip() for text in truth[1]}), (texts, named)


def test_holes_that_are_not_among_the_codes() -> None:
    """A hole that only the caller knows of marks holes as a null does, and none is there unless told."""
    for texts in itertools.combinations(TEXTS, 3):
        assert found_in(Spellings(), texts) == found_in(Spellings(), texts, holes=False)
        assert found_in(Spellings(), texts, holes=True) == found_in(Spellings(), [*texts, None])


def test_categories_of_a_type() -> None:
    """What the type declares counts like a cell, but no category is told or marks a hole."""
    for texts in itertools.combinations(TEXTS, 2):
        for by_type in (("-",), ("u", "-"), ("?", "w", " none"), ("u", "v", "w")):
            gone, kept = found_in(Spellings(), texts, by_type=by_type)
            sure, doubtful = plain_rule(texts, has_holes=False, by_type=by_type)
            assert (gone, kept) == (sure, {text.strip() for text in doubtful & {*texts}}), texts


def test_texts_that_no_cell_holds() -> None:
    """Texts of a dictionary that no cell holds decide nothing, and are not told."""
    values = ["u", "-", "v", "?", "w", "none"]
    assert Spellings().found(values, np.array([0, 1])) == Found((3,), (), ("-",))
    assert Spellings().found(values, np.array([0, 2])) == Found((3, 1, 5))
    assert Spellings().found(values, np.array([0, 2, -1])) == Found((3, 1, 5))
    assert Spellings().found(values, np.array([0, 2, 5])) == Found((3, 1, 5), ("none",))
    assert Spellings().found(["u", "v"], np.array([0, 1, -1])) == Found()
    assert Spellings().found(values, np.array([], dtype=np.int64)) == Found((3, 1, 5))


# The options --------------------------------------------------------------------------------------


def test_options_are_read_and_given_again() -> None:
    """What was given can be asked for again; the two exclude each other."""
    assert Spellings.of(None) == Spellings.of(()) == Spellings() == USUAL
    assert Spellings.of("x").options == (("x",), None)
    assert Spellings.of((" x", -9, 1.0)).options == (("x", "-9", "1"), None)
    assert Spellings.of(None, ("x",)).options == ((), ("x",))
    assert Spellings.of((), ()).options == ((), ())
    for usual in (Spellings.of(None), Spellings.of(("x",))):
        assert usual.usual
    assert not Spellings.of((), ("x",)).usual
    with pytest.raises(NullproofError, match="give missing to add to the usual spellings"):
        Spellings.of(("x",), ())
    assert trimmed(" a b ") == ("a b",)
    assert trimmed([" a ", "b", 2]) == ("a", "b", "2")


def test_files_have_empty_cells() -> None:
    """An empty cell of a file is missing in any case; with the usual spellings it is one of them."""
    assert Spellings.of(("x",)).in_files == Spellings.of(("x",))
    assert Spellings.of((), ("x",)).in_files.named == ("x", "")
    assert Spellings.of((), ()).in_files.is_missing(" ")
    assert not Spellings.of((), ()).is_missing(" ")


def test_what_a_reader_may_take() -> None:
    """The usual spellings or none, then those that were named, each once and without commas."""
    assert Spellings.of(("x", "NA", "?,NA")).nulls == [*COMMON, "x"]
    assert Spellings.of((), ("x", "", "NA", "a,b")).nulls == ["", "x", "NA"]


def test_the_longest_spelling() -> None:
    """No spelling has more letters: four of the usual ones, or those that were named."""
    assert Spellings().longest == max(map(len, [*COMMON, "none"])) == 4
    assert Spellings.of(("unknown", "x")).longest == 7
    assert Spellings.of(("x",)).longest == 4
    assert Spellings.of((), ("xy", "x")).longest == 2
    assert Spellings.of((), ()).longest == 0


def test_named_numbers() -> None:
    """Of the spellings that were named those that are numbers."""
    assert Spellings.of(("-9", "x", "1.50", "")).numbers == [-9, 1.5]
    assert Spellings().numbers == []


def test_named_numbers_are_whole_where_they_can_be() -> None:
    """1.0 and 1e3 are integers, 1.5 and infinity are not."""
    found = Spellings.of(("1.0", "1e3", "1.5", "inf", "7")).numbers
    assert found == [1, 1000, 1.5, math.inf, 7]
    assert [type(number) for number in found] == [int, int, float, float, int]


def test_named_moments() -> None:
    """Of the spellings that were named those that are dates, in microseconds since 1970."""
    assert Spellings.of(("1970-01-02", "x", "1", "1970-01-01 00:00:01")).moments == [
        86_400_000_000,
        1_000_000,
    ]
    assert Spellings().moments == []


def test_usual_spellings_that_are_values_are_left_to_be_read() -> None:
    """A reader takes no text for a null that some column of the table has as a value."""
    beside = Spellings.of(("x",)).beside([["NA", "u"], ["?", "-"], []])
    assert beside.values == {"NA", "?"}
    assert beside.nulls == [*(text for text in COMMON if text not in ("NA", "?")), "x"]
    assert beside.named == ("x",)
    assert USUAL.beside([["u", "-"], []]) is USUAL
    assert Spellings.of((), ("x",)).beside([["NA"]]).nulls == ["", "x"]


# One text -----------------------------------------------------------------------------------------


def test_one_text() -> None:
    """A text looks missing if it is a spelling in any case; it is surely if it is in no doubt."""
    plain, named = Spellings(), Spellings.of(("-", "Gone"))
    for text in ("", " ", "?", "nA", "<NA>", "#n/a", " null "):
        assert plain.looks_missing(text)
        assert plain.is_missing(text)
        assert not NOTHING_SPELLED.looks_missing(text)
        assert not NOTHING_SPELLED.is_missing(text)
    for text in ("none", " NONE", "-", "."):
        assert plain.looks_missing(text)
        assert not plain.is_missing(text)
    for text in ("x", "none.", "nulls", "gone", "--", "not available"):
        assert not named.looks_missing(text)
        assert not named.is_missing(text)
    for text in ("-", " - ", "Gone"):
        assert named.is_missing(text)
    declared = plain.declaring(["?", "none", "w"])
    assert declared.looks_missing("?")
    assert [declared.is_missing(text) for text in ("?", " ?", "none", "w")] == [
        False,
        True,
        False,
        False,
    ]
    assert named.declaring(["Gone"]).is_missing("Gone")


def test_labels_keep_what_is_in_doubt() -> None:
    """Among labels a doubtful spelling is a label whatever stands beside it, and texts stay texts."""
    labels = Spellings.of(("x",)).of_labels
    assert not labels.retypes
    assert Spellings().retypes
    for cells in (["-", "u", "v"], ["-", "none"], ["-", "1", "2", None], ["-"]):
        gone, kept = found_in(labels, cells)
        assert (gone, kept) == (set(), {cell for cell in cells if cell in ("-", "none")})
    assert found_in(labels, ["-", "?", "x"]) == ({"?", "x"}, {"-"})


def test_columns_that_are_settled() -> None:
    """Where a domain is known, its texts are values and all other spellings are missing."""
    spellings = Spellings.of(("gone",))
    texts = spellings.known("category", frozenset(["-", "u", "gone"]))
    assert (texts.named, texts.usual, texts.retypes) == (("gone",), True, False)
    assert found_in(texts, ["-", "none", "?", "u", "w", None]) == ({"none", "?"}, set())
    assert found_in(texts, ["gone", "-"]) == ({"gone"}, set())
    only = Spellings.of((), ("gone",)).known("category", frozenset("u"))
    assert found_in(only, ["gone", "?", "none", "u"]) == ({"gone"}, set())
    for kind in ("number", "date", "boolean"):
        numbers = spellings.known(kind, frozenset(["-"]))
        assert numbers.retypes
        assert found_in(numbers, ["+", "-"]) == ({"-"}, set())
        assert found_in(numbers, ["u", "v", "none", None]) == ({"none"}, set())
