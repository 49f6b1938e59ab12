"""Which points have one label in at least some share of the worlds: one rule for odds, plans and reports.

The odds of a label reach the share if a proven lower bound does; for a point with holes of its own, if
that is so for the same label however they are filled. Bounds are made closer until they tell.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.data.points import Points
from nullproof.model.model import Model
from nullproof.model.verdicts import Verdicts, verdicts
from nullproof.odds.bounds import MAX_COMPLETIONS, OddsBounds
from nullproof.odds.filling import Filling, Rule
from nullproof.progress import Progress, over

# What summaries ask for where nobody said another share.
SURE = 0.99
NONE, UNDECIDED = -1, -2
_LEAST_GAP = 1e-6
# So many points are asked about at once, and so many completions of one, of which the first may tell.
_BLOCK, _TOGETHER = 256, 16


class Sureness:
    """The rule for one model, one share and one way to fill cells, and what it remembers."""

    def __init__(self, model: Model, cells: Rule = "uniform", share: float = SURE) -> None:
        self.model, self.cells, self.share = model.unbiased, cells, share
        filling = Filling(model.index, cells)
        self.asker = OddsBounds(self.model, filling, max((1 - share) / 4, _LEAST_GAP))
        self._known: dict[bytes, int] = {}
        self._below: dict[bytes, float] = {}

    def after(self, model: Model) -> Sureness:
        """The same rule for the same table with other counts; what did not change is not asked anew.

        Odds move by no more than the distributions of the counts that changed, so points far below the
        share stay below it for a while.
        """
        before, now = self.model.index, model.index
        changed = {j for j in range(model.d) if not _same_counts(before, now, j)}
        other = Sureness(model, self.cells, self.share)
        other.asker = self.asker.after(other.model, Filling(now, self.cells), changed)
        moved: dict[tuple[int, int], float] = {}
        for key, upper in self._below.items():
            codes = np.frombuffer(key, dtype=np.int32)
            for j in changed:
                where = j, int(codes[j])
                if where not in moved:
                    moved[where] = other.asker.moved(self.asker, *where)
                upper = math.nextafter(upper + moved[where], math.inf)
            if upper < self.share:
                other._below[key], other._known[key] = upper, NONE
        return other

    def labels(
        self, points: Points, found: Verdicts, on_progress: Progress | None = None
    ) -> NDArray[np.intp]:
        """The label of each point whose odds reach the share, else `NONE`, or `UNDECIDED`.

        ``found`` are verdicts over all worlds; the odds of a certain label are 1.
        """
        told = np.where(found.certain, found.possible.argmax(axis=1), NONE)
        blocks = in_blocks(points, np.flatnonzero(~found.certain))
        for block in over(blocks, "weighing the worlds", on_progress):
            told[block] = self.of_open(points.take(block), found.possible[block])
        return told

    def of_open(self, points: Points, possible: NDArray[np.bool_]) -> NDArray[np.intp]:
        """The same for points that are not certain."""
        told = np.full(len(points), NONE)
        whole = np.flatnonzero(points.complete)
        told[whole] = self._of_codes(points.codes[:, whole], possible[whole])
        for place in np.flatnonzero(~points.complete).tolist():
            told[place] = self._of_completions(points, place)
        return told

    def _of_completions(self, points: Points, place: int) -> int:
        if points.n_completions(place) > MAX_COMPLETIONS:
            return UNDECIDED
        filled = points.completions(place)
        found = verdicts(self.model, filled)
        agreed = {*found.possible[found.certain].argmax(axis=1).tolist()}
        some = np.flatnonzero(~found.certain)
        for start in range(0, len(some), _TOGETHER):
            if _differ(agreed):
                break
            here = some[start : start + _TOGETHER]
            agreed |= {*self._of_codes(filled.codes[:, here], found.possible[here]).tolist()}
        return NONE if _differ(agreed) else min(agreed)

    def _of_codes(self, codes: NDArray[np.int32], possible: NDArray[np.bool_]) -> NDArray[np.intp]:
        keys = [own.tobytes() for own in np.ascontiguousarray(codes.T)]
        new = {key: place for place, key in enumerate(keys) if key not in self._known}
        some = np.fromiter(new.values(), dtype=np.intp, count=len(new))
        lower, upper = self.asker.deciding(codes[:, some], possible[some], self.share)
        reached = np.where(lower.max(axis=1) >= self.share, lower.argmax(axis=1), UNDECIDED)
        tops = upper.max(axis=1)
        labels = np.where(tops < self.share, NONE, reached).tolist()
        for key, label, top in zip(new, labels, tops.tolist(), strict=True):
            self._known[key] = label
            if label == NONE:
                self._below[key] = top
        return np.array([self._known[key] for key in keys], dtype=np.intp)


def in_blocks(points: Points, places: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Some of the points in the parts in which they are asked about: complete ones many at a time."""
    complete = points.complete[places]
    whole, others = places[complete], places[~complete]
    starts = range(0, len(whole), _BLOCK)
    return [*(whole[start : start + _BLOCK] for start in starts), *others[:, None]]


def _same_counts(before: CountIndex, now: CountIndex, j: int) -> bool:
    """Whether two indexes of one table have the same counts of a feature."""
    return (
        before.known[j] is now.known[j]
        and before.sets[j] is now.sets[j]
        and np.array_equal(before.n_null[j], now.n_null[j])
    )


def _differ(labels: set[int]) -> bool:
    """Whether the completions of a point surely have no label in common."""
    return NONE in labels or len(labels - {UNDECIDED}) > 1
