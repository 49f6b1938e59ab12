"""Which points are done: certain, or with odds of the predicted label that are proven to be high enough."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.data.points import Points
from nullproof.errors import NullproofError
from nullproof.model.model import Model
from nullproof.model.verdicts import Verdicts, verdicts
from nullproof.odds.filling import Cells, have_odds, refuse_cells
from nullproof.odds.odds import odds_of
from nullproof.progress import Progress

# That of `label_odds`, so that both say the same.
_USUAL_GAP, _LEAST_GAP = 0.01, 1e-6


class Confidence:
    """The rule by which points are done.

    Parameters
    ----------
    confidence
        1: the point must be certain. Below: the odds of its predicted label must reach it.
    cells
        How chance fills the missing cells, as for `label_odds`; None for ``"observed"``.
    """

    def __init__(self, confidence: float = 1.0, cells: Cells | None = None) -> None:
        if not is_number(confidence) or not 0.5 < confidence <= 1:
            raise NullproofError(
                f"confidence is {confidence!r}; give 1 for certain, or odds above 0.5 that are enough"
            )
        if cells is not None:
            refuse_cells(cells)
        self.confidence: float = float(confidence)
        self.cells: Cells = cells or "observed"

    def done(
        self,
        model: Model,
        points: Points,
        found: Verdicts,
        on_progress: Progress | None = None,
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which points are done: certain (up to the model's bias), or likely enough; which may be.

        Odds do not depend on the bias: chance may fill the cells with anything. Of the second no bound
        tells whether they are done, or they have no odds; they count as not done.
        """
        done, undecided = found.certain.copy(), np.zeros(len(points), dtype=bool)
        some = np.flatnonzero(~done)
        if self.confidence == 1 or not len(some):
            return done, undecided
        undecided[some] = True
        some = some[have_odds(model.index, points)[some]]
        if not len(some):
            return done, undecided
        asked, strict = points.take(some).read("skip"), model.unbiased
        own = found.take(some) if strict is model else verdicts(strict, asked)
        gap = max(min(1 - self.confidence, _USUAL_GAP), _LEAST_GAP)
        same = odds_of(strict, asked, own, cells=self.cells, gap=gap, on_progress=on_progress).same
        done[some] = same[:, 0] >= self.confidence
        undecided[some] = ~done[some] & (same[:, 1] >= self.confidence)
        return done, undecided


def is_number(value: Any) -> bool:
    """Whether an option is a number at all, of Python or of NumPy."""
    return isinstance(value, numbers.Real)
