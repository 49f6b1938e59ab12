"""An index with a smoothing, a prior and a bias, and the one exact comparison of two supports.

``S_i(c) = prior_i · ∏_j ((c_ij + α) / (N_i + α·|dom_j|))^{w_j}`` with weights ``w_j`` in eighths, the same
for every label (T16): all that a support depends on is here, and `Model.low` and `Model.high` say between
which counts the worlds of the bias lie. Floats filter, with the error bound `Model.slack`; whole numbers
decide, in `Model.exceeds`.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import LEFT_OUT, CountIndex
from nullproof.data.keys import Key
from nullproof.data.points import OwnMissing, Points, encode_points
from nullproof.data.schema import ONE
from nullproof.data.sources import check_limits
from nullproof.model.bias import Floats, Groups, groups_of, held
from nullproof.model.parameters import (
    Alpha,
    Bias,
    Prior,
    exact_alpha,
    exact_bias,
    exact_prior,
)

Terms = tuple[Floats, NDArray[np.int32]]
WIDE = 10_000
# Each feature has so many rows of terms besides those of its values.
_SPECIAL = 3
_EPS = float(np.finfo(np.float64).eps)


class Model:
    """An index with a smoothing, a prior and a bias: everything that a verdict depends on.

    Parameters
    ----------
    alpha
        Smoothing, taken as the exact rational number that it is.
    prior
        None for the frequencies of the labels, ``"uniform"``, or one number per label.
    bias
        How far missing cells may differ from known ones (theory 8): one number, 1 for any values at
        all, or a mapping from column to number with ``"*"`` for the rest.
    """

    def __init__(
        self, index: CountIndex, alpha: Alpha = 1.0, prior: Prior = None, bias: Bias = 1
    ) -> None:
        check_limits(n_cells=index.n_rows * len(index.schema.features))
        self.index = index
        self.alpha = exact_alpha(alpha)
        self.prior = exact_prior(index, prior)
        self.prior_is_counted = prior is None
        self.bias, self.fixed = exact_bias(index, bias)
        self.m, self.d = len(index.labels), len(index.schema.features)
        # In eighths. Supports are compared to a power that makes all exponents whole numbers.
        self.weights = index.schema.weights
        self.has_equal_weights = all(weight == ONE for weight in self.weights)
        unit = math.gcd(ONE, *self.weights)
        self.power, self.exponents = ONE // unit, [weight // unit for weight in self.weights]

    def on(self, index: CountIndex) -> Model:
        """Return the same smoothing, prior and bias on another index, say that of a changed table."""
        return self._changed(index, self.bias, self.fixed)

    def biased(self, bias: Fraction | int) -> Model:
        """Return the same model with another bias; columns that a mapping named keep theirs."""
        pairs = zip(self.bias, self.fixed, strict=True)
        wanted = Fraction(bias)
        return self._changed(
            self.index, tuple(own if fixed else wanted for own, fixed in pairs), self.fixed
        )

    @property
    def unbiased(self) -> Model:
        """The same model where missing cells may hold anything, as an enemy may choose."""
        if self.is_unbiased:
            return self
        return self._changed(self.index, (Fraction(1),) * self.d, (False,) * self.d)

    def _changed(
        self, index: CountIndex, bias: tuple[Fraction, ...], fixed: tuple[bool, ...]
    ) -> Model:
        other = Model(index, self.alpha)
        other.prior, other.prior_is_counted = self.prior, self.prior_is_counted
        other.bias, other.fixed = bias, fixed
        return other

    @cached_property
    def is_unbiased(self) -> bool:
        """Whether missing cells may hold anything."""
        # All features often share one number, and to compare fractions takes a while.
        return all(one == 1 for one in {id(one): one for one in self.bias}.values())

    def agrees(self, other: Model) -> bool:
        """Return whether another model has the same index, smoothing, prior and bias."""
        names = ("alpha", "prior", "prior_is_counted", "bias", "fixed")
        same = (getattr(self, name) == getattr(other, name) for name in names)
        return self.index is other.index and all(same)

    def points(
        self, points: Any, own_missing: OwnMissing = "skip", key: Key | None = None
    ) -> Points:
        """Read the points of a question; ``key`` names them."""
        encoded = encode_points(self.index.schema, points, smoothed=self.alpha != 0, key=key)
        return encoded.read(own_missing)

    def named(self, positions: NDArray[np.integer]) -> NDArray[np.object_]:
        """Return the labels at some positions, None at -1."""
        names = np.empty(self.m + 1, dtype=object)
        names[: self.m] = self.index.labels
        named: NDArray[np.object_] = names[positions]
        return named

    # Counts -------------------------------------------------------------------------------------

    def low(self, j: int, codes: NDArray[Any] | None = None) -> NDArray[np.int64]:
        """Count the cells of feature ``j`` that hold each value in every world of the bias.

        As `CountIndex.low`. A feature of weight 0 is left out of every point.
        """
        counts = self.index.low(j, codes)
        if not self.weights[j]:
            return np.full_like(counts, LEFT_OUT)
        return counts if self.bias[j] == 1 else counts + self._held(j, counts, codes)[0]

    def high(self, j: int, codes: NDArray[Any] | None = None) -> NDArray[np.int64]:
        """Count the cells of feature ``j`` that hold each value in some world of the bias; as `low`."""
        if self.bias[j] == 1 and self.weights[j]:
            return self.index.high(j, codes)
        counts = self.index.low(j, codes)
        if not self.weights[j]:
            return np.full_like(counts, LEFT_OUT)
        return counts + self._held(j, counts, codes)[1]

    def _held(
        self, j: int, counts: NDArray[np.int64], codes: NDArray[Any] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count how many open cells hold each value at least and at most."""
        wanted = np.arange(len(counts)) if codes is None else np.asarray(codes)
        low, high = np.zeros_like(counts), np.zeros_like(counts)
        for groups in groups_of(self.index, j, wanted):
            least, most = held(groups, self.alpha, self.bias, np.full(len(wanted), j))
            low += least
            high += most
        return low, high

    # Whole numbers ------------------------------------------------------------------------------

    @cached_property
    def sizes(self) -> list[list[int]]:
        """Per label and feature ``N_i + α·|dom_j|``, times the denominator of α."""
        p, q = self.alpha.as_integer_ratio()
        return [
            [int(n) * q + p * int(v) for v in self.index.n_values] for n in self.index.label_counts
        ]

    @cached_property
    def _denominators(self) -> list[int]:
        """Per label the product of the sizes of all features, each to its exponent."""
        return [self.product(sizes) for sizes in self.sizes]

    def product(self, factors: Iterable[int]) -> int:
        """Multiply one factor per feature, each to the feature's exponent."""
        if self.has_equal_weights:
            return math.prod(factors)
        return math.prod(map(pow, factors, self.exponents))

    def exceeds(
        self,
        i: int,
        counts_i: Sequence[int],
        k: int,
        counts_k: Sequence[int],
        *,
        added: tuple[int, int] = (0, 0),
    ) -> bool:
        """Decide ``S_i(counts_i) > S_k(counts_k)`` exactly; False for a tie, which is the tie rule (T2).

        A count of `LEFT_OUT` stands for a feature that the point leaves out. ``added`` says how many
        rows of ``i`` and of ``k`` there are besides those of the index; the counts include them (T13).
        """
        left, below_left = self._support(i, counts_i, added[0])
        right, below_right = self._support(k, counts_k, added[1])
        return left * below_right > right * below_left if right else left > 0

    def _support(self, i: int, counts: Sequence[int], n_added: int) -> tuple[int, int]:
        """Return a label's support to the power `power`, as a numerator and a denominator."""
        p, q = self.alpha.as_integer_ratio()
        share, sizes, below = self.prior[i], self.sizes[i], self._denominators[i]
        if n_added:
            sizes = [size + n_added * q for size in sizes]
            below = self.product(sizes)
            if self.prior_is_counted:
                # The number of all rows is the same for both labels, so that of before will do.
                share += Fraction(n_added, max(self.index.n_rows, 1))
        # A label has no support where it has neither rows nor smoothing.
        if not all(sizes):
            return 0, 1
        # A feature that is left out has its own size as numerator, so that its factor is 1.
        factors = [
            int(c) * q + p if c != LEFT_OUT else size for c, size in zip(counts, sizes, strict=True)
        ]
        above = share.numerator**self.power * self.product(factors)
        return above, share.denominator**self.power * below

    def support(self, i: int, counts: Sequence[int]) -> Fraction:
        """Return the support of a label exactly, to the power `power` (1 for equal weights)."""
        return Fraction(*self._support(i, counts, 0))

    # Floats -------------------------------------------------------------------------------------

    @cached_property
    def float_weights(self) -> Floats:
        """The weight of each feature."""
        return np.array(self.weights) / ONE

    @cached_property
    def log_prior(self) -> Floats:
        """The logarithm of each label's prior; -inf for zero."""
        # Many labels share a number, and to take fractions apart takes a while.
        logs = {share: math.log(share) if share else -math.inf for share in {*self.prior}}
        return np.array([logs[share] for share in self.prior])

    @cached_property
    def log_constants(self) -> Floats:
        """Per label the logarithm of the part of its support that no count changes; -inf for zero."""
        return np.array(
            [
                self.log_prior[i] - self._log_product(sizes) if all(sizes) else -math.inf
                for i, sizes in enumerate(self.sizes)
            ]
        )

    def _log_product(self, factors: Iterable[int]) -> float:
        logs = map(math.log, factors)
        return math.fsum(w * log for w, log in zip(self.float_weights.tolist(), logs, strict=True))

    def log_support(self, i: int, counts: Sequence[int]) -> float:
        """Return the logarithm of a support; -inf for zero."""
        p, q = self.alpha.as_integer_ratio()
        # A feature that the point leaves out has a factor of 1.
        pairs = zip(counts, self.sizes[i], strict=True)
        factors = [size if c == LEFT_OUT else int(c) * q + p for c, size in pairs]
        if not self.prior[i] or not all(factors):
            return -math.inf
        return float(self.log_constants[i]) + self._log_product(factors)

    def log_terms(self, j: int, counts: NDArray[np.int64] | Floats) -> Floats:
        """Return ``w_j·log((c + α) / (N_i + α·|dom_j|))`` for counts (values × labels); -inf for zero."""
        alpha = float(self.alpha)
        size = self.index.label_counts + alpha * float(self.index.n_values[j])
        # A feature that a point leaves out has a factor of 1, but for a label without support.
        ones = np.where(size > 0, 0.0, -np.inf)
        if not self.weights[j]:
            return np.broadcast_to(ones, counts.shape)
        with np.errstate(all="ignore"):
            terms: Floats = np.log((counts + alpha) / np.where(size > 0, size, np.inf))
        return np.where(counts == LEFT_OUT, ones, terms * self.float_weights[j])

    def range_rows(self, j: int, candidates: Sequence[NDArray[np.intp]]) -> Floats:
        """Return, per set of values, the least low and the greatest high log terms of each label."""
        rows = np.empty((len(candidates), 2 * self.m))
        for place, codes in enumerate(candidates):
            rows[place, : self.m] = self.log_terms(j, self.low(j, codes)).min(axis=0)
            rows[place, self.m :] = self.log_terms(j, self.high(j, codes)).max(axis=0)
        return rows

    @cached_property
    def terms(self) -> Terms:
        """Rows of log terms for every code of the features that are not wide, and their starts.

        Feature ``j`` has the rows from ``starts[j]`` on: its values, a value outside, a feature that
        is left out, and any value, which only `terms_of_any` has. Wide features, with more than
        ``WIDE`` values, have none.
        """
        return _LAST.of(self)

    @property
    def terms_of_any(self) -> Terms:
        """The same with the rows for any value, which only points with holes of their own ask for."""
        table, starts = self.terms
        narrow = (self.index.n_values <= WIDE).nonzero()[0]
        if len(narrow):
            first = starts[narrow]
            outside = first + self.index.n_values[narrow]
            # Every other stretch is the rows after the values, which must not decide.
            stretches = np.array([first, outside]).T.ravel()
            low, high = table[:, : self.m], table[:, self.m :]
            # Threads that ask at once write the same numbers.
            low[outside + 2] = np.minimum.reduceat(low, stretches)[::2]
            high[outside + 2] = np.maximum.reduceat(high, stretches)[::2]
        return table, starts

    def _all_terms(self) -> Terms:
        index, alpha = self.index, float(self.alpha)
        narrow = (index.n_values <= WIDE).nonzero()[0]
        sizes = index.n_values[narrow]
        spans = sizes + _SPECIAL
        first, owner = spans.cumsum() - spans, narrow.repeat(spans)
        outside = first + sizes
        with np.errstate(all="ignore"):
            below = index.label_counts + alpha * index.n_values[:, None]
            has_rows = below > 0
            counts = self._narrow_counts(narrow, first, outside, owner)
            table: Floats = np.add(counts, alpha, dtype=np.float64)
            table /= np.where(has_rows, below, np.inf)[owner, None]
            # A feature that is left out has a factor of 1, but for a label without support.
            table[outside + 1] = has_rows[narrow, None]
            np.log(table, out=table)
        if not self.has_equal_weights:
            weights = self.float_weights[owner]
            table *= np.where(weights == 0, 1.0, weights)[:, None, None]
            unused = np.flatnonzero(weights == 0)
            table[unused] = np.where(has_rows[owner[unused], None], 0.0, -np.inf)
        starts = np.zeros(self.d, dtype=np.int32)
        starts[narrow] = first
        return table.reshape(-1, 2 * self.m), starts

    def _narrow_counts(
        self,
        narrow: NDArray[np.intp],
        first: NDArray[np.int64],
        outside: NDArray[np.int64],
        owner: NDArray[np.intp],
    ) -> NDArray[np.int64]:
        """Stack all narrow features, with rows after each: rows × low and high × labels."""
        index = self.index
        after = np.zeros((_SPECIAL, self.m), dtype=np.int64)
        tables = [own for j in narrow.tolist() for own in (index.known[j].dense, after)]
        low = np.concatenate(tables) if tables else after[:0]
        open_here = index.n_null[owner]
        # No cell is open to a value outside; the rows after it are replaced.
        open_here[outside] = 0
        high = low + open_here
        if not self.is_unbiased:
            n_known = (index.label_counts - index.n_open)[owner]
            groups = Groups(low, open_here, n_known, index.n_values[owner, None])
            least, most = held(groups, self.alpha, self.bias, owner)
            low, high = low + least, low + most
        for j, start, end in zip(narrow.tolist(), first.tolist(), outside.tolist(), strict=True):
            if index.sets[j] or end - start == 1:
                low[start:end], high[start:end] = self.low(j)[:-1], self.high(j)[:-1]
        return np.concatenate([low, high], axis=1).reshape(-1, 2, self.m)

    def slack(self, magnitude: Any) -> Any:
        """Bound the error of a sum of ``d`` log terms with absolute values of ``magnitude`` in all.

        A term comes from at most four roundings of relative size eps/2 and a logarithm good to four
        units in the last place, hence is off by at most ``2·eps + 4·eps·|term|``; each addition
        adds half an eps of a partial sum, which is at most ``magnitude``. The constant is doubled
        because two such sums are compared (theory 2). A weight of at most 2 doubles the first part, and
        to multiply by it is one more rounding of the term.
        """
        if self.has_equal_weights:
            return _EPS * (self.d + 8) * (4.0 + magnitude)
        return _EPS * (self.d + 9) * (8.0 + magnitude)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: the index, the smoothing and the prior, but no table made from them."""
        tables = ("terms", "log_prior", "log_constants", "sizes", "_denominators")
        return {name: value for name, value in vars(self).items() if name not in tables}


class _LastTerms:
    """The table of log terms that was made last, kept for the next question about the same index.

    With 20 features of 2,000 values and 8 labels it takes 40 ms to make, the question 0.2 ms. Only
    one is kept, and only as long as its index lives.
    """

    def __init__(self) -> None:
        self._kept: tuple[weakref.ref[CountIndex], Any, Terms] | None = None

    def of(self, model: Model) -> Terms:
        """Return the table of a model, made anew unless it is the one that was made last."""
        kept, asked = self._kept, (model.alpha, model.bias)
        if kept is not None and kept[0]() is model.index and kept[1] == asked:
            return kept[2]
        terms = model._all_terms()
        self._kept = weakref.ref(model.index, self._forget), asked, terms
        return terms

    def _forget(self, _gone: weakref.ref[CountIndex]) -> None:
        # Only the reference that is kept can call: those before it are gone themselves.
        self._kept = None


_LAST = _LastTerms()
