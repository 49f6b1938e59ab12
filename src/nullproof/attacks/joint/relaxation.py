"""A linear relaxation of the joint problem, solved by HiGHS and bounded by weak duality.

Take an optimal attack, if it has fewer than ``limit`` cells. Give each point share 1 of one mode in
which it falls (a kill if there is one), and let that mode's takings be all that is blanked of the
groups that lower the point's winner. Then every row holds, so the least value is a lower bound:

* *modes*: each point has one, or pays ``limit``, which makes every box feasible;
* *share*: only one mode of a point takes anything, and it takes no more than there is;
* *logs*: the rival's gain plus the winner's loss reaches the gap between them. The gain
  ``log(H + a)`` is concave in the integer ``a``, so it lies below every line through two
  neighbouring integers; the loss lies below its chord (``Modes.chords``). All terms are
  nonnegative, so an unused mode's row holds too;
* *zeros*: with ``alpha = 0`` a rival needs one cell at least in each feature where it has none;
* *frontier*: the cells that serve a pair are an attack on that point alone (T7), so their number
  reaches its optimum, and what is lowered lies above the lines below its frontier (T8);
* *taken*: no taking exceeds what the box allows, and without a kill one cell is left.

Coefficients are widened by more than their rounding error, and the bound reported is not the
solver's: it is recomputed from the dual solution (``certified_value``).

Columns are, in this order: cells per group, share per pair, share per kill, slack per point,
cells that raise per pair, cells per taking.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nullproof.attacks.joint.effort import Watch
from nullproof.attacks.joint.modes import Box, Chords, Modes
from nullproof.attacks.joint.problem import Ints
from nullproof.model.bias import Floats

# A cut is dropped when so many solutions in a row did not need it.
MAX_AGE = 30
# The status of linprog when its time is up.
OUT_OF_TIME = 1
# Relative and least absolute widening, both far above the rounding of logs of counts.
WIDEN = 1e-11
MARGIN = 1e-9


@dataclass(frozen=True)
class Relaxed:
    """A solution of the relaxation: the certified bound and the columns.

    ``price`` belongs to the cells, then the shares (``certified_value``).
    """

    bound: float
    cells: Floats
    share: Floats
    taken: Floats
    price: Floats


class Relaxation:
    """The program for a box, with the lines above the gains that have proved useful so far."""

    def __init__(self, modes: Modes, watch: Watch) -> None:
        self.modes, self.watch = modes, watch
        # Whether the program is too large for the time.
        self.too_slow = False
        self.layout = Layout(modes)
        self.cut_pair = np.zeros(0, dtype=np.int64)
        self.cut_at = np.zeros((0, modes.high.shape[1]))
        self.cut_age = np.zeros(0, dtype=np.int64)
        if modes.n_pairs:
            self._start_cuts()

    def _start_cuts(self) -> None:
        """Cut where a point alone would raise its rival: at a common level of the small counts."""
        floor = np.where(self.modes.room > 0, self.modes.base, np.inf).min(axis=1)
        top = floor + self.modes.alone
        for share in np.linspace(0.0, 1.0, 7):
            level = floor ** (1 - share) * top**share
            self._add_cuts(np.arange(len(floor)), level[:, None] - self.modes.high)

    def _add_cuts(self, pairs: Ints, raised: Floats) -> None:
        """Bound the gain of ``pairs`` by lines that touch it at ``raised``, per feature."""
        at = np.clip(np.floor(raised), self.modes.must[pairs], self.modes.room[pairs])
        self.cut_pair = np.concatenate([self.cut_pair, pairs])
        self.cut_at = np.concatenate([self.cut_at, at])
        self.cut_age = np.concatenate([self.cut_age, np.zeros(len(pairs), dtype=np.int64)])

    def _age_cuts(self, duals: Floats) -> None:
        """Drop cuts that no solution has needed for a while; without them the bound is still valid."""
        self.cut_age = np.where(duals > 1e-12, 0, self.cut_age + 1)
        keep = self.cut_age <= MAX_AGE
        self.cut_pair, self.cut_at = self.cut_pair[keep], self.cut_at[keep]
        self.cut_age = self.cut_age[keep]

    def solve(self, box: Box, rounds: int = 1) -> Relaxed:
        """Solve the relaxation on ``box``, adding violated cuts for some more rounds."""
        best = self._solve_once(box)
        for _ in range(rounds - 1):
            if self.watch.late() or not self._cut_off(best):
                break
            again = self._solve_once(box)
            stalled = again.bound - best.bound < 1e-4 * max(1.0, best.bound)
            best = again if again.bound > best.bound else best
            if stalled:
                break
        return best

    def _cut_off(self, found: Relaxed) -> bool:
        """Add lines for pairs whose gain is overestimated at ``found``; tell if there are any."""
        modes, share = self.modes, found.share[: self.modes.n_pairs]
        raised = modes.raised(found.cells) / np.maximum(share, 1e-9)[:, None]
        lines = self._lines()
        height = (lines.slope * raised[lines.pair]).sum(axis=1) + lines.constant
        least = np.full(len(share), np.inf)
        np.minimum.at(least, lines.pair, height)
        true = np.log(np.maximum(modes.high + raised, modes.base) / modes.base).sum(axis=1)
        pairs = np.flatnonzero((share > 1e-3) & (least > true + 1e-3))
        self._add_cuts(pairs, raised[pairs])
        return len(pairs) > 0

    def _lines(self) -> Lines:
        high, base = self.modes.high[self.cut_pair], self.modes.base[self.cut_pair]
        slope = np.log1p(1.0 / (high + self.cut_at))
        constant = np.log((high + self.cut_at) / base) - slope * self.cut_at
        return Lines(self.cut_pair, slope, constant.sum(axis=1))

    def _solve_once(self, box: Box) -> Relaxed:
        from scipy.optimize import linprog

        matrix, right, first_cut = self._rows(box)
        cost, low, high = self._columns(box)
        found = linprog(
            cost,
            A_ub=-matrix,
            b_ub=-right,
            bounds=np.column_stack([low, high]),
            method="highs-ds",
            # Half of the time is kept for the search, in case the program does not end.
            options={"time_limit": self.watch.left() / 2, "presolve": False},
        )
        self.too_slow = found.status == OUT_OF_TIME
        # Out of time or of precision: the box keeps the bound it came with.
        if found.status != 0:
            return self._trivial(box)
        duals = np.maximum(-found.ineqlin.marginals, 0.0)
        bound, price = certified_value(cost, matrix, right, (low, high), duals)
        self._age_cuts(duals[first_cut : first_cut + len(self.cut_pair)])
        at = self.layout
        taken = found.x[at.take :]
        cells, share = found.x[: at.pair], found.x[at.pair : at.slack]
        return Relaxed(bound, cells, share, taken, price[: at.slack])

    def _trivial(self, box: Box) -> Relaxed:
        """Fall back on the box's own least sum when the solver gives up."""
        cells = box.lower.astype(np.float64)
        share, taken = np.zeros(self.modes.n_modes), np.zeros(len(self.modes.take_pair))
        return Relaxed(float(cells.sum()), cells, share, taken, np.zeros(self.layout.slack))

    def _columns(self, box: Box) -> tuple[Floats, Floats, Floats]:
        """Return the cost, lower and upper bound of each column."""
        modes, at = self.modes, self.layout
        cost, low = np.zeros(at.n_columns), np.zeros(at.n_columns)
        cost[: at.pair] = 1.0
        cost[at.slack : at.up] = modes.limit
        low[: at.pair] = box.lower
        high = np.ones(at.n_columns)
        high[: at.pair] = box.upper
        high[at.pair : at.slack] = box.allowed
        high[at.kill : at.slack] *= box.upper[modes.kill_group] >= modes.kill_count
        high[at.up : at.take] = modes.room.sum(axis=1)
        high[at.take :] = modes.most_taken(box)
        return cost, low, high

    def _rows(self, box: Box) -> tuple[Any, Floats, int]:
        """Return the matrix, the right-hand sides, and the number of the first cut's row."""
        modes, at = self.modes, self.layout
        head = [mode_rows(modes, at), share_rows(modes, at), zero_rows(modes, at),
                raise_rows(modes, at), frontier_rows(modes, at),
                taken_rows(modes, at, box)]  # fmt: skip
        logs = log_rows(modes, at, self._lines(), modes.chords(box))
        matrix, right = stack([*head, logs], at.n_columns)
        return matrix, right, len(right) - len(logs.right)


def certified_value(
    cost: Floats, matrix: Any, right: Floats, bounds: tuple[Floats, Floats], duals: Floats
) -> tuple[float, Floats]:
    """Return a number below ``min cost x, matrix x >= right, bounds`` whatever ``duals >= 0`` are.

    With it comes the price of each column: the number rises by at least that much per unit by which
    the column is kept above its lower bound or, if the price is negative, below its upper bound.

    Weak duality: ``cost x >= duals right + (cost - matrix' duals) x`` for every feasible ``x``, and
    the last term is least at an end of each interval. The rounding of a float sum of ``n`` terms
    is below ``n * eps`` times the sum of their sizes; twice that is taken off
    (theory 5).
    """
    low, high = bounds
    eps = 2.0 * float(np.finfo(np.float64).eps)
    reduced = cost - matrix.T @ duals
    length = np.diff(matrix.tocsc().indptr) + 3
    unsure = eps * length * (np.abs(cost) + abs(matrix).T @ duals)
    far = np.maximum(np.abs(low), np.abs(high))
    ends = np.minimum(reduced * low, reduced * high)
    value = float(duals @ right + ends.sum() - (unsure * far).sum())
    size = float(np.abs(duals * right).sum() + np.abs(ends).sum())
    price = np.sign(reduced) * np.maximum(np.abs(reduced) - unsure, 0.0)
    return value - eps * (len(cost) + len(right) + 8) * (size + 1.0), price


@dataclass(frozen=True)
class Block:
    """Entries of some rows, numbered from 0, and their right-hand sides."""

    row: Ints
    column: Ints
    value: Floats
    right: Floats


@dataclass(frozen=True)
class Lines:
    """Lines above the gains of pairs: slope per feature, and constant."""

    pair: Ints
    slope: Floats
    constant: Floats


class Layout:
    """Where each kind of column starts."""

    def __init__(self, modes: Modes) -> None:
        sizes = [modes.problem.n_groups, modes.n_pairs, len(modes.kill_point)]
        sizes += [modes.problem.n_points, modes.n_pairs, len(modes.take_pair)]
        self.pair, self.kill, self.slack, self.up, self.take, self.n_columns = np.cumsum(
            sizes
        ).tolist()


def mode_rows(modes: Modes, layout: Layout) -> Block:
    """Give each point a mode, or let it pay with its slack."""
    n_points = modes.problem.n_points
    owner = np.concatenate([modes.owner, np.arange(n_points)])
    column = layout.pair + np.arange(len(owner))
    return Block(owner, column, np.ones(len(owner)), np.ones(n_points))


def share_rows(modes: Modes, layout: Layout) -> Block:
    """Let the modes of one point take disjoint parts of a group."""
    group, point = np.nonzero(modes.problem.lowers)
    row_of = np.full(modes.problem.lowers.shape, -1, dtype=np.int64)
    row_of[group, point] = np.arange(len(group))
    takes, kills = np.arange(len(modes.take_pair)), np.arange(len(modes.kill_point))
    row = [np.arange(len(group)), row_of[modes.take_group, modes.take_point],
           row_of[modes.kill_group, modes.kill_point]]  # fmt: skip
    column = [group, layout.take + takes, layout.kill + kills]
    value = [np.ones(len(group)), -np.ones(len(takes)), -modes.kill_count]
    return Block(
        np.concatenate(row), np.concatenate(column), np.concatenate(value), np.zeros(len(group))
    )


def log_rows(modes: Modes, layout: Layout, lines: Lines, chords: Chords) -> Block:
    """Make gain plus loss reach the gap, as far as the mode is used."""
    slope = chords.slope * (1 + WIDEN)
    line, group = np.nonzero(modes.able[lines.pair])
    gain = lines.slope[line, modes.problem.feature[group]] * (1 + WIDEN)
    free = np.zeros(modes.n_pairs)
    np.add.at(free, modes.take_pair, chords.loss - slope * chords.start)
    margin = max(MARGIN, modes.problem.error)
    need = np.maximum((modes.gap - free)[lines.pair] - lines.constant - margin, 0.0)
    take_row, take = takings_of(modes, lines.pair)
    row = np.concatenate([line, take_row, np.arange(len(need))])
    column = np.concatenate([group, layout.take + take, layout.pair + lines.pair])
    return Block(row, column, np.concatenate([gain, slope[take], -need]), np.zeros(len(need)))


def takings_of(modes: Modes, pairs: Ints) -> tuple[Ints, Ints]:
    """Return all takings of some pairs, each with the place of its pair among them."""
    # Takings are sorted by pair.
    first = np.searchsorted(modes.take_pair, pairs)
    length = np.searchsorted(modes.take_pair, pairs, side="right") - first
    place = np.repeat(np.arange(len(pairs)), length)
    start = np.cumsum(length) - length
    return place, np.arange(len(place)) - start[place] + first[place]


def zero_rows(modes: Modes, layout: Layout) -> Block:
    """Make a rival need a cell in each feature where it has none."""
    pair, feature = np.nonzero(modes.must)
    feeds = modes.able[pair] & (modes.problem.feature[None, :] == feature[:, None])
    row, group = np.nonzero(feeds)
    value = np.concatenate([np.ones(len(row)), -np.ones(len(pair))])
    row = np.concatenate([row, np.arange(len(pair))])
    return Block(row, np.concatenate([group, layout.pair + pair]), value, np.zeros(len(pair)))


def raise_rows(modes: Modes, layout: Layout) -> Block:
    """Let a pair be raised by no more than the cells that raise its rival."""
    pair, group = np.nonzero(modes.able)
    index = np.arange(modes.n_pairs)
    value = np.concatenate([np.ones(len(group)), -np.ones(len(index))])
    row, column = np.concatenate([pair, index]), np.concatenate([group, layout.up + index])
    return Block(row, column, value, np.zeros(modes.n_pairs))


def frontier_rows(modes: Modes, layout: Layout) -> Block:
    """Make a pair raise and lower as its frontier asks: in all, at least, and line by line."""
    index, n_facets = np.arange(modes.n_pairs), len(modes.facet_pair)
    pair = np.concatenate([index, index, modes.facet_pair])
    slope = np.concatenate([np.ones(2 * len(index)), modes.facet_slope * (1 + WIDEN)])
    facet_need = modes.facet_need * (1 - WIDEN)
    need = np.concatenate([modes.alone, modes.least_raised, facet_need])
    lowers = np.repeat([True, False, True], [len(index), len(index), n_facets])
    rows = np.arange(len(pair))
    take_row, take = takings_of(modes, pair)
    take_row, take = take_row[lowers[take_row]], take[lowers[take_row]]
    row = np.concatenate([rows, rows, take_row])
    column = np.concatenate([layout.up + pair, layout.pair + pair, layout.take + take])
    value = np.concatenate([slope, -need, np.ones(len(take))])
    return Block(row, column, value, np.zeros(len(pair)))


def taken_rows(modes: Modes, layout: Layout, box: Box) -> Block:
    """Let a pair take from a group at most its share of what the box leaves there."""
    last = modes.most_taken(box)
    index = np.arange(len(last))
    column = np.concatenate([layout.pair + modes.take_pair, layout.take + index])
    value = np.concatenate([last, -np.ones(len(last))])
    return Block(np.concatenate([index, index]), column, value, np.zeros(len(last)))


def stack(blocks: list[Block], n_columns: int) -> tuple[Any, Floats]:
    """Return the blocks below each other as one sparse matrix, and the right-hand sides."""
    right = np.concatenate([block.right for block in blocks])
    starts = np.cumsum([0] + [len(block.right) for block in blocks[:-1]]).tolist()
    row = np.concatenate([b.row + start for b, start in zip(blocks, starts, strict=True)])
    column = np.concatenate([block.column for block in blocks])
    value = np.concatenate([block.value for block in blocks])
    return sparse(row, column, value, (len(right), n_columns)), right


def sparse(rows: Ints, columns: Ints, values: Floats, shape: tuple[int, int]) -> Any:
    """Return a matrix from its entries; the HiGHS of older SciPy takes no wide integers."""
    from scipy.sparse import coo_array

    place = rows.astype("int32"), columns.astype("int32")
    return coo_array((values, place), shape=shape).tocsr()
