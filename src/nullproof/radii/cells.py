"""radius: how many training cells must be blanked before a point stops being certain.

Section 4 of the paper, exact also where a rival saturates (T6), for all points of a large test set
(T8). Floats give every point an interval; where it holds more than one number, integers decide.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, overload

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.model import Alpha, Floats, Model, Prior
from nullproof.progress import Progress, over, within
from nullproof.radii.bounds import Bounds, bound_radii
from nullproof.radii.completions import Completions
from nullproof.radii.frontier import Frontier
from nullproof.reasons import reasons_of, tell_of
from nullproof.selection import chosen
from nullproof.show import ROWS, shown_table
from nullproof.tables.cells import native_frame, some_rows
from nullproof.tables.names import Key, RowNames, key_columns
from nullproof.tables.points import OwnHoles, Points
from nullproof.verdicts import Verdicts, verdicts

_DOING = "finding the fewest cells for each point"


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
    """The radius of every point, with one cheapest attack in numbers of cells; a sequence of `Radius`.

    Parameters
    ----------
    model
        The index with the smoothing and the prior that were asked about.
    radius
        The fewest cells to blank: 0 where the point is open now, infinite where no attack
        exists, NaN where that was not worked out.
    winner, overtaker
        Positions of the certain label and of the rival that catches up; -1 for none.
    n_raise, n_lower
        How many of the cells are the rival's, to raise it (A1), and the winner's, to lower it (A2).
    codes
        Features × points: the points as codes, with features that are left out as in `Points`. An
        incomplete point has the codes of its weakest completion.
    not_worked_out
        The reason for each point whose radius would take too long, None for the others. These
        points are certain.
    """

    model: Model
    radius: Floats
    winner: NDArray[np.int32]
    overtaker: NDArray[np.int32]
    n_raise: NDArray[np.int64]
    n_lower: NDArray[np.int64]
    codes: NDArray[np.int32]
    not_worked_out: NDArray[np.object_]
    frame: nw.DataFrame[Any] | None = None
    names: RowNames | None = None

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
            "points": [dict(zip(columns, row, strict=True)) for row in rows],
        }

    def _repr_html_(self) -> str:
        weakest = np.argsort(self.radius, kind="stable")[:ROWS]
        columns = {
            name: [cells[place] for place in weakest.tolist()]
            for name, cells in self.columns().items()
        }
        columns = {"point": weakest.tolist(), **columns}
        return shown_table(f"{self!r}; weakest first", columns, len(self))

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
            f"{head}\n  cells to blank: {finite.min():,.0f} to {finite.max():,.0f}, "
            f"median {np.median(finite):,.0f}"
        )


def radius(
    index: CountIndex,
    points: Any,
    *,
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_holes: OwnHoles = "skip",
) -> Floats:
    """Count the fewest training cells to blank until a point is no longer certain.

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
    """
    return radii(index, points, alpha=alpha, prior=prior, own_holes=own_holes).radius


def radii(
    index: CountIndex,
    points: Any,
    *,
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_holes: OwnHoles = "skip",
    key: Key | None = None,
    on_progress: Progress | None = None,
) -> Radii:
    """Find the radius of every point, its rival, and how many cells of each label are blanked.

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
    encoded = model.points(points, own_holes, key)
    return radii_of(model, encoded, verdicts(model, encoded), on_progress)


def radii_of(
    model: Model, points: Points, found: Verdicts, on_progress: Progress | None = None
) -> Radii:
    """The radii of points whose verdicts over all worlds (without a bias) are known."""
    model = model.unbiased
    result = _nothing_attacked(model, points, found.winner)
    places = np.flatnonzero(found.certain & points.complete)
    holed = np.flatnonzero(found.certain & ~points.complete)
    share = len(places) / max(len(places) + len(holed), 1)
    codes, own = points.codes[:, places], found.take(places)
    solved = _solve(model, codes, found.winner[places], own, within(on_progress, 0.0, share))
    _record(result, places, solved)
    completions = Completions(model, points)
    waiting = over(holed.tolist(), _DOING, within(on_progress, share, 1.0))
    for codes, owners in completions.batches(waiting, found.winner):
        _record_weakest(model, result, codes, owners)
    result.radius[[*completions.too_many]] = math.nan
    tell_of("the radius", completions.too_many)
    return replace(result, not_worked_out=reasons_of(len(points), completions.too_many))


def _nothing_attacked(model: Model, points: Points, winner: NDArray[np.int32]) -> Radii:
    n_points = len(points)
    nobody = np.full(n_points, -1, dtype=np.int32)
    n_raise, n_lower = np.zeros((2, n_points), dtype=np.int64)
    codes, reasons = points.codes.copy(), reasons_of(n_points, {})
    fewest = np.zeros(n_points)
    return Radii(
        model, fewest, winner, nobody, n_raise, n_lower, codes, reasons, points.frame, points.names
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
    solved = _solve(model, codes, result.winner[owners], found)
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
    on_progress: Progress | None = None,
) -> Bounds:
    """Find the radius of complete points that are certain with label ``winner``, exactly."""
    bounds = bound_radii(model, codes, winner, found.min_log, found.max_log)
    unclear = np.flatnonzero(bounds.at_least < bounds.at_most)
    if len(unclear):
        columns, first, copy_of = np.unique(
            codes[:, unclear], axis=1, return_index=True, return_inverse=True
        )
        places = unclear[first]
        counts = PointCounts(model, columns)
        for number, place in enumerate(over(places.tolist(), _DOING, on_progress)):
            own = int(winner[place])
            for rival in (label for label in range(model.m) if label != own):
                _settle(bounds, place, rival, counts.frontier(number, own, rival))
        bounds.copy(places[copy_of.ravel()], unclear)
    return bounds


def _settle(bounds: Bounds, place: int, rival: int, frontier: Frontier) -> None:
    """Decide with integers whether a rival's attack is shorter than the best one known (T7)."""
    at_least, known = max(1, int(bounds.at_least[place])), float(bounds.at_most[place])
    if known <= at_least:
        return
    steps = frontier.fewest(at_least, None if math.isinf(known) else int(known) - 1)
    if steps is not None:
        n_raise, n_lower = (np.array([float(n_steps)]) for n_steps in steps)
        bounds.offer(np.array([place]), rival, (n_raise, n_raise), (n_lower, n_lower))


class PointCounts:
    """The counts of complete points as integers, features × points × labels.

    They are `LEFT_OUT` where a point leaves a feature out, and no attack can move those.
    """

    def __init__(self, model: Model, codes: NDArray[np.int32]) -> None:
        index, sizes = model.index, model.index.n_values[:, None]
        self._model = model
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
