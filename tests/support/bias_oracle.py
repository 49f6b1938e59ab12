"""Brute force over the worlds of a bounded bias: slow, obvious, and ignorant of nullproof.

The definition is section 8 of the theory. The open cells of one label, one feature and one candidate
set are a group. A world has bias at most eps if in every group every candidate is taken by no fewer
and no more cells than its share among the known cells allows, give or take eps, rounded outwards.

There are two ways to go through the worlds. `worlds_of_bias` walks row by row through every complete
table and throws away those of a greater bias. `Judge` walks group by group through all the ways to
share out the cells of a group: the same worlds, those with equal counts taken once. It only uses that
no cell belongs to two labels or two features. Neither knows that the counts fill a box (T9); with a
bias of 1 there is no limit, and both go through all worlds.

``bias`` is one fraction per feature. A ``None`` in a point is left out of every product ("skip") or
stands for the whole domain ("any").
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Self

from support import oracle

OwnMissing = Literal["skip", "any"]
READINGS: tuple[OwnMissing, ...] = ("skip", "any")
Bias = tuple[Fraction, ...]
Group = tuple[Any, int, frozenset[Any]]  # label, feature, candidates


# The definition -----------------------------------------------------------------------------------


def open_groups(
    rows: Sequence[oracle.Row], labels: Sequence[Any], domains: oracle.Domains
) -> dict[Group, list[int]]:
    """List the rows of every group of open cells; a cell with one candidate is not open."""
    found: dict[Group, list[int]] = {}
    for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
        for j, cell in enumerate(row):
            options = frozenset(oracle.candidates(cell, domains[j]))
            if len(options) > 1:
                found.setdefault((label, j, options), []).append(i)
    return found


def known_cells(
    rows: Sequence[oracle.Row], labels: Sequence[Any], domains: oracle.Domains
) -> Counter[tuple[Any, int, Any]]:
    """Count the cells with one candidate by label, feature and value."""
    found: Counter[tuple[Any, int, Any]] = Counter()
    for row, label in zip(rows, labels, strict=True):
        for j, cell in enumerate(row):
            options = oracle.candidates(cell, domains[j])
            if len(options) == 1:
                found[label, j, options[0]] += 1
    return found


def reference(
    known: Counter[tuple[Any, int, Any]], group: Group, alpha: Any
) -> dict[Any, Fraction]:
    """Estimate the share of every candidate of a group from the known cells; uniform without any."""
    label, j, options = group
    weights = {value: known[label, j, value] + Fraction(alpha) for value in options}
    total = sum(weights.values())
    if not total:
        return dict.fromkeys(options, Fraction(1, len(options)))
    return {value: weight / total for value, weight in weights.items()}


@functools.lru_cache(maxsize=200_000)
def limits(n_cells: int, share: Fraction, bias: Fraction) -> tuple[int, int]:
    """Return the fewest and the most of ``n_cells`` that may take a value of this share."""
    fewest = math.floor(n_cells * (share - bias))
    most = math.ceil(n_cells * (share + bias))
    return max(0, fewest), min(n_cells, most)


def has_bias_at_most(
    world: Sequence[oracle.Row],
    rows: Sequence[oracle.Row],
    labels: Sequence[Any],
    domains: oracle.Domains,
    *,
    alpha: Any,
    bias: Bias,
) -> bool:
    """Count the values that a complete table puts into every group and hold them to the limits."""
    known = known_cells(rows, labels, domains)
    for group, places in open_groups(rows, labels, domains).items():
        _, j, _ = group
        taken = Counter(world[i][j] for i in places)
        for value, share in reference(known, group, alpha).items():
            fewest, most = limits(len(places), share, bias[j])
            if not fewest <= taken[value] <= most:
                return False
    return True


def worlds_of_bias(
    rows: Sequence[oracle.Row],
    labels: Sequence[Any],
    domains: oracle.Domains,
    *,
    alpha: Any,
    bias: Bias,
) -> Iterator[tuple[tuple[Any, ...], ...]]:
    """Yield every complete table of at most this bias, row by row."""
    for world in oracle.worlds(rows, domains):
        if has_bias_at_most(world, rows, labels, domains, alpha=alpha, bias=bias):
            yield world


def shortened(
    point: oracle.Row, domains: oracle.Domains, own_missing: OwnMissing
) -> tuple[tuple[int, ...], list[tuple[Any, ...]]]:
    """Return the features that count for a point, and its completions over these."""
    kept = tuple(j for j, cell in enumerate(point) if own_missing == "any" or cell is not None)
    cells = [oracle.candidates(point[j], domains[j]) for j in kept]
    return kept, list(itertools.product(*cells))


# Group by group -----------------------------------------------------------------------------------


def compositions(n_cells: int, allowed: Sequence[tuple[int, int]]) -> Iterator[tuple[int, ...]]:
    """Yield every way to share out ``n_cells`` with each part inside its limits."""
    if not allowed:
        if n_cells == 0:
            yield ()
        return
    (fewest, most), *rest = allowed
    for taken in range(fewest, min(most, n_cells) + 1):
        for others in compositions(n_cells - taken, rest):
            yield (taken, *others)


@functools.lru_cache(maxsize=200_000)
def shared_out(
    n_cells: int, shares: tuple[Fraction, ...], bias: Fraction
) -> tuple[frozenset[int], ...]:
    """Return per candidate the numbers of cells that it takes in some world of the bias."""
    allowed = [limits(n_cells, share, bias) for share in shares]
    ways = list(compositions(n_cells, allowed))
    return tuple(frozenset(way[place] for way in ways) for place in range(len(shares)))


@dataclass(frozen=True)
class Verdict:
    """The label that wins every world of the bias alone (or None), and the undominated labels."""

    label: Any
    possible: frozenset[Any]


class Judge:
    """One table under trial, told by the counts of its known cells and of its groups.

    Parameters
    ----------
    n_rows
        The rows of every label, those without rows too.
    known
        The known cells by label, feature and value.
    n_open
        The number of cells of every group of open cells.
    """

    def __init__(
        self,
        n_rows: Mapping[Any, int],
        known: Counter[tuple[Any, int, Any]],
        n_open: Mapping[Group, int],
        domains: oracle.Domains,
        *,
        alpha: Any = 0,
        prior: oracle.Prior = None,
        weights: Sequence[int] | None = None,
    ) -> None:
        # In eighths: supports are compared by their eighth powers, which are fractions.
        self.exponents = (1, *[1] * len(domains)) if weights is None else (8, *weights)
        self.domains = domains
        self.names = list(n_rows)
        self.n_rows = n_rows
        self.alpha = Fraction(alpha)
        shares: Mapping[Any, Any] = n_rows if prior is None else dict.fromkeys(n_rows, 1)
        shares = prior if isinstance(prior, Mapping) else shares
        total = sum(Fraction(shares[label]) for label in n_rows)
        self.share = {label: Fraction(shares[label]) / total for label in n_rows}
        self.known = known
        self.groups = {
            group: (n_cells, reference(known, group, alpha)) for group, n_cells in n_open.items()
        }
        self._counts: dict[tuple[Any, int, Any, Fraction], frozenset[int]] = {}

    @classmethod
    def of_rows(
        cls,
        rows: Sequence[oracle.Row],
        labels: Sequence[Any],
        domains: oracle.Domains,
        *,
        alpha: Any = 0,
        prior: oracle.Prior = None,
        all_labels: Sequence[Any] | None = None,
        weights: Sequence[int] | None = None,
    ) -> Self:
        """Count a table."""
        names = oracle.distinct(labels) if all_labels is None else all_labels
        groups = open_groups(rows, labels, domains)
        return cls(
            {label: list(labels).count(label) for label in names},
            known_cells(rows, labels, domains),
            {group: len(places) for group, places in groups.items()},
            domains,
            alpha=alpha,
            prior=prior,
            weights=weights,
        )

    def counts(self, label: Any, j: int, value: Any, bias: Fraction) -> frozenset[int]:
        """Return every number of a label's rows that hold ``value`` in some world of the bias."""
        key = label, j, value, bias
        if key not in self._counts:
            totals = {self.known[label, j, value]}
            for (own, feature, options), (n_cells, shares) in self.groups.items():
                if (own, feature) == (label, j) and value in options:
                    place = list(shares).index(value)
                    taken = shared_out(n_cells, tuple(shares.values()), bias)[place]
                    totals = {total + more for total in totals for more in taken}
            self._counts[key] = frozenset(totals)
        return self._counts[key]

    def supports(
        self, label: Any, kept: Sequence[int], point: oracle.Row, bias: Bias
    ) -> list[Fraction]:
        """Return every support that a label has in some world of the bias."""
        n_rows, alpha = self.n_rows[label], self.alpha
        if not n_rows and not alpha:
            return [Fraction(0)]
        # All supports of a label have one denominator: whole numbers are much quicker.
        over, under = alpha.numerator, alpha.denominator
        products, below = {1}, 1
        for j, value in zip(kept, point, strict=True):
            power = self.exponents[1 + j]
            counts = self.counts(label, j, value, bias[j])
            terms = {(count * under + over) ** power for count in counts}
            products = {product * term for product in products for term in terms}
            below *= (n_rows * under + over * len(self.domains[j])) ** power
        share = self.share[label] ** self.exponents[0]
        return [share * Fraction(product, below) for product in products]

    def verdict(self, point: oracle.Row, bias: Bias, own_missing: OwnMissing = "skip") -> Verdict:
        """Go through all worlds of the bias and all completions of the point.

        Labels share no cells: every support of one meets every support of the other in some world.
        """
        kept, points = shortened(point, self.domains, own_missing)
        beaten: set[tuple[Any, Any]] = set(itertools.permutations(self.names, 2))
        for completed in points:
            every = {label: self.supports(label, kept, completed, bias) for label in self.names}
            least = {label: min(values) for label, values in every.items()}
            most = {label: max(values) for label, values in every.items()}
            beaten = {(one, other) for one, other in beaten if least[one] > most[other]}
        losers = {other for _, other in beaten}
        possible = frozenset(label for label in self.names if label not in losers)
        for one in self.names:
            if all((one, other) in beaten for other in self.names if other != one):
                return Verdict(one, possible)
        return Verdict(None, possible)

    def breakpoints(self, free: Sequence[int] | None = None) -> list[Fraction]:
        """List where the limits of a group in the ``free`` features may jump, with 0 and 1."""
        found = {Fraction(0), Fraction(1)}
        for (_, j, _), (n_cells, shares) in self.groups.items():
            if free is None or j in free:
                for share, taken in itertools.product(shares.values(), range(n_cells + 1)):
                    found.add(abs(share - Fraction(taken, n_cells)))
        return sorted(found)

    def tolerance(
        self,
        point: oracle.Row,
        own_missing: OwnMissing = "skip",
        fixed: dict[int, Fraction] | None = None,
    ) -> Fraction | None:
        """Return the largest bias (of the features not ``fixed``) at which one label always wins.

        Between two breakpoints nothing changes and a limit jumps just above one, so the largest is
        a breakpoint. Worlds only become more as the bias grows, so halving finds it. None if there
        is no such bias.
        """
        fixed = fixed or {}
        free = [j for j in range(len(self.domains)) if j not in fixed]

        def holds(bias: Fraction) -> bool:
            every = tuple(fixed.get(j, bias) for j in range(len(self.domains)))
            return self.verdict(point, every, own_missing).label is not None

        steps = self.breakpoints(free)
        if not holds(steps[0]):
            return None
        if holds(steps[-1]):
            return steps[-1]
        first, last = 0, len(steps) - 1  # holds at the first, not at the last
        while last - first > 1:
            middle = (first + last) // 2
            first, last = (middle, last) if holds(steps[middle]) else (first, middle)
        return steps[first]


def double_below(number: Fraction) -> float:
    """Return the largest double that is not above a number."""
    near = float(number)
    return near if Fraction(near) <= number else math.nextafter(near, -math.inf)


class BoxJudge(Judge):
    """A judge who believes T9, that the counts fill a box: quick enough for millions of cells.

    The two judges are held against each other on small tables.
    """

    def counts(self, label: Any, j: int, value: Any, bias: Fraction) -> frozenset[int]:
        """Return the fewest and the most rows of a label that hold a value."""
        low = high = self.known[label, j, value]
        for (own, feature, options), (n_cells, shares) in self.groups.items():
            if (own, feature) == (label, j) and value in options:
                fewest, most = limits(n_cells, shares[value], bias)
                low, high = low + fewest, high + most
        return frozenset({low, high})

    def supports(
        self, label: Any, kept: Sequence[int], point: oracle.Row, bias: Bias
    ) -> list[Fraction]:
        """Return the supports at the two corners of the box."""
        boxes = [
            self.counts(label, j, value, bias[j]) for j, value in zip(kept, point, strict=True)
        ]
        low, high = [min(box) for box in boxes], [max(box) for box in boxes]
        n_rows, domains = self.n_rows[label], [self.domains[j] for j in kept]
        weights = None if self.exponents[0] == 1 else [self.exponents[1 + j] for j in kept]
        return [
            oracle.support(self.share[label], counts, n_rows, domains, self.alpha, weights)
            for counts in (low, high)
        ]

    def holds(self, point: oracle.Row, bias: Any) -> bool:
        """Tell whether one label wins every world of the bias, the same for all features."""
        return self.verdict(point, (Fraction(bias),) * len(self.domains)).label is not None
