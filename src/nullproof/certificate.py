"""One certificate: what all worlds say of one point."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nullproof.data.points import Points
from nullproof.model import Floats, Model
from nullproof.show import ROWS, intervals, shown_figure
from nullproof.words import either, many
from nullproof.words import tolerance as written_tolerance

if TYPE_CHECKING:
    from nullproof.explanation import Explanation


class Judged(Protocol):
    """The certificates that one is taken from; what costs time is worked out there, for all points."""

    @property
    def model(self) -> Model: ...
    @property
    def points(self) -> Points: ...
    @property
    def worlds(self) -> str: ...
    @property
    def verdict(self) -> NDArray[np.object_]: ...
    @property
    def tolerance(self) -> Floats: ...
    @property
    def rival(self) -> NDArray[np.object_]: ...
    @property
    def right(self) -> NDArray[np.object_] | None: ...


@dataclass(frozen=True)
class Certificate:
    """What all worlds say of one point.

    ``possible`` are the labels that win or tie in some world; the point is certain if there is only
    one, its ``label``. For an incomplete point they are the labels that no other label beats
    everywhere. ``predicted`` is what Naive Bayes predicts from the known cells, None for a tie.

    Examples
    --------
    >>> from nullproof import CountIndex, certify
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> one = certify(index, ("a", "x"))
    >>> one.certain, one.label, one.possible
    (True, 'yes', ('yes',))
    >>> one.tolerance
    1.0
    """

    certain: bool
    label: Any
    possible: tuple[Any, ...]
    predicted: Any
    min_log_support: dict[Any, float]
    max_log_support: dict[Any, float]
    n_own_missing: int
    position: int = field(compare=False)
    among: Judged = field(compare=False)

    @property
    def tolerance(self) -> float:
        """The largest bias up to which the prediction holds; NaN if not even 0 decides."""
        return float(self.among.tolerance[self.position])

    @property
    def rival(self) -> Any:
        """The label that threatens first as the bias grows; None where there is none."""
        return self.among.rival[self.position]

    @property
    def others(self) -> tuple[Any, ...]:
        """The possible labels other than the predicted one."""
        return tuple(label for label in self.possible if label != self.predicted)

    @property
    def right(self) -> bool | None:
        """Whether the prediction is right; None if the true label is not known."""
        told = self.among.right
        return None if told is None else told[self.position]

    @property
    def key(self) -> str | None:
        """The name of the point; None if it has none."""
        names = self.among.points.names
        return None if names is None else names.values[self.position]

    def explain(self, *, label: Any = None, rival: Any = None) -> Explanation:
        """Which cells of the point speak for its label and against it; options as for `explain`."""
        from nullproof.explanation import explanation_of

        among = self.among
        return explanation_of(among.model, among.points, self.position, label=label, rival=rival)

    def _repr_html_(self) -> str:
        return shown_figure(repr(self), picture(self))

    @property
    def verdict(self) -> str:
        """``"certain"``, ``"holds"`` (up to the threshold of a summary) or ``"open"``."""
        return str(self.among.verdict[self.position])

    def __repr__(self) -> str:
        told = [f"{self.verdict}: {self._words()}"]
        if self.n_own_missing:
            told.append(many(self.n_own_missing, "own hole"))
        if self.right is not None:
            told.append("right" if self.right else "wrong")
        return f"Certificate({'; '.join(told)})"

    def _words(self) -> str:
        """The predicted label, how far it holds, and which labels are possible beyond that."""
        if self.verdict == "certain":
            return f"{self.predicted} in {self.among.worlds}"
        others = either([str(label) for label in self.others])
        if self.predicted is None:
            return f"{others}, a tie"
        if math.isnan(self.tolerance):
            return f"{self.predicted}, else {others}, since not even a bias of 0 decides"
        reach = f"{self.predicted} up to a bias of {written_tolerance(self.tolerance)}"
        return f"{reach}, else {others}" if others else reach


def picture(one: Certificate) -> str:
    """The support intervals of the strongest labels, possible ones first."""
    high, low = one.max_log_support, one.min_log_support
    order = sorted(high, key=lambda label: (label not in one.possible, -high[label]))[:ROWS]
    return intervals(
        [str(label) for label in order],
        [low[label] for label in order],
        [high[label] for label in order],
        possible=[label in one.possible for label in order],
    )
