"""radius with only=: the fewest cells within some columns, rows or cells (T14)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.amounts import n_tables, seeded
from support.attack_oracle import WrongCells, fewest_cells
from support.attack_tables import attack_case, random_limits, tiny_case
from support.counted import index_of, options_of
from support.refusing import refuses
from support.strategies import Case

from nullproof import CountIndex, radius

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")

N_TABLES = n_tables(1500)
N_CHUNKS = 4


def radii_of(case: Case, only: Any) -> list[float]:
    """Ask for the radii of a case's points within limits; each is the sum of its steps."""
    index = index_of(case)
    found = radius(index, list(case.points), only=only, **options_of(case, index))
    finite = np.isfinite(found.radius)
    assert (found.radius[finite] == (found.n_raise + found.n_lower)[finite]).all()
    size: list[float] = np.asarray(found.radius).tolist()
    return size


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_random_tables(chunk: int) -> None:
    """T14: within limits, the radius is the fewest cells over all choices of allowed cells."""
    rng = seeded("limited", chunk)
    n_tables, n_attacked = max(N_TABLES // N_CHUNKS // 2, 30), 0
    for _ in range(n_tables):
        case = attack_case(rng, max_rows=rng.choice([8, 8, 16]), max_features=3)
        only, within = random_limits(rng, case)
        expected = [fewest_cells(case, point, within) for point in case.points]
        assert radii_of(case, only) == expected, (case, only)
        n_attacked += sum(0 < value < math.inf for value in expected)
    assert n_attacked > n_tables / 10


def test_wrong_cells() -> None:
    """T12 and T14: within limits no fewer wrong cells than blanked ones take a label."""
    rng = seeded("limited-wrong")
    n_attacked = 0
    for _ in range(max(N_TABLES // 100, 20)):
        case = tiny_case(rng)
        only, within = random_limits(rng, case)
        tables = WrongCells(case, within)
        expected = [tables.radius(point) for point in case.points]
        assert radii_of(case, only) == expected, (case, only)
        n_attacked += sum(0 < value < math.inf for value in expected)
    assert n_attacked >= 2


# Larger counts ------------------------------------------------------------------------------------


def two_label_rows(sizes: tuple[int, int], counts: Any) -> tuple[list[Any], list[str]]:
    """Lay out rows where so many of each label hold "0" in each column."""
    rows, labels = [], []
    for size, own, label in zip(sizes, counts, ("A", "B"), strict=True):
        rows += [tuple("0" if i < c else "1" for c in own) for i in range(size)]
        labels += [label] * size
    return rows, labels


def allowed(sizes: tuple[int, int], counts: Any, rooms: Any) -> Any:
    """Allow so many cells of the winner that agree, and of the rival that disagree."""
    mask = np.zeros((sum(sizes), len(counts[0])), dtype=bool)
    for j, n in enumerate(rooms[0]):
        mask[:n, j] = True
    for j, n in enumerate(rooms[1]):
        first = sizes[0] + counts[1][j]
        mask[first : first + n, j] = True
    return mask


def assert_fewest(
    sizes: tuple[int, int], counts: Any, rooms: Any, alpha: Fraction, prior: Any
) -> float:
    """Compare with all choices of the allowed cells; return the radius."""
    rows, labels = two_label_rows(sizes, counts)
    features = tuple(f"x{j}" for j in range(len(counts[0])))
    domains: Any = dict.fromkeys(features, ("0", "1"))
    shares, point = prior and dict(zip("AB", prior, strict=True)), ("0",) * len(features)
    case = Case(tuple(rows), tuple(labels), features, domains, (point,), alpha, shares)
    cells = allowed(sizes, counts, rooms)
    expected = fewest_cells(case, point, {(i, j) for i, j in np.argwhere(cells).tolist()})
    only = {"cells": cells, "table": rows, "labels": labels}
    assert radii_of(case, only) == [expected], (sizes, counts, rooms, alpha, prior)
    return expected


@pytest.mark.parametrize("chunk", range(2))
def test_larger_counts(chunk: int) -> None:
    """T14 with counts that leave room for splits: whole features, one in part, limits of both."""
    rng = seeded("limited-large", chunk)
    n_attacked = 0
    for _ in range(max(N_TABLES // 50, 40)):
        d = rng.randint(1, 4)
        sizes = rng.randint(3, 40), rng.randint(1, 40)
        counts = [[rng.randint(rng.randint(0, n), n) for _ in range(d)] for n in sizes]
        rooms = [
            [rng.choice([c, rng.randint(0, c)]) for c in counts[0]],
            [rng.choice([0, rng.randint(0, sizes[1] - c)]) for c in counts[1]],
        ]
        alpha = Fraction(rng.choice(["0", "0", "1", "1/2", "1/10", "2", "1e-6"]))
        prior = rng.choice([None, None, [3, 1], [1, 7], [1, 0]])
        size = assert_fewest(sizes, counts, rooms, alpha, prior)
        n_attacked += 2 < size < math.inf
    assert n_attacked >= 8


def test_ties_and_near_ties() -> None:
    """Products of large counts that are equal, or nearly, are told apart within limits too."""
    rng = seeded("limited-ties")
    n_attacked = 0
    for _ in range(max(N_TABLES // 100, 25)):
        d, size = rng.choice([2, 3, 3]), rng.choice([90, 900])
        base = [rng.randint(size // 2, size - 10) for _ in range(d)]
        counts = [[c + rng.randint(0, 4) for c in rng.sample(base, d)], base]
        rooms = [[rng.randint(0, 4) for _ in range(d)] for _ in range(2)]
        alpha = Fraction(rng.choice([0, 1]))
        n_attacked += 0 < assert_fewest((size, size), counts, rooms, alpha, None) < math.inf
    assert n_attacked >= 5


# Limits -------------------------------------------------------------------------------------------

TRAIN = pd.DataFrame(
    {
        "colour": ["red", "red", "red", "red", "blue", "blue"],
        "size": ["s", "s", "s", "m", "m", "m"],
        "kind": ["yes", "yes", "yes", "yes", "no", "no"],
    }
)
POINTS = [("red", "s"), ("blue", "m")]


@pytest.fixture
def index() -> CountIndex:
    """The index of a small data frame."""
    return CountIndex.from_table(TRAIN, "kind")


def sizes_of(index: CountIndex, only: Any) -> list[float]:
    """Ask for the radii of the two points."""
    found: list[float] = np.asarray(radius(index, POINTS, only=only)).tolist()
    return found


def test_everything_within_reach_is_no_limit(index: CountIndex) -> None:
    """All columns, rows or cells give the radius without limits; none of them gives infinity."""
    plain = sizes_of(index, None)
    every, nothing = np.ones(6, dtype=bool), np.zeros(6, dtype=bool)
    for only in (
        {"columns": ["size", "colour"]},
        {"rows": every, "table": TRAIN},
        {"cells": TRAIN.notna(), "table": TRAIN},
    ):
        assert sizes_of(index, only) == plain
    for only in ({"columns": []}, {"rows": nothing, "table": TRAIN}):
        assert np.isinf(sizes_of(index, only)).all()
    assert sizes_of(index, {"columns": "size"}) == sizes_of(index, {"columns": ["size"]})


def test_masks_may_come_from_any_library(index: CountIndex) -> None:
    """A mask is a list, an array, a series or a frame; columns that it lacks are out of reach."""
    rows = TRAIN["size"] == "m"
    kinds = (rows, rows.to_numpy(), rows.tolist(), pl.Series(rows))
    assert len({(*sizes_of(index, {"rows": own, "table": TRAIN}),) for own in kinds}) == 1
    both = sizes_of(index, {"rows": rows, "columns": ["size"], "table": TRAIN})
    for cells in (
        pl.DataFrame({"size": rows.to_numpy(), "kind": np.zeros(6, dtype=bool)}),
        pl.DataFrame({"other": ["?"] * 6, "size": rows.to_numpy(), "colour": [False] * 6}),
        pd.DataFrame({"size": pd.array(rows, dtype="boolean")}),
        np.stack([np.zeros(6, dtype=bool), rows.to_numpy()], axis=1),
    ):
        assert sizes_of(index, {"cells": cells, "table": TRAIN}) == both
    cells, table = TRAIN[["size"]] == "m", pl.from_pandas(TRAIN)
    assert sizes_of(index, {"cells": cells, "table": table}) == both


def test_rows_without_a_label_keep_their_places() -> None:
    """A mask is about the rows of the table, also if some were left out for want of a label."""
    holed = pd.concat([TRAIN[:2], TRAIN[:1].assign(kind=None), TRAIN[2:]], ignore_index=True)
    index = CountIndex.from_table(holed, "kind", unlabelled="drop")
    rows = np.arange(7) != 2
    assert sizes_of(index, {"rows": rows, "table": holed}) == sizes_of(index, None)
    some = np.array([1, 0, 1, 1, 0, 1, 1], dtype=bool)
    plain = CountIndex.from_table(TRAIN, "kind")
    limited = sizes_of(plain, {"rows": some[rows], "table": TRAIN})
    assert sizes_of(index, {"rows": some, "table": holed}) == limited


test_what_cannot_be_meant_is_refused = refuses(
    "A limit that does not fit the table is refused in one sentence that says what to give.",
    lambda only: radius(CountIndex.from_table(TRAIN, "kind"), POINTS, only=only),
    ({}, "mapping"),
    (["size"], "mapping"),
    ({"column": ["size"]}, "'column'"),
    ({"columns": ["sise"]}, "'sise'"),
    ({"rows": np.ones(6, dtype=bool)}, "both"),
    ({"columns": ["size"], "table": TRAIN}, "both"),
    ({"rows": [0, 1, 0, 1, 0, 1], "table": TRAIN}, "int64"),
    ({"rows": np.ones(5, dtype=bool), "table": TRAIN}, "shape"),
    ({"cells": np.ones((6, 3), dtype=bool), "table": TRAIN}, "6 rows and 2 features"),
    ({"cells": pl.LazyFrame({"size": [True] * 6}), "table": TRAIN}, "data frame"),
    ({"cells": pl.DataFrame({"size": [True, None] * 3}), "table": TRAIN}, "'size'"),
    ({"rows": np.ones(6, dtype=bool), "table": TRAIN.assign(size="m")}, "counted"),
)
