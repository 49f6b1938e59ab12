"""Features and schemas: what they say of their domains and columns."""

from __future__ import annotations

import pytest

from nullproof.tables.schema import Feature, Schema


@pytest.mark.parametrize(
    ("values", "large"),
    [
        (("1", str(2**53 + 1)), True),
        ((str(-(2**53) - 1), "1.5"), True),
        ((str(2**53), str(-(2**53))), False),
        (("0.5", "1"), False),
        (("1e+300",), False),
        ((), False),
    ],
)
def test_integers_that_doubles_mix_up(values: tuple[str, ...], large: bool) -> None:
    """One beyond 2**53 on either side is enough; doubles are never mixed up."""
    assert Feature("n", "number", values).has_large_integers is large


def test_numbers_of_a_domain_by_size() -> None:
    """Sorted doubles, and the code of each."""
    numbers, codes = Feature("n", "number", ("10", "-1.5", "2")).sorted_numbers
    assert (numbers.tolist(), codes.tolist()) == ([-1.5, 2.0, 10.0], [1, 2, 0])


def test_columns_of_plain_rows() -> None:
    """Where names say the place, columns that were left out stand among them; else features alone."""
    numbered = Schema((Feature("x0", "code", ()), Feature("x2", "code", ())), (), left_out=("x1",))
    assert numbered.row_columns(3) == ("x0", "x1", "x2")
    assert numbered.row_columns(2) == ("x0", "x2")
    assert numbered.row_columns(4) == ("x0", "x2")
    named = Schema((Feature("age", "code", ()), Feature("pay", "code", ())), (), left_out=("id",))
    assert named.row_columns(2) == ("age", "pay")
    assert named.row_columns(3) == ("age", "pay")
    assert named.position == {"age": 0, "pay": 1}


def test_labels_are_known_by_their_texts() -> None:
    """1 and 1.0 and "1" name the same label."""
    assert Schema((), (1.0, "b", True)).label_codes == {"1": 0, "b": 1, "true": 2}


def test_values_that_look_missing() -> None:
    """What a column of texts is said to hold is no hole in it; numbers are never written so."""
    texts = Schema((Feature("x", "category", ("NA", "b")), Feature("n", "number", ("1",))), ())
    assert texts.spellings.values == {"NA"}
    numbers = Schema((Feature("x", "category", ("b",)), Feature("n", "number", ("NA",))), ())
    assert not numbers.spellings.values
