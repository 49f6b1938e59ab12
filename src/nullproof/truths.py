"""How many predictions are right: by verdict, and along the bias up to which they hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.curve import CertaintyCurve, CurvePoint, balanced_share
from nullproof.data.keys import label_positions
from nullproof.data.schema import Schema
from nullproof.data.sources import native_frame
from nullproof.errors import NullproofError
from nullproof.model import Floats
from nullproof.show import shown_table
from nullproof.words import PLAIN, either, per_cent

VERDICTS = ("certain", "holds", "open")
_SAID = {"certain": "the certain", "holds": "those that hold", "open": "the open ones"}


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
        rows = {**self.groups, "all": self.everything}
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
        return "\n".join([self._headline(), *lines])


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
