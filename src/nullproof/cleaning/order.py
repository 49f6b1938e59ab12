"""Which missing cells to look up first: the one order that plans and the `Cleaner` follow.

The missing cells of one label and one feature form a *group*: they are interchangeable until their
values are known. A point is done once the least support of its probable winner exceeds the greatest
support of every rival. Filling a group closes a part of that gap, by what its cells will probably
hold. The score of a group is what it closes, summed over the points that are not done, those near
their goal first, per cell. Only the order of work depends on these floats, never a verdict.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.data.points import Points, evenly
from nullproof.model.bias import Floats, Integers
from nullproof.model.model import Model
from nullproof.model.verdicts import Verdicts, point_counts, verdicts

Booleans = NDArray[np.bool_]
Group = tuple[int, int]  # label and feature

# A column that is missing in more of its rows than this probably does not apply to them.
MOSTLY_MISSING = 0.9
_FEWEST_ROWS = 20
# Scores are worked out from an even sample of the points: this many, fewer in wide tables.
_MOST_POINTS, _FEWEST_POINTS, _MOST_TERMS = 1000, 100, 4_000_000
# The scores are worked out anew this often while all groups are put in order.
_ROUNDS = 400
# The logarithm that stands for zero, and the gaps below which points count alike.
_LEAST, _TINY, _NEAR = -60.0, 1e-9, 0.01


def open_cells(model: Model) -> Integers:
    """Count the missing cells of each group that a prediction may depend on, labels × features."""
    n_open = model.index.n_open.T.copy()
    # A domain of one value leaves no choice, and a column of weight 0 plays no part.
    n_open[:, (model.index.n_values == 1) | (model.float_weights == 0)] = 0
    return n_open


def mostly_missing(index: CountIndex) -> Booleans:
    """Return which features are missing in over nine tenths of the rows, in all but tiny tables."""
    n_missing = index.n_open.sum(axis=1)
    enough_rows = index.n_rows >= _FEWEST_ROWS
    return np.asarray((n_missing > MOSTLY_MISSING * index.n_rows) & enough_rows)


# Which cells can matter ---------------------------------------------------------------------------


def contenders(model: Model, points: Points, found: Verdicts) -> Booleans:
    """Return, points × labels, the labels whose cells can matter to points that are not done.

    These are the labels that are possible up to the bias. Where all their cells are known, they are
    the labels that are possible in any world, since a cell may turn out otherwise than the bias
    allows. A point whose labels tie in every world has none: no cell can help it. Exact.
    """
    contending = found.possible & (found.max_log > -np.inf)
    anywhere = found if model.is_unbiased else verdicts(model.unbiased, points)
    has_cells = _knows(points).T @ (open_cells(model) > 0).astype(np.float32).T > 0
    rest = ~(contending & has_cells).any(axis=1)
    contending[rest] = (anywhere.possible & (anywhere.max_log > -np.inf))[rest]
    contending[_always_tied(model.unbiased, points, anywhere)] = False
    return contending


def cells_that_matter(n_cells: Integers, points: Points, contending: Booleans) -> Booleans:
    """Return, labels × features, the groups with cells that some of the points depend on."""
    wanted = contending.T.astype(np.float32) @ _knows(points).T > 0
    return np.asarray(wanted & (n_cells > 0))


def _knows(points: Points) -> NDArray[np.float32]:
    """Return 1 where a point has a value of the domain, features × points."""
    return (points.codes < points.n_values[:, None]).astype(np.float32)


def _always_tied(model: Model, points: Points, found: Verdicts) -> Booleans:
    """Return the points that no label wins alone in any world; floats filter, integers decide."""
    greatest, rival = found.max_log, _greatest_other(found.min_log)
    with np.errstate(invalid="ignore"):
        lead = greatest - rival
        unclear = (np.abs(lead) <= model.slack(-(greatest + rival))) & np.isfinite(lead)
    tied = ~((lead > 0) & ~unclear).any(axis=1)
    known: dict[bytes, bool] = {}
    for place in np.flatnonzero(tied & unclear.any(axis=1)).tolist():
        key = points.codes[:, place].tobytes()
        if key not in known:
            known[key] = not _can_win(model, points, place)
        tied[place] = known[key]
    return np.asarray(tied)


def _can_win(model: Model, points: Points, place: int) -> bool:
    """Decide whether some label wins alone in some world: at its best, its rivals at their worst."""
    low, high = point_counts(model, points.codes[:, place])
    labels = range(model.m)
    return any(all(model.exceeds(i, high[i], k, low[k]) for k in labels if k != i) for i in labels)


def _greatest_other(supports: Floats) -> Floats:
    """Return, per point and label, the greatest support among the other labels."""
    every, best = np.arange(len(supports)), supports.argmax(axis=1)
    others = supports.copy()
    others[every, best] = -np.inf
    greatest = np.repeat(supports[every, best][:, None], supports.shape[1], axis=1)
    greatest[every, best] = others.max(axis=1)
    return greatest


# The order ----------------------------------------------------------------------------------------


class Order:
    """The groups of missing cells that matter to some points, and how much each would bring.

    Parameters
    ----------
    points
        The points that are not done.
    contending
        Their `contenders`.
    """

    def __init__(self, model: Model, points: Points, contending: Booleans) -> None:
        self.n_cells = open_cells(model)
        self.matters = cells_that_matter(self.n_cells, points, contending)
        most = max(_FEWEST_POINTS, min(_MOST_POINTS, _MOST_TERMS // (model.m * model.d)))
        sample = evenly(np.flatnonzero(contending.any(axis=1)), most)
        self._weigh(model, points.take(sample), contending[sample])

    def _weigh(self, model: Model, points: Points, contending: Booleans) -> None:
        """Work out what each group would close for each point, and how wide the gaps are."""
        low, high, likely = _log_terms(model, points)
        prior = np.maximum(model.log_prior, _LEAST)
        every = np.arange(len(points))
        sums = np.where(contending, likely.sum(axis=2).T + prior, -np.inf)
        winner = sums.argmax(axis=1) if len(points) else np.empty(0, dtype=np.intp)
        is_winner = np.zeros_like(contending)
        is_winner[every, winner] = True
        self._rivals = contending & ~is_winner
        # Labels × points × features: filling a group lifts the winner, or takes a rival down.
        self._closes = np.where(is_winner.T[:, :, None], likely - low, high - likely)
        self._closes *= contending.T[:, :, None] & self.matters[:, None, :]
        self._is_winner = is_winner.T
        # What the winner gains, it gains against every rival.
        n_rivals = self._rivals.sum(axis=1)
        self._times = np.where(self._is_winner, n_rivals, self._rivals.T).astype(np.float64)
        least = low.sum(axis=2).T[every, winner] + prior[winner]
        self._gaps = high.sum(axis=2).T + prior - least[:, None]

    def scores(self) -> Floats:
        """Return what the groups bring per cell, labels × features."""
        gaps = np.where(self._rivals, np.maximum(self._gaps, _TINY), 0.0).sum(axis=1)
        weights = self._times * np.maximum(gaps, _NEAR) ** -0.5
        closed: Floats = np.matmul(weights[:, None, :], self._closes)[:, 0, :]
        return closed / np.maximum(self.n_cells, 1)

    def ranking(self) -> list[Group]:
        """Return the groups that matter by their scores of now, the best first."""
        return self._best(self.scores(), self.matters)

    def groups(self) -> list[Group]:
        """Return the groups that matter, each scored as if those before it were filled already."""
        left, ordered = self.matters.copy(), list[Group]()
        at_once = math.ceil(left.sum() / _ROUNDS)
        while left.any():
            for label, feature in self._best(self.scores(), left)[:at_once]:
                ordered.append((label, feature))
                left[label, feature] = False
                self._fill(label, feature)
        return ordered

    def _fill(self, label: int, feature: int) -> None:
        """Go on as if the cells of a group had turned out as they probably will."""
        closed = self._closes[label, :, feature]
        is_winner = self._is_winner[label]
        self._gaps[:, label] -= np.where(is_winner, 0.0, closed)
        self._gaps -= np.where(is_winner, closed, 0.0)[:, None]

    @staticmethod
    def _best(scores: Floats, among: Booleans) -> list[Group]:
        order = np.argsort(np.where(among, -scores, np.inf), axis=None, kind="stable")
        first = order[: int(among.sum())].tolist()
        return [divmod(place, scores.shape[1]) for place in first]


def _log_terms(model: Model, points: Points) -> tuple[Floats, Floats, Floats]:
    """Return the least, greatest and likely log terms, each labels × points × features.

    Likely is what the known cells of the label suggest, within the bias; one cell is added to them,
    spread evenly over the values, so that no value counts as impossible.
    """
    index, shape = model.index, (model.m, len(points), model.d)
    terms: Any = tuple(np.empty(shape) for _ in range(3))
    for j in range(model.d):
        codes, places = points.used(j)
        low, high = model.low(j, codes), model.high(j, codes)
        n_known = index.label_counts - index.n_open[j]
        share = (index.exact(j, codes) + 1 / int(index.n_values[j])) / (n_known + 1)
        known, most = index.low(j, codes), index.high(j, codes)
        likely = np.clip(known + (most - known) * share, low, high)
        for target, counts in zip(terms, (low, high, likely), strict=True):
            table = np.maximum(model.log_terms(j, counts), _LEAST)
            target[:, :, j] = table[places].T
    return terms  # type: ignore[no-any-return]
