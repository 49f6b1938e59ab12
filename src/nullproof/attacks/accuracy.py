"""certified_accuracy_curve: how many predictions stay right under any attack of a given size.

The field's usual picture. A point counts at ``k`` if its certain label is the true one and its radius
exceeds ``k``, so one pass over the radii gives the whole curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.radius import Threat, radius
from nullproof.attacks.reach import Only
from nullproof.counts.index import CountIndex
from nullproof.data.points import OwnMissing
from nullproof.data.sources import native_frame
from nullproof.errors import NullproofError
from nullproof.model.accuracy import true_positions
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Prior
from nullproof.model.predict import winners
from nullproof.results.pictures import ROWS, shown_table
from nullproof.words import PLAIN, per_cent


@dataclass(frozen=True, eq=False, repr=False)
class AccuracyCurve:
    """How many predictions stay right under any attack of ``k`` cells or rows, for all ``k``.

    Only points with a known true label count.

    ``radius`` holds the radius of each, NaN (counted as 0) if it was not worked out. ``certified`` marks
    predictions that are certain and right, ``right`` all that are right; ``n_points`` includes points
    whose true label is not known.

    Examples
    --------
    >>> from nullproof import CountIndex
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> from nullproof.attacks import certified_accuracy_curve
    >>> curve = certified_accuracy_curve(index, [("a", "x"), ("b", "y")], ["yes", "no"])
    >>> curve.at(0), curve.at(1), curve.at(100)
    (1.0, 0.0, 0.0)
    """

    threat: Threat
    radius: Floats
    certified: NDArray[np.bool_]
    right: NDArray[np.bool_]
    n_points: int
    frame: nw.DataFrame[Any] | None = None

    @property
    def n_known(self) -> int:
        """Return the number of points with a known true label."""
        return len(self.radius)

    @property
    def accuracy(self) -> float:
        """Return the share of right predictions, attacked or not."""
        return self._share(int(self.right.sum()))

    @cached_property
    def steps(self) -> NDArray[np.int64]:
        """Return the sizes ``k`` above 0 at which the number falls, ascending."""
        finite = self._certified_radii[np.isfinite(self._certified_radii)]
        return np.unique(np.append(finite, 0)).astype(np.int64)

    def n_at(self, k: float) -> int:
        """Return how many predictions stay right under any attack of ``k`` cells or rows."""
        if not k >= 0:
            raise NullproofError(f"k is {k!r}; give a number of {self.threat} that is 0 or more")
        return int((self._certified_radii > k).sum())

    def at(self, k: float) -> float:
        """Return the share of predictions that stay right: the certified accuracy at ``k``."""
        return self._share(self.n_at(k))

    def columns(self) -> dict[str, list[Any]]:
        """Return the whole curve as plain columns: a row holds from its ``k`` up to the next."""
        sizes = self.steps.tolist()
        counts = [self.n_at(k) for k in sizes]
        return {"k": sizes, "n": counts, "share": [self._share(count) for count in counts]}

    # A file holds the same columns.
    file_columns = columns

    def to_frame(self) -> Any:
        """Return the whole curve, in the library that the points came in."""
        return native_frame(self.columns(), self.frame, same_rows=False)

    def document(self) -> dict[str, Any]:
        """Return the JSON form."""
        columns = self.columns()
        return {
            "n_points": self.n_points,
            "threat": self.threat,
            "n_known": self.n_known,
            "n_right": int(self.right.sum()),
            "accuracy": self.accuracy if self.n_known else None,
            "curve": [
                dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
            ],
        }

    def some_sizes(self, n_sizes: int = 18) -> list[int]:
        """Return a few round sizes from 0 to the end of the curve: 0, 1, 2, 5, 10, 20, …"""
        last = int(self.steps[-1])
        sizes = [0, *(n * 10**e for e in range(len(str(last))) for n in (1, 2, 5))]
        kept = [k for k in sizes if k < last]
        return [*kept[: n_sizes - 1], last]

    @cached_property
    def _certified_radii(self) -> Floats:
        return np.sort(self.radius[self.certified & ~np.isnan(self.radius)])

    def _share(self, count: int) -> float:
        return count / max(self.n_known, 1)

    def shown_rows(self, sizes: Sequence[int]) -> dict[str, list[Any]]:
        """Return the curve at some sizes as people see it, by heading."""
        return {
            f"{self.threat} in the attack": [*sizes],
            "right whatever it does": [self.n_at(k) for k in sizes],
            "share": [per_cent(self.at(k)) for k in sizes],
        }

    def _repr_html_(self) -> str:
        sizes = self.some_sizes(ROWS)
        return shown_table(repr(self).splitlines()[0], self.shown_rows(sizes), len(sizes))

    def __repr__(self) -> str:
        head = f"AccuracyCurve: {per_cent(self.accuracy, PLAIN)} of {self.n_known:,} predictions are right"
        told = [f"{per_cent(self.at(k), PLAIN)} at {k:,}" for k in self.some_sizes(5)]
        return f"{head}\n  right whatever the attack, by its {self.threat}: {', '.join(told)}"


def certified_accuracy_curve(
    index: CountIndex,
    points: Any,
    labels: Any,
    *,
    threat: Threat = "cells",
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnMissing = "skip",
    only: Only = None,
) -> AccuracyCurve:
    """Count the predictions that stay right under any attack, for every size of attack at once.

    All other options are those of `radius`.

    Parameters
    ----------
    labels
        The true label of each point; None where it is not known.
    threat
        ``"cells"``: an attack blanks or falsifies ``k`` training cells. ``"rows"``: it adds ``k`` rows.

    Examples
    --------
    >>> rows = [("a", "x"), ("a", "x"), ("a", "x"), ("b", "y")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "yes", "no"])
    >>> curve = certified_accuracy_curve(index, [("a", "x"), ("b", "y")], ["yes", "no"])
    >>> curve
    AccuracyCurve: 100 % of 2 predictions are right
      right whatever the attack, by its cells: 100 % at 0, 100 % at 1, 50.0 % at 2, 50.0 % at 5, 0 % at 6
    >>> curve.at(3)
    0.5
    """
    model = Model(index, alpha, prior)
    encoded = model.points(points, own_missing)
    actual = true_positions(index.schema, labels, len(encoded))
    known = np.flatnonzero(actual >= 0)
    asked, actual = encoded.take(known), actual[known]
    options: dict[str, Any] = {"alpha": alpha, "prior": prior, "own_missing": own_missing}
    found = radius(index, asked, threat=threat, only=only, **options)
    predicted = winners(model, asked)
    return AccuracyCurve(
        threat,
        found.radius,
        np.asarray(found.winner == actual),
        np.asarray(predicted == actual),
        len(encoded),
        encoded.frame,
    )
