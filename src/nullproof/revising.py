"""Counts of a changed table without counting it again."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from nullproof.building import CandidateSets, Tally
from nullproof.counting import Counts, SparseCounts, cells_of, from_cells
from nullproof.schema import Schema, text

Cells = tuple[int, int, tuple[int, ...], int]


def blank(tally: Tally, cells: Iterable[Cells]) -> Tally:
    """Make cells missing: label, feature, candidates and number of each sort.

    One candidate means cells that are known to hold it.
    """
    known, n_null, sets = list(tally.known), tally.n_null.copy(), list(tally.sets)
    n_labels = len(tally.schema.labels)
    for label, j, candidates, n_cells in cells:
        n_null[j, label] += n_cells
        if len(candidates) > 1:
            left = sets[j][candidates] - n_cells * (np.arange(n_labels) == label)
            others = {key: counts for key, counts in sets[j].items() if key != candidates}
            sets[j] = {**others, candidates: left} if left.any() else others
            continue
        values, labels, counts = cells_of(known[j])
        counts = counts - n_cells * ((values == candidates[0]) & (labels == label))
        shape = (tally.schema.features[j].n_values, n_labels)
        known[j] = from_cells(values, labels, counts, shape)
    return tally._replace(known=tuple(known), n_null=n_null, sets=tuple(sets))


def widen(tally: Tally, schema: Schema) -> Tally:
    """Count the same rows by a schema with more labels, values or features.

    A feature that is new had no known value in these rows: all its cells are missing.
    """
    labels = np.array([schema.label_codes[text(label)] for label in tally.schema.labels])
    n_labels = len(schema.labels)
    label_counts = _spread(tally.label_counts, labels, n_labels)
    known: list[Counts | SparseCounts] = []
    n_null = np.repeat(label_counts[None], len(schema.features), axis=0)
    sets: list[CandidateSets] = []
    for place, feature in enumerate(schema.features):
        j, shape = tally.schema.position.get(feature.name), (feature.n_values, n_labels)
        if j is None:
            nothing = np.empty(0, dtype=np.int64)
            known.append(from_cells(nothing, nothing, nothing, shape))
            sets.append({})
            continue
        codes = np.array([feature.codes[value] for value in tally.schema.features[j].values])
        values, whose, counts = cells_of(tally.known[j])
        known.append(from_cells(codes[values], labels[whose], counts, shape))
        n_null[place, labels] = tally.n_null[j]
        sets.append(
            {
                tuple(sorted(codes[list(candidates)].tolist())): _spread(cells, labels, n_labels)
                for candidates, cells in tally.sets[j].items()
            }
        )
    return Tally(schema, label_counts, tuple(known), n_null, tuple(sets))


def _spread(counts: Counts, labels: NDArray[np.intp], n_labels: int) -> Counts:
    spread = np.zeros(n_labels, dtype=np.int64)
    spread[labels] = counts
    return spread
