"""Which features keep points from being certain: what would become certain if one of them were complete.

Two answers for each feature. *As the known cells*: its holes are filled in the proportions in which
the known cells of the same label hold the values, and then the points are certified again. *Could*:
some way to fill its holes makes the point certain, whatever the holes of other features hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.cleaning.best_case import Winning
from nullproof.cleaning.ranges import Ranges
from nullproof.counts.count import Counts, DenseCounts
from nullproof.counts.index import CountIndex
from nullproof.data.points import OwnHoles, Points, evenly
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Bias, Prior
from nullproof.model.verdicts import Verdicts, verdicts
from nullproof.progress import Progress, over
from nullproof.words import many, text

MOST_POINTS = 500
MOST_FEATURES = 40
_BLOCK = 20_000
# A point with holes costs time for every feature and label, again for each feature that is judged.
_BUDGET = 8_000
MEANING = (
    "Complete means: the holes of this feature are filled, all others stay open. Would: the holes "
    "are filled in the proportions of the known cells of the same label (whole cells by largest "
    "remainder; evenly where none is known), and a point's own hole that is not left out takes the "
    "value that is known most often. Could: the share of points that some filling of this feature's "
    "holes makes certain; no filling helps the others."
)


@dataclass(frozen=True)
class FeatureEffect:
    """How many of the judged points one complete feature makes certain, and how many it could."""

    feature: str
    n_missing: int
    n_certain: int
    n_could: int


@dataclass(frozen=True)
class FeatureEffects:
    """What completing one feature at a time would do for the open points, most helpful first.

    Parameters
    ----------
    n_open, n_judged
        Open points, and those of them that were judged: all, or an even sample.
    n_left_off
        Features with holes that were not judged, those with the fewest holes.
    """

    n_open: int
    n_judged: int
    n_left_off: int
    effects: tuple[FeatureEffect, ...]

    def __len__(self) -> int:
        return len(self.effects)

    def __iter__(self) -> Iterator[FeatureEffect]:
        return iter(self.effects)

    def __repr__(self) -> str:
        lines = [
            f"  {effect.feature}: {effect.n_certain:,} would be certain, {effect.n_could:,} could be "
            f"({many(effect.n_missing, 'hole')})"
            for effect in self.effects
        ]
        return "\n".join([f"FeatureEffects on {many(self.n_judged, 'open point')}", *lines])

    def document(self) -> dict[str, Any]:
        """The plain values that reports hold."""

        def share(count: int) -> float | None:
            return count / self.n_judged if self.n_judged else None

        return {
            "meaning": MEANING,
            "n_open": self.n_open,
            "n_judged": self.n_judged,
            "n_left_off": self.n_left_off,
            "features": [
                {
                    "feature": text(effect.feature),
                    "n_missing": effect.n_missing,
                    "n_certain": effect.n_certain,
                    "share": share(effect.n_certain),
                    "n_could": effect.n_could,
                    "share_could": share(effect.n_could),
                }
                for effect in self.effects
            ],
        }


def feature_effects(
    index: CountIndex,
    points: Any,
    *,
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnHoles = "skip",
    bias: Bias = 1.0,
) -> FeatureEffects:
    """How many open points would become certain if one feature had no holes.

    *Would*: the feature's holes are filled in the proportions of the known cells of the same label.
    *Could*: some way to fill them makes the point certain, whatever other holes hold. With a bias,
    *certain* means that a point holds up to it, *open* that it does not, and the other holes are like
    the known cells, up to the bias. Both answers are exact.

    Parameters
    ----------
    own_missing, bias
        As for `certify`. A feature that a point leaves out does nothing for that point.

    Examples
    --------
    >>> rows = [("a", "x"), ("a", None), ("b", "y"), (None, "y")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> feature_effects(index, [("b", "x")])
    FeatureEffects on 1 open point
      x0: 0 would be certain, 0 could be (1 hole)
      x1: 0 would be certain, 0 could be (1 hole)
    """
    model = Model(index, alpha, prior, bias)
    model.refuse_weights("cleaning_plan")
    encoded = model.points(points, own_missing)
    return effects_of(model, encoded, verdicts(model, encoded))


def effects_of(
    model: Model, points: Points, found: Verdicts, on_progress: Progress | None = None
) -> FeatureEffects:
    """The effects on points whose verdicts are known."""
    n_missing = model.index.missing_cells()[0].sum(axis=1)
    open_ones = np.flatnonzero(~found.certain)
    judged = evenly(open_ones, MOST_POINTS)
    some, possible = points.take(judged), found.possible[judged]
    if model.unbiased is not model:
        # Filled cells may hold anything, and so let labels win that the bias rules out.
        possible = np.ones_like(possible)
    own_missing = some.holes.any(axis=1)
    order = np.argsort(-n_missing, kind="stable")
    order = order[((n_missing > 0) | own_missing)[order]]
    n_features = MOST_FEATURES
    if not some.complete.all():
        n_features = min(n_features, max(1, _BUDGET // (model.d * (model.m + 1))))
    could = _Could(model, some, possible)
    effects = [
        FeatureEffect(
            model.index.features[j],
            int(n_missing[j]),
            int(certain_if_filled(model, some, j).sum()),
            int(could.be_certain(j).sum()),
        )
        for j in over(order[:n_features].tolist(), "completing each feature", on_progress)
    ]
    effects.sort(key=lambda effect: (-effect.n_certain, -effect.n_could))
    n_left_off = max(0, len(order) - n_features)
    return FeatureEffects(len(open_ones), len(judged), n_left_off, tuple(effects))


def certain_if_filled(model: Model, points: Points, j: int) -> NDArray[np.bool_]:
    """Which points are certain once the holes of a feature are filled like its known cells."""
    index = model.index
    completed = model.on(_with_counts(index, j, filled_counts(index, j)))
    return verdicts(completed, _own_filled(index, points, j)).certain


class _Could:
    """Which points some filling of one feature's holes makes certain, for one feature after another."""

    def __init__(self, model: Model, points: Points, possible: NDArray[np.bool_]) -> None:
        self._model, self._points, self._possible = model, points, possible
        whole = points.take(np.flatnonzero(points.complete))
        self._winning = Winning(model, whole, Ranges.of(model, whole)) if len(whole) else None

    def be_certain(self, j: int) -> NDArray[np.bool_]:
        could, complete = np.zeros(len(self._points), dtype=bool), self._points.complete
        if self._winning is not None:
            could[complete] = self._winning.with_feature(j).judge()
        if not complete.all():
            holed = np.flatnonzero(~complete)
            could[holed] = _holed_could(
                self._model, self._points.take(holed), self._possible[holed], j
            )
        return could


def _holed_could(
    model: Model, points: Points, possible: NDArray[np.bool_], j: int
) -> NDArray[np.bool_]:
    """The same for points with holes of their own.

    Label ``i`` does best if its own holes take the point's value and its rivals' holes do not. Labels
    share no cells, so one filling does both (T1).
    """
    index, could = model.index, np.zeros(len(points), dtype=bool)
    low, high = index.low(j)[:-1], index.high(j)[:-1]
    every, owners = _own_completions(points, j, np.hstack([low, high]))
    for i in np.flatnonzero(possible.any(axis=0)).tolist():
        asked = np.flatnonzero(possible[owners, i] & ~could[owners])
        counts = low.copy()
        counts[:, i] = high[:, i]
        best = model.on(_with_counts(index, j, counts))
        for start in range(0, len(asked), _BLOCK):
            some = asked[start : start + _BLOCK]
            codes = points.codes[:, owners[some]]
            codes[j] = every[some]
            could[owners[some[verdicts(best, points.with_codes(codes)).certain]]] = True
    return could


def filled_counts(index: CountIndex, j: int) -> Counts:
    """The counts of a feature, values × labels, with its holes filled in proportion."""
    known = index.exact(j)[:-1]
    filled = known.copy()
    everything = tuple(range(len(known)))
    # A set of all values is no different from a missing cell.
    n_open = index.n_null[j] + index.sets[j].get(everything, 0)
    for candidates, n_cells in {**index.sets[j], everything: n_open}.items():
        rows = np.array(candidates)
        for i in np.flatnonzero(n_cells).tolist():
            filled[rows, i] += shared_out(int(n_cells[i]), known[rows, i])
    return filled


def shared_out(n_cells: int, weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Whole numbers in proportion to the weights, by largest remainder; earlier ones win ties."""
    if not weights.any():
        weights = np.ones_like(weights)
    # A product of billions of cells runs over 64 bits.
    is_large = n_cells * int(weights.max()) >= 2**63
    products, total = n_cells * weights.astype(object if is_large else np.int64), int(weights.sum())
    whole, rest = (np.asarray(own, dtype=np.int64) for own in (products // total, products % total))
    whole[np.argsort(-rest, kind="stable")[: n_cells - int(whole.sum())]] += 1
    return whole


def _with_counts(index: CountIndex, j: int, counts: Counts) -> CountIndex:
    """The index with one feature complete: its cells hold these counts."""
    known, sets, n_null = list(index.known), list(index.sets), index.n_null.copy()
    known[j], sets[j], n_null[j] = DenseCounts(counts), {}, 0
    return replace(index, known=tuple(known), n_null=n_null, sets=tuple(sets))


def _own_filled(index: CountIndex, points: Points, j: int) -> Points:
    """The points with their holes in a feature filled by the value known most often."""
    holes = points.holes[j]
    if not holes.any():
        return points
    codes, n_known = points.codes.copy(), index.exact(j).sum(axis=1)
    for code in np.unique(codes[j][holes]).tolist():
        candidates = points.candidates(j, code)
        codes[j][points.codes[j] == code] = max(candidates, key=lambda c: (n_known[c], -c))
    return points.with_codes(codes)


def _own_completions(
    points: Points, j: int, counts: Counts
) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """The values that each point's cell in a feature may hold, and whose they are.

    One value stands for all that have the same counts; else a point with a hole in a column of names
    would be looked at once for every name.
    """
    values = {
        code: _different(counts, points.candidates(j, code)) for code in points.used(j)[0].tolist()
    }
    own = [values[code] for code in points.codes[j].tolist()]
    owners = np.repeat(np.arange(len(points)), [len(codes) for codes in own])
    return np.array([c for codes in own for c in codes], dtype=np.int32), owners


def _different(counts: Counts, candidates: tuple[int, ...]) -> list[int]:
    """One candidate for each different row of counts; those outside the domain have no counts."""
    outside = [code for code in candidates if code >= len(counts)]
    inside = np.array([code for code in candidates if code < len(counts)], dtype=np.intp)
    _, first = np.unique(counts[inside], axis=0, return_index=True)
    return [*inside[first].tolist(), *outside]
