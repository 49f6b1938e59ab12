"""Indexes of millions of cells with holes and candidate sets, made from counts alone."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nullproof import CountIndex
from support.bias_box import BoxJudge
from support.bias_oracle import Group
from support.count_tables import index_from_counts


@dataclass(frozen=True)
class LargeTable:
    """An index and the same counts in plain dictionaries."""

    index: CountIndex
    n_rows: dict[str, int]
    known: Counter[tuple[Any, int, Any]]
    n_open: dict[Group, int]
    domains: tuple[tuple[str, ...], ...]
    alpha: Any

    def judge(self) -> BoxJudge:
        """Put the counts before the judge who believes in the box."""
        return BoxJudge(self.n_rows, self.known, self.n_open, self.domains, alpha=self.alpha)

    def point(self, rng: random.Random) -> tuple[str, ...]:
        """Draw a complete point."""
        return tuple(rng.choice(domain) for domain in self.domains)


def large_table(rng: random.Random, alpha: Any, size: int = 10**7) -> LargeTable:
    """Draw about ``size`` rows a label; the labels differ little, so that biases matter."""
    names = [f"L{i}" for i in range(rng.choice((2, 2, 3)))]
    n_rows = {label: size - rng.randint(0, size // 50) for label in names}
    known: Counter[tuple[Any, int, Any]] = Counter()
    n_open: dict[Group, int] = {}
    n_values = [rng.choice((2, 2, 3, 1)) for _ in range(rng.randint(1, 4))]
    tables, nulls, sets = [], [], []
    for j, n in enumerate(n_values):
        values = [str(v) for v in range(n)]
        weights = [rng.random() + 0.05 for _ in values]
        own_sets: dict[tuple[int, ...], Any] = (
            {(0, 1): np.zeros(len(names), dtype=np.int64)} if n == 3 else {}
        )
        holes = rng.choice((0.0, 0.001, 0.1, 0.4))
        for i, label in enumerate(names):
            n_null = int(n_rows[label] * holes * rng.random())
            n_pair = rng.randint(0, n_null) if own_sets else 0
            parts = _shared(rng, n_rows[label] - n_null, weights)
            known.update({(label, j, v): part for v, part in zip(values, parts, strict=True)})
            if own_sets:
                own_sets[0, 1][i] = n_pair
                n_open[label, j, frozenset(("0", "1"))] = n_pair
            n_open[label, j, frozenset(values)] = n_null - n_pair
        tables.append([[known[label, j, v] for label in names] for v in values])
        nulls.append([n_open[label, j, frozenset(values)] for label in names])
        sets.append(own_sets)
    index = replace(
        index_from_counts(list(n_rows.values()), tables),
        n_null=np.array(nulls, dtype=np.int64),
        sets=tuple(sets),
    )
    # A hole in a column of one value is as good as known.
    for (label, j, options), n_cells in list(n_open.items()):
        if len(options) == 1 or not n_cells:
            del n_open[label, j, options]
            if n_cells:
                known[label, j, next(iter(options))] += n_cells
    domains = tuple(tuple(str(v) for v in range(n)) for n in n_values)
    return LargeTable(index, n_rows, known, n_open, domains, alpha)


def _shared(rng: random.Random, n_cells: int, weights: list[float]) -> list[int]:
    """Share cells out by weights that differ a little from label to label."""
    leaning = [weight * (1 + 0.02 * rng.random()) for weight in weights]
    parts = [int(n_cells * weight / sum(leaning)) for weight in leaning]
    parts[0] += n_cells - sum(parts)
    return parts
