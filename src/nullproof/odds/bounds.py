"""Bounds of the odds of one point after another: by Chernoff, on a grid, or by exact products.

Each way gives proven bounds; the cheapest comes first, and the next one only where the bounds are
still too far apart (theory 6).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from nullproof.errors import NullproofWarning
from nullproof.model import Floats, Model
from nullproof.odds.filling import Filling, Terms, distance
from nullproof.odds.grid import Grid, Spread
from nullproof.odds.leaders import leaders
from nullproof.odds.products import Scales, products, side_by_side, winning_shares
from nullproof.reasons import too_many_completions
from nullproof.tables.points import Points
from nullproof.verdicts import verdicts

MAX_COMPLETIONS = 1024
_MAX_KNOWN = 100_000
# Up to 2**_QUICK products per label are quicker than a grid; beyond _LIMIT pairs they are given up.
_QUICK, _LIMIT = 11.0, 400_000
# Bounds as close as this that still do not tell will not.
_CLOSEST = 1e-5
# Nor will bounds that became hardly closer by twice the work.
_HARDLY = 0.75
# Most odds are far from any share that is asked for, which bounds as wide as this tell.
_COARSE = 0.1
_EPS = float(np.finfo(np.float64).eps)


class OddsBounds:
    """One question: the model, how cells are filled, and what is remembered between points."""

    def __init__(self, model: Model, filling: Filling, gap: float) -> None:
        self.model, self.gap = model, gap
        self._terms = Terms(model, filling, 0.01 * gap / (model.m * model.d))
        self._grid = Grid(model, self._terms, 0.02 * gap / (4 * model.m))
        self._scales = Scales(model)
        self._known: dict[bytes, tuple[Floats, Floats]] = {}
        self._widest, self._n_wide = 0.0, 0
        self.too_many: dict[int, str] = {}

    def after(self, model: Model, filling: Filling, changed: set[int]) -> OddsBounds:
        """The same question of a table in which only some features changed."""
        other = OddsBounds(model, filling, self.gap)
        other._terms = self._terms.after(model, filling, changed)
        other._grid = self._grid.after(model, other._terms, changed)
        return other

    def leaders(
        self, codes: NDArray[np.int32], possible: NDArray[np.bool_], share: float
    ) -> NDArray[np.intp]:
        """The labels whose odds surely reach a share, told of many complete points at once."""
        return leaders(self.model, self._terms, self._grid, codes, possible, share)

    def bounds(
        self, codes: NDArray[np.int32], possible: NDArray[np.bool_]
    ) -> tuple[Floats, Floats]:
        """Bound the odds of complete points (features × points), equal ones only once."""
        lower, upper = np.zeros(possible.shape), np.zeros(possible.shape)
        for place, own in enumerate(np.ascontiguousarray(codes.T)):
            key = own.tobytes()
            if key not in self._known:
                if len(self._known) >= _MAX_KNOWN:
                    self._known.clear()
                self._known[key] = self._of_point(own.tolist(), possible[place])
            lower[place], upper[place] = self._known[key]
        return lower, upper

    def of(self, points: Points, place: int, possible: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Bound the odds of one point, complete or not."""
        here = slice(place, place + 1)
        if not points.with_codes(points.codes[:, here]).complete[0]:
            return self.of_completions(points, place, possible)
        lower, upper = self.bounds(points.codes[:, here], possible[None])
        return lower[0], upper[0]

    def of_completions(
        self, points: Points, place: int, possible: NDArray[np.bool_]
    ) -> tuple[Floats, Floats]:
        """Bound the odds of an incomplete point: the least and the greatest of all completions.

        Where there are too many, only that a possible label has odds of 0 to 1; ``too_many`` says why.
        """
        n_completions = points.n_completions(place)
        if n_completions > MAX_COMPLETIONS:
            self.too_many[place] = too_many_completions(n_completions, MAX_COMPLETIONS)
            return np.zeros(len(possible)), possible.astype(np.float64)
        completions = points.completions(place)
        found = verdicts(self.model, completions)
        own, sure = found.possible, found.certain
        lower, upper = own[sure].min(axis=0, initial=True), own[sure].max(axis=0, initial=False)
        span = lower.astype(np.float64), upper.astype(np.float64)
        for filled, labels in zip(completions.codes.T[~sure].tolist(), own[~sure], strict=True):
            odds = self._of_point(filled, labels, span)
            span = np.minimum(span[0], odds[0]), np.maximum(span[1], odds[1])
        return span

    def notify(self) -> None:
        """Tell of bounds that are wider than was asked for."""
        if self._n_wide:
            warnings.warn(
                f"the odds of {self._n_wide:,} points are known only to within "
                f"{self._widest:.2g}, not {self.gap:g}: labels tie too often there",
                NullproofWarning,
                stacklevel=4,
            )

    def deciding(
        self, codes: list[int], is_possible: NDArray[np.bool_], share: float
    ) -> tuple[Floats, Floats]:
        """Bounds that tell whether the odds of a label reach a share, or else as close as can be."""
        lower, upper = np.zeros(self.model.m), is_possible.astype(np.float64)
        before = 1.0
        for lower, upper in self._closer(codes, is_possible, coarse=True):
            width = float((upper - lower).max())
            if lower.max() >= share or upper.max() < share or width <= _CLOSEST:
                break
            if width <= self.gap and width > _HARDLY * before:
                break
            before = width
        return lower, upper

    def moved(self, earlier: OddsBounds, j: int, code: int) -> float:
        """By how much odds can differ from those before one feature changed, for points with this value.

        The total variation distance of what the counts of its labels are by chance.
        """
        pairs = zip(self._terms.of(j, code), earlier._terms.of(j, code), strict=True)
        return float(sum(distance(now.count, then.count) for now, then in pairs))

    def _of_point(
        self,
        codes: list[int],
        is_possible: NDArray[np.bool_],
        span: tuple[Floats, Floats] | None = None,
    ) -> tuple[Floats, Floats]:
        """Bounds that are close enough, or that lie within ``span``."""
        lower, upper = np.zeros(self.model.m), is_possible.astype(np.float64)
        for lower, upper in self._closer(codes, is_possible):
            if (upper - lower <= self.gap).all():
                break
            if span is not None and (lower >= span[0]).all() and (upper <= span[1]).all():
                break
        else:
            self._n_wide += 1
            self._widest = max(self._widest, float((upper - lower).max()))
        return lower, upper

    def _closer(
        self, codes: list[int], is_possible: NDArray[np.bool_], *, coarse: bool = False
    ) -> Iterator[tuple[Floats, Floats]]:
        """Bounds of the odds of all labels, ever closer; those of a coarse grid first, if wanted."""
        possible = np.flatnonzero(is_possible)
        least, greatest = np.zeros(len(possible)), np.ones(len(possible))
        for found in self._attempts(codes, possible, coarse):
            least, greatest = _combined((least, greatest), found)
            lower, upper = np.zeros(self.model.m), np.zeros(self.model.m)
            lower[possible], upper[possible] = least, greatest
            yield lower, upper

    def _attempts(
        self, codes: list[int], possible: NDArray[np.intp], coarse: bool
    ) -> Iterator[tuple[Floats, Floats]]:
        """Bounds of the odds of the possible labels, by ever more work."""
        spread = self._grid.spread(codes, possible)
        if len(spread.labels):
            yield from self._of_spread(codes, possible, spread, coarse)
        else:
            # Every support is zero in every world that chance makes.
            equal = np.full(len(possible), 1 / len(possible))
            yield np.maximum(equal - spread.all_error, 0.0), equal + spread.all_error

    def _of_spread(
        self, codes: list[int], possible: NDArray[np.intp], spread: Spread, coarse: bool
    ) -> Iterator[tuple[Floats, Floats]]:
        # A label whose support is zero wins only where all other supports are zero too.
        chances = np.full(len(possible), float(spread.zero.min()) + spread.all_error)
        chances[np.searchsorted(possible, spread.labels)] = spread.chances()
        yield np.zeros(len(possible)), chances
        if coarse:
            yield from islice(self._on_grid(codes, possible, spread, _COARSE), 1)
        grid = self._on_grid(codes, possible, spread, self.gap)
        if spread.n_products.max() > _QUICK:
            yield from self._while_worth_it(grid)
        exact = self._exactly(codes, possible, spread)
        if exact is not None:
            yield exact
        yield from grid

    def _while_worth_it(
        self, attempts: Iterator[tuple[Floats, Floats]]
    ) -> Iterator[tuple[Floats, Floats]]:
        """Stop where ties, which no grid resolves, seem to be more likely than the gap."""
        before = math.inf
        for lower, upper in attempts:
            yield lower, upper
            width = float((upper - lower).max())
            # Half the grid width halves the part of the gap that comes from the grid; the rest stays.
            if 2 * width - before > self.gap:
                return
            before = width

    def _on_grid(
        self, codes: list[int], possible: NDArray[np.intp], spread: Spread, gap: float
    ) -> Iterator[tuple[Floats, Floats]]:
        chances = spread.chances()
        near = chances > 0.05 * gap / len(possible)
        left, others = spread.only(near), float(chances[~near].sum())
        places = np.searchsorted(possible, spread.labels)
        # A label whose support is zero has its share of the worlds where all supports are zero.
        share = float(np.prod(left.zero)) / len(possible)
        doubt = others + left.all_error
        for least, greatest in self._near_bounds(codes, left, len(possible), gap):
            lower = np.full(len(possible), max(share - doubt, 0.0))
            upper = np.full(len(possible), share + doubt)
            lower[places], upper[places] = 0.0, chances
            lower[places[near]] = np.maximum(least - others, 0.0)
            upper[places[near]] = np.minimum(greatest + others, 1.0)
            yield lower, upper

    def _near_bounds(
        self, codes: list[int], spread: Spread, n_possible: int, gap: float
    ) -> Iterator[tuple[Floats, Floats]]:
        """Bounds of the labels that stand a chance, as if the others stood none."""
        if len(spread.labels) == 1:
            yield 1.0 - spread.zero - spread.all_error, np.ones(1)
        level = self._grid.first_level(spread, gap)
        found = self._grid.bounds(codes, spread, level, n_possible)
        while found is None:
            level -= 1
            found = self._grid.bounds(codes, spread, level, n_possible)
        while found is not None:
            yield found
            level += 1
            found = self._grid.bounds(codes, spread, level, n_possible)

    def _exactly(
        self, codes: list[int], possible: NDArray[np.intp], spread: Spread
    ) -> tuple[Floats, Floats] | None:
        """Exact values with rounded probabilities; None if there are too many."""
        distributions, n_terms = [], 16
        alive = {*spread.labels.tolist()}
        for i in possible.tolist():
            if i not in alive:
                distributions.append((np.zeros(1, dtype=np.int64), np.ones(1)))
                continue
            counts = [self._terms.of(j, code)[i].count for j, code in enumerate(codes)]
            parts = [
                (self._scales.factors(i, j, range(c.first, c.first + len(c.probs))), c.probs)
                for j, c in enumerate(counts)
            ]
            made = products(parts, _LIMIT)
            if made is None:
                return None
            distributions.append(made)
            n_terms += sum(len(count.probs) for count in counts) + len(made[0])
        table = side_by_side(distributions, self._scales.of(tuple(possible.tolist())))
        shares = winning_shares(table)
        # Only sums and products of positive numbers: as many roundings as there are terms.
        error = spread.all_error + 8 * _EPS * n_terms
        return np.maximum(shares - error, 0.0), np.minimum(shares + error, 1.0)


def _combined(known: tuple[Floats, Floats], found: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """The closest of two pairs of bounds; all odds together are 1, which may tighten each."""
    least, greatest = np.maximum(known[0], found[0]), np.minimum(known[1], found[1])
    slack = 4 * _EPS * len(least)
    return (
        np.maximum(least, 1 - (greatest.sum() - greatest) - slack),
        np.minimum(greatest, 1 - (least.sum() - least) + slack),
    )
