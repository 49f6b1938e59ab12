"""radius against brute force over all blanked cells, on named tables, and against its laws.

``NULLPROOF_RADIUS_TABLES`` sets the number of random tables and ``NULLPROOF_SEED`` the seed they start from.
"""

from __future__ import annotations

import itertools
import math
import os
import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from strategies import Case, cases, random_case

from nullproof.errors import NullproofError
from nullproof.frontier import Frontier
from nullproof.index import CountIndex
from nullproof.points import Points
from nullproof.radius import PointAttack, point_attacks, radii, radius
from nullproof.radius_bounds import bound_radii
from nullproof.schema import Feature, Schema
from nullproof.support import Model, verdicts

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

N_TABLES = int(os.environ.get("NULLPROOF_RADIUS_TABLES", "6000"))
SEED = int(os.environ.get("NULLPROOF_SEED", "20240604"))
N_CHUNKS = 20


# Brute force --------------------------------------------------------------------------------------


def smallest_products(counts: Sequence[int], rooms: Sequence[int], step: int, alpha: Fraction) -> Any:
    """For every number of cells, the most extreme product of smoothed counts: all vectors are tried."""
    better = min if step < 0 else max
    found: dict[int, Fraction] = {}
    for moved in itertools.product(*(range(room + 1) for room in rooms)):
        product = Fraction(1)
        for count, n_cells in zip(counts, moved, strict=True):
            product *= count + step * n_cells + alpha
        total = sum(moved)
        found[total] = better(found.get(total, product), product)
    return found


def brute_radius(case: Case, point: Sequence[Any]) -> float:
    """Try every vector of blanked cells of the winner and of each rival; all completions."""
    every = [brute_complete(case, filled) for filled in oracle.completions(point, case.domains)]
    labels = {label for label, _ in every}
    return min(value for _, value in every) if len(labels) == 1 else 0


def brute_complete(case: Case, point: Sequence[Hashable]) -> tuple[Any, float]:
    """Return the certain label of a complete point (or None) and its radius."""
    alpha, names = Fraction(case.alpha), oracle.distinct(case.labels)
    share = oracle.shares(case.labels, names, case.prior)
    sizes = {name: case.labels.count(name) for name in names}
    cells = {name: cells_of(case, name, point) for name in names}
    constant = {
        name: oracle.support(share[name], [1] * len(point), sizes[name], case.domains, 0)
        if alpha == 0
        else share[name] / math.prod(sizes[name] + alpha * len(own) for own in case.domains)
        for name in names
    }
    falls, climbs = {}, {}
    for name in names:
        low, high, lackers, lowerable = cells[name]
        falls[name] = smallest_products(low, lowerable, -1, alpha)
        climbs[name] = smallest_products(high, lackers, +1, alpha)
    best: dict[Any, float] = {}
    for name, rival in itertools.permutations(names, 2):
        pairs = [
            n_lower + n_raise
            for n_lower, fallen in falls[name].items()
            for n_raise, climbed in climbs[rival].items()
            if constant[name] * fallen <= constant[rival] * climbed
        ]
        best[name] = min([best.get(name, math.inf), *pairs])
    if len(names) == 1:
        return names[0], math.inf
    certain = [name for name in names if best[name] > 0]
    return (certain[0], best[certain[0]]) if certain else (None, 0)


def cells_of(case: Case, label: Any, point: Sequence[Hashable]) -> Any:
    """Per feature of one label: low, high, cells that can be blanked to raise, and to lower."""
    low, high, lackers, lowerable = [], [], [], []
    for j, (value, domain) in enumerate(zip(point, case.domains, strict=True)):
        own = [
            oracle.candidates(row[j], domain)
            for row, name in zip(case.rows, case.labels, strict=True)
            if name == label
        ]
        low.append(sum(cell == (value,) for cell in own))
        high.append(sum(value in cell for cell in own))
        # Blanking gives the whole domain: it changes nothing if that is one value or lacks the point's.
        is_movable = value in domain and len(domain) > 1
        lackers.append(len(own) - high[-1] if is_movable else 0)
        lowerable.append(low[-1] if is_movable else 0)
    return low, high, lackers, lowerable


def subset_radius(case: Case, point: Sequence[Any]) -> float:
    """Blank every subset of cells, smallest first, and walk through all worlds each time."""
    places = [(i, j) for i in range(len(case.rows)) for j in range(len(point))]
    domains = case.domains

    def is_robust(blanked: Sequence[tuple[int, int]]) -> bool:
        rows = [
            tuple(None if (i, j) in blanked else cell for j, cell in enumerate(row))
            for i, row in enumerate(case.rows)
        ]
        every = oracle.outcomes(
            rows, case.labels, point, domains, alpha=case.alpha, prior=case.prior
        )
        return oracle.robust(every)

    if not is_robust(()):
        return 0
    if is_robust(places):
        return math.inf
    return next(
        n_cells
        for n_cells in range(1, len(places) + 1)
        for blanked in itertools.combinations(places, n_cells)
        if not is_robust(blanked)
    )


# Random tables ------------------------------------------------------------------------------------


def radius_case(rng: random.Random, max_rows: int = 10, max_features: int = 4) -> Case:
    """Draw a table with few holes and rare labels, and points near its rows, so that many are robust."""
    n_rows, n_features = rng.randint(2, max_rows), rng.randint(1, max_features)
    names = ["A", "B", "C", "D"][: rng.choice([1, 2, 2, 2, 2, 3, 3, 4])]
    weights = [rng.choice([1, 1, 4]) for _ in names]
    labels = tuple(rng.choices(names, weights, k=n_rows))
    features = tuple(f"f{j}" for j in range(n_features))
    columns, declared = [], {}
    hole_rate = rng.choice([0, 0, 0.1, 0.3])
    for feature in features:
        used = "abc"[: rng.choice([1, 2, 2, 2, 3])]
        if rng.random() < 0.3:
            declared[feature] = tuple("abcd"[: rng.randint(len(used), 4)])
        bias = {name: [rng.choice([1, 1, 5]) for _ in used] for name in names}
        column: list[Any] = [rng.choices(used, bias[label])[0] for label in labels]
        for i in range(1, n_rows):
            if rng.random() < hole_rate:
                size = rng.randint(1, len(used))
                column[i] = rng.choice([None, frozenset(rng.sample(used, size))])
        columns.append(column)
    rows = tuple(zip(*columns, strict=True))
    case = Case(rows, labels, features, declared or None, (), 0, None)
    points = tuple(near_point(rng, case) for _ in range(2))
    alpha = rng.choice([0, 0, 0, 1, Fraction(1, 2), 0.1, Fraction(1, 3), 1e-10, 50])
    prior = rng.choice([None, None, None, "uniform", {name: rng.choice([0.1, 1, 7]) for name in names}])
    return Case(rows, labels, features, full_domains(case), points, alpha, prior)


def full_domains(case: Case) -> dict[str, tuple[Hashable, ...]]:
    """Declare what each column names or declares already."""
    seen = oracle.seen_domains(case.rows, len(case.features))
    declared = case.declared or {}
    return {
        name: tuple(sorted({*own, *declared.get(name, ())}))
        for name, own in zip(case.features, seen, strict=True)
    }


def near_point(rng: random.Random, case: Case) -> tuple[Any, ...]:
    """Take a row and change a cell or two; some are unknown, some outside the domain."""
    domains = list(full_domains(case).values())
    cells = [
        rng.choice(oracle.candidates(cell, domain))
        for cell, domain in zip(rng.choice(case.rows), domains, strict=True)
    ]
    for j, domain in enumerate(domains):
        cells[j] = rng.choices(
            [cells[j], rng.choice(domain), "unseen", None, frozenset({domain[0], "unseen"})],
            [30, 6, 1, 1, 1],
        )[0]
    return tuple(cells)


def index_of(case: Case) -> CountIndex:
    """Count a case's table."""
    return CountIndex.from_rows(
        case.rows, case.labels, features=case.features, domains=case.declared
    )


def assert_equals_brute_force(case: Case) -> int:
    """Compare every point of a case; return how many have a radius to find."""
    index = index_of(case)
    prior = case.prior_for(index.labels)
    found = radii(index, list(case.points), alpha=case.alpha, prior=prior)
    expected = [brute_radius(case, point) for point in case.points]
    assert found.radius.tolist() == expected, case
    assert_consistent(found)
    return sum(value > 0 for value in expected)


def assert_consistent(found: Any) -> None:
    """A radius is the sum of its steps, and a rival is named exactly where there is an attack."""
    finite = np.isfinite(found.radius)
    assert (found.radius[finite] == (found.n_raise + found.n_lower)[finite]).all()
    assert [name is None for name in found.label] == (found.radius == 0).tolist()
    assert [name is None for name in found.rival] == (~finite | (found.radius == 0)).tolist()


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_random_tables(chunk: int) -> None:
    """T5, T6, T7, T8: the radius is the fewest cells over all vectors of blanked cells."""
    seed = f"{SEED}-radius-{chunk}"
    print("seed", seed)
    rng = random.Random(seed)
    n_tables = math.ceil(N_TABLES / N_CHUNKS)
    n_attacked = sum(assert_equals_brute_force(radius_case(rng)) for _ in range(n_tables))
    assert n_attacked > n_tables / 4


@given(cases())
@settings(max_examples=200, deadline=None)
def test_shrinking_tables(case: Case) -> None:
    """The same law with cases that shrink to the smallest disagreement."""
    assert_equals_brute_force(case)


@pytest.mark.parametrize("chunk", range(10))
def test_all_subsets_of_cells_and_all_worlds(chunk: int) -> None:
    """Nothing taken for granted: every subset of cells, every world, every completion."""
    seed = f"{SEED}-subsets-{chunk}"
    print("seed", seed)
    rng = random.Random(seed)
    n_attacked = 0
    for _ in range(30):
        case = radius_case(rng, max_rows=4, max_features=2)
        index = index_of(case)
        prior = case.prior_for(index.labels)
        expected = [subset_radius(case, point) for point in case.points]
        assert radius(index, list(case.points), alpha=case.alpha, prior=prior).tolist() == expected
        n_attacked += sum(0 < value < math.inf for value in expected)
    assert n_attacked >= 5


# Attacks ------------------------------------------------------------------------------------------


def blanked_cells(case: Case, attack: PointAttack) -> list[tuple[int, int]]:
    """Find cells for an attack's moves: holders of the value to lower, cells that lack it to raise."""
    found: list[tuple[int, int]] = []
    for move in attack.moves:
        j = case.features.index(move.feature)
        domain = case.domains[j]
        rows = [i for i, label in enumerate(case.labels) if label == move.label]
        if move.kind == "lower":
            fitting = [i for i in rows if oracle.candidates(case.rows[i][j], domain) == (move.value,)]
        else:
            fitting = [i for i in rows if move.value not in oracle.candidates(case.rows[i][j], domain)]
        assert len(fitting) >= move.n_cells
        found += [(i, j) for i in fitting[: move.n_cells]]
    return found


def is_robust(case: Case, blanked: Sequence[tuple[int, int]], point: Sequence[Any]) -> bool:
    """Ask the enumeration of count vectors whether a point survives."""
    rows = tuple(
        tuple(None if (i, j) in blanked else cell for j, cell in enumerate(row))
        for i, row in enumerate(case.rows)
    )
    every = Case(rows, case.labels, case.features, case.declared, (), case.alpha, case.prior)
    return brute_radius(every, point) > 0


def test_attacks_break_their_points_and_waste_no_cell() -> None:
    """Blanking an attack's cells ends robustness; putting any one of them back restores it."""
    rng = random.Random(f"{SEED}-attacks")
    n_tried = 0
    for _ in range(150):
        case = radius_case(rng, max_rows=8, max_features=3)
        index = index_of(case)
        prior = case.prior_for(index.labels)
        attacks = point_attacks(index, list(case.points), alpha=case.alpha, prior=prior)
        for point, attack in zip(case.points, attacks, strict=True):
            if not attack.moves:
                assert attack.radius in (0, math.inf)
                continue
            blanked = blanked_cells(case, attack)
            assert len(set(blanked)) == attack.n_cells == attack.radius
            assert not is_robust(case, blanked, point)
            for place in range(len(blanked)):
                assert is_robust(case, blanked[:place] + blanked[place + 1 :], point)
            n_tried += 1
    assert n_tried > 50


def test_attack_names_the_cells_to_look_for() -> None:
    """Moves name label, feature, value and number; lowering and raising can mix (T6)."""
    index = index_from_counts([5, 1], [[(3, 0), (2, 1)], [(3, 1), (2, 0)], [(3, 1), (2, 0)]])
    (attack,) = point_attacks(index, ("0", "0", "0"))
    assert (attack.label, attack.rival, attack.radius) == ("L0", "L1", 2.0)
    moves = [(move.kind, move.label, move.feature, move.value, move.n_cells) for move in attack.moves]
    assert moves == [("lower", "L0", "x0", "0", 1), ("raise", "L1", "x0", "0", 1)]


# Named tables -------------------------------------------------------------------------------------


def index_from_counts(sizes: Sequence[int], known: Sequence[Sequence[Sequence[int]]]) -> CountIndex:
    """Make an index from counts: per feature and value one number for each label, no holes."""
    features = tuple(
        Feature(f"x{j}", "category", tuple(str(v) for v in range(len(counts))))
        for j, counts in enumerate(known)
    )
    return CountIndex(
        Schema(features, tuple(f"L{i}" for i in range(len(sizes)))),
        np.array(sizes, dtype=np.int64),
        tuple(np.array(counts, dtype=np.int64) for counts in known),
        np.zeros((len(known), len(sizes)), dtype=np.int64),
        ({},) * len(known),
    )


def two_labels(sizes: tuple[int, int], winner: Sequence[int], rival: Sequence[int]) -> CountIndex:
    """Make an index with two values a feature, where the point is the first of each."""
    known = [
        [(w, r), (sizes[0] - w, sizes[1] - r)] for w, r in zip(winner, rival, strict=True)
    ]
    return index_from_counts(sizes, known)


def first_point(index: CountIndex) -> Points:
    """Return the point that has the first value of every feature."""
    d = len(index.features)
    return Points(np.zeros((d, 1), dtype=np.int32), index.n_values, ((),) * d)


def steps_alone(index: CountIndex) -> tuple[float, float]:
    """Return what only raising and only lowering cost, step by step, as in the paper's Algorithm 3."""
    model = Model(index)
    low = [int(index.low(j)[0, 0]) for j in range(model.d)]
    high = [int(index.high(j)[0, 1]) for j in range(model.d)]
    cap = int(index.label_counts[1])

    def catching_up(counts: list[int], step: int) -> float:
        n_steps = 0
        while model.exceeds(0, low, 1, high):
            movable = [j for j, count in enumerate(counts) if (count > 0 if step < 0 else count < cap)]
            if not movable:
                return math.inf
            counts[min(movable, key=counts.__getitem__)] += step
            n_steps += 1
        return n_steps

    raising = catching_up(high, +1)
    high[:] = [int(index.high(j)[0, 1]) for j in range(model.d)]
    return raising, catching_up(low, -1)


def test_counterexample_to_the_key_lemma() -> None:
    """T6: A2 alone needs 3 cells, A1 alone never suffices, one of each are enough."""
    index = two_labels((5, 1), (3, 3, 3), (0, 1, 1))
    assert steps_alone(index) == (math.inf, 3)
    found = radii(index, first_point(index))
    assert (found.radius[0], found.n_raise[0], found.n_lower[0]) == (2, 1, 1)
    assert (found.label[0], found.rival[0]) == ("L0", "L1")


def test_rare_label_beats_the_greedy_of_the_paper() -> None:
    """A rival with 2 % of the rows saturates, then a mix is far cheaper than either side alone."""
    index = two_labels((4900, 100), (4000, 4200, 4400), (60, 90, 100))
    raising, lowering = steps_alone(index)
    found = radii(index, first_point(index))
    assert found.radius[0] == frontier_by_steps(index) < min(raising, lowering)
    assert found.n_raise[0] == 50
    assert found.n_lower[0] > 0


PAPER_ROWS = [("a", "b"), ("a", "c1"), ("c2", "b"), ("c3", "b")] + [
    ("a", "b"),
    ("c1", "b"),
    ("c2", "c3"),
    ("c4", "c5"),
    ("c6", "c7"),
]
PAPER_LABELS = ["l*"] * 4 + ["l"] * 5


def test_strategies_of_the_paper() -> None:
    """The paper's examples: A1 takes (1, 2) to (2, 2) to (3, 3), A2 takes (2, 3) to (1, 3) to (0, 3)."""
    index = CountIndex.from_rows(PAPER_ROWS, PAPER_LABELS)
    model, winner, rival = Model(index), 1, 0
    assert index.labels == ("l", "l*")
    frontier = Frontier(
        [2, 3],
        [1, 2],
        5,
        movable=[0, 1],
        overtaken=lambda low, high: not model.exceeds(winner, low, rival, high),
    )
    assert [frontier.lowered(n) for n in range(3)] == [[2, 3], [1, 3], [0, 3]]
    assert [math.prod(frontier.raised(n)) for n in range(4)] == [2, 4, 6, 9]
    assert frontier.raised(1) == [2, 2]
    found = radii(index, ("a", "b"))
    assert (found.radius[0], found.label[0], found.rival[0]) == (2, "l*", "l")
    assert frontier.fewest(1) in ((0, 2), (1, 1))


def test_rival_that_stays_at_zero() -> None:
    """Without smoothing a rival without rows ties once the winner's smallest count is gone."""
    index = index_from_counts([4, 0], [[(3, 0), (1, 0)], [(4, 0), (0, 0)]])
    found = radii(index, first_point(index))
    assert (found.radius[0], found.n_raise[0], found.n_lower[0]) == (3, 0, 3)
    assert radius(index, first_point(index), alpha=1).tolist() == [brute_two(index, 1)]


def test_no_attack_exists() -> None:
    """Infinite: one label alone, nothing that can be moved, or smoothing that keeps the winner ahead."""
    alone = index_from_counts([3], [[(1,), (2,)]])
    assert radius(alone, [("0",), ("1",), ("9",)]).tolist() == [math.inf] * 3
    rigid = index_from_counts([3, 2], [[(3, 2)]])
    assert radius(rigid, ("0",)).tolist() == [math.inf]
    heavy = index_from_counts([9, 1], [[(9, 0), (0, 1)]])
    found = radii(heavy, ("0",), alpha=50)
    assert found.radius.tolist() == [math.inf]
    assert found.rival.tolist() == [None]
    assert point_attacks(heavy, ("0",), alpha=50)[0] == PointAttack("L0", None, math.inf, ())


def test_zero_prior_never_catches_up() -> None:
    """With smoothing a label of prior 0 has support 0 and the winner never has."""
    index = index_from_counts([3, 3], [[(2, 1), (1, 2)]])
    assert radius(index, ("0",), alpha=1, prior=[1, 0]).tolist() == [math.inf]
    assert radius(index, ("0",), alpha=0, prior=[1, 0]).tolist() == [2]


def test_unseen_value_cannot_be_raised() -> None:
    """A value outside the domain has count 0 in every world, blanked cells or not."""
    index = index_from_counts([6, 3], [[(5, 1), (1, 2)], [(3, 1), (3, 2)]])
    case = Case(
        tuple([("0", "0")] * 3 + [("0", "1")] * 2 + [("1", "1")])
        + (("0", "0"), ("1", "1"), ("1", "1")),
        ("L0",) * 6 + ("L1",) * 3,
        ("x0", "x1"),
        {"x0": ("0", "1"), "x1": ("0", "1")},
        (),
        1,
        None,
    )
    for point in [("0", "9"), ("9", "0"), ("9", "9")]:
        assert radius(index, point, alpha=1).tolist() == [brute_radius(case, point)]
        assert radius(index, point).tolist() == [0]


# Large counts -------------------------------------------------------------------------------------


def brute_two(index: CountIndex, alpha: Any = 0) -> float:
    """Walk the frontier of two labels with two pointers, one cell at a time."""
    return frontier_by_steps(index, alpha)


def frontier_by_steps(index: CountIndex, alpha: Any = 0, codes: Sequence[int] | None = None) -> float:
    """T7, plainly: all greedy count vectors of both sides, two pointers, exact comparisons."""
    model = Model(index, alpha)
    codes = [0] * model.d if codes is None else codes
    low = [[int(index.low(j)[code, i]) for j, code in enumerate(codes)] for i in range(model.m)]
    high = [[int(index.high(j)[code, i]) for j, code in enumerate(codes)] for i in range(model.m)]
    movable = [j for j, code in enumerate(codes) if code < index.n_values[j] and index.n_values[j] > 1]
    labels = range(model.m)
    certain = [
        i for i in labels if all(model.exceeds(i, low[i], k, high[k]) for k in labels if k != i)
    ]
    if not certain:
        return 0
    winner, best = certain[0], math.inf
    falling = walk(low[winner], movable, -1, 0)
    for rival in labels:
        if rival == winner:
            continue
        n_lower = len(falling) - 1
        for n_raise, climbed in enumerate(
            walk(high[rival], movable, +1, int(index.label_counts[rival]))
        ):
            while n_lower >= 0 and not model.exceeds(winner, falling[n_lower], rival, climbed):
                best = min(best, n_raise + n_lower)
                n_lower -= 1
    return best


def walk(counts: Sequence[int], movable: Sequence[int], step: int, end: int) -> list[list[int]]:
    """List the counts after 0, 1, 2, … greedy steps."""
    found, current = [list(counts)], list(counts)
    while left := [j for j in movable if current[j] != end]:
        current[min(left, key=current.__getitem__)] += step
        found.append(list(current))
    return found


def random_index(rng: random.Random, size: int) -> CountIndex:
    """Draw counts directly: skewed, with missing cells and one-value domains."""
    sizes = [max(0, rng.randint(-1, size)) for _ in range(rng.randint(2, 4))]
    sizes[0] = max(sizes[0], 1)
    n_values = [rng.choice([1, 2, 2, 3]) for _ in range(rng.randint(1, 8))]
    draw = np.random.default_rng(rng.randrange(2**32))
    known, n_null = [], []
    for n in n_values:
        parts = [draw.multinomial(n_rows, draw.dirichlet([0.5] * (n + 1))) for n_rows in sizes]
        keeps_holes = rng.random() < 0.4
        n_null.append([int(part[-1]) if keeps_holes else 0 for part in parts])
        for part, holes in zip(parts, n_null[-1], strict=True):
            part[0] += part[-1] - holes
        known.append(np.array([part[:-1] for part in parts]).T)
    index = index_from_counts(sizes, known)
    return CountIndex(
        index.schema, index.label_counts, index.known, np.array(n_null, dtype=np.int64), index.sets
    )


def random_codes(rng: random.Random, index: CountIndex, n_points: int) -> Points:
    """Draw complete points, now and then with a value outside the domain."""
    codes = [
        [rng.randrange(n) if rng.random() < 0.97 else n for _ in range(n_points)]
        for n in index.n_values.tolist()
    ]
    return Points(np.array(codes, dtype=np.int32), index.n_values, ((),) * len(codes))


ALPHAS = (0, 0, 1, Fraction(1, 3), 0.1, 1e-10, 1000, 1e-300, 1e12)


def test_frontier_step_by_step() -> None:
    """T8 equals T7: bisection and water levels find what single steps find, with up to 60 rows a label."""
    rng = random.Random(f"{SEED}-steps")
    n_attacked = 0
    for _ in range(150):
        index, alpha = random_index(rng, rng.choice([5, 20, 60])), rng.choice(ALPHAS)
        points = random_codes(rng, index, 4)
        expected = [frontier_by_steps(index, alpha, column) for column in points.codes.T.tolist()]
        assert radius(index, points, alpha=alpha).tolist() == expected
        n_attacked += sum(0 < value < math.inf for value in expected)
    assert n_attacked > 100


def test_float_intervals_hold_the_radius() -> None:
    """With up to a million rows, floats alone settle nearly all points, and none of them wrongly."""
    rng = random.Random(f"{SEED}-intervals")
    n_robust = n_unclear = 0
    for _ in range(120):
        index, alpha = random_index(rng, 10**6), rng.choice([0, 0, 1, Fraction(1, 3), 1e-10])
        points = random_codes(rng, index, 10)
        found = radii(index, points, alpha=alpha)
        model = Model(index, alpha)
        robust = np.flatnonzero(found.winner >= 0)
        judged = verdicts(model, points)
        bounds = bound_radii(
            model,
            points.codes[:, robust],
            found.winner[robust],
            judged.min_log[robust],
            judged.max_log[robust],
        )
        assert (bounds.at_least <= found.radius[robust]).all()
        assert (found.radius[robust] <= bounds.at_most).all()
        for place in robust.tolist():
            assert found.radius[place] == exact_radius(model, points, place, found.winner[place])
        n_robust += len(robust)
        n_unclear += int((bounds.at_least < bounds.at_most).sum())
    assert n_robust > 300
    assert n_unclear < n_robust / 50


def exact_radius(model: Model, points: Points, place: int, winner: int) -> float:
    """Let the integers find the radius from nothing, by bisection over the number of cells."""
    index, codes = model.index, points.codes[:, place].tolist()
    movable = [j for j, code in enumerate(codes) if code < index.n_values[j] and index.n_values[j] > 1]
    low = [int(index.low(j)[code, winner]) for j, code in enumerate(codes)]
    best = math.inf
    for rival in range(model.m):
        if rival != winner:
            high = [int(index.high(j)[code, rival]) for j, code in enumerate(codes)]
            steps = Frontier(
                low,
                high,
                int(index.label_counts[rival]),
                movable=movable,
                overtaken=lambda a, b, k=rival: not model.exceeds(winner, a, k, b),
            ).fewest(1)
            best = min(best, math.inf if steps is None else sum(steps))
    return best


def float_radius(winner: Sequence[int], rival: Sequence[int], alpha: int) -> int:
    """Lower the winner's smallest count as plain double precision has it; same sizes, same prior."""
    gap = sum(math.log(count + alpha) for count in rival) - sum(
        math.log(count + alpha) for count in winner
    )
    return math.ceil((min(winner) + alpha) * (1 - math.exp(gap)))


@pytest.mark.parametrize("alpha", [0, 1])
def test_floats_cannot_separate_neighbours(alpha: int) -> None:
    """x(x+4)(x+5) and (x+1)(x+2)(x+6) differ by 12: invisible to logs, one cell to the attacker."""
    n_wrong = 0
    for x in range(900_000, 900_040):
        less, more = [x, x + 4, x + 5], [x + 1, x + 2, x + 6]
        smallest, behind = 700_000 + 7 * (x % 100), 5_000 + x % 1000
        for own, other, extra in [(more, less, 1), (less, more, 0)]:
            winner = [count - alpha for count in (smallest, *own)]
            rival = [count - alpha for count in (*other[::-1], smallest - behind)]
            index = two_labels((10**6, 10**6), winner, rival)
            assert radius(index, first_point(index), alpha=alpha).tolist() == [behind + extra]
            n_wrong += float_radius(winner, rival, alpha) != behind + extra
    assert n_wrong >= 40


def test_large_tie_is_settled_by_integers() -> None:
    """The same near tie leaves a float interval of more than one number, so integers are asked."""
    x = 900_000
    index = two_labels((10**6, 10**6), (7, x + 1, x + 2, x + 6), (x, x + 4, x + 5, 3))
    model, points = Model(index), first_point(index)
    judged = verdicts(model, points)
    bounds = bound_radii(
        model, points.codes, np.zeros(1, dtype=np.int32), judged.min_log, judged.max_log
    )
    assert (bounds.at_least[0], bounds.at_most[0]) == (4, 5)
    assert radius(index, points).tolist() == [5]


# Laws and edges -----------------------------------------------------------------------------------


def test_order_of_features_and_labels_does_not_matter() -> None:
    """Turning the columns around, or renaming labels so that their order changes, keeps every radius."""
    rng = random.Random(f"{SEED}-order")
    for _ in range(40):
        case = radius_case(rng)
        renamed = {name: f"{9 - place}" for place, name in enumerate("ABCD")}
        turned = Case(
            tuple(row[::-1] for row in case.rows),
            tuple(renamed[label] for label in case.labels),
            case.features[::-1],
            case.declared,
            tuple(point[::-1] for point in case.points),
            case.alpha,
            None,
        )
        expected = radius(index_of(case), list(case.points), alpha=case.alpha)
        assert radius(index_of(turned), list(turned.points), alpha=case.alpha).tolist() == expected.tolist()


def test_many_points_at_once() -> None:
    """Blocks of points change nothing: each has the radius it has alone."""
    rng = random.Random(f"{SEED}-blocks")
    index = random_index(rng, 50)
    few = random_codes(rng, index, 40)
    picks = np.array([rng.randrange(40) for _ in range(20_000)])
    many = Points(few.codes[:, picks], few.n_values, few.sets)
    alone = [
        radius(index, Points(few.codes[:, p : p + 1], few.n_values, few.sets))[0] for p in range(40)
    ]
    assert (radius(index, many) == np.array(alone)[picks]).all()


def test_domain_with_many_values() -> None:
    """Of a feature with thousands of values only those of the points are looked up."""
    values = [f"v{i % 5000}" for i in range(20_000)]
    labels = ["A" if i % 5000 < 4000 or i % 2 else "B" for i in range(20_000)]
    rows = [(value, "x" if label == "A" else "y") for value, label in zip(values, labels, strict=True)]
    index = CountIndex.from_rows(rows, labels)
    found = radii(index, [("v7", "x"), ("v4999", "x"), ("v4998", "y"), ("elsewhere", "x")])
    codes = index.encode([("v7", "x"), ("v4999", "x"), ("v4998", "y")]).codes.T.tolist()
    expected = [exact_or_zero(index, code) for code in codes]
    assert found.radius.tolist() == [*expected, 0]


def exact_or_zero(index: CountIndex, codes: Sequence[int]) -> float:
    """Solve one complete point with integers only."""
    model = Model(index)
    points = Points(np.array([codes], dtype=np.int32).T, index.n_values, ((),) * model.d)
    possible = verdicts(model, points).possible[0]
    return exact_radius(model, points, 0, int(possible.argmax())) if possible.sum() == 1 else 0


def test_incomplete_point_has_the_radius_of_its_weakest_completion() -> None:
    """A hole in the point is the attacker's choice; the chosen completion is reported."""
    index = two_labels((10, 10), (9, 8), (4, 5))
    known = radii(index, [("0", "0"), ("0", "1"), ("1", "0")])
    open_end = radii(index, [("0", None), ("0", {"0"}), (None, None)])
    assert open_end.radius.tolist() == [
        0 if known.label[1] != "L0" else min(known.radius[:2]),
        known.radius[0],
        0,
    ]


def test_weakest_completion_is_reported() -> None:
    """Of the candidates, the attack is on the one that falls first."""
    index = index_from_counts([20, 20], [[(9, 2), (8, 6), (3, 12)], [(15, 5), (5, 15)]])
    found = radii(index, [({"0", "1"}, "0"), ("0", "0"), ("1", "0")])
    assert found.radius[0] == found.radius[2] < found.radius[1]
    assert found.codes[:, 0].tolist() == [1, 0]
    (attack,) = point_attacks(index, ({"0", "1"}, "0"))
    assert {move.value for move in attack.moves if move.feature == "x0"} <= {"1"}


def test_too_many_completions() -> None:
    """An error says how many completions there are, and of which point."""
    index = index_from_counts([180, 100], [[(50, 1), (60, 2), (70, 3), (0, 94)]] * 12)
    point = ({"0", "1", "2"},) * 12
    with pytest.raises(NullproofError, match=r"point 0 has 531,441 completions .* 65,536"):
        radius(index, point)


def test_nothing_to_do() -> None:
    """No points, or none that is robust, give an empty answer and zeros."""
    index = two_labels((4, 4), (2, 2), (2, 2))
    nothing = Points(np.zeros((2, 0), dtype=np.int32), index.n_values, ((), ()))
    assert radius(index, nothing).tolist() == []
    assert "0 points" in repr(radii(index, nothing))
    tied = radii(index, first_point(index))
    assert (tied.radius.tolist(), tied.label.tolist(), tied.rival.tolist()) == ([0], [None], [None])
    assert point_attacks(index, first_point(index)) == (PointAttack(None, None, 0.0, ()),)


def test_repr_counts_the_points() -> None:
    """The summary tells apart weak points, those beyond attack, and the range of the others."""
    index = two_labels((5, 1), (3, 3, 3), (0, 1, 1))
    shown = repr(radii(index, [("0", "0", "0"), ("1", "1", "1")]))
    assert shown.startswith("Radii: 2 points")
    assert "cells to blank" in shown
