"""How the cells of a column become codes: learn a domain from it, or encode it with one learned before."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.errors import NullproofError
from nullproof.tables.bins import (
    EVERY_ROW,
    MISSING,
    Binning,
    Rows,
    bin_codes,
    bin_edges,
    code_type,
    cut_line,
    distinct,
    doubles,
    places,
    present,
    rounded_down,
)
from nullproof.tables.intervals import (
    binned_feature,
    both_shown,
    shown_cells,
    shown_numbers,
    with_bins,
)
from nullproof.tables.schema import Feature, Kind
from nullproof.tables.values import (
    LARGEST_DOUBLE_INTEGER,
    Exact,
    as_number,
    date_text,
    in_order,
    parsed_date,
    text,
)
from nullproof.words import cut, some


@dataclass
class Column:
    """One column as read: the common form of every data frame library's columns.

    ``numbers`` (kind number, date or code; NaN = missing) or ``codes`` into ``values`` (kind category or
    boolean; -1 = missing). Numbers that NumPy's types would mix up are Python's own, in an array of
    objects. ``sets`` holds the rows with several candidates, which are missing in the array;
    ``declared`` the categories of the column's type; ``taken`` and ``kept`` the spellings of missing that
    were found, and those in doubt that are values.
    """

    name: str
    kind: Kind
    numbers: NDArray[Any] | None = None
    codes: NDArray[Any] | None = None
    values: Sequence[str] = ()
    sets: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    declared: Sequence[str] = ()
    taken: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.numbers if self.numbers is not None else self.codes)  # type: ignore[arg-type]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which cells hold one value."""
        if self.numbers is not None:
            return present(self.numbers)
        assert self.codes is not None
        known: NDArray[np.bool_] = self.codes >= 0
        return known

    def rows(self, rows: NDArray[np.intp]) -> Column:
        """The cells of some rows, in ascending order."""
        numbers, codes = (None if a is None else a[rows] for a in (self.numbers, self.codes))
        sets = {i: self.sets[row] for i, row in enumerate(rows.tolist()) if row in self.sets}
        return replace(self, numbers=numbers, codes=codes, sets=sets)


@dataclass(frozen=True)
class Encoded:
    """A column as codes of a feature: -1 = missing, ``n_values`` = outside the domain."""

    codes: NDArray[Any]
    sets: dict[int, tuple[int, ...]]


def number_array(cells: Sequence[Exact | None]) -> NDArray[Any]:
    """Exact numbers as an array that keeps them apart: integers, doubles, or else objects."""
    whole = [cell for cell in cells if isinstance(cell, int)]
    largest = max(map(abs, whole), default=0)
    if len(whole) == len(cells) and largest < 2**63:
        return np.array(cells, dtype=np.int64)
    if largest <= LARGEST_DOUBLE_INTEGER and not any(isinstance(c, Fraction) for c in cells):
        return np.array([math.nan if c is None else c for c in cells], dtype=np.float64)
    found = np.empty(len(cells), dtype=object)
    found[:] = [math.nan if cell is None else cell for cell in cells]
    return found


def without_cells(array: NDArray[Any], gone: NDArray[np.bool_]) -> NDArray[Any]:
    """Make some numbers missing, and keep the others apart."""
    if array.dtype.kind == "f":
        return np.where(gone, np.array(math.nan, dtype=array.dtype), array)
    cells = array.tolist()
    return number_array([None if lost else x for x, lost in zip(cells, gone.tolist(), strict=True)])


def fit_feature(
    column: Column,
    *,
    bins: int,
    binning: Binning,
    domain: Sequence[str] = (),
    rows: Rows = EVERY_ROW,
) -> tuple[Feature, Encoded]:
    """Learn the domain of a training column and encode the column with it.

    The domain is what the column holds, its candidates included, together with what was declared
    (theory 1). ``rows`` tells the label of each cell, which ``binning="mdl"`` needs.
    """
    if domain and not column.known.any() and not column.sets and None not in map(as_number, domain):
        column = Column(column.name, "number", numbers=np.full(len(column), np.nan))
    if column.kind in ("number", "date") and not domain and binning != "none":
        return _fit_bins(column, bins, binning, rows)
    if column.kind == "date" and any(parsed_date(value) is None for value in domain):
        column = _as_text(column)
    if column.kind == "date":
        return _fit_dates(column, domain)
    if column.numbers is not None:
        return _fit_numbers(column, domain)
    return _fit_categories(column, domain)


def widen_feature(feature: Feature, column: Column) -> Feature:
    """The feature with those values of a further column added that its domain lacks; bins stay."""
    encoded = encode(feature, column)
    outside = encoded.codes == feature.n_values
    column = _as_kind(feature, column)
    candidates = [x for cells in column.sets.values() for x in cells]
    if feature.edges:
        assert column.numbers is not None
        found = number_array([*column.numbers[column.known].tolist(), *candidates])
        return with_bins(feature, shown_numbers(found, feature.edges, feature.kind))
    if not outside.any() and all(feature.n_values not in codes for codes in encoded.sets.values()):
        return feature
    # Candidates that are all outside have one code too, but no value of their own.
    outside &= column.known
    if column.numbers is not None:
        write = date_text if feature.kind == "date" else text
        new = {write(x) for x in [*column.numbers[outside].tolist(), *candidates]}
    else:
        assert column.codes is not None
        new = {column.values[code] for code in np.unique(column.codes[outside])}
        new.update(text(x) for x in candidates)
    if feature.kind == "code":
        return replace(feature, values=tuple(map(str, range(max(int(x) for x in new) + 1))))
    return replace(feature, values=in_order({*feature.values, *new}))


def encode(feature: Feature, column: Column) -> Encoded:
    """Encode a column with a domain learned before; other values get the code ``n_values``."""
    column = _as_kind(feature, column)
    if column.numbers is not None:
        return _with_sets(feature, column, encode_numbers(feature, column.numbers))
    assert column.codes is not None
    codes, outside = feature.codes, feature.n_values
    found = [*(codes.get(value, outside) for value in column.values), MISSING]
    own = column.codes
    if column.sets or own.dtype != code_type(outside) or found[:-1] != [*range(len(found) - 1)]:
        own = np.array(found, dtype=code_type(outside))[own]
    return _with_sets(feature, column, own)


def n_outside(feature: Feature, column: Column) -> int:
    """How many finite cells lie beyond the outer edges of a feature's bins; one bin has none."""
    if not feature.edges or math.isinf(feature.edges[0]):
        return 0
    array = _as_kind(feature, column).numbers
    assert array is not None
    spots = places(array, feature.kind)
    # The outer edges of moments may be rounded, up or down.
    least, greatest = doubles(spots), rounded_down(spots) if spots.dtype.kind == "O" else spots
    if len(spots) and least.min() >= feature.edges[0] and greatest.max() <= feature.edges[-1]:
        return 0
    below = (least < feature.edges[0]) & (least > -math.inf)
    above = (greatest > feature.edges[-1]) & (greatest < math.inf)
    return int(np.count_nonzero(below)) + int(np.count_nonzero(above))


def encode_numbers(feature: Feature, array: NDArray[Any]) -> NDArray[Any]:
    """Encode numbers: their bin, or the category that equals them."""
    if feature.edges:
        codes = bin_codes(array, feature.edges, feature.kind)
        if feature.bins != tuple(range(len(feature.edges) - 1)):
            table = np.full(len(feature.edges), feature.n_values, dtype=code_type(feature.n_values))
            table[list(feature.bins)] = range(feature.n_values)
            table[-1] = MISSING
            codes = table[codes]
        return codes
    if feature.kind == "code":
        array = doubles(array)
        outside = (array >= feature.n_values) | (array > np.floor(array))
        inside = np.where(outside, np.float64(feature.n_values), array).astype(np.float64)
        codes = np.maximum(np.nan_to_num(inside, nan=MISSING), MISSING)
        return np.asarray(codes, dtype=code_type(feature.n_values))
    if feature.kind == "date" or feature.has_large_integers or _has_large_integers(array):
        return _encode_by_text(feature, array)
    numbers_, order = feature.sorted_numbers
    found = np.searchsorted(numbers_, array)
    found[found == len(numbers_)] = 0
    codes = np.where(numbers_[found] == array, order[found], feature.n_values)
    codes[~present(array)] = MISSING
    return codes.astype(code_type(feature.n_values))


def _has_large_integers(array: NDArray[Any]) -> bool:
    """Whether comparing with doubles might mix numbers up."""
    if array.dtype.kind in "fO" or not len(array):
        return array.dtype.kind == "O"
    return max(int(array.max()), -int(array.min())) > LARGEST_DOUBLE_INTEGER


def _encode_by_text(feature: Feature, array: NDArray[Any]) -> NDArray[Any]:
    write = date_text if feature.kind == "date" else text
    found, cells = distinct(array)
    codes = [
        feature.codes.get(write(x), feature.n_values) if x == x else MISSING for x in found.tolist()
    ]
    return np.array([*codes, MISSING], dtype=code_type(feature.n_values))[cells]


def _fit_bins(column: Column, bins: int, binning: Binning, rows: Rows) -> tuple[Feature, Encoded]:
    assert column.numbers is not None
    kind = column.kind
    candidates = number_array([x for cells in column.sets.values() for x in cells])
    known = column.numbers
    # Candidates have a place among equal widths or shares, but say nothing of the label (theory 11).
    if len(candidates) and binning != "mdl":
        known = np.concatenate([doubles(places(known, kind)), doubles(places(candidates, kind))])
    if binning == "mdl":
        cut = cut_line(known, kind, rows)
        edges, codes = cut.edges, cut.codes
        shown = shown_numbers(cut.ends, edges, kind)
    else:
        edges = bin_edges(known, bins, binning, kind, rows)
        codes = bin_codes(column.numbers, edges, kind)
        shown = shown_cells(places(column.numbers, kind), codes, edges)
    if len(candidates):
        shown = both_shown(shown, shown_numbers(candidates, edges, kind))
    feature = binned_feature(column.name, kind, edges, shown)
    if feature.n_values < len(edges) - 1:
        return feature, encode(feature, column)
    return feature, _with_sets(feature, column, codes)


def _fit_numbers(column: Column, declared: Sequence[str]) -> tuple[Feature, Encoded]:
    assert column.numbers is not None
    if None in map(as_number, declared):
        raise NullproofError(
            f"domains declares texts for column {column.name!r}, which holds numbers; "
            "declare numbers there or turn the column into text"
        )
    seen = {text(x) for x in distinct(column.numbers[column.known])[0].tolist()}
    seen.update(text(x) for cells in column.sets.values() for x in cells)
    seen.update(text(as_number(value)) for value in declared)
    feature = Feature(column.name, "number", in_order(seen))
    return feature, encode(feature, column)


def _fit_dates(column: Column, declared: Sequence[str]) -> tuple[Feature, Encoded]:
    """Make every moment a value of its own; declared ones are dates as a file would write them."""
    assert column.numbers is not None
    seen = {date_text(x) for x in distinct(column.numbers[column.known])[0].tolist()}
    seen.update(date_text(x) for cells in column.sets.values() for x in cells)
    seen.update(date_text(x) for x in map(parsed_date, declared) if x is not None)
    feature = Feature(column.name, "date", in_order(seen))
    return feature, encode(feature, column)


def _fit_categories(column: Column, declared: Sequence[str]) -> tuple[Feature, Encoded]:
    assert column.codes is not None
    if column.kind == "boolean":
        declared = [value.lower() for value in declared]
    seen = {*column.values}
    if not seen.issubset(column.declared):
        used = (np.flatnonzero(np.bincount(column.codes + 1, minlength=1)) - 1).tolist()
        seen = {column.values[code] for code in used if code >= 0}
    seen.update(text(x) for cells in column.sets.values() for x in cells)
    values = in_order({*seen, *declared, *column.declared})
    feature = Feature(column.name, column.kind, values)
    return feature, encode(feature, column)


def _with_sets(feature: Feature, column: Column, codes: NDArray[Any]) -> Encoded:
    """Add the candidate sets; candidates that fall into one bin are one value."""
    sets = {}
    for row, cells in column.sets.items():
        candidates = encode_set(feature, cells)
        if len(candidates) == 1:
            codes[row] = candidates[0]
        else:
            sets[row] = candidates
    return Encoded(codes, sets)


def encode_set(feature: Feature, cells: tuple[Any, ...]) -> tuple[int, ...]:
    """Encode the candidates of one cell."""
    if feature.kind in ("number", "date", "code"):
        codes = encode_numbers(feature, number_array(cells))
        return tuple(sorted({int(code) for code in codes}))
    return tuple(sorted({feature.codes.get(text(cell), feature.n_values) for cell in cells}))


def _as_kind(feature: Feature, column: Column) -> Column:
    """Bring a column to the kind that the feature was learned with, or say why that cannot be."""
    numeric = ("number", "code")
    if feature.kind == column.kind or {feature.kind, column.kind} <= {*numeric}:
        return column
    if not column.sets and not np.any(column.known):
        return _empty_like(feature, column)
    if feature.kind in (*numeric, "date") and column.kind == "category":
        return _texts_parsed(feature, column)
    if feature.kind == "category" and column.numbers is not None:
        return _as_text(column)
    if {feature.kind, column.kind} == {"boolean", "category"}:
        return _case_blind(feature, column)
    raise _wrong_kind(feature, column)


def _empty_like(feature: Feature, column: Column) -> Column:
    if feature.kind in ("category", "boolean"):
        return Column(column.name, feature.kind, codes=np.full(len(column), MISSING))
    return Column(column.name, feature.kind, numbers=np.full(len(column), math.nan))


def _texts_parsed(feature: Feature, column: Column) -> Column:
    assert column.codes is not None
    read = parsed_date if feature.kind == "date" else as_number

    def parse(written: str) -> Exact:
        number = read(written)
        if number is None:
            raise _wrong_kind(feature, column, written)
        return number

    cells: list[Exact | None] = [None] * (len(column.values) + 1)
    for code in np.unique(column.codes[column.codes >= 0]).tolist():
        cells[code] = parse(column.values[code])
    table = number_array(cells)
    sets = {row: tuple(parse(text(x)) for x in cells) for row, cells in column.sets.items()}
    return Column(column.name, feature.kind, numbers=table[column.codes], sets=sets)


def _as_text(column: Column) -> Column:
    """Make every number or date of a column a category of its own."""
    assert column.numbers is not None
    write = date_text if column.kind == "date" else text
    found, codes = distinct(column.numbers)
    codes[~column.known] = MISSING
    texts = [write(x) if x == x else "" for x in found.tolist()]
    sets = {row: tuple(write(x) for x in cells) for row, cells in column.sets.items()}
    return Column(column.name, "category", codes=codes, values=texts, sets=sets)


def _case_blind(feature: Feature, column: Column) -> Column:
    """Match true, True and TRUE: libraries write booleans in different cases."""
    by_lower: Mapping[str, str] = {value.lower(): value for value in feature.values}
    assert column.codes is not None
    # Values may be categories that no cell holds.
    for code in np.unique(column.codes[column.known]).tolist():
        if column.values[code].lower() not in ("true", "false"):
            raise _wrong_kind(feature, column, column.values[code])
    texts = [by_lower.get(value.lower(), value) for value in column.values]
    sets = {row: tuple(by_lower.get(x.lower(), x) for x in own) for row, own in column.sets.items()}
    return Column(column.name, feature.kind, codes=column.codes, values=texts, sets=sets)


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
