"""certify: is a prediction the same in every world of an incomplete table, or up to which bias?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.data.keys import Key, shown_name
from nullproof.data.points import OwnHoles, Points
from nullproof.data.sources import native_frame
from nullproof.lines import VERDICTS, Lines
from nullproof.model.accuracy import CertaintyCurve, Truth, true_positions
from nullproof.model.bias import Floats
from nullproof.model.explain import Explanation, explanation_of
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Bias, Prior
from nullproof.model.predict import predictions
from nullproof.model.tolerance import Tolerances, tolerances_of
from nullproof.model.verdicts import Verdicts, verdicts
from nullproof.progress import Progress
from nullproof.selection import chosen
from nullproof.show import ROWS, intervals, shown_figure, shown_table
from nullproof.words import either, many
from nullproof.words import tolerance as written_tolerance

# The bias at which a summary says that a prediction holds, unless one is asked about.
HOLDS = 0.05
_NAMES = np.array(VERDICTS, dtype=object)
# What is worked out when first asked for, and the same with true labels or without.
_KEPT = {"tolerances", "predicted", "_predicted", "_anywhere"}


@overload
def certify(
    index: CountIndex,
    points: tuple[Any, ...] | dict[str, Any],
    *,
    alpha: Alpha = ...,
    prior: Prior = ...,
    own_missing: OwnHoles = ...,
    bias: Bias = ...,
    key: Key | None = ...,
    truth: Any = ...,
) -> Certificate: ...
@overload
def certify(
    index: CountIndex,
    points: Any,
    *,
    alpha: Alpha = ...,
    prior: Prior = ...,
    own_missing: OwnHoles = ...,
    bias: Bias = ...,
    key: Key | None = ...,
    truth: Any = ...,
) -> Certificates: ...
def certify(
    index: CountIndex,
    points: Any,
    *,
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnHoles = "skip",
    bias: Bias = 1.0,
    key: Key | None = None,
    truth: Any = None,
) -> Certificate | Certificates:
    """Decide for each point whether every world predicts the same label; exact for tables of any size.

    Parameters
    ----------
    points
        A data frame, a file, an array or a list of rows; or one point, as a tuple with one value per
        feature in the order of ``index.features``, or as a mapping. A cell may be None (not known)
        or a set of candidates.
    alpha
        Smoothing; 1 as scikit-learn users know it, 0 as in the paper.
    prior
        None for the label frequencies, ``"uniform"``, or one number per label.
    own_missing
        ``"skip"``: predict from the cells that a point knows, as `predict` does. ``"any"``: the
        prediction must be the same whatever the point's own missing cells hold.
    bias
        How far missing training cells may differ from the known ones (docs/assumptions.md): 1 for
        any values at all; 0.05 if the share of a value among them is within 0.05 of its share
        among the known cells. Or a mapping from column to number, with ``"*"`` for the rest.
    key
        What names the points in the result: a column of theirs, or one name per point.
    truth
        The true label of each point, None where it is not known. It changes no verdict, and only tells
        which predictions are right.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> certify(index, ("a", "x")).certain
    True
    >>> certify(index, [("a", "x"), ("a", "y"), ("b", "y")])
    Certificates: 2 of 3 points certain, 0 hold up to a bias of 0.05, 1 open
      0: Certificate(certain: yes in every world)
      1: Certificate(open: no or yes, a tie)
      2: Certificate(certain: no in every world)
    """
    model = Model(index, alpha, prior, bias)
    encoded = model.points(points, own_missing, key)
    found = certificates_of(model, encoded)
    if truth is not None:
        found = found.with_truth([truth] if encoded.single else truth)
    return found[0] if encoded.single else found


def truth(certificates: Certificates, labels: Any) -> Truth:
    """Tell how many predictions are right: of all points, by verdict, and as the bias grows.

    Parameters
    ----------
    certificates
        What `certify` gave.
    labels
        The true label of each point, None where it is not known. Labels that the training table does
        not have are not counted either.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> found = certify(index, [("a", "x"), ("a", "y"), ("b", "y")])
    >>> truth(found, ["yes", "yes", "no"])
    Truth: 2 of 3 predictions right (66.7 %, balanced 75.0 %)
      certain: 2 of 2 right (100 %)
      holds: 0 of 0 right
      open: 0 of 1 right (0 %)
      Always answering no would be right for 33.3 % (balanced 50.0 %). Certain says that the missing \
cells cannot change a prediction, not that it is right.
    """
    found = certificates.with_truth(labels).truth
    assert found is not None
    return found


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
    actual
        The true labels as positions in ``labels``, -1 for one that is not known; None if none is.

    Examples
    --------
    >>> from nullproof import CountIndex, certify
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> found = certify(index, [("a", "x"), ("a", "y"), ("b", "y")])
    >>> found.certain
    array([ True, False,  True])
    >>> found.predicted.tolist(), found.verdict.tolist()
    (['yes', None, 'no'], ['certain', 'open', 'certain'])
    >>> found[1]
    Certificate(open: no or yes, a tie)
    >>> len(found[found.certain])
    2
    """

    model: Model
    points: Points
    verdicts: Verdicts
    actual: NDArray[np.int32] | None = None

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
    def fixed_parts(self) -> str:
        """In words: what was learned from the known cells and then fixed; empty if nothing was."""
        features = self.model.index.schema.features
        learned = ["bins"] * any(f.edges for f in features)
        learned += ["weights"] * (not self.model.has_equal_weights)
        if not learned:
            return ""
        return f"Certain is meant for the {' and '.join(learned)} learned from the known cells, which stay."

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
        return self.model.named(self._predicted)

    @cached_property
    def _predicted(self) -> NDArray[np.int32]:
        # A point that holds at any bias has the label that is predicted (T11).
        predicted = (self.tolerances if "tolerances" in vars(self) else self.verdicts).winner.copy()
        unknown = np.flatnonzero(predicted < 0)
        predicted[unknown] = predictions(self.model, self.points.take(unknown))
        return predicted

    def with_truth(self, labels: Any) -> Certificates:
        """The same certificates with the true label of each point, None where it is not known.

        True labels change no verdict; they tell which predictions are right.
        """
        some = replace(self, actual=true_positions(self.model.index.schema, labels, len(self)))
        vars(some).update({name: vars(self)[name] for name in _KEPT & {*vars(self)}})
        return some

    @cached_property
    def truth(self) -> Truth | None:
        """How many predictions of each verdict are right; None if no true labels were given."""
        if self.actual is None:
            return None
        usual = int(self.model.index.label_counts.argmax())
        return Truth(
            self.verdict,
            self.tolerance,
            self._predicted,
            self.actual,
            self.points.frame,
            usual,
            self.labels[usual],
        )

    @cached_property
    def right(self) -> NDArray[np.object_] | None:
        """Per point whether its prediction is right, None where its true label is not known.

        None alone if no true labels were given.
        """
        if self.actual is None:
            return None
        found: NDArray[np.object_] = (self.actual == self._predicted).astype(object)
        found[self.actual < 0] = None
        return found

    @property
    def n_own_missing(self) -> NDArray[np.int64]:
        """How many cells of each point itself are not known."""
        return self.points.n_own_missing

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
        return self._tolerances(None)

    def work_out(self, on_progress: Progress | None) -> None:
        """Work the tolerances out now, and tell how far that is; on large tables it takes a while."""
        if "tolerances" not in vars(self):
            vars(self)["tolerances"] = self._tolerances(on_progress)

    def _tolerances(self, on_progress: Progress | None) -> Tolerances:
        judged = self.verdicts if self.strict else None
        return tolerances_of(self.model, self.points, judged, on_progress)

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
        return _NAMES[self._verdicts]

    @cached_property
    def _verdicts(self) -> NDArray[np.int8]:
        return self._judged(self.tolerance >= HOLDS if self.strict else self.certain)

    def verdict_at(self, bias: float) -> NDArray[np.object_]:
        """Per point ``"certain"``, ``"holds"`` (up to a bias) or ``"open"``."""
        return _NAMES[self._judged(self.tolerance >= bias)]

    def _judged(self, holds: NDArray[np.bool_]) -> NDArray[np.int8]:
        """The verdict of each point as a position in `VERDICTS`."""
        return np.where(self._anywhere, 0, np.where(holds, 1, 2)).astype(np.int8)

    @cached_property
    def _anywhere(self) -> NDArray[np.bool_]:
        """Which points are certain without any bias."""
        return self.certain if self.strict else verdicts(self.model.unbiased, self.points).certain

    def take(self, places: NDArray[np.intp]) -> Certificates:
        """The certificates of some points; what was worked out already is kept."""
        some = replace(
            self,
            verdicts=self.verdicts.take(places),
            points=self.points.take(places),
            actual=None if self.actual is None else self.actual[places],
        )
        known = vars(self)
        if "tolerances" in known:
            vars(some)["tolerances"] = self.tolerances.take(places)
        for name in (_KEPT & {*known}) - {"tolerances"}:
            vars(some)[name] = known[name][places]
        return some

    def n_of(self, verdict: str) -> int:
        """How many points have a verdict."""
        return int((self.verdict == verdict).sum())

    def n_certain_if(self, own_missing: OwnHoles) -> int:
        """How many points would be certain with their own holes read this way."""
        some = np.flatnonzero(self.n_own_missing)
        other = verdicts(self.model, self.points.take(some).read(own_missing))
        return int(self.certain.sum() - self.certain[some].sum() + other.certain.sum())

    def curve(self, truth: Any = None) -> CertaintyCurve:
        """How many predictions hold as the bias grows.

        Parameters
        ----------
        truth
            The true label of each point, to tell how many of the predictions that hold are right; those
            that the certificates have already need not be given again.
        """
        known = self.truth if truth is None else self.with_truth(truth).truth
        return CertaintyCurve(self.tolerance) if known is None else known.curve

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
            int(self.n_own_missing[position]),
            position,
            self,
        )

    def __iter__(self) -> Iterator[Certificate]:
        return (self[position] for position in range(len(self)))

    def columns(self) -> dict[str, list[Any]]:
        """One row per point as plain columns; the key first and ``right`` last, if they are known."""
        return self._lines.columns()

    def listed_columns(self) -> dict[str, list[Any]]:
        """The columns with possible and other labels as lists."""
        return self._lines.listed_columns()

    def file_columns(self, first: int = 0) -> dict[str, Any]:
        """The columns as a file holds them, as series of polars: the position of each point first.

        ``first`` is the position of the first point, where others came before these.
        """
        return self._lines.file_columns(first)

    @property
    def _lines(self) -> Lines:
        return Lines(
            self.labels,
            self.points.names,
            self._predicted,
            self._verdicts,
            self.possible,
            self.certain,
            self.verdicts.winner,
            self.tolerance,
            self.tolerances.rival,
            self.n_own_missing,
            self.actual,
        )

    def document(self) -> dict[str, Any]:
        """The JSON form; ``n_certain`` counts the points that are certain at the bias asked about."""
        columns = self.listed_columns()
        return {
            "n_points": len(self),
            "n_certain": int(self.certain.sum()),
            "verdicts": {verdict: self.n_of(verdict) for verdict in VERDICTS},
            "threshold": self.threshold,
            "curve": [{"bias": one.bias, "n_hold": one.n_hold} for one in self.curve().points()],
            **({} if self.truth is None else {"truth": self.truth.by_verdict()}),
            "labels": [str(label) for label in self.labels],
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
        ) + ("" if self.truth is None else f"; {self.truth.sentence()}")

    def _repr_html_(self) -> str:
        listing = shown_table(f"{self._headline()}; weakest first", self._shown(), len(self))
        return listing + "".join(
            shown_figure(
                f"point {shown_name(self.points.names, place)}: {self[place]!r}",
                picture(self[place]),
            )
            for place in self._telling()
        )

    @cached_property
    def _weakest(self) -> NDArray[np.intp]:
        """All points, those that a small bias changes first; NaN is weaker than 0."""
        return np.argsort(np.nan_to_num(self.tolerance, nan=-1.0), kind="stable")

    def _shown(self) -> dict[str, list[str]]:
        """What a notebook shows of the weakest points, in words."""
        places = self._weakest[:ROWS]
        lines = self.take(places).listed_columns()
        shown = {
            "point": [shown_name(self.points.names, place) for place in places.tolist()],
            "predicted": ["tie" if label is None else label for label in lines["predicted"]],
            "verdict": lines["verdict"],
            "holds up to a bias of": [
                written_tolerance(bias) for bias in self.tolerance[places].tolist()
            ],
            "other possible labels": [", ".join(labels) for labels in lines["others"]],
        }
        if any(lines["n_own_missing"]):
            shown["own holes"] = lines["n_own_missing"]
        if "right" in lines:
            shown["right"] = lines["right"]
        return shown

    def _telling(self) -> list[int]:
        """The weakest of the points that are not certain, and of those that are."""
        return [
            int(places[0])
            for certain in (False, True)
            if len(places := self._weakest[self.certain[self._weakest] == certain])
        ]

    def __repr__(self) -> str:
        some = self.take(np.arange(min(len(self), 5)))
        lines = [
            f"  {shown_name(some.points.names, place)}: {one!r}" for place, one in enumerate(some)
        ]
        return "\n".join([self._headline(), *lines, *(["  …"] if len(self) > 5 else [])])


def certificates_of(model: Model, points: Points) -> Certificates:
    """What all worlds of a model say of some points."""
    return Certificates(model, points, verdicts(model, points))


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
    among: Certificates = field(compare=False)

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
