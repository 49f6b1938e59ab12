"""Bounds of the cells that any order of cleaning needs.

``seeing``: even one that knows every true value beforehand; cells of one label, feature and true value do
the same. ``blind``: one that cannot tell the cells of a label and feature apart, if each part of them
has the same mix of values as the whole. A point becomes certain when its winner's least
support passes each rival's greatest one. Filling raises the former by a concave function of the cells,
which lies below its tangents, and lowers the latter by a convex one, which lies below its chord. So the
linear program over numbers of cells, with each point either counted or not, can only be too good.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_matrix

from nullproof.counts.index import CountIndex

Cells = dict[tuple[int, int, int], tuple[int, float]]
_ALPHA = 1.0
_SECONDS = 10.0


class _Program:
    """Rows and columns of a mixed integer program, added one by one."""

    def __init__(self) -> None:
        self.costs: list[float] = []
        self.upper: list[float] = []
        self.whole: list[int] = []
        self.entries: list[tuple[int, int, float]] = []
        self.at_least: list[float] = []

    def column(self, cost: float, upper: float, whole: bool = False) -> int:
        self.costs.append(cost)
        self.upper.append(upper)
        self.whole.append(int(whole))
        return len(self.costs) - 1

    def row(self, terms: list[tuple[int, float]], at_least: float) -> None:
        self.entries += [(len(self.at_least), column, weight) for column, weight in terms]
        self.at_least.append(at_least)

    def bound(self) -> float:
        """A proven lower bound of the optimum."""
        rows, columns, weights = zip(*self.entries, strict=True)
        matrix = coo_matrix((weights, (rows, columns)), (len(self.at_least), len(self.costs)))
        found = milp(
            np.array(self.costs),
            constraints=LinearConstraint(matrix.tocsr(), np.array(self.at_least), np.inf),
            bounds=Bounds(0, np.array(self.upper)),
            integrality=np.array(self.whole),
            options={"time_limit": _SECONDS},
        )
        return float(found.mip_dual_bound if found.mip_dual_bound is not None else 0.0)


def least_cells(
    index: CountIndex,
    truth: NDArray[np.int64],
    labels: NDArray[np.int64],
    points: NDArray[np.int32],
    *,
    share: float,
    blind: bool,
) -> float:
    """At least so many cells until a share of the points is certain (of those that ever are)."""
    shape = (len(points), len(index.labels), len(index.features))
    low, high, true = np.empty(shape), np.empty(shape), np.empty(shape)
    counts = []
    for j, size in enumerate(index.n_values.tolist()):
        whole = np.zeros((size, shape[1]), dtype=np.int64)
        np.add.at(whole, (truth[:, j], labels), 1)
        codes = points[:, j].astype(np.int64)
        low[:, :, j], high[:, :, j] = index.low(j, codes), index.high(j, codes)
        true[:, :, j] = whole[codes]
        counts.append(whole - index.exact(j)[:-1] if size > 1 else whole * 0)
    sizes = np.log(index.label_counts[:, None] + _ALPHA * index.n_values).sum(axis=1)
    base = np.log(index.label_counts / index.n_rows) - sizes
    sums = np.log(true + _ALPHA).sum(axis=2) + base
    winner = sums.argmax(axis=1)
    ordered = np.sort(sums, axis=1)
    done = np.flatnonzero(ordered[:, -1] > ordered[:, -2])
    program = _Program()
    cells: Cells = {}
    for j, own in enumerate(counts):
        for i in np.flatnonzero(own.any(axis=0)).tolist():
            group = program.column(float(own[:, i].sum()), 1.0) if blind else None
            for v in np.flatnonzero(own[:, i]).tolist():
                n_cells = float(own[v, i])
                cells[i, j, v] = (
                    (program.column(1.0, n_cells), 1.0) if group is None else (group, n_cells)
                )
    counted = []
    for t in done.tolist():
        column = program.column(0.0, 1.0, whole=True)
        counted.append((column, 1.0))
        _add_point(
            program, cells, counts, points[t], (low[t], high[t], base), int(winner[t]), column
        )
    program.row(counted, float(np.ceil(share * len(done) - 1e-9)))
    return program.bound()


def _add_point(
    program: _Program,
    cells: Cells,
    counts: list[NDArray[np.int64]],
    codes: NDArray[np.int32],
    ranges: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    winner: int,
    counted: int,
) -> None:
    """If the point counts, its winner must pass every rival."""
    low, high, base = ranges
    raised = []
    for j, code in enumerate(codes.tolist()):
        if (winner, j, code) in cells:
            column, scale = cells[winner, j, code]
            n_cells, start = program.upper[column] * scale, low[winner, j] + _ALPHA
            gain = program.column(0.0, float(np.log1p(n_cells / start)))
            raised.append((gain, 1.0))
            for at in (0.0, n_cells / 4, n_cells):
                # gain <= log1p(at / start) + (cells - at) / (start + at)
                rest = float(np.log1p(at / start) - at / (start + at))
                program.row([(gain, -1.0), (column, scale / (start + at))], -rest)
    least = float(np.log(low[winner] + _ALPHA).sum() + base[winner])
    for k in range(len(base)):
        needed = float(np.log(high[k] + _ALPHA).sum() + base[k]) - least
        if k == winner or needed <= 0:
            continue
        lowered = []
        for j, code in enumerate(codes.tolist()):
            others = [v for v in np.flatnonzero(counts[j][:, k]).tolist() if v != code]
            n_cells = float(counts[j][others, k].sum())
            if n_cells:
                top = high[k, j] + _ALPHA
                slope = float(np.log(top / (top - n_cells))) / n_cells
                lowered += [(cells[k, j, v][0], slope * cells[k, j, v][1]) for v in others]
        program.row([*raised, *lowered, (counted, -needed)], 0.0)
