"""At least and at most how many open cells of a group hold a value, if the bias is limited (T9).

A group is the open cells of one label and feature with the same candidates. Its reference is what the
model itself estimates from the known cells of that label and feature; in a world of bias at most ε
the share of the group that holds a value differs from the reference by at most ε, rounded outwards to
whole cells. Floats do this where the rounding is clear; integers do the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
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
        """Return the smoothed share of the known cells that hold the value; equal if none is known."""
        with np.errstate(all="ignore"):
            whole = self.n_known + alpha * self.n_candidates
            shares = (self.known + alpha) / whole
        return np.where(whole > 0, shares, 1 / self.n_candidates)

    def ratio(self, place: tuple[int, int], alpha: Fraction) -> tuple[int, int]:
        """Return the reference of one group as a ratio of integers."""
        n_candidates = int(self.n_candidates[place[0], 0])
        return share_of(int(self.known[place]), int(self.n_known[place]), n_candidates, alpha)


def share_of(known: int, n_known: int, n_candidates: int, alpha: Fraction) -> tuple[int, int]:
    """Return the smoothed share of a value among the known cells as a ratio of integers."""
    p, q = alpha.as_integer_ratio()
    below = n_known * q + p * n_candidates
    return (known * q + p, below) if below else (1, n_candidates)


def groups_of(index: CountIndex, j: int, codes: NDArray[np.integer]) -> Iterator[Groups]:
    """Yield the open cells of feature ``j`` that may hold each of some values, one by candidate set.

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
    """Count the fewest and the most cells of each group that hold its value, rows × labels.

    Parameters
    ----------
    bias
        The bias of each feature.
    owner
        The feature of each row.
    """
    eps = np.array([float(one) for one in bias])[owner][:, None]
    n_cells = groups.n_cells
    share = groups.reference(float(alpha))
    least, most = n_cells * (share - eps), n_cells * (share + eps)
    # The reference errs by a few roundings, and so do the bias and the products.
    doubt = 16 * _EPS * (n_cells + 1.0)
    unclear = np.zeros(n_cells.shape, dtype=bool)
    for counts, has_room in ((least, least > -doubt), (most, most < n_cells + doubt)):
        unclear |= (np.abs(counts - np.rint(counts)) <= doubt) & has_room & (n_cells > 0)
    low = np.maximum(np.floor(least), 0).astype(np.int64)
    high = np.minimum(np.ceil(most), n_cells).astype(np.int64)
    seen: dict[tuple[int, ...], tuple[int, int]] = {}
    for r, i in np.argwhere(unclear).tolist():
        feature, place = int(owner[r]), (r, i)
        counts_of = (array[place] for array in (groups.known, n_cells, groups.n_known))
        key = (feature, int(groups.n_candidates[r, 0]), *map(int, counts_of))
        if key not in seen:
            ratio = groups.ratio(place, alpha)
            seen[key] = held_exactly(int(n_cells[place]), ratio, bias[feature])
        low[place], high[place] = seen[key]
    return low, high


def held_exactly(n_cells: int, share: tuple[int, int], bias: Fraction) -> tuple[int, int]:
    """Count the fewest and the most of ``n_cells`` that hold a value with this reference."""
    (a, b), (e, f) = share, bias.as_integer_ratio()
    least = n_cells * (a * f - e * b) // (b * f)
    most = -(-n_cells * (a * f + e * b) // (b * f))
    return max(0, least), min(n_cells, most)
