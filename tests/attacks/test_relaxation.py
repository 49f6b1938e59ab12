"""The program that bounds joint attacks: its value is below the truth in exact arithmetic, and near it."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from support.joint_problems import questions
from support.joint_tables import index_of, larger_table

from nullproof.attacks.joint.effort import Effort
from nullproof.attacks.joint.modes import Box, Modes, single_optima, union_attack
from nullproof.attacks.joint.problem import Problem
from nullproof.attacks.joint.relaxation import (
    Relaxation,
    certified_value,
    frontier_rows,
    log_rows,
    stack,
    taken_rows,
)
from nullproof.attacks.poisoning import different
from nullproof.model import Floats
from nullproof.radii.cells import radii

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")


def exact_prices(cost: Floats, dense: Floats, duals: Floats) -> list[Fraction]:
    """What each column costs beyond what the duals pay for it."""
    return [
        Fraction(own) - sum(Fraction(y) * Fraction(x) for y, x in zip(duals, column, strict=True))
        for own, column in zip(cost, dense.T, strict=True)
    ]


def exact_value(
    cost: Floats, dense: Floats, right: Floats, bounds: tuple[Floats, Floats], duals: Floats
) -> Fraction:
    """Weak duality without any rounding."""
    total = sum((Fraction(y) * Fraction(r) for y, r in zip(duals, right, strict=True)), Fraction())
    for reduced, low, high in zip(exact_prices(cost, dense, duals), *bounds, strict=True):
        total += min(reduced * Fraction(low), reduced * Fraction(high))
    return total


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_certified_value_in_fractions(scale: float) -> None:
    """Theory 5: the value and the prices are below those of weak duality without any rounding."""
    rng = np.random.default_rng(7)
    for _ in range(40):
        n_rows, n_columns = int(rng.integers(1, 7)), int(rng.integers(1, 9))
        dense = rng.normal(size=(n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.7)
        right, cost = rng.normal(size=n_rows) * scale, rng.uniform(0, 2, n_columns)
        low = rng.integers(-2, 3, n_columns).astype(float)
        high, duals = low + rng.uniform(0, 5, n_columns) * scale, rng.uniform(0, 1, n_rows)
        value, price = certified_value(cost, csr_array(dense), right, (low, high), duals)
        exact = exact_value(cost, dense, right, (low, high), duals)
        for own, reduced in zip(price.tolist(), exact_prices(cost, dense, duals), strict=True):
            assert abs(Fraction(own)) <= abs(reduced)
            assert own * reduced >= 0
            assert abs(reduced) - abs(Fraction(own)) <= Fraction(1, 10**12)
        assert Fraction(value) <= exact
        assert exact - Fraction(value) <= Fraction(scale) / 10**10 + Fraction(1, 10**10)


def test_certified_value_where_terms_cancel() -> None:
    """Theory 5: the value is below the exact one where rounding is all that is left of large terms."""
    rng, n_above = np.random.default_rng(12), 0
    for number in range(120):
        n_rows, n_columns = int(rng.integers(2, 30)), int(rng.integers(1, 4))
        dense = rng.normal(size=(n_rows, n_columns))
        duals, right = rng.uniform(0, 1, n_rows), np.zeros(n_rows)
        low, high = np.zeros(n_columns), np.full(n_columns, 1e14)
        cost = np.asarray(dense.T @ duals)
        if number % 2:
            # Here it is the right-hand sides that cancel, and columns do nothing.
            duals, right = duals * 1e6, rng.normal(size=n_rows) * 1e6
            right[-1] = -(duals[:-1] @ right[:-1]) / duals[-1]
            cost, high = np.zeros(n_columns), np.zeros(n_columns)
        value, price = certified_value(cost, csr_array(dense), right, (low, high), duals)
        exact = exact_value(cost, dense, right, (low, high), duals)
        assert Fraction(value) <= exact
        reduced = cost - dense.T @ duals
        n_above += exact < Fraction(float(duals @ right + np.minimum(reduced * high, 0).sum()))
        for own, true in zip(price.tolist(), exact_prices(cost, dense, duals), strict=True):
            assert abs(Fraction(own)) <= abs(true)
    # Without anything taken off, many values would be too large.
    assert n_above > 20


def problems() -> list[Problem]:
    """Joint problems of some tables whose points can all be broken."""
    found = list[Problem]()
    for seed in range(40):
        rng = np.random.default_rng(600 + seed)
        table = larger_table(rng, dirty=seed % 2 == 1)
        judged = radii(index_of(table), list(table.points), alpha=table.alpha)
        places = [*different(judged, np.flatnonzero(judged.radius > 0)).values()]
        if places and np.isfinite(judged.radius).all():
            found.append(Problem.of(judged, places))
    return found


def test_first_programs_are_strong() -> None:
    """Before any split the program proves as much as it ever did, with lines at common levels alone."""
    total, every = 0.0, problems()
    for problem in every:
        singles = single_optima(problem)
        union = int(union_attack(problem, [found[0] for found in singles]).sum())
        modes = Modes(problem, singles, union + 1)
        relaxation = Relaxation(modes, Effort(rounds=1).begin())
        upper = np.minimum(problem.capacity, union)
        box = Box(np.zeros_like(upper), upper, np.ones(modes.n_modes, dtype=bool))
        found = relaxation.solve(box)
        assert found.bound <= union
        total += found.bound
    assert len(every) == 36
    assert total == pytest.approx(123.178, abs=0.01)


def first_relaxation(problem: Problem, effort: Effort | None = None) -> Relaxation:
    """The program of a problem, before it was solved."""
    singles = single_optima(problem)
    limit = int(union_attack(problem, [found[0] for found in singles]).sum()) + 1
    return Relaxation(Modes(problem, singles, limit), (effort or Effort(rounds=1)).begin())


def whole_box(relaxation: Relaxation) -> Box:
    """The box of all attacks with fewer cells than the limit."""
    modes = relaxation.modes
    upper = np.minimum(modes.problem.capacity, modes.limit - 1)
    return Box(np.zeros_like(upper), upper, np.ones(modes.n_modes, dtype=bool))


def test_where_lines_touch_at_first() -> None:
    """Seven levels between the least count and what the cheapest attack adds to it, in whole cells."""
    n_cuts = 0
    # Some of these points leave features out, which no cell raises.
    for problem in [*problems(), *(asked.problem for asked in questions())]:
        relaxation = first_relaxation(problem)
        modes, cut = relaxation.modes, iter(relaxation.cut_at.tolist())
        assert relaxation.cut_pair.tolist() == [*range(modes.n_pairs)] * 7
        assert not relaxation.cut_age.any()
        for step in range(7):
            for pair in range(modes.n_pairs):
                room = modes.room[pair].tolist()
                able = [own for own, most in zip(modes.base[pair], room, strict=True) if most]
                least = min(able, default=math.inf)
                level = least * (1 + modes.alone[pair] / least) ** (step / 6)
                counts = zip(next(cut), modes.high[pair], modes.must[pair], room, strict=True)
                for found, high, must, most in counts:
                    # At a whole number rounding may decide.
                    ways = (level - high - 1e-9, level - high + 1e-9) if most else (0, 0)
                    assert found in [min(max(math.floor(way), must), most) for way in ways]
                n_cuts += 1
    assert n_cuts > 200


def test_lines_that_no_solution_needs_are_dropped() -> None:
    """After thirty solutions without any use a line stays, after one more it goes."""
    relaxation = first_relaxation(problems()[0])
    n_cuts = len(relaxation.cut_pair)
    assert n_cuts > 2
    duals = np.zeros(n_cuts)
    duals[0], duals[1] = 1e-11, 1e-12
    kept = relaxation.cut_pair[:1].tolist(), relaxation.cut_at[:1].tolist()
    for _ in range(30):
        relaxation._age_cuts(duals)
        assert len(relaxation.cut_pair) == n_cuts
    relaxation._age_cuts(duals)
    assert (relaxation.cut_pair.tolist(), relaxation.cut_at.tolist()) == kept
    for n_left in [1] * 30 + [0]:
        relaxation._age_cuts(np.zeros(1))
        assert len(relaxation.cut_pair) == len(relaxation.cut_age) == n_left


@pytest.mark.parametrize(
    ("bounds", "rounds", "n_solved", "best"),
    [
        ([10, 11, 12, 13], 1, 1, 0),
        ([10, 11, 12, 13], 3, 3, 2),
        ([10, 10.0009, 12], 3, 2, 1),
        ([10, 10.0011, 12], 3, 3, 2),
        ([10, 9, 12], 3, 2, 0),
        ([10, 10, 12], 3, 2, 0),
        # Below 1 it is the difference that counts.
        ([0, 0.00015, 1], 3, 3, 2),
        ([0, 1e-4, 1], 3, 3, 2),
        ([0, 0.00005, 1], 3, 2, 1),
    ],
)
def test_rounds_of_lines(
    bounds: list[float], rounds: int, n_solved: int, best: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines are added while they raise the bound by a ten-thousandth; the best solution is given."""
    relaxation = first_relaxation(problems()[0])
    box = whole_box(relaxation)
    solutions = [replace(relaxation._trivial(box), bound=bound) for bound in bounds]
    for n_violated, late in [(99, False), (1, False), (0, False), (99, True)]:
        left, violated = iter(solutions), iter([True] * n_violated + [False] * 99)
        monkeypatch.setattr(relaxation, "_solve_once", lambda _, left=left: next(left))
        monkeypatch.setattr(relaxation, "_cut_off", lambda _, violated=violated: next(violated))
        monkeypatch.setattr(relaxation.watch, "late", lambda late=late: late)
        found = relaxation.solve(box, rounds)
        n_used = 1 if late else min(n_solved, n_violated + 1)
        assert len([*left]) == len(bounds) - n_used
        assert found is (solutions[best] if n_used == n_solved else solutions[n_used - 1])


def test_lines_where_the_gain_is_overrated() -> None:
    """A line is added where a pair that is used gains less than all its lines say."""
    rng, n_added, n_fine = np.random.default_rng(11), 0, 0
    for problem in problems():
        relaxation = first_relaxation(problem)
        modes = relaxation.modes
        found = relaxation._trivial(whole_box(relaxation))
        cells = rng.uniform(0, 1, problem.n_groups) * rng.choice([0, 0.3, 1, 4])
        share = rng.choice([0.0, 1e-3, 0.002, 0.4, 1.0], modes.n_modes)
        lines = [*zip(relaxation.cut_pair.tolist(), relaxation.cut_at.tolist(), strict=True)]
        expected = list[tuple[int, list[float]]]()
        for pair in range(modes.n_pairs):
            if share[pair] <= 1e-3:
                continue
            raised = [
                sum(cells[modes.able[pair] & (problem.feature == j)]) / share[pair]
                for j in range(modes.high.shape[1])
            ]
            heights = [
                sum(
                    math.log((high + at) / base)
                    + (own - at) * math.log((high + at + 1) / (high + at))
                    for high, at, base, own in zip(
                        modes.high[pair], place, modes.base[pair], raised, strict=True
                    )
                )
                for owner, place in lines
                if owner == pair
            ]
            true = sum(
                max(math.log((high + own) / base), 0.0) if high + own else 0.0
                for high, base, own in zip(modes.high[pair], modes.base[pair], raised, strict=True)
            )
            if min(heights) > true + 1e-3:
                at = np.clip(np.floor(raised), modes.must[pair], modes.room[pair])
                expected.append((pair, at.tolist()))
        assert relaxation._cut_off(replace(found, cells=cells, share=share)) == bool(expected)
        after = [*zip(relaxation.cut_pair.tolist(), relaxation.cut_at.tolist(), strict=True)]
        assert after[: len(lines)] == lines
        assert after[len(lines) :] == expected
        n_added, n_fine = n_added + len(expected), n_fine + modes.n_pairs - len(expected)
    assert n_added > 10
    assert n_fine > 10


def test_columns_of_a_box() -> None:
    """A mode that a box does not allow has no share, nor has a kill with more cells than it holds."""
    rng, n_kills = np.random.default_rng(13), 0
    for problem in problems():
        relaxation = first_relaxation(problem)
        modes, at = relaxation.modes, relaxation.layout
        upper = np.asarray(rng.integers(0, problem.capacity + 1), dtype=np.int64)
        box = Box(np.zeros_like(upper), upper, rng.random(modes.n_modes) < 0.6)
        high = relaxation._columns(box)[2][at.pair : at.slack]
        kills = zip(modes.kill_group.tolist(), modes.kill_count.tolist(), strict=True)
        fits = [True] * modes.n_pairs + [upper[group] >= count for group, count in kills]
        assert high.tolist() == [float(a and b) for a, b in zip(box.allowed, fits, strict=True)]
        n_kills += len(fits) - sum(fits)
    assert n_kills > 10


def test_what_the_solver_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets half of the time that is left; where it fails otherwise, the program is not called slow."""
    seconds, asked = [0.0], list[dict[str, Any]]()

    def gives_up(*_: Any, options: dict[str, Any], **__: Any) -> SimpleNamespace:
        asked.append(options)
        return SimpleNamespace(status=4)

    monkeypatch.setattr("scipy.optimize.linprog", gives_up)
    relaxation = first_relaxation(problems()[0], Effort(seconds=12, clock=lambda: seconds[0]))
    box = whole_box(relaxation)
    for now in (0.0, 4.0):
        seconds[0] = now
        found = relaxation.solve(box)
        assert (found.bound, relaxation.too_slow) == (0.0, False)
    assert asked == [{"time_limit": time, "presolve": False} for time in (6.0, 4.0)]


def random_box(modes: Modes, rng: np.random.Generator) -> Box:
    """A random part of all attacks, in which some cells must be blanked."""
    upper = np.minimum(modes.problem.capacity, modes.limit - 1)
    lower = np.asarray(rng.integers(0, upper + 1), dtype=np.int64)
    return Box(lower, upper, np.ones(modes.n_modes, dtype=bool))


def test_rows_touch_what_they_bound() -> None:
    """Where a line touches, and takings begin, a row has gain plus loss less the gap, and a margin."""
    rng, n_touched = np.random.default_rng(14), 0
    for problem in problems():
        relaxation = first_relaxation(problem)
        modes, at = relaxation.modes, relaxation.layout
        chords = modes.chords(random_box(modes, rng))
        block = log_rows(modes, at, relaxation._lines(), chords)
        matrix = stack([block], at.n_columns)[0].toarray()
        for row, pair, touched in zip(
            matrix, relaxation.cut_pair.tolist(), relaxation.cut_at.tolist(), strict=True
        ):
            assert row[at.pair + pair] <= 0
            if row[at.pair + pair] == 0:
                continue
            columns = np.zeros(at.n_columns)
            columns[at.pair + pair] = 1
            for group in np.flatnonzero(modes.able[pair]).tolist():
                feature = int(problem.feature[group])
                columns[group] = min(touched[feature], problem.capacity[group])
                touched[feature] -= columns[group]
            lost = -float(modes.gap[pair])
            for take in np.flatnonzero(modes.take_pair == pair).tolist():
                start, count = chords.start[take], modes.take_low[take] + modes.alpha
                columns[at.take + take] = start
                lost -= math.log(1 - start / count)
            raised = modes.raised(columns[: at.pair])[pair]
            gained = np.log((modes.high[pair] + raised) / modes.base[pair]).sum()
            assert row @ columns == pytest.approx(gained + lost + 1e-9, abs=3e-10)
            n_touched += bool(chords.start.any())
    assert n_touched > 100


def test_coefficients_are_above_what_they_stand_for() -> None:
    """In forty digits: no rounding makes a line less steep than the gain or the loss below it."""
    rng, n_gains, n_losses = np.random.default_rng(15), 0, 0
    for problem in problems()[::3]:
        relaxation = first_relaxation(problem)
        modes, at = relaxation.modes, relaxation.layout
        chords = modes.chords(box := random_box(modes, rng))
        matrix = stack([log_rows(modes, at, relaxation._lines(), chords)], at.n_columns)[
            0
        ].toarray()
        with localcontext(prec=40):
            for row, pair, touched in zip(
                matrix, relaxation.cut_pair.tolist(), relaxation.cut_at, strict=True
            ):
                for group in np.flatnonzero(modes.able[pair]).tolist():
                    j = int(problem.feature[group])
                    count = Decimal(float(modes.high[pair, j])) + Decimal(float(touched[j]))
                    true = ((count + 1) / count).ln()
                    assert true < Decimal(float(row[group])) < true * (1 + Decimal("2e-11"))
                    n_gains += 1
                last = modes.most_taken(box)
                for take in np.flatnonzero(modes.take_pair == pair).tolist():
                    count = Decimal(float(modes.take_low[take])) + Decimal(modes.alpha)
                    start, far = (Decimal(float(own[take])) for own in (chords.start, last))
                    true = ((count - start) / (count - far)).ln() if far > start else Decimal(0)
                    # Up to the gap; beyond it nothing more is needed.
                    if 0 < true < Decimal(float(modes.gap[pair] - chords.loss[take])):
                        assert true < Decimal(float(row[at.take + take])) * (far - start)
                        n_losses += 1
    assert n_gains > 100
    assert n_losses > 20


def test_rows_of_frontiers_and_takings() -> None:
    """A pair pays as much as alone, raises as much as it must, is above its facets, and takes its share."""
    rng, n_facets = np.random.default_rng(16), 0
    for problem in problems():
        relaxation = first_relaxation(problem)
        modes, at, box = relaxation.modes, relaxation.layout, random_box(relaxation.modes, rng)
        n_pairs = modes.n_pairs
        rows = stack([frontier_rows(modes, at)], at.n_columns)[0].toarray()
        takes = modes.take_pair == np.arange(n_pairs)[:, None]
        for pair in range(n_pairs):
            alone, raised = rows[pair], rows[n_pairs + pair]
            assert (alone[at.up + pair], raised[at.up + pair]) == (1, 1)
            assert -alone[at.pair + pair] == modes.alone[pair]
            assert -raised[at.pair + pair] == modes.least_raised[pair]
            assert alone[at.take :].tolist() == takes[pair].tolist()
            assert not raised[at.take :].any()
        for row, pair, slope, need in zip(
            rows[2 * n_pairs :], modes.facet_pair, modes.facet_slope, modes.facet_need, strict=True
        ):
            # Slopes and needs are quotients that rounding may have made too large or too small.
            wide = Fraction(slope) * Fraction(1, 10**12)
            assert wide <= Fraction(row[at.up + pair]) - Fraction(slope) <= 20 * wide
            wide = Fraction(need) * Fraction(1, 10**12)
            assert wide <= Fraction(need) + Fraction(row[at.pair + pair]) <= 20 * wide
            assert row[at.take :].tolist() == takes[pair].tolist()
            n_facets += bool(slope)
        rows = stack([taken_rows(modes, at, box)], at.n_columns)[0].toarray()
        assert (rows[:, at.take :] == -np.eye(len(rows))).all()
        shares = rows[np.arange(len(rows)), at.pair + modes.take_pair]
        assert shares.tolist() == modes.most_taken(box).tolist()
    assert n_facets > 10
