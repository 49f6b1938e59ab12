"""poison: an attack that works, cell by cell, and a bound that no attack gets below."""

from __future__ import annotations

import itertools
import json
import math
import random
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from support import oracle
from support.amounts import n_tables, seeded
from support.attack_oracle import RowJudge, fewest_jointly, without_missing
from support.attack_tables import attack_case, large_points, large_table, random_limits, rows_case
from support.counted import index_of, options_of
from support.graphs import (
    CUBE,
    PETERSEN,
    PRISM,
    cover_index,
    heavy_enough,
    min_vertex_cover,
    three_colouring,
)
from support.refusing import refuses
from support.strategies import Case

from nullproof import CountIndex, NullproofError, certify, poison, radius
from nullproof.attacks import Attack

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")

N_TABLES = n_tables(60)


def assert_works(case: Case, attack: Attack, options: dict[str, Any]) -> Any:
    """Blank the cells, count again, and see no point certain; return the poisoned rows."""
    cells = attack.cells(case.rows, case.labels)
    assert len({*cells}) == len(cells) == attack.n_cells
    assert cells == sorted(cells, key=lambda own: (own[0], case.features.index(own[1])))
    poisoned = attack.apply(case.rows, case.labels)
    expected = [
        tuple(
            None if (i, name) in cells else cell
            for name, cell in zip(case.features, row, strict=True)
        )
        for i, row in enumerate(case.rows)
    ]
    assert [*map(tuple, poisoned)] == expected
    after = CountIndex.from_rows(poisoned, case.labels, like=attack.index)
    assert after == attack.index_after
    asked = {name: own for name, own in options.items() if name != "only"}
    still = certify(after, list(case.points), **asked).certain
    assert [bool(own) for own in still] == [math.isinf(t.radius) for t in attack.targets]
    return poisoned


# One point ----------------------------------------------------------------------------------------


def breakable(rng: random.Random, limited: bool) -> tuple[Case, CountIndex, dict[str, Any], float]:
    """Draw tables until one has a point with an attack; the case has this point alone."""
    while True:
        case = attack_case(rng)
        index = index_of(case)
        options = options_of(case, index)
        if limited:
            options["only"] = random_limits(rng, case)[0]
        for point in case.points:
            (size,) = np.asarray(radius(index, [point], **options)).tolist()
            if 0 < size < math.inf:
                return replace(case, points=(point,)), index, options, size


@pytest.mark.parametrize("limited", [False, True], ids=["anywhere", "limited"])
def test_no_cell_can_be_spared(limited: bool) -> None:
    """One point: as many cells as the radius, all within reach; with one less it stays certain."""
    rng = seeded("spared", limited)
    for _ in range(max(N_TABLES // 2, 30)):
        case, index, options, size = breakable(rng, limited)
        attack = poison(index, list(case.points), **options)
        assert (attack.n_cells, attack.lower_bound, attack.optimal) == (size, size, True)
        poisoned = assert_works(case, attack, options)
        only = options.pop("only", {})
        for row, column in attack.cells(case.rows, case.labels):
            j = case.features.index(column)
            assert column in only.get("columns", case.features)
            assert "rows" not in only or only["rows"][row]
            assert "cells" not in only or only["cells"][row, j]
            spared = [[*cells] for cells in poisoned]
            spared[row][j] = case.rows[row][j]
            back = CountIndex.from_rows([*map(tuple, spared)], case.labels, like=index)
            assert certify(back, list(case.points), **options).certain[0], (case, row, column)


def test_altered_tables_predict_the_rival() -> None:
    """Only attacked or missing cells change, and the rival wins or ties."""
    rng = seeded("altered")
    n_outright = 0
    for _ in range(max(N_TABLES, 60)):
        case, index, options, _ = breakable(rng, limited=False)
        if any(not isinstance(cell, str) for cell in case.points[0]):
            continue
        attack = poison(index, list(case.points), **options)
        altered = attack.altered(case.rows, case.labels)
        assert oracle.is_world(altered, attack.apply(case.rows, case.labels), case.domains)
        supports = case.supports(altered, case.points[0])
        assert {*attack.altered_world.winners} == oracle.winners(supports)
        target = attack.targets[0]
        assert supports[target.rival] >= supports[target.label]
        n_outright += supports[target.rival] > supports[target.label]
    assert n_outright > 5


# Many points --------------------------------------------------------------------------------------


def joint_case(rng: random.Random, max_rows: int, limit: int) -> tuple[Case, Any, float]:
    """Draw a table with several points, limits for one in three, and the optimum of all attacks."""
    while True:
        rows, features, n_points = rng.randint(4, max_rows), rng.randint(1, 4), rng.randint(2, 5)
        case = attack_case(rng, rows, features, n_points=n_points)
        case = replace(case, alpha=rng.choice([0, 0, 1, Fraction(1, 2), 2]))
        only, within = random_limits(rng, case) if rng.random() < 0.3 else (None, None)
        best = fewest_jointly(case, within, limit)
        if best:
            return case, only, best


def enclosed(case: Case, only: Any, best: float, steps: int) -> Attack | None:
    """Poison, and check that the bounds enclose the optimum; None if no attack can do it."""
    index = index_of(case)
    options = options_of(case, index) | ({"only": only} if only else {})
    if math.isinf(best):
        with pytest.raises(NullproofError, match="no attack can break"):
            poison(index, list(case.points), steps=1, **options)
        return None
    attack: Attack = poison(index, list(case.points), steps=steps, **options)
    assert attack.lower_bound <= best <= attack.n_cells, (case, only)
    assert attack.optimal == (attack.lower_bound == attack.n_cells)
    assert_works(case, attack, options)
    return attack


@pytest.mark.parametrize("block", range(4))
def test_the_bounds_enclose_the_optimum(block: int) -> None:
    """lower_bound <= optimum <= n_cells, equal when claimed; nearly all are proven optimal."""
    rng = seeded("joint", block)
    found = [enclosed(*joint_case(rng, 9, 60_000), steps=200) for _ in range(max(N_TABLES, 15))]
    proven = [attack.optimal for attack in found if attack]
    assert sum(proven) >= 0.9 * len(proven)
    # Larger tables and few steps: the bounds hold however little was searched.
    for number in range(max(N_TABLES // 4, 4)):
        enclosed(*joint_case(rng, 14, 100_000), steps=(0, 1, 3, 20)[number % 4])


def deep_case(rng: random.Random) -> tuple[Case, Any, float]:
    """Draw one or two features with many rows, so that the best mixes take several of a kind."""
    while True:
        n_rows, d = rng.randint(9, 22), rng.choice([1, 1, 2])
        values = "ab" if d == 2 else "abc"[: rng.choice([2, 3])]
        labels = tuple(rng.choices("AB", [3, 2], k=n_rows))
        leaning = {(label, j): rng.choice([1, 2, 5]) for label in "AB" for j in range(d)}
        rows = tuple(
            tuple(
                rng.choices(values, [leaning[label, j], *[1] * (len(values) - 1)])[0]
                for j in range(d)
            )
            for label in labels
        )
        features = tuple(f"f{j}" for j in range(d))
        domains: Any = dict.fromkeys(features, tuple(values))
        points = tuple(itertools.product(values, repeat=d))
        points = tuple(rng.sample(points, min(len(points), rng.randint(2, 3))))
        alpha = rng.choice([0, 1, 1, Fraction(1, 2), 2])
        case = Case(rows, labels, features, domains, points, alpha, None)
        only, within = random_limits(rng, case) if rng.random() < 0.3 else (None, None)
        best = fewest_jointly(case, within, 300_000)
        if best and best < math.inf:
            return case, only, best


@pytest.mark.parametrize("block", range(2))
def test_the_bounds_hold_where_many_cells_are_alike(block: int) -> None:
    """Few features and many rows: bounds enclose the optimum, and most attacks are optimal."""
    rng = seeded("joint-deep", block)
    n_best = n_tables = 0
    for number in range(max(N_TABLES // 2, 12)):
        case, only, best = deep_case(rng)
        attack = enclosed(case, only, best, (0, 3, 40)[number % 3])
        n_tables, n_best = n_tables + 1, n_best + (attack is not None and attack.n_cells == best)
    assert n_best >= 0.8 * n_tables


def test_laws_on_hundreds_of_rows() -> None:
    """The largest radius <= every bound <= every attack <= the union, whatever seed and effort."""
    rng = seeded("joint-large")
    n_better = 0
    for _ in range(max(N_TABLES // 8, 5)):
        table = large_table(rng, rng.choice([40, 120]))
        index = CountIndex.from_codes(table.codes, table.labels, n_values=table.n_values)
        alpha: Any = rng.choice([0, 0, 1, Fraction(1, 2)])
        points = large_points(rng, table, 5)
        size = np.asarray(radius(index, points, alpha=alpha))
        finite = size[np.isfinite(size)]
        bounds, attacks = [], []
        for steps, seed in ((0, 0), (5, 1), (30, 2)):
            attack = poison(
                index, points, alpha=alpha, steps=steps, seed=seed, skip_unbreakable=True
            )
            bounds.append(attack.lower_bound)
            attacks.append(attack.n_cells)
            after = certify(attack.index_after, points, alpha=alpha).certain
            assert after.tolist() == np.isinf(size).tolist()
        different = {point: own for point, own in zip(points, size, strict=True) if own < math.inf}
        assert finite.max(initial=0) <= min(bounds)
        assert max(bounds) <= min(attacks), (table, points, alpha)
        assert max(attacks) <= sum(different.values())
        n_better += min(attacks) < sum(different.values())
    assert n_better


def test_effort_pays() -> None:
    """On a table of 600 rows a short search needs far less than the union, with a close bound."""
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 3, 600)
    noise = rng.integers(0, 4, (600, 5))
    codes = np.where(rng.random((600, 5)) < 0.35, labels[:, None], noise)
    index = CountIndex.from_codes(codes, labels, weights="equal")
    points = [tuple(row) for row in codes[:60].tolist()]
    size = np.asarray(radius(index, points, alpha=0))
    chosen = [p for p, own in zip(points, size, strict=True) if own > 0][:8]
    union = sum(np.asarray(radius(index, [*{*chosen}], alpha=0)))
    attack = poison(index, chosen, alpha=0, steps=40)
    assert attack.n_cells <= 0.6 * union
    assert attack.n_cells <= 1.25 * attack.lower_bound


@pytest.mark.parametrize("edges", [PRISM, CUBE, PETERSEN], ids=["prism", "cube", "petersen"])
def test_vertex_cover(edges: list[tuple[int, int]]) -> None:
    """The reduction's optimum is the minimum vertex cover, and it is proven."""
    index, points = cover_index(edges, three_colouring(edges), heavy_enough(edges))
    attack = poison(index, points, alpha=0, steps=300)
    assert attack.n_cells == attack.lower_bound == min_vertex_cover(edges)


ROWS = [("a", "x", "p")] * 6 + [("b", "y", "q")] * 5 + [("a", "y", "p")] * 3 + [("b", "x", "q")] * 4
LABELS = ["yes"] * 8 + ["no"] * 10
POINTS = [("a", "x", "p"), ("b", "y", "q"), ("b", "x", "q"), ("a", "x", "q")]


def test_same_seed_same_answer() -> None:
    """With a number of steps the attack depends on the seed alone; doubled points cost nothing."""
    index = CountIndex.from_rows(ROWS, LABELS)
    one, other, twice = (
        poison(index, points, steps=2, seed=5, alpha=0)
        for points in (POINTS[:3], POINTS[:3], POINTS[:3] * 2)
    )
    assert one.cells(ROWS, LABELS) == other.cells(ROWS, LABELS)
    assert (one.n_cells, one.lower_bound) == (twice.n_cells, twice.lower_bound)
    assert len(twice.targets) == 6


def test_progress_and_interrupts() -> None:
    """Cells fall and bounds rise while it is told; interrupted, the best so far is a true attack."""
    index = CountIndex.from_rows(ROWS * 2, LABELS * 2)
    said: list[str] = []
    attack = poison(index, POINTS, steps=2, on_progress=lambda now, _: said.append(now), alpha=0)
    seen = [[*map(int, re.findall(r"\d+", now))] for now in said if re.search(r"\d+ cells", now)]
    assert seen
    assert [own[0] for own in seen] == sorted((own[0] for own in seen), reverse=True)
    assert [own[1] for own in seen] == sorted(own[1] for own in seen)
    assert attack.n_cells <= seen[-1][0]

    def interrupt(now: str, share: float | None) -> None:
        if re.search(r"\d+ cells", now):
            raise KeyboardInterrupt

    stopped = poison(index, POINTS, on_progress=interrupt, alpha=0)
    assert not certify(stopped.index_after, POINTS, alpha=0).certain.any()
    assert stopped.lower_bound <= attack.n_cells
    assert attack.lower_bound <= stopped.n_cells


# Tables of every library --------------------------------------------------------------------------

TRAIN = pd.DataFrame(
    {
        "id": [f"r{i}" for i in range(6)],
        "colour": ["red", "red", "red", "red", "blue", "blue"],
        "size": ["s", "s", "s", "m", "m", "m"],
        "kind": ["yes", "yes", "yes", "yes", "no", "no"],
    }
)


def test_cells_of_lazy_tables() -> None:
    """Cells are located in a table that stays where it is, by a key; a mask of rows cannot be."""
    index = CountIndex.from_table(TRAIN, "kind", ignore=["id"])
    lazy = pl.from_pandas(TRAIN).lazy()
    attack = poison(index, [("blue", "m")], only={"columns": ["size"]}, skip_unbreakable=True)
    assert {column for _, column in attack.locate(lazy)} <= {"size"}
    attack = poison(index, [("red", "s")])
    located = attack.locate(lazy, key="id")
    assert len({*located}) == attack.n_cells
    poisoned = TRAIN.copy()
    for key, column in located:
        poisoned.loc[poisoned["id"] == key, column] = None
    assert CountIndex.from_table(poisoned, "kind", like=index) == attack.index_after
    rows = np.array([False, True, False, True, True, True])
    attack = poison(index, [("red", "s")], only={"rows": rows, "table": TRAIN})
    assert {row for row, _ in attack.cells(TRAIN)} <= {1, 3, 4, 5}
    with pytest.raises(NullproofError, match="6"):
        attack.cells(TRAIN[:5])
    with pytest.raises(NullproofError, match=r"attack\.cells"):
        attack.locate(lazy)


# Edges --------------------------------------------------------------------------------------------


def test_points_that_are_open_already_cost_nothing() -> None:
    """A point that is open is a target without cells."""
    index = CountIndex.from_rows([("a", "x"), ("b", "y")], ["yes", "no"])
    attack = poison(index, [("a", "y")], alpha=0)
    assert (attack.n_cells, attack.lower_bound, attack.optimal) == (0, 0, True)
    assert (attack.targets[0].radius, attack.targets[0].broken) == (0, False)
    document = json.loads(json.dumps(attack.document([])))
    assert (document["n_points"], document["n_cells"], document["optimal"]) == (1, 0, True)


def test_points_beyond_attack_are_named() -> None:
    """With smoothing some points cannot be broken: they are named, or left out on request."""
    index = CountIndex.from_rows([("a",)] * 4 + [("b",)], ["yes"] * 4 + ["no"])
    points = [("a",), ("b",)]
    with pytest.raises(NullproofError, match="point 0, 1"):
        poison(index, points, alpha=50.0)
    assert poison(index, points, alpha=50.0, skip_unbreakable=True).n_cells == 0


test_what_is_refused = refuses(
    "Another table, two targets to alter, negative limits, an unknown threat; no cell within reach.",
    lambda ask, options: ask(poison(CountIndex.from_rows(ROWS, LABELS), POINTS[:2], **options)),
    (
        lambda attack: attack.cells([("b", "x", "q")] * len(ROWS), LABELS),
        {"alpha": 0, "steps": 3},
        "the table that was counted",
    ),
    (lambda attack: attack.altered(ROWS, LABELS), {"alpha": 0, "steps": 3}, "one certain point"),
    (None, {"time_limit": -1}, "0 or more"),
    (None, {"steps": -1}, "0 or more"),
    (None, {"threat": "labels"}, "threat"),
    (None, {"only": {"columns": []}}, "within reach"),
)


# Added rows ---------------------------------------------------------------------------------------


def assert_labels_are_lost(case: Case, index: CountIndex, attack: Attack) -> None:
    """Brute force, given the added rows, no longer finds the label of each broken point certain."""
    rows, labels = attack.apply(case.rows, case.labels)
    assert [*rows[: len(case.rows)]] == [*case.rows]
    assert CountIndex.from_rows(rows, labels, like=index) == attack.index_after
    added = list(zip(labels, rows, strict=True))[len(case.rows) :]
    assert len(added) == attack.n_rows
    for target, point in zip(attack.targets, case.points, strict=True):
        if not target.broken:
            continue
        known = [j for j, cell in enumerate(point) if cell is not None]
        own = [(name, tuple(row[j] for j in known)) for name, row in added]
        judge = RowJudge(*without_missing(case, point))
        assert judge.label([]) == target.label
        assert judge.label(own) != target.label


def test_rows_against_one_point() -> None:
    """For one point the attack has as many rows as the radius, and works."""
    rng = seeded("one-row")
    n_broken = 0
    for _ in range(60):
        case = rows_case(rng, 400)[0]
        index = index_of(case)
        options: Any = options_of(case, index) | {"threat": "rows"}
        for point in case.points:
            (size,) = np.asarray(radius(index, [point], **options)).tolist()
            if 0 < size < 1000:
                attack = poison(index, [point], **options)
                assert (attack.n_rows, attack.lower_bound, attack.optimal) == (size, size, True)
                assert_labels_are_lost(replace(case, points=(point,)), index, attack)
                n_broken += 1
    assert n_broken > 20


def test_rows_against_many_points() -> None:
    """For many points all labels are lost, with no fewer rows than the bound; rows are shared.

    The longer table is what the effect speaks of, with its own label frequencies.
    """
    rng = seeded("many-rows")
    n_shared = n_broken = n_refused = 0
    for _ in range(60):
        case = attack_case(rng, max_rows=12, n_points=3)
        index = index_of(case)
        options: Any = options_of(case, index) | {"threat": "rows", "skip_unbreakable": True}
        try:
            attack = poison(index, list(case.points), **options)
        except NullproofError:
            n_refused += 1
            continue
        broken = [target.radius for target in attack.targets if target.broken]
        if attack.n_rows > 5000:
            continue
        assert max(broken, default=0) <= attack.lower_bound <= attack.n_rows
        assert_labels_are_lost(case, index, attack)
        after = certify(attack.index_after, list(case.points), **options_of(case, index))
        pairs = [*zip(attack.targets, after.predicted, strict=True)]
        # A tie, which has no label, may be predicted either way.
        changed = [t.broken and own not in {None, t.label} for t, own in pairs]
        may_change = [t.broken and own != t.label for t, own in pairs]
        assert sum(changed) <= attack.effect.n_changed <= sum(may_change)
        n_broken += len(broken)
        n_shared += len(broken) > 1 and attack.n_rows < sum(broken)
    assert n_broken > 40
    assert n_shared > 5
    assert n_refused < 10


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_longer_tables(library: str) -> None:
    """The longer table is of the same kind, keeps its rows, and counts as the index after."""
    rng = np.random.default_rng(0)
    labels = np.repeat(["no", "yes"], 40)
    age = np.where(labels == "no", rng.integers(20, 40, 80), rng.integers(35, 70, 80))
    colour = np.where(rng.random(80) < 0.7, np.where(labels == "no", "red", "blue"), "green")
    narrow = age.astype(np.int8)
    frame = pd.DataFrame({"id": np.arange(80), "age": narrow, "colour": colour, "bought": labels})
    frame.loc[3, "colour"] = None
    made: Any = {"pandas": lambda t: t, "polars": pl.from_pandas, "pyarrow": pa.table}[library]
    whole = made(frame)
    index = CountIndex.from_table(whole, label="bought", ignore=["id"])
    points = [{"age": 25, "colour": "red"}, {"age": 60, "colour": "blue"}]
    for some in (points[:1], points):
        attack = poison(index, some, threat="rows")
        longer = attack.apply(whole)
        assert type(longer) is type(whole)
        assert len(longer) == len(whole) + attack.n_rows
        assert CountIndex.from_table(longer, label="bought", like=index) == attack.index_after
        before, after = certify(index, some).label, certify(attack.index_after, some).label
        assert all(a != b for a, b in zip(before, after, strict=True))
        document = json.loads(json.dumps(attack.document()))
        assert sum(row["n_rows"] for row in document["rows"]) == document["n_rows"]
        assert document["rows"][0]["values"].keys() == {"age", "colour"}
    assert CountIndex.from_table(longer[: len(whole)], label="bought", like=index) == index
    assert "added rows" in repr(attack)


def test_rows_where_nothing_is_to_do() -> None:
    """Points that are open already cost no row; points beyond attack are named; no cell is altered."""
    index = CountIndex.from_rows([("a",), ("a",)], ["yes", "no"])
    attack = poison(index, [("a",)], threat="rows")
    assert (attack.n_rows, attack.optimal, attack.index_after == index) == (0, True, True)
    assert attack.apply([("a",), ("a",)], ["yes", "no"]) == ([("a",), ("a",)], ["yes", "no"])
    one = poison(CountIndex.from_rows(ROWS, LABELS), POINTS[:1], threat="rows")
    with pytest.raises(NullproofError, match="adds rows"):
        one.altered(ROWS, LABELS)
    alone = CountIndex.from_rows([("a",), ("b",)], ["yes", "yes"])
    with pytest.raises(NullproofError, match="point 0"):
        poison(alone, [("a",)], threat="rows")


def test_a_blank_that_is_a_value_cannot_be_written() -> None:
    """Where a blank counts as a value, an attack cannot be applied by blanking; other columns can."""
    rows = {"a": ["x", "x", None, "y", "y", "y"] * 3, "b": ["p", "q", "p", "q", "q", "p"] * 3}
    table = pl.DataFrame({**rows, "y": ["1", "1", "1", "0", "0", "0"] * 3})
    index = CountIndex.from_table(table, "y", missing_is_value=["a"])
    points = table.select("a", "b").head(1)
    with pytest.raises(NullproofError, match=r"'a'.*missing_is_value.*only="):
        poison(index, points).apply(table)
    attack = poison(index, points, only={"columns": ["b"]})
    after = CountIndex.from_table(attack.apply(table), "y", like=index)
    assert not certify(after, points).certain.any()
