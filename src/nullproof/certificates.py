"""certify: is a prediction the same in every world of an incomplete table, or up to which bias?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from nullproof.curve import CertaintyCurve, curve_of
from nullproof.explanation import Explanation, explanation_of
from nullproof.model import Floats, Model
from nullproof.prediction import predictions
from nullproof.selection import chosen
from nullproof.show import ROWS, intervals, shown_figure, shown_table
from nullproof.tables.cells import native_frame
from nullproof.tables.names import key_columns
from nullproof.tables.points import OwnHoles, Points
from nullproof.tolerances import Tolerances, tolerances_of
from nullproof.verdicts import Verdicts, verdicts
from nullproof.words import tolerance as written_tolerance

# The bias at which a summary says that a prediction holds, unless one is asked about.
HOLDS = 0.05
VERDICTS = ("certain", "holds", "open")


@dataclass(frozen=True)
class Certificate:
    """What all worlds say of one point.

    ``possible`` are the labels that win or tie in some world; the point is certain if there is only
    one, its ``label``. For an incomplete point they are the labels that no other label beats
    everywhere. ``predicted`` is what Naive Bayes predicts from the known cells, None for a tie.
    """

    certain: bool
    label: Any
    possible: tuple[Any, ...]
    predicted: Any
    min_log_support: dict[Any, float]
    max_log_support: dict[Any, float]
    n_own_holes: int
    position: int = field(compare=False)
    among: Certificates = field(compare=False)

    @property
    def tolerance(self) -> float:
        """The largest bias up to which the prediction holds; NaN if not even 0 decides."""
        return float(self.among.tolerance[self.position])

    @property
    def rival(self) -> Any:
        """The label that threatens first as the bias grows; None where there is none."""
        return self.among.rival[self.position]

    def explain(self, *, label: Any = None, rival: Any = None) -> Explanation:
        """Which cells of the point speak for its label and against it; options as for `explain`."""
        among = self.among
        return explanation_of(among.model, among.points, self.position, label=label, rival=rival)

    def _repr_html_(self) -> str:
        return shown_figure(repr(self), _picture(self))

    @property
    def verdict(self) -> str:
        """``"certain"``, ``"holds"`` (up to the threshold of a summary) or ``"open"``."""
        return str(self.among.verdict[self.position])

    def __repr__(self) -> str:
        if self.verdict == "certain":
            return f"Certificate(certain: {self.predicted} in {self.among.worlds})"
        if self.verdict == "holds":
            reach = written_tolerance(self.tolerance)
            return f"Certificate(holds: {self.predicted} up to a bias of {reach})"
        return f"Certificate(open: {' or '.join(str(label) for label in self.possible)})"


@dataclass(frozen=True, repr=False, eq=False)
class Certificates:
    """What all worlds say of many points; as a sequence, one `Certificate` per point.

    Parameters
    ----------
    model
        The index with the smoothing, the prior and the bias that were asked about.
    points
        The points; their own holes are read already, as was asked.
    verdicts
        What every world agrees on, as positions in ``labels``.
    """

    model: Model
    points: Points
    verdicts: Verdicts

    @property
    def labels(self) -> tuple[Any, ...]:
        """The labels, in the order of the columns of the arrays below."""
        return self.model.index.labels

    @property
    def strict(self) -> bool:
        """Whether missing cells may hold anything: no bias was given."""
        return self.model.unbiased is self.model

    @property
    def worlds(self) -> str:
        """In words: the worlds in which a prediction of tolerance 1 is the same."""
        pairs = zip(self.model.bias, self.model.fixed, strict=True)
        free = all(bias == 1 for bias, named in pairs if named)
        return "every world" if free else "every world of this bias"

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
        """Whether every world (of at most the bias, if one was given) predicts the same label."""
        return self.verdicts.certain

    @property
    def label(self) -> NDArray[np.object_]:
        """The certain label of each certain point, None for the others."""
        return self.model.named(self.verdicts.winner)

    @cached_property
    def predicted(self) -> NDArray[np.object_]:
        """What Naive Bayes predicts from the known cells; None where labels tie."""
        return self.model.named(predictions(self.model, self.points))

    @property
    def n_own_holes(self) -> NDArray[np.int64]:
        """How many cells of each point itself are not known."""
        return self.points.n_own_holes

    @property
    def tolerance(self) -> Floats:
        """The largest bias up to which each prediction holds, worked out when first asked for.

        1 where a point is certain, NaN where not even a bias of 0 decides. Columns that the bias
        named one by one keep theirs.
        """
        return self.tolerances.value

    @property
    def rival(self) -> NDArray[np.object_]:
        """The label that threatens each point first as the bias grows; None where there is none."""
        return self.model.named(self.tolerances.rival)

    @cached_property
    def tolerances(self) -> Tolerances:
        """Tolerance and rival of every point, as positions."""
        return tolerances_of(self.model, self.points, self.verdicts if self.strict else None)

    @property
    def threshold(self) -> float | None:
        """The bias that a summary takes: the one asked about, else 0.05; None if columns differ."""
        if any(self.model.fixed):
            return None
        return HOLDS if self.strict else float(self.model.bias[0])

    @property
    def up_to(self) -> str:
        """Up to what a prediction holds that has the verdict ``"holds"``, in words."""
        own = self.threshold
        return "the bias by column" if own is None else f"a bias of {own:g}"

    @cached_property
    def verdict(self) -> NDArray[np.object_]:
        """Per point ``"certain"``, ``"holds"`` or ``"open"``.

        Certain in every world, whatever bias was asked about; else holding up to that bias, or up to
        0.05 if none was; else open.
        """
        return self._named(self.tolerance >= HOLDS if self.strict else self.certain)

    def verdict_at(self, bias: float) -> NDArray[np.object_]:
        """Per point ``"certain"``, ``"holds"`` (up to a bias) or ``"open"``."""
        return self._named(self.tolerance >= bias)

    def _named(self, holds: NDArray[np.bool_]) -> NDArray[np.object_]:
        named = np.where(holds, "holds", "open")
        return np.where(self._anywhere, "certain", named).astype(object)

    @cached_property
    def _anywhere(self) -> NDArray[np.bool_]:
        """Which points are certain without any bias."""
        return self.certain if self.strict else verdicts(self.model.unbiased, self.points).certain

    def take(self, places: NDArray[np.intp]) -> Certificates:
        """The certificates of some points; what was worked out already is kept."""
        some = replace(self, verdicts=self.verdicts.take(places), points=self.points.take(places))
        known = vars(self)
        if "tolerances" in known:
            own = self.tolerances
            vars(some)["tolerances"] = Tolerances(own.value[places], own.rival[places])
        for name in {"predicted", "_anywhere"} & {*known}:
            vars(some)[name] = known[name][places]
        return some

    def n_of(self, verdict: str) -> int:
        """How many points have a verdict."""
        return int((self.verdict == verdict).sum())

    def n_certain_if(self, own_holes: OwnHoles) -> int:
        """How many points would be certain with their own holes read this way."""
        some = np.flatnonzero(self.n_own_holes)
        other = verdicts(self.model, self.points.take(some).read(own_holes))
        return int(self.certain.sum() - self.certain[some].sum() + other.certain.sum())

    def curve(self, truth: Any = None) -> CertaintyCurve:
        """How many predictions hold as the bias grows.

        Parameters
        ----------
        truth
            The true label of each point, to tell how many of the predictions that hold are right.
        """
        return curve_of(self.tolerance, self.predicted, truth)

    def __len__(self) -> int:
        return len(self.verdicts)

    @overload
    def __getitem__(self, position: int) -> Certificate: ...
    @overload
    def __getitem__(self, position: Any) -> Certificates: ...
    def __getitem__(self, position: Any) -> Certificate | Certificates:
        """One point by its position; several by a slice, positions or a mask."""
        position = chosen(position, len(self))
        if not isinstance(position, int):
            return self.take(position)
        possible = self.possible[position]
        names = tuple(label for label, is_so in zip(self.labels, possible, strict=True) if is_so)
        return Certificate(
            len(names) == 1,
            names[0] if len(names) == 1 else None,
            names,
            self.predicted[position],
            dict(zip(self.labels, self.min_log_support[position].tolist(), strict=True)),
            dict(zip(self.labels, self.max_log_support[position].tolist(), strict=True)),
            int(self.n_own_holes[position]),
            position,
            self,
        )

    def __iter__(self) -> Iterator[Certificate]:
        return (self[position] for position in range(len(self)))

    def columns(self) -> dict[str, list[Any]]:
        """The verdicts as plain columns, the key first if there is one."""
        names = [str(label) for label in self.labels]
        return {
            **key_columns(self.points.names),
            "predicted": _written(self.predicted),
            "verdict": self.verdict.tolist(),
            "certain": self.certain.tolist(),
            "label": _written(self.label),
            "possible": [
                " | ".join(name for name, is_so in zip(names, row, strict=True) if is_so)
                for row in self.possible.tolist()
            ],
            "tolerance": [None if t != t else t for t in self.tolerance.tolist()],
            "rival": _written(self.rival),
            "n_own_holes": self.n_own_holes.tolist(),
        }

    def file_columns(self) -> dict[str, list[Any]]:
        """The columns as a file holds them: the position of each point first."""
        return {"point": list(range(len(self))), **self.columns()}

    def document(self) -> dict[str, Any]:
        """The JSON form; ``n_certain`` counts the points that are certain at the bias asked about."""
        names = [str(label) for label in self.labels]
        columns = self.columns()
        columns["possible"] = [
            [name for name, is_so in zip(names, row, strict=True) if is_so]
            for row in self.possible.tolist()
        ]
        return {
            "n_points": len(self),
            "n_certain": int(self.certain.sum()),
            "verdicts": {verdict: self.n_of(verdict) for verdict in VERDICTS},
            "threshold": self.threshold,
            "curve": [{"bias": one.bias, "n_hold": one.n_hold} for one in self.curve().points()],
            "labels": names,
            "points": [
                {"point": point, **dict(zip(columns, row, strict=True))}
                for point, row in enumerate(zip(*columns.values(), strict=True))
            ],
        }

    def to_frame(self) -> Any:
        """One row per point, in the library that the points came in."""
        return native_frame(self.columns(), self.points.frame)

    def _headline(self) -> str:
        n_holds = self.n_of("holds")
        return (
            f"Certificates: {self.n_of('certain'):,} of {len(self):,} points certain, {n_holds:,} "
            f"{'holds' if n_holds == 1 else 'hold'} up to {self.up_to}, "
            f"{self.n_of('open'):,} open"
        )

    def _repr_html_(self) -> str:
        some = self.take(np.arange(min(len(self), ROWS)))
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


def _written(labels: NDArray[np.object_]) -> list[str | None]:
    return [None if label is None else str(label) for label in labels]


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


def certificates_of(model: Model, points: Points) -> Certificates:
    """What all worlds of a model say of some points."""
    return Certificates(model, points, verdicts(model, points))
