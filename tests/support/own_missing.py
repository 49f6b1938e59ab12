"""The reading "skip" of a point's own holes, by its definition: ask a table without those columns."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from support.strategies import Case

# Every kind of smoothing is drawn often.
ALPHAS = (0, 0, 1, Fraction(1, 2), Fraction(1, 3), 0.1)


def without_holes(case: Case, point: Sequence[Any]) -> tuple[Case, tuple[Any, ...]]:
    """A case without the columns that a point does not know, and the point without those cells.

    The domains stay what they are in the whole table.
    """
    known = [j for j, cell in enumerate(point) if cell is not None]
    shorter = tuple(point[j] for j in known)
    domains = case.domains
    return replace(
        case,
        rows=tuple(tuple(row[j] for j in known) for row in case.rows),
        features=tuple(case.features[j] for j in known),
        declared={case.features[j]: domains[j] for j in known},
        points=(shorter,),
    ), shorter


def with_own_missing(rng: random.Random, case: Case, n_points: int = 3) -> Case:
    """A case whose points have many holes of their own, and a smoothing from `ALPHAS`."""
    share = rng.choice([0.2, 0.5, 0.8])
    points = tuple(
        tuple(None if rng.random() < share else cell for cell in rng.choice(case.points))
        for _ in range(n_points)
    )
    return replace(case, points=points, alpha=rng.choice(ALPHAS))
