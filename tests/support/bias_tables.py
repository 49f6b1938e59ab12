"""Small random tables with many holes, each with biases to ask about, and how to ask nullproof.

The worlds are counted group by group, so unlike the cases of `strategies` these need no cap on the
number of worlds: whole columns of a label may be missing.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from nullproof import CountIndex
from support import oracle
from support.bias_oracle import (
    Bias,
    Judge,
    OwnMissing,
    compositions,
    has_bias_at_most,
    limits,
    open_groups,
    support,
)
from support.strategies import POOLS, UNSEEN, random_weights, weights_by_name

if TYPE_CHECKING:
    from nullproof import CertifiedNB

ALPHAS: tuple[Any, ...] = (
    0,
    Fraction(1, 2),
    1,
    Fraction(1, 3),
    Fraction(3, 7),
    0.1,
    0.7,
    1e-3,
    1.0,
)
WEIGHTS: tuple[Any, ...] = (1, 2, 3, Fraction(1, 3), 0.1, 7)
LABELS: tuple[str, ...] = ("A", "B", "C", "D")
EMPTY = "Z"  # a label without rows
HAIR = Fraction(1, 10**9)  # less than any gap between the breakpoints of these tables


@dataclass(frozen=True)
class Holed:
    """A table, how it is to be read, and the points asked about."""

    rows: tuple[tuple[Any, ...], ...]
    labels: tuple[str, ...]
    domains: tuple[tuple[Any, ...], ...]
    points: tuple[tuple[Any, ...], ...]
    alpha: Any = 0
    prior: Any = None  # None, "uniform" or a mapping from label to number
    has_empty_label: bool = False
    eighths: tuple[int, ...] | None = None  # the weights of the columns

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(f"f{j}" for j in range(len(self.domains)))

    @property
    def names(self) -> list[str]:
        """All labels, those without rows too."""
        return sorted({*self.labels, *([EMPTY] if self.has_empty_label else [])})

    @property
    def weights(self) -> Any:
        """The prior as nullproof takes it: numbers in the order of the labels."""
        if isinstance(self.prior, Mapping):
            return [self.prior[label] for label in self.names]
        return self.prior

    @property
    def options(self) -> dict[str, Any]:
        """What every question needs to know beside the index."""
        return {"alpha": self.alpha, "prior": self.weights}

    def judge(self, kind: type[Judge] = Judge) -> Judge:
        """Put the table before the oracle, or before another judge."""
        return kind.of_rows(
            self.rows,
            self.labels,
            self.domains,
            alpha=self.alpha,
            prior=self.prior,
            all_labels=self.names,
            weights=self.eighths,
        )

    def index(self) -> CountIndex:
        """Count the table."""
        declared = dict(zip(self.features, self.domains, strict=True))
        if self.has_empty_label:
            like = CountIndex.from_rows(
                [*self.rows, self.rows[0]],
                [*self.labels, EMPTY],
                features=self.features,
                domains=declared,
                weights=weights_by_name(self.features, self.eighths),
            )
            index = CountIndex.from_rows(self.rows, self.labels, like=like)
        else:
            index = CountIndex.from_rows(
                self.rows,
                self.labels,
                features=self.features,
                domains=declared,
                weights=weights_by_name(self.features, self.eighths),
            )
        assert list(index.labels) == self.names
        return index

    def is_world(self, world: Sequence[Any], bias: Bias) -> bool:
        """Tell whether a complete table is a world of at most this bias, by counting its rows."""
        return oracle.is_world(world, self.rows, self.domains) and has_bias_at_most(
            world, self.rows, self.labels, self.domains, alpha=self.alpha, bias=bias
        )

    def supports(self, world: Sequence[Any], point: Sequence[Any]) -> oracle.Supports:
        """Compute the supports in one complete table; a None in the point is left out."""
        kept = [j for j, cell in enumerate(point) if cell is not None]
        table = [tuple(row[j] for j in kept) for row in world]
        counts = oracle.count(table, self.labels, self.names, tuple(point[j] for j in kept))
        share = oracle.shares(self.labels, self.names, self.prior)
        domains = [self.domains[j] for j in kept]
        return {
            label: support(
                share[label],
                own,
                self.labels.count(label),
                domains,
                self.alpha,
                self.eighths and [self.eighths[j] for j in kept],
            )
            for label, own in zip(self.names, counts, strict=True)
        }

    def moved(self, rng: random.Random) -> tuple[Holed, list[int]]:
        """Shuffle rows and columns; return the new places of the columns too."""
        by_row = rng.sample(range(len(self.rows)), len(self.rows))
        by_feature = rng.sample(range(len(self.domains)), len(self.domains))
        moved = replace(
            self,
            rows=tuple(tuple(self.rows[i][j] for j in by_feature) for i in by_row),
            labels=tuple(self.labels[i] for i in by_row),
            domains=tuple(self.domains[j] for j in by_feature),
            eighths=self.eighths and tuple(self.eighths[j] for j in by_feature),
            points=tuple(tuple(point[j] for j in by_feature) for point in self.points),
        )
        return moved, by_feature

    def without(self, j: int) -> Holed:
        """Leave one column out of the table and of the points."""

        def cut(row: Sequence[Any]) -> tuple[Any, ...]:
            return (*row[:j], *row[j + 1 :])

        return replace(
            self,
            rows=tuple(map(cut, self.rows)),
            domains=cut(self.domains),
            eighths=self.eighths and cut(self.eighths),
            points=tuple(map(cut, self.points)),
        )

    def with_cell(self, i: int, j: int, cell: Any) -> Holed:
        """Replace one training cell."""
        row = (*self.rows[i][:j], cell, *self.rows[i][j + 1 :])
        return replace(self, rows=(*self.rows[:i], row, *self.rows[i + 1 :]))

    def holes(self) -> list[tuple[int, int, tuple[Any, ...]]]:
        """List the cells with several candidates: row, feature, candidates."""
        cells = [
            (i, j, oracle.candidates(cell, self.domains[j]))
            for i, row in enumerate(self.rows)
            for j, cell in enumerate(row)
        ]
        return [(i, j, options) for i, j, options in cells if len(options) > 1]


# Drawing ------------------------------------------------------------------------------------------


def random_holed(
    rng: random.Random,
    *,
    n_rows: int = 8,
    own_missing: float = 0.0,
    only_null: bool = False,
    only_text: bool = False,
    weighted: bool = False,
) -> Holed:
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
    return Holed(
        tuple(zip(*columns, strict=True)),
        labels,
        tuple(domains),
        points,
        rng.choice(ALPHAS),
        prior,
        has_empty_label,
        random_weights(rng, len(domains)) if weighted else None,
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


def random_mapping(rng: random.Random, holed: Holed, judge: Judge) -> tuple[dict[str, Any], Bias]:
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


def random_world(rng: random.Random, holed: Holed, bias: Bias) -> list[tuple[Any, ...]]:
    """Draw one world of at most this bias: for every group a way to share out its cells."""
    judge = holed.judge()
    world = [list(row) for row in holed.rows]
    for i, row in enumerate(world):
        world[i] = [oracle.candidates(cell, holed.domains[j])[0] for j, cell in enumerate(row)]
    for group, places in open_groups(holed.rows, holed.labels, holed.domains).items():
        _, j, _ = group
        n_cells, shares = judge.groups[group]
        allowed = [limits(n_cells, share, bias[j]) for share in shares.values()]
        way = rng.choice(list(compositions(n_cells, allowed)))
        values = [value for value, n in zip(shares, way, strict=True) for _ in range(n)]
        for i, value in zip(rng.sample(places, n_cells), values, strict=True):
            world[i][j] = value
    return [tuple(row) for row in world]


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
    holed: Holed, judge: Judge, result: Any, bias: Bias, own_missing: OwnMissing
) -> None:
    """Compare the certificates of all points of a table with the enumeration of the worlds."""
    names = np.array(holed.names, dtype=object)
    assert result.possible.shape == (len(holed.points), len(names))
    for place, point in enumerate(holed.points):
        expected = judge.verdict(point, bias, own_missing)
        told = result.label[place], frozenset(names[result.possible[place]])
        assert told == (expected.label, expected.possible), (point, bias, own_missing, holed)
        assert bool(result.certain[place]) == (expected.label is not None), (point, bias, holed)


def fitted(holed: Holed, **options: Any) -> CertifiedNB:
    """Fit a CertifiedNB to the plain rows of a table of text."""
    # It needs scikit-learn, which most of what is tested with these tables does not.
    from nullproof import CertifiedNB

    domains = {f"x{j}": domain for j, domain in enumerate(holed.domains)}
    options["weights"] = weights_by_name([*domains], holed.eighths)
    model = CertifiedNB(holed.alpha, prior=holed.weights, domains=domains, **options)
    return model.fit(list(holed.rows), list(holed.labels))
