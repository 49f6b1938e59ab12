"""Convert the smoothing, prior, bias and weights that users give to exact numbers, or reject them.

The limits (`nullproof.data.sources.check_limits`) are why nothing behind this module guards against
overflow: log terms lie between -60 and 0, counts are whole numbers that doubles hold, and no factor
underflows.
"""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from nullproof.counts.index import CountIndex
from nullproof.data.sources import check_limits
from nullproof.errors import NullproofError
from nullproof.words import cut, some

Alpha = float | Fraction
Prior = Literal["uniform"] | Sequence[float | Fraction] | None
Bias = float | Fraction | Mapping[str, float | Fraction]
REST = "*"
# More digits than any float within the limits has; larger fractions could overflow floats.
_MOST_DIGITS = 10**30


def exact_alpha(alpha: Any) -> Fraction:
    """Return the smoothing as a fraction."""
    if not _is_share(alpha):
        raise NullproofError(f"alpha is {alpha!r}; give a number that is 0 or more")
    exact = exact_number(alpha)
    if max(exact.as_integer_ratio()) > _MOST_DIGITS:
        raise NullproofError(
            "alpha is a fraction of over 30 digits; give a float, or a simpler fraction"
        )
    check_limits(alpha=exact)
    return exact


def exact_prior(index: CountIndex, prior: Any) -> tuple[Fraction, ...]:
    """Return the prior as fractions that sum to one; None means the frequencies of the labels."""
    if prior is None:
        n_rows, counts = max(index.n_rows, 1), index.label_counts.tolist()
        # With hundreds of labels, many have the same number of rows.
        of_count = {n: Fraction(n, n_rows) for n in {*counts}}
        return tuple([of_count[n] for n in counts])
    m = len(index.labels)
    if isinstance(prior, str):
        if prior != "uniform":
            raise NullproofError(
                f"prior is {prior!r}; give None, 'uniform' or one number for each of {m} labels"
            )
        return (Fraction(1, m),) * m
    if not isinstance(prior, Sequence) and not (isinstance(prior, np.ndarray) and prior.ndim == 1):
        raise NullproofError(
            f"prior is a {type(prior).__name__}; give None, 'uniform', or a list with one number for "
            f"each of the {m} labels, in the order of index.labels"
        )
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
    most = max(exact)
    check_limits(prior=[share / most for share in exact])
    return tuple(share / total for share in exact)


def exact_bias(index: CountIndex, bias: Any) -> tuple[tuple[Fraction, ...], tuple[bool, ...]]:
    """Return the bias of each feature, and whether a mapping named the feature."""
    if isinstance(bias, Mapping):
        refuse_unknown_columns("bias", bias, index.features)
        rest = _bias_share(bias.get(REST, 1), f" of {REST!r}")
        shares = tuple(
            _bias_share(bias[name], f" of {name!r}") if name in bias else rest
            for name in index.features
        )
        return shares, tuple(name in bias for name in index.features)
    n_features = len(index.schema.features)
    return (_bias_share(bias, ""),) * n_features, (False,) * n_features


def refuse_unknown_columns(option: str, named: Iterable[Any], features: Sequence[str]) -> None:
    """Reject a mapping that names a column that is not a feature."""
    known = {*features, REST}
    unknown = next((name for name in named if name not in known), None)
    if unknown is not None:
        close = difflib.get_close_matches(str(unknown), features, n=3, cutoff=0.5)
        close_names = f"close names are {some(map(repr, close), 3)}"
        hint = close_names if close else f"they are {some(features, 8)}"
        raise NullproofError(
            f"{option} names {unknown!r}, which is not a feature; {hint}, and {REST!r} stands for the rest"
        )


def exact_number(number: Any) -> Fraction:
    """Return a number as an exact fraction; NumPy integers, which overflow, become Python integers."""
    if isinstance(number, numbers.Rational):
        return Fraction(int(number.numerator), int(number.denominator))
    return Fraction(float(number))


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


def _bias_share(number: Any, whose: str) -> Fraction:
    is_number = isinstance(number, numbers.Real) and not isinstance(number, bool)
    if is_number and 0 <= number <= 1:
        return exact_number(number)
    raise NullproofError(
        f"the bias{whose} is {number!r}; give a number from 0 (missing cells are like the known ones) to 1 "
        "(they may hold anything)"
    )
