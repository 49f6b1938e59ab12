"""Seeds of what is drawn by chance."""

from __future__ import annotations

import numbers
from typing import Any

from nullproof.errors import NullproofError


def refuse_seed(seed: Any) -> None:
    """Refuse what no random numbers can be drawn from, or no two times the same."""
    if not isinstance(seed, numbers.Integral) or isinstance(seed, bool) or seed < 0:
        raise NullproofError(f"seed is {seed!r}; give a whole number that is 0 or more")
