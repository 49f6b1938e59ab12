"""How likely each label is, by looking at everything that may happen: slow, obvious, ignorant of nullproof.

`worlds_by_chance` walks through every world of a tiny table. `exact_odds` walks, label by label, through
every product of counts that chance can make: no cell belongs to two labels or two columns, so counts are
independent (theory 6). Supports are whole numbers there, so that ties are ties; chances are doubles.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from support import oracle
from support.bias_oracle import Judge
from support.strategies import Case

Wins = dict[frozenset[Any], Fraction]


# World by world -----------------------------------------------------------------------------------


def chances(case: Case, i: int, j: int, cells: str) -> list[tuple[Hashable, int]]:
    """How likely each candidate of one training cell is, up to a factor."""
    options = oracle.candidates(case.rows[i][j], case.domains[j])
    if len(options) == 1 or cells == "uniform":
        return [(value, 1) for value in options]
    known = [
        oracle.candidates(row[j], case.domains[j])[0]
        for row, label in zip(case.rows, case.labels, strict=True)
        if label == case.labels[i] and len(oracle.candidates(row[j], case.domains[j])) == 1
    ]
    weights = [known.count(value) for value in options]
    return list(zip(options, weights if sum(weights) else [1] * len(options), strict=True))


def worlds_by_chance(case: Case, cells: str) -> list[tuple[list[tuple[Hashable, ...]], int]]:
    """Every world with its probability, up to a factor."""
    d = len(case.features)
    shape = [(i, j) for i in range(len(case.rows)) for j in range(d)]
    found = []
    for world in itertools.product(*(chances(case, i, j, cells) for i, j in shape)):
        values, weights = zip(*world, strict=True)
        rows = [values[start : start + d] for start in range(0, len(values), d)]
        found.append((rows, math.prod(weights)))
    return found


def wins_of(case: Case, point: Sequence[Any], every: Any) -> Wins:
    """The probability of each set of winners of a complete point, by looking at every world."""
    names = oracle.distinct(case.labels)
    weights: Counter[oracle.Counts] = Counter()
    for world, weight in every:
        weights[oracle.count(world, case.labels, names, point)] += weight
    share, total = oracle.shares(case.labels, names, case.prior), weights.total()
    wins: Wins = {}
    for counts, weight in weights.items():
        values = {
            label: oracle.support(
                share[label], own, case.labels.count(label), case.domains, case.alpha, case.weights
            )
            for label, own in zip(names, counts, strict=True)
        }
        winners = oracle.winners(values)
        wins[winners] = wins.get(winners, 0) + Fraction(weight, total)
    return wins


def shared_out(wins: Wins, labels: Sequence[Any]) -> list[Fraction]:
    """The odds of each label: ties are shared out equally."""
    return [
        sum((p / len(who) for who, p in wins.items() if label in who), Fraction(0))
        for label in labels
    ]


# Count by count -----------------------------------------------------------------------------------


def binomial(n_cells: int, chance: Fraction) -> NDArray[np.float64]:
    """How likely 0, 1, …, ``n_cells`` of the cells hold a value."""
    above, below = chance.numerator, chance.denominator
    whole = below**n_cells
    return np.array(
        [
            math.comb(n_cells, k) * above**k * (below - above) ** (n_cells - k) / whole
            for k in range(n_cells + 1)
        ]
    )


def open_cells(
    judge: Judge, label: Any, j: int, value: Any, cells: str
) -> Iterator[tuple[int, Fraction]]:
    """Yield the number of cells of each group that may hold a value, and how likely each does."""
    for (own, feature, options), (n_cells, _) in judge.groups.items():
        if (own, feature) == (label, j) and value in options:
            known = {option: judge.known[label, j, option] for option in options}
            total = sum(known.values())
            is_even = cells == "uniform" or not total
            yield n_cells, Fraction(1, len(options)) if is_even else Fraction(known[value], total)


def count_chances(judge: Judge, label: Any, j: int, value: Any, cells: str) -> tuple[int, Any]:
    """The least number of a label's rows that hold a value, and how likely each from there on is."""
    probs = np.ones(1)
    for n_cells, chance in open_cells(judge, label, j, value, cells):
        probs = np.convolve(probs, binomial(n_cells, chance))
    return judge.known[label, j, value], probs


def exact_odds(judge: Judge, point: Sequence[Any], cells: str = "uniform") -> list[float]:
    """The odds of each label for a point, whose missing cells are skipped; ties are shared out."""
    kept = [(j, value) for j, value in enumerate(point) if value is not None]
    over, under = judge.alpha.numerator, judge.alpha.denominator
    power, *exponents = judge.exponents
    factors = []
    for label in judge.names:
        sizes = [
            (judge.n_rows[label] * under + over * len(judge.domains[j])) ** exponents[j]
            for j, _ in kept
        ]
        # Without rows and smoothing there is no support, whatever the columns weigh.
        has_rows = judge.n_rows[label] or over
        factors.append(judge.share[label] ** power / math.prod(sizes) if has_rows else Fraction(0))
    common = math.lcm(*(factor.denominator for factor in factors))
    supports: list[list[int]] = []
    weights: list[NDArray[np.float64]] = []
    for label, factor in zip(judge.names, factors, strict=True):
        products: dict[int, float] = {int(factor * common): 1.0}
        for j, value in kept:
            low, probs = count_chances(judge, label, j, value, cells)
            terms = [
                (((low + k) * under + over) ** exponents[j], p)
                for k, p in enumerate(probs.tolist())
                if p
            ]
            wider: dict[int, float] = {}
            for product, weight in products.items():
                for term, p in terms:
                    wider[product * term] = wider.get(product * term, 0.0) + weight * p
            products = wider
        ordered = sorted(products)
        supports.append(ordered)
        weights.append(np.array([products[one] for one in ordered]))
    return [_odds(supports, weights, i) for i in range(len(supports))]


def _odds(supports: list[list[int]], weights: list[NDArray[np.float64]], i: int) -> float:
    """Sum up over the supports of one label how likely all others are below, or level with it."""
    # How likely so many others are level, at each support.
    level = np.zeros((len(supports), len(supports[i])))
    level[0] = 1.0
    for k, (own, probs) in enumerate(zip(supports, weights, strict=True)):
        if k != i:
            sums = np.concatenate([[0.0], np.cumsum(probs)])
            first = [bisect_left(own, one) for one in supports[i]]
            last = [bisect_right(own, one) for one in supports[i]]
            below, same = sums[first], sums[last] - sums[first]
            level[1:] = level[1:] * below + level[:-1] * same
            level[0] *= below
    shared = level / np.arange(1, len(supports) + 1)[:, None]
    return float((weights[i] * shared.sum(axis=0)).sum())


def drawn_odds(
    judge: Judge, point: Sequence[Any], rng: np.random.Generator, n: int, cells: str = "uniform"
) -> NDArray[np.float64]:
    """The odds of each label, estimated from ``n`` drawn worlds; for tables without ties."""
    logs = np.empty((len(judge.names), n))
    alpha = float(judge.alpha)
    power, *exponents = judge.exponents
    for i, label in enumerate(judge.names):
        logs[i] = math.log(judge.share[label])
        for j, value in enumerate(point):
            counts = np.full(n, float(judge.known[label, j, value]))
            for n_cells, chance in open_cells(judge, label, j, value, cells):
                counts += rng.binomial(n_cells, float(chance), n)
            size = judge.n_rows[label] + alpha * len(judge.domains[j])
            with np.errstate(divide="ignore"):
                logs[i] += np.log((counts + alpha) / size) * (exponents[j] / power)
    return np.bincount(logs.argmax(axis=0), minlength=len(judge.names)) / n
