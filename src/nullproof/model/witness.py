"""Witness worlds: two completions of the training table that disagree about a point."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nullproof.counts.index import CountIndex
from nullproof.data.edits import TrainingTable
from nullproof.data.points import OwnMissing, Points
from nullproof.data.schema import Feature, decode, encode, encode_set
from nullproof.data.sources import raw_cells
from nullproof.errors import NullproofError
from nullproof.model.bias import held_exactly, share_of
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Bias, Prior
from nullproof.model.verdicts import (
    Verdicts,
    dominates,
    point_counts,
    verdicts,
    worst_completion,
)


@dataclass(frozen=True, repr=False)
class World:
    """One world, defined by the values of its missing cells.

    Rows of the labels in ``raised`` agree with the point wherever the candidates of their cells and
    the bias allow it; rows of the other labels disagree wherever these allow that.

    Parameters
    ----------
    model
        The index with the smoothing, the prior and the bias.
    point
        The point with its missing cells filled; None for features that are left out.
    winners
        The labels with the greatest support; more than one is a tie.
    log_supports
        The natural logarithm of each label's support, for display.
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
        names = self.model.index.features
        training = TrainingTable.open(self.model.index.schema, table, labels)
        return training.filled(
            {name: dict(self._fillings(j, training)) for j, name in enumerate(names)}
        )

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
        """Count how many of the open cells of a label get each of their candidates.

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

    @property
    def verdict(self) -> str:
        """What Naive Bayes predicts in this world: ``predicts yes``, ``ties yes and no``."""
        verb = "predicts" if len(self.winners) == 1 else "ties"
        return f"{verb} {' and '.join(str(label) for label in self.winners)}"

    def __repr__(self) -> str:
        return f"World({self.verdict})"


def witness(
    index: CountIndex,
    point: Any,
    *,
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnMissing = "skip",
    bias: Bias = 1.0,
) -> tuple[World, World]:
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
    return disagreeing(model, points, found, _known_cells(index, point, points))


def disagreeing(
    model: Model, points: Points, found: Verdicts, cells: Sequence[Any]
) -> tuple[World, World]:
    """Return two worlds that disagree about the one open point that ``points`` holds.

    Parameters
    ----------
    found
        The verdict of the point.
    cells
        The point as it was given: known cells, sets of candidates, or None.
    """
    possible = np.flatnonzero(found.possible[0])
    codes = [candidates[0] for candidates in points.choices(0)]
    likely = int(possible[np.argmax(found.min_log[0, possible])])
    one = favouring(model, cells, codes, likely)
    if len(one.winners) > 1:
        other = next(int(i) for i in possible if i != likely)
        return one, favouring(model, cells, codes, other)
    winner = model.index.labels.index(one.winners[0])
    rivals = sorted((k for k in range(model.m) if k != winner), key=lambda k: -found.max_log[0, k])
    rival = next(k for k in rivals if not dominates(model, points, 0, winner, k))
    worst = worst_completion(model, points, 0, winner, rival)
    return one, favouring(model, cells, worst, rival)


def favouring(model: Model, cells: Sequence[Any], codes: list[int], raised: int) -> World:
    """Return the world most favourable to one label against all others, at one completion of a point.

    Parameters
    ----------
    cells
        The point as it was given: known cells, sets of candidates, or None.
    codes
        The completed point as codes.
    """
    index, counts = model.index, _counts(model, codes, {raised})
    top = 0
    for i in range(1, model.m):
        if model.exceeds(i, counts[i], top, counts[top]):
            top = i
    winners = [i for i in range(model.m) if not model.exceeds(top, counts[top], i, counts[i])]
    parts = zip(index.schema.features, codes, cells, strict=True)
    return World(
        model,
        tuple(_completed(feature, code, cell) for feature, code, cell in parts),
        tuple(codes),
        frozenset({raised}),
        tuple(index.labels[i] for i in winners),
        {label: model.log_support(i, counts[i]) for i, label in enumerate(index.labels)},
    )


def _counts(model: Model, codes: Sequence[int], raised: Collection[int]) -> list[list[int]]:
    """Count, label by label, the cells that agree with a completed point: most for some labels."""
    low, high = point_counts(model, codes)
    return [high[i] if i in raised else low[i] for i in range(model.m)]


def _known_cells(index: CountIndex, point: Any, points: Points) -> tuple[Any, ...]:
    """Return the cells of the point as given; None for every spelling of missing."""
    if points.frame is None and points.rows is None:
        # An array of codes is not kept.
        cells = [*point[0]]
    else:
        cells = [points.own(j, name, 0) for j, name in enumerate(index.features)]
    unknown = points.missing[:, 0].tolist()
    return tuple(None if gone else cell for cell, gone in zip(cells, unknown, strict=True))


def _completed(feature: Feature, code: int, cell: Any) -> Any:
    """Return the cell itself if it is known, else a value with the code: one of its candidates or any.

    None where the point leaves the feature out.
    """
    if isinstance(cell, set | frozenset | list | tuple):
        columns = ((one, raw_cells(feature.name, [one])) for one in cell)
        return next(one for one, column in columns if encode(feature, column).codes[0] == code)
    if cell is None:
        return decode(feature, code) if code < feature.n_values else None
    return cell
