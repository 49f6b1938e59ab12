"""Complete a training table by chance, or directed at some points, for `nullproof.audit`.

Every filled value is copied from another row of the same column, so a world is a row number
per missing cell and keeps the types of the table. By chance, a missing cell takes the value of a random
row of the same label. In a directed world the missing cells of a label take the values of points that
Naive Bayes nearly gives that label.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.counts.fields import Counts
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
# The largest number of points to aim at for each label.
_CLOSEST = 500


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
            # Only the directed worlds depend on how Naive Bayes treats the columns.
            warnings.simplefilter("ignore", NullproofWarning)
            index = CountIndex.from_table(
                opened, label, missing_is_value=options.missing_is_value, weights="equal"
            )
        if len(index.labels) < 2:
            raise NullproofError(
                f"{label!r} holds one label, {index.labels[0]!r}, so nothing can change"
            )
        encoded = encode_quietly(index.schema, opened)
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

    @property
    def truth(self) -> NDArray[Any]:
        """The label of each row, as written in the table."""
        return np.asarray(self.frame[self.label].to_numpy())

    def completed(self, donors: Mapping[str, Rows]) -> nw.DataFrame[Any]:
        """Return the table with the missing cells of some columns copied from other rows."""
        columns = []
        for name, rows in donors.items():
            places = np.arange(len(self.frame))
            places[self.missing[name]] = rows
            columns.append(self.frame[name][places])
        return self.frame.with_columns(*columns)


def as_scikit_learn_takes_it(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Return a pandas or polars frame; scikit-learn does not accept Arrow tables."""
    if frame.implementation.is_pyarrow():
        return nw.from_native(frame.to_polars(), eager_only=True)
    return frame


def with_nulls(
    frame: nw.DataFrame[Any], missing: Mapping[str, NDArray[np.bool_]]
) -> nw.DataFrame[Any]:
    """Return a frame with nulls for cells that mean missing, such as ``?`` or -999."""
    columns = []
    for name, mask in missing.items():
        column = frame[name]
        gone = column.is_null()
        if column.dtype.is_float():
            gone = gone | column.is_nan()
        if mask.sum() > int(gone.sum()):
            known = nw.new_series("known", (~mask).tolist(), backend=frame.implementation)
            columns.append(frame.select(nw.when(known).then(nw.col(name)).alias(name))[name])
    return frame.with_columns(*columns)


class Worlds:
    """The completions of an audit: every other world is drawn by chance, the others are directed.

    A directed world aims, for each label, at one point that Naive Bayes nearly gives it; aiming at several
    at once found fewer changes. A world depends only on its number and the seed.
    """

    def __init__(
        self, training: Training, points: Points, n_worlds: int, model: Model, seed: int
    ) -> None:
        self.training, self._seed, self._n_worlds = training, seed, n_worlds
        self._columns = {name: _Column(training, name, model) for name in training.missing}
        self._aims = _aims(model, points)
        self._codes = dict(zip(model.index.features, points.codes, strict=True))

    def __len__(self) -> int:
        return self._n_worlds

    def is_directed(self, number: int) -> bool:
        """Return whether a world is directed; none is if there is no point to aim at."""
        return bool(self._aims) and number % 2 == 1

    def donors(self, number: int) -> dict[str, Rows]:
        """Return, for each column, the rows that its missing cells are copied from."""
        random = np.random.default_rng([self._seed, number])
        aims = self._aims if self.is_directed(number) else {}
        points = {
            label: int(random.choice(near, 1, replace=False)[0]) for label, near in aims.items()
        }
        donors = {}
        for name, column in self._columns.items():
            # A column that Naive Bayes leaves out is filled by chance alone.
            own = points if name in self._codes else {}
            aimed = {label: int(self._codes[name][place]) for label, place in own.items()}
            donors[name] = column.donors(random, aimed)
        return donors

    def completed(self, number: int) -> nw.DataFrame[Any]:
        """Return the training table with its missing cells filled."""
        return self.training.completed(self.donors(number))


def _aims(model: Model, points: Points) -> dict[int, Rows]:
    """Return, for each label, the points that Naive Bayes nearly gives it, the closest first."""
    supports = log_supports(model, points)
    order = np.argsort(-supports, axis=1, kind="stable")
    first, second = np.take_along_axis(supports, order[:, :2], axis=1).T
    with np.errstate(invalid="ignore"):
        lead = np.nan_to_num(first - second, nan=0.0, posinf=np.inf)
    aims = {}
    for label in range(model.m):
        places = np.flatnonzero((order[:, 1] == label) & np.isfinite(lead))
        if len(places):
            aims[label] = places[np.argsort(lead[places], kind="stable")[:_CLOSEST]]
    return aims


class _Column:
    """A column with missing cells, and the rows that each cell can be copied from."""

    def __init__(self, training: Training, name: str, model: Model) -> None:
        missing, row_labels = training.missing[name], training.row_labels
        self.known = np.delete(np.arange(len(row_labels)), missing)
        labels = row_labels[missing]
        self.cells = {
            label: np.flatnonzero(labels == label) for label in np.unique(labels).tolist()
        }
        self.rows = {label: self.known[row_labels[self.known] == label] for label in self.cells}
        nothing = np.zeros(len(row_labels), dtype=np.int32)
        self.codes = training.codes.get(name, nothing).astype(np.intp)
        # The known rows by code, so that a row with a given code can be drawn.
        j = model.index.schema.position.get(name)
        self.n_codes = 1 if j is None else int(model.index.n_values[j])
        self.by_code = self.known[np.argsort(self.codes[self.known], kind="stable")]
        self.n_of_code = np.bincount(self.codes[self.known], minlength=self.n_codes)
        self.limits = {}
        if j is not None and model.bias[j] < 1:
            self.limits = {label: self._limits(model, j, label) for label in self.cells}

    def _limits(self, model: Model, j: int, label: int) -> tuple[Counts, Counts]:
        """Return the fewest and the most missing cells of a label that may hold each value (T9)."""
        n_cells, alpha, bias = len(self.cells[label]), model.alpha, model.bias[j]
        known = model.index.exact(j, np.arange(self.n_codes))[:, label].tolist()
        shares = [share_of(n, sum(known), len(known), alpha) for n in known]
        ranges = [held_exactly(n_cells, share, bias) for share in shares]
        # A declared value that no row holds cannot be copied.
        low, most = np.array(ranges, dtype=np.int64).T
        high = np.where(self.n_of_code, most, 0)
        if high.sum() < n_cells or (low > high).any():
            raise NullproofError(
                f"no world within the bias can be made of the known values of "
                f"{cut(model.index.features[j])!r}; declare fewer values, or give a larger bias"
            )
        return low, high

    def donors(self, random: np.random.Generator, aimed: Mapping[int, int]) -> Rows:
        """Draw the row that each missing cell is copied from; ``aimed``: the code that a label takes."""
        donors = np.empty(sum(map(len, self.cells.values())), dtype=np.intp)
        first = self.n_of_code.cumsum() - self.n_of_code
        for label, cells in self.cells.items():
            rows = self.rows[label]
            drawn = random.choice(rows if len(rows) else self.known, len(cells))
            codes = self.codes[drawn]
            if aimed.get(label, self.n_codes) < self.n_codes:
                codes = np.full(len(cells), aimed[label])
            if label in self.limits:
                codes = _within_limits(random, codes, *self.limits[label])
            other = np.flatnonzero((codes != self.codes[drawn]) & (self.n_of_code[codes] > 0))
            places = random.random(len(other)) * self.n_of_code[codes[other]]
            drawn[other] = self.by_code[first[codes[other]] + places.astype(np.intp)]
            donors[cells] = drawn
        return donors


def _within_limits(random: np.random.Generator, codes: Rows, low: Counts, high: Counts) -> Rows:
    """Change as few codes as necessary so that each occurs within its limits."""
    wanted = np.clip(np.bincount(codes, minlength=len(low)), low, high)
    short = len(codes) - int(wanted.sum())
    for code in random.permutation(len(low)).tolist():
        step = int(np.clip(short, low[code] - wanted[code], high[code] - wanted[code]))
        wanted[code] += step
        short -= step
    return random.permutation(np.repeat(np.arange(len(low)), wanted))
