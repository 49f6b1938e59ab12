"""Features with their closed domains, labels, and how a column becomes codes.

A code is the position of a value in its feature's domain. A domain consists of the values in the known
cells of the training table and the declared values (theory 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nullproof.data.binning import (
    Binning,
    Rows,
    Shown,
    bin_codes,
    bin_texts,
    both_shown,
    code_type,
    is_single,
    late_bin_text,
    learn_bins,
    rounded_down,
    shown_numbers,
)
from nullproof.data.missing import MISSING_VALUE, USUAL, Missing
from nullproof.data.types import (
    MISSING,
    Column,
    Kind,
    as_number,
    at_microseconds,
    date_text,
    distinct,
    in_order,
    parsed_date,
    text,
    unsupported,
)
from nullproof.errors import NullproofError
from nullproof.words import cut, many, some

# A weight of 1: weights are multiples of 1/8.
ONE = 8


@dataclass(frozen=True)
class Feature:
    """One column of the training table and its closed domain.

    ``values`` are the domain as text, in a fixed order; a bin is written by what the training table shows
    in it. A number or date (microseconds since 1970) in bins has their ``edges``, and ``bins`` says which
    bin each of the first values is; without edges every value is its own category. ``missing_is_value``: a
    missing cell holds the value ``(missing)``. The ``weight`` counts eighths (theory 12).
    """

    name: str
    kind: Kind
    values: tuple[str, ...]
    edges: tuple[float, ...] = ()
    bins: tuple[int, ...] = ()
    missing_is_value: bool = False
    weight: int = ONE

    @property
    def n_values(self) -> int:
        return len(self.values)

    @cached_property
    def domain(self) -> frozenset[str]:
        return frozenset(self.values)

    @cached_property
    def codes(self) -> dict[str, int]:
        return {value: code for code, value in enumerate(self.values)}

    @property
    def missing_code(self) -> int:
        """The code of a missing cell: -1, or that of the value which stands for missing."""
        return self.codes[MISSING_VALUE] if self.missing_is_value else MISSING

    @property
    def shows_single_values(self) -> bool:
        """Whether a column in bins shows one number or moment alone in each of them."""
        return bool(self.edges) and all(map(is_single, self.values))

    def __repr__(self) -> str:
        values = f"{many(self.n_values, 'value')}: {some(self.values, 4)}"
        return f"Feature({self.name!r}, {self.kind}, {values})"


Use = Literal["feature", "label", "left out"]
NAMES_ROWS = "it names the rows"
NO_VALUE = "no cell is known"
IGNORED = "ignored"


@dataclass(frozen=True)
class ColumnRecord:
    """How one column of the training table is used, or ``why`` it was left out.

    ``missing`` is the share of its cells that are missing, None if it was not read. Of its texts and
    numbers some were ``taken`` as missing, ``suspects`` may mean missing too, and ``strays`` make a column
    of numbers or dates text.
    """

    name: str
    use: Use
    why: str = ""
    kind: str = ""
    missing: float | None = None
    taken: tuple[str, ...] = ()
    suspects: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()


@dataclass(frozen=True)
class Schema:
    """The schema of an index: features with their domains, labels, and what means missing.

    ``columns`` are all columns of the training table, in its order (none for plain rows and codes),
    ``formats`` how its file wrote the numbers and dates of some features.
    """

    features: tuple[Feature, ...]
    labels: tuple[Any, ...]
    label_name: str = "label"
    missing: Missing = USUAL
    columns: tuple[ColumnRecord, ...] = ()
    formats: tuple[tuple[str, str], ...] = ()

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """How much each feature counts, in eighths."""
        return tuple(feature.weight for feature in self.features)

    @cached_property
    def n_values(self) -> NDArray[np.int64]:
        """The size of each feature's domain."""
        return np.array([len(feature.values) for feature in self.features], dtype=np.int64)

    @cached_property
    def label_codes(self) -> dict[str, int]:
        return {text(label): code for code, label in enumerate(self.labels)}

    @cached_property
    def position(self) -> dict[str, int]:
        return {feature.name: j for j, feature in enumerate(self.features)}

    @cached_property
    def left_out(self) -> tuple[str, ...]:
        """The columns that only name the rows and are not features."""
        return tuple(record.name for record in self.columns if record.why == NAMES_ROWS)

    def row_columns(self, width: int) -> tuple[str, ...]:
        """Return the columns of a plain row: the features, or all columns where their names are places.

        The names ``x0``, ``x1``, … of rows without names say where each column stands.
        """
        names = tuple(feature.name for feature in self.features)
        numbered = tuple(f"x{j}" for j in range(width))
        in_order = tuple(name for name in numbered if name in self.position) == names
        return numbered if in_order and {*numbered} == {*names, *self.left_out} else names


@dataclass(frozen=True)
class Encoded:
    """A column as codes of a feature: -1 = missing, ``n_values`` = outside the domain."""

    codes: NDArray[Any]
    sets: dict[int, tuple[int, ...]]


# Learn a domain.


def fit_feature(
    column: Column,
    *,
    bins: int,
    binning: Binning,
    rows: Rows,
    domain: Sequence[str] = (),
    missing_is_value: bool = False,
) -> tuple[Feature, Encoded]:
    """Learn the domain of a training column and encode the column with it.

    ``domain`` are declared values; ``rows`` has the label of each cell, which ``binning="mdl"`` needs.
    """
    if domain and not column.known.any() and not column.sets and None not in map(as_number, domain):
        column = Column(column.name, "number", numbers=np.full(len(column), np.nan))
    if column.kind in ("number", "date") and not domain and binning != "none":
        if column.sets:
            raise unsupported(column.name, "sets of candidates among numbers that get bins")
        edges, shown = learn_bins(column, bins, binning, rows)
        feature = binned_feature(column.name, column.kind, edges, shown, missing_is_value)
        return feature, encode(feature, column)
    if column.kind == "date" and any(parsed_date(value) is None for value in domain):
        column = _as_text(column)
    values = _values_of(column, domain)
    if missing_is_value:
        values = (*(v for v in values if v != MISSING_VALUE), MISSING_VALUE)
    feature = Feature(column.name, column.kind, values, missing_is_value=missing_is_value)
    return feature, encode(feature, column)


def binned_feature(
    name: str, kind: Kind, edges: tuple[float, ...], shown: Shown, missing_is_value: bool = False
) -> Feature:
    """Return the feature of a column that holds some of its bins."""
    feature = Feature(name, kind, (), edges, missing_is_value=missing_is_value)
    return _with_texts(feature, bin_texts(edges, kind, shown))


def _with_texts(feature: Feature, texts: Mapping[int, str]) -> Feature:
    bins = tuple(sorted(texts))
    extra = (MISSING_VALUE,) if feature.missing_is_value else ()
    return replace(feature, bins=bins, values=(*(texts[b] for b in bins), *extra))


def _values_of(column: Column, declared: Sequence[str]) -> tuple[str, ...]:
    """Return the values of a column without bins, candidates and declared values included."""
    candidates = [x for several in column.sets.values() for x in several]
    if column.numbers is None:
        if column.kind == "boolean":
            declared = [value.lower() for value in declared]
        # Skip looking for values in use if all of them are declared.
        seen = () if {*column.values} <= {*column.declared} else column.texts
        return in_order({*seen, *candidates, *declared, *column.declared})
    given = [_reader(column.kind)(value) for value in declared]
    if None in given:
        raise NullproofError(
            f"domains declares texts for column {column.name!r}, which holds numbers; "
            "declare numbers there or turn the column into text"
        )
    numbers = [*distinct(column.held)[0].tolist(), *candidates, *given]
    return in_order({column.write(number) for number in numbers})


def widen_feature(feature: Feature, column: Column) -> Feature:
    """Return the feature with new values of a further column added to its domain; bins stay."""
    column = _as_kind(feature, column)
    if feature.edges:
        return _with_bins(feature, shown_numbers(column.held, feature.edges, feature.kind))
    new = {*_values_of(replace(column, declared=()), ())} - feature.domain
    if not new:
        return feature
    if feature.kind == "code":
        largest = max(int(x) for x in new)
        return replace(feature, values=tuple(map(str, range(largest + 1))))
    return replace(feature, values=in_order({*feature.values, *new}))


def _with_bins(feature: Feature, shown: Shown) -> Feature:
    """Add bins that came into use; one written as its one number may show more of them now."""
    texts = dict(zip(feature.bins, feature.values, strict=False))
    for b, pair in shown.items():
        now = late_bin_text(feature.edges, feature.kind, b, pair)
        if b not in texts:
            texts[b] = now
        elif is_single(texts[b]) and texts[b] != now:
            before = _reader(feature.kind)(texts[b])
            ends = both_shown({b: pair}, {b: (before, before)})[b]
            texts[b] = late_bin_text(feature.edges, feature.kind, b, ends)
    return _with_texts(feature, texts)


# Encode with a domain learned before.


def encode(feature: Feature, column: Column) -> Encoded:
    """Encode a column with a domain learned before; other values get the code ``n_values``."""
    column = _as_kind(feature, column)
    if column.numbers is not None:
        return _encoded(feature, column, _encode_numbers(feature, column.numbers))
    codes, outside = feature.codes, feature.n_values
    found = [*(codes.get(value, outside) for value in column.values), MISSING]
    own = np.asarray(column.codes)
    changes = column.sets or feature.missing_is_value
    if changes or own.dtype != code_type(outside) or found[:-1] != [*range(len(found) - 1)]:
        own = np.array(found, dtype=code_type(outside))[own]
    return _encoded(feature, column, own)


def _encoded(feature: Feature, column: Column, codes: NDArray[Any]) -> Encoded:
    """Add missing cells and candidate sets; candidates that fall into one bin are one value."""
    if column.mask is not None:
        codes[~column.mask] = MISSING
    if feature.missing_is_value:
        codes[codes == MISSING] = feature.missing_code
    sets = {}
    for row, cells in column.sets.items():
        candidates = encode_set(feature, cells)
        codes[row] = candidates[0] if len(candidates) == 1 else MISSING
        if len(candidates) > 1:
            sets[row] = candidates
    return Encoded(codes, sets)


def encode_set(feature: Feature, cells: tuple[Any, ...]) -> tuple[int, ...]:
    """Encode the candidates of one cell."""
    if feature.kind in ("number", "date", "code"):
        codes = _encode_numbers(feature, np.array(cells)).tolist()
    else:
        codes = [feature.codes.get(text(cell), feature.n_values) for cell in cells]
    return tuple(sorted({int(code) for code in codes}))


def _encode_numbers(feature: Feature, array: NDArray[Any]) -> NDArray[Any]:
    """Encode numbers: their bin, or the category that equals them; NaN is missing."""
    n_values, kind = feature.n_values, code_type(feature.n_values)
    if feature.edges:
        codes = bin_codes(array, feature.edges, feature.kind)
        if feature.bins != tuple(range(len(feature.edges) - 1)):
            table = np.full(len(feature.edges), n_values, dtype=kind)
            table[list(feature.bins)] = range(len(feature.bins))
            table[-1] = MISSING
            codes = table[codes]
        return codes.astype(kind, copy=False)
    if feature.kind == "code":
        if array.dtype.kind == "f":
            array = np.where(array > np.floor(array), n_values, np.nan_to_num(array, nan=MISSING))
        return np.asarray(np.clip(array, MISSING, n_values), dtype=kind)
    found, cells = distinct(array)
    write = date_text if feature.kind == "date" else text
    table = np.array(
        [feature.codes.get(write(x), n_values) if x == x else MISSING for x in found.tolist()],
        dtype=kind,
    )
    return table[cells]


def n_outside(feature: Feature, column: Column) -> int:
    """Count the finite cells beyond the outer edges of a feature's bins; one bin has none."""
    if not feature.edges or math.isinf(feature.edges[0]):
        return 0
    held = _as_kind(feature, column).held
    if not len(held):
        return 0
    # The outer edges of moments may be rounded, up or down.
    least, greatest = held.astype(np.float64), rounded_down(held)
    low, high = feature.edges[0], feature.edges[-1]
    if least.min() >= low and greatest.max() <= high:
        return 0
    below = np.count_nonzero((least < low) & (least > -math.inf))
    return int(below + np.count_nonzero((greatest > high) & (greatest < math.inf)))


def decode(feature: Feature, code: int) -> Any:
    """Return a value with this code; for a bin, the middle of its interval; None outside the domain."""
    if code >= feature.n_values or (feature.missing_is_value and code == feature.missing_code):
        return None
    if feature.edges:
        low, high = feature.edges[feature.bins[code]], feature.edges[feature.bins[code] + 1]
        # The sum of huge ends is no double; one bin for all has no ends at all.
        middle = (low + high) / 2 if math.isfinite(low + high) else low / 2 + high / 2
        middle = middle if math.isfinite(middle) else 0.0
        # Between neighbouring doubles the middle is rounded, perhaps into the next bin.
        middle = middle if middle < high else low
        return at_microseconds(middle) if feature.kind == "date" else middle
    value = feature.values[code]
    if feature.kind == "boolean":
        return value == "true"
    if feature.kind in ("number", "code"):
        return as_number(value)
    moment = parsed_date(value) if feature.kind == "date" else None
    return value if moment is None else at_microseconds(moment)


# Bring a column to the kind that a feature was learned with.


def _reader(kind: Kind) -> Callable[[str], int | float | None]:
    """Return how a text is read as a number or moment."""
    return parsed_date if kind == "date" else as_number


def _as_kind(feature: Feature, column: Column) -> Column:
    """Return a column in the kind that the feature was learned with, or reject it."""
    name, kind, numeric = column.name, feature.kind, {"number", "code"}
    if kind == column.kind or {kind, column.kind} <= numeric:
        return column
    of_texts = kind in ("category", "boolean")
    if not column.sets and not np.any(column.known):
        if of_texts:
            return Column(name, kind, codes=np.full(len(column), MISSING))
        return Column(name, kind, numbers=np.full(len(column), math.nan))
    if kind == "category" and column.numbers is not None:
        return _as_text(column)
    if column.kind != "category" and not (column.kind == "boolean" and of_texts):
        raise _wrong_kind(feature, column)
    # Libraries capitalize booleans differently.
    both = ("true", "false")
    truths = {x.lower(): x for x in (*both, *feature.values) if x.lower() in both}
    meant: dict[str, Any] = {}
    for written in (*column.texts, *(x for own in column.sets.values() for x in own)):
        value = truths.get(written.lower()) if of_texts else _reader(kind)(written)
        if value is None:
            raise _wrong_kind(feature, column, written)
        meant[written] = value
    sets = {row: tuple(meant[x] for x in own) for row, own in column.sets.items()}
    if of_texts:
        texts = [meant.get(value, value) for value in column.values]
        return Column(name, kind, codes=column.codes, values=texts, sets=sets)
    numbers = np.array([*(meant.get(value, 0) for value in column.values), 0])
    parsed = Column(name, kind, numbers=numbers[column.codes], sets=sets)
    return parsed if column.known.all() else parsed.without(~column.known)


def _as_text(column: Column) -> Column:
    """Make every number or date of a column a category of its own."""
    found, places = distinct(column.held)
    codes = np.full(len(column), MISSING, dtype=np.int32)
    codes[column.known] = places
    texts = [column.write(x) for x in found.tolist()]
    sets = {row: tuple(map(column.write, cells)) for row, cells in column.sets.items()}
    return Column(column.name, "category", codes=codes, values=texts, sets=sets)


def _wrong_kind(feature: Feature, column: Column, example: str | None = None) -> NullproofError:
    words = {"category": "text", "boolean": "true/false", "code": "codes"}
    came = words.get(column.kind, column.kind + "s")
    if example is None and len(column.values):
        example = column.values[0]
    shown = "" if example is None else f" such as {cut(example)!r}"
    needed = words.get(feature.kind, feature.kind + "s")
    return NullproofError(
        f"column {column.name!r} holds {came}{shown}, but the training table holds {needed} "
        f"there ({some(map(cut, feature.values), 3)}); give the column in the same form"
    )
