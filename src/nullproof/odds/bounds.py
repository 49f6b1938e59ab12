"""Bounds of the odds of points, complete or not, to within a gap or as close as a share needs them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from nullproof.data.points import Points
from nullproof.errors import notice
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.model.verdicts import verdicts
from nullproof.odds.filling import Filling, distance
from nullproof.odds.narrowing import Bounds, Enough, Mask, Ways, narrowed
from nullproof.reasons import too_many_completions

MAX_COMPLETIONS = 1024
_MAX_KNOWN = 100_000
# Bounds as close as this that still do not tell will not.
_CLOSEST = 1e-4
# Nor will bounds that became hardly closer by more work.
_HARDLY = 0.75
# So many completions of a point are asked for at once; those before may make others needless.
_TOGETHER = 64


def too_many(points: Points, places: Iterable[int]) -> dict[int, str]:
    """The points whose completions nobody waits for, with the reason."""
    complete = points.complete
    numbers = {place: points.n_completions(place) for place in places if not complete[place]}
    return {
        place: too_many_completions(n, MAX_COMPLETIONS)
        for place, n in numbers.items()
        if n > MAX_COMPLETIONS
    }


class OddsBounds:
    """One question: the model, how cells are filled, and what is remembered between points."""

    def __init__(self, model: Model, filling: Filling, gap: float) -> None:
        self.model, self.gap, self._filling = model, gap, filling
        self._ways = Ways.of(model, filling, gap)
        self._known: dict[bytes, Bounds] = {}
        self._widest, self._n_wide = 0.0, 0

    def after(self, model: Model, filling: Filling, changed: set[int]) -> OddsBounds:
        """The same question of a table in which only some features changed."""
        other = OddsBounds(model, filling, self.gap)
        other._ways = self._ways.after(model, filling, changed)
        return other

    def wider(self, gap: float) -> OddsBounds:
        """The same question with bounds that may be further apart, from the same terms."""
        other = OddsBounds(self.model, self._filling, gap)
        other._ways = self._ways
        return other

    def of(self, points: Points, possible: Mask) -> Bounds:
        """Bound the odds of points, complete or with not `too_many` completions."""
        lower, upper = np.zeros(possible.shape), np.zeros(possible.shape)
        whole = np.flatnonzero(points.complete)
        lower[whole], upper[whole] = self.bounds(points.codes[:, whole], possible[whole])
        for place in np.flatnonzero(~points.complete).tolist():
            lower[place], upper[place] = self._of_completions(points, place)
        return lower, upper

    def bounds(self, codes: NDArray[np.int32], possible: Mask) -> Bounds:
        """Bound the odds of complete points (features × points), equal ones only once."""
        keys = [own.tobytes() for own in np.ascontiguousarray(codes.T)]
        new = {key: place for place, key in enumerate(keys) if key not in self._known}
        if len(self._known) + len(new) > _MAX_KNOWN:
            self._known, new = {}, {key: place for place, key in enumerate(keys)}
        some = np.fromiter(new.values(), dtype=np.intp, count=len(new))
        found = self._narrowed(codes[:, some], possible[some], self._close)
        self._note((found[1] - found[0])[~self._close(*found)])
        self._known.update(zip(new, zip(*found, strict=True), strict=True))
        lower, upper = np.zeros(possible.shape), np.zeros(possible.shape)
        for place, key in enumerate(keys):
            lower[place], upper[place] = self._known[key]
        return lower, upper

    def _of_completions(self, points: Points, place: int) -> Bounds:
        """Bound the odds of an incomplete point: the least and the greatest of all completions."""
        completions = points.completions(place)
        found = verdicts(self.model, completions)
        own, sure = found.possible, found.certain
        lower = own[sure].min(axis=0, initial=True).astype(np.float64)
        upper = own[sure].max(axis=0, initial=False).astype(np.float64)
        codes, possible = completions.codes[:, ~sure], own[~sure]
        for start in range(0, len(possible), _TOGETHER):
            here, enough = slice(start, start + _TOGETHER), partial(self._within, (lower, upper))
            least, most = self._narrowed(codes[:, here], possible[here], enough)
            self._note((most - least)[~enough(least, most, least)])
            lower = np.minimum(lower, least.min(axis=0))
            upper = np.maximum(upper, most.max(axis=0))
        return lower, upper

    def notify(self) -> None:
        """Tell of bounds that are wider than was asked for."""
        if self._n_wide:
            notice(
                f"the odds of {self._n_wide:,} points are known only to within "
                f"{self._widest:.2g}, not {self.gap:g}: labels tie too often there"
            )

    def deciding(self, codes: NDArray[np.int32], possible: Mask, share: float) -> Bounds:
        """Bounds that tell whether the odds of a label reach a share, or else as close as can be."""

        def enough(lower: Floats, upper: Floats, before: Floats) -> Mask:
            width = (upper - lower).max(axis=1)
            told = (lower.max(axis=1) >= share) | (upper.max(axis=1) < share)
            stuck = (width <= self.gap) & (width > _HARDLY * before)
            return np.asarray(told | (width <= _CLOSEST) | stuck)

        return narrowed(self._ways, (codes, possible), self.gap, enough, coarse=True)

    def moved(self, earlier: OddsBounds, j: int, code: int) -> float:
        """By how much odds can differ from those before one feature changed, for points with this value.

        The total variation distance of what the counts of its labels are by chance.
        """
        pairs = zip(self._ways.terms.of(j, code), earlier._ways.terms.of(j, code), strict=True)
        return float(sum(distance(now.count, then.count) for now, then in pairs))

    def _close(self, lower: Floats, upper: Floats, _: Floats | None = None) -> Mask:
        return np.asarray((upper - lower).max(axis=1, initial=0.0) <= self.gap)

    def _within(self, span: Bounds, lower: Floats, upper: Floats, _: Floats) -> Mask:
        """Whether bounds are close, or widen those of the completions before in no way."""
        inside = (lower >= span[0]).all(axis=1) & (upper <= span[1]).all(axis=1)
        return np.asarray(inside | self._close(lower, upper))

    def _note(self, apart: Floats) -> None:
        """Remember points whose bounds are too far apart."""
        self._n_wide += len(apart)
        self._widest = max(self._widest, float(apart.max(initial=0.0)))

    def _narrowed(self, codes: NDArray[np.int32], possible: Mask, enough: Enough) -> Bounds:
        return narrowed(self._ways, (codes, possible), self.gap, enough)
