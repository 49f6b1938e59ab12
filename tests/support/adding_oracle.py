"""Brute force over rows added to a tiny table: slow, obvious, and ignorant of nullproof.

Every multiset of rows is tried, all labels and all values of the domains, smallest first. What a table
with such rows predicts is decided by its least and greatest counts, as the definition of a world has
them (`rows_radius`), or by walking through all worlds (`rows_radius_by_worlds`).
"""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from support import oracle
from support.blanking_oracle import radius_case
from support.strategies import Case

AddedRow = tuple[Any, tuple[Hashable, ...]]
ALPHAS = (0, 0, 1, 1, Fraction(1, 2), Fraction(1, 3), 3)


def multisets(case: Case, n_rows: int) -> Iterator[tuple[AddedRow, ...]]:
    """All ways to add so many rows, in no order."""
    kinds = itertools.product(oracle.distinct(case.labels), itertools.product(*case.domains))
    return itertools.combinations_with_replacement(list(kinds), n_rows)


def n_multisets(case: Case, n_rows: int) -> int:
    """How many ways those are."""
    n_kinds = len(set(case.labels)) * math.prod(map(len, case.domains))
    return math.comb(n_kinds + n_rows - 1, n_rows)


def rows_radius(case: Case, point: Sequence[Any], most: int) -> float:
    """The fewest added rows after which a point's certain label is lost; infinite if over ``most``."""
    judges = [Judge(case, filled) for filled in oracle.completions(point, case.domains)]
    labels = {judge.label(()) for judge in judges}
    if len(labels) > 1 or None in labels:
        return 0
    (label,) = labels
    for n_rows in range(1, most + 1):
        for added in multisets(case, n_rows):
            if any(judge.label(added) != label for judge in judges):
                return n_rows
    return math.inf


def rows_radius_by_worlds(case: Case, point: Sequence[Any], most: int) -> float:
    """The same, by a walk through all worlds and completions for each way to add rows."""

    def label_with(added: Sequence[AddedRow]) -> Any:
        every = oracle.outcomes(
            (*case.rows, *(row for _, row in added)),
            (*case.labels, *(name for name, _ in added)),
            point,
            case.domains,
            alpha=case.alpha,
            prior=case.prior,
        )
        return oracle.certain_label(every)

    label = label_with(())
    if label is None:
        return 0
    return next(
        (
            n_rows
            for n_rows in range(1, most + 1)
            for added in multisets(case, n_rows)
            if label_with(added) != label
        ),
        math.inf,
    )


class Judge:
    """Tells which label is certain for one complete point once rows are added."""

    def __init__(self, case: Case, point: Sequence[Hashable]) -> None:
        self._case, self._point, self._domains = case, point, case.domains
        self._names = oracle.distinct(case.labels)
        self._base = {name: self._range(name) for name in self._names}
        self._known: dict[Any, Any] = {}
        self._support = functools.cache(self._supported)
        self._agreeing: dict[AddedRow, tuple[bool, ...]] = {}

    def label(self, added: Sequence[AddedRow]) -> Any:
        """The label with more support in its worst world than any other in its best; or None."""
        key = tuple(sorted((name, self._agrees((name, row))) for name, row in added))
        if key not in self._known:
            self._known[key] = self._decide(key)
        return self._known[key]

    def _agrees(self, row: AddedRow) -> tuple[bool, ...]:
        if row not in self._agreeing:
            pairs = zip(row[1], self._point, strict=True)
            self._agreeing[row] = tuple(cell == value for cell, value in pairs)
        return self._agreeing[row]

    def _range(self, name: Any) -> tuple[list[int], list[int]]:
        low, high = [], []
        for j, (value, domain) in enumerate(zip(self._point, self._domains, strict=True)):
            own = [
                oracle.candidates(row[j], domain)
                for row, label in zip(self._case.rows, self._case.labels, strict=True)
                if label == name
            ]
            low.append(sum(cell == (value,) for cell in own))
            high.append(sum(value in cell for cell in own))
        return low, high

    def _decide(self, added: Sequence[tuple[Any, tuple[bool, ...]]]) -> Any:
        case = self._case
        labels = [*case.labels, *(name for name, _ in added)]
        share = oracle.shares(labels, self._names, case.prior)
        least: dict[Any, Fraction] = {}
        most: dict[Any, Fraction] = {}
        for name in self._names:
            new = [agreeing for label, agreeing in added if label == name]
            more = [sum(column) for column in zip(*new, strict=True)] or [0] * len(self._point)
            for found, base in zip((least, most), self._base[name], strict=True):
                counts = tuple(a + b for a, b in zip(base, more, strict=True))
                found[name] = share[name] * self._support(counts, labels.count(name))
        for name in self._names:
            if all(least[name] > most[other] for other in self._names if other != name):
                return name
        return None

    def _supported(self, counts: tuple[int, ...], n_rows: int) -> Fraction:
        """A support but for the prior, as often as counts and rows are the same."""
        return oracle.support(Fraction(1), counts, n_rows, self._domains, self._case.alpha)


def small_case(rng: random.Random, limit: int) -> tuple[Case, int]:
    """Draw a table, and up to how many added rows (3 at most) ``limit`` ways allow."""
    while True:
        case = radius_case(
            rng, max_rows=rng.choice([4, 6, 9]), max_features=rng.choice([1, 2, 2, 3])
        )
        case = replace(case, alpha=rng.choice(ALPHAS))
        fitting = [n for n in (1, 2, 3) if n_multisets(case, n) <= limit]
        if len(fitting) >= rng.choice([1, 2, 3]):
            return case, max(fitting)
