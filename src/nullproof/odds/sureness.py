"""Which points have one label in at least some share of the worlds: one rule for odds, plans and reports.

The odds of a label reach the share if a proven lower bound does; for a point with holes of its own, if
that is so for the same label however they are filled. Bounds are made closer until they tell.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.model import Model
from nullproof.odds.bounds import MAX_COMPLETIONS, OddsBounds
from nullproof.odds.filling import Filling, Rule
from nullproof.progress import Progress, over
from nullproof.tables.points import Points
from nullproof.verdicts import Verdicts, verdicts

# What summaries ask for where nobody said another share.
SURE = 0.99
NONE, UNDECIDED = -1, -2
_LEAST_GAP = 1e-6


class Sureness:
    """The rule for one model, one share and one way to fill cells, and what it remembers."""

    def __init__(self, model: Model, cells: Rule = "uniform", share: float = SURE) -> None:
        self.model, self.cells, self.share = model.unbiased, cells, share
        filling = Filling(model.index, cells)
        self._asker = OddsBounds(self.model, filling, max((1 - share) / 4, _LEAST_GAP))
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
        other._asker = self._asker.after(other.model, Filling(now, self.cells), changed)
        moved: dict[tuple[int, int], float] = {}
        for key, upper in self._below.items():
            codes = np.frombuffer(key, dtype=np.int32)
            for j in changed:
                where = j, int(codes[j])
                if where not in moved:
                    moved[where] = other._asker.moved(self._asker, *where)
                upper += moved[where]
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
        whole = np.flatnonzero(~found.certain & points.complete)
        told[whole] = self._asker.leaders(points.codes[:, whole], found.possible[whole], self.share)
        places = np.flatnonzero(told == NONE).tolist()
        for place in over(places, "weighing the worlds", on_progress):
            told[place] = self.label(points, place, found.possible[place])
        return told

    def label(self, points: Points, place: int, possible: NDArray[np.bool_]) -> int:
        """The same for one point that is not certain."""
        one = points.with_codes(points.codes[:, place : place + 1])
        if one.complete[0]:
            return self._of_codes(one.codes[:, 0], possible)
        if one.n_completions(0) > MAX_COMPLETIONS:
            return UNDECIDED
        filled = one.completions(0)
        found = verdicts(self.model, filled)
        agreed = {*found.possible[found.certain].argmax(axis=1).tolist()}
        some = ~found.certain
        for codes, own in zip(filled.codes.T[some], found.possible[some], strict=True):
            if _differ(agreed):
                break
            agreed.add(self._of_codes(codes, own))
        return NONE if _differ(agreed) else min(agreed)

    def _of_codes(self, codes: NDArray[np.int32], possible: NDArray[np.bool_]) -> int:
        key = codes.tobytes()
        if key not in self._known:
            lower, upper = self._asker.deciding(codes.tolist(), possible, self.share)
            reached = int(lower.argmax()) if lower.max() >= self.share else UNDECIDED
            self._known[key] = NONE if upper.max() < self.share else reached
            if self._known[key] == NONE:
                self._below[key] = float(upper.max())
        return self._known[key]


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
