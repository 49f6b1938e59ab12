"""The rows ``A x >= b`` of the relaxation, block by block (see relaxation.py for their proofs).

Columns are, in this order: cells per group, share per pair, share per kill, slack per point,
cells that raise per pair, cells per taking.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nullproof.attacks.joint.matrices import sparse
from nullproof.attacks.joint.modes import Box, Chords, Modes
from nullproof.attacks.joint.problem import Floats, Ints

# Relative and absolute widening, both far above the rounding of logs of counts.
WIDEN = 1e-11
MARGIN = 1e-9


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
    need = np.maximum((modes.gap - free)[lines.pair] - lines.constant - MARGIN, 0.0)
    take_row, take = np.nonzero(lines.pair[:, None] == modes.take_pair[None, :])
    row = np.concatenate([line, take_row, np.arange(len(need))])
    column = np.concatenate([group, layout.take + take, layout.pair + lines.pair])
    return Block(row, column, np.concatenate([gain, slope[take], -need]), np.zeros(len(need)))


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
    lowers = np.concatenate([np.ones(len(index)), np.zeros(len(index)), np.ones(n_facets)])
    rows = np.arange(len(pair))
    take_row, take = np.nonzero((pair[:, None] == modes.take_pair) & (lowers[:, None] > 0))
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
