"""How many predictions hold as the bias grows, and how many are right: of all, by verdict, by bias."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.data.keys import label_positions
from nullproof.data.schema import Schema
from nullproof.data.sources import native_frame
from nullproof.errors import NullproofError
from nullproof.lines import VERDICTS
from nullproof.model.bias import Floats
from nullproof.show import curve_by_bias, shown_figure, shown_table
from nullproof.words import PLAIN, either, per_cent

NOT_RIGHT = "Certain says that the missing cells cannot change a prediction, not that it is right."
_SAID = {"certain": "the certain", "holds": "those that hold", "open": "the open ones"}
# At so many biases a curve is drawn.
_DRAWN = 200
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

    def _repr_html_(self) -> str:
        biases = np.unique([0.0, *self.jumps, 1.0])
        biases = biases[np.linspace(0, len(biases) - 1, min(len(biases), _DRAWN)).astype(np.intp)]
        shares = [(self.tolerance >= bias).sum() / max(self.n_points, 1) for bias in biases]
        picture = curve_by_bias(biases.tolist(), shares, repr(self))
        return shown_figure(repr(self), picture) + shown_table(
            "Predictions that hold up to a bias", self.columns(), len(BIASES)
        )

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


class Group(NamedTuple):
    """Some points: how many there are, how many have a known true label, how many of those are right.

    ``balanced_accuracy`` is the mean over the true labels of the share of right ones among their points;
    None if no true label is known.
    """

    n_points: int
    n: int
    n_right: int
    balanced_accuracy: float | None

    @property
    def accuracy(self) -> float | None:
        """The share of right predictions among the points whose true label is known; None if none."""
        return self.n_right / self.n if self.n else None

    def document(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "n": self.n,
            "n_right": self.n_right,
            "accuracy": self.accuracy,
            "balanced_accuracy": self.balanced_accuracy,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Truth:
    """How many predictions are right, of all points, by verdict, and as the bias grows.

    A point counts only if its true label is known and is a label of the training table. A tie predicts
    nothing, so it is never right.

    Parameters
    ----------
    verdict
        Per point ``"certain"``, ``"holds"`` or ``"open"``.
    tolerance
        Per point the largest bias up to which its prediction holds.
    predicted, actual
        Per point the positions of its predicted and of its true label; -1 for none.
    frame
        What the points were read from; tables are given in its library.
    most_frequent, usual
        The most frequent label of the training table, by its position and by its name: what always
        answering it would achieve is the yardstick.

    Examples
    --------
    >>> from nullproof import CountIndex, certify, truth
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> found = certify(index, [("a", "x"), ("b", "y")])
    >>> truth(found, ["yes", "yes"]).groups["certain"].n_right
    1
    """

    verdict: NDArray[np.object_]
    tolerance: Floats
    predicted: NDArray[np.int32]
    actual: NDArray[np.int32]
    frame: nw.DataFrame[Any] | None = None
    most_frequent: int = -1
    usual: Any = None

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which points have a true label that is known."""
        return self.actual >= 0

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        """Which predictions are known to be right."""
        return np.asarray(self.known & (self.actual == self.predicted))

    @cached_property
    def groups(self) -> dict[str, Group]:
        """The points of each verdict."""
        return {verdict: self._group(self.verdict == verdict) for verdict in VERDICTS}

    @cached_property
    def everything(self) -> Group:
        """All points together."""
        return self._group(np.ones(len(self.actual), dtype=bool))

    @cached_property
    def baseline(self) -> Group:
        """All points, if the answer were always the most frequent label of the training table."""
        always = np.full_like(self.predicted, self.most_frequent)
        return replace(self, predicted=always).everything

    @property
    def accuracy(self) -> float | None:
        """The share of right predictions among all points whose true label is known; None if none."""
        return self.everything.accuracy

    @property
    def balanced_accuracy(self) -> float | None:
        """The mean over the true labels of the share of right ones among their points."""
        return self.everything.balanced_accuracy

    @cached_property
    def curve(self) -> CertaintyCurve:
        """How many predictions hold as the bias grows, and how many of those are right."""
        return CertaintyCurve(self.tolerance, self.right, self.actual)

    def columns(self) -> dict[str, list[Any]]:
        """One row per verdict and one for all points, as plain columns."""
        rows = {**self.groups, "all": self.everything}
        return {
            "verdict": [*rows],
            "n_points": [group.n_points for group in rows.values()],
            "n": [group.n for group in rows.values()],
            "n_right": [group.n_right for group in rows.values()],
            "accuracy": [group.accuracy for group in rows.values()],
            "balanced_accuracy": [group.balanced_accuracy for group in rows.values()],
        }

    def to_frame(self) -> Any:
        """One row per verdict and one for all points, in the library that the points came in."""
        return native_frame(self.columns(), self.frame, same_rows=False)

    def document(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "n_points": len(self.actual),
            **self.everything.document(),
            "baseline": {"label": str(self.usual), **self.baseline.document()},
            "verdicts": self.by_verdict(),
            "curve": [_curve_entry(one) for one in self.curve.points()],
        }

    def by_verdict(self) -> dict[str, dict[str, Any]]:
        """The JSON form of the groups, as `certify` gives it under ``truth``."""
        return {verdict: group.document() for verdict, group in self.groups.items()}

    def sentence(self) -> str:
        """The accuracy of each group in words; empty if no true label is known."""
        told = {verdict: group for verdict, group in self.groups.items() if group.n}
        shares = [f"{per_cent(told[name].accuracy, PLAIN)} of {_SAID[name]}" for name in told]
        if len(told) == 1:
            shares = [f"{per_cent(self.accuracy, PLAIN)} of the predictions"]
        return f"{either(shares, 'and')} are right" if shares else ""

    def yardstick(self) -> str:
        """Compare with always answering the most frequent label; empty if no true label is known."""
        always, certain = self.baseline, self.groups["certain"].accuracy
        if always.accuracy is None:
            return ""
        told = (
            f"Always answering {self.usual} would be right for {per_cent(always.accuracy, PLAIN)} "
            f"(balanced {per_cent(always.balanced_accuracy, PLAIN)})"
        )
        if certain is not None and certain <= always.accuracy:
            told += "; the certain predictions are not better than that"
        return f"{told}. {NOT_RIGHT}"

    def _group(self, among: NDArray[np.bool_]) -> Group:
        return Group(
            int(among.sum()),
            int((among & self.known).sum()),
            int((among & self.right).sum()),
            balanced_share(self.right, self.actual, among),
        )

    def _headline(self) -> str:
        found = self.everything
        head = f"Truth: {found.n_right:,} of {found.n:,} predictions right"
        if not found.n:
            return head
        balanced = per_cent(found.balanced_accuracy, PLAIN)
        return f"{head} ({per_cent(found.accuracy, PLAIN)}, balanced {balanced})"

    def _repr_html_(self) -> str:
        rows = {**self.groups, "all": self.everything, f"always {self.usual}": self.baseline}
        columns: dict[str, list[Any]] = {
            "verdict": [*rows],
            "points": [group.n_points for group in rows.values()],
            "right": [f"{group.n_right:,} of {group.n:,}" for group in rows.values()],
            "accuracy": [per_cent(group.accuracy) for group in rows.values()],
            "balanced": [per_cent(group.balanced_accuracy) for group in rows.values()],
        }
        return shown_table(self._headline(), columns, len(rows))

    def __repr__(self) -> str:
        lines = [
            f"  {verdict}: {group.n_right:,} of {group.n:,} right"
            + (f" ({per_cent(group.accuracy, PLAIN)})" if group.n else "")
            for verdict, group in self.groups.items()
        ]
        yardstick = self.yardstick()
        return "\n".join([self._headline(), *lines, *([f"  {yardstick}"] if yardstick else [])])


def true_positions(schema: Schema, truth: Any, n_points: int) -> NDArray[np.int32]:
    """The position of each true label among the labels; -1 where it is not known or none of them."""
    if isinstance(truth, str) or not isinstance(truth, Iterable):
        raise NullproofError(f"truth is {truth!r}; give one true label per point")
    labels = [*truth]
    if len(labels) != n_points:
        raise NullproofError(
            f"truth has {len(labels)} labels but there are {n_points} points; give one each"
        )
    return label_positions(schema, labels)


def _curve_entry(one: CurvePoint) -> dict[str, Any]:
    return {
        **{name: value for name, value in one._asdict().items() if name != "n_rest"},
        "accuracy_hold": one.accuracy_hold,
        "accuracy_rest": one.accuracy_rest,
    }
