"""Indexes made from counts alone, so that a million rows cost nothing, and plain walks over them."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from nullproof.counts.index import CountIndex
from nullproof.counts.sparse import DenseCounts
from nullproof.model import Model
from nullproof.radii.frontier import Frontier
from nullproof.tables.points import Points
from nullproof.tables.schema import Feature, Schema


def index_from_counts(sizes: Sequence[int], known: Sequence[Any]) -> CountIndex:
    """Make an index from counts: per feature and value one number for each label, no holes."""
    features = tuple(
        Feature(f"x{j}", "category", tuple(str(v) for v in range(len(counts))))
        for j, counts in enumerate(known)
    )
    return CountIndex(
        Schema(features, tuple(f"L{i}" for i in range(len(sizes)))),
        np.array(sizes, dtype=np.int64),
        tuple(DenseCounts(np.array(counts, dtype=np.int64)) for counts in known),
        np.zeros((len(known), len(sizes)), dtype=np.int64),
        ({},) * len(known),
    )


def two_labels(sizes: tuple[int, int], winner: Sequence[int], rival: Sequence[int]) -> CountIndex:
    """Make an index with two values a feature, where the point is the first of each."""
    known = [[(w, r), (sizes[0] - w, sizes[1] - r)] for w, r in zip(winner, rival, strict=True)]
    return index_from_counts(sizes, known)


def first_point(index: CountIndex) -> Points:
    """Return the point that has the first value of every feature."""
    d = len(index.features)
    return Points(np.zeros((d, 1), dtype=np.int32), index.n_values, ((),) * d)


def random_index(rng: random.Random, size: int) -> CountIndex:
    """Draw counts directly: skewed, with missing cells and one-value domains."""
    sizes = [max(0, rng.randint(-1, size)) for _ in range(rng.randint(2, 4))]
    sizes[0] = max(sizes[0], 1)
    n_values = [rng.choice([1, 2, 2, 3]) for _ in range(rng.randint(1, 8))]
    draw = np.random.default_rng(rng.randrange(2**32))
    known, n_null = [], []
    for n in n_values:
        parts = [draw.multinomial(n_rows, draw.dirichlet([0.5] * (n + 1))) for n_rows in sizes]
        keeps_holes = rng.random() < 0.4
        n_null.append([int(part[-1]) if keeps_holes else 0 for part in parts])
        for part, holes in zip(parts, n_null[-1], strict=True):
            part[0] += part[-1] - holes
        known.append(np.array([part[:-1] for part in parts]).T)
    index = index_from_counts(sizes, known)
    return CountIndex(
        index.schema, index.label_counts, index.known, np.array(n_null, dtype=np.int64), index.sets
    )


def random_codes(rng: random.Random, index: CountIndex, n_points: int) -> Points:
    """Draw complete points, now and then with a value outside the domain."""
    codes = [
        [rng.randrange(n) if rng.random() < 0.97 else n for _ in range(n_points)]
        for n in index.n_values.tolist()
    ]
    return Points(np.array(codes, dtype=np.int32), index.n_values, ((),) * len(codes))


def frontier_by_steps(
    index: CountIndex, alpha: Any = 0, codes: Sequence[int] | None = None
) -> float:
    """T7, plainly: all greedy count vectors of both sides, two pointers, exact comparisons."""
    model = Model(index, alpha)
    codes = [0] * model.d if codes is None else codes
    low = [[int(index.low(j)[code, i]) for j, code in enumerate(codes)] for i in range(model.m)]
    high = [[int(index.high(j)[code, i]) for j, code in enumerate(codes)] for i in range(model.m)]
    movable = [
        j for j, code in enumerate(codes) if code < index.n_values[j] and index.n_values[j] > 1
    ]
    labels = range(model.m)
    certain = [
        i for i in labels if all(model.exceeds(i, low[i], k, high[k]) for k in labels if k != i)
    ]
    if not certain:
        return 0
    winner, best = certain[0], math.inf
    falling = walk(low[winner], movable, -1, 0)
    for rival in labels:
        if rival == winner:
            continue
        n_lower = len(falling) - 1
        for n_raise, climbed in enumerate(
            walk(high[rival], movable, +1, int(index.label_counts[rival]))
        ):
            while n_lower >= 0 and not model.exceeds(winner, falling[n_lower], rival, climbed):
                best = min(best, n_raise + n_lower)
                n_lower -= 1
    return best


def walk(counts: Sequence[int], movable: Sequence[int], step: int, end: int) -> list[list[int]]:
    """List the counts after 0, 1, 2, … greedy steps."""
    found, current = [list(counts)], list(counts)
    while left := [j for j in movable if current[j] != end]:
        current[min(left, key=current.__getitem__)] += step
        found.append(list(current))
    return found


def exact_radius(model: Model, points: Points, place: int, winner: int) -> float:
    """Let the integers find the radius from nothing, by bisection over the number of cells."""
    index, codes = model.index, points.codes[:, place].tolist()
    movable = [
        j for j, code in enumerate(codes) if code < index.n_values[j] and index.n_values[j] > 1
    ]
    low = [int(index.low(j)[code, winner]) for j, code in enumerate(codes)]
    best = math.inf
    for rival in range(model.m):
        if rival != winner:
            high = [int(index.high(j)[code, rival]) for j, code in enumerate(codes)]
            cap = int(index.label_counts[rival])
            overtaken = functools.partial(_overtaken, model, winner, rival)
            steps = Frontier(low, high, cap, movable=movable, overtaken=overtaken).fewest(1)
            best = min(best, math.inf if steps is None else sum(steps))
    return best


def _overtaken(model: Model, winner: int, rival: int, low: list[int], high: list[int]) -> bool:
    return not model.exceeds(winner, low, rival, high)
