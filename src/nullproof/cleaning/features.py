"""Which features cause the uncertainty: what would become certain if one of them were complete.

Two answers for each feature. *As the known cells*: its holes are filled in the proportions in which
the known cells of the same label hold the values, and then the points are certified again. *Could*:
some way to fill its holes makes the point certain, whatever the holes of other features hold.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.boxes import Ranges
from nullproof.cleaning.best_case import Winning
from nullproof.counts.index import CountIndex
from nullproof.counts.sparse import Counts, DenseCounts
from nullproof.model import Model
from nullproof.tables.points import Points, evenly
from nullproof.verdicts import Verdicts, verdicts
from nullproof.words import text

MOST_POINTS = 500
MOST_FEATURES = 40
_BLOCK = 20_000
# A point with holes costs time for every feature and label, again for each feature that is judged.
_BUDGET = 8_000
MEANING = (
    "Complete means: the holes of this feature are filled, all others stay open. Would: the holes "
    "are filled in the proportions of the known cells of the same label (whole cells by largest "
    "remainder; evenly where none is known), and a point's own hole takes the value that is known "
    "most often. Could: the share of points that some filling of this feature's holes makes certain; "
    "no filling helps the others."
)


def features(model: Model, points: Points, found: Verdicts) -> dict[str, Any]:
    """Judge every feature with holes by the open points that its completion makes certain."""
    index, n_missing = model.index, model.index.missing_cells()[0].sum(axis=1)
    open_ones = np.flatnonzero(~found.certain)
    judged = evenly(open_ones, MOST_POINTS)
    some, possible = points.take(judged), found.possible[judged]
    own_holes = some.holes.any(axis=1)
    order = np.argsort(-n_missing, kind="stable")
    order = order[((n_missing > 0) | own_holes)[order]]
    n_features = MOST_FEATURES
    if not some.complete.all():
        n_features = min(n_features, max(1, _BUDGET // (model.d * (model.m + 1))))
    told: list[dict[str, Any]] = []
    for j in order[:n_features].tolist():
        n_certain = int(certain_if_filled(model, some, j).sum())
        n_could = int(could_be_certain(model, some, possible, j).sum())
        told.append(
            {
                "feature": text(index.features[j]),
                "n_missing": int(n_missing[j]),
                "n_certain": n_certain,
                "share": n_certain / len(judged) if len(judged) else None,
                "n_could": n_could,
                "share_could": n_could / len(judged) if len(judged) else None,
            }
        )
    told.sort(key=lambda row: (-row["n_certain"], -row["n_could"]))
    return {
        "meaning": MEANING,
        "n_open": len(open_ones),
        "n_judged": len(judged),
        "n_left_off": max(0, len(order) - n_features),
        "features": told,
    }


def certain_if_filled(model: Model, points: Points, j: int) -> NDArray[np.bool_]:
    """Which points are certain once the holes of a feature are filled like its known cells."""
    index = model.index
    completed = model.on(_with_counts(index, j, filled_counts(index, j)))
    return verdicts(completed, _own_filled(index, points, j)).certain


def could_be_certain(
    model: Model, points: Points, possible: NDArray[np.bool_], j: int
) -> NDArray[np.bool_]:
    """Which points some filling of a feature's holes makes certain."""
    could = np.zeros(len(points), dtype=bool)
    whole, holed = np.flatnonzero(points.complete), np.flatnonzero(~points.complete)
    if len(whole):
        some = points.take(whole)
        winning = Winning(model, some, Ranges.of(model.index, some))
        for i in range(model.m):
            winning.fill(i, j, model.index.n_rows)
        could[whole] = winning.judge()
    if len(holed):
        could[holed] = _holed_could(model, points.take(holed), possible[holed], j)
    return could


def _holed_could(
    model: Model, points: Points, possible: NDArray[np.bool_], j: int
) -> NDArray[np.bool_]:
    """The same for points with holes of their own.

    What is best for label ``i`` is that its own holes take the point's value and those of its rivals
    do not. Labels share no cells, so one filling does both (T1).
    """
    index, could = model.index, np.zeros(len(points), dtype=bool)
    low, high = index.low(j)[:-1], index.high(j)[:-1]
    every, owners = _own_completions(points, j, np.hstack([low, high]))
    for i in np.flatnonzero(possible.any(axis=0)).tolist():
        asked = np.flatnonzero(possible[owners, i] & ~could[owners])
        counts = low.copy()
        counts[:, i] = high[:, i]
        best = model.on(_with_counts(index, j, counts))
        for start in range(0, len(asked), _BLOCK):
            some = asked[start : start + _BLOCK]
            codes = points.codes[:, owners[some]]
            codes[j] = every[some]
            could[owners[some[verdicts(best, points.with_codes(codes)).certain]]] = True
    return could


def filled_counts(index: CountIndex, j: int) -> Counts:
    """The counts of a feature, values × labels, with its holes filled in proportion."""
    known = index.exact(j)[:-1]
    filled = known.copy()
    everything = tuple(range(len(known)))
    # A set of all values is no different from a missing cell.
    n_open = index.n_null[j] + index.sets[j].get(everything, 0)
    for candidates, n_cells in {**index.sets[j], everything: n_open}.items():
        rows = np.array(candidates)
        for i in np.flatnonzero(n_cells).tolist():
            filled[rows, i] += shared_out(int(n_cells[i]), known[rows, i])
    return filled


def shared_out(n_cells: int, weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Whole numbers in proportion to the weights, by largest remainder; earlier ones win ties."""
    if not weights.any():
        weights = np.ones_like(weights)
    whole, rest = np.divmod(n_cells * weights, weights.sum())
    whole[np.argsort(-rest, kind="stable")[: n_cells - int(whole.sum())]] += 1
    return whole


def _with_counts(index: CountIndex, j: int, counts: Counts) -> CountIndex:
    """The index with a feature of which all cells are known."""
    known, sets, n_null = list(index.known), list(index.sets), index.n_null.copy()
    known[j], sets[j], n_null[j] = DenseCounts(counts), {}, 0
    return replace(index, known=tuple(known), n_null=n_null, sets=tuple(sets))


def _own_filled(index: CountIndex, points: Points, j: int) -> Points:
    """The points with their holes in a feature filled by the value known most often."""
    holes = points.holes[j]
    if not holes.any():
        return points
    codes, n_known = points.codes.copy(), index.exact(j).sum(axis=1)
    for code in np.unique(codes[j][holes]).tolist():
        candidates = points.candidates(j, code)
        codes[j][points.codes[j] == code] = max(candidates, key=lambda c: (n_known[c], -c))
    return points.with_codes(codes)


def _own_completions(
    points: Points, j: int, counts: Counts
) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """The values that each point's cell in a feature may hold, and whose they are.

    Of values with the same counts one stands for all, so that a point with a hole in a column of
    names is not looked at once for every name.
    """
    values = {
        code: _different(counts, points.candidates(j, code)) for code in points.used(j)[0].tolist()
    }
    own = [values[code] for code in points.codes[j].tolist()]
    owners = np.repeat(np.arange(len(points)), [len(codes) for codes in own])
    return np.array([c for codes in own for c in codes], dtype=np.int32), owners


def _different(counts: Counts, candidates: tuple[int, ...]) -> list[int]:
    """Candidates of which no two have the same counts; one outside the domain has none."""
    outside = [code for code in candidates if code >= len(counts)]
    inside = np.array([code for code in candidates if code < len(counts)], dtype=np.intp)
    _, first = np.unique(counts[inside], axis=0, return_index=True)
    return [*inside[first].tolist(), *outside]
