"""Data poisoning as the paper's experiments do it: RP, SR, GS, and the union for many points.

Tables are complete, as in the paper. ``A1`` blanks a cell of the rival that disagrees with the point,
``A2`` one of the winner that agrees with it; each takes the feature with the smallest count, and
there the first row of the table that fits.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from experiments.paper.baselines.coded import CodedTable, Counts, Supports, rows_of_points

Check = Literal["iterate", "counts", "bisect"]
Cells = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Poisoning:
    """Cells to blank, as positions ``row * n_features + feature``, in the order they were chosen."""

    cells: Cells

    @property
    def n_cells(self) -> int:
        return len(self.cells)


@dataclass(frozen=True, eq=False)
class Greedy(Poisoning):
    """What the greedy search found, and what its proof overlooks.

    Parameters
    ----------
    n_claimed
        The cells it would report if counts could grow past the rival's number of rows, as in the
        code that the authors published.
    saturated
        The rivals that A1 alone cannot help: all their rows agree with the point before they catch
        up. Where there is one, the result need not be optimal (T6).
    """

    n_claimed: int
    saturated: tuple[int, ...]


def random_poisoning(
    table: CodedTable, point: Any, *, seed: int = 0, check: Check = "iterate"
) -> Poisoning:
    """RP: blank random cells one at a time until the point is open.

    Parameters
    ----------
    check
        ``"iterate"`` runs Algorithm 1 on the whole table after each cell, as the paper says.
        ``"counts"`` makes the same comparison after each cell from counts that the blanked cell
        changes by one. ``"bisect"`` uses that blanking more cells never makes a point certain again,
        and finds the first such cell by halving with a pass each time. All three choose the same
        cells in the same order and stop at the same one.
    """
    own = _complete(table, point)
    rng = np.random.Generator(np.random.PCG64(seed))
    order = rng.permutation(table.n_cells)
    if check == "bisect":
        n_cells = _first_by_halving(table, own, order)
    else:
        n_cells = _first_by_steps(table, own, order, passes=check == "iterate")
    return Poisoning(order[:n_cells])


def smarter_random(table: CodedTable, point: Any, *, seed: int = 0) -> Poisoning:
    """SR: fix a random rival, then apply A1 or A2 at random until the point is open.

    An operation that has no cell left gives way to the other.
    """
    own = _complete(table, point)
    rng = np.random.Generator(np.random.PCG64(seed))
    existing = table.matches(own)
    winner = Supports(table).predicted(existing)
    if winner is None or table.n_labels < 2:
        return Poisoning(np.empty(0, dtype=np.int64))
    rival = int(rng.choice([label for label in range(table.n_labels) if label != winner]))
    watch = _Watch(table, own, passes=False)
    raising = _Operation(table, own, rival, existing[rival], raises=True)
    lowering = _Operation(table, own, winner, existing[winner], raises=False)
    cells: list[int] = []
    while watch.is_certain():
        first, second = (raising, lowering) if rng.random() < 0.5 else (lowering, raising)
        cell = first.take() or second.take()
        # A2 can bring the winner's support to 0, so a cell is left as long as the point is certain.
        assert cell is not None
        row, j = cell
        watch.blank(row, j)
        cells.append(row * table.n_features + j)
    return Poisoning(np.array(cells, dtype=np.int64))


def greedy_search(table: CodedTable, point: Any) -> Greedy:
    """GS: Algorithms 2 and 3 of the paper, only A1 or only A2 against each rival.

    The paper lets A1 go on until the rival catches up. Where all the rival's rows agree with the point
    before that, it cannot be carried out: then A2 is taken, and the rival is named in ``saturated``.

    Examples
    --------
    The example of T6: A2 alone needs 3 cells, A1 alone reports 2 that the rival's single row does not
    have, and one of each would do.

    >>> codes = [[0, 0, 0]] * 3 + [[1, 1, 1]] * 2 + [[1, 0, 0]]
    >>> found = greedy_search(CodedTable.of(codes, [0, 0, 0, 0, 0, 1]), [0, 0, 0])
    >>> found.n_cells, found.n_claimed, found.saturated
    (3, 2, (1,))
    """
    own = _complete(table, point)
    supports, existing = Supports(table), table.matches(own)
    winner = supports.predicted(existing)
    nothing = np.empty(0, dtype=np.int64)
    if winner is None or table.n_labels < 2:
        return Greedy(nothing, 0, ())
    weights, counts = supports.weights(existing), existing.tolist()
    best: tuple[int, int, Counts] | None = None
    claims, saturated = [], []
    for rival in (label for label in range(table.n_labels) if label != winner):
        raised, n_raise = _steps_up(counts[rival], weights[rival], weights[winner], supports, rival)
        lowered, n_lower = _steps_down(counts[winner], weights[winner], weights[rival])
        claims += [n_raise, n_lower]
        offers = [(n_lower, winner, lowered - existing[winner])]
        if (raised > table.label_counts[rival]).any():
            saturated.append(rival)
        else:
            offers.insert(0, (n_raise, rival, raised - existing[rival]))
        best = min([*([best] if best else []), *offers], key=lambda offer: offer[0])
    assert best is not None
    cells = _cells_of(table, own, best[1], best[2])
    return Greedy(cells, min(claims), tuple(saturated))


def union(points: Iterable[Any], single: Callable[[Any], Poisoning]) -> Poisoning:
    """Poison each point by itself and take all the cells: the paper's way for many points."""
    found = [single(point).cells for point in points]
    return Poisoning(np.unique(np.concatenate(found)) if found else np.empty(0, dtype=np.int64))


def _complete(table: CodedTable, point: Any) -> list[int]:
    assert (table.codes >= 0).all(), "the paper poisons complete tables"
    (only,) = rows_of_points(table, point)
    return only


def _steps_up(
    counts: Sequence[int], weight: int, goal: int, supports: Supports, rival: int
) -> tuple[Counts, int]:
    """Lines 3 to 9: add one to the smallest count until the rival has caught up, without a limit."""
    raised, n_steps = list(counts), 0
    smallest = [(count, j) for j, count in enumerate(raised)]
    heapq.heapify(smallest)
    while weight < goal:
        count, j = smallest[0]
        heapq.heapreplace(smallest, (count + 1, j))
        raised[j] += 1
        n_steps += 1
        weight = weight // count * (count + 1) if count else supports.weight(rival, raised)
    return np.array(raised), n_steps


def _steps_down(counts: Sequence[int], weight: int, goal: int) -> tuple[Counts, int]:
    """Lines 10 to 16: take one from the smallest count until the rival has caught up.

    That feature stays the smallest and each step takes the same from the support (O2), so that the
    number of steps is a division.
    """
    lowered = np.array(counts)
    j = int(lowered.argmin())
    each = weight // int(lowered[j])
    n_steps = -((goal - weight) // each)
    lowered[j] -= n_steps
    return lowered, n_steps


def _cells_of(table: CodedTable, point: list[int], label: int, change: Counts) -> Cells:
    """The first cells of a label that disagree (to raise a count) or agree (to lower it)."""
    found = []
    for j, n_cells in enumerate(change.tolist()):
        agrees = table.codes[:, j] == point[j]
        fits = (~agrees if n_cells > 0 else agrees) & table.rows_of[label]
        found.append(np.flatnonzero(fits)[: abs(n_cells)] * table.n_features + j)
    return np.concatenate(found)


def _first_by_steps(table: CodedTable, point: list[int], order: Cells, *, passes: bool) -> int:
    watch, n_cells = _Watch(table, point, passes=passes), 0
    while watch.is_certain():
        watch.blank(*divmod(int(order[n_cells]), table.n_features))
        n_cells += 1
    return n_cells


def _first_by_halving(table: CodedTable, point: list[int], order: Cells) -> int:
    certain_with, broken_with = -1, len(order)
    while broken_with - certain_with > 1:
        middle = (certain_with + broken_with) // 2
        watch = _Watch(table, point, passes=True)
        watch.blank(*np.divmod(order[:middle], table.n_features))
        if watch.is_certain():
            certain_with = middle
        else:
            broken_with = middle
    return broken_with


class _Watch:
    """Is the point still certain? By a new pass each time, or from counts kept up to date."""

    def __init__(self, table: CodedTable, point: list[int], *, passes: bool) -> None:
        codes = table.codes.copy(order="F") if passes else table.codes
        self._table = CodedTable(codes, table.labels, table.n_values, table.n_labels)
        self._point, self._passes, self._supports = point, passes, Supports(table)
        self._existing, self._missing = table.matches(point), table.nulls()

    def is_certain(self) -> bool:
        if self._passes:
            self._existing, self._missing = self._table.matches(self._point), self._table.nulls()
        return self._supports.is_certain(self._existing, self._missing)

    def blank(self, row: Any, j: Any) -> None:
        """Blank one cell; with passes also many at once."""
        if self._passes:
            self._table.codes[row, j] = -1
            return
        label = self._table.labels[row]
        self._existing[label, j] -= self._table.codes[row, j] == self._point[j]
        self._missing[label, j] += 1


class _Operation:
    """A1 (raises) or A2 on one label: hands out its cells, the smallest count first."""

    def __init__(
        self, table: CodedTable, point: list[int], label: int, counts: Counts, *, raises: bool
    ) -> None:
        self._step = 1 if raises else -1
        self._counts = counts.tolist()
        self._rows = []
        for j, code in enumerate(point):
            agrees = table.codes[:, j] == code
            fits = (~agrees if raises else agrees) & table.rows_of[label]
            # The first row is taken from the end.
            self._rows.append(np.flatnonzero(fits)[::-1].tolist())

    def take(self) -> tuple[int, int] | None:
        """The row and feature of the next cell, None if no cell is left."""
        open_ones = [j for j, rows in enumerate(self._rows) if rows]
        if not open_ones:
            return None
        j = min(open_ones, key=self._counts.__getitem__)
        self._counts[j] += self._step
        return self._rows[j].pop(), j
