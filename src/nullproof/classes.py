"""Labels ``y`` as scikit-learn users pass them: sorted classes, and the class of every row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d

from nullproof.data.labels import mend_labels, rows_of
from nullproof.data.types import MISSING, distinct, is_missing, text
from nullproof.errors import NullproofError
from nullproof.words import many


def classes_of(y: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the sorted classes and the class of every row."""
    if y is None:
        raise NullproofError("requires y to be passed, but the target y is None")
    try:
        classes, codes = _distinct_labels(y)
    except TypeError:
        raise NullproofError(
            "y mixes labels that cannot be sorted together; give labels of one type, one per row"
        ) from None
    if len(codes) != n_rows:
        check_consistent_length(np.empty(n_rows), codes)
    gone = np.flatnonzero(codes == MISSING)
    if len(gone):
        raise NullproofError(
            f"y has {many(len(gone), 'missing label')} ({rows_of(gone)}); {mend_labels(len(gone))}"
        )
    assert_all_finite(classes, input_name="y")
    # Checking the distinct labels is enough; they are repeated because few rows per label cause a warning.
    check_classification_targets(np.repeat(classes, 3))
    return classes, codes


def known_classes(y: Any, n_rows: int, classes: NDArray[Any]) -> NDArray[np.int32]:
    """Return the class of every row, given the classes of an earlier call."""
    found, codes = classes_of(y, n_rows)
    place = {text(label): code for code, label in enumerate(classes.tolist())}
    strange = [label for label in found.tolist() if text(label) not in place]
    if strange:
        raise NullproofError(
            f"y holds {strange[0]!r}, which is not among the classes {classes.tolist()}; "
            "name all labels in the first call of partial_fit"
        )
    return np.array([place[text(label)] for label in found.tolist()], dtype=np.int32)[codes]


def _distinct_labels(y: Any) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the sorted labels, and the position of each row's label among them."""
    if isinstance(y, np.ma.MaskedArray):
        y = np.where(np.ma.getmaskarray(y), None, y.data).tolist()  # type: ignore[call-overload]
    is_list = isinstance(y, list | tuple)
    labels = column_or_1d(np.asarray(y, dtype=object if is_list else None), warn=True)
    if labels.dtype.kind not in "OU":
        found, codes = distinct(labels)
        if labels.dtype.kind == "f":
            codes[np.isnan(labels)] = MISSING
        return found, codes
    # Texts are hashed, since sorting all rows takes longer.
    cells = labels.tolist()
    held = sorted(label for label in {*cells} if not is_missing(label))
    place = dict.fromkeys(cells, MISSING) | {label: code for code, label in enumerate(held)}
    codes = np.fromiter(map(place.__getitem__, cells), dtype=np.int32, count=len(cells))
    in_objects = labels.dtype.kind == "O" and not is_list
    is_text = bool(held) and isinstance(held[0], str)
    return np.array(held, dtype=object if in_objects and is_text else None), codes
