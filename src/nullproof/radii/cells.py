"""radius: how many training cells must be blanked, or rows added, before a point stops being certain.

Cells are section 4 of the paper, exact also where a rival saturates (T6), for all points of a large
test set (T8); the number is the same for cells that are wrong (T12). Rows are T13. Floats give every
point an interval; where it holds more than one number, integers decide.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.data.keys import Key
from nullproof.data.points import OwnHoles, Points
from nullproof.errors import NullproofError
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Prior
from nullproof.model.verdicts import Verdicts, verdicts
from nullproof.progress import Progress, within
from nullproof.radii.reach import Only, Reach
from nullproof.radii.results import Radii, Threat
from nullproof.radii.solving import beyond_count, solve
from nullproof.radii.weakest import record, record_weakest
from nullproof.reasons import reasons_of, tell_of


def radius(
    index: CountIndex,
    points: Any,
    *,
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnHoles = "skip",
    threat: Threat = "cells",
    only: Only = None,
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
    own_missing
        ``"skip"``: a point is predicted from the cells that it knows, so blanking cells of the
        features that it lacks changes nothing. ``"any"``: a missing cell may hold any value, and the
        radius is that of the weakest completion.
    threat
        ``"cells"``: cells are blanked or falsified. ``"rows"``: complete rows are added, with labels
        and values that the index has (T13).
    only
        Which cells can be blanked, or be wrong; by default all. ``{"columns": [...]}`` names columns.
        ``{"rows": mask, "table": train}`` takes the rows where the mask is True, and ``"cells"``
        instead of ``"rows"`` a mask of rows × features: a data frame of booleans, or an array. Plain
        rows need ``"labels"`` too. Where several are given, a cell must be within all of them (T14).

    Returns
    -------
    array
        One number per point: 0 where it is open now, infinite where no attack exists. NaN, with a
        warning, for the rare point with more than 65,536 completions whose weakest would take too long,
        and for one that only more than 2^53 added rows break.

    Examples
    --------
    >>> rows = [("a", "x"), ("a", "x"), ("a", "x"), ("b", "y")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "yes", "no"])
    >>> radius(index, [("a", "x"), ("b", "y"), ("b", "x")])
    array([6., 2., 2.])
    >>> radius(index, [("a", "x"), ("b", "y"), ("b", "x")], threat="rows")
    array([4., 1., 1.])
    >>> radius(index, [("a", "x"), ("b", "y"), ("b", "x")], only={"columns": ["x0"]})
    array([inf,  2., inf])
    """
    asked: Any = {"alpha": alpha, "prior": prior, "own_missing": own_missing}
    return radii(index, points, threat=threat, only=only, **asked).radius


def radii(
    index: CountIndex,
    points: Any,
    *,
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnHoles = "skip",
    key: Key | None = None,
    on_progress: Progress | None = None,
    threat: Threat = "cells",
    only: Only = None,
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
    refuse_threat(threat, only)
    reach = Reach.of(index, only)
    encoded = model.points(points, own_missing, key)
    found = verdicts(model, encoded)
    return radii_of(model, encoded, found, on_progress, threat=threat, reach=reach)


def refuse_threat(threat: Any, only: Only = None) -> None:
    """Refuse what is no threat that has an exact answer."""
    if threat not in get_args(Threat):
        raise NullproofError(
            f"threat is {threat!r}; give 'cells' (blanked or wrong cells) or 'rows' (added rows)"
        )
    if threat == "rows" and only is not None:
        raise NullproofError(
            "only says which cells can be blanked, but the threat is rows that are added; leave one of "
            "them out"
        )


def radii_of(
    model: Model,
    points: Points,
    found: Verdicts,
    on_progress: Progress | None = None,
    *,
    threat: Threat = "cells",
    reach: Reach | None = None,
) -> Radii:
    """The radii of points whose verdicts over all worlds (without a bias) are known.

    ``reach`` says which cells can be blanked; by default all.
    """
    model.refuse_weights("radius")
    model, reach = model.unbiased, reach or Reach.of(model.index)
    result = replace(_nothing_attacked(model, points, found.winner, reach), threat=threat)
    places = np.flatnonzero(found.certain & points.complete)
    holed = np.flatnonzero(found.certain & ~points.complete)
    share = len(places) / max(len(places) + len(holed), 1)
    codes, own = points.codes[:, places], found.take(places)
    say = within(on_progress, 0.0, share)
    record(result, places, solve(result, codes, found.winner[places], own, say))
    left = record_weakest(result, points, holed, within(on_progress, share, 1.0))
    if threat == "rows":
        left |= beyond_count(result)
    result.radius[[*left]] = math.nan
    tell_of("the radius", left)
    return replace(result, not_worked_out=reasons_of(len(points), left))


def _nothing_attacked(
    model: Model, points: Points, winner: NDArray[np.int32], reach: Reach
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
        reach,
        points.frame,
        points.names,
    )
