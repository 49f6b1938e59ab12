"""Smoothing and prior as people give them, made exact."""

from __future__ import annotations

import math
import numbers
from fractions import Fraction
from typing import Any

import numpy as np

from nullproof.bias import exact_number
from nullproof.counts.index import CountIndex
from nullproof.data.sources import check_limits
from nullproof.errors import NullproofError
from nullproof.words import cut


def exact_alpha(alpha: Any) -> Fraction:
    """The smoothing as a fraction."""
    if not _is_share(alpha):
        raise NullproofError(f"alpha is {alpha!r}; give a number that is 0 or more")
    exact = exact_number(alpha)
    check_limits(alpha=exact)
    return exact


def exact_prior(index: CountIndex, prior: Any) -> tuple[Fraction, ...]:
    """The prior as fractions that sum to one; None means the frequencies of the labels."""
    if prior is None:
        n_rows, counts = max(index.n_rows, 1), index.label_counts.tolist()
        # Of hundreds of labels many have as many rows as another.
        of_count = {n: Fraction(n, n_rows) for n in {*counts}}
        return tuple([of_count[n] for n in counts])
    m = len(index.labels)
    if isinstance(prior, str):
        if prior != "uniform":
            raise NullproofError(
                f"prior is {prior!r}; give None, 'uniform' or one number for each of {m} labels"
            )
        return (Fraction(1, m),) * m
    shares = list(prior)
    if len(shares) != m:
        raise NullproofError(
            f"prior has {len(shares)} numbers but there are {m} labels "
            f"({', '.join(str(label) for label in index.labels[:5])}); give one number per label"
        )
    if not all(_is_share(share) for share in shares):
        raise NullproofError(f"prior is {shares}; give numbers that are 0 or more")
    exact = [*map(exact_number, shares)]
    total = sum(exact)
    if not total:
        raise NullproofError("prior is all zeros; give at least one label a positive number")
    check_limits(prior=[share / max(exact) for share in exact])
    return tuple(share / total for share in exact)


def written_number(written: str) -> Any:
    """Read a number such as 0, 0.5 or 1/2."""
    try:
        return Fraction(written) if "/" in written else float(written)
    except (ValueError, ZeroDivisionError):
        raise NullproofError(
            f"{cut(written)!r} is not a number; give one like 0, 0.5 or 1/2"
        ) from None


def _is_share(number: Any) -> bool:
    if isinstance(number, numbers.Rational):
        return int(number.numerator) >= 0
    return isinstance(number, float | np.floating) and bool(0 <= float(number) < math.inf)
