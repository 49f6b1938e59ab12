"""The parts of a joint attack: what cells do to counts, and what every attack pays."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.count_tables import first_point, index_from_counts
from support.joint_problems import asked_of, questions, random_cells

from nullproof.attacks.joint.effort import Effort
from nullproof.attacks.joint.modes import Box, Modes, single_optima, union_attack
from nullproof.attacks.joint.problem import Ints, Problem
from nullproof.attacks.joint.proof import solve
from nullproof.attacks.joint.relaxation import Relaxation
from nullproof.attacks.joint.state import State
from nullproof.counts.index import LEFT_OUT, CountIndex
from nullproof.model import Floats, Model
from nullproof.tables.points import Points
from nullproof.verdicts import verdicts

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")


# Problem ------------------------------------------------------------------------------------------


def test_cells_do_to_counts_what_blanking_does() -> None:
    """Groups and their sizes give the counts of the table in which these cells are blank."""
    rng = np.random.default_rng(1)
    for problem, codes, _ in questions():
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
    for problem, codes, _ in questions():
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
    for problem, _, _ in questions():
        model = problem.model
        assert problem.n_groups == len(problem.sorts)
        sizes = [sum(own.n_cells for own in sort) for sort in problem.sorts]
        assert problem.capacity.tolist() == sizes
        assert (problem.room <= np.maximum(problem.low, 0)).all()
        # A feature that is left out has the factor 1, every other one the smoothing.
        out = problem.low == LEFT_OUT
        assert (problem.low + problem.added)[out].tolist() == [1] * int(out.sum())
        assert {*problem.added[~out].tolist()} <= {float(model.alpha)}
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


def test_groups_hold_every_cell_that_matters() -> None:
    """A cell is in one group if blanking it alone changes what decides some point, and in none if not."""
    n_outside = 0
    for problem, codes, reach in questions():
        grouped = [
            (own.label, own.feature, own.candidates) for sort in problem.sorts for own in sort
        ]
        matters = list[Any]()
        for cells in reach.cells():
            after = problem.model.index.blanked([replace(cells, n_cells=1)])
            if any(
                changes(problem, codes, after, cells.feature, point)
                for point in range(problem.n_points)
            ):
                matters.append((cells.label, cells.feature, cells.candidates))
            else:
                n_outside += 1
        assert sorted(grouped) == sorted(matters)
    assert n_outside > 20


def changes(problem: Problem, codes: Any, after: CountIndex, feature: int, point: int) -> bool:
    """Whether a changed table has another least count of the winner of a point, or greatest of a rival."""
    own, winner = codes[feature, point : point + 1], problem.winner[point]
    high = np.delete(after.high(feature, own)[0], winner)
    return bool(
        after.low(feature, own)[0, winner] != problem.low[point, feature]
        or (high != np.delete(problem.high[point, :, feature], winner)).any()
    )


def test_a_label_without_rows_has_no_weight() -> None:
    """Without smoothing such a label has no support, whichever features a point leaves out."""
    index = index_from_counts([9, 5, 0], [[(7, 2, 0), (2, 3, 0)], [(8, 1, 0), (1, 4, 0)]])
    for point in [("0", "0"), ("0", None)]:
        asked = asked_of(index, [point], alpha=0)
        assert asked is not None
        weights = asked.problem.log_weights[0].tolist()
        # 9 / 14 and 5 / 14, each divided by as many factors as the point has features.
        n_factors = 2 - point.count(None)
        assert weights[0] - weights[1] == pytest.approx((1 - n_factors) * math.log(9 / 5))
        assert weights[2] == -math.inf


@pytest.mark.parametrize(
    ("alpha", "holds"),
    [
        (Fraction(0), True),
        (Fraction(1, 10**250), True),
        (Fraction(1, 10**250 + 1), False),
        (Fraction(10**250), True),
        (Fraction(10**250 + 1), False),
    ],
)
def test_smoothing_that_floats_hold(alpha: Fraction, holds: bool) -> None:
    """Where no double will do, the smoothing is no number, and floats are not asked."""
    index = index_from_counts([8, 8], [[(7, 2), (1, 6)]])
    asked = asked_of(index, first_point(index), alpha=alpha, prior="uniform")
    assert asked is not None
    assert asked.problem.floats_hold == holds
    assert math.isnan(asked.problem.alpha) != holds


@pytest.mark.parametrize(
    ("d", "n_values", "alpha", "largest"),
    [
        (3, 2, 0, math.log(61)),
        (3, 2, 7, math.log(75)),
        (3, 5, 7, math.log(96)),
        (3, 2, Fraction(1, 7), math.log(429)),
        (3, 2, Fraction(3, 10**30), math.log(61 * 10**30 // 2)),
        (3, 100, Fraction(1, 10**30), math.log(10**30)),
        (1200, 2, 0, math.log(61)),
    ],
)
def test_errors_of_gaps(d: int, n_values: int, alpha: Any, largest: float) -> None:
    """Six terms a feature, none larger than the log of all rows, smoothed, or of its parts (theory 2)."""
    unused = [(0, 0)] * (n_values - 2)
    counts = [(50, 12), (10, 18)]
    index = index_from_counts([60, 30], [counts] * (d - 1) + [[*counts, *unused]])
    asked = asked_of(index, first_point(index), alpha=alpha)
    assert asked is not None
    problem, eps = asked.problem, 2.0**-52
    expected = 2 * eps * (d + 8) * (4 + math.log(3) + 6 * (d + 1) * largest)
    assert problem.error == pytest.approx(expected, rel=1e-9, abs=0)
    assert problem.unsure == max(1e-8, problem.error)
    assert (problem.error < 1e-10) == (d < 10)


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
    for problem, _, _ in questions()[::2]:
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
    assert not relaxation.too_slow
    found = relaxation.solve(box)
    assert relaxation.too_slow
    assert found.bound == found.cells.sum() == box.lower.sum()
    assert not found.price.any()
    assert not found.share.any()


def test_models_are_kept() -> None:
    """A problem asks the model that the radii were found with."""
    problem = questions()[0].problem
    assert isinstance(problem.model, Model)
    assert problem.n_labels == problem.model.m


def test_groups_of_more_cells_than_a_move_can_count() -> None:
    """Then exact tests alone shrink the union of the single attacks."""
    for size, holds in ((2**40 - 1, True), (2**40, False)):
        index = index_from_counts([size + 1, size + 1], [[(size, 5), (1, size - 4)]] * 2)
        codes = np.array([[0, 0], [0, 1]], dtype=np.int32)
        asked = asked_of(index, Points(codes, index.n_values, ((), ())), alpha=1, prior=None)
        assert asked is not None
        problem = asked.problem
        assert problem.capacity.max() == size
        assert problem.floats_hold == holds
    cells, bound = solve(problem, effort=Effort(rounds=3))
    assert problem.succeeds(cells)
    assert 0 < bound <= cells.sum()
