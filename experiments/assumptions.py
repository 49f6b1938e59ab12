"""What the assumptions cost: tolerance, a bias, points with holes that are skipped."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.naive_bayes import CategoricalNB

from experiments.decision import FEATURES, ROWS, random_codes
from experiments.measuring import both_times, ratio, shown
from nullproof.counts.index import CountIndex
from nullproof.model.certify import certify
from nullproof.model.tolerance import tolerance

TITLE = "Tolerance, bias and skipped holes"
RUNS = 7
N_PATTERNS, HOLED_SHARE = 100, 0.3


def run(*, quick: bool) -> list[str]:
    n_rows, n_points = (ROWS // 10, 10_000) if quick else (ROWS, 100_000)
    complete, incomplete, labels = random_codes(n_rows)
    index = CountIndex.from_codes(incomplete, labels, weights="equal")
    theirs = CategoricalNB().fit(complete, labels)
    points = _points(2 * n_points)
    some, holed = points[:n_points], _with_holes(points[:n_points])
    ask = partial(certify, index, alpha=1)
    goals = [
        (10.0, "tolerance", "CategoricalNB.predict"),
        (1.3, "certify, bias 0.05", "certify"),
        (1.5, "certify, 30 % of the points with holes", "certify"),
    ]
    wall, processor = both_times(
        RUNS,
        **{
            "CategoricalNB.predict": partial(theirs.predict, some),
            "certify": partial(ask, some),
            "tolerance": partial(tolerance, index, some, alpha=1),
            "certify, bias 0.05": partial(ask, some, bias=0.05),
            "certify, 30 % of the points with holes": partial(ask, holed),
        },
    )
    return [
        f"{n_points:,} points × {FEATURES} features, 2 labels, alpha 1; a training table of {n_rows:,} "
        f"rows with 20 % of its cells missing. Holes of points: {N_PATTERNS} different patterns. Time by "
        "the clock and of the processor, which tells more on a busy machine.",
        "",
        *_spread(index, some),
        "",
        "| what | clock | processor |",
        "|---|---|---|",
        *(f"| {name} | {shown(wall[name])} | {shown(processor[name])} |" for name in wall),
        "",
        "| what | against | ratio, clock | ratio, processor | goal |",
        "|---|---|---|---|---|",
        *(
            f"| {what} | {peer} | {ratio(wall[what], wall[peer]):.2f} "
            f"| {ratio(processor[what], processor[peer]):.2f} | {goal:g} |"
            for goal, what, peer in goals
        ),
        "",
        *_growth(partial(tolerance, index, alpha=1), points, n_points // 4),
    ]


def _points(n_points: int) -> NDArray[np.int64]:
    return np.ascontiguousarray(random_codes(n_points, seed=1)[0].astype(np.int64))


def _with_holes(points: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same points, some of them with holes in one of a few patterns."""
    rng = np.random.default_rng(2)
    patterns = rng.random((N_PATTERNS, FEATURES)) < 0.2
    patterns[:, 0] |= ~patterns.any(axis=1)
    which = rng.integers(0, N_PATTERNS, len(points))
    is_holed = rng.random(len(points)) < HOLED_SHARE
    return np.where(patterns[which] & is_holed[:, None], -1, points)


def _spread(index: CountIndex, points: NDArray[np.int64]) -> list[str]:
    found = tolerance(index, points, alpha=1)
    searched = (found < 1).mean()
    return [
        f"{searched:.0%} of the points have a tolerance between 0 and 1, which has to be searched for; "
        f"{(found == 1).mean():.1%} are certain, {np.isnan(found).mean():.1%} are open even at a bias of 0."
    ]


def _growth(
    ask: Callable[[NDArray[np.int64]], Any], points: NDArray[np.int64], n_first: int
) -> list[str]:
    sizes = {f"{n_first * factor:,}": n_first * factor for factor in (1, 2, 4, 8)}
    wall, processor = both_times(
        5, **{name: partial(ask, points[:size]) for name, size in sizes.items()}
    )
    least = ratio(processor[next(iter(sizes))], [n_first])
    return [
        "| points | tolerance, clock | processor | processor time a point, times that of the first line |",
        "|---|---|---|---|",
        *(
            f"| {name} | {shown(wall[name])} | {shown(processor[name])} "
            f"| {ratio(processor[name], [size]) / least:.2f} |"
            for name, size in sizes.items()
        ),
        "",
    ]
