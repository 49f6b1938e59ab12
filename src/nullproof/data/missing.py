"""Decide which cells are missing.

Null, None, NaN, NA and NaT always are. Of texts the usual spellings are, or those of ``missing_only``;
besides them what ``missing`` names, for all columns or for one. Declared values are values, however they
look: those of ``domains``, of an Enum or a categorical, of an ARFF attribute. Some spellings are in doubt
(`DOUBTFUL`); they are judged by the other texts of their column, never by the order or number of its
cells, so every source decides alike. ``missing_is_value`` names the columns where a missing cell is an
answer of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from nullproof.data.types import as_number, parsed_date, text
from nullproof.errors import NullproofError

# In lower case and without surrounding spaces, as all spellings are compared.
SURE = frozenset(("", "na", "n/a", "nan", "null", "?", "#n/a", "<na>"))
DOUBTFUL = frozenset(("none", "-", "."))
# Texts that often mean missing but may also be values: a notice names them.
OFTEN = frozenset(
    (
        *("??", "--", "---", "missing", "nil", "undefined", "n.a.", "n. a.", "#null!", "#value!"),
        *("unknown", "not known", "not available", "not stated", "not specified", "unspecified"),
        *("k.a.", "k. a.", "keine angabe", "unbekannt", "inconnu", "desconocido", "sconosciuto"),
    )
)
# The value that stands for "missing" in columns where that is an answer.
MISSING_VALUE = "(missing)"
# What stands for all columns that a mapping does not name.
REST = "*"
_USUAL = SURE | DOUBTFUL
_LONGEST = max(map(len, _USUAL))
Spellings = Collection[Any] | Mapping[str, Collection[Any]]


@dataclass(frozen=True)
class Found:
    """What a column spells: the texts that are missing, and doubtful ones that are values."""

    gone: frozenset[str] = frozenset()
    kept: tuple[str, ...] = ()

    @property
    def taken(self) -> tuple[str, ...]:
        """The spellings that were taken as missing."""
        return _bare(self.gone)


@dataclass(frozen=True)
class Rule:
    """What means missing in one column.

    Spellings that were ``named`` do, in columns of numbers too, and ``by_number`` texts that write a named
    number or moment in another way; besides them the ``usual`` ones, unless ``declared`` as values. The
    ``doubtful`` ones are judged by the column, missing, or values. If it ``retypes``, texts beside spelled
    missing cells may turn out to be numbers, dates or booleans.
    """

    named: tuple[str, ...] = ()
    usual: bool = True
    declared: frozenset[str] = frozenset()
    doubtful: Literal["judged", "missing", "values"] = "judged"
    retypes: bool = True
    by_number: bool = False

    @cached_property
    def numbers(self) -> list[int | float]:
        """The numbers that were named."""
        return [number for number in map(as_number, self.named) if number is not None]

    @cached_property
    def moments(self) -> list[int]:
        """The dates and time stamps that were named, as microseconds."""
        return [moment for moment in map(parsed_date, self.named) if moment is not None]

    def declaring(self, values: Iterable[str]) -> Rule:
        """Return the rule for a column with more declared values."""
        return replace(self, declared=self.declared.union(values))

    @property
    def of_labels(self) -> Rule:
        """The rule for a column of labels: what is in doubt is a label."""
        return replace(self, doubtful="values", retypes=False)

    def looks_missing(self, value: str) -> bool:
        """Return whether a text is a spelling of missing, be it a doubtful one."""
        bare = value.strip()
        if self._is_named(bare):
            return True
        is_usual = self.usual and len(bare) <= _LONGEST and bare.lower() in _USUAL
        return is_usual and value not in self.declared

    def is_missing(self, value: str) -> bool:
        """Return whether a text is surely missing."""
        bare = value.strip()
        return self.looks_missing(value) and (bare.lower() in SURE or self._is_named(bare))

    def _is_named(self, bare: str) -> bool:
        if bare in self.named or not self.by_number:
            return bare in self.named
        return as_number(bare) in self.numbers or parsed_date(bare) in self.moments

    def find(self, held: Iterable[str], other: Collection[str] = (), marked: bool = False) -> Found:
        """Find the spellings of missing among the distinct texts that a column holds.

        ``other`` are further values that are known not to be spellings; ``marked`` says that the column has
        missing cells besides.
        """
        held = list(held)
        spelled = {value for value in held if self.looks_missing(value)}
        doubtful = {value for value in spelled if not self.is_missing(value)}
        stay = self.doubtful == "values"
        if self.doubtful == "judged" and doubtful:
            values = {*held, *other, *self.declared} - spelled
            stay = _are_values(len(doubtful), values, marked or spelled != doubtful)
        return Found(
            frozenset(spelled - doubtful if stay else spelled), _bare(doubtful) if stay else ()
        )


def _are_values(n_doubtful: int, others: Collection[str], marked: bool) -> bool:
    """Return whether doubtful spellings are values beside the others.

    They are if there is one, and one other value; or if the others are texts and missing cells are
    marked in another way.
    """
    if len(others) == 1 and n_doubtful == 1:
        return True
    are_typed = (
        all(as_number(value) is not None for value in others)
        or all(parsed_date(value) is not None for value in others)
        or {value.strip().lower() for value in others} <= {"true", "false"}
    )
    return marked and bool(others) and not are_typed


def _bare(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({value.strip() for value in values} - {""}))


# For what nobody reads for spellings: labels given apart, and what comes from our own counts.
NOTHING_SPELLED = Rule(usual=False)


@dataclass(frozen=True)
class Missing:
    """What means missing in a table: the options ``missing``, ``missing_only`` and ``missing_is_value``.

    ``named`` are spellings besides the usual ones for all columns, ``by_column`` for single ones, ``only``
    those instead of the usual ones, None to have these; in the columns ``as_value`` missing is an answer.
    """

    named: tuple[str, ...] = ()
    by_column: tuple[tuple[str, tuple[str, ...]], ...] = ()
    only: tuple[str, ...] | None = None
    as_value: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        missing: Spellings | None = (),
        missing_only: Collection[Any] | None = None,
        missing_is_value: Collection[str] = (),
    ) -> Missing:
        """Read the options."""
        by_column = {}
        if isinstance(missing, Mapping):
            by_column = {str(name): trimmed(own) for name, own in missing.items()}
            named = by_column.pop(REST, ())
        else:
            named = trimmed(() if missing is None else missing)
        if missing_only is not None and named:
            raise NullproofError(
                f"missing is {named!r} and missing_only {trimmed(missing_only)!r}; give "
                "missing to add to the usual spellings, or missing_only to replace them"
            )
        as_value = (missing_is_value,) if isinstance(missing_is_value, str) else missing_is_value
        return cls(
            named,
            tuple(sorted(by_column.items())),
            None if missing_only is None else trimmed(missing_only),
            tuple(map(str, as_value)),
        )

    @cached_property
    def _own(self) -> dict[str, tuple[str, ...]]:
        return dict(self.by_column)

    def rule(self, column: str, declared: Iterable[str] = (), *, in_file: bool = False) -> Rule:
        """Return the rule of a column; an empty cell of a text file is missing in any case."""
        usual = self.only is None
        empty = ("",) if in_file and not usual else ()
        named = (*self.named, *(self.only or ()), *self._own.get(column, ()), *empty)
        return Rule(named, usual, frozenset(declared))

    def settled(self, column: str, kind: str, domain: frozenset[str], *, in_file: bool) -> Rule:
        """Return the rule of a column whose domain is known: what it holds is a value, and nothing else."""
        rule = self.rule(column, in_file=in_file)
        if kind != "category":
            return replace(rule, doubtful="missing", by_number=bool(rule.named))
        # A spelling that was named is missing even if the domain holds its like.
        return replace(rule, declared=domain, doubtful="missing", retypes=False)


def trimmed(spellings: Collection[Any] | Sequence[Any]) -> tuple[str, ...]:
    """Return spellings as they are compared, without the spaces around them; one text is one spelling."""
    if isinstance(spellings, str) or not hasattr(spellings, "__iter__"):
        spellings = (spellings,)
    return tuple(text(spelling).strip() for spelling in spellings)


def written_spellings(entries: Iterable[str]) -> Spellings:
    """Read spellings as the command line and the page have them: TEXT for all columns, COLUMN=TEXT for one.

    >>> written_spellings(["unknown", "sick=97"])
    {'*': ['unknown'], 'sick': ['97']}
    """
    found: dict[str, list[str]] = {}
    for entry in entries:
        column, sign, spelling = entry.partition("=")
        named = sign and column
        found.setdefault(column if named else REST, []).append(spelling if named else entry)
    return found if {*found} - {REST} else found.get(REST, ())


USUAL = Missing()
