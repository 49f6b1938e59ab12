"""Which completions of a point are worth trying: no weakest one is left out, and few others are kept."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.count_tables import index_from_counts

from nullproof.counts.index import CountIndex
from nullproof.model import Model
from nullproof.radii import completions as completions_module
from nullproof.radii import weakest as weakest_module
from nullproof.radii.cells import radii
from nullproof.radii.completions import Completions
from nullproof.radii.reach import Reach
from nullproof.tables.points import Points

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")


def test_every_way_to_choose() -> None:
    """All choices, the last feature first, as itertools lists them."""
    values = [np.array([4, 2]), np.array([7]), np.array([1, 5, 3])]
    found = completions_module._product(values)
    assert found.T.tolist() == [list(one) for one in itertools.product([4, 2], [7], [1, 5, 3])]
    assert completions_module._product([]).shape == (0, 1)


def test_turns_of_quotients() -> None:
    """For every number of rows the one that is named has the least quotient, and turns ascend."""
    rng = random.Random("turns")
    n_turns = 0
    for _ in range(300):
        step = rng.choice([1, 3])
        lines = [
            (rng.randint(0, 9), rng.randint(0, 9), step * rng.choice([1, 1, 0]))
            for _ in range(rng.randint(1, 5))
        ]
        lines = [(low, max(high, int(not own)), own) for low, high, own in lines]
        found = completions_module._turns(lines)
        assert [n for n, _ in found] == sorted({n for n, _ in found})
        assert found[0][0] == 0
        assert all(one != other for (_, one), (_, other) in itertools.pairwise(found))
        for n in range(120):
            named = [place for start, place in found if start <= n][-1]
            low, high, own = lines[named]
            for other_low, other_high, other in lines:
                assert low * (other_high + n * other) <= other_low * (high + n * own), (lines, n)
        n_turns += len(found) - 1
    assert n_turns > 40


class Asked:
    """A random table, points with candidates, and which cells can be blanked."""

    def __init__(self, rng: random.Random, *, masked: bool) -> None:
        n_rows, d = rng.randint(6, 24), rng.randint(1, 3)
        letters = [rng.choice(["a", "ab", "abc", "aabcdef"]) for _ in range(d)]
        rows = [tuple(map(rng.choice, letters)) for _ in range(n_rows)]
        labels = [rng.choice("AABC") for _ in range(n_rows)]
        self.index = CountIndex.from_rows(rows, labels)
        only = None
        if masked:
            mask = np.random.default_rng(rng.randrange(2**32)).random((n_rows, d)) < 0.5
            only = {"cells": mask, "table": rows, "labels": labels}
        self.model, self.reach = Model(self.index, 1), Reach.of(self.index, only)
        domains = [feature.values for feature in self.index.schema.features]
        points = [tuple(self.candidates(rng, own) for own in domains) for _ in range(2)]
        self.points = self.model.points(points, "any", None)
        self.found = Completions(self.model, self.points, self.reach)

    @staticmethod
    def candidates(rng: random.Random, domain: Any) -> Any:
        some = rng.sample([*domain, "unseen"], rng.randint(1, len(domain) + 1))
        return set(some) if len(some) > 1 else some[0]

    def numbers(self, j: int, code: int, winner: int, rival: int) -> tuple[int, ...]:
        """What an attacker wants small: the winner's count, its least, and the rival's with a minus."""
        values, size = np.array([code]), int(self.index.n_values[j])
        low = int(self.index.low(j, values)[0, winner])
        high = int(self.index.high(j, values)[0, rival])
        if self.reach.mask is None:
            return low, -high, code >= size
        moves = code < size and size >= 2
        within = self.reach.index
        lowered = int(within.exact(j, values)[0, winner]) if moves else 0
        raised = within.label_counts[rival] - within.high(j, values)[0, rival] if moves else 0
        return low, low - lowered, -high, -high - int(raised)


@pytest.mark.parametrize("masked", [False, True])
def test_values_that_replace_others(masked: bool) -> None:
    """Against each rival a kept value serves as well as any, and each kept one is the best for some."""
    rng = random.Random(f"kept-{masked}")
    n_dropped = 0
    for _ in range(60):
        asked = Asked(rng, masked=masked)
        rivals = range(1, asked.model.m)
        for place in range(2):
            choices = asked.found.choices(place, 0)
            assert asked.found.n_completions(place, 0) == math.prod(map(len, choices))
            for j, kept in enumerate(choices):
                every = asked.points.candidates(j, int(asked.points.codes[j, place]))
                assert {*kept.tolist()} <= {*every}
                n_dropped += len(every) - len(kept)
                for rival in rivals:
                    costs = {v: asked.numbers(j, v, 0, rival) for v in every}
                    for value in every:
                        assert any(no_worse(costs[v], costs[value]) for v in kept.tolist())
                fronts = [front(asked, j, [*every], rival) for rival in rivals]
                if not fronts:
                    assert len(kept) == 1
                elif len(every) > 1:
                    assert {*kept.tolist()} <= {value for own in fronts for value in own}
                    assert len(kept) <= sum(
                        len({asked.numbers(j, value, 0, rival) for value in own})
                        for rival, own in zip(rivals, fronts, strict=True)
                    )
    assert n_dropped > 40


def front(asked: Asked, j: int, every: list[int], rival: int) -> list[int]:
    """The values that no other one replaces against one rival."""
    costs = {v: asked.numbers(j, v, 0, rival) for v in every}
    return [
        v
        for v in every
        if not any(no_worse(costs[w], costs[v]) and costs[w] != costs[v] for w in every)
    ]


def no_worse(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True))


def test_batches_hold_whole_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Completions come in batches, each with the points they belong to; those of many are picked."""
    index = index_from_counts([180, 100], [[(50, 1), (60, 2), (70, 3), (0, 94)]] * 4)
    model = Model(index, 0)
    points = model.points(
        [({"0", "1", "2"},) * n + ("1",) * (4 - n) for n in range(5)], "any", None
    )
    completions = Completions(model, points, Reach.of(index))
    numbers = [completions.n_completions(place, 0) for place in range(5)]
    assert numbers == [3**n for n in range(5)]
    winner = np.zeros(5, dtype=np.int32)
    ((codes, owners),) = completions.batches(range(5), winner)
    assert owners.tolist() == [place for place, n in enumerate(numbers) for _ in range(n)]
    assert codes[:, owners == 1].tolist() == completions.every(1, 0).tolist()
    assert completions.picked == []
    assert (completions_module.MANY, completions_module._BATCH) == (1024, 65_536)
    for size, places, expected in [
        (13, [0, 1, 2, 3, 4], [[0, 1, 2], [3], [4]]),
        (14, [0, 1, 2, 3, 4], [[0, 1, 2, 3], [4]]),
        (4, [1, 0, 1, 0], [[1, 0], [1, 0]]),
    ]:
        monkeypatch.setattr(completions_module, "_BATCH", size)
        found = [*completions.batches(places, winner)]
        assert [[*dict.fromkeys(own.tolist())] for _, own in found] == expected
    assert [*completions.batches([], winner)] == []
    monkeypatch.setattr(completions_module, "MANY", 9)
    found = [*completions.batches(range(5), winner)]
    assert completions.picked == [3, 4]
    few = [own.shape[1] for codes, places in found for own in [codes[:, places == 4]]]
    assert 0 < sum(few) < 20


@pytest.mark.parametrize("threat", ["cells", "rows"])
def test_weakest_of_completions_that_are_picked(
    threat: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T15: what is picked and searched gives the least radius of all completions, each by itself."""
    limits = weakest_module.MAX_COMPLETIONS, weakest_module.MOST_WORK, weakest_module.WORK_OF_ONE
    assert limits == (65_536, 1e9, 1e4)
    monkeypatch.setattr(completions_module, "MANY", 1)
    monkeypatch.setattr(weakest_module, "MAX_COMPLETIONS", 0)
    monkeypatch.setattr(weakest_module, "WORK_OF_ONE", math.inf)
    rng, n_attacked = random.Random(f"picked-{threat}"), 0
    for number in range(50):
        # Two values for which the winner is ahead, perhaps a third, and a domain of one value.
        k = 10 if number % 5 == 0 else 1
        sides = [(rng.randint(3 * k, 6 * k), rng.randint(3 * k, 6 * k)) for _ in range(3)]
        known: list[Any] = [
            [(a, rng.randint(0, 2 * k)), (b, rng.randint(0, 2 * k)), (15 * k - a - b, 9 * k)]
            for a, b in sides
        ]
        index = index_from_counts([15 * k, 13 * k], [*known, [(15 * k, 13 * k)]])
        choices = [rng.sample(["0", "1", "unseen"], rng.choice([1, 2, 2])) for _ in sides]
        choices.append(rng.choice([["0"], ["0", "unseen"], ["unseen"]]))
        point = tuple(set(own) if len(own) > 1 else own[0] for own in choices)
        options: Any = {"alpha": rng.choice([0, 1, 0.1]), "threat": threat}
        every = radii(index, list(itertools.product(*choices)), **options)
        expected = min(every.radius) if len({*every.label.tolist()}) == 1 else 0
        found = radii(index, [point], **options)
        assert found.radius.tolist() == [expected]
        if 0 < expected < math.inf:
            named = Points(found.codes, index.n_values, ((),) * len(choices))
            assert radii(index, named, **options).radius.tolist() == [expected]
            n_attacked += 1
    assert n_attacked > 10


def test_one_label_has_no_rival() -> None:
    """Where nobody can catch up, the first value stands for all."""
    rows = [("a", "x"), ("b", "x"), ("c", "y")]
    index = CountIndex.from_rows(rows, ["A"] * 3)
    mask = np.ones((3, 2), dtype=bool)
    for only in (None, {"cells": mask, "table": rows, "labels": ["A"] * 3}):
        model = Model(index, 1)
        points = model.points([({"b", "c"}, "x")], "any", None)
        found = Completions(model, points, Reach.of(index, only)).choices(0, 0)
        assert [own.tolist() for own in found] == [[1], [0]]


def test_unseen_values_beside_a_domain_of_one() -> None:
    """Every row agrees with the one value, so that it is weighed by itself against an unseen one."""
    known: list[Any] = [[(181, 41), (59, 219)], [(212, 12), (28, 248)], [(240, 260)]]
    index = index_from_counts([240, 260], known)
    options: Any = {"alpha": 0.5, "prior": [1, 1], "threat": "rows"}
    points = [("0", "0", {"0", "unseen"}), ("0", "0", "0"), ("0", "0", "unseen")]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(completions_module, "MANY", 1)
        assert radii(index, points, **options).radius.tolist() == [343, 359, 343]


def test_searches_that_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then all completions are tried if they are not too many; otherwise the radius is not known."""
    index = index_from_counts([20, 20], [[(9, 6), (3, 1), (8, 13)], [(15, 5), (5, 15)]])
    point = [("0", "0"), ({"0", "1"}, "0"), ("0", "0")]
    monkeypatch.setattr(completions_module, "MANY", 1)
    expected = radii(index, point, alpha=0).radius.tolist()
    assert expected[1] < expected[0] == expected[2]
    # Two features, and fewer cells than the best completion that was picked takes.
    work = 2 * (expected[1] - 1) ** 2 / 2
    for most, of_one, many, is_known in [
        (0, 1e4, 2, True),
        (0, 1e4, 1, False),
        (1e9, 0, 1, False),
        (1e9, work / 2, 1, True),
        (1e9, work / 2 - 0.1, 1, False),
        (work, 1e4, 1, True),
        (work - 0.1, 1e4, 1, False),
    ]:
        monkeypatch.setattr(weakest_module, "MOST_WORK", most)
        monkeypatch.setattr(weakest_module, "WORK_OF_ONE", of_one)
        monkeypatch.setattr(weakest_module, "MAX_COMPLETIONS", many)
        found = radii(index, point, alpha=0).radius.tolist()
        assert found[::2] == expected[::2]
        assert (found[1] == expected[1]) == is_known
        assert math.isnan(found[1]) != is_known


@pytest.mark.parametrize("alpha", [Fraction(1, 10**400), Fraction(10**400)])
def test_completions_that_floats_cannot_weigh(
    alpha: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the range of doubles all completions are tried, if they are not too many."""
    index = index_from_counts([20, 20], [[(9, 2), (6, 5), (5, 13)], [(15, 5), (5, 15)]])
    choices = [["0", "1"], ["0"]]
    every = radii(index, list(itertools.product(*choices)), alpha=alpha)
    assert {*every.label.tolist()} == {"L0"}
    monkeypatch.setattr(completions_module, "MANY", 1)
    found = radii(index, [({"0", "1"}, "0")], alpha=alpha)
    assert found.radius.tolist() == [min(every.radius)]


@pytest.mark.parametrize("alpha", [0, Fraction(1, 10**400)])
@pytest.mark.parametrize("picked", [0, -1])
def test_a_bad_pick_is_made_good(alpha: Any, picked: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever completion is picked, a weaker one is searched for, or all of them are tried."""
    index = index_from_counts([20, 20], [[(9, 6), (3, 1), (8, 13)], [(15, 5), (5, 15)]])
    points = [({"0", "1"}, "0"), ({"0", "1"}, "0"), ("0", "0"), ("1", "0")]

    def pick(own: Completions, place: int, winner: int) -> Any:
        return own.every(place, winner)[:, picked][:, None]

    monkeypatch.setattr(completions_module, "MANY", 1)
    monkeypatch.setattr(Completions, "_pick", pick)
    if not alpha:
        monkeypatch.setattr(weakest_module, "MAX_COMPLETIONS", 0)
    found = radii(index, points, alpha=alpha)
    weakest = min(found.radius[2:])
    assert found.radius.tolist() == [weakest, weakest, *found.radius[2:].tolist()]
    assert found.radius[2] != found.radius[3]


def test_a_search_that_claims_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logarithms may call a completion weaker than it is; then all of them are tried, or none is told."""
    index = index_from_counts([20, 20], [[(9, 6), (3, 1), (8, 13)], [(15, 5), (5, 15)]])
    points = [({"0", "1"}, "0"), ("0", "0"), ("1", "0")]
    first, second = radii(index, points[1:], alpha=0).radius.tolist()
    strongest = int(second > first)

    def pick(own: Completions, place: int, winner: int) -> Any:
        return own.every(place, winner)[:, strongest][:, None]

    def claim(own: Any, at_most: float) -> tuple[float, dict[int, int]]:
        return at_most, {0: strongest}

    monkeypatch.setattr(completions_module, "MANY", 1)
    monkeypatch.setattr(Completions, "_pick", pick)
    monkeypatch.setattr("nullproof.radii.weakest.Spending.fewest", claim)
    assert radii(index, points[:1], alpha=0).radius.tolist() == [min(first, second)]
    monkeypatch.setattr(weakest_module, "MAX_COMPLETIONS", 1)
    assert np.isnan(radii(index, points[:1], alpha=0).radius).all()
