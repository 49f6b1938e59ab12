"""simulate_cleaning: how far different orders of work get, when the true values are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from nullproof.cleaning.cleaner import Cleaner
from nullproof.cleaning.entropy import entropy_gains
from nullproof.cleaning.holes import Fill
from nullproof.cleaning.ranges import open_counts
from nullproof.data.edits import TrainingTable
from nullproof.errors import NullproofError
from nullproof.seeds import refuse_seed
from nullproof.show import shown_table

Strategy = Literal["ours", "random", "most missing", "entropy"]
Group = tuple[int, int]


@dataclass(frozen=True, repr=False, eq=False)
class Curve:
    """How many points were done after how many cells.

    Parameters
    ----------
    n_cells, n_done
        One entry per step, from no cell on.
    n_open
        How many cells were open at the start.
    """

    strategy: str
    n_cells: NDArray[np.int64]
    n_done: NDArray[np.int64]
    n_points: int
    n_open: int

    def cells_until(self, share: float) -> float:
        """How many cells it took until this share of the points that are done at the end was done."""
        needed = np.ceil(share * self.n_done[-1] - 1e-9)
        return float(self.n_cells[int((self.n_done >= needed).argmax())])

    @property
    def area(self) -> float:
        """The area under the share of done points over the share of cells: 1 if all are done at once."""
        if not self.n_open or not self.n_points:
            return 1.0
        ends = np.append(self.n_cells, self.n_open)
        widths = np.diff(ends) / self.n_open
        return float((self.n_done / self.n_points) @ widths)

    def columns(self) -> dict[str, list[int]]:
        """Plain columns: cells and done points."""
        return {"n_cells": self.n_cells.tolist(), "n_done": self.n_done.tolist()}

    def _repr_html_(self) -> str:
        some = {name: column[:10] for name, column in self.columns().items()}
        return shown_table(repr(self), some, len(self.n_cells))

    def __repr__(self) -> str:
        return (
            f"Curve: {self.strategy}, {self.n_done[0]:,} to {self.n_done[-1]:,} of "
            f"{self.n_points:,} points done, 90 % after {self.cells_until(0.9):,.0f} of "
            f"{self.n_open:,} cells, area {self.area:.3f}"
        )


def simulate_cleaning(
    cleaner: Cleaner,
    truth: Any,
    labels: Sequence[Any] | None = None,
    *,
    strategy: Strategy = "ours",
    step: int | None = None,
    seed: int = 0,
) -> Curve:
    """Clean with the true values until nothing is left that matters, and record how far each step got.

    The cleaner keeps these answers, so make a new one for another simulation.

    Parameters
    ----------
    truth
        The table without holes, row by row as the one that was counted; ``labels`` as there.
    strategy
        ``"ours"``: what `Cleaner.next` proposes. ``"random"``: any cell is as likely as any other.
        ``"most missing"``: the feature with the most open cells first. ``"entropy"``: what lowers the
        expected entropy of the labels most, the idea of CPClean.
    step
        How many cells to fill before looking again; a hundredth of the open cells if it is not said.
    seed
        Seed of the random order, where the strategy leaves the order open.

    Examples
    --------
    >>> from nullproof import CountIndex
    >>> rows, labels = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")], ["yes", "yes", "no", "no"]
    >>> index = CountIndex.from_rows(rows, labels)
    >>> cleaner = Cleaner(index, [("a", "x"), ("a", "y")], rows, labels)
    >>> curve = simulate_cleaning(cleaner, [("a", "x"), *rows[1:]], labels)
    >>> curve
    Curve: ours, 1 to 2 of 2 points done, 90 % after 1 of 1 cells, area 0.500
    """
    if strategy not in get_args(Strategy):
        raise NullproofError(
            f"strategy is {strategy!r}; give one of {', '.join(map(repr, get_args(Strategy)))}"
        )
    refuse_seed(seed)
    work = _Work(cleaner, _true_codes(cleaner, truth, labels), np.random.default_rng(seed))
    step = step or max(1, work.n_open // 100)
    if strategy == "ours":
        batches = _ours(work, step)
    elif strategy == "entropy":
        batches = _by_entropy(work, step)
    else:
        batches = _fixed(work, step, strategy)
    n_cells, n_done = [0], [int(cleaner.done.sum())]
    for batch in batches:
        work.fill(batch)
        n_cells.append(n_cells[-1] + sum(len(rows) for _, rows in batch))
        n_done.append(int(cleaner.done.sum()))
    return Curve(strategy, np.array(n_cells), np.array(n_done), len(cleaner.points), work.n_open)


Batch = list[tuple[int, NDArray[np.intp]]]


class _Work:
    """A cleaner, the true codes, and the open cells in a random order."""

    def __init__(
        self, cleaner: Cleaner, truth: list[NDArray[np.intp]], rng: np.random.Generator
    ) -> None:
        self.cleaner, self.truth, self.rng = cleaner, truth, rng
        self.rows = {(i, j): rng.permutation(rows) for i, j, rows in cleaner.open_cells.groups()}
        self.n_open = sum(map(len, self.rows.values()))

    def fill(self, batch: Batch) -> None:
        """Answer with the true values."""
        self.cleaner.take([Fill(j, rows, self.truth[j][rows], []) for j, rows in batch])


def _ours(work: _Work, step: int) -> Iterator[Batch]:
    while not work.cleaner.done.all():
        found = work.cleaner.proposed(step, lambda i, j: work.rows[i, j])
        if not found:
            return
        for i, j, rows in found:
            left = work.rows[i, j]
            work.rows[i, j] = left[~np.isin(left, rows)]
        yield [(j, rows) for _, j, rows in found]


def _by_entropy(work: _Work, step: int) -> Iterator[Batch]:
    while not work.cleaner.done.all():
        outlook, n_open = work.cleaner.outlook, np.maximum(open_counts(work.cleaner.index), 1)
        n_cells = np.minimum(n_open, step)
        gains = entropy_gains(outlook, n_cells / n_open) / n_cells
        batch: Batch = []
        left = step
        for group in outlook.ranked(gains):
            rows, work.rows[group] = work.rows[group][:left], work.rows[group][left:]
            batch.append((group[1], rows))
            left -= len(rows)
            if not left:
                break
        if not batch:
            return
        yield batch


def _fixed(work: _Work, step: int, strategy: Strategy) -> Iterator[Batch]:
    """All cells in an order that no answer changes."""
    n_features = len(work.cleaner.index.features)
    columns = [
        np.concatenate([rows for (_, own), rows in work.rows.items() if own == j])
        for j in range(n_features)
    ]
    columns = [work.rng.permutation(rows) for rows in columns]
    sizes = np.array([len(rows) for rows in columns])
    if strategy == "random":
        order = work.rng.permutation(np.repeat(np.arange(n_features), sizes))
    else:
        by_size = np.argsort(-sizes, kind="stable")
        order = np.repeat(by_size, sizes[by_size])
    taken = np.zeros(n_features, dtype=np.int64)
    for start in range(0, len(order), step):
        counts = np.bincount(order[start : start + step], minlength=n_features)
        yield [
            (j, columns[j][taken[j] : taken[j] + counts[j]])
            for j in np.flatnonzero(counts).tolist()
        ]
        taken += counts
        if work.cleaner.done.all():
            return


def _true_codes(
    cleaner: Cleaner, truth: Any, labels: Sequence[Any] | None
) -> list[NDArray[np.intp]]:
    """The true value of every open cell, as codes, checked to be one that the cell may hold."""
    opened = TrainingTable.open(cleaner.original.schema, truth, labels)
    cells, found = cleaner.open_cells, []
    for j, feature in enumerate(cleaner.original.schema.features):
        encoded = opened.writer(j).encoded
        codes = encoded.codes.astype(np.intp)
        rows = cells.open_rows(j)
        if (
            not np.array_equal(opened.row_labels, cells.training.row_labels)
            or not encoded.sets.keys().isdisjoint(rows.tolist())
            or ((codes[rows] < 0) | (codes[rows] >= feature.n_values)).any()
            or any(codes[row] not in sort for row, sort in cells.column(j).sets.items())
        ):
            raise NullproofError(
                f"column {feature.name!r} of the truth has a hole or an impossible value where the "
                "table has a hole; give the same rows without holes"
            )
        found.append(codes)
    return found
