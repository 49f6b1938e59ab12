"""Brute force over attacks on one or many points: slow, obvious, and ignorant of nullproof.

A point is seen through one `View` per label: its counts, and how many cells can be blanked. Radii come
from all numbers of blanked cells of each feature, from all complete tables (cells that hold wrong
values), or from all multisets of added rows. ``within`` names the cells that can be blanked or
falsified, as pairs of a row and a feature; by default all of them. A missing cell of a point leaves
its feature out. With weights in eighths all supports are eighth powers.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from support import oracle
from support.strategies import Case

Within = Collection[tuple[int, int]] | None
AddedRow = tuple[Any, tuple[Hashable, ...]]


class View(NamedTuple):
    """One label as a point sees it: what no cell changes, counts, and cells that move them."""

    weight: Fraction
    low: tuple[int, ...]
    high: tuple[int, ...]
    n_lower: tuple[int, ...]
    n_raise: tuple[int, ...]
    powers: tuple[int, ...] = ()


Views = Mapping[Any, View]
Steps = Callable[[Sequence[int], Sequence[int], int, Fraction, Sequence[int]], list[Fraction]]


# Cells to blank -----------------------------------------------------------------------------------


def fewest_cells(case: Case, point: Sequence[Any], within: Within = None) -> float:
    """Return the fewest cells to blank until a point is open; 0 if it is, infinite if none do."""
    return radius_of(views(case, point, within), Fraction(case.alpha))[1]


def views(case: Case, point: Sequence[Any], within: Within = None) -> dict[Any, View]:
    """Look at every label of a table with the eyes of a point without candidates."""
    names, alpha = oracle.distinct(case.labels), Fraction(case.alpha)
    share = oracle.shares(case.labels, names, case.prior)
    known = [j for j, cell in enumerate(point) if cell is not None]
    found = {}
    for name in names:
        rows = [i for i, label in enumerate(case.labels) if label == name]
        counts = []
        for j in known:
            value, domain = point[j], case.domains[j]
            cells = [(i, oracle.candidates(case.rows[i][j], domain)) for i in rows]
            free = {i for i in rows if within is None or (i, j) in within}
            is_movable = value in domain and len(domain) > 1
            counts.append(
                (
                    sum(cell == (value,) for _, cell in cells),
                    sum(value in cell for _, cell in cells),
                    sum(cell == (value,) and i in free for i, cell in cells) * is_movable,
                    sum(value not in cell and i in free for i, cell in cells) * is_movable,
                )
            )
        powers = [1 if case.weights is None else case.weights[j] for j in known]
        totals = [len(rows) + alpha * len(case.domains[j]) for j in known]
        below = math.prod(total**k for total, k in zip(totals, powers, strict=True))
        own_share = share[name] if case.weights is None else share[name] ** 8
        weight = own_share / below if all(totals) else Fraction(0)
        columns: Any = zip(*counts, strict=True) if counts else ((),) * 4
        low, high, n_lower, n_raise = columns
        found[name] = View(weight, low, high, n_lower, n_raise, tuple(powers))
    return found


def every_choice(
    counts: Sequence[int], rooms: Sequence[int], step: int, alpha: Fraction, powers: Sequence[int]
) -> list[Fraction]:
    """List the extreme products of smoothed counts after 0, 1, 2, … cells, over all choices."""
    better, found = min if step < 0 else max, {0: Fraction(1)}
    for count, room, power in zip(counts, rooms, powers or [1] * len(counts), strict=True):
        wider: dict[int, Fraction] = {}
        for used, product in found.items():
            for n_cells in range(room + 1):
                value = product * (count + step * n_cells + alpha) ** power
                wider[used + n_cells] = better(wider.get(used + n_cells, value), value)
        found = wider
    return [found[n_cells] for n_cells in range(len(found))]


def smallest_first(
    counts: Sequence[int], rooms: Sequence[int], step: int, alpha: Fraction, _: Sequence[int] = ()
) -> list[Fraction]:
    """List the same where all or none of a count's cells can be blanked: T5, for large counts."""
    now, ends = [*counts], [c + step * room for c, room in zip(counts, rooms, strict=True)]
    found = [math.prod((c + alpha for c in now), start=Fraction(1))]
    while left := [j for j, end in enumerate(ends) if now[j] != end]:
        j = min(left, key=now.__getitem__)
        before, now[j] = now[j] + alpha, now[j] + step
        if before:
            found.append(found[-1] * ((now[j] + alpha) / before))
        else:
            found.append(math.prod((c + alpha for c in now), start=Fraction(1)))
    return found


def radius_of(labels: Views, alpha: Fraction, steps: Steps = every_choice) -> tuple[Any, float]:
    """Return the certain label (or None) and the fewest cells that a rival needs to catch up."""
    if len(labels) == 1:
        return next(iter(labels)), math.inf
    falls = {k: steps(v.low, v.n_lower, -1, alpha, v.powers) for k, v in labels.items()}
    climbs = {k: steps(v.high, v.n_raise, +1, alpha, v.powers) for k, v in labels.items()}
    for name, own in labels.items():
        best = math.inf
        for rival, other in labels.items():
            if rival != name:
                fallen = [own.weight * product for product in falls[name]]
                climbed = [other.weight * product for product in climbs[rival]]
                best = min(best, cheapest(fallen, climbed))
        if best > 0:
            return name, best
    return None, 0


def cheapest(falling: Sequence[Fraction], climbing: Sequence[Fraction]) -> float:
    """Return the least a + b with falling[b] at most climbing[a], for lists that never turn."""
    best, b = math.inf, len(falling) - 1
    for a, high in enumerate(climbing):
        while b >= 0 and falling[b] <= high:
            best, b = min(best, a + b), b - 1
    return best


# Cells that are wrong -----------------------------------------------------------------------------


class WrongCells:
    """All complete tables of the size of a case, and how many cells of each are changed (T12).

    A cell is changed if it holds none of its candidates. So all subsets of changed cells, all wrong
    values and all worlds of the rest are there.
    """

    def __init__(self, case: Case, within: Within = None) -> None:
        self._case, domains = case, case.domains
        cells = [(i, j) for i in range(len(case.rows)) for j in range(len(domains))]
        options = [oracle.candidates(case.rows[i][j], domains[j]) for i, j in cells]
        fixed = [within is not None and cell not in within for cell in cells]
        self._tables = []
        for table in itertools.product(*(domains[j] for _, j in cells)):
            changed = [v not in own for v, own in zip(table, options, strict=True)]
            if not any(a and b for a, b in zip(changed, fixed, strict=True)):
                self._tables.append((sum(changed), table))
        self._tables.sort(key=lambda own: own[0])

    def radius(self, point: Sequence[Any]) -> float:
        """Return the fewest wrong cells that take the label of a complete point; 0: it has none."""
        case, width = self._case, len(self._case.domains)
        winner_of = functools.cache(functools.partial(self._winner, point))
        label = None
        for n_changed, table in self._tables:
            agrees = [
                (case.labels[k // width], k % width)
                for k, value in enumerate(table)
                if value == point[k % width]
            ]
            winner = winner_of(frozenset(Counter(agrees).items()))
            if n_changed == 0:
                if winner is None or label not in (None, winner):
                    return 0
                label = winner
            elif winner != label:
                return n_changed
        return math.inf

    def _winner(self, point: Sequence[Any], agreeing: frozenset[Any]) -> Any:
        case, counts = self._case, dict(agreeing)
        names = oracle.distinct(case.labels)
        share = oracle.shares(case.labels, names, case.prior)
        own = {name: [counts.get((name, j), 0) for j in range(len(point))] for name in names}
        supports = {
            name: oracle.support(
                share[name],
                own[name],
                case.labels.count(name),
                case.domains,
                case.alpha,
                case.weights,
            )
            for name in names
        }
        winners = oracle.winners(supports)
        return next(iter(winners)) if len(winners) == 1 else None


def n_tables(case: Case) -> int:
    """Count the complete tables of the size of a case."""
    return int(math.prod(map(len, case.domains)) ** len(case.rows))


def without_missing(case: Case, point: Sequence[Any]) -> tuple[Case, tuple[Any, ...]]:
    """Leave out the columns that a point does not know; the domains stay what they are."""
    known = [j for j, cell in enumerate(point) if cell is not None]
    shorter = tuple(point[j] for j in known)
    features = tuple(case.features[j] for j in known)
    declared = {case.features[j]: case.domains[j] for j in known}
    rows = tuple(tuple(row[j] for j in known) for row in case.rows)
    weights = None if case.weights is None else tuple(case.weights[j] for j in known)
    return replace(
        case, rows=rows, features=features, declared=declared, points=(shorter,), weights=weights
    ), shorter


# Rows to add --------------------------------------------------------------------------------------


def fewest_rows(case: Case, point: Sequence[Any], most: int) -> float:
    """Return the fewest rows to add until the label is lost; infinite if over ``most``."""
    judge = RowJudge(*without_missing(case, point))
    label = judge.label(())
    if label is None:
        return 0
    for n_rows in range(1, most + 1):
        if any(judge.label(added) != label for added in judge.multisets(n_rows)):
            return n_rows
    return math.inf


def n_multisets(case: Case, n_rows: int) -> int:
    """Count the ways to add so many rows with labels and values of the table."""
    n_kinds = len(set(case.labels)) * math.prod(map(len, case.domains))
    return math.comb(n_kinds + n_rows - 1, n_rows)


class RowJudge:
    """Tells which label is certain for one complete point once rows are added."""

    def __init__(self, case: Case, point: Sequence[Hashable]) -> None:
        self._case, self._point = case, point
        self._names = oracle.distinct(case.labels)
        self._views = views(case, point)
        self._decide = functools.cache(self._decided)

    def multisets(self, n_rows: int) -> Iterator[tuple[AddedRow, ...]]:
        """List all ways to add so many rows, in no order."""
        kinds = itertools.product(self._names, itertools.product(*self._case.domains))
        return itertools.combinations_with_replacement(list(kinds), n_rows)

    def label(self, added: Sequence[AddedRow]) -> Any:
        """Return the label whose least support exceeds all others' greatest; or None."""
        agreeing = [
            (name, tuple(cell == value for cell, value in zip(row, self._point, strict=True)))
            for name, row in added
        ]
        return self._decide(frozenset(Counter(agreeing).items()))

    def _decided(self, added: frozenset[tuple[tuple[Any, tuple[bool, ...]], int]]) -> Any:
        case = self._case
        labels = [*case.labels, *(name for (name, _), n in added for _ in range(n))]
        share = oracle.shares(labels, self._names, case.prior)
        bounds = {}
        for name in self._names:
            more = [
                sum(n for (own, agrees), n in added if own == name and agrees[j])
                for j in range(len(self._point))
            ]
            bounds[name] = [
                oracle.support(
                    share[name],
                    [a + b for a, b in zip(counts, more, strict=True)],
                    labels.count(name),
                    case.domains,
                    case.alpha,
                    case.weights,
                )
                for counts in (self._views[name].low, self._views[name].high)
            ]
        for name in self._names:
            if all(bounds[name][0] > bounds[k][1] for k in self._names if k != name):
                return name
        return None


# Many points at once ------------------------------------------------------------------------------


def fewest_jointly(case: Case, within: Within = None, limit: int = 200_000) -> float | None:
    """Return the fewest cells to blank until no point is certain; None if that takes too long.

    Cells of one label and feature with the same candidates do the same, so all numbers of blanked
    cells of each kind are tried. Infinite if not even all cells do.
    """
    kinds = Counter(
        (label, j, frozenset(oracle.candidates(cell, case.domains[j])))
        for i, (row, label) in enumerate(zip(case.rows, case.labels, strict=True))
        for j, cell in enumerate(row)
        if within is None or (i, j) in within
    )
    kinds = Counter({k: n for k, n in kinds.items() if k[2] != {*case.domains[k[1]]}})
    if math.prod(n + 1 for n in kinds.values()) > limit:
        return None
    grid = np.indices([n + 1 for n in kinds.values()] or [1]).reshape(max(len(kinds), 1), -1)
    blanked = dict(zip(kinds, grid, strict=False))
    done = np.ones(grid.shape[1], dtype=bool)
    for point in case.points:
        done &= ~_certain_after(case, point, blanked, grid.shape[1])
    return float(grid.sum(axis=0)[done].min(initial=10**9)) if done.any() else math.inf


def _certain_after(
    case: Case, point: Sequence[Any], blanked: Mapping[Any, NDArray[np.int64]], size: int
) -> NDArray[np.bool_]:
    """Tell for each way to blank cells whether one label still wins whatever they hold."""
    own, alpha = views(case, point), Fraction(case.alpha)
    known = [j for j, cell in enumerate(point) if cell is not None]
    unit = math.lcm(*(view.weight.denominator for view in own.values()))
    p, q = alpha.as_integer_ratio()
    most = max(view.weight for view in own.values()) * unit
    most *= (q * len(case.rows) + p) ** sum(next(iter(own.values())).powers)
    # Python's whole numbers where those of NumPy would overflow.
    kind: Any = np.int64 if most < 2**62 else object
    bounds = {}
    for name, view in own.items():
        sides = [np.full(size, int(view.weight * unit), dtype=kind) for _ in range(2)]
        for place, j in enumerate(known):
            low, high = (np.full(size, c[place], dtype=kind) for c in (view.low, view.high))
            for (label, feature, options), n_cells in blanked.items():
                if (label, feature) == (name, j) and point[j] in case.domains[j]:
                    low = low - n_cells * (options == {point[j]})
                    high = high + n_cells * (point[j] not in options)
            power = view.powers[place]
            sides = [sides[0] * (q * low + p) ** power, sides[1] * (q * high + p) ** power]
        bounds[name] = sides
    certain = np.zeros(size, dtype=bool)
    for name in own:
        ahead = [bounds[name][0] > bounds[rival][1] for rival in own if rival != name]
        certain |= np.all(np.array(ahead, dtype=bool).reshape(-1, size), axis=0)
    return certain


# Large counts -------------------------------------------------------------------------------------


class LargeTable(NamedTuple):
    """A table of codes (-1: missing) that counts ``times`` over, so that counts get large."""

    codes: NDArray[np.int64]
    labels: NDArray[np.int64]
    n_values: tuple[int, ...]
    times: int = 1

    def views(self, point: Sequence[int | None], alpha: Fraction, prior: Any = None) -> Views:
        """Look at every label with the eyes of a point."""
        known = [j for j, cell in enumerate(point) if cell is not None]
        found = {}
        for place, name in enumerate(np.unique(self.labels).tolist()):
            rows = self.codes[self.labels == name]
            n_rows = len(rows) * self.times
            low = [int((rows[:, j] == point[j]).sum()) * self.times for j in known]
            free = [int((rows[:, j] < 0).sum()) * self.times for j in known]
            inside = [point[j] in range(self.n_values[j]) for j in known]
            high = [a + b * c for a, b, c in zip(low, free, inside, strict=True)]
            # A missing cell in a column of one value is as good as known.
            alone = [self.n_values[j] == 1 for j in known]
            low = [b if one else a for a, b, one in zip(low, high, alone, strict=True)]
            moves = [a and not b for a, b in zip(inside, alone, strict=True)]
            share = Fraction(n_rows) if prior is None else Fraction(prior[place])
            below = math.prod(n_rows + alpha * self.n_values[j] for j in known)
            found[name] = View(
                share / below if below else Fraction(0),
                tuple(low),
                tuple(high),
                tuple(c * m for c, m in zip(low, moves, strict=True)),
                tuple((n_rows - c) * m for c, m in zip(high, moves, strict=True)),
            )
        return found

    def fewest_rows(
        self, point: Sequence[int | None], alpha: Fraction, prior: Any, most: int
    ) -> float:
        """Return the fewest rows to add (T13): all numbers of agreeing and disagreeing rows."""
        own = self.views(point, alpha, prior)
        label, size = radius_of(own, alpha, smallest_first)
        if size == 0 or len(own) == 1:
            return size
        names = [*own]
        sizes = {n: int((self.labels == n).sum()) * self.times for n in names}
        domains = [self.n_values[j] for j, cell in enumerate(point) if cell is not None]
        values = [cell for cell in point if cell is not None]

        def support(name: int, n_added: int, *, agrees: bool) -> Fraction:
            n_rows = sizes[name] + n_added
            found = Fraction(n_rows) if prior is None else Fraction(prior[names.index(name)])
            counts = own[name].high if agrees else own[name].low
            for count, value, n in zip(counts, values, domains, strict=True):
                inside = value in range(n) and (agrees or n == 1)
                below = n_rows + alpha * n
                found *= (count + n_added * inside + alpha) / below if below else 0
            return found

        lowered = [support(label, b, agrees=False) for b in range(most + 1)]
        best = math.inf
        for rival in (name for name in names if name != label):
            raised = [support(rival, a, agrees=True) for a in range(most + 1)]
            most_raised = [*itertools.accumulate(raised, max)]
            least = [*itertools.accumulate(lowered, min)]
            best = min(best, cheapest(least, most_raised))
        return best if best <= most else math.inf
