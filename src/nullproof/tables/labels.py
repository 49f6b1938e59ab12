"""The label column: each row's label as a number, and no holes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.errors import NullproofError
from nullproof.tables.bins import distinct
from nullproof.tables.columns import Column
from nullproof.tables.grids import tally
from nullproof.tables.readers import Table
from nullproof.tables.schema import Schema
from nullproof.tables.values import date_text, in_order, is_missing, text
from nullproof.words import many, some

# What to do about rows of a table without a label.
DROP = 'unlabelled="drop", --drop-unlabelled'


def label_codes(labels: Column) -> tuple[NDArray[np.int32], tuple[Any, ...]]:
    """Number the labels, and refuse holes among them."""
    refuse_holes(labels)
    if labels.numbers is not None:
        found, codes = distinct(labels.numbers)
        if labels.kind == "date":
            return codes, tuple(date_text(moment) for moment in found.tolist())
        # Durations to the nanosecond may be neither whole nor a double.
        return codes, tuple(text(x) if isinstance(x, Fraction) else x for x in found.tolist())
    assert labels.codes is not None
    held = np.flatnonzero(tally(labels.codes, None, len(labels.values))).tolist()
    used = in_order({labels.values[code] for code in held})
    place = {value: code for code, value in enumerate(used)}
    names = [value == "true" for value in used] if labels.kind == "boolean" else used
    if used == tuple(labels.values):
        return labels.codes.astype(np.int32), tuple(names)
    table = np.array([place.get(value, -1) for value in labels.values], dtype=np.int32)
    return table.take(labels.codes), tuple(names)


def known_label_codes(schema: Schema, labels: Column) -> NDArray[np.int32]:
    """Number the labels as an index made before does."""
    codes, found = label_codes(labels)
    unknown = [label for label in found if text(label) not in schema.label_codes]
    if unknown:
        raise NullproofError(
            f"the label column holds {unknown[0]!r}, which the given index does not have "
            f"({some(schema.labels, 5)}); count anew without like"
        )
    table = np.array([schema.label_codes[text(label)] for label in found], dtype=np.int32)
    return table[codes]


def found_label_codes(schema: Schema, labels: Column) -> NDArray[np.int32]:
    """The number of each row's label; -1 for a hole and for what is no label of the schema."""
    known = labels.known
    numbers, codes = (None if a is None else a[known] for a in (labels.numbers, labels.codes))
    places, found = label_codes(replace(labels, sets={}, numbers=numbers, codes=codes))
    table = [schema.label_codes.get(text(label), -1) for label in found]
    own = np.full(len(labels), -1, dtype=np.int32)
    own[known] = np.array(table, dtype=np.int32)[places]
    return own


def true_labels(schema: Schema, points: Table) -> NDArray[np.int32] | None:
    """The number of each point's own label as `found_label_codes` has it; None without a label column."""
    if schema.label_name not in points.names:
        return None
    return found_label_codes(schema, points.labels(schema.label_name))


def label_positions(schema: Schema, labels: Iterable[Any]) -> NDArray[np.int32]:
    """The position of each label among the schema's; -1 for a missing one and for one that is not there."""
    # A file writes True where a data frame has the boolean.
    known = {str(label): place for place, label in enumerate(schema.labels)} | schema.label_codes
    found = [
        -1 if is_missing(label) else known.get(text(label), known.get(str(label), -1))
        for label in labels
    ]
    return np.array(found, dtype=np.int32)


def refuse_holes(labels: Column, how: str = "") -> None:
    """Refuse labels with holes; ``how`` says how rows can be left out, where they can."""
    if labels.sets:
        raise NullproofError("a label has several candidates; every row needs one label")
    if labels.numbers is not None and labels.numbers.dtype.kind in "iu":
        return
    holes = np.flatnonzero(~labels.known)
    if len(holes):
        raise NullproofError(
            f"the label column {labels.name!r} has {many(len(holes), 'hole')} ({rows_of(holes)}); "
            f"{mend_labels(len(holes), how)}"
        )


def rows_of(holes: NDArray[np.intp]) -> str:
    """Where the first holes are: ``row 1, counted from 0``."""
    return f"{'row' if len(holes) == 1 else 'rows'} {some(holes.tolist(), 5)}, counted from 0"


def mend_labels(n_holes: int, how: str = "") -> str:
    """What to do about rows without a label; ``how`` says how they are left out, where they can be."""
    them, rows = ("it", "that row") if n_holes == 1 else ("them", "those rows")
    return f"fill {them} in or leave {rows} out{how and f' ({how})'}: labels are never missing"
