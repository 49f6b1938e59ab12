"""count_worlds: how many worlds predict which label, exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from nullproof.counts.index import CountIndex
from nullproof.data.points import OwnHoles, Points
from nullproof.errors import NullproofError
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Prior
from nullproof.model.verdicts import verdicts
from nullproof.odds.filling import Filling, Open
from nullproof.odds.products import Scales, Weights, products, side_by_side, winning_weights

_LIMIT = 1_000_000
# So many sets of labels may tie at one support.
_MOST_SETS = 1 << 20
# Of more cells in a column of a label, the ways to fill them fill the memory.
_MOST_CELLS = 20_000


@dataclass(frozen=True)
class WorldCounts:
    """The worlds of a table, by who wins a point in them.

    Parameters
    ----------
    total
        The number of worlds.
    wins
        Per label: the worlds that it wins alone.
    ties
        Per set of two or more labels: the worlds in which just these share the greatest support.

    Examples
    --------
    >>> from nullproof import CountIndex
    >>> from nullproof.odds import count_worlds
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> count_worlds(index, ("a", "y"))
    WorldCounts(total=2, wins={'no': 1, 'yes': 1}, ties={})
    """

    total: int
    wins: dict[Any, int]
    ties: dict[tuple[Any, ...], int]

    @property
    def odds(self) -> dict[Any, Fraction]:
        """The share of the worlds that each label wins; a tie is shared out equally."""
        odds = {label: Fraction(n, self.total) for label, n in self.wins.items()}
        for labels, n in self.ties.items():
            for label in labels:
                odds[label] += Fraction(n, self.total * len(labels))
        return odds


def count_worlds(
    index: CountIndex,
    point: Any,
    *,
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnHoles = "skip",
) -> WorldCounts:
    """Count the worlds in which each label wins a point, as exact integers.

    Made for small tables or few missing cells: the work grows with the number of different supports
    that a label can have. `label_odds` bounds the same shares for any table.

    Parameters
    ----------
    point
        One row: every cell has one value or is missing.
    own_missing
        ``"skip"``: the point is predicted from the cells that it knows; worlds that differ only
        elsewhere are still counted one by one. ``"any"``: a missing cell is refused.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> count_worlds(index, ("a", "y"))
    WorldCounts(total=2, wins={'no': 1, 'yes': 1}, ties={})
    """
    points = index.encode(point).read(own_missing)
    if len(points) != 1 or not points.complete[0]:
        raise NullproofError(
            f"count_worlds takes one complete point but got {_described(points)}; give one row with one "
            "value per feature, or leave own_missing at 'skip' for its missing cells"
        )
    _refuse_many_cells(index)
    model = Model(index, alpha, prior)
    model.refuse_weights("count_worlds")
    possible = tuple(np.flatnonzero(verdicts(model, points).possible[0]).tolist())
    filling = Filling(index)
    n_worlds = [_n_fillings(index, i) for i in range(model.m)]
    # A label that is not possible is beaten in every world, however its own cells are filled.
    n_others = math.prod(n for i, n in enumerate(n_worlds) if i not in possible)
    found = {possible: math.prod(n_worlds[i] for i in possible)}
    if len(possible) > 1:
        found = _found(model, filling, points.codes[:, 0].tolist(), possible)
    wins, ties = dict.fromkeys(index.labels, 0), {}
    for places, n in sorted(found.items()):
        winners = tuple(index.labels[i] for i in places)
        if len(winners) == 1:
            wins[winners[0]] = n * n_others
        else:
            ties[winners] = n * n_others
    return WorldCounts(math.prod(n_worlds), wins, ties)


def _refuse_many_cells(index: CountIndex) -> None:
    j, i = np.unravel_index(index.n_open.argmax(), index.n_open.shape)
    if (n_cells := index.n_open[j, i]) > _MOST_CELLS:
        raise NullproofError(
            f"label {index.labels[i]!r} has {n_cells:,} missing cells in column {index.features[j]!r}, too "
            "many to count worlds exactly; ask label_odds for bounds"
        )


def _described(points: Points) -> str:
    if len(points) != 1:
        return f"{len(points)} points"
    missing = points.missing.any()
    return "a point with missing cells" if missing else "a point with several candidates for a cell"


def _n_fillings(index: CountIndex, i: int) -> int:
    """In how many ways the missing cells of a label's rows can be filled."""
    total = 1
    for j, size in enumerate(index.n_values.tolist()):
        total *= size ** int(index.n_null[j, i])
        for candidates, n_cells in index.sets[j].items():
            total *= len(candidates) ** int(n_cells[i])
    return total


def _found(
    model: Model, filling: Filling, codes: Sequence[int], labels: tuple[int, ...]
) -> dict[tuple[int, ...], int]:
    scales = Scales(model)
    distributions = []
    for i in labels:
        parts, n_free = [], _n_fillings(model.index, i)
        for j, code in enumerate(codes):
            groups = filling.open(j, code)[i]
            ways = _ways(groups)
            n_free //= int(ways.sum())
            low = int(filling.low(j, code)[i])
            parts.append((scales.factors(i, j, range(low, low + len(ways))), ways))
        made = products(parts, _LIMIT)
        if made is None:
            raise NullproofError(
                f"label {model.index.labels[i]!r} can have more than {_LIMIT:,} different supports, "
                "too many to count exactly; ask label_odds for bounds"
            )
        # Cells that can never hold the point's value multiply the worlds all the same.
        distributions.append((made[0], made[1] * n_free))
    table = side_by_side(distributions, scales.of(labels))
    found = winning_weights(table, _MOST_SETS)
    if found is None:
        raise NullproofError(
            f"more than {_MOST_SETS:,} different sets of labels can tie, too many to count; ask label_odds "
            "for bounds"
        )
    return {tuple(labels[place] for place in winners): n for winners, n in found.items()}


def _ways(groups: tuple[Open, ...]) -> Weights:
    """In how many ways 0, 1, 2, … of the open cells take the point's value."""
    ways = np.ones(1, dtype=object)
    for n, share, whole in groups:
        own = [c * share**k * (whole - share) ** (n - k) for k, c in enumerate(_choices(n))]
        ways = np.convolve(ways, np.array(own, dtype=object))
    return ways


def _choices(n: int) -> list[int]:
    """In how many ways 0, 1, 2, … of ``n`` cells can be chosen, each from the one before."""
    found = [1]
    for k in range(n):
        found.append(found[-1] * (n - k) // (k + 1))
    return found
