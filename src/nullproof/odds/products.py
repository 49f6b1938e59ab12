"""Exact distributions of supports: every value that a product of counts can take, and its weight.

Where few cells are missing, or all counts are small, products have few distinct values, and ties
between labels have a chance of their own. Values are integers here, so that ties are told exactly;
weights are floats (probabilities) or integers (numbers of worlds).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import LEFT_OUT
from nullproof.model.model import Model

Values = NDArray[Any]
Weights = NDArray[Any]
Floats = NDArray[np.float64]
_INT64_BITS = 63


class Scales:
    """The integers that make supports of different labels comparable.

    With α = p/q, label ``i`` has the support ``∏ (c_ij·q + p)``, times its scale, times one number
    that is the same for all labels asked for together.
    """

    def __init__(self, model: Model) -> None:
        self.p, self.q = model.alpha.as_integer_ratio()
        self._sizes = model.sizes
        self._numerators = [share.numerator for share in model.prior]
        self._denominators = [
            share.denominator * math.prod(sizes)
            for share, sizes in zip(model.prior, model.sizes, strict=True)
        ]
        self._found: dict[tuple[int, ...], list[int]] = {}

    def of(self, labels: tuple[int, ...]) -> list[int]:
        """One integer per label; 0 for a label whose support is 0 whatever its counts are."""
        if labels not in self._found:
            known = [self._denominators[i] for i in labels if self._denominators[i]]
            common = math.lcm(*known)
            scales = [
                self._numerators[i] * (common // self._denominators[i] if d else 0)
                for i in labels
                for d in (self._denominators[i],)
            ]
            shared = math.gcd(*scales) or 1
            self._found[labels] = [scale // shared for scale in scales]
        return self._found[labels]

    def factors(self, i: int, j: int, counts: range) -> list[int]:
        """``c·q + p`` for each count of a label and a feature.

        A feature that is left out has its own size, ``N_i·q + p·|dom_j|``, as its one factor.
        """
        if counts.start == LEFT_OUT:
            return [self._sizes[i][j]]
        return [count * self.q + self.p for count in counts]


def products(
    parts: Sequence[tuple[Sequence[int], Weights]], limit: int
) -> tuple[Values, Weights] | None:
    """All products of one factor of each part, ascending, with the sums of their weights.

    Parameters
    ----------
    parts
        Per part its factors and their weights.
    limit
        Give up, with None, when a step would combine more pairs than this.
    """
    bits = sum(max(factors).bit_length() for factors, _ in parts)
    kind = np.int64 if bits <= _INT64_BITS else object
    values = np.ones(1, dtype=kind)
    weights = np.ones(1, dtype=parts[0][1].dtype if parts else np.float64)
    for factors, own in sorted(parts, key=lambda part: len(part[0])):
        if len(values) * len(factors) > limit:
            return None
        values, weights = _merged(
            np.multiply.outer(values, np.array(factors, dtype=kind)).ravel(),
            np.multiply.outer(weights, own).ravel(),
        )
    return values, weights


def _merged(values: Values, weights: Weights) -> tuple[Values, Weights]:
    order = np.argsort(values, kind="stable")
    values = values[order]
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    return values[starts], np.add.reduceat(weights[order], starts)


def side_by_side(labels: Sequence[tuple[Values, Weights]], scales: Sequence[int]) -> Weights:
    """Weights of every label (rows) at every support that some label can have, ascending."""
    scaled = [
        values.astype(object) * scale for (values, _), scale in zip(labels, scales, strict=True)
    ]
    every, places = np.unique(np.concatenate(scaled), return_inverse=True)
    table = np.zeros((len(labels), len(every)), dtype=labels[0][1].dtype)
    start = 0
    for row, (values, weights) in zip(table, labels, strict=True):
        np.add.at(row, places[start : start + len(values)], weights)
        start += len(values)
    return table


def winning_shares(table: Floats) -> Floats:
    """The probability that each label wins, ties shared out equally among the winners.

    A tie with ``t`` others counts ``1/(t + 1)``, the integral of ``s^t`` over ``s`` from 0 to 1; so
    the share is the integral of a polynomial of degree below the number of labels, for which the
    quadrature is exact (theory 6).
    """
    below = np.cumsum(table, axis=1) - table
    nodes, lengths = np.polynomial.legendre.leggauss(math.ceil(len(table) / 2))
    shares = np.zeros(len(table))
    for node, length in zip((nodes + 1) / 2, lengths / 2, strict=True):
        others = products_of_others(below + node * table)
        shares += length * (table * others).sum(axis=1)
    return shares


def products_of_others(rows: Floats) -> Floats:
    """Per row the product of all other rows."""
    found = np.ones_like(rows)
    for row in range(1, len(rows)):
        np.multiply(found[row - 1], rows[row - 1], out=found[row])
    after = np.ones_like(rows[0])
    for row in range(len(rows) - 2, -1, -1):
        after *= rows[row + 1]
        found[row] *= after
    return found


def winning_weights(table: Weights, limit: int) -> dict[tuple[int, ...], Any] | None:
    """The weight of each set of winners, exact for integers; only those above zero.

    Parameters
    ----------
    limit
        Give up, with None, where more sets than this may share one support.
    """
    found: dict[tuple[int, ...], Any] = {}
    below = np.cumsum(table, axis=1) - table
    for own, less in zip(table.T.tolist(), below.T.tolist(), strict=True):
        both = [*zip(own, less, strict=True)]
        if not all(a or b for a, b in both):
            continue  # Some label always has more.
        if 1 << sum(1 for a, b in both if a and b) > limit:
            return None
        for winners, weight in _outcomes(own, less):
            if winners:
                found[winners] = found.get(winners, 0) + weight
    return found


def _outcomes(own: list[Any], less: list[Any]) -> list[tuple[tuple[int, ...], Any]]:
    """Who has just this support, all others having less."""
    others = math.prod(b for a, b in zip(own, less, strict=True) if not a)
    found: list[tuple[tuple[int, ...], Any]] = [((), others)]
    for i in (i for i, weight in enumerate(own) if weight):
        behind = [(winners, weight * less[i]) for winners, weight in found if less[i]]
        found = [((*winners, i), weight * own[i]) for winners, weight in found] + behind
    return found
