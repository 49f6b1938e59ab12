"""How far orders of cleaning get where the true values are known: ours, and those to compare with.

``ours``: what a `Cleaner` proposes. ``random``: any cell is as likely as any other. ``most missing``: the
feature with the most missing cells first. ``entropy``: what lowers the expected entropy of the labels
most, the idea of CPClean (Karlaš et al., VLDB 2021) on our model: the doubt about a point is the entropy of
whether its probable winner stays ahead of the likeliest rival when chance fills the cells. Their lead is
taken to be normal: cells that are cleaned move its mean by chance and take their part of its spread
away. Unlike ours, that order does not know what certainty asks for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nullproof.cleaning.cleaner import Cleaner, Fill
from nullproof.cleaning.order import Group, cells_that_matter, contenders, open_cells
from nullproof.data.edits import TrainingTable

Strategy = Literal["ours", "random", "most missing", "entropy"]
Floats = NDArray[np.float64]
Batch = list[tuple[int, NDArray[np.intp]]]  # feature and rows
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
_TINY = 1e-12
_LEAST = -60.0


@dataclass(frozen=True)
class Curve:
    """How many points were done after how many cells, one entry per step, from no cell on."""

    strategy: str
    n_cells: NDArray[np.int64]
    n_done: NDArray[np.int64]
    n_points: int
    n_open: int

    def cells_until(self, share: float) -> float:
        """Return how many cells it took until this share of the points done at the end was done."""
        needed = np.ceil(share * self.n_done[-1] - 1e-9)
        return float(self.n_cells[int((self.n_done >= needed).argmax())])

    @property
    def area(self) -> float:
        """The area under the share of done points over the share of cells: 1 if all are done at once."""
        if not self.n_open or not self.n_points:
            return 1.0
        widths = np.diff(np.append(self.n_cells, self.n_open)) / self.n_open
        return float((self.n_done / self.n_points) @ widths)


def simulate_cleaning(
    cleaner: Cleaner, truth: Any, *, strategy: Strategy = "ours", step: int, seed: int = 0
) -> Curve:
    """Clean with the true values until nothing is left that matters; record how far each step got."""
    work = _Work(cleaner, truth, np.random.default_rng(seed))
    if strategy in ("ours", "entropy"):
        batches = _adaptive(work, step, by_entropy=strategy == "entropy")
    else:
        batches = _fixed(work, step, strategy)
    n_cells, n_done = [0], [int(cleaner.done.sum())]
    for batch in batches:
        cleaner.take([Fill(j, rows, work.truth[j][rows]) for j, rows in batch])
        n_cells.append(n_cells[-1] + sum(len(rows) for _, rows in batch))
        n_done.append(int(cleaner.done.sum()))
    return Curve(strategy, np.array(n_cells), np.array(n_done), len(cleaner.points), work.n_open)


class _Work:
    """A cleaner, the true codes, and the missing cells in a random order."""

    def __init__(self, cleaner: Cleaner, truth: Any, rng: np.random.Generator) -> None:
        index = cleaner.original
        opened = TrainingTable.open(index.schema, truth)
        n_features = len(index.features)
        self.truth = [opened.writer(j).encoded.codes.astype(np.intp) for j in range(n_features)]
        self.cleaner, self.rng = cleaner, rng
        groups = [(i, j) for j in range(n_features) for i in range(len(index.labels))]
        self.rows = {
            group: rng.permutation(cleaner.rows_of(group))
            for group in groups
            if index.n_values[group[1]] > 1
        }
        self.n_open = sum(map(len, self.rows.values()))


def _adaptive(work: _Work, step: int, *, by_entropy: bool) -> Iterator[Batch]:
    """Take the cells of the best groups, and look again after each step."""
    while not work.cleaner.done.all():
        ranking = _by_entropy(work.cleaner, step) if by_entropy else work.cleaner.ranking()
        batch: Batch = []
        left = step
        for group in ranking:
            rows, work.rows[group] = work.rows[group][:left], work.rows[group][left:]
            batch.append((group[1], rows))
            left -= len(rows)
            if not left:
                break
        if not batch:
            return
        yield batch


def _fixed(work: _Work, step: int, strategy: Strategy) -> Iterator[Batch]:
    """Take all cells in an order that no answer changes."""
    n_features = len(work.cleaner.index.features)
    columns: list[NDArray[np.intp]] = []
    for j in range(n_features):
        rows = [own for (_, feature), own in work.rows.items() if feature == j]
        columns.append(work.rng.permutation(np.concatenate(rows)) if rows else np.empty(0, np.intp))
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


# The idea of CPClean ------------------------------------------------------------------------------


def _by_entropy(cleaner: Cleaner, step: int) -> list[Group]:
    """Return the groups that matter, those whose cells lower the entropy most for each cell first."""
    model, left = cleaner.model, np.flatnonzero(~cleaner.done)
    points = cleaner.points.take(left)
    contending = contenders(model, points, cleaner.verdicts.take(left))
    n_open = open_cells(model)
    matters = cells_that_matter(n_open, points, contending)
    n_cells = np.minimum(np.maximum(n_open, 1), step)
    sums, variance = _moments(cleaner, left)
    gains = _entropy_gains(sums, variance, contending, n_cells / np.maximum(n_open, 1)) / n_cells
    order = np.argsort(np.where(matters, -gains, np.inf), axis=None, kind="stable")
    first = order[: int(matters.sum())].tolist()
    return [divmod(place, n_open.shape[1]) for place in first]


def _moments(cleaner: Cleaner, left: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return the likely log supports, and the variances of the log terms by feature, to first order."""
    model, points = cleaner.model, cleaner.points.take(left)
    index, alpha = model.index, float(model.alpha)
    sums = np.repeat(np.maximum(model.log_prior, _LEAST)[None], len(points), axis=0)
    variance = np.zeros((len(points), model.m, model.d))
    for j in range(model.d):
        codes, places = points.used(j)
        low, high = index.low(j, codes), index.high(j, codes)
        n_known = index.label_counts - index.n_open[j]
        share = (index.exact(j, codes) + 1 / int(index.n_values[j])) / (n_known + 1)
        likely = low + (high - low) * share
        sums += np.maximum(model.log_terms(j, likely), _LEAST)[places]
        spread = (high - low) * share * (1 - share) / np.maximum(likely + alpha, 0.5) ** 2
        variance[:, :, j] = spread[places]
    return sums, variance


def _entropy_gains(
    sums: Floats, variance: Floats, contending: NDArray[np.bool_], parts: Floats
) -> Floats:
    """Return by how much cleaning a part of each group lowers the entropy, summed over the points."""
    rows = np.arange(len(sums))
    supports = np.where(contending, sums, -np.inf)
    winners = supports.argmax(axis=1)
    supports[rows, winners] = -np.inf
    rivals = supports.argmax(axis=1)
    lead = sums[rows, winners] - sums[rows, rivals]
    spread = variance.sum(axis=2)
    whole = np.maximum(spread[rows, winners] + spread[rows, rivals], _TINY)
    now = _entropy(lead / np.sqrt(whole))
    gains = np.zeros(parts.shape)
    for labels in (winners, rivals):
        # Points × features: the part of the spread that goes if cells of this label are cleaned.
        gone = variance[rows, labels] * parts[labels]
        rest = np.sqrt(np.maximum(whole[:, None] - gone, _TINY))
        moved = lead[:, None, None] + np.sqrt(gone)[:, :, None] * _NODES
        after = _entropy(moved / rest[:, :, None]) @ (_WEIGHTS / _WEIGHTS.sum())
        np.add.at(gains, labels, np.maximum(now[:, None] - after, 0.0))
    return gains


def _entropy(distance: Floats) -> Floats:
    """Return the entropy of whether a standard normal number stays below a distance."""
    # A logistic curve is within 0.01 of the normal one, and needs no library.
    chance = 1 / (1 + np.exp(-np.clip(1.702 * distance, -700, 700)))
    chance = np.clip(chance, _TINY, 1 - _TINY)
    entropy: Floats = -chance * np.log(chance) - (1 - chance) * np.log(1 - chance)
    return entropy
