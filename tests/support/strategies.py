"""Small random tables for the oracle: one recipe, fed by a seeded generator or by hypothesis.

The recipe asks its source for whole numbers only, the simplest choice always being 0, so that
hypothesis shrinks a failing case to few rows, few labels and few holes. Sizes are tiny on purpose:
few rows and few values make ties likely, and all worlds must fit into the oracle's patience.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

from hypothesis import strategies as st

from support import oracle
from support.bias_oracle import Bias, Judge, has_bias_at_most

T = TypeVar("T")
Integer = Callable[[int], int]  # Integer(n): one of 0, ..., n - 1

ALPHAS: tuple[Any, ...] = (0, 1, Fraction(1, 2), 0.1, Fraction(1, 3), 0.0, 0)
WEIGHTS: tuple[Any, ...] = (1, 2, Fraction(1, 3), 0.1, 7, 10**6, Fraction(1, 99), 1e-2)
POOLS: tuple[tuple[Hashable, ...], ...] = (("a", "b", "c", "d"), (0, 1, 2, 3))
LABEL_POOLS: tuple[tuple[Hashable, ...], ...] = (("no", "yes", "maybe", "never"), (3, 10, 2, 1))
UNSEEN: tuple[Hashable, ...] = ("elsewhere", 99)  # of the same kind as the pools
EMPTY = "Z"  # a label without rows

# The incomplete table of the paper's decision example; u4 to u7 are values of their own.
PAPER_ROWS = (
    ("a", "b"),
    ("c", "b"),
    ("a", "d"),
    ("a", None),
    ("a", "b"),
    ("b", "c"),
    (None, "u4"),
    (None, "u5"),
    ("u6", "u7"),
)
PAPER_LABELS = ("l*",) * 4 + ("l",) * 5


# At and near the limits of what is taken (docs/values.md).
EXTREME_ALPHAS: tuple[Any, ...] = (1e-6, Fraction(1, 10**6), 3e-6, 999_999.5, 1e6, 10**6)
EXTREME_WEIGHTS: tuple[Any, ...] = (0, 1, 1e-9, Fraction(1, 10**9), Fraction(7, 10**9), 0.5)


@dataclass(frozen=True)
class Case:
    """A table, how it is to be read, and the points asked about."""

    rows: tuple[tuple[Any, ...], ...]
    labels: tuple[Any, ...]
    features: tuple[str, ...]
    declared: dict[str, tuple[Hashable, ...]] | None
    points: tuple[tuple[Any, ...], ...]
    alpha: Any
    prior: Any  # None, "uniform" or a mapping from label to number
    weights: tuple[int, ...] | None = None  # in eighths, one per feature
    has_empty_label: bool = False

    @functools.cached_property
    def domains(self) -> list[tuple[Hashable, ...]]:
        """The declared domain of every feature, or the values its column names."""
        seen = oracle.seen_domains(self.rows, len(self.features))
        declared = self.declared or {}
        return [declared.get(name, own) for name, own in zip(self.features, seen, strict=True)]

    @functools.cached_property
    def names(self) -> list[Any]:
        """All labels, those without rows too."""
        return oracle.distinct([*self.labels, *[EMPTY] * self.has_empty_label])

    @property
    def options(self) -> dict[str, Any]:
        """Smoothing and prior as nullproof takes them."""
        return {"alpha": self.alpha, "prior": self.prior_for(sorted(self.names))}

    def judge(self, kind: type[Judge] = Judge) -> Judge:
        """Put the table before the oracle, or before another judge."""
        return kind.of_rows(
            self.rows,
            self.labels,
            self.domains,
            alpha=self.alpha,
            prior=self.prior,
            all_labels=self.names,
            weights=self.weights,
        )

    def is_world(self, world: Sequence[Any], bias: Bias) -> bool:
        """Tell whether a complete table is a world of at most this bias, by counting its rows."""
        return oracle.is_world(world, self.rows, self.domains) and has_bias_at_most(
            world, self.rows, self.labels, self.domains, alpha=self.alpha, bias=bias
        )

    def supports(self, world: Sequence[Any], point: Sequence[Any]) -> oracle.Supports:
        """Compute the supports in one complete table; a None in the point is left out."""
        kept = [j for j, cell in enumerate(point) if cell is not None]
        table = [tuple(row[j] for j in kept) for row in world]
        counts = oracle.count(table, self.labels, self.names, tuple(point[j] for j in kept))
        share = oracle.shares(self.labels, self.names, self.prior)
        domains = [self.domains[j] for j in kept]
        weights = self.weights and [self.weights[j] for j in kept]
        return {
            label: oracle.support(
                share[label], own, self.labels.count(label), domains, self.alpha, weights
            )
            for label, own in zip(self.names, counts, strict=True)
        }

    def moved(self, rng: random.Random) -> Case:
        """Shuffle rows and columns."""
        by_row = rng.sample(range(len(self.rows)), len(self.rows))
        by_feature = rng.sample(range(len(self.features)), len(self.features))
        return replace(
            self,
            rows=tuple(tuple(self.rows[i][j] for j in by_feature) for i in by_row),
            labels=tuple(self.labels[i] for i in by_row),
            features=tuple(self.features[j] for j in by_feature),
            points=tuple(tuple(point[j] for j in by_feature) for point in self.points),
            weights=self.weights and tuple(self.weights[j] for j in by_feature),
        )

    @property
    def given_weights(self) -> Any:
        """The weights as nullproof takes them."""
        return weights_by_name(self.features, self.weights)

    def prior_for(self, labels: Sequence[Any]) -> Any:
        """Return the prior as nullproof takes it: numbers in the order of ``labels``."""
        if isinstance(self.prior, dict):
            return [self.prior[label] for label in labels]
        return self.prior


def random_case(rng: random.Random) -> Case:
    """Draw a case from a seeded generator."""
    return _case(rng.randrange)


def random_weights(rng: random.Random, n_features: int) -> tuple[int, ...]:
    """Draw weights in eighths, from 0 to 2, often round ones."""
    return tuple(
        rng.choice((0, 1, 4, 8, 8, 12, 15, 16, rng.randrange(17))) for _ in range(n_features)
    )


def weights_by_name(features: Sequence[str], weights: Sequence[int] | None) -> Any:
    """Write weights in eighths as nullproof takes them; equal ones by their name."""
    if weights is None:
        return "equal"
    return {name: weight / 8 for name, weight in zip(features, weights, strict=True)}


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a case that hypothesis can shrink."""
    return _case(lambda n: draw(st.integers(0, n - 1)))


def holes(case: Case) -> list[tuple[int, int]]:
    """List the positions of the cells with more than one candidate."""
    domains = case.domains
    return [
        (i, j)
        for i, row in enumerate(case.rows)
        for j, cell in enumerate(row)
        if len(oracle.candidates(cell, domains[j])) > 1
    ]


def with_cell(case: Case, position: tuple[int, int], cell: Any) -> Case:
    """Replace one training cell; the domains stay what they were."""
    i, j = position
    row = (*case.rows[i][:j], cell, *case.rows[i][j + 1 :])
    rows = (*case.rows[:i], row, *case.rows[i + 1 :])
    declared = dict(zip(case.features, case.domains, strict=True))
    return replace(case, rows=rows, declared=declared)


def widened(case: Case, n_extra: int) -> Case:
    """Declare many more values for the first feature, whose holes keep the candidates they had."""
    (name, *_), (domain, *_) = case.features, case.domains
    extra = range(100, 100 + n_extra)
    more = tuple(extra) if isinstance(domain[0], int) else tuple(f"extra {i}" for i in extra)

    def closed(row: tuple[Any, ...]) -> tuple[Any, ...]:
        return (frozenset(domain) if row[0] is None else row[0], *row[1:])

    points = (*map(closed, case.points), (frozenset(more[:2]), *case.points[0][1:]))
    return replace(
        case,
        rows=tuple(map(closed, case.rows)),
        declared={**(case.declared or {}), name: (*domain, *more)},
        points=points,
    )


# Tables made to be hard --------------------------------------------------------------------------


def table(n_rows: int, **counts: Sequence[int]) -> tuple[list[tuple[Any, ...]], list[str]]:
    """Make a complete table where ``counts[label][j]`` rows of a label hold "a" in feature j."""
    rows = [
        tuple("a" if i < count else "b" for count in own)
        for own in counts.values()
        for i in range(n_rows)
    ]
    return rows, [label for label in counts for _ in range(n_rows)]


def padded(counts: Sequence[int], length: int) -> list[int]:
    """Extend with ones, which leave a product as it is."""
    return [*counts, *[1] * (length - len(counts))]


# Neighbours without large prime factors: the product of the first list is one more than that of the
# second, 17451620110781856 and 166055401586083680.
NEIGHBOURS_17 = (
    [7, 11, 13, 13, 17, 43, 61, 61, 79, 79, 79],
    [2, 2, 2, 2, 2, 3, 3, 3, 29, 31, 31, 47, 47, 59, 67, 83],
)
NEIGHBOURS_18 = (
    [7, 7, 17, 17, 17, 17, 17, 17, 17, 17, 17, 17, 41, 41],
    [2, 2, 2, 2, 2, 3, 3, 3, 5, 11, 11, 11, 23, 43, 59, 67, 83, 89],
)
# Enough features for their product to underflow many times over.
N_MANY = 1200
EVEN, ODD = [1, 2] * (N_MANY // 2), [2, 1] * (N_MANY // 2)

HARD_TABLES: dict[str, tuple[int, list[int], list[int], set[str]]] = {
    "many features, clear": (5, [2] * N_MANY, [1] * N_MANY, {"A"}),
    "many features, one count apart": (3, [2, *EVEN[1:]], ODD, {"A"}),
    "many features, tie": (3, EVEN, ODD, {"A", "B"}),
    "17th digit": (90, padded(NEIGHBOURS_17[0], 18), padded(NEIGHBOURS_17[1], 18), {"A"}),
    "18th digit": (90, padded(NEIGHBOURS_18[0], 18), padded(NEIGHBOURS_18[1], 18), {"A"}),
    "18th digit, mirrored": (90, padded(NEIGHBOURS_18[1], 18), padded(NEIGHBOURS_18[0], 18), {"B"}),
    "18th digit of many features": (
        90,
        padded(NEIGHBOURS_18[0], 18) + EVEN[18:],
        padded(NEIGHBOURS_18[1], 18) + ODD[18:],
        {"A"},
    ),
    "tie of the same factors": (9, [1, 2, 5], [1, 5, 2], {"A", "B"}),
    "tie of other factors": (7, [1, 6, 6], [3, 6, 2], {"A", "B"}),
    "all supports zero": (2, [0, 1], [1, 0], {"A", "B"}),
}


# The recipe ---------------------------------------------------------------------------------------


def _case(integer: Integer) -> Case:
    n_features, n_rows = 1 + integer(4), 1 + integer(9)
    names = _pick(integer, LABEL_POOLS)[: _pick(integer, (2, 2, 3, 3, 4, 1))]
    labels = tuple(_pick(integer, names) for _ in range(n_rows))
    columns, domains = [], []
    for _ in range(n_features):
        cells, domain = _column(integer, n_rows)
        columns.append(cells)
        domains.append(domain)
    cap = _pick(integer, (80, 12, 250, 600))
    columns = _capped(integer, columns, [domain or () for domain in domains], cap)
    features = tuple(f"f{j}" for j in range(n_features))
    declared = {name: values for name, values in zip(features, domains, strict=True) if values}
    rows = tuple(zip(*columns, strict=True))
    seen = oracle.seen_domains(rows, n_features)
    known = [declared.get(name, own) for name, own in zip(features, seen, strict=True)]
    points = tuple(_point(integer, known) for _ in range(1 + integer(3)))
    prior = _prior(integer, sorted(set(labels), key=names.index))
    return Case(rows, labels, features, declared or None, points, _pick(integer, ALPHAS), prior)


def _pick(integer: Integer, options: Sequence[T]) -> T:
    return options[integer(len(options))]


def _subset(integer: Integer, values: Sequence[Hashable]) -> frozenset[Hashable]:
    """Draw a non-empty subset; all of ``values`` and a single one are possible too."""
    chosen = [value for value in values if integer(2)]
    return frozenset(chosen or [_pick(integer, values)])


def _column(integer: Integer, n_rows: int) -> tuple[list[Any], tuple[Hashable, ...] | None]:
    """Draw one column and its domain if it is declared."""
    pool = _pick(integer, POOLS)
    used = pool[: _pick(integer, (2, 2, 3, 1))]
    n_holes_in_ten = _pick(integer, (2, 4, 7))
    cells: list[Any] = []
    for _ in range(n_rows):
        if integer(10) < 10 - n_holes_in_ten:
            cells.append(_pick(integer, used))
        else:
            cells.append(_subset(integer, used) if integer(3) == 2 else None)
    if integer(3) == 2:
        return cells, pool[: len(used) + integer(len(pool) - len(used) + 1)]
    # Without a declaration the column itself must name a value.
    if all(cell is None for cell in cells):
        cells[0] = used[0]
    return cells, None


def _capped(
    integer: Integer, columns: list[list[Any]], declared: Sequence[Sequence[Hashable]], cap: int
) -> list[list[Any]]:
    """Resolve cells, from a random place on, until at most ``cap`` worlds are left."""
    n_rows = len(columns[0])
    cells = [(j, i) for j in range(len(columns)) for i in range(n_rows)]
    start = integer(len(cells))
    seen = oracle.seen_domains(list(zip(*columns, strict=True)), len(columns))
    domains = [tuple(own) or named for own, named in zip(declared, seen, strict=True)]
    n_worlds = 1
    for j, i in cells[start:] + cells[:start]:
        options = oracle.candidates(columns[j][i], domains[j])
        if n_worlds * len(options) > cap:
            columns[j][i] = _pick(integer, options)
        else:
            n_worlds *= len(options)
    return columns


def _point(integer: Integer, domains: Sequence[Sequence[Hashable]]) -> tuple[Any, ...]:
    cells: list[Any] = []
    n_filled = 1
    for domain in domains:
        unseen = UNSEEN[isinstance(domain[0], int)]
        kind = integer(16)
        if kind == 15:
            cell: Any = unseen
        elif kind == 14:
            cell = None
        elif kind == 13:
            cell = _subset(integer, domain)
        elif kind == 12:
            cell = _subset(integer, (*domain, unseen))
        else:
            cell = _pick(integer, domain)
        n_options = len(oracle.candidates(cell, domain))
        if n_filled * n_options > 12:
            cell, n_options = domain[0], 1
        n_filled *= n_options
        cells.append(cell)
    return tuple(cells)


def _prior(integer: Integer, labels: Sequence[Hashable]) -> Any:
    kind = integer(5)
    if kind == 4:
        return {label: _pick(integer, WEIGHTS) for label in labels}
    return "uniform" if kind == 3 else None
