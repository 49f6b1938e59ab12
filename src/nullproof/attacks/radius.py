"""radius: how many training cells must be blanked, or rows added, before a point stops being certain.

Cells are section 4 of the paper, exact also where a rival saturates (T6), for any weights (T17) and for all
points of a large test set (T8); the number is the same for cells that are wrong (T12). Rows are T13.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args, overload

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.cells import solve_cells
from nullproof.attacks.reach import Only, Reach
from nullproof.attacks.rows import MOST_ROWS, beyond_count, solve_rows
from nullproof.counts.index import CountIndex
from nullproof.data.keys import Key, RowNames, key_columns, shown_name
from nullproof.data.points import OwnMissing, Points
from nullproof.data.sources import native_frame, some_rows
from nullproof.errors import NullproofError
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Prior
from nullproof.model.verdicts import Verdicts, verdicts
from nullproof.progress import Progress
from nullproof.results import chosen, reasons_of, tell_of
from nullproof.show import ROWS, shown_table

Threat = Literal["cells", "rows"]
# What an enemy does to the cells or rows of a threat.
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
    """Count the fewest training cells to blank, or rows to add, until a point is no longer certain.

    It is also the fewest cells that would have to hold wrong values: as long as fewer of them are
    wrong, the true table gives the same label (T12).

    Parameters
    ----------
    points
        A data frame, a file, an array, a list of rows, or one row. A point is predicted from the cells
        that it knows, so blanking cells of the features that it lacks changes nothing.
    alpha
        Smoothing; 1 as scikit-learn users know it, 0 as in the paper.
    prior
        None for the label frequencies, ``"uniform"``, or one number per label.
    own_missing
        Only ``"skip"``.
    key
        What names the points in the result: a column of theirs, or one name per point.
    on_progress
        Called with what is being done and which share of the work is done.
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
        One number per point, which `numpy.asarray` gives: 0 where it is not certain now, infinite where no
        attack exists. NaN, with a warning, for a point with several candidates for a cell and for one that
        only more than 10^10 added rows break.

    Examples
    --------
    >>> rows = [("a", "x"), ("a", "x"), ("a", "x"), ("b", "y")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "yes", "no"])
    >>> found = radius(index, [("a", "x"), ("b", "y"), ("b", "x")])
    >>> found
    Radii: 3 points, 0 not certain, 0 beyond any attack
      cells to blank: 2 to 6, median 2
    >>> np.asarray(found)
    array([6., 2., 2.])
    >>> found.rival.tolist(), found.n_raise.tolist(), found.n_lower.tolist()
    (['no', 'yes', 'no'], [2, 0, 1], [4, 2, 1])
    >>> np.asarray(radius(index, [("a", "x"), ("b", "y"), ("b", "x")], threat="rows"))
    array([4., 1., 1.])
    >>> np.asarray(radius(index, [("a", "x"), ("b", "y"), ("b", "x")], only={"columns": ["x0"]}))
    array([inf,  2., inf])
    """
    refuse_question(index, threat, own_missing, only)
    model, reach = Model(index, alpha, prior), Reach.of(index, only)
    encoded = model.points(points, own_missing, key)
    found = verdicts(model, encoded)
    return radii_of(model, encoded, found, on_progress, threat=threat, reach=reach)


def refuse_question(index: CountIndex, threat: Any, own_missing: Any, only: Only = None) -> None:
    """Reject what is no question about attacks that has an exact answer."""
    if threat not in get_args(Threat):
        raise NullproofError(
            f"threat is {threat!r}; give 'cells' (blanked or wrong cells) or 'rows' (added rows)"
        )
    if threat == "rows" and only is not None:
        raise NullproofError(
            "only says which cells can be blanked, but the threat is rows that are added; leave one of "
            "them out"
        )
    if own_missing == "any":
        raise NullproofError(
            "own_missing is 'any', but radius and poison predict a point from the cells that it knows; "
            "leave own_missing out"
        )
    if any(index.sets):
        raise NullproofError(
            f"{_SETS}, which radius and poison do not take; leave those cells missing"
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
    codes, winner = points.codes[:, places], found.winner[places]
    if threat == "rows":
        solved = solve_rows(model, codes, winner, on_progress)
    else:
        solved = solve_cells(model, codes, winner, found.take(places), reach, on_progress)
    numbers, overtaker = np.zeros((3, n_points)), np.full(n_points, -1, dtype=np.int32)
    numbers[:, places] = solved.at_most, solved.n_raise, solved.n_lower
    overtaker[places] = solved.rival
    reason = _SETS if any(model.index.sets) else "it has cells with several possible values"
    left = dict.fromkeys(np.flatnonzero(found.certain & ~is_asked).tolist(), reason)
    if threat == "rows":
        unbroken = places[np.isinf(solved.at_most)]
        beyond = unbroken[beyond_count(model, points.codes[:, unbroken], found.winner[unbroken])]
        left |= dict.fromkeys(beyond.tolist(), f"an attack takes more than {MOST_ROWS:,} rows")
    numbers[0, [*left]] = math.nan
    tell_of("the radius", left)
    return Radii(
        model,
        numbers[0],
        found.winner,
        overtaker,
        numbers[1].astype(np.int64),
        numbers[2].astype(np.int64),
        points.codes,
        reasons_of(n_points, left),
        reach,
        points.frame,
        points.names,
        threat,
    )


class Radius(NamedTuple):
    """The radius of one point; what its parts mean is said at `Radii`."""

    radius: float
    label: Any
    rival: Any
    n_raise: int
    n_lower: int
    not_worked_out: str | None


@dataclass(frozen=True, repr=False, eq=False)
class Radii:
    """Every point's radius and one cheapest attack in numbers of cells or rows; a sequence of `Radius`.

    Parameters
    ----------
    model
        The index with the smoothing and the prior that were asked about.
    radius
        The fewest cells to blank, or to falsify (T12), or the fewest rows to add: 0 where the point is
        open now, infinite where no attack exists, NaN where that was not worked out.
    winner, overtaker
        Positions of the certain label and of the rival that catches up; -1 for none.
    n_raise, n_lower
        How many of the cells or rows are the rival's, to raise it, and the winner's, to lower it.
    codes
        Features × points: the points as codes, with features that are left out as in `Points`.
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
    """

    model: Model
    radius: Floats
    winner: NDArray[np.int32]
    overtaker: NDArray[np.int32]
    n_raise: NDArray[np.int64]
    n_lower: NDArray[np.int64]
    codes: NDArray[np.int32]
    not_worked_out: NDArray[np.object_]
    reach: Reach
    frame: nw.DataFrame[Any] | None = None
    names: RowNames | None = None
    threat: Threat = "cells"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.radius, dtype=dtype, copy=copy is not False)

    @property
    def label(self) -> NDArray[np.object_]:
        """The certain label of each certain point, None for the others."""
        return self.model.named(self.winner)

    @property
    def rival(self) -> NDArray[np.object_]:
        """The label that catches up; None for points that are open or beyond attack."""
        return self.model.named(self.overtaker)

    def take(self, places: NDArray[np.intp]) -> Radii:
        """The radii of some of the points."""
        per_point = ("radius", "winner", "overtaker", "n_raise", "n_lower", "not_worked_out")
        some = {name: getattr(self, name)[places] for name in per_point}
        rows = some_rows(self.frame, places)
        names = None if self.names is None else self.names.take(places)
        return replace(self, codes=self.codes[:, places], frame=rows, names=names, **some)

    @overload
    def __getitem__(self, position: int) -> Radius: ...
    @overload
    def __getitem__(self, position: Any) -> Radii: ...
    def __getitem__(self, position: Any) -> Radius | Radii:
        """One point by its position; several by a slice, positions or a mask."""
        place = chosen(position, len(self))
        if not isinstance(place, int):
            return self.take(place)
        label, rival = self.model.named(np.array([self.winner[place], self.overtaker[place]]))
        return Radius(
            float(self.radius[place]),
            label,
            rival,
            int(self.n_raise[place]),
            int(self.n_lower[place]),
            self.not_worked_out[place],
        )

    def __iter__(self) -> Iterator[Radius]:
        return (self[place] for place in range(len(self)))

    def to_frame(self) -> Any:
        """One row per point, in the library that the points came in; infinite: no attack exists."""
        return native_frame(self.columns(), self.frame)

    def file_columns(self) -> dict[str, list[Any]]:
        """The columns as a file holds them: the position of each point first.

        None stands for no attack, or beside a reason for what was not worked out.
        """
        columns = self.columns()
        columns["radius"] = [int(r) if math.isfinite(r) else None for r in columns["radius"]]
        return {"point": list(range(len(self))), **columns}

    def document(self) -> dict[str, Any]:
        """The JSON form; null where no attack exists or, beside a reason, none was worked out."""
        columns = self.file_columns()
        rows = zip(*columns.values(), strict=True)
        return {
            "n_points": len(self),
            "threat": self.threat,
            "points": [dict(zip(columns, row, strict=True)) for row in rows],
        }

    @property
    def weakest_first(self) -> NDArray[np.intp]:
        """The places of the certain points, the least radius first.

        Points that are not certain need no attack: a wall of zeros tells nothing the headline does not.
        """
        order = np.argsort(self.radius, kind="stable")
        certain: NDArray[np.intp] = order[self.radius[order] != 0]
        return certain

    def _repr_html_(self) -> str:
        order = self.weakest_first
        some = self.take(order[:ROWS])
        columns = {
            "point": [shown_name(self.names, place) for place in order[:ROWS].tolist()],
            DEEDS[self.threat]: some.radius.tolist(),
            "label": some.label.tolist(),
            "rival that catches up": some.rival.tolist(),
        }
        if any(some.not_worked_out):
            columns["not worked out"] = some.not_worked_out.tolist()
        return shown_table(f"{self!r}; weakest certain points first", columns, len(order))

    def columns(self) -> dict[str, list[Any]]:
        """Return plain columns: the key if there is one, then the parts of `Radius`."""
        return {
            **key_columns(self.names),
            "radius": self.radius.tolist(),
            "label": [None if name is None else str(name) for name in self.label],
            "rival": [None if name is None else str(name) for name in self.rival],
            "n_raise": self.n_raise.tolist(),
            "n_lower": self.n_lower.tolist(),
            "not_worked_out": self.not_worked_out.tolist(),
        }

    def __len__(self) -> int:
        return len(self.radius)

    def __repr__(self) -> str:
        n_weak, n_safe = int((self.radius == 0).sum()), int(np.isinf(self.radius).sum())
        head = f"Radii: {len(self):,} points, {n_weak:,} not certain, {n_safe:,} beyond any attack"
        n_left = int(np.isnan(self.radius).sum())
        head += f", {n_left:,} not worked out" if n_left else ""
        finite = self.radius[(self.radius > 0) & np.isfinite(self.radius)]
        if not len(finite):
            return head
        return (
            f"{head}\n  {DEEDS[self.threat]}: {finite.min():,.0f} to {finite.max():,.0f}, "
            f"median {np.median(finite):,.0f}"
        )
