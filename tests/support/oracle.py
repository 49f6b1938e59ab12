"""Brute force over all worlds of a tiny table: slow, obvious, and ignorant of nullproof.

Everything is enumerated and every number is a fraction, so this file is the judge when an
algorithm and a theorem disagree. A row is a tuple of cells; a cell is a value, ``None`` (any value
of the domain) or a set of candidates. Domains are given as one tuple of values per feature.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

Cell = Any  # a hashable value, None, or a set of hashable values
Row = Sequence[Cell]
Domains = Sequence[Sequence[Hashable]]
Label = Hashable
Prior = str | Mapping[Any, Any] | None
Counts = tuple[tuple[int, ...], ...]  # one tuple per label, one count per feature
Supports = dict[Any, Fraction]


# Worlds -------------------------------------------------------------------------------------------


def candidates(cell: Cell, domain: Sequence[Hashable]) -> tuple[Hashable, ...]:
    """List every value that ``cell`` may hold."""
    if cell is None:
        return tuple(domain)
    if isinstance(cell, (set, frozenset)):
        return tuple(sorted(cell, key=repr))
    return (cell,)


def seen_domains(rows: Sequence[Row], n_features: int) -> list[tuple[Hashable, ...]]:
    """Collect the closed-world domain of every feature: all values named in its column."""
    columns = [[row[j] for row in rows if row[j] is not None] for j in range(n_features)]
    named = [{value for cell in column for value in candidates(cell, ())} for column in columns]
    return [tuple(sorted(values, key=repr)) for values in named]


def completions(row: Row, domains: Domains) -> Iterator[tuple[Hashable, ...]]:
    """Yield every way to fill one row (or one point)."""
    return itertools.product(
        *(candidates(cell, domain) for cell, domain in zip(row, domains, strict=True))
    )


def worlds(rows: Sequence[Row], domains: Domains) -> Iterator[tuple[tuple[Hashable, ...], ...]]:
    """Yield every complete table that ``rows`` may stand for."""
    return itertools.product(*(tuple(completions(row, domains)) for row in rows))


def is_world(world: Sequence[Row], rows: Sequence[Row], domains: Domains) -> bool:
    """Tell whether ``world`` fills ``rows`` with candidates and changes nothing else."""
    if len(world) != len(rows) or any(len(row) != len(domains) for row in world):
        return False
    return all(
        value in candidates(cell, domain)
        for filled, row in zip(world, rows, strict=True)
        for value, cell, domain in zip(filled, row, domains, strict=True)
    )


# Naive Bayes in one world -------------------------------------------------------------------------


def distinct(labels: Sequence[Label]) -> list[Label]:
    """List the labels in a fixed order."""
    return sorted(set(labels), key=repr)


def shares(labels: Sequence[Label], all_labels: Sequence[Label], prior: Prior) -> Supports:
    """Return the prior of every label exactly; given numbers count by their share of the sum."""
    if prior is None:
        return {label: Fraction(labels.count(label), len(labels)) for label in all_labels}
    if isinstance(prior, str):
        return {label: Fraction(1, len(all_labels)) for label in all_labels}
    weights = {label: Fraction(prior[label]) for label in all_labels}
    return {label: weight / sum(weights.values()) for label, weight in weights.items()}


def count(
    world: Sequence[Row], labels: Sequence[Label], all_labels: Sequence[Label], point: Row
) -> Counts:
    """Count, per label and feature, the rows that agree with a complete point."""
    found = {label: [0] * len(point) for label in all_labels}
    for row, label in zip(world, labels, strict=True):
        own = found[label]
        for j, value in enumerate(point):
            if row[j] == value:
                own[j] += 1
    return tuple(tuple(found[label]) for label in all_labels)


def support(
    share: Fraction,
    counts: Sequence[int],
    n_rows: int,
    domains: Domains,
    alpha: Any,
    weights: Sequence[int] | None = None,
) -> Fraction:
    """Compute one label's support from its counts; without rows and smoothing it is zero.

    With weights, which are in eighths, it is the eighth power of the support: that is a fraction, and
    larger where the support is.
    """
    smooth = Fraction(alpha)
    if not n_rows and not smooth:
        return Fraction(0)
    product = share if weights is None else share**8
    for agreeing, domain, weight in zip(counts, domains, weights or [1] * len(counts), strict=True):
        total = n_rows + smooth * len(domain)
        product *= ((agreeing + smooth) / total) ** weight
    return product


def winners(values: Supports) -> frozenset[Any]:
    """Return all labels that share the highest support; more than one is a tie."""
    best = max(values.values())
    return frozenset(label for label, value in values.items() if value == best)


# All worlds together ------------------------------------------------------------------------------


def possible_labels(every: Sequence[Supports]) -> frozenset[Any]:
    """Return the labels that are among the winners of some outcome."""
    return frozenset(label for values in every for label in winners(values))


def certain_label(every: Sequence[Supports]) -> Any:
    """Return the one label that wins every outcome alone, or None if there is no such label."""
    verdicts = {winners(values) for values in every}
    if len(verdicts) == 1 and len(winner := verdicts.pop()) == 1:
        return next(iter(winner))
    return None


def undominated(every: Sequence[Supports]) -> frozenset[Any]:
    """Return the labels that no other label beats strictly in every outcome (T4)."""
    names = list(every[0])

    def beats(strong: Label, weak: Label) -> bool:
        return all(values[strong] > values[weak] for values in every)

    return frozenset(weak for weak in names if not any(beats(strong, weak) for strong in names))
