"""The supports of a winner and of a rival as rows are added, with their slopes, for many points at once.

A row of the rival agrees with the point wherever it can, a row of the winner nowhere it need not. A
feature is *loose* at a point if a row can disagree there: a domain of one value that holds the
point's has the factor 1 for every label, and a feature that is left out has no factor (T13).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.model.model import Model
from nullproof.radii.bounds import used_codes

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
_EPS = float(np.finfo(np.float64).eps)
# Attacks with more rows than this are left to integers.
MOST = 2.0**40
_DIGITS = 290


class Support(NamedTuple):
    """A log support, its first and second derivative by the number of rows, and the size of the first.

    The size is the sum of the absolute values of the terms that the slope is made of.
    """

    log: Floats
    slope: Floats
    bend: Floats
    size: Floats


class RowTables:
    """What all blocks of points share: the rivals' counts by code, and bounds on errors."""

    def __init__(self, model: Model, codes: NDArray[Any]) -> None:
        index, sizes = model.index, model.index.n_values
        self.model, self.alpha = model, float(model.alpha)
        self.n_rows = index.label_counts.astype(np.float64)
        self.domain_sizes, self._whose = np.unique(sizes, return_inverse=True)
        is_matched = (codes < sizes[:, None]) & (sizes[:, None] > 1)
        is_loose = is_matched | (codes == sizes[:, None])
        self.features = np.flatnonzero(is_loose.any(axis=1)).tolist()
        self.matched = [None if is_matched[j].all() else is_matched[j] for j in self.features]
        self.n_loose = self._loose_by_size(is_loose)
        self.n_unseen = (is_loose & ~is_matched).sum(axis=0).astype(np.float64)
        used = [used_codes(codes[j], int(sizes[j])) for j in self.features]
        self.rows = [rows for _, rows in used]
        self.high = [
            self._smoothed(j, own) for j, (own, _) in zip(self.features, used, strict=True)
        ]
        largest = math.log(MOST + self.n_rows.max() + self.alpha * float(sizes.max()))
        if self.alpha > 0:
            largest = max(largest, -math.log(self.alpha))
        shares = model.log_prior[np.isfinite(model.log_prior)]
        magnitude = float(np.abs(shares).max(initial=0)) + 6 * (model.d + 1) * largest
        self.slack = 2 * float(model.slack(magnitude))
        # A term of a slope has four roundings, and each addition one of the sum of their sizes.
        self.slope_slack = 2 * _EPS * (model.d + 8)
        # So many factors fit into one product without over- or underflow.
        self.n_factors = int(_DIGITS * math.log(10) / largest)

    def _loose_by_size(self, is_loose: NDArray[np.bool_]) -> Floats:
        """Sizes of domains × points (or one column for all): how many loose features have each."""
        same = bool((is_loose == is_loose[:, :1]).all())
        n_loose = np.zeros((len(self.domain_sizes), 1 if same else is_loose.shape[1]))
        for j, group in enumerate(self._whose.tolist()):
            n_loose[group] += is_loose[j, : n_loose.shape[1]]
        return n_loose

    def _smoothed(self, j: int, codes: NDArray[Any]) -> Floats:
        """Labels × codes: the greatest count plus smoothing; 1 where rows cannot agree, or must."""
        smoothed = self.model.index.high(j, codes).T.astype(np.float64) + self.alpha
        size = int(self.model.index.n_values[j])
        smoothed[:, (codes >= size) | (size == 1)] = 1.0
        return smoothed

    def below(self, block: slice, n_rows: Floats) -> Below:
        """What stands below the line for a block of points whose labels have so many rows."""
        n_loose = self.n_loose if self.n_loose.shape[1] == 1 else self.n_loose[:, block]
        sizes = self.alpha * self.domain_sizes[:, None].astype(np.float64)
        return Below(n_rows, sizes, n_loose, self.model.prior_is_counted)

    def constants(self, block: slice, places: Places, rival: int) -> Floats:
        """What of a rival's log support at some points of a block no row changes."""
        n_unseen = self.n_unseen[block][places]
        share = float(self.model.log_prior[rival])
        if self.model.prior_is_counted:
            share = -math.log(self.n_rows.sum())
        return np.asarray(n_unseen * math.log(self.alpha or 1.0) + share)


@dataclass(frozen=True)
class Below:
    """What stands below the line: rows of a label, and the loose features of some points.

    Parameters
    ----------
    n_rows
        The rows of the label before any are added, per point.
    sizes
        Domain sizes × 1: smoothing times the size.
    n_loose
        Domain sizes × points (or 1): how many loose features have this size.
    counted
        Whether the prior follows the rows.
    """

    n_rows: Floats
    sizes: Floats
    n_loose: Floats
    counted: bool

    def at(self, places: Places) -> Below:
        """The same for some of the points."""
        n_loose = self.n_loose if self.n_loose.shape[1] == 1 else self.n_loose[:, places]
        return replace(self, n_rows=self.n_rows[places], n_loose=n_loose)

    def support(self, n_added: Floats) -> Support:
        """The part of the log support that does not depend on counts, after so many rows."""
        n_rows = self.n_rows + n_added
        totals = n_rows + self.sizes
        terms = self.n_loose / totals
        log, size, bend = self.log(n_added), terms.sum(axis=0), (terms / totals).sum(axis=0)
        if not self.counted:
            return Support(log, -size, bend, size)
        own = 1 / n_rows
        return Support(log, own - size, bend - own * own, size + own)

    def log(self, n_added: Floats) -> Floats:
        """The same without derivatives."""
        n_rows = self.n_rows + n_added
        log: Floats = -(self.n_loose * np.log(n_rows + self.sizes)).sum(axis=0)
        return log + np.log(n_rows) if self.counted else log


@dataclass(frozen=True)
class WinnerSide:
    """The winners of some points, and what of their log supports no row changes."""

    base: Floats
    below: Below

    @classmethod
    def of(cls, tables: RowTables, block: slice, winner: NDArray[Any], log: Floats) -> WinnerSide:
        """The winners of a block of points, with their log supports before any row is added."""
        below = tables.below(block, tables.n_rows[winner])
        return cls(log - below.log(np.zeros_like(log)), below)

    def at(self, places: Places) -> WinnerSide:
        """The same for some of the points."""
        return WinnerSide(self.base[places], self.below.at(places))

    @property
    def is_regular(self) -> NDArray[np.bool_]:
        """Where the log support falls from the first row on and is convex, as T13 asks."""
        below = self.below
        if not below.counted:
            return np.broadcast_to(below.n_loose.sum(axis=0) > 0, self.base.shape)
        ratios = below.n_rows / (below.n_rows + below.sizes)
        regular: NDArray[np.bool_] = (below.n_loose * ratios**2).sum(axis=0) > 1 + 1e-9
        return regular

    def support(self, n_added: Floats) -> Support:
        """The log support after so many rows."""
        found = self.below.support(n_added)
        return found._replace(log=self.base + found.log)

    def log(self, n_added: Floats) -> Floats:
        """The same without derivatives."""
        return np.asarray(self.base + self.below.log(n_added))


class RivalSide:
    """One rival at some points, features × points."""

    def __init__(self, tables: RowTables, block: slice, places: Places, rival: int) -> None:
        self._tables = tables
        self._high = np.empty((len(tables.features), len(places)))
        for out, table, rows in zip(self._high, tables.high, tables.rows, strict=True):
            table[rival].take(rows[block][places], out=out, mode="clip")
        self._matched = [
            None if matched is None else matched[block][places].astype(np.float64)
            for matched in tables.matched
        ]
        self.below = tables.below(
            block, np.full(len(tables.n_unseen[block]), tables.n_rows[rival])
        ).at(places)
        self._base = tables.constants(block, places, rival)
        # Where there is no smoothing, or no prior without a row, one row is the least that gives support.
        bare = tables.n_rows[rival] == 0 and (tables.model.prior_is_counted or tables.alpha == 0)
        self.least = np.where(self._high.all(axis=0) & (not bare), 0.0, 1.0)
        # With more unseen values the log support is not concave (T13).
        self.is_concave = tables.n_unseen[block][places] <= tables.model.prior_is_counted

    def __len__(self) -> int:
        return len(self._base)

    def at(self, places: Places) -> RivalSide:
        """The same for some of the points."""
        if len(places) == len(self):
            return self
        part = object.__new__(RivalSide)
        part._tables, part._high = self._tables, self._high[:, places]
        part._matched = [None if own is None else own[places] for own in self._matched]
        part.below, part._base = self.below.at(places), self._base[places]
        part.least = self.least[places]
        return part

    def support(self, n_added: Floats) -> Support:
        """The log support after so many rows that agree with the points."""
        product, log = np.ones_like(n_added), self._base.copy()
        slope, bend = np.zeros_like(n_added), np.zeros_like(n_added)
        count, term = np.empty_like(n_added), np.empty_like(n_added)
        for place, (high, matched) in enumerate(zip(self._high, self._matched, strict=True), 1):
            np.add(high, n_added if matched is None else n_added * matched, out=count)
            np.divide(1.0 if matched is None else matched, count, out=term)
            product *= count
            slope += term
            term *= term
            bend += term
            if place % self._tables.n_factors == 0:
                log += np.log(product)
                product[:] = 1
        below = self.below.support(n_added)
        return Support(
            log + np.log(product) + below.log,
            slope + below.slope,
            below.bend - bend,
            slope + below.size,
        )

    def log(self, n_added: Floats) -> Floats:
        """The same without derivatives."""
        product, log = np.ones_like(n_added), self._base.copy()
        count = np.empty_like(n_added)
        for place, (high, matched) in enumerate(zip(self._high, self._matched, strict=True), 1):
            np.add(high, n_added if matched is None else n_added * matched, out=count)
            product *= count
            if place % self._tables.n_factors == 0:
                log += np.log(product)
                product[:] = 1
        return np.asarray(log + np.log(product) + self.below.log(n_added))
