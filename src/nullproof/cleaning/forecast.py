"""Estimate the effect of looking up cells, by one simulation on counts.

The groups of a plan are filled one after another by chance, as the known cells of the same label and
column are, in a number of random draws that all steps share. For a point, the cells of a group matter only
by how many take its value, so a draw is one multinomial number per group, not a table. The average
number of points that are done is an estimate; no verdict depends on it.

With a bias, a cell that is filled is a known cell: it changes what is assumed of the rest of its
group, so the box of the group is made anew in every draw, and a point that is done may be undone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.cleaning.order import open_cells
from nullproof.data.points import Points, evenly
from nullproof.model.bias import Floats, Groups, Integers, held
from nullproof.model.model import Model
from nullproof.progress import Progress, over

_DRAWS = 32
# Of the points that are not done, and of those that are, at most so many are followed; the fewer the
# more labels there are.
_MOST_POINTS, _FEWEST_POINTS, _MOST_SUPPORTS = 1000, 100, 8000
# Points are counted after so many parts of a long plan; in between a straight line will do.
_MOST_JUDGED = 400
# Stands for the logarithm of zero: below every sum of logarithms, and can be taken back from one.
_ZERO = -(2.0**20)
_MARGIN = 1e-8


class Part(NamedTuple):
    """Some missing cells of a label and a feature."""

    label: int
    feature: int
    n_cells: int


def forecast(
    model: Model,
    points: Points,
    done: NDArray[np.bool_],
    parts: Sequence[Part],
    on_progress: Progress | None = None,
) -> list[float]:
    """Estimate how many of all points are done after the first, the second, … part.

    Parameters
    ----------
    done
        Which points are done now.
    """
    most = max(_FEWEST_POINTS, min(_MOST_POINTS, _MOST_SUPPORTS // model.m))
    crowds = [evenly(np.flatnonzero(~done), most)]
    n_settled = int(done.sum())
    if not model.is_unbiased:
        crowds.append(evenly(np.flatnonzero(done), most // 2))
        n_settled = 0
    n_whole = (int((~done).sum()), int(done.sum()))
    stands_for = np.concatenate(
        [
            np.full(len(crowd), n / max(len(crowd), 1))
            for crowd, n in zip(crowds, n_whole, strict=False)
        ]
    )
    simulation = _Simulation(model, points.take(np.concatenate(crowds)))
    every = math.ceil(len(parts) / _MOST_JUDGED)
    judged, expected = [-1], [float(done.sum())]
    for place, part in enumerate(over(parts, "foreseeing what each step brings", on_progress)):
        simulation.fill(part)
        if (place + 1) % every == 0 or place + 1 == len(parts):
            judged.append(place)
            expected.append(n_settled + float(simulation.chance_done() @ stands_for))
    # Without a bias, a point that is done stays done, whatever the cells hold.
    along = np.maximum.accumulate(expected) if model.is_unbiased else np.array(expected)
    whole: list[float] = np.interp(np.arange(len(parts)), judged, along).tolist()
    return whole


def column_effects(
    model: Model, points: Points, done: NDArray[np.bool_], features: Sequence[int]
) -> list[float]:
    """Estimate how many points that are not done would be if one feature had no missing cells."""
    most = max(_FEWEST_POINTS, min(_MOST_POINTS, _MOST_SUPPORTS // model.m))
    left = np.flatnonzero(~done)
    start = _Simulation(model, points.take(evenly(left, most)))
    n_open, effects = open_cells(model), []
    for j in features:
        simulation = start.copy()
        for i in np.flatnonzero(n_open[:, j]).tolist():
            simulation.fill(Part(i, j, int(n_open[i, j])))
        chances = simulation.chance_done()
        effects.append(float(chances.mean()) * len(left) if len(chances) else 0.0)
    return effects


class _Simulation:
    """The log supports of points in all draws while groups are filled; labels × draws × points."""

    def __init__(self, model: Model, points: Points) -> None:
        self._model, self._points = model, points
        self._rng = np.random.default_rng(0)
        self._groups: dict[tuple[int, int], _Group] = {}
        sums = np.repeat(np.maximum(model.log_prior, _ZERO)[:, None], len(points), axis=1)
        low, high = sums, sums.copy()
        for j in range(model.d):
            codes, places = points.used(j)
            for total, counts in ((low, model.low(j, codes)), (high, model.high(j, codes))):
                total += np.maximum(model.log_terms(j, counts), _ZERO)[places].T
        shape = (model.m, _DRAWS, len(points))
        self._low, self._high = (
            np.broadcast_to(total[:, None, :], shape).copy() for total in (low, high)
        )

    def copy(self) -> _Simulation:
        """Return a copy of the state, to be filled differently."""
        other = copy(self)
        other._low, other._high, other._groups = self._low.copy(), self._high.copy(), {}
        return other

    def fill(self, part: Part) -> None:
        """Fill some cells of a group in every draw."""
        i, j, n_cells = part
        group = self._groups.get((i, j)) or _Group(self._model, self._points, i, j)
        self._groups[i, j] = group
        for total, change in zip(
            (self._low, self._high), group.fill(n_cells, self._rng), strict=True
        ):
            total[i] += change.take(group.places, axis=1)
        if not group.n_left:
            del self._groups[i, j]

    def chance_done(self) -> Floats:
        """Return the share of the draws in which each point is done."""
        # Only the label with the greatest support at best can exceed all others.
        winner = self._high.argmax(axis=0)[None]
        least = np.take_along_axis(self._low, winner, 0)[0]
        others = self._high.copy()
        np.put_along_axis(others, winner, -np.inf, 0)
        is_done = (least > others.max(axis=0) + _MARGIN) & (least > _ZERO / 2)
        share: Floats = is_done.mean(axis=0)
        return share


class _Group:
    """The cells of one label and feature in every draw: how many are filled, and with what."""

    def __init__(self, model: Model, points: Points, i: int, j: int) -> None:
        index, size = model.index, int(model.index.n_values[j])
        codes, places = points.used(j)
        # Values that no point has make no difference, nor points without a value of the domain.
        codes = codes[codes < size]
        self.places = np.minimum(places, len(codes))
        self.n_left = int(index.n_open[j, i])
        # As `label_odds` fills cells: like the known ones of the label, by equal chances without any.
        known = index.exact(j, np.arange(size))[:, i]
        weights = known if known.any() else np.ones(size)
        shares = weights[codes] / weights.sum()
        self._chances = np.append(shares, max(0.0, 1.0 - shares.sum()))
        self._known = np.repeat(index.exact(j, codes)[:, [i]], _DRAWS, axis=1)
        self._n_known = int(index.label_counts[i]) - self.n_left
        self._model, self._place, self._size = model, (i, j), size
        self._terms = self._log_terms()

    def fill(self, n_cells: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Fill cells by chance; return how the least and greatest log terms change, draws × values."""
        drawn = rng.multinomial(n_cells, self._chances / self._chances.sum(), size=_DRAWS)
        self._known += drawn[:, :-1].T
        self._n_known += n_cells
        self.n_left -= n_cells
        before, self._terms = self._terms, self._log_terms()
        least, most = (after - own for after, own in zip(self._terms, before, strict=True))
        return least, most

    def _log_terms(self) -> tuple[Floats, Floats]:
        """Return the least and the greatest log terms, draws × values; a last value changes nothing."""
        model, j = self._model, self._place[1]
        shape = self._known.shape
        least: Integers = np.zeros(shape, dtype=np.int64)
        most = np.full(shape, self.n_left, dtype=np.int64)
        if model.bias[j] < 1 and self.n_left and len(self._known):
            sizes = np.full((len(self._known), 1), self._size, dtype=np.int64)
            groups = Groups(self._known, most, np.full(shape, self._n_known), sizes)
            least, most = held(groups, model.alpha, [model.bias[j]], np.zeros(len(sizes), np.intp))
        return self._logs(self._known + least), self._logs(self._known + most)

    def _logs(self, counts: Integers) -> Floats:
        model, (i, j) = self._model, self._place
        alpha = float(model.alpha)
        size = float(model.index.label_counts[i]) + alpha * self._size
        with np.errstate(divide="ignore"):
            logs = np.log((counts + alpha) / size) * model.float_weights[j]
        unchanged = np.zeros((1, counts.shape[1]))
        return np.vstack([np.maximum(logs, _ZERO), unchanged]).T.copy()
