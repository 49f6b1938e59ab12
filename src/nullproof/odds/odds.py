"""label_odds: proven bounds on the share of worlds that agree with a prediction.

Chance fills every missing cell on its own; the odds of a label are the probability that it wins, ties being
shared out equally. Chernoff bounds settle the clear points, a grid most others, and exact products small
tables with ties; each only where the bounds before it are too far apart (theory 6).
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from typing import Any, get_args

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.data.points import Key, OwnMissing, Points, RowNames, key_at
from nullproof.data.sources import some_rows
from nullproof.errors import NullproofError, notice
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Prior
from nullproof.model.predict import predictions
from nullproof.model.verdicts import Verdicts, verdicts
from nullproof.odds.bounds import SLOPES, Codes, LogSupports, Mask, Terms, together
from nullproof.odds.exact import Products, exact_bounds
from nullproof.odds.filling import Cells, refuse
from nullproof.odds.grid import Grid, near_labels
from nullproof.progress import Progress, over
from nullproof.results import Column, Result
from nullproof.words import PLAIN, either, many, odds, per_cent

# The threshold of summaries: the share of the worlds in which a prediction is the same.
SURE = 0.99
_LEAST_GAP = 1e-6
# The numbers of points, and of numbers, that are worked on at once.
_POINTS, _NUMBERS = 256, 1 << 21
# Up to 2**_FEW different supports of each label are listed at once; a grid takes longer.
_FEW = 6.0
# A grid is made finer by so many halvings at most, to reach this part of the gap.
_FURTHEST, _AIM = 3, 0.8
# No grid has wider steps than this power of a half.
_COARSEST = -20
Bounds = tuple[Floats, Floats]


@dataclass(frozen=True, repr=False, eq=False)
class LabelOdds(Result[dict[Any, tuple[float, float]]]):
    """Bounds of the probability that each label wins, points × labels.

    Parameters
    ----------
    model
        The index with the smoothing and the prior.
    winners
        The position of each predicted label; -1 where labels tie.
    lower, upper
        The true odds lie between them. The odds of a label that no world predicts are exactly 0,
        those of a certain label exactly 1.
    """

    model: Model
    winners: NDArray[np.int32]
    lower: Floats
    upper: Floats
    frame: nw.DataFrame[Any] | None = None
    names: RowNames | None = None

    @property
    def labels(self) -> tuple[Any, ...]:
        """The labels, in the order of the columns."""
        return self.model.index.labels

    @property
    def predicted(self) -> NDArray[np.object_]:
        """The predicted label of each point; None where labels tie."""
        return self.model.named(self.winners)

    @property
    def same(self) -> Floats:
        """Bounds of the share of the worlds that give the predicted label, points × 2; NaN without one."""
        both = np.stack([self.lower, self.upper], axis=2)
        own: Floats = both[np.arange(len(self)), np.maximum(self.winners, 0)]
        return np.where(self.winners[:, None] >= 0, own, np.nan)

    @property
    def sure(self) -> NDArray[np.bool_]:
        """Which predictions are the same in at least 99 % of the worlds."""
        return np.asarray(self.same[:, 0] >= SURE)

    @property
    def gap(self) -> float:
        """The greatest distance of two bounds."""
        return float((self.upper - self.lower).max(initial=0.0))

    def declared(self) -> dict[str, Column]:
        """Return the columns: the predicted label, how often it wins, all bounds."""
        names = [str(label) for label in self.labels]
        same = self.same
        columns = {
            "predicted": Column(names, self.winners, "predicted", lambda label: label or "–"),
            "same_lower": Column(
                same[:, 0], heading="worlds with the same label, at least", written=per_cent
            ),
            "same_upper": Column(same[:, 1]),
        }
        for name, lower, upper in zip(names, self.lower.T, self.upper.T, strict=True):
            columns[f"lower {name}"], columns[f"upper {name}"] = Column(lower), Column(upper)
        return columns

    def document(self) -> dict[str, Any]:
        """Return the JSON form."""
        names = [str(label) for label in self.labels]
        bounds = zip(self.predicted, self.lower.tolist(), self.upper.tolist(), strict=True)
        return {
            "n_points": len(self),
            "labels": names,
            "points": [
                {
                    "point": point,
                    **key_at(self.names, point),
                    "predicted": None if label is None else str(label),
                    "lower": dict(zip(names, lower, strict=True)),
                    "upper": dict(zip(names, upper, strict=True)),
                }
                for point, (label, lower, upper) in enumerate(bounds)
            ],
        }

    def __len__(self) -> int:
        return len(self.lower)

    def _origin(self) -> tuple[RowNames | None, nw.DataFrame[Any] | None]:
        return self.names, self.frame

    def take(self, places: NDArray[np.intp]) -> LabelOdds:
        """Return the odds of some of the points."""
        return replace(
            self,
            winners=self.winners[places],
            lower=self.lower[places],
            upper=self.upper[places],
            frame=some_rows(self.frame, places),
            names=None if self.names is None else self.names.take(places),
        )

    def _item(self, place: int) -> dict[Any, tuple[float, float]]:
        """Return the lower and the upper bound of each label of one point."""
        pairs = zip(self.lower[place].tolist(), self.upper[place].tolist(), strict=True)
        return dict(zip(self.labels, pairs, strict=True))

    def sentence(self, position: int, sign: str = PLAIN) -> str:
        """Write the share of the worlds in which a point has its predicted label."""
        low, high = self.same[position].tolist()
        if math.isnan(low):
            return "labels tie: nothing is predicted"
        return f"{odds(low, high, sign)} of the worlds give the same label"

    @property
    def headline(self) -> str:
        """How many predictions are the same in nearly all worlds."""
        n_sure, n_always = int(self.sure.sum()), int((self.same[:, 0] == 1).sum())
        verb = "is" if n_sure == 1 else "are"
        return (
            f"{n_sure:,} of {many(len(self), 'prediction')} {verb} the same in at least 99 % of the "
            f"worlds, {n_always:,} of them in all"
        )

    def _headline(self) -> str:
        return f"LabelOdds: {self.headline}"

    def weakest(self) -> NDArray[np.intp]:
        """Return the positions of the points, smallest share of the worlds first."""
        return np.argsort(np.nan_to_num(self.same[:, 0], nan=-1.0), kind="stable")

    def _shown_first(self) -> tuple[str, NDArray[np.intp]]:
        return "least sure first", self.weakest()

    def _line(self, place: int) -> str:
        label = self.predicted[place]
        return self.sentence(place) if label is None else f"{label}, {self.sentence(place)}"


def label_odds(
    index: CountIndex,
    points: Any,
    *,
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnMissing = "skip",
    cells: Cells = "observed",
    gap: float = 0.01,
    key: Key | None = None,
    on_progress: Progress | None = None,
) -> LabelOdds:
    """Bound how likely each label is when chance fills the missing cells of the training table.

    Parameters
    ----------
    points
        A data frame, a file, an array, a list of rows, or one row. The odds of a point come from its
        known cells.
    alpha
        Smoothing; 1 as scikit-learn users know it, 0 as in the paper.
    prior
        None for the label frequencies, ``"uniform"``, or one number per label.
    own_missing
        Only ``"skip"``; `certify`, `tolerance` and `witness` also take ``"any"``.
    cells
        ``"observed"``: a missing cell holds a value with the share that the value has among the known
        cells of the same column and label, without smoothing; where the label has no known cell in the
        column, all values of its domain are equally likely. ``"uniform"``: they always are, so odds are
        shares of worlds.
    gap
        How far apart the two bounds may be, at least 0.000001.
    key
        The names of the points in the result: one of their columns, or one name per point.
    on_progress
        Called with a description of the current step and the share of the work that is done.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> label_odds(index, [("a", "x"), ("a", "y")], cells="uniform")
    LabelOdds: 1 of 2 predictions is the same in at least 99 % of the worlds, 1 of them in all
      0: yes, 100 % of the worlds give the same label
      1: labels tie: nothing is predicted
    """
    model = Model(index, alpha, prior)
    encoded = model.points(points, own_missing, key)
    judged = verdicts(model, encoded)
    return odds_of(model, encoded, judged, cells=cells, gap=gap, on_progress=on_progress)


def odds_of(
    model: Model,
    points: Points,
    judged: Verdicts,
    *,
    cells: Cells = "observed",
    gap: float = 0.01,
    on_progress: Progress | None = None,
) -> LabelOdds:
    """Return the odds of points whose verdicts over all worlds are known; options as for `label_odds`."""
    if not isinstance(gap, numbers.Real) or not _LEAST_GAP <= gap <= 1:
        raise NullproofError(f"gap is {gap!r}; give a number from {_LEAST_GAP:f} to 1")
    refuse(model.index, points, "label_odds")
    if not isinstance(cells, str) or cells not in get_args(Cells):
        ways = either([repr(way) for way in get_args(Cells)])
        raise NullproofError(f"cells is {cells!r}; give {ways}")
    work = _Work(model.unbiased, cells, float(gap))
    lower, upper = (judged.possible.astype(np.float64) for _ in range(2))
    # Equal points are worked on once.
    is_open = np.flatnonzero(~judged.certain)
    _, first, which = np.unique(
        points.codes[:, is_open], axis=1, return_index=True, return_inverse=True
    )
    places = is_open[first]
    step = max(1, min(_POINTS, _NUMBERS // (2 * len(SLOPES) * model.m)))
    blocks = [places[start : start + step] for start in range(0, len(places), step)]
    for block in over(blocks, "weighing the worlds", on_progress):
        lower[block], upper[block] = work.bounds(points.codes[:, block], judged.possible[block])
    lower[is_open], upper[is_open] = lower[places[which]], upper[places[which]]
    if n_wide := int(((upper - lower).max(axis=1, initial=0.0) > gap).sum()):
        widest = float((upper - lower).max())
        notice(
            f"the odds of {many(n_wide, 'point')} are known only to within {widest:.2g}, not {gap:g}: "
            "labels tie too often there, or the gap is too small for so many columns"
        )
    return LabelOdds(model, predictions(model, points), lower, upper, points.frame, points.names)


class _Work:
    """One question: the model, how cells are filled, and what is remembered between points."""

    def __init__(self, model: Model, cells: Cells, gap: float) -> None:
        self._gap = gap
        self._terms = Terms(model, cells, gap)
        self._grid, self._products = Grid(self._terms), Products(model)

    def bounds(self, codes: Codes, possible: Mask) -> Bounds:
        """Bound the odds of some points (features × points), to within the gap if possible."""
        supports = LogSupports.of(self._terms, codes, possible)
        lower, upper = supports.bounds()
        for place in np.flatnonzero((upper - lower).max(axis=1) > self._gap).tolist():
            here = slice(place, place + 1)
            one, first = supports.take(here), (lower[here], upper[here])
            lower[here], upper[here] = self._narrowed(codes[:, place].tolist(), one, first)
        return lower, upper

    def _narrowed(self, codes: list[int], supports: LogSupports, bounds: Bounds) -> Bounds:
        """Make the bounds of a point closer: on ever finer grids, by exact products where labels tie."""
        labels, others = near_labels(supports, bounds[1], self._gap)
        is_tried = supports.log_products.max() <= _FEW
        if is_tried and (exact := self._exactly(codes, supports, bounds)) is not None:
            return exact
        level, jump, before = self._grid.first_level(supports, labels, self._gap), 0, math.inf
        found = self._grid.bounds(codes, supports, labels, level)
        while found is None and level > _COARSEST:
            # A coarser grid is better than none.
            level -= 1
            found = self._grid.bounds(codes, supports, labels, level)
        while found is not None:
            lower, upper = bounds[0].copy(), bounds[1].copy()
            # Who wins is ahead of these labels, but another one may be ahead of the one that leads them.
            lower[0, labels], upper[0, labels] = found[0] - others, found[1]
            bounds = _closer(bounds, (lower, upper), supports.possible)
            width = float((bounds[1] - bounds[0]).max())
            if width <= self._gap:
                return bounds
            # Half the width of the grid halves the part of the gap that comes from it; ties stay.
            ties = (2.0**jump * width - before) / (2.0**jump - 1) if jump else 0.0
            if ties > self._gap and not is_tried:
                is_tried = True
                if (exact := self._exactly(codes, supports, bounds)) is not None:
                    return exact
            before = width
            jump = max(1, min(math.ceil(math.log2(width / (_AIM * self._gap))), _FURTHEST))
            level += jump
            labels, others = near_labels(supports, bounds[1], self._gap)
            found = self._grid.bounds(codes, supports, labels, level)
        return bounds if is_tried else self._exactly(codes, supports, bounds) or bounds

    def _exactly(self, codes: list[int], supports: LogSupports, bounds: Bounds) -> Bounds | None:
        labels, others = near_labels(supports, bounds[1], self._gap)
        if not len(labels) or supports.zero[0, labels].prod() > 0:
            # Where no label may have any support, the ones without a chance share the tie.
            labels, others = np.flatnonzero(supports.possible[0]), 0.0
        found = exact_bounds(self._terms, self._products, codes, supports, labels)
        if found is None:
            return None
        return _closer(bounds, (found[0] - others, found[1]), supports.possible)


def _closer(bounds: Bounds, others: Bounds, possible: Mask) -> Bounds:
    """Keep the closer ones of two pairs of bounds."""
    lower, upper = np.maximum(bounds[0], others[0]), np.minimum(bounds[1], others[1])
    if not (lower <= upper).all():
        raise AssertionError("bounds of odds cross")
    return together(lower, upper, possible)
