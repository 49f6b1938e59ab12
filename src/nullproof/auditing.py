"""audit: fit any scikit-learn classifier on many completions of a training table and see what changes.

Nothing is proven for the predictions that stay the same. A prediction that changes comes with two
completed tables on which the same classifier predicts differently, so anyone can check it.

`nullproof.completions` makes the completed tables, half of them by chance and half directed at points.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.completions import Training, Worlds, as_scikit_learn_takes_it, with_nulls
from nullproof.data.missing import Spellings
from nullproof.data.options import TableOptions, refuse_seed
from nullproof.data.points import Key, Points, RowNames, encode_points
from nullproof.data.types import is_whole
from nullproof.errors import NullproofError, NullproofWarning, missing_extra, notice
from nullproof.model.model import Model
from nullproof.model.parameters import Bias
from nullproof.progress import Progress
from nullproof.results import Column, Result, chosen
from nullproof.words import PLAIN, cut, many, per_cent, quoted, some

_CONFIDENCE = 0.95
# Starting worker processes takes a second or two; shorter work runs in this process.
_WORTH_PROCESSES = 4.0


def audit(
    estimator: Any,
    table: Any,
    points: Any,
    *,
    label: str,
    n_worlds: int = 32,
    bias: Bias = 1.0,
    missing: Spellings = (),
    missing_is_value: Collection[str] = (),
    key: Key | None = None,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> Audit:
    """Fit a classifier on many completions of a table and list the predictions that change.

    Parameters
    ----------
    estimator
        Any scikit-learn classifier or pipeline; it is cloned, never changed, and an unset
        ``random_state`` is set to ``seed``, so that only the missing cells make a difference. If it
        accepts missing cells (boosted trees, pipelines that impute), the prediction judged is the one
        from the incomplete table; otherwise the one from the first completed table, drawn by chance.
    table
        The training table, a data frame or a file, with its label column.
    points
        The rows to predict, as a data frame or a file; their own missing cells stay as they are.
    label
        The name of the label column.
    n_worlds
        How many completed tables to fit on: half are drawn by chance, half are directed.
    bias
        How far the filled cells may differ from the known ones (docs/theory.md, 8), as for `certify`.
    missing, missing_is_value
        As for `CountIndex.from_table`; missing cells that count as a value are not filled.
    key
        The names of the points: a column, or one name per point.

    Returns
    -------
    Audit
        One entry per point; `Audit.witness` gives two worlds that disagree.

    Examples
    --------
    >>> import polars as pl
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> doses, labels = [1.0, 2.0, None, 8.0, 9.0, None], ["yes", "yes", "yes", "no", "no", "no"]
    >>> table = pl.DataFrame({"dose": doses * 8, "well": labels * 8})
    >>> points = pl.DataFrame({"dose": [1.5, 5.0]})
    >>> found = audit(DecisionTreeClassifier(), table, points, label="well", n_worlds=8)
    >>> found[0].predicted
    'yes'
    """
    refuse_seed(seed)
    if not is_whole(n_worlds) or n_worlds < 2:
        raise NullproofError(f"n_worlds is {n_worlds!r}; give a whole number that is 2 or more")
    fixed = _seeded(estimator, seed)
    options = TableOptions(missing=missing, missing_is_value=missing_is_value)
    training = Training.of(table, label, options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NullproofWarning)
        encoded = encode_points(training.index.schema, points, key=key)
    if encoded.frame is None or not len(encoded):
        raise NullproofError(
            f"points came as {type(points).__name__} with {many(len(encoded), 'row')}; give a data frame "
            "or a file with rows and the columns of the table"
        )
    model = Model(training.index, 1, None, bias)
    worlds = Worlds(training, encoded.read("skip"), int(n_worlds), model, seed)
    features = training.features_of(as_scikit_learn_takes_it(encoded.frame))
    spelled = dict(zip(training.index.features, encoded.missing, strict=True))
    opened = options.open(points, None)
    others = {*features.columns} - {*spelled, *options.missing_is_value}
    spelled |= {name: ~opened.column(name).known for name in others}
    fits = _Fits(fixed, worlds, with_nulls(features, spelled))
    labels: dict[Any, int] = {}

    def numbered(predicted: NDArray[Any]) -> NDArray[np.int32]:
        # Some classifiers give a column.
        predicted = predicted[:, 0] if predicted.shape == (len(encoded), 1) else predicted
        codes = [labels.setdefault(label, len(labels)) for label in predicted.tolist()]
        return np.array(codes, dtype=np.int32)

    as_it_is = fits.as_it_is()
    judged = None if as_it_is is None else numbered(as_it_is)
    found: dict[int, NDArray[np.int32]] = {}
    started, n_failed = time.monotonic(), 0
    try:
        for number, predicted in fits.predictions():
            if predicted is None:
                n_failed += 1
            else:
                found[number] = numbered(predicted)
            if on_progress is not None:
                on_progress("fitting on completed tables", (number + 1) / len(worlds))
    except KeyboardInterrupt:
        if not found:
            raise
        notice(
            f"Stopped after {len(found):,} of {len(worlds):,} worlds; the answer is about these."
        )
    if n_failed:
        notice(
            f"{type(fixed).__name__} could not be fitted in {n_failed:,} of {len(worlds):,} worlds; the "
            "answer is about the others."
        )
    seconds = time.monotonic() - started
    return Audit([*labels], [*found], np.array([*found.values()]), judged, encoded, fits, seconds)


# Fits --------------------------------------------------------------------------------------------


def _seeded(estimator: Any, seed: int) -> Any:
    """Return a clone that predicts the same on the same table: seeds that are not set are fixed."""
    try:
        from sklearn.base import clone, is_classifier
    except ImportError:
        raise missing_extra("audit", "sklearn") from None
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise NullproofError(
            f"the estimator is {cut(repr(estimator))}; give a scikit-learn classifier or pipeline"
        )
    try:
        if not is_classifier(estimator):
            raise NullproofError(
                f"{type(estimator).__name__} is not a classifier; audit compares predicted labels"
            )
        cloned = clone(estimator)
    except (AttributeError, TypeError):
        raise NullproofError(
            f"{type(estimator).__name__} cannot be cloned as scikit-learn clones; give a classifier or "
            "pipeline that follows its conventions"
        ) from None
    fixed: dict[str, Any] = {}
    for name, value in cloned.get_params().items():
        if name.split("__")[-1] == "random_state" and not isinstance(value, int | np.integer):
            fixed[name] = seed % 2**32
        elif hasattr(value, "random_state") and not hasattr(value, "get_params"):
            # A splitter of rows, such as in a parameter search, has its own seed.
            fixed[name] = copy(value)
            fixed[name].random_state = seed % 2**32
    return cloned.set_params(**fixed)


@dataclass(frozen=True)
class _Fits:
    """Fits the classifier on completed tables and predicts the points."""

    estimator: Any
    worlds: Worlds
    points: nw.DataFrame[Any]

    def predicted(self, frame: nw.DataFrame[Any]) -> NDArray[Any]:
        """Return the predictions of the classifier fitted on a table."""
        from sklearn.base import clone

        training = self.worlds.training
        fitted = clone(self.estimator).fit(training.features_of(frame).to_native(), training.truth)
        return np.asarray(fitted.predict(self.points.to_native()))

    def as_it_is(self) -> NDArray[Any] | None:
        """Return the predictions from the incomplete table; None if the classifier rejects it."""
        try:
            return self.predicted(self.worlds.training.frame)
        except Exception as problem:
            # Most classifiers reject missing cells; other errors show up on a completed table.
            notice(
                f"{type(self.estimator).__name__} cannot be fitted on the incomplete table "
                f"({_said(problem)}), so its prediction from the first completed table is judged."
            )
            return None

    def in_world(self, number: int) -> NDArray[Any] | None:
        """Return the predictions in one world; None if the classifier cannot be fitted there."""
        with warnings.catch_warnings():
            # Warnings of a fit were shown once, for the incomplete table.
            warnings.simplefilter("ignore")
            try:
                return self.predicted(self.worlds.completed(number))
            except Exception:
                return None

    def predictions(self) -> Iterator[tuple[int, NDArray[Any] | None]]:
        """Yield the number of each world with its predictions, in order; use all cores if that is faster.

        Fit the first table twice, to reject a classifier that cannot be fitted or is random.
        """
        from joblib import Parallel, delayed  # type: ignore[import-untyped]

        name, table = type(self.estimator).__name__, self.worlds.completed(0)
        started = time.monotonic()
        try:
            first, again = self.predicted(table), self.predicted(table)
        except Exception as problem:
            raise NullproofError(
                f"{name} cannot be fitted on a completed table and predict the points: {_said(problem)}; "
                "give a pipeline that takes these columns and the points' own missing cells"
            ) from problem
        if first.tolist() != again.tolist():
            raise NullproofError(
                f"{name} predicts differently when it is fitted twice on the same table; fix its seed "
                "(random_state), so that only the missing cells make a difference"
            )
        seconds, numbers = (time.monotonic() - started) / 2, range(1, len(self.worlds))
        yield 0, first
        if seconds * len(numbers) < _WORTH_PROCESSES:
            yield from ((number, self.in_world(number)) for number in numbers)
            return
        jobs = (delayed(self.in_world)(number) for number in numbers)
        yield from zip(numbers, Parallel(n_jobs=-1, return_as="generator")(jobs), strict=True)


def _said(problem: Exception) -> str:
    return cut(" ".join(str(problem).split()))


# The answer --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FilledWorld:
    """One completion of the training table, and what the classifier fitted on it predicts for a point."""

    worlds: Worlds = field(repr=False)
    number: int
    predicted: Any

    @property
    def directed(self) -> bool:
        """Whether the world was directed at some points rather than drawn by chance."""
        return self.worlds.is_directed(self.number)

    def complete(self, table: Any) -> Any:
        """Return the training table, given as it was audited, with its missing cells filled."""
        audited = self.worlds.training
        training = Training.of(table, audited.label, audited.options)
        if not training.frame.to_native().equals(audited.frame.to_native()):
            raise NullproofError("the table is not the one that was audited; give that one")
        return training.completed(self.worlds.donors(self.number)).to_native()

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "by chance"
        return f"FilledWorld({self.number}, {kind}: predicts {self.predicted})"


@dataclass(frozen=True, repr=False, eq=False)
class Audit(Result["AuditedPoint"]):
    """Which predictions changed as the missing training cells were filled.

    Parameters
    ----------
    labels
        All labels that were predicted.
    numbers
        The number of each world.
    predictions
        The predicted label of each point in each world, as positions: worlds × points.
    as_it_is
        The same for the classifier fitted on the incomplete table; None if it rejects missing cells.
    seconds
        How long the fits took.
    """

    labels: list[Any]
    numbers: list[int]
    predictions: NDArray[np.int32]
    as_it_is: NDArray[np.int32] | None
    points: Points
    fits: _Fits
    seconds: float

    @property
    def estimator(self) -> Any:
        """The classifier that was fitted, with its seeds fixed; fit a clone of it on a witness."""
        return self.fits.estimator

    @property
    def n_worlds(self) -> int:
        """The number of completed tables."""
        return len(self.numbers)

    @cached_property
    def by_chance(self) -> NDArray[np.bool_]:
        """Which of the worlds were drawn by chance."""
        return np.array([not self.fits.worlds.is_directed(number) for number in self.numbers])

    @property
    def n_chance(self) -> int:
        """The number of worlds drawn by chance."""
        return int(self.by_chance.sum())

    @cached_property
    def _judged(self) -> NDArray[np.int32]:
        """The position of the prediction that is judged, per point."""
        # The first world is drawn by chance and always exists.
        return self.predictions[0] if self.as_it_is is None else self.as_it_is

    @cached_property
    def predicted(self) -> list[Any]:
        """The prediction that is judged: from the incomplete table, or from the first completed one."""
        return [self.labels[label] for label in self._judged.tolist()]

    @cached_property
    def _differs(self) -> NDArray[np.bool_]:
        return np.asarray(self.predictions != self._judged)

    @cached_property
    def changed(self) -> NDArray[np.bool_]:
        """Which predictions differ between two completed tables."""
        return np.asarray((self.predictions != self.predictions[0]).any(axis=0))

    @cached_property
    def unlike_as_it_is(self) -> NDArray[np.bool_]:
        """Where all completed tables agree on a label, but the incomplete table gives another one."""
        return np.asarray(~self.changed & self._differs.any(axis=0))

    @cached_property
    def n_changed_worlds(self) -> NDArray[np.int64]:
        """The number of worlds in which each prediction differs from the one that is judged."""
        return np.asarray(self._differs.sum(axis=0), dtype=np.int64)

    @property
    def chance_at_most(self) -> float | None:
        """The largest share of all worlds by chance that may change a prediction none of these changed.

        With 95 % confidence: ``1 - 0.05**(1/n)`` for ``n`` worlds by chance; None where there are too few.
        """
        # If a share p of all worlds by chance changes a prediction, none of n changes it with probability
        # (1 - p)^n, which is at most 5 % unless p is at most this bound. That needs worlds that are
        # independent of the prediction, so the world that gave it does not count. Excluding predictions
        # that directed worlds change can only make a wrong statement rarer.
        n = self.n_chance - (self.as_it_is is None)
        return float(1 - (1 - _CONFIDENCE) ** (1 / n)) if n else None

    @cached_property
    def _seen(self) -> list[tuple[Any, ...]]:
        """The labels predicted for each point in any world, including the one that is judged."""
        every = np.vstack([self.predictions, self._judged])
        return [tuple(self.labels[code] for code in np.unique(own).tolist()) for own in every.T]

    def witness(self, position: int) -> tuple[FilledWorld, FilledWorld]:
        """Return two completions of the table on which the classifier predicts a point differently.

        If one of them gives the prediction that is judged, it comes first.
        """
        place = chosen(position, len(self))
        if not self.changed[place]:
            raise NullproofError(
                f"no two of the worlds disagree about point {position}, so it has no witness"
            )
        differs, labels = self._differs[:, place], self.predictions[:, place]
        one = 0 if differs.all() else int(np.flatnonzero(~differs)[-1])
        other = int(np.flatnonzero(labels != labels[one])[0])
        first, second = (
            FilledWorld(self.fits.worlds, self.numbers[world], self.labels[int(labels[world])])
            for world in (one, other)
        )
        return first, second

    def causes(self, position: int) -> list[str]:
        """Return the columns whose missing cells alone change the prediction of a point.

        The classifier is fitted once per column with missing cells: on the first table of `witness` with
        that column from the second. Empty if no column does it alone.
        """
        one, other = self.witness(position)
        worlds = self.fits.worlds
        before, after = worlds.donors(one.number), worlds.donors(other.number)

        def changes(name: str) -> bool:
            mixed = worlds.training.completed({**before, name: after[name]})
            return bool(self.fits.predicted(mixed)[position] != one.predicted)

        return [name for name in after if changes(name)]

    # The result as a table ----------------------------------------------------------------------

    def declared(self) -> dict[str, Column]:
        """Return the columns."""
        names = [str(label) for label in self.labels]
        seen = [[str(label) for label in labels] for labels in self._seen]
        return {
            "predicted": Column(names, self._judged, "predicted"),
            "changed": Column(self.changed),
            "n_changed_worlds": Column(self.n_changed_worlds, None, "worlds that change it"),
            "seen": Column(
                seen,
                np.arange(len(self)),
                "labels seen",
                lambda labels: some(map(quoted, labels), 5),
            ),
        }

    def document(self) -> dict[str, Any]:
        """Return the JSON form."""
        chance = self.predictions[self.by_chance]
        return {
            "n_points": len(self),
            "n_changed": int(self.changed.sum()),
            "n_changed_by_chance": int((chance != chance[:1]).any(axis=0).sum()),
            "n_worlds": self.n_worlds,
            "n_chance": self.n_chance,
            "n_directed": self.n_worlds - self.n_chance,
            "n_unlike_as_it_is": int(self.unlike_as_it_is.sum()),
            "chance_at_most": self.chance_at_most,
            "takes_missing": self.as_it_is is not None,
            "labels": [str(label) for label in self.labels],
            "points": self.rows(),
        }

    def take(self, places: NDArray[np.intp]) -> Audit:
        """Return the audit of some of the points."""
        return replace(
            self,
            predictions=self.predictions[:, places],
            as_it_is=None if self.as_it_is is None else self.as_it_is[places],
            points=self.points.take(places),
            fits=replace(self.fits, points=self.fits.points[places.tolist()]),
        )

    def __len__(self) -> int:
        return int(self.predictions.shape[1])

    def _origin(self) -> tuple[RowNames | None, nw.DataFrame[Any] | None]:
        return self.points.names, self.points.frame

    def _item(self, place: int) -> AuditedPoint:
        return AuditedPoint(
            self.predicted[place],
            bool(self.changed[place]),
            self._seen[place],
            int(self.n_changed_worlds[place]),
        )

    def confidence(self) -> str:
        """Summarize what the worlds drawn by chance imply for the predictions that did not change."""
        if self.chance_at_most is None:
            return "One world drawn by chance is too few to estimate how many of them change a prediction."
        return (
            "Where no completed table changed a prediction, at most "
            f"{per_cent(self.chance_at_most, PLAIN)} of all worlds drawn by chance would, with 95 % "
            f"confidence ({self.n_chance:,} were drawn). Directed worlds are not a random sample."
        )

    def sentence(self) -> str:
        """Summarize what changed, and what that proves."""
        n_changed, n_unlike = int(self.changed.sum()), int(self.unlike_as_it_is.sum())
        more = "; for {:,} more, all of them agree on a label other than the incomplete table's"
        return (
            f"{n_changed:,} of {many(len(self), 'prediction')} "
            f"({per_cent(n_changed / max(len(self), 1), PLAIN)}) changed across "
            f"{many(self.n_worlds, 'completed table')} ({self.n_chance:,} by chance, "
            f"{self.n_worlds - self.n_chance:,} directed){more.format(n_unlike) if n_unlike else ''}; "
            "there is no proof that the others never change"
        )

    def _headline(self) -> str:
        return f"Audit: {self.sentence()}"

    def _shown_first(self) -> tuple[str, NDArray[np.intp]]:
        order = np.argsort(-self.n_changed_worlds, kind="stable")
        return "those that changed, most changed first", order[: int(self.changed.sum())]

    def __repr__(self) -> str:
        changed = np.flatnonzero(self.changed)
        lines = [f"  {place}: {self[place]!r}" for place in changed[:5].tolist()]
        return "\n".join([self._headline(), *lines, *(["  …"] if len(changed) > 5 else [])])


@dataclass(frozen=True)
class AuditedPoint:
    """One point of an audit: its labels, and in how many worlds they differ from the one predicted."""

    predicted: Any
    changed: bool
    seen: tuple[Any, ...]
    n_changed_worlds: int

    def __repr__(self) -> str:
        if not self.changed:
            return f"AuditedPoint({self.predicted}: no change seen)"
        others = ", ".join(str(label) for label in self.seen if label != self.predicted)
        return f"AuditedPoint({self.predicted}, but {others} in {many(self.n_changed_worlds, 'world')})"
