"""Small random tables with many holes, and biases to ask about.

The worlds are counted group by group, so unlike the cases of `strategies` these need no cap on the
number of worlds: whole columns of a label may be missing.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from support.bias_oracle import Bias, Judge, OwnMissing
from support.strategies import EMPTY, POOLS, UNSEEN, Case, random_weights

ALPHAS: tuple[Any, ...] = (
    *(0, Fraction(1, 2), 1, Fraction(1, 3), Fraction(3, 7)),
    *(0.1, 0.7, 1e-3, 1.0),
)
WEIGHTS: tuple[Any, ...] = (1, 2, 3, Fraction(1, 3), 0.1, 7)
LABELS: tuple[str, ...] = ("A", "B", "C", "D")
HAIR = Fraction(1, 10**9)  # less than any gap between the breakpoints of these tables


def random_holed(
    rng: random.Random,
    *,
    n_rows: int = 8,
    own_missing: float = 0.0,
    only_null: bool = False,
    only_text: bool = False,
    weighted: bool = False,
) -> Case:
    """Draw a table of at most ``n_rows`` rows and one to three points.

    Parameters
    ----------
    own_missing
        The chance that a cell of a point is a hole or a set of candidates.
    only_null
        Without candidate sets in the table or in the points.
    only_text
        Without numbers and without labels that no row has, as the estimator takes a table.
    weighted
        With weights other than 1.
    """
    n = rng.randint(2, n_rows)
    names = LABELS[: rng.choice((2, 2, 2, 3, 3, 4))]
    labels = tuple(rng.choice(names) for _ in range(n))
    columns, domains = [], []
    for _ in range(rng.choice((1, 1, 2, 2, 3))):
        cells, domain = _column(rng, labels, POOLS[:1] if only_text else POOLS, only_null)
        columns.append(cells)
        domains.append(domain)
    points = tuple(
        tuple(_point_cell(rng, domain, own_missing, only_null) for domain in domains)
        for _ in range(rng.randint(1, 3))
    )
    has_empty_label = not only_text and rng.random() < 0.15
    every = sorted({*labels, *([EMPTY] if has_empty_label else [])})
    kind = rng.random()
    prior: Any = None if kind < 0.6 else "uniform"
    if kind > 0.8:
        prior = {label: rng.choice(WEIGHTS) for label in every}
    features = tuple(f"f{j}" for j in range(len(domains)))
    return Case(
        tuple(zip(*columns, strict=True)),
        labels,
        features,
        dict(zip(features, domains, strict=True)),
        points,
        rng.choice(ALPHAS),
        prior,
        random_weights(rng, len(domains)) if weighted else None,
        has_empty_label,
    )


def random_bias(rng: random.Random, judge: Judge) -> Fraction:
    """Draw a bias: at a breakpoint, a hair below or above one, or anywhere."""
    kind = rng.random()
    if kind < 0.15:
        return Fraction(rng.choice((0, 1)))
    if kind < 0.3:
        return Fraction(rng.random())  # a double, as it is
    near = rng.choice(judge.breakpoints()) + rng.choice((-HAIR, 0, 0, HAIR))
    return min(max(near, Fraction(0)), Fraction(1))


def written(rng: random.Random, number: Fraction) -> Any:
    """Write a number as a user may: as an int or a float where that is exact."""
    ways: list[Any] = [number]
    if Fraction(float(number)) == number:
        ways.append(float(number))
    if number.denominator == 1:
        ways.append(int(number))
    return rng.choice(ways)


def random_mapping(rng: random.Random, holed: Case, judge: Judge) -> tuple[dict[str, Any], Bias]:
    """Draw a bias by column: some named, the rest by the star or, without one, any value."""
    named = {
        name: random_bias(rng, judge)
        for name in rng.sample(holed.features, rng.randint(0, len(holed.features)))
    }
    rest = Fraction(1)
    if rng.random() < 0.7:
        rest = named["*"] = random_bias(rng, judge)
    mapping = {name: written(rng, number) for name, number in named.items()}
    return mapping, tuple(named.get(name, rest) for name in holed.features)


def _column(
    rng: random.Random, labels: Sequence[str], pools: Sequence[tuple[Any, ...]], only_null: bool
) -> tuple[list[Any], tuple[Any, ...]]:
    """Draw one column and its domain, of which some values may never be seen.

    Most columns lean to another value for every label: without that few points hold.
    """
    pool = rng.choice(pools)
    used = pool[: rng.choice((1, 2, 2, 2, 3))]
    domain = pool[: min(3, len(used) + (rng.random() < 0.3))]
    n_holes_in_ten = rng.choice((2, 4, 6, 8))
    leaning = rng.choice((0.0, 0.6, 0.9))
    cells: list[Any] = []
    for label in labels:
        if rng.random() * 10 >= n_holes_in_ten:
            usual = used[LABELS.index(label) % len(used)]
            cells.append(usual if rng.random() < leaning else rng.choice(used))
        elif only_null or rng.random() < 0.7:
            cells.append(None)
        else:
            cells.append(_subset(rng, domain))
    return cells, domain


def _subset(rng: random.Random, values: Sequence[Any]) -> frozenset[Any]:
    return frozenset(rng.sample(values, rng.randint(1, len(values))))


def _point_cell(
    rng: random.Random, domain: Sequence[Any], own_missing: float, only_null: bool
) -> Any:
    unseen = UNSEEN[isinstance(domain[0], int)]
    if rng.random() < own_missing:
        if only_null or rng.random() < 0.6:
            return None
        return _subset(rng, (*domain, unseen) if rng.random() < 0.2 else domain)
    return unseen if rng.random() < 0.07 else rng.choice(domain)


# Asking nullproof ---------------------------------------------------------------------------------


def assert_verdicts(
    holed: Case, judge: Judge, result: Any, bias: Bias, own_missing: OwnMissing
) -> None:
    """Compare the certificates of all points of a table with the enumeration of the worlds."""
    names = np.array(sorted(holed.names), dtype=object)
    assert result.possible.shape == (len(holed.points), len(names))
    for place, point in enumerate(holed.points):
        expected = judge.verdict(point, bias, own_missing)
        told = result.label[place], frozenset(names[result.possible[place]])
        assert told == (expected.label, expected.possible), (point, bias, own_missing, holed)
        assert bool(result.certain[place]) == (expected.label is not None), (point, bias, holed)
        n_unknown = sum(c is None or (isinstance(c, frozenset) and len(c) > 1) for c in point)
        assert result.n_own_missing[place] == n_unknown, (point, holed)
