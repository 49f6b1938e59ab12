"""Warn about problems in a counted table: few notices, each with what to do.

This module also decides which columns only name the rows, which numbers may stand for missing, and which
columns leak the label.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nullproof.data.binning import split_pays
from nullproof.data.missing import OFTEN
from nullproof.data.schema import NAMES_ROWS, NO_VALUE, Schema
from nullproof.data.texts import is_amount
from nullproof.data.types import LARGEST_DOUBLE_INTEGER, Column, text
from nullproof.errors import NullproofError, notice
from nullproof.words import PLAIN, cut, per_cent, some

# With this few known cells, a column of distinct texts may be anything.
FEW = 20
_MANY_LABELS, _MANY_NUMBERS, _MANY_TEXTS = 50, 10, 1000
_SHOWN, _LONGEST = 3, 100
# From this share of all missing cells, columns that play no part are always reported.
NOTABLE = 0.5


class Counted(Protocol):
    """The parts of an index that notices need."""

    @property
    def schema(self) -> Schema: ...
    @property
    def label_counts(self) -> NDArray[np.int64]: ...
    @property
    def known(self) -> tuple[Any, ...]: ...
    @property
    def n_open(self) -> NDArray[np.int64]: ...


# Columns that only name the rows.

_ID_NAME = re.compile(r"(^|[_\W])(ids?|uuid|guid)$|[a-z0-9]I[dD]s?$|^id[_\W]", re.ASCII)


def names_rows(column: Column, counts: NDArray[np.int64] | None = None, n_rows: int = 0) -> bool:
    """Return whether a column has nearly unique texts, or numbers the rows.

    If each cell stands for a group of cells, ``counts`` holds the group sizes and ``n_rows`` the number of
    rows of the table.
    """
    n_rows = n_rows or len(column)
    if column.declared or column.sets or n_rows <= FEW:
        return False
    known = column.known
    if column.kind == "category":
        n_known = int(known.sum() if counts is None else counts[known].sum())
        # Counting all values is quick; counting those in use is not.
        return n_known > FEW and 2 * len(column.values) > n_known and 2 * len(column.used) > n_known
    if column.kind != "number" or len(column) != n_rows or not known.all():
        return False
    numbers = np.asarray(column.numbers)
    if not could_be_ids(column.name, float(numbers.min()), float(numbers.max()), n_rows):
        return False
    return bool((numbers % 1 == 0).all()) and len(np.unique(numbers)) == n_rows


def could_be_ids(name: str, low: float, high: float, n_rows: int) -> bool:
    """Return whether distinct whole numbers from ``low`` to ``high`` would be ids of all rows.

    They have no gap, or at least half of the numbers in their range occur, or the column name says so.
    """
    if n_rows <= FEW or not max(abs(low), abs(high)) <= LARGEST_DOUBLE_INTEGER:
        return False
    span = high - low + 1
    dense = span == n_rows or (n_rows > 5 * FEW and span <= 2 * n_rows)
    called = _ID_NAME.search(name) or _ID_NAME.search(name.lower())
    return dense or (called is not None and span >= n_rows)


# Numbers that may stand for missing.

_NINES = re.compile(r"-9+|9{2,}")
# A sentinel is in at least one in 100 cells, unless it is written in nines.
_FREQUENT, _FEWEST = 100, 10


def sentinels(numbers: NDArray[Any], counts: NDArray[np.int64] | None = None) -> list[str]:
    """Return numbers at an end of a column's range that are frequent and lie apart from all others.

    Numbers like -999 or 9999 lie apart if their gap to the others exceeds the range of the others, or if
    they are the only negative ones. Other numbers need at least ten distinct numbers beside them, and a
    gap wider than half of their range and three times any other gap. ``counts`` is the number of cells
    that each number stands for.

    Examples
    --------
    >>> sentinels(np.array([1.0, 2.0, 2.0, 1.0, 99.0, 98.0])), sentinels(np.arange(50.0))
    (['98', '99'], [])
    """
    held = np.isfinite(numbers)
    known = numbers[held]
    if not len(known):
        return []
    total = len(known) if counts is None else int(counts[held].sum())
    found: list[str] = []
    for end in (float(known.min()), float(known.max())):
        nines = _NINES.fullmatch(text(end)) is not None
        here = known == end
        n_cells = np.count_nonzero(here) if counts is None else counts[held][here].sum()
        if nines or (n_cells >= _FEWEST and n_cells * _FREQUENT >= total):
            values = np.unique(known.astype(np.float64))
            # A range that overflows is infinite, and no number lies apart from it.
            with np.errstate(over="ignore"):
                found += _apart(values if end == values[-1] else -values[::-1], end, nines)
    return sorted(found, key=float)


def _apart(values: NDArray[np.float64], end: float, nines: bool) -> list[str]:
    """Return the end, with its neighbours in a row of codes such as 97, 98, 99, if it lies apart."""
    sign = 1 if end == values[-1] else -1
    # Codes in a row follow each other, at most three of them.
    in_a_row = np.cumprod(np.diff(values[-3:])[::-1] == 1)
    n_codes = 1 + int(in_a_row.sum()) if end > 0 else 1
    for size in {n_codes, 1} if nines else {1}:
        others = values[:-size]
        if len(others) < (2 if size > 1 else 1):
            continue
        gap, span = values[-size] - others[-1], others[-1] - others[0]
        if nines:
            lone_negative = size == 1 and end < 0 and others[-1] <= 0
            apart = gap > (10 * max(span, 1.0) if size > 1 else span) or lone_negative
        else:
            apart = len(others) >= 10 and 2 * gap > span and gap > 3 * float(np.diff(others).max())
        if apart:
            return [text(sign * float(value)) for value in values[-size:]]
    return []


# Texts among numbers.


def stray_texts(column: Column) -> tuple[str, ...]:
    """Return the few texts of a column that otherwise holds numbers or dates."""
    is_open = column.kind == "category" and not column.declared and not column.sets
    texts = column.texts if is_open else []
    # With fewer numbers it may be a category, such as grades, or "3+" beside 0, 1 and 2.
    if len(texts) <= _MANY_NUMBERS:
        return ()
    sample = texts[:: len(texts) // 64 + 1]
    if 2 * sum(map(is_amount, sample)) < len(sample):
        return ()
    # If they are more than three and more than a twentieth of all texts, they are codes.
    most, found = max(3, len(texts) // 20), []
    for written in texts:
        if not is_amount(written):
            found.append(written.strip())
            if len(found) > most:
                return ()
    return tuple(sorted(found)) if len(texts) - len(found) >= _MANY_NUMBERS else ()


def suspects(
    column: Column, strays: Sequence[str], counts: NDArray[np.int64] | None = None
) -> tuple[str, ...]:
    """Return texts or numbers of a column that may mean missing, except ``strays``.

    If each cell stands for a group of cells, ``counts`` holds the group sizes.
    """
    found = [*column.kept]
    if column.kind == "number":
        groups = None if counts is None else counts[column.known]
        found = sentinels(column.held, groups)
    elif column.numbers is None:
        often = {value.strip() for value in column.values if value.strip().lower() in OFTEN}
        found += sorted(often & {*map(str.strip, column.texts)}) if often else []
    return tuple(value for value in found if value not in strays)


def refuse_nothing(schema: Schema) -> None:
    """Reject a table without any remaining column."""
    if schema.features:
        return
    if schema.left_out:
        raise NullproofError(
            f"{_columns(schema.left_out)} would be left out because they name the rows, and no other "
            "column holds a known value; keep one with keep or --keep, or give more columns"
        )
    raise NullproofError("no column holds any known value; give at least one feature")


# Notices. Sentences about columns with a common problem are in one table, by the option that solves it;
# every other function returns at most one sentence.

_SENTENCES = {
    "keep": "left out, since {they} name{s} the rows: {columns}; to keep {them}: {call}",
    "missing_is_value": "being missing says much about the label in {columns}; if a blank is an answer "
    "there, and known before the label is, count it as a value: {call}",
    "ignore": "{columns} alone give{s} the label in over 99.9 % of the rows, so the answers say little "
    "unless {they} {is_are} known for a new point; otherwise leave {them} out: {call}",
}


def notify(index: Counted) -> None:
    """Warn, with `NullproofWarning`, about problems of a table."""
    # First, problems that make all answers worthless.
    for said in (
        *_about("ignore", leaks(index)),
        *_labels_alike(index.schema),
        *_empty_columns(index.schema),
        *_about("keep", index.schema.left_out),
        *no_part_notice(index, least=NOTABLE),
        *_texts_among_numbers(index.schema),
        *_spellings(index.schema),
        *_about("missing_is_value", _telling_blanks(index)),
        *_values_alike(index.schema),
        *_labels(index),
    ):
        notice(said)


def standing_notices(index: Counted) -> list[str]:
    """Return the notices that apply to every question about an index."""
    return [
        *_about("ignore", leaks(index)),
        *_labels_alike(index.schema),
        *_about("keep", index.schema.left_out),
        *no_part_notice(index),
        *_texts_among_numbers(index.schema),
        *_values_alike(index.schema),
        *_labels(index),
    ]


def _about(option: str, names: Collection[str]) -> Iterator[str]:
    if names:
        words = ("it", "it", "is", "s") if len(names) == 1 else ("they", "them", "are", "")
        said = dict(zip(("they", "them", "is_are", "s"), words, strict=True))
        listed, call = _columns(names), _call(option, names)
        yield _SENTENCES[option].format(columns=listed, call=call, **said)


def no_part_notice(index: Counted, least: float = 0.0) -> Iterator[str]:
    """Name the columns with missing cells that play no part: one value or bin, weight 0, or left out.

    No prediction depends on such cells, so a table may look more certain than it is. With ``least``, warn
    only if at least this share of all missing cells plays no part.
    """
    n_rows = int(index.label_counts.sum())
    if n_rows <= FEW:
        return
    n_missing = index.n_open.sum(axis=1).tolist()
    idle = []
    for feature, count in zip(index.schema.features, n_missing, strict=True):
        if count and feature.n_values == 1:
            idle.append((count, feature.name, "one bin" if feature.edges else "one value"))
        elif count and not (feature.weight or least):
            # Learning weights gives a notice about how many are 0; later the columns are named here.
            idle.append((count, feature.name, "weight 0"))
    if least and sum(count for count, _, _ in idle) < max(1, least * sum(n_missing)):
        return
    idle += [
        (record.missing * n_rows, record.name, "left out")
        for record in index.schema.columns
        if record.why == NAMES_ROWS and record.missing
    ]
    if not idle:
        return
    shown = [
        f"{cut(name, _LONGEST)!r} ({why}, {per_cent(count / n_rows, PLAIN)} missing)"
        for count, name, why in sorted(idle, key=lambda entry: -entry[0])
    ]
    advice = {
        "one bin": '; to bin numbers anyway: binning="uniform" or --binning uniform',
        "weight 0": '; to count every column alike: weights="equal" or --weights equal',
        "left out": "; to count columns that are left out: keep or --keep",
    }
    reasons = {why for _, _, why in idle}
    how = "".join(said for why, said in advice.items() if why in reasons)
    yield f"columns with missing cells that play no part: {_listed(shown)}{how}"


def _empty_columns(schema: Schema) -> Iterator[str]:
    names = [record.name for record in schema.columns if record.why == NO_VALUE]
    if names:
        yield f"left out, since they have no known values: {some(map(repr, names), 20)}"


def _texts_among_numbers(schema: Schema) -> Iterator[str]:
    if found := _places_of("strays", schema):
        yield (
            f"because of {_places(found)} the column counts as text, not as numbers or dates; if it means "
            f"missing, name it: {_call('missing', found)}"
        )


def _spellings(schema: Schema) -> Iterator[str]:
    """Name the texts that were read as missing, and those that may mean missing."""
    missing = schema.missing
    own = (spelling for _, spellings in missing.by_column for spelling in spellings)
    named = {*missing.named, *(missing.only or ()), *own}
    taken = {s: names for s, names in _places_of("taken", schema).items() if s not in named}
    if taken:
        was, is_value = ("was", "it is a value") if len(taken) == 1 else ("were", "they are values")
        yield (
            f"{_places(taken)} {was} taken as missing; if {is_value}, name what is missing instead: "
            "missing_only=(…) or --missing-only TEXT"
        )
    if doubtful := _places_of("suspects", schema):
        spelling, names = next(iter(doubtful.items()))
        yield (
            f"{_places(doubtful)} may mean missing; if so, name {'it' if len(doubtful) == 1 else 'them'}: "
            f"{_call('missing', doubtful)}, or for one column "
            f"--missing {in_shell(f'{cut(names[0], _LONGEST)}={cut(spelling, _LONGEST)}')}"
        )


def _telling_blanks(index: Counted) -> list[str]:
    """Return the columns where being missing says much about the label (theory 11)."""
    if int(index.label_counts.sum()) <= 5 * FEW:
        return []
    found = [
        (-int(gone.sum()), feature.name)
        for feature, gone in zip(index.schema.features, index.n_open, strict=True)
        if gone.any() and split_pays(gone.tolist(), (index.label_counts - gone).tolist())
    ]
    return [name for _, name in sorted(found, key=lambda entry: entry[0])]


def leaks(index: Counted) -> list[str]:
    """Return the columns that alone give the label in over 99.9 % of the rows."""
    n_rows = int(index.label_counts.sum())
    if n_rows <= 5 * FEW or int(index.label_counts.max()) > 0.99 * n_rows:
        return []
    found = []
    for feature, known in zip(index.schema.features, index.known, strict=True):
        if 2 <= feature.n_values <= n_rows / 10:
            n_known = int(known.sum())
            if 2 * n_known > n_rows and int(known.max(axis=1).sum()) > 0.999 * n_known:
                found.append(feature.name)
    return found


def _alike(texts: Sequence[str]) -> Iterator[str]:
    """Return the groups of texts that differ only in case or in spaces around them."""
    groups: dict[str, list[str]] = {}
    for written in texts if len(texts) <= _MANY_TEXTS else ():
        groups.setdefault(written.strip().casefold(), []).append(written)
    for group in groups.values():
        if len(group) > 1:
            yield cut(", ".join(map(repr, sorted(group))), _LONGEST)


def _labels_alike(schema: Schema) -> Iterator[str]:
    found = [*_alike([label for label in schema.labels if isinstance(label, str)])]
    if found:
        yield (
            f"labels in {cut(schema.label_name, _LONGEST)!r} differ only in case or spaces "
            f"({_listed(found, '; ')}) and count as different labels; write them alike first"
        )


def _values_alike(schema: Schema) -> Iterator[str]:
    """Name values of features that differ only in case or in spaces around them."""
    found = [
        f"{group} in {cut(feature.name, _LONGEST)!r}"
        for feature in schema.features
        if feature.kind == "category"
        for group in _alike(feature.values)
    ]
    if found:
        yield (
            f"{_listed(found, '; ')} differ only in case or spaces and count as different values; if they "
            "mean the same, write them alike"
        )


def _labels(index: Counted) -> Iterator[str]:
    labels, name = index.schema.labels, repr(cut(index.schema.label_name, _LONGEST))
    if int(index.label_counts.sum()) <= FEW:
        return
    if len(labels) == 1:
        yield (
            f"the label column {name} has one class, {cut(repr(labels[0]), _LONGEST)}, so every "
            "prediction is certain; give a column, or rows, with at least two"
        )
    elif len(labels) > _MANY_LABELS:
        yield (
            f"the label column {name} has {len(labels):,} classes; join rare ones or cut numbers into "
            "a few classes first, or name another column"
        )


# Wording.

# A Python option before its flag: ``keep=("id",) or --keep "id"``, ``keep or --keep``.
_KEYWORD = re.compile(r"""\w+=(?:\((?:[^()"]|"[^"]*")*\)|"\w*") or (?=--)|\b(\w+) or (?=--)""")

# By text, the columns that hold it.
Places = dict[str, list[str]]


def _places_of(what: str, schema: Schema) -> Places:
    """Return the ``taken``, ``suspects`` or ``strays`` of all columns, by text."""
    found: Places = {}
    for record in schema.columns:
        for written in dict.fromkeys(getattr(record, what)):
            found.setdefault(written, []).append(record.name)
    return found


def _places(found: Places) -> str:
    said = [f"{cut(text, _LONGEST)!r} in {_columns(names)}" for text, names in found.items()]
    if len(said) > _SHOWN + 1:
        said = [*said[:_SHOWN], f"{len(said) - _SHOWN} more texts"]
    return " and ".join(said)


def _columns(names: Collection[str]) -> str:
    return _listed([repr(cut(name, _LONGEST)) for name in names])


def _listed(shown: Sequence[str], comma: str = ", ") -> str:
    """List the first few texts, and the number of the others."""
    if len(shown) <= _SHOWN + 1:
        return comma.join(shown)
    return f"{comma.join(shown[:_SHOWN])} and {len(shown) - _SHOWN} more"


def _call(option: str, names: Iterable[str]) -> str:
    """Write an option with these names, in Python and on the command line."""
    shown = [cut(name, _LONGEST) for name in names][: _SHOWN + 1]
    python = ", ".join(f'"{name}"' for name in shown) + "," * (len(shown) == 1)
    flag = "--" + option.replace("_", "-")
    return f"{option}=({python}) or " + " ".join(f"{flag} {in_shell(name)}" for name in shown)


def in_flags(text: str) -> str:
    """Return a notice with its options written only as flags.

    >>> in_flags('to keep it: keep=("id",) or --keep "id"; to cut: binning="uniform" or --binning uniform')
    'to keep it: --keep "id"; to cut: --binning uniform'
    """
    return _KEYWORD.sub("", text)


def in_shell(name: str) -> str:
    """Return a name quoted for a shell.

    >>> in_shell("id"), in_shell("$(ls)")
    ('"id"', "'$(ls)'")
    """
    return shlex.quote(name) if set(name) & set('$`"\\!') else f'"{name}"'
