"""Exact supports of small tables: all products of counts as integers, so that ties are ties.

Where few cells are missing, or all counts are small, products have few different values, and ties between
labels have a chance that no grid resolves. Supports are whole numbers here; their weights are floats
(probabilities, for `label_odds`) or whole numbers (worlds, for `count_worlds`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import LEFT_OUT, CountIndex
from nullproof.data.points import OwnMissing
from nullproof.errors import NullproofError
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Prior
from nullproof.model.verdicts import verdicts
from nullproof.odds.bounds import LogSupports, Terms
from nullproof.odds.filling import EPS, Binomial, chances, refuse

# Bounds give up beyond so many pairs of supports and factors; counts of worlds beyond so many.
_MOST_PAIRS, _MOST_SUPPORTS = 400_000, 1_000_000
# The weights of all supports of a label have at most so many bits: a quarter of a gigabyte.
_MOST_BITS = 2**31
# So many sets of labels may tie at one support, and so many cells of a column and label be missing.
_MOST_SETS, _MOST_CELLS = 1 << 20, 20_000
_INT64_BITS = 63
# Whole numbers of any size, or floats.
Weights = NDArray[Any]
# Every support that a label can have, ascending, with its weight.
Supports = tuple[NDArray[Any], Weights]


class Products:
    """Supports of labels as whole numbers: all to the power of the model, times one number."""

    def __init__(self, model: Model, limit: int = _MOST_PAIRS) -> None:
        self._model, self._limit = model, limit
        self._scales: dict[tuple[int, ...], list[int]] = {}

    def scales(self, labels: tuple[int, ...]) -> list[int]:
        """Return what makes the products of some labels comparable; 0 for a label that has no support."""
        if labels not in self._scales:
            model = self._model
            # The prior of a label over the product of its sizes, each with its exponent.
            shares = [
                model.prior[i] ** model.power / Fraction(model.product(model.sizes[i]))
                if all(model.sizes[i])
                else Fraction(0)
                for i in labels
            ]
            common = math.lcm(*(share.denominator for share in shares))
            whole = [share.numerator * (common // share.denominator) for share in shares]
            divisor = math.gcd(*whole) or 1
            self._scales[labels] = [one // divisor for one in whole]
        return self._scales[labels]

    def of(self, i: int, parts: Sequence[tuple[int, Weights]]) -> Supports | None:
        """Return all products of one factor per feature; None if there are too many.

        Parameters
        ----------
        parts
            Per feature the least count, `LEFT_OUT` for a feature that is left out, and the weights of
            this count and of those that follow.
        """
        model = self._model
        p, q = model.alpha.as_integer_ratio()
        constant, several = 1, []
        for j, (first, weights) in enumerate(parts):
            exponent = model.exponents[j]
            counts = range(first, first + len(weights))
            # A feature that is left out has its own size as factor, which cancels out.
            bases = [model.sizes[i][j]] if first == LEFT_OUT else [c * q + p for c in counts]
            factors = [base**exponent for base in bases]
            if len(factors) == 1:
                constant *= factors[0]
            else:
                several.append((factors, weights))
        bits = sum(max(factors).bit_length() for factors, _ in several)
        kind = np.int64 if bits <= _INT64_BITS else object
        weights = math.prod(own[0] for _, own in parts if len(own) == 1)
        values, weights = np.ones(1, dtype=kind), np.array([weights], dtype=parts[0][1].dtype)
        for factors, own in sorted(several, key=lambda part: len(part[0])):
            if len(values) * len(factors) > self._limit:
                return None
            values, weights = _merged(
                np.multiply.outer(values, np.array(factors, dtype=kind)).ravel(),
                np.multiply.outer(weights, own).ravel(),
            )
        return values.astype(object) * constant, weights

    def compared(self, labels: tuple[int, ...], supports: Sequence[Supports]) -> Weights:
        """Return the weight of every label (rows) at every support that some label can have, ascending."""
        scaled = [
            values * scale for (values, _), scale in zip(supports, self.scales(labels), strict=True)
        ]
        every, places = np.unique(np.concatenate(scaled), return_inverse=True)
        table = np.zeros((len(labels), len(every)), dtype=supports[0][1].dtype)
        start = 0
        for row, (values, weights) in zip(table, supports, strict=True):
            np.add.at(row, places[start : start + len(values)], weights)
            start += len(values)
        return table


def _merged(values: NDArray[Any], weights: Weights) -> Supports:
    order = np.argsort(values, kind="stable")
    values = values[order]
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    return values[starts], np.add.reduceat(weights[order], starts)


def exact_bounds(
    terms: Terms,
    products: Products,
    codes: list[int],
    supports: LogSupports,
    near: NDArray[np.intp],
) -> tuple[Floats, Floats] | None:
    """Bound the odds of the near labels of one point by all products of their counts.

    As if the other labels stood no chance; the bounds of these are 0 and 1. None if there are too many
    products. The bounds differ only by roundings and by the tails of binomial numbers.
    """
    labels = tuple(near.tolist())
    found, n_roundings = [], 16
    for i in labels:
        counts = [terms.of(j, code).counts[i] for j, code in enumerate(codes)]
        made = products.of(i, [(count.first, count.probs) for count in counts])
        if made is None:
            return None
        found.append(made)
        n_roundings += sum(len(count.probs) for count in counts) + len(made[0])
    shares = _shares(products.compared(labels, found))
    # Only sums and products of positive numbers: as many roundings as there are terms.
    error = float(supports.error[0]) + 8 * EPS * n_roundings
    lower, upper = np.zeros(terms.model.m), np.ones(terms.model.m)
    lower[near], upper[near] = np.maximum(shares - error, 0.0), np.minimum(shares + error, 1.0)
    return lower, upper


def _shares(table: Floats) -> Floats:
    """Return the probability that each label wins, ties shared out equally among the winners.

    A tie with ``t`` others counts ``1/(t + 1)``, the integral of ``s^t`` over ``s`` from 0 to 1; so the
    share is the integral of a polynomial of degree below the number of labels, for which the quadrature
    is exact (theory 6).
    """
    below = np.cumsum(table, axis=1) - table
    nodes, lengths = np.polynomial.legendre.leggauss(math.ceil(len(table) / 2))
    shares = np.zeros(len(table))
    for node, length in zip((nodes + 1) / 2, lengths / 2, strict=True):
        reached = below + node * table
        before, after = np.ones_like(reached), np.ones_like(reached)
        np.cumprod(reached[:-1], axis=0, out=before[1:])
        np.cumprod(reached[:0:-1], axis=0, out=after[-2::-1])
        shares += length * (table * before * after).sum(axis=1)
    return shares


@dataclass(frozen=True)
class WorldCounts:
    """The worlds of a table, by the labels that win a point in them.

    Parameters
    ----------
    total
        The number of worlds.
    wins
        The number of worlds that each label wins alone.
    ties
        The number of worlds in which exactly these labels tie, by set of two or more labels.
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

    def __repr__(self) -> str:
        digits = int(math.log10(self.total))
        if digits < 100:
            return f"WorldCounts(total={self.total}, wins={self.wins}, ties={self.ties})"
        shares = ", ".join(f"{label}: {float(share):.4g}" for label, share in self.odds.items())
        return f"WorldCounts(about 10^{digits} worlds; shares won: {shares})"


def count_worlds(
    index: CountIndex,
    point: Any,
    *,
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnMissing = "skip",
) -> WorldCounts:
    """Count the worlds in which each label wins a point, as exact integers.

    Use it for small tables or few missing cells: the work grows with the number of different supports of a
    label. `label_odds` with ``cells="uniform"`` bounds the same shares for any table.

    Parameters
    ----------
    point
        One row: every cell has one value or is missing. It is predicted from its known cells; worlds that
        differ only elsewhere are still counted separately.
    alpha, prior
        As for `label_odds`.
    own_missing
        Only ``"skip"``.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> count_worlds(index, ("a", "y"))
    WorldCounts(total=2, wins={'no': 1, 'yes': 1}, ties={})
    """
    model = Model(index, alpha, prior)
    points = model.points(point, own_missing)
    refuse(index, points, "count_worlds")
    if len(points) != 1:
        raise NullproofError(f"count_worlds takes one point but got {len(points)}; give one row")
    j, i = np.unravel_index(index.n_null.argmax(), index.n_null.shape)
    if (n_cells := index.n_null[j, i]) > _MOST_CELLS:
        column = index.features[j]
        raise _beyond(
            f"label {index.labels[i]!r} has {n_cells:,} missing cells in column {column!r}"
        )
    possible = tuple(np.flatnonzero(verdicts(model, points).possible[0]).tolist())
    sizes = index.n_values.tolist()
    n_worlds = [math.prod(map(pow, sizes, cells)) for cells in index.n_null.T.tolist()]
    # A label that is not possible is beaten in every world, however its own cells are filled.
    n_others = math.prod(n for i, n in enumerate(n_worlds) if i not in possible)
    winners = {possible: math.prod(n_worlds[i] for i in possible)}
    if len(possible) > 1:
        winners = _worlds_won(model, points.codes[:, 0].tolist(), possible, n_worlds)
    named = {
        tuple(index.labels[i] for i in places): n * n_others
        for places, n in sorted(winners.items())
    }
    wins = {label: named.get((label,), 0) for label in index.labels}
    ties = {names: n for names, n in named.items() if len(names) > 1}
    return WorldCounts(math.prod(n_worlds), wins, ties)


def _beyond(what: str) -> NullproofError:
    return NullproofError(f"{what}, too many to count worlds exactly; use label_odds for bounds")


def _worlds_won(
    model: Model, codes: Sequence[int], labels: tuple[int, ...], n_worlds: list[int]
) -> dict[tuple[int, ...], int]:
    """Count the ways to fill the cells of some labels, by which of them win."""
    products = Products(model, _MOST_SUPPORTS)
    open_cells = [chances(model.index, "uniform", j, code) for j, code in enumerate(codes)]
    lows = [model.low(j, np.array([code]))[0].tolist() for j, code in enumerate(codes)]
    found = []
    for i in labels:
        n_bits = sum(g[i].n_cells * g[i].whole.bit_length() for g in open_cells)
        n_supports = min(math.prod(g[i].n_cells + 1 for g in open_cells), _MOST_SUPPORTS)
        if n_supports * n_bits > _MOST_BITS:
            raise _beyond(f"label {model.index.labels[i]!r} has very many missing cells")
        parts, n_free = [], n_worlds[i]
        for low, groups in zip(lows, open_cells, strict=True):
            # A feature that is left out still has cells to fill, in ways that change nothing.
            ways = _ways(groups[i]) if low[i] != LEFT_OUT else np.ones(1, dtype=object)
            n_free //= int(ways.sum())
            parts.append((low[i], ways))
        made = products.of(i, parts)
        if made is None:
            label = model.index.labels[i]
            raise _beyond(
                f"label {label!r} can have more than {_MOST_SUPPORTS:,} different supports"
            )
        found.append((made[0], made[1] * n_free))
    winners = _winners(products.compared(labels, found))
    return {tuple(labels[place] for place in places): n for places, n in winners.items()}


def _ways(group: Binomial) -> Weights:
    """Count in how many ways 0, 1, 2, … of some cells take a value, each number from the one before."""
    n_cells, share, whole = group
    ways = [(whole - share) ** n_cells]
    for n in range(n_cells):
        ways.append(ways[-1] * (n_cells - n) * share // ((n + 1) * (whole - share)))
    return np.array(ways, dtype=object)


def _winners(table: Weights) -> dict[tuple[int, ...], int]:
    """Count the worlds of each set of winners; only those that there are."""
    winners: dict[tuple[int, ...], int] = {}
    below = np.cumsum(table, axis=1) - table
    for own, less in zip(table.T.tolist(), below.T.tolist(), strict=True):
        pairs = [*zip(own, less, strict=True)]
        if not all(a or b for a, b in pairs):
            continue  # Some label always has more.
        if 1 << sum(1 for a, b in pairs if a and b) > _MOST_SETS:
            raise _beyond(f"more than {_MOST_SETS:,} different sets of labels can tie")
        for places, n in _outcomes(own, less):
            if places:
                winners[places] = winners.get(places, 0) + n
    return winners


def _outcomes(own: list[int], less: list[int]) -> list[tuple[tuple[int, ...], int]]:
    """Return the labels with exactly this support, all others having less."""
    others = math.prod(b for a, b in zip(own, less, strict=True) if not a)
    outcomes: list[tuple[tuple[int, ...], int]] = [((), others)]
    for i in (i for i, weight in enumerate(own) if weight):
        behind = [(winners, n * less[i]) for winners, n in outcomes if less[i]]
        outcomes = [((*winners, i), n * own[i]) for winners, n in outcomes] + behind
    return outcomes
