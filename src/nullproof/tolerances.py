"""tolerance: the largest bias up to which each prediction holds (T10).

The box of counts grows with the bias, so the verdict changes once, at a jump of one of its sides. Floats
look for the jump: the bias at which the winner's least support meets a rival's greatest is bracketed
until one jump is left. Where rounding could blur that, exact verdicts decide, bias by bias.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.bias import REST, groups_of, held_exactly
from nullproof.brackets import BiasGrid, grid_of
from nullproof.counts.index import CountIndex
from nullproof.crossings import crossing, crossing_nearby
from nullproof.data.points import OwnHoles, Points
from nullproof.errors import NullproofError
from nullproof.leads import Pairs, Places, Tables, floats_do
from nullproof.model import Alpha, Floats, Model, Prior
from nullproof.progress import Progress, over, within
from nullproof.verdicts import Verdicts, least_ratio, verdicts

_DOING = "finding how far each prediction holds"
# Slots (features, or candidates of incomplete points) × points of a block: what the cache holds.
_BLOCK = 60_000
_BLOCK_NEARBY = 240_000
_STEP = 1e-9


@dataclass(frozen=True)
class Tolerances:
    """Per point: the largest bias up to which its prediction holds, and who threatens it first.

    Parameters
    ----------
    value
        1 where the point is certain; NaN where not even a bias of 0 decides. Else the largest
        double at which it holds.
    rival
        The position of the label that catches up first beyond that; -1 where there is none.
    winner
        The position of the label that wins at a bias of 0; -1 where not even that decides.
    """

    value: Floats
    rival: NDArray[np.int32]
    winner: NDArray[np.int32]

    def take(self, places: NDArray[np.intp]) -> Tolerances:
        """The tolerances of some of the points."""
        return Tolerances(self.value[places], self.rival[places], self.winner[places])


def tolerance(
    index: CountIndex,
    points: Any,
    *,
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnHoles = "skip",
    fixed: Mapping[str, float | Fraction] | None = None,
) -> Floats:
    """Find the largest bias up to which each prediction holds.

    A prediction holds up to a bias of 0.05 if it is the same in every world where the share of the missing
    cells that hold a value differs by at most 0.05 from its share among the known cells of the same
    label and column.

    Parameters
    ----------
    points
        A data frame, a file, an array, a list of rows, or one row.
    alpha
        Smoothing; 1 as scikit-learn users know it, 0 as in the paper.
    prior
        None for the label frequencies, ``"uniform"``, or one number per label.
    own_missing
        ``"skip"``: predict from the cells that a point knows; ``"any"``: whatever its holes hold.
    fixed
        Columns whose bias stays as it is given while that of all others grows.

    Returns
    -------
    array
        One number per point: 1 where it is certain, NaN where not even a bias of 0 decides. A prediction
        holds at every bias up to this number, and at none above.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> tolerance(index, [("a", "x"), ("b", "y")], alpha=1)
    array([1., 1.])
    """
    if fixed is not None and (not isinstance(fixed, Mapping) or REST in fixed):
        raise NullproofError(
            f"fixed is {fixed!r}; give a mapping from columns to the bias that each keeps"
        )
    model = Model(index, alpha, prior, dict(fixed or {}))
    return tolerances_of(model, model.points(points, own_missing)).value


def tolerances_of(
    model: Model,
    points: Points,
    judged: Verdicts | None = None,
    on_progress: Progress | None = None,
) -> Tolerances:
    """The tolerance of every point; columns that a mapping named keep their bias.

    Parameters
    ----------
    judged
        The verdicts at a bias of 1, if they are known.
    on_progress
        Called with what is being done and which share of the work is done.
    """
    at_none = verdicts(model.biased(0), points)
    at_all = verdicts(model.biased(1), points) if judged is None else judged
    value = np.where(at_all.certain, 1.0, np.nan)
    rival = np.full(len(points), -1, dtype=np.int32)
    between = at_none.certain & ~at_all.certain
    found = Tolerances(value, rival, at_none.winner)
    n_done, n_points = 0, max(int(between.sum()), 1)
    for complete in (True, False):
        places = np.flatnonzero(between & (points.complete == complete))
        if len(places):
            ends = at_none.take(places), at_all.take(places)
            search = _Search(model, points.take(places), *ends)
            start, stop = n_done / n_points, (n_done + len(places)) / n_points
            search.into(found, places, within(on_progress, start, stop))
            n_done += len(places)
    return found


class _Search:
    """Points that hold at a bias of 0 and not at 1."""

    def __init__(self, model: Model, points: Points, at_none: Verdicts, at_all: Verdicts) -> None:
        self.model, self.points, self.winner = model, points, at_none.winner
        self.at_none, self.at_all = at_none, at_all
        self.value = np.full(len(points), np.nan)
        self.rival = np.empty(len(points), dtype=np.int32)

    def into(
        self, found: Tolerances, places: NDArray[np.intp], on_progress: Progress | None
    ) -> None:
        """Find the tolerance of each point, and record it."""
        start = 0.0
        if floats_do(self.model):
            tables = Tables(self.model, self.points)
            if (grid := grid_of(tables)) is not None:
                self._blocks(tables, grid, _BLOCK_NEARBY, within(on_progress, 0.0, 0.7))
            self._blocks(tables, None, _BLOCK, within(on_progress, 0.7 if grid else 0.0, 0.9))
            start = 0.9
        known: dict[bytes, tuple[float, int]] = {}
        blurred = np.flatnonzero(np.isnan(self.value)).tolist()
        for place in over(blurred, _DOING, within(on_progress, start, 1.0)):
            key = self.points.codes[:, place].tobytes()
            if key not in known:
                known[key] = self._exactly(place)
            self.value[place], self.rival[place] = known[key]
        found.value[places], found.rival[places] = self.value, self.rival

    def _blocks(
        self, tables: Tables, grid: BiasGrid | None, size: int, on_progress: Progress | None
    ) -> None:
        """Find tolerances that are not known yet, for some points at a time."""
        places = np.flatnonzero(np.isnan(self.value))
        if grid is not None:
            # Points that lose their lead at about the same bias look at the same part of the grid.
            places = places[np.argsort(self._about())]
        n_points = max(1, size // tables.n_slots)
        for start in over(range(0, len(places), n_points), _DOING, on_progress):
            self._block(tables, grid, places[start : start + n_points])

    def _about(self) -> Floats:
        """Where each winner about loses its lead: on a straight line between a bias of 0 and one of 1."""
        every, leads = np.arange(len(self.winner)), []
        with np.errstate(invalid="ignore"):
            for judged in (self.at_none, self.at_all):
                rivals = judged.max_log.copy()
                rivals[every, self.winner] = -np.inf
                leads.append(judged.min_log[every, self.winner] - rivals.max(axis=1))
            return np.asarray(leads[0] / (leads[0] - leads[1]))

    def _block(self, tables: Tables, grid: BiasGrid | None, places: NDArray[np.intp]) -> None:
        """Find the least tolerance against any rival, the strongest first; NaN where floats blur it."""
        winner, order = self.winner[places], self._rivals(places)
        value, rival = np.full(len(places), np.inf), np.full(len(places), -1)
        blurred = np.zeros(len(places), dtype=bool)
        for challenger in order.T:
            pairs = tables.pairs(places, winner, challenger)
            # A rival that is still behind just beyond the best tolerance cannot threaten first.
            beyond = np.where(np.isinf(value), 1.0, np.minimum(value + _STEP, 1.0))
            some, found = _crossing(pairs, beyond, grid)
            blurred[some] |= np.isnan(found)
            own = challenger[some]
            with np.errstate(invalid="ignore"):
                less = (found < value[some]) | ((found == value[some]) & (own < rival[some]))
            value[some[less]], rival[some[less]] = found[less], own[less]
        sure = np.isfinite(value) & ~blurred
        self.value[places[sure]], self.rival[places[sure]] = value[sure], rival[sure]

    def _rivals(self, places: Places) -> Places:
        """The rivals of some points, the strongest first: points × ranks."""
        if self.model.m == 2:
            return (1 - self.winner[places, None]).astype(np.intp)
        strength = self.at_none.max_log[places].copy()
        strength[np.arange(len(places)), self.winner[places]] = np.inf
        order: Places = np.argsort(-strength, axis=1, kind="stable")[:, 1:]
        return order

    def _exactly(self, place: int) -> tuple[float, int]:
        """Halve the doubles between 0 and 1, with an exact verdict at each."""
        winner = int(self.winner[place])
        rivals = [k for k in range(self.model.m) if k != winner]
        choices = self.points.choices(place)
        counts = [_counts(self.model, j, np.array(own)) for j, own in enumerate(choices)]

        def ahead(bias: float, rival: int) -> bool:
            exact = Fraction(bias)
            low = [[count.at(exact)[0] for count in own[winner]] for own in counts]
            high = [[count.at(exact)[1] for count in own[rival]] for own in counts]
            return self._beats(winner, low, rival, high)

        below, above = 0, _rank(1.0)
        while above - below > 1:
            middle = (below + above) // 2
            if all(ahead(_double(middle), k) for k in rivals):
                below = middle
            else:
                above = middle
        return _double(below), next(k for k in rivals if not ahead(_double(above), k))

    def _beats(self, i: int, low: list[list[int]], k: int, high: list[list[int]]) -> bool:
        """Whether ``i`` beats ``k`` at the worst candidate of each feature (T4)."""
        p, q = self.model.alpha.as_integer_ratio()
        least, most = [], []
        for own_low, own_high in zip(low, high, strict=True):
            pairs = [(a * q + p, b * q + p) for a, b in zip(own_low, own_high, strict=True)]
            worst = least_ratio(pairs) if len(pairs) > 1 else 0
            least.append(own_low[worst])
            most.append(own_high[worst])
        return self.model.exceeds(i, least, k, most)


def _crossing(pairs: Pairs, beyond: Floats, grid: BiasGrid | None) -> tuple[Places, Floats]:
    """Which rivals may catch up before some biases, and where."""
    # The only rival there is catches up somewhere: the points are not certain.
    alone = pairs.tables.model.m == 2
    if grid is not None:
        every = np.arange(len(beyond))
        some = every if alone else np.flatnonzero(grid.lead(pairs, beyond) <= pairs.slack)
        return some, crossing_nearby(pairs.at(some), grid)
    lead = pairs.lost() if alone else pairs.lead(beyond)
    some = np.flatnonzero(lead.log <= pairs.slack)
    return some, crossing(pairs.at(some), beyond[some], lead.at(some))


class _Count(NamedTuple):
    """The count of one value and label as a function of the bias: a range, and groups of cells."""

    low: int
    high: int
    groups: list[tuple[int, tuple[int, int]]]

    def at(self, bias: Fraction) -> tuple[int, int]:
        """The least and the greatest count in the worlds of a bias."""
        held = [held_exactly(n_cells, share, bias) for n_cells, share in self.groups]
        return self.low + sum(a for a, _ in held), self.high + sum(b for _, b in held)


def _counts(model: Model, j: int, codes: NDArray[np.intp]) -> list[list[_Count]]:
    """The counts of some values of a feature, labels × values; no bias changes those of a fixed column."""
    fixed = model.fixed[j]
    low = model.low(j, codes) if fixed else model.index.low(j, codes)
    high = model.high(j, codes) if fixed else low
    every = [] if fixed else [*groups_of(model.index, j, codes)]
    return [
        [
            _Count(
                int(low[row, i]),
                int(high[row, i]),
                [
                    (int(groups.n_cells[row, i]), groups.ratio((row, i), model.alpha))
                    for groups in every
                    if groups.n_cells[row, i]
                ],
            )
            for row in range(len(codes))
        ]
        for i in range(model.m)
    ]


def _rank(number: float) -> int:
    """The position of a double among all doubles from 0 upwards."""
    found: int = struct.unpack("<q", struct.pack("<d", number))[0]
    return found


def _double(rank: int) -> float:
    found: float = struct.unpack("<d", struct.pack("<q", rank))[0]
    return found
