"""The theorems on bias as plain formulas in fractions: quick enough for millions of cells.

`BoxJudge` believes T9, that the counts fill a box, where `Judge` goes through the worlds. The two are
held against each other on small tables; then this one may judge large counts. The steps of its formulas
are methods so that the trial can plant a mistake in each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from support import oracle
from support.bias_oracle import Bias, Judge


class BoxJudge(Judge):
    """A judge who looks at the two corners of the box."""

    def fewest(self, n_cells: int, share: Fraction, bias: Fraction) -> int:
        """The fewest cells of a group that take a value of this share."""
        return max(0, math.floor(n_cells * (share - bias)))

    def most(self, n_cells: int, share: Fraction, bias: Fraction) -> int:
        """The most cells of a group that take a value of this share."""
        return min(n_cells, math.ceil(n_cells * (share + bias)))

    def box(self, label: Any, j: int, value: Any, bias: Fraction) -> tuple[int, int]:
        """The fewest and the most rows of a label that hold a value."""
        low = high = self.known[label, j, value]
        for (own, feature, options), (n_cells, shares) in self.groups.items():
            if (own, feature) == (label, j) and value in options:
                low += self.fewest(n_cells, shares[value], bias)
                high += self.most(n_cells, shares[value], bias)
        return low, high

    def supports(
        self, label: Any, kept: Sequence[int], point: oracle.Row, bias: Bias
    ) -> list[Fraction]:
        """The supports at the two corners."""
        n_rows, alpha = self.n_rows[label], self.alpha
        if not n_rows and not alpha:
            return [Fraction(0)]
        corners = [self.share[label] ** self.exponents[0]] * 2
        for j, value in zip(kept, point, strict=True):
            below = n_rows + alpha * len(self.domains[j])
            for place, count in enumerate(self.box(label, j, value, bias[j])):
                corners[place] *= ((count + alpha) / below) ** self.exponents[1 + j]
        return corners

    def holds(self, point: oracle.Row, bias: Any) -> bool:
        """Whether one label wins every world of the bias, the same for all features."""
        return self.verdict(point, (Fraction(bias),) * len(self.domains)).label is not None
