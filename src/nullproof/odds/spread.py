"""What is known of the log supports of many points before anything is rounded: means and reaches.

Chernoff bounds for all points at once. Most odds are far from any share that is asked for, so they
tell of most points already; grids are for the others (theory 6).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.odds.terms import SLOPES, Term, Terms, exponents, reaches

_EPS = float(np.finfo(np.float64).eps)
_FIRST = 8
# What a value of a feature adds to some sums, labels × numbers.
OfValue = Callable[[int, int], Floats]


@dataclass(frozen=True)
class Spread:
    """The log supports of complete points by chance; arrays hold points × labels.

    Parameters
    ----------
    possible
        The labels that win in some world.
    alive
        Those of them whose support is not surely zero. The numbers of the others mean nothing.
    base
        The support's logarithm if every finite term had its least value.
    mean, variance, above, below
        Mean and variance of the log support where it is finite, and how far it gets from its mean.
    zero
        The probability of a support of zero.
    error
        The probability that was cut off with the tails; 0 for labels that are not possible.
    slack
        A bound of the rounding errors of its logarithm.
    n_open
        How many terms are not constant.
    n_products
        The binary logarithm of how many products of counts there are at most.
    curves
        Chernoff exponents of the log support around its mean, points × labels × 2·slopes.
    chance
        The probability given to each Chernoff bound of how far something gets.
    """

    possible: NDArray[np.bool_]
    alive: NDArray[np.bool_]
    base: Floats
    mean: Floats
    variance: Floats
    above: Floats
    below: Floats
    zero: Floats
    error: Floats
    slack: Floats
    n_open: Floats
    n_products: Floats
    curves: Floats
    chance: float

    def take(self, places: NDArray[np.intp]) -> Spread:
        """The same of some of the points."""
        names = [field.name for field in fields(self) if field.name != "chance"]
        return replace(self, **{name: getattr(self, name)[places] for name in names})

    def errors(self, near: NDArray[np.bool_]) -> Floats:
        """The probability cut off with the tails of some labels and of those that are surely zero.

        With room for second order terms.
        """
        some: Floats = np.where(near | ~self.alive, self.error, 0.0).sum(axis=1)
        return 1.1 * some + 4 * _EPS

    @property
    def rare(self) -> float:
        """A probability of which a point can have a few without wider bounds that anybody notices."""
        return self.chance * float(self.possible.shape[1]) ** 2 / 4

    def bounds(self) -> tuple[Floats, Floats]:
        """First bounds of the odds: how rarely each label reaches the likeliest one.

        Chernoff again, for the difference of the two log supports. A label whose support is surely
        zero wins only where all other supports are zero too.
        """
        n_labels = self.possible.sum(axis=1, keepdims=True)
        doubt, none = self.errors(self.alive)[:, None], ~self.alive.any(axis=1, keepdims=True)
        rarest = np.where(self.alive, self.zero, 1.0).min(axis=1, keepdims=True)
        upper = np.where(self.alive, self._reaching(), rarest + doubt)
        # Every support is zero in every world that chance makes.
        equal = 1.0 / n_labels
        upper = np.where(none, equal + doubt, upper)
        lower = np.where(none, np.maximum(equal - doubt, 0.0), 0.0)
        return np.where(self.possible, lower, 0.0), np.where(self.possible, upper, 0.0).clip(max=1)

    def _reaching(self) -> Floats:
        best = self.mean.argmax(axis=1)[:, None]
        own = {name: np.take_along_axis(getattr(self, name), best, axis=1) for name in _OF_BEST}
        down = np.take_along_axis(self.curves, best[:, :, None], axis=1)[:, :, len(SLOPES) :]
        with np.errstate(invalid="ignore", under="ignore", over="ignore"):
            lead = own["mean"] - self.mean - self.slack - own["slack"]
            heights = self.curves[:, :, : len(SLOPES)] + down - SLOPES * lead[:, :, None]
            reached = np.exp(heights.min(axis=2))
        bound: Floats = 1.01 * reached + own["zero"] + 1.1 * (self.error + own["error"]) + 4 * _EPS
        np.put_along_axis(bound, best, 1.0, axis=1)
        return bound


_OF_BEST = ("mean", "slack", "zero", "error")


class Spreads:
    """The spreads of the points of one model."""

    def __init__(self, model: Model, terms: Terms) -> None:
        self._model, self._terms = model, terms
        self._sums: dict[tuple[int, int], Floats] = {}

    def after(self, model: Model, terms: Terms, changed: set[int]) -> Spreads:
        """Those of a table in which only some features changed; what is known of others stays."""
        other = Spreads(model, terms)
        other._sums = {key: own for key, own in self._sums.items() if key[0] not in changed}
        return other

    def of(self, codes: NDArray[np.int32], possible: NDArray[np.bool_], chance: float) -> Spread:
        """Sum up the terms of complete points (features × points)."""
        total = summed(codes, self._of_value, (self._model.m, _FIRST + 2 * len(SLOPES)))
        constants, magnitudes = self._terms.constants
        least, mean, variance, log_finite, error, magnitude, n_open, n_products = np.moveaxis(
            total[:, :, :_FIRST], 2, 0
        )
        alive = possible & (log_finite > -np.inf) & (constants > -np.inf)
        curves = total[:, :, _FIRST:]
        above, below = reaches(curves, SLOPES, chance)
        return Spread(
            possible=possible,
            alive=alive,
            base=np.where(alive, constants + least, 0.0),
            mean=np.where(alive, constants + mean, -np.inf),
            variance=variance,
            above=above,
            below=below,
            zero=-np.expm1(log_finite),
            error=np.where(possible, error, 0.0),
            slack=4 * self._model.slack(magnitude + magnitudes),
            n_open=n_open,
            n_products=n_products,
            curves=curves,
            chance=chance,
        )

    def _of_value(self, j: int, code: int) -> Floats:
        """What a value adds to the sums of each label: eight numbers, then Chernoff exponents."""
        key = (j, code)
        if key not in self._sums:
            self._sums[key] = _of_terms(self._terms.of(j, code), *self._terms.table(j, code))
        return self._sums[key]


def summed(codes: NDArray[np.int32], of_value: OfValue, shape: tuple[int, int]) -> Floats:
    """Per point the sum of what the value of each of its features adds, points × labels × numbers."""
    total = np.zeros((codes.shape[1], *shape))
    for j, own in enumerate(codes if len(total) else ()):
        used, places = np.unique(own, return_inverse=True)
        total += np.stack([of_value(j, int(code)) for code in used])[places]
    return total


def _of_terms(terms: list[Term], above: Floats, shares: Floats) -> Floats:
    middle = (above * shares).sum(axis=1)
    apart = np.where(shares > 0, above - middle[:, None], 0.0)
    variance = (apart**2 * shares).sum(axis=1)
    least = np.array([term.logs[0] if len(term.logs) else 0.0 for term in terms])
    finite = [_log_finite(term) for term in terms]
    errors, magnitudes = ([t.count.error for t in terms], [t.magnitude for t in terms])
    sizes = np.array([(len(term.logs) > 1, len(term.count.probs)) for term in terms], dtype=float)
    numbers = least, least + middle, variance, finite, errors, magnitudes, sizes[:, 0]
    curves = exponents(apart, shares, SLOPES)
    return np.column_stack([*numbers, np.log2(sizes[:, 1]), curves])


def _log_finite(term: Term) -> float:
    return math.log1p(-term.zero) if len(term.logs) and term.zero < 1 else -math.inf
