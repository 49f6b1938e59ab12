"""Indexes of millions of rows, made from counts through the public doors.

What a label's column counts says nothing about the rows of another column, so each column is laid out
value by value, one below the other: few distinct rows, each many times. Their index is made by doubling.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof import CountIndex
from support.bias_oracle import BoxJudge, Group
from support.strategies import weights_by_name

Piles = Sequence[tuple[Any, int]]  # cells of one label in one column, and how often each comes


def index_of_piles(
    columns: Sequence[Mapping[Any, Piles]], domains: Sequence[Sequence[Any]], weights: Any = "equal"
) -> CountIndex:
    """Make an index from the cells of every column and label; a cell may be None or a set."""
    labels = list(columns[0])
    rows = [(row, label, n) for label in labels for row, n in _rows(columns, label)]
    names = [f"x{j}" for j in range(len(columns))]
    first = tuple(domain[0] for domain in domains)
    template = CountIndex.from_rows(
        [first] * len(labels),
        labels,
        domains=dict(zip(names, domains, strict=True)),
        keep=names,
        weights=weights,
    )
    index: CountIndex | None = None
    for bit in reversed(range(max(n for _, _, n in rows).bit_length())):
        index = index + index if index is not None else None
        now = [(row, label) for row, label, n in rows if n >> bit & 1]
        if now:
            part = CountIndex.from_rows(*zip(*now, strict=True), like=template)
            index = index + part if index is not None else part
    assert index is not None
    return index


def _rows(columns: Sequence[Mapping[Any, Piles]], label: Any) -> list[tuple[tuple[Any, ...], int]]:
    """Lay the piles of each column side by side: the distinct rows of a label and their numbers."""
    left = [[[cell, n] for cell, n in column[label] if n] for column in columns]
    found = []
    while all(left):
        n = min(piles[0][1] for piles in left)
        found.append((tuple(piles[0][0] for piles in left), n))
        for piles in left:
            piles[0][1] -= n
            if not piles[0][1]:
                del piles[0]
    assert not any(left), "the columns of a label have different numbers of rows"
    return found


def index_from_counts(
    sizes: Sequence[int],
    known: Sequence[Any],
    n_null: Sequence[Sequence[int]] | None = None,
    *,
    weights: Any = "equal",
) -> CountIndex:
    """Make an index of labels ``L0``, … and values ``"0"``, …: ``known[feature][value][label]``.

    ``n_null[feature][label]`` cells are missing; together they make up the rows of each label.
    """
    missing = n_null or [[0] * len(sizes)] * len(known)
    width = len(str(len(sizes) - 1))
    domains = [[str(v) for v in range(len(counts))] for counts in known]
    columns = [
        {
            f"L{i:0{width}}": [
                *((value, int(counts[v][i])) for v, value in enumerate(domain)),
                (None, int(open_cells[i])),
            ]
            for i in range(len(sizes))
        }
        for counts, domain, open_cells in zip(known, domains, missing, strict=True)
    ]
    index = index_of_piles(columns, domains, weights)
    assert index.n_rows == sum(sizes)
    return index


def two_labels(
    sizes: tuple[int, int], winner: Sequence[int], rival: Sequence[int], weights: Any = "equal"
) -> CountIndex:
    """Make an index with two values a feature; so many rows of each label hold the value ``"0"``."""
    known = [[(w, r), (sizes[0] - w, sizes[1] - r)] for w, r in zip(winner, rival, strict=True)]
    return index_from_counts(sizes, known, weights=weights)


@dataclass(frozen=True)
class LargeTable:
    """An index and the same counts in plain dictionaries."""

    index: CountIndex
    n_rows: dict[str, int]
    known: Counter[tuple[Any, int, Any]]
    n_open: dict[Group, int]
    domains: tuple[tuple[str, ...], ...]
    alpha: Any
    eighths: tuple[int, ...] | None = None  # the weights of the columns
    prior: Any = None  # None or a mapping from label to number

    @property
    def options(self) -> dict[str, Any]:
        """What every question needs to know beside the index."""
        prior = self.prior and [self.prior[label] for label in self.index.labels]
        return {"alpha": self.alpha, "prior": prior}

    def judge(self) -> BoxJudge:
        """Put the counts before the judge who believes in the box."""
        return BoxJudge(
            self.n_rows,
            self.known,
            self.n_open,
            self.domains,
            alpha=self.alpha,
            prior=self.prior,
            weights=self.eighths,
        )

    def point(self, rng: random.Random) -> tuple[str, ...]:
        """Draw a complete point."""
        return tuple(rng.choice(domain) for domain in self.domains)


def large_table(rng: random.Random, alpha: Any, size: int = 10**7) -> LargeTable:
    """Draw about ``size`` rows a label; the labels differ little, so that biases matter.

    Every other table has weights of 1/8, 1 and 15/8.
    """
    names = [f"L{i}" for i in range(rng.choice((2, 2, 3)))]
    n_rows = {label: size - rng.randint(0, size // 50) for label in names}
    known: Counter[tuple[Any, int, Any]] = Counter()
    n_open: Counter[Group] = Counter()
    columns: list[dict[Any, Piles]] = []
    n_values = [rng.choice((2, 2, 3, 1)) for _ in range(rng.randint(1, 4))]
    domains = tuple(tuple(str(v) for v in range(n)) for n in n_values)
    for j, values in enumerate(domains):
        weights = [rng.random() + 0.05 for _ in values]
        share_missing = rng.choice((0.0, 0.001, 0.1, 0.4))
        columns.append({})
        for label in names:
            n_null = int(n_rows[label] * share_missing * rng.random())
            n_pair = rng.randint(0, n_null) if len(values) == 3 else 0
            parts = _shared(rng, n_rows[label] - n_null, weights)
            piles = [*zip(values, parts, strict=True), (frozenset("01"), n_pair)]
            columns[j][label] = [*piles, (None, n_null - n_pair)]
            known.update({(label, j, v): part for v, part in zip(values, parts, strict=True)})
            if len(values) == 1:
                # A missing cell in a column of one value is as good as known.
                known[label, j, values[0]] += n_null
            else:
                n_open[label, j, frozenset("01")] += n_pair
                n_open[label, j, frozenset(values)] += n_null - n_pair
    groups = {group: n for group, n in n_open.items() if n}
    eighths = rng.choice((None, tuple(rng.choice((1, 8, 15)) for _ in domains)))
    given = weights_by_name([f"x{j}" for j in range(len(domains))], eighths)
    index = index_of_piles(columns, domains, given)
    return LargeTable(index, n_rows, known, groups, domains, alpha, eighths)


def judge_of_codes(
    codes: NDArray[Any],
    labels: NDArray[Any],
    n_values: Sequence[int],
    *,
    alpha: Any,
    prior: Any,
    weights: Sequence[int] | None = None,
) -> BoxJudge:
    """Put a table of codes before the judge, with negative ones missing, and labels from 0 on."""
    n_of = dict(enumerate(np.bincount(labels).tolist()))
    known: Counter[tuple[Any, int, Any]] = Counter()
    groups: dict[Group, int] = {}
    for (j, size), label in itertools.product(enumerate(n_values), n_of):
        cells = codes[labels == label, j]
        n_missing = int((cells < 0).sum())
        for value in range(size):
            known[label, j, value] = int((cells == value).sum())
        if size == 1:
            known[label, j, 0] += n_missing
        elif n_missing:
            groups[label, j, frozenset(range(size))] = n_missing
    domains = [tuple(range(size)) for size in n_values]
    return BoxJudge(n_of, known, groups, domains, alpha=alpha, prior=prior, weights=weights)


def _shared(rng: random.Random, n_cells: int, weights: list[float]) -> list[int]:
    """Share cells out by weights that differ a little from label to label."""
    leaning = [weight * (1 + 0.02 * rng.random()) for weight in weights]
    parts = [int(n_cells * weight / sum(leaning)) for weight in leaning]
    parts[0] += n_cells - sum(parts)
    return parts
