"""Why points are not worked out: a point that costs too much gets a reason, and the rest an answer.

Every result that has such points says so in the same form: ``not_worked_out`` holds the reason of each
of them and None for all others, and a notice tells how many there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from nullproof.errors import notice
from nullproof.words import how_many, many


def too_many_completions(n_completions: int, most: int) -> str:
    """The reason for a point with more completions than there is time for."""
    return (
        f"{how_many(n_completions)} completions to look at, more than {most:,}; fill in some of its "
        "missing cells, or leave them out with own_missing='skip'"
    )


def reasons_of(n_points: int, known: Mapping[int, str]) -> NDArray[np.object_]:
    """One entry per point: its reason, or None."""
    found = np.full(n_points, None, dtype=object)
    for place, reason in known.items():
        found[place] = reason
    return found


def tell_of(what: str, known: Mapping[int, str]) -> None:
    """Tell how many points are not worked out, if any are, and why the first is not."""
    for place, reason in islice(known.items(), 1):
        notice(
            f"{what} of {many(len(known), 'point')} not worked out; the first is point {place}: {reason}"
        )
