"""The radius of incomplete points is that of their weakest completion.

A few completions are tried one by one. Where there are many, a few are picked, and what those leave open is
searched by spending cells (T15).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nullproof.data.points import Points
from nullproof.model.verdicts import verdicts
from nullproof.progress import Progress, over
from nullproof.radii.bounds import Bounds
from nullproof.radii.completions import Completions
from nullproof.radii.results import Radii
from nullproof.radii.solving import solve
from nullproof.radii.spending import Choice, Spending
from nullproof.reasons import too_many_completions

MAX_COMPLETIONS = 65_536
# So much work of spending is too long, or takes as long as trying one completion.
MOST_WORK, WORK_OF_ONE = 1e9, 1e4


def record_weakest(
    result: Radii, points: Points, places: NDArray[np.intp], on_progress: Progress | None
) -> dict[int, str]:
    """Fill in the radii of incomplete points; return why some are not worked out."""
    completions = Completions(result.model, points, result.reach)
    waiting = over(places.tolist(), result.doing, on_progress)
    for codes, owners in completions.batches(waiting, result.winner):
        _try(result, codes, owners)
    # Of added rows the completions that were picked are enough.
    return {} if result.threat == "rows" else _search(result, completions)


def record(result: Radii, places: NDArray[np.intp], solved: Bounds) -> None:
    """Take over what was found for some of the points."""
    result.radius[places] = solved.at_most
    result.overtaker[places] = solved.rival
    result.n_raise[places] = solved.n_raise
    result.n_lower[places] = solved.n_lower


def _try(result: Radii, codes: NDArray[np.int32], owners: NDArray[np.intp]) -> None:
    """Solve the completions of some points and keep the weakest of each."""
    model = result.model
    found = verdicts(model, Points.without_holes(codes, model.index.n_values))
    solved = solve(result, codes, result.winner[owners], found)
    order = np.lexsort((solved.at_most, owners))
    places, first = np.unique(owners[order], return_index=True)
    weakest = order[first]
    record(result, places, solved.at(weakest))
    result.codes[:, places] = codes[:, weakest]


def _search(result: Radii, completions: Completions) -> dict[int, str]:
    """Find weaker completions of points whose completions were too many to try; say where it failed."""
    left = {}
    for place in completions.picked:
        winner = int(result.winner[place])
        if not _found_weakest(result, completions, place):
            n_completions = completions.n_completions(place, winner)
            if n_completions > MAX_COMPLETIONS:
                left[place] = too_many_completions(n_completions, MAX_COMPLETIONS)
            else:
                codes = completions.every(place, winner)
                _try(result, codes, np.full(n_completions, place))
    return left


def _found_weakest(result: Radii, completions: Completions, place: int) -> bool:
    """Look for an attack with fewer cells than the best one known; False if that cannot be told (T15)."""
    model, winner = result.model, int(result.winner[place])
    if not model.floats_hold:
        return False
    values, codes = completions.choices(place, winner), result.codes[:, place : place + 1].copy()
    # There may be more completions than a double can hold.
    n_completions = min(completions.n_completions(place, winner), 10**9)
    longest = min(MOST_WORK, WORK_OF_ONE * n_completions)
    known = [j for j, own in enumerate(values) if own[0] <= model.index.n_values[j]]
    for rival in (label for label in range(model.m) if label != winner):
        pair, at_most = (winner, rival), float(result.radius[place]) - 1
        choices = [Choice.of(model, result.reach, j, values[j], pair) for j in known]
        spending = Spending(model, pair, choices)
        if spending.is_hopeless():
            continue
        if spending.work(at_most) > longest:
            return False
        fewest = spending.fewest(at_most)
        if fewest is not None:
            for j, value in fewest[1].items():
                codes[j] = value
            _try(result, codes, np.array([place]))
            # Another rival may break this completion with fewer.
            if result.radius[place] > fewest[0]:
                return False
    return True
