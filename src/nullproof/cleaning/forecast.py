"""How many points will be done as groups of cells are filled one after another.

The expected number is an average over random fillings. All steps use the same ones, so that the
numbers never fall by chance. The best case takes each point with the values that suit it best.

With a bias, a filled cell is a known cell, so it changes what is assumed of the rest of its group:
the box is made anew for every random filling. These numbers may fall, where cells turn out otherwise
than the bias allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.cleaning.best_case import Winning, best_other, log_terms
from nullproof.cleaning.holed import Holed, beyond
from nullproof.cleaning.ranges import Integers, Ranges, open_counts
from nullproof.counts.index import LEFT_OUT
from nullproof.data.points import Points, evenly
from nullproof.model.bias import Floats, Groups
from nullproof.model.bias import held as held_of
from nullproof.model.model import Model
from nullproof.odds.filling import Filling
from nullproof.progress import Progress, over

# Stands for the logarithm of zero: below every sum of logarithms, and can be taken back from one.
_ZERO = -(2.0**20)
_MARGIN = 1e-8
_MOST_HOLED, _MOST_PICKED = 1000, 10**9


class Part(NamedTuple):
    """Open training cells of a label and a feature."""

    label: int
    feature: int
    n_cells: int


class OwnPart(NamedTuple):
    """Cells of one feature that points lack, by the positions of the points."""

    feature: int
    points: tuple[int, ...]

    @property
    def n_cells(self) -> int:
        return len(self.points)


@dataclass(frozen=True)
class Forecast:
    """Points that will be done after each of the parts: on average, and at best."""

    expected: Floats
    best: Integers


def forecast(
    model: Model,
    points: Points,
    places: NDArray[np.intp],
    filling: Filling,
    parts: Sequence[Part | OwnPart],
    *,
    confidence: float,
    done: NDArray[np.bool_] | None = None,
    n_draws: int = 32,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> Forecast:
    """Foresee how many of the points at some places are done after the first, the second, … part.

    Expected is an estimate, of many points with holes by an even sample; best is exact for complete
    points if all groups are filled wholly. Below a confidence of 1, best also counts the points that at
    least one random filling settles. ``done`` tells which of all points are done now, if some are.
    """
    is_done = np.zeros(len(points), dtype=bool) if done is None else done
    complete = points.complete[places]
    rng = np.random.default_rng(seed)
    crowds: list[_Whole | _Lacking] = []
    if complete.any():
        crowds.append(_Whole(model, points, places[complete], is_done, confidence, n_draws))
    if not complete.all():
        chance = n_draws, np.random.default_rng(seed + 1)
        crowds.append(_Lacking(model, points, places[~complete], filling, confidence, chance))
    expected, best = np.zeros(len(parts)), np.zeros(len(parts), dtype=np.int64)
    for step, part in enumerate(over(parts, "foreseeing what each step brings", on_progress)):
        counts = None
        if isinstance(part, Part):
            counts = _draw(model, filling, part, (n_draws, rng))
        for crowd in crowds:
            crowd.fill(part, counts)
            mean, most = crowd.judge()
            expected[step] += mean
            best[step] += most
    strict = model.unbiased is model
    return Forecast(np.maximum.accumulate(expected) if strict else expected, best)


Tables = tuple[Integers, Integers]


class _Whole:
    """Points without holes of their own."""

    def __init__(
        self,
        model: Model,
        points: Points,
        places: NDArray[np.intp],
        done: NDArray[np.bool_],
        confidence: float,
        n_draws: int,
    ) -> None:
        self.points, self.confidence = points.take(places), confidence
        ranges = Ranges.of(model, self.points)
        self.drawn = _Drawn(model, ranges, n_draws)
        self.winning = Winning(model, self.points, ranges)
        self._ever = np.zeros(len(places), dtype=bool)
        self._enough: Floats = np.zeros(len(places))
        if confidence < 1:
            enough = NormalDist().inv_cdf(confidence)
            self._enough = np.where(done[places], enough, beyond(self.drawn.ratios()[0], enough))

    def fill(self, part: Part | OwnPart, counts: Tables | None) -> None:
        if isinstance(part, Part) and counts is not None:
            self.drawn.fill(part, _looked_up(self.points, part.feature, *counts))
            self.winning.fill(*part)

    def judge(self) -> tuple[float, int]:
        """How many points are done on average, and at best."""
        done = self.drawn.certain & self.winning.judge()
        if self.confidence < 1:
            done |= self.drawn.ratios() > self._enough
        self._ever |= self.winning.certain | done.any(axis=0)
        return float(done.sum(axis=1).mean()), int(self._ever.sum())


class _Lacking:
    """Points with holes of their own: all for the best case, an even sample for what is expected."""

    def __init__(
        self,
        model: Model,
        points: Points,
        places: NDArray[np.intp],
        filling: Filling,
        confidence: float,
        chance: tuple[int, np.random.Generator],
    ) -> None:
        lacking = points.take(places)
        self.winning = Winning(model, lacking, Ranges.of(model, lacking))
        some = evenly(np.arange(len(places)), min(_MOST_HOLED, Holed.most(model.m, chance[0])))
        self._some, self._scale = some, len(places) / len(some)
        self.holed = Holed(model, lacking.take(some), filling, confidence, chance)
        self._place = {int(t): k for k, t in enumerate(places[some].tolist())}
        self._ever = np.zeros(len(places), dtype=bool)

    def fill(self, part: Part | OwnPart, counts: Tables | None) -> None:
        if isinstance(part, OwnPart):
            here = [self._place[t] for t in part.points if t in self._place]
            self.holed.fill_own(part.feature, np.array(here, dtype=np.intp))
        elif counts is not None:
            self.holed.fill(part.label, part.feature, *counts)
            self.winning.fill(*part)

    def judge(self) -> tuple[float, int]:
        """How many points are done on average, and at best."""
        done = self.holed.done()
        self._ever |= self.winning.judge()
        self._ever[self._some] |= done.any(axis=0)
        expected = float(done.sum(axis=1).mean()) * self._scale
        return min(expected, float(self._ever.sum())), int(self._ever.sum())


class _Drawn:
    """Log supports under many random fillings at once; draws × points × labels."""

    def __init__(self, model: Model, ranges: Ranges, n_draws: int) -> None:
        self.model, self.ranges = model, ranges
        self._terms = [
            _finite(log_terms(model, counts)) for counts in (ranges.low, ranges.high, ranges.likely)
        ]
        prior = _finite(model.log_prior)
        shape = (n_draws, *ranges.low.shape[:2])
        self.low, self.high, self.mean = (
            np.broadcast_to(terms.sum(axis=2) + prior, shape).copy() for terms in self._terms
        )
        self._share = (ranges.likely - ranges.low) / np.maximum(ranges.high - ranges.low, 1)
        share = (ranges.likely - ranges.least) / np.maximum(ranges.n_open, 1)
        size = np.maximum(ranges.likely + float(model.alpha), 0.5)
        self._variance = ranges.n_open * share * (1 - share) / size**2
        self.variance = self._variance.sum(axis=2)

    def fill(self, part: Part, counts: Tables) -> None:
        """Fill cells of a group; ``counts`` are the least and the greatest afterwards, draws × points."""
        i, j, n_cells = part
        low, high = counts
        likely = low + (high - low) * self._share[:, i, j]
        sums = (self.low, self.high, self.mean)
        for total, own, after in zip(sums, self._terms, (low, high, likely), strict=True):
            moved = self._term(i, j, after) - own[:, i, j]
            total[:, :, i] += np.where(after == LEFT_OUT, 0.0, moved)
        done = n_cells / max(int(open_counts(self.model.index)[i, j]), 1)
        self.variance[:, i] -= done * self._variance[:, i, j]

    def _term(self, i: int, j: int, counts: Integers | Floats) -> Floats:
        alpha, index = float(self.model.alpha), self.model.index
        size = index.label_counts[i] + alpha * float(index.n_values[j])
        with np.errstate(divide="ignore", invalid="ignore"):
            return _finite(np.log((counts + alpha) / max(size, 1e-300)))

    @property
    def certain(self) -> NDArray[np.bool_]:
        """Which points are certain, draws × points."""
        low, high = (np.where(sums < _ZERO / 2, -np.inf, sums) for sums in (self.low, self.high))
        return np.asarray((low > best_other(high) + _MARGIN).any(axis=2))

    def ratios(self) -> Floats:
        """How far the probable winner leads its closest rival compared with the spread of the lead."""
        winner = self.mean.argmax(axis=2)[..., None]
        spread = np.broadcast_to(np.maximum(self.variance, 0.0), self.mean.shape)
        lead = np.take_along_axis(self.mean, winner, 2) - self.mean
        both = np.sqrt(spread + np.take_along_axis(spread, winner, 2))
        np.put_along_axis(lead, winner, np.inf, 2)
        has_support = np.take_along_axis(self.mean, winner, 2)[..., 0] > _ZERO / 2
        found: Floats = ((lead - _MARGIN) / np.maximum(both, _MARGIN)).min(axis=2)
        return np.where(has_support, found, -np.inf)


def _draw(
    model: Model, filling: Filling, part: Part, chance: tuple[int, np.random.Generator]
) -> Tables:
    """The least and the greatest counts of each value after cells of a group were filled by chance.

    Draws × values and one outside the domain. If only a part of a group is filled, chance also picks
    which cells.
    """
    (i, j, n_cells), index, (n_draws, rng) = part, model.index, chance
    size = int(index.n_values[j])
    held = np.zeros((n_draws, size + 1), dtype=np.int64)
    gone = np.zeros_like(held)
    sorts = [(tuple(range(size)), int(index.n_null[j, i]))]
    sorts += [(candidates, int(cells[i])) for candidates, cells in index.sets[j].items()]
    shares = _picked([n for _, n in sorts], n_cells, chance)
    for (candidates, _), n_filled in zip(sorts, shares.T, strict=True):
        if n_filled.any():
            weights = filling.weights(j, candidates)[:, i]
            held[:, list(candidates)] += rng.multinomial(n_filled, weights / weights.sum())
            gone[:, list(candidates)] += n_filled[:, None]
    low, high = index.low(j)[:, i] + held, index.high(j)[:, i] - gone + held
    if model.bias[j] < 1:
        left = {candidates: np.zeros(n_draws, dtype=np.int64) for candidates, _ in sorts}
        for (candidates, n_there), n_filled in zip(sorts, shares.T, strict=True):
            left[candidates] += n_there - n_filled
        high = low + 0
        for candidates, n_left in left.items():
            least, most = _held(model, j, index.exact(j)[:, i] + held, candidates, n_left)
            low[:, list(candidates)] += least
            high[:, list(candidates)] += most
    return low, high


def _picked(sorts: list[int], n_cells: int, chance: tuple[int, np.random.Generator]) -> Integers:
    """How many cells of each sort are among so many that chance picks, draws × sorts.

    NumPy picks among less than a billion; of more, each sort gets its due.
    """
    (n_draws, rng), whole = chance, sum(sorts)
    if whole < _MOST_PICKED:
        return rng.multivariate_hypergeometric(sorts, n_cells, size=n_draws)
    ends = [end * n_cells // whole for end in accumulate(sorts, initial=0)]
    return np.tile(np.diff(ends), (n_draws, 1))


def _held(
    model: Model, j: int, known: Integers, candidates: tuple[int, ...], n_left: Integers
) -> tuple[Integers, Integers]:
    """Of the cells left in a group, the fewest and the most with each candidate; draws × candidates.

    ``known`` counts the label's known cells after the filling, draws × values. Each draw has its own
    reference, so draws take the place that labels have in `Groups`.
    """
    own = known[:, list(candidates)].T
    shape = own.shape
    groups = Groups(
        own,
        np.broadcast_to(n_left, shape),
        np.broadcast_to(own.sum(axis=0), shape),
        np.full((len(own), 1), len(candidates), dtype=np.int64),
    )
    least, most = held_of(groups, model.alpha, model.bias, np.full(len(own), j))
    return least.T, most.T


def _looked_up(points: Points, j: int, low: Integers, high: Integers) -> Tables:
    """Counts of complete points from those of the values (draws × values)."""
    left_out = np.full((len(low), 1), LEFT_OUT)
    low, high = np.hstack([low, left_out]), np.hstack([high, left_out])
    return low[:, points.codes[j]], high[:, points.codes[j]]


def _finite(terms: Floats) -> Floats:
    found: Floats = np.maximum(terms, _ZERO)
    return found
