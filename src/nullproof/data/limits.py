"""The limits of nullproof, checked in one place: behind it, floats neither overflow nor underflow."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from nullproof.errors import NullproofError

MOST_COLUMNS = 20_000
MOST_LABELS = 10_000
MOST_CELLS = 2**53
LEAST_ALPHA, MOST_ALPHA = 1e-6, 1e6
LEAST_PRIOR = Fraction(1, 10**9)


def check_limits(
    *,
    n_columns: int = 0,
    n_labels: int = 0,
    n_cells: int = 0,
    alpha: float | Fraction = 0,
    prior: Iterable[float | Fraction] = (),
) -> None:
    """Reject a table or a model that is beyond the limits, in one sentence."""
    if n_columns > MOST_COLUMNS:
        raise NullproofError(
            f"the table has {n_columns:,} columns and at most {MOST_COLUMNS:,} can be counted; leave "
            "some out"
        )
    if n_labels > MOST_LABELS:
        raise NullproofError(
            f"the label column has {n_labels:,} different labels and at most {MOST_LABELS:,} can be "
            "counted; join labels, or name another column"
        )
    if n_cells > MOST_CELLS:
        raise NullproofError(f"the table has {n_cells:,} cells and at most 2^53 can be counted")
    if alpha and not LEAST_ALPHA <= alpha <= MOST_ALPHA:
        raise NullproofError(
            f"alpha is {_shown(alpha)}; give 0 (no smoothing) or a number from {LEAST_ALPHA:g} to "
            f"{MOST_ALPHA:g}"
        )
    for share in prior:
        if share and share < LEAST_PRIOR:
            raise NullproofError(
                f"prior has a number that is {_shown(share)} of the largest; give 0 or at least "
                f"1e-9 of it"
            )


def _shown(number: float | Fraction) -> str:
    try:
        return f"{float(number):g}"
    except OverflowError:
        return "a number beyond doubles"
