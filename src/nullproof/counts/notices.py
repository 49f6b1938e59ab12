"""What a person should know of a table that was counted: notices, few and short, each with what to do."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.sparse import Counts
from nullproof.errors import NullproofError, notice
from nullproof.tables.bins import doubles, extent
from nullproof.tables.columns import Column
from nullproof.tables.identifiers import FEW
from nullproof.tables.oddities import alike, amounts, strays
from nullproof.tables.schema import Schema
from nullproof.tables.spellings import OFTEN, Spellings
from nullproof.tables.values import as_number, text
from nullproof.words import cut, many, some

NINES = re.compile(r"-9+|9{2,}")
_MANY_VALUES = 10
_MANY_LABELS = 50
_MANY_NUMBERS = 10
_SHOWN = 3
_LONGEST = 100
# From which share of all missing cells on those that cannot matter are told.
_NOTABLE = 0.5


class Counted(Protocol):
    """What notices need of an index."""

    @property
    def schema(self) -> Schema: ...
    @property
    def label_counts(self) -> Counts: ...
    @property
    def n_open(self) -> Counts: ...


@dataclass
class Findings:
    """What was odd while a table was counted, each with the names of its columns.

    Parameters
    ----------
    taken
        Texts that were taken as missing.
    kept
        Texts that may mean missing by the usual list, and are values where they are.
    suspects
        Other values that often mean missing.
    strays
        Texts that make a column of numbers or dates text.
    texts
        Columns of texts that look like numbers or dates, of tables that say of each column what it is.
    empty
        Columns without any known value.
    left_out
        Columns that only name the rows.
    """

    taken: dict[str, list[str]] = field(default_factory=dict)
    kept: dict[str, list[str]] = field(default_factory=dict)
    suspects: dict[str, list[str]] = field(default_factory=dict)
    strays: dict[str, list[str]] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)
    empty: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def look_at(self, column: Column, *, declared: bool = False) -> None:
        """Note what a column that is counted spells; ``declared`` if its values were."""
        _note(self.taken, column.taken, column.name)
        _note(self.kept, column.kept, column.name)
        odd = [] if declared else self._look_at_texts(column)
        _note(self.suspects, (one for one in suspicions(column) if one not in odd), column.name)

    def leave_out(self, column: Column) -> None:
        """Note that a column names the rows, or seems to for the sake of a stray."""
        self.left_out.append(column.name)
        self._look_at_texts(column)

    def _look_at_texts(self, column: Column) -> list[str]:
        """Note texts that should be numbers or dates, and name the strays."""
        if column.kind != "category" or column.declared or column.sets:
            return []
        kind = amounts(column.values)
        if kind is not None:
            _note(self.texts, [kind], column.name)
            return []
        found = strays(column.values)
        _note(self.strays, found, column.name)
        return found

    def add(self, other: Findings) -> None:
        """Note what was found elsewhere too."""
        for mine, theirs in (
            (self.taken, other.taken),
            (self.kept, other.kept),
            (self.suspects, other.suspects),
            (self.strays, other.strays),
            (self.texts, other.texts),
        ):
            for spelling, names in theirs.items():
                mine.setdefault(spelling, []).extend(names)
        self.empty += other.empty
        self.left_out += other.left_out

    def take(self, nulled: Mapping[str, Collection[str]], names: Collection[str]) -> None:
        """Note what the reader of a file turned into nulls, in some of its columns."""
        for name, spellings in nulled.items():
            if name in names:
                _note(self.taken, spellings, name)


def _note(found: dict[str, list[str]], spellings: Iterable[str], name: str) -> None:
    for spelling in spellings:
        names = found.setdefault(spelling, [])
        if name not in names:
            names.append(name)


def suspicions(column: Column) -> list[str]:
    """Name the values of a column that often stand for missing but were not named so."""
    if column.codes is not None:
        suspects = {
            value.strip()
            for code, value in enumerate(column.values)
            if value.strip().lower() in OFTEN and np.any(column.codes == code)
        }
        return sorted(suspects)
    assert column.numbers is not None
    return lone_extremes_of(column.numbers) if column.kind == "number" else []


def lone_extremes_of(array: NDArray[Any]) -> list[str]:
    """Numbers like -999 or 9999 at the end of a range that stand apart from all others.

    They lie further from the others than the others from each other, or are the only negative ones.
    """
    array, found = doubles(array), []
    for place, extreme in enumerate(extent(array)):
        if not math.isfinite(extreme) or not NINES.fullmatch(text(extreme)):
            continue
        low, high = extent(array[array != extreme])
        gap = high - extreme if place else low - extreme
        if abs(gap) > high - low or extreme < 0 <= low:
            found.append(text(extreme))
    return found


def refuse_nothing(schema: Schema, findings: Findings) -> None:
    """Refuse a table of which no column is left."""
    if schema.features:
        return
    if findings.left_out:
        raise NullproofError(
            f"{_columns(findings.left_out)} would be left out as names of the rows, and no other "
            "column holds a known value; keep one with keep or --keep, or give more columns"
        )
    raise NullproofError("no column holds any known value; give at least one feature")


def notify(index: Counted, findings: Findings) -> None:
    """Tell what is odd about a table, as `NullproofWarning`."""
    spellings = index.schema.spellings
    for said in (
        *_of_empty(findings.empty),
        *_of_left_out(findings.left_out),
        *_of_strays(findings.strays),
        *_of_texts(findings.texts),
        *_of_spellings(findings, spellings),
        *_of_commas(findings, spellings),
        *_of_many_values(index),
        *_of_alike(index.schema),
        *_of_idle_holes(index),
        *_of_labels(index),
    ):
        notice(said)


def standing(index: Counted) -> list[str]:
    """What should be known of an index wherever it is asked: odd columns, idle holes, odd labels."""
    found: dict[str, list[str]] = {}
    for feature in index.schema.features:
        if feature.kind == "category":
            _note(found, strays(feature.values), feature.name)
    return [
        *_of_left_out(index.schema.left_out),
        *_of_strays(found),
        *_of_alike(index.schema),
        *_of_idle_holes(index),
        *_of_labels(index),
    ]


def _of_empty(names: list[str]) -> Iterator[str]:
    if names:
        yield f"left out for lack of any known value: {', '.join(map(repr, names))}"


def _of_left_out(names: Collection[str]) -> Iterator[str]:
    if names:
        yield (
            f"left out, since {'they name' if len(names) > 1 else 'it names'} the rows: "
            f"{_columns(names)}; to keep {_them(names)}: {_call('keep', '--keep', names)}"
        )


def _of_strays(found: Mapping[str, list[str]]) -> Iterator[str]:
    if found:
        several = len({name for names in found.values() for name in names}) > 1
        yield (
            f"because of {_places(found)} {'these columns count' if several else 'that column counts'} "
            f"as text, not as numbers or dates; if {'they mean' if len(found) > 1 else 'it means'} "
            f"missing, name {_them(found)}: {_call('missing', '--missing', found)}"
        )


def _of_texts(found: Mapping[str, list[str]]) -> Iterator[str]:
    for kind, names in sorted(found.items()):
        how = {
            "dates": ", as pandas.to_datetime does",
            "numbers": ", as pandas.to_numeric does, unless they are codes",
        }
        yield (
            f"{_columns(names)} {'hold' if len(names) > 1 else 'holds'} {kind} as texts, each a value of "
            f"its own; give {_them(names)} a type of {kind} first{how[kind]}"
        )


def _of_alike(schema: Schema) -> Iterator[str]:
    """Values that a person would write the same, first those of the label."""
    columns = [(schema.label_name, [label for label in schema.labels if isinstance(label, str)])]
    columns += [(f.name, list(f.values)) for f in schema.features if f.kind == "category"]
    found = [
        (", ".join(map(repr, group)), name) for name, texts in columns for group in alike(texts)
    ]
    if found:
        said = [f"{cut(group, _LONGEST)} in {cut(name, _LONGEST)!r}" for group, name in found]
        more = f" and {len(said) - _SHOWN} more" if len(said) > _SHOWN + 1 else ""
        said = said[:_SHOWN] if more else said
        yield (
            f"{'; '.join(said)}{more} differ only in case or spaces and count as different values; if they "
            "mean the same, write them alike"
        )


def _of_spellings(findings: Findings, spellings: Spellings) -> Iterator[str]:
    taken = {s: names for s, names in findings.taken.items() if s not in spellings.named}
    if taken:
        yield (
            f"{_places(taken)} {_were(taken)} taken as missing; if "
            f"{'they are values' if len(taken) > 1 else 'it is a value'}, name what is missing "
            "instead: missing_only=(…) or --missing-only TEXT"
        )
    if findings.kept:
        yield (
            f"{_places(findings.kept)} {_were(findings.kept)} taken as "
            f"{'values' if len(findings.kept) > 1 else 'a value'}; if missing, name "
            f"{_them(findings.kept)}: {_call('missing', '--missing', findings.kept)}"
        )
    if findings.suspects:
        yield (
            f"{_places(findings.suspects)} may mean missing; if so, name {_them(findings.suspects)}: "
            f"{_call('missing', '--missing', findings.suspects)}"
        )


def _of_commas(findings: Findings, spellings: Spellings) -> Iterator[str]:
    option = "missing" if spellings.usual else "missing_only"
    for name in spellings.named:
        if "," in name and name not in findings.taken:
            parts = [part.strip() for part in name.split(",")]
            yield (
                f"no cell is spelled {name!r}; if these are several spellings, give each on its own: "
                f"{_call(option, '--' + option.replace('_', '-'), parts)}"
            )


def _of_many_values(index: Counted) -> Iterator[str]:
    n_rows = int(index.label_counts.sum())
    for feature in index.schema.features:
        if feature.n_values > max(_MANY_VALUES, n_rows / 2):
            yield (
                f"column {feature.name!r} has {feature.n_values:,} values in {n_rows:,} rows and "
                "tells next to nothing about a new point; leave it out with ignore or --ignore"
            )


def _of_idle_holes(index: Counted) -> Iterator[str]:
    """Missing cells of a domain of one value hold that value: a table may look surer than it is."""
    per_feature = index.n_open.sum(axis=1)
    idle = [
        (int(count), feature)
        for feature, count in zip(index.schema.features, per_feature.tolist(), strict=True)
        if feature.n_values == 1 and count
    ]
    n_idle, n_missing = sum(count for count, _ in idle), int(per_feature.sum())
    if n_idle and n_idle >= _NOTABLE * n_missing and int(index.label_counts.sum()) > FEW:
        idle.sort(key=lambda found: -found[0])
        cuts = any(feature.kind in ("number", "date") for _, feature in idle)
        how = '; to cut numbers in any case: binning="uniform" or --binning uniform' if cuts else ""
        which = f"{n_idle:,} of the {many(n_missing, 'missing cell')}"
        if n_idle == n_missing:
            which = f"all {many(n_idle, 'missing cell')}" if n_idle > 1 else "the only missing cell"
        yield (
            f"{which} {'is' if n_idle == 1 else 'are'} in columns with one value or one bin, where "
            f"{'it' if n_idle == 1 else 'they'} cannot matter: "
            f"{_columns([feature.name for _, feature in idle])}{how}"
        )


def _of_labels(index: Counted) -> Iterator[str]:
    labels, name = index.schema.labels, repr(cut(index.schema.label_name, _LONGEST))
    if int(index.label_counts.sum()) <= FEW:
        return
    if len(labels) == 1:
        yield (
            f"the label column {name} has one class, {cut(repr(labels[0]), _LONGEST)}, so every "
            "prediction is certain; give a column, or rows, with at least two"
        )
    elif len(labels) > _MANY_NUMBERS and _have_fractions(labels):
        yield (
            f"the label column {name} holds {len(labels):,} different numbers with fractions, each of "
            "them a class; cut it into a few classes first, or name another column"
        )
    elif len(labels) > _MANY_LABELS:
        yield (
            f"the label column {name} has {len(labels):,} classes; join rare ones or cut numbers into "
            "a few classes first, or name another column"
        )


def _have_fractions(labels: Iterable[Any]) -> bool:
    numbers = [as_number(label) if isinstance(label, str) else label for label in labels]
    return all(isinstance(number, int | float) for number in numbers) and any(
        number != number // 1 for number in numbers if number is not None
    )


def _places(found: Mapping[str, list[str]]) -> str:
    said = [
        f"{cut(spelling, _LONGEST)!r} in {_columns(names)}" for spelling, names in found.items()
    ]
    if len(said) > _SHOWN + 1:
        said = [*said[:_SHOWN], f"{len(said) - _SHOWN} more texts"]
    return " and ".join(said)


def _columns(names: Collection[str]) -> str:
    """The first names, and how many more there are."""
    shown = [repr(cut(name, _LONGEST)) for name in names]
    if len(shown) <= _SHOWN + 1:
        return some(shown, len(shown))
    return f"{', '.join(shown[:_SHOWN])} and {len(shown) - _SHOWN} more"


def _call(option: str, flag: str, names: Collection[str]) -> str:
    """How names are given to an option, in Python and on the command line."""
    shown = [cut(name, _LONGEST) for name in names][: _SHOWN + 1]
    python = ", ".join(f'"{name}"' for name in shown) + "," * (len(shown) == 1)
    shell = " ".join(f'{flag} "{name}"' for name in shown)
    return f"{option}=({python}) or {shell}"


def _them(found: Collection[str]) -> str:
    return "them" if len(found) > 1 else "it"


def _were(found: Collection[str]) -> str:
    return "were" if len(found) > 1 else "was"
