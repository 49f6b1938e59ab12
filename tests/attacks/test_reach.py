"""Attacks that keep to some columns, rows or cells: brute force over all allowed cells, and where they lie.

``NULLPROOF_LIMITED_TABLES`` sets the number of random tables, ``NULLPROOF_SEED`` the seed they start from.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.joint_oracle import Table, certain, fewest_by_counts
from support.joint_tables import index_of, random_table

from nullproof import CountIndex, certify, poison, radius
from nullproof.errors import NullproofError

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

N_CHUNKS = 25
N_TABLES = int(os.environ.get("NULLPROOF_LIMITED_TABLES", "5000")) // N_CHUNKS
SEED = int(os.environ.get("NULLPROOF_SEED", "20240604"))
TRAIN = pd.DataFrame(
    {
        "colour": ["red", "red", "red", "red", "blue", "blue"],
        "size": ["s", "s", "s", "m", "m", "m"],
        "kind": ["yes", "yes", "yes", "yes", "no", "no"],
    }
)


def plain(table: Table) -> tuple[list[Any], list[int]]:
    """The rows of a table as they are given to us, and their labels."""
    pairs = [zip(row, table.domains, strict=True) for row in table.rows]
    rows = [tuple(None if cell == dom else set(cell) for cell, dom in pair) for pair in pairs]
    return rows, table.labels


def assert_best(table: Table, mask: np.ndarray) -> bool:
    """Compare an attack with the brute force; return whether there was something to attack."""
    index, (rows, labels) = index_of(table), plain(table)
    within = {(i, j) for i, j in np.argwhere(mask).tolist()}
    only = {"cells": mask, "table": rows, "labels": labels}
    expected = fewest_by_counts(table, within=within)
    try:
        attack = poison(index, table.points, alpha=table.alpha, only=only, steps=20)
    except NullproofError:
        assert expected is None
        return False
    assert expected is not None
    assert attack.lower_bound <= expected <= attack.n_cells, table
    assert not attack.optimal or attack.n_cells == expected
    cells = {(row, index.features.index(name)) for row, name in attack.cells(rows, labels)}
    assert cells <= within
    assert len(cells) == attack.n_cells
    blanked = [
        [table.domains[j] if (i, j) in cells else cell for j, cell in enumerate(row)]
        for i, row in enumerate(table.rows)
    ]
    assert not any(certain(table, blanked, point) for point in table.points)
    return expected > 0


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_random_tables(chunk: int) -> None:
    """T14: an attack keeps to the cells within reach, works, and its bounds hold the optimum."""
    rng = np.random.default_rng([SEED, chunk])
    n_attacked = 0
    for number in range(N_TABLES):
        # One point is decided at once; two take a search and a proof.
        n_points = 2 if number % 5 == 0 else 1
        table = random_table(rng, n_points, dirty=bool(rng.random() < 0.5))
        mask = rng.random((len(table.rows), len(table.domains))) < rng.choice([0.5, 0.8])
        n_attacked += assert_best(table, mask)
    assert n_attacked > N_TABLES / 20


def test_cells_are_taken_from_rows_within_reach_alone() -> None:
    """An attack on imputed cells blanks those, in the table that has them and in no other."""
    index = CountIndex.from_table(TRAIN, "kind")
    rows = np.array([False, True, False, True, True, True])
    attack = poison(index, [("red", "s")], only={"rows": rows, "table": TRAIN})
    assert {row for row, _ in attack.cells(TRAIN)} <= {1, 3, 4, 5}
    after = CountIndex.from_table(attack.apply(TRAIN), "kind", like=index)
    assert not certify(after, [("red", "s")]).certain[0]
    assert attack.n_cells == radius(index, [("red", "s")], only={"rows": rows, "table": TRAIN})[0]
    with pytest.raises(NullproofError, match="made for a table of 6"):
        attack.cells(TRAIN[:5])
    with pytest.raises(NullproofError, match=r"use attack\.cells"):
        attack.locate(pl.from_pandas(TRAIN).lazy())


def test_columns_alone_hold_in_lazy_tables_too() -> None:
    """Limits that name columns need no mask, so the cells are found where the table is."""
    index = CountIndex.from_table(TRAIN, "kind")
    attack = poison(index, [("blue", "m")], only={"columns": ["size"]}, skip_unbreakable=True)
    lazy = attack.locate(pl.from_pandas(TRAIN).lazy())
    assert len(lazy) == attack.n_cells
    assert {column for _, column in lazy} <= {"size"}
    with pytest.raises(NullproofError, match="every cell within reach blanked"):
        poison(index, [("red", "s")], only={"columns": []})
