"""The radii of points as a result: a sequence, a table, a JSON form and a summary."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, overload

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.data.keys import RowNames, key_columns, shown_name
from nullproof.data.sources import native_frame, some_rows
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.radii.reach import Reach
from nullproof.selection import chosen
from nullproof.show import ROWS, shown_table

Threat = Literal["cells", "rows"]
# What an enemy does to the cells or rows of a threat.
DEEDS: dict[Threat, str] = {"cells": "cells to blank", "rows": "rows to add"}


class Radius(NamedTuple):
    """The radius of one point; what its parts mean is said at `Radii`."""

    radius: float
    label: Any
    rival: Any
    n_raise: int
    n_lower: int
    not_worked_out: str | None


@dataclass(frozen=True, repr=False, eq=False)
class Radii:
    """Every point's radius and one cheapest attack in numbers of cells or rows; a sequence of `Radius`.

    Parameters
    ----------
    model
        The index with the smoothing and the prior that were asked about.
    radius
        The fewest cells to blank, or to falsify (T12), or the fewest rows to add: 0 where the point is
        open now, infinite where no attack exists, NaN where that was not worked out.
    winner, overtaker
        Positions of the certain label and of the rival that catches up; -1 for none.
    n_raise, n_lower
        How many of the cells or rows are the rival's, to raise it, and the winner's, to lower it.
    codes
        Features × points: the points as codes, with features that are left out as in `Points`. An
        incomplete point has the codes of its weakest completion.
    not_worked_out
        The reason for each point whose radius would take too long, None for the others. These
        points are certain.
    reach
        The cells that could be blanked.

    Examples
    --------
    >>> from nullproof import CountIndex
    >>> from nullproof.radii import radii
    >>> rows = [("a", "x"), ("a", "x"), ("a", "x"), ("b", "y")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "yes", "no"])
    >>> found = radii(index, [("a", "x"), ("b", "y")])
    >>> found.radius
    array([6., 2.])
    >>> found[0]
    Radius(radius=6.0, label='yes', rival='no', n_raise=2, n_lower=4, not_worked_out=None)
    """

    model: Model
    radius: Floats
    winner: NDArray[np.int32]
    overtaker: NDArray[np.int32]
    n_raise: NDArray[np.int64]
    n_lower: NDArray[np.int64]
    codes: NDArray[np.int32]
    not_worked_out: NDArray[np.object_]
    reach: Reach
    frame: nw.DataFrame[Any] | None = None
    names: RowNames | None = None
    threat: Threat = "cells"

    @property
    def doing(self) -> str:
        """What is being done while the radii are found."""
        return f"finding the fewest {self.threat} for each point"

    @property
    def label(self) -> NDArray[np.object_]:
        """The certain label of each certain point, None for the others."""
        return self.model.named(self.winner)

    @property
    def rival(self) -> NDArray[np.object_]:
        """The label that catches up; None for points that are open or beyond attack."""
        return self.model.named(self.overtaker)

    def take(self, places: NDArray[np.intp]) -> Radii:
        """The radii of some of the points."""
        per_point = ("radius", "winner", "overtaker", "n_raise", "n_lower", "not_worked_out")
        some = {name: getattr(self, name)[places] for name in per_point}
        rows = some_rows(self.frame, places)
        names = None if self.names is None else self.names.take(places)
        return replace(self, codes=self.codes[:, places], frame=rows, names=names, **some)

    @overload
    def __getitem__(self, position: int) -> Radius: ...
    @overload
    def __getitem__(self, position: Any) -> Radii: ...
    def __getitem__(self, position: Any) -> Radius | Radii:
        """One point by its position; several by a slice, positions or a mask."""
        place = chosen(position, len(self))
        if not isinstance(place, int):
            return self.take(place)
        label, rival = self.model.named(np.array([self.winner[place], self.overtaker[place]]))
        return Radius(
            float(self.radius[place]),
            label,
            rival,
            int(self.n_raise[place]),
            int(self.n_lower[place]),
            self.not_worked_out[place],
        )

    def __iter__(self) -> Iterator[Radius]:
        return (self[place] for place in range(len(self)))

    def to_frame(self) -> Any:
        """One row per point, in the library that the points came in; infinite: no attack exists."""
        return native_frame(self.columns(), self.frame)

    def file_columns(self) -> dict[str, list[Any]]:
        """The columns as a file holds them: the position of each point first.

        None stands for no attack, or beside a reason for what was not worked out.
        """
        columns = self.columns()
        columns["radius"] = [int(r) if math.isfinite(r) else None for r in columns["radius"]]
        return {"point": list(range(len(self))), **columns}

    def document(self) -> dict[str, Any]:
        """The JSON form; null where no attack exists or, beside a reason, none was worked out."""
        columns = self.file_columns()
        rows = zip(*columns.values(), strict=True)
        return {
            "n_points": len(self),
            "threat": self.threat,
            "points": [dict(zip(columns, row, strict=True)) for row in rows],
        }

    @property
    def weakest_first(self) -> NDArray[np.intp]:
        """The places of the certain points, the least radius first.

        Points that are not certain need no attack: a wall of zeros tells nothing the headline does not.
        """
        order = np.argsort(self.radius, kind="stable")
        certain: NDArray[np.intp] = order[self.radius[order] != 0]
        return certain

    def _repr_html_(self) -> str:
        order = self.weakest_first
        some = self.take(order[:ROWS])
        columns = {
            "point": [shown_name(self.names, place) for place in order[:ROWS].tolist()],
            DEEDS[self.threat]: some.radius.tolist(),
            "label": some.label.tolist(),
            "rival that catches up": some.rival.tolist(),
        }
        if any(some.not_worked_out):
            columns["not worked out"] = some.not_worked_out.tolist()
        return shown_table(f"{self!r}; weakest certain points first", columns, len(order))

    def columns(self) -> dict[str, list[Any]]:
        """Return plain columns: the key if there is one, then the parts of `Radius`."""
        return {
            **key_columns(self.names),
            "radius": self.radius.tolist(),
            "label": [None if name is None else str(name) for name in self.label],
            "rival": [None if name is None else str(name) for name in self.rival],
            "n_raise": self.n_raise.tolist(),
            "n_lower": self.n_lower.tolist(),
            "not_worked_out": self.not_worked_out.tolist(),
        }

    def __len__(self) -> int:
        return len(self.radius)

    def __repr__(self) -> str:
        n_weak, n_safe = int((self.radius == 0).sum()), int(np.isinf(self.radius).sum())
        head = f"Radii: {len(self):,} points, {n_weak:,} not certain, {n_safe:,} beyond any attack"
        n_left = int(np.isnan(self.radius).sum())
        head += f", {n_left:,} not worked out" if n_left else ""
        finite = self.radius[(self.radius > 0) & np.isfinite(self.radius)]
        if not len(finite):
            return head
        return (
            f"{head}\n  {DEEDS[self.threat]}: {finite.min():,.0f} to {finite.max():,.0f}, "
            f"median {np.median(finite):,.0f}"
        )
