"""The weakest of very many completions, found without looking at all of them (T15).

``NULLPROOF_WEAKEST_TABLES`` sets the number of random tables, ``NULLPROOF_SEED`` the seed they start from.
"""

from __future__ import annotations

import itertools
import math
import os
import random
from dataclasses import replace
from typing import Any

import pytest
from support.adding_oracle import rows_radius, small_case
from support.changing_oracle import Tables, tiny_case
from support.count_tables import index_from_counts, random_index
from support.limits import random_limits
from support.strategies import Case

from nullproof.counts.index import CountIndex
from nullproof.radii import completions, weakest
from nullproof.radii.cells import radii, radius

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

N_TABLES = int(os.environ.get("NULLPROOF_WEAKEST_TABLES", "5000"))
SEED = int(os.environ.get("NULLPROOF_SEED", "20240604"))
N_CHUNKS = 10


@pytest.fixture(autouse=True)
def picked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two completions are many, and there is no way back to trying all."""
    monkeypatch.setattr(completions, "MANY", 1)
    monkeypatch.setattr(weakest, "MAX_COMPLETIONS", 0)
    monkeypatch.setattr(weakest, "WORK_OF_ONE", math.inf)


def with_holes(rng: random.Random, case: Case) -> Case:
    """The same case; its points do not know most of their cells."""

    def cell(j: int) -> Any:
        domain = case.domains[j]
        some = frozenset(rng.sample([*domain, "unseen"], rng.randint(1, len(domain))))
        return rng.choices([None, some, case.points[0][j]], [5, 2, 3])[0]

    every = range(len(case.features))
    return replace(case, points=tuple(tuple(map(cell, every)) for _ in range(2)))


def found_for(case: Case, **asked: Any) -> list[float]:
    """Ask for the radii of a case's points, whatever their holes hold."""
    index = CountIndex.from_rows(
        case.rows, case.labels, features=case.features, domains=case.declared
    )
    options: Any = {"alpha": case.alpha, "prior": case.prior_for(index.labels), **asked}
    found: list[float] = radius(index, list(case.points), own_missing="any", **options).tolist()
    return found


@pytest.fixture
def badly_picked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spending has to find what a bad pick leaves to it."""

    def pick(own: completions.Completions, place: int, winner: int) -> completions.Codes:
        return own.every(place, winner)[:, -1:]

    monkeypatch.setattr(completions.Completions, "_pick", pick)


@pytest.mark.usefixtures("badly_picked")
@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_random_tables(chunk: int) -> None:
    """The radius is the least of all completions, with every cell in reach or only some."""
    seed = f"{SEED}-weakest-{chunk}"
    print("seed", seed)
    rng = random.Random(seed)
    n_tables, n_attacked = math.ceil(N_TABLES * 0.6 / N_CHUNKS), 0
    for number in range(n_tables):
        case = with_holes(rng, tiny_case(rng))
        # Most points with many completions are open; another draw may find some that are not.
        if not any(Tables(case).radius(point) for point in case.points if None in point):
            case = with_holes(rng, tiny_case(rng))
        only, cells = random_limits(rng, case) if number % 3 == 0 else (None, None)
        tables = Tables(case, cells)
        expected = [tables.radius(point) for point in case.points]
        assert found_for(case, only=only) == expected, case
        pairs = zip(expected, case.points, strict=True)
        n_attacked += sum(0 < own < math.inf and None in point for own, point in pairs)
    assert n_attacked > n_tables / 40 or n_tables < 50


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_random_tables_with_added_rows(chunk: int) -> None:
    """The same for added rows, where a few picked completions are all it takes."""
    seed = f"{SEED}-weakest-rows-{chunk}"
    print("seed", seed)
    rng = random.Random(seed)
    n_tables, n_attacked = math.ceil(N_TABLES * 0.4 / N_CHUNKS), 0
    for _ in range(n_tables):
        case, most = small_case(rng, 60)
        case = with_holes(rng, case)
        found = [own if own <= most else math.inf for own in found_for(case, threat="rows")]
        expected = [rows_radius(case, point, most) for point in case.points]
        assert found == expected, case
        n_attacked += sum(0 < own < math.inf for own in expected)
    assert n_attacked > n_tables / 40 or n_tables < 50


@pytest.mark.parametrize("threat", ["cells", "rows"])
def test_larger_counts(threat: Any) -> None:
    """With hundreds of rows: the least radius of all completions, each asked about by itself."""
    rng = random.Random(f"{SEED}-weakest-{threat}")
    n_attacked = 0
    for _ in range(80):
        index = random_index(rng, rng.choice([30, 1000]))
        alpha: Any = rng.choice([0, 1, 0.1])
        prior: Any = rng.choice([None, "uniform"])
        choices = [
            rng.sample([*map(str, range(n)), "unseen"], rng.randint(1, min(n, 3)))
            for n in index.n_values.tolist()
        ]
        point = tuple(set(own) if len(own) > 1 else own[0] for own in choices)
        options: Any = {"alpha": alpha, "prior": prior, "threat": threat}
        every = radii(index, list(itertools.product(*choices)), **options)
        expected = min(every.radius) if len(set(every.label.tolist())) == 1 else 0
        found = radii(index, [point], **options)
        assert found.radius.tolist() == [expected]
        n_attacked += 0 < expected < math.inf
    assert n_attacked > 10


def test_more_completions_than_anyone_can_try() -> None:
    """3^40 completions: the radius is that of the completion that it names, and no other is weaker."""
    index = index_from_counts([180, 100], [[(50, 1), (60, 2), (70, 3), (0, 94)]] * 40)
    found = radii(index, [({"0", "1", "2"},) * 40], alpha=0)
    named = tuple(map(str, found.codes[:, 0].tolist()))
    rng = random.Random(SEED)
    others = [tuple(rng.choice("012") for _ in range(40)) for _ in range(200)]
    every = radius(index, [named, *others], alpha=0)
    assert every[0] == found.radius[0] == every.min()


def test_more_completions_than_a_double_holds() -> None:
    """3^700 completions are no number for floats, and no hindrance."""
    index = index_from_counts([18, 10], [[(5, 1), (6, 2), (7, 3), (0, 4)]] * 700)
    found = radius(index, [({"0", "1", "2"},) * 700], alpha=0)
    assert found.tolist() == radius(index, [("0",) * 700], alpha=0).tolist()


def test_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where spending would take too long, all completions are tried if there are not too many."""
    index = index_from_counts([20, 20], [[(9, 6), (3, 1), (8, 13)], [(15, 5), (5, 15)]])
    point = [({"0", "1"}, "0")]
    expected = radius(index, point, alpha=0).tolist()
    monkeypatch.setattr(weakest, "MOST_WORK", 0)
    assert math.isnan(radius(index, point, alpha=0)[0])
    monkeypatch.setattr(weakest, "MAX_COMPLETIONS", 2)
    assert radius(index, point, alpha=0).tolist() == expected
