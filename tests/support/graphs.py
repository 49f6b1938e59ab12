"""The reduction from vertex cover on regular graphs that shows the joint problem NP-hard."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

from nullproof import CountIndex

PRISM = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)]
CUBE = [(a, b) for a, b in combinations(range(8), 2) if (a ^ b).bit_count() == 1]
PETERSEN = [
    *((i, (i + 1) % 5) for i in range(5)),
    *((i, i + 5) for i in range(5)),
    *((i + 5, (i + 2) % 5 + 5) for i in range(5)),
]


def min_vertex_cover(edges: list[tuple[int, int]]) -> int:
    """Return the size of a smallest vertex cover by trying all sets of vertices."""
    n = 1 + max(map(max, edges))
    for size in range(n + 1):
        for chosen in combinations(range(n), size):
            if all(u in chosen or v in chosen for u, v in edges):
                return size
    raise AssertionError


def three_colouring(edges: list[tuple[int, int]]) -> tuple[int, ...]:
    """Return the first proper colouring with three colours."""
    n = 1 + max(map(max, edges))
    return next(c for c in product(range(3), repeat=n) if all(c[u] != c[v] for u, v in edges))


def cover_index(
    edges: list[tuple[int, int]], colour: tuple[int, ...], heavy: int
) -> tuple[CountIndex, list[tuple[int, ...]]]:
    """Count the table of the reduction, and name its points.

    An edge is a point with its end vertices in the features of their colours and a value of its
    own in the third. Label 0 has each vertex once and each edge's own value ``heavy`` times, label
    1 has every one of them once; all other cells hold values that occur once.
    """
    n = 1 + max(map(max, edges))
    n_rows = n + len(edges) * heavy
    codes = np.full((len(edges), 3), -1, dtype=np.int64)
    held: list[list[tuple[int, int]]] = [[], [], []]
    place = {}
    for vertex in range(n):
        place[vertex] = len(held[colour[vertex]])
        held[colour[vertex]].append((1, 1))
    for row, (u, v) in enumerate(edges):
        third = 3 - colour[u] - colour[v]
        codes[row, [colour[u], colour[v], third]] = place[u], place[v], len(held[third])
        held[third].append((heavy, 1))
    columns = []
    for counts in held:
        fresh = [n_rows - sum(c[label] for c in counts) for label in (0, 1)]
        once = [(1, 0)] * fresh[0] + [(0, 1)] * fresh[1]
        exact = np.array(counts + once, dtype=np.int64)
        values = np.arange(len(exact))
        columns.append(np.concatenate([np.repeat(values, exact[:, label]) for label in (0, 1)]))
    labels = np.repeat([0, 1], n_rows)
    index = CountIndex.from_codes(np.stack(columns, axis=1), labels, weights="equal")
    return index, [tuple(point) for point in codes.tolist()]


def heavy_enough(edges: list[tuple[int, int]]) -> int:
    """Return a count that no attack smaller than the number of vertices can make up for."""
    n = 1 + max(map(max, edges))
    return n + -(-((3 + n) ** 3) // 27) + 1
