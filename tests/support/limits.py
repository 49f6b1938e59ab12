"""Random limits to what an attacker reaches, as the option ``only`` and as plain cells."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from support.strategies import Case


def random_limits(rng: random.Random, case: Case) -> tuple[dict[str, Any], set[tuple[int, int]]]:
    """Draw what can be reached: as the option ``only``, and as a set of cells."""
    n_rows, d = len(case.rows), len(case.features)
    kinds = rng.choice([{"columns"}, {"rows"}, {"cells"}, {"columns", "rows"}, {"rows", "cells"}])
    within = {(i, j) for i in range(n_rows) for j in range(d)}
    only: dict[str, Any] = {}
    share = rng.choice([0.3, 0.6, 0.9])
    if "columns" in kinds:
        names = [name for name in case.features if rng.random() < 0.6]
        only["columns"] = names
        within &= {(i, j) for i, j in within if case.features[j] in names}
    if "rows" in kinds:
        rows = np.array([rng.random() < share for _ in range(n_rows)])
        only["rows"] = rows
        within &= {(i, j) for i, j in within if rows[i]}
    if "cells" in kinds:
        cells = np.array([[rng.random() < share for _ in range(d)] for _ in range(n_rows)])
        only["cells"] = cells
        within &= {(i, j) for i, j in within if cells[i, j]}
    if kinds != {"columns"}:
        only |= {"table": case.rows, "labels": case.labels}
    return only, within
