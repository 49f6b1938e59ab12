"""What an index counts: features with their closed domains, and labels.

A code is the position of a value in its feature's domain; `values.py` tells which text a value
has there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nullproof.tables.spellings import Spellings
from nullproof.tables.values import LARGEST_DOUBLE_INTEGER, as_number, text
from nullproof.words import many, some

Kind = Literal["category", "boolean", "number", "date", "code"]


@dataclass(frozen=True)
class Feature:
    """One column of the training table and its closed domain.

    Parameters
    ----------
    kind
        ``"category"``, ``"boolean"``, ``"number"``, ``"date"``, or ``"code"`` (integers 0, 1, …, negative =
        missing).
    values
        The domain as text, in a fixed order; a bin is written by what the training table shows in it.
    edges
        Bin edges of a binned number or date (microseconds since 1970); empty where every value is
        its own category.
    bins
        For binned columns: which bin each value of the domain is.
    """

    name: str
    kind: Kind
    values: tuple[str, ...]
    edges: tuple[float, ...] = ()
    bins: tuple[int, ...] = ()

    @property
    def n_values(self) -> int:
        return len(self.values)

    @cached_property
    def domain(self) -> frozenset[str]:
        return frozenset(self.values)

    @cached_property
    def codes(self) -> dict[str, int]:
        return {value: code for code, value in enumerate(self.values)}

    @cached_property
    def has_large_integers(self) -> bool:
        """Whether the domain of an unbinned number holds integers that doubles may mix up."""
        found = (as_number(value) for value in self.values)
        return any(isinstance(x, int) and abs(x) > LARGEST_DOUBLE_INTEGER for x in found)

    @cached_property
    def sorted_numbers(self) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """The domain of an unbinned number as sorted doubles, and the code of each."""
        found = np.array([float(value) for value in self.values], dtype=np.float64)
        order = np.argsort(found)
        return found[order], order

    def __repr__(self) -> str:
        values = f"{many(self.n_values, 'value')}: {some(self.values, 4)}"
        return f"Feature({self.name!r}, {self.kind}, {values})"


@dataclass(frozen=True)
class Schema:
    """What an index counts by.

    Parameters
    ----------
    features, labels
        In order, with the features' domains.
    missing, missing_only
        Spellings of missing besides the usual ones, or instead of them.
    left_out
        Columns that only name the rows, and are no features.
    writings
        How the training file wrote the numbers and dates of some features.
    weights
        How much each feature counts, in eighths; empty if all count alike.
    """

    features: tuple[Feature, ...]
    labels: tuple[Any, ...]
    label_name: str = "label"
    missing: tuple[str, ...] = ()
    missing_only: tuple[str, ...] | None = None
    left_out: tuple[str, ...] = ()
    writings: tuple[tuple[str, str], ...] = ()
    weights: tuple[int, ...] = ()

    @cached_property
    def n_values(self) -> NDArray[np.int64]:
        """The size of each feature's domain."""
        return np.array([len(feature.values) for feature in self.features], dtype=np.int64)

    @cached_property
    def spellings(self) -> Spellings:
        """The spellings of missing of every table that is read by this schema."""
        spelled = Spellings.of(self.missing, self.missing_only)
        return spelled.beside(f.domain for f in self.features if f.kind == "category")

    @cached_property
    def label_codes(self) -> dict[str, int]:
        return {text(label): code for code, label in enumerate(self.labels)}

    def row_columns(self, width: int) -> tuple[str, ...]:
        """The columns of a plain row: the features, or those left out too where their names are places.

        The names ``x0``, ``x1``, … of rows without names say where each column stands.
        """
        names = tuple(feature.name for feature in self.features)
        numbered = tuple(f"x{j}" for j in range(width))
        return numbered if {*numbered} == {*names, *self.left_out} else names

    @cached_property
    def position(self) -> dict[str, int]:
        return {feature.name: j for j, feature in enumerate(self.features)}
