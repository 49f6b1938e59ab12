"""The ways a point can fall: what they cost alone, and the lines that bound them, against plain loops."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from support.count_tables import index_from_counts
from support.joint_problems import asked_of, counted, questions

from nullproof.attacks.joint.modes import (
    ANYONE,
    Modes,
    Pair,
    Single,
    lower_hull,
    single_optima,
    union_attack,
)
from nullproof.attacks.joint.problem import Problem
from nullproof.counts.index import LEFT_OUT

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")


@cache
def problems(kind: str) -> tuple[Problem, ...]:
    """Small tables of all kinds, or a few made of counts."""
    return counted() if kind == "counts" else tuple(asked.problem for asked in questions())


@cache
def alone(kind: str, place: int) -> list[list[Single]]:
    """What each way to fall costs alone."""
    return single_optima(problems(kind)[place])


def asked(kind: str) -> Iterator[tuple[Problem, list[list[Single]]]]:
    """The problems, each with what its ways cost alone."""
    for place, problem in enumerate(problems(kind)):
        yield problem, alone(kind, place)


def limits(problem: Problem, singles: list[list[Single]]) -> list[int]:
    """Numbers of cells at which modes are just left out, or just kept."""
    costs = {single.n_cells for found in singles for single in found} | {int(problem.low.max())}
    return sorted({cost + more for cost in costs for more in (0, 1)})


def kept(problem: Problem, point: int) -> list[int]:
    """The cells of each count that a pair leaves to the winner."""
    return [int(moves and problem.model.alpha == 0) for moves in problem.movable[point].tolist()]


# What a mode costs alone --------------------------------------------------------------------------


def best_counts(
    counts: Sequence[int], room: Sequence[int], alpha: Fraction, sign: int
) -> list[tuple[int, ...]]:
    """For each number of cells the counts whose product is greatest, or least, if each moves so far."""
    found: dict[int, tuple[Fraction, tuple[int, ...]]] = {0: (Fraction(1), ())}
    for count, most in zip(counts, room, strict=True):
        grown = dict[int, tuple[Fraction, tuple[int, ...]]]()
        for n_cells, (product, own) in found.items():
            for steps in range(most + 1):
                now = count + sign * steps
                value = product * (1 if count == LEFT_OUT else now + alpha)
                best = grown.get(n_cells + steps)
                if best is None or sign * value > sign * best[0]:
                    grown[n_cells + steps] = (value, (*own, now))
        found = grown
    return [found[n_cells][1] for n_cells in sorted(found)]


def sides(
    problem: Problem, point: int, rival: int
) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """The best counts of the winner and of the rival for each number of cells, with those in reach."""
    low, high = problem.low[point].tolist(), problem.high[point, rival].tolist()
    room = problem.room[point].tolist()
    own = [max(0, min(n, c - k)) for n, c, k in zip(room, low, kept(problem, point), strict=True)]
    more = problem.raised(problem.capacity)[point, rival].tolist()
    alpha = problem.model.alpha
    return best_counts(low, own, alpha, -1), best_counts(high, more, alpha, 1)


def cheapest(problem: Problem, point: int, rival: int, most: int) -> int | None:
    """The fewest cells with which a rival overtakes, at most so many of each kind; None if none do."""
    lows, highs = (np.array(own[: most + 1]) for own in sides(problem, point, rival))
    best = None
    for n_raised, high in enumerate(highs):
        for n_lowered, low in enumerate(lows):
            if best is not None and n_raised + n_lowered >= best:
                break
            if problem.falls(point, rival, low, high):
                best = n_raised + n_lowered
                break
    return best


def cheapest_kill(problem: Problem, point: int) -> int | None:
    """The least count of the winner that can be blanked away; None if none can, or none need be."""
    if problem.model.alpha:
        return None
    pairs = zip(problem.low[point].tolist(), problem.room[point].tolist(), strict=True)
    return min((low for low, room in pairs if low == room > 0), default=None)


@pytest.mark.parametrize("kind", ["counts", "tables"])
def test_what_each_way_costs_alone(kind: str) -> None:
    """T7 and T14: the fewest cells against each rival, those of a kill, and what needs too many is out."""
    n_pairs = n_kills = n_out = 0
    for problem, singles in asked(kind):
        kills = [cheapest_kill(problem, point) for point in range(problem.n_points)]
        groups = dict[int, int]()
        for group, point in np.argwhere(problem.lowers).tolist():
            if problem.low[point, problem.feature[group]] == kills[point]:
                groups.setdefault(point, group)
        # Points share the cells of a group.
        union = {groups[point]: kill for point, kill in enumerate(kills) if kill is not None}
        limit = sum(union.values()) if None not in kills else 10**6
        for point, (found, kill) in enumerate(zip(singles, kills, strict=True)):
            costs = {single.rival: single.n_cells for single in found}
            assert len(costs) == len(found)
            assert [(s.n_cells, s.rival) for s in found] == sorted((c, r) for r, c in costs.items())
            assert costs.pop(ANYONE, None) == kill
            n_kills += kill is not None
            for rival in (k for k in range(problem.n_labels) if k != problem.winner[point]):
                expected = cheapest(problem, point, rival, limit)
                # Within limits it is the sum that may not be larger, elsewhere each of the two.
                if problem.limited and expected is not None and expected > limit:
                    expected = None
                assert costs.pop(rival, None) == expected
                n_pairs += expected is not None
                n_out += expected is None
            assert not costs
    assert n_pairs > 20
    assert n_kills > 5
    assert (n_out > 5) == (kind == "tables")


@pytest.mark.parametrize("kind", ["counts", "tables"])
def test_single_attacks_work(kind: str) -> None:
    """The cells of each way are within reach, and let its rival overtake, exactly; a kill, anyone."""
    for problem, singles in asked(kind):
        every = problem.raised(problem.capacity)
        for point, found in enumerate(singles):
            for single in found:
                assert single.point == point
                assert single.n_cells == single.raised.sum() + single.lowered.sum()
                assert single.raised.min() >= 0
                low = problem.low[point] - single.lowered
                assert (single.lowered >= 0).all()
                assert (single.lowered <= problem.room[point]).all()
                if single.rival == ANYONE:
                    assert not single.raised.any()
                    assert 0 in low[problem.movable[point]]
                    assert single.ends.tolist() == [[0, single.n_cells]]
                    continue
                assert (single.raised <= every[point, single.rival]).all()
                assert (low >= kept(problem, point))[problem.movable[point]].all()
                high = problem.high[point, single.rival] + single.raised
                assert problem.falls(point, single.rival, low, high)


def test_the_smallest_count_that_can_go() -> None:
    """Where cells are out of reach a count may stay above 0; then another one is blanked away."""
    index = index_from_counts([9, 3], [[(4, 0), (5, 3)], [(9, 0), (0, 3)]])
    found = asked_of(index, [("0", "0")], alpha=0)
    assert found is not None
    problem = found.problem
    assert single_optima(problem)[0][0].lowered.tolist() == [4, 0]
    problem = replace(problem, limited=True, capacity=problem.capacity.copy())
    group = int(np.flatnonzero(problem.lowers[:, 0] & (problem.feature == 0))[0])
    problem.capacity[group] = 3
    ways = {single.rival: single for single in single_optima(problem)[0]}
    assert ways[ANYONE].lowered.tolist() == [0, 9]
    group = int(np.flatnonzero(problem.lowers[:, 0] & (problem.feature == 1))[0])
    problem = replace(problem, capacity=problem.capacity.copy())
    problem.capacity[group] = 8
    assert ANYONE not in {single.rival for single in single_optima(problem)[0]}


def test_no_way_without_cells_within_reach() -> None:
    """A rival that overtakes with any cells has no way where none can be blanked."""
    n_ways = 0
    for problem, singles in asked("tables"):
        out_of_reach = replace(problem, limited=True, capacity=np.zeros_like(problem.capacity))
        for single in (one for found in singles for one in found if one.rival != ANYONE):
            assert Pair(out_of_reach, single.point, single.rival).optimum() is None
            n_ways += 1
    assert n_ways > 10


@pytest.mark.parametrize("kind", ["counts", "tables"])
def test_frontiers_of_pairs(kind: str) -> None:
    """Floats and integers say of each number of cells what integers alone say, and guesses are near."""
    n_tried = n_guessed = 0
    for problem in problems(kind):
        for point, rival in np.ndindex(problem.n_points, problem.n_labels):
            if rival == problem.winner[point]:
                continue
            pair = Pair(problem, point, rival)
            frontier, keeps = pair.frontier, kept(problem, point)
            for n_raised in range(0, frontier.max_raise + 1, 1 + frontier.max_raise // 12):
                high = np.array(frontier.raised(n_raised))
                steps = range(frontier.max_lower + 1)
                lows = [np.add(frontier.lowered(n), keeps, dtype=np.int64) for n in steps]
                falls = [problem.falls(point, rival, low, high) for low in lows]
                assert [frontier.falls(n_raised, n) for n in steps] == falls
                n_tried += len(falls)
                guess = pair._guess_lowered(n_raised)
                if problem.floats_hold:
                    first = falls.index(True) if True in falls else frontier.max_lower
                    model, winner = problem.model, int(problem.winner[point])
                    # Where rounding hides a tie, one more cell may seem to be needed.
                    tie = model.support(winner, lows[first].tolist()) == model.support(
                        rival, high.tolist()
                    )
                    assert first <= guess <= first + tie
                    n_guessed += 0 < first < frontier.max_lower
                else:
                    assert 0 <= guess <= frontier.max_lower
    assert n_tried > 1000
    assert n_guessed > 100


@pytest.mark.parametrize("kind", ["counts", "tables"])
def test_the_corners_of_a_frontier(kind: str) -> None:
    """Each end has the fewest lowering cells beside its raising ones, and the cheapest way is an end."""
    n_ends = 0
    for problem, singles in asked(kind):
        for single in (s for found in singles for s in found if s.rival != ANYONE):
            frontier = Pair(problem, single.point, single.rival).frontier
            ends = single.ends.tolist()
            assert ends == sorted(ends)
            for n_raised, n_lowered in ends:
                assert frontier.falls(n_raised, n_lowered)
                assert not n_lowered or not frontier.falls(n_raised, n_lowered - 1)
            if not problem.limited:
                assert single.n_cells == min(map(sum, ends))
            n_ends += len(ends) > 2
    assert n_ends > 20


@pytest.mark.parametrize("kind", ["counts", "tables"])
def test_a_union_has_the_most_of_each_group(kind: str) -> None:
    """Each single takes the cells of its groups in their order; the union fells all points."""
    for problem, singles in asked(kind):
        assert union_attack(problem, []).tolist() == [0] * problem.n_groups
        every = [s for found in singles for s in found]
        alone = [union_attack(problem, [single]) for single in every]
        for single, cells in zip(every, alone, strict=True):
            point, rival = single.point, single.rival
            assert cells.sum() == single.n_cells
            assert (problem.lowered(cells)[point] == single.lowered).all()
            if rival != ANYONE:
                assert (problem.raised(cells)[point, rival] == single.raised).all()
            # A group is begun only when those before it that do the same are used up.
            place = [(int(problem.label[g]), int(problem.feature[g])) for g in range(len(cells))]
            for one, other in np.argwhere(np.triu(np.ones((len(cells),) * 2), 1)).tolist():
                same = place[one] == place[other] and problem.raises[[one, other], point].all()
                if same and cells[other]:
                    assert cells[one] == problem.capacity[one]
        assert union_attack(problem, every).tolist() == np.max(alone, axis=0).tolist()
        assert problem.succeeds(union_attack(problem, [found[0] for found in singles]))


# Modes --------------------------------------------------------------------------------------------


def modes_of_all(kind: str) -> Iterator[tuple[Modes, list[Single]]]:
    """The modes of each problem and all its pairs, with limits at which some are left out."""
    for problem, singles in asked(kind):
        pairs = [s for found in singles for s in found if s.rival != ANYONE]
        for limit in limits(problem, singles) if problem.floats_hold else []:
            yield Modes(problem, singles, limit), pairs


@pytest.mark.parametrize("kind", ["counts", "tables"])
def test_which_modes_there_are(kind: str) -> None:
    """A pair for each way that costs less than the limit, a kill for each count that does."""
    n_kills = n_out = 0
    for modes, every in modes_of_all(kind):
        problem, limit = modes.problem, modes.limit
        pairs = [s for s in every if s.n_cells < limit]
        n_out += len(pairs) < len(every)
        assert modes.pair_point.tolist() == [s.point for s in pairs]
        assert modes.pair_rival.tolist() == [s.rival for s in pairs]
        assert modes.alone.tolist() == [s.n_cells for s in pairs]
        assert modes.least_raised.tolist() == [s.ends[0, 0] for s in pairs]
        facets = [(pair, *line) for pair, s in enumerate(pairs) for line in lower_hull(s.ends)]
        found = zip(modes.facet_pair, modes.facet_slope, modes.facet_need, strict=True)
        assert [*found] == facets
        lowering = sorted(
            (point, int(problem.feature[group]), group)
            for group, point in np.argwhere(problem.lowers).tolist()
        )
        kills = [
            (point, group, int(problem.low[point, feature]))
            for point, feature, group in lowering
            if problem.alpha == 0 and problem.low[point, feature] < limit
        ]
        n_kills += len(kills)
        assert [*zip(modes.kill_point, modes.kill_group, modes.kill_count, strict=True)] == kills
        assert modes.owner.tolist() == [s.point for s in pairs] + [point for point, *_ in kills]
        assert (modes.n_pairs, modes.n_modes) == (len(pairs), len(pairs) + len(kills))
        last = 1 if problem.alpha == 0 else 0
        takings = [
            (pair, point, group, int(problem.low[point, feature]))
            for pair, s in enumerate(pairs)
            for point, feature, group in lowering
            if point == s.point
        ]
        found_takings = (modes.take_pair, modes.take_point, modes.take_group, modes.take_low)
        assert [*zip(*(own.tolist() for own in found_takings), strict=True)] == takings
        assert modes.take_last.tolist() == [low - last for *_, low in takings]
    assert n_kills > 50
    assert n_out > 20


@pytest.mark.parametrize("kind", ["counts", "tables"])
def test_what_raises_a_pair(kind: str) -> None:
    """Groups of the rival that raise it at the point, room for them, and counts of zero to raise first."""
    rng, n_must = np.random.default_rng(3), 0
    for modes, _ in modes_of_all(kind):
        problem = modes.problem
        cells = rng.uniform(0, 3, problem.n_groups)
        raised = modes.raised(cells)
        for pair, (point, rival) in enumerate(zip(modes.pair_point, modes.pair_rival, strict=True)):
            able = [
                bool(problem.raises[group, point] and problem.label[group] == rival)
                for group in range(problem.n_groups)
            ]
            assert modes.able[pair].tolist() == able
            for feature, high in enumerate(problem.high[point, rival].tolist()):
                own = np.array(able) & (problem.feature == feature)
                assert modes.room[pair, feature] == problem.capacity[own].sum()
                assert raised[pair, feature] == pytest.approx(cells[own].sum())
                count = 1.0 if high == LEFT_OUT else high + problem.alpha
                assert modes.high[pair, feature] == count
                must = count == 0 and own.any()
                assert modes.must[pair, feature] == must
                assert modes.base[pair, feature] == (1.0 if must else count)
                n_must += must
            model = problem.model
            counts = problem.high[point, rival] + modes.must[pair]
            ratio = model.support(
                int(problem.winner[point]), problem.low[point].tolist()
            ) / model.support(int(rival), counts.tolist())
            assert modes.gap[pair] == pytest.approx(math.log(ratio), abs=1e-9)
    assert n_must > 10
