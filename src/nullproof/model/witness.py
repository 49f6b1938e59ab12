"""Witness worlds: two completions of the training table that disagree about a point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.data.edits import TrainingTable
from nullproof.data.points import OwnHoles, Points
from nullproof.data.schema import Feature, decode, encode_set
from nullproof.errors import NullproofError
from nullproof.model.bias import held_exactly, share_of
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Bias, Prior
from nullproof.model.verdicts import (
    Box,
    Verdicts,
    dominates,
    point_counts,
    verdicts,
    worst_completion,
)
from nullproof.show import ROWS, shown_table
from nullproof.words import per_cent


@dataclass(frozen=True, repr=False)
class World:
    """One world, told by what its holes are filled with.

    Rows of the labels in ``raised`` agree with the point wherever the candidates of their cells and
    the bias allow it; rows of the other labels disagree wherever these allow that.

    Parameters
    ----------
    model
        The index with the smoothing, the prior and the bias that were asked about.
    point
        The point, completed where it had holes of its own; None where a feature is left out.
    winners
        The labels with the greatest support; more than one is a tie.
    log_supports
        The natural logarithm of each label's support, for display.

    Examples
    --------
    >>> from nullproof import CountIndex, witness
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> one, other = witness(index, ("a", "y"))
    >>> other.winners
    ('yes',)
    >>> other.complete(rows, ["yes", "yes", "no", "no"])[0]
    ('a', 'y')
    """

    model: Model
    point: tuple[Any, ...]
    codes: tuple[int, ...]
    raised: frozenset[int]
    winners: tuple[Any, ...]
    log_supports: dict[Any, float]

    def complete(self, table: Any, labels: Sequence[Any] | None = None) -> Any:
        """Fill a training table as this world does, so that any Naive Bayes can be trained on it.

        Parameters
        ----------
        table
            The table that was counted: a data frame or a file (the result has the same type, for a
            file polars), or plain rows. Rows that were left out for lack of a label stay as they are.
        labels
            The labels of plain rows.
        """
        index = self.model.index
        training = TrainingTable.open(index.schema, table, labels)
        fillings = {
            name: dict(self._fillings(j, training)) for j, name in enumerate(index.features)
        }
        return training.filled(fillings)

    def _fillings(self, j: int, training: TrainingTable) -> Iterator[tuple[int, Any]]:
        index = self.model.index
        feature, cells = index.schema.features[j], training.writer(j)
        encoded, column = cells.encoded, cells.column
        everything = tuple(range(feature.n_values))
        groups: dict[tuple[int, tuple[int, ...]], list[int]] = {}
        for row in np.flatnonzero(encoded.codes < 0).tolist():
            key = int(training.row_labels[row]), encoded.sets.get(row, everything)
            groups.setdefault(key, []).append(row)
        for (label, candidates), rows in groups.items():
            shares = self._shares(j, label, candidates, len(rows))
            codes = (code for code, n in zip(candidates, shares, strict=True) for _ in range(n))
            for row, code in zip(rows, codes, strict=True):
                if feature.edges and row in column.sets:
                    # In a bin, the value must be one of the cell's own candidates.
                    own = (x for x in column.sets[row] if encode_set(feature, (x,)) == (code,))
                    yield row, cells.written(next(own))
                else:
                    yield row, cells.value(code)

    def _shares(self, j: int, label: int, candidates: tuple[int, ...], n_cells: int) -> list[int]:
        """How many of the open cells of a label get each of their candidates.

        The point's own value gets as many as it can, or as few; the others share the rest within what
        the bias allows each of them, which always works out (T9).
        """
        model, bias = self.model, self.model.bias[j]
        known = model.index.exact(j, np.array(candidates))[:, label].tolist()
        shares = [share_of(n, sum(known), len(candidates), model.alpha) for n in known]
        ranges = [held_exactly(n_cells, share, bias) for share in shares]
        counts, most = [low for low, _ in ranges], [high for _, high in ranges]
        aim = self.codes[j]
        own = candidates.index(aim) if aim in candidates else -1
        if own >= 0 and label in self.raised:
            counts[own] = most[own]
        left = n_cells - sum(counts)
        for place in (place for place in range(len(candidates)) if place != own):
            more = min(left, most[place] - counts[place])
            counts[place] += more
            left -= more
        if left:
            # A cell without any other candidate holds the point's value in every world.
            counts[own] += left
        return counts

    def filled(self) -> NDArray[np.int64]:
        """How many open cells get the point's own value, features × labels."""
        index, codes = self.model.index, np.array(self.codes, dtype=np.int32)
        points = Points.without_holes(codes[:, None], index.n_values)
        low, high = point_counts(self.model, points, 0)
        counts = [high[i] if i in self.raised else low[i] for i in range(self.model.m)]
        known = [index.exact(j, codes[[j]])[0] for j in range(len(codes))]
        return np.array(counts, dtype=np.int64).T - np.array(known, dtype=np.int64)

    @property
    def verdict(self) -> str:
        """What Naive Bayes does in it: ``predicts yes``, ``ties yes and no``."""
        verb = "predicts" if len(self.winners) == 1 else "ties"
        return f"{verb} {' and '.join(str(label) for label in self.winners)}"

    def __repr__(self) -> str:
        return f"World({self.verdict})"


class Witness(tuple[World, World]):
    """Two worlds that disagree about a point, or of which one ties; a notebook shows them side by side."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        names = [f"a world that {world.verdict}" for world in self]
        logs = [
            np.array([world.log_supports[label] for label in world.log_supports]) for world in self
        ]
        shares = [
            np.exp(log - log.max()) if np.isfinite(log.max()) else np.zeros(len(log))
            for log in logs
        ]
        columns = {"support of": [*self[0].log_supports]}
        for name, share in zip(names, shares, strict=True):
            columns[_apart(name, columns)] = [per_cent(part) for part in share.tolist()]
        supports = shown_table(
            "Two worlds, supports as shares of the greatest", columns, len(logs[0])
        )
        return supports + self._holes()

    def _holes(self) -> str:
        """How the two worlds fill the holes that they fill in different numbers, most first."""
        index, known = self[0].model.index, [world.filled() for world in self]
        apart = np.abs(known[0] - known[1])
        order = np.argsort(-apart, axis=None, kind="stable")[: int((apart > 0).sum())]
        missing = index.missing_cells()[0]
        rows = [np.unravel_index(place, apart.shape) for place in order[:ROWS]]
        columns: dict[str, list[Any]] = {
            "column": [index.features[j] for j, _ in rows],
            f"rows of {index.schema.label_name}": [index.labels[i] for _, i in rows],
            "missing cells": [int(missing[j, i]) for j, i in rows],
        }
        for world, counts in zip(self, known, strict=True):
            name = _apart(f"where it {world.verdict}", columns)
            columns[name] = [f"{counts[j, i]:,} like the point's {world.point[j]}" for j, i in rows]
        return shown_table("Holes that they fill differently", columns, len(order))


def _apart(name: str, taken: Mapping[str, Any]) -> str:
    return name if name not in taken else f"{name}, too"


def witness(
    index: CountIndex,
    point: Any,
    *,
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnHoles = "skip",
    bias: Bias = 1.0,
) -> Witness:
    """Show two worlds that prove a point open: they disagree, or one of them ties.

    The options are those of `certify`; with a ``bias`` both worlds have at most that bias.

    Examples
    --------
    >>> rows, labels = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")], ["yes", "yes", "no", "no"]
    >>> index = CountIndex.from_rows(rows, labels)
    >>> one, other = witness(index, ("a", "y"))
    >>> one, other
    (World(predicts no), World(predicts yes))
    >>> other.complete(rows, labels)
    [('a', 'y'), ('a', 'x'), ('a', 'y'), ('b', 'x')]
    """
    model = Model(index, alpha, prior, bias)
    points = model.points(point, own_missing)
    if len(points) != 1:
        raise NullproofError(f"witness takes one point but got {len(points)}; give one row")
    found = verdicts(model, points)
    if found.certain[0]:
        which = "every world" if model.unbiased is model else "every world of this bias"
        raise NullproofError(
            f"the point is certain: {which} predicts {index.labels[found.winner[0]]!r}, so there "
            "are no two worlds that disagree"
        )
    return Witness(disagreeing(model, points, found, _known_cells(index, point, points)))


def disagreeing(
    model: Model,
    points: Points,
    found: Verdicts,
    cells: Sequence[Any],
    box: Box | None = None,
) -> tuple[World, World]:
    """Two worlds that disagree about the one open point that ``points`` holds.

    Parameters
    ----------
    found
        The verdict of the point.
    cells
        The point as it was given: known cells, sets of candidates, or None.
    box
        The low and high counts of a complete point, if they are known.
    """
    possible = np.flatnonzero(found.possible[0])
    start = [candidates[0] for candidates in points.choices(0)]
    likely = int(possible[np.argmax(found.min_log[0, possible])])
    # A complete point has one box of counts, whichever label is raised.
    given = None
    if points.complete[0]:
        given = found, point_counts(model, points, 0) if box is None else box
    one = favouring(model, cells, start, likely, given)
    if len(one.winners) > 1:
        others = [i for i in possible if i != likely]
        return one, favouring(model, cells, start, int(others[0]), given)
    winner = model.index.labels.index(one.winners[0])
    rivals = sorted((k for k in range(model.m) if k != winner), key=lambda k: -found.max_log[0, k])
    if given is not None:
        low, high = given[1]
        rival = next(k for k in rivals if not model.exceeds(winner, low[winner], k, high[k]))
        return one, favouring(model, cells, start, rival, given)
    rival = next(k for k in rivals if not dominates(model, points, 0, winner, k))
    worst = worst_completion(model, points, 0, winner, rival)
    return one, favouring(model, cells, worst, rival)


def favouring(
    model: Model,
    cells: Sequence[Any],
    codes: list[int],
    raised: int,
    given: tuple[Verdicts, Box] | None = None,
) -> World:
    """The world that does most for one label against all others, at one completion of a point.

    Parameters
    ----------
    cells
        The point as it was given: known cells, sets of candidates, or None.
    codes
        The completed point as codes.
    given
        The verdict and the low and high counts of this very completion, if they are known.
    """
    index = model.index
    points = Points.without_holes(np.array(codes, dtype=np.int32)[:, None], index.n_values)
    ranges, (low, high) = given or (verdicts(model, points), point_counts(model, points, 0))
    counts = [high[i] if i == raised else low[i] for i in range(model.m)]
    supports = [model.support(i, own) for i, own in enumerate(counts)]
    top = max(supports)
    winners = [i for i, support in enumerate(supports) if support == top]
    logs = np.where(np.arange(model.m) == raised, ranges.max_log[0], ranges.min_log[0])
    completed = (
        _completed(feature, code, cell)
        for feature, code, cell in zip(index.schema.features, codes, cells, strict=True)
    )
    return World(
        model,
        tuple(completed),
        tuple(codes),
        frozenset({raised}),
        tuple(index.labels[i] for i in winners),
        dict(zip(index.labels, logs.tolist(), strict=True)),
    )


def _known_cells(index: CountIndex, point: Any, points: Points) -> tuple[Any, ...]:
    """The cells of the point as given; None for every spelling of missing."""
    cells = _given_cells(index, point, points)
    unknown = points.missing[:, 0]
    return tuple(None if gone else cell for cell, gone in zip(cells, unknown, strict=True))


def _given_cells(index: CountIndex, point: Any, points: Points) -> tuple[Any, ...]:
    if points.frame is None and points.rows is None:
        # An array of codes is not kept.
        return tuple(point[0])
    return tuple(points.own(j, name, 0) for j, name in enumerate(index.features))


def _completed(feature: Feature, code: int, cell: Any) -> Any:
    """The cell itself if it is known, else a value with the code: one of its candidates or any.

    None where the point leaves the feature out.
    """
    if isinstance(cell, set | frozenset | list | tuple):
        return next(one for one in cell if encode_set(feature, (one,)) == (code,))
    if cell is None:
        return decode(feature, code) if code < feature.n_values else None
    return cell
