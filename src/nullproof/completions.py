"""Completions of a training table by chance, and directed at some points, for `nullproof.audit`.

Every value that is filled in is copied from another row of the same column, so a world is a row number
per missing cell and keeps the types of the table. By chance, a missing cell takes the value of a random
row of the same label. In a directed world the missing cells of a label take the values of points that
Naive Bayes nearly gives that label.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.data.labels import known_label_codes
from nullproof.data.options import TableOptions
from nullproof.data.points import Points, encode_quietly
from nullproof.errors import NullproofError, NullproofWarning
from nullproof.model.bias import held_exactly, share_of
from nullproof.model.model import Model
from nullproof.model.predict import log_supports
from nullproof.words import cut

Rows = NDArray[np.intp]


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


@dataclass(frozen=True)
class Training:
    """The training table, its index, and which cells of which column are missing."""

    frame: nw.DataFrame[Any]
    label: str
    options: TableOptions
    index: CountIndex
    row_labels: NDArray[np.int32]
    codes: dict[str, NDArray[np.int32]]
    missing: dict[str, Rows]

    @classmethod
    def of(cls, table: Any, label: str, options: TableOptions) -> Training:
        """Read and count a table; cells that mean missing become null."""
        opened = options.open(table, label)
        if opened.frame is None:
            raise NullproofError(
                f"the table came as {type(table).__name__}; give a data frame or a file"
            )
        frame = as_scikit_learn_takes_it(opened.frame)
        with warnings.catch_warnings():
            # What Naive Bayes makes of the columns concerns the directed worlds alone.
            warnings.simplefilter("ignore", NullproofWarning)
            index = CountIndex.from_table(
                opened.frame.to_native(),
                label,
                missing=options.missing,
                missing_is_value=options.missing_is_value,
                weights="equal",
            )
        if len(index.labels) < 2:
            raise NullproofError(
                f"{label!r} holds one label, {index.labels[0]!r}, so nothing can change"
            )
        encoded = encode_quietly(index.schema, opened.frame.to_native())
        several = (encoded.holes & ~encoded.missing).any(axis=1)
        if several.any():
            raise NullproofError(
                f"cells of {index.features[int(several.argmax())]!r} have several candidates, which no "
                "classifier takes; choose one, or leave the column out"
            )
        codes = {name: encoded.codes[j] for j, name in enumerate(index.features)}
        gone = {name: encoded.missing[j] for j, name in enumerate(index.features)}
        for name in opened.names:
            if name != label and name not in gone and name not in options.missing_is_value:
                gone[name] = ~opened.column(name).known
        rows = {name: np.flatnonzero(mask) for name, mask in gone.items() if mask.any()}
        if not rows:
            raise NullproofError(
                "the training table has no missing cells, so there is only one world and nothing can "
                "change"
            )
        empty = next((name for name, own in rows.items() if len(own) == len(frame)), None)
        if empty is not None:
            raise NullproofError(
                f"the column {cut(empty)!r} has no known cell to fill it with; leave it out"
            )
        row_labels = known_label_codes(index.schema, opened.labels(label))
        return cls(with_nulls(frame, gone), label, options, index, row_labels, codes, rows)

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
        columns = []
        for name, rows in donors.items():
            places = np.arange(len(self.frame))
            places[self.missing[name]] = rows
            columns.append(self.frame[name][places])
        return self.frame.with_columns(*columns)


def as_scikit_learn_takes_it(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Return a frame of pandas or polars; scikit-learn takes no table of Arrow."""
    if frame.implementation.is_pyarrow():
        return nw.from_native(frame.to_polars(), eager_only=True)
    return frame


def with_nulls(
    frame: nw.DataFrame[Any], missing: Mapping[str, NDArray[np.bool_]]
) -> nw.DataFrame[Any]:
    """Return a frame with nulls where cells are spelled missing, say as ``?`` or -999."""
    columns = []
    for name, mask in missing.items():
        column = frame[name]
        if mask.sum() > int(column.is_null().sum()) + _n_nan(column):
            known = nw.new_series("known", (~mask).tolist(), backend=frame.implementation)
            columns.append(frame.select(nw.when(known).then(nw.col(name)).alias(name))[name])
    return frame.with_columns(*columns)


def _n_nan(column: nw.Series[Any]) -> int:
    return int(column.is_nan().sum()) if column.dtype.is_float() else 0


@dataclass(frozen=True)
class FilledWorld:
    """One completion of the training table."""

    worlds: Worlds = field(repr=False)
    number: int
    predicted: Any

    @property
    def directed(self) -> bool:
        """Whether the world was directed at some points rather than drawn by chance."""
        return self.worlds.is_directed(self.number)

    def complete(self, table: Any) -> Any:
        """Return the training table with its missing cells filled as in this world.

        Parameters
        ----------
        table
            The table that was audited, as a data frame or a file.
        """
        audited = self.worlds.training
        training = Training.of(table, audited.label, audited.options)
        same = training.frame.columns == audited.frame.columns and all(
            np.array_equal(training.missing.get(name, ()), rows)
            for name, rows in audited.missing.items()
        )
        if not same:
            raise NullproofError("the table is not the one that was audited; give that one")
        return training.completed(self.worlds.donors(self.number)).to_native()

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "by chance"
        return f"FilledWorld({self.number}, {kind}: predicts {self.predicted})"


class Worlds:
    """The completions of an audit, some drawn by chance and some directed.

    A world depends on its number and the seed alone, so it can be made again at any time.
    """

    def __init__(
        self,
        training: Training,
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
        self.n_of_code = np.bincount(codes[self.known], minlength=n_codes)
        self._first = self.n_of_code.cumsum() - self.n_of_code
        self.limits: dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}

    @classmethod
    def of(cls, training: Training, name: str, model: Model) -> _Column:
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
                label: _limits(
                    model, j, label, int((column.labels == label).sum()), column.n_of_code
                )
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
            drawn = random.choice(pool, len(cells))
            codes = random.choice(aimed[label], len(cells)) if label in aimed else self.codes[drawn]
            if label in self.limits:
                codes = within_limits(random, codes, *self.limits[label])
            other = np.flatnonzero((codes != self.codes[drawn]) & (self.n_of_code[codes] > 0))
            places = random.random(len(other)) * self.n_of_code[codes[other]]
            drawn[other] = self._by_code[self._first[codes[other]] + places.astype(np.intp)]
            donors[cells] = drawn
        return donors


def _limits(
    model: Model, j: int, label: int, n_cells: int, n_of_code: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the fewest and the most missing cells of a label that may hold each value (T9)."""
    known = model.index.exact(j, np.arange(int(model.index.n_values[j])))[:, label].tolist()
    ranges = [
        held_exactly(n_cells, share_of(n, sum(known), len(known), model.alpha), model.bias[j])
        for n in known
    ]
    low, high = np.array(ranges, dtype=np.int64).T
    # A declared value that no row holds cannot be copied.
    low, high = np.where(n_of_code, low, 0), np.where(n_of_code, high, 0)
    if high.sum() < n_cells:
        name = model.index.features[j]
        raise NullproofError(
            f"no world within the bias can be made of the known values of {cut(name)!r}; declare fewer "
            "values, or give a larger bias"
        )
    return low, high


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
