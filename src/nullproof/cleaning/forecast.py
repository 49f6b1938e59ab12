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
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from nullproof.bias import Groups
from nullproof.bias import held as held_of
from nullproof.boxes import Integers, Ranges, open_counts
from nullproof.cleaning.best_case import Winning, best_other, log_terms
from nullproof.counts.index import LEFT_OUT
from nullproof.model import Floats, Model
from nullproof.odds.filling import Filling
from nullproof.progress import Progress, over
from nullproof.tables.points import Points

Part = tuple[int, int, int]  # label, feature and number of cells
# Stands for the logarithm of zero: below every sum of logarithms, and can be taken back from one.
_ZERO = -(2.0**20)
_MARGIN = 1e-8


@dataclass(frozen=True)
class Forecast:
    """Points that will be done after each of the parts: on average, and at best."""

    expected: Floats
    best: Integers


def forecast(
    model: Model,
    points: Points,
    filling: Filling,
    parts: Sequence[Part],
    *,
    confidence: float,
    n_draws: int = 32,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> Forecast:
    """Foresee how many of some points are done after the first, the second, … part.

    Expected is an estimate; best is exact for complete points if all groups are filled wholly. Below
    a confidence of 1, best also counts the points that at least one random filling settles.
    """
    ranges = Ranges.of(model, points)
    rng = np.random.default_rng(seed)
    drawn = _Drawn(model, ranges, points.complete, n_draws)
    winning = Winning(model, points, ranges)
    expected, best = np.zeros(len(parts)), np.zeros(len(parts), dtype=np.int64)
    ever = np.zeros(len(points), dtype=bool)
    for step, part in enumerate(over(parts, "foreseeing what each step brings", on_progress)):
        drawn.fill(part, _draw(model, filling, points, part, (n_draws, rng)))
        winning.fill(*part)
        done = drawn.certain & winning.judge()
        if confidence < 1:
            done |= drawn.by_odds(confidence)
        ever |= winning.certain | done.any(axis=0)
        expected[step], best[step] = done.sum(axis=1).mean(), ever.sum()
    strict = model.unbiased is model
    return Forecast(np.maximum.accumulate(expected) if strict else expected, best)


class _Drawn:
    """Log supports under many random fillings at once; draws × points × labels."""

    def __init__(
        self, model: Model, ranges: Ranges, complete: NDArray[np.bool_], n_draws: int
    ) -> None:
        self.model, self.ranges, self.complete = model, ranges, complete
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

    def fill(self, part: Part, counts: tuple[Integers, Integers]) -> None:
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

    def by_odds(self, confidence: float) -> NDArray[np.bool_]:
        """Which complete points one label probably wins, by normal distributions of log supports."""
        winner = self.mean.argmax(axis=2)[..., None]
        spread = np.broadcast_to(np.maximum(self.variance, 0.0), self.mean.shape)
        lead = np.take_along_axis(self.mean, winner, 2) - self.mean
        both = np.sqrt(spread + np.take_along_axis(spread, winner, 2))
        needed = NormalDist().inv_cdf(confidence) * both + _MARGIN
        np.put_along_axis(lead, winner, np.inf, 2)
        has_support = np.take_along_axis(self.mean, winner, 2)[..., 0] > _ZERO / 2
        return np.asarray((lead > needed).all(axis=2) & has_support & self.complete)


def _draw(
    model: Model,
    filling: Filling,
    points: Points,
    part: Part,
    chance: tuple[int, np.random.Generator],
) -> tuple[Integers, Integers]:
    """The least and the greatest counts of each point after cells of a group were filled by chance.

    Draws × points. If only a part of a group is filled, chance also picks which cells.
    """
    (i, j, n_cells), index, (n_draws, rng) = part, model.index, chance
    size = int(index.n_values[j])
    held = np.zeros((n_draws, size + 1), dtype=np.int64)
    gone = np.zeros_like(held)
    sorts = [(tuple(range(size)), int(index.n_null[j, i]))]
    sorts += [(candidates, int(cells[i])) for candidates, cells in index.sets[j].items()]
    shares = rng.multivariate_hypergeometric([n for _, n in sorts], n_cells, size=n_draws)
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
    return _looked_up(points, j, low, high)


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


def _looked_up(points: Points, j: int, low: Integers, high: Integers) -> tuple[Integers, Integers]:
    """Counts of the points from those of the values (draws × values), over their completions."""
    left_out = np.full((len(low), 1), LEFT_OUT)
    low, high = np.hstack([low, left_out]), np.hstack([high, left_out])
    used, places = points.used(j)
    candidates = [list(points.candidates(j, int(code))) for code in used]
    least = np.stack([low[:, own].min(axis=1) for own in candidates], axis=1)
    most = np.stack([high[:, own].max(axis=1) for own in candidates], axis=1)
    return least[:, places], most[:, places]


def _finite(terms: Floats) -> Floats:
    found: Floats = np.maximum(terms, _ZERO)
    return found
