"""certify: is a prediction the same in every world of an incomplete training table?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, overload

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.model import Alpha, Floats, Model, Prior
from nullproof.show import ROWS, intervals, shown_figure, shown_table
from nullproof.tables.cells import native_frame
from nullproof.tables.points import Points
from nullproof.verdicts import Verdicts, verdicts


@dataclass(frozen=True)
class Certificate:
    """What all worlds say of one point.

    ``possible`` are the labels that win or tie in some world; the point is certain if there is only
    one, its ``label``. For an incomplete point they are the labels that no label beats everywhere.
    """

    certain: bool
    label: Any
    possible: tuple[Any, ...]
    min_log_support: dict[Any, float]
    max_log_support: dict[Any, float]

    def _repr_html_(self) -> str:
        return shown_figure(repr(self), _picture(self))

    def __repr__(self) -> str:
        if self.certain:
            return f"Certificate(certain: {self.label} in every world)"
        return f"Certificate(open: {' or '.join(str(label) for label in self.possible)})"


@dataclass(frozen=True, repr=False, eq=False)
class Certificates:
    """What all worlds say of many points; as a sequence, one `Certificate` per point.

    Parameters
    ----------
    model
        The index with the smoothing and the prior that were asked about.
    verdicts
        What every world agrees on, as positions in ``labels``.
    """

    model: Model
    verdicts: Verdicts
    frame: nw.DataFrame[Any] | None = None

    @property
    def labels(self) -> tuple[Any, ...]:
        """The labels, in the order of the columns of the arrays below."""
        return self.model.index.labels

    @property
    def possible(self) -> NDArray[np.bool_]:
        """Points × labels: which labels win or tie in some world."""
        return self.verdicts.possible

    @property
    def min_log_support(self) -> Floats:
        """Points × labels: the least natural logarithm of each support, for display."""
        return self.verdicts.min_log

    @property
    def max_log_support(self) -> Floats:
        """Points × labels: the greatest natural logarithm of each support, for display."""
        return self.verdicts.max_log

    @property
    def certain(self) -> NDArray[np.bool_]:
        """Whether every world predicts the same label."""
        return self.verdicts.certain

    @property
    def label(self) -> NDArray[np.object_]:
        """The certain label of each certain point, None for the others."""
        return self.model.named(self.verdicts.winner)

    def __len__(self) -> int:
        return len(self.verdicts)

    def __getitem__(self, position: int) -> Certificate:
        possible = self.possible[position]
        names = tuple(label for label, is_so in zip(self.labels, possible, strict=True) if is_so)
        return Certificate(
            len(names) == 1,
            names[0] if len(names) == 1 else None,
            names,
            dict(zip(self.labels, self.min_log_support[position].tolist(), strict=True)),
            dict(zip(self.labels, self.max_log_support[position].tolist(), strict=True)),
        )

    def __iter__(self) -> Iterator[Certificate]:
        return (self[position] for position in range(len(self)))

    def columns(self) -> dict[str, list[Any]]:
        """The verdicts as plain columns: certain, label, possible."""
        names = [str(label) for label in self.labels]
        return {
            "certain": self.certain.tolist(),
            "label": [None if label is None else str(label) for label in self.label],
            "possible": [
                " | ".join(name for name, is_so in zip(names, row, strict=True) if is_so)
                for row in self.possible.tolist()
            ],
        }

    def file_columns(self) -> dict[str, list[Any]]:
        """The columns as a file holds them: the position of each point first."""
        return {"point": list(range(len(self))), **self.columns()}

    def document(self) -> dict[str, Any]:
        """The JSON form."""
        names = [str(label) for label in self.labels]
        columns = self.columns()
        columns["possible"] = [
            [name for name, is_so in zip(names, row, strict=True) if is_so]
            for row in self.possible.tolist()
        ]
        return {
            "n_points": len(self),
            "n_certain": int(self.certain.sum()),
            "labels": names,
            "points": [
                {"point": point, **dict(zip(columns, row, strict=True))}
                for point, row in enumerate(zip(*columns.values(), strict=True))
            ],
        }

    def to_frame(self) -> Any:
        """One row per point: certain, label, possible; in the library that the points came in."""
        return native_frame(self.columns(), self.frame)

    def _headline(self) -> str:
        return f"Certificates: {int(self.certain.sum()):,} of {len(self):,} points certain"

    def _repr_html_(self) -> str:
        some = replace(self, verdicts=self.verdicts.take(slice(ROWS)))
        columns = {"point": list(range(len(some))), **some.columns()}
        listing = shown_table(self._headline(), columns, len(self))
        return listing + "".join(
            shown_figure(f"point {place}: {some[place]!r}", _picture(some[place]))
            for place in some._telling()
        )

    def _telling(self) -> list[int]:
        """The first certain point and the first that is not."""
        certain = self.certain
        found = [np.flatnonzero(certain == verdict)[:1].tolist() for verdict in (True, False)]
        return sorted(found[0] + found[1])

    def __repr__(self) -> str:
        head = self._headline()
        return "\n".join([head, *(f"  {p}: {self[p]!r}" for p in range(min(len(self), 5)))]) + (
            "\n  …" if len(self) > 5 else ""
        )


def _picture(one: Certificate) -> str:
    """The support intervals of the strongest labels, possible ones first."""
    high, low = one.max_log_support, one.min_log_support
    order = sorted(high, key=lambda label: (label not in one.possible, -high[label]))[:ROWS]
    return intervals(
        [str(label) for label in order],
        [low[label] for label in order],
        [high[label] for label in order],
        possible=[label in one.possible for label in order],
    )


@overload
def certify(
    index: CountIndex,
    points: tuple[Any, ...] | dict[str, Any],
    *,
    alpha: Alpha = ...,
    prior: Prior = ...,
) -> Certificate: ...
@overload
def certify(
    index: CountIndex, points: Any, *, alpha: Alpha = ..., prior: Prior = ...
) -> Certificates: ...
def certify(
    index: CountIndex, points: Any, *, alpha: Alpha = 0.0, prior: Prior = None
) -> Certificate | Certificates:
    """Decide for each point whether every world predicts the same label; exact, whatever ``n`` is.

    Parameters
    ----------
    points
        A data frame, a file, an array or a list of rows; or one point, as a tuple with one value per
        feature in the order of ``index.features``, or as a mapping. A cell may be None (any value
        of the domain) or a set of candidates.
    alpha
        Smoothing; 0 as in the paper, 1 as scikit-learn users know it.
    prior
        None for the label frequencies, ``"uniform"``, or one number per label.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("b", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> certify(index, ("a", "x")).certain
    True
    >>> certify(index, [("a", "x"), ("a", "y"), ("b", "y")])
    Certificates: 2 of 3 points certain
      0: Certificate(certain: yes in every world)
      1: Certificate(open: no or yes)
      2: Certificate(certain: no in every world)
    """
    encoded = index.encode(points)
    found = certificates_of(Model(index, alpha, prior), encoded)
    return found[0] if encoded.single else found


def certificates_of(model: Model, points: Points) -> Certificates:
    """What all worlds of a model say of some points."""
    return Certificates(model, verdicts(model, points), points.frame)
