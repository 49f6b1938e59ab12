"""Log supports of points by chance, of which everything is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nullproof.model import Floats
from nullproof.odds.spread import Spread
from nullproof.odds.terms import SLOPES


@dataclass(frozen=True)
class Given(Spread):
    """Points of which everything is given, the first bounds too."""

    lower: Floats
    upper: Floats

    def bounds(self) -> tuple[Floats, Floats]:
        return self.lower, self.upper


def spread_of(n: int, m: int, **some: Any) -> Given:
    """So many points and labels of which nothing is known, but for what is given."""
    numbers = dict.fromkeys(
        ("base", "mean", "variance", "above", "below", "zero", "error", "slack", "n_open"), 0.0
    )
    own: dict[str, Any] = {"possible": True, "alive": True, **numbers, "n_products": 99.0}
    own |= {"lower": 0.0, "upper": 1.0, **some}
    arrays = {name: np.broadcast_to(value, (n, m)).copy() for name, value in own.items()}
    return Given(**arrays, curves=np.zeros((n, m, 2 * len(SLOPES))), chance=1e-9)
