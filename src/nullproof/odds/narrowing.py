"""Bounds of the odds of complete points that become ever closer: by Chernoff, on grids, by exact products.

Each way gives proven bounds; the cheapest comes first, and the next one only where the bounds are
still too far apart (theory 6). All points of a question go through it together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.odds.crowds import Crowds, first_levels
from nullproof.odds.filling import Filling
from nullproof.odds.grid import Grid
from nullproof.odds.pairs import Pairs
from nullproof.odds.products import Scales, products, side_by_side, winning_shares
from nullproof.odds.spread import Spread, Spreads
from nullproof.odds.terms import Terms
from nullproof.odds.waves import Spectra

# Up to 2**_QUICK products per label are quicker than a grid; beyond _LIMIT pairs they are given up.
_QUICK, _LIMIT = 11.0, 400_000
# Most odds are far from any share that is asked for, which bounds as wide as this tell.
_COARSE = 0.1
# Labels that win as seldom as this share of the gap, all together, are left out of a grid.
_SELDOM = 0.25
# A grid is made finer by so many halvings at once, at least and at most, to reach this part of the gap.
_LEAST_JUMP, _FURTHEST, _AIM = 0.5, 3, 0.8
# So small a share of the gap goes to supports and roundings that are further off than assumed.
_RARE = 0.01
_EPS = float(np.finfo(np.float64).eps)
Mask = NDArray[np.bool_]
Places = NDArray[np.intp]
Bounds = tuple[Floats, Floats]
# Which points have bounds that are close enough; the last one is how far apart they were before.
Enough = Callable[[Floats, Floats, Floats], Mask]


@dataclass(frozen=True)
class Ways:
    """The ways to bound odds in one model, and what each remembers."""

    model: Model
    terms: Terms
    spreads: Spreads
    spectra: Spectra
    grid: Grid
    scales: Scales

    @classmethod
    def of(cls, model: Model, filling: Filling, gap: float) -> Ways:
        """Ways whose errors are small beside a gap."""
        terms = Terms(model, filling, 0.01 * gap / (model.m * model.d))
        grid, spectra = Grid(model, terms), Spectra(terms)
        return cls(model, terms, Spreads(model, terms), spectra, grid, Scales(model))

    def after(self, model: Model, filling: Filling, changed: set[int]) -> Ways:
        """The same for a table in which only some features changed."""
        terms = self.terms.after(model, filling, changed)
        spreads = self.spreads.after(model, terms, changed)
        spectra = self.spectra.after(terms, changed)
        grid = self.grid.after(model, terms, changed)
        return Ways(model, terms, spreads, spectra, grid, Scales(model))

    def first_levels(self, spread: Spread, near: Mask, gap: Floats) -> Floats:
        """How fine to begin with: levels of `odds`, each one twice as fine as the one before."""
        two = np.flatnonzero(near.sum(axis=1) == 2)
        levels = first_levels(spread, near, gap)
        levels[two] = Pairs(self.spectra).first_levels(spread.take(two), near[two], gap[two])
        return levels

    def odds(
        self, codes: NDArray[np.int32], spread: Spread, near: Mask, levels: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Bounds of the odds as if only the near labels stood a chance, and the levels that were reached.

        That is nan where a level is too fine. A grid is for what needs too many Fourier coefficients.
        """
        least, greatest = np.zeros(near.shape), np.ones(near.shape)
        reached = np.full(len(near), np.nan)
        n_near = near.sum(axis=1)
        for way, some in ((Pairs, n_near == 2), (Crowds, n_near > 2)):
            here = np.flatnonzero(some)
            least[here], greatest[here], reached[here] = way(self.spectra).bounds(
                codes[:, here], spread.take(here), near[here], levels[here]
            )
        others = np.flatnonzero(np.isnan(reached))
        whole = np.ceil(levels[others]).astype(np.int64)
        least[others], greatest[others], fits = self.grid.bounds(
            codes[:, others], spread.take(others), near[others], whole
        )
        reached[others] = np.where(fits, whole, np.nan)
        return least, greatest, reached

    def exactly(self, codes: list[int], one: Spread) -> Bounds | None:
        """Exact odds of one point with rounded probabilities; None if there are too many products."""
        distributions, n_terms = [], 16
        possible = np.flatnonzero(one.possible[0])
        for i in possible.tolist():
            if not one.alive[0, i]:
                distributions.append((np.zeros(1, dtype=np.int64), np.ones(1)))
                continue
            counts = [self.terms.of(j, code)[i].count for j, code in enumerate(codes)]
            parts = [
                (self.scales.factors(i, j, range(c.first, c.first + len(c.probs))), c.probs)
                for j, c in enumerate(counts)
            ]
            made = products(parts, _LIMIT)
            if made is None:
                return None
            distributions.append(made)
            n_terms += sum(len(count.probs) for count in counts) + len(made[0])
        table = side_by_side(distributions, self.scales.of(tuple(possible.tolist())))
        shares = np.zeros(self.model.m)
        shares[possible] = winning_shares(table)
        # Only sums and products of positive numbers: as many roundings as there are terms.
        error = float(one.errors(one.alive)[0]) + 8 * _EPS * n_terms
        return np.maximum(shares - error, 0.0), np.minimum(shares + error, 1.0)


def narrowed(
    ways: Ways,
    points: tuple[NDArray[np.int32], Mask],
    gap: float,
    enough: Enough,
    *,
    coarse: bool = False,
) -> Bounds:
    """Bounds of the odds that are enough, or as close as can be.

    Parameters
    ----------
    points
        Complete points (features × points) and which labels are possible for each.
    gap
        How close bounds should be made.
    coarse
        Whether much wider ones may be enough.
    """
    work = _Work(ways, points, gap, enough)
    work.settle(work.left[work.few[work.left]])
    work.refine(coarse)
    return work.lower, work.upper


class _Work:
    """Points on their way: their bounds so far, and those that are ``left`` to be worked on."""

    def __init__(
        self, ways: Ways, points: tuple[NDArray[np.int32], Mask], gap: float, enough: Enough
    ) -> None:
        self.ways, (self.codes, possible), self.gap, self._enough = ways, points, gap, enough
        # All together these take a small part of the gap, also where each label is bounded by itself.
        self.spread = ways.spreads.of(*points, _RARE * gap / ways.model.m**2)
        self._before = np.full(len(possible), np.inf)
        self.lower, self.upper = np.zeros(possible.shape), possible.astype(np.float64)
        self.left = np.arange(len(possible))
        self._combine(self.left, self.spread.bounds())
        self.left = self.left[self.spread.alive[self.left].any(axis=1)]

    @property
    def few(self) -> Mask:
        """Which points have so few products of counts that they are quickest listed."""
        alive = self.spread.alive
        most = self.spread.n_products.max(axis=1, where=alive, initial=0.0)
        return np.asarray(most <= _QUICK)

    def settle(self, places: Places) -> None:
        """Work out some points exactly, where that is possible; then they are done."""
        for place in places.tolist():
            one = self.spread.take(np.array([place]))
            found = self.ways.exactly(self.codes[:, place].tolist(), one)
            if found is not None:
                self._combine(np.array([place]), (found[0][None], found[1][None]))
                self.left = self.left[self.left != place]

    def refine(self, coarse: bool) -> None:
        """Bound the points that are left on ever finer grids."""
        n_points = len(self.lower)
        near, _ = self._near(self.left)
        wanted = np.full(len(near), max(_COARSE, self.gap) if coarse else self.gap)
        levels = np.zeros(n_points)
        spread = self.spread.take(self.left)
        levels[self.left] = self.ways.first_levels(spread, near, wanted)
        reached, tried = np.full(n_points, np.inf), np.zeros(n_points, dtype=bool)
        while len(self.left):
            here = self.left
            now = self._on_grid(here, levels[here])
            fits = ~np.isnan(now)
            # Too fine: a coarser one will do for points on no grid so far, the others are at their end.
            levels[here[~fits]] -= 1
            ended = here[~fits & np.isfinite(self._before[here])]
            self.settle(ended[~tried[ended]])
            self.left = np.setdiff1d(self.left, ended)
            levels[here[fits]] = now[fits]
            on = self.left[fits[np.searchsorted(here, self.left)]]
            tied = on[self._tied(on, levels[on] - reached[on]) & ~tried[on]]
            tried[tied] = True
            self.settle(tied)
            on = np.intersect1d(on, self.left)
            width = self._width(on)
            self._before[on], reached[on] = width, levels[on]
            levels[on] += np.log2(width / (_AIM * self.gap)).clip(_LEAST_JUMP, _FURTHEST)

    def _tied(self, places: Places, jumps: Floats) -> Mask:
        """Where ties, which no grid resolves, seem to be more likely than the gap."""
        # Half the grid width halves the part of the gap that comes from the grid; the rest stays.
        known = np.isfinite(jumps) & (jumps > 0)
        finer = np.exp2(np.where(known, jumps, 1.0))
        rest = (finer * self._width(places) - self._before[places]) / (finer - 1)
        return np.asarray(known & (rest > self.gap))

    def _near(self, places: Places) -> tuple[Mask, Floats]:
        """The labels that stand a chance, and the probability that any other one wins."""
        alive, upper = self.spread.alive[places], self.upper[places]
        chances = np.where(alive, upper, 0.0)
        order = np.argsort(chances, axis=1)
        seldom = np.take_along_axis(chances, order, axis=1).cumsum(axis=1) <= _SELDOM * self.gap
        far = np.empty_like(seldom)
        np.put_along_axis(far, order, seldom, axis=1)
        return alive & ~far, np.where(far, chances, 0.0).sum(axis=1)

    def _on_grid(self, places: Places, levels: Floats) -> Floats:
        """Bound some points on a grid each; the levels that were reached, nan where they are too fine."""
        near, others = self._near(places)
        spread = self.spread.take(places)
        least, greatest, reached = self.ways.odds(self.codes[:, places], spread, near, levels)
        # A label whose support is zero has its share of the worlds where all supports are zero.
        n_possible = spread.possible.sum(axis=1)
        share = (np.prod(spread.zero, axis=1, where=near) / n_possible)[:, None]
        # Who wins is ahead of the near ones, but others may be ahead of the one that leads these.
        rest, doubt = others[:, None], (others + spread.errors(near))[:, None]
        lower = np.where(near, least - rest, np.where(spread.alive, 0.0, share - doubt))
        upper = np.where(near, greatest, np.where(spread.alive, 1.0, share + doubt))
        fits = ~np.isnan(reached)
        self._combine(places[fits], (lower[fits], upper[fits]))
        return reached

    def _combine(self, places: Places, found: Bounds) -> None:
        """Take the closer bounds; all odds together are 1, which may tighten each."""
        least = np.maximum(self.lower[places], found[0])
        greatest = np.minimum(self.upper[places], found[1])
        slack = 4 * _EPS * self.spread.possible[places].sum(axis=1, keepdims=True)
        below = 1 - (greatest.sum(axis=1, keepdims=True) - greatest) - slack
        beyond = 1 - (least.sum(axis=1, keepdims=True) - least) + slack
        possible = self.spread.possible[places]
        self.lower[places] = np.where(possible, np.maximum(least, below), 0.0)
        self.upper[places] = np.where(possible, np.minimum(greatest, beyond), 0.0)
        done = self._enough(self.lower[places], self.upper[places], self._before[places])
        self.left = np.setdiff1d(self.left, places[done])

    def _width(self, places: Places) -> Floats:
        return np.asarray((self.upper[places] - self.lower[places]).max(axis=1, initial=0.0))
