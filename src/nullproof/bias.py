"""At least and at most how many open cells of a group hold a value, if the bias is limited (T9).

A group is the open cells of one label and feature with the same candidates. Its reference is what the
model itself estimates from the known cells of that label and feature; in a world of bias at most ε
the share of the group that holds a value differs from the reference by at most ε, rounded outwards to
whole cells. Floats do this where the rounding is clear; integers do the rest.
"""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.errors import NullproofError
from nullproof.words import some

Bias = float | Fraction | Mapping[str, float | Fraction]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
REST = "*"
_EPS = float(np.finfo(np.float64).eps)


class Groups(NamedTuple):
    """Groups of open cells: one for each value (rows) and label (columns).

    Parameters
    ----------
    known
        How many known cells of the label hold the value, rows × labels.
    n_cells
        How many cells the group has; 0 where the value is no candidate.
    n_known
        How many known cells of the label hold one of the candidates.
    n_candidates
        How many candidates the cells have, rows × 1.
    """

    known: Integers
    n_cells: Integers
    n_known: Integers
    n_candidates: Integers

    def reference(self, alpha: float) -> Floats:
        """The smoothed share of the known cells that hold the value; equal shares where none is known."""
        with np.errstate(all="ignore"):
            whole = self.n_known + alpha * self.n_candidates
            shares = (self.known + alpha) / whole
        return np.where(whole > 0, shares, 1 / self.n_candidates)

    def ratio(self, place: tuple[int, int], alpha: Fraction) -> tuple[int, int]:
        """The reference of one group as a ratio of integers."""
        n_candidates = int(self.n_candidates[place[0], 0])
        return share_of(int(self.known[place]), int(self.n_known[place]), n_candidates, alpha)


def share_of(known: int, n_known: int, n_candidates: int, alpha: Fraction) -> tuple[int, int]:
    """The reference of a value: its share of the known cells, smoothed, as a ratio of integers."""
    p, q = alpha.as_integer_ratio()
    below = n_known * q + p * n_candidates
    return (known * q + p, below) if below else (1, n_candidates)


def groups_of(index: CountIndex, j: int, codes: NDArray[np.integer]) -> Iterator[Groups]:
    """The open cells of feature ``j`` that may hold each of some values, one `Groups` per candidate set.

    A domain of one value has no groups: its missing cells have no choice.
    """
    size = int(index.n_values[j])
    if size == 1:
        return
    known = index.exact(j, codes)
    everything = tuple(range(size)) if index.sets[j] else ()
    inside = (codes < size)[:, None]
    # A cell with every value as a candidate is a missing cell.
    n_null = index.n_null[j] + index.sets[j].get(everything, 0)
    if n_null.any():
        n_known = index.label_counts - index.n_open[j]
        yield _groups(known, np.where(inside, n_null, 0), n_known, size)
    for candidates, n_cells in index.sets[j].items():
        if candidates != everything:
            is_one = np.isin(codes, candidates)[:, None]
            n_known = index.exact(j, np.array(candidates)).sum(axis=0)
            yield _groups(known, np.where(is_one, n_cells, 0), n_known, len(candidates))


def _groups(known: Integers, n_cells: Integers, n_known: Integers, size: int) -> Groups:
    n_candidates = np.full((len(known), 1), size, dtype=np.int64)
    return Groups(known, n_cells, np.broadcast_to(n_known, known.shape), n_candidates)


def held(
    groups: Groups, alpha: Fraction, bias: Sequence[Fraction], owner: NDArray[np.intp]
) -> tuple[Integers, Integers]:
    """The fewest and the most cells of each group that hold its value, rows × labels.

    Parameters
    ----------
    bias
        The bias of each feature.
    owner
        The feature of each row.
    """
    eps = np.array([float(one) for one in bias])[owner][:, None]
    n_cells = groups.n_cells
    share = groups.reference(_float(alpha))
    least, most = n_cells * (share - eps), n_cells * (share + eps)
    # The reference errs by a few roundings, and so do the bias and the products.
    doubt = 16 * _EPS * (n_cells + 1.0)
    unclear = np.zeros(n_cells.shape, dtype=bool)
    for found, room in ((least, least > -doubt), (most, most < n_cells + doubt)):
        unclear |= (np.abs(found - np.rint(found)) <= doubt) & room & (n_cells > 0)
    if not _fits(alpha):
        unclear = n_cells > 0
        least, most = np.zeros(least.shape), np.zeros(least.shape)
    low = np.maximum(np.floor(least), 0).astype(np.int64)
    high = np.minimum(np.ceil(most), n_cells).astype(np.int64)
    seen: dict[tuple[int, ...], tuple[int, int]] = {}
    for r, i in np.argwhere(unclear).tolist():
        feature, place = int(owner[r]), (r, i)
        numbers_of = (own[place] for own in (groups.known, n_cells, groups.n_known))
        key = (feature, int(groups.n_candidates[r, 0]), *map(int, numbers_of))
        if key not in seen:
            ratio = groups.ratio(place, alpha)
            seen[key] = held_exactly(int(n_cells[place]), ratio, bias[feature])
        low[place], high[place] = seen[key]
    return low, high


def held_exactly(n_cells: int, share: tuple[int, int], bias: Fraction) -> tuple[int, int]:
    """The fewest and the most of ``n_cells`` that hold a value with this reference."""
    (a, b), (e, f) = share, bias.as_integer_ratio()
    least = n_cells * (a * f - e * b) // (b * f)
    most = -(-n_cells * (a * f + e * b) // (b * f))
    return max(0, least), min(n_cells, most)


def exact_bias(index: CountIndex, bias: Any) -> tuple[tuple[Fraction, ...], tuple[bool, ...]]:
    """The bias of each feature, and whether a mapping named the feature."""
    if isinstance(bias, Mapping):
        unknown = [name for name in bias if name not in index.schema.position and name != REST]
        if unknown:
            raise NullproofError(
                f"bias names {unknown[0]!r}, which is no feature; {_hint(unknown[0], index.features)}, "
                f"and {REST!r} stands for the rest"
            )
        rest = _share(bias.get(REST, 1), f" of {REST!r}")
        shares = tuple(
            _share(bias[name], f" of {name!r}") if name in bias else rest for name in index.features
        )
        return shares, tuple(name in bias for name in index.features)
    n_features = len(index.schema.features)
    return (_share(bias, ""),) * n_features, (False,) * n_features


def _hint(name: Any, features: Sequence[str]) -> str:
    close = difflib.get_close_matches(str(name), features, n=3, cutoff=0.5)
    if close:
        return f"close names are {some(map(repr, close), 3)}"
    return f"they are {some(features, 8)}"


def _share(number: Any, whose: str) -> Fraction:
    is_number = isinstance(number, numbers.Real) and not isinstance(number, bool)
    if is_number and 0 <= number <= 1:
        return exact_number(number)
    raise NullproofError(
        f"the bias{whose} is {number!r}; give a number from 0 (holes are like the known cells) to 1 "
        "(they may hold anything)"
    )


def exact_number(number: Any) -> Fraction:
    """A number as the fraction that it is; integers of NumPy become plain ones, which never overflow."""
    if isinstance(number, numbers.Rational):
        return Fraction(int(number.numerator), int(number.denominator))
    return Fraction(float(number))


def _fits(alpha: Fraction) -> bool:
    """Whether doubles can add ``alpha`` to a count without losing one of the two."""
    return alpha == 0 or Fraction(1, 10**9) <= alpha <= 10**9


def _float(alpha: Fraction) -> float:
    try:
        return float(alpha)
    except OverflowError:
        return math.inf
