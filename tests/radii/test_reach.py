"""The radius within some columns, rows or cells: brute force over all allowed cells, and its laws.

``NULLPROOF_LIMITED_TABLES`` sets the number of random tables, ``NULLPROOF_SEED`` the seed they start from.
"""

from __future__ import annotations

import math
import os
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.blanking_oracle import brute_radius, extreme_products, radius_case, subset_radius
from support.count_tables import two_labels
from support.limits import random_limits
from support.strategies import EXTREME_ALPHAS, Case

from nullproof.counts.index import CountIndex
from nullproof.errors import NullproofError
from nullproof.model import Model
from nullproof.radii.cells import radii, radius
from nullproof.radii.limited import LimitedFrontier
from nullproof.radii.reach import Reach
from nullproof.radii.splits import Side

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

N_TABLES = int(os.environ.get("NULLPROOF_LIMITED_TABLES", "5000"))
SEED = int(os.environ.get("NULLPROOF_SEED", "20240604"))
N_CHUNKS = 10


def index_of(case: Case) -> CountIndex:
    """Count a case's table."""
    return CountIndex.from_rows(
        case.rows, case.labels, features=case.features, domains=case.declared
    )


def found_and_expected(rng: random.Random, case: Case, brute: Any) -> tuple[list[float], Any]:
    """The radii of a case's points within random limits, by us and by brute force."""
    index = index_of(case)
    only, within = random_limits(rng, case)
    options: Any = {"alpha": case.alpha, "prior": case.prior_for(index.labels), "only": only}
    found = radii(index, list(case.points), own_missing="any", **options)
    finite = np.isfinite(found.radius)
    assert (found.radius[finite] == (found.n_raise + found.n_lower)[finite]).all()
    return found.radius.tolist(), [brute(case, point, within) for point in case.points]


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_random_tables(chunk: int) -> None:
    """T14: within limits, the radius is the fewest cells over all vectors of allowed cells."""
    seed = f"{SEED}-limited-{chunk}"
    print("seed", seed)
    rng = random.Random(seed)
    n_tables, n_attacked = math.ceil(N_TABLES / N_CHUNKS), 0
    for _ in range(n_tables):
        case = radius_case(rng, max_rows=8, max_features=3)
        if rng.random() < 0.1:
            case = replace(case, points=((None,) * len(case.features),))
        found, expected = found_and_expected(rng, case, brute_radius)
        assert found == expected, case
        n_attacked += sum(0 < value < math.inf for value in expected)
    assert n_attacked > n_tables / 10


def test_all_subsets_of_allowed_cells_and_all_worlds() -> None:
    """Nothing taken for granted: every subset of the allowed cells, every world, every completion."""
    rng = random.Random(f"{SEED}-allowed")
    n_attacked = 0
    for _ in range(40):
        case = radius_case(rng, max_rows=4, max_features=2)
        found, expected = found_and_expected(rng, case, subset_radius)
        assert found == expected, case
        n_attacked += sum(0 < value < math.inf for value in expected)
    assert n_attacked >= 4


# Larger counts ------------------------------------------------------------------------------------


def random_pair(rng: random.Random) -> tuple[Model, Side, Side]:
    """Two labels with counts up to a dozen, of which only some cells can be moved."""
    d, sizes = rng.randint(1, 4), (rng.randint(3, 10), rng.randint(1, 10))
    counts = [[rng.randint(0, n) for _ in range(d)] for n in sizes]
    index = two_labels(sizes, *counts)
    alpha = rng.choice([0, 0, 1, Fraction(1, 2), 0.1, *EXTREME_ALPHAS])
    model = Model(index, alpha, rng.choice([None, "uniform", (3, 1), (1, 7)]))
    low, high = ([int(index.low(j)[0, i]) for j in range(d)] for i in (0, 1))
    caps = [index.label_counts[1] - c for c in high]
    winner = Side(0, low, [rng.randint(0, c) for c in low])
    rival = Side(1, high, [rng.randint(0, int(c)) for c in caps])
    return model, winner, rival


def brute_pair(model: Model, winner: Side, rival: Side) -> float:
    """The fewest cells over all vectors of cells of the two labels."""
    alpha = model.alpha
    falls = extreme_products(winner.counts, winner.room, -1, alpha)
    climbs = extreme_products(rival.counts, rival.room, +1, alpha)
    weights = []
    for label in (0, 1):
        size = int(model.index.label_counts[label])
        below = math.prod(size + alpha * int(n) for n in model.index.n_values)
        weights.append(Fraction(model.prior[label]) / below if below else Fraction(0))
    works = [
        a + b
        for b, fallen in falls.items()
        for a, climbed in climbs.items()
        if weights[0] * fallen <= weights[1] * climbed
    ]
    return min(works, default=math.inf)


def test_larger_counts() -> None:
    """T14 with counts that leave room for splits: whole features, one in part, and limits of the rival."""
    rng = random.Random(f"{SEED}-pairs")
    n_mixed = 0
    for _ in range(N_TABLES // 5):
        model, winner, rival = random_pair(rng)
        expected = brute_pair(model, winner, rival)
        if not expected:
            continue
        steps = LimitedFrontier(model, winner, rival).fewest(1)
        assert (math.inf if steps is None else sum(steps)) == expected, (winner, rival)
        n_mixed += steps is not None and min(steps) > 0
    assert n_mixed > N_TABLES / 200


def test_the_smallest_count_is_not_always_lowered_first() -> None:
    """Within limits A2's order is not optimal: the smaller count may not go far enough to pay."""
    model = Model(two_labels((10, 10), (3, 4), (1, 1)), Fraction(1, 100))
    winner, rival = Side(0, [3, 4], [1, 4]), Side(1, [1, 1], [0, 0])
    assert LimitedFrontier(model, winner, rival).after(4) == ([3, 0], [1, 1])


def test_a_value_out_of_reach_replaces_none_within() -> None:
    """Of a point's own candidates, one with a lower count may be unable to fall any further."""
    rows = [("a", "a"), ("b", "b"), ("b", "c"), ("a", "b"), ("c", "a"), ("c", "a"), ("b", "a")]
    labels, mask = ["B", "B", "B", "B", "B", "A", "B"], np.ones((7, 2), dtype=bool)
    mask[4], mask[2, 1] = False, False
    index = CountIndex.from_rows(rows, labels)
    only = {"cells": mask, "table": rows, "labels": labels}
    assert radius(index, [(None, None)], own_missing="any", only=only).tolist() == [3]


# Laws ---------------------------------------------------------------------------------------------

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


def test_everything_within_reach_is_no_limit(index: CountIndex) -> None:
    """All columns, all rows or all cells give the radius without limits; none of them gives infinity."""
    plain = radius(index, POINTS).tolist()
    every, nothing = np.ones(6, dtype=bool), np.zeros(6, dtype=bool)
    assert radius(index, POINTS, only={"columns": ["size", "colour"]}).tolist() == plain
    assert radius(index, POINTS, only={"rows": every, "table": TRAIN}).tolist() == plain
    cells = TRAIN.notna()
    assert radius(index, POINTS, only={"cells": cells, "table": TRAIN}).tolist() == plain
    impossible: tuple[Any, ...] = ({"columns": []}, {"rows": nothing, "table": TRAIN})
    for only in impossible:
        assert np.isinf(radius(index, POINTS, only=only)).all()


def test_masks_may_come_from_any_library(index: CountIndex) -> None:
    """A mask is a list, an array, a series or a data frame, and columns that it lacks are out of reach."""
    rows = TRAIN["size"] == "m"
    kinds = (rows, rows.to_numpy(), rows.tolist(), pl.Series(rows))
    found = {tuple(radius(index, POINTS, only={"rows": r, "table": TRAIN})) for r in kinds}
    assert len(found) == 1
    cells = pl.DataFrame({"size": rows.to_numpy(), "kind": np.zeros(6, dtype=bool)})
    both = {"rows": rows, "columns": ["size"], "table": TRAIN}
    alike = radius(index, POINTS, only={"cells": cells, "table": pl.from_pandas(TRAIN)})
    assert alike.tolist() == radius(index, POINTS, only=both).tolist()


def test_rows_without_a_label_keep_their_places() -> None:
    """A mask is about the rows of the table, also if some were left out for want of a label."""
    holed = pd.concat([TRAIN[:2], TRAIN[:1].assign(kind=None), TRAIN[2:]], ignore_index=True)
    index = CountIndex.from_table(holed, "kind", unlabelled="drop")
    rows = np.arange(7) != 2
    found = radius(index, POINTS, only={"rows": rows, "table": holed})
    assert found.tolist() == radius(index, POINTS).tolist()


def test_limits_are_about_cells(index: CountIndex) -> None:
    """Added rows are no cells of the table, so the two are not asked for together."""
    with pytest.raises(NullproofError, match="leave one of them out"):
        radius(index, POINTS, threat="rows", only={"columns": ["size"]})


@pytest.mark.parametrize(
    ("only", "words"),
    [
        ({}, "give a mapping"),
        (["size"], "give a mapping"),
        ({"column": ["size"]}, "'column'"),
        ({"columns": ["sise"]}, "'sise'"),
        ({"rows": np.ones(6, dtype=bool)}, "give both"),
        ({"columns": ["size"], "table": TRAIN}, "give both"),
        ({"rows": [0, 1], "table": TRAIN}, "True or False for each of the 6 rows"),
        ({"rows": [0, 1, 0, 1, 0, 1], "table": TRAIN}, "an array of int64 with shape"),
        ({"rows": np.ones(5, dtype=bool), "table": TRAIN}, "an array of bool with shape"),
        ({"cells": np.ones((6, 2), dtype=int), "table": TRAIN}, "an array of int64 with shape"),
        ({"cells": np.ones((6, 3), dtype=bool), "table": TRAIN}, "6 rows and 2 features"),
        ({"rows": np.ones(5, dtype=bool), "table": TRAIN[:5]}, "the table that was counted"),
        (
            {"rows": np.ones(6, dtype=bool), "table": TRAIN.assign(size="m")},
            "the table that was counted",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(index: CountIndex, only: Any, words: str) -> None:
    """A limit that does not fit the table is refused in one sentence that says what to give."""
    with pytest.raises(NullproofError, match=words):
        radius(index, POINTS, only=only)


def test_names_of_columns(index: CountIndex) -> None:
    """One name stands for a list of one; everything is within reach only without any limit."""
    one, listed = (Reach.of(index, {"columns": names}) for names in ("size", ["size"]))
    assert one.columns.tolist() == listed.columns.tolist() == [False, True]
    every = {"columns": ["colour", "size"]}
    rows = {"rows": np.ones(6, dtype=bool), "table": TRAIN}
    reaches = [Reach.of(index, only) for only in (None, every, {"columns": "size"}, rows)]
    assert [reach.everything for reach in reaches] == [True, True, False, False]
    assert [reach.mask is None for reach in reaches] == [True, True, True, False]


def test_cells_that_are_no_table(index: CountIndex) -> None:
    """A mask of cells is an array or a data frame that is there."""
    for cells in (pl.LazyFrame({"size": [True] * 6}), [[True, True]] * 6):
        with pytest.raises(NullproofError, match="give an array or a data frame"):
            radius(index, POINTS, only={"cells": cells, "table": TRAIN})


@pytest.mark.parametrize("of", [pl.DataFrame, pd.DataFrame])
@pytest.mark.parametrize("values", [["False"] * 6, [0, 1] * 3, [True, None] * 3])
def test_cells_that_are_neither_true_nor_false(index: CountIndex, of: Any, values: Any) -> None:
    """Texts, numbers and holes in a mask are refused: the text "False" would be within reach."""
    with pytest.raises(NullproofError, match="column 'size' of the cells of only holds"):
        radius(index, POINTS, only={"cells": of({"size": values}), "table": TRAIN})


def test_cells_by_the_names_of_columns(index: CountIndex) -> None:
    """Columns go by their names, in any order; those that a mask lacks are out of reach."""
    own = [True, False, True, False, True, True]
    for cells in (
        pl.DataFrame({"size": own}),
        pl.DataFrame({"other": ["?"] * 6, "size": own, "colour": [False] * 6}),
        pd.DataFrame({"size": pd.array(own, dtype="boolean")}),
    ):
        mask = Reach.of(index, {"cells": cells, "table": TRAIN}).mask
        assert mask is not None
        assert mask.tolist() == [[False, one] for one in own]


SETS: list[tuple[Any, ...]] = [("a",), ("a",), ({"a", "b"},), ("b",), ({"a", "c"},), ("c",)]


def test_cells_with_candidates() -> None:
    """Within reach or not, cells with several candidates are counted with their label, or refused."""
    labels = ["A", "A", "A", "B", "B", "B"]
    index = CountIndex.from_rows(SETS, labels)
    rows = np.array([True, False, True, True, False, True])
    reach = Reach.of(index, {"rows": rows, "table": SETS, "labels": labels})
    assert [
        (*map(int, cells.candidates), cells.label, cells.n_cells) for cells in reach.cells()
    ] == [
        (0, 0, 1),
        (1, 1, 1),
        (2, 1, 1),
        (0, 1, 0, 1),
    ]
    for other in (
        [*SETS[:3], ({"a", "b"},), *SETS[4:]],
        [*SETS[:3], ({"b", "c"},), *SETS[4:]],
        [*SETS[:1], ({"a", "b"},), *SETS[2:]],
    ):
        with pytest.raises(NullproofError, match="not the one that was counted"):
            Reach.of(index, {"rows": rows | True, "table": other, "labels": labels})
    holed = [*SETS[:2], (None,), *SETS[3:]]
    assert Reach.of(index, {"rows": rows, "table": holed, "labels": labels}).mask is not None


def test_rows_that_were_left_out_and_candidates() -> None:
    """Rows without a label stay out, and those behind them keep their candidates."""
    table = pl.DataFrame({"x": ["a", "a", "b", "a", "b"], "y": ["A", None, "B", "A", "B"]})
    index = CountIndex.from_table(table, "y", unlabelled="drop")
    reach = Reach.of(index, {"rows": np.array([1, 1, 1, 0, 1], dtype=bool), "table": table})
    assert reach.index.label_counts.tolist() == [2, 2]
    assert [cells.n_cells for cells in reach.cells()] == [1, 2]
    assert reach.mask is not None
    assert reach.mask.shape == (5, 1)
    assert reach.columns.tolist() == [True]
    assert Reach.of(index, {"rows": np.zeros(5, dtype=bool), "table": table}).columns.tolist() == [
        False
    ]
