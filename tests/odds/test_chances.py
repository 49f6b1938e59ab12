"""What is learned about a missing cell, by hand: rows, counts, ratios and whole parts."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support import learned_oracle

from nullproof import CountIndex, NullproofError
from nullproof.odds import learned as learned_module
from nullproof.odds.learned import WHOLE, Learned, _Column, in_parts
from nullproof.tables.columns import Encoded
from nullproof.tables.training import TrainingTable

ROWS: list[Any] = [
    *[("a", "x", "k", "s"), ("a", "x", "k", "t"), ("a", "y", "k", "s"), ("b", "y", "k", None)],
    *[("b", "y", "k", "t"), ("c", "x", "k", "t"), (None, "x", "k", "s"), (None, "y", "k", None)],
    *[({"a", "c"}, "x", "k", "s"), (None, None, "k", None), ("b", {"x", "y"}, "k", "t")],
    *[("c", "z", "k", "t"), ("a", "z", "k", "s"), (None, "z", "k", "u"), (None, "x", "k", "s")],
]
LABELS = ["p"] * 11 + ["q"] * 4


def learned_of(rows: Any = ROWS, labels: Any = LABELS) -> Learned:
    return Learned.of(CountIndex.from_rows(rows, labels), rows, labels)


def stub(columns: list[Encoded], row_labels: list[int], n_values: list[int]) -> Learned:
    """What is learned from codes alone; the index knows only its sizes."""
    names = tuple(f"f{j}" for j in range(len(n_values)))
    labels = tuple(range(max(row_labels) + 1))
    index: Any = SimpleNamespace(n_values=np.array(n_values), features=names, labels=labels)
    return Learned(index, tuple(columns), np.array(row_labels, dtype=np.int32))


def codes_of(*cells: int) -> Encoded:
    return Encoded(np.array(cells), {})


# Rows ---------------------------------------------------------------------------------------------


def test_rows_that_are_open_and_rows_that_know() -> None:
    """A row without a label is neither; a set is open, and a value outside the domain is unknown."""
    column = Encoded(np.array([0, -1, 2, 1, -1, 3, 0, -1]), {3: (0, 1), 4: (1, 2)})
    learned = stub([column], [0, 0, 1, 1, 0, 1, -1, -1], [3])
    assert learned.open_rows(0).tolist() == [1, 3, 4]
    assert learned.known(0).tolist() == [True, False, True, False, False, False, False, False]
    plain = stub([codes_of(0, 1, -1, 2)], [1, 0, 0, -1], [2])
    assert plain.known(0).tolist() == [True, True, False, False]
    assert plain.open_rows(0).tolist() == [2]


def test_answers_leave_their_sets() -> None:
    """Cells that were answered hold the answer and no candidates; the others stay."""
    column = Encoded(np.array([-1, -1, 1, -1], dtype=np.int8), {0: (0, 1), 3: (0, 2)})
    before = stub([column, codes_of(0, 0, -1, 1)], [0, 0, 0, 0], [300, 2])
    after = before.after(before.index, {0: (np.array([3, 1]), np.array([2, 299]))})
    assert after.columns[0].codes.tolist() == [-1, 299, 1, 2]
    assert after.columns[0].sets == {0: (0, 1)}
    assert after.columns[1] is before.columns[1]
    assert before.columns[0].codes.tolist() == [-1, -1, 1, -1]
    assert after.open_rows(0).tolist() == [0]


def test_tables_that_are_open_already() -> None:
    """What was opened before is learned from like the table itself; another table is refused."""
    index = CountIndex.from_rows(ROWS, LABELS)
    training = TrainingTable.open(index.schema, ROWS, LABELS)
    for j in range(4):
        one, other = Learned.of(index, training).chances(j), learned_of().chances(j)
        assert one.rows.tolist() == other.rows.tolist()
        assert one.weights.tolist() == other.weights.tolist()
    # As many holes as were counted, but under the other label.
    rows = [*ROWS]
    rows[0], rows[-1] = (None, *ROWS[0][1:]), ("a", *ROWS[-1][1:])
    with pytest.raises(NullproofError, match="give the table that was counted"):
        Learned.of(index, rows, LABELS)


# Chances ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 5, 7, 1 << 21])
def test_chances_by_plain_counting(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The chances are those of counting row by row, however many rows are worked on at once."""
    monkeypatch.setattr(learned_module, "_BLOCK", block)
    learned = learned_of()
    domains = [feature.values for feature in learned.index.schema.features]
    n_open = 0
    for j, domain in enumerate(domains):
        rows, weights = learned.chances(j)
        assert learned.chances(j) is learned.chances(j)
        assert (weights.sum(axis=1) == WHOLE).all()
        for row, own in zip(rows.tolist(), weights.tolist(), strict=True):
            truth = learned_oracle.chances(ROWS, LABELS, domains, row, j)
            chances = [truth.get(value, 0.0) for value in domain]
            assert own == pytest.approx([WHOLE * chance for chance in chances], abs=1.01)
            assert [n == 0 for n in own] == [chance == 0 for chance in chances]
            n_open += 1
    assert n_open == 11


def test_base_chances() -> None:
    """Alone, a value is as likely as it is frequent under the label, with one row more for all."""
    learned = stub([codes_of(0, 0, 1, -1, 2, 0), codes_of(*[-1] * 6)], [0, 0, 0, 0, 1, 1], [3, 2])
    base = np.exp(_Column(learned, 0).of(np.array([3, 4])))
    third = Fraction(1, 3)
    assert base[0] == pytest.approx([float(n / 4) for n in (2 + third, 1 + third, third)])
    assert base[1] == pytest.approx([float(n / 3) for n in (1 + third, third, 1 + third)])


def test_ratios_beside_a_value() -> None:
    """A cell is so much likelier beside a value: both counts smoothed, the root of two ratios."""
    columns = [codes_of(0, 0, 1, -1), codes_of(0, 1, 1, 0), codes_of(1, 1, 1, 0)]
    one = stub(columns[:2], [0] * 4, [2, 2])
    base = [math.log((n + 1 / 2) / 4) for n in (2, 1)]
    # Beside 0: cells 0 and 1; beside 1: a cell 1. Of the three rows that know both one holds 0.
    alone = (1 + 1 / 2) / 4
    ratios = [(1 + 2 * alone) / (2 + 2) / alone, (0 + 2 * alone) / (1 + 2) / alone]
    said = [math.log(ratio) for ratio in ratios]
    found = _Column(one, 0).of(np.array([3]))
    assert found[0] == pytest.approx([a + b for a, b in zip(base, said, strict=True)])
    two = stub(columns, [0] * 4, [2, 2, 2])
    alone = (0 + 1 / 2) / 4
    more = [math.log((2 * alone) / (n + 2) / alone) for n in (2, 1)]
    both = [a + (b + c) / math.sqrt(2) for a, b, c in zip(base, said, more, strict=True)]
    assert _Column(two, 0).of(np.array([3]))[0] == pytest.approx(both)


def test_columns_that_tell_nothing_or_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns of one value and pairs beyond the limit are not looked at; two values are."""
    columns = [
        codes_of(0, 1, 2, -1),
        codes_of(0, 0, 0, 0),
        codes_of(0, 1, 0, 1),
        codes_of(*range(4)),
    ]
    learned = stub(columns, [0, 0, 1, 1], [3, 1, 2, 4])
    assert {*_Column(learned, 0)._ratios} == {2, 3}
    for limit, others in ((24, {2, 3}), (23, {2}), (12, {2}), (11, set())):
        monkeypatch.setattr(learned_module, "_MOST_PAIRS", limit)
        assert {*_Column(learned, 0)._ratios} == others


def test_four_million_pairs_are_the_limit() -> None:
    """A column with one pair more than four million is not looked at."""
    columns = [codes_of(0, -1), codes_of(0, 1)]
    assert not _Column(stub(columns, [0, 0], [41, 97_561]), 0)._ratios


# Whole parts --------------------------------------------------------------------------------------


def plain_parts(weights: list[Fraction]) -> list[int]:
    """Shares of 65536 by largest remainders; where they are the same the earlier comes first."""
    exact = [weight * 65536 / sum(weights) for weight in weights]
    parts = [math.floor(share) for share in exact]
    order = sorted(range(len(parts)), key=lambda i: (parts[i] - exact[i], i))
    for i in order[: 65536 - sum(parts)]:
        parts[i] += 1
    return parts


def test_parts_by_largest_remainders() -> None:
    """Chances in whole parts are off by less than one, and the largest remainders are rounded up."""
    weights = [[1, 1, 1], [1, 2, 4], [5, 0, 3], [1, 0, 0], [1, 1, 5], [3, 3, 1], [7, 11, 13]]
    with np.errstate(divide="ignore"):
        scores = np.log(np.array(weights, dtype=np.float64))
    # Scores count up to a number per row, however large.
    scores += np.array([0.0, 900.0, -900.0, 5.0, 0.0, 1.0, -1.0])[:, None]
    truth = [plain_parts([*map(Fraction, own)]) for own in weights]
    assert in_parts(scores).tolist() == truth
    assert in_parts(scores[:1, :1]).tolist() == [[WHOLE]]
    assert in_parts(np.zeros((2, 5))).tolist() == [[13108, 13107, 13107, 13107, 13107]] * 2
