"""certify: is a prediction the same in every world of an incomplete table, and if not, up to which bias?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, overload

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.data.points import Key, OwnMissing, Points, RowNames, shown_name
from nullproof.data.sources import some_rows
from nullproof.model.accuracy import BIASES, CurvePoint, Truth, true_positions
from nullproof.model.bias import Floats
from nullproof.model.explain import Explanation, explanation_of
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Bias, Prior
from nullproof.model.predict import predictions
from nullproof.model.tolerance import Tolerances, tolerances_of
from nullproof.model.verdicts import HOLDS, VERDICTS, Verdicts, verdicts
from nullproof.progress import Progress
from nullproof.results import Column, Result, label_sets
from nullproof.results.pictures import ROWS, intervals, shown_figure
from nullproof.words import either, many, quoted, some
from nullproof.words import tolerance as written_tolerance

_NAMES = np.array(VERDICTS, dtype=object)
# Values per point that are computed on first use and do not depend on true labels.
_KEPT = {"tolerances", "predicted", "predicted_positions", "_anywhere"}


@overload
def certify(
    index: CountIndex,
    points: tuple[Any, ...] | dict[str, Any],
    *,
    alpha: Alpha = ...,
    prior: Prior = ...,
    own_missing: OwnMissing = ...,
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
    own_missing: OwnMissing = ...,
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
    own_missing: OwnMissing = "skip",
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
        ``"skip"``: predict from the known cells of a point, as `predict` does. ``"any"``: the
        prediction must be the same whatever the point's own missing cells hold.
    bias
        How far missing training cells may differ from the known ones (docs/assumptions.md): 1 for
        any values at all; 0.05 if the share of a value among them is within 0.05 of its share
        among the known cells. Or a mapping from column to number, with ``"*"`` for the rest.
    key
        The names of the points in the result: one of their columns, or one name per point.
    truth
        The true label of each point, None if it is not known. It changes no verdict; it shows which
        predictions are right.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> one = certify(index, ("a", "x"))
    >>> one.certain, one.label, one.possible, one.tolerance
    (True, 'yes', ('yes',), 1.0)
    >>> result = certify(index, [("a", "x"), ("a", "y"), ("b", "y")])
    >>> result.predicted.tolist(), result.verdict.tolist()
    (['yes', None, 'no'], ['certain', 'open', 'certain'])
    >>> result
    Certificates: 2 of 3 points certain, 0 hold up to a bias of 0.05, 1 open
      0: Certificate(certain: yes in every world)
      1: Certificate(open: no or yes, a tie)
      2: Certificate(certain: no in every world)
    """
    model = Model(index, alpha, prior, bias)
    encoded = model.points(points, own_missing, key)
    result = certificates_of(model, encoded)
    if truth is not None:
        is_one = encoded.single and not isinstance(truth, list | tuple | np.ndarray)
        result = result.with_truth([truth] if is_one else truth)
    return result[0] if encoded.single else result


def truth(certificates: Certificates, labels: Any) -> Truth:
    """Count how many predictions are right: of all points, by verdict, and as the bias grows.

    Parameters
    ----------
    certificates
        The result of `certify`.
    labels
        The true label of each point, None if it is not known. Labels that do not occur in the training
        table are not counted either.

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
    return Truth(certificates.with_truth(labels))


@dataclass(frozen=True, repr=False, eq=False)
class Certificates(Result["Certificate"]):
    """The certificates of many points; as a sequence, one `Certificate` per point.

    Parameters
    ----------
    model
        The index with the smoothing, the prior and the bias.
    points
        The points, with their own missing cells read as ``own_missing`` says.
    verdicts
        What every world agrees on, as positions in ``labels``.
    actual
        The true labels as positions in ``labels``, -1 for one that is not known; None if none is.
    """

    model: Model
    points: Points
    verdicts: Verdicts
    actual: NDArray[np.int32] | None = None

    # Verdicts -----------------------------------------------------------------------------------

    @property
    def labels(self) -> tuple[Any, ...]:
        """The labels, in the order of the columns of the arrays below."""
        return self.model.index.labels

    @property
    def certain(self) -> NDArray[np.bool_]:
        """Whether every world (of at most the bias, if one was given) predicts the same label."""
        return self.verdicts.certain

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
    def label(self) -> NDArray[np.object_]:
        """The certain label of each certain point, None for the others."""
        return self.model.named(self.verdicts.winner)

    @cached_property
    def predicted(self) -> NDArray[np.object_]:
        """What Naive Bayes predicts from the known cells; None where labels tie."""
        return self.model.named(self.predicted_positions)

    @cached_property
    def predicted_positions(self) -> NDArray[np.int32]:
        """The position of each predicted label; -1 where labels tie."""
        # A point that holds at any bias has the label that is predicted (T11).
        predicted = (self.tolerances if "tolerances" in vars(self) else self.verdicts).winner.copy()
        unknown = np.flatnonzero(predicted < 0)
        predicted[unknown] = predictions(self.model, self.points.take(unknown))
        return predicted

    @property
    def tolerance(self) -> Floats:
        """The largest bias up to which each prediction holds, computed on first use.

        1 if a point is certain, NaN if it is undecided even at a bias of 0. Columns whose bias was given
        one by one keep it.
        """
        return self.tolerances.value

    @property
    def rival(self) -> NDArray[np.object_]:
        """The label that threatens each point first as the bias grows; None if there is none."""
        return self.model.named(self.tolerances.rival)

    @cached_property
    def tolerances(self) -> Tolerances:
        """Tolerance and rival of every point, as positions."""
        self.work_out(None)
        return self.tolerances

    def work_out(self, on_progress: Progress | None) -> None:
        """Compute the tolerances now and report progress; this takes a while on large tables."""
        if "tolerances" not in vars(self):
            judged = self.verdicts if self.strict else None
            found = tolerances_of(self.model, self.points, judged, on_progress)
            vars(self)["tolerances"] = found

    @cached_property
    def verdict(self) -> NDArray[np.object_]:
        """Per point ``"certain"``, ``"holds"`` or ``"open"``.

        Certain in every world, whatever the given bias; else holding up to that bias, or up to 0.05 if
        none was given; else open.
        """
        return _NAMES[self._verdicts]

    @cached_property
    def _verdicts(self) -> NDArray[np.int8]:
        """The verdict of each point as a position in `VERDICTS`."""
        return self._judged(self.tolerance >= HOLDS if self.strict else self.certain)

    def verdict_at(self, bias: float) -> NDArray[np.object_]:
        """Return per point ``"certain"``, ``"holds"`` (up to a bias) or ``"open"``."""
        return _NAMES[self._judged(self.tolerance >= bias)]

    def _judged(self, holds: NDArray[np.bool_]) -> NDArray[np.int8]:
        return np.where(self._anywhere, 0, np.where(holds, 1, 2)).astype(np.int8)

    @cached_property
    def _anywhere(self) -> NDArray[np.bool_]:
        """Which points are certain without any bias."""
        return self.certain if self.strict else verdicts(self.model.unbiased, self.points).certain

    @property
    def n_own_missing(self) -> NDArray[np.int64]:
        """How many cells of each point itself are not known."""
        return self.points.n_own_missing

    def n_of(self, verdict: str) -> int:
        """Count the points that have a verdict."""
        return int((self.verdict == verdict).sum())

    def n_certain_if(self, own_missing: OwnMissing) -> int:
        """Count the points that would be certain with their own missing cells read this way."""
        incomplete = np.flatnonzero(self.n_own_missing)
        other = verdicts(self.model, self.points.take(incomplete).read(own_missing))
        return int(self.certain.sum() - self.certain[incomplete].sum() + other.certain.sum())

    # True labels --------------------------------------------------------------------------------

    def with_truth(self, labels: Any) -> Certificates:
        """Return the same certificates with the true label of each point, None where it is not known.

        True labels change no verdict; they say which predictions are right.
        """
        actual = true_positions(self.model.index.schema, labels, len(self))
        return self._keeping(replace(self, actual=actual), None)

    @cached_property
    def truth(self) -> Truth | None:
        """How many predictions of each verdict are right; None if no true labels were given."""
        return None if self.actual is None else Truth(self)

    @property
    def right(self) -> NDArray[np.object_] | None:
        """Per point whether its prediction is right, None where its true label is not known.

        None alone if no true labels were given.
        """
        return None if self._right is None else np.array([False, True, None])[self._right]

    @property
    def _right(self) -> NDArray[np.int8] | None:
        """Per point 1 if its prediction is right, 0 if not, -1 if that is not known."""
        if self.actual is None:
            return None
        return np.where(self.actual < 0, -1, self.actual == self.predicted_positions).astype(
            np.int8
        )

    def curve(self, biases: Sequence[float] = BIASES) -> list[CurvePoint]:
        """Count the predictions that hold at some biases, and how many are right, if known."""
        return Truth(self).curve(biases)

    # What was asked, in words -------------------------------------------------------------------

    @property
    def strict(self) -> bool:
        """Whether missing cells may hold anything: no bias was given."""
        return self.model.is_unbiased

    @property
    def worlds(self) -> str:
        """The worlds in which a prediction of tolerance 1 is the same."""
        pairs = zip(self.model.bias, self.model.fixed, strict=True)
        free = all(bias == 1 for bias, named in pairs if named)
        return "every world" if free else "every world of this bias"

    @property
    def threshold(self) -> float | None:
        """The bias that summaries use: the given one, else 0.05; None if columns differ."""
        if any(self.model.fixed):
            return None
        return HOLDS if self.strict else float(self.model.bias[0])

    @property
    def up_to(self) -> str:
        """How far predictions with the verdict ``"holds"`` hold."""
        bias = self.threshold
        return "the bias by column" if bias is None else f"a bias of {bias:g}"

    @property
    def learned(self) -> str:
        """The scope of certain: ``for the bins learned from the known cells``, or empty."""
        features = self.model.index.schema.features
        parts = ["bins"] * any(feature.edges for feature in features)
        parts += ["weights"] * (not self.model.has_equal_weights)
        return f"for the {' and '.join(parts)} learned from the known cells" if parts else ""

    # The result as a table ----------------------------------------------------------------------

    def declared(self) -> dict[str, Column]:
        """Return the columns; ``right`` is the last, if true labels are known."""
        # First, since points that hold are predicted the label that holds (T11).
        self.work_out(None)
        names = [str(label) for label in self.labels]
        possible, others = label_sets(names, self.possible, self.predicted_positions)
        columns = {
            "predicted": Column(
                names,
                self.predicted_positions,
                "predicted",
                lambda label: "tie" if label is None else label,
            ),
            "verdict": Column(VERDICTS, self._verdicts, "verdict"),
            "certain": Column(self.certain),
            "label": Column(names, self.verdicts.winner),
            "possible": possible,
            "others": others,
            "tolerance": Column(
                self.tolerance,
                heading="holds up to",
                written=lambda bias: written_tolerance(math.nan if bias is None else bias),
            ),
            "rival": Column(names, self.tolerances.rival, "rival", quoted),
            "n_own_missing": Column(
                self.n_own_missing, heading="own missing", written=lambda n: n or None
            ),
        }
        if self._right is not None:
            columns["right"] = Column(
                [False, True], self._right, "right?", {True: "right", False: "wrong"}.get
            )
        return columns

    def _written(self) -> dict[str, list[Any]]:
        columns = super()._written()
        others = self.declared()["others"].listed()
        # Every rival where several labels are possible; else the one that catches up first.
        columns["rival"] = [
            some(map(quoted, labels), 3) or rival
            for labels, rival in zip(others, columns["rival"], strict=True)
        ]
        return columns

    def document(self) -> dict[str, Any]:
        """Return the JSON form; ``n_certain`` counts the points that are certain at the given bias."""
        return {
            "n_points": len(self),
            "n_certain": int(self.certain.sum()),
            "verdicts": {verdict: self.n_of(verdict) for verdict in VERDICTS},
            "threshold": self.threshold,
            "curve": [{"bias": at.bias, "n_hold": at.n_hold} for at in self.curve()],
            **({} if self.truth is None else {"truth": self.truth.by_verdict()}),
            "labels": [str(label) for label in self.labels],
            "points": self.rows(),
        }

    def take(self, places: NDArray[np.intp]) -> Certificates:
        """Return the certificates of some points; keep values already computed."""
        taken = replace(
            self,
            verdicts=self.verdicts.take(places),
            points=replace(self.points.take(places), source=some_rows(self.points.frame, places)),
            actual=None if self.actual is None else self.actual[places],
        )
        return self._keeping(taken, places)

    def _keeping(self, other: Certificates, places: NDArray[np.intp] | None) -> Certificates:
        """Pass on values already computed, for all points or for some."""
        for name in _KEPT & {*vars(self)}:
            known = vars(self)[name]
            vars(other)[name] = known if places is None else known.take(places)
        return other

    def __len__(self) -> int:
        return len(self.verdicts)

    def _origin(self) -> tuple[RowNames | None, nw.DataFrame[Any] | None]:
        return self.points.names, self.points.frame

    def _item(self, place: int) -> Certificate:
        return Certificate(
            tuple(self.labels[i] for i in np.flatnonzero(self.possible[place]).tolist()),
            self.predicted[place],
            dict(zip(self.labels, self.min_log_support[place].tolist(), strict=True)),
            dict(zip(self.labels, self.max_log_support[place].tolist(), strict=True)),
            int(self.n_own_missing[place]),
            place,
            self,
        )

    def _headline(self) -> str:
        n_holds = self.n_of("holds")
        headline = (
            f"Certificates: {self.n_of('certain'):,} of {len(self):,} points certain"
            f"{f' {self.learned}' if self.learned else ''}, {n_holds:,} "
            f"{'holds' if n_holds == 1 else 'hold'} up to {self.up_to}, "
            f"{self.n_of('open'):,} open"
        )
        return headline if self.truth is None else f"{headline}; {self.truth.sentence()}"

    def _shown_first(self) -> tuple[str, NDArray[np.intp]]:
        # NaN is weaker than 0.
        order = np.argsort(np.nan_to_num(self.tolerance, nan=-1.0), kind="stable")
        return "weakest first", order

    def _repr_html_(self) -> str:
        _, weakest = self._shown_first()
        certain = self.certain[weakest]
        drawn = [int(places[0]) for places in (weakest[~certain], weakest[certain]) if len(places)]
        figures = [
            shown_figure(
                f"point {shown_name(self.points.names, place)}: {self[place]!r}",
                picture(self[place]),
            )
            for place in drawn
        ]
        return super()._repr_html_() + "".join(figures)


def certificates_of(model: Model, points: Points) -> Certificates:
    """Certify some points with a model."""
    return Certificates(model, points, verdicts(model, points))


@dataclass(frozen=True, repr=False)
class Certificate:
    """The certificate of one point.

    ``possible`` are the labels that win or tie in some world; the point is certain if there is only
    one, its ``label``. For an incomplete point they are the labels that no other label beats
    everywhere. ``predicted`` is what Naive Bayes predicts from the known cells, None for a tie.
    """

    possible: tuple[Any, ...]
    predicted: Any
    min_log_support: dict[Any, float]
    max_log_support: dict[Any, float]
    n_own_missing: int
    position: int = field(compare=False)
    among: Certificates = field(compare=False)

    @property
    def certain(self) -> bool:
        """Whether every world predicts the same label."""
        return len(self.possible) == 1

    @property
    def label(self) -> Any:
        """The certain label; None if there is none."""
        return self.possible[0] if self.certain else None

    @property
    def others(self) -> tuple[Any, ...]:
        """The possible labels other than the predicted one."""
        return tuple(label for label in self.possible if label != self.predicted)

    @property
    def verdict(self) -> str:
        """``"certain"``, ``"holds"`` (up to the threshold of a summary) or ``"open"``."""
        return str(self.among.verdict[self.position])

    @property
    def tolerance(self) -> float:
        """The largest bias up to which the prediction holds; NaN if undecided even at 0."""
        return float(self.among.tolerance[self.position])

    @property
    def rival(self) -> Any:
        """The label that threatens first as the bias grows; None where there is none."""
        return self.among.rival[self.position]

    @property
    def right(self) -> bool | None:
        """Whether the prediction is right; None if the true label is not known."""
        return None if self.among.right is None else self.among.right[self.position]

    @property
    def key(self) -> str | None:
        """The name of the point; None if it has none."""
        names = self.among.points.names
        return None if names is None else names.values[self.position]

    def explain(self, *, label: Any = None, rival: Any = None) -> Explanation:
        """Explain which cells speak for the label and which against it; options as for `explain`."""
        among = self.among
        return explanation_of(among.model, among.points, self.position, label=label, rival=rival)

    def _repr_html_(self) -> str:
        return shown_figure(repr(self), picture(self))

    def __repr__(self) -> str:
        parts = [f"{self.verdict}: {self._words()}"]
        if self.n_own_missing:
            parts.append(many(self.n_own_missing, "own missing cell"))
        if self.right is not None:
            parts.append("right" if self.right else "wrong")
        return f"Certificate({'; '.join(parts)})"

    def _words(self) -> str:
        """Write the predicted label, how far it holds, and which labels are possible beyond that."""
        if self.verdict == "certain":
            return f"{self.predicted} in {self.among.worlds}"
        others = either([str(label) for label in self.others])
        if self.predicted is None:
            return f"{others}, a tie"
        if math.isnan(self.tolerance):
            return f"{self.predicted}, else {others}; undecided even at a bias of 0"
        reach = f"{self.predicted} up to a bias of {written_tolerance(self.tolerance)}"
        return f"{reach}, else {others}" if others else reach


def picture(certificate: Certificate) -> str:
    """Draw the support intervals of the strongest labels, possible ones first."""
    high, low = certificate.max_log_support, certificate.min_log_support
    is_possible = {label: label in certificate.possible for label in high}
    order = sorted(high, key=lambda label: (not is_possible[label], -high[label]))[:ROWS]
    return intervals((label, low[label], high[label], is_possible[label]) for label in order)
