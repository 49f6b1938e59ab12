"""Witnesses within a bias, and scikit-learn's word on the worlds of a bias.

CategoricalNB is trained on complete tables here, so it knows neither holes nor nullproof.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from sklearn.naive_bayes import CategoricalNB
from support import oracle
from support.bias_oracle import Bias, OwnHoles
from support.bias_tables import Holed, random_bias, random_holed, random_mapping, random_world

from nullproof import CountIndex, NullproofError, certify, tolerance, witness

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
SEED = 20240705
N_CHUNKS = 6
N_TABLES = 80  # in a chunk
READINGS: tuple[OwnHoles, ...] = ("skip", "any")


def check_world(holed: Holed, point: Any, world: Any, bias: Bias, reading: OwnHoles) -> Any:
    """Let the oracle confirm that a world has the bias and the winners it claims; return these."""
    completed = world.complete(holed.rows, holed.labels)
    assert holed.is_world(completed, bias), (point, bias, completed, holed)
    for cell, given, domain in zip(world.point, point, holed.domains, strict=True):
        if given is None and reading == "skip":
            assert cell is None, (point, world.point, holed)
        else:
            assert cell in oracle.candidates(given, domain), (point, world.point, holed)
    values = holed.supports(completed, world.point)
    assert frozenset(world.winners) == oracle.winners(values), (point, bias, completed, holed)
    assert len({*world.winners}) == len(world.winners)
    return frozenset(world.winners)


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_witnesses_of_random_tables(chunk: int) -> None:
    """Both worlds have at most the bias, by counting their rows, and they disagree or one ties."""
    seed = f"{SEED}-{chunk}"
    print("seed", seed)
    rng = random.Random(seed)
    n_witnessed = 0
    for _ in range(N_TABLES):
        holed = random_holed(rng, own_missing=0.2)
        judge, index, reading = holed.judge(), holed.index(), rng.choice(READINGS)
        asked, bias = random_mapping(rng, holed, judge)
        for point in holed.points:
            options: dict[str, Any] = {"bias": asked, "own_missing": reading, **holed.options}
            if judge.verdict(point, bias, reading).label is not None:
                with pytest.raises(NullproofError):
                    witness(index, point, **options)
                continue
            first, second = (
                check_world(holed, point, world, bias, reading)
                for world in witness(index, point, **options)
            )
            assert first != second or len(first) > 1, (point, bias, reading, holed)
            n_witnessed += 1
    assert n_witnessed > N_TABLES / 4


def test_witness_by_hand() -> None:
    """Just above 2/3 all three holes of A may be b's, which ties; at 2/3 there is no witness."""
    rows = [("a",), *[(None,)] * 3, ("a",)]
    labels = list("AAAAB")
    index = CountIndex.from_rows(rows, labels, domains={"x0": ["a", "b"]})
    with pytest.raises(NullproofError):
        witness(index, ("a",), alpha=0, bias=Fraction(2, 3))
    worlds = witness(index, ("a",), alpha=0, bias=0.67)
    n_a = sorted(world.complete(rows, labels).count(("a",)) for world in worlds)
    assert n_a[0] == 2
    assert ("A", "B") in {tuple(sorted(world.winners)) for world in worlds}


# Proof by scikit-learn ----------------------------------------------------------------------------


def told_by_categorical_nb(holed: Holed, world: Sequence[Any], point: Sequence[Any]) -> Any:
    """The label that CategoricalNB predicts in a world, None for a tie (or all but)."""
    best, *others = sorted(holed.supports(world, point).values(), reverse=True)
    if any(best <= other * Fraction(1_000_001, 1_000_000) for other in others):
        return None
    kept = [j for j, cell in enumerate(point) if cell is not None]
    if not kept:
        return None
    places = [{value: code for code, value in enumerate(holed.domains[j])} for j in kept]

    def codes(row: Sequence[Any]) -> list[int]:
        return [place[row[j]] for place, j in zip(places, kept, strict=True)]

    weights = holed.weights
    model = CategoricalNB(
        alpha=float(holed.alpha),
        fit_prior=weights is None,
        class_prior=(
            [float(holed.prior[x]) for x in holed.names] if isinstance(weights, list) else None
        ),
        min_categories=[len(place) for place in places],
    )
    model.fit(np.array([codes(row) for row in world]), list(holed.labels))
    return model.predict(np.array([codes(point)]))[0]


def known_to(holed: Holed, point: Sequence[Any]) -> bool:
    """Whether every value of a point is in its domain: CategoricalNB fails at others."""
    return all(
        cell is None or cell in domain for cell, domain in zip(point, holed.domains, strict=True)
    )


def smoothed(rng: random.Random, own_missing: float) -> Holed:
    """Draw a table that CategoricalNB can be trained on: smoothing, and rows for every label."""
    while True:
        holed = random_holed(rng, own_missing=own_missing, only_text=True)
        if holed.alpha >= 0.1:
            return holed


def test_categorical_nb_disagrees_on_witness_worlds() -> None:
    """Trained on the two witness worlds of a point, CategoricalNB contradicts itself or ties."""
    rng = random.Random(SEED)
    n_disagree = 0
    with config_context(skip_parameter_validation=True):
        for _ in range(150):
            holed = smoothed(rng, 0.2)
            index, reading = holed.index(), rng.choice(READINGS)
            bias = random_bias(rng, holed.judge())
            for point in holed.points:
                try:
                    worlds = witness(index, point, bias=bias, own_missing=reading, **holed.options)
                except NullproofError:
                    continue
                if not all(known_to(holed, world.point) for world in worlds):
                    continue
                told = [
                    told_by_categorical_nb(
                        holed, world.complete(holed.rows, holed.labels), world.point
                    )
                    for world in worlds
                ]
                for world, label in zip(worlds, told, strict=True):
                    assert label is None or world.winners == (label,), holed
                assert None in told or told[0] != told[1], (point, bias, holed)
                n_disagree += None not in told
    assert n_disagree > 10


def test_categorical_nb_agrees_within_the_tolerance() -> None:
    """Random completions within its tolerance never change what CategoricalNB says of a point."""
    rng = random.Random(SEED)
    n_agreed = 0
    with config_context(skip_parameter_validation=True):
        for _ in range(120):
            holed = smoothed(rng, 0.2)
            index, points = holed.index(), list(holed.points)
            d = len(holed.features)
            for point, number in zip(
                points, tolerance(index, points, **holed.options).tolist(), strict=True
            ):
                if not number >= 0 or (number == 1 and rng.random() < 0.7):
                    continue
                label = certify(index, point, bias=number, **holed.options).label
                assert label is not None
                for _ in range(3):
                    world = random_world(rng, holed, (Fraction(number),) * d)
                    assert holed.is_world(world, (Fraction(number),) * d)
                    completed = tuple(
                        rng.choice(sorted(cell)) if isinstance(cell, frozenset) else cell
                        for cell in point
                    )
                    if known_to(holed, completed):
                        told = told_by_categorical_nb(holed, world, completed)
                        assert told in (label, None), (point, number, world, holed)
                        n_agreed += told is not None
    assert n_agreed > 80
