"""The supports of the labels over all worlds: which labels no other label beats everywhere.

Over all worlds the counts of a point fill a box (T1), so a label's least support is at its ``low``
counts, its greatest at its ``high`` counts. Floats only sort out the clear cases: sums of logarithms,
with a bound on their error. What they cannot tell apart, `Model.exceeds` decides with integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nullproof.data.points import Points
from nullproof.model.bias import Floats
from nullproof.model.model import WIDE, Model

VERDICTS = ("certain", "holds", "open")
# The default bias up to which predictions hold, on every surface.
HOLDS = 0.05
# The low and the high counts of a point, label by label.
Box = tuple[list[list[int]], list[list[int]]]
_BLOCK = 4096
# With many labels use fewer points, so that a block stays in the cache.
_FEWEST, _CELLS = 64, 1 << 17


@dataclass(frozen=True)
class Verdicts:
    """The verdicts on points over all worlds, points × labels.

    ``possible``: the labels that no label dominates, which for complete points are exactly those
    that win or tie in some world (T3). ``min_log`` and ``max_log``: the range of each label's log
    support over all worlds, for display.
    """

    possible: NDArray[np.bool_]
    min_log: Floats
    max_log: Floats

    def __len__(self) -> int:
        return len(self.possible)

    @cached_property
    def certain(self) -> NDArray[np.bool_]:
        """Which points have the same label in every world."""
        certain: NDArray[np.bool_] = self.possible.sum(axis=1) == 1
        return certain

    @cached_property
    def winner(self) -> NDArray[np.int32]:
        """The position of the certain label of each certain point, -1 for the others."""
        return np.where(self.certain, self.possible.argmax(axis=1), -1).astype(np.int32)

    def take(self, places: NDArray[np.intp] | slice) -> Verdicts:
        """Return the verdicts of some of the points."""
        return Verdicts(self.possible[places], self.min_log[places], self.max_log[places])


def verdicts(model: Model, points: Points) -> Verdicts:
    """Find the undominated labels of every point, exactly (T3, T4)."""
    n = len(points)
    possible = np.empty((n, model.m), dtype=bool)
    sums = np.empty((n, 2 * model.m))
    complete = points.complete
    table, rows = _term_rows(model, points)
    # Equal points are judged once: a table of ties has many of them.
    known: dict[bytes, list[bool]] = {}
    step = max(_FEWEST, min(_BLOCK, _CELLS // model.m))
    scratch = np.empty((2, min(step, n), 2 * model.m))
    for start in range(0, n, step):
        block = slice(start, min(start + step, n))
        _sum_up(model, table, rows(block), sums[block], scratch)
        possible[block], unclear = _compare(model, sums[block])
        for place in (start + (unclear & complete[block]).nonzero()[0]).tolist():
            key = points.codes[:, place].tobytes()
            if key not in known:
                known[key] = _possible_exactly(model, *point_counts(model, points.codes[:, place]))
            possible[place] = known[key]
    holed = np.flatnonzero(~complete)
    if len(holed):
        possible[holed] = _possible_with_holes(model, points.take(holed))
    return Verdicts(possible, sums[:, : model.m], sums[:, model.m :])


def point_counts(model: Model, codes: Iterable[int]) -> Box:
    """Return the low and the high counts of a complete point, as integers, label by label."""
    boxes = [model.box(j, np.array([code])) for j, code in enumerate(codes)]
    low, high = (np.concatenate(side).T.tolist() for side in zip(*boxes, strict=True))
    return low, high


def dominates(model: Model, points: Points, position: int, i: int, k: int) -> bool:
    """Decide whether label ``i`` beats ``k`` in every world and completion of a point (T4)."""
    low, high = point_counts(model, worst_completion(model, points, position, i, k))
    return model.exceeds(i, low[i], k, high[k])


def worst_completion(model: Model, points: Points, position: int, i: int, k: int) -> list[int]:
    """Choose, feature by feature, the candidate that is worst for ``i`` against ``k`` (T4)."""
    worst = []
    for j in range(model.d):
        candidates = np.array(points.candidates(j, int(points.codes[j, position])))
        low, high = model.box(j, candidates)
        place = least_ratio(model, low[:, i].tolist(), high[:, k].tolist())
        worst.append(int(candidates[place]))
    return worst


def least_ratio(model: Model, low: list[int], high: list[int]) -> int:
    """Find the smallest a/b, both smoothed; a = 0 beats all, since a support of 0 exceeds nothing."""
    p, q = model.alpha.as_integer_ratio()
    pairs = [(a * q + p, b * q + p) for a, b in zip(low, high, strict=True)]
    least = 0
    for place, (a, b) in enumerate(pairs):
        best_a, best_b = pairs[least]
        if best_a and (a == 0 or a * best_b < best_a * b):
            least = place
    return least


def _term_rows(model: Model, points: Points) -> tuple[Floats, Callable[[slice], NDArray[np.int32]]]:
    """Return a table of log terms and, for a block of points, the row of each feature's term in it."""
    table, starts = model.terms
    # Wide features, and those where some cell may hold several values, have rows for their codes alone.
    special = np.flatnonzero(points.holes.any(axis=1) | (points.n_values > WIDE)).tolist()
    if not special:
        return table, lambda block: points.codes[:, block] + starts[:, None]
    tables, places, size = [table], {}, len(table)
    for j in special:
        used, inverse = points.used(j)
        rows = np.empty((len(used), 2 * model.m))
        for own, code in zip(rows, used.tolist(), strict=True):
            terms = model.term_rows(j, np.array(points.candidates(j, code)))
            # The least low terms and the greatest high ones of all candidates.
            own[: model.m] = terms[:, : model.m].min(axis=0)
            own[model.m :] = terms[:, model.m :].max(axis=0)
        tables.append(rows)
        places[j] = inverse + size
        size += len(used)

    def rows_of(block: slice) -> NDArray[np.int32]:
        found = points.codes[:, block] + starts[:, None]
        for j, place in places.items():
            found[j] = place[block]
        return found

    return np.vstack(tables), rows_of


def _sum_up(
    model: Model, table: Floats, rows: NDArray[np.int32], total: Floats, scratch: Floats
) -> None:
    """Add up the log supports of a block of points: least for every label, then greatest."""
    prior = np.concatenate([model.log_prior, model.log_prior])
    # Partial sums stay in the cache; the results, which are new memory, are written once.
    running, terms = scratch[:, : len(total)]
    so_far, places = prior, rows.astype(np.intp)
    for row in places[:-1]:
        so_far = np.add(so_far, table.take(row, axis=0, mode="clip", out=terms), out=running)
    np.add(so_far, table.take(places[-1], axis=0, mode="clip", out=terms), out=total)


def _compare(model: Model, sums: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which labels of each point are possible by T3, and at which points floats cannot tell.

    All log terms are at most 0, so a sum is the negative of its magnitude.
    """
    by_label = np.ascontiguousarray(sums.T)
    low, high = by_label[: model.m], by_label[model.m :]
    top, second = low[0], np.full(len(sums), -np.inf)
    for own in low[1:]:
        second = np.maximum(second, np.minimum(top, own))
        top = np.maximum(top, own)
    # Labels that share the greatest least support have each other as a rival.
    rival = np.where(low == top, second, top)
    with np.errstate(invalid="ignore"):
        gap = high - rival
        unclear = (np.abs(gap) <= model.slack(-(high + rival))) & np.isfinite(gap)
    # A rival with least support 0 exceeds nothing, whatever the logs of 0 subtract to.
    possible = (gap > 0) | (rival == -np.inf)
    return possible.T, np.logical_or.reduce(unclear)


def _possible_exactly(model: Model, low: list[list[int]], high: list[list[int]]) -> list[bool]:
    """Return the possible labels by T3: each is compared with the greatest least support of the others."""
    strongest = [0]
    for k in range(1, model.m):
        # A tie keeps both: which of them is named first makes no difference.
        place = sum(model.exceeds(other, low[other], k, low[k]) for other in strongest)
        strongest = [*strongest[:place], k, *strongest[place:]][:2]
    return [
        not any(model.exceeds(k, low[k], i, high[i]) for k in strongest if k != i)
        for i in range(model.m)
    ]


def _possible_with_holes(model: Model, points: Points) -> NDArray[np.bool_]:
    """Find the undominated labels of incomplete points: pairwise worst cases add up (T4)."""
    possible = np.empty((len(points), model.m), dtype=bool)
    block = max(1, _BLOCK // model.m)
    tables = [_pair_table(model, points, j) for j in range(model.d)]
    magnitude = sum(bound for _, _, bound in tables)
    with np.errstate(invalid="ignore"):
        base = model.log_prior[:, None] - model.log_prior[None, :]
    magnitude += float(np.abs(base[np.isfinite(base)]).sum())
    slack = 2 * model.slack(magnitude)
    itself = np.eye(model.m, dtype=bool)
    for start in range(0, len(points), block):
        part = slice(start, min(start + block, len(points)))
        gap = np.repeat(base[None], part.stop - part.start, axis=0)
        with np.errstate(invalid="ignore"):
            for table, places, _ in tables:
                gap += table[places[part]]
        # -inf (the label may have support 0) outweighs +inf (its rival surely has), and so it is for
        # labels without a prior.
        gap[np.isnan(gap)] = -np.inf
        gap[:, itself] = -np.inf
        ahead = gap > 0
        unclear = np.abs(gap) <= slack
        # A label that another surely dominates is out already, whatever the rest of its pairs say.
        unclear &= ~(ahead & ~unclear).any(axis=1)[:, None]
        for position, i, k in np.argwhere(unclear):
            ahead[position, i, k] = dominates(model, points, start + int(position), i, k)
        possible[part] = ~ahead.any(axis=1)
    return possible


def _pair_table(model: Model, points: Points, j: int) -> tuple[Floats, NDArray[np.intp], float]:
    """Return per used code and pair of labels the least log ratio over its candidates; NaN for 0 over 0."""
    used, places = points.used(j)
    table = np.empty((len(used), model.m, model.m))
    bound = 0.0
    for place, code in enumerate(used):
        candidates = np.array(points.candidates(j, int(code)))
        low, high = (model.log_terms(j, side) for side in model.box(j, candidates))
        for i in range(model.m):
            with np.errstate(invalid="ignore"):
                ratio = low[:, i : i + 1] - high
            table[place, i] = ratio.min(axis=0)
        magnitudes = [-terms[np.isfinite(terms)].min(initial=0.0) for terms in (low, high)]
        bound = max(bound, float(sum(magnitudes)))
    return table, places, bound
