"""poison and Attack: the cells are real, they break what they promise, and none can be spared."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from support import oracle
from support.blanking_oracle import radius_case
from support.counted import index_of, options_of
from support.strategies import Case, holes

from nullproof.attacks.poisoning import poison
from nullproof.counts.index import CountIndex
from nullproof.decision import certify
from nullproof.errors import NullproofError
from nullproof.radii.cells import radius

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

N_TABLES = 160
N_CHUNKS = 4
SEED = 20240607


def breakable(rng: random.Random) -> tuple[Case, CountIndex, tuple[Any, ...], dict[str, Any]]:
    """Draw tables until one has a point with an attack."""
    while True:
        case = radius_case(rng)
        index = index_of(case)
        options = options_of(case, index)
        for point in case.points:
            if 0 < radius(index, [point], **options)[0] < np.inf:
                return case, index, point, options


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_no_cell_can_be_spared(chunk: int) -> None:
    """The attack has as many cells as the radius; with all of them the point falls, with one less not."""
    rng = random.Random(f"{SEED}-{chunk}")
    print("seed", f"{SEED}-{chunk}")
    for _ in range(N_TABLES // N_CHUNKS):
        case, index, point, options = breakable(rng)
        attack = poison(index, [point], **options)
        assert attack.optimal
        assert attack.n_cells == radius(index, [point], **options)[0]
        cells = attack.cells(case.rows, case.labels)
        assert len(set(cells)) == len(cells) == attack.n_cells
        poisoned = attack.apply(case.rows, case.labels)
        after = CountIndex.from_rows(poisoned, case.labels, like=index)
        assert after == attack.index_after
        assert not certify(after, [point], **options).certain[0]
        for row, column in cells:
            j = case.features.index(column)
            spared = [list(cells_) for cells_ in poisoned]
            spared[row][j] = case.rows[row][j]
            back = CountIndex.from_rows([tuple(r) for r in spared], case.labels, like=index)
            assert certify(back, [point], **options).certain[0], (case, point, row, column)


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_altered_tables_predict_the_rival(chunk: int) -> None:
    """The altered table changes only attacked or missing cells, and the oracle sees the rival win or tie.

    If it only ties, no attack with as many cells makes another label win.
    """
    rng = random.Random(f"{SEED}-altered-{chunk}")
    n_strict = 0
    for _ in range(N_TABLES // N_CHUNKS):
        case, index, point, options = breakable(rng)
        if any(cell is None or isinstance(cell, frozenset) for cell in point):
            continue
        attack = poison(index, [point], **options)
        altered = attack.altered(case.rows, case.labels)
        assert oracle.is_world(altered, attack.apply(case.rows, case.labels), case.domains)
        (supports,) = oracle.outcomes(
            altered, case.labels, point, case.domains, alpha=case.alpha, prior=case.prior
        )
        winners = oracle.winners(supports)
        assert set(attack.altered_world.winners) == winners
        target = attack.targets[0]
        assert supports[target.rival] >= supports[target.label]
        strict = supports[target.rival] > supports[target.label]
        assert strict == can_win(case, point, target.label, attack.n_cells), (case, point)
        n_strict += strict
    assert n_strict > 5


def can_win(case: Case, point: tuple[Any, ...], label: Any, n_cells: int) -> bool:
    """Whether some way to blank ``n_cells`` lets a rival of ``label`` win outright, by trying all."""
    names = oracle.distinct(case.labels)
    shares = oracle.shares(case.labels, names, case.prior)
    for rival in (name for name in names if name != label):
        for n_lower in range(n_cells + 1):
            lowered = min(
                (shares[label] * value for value in spread(case, point, label, n_lower, -1)),
                default=None,
            )
            raised = max(
                (
                    shares[rival] * value
                    for value in spread(case, point, rival, n_cells - n_lower, 1)
                ),
                default=None,
            )
            if lowered is not None and raised is not None and raised > lowered:
                return True
    return False


def spread(
    case: Case, point: tuple[Any, ...], label: Any, n_cells: int, sign: int
) -> Iterator[Fraction]:
    """Every support of a label after ``n_cells`` blanked cells moved its counts up or down."""
    n_rows = case.labels.count(label)
    counts, rooms, sizes = [], [], []
    for j, (value, domain) in enumerate(zip(point, case.domains, strict=True)):
        sets = [
            set(oracle.candidates(row[j], domain))
            for row, own in zip(case.rows, case.labels, strict=True)
            if own == label
        ]
        count = sum((value in s) if sign > 0 else (s == {value}) for s in sets)
        fixed = len(domain) < 2 or value not in domain
        counts.append(count)
        rooms.append(0 if fixed else (n_rows - count if sign > 0 else count))
        sizes.append(len(domain))
    alpha = Fraction(case.alpha)
    for steps in itertools.product(*(range(min(room, n_cells) + 1) for room in rooms)):
        if sum(steps) == n_cells:
            value = Fraction(1)
            for count, step, size in zip(counts, steps, sizes, strict=True):
                below = n_rows + alpha * size
                value *= (count + sign * step + alpha) / below if below else 0
            yield value


def test_a_strict_attack_is_preferred_to_a_tie() -> None:
    """Where lowering by two ties and raising by two wins, the rival wins."""
    rows = [("a",)] * 4 + [("b",)] * 2 + [("a",)] * 2 + [("b",)] * 4
    labels = ["yes"] * 6 + ["no"] * 6
    index = CountIndex.from_rows(rows, labels)
    attack = poison(index, [("a",)], alpha=0)
    assert attack.n_cells == 2
    tie_only = attack.altered_world.winners
    assert tie_only == ("no", "yes")  # 2 cells can only tie: 4-2 = 2, 2+2 = 4, 4-1 = 2+1
    rows[0] = ("b",)
    attack = poison(CountIndex.from_rows(rows, labels), [("a",)], alpha=0)
    assert attack.n_cells == 1
    assert attack.altered_world.winners == ("no", "yes")
    wider = [("a", "x")] * 3 + [("b", "y")] + [("a", "x")] * 2 + [("b", "y")] * 5
    attack = poison(CountIndex.from_rows(wider, ["yes"] * 4 + ["no"] * 7), [("a", "x")], alpha=0)
    assert attack.altered_world.winners == ("no",)


FRAME = {
    "colour": ["red", "red", "blue", "red", "blue", "blue", "blue", "red"],
    "size": [1, 2, 9, 2, 8, 9, 9, 1],
    "weight": [0.5, 0.25, 7.5, 0.5, 8.0, 7.0, 7.5, None],
    "kind": ["a", "a", "b", "a", "b", "b", "b", "a"],
}


def frames() -> list[Any]:
    pandas = pd.DataFrame(FRAME, index=[10, 20, 30, 40, 50, 60, 70, 80])
    typed = pandas.astype({"size": "Int64", "colour": "category"})
    return [pandas, typed, pl.DataFrame(FRAME), pa.table(FRAME)]


@pytest.mark.parametrize("frame", frames(), ids=["pandas", "pandas-typed", "polars", "pyarrow"])
def test_frames_keep_all_but_the_attacked_cells(frame: Any) -> None:
    """The poisoned frame has the same type, columns, order and other cells, and exactly the cells blank."""
    index = CountIndex.from_table(frame, "kind")
    point = {"colour": "red", "size": 1, "weight": 0.5}
    attack = poison(index, [point], alpha=0)
    poisoned = attack.apply(frame)
    assert type(poisoned) is type(frame)
    before, after = plain(frame), plain(poisoned)
    assert list(before) == list(after)
    changed = [
        (row, name)
        for name in before
        for row, (a, b) in enumerate(zip(before[name], after[name], strict=True))
        if a != b
    ]
    assert sorted(changed) == sorted(attack.cells(frame))
    assert all(after[name][row] is None for row, name in changed)
    if isinstance(frame, pd.DataFrame):
        assert list(poisoned.index) == list(frame.index)
        untouched = [name for name in frame if name not in {name for _, name in changed}]
        assert (poisoned[untouched].dtypes == frame[untouched].dtypes).all()
        assert (attack.altered(frame).dtypes == frame.dtypes).all()
    counted = CountIndex.from_table(poisoned, "kind", like=index)
    assert counted == attack.index_after
    assert not certify(counted, [point], alpha=0).certain[0]
    assert not any(None in column for column in plain(attack.altered(frame)).values())


def plain(frame: Any) -> dict[str, list[Any]]:
    """The frame as lists with None for every missing cell."""
    if isinstance(frame, pd.DataFrame):
        return {
            name: [None if pd.isna(cell) else cell for cell in frame[name].tolist()]
            for name in frame.columns
        }
    return {
        str(k): list(v)
        for k, v in (
            frame.to_dict(as_series=False) if isinstance(frame, pl.DataFrame) else frame.to_pydict()
        ).items()
    }


def test_points_that_are_open_already_cost_nothing() -> None:
    """A point that is open is a target without cells."""
    index = CountIndex.from_rows([("a", "x"), ("b", "y")], ["yes", "no"])
    attack = poison(index, [("a", "y")], alpha=0)
    assert (attack.n_cells, attack.lower_bound, attack.optimal) == (0, 0, True)
    assert attack.targets[0].radius == 0


def test_points_beyond_attack_are_named() -> None:
    """With smoothing some points cannot be broken: they are named, or left out on request."""
    rows = [("a",), ("a",), ("a",), ("a",), ("b",)]
    index = CountIndex.from_rows(rows, ["yes"] * 4 + ["no"])
    points = [("a",), ("b",)]
    assert np.isinf(radius(index, points, alpha=50.0)).all()
    with pytest.raises(NullproofError, match="no attack can break point 0, 1"):
        poison(index, points, alpha=50.0)
    assert poison(index, points, alpha=50.0, skip_unbreakable=True).n_cells == 0


def test_another_table_is_refused() -> None:
    """Cells that are not in the given table are an error, not a shorter list."""
    rows = [("a", "x"), ("a", "x"), ("a", "x"), ("b", "y")]
    labels = ["yes", "yes", "yes", "no"]
    attack = poison(CountIndex.from_rows(rows, labels), [("a", "x")], alpha=0)
    with pytest.raises(NullproofError, match="give the table that was counted"):
        attack.cells([("b", "x")] * 4, labels)


def test_altering_needs_one_target() -> None:
    """One table cannot alter two predictions at will."""
    rows = [("a", "x"), ("a", "x"), ("a", "x"), ("b", "y"), ("b", "y")]
    index = CountIndex.from_rows(rows, ["yes", "yes", "yes", "no", "no"])
    attack = poison(index, [("a", "x"), ("b", "y")], alpha=0)
    with pytest.raises(NullproofError, match="poison one certain point"):
        attack.altered(rows, ["yes", "yes", "yes", "no", "no"])


def test_attacks_tell_what_they_are() -> None:
    """repr and HTML name cells, points and bound."""
    rows = [("<i>", "x"), ("<i>", "x"), ("<i>", "x"), ("b", "y")]
    attack = poison(
        CountIndex.from_rows(rows, ["yes", "yes", "yes", "no"]), [("<i>", "x")], alpha=0
    )
    assert repr(attack) == "Attack: 3 cells break 1 certain point (optimal)"
    assert "&lt;i&gt;" in attack._repr_html_()
    assert "<i>" not in attack._repr_html_()


def test_random_tables_have_holes() -> None:
    """The generator draws tables with missing cells too."""
    rng = random.Random(SEED)
    assert sum(bool(holes(breakable(rng)[0])) for _ in range(40)) > 5
