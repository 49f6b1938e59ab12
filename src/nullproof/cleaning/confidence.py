"""Which points are done: certain, or with odds of one label that are known to be high enough."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.errors import NullproofError
from nullproof.model import Floats, Model
from nullproof.odds.bounds import OddsBounds
from nullproof.odds.filling import Cells, Filling, Open, count_of, exponents
from nullproof.tables.points import Points
from nullproof.verdicts import Verdicts, verdicts

_SLOPES: Floats = 2.0 ** np.arange(-4.0, 12.0)
_CUT = 1e-12
_Key = tuple[int, tuple[Open, ...]]


class Confidence:
    """The rule by which points are done, and what it remembers between questions.

    Parameters
    ----------
    confidence
        1: the point must be certain. Below: a proven lower bound of one label's odds must reach it.
    cells
        How chance fills the missing cells, as for `label_odds`; None for ``"uniform"``.
    """

    def __init__(self, confidence: float = 1.0, cells: Cells | None = None) -> None:
        if not is_number(confidence) or not 0.5 < confidence <= 1:
            raise NullproofError(
                f"confidence is {confidence!r}; give 1 for certain, or odds above 0.5 that are enough"
            )
        if cells not in ("uniform", "observed", None):
            raise NullproofError(f"cells is {cells!r}; give 'uniform' or 'observed'")
        self.confidence, self.cells = float(confidence), cells or "uniform"
        self._known: dict[_Key, Floats] = {}

    def done(self, model: Model, points: Points, found: Verdicts) -> NDArray[np.bool_]:
        """Which points are done: certain (up to the model's bias), or likely enough.

        Odds do not depend on the bias: chance may fill the cells with anything.
        """
        done = found.certain.copy()
        some = np.flatnonzero(~done & points.complete)
        if self.confidence == 1 or not len(some):
            return done
        possible = found.possible
        if model.unbiased is not model:
            model = model.unbiased
            possible = verdicts(model, points).possible
        filling = Filling(model.index, self.cells)
        chance, guess = self._failing(model, filling, points.take(some), possible[some])
        allowed = 1 - self.confidence
        done[some] = chance <= allowed * (1 - 1e-9)
        # Chernoff is too careful near the line; far from it closer bounds will not help either.
        near = some[(chance > allowed * (1 - 1e-9)) & (guess <= 3 * allowed)]
        if len(near):
            asker = OddsBounds(model, filling, max(allowed / 4, 1e-6))
            lower, _ = asker.bounds(points.codes[:, near], possible[near])
            done[near] = lower.max(axis=1) >= self.confidence
        return done

    def _failing(
        self, model: Model, filling: Filling, points: Points, possible: NDArray[np.bool_]
    ) -> tuple[Floats, Floats]:
        """A proven bound of the chance that the likeliest label does not win, and a guess of it.

        Chernoff, for every slope s: P(X_k ≥ X_a) ≤ E exp(s·X_k)·E exp(-s·X_a) for log supports X
        (theory 6).
        """
        parts = self._parts(model, filling, points)
        mean, spread, lost = parts[..., 0] + model.log_prior, parts[..., 1], parts[..., 2]
        up, down = np.split(parts[..., 3:], 2, axis=2)
        rows = np.arange(len(points))
        winner = np.where(possible, mean, -np.inf).argmax(axis=1)
        lead = mean[rows, winner][:, None] - mean
        heights = up + down[rows, winner][:, None] - _SLOPES * lead[..., None]
        with np.errstate(under="ignore", over="ignore"):
            chances = np.minimum(np.exp(heights.min(axis=2) + 1e-9), 1.0) + lost
        rivals = possible.copy()
        rivals[rows, winner] = False
        proven = (chances * rivals).sum(axis=1) + lost[rows, winner]
        both = np.sqrt(spread + spread[rows, winner][:, None])
        guess = _tail(lead / np.maximum(both, 1e-12))
        return proven, (guess * rivals).sum(axis=1)

    def _parts(self, model: Model, filling: Filling, points: Points) -> Floats:
        """Sums over the features: mean, variance, probability lost, exponents; points × labels × …"""
        total = np.zeros((len(points), model.m, 3 + 2 * len(_SLOPES)))
        sizes = model.index.label_counts + float(model.alpha) * model.index.n_values[:, None]
        for j in range(model.d):
            used, places = points.used(j)
            table = np.stack([self._rows(model, filling, j, int(code)) for code in used])
            table[:, :, 0] -= np.log(np.maximum(sizes[j], 1e-300))
            # A feature that a point leaves out adds nothing: its factor is 1 in every world.
            table[[points.kind(j, int(code)) == "skipped" for code in used]] = 0.0
            total += table[places]
        return total

    def _rows(self, model: Model, filling: Filling, j: int, code: int) -> Floats:
        lows, groups = filling.low(j, code).tolist(), filling.open(j, code)
        return np.stack([self._row(model, key) for key in zip(lows, groups, strict=True)])

    def _row(self, model: Model, key: _Key) -> Floats:
        if key not in self._known:
            count = count_of(*key, _CUT)
            counts = count.first + np.arange(len(count.probs)) + float(model.alpha)
            logs, probs = np.log(counts[counts > 0]), count.probs[counts > 0]
            lost = count.error + max(0.0, 1 - float(probs.sum()))
            mean = float(logs @ probs / probs.sum()) if len(logs) else -1e6
            spread = float((logs - mean) ** 2 @ probs / probs.sum()) if len(logs) else 0.0
            self._known[key] = np.array(
                [mean, spread, lost, *exponents(logs - mean, probs, _SLOPES)]
            )
        return self._known[key]


def is_number(value: Any) -> bool:
    """Whether an option is a number at all, of Python or of NumPy."""
    return isinstance(value, numbers.Real)


def _tail(deviations: Floats) -> Floats:
    """The chance that a standard normal variable is above each number."""
    found = [math.erfc(x) / 2 for x in (deviations / math.sqrt(2)).ravel().tolist()]
    return np.array(found).reshape(deviations.shape)
