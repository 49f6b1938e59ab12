"""Small random tables with holes, candidate sets and odd points, the same ones for the same seed.

Only Python's own `random` is used: nothing here depends on how the package or its tests are arranged.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

ALPHAS: tuple[Any, ...] = (0.0, 1.0, 0.5, Fraction(1, 3))
UNSEEN = "never seen"


@dataclass(frozen=True)
class RandomTable:
    """Rows (None is a hole, a set holds candidates), a world of theirs, and points to ask about."""

    rows: list[tuple[Any, ...]]
    truth: list[tuple[Any, ...]]
    labels: list[str]
    domains: list[list[Any]]
    points: list[tuple[Any, ...]]
    model: dict[str, Any]


def small_table(seed: int) -> RandomTable:
    """A table so small that rows and worlds can be looked at: texts, candidate sets, tiny domains."""
    rng = random.Random(f"small {seed}")
    n_labels, n_features = rng.randint(2, 4), rng.randint(1, 4)
    domains = [list("abcde"[: rng.randint(1, 4)]) for _ in range(n_features)]
    return _table(rng, n_labels, domains, rng.randint(n_labels, 14), holes=rng.choice([0.1, 0.3]))


def coded_table(seed: int) -> RandomTable:
    """A larger table of codes; labels lean to values, so that certain points are frequent."""
    rng = random.Random(f"coded {seed}")
    n_labels, n_features = rng.randint(2, 5), rng.randint(2, 8)
    domains = [list(range(rng.randint(2, 6))) for _ in range(n_features)]
    return _table(rng, n_labels, domains, rng.randint(30, 200), holes=rng.choice([0.0, 0.02, 0.1]))


def _table(
    rng: random.Random, n_labels: int, domains: list[list[Any]], n_rows: int, holes: float
) -> RandomTable:
    labels = [f"l{i}" for i in range(n_labels)]
    # Every label occurs, and the rest by chance.
    own = labels + [rng.choice(labels) for _ in range(n_rows - n_labels)]
    truth = [tuple(_value(rng, domain, labels.index(label)) for domain in domains) for label in own]
    rows = [
        tuple(_blurred(rng, cell, domain, holes) for cell, domain in zip(row, domains, strict=True))
        for row in truth
    ]
    return RandomTable(
        rows,
        truth,
        own,
        domains,
        [_point(rng, domains, kind) for kind in ("plain",) * 4 + ("hole", "set", "unseen")],
        {
            "alpha": rng.choice(ALPHAS),
            "prior": rng.choice([None, None, "uniform", [rng.randint(1, 3) for _ in labels]]),
        },
    )


def _value(rng: random.Random, domain: list[Any], label: int) -> Any:
    return domain[label % len(domain)] if rng.random() < 0.5 else rng.choice(domain)


def _blurred(rng: random.Random, cell: Any, domain: list[Any], holes: float) -> Any:
    kind = rng.random()
    if kind < holes:
        return None
    # Codes are integers and have no candidate sets.
    if isinstance(cell, str) and len(domain) > 2 and kind < 1.3 * holes:
        return {cell, rng.choice([value for value in domain if value != cell])}
    return cell


def _point(rng: random.Random, domains: list[list[Any]], kind: str) -> tuple[Any, ...]:
    cells = [_value(rng, domain, rng.randint(0, 4)) for domain in domains]
    place = rng.randrange(len(cells))
    if kind == "hole":
        cells[place] = None
    elif kind == "set" and len(domains[place]) > 1:
        cells[place] = set(rng.sample(domains[place], 2))
    elif kind == "unseen":
        cells[place] = UNSEEN if isinstance(cells[place], str) else len(domains[place])
    return tuple(cells)
