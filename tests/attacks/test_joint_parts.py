"""The parts of a joint attack: what cells do to counts, which points stand, and what every attack pays."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.joint_tables import index_of, larger_table, random_table

from nullproof.attacks.joint.effort import Effort
from nullproof.attacks.joint.modes import Box, Modes, single_optima, union_attack
from nullproof.attacks.joint.problem import Ints, Problem
from nullproof.attacks.joint.relaxation import Relaxation
from nullproof.attacks.joint.state import State
from nullproof.attacks.poisoning import different
from nullproof.counts.index import CountIndex
from nullproof.model import Floats, Model
from nullproof.radii.cells import radii
from nullproof.tables.points import Points
from nullproof.verdicts import verdicts

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")


class Asked(NamedTuple):
    """A problem, and the codes of its points."""

    problem: Problem
    codes: Any


def asked_of(index: CountIndex, points: list[tuple[Any, ...]], **options: Any) -> Asked | None:
    """The joint problem of the points that are certain; None if there is none to break."""
    found = radii(index, points, **options)
    certain = np.flatnonzero((found.radius > 0) & np.isfinite(found.radius))
    places = [*different(found, certain).values()]
    return Asked(Problem.of(found, places), found.codes[:, places]) if places else None


@cache
def questions() -> tuple[Asked, ...]:
    """Problems of small tables, some with open cells, features left out, or rows out of reach."""
    found = list[Asked]()
    for seed in range(70):
        rng = np.random.default_rng(seed)
        dirty = seed % 3 == 0
        table = random_table(rng, 4, dirty=dirty) if seed % 2 else larger_table(rng, dirty=dirty)
        index, only = index_of(table), None
        if seed % 5 == 0 and not dirty:
            rows = [tuple(next(iter(cell)) for cell in row) for row in table.rows]
            domains = {f"x{j}": sorted(own) for j, own in enumerate(table.domains)}
            index = CountIndex.from_rows(rows, table.labels, domains=domains)
            within = rng.random(len(rows)) < 0.8
            only = {"rows": within, "table": rows, "labels": table.labels}
        points = [
            tuple(None if rng.random() < 0.1 else value for value in point)
            for point in table.points
        ]
        asked = asked_of(index, points, alpha=table.alpha, only=only)
        if asked is not None:
            found.append(asked)
    assert len(found) > 25
    assert sum(asked.problem.limited for asked in found) > 3
    return tuple(found)


def random_cells(rng: np.random.Generator, problem: Problem) -> Ints:
    """Some cells of each group, few or many."""
    share = rng.choice([0.2, 0.5, 0.9, 1.0])
    return np.asarray(rng.binomial(problem.capacity, share), dtype=np.int64)


# Problem ------------------------------------------------------------------------------------------


def test_cells_do_to_counts_what_blanking_does() -> None:
    """Groups and their sizes give the counts of the table in which these cells are blank."""
    rng = np.random.default_rng(1)
    for problem, codes in questions():
        index, winner = problem.model.index, problem.winner
        for _ in range(2):
            cells = random_cells(rng, problem)
            blanks = problem.blanks(cells)
            assert sum(blank.n_cells for blank in blanks) == cells.sum()
            after = index.blanked(blanks)
            low = problem.low - problem.lowered(cells)
            high = problem.high + problem.raised(cells)
            for point, j in np.ndindex(low.shape):
                own = codes[j, point : point + 1]
                assert low[point, j] == after.low(j, own)[0, winner[point]]
                for label in (k for k in range(problem.n_labels) if k != winner[point]):
                    assert high[point, label, j] == after.high(j, own)[0, label]


def test_points_that_have_fallen() -> None:
    """A point has fallen iff it is not certain on the table with the blank cells; a rival is named."""
    rng, n_fallen = np.random.default_rng(2), 0
    for problem, codes in questions():
        index = problem.model.index
        for cells in (*(random_cells(rng, problem) for _ in range(3)), problem.capacity):
            model = problem.model.on(index.blanked(problem.blanks(cells)))
            judged = verdicts(model, Points.without_holes(codes, index.n_values))
            fallen = problem.fallen_to(cells)
            assert [label >= 0 for label in fallen] == (~judged.certain).tolist()
            for point, label in enumerate(fallen):
                assert label == -1 or judged.possible[point, label]
                assert label != problem.winner[point]
            assert problem.succeeds(cells) == (min(fallen) >= 0)
            n_fallen += sum(label >= 0 for label in fallen)
        assert problem.succeeds(problem.capacity)
        group = int(np.argmax(problem.capacity))
        for beyond in (int(problem.capacity[group]) + 1, -1):
            cells = problem.capacity.copy()
            cells[group] = beyond
            assert not problem.succeeds(cells)
    assert n_fallen > 100


def test_supports_of_a_problem() -> None:
    """Weights and what is added to counts give the log supports of a model; a part has the same."""
    for problem, _ in questions():
        model = problem.model
        assert problem.n_groups == len(problem.sorts)
        sizes = [sum(own.n_cells for own in sort) for sort in problem.sorts]
        assert problem.capacity.tolist() == sizes
        assert (problem.room <= np.maximum(problem.low, 0)).all()
        places = list(range(problem.n_points))[::-1]
        part = problem.part(places[:1])
        assert part.n_points == 1
        with np.errstate(divide="ignore"):
            logs = np.log(problem.high + problem.added[:, None]).sum(axis=2) + problem.log_weights
        for point in range(problem.n_points):
            counts = problem.high[point].tolist()
            expected = [model.log_support(label, own) for label, own in enumerate(counts)]
            # What all labels have in common is left out.
            found, own = logs[point], int(problem.winner[point])
            for label, log in enumerate(expected):
                assert found[label] - found[own] == pytest.approx(log - expected[own], abs=1e-9)
        for name in ("winner", "low", "high", "movable", "room", "log_weights"):
            assert (getattr(part, name)[0] == getattr(problem, name)[places[0]]).all()
        assert part.lowers[:, 0].tolist() == problem.lowers[:, places[0]].tolist()
        assert part.raises[:, 0].tolist() == problem.raises[:, places[0]].tolist()


@pytest.mark.parametrize(
    ("alpha", "holds"),
    [(Fraction(0), True), (Fraction(1, 10**250), True), (Fraction(1, 10**251), False)],
)
def test_smoothing_that_floats_hold(alpha: Fraction, holds: bool) -> None:
    """Where no double will do, the smoothing is no number, and floats are not asked."""
    index = CountIndex.from_rows([("a",), ("a",), ("b",)], ["x", "x", "y"])
    for own in (alpha, 1 / alpha if alpha else alpha):
        asked = asked_of(index, [("a",)], alpha=own)
        assert asked is None or asked.problem.floats_hold == holds
        assert asked is None or math.isnan(asked.problem.alpha) != holds


# State --------------------------------------------------------------------------------------------


def test_state_is_kept_up_to_date() -> None:
    """After cells are added, given back or replaced, gaps are those of the supports, and points fall."""
    rng = np.random.default_rng(3)
    for problem, _ in questions():
        state = State(problem, np.zeros(problem.n_groups, dtype=np.int64))
        for turn in range(6):
            if turn == 3:
                state.set_all(random_cells(rng, problem))
            group = int(rng.integers(problem.n_groups))
            wanted = int(rng.integers(0, problem.capacity[group] + 1))
            state.add(group, wanted - int(state.cells[group]))
            assert state.n_cells == state.cells.sum()
            assert_state(state)
        points = np.arange(problem.n_points)[::-1]
        assert state.standing(points).tolist() == state.standing()[::-1].tolist()


def assert_state(state: State) -> None:
    """What a state keeps is what its cells give."""
    problem, model = state.problem, state.problem.model
    low = problem.low - problem.lowered(state.cells)
    high = problem.high + problem.raised(state.cells)
    gaps = state.gaps()
    for point, winner in enumerate(problem.winner.tolist()):
        own = model.log_support(winner, low[point].tolist())
        for label in range(problem.n_labels):
            other = model.log_support(label, high[point, label].tolist())
            if label == winner:
                assert gaps[point, label] == math.inf
            elif own == -math.inf:
                assert gaps[point, label] == -math.inf
            else:
                assert gaps[point, label] == pytest.approx(own - other, abs=1e-9)
    stands = [label == -1 for label in problem.fallen_to(state.cells)]
    assert state.standing().tolist() == stands


def test_trimming_leaves_no_cell_to_spare() -> None:
    """Of each group in turn, nearly as many cells are given back as the others allow; all points fall."""
    rng, n_given, n_left = np.random.default_rng(4), 0, 0
    for problem, _ in questions():
        state = State(problem, problem.capacity)
        for group in rng.permutation(problem.n_groups).tolist():
            before = state.cells.copy()
            fewest = next(
                count
                for count in range(int(before[group]) + 1)
                if problem_succeeds(problem, before, group, count)
            )
            given = state.trim(group)
            assert state.cells[group] == before[group] - given >= fewest
            assert problem.succeeds(state.cells)
            n_given, n_left = n_given + given, n_left + int(state.cells[group]) - fewest
        n_cells = state.n_cells
        assert state.trim_all(np.arange(problem.n_groups)) == n_cells - state.n_cells
        assert_state(state)
    assert n_given > 200
    # Where floats cannot tell, nothing is given back.
    assert n_left <= 5


def problem_succeeds(problem: Problem, cells: Ints, group: int, count: int) -> bool:
    """Whether an attack still works with another number of cells of one group."""
    changed = cells.copy()
    changed[group] = count
    return problem.succeeds(changed)


# Relaxation ---------------------------------------------------------------------------------------


def lifted(relaxation: Relaxation, cells: Ints) -> Floats:
    """The columns of the program that an attack fills: each point falls in one mode, by all its cells."""
    modes, problem, at = relaxation.modes, relaxation.modes.problem, relaxation.layout
    low = problem.low - problem.lowered(cells)
    high = problem.high + problem.raised(cells)
    columns = np.zeros(at.n_columns)
    columns[: at.pair] = cells
    for point in range(problem.n_points):
        kills = np.flatnonzero(modes.kill_point == point).tolist()
        dead = [k for k in kills if cells[modes.kill_group[k]] >= modes.kill_count[k]]
        if dead:
            columns[at.kill + dead[0]] = 1
            continue
        pairs = np.flatnonzero(modes.pair_point == point).tolist()
        pair = next(
            p
            for p in pairs
            if problem.falls(
                point, int(modes.pair_rival[p]), low[point], high[point, modes.pair_rival[p]]
            )
        )
        columns[at.pair + pair] = 1
        columns[at.up + pair] = cells[modes.able[pair]].sum()
        for take in np.flatnonzero(modes.take_pair == pair).tolist():
            columns[at.take + take] = cells[modes.take_group[take]]
    return columns


def attacks_on(rng: np.random.Generator, problem: Problem) -> list[Ints]:
    """A good attack, and others with a few cells more."""
    singles = single_optima(problem)
    state = State(problem, union_attack(problem, [found[0] for found in singles]))
    state.trim_all(rng.permutation(problem.n_groups))
    found = [state.cells]
    for _ in range(3):
        more = np.minimum(state.cells + rng.integers(0, 2, problem.n_groups), problem.capacity)
        found.append(np.asarray(more))
    return found


def test_every_attack_is_a_solution_of_the_program() -> None:
    """Theory 5: any attack with fewer cells than the limit satisfies every row, at what it costs."""
    rng, n_tried = np.random.default_rng(5), 0
    for problem, _ in questions()[::2]:
        singles = single_optima(problem)
        for cells in attacks_on(rng, problem):
            limit = int(cells.sum()) + int(rng.integers(1, 4))
            modes = Modes(problem, singles, limit)
            relaxation = Relaxation(modes, Effort(rounds=1).begin())
            below, above = (rng.integers(0, 3, problem.n_groups) for _ in range(2))
            every = np.minimum(problem.capacity, limit - 1)
            for lower, upper in (
                (np.zeros_like(cells), every),
                (np.maximum(cells - below, 0), np.minimum(cells + above, every)),
            ):
                box = Box(lower, upper, np.ones(modes.n_modes, dtype=bool))
                found = relaxation.solve(box, rounds=2)
                assert found.bound <= cells.sum()
                columns = lifted(relaxation, cells)
                matrix, right, first_cut = relaxation._rows(box)
                assert (matrix @ columns - right).min(initial=0) >= -1e-13
                assert len(right) - first_cut == len(relaxation.cut_pair)
                cost, low, high = relaxation._columns(box)
                assert cost @ columns == cells.sum()
                assert (columns >= low).all()
                assert (columns <= high).all()
                n_tried += 1
    assert n_tried > 60


def test_a_program_that_takes_too_long() -> None:
    """Without time a box keeps the cells that it must have, and no price is claimed."""
    problem = questions()[0].problem
    modes = Modes(problem, single_optima(problem), int(problem.capacity.sum()))
    relaxation = Relaxation(modes, Effort(seconds=0.0).begin())
    box = Box(np.minimum(problem.capacity, 1), problem.capacity, np.ones(modes.n_modes, dtype=bool))
    found = relaxation.solve(box)
    assert found.bound == found.cells.sum() == box.lower.sum()
    assert not found.price.any()
    assert not found.share.any()


def test_models_are_kept() -> None:
    """A problem asks the model that the radii were found with."""
    problem = questions()[0].problem
    assert isinstance(problem.model, Model)
    assert problem.n_labels == problem.model.m
