"""Which texts mean missing: the usual spellings, those that were named, and a rule for doubtful ones.

docs/values.md says the rule in words. It looks at the cells of a column alone, not at their order or
at where they came from, so every way of counting decides alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nullproof.errors import NullproofError
from nullproof.tables.values import as_number, parsed_date, text

# In lower case and without the spaces around them, as all spellings are compared.
SURE = frozenset(("", "na", "n/a", "nan", "null", "?", "#n/a", "<na>"))
DOUBTFUL = frozenset(("none", "-", "."))
# How files write the sure ones most often: readers may turn these into nulls at once.
COMMON = (
    *("", "NA", "na", "Na", "N/A", "n/a", "NaN", "nan", "NAN", "null", "NULL", "Null"),
    *("?", "#N/A", "#n/a", "<NA>", "<na>"),
)
# Texts that often mean missing too, but may as well be values: told, never taken.
OFTEN = frozenset(
    (
        *("??", "--", "---", "missing", "nil", "undefined", "n.a.", "n. a.", "#null!", "#value!"),
        *("unknown", "not known", "not available", "not stated", "not specified", "unspecified"),
        *("k.a.", "k. a.", "keine angabe", "unbekannt", "inconnu", "desconocido", "sconosciuto"),
    )
)
_USUAL = SURE | DOUBTFUL
_LONGEST = max(map(len, _USUAL))


@dataclass(frozen=True)
class Found:
    """What a column spells: which of its distinct texts are missing, and which were in doubt.

    Parameters
    ----------
    gone
        The positions of those that are missing.
    taken
        The spellings that some cell holds and that are missing, without the spaces around them.
    kept
        Doubtful spellings that are values here.
    """

    gone: tuple[int, ...] = ()
    taken: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


@dataclass(frozen=True)
class Spellings:
    """The spellings of missing in a table or, with what is known of it, in one column.

    Parameters
    ----------
    named
        Spellings that were named: always missing, in columns of numbers too.
    usual
        Whether the usual spellings are missing besides.
    declared
        Texts that are values of the column, however they look.
    doubtful
        What the doubtful spellings are: judged by the column, missing, or values.
    retypes
        Whether texts beside spelled holes may turn out to be numbers, dates or true and false.
    values
        Usual spellings that are values of some column of the table: a reader must leave them as they are.
    """

    named: tuple[str, ...] = ()
    usual: bool = True
    declared: frozenset[str] = frozenset()
    doubtful: Literal["judged", "missing", "values"] = "judged"
    retypes: bool = True
    values: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, missing: Collection[Any] | None, missing_only: Collection[Any] | None = None
    ) -> Spellings:
        """Read the two options: spellings to add to the usual ones, or to have instead of them."""
        if missing_only is None:
            return cls(trimmed(missing or ()))
        if missing:
            raise NullproofError(
                f"missing is {trimmed(missing)!r} and missing_only {trimmed(missing_only)!r}; give "
                "missing to add to the usual spellings, or missing_only to replace them"
            )
        return cls(trimmed(missing_only), usual=False)

    def beside(self, domains: Iterable[Collection[str]]) -> Spellings:
        """The same for a table of which some columns hold these values."""
        found = frozenset(one for own in domains for one in COMMON if one in own)
        return replace(self, values=found) if found else self

    @property
    def options(self) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
        """The two options again: ``missing`` and ``missing_only``."""
        return (self.named, None) if self.usual else ((), self.named)

    @property
    def in_files(self) -> Spellings:
        """The same for a text file, where an empty cell is missing in any case."""
        return self if self.usual else replace(self, named=(*self.named, ""))

    @property
    def nulls(self) -> list[str]:
        """Texts that a reader of files may turn into nulls; the others are found among its texts.

        A comma in a name is likely a mistake, which can only be told if the texts are still there.
        """
        usual = [one for one in COMMON if one not in self.values] if self.usual else [""]
        return [*usual, *(name for name in self.named if "," not in name and name not in usual)]

    @property
    def longest(self) -> int:
        """The most letters of a spelling."""
        return max([_LONGEST if self.usual else 0, *map(len, self.named)])

    @cached_property
    def numbers(self) -> list[int | float]:
        """The numbers that were named; whole ones are integers, however they are written."""
        found = (as_number(name) for name in self.named)
        return [_whole(number) for number in found if number is not None]

    @cached_property
    def moments(self) -> list[int | Fraction]:
        """The dates and time stamps that were named, as microseconds."""
        found = map(parsed_date, self.named)
        return [moment for moment in found if moment is not None]

    @property
    def of_labels(self) -> Spellings:
        """The same for a column of labels: what is in doubt is a label."""
        return replace(self, doubtful="values", retypes=False)

    def declaring(self, values: Iterable[str]) -> Spellings:
        """The same for a column with declared values."""
        return replace(self, declared=frozenset(values))

    def known(self, kind: str, values: frozenset[str]) -> Spellings:
        """The same for a column whose domain is settled: what it holds is a value, and nothing else."""
        if kind != "category":
            return self._settled
        return Spellings(self.named, self.usual, values, doubtful="missing", retypes=False)

    @cached_property
    def _settled(self) -> Spellings:
        return replace(self, doubtful="missing")

    def is_missing(self, value: str) -> bool:
        """Whether a text is surely missing."""
        return self.looks_missing(value) and self._is_sure(value)

    def looks_missing(self, value: str) -> bool:
        """Whether a text is a spelling of missing, be it a doubtful one."""
        bare = value.strip()
        if bare in self.named:
            return True
        return self.usual and len(bare) <= _LONGEST and bare.lower() in _USUAL

    def found(
        self,
        values: Sequence[str],
        codes: NDArray[Any],
        *,
        by_type: Collection[str] = (),
        holes: bool = False,
    ) -> Found:
        """Tell which of a column's distinct texts are missing.

        Parameters
        ----------
        codes
            The position of each cell's text, -1 where it is missing already.
        by_type
            What the type of the column declares.
        holes
            Whether cells that are not among the codes are missing.
        """
        spelled = [code for code, value in enumerate(values) if self.looks_missing(value)]
        if not spelled:
            return Found()
        used = np.bincount(codes.astype(np.int64) + 1, minlength=len(values) + 1) > 0
        held = {code for code in spelled if used[code + 1]}
        there = held | {code for code in spelled if values[code] in by_type}
        doubtful = [code for code in spelled if self._is_doubtful(values[code])]
        sure = [code for code in spelled if self._is_sure(values[code])]
        stay = self.doubtful == "values"
        n_doubtful = len(there.intersection(doubtful))
        if self.doubtful == "judged" and n_doubtful:
            out = {*sure, *doubtful}
            others = {
                value for code, value in enumerate(values) if used[code + 1] and code not in out
            }
            others.update(self.declared, {*by_type}.difference(values[code] for code in out))
            marked = holes or bool(used[0]) or bool(held.intersection(sure))
            stay = _are_values(n_doubtful, others, marked)
        gone = (*sure, *(() if stay else doubtful))
        return Found(
            gone,
            _bare(values[code] for code in gone if code in held),
            _bare(values[code] for code in doubtful if stay and code in held),
        )

    def _is_sure(self, value: str) -> bool:
        bare = value.strip()
        return bare in self.named or (bare.lower() in SURE and value not in self.declared)

    def _is_doubtful(self, value: str) -> bool:
        bare = value.strip()
        if bare in self.named or value in self.declared:
            return False
        return bare.lower() in DOUBTFUL


def _are_values(n_doubtful: int, others: Collection[str], marked: bool) -> bool:
    """Whether doubtful spellings are values beside the others, in a column that marks holes or not."""
    if len(others) == 1 and n_doubtful == 1:
        return True
    return marked and bool(others) and _are_texts(others)


def _are_texts(values: Collection[str]) -> bool:
    """Whether values are not all numbers, not all dates, and not all true or false."""
    if all(as_number(value) is not None for value in values):
        return False
    if all(parsed_date(value) is not None for value in values):
        return False
    return not {value.strip().lower() for value in values} <= {"true", "false"}


def _whole(number: int | float) -> int | float:
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _bare(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({value.strip() for value in values} - {""}))


def trimmed(spellings: Collection[Any]) -> tuple[str, ...]:
    """Spellings as they are compared, without the spaces around them; one text is one spelling."""
    if isinstance(spellings, str):
        spellings = (spellings,)
    return tuple(text(spelling).strip() for spelling in spellings)


USUAL = Spellings()
# For what nobody reads for spellings: labels given apart, and what comes from our own counts.
NOTHING_SPELLED = Spellings(usual=False)
