"""How search and proof take turns: who works when, what stops them, and what is told of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.count_tables import first_point, two_labels
from support.joint_problems import asked_of

from nullproof.attacks.joint import proof
from nullproof.attacks.joint.effort import Effort
from nullproof.attacks.joint.modes import single_optima, union_attack
from nullproof.attacks.joint.problem import Problem


def easy_problem(alpha: Any = 1) -> Problem:
    """One point, which a few cells fell."""
    index = two_labels((30, 30), [20, 15, 18], [9, 8, 7])
    asked = asked_of(index, first_point(index), alpha=alpha)
    assert asked is not None
    return asked.problem


class Turns:
    """A search and a tree that find what the test says, a second for each step, and what was done."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        *,
        sizes: Iterable[int] = (),
        bounds: Iterable[int] = (),
        done: bool = False,
        too_slow: bool = False,
    ) -> None:
        self.problem, self.log, self.seconds = easy_problem(), list[str](), 0.0
        self.told = list[tuple[int, int, float]]()
        self.singles = single_optima(self.problem)
        self.least = self.singles[0][0].n_cells
        self.best = self.problem.capacity.copy()
        self.n_cells = int(self.best.sum())
        self.bound, self.done, self.limits = 0, done, list[int]()
        self._sizes, self._bounds = iter(sizes), iter(bounds)
        self.relaxation = SimpleNamespace(too_slow=too_slow)
        monkeypatch.setattr(proof, "Search", self._search)
        monkeypatch.setattr(proof, "Tree", self._tree)

    def _search(self, problem: Problem, start: Any, singles: Any, seed: int) -> Any:
        self.seed = seed
        self.searching = SimpleNamespace(
            best=self.best,
            n_cells=self.n_cells,
            step=self._look,
            offer=lambda cells: self.log.append(f"offer {cells.tolist()}"),
        )
        return self.searching

    def _tree(self, problem: Problem, singles: Any, limit: int, watch: Any) -> Turns:
        self.log.append("tree")
        return self

    def lower_limit(self, limit: int) -> None:
        self.limits.append(limit)

    def step(self) -> Any:
        self.log.append("box")
        self.seconds += 1
        self.bound = next(self._bounds, self.bound)
        return SimpleNamespace(cells=np.array([0.0, 1e-7, 0.5, 1.0]))

    def _look(self) -> bool:
        self.log.append("look")
        self.seconds += 1
        size = next(self._sizes, None)
        if size is None:
            return False
        best = np.zeros_like(self.best)
        best[0] = size
        self.searching.best, self.searching.n_cells = best, size
        return True

    def run(self, **effort: Any) -> list[tuple[str, int]]:
        """Let them work; what was done, and how often in a row."""
        self.work = proof._Work(
            self.problem, self.singles, self.best, 5, lambda *one: self.told.append(one)
        )
        self.work.run(Effort(clock=lambda: self.seconds, **effort).begin())
        return [(name, len([*own])) for name, own in itertools.groupby(self.log)]


OFFER = ("offer [0, 0, 1, 1]", 1)


def test_a_search_that_finds_nothing_leaves_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty steps, then a box and eight steps; the steps are halved and boxes doubled, down to one."""
    turns = Turns(monkeypatch)
    assert turns.run(rounds=5) == [
        ("look", 30),
        ("tree", 1),
        *[("box", 1), OFFER, ("look", 8)],
        *[("box", 2), OFFER, ("look", 4)],
        *[("box", 4), OFFER, ("look", 2)],
        *[("box", 8), OFFER, ("look", 1)],
        *[("box", 8), OFFER, ("look", 1)],
    ]
    assert turns.seed == 5
    # A bound of the tree that is below what one point alone needs is of no use.
    n_cells = int(turns.best.sum())
    assert turns.told == [(n_cells, turns.least, share / 5) for share in range(1, 6)]
    assert turns.limits == [n_cells] * 5


def test_a_search_that_finds_more_gets_its_time_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a better attack the search has eight steps again; each better attack is told at once."""
    sizes: list[Any] = [None] * 30 + [None] * 8 + [None, 40, 39, None]
    turns = Turns(monkeypatch, sizes=sizes)
    found = turns.run(rounds=3)
    assert [times for name, times in found if name == "look"] == [30, 8, 4, 8]
    n_cells = int(turns.best.sum())
    assert turns.told == [
        (n_cells, turns.least, 1 / 3),
        (40, turns.least, 1 / 3),
        (39, turns.least, 1 / 3),
        (39, turns.least, 2 / 3),
        (39, turns.least, 1.0),
    ]
    assert turns.limits == [n_cells, 39, 39]


def test_the_clock_stops_search_and_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three tenths of the time are for the first steps; whoever works at the end stops there."""
    turns = Turns(monkeypatch)
    assert turns.run(seconds=10) == [("look", 3), ("tree", 1), ("box", 1), OFFER, ("look", 6)]
    turns = Turns(monkeypatch)
    # What the last box suggests is not completed any more.
    assert turns.run(seconds=14.5) == [
        ("look", 5),
        ("tree", 1),
        *[("box", 1), OFFER, ("look", 8)],
        ("box", 1),
    ]
    turns = Turns(monkeypatch)
    assert turns.run(seconds=1) == [("look", 1)]
    turns = Turns(monkeypatch)
    assert turns.run(seconds=0) == []


@pytest.mark.parametrize("name", ["done", "too_slow"])
def test_a_tree_that_has_ended(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no box is left, or a program takes too long, no box is opened, and nothing is offered."""
    given: Any = {name: True}
    turns = Turns(monkeypatch, **given)
    assert turns.run(rounds=2) == [("look", 30), ("tree", 1), ("look", 12)]


def test_what_is_proven_ends_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """As soon as bound and attack meet, nobody works any more."""
    turns = Turns(monkeypatch)
    turns.best[1:] = 0
    turns.best[0] = turns.least
    assert turns.run(rounds=9) == []
    turns = Turns(monkeypatch)
    assert turns.run(rounds=9)[0] == ("look", 30)
    turns = Turns(monkeypatch, sizes=[turns.least + 1, turns.least])
    assert turns.run(rounds=9) == [("look", 2)]
    assert turns.told == [(turns.least + more, turns.least, 0.0) for more in (1, 0)]
    # The second of two boxes raises the bound to the best attack.
    n_cells = int(turns.problem.capacity.sum())
    turns = Turns(monkeypatch, bounds=[n_cells - 1, n_cells, n_cells])
    found = turns.run(rounds=9)
    assert found == [("look", 30), ("tree", 1), ("box", 1), OFFER, ("look", 8), ("box", 1), OFFER]
    assert turns.work.bound == n_cells


def test_a_bound_never_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was proven once stays proven."""
    turns = Turns(monkeypatch, bounds=[20, 12, 25, 3])
    turns.run(rounds=4)
    assert turns.work.bound == 25
    assert [bound for _, bound, _ in turns.told] == [20, 25, 25, 25]


def test_the_same_seed_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two calls without a seed search alike: with the seed 0."""
    seeds = list[int]()

    def search(problem: Problem, start: Any, singles: Any, seed: int) -> Any:
        seeds.append(seed)
        return SimpleNamespace(best=start, n_cells=int(start.sum()))

    monkeypatch.setattr(proof, "Search", search)
    proof.solve(easy_problem(), effort=Effort(seconds=0))
    assert seeds == [0]


def test_time_for_exact_tests_alone() -> None:
    """Beyond all floats the union is given as it is if there is no time; else cells are given back."""
    index = two_labels((30, 30), [20, 15, 18], [9, 8, 7])
    points = [("0", "0", "0"), ("0", "0", "1"), ("1", "0", "0"), ("0", "1", "0")]
    asked = asked_of(index, points, alpha=Fraction(10**400), prior="uniform")
    assert asked is not None
    problem, told = asked.problem, list[tuple[int, int, float]]()
    union = union_attack(problem, [found[0] for found in single_optima(problem)])
    cells, _ = proof.solve(problem, effort=Effort(seconds=0))
    assert cells.tolist() == union.tolist()
    cells, _ = proof.solve(
        problem, effort=Effort(rounds=3), on_progress=lambda *one: told.append(one)
    )
    assert cells.sum() < union.sum()
    assert {share for _, _, share in told} == {0.0}
