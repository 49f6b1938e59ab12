"""radius: how many training cells must be blanked, or rows added, before a point stops being certain.

Cells are section 4 of the paper, exact also where a rival saturates (T6), for all points of a large
test set (T8); the number is the same for cells that are wrong (T12). Rows are T13. Floats give every
point an interval; where it holds more than one number, integers decide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.errors import NullproofError
from nullproof.model import Alpha, Floats, Model, Prior
from nullproof.progress import Progress, over, within
from nullproof.radii.additions import Additions
from nullproof.radii.bounds import Bounds, bound_radii
from nullproof.radii.completions import Completions
from nullproof.radii.frontier import Frontier
from nullproof.radii.results import Radii, Threat
from nullproof.radii.row_bounds import bound_row_radii
from nullproof.reasons import reasons_of, tell_of
from nullproof.tables.names import Key
from nullproof.tables.points import OwnHoles, Points
from nullproof.verdicts import Verdicts, verdicts


def radius(
    index: CountIndex,
    points: Any,
    *,
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_holes: OwnHoles = "skip",
    threat: Threat = "cells",
) -> Floats:
    """Count the fewest training cells to blank, or rows to add, until a point is no longer certain.

    It is also the fewest cells that would have to hold wrong values: as long as fewer of them are
    wrong, the true table gives the same label (T12).

    Parameters
    ----------
    points
        A data frame, a file, an array, a list of rows, or one row. A point with several candidates
        for a cell has the radius of its weakest completion.
    alpha
        Smoothing; 1 as scikit-learn users know it, 0 as in the paper.
    prior
        None for the label frequencies, ``"uniform"``, or one number per label.
    own_holes
        ``"skip"``: a point is predicted from the cells that it knows, so cells of its unknown
        features are no use to blank. ``"any"``: a missing cell may hold any value, and the radius
        is that of the weakest completion.
    threat
        ``"cells"``: cells are blanked or falsified. ``"rows"``: complete rows are added, with labels
        and values that the index has (T13).

    Returns
    -------
    array
        One number per point: 0 where it is open now, infinite where no attack exists. NaN, with a
        warning, for a certain point with more than 65,536 completions that might be its weakest.

    Examples
    --------
    >>> rows = [("a", "x"), ("a", "x"), ("a", "x"), ("b", "y")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "yes", "no"])
    >>> radius(index, [("a", "x"), ("b", "y"), ("b", "x")])
    array([6., 2., 2.])
    >>> radius(index, [("a", "x"), ("b", "y"), ("b", "x")], threat="rows")
    array([4., 1., 1.])
    """
    found = radii(index, points, alpha=alpha, prior=prior, own_holes=own_holes, threat=threat)
    return found.radius


def radii(
    index: CountIndex,
    points: Any,
    *,
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_holes: OwnHoles = "skip",
    key: Key | None = None,
    on_progress: Progress | None = None,
    threat: Threat = "cells",
) -> Radii:
    """Find the radius of every point, its rival, and how many cells or rows of each label it takes.

    The options are those of `radius`; ``key`` names the points, as for `certify`, and ``on_progress`` is
    called with what is being done and which share of the work is done.

    Examples
    --------
    >>> rows = [("a", "x"), ("a", "x"), ("a", "x"), ("b", "y")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "yes", "no"])
    >>> found = radii(index, [("a", "x"), ("b", "y")])
    >>> found
    Radii: 2 points, 0 not certain, 0 beyond any attack
      cells to blank: 2 to 6, median 4
    >>> found.rival.tolist(), found.n_raise.tolist(), found.n_lower.tolist()
    (['no', 'yes'], [2, 0], [4, 2])
    """
    model = Model(index, alpha, prior)
    refuse_threat(threat)
    encoded = model.points(points, own_holes, key)
    return radii_of(model, encoded, verdicts(model, encoded), on_progress, threat=threat)


def refuse_threat(threat: Any) -> None:
    """Refuse what is no threat that has an exact answer."""
    if threat not in get_args(Threat):
        raise NullproofError(
            f"threat is {threat!r}; give 'cells' (blanked or wrong cells) or 'rows' (added rows)"
        )


def radii_of(
    model: Model,
    points: Points,
    found: Verdicts,
    on_progress: Progress | None = None,
    *,
    threat: Threat = "cells",
) -> Radii:
    """The radii of points whose verdicts over all worlds (without a bias) are known."""
    model = model.unbiased
    result = _nothing_attacked(model, points, found.winner, threat)
    places = np.flatnonzero(found.certain & points.complete)
    holed = np.flatnonzero(found.certain & ~points.complete)
    share = len(places) / max(len(places) + len(holed), 1)
    codes, own = points.codes[:, places], found.take(places)
    say = within(on_progress, 0.0, share)
    _record(result, places, _solve(model, codes, found.winner[places], own, threat, say))
    completions = Completions(model, points)
    waiting = over(holed.tolist(), _doing(threat), within(on_progress, share, 1.0))
    for codes, owners in completions.batches(waiting, found.winner):
        _record_weakest(model, result, codes, owners)
    result.radius[[*completions.too_many]] = math.nan
    tell_of("the radius", completions.too_many)
    return replace(result, not_worked_out=reasons_of(len(points), completions.too_many))


def _doing(threat: Threat) -> str:
    return f"finding the fewest {threat} for each point"


def _nothing_attacked(
    model: Model, points: Points, winner: NDArray[np.int32], threat: Threat
) -> Radii:
    n_points = len(points)
    nobody = np.full(n_points, -1, dtype=np.int32)
    n_raise, n_lower = np.zeros((2, n_points), dtype=np.int64)
    codes, reasons = points.codes.copy(), reasons_of(n_points, {})
    fewest = np.zeros(n_points)
    return Radii(
        model,
        fewest,
        winner,
        nobody,
        n_raise,
        n_lower,
        codes,
        reasons,
        points.frame,
        points.names,
        threat,
    )


def _record(result: Radii, places: NDArray[np.intp], solved: Bounds) -> None:
    result.radius[places] = solved.at_most
    result.overtaker[places] = solved.rival
    result.n_raise[places] = solved.n_raise
    result.n_lower[places] = solved.n_lower


def _record_weakest(
    model: Model, result: Radii, codes: NDArray[np.int32], owners: NDArray[np.intp]
) -> None:
    """Solve the completions of some points and keep the weakest of each."""
    found = verdicts(model, Points.without_holes(codes, model.index.n_values))
    solved = _solve(model, codes, result.winner[owners], found, result.threat)
    order = np.lexsort((solved.at_most, owners))
    places, first = np.unique(owners[order], return_index=True)
    weakest = order[first]
    _record(result, places, solved.at(weakest))
    result.codes[:, places] = codes[:, weakest]


def _solve(
    model: Model,
    codes: NDArray[np.int32],
    winner: NDArray[np.int32],
    found: Verdicts,
    threat: Threat,
    on_progress: Progress | None = None,
) -> Bounds:
    """Find the radius of complete points that are certain with label ``winner``, exactly."""
    if threat == "cells":
        bounds = bound_radii(model, codes, winner, found.min_log, found.max_log)
    else:
        bounds = bound_row_radii(model, codes, winner, found.min_log)
    unclear = np.flatnonzero(bounds.at_least < bounds.at_most)
    if len(unclear):
        columns, first, copy_of = np.unique(
            codes[:, unclear], axis=1, return_index=True, return_inverse=True
        )
        places = unclear[first]
        counts = PointCounts(model, columns)
        attacks = counts.frontier if threat == "cells" else counts.additions
        for number, place in enumerate(over(places.tolist(), _doing(threat), on_progress)):
            own = int(winner[place])
            for rival in (label for label in range(model.m) if label != own):
                _settle(bounds, place, rival, attacks(number, own, rival))
        bounds.copy(places[copy_of.ravel()], unclear)
    return bounds


def _settle(bounds: Bounds, place: int, rival: int, attacks: Frontier | Additions) -> None:
    """Decide with integers whether a rival's attack is shorter than the best one known (T7, T13)."""
    at_least, known = max(1, int(bounds.at_least[place])), float(bounds.at_most[place])
    if known <= at_least:
        return
    steps = attacks.fewest(at_least, None if math.isinf(known) else int(known) - 1)
    if steps is not None:
        n_raise, n_lower = (np.array([float(n_steps)]) for n_steps in steps)
        bounds.offer(np.array([place]), rival, (n_raise, n_raise), (n_lower, n_lower))


class PointCounts:
    """The counts of complete points as integers, features × points × labels.

    They are `LEFT_OUT` where a point leaves a feature out, and no attack can move those.
    """

    def __init__(self, model: Model, codes: NDArray[np.int32]) -> None:
        index, sizes = model.index, model.index.n_values[:, None]
        self._model, self._codes = model, codes
        self.low = np.stack([index.low(j, own) for j, own in enumerate(codes)])
        self.high = np.stack([index.high(j, own) for j, own in enumerate(codes)])
        self.is_movable = (sizes >= 2) & (codes < sizes)

    def frontier(self, place: int, winner: int, rival: int, *, strict: bool = False) -> Frontier:
        """All attacks on a point that let ``rival`` catch up with ``winner``, or, strictly, win."""

        def overtaken(low: Sequence[int], high: Sequence[int]) -> bool:
            if strict:
                return self._model.exceeds(rival, high, winner, low)
            return not self._model.exceeds(winner, low, rival, high)

        return Frontier(
            self.low[:, place, winner].tolist(),
            self.high[:, place, rival].tolist(),
            int(self._model.index.label_counts[rival]),
            movable=np.flatnonzero(self.is_movable[:, place]).tolist(),
            overtaken=overtaken,
        )

    def additions(self, place: int, winner: int, rival: int) -> Additions:
        """All ways to add rows that let ``rival`` catch up with ``winner``."""
        codes, sizes = self._codes[:, place], self._model.index.n_values
        return Additions(
            self._model,
            winner,
            rival,
            self.low[:, place, winner].tolist(),
            self.high[:, place, rival].tolist(),
            matched=frozenset(np.flatnonzero(codes < sizes).tolist()),
            forced=frozenset(np.flatnonzero((codes < sizes) & (sizes == 1)).tolist()),
            n_known=int((codes <= sizes).sum()),
        )
