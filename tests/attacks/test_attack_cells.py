"""Where the cells and rows of an attack are: as many as are asked for, each of its sort, and no others."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from nullproof.attacks.attack import Attack, Target, taken, target_documents
from nullproof.attacks.poisoning import poison
from nullproof.attacks.row_attack import AddedRows, RowAttack
from nullproof.counts.index import CountIndex
from nullproof.counts.revise import Cells
from nullproof.decision import certify
from nullproof.errors import NullproofError
from nullproof.model import Model
from nullproof.radii.reach import Reach

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

ROWS: list[tuple[Any, ...]] = [
    ("a", "x"),
    ("a", {"x", "y"}),
    ("b", "x"),
    ("a", "x"),
    ("a", "y"),
    ("b", {"x", "y"}),
    ("b", "z"),
    ("a", "z"),
]
LABELS = ["A", "A", "A", "A", "B", "B", "B", "A"]


def attack_of(blanks: tuple[Cells, ...], only: Any = None, lower_bound: int = 1) -> Attack:
    """An attack on the small table with these cells."""
    index = CountIndex.from_rows(ROWS, LABELS)
    return Attack(Model(index), Reach.of(index, only), blanks, lower_bound, ())


def test_cells_are_taken_one_sort_after_the_other() -> None:
    """All cells of the first sorts, then a part of one; never an empty sort, never more than asked for."""
    sorts = [Cells(0, 0, (value,), n) for value, n in enumerate([3, 0, 2, 4])]
    expected = {0: [], 2: [(0, 2)], 3: [(0, 3)], 4: [(0, 3), (2, 1)], 5: [(0, 3), (2, 2)]}
    expected |= {8: [(0, 3), (2, 2), (3, 3)], 12: [(0, 3), (2, 2), (3, 4)]}
    for n_cells, found in expected.items():
        got = [(cells.candidates[0], cells.n_cells) for cells in taken(sorts, n_cells)]
        assert got == found


def test_the_first_cells_of_each_sort() -> None:
    """Cells have the label and the candidates of their sort; they come by row, then by column."""
    blanks = (
        Cells(0, 1, (0,), 2),
        Cells(0, 0, (0,), 3),
        Cells(1, 1, (0, 1), 1),
        Cells(0, 1, (0, 1), 1),
    )
    attack = attack_of(blanks)
    assert attack.n_cells == 7
    found = attack.cells(ROWS, LABELS)
    assert found == [(0, "x0"), (0, "x1"), (1, "x0"), (1, "x1"), (2, "x1"), (3, "x0"), (5, "x1")]
    poisoned = attack.apply(ROWS, LABELS)
    changed = [(i, f"x{j}") for i in range(8) for j in range(2) if poisoned[i][j] != ROWS[i][j]]
    assert changed == found
    assert all(poisoned[i][int(name[1])] is None for i, name in found)


def test_cells_within_reach_alone() -> None:
    """Rows out of reach are passed over; a table of another length, or with too few cells, is refused."""
    rows = np.array([False, True, True, True, True, True, True, True])
    only = {"rows": rows, "table": ROWS, "labels": LABELS}
    attack = attack_of((Cells(0, 0, (0,), 3),), only)
    assert attack.cells(ROWS, LABELS) == [(1, "x0"), (3, "x0"), (7, "x0")]
    assert attack_of((Cells(1, 0, (0,), 1),), only).cells(ROWS, LABELS) == [(4, "x0")]
    with pytest.raises(
        NullproofError, match="has 7 rows, but the attack was made for a table of 8"
    ):
        attack.cells(ROWS[:7], LABELS[:7])
    with pytest.raises(NullproofError, match="3 cells with 'a' in column 'x0' and label 'A'"):
        attack_of((Cells(0, 0, (0,), 4),), only).cells(ROWS, LABELS)
    with pytest.raises(NullproofError, match="1 cells with 'x or y' in column 'x1' and label 'B'"):
        attack_of((Cells(1, 1, (0, 1), 2),)).cells(ROWS, LABELS)
    with pytest.raises(NullproofError, match="which a lazy table cannot tell"):
        attack.locate(pl.LazyFrame({"x0": ["a"]}))


def test_what_becomes_of_targets() -> None:
    """A point is broken if it was certain and some attack breaks it."""
    radii = {0.0: False, 1.0: True, 7.0: True, math.inf: False, math.nan: False}
    for radius, broken in radii.items():
        assert Target(0, "A", "B", radius, (0,)).broken == broken
    blanks = (Cells(0, 0, (0,), 1),)
    assert [attack_of(blanks, lower_bound=n).optimal for n in (0, 1)] == [False, True]
    assert "1 cell breaks" in repr(attack_of(blanks))
    assert "at least 1 are needed" in repr(attack_of((Cells(0, 0, (0,), 2),)))
    assert "2 cells break" in repr(attack_of((Cells(0, 0, (0,), 2),)))
    targets = (Target(0, "A", "B", 1.0, (0,)), Target(1, None, None, 0.0, (0,)))
    told = target_documents(targets, None)
    assert [one["certain_before"] for one in told] == [True, False]
    assert [one["label"] for one in told] == ["A", None]
    assert [one["rival"] for one in told] == ["B", None]
    named = attack_of(blanks).document([(3, "x0"), (2.5, "x1")])
    assert [cell["row"] for cell in named["cells"]] == [3, "2.5"]


def test_one_prediction_is_altered_at_a_time() -> None:
    """The altered world is that of the one broken target; without one, or with two, it is refused."""
    rows = [("a",)] * 3 + [("b",)] * 3
    index = CountIndex.from_rows(rows, ["A"] * 3 + ["B"] * 3)
    attack = poison(index, [("a",)])
    assert attack.altered_world is not None
    one, other = Target(0, "A", "B", 1.0, (0,)), Target(1, "B", "A", 1.0, (1,))
    for targets in ((), (one, other)):
        with pytest.raises(NullproofError, match="one table can alter one prediction"):
            _ = Attack(attack.model, attack.reach, attack.blanks, 1, targets).altered_world
    twice = Attack(attack.model, attack.reach, attack.blanks, 1, (one, one))
    assert twice.altered_world is not None


def test_altered_tables_keep_their_types() -> None:
    """A column of whole numbers stays one, although its cells were blank in between."""
    table = pd.DataFrame({"n": [1, 1, 1, 2, 2, 2], "kind": ["A", "A", "A", "B", "B", "B"]})
    for own in (table, pl.from_pandas(table)):
        index = CountIndex.from_table(own, "kind", domains={"n": [1, 2]})
        attack = poison(index, [(1,)])
        altered = attack.altered(own)
        assert type(altered) is type(own)
        assert [*altered.dtypes] == [*own.dtypes]


# Lazy tables --------------------------------------------------------------------------------------

TABLE = pl.DataFrame(
    {
        "id": [10, 11, 12, 13, 14, 15, 16, 17],
        "twice": [1, 1, 2, 2, 3, 3, 4, 4],
        "colour": ["red", "red", None, "red", "blue", "blue", "red", "blue"],
        "size": [1.0, 2.0, 9.0, None, 8.0, 9.5, 1.5, 9.0],
        "kind": ["A", "A", "A", "A", "B", "B", "B", "B"],
    }
)


def lazy_index() -> CountIndex:
    return CountIndex.from_table(TABLE, "kind", ignore=["id", "twice"], bins=2, binning="uniform")


def test_cells_of_a_lazy_table() -> None:
    """As many rows of each sort as are asked for, the smallest keys first, by key and column."""
    index = lazy_index()
    model, reach = Model(index), Reach.of(index)
    colours = index.schema.features[0].values
    red, blue = colours.index("red"), colours.index("blue")
    blanks = (
        Cells(0, 0, (red,), 2),
        Cells(1, 0, (blue,), 2),
        Cells(0, 1, (0,), 1),
        Cells(1, 1, (1,), 0),
    )
    attack = Attack(model, reach, blanks, 5, ())
    expected = [(0, "colour"), (0, "size"), (1, "colour"), (4, "colour"), (5, "colour")]
    assert attack.locate(TABLE.lazy()) == expected
    assert attack.locate(TABLE.lazy(), key="id") == [(10 + row, name) for row, name in expected]
    # Only the last two rows of B with a blue colour share no number.
    with pytest.raises(NullproofError, match="the table has 1 rows with 'red' in column 'colour'"):
        attack.locate(TABLE.lazy(), key="twice")
    assert Attack(model, reach, (), 0, ()).locate(TABLE.lazy()) == []
    with pytest.raises(NullproofError, match="no cells with several candidates"):
        Attack(model, reach, (Cells(0, 0, (0, 1), 1),), 1, ()).locate(TABLE.lazy())
    with pytest.raises(NullproofError, match="is not a lazy table"):
        attack.locate(TABLE)


def test_lazy_and_plain_tables_name_the_same_cells() -> None:
    """Located cells are those that the table in memory names."""
    index = lazy_index()
    for point in (("red", 1.0), ("blue", 9.0)):
        attack = poison(index, [point])
        assert attack.n_cells > 0
        assert attack.locate(TABLE.lazy()) == attack.cells(TABLE)
        after = CountIndex.from_table(attack.apply(TABLE), "kind", like=index)
        assert not certify(after, [point]).certain.any()


def test_labels_are_found_as_they_are_written() -> None:
    """Labels that look like numbers are texts."""
    table = pl.DataFrame({"x": ["a", "a", "b"], "y": ["01", "01", "1"]})
    index = CountIndex.from_table(table, "y")
    assert [*map(str, index.labels)] == ["01", "1"]
    blanks = (Cells(0, 0, (0,), 2), Cells(1, 0, (1,), 1))
    attack = Attack(Model(index), Reach.of(index), blanks, 3, ())
    assert attack.locate(table.lazy()) == [(0, "x"), (1, "x"), (2, "x")]


def test_labels_that_are_numbers_and_rows_of_other_labels() -> None:
    """A whole number is the label it was counted as, also as a double; another label is passed by."""
    table = pl.DataFrame({"x": ["a", "a", "b"], "y": [1, 1, 2]})
    index = CountIndex.from_table(table, "y")
    blanks = (Cells(0, 0, (0,), 2), Cells(1, 0, (1,), 1))
    attack = Attack(Model(index), Reach.of(index), blanks, 3, ())
    longer = pl.DataFrame({"x": ["a", "b", "a", "a", "b"], "y": [3, 3, 1, 1, 2]}).lazy()
    for lazy in (longer, longer.with_columns(pl.col("y").cast(pl.Float64))):
        assert attack.locate(lazy) == [(2, "x"), (3, "x"), (4, "x")]


def test_rows_without_an_order_need_a_key() -> None:
    """A relation has no first row: its cells are named by a column."""
    duckdb = pytest.importorskip("duckdb")
    index = lazy_index()
    attack = poison(index, [("red", 1.0)])
    with duckdb.connect() as connection:
        connection.register("counted", TABLE.to_arrow())
        relation = connection.table("counted")
        with pytest.raises(NullproofError, match="name a column that tells them apart: key="):
            attack.locate(relation)
        assert attack.locate(relation, key="id") == attack.locate(TABLE.lazy(), key="id")


# Added rows ---------------------------------------------------------------------------------------


def test_added_rows() -> None:
    """The longer table has the rows that are named, as often, and its index is the one that is promised."""
    index = CountIndex.from_rows([("a", "x"), ("b", "y"), ("a", "y")], ["A", "B", "A"])
    added = (AddedRows(0, (1, 0), 2), AddedRows(1, (0, 0), 1))
    attack = RowAttack(Model(index), added, 3, ())
    assert (attack.n_rows, attack.optimal) == (3, True)
    assert not RowAttack(Model(index), added, 2, ()).optimal
    assert attack.rows() == [(0, (1, 0)), (0, (1, 0)), (1, (0, 0))]
    rows, labels = attack.apply([("a", "x"), ("b", "y"), ("a", "y")], ["A", "B", "A"])
    assert Counter(zip(rows[3:], labels[3:], strict=True)) == {
        (("b", "x"), "A"): 2,
        (("a", "x"), "B"): 1,
    }
    after = attack.index_after
    assert after.label_counts.tolist() == [4, 2]
    assert after.low(0)[:2].tolist() == [[2, 1], [2, 1]]
    assert after.low(1)[:2].tolist() == [[3, 1], [1, 1]]
    assert RowAttack(Model(index), (), 0, ()).index_after is index
    assert "3 added rows break" in repr(attack)
    assert "(optimal)" in repr(attack)
    assert "(at least 2 are needed)" in repr(RowAttack(Model(index), added, 2, ()))
    assert "1 added row breaks" in repr(RowAttack(Model(index), added[1:], 1, ()))
