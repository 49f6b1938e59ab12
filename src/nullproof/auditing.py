"""audit: fit any scikit-learn classifier on many completions of a training table and see what changes.

Nothing is proven for the predictions that stay the same. A prediction that changes comes with two
completed tables on which the same classifier predicts differently, so anyone can check it.

Half of the worlds are drawn by chance: a missing cell takes the value of a random row of the same label.
The other half are directed: the missing cells of a label take the values of points that Naive Bayes
nearly gives that label. Every value that is filled in is copied from another row of the same column, so a
world is a row number per missing cell and keeps the types of the table.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.data.keys import Key, key_columns, known_label_codes, shown_name
from nullproof.data.missing import Spellings
from nullproof.data.options import TableOptions
from nullproof.data.points import Points, encode_points, encode_quietly
from nullproof.data.sources import native_frame
from nullproof.errors import NullproofError, NullproofWarning, missing_extra, notice
from nullproof.model.bias import held_exactly, share_of
from nullproof.model.model import Model
from nullproof.model.parameters import Bias
from nullproof.model.predict import log_supports
from nullproof.progress import Progress
from nullproof.seeds import refuse_seed
from nullproof.show import ROWS, shown_table
from nullproof.words import cut, many, per_cent

Rows = NDArray[np.intp]
AS_IT_IS = -1
_CONFIDENCE = 0.95
# Starting worker processes takes a second or two; less work than this is done here.
_WORTH_PROCESSES = 4.0


class Mixture(NamedTuple):
    """Which worlds are directed, and at what; `experiments audit` compares the choices.

    Parameters
    ----------
    directed
        The share of the worlds that are directed.
    closest
        For each label, so many of the points that Naive Bayes nearly gives it may be aimed at.
    at_once
        So many of these are aimed at in one world.
    """

    directed: float = 0.5
    closest: int = 500
    at_once: int = 1


MIXTURE = Mixture()


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
    mixture: Mixture = MIXTURE,
) -> Audit:
    """Fit a classifier on many completions of a table and list the predictions that were seen to change.

    Parameters
    ----------
    estimator
        Any scikit-learn classifier or pipeline; it is cloned, never changed. Where it takes missing
        cells (boosted trees, pipelines that impute), its prediction from the table as it is is the
        one that is judged; else the one that most of the worlds drawn by chance give.
    table
        The training table, a data frame or a file, with its label column.
    points
        The rows to predict, as a data frame or a file; their own missing cells stay as they are.
    label
        The name of the label column.
    n_worlds
        How many completed tables to fit on; half of them are drawn by chance, half are directed.
    bias
        How far the filled cells may differ from the known ones (docs/theory.md, 8), as for `certify`.
    missing, missing_is_value
        As for `CountIndex.from_table`; missing cells that count as a value are not filled.
    key
        What names the points: a column, or one name each.

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
    if not isinstance(n_worlds, int) or isinstance(n_worlds, bool) or n_worlds < 2:
        raise NullproofError(f"n_worlds is {n_worlds!r}; give a whole number that is 2 or more")
    training = _Training.of(table, label, missing, missing_is_value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NullproofWarning)
        encoded = encode_points(training.index.schema, points, smoothed=True, key=key)
    if encoded.frame is None:
        raise NullproofError(
            f"points came as {type(points).__name__}; give a data frame or a file with the columns of the "
            "table"
        )
    model = Model(training.index, 1, None, bias)
    worlds = Worlds(training, encoded.read("skip"), n_worlds, model, seed, mixture)
    fits = _Fits(_seeded(estimator, seed), training, training.features_of(encoded.frame))
    return _audited(worlds, fits, encoded, on_progress)


def _audited(worlds: Worlds, fits: _Fits, points: Points, on_progress: Progress | None) -> Audit:
    as_it_is, seconds = fits.as_it_is()
    by_world: dict[int, NDArray[Any]] = {} if as_it_is is None else {AS_IT_IS: as_it_is}
    started = time.monotonic()
    try:
        for number, predicted in fits.predictions(worlds, seconds):
            by_world[number] = predicted
            if on_progress is not None:
                on_progress("fitting on completed tables", (number + 1) / len(worlds))
    except KeyboardInterrupt:
        if not any(number >= 0 for number in by_world):
            raise
        n_done = sum(number >= 0 for number in by_world)
        notice(f"Stopped after {n_done:,} of {len(worlds):,} worlds; the answer is about these.")
    labels, codes = np.unique(np.array([*by_world.values()]), return_inverse=True)
    predictions = codes.reshape(len(by_world), -1).astype(np.int32)
    return Audit(
        labels.tolist(),
        [*by_world],
        predictions,
        points,
        worlds,
        fits,
        time.monotonic() - started,
    )


# The training table ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Training:
    """The training table, its index, and which cells of which column are missing."""

    frame: nw.DataFrame[Any]
    label: str
    index: CountIndex
    row_labels: NDArray[np.int32]
    codes: dict[str, NDArray[np.int32]]
    missing: dict[str, Rows]

    @classmethod
    def of(
        cls, table: Any, label: str, missing: Spellings, missing_is_value: Collection[str]
    ) -> _Training:
        options = TableOptions(missing=missing, missing_is_value=missing_is_value)
        opened = options.open(table, label)
        if opened.frame is None:
            raise NullproofError(
                f"the table came as {type(table).__name__}; give a data frame or a file"
            )
        native = opened.frame.to_native()
        with warnings.catch_warnings():
            # What Naive Bayes makes of the columns concerns the directed worlds alone.
            warnings.simplefilter("ignore", NullproofWarning)
            index = CountIndex.from_table(
                native, label, missing=missing, missing_is_value=missing_is_value
            )
        encoded = encode_quietly(index.schema, native)
        codes = {name: encoded.codes[j] for j, name in enumerate(index.features)}
        gone = {name: encoded.missing[j] for j, name in enumerate(index.features)}
        for name in opened.names:
            if name != label and name not in gone and name not in missing_is_value:
                gone[name] = ~opened.column(name).known
        rows = {name: np.flatnonzero(mask) for name, mask in gone.items() if mask.any()}
        if not rows:
            raise NullproofError(
                "the training table has no missing cells, so there is only one world and nothing can "
                "change"
            )
        row_labels = known_label_codes(index.schema, opened.labels(label))
        return cls(opened.frame, label, index, row_labels, codes, rows)

    def features_of(self, frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
        """Return the columns that the classifier predicts from, in the order of the table."""
        names = [name for name in self.frame.columns if name != self.label]
        absent = next((name for name in names if name not in frame.columns), None)
        if absent is not None:
            raise NullproofError(
                f"the points have no column {cut(absent)!r}; give all columns of the table but the label"
            )
        return frame.select(names)

    def completed(self, donors: Mapping[str, Rows]) -> nw.DataFrame[Any]:
        """Return the table with the missing cells of some columns copied from other rows."""
        return completed(self.frame, self.missing, donors)


def completed(
    frame: nw.DataFrame[Any], missing: Mapping[str, Rows], donors: Mapping[str, Rows]
) -> nw.DataFrame[Any]:
    """Return a frame whose missing cells are copies of other cells of the same column."""
    columns = []
    for name, rows in donors.items():
        places = np.arange(len(frame))
        places[missing[name]] = rows
        columns.append(frame[name][places])
    return frame.with_columns(*columns)


# Worlds ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FilledWorld:
    """One completion of the training table, or the table as it is."""

    worlds: Worlds = field(repr=False)
    number: int
    predicted: Any

    @property
    def directed(self) -> bool:
        """Whether the world was directed at some points rather than drawn by chance."""
        return self.number >= 0 and self.worlds.is_directed(self.number)

    def complete(self, table: Any) -> Any:
        """Return the training table with its missing cells filled as in this world.

        Parameters
        ----------
        table
            The table that was audited, as a data frame of any library or a file.
        """
        training = self.worlds.training
        opened = TableOptions().open(table, training.label)
        frame = opened.frame
        if (
            frame is None
            or frame.columns != training.frame.columns
            or len(frame) != len(training.frame)
        ):
            raise NullproofError("the table is not the one that was audited; give that one")
        if self.number == AS_IT_IS:
            return frame.to_native()
        return completed(frame, training.missing, self.worlds.donors(self.number)).to_native()

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "by chance"
        what = "the table as it is" if self.number == AS_IT_IS else f"world {self.number}, {kind}"
        return f"FilledWorld({what}: predicts {self.predicted})"


class Worlds:
    """The completions of an audit, some drawn by chance and some directed.

    A world depends on its number and the seed alone, so it can be made again at any time.
    """

    def __init__(
        self,
        training: _Training,
        points: Points,
        n_worlds: int,
        model: Model,
        seed: int,
        mixture: Mixture,
    ) -> None:
        self.training, self.model, self.seed, self._n = training, model, seed, n_worlds
        self._mixture = mixture
        self._columns = {name: _Column.of(training, name, model) for name in training.missing}
        self._aims = _aims(model, points, mixture.closest)
        self._codes = points.codes

    def __len__(self) -> int:
        return self._n

    def is_directed(self, number: int) -> bool:
        """Return whether a world is directed; all are by chance if there is nothing to aim at."""
        share = self._mixture.directed
        # Evenly spread, and the first world is one by chance unless all are directed.
        return bool(self._aims) and int((number + 1) * share) > int(number * share)

    def donors(self, number: int) -> dict[str, Rows]:
        """Return, for each column, the rows that its missing cells are copied from."""
        random = np.random.default_rng([self.seed, number])
        aims: dict[int, Rows] = {}
        if self.is_directed(number):
            aims = {
                label: random.choice(places, min(self._mixture.at_once, len(places)), replace=False)
                for label, places in self._aims.items()
            }
        return {
            name: self._columns[name].donors(random, self._aimed_codes(name, aims))
            for name in self._columns
        }

    def _aimed_codes(self, name: str, aims: Mapping[int, Rows]) -> dict[int, NDArray[np.int32]]:
        """Return, for each label, the codes that the points aimed at have in a column."""
        index = self.model.index
        if name not in self.training.codes:
            return {}
        j = index.schema.position[name]
        codes = {label: self._codes[j, places] for label, places in aims.items()}
        known = {label: own[own < index.n_values[j]] for label, own in codes.items()}
        return {label: own for label, own in known.items() if len(own)}


def _aims(model: Model, points: Points, closest: int) -> dict[int, Rows]:
    """Return, for each label, the points that Naive Bayes nearly gives it, the closest first."""
    if model.m < 2 or not len(points):
        return {}
    supports = log_supports(model, points)
    every = np.arange(len(points))
    order = np.argsort(-supports, axis=1, kind="stable")
    first, second = order[:, 0], order[:, 1]
    with np.errstate(invalid="ignore"):
        lead = np.nan_to_num(
            supports[every, first] - supports[every, second], nan=0.0, posinf=np.inf
        )
    aims = {}
    for label in range(model.m):
        places = np.flatnonzero((second == label) & np.isfinite(lead))
        if len(places):
            aims[label] = places[np.argsort(lead[places], kind="stable")[:closest]]
    return aims


class _Column:
    """A column with missing cells, and the rows that each cell can be copied from."""

    def __init__(
        self, missing: Rows, row_labels: NDArray[np.int32], codes: NDArray[np.intp], n_codes: int
    ) -> None:
        self.labels = row_labels[missing]
        known = np.ones(len(row_labels), dtype=bool)
        known[missing] = False
        self.known = np.flatnonzero(known)
        self.rows_of_label = {
            label: self.known[row_labels[self.known] == label]
            for label in np.unique(self.labels).tolist()
        }
        # The known rows by their code, so that one with a certain code can be drawn.
        self.codes, self.missing = codes, missing
        self._by_code = self.known[np.argsort(codes[self.known], kind="stable")]
        self._n_of_code = np.bincount(codes[self.known], minlength=n_codes)
        self._first = self._n_of_code.cumsum() - self._n_of_code
        self.limits: dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}

    @classmethod
    def of(cls, training: _Training, name: str, model: Model) -> _Column:
        index, missing = model.index, training.missing[name]
        if name not in training.codes:
            # A column that Naive Bayes leaves out is filled by chance alone.
            nothing = np.zeros(len(training.row_labels), dtype=np.intp)
            return cls(missing, training.row_labels, nothing, 1)
        j = index.schema.position[name]
        codes = training.codes[name].astype(np.intp)
        column = cls(missing, training.row_labels, codes, int(index.n_values[j]))
        if model.bias[j] < 1:
            column.limits = {
                label: _limits(model, j, label, int((column.labels == label).sum()))
                for label in column.rows_of_label
            }
        return column

    def donors(self, random: np.random.Generator, aimed: Mapping[int, NDArray[np.int32]]) -> Rows:
        """Draw the row that each missing cell is copied from.

        Parameters
        ----------
        aimed
            By label, the codes that its missing cells take in a directed world.
        """
        donors = np.empty(len(self.missing), dtype=np.intp)
        for label, rows in self.rows_of_label.items():
            cells = np.flatnonzero(self.labels == label)
            pool = rows if len(rows) else self.known
            if not len(pool):
                # Nothing is known of the column: its cells stay missing.
                donors[cells] = self.missing[cells]
                continue
            drawn = random.choice(pool, len(cells))
            codes = random.choice(aimed[label], len(cells)) if label in aimed else self.codes[drawn]
            if label in self.limits:
                codes = within_limits(random, codes, *self.limits[label])
            other = np.flatnonzero((codes != self.codes[drawn]) & (self._n_of_code[codes] > 0))
            places = random.random(len(other)) * self._n_of_code[codes[other]]
            drawn[other] = self._by_code[self._first[codes[other]] + places.astype(np.intp)]
            donors[cells] = drawn
        return donors


def _limits(
    model: Model, j: int, label: int, n_cells: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the fewest and the most missing cells of a label that may hold each value (T9)."""
    known = model.index.exact(j, np.arange(int(model.index.n_values[j])))[:, label].tolist()
    ranges = [
        held_exactly(n_cells, share_of(n, sum(known), len(known), model.alpha), model.bias[j])
        for n in known
    ]
    low, high = zip(*ranges, strict=True)
    return np.array(low, dtype=np.int64), np.array(high, dtype=np.int64)


def within_limits(
    random: np.random.Generator,
    drawn: NDArray[np.integer],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
) -> NDArray[np.intp]:
    """Return the codes with as few of them changed as it takes to keep to how often each may occur."""
    codes: NDArray[np.intp] = np.array(drawn, dtype=np.intp)
    counts = np.bincount(codes, minlength=len(low))
    wanted = np.clip(counts, low, high)
    short = len(codes) - int(wanted.sum())
    for code in random.permutation(len(low)).tolist():
        step = int(np.clip(short, low[code] - wanted[code], high[code] - wanted[code]))
        wanted[code] += step
        short -= step
    surplus = []
    for code in np.flatnonzero(counts > wanted).tolist():
        cells = random.permutation(np.flatnonzero(codes == code))
        surplus.append(cells[: counts[code] - wanted[code]])
    if surplus:
        scarce = np.maximum(wanted - counts, 0)
        codes[np.concatenate(surplus)] = random.permutation(np.repeat(np.arange(len(low)), scarce))
    return codes


# Fits --------------------------------------------------------------------------------------------


def _seeded(estimator: Any, seed: int) -> Any:
    """Return a clone that predicts the same on the same table: seeds that are open are fixed."""
    try:
        from sklearn.base import clone, is_classifier
    except ImportError:
        raise missing_extra("audit", "sklearn") from None
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
        raise NullproofError(
            f"the estimator is {cut(repr(estimator))}; give a scikit-learn classifier or pipeline"
        )
    if not is_classifier(estimator):
        raise NullproofError(
            f"{type(estimator).__name__} is not a classifier; audit compares predicted labels"
        )
    cloned = clone(estimator)
    random = {
        name: seed
        for name, value in cloned.get_params().items()
        if name.split("__")[-1] == "random_state" and not isinstance(value, int | np.integer)
    }
    return cloned.set_params(**random)


class _Fits:
    """Fits the classifier on completed tables and predicts the points."""

    def __init__(self, estimator: Any, training: _Training, points: nw.DataFrame[Any]) -> None:
        self.estimator, self.training = estimator, training
        self.points = points.to_native()
        self.truth = training.frame[training.label].to_numpy()

    def predicted(self, frame: nw.DataFrame[Any]) -> NDArray[Any]:
        """Return the predictions of the classifier fitted on a table."""
        from sklearn.base import clone

        features = self.training.features_of(frame).to_native()
        return np.asarray(clone(self.estimator).fit(features, self.truth).predict(self.points))

    def as_it_is(self) -> tuple[NDArray[Any] | None, float]:
        """Return the predictions from the table as it is, None if it is rejected, and the seconds."""
        started = time.monotonic()
        try:
            predicted = self.predicted(self.training.frame)
        except (ValueError, TypeError) as problem:
            # Most classifiers reject missing cells; what else is wrong shows on a completed table.
            said = " ".join(str(problem).split())
            notice(
                f"{type(self.estimator).__name__} cannot be fitted on the table as it is "
                f"({cut(said)}), so the prediction that most worlds by chance give is judged."
            )
            return None, 0.0
        return predicted, time.monotonic() - started

    def in_world(self, worlds: Worlds, number: int) -> NDArray[Any]:
        """Return the predictions in one world."""
        with warnings.catch_warnings():
            # What a fit warns of was shown once, for the table as it is.
            warnings.simplefilter("ignore")
            return self.predicted(self.training.completed(worlds.donors(number)))

    def predictions(self, worlds: Worlds, seconds: float) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield the number of each world with its predictions, in order; on all cores where that pays."""
        from joblib import Parallel, delayed  # type: ignore[import-untyped]

        first = 0
        if not seconds:
            started = time.monotonic()
            yield 0, self._first(worlds)
            first, seconds = 1, time.monotonic() - started
        numbers = range(first, len(worlds))
        if seconds * len(numbers) < _WORTH_PROCESSES:
            for number in numbers:
                yield number, self.in_world(worlds, number)
            return
        jobs = (delayed(self.in_world)(worlds, number) for number in numbers)
        yield from zip(numbers, Parallel(n_jobs=-1, return_as="generator")(jobs), strict=True)

    def _first(self, worlds: Worlds) -> NDArray[Any]:
        try:
            return self.predicted(self.training.completed(worlds.donors(0)))
        except (ValueError, TypeError) as problem:
            said = " ".join(str(problem).split())
            raise NullproofError(
                f"{type(self.estimator).__name__} cannot be fitted on the completed table and predict the "
                f"points: {cut(said)}; give a pipeline that encodes texts and imputes the points' own "
                "missing cells"
            ) from problem


# The answer --------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Audit(Sequence["AuditedPoint"]):
    """Which predictions were seen to change as the missing training cells were filled.

    Parameters
    ----------
    labels
        The labels that were predicted anywhere.
    numbers
        The number of each world, -1 for the table as it is.
    predictions
        The predicted label of each point in each world, as positions: worlds × points.
    seconds
        How long the fits took.
    """

    labels: list[Any]
    numbers: list[int]
    predictions: NDArray[np.int32]
    points: Points
    worlds: Worlds
    fits: _Fits
    seconds: float

    @property
    def n_worlds(self) -> int:
        """The number of completed tables."""
        return sum(number >= 0 for number in self.numbers)

    @cached_property
    def by_chance(self) -> NDArray[np.bool_]:
        """Which of the predictions come from worlds that were drawn by chance."""
        return np.array(
            [number >= 0 and not self.worlds.is_directed(number) for number in self.numbers]
        )

    @property
    def takes_missing(self) -> bool:
        """Whether the classifier predicts from the table as it is."""
        return self.numbers[0] == AS_IT_IS

    @cached_property
    def _judged(self) -> NDArray[np.int64]:
        if self.takes_missing:
            return np.asarray(self.predictions[0], dtype=np.int64)
        votes = self.predictions[self.by_chance] if self.by_chance.any() else self.predictions
        n_votes = np.array([(votes == label).sum(axis=0) for label in range(len(self.labels))])
        return np.asarray(n_votes.argmax(axis=0), dtype=np.int64)

    @property
    def predicted(self) -> list[Any]:
        """The prediction that is judged: from the table as it is, or that of most worlds by chance."""
        return [self.labels[label] for label in self._judged.tolist()]

    @cached_property
    def _differs(self) -> NDArray[np.bool_]:
        return np.asarray(self.predictions != self._judged)

    @cached_property
    def changed(self) -> NDArray[np.bool_]:
        """Which predictions were seen to change in some world."""
        return np.asarray(self._differs.any(axis=0))

    @cached_property
    def n_changed_worlds(self) -> NDArray[np.int64]:
        """In how many worlds each prediction is another one."""
        return np.asarray(self._differs.sum(axis=0), dtype=np.int64)

    @cached_property
    def chance_at_most(self) -> NDArray[np.float64]:
        """The share of worlds by chance that change each prediction, at most, with 95 % confidence.

        By Clopper and Pearson for predictions that no world by chance changes: 1 - 0.05**(1/n); NaN for
        the others.
        """
        n_chance = int(self.by_chance.sum())
        at_most = 1 - (1 - _CONFIDENCE) ** (1 / n_chance) if n_chance else 1.0
        return np.where(self._differs[self.by_chance].any(axis=0), np.nan, at_most)

    def _seen(self, position: int) -> tuple[Any, ...]:
        return tuple(self.labels[code] for code in np.unique(self.predictions[:, position]))

    def witness(self, position: int) -> tuple[FilledWorld, FilledWorld]:
        """Return two worlds in which the classifier predicts a point differently.

        The first gives the prediction that is judged; it may be the table as it is, if all completed
        tables agree with each other.
        """
        differs = self._differs[:, self._checked(position)]
        if not differs.any():
            raise NullproofError(
                f"no world was seen that changes the prediction of point {position}; there is nothing to "
                "show"
            )
        agreeing = np.flatnonzero(~differs)[::-1]
        one, other = int(agreeing[0]) if len(agreeing) else 0, int(np.flatnonzero(differs)[0])
        return self._world(one, position), self._world(other, position)

    def _world(self, place: int, position: int) -> FilledWorld:
        label = self.labels[int(self.predictions[place, position])]
        return FilledWorld(self.worlds, self.numbers[place], label)

    def causes(self, position: int) -> list[str]:
        """Return the columns whose missing cells alone change the prediction of a point.

        The classifier is fitted once per column with missing cells: on the first table of `witness` with
        that column from the second. Empty if no column does it alone.
        """
        one, other = self.witness(position)
        donors = self.worlds.donors(other.number)
        before = {} if one.number == AS_IT_IS else self.worlds.donors(one.number)
        found = []
        for name in donors:
            table = self.fits.training.completed({**before, name: donors[name]})
            if self.fits.predicted(table)[position] != one.predicted:
                found.append(name)
        return found

    def _checked(self, position: int) -> int:
        if not -len(self) <= position < len(self):
            raise IndexError(f"point {position} was asked for, but there are {len(self):,}")
        return position % len(self)

    def __len__(self) -> int:
        return int(self.predictions.shape[1])

    def __getitem__(self, position: Any) -> Any:
        """Return one point by its position."""
        place = self._checked(int(position))
        bound = float(self.chance_at_most[place])
        return AuditedPoint(
            self.predicted[place],
            bool(self.changed[place]),
            self._seen(place),
            int(self.n_changed_worlds[place]),
            None if np.isnan(bound) else bound,
        )

    def columns(self) -> dict[str, list[Any]]:
        """Return one row per point as plain columns."""
        return {
            **key_columns(self.points.names),
            "predicted": [str(label) for label in self.predicted],
            "changed": self.changed.tolist(),
            "n_changed_worlds": self.n_changed_worlds.tolist(),
            "seen": [", ".join(map(str, self._seen(place))) for place in range(len(self))],
        }

    def to_frame(self) -> Any:
        """Return one row per point, in the library that the points came in."""
        return native_frame(self.columns(), self.points.frame)

    def document(self) -> dict[str, Any]:
        """Return the JSON form."""
        columns = {**self.columns(), "seen": [[*map(str, self._seen(i))] for i in range(len(self))]}
        n_chance = int(self.by_chance.sum())
        return {
            "n_points": len(self),
            "n_changed": int(self.changed.sum()),
            "n_changed_by_chance": int(self._differs[self.by_chance].any(axis=0).sum()),
            "n_worlds": self.n_worlds,
            "n_chance": n_chance,
            "n_directed": self.n_worlds - n_chance,
            "chance_at_most": 1 - (1 - _CONFIDENCE) ** (1 / n_chance) if n_chance else None,
            "takes_missing": self.takes_missing,
            "labels": [str(label) for label in self.labels],
            "points": [
                {"point": place, **dict(zip(columns, row, strict=True))}
                for place, row in enumerate(zip(*columns.values(), strict=True))
            ],
        }

    def file_columns(self) -> dict[str, Any]:
        """Return the columns as a file holds them: the position of each point first."""
        return {"point": [*range(len(self))], **self.columns()}

    def confidence(self) -> str:
        """Say what the worlds by chance tell about the predictions that did not change."""
        n_chance = int(self.by_chance.sum())
        bound = per_cent(1 - (1 - _CONFIDENCE) ** (1 / n_chance)) if n_chance else "100 %"
        return (
            f"A prediction that none of the {n_chance:,} worlds by chance changed is changed by at most "
            f"{bound} of such worlds, with 95 % confidence; directed worlds are rarer and no sample."
        )

    def sentence(self) -> str:
        """Say what was seen, and what that proves."""
        n_changed, n_chance = int(self.changed.sum()), int(self.by_chance.sum())
        return (
            f"{n_changed:,} of {many(len(self), 'prediction')} "
            f"({per_cent(n_changed / max(len(self), 1))}) were seen to change in "
            f"{many(self.n_worlds, 'completed table')} ({n_chance:,} by chance, "
            f"{self.n_worlds - n_chance:,} directed); that the others stay is not proven"
        )

    def _repr_html_(self) -> str:
        order = np.argsort(-self.n_changed_worlds, kind="stable")[:ROWS]
        columns = self.columns()
        shown = {
            name: [column[place] for place in order.tolist()] for name, column in columns.items()
        }
        names = [shown_name(self.points.names, place) for place in order.tolist()]
        return shown_table(f"Audit: {self.sentence()}", {"point": names, **shown}, len(self))

    def __repr__(self) -> str:
        lines = [
            f"  {place}: {self[place]!r}" for place in np.flatnonzero(self.changed)[:5].tolist()
        ]
        more = ["  …"] if self.changed.sum() > len(lines) else []
        return "\n".join([f"Audit: {self.sentence()}", *lines, *more])


@dataclass(frozen=True)
class AuditedPoint:
    """What an audit saw of one point.

    ``chance_at_most`` is the share of worlds by chance that change the prediction at most, with 95 %
    confidence; None if one was seen that does.
    """

    predicted: Any
    changed: bool
    seen: tuple[Any, ...]
    n_changed_worlds: int
    chance_at_most: float | None

    def __repr__(self) -> str:
        if not self.changed:
            return f"AuditedPoint({self.predicted}: not seen to change)"
        others = ", ".join(str(label) for label in self.seen if label != self.predicted)
        return f"AuditedPoint({self.predicted}, but {others} in {many(self.n_changed_worlds, 'world')})"
