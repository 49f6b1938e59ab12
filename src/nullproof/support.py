"""Supports of the labels over all worlds, and the one exact comparison of two of them.

``S_i(c) = prior_i · ∏_j (c_ij + α) / (N_i + α·|dom_j|)``. Over all worlds the counts of a point fill
a box (T1), so a label's least support is at its ``low`` counts, its greatest at its ``high`` counts.

Floats only sort out the clear cases: sums of logarithms, with a bound on their error. What they
cannot tell apart, `Model.exceeds` decides with integers.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nullproof.errors import NullproofError
from nullproof.index import CountIndex
from nullproof.points import Points

Alpha = float | Fraction
Prior = Literal["uniform"] | Sequence[float | Fraction] | None
Floats = NDArray[np.float64]
_BLOCK = 4096
_WIDE = 10_000
_TINY = Fraction(1, 10**150)
_EPS = float(np.finfo(np.float64).eps)


class Model:
    """An index with a smoothing and a prior: everything that a support depends on.

    Parameters
    ----------
    alpha
        Smoothing, taken as the exact rational number that it is.
    prior
        None for the frequencies of the labels, ``"uniform"``, or one number per label.
    """

    def __init__(self, index: CountIndex, alpha: Alpha = 0.0, prior: Prior = None) -> None:
        self.index = index
        self.alpha = _exact_alpha(alpha)
        self.prior = exact_prior(index, prior)
        self.m, self.d = len(index.labels), len(index.features)
        # Beyond these sizes doubles over- or underflow, and the bound of `slack` does not hold.
        self.floats_hold = all(
            number == 0 or _TINY <= number <= 1 / _TINY for number in (self.alpha, *self.prior)
        )

    @classmethod
    def of(cls, index: CountIndex, alpha: Alpha = 0.0, prior: Prior = None) -> Model:
        """The model of an index, made once: its tables of logarithms serve every later call."""
        key = ("model", _exact_alpha(alpha), exact_prior(index, prior))
        found: Model = index.cache.setdefault(key, None) or cls(index, alpha, prior)
        index.cache[key] = found
        return found

    @cached_property
    def _denominators(self) -> list[int]:
        """Per label the product of all ``N_i + α·|dom_j|``, times the denominator of α each."""
        p, q = self.alpha.as_integer_ratio()
        return [
            math.prod(int(n) * q + p * int(v) for v in self.index.n_values)
            for n in self.index.label_counts
        ]

    def exceeds(self, i: int, counts_i: Sequence[int], k: int, counts_k: Sequence[int]) -> bool:
        """Decide ``S_i(counts_i) > S_k(counts_k)`` exactly; a tie is not an excess (T2)."""
        left, right = self._weight(i, counts_i), self._weight(k, counts_k)
        if left == 0 or self._denominators[i] == 0:
            return False
        if right == 0 or self._denominators[k] == 0:
            return True
        left *= self.prior[k].denominator * self._denominators[k]
        right *= self.prior[i].denominator * self._denominators[i]
        return left > right

    def _weight(self, i: int, counts: Sequence[int]) -> int:
        p, q = self.alpha.as_integer_ratio()
        return self.prior[i].numerator * math.prod(int(c) * q + p for c in counts)

    @cached_property
    def log_prior(self) -> Floats:
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(np.array([_float(share) for share in self.prior]))
        return logs

    def log_terms(self, j: int, counts: NDArray[np.int64]) -> Floats:
        """``log((c + α) / (N_i + α·|dom_j|))`` for counts (values × labels); -inf for zero."""
        alpha = _float(self.alpha)
        size = self.index.label_counts + alpha * float(self.index.n_values[j])
        with np.errstate(all="ignore"):
            terms: Floats = np.log((counts + alpha) / np.where(size > 0, size, np.inf))
        return terms

    def range_rows(self, j: int, candidates: Sequence[NDArray[np.intp]]) -> Floats:
        """Per candidate set of values: the least low and the greatest high log terms of each label."""
        rows = np.empty((len(candidates), 2 * self.m))
        for place, codes in enumerate(candidates):
            rows[place, : self.m] = self.log_terms(j, self.index.low(j, codes)).min(axis=0)
            rows[place, self.m :] = self.log_terms(j, self.index.high(j, codes)).max(axis=0)
        return rows

    @cached_property
    def terms(self) -> tuple[Floats, NDArray[np.int32]]:
        """Rows of log terms for every code of the features that are not wide, and their starts.

        Feature ``j`` has the rows from ``starts[j]`` on: its values, a value outside, and any value.
        Wide features, with more than ``_WIDE`` values, have none.
        """
        sizes = np.where(self.index.n_values > _WIDE, -2, self.index.n_values)
        starts = np.cumsum(sizes + 2) - (sizes + 2)
        low, high = self._narrow_counts(sizes, starts)
        whose = np.repeat(np.arange(self.d), sizes + 2)
        alpha = _float(self.alpha)
        with np.errstate(all="ignore"):
            below = self.index.label_counts + alpha * self.index.n_values[whose, None]
            below = np.tile(np.where(below > 0, below, np.inf), 2)
            table: Floats = np.log((np.hstack([low, high]) + alpha) / below)
        narrow = np.flatnonzero(sizes > 0)
        if len(narrow):
            # The two rows after the values must not decide what the least and the greatest are.
            special = np.concatenate(
                [starts[narrow] + sizes[narrow], starts[narrow] + sizes[narrow] + 1]
            )
            least, most = table[:, : self.m].copy(), table[:, self.m :].copy()
            least[special], most[special] = np.inf, -np.inf
            anything = starts[narrow] + sizes[narrow] + 1
            table[anything, : self.m] = np.minimum.reduceat(least, starts[narrow])
            table[anything, self.m :] = np.maximum.reduceat(most, starts[narrow])
        return table, starts.astype(np.int32)

    def _narrow_counts(
        self, sizes: NDArray[np.int64], starts: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Low and high counts of all narrow features below each other, two empty rows after each."""
        low = np.zeros((int((sizes + 2).sum()), self.m), dtype=np.int64)
        high = np.zeros_like(low)
        for j in np.flatnonzero(sizes > 0).tolist():
            rows = slice(int(starts[j]), int(starts[j] + sizes[j]))
            if self.index.sets[j] or sizes[j] == 1:
                low[rows], high[rows] = self.index.low(j)[:-1], self.index.high(j)[:-1]
            else:
                low[rows] = self.index.exact(j)[:-1]
                high[rows] = low[rows] + self.index.n_null[j]
        return low, high

    def slack(self, magnitude: Any) -> Any:
        """Bound the error of a sum of ``d`` log terms with absolute values of ``magnitude`` in all.

        A term comes from at most four roundings of relative size eps/2 and a logarithm good to four
        units in the last place, hence is off by at most ``2·eps + 4·eps·|term|``; each addition
        adds half an eps of a partial sum, which is at most ``magnitude``. The constant is doubled
        because two such sums are compared.
        """
        return _EPS * (self.d + 8) * (4.0 + magnitude)


@dataclass(frozen=True)
class Verdicts:
    """What every world agrees on, points × labels.

    ``possible``: the labels that no label dominates, which for complete points are exactly those
    that win or tie in some world (T3). ``min_log`` and ``max_log``: the range of each label's log
    support over all worlds, for display.
    """

    possible: NDArray[np.bool_]
    min_log: Floats
    max_log: Floats


def verdicts(model: Model, points: Points) -> Verdicts:
    """Find the undominated labels of every point, exactly (T3, T4)."""
    n = len(points)
    possible = np.empty((n, model.m), dtype=bool)
    low, high = np.empty((n, model.m)), np.empty((n, model.m))
    table, rows = _term_rows(model, points)
    complete = points.complete
    for start in range(0, n, _BLOCK):
        block = slice(start, min(start + _BLOCK, n))
        sums = np.ascontiguousarray(_sums(model, table, rows(block)).T)
        low[block], high[block] = sums[: model.m].T, sums[model.m :].T
        is_possible, unclear = _compare(model, sums[: model.m], sums[model.m :])
        possible[block] = is_possible.T
        if not model.floats_hold:
            unclear[:] = True
        for position in np.flatnonzero(unclear & complete[block]):
            counts = point_counts(model, points, start + int(position))
            possible[start + position] = _possible_exactly(model, *counts)
    if not complete.all():
        _judge_incomplete(model, points, np.flatnonzero(~complete), possible)
    return Verdicts(possible, low, high)


def point_counts(
    model: Model, points: Points, position: int
) -> tuple[list[list[int]], list[list[int]]]:
    """The low and the high counts of a complete point, as integers, label by label."""
    low: list[list[int]] = [[] for _ in range(model.m)]
    high: list[list[int]] = [[] for _ in range(model.m)]
    for j in range(model.d):
        code = points.codes[j, position : position + 1]
        for i, (a, b) in enumerate(
            zip(
                model.index.low(j, code)[0].tolist(),
                model.index.high(j, code)[0].tolist(),
                strict=True,
            )
        ):
            low[i].append(a)
            high[i].append(b)
    return low, high


def dominates(model: Model, points: Points, position: int, i: int, k: int) -> bool:
    """Decide whether label ``i`` beats ``k`` in every world and completion of a point (T4)."""
    worst = worst_completion(model, points, position, i, k)
    lows, highs = [], []
    for j, code in enumerate(worst):
        one = np.array([code])
        lows.append(int(model.index.low(j, one)[0, i]))
        highs.append(int(model.index.high(j, one)[0, k]))
    return model.exceeds(i, lows, k, highs)


def worst_completion(model: Model, points: Points, position: int, i: int, k: int) -> list[int]:
    """Choose, feature by feature, the candidate that is worst for ``i`` against ``k`` (T4)."""
    p, q = model.alpha.as_integer_ratio()
    worst = []
    for j in range(model.d):
        candidates = np.array(points.candidates(j, int(points.codes[j, position])))
        low = model.index.low(j, candidates)[:, i].tolist()
        high = model.index.high(j, candidates)[:, k].tolist()
        pairs = [(a * q + p, b * q + p) for a, b in zip(low, high, strict=True)]
        worst.append(int(candidates[_least_ratio(pairs)]))
    return worst


def _least_ratio(pairs: list[tuple[int, int]]) -> int:
    """Find the smallest a/b; a = 0 beats all, since a support of 0 exceeds nothing."""
    least = 0
    for place, (a, b) in enumerate(pairs):
        best_a, best_b = pairs[least]
        if best_a and (a == 0 or a * best_b < best_a * b):
            least = place
    return least


def _term_rows(model: Model, points: Points) -> tuple[Floats, Callable[[slice], NDArray[np.int32]]]:
    """A table of log terms and, for a block of points, the row of each feature's term in it."""
    table, starts = model.terms
    special = [j for j in range(model.d) if points.sets[j] or points.n_values[j] > _WIDE]
    if not special:
        return table, lambda block: points.codes[:, block] + starts[:, None]
    tables, places, size = [table], {}, len(table)
    for j in special:
        used, inverse = np.unique(points.codes[j], return_inverse=True)
        codes = [np.array(points.candidates(j, int(code))) for code in used]
        tables.append(model.range_rows(j, codes))
        places[j] = inverse + size
        size += len(used)

    def rows(block: slice) -> NDArray[np.int32]:
        found = points.codes[:, block] + starts[:, None]
        for j, place in places.items():
            found[j] = place[block]
        return found

    return np.vstack(tables), rows


def _sums(model: Model, table: Floats, rows: NDArray[np.int32]) -> Floats:
    """Log supports of a block of points: least for every label, then greatest."""
    prior = np.concatenate([model.log_prior, model.log_prior])
    if rows.size <= _BLOCK:
        summed: Floats = table[rows].sum(axis=0) + prior
        return summed
    total = np.tile(prior, (rows.shape[1], 1))
    for row in rows:
        total += table.take(row, axis=0, mode="clip")
    return total


def _compare(
    model: Model, low: Floats, high: Floats
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which labels (rows) are possible by T3, and at which points floats cannot tell for sure.

    All log terms are at most 0, so a sum is the negative of its magnitude.
    """
    top, second = low[0], np.full_like(low[0], -np.inf)
    for one in low[1:]:
        second = np.maximum(second, np.minimum(top, one))
        top = np.maximum(top, one)
    rival = np.where(low == top, second, top)
    with np.errstate(invalid="ignore"):
        gap = high - rival
        unclear = (np.abs(gap) <= model.slack(-(high + rival))) & np.isfinite(gap)
    # A rival with least support 0 exceeds nothing, whatever the logs of 0 subtract to.
    return (gap > 0) | (rival == -np.inf), unclear.any(axis=0)


def _possible_exactly(model: Model, low: list[list[int]], high: list[list[int]]) -> list[bool]:
    labels = range(model.m)
    return [not any(model.exceeds(k, low[k], i, high[i]) for k in labels if k != i) for i in labels]


def _judge_incomplete(
    model: Model, points: Points, rows: NDArray[np.intp], possible: NDArray[np.bool_]
) -> None:
    """Find the undominated labels of incomplete points: pairwise worst cases add up (T4)."""
    block = max(1, _BLOCK // model.m)
    tables = [_pair_table(model, points, j, rows) for j in range(model.d)]
    magnitude = sum(bound for _, _, bound in tables)
    with np.errstate(invalid="ignore"):
        base = model.log_prior[:, None] - model.log_prior[None, :]
    base[model.log_prior == -np.inf, :] = -np.inf
    magnitude += float(np.abs(base[np.isfinite(base)]).sum())
    slack = 2 * model.slack(magnitude)
    itself = np.eye(model.m, dtype=bool)
    for start in range(0, len(rows), block):
        part = slice(start, min(start + block, len(rows)))
        gap = np.repeat(base[None], part.stop - part.start, axis=0)
        with np.errstate(invalid="ignore"):
            for table, places, _ in tables:
                gap += table[places[part]]
        # -inf (the label may have support 0) outweighs +inf (its rival surely has).
        gap[np.isnan(gap)] = -np.inf
        gap[:, itself] = -np.inf
        ahead = gap > 0
        unclear = np.abs(gap) <= slack if model.floats_hold else np.broadcast_to(~itself, gap.shape)
        for position, i, k in np.argwhere(unclear):
            ahead[position, i, k] = dominates(model, points, int(rows[start + position]), i, k)
        possible[rows[part]] = ~ahead.any(axis=1)


def _pair_table(
    model: Model, points: Points, j: int, rows: NDArray[np.intp]
) -> tuple[Floats, NDArray[np.intp], float]:
    """Per used code and pair of labels: the least log ratio over its candidates."""
    used, places = np.unique(points.codes[j, rows], return_inverse=True)
    table = np.empty((len(used), model.m, model.m))
    bound = 0.0
    for place, code in enumerate(used):
        candidates = np.array(points.candidates(j, int(code)))
        low = model.log_terms(j, model.index.low(j, candidates))
        high = model.log_terms(j, model.index.high(j, candidates))
        for i in range(model.m):
            with np.errstate(invalid="ignore"):
                ratio = low[:, i : i + 1] - high
            ratio[low[:, i] == -np.inf] = -np.inf
            table[place, i] = ratio.min(axis=0)
        magnitudes = [-terms[np.isfinite(terms)].min(initial=0.0) for terms in (low, high)]
        bound = max(bound, float(sum(magnitudes)))
    return table, places, bound


def _exact_alpha(alpha: Any) -> Fraction:
    if not _is_share(alpha):
        raise NullproofError(f"alpha is {alpha!r}; give a number that is 0 or more")
    return Fraction(alpha if isinstance(alpha, numbers.Rational) else float(alpha))


def _float(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _is_share(number: Any) -> bool:
    if isinstance(number, numbers.Rational):
        return Fraction(number) >= 0
    return isinstance(number, float | np.floating) and bool(0 <= number < math.inf)


def exact_prior(index: CountIndex, prior: Any) -> tuple[Fraction, ...]:
    """The prior as fractions that sum to one; None means the frequencies of the labels."""
    if prior is None:
        n_rows = max(index.n_rows, 1)
        return tuple(Fraction(int(n), n_rows) for n in index.label_counts)
    m = len(index.labels)
    if isinstance(prior, str):
        if prior != "uniform":
            raise NullproofError(
                f"prior is {prior!r}; give None, 'uniform' or one number for each of {m} labels"
            )
        return (Fraction(1, m),) * m
    shares = list(prior)
    if len(shares) != m:
        raise NullproofError(
            f"prior has {len(shares)} numbers but there are {m} labels "
            f"({', '.join(str(label) for label in index.labels[:5])}); give one number per label"
        )
    if not all(_is_share(share) for share in shares):
        raise NullproofError(f"prior is {shares}; give numbers that are 0 or more")
    exact = [Fraction(s if isinstance(s, numbers.Rational) else float(s)) for s in shares]
    if not sum(exact):
        raise NullproofError("prior is all zeros; give at least one label a positive number")
    return tuple(share / sum(exact) for share in exact)
