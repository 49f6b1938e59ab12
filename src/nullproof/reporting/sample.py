"""Which points a report tells one by one: always the same ones for the same verdicts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.tables.points import evenly

WEAKEST = 10


class Chosen(NamedTuple):
    """The positions of the points that are told, in order, and how they were chosen, in words."""

    shown: NDArray[np.intp]
    how: str


def weakest(radius: NDArray[np.float64], n_wanted: int = WEAKEST) -> NDArray[np.intp]:
    """The certain points with the smallest radius, smallest first; not those beyond any attack."""
    places = np.flatnonzero((radius > 0) & np.isfinite(radius))
    order = np.argsort(radius[places], kind="stable")[:n_wanted]
    picked: NDArray[np.intp] = places[order]
    return picked


def points(is_certain: NDArray[np.bool_], radius: NDArray[np.float64], limit: int) -> Chosen:
    """All points if the limit allows it, else the weakest, and even samples of both verdicts."""
    if len(is_certain) <= limit:
        return Chosen(np.arange(len(is_certain)), "all points")
    open_ones, certain = np.flatnonzero(~is_certain), np.flatnonzero(is_certain)
    # Three quarters for the open ones, and what one side does not need goes to the other.
    n_certain = min(len(certain), limit - min(len(open_ones), limit * 3 // 4))
    frail = weakest(radius, min(WEAKEST, n_certain))
    others = np.setdiff1d(certain, frail)
    parts = [
        evenly(open_ones, limit - n_certain),
        frail,
        evenly(others, n_certain - len(frail)),
    ]
    how = (
        f"{len(parts[0]):,} of {len(open_ones):,} open and {n_certain:,} of {len(certain):,} "
        f"certain points, at even distances in their order; among the certain ones the "
        f"{len(frail)} weakest"
    )
    return Chosen(np.sort(np.concatenate(parts)), how)
