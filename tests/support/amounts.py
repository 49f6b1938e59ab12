"""How many random tables a suite asks about, and where they start.

``NULLPROOF_MORE=10 ./check -k radius`` asks about ten times as many, ``NULLPROOF_SEED`` about others.
"""

from __future__ import annotations

import os
import random

SEED = int(os.environ.get("NULLPROOF_SEED", "20240604"))
_MORE = float(os.environ.get("NULLPROOF_MORE", "1"))


def n_tables(usual: int, least: int = 1) -> int:
    """Return how many tables to ask about, where ``./check`` asks about the usual number."""
    return max(least, round(usual * _MORE))


def seeded(*names: object) -> random.Random:
    """Return a generator of this run and these names, and print its seed."""
    seed = "-".join(map(str, (SEED, *names)))
    print("seed", seed)
    return random.Random(seed)
