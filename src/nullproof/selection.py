"""Which points of a result are meant: one by its position, several by a slice, positions or a mask."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def chosen(which: Any, n_points: int) -> int | NDArray[np.intp]:
    """The position from 0 of one point, or those of several.

    >>> chosen(-1, 3), chosen(slice(1, 9), 3), chosen([True, False, True], 3)
    (2, array([1, 2]), array([0, 2]))
    """
    if isinstance(which, slice):
        return np.arange(n_points)[which]
    wanted = np.asarray(which)
    if wanted.dtype.kind == "b" and wanted.ndim == 1:
        if len(wanted) != n_points:
            raise IndexError(
                f"the mask has {len(wanted):,} entries but there are {n_points:,} points; give one for each"
            )
        return np.flatnonzero(wanted)
    if wanted.ndim == 1 and not len(wanted):
        return np.arange(0)
    if wanted.dtype.kind not in "iu" or wanted.ndim > 1:
        raise IndexError(
            f"points were chosen by {which!r}; give a position, a slice, a list of positions or a mask"
        )
    beyond = np.atleast_1d(wanted)[np.atleast_1d((wanted < -n_points) | (wanted >= n_points))]
    if len(beyond):
        there = (
            f"there are {n_points:,}, from 0 to {n_points - 1:,}" if n_points else "there are none"
        )
        raise IndexError(f"point {int(beyond[0])} was asked for, but {there}")
    places = wanted.astype(np.intp) % max(n_points, 1)
    return places if wanted.ndim else int(places)
