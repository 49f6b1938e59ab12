"""Attacks by added rows: one point optimally, many points verified, and the longer table itself."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from support.adding_oracle import Judge, small_case
from support.blanking_oracle import radius_case
from support.own_missing import without_holes
from support.strategies import Case

from nullproof.attacks.poisoning import poison
from nullproof.attacks.row_attack import RowAttack
from nullproof.counts.index import CountIndex
from nullproof.decision import certify
from nullproof.errors import NullproofError
from nullproof.radii.cells import radius

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")


def asked(case: Case) -> tuple[CountIndex, dict[str, Any]]:
    """A case's table, counted, and the options of a question about it."""
    index = CountIndex.from_rows(
        case.rows, case.labels, features=case.features, domains=case.declared
    )
    return index, {"alpha": case.alpha, "prior": case.prior_for(index.labels), "threat": "rows"}


def without_sets(case: Case) -> Case:
    """The case without the points that have candidate sets."""
    points = [p for p in case.points if not any(isinstance(cell, frozenset) for cell in p)]
    return replace(case, points=tuple(points))


def assert_labels_are_lost(case: Case, index: CountIndex, attack: RowAttack) -> None:
    """Brute force, told of the added rows, finds each broken point's label certain no more."""
    rows, labels = attack.apply(case.rows, case.labels)
    assert CountIndex.from_rows(rows, labels, like=index) == attack.index_after
    added = list(zip(labels, rows, strict=True))[len(case.rows) :]
    assert len(added) == attack.n_rows
    for target in (target for target in attack.targets if target.broken):
        point = case.points[target.point]
        known = [j for j, cell in enumerate(point) if cell is not None]
        own = [(name, tuple(row[j] for j in known)) for name, row in added]
        judge = Judge(*without_holes(case, point))
        assert judge.label([]) == target.label
        assert judge.label(own) != target.label


def test_one_point() -> None:
    """For one point the attack has as many rows as the radius, and works."""
    rng = random.Random("one point")
    n_broken = 0
    for _ in range(150):
        case = without_sets(small_case(rng, 400)[0])
        index, options = asked(case)
        for point in case.points:
            size = radius(index, [point], **options)[0]
            if 0 < size < math.inf:
                attack = poison(index, [point], **options)
                assert (attack.n_rows, attack.optimal) == (size, True)
                assert_labels_are_lost(replace(case, points=(point,)), index, attack)
                n_broken += 1
    assert n_broken > 50


def test_many_points() -> None:
    """For many points all labels are lost, with no fewer rows than the bound; rows are shared."""
    rng = random.Random("many points")
    n_shared = n_broken = n_refused = 0
    for _ in range(100):
        case = without_sets(radius_case(rng, max_rows=12))
        index, options = asked(case)
        if not case.points:
            continue
        try:
            attack = poison(index, list(case.points), skip_unbreakable=True, **options)
        except NullproofError:
            n_refused += 1
            continue
        assert attack.n_rows >= attack.lower_bound
        assert_labels_are_lost(case, index, attack)
        broken = [target.radius for target in attack.targets if target.broken]
        n_broken += len(broken)
        n_shared += len(broken) > 1 and attack.n_rows < sum(broken)
    assert n_broken > 50
    assert n_shared > 5
    assert n_refused < 10


def table() -> pd.DataFrame:
    """Numbers in bins, texts, a column that names the rows, a hole."""
    rng = np.random.default_rng(0)
    labels = np.repeat(["no", "yes"], 40)
    age = np.where(labels == "no", rng.integers(20, 40, 80), rng.integers(35, 70, 80))
    colour = np.where(rng.random(80) < 0.7, np.where(labels == "no", "red", "blue"), "green")
    frame = pd.DataFrame({"id": np.arange(80), "age": age, "colour": colour, "bought": labels})
    frame.loc[3, "colour"] = None
    return frame


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_longer_table(kind: str) -> None:
    """The longer table is of the same kind, keeps its rows, and counts as the index after."""
    plain = table()
    made: Any = {"pandas": lambda t: t, "polars": pl.from_pandas, "pyarrow": pa.table}[kind]
    whole = made(plain)
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
    assert CountIndex.from_table(longer[: len(whole)], label="bought", like=index) == index


def test_what_is_shown() -> None:
    """The summary says whether it is optimal, the JSON form has every kind of row once."""
    index = CountIndex.from_table(table(), label="bought", ignore=["id"])
    attack = poison(index, [{"age": 25, "colour": "red"}], threat="rows")
    assert repr(attack) == f"RowAttack: {attack.n_rows} added rows break 1 certain point (optimal)"
    document = json.loads(json.dumps(attack.document()))
    assert sum(row["n_rows"] for row in document["rows"]) == document["n_rows"] == attack.n_rows
    assert document["rows"][0]["values"].keys() == {"age", "colour"}
    assert "added rows" in attack._repr_html_()


def test_nothing_to_do() -> None:
    """Points that are open already cost no row."""
    index = CountIndex.from_rows([("a",), ("a",)], ["yes", "no"])
    attack = poison(index, [("a",)], threat="rows")
    assert (attack.n_rows, attack.optimal, attack.index_after is index) == (0, True, True)
    assert attack.apply([("a",), ("a",)], ["yes", "no"]) == ([("a",), ("a",)], ["yes", "no"])


def test_refusals() -> None:
    """Points beyond attack are named; another threat is refused."""
    alone = CountIndex.from_rows([("a",), ("b",)], ["yes", "yes"])
    with pytest.raises(NullproofError, match="no attack can break point 0"):
        poison(alone, [("a",)], threat="rows")
    with pytest.raises(NullproofError, match="threat is 'labels'"):
        poison(alone, [("a",)], threat="labels")  # type: ignore[call-overload]


def test_a_smoothing_beyond_all_doubles_guides_the_search_too() -> None:
    """What is added breaks the points, verified by the index of the longer table."""
    rows = [("a", "x"), ("a", "y"), ("b", "y"), ("b", "y"), ("a", "x")]
    index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no", "yes"])
    for alpha in (10**400, Fraction(10) ** 309, Fraction(1, 10**400)):
        for points in ([("a", "x")], [("a", "x"), ("b", "y")]):
            attack = poison(index, points, alpha=alpha, threat="rows")
            labels = certify(index, points, alpha=alpha).label
            after = certify(attack.index_after, points, alpha=alpha).label
            assert all(labels != after)


def test_billions_of_rows_are_added_to_the_index_at_once() -> None:
    """Rows that are alike are counted together, not written out one by one."""
    index = CountIndex.from_rows([("a",), ("a",), ("b",), ("b",)], ["yes", "yes", "no", "no"])
    prior = [1e-9, 1]
    attack = poison(index, [("a",)], prior=prior, threat="rows")
    assert attack.n_rows == attack.lower_bound == 3_000_189_732
    assert attack.index_after.n_rows == 4 + attack.n_rows
    assert certify(index, [("a",)], prior=prior).label.tolist() == ["yes"]
    assert certify(attack.index_after, [("a",)], prior=prior).label.tolist() != ["yes"]
