"""How many predictions hold as the bias grows from 0 to 1, and how many of those are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.model import Floats

# The biases that are shown by default: most predictions stop holding at the low end.
BIASES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)


class CurvePoint(NamedTuple):
    """At one bias: predictions that hold and the rest; how many of each are right, if that is known.

    The balanced shares are means over the true labels of the share of right ones.
    """

    bias: float
    n_hold: int
    n_rest: int
    n_right_hold: int | None
    n_right_rest: int | None
    n_known_hold: int = 0
    n_known_rest: int = 0
    balanced_hold: float | None = None
    balanced_rest: float | None = None

    @property
    def accuracy_hold(self) -> float | None:
        """The share of right ones among those that hold and whose true label is known; None if none."""
        return _share(self.n_right_hold, self.n_known_hold)

    @property
    def accuracy_rest(self) -> float | None:
        """The share of right ones among the rest."""
        return _share(self.n_right_rest, self.n_known_rest)


@dataclass(frozen=True, eq=False, repr=False)
class CertaintyCurve:
    """How many predictions hold as the bias grows.

    Parameters
    ----------
    tolerance
        Per point the largest bias up to which its prediction holds; NaN where none does.
    right
        Per point whether the plain prediction is right; None if that is not known.
    actual
        Per point the position of its true label, -1 if that is not known; None if none is.

    Examples
    --------
    >>> from nullproof import CountIndex, certify
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> curve = certify(index, [("a", "x"), ("a", "y"), ("b", "y")]).curve()
    >>> curve
    CertaintyCurve: of 3 predictions hold 2 at 0, 2 at 0.05, 2 at 1
    >>> curve.at(0.05).n_hold
    2
    """

    tolerance: Floats
    right: NDArray[np.bool_] | None = None
    actual: NDArray[np.int32] | None = None

    @property
    def n_points(self) -> int:
        """How many points the curve is about."""
        return len(self.tolerance)

    @property
    def jumps(self) -> Floats:
        """The biases at which the number of predictions that hold falls, ascending, each once."""
        return np.unique(self.tolerance[~np.isnan(self.tolerance)])

    def at(self, bias: float) -> CurvePoint:
        """What holds at one bias."""
        holds = self.tolerance >= bias
        n_hold = int(holds.sum())
        found = CurvePoint(float(bias), n_hold, self.n_points - n_hold, None, None)
        if self.right is None or self.actual is None:
            return found
        known = self.actual >= 0
        return found._replace(
            n_right_hold=int(self.right[holds].sum()),
            n_right_rest=int(self.right[~holds].sum()),
            n_known_hold=int(known[holds].sum()),
            n_known_rest=int(known[~holds].sum()),
            balanced_hold=balanced_share(self.right, self.actual, holds),
            balanced_rest=balanced_share(self.right, self.actual, ~holds),
        )

    def points(self, biases: Sequence[float] = BIASES) -> list[CurvePoint]:
        """What holds at each of some biases."""
        return [self.at(bias) for bias in biases]

    def columns(self, biases: Sequence[float] = BIASES) -> dict[str, list[Any]]:
        """The curve as plain columns."""
        found = self.points(biases)
        columns: dict[str, list[Any]] = {
            "bias": [one.bias for one in found],
            "n_hold": [one.n_hold for one in found],
            "share": [one.n_hold / max(self.n_points, 1) for one in found],
        }
        if self.right is not None:
            columns["accuracy_hold"] = [one.accuracy_hold for one in found]
            columns["accuracy_rest"] = [one.accuracy_rest for one in found]
        return columns

    def __repr__(self) -> str:
        told = ", ".join(f"{one.n_hold:,} at {one.bias:g}" for one in self.points((0, 0.05, 1)))
        return f"CertaintyCurve: of {self.n_points:,} predictions hold {told}"


def balanced_share(
    right: NDArray[np.bool_], actual: NDArray[np.int32], among: NDArray[np.bool_]
) -> float | None:
    """The mean over true labels of the share of right ones among some points; None if no label is known."""
    known = among & (actual >= 0)
    n_points = np.bincount(actual[known])
    n_right = np.bincount(actual[known & right], minlength=len(n_points))
    there = n_points > 0
    return float((n_right[there] / n_points[there]).mean()) if there.any() else None


def _share(n_right: int | None, n_points: int) -> float | None:
    return None if n_right is None or not n_points else n_right / n_points
