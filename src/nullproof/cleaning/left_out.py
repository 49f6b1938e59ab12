"""What it would do to look up cells that points leave out of their predictions (theory 9).

With ``own_missing="skip"`` a point is predicted from the cells that it knows, so nothing that it lacks
must be looked up. But a cell that is known afterwards takes part: it may secure a prediction that is
open, and it may change one, even a certain one. Each cell is tried with every value of its column, by
exact verdicts; only how likely the values are is an estimate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.cleaning.holes import Cell
from nullproof.data.points import Points
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.model.predict import predictions
from nullproof.model.verdicts import verdicts
from nullproof.odds.filling import Filling

_MOST = 200_000


@dataclass(frozen=True)
class LeftOut:
    """A cell that a point leaves out, and what looking it up would do.

    Parameters
    ----------
    label
        What is predicted without the cell; None for a tie.
    done
        Whether the point needs nothing as it is.
    secures
        How likely the point is certain afterwards (up to the bias, if one was given); 0 where it is done.
    changes
        How likely another label is predicted afterwards.
    """

    cell: Cell
    label: Any
    done: bool
    secures: float
    changes: float

    def document(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "point": self.cell.row,
            "column": self.cell.column,
            "label": None if self.label is None else str(self.label),
            "done": self.done,
            "secures": self.secures,
            "changes": self.changes,
        }


def left_out(model: Model, points: Points, done: NDArray[np.bool_]) -> tuple[LeftOut, ...]:
    """The cells that would secure or change a prediction, those that most likely do first.

    Of very many cells those of open points are tried first, and not all of the others.
    """
    found: list[LeftOut] = []
    now = predictions(model, points)
    skipped, budget = points.skipped, _MOST
    for is_done in (False, True):
        for j in np.flatnonzero(points.n_values > 1).tolist():
            places = np.flatnonzero(skipped[j] & (done == is_done))
            places = places[: budget // int(points.n_values[j])]
            if len(places):
                budget -= len(places) * int(points.n_values[j])
                found += _of_feature(model, points, j, places, (done, now))
    return tuple(sorted(found, key=lambda one: (-one.secures, -one.changes, one.cell.row)))


def _of_feature(
    model: Model,
    points: Points,
    j: int,
    places: NDArray[np.intp],
    known: tuple[NDArray[np.bool_], NDArray[np.int32]],
) -> Iterator[LeftOut]:
    done, now = known
    size = int(points.n_values[j])
    codes = np.repeat(points.codes[:, places], size, axis=1)
    codes[j] = np.tile(np.arange(size, dtype=np.int32), len(places))
    filled = points.with_codes(codes)
    secured = verdicts(model, filled).certain.reshape(-1, size)
    after = predictions(model, filled).reshape(-1, size)
    likely = _chances(model, j)[now[places]]
    secures = np.where(done[places], 0.0, (likely * secured).sum(axis=1))
    changes = (likely * (after != now[places, None])).sum(axis=1)
    for place, own, other in zip(places.tolist(), secures.tolist(), changes.tolist(), strict=True):
        if own > 0 or other > 0:
            label = None if now[place] < 0 else model.index.labels[int(now[place])]
            cell = Cell(place, model.index.features[j], "points")
            yield LeftOut(cell, label, bool(done[place]), own, other)


def _chances(model: Model, j: int) -> Floats:
    """Labels × values: how frequent values are among the known cells; a last row for all labels."""
    every = tuple(range(int(model.index.n_values[j])))
    weights = Filling(model.index, "observed").weights(j, every).astype(float)
    both = np.column_stack([weights, weights @ model.index.label_counts])
    found: Floats = (both / both.sum(axis=0)).T
    return found
