"""The fewest and the most cells that one point can need until it is certain (theory 7).

Best case. To make label ``a`` certain, cells of ``a`` that turn out to hold the point's value raise its
``low`` counts, and cells of a rival that do not hold it lower the rival's ``high`` counts. Raising
has falling gains, so the smallest count goes first, one step at a time. Lowering has growing gains, so
at most one feature of a rival is filled in part: what is left to choose is which ones are filled
wholly, by branch and bound. Straight lines above the gains bound the cells from below; they decide
nothing that `Model.exceeds` does not confirm.

Worst case. Filling cell after cell turns a world with one winner into a world with another, so
somewhere one last cell decides: all open cells of the possible labels can be needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from nullproof.cleaning.ranges import Ranges
from nullproof.cleaning.rivals import Effort, Rival, Together, reaches, surely
from nullproof.counts.index import LEFT_OUT, CountIndex
from nullproof.data.points import OwnHoles, Points, evenly
from nullproof.errors import NullproofError
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Prior
from nullproof.model.verdicts import Verdicts, point_counts, verdicts
from nullproof.reasons import reasons_of
from nullproof.selection import chosen
from nullproof.words import many, span

Counts = list[list[int]]
_EPS = float(np.finfo(np.float64).eps)
_TYPICAL, _FEWEST = 25, 5
# A point costs time for every feature and pair of labels.
_BUDGET = 60_000
# Of so many open cells of a label at a point each is a number in memory; more would not fit.
MOST_OPEN = 20_000_000
# A sentence about many points is not worth a long search for one.
_TYPICAL_EFFORT = 100
_HOLED = (
    "holes of its own, so the fewest cells depend on what they hold; fill them in, or leave them out "
    "with own_missing='skip'"
)


class Case(NamedTuple):
    """How many cells one point can need; what the parts mean is said at `Cases`."""

    best: float
    worst: float
    proven: bool
    not_worked_out: str | None


@dataclass(frozen=True, eq=False)
class Cases:
    """How many cells each point can need, points as they were given; a sequence of `Case`.

    Parameters
    ----------
    best
        The fewest cells whose right values make the point certain; 0 if it is, inf if nothing
        does (labels tie whatever the cells hold), NaN where it was not worked out.
    worst
        The most cells that can be needed: all that matter. In a world where labels tie even they
        do not make the point certain.
    proven
        Whether ``best`` is proven to be the fewest. On tables with dozens of features and millions of
        missing cells the search is cut short for some points: so many cells work, fewer might.
    not_worked_out
        The reason for each open point with holes of its own, or where a label has more than 20 million
        open cells; None for the others.
    """

    best: Floats
    worst: Floats
    proven: NDArray[np.bool_]
    not_worked_out: NDArray[np.object_] = field(repr=False)

    def take(self, places: NDArray[np.intp]) -> Cases:
        """The cases of some of the points."""
        reasons = self.not_worked_out[places]
        return Cases(self.best[places], self.worst[places], self.proven[places], reasons)

    def __len__(self) -> int:
        return len(self.best)

    @overload
    def __getitem__(self, position: int) -> Case: ...
    @overload
    def __getitem__(self, position: Any) -> Cases: ...
    def __getitem__(self, position: Any) -> Case | Cases:
        """One point by its position; several by a slice, positions or a mask."""
        place = chosen(position, len(self))
        if not isinstance(place, int):
            return self.take(place)
        numbers = float(self.best[place]), float(self.worst[place]), bool(self.proven[place])
        return Case(*numbers, self.not_worked_out[place])

    def __iter__(self) -> Iterator[Case]:
        return (self[place] for place in range(len(self)))


def cases(
    index: CountIndex,
    points: Any,
    *,
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnHoles = "skip",
) -> Cases:
    """Count the fewest and the most missing cells that each point needs until it is certain.

    This is about certainty, so it takes no bias.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("b", "y"), (None, "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> cases(index, [("a", "y"), ("b", "y")], alpha=1)
    Cases(best=array([1., 0.]), worst=array([2., 0.]), proven=array([ True,  True]))
    """
    model = Model(index, alpha, prior)
    model.refuse_weights("cleaning_plan")
    encoded = model.points(points, own_missing)
    return cases_of(model, encoded, verdicts(model, encoded))


def cases_of(model: Model, points: Points, found: Verdicts, effort: int | None = None) -> Cases:
    """The fewest and the most cells that points need whose verdicts are known; without a bias.

    ``effort`` is how many steps a search may take for one point; beyond it the fewest is an upper bound.
    """
    refuse_beyond_floats(model)
    possible, complete = found.possible, points.complete
    best, worst = np.zeros(len(points)), np.zeros(len(points))
    proven = np.ones(len(points), dtype=bool)
    holed = ~complete & ~found.certain
    best[holed] = worst[holed] = np.nan
    left = dict.fromkeys(np.flatnonzero(holed).tolist(), _HOLED)
    some = np.flatnonzero(~found.certain & complete)
    ranges = Ranges.of(model, points.take(some))
    # Cells of a label that has no support in any world change nothing, though it may tie at zero.
    matter = ranges.n_open.sum(axis=2) * (possible & (found.max_log > -np.inf))[some]
    for place, t in enumerate(some.tolist()):
        if matter[place].max() > MOST_OPEN:
            best[t] = worst[t] = np.nan
            left[t] = (
                f"a label has {matter[place].max():,} open cells there, more than {MOST_OPEN:,}"
            )
            continue
        best[t], proven[t] = best_case(model, points, t, possible[t], effort)
        worst[t] = matter[place].sum() if math.isfinite(best[t]) else math.inf
    return Cases(best, worst, proven, reasons_of(len(points), left))


def typical(model: Model, points: Points, found: Verdicts, *, is_goal: bool = True) -> str:
    """What complete points need at best and at worst until they are certain, by an even sample of them.

    ``is_goal``: whether certainty is what was asked for.
    """
    n_points = max(_FEWEST, min(_TYPICAL, _BUDGET // (model.d * model.m**2)))
    places = evenly(np.flatnonzero(~found.certain & points.complete), n_points)
    told = cases_of(model, points.take(places), found.take(places), _TYPICAL_EFFORT)
    best = np.sort(told.best[np.isfinite(told.best)])
    if not len(best):
        return ""
    least, middle, most = (int(best[place]) for place in (0, len(best) // 2, -1))
    worst = int(told.worst[np.isfinite(told.worst)].max())
    fewest = many(least, "cell") if least == most else f"{span(least, most)} cells"
    until = (
        "Until it is certain, an open point"
        if is_goal
        else "Certainty, whatever the missing cells hold, asks for more: a point that lacks it"
    )
    return (
        f"{until} needs {fewest} at best ({middle:,} in the middle) and up to {worst:,} at worst."
    )


def refuse_beyond_floats(model: Model) -> None:
    """Refuse an alpha or a prior that doubles cannot hold, since the bounds are made of logarithms."""
    if not model.floats_hold:
        raise NullproofError(
            "alpha or the prior is too large or too small to foresee what cells bring; "
            "give numbers between 1e-150 and 1e150, or 0"
        )


def best_case(
    model: Model,
    points: Points,
    position: int,
    possible: NDArray[np.bool_],
    steps: int | None = None,
) -> tuple[float, bool]:
    """The fewest cells whose right values make a complete point certain; inf if none do.

    Also tells whether that is proven.
    """
    low, high = point_counts(model, points, position)
    fewest, effort = math.inf, Effort()
    effort.left = effort.left if steps is None else steps
    labels = [Rival(model, k, low[k], high[k]) for k in range(model.m)]
    for winner in np.flatnonzero(possible).tolist():
        rivals = [rival for rival in labels if rival.label != winner]
        fewest = _Winner(model, low, high, winner).fewest(rivals, fewest, effort)
    return fewest, effort.left > 0


class _Winner:
    """One point and the label that is to become certain."""

    def __init__(self, model: Model, low: Counts, high: Counts, winner: int) -> None:
        self.model, self.low, self.high, self.winner = model, low, high, winner
        steps = [np.arange(a, b) for a, b in zip(low[winner], high[winner], strict=True)]
        self._features = np.repeat(np.arange(model.d), [len(step) for step in steps])
        counts = np.concatenate(steps)
        order = np.argsort(counts, kind="stable")
        self._features, counts = self._features[order], counts[order]
        alpha = float(model.alpha)
        with np.errstate(divide="ignore"):
            gains = np.log1p(1 / (counts + alpha))
        start = model.log_support(winner, low[winner])
        # With alpha 0 there is no support until every feature with a count of zero is raised.
        n_zero = sum(c != LEFT_OUT and c + model.alpha == 0 for c in low[winner])
        self._reached, self._error = np.full(len(counts) + 1, -math.inf), 0.0
        if n_zero <= len(counts) and (not n_zero or np.isinf(gains[n_zero - 1])):
            start = model.log_support(winner, self._raised(n_zero)) if n_zero else start
            risen = np.concatenate([[0.0], np.cumsum(gains[n_zero:])])
            self._reached[n_zero:] = start + risen
            # A sum of millions of gains is rounded as often, which is not in `Model.slack`.
            self._error = 2 * _EPS * (len(counts) + 8) * float(risen[-1])

    def _raised(self, n_steps: int) -> list[int]:
        added = np.bincount(self._features[:n_steps], minlength=self.model.d)
        return [a + int(b) for a, b in zip(self.low[self.winner], added, strict=True)]

    def fewest(self, rivals: list[Rival], below: float, effort: Effort) -> float:
        """The fewest cells, if fewer than ``below``, else ``below``."""
        n_raised, hoped = np.arange(len(self._reached)), self._reached + self._error
        least = n_raised + sum(rival.at_least(hoped) for rival in rivals)
        most = n_raised + sum(rival.at_most(self._reached - self._error) for rival in rivals)
        some = np.flatnonzero(surely(least) <= min(below - 1, most.min()))
        # Where straight lines cannot tell, look closer, at all such numbers of steps together.
        searches = [rival.closer(hoped[some], effort) for rival in rivals]
        closer = some + sum(search.run() for search in searches)
        for place in np.argsort(closer, kind="stable").tolist():
            if reaches(closer[place], below):
                break
            below = min(below, self._cost(int(some[place]), place, searches, below))
            # Labels of equal size may tie at millions of places, none of which proves anything now.
            if not effort.left:
                break
        return below if effort.left else min(below, float(most.min()))

    def _cost(self, n_raised: int, place: int, searches: list[Together], below: float) -> float:
        """How many cells are needed in all if ``n_raised`` of them raise the winner; decided exactly."""
        counts, total = self._raised(n_raised), float(n_raised)
        for search in searches:
            if total < below:
                total += search.confirmed(place, self.winner, counts)
        return total
