"""Which points are done: certain, or with odds of one label that are known to be high enough."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.data.points import Points
from nullproof.errors import NullproofError
from nullproof.model.model import Model
from nullproof.model.verdicts import Verdicts, verdicts
from nullproof.odds.filling import Rule, refuse_cells
from nullproof.odds.sureness import UNDECIDED, Sureness
from nullproof.progress import Progress


class Confidence:
    """The rule by which points are done.

    Parameters
    ----------
    confidence
        1: the point must be certain. Below: one label's odds must reach it, by the rule of `Sureness`.
    cells
        How chance fills the missing cells, as for `label_odds`; None for ``"uniform"``.
    """

    def __init__(self, confidence: float = 1.0, cells: Rule | None = None) -> None:
        if not is_number(confidence) or not 0.5 < confidence <= 1:
            raise NullproofError(
                f"confidence is {confidence!r}; give 1 for certain, or odds above 0.5 that are enough"
            )
        if cells is not None:
            refuse_cells(cells)
        self.confidence: float = float(confidence)
        self.cells: Rule = cells or "uniform"
        self._rule: Sureness | None = None

    @classmethod
    def by(cls, rule: Sureness) -> Confidence:
        """The confidence of a rule that may have been asked before."""
        found = cls(rule.share, rule.cells)
        found._rule = rule
        return found

    def done(
        self,
        model: Model,
        points: Points,
        found: Verdicts,
        on_progress: Progress | None = None,
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which points are done: certain (up to the model's bias), or likely enough; which may be.

        Odds do not depend on the bias: chance may fill the cells with anything. Of the second no bound
        tells whether they are done; they count as not done.
        """
        done, undecided = found.certain.copy(), np.zeros(len(points), dtype=bool)
        some = np.flatnonzero(~done)
        if self.confidence == 1 or not len(some):
            return done, undecided
        asked, own = points.take(some), found.take(some)
        if model.unbiased is not model:
            own = verdicts(model.unbiased, asked)
        # A cleaner asks again and again about one table, of which each answer changes one feature.
        last = self._rule
        if last is None or last.model.index.schema is not model.index.schema:
            self._rule = Sureness(model, self.cells, self.confidence)
        else:
            self._rule = last.after(model)
        labels = self._rule.labels(asked, own, on_progress)
        done[some], undecided[some] = labels >= 0, labels == UNDECIDED
        return done, undecided


def is_number(value: Any) -> bool:
    """Whether an option is a number at all, of Python or of NumPy."""
    return isinstance(value, numbers.Real)
