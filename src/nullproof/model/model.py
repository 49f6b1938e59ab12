"""A model: an index with a smoothing, a prior and a bias, and the exact comparison of two supports.

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
from nullproof.data.points import Key, OwnMissing, Points, encode_points
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
# Rows of terms per feature, besides those of its values.
_SPECIAL = 2
_EPS = float(np.finfo(np.float64).eps)
# The table of log terms that was made last, with its index and what was asked: with 20 features of 2,000
# values and 8 labels it takes 40 ms to make, the next question 0.2 ms. It goes when its index goes.
_LAST: list[tuple[weakref.ref[CountIndex], Any, Terms]] = []


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
        """The same model with missing cells that may hold anything, as an attacker may choose."""
        return self if self.is_unbiased else self.everywhere(1)

    def everywhere(self, bias: int) -> Model:
        """Return the same model with one bias for all columns."""
        return self._changed(self.index, (Fraction(bias),) * self.d, (False,) * self.d)

    def _changed(
        self, index: CountIndex, bias: tuple[Fraction, ...], fixed: tuple[bool, ...]
    ) -> Model:
        other = Model(index, self.alpha)
        if not self.prior_is_counted:
            other.prior, other.prior_is_counted = self.prior, False
        other.bias, other.fixed = bias, fixed
        return other

    @cached_property
    def is_unbiased(self) -> bool:
        """Whether missing cells may hold anything."""
        # All features often share one number, and comparing fractions is slow.
        return all(one == 1 for one in {id(one): one for one in self.bias}.values())

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

    def box(
        self, j: int, codes: NDArray[Any] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count the cells of feature ``j`` that hold each value in every world of the bias, and in some.

        As `CountIndex.low` and `CountIndex.high`. A feature of weight 0 is left out of every point.
        """
        low = self.index.low(j, codes)
        if not self.weights[j]:
            left_out = np.full_like(low, LEFT_OUT)
            return left_out, left_out
        if self.bias[j] == 1:
            return low, self.index.high(j, codes)
        wanted = np.arange(len(low)) if codes is None else np.asarray(codes)
        high = low.copy()
        for groups in groups_of(self.index, j, wanted):
            owner = np.zeros(len(wanted), dtype=np.intp)
            least, most = held(groups, self.alpha, self.bias[j : j + 1], owner)
            low += least
            high += most
        return low, high

    def low(self, j: int, codes: NDArray[Any] | None = None) -> NDArray[np.int64]:
        """Return the lower side of the `box`."""
        return self.box(j, codes)[0]

    def high(self, j: int, codes: NDArray[Any] | None = None) -> NDArray[np.int64]:
        """Return the upper side of the `box`."""
        return self.box(j, codes)[1]

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
        # One power for each exponent: far fewer products of huge numbers.
        alike: dict[int, list[int]] = {}
        for factor, exponent in zip(factors, self.exponents, strict=True):
            alike.setdefault(exponent, []).append(factor)
        return math.prod(math.prod(own) ** exponent for exponent, own in alike.items())

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
                # The number of all rows is the same for both labels, so the original number will do.
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

    def log_support(self, i: int, counts: Sequence[int]) -> float:
        """Return the logarithm of a label's support for display; -inf for zero."""
        above, below = self._support(i, counts, 0)
        return (math.log(above) - math.log(below)) / self.power if above else -math.inf

    # Floats -------------------------------------------------------------------------------------

    @cached_property
    def float_weights(self) -> Floats:
        """The weight of each feature."""
        return np.array(self.weights) / ONE

    @cached_property
    def log_prior(self) -> Floats:
        """The logarithm of each label's prior; -inf for zero."""
        # Many labels share a number, and splitting fractions is slow.
        logs = {share: math.log(share) if share else -math.inf for share in {*self.prior}}
        return np.array([logs[share] for share in self.prior])

    @cached_property
    def log_constants(self) -> Floats:
        """Per label the logarithm of the part of its support that no count changes; -inf for zero."""
        with np.errstate(divide="ignore"):
            logs = np.log(np.array(self.sizes, dtype=np.float64))
        constants = self.log_prior - (logs * self.float_weights).sum(axis=1)
        return np.where((logs > -np.inf).all(axis=1), constants, -np.inf)

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

    def term_rows(self, j: int, codes: NDArray[Any]) -> Floats:
        """Return the log terms of some values: per value the low ones of all labels, then the high ones."""
        return np.hstack([self.log_terms(j, counts) for counts in self.box(j, codes)])

    @cached_property
    def terms(self) -> Terms:
        """Rows of log terms for every code of the features that are not wide, and their starts.

        Feature ``j`` has the rows from ``starts[j]`` on: its values, a value outside, and a feature that
        is left out. Wide features, with more than ``WIDE`` values, have none.
        """
        last, asked = _LAST[:], (self.alpha, self.bias)
        if not last or last[0][0]() is not self.index or last[0][1] != asked:
            gone = weakref.ref(self.index, lambda _: _LAST.clear())
            with np.errstate(all="ignore"):
                _LAST[:] = last = [(gone, asked, self._all_terms())]
        return last[0][2]

    def _all_terms(self) -> Terms:
        index, alpha = self.index, float(self.alpha)
        narrow = (index.n_values <= WIDE).nonzero()[0]
        sizes = index.n_values[narrow]
        spans = sizes + _SPECIAL
        first, owner = spans.cumsum() - spans, narrow.repeat(spans)
        outside = first + sizes
        # Rows × low and high × labels: all narrow features in one, with special rows after each.
        after = np.zeros((_SPECIAL, self.m), dtype=np.int64)
        tables = [own for j in narrow.tolist() for own in (index.known[j], after)]
        low = np.concatenate([after[:0], *tables])
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
                low[start:end], high[start:end] = (side[:-1] for side in self.box(j))
        counts = np.concatenate([low, high], axis=1).reshape(-1, 2, self.m)
        below = index.label_counts + alpha * index.n_values[:, None]
        has_rows = below > 0
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
