"""The truth about bins: edges without any rounding, by the definitions of ``docs/values.md`` and theory 11.

It imports nothing of nullproof. Every cut of every piece is tried, and entropies are sums over shares.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

from support.plain_counter import USUAL, Column, Rules, are_moments, moment_text, places

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
    column: Column, labels: Sequence[str], bins: int, binning: str, rules: Rules = USUAL
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


# How bins are written ------------------------------------------------------------------------------


def bin_texts(column: Column, edges: Sequence[float], rules: Rules = USUAL) -> dict[int, str]:
    """The text of every bin that the column shows, as the page says."""
    known = [x for x in places(column, rules) or () if x is not None]
    held: dict[int, list[float]] = {}
    for x in known:
        held.setdefault(sum(edge <= x for edge in edges[1:-1]), []).append(x)
    ends = list(edges) if math.isfinite(edges[0]) else [min(known), max(known)]
    moments = are_moments(column, rules)
    extremes = [f(numbers) for numbers in held.values() for f in (min, max)]
    whole = not moments and all(float(x).is_integer() and abs(x) <= 2**53 for x in extremes)
    texts = _moment_ends(ends) if moments else [] if whole else _number_ends(ends, known)
    found = {}
    for b, numbers in held.items():
        low, high = min(numbers), max(numbers)
        if low == high:
            found[b] = moment_text(int(low)) if moments else _plain(low)
        elif whole:
            first = low if b == min(held) else math.ceil(edges[b])
            last = high if b == max(held) else math.ceil(edges[b + 1]) - 1
            found[b] = f"{int(first)}{' to ' if first < 0 else '–'}{int(last)}"
        else:
            found[b] = f"[{texts[b]}, {texts[b + 1]}" + ("]" if b == len(ends) - 2 else ")")
    return found


def _moment_ends(ends: Sequence[float]) -> list[str]:
    whole = [round(end) for end in ends]
    seconds = [moment_text(end - end % 10**6) for end in whole]
    return seconds if len({*seconds}) == len(ends) else [moment_text(end) for end in whole]


def _number_ends(ends: Sequence[float], known: Sequence[float]) -> list[str]:
    """Three to five digits, as few as part the numbers; more where two ends look the same."""
    for most in (5, 17):
        found = []
        for i, end in enumerate(ends):
            tried = [_to_digits(end, digits) for digits in range(3, most + 1)]
            good = [x for x in tried if _parts(x, i, ends, known)]
            found.append([*good, tried[-1]][0])
        if sorted({*found}) == found:
            break
    return [_plain(x) for x in found]


def _parts(x: float, i: int, ends: Sequence[float], known: Sequence[float]) -> bool:
    if i == 0:
        return x <= ends[0]
    if i == len(ends) - 1:
        return x >= ends[-1]
    return all((number < x) == (number < ends[i]) for number in known)


def _to_digits(x: float, digits: int) -> float:
    return x if math.isinf(x) else float(Context(prec=digits).plus(Decimal(x)))


def _plain(x: float) -> str:
    number = float(x) + 0.0
    return str(int(number)) if number.is_integer() and abs(number) <= 2**53 else repr(number)
