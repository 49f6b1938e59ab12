"""Count the predictions that hold as the bias grows, and those that are right: all, by verdict, by bias."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.data.labels import label_positions
from nullproof.data.schema import Schema
from nullproof.data.sources import native_frame
from nullproof.errors import NullproofError
from nullproof.model.verdicts import VERDICTS
from nullproof.results.pictures import curve_by_bias, shown_figure, shown_table
from nullproof.words import PLAIN, either, per_cent

if TYPE_CHECKING:
    from nullproof.model.certify import Certificates

NOT_RIGHT = "Certain says that the missing cells cannot change a prediction, not that it is right."
_SAID = {"certain": "the certain", "holds": "those that hold", "open": "the open ones"}
# The biases that are shown by default: most predictions stop holding at the low end.
BIASES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)
# Those of drawn curves and of the page's slider, close together at that end.
DRAWN = (
    *(0.0, 0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08),
    *(0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
)


class Group(NamedTuple):
    """Some points: how many there are, how many have a known true label, how many of those are right.

    ``balanced_accuracy`` is the mean over the true labels of the share of right ones among their points;
    None if no true label is known.
    """

    n_points: int
    n: int = 0
    n_right: int = 0
    balanced_accuracy: float | None = None

    @property
    def accuracy(self) -> float | None:
        """The share of right predictions among the points whose true label is known; None if none."""
        return self.n_right / self.n if self.n else None

    def document(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "n": self.n,
            "n_right": self.n_right,
            "accuracy": self.accuracy,
            "balanced_accuracy": self.balanced_accuracy,
        }


class CurvePoint(NamedTuple):
    """At one bias: the predictions that hold, and the rest."""

    bias: float
    hold: Group
    rest: Group

    @property
    def n_hold(self) -> int:
        """How many predictions hold."""
        return self.hold.n_points

    def document(self) -> dict[str, Any]:
        """Return the JSON form."""
        document: dict[str, Any] = {"bias": self.bias, "n_hold": self.n_hold}
        for name, group in (("hold", self.hold), ("rest", self.rest)):
            document[f"n_right_{name}"] = group.n_right
            document[f"n_known_{name}"] = group.n
            document[f"accuracy_{name}"] = group.accuracy
            document[f"balanced_{name}"] = group.balanced_accuracy
        return document


@dataclass(frozen=True, eq=False, repr=False)
class Truth:
    """How many predictions are right, of all points, by verdict, and as the bias grows.

    A point counts only if its true label is known and occurs in the training table. A tie predicts nothing,
    so it is never right. The baseline always answers the most frequent label of the training table.
    """

    certificates: Certificates

    def group(self, among: NDArray[np.bool_]) -> Group:
        """Count some of the points."""
        return self._counted(among, self.certificates.predicted_positions)

    def _counted(self, among: NDArray[np.bool_], predicted: NDArray[np.int32] | int) -> Group:
        """Count some of the points, as if these labels had been predicted."""
        n_points, actual = int(among.sum()), self.certificates.actual
        if actual is None:
            return Group(n_points)
        known = among & (actual >= 0)
        n_known = np.bincount(actual[known])
        n_right = np.bincount(actual[known & (actual == predicted)], minlength=len(n_known))
        there = n_known > 0
        balanced = float((n_right[there] / n_known[there]).mean()) if there.any() else None
        return Group(n_points, int(n_known.sum()), int(n_right.sum()), balanced)

    def at(self, bias: float) -> CurvePoint:
        """Count what holds at one bias."""
        holds = self.certificates.tolerance >= bias
        return CurvePoint(float(bias), self.group(holds), self.group(~holds))

    def curve(self, biases: Sequence[float] = BIASES) -> list[CurvePoint]:
        """Count what holds at each of some biases."""
        return [self.at(bias) for bias in biases]

    @property
    def _all(self) -> NDArray[np.bool_]:
        return np.ones(len(self.certificates), dtype=bool)

    @cached_property
    def _most_frequent(self) -> int:
        return int(self.certificates.model.index.label_counts.argmax())

    @property
    def usual(self) -> Any:
        """The most frequent label of the training table."""
        return self.certificates.labels[self._most_frequent]

    @cached_property
    def groups(self) -> dict[str, Group]:
        """The points of each verdict."""
        found = self.certificates.verdict
        return {verdict: self.group(found == verdict) for verdict in VERDICTS}

    @cached_property
    def everything(self) -> Group:
        """All points together."""
        return self.group(self._all)

    @cached_property
    def baseline(self) -> Group:
        """All points, if the answer were always the most frequent label of the training table."""
        return self._counted(self._all, self._most_frequent)

    @property
    def accuracy(self) -> float | None:
        """The share of right predictions among all points whose true label is known; None if none."""
        return self.everything.accuracy

    @property
    def balanced_accuracy(self) -> float | None:
        """The mean over the true labels of the share of right ones among their points."""
        return self.everything.balanced_accuracy

    def columns(self) -> dict[str, list[Any]]:
        """Return one row per verdict and one for all points, as plain columns."""
        groups = {**self.groups, "all": self.everything}
        rows = [
            {"verdict": name, "n_points": group.n_points, **group.document()}
            for name, group in groups.items()
        ]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def to_frame(self) -> Any:
        """Return one row per verdict and one for all points, in the library that the points came in."""
        return native_frame(self.columns(), self.certificates.points.frame, same_rows=False)

    def document(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "n_points": self.everything.n_points,
            **self.everything.document(),
            "baseline": {"label": str(self.usual), **self.baseline.document()},
            "verdicts": self.by_verdict(),
            "curve": [at.document() for at in self.curve()],
        }

    def by_verdict(self) -> dict[str, dict[str, Any]]:
        """Return the JSON form of the groups, as `certify` gives it under ``truth``."""
        return {verdict: group.document() for verdict, group in self.groups.items()}

    def sentence(self) -> str:
        """Write the accuracy of each group; empty if no true label is known."""
        known = {verdict: group for verdict, group in self.groups.items() if group.n}
        shares = [f"{per_cent(known[name].accuracy, PLAIN)} of {_SAID[name]}" for name in known]
        if len(known) == 1:
            shares = [f"{per_cent(self.accuracy, PLAIN)} of the predictions"]
        return f"{either(shares, 'and')} are right" if shares else ""

    def yardstick(self) -> str:
        """Compare with always answering the most frequent label; empty if no true label is known."""
        always, certain = self.baseline, self.groups["certain"].accuracy
        if always.accuracy is None:
            return ""
        sentence = (
            f"Always answering {self.usual} would be right for {per_cent(always.accuracy, PLAIN)} "
            f"(balanced {per_cent(always.balanced_accuracy, PLAIN)})"
        )
        if certain is not None and certain <= always.accuracy:
            sentence += "; the certain predictions are not better than that"
        return f"{sentence}. {NOT_RIGHT}"

    def _headline(self) -> str:
        every = self.everything
        headline = f"Truth: {every.n_right:,} of {every.n:,} predictions right"
        if not every.n:
            return headline
        balanced = per_cent(every.balanced_accuracy, PLAIN)
        return f"{headline} ({per_cent(every.accuracy, PLAIN)}, balanced {balanced})"

    def _repr_html_(self) -> str:
        rows = {**self.groups, "all": self.everything, f"always {self.usual}": self.baseline}
        columns: dict[str, list[Any]] = {
            "verdict": [*rows],
            "points": [group.n_points for group in rows.values()],
            "right": [f"{group.n_right:,} of {group.n:,}" for group in rows.values()],
            "accuracy": [per_cent(group.accuracy) for group in rows.values()],
            "balanced": [per_cent(group.balanced_accuracy) for group in rows.values()],
        }
        drawn = self.curve(DRAWN)
        shares = [at.n_hold / max(len(self.certificates), 1) for at in drawn]
        words = "Predictions that hold as the bias grows"
        return shown_table(self._headline(), columns, len(rows)) + shown_figure(
            words, curve_by_bias(DRAWN, shares, words)
        )

    def __repr__(self) -> str:
        lines = [
            f"  {verdict}: {group.n_right:,} of {group.n:,} right"
            + (f" ({per_cent(group.accuracy, PLAIN)})" if group.n else "")
            for verdict, group in self.groups.items()
        ]
        yardstick = self.yardstick()
        return "\n".join([self._headline(), *lines, *([f"  {yardstick}"] if yardstick else [])])


def true_positions(schema: Schema, truth: Any, n_points: int) -> NDArray[np.int32]:
    """Return the position of each true label among the labels; -1 where it is not known or none of them."""
    several = isinstance(truth, Iterable) and getattr(truth, "ndim", 1) == 1
    if isinstance(truth, str) or not several:
        raise NullproofError(f"truth is {truth!r}; give one true label per point")
    labels = [*truth]
    if len(labels) != n_points:
        raise NullproofError(
            f"truth has {len(labels)} labels but there are {n_points} points; give one each"
        )
    return label_positions(schema, labels)
