"""radius: how many training cells must be blanked, or rows added, before a point stops being certain.

Cells are section 4 of the paper, exact also where a rival saturates (T6), for any weights (T17) and for all
points of a large test set (T8); the number is the same for cells that are wrong (T12). Rows are T13.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.cells import solve_cells
from nullproof.attacks.reach import Only, Reach
from nullproof.attacks.rows import MOST_ROWS, beyond_count, solve_rows
from nullproof.counts.index import CountIndex
from nullproof.data.points import Key, OwnMissing, Points, RowNames
from nullproof.data.sources import some_rows
from nullproof.errors import NullproofError
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Prior
from nullproof.model.verdicts import Verdicts, verdicts
from nullproof.progress import Progress
from nullproof.results import Column, Result, reasons_of, tell_of
from nullproof.words import many, quoted, rounded

Threat = Literal["cells", "rows"]
# What an attacker does to the cells or rows of a threat.
DEEDS: dict[Threat, str] = {"cells": "cells to blank", "rows": "rows to add"}


def radius(
    index: CountIndex,
    points: Any,
    *,
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnMissing = "skip",
    key: Key | None = None,
    on_progress: Progress | None = None,
    threat: Threat = "cells",
    only: Only = None,
) -> Radii:
    """Find the fewest training cells to blank, or rows to add, until a point is no longer certain.

    It is also the fewest cells that would have to hold wrong values: as long as fewer of them are
    wrong, the true table gives the same label (T12).

    Parameters
    ----------
    points
        A data frame, a file, an array, a list of rows, or one row. A point is predicted from its known
        cells, so blanking cells of its unknown features changes nothing.
    alpha
        Smoothing; 1 as scikit-learn users know it, 0 as in the paper.
    prior
        None for the label frequencies, ``"uniform"``, or one number per label.
    own_missing
        Only ``"skip"``.
    key
        The names of the points in the result: one of their columns, or one name per point.
    on_progress
        Called with a description of the current step and the share of the work that is done.
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
    Radii
        One number per point, also as `numpy.asarray`: 0 if it is not certain now, infinite if no attack
        exists. NaN, with a warning, for points with several candidates for a cell and for points that only
        more than 10^10 added rows break.

    Examples
    --------
    >>> rows = [("a", "x"), ("a", "x"), ("a", "x"), ("b", "y")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "yes", "no"])
    >>> found = radius(index, [("a", "x"), ("b", "y"), ("b", "x")])
    >>> found
    Radii: 3 of 3 predictions are certain
      the weakest breaks after 2 cells, half of those that can be broken take 2 or more
    >>> np.asarray(found)
    array([6., 2., 2.])
    >>> found.rival.tolist(), found.n_raise.tolist(), found.n_lower.tolist()
    (['no', 'yes', 'no'], [2, 0, 1], [4, 2, 1])
    >>> np.asarray(radius(index, [("a", "x"), ("b", "y"), ("b", "x")], threat="rows"))
    array([4., 1., 1.])
    >>> np.asarray(radius(index, [("a", "x"), ("b", "y"), ("b", "x")], only={"columns": ["x0"]}))
    array([inf,  2., inf])
    """
    _refuse_question(index, threat, own_missing, only)
    model, reach = Model(index, alpha, prior), Reach.of(index, only)
    encoded = model.points(points, own_missing, key)
    found = verdicts(model, encoded)
    return radii_of(model, encoded, found, on_progress, threat=threat, reach=reach)


def _refuse_question(index: CountIndex, threat: Any, own_missing: Any, only: Only) -> None:
    """Reject options without an exact answer."""
    if threat not in get_args(Threat):
        raise NullproofError(
            f"threat is {threat!r}; give 'cells' (blanked or wrong cells) or 'rows' (added rows)"
        )
    if threat == "rows" and only is not None:
        raise NullproofError(
            "only restricts which cells can be blanked, but the threat is added rows; leave one of "
            "them out"
        )
    if own_missing == "any":
        raise NullproofError(
            "own_missing is 'any', but radius and poison predict a point from its known cells; "
            "leave own_missing out"
        )
    if any(index.sets):
        raise NullproofError(
            f"{_SETS}, which radius and poison do not accept; leave those cells missing"
        )


_SETS = "the training table has cells with several candidates"


def radii_of(
    model: Model,
    points: Points,
    found: Verdicts,
    on_progress: Progress | None = None,
    *,
    threat: Threat = "cells",
    reach: Reach | None = None,
) -> Radii:
    """Return the radii of points whose verdicts over all worlds (without a bias) are known.

    ``reach`` says which cells can be blanked; by default all. The radius of incomplete points is not worked
    out, nor is any if the training table has cells with several candidates.
    """
    model, reach, n_points = model.unbiased, reach or Reach.of(model.index), len(points)
    is_asked = found.certain & points.complete & (not any(model.index.sets))
    places = np.flatnonzero(is_asked)
    codes = points.codes[:, places]
    if threat == "rows":
        solved = solve_rows(model, codes, found.take(places), on_progress)
    else:
        solved = solve_cells(model, codes, found.take(places), reach, on_progress)
    numbers, overtaker = np.zeros((3, n_points)), np.full(n_points, -1, dtype=np.int32)
    numbers[:, places] = solved.size, solved.n_raise, solved.n_lower
    overtaker[places] = solved.rival
    reason = _SETS if any(model.index.sets) else "it has cells with several possible values"
    left = dict.fromkeys(np.flatnonzero(found.certain & ~is_asked).tolist(), reason)
    if threat == "rows":
        unbroken = places[np.isinf(solved.size)]
        beyond = unbroken[beyond_count(model, points.codes[:, unbroken], found.winner[unbroken])]
        left |= dict.fromkeys(beyond.tolist(), f"an attack takes more than {MOST_ROWS:,} rows")
    numbers[0, [*left]] = math.nan
    tell_of("the radius", left)
    return Radii(
        model,
        points,
        numbers[0],
        found.winner,
        overtaker,
        numbers[1].astype(np.int64),
        numbers[2].astype(np.int64),
        reasons_of(n_points, left),
        reach,
        threat,
    )


class Radius(NamedTuple):
    """The radius of one point; see `Radii` for its parts."""

    radius: float
    label: Any
    rival: Any
    n_raise: int
    n_lower: int
    not_worked_out: str | None

    @property
    def broken(self) -> bool:
        """Whether the point is certain now and an attack exists."""
        return 0 < self.radius < math.inf


@dataclass(frozen=True, repr=False, eq=False)
class Radii(Result[Radius]):
    """Every point's radius and one cheapest attack in numbers of cells or rows; a sequence of `Radius`.

    Parameters
    ----------
    model
        The index with the smoothing and the prior.
    radius
        The fewest cells to blank, or to falsify (T12), or the fewest rows to add: 0 where the point is
        open now, infinite where no attack exists, NaN where that was not worked out.
    winner, overtaker
        Positions of the certain label and of the rival that catches up; -1 for none.
    n_raise, n_lower
        How many of the cells or rows are the rival's, to raise it, and the winner's, to lower it.
    not_worked_out
        The reason for each certain point whose radius is not worked out, None for the others.
    reach
        The cells that could be blanked.

    Examples
    --------
    >>> from nullproof import CountIndex, radius
    >>> rows = [("a", "x"), ("a", "x"), ("a", "x"), ("b", "y")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "yes", "no"])
    >>> found = radius(index, [("a", "x"), ("b", "y")])
    >>> found.radius
    array([6., 2.])
    >>> found[0]
    Radius(radius=6.0, label='yes', rival='no', n_raise=2, n_lower=4, not_worked_out=None)
    >>> found.share_from(3)
    0.5
    """

    model: Model
    points: Points
    radius: Floats
    winner: NDArray[np.int32]
    overtaker: NDArray[np.int32]
    n_raise: NDArray[np.int64]
    n_lower: NDArray[np.int64]
    not_worked_out: NDArray[np.object_]
    reach: Reach
    threat: Threat = "cells"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.radius, dtype=dtype, copy=copy is not False)

    @property
    def label(self) -> NDArray[np.object_]:
        """The certain label of each certain point, None for the others."""
        return self.model.named(self.winner)

    @property
    def rival(self) -> NDArray[np.object_]:
        """The label that catches up; None for points that are open or cannot be attacked."""
        return self.model.named(self.overtaker)

    @property
    def names(self) -> RowNames | None:
        """The names of the points, if a key was given."""
        return self.points.names

    @property
    def broken(self) -> NDArray[np.intp]:
        """The places of the certain points for which an attack exists."""
        return np.flatnonzero((self.radius > 0) & np.isfinite(self.radius))

    @property
    def weakest_first(self) -> NDArray[np.intp]:
        """The places of the certain points, the least radius first.

        Points that are not certain are left out: the headline counts them already.
        """
        order = np.argsort(self.radius, kind="stable")
        certain: NDArray[np.intp] = order[self.radius[order] != 0]
        return certain

    def share_from(self, n: float) -> float:
        """Return the share of the points whose radius is at least ``n``; 1 if there are no points."""
        return float((self.radius >= n).mean()) if len(self) else 1.0

    def declared(self) -> dict[str, Column]:
        """Return the columns by name; the radius is null if no attack exists or if a reason is given."""
        sizes = np.unique(self.radius[np.isfinite(self.radius)]).astype(np.int64)
        places = np.where(np.isfinite(self.radius), np.searchsorted(sizes, self.radius), -1)
        names = [str(label) for label in self.model.index.labels]
        return {
            "radius": Column(sizes.tolist(), places, DEEDS[self.threat]),
            "label": Column(
                names, self.winner, "label now", lambda name: quoted(name) or "not certain"
            ),
            "rival": Column(names, self.overtaker, "rival", quoted),
            "n_raise": Column(self.n_raise),
            "n_lower": Column(self.n_lower),
            "not_worked_out": Column(self.not_worked_out),
        }

    def _written(self) -> dict[str, list[Any]]:
        columns, heading = super()._written(), DEEDS[self.threat]
        columns[heading] = [
            size if size is not None else "no attack" if reason is None else "not worked out"
            for size, reason in zip(columns[heading], self.not_worked_out, strict=True)
        ]
        return columns

    def columns(self) -> dict[str, list[Any]]:
        """Return one row per point as plain columns; infinite if no attack exists."""
        return {**super().columns(), "radius": self.radius.tolist()}

    def document(self) -> dict[str, Any]:
        """Return the JSON form; the radius is null if no attack exists or if a reason is given."""
        return {"n_points": len(self), "threat": self.threat, "points": self.rows()}

    def take(self, places: NDArray[np.intp]) -> Radii:
        """Return the radii of some of the points."""
        names = ("radius", "winner", "overtaker", "n_raise", "n_lower", "not_worked_out")
        arrays = {name: getattr(self, name)[places] for name in names}
        points = replace(self.points.take(places), source=some_rows(self.points.frame, places))
        return replace(self, points=points, **arrays)

    def __len__(self) -> int:
        return len(self.radius)

    def _origin(self) -> tuple[RowNames | None, nw.DataFrame[Any] | None]:
        return self.points.names, self.points.frame

    def _item(self, place: int) -> Radius:
        label, rival = self.model.named(np.array([self.winner[place], self.overtaker[place]]))
        numbers = int(self.n_raise[place]), int(self.n_lower[place])
        return Radius(float(self.radius[place]), label, rival, *numbers, self.not_worked_out[place])

    def _shown_first(self) -> tuple[str, NDArray[np.intp]]:
        return "weakest certain points first", np.concatenate(
            [self.weakest_first, np.flatnonzero(self.radius == 0)]
        )

    @property
    def headline(self) -> str:
        """How many predictions are certain, and how few cells or rows break them."""
        finite, n_safe = self.radius[self.broken], int(np.isinf(self.radius).sum())
        verb = "is" if len(self) == 1 else "are"
        said = (
            f"{int((self.radius != 0).sum()):,} of {many(len(self), 'prediction')} {verb} certain"
        )
        if len(finite):
            said += f"; the weakest breaks after {many(int(finite.min()), self.threat[:-1])}"
        if len(finite) > 1:
            said += f", half of those that can be broken take {rounded(float(np.median(finite)))} or more"
        if n_safe:
            said += f"; no attack exists for {n_safe:,} of them"
        n_left = int(np.isnan(self.radius).sum())
        return f"{said}; {n_left:,} not worked out" if n_left else said

    def _headline(self) -> str:
        return f"Radii: {self.headline}"

    def __repr__(self) -> str:
        return self._headline().replace("; ", "\n  ")
