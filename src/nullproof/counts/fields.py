"""The five fields of an index, and how to add and change indexes without counting again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from nullproof.data.labels import label_positions
from nullproof.data.schema import Feature, Schema
from nullproof.data.types import text
from nullproof.errors import NullproofError

Counts = NDArray[np.int64]
# By candidate set, the cells of each label.
CandidateSets = dict[tuple[int, ...], Counts]
# The count of a feature that a point leaves out: its factor is 1, whatever the label (theory 9).
LEFT_OUT = -1


@dataclass(frozen=True)
class Cells:
    """``n_cells`` cells of one label and feature, with the same candidates (positions of values).

    One candidate means cells that are known to hold it.
    """

    label: int
    feature: int
    candidates: tuple[int, ...]
    n_cells: int


@dataclass(frozen=True, eq=False, repr=False)
class IndexFields:
    """The five fields of an index, which add up over parts of a table.

    Parameters
    ----------
    schema
        Features with their domains, and labels.
    label_counts
        Rows per label.
    known
        Per feature: cells known to hold a value, values × labels.
    n_null
        Cells that may hold any value of their domain, features × labels.
    sets
        Per feature: cells with several candidates, as counts per label for each candidate set.
    """

    schema: Schema
    label_counts: Counts
    known: tuple[Counts, ...]
    n_null: Counts
    sets: tuple[CandidateSets, ...]

    @property
    def labels(self) -> tuple[Any, ...]:
        """The labels, sorted."""
        return self.schema.labels

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features, in the order that points are given in."""
        return tuple(feature.name for feature in self.schema.features)

    @property
    def n_values(self) -> NDArray[np.int64]:
        """The size of each feature's domain."""
        return self.schema.n_values

    @property
    def n_rows(self) -> int:
        return int(self.label_counts.sum())

    @property
    def n_missing(self) -> int:
        """Cells with more than one candidate."""
        return int(self.n_open.sum())

    @cached_property
    def n_open(self) -> Counts:
        """Features × labels: cells with more than one candidate."""
        n_open = self.n_null.copy()
        for j, sets in enumerate(self.sets):
            for counts in sets.values():
                n_open[j] += counts
        return n_open

    # The box of counts (theory 1).

    def exact(self, j: int, codes: NDArray[Any] | None = None) -> Counts:
        """Return the cells of feature ``j`` that are known to hold each value, values × labels.

        The last row, code ``n_values``, is for values outside the domain and always zero. ``codes``
        picks rows; the code after the last, for a feature that a point leaves out, has no counts.
        """
        wanted, counts = self._wanted(j, codes), self.known[j]
        inside = (wanted < len(counts))[:, None]
        return np.where(inside, counts.take(wanted, axis=0, mode="clip"), 0)

    def low(self, j: int, codes: NDArray[Any] | None = None) -> Counts:
        """Return the cells of feature ``j`` that hold each value in every world; as `exact`.

        `LEFT_OUT` where the code says that the point leaves the feature out.
        """
        wanted, counts = self._wanted(j, codes), self.exact(j, codes)
        if self.n_values[j] == 1:
            # A domain of one value leaves its missing cells no choice (theory 1).
            counts += np.where((wanted == 0)[:, None], self.n_null[j], 0)
        counts[wanted > self.n_values[j]] = LEFT_OUT
        return counts

    def high(self, j: int, codes: NDArray[Any] | None = None) -> Counts:
        """Return the cells of feature ``j`` that hold each value in some world; as `low`."""
        wanted, size = self._wanted(j, codes), int(self.n_values[j])
        counts = self.exact(j, codes) + np.where((wanted < size)[:, None], self.n_null[j], 0)
        for candidates, cells in self.sets[j].items():
            counts += np.where(np.isin(wanted, candidates)[:, None], cells, 0)
        counts[wanted > size] = LEFT_OUT
        return counts

    def _wanted(self, j: int, codes: NDArray[Any] | None) -> NDArray[Any]:
        return np.arange(int(self.n_values[j]) + 1) if codes is None else np.asarray(codes)

    # Cells that are filled or blanked.

    def filled(self, j: int, labels: NDArray[np.integer], codes: NDArray[np.integer]) -> Self:
        """Return the index after missing cells of feature ``j`` got their values, as codes."""
        return self._moved([(j, codes, labels, 1)])

    def blanked(self, cells: Iterable[Cells]) -> Self:
        """Return the index after cells were blanked; no more can be blanked than are counted."""
        # One candidate each: the cells are known.
        found = self._moved(
            (own.feature, own.candidates[0], own.label, -own.n_cells) for own in cells
        )
        found._refuse_negative(
            "column {feature!r} has fewer cells with that label and value than are to be blanked; "
            "blank no more than are counted"
        )
        return found

    def _moved(self, moves: Iterable[tuple[int, Any, Any, int]]) -> Self:
        """Fill missing cells of a feature, by value and label, or blank known ones."""
        known, n_null = [*self.known], self.n_null.copy()
        for j, codes, labels, n_cells in moves:
            if known[j] is self.known[j]:
                known[j] = known[j].copy()
            np.add.at(known[j], (codes, labels), n_cells)
            np.subtract.at(n_null[j], labels, n_cells)
        return replace(self, known=tuple(known), n_null=n_null)

    def _refuse_negative(self, wrong: str) -> None:
        """Reject negative counts: more was taken away than there was."""
        fields = zip(self.schema.features, self.known, self.n_null, self.sets, strict=True)
        for feature, known, n_null, sets in fields:
            if any((counts < 0).any() for counts in (known, n_null, *sets.values())):
                raise NullproofError(wrong.format(feature=feature.name))

    # Whole indexes.

    def widened(self, schema: Schema) -> Self:
        """Return the same rows counted by a schema with more labels, values or features, in any order.

        A feature that is new had no known value in these rows: all its cells are missing.
        """
        labels = label_positions(schema, self.labels)

        def spread(counts: Counts) -> Counts:
            wider = np.zeros(len(schema.labels), dtype=np.int64)
            wider[labels] = counts
            return wider

        label_counts = spread(self.label_counts)
        known, sets = [], []
        n_null = np.repeat(label_counts[None], len(schema.features), axis=0)
        for place, feature in enumerate(schema.features):
            table = np.zeros((feature.n_values, len(label_counts)), dtype=np.int64)
            own_sets: CandidateSets = {}
            j = self.schema.position.get(feature.name)
            if j is not None:
                codes = _codes_in(feature, self.schema.features[j])
                table[np.ix_(codes, labels)] = self.known[j]
                n_null[place] = spread(self.n_null[j])
                for candidates, cells in self.sets[j].items():
                    own_sets[tuple(sorted(codes[list(candidates)].tolist()))] = spread(cells)
            known.append(table)
            sets.append(own_sets)
        return replace(
            self,
            schema=schema,
            label_counts=label_counts,
            known=tuple(known),
            n_null=n_null,
            sets=tuple(sets),
        )

    def _in_order_of(self, schema: Schema) -> Self | None:
        """Return the counts in the order of another schema; None if more than the order differs."""
        same_labels = [*map(text, self.labels)] == [*map(text, schema.labels)]
        same = same_labels and {*self.schema.features} == {*schema.features}
        return self.widened(schema) if same else None

    def __add__(self, other: object) -> Self:
        """Return the counts of both: further rows, or another part of a table."""
        return self._plus(other, 1) if isinstance(other, IndexFields) else NotImplemented

    def __sub__(self, other: object) -> Self:
        """Return the counts without those of some rows."""
        if not isinstance(other, IndexFields):
            return NotImplemented
        found = self._plus(other, -1)
        found._refuse_negative(
            "a row to take away has a cell in column {feature!r} that is not counted with that label; give "
            "rows as they were when they were counted"
        )
        return found

    def _plus(self, other: IndexFields, sign: int) -> Self:
        alike = other._in_order_of(self.schema)
        if alike is None:
            raise NullproofError(
                "the two indexes differ in labels, features or domains; "
                "count the second with like= the first"
            )
        sets: list[CandidateSets] = []
        none = np.zeros_like(self.label_counts)
        for mine, theirs in zip(self.sets, alike.sets, strict=True):
            keys = sorted({*mine, *theirs})
            both = {key: mine.get(key, none) + sign * theirs.get(key, none) for key in keys}
            sets.append({key: counts for key, counts in both.items() if counts.any()})
        return replace(
            self,
            label_counts=self.label_counts + sign * alike.label_counts,
            known=tuple(a + sign * b for a, b in zip(self.known, alike.known, strict=True)),
            n_null=self.n_null + sign * alike.n_null,
            sets=tuple(sets),
        )

    def __eq__(self, other: object) -> bool:
        """Same domains, labels and counts; the order of the features does not matter."""
        if not isinstance(other, IndexFields):
            return NotImplemented
        alike = other._in_order_of(self.schema)
        if alike is None:
            return False

        def counts(index: IndexFields) -> list[Counts]:
            sets = [cells for own in index.sets for _, cells in sorted(own.items())]
            return [index.label_counts, index.n_null, *index.known, *sets]

        same_sets = [own.keys() for own in self.sets] == [own.keys() for own in alike.sets]
        return same_sets and all(map(np.array_equal, counts(self), counts(alike)))

    __hash__ = None  # type: ignore[assignment]


Index = TypeVar("Index", bound=IndexFields)


def _codes_in(wider: Feature, feature: Feature) -> NDArray[np.intp]:
    """Return the code of each value in a wider domain; bins are the same whatever their texts."""
    if feature.edges:
        bins = np.searchsorted(np.array(wider.bins), np.array(feature.bins))
        return np.append(bins, wider.missing_code) if feature.missing_is_value else bins
    if wider.values == feature.values:
        return np.arange(feature.n_values)
    return np.array([wider.codes[value] for value in feature.values])
