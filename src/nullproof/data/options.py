"""The options for reading a table and turning its columns into features, shared by all callers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from typing import Any, Literal, get_args

from nullproof.data.binning import Binning
from nullproof.data.missing import REST, Missing, Spellings
from nullproof.data.schema import ONE, Feature, Schema
from nullproof.data.sources import (
    AS_IT_IS,
    FileOptions,
    Reading,
    Table,
    open_table,
    refuse_unknown,
)
from nullproof.data.types import is_missing, is_whole, text
from nullproof.errors import NullproofError

# How many bins "uniform" and "quantile" make unless a number is given.
BINS = 5
Unlabelled = Literal["refuse", "drop"]
Weights = Literal["learned", "equal"] | Mapping[str, float]
# Weights are multiples of 1/8 from 0 to this.
MOST_WEIGHT = 2


@dataclass(frozen=True)
class TableOptions:
    """The options of a table, checked; `CountIndex.from_table` explains each of them."""

    missing: Spellings = ()
    bins: int = BINS
    binning: Binning | Mapping[str, Binning] = "mdl"
    domains: Mapping[str, Iterable[Any]] = field(default_factory=dict)
    ignore: Collection[str] = ()
    unlabelled: Unlabelled = "refuse"
    file: FileOptions = AS_IT_IS
    keep: Collection[str] = ()
    missing_only: Collection[str] | None = None
    missing_is_value: Collection[str] = ()
    weights: Weights = "learned"

    def __post_init__(self) -> None:
        for option in ("ignore", "keep", "missing_is_value"):
            names = getattr(self, option)
            names = (names,) if isinstance(names, str) else tuple(names)
            object.__setattr__(self, option, names)
        if not isinstance(self.missing, Mapping):
            object.__setattr__(self, "missing", Missing.of(self.missing).named)
        self.spelled  # noqa: B018 (options that contradict each other are rejected)
        self._check_binning()
        self._check_weights()
        if self.unlabelled not in get_args(Unlabelled):
            raise NullproofError(
                f"unlabelled is {self.unlabelled!r}; give 'refuse', or 'drop' to leave out the rows that "
                "have no label"
            )
        for name, values in self.domains.items():
            if isinstance(values, str):
                raise NullproofError(
                    f"domains gives {values!r} for {name!r}; give a list of values"
                )
        # They are read more than once.
        listed = {name: list(values) for name, values in self.domains.items()}
        object.__setattr__(self, "domains", listed)

    def _check_binning(self) -> None:
        ways = [*self.binning.values()] if isinstance(self.binning, Mapping) else [self.binning]
        for how in ways:
            if not isinstance(how, str) or how not in get_args(Binning):
                raise NullproofError(
                    f"binning is {how!r}; give 'mdl', 'uniform', 'quantile' or 'none', or a mapping from "
                    "column to one of these"
                )
        if not is_whole(self.bins) or self.bins < 1:
            raise NullproofError(
                f"bins is {self.bins!r}; give a whole number from 1 on, or binning='none' for no bins"
            )
        if self.bins != BINS and not {*ways} & {"uniform", "quantile"}:
            raise NullproofError(
                f"bins is {self.bins} but binning is {self.binning!r}, which asks for no number; give "
                "binning='uniform' or 'quantile' with it"
            )

    def _check_weights(self) -> None:
        if not isinstance(self.weights, Mapping):
            if self.weights not in ("learned", "equal"):
                raise NullproofError(
                    f"weights is {self.weights!r}; give 'learned', 'equal', or a mapping from column to "
                    f"a multiple of 1/8 from 0 to {MOST_WEIGHT}"
                )
            return
        for name, weight in self.weights.items():
            is_number = isinstance(weight, Real) and not isinstance(weight, bool)
            if not (is_number and 0 <= weight <= MOST_WEIGHT and float(weight * ONE).is_integer()):
                raise NullproofError(
                    f"the weight of {name!r} is {weight!r}; give a multiple of 1/8 from 0 to {MOST_WEIGHT}"
                )

    def weighted(self, features: Iterable[Feature]) -> tuple[Feature, ...]:
        """Set the given weights of features; without ``"*"`` the rest count 1."""
        if not isinstance(self.weights, Mapping):
            return tuple(features)
        rest = self.weights.get(REST, 1)
        return tuple(
            replace(feature, weight=int(self.weights.get(feature.name, rest) * ONE))
            for feature in features
        )

    @cached_property
    def spelled(self) -> Missing:
        """The texts and values that mean missing."""
        return Missing.of(self.missing, self.missing_only, self.missing_is_value)

    def refuse_unknown_columns(self, names: Collection[str]) -> None:
        """Reject options that name a column the table does not have."""
        by_column = {"missing": [name for name, _ in self.spelled.by_column]}
        for option in ("ignore", "domains", "binning", "weights", "keep", "missing_is_value"):
            given = getattr(self, option)
            by_column[option] = [] if isinstance(given, str) else [x for x in given if x != REST]
        for option, given in by_column.items():
            refuse_unknown(given, names, option)

    def binning_of(self, name: str) -> Binning:
        """Return how a column is binned; without ``"*"`` a mapping leaves the rest to the default."""
        if not isinstance(self.binning, Mapping):
            return self.binning
        return self.binning.get(name, self.binning.get(REST, "mdl"))

    def cuts(self, name: str) -> bool:
        """Return whether the numbers of a column are put into bins."""
        return self.binning_of(name) != "none" and not self.declared(name)

    def declared(self, name: str) -> list[str]:
        """Return the declared values of a column, as text."""
        if name not in self.domains:
            return []
        return [text(value) for value in self.domains[name] if not is_missing(value)]

    def may_leave_out(self, name: str) -> bool:
        """Return whether a column may be left out if it only names the rows."""
        return name not in (*self.keep, *self.missing_is_value) and not self.declared(name)

    def open(
        self, source: Any, label: str | None, like: Schema | None = None, key: str | None = None
    ) -> Table:
        """Open a table; what means missing and which columns stay text are those of ``like``, if given.

        The label and the ``key``, which names the rows, stay as they are written.
        """
        if isinstance(source, Table):
            return source
        how = Reading(
            missing=self.spelled if like is None else like.missing,
            as_text=(*stay_text(label, like), *([] if key is None else [key])),
            domains={name: self.declared(name) for name in self.domains},
            file=self.file,
            like=None if like is None else dict(like.formats),
        )
        return open_table(source, how)

    def refuse_beside_like(self, usual: TableOptions) -> None:
        """Reject options that differ from ``usual`` although ``like`` fixes them."""
        settled = ("missing", "missing_only", "missing_is_value", "bins", "binning", "domains")
        for name in (*settled, "weights", "ignore", "keep"):
            if getattr(self, name) != getattr(usual, name):
                raise NullproofError(
                    f"{name} is given together with like, which fixes it; leave it out, or count "
                    "anew without like"
                )

    def for_opened(self) -> dict[str, Any]:
        """Return the options of `CountIndex.from_table` that a table still needs after it was opened."""
        names = ("bins", "binning", "weights", "domains", "ignore", "unlabelled", "keep")
        return {name: getattr(self, name) for name in (*names, "missing_is_value")}


AS_USUAL = TableOptions()


def stay_text(label: str | None, like: Schema | None = None) -> tuple[str, ...]:
    """Return the columns of a text file that stay text: the label, and the categories of ``like``."""
    labels = [] if label is None else [label]
    categories = [] if like is None else [f.name for f in like.features if f.kind == "category"]
    return (*labels, *categories)


def refuse_seed(seed: Any) -> None:
    """Reject seeds that cannot be used, or that are not reproducible."""
    if not is_whole(seed) or seed < 0:
        raise NullproofError(f"seed is {seed!r}; give a whole number that is 0 or more")
