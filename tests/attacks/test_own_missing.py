"""Attacks on points that leave features out: the bounds enclose the optimum of brute force.

``NULLPROOF_JOINT_TABLES`` sets the number of random tables.
"""

from __future__ import annotations

import math
import os
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support import oracle
from support.blanking_oracle import radius_case
from support.joint_oracle import Table, certain, fewest_by_counts
from support.joint_tables import index_of, larger_table, random_table
from support.own_missing import with_own_missing, without_holes

from nullproof.attacks.joint.effort import Effort
from nullproof.attacks.joint.problem import Problem
from nullproof.attacks.joint.state import State
from nullproof.attacks.poisoning import attack_of, different, poison
from nullproof.counts.index import LEFT_OUT, CountIndex
from nullproof.decision import certify
from nullproof.errors import NullproofError
from nullproof.model import Model
from nullproof.odds.labels import odds_of
from nullproof.radii.cells import radii, radii_of, radius
from nullproof.verdicts import verdicts

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

N_TABLES = int(os.environ.get("NULLPROOF_JOINT_TABLES", "400"))
SEED = int(os.environ.get("NULLPROOF_SEED", "20240604"))
N_CHUNKS = 8
ALPHAS = (Fraction(0), Fraction(1), Fraction(1, 2), Fraction(1, 3))


def with_holes(rng: np.random.Generator, table: Table) -> Table:
    """The same table; its points do not know some of their cells."""
    share = rng.choice([0.2, 0.5])
    points = [
        tuple(None if rng.random() < share else cell for cell in point) for point in table.points
    ]
    return table._replace(points=points, alpha=ALPHAS[int(rng.integers(4))])


def attacked_rows(table: Table, attack: Any) -> list[list[frozenset[int]]]:
    """The table's candidate sets after the attack, cell by cell."""
    rows = [list(row) for row in table.rows]
    given = [tuple(set(cell) for cell in row) for row in table.rows]
    for i, name in attack.cells(given, table.labels):
        rows[i][int(name[1:])] = table.domains[int(name[1:])]
    return rows


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_joint_attacks_enclose_the_optimum(chunk: int) -> None:
    """Law: lower bound <= optimum <= cells of an attack that brute force confirms."""
    pytest.importorskip("scipy")
    total = proven = 0
    for number in range(math.ceil(N_TABLES / N_CHUNKS)):
        rng = np.random.default_rng([SEED, chunk, number])
        table = random_table(rng, int(rng.integers(2, 5)), dirty=number % 2 == 1)
        table = with_holes(rng, larger_table(rng, dirty=True) if number % 5 == 0 else table)
        try:
            want = fewest_by_counts(table, 60_000)
        except ValueError:
            continue
        index = index_of(table)
        if want is None:
            with pytest.raises(NullproofError, match="no attack can break"):
                poison(index, list(table.points), alpha=table.alpha, steps=1)
            continue
        steps = (0, 3, 200)[number % 3]
        attack = poison(index, list(table.points), alpha=table.alpha, steps=steps)
        assert attack.lower_bound <= want <= attack.n_cells, (chunk, number)
        rows = attacked_rows(table, attack)
        assert not any(certain(table, rows, point) for point in table.points)
        assert not certify(attack.index_after, list(table.points), alpha=table.alpha).certain.any()
        total += steps == 200
        proven += steps == 200 and attack.optimal
    assert proven >= 0.9 * total - 1


def test_log_gaps_are_those_of_exact_supports() -> None:
    """Law: the gaps that the search goes by are the logarithms of exact ratios of supports."""
    n_gaps = 0
    for seed in range(60):
        rng = np.random.default_rng([SEED, seed])
        table = with_holes(rng, larger_table(rng, dirty=seed % 2 == 1))
        index = index_of(table)
        found = radii(index, list(table.points), alpha=table.alpha)
        places = different(found, np.flatnonzero((found.radius > 0) & np.isfinite(found.radius)))
        if not places:
            continue
        problem = Problem.of(found, [*places.values()])
        state = State(problem, rng.integers(0, problem.capacity + 1))
        gaps = state.gaps()
        low, high = problem.low - state.lowered, problem.high + state.raised
        for point, winner in enumerate(problem.winner.tolist()):
            above = support(table, winner, low[point])
            for rival in (k for k in range(table.m) if k != winner):
                below = support(table, rival, high[point, rival])
                if above and below:
                    assert gaps[point, rival] == pytest.approx(math.log(above / below), abs=1e-9)
                    n_gaps += 1
    assert n_gaps > 50


def support(table: Table, label: int, counts: Any) -> Fraction:
    """The support of a label with these counts; those left out have no factor."""
    n_rows = table.labels.count(label)
    product = Fraction(n_rows, len(table.labels))
    for count, domain in zip(counts.tolist(), table.domains, strict=True):
        if count != LEFT_OUT:
            product *= (count + table.alpha) / (n_rows + table.alpha * len(domain))
    return product


@pytest.mark.parametrize("alpha", [5e-324, Fraction(1, 10**400), 1e-17, 1e308, 10**400])
@pytest.mark.parametrize("prior", [None, [Fraction(1, 10**400), 1]])
def test_any_smoothing_is_answered(alpha: Any, prior: Any) -> None:
    """Beyond doubles too the attack is a true one, and its bound no less than the largest radius."""
    for seed in range(6):
        rng = np.random.default_rng([SEED, seed])
        codes = rng.integers(-1 if seed % 2 else 0, 3, (24, 4)).astype(np.int8)
        index = CountIndex.from_codes(codes, (rng.random(24) < 0.4).astype(int))
        points = rng.integers(-1, 3, (6, 4)).astype(np.int32)
        found = radius(index, points, alpha=alpha, prior=prior)
        attack = poison(index, points, alpha=alpha, prior=prior, steps=3, skip_unbreakable=True)
        finite = found[np.isfinite(found)]
        assert finite.max(initial=0) <= attack.lower_bound <= attack.n_cells <= finite.sum()
        after = certify(attack.index_after, points, alpha=alpha, prior=prior).certain
        assert not after[np.isfinite(found)].any(), seed


def test_a_bias_is_none_of_an_enemy() -> None:
    """Whatever bias a model carries, an enemy may blank cells and let them hold anything."""
    table = larger_table(np.random.default_rng(SEED), dirty=True)
    index, points = index_of(table), list(table.points)
    encoded, strict, biased = index.encode(points), Model(index, 1), Model(index, 1, bias=0.1)
    judged = verdicts(strict, encoded)
    one, other = (radii_of(model, encoded, judged) for model in (strict, biased))
    assert one.radius.tolist() == other.radius.tolist()
    attacks = [
        attack_of(model, encoded, judged, effort=Effort(rounds=2), skip_unbreakable=True)
        for model in (strict, biased)
    ]
    assert attacks[0].blanks == attacks[1].blanks
    assert (
        odds_of(biased, encoded, judged).lower.tolist()
        == odds_of(strict, encoded, judged).lower.tolist()
    )


def test_altered_tables_of_points_with_holes() -> None:
    """Law: in the altered table, which is complete, the rival ties or beats the label at the point."""
    rng = random.Random(f"{SEED}-altered")
    n_altered = 0
    for _ in range(200):
        case = with_own_missing(rng, radius_case(rng), 1)
        point, names = case.points[0], oracle.distinct(case.labels)
        index = CountIndex.from_rows(
            case.rows, case.labels, features=case.features, domains=case.declared
        )
        options: Any = {"alpha": case.alpha, "prior": case.prior_for(index.labels)}
        if not 0 < radius(index, [point], **options)[0] < math.inf:
            continue
        attack = poison(index, [point], **options)
        target = attack.targets[0]
        world = attack.altered_world
        rows = attack.altered(case.rows, case.labels)
        assert oracle.is_world(rows, attack.apply(case.rows, case.labels), case.domains)
        assert [cell is None for cell in world.point] == [
            cell is None or code >= size
            for cell, code, size in zip(point, target.codes, index.n_values, strict=True)
        ]
        shorter, known = without_holes(case, point)
        columns = [case.features.index(name) for name in shorter.features]
        chosen = [
            index.schema.features[j].values[target.codes[j]]
            if target.codes[j] < index.n_values[j]
            else "unseen"
            for j in columns
        ]
        assert len(chosen) == len(known)
        found = oracle.supports(
            [tuple(row[j] for j in columns) for row in rows],
            case.labels,
            chosen,
            shorter.domains,
            alpha=case.alpha,
            prior=case.prior,
            all_labels=names,
        )
        assert oracle.winners(found) == frozenset(world.winners)
        assert found[target.rival] >= found[target.label]
        n_altered += 1
    assert n_altered > 20


def test_the_two_readings() -> None:
    """A hole that may hold any value is broken at its weakest completion; a skipped one stays out."""
    pytest.importorskip("scipy")
    rows = [("a", "x")] * 6 + [("a", "y")] * 2 + [("b", "y")] * 5 + [("b", "x")] * 3
    index = CountIndex.from_rows(rows, ["yes"] * 8 + ["no"] * 8)
    points: list[Any] = [("a", None), (None, "x")]
    skip = poison(index, points, own_missing="skip", steps=5, alpha=0)
    any_value = poison(index, points, own_missing="any", steps=5, alpha=0)
    assert skip.optimal
    assert [target.codes for target in skip.targets] == [(0, 3), (3, 0)]
    assert [target.radius > 0 for target in any_value.targets] == [True, False]
    assert max(any_value.targets[0].codes) < 2
    assert not certify(skip.index_after, points, own_missing="skip", alpha=0).certain.any()
    assert not certify(any_value.index_after, points, own_missing="any", alpha=0).certain.any()
    with pytest.raises(NullproofError, match="own_missing is 'no'"):
        poison(index, points, own_missing="no", alpha=0)  # type: ignore[call-overload]
