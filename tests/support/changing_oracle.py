"""Brute force over all changed cells of a tiny table at once: obvious, and ignorant of nullproof.

Every complete table is written down, each cell with every value of its domain. A cell is *changed* in
it if it holds none of its candidates. So all subsets of changed cells, all values that they may be given
and all worlds of the rest are there, and the fewest changes that take a label are a minimum over them.
Supports are whole numbers.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from support import oracle
from support.blanking_oracle import radius_case
from support.strategies import Case

ALPHAS = (0, 0, 1, 2, Fraction(1, 2), Fraction(1, 3), Fraction(5, 2))
MOST_TABLES = 600


class Tables:
    """All complete tables of the size of a case, and how many cells of each are changed.

    ``within`` names the cells that may be changed; by default all of them.
    """

    def __init__(self, case: Case, within: Collection[tuple[int, int]] | None = None) -> None:
        self._case, domains = case, case.domains
        shape = [len(domain) for _ in case.rows for domain in domains]
        values = np.indices(shape).reshape(len(shape), -1).T
        self._values = values.reshape(-1, len(case.rows), len(domains))
        candidates = np.zeros((len(case.rows), len(domains), max(shape)), dtype=bool)
        for i, row in enumerate(case.rows):
            for j, (cell, domain) in enumerate(zip(row, domains, strict=True)):
                candidates[i, j, [domain.index(v) for v in oracle.candidates(cell, domain)]] = True
        i, j = np.indices(candidates.shape[:2])
        is_changed = ~candidates[i, j, self._values]
        self._n_changed = is_changed.sum(axis=(1, 2)).astype(float)
        if within is not None:
            fixed = np.array([(*cell,) not in within for cell in np.ndindex(*i.shape)])
            forbidden = (is_changed & fixed.reshape(i.shape)).any(axis=(1, 2))
            self._n_changed[forbidden] = math.inf

    def radius(self, point: Sequence[Any]) -> float:
        """The fewest changed cells that take the label of a point at some completion; 0: it has none."""
        winners = [
            self._winners(filled) for filled in oracle.completions(point, self._case.domains)
        ]
        certain = {own for found in winners for own in found[self._n_changed == 0].tolist()}
        if len(certain) > 1 or -1 in certain:
            return 0
        (label,) = certain
        lost = [self._n_changed[found != label].min(initial=math.inf) for found in winners]
        return float(min(lost))

    def _winners(self, point: Sequence[Any]) -> NDArray[np.int64]:
        """The label that each table predicts for a complete point, by its position; -1: a tie."""
        case, names = self._case, oracle.distinct(self._case.labels)
        p, q = Fraction(case.alpha).as_integer_ratio()
        pairs = zip(point, case.domains, strict=True)
        own = np.array([domain.index(v) if v in domain else -1 for v, domain in pairs])
        agrees = self._values == own
        share = oracle.shares(case.labels, names, case.prior)
        sizes = [case.labels.count(name) for name in names]
        below = [math.prod(n * q + p * len(domain) for domain in case.domains) for n in sizes]
        weights = [share[name] / size for name, size in zip(names, below, strict=True)]
        unit = math.lcm(*(weight.denominator for weight in weights))
        largest = max(math.prod(n * q + p for _ in point) for n in sizes) * unit
        # Python's whole numbers where those of NumPy would overflow.
        kind = np.int64 if largest < 2**62 else object
        supports = np.empty((len(names), len(agrees)), dtype=kind)
        for k, (name, weight) in enumerate(zip(names, weights, strict=True)):
            mine = np.array([label == name for label in case.labels])
            counts = agrees[:, mine].sum(axis=1)
            supports[k] = np.prod((counts * q + p).astype(kind), axis=1) * int(weight * unit)
        best = supports.max(axis=0)
        is_tied = (supports == best).sum(axis=0) > 1
        return np.where(is_tied, -1, supports.argmax(axis=0))


def tiny_case(rng: random.Random) -> Case:
    """Draw a case with at most ``MOST_TABLES`` complete tables of its size, and small numbers."""
    while True:
        case = radius_case(
            rng, max_rows=rng.choice([3, 4, 5, 8]), max_features=rng.choice([1, 2, 3])
        )
        if math.prod(len(domain) for domain in case.domains) ** len(case.rows) <= MOST_TABLES:
            names = oracle.distinct(case.labels)
            numbers = {name: rng.choice([1, 3]) for name in names}
            prior = rng.choice([None, None, "uniform", numbers])
            return replace(case, alpha=rng.choice(ALPHAS), prior=prior)
