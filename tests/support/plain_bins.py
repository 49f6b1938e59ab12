"""The truth about bins: edges without any rounding, by the definitions of ``docs/values.md`` and theory 11.

It imports nothing of nullproof. Every cut of every piece is tried, and entropies are sums over shares.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from support.plain_counter import USUAL, Column, Rules, places

Pair = tuple[Fraction, Fraction]
# Between them a comparison is too close for a sum of logarithms to decide.
_TIE, _CLEAR = 1e-10, 1e-7


class TooCloseError(Exception):
    """Two cuts are almost equally good, or a cut almost pays: doubles cannot tell."""


@dataclass(frozen=True)
class TrueEdges:
    """Edges without any rounding, none for one bin, and neighbours that one edge has to part."""

    exact: list[Fraction]
    parted: list[Pair]

    def fit(self, found: Sequence[float]) -> bool:
        """Whether rounded edges are these, up to a few units in the last place."""
        if not self.exact:
            return tuple(found) == (-math.inf, math.inf)
        if not all(map(math.isfinite, found)):
            return False
        inner = found[1:-1]
        if not all(sum(a < edge <= b for edge in inner) == 1 for a, b in self.parted):
            return False
        exact = self.exact
        scale = max(abs(exact[0]), abs(exact[-1]), exact[-1] - exact[0])
        slack = 8 * Fraction(math.ulp(float(min(scale, Fraction(1.7e308)))))
        near = [[abs(Fraction(a) - b) <= slack for b in exact] for a in found]
        return all(map(any, near)) and all(map(any, zip(*near, strict=True)))


def true_edges(
    column: Column,
    labels: Sequence[str],
    bins: int,
    binning: str,
    rules: Rules = USUAL,
) -> TrueEdges:
    """The edges of a column; none if the finite cells show fewer than two numbers."""
    cells = zip(places(column, rules) or (), labels, strict=True)
    known = [(Fraction(x), label) for x, label in cells if x is not None and math.isfinite(x)]
    ordered = sorted(x for x, _ in known)
    if not ordered or ordered[0] == ordered[-1]:
        return TrueEdges([], [])
    if binning == "mdl":
        return _edges_between(ordered, true_cuts(known))
    if binning == "uniform":
        width = (ordered[-1] - ordered[0]) / bins
        return TrueEdges([ordered[0] + i * width for i in range(bins + 1)], [])
    numbers = sorted({*ordered})
    if len(numbers) <= bins:
        return _edges_between(ordered, [pair for pair in pairwise(numbers) if _can_part(*pair)])
    quantiles = {_quantile(ordered, Fraction(i, bins)) for i in range(bins + 1)}
    return TrueEdges(sorted(quantiles), [])


def _edges_between(ordered: Sequence[Fraction], pairs: list[Pair]) -> TrueEdges:
    if not pairs:
        return TrueEdges([], [])
    return TrueEdges([ordered[0], *((a + b) / 2 for a, b in pairs), ordered[-1]], pairs)


def _quantile(ordered: Sequence[Fraction], share: Fraction) -> Fraction:
    """Between the two rows that stand next to the share, in proportion."""
    place = share * (len(ordered) - 1)
    before = math.floor(place)
    after = min(before + 1, len(ordered) - 1)
    return ordered[before] + (place - before) * (ordered[after] - ordered[before])


# Cuts where the label changes ---------------------------------------------------------------------


def true_cuts(rows: Sequence[tuple[Fraction, Any]]) -> list[Pair]:
    """The neighbours that Fayyad and Irani's rule parts, in order; a row is a number and a label."""
    numbers = sorted({number for number, _ in rows})
    pairs = [pair for pair in pairwise(numbers) if _can_part(*pair)]
    if not pairs:
        return []
    tried = [(_rest(*_sides(rows, pair)), pair) for pair in pairs]
    least = min(rest for rest, _ in tried)
    if any(_TIE < rest - least < _CLEAR for rest, _ in tried):
        raise TooCloseError
    tied = [pair for rest, pair in tried if rest - least <= _TIE]
    best = min(tied, key=lambda pair: (_off_middle(rows, pair), pair))
    left, right = _sides(rows, best)
    if not _pays(rows, left, right):
        return []
    return [*true_cuts(left), best, *true_cuts(right)]


def _can_part(low: Fraction, high: Fraction) -> bool:
    """Whether there is a double above ``low`` and not above ``high``."""
    number = float(high)
    return (number if number <= high else math.nextafter(number, -math.inf)) > low


Rows = Sequence[tuple[Fraction, Any]]


def _sides(rows: Rows, pair: Pair) -> tuple[Rows, Rows]:
    return [row for row in rows if row[0] <= pair[0]], [row for row in rows if row[0] >= pair[1]]


def _off_middle(rows: Rows, pair: Pair) -> int:
    left, right = _sides(rows, pair)
    return abs(len(left) - len(right))


def _entropy(rows: Rows) -> float:
    shares = [count / len(rows) for count in Counter(label for _, label in rows).values()]
    return math.fsum(share * math.log2(1 / share) for share in shares)


def _rest(left: Rows, right: Rows) -> float:
    """The entropy that is left, in bits a row."""
    n_rows = len(left) + len(right)
    return (len(left) * _entropy(left) + len(right) * _entropy(right)) / n_rows


def _pays(rows: Rows, left: Rows, right: Rows) -> bool:
    n_rows, gain = len(rows), _entropy(rows) - _rest(left, right)
    kinds = [len({label for _, label in part}) for part in (rows, left, right)]
    spread = [k * _entropy(part) for k, part in zip(kinds, (rows, left, right), strict=True)]
    price = math.log2(n_rows - 1) + math.log2(3 ** kinds[0] - 2)
    price = (price - (spread[0] - spread[1] - spread[2])) / n_rows
    if kinds[0] > 1 and abs(gain - price) < _CLEAR:
        raise TooCloseError
    return kinds[0] > 1 and gain > price
