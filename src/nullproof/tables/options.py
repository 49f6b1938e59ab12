"""How a table is read and its columns become features: one set of options, whoever asks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from nullproof.errors import NullproofError
from nullproof.tables.bins import Binning
from nullproof.tables.contents import AS_IT_IS, FileOptions
from nullproof.tables.readers import Blocks, Table, open_blocks, open_table
from nullproof.tables.schema import Schema
from nullproof.tables.spellings import Spellings, trimmed
from nullproof.tables.values import is_missing, text

# How many bins "uniform" and "quantile" make unless they are told.
BINS = 5
Unlabelled = Literal["refuse", "drop"]
# What stands for all columns that a mapping does not name.
REST = "*"


@dataclass(frozen=True)
class TableOptions:
    """The options of a table, checked; `CountIndex.from_table` explains each of them."""

    missing: Collection[str] = ()
    bins: int = BINS
    binning: Binning | Mapping[str, Binning] = "mdl"
    domains: Mapping[str, Iterable[Any]] = field(default_factory=dict)
    ignore: Collection[str] = ()
    unlabelled: Unlabelled = "refuse"
    file: FileOptions = AS_IT_IS
    keep: Collection[str] = ()
    missing_only: Collection[str] | None = None

    def __post_init__(self) -> None:
        for option in ("ignore", "keep"):
            names = getattr(self, option)
            names = (names,) if isinstance(names, str) else tuple(names)
            object.__setattr__(self, option, names)
        object.__setattr__(self, "missing", trimmed(self.missing))
        if self.missing_only is not None:
            object.__setattr__(self, "missing_only", trimmed(self.missing_only))
        # Both together are refused.
        Spellings.of(self.missing, self.missing_only)
        self._refuse_binning()
        self._refuse_bins()
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
        # They are asked for more than once.
        listed = {name: list(values) for name, values in self.domains.items()}
        object.__setattr__(self, "domains", listed)

    def _refuse_bins(self) -> None:
        whole = isinstance(self.bins, int | np.integer) and not isinstance(self.bins, bool)
        if not (whole and self.bins >= 1):
            raise NullproofError(
                f"bins is {self.bins!r}; give a whole number from 1 on, or binning='none' for no bins"
            )
        ways = self.binning.values() if isinstance(self.binning, Mapping) else [self.binning]
        if self.bins != BINS and not {*ways} & {"uniform", "quantile"}:
            raise NullproofError(
                f"bins is {self.bins} but binning is {self.binning!r}, which asks for no number; give "
                "binning='uniform' or 'quantile' with it"
            )

    def _refuse_binning(self) -> None:
        by_column = isinstance(self.binning, Mapping)
        for how in self.binning.values() if isinstance(self.binning, Mapping) else [self.binning]:
            if not isinstance(how, str) or how not in get_args(Binning):
                whose = " for a column" if by_column else ""
                raise NullproofError(
                    f"binning is {how!r}{whose}; give 'mdl', 'uniform', 'quantile' or 'none'"
                )

    @property
    def spellings(self) -> Spellings:
        """The spellings of missing."""
        spelled = Spellings.of(self.missing, self.missing_only)
        return spelled.beside(map(self.declared, self.domains))

    @property
    def binned_columns(self) -> list[str]:
        """The columns that ``binning`` names, if it is a mapping."""
        named = self.binning if isinstance(self.binning, Mapping) else ()
        return [name for name in named if name != REST]

    def binning_of(self, name: str) -> Binning:
        """How a column is binned; what a mapping does not name is, without ``"*"``, cut as by default."""
        if not isinstance(self.binning, Mapping):
            return self.binning
        return self.binning.get(name, self.binning.get(REST, "mdl"))

    def cuts(self, name: str) -> bool:
        """Whether the numbers of a column are put into bins."""
        return self.binning_of(name) != "none" and not self.declared(name)

    def declared(self, name: str) -> list[str]:
        """The declared values of a column, as text."""
        values = self.domains.get(name, ())
        return [text(value) for value in values if not is_missing(value)]

    def may_leave_out(self, name: str) -> bool:
        """Whether a column may be left out if it only names the rows."""
        return name not in self.keep and not self.declared(name)

    def open(
        self, source: Any, label: str | None, like: Schema | None = None, key: str | None = None
    ) -> Table:
        """Open a table; spellings of missing and columns that stay text are those of ``like``, if given.

        The label and the ``key``, which names the rows, stay as they are written.
        """
        if isinstance(source, Table):
            if self.missing or self.missing_only is not None:
                raise NullproofError(
                    f"missing is {self.spellings.named!r} but the table is opened already; give "
                    "missing when it is opened"
                )
            self.file.refuse("opened already")
            return source
        return open_table(
            source,
            missing=self.spellings if like is None else like.spellings,
            as_text=(*stay_text(label, like), *([] if key is None else [key])),
            file=self.file,
            like=None if like is None else dict(like.writings),
        )

    def open_blocks(
        self, path: str, label: str | None, like: Schema, key: str | None = None
    ) -> Blocks:
        """Open a file in the same way, to be read in blocks."""
        return open_blocks(
            path,
            missing=like.spellings,
            as_text=(*stay_text(label, like), *([] if key is None else [key])),
            file=self.file,
            like=dict(like.writings),
        )

    def refuse_beside_like(self, usual: TableOptions) -> None:
        """Refuse whatever is not as ``usual`` where an index to count like has settled it."""
        for name in ("missing", "missing_only", "bins", "binning", "domains", "ignore", "keep"):
            if getattr(self, name) != getattr(usual, name):
                raise NullproofError(
                    f"{name} is given together with like, which has settled it; leave it out, or count "
                    "anew without like"
                )

    def for_opened(self) -> dict[str, Any]:
        """The options of `CountIndex.from_table` that a table still needs after it was opened."""
        return {
            "bins": self.bins,
            "binning": self.binning,
            "domains": self.domains,
            "ignore": self.ignore,
            "unlabelled": self.unlabelled,
            "keep": self.keep,
        }


AS_USUAL = TableOptions()


def stay_text(label: str | None, like: Schema | None = None) -> tuple[str, ...]:
    """The columns of a text file that do not become numbers: the label, and the categories of ``like``."""
    labels = [] if label is None else [label]
    categories = [] if like is None else [f.name for f in like.features if f.kind == "category"]
    return (*labels, *categories)
