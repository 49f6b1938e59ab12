"""The label column: labels as codes, missing labels rejected or left out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.data.schema import Schema
from nullproof.data.sources import Table, check_limits
from nullproof.data.types import Column, date_text, distinct, in_order, is_missing, text
from nullproof.errors import NullproofError, notice
from nullproof.words import cut, many, some

# What to do about rows of a table without a label.
DROP = 'unlabelled="drop", --drop-unlabelled'


def label_codes(labels: Column) -> tuple[NDArray[np.int32], tuple[Any, ...]]:
    """Number the labels, and reject missing ones."""
    refuse_missing(labels)
    if labels.numbers is not None:
        found, codes = distinct(labels.numbers)
        check_limits(n_labels=len(found))
        names = found.tolist()
        return codes, tuple(map(date_text, names) if labels.kind == "date" else names)
    used = in_order({*labels.texts})
    check_limits(n_labels=len(used))
    place = {value: code for code, value in enumerate(used)}
    table = np.array([place.get(value, -1) for value in labels.values], dtype=np.int32)
    is_boolean = labels.kind == "boolean"
    return table[labels.codes], tuple(x == "true" for x in used) if is_boolean else used


def known_label_codes(
    schema: Schema, labels: Column, advice: str = "count anew without like"
) -> NDArray[np.int32]:
    """Number the labels like an existing index; ``advice`` says what to do about unknown labels."""
    codes, found = label_codes(labels)
    unknown = [label for label in found if text(label) not in schema.label_codes]
    if unknown:
        raise NullproofError(
            f"the label column holds {cut(repr(unknown[0]))}, which the given index does not have "
            f"({some(map(cut, map(str, schema.labels)), 5)}); {advice}"
        )
    return label_positions(schema, found)[codes]


def true_labels(schema: Schema, points: Table) -> NDArray[np.int32] | None:
    """Return the number of each point's label; None without a label column.

    It is -1 if the label is missing or not in the schema.
    """
    if schema.label_name not in points.columns:
        return None
    labels = points.labels(schema.label_name)
    known = labels.known
    places, found = label_codes(labels.rows(np.flatnonzero(known)))
    own = np.full(len(labels), -1, dtype=np.int32)
    own[known] = label_positions(schema, found)[places]
    return own


def label_positions(schema: Schema, labels: Iterable[Any]) -> NDArray[np.int32]:
    """Return the position of each label among the schema's; -1 for a missing or an unknown one."""
    # A file holds the text True for a boolean.
    known = {str(label): place for place, label in enumerate(schema.labels)} | schema.label_codes
    found = [
        -1 if is_missing(label) else known.get(text(label), known.get(str(label), -1))
        for label in labels
    ]
    return np.array(found, dtype=np.int32)


def refuse_missing(labels: Column, how: str = "") -> None:
    """Reject missing labels; ``how`` names the option that leaves out such rows, if there is one."""
    if labels.sets:
        raise NullproofError("a label has several candidates; every row needs one label")
    gone = np.flatnonzero(~labels.known)
    if len(gone):
        raise NullproofError(
            f"the label column {labels.name!r} has {many(len(gone), 'missing label')} ({rows_of(gone)}); "
            f"{mend_labels(len(gone), how)}"
        )


def rows_of(places: NDArray[np.intp]) -> str:
    """Write where the first rows are: ``row 1, counted from 0``."""
    return f"{'row' if len(places) == 1 else 'rows'} {some(places.tolist(), 5)}, counted from 0"


def mend_labels(n_missing: int, how: str = "") -> str:
    """Advise on rows without a label; ``how`` names the option that leaves them out, if there is one."""
    them, rows = ("it", "that row") if n_missing == 1 else ("them", "those rows")
    return f"fill {them} in or leave {rows} out{how and f' ({how})'}: labels are never missing"


def labelled_rows(table: Table, labels: Column) -> tuple[Table, Column]:
    """Return the rows whose label is known; the other rows are ignored altogether."""
    if labels.known.all():
        return table, labels
    rows = np.flatnonzero(labels.known)
    return table.some(rows), labels.rows(rows)


def report_unlabelled(label: str, n_dropped: int, n_left: int) -> None:
    """Report how many rows were left out, or reject the table if none is left."""
    if not n_left:
        raise NullproofError(
            f"none of the {many(n_dropped, 'row')} has a label in column {label!r}; give at least one that "
            "has"
        )
    if n_dropped:
        notice(
            f"left out {many(n_dropped, 'row')} without a label in column {label!r}; {n_left:,} are left"
        )
